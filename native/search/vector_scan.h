// Which documents have the embeddings nearest to given vectors (docs/behaviour/vectors.md).
//
// Exact: the answers are those of a loop over all embeddings in single precision. What is scanned is one byte per component, which bounds
// the similarity of each embedding from below and from above (vector/quantise.h). Only embeddings whose upper bound reaches the k-th best
// lower bound are compared in single precision. Candidates are any set of documents, so a filter makes a search cheaper and never less
// complete. Idle threads help (base/parallel_for.h).
//
// Similarity: (1 + cosine) / 2; of binary quantised embeddings the share of bits that agree, the number of bits rounded up to whole words.
// The cosine of a vector without length is 1. A document counts with its best embedding. The score is what the embedder's `distribution`
// makes of the similarity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "vector/quantise.h"

namespace gannet::search {

struct NearDocument {
  DocId docid;
  float similarity;  // 0 to 1
  friend bool operator==(const NearDocument&, const NearDocument&) = default;
};

// Threads: const members may run at the same time.
// Lifetime: borrows the snapshot and the embedder.
class VectorScan {
 public:
  // targets: vectors to compare with, each of as many numbers as the embedder has dimensions; the best one counts.
  // paired: the n-th embedding of a document is compared with the n-th target alone.
  VectorScan(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder, std::vector<std::vector<float>> targets,
             bool paired = false);
  ~VectorScan();

  // Those of `candidates`, which are live, that have an embedding.
  DocSet Embedded(const DocSet& candidates) const;
  // The `count` nearest documents of `candidates`, nearest first, then by docid; and all others that are as near as the last of them.
  // REQUIRES: count > 0
  std::vector<NearDocument> Nearest(const DocSet& candidates, size_t count) const;
  // Documents of `candidates` with an embedding of at least this score.
  DocSet AtLeast(const DocSet& candidates, double score) const;
  // Never decreases with the similarity.
  float Score(float similarity) const;

 private:
  struct Target;
  struct Batch;
  struct Bounds;

  std::span<const Target> TargetsOf(size_t n) const;
  std::vector<Batch> BatchesOf(const DocSet& candidates) const;
  template <typename Take>
  void Scan(const Batch& batch, Take&& take) const;
  float Compare(const segment::EmbedderReader& reader, uint32_t local) const;

  const index::Snapshot& snapshot_;
  const index::EmbedderSettings& embedder_;
  std::vector<Target> targets_;
  float factor_ = 1, offset_ = 0;  // of the distribution
  bool shifts_ = false;
  bool paired_ = false;
};

}  // namespace gannet::search
