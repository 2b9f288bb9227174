// Reading and writing of little-endian numbers and variable-length integers.
//
// Writers append to a std::string; readers take a cursor over borrowed bytes and never read past
// the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gannet {

template <typename T>
inline void PutFixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <typename T>
inline T LoadFixed(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// The whole elements of `bytes`, borrowed; a partial element at the end is left out. REQUIRES:
// aligned for T.
template <typename T>
inline std::span<const T> AsSpan(std::string_view bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
inline std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// LEB128: 7 bits per byte, low bits first, at most 10 bytes.
inline void PutVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

inline void PutBytes(std::string& out, std::string_view bytes) {
  PutVarint(out, bytes.size());
  out.append(bytes);
}

// Cursor over borrowed bytes. After a read past the end every read returns 0 and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool done() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const char* at() const { return at_; }

  uint64_t Varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*at_++);
    return LongVarint();
  }

  template <typename T>
  T Fixed() {
    if (left() < sizeof(T)) return static_cast<T>(Fail());
    T value = LoadFixed<T>(at_);
    at_ += sizeof(T);
    return value;
  }

  std::string_view Bytes(size_t count) {
    if (left() < count) {
      Fail();
      return {};
    }
    std::string_view bytes(at_, count);
    at_ += count;
    return bytes;
  }

  std::string_view LengthPrefixed() { return Bytes(Varint()); }

 private:
  uint64_t LongVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  uint64_t Fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

// Appends the big-endian form, so that byte order is numeric order.
inline void PutBigEndian32(std::string& out, uint32_t value) {
  const char bytes[4] = {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                         static_cast<char>(value >> 8), static_cast<char>(value)};
  out.append(bytes, 4);
}

}  // namespace gannet
