#include "search/ranking/rank.h"

#include <algorithm>
#include <utility>

#include "base/stage_clock.h"
#include "base/stop_point.h"
#include "search/matching/large_bucket.h"

namespace gannet::search {

Ranker::Ranker(const index::Snapshot& snapshot, QueryEvaluator* query, const ParsedQuery& parsed,
               const RankOptions& options, Rules rules, Distinct* distinct)
    : snapshot_(snapshot),
      query_(query),
      parsed_(parsed),
      options_(options),
      rules_(std::move(rules)),
      distinct_(distinct) {
  if (query_ == nullptr) return;
  for (size_t rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule]->Remembers()) remembering_ = rule + 1;
  }
  const auto& searchable = snapshot.settings->searchable;
  const uint32_t max_weight =
      searchable && !searchable->empty() ? static_cast<uint32_t>(searchable->size() - 1) : 0;
  costs_.emplace(RankContext{snapshot, *query_, max_weight}, rules_);
  stages_ = MakeStages(query_->documents, parsed, options.strategy);
}

DocSet Ranker::Universe(const DocSet* allowed) {
  if (query_ == nullptr) return allowed != nullptr ? *allowed : snapshot_.documents;
  return StagesDocuments(query_->documents, stages_, allowed);
}

uint64_t Ranker::CountUniverse(const DocSet* allowed, uint64_t limit) {
  if (phrase_) return std::min(phrase_->Count(limit), limit);
  // Documents without typos that match one of the shortest paths are often enough.
  const auto stage = std::find_if(stages_.paths.rbegin(), stages_.paths.rend(),
                                  [](const auto& paths) { return !paths.empty(); });
  if (stage != stages_.paths.rend()) {
    DocSet verified;
    for (Path path : *stage) {
      if (allowed == nullptr && path.size() == 1 &&
          query_->documents.DocumentsMin(path[0].node) >= limit)
        return limit;
      for (Step& step : path) step.typos = 0;
      verified |= PathDocuments(query_->documents, path, allowed);
      if (verified.size() >= limit) return limit;
    }
  }
  return std::min(Universe(allowed).size(), limit);
}

bool Ranker::FindsMatches() const {
  return query_ != nullptr && !rules_.empty() && rules_[0]->FindsMatches() &&
         distinct_ == nullptr && !options_.threshold;
}

void Ranker::RunAllowed(const DocSet* allowed) {
  BucketSplit split(*this, 0, nullptr);
  InStage stage(rules_[0]->id(), true);
  rules_[0]->SplitMatching(allowed, split);
}

void Ranker::Run(DocSet universe) {
  Bucket bucket;
  bucket.documents = std::move(universe);
  // Without the rule `words`, no path is dropped before the first rule.
  if (query_ != nullptr) bucket.paths = stages_.paths[0];
  Refine(std::move(bucket), 0, nullptr);
}

const Detail* Ranker::Add(Detail detail) {
  details_.push_back(std::move(detail));
  return &details_.back();
}

const Detail* Ranker::AddSkipped(const Detail* previous) {
  return Add({.rule = &NoRule(), .rank = 0, .max = 1, .previous = previous});
}

bool Ranker::Full(const Detail* detail) const {
  if (seen_ < options_.end) return false;
  if (!options_.exhaustive) return true;
  // Which documents distinct drops after the page depends on their order, so all are ranked.
  if (distinct_ != nullptr) return !options_.threshold && distinct_count_ >= options_.enough;
  if (!options_.threshold) return false;
  // A rule remembers later documents only once these are ranked.
  return remembering_ == 0 && ScoreMin(detail) >= *options_.threshold;
}

bool Ranker::Below(const Detail* detail) const {
  return options_.threshold && ScoreOf(detail) < *options_.threshold;
}

bool Ranker::RanksOneByOne(size_t rule, const Detail* detail) const {
  if (options_.threshold && ScoreMin(detail) < *options_.threshold) return false;
  for (; rule < rules_.size(); ++rule) {
    if (!rules_[rule]->RanksOneByOne(rule + 1 == rules_.size())) return false;
  }
  return true;
}

void BucketSplit::Give(Bucket part, Detail detail) {
  detail.rule = ranker.rules()[rule].get();
  detail.previous = said;
  const Detail* const all = ranker.Add(std::move(detail));
  dropping_ = dropping_ || ranker.Below(all);
  if (dropping_) {
    ranker.Exclude(part.documents);
  } else {
    ranker.Refine(std::move(part), rule + 1, all);
  }
}

