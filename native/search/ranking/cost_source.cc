#include "search/ranking/cost_source.h"

#include <tuple>

namespace gannet::search {

void CostBucket::Add(CostBucket other) {
  if (empty()) {
    *this = std::move(other);
    return;
  }
  verified |= other.verified;
  approximate |= other.approximate;
  for (PathTaken& taken : other.paths) {
    const auto known = std::find_if(paths.begin(), paths.end(), [&](const PathTaken& mine) {
      return mine.number == taken.number && mine.path == taken.path;
    });
    if (known == paths.end()) {
      paths.push_back(std::move(taken));
    } else {
      known->first = std::min(known->first, taken.first);
    }
  }
}

std::vector<Path> CostBucket::TakePaths() {
  const auto order = [](const PathTaken& taken) { return std::tie(taken.number, taken.first); };
  std::sort(paths.begin(), paths.end(),
            [&](const PathTaken& a, const PathTaken& b) { return order(a) < order(b); });
  std::vector<Path> taken;
  for (PathTaken& entry : paths) taken.push_back(std::move(entry.path));
  return taken;
}

CostBucket BucketOf(const OnePath& bucket, DocSet verified, DocSet approximate) {
  if (verified.empty() && approximate.empty()) return {};
  const DocId first = verified.empty()      ? approximate.min()
                      : approximate.empty() ? verified.min()
                                            : std::min(verified.min(), approximate.min());
  return {std::move(verified), std::move(approximate), {{bucket.number, first, bucket.path}}};
}

DocSet TakeAt(std::map<uint32_t, DocSet>& buckets, uint32_t cost) {
  auto bucket = buckets.extract(cost);
  return bucket.empty() ? DocSet() : std::move(bucket.mapped());
}

CostBucket CheapestPathSource::At(uint32_t cost) {
  CostBucket cheapest;
  for (const auto& source : of_paths_) {
    if (documents_.empty()) break;
    CostBucket bucket = source->At(cost);
    DocSet documents = bucket.verified & documents_;
    if (!bucket.approximate.empty())
      documents |= source->Verify(cost, bucket.approximate & documents_);
    documents_ -= documents;
    if (documents.empty()) continue;
    bucket.paths[0].first = documents.min();
    bucket.verified = std::move(documents);
    bucket.approximate.Clear();
    cheapest.Add(std::move(bucket));
  }
  return cheapest;
}

}  // namespace gannet::search
