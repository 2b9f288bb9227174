// The two laws of the write path: any history of batches and merges equals the documents that
// result from it, and a failed batch leaves no trace.
#include <gtest/gtest.h>

#include "bitmap/random_docids.h"
#include "indexing/random_history.h"
#include "indexing/write_path_model.h"

namespace gannet::indexing {
namespace {

constexpr const char* kSettings =
    R"({"filterableAttributes":["color","meta","tags"],"sortableAttributes":["price","title","a b"]})";

std::shared_ptr<index::Index> OpenIndex(const std::string& path) {
  auto index = index::Index::Open(path);
  EXPECT_TRUE(index.ok()) << index.status().message();
  return index.ok() ? *index : nullptr;
}

TEST(WritePath, AnyHistoryOfBatchesAndMergesEqualsItsDocuments) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    TestFolder folder;
    auto index = OpenIndex(folder.path());
    Model model;
    History history(index, model, random);
    ASSERT_TRUE(RunSteps(*index, SettingsStep(kSettings), {}).ok());
    for (int batch = 0; batch < 14; ++batch) {
      SCOPED_TRACE("batch " + std::to_string(batch));
      history.RunBatch();
      ExpectIndexHolds(*index, model);
      if (random() % 3 == 0) {
        MergeAll(*index);
        EXPECT_LE(index->snapshot()->segments.size(), kSegmentsMax);
        ExpectIndexHolds(*index, model);
      } else if (random() % 3 == 0 && !index->snapshot()->segments.empty()) {
        std::vector<size_t> some;
        for (size_t i = 0; i < index->snapshot()->segments.size(); ++i) {
          if (random() % 2 == 0) some.push_back(i);
        }
        if (!some.empty()) {
          ASSERT_EQ(MergeThese(*index, some).message(), "");
        }
        ExpectIndexHolds(*index, model);
      }
      if (random() % 5 == 0) {
        index.reset();
        index = OpenIndex(folder.path());
        ExpectIndexHolds(*index, model);
      }
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(MergeToOne(*index).message(), "");
    EXPECT_LE(index->snapshot()->segments.size(), 1u);
    ExpectIndexHolds(*index, model);
    for (const auto& segment : index->snapshot()->segments) {
      EXPECT_TRUE(segment->all_live());
      EXPECT_TRUE(segment->rows->file()->Verify().ok());
    }
  }
}

// Rows and embeddings are not held in memory, so the memory of builders does not bound them.
TEST(WritePath, ABatchEndsASegmentAtHalfOfItsSizeLimit) {
  std::mt19937_64 random(TestSeed());
  JobOptions options;
  options.segment_bytes_max = 200'000;
  constexpr uint64_t kLongest = 8000;
  for (const bool vectors : {false, true}) {
    SCOPED_TRACE(vectors ? "embeddings" : "rows");
    TestFolder folder;
    const auto index = OpenIndex(folder.path());
    ASSERT_TRUE(RunSteps(*index,
                         SettingsStep(vectors ? R"({"searchableAttributes":["id"],
        "embedders":{"e":{"dimensions":512}},"embedderStates":{"e":{"computes":false}}})"
                                              : R"({"searchableAttributes":["id"]})"),
                         {})
                    .ok());
    std::string payload;
    for (int i = 0; i < 1000; ++i) {
      payload += R"({"id":)" + std::to_string(i);
      if (vectors) {
        payload += R"(,"_vectors":{"e":[)";
        for (int n = 0; n < 512; ++n) payload += (n > 0 ? "," : "") + std::to_string(random() % 10);
        payload += "]}}\n";
      } else {
        payload += R"(,"text":")";
        const size_t length = random() % kLongest;
        // Letters in random order: they compress to no less than half.
        for (size_t n = 0; n < length; ++n) payload += static_cast<char>('a' + random() % 26);
        payload += "\"}\n";
      }
    }
    ASSERT_EQ(RunSteps(*index, DocumentsStep(0, false, false, true), {payload}, options)
                  .status()
                  .message(),
              "");
    const auto snapshot = index->snapshot();
    EXPECT_EQ(snapshot->documents.size(), 1000u);
    uint64_t bytes = 0;
    for (const auto& segment : snapshot->segments) {
      const uint64_t size = segment->rows->file()->size();
      EXPECT_LE(size, options.segment_bytes_max);
      bytes += size;
    }
    EXPECT_GT(bytes, 8 * options.segment_bytes_max);
    // Nor are they ended long before.
    EXPECT_LE(snapshot->segments.size(), bytes / (options.segment_bytes_max * 2 / 5));
  }
}

