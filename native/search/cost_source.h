// A bucket under a rule that adds up a cost along a path, in buckets of equal cost, the cheapest first.
//
// Several such sources stand for one bucket where its documents are told apart by different means (rank_cost.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/paths.h"

namespace gannet::search {

// A path that documents take first.
struct PathTaken {
  uint32_t number;  // in the order of the bucket's paths
  DocId first;      // the least document that takes it
  Path path;        // with the choices of the rule
};

struct CostBucket {
  DocSet verified;
  DocSet approximate;  // these may cost more
  std::vector<PathTaken> paths;

  bool empty() const { return verified.empty() && approximate.empty(); }
  // Takes the documents and the paths of another.
  void Add(CostBucket other);
  // In the order in which the next rule visits them.
  std::vector<Path> TakePaths();
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  // What costs `cost`. Call with 0 and with each cost behind it, in order, as far as is wanted.
  virtual CostBucket At(uint32_t cost) = 0;
  // Of the approximate documents of the last part, that of `cost`, those in `among`: returns which of them cost that. The others come
  // at their own cost.
  virtual DocSet Verify(uint32_t /*cost*/, const DocSet& /*among*/) { return {}; }
};

// Parts known beforehand.
class KnownCosts : public CostSource {
 public:
  explicit KnownCosts(std::map<uint32_t, CostBucket> buckets) : buckets_(std::move(buckets)) {}
  CostBucket At(uint32_t cost) override {
    auto bucket = buckets_.extract(cost);
    return bucket.empty() ? CostBucket() : std::move(bucket.mapped());
  }

 private:
  std::map<uint32_t, CostBucket> buckets_;
};

}  // namespace gannet::search
