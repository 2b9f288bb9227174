// Makes every system call, and every allocation, fail, one after another: the operation must then
// fail with a clear status, leave the index as it was and readable, leave no files behind, and
// succeed when repeated without the fault.
//
// The linker redirects the calls (`--wrap` in CMakeLists.txt), those of LMDB included; an operator
// new in this file makes allocations fail. So the product needs no hook. GANNET_FAULTS=all tries
// every single allocation (minutes).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

#include "index/verify.h"
#include "indexing/graphs.h"
#include "indexing/write_path_model.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

enum class Fault { kNone, kNoSpace, kIo, kSync, kDescriptors, kMap, kMemory };

std::atomic<Fault> armed{Fault::kNone};
std::atomic<bool> from_there_on{false};  // not only once, but until it is disarmed
std::atomic<int64_t> calls_left{0};
std::atomic<bool> fired{false};

bool Fires(Fault fault) {
  if (armed.load(std::memory_order_relaxed) != fault) return false;
  const int64_t left = calls_left.fetch_sub(1);
  if (left != 1 && (left > 1 || !from_there_on)) return false;
  fired = true;
  return true;
}

// 0, or the error of the fault.
int WriteError() { return Fires(Fault::kNoSpace) ? ENOSPC : Fires(Fault::kIo) ? EIO : 0; }

template <typename Result>
Result Failed(int error) {
  errno = error;
  return static_cast<Result>(-1);
}

}  // namespace
}  // namespace gannet::indexing

using gannet::indexing::Failed;
using gannet::indexing::Fault;
using gannet::indexing::Fires;
using gannet::indexing::WriteError;

extern "C" {
int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int descriptor, const void* bytes, size_t size);
ssize_t __real_pwrite(int descriptor, const void* bytes, size_t size, off_t offset);
ssize_t __real_pwritev(int descriptor, const iovec* parts, int count, off_t offset);
int __real_fsync(int descriptor);
int __real_fdatasync(int descriptor);
void* __real_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return Fires(Fault::kDescriptors) ? Failed<int>(EMFILE) : __real_open(path, flags, mode);
}
ssize_t __wrap_write(int descriptor, const void* bytes, size_t size) {
  const int error = WriteError();
  return error != 0 ? Failed<ssize_t>(error) : __real_write(descriptor, bytes, size);
}
ssize_t __wrap_pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const int error = WriteError();
  return error != 0 ? Failed<ssize_t>(error) : __real_pwrite(descriptor, bytes, size, offset);
}
ssize_t __wrap_pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
  const int error = WriteError();
  return error != 0 ? Failed<ssize_t>(error) : __real_pwritev(descriptor, parts, count, offset);
}
int __wrap_fsync(int descriptor) {
  return Fires(Fault::kSync) ? Failed<int>(EIO) : __real_fsync(descriptor);
}
int __wrap_fdatasync(int descriptor) {
  return Fires(Fault::kSync) ? Failed<int>(EIO) : __real_fdatasync(descriptor);
}
void* __wrap_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (descriptor >= 0 && Fires(Fault::kMap)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(at, size, protection, flags, descriptor, offset);
}
}

void* operator new(size_t size) {
  if (Fires(Fault::kMemory)) throw std::bad_alloc();
  if (void* bytes = std::malloc(size == 0 ? 1 : size)) return bytes;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Fires(Fault::kMemory) ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, size_t) noexcept { std::free(bytes); }
void operator delete(void* bytes, const std::nothrow_t&) noexcept { std::free(bytes); }

namespace gannet::indexing {
namespace {

constexpr const char* kBefore = R"({"filterableAttributes":["color"],"sortableAttributes":["price"],
    "embedders":{"e":{"dimensions":4}},"embedderStates":{"e":{"computes":false}}})";

// Work on an open index, run as in the pools of the addon: an exception becomes a status.
using Work = std::function<Status(index::Index&)>;

Status Attempt(index::Index& index, const Work& work) {
  try {
    return work(index);
  } catch (const std::bad_alloc&) {
    return Status::Internal("out of memory");
  }
}

