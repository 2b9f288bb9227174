#include "search/rank.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/score_details.h"

namespace gannet::search {
namespace {

constexpr uint32_t kNgramTypos[] = {0, 2, 3};
constexpr uint32_t kNgramSlotsMax = 3;
constexpr uint32_t kStays = ~uint32_t{0};  // of a slot that is never left out
constexpr uint32_t kCountedWordsMax = segment::kListedLengthMax;

}  // namespace

std::vector<Rule> RulesFor(const index::Settings& settings, const std::vector<SortCriterion>& sort, bool has_terms,
                           MatchingStrategy strategy, std::deque<SortCriterion>& custom) {
  using Kind = index::RankingRule::Kind;
  std::vector<Rule> rules;
  std::set<std::string> sorted_fields;
  const bool words = has_terms && strategy != MatchingStrategy::kAll;
  const auto has = [&](RuleKind kind) {
    return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.kind == kind; });
  };
  const auto add_sort = [&](const SortCriterion& criterion) {
    std::string name = criterion.field;
    if (criterion.kind == SortCriterion::Kind::kGeo) {
      name = criterion.label();
      name.resize(name.rfind(':'));
    }
    if (sorted_fields.insert(name).second) rules.push_back({RuleKind::kSort, false, &criterion});
  };
  const auto add = [&](RuleKind kind, bool whole = false) {
    if (!has_terms) return;
    if (words && !has(RuleKind::kWords)) rules.push_back({RuleKind::kWords});
    if (kind != RuleKind::kWords && !has(kind)) rules.push_back({kind, whole});
  };
  for (const index::RankingRule& rule : settings.ranking_rules) {
    switch (rule.kind) {
      case Kind::kWords:
        if (words) add(RuleKind::kWords);
        break;
      case Kind::kTypo: add(RuleKind::kTypo); break;
      case Kind::kProximity: add(RuleKind::kProximity); break;
      case Kind::kAttribute:
        add(RuleKind::kAttributeRank, true);
        add(RuleKind::kWordPosition, true);
        break;
      case Kind::kAttributeRank: add(RuleKind::kAttributeRank); break;
      case Kind::kWordPosition: add(RuleKind::kWordPosition); break;
      case Kind::kExactness:
        add(RuleKind::kExactAttribute);
        add(RuleKind::kExactWords);
        break;
      case Kind::kSort:
        for (const SortCriterion& criterion : sort) add_sort(criterion);
        break;
      case Kind::kAscending:
      case Kind::kDescending: {
        SortCriterion criterion{};
        criterion.kind = SortCriterion::Kind::kField;
        criterion.field = rule.field;
        criterion.ascending = rule.kind == Kind::kAscending;
        custom.push_back(criterion);
        add_sort(custom.back());
        break;
      }
    }
  }
  return rules;
}

Ranker::Ranker(const index::Snapshot& snapshot, Graph* graph, const ParsedQuery& query, const RankOptions& options,
               std::vector<Rule> rules, Distinct* distinct)
    : snapshot_(snapshot), graph_(graph), query_(query), options_(options), rules_(std::move(rules)),
      distinct_(distinct) {
  if (graph_ == nullptr) return;
  candidates_ = std::make_unique<Candidates>(*graph_);
  cheapest_.resize(graph_->nodes().size());
  const auto& searchable = snapshot.settings->searchable;
  const auto proximity = std::find_if(rules_.begin(), rules_.end(), [](const Rule& r) { return r.kind == RuleKind::kProximity; });
  if (snapshot.settings->proximity_by_attribute && proximity != rules_.end() && query_.terms.size() > 1) {
    pairs_.emplace(*graph_, *candidates_);
    pairs_rule_ = static_cast<size_t>(proximity - rules_.begin());
  }
  max_weight_ = searchable && !searchable->empty() ? static_cast<uint32_t>(searchable->size() - 1) : 0;
  MakeStages();
}

// At each slot the nodes that begin there, the nearer end first, then leaving the slot out. A slot that is left out takes
// with it what comes later in the query and goes before it. What comes earlier in the query stays, also where it goes
// before it: a path is built from the left, and nobody looks back.
void Ranker::AddPaths(const std::vector<uint32_t>& goes, uint32_t slot, uint32_t gone, size_t dropped, Path& path) {
  if (slot == goes.size()) {
    if (!path.empty()) stages_[dropped].push_back(path);
    return;
  }
  const auto& nodes = graph_->nodes();
  for (uint32_t slots = 1; slots <= kNgramSlotsMax && slot + slots <= goes.size(); ++slots) {
    // A node goes with the last of its slots.
    if (*std::max_element(&goes[slot], &goes[slot] + slots) < gone) continue;
    for (uint16_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].first_slot != slot || nodes[n].slots() != slots) continue;
      path.push_back({n, -1, false});
      AddPaths(goes, slot + slots, gone, dropped, path);
      path.pop_back();
    }
  }
  if (goes[slot] != kStays) AddPaths(goes, slot + 1, std::max(gone, goes[slot]), dropped + 1, path);
}

std::vector<std::vector<uint32_t>> Ranker::ByFrequency(const std::vector<uint32_t>& slots) {
  // Most frequent first; a slot without documents counts as infinitely frequent; equals go together. Only the fields that
  // are searched count.
  std::map<uint64_t, std::vector<uint32_t>, std::greater<>> groups;
  for (const uint32_t slot : slots) {
    DocSet documents;
    for (Node& node : graph_->nodes()) {
      if (node.first_slot <= slot && slot <= node.last_slot) documents |= graph_->Documents(node);
    }
    const uint64_t count = documents.size();
    groups[count == 0 ? ~uint64_t{0} : count].push_back(slot);
  }
  std::vector<std::vector<uint32_t>> ordered;
  for (auto& [count, group] : groups) ordered.push_back(std::move(group));
  return ordered;
}

