// Which documents have the embeddings nearest to given vectors (docs/behaviour/vectors.md).
//
// Exact up to 300,000 candidates: the answers are those of a loop over all embeddings in single
// precision. What is scanned is one byte per component, which bounds the similarity of each
// embedding from below and from above (vector/quantise.h). Only embeddings whose upper bound
// reaches the k-th best lower bound are compared in single precision. Candidates are any set of
// documents, so a filter makes a search cheaper and never less complete. Idle threads help
// (base/parallel_for.h).
//
// Of more candidates the nearest are looked for in the graphs of segments that have one
// (vector/graph.h); only what a walk has found is compared then, in single precision. Not all of
// the nearest are found, but 97 % and more. Documents of at least some score are always scanned
// for.
//
// Similarity: (1 + cosine) / 2; of binary quantised embeddings the share of bits that agree, the
// number of bits rounded up to whole words.
// The cosine of a vector without length is 1. A document counts with its best embedding. The score
// is what the embedder's `distribution` makes of the similarity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "base/ids.h"
#include "base/tuning.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "vector/quantise.h"

namespace gannet::search {

struct NearDocument {
  DocId docid;
  float similarity;  // 0 to 1
  friend bool operator==(const NearDocument&, const NearDocument&) = default;
};

struct ScanOptions {
  bool paired = false;  // the n-th embedding of a document is compared with the n-th target alone
  uint64_t scanned_max =
      Tuned().scanned_candidates_max;  // of more candidates the nearest are looked for in graphs
  size_t kept_min = 1600;              // rows that a walk of a graph keeps, at least
  uint64_t walk_cost = 90;             // of a row that a walk keeps or passes, in rows of a scan
  // Once it has passed nothing more is looked at, except for the first documents while somebody
  // waits. Nothing: no end.
  std::optional<Deadline> deadline = std::nullopt;
  size_t untimed_documents = 65'536;
};

// Threads: const members may run at the same time.
// Lifetime: borrows the snapshot and the embedder.
class VectorScan {
 public:
  // targets: vectors to compare with, each of as many numbers as the embedder has dimensions; the
  // best one counts.
  VectorScan(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder,
             std::vector<std::vector<float>> targets, ScanOptions options = {});
  ~VectorScan();

  // Those of `candidates`, which are live, that have an embedding.
  DocSet Embedded(const DocSet& candidates) const;
  // The `count` nearest documents of `candidates`, nearest first, then by docid; and all others
  // that are as near as the last of them.
  // After the deadline: of those that have been looked at.
  // REQUIRES: count > 0
  std::vector<NearDocument> Nearest(const DocSet& candidates, size_t count) const;
  // Documents of `candidates` with an embedding of at least this score. After the deadline: those
  // that are known to be.
  DocSet AtLeast(const DocSet& candidates, double score) const;
  // Never decreases with the similarity.
  float Score(float similarity) const;

 private:
  using EmbedderReader = segment::EmbedderReader;
  struct Target;
  struct Batch;
  struct Bounds;

  std::span<const Target> TargetsOf(size_t n) const;
  // Those of `found` that may be among the `count` nearest, by falling upper bounds.
  static std::vector<Bounds> PossiblyNearest(const std::vector<std::vector<Bounds>>& found,
                                             size_t count);
  // nearest: so many of the nearest documents are wanted, which graphs may find; 0: all are
  // scanned.
  std::vector<Batch> BatchesOf(const DocSet& candidates, size_t nearest = 0) const;
  // Documents of `documents` that a graph finds next to the targets, as ascending local docids.
  // Nullopt: these are to be scanned.
  std::optional<std::vector<uint32_t>> Walk(const EmbedderReader& reader,
                                            const vector::Graph& graph, const DocSet& documents,
                                            size_t nearest) const;
  // Whether nothing more is to be looked at. timed: also when time is over, not only when nobody
  // waits.
  bool Stops(bool timed) const;
  template <typename Take>
  void Scan(const Batch& batch, Take&& take) const;
  float Compare(const EmbedderReader& reader, uint32_t local) const;

  const index::Snapshot& snapshot_;
  const index::EmbedderSettings& embedder_;
  std::vector<Target> targets_;
  float factor_ = 1, offset_ = 0;  // of the distribution
  bool shifts_ = false;
  ScanOptions options_;
};

}  // namespace gannet::search
