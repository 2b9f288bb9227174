// Graphs of vectors compared with scans of all vectors.
#include "vector/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "test_seed.h"
#include "vector/kernels.h"

namespace gannet::vector {
namespace {

using Random = std::mt19937_64;

// Rows in clusters, like embeddings.
struct Rows {
  Rows(Random& random, uint32_t count, uint32_t dimensions)
      : numbers(size_t{count} * dimensions), bytes(numbers.size()), scales(count) {
    std::normal_distribution<float> component;
    std::vector<std::vector<float>> centres(std::max<uint32_t>(1, count / 50),
                                            std::vector<float>(dimensions));
    for (auto& centre : centres) {
      for (float& x : centre) x = component(random);
    }
    for (uint32_t row = 0; row < count; ++row) {
      const auto& centre = centres[random() % centres.size()];
      float* v = numbers.data() + size_t{row} * dimensions;
      for (uint32_t i = 0; i < dimensions; ++i) v[i] = centre[i] + 0.5f * component(random);
      scales[row] = QuantiseToBytes(v, dimensions, bytes.data() + size_t{row} * dimensions);
    }
    matrix = {bytes.data(), scales.data(), count, dimensions};
  }
  std::vector<float> numbers;
  std::vector<int8_t> bytes;
  std::vector<ByteScale> scales;
  ByteMatrix matrix;
};

struct Stored {
  std::vector<uint32_t> rows;
  std::string nodes;
};

Stored Store(const BuiltGraph& graph) {
  Stored stored;
  stored.rows.assign(graph.rows().begin(), graph.rows().end());
  EXPECT_TRUE(graph.Write([&](std::string_view bytes) { stored.nodes.append(bytes); }).ok());
  return stored;
}

TEST(GraphTest, FindsNearlyAllThatAScanFindsWithAndWithoutAFilter) {
  Random random(TestSeed());
  constexpr uint32_t kRows = 2500, kDimensions = 48, kWanted = 10;
  const Rows rows(random, kRows, kDimensions);
  for (const uint32_t threads : {1, 3}) {
    auto built = BuildGraph(rows.matrix, {}, threads, [] { return false; });
    ASSERT_TRUE(built.ok());
    const Stored stored = Store(**built);
    ASSERT_EQ(std::set<uint32_t>(stored.rows.begin(), stored.rows.end()).size(), kRows);
    const auto graph = Graph::Open(stored.rows, stored.nodes, rows.matrix);
    ASSERT_TRUE(graph.ok());
    for (const uint32_t share : {1, 3}) {
      const auto accepts = [&](uint32_t row) { return row % share == 0; };
      size_t found = 0;
      constexpr size_t kQueries = 50;
      for (size_t query = 0; query < kQueries; ++query) {
        const float* v = rows.numbers.data() + random() % kRows * kDimensions;
        std::vector<std::pair<double, uint32_t>> all;
        for (uint32_t row = 0; row < kRows; ++row) {
          const float* other = rows.numbers.data() + size_t{row} * kDimensions;
          if (accepts(row))
            all.emplace_back(
                -Dot(v, other, kDimensions) / std::sqrt(Dot(other, other, kDimensions)), row);
        }
        std::sort(all.begin(), all.end());
        const auto near =
            (*graph)->Search(v, 100, share == 1 ? std::function<bool(uint32_t)>() : accepts);
        ASSERT_TRUE(near.ok());
        std::set<uint32_t> given;
        for (const auto& neighbour : *near) {
          ASSERT_TRUE(accepts(neighbour.row));
          given.insert(neighbour.row);
        }
        for (uint32_t i = 0; i < kWanted; ++i) found += given.contains(all[i].second) ? 1 : 0;
      }
      EXPECT_GE(static_cast<double>(found) / (kQueries * kWanted), 0.97)
          << "share 1/" << share << ", threads " << threads;
    }
  }
}

TEST(GraphTest, BuildingStopsWhenCancelled) {
  Random random(TestSeed());
  const Rows rows(random, 3000, 16);
  std::atomic<int> calls{0};
  const auto built = BuildGraph(rows.matrix, {}, 2, [&] { return ++calls > 5; });
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kCancelled);
}

TEST(GraphTest, BytesThatDoNotFitAreRefused) {
  Random random(TestSeed());
  const Rows rows(random, 500, 16);
  auto built = BuildGraph(rows.matrix, {}, 1, [] { return false; });
  ASSERT_TRUE(built.ok());
  const Stored stored = Store(**built);
  for (const size_t size :
       {size_t{0}, size_t{20}, stored.nodes.size() / 2, stored.nodes.size() - 1}) {
    EXPECT_FALSE(
        Graph::Open(stored.rows, std::string_view(stored.nodes).substr(0, size), rows.matrix).ok())
        << size;
  }
  ByteMatrix fewer = rows.matrix;
  fewer.rows = 400;
  EXPECT_FALSE(Graph::Open(stored.rows, stored.nodes, fewer).ok());
  EXPECT_FALSE(Graph::Open(std::span(stored.rows).first(499), stored.nodes, rows.matrix).ok());
}

}  // namespace
}  // namespace gannet::vector
