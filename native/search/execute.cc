#include "search/execute.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/parallel_for.h"
#include "index/evaluate_filter.h"
#include "search/ranking/score_details.h"
#include "search/ranking/score_key.h"
#include "search/results/facet_counts.h"
#include "search/results/facet_search.h"
#include "search/stored_vectors.h"

namespace gannet::search {
namespace {

constexpr uint64_t kCutoffMsDefault = 1500;

std::vector<std::string> StringsOr(const json::Value& value) {
  return value.Strings().value_or(std::vector<std::string>());
}

std::optional<uint64_t> OptionalInteger(const json::Value& value) {
  if (value.kind() != json::Value::Kind::kNumber) return std::nullopt;
  return value.integer();
}

// Numbers in single precision, little endian, in base64.
std::vector<float> ParseVector(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int value;
    if (c >= 'A' && c <= 'Z')
      value = c - 'A';
    else if (c >= 'a' && c <= 'z')
      value = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      value = c - '0' + 52;
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    else
      break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

}  // namespace

Deadline DeadlineOf(const index::Snapshot& snapshot, const SearchRequest& request) {
  return Deadline::In(snapshot.settings->search_cutoff_ms.value_or(kCutoffMsDefault), request.gone);
}

void AppendVector(std::span<const float> vector, std::string& out) {
  char text[32];
  char open = '[';
  for (const float number : vector) {
    out += std::exchange(open, ',');
    out.append(text, std::to_chars(text, text + sizeof(text), number).ptr);
  }
  out += vector.empty() ? "[]" : "]";
}

uint64_t MonotonicMicroseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

std::string MakeUuid7() {
  thread_local std::mt19937_64 random(std::random_device{}());
  const auto milliseconds =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  uint64_t high = milliseconds << 16 | 0x7000 | (random() & 0xfff);
  uint64_t low = uint64_t{2} << 62 | (random() >> 2);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    uint64_t& part = i < 16 ? high : low;
    out += kDigits[part >> 60];
    part <<= 4;
  }
  return out;
}

Result<SearchRequest> SearchRequest::FromJson(const json::Value& object) {
  SearchRequest request;
  for (const auto& [name, value] : object.members()) {
    if (value.is_null()) continue;
    if (name == "answerBytesMax") {
      request.answer_bytes_max = request.format.bytes_max = value.integer();
    } else if (name == "q") {
      request.q = value.string();
    } else if (name == "segmentation") {
      for (const json::Value& start : value.items())
        request.word_starts.push_back(static_cast<uint32_t>(start.integer()));
    } else if (name == "offset") {
      request.offset = value.integer();
    } else if (name == "limit") {
      request.limit = value.integer();
    } else if (name == "page") {
      request.page = OptionalInteger(value);
    } else if (name == "hitsPerPage") {
      request.hits_per_page = OptionalInteger(value);
    } else if (name == "filter") {
      request.filter = value.text();
    } else if (name == "containsFilter") {
      request.contains_filter = value.boolean();
    } else if (name == "multimodal") {
      request.multimodal = value.boolean();
    } else if (name == "sort") {
      request.sort = StringsOr(value);
    } else if (name == "distinct") {
      request.distinct = value.string();
    } else if (name == "facets") {
      request.facets = StringsOr(value);
    } else if (name == "attributesToRetrieve") {
      request.attributes_to_retrieve = value.Strings();
    } else if (name == "attributesToSearchOn") {
      request.attributes_to_search_on = value.Strings();
    } else if (name == "attributesToHighlight") {
      request.format.highlight = value.Strings();
    } else if (name == "attributesToCrop") {
      request.format.crop = value.Strings();
    } else if (name == "cropLength") {
      request.format.crop_length =
          static_cast<uint32_t>(std::min<uint64_t>(value.integer(10), UINT32_MAX));
    } else if (name == "cropMarker") {
      request.format.crop_marker = value.string();
    } else if (name == "highlightPreTag") {
      request.format.pre_tag = value.string();
    } else if (name == "highlightPostTag") {
      request.format.post_tag = value.string();
    } else if (name == "showMatchesPosition") {
      request.format.matches_position = value.boolean();
    } else if (name == "matchingStrategy") {
      request.strategy = value.string() == "all"         ? MatchingStrategy::kAll
                         : value.string() == "frequency" ? MatchingStrategy::kFrequency
                                                         : MatchingStrategy::kLast;
    } else if (name == "showRankingScore") {
      request.show_score = value.boolean();
    } else if (name == "showRankingScoreDetails") {
      request.show_details = value.boolean();
    } else if (name == "rankingScoreThreshold") {
      request.threshold = value.number();
    } else if (name == "hybrid") {
      Hybrid hybrid;
      hybrid.embedder = value["embedder"].string();
      hybrid.ratio = value["semanticRatio"].number(0.5);
      if (!value["minScore"].is_null()) hybrid.min_score = value["minScore"].number();
      request.hybrid = std::move(hybrid);
    } else if (name == "vector") {
      request.vector = ParseVector(value.string());
    } else if (name == "withoutVector") {
      request.without_vector = value.boolean();
    } else if (name == "retrieveVectors") {
      request.retrieve_vectors = value.boolean();
    } else if (name == "pins") {
      for (const json::Value& pin : value.items()) {
        request.pins.push_back(
            {std::string(pin["id"].string()), static_cast<uint32_t>(pin["position"].integer())});
      }
    } else if (name == "locales") {
      for (const std::string& code : StringsOr(value)) {
        if (const auto locale = text::ParseLocale(code)) request.locales.push_back(*locale);
      }
    }
  }
  return request;
}

SearchRun::SearchRun(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request)
    : snapshot_(std::move(snapshot)), request_(std::move(request)) {}

Result<std::unique_ptr<SearchRun>> SearchRun::Run(std::shared_ptr<const index::Snapshot> snapshot,
                                                  SearchRequest request, bool from_start,
                                                  const Deadline* deadline) {
  auto run = std::unique_ptr<SearchRun>(new SearchRun(std::move(snapshot), std::move(request)));
  run->Start(from_start, deadline);
  GANNET_RETURN_IF_ERROR(run->request_.kind() == SearchKind::kHybrid ? run->RunHalves(from_start)
                                                                     : run->Prepare());
  GANNET_RETURN_IF_ERROR(run->snapshot_->Health());
  return run;
}

void SearchRun::Start(bool from_start, const Deadline* deadline) {
  deadline_ = deadline != nullptr ? *deadline : DeadlineOf(*snapshot_, request_);
  RankOptions& options = options_;
  const SearchRequest& wanted = request_;
  const uint64_t most = snapshot_->settings->max_total_hits;
  if (wanted.paged()) {
    const uint64_t per_page = wanted.hits_per_page.value_or(20), page = wanted.page.value_or(1);
    // Pages far behind the end must not overflow.
    const uint64_t before = page == 0 ? 0 : page - 1;
    options.offset =
        per_page != 0 && before > most / per_page ? most : std::min(per_page * before, most);
    options.end =
        page == 0 ? options.offset : options.offset + std::min(per_page, most - options.offset);
  } else {
    options.offset = std::min(wanted.offset, most);
    options.end = options.offset + std::min(wanted.limit, most - options.offset);
  }
  options.strategy = wanted.strategy;
  options.threshold = wanted.threshold;
  options.details = wanted.show_score || wanted.show_details || wanted.threshold || from_start;
  options.deadline = &*deadline_;
  window_ = {options.offset, options.end};
  if (from_start) options.offset = 0;
}

Status SearchRun::PrepareScan() {
  const Hybrid& hybrid = *request_.hybrid;
  const index::EmbedderSettings* embedder = snapshot_->settings->Embedder(hybrid.embedder);
  if (embedder == nullptr) {
    return Status::Invalid("The index has no embedder `" + hybrid.embedder + "`.",
                           "invalid_search_embedder");
  }
  if (!request_.vector) return Status::Ok();  // no hits are asked for
  const uint32_t dimensions = snapshot_->DimensionsOf(*embedder);
  if (dimensions != 0 && request_.vector->size() != dimensions) {
    return Status::Invalid("The vector has " + std::to_string(request_.vector->size()) +
                               " dimensions, but the embedder `" + hybrid.embedder + "` expects " +
                               std::to_string(dimensions) + ".",
                           "invalid_vector_dimensions");
  }
  scan_ = std::make_unique<VectorScan>(*snapshot_, *embedder,
                                       std::vector<std::vector<float>>{*request_.vector},
                                       ScanOptions{.deadline = deadline_});
  options_.vector_scan = scan_.get();
  return Status::Ok();
}

// The words come first: a thread that is alone looks at the vectors only if they are needed.
Status SearchRun::RunHalves(bool from_start) {
  const SearchRequest& wanted = request_;
  const index::Settings& settings = *snapshot_->settings;
  const bool exact = wanted.paged() || wanted.hybrid->min_score;
  const bool distinct = wanted.distinct || settings.distinct;
  SearchRequest half = wanted;
  half.half = true;
  half.exhaustive = exact;
  half.offset = 0;
  half.limit = options_.end;
  half.page.reset();
  half.hits_per_page.reset();
  SearchRequest words = half;
  words.hybrid.reset();
  words.vector.reset();
  // Without these what vectors find is all that words do.
  words.needs_candidates =
      wanted.needs_candidates || wanted.threshold || wanted.hybrid->min_score || distinct;
  SearchRequest semantic = std::move(half);
  semantic.hybrid->ratio = 1;
  semantic.facets.clear();
  semantic.needs_candidates = true;
  if (settings.Embedder(wanted.hybrid->embedder) == nullptr) {
    return Status::Invalid("The index has no embedder `" + wanted.hybrid->embedder + "`.",
                           "invalid_search_embedder");
  }

  std::atomic<bool> enough{false};
  Status words_status, semantic_status;
  const auto run_semantic = [&] {
    auto run = Run(snapshot_, std::move(semantic), true, &*deadline_);
    if (run.ok()) {
      semantic_ = std::move(*run);
    } else {
      semantic_status = run.status();
    }
  };
  ParallelFor(wanted.vector ? 2 : 1, [&](size_t piece) {
    if (piece == 1) {
      if (!enough.load() || exact) run_semantic();
      return;
    }
    auto run = Run(snapshot_, std::move(words), true, &*deadline_);
    if (!run.ok()) {
      words_status = run.status();
      return;
    }
    words_ = std::move(*run);
    if (!wanted.hybrid->min_score && WordsAreEnough()) enough = true;
  });
  GANNET_RETURN_IF_ERROR(words_status);
  GANNET_RETURN_IF_ERROR(semantic_status);
  if (!wanted.vector && !wanted.without_vector) {
    if (!enough.load() || (exact && wanted.threshold)) {
      needs_vector_ = true;
      return Status::Ok();
    }
    if (exact) {
      semantic.limit = 0;  // which documents count needs no vector
      run_semantic();
      GANNET_RETURN_IF_ERROR(semantic_status);
    }
  }
  if (from_start) options_.offset = 0;
  Merge(enough.load() || !semantic_);
  return Status::Ok();
}

bool SearchRun::WordsAreEnough() const {
  constexpr double kEnough = 0.45;
  const auto& found = words_->hits();
  if (found.size() < options_.end) return false;
  const double weight = 1 - request_.hybrid->ratio;
  // The hits of a bucket share their details.
  const Detail* last = nullptr;
  for (const Hit& hit : found) {
    if (&hit != &found[0] && hit.detail == last) continue;
    last = hit.detail;
    if (ScoreOf(last) * weight < kEnough) return false;
  }
  return true;
}

void SearchRun::Merge(bool words_only) {
  semantic_hit_count_ = 0;
  const Distinct* distinct = words_->distinct_.get();
  const std::vector<Hit>& words = words_->hits();
  DocSet excluded;
  std::vector<Hit> kept;
  if (words_only) {
    kept.assign(words.begin(), words.end());
  } else {
    uses_vector_ = true;
    const std::vector<Hit>& semantic = semantic_->hits();
    const auto list_of = [](const Hit& hit, double weight) {
      return ScoreKey::Of(hit.detail, weight);
    };
    std::unordered_set<DocId> seen;
    size_t w = 0, s = 0;
    std::optional<ScoreKey> word_scores, semantic_scores;
    while (kept.size() < options_.end && (w < words.size() || s < semantic.size())) {
      if (w < words.size() && !word_scores)
        word_scores = list_of(words[w], 1 - request_.hybrid->ratio);
      if (s < semantic.size() && !semantic_scores)
        semantic_scores = list_of(semantic[s], request_.hybrid->ratio);
      const bool by_vector =
          w == words.size() ||
          (s < semantic.size() && CompareHybridScores(*semantic_scores, *word_scores) <= 0);
      const Hit& hit = by_vector ? semantic[s++] : words[w++];
      (by_vector ? semantic_scores : word_scores).reset();
      if (!seen.insert(hit.docid).second) continue;
      if (distinct != nullptr) {
        if (excluded.Contains(hit.docid)) continue;
        distinct->ValuesOfInto(hit.docid, excluded);
      }
      if (by_vector && kept.size() >= options_.offset) ++*semantic_hit_count_;
      kept.push_back(hit);
    }
  }
  const size_t end = std::min<size_t>(kept.size(), options_.end);
  if (options_.offset < end)
    merged_.assign(kept.begin() + static_cast<ptrdiff_t>(options_.offset),
                   kept.begin() + static_cast<ptrdiff_t>(end));

  if (!semantic_) {
    candidates_ = words_->candidates_;
    total_ = words_->total_;
    return;
  }
  const bool exact = request_.paged() || request_.hybrid->min_score;
  if (words_only && !exact) {
    candidates_ = words_->candidates_;
    total_ = words_->total_;
    return;
  }
  candidates_ = words_->candidates_ | semantic_->candidates_;
  if (distinct != nullptr && exact) {
    // One document for each value, those of the page and before it first.
    for (const Hit& hit : kept) {
      if (words_only && !excluded.Contains(hit.docid)) distinct->ValuesOfInto(hit.docid, excluded);
    }
    candidates_.ForEach([&](uint32_t docid) {
      if (!excluded.Contains(docid)) distinct->ValuesOfInto(docid, excluded);
    });
  }
  if (!excluded.empty()) candidates_ -= excluded;
  total_ = std::min<uint64_t>(candidates_.size(), snapshot_->settings->max_total_hits);
}

Status SearchRun::MakeScope() {
  const index::Settings& settings = *snapshot_->settings;
  const auto& on = request_.attributes_to_search_on;
  const bool every = !on || std::find(on->begin(), on->end(), "*") != on->end();
  scope_.all = every;
  scope_.exact_numbers = settings.typo_disabled_on_numbers;
  if (on) {
    const auto matches_field = [&](const std::string& pattern) {
      for (size_t f = 0; f < snapshot_->traits.size(); ++f) {
        if (!snapshot_->traits[f].searchable) continue;
        if (index::MatchesPattern(pattern, snapshot_->fields->name(static_cast<FieldId>(f))))
          return true;
      }
      return false;
    };
    for (const std::string& name : *on) {
      if (!settings.searchable || name == "*") continue;
      const bool listed = std::any_of(
          settings.searchable->begin(), settings.searchable->end(), [&](const auto& entry) {
            return index::Covers(entry, name) || index::MatchesPattern(name, entry);
          });
      if (!listed && !matches_field(name)) {
        return Status::Invalid("The attribute `" + name +
                                   "` of `attributesToSearchOn` is not searchable. " +
                                   settings.SearchableText(),
                               "invalid_search_attributes_to_search_on");
      }
    }
  }
  for (size_t f = 0; f < snapshot_->traits.size(); ++f) {
    const auto field = static_cast<FieldId>(f);
    const index::FieldTraits& traits = snapshot_->traits[f];
    if (!traits.searchable) continue;
    if (traits.typo_tolerant) {
      scope_.index_tolerant.Add(field);
    } else {
      scope_.index_exact = true;
    }
    if (!every) {
      const std::string& name = snapshot_->fields->name(field);
      const bool wanted = std::any_of(on->begin(), on->end(), [&](const auto& entry) {
        // A parent stands for what is below it only where the settings list it as such.
        const bool parent = settings.searchable && index::Covers(entry, name) &&
                            std::find(settings.searchable->begin(), settings.searchable->end(),
                                      entry) != settings.searchable->end();
        return parent || index::MatchesPattern(entry, name);
      });
      if (!wanted) continue;
      scope_.searched.Add(field);
    }
    if (traits.typo_tolerant) {
      scope_.tolerant.Add(field);
    } else {
      scope_.any_exact = true;
    }
  }
  return Status::Ok();
}

// The languages that the searched documents were read in, or those of them that the query names:
// its words must have the forms that theirs have.
std::vector<text::Locale> SearchRun::QueryLocales() const {
  std::vector<text::Locale> locales, named;
  bool any_language = false;
  const auto has = [](const std::vector<text::Locale>& list, text::Locale locale) {
    return std::find(list.begin(), list.end(), locale) != list.end();
  };
  for (size_t f = 0; f < snapshot_->traits.size(); ++f) {
    const index::FieldTraits& traits = snapshot_->traits[f];
    if (!traits.searchable || !scope_.Searches(static_cast<FieldId>(f))) continue;
    any_language |= traits.locales.empty();
    for (const text::Locale locale : traits.locales) {
      if (has(locales, locale)) continue;
      locales.push_back(locale);
      if (has(request_.locales, locale)) named.push_back(locale);
    }
  }
  if (!named.empty()) return named;
  // A language that is none of theirs goes with what was read in no language.
  if (!request_.locales.empty() && any_language) return {};
  return locales;
}

DocSet SearchRun::WithoutNegatives(DocSet allowed) {
  for (const std::string& text : query_.negative_words) {
    const WordNumber word = graph_->FindWord(text);
    if (word != kNoWord) allowed -= graph_->WordDocuments(graph_->words()[word], scope_.fields());
  }
  for (const auto& words : query_.negative_phrases) {
    if (const auto phrase = graph_->FindPhrase(words))
      allowed -= graph_->PhraseDocuments(*phrase, scope_.fields());
  }
  return allowed;
}

Status SearchRun::Prepare() {
  const index::Settings& settings = *snapshot_->settings;
  GANNET_RETURN_IF_ERROR(MakeScope());
  std::optional<std::string> distinct = request_.distinct;
  if (distinct) {
    const auto rule = settings.Filterable(*distinct);
    if (!rule || !rule->first.filterable()) {
      return Status::Invalid("The attribute `" + *distinct + "` of `distinct` is not filterable. " +
                                 settings.FilterableText(),
                             "invalid_search_distinct");
    }
  } else {
    distinct = settings.distinct;
  }
  std::optional<DocSet> allowed;  // nothing: all
  if (request_.matching) {
    allowed = *request_.matching;
  } else if (!request_.filter.empty()) {
    const filter::FilterFeatures features{request_.contains_filter, request_.multimodal};
    GANNET_ASSIGN_OR_RETURN(
        allowed, index::EvaluateFilterJson(*snapshot_, request_.filter, features, &*deadline_));
  }
  if (request_.excluded) allowed = (allowed ? *allowed : snapshot_->documents) - *request_.excluded;
  GANNET_ASSIGN_OR_RETURN(sort_, ParseSort(request_.sort, settings, "invalid_search_sort", true));
  if (!request_.facets.empty()) GANNET_RETURN_IF_ERROR(ValidateFacets(*snapshot_, request_.facets));

  const bool semantic = request_.kind() == SearchKind::kSemantic;
  if (semantic) GANNET_RETURN_IF_ERROR(PrepareScan());
  // What a hybrid search excludes concerns both halves; a search by vectors alone knows no words.
  if (!semantic || request_.half) {
    query_ = ParseQuery(request_.q, *snapshot_->analyzer, QueryLocales(), request_.word_starts,
                        settings.prefix_search);
    if (semantic) query_.terms.clear();
  }
  graph_ = std::make_unique<Graph>(*snapshot_, scope_, query_);
  if (!query_.negative_words.empty() || !query_.negative_phrases.empty()) {
    allowed = WithoutNegatives(allowed ? std::move(*allowed) : snapshot_->documents);
  }
  const bool has_terms = !query_.terms.empty();
  if (semantic && request_.hybrid->min_score) {
    allowed =
        scan_->AtLeast(allowed ? *allowed : snapshot_->documents, *request_.hybrid->min_score);
    request_.exhaustive = true;
  }
  if (distinct) {
    distinct_ = std::make_unique<Distinct>(*snapshot_, *distinct);
    if (!distinct_->active()) distinct_.reset();
  }
  // What is thrown out on the way is known only when every document is placed.
  options_.exhaustive =
      (request_.paged() || request_.exhaustive) && (distinct_ != nullptr || options_.threshold);
  if (!options_.threshold && !request_.needs_candidates) options_.enough = settings.max_total_hits;
  auto rules = semantic ? VectorRulesFor(settings, sort_, custom_sort_)
                        : RulesFor(settings, sort_, has_terms, options_.strategy, custom_sort_);
  ranker_ = std::make_unique<Ranker>(*snapshot_, has_terms ? graph_.get() : nullptr, query_,
                                     options_, std::move(rules), distinct_.get());
  const DocSet* within = allowed ? &*allowed : nullptr;
  if (!request_.needs_candidates && ranker_->FindsMatches() && !deadline_->Passed()) {
    ranker_->RunAllowed(within);
    total_ = ranker_->CountUniverse(within, settings.max_total_hits);
    return Status::Ok();
  }
  DocSet universe = ranker_->Universe(within);
  candidates_ = universe;
  ranker_->Run(std::move(universe));
  if (!ranker_->excluded().empty()) candidates_ -= ranker_->excluded();
  total_ = std::min<uint64_t>(candidates_.size(), settings.max_total_hits);
  if (semantic) {
    semantic_hit_count_ = hits().size();
    uses_vector_ = request_.vector.has_value();
  }
  return Status::Ok();
}

Result<std::unique_ptr<SearchRun>> SearchRun::RunSimilar(
    std::shared_ptr<const index::Snapshot> shared, SearchRequest request, DocId target,
    const Deadline* deadline) {
  auto run = std::unique_ptr<SearchRun>(new SearchRun(std::move(shared), std::move(request)));
  run->Start(false, deadline);
  const index::Snapshot& snapshot = *run->snapshot_;
  const SearchRequest& wanted = run->request_;
  const index::EmbedderSettings* embedder = snapshot.settings->Embedder(wanted.hybrid->embedder);
  if (embedder == nullptr) {
    return Status::Invalid("The index has no embedder `" + wanted.hybrid->embedder + "`.",
                           "invalid_similar_embedder");
  }
  DocSet& candidates = run->candidates_;
  candidates = snapshot.documents;
  if (!wanted.filter.empty()) {
    const filter::FilterFeatures features{wanted.contains_filter, wanted.multimodal};
    GANNET_ASSIGN_OR_RETURN(
        candidates, index::EvaluateFilterJson(snapshot, wanted.filter, features, &*run->deadline_));
  }
  candidates.Remove(target);
  std::vector<std::vector<float>> targets;
  const index::SegmentView* segment = snapshot.FindSegment(target);
  const segment::EmbedderReader* vectors =
      segment == nullptr ? nullptr : segment->vectors->Find(embedder->name);
  if (vectors != nullptr) {
    const auto rows = vectors->FindRows(target);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
      std::vector<float> numbers;
      if (!vectors->ReadRow(row, numbers)) return Status::Corruption("a stored vector is damaged");
      targets.push_back(std::move(numbers));
    }
  }
  const bool known = !targets.empty();
  run->scan_ =
      std::make_unique<VectorScan>(snapshot, *embedder, std::move(targets),
                                   ScanOptions{.paired = true, .deadline = run->deadline_});
  run->options_.vector_scan = run->scan_.get();
  run->ranker_ = std::make_unique<Ranker>(snapshot, nullptr, run->query_, run->options_,
                                          std::vector<Rule>{{RuleKind::kVector}}, nullptr);
  if (known) {
    DocSet embedded = run->scan_->Embedded(candidates);
    const DocSet excluded_with = candidates - embedded;
    run->ranker_->Run(std::move(embedded));
    if (!run->ranker_->excluded().empty()) {
      candidates -= run->ranker_->excluded();
      candidates -= excluded_with;
    }
  }
  run->total_ = std::min<uint64_t>(candidates.size(), snapshot.settings->max_total_hits);
  GANNET_RETURN_IF_ERROR(snapshot.Health());
  return run;
}

