#include "search/results/facet_search.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "base/json.h"
#include "base/stop_point.h"
#include "base/utf8.h"
#include "bitmap/postings_codec.h"
#include "search/query/query.h"
#include "search/results/facet_counter.h"
#include "search/results/facet_counts.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

using index::Settings;

// Values are found in the order of their facet form. If another order is shown, this many of them
// are sorted again: the two orders differ only among similar values.
constexpr uint64_t kReorderedMax = 10000;

// No stored value is this long in lossy form: a character of the facet form becomes at most two.
constexpr size_t kWantedBytesMax = 4 * kFacetStringBytesMax;

// The part of a query that is used.
std::string_view Cut(std::string_view text) {
  if (text.size() <= kQueryBytesMax) return text;
  return text.substr(0, CharacterBegin(text, kQueryBytesMax));
}

bool IsPlainAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Converts facet values to the form in which they are searched.
class LossyForm {
 public:
  explicit LossyForm(std::span<const text::Locale> locales) : locales_(locales) {}

  // normalised: in facet form. The result is valid until the next call.
  std::string_view Of(std::string_view normalised) {
    // It is already in lower case.
    if (IsPlainAscii(normalised)) return normalised;
    form_ = text::NormalizeLossy(normalised, locales_);
    return form_;
  }

 private:
  std::span<const text::Locale> locales_;
  std::string form_;
};

// The languages that both the facet's settings and the request name, or, if only one of them names
// any, its languages.
std::vector<text::Locale> LocalesFor(const Settings& settings, std::string_view facet,
                                     std::span<const text::Locale> requested) {
  const index::LocalizedRule* rule = settings.Localized(facet);
  if (rule == nullptr || rule->locales.empty()) return {requested.begin(), requested.end()};
  std::vector<text::Locale> locales;
  for (const text::Locale locale : rule->locales) {
    if (requested.empty() ||
        std::find(requested.begin(), requested.end(), locale) != requested.end()) {
      locales.push_back(locale);
    }
  }
  return locales.empty() ? rule->locales : locales;
}

// A parsed facet query.
struct FacetQuery {
  FacetQuery(const index::Snapshot& snapshot, std::string_view facet,
             const std::optional<std::string>& query, std::span<const text::Locale> requested)
      : locales(LocalesFor(*snapshot.settings, facet, requested)) {
    const Settings& settings = *snapshot.settings;
    if (!query || query->empty()) return;
    wanted = text::NormalizeLossy(Cut(*query), locales);
    all = wanted.empty();
    const auto& words = settings.typo_disabled_words;
    exact = std::find(words.begin(), words.end(), wanted) != words.end();
    typos_max = wanted.size() < settings.one_typo ? 0 : wanted.size() < settings.two_typos ? 1 : 2;
    if (!settings.typo_enabled || !settings.TypoTolerant(facet)) typos_max = 0;
  }
  // Whether no value can match: the query is longer than any value, even with typos.
  bool none() const { return wanted.size() > kWantedBytesMax; }

  std::vector<text::Locale> locales;
  bool all = true;
  std::string wanted;  // in lossy form
  bool exact = false;  // the whole value must be equal
  int typos_max = 0;
};

// The first `wanted` values by their lossy form, of values that are found in the order of their
// facet form. Of plain ASCII both forms are the same: once enough such values are found, later ones
// come after all of them.
class FirstByForm {
 public:
  explicit FirstByForm(uint64_t wanted) : wanted_(wanted) {}

  void Found(std::string_view value) { plain_ += IsPlainAscii(value) ? 1 : 0; }
  // Whether a value need not be counted.
  bool Skips(std::string_view value) {
    if (plain_ < wanted_ || !IsPlainAscii(value)) return false;
    ++skipped_;
    return true;
  }
  // Whether as many values have been looked at as are sorted again.
  bool Over(size_t found) const { return found + skipped_ >= std::max(wanted_, kReorderedMax); }

 private:
  const uint64_t wanted_;
  uint64_t plain_ = 0, skipped_ = 0;
};

// Walks the strings of one column in order, from one match to the next.
class ColumnMatcher {
 public:
  // first: skips matches; null: all matches are wanted
  ColumnMatcher(const segment::ColumnReader& column, const FacetQuery& query, FirstByForm* first)
      : column_(column),
        query_(query),
        first_(first),
        form_(query.locales),
        prefix_(query.wanted, query.typos_max) {}

  // The first string of [string, end) that matches, counted from 0; `end` if none matches.
  uint32_t Next(uint32_t string, uint32_t end) {
    if (query_.all) return string;
    for (;; ++string) {
      string = NextMatch(string, end);
      if (string == end || first_ == nullptr || !first_->Skips(column_.string(string)))
        return string;
      if (first_->Over(0)) return end;
    }
  }

