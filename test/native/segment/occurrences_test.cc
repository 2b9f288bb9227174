// Counts of words and lengths of fields, against plain loops over the documents.
#include "segment/occurrences.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/stop_point.h"
#include "index/indexed_documents.h"
#include "test_seed.h"

namespace gannet::segment {
namespace {

using Random = std::mt19937_64;
using Tier = Occurrences::Tier;

TEST(Occurrences, CodesGrowWithLengths) {
  uint8_t before = 0;
  for (uint32_t words = 0; words < 100'000; ++words) {
    const uint8_t code = Occurrences::CodeOf(words);
    ASSERT_GE(code, before) << words;
    ASSERT_LE(Occurrences::LengthOf(code), words);
    if (words < 30'000) {
      ASSERT_GE(Occurrences::LengthOf(code) * 17, words * 16) << words;
    }
    before = code;
  }
  for (uint32_t code = 0; code < Occurrences::kLengthCodes; ++code)
    ASSERT_EQ(Occurrences::CodeOf(Occurrences::LengthOf(static_cast<uint8_t>(code))), code);
}

TEST(Occurrences, AreThoseOfPlainLoops) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  IndexedDocuments index(R"({"searchableAttributes":["title","text"]})");
  const char* fields[] = {"title", "text"};
  std::map<DocId, std::string> batch;
  // By field, word and tier: the documents and their counts. By field: lengths.
  std::map<std::string, std::map<std::string, std::map<DocId, uint32_t>>> counts;
  std::map<std::string, std::map<DocId, uint32_t>> lengths;
  // The title is in enough documents for codes, the text is not.
  for (DocId docid = 0; docid < 6000; ++docid) {
    std::string json = "{\"id\":" + std::to_string(docid);
    for (const char* field : fields) {
      if (field == fields[1] && docid % 2 == 0) continue;
      std::string text;
      const uint64_t words = docid == 17 ? 400 : 1 + random() % 12;
      for (uint64_t i = 0; i < words; ++i) {
        const std::string word = "w" + std::to_string(docid == 17 ? 3 : random() % 9);
        text += (i == 0 ? "" : " ") + word;
        ++counts[field][word][docid];
      }
      lengths[field][docid] = static_cast<uint32_t>(words);
      json += ",\"" + std::string(field) + "\":\"" + text + "\"";
    }
    batch[docid] = json + "}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  const TextReader& text = *snapshot->segments[0]->text;
  const auto occurrences = text.Occurrences();
  ASSERT_EQ(occurrences, text.Occurrences());
  for (const char* name : fields) {
    const FieldId field = *snapshot->fields->Find(name);
    for (const auto& [word, of_word] : counts[name]) {
      std::map<DocId, uint32_t> found;
      for (const Tier tier : {Tier::kFew, Tier::kMany}) {
        const auto repeats = occurrences->RepeatsOf(*text.terms().Find(word), field, tier);
        ASSERT_EQ(repeats.docids.size(), repeats.counts.size());
        ASSERT_TRUE(std::is_sorted(repeats.docids.begin(), repeats.docids.end()));
        for (size_t i = 0; i < repeats.docids.size(); ++i) {
          ASSERT_EQ(repeats.counts[i] > Occurrences::kFewMax, tier == Tier::kMany);
          found[repeats.docids[i]] = repeats.counts[i];
        }
      }
      std::map<DocId, uint32_t> expected;
      for (const auto& [docid, count] : of_word) {
        if (count > 1) expected[docid] = std::min<uint32_t>(count, Occurrences::kCountMax);
      }
      ASSERT_EQ(found, expected) << name << " " << word;
    }
    const uint8_t* codes = occurrences->LengthCodes(field, 0);
    ASSERT_EQ(codes != nullptr, field == *snapshot->fields->Find("title"));
    if (codes == nullptr) continue;
    for (const auto& [docid, words] : lengths[name])
      ASSERT_EQ(codes[docid], Occurrences::CodeOf(words));
  }
  EXPECT_EQ(occurrences->LengthCodes(0, 1), nullptr);
  EXPECT_GT(occurrences->bytes(), 65'536u);
}

// What one search makes for all, while another one waits for it.
void ExpectStoppable(const std::function<void()>& make) {
  std::promise<void> making, stopped;
  const std::function<void()> wait = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    making.set_value();
    stopped.get_future().wait();
  };
  const auto work = [&] {
    make();
    return Status::Ok();
  };
  std::thread other([&] {
    StopConditions conditions;
    conditions.probe = &wait;
    EXPECT_TRUE(RunStoppable(conditions, work).ok());
  });
  making.get_future().wait();
  const std::atomic<bool> cancelled{true};
  StopConditions conditions;
  conditions.cancelled = &cancelled;
  EXPECT_EQ(RunStoppable(conditions, work).code(), StatusCode::kCancelled);
  stopped.set_value();
  other.join();
}

TEST(Occurrences, AreCountedByOneSearchWhileAnotherIsStopped) {
  IndexedDocuments index(R"({"searchableAttributes":["text"]})");
  std::map<DocId, std::string> batch;
  for (DocId docid = 0; docid < 20'000; ++docid)
    batch.emplace(docid, R"({"text":"one two three four"})");
  index.Put(batch);
  const auto snapshot = index.snapshot();
  const TextReader& text = *snapshot->segments[0]->text;
  ExpectStoppable([&] { text.Occurrences(); });
  EXPECT_TRUE(text.has_occurrences());
}

TEST(StemTables, AreMadeByOneSearchWhileAnotherIsStopped) {
  IndexedDocuments index(R"({"searchableAttributes":["text"]})");
  std::map<DocId, std::string> batch;
  for (DocId docid = 0; docid < 20'000; ++docid)
    batch.emplace(docid, R"({"text":"word)" + std::to_string(docid) + R"("})");
  index.Put(batch);
  const auto snapshot = index.snapshot();
  const TextReader& text = *snapshot->segments[0]->text;
  ExpectStoppable([&] { text.Stems(text::Locale::kEng); });
  EXPECT_EQ(text.StemLanguages(), std::vector{text::Locale::kEng});
}

}  // namespace
}  // namespace gannet::segment