void BucketSplit::Give(Bucket part, uint32_t rank, uint32_t max) {
  Give(std::move(part), Detail{.rank = rank, .max = max});
}

void Ranker::Refine(Bucket bucket, size_t rule, const Detail* detail) {
  StopPoint();
  if (Full(detail)) return;
  if (!excluded_.empty()) bucket.documents -= excluded_;
  const uint64_t size = bucket.documents.size();
  if (size == 0) return;
  const bool plain = distinct_ == nullptr && !options_.threshold;
  const bool remembers = rule < remembering_;
  if (plain && !remembers && bucket.two_phase == nullptr && seen_ + size <= options_.offset) {
    seen_ += size;  // the whole bucket is before the page
    passed_.push_back(std::move(bucket.documents));
    return;
  }
  // A small bucket is read as fast as ordered; so are all buckets once many were read in vain.
  if (bucket.two_phase != nullptr && (size <= LargeBucketMin() || bucket.two_phase->in_vain())) {
    bucket.documents = std::exchange(bucket.two_phase, nullptr)->Verify(bucket.documents);
    return Refine(std::move(bucket), rule, detail);
  }
  if (rule == rules_.size() || (plain && !remembers && size == 1 && !options_.details))
    return Emit(bucket, detail);
  if (Stops(rule) && options_.deadline->Passed()) return Emit(bucket, AddSkipped(detail));
  if (Stops(rule) && MayStop(bucket, size)) return SplitInTime(std::move(bucket), rule, detail);
  Split(std::move(bucket), rule, detail);
}

bool Ranker::Stops(size_t rule) const {
  return options_.deadline != nullptr && (query_ != nullptr || rules_[rule]->ReadsEveryDocument());
}

bool Ranker::MayStop(const Bucket& bucket, uint64_t size) const {
  // Smaller buckets are split in a few milliseconds. A bucket that has unverified documents, or
  // that rules remember, must be ranked completely.
  constexpr uint64_t kLong = 4096;
  return size >= kLong && bucket.two_phase == nullptr && remembering_ == 0 &&
         (distinct_ == nullptr || options_.offset == 0);
}

void Ranker::SplitInTime(Bucket bucket, size_t rule, const Detail* detail) {
  Bucket rest{DocSet(bucket.documents), {}};
  const size_t hits = hits_.size(), passed = passed_.size();
  if (RunUntil(options_.deadline->at(), [&] { Split(std::move(bucket), rule, detail); })) return;
  if (costs_) costs_->Forget();  // it may have read only some documents
  for (size_t i = hits; i < hits_.size(); ++i) rest.documents.Remove(hits_[i].docid);
  for (size_t i = passed; i < passed_.size(); ++i) rest.documents -= passed_[i];
  if (!excluded_.empty()) rest.documents -= excluded_;
  Emit(rest, AddSkipped(detail));
}

void Ranker::Split(Bucket bucket, size_t rule, const Detail* detail) {
  BucketSplit split(*this, rule, detail);
  InStage stage(rules_[rule]->id(), true);
  stage.Count("documents", bucket.documents.size());
  rules_[rule]->Split(std::move(bucket), split);
}

void Ranker::Emit(const Bucket& bucket, const Detail* detail) {
  if (bucket.two_phase == nullptr) return EmitVerified(bucket.documents, detail);
  DocSetCursor cursor(bucket.documents);
  std::vector<DocId> batch(64);
  while (GoesOn(detail)) {
    const size_t count = cursor.Read(batch.data(), batch.size());
    if (count == 0) return;
    EmitVerified(bucket.two_phase->Verify(DocSet::FromSorted(std::span(batch).first(count))),
                 detail);
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
    if (skip > 0) passed_.push_back(DocSet(documents));
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
  StopCounter steps;
  InStage stage("distinct");
  stage.Count("documents", documents.size());
  documents.ForEach([&](DocId docid) -> bool {
    steps.Step(64);
    if (!GoesOn(detail)) return false;
    if (excluded_.Contains(docid)) return true;
    // An exhaustive search continues after the page.
    if (seen_ < options_.end) {
      if (seen_ >= options_.offset) hits_.push_back({docid, detail});
      ++seen_;
    }
    ++distinct_count_;
    distinct_->ValuesOfInto(docid, excluded_);
    return true;
  });
}

}  // namespace gannet::search
