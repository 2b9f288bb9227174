// Graphs over vectors as files of an index: built, found again, dropped with their segment,
// stopped, damaged.
#include "indexing/graphs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "index/verify.h"
#include "indexing/write_path_model.h"
#include "segment/graphs.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

constexpr uint32_t kRowsMin = 100;

class GraphsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed());
    Open();
    ASSERT_TRUE(RunSteps(*index_, SettingsStep(R"({"embedders":{"e":{"dimensions":16},
        "bits":{"dimensions":16,"binaryQuantized":true}},
        "embedderStates":{"e":{"computes":false},"bits":{"computes":false}}})"),
                         {})
                    .ok());
    Add(0, 600);
  }
  void Open() {
    index_.reset();
    auto opened = index::Index::Open(folder_.path());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    index_ = *opened;
  }
  void Add(int first, int count) {
    std::string payload = "[";
    for (int id = first; id < first + count; ++id) {
      std::string numbers;
      for (int i = 0; i < 16; ++i)
        numbers += (i > 0 ? "," : "") + std::to_string(static_cast<int>(random_() % 200) - 100);
      payload += (id > first ? ",{\"id\":" : "{\"id\":") + std::to_string(id) +
                 ",\"_vectors\":{\"e\":[" + numbers + "],\"bits\":[" + numbers + "]}}";
    }
    const auto outcome = RunSteps(*index_, DocumentsStep(0), {payload + "]"});
    ASSERT_TRUE(outcome.ok());
    ASSERT_EQ(outcome->find("error"), std::string::npos) << *outcome;
  }
  Status Build() {
    const auto planned = PlanGraphs(*index_->snapshot(), kRowsMin);
    return planned ? BuildGraphs(*index_, *planned,
                                 {.threads = 2, .rows_min = kRowsMin, .parameters = {}}, cancelled_)
                   : Status::NotFound("nothing to build");
  }
  const vector::Graph* Graph() {
    const auto& segment = index_->snapshot()->segments[0];
    return segment->graphs == nullptr ? nullptr : segment->graphs->Find("e");
  }
  std::string GraphPath() {
    return index_->FilePath(index_->snapshot()->segments[0]->files.graphs_file);
  }
  std::string Faults() {
    index_.reset();
    std::string out;
    const index::IndexReport report = index::VerifyIndex(folder_.path());
    for (const auto& fault : report.faults) out += fault.structure + ": " + fault.message + "\n";
    for (const std::string& file : report.unused) out += "unused " + file + "\n";
    return out;
  }

  TestFolder folder_;
  std::mt19937_64 random_;
  std::shared_ptr<index::Index> index_;
  std::atomic<bool> cancelled_{false};
};

TEST_F(GraphsTest, AreBuiltOnceAndFoundAgainAfterAStart) {
  ASSERT_EQ(Graph(), nullptr);
  ASSERT_TRUE(Build().ok());
  EXPECT_FALSE(PlanGraphs(*index_->snapshot(), kRowsMin));
  ASSERT_NE(Graph(), nullptr);
  EXPECT_EQ(index_->snapshot()->segments[0]->graphs->Find("bits"), nullptr) << "bits are scanned";
  EXPECT_EQ(Faults(), "");
  Open();
  ASSERT_NE(Graph(), nullptr);
  std::vector<float> query(16, 1);
  const auto found = Graph()->Search(query.data(), 50, nullptr);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 50u);
}

TEST_F(GraphsTest, StayWhileDocumentsDieAndAreDroppedWithTheirSegment) {
  ASSERT_TRUE(Build().ok());
  const std::string path = GraphPath();
  Add(0, 10);
  ASSERT_NE(Graph(), nullptr);
  ASSERT_TRUE(MergeToOne(*index_).ok());
  EXPECT_EQ(Graph(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(Build().ok());
  ASSERT_NE(Graph(), nullptr);
  EXPECT_EQ(Faults(), "");
  Open();
  ASSERT_TRUE(RunSteps(*index_, R"({"task":1,"kind":"clear"})", {}).ok());
  EXPECT_EQ(Faults(), "");
}

// The nodes of the greatest segment merged are kept.
TEST_F(GraphsTest, OfAMergedSegmentStartFromAnEarlierOne) {
  ASSERT_TRUE(Build().ok());
  Add(0, 10);
  Add(600, 100);
  ASSERT_TRUE(MergeToOne(*index_).ok());
  const auto segment = index_->snapshot()->segments[0];
  ASSERT_NE(segment->earlier_graphs, nullptr);
  const auto stored = segment->earlier_graphs->FindStored("e");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->rows.size(), 600u);
  ASSERT_TRUE(Build().ok());
  EXPECT_EQ(index_->snapshot()->segments[0]->earlier_graphs, nullptr);
  ASSERT_NE(Graph(), nullptr);
  // Every row is found by its own vector.
  const auto now = index_->snapshot()->segments[0];
  const segment::EmbedderReader* embedder = now->vectors->Find("e");
  ASSERT_EQ(embedder->row_count(), 700u);
  std::vector<float> numbers;
  size_t found = 0;
  for (uint32_t row = 0; row < embedder->row_count(); ++row) {
    ASSERT_TRUE(embedder->ReadRow(row, numbers));
    const auto near = Graph()->Search(numbers.data(), 20, nullptr);
    ASSERT_TRUE(near.ok());
    for (const auto& neighbour : *near) found += neighbour.row == row ? 1 : 0;
  }
  // A graph leaves out a few rows by chance; one with wrong links finds almost none.
  EXPECT_GE(found, 630u);
  EXPECT_EQ(Faults(), "");
}

TEST_F(GraphsTest, OfAMergedSegmentStartFromNothingAfterAStart) {
  ASSERT_TRUE(Build().ok());
  Add(600, 100);
  ASSERT_TRUE(MergeToOne(*index_).ok());
  ASSERT_NE(index_->snapshot()->segments[0]->earlier_graphs, nullptr);
  Open();
  ASSERT_EQ(index_->snapshot()->segments[0]->earlier_graphs, nullptr);
  ASSERT_TRUE(Build().ok());
  EXPECT_NE(Graph(), nullptr);
}

TEST_F(GraphsTest, LeaveNothingWhenTheyAreStopped) {
  cancelled_ = true;
  EXPECT_EQ(Build().code(), StatusCode::kCancelled);
  EXPECT_EQ(Graph(), nullptr);
  EXPECT_EQ(Faults(), "");
}

TEST_F(GraphsTest, ADamagedGraphIsReportedAndNotUsed) {
  ASSERT_TRUE(Build().ok());
  const std::string path = GraphPath();
  index_.reset();
  const auto size = std::filesystem::file_size(path);
  for (int i = 0; i < 12; ++i) {
    const auto at = static_cast<std::streamoff>(random_() % size);
    const auto flip = [&] {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const auto byte = static_cast<char>(file.get() ^ 1 << i % 8);
      file.seekp(at);
      file.put(byte);
    };
    flip();
    EXPECT_NE(Faults(), "") << "byte " << at;
    flip();
  }
  EXPECT_EQ(Faults(), "");
}

}  // namespace
}  // namespace gannet::indexing
