// Commits: all or nothing, whatever fails along the way.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "bitmap/random_docids.h"
#include "index/keys.h"
#include "index/verify.h"
#include "indexing/write_path_model.h"
#include "store/env.h"

namespace gannet::index {
namespace {

using indexing::DocumentGenerator;
using indexing::DocumentsStep;
using indexing::Model;
using indexing::RunSteps;
using indexing::SettingsStep;
using indexing::TestFolder;

// Files cannot grow beyond a size while an object of this class lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class CommitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed() + 5);
    auto opened = Index::Open(folder_.path());
    ASSERT_TRUE(opened.ok());
    index_ = *opened;
    ASSERT_TRUE(RunSteps(*index_, SettingsStep(R"({"filterableAttributes":["color"]})"), {}).ok());
    model_.BeginBatch();
    payload_ = Payload(0, 200);
    model_.EndBatch();
    ASSERT_TRUE(RunSteps(*index_, DocumentsStep(0), {payload_}).ok());
    indexing::ExpectIndexHolds(*index_, model_);
  }
  std::string Payload(int first, int count) {
    DocumentGenerator generator(random_);
    std::string payload = "[";
    for (int i = first; i < first + count; ++i) {
      indexing::Fields fields = generator.MakeFields();
      fields["id"] = std::to_string(i);
      model_.Add(std::to_string(i), fields, false, false);
      payload += (i > first ? "," : "") + generator.Spell(fields);
    }
    return payload + "]";
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/segments")) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  TestFolder folder_;
  std::mt19937_64 random_;
  std::shared_ptr<Index> index_;
  Model model_;
  std::string payload_;
};

TEST_F(CommitTest, ABatchThatCannotWriteLeavesTheIndexAsItWas) {
  const Model before = model_;
  const auto files = Files();
  const auto snapshot = index_->snapshot();
  model_.BeginBatch();
  const std::string payload = Payload(100, 400);
  model_ = before;
  for (const rlim_t limit : {0, 100, 5000, 20000}) {
    SCOPED_TRACE("files end at " + std::to_string(limit));
    {
      const FileSizeLimit full(limit);
      const auto outcome = RunSteps(*index_, DocumentsStep(0), {payload});
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(indexing::MergeToOne(*index_).code(), StatusCode::kIo);
      EXPECT_FALSE(
          RunSteps(
              *index_,
              SettingsStep(R"({"filterableAttributes":["title"],"sortableAttributes":["meta"]})"),
              {})
              .ok());
      EXPECT_FALSE(
          RunSteps(*index_, SettingsStep(R"({"searchableAttributes":["title"]})"), {}).ok());
    }
    EXPECT_EQ(Files(), files);
    EXPECT_EQ(index_->snapshot(), snapshot);
    indexing::ExpectIndexHolds(*index_, model_);
  }
  index_.reset();
  index_ = *Index::Open(folder_.path());
  indexing::ExpectIndexHolds(*index_, model_);
  // The very same batch succeeds once there is space.
  ASSERT_TRUE(RunSteps(*index_, DocumentsStep(0), {payload}).ok());
  EXPECT_EQ(index_->snapshot()->documents.size(), 500u);
}

TEST_F(CommitTest, ABatchWhoseTransactionFailsRemovesItsSegments) {
  const auto files = Files();
  const auto snapshot = index_->snapshot();
  Commit commit;
  const uint64_t number = index_->NextNumber();
  std::filesystem::copy_file(index_->FilePath(snapshot->segments[0]->files.base_file),
                             index_->FilePath(number));
  commit.added.push_back({number, number, number});
  const std::string id(4000, 'x');  // longer than a key may be
  commit.new_external_ids.emplace_back(id, 7);
  commit.dead = snapshot->documents;
  EXPECT_FALSE(index_->Apply(std::move(commit)).ok());
  EXPECT_EQ(Files(), files);
  EXPECT_EQ(index_->snapshot(), snapshot);
  index_.reset();
  index_ = *Index::Open(folder_.path());
  indexing::ExpectIndexHolds(*index_, model_);
}

TEST_F(CommitTest, ACancelledBatchLeavesTheIndexAsItWas) {
  const auto files = Files();
  indexing::Progress progress;
  progress.cancelled = true;
  const std::string payload = payload_;
  const std::string_view views[] = {payload};
  const std::string job =
      "{\"batchUid\":1,\"taskUids\":[1],\"now\":\"\",\"steps\":[" + DocumentsStep(0) + "]}";
  const auto outcome = indexing::RunBatch(*index_, *indexing::BatchJob::Parse(job), views, {},
                                          indexing::FilterByList, progress);
  EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(Files(), files);
  indexing::ExpectIndexHolds(*index_, model_);
}

TEST_F(CommitTest, FilesThatNoManifestNamesAreSwept) {
  const auto files = Files();
  const uint64_t last = std::stoull(*files.rbegin());
  index_.reset();
  // Leftovers of a killed job: a complete segment and a part of one.
  std::filesystem::copy_file(folder_.path() + "/segments/" + std::to_string(last),
                             folder_.path() + "/segments/" + std::to_string(last + 7));
  std::ofstream(folder_.path() + "/segments/" + std::to_string(last + 8)) << "half";
  index_ = *Index::Open(folder_.path());
  EXPECT_EQ(Files().size(), files.size() + 2) << "opening removes nothing";
  index_->Sweep();
  EXPECT_EQ(Files(), files);
  EXPECT_GT(index_->NextNumber(), last + 8) << "a number is never given twice";
  indexing::ExpectIndexHolds(*index_, model_);
}

TEST_F(CommitTest, ReadersKeepTheirSnapshotWhileFilesAreRemoved) {
  const auto old = index_->snapshot();
  const auto content = indexing::Observe(*old);
  model_.BeginBatch();
  const std::string payload = Payload(0, 200);
  model_.EndBatch();
  ASSERT_TRUE(RunSteps(*index_, DocumentsStep(0), {payload}).ok());
  ASSERT_EQ(indexing::MergeToOne(*index_).message(), "");
  EXPECT_EQ(Files().size(), 1u);
  indexing::ExpectSame(content, indexing::Observe(*old));
  indexing::ExpectIndexHolds(*index_, model_);
}

// Documents are written for the settings from before their batch.
TEST_F(CommitTest, SettingsAndDocumentsAreNoBatch) {
  const auto snapshot = index_->snapshot();
  for (const std::string& step :
       {DocumentsStep(0), std::string(R"({"task":1,"kind":"deleteIds","ids":["1"]})")}) {
    const auto outcome = RunSteps(*index_, SettingsStep("{}") + "," + step, {payload_});
    EXPECT_EQ(outcome.status().code(), StatusCode::kInternal);
    EXPECT_EQ(index_->snapshot(), snapshot);
  }
}

// The job passes long settings as buffers.
std::string LongSettingsStep(const std::string& settings, const std::string& buffers) {
  return "{\"task\":1,\"kind\":\"settings\",\"settings\":" + settings + ",\"long\":" + buffers +
         "}";
}

TEST_F(CommitTest, LongSettingsAreRecordsOfTheirOwn) {
  const auto stored = [&] { return index_->snapshot()->stored_settings; };
  const auto apply = [&](const std::string& settings, const std::string& buffers,
                         const std::vector<std::string>& payloads) {
    ASSERT_TRUE(RunSteps(*index_, LongSettingsStep(settings, buffers), payloads).ok());
    const auto before = stored();
    const auto words = index_->snapshot()->settings->stop_words;
    index_.reset();
    index_ = *Index::Open(folder_.path());
    EXPECT_EQ(stored()->json, before->json);
    EXPECT_EQ(stored()->long_values, before->long_values);
    EXPECT_EQ(index_->snapshot()->settings->stop_words, words);
    const IndexReport report = VerifyIndex(folder_.path());
    EXPECT_TRUE(report.faults.empty()) << report.faults[0].message;
  };
  const std::string both =
      R"({"long":{"stopWords":7,"synonyms":13},"stopWords":null,"synonyms":null})";
  apply(both, R"({"stopWords":1,"synonyms":0})", {R"({"a":["b c"]})", R"(["the"])"});
  EXPECT_EQ(index_->snapshot()->settings->stop_words, std::vector<std::string>{"the"});
  EXPECT_EQ(index_->snapshot()->settings->synonyms[0].second, std::vector<std::string>{"b c"});

  apply(R"({"long":{"synonyms":2},"synonyms":null})", R"({"synonyms":0})", {"{}"});
  EXPECT_EQ(stored()->long_values, (decltype(stored()->long_values){{"synonyms", "{}"}}));
  apply(R"({"synonyms":{"x":["y"]}})", "{}", {});
  EXPECT_TRUE(stored()->long_values.empty());
  EXPECT_EQ(index_->snapshot()->settings->synonyms.size(), 1u);
}

TEST_F(CommitTest, TheStateSurvivesReopening) {
  const auto before = index_->snapshot();
  index_.reset();
  index_ = *Index::Open(folder_.path());
  const auto after = index_->snapshot();
  EXPECT_EQ(after->primary_key, "id");
  EXPECT_TRUE(after->has_primary_key);
  EXPECT_EQ(after->stored_settings->json, before->stored_settings->json);
  EXPECT_EQ(after->updated_at, "2024-01-01T00:00:00Z");
  EXPECT_EQ(after->last_batch, before->last_batch);
  EXPECT_EQ(json::Value::Parse(after->last_batch)["batchUid"].integer(), 7u);
  EXPECT_EQ(after->distribution, before->distribution);
  EXPECT_EQ(after->fields->size(), before->fields->size());
}

// The next start removes files that the manifest does not name. A manifest that cannot be read must
// not count as one that names nothing.
class LostManifestTest : public CommitTest {
 protected:
  std::set<std::string> SegmentFileNames() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/segments"))
      names.insert(entry.path().filename());
    return names;
  }
  void ExpectRefusedWithoutLoss() {
    const auto names = SegmentFileNames();
    ASSERT_FALSE(names.empty());
    const auto opened = Index::Open(folder_.path());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), StatusCode::kCorruption) << opened.status().message();
    EXPECT_EQ(SegmentFileNames(), names);
  }
  std::string database() const { return folder_.path() + "/index.mdb"; }
};