void Ranker::MakeStages() {
  std::vector<uint32_t> all, plain;
  uint32_t phrase_words = 0;
  for (uint32_t slot = 0; slot < query_.terms.size(); ++slot) {
    all.push_back(slot);
    const Term& term = query_.terms[slot];
    if (!term.mandatory) plain.push_back(slot);
    if (term.mandatory) {
      phrase_words += static_cast<uint32_t>(std::count_if(term.words.begin(), term.words.end(), [](const auto& w) { return w.has_value(); }));
    }
  }
  std::vector<std::vector<uint32_t>> groups;
  if (options_.strategy == MatchingStrategy::kLast) {
    for (auto slot = plain.rbegin(); slot != plain.rend(); ++slot) groups.push_back({*slot});
  } else if (options_.strategy == MatchingStrategy::kFrequency) {
    groups = ByFrequency(plain);
  }
  // Without a phrase the last group stays.
  if (plain.size() == all.size() && !groups.empty()) groups.pop_back();
  std::vector<uint32_t> goes(all.size(), kStays);
  uint32_t removable = 0;
  for (uint32_t place = 0; place < groups.size(); ++place) {
    for (const uint32_t slot : groups[place]) goes[slot] = place;
    removable += static_cast<uint32_t>(groups[place].size());
  }
  stages_.resize(removable + 1);
  Path path;
  AddPaths(goes, 0, 0, 0, path);
  max_matching_words_ = 1 + removable + (phrase_words > 1 ? phrase_words - 1 : 0);
}

DocSet Ranker::PathDocuments(const Path& path, const DocSet& within) {
  std::vector<const DocSet*> sets;
  for (const Step& step : path) {
    const DocSet& documents = graph_->Documents(NodeOf(step));
    if (documents.empty()) return {};
    sets.push_back(&documents);
  }
  std::sort(sets.begin(), sets.end(), [](const DocSet* a, const DocSet* b) { return a->size() < b->size(); });
  DocSet result = *sets[0] & within;
  for (size_t i = 1; i < sets.size() && !result.empty(); ++i) result &= *sets[i];
  return result;
}

DocSet Ranker::Universe(const DocSet& allowed) {
  if (graph_ == nullptr) return allowed;
  // A path that has all the nodes of one that leaves more out adds nothing to it. Most have those of the shortest.
  static_assert(kTermsMax * kNgramSlotsMax <= 32);
  std::vector<uint32_t> shorter;  // nodes as bits
  DocSet universe;
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    for (const Path& path : *stage) {
      uint32_t nodes = 0;
      for (const Step& step : path) nodes |= uint32_t{1} << step.node;
      if (std::any_of(shorter.begin(), shorter.end(), [&](uint32_t other) { return (other & ~nodes) == 0; })) continue;
      shorter.push_back(nodes);
      universe |= PathDocuments(path, allowed);
    }
  }
  return universe;
}

void Ranker::Run(DocSet universe) {
  Bucket bucket;
  bucket.documents = std::move(universe);
  // Without the rule `words` no path is dropped before the first rule.
  if (graph_ != nullptr) bucket.paths = stages_[0];
  const DocSet everything = distinct_ != nullptr && options_.exhaustive ? bucket.documents : DocSet();
  Refine(std::move(bucket), 0, nullptr);
  if (everything.empty() || options_.threshold) return;
  // What no rule has looked at is made distinct in docid order: it counts for totals and facets only.
  (everything - kept_ - excluded_).ForEach([&](uint32_t docid) {
    if (!excluded_.Contains(docid)) distinct_->ValuesOfInto(docid, excluded_);
  });
}

const Detail* Ranker::Add(Detail detail) {
  details_.push_back(std::move(detail));
  return &details_.back();
}

const Detail* Ranker::AddCost(size_t rule, uint32_t cost, uint32_t max, const Detail* previous) {
  Detail detail;
  detail.rule = rules_[rule];
  detail.rank = max + 1 - std::min(cost, max);
  detail.max = max + 1;
  detail.previous = previous;
  return Add(std::move(detail));
}

bool Ranker::Below(const Detail* detail) const {
  return options_.threshold && ScoreOf(detail) < *options_.threshold;
}

void Ranker::Descend(Bucket bucket, size_t rule, const Detail* detail, bool& dropping) {
  dropping = dropping || Below(detail);
  if (dropping) {
    excluded_ |= bucket.documents;
  } else {
    Refine(std::move(bucket), rule, detail);
  }
}

void Ranker::Refine(Bucket bucket, size_t rule, const Detail* detail) {
  if (Full()) return;
  if (!excluded_.empty()) bucket.documents -= excluded_;
  const uint64_t size = bucket.documents.size();
  if (size == 0) return;
  const bool plain = distinct_ == nullptr && !options_.threshold;
  // What a bucket asks for decides about later ones, so it may not be passed over.
  const bool asks = pairs_ && rule <= pairs_rule_;
  if (plain && !asks && seen_ + size <= options_.offset) {
    seen_ += size;  // wholly before the page
    return;
  }
  if (rule == rules_.size() || (plain && !asks && size == 1 && !options_.details)) return Emit(bucket.documents, detail);
  if (options_.deadline != nullptr && graph_ != nullptr && options_.deadline->Passed()) {
    degraded_ = true;
    Detail skipped;
    skipped.rule = {RuleKind::kSkipped};
    skipped.rank = 0;
    skipped.max = 1;
    skipped.previous = detail;
    return Emit(bucket.documents, Add(std::move(skipped)));
  }
  switch (rules_[rule].kind) {
    case RuleKind::kWords: return SplitByWords(bucket, rule, detail);
    case RuleKind::kTypo: return SplitByTypo(bucket, rule, detail);
    case RuleKind::kExactAttribute: return SplitByExactAttribute(bucket, rule, detail);
    case RuleKind::kSort: return SplitBySort(bucket, rule, detail);
    default: return SplitByCost(bucket, rule, detail);
  }
}

