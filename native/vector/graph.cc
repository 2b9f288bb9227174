#include "vector/graph.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <usearch/index.hpp>
#include <usearch/index_plugins.hpp>
#pragma GCC diagnostic pop

#include "base/bytes.h"
#include "vector/kernels.h"

namespace gannet::vector {
namespace {

constexpr size_t kCacheLine = 64;

// With allocators that return null where those of the standard library would throw through
// functions that must not.
using Links =
    unum::usearch::index_gt<float, uint32_t, uint32_t,
                            unum::usearch::aligned_allocator_gt<unum::usearch::byte_t, kCacheLine>,
                            unum::usearch::memory_mapping_allocator_gt<kCacheLine>>;

// Rows that one thread takes at a time while a graph is built: neighbours in the matrix become
// neighbouring nodes.
constexpr uint32_t kRowsPerClaim = 64;
// Concurrent searches of one graph; further ones wait for one to end.
constexpr uint32_t kSearchesMax = 64;
struct Query {
  std::vector<int8_t> bytes;
  float scale = 0;
};

// Distances between rows, and between a query and rows, addressed by the nodes of a graph.
struct Metric {
  const ByteMatrix& matrix;
  const uint32_t* rows;  // by node

  const int8_t* BytesOf(uint32_t row) const {
    return matrix.bytes + size_t{row} * matrix.dimensions;
  }
  float Distance(const int8_t* bytes, float scale, uint32_t row) const {
    const auto dot = static_cast<float>(DotInt8(bytes, BytesOf(row), matrix.dimensions));
    return 1 - scale * matrix.scales[row].scale * dot;
  }
  float operator()(const Query& query, const Links::member_citerator_t& node) const {
    return Distance(query.bytes.data(), query.scale, rows[get_slot(node)]);
  }
  float operator()(uint32_t row, const Links::member_citerator_t& node) const {
    return Distance(BytesOf(row), matrix.scales[row].scale, rows[get_slot(node)]);
  }
  float operator()(const Links::member_citerator_t& a, const Links::member_citerator_t& b) const {
    const uint32_t row = rows[get_slot(a)];
    return Distance(BytesOf(row), matrix.scales[row].scale, rows[get_slot(b)]);
  }
};

// Prefetches the bytes of nodes that will be compared next.
struct Prefetch {
  const ByteMatrix& matrix;
  const uint32_t* rows;
  template <typename Node>
  void operator()(Node at, Node end) const {
    for (; at != end; ++at) {
      const uint32_t row = rows[get_slot(at)];
      __builtin_prefetch(matrix.scales + row);
      const int8_t* bytes = matrix.bytes + size_t{row} * matrix.dimensions;
      for (size_t i = 0; i < matrix.dimensions; i += kCacheLine) __builtin_prefetch(bytes + i);
    }
  }
};

// Whether a call of the library has succeeded. Releases the error: one that is not released is
// thrown when it goes out of scope.
template <typename Result>
bool Succeeded(Result&& result) {
  return result.error.release() == nullptr;
}

Status OutOfMemory() {
  return Status::Internal("memory has run out while a graph of vectors was used");
}

// The nodes of a stored graph (docs/internals/format.md), renumbered.
//
// Threads: one owner.
class Renumbered {
 public:
  Renumbered(const ByteMatrix& matrix, const GraphParameters& parameters)
      : matrix_(matrix), base_(2 * parameters.connectivity), upper_(parameters.connectivity) {}

  // False: the graph is damaged, has other parameters, or too few of its nodes have a row.
  bool Read(const EarlierGraph& earlier, const std::function<bool()>& stopped) {
    return ReadNodes(earlier) && NumberNodes(earlier) && Renumber(earlier, stopped);
  }
  // By node.
  const std::vector<uint32_t>& rows() const { return rows_; }
  const std::string& nodes() const { return out_; }

 private:
  static constexpr size_t kHeaderBytes = 40, kHeadBytes = sizeof(uint32_t) + sizeof(int16_t);
  // Nodes of which this share has no row are not worth it, in percent.
  static constexpr size_t kLostMax = 20;

  size_t Capacity(int16_t level) const { return level == 0 ? base_ : upper_; }
  size_t ListBytes(int16_t level) const { return (1 + Capacity(level)) * sizeof(uint32_t); }
  // The links of a node on a level. REQUIRES: the node has the level.
  std::span<const uint32_t> Links(size_t node, int16_t level) {
    const char* at = begins_[node] + kHeadBytes;
    for (int16_t below = 0; below < level; ++below) at += ListBytes(below);
    const auto count = std::min<size_t>(LoadFixed<uint32_t>(at), Capacity(level));
    links_.resize(count);
    std::memcpy(links_.data(), at + sizeof(uint32_t), count * sizeof(uint32_t));
    return links_;
  }

