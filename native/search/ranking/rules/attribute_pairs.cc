#include "search/ranking/rules/attribute_pairs.h"

#include <algorithm>

#include "base/utf8.h"
#include "search/matching/large_bucket.h"
#include "search/matching/word_masks.h"

namespace gannet::search {
namespace {

// With more fields, reading documents is faster than using the lists of each.
constexpr size_t kFieldsLookedUpMax = 64;

// The parts of `words` that are in one of the ranges. Both are ascending and disjoint.
std::vector<segment::WordRange> Common(std::span<const segment::WordRange> words,
                                       std::span<const segment::WordRange> ranges) {
  std::vector<segment::WordRange> common;
  auto range = ranges.begin();
  for (const auto& [begin, end] : words) {
    while (range != ranges.end() && range->second <= begin) ++range;
    for (auto at = range; at != ranges.end() && at->first < end; ++at)
      common.emplace_back(std::max(begin, at->first), std::min(end, at->second));
  }
  return common;
}

}  // namespace

AttributePairs::AttributePairs(QueryEvaluator& query) : query_(query) {
  for (const Node& node : query_.graph.nodes()) {
    if (node.term.phrase) continue;
    for (size_t at = 0; at < node.text.size();) {
      DecodeUtf8(node.text, at);
      if (at >= node.text.size()) break;
      const WordNumber left = query_.words.Find(std::string_view(node.text).substr(0, at));
      if (left == kNoWord) continue;
      const WordNumber right = query_.words.Find(std::string_view(node.text).substr(at));
      if (right == kNoWord) continue;
      splits_.emplace_back(left, right);
    }
  }
}

void AttributePairs::BeginBucket() {
  for (const Product& product : present_) {
    if (std::find(earlier_.begin(), earlier_.end(), product) == earlier_.end())
      earlier_.push_back(product);
  }
  present_.clear();
}

std::vector<AttributePairs::Side> AttributePairs::SidesOf(const Step& step, bool last) {
  const NodeExpansions& node = query_.expansion.Of(step.node);
  const bool phrase = query_.graph.NodeOf(step).term.phrase;
  std::vector<Side> sides;
  if (step.verbatim && !phrase) {
    if (node.short_prefix) {
      sides.push_back({Side::Kind::kPrefix, step.node});
    } else {
      sides.push_back({.kind = Side::Kind::kWord, .word = node.verbatim});
    }
    return sides;
  }
  const int from = step.verbatim ? 0 : std::max<int>(step.typos, 0);
  const int to = step.verbatim ? 0 : step.typos < 0 ? kClasses - 1 : step.typos;
  for (int c = from; c <= to; ++c) {
    const Expansions& expansions = query_.expansion.Class(step.node, c);
    if (node.short_prefix && c == 0) {
      sides.push_back({Side::Kind::kPrefix, step.node});
    } else if (!expansions.words.empty() || expansions.has_range) {
      sides.push_back({Side::Kind::kClass, step.node, static_cast<int8_t>(c)});
    }
    for (const Phrase& phrase : expansions.phrases) {
      const WordNumber word = last ? phrase.words.back() : phrase.words.front();
      if (word != kNoWord)
        sides.push_back({.kind = Side::Kind::kWord, .word = word, .phrase = &phrase});
    }
  }
  return sides;
}

DocSet AttributePairs::Holding(const Step& left, const Step& right, bool backward,
                               const DocSet& among) {
  DocSet out;
  for (const Side& l : SidesOf(left, true)) {
    for (const Side& r : SidesOf(right, false)) {
      LookUp(l, r, among, out);
      if (!backward || l.phrase != nullptr || r.phrase != nullptr) continue;
      if (r.kind != Side::Kind::kPrefix) {
        LookUp(r, l, among, out);
      } else if (const WordNumber word = query_.expansion.Of(r.node).verbatim; word != kNoWord) {
        // A short prefix has, in reverse order, only the pairs of the word itself.
        LookUp({.kind = Side::Kind::kWord, .word = word}, l, among, out);
      }
    }
  }
  return out;
}

void AttributePairs::LookUp(const Side& left, const Side& right, const DocSet& among, DocSet& out) {
  DocSet wanted = among;
  for (const Side* side : {&left, &right}) {
    if (side->phrase == nullptr) continue;
    const DocSet& documents = DocumentsOf(*side->phrase);
    if (!documents.Intersects(among)) return;  // no pair was looked up
    wanted &= documents;
  }
  present_.emplace_back(left, right);
  if (wanted.size() >= LargeBucketMin()) {
    if (const auto found = ByLists(left, right, wanted)) {
      out |= *found;
      return;
    }
  }
  out |= ByReading(left, right, wanted);
}

std::optional<DocSet> AttributePairs::ByLists(const Side& left, const Side& right,
                                              const DocSet& among) const {
  const WordsBySegment left_words = WordsOf(left), right_words = WordsOf(right);
  for (const auto& [earlier_left, earlier_right] : earlier_) {
    const Overlap of_left = OverlapOf(earlier_left, left),
                  of_right = OverlapOf(earlier_right, right);
    if (of_left == Overlap::kNone || of_right == Overlap::kNone) continue;
    if (of_left == Overlap::kSome || of_right == Overlap::kSome) return std::nullopt;
    // All pairs were looked up before: only splits are left.
    DocSet found;
    if (left.kind == Side::Kind::kPrefix || right.kind == Side::Kind::kPrefix) return found;
    for (const auto& [l, r] : splits_) {
      WordsBySegment l_words = WordsOf({.kind = Side::Kind::kWord, .word = l}),
                     r_words = WordsOf({.kind = Side::Kind::kWord, .word = r});
      for (size_t s = 0; s < l_words.size(); ++s) {
        l_words[s] = Common(l_words[s], left_words[s]);
        r_words[s] = Common(r_words[s], right_words[s]);
      }
      found |= ShareField(l_words, r_words, among);
    }
    return found;
  }
  const auto& traits = query_.snapshot.traits;
  if (std::count_if(traits.begin(), traits.end(), [](const auto& field) {
        return field.searchable;
      }) > static_cast<ptrdiff_t>(kFieldsLookedUpMax)) {
    return std::nullopt;
  }
  return ShareField(left_words, right_words, among);
}

DocSet AttributePairs::ShareField(const WordsBySegment& left, const WordsBySegment& right,
                                  const DocSet& among) const {
  const auto& traits = query_.snapshot.traits;
  DocSet found;
  for (size_t f = 0; f < traits.size(); ++f) {
    if (!traits[f].searchable) continue;
    segment::FieldSet field;
    field.Add(static_cast<FieldId>(f));
    const DocSet with_left = query_.postings.AnyWord(left, &field, &among);
    if (!with_left.empty()) found |= query_.postings.AnyWord(right, &field, &with_left);
  }
  return found;
}

WordsBySegment AttributePairs::WordsOf(const Side& side) const {
  WordsBySegment words(query_.snapshot.segments.size());
  for (size_t s = 0; s < words.size(); ++s) {
    const auto add = [&](Ordinal begin, Ordinal end) { words[s].emplace_back(begin, end); };
    if (side.kind != Side::Kind::kWord) {
      query_.expansion.ForEachRange(query_.expansion.Of(side.node).classes[side.typos], s, add);
    } else if (const Ordinal ordinal = query_.words.OrdinalOf(side.word, s);
               ordinal != kNoOrdinal) {
      add(ordinal, ordinal + 1);
    }
    segment::Unite(words[s]);
  }
  return words;
}

AttributePairs::Overlap AttributePairs::OverlapOf(const Side& earlier, const Side& side) const {
  const bool prefix = side.kind == Side::Kind::kPrefix;
  if (prefix != (earlier.kind == Side::Kind::kPrefix)) return Overlap::kNone;
  if (prefix)
    return query_.graph[side.node].text == query_.graph[earlier.node].text ? Overlap::kAll
                                                                           : Overlap::kNone;
  const WordsBySegment earlier_words = WordsOf(earlier), words = WordsOf(side);
  uint64_t count = 0, common = 0;
  for (size_t s = 0; s < words.size(); ++s) {
    count += segment::CountWords(words[s]);
    common += segment::CountWords(Common(words[s], earlier_words[s]));
  }
  return common == 0 ? Overlap::kNone : common == count ? Overlap::kAll : Overlap::kSome;
}

DocSet AttributePairs::ByReading(const Side& left, const Side& right, const DocSet& among) const {
  // Roles: the two sides, the words of splits, the sides of earlier lookups.
  constexpr Role kLeft = 0, kRight = 1, kFirstPair = 2;
  const bool prefix = left.kind == Side::Kind::kPrefix || right.kind == Side::Kind::kPrefix;
  std::vector<std::pair<Side, Side>> pairs;
  if (!earlier_.empty() && !prefix) {
    for (const auto& [l, r] : splits_)
      pairs.emplace_back(Side{.kind = Side::Kind::kWord, .word = l},
                         Side{.kind = Side::Kind::kWord, .word = r});
  }
  const size_t splits = pairs.size();
  // Pairs looked up for a short prefix count only for the same prefix, not for its words.
  const auto may_cover = [&](const Side& earlier, const Side& side) {
    if ((earlier.kind == Side::Kind::kPrefix) != (side.kind == Side::Kind::kPrefix)) return false;
    return side.kind != Side::Kind::kPrefix ||
           query_.graph[side.node].text == query_.graph[earlier.node].text;
  };
  for (const Product& product : earlier_) {
    if (may_cover(product.first, left) && may_cover(product.second, right))
      pairs.push_back(product);
  }
  std::vector<DocId> found;
  const auto& segments = query_.snapshot.segments;
  std::vector<WordsBySegment> words{WordsOf(left), WordsOf(right)};
  for (const auto& [l, r] : pairs) {
    words.push_back(WordsOf(l));
    words.push_back(WordsOf(r));
  }
  DocSet sharing;
  for (size_t s = 0; s < segments.size(); ++s) {
    const DocSet here = among & segments[s]->live;
    if (here.empty()) continue;
    const segment::TextReader& text = *segments[s]->text;
    WordMasks masks(text, words.size());
    for (size_t role = 0; role < words.size(); ++role) {
      for (const auto& [begin, end] : words[role][s])
        masks.AddRange(static_cast<Role>(role), begin, end);
    }
    masks.Seal();
    // Whether two words are both sides of the pair.
    const auto is_pair = [&](size_t pair, uint32_t x, uint32_t y) {
      const auto stands = [&](size_t role, uint32_t at) {
        return masks.First(static_cast<Role>(role), at, at + 1) != WordMasks::kNone;
      };
      return stands(kFirstPair + pair * 2, x) && stands(kFirstPair + pair * 2 + 1, y);
    };
    const auto is_new = [&](uint32_t x, uint32_t y) {
      for (size_t pair = 0; pair < pairs.size(); ++pair) {
        if (is_pair(pair, x, y)) return pair < splits;
      }
      return true;
    };
    found.clear();
    text.ForEachRecord(here, [&](DocId docid, std::string_view record) {
      if (!masks.Read(record)) return;
      const bool shares = masks.AnyField([&](FieldId, uint32_t begin, uint32_t end) {
        const uint32_t first = masks.First(kRight, begin, end);
        if (first == WordMasks::kNone) return false;
        for (uint32_t x = masks.First(kLeft, begin, end); x != WordMasks::kNone;
             x = masks.First(kLeft, x + 1, end)) {
          if (pairs.empty()) return true;
          for (uint32_t y = first; y != WordMasks::kNone; y = masks.First(kRight, y + 1, end)) {
            if (is_new(x, y)) return true;
          }
        }
        return false;
      });
      if (shares) found.push_back(docid);
    });
    sharing |= DocSet::FromSorted(found);
  }
  return sharing;
}

const DocSet& AttributePairs::DocumentsOf(const Phrase& phrase) {
  const auto known = phrases_.find(&phrase);
  if (known != phrases_.end()) return known->second;
  return phrases_.emplace(&phrase, query_.phrases.Documents(phrase, query_.scope.fields()))
      .first->second;
}

}  // namespace gannet::search
