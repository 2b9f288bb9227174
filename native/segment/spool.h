// Bytes that are appended and then read as a whole: in memory while they are few, else in an
// unlinked temporary file.
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
  // folder: for the temporary file, if one is needed.
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What is appended to the buffer follows the bytes so far.
  std::string& buffer() { return buffer_; }
  uint64_t size() const { return written_ + buffer_.size(); }
  // Call it from time to time: what is appended between two calls is held in memory.
  void Settle() {
    if (buffer_.size() >= kHeldBytes) Flush();
  }
  // All bytes; valid until the next append and as long as the spool lives. Io, Full: the temporary
  // file could not be written.
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
