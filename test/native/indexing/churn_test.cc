// An index does not grow with its history: its files depend only on its content.
#include <gtest/gtest.h>

#include "index/verify.h"
#include "indexing/write_path_model.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

constexpr int kDocuments = 3000, kRounds = 20;
// Limit of the ratio that merging may leave: a fifth of each segment for dead documents, and what
// overlaps between segments.
constexpr double kRatioMax = 1.3;

class Churn : public ::testing::Test {
 protected:
  std::string Document(int id) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "word" + std::to_string(random_() % 5000) + ' ';
    return "{\"id\":" + std::to_string(id) + ",\"price\":" + std::to_string(random_() % 1000) +
           ",\"text\":\"" + text + "\"}";
  }
  static std::string Payload(const std::map<int, std::string>& documents) {
    std::string out = "[";
    for (const auto& [id, document] : documents) out += (out.size() > 1 ? "," : "") + document;
    return out + "]";
  }
  static void Add(index::Index& index, const std::map<int, std::string>& documents) {
    const auto outcome = RunSteps(index, DocumentsStep(0), {Payload(documents)});
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    MergeAll(index);
  }
  static uint64_t SegmentBytes(const std::string& dir) {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir + "/segments"))
      bytes += entry.file_size();
    return bytes;
  }
  std::shared_ptr<index::Index> Open(const TestFolder& folder) {
    auto index = *index::Index::Open(folder.path());
    EXPECT_TRUE(RunSteps(*index, SettingsStep(R"({"filterableAttributes":["price"]})"), {}).ok());
    return index;
  }

  std::mt19937_64 random_{TestSeed() + 23};
};

TEST_F(Churn, LeavesLittleBehindAndADeletionOfEverythingNothing) {
  TestFolder changed_folder, fresh_folder;
  std::map<int, std::string> documents;
  for (int id = 0; id < kDocuments; ++id) documents[id] = Document(id);
  auto changed = Open(changed_folder);
  Add(*changed, documents);
  for (int round = 0; round < kRounds; ++round) {
    std::map<int, std::string> batch;
    while (batch.size() < kDocuments / 10) {
      const int id = static_cast<int>(random_() % kDocuments);
      batch[id] = documents[id] = Document(id);
    }
    Add(*changed, batch);
  }
  auto fresh = Open(fresh_folder);
  Add(*fresh, documents);
  const uint64_t bytes = SegmentBytes(changed_folder.path()),
                 bytes_of_fresh = SegmentBytes(fresh_folder.path());
  EXPECT_LE(static_cast<double>(bytes), kRatioMax * static_cast<double>(bytes_of_fresh))
      << bytes << " : " << bytes_of_fresh;
  EXPECT_EQ(changed->snapshot()->documents.size(), static_cast<uint64_t>(kDocuments));

  std::string ids;
  for (const auto& [id, document] : documents)
    ids += (ids.empty() ? "\"" : ",\"") + std::to_string(id) + '"';
  ASSERT_TRUE(
      RunSteps(*changed, "{\"task\":1,\"kind\":\"deleteIds\",\"ids\":[" + ids + "]}", {}).ok());
  EXPECT_EQ(SegmentBytes(changed_folder.path()), 0u);
  ASSERT_TRUE(RunSteps(*fresh, R"({"task":1,"kind":"clear"})", {}).ok());
  EXPECT_EQ(SegmentBytes(fresh_folder.path()), 0u);
  changed.reset();
  EXPECT_TRUE(index::VerifyIndex(changed_folder.path()).faults.empty());
}

}  // namespace
}  // namespace gannet::indexing