TEST_F(LostManifestTest, IsNotTakenForAnEmptyIndex) {
  index_.reset();
  std::string manifest;
  const auto change = [&](bool remove) {
    const auto env = store::Environment::Open(database());
    ASSERT_TRUE(env.ok());
    const auto main = (*env)->OpenTable("main");
    ASSERT_TRUE(main.ok());
    if (remove) manifest = std::string((*(*env)->Read()->Get(*main, keys::kManifest)).value());
    auto txn = (*env)->Write();
    ASSERT_TRUE(txn.ok());
    ASSERT_TRUE(
        (remove ? txn->Delete(*main, keys::kManifest) : txn->Put(*main, keys::kManifest, manifest))
            .ok());
    ASSERT_TRUE(txn->Commit().ok());
  };
  change(true);
  ExpectRefusedWithoutLoss();
  change(false);
  const auto opened = Index::Open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  indexing::ExpectIndexHolds(**opened, model_);
}

TEST_F(LostManifestTest, AMissingOrEmptyRecordIsNotCreatedAgain) {
  index_.reset();
  std::filesystem::rename(database(), database() + ".kept");
  for (const bool is_empty : {false, true}) {
    if (is_empty) std::ofstream(database(), std::ios::binary).flush();
    for (const IfAbsent if_absent : {IfAbsent::kCreate, IfAbsent::kRefuse}) {
      const auto names = SegmentFileNames();
      const auto opened = Index::Open(folder_.path(), if_absent);
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.status().code(), StatusCode::kCorruption) << opened.status().message();
      EXPECT_EQ(SegmentFileNames(), names);
    }
  }
  std::filesystem::rename(database() + ".kept", database());
  const auto opened = Index::Open(folder_.path(), IfAbsent::kRefuse);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  indexing::ExpectIndexHolds(**opened, model_);
}

TEST_F(LostManifestTest, OnADamagedPageIsNotTakenForAnEmptyIndex) {
  index_.reset();
  std::string bytes;
  {
    std::ifstream in(database(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string whole = bytes;
  constexpr size_t kPage = 4096, kPageHeader = 16;
  for (size_t at = bytes.find(keys::kManifest); at != bytes.npos;
       at = bytes.find(keys::kManifest, at + 1)) {
    bytes.replace(at / kPage * kPage, kPageHeader, kPageHeader, '\0');
  }
  ASSERT_NE(bytes, whole);
  std::ofstream(database(), std::ios::binary | std::ios::trunc) << bytes;
  ExpectRefusedWithoutLoss();
  std::ofstream(database(), std::ios::binary | std::ios::trunc) << whole;
  const auto opened = Index::Open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  indexing::ExpectIndexHolds(**opened, model_);
}

}  // namespace
}  // namespace gannet::index