 private:
  uint32_t NextMatch(uint32_t string, uint32_t end) {
    while (string < end) {
      counter_.Step(16 + (query_.typos_max == 0 ? 0 : query_.wanted.size()));
      const std::string_view text = column_.string(string);
      if (!accepted_.empty() && text.starts_with(accepted_)) return string;
      const std::string_view form = form_.Of(text);
      if (query_.exact) {
        if (form == query_.wanted) return string;
        ++string;
        continue;
      }
      const bool matches = prefix_.Matches(form);
      // The bytes read decide for all strings with the same prefix, if the lossy form does not
      // change it. Some languages combine a letter with the marks after it.
      const size_t settled = prefix_.settled_by().value_or(std::string::npos);
      const bool known = query_.locales.empty() && settled != 0 && settled <= text.size() &&
                         IsPlainAscii(text.substr(0, settled));
      if (matches) {
        accepted_ = known ? text.substr(0, settled) : std::string_view();
        return string;
      }
      ++string;
      if (known && string < end && column_.string(string).starts_with(text.substr(0, settled))) {
        string = column_.LowerString(std::string(text.substr(0, settled)) + '\xff');
      }
    }
    return end;
  }

  const segment::ColumnReader& column_;
  const FacetQuery& query_;
  FirstByForm* const first_;
  LossyForm form_;
  PrefixMatcher prefix_;
  StopCounter counter_;
  std::string_view accepted_;  // strings with this prefix match; empty: none known
};

using Values = std::vector<FieldCounter::Value>;

// Checks that the values of an attribute may be searched.
Status CheckSearchable(const Settings& settings, std::string_view facet_name) {
  if (!settings.facet_search) {
    return Status::Invalid(
        "The facet search is disabled by the setting `facetSearch` of this index.",
        "facet_search_disabled");
  }
  const auto rule = settings.Filterable(facet_name);
  if (rule && rule->first.facet_search) return Status::Ok();
  return Status::Invalid(
      "The attribute `" + std::string(facet_name) + "` is not facet-searchable: " +
          (rule
               ? "rule #" + std::to_string(rule->second) +
                     " of `filterableAttributes` lacks the feature `facetSearch`."
               : "no rule of `filterableAttributes` matches it. " + settings.FacetSearchableText()),
      "invalid_facet_search_facet_name");
}

// The `max` most frequent values. Of equal counts the larger spelling comes first.
std::vector<FacetValue> FirstByCount(Values values, uint64_t max, FieldCounter& spellings) {
  StopCounter counter;
  std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    counter.Step();
    return a.count != b.count ? a.count > b.count : a.string > b.string;
  });
  std::vector<FacetValue> hits;
  for (size_t from = 0; from < values.size() && hits.size() < max;) {
    size_t until = from;
    while (until < values.size() && values[until].count == values[from].count) ++until;
    std::vector<FacetValue> equal;
    const size_t looked_at = std::min<size_t>(until - from, std::max(max, kReorderedMax));
    for (size_t i = from; i < from + looked_at; ++i) {
      StopPoint();
      equal.push_back({spellings.Spelling(values[i].string), values[i].count});
    }
    std::sort(equal.begin(), equal.end(),
              [](const auto& a, const auto& b) { return a.shown > b.shown; });
    std::move(equal.begin(), equal.end(), std::back_inserter(hits));
    from = until;
  }
  if (hits.size() > max) hits.resize(max);
  return hits;
}

// Keeps the first `max` values in the order in which they are compared with the query: without
// accents.
void KeepFirstByText(Values& values, uint64_t max, std::span<const text::Locale> locales) {
  std::deque<std::string> forms;  // of those that are not plain ASCII
  std::vector<std::pair<std::string_view, size_t>> keys;
  for (size_t i = 0; i < values.size(); ++i) {
    StopPoint();
    const bool plain = IsPlainAscii(values[i].string);
    if (!plain) forms.push_back(text::NormalizeLossy(values[i].string, locales));
    keys.emplace_back(plain ? values[i].string : forms.back(), i);
  }
  if (!forms.empty()) {
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  Values sorted;
  for (size_t i = 0; i < keys.size() && i < max; ++i) sorted.push_back(values[keys[i].second]);
  values = std::move(sorted);
}

}  // namespace