class FaultTest : public ::testing::TestWithParam<std::tuple<Fault, bool>> {
 protected:
  void SetUp() override {
    random_.seed(TestSeed() + 17);
    const auto index = *index::Index::Open(folder_.path());
    ASSERT_TRUE(RunSteps(*index, SettingsStep(kBefore), {}).ok());
    ASSERT_TRUE(RunSteps(*index, DocumentsStep(0), {Payload(0, 40)}).ok());
    ASSERT_TRUE(RunSteps(*index, DocumentsStep(0), {Payload(30, 30)}).ok());
    new_documents_ = Payload(50, 40);
  }
  std::string Payload(int first, int count) {
    std::string out = "[";
    for (int i = first; i < first + count; ++i) {
      const auto number = [&](unsigned end) { return std::to_string(random_() % end); };
      out += (i > first ? "," : "") + std::string("{\"id\":") + std::to_string(i) +
             ",\"title\":\"some word" + number(50) + " of " + number(9) + "\",\"color\":\"c" +
             number(5) + "\",\"price\":" + number(99) + ",\"_vectors\":{\"e\":[1," + number(9) +
             "," + number(9) + ",0.5]}}";
    }
    return out + "]";
  }
  static std::set<std::string> Files(const std::string& dir) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir + "/segments"))
      names.insert(entry.path().filename());
    return names;
  }

  static constexpr int64_t kLastCalls = 150;
  // Number of calls that could fail while `work` runs to its end.
  int64_t CountCalls(const Work& work) {
    constexpr int64_t kMany = int64_t{1} << 40;
    TestFolder folder;
    std::filesystem::copy(folder_.path(), folder.path(), std::filesystem::copy_options::recursive);
    const auto index = *index::Index::Open(folder.path());
    calls_left = kMany;
    armed = std::get<0>(GetParam());
    const Status status = Attempt(*index, work);
    armed = Fault::kNone;
    EXPECT_TRUE(status.ok()) << status.message();
    return kMany - calls_left;
  }

  // Makes each call fail in turn while `work` runs, until it runs to its end without a fault.
  void FailEach(const Work& work) {
    const auto [fault, persistent] = GetParam();
    const bool every = fault != Fault::kMemory || std::getenv("GANNET_FAULTS") != nullptr;
    Content expected;
    {
      TestFolder folder;
      std::filesystem::copy(folder_.path(), folder.path(),
                            std::filesystem::copy_options::recursive);
      const auto index = *index::Index::Open(folder.path());
      const Status status = work(*index);
      ASSERT_TRUE(status.ok()) << status.message();
      expected = Observe(*index->snapshot());
    }
    int failures = 0;
    // If there are many calls, tries only some, and all of the last ones, when most is at stake.
    const int64_t last_ones = every ? 0 : CountCalls(work) - kLastCalls;
    const auto next = [&](int64_t call) {
      return call + 1 > last_ones ? call + 1 : std::min(call + 1 + call / 4, last_ones);
    };
    for (int64_t call = 1;; call = next(call)) {
      SCOPED_TRACE("call " + std::to_string(call));
      TestFolder folder;
      std::filesystem::copy(folder_.path(), folder.path(),
                            std::filesystem::copy_options::recursive);
      auto index = *index::Index::Open(folder.path());
      const auto before = Observe(*index->snapshot());
      const auto files = Files(folder.path());

      fired = false;
      calls_left = call;
      from_there_on = persistent;
      armed = fault;
      const Status status = Attempt(*index, work);
      armed = Fault::kNone;

      if (!fired) {
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_GT(failures, 0) << "no call was met";
        break;
      }
      if (!status.ok()) {
        ++failures;
        ExpectCode(status);
        ExpectSame(before, Observe(*index->snapshot()));
        EXPECT_EQ(Files(folder.path()), files) << "files are left behind";
        const Status again = Attempt(*index, work);
        EXPECT_TRUE(again.ok()) << "once the fault is gone: " << again.message();
      }
      ExpectSame(expected, Observe(*index->snapshot()));
      index.reset();
      const auto report = index::VerifyIndex(folder.path());
      for (const auto& [file, structure, message] : report.faults)
        ADD_FAILURE() << file << ' ' << structure << ' ' << message;
      EXPECT_EQ(report.unused, std::vector<std::string>());
      index = *index::Index::Open(folder.path());
      ExpectSame(expected, Observe(*index->snapshot()));
      if (HasFailure()) return;
    }
  }

  static void ExpectCode(const Status& status) {
    EXPECT_GT(status.message().size(), 10u);
    switch (std::get<0>(GetParam())) {
      case Fault::kNoSpace: EXPECT_EQ(status.code(), StatusCode::kFull) << status.message(); break;
      case Fault::kDescriptors:
        EXPECT_EQ(status.detail(), "too_many_open_files") << status.message();
        break;
      case Fault::kMemory:
        EXPECT_EQ(status.code(), StatusCode::kInternal) << status.message();
        break;
      default: EXPECT_EQ(status.code(), StatusCode::kIo) << status.message();
    }
  }

  TestFolder folder_;
  std::mt19937_64 random_;
  std::string new_documents_;
};

