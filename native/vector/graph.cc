#include "vector/graph.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <usearch/index.hpp>
#include <usearch/index_plugins.hpp>
#pragma GCC diagnostic pop

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

class Built final : public BuiltGraph {
 public:
  Built(const ByteMatrix& matrix, const GraphParameters& parameters)
      : matrix_(matrix),
        parameters_(parameters),
        links_(unum::usearch::index_config_t(parameters.connectivity)),
        rows_(matrix.rows) {}

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
    for (;;) {
      const uint32_t begin = next_.fetch_add(kRowsPerClaim);
      if (begin >= matrix_.rows || cancelled_ || failed_) return;
      if (stopped()) {
        cancelled_ = true;
        return;
      }
      for (uint32_t row = begin; row < std::min(matrix_.rows, begin + kRowsPerClaim); ++row) {
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
                                               const std::function<bool()>& stopped) {
  try {
    auto built = std::make_unique<Built>(matrix, parameters);
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
