// Distances and quantisation compared with plain loops.
#include "vector/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "comparisons.h"
#include "vector/quantise.h"

namespace gannet::vector {
namespace {

using Random = std::mt19937_64;

std::vector<float> RandomVector(Random& random, size_t n) {
  std::normal_distribution<float> component;
  std::vector<float> v(n);
  const int kind = static_cast<int>(random() % 8);
  for (float& x : v) {
    x = component(random);
    if (kind == 0) x = x > 0 ? 1.0f : 0.0f;
    if (kind == 1) x *= 1e30f;
    if (kind == 2) x *= 1e-38f;
    if (kind == 3 && random() % 16 != 0) x = 0;
  }
  return v;
}

TEST(KernelsTest, EveryVariantOfDotAddsTheSameBits) {
  Random random(TestSeed());
  const KernelVariant* variants;
  const size_t count = KernelVariants(variants);
  for (Comparisons comparisons(4000); comparisons.Next();) {
    const size_t n = random() % 700;
    const std::vector<float> a = RandomVector(random, n), b = RandomVector(random, n);
    long double plain = 0, size = 0;
    for (size_t i = 0; i < n; ++i) {
      plain += static_cast<long double>(a[i]) * b[i];
      size += std::abs(static_cast<long double>(a[i]) * b[i]);
    }
    const double first = variants[0].dot(a.data(), b.data(), n);
    ASSERT_LE(std::abs(static_cast<long double>(first) - plain), size * 1e-13L) << "n " << n;
    for (size_t i = 1; i < count; ++i)
      ASSERT_EQ(variants[i].dot(a.data(), b.data(), n), first) << variants[i].name << " n " << n;
  }
}

TEST(KernelsTest, EveryVariantOfDotInt8IsThePlainSum) {
  Random random(TestSeed());
  const KernelVariant* variants;
  const size_t count = KernelVariants(variants);
  for (Comparisons comparisons(4000); comparisons.Next();) {
    const size_t n = random() % 64 == 0 ? kDimensionsMax : random() % 700;
    const bool extreme = random() % 8 == 0;
    std::vector<int8_t> a(n), b(n);
    int64_t plain = 0;
    for (size_t i = 0; i < n; ++i) {
      a[i] = static_cast<int8_t>(extreme ? -127 : static_cast<int>(random() % 255) - 127);
      b[i] = static_cast<int8_t>(extreme ? 127 : static_cast<int>(random() % 255) - 127);
      plain += int64_t{a[i]} * b[i];
    }
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(variants[i].dot_int8(a.data(), b.data(), n), plain)
          << variants[i].name << " n " << n;
  }
}

TEST(KernelsTest, EveryVariantOfHammingDistanceCountsBits) {
  Random random(TestSeed());
  const KernelVariant* variants;
  const size_t count = KernelVariants(variants);
  for (Comparisons comparisons(2000); comparisons.Next();) {
    const size_t words = random() % 60;
    std::vector<uint64_t> a(words), b(words);
    uint32_t plain = 0;
    for (size_t i = 0; i < words; ++i) {
      a[i] = random();
      b[i] = random();
      for (int bit = 0; bit < 64; ++bit) plain += ((a[i] ^ b[i]) >> bit & 1) != 0 ? 1 : 0;
    }
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(variants[i].hamming_distance(a.data(), b.data(), words), plain) << variants[i].name;
  }
}

TEST(QuantiseTest, TheCosineIsWithinTheBoundOfTheBytes) {
  Random random(TestSeed());
  for (Comparisons comparisons(4000); comparisons.Next();) {
    const size_t n = 1 + random() % 500;
    const std::vector<float> a = RandomVector(random, n);
    std::vector<float> b = RandomVector(random, n);
    if (random() % 4 == 0) b = a;
    std::vector<int8_t> p(n), q(n);
    const ByteScale of_a = QuantiseToBytes(a.data(), n, p.data()),
                    of_b = QuantiseToBytes(b.data(), n, q.data());
    const double lengths =
        std::sqrt(Dot(a.data(), a.data(), n)) * std::sqrt(Dot(b.data(), b.data(), n));
    const double cosine = lengths > 0 ? Dot(a.data(), b.data(), n) / lengths : 0;
    const double approximate =
        static_cast<double>(of_a.scale) * of_b.scale * DotInt8(p.data(), q.data(), n);
    ASSERT_LE(std::abs(cosine - approximate), CosineError(of_a, of_b)) << "n " << n;
    // The bound must also be tight enough to be useful.
    ASSERT_LE(of_a.error, 0.5 * of_a.scale * std::sqrt(static_cast<double>(n)) * 1.01 + 1e-8);
    for (const int8_t value : p) ASSERT_GE(value, -127);
  }
}

TEST(QuantiseTest, GreatestAndSmallestNumbers) {
  for (const float x :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), 1.0f}) {
    const std::vector<float> v(3, x);
    std::vector<int8_t> q(3);
    const ByteScale scale = QuantiseToBytes(v.data(), 3, q.data());
    EXPECT_EQ(q[0], 127);
    EXPECT_NEAR(scale.scale * 127, 1 / std::sqrt(3.0), 1e-6);
  }
  const std::vector<float> zero(5);
  std::vector<int8_t> q(5, 7);
  const ByteScale scale = QuantiseToBytes(zero.data(), 5, q.data());
  EXPECT_EQ(scale.scale, 0);
  EXPECT_EQ(scale.error, 0);
  EXPECT_EQ(q[4], 0);
}

TEST(QuantiseTest, BitsAreThePositiveComponents) {
  Random random(TestSeed());
  for (Comparisons comparisons(500); comparisons.Next();) {
    const size_t n = 1 + random() % 200;
    const std::vector<float> v = RandomVector(random, n);
    std::vector<uint64_t> bits(BitWords(n), ~uint64_t{0});
    QuantiseToBits(v.data(), n, bits.data());
    std::vector<float> back(n);
    ExpandBits(bits.data(), n, back.data());
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(back[i], v[i] > 0 ? 1.0f : 0.0f);
    for (size_t i = n; i < bits.size() * 64; ++i) ASSERT_EQ(bits[i / 64] >> (i % 64) & 1, 0u);
  }
}

}  // namespace
}  // namespace gannet::vector
