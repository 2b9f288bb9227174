// A cost source returns the documents of a bucket by their cost under one rule, cheapest first.
//
// If documents of a bucket get their costs in different ways (posting lists, a forward scan), each
// group of documents has its own source, and the ranker calls all sources for one cost before the
// next (split_by_cost.cc).
//
// Invariant: a document is returned at exactly one cost as verified. Before that it may have been
// returned at lower costs as approximate.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/bucket.h"

namespace gannet::search {

// A path that some document takes: the cheapest path that the document matches, the first of
// several equally cheap ones.
struct PathTaken {
  uint32_t number;  // number of the path among the paths of the split bucket
  DocId first;      // the smallest docid that takes the path
  Path path;        // the path, with the expansions that the rule chose
};

// The documents of one cost.
struct CostBucket {
  DocSet verified;               // documents whose cost is known to be this one
  DocSet approximate;            // documents that cost this or more
  std::vector<PathTaken> paths;  // paths that documents of the bucket take

  bool empty() const { return verified.empty() && approximate.empty(); }
  // Adds the documents and the paths of `other`.
  void Add(CostBucket other);
  // The paths in the order in which the next rule visits them. Moves them out of this object.
  std::vector<Path> TakePaths();
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  // The documents of cost `cost`.
  // REQUIRES: called with 0, 1, 2 and so on; the caller may stop at any cost.
  virtual CostBucket At(uint32_t cost) = 0;
  // Verifies approximate documents of the last call of At.
  // cost     the argument of that call
  // among    which of the approximate documents to verify
  // Returns the documents that cost `cost`. A later At returns the others at their own cost.
  virtual DocSet Verify(uint32_t /*cost*/, const DocSet& /*among*/) { return {}; }
};

using Sources = std::vector<std::unique_ptr<CostSource>>;

// A source whose costs are all known beforehand, and verified.
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

// Documents that match several paths. The cost of a document is the cost along its cheapest path,
// the first of several equally cheap ones. Approximate documents of the paths are verified
// immediately, so this source returns verified documents only.
class CheapestPathSource : public CostSource {
 public:
  // of_paths    sources of each path, in the order of the paths; each returns one path per cost
  CheapestPathSource(DocSet documents, Sources of_paths)
      : documents_(std::move(documents)), of_paths_(std::move(of_paths)) {}

  CostBucket At(uint32_t cost) override;

 private:
  DocSet documents_;  // not yet returned
  Sources of_paths_;
};

// Documents of one path at one cost.
CostBucket BucketOf(const OnePath& bucket, DocSet verified, DocSet approximate = {});
// Moves the documents of a cost out of `buckets`.
DocSet TakeAt(std::map<uint32_t, DocSet>& buckets, uint32_t cost);

}  // namespace gannet::search
