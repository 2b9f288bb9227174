// Random batches, for an index and its model.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "indexing/write_path_model.h"

namespace gannet::indexing {

// Makes one random batch at a time, for the index and the model.
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
  // One document of the payload has no valid id, so none is added.
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

  const std::shared_ptr<index::Index>& index_;  // the caller reopens it at times
  Model& model_;
  std::mt19937_64& random_;
  DocumentGenerator generator_;
};

}  // namespace gannet::indexing
