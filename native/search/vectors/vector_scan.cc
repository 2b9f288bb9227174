#include "search/vectors/vector_scan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "base/parallel_for.h"
#include "base/stop_point.h"
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
// With fewer bytes of signs to compare, a helper wakes up too late.
constexpr size_t kSharedSignsMin = 8 << 20;
// Documents whose bytes are requested before they are compared: at most this many, and at most
// about this many bytes.
constexpr size_t kAhead = 16, kBytesAhead = 6144;
// A walk is in vain once it has passed this many times the number of rows expected from the share
// of candidates.
constexpr size_t kVainTimes = 3;
constexpr float kSmallestSimilarity = std::numeric_limits<float>::epsilon();

// Monotonic in the cosine, so bounds of the cosine are bounds of the similarity.
float Similarity(double cosine) {
  return std::clamp(static_cast<float>((1 + cosine) / 2), 0.0f, 1.0f);
}

bool Nearer(const NearDocument& a, const NearDocument& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.docid < b.docid;
}

// Finds the documents of rows. Costs little where each document has one row and rows ascend.
class DocumentsOfRows {
 public:
  explicit DocumentsOfRows(const EmbedderReader& reader) : reader_(reader) {}

  // A local docid.
  uint32_t LocalOf(uint32_t row) {
    const auto documents = static_cast<uint32_t>(reader_.docids().size());
    uint32_t low = local_ + (row - row_), high = documents;
    if (low >= documents || reader_.rows_of(low).begin > row || reader_.rows_of(low).end <= row) {
      for (low = 0; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (reader_.rows_of(middle).end <= row) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    row_ = row;
    return local_ = low;
  }

 private:
  const EmbedderReader& reader_;
  uint32_t row_ = 0, local_ = 0;  // of the last call
};

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

// The bytes of the rows of a document.
struct VectorScan::Document {
  uint32_t local = 0, rows = 0;
  EmbedderReader::ByteRows found;

  // Has the processor read the bytes before they are compared. It does not read ahead across pages,
  // and scattered rows not at all.
  void Request(size_t n) const {
    __builtin_prefetch(found.scales);
    const size_t size = std::min(rows * n, kBytesAhead);
    for (size_t at = 0; at < size; at += 64) __builtin_prefetch(found.bytes + at);
  }
};

// The candidates of one segment.
struct VectorScan::Part {
  const EmbedderReader* reader;
  const vector::Graph* graph = nullptr;  // null: scan all documents
  bool all;                              // whether all documents of the segment are wanted
  DocSet documents = {};                 // used unless all
  std::optional<std::vector<Sifted>> sifted = std::nullopt;
  std::shared_ptr<const std::vector<uint32_t>> local_docids = nullptr;  // null: all
};

struct VectorScan::Bounds {
  float lower, upper;
  uint32_t local;
  const EmbedderReader* reader;
};

// A cosine that at least `count` documents reach: the smallest of the `count` greatest lower bounds
// so far. It is lowered by more than cosines of equal similarity differ.
class VectorScan::Floor {
 public:
  explicit Floor(size_t count) : count_(count) {}

  float value() const { return value_.load(std::memory_order_relaxed); }
  // Takes the lower bound of each document once.
  void Add(double lower_bound, const EmbedderReader& reader, uint32_t local) {
    const auto lower = static_cast<float>(lower_bound - kRounding);
    if (lower <= value()) return;
    const std::lock_guard lock(mutex_);
    if (lower <= value()) return;
    if (greatest_.size() == count_) {
      std::pop_heap(greatest_.begin(), greatest_.end());
      greatest_.pop_back();
    }
    greatest_.push_back({lower, local, &reader});
    std::push_heap(greatest_.begin(), greatest_.end());
    if (greatest_.size() == count_) value_ = std::max(value(), greatest_.front().lower);
  }
  // Puts cosine_of(reader, local docid) in the place of the lower bounds.
  template <typename CosineOf>
  void Sharpen(CosineOf&& cosine_of) {
    if (greatest_.size() < count_) return;
    double smallest = 1;
    for (const Reached& one : greatest_)
      smallest = std::min(smallest, cosine_of(*one.reader, one.local));
    value_ = std::max(value(), static_cast<float>(smallest - kRounding));
  }

 private:
  static constexpr double kRounding = 3e-7;
  struct Reached {
    float lower;
    uint32_t local;
    const EmbedderReader* reader;
    bool operator<(const Reached& other) const { return lower > other.lower; }  // least first
  };
  const size_t count_;
  std::mutex mutex_;
  std::vector<Reached> greatest_;  // a heap, guarded by mutex_
  std::atomic<float> value_{-1};   // written with mutex_
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

VectorScan::Cosines VectorScan::BestOf(const Document& document, uint32_t n) const {
  Cosines best{-1, -1};
  for (uint32_t r = 0; r < document.rows; ++r) {
    for (const Target& target : TargetsOf(r)) {
      const Cosines cosines =
          CosinesOf(target, document.found.scales[r], document.found.bytes + size_t{r} * n, n);
      best.lower = std::max(best.lower, cosines.lower);
      best.upper = std::max(best.upper, cosines.upper);
    }
  }
  return best;
}

bool VectorScan::SiftBlocks(const EmbedderReader& reader, const DocBits* wanted,
                            std::span<const vector::SignQuery> queries, size_t begin, size_t end,
                            Floor& floor, std::vector<SiftedRow>& kept) const {
  const uint32_t n = reader.dimensions();
  const uint8_t* block = reader.Signs(begin, end);
  if (block == nullptr) return false;
  StopCounter steps;
  DocumentsOfRows documents_of(reader);
  // A document raises the floor once, in the part that has its first row.
  size_t unknown = begin * vector::kSignRows;
  std::vector<float> estimates(queries.size() * vector::kSignRows);
  // Documents whose bytes are compared after the signs of the next block, when they have come.
  std::vector<std::pair<Document, size_t>> probable;  // and their indexes in `kept`
  // What raises the floor reaches it, even if its signs are wrong.
  const auto raise = [&] {
    for (const auto& [document, index] : probable) {
      const Cosines best = BestOf(document, n);
      floor.Add(best.lower, reader, document.local);
      kept[index].upper = static_cast<float>(best.upper);
    }
    probable.clear();
  };
  for (size_t at = begin; at < end; ++at, block += vector::SignBlockBytes(n)) {
    uint64_t passed = 0;
    for (size_t t = 0; t < queries.size(); ++t) {
      steps.Step(16 + n / 4);
      passed |= queries[t].AtLeast(block, floor.value(), &estimates[t * vector::kSignRows]);
    }
    raise();
    for (; passed != 0; passed &= passed - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(passed));
      const auto row = static_cast<uint32_t>(at * vector::kSignRows + i);
      if (wanted != nullptr && !wanted->Contains(reader.row_docids()[row])) continue;
      size_t first = 0, last = queries.size();
      if (options_.paired) {
        first = row - reader.rows_of(documents_of.LocalOf(row)).begin;
        last = std::min(last, first + 1);
      }
      float estimate = -2;
      for (size_t t = first; t < last; ++t)
        estimate = std::max(estimate, estimates[t * vector::kSignRows + i]);
      const float upper = estimate + vector::SignError(block, n, i);
      if (first >= last || upper < floor.value()) continue;
      kept.push_back({upper, row});
      if (estimate < floor.value()) continue;
      // It is probably among the nearest.
      const uint32_t local = documents_of.LocalOf(row);
      const EmbedderReader::Rows rows_of = reader.rows_of(local);
      if (rows_of.begin < unknown) continue;
      unknown = rows_of.end;
      steps.Step((4 + n / 16) * (rows_of.end - rows_of.begin));
      const Document document{local, rows_of.end - rows_of.begin,
                              reader.Bytes(rows_of.begin, rows_of.end)};
      if (document.found.bytes == nullptr) continue;  // damaged
      document.Request(n);
      probable.emplace_back(document, kept.size() - 1);
    }
  }
  raise();
  return true;
}

std::optional<std::vector<VectorScan::Sifted>> VectorScan::Sift(
    const EmbedderReader& reader, const DocSet* documents,
    std::span<const vector::SignQuery> queries, Floor& floor) const {
  constexpr size_t kPartBlocks = kPartDocuments / vector::kSignRows;
  const size_t rows = reader.row_count(), blocks = vector::SignBlocks(rows);
  if (documents != nullptr && documents->size() * kRowsPerSifted < rows) return std::nullopt;
  // If no document has several rows, only the first of paired targets is compared.
  if (options_.paired && rows == reader.embedded().size()) queries = queries.first(1);
  std::optional<DocBits> wanted;
  if (documents != nullptr) wanted.emplace(*documents);
  std::vector<std::vector<SiftedRow>> kept((blocks + kPartBlocks - 1) / kPartBlocks);
  std::atomic<bool> damaged{false};
  const auto sift = [&](size_t part) {
    const size_t begin = part * kPartBlocks, end = std::min(blocks, begin + kPartBlocks);
    if (Stops(begin * vector::kSignRows >= options_.untimed_documents)) return;
    if (!SiftBlocks(reader, wanted ? &*wanted : nullptr, queries, begin, end, floor, kept[part]))
      damaged = true;
  };
  if (rows * vector::SignBytes(reader.dimensions()) * queries.size() >= kSharedSignsMin) {
    ParallelFor(kept.size(), sift);
  } else {
    for (size_t part = 0; part < kept.size(); ++part) sift(part);
  }
  if (damaged) return std::nullopt;
  std::vector<Sifted> sifted;
  DocumentsOfRows documents_of(reader);
  for (const auto& part : kept) {
    for (const SiftedRow& one : part) {
      if (one.upper < floor.value()) continue;
      const uint32_t local = documents_of.LocalOf(one.row);
      if (sifted.empty() || sifted.back().local != local) {
        sifted.push_back({one.upper, local});
      } else {
        sifted.back().upper = std::max(sifted.back().upper, one.upper);
      }
    }
  }
  return sifted;
}

std::vector<VectorScan::Batch> VectorScan::BatchesOf(const DocSet& candidates, size_t nearest,
                                                     Floor& floor) const {
  std::vector<Part> parts;
  size_t walks = 0;
  const bool everything = candidates.size() == snapshot_.documents.size();
  const bool may_walk = nearest > 0 && candidates.size() > options_.scanned_max;
  for (const auto& segment : snapshot_.segments) {
    const EmbedderReader* reader = segment->vectors->Find(embedder_.name);
    if (reader == nullptr || reader->row_count() == 0) continue;
    Part part{.reader = reader, .all = everything && segment->all_live()};
    const bool graph = may_walk && segment->graphs != nullptr;
    if (!part.all || graph) {
      part.documents = reader->embedded() & candidates;
      if (!segment->all_live()) part.documents &= segment->live;
    }
    if (graph) part.graph = segment->graphs->Find(embedder_.name);
    if (part.graph != nullptr) ++walks;
    parts.push_back(std::move(part));
  }
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
    if (part.graph != nullptr) {
      if (auto found = Walk(*part.reader, *part.graph, part.documents, nearest)) {
        part.local_docids = std::make_shared<const std::vector<uint32_t>>(std::move(*found));
        return;
      }
    }
    if (!queries.empty() && sifts(*part.reader)) {
      part.sifted = Sift(*part.reader, part.all ? nullptr : &part.documents, queries, floor);
      if (part.sifted) return;
    }
    if (part.all) return;
    const auto local_docids = std::make_shared<std::vector<uint32_t>>();
    local_docids->reserve(part.documents.size());
    segment::ForEachLocal(part.reader->local_docids(), part.documents,
                          [&](uint32_t local, uint32_t) { local_docids->push_back(local); });
    part.local_docids = local_docids;
  };
  if (walks > 1) {
    ParallelFor(parts.size(), prepare);
  } else {
    for (size_t p = 0; p < parts.size(); ++p) prepare(p);
  }
  floor.Sharpen(
      [&](const EmbedderReader& reader, uint32_t local) { return BestCosine(reader, local); });
  std::vector<Batch> batches;
  size_t before = 0;
  for (Part& part : parts) {
    if (part.sifted) {
      const auto local_docids = std::make_shared<std::vector<uint32_t>>();
      for (const Sifted& one : *part.sifted) {
        if (one.upper >= floor.value()) local_docids->push_back(one.local);
      }
      part.local_docids = local_docids;
    }
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

// Calls take(local docid, lower, upper) for each document of the batch that has an embedding, with
// the bounds of its best cosine.
template <typename Take>
void VectorScan::Scan(const Batch& batch, Take&& take) const {
  const EmbedderReader& reader = *batch.reader;
  const uint32_t n = reader.dimensions();
  if (reader.row_count() == 0 || batch.begin == batch.end) return;
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
      const double cosine = 1 - 2.0 * distance / static_cast<double>(words * 64);
      take(local, cosine, cosine);
    }
    return;
  }
  const EmbedderReader::ByteRows all =
      dense ? reader.Bytes(first_row, last_row) : EmbedderReader::ByteRows{};
  std::array<Document, kAhead> requested;
  const auto ahead = static_cast<uint32_t>(std::clamp<size_t>(kBytesAhead / n, 1, kAhead));
  for (uint32_t i = batch.begin; i < batch.end + ahead; ++i) {
    Document& document = requested[i % ahead];
    if (i >= batch.begin + ahead && document.found.bytes != nullptr) {
      const Cosines best = BestOf(document, n);
      take(document.local, best.lower, best.upper);
    }
    if (i >= batch.end) continue;
    const uint32_t local = local_at(i);
    const auto rows = reader.rows_of(local);
    document = {local, rows.end - rows.begin, {}};
    steps.Step(4 + n / 16 * document.rows);
    if (rows.empty()) continue;
    // No bytes are found where they are damaged: the segment has been marked.
    if (!dense) {
      document.found = reader.Bytes(rows.begin, rows.end);
    } else if (all.bytes != nullptr) {
      document.found = {all.bytes + size_t{rows.begin - first_row} * n,
                        all.scales + (rows.begin - first_row)};
    }
    if (document.found.bytes != nullptr) document.Request(n);
  }
}

double VectorScan::BestCosine(const EmbedderReader& reader, uint32_t local) const {
  StopPoint();
  const auto rows = reader.rows_of(local);
  double best = -1;
  for (uint32_t row = rows.begin; row < rows.end; ++row)
    best = std::max(best, CosineOfRow(reader, row, row - rows.begin));
  return best;
}

double VectorScan::CosineOfRow(const EmbedderReader& reader, uint32_t row, uint32_t n) const {
  double best = -1;
  if (reader.binary_quantised()) {
    const uint64_t* bits = reader.Bits(row, row + 1);
    if (bits == nullptr) return -1;  // damaged
    const size_t words = vector::BitWords(reader.dimensions());
    for (const Target& target : TargetsOf(n)) {
      const uint32_t distance = vector::HammingDistance(target.bits.data(), bits, words);
      best = std::max(best, 1 - 2.0 * distance / static_cast<double>(words * 64));
    }
    return best;
  }
  const std::span<const float> numbers = reader.Row(row);
  if (numbers.empty()) return -1;  // damaged
  const double length = std::sqrt(vector::Dot(numbers.data(), numbers.data(), numbers.size()));
  for (const Target& target : TargetsOf(n)) {
    const double product = length * target.length;
    best = std::max(
        best, product == 0
                  ? 1
                  : vector::Dot(numbers.data(), target.vector.data(), numbers.size()) / product);
  }
  return best;
}

std::vector<NearRow> VectorScan::NearestRows(const EmbedderReader& reader,
                                             EmbedderReader::Rows rows) const {
  std::vector<NearRow> nearest;
  for (uint32_t row = rows.begin; row < rows.end; ++row)
    nearest.push_back({row, Similarity(CosineOfRow(reader, row, row - rows.begin))});
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const NearRow& a, const NearRow& b) { return a.similarity > b.similarity; });
  return nearest;
}

