// A segment file: what was written is read back, and damage is always detected.
#include "segment/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "bitmap/random_docids.h"
#include "indexing/write_path_model.h"

namespace gannet::segment {
namespace {

using indexing::TestFolder;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(SegmentFile, GivesBackTheSectionsThatWereWritten) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 20; ++round) {
    TestFolder folder;
    const std::string path = folder.path() + "/segment";
    std::map<SectionId, std::string> expected;
    {
      auto writer = SegmentFileWriter::Create(path);
      ASSERT_TRUE(writer.ok());
      for (SectionId id = 1; id < 6; ++id) {
        (*writer)->BeginSection(id);
        std::string& bytes = expected[id];
        const size_t sizes[] = {0, 1, 7, 100, 16 << 10, 3 << 20};
        const size_t size = sizes[random() % 6] + random() % 3;
        while (bytes.size() < size) {
          const std::string piece(std::min<size_t>(size - bytes.size(), 1 + random() % 40000),
                                  static_cast<char>(random()));
          (*writer)->Append(piece);
          bytes += piece;
        }
        EXPECT_EQ((*writer)->section_bytes(), bytes.size());
        (*writer)->EndSection();
      }
      ASSERT_TRUE((*writer)->Finish().ok());
    }
    const auto file = SegmentFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    for (const auto& [id, bytes] : expected) {
      EXPECT_TRUE((*file)->ReadAll(id) == bytes);
      const uint64_t from = random() % (bytes.size() + 1),
                     size = random() % (bytes.size() - from + 1);
      EXPECT_TRUE((*file)->Read(id, from, size) == std::string_view(bytes).substr(from, size));
    }
    EXPECT_TRUE((*file)->Verify().ok());
    EXPECT_TRUE((*file)->Read(1, expected[1].size(), 1).empty());
    EXPECT_TRUE((*file)->corrupt()) << "a read out of range comes from damaged offsets";
  }
}

TEST(SegmentFile, IsRemovedWhenItIsNotFinished) {
  TestFolder folder;
  const std::string path = folder.path() + "/segment";
  {
    auto writer = SegmentFileWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    (*writer)->AddSection(1, "bytes");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

#ifdef __linux__
// Bytes of a file that are in the page cache.
size_t CachedBytes(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto size = static_cast<size_t>(lseek(descriptor, 0, SEEK_END));
  void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  std::vector<unsigned char> pages((size + 4095) / 4096);
  EXPECT_EQ(mincore(map, size, pages.data()), 0);
  munmap(map, size);
  close(descriptor);
  return 4096 *
         static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                           [](unsigned char page) { return (page & 1) != 0; }));
}

// False: the file system always keeps its pages, as one in memory does.
bool DropFromCache(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fsync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
  return CachedBytes(path) == 0;
}

