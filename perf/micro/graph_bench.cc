// What do graphs over vectors cost, and what do they find?
//
// For some connectivities and expansions: the CPU time of building, the bytes, and for searches
// with some expansions the recall of the nearest ten and the time, next to a scan of all bytes.
// Corpus: rows of half precision (`package-vectors.f16`: 63,436 of 384 components), each with the
// given number of noisy copies; queries likewise. Filters leave a random share of the rows.
//
//   graph_bench rows.f16 queries.f16 dimensions copies queries [connectivity,expansion ...]
//
//   g++ -std=c++20 -O3 -DNDEBUG -DUSEARCH_USE_NUMKONG=0 -DUSEARCH_USE_OPENMP=0 -Inative \
//       -isystem node_modules/usearch/include \
//       perf/micro/graph_bench.cc native/vector/*.cc -o /tmp/graph_bench

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "vector/graph.h"
#include "vector/kernels.h"
#include "vectors.h"

namespace {

using namespace gannet::vector;

constexpr size_t kWanted = 10;
// The noise of each component of a copy, as a share of the mean size of components.
constexpr float kNoise = 0.5f;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6)
    return std::fprintf(
               stderr,
               "usage: graph_bench rows.f16 queries.f16 dimensions copies queries [c,e ...]\n"),
           2;
  const auto dimensions = static_cast<uint32_t>(std::atoi(argv[3]));
  const int copies = std::atoi(argv[4]);
  const std::vector<float> originals = ReadHalves(argv[1]), queries = ReadHalves(argv[2]);
  const size_t query_count =
      std::min<size_t>(static_cast<size_t>(std::atoi(argv[5])), queries.size() / dimensions);
  std::vector<std::pair<uint32_t, uint32_t>> settings;
  for (int i = 6; i < argc; ++i) {
    char* rest = nullptr;
    const auto connectivity = static_cast<uint32_t>(std::strtoul(argv[i], &rest, 10));
    settings.emplace_back(connectivity, static_cast<uint32_t>(std::strtoul(rest + 1, nullptr, 10)));
  }
  if (settings.empty()) settings = {{16, 128}};

  const auto count =
      static_cast<uint32_t>(originals.size() / dimensions * static_cast<size_t>(1 + copies));
  std::vector<float> rows(size_t{count} * dimensions);
  std::vector<int8_t> bytes(rows.size());
  std::vector<ByteScale> scales(count);
  std::mt19937_64 random(7);
  std::normal_distribution<float> noise(0, kNoise / std::sqrt(static_cast<float>(dimensions)));
  for (uint32_t row = 0; row < count; ++row) {
    const size_t original = row % (originals.size() / dimensions);
    for (uint32_t i = 0; i < dimensions; ++i) {
      rows[size_t{row} * dimensions + i] =
          originals[original * dimensions + i] + (row == original ? 0 : noise(random));
    }
    scales[row] = QuantiseToBytes(&rows[size_t{row} * dimensions], dimensions,
                                  &bytes[size_t{row} * dimensions]);
  }
  const ByteMatrix matrix{bytes.data(), scales.data(), count, dimensions};

  // Rows whose mark is below the share pass a filter.
  std::vector<float> marks(count);
  for (float& mark : marks) mark = std::uniform_real_distribution<float>()(random);
  const float shares[] = {1, 0.5f, 0.1f};
  std::vector<std::vector<std::vector<uint32_t>>> nearest(
      std::size(shares), std::vector<std::vector<uint32_t>>(query_count));
  double scan_seconds = 0;
  for (size_t q = 0; q < query_count; ++q) {
    const float* query = &queries[q * dimensions];
    std::vector<std::pair<double, uint32_t>> all;
    for (uint32_t row = 0; row < count; ++row) {
      const float* v = &rows[size_t{row} * dimensions];
      all.emplace_back(-Dot(query, v, dimensions) / std::sqrt(Dot(v, v, dimensions)), row);
    }
    for (size_t s = 0; s < std::size(shares); ++s) {
      auto passed = all;
      std::erase_if(passed, [&](const auto& entry) { return marks[entry.second] >= shares[s]; });
      std::partial_sort(passed.begin(), passed.begin() + kWanted, passed.end());
      for (size_t i = 0; i < kWanted; ++i) nearest[s][q].push_back(passed[i].second);
    }
    std::vector<int8_t> query_bytes(dimensions);
    QuantiseToBytes(query, dimensions, query_bytes.data());
    const double begin = Seconds(CLOCK_THREAD_CPUTIME_ID);
    int64_t sum = 0;
    for (uint32_t row = 0; row < count; ++row)
      sum += DotInt8(query_bytes.data(), &bytes[size_t{row} * dimensions], dimensions);
    scan_seconds += Seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (sum == 42) std::puts("");
  }
  std::printf("%u rows of %u, %zu queries; a scan of the bytes: %.2f ms\n", count, dimensions,
              query_count, scan_seconds / static_cast<double>(query_count) * 1e3);

  for (const auto& [connectivity, expansion] : settings) {
    const double begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    auto built =
        BuildGraph(matrix, {connectivity, expansion},
                   std::max(1u, std::thread::hardware_concurrency()), [] { return false; });
    if (!built.ok()) return std::fprintf(stderr, "%s\n", built.status().message().c_str()), 1;
    const double cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    const std::vector<uint32_t> nodes((*built)->rows().begin(), (*built)->rows().end());
    std::string links;
    if (!(*built)->Write([&](std::string_view piece) { links.append(piece); }).ok()) return 1;
    built->reset();
    const auto graph = Graph::Open(nodes, links, matrix);
    if (!graph.ok()) return std::fprintf(stderr, "%s\n", graph.status().message().c_str()), 1;
    std::printf("connectivity %u, expansion %u: built in %.0f CPU seconds, %.0f bytes a row\n",
                connectivity, expansion, cpu,
                static_cast<double>(links.size() + nodes.size() * 4) / count);
    for (size_t s = 0; s < std::size(shares); ++s) {
      for (const uint32_t wanted : {100u, 200u, 400u, 800u, 1600u}) {
        size_t found = 0;
        std::vector<double> times;
        for (size_t q = 0; q < query_count; ++q) {
          const double from = Seconds(CLOCK_THREAD_CPUTIME_ID);
          const auto near = (*graph)->Search(
              &queries[q * dimensions], wanted,
              shares[s] == 1 ? std::function<bool(uint32_t)>()
                             : [&](uint32_t row) { return marks[row] < shares[s]; });
          times.push_back(Seconds(CLOCK_THREAD_CPUTIME_ID) - from);
          std::set<uint32_t> given;
          for (const auto& neighbour : *near) given.insert(neighbour.row);
          for (const uint32_t row : nearest[s][q]) found += given.contains(row) ? 1 : 0;
        }
        std::sort(times.begin(), times.end());
        std::printf("  %3.0f %% of the rows, search with %u: recall@10 %.4f, p50 %.2f ms\n",
                    static_cast<double>(shares[s]) * 100, wanted,
                    static_cast<double>(found) / static_cast<double>(query_count * kWanted),
                    times[times.size() / 2] * 1e3);
      }
    }
  }
}
