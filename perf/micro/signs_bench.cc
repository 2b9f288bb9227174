// Does a first pass over the signs of vectors pay off before the scan of the bytes?
//
// The times of a scan of all bytes, and of a scan of the signs (vector/signs.h) after which only
// rows whose upper bound reaches the k-th best lower bound are compared by bytes; both end with
// single precision. The recall is the share of the nearest k that the second scan finds.
//
// Rows: `copies` are noisy copies of rows of half precision like those of graph_bench; `mixed` are
// between a row and the nearest of 64 others, with less noise. Times are CPU times of one thread.
//
//   signs_bench rows.f16 queries.f16 dimensions rows queries copies|mixed
//
//   g++ -std=c++20 -O3 -DNDEBUG -Inative perf/micro/signs_bench.cc \
//       native/vector/{kernels,quantise,signs}.cc -o /tmp/signs_bench

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "search/vectors/greatest.h"
#include "vector/kernels.h"
#include "vector/quantise.h"
#include "vector/signs.h"
#include "vectors.h"

namespace {

using namespace gannet::vector;

using gannet::search::Greatest;

double ThreadSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }

struct Data {
  size_t n = 0, count = 0;
  std::vector<float> rows;  // unit length
  std::vector<int8_t> bytes;
  std::vector<ByteScale> scales;
  std::vector<uint8_t> signs;
};

struct Target {
  const float* vector;
  std::vector<int8_t> bytes;
  ByteScale scale;
};

struct Work {
  size_t bits_survivors = 0, by_bytes = 0, by_floats = 0;
  double first_pass = 0;
};

struct Possible {
  float upper;
  uint32_t row;
};

std::vector<uint32_t> ByFloats(const Data& data, const Target& target,
                               std::vector<Possible>& possible, float floor, size_t k, Work& work) {
  std::erase_if(possible, [&](const Possible& p) { return p.upper < floor; });
  std::sort(possible.begin(), possible.end(),
            [](const Possible& a, const Possible& b) { return a.upper > b.upper; });
  Greatest best(k);
  std::vector<std::pair<float, uint32_t>> found;
  for (const Possible& p : possible) {
    if (p.upper < best.smallest()) break;
    ++work.by_floats;
    const auto cosine =
        static_cast<float>(Dot(target.vector, &data.rows[size_t{p.row} * data.n], data.n));
    best.Add(cosine);
    found.emplace_back(-cosine, p.row);
  }
  std::sort(found.begin(), found.end());
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < std::min(k, found.size()); ++i) rows.push_back(found[i].second);
  return rows;
}

// Bounds by bytes, as in search/vectors/vector_scan.cc.
struct ByBytes {
  const Data& data;
  const Target& target;
  Greatest lowest;
  float floor = -1;
  std::vector<Possible> possible;
  void Compare(uint32_t row) {
    const ByteScale scale = data.scales[row];
    const double cosine = static_cast<double>(scale.scale) * target.scale.scale *
                          DotInt8(target.bytes.data(), &data.bytes[size_t{row} * data.n], data.n);
    const double error = CosineError(target.scale, scale);
    const auto upper = static_cast<float>(cosine + error);
    if (upper < floor) return;
    possible.push_back({upper, row});
    lowest.Add(static_cast<float>(cosine - error));
    floor = std::max(floor, lowest.smallest());
  }
};

std::vector<uint32_t> ScanBytes(const Data& data, const Target& target, size_t k, Work& work) {
  ByBytes bytes{data, target, Greatest(k), -1, {}};
  for (uint32_t row = 0; row < data.count; ++row) bytes.Compare(row);
  work.by_bytes += data.count;
  return ByFloats(data, target, bytes.possible, bytes.floor, k, work);
}

std::vector<uint32_t> ScanSigns(const Data& data, const Target& target, size_t k, Work& work) {
  const double begin = ThreadSeconds();
  const SignQuery query({target.vector, data.n});
  const size_t block_bytes = SignBlockBytes(data.n);
  ByBytes bytes{data, target, Greatest(k), -1, {}};
  std::vector<std::pair<float, uint32_t>> kept;
  float estimates[kSignRows];
  for (uint32_t first = 0; first < data.count; first += kSignRows) {
    const uint8_t* block = &data.signs[first / kSignRows * block_bytes];
    const float floor = bytes.floor;
    uint64_t passed = query.AtLeast(block, floor, estimates);
    if (passed == 0) continue;
    for (; passed != 0; passed &= passed - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctzll(passed));
      if (estimates[i] >= bytes.floor) {
        bytes.Compare(first + i);
        ++work.by_bytes;
      } else {
        kept.emplace_back(estimates[i], first + i);
      }
    }
  }
  work.first_pass += ThreadSeconds() - begin;
  work.bits_survivors += kept.size();
  const float* factors;
  std::erase_if(kept, [&](const auto& one) {
    factors = reinterpret_cast<const float*>(&data.signs[one.second / kSignRows * block_bytes] +
                                             kSignRows * SignBytes(data.n));
    return one.first < bytes.floor - factors[kSignRows + one.second % kSignRows];
  });
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i + 8 < kept.size()) {
      const int8_t* next = &data.bytes[size_t{kept[i + 8].second} * data.n];
      for (size_t b = 0; b < data.n; b += 64) __builtin_prefetch(next + b);
      __builtin_prefetch(&data.scales[kept[i + 8].second]);
    }
    bytes.Compare(kept[i].second);
    ++work.by_bytes;
  }
  return ByFloats(data, target, bytes.possible, bytes.floor, k, work);
}