  bool ReadNodes(const EarlierGraph& earlier) {
    const std::string_view nodes = earlier.nodes;
    const size_t count = earlier.rows.size();
    if (nodes.size() < kHeaderBytes + count * sizeof(int16_t) || count == 0 ||
        LoadFixed<uint64_t>(nodes.data()) != count ||
        LoadFixed<uint64_t>(nodes.data() + 8) != upper_ ||
        LoadFixed<uint64_t>(nodes.data() + 16) != base_)
      return false;
    size_t at = kHeaderBytes + count * sizeof(int16_t);
    for (size_t node = 0; node < count; ++node) {
      const auto level = LoadFixed<int16_t>(nodes.data() + kHeaderBytes + node * sizeof(int16_t));
      size_t size = kHeadBytes;
      if (level < 0) return false;
      for (int16_t l = 0; l <= level; ++l) size += ListBytes(l);
      if (size > nodes.size() - at) return false;
      begins_.push_back(nodes.data() + at);
      levels_.push_back(level);
      at += size;
    }
    return at == nodes.size();
  }

  bool NumberNodes(const EarlierGraph& earlier) {
    std::vector<bool> taken(matrix_.rows);
    for (const uint32_t row : earlier.rows) {
      const uint32_t now = row < earlier.new_rows.size() ? earlier.new_rows[row] : kNoRow;
      if (now < matrix_.rows && !taken[now]) {
        taken[now] = true;
        numbers_.push_back(static_cast<uint32_t>(rows_.size()));
        rows_.push_back(now);
      } else {
        numbers_.push_back(kNoRow);
      }
    }
    const size_t lost = numbers_.size() - rows_.size();
    return !rows_.empty() && lost * 100 <= numbers_.size() * kLostMax;
  }

  bool Renumber(const EarlierGraph& earlier, const std::function<bool()>& stopped) {
    size_t entry = numbers_.size();
    for (size_t node = 0; node < numbers_.size(); ++node) {
      if (numbers_[node] != kNoRow && (entry == numbers_.size() || levels_[node] > levels_[entry]))
        entry = node;
    }
    out_.reserve(earlier.nodes.size());
    PutFixed<uint64_t>(out_, rows_.size());
    PutFixed<uint64_t>(out_, upper_);
    PutFixed<uint64_t>(out_, base_);
    PutFixed<uint64_t>(out_, static_cast<uint64_t>(levels_[entry]));
    PutFixed<uint64_t>(out_, numbers_[entry]);
    for (size_t node = 0; node < numbers_.size(); ++node) {
      if (numbers_[node] != kNoRow) PutFixed(out_, levels_[node]);
    }
    for (size_t node = 0; node < numbers_.size(); ++node) {
      if (node % kRowsPerClaim == 0 && stopped()) return false;
      if (numbers_[node] == kNoRow) continue;
      PutFixed(out_, rows_[numbers_[node]]);
      PutFixed(out_, levels_[node]);
      for (int16_t level = 0; level <= levels_[node]; ++level) {
        if (!PutLinks(node, level)) return false;
      }
    }
    return true;
  }

  bool PutLinks(size_t node, int16_t level) {
    kept_.clear();
    lost_.clear();
    for (const uint32_t link : Links(node, level)) {
      if (link >= numbers_.size() || levels_[link] < level) return false;
      (numbers_[link] == kNoRow ? lost_ : kept_).push_back(link);
    }
    Replace(node, level);
    PutFixed(out_, static_cast<uint32_t>(kept_.size()));
    for (const uint32_t link : kept_) PutFixed(out_, numbers_[link]);
    out_.append((Capacity(level) - kept_.size()) * sizeof(uint32_t), '\0');
    return true;
  }

  // Links a node with the nearest neighbours of the nodes that it has lost, as many as those.
  void Replace(size_t node, int16_t level) {
    near_.clear();
    const uint32_t row = rows_[numbers_[node]];
    for (const uint32_t lost : lost_) {
      for (const uint32_t link : Links(lost, level)) {
        if (link >= numbers_.size() || numbers_[link] == kNoRow || levels_[link] < level ||
            link == node || std::find(kept_.begin(), kept_.end(), link) != kept_.end())
          continue;
        near_.emplace_back(DistanceOf(row, rows_[numbers_[link]]), link);
      }
    }
    std::sort(near_.begin(), near_.end());
    near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    for (size_t i = 0; i < std::min(near_.size(), lost_.size()); ++i)
      kept_.push_back(near_[i].second);
  }

