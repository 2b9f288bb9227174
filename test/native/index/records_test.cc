// Records: what one machine commits, another applies, and then has the same bytes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "bitmap/random_docids.h"
#include "index/delta.h"
#include "index/keys.h"
#include "indexing/random_history.h"
#include "store/env.h"

namespace gannet::index {
namespace {

namespace fs = std::filesystem;
using indexing::ExpectIndexHolds;
using indexing::History;
using indexing::Model;
using indexing::RunSteps;
using indexing::SettingsStep;
using indexing::TestFolder;

constexpr const char* kLog = "a log";

struct LoggedRecord {
  std::string delta;
  std::vector<std::pair<uint64_t, std::string>> files;  // number, bytes
};

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A log of one index that accepts every record, and applies it when requested.
class ListLog : public CommitLog {
 public:
  enum class Mode { kApply, kRefuse, kKeepWithoutApplying };

  Outcome Append(const std::string& dir, const std::vector<uint64_t>& files,
                 const std::function<Result<std::string>()>& prepare) override {
    auto delta = prepare();
    if (!delta.ok()) return {End::kNotWritten, delta.status()};
    if (mode == Mode::kRefuse) return {End::kNotWritten, Status::Cancelled("not the leader")};
    LoggedRecord record{*delta, {}};
    for (const uint64_t number : files) {
      const std::string path = dir + "/segments/" + std::to_string(number);
      if (fs::exists(path)) record.files.emplace_back(number, BytesOf(path));
    }
    records.push_back(std::move(record));
    if (mode == Mode::kKeepWithoutApplying) return {End::kUnknown, Status::Cancelled("killed")};
    const auto applied = index->ApplyRecord(kLog, records.size(), records.back().delta);
    if (!applied.ok()) return {End::kUnknown, applied.status()};
    EXPECT_TRUE(*applied);
    return {End::kApplied, Status::Ok()};
  }
  uint64_t first_number() const override { return first; }
  bool leads() const override { return true; }

  Mode mode = Mode::kApply;
  uint64_t first = 0;
  Index* index = nullptr;
  std::vector<LoggedRecord> records;
};

std::map<std::string, std::string> DatabaseOf(const std::string& dir) {
  std::map<std::string, std::string> values;
  const TestFolder copy;
  fs::copy_file(dir + "/index.mdb", copy.path() + "/index.mdb");
  const auto env = store::Environment::OpenReadOnly(copy.path() + "/index.mdb");
  EXPECT_TRUE(env.ok());
  const auto txn = (*env)->Read();
  for (const char* name : {"main", "external_ids"}) {
    const auto table = txn->FindTable(name);
    EXPECT_TRUE(table);
    store::Cursor cursor(*txn, *table);
    for (bool found = cursor.First(); found; found = cursor.Next())
      values[std::string(name) + "/" + std::string(cursor.key())] = cursor.value().value();
  }
  return values;
}

class RecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed() + 46);
    Index::SetLog(log_);
    OpenLeader();
    OpenFollower();
  }
  void TearDown() override { Index::SetLog(nullptr); }

  void OpenLeader() {
    leader_.reset();
    leader_ = *Index::Open(leader_folder_.path());
    log_->index = leader_.get();
  }
  void OpenFollower() {
    follower_.reset();
    follower_ = *Index::Open(follower_folder_.path());
  }
  uint64_t Below(uint64_t end) { return random_() % end; }
  void CopyFiles(const LoggedRecord& record) {
    for (const auto& [number, bytes] : record.files)
      std::ofstream(follower_->FilePath(number), std::ios::binary) << bytes;
  }
  // Applies everything that the follower lacks, with a stop between any two steps.
  void Follow(bool with_stops) {
    for (; applied_ < log_->records.size(); ++applied_) {
      const LoggedRecord& record = log_->records[applied_];
      if (with_stops && Below(4) == 0) OpenFollower();
      CopyFiles(record);
      if (with_stops && Below(4) == 0) {
        OpenFollower();
        follower_->Sweep();
        CopyFiles(record);
      }
      const auto applied = follower_->ApplyRecord(kLog, applied_ + 1, record.delta);
      ASSERT_TRUE(applied.ok()) << applied.status().message();
      ASSERT_TRUE(*applied);
      if (with_stops && Below(4) == 0) OpenFollower();
      // Applied again, as after a stop before the progress was saved elsewhere.
      const auto again = follower_->ApplyRecord(kLog, applied_ + 1, record.delta);
      ASSERT_TRUE(again.ok());
      ASSERT_FALSE(*again);
    }
  }
  void ExpectSameBytes() {
    EXPECT_EQ(DatabaseOf(leader_folder_.path()), DatabaseOf(follower_folder_.path()));
    for (const auto& segment : leader_->snapshot()->segments) {
      const auto& [id, base, columns, graphs] = segment->files;
      for (const uint64_t number : {base, columns, graphs}) {
        if (number != 0) {
          EXPECT_EQ(BytesOf(leader_->FilePath(number)), BytesOf(follower_->FilePath(number)));
        }
      }
    }
  }

  const TestFolder leader_folder_, follower_folder_;
  std::mt19937_64 random_;
  const std::shared_ptr<ListLog> log_ = std::make_shared<ListLog>();
  std::shared_ptr<Index> leader_, follower_;
  size_t applied_ = 0;
  Model model_;
};

