#include "search/vectors/vector_scan.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "base/parallel_for.h"
#include "base/stop_point.h"
#include "bitmap/doc_bits.h"
#include "search/vectors/greatest.h"
#include "segment/local_docids.h"
#include "vector/kernels.h"
#include "vector/signs.h"

namespace gannet::search {

using segment::EmbedderReader;

namespace {

constexpr size_t kPartDocuments = 8192;
// The number of documents from which other threads help.
constexpr size_t kSharedDocumentsMin = 2 * kPartDocuments;
// The number of rows that a walk of a graph keeps for each document wanted.
constexpr size_t kKeptPerWanted = 32;
// With fewer candidates than one in eight rows, their bytes are scanned in less time than all
// signs.
constexpr size_t kRowsPerSifted = 8;
// With fewer rows than this for each document wanted, signs exclude too few.
constexpr size_t kRowsPerNearest = 64;
// A walk is in vain once it has passed this many times the number of rows expected from the share
// of candidates.
constexpr size_t kVainTimes = 3;
constexpr float kSmallestSimilarity = std::numeric_limits<float>::epsilon();

void RaiseTo(std::atomic<float>& floor, float value) {
  float known = floor.load(std::memory_order_relaxed);
  while (known < value && !floor.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

// Monotonic in the cosine, so bounds of the cosine are bounds of the similarity.
float Similarity(double cosine) {
  return std::clamp(static_cast<float>((1 + cosine) / 2), 0.0f, 1.0f);
}

bool Nearer(const NearDocument& a, const NearDocument& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.docid < b.docid;
}

}  // namespace

struct VectorScan::Target {
  std::vector<float> vector;
  double length = 0;
  std::vector<int8_t> bytes;
  vector::ByteScale scale{0, 0};
  std::vector<uint64_t> bits;
};

// Documents of one segment that are scanned together.
struct VectorScan::Batch {
  const EmbedderReader* reader;
  uint32_t begin, end;  // local docids; if `local_docids` is set, indexes into it
  size_t before = 0;    // number of documents of earlier batches
  std::shared_ptr<const std::vector<uint32_t>> local_docids = nullptr;  // null: all
};

struct VectorScan::Bounds {
  float lower, upper;
  uint32_t local;
  const EmbedderReader* reader;
};

// A cosine that at least `count` documents reach: the smallest of the `count`
// greatest lower bounds so far.
class VectorScan::Floor {
 public:
  explicit Floor(size_t count) : lowest_(count) {}

  float value() const { return value_.load(std::memory_order_relaxed); }
  void Add(float lower_bound) {
    if (lower_bound <= value()) return;
    const std::lock_guard lock(mutex_);
    lowest_.Add(lower_bound);
    RaiseTo(value_, lowest_.smallest());
  }

 private:
  std::mutex mutex_;
  Greatest lowest_;  // guarded by mutex_
  std::atomic<float> value_{-1};
};

VectorScan::~VectorScan() = default;

VectorScan::VectorScan(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder,
                       std::vector<std::vector<float>> targets, ScanOptions options)
    : snapshot_(snapshot), embedder_(embedder), options_(std::move(options)) {
  for (std::vector<float>& numbers : targets) {
    Target target;
    const size_t n = numbers.size();
    target.length = std::sqrt(vector::Dot(numbers.data(), numbers.data(), n));
    target.bytes.resize(n);
    target.scale = vector::QuantiseToBytes(numbers.data(), n, target.bytes.data());
    target.bits.resize(vector::BitWords(n));
    vector::QuantiseToBits(numbers.data(), n, target.bits.data());
    target.vector = std::move(numbers);
    targets_.push_back(std::move(target));
  }
  if (embedder.distribution) {
    shifts_ = true;
    factor_ = 0.4f / static_cast<float>(embedder.distribution->sigma);
    offset_ = 0.5f - factor_ * static_cast<float>(embedder.distribution->mean);
  }
}

float VectorScan::Score(float similarity) const {
  if (!shifts_) return similarity;
  similarity = similarity * factor_ + offset_;
  return similarity <= 0 ? kSmallestSimilarity : std::min(similarity, 1.0f);
}

// The targets that an embedding is compared with. n: its index in its document.
std::span<const VectorScan::Target> VectorScan::TargetsOf(size_t n) const {
  if (!options_.paired) return targets_;
  return n < targets_.size() ? std::span(targets_).subspan(n, 1) : std::span<const Target>();
}

DocSet VectorScan::Embedded(const DocSet& candidates) const {
  DocSet embedded;
  for (const auto& segment : snapshot_.segments) {
    const EmbedderReader* reader = segment->vectors->Find(embedder_.name);
    if (reader == nullptr) continue;
    embedded |= segment->all_live() ? reader->embedded() : reader->embedded() & segment->live;
  }
  embedded &= candidates;
  return embedded;
}

bool VectorScan::Stops(bool timed) const {
  if (!options_.deadline) return false;
  Deadline deadline = *options_.deadline;  // a copy for this thread
  return timed ? deadline.Passed() : deadline.Cancelled();
}

std::optional<std::vector<uint32_t>> VectorScan::Walk(const EmbedderReader& reader,
                                                      const vector::Graph& graph,
                                                      const DocSet& documents,
                                                      size_t nearest) const {
  const size_t kept = std::max(options_.kept_min, nearest * kKeptPerWanted);
  const std::span<const DocId> docids = reader.row_docids();
  const uint64_t all_documents = reader.embedded().size(), candidates = documents.size();
  if (candidates == 0) return std::nullopt;
  const uint64_t met = kept * all_documents / candidates;
  if (met * options_.walk_cost > candidates) return std::nullopt;
  const bool every_document = candidates == all_documents;
  std::optional<DocBits> wanted;
  if (!every_document) wanted.emplace(documents);
  const bool every_row = !options_.paired || docids.size() == all_documents;
  std::vector<uint32_t> found;
  const auto keep = [&](DocId docid) {
    if (const int64_t local = reader.local_docids().Find(docid); local >= 0)
      found.push_back(static_cast<uint32_t>(local));
  };
  for (size_t t = 0; t < targets_.size(); ++t) {
    if (targets_[t].scale.scale == 0) return std::nullopt;  // all documents are equally near
    if (t > 0 && Stops(true)) break;
    // Whether a row is embedding number t of its document.
    const auto paired = [&](uint32_t row) {
      return row >= t && docids[row - t] == docids[row] &&
             (row == t || docids[row - t - 1] != docids[row]);
    };
    size_t passed = 0;
    bool vain = false;
    // Once a walk is in vain, it accepts every row so that it ends.
    const auto accepts = [&](uint32_t row) {
      if (vain || ((every_document || wanted->Contains(docids[row])) && (every_row || paired(row))))
        return true;
      ++passed;
      vain = passed > met * kVainTimes || (passed % 1024 == 0 && Stops(true));
      return false;
    };
    const bool all = every_document && every_row;
    const auto rows = graph.Search(
        targets_[t].vector.data(), static_cast<uint32_t>(kept),
        all ? std::function<bool(uint32_t)>() : std::function<bool(uint32_t)>(std::ref(accepts)));
    if (!rows.ok() || vain) return std::nullopt;
    for (const vector::Graph::Neighbour& row : *rows) keep(docids[row.row]);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() < std::min<size_t>(nearest, candidates)) return std::nullopt;
  return found;
}

VectorScan::Cosines VectorScan::CosinesOf(const Target& target, const vector::ByteScale& scale,
                                          const int8_t* bytes, uint32_t n) {
  // One of the vectors may have length 0.
  if (scale.scale == 0 || target.scale.scale == 0) return {1, 1};
  const double cosine = static_cast<double>(scale.scale) * target.scale.scale *
                        vector::DotInt8(target.bytes.data(), bytes, n);
  const double error = vector::CosineError(target.scale, scale);
  return {cosine - error, cosine + error};
}

// The greatest lower bound of the cosines of a document and the targets, by bytes.
float VectorScan::LowerBound(const EmbedderReader& reader, EmbedderReader::Rows rows) const {
  const uint32_t n = reader.dimensions();
  const EmbedderReader::ByteRows found = reader.Bytes(rows.begin, rows.end);
  double lower = -1;
  if (found.bytes == nullptr) return -1;  // damaged
  for (uint32_t r = 0; r < rows.end - rows.begin; ++r) {
    for (const Target& target : TargetsOf(r))
      lower =
          std::max(lower, CosinesOf(target, found.scales[r], found.bytes + size_t{r} * n, n).lower);
  }
  return static_cast<float>(lower);
}

std::optional<std::vector<uint32_t>> VectorScan::Sift(const EmbedderReader& reader,
                                                      const DocSet* documents,
                                                      std::span<const vector::SignQuery> queries,
                                                      Floor& floor) const {
  constexpr size_t kPartBlocks = kPartDocuments / vector::kSignRows;
  const size_t rows = reader.row_count(), blocks = vector::SignBlocks(rows);
  const uint32_t n = reader.dimensions();
  if (documents != nullptr && documents->size() * kRowsPerSifted < rows) return std::nullopt;
  // If no document has several rows, only the first of paired targets is compared.
  if (options_.paired && rows == reader.embedded().size()) queries = queries.first(1);
  std::optional<DocBits> wanted;
  if (documents != nullptr) wanted.emplace(*documents);
  struct Kept {
    float upper;
    uint32_t row;
  };
  std::vector<std::vector<Kept>> kept((blocks + kPartBlocks - 1) / kPartBlocks);
  std::atomic<bool> damaged{false};
  // The rows of a row's document.
  const auto document_of = [&](uint32_t row) { return reader.FindRows(reader.row_docids()[row]); };
  ParallelFor(kept.size(), [&](size_t part) {
    const size_t begin = part * kPartBlocks, end = std::min(blocks, begin + kPartBlocks);
    if (Stops(begin * vector::kSignRows >= options_.untimed_documents)) return;
    const uint8_t* block = reader.Signs(begin, end);
    if (block == nullptr) {
      damaged = true;
      return;
    }
    StopCounter steps;
    // A document raises the floor once, in the part that has its first row.
    size_t unknown = begin * vector::kSignRows;
    std::vector<float> estimates(queries.size() * vector::kSignRows);
    for (size_t at = begin; at < end; ++at, block += vector::SignBlockBytes(n)) {
      uint64_t passed = 0;
      for (size_t t = 0; t < queries.size(); ++t) {
        steps.Step(16 + n / 4);
        passed |= queries[t].AtLeast(block, floor.value(), &estimates[t * vector::kSignRows]);
      }
      for (; passed != 0; passed &= passed - 1) {
        const auto i = static_cast<size_t>(std::countr_zero(passed));
        const auto row = static_cast<uint32_t>(at * vector::kSignRows + i);
        if (wanted && !wanted->Contains(reader.row_docids()[row])) continue;
        size_t first = 0, last = queries.size();
        if (options_.paired) {
          first = row - document_of(row).begin;
          last = std::min(last, first + 1);
        }
        float estimate = -2;
        for (size_t t = first; t < last; ++t)
          estimate = std::max(estimate, estimates[t * vector::kSignRows + i]);
        const float upper = estimate + vector::SignError(block, n, i);
        if (first >= last || upper < floor.value()) continue;
        kept[part].push_back({upper, row});
        if (estimate < floor.value()) continue;
        // It is probably among the nearest.
        const EmbedderReader::Rows rows_of = document_of(row);
        if (rows_of.begin < unknown) continue;
        unknown = rows_of.end;
        steps.Step((4 + n / 16) * (rows_of.end - rows_of.begin));
        floor.Add(LowerBound(reader, rows_of));
      }
    }
  });
  if (damaged) return std::nullopt;
  std::vector<uint32_t> locals;
  for (const auto& part : kept) {
    for (const Kept& one : part) {
      if (one.upper < floor.value()) continue;
      const int64_t local = reader.local_docids().Find(reader.row_docids()[one.row]);
      if (local >= 0 && (locals.empty() || locals.back() != local))
        locals.push_back(static_cast<uint32_t>(local));
    }
  }
  return locals;
}

std::vector<VectorScan::Batch> VectorScan::BatchesOf(const DocSet& candidates,
                                                     size_t nearest) const {
  struct Part {
    const EmbedderReader* reader;
    const vector::Graph* graph;  // null: scan all documents
    bool all;                    // whether all documents of the segment are wanted
    DocSet documents;            // used unless all
    std::shared_ptr<const std::vector<uint32_t>> local_docids;
  };
  std::vector<Part> parts;
  size_t walks = 0;
  const bool everything = candidates.size() == snapshot_.documents.size();
  const bool may_walk = nearest > 0 && candidates.size() > options_.scanned_max;
  for (const auto& segment : snapshot_.segments) {
    const EmbedderReader* reader = segment->vectors->Find(embedder_.name);
    if (reader == nullptr || reader->row_count() == 0) continue;
    Part part{reader, nullptr, everything && segment->all_live(), {}, nullptr};
    const bool graph = may_walk && segment->graphs != nullptr;
    if (!part.all || graph) {
      part.documents = reader->embedded() & candidates;
      if (!segment->all_live()) part.documents &= segment->live;
    }
    if (graph) part.graph = segment->graphs->Find(embedder_.name);
    if (part.graph != nullptr) ++walks;
    parts.push_back(std::move(part));
  }
  Floor floor(std::max<size_t>(nearest, 1));
  const auto sifts = [&](const EmbedderReader& reader) {
    return nearest > 0 && reader.has_signs() && reader.row_count() > Tuned().signed_rows_min &&
           reader.row_count() / kRowsPerNearest >= nearest;
  };
  std::vector<vector::SignQuery> queries;  // of the targets, once a part needs them
  const bool has_direction =
      std::all_of(targets_.begin(), targets_.end(), [](const Target& target) {
        return target.scale.scale != 0;  // else all documents are equally near
      });
  if (has_direction && std::any_of(parts.begin(), parts.end(),
                                   [&](const Part& part) { return sifts(*part.reader); })) {
    for (const Target& target : targets_) queries.emplace_back(target.vector);
  }
  const auto prepare = [&](size_t p) {
    Part& part = parts[p];
    std::optional<std::vector<uint32_t>> found;
    if (part.graph != nullptr) found = Walk(*part.reader, *part.graph, part.documents, nearest);
    if (!found && !queries.empty() && sifts(*part.reader))
      found = Sift(*part.reader, part.all ? nullptr : &part.documents, queries, floor);
    if (found) {
      part.local_docids = std::make_shared<const std::vector<uint32_t>>(std::move(*found));
    } else if (!part.all) {
      const auto local_docids = std::make_shared<std::vector<uint32_t>>();
      local_docids->reserve(part.documents.size());
      segment::ForEachLocal(part.reader->local_docids(), part.documents,
                            [&](uint32_t local, uint32_t) { local_docids->push_back(local); });
      part.local_docids = local_docids;
    }
  };
  if (walks > 1) {
    ParallelFor(parts.size(), prepare);
  } else {
    for (size_t p = 0; p < parts.size(); ++p) prepare(p);
  }
  std::vector<Batch> batches;
  size_t before = 0;
  for (const Part& part : parts) {
    const auto end = static_cast<uint32_t>(
        part.local_docids == nullptr ? part.reader->docids().size() : part.local_docids->size());
    for (uint32_t begin = 0; begin < end;) {
      const auto next =
          static_cast<uint32_t>(std::min<size_t>(size_t{begin} + kPartDocuments, end));
      batches.push_back({part.reader, begin, next, before, part.local_docids});
      before += next - begin;
      begin = next;
    }
  }
  return batches;
}

// Calls take(local docid, lower, upper) for each document of the batch that has an embedding.
template <typename Take>
void VectorScan::Scan(const Batch& batch, Take&& take) const {
  const EmbedderReader& reader = *batch.reader;
  const uint32_t n = reader.dimensions();
  if (reader.row_count() == 0) return;
  const auto local_at = [&](uint32_t i) {
    return batch.local_docids == nullptr ? i : (*batch.local_docids)[i];
  };
  const uint32_t first_row = reader.rows_of(local_at(batch.begin)).begin,
                 last_row = reader.rows_of(local_at(batch.end - 1)).end;
  if (first_row == last_row) return;
  const bool dense =
      batch.local_docids == nullptr || last_row - first_row <= 2 * (batch.end - batch.begin);
  if (dense) reader.WillNeed(first_row, last_row);
  StopCounter steps;
  if (reader.binary_quantised()) {
    const size_t words = vector::BitWords(n);
    const uint64_t* bits = dense ? reader.Bits(first_row, last_row) : nullptr;
    for (uint32_t i = batch.begin; i < batch.end; ++i) {
      const uint32_t local = local_at(i);
      const auto rows = reader.rows_of(local);
      steps.Step(4 + n / 64 * (rows.end - rows.begin));
      if (rows.empty()) continue;
      const uint64_t* row =
          dense ? (bits == nullptr ? nullptr : bits + size_t{rows.begin - first_row} * words)
                : reader.Bits(rows.begin, rows.end);
      if (row == nullptr) continue;
      uint32_t distance = static_cast<uint32_t>(words * 64);
      for (uint32_t r = 0; r < rows.end - rows.begin; ++r, row += words) {
        for (const Target& target : TargetsOf(r))
          distance = std::min(distance, vector::HammingDistance(target.bits.data(), row, words));
      }
      const float similarity = Similarity(1 - 2.0 * distance / static_cast<double>(words * 64));
      take(local, similarity, similarity);
    }
    return;
  }
  const EmbedderReader::ByteRows all =
      dense ? reader.Bytes(first_row, last_row) : EmbedderReader::ByteRows{};
  for (uint32_t i = batch.begin; i < batch.end; ++i) {
    const uint32_t local = local_at(i);
    const auto rows = reader.rows_of(local);
    steps.Step(4 + n / 16 * (rows.end - rows.begin));
    if (rows.empty()) continue;
    EmbedderReader::ByteRows found;
    if (!dense) {
      found = reader.Bytes(rows.begin, rows.end);
    } else if (all.bytes != nullptr) {
      found = {all.bytes + size_t{rows.begin - first_row} * n,
               all.scales + (rows.begin - first_row)};
    }
    if (found.bytes == nullptr) continue;  // damaged: the segment has been marked
    double lower = -1, upper = -1;
    for (uint32_t r = 0; r < rows.end - rows.begin; ++r) {
      for (const Target& target : TargetsOf(r)) {
        const Cosines cosines = CosinesOf(target, found.scales[r], found.bytes + size_t{r} * n, n);
        lower = std::max(lower, cosines.lower);
        upper = std::max(upper, cosines.upper);
      }
    }
    take(local, Similarity(lower), Similarity(upper));
  }
}

float VectorScan::Compare(const EmbedderReader& reader, uint32_t local) const {
  StopPoint();
  const auto rows = reader.rows_of(local);
  float best = 0;
  for (uint32_t row = rows.begin; row < rows.end; ++row)
    best = std::max(best, CompareRow(reader, row, row - rows.begin));
  return best;
}

float VectorScan::CompareRow(const EmbedderReader& reader, uint32_t row, uint32_t n) const {
  double best = -1;
  if (reader.binary_quantised()) {
    const uint64_t* bits = reader.Bits(row, row + 1);
    if (bits == nullptr) return 0;  // damaged
    const size_t words = vector::BitWords(reader.dimensions());
    for (const Target& target : TargetsOf(n)) {
      const uint32_t distance = vector::HammingDistance(target.bits.data(), bits, words);
      best = std::max(best, 1 - 2.0 * distance / static_cast<double>(words * 64));
    }
    return Similarity(best);
  }
  const std::span<const float> numbers = reader.Row(row);
  if (numbers.empty()) return 0;  // damaged
  const double length = std::sqrt(vector::Dot(numbers.data(), numbers.data(), numbers.size()));
  for (const Target& target : TargetsOf(n)) {
    const double product = length * target.length;
    best = std::max(
        best, product == 0
                  ? 1
                  : vector::Dot(numbers.data(), target.vector.data(), numbers.size()) / product);
  }
  return Similarity(best);
}

std::vector<NearRow> VectorScan::NearestRows(const EmbedderReader& reader,
                                             EmbedderReader::Rows rows) const {
  std::vector<NearRow> nearest;
  for (uint32_t row = rows.begin; row < rows.end; ++row)
    nearest.push_back({row, CompareRow(reader, row, row - rows.begin)});
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const NearRow& a, const NearRow& b) { return a.similarity > b.similarity; });
  return nearest;
}

std::vector<VectorScan::Bounds> VectorScan::PossiblyNearest(
    const std::vector<std::vector<Bounds>>& found, size_t count) {
  Greatest lowest(count);
  size_t kept = 0;
  for (const auto& batch : found) {
    kept += batch.size();
    for (const Bounds& bounds : batch) lowest.Add(bounds.lower);
  }
  const float lower_bound = lowest.smallest();
  std::vector<Bounds> possible;
  possible.reserve(std::min(kept, 4 * count + 64));
  for (const auto& batch : found) {
    for (const Bounds& bounds : batch) {
      if (bounds.upper >= lower_bound) possible.push_back(bounds);
    }
  }
  StopCounter steps;
  std::sort(possible.begin(), possible.end(), [&](const Bounds& a, const Bounds& b) {
    steps.Step();
    return a.upper > b.upper;
  });
  return possible;
}

std::vector<NearDocument> VectorScan::Nearest(const DocSet& candidates, size_t count) const {
  const std::vector<Batch> batches = BatchesOf(candidates, count);
  const size_t documents =
      batches.empty() ? 0 : batches.back().before + batches.back().end - batches.back().begin;
  count = std::min(count, std::max<size_t>(documents, 1));

  std::atomic<float> floor{-1};  // at least `count` documents are certainly this near
  std::vector<std::vector<Bounds>> found(batches.size());
  const auto scan = [&](size_t p) {
    if (Stops(batches[p].before >= options_.untimed_documents)) return;
    Greatest lowest(count);
    std::vector<Bounds>& kept = found[p];
    float lower_bound = floor.load(std::memory_order_relaxed);
    Scan(batches[p], [&](uint32_t local, float lower, float upper) {
      if (upper < lower_bound) return;
      kept.push_back({lower, upper, local, batches[p].reader});
      lowest.Add(lower);
      lower_bound = std::max(lower_bound, lowest.smallest());
    });
    RaiseTo(floor, lowest.smallest());
  };
  const bool shared = documents >= kSharedDocumentsMin;
  if (shared) {
    ParallelFor(batches.size(), scan);
  } else {
    for (size_t p = 0; p < batches.size(); ++p) scan(p);
  }

  const std::vector<Bounds> compared = PossiblyNearest(found, count);
  std::vector<NearDocument> nearest(compared.size());
  const auto compare = [&](size_t i) {
    const Bounds& bounds = compared[i];
    const float similarity = bounds.lower == bounds.upper && bounds.reader->binary_quantised()
                                 ? bounds.lower
                                 : Compare(*bounds.reader, bounds.local);
    nearest[i] = {bounds.reader->docids()[bounds.local], similarity};
  };
  // By decreasing upper bound, until none of the rest can be as near as the last one wanted.
  Greatest best(count);
  constexpr size_t kTogether = 1024;
  size_t done = 0;
  while (done < compared.size() && compared[done].upper >= best.smallest() &&
         !Stops(done >= kTogether)) {
    const size_t next =
        std::min(compared.size(), done + (count > kTogether ? kTogether * 8 : size_t{16}));
    if (shared && next - done >= kTogether) {
      const size_t begin = done, pieces = (next - begin + kTogether - 1) / kTogether;
      ParallelFor(pieces, [&](size_t piece) {
        for (size_t i = begin + piece * kTogether;
             i < std::min(next, begin + (piece + 1) * kTogether); ++i)
          compare(i);
      });
    } else {
      for (size_t i = done; i < next; ++i) compare(i);
    }
    for (; done < next; ++done) best.Add(nearest[done].similarity);
  }
  nearest.resize(done);
  std::sort(nearest.begin(), nearest.end(), Nearer);
  size_t end = std::min(count, nearest.size());
  while (end < nearest.size() && nearest[end].similarity == nearest[end - 1].similarity) ++end;
  nearest.resize(end);
  return nearest;
}

DocSet VectorScan::AtLeast(const DocSet& candidates, double score) const {
  const std::vector<Batch> batches = BatchesOf(candidates);
  const size_t documents =
      batches.empty() ? 0 : batches.back().before + batches.back().end - batches.back().begin;
  std::vector<std::vector<DocId>> found(batches.size());
  const auto scan = [&](size_t p) {
    if (Stops(batches[p].before >= options_.untimed_documents)) return;
    const EmbedderReader& reader = *batches[p].reader;
    Scan(batches[p], [&](uint32_t local, float lower, float upper) {
      const auto passes = [&](float similarity) {
        return static_cast<double>(Score(similarity)) >= score;
      };
      if (!passes(upper)) return;
      if (passes(lower) || (!reader.binary_quantised() && passes(Compare(reader, local)))) {
        found[p].push_back(reader.docids()[local]);
      }
    });
  };
  if (documents >= kSharedDocumentsMin) {
    ParallelFor(batches.size(), scan);
  } else {
    for (size_t p = 0; p < batches.size(); ++p) scan(p);
  }
  DocSet passing;
  for (const auto& docids : found) passing |= DocSet::FromSorted(docids);
  return passing;
}

}  // namespace gannet::search
