#include "segment/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "bitmap/postings_codec.h"
#include "segment/layout.h"
#include "test_seed.h"

namespace gannet::segment {
namespace {

struct Shape {
  uint32_t documents, fields, words, length_max, fields_per_document;
};

// Random documents at docids with gaps. Compares the lists of every word and the record of every
// document with plain maps.
void Compare(const Shape& shape, std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  const std::string path =
      std::filesystem::temp_directory_path() / ("builder-" + std::to_string(TestSeed()));
  using Occurrence = std::tuple<FieldId, uint32_t, std::string>;  // field, position, word
  std::map<DocId, std::set<Occurrence>> records;
  std::map<std::string, std::map<uint32_t, std::set<DocId>>> lists;  // by field, or early position
  {
    auto builder = SegmentBuilder::Create(path);
    ASSERT_TRUE(builder.ok());
    DocId docid = 0;
    for (uint32_t d = 0; d < shape.documents; ++d) {
      docid += 1 + below(3);
      (*builder)->BeginDocument(docid, "row");
      auto& record = records[docid];
      std::map<FieldId, uint32_t> next;
      for (uint32_t n = below(shape.length_max + 1); n > 0; --n) {
        // The fields of a document come in any order; the positions of each ascend.
        const auto field =
            static_cast<FieldId>((d + below(shape.fields_per_document)) % shape.fields);
        const uint32_t position = next[field] + (below(4) == 0 ? below(12) : 0);
        next[field] = position + 1;
        const std::string word = "w" + std::to_string(below(shape.words));
        (*builder)->AddWord(field, word, position);
        record.emplace(field, position, word);
        lists[word][field].insert(docid);
        if (position < kLeadingPositions) lists[word][kLeadingLists + position].insert(docid);
      }
      (*builder)->EndDocument();
    }
    EXPECT_GE((*builder)->memory_bytes(), records.size() * 8);
    ASSERT_TRUE((*builder)->Finish().ok());
  }
  auto file = SegmentFile::Open(path);
  ASSERT_TRUE(file.ok());
  const auto text = TextReader::Open(*file);
  ASSERT_TRUE(text.ok());
  std::vector<std::string> words;
  for (auto at = (*text)->terms().Begin(); at.Valid(); at.Next()) words.emplace_back(at.word());
  ASSERT_EQ(words.size(), lists.size());
  for (Ordinal ordinal = 0; ordinal < words.size(); ++ordinal) {
    std::map<uint32_t, std::set<DocId>> own;
    TextReader::ForEachList((*text)->PostingBlob(ordinal),
                            [&](uint32_t id, std::string_view postings) {
                              std::vector<DocId> docids;
                              PostingsReader(postings).ToVector(docids);
                              own[id] = {docids.begin(), docids.end()};
                              ASSERT_EQ(own[id].size(), docids.size());
                            });
    ASSERT_EQ(own, lists.at(words[ordinal])) << words[ordinal];
  }
  // Over all fields: the documents of a word, their number, and how many it shares with another
  // word.
  std::vector<std::set<DocId>> documents;
  for (Ordinal ordinal = 0; ordinal < words.size(); ++ordinal) {
    std::set<DocId>& expected = documents.emplace_back();
    for (const auto& [id, of_list] : lists.at(words[ordinal])) {
      if (id < kLeadingLists) expected.insert(of_list.begin(), of_list.end());
    }
    DocSetUnion join;
    (*text)->UnionPostings(ordinal, nullptr, join);
    std::vector<DocId> docids;
    join.Finish().ToVector(docids);
    ASSERT_EQ(std::set<DocId>(docids.begin(), docids.end()), expected) << words[ordinal];
    const auto [min, max] = (*text)->CountDocuments(ordinal);
    ASSERT_LE(min, expected.size()) << words[ordinal];
    ASSERT_GE(max, expected.size()) << words[ordinal];
    const Ordinal other = below(ordinal + 1);
    std::vector<DocId> common;
    std::set_intersection(expected.begin(), expected.end(), documents[other].begin(),
                          documents[other].end(), std::back_inserter(common));
    ASSERT_EQ((*text)->CommonDocuments(ordinal, other), common.size())
        << words[ordinal] << ' ' << words[other];
    ASSERT_EQ((*text)->CommonDocuments(other, ordinal), common.size())
        << words[ordinal] << ' ' << words[other];
  }
  uint32_t local = 0;
  for (const auto& [docid, record] : records) {
    ASSERT_EQ((*text)->docids()[local], docid);
    ForwardDocument document;
    ASSERT_TRUE((*text)->OpenRecord((*text)->ForwardRecord(local++), document));
    std::set<Occurrence> own;
    PositionCursor cursor(document);
    for (uint32_t i = 0; i < document.words.count; ++i) {
      const auto [field, position] = cursor.At(i);
      own.emplace(field, position, words[document.words.at(i)]);
    }
    ASSERT_EQ(own, record) << docid;
  }
  EXPECT_TRUE((*file)->Health().ok());
  std::filesystem::remove(path);
}

TEST(SegmentBuilder, AgreesWithPlainMaps) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(Compare({1 + static_cast<uint32_t>(random() % 300),
                                     1 + static_cast<uint32_t>(random() % 9), 40, 60, 5},
                                    random));
  }
  ASSERT_NO_FATAL_FAILURE(Compare({40'000, 3, 5'000, 20, 3}, random));
}