constexpr const char* kSomeSettings[] = {
    "{}",
    R"({"filterableAttributes":["color","meta","tags"],"sortableAttributes":["price","title"]})",
    R"({"filterableAttributes":["color"],"stopWords":["the","red"]})",
    R"({"searchableAttributes":["title","meta"],"sortableAttributes":["price"]})",
};

TEST_F(RecordsTest, AFollowerHoldsTheSameBytesAfterEachRecord) {
  History history(leader_, model_, random_);
  // Some steps make no record.
  for (int step = 0; step < 40 || log_->records.size() <= 20; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    switch (Below(6)) {
      case 0:
        ASSERT_TRUE(RunSteps(*leader_, SettingsStep(kSomeSettings[Below(4)]), {}).ok());
        break;
      case 1: indexing::MergeAll(*leader_); break;
      case 2: ASSERT_EQ(indexing::MergeToOne(*leader_).message(), ""); break;
      case 3: OpenLeader(); break;
      default: history.RunBatch(); break;
    }
    Follow(true);
    ExpectSameBytes();
    ExpectIndexHolds(*leader_, model_);
    ExpectIndexHolds(*follower_, model_);
    if (HasFailure()) return;
  }
  // The follower opened again reads the same from its disk.
  OpenFollower();
  ExpectIndexHolds(*follower_, model_);
}

TEST_F(RecordsTest, ACommitThatTheLogRefusesLeavesNothing) {
  History history(leader_, model_, random_);
  while (leader_->snapshot()->segments.empty()) history.RunBatch();
  const auto database = DatabaseOf(leader_folder_.path());
  const auto snapshot = leader_->snapshot();
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(leader_folder_.path() + "/segments"))
      names.insert(entry.path().filename());
    return names;
  };
  const auto before = files();
  log_->mode = ListLog::Mode::kRefuse;
  const auto refused = RunSteps(*leader_, indexing::DocumentsStep(0), {R"([{"id":"9"}])"});
  EXPECT_EQ(refused.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(indexing::MergeToOne(*leader_).code(), StatusCode::kCancelled);
  EXPECT_EQ(leader_->snapshot(), snapshot);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(DatabaseOf(leader_folder_.path()), database);
  log_->mode = ListLog::Mode::kApply;
  history.RunBatch();
  Follow(false);
  ExpectIndexHolds(*follower_, model_);
}