// Reading more than is needed around a small list or row would fill the memory and take the disk's
// time.
TEST(SegmentFile, ReadsFromTheDiskOnlyWhatIsNeeded) {
  TestFolder folder;
  const std::string path = folder.path() + "/segment";
  std::string bytes(32 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); i += 64) bytes[i] = static_cast<char>(i / 4096);
  {
    auto writer = SegmentFileWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    (*writer)->AddSection(1, bytes);
    ASSERT_TRUE((*writer)->Finish().ok());
  }
  if (!DropFromCache(path)) GTEST_SKIP() << "the page cache cannot be emptied here";
  auto opened = SegmentFile::Open(path);
  ASSERT_TRUE(opened.ok());
  const SegmentFile& file = **opened;
  const size_t at_open = CachedBytes(path);
  EXPECT_LE(at_open, 4 * kBlockBytes) << "header, sums, directory";
  EXPECT_EQ(file.Read(1, 7'000'000, 300), std::string_view(bytes).substr(7'000'000, 300));
  EXPECT_LE(CachedBytes(path), at_open + 2 * kBlockBytes);
  // Expect loads the bytes it is given, and no others.
  file.Expect(file.Find(1), 20'000'000, 100'000);
  EXPECT_EQ(file.Read(1, 20'000'000, 100'000), std::string_view(bytes).substr(20'000'000, 100'000));
  EXPECT_GE(CachedBytes(path), at_open + 100'000);
  EXPECT_LE(CachedBytes(path), at_open + 100'000 + 4 * kBlockBytes);
  // From front to back, in small steps.
  for (size_t at = 0; at < bytes.size(); at += 1000) {
    const size_t size = std::min<size_t>(1000, bytes.size() - at);
    ASSERT_EQ(file.Read(1, at, size), std::string_view(bytes).substr(at, size));
  }
  EXPECT_TRUE(file.Health().ok());
  // Out of range or absent: nothing happens.
  file.Expect(file.Find(1), bytes.size(), 1);
  file.Expect(file.Find(2), 0, 1);
  file.Expect(file.Find(1), 1, ~uint64_t{0});
  file.WillNeed(file.Find(1), bytes.size() - 1, 2);
  file.WillNeed(file.Find(2), 0, 1);
  file.WillNeedAll(2);
  EXPECT_TRUE(file.Health().ok());
}

// Flips a bit in place; mappings of the file show the change.
void Damage(const std::string& path, size_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

void CheckAllAhead(const SegmentFile& file) {
  for (uint64_t at = 0, next = 0; at < file.size(); at = next) {
    next = file.CheckAhead(at);
    ASSERT_GT(next, at);
    ASSERT_LE(next, file.size());
  }
}

// A file of one section, 1, which begins in its first block.
std::shared_ptr<SegmentFile> WriteAndOpen(const std::string& path, const std::string& bytes) {
  auto writer = SegmentFileWriter::Create(path);
  EXPECT_TRUE(writer.ok());
  (*writer)->AddSection(1, bytes);
  EXPECT_TRUE((*writer)->Finish().ok());
  auto file = SegmentFile::Open(path);
  EXPECT_TRUE(file.ok());
  return *file;
}

size_t ResidentFileBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0, resident = 0, shared = 0;
  statm >> pages >> resident >> shared;
  return shared * 4096;
}

TEST(SegmentFile, CheckedAheadIsNotCheckedAgainAndLeavesDamageToItsReader) {
  std::mt19937_64 random(TestSeed() + 5);
  for (const size_t size :
       {size_t{0}, size_t{100}, kBlockBytes, size_t{1} << 20, (size_t{3} << 20) + 12345}) {
    TestFolder folder;
    const std::string path = folder.path() + "/segment";
    const auto file = WriteAndOpen(path, std::string(size, 'a'));
    const uint64_t begin = file->Find(1)->begin;
    const size_t blocks = (begin + size + kBlockBytes - 1) / kBlockBytes;
    std::vector<bool> damaged(blocks);
    for (size_t i = 0; i < blocks / 8; ++i) {
      const size_t offset = begin + random() % size;
      if (damaged[offset / kBlockBytes] || offset < kBlockBytes)
        continue;  // the first one was checked by Open
      damaged[offset / kBlockBytes] = true;
      Damage(path, offset);
    }
    CheckAllAhead(*file);
    EXPECT_EQ(file->CheckAhead(file->size()), file->size());
    EXPECT_FALSE(file->corrupt()) << "nobody has read it";
    // A reader of these blocks would now find them damaged.
    for (size_t block = 0; block < blocks; ++block) {
      if (!damaged[block])
        Damage(path, std::min(std::max<size_t>(begin, block * kBlockBytes + random() % kBlockBytes),
                              begin + size));
    }
    for (size_t block = 0; block < blocks; ++block) {
      const uint64_t from = std::max(begin, block * kBlockBytes),
                     to = std::min(begin + size, (block + 1) * kBlockBytes - kSectionPadding);
      if (from >= to) continue;
      EXPECT_EQ(file->Read(1, from - begin, to - from).empty(), damaged[block])
          << "block " << block << " of " << blocks;
    }
    EXPECT_EQ(file->corrupt(), std::find(damaged.begin(), damaged.end(), true) != damaged.end());
  }
}

TEST(SegmentFile, CheckedAheadIsOnlyWhatIsInMemoryAndIsNotMapped) {
  TestFolder folder;
  const std::string path = folder.path() + "/segment";
  const std::string bytes(32 << 20, 'a');
  {
    const auto file = WriteAndOpen(path, bytes);
    const size_t before = ResidentFileBytes();
    CheckAllAhead(*file);
    EXPECT_LT(ResidentFileBytes(), before + (size_t{1} << 20));
    Damage(path, 20 << 20);
    EXPECT_FALSE(file->ReadAll(1).empty()) << "it was checked";
    Damage(path, 20 << 20);
  }
  if (!DropFromCache(path)) GTEST_SKIP() << "the page cache cannot be emptied here";
  const auto file = SegmentFile::Open(path);
  ASSERT_TRUE(file.ok());
  const size_t before = CachedBytes(path);
  CheckAllAhead(**file);
  EXPECT_EQ(CachedBytes(path), before);
  EXPECT_EQ((*file)->ReadAll(1), bytes);
}
#endif

// A real index of one segment, whose file is damaged at one position at a time.
class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed() + 3);
    auto index = index::Index::Open(folder_.path());
    ASSERT_TRUE(index.ok());
    ASSERT_TRUE(
        indexing::RunSteps(
            **index,
            indexing::SettingsStep(
                R"({"filterableAttributes":[{"attributePatterns":["*"],"features":{"filter":{"equality":true}}}]})"),
            {})
            .ok());
    indexing::DocumentGenerator generator(random_);
    model_.BeginBatch();
    std::string payload = "[";
    for (int i = 0; i < 300; ++i) {
      indexing::Fields fields = generator.MakeFields();
      fields["id"] = std::to_string(i);
      model_.Add(std::to_string(i), fields, false, false);
      payload += (i > 0 ? "," : "") + generator.Spell(fields);
    }
    model_.EndBatch();
    ASSERT_TRUE(indexing::RunSteps(**index, indexing::DocumentsStep(0), {payload + "]"}).ok());
    ASSERT_EQ((*index)->snapshot()->segments.size(), 1u);
    path_ = (*index)->FilePath((*index)->snapshot()->segments[0]->files.base_file);
    whole_ = ReadFile(path_);
  }

  // Everything the readers return for a damaged file must be right, or the file must be marked as
  // damaged. Returns whether the damage was detected.
  bool Noticed(const std::string& bytes) {
    std::filesystem::remove(path_);  // the old bytes may be mapped
    WriteFile(path_, bytes);
    auto index = index::Index::Open(folder_.path());
    if (!index.ok()) {
      EXPECT_EQ(index.status().code(), StatusCode::kCorruption) << index.status().message();
      return true;
    }
    const auto snapshot = (*index)->snapshot();
    for (const auto& segment : snapshot->segments) {
      // Reads on in spite of errors and checks at the end.
      RowCodec codec(snapshot->dictionary);
      std::vector<RowField> fields;
      uint64_t sum = 0;
      for (uint32_t local = 0; local < segment->text->document_count(); ++local) {
        const auto row = codec.Expand(segment->rows->at(local));
        if (row.ok()) ParseRow(*row, fields);
        segment->text->ForEachRun(
            segment->text->ForwardRecord(local), [](FieldId, uint32_t) {},
            [&](FieldId, uint32_t, const PackedOrdinals& run) {
              for (uint32_t i = 0; i < run.count; ++i) sum += run.at(i);
            });
      }
      DocSetUnion words;
      for (auto at = segment->text->terms().Begin(); at.Valid(); at.Next()) {
        segment->text->UnionPostings(at.ordinal(), nullptr, words);
      }
      DocSet all = words.Finish();
      for (const FieldId field : segment->columns->fields()) {
        const ColumnReader* column = segment->columns->Find(field);
        if (column != nullptr) column->UnionRange(0, column->value_count(), all);
      }
      (void)sum;
    }
    if (!snapshot->Health().ok()) {
      EXPECT_EQ(snapshot->Health().code(), StatusCode::kCorruption);
      // A merge must not copy the damage.
      const Status merged = indexing::MergeToOne(**index);
      EXPECT_EQ(merged.code(), StatusCode::kCorruption) << merged.message();
      return true;
    }
    return false;
  }

  TestFolder folder_;
  std::mt19937_64 random_;
  indexing::Model model_;
  std::string path_, whole_;
};

