// The checksum of each file of an index. A file that replaces another, for example in a restore
// that mixes two copies, can be valid in itself and still not be the one that the manifest means.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "segment/file.h"

namespace gannet::index {

class FileSums {
 public:
  FileSums() = default;
  // bytes: from bytes(), or empty; a truncated entry is dropped.
  static FileSums Parse(std::string_view bytes) {
    FileSums sums;
    for (ByteReader reader(bytes); !reader.done();) {
      const uint64_t number = reader.Varint(), sum = reader.Varint();
      if (reader.ok()) sums.sums_[number] = sum;
    }
    return sums;
  }
  // The encoding, per file, by ascending number: varint number, varint sum.
  std::string bytes() const {
    std::string out;
    for (const auto& [number, sum] : sums_) {
      PutVarint(out, number);
      PutVarint(out, sum);
    }
    return out;
  }

  void Add(uint64_t number, const segment::SegmentFile& file) { sums_[number] = file.sum(); }
  // Also true for a file without a known sum: it is new, and its commit stores its sum.
  bool Matches(uint64_t number, const segment::SegmentFile& file) const {
    const auto known = sums_.find(number);
    return known == sums_.end() || known->second == file.sum();
  }
  bool operator==(const FileSums&) const = default;

 private:
  std::map<uint64_t, uint64_t> sums_;  // by number of the file
};

}  // namespace gannet::index