const std::vector<Hit>& SearchRun::hits() const { return words_ ? merged_ : ranker_->hits(); }

MatchTerms SearchRun::CollectMatchTerms() {
  MatchTerms terms;
  if (query_.terms.empty()) return terms;
  auto& nodes = graph_->nodes();
  std::vector<Node*> ordered;
  for (Node& node : nodes) ordered.push_back(&node);
  // Terms that are no prefix first, longer ngrams first.
  std::stable_sort(ordered.begin(), ordered.end(), [](const Node* a, const Node* b) {
    if (a->term.prefix != b->term.prefix) return b->term.prefix;
    return a->slots() > b->slots();
  });
  for (Node* node : ordered) {
    const auto first = static_cast<uint16_t>(node->term.first),
               last = static_cast<uint16_t>(node->term.last);
    const auto query_chars = static_cast<uint32_t>(CountChars(node->text));
    for (int typos = 0; typos < kTypoClasses; ++typos) {
      const Expansions& expansions = graph_->Class(*node, typos);
      for (const Phrase& phrase : expansions.phrases) {
        MatchPhrase match;
        match.first_position = first;
        for (const WordNumber word : phrase.words) {
          match.words.push_back(word == kNoWord ? std::nullopt
                                                : std::optional(graph_->words()[word].text));
        }
        terms.phrases.push_back(std::move(match));
      }
      // The words of a glued prefix may be listed one by one.
      const bool glued_prefix =
          typos == 0 && node->ngram() && node->term.prefix && !expansions.words.empty();
      // Of a short prefix only the word as typed counts, as long as the index has it.
      const bool marked = (glued_prefix || graph_->HasLiveRange(expansions)) &&
                          (!node->short_prefix || node->verbatim != kNoWord);
      if (marked) terms.words.push_back({node->text, true, query_chars, first, last});
      if (glued_prefix && node->short_prefix) continue;
      for (const WordNumber word : expansions.words) {
        terms.words.push_back(
            {graph_->words()[word].text, node->term.prefix, query_chars, first, last});
      }
    }
  }
  return terms;
}

