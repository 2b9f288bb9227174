// Verifying an index: a valid one has no faults, and every damage is reported with the name of the
// damaged structure.
#include "index/verify.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/tuning.h"
#include "index/index.h"
#include "index/keys.h"
#include "indexing/write_path_model.h"
#include "segment/layout.h"
#include "segment/verify.h"
#include "store/env.h"
#include "test_seed.h"

namespace gannet::index {
namespace {

using indexing::DocumentsStep;
using indexing::RunSteps;
using indexing::SettingsStep;
using indexing::TestFolder;

constexpr const char* kSettings =
    R"({"filterableAttributes":["color","price","_geo",
          {"attributePatterns":["items"],"features":{"filter":{"elements":true}}}],
        "sortableAttributes":["price","_geo"],
        "substringAttributes":["title"],
        "embedders":{"e":{"dimensions":64}},"embedderStates":{"e":{"computes":false}}})";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteFile(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

segment::SectionId VectorsSection(segment::VectorPart part) {
  return segment::kVectorSections + static_cast<segment::SectionId>(part);
}

std::string Text(const IndexReport& report) {
  std::string out;
  for (const IndexFault& fault : report.faults)
    out += fault.file + ": " + fault.structure + ": " + fault.message + "\n";
  return out;
}

bool Tells(const IndexReport& report, const std::string& structure) {
  return std::any_of(report.faults.begin(), report.faults.end(),
                     [&](const IndexFault& fault) { return fault.structure == structure; });
}

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed() + 11);
    Tuning tuning = tuned_;
    tuning.signed_rows_min = 100;
    SetTuning(tuning);
    Open();
    Run(SettingsStep(kSettings), {});
    Run(DocumentsStep(0), {Payload(0, 1500)});
  }
  void TearDown() override { SetTuning(tuned_); }
  void Open() {
    index_.reset();
    auto opened = Index::Open(folder_.path());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    index_ = *opened;
  }
  void Run(const std::string& steps, const std::vector<std::string>& payloads) {
    const auto outcome = RunSteps(*index_, steps, payloads);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    ASSERT_EQ(outcome->find("error"), std::string::npos) << *outcome;
  }
  std::string Payload(int first, int count) {
    std::string out = "[", zeros;
    for (int i = 3; i < 64; ++i) zeros += ",0";
    for (int i = first; i < first + count; ++i) {
      const auto number = [&](int end) {
        return std::to_string(random_() % static_cast<unsigned>(end));
      };
      out += (i > first ? "," : "") + std::string("{\"id\":") + std::to_string(i) +
             ",\"title\":\"word" + number(3000) + " word" + number(100) + " again word" +
             number(10) + "\",\"color\":[\"c" + number(300) + "\",\"C" + number(300) +
             "\"],\"items\":[{\"n\":" + number(9) + "},{\"in\":[{\"n\":" + number(99) +
             "}]}],\"price\":" + number(500) + ",\"_geo\":{\"lat\":" + number(80) +
             ",\"lng\":" + number(170) + "},\"_vectors\":{\"e\":[1," + number(9) + ",-" +
             number(9) + ".5" + zeros + "]}}";
    }
    return out + "]";
  }
  // The index is closed while it is verified.
  IndexReport Verify() {
    index_.reset();
    return VerifyIndex(folder_.path());
  }
  std::string SegmentPath(size_t number = 0) {
    return index_->FilePath(index_->snapshot()->segments[number]->files.base_file);
  }
  // The file with the bytes of one section replaced, and right checksums.
  void Rewrite(const std::string& path, segment::SectionId changed, const std::string& bytes) {
    std::vector<std::pair<segment::SectionId, std::string>> sections;
    {
      const auto file = segment::SegmentFile::Open(path);
      ASSERT_TRUE(file.ok());
      for (const segment::SectionId id : (*file)->sections()) {
        sections.emplace_back(id, id == changed ? bytes : std::string((*file)->ReadAll(id)));
      }
    }
    std::filesystem::remove(path);
    auto writer = segment::SegmentFileWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    for (const auto& [id, content] : sections) (*writer)->AddSection(id, content);
    ASSERT_TRUE((*writer)->Finish().ok());
  }

  const Tuning tuned_ = Tuned();
  TestFolder folder_;
  std::mt19937_64 random_;
  std::shared_ptr<Index> index_;
};

