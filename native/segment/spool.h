// Bytes that are appended and read again as a whole: in memory while they are few, else in a
// temporary file without a name.
//
// Threads: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace gannet::segment {

class Spool {
 public:
  // folder: where the temporary file lies, once there is one.
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What is appended to it comes next.
  std::string& buffer() { return buffer_; }
  uint64_t size() const { return written_ + buffer_.size(); }
  // To be called now and then: what is appended in between is held in memory.
  void Settle() {
    if (buffer_.size() >= kHeldBytes) Flush();
  }
  // All bytes, as long as the spool lives and nothing is appended. Io, Full: the temporary file
  // could not be written.
  Result<std::string_view> Bytes();

 private:
  static constexpr size_t kHeldBytes = 4 << 20;  // small segments never touch the disk

  void Flush();

  const std::string folder_;
  std::string buffer_;
  uint64_t written_ = 0;
  int descriptor_ = -1;
  void* map_ = nullptr;
  Status status_;
};

}  // namespace gannet::segment
