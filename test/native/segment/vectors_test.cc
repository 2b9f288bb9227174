// Compares the vectors of a segment with plain lists of them.
#include "segment/vectors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "comparisons.h"

namespace gannet::segment {
namespace {

using Random = std::mt19937_64;

struct NaiveEntry {
  uint8_t flags;
  std::vector<std::vector<float>> rows;
  std::vector<RowSource> sources;
};
using NaiveVectors = std::map<DocId, NaiveEntry>;

std::string TempPath(const char* name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "gannet-vectors";
  std::filesystem::create_directories(folder);
  return folder / name;
}

NaiveVectors RandomVectors(Random& random, uint32_t dimensions) {
  NaiveVectors all;
  std::normal_distribution<float> component;
  const bool sources = random() % 2 == 0, spans = random() % 2 == 0;
  for (DocId docid = 0, end = static_cast<DocId>(random() % 300); docid < end; ++docid) {
    if (random() % 3 == 0) continue;
    NaiveEntry& entry = all[docid];
    entry.flags = static_cast<uint8_t>(random() % 4);
    for (size_t i = 0, count = random() % 4; i < count; ++i) {
      entry.rows.emplace_back(dimensions);
      for (float& x : entry.rows.back()) x = component(random);
      RowSource source;
      if (sources) source = {random(), static_cast<uint8_t>(random())};
      if (spans) source.span = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
      entry.sources.push_back(source);
    }
  }
  return all;
}

std::shared_ptr<const VectorsReader> WriteAndOpen(VectorsWriter& writer, const std::string& path) {
  auto file = SegmentFileWriter::Create(path);
  EXPECT_TRUE(file.ok());
  EXPECT_TRUE(writer.Write(**file).ok());
  EXPECT_TRUE((*file)->Finish().ok());
  auto reader = VectorsReader::Open(*SegmentFile::Open(path));
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return *reader;
}

void Add(VectorsWriter& writer, size_t embedder, const NaiveVectors& all) {
  for (const auto& [docid, entry] : all) {
    writer.BeginDocument(embedder, docid, entry.flags);
    for (size_t i = 0; i < entry.rows.size(); ++i)
      writer.AddRow(embedder, entry.rows[i], entry.sources[i]);
  }
}

void ExpectSame(const NaiveVectors& all, const VectorsReader& reader, const EmbedderShape& shape) {
  const EmbedderReader* found = reader.Find(shape.name);
  ASSERT_EQ(found == nullptr, all.empty());
  if (all.empty()) return;
  ASSERT_EQ(found->docids().size(), all.size());
  ASSERT_EQ(found->dimensions(), shape.dimensions);
  size_t local = 0;
  DocSet embedded, user_provided, regenerated;
  for (const auto& [docid, entry] : all) {
    ASSERT_EQ(found->docids()[local], docid);
    ASSERT_EQ(found->flags(local), entry.flags);
    const EmbedderReader::Rows rows = found->FindRows(docid);
    ASSERT_EQ(rows.end - rows.begin, entry.rows.size());
    if (!entry.rows.empty()) embedded.Add(docid);
    if ((entry.flags & kUserProvided) != 0) user_provided.Add(docid);
    if ((entry.flags & kRegenerate) != 0) regenerated.Add(docid);
    for (size_t i = 0; i < entry.rows.size(); ++i) {
      const auto row = static_cast<uint32_t>(rows.begin + i);
      ASSERT_EQ(found->row_docids()[row], docid);
      ASSERT_EQ(found->source(row), entry.sources[i]);
      std::vector<float> expected = entry.rows[i], read;
      if (shape.binary_quantised) {
        for (float& x : expected) x = x > 0 ? 1.0f : 0.0f;
        std::vector<uint64_t> bits(vector::BitWords(shape.dimensions));
        vector::QuantiseToBits(expected.data(), expected.size(), bits.data());
        ASSERT_TRUE(std::equal(bits.begin(), bits.end(), found->Bits(row, row + 1)));
      } else {
        std::vector<int8_t> bytes(shape.dimensions);
        const vector::ByteScale scale =
            vector::QuantiseToBytes(expected.data(), expected.size(), bytes.data());
        const EmbedderReader::ByteRows stored = found->Bytes(row, row + 1);
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), stored.bytes));
        ASSERT_EQ(stored.scales->scale, scale.scale);
        ASSERT_EQ(stored.scales->error, scale.error);
      }
      ASSERT_TRUE(found->ReadRow(row, read));
      ASSERT_EQ(read, expected);
    }
    ++local;
  }
  ASSERT_TRUE(found->FindRows(1000000).empty());
  ASSERT_TRUE(found->embedded() == embedded);
  ASSERT_TRUE(found->user_provided() == user_provided);
  ASSERT_TRUE(found->regenerated() == regenerated);
}