PrefixMatcher::PrefixMatcher(std::string_view query, int typos_max)
    : bytes_(query), typos_max_(typos_max) {
  for (size_t at = 0; at < query.size();) query_.push_back(DecodeUtf8(query, at));
  Row first(query_.size() + 1);
  for (size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<uint8_t>(std::min<size_t>(i, 255));
  rows_.push_back(std::move(first));
}

PrefixMatcher::Verdict PrefixMatcher::Judge(const Row& row) const {
  const uint8_t min = *std::min_element(row.begin(), row.end());
  if (row.back() <= typos_max_ && row.back() == min) return Verdict::kAccepted;
  return min > typos_max_ ? Verdict::kRefused : Verdict::kOpen;
}

bool PrefixMatcher::Matches(std::string_view string) {
  settled_by_.reset();
  if (typos_max_ == 0) {
    const size_t size = std::min(string.size(), bytes_.size());
    const size_t same = static_cast<size_t>(
        std::mismatch(string.begin(), string.begin() + static_cast<ptrdiff_t>(size), bytes_.begin())
            .first -
        string.begin());
    if (same == bytes_.size()) {
      settled_by_ = same;
      return true;
    }
    if (same < size) settled_by_ = same + 1;
    return false;
  }
  const size_t n = query_.size();
  size_t chars = 0;
  bool shared = true;
  for (size_t at = 0;;) {
    const Verdict verdict = Judge(rows_[chars]);
    if (verdict != Verdict::kOpen) {
      depth_ = chars;
      settled_by_ = at;
      return verdict == Verdict::kAccepted;
    }
    if (at >= string.size()) break;
    const char32_t c = DecodeUtf8(string, at);
    ++chars;
    shared = shared && chars <= depth_ && read_[chars - 1] == c;
    if (shared) continue;
    read_.resize(chars - 1);
    read_.push_back(c);
    if (rows_.size() <= chars) rows_.resize(chars + 1);
    Row& row = rows_[chars];
    const Row& above = rows_[chars - 1];
    row.resize(n + 1);
    row[0] = static_cast<uint8_t>(std::min<size_t>(chars, 255));
    for (size_t i = 1; i <= n; ++i) {
      int distance = std::min({above[i] + 1, row[i - 1] + 1, above[i - 1] + (query_[i - 1] != c)});
      if (chars > 1 && i > 1 && query_[i - 1] == read_[chars - 2] && query_[i - 2] == c) {
        distance = std::min(distance, rows_[chars - 2][i - 2] + 1);
      }
      row[i] = static_cast<uint8_t>(std::min(distance, 255));
    }
    depth_ = chars;
  }
  depth_ = chars;
  return rows_[chars].back() <= typos_max_;
}

Result<std::vector<FacetValue>> SearchFacet(const index::Snapshot& snapshot,
                                            std::string_view facet_name,
                                            const std::optional<std::string>& facet_query,
                                            const DocSet& candidates,
                                            std::span<const text::Locale> locales, bool for_merging,
                                            std::optional<uint64_t> top) {
  const Settings& settings = *snapshot.settings;
  GANNET_RETURN_IF_ERROR(CheckSearchable(settings, facet_name));
  const auto field = snapshot.fields->Find(facet_name);
  uint64_t max = top.value_or(settings.max_values_per_facet);
  if (!field || max == 0) return std::vector<FacetValue>();
  auto order = settings.facet_order_by_count.find(facet_name);
  if (order == settings.facet_order_by_count.end()) order = settings.facet_order_by_count.find("*");
  const bool by_count = top || (order != settings.facet_order_by_count.end() && order->second);
  if (by_count && for_merging) max = std::max(max, kMergedFacetValues);

  const FacetQuery query(snapshot, facet_name, facet_query, locales);
  if (query.none()) return std::vector<FacetValue>();
  const uint64_t wanted = query.all && by_count ? std::numeric_limits<uint64_t>::max() : max;
  FieldCounter counter(snapshot, *field, candidates, wanted);
  FirstByForm first(max);
  std::vector<ColumnMatcher> matchers;
  for (const SegmentCounter& segment : counter.segments())
    matchers.emplace_back(segment.column(), query, by_count ? nullptr : &first);
  Values values;
  counter.ForEachMatchingString([&](size_t segment, uint32_t string,
                                    uint32_t end) { return matchers[segment].Next(string, end); },
                                [&](const FieldCounter::Value& value) {
                                  values.push_back(value);
                                  if (by_count) return true;
                                  first.Found(value.string);
                                  return query.all ? values.size() < max
                                                   : !first.Over(values.size());
                                });
  // The spelling of a value is that of the first document that has it, even if it is not a
  // candidate.
  std::optional<FieldCounter> everything;
  if (candidates.size() < snapshot.documents.size())
    everything.emplace(snapshot, *field, snapshot.documents, values.size());
  FieldCounter& spellings = everything ? *everything : counter;
  if (by_count) return FirstByCount(std::move(values), max, spellings);
  if (!query.all) KeepFirstByText(values, max, locales);
  std::vector<FacetValue> hits;
  for (const FieldCounter::Value& value : values) {
    StopPoint();
    hits.push_back({spellings.Spelling(value.string), value.count});
  }
  return hits;
}

void AppendFacetHits(const std::vector<FacetValue>& hits, std::string& out) {
  out += '[';
  for (size_t i = 0; i < hits.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"value\":";
    AppendJsonString(out, hits[i].shown);
    out += ",\"count\":";
    AppendJsonNumber(out, hits[i].count);
    out += '}';
  }
  out += ']';
}

}  // namespace gannet::search