std::vector<VectorScan::Bounds> VectorScan::PossiblyNearest(
    const std::vector<std::vector<Bounds>>& found, float floor) {
  std::vector<Bounds> possible;
  for (const auto& batch : found) {
    for (const Bounds& bounds : batch) {
      if (bounds.upper >= floor) possible.push_back(bounds);
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
  Floor sifted(count);
  const std::vector<Batch> batches = BatchesOf(candidates, count, sifted);
  const size_t documents =
      batches.empty() ? 0 : batches.back().before + batches.back().end - batches.back().begin;
  count = std::min(count, std::max<size_t>(documents, 1));

  Floor floor(count);
  std::vector<std::vector<Bounds>> found(batches.size());
  const auto scan = [&](size_t p) {
    if (Stops(batches[p].before >= options_.untimed_documents)) return;
    std::vector<Bounds>& kept = found[p];
    Scan(batches[p], [&](uint32_t local, double lower, double upper) {
      if (upper < static_cast<double>(floor.value())) return;
      kept.push_back({Similarity(lower), Similarity(upper), local, batches[p].reader});
      floor.Add(lower, *batches[p].reader, local);
    });
  };
  const bool shared = documents >= kSharedDocumentsMin;
  if (shared) {
    ParallelFor(batches.size(), scan);
  } else {
    for (size_t p = 0; p < batches.size(); ++p) scan(p);
  }

  const std::vector<Bounds> compared =
      PossiblyNearest(found, Similarity(static_cast<double>(floor.value())));
  std::vector<NearDocument> nearest(compared.size());
  const auto compare = [&](size_t i) {
    const Bounds& bounds = compared[i];
    const float similarity = bounds.lower == bounds.upper && bounds.reader->binary_quantised()
                                 ? bounds.lower
                                 : Similarity(BestCosine(*bounds.reader, bounds.local));
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
  Floor floor(1);
  const std::vector<Batch> batches = BatchesOf(candidates, 0, floor);
  const size_t documents =
      batches.empty() ? 0 : batches.back().before + batches.back().end - batches.back().begin;
  std::vector<std::vector<DocId>> found(batches.size());
  const auto scan = [&](size_t p) {
    if (Stops(batches[p].before >= options_.untimed_documents)) return;
    const EmbedderReader& reader = *batches[p].reader;
    Scan(batches[p], [&](uint32_t local, double lower, double upper) {
      const auto passes = [&](float similarity) {
        return static_cast<double>(Score(similarity)) >= score;
      };
      if (!passes(Similarity(upper))) return;
      if (passes(Similarity(lower)) ||
          (!reader.binary_quantised() && passes(Similarity(BestCosine(reader, local))))) {
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
