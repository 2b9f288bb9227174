// Columns collected in parts equal, byte for byte, those collected at once.
#include "indexing/bounded_columns.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "indexing/column_documents.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

constexpr FieldId kOuter = 1, kField = 3, kOther = 5, kFieldEnd = 8;

// A file with the columns of the documents: the field, and in every thousandth document another
// one. What the field has is also in elements: of none, one or several in each document.
std::string FileOf(const std::vector<ColumnDocument>& documents, const std::string& folder,
                   uint64_t memory_bytes) {
  BoundedColumns columns(folder, memory_bytes);
  for (const ColumnDocument& document : documents) {
    segment::ColumnBuilder& values = columns.BeginDocument(document.docid);
    values.ExpectElements(kOuter);
    const bool elements = document.docid % 3 > 0 && values.BeginElement(kOuter);
    if (document.exists) values.MarkExists(kField);
    if (document.null) values.MarkNull(kField);
    if (document.empty) values.MarkEmpty(kField);
    for (const double number : document.numbers) {
      values.AddNumber(kField, number);
      if (elements && document.docid % 3 == 2) {
        values.EndElement();
        EXPECT_TRUE(values.BeginElement(kOuter));
      }
    }
    for (const SpelledString& string : document.strings)
      values.AddString(kField, string.normalised, string.spelling);
    if (elements) values.EndElement();
    if (document.docid % 1'000 == 0) values.MarkExists(kOther);
  }
  const std::string path = folder + "/columns";
  auto file = segment::SegmentFileWriter::Create(path);
  EXPECT_TRUE(file.ok());
  segment::ColumnsWriter writer(**file);
  const auto pause = [](uint64_t) { return Status::Ok(); };
  for (FieldId field = 0; field < kFieldEnd; ++field) {
    EXPECT_TRUE(columns.Write(field, writer, pause).ok());
  }
  EXPECT_TRUE(columns.WriteMaps(writer, pause).ok());
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_TRUE((*file)->Finish().ok());
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST(BoundedColumns, AreThoseCollectedAtOnce) {
  std::mt19937_64 random(TestSeed());
  const std::string folder =
      std::filesystem::temp_directory_path() / ("gannet-columns-" + std::to_string(random()));
  std::filesystem::create_directory(folder);
  const ColumnShape shapes[] = {
      {0, 1, 1, 1, true, true, 0, false},
      {30, 1, 10, 2, true, true, 0, false},
      {1'000, 1, 300, 1, true, true, 0, false},
      {5'000, 1, 3'000, 3, true, true, 0, false},
      {60'000, 1, 200'000, 2, true, true, 0, false},
  };
  for (const ColumnShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.documents << " documents");
    const std::vector<ColumnDocument> documents = RandomColumnDocuments(shape, random);
    const std::string whole = FileOf(documents, folder, UINT64_MAX);
    ASSERT_TRUE(FileOf(documents, folder, 1 << 20) == whole);
    // One part for every few documents.
    if (shape.documents <= 5'000) ASSERT_TRUE(FileOf(documents, folder, 1) == whole);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gannet::indexing
