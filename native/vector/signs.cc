#include "vector/signs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>

namespace gannet::vector {
namespace {

// Sums of the table are numbers of this many steps: two of them fit one byte.
constexpr float kSteps = 127;
// Rows without length are near to everything, rows that fill the last block to nothing.
constexpr float kNearToAll = 8, kNearToNothing = -8;

void Hadamard(float* v, size_t n) {
  for (size_t step = 1; step < n; step *= 2) {
    for (size_t i = 0; i < n; i += 2 * step) {
      for (size_t j = i; j < i + step; ++j) {
        const float a = v[j], b = v[j + step];
        v[j] = a + b;
        v[j + step] = a - b;
      }
    }
  }
}

// Divides a vector by its length. False: it has none.
bool Normalise(const float* v, size_t n, float* out) {
  const double length = std::sqrt(Dot(v, v, n));
  if (!(length > 0)) return false;
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(static_cast<double>(v[i]) / length);
  return true;
}

// The rotation that was used last, which mostly is the next one as well.
std::shared_ptr<const Rotation> RotationOf(size_t n) {
  static std::mutex mutex;
  static std::shared_ptr<const Rotation> last;  // guarded by the mutex
  const std::lock_guard lock(mutex);
  if (last == nullptr || last->size() != n) last = std::make_shared<const Rotation>(n);
  return last;
}

}  // namespace

Rotation::Rotation(size_t n) : n_(n), transformed_(std::bit_floor(n)) {
  std::mt19937_64 random(n);
  const float scale = 1 / std::sqrt(static_cast<float>(transformed_));
  for (size_t round = 0; round < kRounds; ++round) {
    signs_[round].resize(n);
    for (size_t i = 0; i < n; ++i) {
      const bool scaled = round % 2 == 0 ? i < transformed_ : i >= n - transformed_;
      signs_[round][i] = ((random() & 1) != 0 ? 1.0f : -1.0f) * (scaled ? scale : 1.0f);
    }
  }
}

void Rotation::Apply(float* v) const {
  for (size_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < n_; ++i) v[i] *= signs_[round][i];
    Hadamard(round % 2 == 0 ? v : v + (n_ - transformed_), transformed_);
  }
}

void SignEncoder::Clear() {
  std::fill(block_.begin(), block_.end(), uint8_t{0});
  const std::vector<float> errors(kSignRows, kNearToNothing);
  std::memcpy(block_.data() + block_.size() - kSignRows * sizeof(float), errors.data(),
              kSignRows * sizeof(float));
  rows_ = 0;
}

void SignEncoder::Add(const float* v) {
  const size_t n = rotation_.size(), row = rows_++;
  float factor = 0, error = kNearToAll;
  if (Normalise(v, n, row_.data())) {
    rotation_.Apply(row_.data());
    uint8_t* bytes = block_.data() + row % 32 * 2 + row / 32;
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      sum += static_cast<double>(std::abs(row_[i]));
      bytes[i / 8 * kSignRows] |= static_cast<uint8_t>((row_[i] > 0) << (i % 8));
    }
    const double components = static_cast<double>(n),
                 cosine = std::min(1.0, sum / std::sqrt(components));
    factor = static_cast<float>(1 / sum);
    error = static_cast<float>(
        kSignDeviations * std::sqrt((1 - cosine) * (1 + cosine) / std::max(1.0, components - 1)) /
        cosine);
  }
  uint8_t* factors = block_.data() + kSignRows * SignBytes(n);
  std::memcpy(factors + row * sizeof(float), &factor, sizeof(float));
  std::memcpy(factors + (kSignRows + row) * sizeof(float), &error, sizeof(float));
}

SignQuery::SignQuery(std::span<const float> v) : bytes_(SignBytes(v.size())) {
  std::vector<float> rotated(bytes_ * 8);
  if (Normalise(v.data(), v.size(), rotated.data())) RotationOf(v.size())->Apply(rotated.data());
  const size_t groups = bytes_ * 2;
  float greatest = 0;
  for (size_t g = 0; g < groups; ++g) {
    float sum = 0;
    for (size_t i = 0; i < 4; ++i) sum += std::abs(rotated[g * 4 + i]);
    greatest = std::max(greatest, sum);
  }
  unit_ = greatest > 0 ? 2 * greatest / kSteps : 1;
  middle_ = kSteps / 2 * static_cast<float>(groups);
  table_.resize(groups * 16);
  for (size_t entry = 0; entry < table_.size(); ++entry) {
    float sum = 0;
    for (size_t i = 0; i < 4; ++i) {
      const float component = rotated[entry / 16 * 4 + i];
      sum += (entry >> i & 1) != 0 ? component : -component;
    }
    table_[entry] = static_cast<uint8_t>(std::clamp((sum + greatest) / unit_ + 0.5f, 0.0f, kSteps));
  }
}

uint64_t SignQuery::AtLeast(const uint8_t* block, float floor, float* estimates) const {
  return SignsAtLeast({table_.data(), bytes_, unit_, middle_}, block, floor, estimates);
}

}  // namespace gannet::vector
