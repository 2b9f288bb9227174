// The two laws of the write path: any history of batches and merges equals the documents that
// result from it, and a batch that fails leaves no trace.
#include <gtest/gtest.h>

#include "bitmap/random_docids.h"
#include "indexing/write_path_model.h"

namespace gannet::indexing {
namespace {

constexpr const char* kSettings =
    R"({"filterableAttributes":["color","meta","tags"],"sortableAttributes":["price","title","a b"]})";

// One random batch, on the index and on the model.
class History {
 public:
  History(const std::shared_ptr<index::Index>& index, Model& model, std::mt19937_64& random)
      : index_(index), model_(model), random_(random), generator_(random) {}

  void RunBatch(uint64_t documents_max = 40) {
    model_.BeginBatch();
    std::string steps;
    std::vector<std::string> payloads;
    for (uint64_t i = 0, n = 1 + Below(3); i < n; ++i) {
      if (i > 0) steps += ',';
      switch (Below(12)) {
        case 0: steps += Deletion(); break;
        case 1: steps += DeletionByFilter(); break;
        case 2:
          if (Below(6) == 0) {
            steps += R"({"task":1,"kind":"clear"})";
            model_.Clear();
          } else {
            steps += Deletion();
          }
          break;
        case 3: steps += FaultyDocuments(payloads); break;
        default: steps += Documents(payloads, documents_max); break;
      }
    }
    model_.EndBatch();
    JobOptions options;
    options.threads = 1 + static_cast<uint32_t>(Below(2));
    // A tiny budget gives several segments per batch.
    if (Below(4) == 0) options.memory_bytes = 1;
    const auto outcome = RunSteps(*index_, steps, payloads, options);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_EQ(json::Value::Parse(*outcome)["numberOfDocuments"].integer(), model_.documents.size())
        << steps;
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  std::string RandomId() {
    return Below(3) == 0 ? "k-" + std::to_string(Below(60)) : std::to_string(Below(120));
  }

  std::string Documents(std::vector<std::string>& payloads, uint64_t documents_max) {
    const bool update = Below(2) == 0, skip_creation = Below(4) == 0, ndjson = Below(2) == 0;
    std::string payload = ndjson ? "" : "[";
    for (uint64_t i = 0, n = 1 + Below(documents_max); i < n; ++i) {
      const std::string id = RandomId();
      Fields fields = generator_.MakeFields();
      fields["id"] = generator_.MakeId(id);
      if (Below(10) == 0) {  // exactly what is stored: nothing changes
        if (const auto known = model_.documents.find(id); known != model_.documents.end())
          fields = known->second.fields;
      }
      model_.Add(id, fields, update, skip_creation);
      std::string document = generator_.Spell(fields);
      if (ndjson) std::replace(document.begin(), document.end(), '\n', ' ');
      payload += (i > 0 ? (ndjson ? "\n" : ",") : "") + document;
    }
    payloads.push_back(payload + (ndjson ? "\n" : "]"));
    return DocumentsStep(payloads.size() - 1, update, skip_creation, ndjson);
  }
  // One document of the payload has no valid id: none of them comes in.
  std::string FaultyDocuments(std::vector<std::string>& payloads) {
    payloads.push_back(
        R"([{"id":"1","title":"never"},{"id":"not valid!"},{"id":"2","title":"never"}])");
    return DocumentsStep(payloads.size() - 1);
  }
  std::string Deletion() {
    std::string ids;
    for (uint64_t i = 0, n = 1 + Below(30); i < n; ++i) {
      const std::string id = RandomId();
      model_.Delete(id);
      ids += (i > 0 ? "," : "") + Quoted(id);
    }
    return "{\"task\":1,\"kind\":\"deleteIds\",\"ids\":[" + ids + "]}";
  }
  std::string DeletionByFilter() {
    std::set<DocId> docids;
    std::string list;
    for (uint64_t i = 0, n = Below(12); i < n; ++i) {
      const auto docid = static_cast<DocId>(Below(180));
      docids.insert(docid);
      list += (i > 0 ? "," : "") + std::to_string(docid);
    }
    model_.DeleteByDocids(docids);
    return "{\"task\":1,\"kind\":\"deleteFilter\",\"filter\":[" + list + "]}";
  }

  const std::shared_ptr<index::Index>& index_;  // the caller opens it anew at times
  Model& model_;
  std::mt19937_64& random_;
  DocumentGenerator generator_;
};

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
      for (size_t place = 0; place < docids.size(); ++place) {
        runs += place == 0 || docids[place] != docids[place - 1] + 1 ? 1 : 0;
        ASSERT_LT(docids[place], kDocuments);
        ASSERT_FALSE(seen[docids[place]]) << "written twice";
        seen[docids[place]] = true;
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<ptrdiff_t>(kDocuments));
    EXPECT_LE(index->snapshot()->segments.size(), threads);
    EXPECT_LE(runs, threads == 1 ? 1 : kClaimsMax);
  }
}

// Bytes of the parts of a segment that depend on nothing but its documents.
TEST(WritePath, AMergedSegmentEqualsAFreshIndexOfTheSameDocumentsByteForByte) {
  std::mt19937_64 random(TestSeed() + 1);
  TestFolder folder, fresh_folder;
  auto index = OpenIndex(folder.path());
  Model model;
  History history(index, model, random);
  ASSERT_TRUE(RunSteps(*index, SettingsStep(kSettings), {}).ok());
  for (int batch = 0; batch < 8; ++batch) history.RunBatch(60);
  ASSERT_EQ(MergeToOne(*index).message(), "");
  // The text rebuild writes every document again, as it stands, into new segments; the way back
  // does so once more.
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