TEST_F(DamageTest, OfAnyByteIsNoticedWhenItIsReadOrVerified) {
  // All of the head and tail, and offsets in between.
  std::vector<size_t> offsets;
  for (size_t i = 0; i < 16; ++i) offsets.push_back(i);
  for (size_t i = 1; i <= 48; ++i) offsets.push_back(whole_.size() - i);
  for (int i = 0; i < 300; ++i) offsets.push_back(random_() % whole_.size());
  for (const size_t offset : offsets) {
    std::string bytes = whole_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1 << random_() % 8);
    if (!Noticed(bytes)) {
      // Padding that no reader uses: only Verify detects this.
      const auto file = SegmentFile::Open(path_);
      ASSERT_TRUE(file.ok());
      EXPECT_EQ((*file)->Verify().code(), StatusCode::kCorruption) << "byte " << offset;
    }
    if (HasFailure()) return;
  }
}

TEST_F(DamageTest, ByCuttingTheFileShortOrLosingItIsNoticed) {
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(Noticed(whole_.substr(0, random_() % whole_.size())));
  EXPECT_TRUE(Noticed(""));
  EXPECT_TRUE(Noticed(whole_ + "x"));
  std::filesystem::remove(path_);
  EXPECT_EQ(index::Index::Open(folder_.path()).status().code(), StatusCode::kCorruption);
  WriteFile(path_, whole_);
  auto index = index::Index::Open(folder_.path());
  ASSERT_TRUE(index.ok());
  indexing::ExpectIndexHolds(**index, model_);
}

}  // namespace
}  // namespace gannet::segment
