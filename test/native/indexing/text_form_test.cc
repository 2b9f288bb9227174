// An index keeps the form of its words until none of them is left (docs/format.md, `text_form`).
#include <gtest/gtest.h>

#include "index/verify.h"
#include "indexing/write_path_model.h"

namespace gannet::indexing {
namespace {

constexpr const char* kJapanese =
    R"({"localizedAttributes":[{"attributePatterns":["title"],"locales":["jpn"]}]})";
constexpr const char* kSeparators =
    R"({"localizedAttributes":[{"attributePatterns":["title"],"locales":["jpn"]}],"separatorTokens":["|"]})";
constexpr const char* kFacets =
    R"({"filterableAttributes":["title"],"localizedAttributes":[{"attributePatterns":["title"],"locales":["jpn"]}]})";

// Words of all segments, each once, with spaces between.
std::string WordsOf(const index::Index& index) {
  std::set<std::string> words;
  for (const auto& segment : index.snapshot()->segments) {
    for (auto at = segment->text->terms().Begin(); at.Valid(); at.Next()) words.emplace(at.word());
  }
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

class TextFormTest : public ::testing::Test {
 protected:
  void Reopen() {
    index_.reset();
    index_ = *index::Index::Open(folder_.path());
  }
  void Run(const std::string& step, const std::vector<std::string>& payloads = {}) {
    const auto outcome = RunSteps(*index_, step, payloads);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  }
  // An index of an early version: with words of a Japanese field, in which ideographs are
  // unchanged.
  void SetUp() override {
    Reopen();
    Run(SettingsStep(kJapanese));
    Run(DocumentsStep(0), {R"([{"id":1,"title":"a"}])"});
    index::Commit commit;
    commit.text_form = text::TextForm::kByLanguage;
    ASSERT_TRUE(index_->Apply(std::move(commit)).ok());
    Run(DocumentsStep(0), {R"([{"id":1,"title":"国"}])"});
    Reopen();
    ASSERT_EQ(WordsOf(*index_), "1 国");
  }

  TestFolder folder_;
  std::shared_ptr<index::Index> index_;
};

TEST_F(TextFormTest, StaysWhileWordsAreLeft) {
  Run(DocumentsStep(0), {R"([{"id":2,"title":"学"}])"});
  Run(SettingsStep(kFacets));
  Reopen();
  EXPECT_EQ(index_->snapshot()->text_form, text::TextForm::kByLanguage);
  EXPECT_EQ(WordsOf(*index_), "1 2 国 学");
  index_.reset();
  EXPECT_TRUE(index::VerifyIndex(folder_.path()).faults.empty());
}

TEST_F(TextFormTest, BecomesCurrentOnceTextsAreReadAgain) {
  Run(SettingsStep(kSeparators));
  EXPECT_EQ(WordsOf(*index_), "1 國");
  Run(DocumentsStep(0), {R"([{"id":2,"title":"学"}])"});
  Reopen();
  EXPECT_EQ(index_->snapshot()->text_form, text::kTextFormNow);
  EXPECT_EQ(WordsOf(*index_), "1 2 國 學");
  index_.reset();
  EXPECT_TRUE(index::VerifyIndex(folder_.path()).faults.empty());
}

TEST_F(TextFormTest, BecomesCurrentOnceNoDocumentIsLeft) {
  Run(R"({"task":1,"kind":"clear"},)" + DocumentsStep(0), {R"([{"id":2,"title":"学"}])"});
  EXPECT_EQ(WordsOf(*index_), "2 學");
  Reopen();
  EXPECT_EQ(index_->snapshot()->text_form, text::kTextFormNow);
  index_.reset();
  EXPECT_TRUE(index::VerifyIndex(folder_.path()).faults.empty());
}

}  // namespace
}  // namespace gannet::indexing
