#include "search/searched_fields.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "index/indexed_documents.h"

namespace gannet::search {
namespace {

using Names = std::vector<std::string>;

class SearchedFieldsOf : public testing::Test {
 protected:
  explicit SearchedFieldsOf(const std::string& settings =
                                R"({"searchableAttributes":["title","a","note"],
                                    "typoTolerance":{"disableOnAttributes":["note"]},
                                    "localizedAttributes":[{"attributePatterns":["title"],"locales":["eng"]},
                                                           {"attributePatterns":["note"],"locales":["swe"]}]})")
      : index_(settings) {
    index_.Put({{0, R"({"title":"x","a":{"b":"y","c":"z"},"note":"w","other":"v"})"}});
    snapshot_ = index_.snapshot();
  }

  // The names of the searched fields; all of them: "*".
  Names Searched(const FieldScope& scope) const {
    if (scope.all) return {"*"};
    Names names;
    for (size_t f = 0; f < snapshot_->fields->size(); ++f) {
      const auto field = static_cast<FieldId>(f);
      if (scope.Searches(field)) names.push_back(snapshot_->fields->name(field));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  Names SearchedBy(const std::optional<Names>& attributes) const {
    const auto scope = SearchedFields(*snapshot_, attributes);
    EXPECT_TRUE(scope.ok()) << scope.status().message();
    return Searched(*scope);
  }
  std::vector<text::Locale> Locales(const std::optional<Names>& attributes,
                                    std::vector<text::Locale> wanted) const {
    return QueryLocales(*snapshot_, *SearchedFields(*snapshot_, attributes), wanted);
  }

  IndexedDocuments index_;
  std::shared_ptr<const index::Snapshot> snapshot_;
};

TEST_F(SearchedFieldsOf, AllAreSearchedUnlessSomeAreNamed) {
  EXPECT_EQ(SearchedBy(std::nullopt), (Names{"*"}));
  EXPECT_EQ(SearchedBy(Names{"title", "*"}), (Names{"*"}));
  EXPECT_EQ(SearchedBy(Names{"title"}), (Names{"title"}));
  EXPECT_EQ(SearchedBy(Names{"a"}), (Names{"a", "a.b", "a.c"})) << "the settings list it";
  EXPECT_EQ(SearchedBy(Names{"a.c"}), (Names{"a.c"}));
  EXPECT_EQ(SearchedBy(Names{"n*", "title"}), (Names{"note", "title"}));
}

TEST_F(SearchedFieldsOf, ThatAreNotSearchableAreRefused) {
  const auto scope = SearchedFields(*snapshot_, Names{"title", "other"});
  ASSERT_FALSE(scope.ok());
  EXPECT_EQ(scope.status().detail(), "invalid_search_attributes_to_search_on");
  EXPECT_NE(scope.status().message().find("`other`"), std::string::npos);
}

TEST_F(SearchedFieldsOf, TellWhichTakeTypos) {
  const auto all = SearchedFields(*snapshot_, std::nullopt);
  EXPECT_TRUE(all->any_exact && all->index_exact);
  const auto title = SearchedFields(*snapshot_, Names{"title"});
  EXPECT_FALSE(title->any_exact);
  EXPECT_TRUE(title->index_exact);
  EXPECT_TRUE(title->index_tolerant.Has(*snapshot_->fields->Find("title")));
  EXPECT_FALSE(title->index_tolerant.Has(*snapshot_->fields->Find("note")));
}

TEST_F(SearchedFieldsOf, GiveTheLanguagesOfTheQuery) {
  const auto english = *text::ParseLocale("eng"), swedish = *text::ParseLocale("swe"),
             german = *text::ParseLocale("deu");
  using Locales = std::vector<text::Locale>;
  const auto& of = *this;
  EXPECT_EQ(of.Locales(Names{"title"}, {}), (Locales{english}));
  EXPECT_EQ(of.Locales(Names{"title", "note"}, {}).size(), 2u);
  EXPECT_EQ(of.Locales(Names{"title", "note"}, {swedish}), (Locales{swedish}));
  EXPECT_EQ(of.Locales(Names{"title"}, {german}), (Locales{english})) << "none reads German";
  EXPECT_EQ(of.Locales(Names{"title", "a"}, {german}), (Locales{}))
      << "some were read in no language";
}

}  // namespace
}  // namespace gannet::search
