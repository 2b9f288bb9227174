#include "search/vectors/semantic_cutoff.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "search/vectors/stored_vectors.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {
namespace {

// With fewer documents the similarities say nothing.
constexpr uint64_t kSampleMin = 32;
constexpr uint64_t kSampleMax = 128;
// The cut-off is this many standard deviations above the mean similarity of two documents.
constexpr double kDeviations = 1;
// With a distribution: one sigma below its mean.
constexpr double kDistributionScore = 0.1;

// Documents at equal distances in the order of docids.
DocSet Sample(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder) {
  DocSet embedded;
  for (const auto& segment : snapshot.segments) {
    const segment::EmbedderReader* reader = segment->vectors->Find(embedder.name);
    if (reader != nullptr) embedded |= reader->embedded() & segment->live;
  }
  const uint64_t size = embedded.size();
  if (size <= kSampleMax) return embedded;
  DocSet sample;
  for (uint64_t n = 0; n < kSampleMax; ++n)
    sample.Add(embedded.Select(static_cast<uint32_t>(n * size / kSampleMax)));
  return sample;
}

// 0: too few documents, or damaged.
double Measure(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder) {
  const DocSet sample = Sample(snapshot, embedder);
  if (sample.size() < kSampleMin) return 0;
  std::vector<DocId> docids;
  sample.ToVector(docids);
  double sum = 0, squares = 0, count = 0;
  for (const DocId docid : docids) {
    auto embeddings = ReadEmbeddings(snapshot, embedder, docid);
    if (!embeddings.ok() || embeddings->empty()) continue;
    embeddings->resize(1);
    const VectorScan scan(snapshot, embedder, std::move(*embeddings));
    for (const NearDocument& near : scan.Nearest(sample, docids.size())) {
      if (near.docid == docid) continue;
      const double similarity = static_cast<double>(near.similarity);
      sum += similarity;
      squares += similarity * similarity;
      ++count;
    }
  }
  if (count == 0) return 0;
  const double mean = sum / count, variance = std::max(0.0, squares / count - mean * mean);
  return std::min(1.0, mean + kDeviations * std::sqrt(variance));
}

}  // namespace

std::optional<double> SemanticCutoff(const index::Snapshot& snapshot,
                                     const index::EmbedderSettings& embedder) {
  const index::SemanticCutoff& setting = snapshot.settings->semantic_cutoff;
  if (!setting.automatic) return setting.score;
  if (embedder.distribution) return kDistributionScore;
  std::optional<double> score = snapshot.measured_cutoffs.Find(embedder.name);
  if (!score) {
    score = Measure(snapshot, embedder);
    snapshot.measured_cutoffs.Store(embedder.name, *score);
  }
  return *score > 0 ? score : std::nullopt;
}

}  // namespace gannet::search