Status StepsOf(index::Index& index, const std::string& steps,
               const std::vector<std::string>& payloads) {
  JobOptions options;
  options.threads = 2;
  const auto outcome = RunSteps(index, steps, payloads, options);
  if (!outcome.ok()) return outcome.status();
  return outcome->find("\"error\"") == std::string::npos ? Status::Ok()
                                                         : Status::NotFound(*outcome);
}

TEST_P(FaultTest, OfABatchOfDocuments) {
  FailEach([&](index::Index& index) {
    return StepsOf(index, DocumentsStep(0) + R"(,{"task":1,"kind":"deleteIds","ids":["3","4"]})",
                   {new_documents_});
  });
}

TEST_P(FaultTest, OfABatchInSeveralSegments) {
  std::string payload = Payload(100, 600);
  FailEach([&](index::Index& index) {
    JobOptions options;
    options.threads = 2;
    options.memory_bytes = 1;
    return RunSteps(index, DocumentsStep(0), {payload}, options).status();
  });
}

TEST_P(FaultTest, OfNewColumns) {
  if (std::get<0>(GetParam()) == Fault::kMap) GTEST_SKIP() << "the same as for documents";
  FailEach([&](index::Index& index) {
    return StepsOf(index,
                   SettingsStep(R"({"filterableAttributes":["title"],"sortableAttributes":["price"],
        "embedders":{"e":{"dimensions":4}},"embedderStates":{"e":{"computes":false}}})"),
                   {});
  });
}

TEST_P(FaultTest, OfWordsThatAreReadAgain) {
  FailEach([&](index::Index& index) {
    return StepsOf(
        index,
        SettingsStep(R"({"searchableAttributes":["title"],"filterableAttributes":["color"]})"), {});
  });
}

TEST_P(FaultTest, OfAMerge) {
  FailEach([&](index::Index& index) { return MergeToOne(index); });
}

TEST_P(FaultTest, OfGraphs) {
  FailEach([&](index::Index& index) {
    const std::atomic<bool> cancelled{false};
    const GraphOptions options{.threads = 1, .rows_min = 10, .parameters = {}};
    const auto planned = PlanGraphs(*index.snapshot(), options.rows_min);
    return planned ? BuildGraphs(index, *planned, options, cancelled) : Status::Ok();
  });
}

TEST_P(FaultTest, OfOpening) {
  const auto [fault, persistent] = GetParam();
  const auto content = Observe(*(*index::Index::Open(folder_.path()))->snapshot());
  for (int64_t call = 1;; call += fault == Fault::kMemory ? 1 + call / 4 : 1) {
    SCOPED_TRACE("call " + std::to_string(call));
    fired = false;
    calls_left = call;
    from_there_on = persistent;
    armed = fault;
    Status status;
    try {
      const auto opened = index::Index::Open(folder_.path());
      status = opened.status();
    } catch (const std::bad_alloc&) {
      status = Status::Internal("out of memory");
    }
    armed = Fault::kNone;
    if (fired && !status.ok()) ExpectCode(status);
    const auto opened = index::Index::Open(folder_.path());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    ExpectSame(content, Observe(*(*opened)->snapshot()));
    if (!fired || HasFailure()) break;
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<Fault, bool>>& info) {
  const char* names[] = {"", "NoSpace", "Io", "Sync", "Descriptors", "Map", "Memory"};
  return std::string(names[static_cast<int>(std::get<0>(info.param))]) +
         (std::get<1>(info.param) ? "FromThereOn" : "Once");
}

INSTANTIATE_TEST_SUITE_P(Each, FaultTest,
                         ::testing::Combine(::testing::Values(Fault::kNoSpace, Fault::kIo,
                                                              Fault::kSync, Fault::kDescriptors,
                                                              Fault::kMap, Fault::kMemory),
                                            ::testing::Bool()),
                         NameOf);

}  // namespace
}  // namespace gannet::indexing