void SearchRun::PrepareHits() {
  projection_ = Projection::ForSearch(request_.attributes_to_retrieve,
                                      snapshot_->settings->displayed, *snapshot_->fields);
  const bool formats =
      request_.format.highlight || request_.format.crop || request_.format.matches_position;
  highlighter_.emplace(*snapshot_, formats ? CollectMatchTerms() : MatchTerms(), request_.format,
                       request_.attributes_to_retrieve, std::vector<text::Locale>());
  std::vector<DocId> docids;
  for (const Hit& hit : hits()) docids.push_back(hit.docid);
  snapshot_->ExpectRows(docids);
  codec_ = std::make_unique<segment::RowCodec>(snapshot_->dictionary);
}

Status SearchRun::AppendHit(const Hit& hit, std::string_view extra, std::string& out,
                            const PinnedDocument* pin) {
  if (words_) return words_->AppendHit(hit, extra, out, pin);  // it knows the words to mark
  if (!projection_) PrepareHits();
  GANNET_ASSIGN_OR_RETURN(const std::string_view row,
                          codec_->Expand(snapshot_->FindRow(hit.docid)));
  if (!segment::ParseRow(row, fields_)) return Status::Corruption("a stored document is damaged");
  out += '{';
  bool first = true;
  AppendProjected(fields_, *snapshot_->fields, *projection_, first, out);
  const auto member = [&](const char* name) {
    if (!first) out += ',';
    first = false;
    out += '"';
    out += name;
    out += "\":";
  };
  const auto geo = std::find_if(sort_.begin(), sort_.end(), [](const SortCriterion& c) {
    return c.kind == SortCriterion::Kind::kGeo;
  });
  if (geo != sort_.end()) {
    const auto whole = [&](std::string_view path) {
      return projection_->Of(path) == Cover::kWhole;
    };
    const bool shown = whole("_geo") || (whole("_geo.lat") && whole("_geo.lng"));
    const SortValue value = shown ? SortValueOf(*snapshot_, *geo, hit.docid) : SortValue{};
    if (value.kind == SortValue::Kind::kGeo) {
      member("_geoDistance");
      AppendJsonNumber(out, std::round(value.distance));
    }
  }
  if (request_.retrieve_vectors &&
      (request_.hidden_vectors || !snapshot_->settings->displayed ||
       std::find(snapshot_->settings->displayed->begin(), snapshot_->settings->displayed->end(),
                 "_vectors") != snapshot_->settings->displayed->end())) {
    member("_vectors");
    GANNET_RETURN_IF_ERROR(AppendStoredVectors(*snapshot_, hit.docid, fields_, out));
  }
  if (highlighter_->active()) {
    highlighter_->Append(fields_, first, out);
    GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, request_.answer_bytes_max));
  }
  if (request_.show_score) {
    member("_rankingScore");
    AppendJsonFloat(out, pin == nullptr ? ScoreOf(hit.detail) : 1.0);
  }
  if (request_.show_details) {
    member("_rankingScoreDetails");
    if (pin == nullptr) {
      AppendScoreDetails(hit.detail, *snapshot_, out);
    } else {
      out += "{\"pin\":{\"order\":0,\"position\":";
      AppendJsonNumber(out, uint64_t{pin->position});
      out += "}}";
    }
  }
  if (!extra.empty()) {
    if (!first) out += ',';
    out += extra;
  }
  out += '}';
  return Status::Ok();
}