TEST_F(VerifyTest, FindsNothingInAValidIndexOfAnyHistory) {
  EXPECT_EQ(Text(Verify()), "");
  Open();
  Run(DocumentsStep(0), {Payload(1000, 900)});
  Run(R"({"task":1,"kind":"deleteIds","ids":["3","4","1200"]},{"task":1,"kind":"deleteFilter","filter":[700,701]})",
      {});
  auto report = Verify();
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.documents, 1895u);
  EXPECT_EQ(report.segments, 2u);
  EXPECT_GT(report.words, 1000u);
  Open();
  Run(SettingsStep(R"({"filterableAttributes":["title"],"sortableAttributes":["id"]})"), {});
  EXPECT_EQ(Text(Verify()), "");
  Open();
  ASSERT_TRUE(indexing::MergeToOne(*index_).ok());
  report = Verify();
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.segments, 1u);
  EXPECT_EQ(report.documents, 1895u);
  Open();
  Run(R"({"task":1,"kind":"clear"})", {});
  report = Verify();
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.documents, 0u);
}

// For a frequent word in two fields: the index of its longest list, and the list of the other
// documents.
TEST_F(VerifyTest, ChecksWhatTheLongestListOfAFrequentWordLeaves) {
  std::string payload = "[";
  for (int i = 0; i < 1400; ++i) {
    payload += (i > 0 ? ",{\"id\":" : "{\"id\":") + std::to_string(i) +
               (i < 800 ? ",\"title\":\"frequent\"" : "") +
               (i >= 600 ? ",\"note\":\"frequent\"}" : "}");
  }
  Run(DocumentsStep(0), {payload + "]"});
  ASSERT_TRUE(indexing::MergeToOne(*index_).ok());
  const std::string path = SegmentPath();
  std::string postings;
  size_t at = 0;
  {
    const auto file = *segment::SegmentFile::Open(path);
    const auto text = *segment::TextReader::Open(file);
    const std::string_view section = file->ReadAll(segment::kPostingData);
    const std::string_view blob = text->PostingBlob(*text->terms().Find("frequent"));
    at = static_cast<size_t>(blob.data() - section.data());
    postings = section;
  }
  ASSERT_EQ(postings[at], 3 * 2 + 1) << "two fields, one early position, and the rest";
  index_.reset();
  for (const auto& [byte, value] :
       {std::pair{1, 1 - postings[at + 1]}, std::pair{1, 2}, std::pair{2, postings[at + 2] - 2}}) {
    std::string damaged = postings;
    damaged[at + static_cast<size_t>(byte)] = static_cast<char>(value);
    Rewrite(path, segment::kPostingData, damaged);
    const auto report = VerifyIndex(folder_.path());
    EXPECT_TRUE(Tells(report, segment::SectionName(segment::kPostingData)))
        << byte << ": " << value << "\n"
        << Text(report);
  }
  Rewrite(path, segment::kPostingData, postings);
  EXPECT_EQ(Text(VerifyIndex(folder_.path())), "");
}