void Ranker::Emit(const DocSet& documents, const Detail* detail) {
  if (distinct_ == nullptr) {
    const uint64_t size = documents.size();
    const uint64_t skip = options_.offset > seen_ ? std::min(options_.offset - seen_, size) : 0;
    const uint64_t want = options_.end > seen_ + skip ? options_.end - seen_ - skip : 0;
    seen_ += size;
    if (skip == size || want == 0) return;
    DocSetCursor cursor(documents);
    if (skip > 0) cursor.SkipTo(documents.Select(static_cast<uint32_t>(skip)));
    uint32_t block[64];
    uint64_t left = want;
    while (left > 0) {
      const size_t count = cursor.Read(block, std::min<uint64_t>(left, 64));
      if (count == 0) break;
      for (size_t i = 0; i < count; ++i) hits_.push_back({block[i], detail});
      left -= count;
    }
    return;
  }
  // A bucket that rules have made is made distinct as a whole, also behind the end of the page.
  const bool whole = !rules_.empty();
  documents.ForEach([&](uint32_t docid) -> bool {
    if (Full() && !whole) return false;
    if (excluded_.Contains(docid)) return true;
    // An exhaustive search with a threshold goes on behind the page.
    if (seen_ < options_.end) {
      if (seen_ >= options_.offset) hits_.push_back({docid, detail});
      ++seen_;
    }
    if (options_.exhaustive) kept_.Add(docid);
    distinct_->ValuesOfInto(docid, excluded_);
    return true;
  });
}

void Ranker::SplitByWords(const Bucket& bucket, size_t rule, const Detail* detail) {
  if (EmitPerfect(bucket, rule, detail)) return;
  DocSet remaining = bucket.documents;
  bool dropping = false;
  for (uint32_t dropped = 0; dropped < stages_.size(); ++dropped) {
    if (Full() || remaining.empty()) return;
    Bucket part;
    for (const Path& path : stages_[dropped]) {
      const DocSet documents = PathDocuments(path, remaining);
      if (documents.empty()) continue;
      remaining -= documents;
      part.documents |= documents;
      part.paths.push_back(path);
    }
    if (part.documents.empty()) continue;
    Detail next;
    next.rule = rules_[rule];
    next.rank = max_matching_words_ - dropped;
    next.max = max_matching_words_;
    next.previous = detail;
    Descend(std::move(part), rule + 1, Add(std::move(next)), dropping);
  }
}

// The documents that match every word as typed (or as prefixes) come first of all when `typo` follows `words`. They
// are found without looking for typos at all, and often fill the page. Only without scores: these need to know which
// other paths there are.
bool Ranker::EmitPerfect(const Bucket& bucket, size_t rule, const Detail* detail) {
  if (!PerfectFirst(rule) || detail != nullptr) return false;
  Bucket part;
  Path path;
  part.documents = PerfectDocuments(bucket.documents, path);
  if (part.documents.empty() || part.documents.size() < options_.end) return false;
  part.paths.push_back(std::move(path));
  Refine(std::move(part), rule + 2, detail);
  return true;
}

bool Ranker::PerfectFirst(size_t rule) const {
  return !options_.details && !options_.threshold && distinct_ == nullptr && !options_.exhaustive && options_.offset == 0 &&
         hits_.empty() && rule + 1 < rules_.size() && rules_[rule].kind == RuleKind::kWords &&
         rules_[rule + 1].kind == RuleKind::kTypo;
}

DocSet Ranker::PerfectDocuments(DocSet within, Path& path) {
  for (uint16_t n = 0; n < graph_->nodes().size(); ++n) {
    Node& node = graph_->nodes()[n];
    if (node.ngram()) continue;
    within = graph_->DocumentsWithin(node, 0, within);
    if (within.empty()) break;
    path.push_back({n, 0, false});
  }
  return within;
}

DocSet Ranker::PerfectUniverse(const DocSet& allowed, uint64_t enough) {
  if (graph_ == nullptr || !PerfectFirst(0)) return {};
  Path path;
  DocSet documents = PerfectDocuments(allowed, path);
  if (documents.size() < std::max(enough, options_.end)) return {};
  return documents;
}

const DocSet& Ranker::CheapestClass(uint16_t node, int typos) {
  auto& entry = cheapest_[node][typos];
  if (!entry) {
    DocSet documents = graph_->Documents(graph_->nodes()[node], typos);
    for (int lower = 0; lower < typos; ++lower) documents -= graph_->Documents(graph_->nodes()[node], lower);
    entry = std::move(documents);
  }
  return *entry;
}