Status CheckAnswerSize(const std::string& out, uint64_t bytes_max) {
  if (out.size() <= bytes_max) return Status::Ok();
  return Status::Invalid("The answer would be larger than the limit of " +
                             std::to_string(bytes_max) +
                             " bytes; ask for fewer hits, attributes or facets.",
                         "bad_request");
}

Result<std::vector<PinnedDocument>> FindPins(index::Index& index, const std::vector<Pin>& pins) {
  std::vector<PinnedDocument> pinned;
  if (pins.empty()) return pinned;
  GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
  for (const Pin& pin : pins) {
    if (const auto docid = ids.Find(pin.id)) pinned.push_back({*docid, pin.position});
  }
  GANNET_RETURN_IF_ERROR(ids.health());
  return pinned;
}

Status KeepPins(const index::Snapshot& snapshot, SearchRequest& request,
                std::vector<PinnedDocument>& pins) {
  if (pins.empty()) return Status::Ok();
  if (!request.filter.empty()) {
    const filter::FilterFeatures features{request.contains_filter, request.multimodal};
    Deadline deadline = DeadlineOf(snapshot, request);
    GANNET_ASSIGN_OR_RETURN(
        DocSet matching, index::EvaluateFilterJson(snapshot, request.filter, features, &deadline));
    request.matching = std::make_shared<const DocSet>(std::move(matching));
  }
  DocSet excluded;
  std::erase_if(pins, [&](const PinnedDocument& pin) {
    const bool there = snapshot.documents.Contains(pin.docid) &&
                       (!request.matching || request.matching->Contains(pin.docid));
    if (!there || excluded.Contains(pin.docid)) return true;
    excluded.Add(pin.docid);
    return false;
  });
  std::stable_sort(pins.begin(), pins.end(), [](const PinnedDocument& a, const PinnedDocument& b) {
    return a.position < b.position;
  });
  if (!pins.empty()) request.excluded = std::make_shared<const DocSet>(std::move(excluded));
  return Status::Ok();
}

