// Words that contain a word of the query, compared with a scan of all words.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "comparisons.h"
#include "indexing/merge.h"
#include "search/query/query_bench.h"
#include "search/searched_fields.h"

namespace gannet::search {
namespace {

constexpr const char* kPartSettings = R"({"substringAttributes":["sku","info"],
    "typoTolerance":{"enabled":false,"disableOnWords":["abc"]}})";

// The fields of a document and their words.
using FieldWords = std::map<std::string, std::vector<std::string>>;

class PartsBench {
 public:
  explicit PartsBench(std::mt19937_64& random) : random_(random), index_(kPartSettings) {
    for (uint64_t batches = 1 + random_() % 4; batches > 0; --batches) Put();
    if (random_() % 2 == 0) Delete();
    if (random_() % 2 == 0) Merge();
  }

  std::string RandomWord(uint64_t min, uint64_t max) {
    static const char* const kLetters[] = {"a", "b", "c", "d", "ß"};
    std::string word;
    for (uint64_t length = min + random_() % (max - min + 1); length > 0; --length)
      word += kLetters[random_() % std::size(kLetters)];
    return word;
  }

  // The documents of class 3 of one query word.
  DocIds Found(const std::string& word, bool prefix,
               const std::optional<std::vector<std::string>>& fields) {
    const auto snapshot = index_.snapshot();
    const auto scope = SearchedFields(*snapshot, fields);
    EXPECT_TRUE(scope.ok());
    ParsedQuery parsed;
    Term term{.words = {word}};
    term.prefix = prefix;
    parsed.terms.push_back(std::move(term));
    QueryEvaluator query(*snapshot, *scope, parsed);
    // Restricted to some documents, it finds those of all.
    const DocSet all = query.documents.Of(0, kPartsClass);
    QueryEvaluator again(*snapshot, *scope, parsed);
    DocSet some;
    for (const auto& [docid, words] : documents_) {
      if (random_() % 3 == 0) some.Add(docid);
    }
    EXPECT_EQ(again.documents.Within(0, kPartsClass, some), all & some) << word;
    return DocIdsOf(all);
  }

  DocIds Expected(const std::string& word, bool prefix,
                  const std::optional<std::vector<std::string>>& fields) const {
    DocIds found;
    if (word == "abc") return found;
    const auto counts = [&](const std::string& name) {
      if (name != "sku" && name != "info.code") return false;
      return !fields || std::find(fields->begin(), fields->end(), name) != fields->end();
    };
    for (const auto& [docid, document] : documents_) {
      bool any = false;
      for (const auto& [name, words] : document) {
        if (!counts(name)) continue;
        for (const std::string& other : words) {
          const size_t at = other.find(word);
          any = any || (at != std::string::npos && other != word && !(prefix && at == 0));
        }
      }
      if (any) found.push_back(docid);
    }
    return found;
  }

 private:
  void Put() {
    std::map<DocId, std::string> batch;
    for (uint64_t n = 1 + random_() % 60; n > 0; --n) {
      const DocId docid = documents_.empty() || random_() % 4 != 0
                              ? static_cast<DocId>(documents_.size() + deleted_)
                              : static_cast<DocId>(random_() % (documents_.size() + deleted_));
      if (batch.contains(docid)) continue;
      FieldWords& words = documents_[docid] = {};
      const auto text = [&](const char* name) {
        std::string joined;
        for (uint64_t w = random_() % 4; w > 0; --w) {
          words[name].push_back(RandomWord(1, 9));
          joined += (joined.empty() ? "" : " ") + words[name].back();
        }
        return "\"" + joined + "\"";
      };
      batch[docid] = "{\"id\":" + std::to_string(docid) + ",\"title\":" + text("title") +
                     ",\"sku\":" + text("sku") + ",\"info\":{\"code\":" + text("info.code") + "}}";
    }
    index_.Put(batch);
  }

  void Delete() {
    DocIds docids;
    for (const auto& [docid, words] : documents_) {
      if (random_() % 3 == 0) docids.push_back(docid);
    }
    for (const DocId docid : docids) documents_.erase(docid);
    deleted_ += docids.size();
    index_.Delete(docids);
  }

  void Merge() {
    for (const auto& plan : indexing::PlanCompaction(*index_.snapshot(), ~uint64_t{0} >> 1)) {
      const auto merged = indexing::RunMerge(index_.index(), plan, false, 0);
      ASSERT_TRUE(merged.ok()) << merged.message();
    }
  }

  std::mt19937_64& random_;
  IndexedDocuments index_;
  std::map<DocId, FieldWords> documents_;
  size_t deleted_ = 0;
};

TEST(TermParts, FindTheDocumentsThatAScanFinds) {
  std::mt19937_64 random(TestSeed() + 5);
  Comparisons comparisons(3000);
  while (comparisons.Left()) {
    PartsBench bench(random);
    for (int i = 0; i < 300 && comparisons.Next(); ++i) {
      const std::string word = random() % 40 == 0 ? "abc" : bench.RandomWord(3, 5);
      const bool prefix = random() % 2 == 0;
      std::optional<std::vector<std::string>> fields;
      if (random() % 3 == 0) fields = {{random() % 2 == 0 ? "sku" : "title"}};
      ASSERT_EQ(bench.Found(word, prefix, fields), bench.Expected(word, prefix, fields))
          << word << (prefix ? "* " : " ") << (fields ? (*fields)[0] : "all") << ", seed "
          << TestSeed();
    }
  }
}

TEST(TermParts, CountTheFirstThousandWords) {
  IndexedDocuments index(R"({"substringAttributes":["sku"]})");
  std::map<DocId, std::string> batch;
  for (DocId docid = 0; docid < kPartWordsMax + 20; ++docid)
    batch[docid] = R"({"id":0,"sku":"x)" + std::to_string(10'000 + docid) + R"(part"})";
  index.Put(batch);
  const auto snapshot = index.snapshot();
  const auto scope = SearchedFields(*snapshot, std::nullopt);
  ParsedQuery parsed;
  parsed.terms.push_back({.words = {"part"}});
  QueryEvaluator query(*snapshot, *scope, parsed);
  const DocSet found = query.documents.Of(0, kPartsClass);
  EXPECT_EQ(found.size(), kPartWordsMax);
  EXPECT_EQ(found.max(), kPartWordsMax - 1);  // in byte order
}

// Shorter words, phrases and indexes without the setting look up nothing.
TEST(TermParts, NeedThreeCharactersAndTheSetting) {
  const std::map<DocId, std::string> documents{{0, R"({"id":0,"sku":"xabcx ßabß"})"}};
  for (const char* settings : {R"({})", R"({"substringAttributes":["sku"]})"}) {
    IndexedDocuments index(settings);
    index.Put(documents);
    const auto snapshot = index.snapshot();
    const bool on = std::string(settings) != "{}";
    EXPECT_EQ(snapshot->segments[0]->text->triples().size() > 0, on);
    const auto scope = SearchedFields(*snapshot, std::nullopt);
    const auto count = [&](const std::string& word, bool phrase) {
      ParsedQuery parsed;
      Term term{.words = {word}};
      term.phrase = phrase;
      parsed.terms.push_back(std::move(term));
      QueryEvaluator query(*snapshot, *scope, parsed);
      return query.documents.Of(0, kPartsClass).size();
    };
    EXPECT_EQ(count("abc", false), on ? 1u : 0u);
    EXPECT_EQ(count("abc", true), 0u);
    EXPECT_EQ(count("ßa", false), 0u);  // three bytes
    EXPECT_EQ(count("ßab", false), on ? 1u : 0u);
  }
}

}  // namespace
}  // namespace gannet::search