TEST(WritePath, SeveralWorkersShareABatchInLongRunsOfDocids) {
  constexpr size_t kDocuments = 20'000, kClaimsMax = 40;
  std::string payload;
  for (size_t i = 0; i < kDocuments; ++i)
    payload +=
        R"({"id":)" + std::to_string(i) + R"(,"title":"document )" + std::to_string(i) + "\"}\n";
  for (const uint32_t threads : {1u, 3u}) {
    TestFolder folder;
    const auto index = *index::Index::Open(folder.path());
    JobOptions options;
    options.threads = threads;
    ASSERT_TRUE(RunSteps(*index, DocumentsStep(0, false, false, true), {payload}, options).ok());
    std::vector<bool> seen(kDocuments);
    size_t runs = 0;
    for (const auto& segment : index->snapshot()->segments) {
      const auto docids = segment->rows->docids();
      for (size_t local = 0; local < docids.size(); ++local) {
        runs += local == 0 || docids[local] != docids[local - 1] + 1 ? 1 : 0;
        ASSERT_LT(docids[local], kDocuments);
        ASSERT_FALSE(seen[docids[local]]) << "written twice";
        seen[docids[local]] = true;
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<ptrdiff_t>(kDocuments));
    EXPECT_LE(index->snapshot()->segments.size(), threads);
    EXPECT_LE(runs, threads == 1 ? 1 : kClaimsMax);
  }
}

// Bytes of the parts of a segment that depend only on its documents.
TEST(WritePath, AMergedSegmentEqualsAFreshIndexOfTheSameDocumentsByteForByte) {
  std::mt19937_64 random(TestSeed() + 1);
  TestFolder folder, fresh_folder;
  auto index = OpenIndex(folder.path());
  Model model;
  History history(index, model, random);
  ASSERT_TRUE(RunSteps(*index, SettingsStep(kSettings), {}).ok());
  for (int batch = 0; batch < 8; ++batch) history.RunBatch(60);
  ASSERT_EQ(MergeToOne(*index).message(), "");
  // The rebuild of the text form writes every document to new segments; changing the form back does
  // so once more.
  const auto before = index->snapshot();
  if (before->documents.empty()) return;
  const auto merged = before->segments[0]->rows->file();
  const std::string other = R"({"stopWords":["zzz"],)" + std::string(kSettings).substr(1);
  ASSERT_TRUE(RunSteps(*index, SettingsStep(other), {}).ok());
  ASSERT_TRUE(RunSteps(*index, SettingsStep(kSettings), {}).ok());
  const auto after = index->snapshot();
  ASSERT_EQ(after->segments.size(), 1u);
  const auto rebuilt = after->segments[0]->rows->file();
  ASSERT_NE(merged, rebuilt);
  for (const segment::SectionId id : {10, 11, 12, 13, 14, 15, 1}) {
    EXPECT_TRUE(merged->ReadAll(id) == rebuilt->ReadAll(id)) << "section " << id;
  }
}

TEST(WritePath, SettingsChangesGiveWhatAFreshIndexWouldHold) {
  std::mt19937_64 random(TestSeed() + 2);
  const std::string settings[] = {
      "{}",
      kSettings,
      R"({"filterableAttributes":["color"],"sortableAttributes":["price"]})",
      R"({"filterableAttributes":[{"attributePatterns":["*"],"features":{"filter":{"equality":true}}}]})",
      R"({"searchableAttributes":["title","meta"]})",
      R"({"searchableAttributes":["title"],"stopWords":["the","of","red"],"filterableAttributes":["tags"]})",
      R"({"stopWords":["hello"],"distinctAttribute":"color","separatorTokens":["w"],"dictionary":["e.g."]})",
      R"({"searchableAttributes":[],"rankingRules":["words","price:asc"]})",
  };
  for (int round = 0; round < 3; ++round) {
    TestFolder folder;
    auto index = OpenIndex(folder.path());
    Model model;
    History history(index, model, random);
    for (int step = 0; step < 14; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + " step " + std::to_string(step));
      if (random() % 2 == 0) {
        const auto done =
            RunSteps(*index, SettingsStep(settings[random() % std::size(settings)]), {});
        ASSERT_TRUE(done.ok()) << done.status().message();
      } else {
        history.RunBatch();
      }
      ExpectIndexHolds(*index, model);
      if (random() % 3 == 0) {
        ASSERT_EQ(MergeToOne(*index).message(), "");
        ExpectIndexHolds(*index, model);
      }
      if (random() % 4 == 0) {
        index.reset();
        index = OpenIndex(folder.path());
        ExpectIndexHolds(*index, model);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gannet::indexing