  float DistanceOf(uint32_t a, uint32_t b) const {
    const Metric metric{matrix_, nullptr};
    return metric.Distance(metric.BytesOf(a), matrix_.scales[a].scale, b);
  }

  const ByteMatrix matrix_;
  const size_t base_, upper_;        // connectivity of the lowest level, and of the others
  std::vector<const char*> begins_;  // by earlier node
  std::vector<int16_t> levels_;      // by earlier node
  std::vector<uint32_t> numbers_;    // by earlier node: the node now, or kNoRow
  std::vector<uint32_t> rows_;       // by node
  std::string out_;
  std::vector<uint32_t> links_, kept_, lost_;  // of the current node
  std::vector<std::pair<float, uint32_t>> near_;
};

class Built final : public BuiltGraph {
 public:
  Built(const ByteMatrix& matrix, const GraphParameters& parameters)
      : matrix_(matrix),
        parameters_(parameters),
        links_(unum::usearch::index_config_t(parameters.connectivity)),
        rows_(matrix.rows) {}

  void Keep(const EarlierGraph& earlier, const std::function<bool()>& stopped) {
    Renumbered nodes(matrix_, parameters_);
    if (!nodes.Read(earlier, stopped)) return;
    std::string_view rest = nodes.nodes();
    auto read = links_.load_from_stream([&](void* to, size_t size) {
      if (size > rest.size()) return false;
      std::memcpy(to, rest.data(), size);
      rest.remove_prefix(size);
      return true;
    });
    if (!Succeeded(read)) {
      links_ = Links(unum::usearch::index_config_t(parameters_.connectivity));
      return;
    }
    kept_ = static_cast<uint32_t>(nodes.rows().size());
    std::vector<bool> has_node(matrix_.rows);
    for (uint32_t node = 0; node < kept_; ++node) {
      rows_[node] = nodes.rows()[node];
      has_node[rows_[node]] = true;
    }
    for (uint32_t row = 0; row < matrix_.rows; ++row) {
      if (!has_node[row]) missing_.push_back(row);
    }
  }

  Status Build(uint32_t threads, const std::function<bool()>& stopped) {
    if (!links_.try_reserve(unum::usearch::index_limits_t(matrix_.rows, threads)))
      return OutOfMemory();
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
      for (uint32_t i = 1; i < threads; ++i)
        others.emplace_back([this, i, &stopped] { Link(i, stopped); });
    } catch (const std::exception&) {
      // Go on with the threads that could be started.
    }
    Link(0, stopped);
    for (std::thread& thread : others) thread.join();
    if (failed_) return OutOfMemory();
    return cancelled_ ? Status::Cancelled("The building of a graph was stopped.") : Status::Ok();
  }

  std::span<const uint32_t> rows() const override { return rows_; }
  uint32_t kept() const override { return kept_; }
  Status Write(const std::function<void(std::string_view)>& sink) const override {
    // Nothing may be thrown through the library.
    auto written = links_.save_to_stream([&](const void* bytes, size_t size) {
      try {
        sink({static_cast<const char*>(bytes), size});
        return true;
      } catch (const std::exception&) {
        return false;
      }
    });
    return Succeeded(written) ? Status::Ok() : OutOfMemory();
  }

 private:
  void Link(uint32_t thread, const std::function<bool()>& stopped) {
    unum::usearch::index_update_config_t config;
    config.expansion = parameters_.expansion;
    config.thread = thread;
    const Metric metric{matrix_, rows_.data()};
    const Prefetch prefetch{matrix_, rows_.data()};
    const uint32_t linked = matrix_.rows - kept_;
    for (;;) {
      const uint32_t begin = next_.fetch_add(kRowsPerClaim);
      if (begin >= linked || cancelled_ || failed_) return;
      if (stopped()) {
        cancelled_ = true;
        return;
      }
      for (uint32_t i = begin; i < std::min(linked, begin + kRowsPerClaim); ++i) {
        const uint32_t row = kept_ == 0 ? i : missing_[i];
        // The row of a node is set before another thread can reach the node.
        const auto set_row = [&](Links::member_ref_t node) { rows_[node.slot] = row; };
        if (!Succeeded(links_.add(row, row, metric, config, set_row, prefetch))) {
          failed_ = true;
          return;
        }
      }
    }
  }

