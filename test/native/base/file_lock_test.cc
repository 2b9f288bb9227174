#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "test_seed.h"

namespace gannet {
namespace {

TEST(FileLock, HasOneHolderOrManyReaders) {
  const auto path =
      std::filesystem::temp_directory_path() / ("gannet-lock-" + std::to_string(getpid()));
  const auto held = LockFile(path, LockKind::kHolder);
  ASSERT_TRUE(held.ok()) << held.status().message();
  for (const LockKind kind : {LockKind::kHolder, LockKind::kReader}) {
    const auto second = LockFile(path, kind);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), StatusCode::kLimit);
    EXPECT_NE(second.status().message().find("process " + std::to_string(getpid())),
              std::string::npos);
  }
  close(*held);
  const auto reader = LockFile(path, LockKind::kReader), other = LockFile(path, LockKind::kReader);
  ASSERT_TRUE(reader.ok() && other.ok());
  EXPECT_FALSE(LockFile(path, LockKind::kHolder).ok());
  close(*reader);
  close(*other);
  std::filesystem::remove(path);
}

TEST(FileLock, EndsWithItsProcess) {
  const auto path =
      std::filesystem::temp_directory_path() / ("gannet-lock-child-" + std::to_string(getpid()));
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = LockFile(path, LockKind::kHolder).ok();
    if (write(ready[1], ok ? "y" : "n", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_EQ(LockFile(path, LockKind::kHolder)
                .status()
                .message()
                .rfind("process " + std::to_string(child), 0),
            0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto held = LockFile(path, LockKind::kHolder);
  EXPECT_TRUE(held.ok());
  close(*held);
  close(ready[0]);
  close(ready[1]);
  std::filesystem::remove(path);
}

TEST(FileLock, NamesAFileThatCannotBeOpened) {
  const auto lock = LockFile("/nonexistent/lock", LockKind::kHolder);
  ASSERT_FALSE(lock.ok());
  EXPECT_NE(lock.status().message().find("/nonexistent/lock"), std::string::npos);
}

}  // namespace
}  // namespace gannet
