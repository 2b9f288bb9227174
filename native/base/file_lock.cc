#include "base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace gannet {
namespace {

constexpr size_t kHolderBytesMax = 500;

// A description of this process, for whoever finds the file locked.
std::string Holder() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  char since[32] = "";
  const time_t now = time(nullptr);
  tm parts{};
  if (gmtime_r(&now, &parts) != nullptr)
    strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return "process " + std::to_string(getpid()) + " on " + host + " since " + since + "\n";
}

int OpenLock(const std::string& path, LockKind kind) {
  if (kind != LockKind::kReader) return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 || errno != ENOENT) return descriptor;
  return open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}

}  // namespace

Result<int> LockFile(const std::string& path, LockKind kind) {
  const auto failed = [&](const char* action) {
    return Status(StatusCode::kIo, std::string(action) + " " + path + ": " + std::strerror(errno),
                  errno == EMFILE || errno == ENFILE ? "too_many_open_files" : "");
  };
  const int descriptor = OpenLock(path, kind);
  if (descriptor < 0) return failed("opening");
  struct flock lock {};
  lock.l_type = kind == LockKind::kReader ? F_RDLCK : F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
    const bool is_held = errno == EAGAIN || errno == EACCES;
    Status status = is_held ? Status::Ok() : failed("locking");
    if (is_held) {
      char text[kHolderBytesMax];
      const ssize_t size = kind == LockKind::kData ? 0 : pread(descriptor, text, sizeof(text), 0);
      std::string holder(text, size > 0 ? static_cast<size_t>(size) : 0);
      while (!holder.empty() && holder.back() == '\n') holder.pop_back();
      status = Status::Limit(holder.empty() ? "another process" : holder);
    }
    close(descriptor);
    return status;
  }
  if (kind == LockKind::kHolder) {
    const std::string holder = Holder();
    // The lock holds even if this write fails: a full disk must not prevent a start.
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, holder.data(), holder.size(), 0) < 0)
      errno = 0;
  }
  return descriptor;
}

}  // namespace gannet