  const ByteMatrix matrix_;
  const GraphParameters parameters_;
  Links links_;
  std::vector<uint32_t> rows_;
  uint32_t kept_ = 0;
  std::vector<uint32_t> missing_;  // rows without a node; only if nodes were kept
  std::atomic<uint32_t> next_{0};
  std::atomic<bool> cancelled_{false}, failed_{false};
};

class Opened final : public Graph {
 public:
  Opened(std::span<const uint32_t> rows, const ByteMatrix& matrix) : rows_(rows), matrix_(matrix) {
    for (uint32_t i = 0; i < kSearchesMax; ++i) free_.push_back(i);
    for (uint32_t row = 0; row < matrix.rows; ++row) {
      if (matrix.scales[row].scale == 0) rows_without_length_.push_back(row);
    }
  }

  bool Read(std::string_view nodes) {
    if (!links_.try_reserve(unum::usearch::index_limits_t(0, kSearchesMax))) return false;
    // The library takes a mutable pointer, but does not write.
    auto* bytes = reinterpret_cast<unum::usearch::byte_t*>(const_cast<char*>(nodes.data()));
    return Succeeded(links_.view(unum::usearch::memory_mapped_file_t(bytes, nodes.size()))) &&
           links_.size() == rows_.size();
  }

  Result<std::vector<Neighbour>> Search(
      const float* query, uint32_t expansion,
      const std::function<bool(uint32_t row)>& accepts) const override {
    Query bytes;
    bytes.bytes.resize(matrix_.dimensions);
    bytes.scale = QuantiseToBytes(query, matrix_.dimensions, bytes.bytes.data()).scale;
    unum::usearch::index_search_config_t config;
    config.expansion = expansion;
    config.thread = Take();
    const Metric metric{matrix_, rows_.data()};
    const Prefetch prefetch{matrix_, rows_.data()};
    std::vector<Neighbour> found;
    // In the graph, rows without length are far from everything.
    for (const uint32_t row : rows_without_length_) {
      if (accepts == nullptr || accepts(row)) found.push_back({row, 0});
    }
    bool complete = false;
    const auto keep = [&](auto result) {
      complete = Succeeded(result);
      for (size_t i = 0; complete && i < result.size(); ++i) {
        const uint32_t row = rows_[result[i].member.slot];
        if (matrix_.scales[row].scale != 0) found.push_back({row, result[i].distance});
      }
    };
    if (accepts == nullptr) {
      keep(links_.search(bytes, expansion, metric, config, unum::usearch::dummy_predicate_t{},
                         prefetch));
    } else {
      keep(links_.search(
          bytes, expansion, metric, config,
          [&](const Links::member_cref_t& node) { return accepts(rows_[node.slot]); }, prefetch));
    }
    Give(static_cast<uint32_t>(config.thread));
    if (!complete) return OutOfMemory();
    return found;
  }

 private:
  uint32_t Take() const {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty(); });
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void Give(uint32_t number) const {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(number);
    }
    freed_.notify_one();
  }

  const std::span<const uint32_t> rows_;
  const ByteMatrix matrix_;
  std::vector<uint32_t> rows_without_length_;
  Links links_;
  mutable std::mutex mutex_;  // guards free_
  mutable std::condition_variable freed_;
  mutable std::vector<uint32_t> free_;  // slots of searches that are free
};

}  // namespace

Result<std::unique_ptr<BuiltGraph>> BuildGraph(const ByteMatrix& matrix,
                                               const GraphParameters& parameters, uint32_t threads,
                                               const std::function<bool()>& stopped,
                                               const EarlierGraph* earlier) {
  try {
    auto built = std::make_unique<Built>(matrix, parameters);
    if (earlier != nullptr) built->Keep(*earlier, stopped);
    GANNET_RETURN_IF_ERROR(built->Build(std::max<uint32_t>(1, threads), stopped));
    return std::unique_ptr<BuiltGraph>(std::move(built));
  } catch (const std::exception&) {
    return OutOfMemory();
  }
}

Result<std::unique_ptr<Graph>> Graph::Open(std::span<const uint32_t> rows, std::string_view nodes,
                                           const ByteMatrix& matrix) {
  const Status damaged = Status::Corruption("a graph of vectors does not fit them");
  if (rows.empty() ||
      std::any_of(rows.begin(), rows.end(), [&](uint32_t row) { return row >= matrix.rows; }))
    return damaged;
  try {
    auto opened = std::make_unique<Opened>(rows, matrix);
    if (!opened->Read(nodes)) return damaged;
    return std::unique_ptr<Graph>(std::move(opened));
  } catch (const std::exception&) {
    return OutOfMemory();
  }
}

}  // namespace gannet::vector
