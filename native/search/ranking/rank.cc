#include "search/ranking/rank.h"

#include <algorithm>
#include <utility>

#include "search/matching/large_bucket.h"

namespace gannet::search {

Ranker::Ranker(const index::Snapshot& snapshot, Graph* graph, const ParsedQuery& query, const RankOptions& options,
               std::vector<Rule> rules, Distinct* distinct)
    : snapshot_(snapshot), graph_(graph), options_(options), rules_(std::move(rules)),
      distinct_(distinct) {
  if (graph_ == nullptr) return;
  candidates_ = std::make_unique<Candidates>(*graph_);
  const auto& searchable = snapshot.settings->searchable;
  const auto proximity = std::find_if(rules_.begin(), rules_.end(), [](const Rule& r) { return r.kind == RuleKind::kProximity; });
  if (snapshot.settings->proximity_by_attribute && proximity != rules_.end() && query.terms.size() > 1) {
    pairs_.emplace(*graph_, *candidates_);
    pairs_rule_ = static_cast<size_t>(proximity - rules_.begin());
  }
  max_weight_ = searchable && !searchable->empty() ? static_cast<uint32_t>(searchable->size() - 1) : 0;
  stages_ = MakeStages(*graph_, query, options.strategy);
}

DocSet Ranker::Universe(const DocSet* allowed) {
  if (graph_ == nullptr) return allowed != nullptr ? *allowed : snapshot_.documents;
  // A path that has all the nodes of one that leaves more out adds nothing to it. Most have those of the shortest.
  static_assert(kTermsMax * kNgramSlotsMax <= 32);
  std::vector<uint32_t> shorter;  // nodes as bits
  DocSet universe;
  for (auto stage = stages_.paths.rbegin(); stage != stages_.paths.rend(); ++stage) {
    for (const Path& path : *stage) {
      uint32_t nodes = 0;
      for (const Step& step : path) nodes |= uint32_t{1} << step.node;
      if (std::any_of(shorter.begin(), shorter.end(), [&](uint32_t other) { return (other & ~nodes) == 0; })) continue;
      shorter.push_back(nodes);
      universe |= PathDocuments(*graph_, path, allowed);
    }
  }
  return universe;
}

uint64_t Ranker::CountUniverse(const DocSet* allowed, uint64_t most) {
  if (phrase_) return std::min(phrase_->Count(most), most);
  // Documents without a typo that match one of the shortest ways to read the query are often enough.
  const auto stage = std::find_if(stages_.paths.rbegin(), stages_.paths.rend(), [](const auto& paths) { return !paths.empty(); });
  if (stage != stages_.paths.rend()) {
    DocSet verified;
    for (Path path : *stage) {
      if (allowed == nullptr && path.size() == 1 && graph_->FewestDocuments(NodeOf(path[0])) >= most) return most;
      for (Step& step : path) step.typos = 0;
      verified |= PathDocuments(*graph_, path, allowed);
      if (verified.size() >= most) return most;
    }
  }
  return std::min(Universe(allowed).size(), most);
}

bool Ranker::FindsMatches() const {
  return graph_ != nullptr && !rules_.empty() && rules_[0].kind == RuleKind::kWords && distinct_ == nullptr && !options_.threshold;
}

void Ranker::Run(DocSet universe) {
  Bucket bucket;
  bucket.documents = std::move(universe);
  // Without the rule `words` no path is dropped before the first rule.
  if (graph_ != nullptr) bucket.paths = stages_.paths[0];
  Refine(std::move(bucket), 0, nullptr);
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

const Detail* Ranker::AddSkipped(const Detail* previous) {
  Detail skipped;
  skipped.rule = {RuleKind::kSkipped};
  skipped.rank = 0;
  skipped.max = 1;
  skipped.previous = previous;
  return Add(std::move(skipped));
}

bool Ranker::Full(const Detail* detail) const {
  if (seen_ < options_.end) return false;
  if (!options_.exhaustive) return true;
  // What distinct throws out behind the page is told by the order of the documents, so all are placed.
  if (distinct_ != nullptr) return !options_.threshold && distinct_count_ >= options_.enough;
  if (!options_.threshold) return false;
  // What an asked pair would do to later documents is known only when these are placed.
  return !pairs_ && ScoreAtLeast(detail) >= *options_.threshold;
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
  if (Full(detail)) return;
  if (!excluded_.empty()) bucket.documents -= excluded_;
  const uint64_t size = bucket.documents.size();
  if (size == 0) return;
  const bool plain = distinct_ == nullptr && !options_.threshold;
  // What a bucket asks for decides about later ones, so it may not be passed over.
  const bool asks = pairs_ && rule <= pairs_rule_;
  if (plain && !asks && two_phase_ == nullptr && seen_ + size <= options_.offset) {
    seen_ += size;  // wholly before the page
    return;
  }
  // So few are read as quickly as ordered; and so are all once many were read in vain.
  if (two_phase_ != nullptr && (size <= LargeBucketMin() || two_phase_->in_vain())) {
    TwoPhase* const two_phase = std::exchange(two_phase_, nullptr);
    bucket.documents = two_phase->Verify(bucket.documents);
    Refine(std::move(bucket), rule, detail);
    two_phase_ = two_phase;
    return;
  }
  if (rule == rules_.size() || (plain && !asks && size == 1 && !options_.details)) return Emit(bucket.documents, detail);
  if (options_.deadline != nullptr && graph_ != nullptr && options_.deadline->Passed()) {
    degraded_ = true;
    return Emit(bucket.documents, AddSkipped(detail));
  }
  switch (rules_[rule].kind) {
    case RuleKind::kWords: return SplitByWords(&bucket.documents, rule, detail);
    case RuleKind::kTypo: return SplitByTypo(bucket, rule, detail);
    case RuleKind::kExactAttribute: return SplitByExactAttribute(bucket, rule, detail);
    case RuleKind::kSort: return SplitBySort(bucket, rule, detail);
    case RuleKind::kVector: return SplitByVector(std::move(bucket), rule, detail);
    default: return SplitByCost(std::move(bucket), rule, detail);
  }
}

void Ranker::Emit(const DocSet& documents, const Detail* detail) {
  if (two_phase_ == nullptr) return EmitVerified(documents, detail);
  DocSetCursor cursor(documents);
  std::vector<DocId> batch(64);
  while (GoesOn(detail)) {
    const size_t count = cursor.Read(batch.data(), batch.size());
    if (count == 0) return;
    EmitVerified(two_phase_->Verify(DocSet::FromSorted(std::span(batch).first(count))), detail);
    batch.resize(std::min(batch.size() * 2, size_t{4096}));
  }
}

void Ranker::EmitVerified(const DocSet& documents, const Detail* detail) {
  if (documents.empty()) return;
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
  documents.ForEach([&](uint32_t docid) -> bool {
    if (!GoesOn(detail)) return false;
    if (excluded_.Contains(docid)) return true;
    // An exhaustive search goes on behind the page.
    if (seen_ < options_.end) {
      if (seen_ >= options_.offset) hits_.push_back({docid, detail});
      ++seen_;
    }
    ++distinct_count_;
    distinct_->ValuesOfInto(docid, excluded_);
    return true;
  });
}

void Ranker::SplitByWords(const DocSet* within, size_t rule, const Detail* detail) {
  if (EmitPerfect(within, rule, detail)) return;
  DocSet done;  // in a part
  bool dropping = false;
  for (uint32_t dropped = 0; dropped < stages_.paths.size(); ++dropped) {
    if (Full(detail)) return;
    Bucket child;
    for (const Path& path : stages_.paths[dropped]) {
      DocSet documents = PathDocuments(*graph_, path, within);
      documents -= done;
      if (documents.empty()) continue;
      done |= documents;
      child.documents |= documents;
      child.paths.push_back(path);
    }
    if (child.documents.empty()) continue;
    Detail next;
    next.rule = rules_[rule];
    next.rank = stages_.max_matching_words - dropped;
    next.max = stages_.max_matching_words;
    next.previous = detail;
    Descend(std::move(child), rule + 1, Add(std::move(next)), dropping);
  }
}

void Ranker::SplitBySort(const Bucket& bucket, size_t rule, const Detail* detail) {
  SortedBuckets sorted(snapshot_, *rules_[rule].sort, bucket.documents);
  DocSet documents;
  SortValue value;
  while (!Full(detail) && sorted.Next(documents, value)) {
    Detail next;
    next.rule = rules_[rule];
    next.value = value;
    next.previous = detail;
    Refine(Bucket{documents, bucket.paths}, rule + 1, Add(std::move(next)));
  }
}

}  // namespace gannet::search