namespace {

// One place of a page.
struct PlacedHit {
  Hit hit;
  const PinnedDocument* pin;  // null: an ordinary hit
};

// Fills places from the first one: a pin whose position has come, else the next ordinary hit; pins
// that are left follow. hits: the ordinary ones from the first place on. Only the places of the
// window are kept.
std::vector<PlacedHit> PlaceHits(const std::vector<Hit>& hits,
                                 const std::vector<PinnedDocument>& pins,
                                 std::pair<uint64_t, uint64_t> window) {
  std::vector<PlacedHit> page;
  size_t pin = 0, hit = 0;
  for (uint64_t place = 0; place < window.second && (pin < pins.size() || hit < hits.size());
       ++place) {
    const bool pinned = pin < pins.size() && (pins[pin].position <= place || hit == hits.size());
    const PlacedHit placed =
        pinned ? PlacedHit{{pins[pin].docid, nullptr}, &pins[pin]} : PlacedHit{hits[hit], nullptr};
    ++(pinned ? pin : hit);
    if (place >= window.first) page.push_back(placed);
  }
  return page;
}

}  // namespace

Result<std::string> ExecuteSearch(index::Index& index, std::string_view request_json,
                                  const Caller& caller) {
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  request.needs_candidates = !request.facets.empty();
  request.gone = caller.gone;
  GANNET_ASSIGN_OR_RETURN(std::vector<PinnedDocument> pins, FindPins(index, request.pins));
  std::shared_ptr<const index::Snapshot> snapshot = index.snapshot();
  GANNET_RETURN_IF_ERROR(KeepPins(*snapshot, request, pins));
  GANNET_ASSIGN_OR_RETURN(auto run,
                          SearchRun::Run(std::move(snapshot), std::move(request), !pins.empty()));
  const SearchRequest& wanted = run->request();
  std::string out;
  if (run->needs_vector()) return out;
  out.reserve(16 << 10);
  out += '{';
  if (object["indexUid"].is_string()) {
    out += "\"indexUid\":";
    AppendJsonString(out, object["indexUid"].string());
    out += ',';
  }
  out += "\"hits\":[";
  bool first = true;
  const auto append = [&](const Hit& hit, const PinnedDocument* pin) -> Status {
    if (!first) out += ',';
    first = false;
    GANNET_RETURN_IF_ERROR(run->AppendHit(hit, {}, out, pin));
    return CheckAnswerSize(out, wanted.answer_bytes_max);
  };
  std::optional<uint64_t> semantic_hit_count = run->semantic_hit_count();
  if (pins.empty()) {
    for (const Hit& hit : run->hits()) GANNET_RETURN_IF_ERROR(append(hit, nullptr));
  } else {
    const std::vector<PlacedHit> placed = PlaceHits(run->hits(), pins, run->window());
    for (const auto& [hit, pin] : placed) GANNET_RETURN_IF_ERROR(append(hit, pin));
    if (semantic_hit_count) {
      // The run has counted hits from the first place on, whatever the page shows of them.
      const bool all = wanted.kind() == SearchKind::kSemantic;
      semantic_hit_count = static_cast<uint64_t>(
          std::count_if(placed.begin(), placed.end(), [&](const PlacedHit& one) {
            return one.pin == nullptr && (all || HasVector(one.hit.detail));
          }));
    }
  }
  out += "],\"query\":";
  AppendJsonString(out, wanted.q);
  if (wanted.retrieve_vectors && run->query_vector() != nullptr) {
    out += ",\"queryVector\":";
    AppendVector(*run->query_vector(), out);
  }
  out += ",\"processingTimeMs\":";
  AppendJsonNumber(out, (MonotonicMicroseconds() - caller.started_us) / 1000);
  const uint64_t total =
      std::min<uint64_t>(run->total() + pins.size(), run->snapshot().settings->max_total_hits);
  if (wanted.paged()) {
    const uint64_t per_page = wanted.hits_per_page.value_or(20);
    out += ",\"hitsPerPage\":";
    AppendJsonNumber(out, per_page);
    out += ",\"page\":";
    AppendJsonNumber(out, wanted.page.value_or(1));
    out += ",\"totalPages\":";
    AppendJsonNumber(out, per_page == 0 ? uint64_t{0} : total / per_page + (total % per_page != 0));
    out += ",\"totalHits\":";
    AppendJsonNumber(out, total);
  } else {
    out += ",\"limit\":";
    AppendJsonNumber(out, wanted.limit);
    out += ",\"offset\":";
    AppendJsonNumber(out, wanted.offset);
    out += ",\"estimatedTotalHits\":";
    AppendJsonNumber(out, total);
  }
  if (semantic_hit_count) {
    out += ",\"semanticHitCount\":";
    AppendJsonNumber(out, *semantic_hit_count);
  }
  if (!wanted.facets.empty()) {
    out += ',';
    DocSet counted = run->candidates();
    if (wanted.excluded) counted = counted | *wanted.excluded;
    GANNET_RETURN_IF_ERROR(AppendFacets(run->snapshot(), wanted.facets, counted, out));
  }
  for (const auto& [name, value] : object.members()) {
    if (name != "requestUid" && name != "metadata") continue;
    out += ",\"" + name + "\":";
    out += value.text();
  }
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, wanted.answer_bytes_max));
  GANNET_RETURN_IF_ERROR(run->snapshot().Health());
  return out;
}

