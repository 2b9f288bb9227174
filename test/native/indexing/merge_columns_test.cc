// A merged column equals, byte for byte, the column of the same documents collected one after
// another.
#include "indexing/merge_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "indexing/column_documents.h"
#include "segment/columns.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

using segment::ColumnReader;
using segment::ColumnWriter;

// Removes the flags of a column from its bytes, and returns them.
std::string TakeFlags(std::string& blob) {
  const size_t footer = blob.size() - (segment::kColumnPartCount + 1) * sizeof(uint64_t);
  size_t at = 0;
  for (size_t part = 0; part < static_cast<size_t>(segment::ColumnPart::kFlags); ++part) {
    at += (LoadFixed<uint64_t>(blob.data() + footer + part * sizeof(uint64_t)) + 7) / 8 * 8;
  }
  const auto size = LoadFixed<uint64_t>(
      blob.data() + footer + static_cast<size_t>(segment::ColumnPart::kFlags) * sizeof(uint64_t));
  const std::string flags = blob.substr(at, size);
  blob.replace(at, size, size, '\0');
  return flags;
}

class MergedColumns {
 public:
  MergedColumns(const std::vector<ColumnDocument>& documents, uint32_t sources)
      : of_source_(sources), docids_(sources), sets_(sources) {
    std::vector<DocSet> dead(sources);
    for (const ColumnDocument& document : documents) {
      const uint32_t s = document.source;
      if (document.live) {
        const auto local = static_cast<uint32_t>(of_source_[s].size());
        if (!runs_.empty() && runs_.back().source == s &&
            runs_.back().local + runs_.back().count == local) {
          ++runs_.back().count;
        } else {
          runs_.push_back({s, local, 1});
        }
        live_.push_back(&document);
        live_docids_.push_back(document.docid);
        sets_[s].Add(document.docid);
      } else {
        dead[s].Add(document.docid);
      }
      of_source_[s].push_back(&document);
      docids_[s].push_back(document.docid);
    }
    for (uint32_t s = 0; s < sources; ++s) {
      lives_.push_back(dead[s].empty() ? LiveDocuments() : LiveDocuments(sets_[s]));
      // A source may not know the field.
      const bool known = std::any_of(of_source_[s].begin(), of_source_[s].end(),
                                     [](const ColumnDocument* d) { return d->exists; });
      blobs_.push_back(known ? ColumnOf(of_source_[s]) : "");
    }
  }

  std::string Expected() const { return ColumnOf(live_); }
  std::string Merged() const {
    std::vector<ColumnReader> readers;
    readers.reserve(blobs_.size());
    std::vector<ColumnSource> sources;
    for (size_t s = 0; s < blobs_.size(); ++s) {
      if (!blobs_[s].empty()) readers.push_back(*ColumnReader::Open(blobs_[s]));
      sources.push_back({blobs_[s].empty() ? nullptr : &readers.back(), &lives_[s], docids_[s]});
    }
    const auto spelling_of = [&](size_t source, uint32_t local,
                                 std::string_view normalised) -> Result<std::string> {
      for (const SpelledString& string : of_source_[source][local]->strings) {
        if (string.normalised == normalised) return string.spelling;
      }
      return Status::Internal("called for a document without the string");
    };
    std::string blob;
    ColumnWriter writer([&](std::string_view bytes) { blob += bytes; });
    const auto pause = [&](uint64_t bytes) {
      EXPECT_EQ(bytes, blob.size());
      return Status::Ok();
    };
    const Status status =
        ColumnMerge(sources, runs_, live_docids_, spelling_of, pause).Write(writer);
    EXPECT_TRUE(status.ok()) << status.message();
    return blob;
  }

 private:
  std::vector<std::vector<const ColumnDocument*>> of_source_;
  std::vector<std::vector<DocId>> docids_;
  std::vector<DocSet> sets_;
  std::vector<LiveDocuments> lives_;
  std::vector<std::string> blobs_;
  std::vector<MergeRun> runs_;
  std::vector<const ColumnDocument*> live_;
  std::vector<DocId> live_docids_;
};

TEST(ColumnMerge, WritesWhatWouldHaveBeenCollected) {
  std::mt19937_64 random(TestSeed());
  const ColumnShape shapes[] = {
      {0, 2, 1, 1, true, true, 0, true},          {1, 1, 1, 1, true, false, 0, false},
      {300, 1, 40, 1, true, true, 0, false},      {300, 3, 40, 1, true, false, 3, false},
      {300, 3, 40, 1, false, true, 5, true},      {400, 7, 20, 4, true, true, 5, true},
      {400, 2, 300, 2, false, true, 9, true},     {3'000, 4, 500, 3, true, true, 1, false},
      {40'000, 3, 6, 1, true, true, 1, false},    {40'000, 5, 30'000, 1, true, false, 2, true},
      {20'000, 3, 9'000, 3, true, true, 1, true}, {500, 3, 200, 1, true, true, 10, true},
  };
  for (const ColumnShape& shape : shapes) {
    for (int round = 0; round < (shape.documents < 1'000 ? 20 : 1); ++round) {
      SCOPED_TRACE(testing::Message()
                   << shape.documents << " documents in " << shape.sources << " sources, "
                   << shape.distinct << " values, up to " << shape.values_max << " each, "
                   << shape.dead_of_ten << " of 10 dead");
      const std::vector<ColumnDocument> documents = RandomColumnDocuments(shape, random);
      const MergedColumns columns(documents, shape.sources);
      std::string expected = columns.Expected(), merged = columns.Merged();
      ASSERT_TRUE(ColumnReader::Open(merged).ok());
      const std::string expected_flags = TakeFlags(expected), flags = TakeFlags(merged);
      ASSERT_TRUE(merged == expected);
      ASSERT_EQ(flags.size(), expected_flags.size());
      for (size_t i = 0; i < flags.size(); ++i) {
        // The flag that documents spell a string differently stays even when those that did are
        // dead.
        ASSERT_EQ(flags[i] & ~1, expected_flags[i] & ~1);
        ASSERT_GE(flags[i] & 1, expected_flags[i] & 1);
        if (shape.dead_of_ten == 0) ASSERT_EQ(flags[i], expected_flags[i]);
      }
    }
  }
}

TEST(ColumnMerge, EndsWhenPauseFails) {
  std::mt19937_64 random(TestSeed());
  const std::vector<ColumnDocument> documents =
      RandomColumnDocuments({5'000, 1, 4'000, 1, true, false, 0, false}, random);
  std::vector<const ColumnDocument*> all;
  std::vector<DocId> docids;
  for (const ColumnDocument& document : documents) {
    all.push_back(&document);
    docids.push_back(document.docid);
  }
  const std::string blob = ColumnOf(all);
  const auto reader = ColumnReader::Open(blob);
  ASSERT_TRUE(reader.ok());
  const LiveDocuments live;
  const ColumnSource source{&*reader, &live, docids};
  const MergeRun run{0, 0, static_cast<uint32_t>(docids.size())};
  ColumnWriter writer([](std::string_view) {});
  int calls = 0;
  const auto pause = [&](uint64_t) {
    return ++calls == 3 ? Status::Cancelled("enough") : Status::Ok();
  };
  EXPECT_EQ(ColumnMerge({&source, 1}, {&run, 1}, docids, nullptr, pause).Write(writer).code(),
            StatusCode::kCancelled);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace gannet::indexing
