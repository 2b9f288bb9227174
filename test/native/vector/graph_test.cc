// Graphs of vectors compared with scans of all vectors.
#include "vector/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
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

// Recall of the nearest ten, with queries that are rows.
double RecallOf(const BuiltGraph& built, const Rows& rows, Random& random) {
  const Stored stored = Store(built);
  const uint32_t n = rows.matrix.dimensions, count = rows.matrix.rows;
  const auto graph = Graph::Open(stored.rows, stored.nodes, rows.matrix);
  EXPECT_TRUE(graph.ok());
  size_t found = 0;
  constexpr size_t kQueries = 100, kWanted = 10;
  for (size_t query = 0; query < kQueries; ++query) {
    const float* v = rows.numbers.data() + size_t{random() % count} * n;
    std::vector<std::pair<double, uint32_t>> all;
    for (uint32_t row = 0; row < count; ++row) {
      const float* other = rows.numbers.data() + size_t{row} * n;
      all.emplace_back(-Dot(v, other, n) / std::sqrt(Dot(other, other, n)), row);
    }
    std::sort(all.begin(), all.end());
    const auto near = (*graph)->Search(v, 60, nullptr);
    EXPECT_TRUE(near.ok());
    std::set<uint32_t> given;
    for (const auto& neighbour : *near) given.insert(neighbour.row);
    for (size_t i = 0; i < kWanted; ++i) found += given.contains(all[i].second) ? 1 : 0;
  }
  return static_cast<double>(found) / (kQueries * kWanted);
}

// Rows of one matrix, some of them at other positions in another one, which has more.
struct Moved {
  Moved(Random& random, uint32_t count, uint32_t lost_percent)
      : now(random, count, 32), before(random, count, 32), new_rows(count, kNoRow) {
    const uint32_t n = now.matrix.dimensions;
    std::vector<uint32_t> shuffled(count);
    for (uint32_t i = 0; i < count; ++i) shuffled[i] = i;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    earlier_rows = count * 4 / 5;
    for (uint32_t row = 0; row < earlier_rows; ++row) {
      const uint32_t target = shuffled[row];
      std::copy_n(now.bytes.data() + size_t{target} * n, n, before.bytes.data() + size_t{row} * n);
      before.scales[row] = now.scales[target];
      if (random() % 100 >= lost_percent) new_rows[row] = target;
    }
    new_rows.resize(earlier_rows);
    before.matrix.rows = earlier_rows;
  }
  Rows now, before;
  std::vector<uint32_t> new_rows;
  uint32_t earlier_rows = 0;
};

TEST(GraphTest, StartsFromAnEarlierOneAndFindsAsMuch) {
  Random random(TestSeed());
  const auto never = [] { return false; };
  double kept = 0, fresh = 0;
  for (const uint32_t lost_percent : {0, 2, 10}) {
    const Moved moved(random, 2500, lost_percent);
    auto before = BuildGraph(moved.before.matrix, {}, 1, never);
    ASSERT_TRUE(before.ok());
    const Stored stored = Store(**before);
    const EarlierGraph earlier{stored.rows, stored.nodes, moved.new_rows};
    for (const uint32_t threads : {1, 3}) {
      auto built = BuildGraph(moved.now.matrix, {}, threads, never, &earlier);
      ASSERT_TRUE(built.ok());
      ASSERT_EQ((*built)->kept(),
                moved.earlier_rows - static_cast<uint32_t>(std::count(
                                         moved.new_rows.begin(), moved.new_rows.end(), kNoRow)));
      const auto rows = (*built)->rows();
      ASSERT_EQ(std::set<uint32_t>(rows.begin(), rows.end()).size(), moved.now.matrix.rows);
      kept += RecallOf(**built, moved.now, random);
      auto from_nothing = BuildGraph(moved.now.matrix, {}, threads, never);
      ASSERT_TRUE(from_nothing.ok());
      ASSERT_EQ((*from_nothing)->kept(), 0u);
      fresh += RecallOf(**from_nothing, moved.now, random);
    }
  }
  EXPECT_GE(kept / 6, fresh / 6 - 0.02);
}

TEST(GraphTest, StartsFromNothingIfAnEarlierOneIsDamagedOrHasLostTooMuch) {
  Random random(TestSeed());
  const auto never = [] { return false; };
  std::optional<Moved> made;
  Stored stored;
  // Links of the first node are damaged below, and nobody reads those of a row that is lost.
  do {
    made.emplace(random, 600, 2);
    auto before = BuildGraph(made->before.matrix, {}, 1, never);
    ASSERT_TRUE(before.ok());
    stored = Store(**before);
  } while (made->new_rows[stored.rows[0]] == kNoRow);
  const Moved& moved = *made;
  const auto kept = [&](const EarlierGraph& earlier, const GraphParameters& parameters = {}) {
    auto built = BuildGraph(moved.now.matrix, parameters, 1, never, &earlier);
    EXPECT_TRUE(built.ok());
    EXPECT_GE(RecallOf(**built, moved.now, random), 0.9);
    return (*built)->kept();
  };
  EXPECT_GT(kept({stored.rows, stored.nodes, moved.new_rows}), 0u);
  EXPECT_EQ(kept({stored.rows, stored.nodes, moved.new_rows}, {.connectivity = 8}), 0u);
  EXPECT_EQ(kept({{}, {}, moved.new_rows}), 0u);
  EXPECT_EQ(kept({stored.rows, stored.nodes, {}}), 0u);
  const auto view = std::string_view(stored.nodes);
  EXPECT_EQ(kept({stored.rows, view.substr(0, view.size() - 1), moved.new_rows}), 0u);
  EXPECT_EQ(kept({stored.rows, view.substr(0, 41), moved.new_rows}), 0u);
  std::string beyond = stored.nodes;
  const size_t links = 40 + stored.rows.size() * 2 + 6 + 4;
  beyond[links + 3] = '\x7f';
  EXPECT_EQ(kept({stored.rows, beyond, moved.new_rows}), 0u);
  std::vector<uint32_t> few = moved.new_rows;
  for (size_t i = 0; i < few.size(); i += 4) few[i] = kNoRow;
  EXPECT_EQ(kept({stored.rows, stored.nodes, few}), 0u);
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