// Frequent words: the documents that are not in the longest list are stored.
TEST(SegmentBuilder, ListsTheDocumentsOfFrequentWordsInAnyFields) {
  std::mt19937_64 random(TestSeed());
  ASSERT_NO_FATAL_FAILURE(Compare({5'000, 4, 12, 20, 1}, random));  // each document has one field
  ASSERT_NO_FATAL_FAILURE(Compare({5'000, 3, 12, 20, 3}, random));
  ASSERT_NO_FATAL_FAILURE(Compare({3'000, 40, 60, 60, 40}, random));
}

// A word whose longest list has all of its documents, and one in two fields that share none, with
// the same number in each.
TEST(SegmentBuilder, CountsTheDocumentsOfFrequentWords) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("builder-" + std::to_string(TestSeed()));
  constexpr uint32_t kDocuments = 2'000;
  {
    auto builder = SegmentBuilder::Create(path);
    ASSERT_TRUE(builder.ok());
    for (DocId docid = 0; docid < kDocuments; ++docid) {
      (*builder)->BeginDocument(docid, "row");
      (*builder)->AddWord(static_cast<FieldId>(1 + docid % 2), "apart", 0);
      (*builder)->AddWord(3, "nested", 0);
      if (docid % 4 == 0) (*builder)->AddWord(5, "nested", 1);
      (*builder)->EndDocument();
    }
    ASSERT_TRUE((*builder)->Finish().ok());
  }
  auto file = SegmentFile::Open(path);
  ASSERT_TRUE(file.ok());
  const auto text = TextReader::Open(*file);
  ASSERT_TRUE(text.ok());
  for (const char* word : {"apart", "nested"}) {
    const auto ordinal = (*text)->terms().Find(word);
    ASSERT_TRUE(ordinal.has_value());
    const auto [min, max] = (*text)->CountDocuments(*ordinal);
    EXPECT_EQ(min, kDocuments) << word;
    EXPECT_EQ(max, kDocuments) << word;
    EXPECT_EQ((*text)->CommonDocuments(*ordinal, *ordinal), kDocuments) << word;
  }
  EXPECT_TRUE((*file)->Health().ok());
  std::filesystem::remove(path);
}

TEST(SegmentBuilder, WritesDocumentsAndFieldsWhoseIndexesTake33Bits) {
  std::mt19937_64 random(TestSeed());
  ASSERT_NO_FATAL_FAILURE(Compare({70'000, 40'000, 30, 4, 2}, random));
}

}  // namespace
}  // namespace gannet::segment