TEST_F(VerifyTest, NamesTheSectionWhoseBytesHaveChanged) {
  const std::string path = SegmentPath();
  std::vector<segment::SectionId> ids = (*segment::SegmentFile::Open(path))->sections();
  const auto snapshot = index_->snapshot();
  EXPECT_EQ(ids.size(), 30u) << "all sections that a segment may have";
  index_.reset();
  const std::string whole = ReadFile(path);
  for (const segment::SectionId id : ids) {
    std::string_view bytes;
    const auto file = *segment::SegmentFile::Open(path);
    bytes = file->ReadAll(id);
    const size_t at = static_cast<size_t>(bytes.data() - file->ReadAll(ids[0]).data()) + 16 +
                      random_() % bytes.size();
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << random_() % 8);
    WriteFile(path, damaged);
    const auto report = VerifyIndex(folder_.path());
    EXPECT_TRUE(Tells(report, segment::SectionName(id))) << segment::SectionName(id) << "\n"
                                                         << Text(report);
    EXPECT_EQ(report.faults[0].file, "segments/" + path.substr(path.rfind('/') + 1));
    WriteFile(path, whole);
  }
  for (const auto& [from_end, name] :
       {std::pair<size_t, const char*>{1, "directory"}, {60, "directory"}}) {
    std::string damaged = whole;
    damaged[damaged.size() - from_end] = static_cast<char>(damaged[damaged.size() - from_end] ^ 4);
    WriteFile(path, damaged);
    EXPECT_TRUE(Tells(VerifyIndex(folder_.path()), name));
  }
  std::string damaged = whole;
  damaged[13] = 1;
  WriteFile(path, damaged);
  EXPECT_TRUE(Tells(VerifyIndex(folder_.path()), "header"));
  std::filesystem::remove(path);
  auto report = VerifyIndex(folder_.path());
  EXPECT_NE(Text(report).find("missing"), std::string::npos) << Text(report);
  WriteFile(path, whole);
  EXPECT_EQ(Text(VerifyIndex(folder_.path())), "");
}

TEST_F(VerifyTest, FindsInvalidContentWithValidChecksums) {
  const std::string path = SegmentPath();
  const auto file = *segment::SegmentFile::Open(path);
  index_.reset();
  // In some sections every changed bit is detected, in the others most (letters of words, words
  // whose documents are in a union anyway, numbers of fields, boxes of points and unused bits can
  // change undetected).
  const std::pair<segment::SectionId, int> sections[] = {
      {segment::kRowDocids, 8},
      {segment::kRowOffsets, 8},
      {segment::kTextMeta, 8},
      {segment::kTerms, 3},
      {segment::kPostingOffsets, 8},
      {segment::kPostingData, 8},
      {segment::kForwardOffsets, 8},
      {segment::kForwardData, 5},
      {segment::kFieldLengths, 8},
      {segment::kAdjacencyWords, 8},
      {segment::kAdjacencyData, 8},
      {segment::kPrefixWords, 4},
      {segment::kPrefixData, 8},
      {segment::kTripleKeys, 8},
      {segment::kTripleOffsets, 8},
      {segment::kTripleData, 8},
      {segment::kColumnDirectory, 5},
      {segment::kElementDirectory, 5},
      {segment::kColumnData, 2},
      {segment::kGeoPoints, 2},
      {segment::kVectorDirectory, 3},
      {VectorsSection(segment::VectorPart::kDocids), 8},
      {VectorsSection(segment::VectorPart::kFirstRows), 8},
      {VectorsSection(segment::VectorPart::kFlags), 3},
      {VectorsSection(segment::VectorPart::kRowDocids), 8},
      {VectorsSection(segment::VectorPart::kRows), 3},
      {VectorsSection(segment::VectorPart::kBytes), 4},
      {VectorsSection(segment::VectorPart::kScales), 2},
      {VectorsSection(segment::VectorPart::kSigns), 8}};
  for (const auto& [id, of_eight] : sections) {
    int seen = 0;
    // Sections in which only some bits are detected get enough tries that chance cannot miss half
    // of them.
    const int tries = of_eight == 8 ? 8 : 40,
              seen_min = of_eight == 8 ? 8 : of_eight * tries / 8 / 2;
    for (int i = 0; i < tries; ++i) {
      std::string bytes(file->ReadAll(id));
      const size_t at = random_() % bytes.size();
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random_() % 8);
      Rewrite(path, id, bytes);
      seen += VerifyIndex(folder_.path()).faults.empty() ? 0 : 1;
    }
    EXPECT_GE(seen, seen_min) << segment::SectionName(id);
    Rewrite(path, id, std::string(file->ReadAll(id)));
  }
  EXPECT_EQ(Text(VerifyIndex(folder_.path())), "");
}

TEST_F(VerifyTest, AFileThatReplacesAnotherIsAFault) {
  Run(DocumentsStep(0), {Payload(1500, 1500)});
  ASSERT_EQ(index_->snapshot()->segments.size(), 2u);
  const std::string path = SegmentPath(0), other = SegmentPath(1);
  const std::string bytes = ReadFile(path);
  EXPECT_EQ(Text(Verify()), "");
  WriteFile(path, ReadFile(other));
  const auto opened = Index::Open(folder_.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("is another one"), std::string::npos)
      << opened.status().message();
  EXPECT_TRUE(Tells(VerifyIndex(folder_.path()), "file"));
  WriteFile(path, bytes);
  EXPECT_EQ(Text(Verify()), "");
}