TEST(VectorsTest, ReadsBackWhatWasWritten) {
  Random random(TestSeed());
  for (Comparisons comparisons(40); comparisons.Next();) {
    const std::vector<EmbedderShape> shapes = {
        {"plain", static_cast<uint32_t>(1 + random() % 100), false},
        {"bits", static_cast<uint32_t>(1 + random() % 200), true}};
    const NaiveVectors plain = RandomVectors(random, shapes[0].dimensions),
                       bits = RandomVectors(random, shapes[1].dimensions);
    VectorsWriter writer(testing::TempDir(), shapes);
    Add(writer, 0, plain);
    Add(writer, 1, bits);
    ASSERT_EQ(writer.empty(), plain.empty() && bits.empty());
    const auto reader = WriteAndOpen(writer, TempPath("written"));
    ExpectSame(plain, *reader, shapes[0]);
    ExpectSame(bits, *reader, shapes[1]);
    ASSERT_EQ(reader->Find("other"), nullptr);

    // A copy in another file, with the first embedder as bits.
    const std::vector<EmbedderShape> turned = {{"plain", shapes[0].dimensions, true}, shapes[1]};
    VectorsWriter copies(testing::TempDir(), turned);
    for (size_t i = 0; i < turned.size(); ++i) {
      const EmbedderReader* from = reader->Find(turned[i].name);
      for (size_t local = 0; from != nullptr && local < from->docids().size(); ++local) {
        ASSERT_TRUE(copies.CopyDocument(i, *from, local, from->flags(local)).ok());
      }
    }
    const auto copied = WriteAndOpen(copies, TempPath("copied"));
    ExpectSame(plain, *copied, turned[0]);
    NaiveVectors expanded = bits;
    ExpectSame(expanded, *copied, turned[1]);
  }
}

TEST(VectorsTest, ManyRowsGoThroughATemporaryFile) {
  Random random(TestSeed());
  const EmbedderShape shape{"e", 1536, false};
  VectorsWriter writer(testing::TempDir(), {shape});
  NaiveVectors all;
  std::normal_distribution<float> component;
  for (DocId docid = 0; docid < 2000; ++docid) {
    NaiveEntry& entry = all[docid * 3];
    entry.flags = kUserProvided;
    entry.rows.emplace_back(shape.dimensions);
    for (float& x : entry.rows.back()) x = component(random);
    entry.sources.emplace_back();
  }
  Add(writer, 0, all);
  EXPECT_LT(writer.memory_bytes(), 10u << 20);
  ExpectSame(all, *WriteAndOpen(writer, TempPath("many")), shape);
}

TEST(VectorsTest, AFlippedBitIsFound) {
  Random random(TestSeed());
  const EmbedderShape shape{"e", 300, false};
  const NaiveVectors all = RandomVectors(random, shape.dimensions);
  if (all.empty()) return;
  VectorsWriter writer(testing::TempDir(), {shape});
  Add(writer, 0, all);
  const std::string path = TempPath("flipped");
  WriteAndOpen(writer, path);
  const auto size = std::filesystem::file_size(path);
  for (int i = 0; i < 50; ++i) {
    const auto at = static_cast<std::streamoff>(random() % size);
    FILE* file = fopen(path.c_str(), "r+b");
    const auto flip = [&] {
      fseek(file, at, SEEK_SET);
      const int byte = fgetc(file);
      fseek(file, at, SEEK_SET);
      fputc(byte ^ 1 << (i % 8), file);
      fflush(file);
    };
    flip();
    bool found = false;
    if (auto opened = SegmentFile::Open(path); !opened.ok()) {
      found = true;
    } else if (auto reader = VectorsReader::Open(*opened); !reader.ok()) {
      found = true;
    } else {
      found = !(*opened)->Verify().ok();
    }
    EXPECT_TRUE(found) << "byte " << at;
    flip();
    fclose(file);
  }
}

}  // namespace
}  // namespace gannet::segment
