#include "segment/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "segment/file.h"

namespace gannet::segment {

Spool::~Spool() {
  if (map_ != nullptr) munmap(map_, written_);
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::string_view> Spool::Bytes() {
  if (descriptor_ < 0 && status_.ok()) return std::string_view(buffer_);
  Flush();
  GANNET_RETURN_IF_ERROR(status_);
  void* map = mmap(nullptr, written_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (map == MAP_FAILED) return IoStatus("mapping a temporary file", errno);
  map_ = map;
  return std::string_view(static_cast<const char*>(map), written_);
}

void Spool::Flush() {
  if (descriptor_ < 0 && status_.ok()) {
    std::string path = folder_ + "/spool-XXXXXX";
    descriptor_ = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
      status_ = IoStatus("creating a temporary file", errno);
    } else {
      unlink(path.c_str());
    }
  }
  for (size_t at = 0; at < buffer_.size() && status_.ok();) {
    const ssize_t count = write(descriptor_, buffer_.data() + at, buffer_.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      status_ = IoStatus("writing a temporary file", errno);
    } else {
      at += static_cast<size_t>(count);
    }
  }
  written_ += buffer_.size();
  buffer_.clear();
}

}  // namespace gannet::segment