TEST_F(RecordsTest, ALeaderThatWasKilledAfterTheAppendAppliesItsRecordLater) {
  History history(leader_, model_, random_);
  history.RunBatch();
  log_->mode = ListLog::Mode::kKeepWithoutApplying;
  const std::string payload = R"([{"id":"900","title":"kept"}])";
  EXPECT_FALSE(RunSteps(*leader_, indexing::DocumentsStep(0), {payload}).ok());
  OpenLeader();
  const auto applied = leader_->ApplyRecord(kLog, log_->records.size(), log_->records.back().delta);
  ASSERT_TRUE(applied.ok()) << applied.status().message();
  EXPECT_TRUE(*applied);
  Follow(false);
  ExpectSameBytes();
  EXPECT_EQ(follower_->snapshot()->documents.size(), model_.documents.size() + 1);
}

TEST_F(RecordsTest, ABatchThatBeganBeforeAnotherLeadersBatchIsCancelled) {
  History history(leader_, model_, random_);
  history.RunBatch();
  Follow(false);
  const auto batch = [&](uint32_t uid, Index& index) {
    const std::string job = "{\"batchUid\":" + std::to_string(uid) +
                            ",\"taskUids\":[1],\"now\":\"\",\"steps\":[" +
                            indexing::DocumentsStep(0) + "]}";
    const std::string_view payloads[] = {R"([{"id":"901"}])"};
    indexing::Progress progress;
    return indexing::RunBatch(index, *indexing::BatchJob::Parse(job), payloads, {},
                              indexing::FilterByList, progress);
  };
  // While the batch waits for its position in the log, a record of another leader is applied.
  class LateLog : public CommitLog {
   public:
    std::function<void()> before;
    Outcome Append(const std::string&, const std::vector<uint64_t>&,
                   const std::function<Result<std::string>()>& prepare) override {
      before();
      const auto delta = prepare();
      return {End::kNotWritten, delta.ok() ? Status::Internal("prepared") : delta.status()};
    }
    uint64_t first_number() const override { return 0; }
    bool leads() const override { return true; }
  };
  ASSERT_TRUE(batch(11, *leader_).ok());
  const auto late = std::make_shared<LateLog>();
  late->before = [&] { Follow(false); };
  Index::SetLog(late);
  EXPECT_EQ(batch(12, *follower_).status().code(), StatusCode::kCancelled);
}

TEST_F(RecordsTest, WhatIsDamagedIsRefusedAndChangesNothing) {
  History history(leader_, model_, random_);
  while (leader_->snapshot()->segments.empty()) history.RunBatch();
  Follow(false);
  const auto before = DatabaseOf(follower_folder_.path());
  const auto snapshot = follower_->snapshot();
  const std::string payload = R"([{"id":"902","title":"new"}])";
  ASSERT_TRUE(RunSteps(*leader_, indexing::DocumentsStep(0), {payload}).ok());
  const LoggedRecord& record = log_->records.back();
  const uint64_t sequence = log_->records.size();
  ASSERT_EQ(record.files.size(), 1u);
  const auto expect_refused = [&](std::string_view delta) {
    const auto applied = follower_->ApplyRecord(kLog, sequence, delta);
    ASSERT_FALSE(applied.ok());
    EXPECT_EQ(follower_->snapshot(), snapshot);
    EXPECT_EQ(DatabaseOf(follower_folder_.path()), before);
  };
  expect_refused(record.delta);  // the file is missing
  const std::string path = follower_->FilePath(record.files[0].first);
  const std::string& bytes = record.files[0].second;
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  expect_refused(record.delta);
  // Another file, which is valid in itself.
  const uint64_t other = leader_->snapshot()->segments.front()->files.base_file;
  std::ofstream(path, std::ios::binary) << BytesOf(leader_->FilePath(other));
  expect_refused(record.delta);
  std::ofstream(path, std::ios::binary) << bytes;
  for (size_t end = 0; end < record.delta.size(); end += 1 + Below(40)) {
    if (end == 0) continue;
    const auto cut = std::string_view(record.delta).substr(0, end);
    // A delta cut between two writes is not detected here, only by the checksum of the whole
    // record.
    size_t writes = 0;
    const NamedTable tables[] = {{"main", {}}, {"external_ids", {}}};
    const auto count = [&](const DeltaWrite&) { return ++writes, Status::Ok(); };
    if (!EachWrite(cut, tables, count).ok()) expect_refused(cut);
  }
  std::string renamed = record.delta;
  renamed.replace(renamed.find("main"), 4, "mein");
  expect_refused(renamed);
  const auto applied = follower_->ApplyRecord(kLog, sequence, record.delta);
  ASSERT_TRUE(applied.ok()) << applied.status().message();
  EXPECT_EQ(follower_->snapshot()->documents.size(), leader_->snapshot()->documents.size());
}