Result<std::string> ExecuteFacetSearch(index::Index& index, std::string_view request_json,
                                       const Caller& caller) {
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  const bool exhaustive = object["exhaustiveFacetCount"].boolean();
  request.limit = 0;
  request.offset = 0;
  request.sort.clear();
  request.facets.clear();
  request.page.reset();
  request.hits_per_page.reset();
  if (exhaustive) {
    request.page = 0;
    request.hits_per_page = 0;
  }
  request.gone = caller.gone;
  const uint64_t bytes_max = request.answer_bytes_max;
  if (request.hybrid && !request.hybrid->min_score) {
    // Vectors find every document.
    request.hybrid.reset();
    request.q.clear();
    request.word_starts.clear();
  }
  const auto locales = request.locales;
  GANNET_ASSIGN_OR_RETURN(auto run, SearchRun::Run(index.snapshot(), std::move(request)));
  if (run->needs_vector()) return std::string();
  const std::optional<std::string> query = object["facetQuery"].is_string()
                                               ? std::optional(object["facetQuery"].string())
                                               : std::nullopt;
  std::string out = "{\"facetHits\":";
  GANNET_RETURN_IF_ERROR(AppendFacetHits(run->snapshot(), object["facetName"].string(), query,
                                         run->candidates(), locales,
                                         object["forMerging"].boolean(false), out));
  out += ",\"facetQuery\":";
  if (query) {
    AppendJsonString(out, *query);
  } else {
    out += "null";
  }
  out += ",\"processingTimeMs\":";
  AppendJsonNumber(out, (MonotonicMicroseconds() - caller.started_us) / 1000);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, bytes_max));
  GANNET_RETURN_IF_ERROR(run->snapshot().Health());
  return out;
}

}  // namespace gannet::search
