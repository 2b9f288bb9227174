// Finds the documents with the embeddings nearest to given vectors (docs/behaviour/vectors.md).
//
// A scan is exact: the results are those of a loop over all embeddings in single precision. It
// reads one byte per component, which gives a lower and an upper bound for the
// similarity of each embedding (vector/quantise.h). Only embeddings whose upper bound reaches the
// k-th best lower bound are compared in single precision. Candidates are any set of documents, so a
// filter makes a search cheaper and never less complete. Idle threads help (base/parallel_for.h).
//
// In segments that have signs (vector/signs.h), they choose the documents that are compared in this
// way. One in some thousand documents is nearer than its signs say, so one of the nearest may be
// missed. With more than 300,000 candidates, graphs (vector/graph.h) choose the documents of the
// largest segments; they find at least 97 % of the nearest. Documents above a minimum score are
// always found by a scan of the bytes.
//
// Similarity: (1 + cosine) / 2; for binary quantised embeddings the share of equal bits, with the
// number of bits rounded up to whole words. The cosine of a vector of length 0 is 1. A document
// counts with its best embedding. The score is the similarity mapped by the embedder's
// `distribution`.
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
#include "bitmap/doc_bits.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "vector/quantise.h"
#include "vector/signs.h"

namespace gannet::search {

struct NearDocument {
  DocId docid;
  float similarity;  // 0 to 1
  friend bool operator==(const NearDocument&, const NearDocument&) = default;
};

// An embedding of a document.
struct NearRow {
  uint32_t row;
  float similarity;

  friend bool operator==(const NearRow&, const NearRow&) = default;
};

struct ScanOptions {
  bool paired = false;  // compare the n-th embedding of a document only with the n-th target
  // With more candidates than this, graphs choose documents.
  uint64_t scanned_max = Tuned().scanned_candidates_max;
  size_t kept_min = 1600;   // minimum number of rows that a walk of a graph keeps
  uint64_t walk_cost = 90;  // cost of a row that a walk keeps or passes, in rows of a scan
  // After the deadline the scan stops, except that it always scans the first `untimed_documents`
  // unless the search is cancelled. nullopt: no deadline.
  std::optional<Deadline> deadline = std::nullopt;
  size_t untimed_documents = 65'536;
};

// Threads: const members may run concurrently.
// Lifetime: borrows the snapshot and the embedder.
class VectorScan {
 public:
  // targets: vectors to compare with, each with the dimensions of the embedder; the best one
  // counts.
  VectorScan(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder,
             std::vector<std::vector<float>> targets, ScanOptions options = {});
  ~VectorScan();

  // The documents of `candidates` that have an embedding. REQUIRES: candidates are live.
  DocSet Embedded(const DocSet& candidates) const;
  // The `count` nearest documents of `candidates`, nearest first, then by docid; also all others
  // that are as near as the last of them. After the deadline: the nearest of those scanned so far.
  // REQUIRES: count > 0
  std::vector<NearDocument> Nearest(const DocSet& candidates, size_t count) const;
  // The documents of `candidates` with an embedding of at least this score. After the deadline:
  // only those already found.
  DocSet AtLeast(const DocSet& candidates, double score) const;
  // Rows of one document, nearest first; of equally near ones the first comes first.
  std::vector<NearRow> NearestRows(const segment::EmbedderReader& reader,
                                   segment::EmbedderReader::Rows rows) const;
  // Monotonic: never decreases with the similarity.
  float Score(float similarity) const;

 private:
  using EmbedderReader = segment::EmbedderReader;
  struct Target;
  struct Batch;
  struct Bounds;
  struct Document;
  struct Part;
  class Floor;
  // A document that its signs do not exclude from the nearest, and a row of one.
  struct Sifted {
    float upper;  // bound of its best cosine, by signs or by bytes
    uint32_t local;
  };
  struct SiftedRow {
    float upper;
    uint32_t row;
  };

  std::span<const Target> TargetsOf(size_t n) const;
  // The documents of `found` whose upper bound reaches `floor`, by decreasing upper bound.
  static std::vector<Bounds> PossiblyNearest(const std::vector<std::vector<Bounds>>& found,
                                             float floor);
  // nearest: number of the nearest documents wanted, which graphs and signs may choose; 0: scan
  // all. Raises the floor by what it learns.
  std::vector<Batch> BatchesOf(const DocSet& candidates, size_t nearest, Floor& floor) const;
  // The documents of `documents` that a graph finds near the targets, as ascending local docids.
  // nullopt: scan the documents instead.
  std::optional<std::vector<uint32_t>> Walk(const EmbedderReader& reader,
                                            const vector::Graph& graph, const DocSet& documents,
                                            size_t nearest) const;
  // Chooses among the documents of a segment with signs, by ascending local docid. documents: null
  // for all. queries: the targets. nullopt: scan the documents instead.
  std::optional<std::vector<Sifted>> Sift(const EmbedderReader& reader, const DocSet* documents,
                                          std::span<const vector::SignQuery> queries,
                                          Floor& floor) const;
  // The same for blocks [begin, end), without a last look at the floor. wanted: null for all.
  // False: they are damaged.
  bool SiftBlocks(const EmbedderReader& reader, const DocBits* wanted,
                  std::span<const vector::SignQuery> queries, size_t begin, size_t end,
                  Floor& floor, std::vector<SiftedRow>& kept) const;
  // Whether to stop. timed: also after the deadline, not only if the search is cancelled.
  bool Stops(bool timed) const;
  // The bounds of the cosine of a target and a row of bytes.
  struct Cosines {
    double lower, upper;
  };
  static Cosines CosinesOf(const Target& target, const vector::ByteScale& scale,
                           const int8_t* bytes, uint32_t n);
  // The greatest bounds of the cosines of a document's rows and the targets.
  Cosines BestOf(const Document& document, uint32_t n) const;
  template <typename Take>
  void Scan(const Batch& batch, Take&& take) const;
  // In single precision: of a document, and of its n-th row.
  double BestCosine(const EmbedderReader& reader, uint32_t local) const;
  double CosineOfRow(const EmbedderReader& reader, uint32_t row, uint32_t n) const;

  const index::Snapshot& snapshot_;
  const index::EmbedderSettings& embedder_;
  std::vector<Target> targets_;
  float factor_ = 1, offset_ = 0;  // parameters of the distribution
  bool shifts_ = false;
  ScanOptions options_;
};

}  // namespace gannet::search