TEST_F(RecordsTest, SequencesOfAnotherLogMeanNothing) {
  History history(leader_, model_, random_);
  history.RunBatch();
  Follow(false);
  const std::string payload = R"([{"id":"903"}])";
  ASSERT_TRUE(RunSteps(*leader_, indexing::DocumentsStep(0), {payload}).ok());
  CopyFiles(log_->records.back());
  const auto applied = follower_->ApplyRecord("another log", 1, log_->records.back().delta);
  ASSERT_TRUE(applied.ok()) << applied.status().message();
  EXPECT_TRUE(*applied);
  EXPECT_EQ(follower_->snapshot()->documents.size(), leader_->snapshot()->documents.size());
}

TEST_F(RecordsTest, ACommitThatNamesAFileWhichWasNotStoredIsRefused) {
  History history(leader_, model_, random_);
  while (leader_->snapshot()->segments.empty()) history.RunBatch();
  const auto segment = leader_->snapshot()->segments[0];
  const uint64_t number = leader_->NextNumber();
  fs::copy_file(leader_->FilePath(segment->files.base_file), leader_->FilePath(number));
  const size_t records = log_->records.size();
  Commit commit;
  commit.added.push_back({number, number, number, 0});
  NewFiles none(*leader_);
  const Status refused = leader_->Apply(std::move(commit), nullptr, &none);
  EXPECT_EQ(refused.code(), StatusCode::kInternal);
  EXPECT_NE(refused.message().find("file " + std::to_string(number)), std::string::npos)
      << refused.message();
  EXPECT_EQ(log_->records.size(), records);
}

TEST_F(RecordsTest, NumbersOfFilesBeginWhereTheLogSays) {
  log_->first = uint64_t{7} << 24;
  EXPECT_EQ(leader_->NextNumber(), log_->first);
  EXPECT_EQ(leader_->NextNumber(), log_->first + 1);
  log_->first = 0;
  EXPECT_EQ(leader_->NextNumber(), (uint64_t{7} << 24) + 2);
}

TEST_F(RecordsTest, AFollowerThatLeadsRecordsNoLowerNumber) {
  log_->first = uint64_t{7} << 24;
  const std::string payload = R"([{"id":"904"}])";
  ASSERT_TRUE(RunSteps(*leader_, indexing::DocumentsStep(0), {payload}).ok());
  Follow(false);
  const auto number = [&] {
    return LoadFixed<uint64_t>(DatabaseOf(follower_folder_.path())["main/next_number"].data());
  };
  const uint64_t before = number();
  EXPECT_GT(before, uint64_t{7} << 24);
  log_->index = follower_.get();
  const size_t records = log_->records.size();
  ASSERT_TRUE(RunSteps(*follower_, SettingsStep("{}"), {}).ok());
  ASSERT_EQ(log_->records.size(), records + 1);
  EXPECT_TRUE(log_->records.back().files.empty());
  EXPECT_EQ(number(), before);
}

}  // namespace
}  // namespace gannet::index