void Ranker::SplitByTypo(const Bucket& bucket, size_t rule, const Detail* detail) {
  uint32_t max = 0, cost_max = 0;
  for (const Path& path : bucket.paths) {
    max = std::max(max, PathMax(RuleKind::kTypo, path));
    uint32_t most = 0;
    for (const Step& step : path) most += kNgramTypos[NodeOf(step).slots() - 1] + (step.verbatim ? 0 : 2);
    cost_max = std::max(cost_max, most);
  }
  DocSet remaining = bucket.documents;
  bool dropping = false;
  for (uint32_t cost = 0; cost <= cost_max && !remaining.empty() && !Full(); ++cost) {
    Bucket part;
    for (const Path& path : bucket.paths) {
      uint32_t base = 0;
      for (const Step& step : path) base += kNgramTypos[NodeOf(step).slots() - 1];
      if (base > cost) continue;
      // Every way to spread the typos over the steps; the ways are disjoint.
      std::vector<std::pair<uint32_t, Path>> taken;  // lowest docid, path
      Path chosen;
      const std::function<void(size_t, uint32_t, const DocSet&)> spread = [&](size_t at, uint32_t left,
                                                                              const DocSet& documents) {
        if (at == path.size()) {
          if (left > 0) return;
          taken.emplace_back(documents.min(), chosen);
          part.documents |= documents;
          return;
        }
        const Step& step = path[at];
        const uint32_t most = step.verbatim ? 0 : std::min<uint32_t>(left, 2);
        for (uint32_t typos = 0; typos <= most; ++typos) {
          DocSet next;
          if (step.verbatim) {
            Node& node = NodeOf(step);
            if (node.term.phrase) {
              next = documents & graph_->Documents(node, 0);
            } else if (node.verbatim != kNoWord) {
              next = graph_->WordDocuments(graph_->words()[node.verbatim], graph_->scope().fields(), &documents);
            }
          } else {
            next = documents & CheapestClass(step.node, static_cast<int>(typos));
          }
          if (next.empty()) continue;
          chosen.push_back({step.node, static_cast<int8_t>(typos), step.verbatim});
          spread(at + 1, left - typos, next);
          chosen.pop_back();
        }
      };
      const DocSet before = remaining - part.documents;
      if (before.empty()) break;
      spread(0, cost - base, before);
      std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (auto& [docid, way] : taken) part.paths.push_back(std::move(way));
    }
    if (part.documents.empty()) continue;
    remaining -= part.documents;
    Descend(std::move(part), rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
}

void Ranker::Prepare(const Bucket& bucket) {
  for (const Path& path : bucket.paths) {
    for (const Step& step : path) {
      Node& node = NodeOf(step);
      graph_->Class(node, 0);
      for (int typos = 1; typos < kTypoClasses; ++typos) {
        if (step.typos < 0 ? !step.verbatim : step.typos == typos) graph_->Class(node, typos);
      }
    }
  }
  std::vector<uint32_t> load;
  bucket.documents.ForEach([&](uint32_t docid) {
    if (!candidates_->Knows(docid)) load.push_back(docid);
  });
  if (load.empty()) return;
  candidates_->Load(DocSet::FromSorted(load));
}

uint32_t Ranker::StepMax(RuleKind kind, const Step* previous, const Step& step) {
  const Node& node = NodeOf(step);
  switch (kind) {
    case RuleKind::kTypo:
      // A word held to its verbatim form keeps the 1 of the split words only if it never allowed typos.
      if (node.term.phrase || (step.verbatim && node.allowed_typos > 0)) return 0;
      return kNgramTypos[node.slots() - 1] + std::max<uint32_t>(node.allowed_typos, 1);
    case RuleKind::kProximity: {
      const bool adjacent = previous != nullptr && NodeOf(*previous).term.last + 1 == node.term.first;
      return node.slots() - 1 + (adjacent ? kFarCost : 0);
    }
    case RuleKind::kAttributeRank: return max_weight_ * node.slots();
    case RuleKind::kWordPosition: return 10 * node.slots();
    case RuleKind::kExactWords: return node.slots();
    default: return 0;
  }
}

uint32_t Ranker::PathMax(RuleKind kind, const Path& path) {
  uint32_t sum = 0;
  for (size_t i = 0; i < path.size(); ++i) sum += StepMax(kind, i == 0 ? nullptr : &path[i - 1], path[i]);
  return sum;
}

uint32_t Ranker::WordDistance(DocId docid, const State& left, const Step& step, const State& right) {
  uint32_t best = kFarCost, forward = kGapNever, backward = kGapNever;
  for (const auto l : left.places) {
    for (const auto r : right.places) SmallestGaps(l, r, forward, backward);
  }
  best = std::min(best, forward - 1);
  // For a short prefix the pairs in the other order are those of the word itself.
  const Node& node = NodeOf(step);
  if (node.short_prefix && step.typos <= 0) {
    backward = kGapNever;
    const auto verbatim = candidates_->WordPlaces(docid, node.verbatim);
    uint32_t unused = kGapNever;
    for (const auto l : left.places) SmallestGaps(l, verbatim, unused, backward);
  }
  best = std::min(best, backward);
  const auto ahead = [&](std::span<const Place> l, std::span<const Place> r) {
    uint32_t gap = kGapNever, unused = kGapNever;
    SmallestGaps(l, r, gap, unused);
    best = std::min(best, gap - 1);
  };
  for (const auto l : left.ends) {
    for (const auto r : right.places) ahead(l, r);
    for (const PhrasePlaces& r : right.phrases) ahead(l, r.first);
  }
  for (const PhrasePlaces& r : right.phrases) {
    for (const auto l : left.places) ahead(l, r.first);
  }
  return best;
}

uint32_t Ranker::StepCost(RuleKind kind, DocId docid, const Step* previous, const State* left, const Step& step,
                          const State& right) {
  const Node& node = NodeOf(step);
  const uint32_t slots = node.slots();
  const auto for_each_place = [&](auto&& sink) {
    for (const auto list : right.places) {
      for (const Place place : list) sink(place);
    }
    for (const PhrasePlaces& phrase : right.phrases) {
      for (const Place place : phrase.first_real) sink(place);
    }
  };
  switch (kind) {
    case RuleKind::kProximity: {
      if (previous == nullptr || NodeOf(*previous).term.last + 1 != node.term.first) return slots - 1;
      return slots - 1 + WordDistance(docid, *left, step, right);
    }
    case RuleKind::kAttributeRank: {
      uint32_t best = max_weight_;
      for_each_place([&](Place place) {
        if (graph_->scope().Searches(FieldOf(place))) best = std::min(best, snapshot_.traits[FieldOf(place)].weight);
      });
      return best * slots;
    }
    case RuleKind::kWordPosition: {
      uint32_t best = 10 * slots;
      const auto first = static_cast<uint32_t>(node.term.first);
      for_each_place([&](Place place) {
        best = std::min(best, PositionCostOf(PositionOf(place), first, slots));
      });
      return best;
    }
    default: return 0;
  }
}

std::vector<SweepStep> Ranker::SweepStepsOf(const Path& path) {
  std::vector<SweepStep> steps;
  for (const Step& step : path) steps.push_back({step.node, step.typos, step.verbatim});
  return steps;
}

void Ranker::SplitByCost(const Bucket& bucket, size_t rule, const Detail* detail) {
  const RuleKind kind = rules_[rule].kind;
  uint32_t max = 0;
  for (const Path& path : bucket.paths) max = std::max(max, PathMax(kind, path));
  // One path, and nothing about it that documents differ in.
  if (bucket.paths.size() == 1) {
    const Path& path = bucket.paths[0];
    bool constant = false;
    uint32_t cost = 0;
    if (kind == RuleKind::kAttributeRank) constant = max_weight_ == 0;
    if (kind == RuleKind::kProximity) {
      constant = true;
      for (size_t i = 0; i < path.size(); ++i) {
        constant = constant && (i == 0 || NodeOf(path[i - 1]).term.last + 1 != NodeOf(path[i]).term.first);
        cost += NodeOf(path[i]).slots() - 1;
      }
    }
    if (constant) {
      bool dropping = false;
      return Descend(bucket, rule + 1, AddCost(rule, cost, max, detail), dropping);
    }
  }
  if (kind == RuleKind::kProximity && pairs_) return SplitByAttribute(bucket, rule, detail, max);
  if (bucket.paths.size() == 1) {
    if (kind == RuleKind::kExactWords) return SplitByVerbatim(bucket, rule, detail, max);
    if (kind == RuleKind::kProximity && SplitByNearness(bucket, rule, detail, max)) return;
    bool dropping = false;
    if (auto rest = SplitByLists(bucket, rule, detail, max, dropping)) {
      if (Full() || rest->empty()) return;
      if (SplitBySweep({std::move(*rest), bucket.paths}, rule, detail, max, dropping)) return;
    }
    if (EmitHeads(bucket, rule, detail)) return;
    if (SplitBySweep(bucket, rule, detail, max, false)) return;
  }
  Prepare(bucket);
  // Cost and path of every document, then one list per cost.
  struct Part {
    std::vector<uint32_t> documents;
    std::vector<std::pair<uint32_t, Path>> paths;  // number in the bucket's order, path with its choices
  };
  std::map<uint32_t, Part> parts;
  struct Known {
    Step step;
    State state;
  };
  std::vector<Known> states;
  size_t states_used = 0;
  const auto state_of = [&](DocId docid, const Step& step) -> size_t {
    for (size_t i = 0; i < states_used; ++i) {
      if (states[i].step == step) return i;
    }
    if (states_used == states.size()) states.emplace_back();
    states[states_used].step = step;
    candidates_->StateOf(docid, NodeOf(step), step.typos, step.verbatim, states[states_used].state);
    return states_used++;
  };
  bucket.documents.ForEach([&](uint32_t docid) {
    states_used = 0;
    uint32_t best = ~uint32_t{0};
    size_t best_path = 0;
    uint32_t best_verbatim = 0;
    for (size_t p = 0; p < bucket.paths.size(); ++p) {
      const Path& path = bucket.paths[p];
      uint32_t total = 0, verbatim = 0;
      bool matches = true;
      size_t left = 0;
      for (size_t i = 0; i < path.size() && total < best; ++i) {
        const size_t at = state_of(docid, path[i]);
        if (!states[at].state.matches) {
          matches = false;
          break;
        }
        if (kind == RuleKind::kExactWords) {
          const bool possible = path[i].typos <= 0 && states[state_of(docid, {path[i].node, path[i].typos, true})].state.matches;
          if (possible) {
            verbatim |= 1u << i;
          } else {
            total += NodeOf(path[i]).slots();
          }
        } else {
          total += StepCost(kind, docid, i == 0 ? nullptr : &path[i - 1], i == 0 ? nullptr : &states[left].state,
                            path[i], states[at].state);
        }
        left = at;
      }
      if (matches && total < best) {
        best = total;
        best_path = p;
        best_verbatim = verbatim;
      }
    }
    if (best == ~uint32_t{0}) {
      // Cannot happen while docsets and forward index agree; the document is placed last rather than lost.
      best = max;
    }
    Part& part = parts[best];
    part.documents.push_back(docid);
    Path path = bucket.paths[best_path];
    if (kind == RuleKind::kExactWords) {
      for (size_t i = 0; i < path.size(); ++i) path[i].verbatim = path[i].verbatim || (best_verbatim >> i & 1) != 0;
    }
    const bool known = std::any_of(part.paths.begin(), part.paths.end(), [&](const auto& entry) {
      return entry.first == best_path && entry.second == path;
    });
    if (!known) part.paths.emplace_back(static_cast<uint32_t>(best_path), std::move(path));
  });
  bool dropping = false;
  for (auto& [cost, part] : parts) {
    if (Full()) return;
    Bucket next;
    next.documents = DocSet::FromSorted(part.documents);
    std::stable_sort(part.paths.begin(), part.paths.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [number, path] : part.paths) next.paths.push_back(std::move(path));
    Descend(std::move(next), rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
}

void Ranker::SplitByAttribute(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  constexpr uint32_t kCosts[] = {0, 1, kFarCost};  // in order, also in the other order, neither
  Prepare(bucket);
  pairs_->BeginBucket();
  const size_t count = bucket.paths.size();
  std::vector<DocSet> matching(count);
  std::vector<uint32_t> extra(count);
  State state;
  for (size_t p = 0; p < count; ++p) {
    for (const Step& step : bucket.paths[p]) extra[p] += NodeOf(step).slots() - 1;
    bucket.documents.ForEach([&](uint32_t docid) {
      const bool matches = std::all_of(bucket.paths[p].begin(), bucket.paths[p].end(), [&](const Step& step) {
        candidates_->StateOf(docid, NodeOf(step), step.typos, step.verbatim, state);
        return state.matches;
      });
      if (matches) matching[p].Add(docid);
    });
  }
  // Two neighbouring steps at one cost. Dead: no document is left that has it.
  struct Link {
    SweepStep left, right;
    uint32_t cost;
    DocSet documents;
    bool dead;
  };
  std::deque<Link> links;
  DocSet remaining = bucket.documents;
  const auto sweep_step = [](const Step& step) { return SweepStep{step.node, step.typos, step.verbatim}; };
  const auto find = [&](const Step& left, const Step& right, uint32_t cost) -> Link* {
    for (Link& link : links) {
      if (link.cost == cost && link.left == sweep_step(left) && link.right == sweep_step(right)) return &link;
    }
    return nullptr;
  };
  const auto adjacent = [&](const Path& path, size_t at) {
    return at > 0 && NodeOf(path[at - 1]).term.last + 1 == NodeOf(path[at]).term.first;
  };
  // Bit s: the steps from `at` on may cost s in sum, as far as is known.
  const auto sums = [&](const Path& path, size_t at) {
    uint64_t possible = 1;
    for (size_t i = path.size(); i > at; --i) {
      if (!adjacent(path, i - 1)) continue;
      uint64_t with = 0;
      for (const uint32_t cost : kCosts) {
        const Link* link = cost == kFarCost ? nullptr : find(path[i - 2], path[i - 1], cost);
        if (link == nullptr || !link->dead) with |= possible << cost;
      }
      possible = with;
    }
    return possible;
  };
  bool dropping = false;
  for (uint32_t cost = 0; cost <= max && !remaining.empty(); ++cost) {
    DocSet taken;
    std::vector<Path> paths;
    for (size_t p = 0; p < count; ++p) {
      if (extra[p] > cost) continue;
      const Path& path = bucket.paths[p];
      bool used = false;
      const std::function<void(size_t, uint32_t, const DocSet&)> walk = [&](size_t at, uint32_t left, const DocSet& among) {
        if (among.empty() || (sums(path, at) >> left & 1) == 0) return;
        if (at == path.size()) {
          const DocSet fresh = among - taken;
          used = used || !fresh.empty();
          taken |= fresh;
          return;
        }
        if (!adjacent(path, at)) return walk(at + 1, left, among);
        for (const uint32_t step : {kCosts[0], kCosts[1]}) {
          if (step > left || (sums(path, at + 1) >> (left - step) & 1) == 0) continue;
          Link* link = find(path[at - 1], path[at], step);
          if (link == nullptr) {
            const SweepStep l = sweep_step(path[at - 1]), r = sweep_step(path[at]);
            links.push_back({l, r, step, pairs_->Holding(l, r, step > 0, remaining), false});
            link = &links.back();
          }
          link->dead = !link->documents.Intersects(remaining);
          walk(at + 1, left - step, among & link->documents);
        }
        if (left >= kFarCost) walk(at + 1, left - kFarCost, among);
      };
      walk(0, cost - extra[p], (matching[p] & remaining) - taken);
      if (used) paths.push_back(path);
    }
    if (taken.empty()) continue;
    remaining -= taken;
    Descend({std::move(taken), std::move(paths)}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    if (Full()) return;
    remaining -= excluded_;
  }
}

void Ranker::SplitByVerbatim(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  const Path& path = bucket.paths[0];
  std::vector<DocSet> verbatim(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    Node& node = NodeOf(path[i]);
    if (node.ngram() || path[i].typos > 0) continue;
    if (node.term.phrase) {
      verbatim[i] = graph_->Documents(node, 0) & bucket.documents;
    } else if (graph_->Class(node, 0), node.verbatim != kNoWord) {
      verbatim[i] = graph_->WordDocuments(graph_->words()[node.verbatim], graph_->scope().fields(), &bucket.documents);
    }
  }
  // Every choice of words that documents have as typed, by cost.
  struct Part {
    DocSet documents;
    std::vector<std::pair<uint32_t, Path>> paths;  // lowest docid, path
  };
  std::map<uint32_t, Part> parts;
  Path chosen = path;
  const std::function<void(size_t, uint32_t, DocSet)> divide = [&](size_t at, uint32_t cost, DocSet documents) {
    if (documents.empty()) return;
    if (at == path.size()) {
      Part& part = parts[cost];
      part.paths.emplace_back(documents.min(), chosen);
      part.documents |= documents;
      return;
    }
    DocSet with = documents & verbatim[at];
    documents -= with;
    chosen[at].verbatim = true;
    divide(at + 1, cost, std::move(with));
    chosen[at].verbatim = path[at].verbatim;
    divide(at + 1, cost + NodeOf(path[at]).slots(), std::move(documents));
  };
  divide(0, 0, bucket.documents);
  bool dropping = false;
  for (auto& [cost, part] : parts) {
    if (Full()) return;
    std::sort(part.paths.begin(), part.paths.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Bucket inner{std::move(part.documents), {}};
    for (auto& [docid, way] : part.paths) inner.paths.push_back(std::move(way));
    Descend(std::move(inner), rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
}

// A large bucket need not be read as a whole when its best documents begin with the words of the query. Take a bound on
// the cost of wordPosition: the documents within it are listed by position, so they are known without reading any. Those
// of them that the rules before wordPosition find perfect come before every other document of the bucket; when they fill
// the page, nothing else can be on it.
bool Ranker::EmitHeads(const Bucket& bucket, size_t rule, const Detail* detail) {
  const uint64_t bucket_min = LargeBucketMin() / 2;
  constexpr uint32_t kReach[] = {0, 1, 4};  // distance from the query's position, by bound on the cost
  if (in_heads_ || distinct_ != nullptr || options_.threshold || options_.exhaustive) return false;
  const uint64_t size = bucket.documents.size();
  if (size < bucket_min || options_.end - seen_ >= size / 2) return false;
  bool by_weight = false, by_distance = false, found = false;
  size_t behind = rule;  // the rule behind wordPosition
  for (; behind < rules_.size() && !found; ++behind) {
    switch (rules_[behind].kind) {
      case RuleKind::kProximity: by_distance = bucket.paths[0].size() > 1; break;
      case RuleKind::kAttributeRank: by_weight = max_weight_ > 0; break;
      case RuleKind::kWordPosition: found = true; break;
      default: return false;
    }
  }
  if (!found) return false;
  const Path& path = bucket.paths[0];
  std::vector<SweepStep> steps;
  for (const Step& step : path) {
    if (NodeOf(step).slots() != 1 || step.typos < 0 || step.verbatim) return false;
    steps.push_back({step.node, step.typos, step.verbatim});
  }
  if (!PathSweep::Supports(*graph_, steps)) return false;
  PathLists lists(*graph_, steps);
  DocSet first_field = bucket.documents;
  if (by_weight) {
    segment::FieldSet fields;
    for (size_t f = 0; f < snapshot_.traits.size(); ++f) {
      const auto field = static_cast<FieldId>(f);
      if (snapshot_.traits[f].searchable && snapshot_.traits[f].weight == 0 && graph_->scope().Searches(field)) fields.Add(field);
    }
    for (const SweepStep& step : steps) first_field = lists.StepDocuments(step, fields, first_field);
  }
  for (uint32_t bound = 0; bound < 3; ++bound) {
    DocSet near = first_field;
    for (const SweepStep& step : steps) {
      const auto wanted = static_cast<uint32_t>(graph_->nodes()[step.node].term.first);
      if (wanted + kReach[bound] >= segment::kHeadPositions) return false;
      uint32_t mask = 0;
      for (uint32_t p = wanted > kReach[bound] ? wanted - kReach[bound] : 0; p <= wanted + kReach[bound]; ++p) mask |= 1u << p;
      near = lists.StepHeads(step, mask, near);
    }
    const uint64_t count = near.size();
    if (count < options_.end - seen_) continue;
    // Without a bound on the cost but 0, and nothing but lists to ask: all of these are equal so far.
    if (bound == 0 && !by_distance && !options_.details) {
      in_heads_ = true;
      Refine(Bucket{std::move(near), bucket.paths}, behind, detail);
      in_heads_ = false;
      return true;
    }
    if (count > size / 2) return false;
    PathSweep sweep(*graph_, steps, max_weight_);
    sweep.Run(near);
    std::vector<uint32_t> best;
    for (const PathCosts& costs : sweep.costs()) {
      if (costs.position <= bound && (!by_distance || costs.proximity == 0) && (!by_weight || costs.attribute == 0)) {
        best.push_back(costs.docid);
      }
    }
    if (best.size() < options_.end - seen_) continue;
    in_heads_ = true;
    Refine(Bucket{DocSet::FromSorted(best), bucket.paths}, bound == 0 && !options_.details ? behind : rule, detail);
    in_heads_ = false;
    return true;
  }
  return false;
}

// One path of plain words: its costs come from a sweep that serves the following rules as well.
bool Ranker::SplitBySweep(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max, bool dropping) {
  const RuleKind kind = rules_[rule].kind;
  std::vector<SweepStep> steps = SweepStepsOf(bucket.paths[0]);
  if (!sweep_ || sweep_->path() != steps || !bucket.documents.IsSubsetOf(swept_)) {
    if (!PathSweep::Supports(*graph_, steps)) return false;
    sweep_.emplace(*graph_, std::move(steps), max_weight_);
    sweep_->Run(bucket.documents);
    swept_ = bucket.documents;
  }
  const auto& costs = sweep_->costs();
  const bool all = costs.size() == bucket.documents.size();
  std::vector<std::vector<uint32_t>> parts(max + size_t{1});
  const auto place = [&](const PathCosts& entry) {
    const uint32_t cost = kind == RuleKind::kProximity       ? entry.proximity
                          : kind == RuleKind::kAttributeRank ? entry.attribute
                                                             : entry.position;
    parts[std::min(cost, max)].push_back(entry.docid);
  };
  if (all) {
    for (const PathCosts& entry : costs) place(entry);
  } else {
    auto at = costs.begin();
    bucket.documents.ForEach([&](uint32_t docid) {
      at = std::lower_bound(at, costs.end(), docid, [](const PathCosts& entry, uint32_t id) { return entry.docid < id; });
      if (at != costs.end() && at->docid == docid) place(*at);
    });
  }
  for (uint32_t cost = 0; cost <= max && !Full(); ++cost) {
    if (parts[cost].empty()) continue;
    Descend(Bucket{DocSet::FromSorted(parts[cost]), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
  return true;
}

MatchType Ranker::MatchOf(DocId docid, const std::vector<std::pair<uint32_t, WordNumber>>& wanted, uint32_t count) {
  // Field and position are known separately: each word at its place in any field, all words in one field.
  for (const auto& [position, word] : wanted) {
    const auto places = candidates_->WordPlaces(docid, word);
    const uint32_t bucketed = BucketedPosition(position);
    if (std::none_of(places.begin(), places.end(), [&](Place p) { return BucketedPosition(PositionOf(p)) == bucketed; })) {
      return MatchType::kNoExactMatch;
    }
  }
  MatchType best = MatchType::kNoExactMatch;
  FieldId last = 0xffff;
  for (const Place place : candidates_->WordPlaces(docid, wanted[0].second)) {
    const FieldId field = FieldOf(place);
    if (field == last || !graph_->scope().Searches(field)) continue;
    last = field;
    bool all = true;
    for (const auto& [position, word] : wanted) {
      const auto places = candidates_->WordPlaces(docid, word);
      all = all && std::any_of(places.begin(), places.end(), [&](Place p) { return FieldOf(p) == field; });
    }
    if (!all) continue;
    best = MatchType::kMatchesStart;
    if (count <= kCountedWordsMax && candidates_->WordCount(docid, field) == count) return MatchType::kExactMatch;
  }
  return best;
}

void Ranker::SplitByExactAttribute(const Bucket& bucket, size_t rule, const Detail* detail) {
  // Terms still in play, as far as they may match verbatim.
  std::vector<uint16_t> nodes;
  for (const Path& path : bucket.paths) {
    for (const Step& step : path) {
      if (NodeOf(step).ngram() || step.typos > 0) continue;
      if (std::find(nodes.begin(), nodes.end(), step.node) == nodes.end()) nodes.push_back(step.node);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [&](uint16_t a, uint16_t b) {
    return graph_->nodes()[a].term.first < graph_->nodes()[b].term.first;
  });
  std::vector<std::pair<uint32_t, WordNumber>> wanted;
  uint32_t count = 0, slot = 0;
  bool gap = false;
  for (const uint16_t n : nodes) {
    Node& node = graph_->nodes()[n];
    const Derivations& zero = graph_->Class(node, 0);
    const auto first = static_cast<uint32_t>(node.term.first);
    if (node.term.phrase) {
      gap = gap || node.first_slot != slot++;
      if (!zero.phrases.empty()) {
        for (size_t i = 0; i < zero.phrases[0].words.size(); ++i) {
          if (zero.phrases[0].words[i] != kNoWord) wanted.emplace_back(first + i, zero.phrases[0].words[i]);
        }
      }
      count += static_cast<uint32_t>(node.term.words.size());
    } else if (node.verbatim != kNoWord) {
      gap = gap || node.first_slot != slot++;
      wanted.emplace_back(first, node.verbatim);
      ++count;
    }
  }
  std::vector<WordNumber> words;
  for (const auto& [position, word] : wanted) words.push_back(word);
  DocSet possible;
  bool listed = true;  // whether lists tell where every word stands
  if (!wanted.empty() && !gap) {
    possible = bucket.documents;
    for (const auto& [position, word] : wanted) {
      const IndexWord& index_word = graph_->words()[word];
      possible = graph_->WordDocuments(index_word, graph_->scope().fields(), &possible);
      if (position < segment::kHeadPositions) {
        possible = graph_->WordHeads(index_word, 1u << position, &possible);
      } else {
        listed = false;
      }
    }
  }
  DocSet rest = bucket.documents;
  bool dropping = false;
  for (const MatchType type : {MatchType::kExactMatch, MatchType::kMatchesStart, MatchType::kNoExactMatch}) {
    if (Full()) return;
    Bucket part;
    if (type == MatchType::kNoExactMatch) {
      part.documents = std::move(rest);
    } else if (possible.empty() || (type == MatchType::kExactMatch && count > kCountedWordsMax)) {
      continue;
    } else if (listed) {
      part.documents = graph_->DocumentsTogether(words, type == MatchType::kExactMatch ? count : 0, &possible);
    } else {
      Prepare(Bucket{possible, bucket.paths});
      possible.ForEach([&](uint32_t docid) {
        if (MatchOf(docid, wanted, count) == type) part.documents.Add(docid);
      });
    }
    if (part.documents.empty()) continue;
    possible -= part.documents;
    rest -= part.documents;
    part.paths = bucket.paths;
    Detail next;
    next.rule = rules_[rule];
    next.rank = static_cast<uint32_t>(3 - static_cast<int>(type));
    next.max = 3;
    next.match = type;
    next.previous = detail;
    Descend(std::move(part), rule + 1, Add(std::move(next)), dropping);
  }
}

void Ranker::SplitBySort(const Bucket& bucket, size_t rule, const Detail* detail) {
  SortedBuckets sorted(snapshot_, *rules_[rule].sort, bucket.documents);
  DocSet documents;
  SortValue value;
  while (!Full() && sorted.Next(documents, value)) {
    Detail next;
    next.rule = rules_[rule];
    next.value = value;
    next.previous = detail;
    Refine(Bucket{documents, bucket.paths}, rule + 1, Add(std::move(next)));
  }
}

}  // namespace gannet::search