TEST_F(VerifyTest, FindsRecordsThatDoNotFitTheDocuments) {
  const auto apply = [&](Commit commit) {
    Open();
    ASSERT_TRUE(index_->Apply(std::move(commit)).ok());
  };
  Commit ghost;
  ghost.new_external_ids.emplace_back("ghost", 99999);
  apply(std::move(ghost));
  EXPECT_TRUE(Tells(Verify(), "external_ids")) << "an id that points nowhere";
  Commit back;
  back.removed_external_ids = {"ghost", "5"};
  apply(std::move(back));
  EXPECT_TRUE(Tells(Verify(), "external_ids")) << "a document without id";
  Commit other;
  other.new_external_ids.emplace_back("five", 5);
  apply(std::move(other));
  EXPECT_TRUE(Tells(Verify(), "external_ids")) << "a document under another id";
  Commit right;
  right.removed_external_ids = {"five"};
  right.new_external_ids.emplace_back("5", 5);
  apply(std::move(right));
  EXPECT_EQ(Text(Verify()), "");

  Commit counts;
  Open();
  const Distribution true_counts = index_->snapshot()->distribution;
  // A document too many, and a byte.
  for (const std::string value : {"", "1"}) {
    counts.distribution = true_counts;
    const FieldId id = *index_->snapshot()->fields->Find("id");
    counts.distribution->Count(std::array{segment::RowField{id, value}}, {}, 1);
    if (!value.empty()) counts.distribution->Count(std::array{segment::RowField{id, ""}}, {}, -1);
    apply(std::move(counts));
    EXPECT_TRUE(Tells(Verify(), "distribution")) << value;
    counts = {};
    Open();
  }
  Commit settings;
  settings.distribution.emplace();
  settings.settings = std::make_shared<const StoredSettings>(StoredSettings{"{\"a\":", {}});
  apply(std::move(settings));
  EXPECT_TRUE(Tells(Verify(), "settings"));

  for (const char* value : {"[1]", "{]", ""}) {
    Commit long_settings;
    StoredSettings stored{R"({"long":{"synonyms":2},"synonyms":null})", {}};
    if (*value != 0) stored.long_values.emplace("synonyms", value);
    long_settings.settings = std::make_shared<const StoredSettings>(stored);
    Open();
    apply(std::move(long_settings));
    EXPECT_TRUE(Tells(Verify(), "settings")) << value;
  }
  EXPECT_EQ(Index::Open(folder_.path()).status().code(), StatusCode::kCorruption);
}

TEST_F(VerifyTest, ReportsUnusedFilesAndAFileThatIsNoDatabase) {
  index_.reset();
  WriteFile(folder_.path() + "/segments/77", "half");
  auto report = Verify();
  EXPECT_EQ(Text(report), "");
  EXPECT_EQ(report.unused, std::vector<std::string>{"segments/77"});
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/segments/77")) << "nothing is changed";
  WriteFile(folder_.path() + "/index.mdb", "not a database");
  EXPECT_EQ(Verify().faults.at(0).file, "index.mdb");
  std::filesystem::remove(folder_.path() + "/index.mdb");
  EXPECT_EQ(Verify().faults.at(0).file, "index.mdb");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/index.mdb"));
}

TEST_F(VerifyTest, ADeletionByFilterForgetsTheIdHoweverItWasSpelled) {
  Run(DocumentsStep(0), {R"([{"id":-0,"title":"zero"}])"});
  const auto docid = index_->ReadExternalIds()->Find("0");
  ASSERT_TRUE(docid.has_value());
  Run("{\"task\":1,\"kind\":\"deleteFilter\",\"filter\":[" + std::to_string(*docid) + "]}", {});
  EXPECT_FALSE(index_->ReadExternalIds()->Find("0").has_value());
  EXPECT_EQ(Text(Verify()), "");
}

}  // namespace
}  // namespace gannet::index
