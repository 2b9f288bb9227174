// Estimates from the signs of vectors compared with plain loops.
#include "vector/signs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "comparisons.h"

namespace gannet::vector {
namespace {

using Random = std::mt19937_64;

std::vector<float> NormalVector(Random& random, size_t n) {
  std::normal_distribution<float> component;
  std::vector<float> v(n);
  const float length = std::exp(component(random) * 4);
  for (float& x : v) x = component(random) * length;
  return v;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const size_t n = a.size();
  return Dot(a.data(), b.data(), n) /
         std::sqrt(Dot(a.data(), a.data(), n) * Dot(b.data(), b.data(), n));
}

TEST(SignsTest, ARotationKeepsProducts) {
  Random random(TestSeed());
  for (Comparisons comparisons(500); comparisons.Next();) {
    const size_t n = 1 + random() % 700;
    std::vector<float> a = NormalVector(random, n), b = NormalVector(random, n);
    const double before = Cosine(a, b);
    const Rotation rotation(n);
    rotation.Apply(a.data());
    rotation.Apply(b.data());
    ASSERT_NEAR(Cosine(a, b), before, 1e-5) << n;
  }
}

TEST(SignsTest, EveryVariantComputesTheSameBits) {
  Random random(TestSeed());
  const KernelVariant* variants;
  const size_t count = KernelVariants(variants);
  for (Comparisons comparisons(1000); comparisons.Next();) {
    const size_t bytes = random() % 64 == 0 ? kDimensionsMax / 8 : 1 + random() % 600;
    std::vector<uint8_t> sums(bytes * 32), block(kSignRows * (bytes + 8));
    const bool greatest = random() % 8 == 0;
    for (uint8_t& sum : sums) sum = static_cast<uint8_t>(greatest ? 127 : random() % 128);
    for (uint8_t& byte : block) byte = static_cast<uint8_t>(random());
    std::vector<float> factors(2 * kSignRows);
    for (float& factor : factors) factor = static_cast<float>(random() % 1000) / 1e4f;
    std::memcpy(block.data() + kSignRows * bytes, factors.data(), factors.size() * sizeof(float));
    const SignTable table{sums.data(), bytes, 0.01f, 63.5f * static_cast<float>(bytes * 2)};
    const float floor = static_cast<float>(random() % 1000) / 1e4f;
    float first[kSignRows];
    const uint64_t passed = variants[0].signs_at_least(table, block.data(), floor, first);
    for (size_t row = 0; row < kSignRows; ++row) {
      uint32_t sum = 0;
      for (size_t b = 0; b < bytes; ++b) {
        const uint8_t signs = block[b * kSignRows + row % 32 * 2 + row / 32];
        sum += uint32_t{sums[b * 32 + (signs & 15)]} + sums[b * 32 + 16 + (signs >> 4)];
      }
      const float estimate = (static_cast<float>(sum) - table.middle) * table.unit * factors[row];
      ASSERT_EQ(first[row], estimate) << bytes;
      ASSERT_EQ((passed >> row & 1) != 0, estimate >= floor - factors[kSignRows + row]);
    }
    for (size_t i = 1; i < count; ++i) {
      float estimates[kSignRows];
      ASSERT_EQ(variants[i].signs_at_least(table, block.data(), floor, estimates), passed)
          << variants[i].name << " " << bytes;
      ASSERT_EQ(std::memcmp(estimates, first, sizeof(first)), 0) << variants[i].name;
    }
  }
}

TEST(SignsTest, EstimatesHaveTheDeviationThatIsStored) {
  Random random(TestSeed());
  size_t rows = 0, beyond = 0;
  double deviations = 0, squares = 0;
  for (Comparisons comparisons(300); comparisons.Next();) {
    static constexpr size_t kSizes[] = {64, 100, 128, 384, 768, 1000};
    const size_t n = kSizes[random() % std::size(kSizes)];
    const std::vector<float> query = NormalVector(random, n);
    SignEncoder encoder(n);
    std::vector<std::vector<float>> stored;
    for (size_t row = 0; row < 1 + random() % kSignRows; ++row) {
      std::vector<float> v = NormalVector(random, n);
      // Some are near.
      const float share = static_cast<float>(random() % 100) / 30;
      for (size_t i = 0; i < n; ++i) v[i] += share * query[i];
      encoder.Add(v.data());
      stored.push_back(std::move(v));
    }
    float estimates[kSignRows];
    const uint8_t* block = encoder.block().data();
    const uint64_t all = SignQuery(query).AtLeast(block, -2, estimates);
    ASSERT_EQ(all, ~uint64_t{0} >> (kSignRows - stored.size())) << "only rows that were added";
    for (size_t row = 0; row < stored.size(); ++row) {
      float error;
      std::memcpy(&error, block + kSignRows * (SignBytes(n) + 4) + row * 4, 4);
      const double off = (static_cast<double>(estimates[row]) - Cosine(query, stored[row])) /
                         static_cast<double>(error) * kSignDeviations;
      deviations += off;
      squares += off * off;
      beyond += std::abs(off) > kSignDeviations ? 1 : 0;
      ++rows;
    }
  }
  const auto count = static_cast<double>(rows);
  EXPECT_LT(std::abs(deviations / count), 6 / std::sqrt(count));
  EXPECT_LT(std::sqrt(squares / count), 1.1);
  EXPECT_LT(static_cast<double>(beyond), 10 + count * 0.003);
}

TEST(SignsTest, RowsAndQueriesWithoutLengthPass) {
  constexpr size_t kSize = 70;
  SignEncoder encoder(kSize);
  Random random(TestSeed());
  const std::vector<float> zero(kSize), some = NormalVector(random, kSize);
  encoder.Add(some.data());
  encoder.Add(zero.data());
  float estimates[kSignRows];
  EXPECT_EQ(SignQuery(some).AtLeast(encoder.block().data(), 1, estimates), 3u);
  EXPECT_EQ(SignQuery(zero).AtLeast(encoder.block().data(), 1, estimates) & 2, 2u);
  encoder.Clear();
  EXPECT_EQ(SignQuery(some).AtLeast(encoder.block().data(), -1, estimates), 0u);
}

}  // namespace
}  // namespace gannet::vector