void Normalise(float* v, size_t n) {
  const auto length = static_cast<float>(std::sqrt(Dot(v, v, n)));
  for (size_t i = 0; i < n; ++i) v[i] /= length;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Generate(const std::vector<float>& originals, bool mixed, Data& data) {
  const size_t n = data.n, real = originals.size() / n;
  data.rows.resize(data.count * n);
  std::mt19937_64 random(7);
  std::normal_distribution<float> noise(0,
                                        (mixed ? 0.25f : 0.5f) / std::sqrt(static_cast<float>(n)));
  for (size_t row = 0; row < data.count; ++row) {
    const float* from = &originals[row % real * n];
    float* to = &data.rows[row * n];
    std::copy_n(from, n, to);
    if (row >= real) {
      if (mixed) {
        const float* other = nullptr;
        double best = -2;
        for (int i = 0; i < 64; ++i) {
          const float* one = &originals[random() % real * n];
          const double near = Dot(one, from, n);
          if (one != from && near > best) best = near, other = one;
        }
        const float share = std::uniform_real_distribution<float>(0, 0.5f)(random);
        for (size_t i = 0; i < n; ++i) to[i] = (1 - share) * from[i] + share * other[i];
      }
      for (size_t i = 0; i < n; ++i) to[i] += noise(random);
    }
    Normalise(to, n);
  }
}

void Encode(Data& data) {
  data.bytes.resize(data.rows.size());
  data.scales.resize(data.count);
  SignEncoder encoder(data.n);
  for (size_t row = 0; row < data.count; ++row) {
    data.scales[row] = QuantiseToBytes(&data.rows[row * data.n], data.n, &data.bytes[row * data.n]);
    encoder.Add(&data.rows[row * data.n]);
    if (encoder.rows() < kSignRows && row + 1 < data.count) continue;
    data.signs.insert(data.signs.end(), encoder.block().begin(), encoder.block().end());
    encoder.Clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: signs_bench rows.f16 queries.f16 dimensions rows queries copies|mixed\n");
    return 2;
  }
  Data data;
  data.n = static_cast<size_t>(std::atoi(argv[3]));
  data.count = static_cast<size_t>(std::atoi(argv[4]));
  std::vector<float> queries = ReadHalves(argv[2]);
  const size_t n = data.n, asked = std::min<size_t>(static_cast<size_t>(std::atoi(argv[5])),
                                                    queries.size() / n);
  Generate(ReadHalves(argv[1]), argv[6][0] == 'm', data);
  double from = ThreadSeconds();
  Encode(data);
  const auto rows = static_cast<double>(data.count);
  std::printf("%zu rows of %zu (%s), encoded in %.2f us each; %.1f bytes of signs each\n",
              data.count, n, argv[6], (ThreadSeconds() - from) * 1e6 / rows,
              static_cast<double>(data.signs.size()) / rows);
  std::vector<Target> targets;
  for (size_t q = 0; q < asked; ++q) {
    Normalise(&queries[q * n], n);
    Target target{&queries[q * n], std::vector<int8_t>(n), {}};
    target.scale = QuantiseToBytes(target.vector, n, target.bytes.data());
    targets.push_back(std::move(target));
  }
  for (const size_t k : {size_t{10}, size_t{20}, size_t{100}}) {
    Work by_bytes, by_signs;
    std::vector<double> bytes_times, signs_times;
    size_t found = 0, complete = 0;
    std::vector<std::vector<uint32_t>> exact;
    for (const Target& target : targets) {
      from = ThreadSeconds();
      exact.push_back(ScanBytes(data, target, k, by_bytes));
      bytes_times.push_back(ThreadSeconds() - from);
    }
    for (size_t q = 0; q < asked; ++q) {
      from = ThreadSeconds();
      const auto given = ScanSigns(data, targets[q], k, by_signs);
      signs_times.push_back(ThreadSeconds() - from);
      size_t here = 0;
      for (const uint32_t row : given)
        here += std::find(exact[q].begin(), exact[q].end(), row) != exact[q].end() ? 1 : 0;
      found += here;
      complete += here == k ? 1 : 0;
    }
    std::sort(signs_times.begin(), signs_times.end());
    const auto mean = [&](size_t sum) {
      return static_cast<double>(sum) / static_cast<double>(asked);
    };
    std::printf(
        "nearest %zu: bytes p50 %.2f ms; signs p50 %.2f ms, p95 %.2f, max %.2f; recall %.5f (%zu "
        "of %zu complete); first pass %.2f ms, kept %.0f, by bytes %.0f, by floats %.0f\n",
        k, Median(bytes_times) * 1e3, signs_times[asked / 2] * 1e3,
        signs_times[asked * 95 / 100] * 1e3, signs_times.back() * 1e3,
        static_cast<double>(found) / static_cast<double>(asked * k), complete, asked,
        by_signs.first_pass / static_cast<double>(asked) * 1e3, mean(by_signs.bits_survivors),
        mean(by_signs.by_bytes), mean(by_signs.by_floats));
  }
}
