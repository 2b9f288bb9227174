#include "search/results/projection.h"

#include <gtest/gtest.h>

#include "search/results/sample.h"

namespace gannet::search {
namespace {

using Names = std::optional<std::vector<std::string>>;

std::string Select(const Sample& sample, size_t row, const Projection& projection) {
  std::string out = "{";
  bool first = true;
  AppendProjected(sample.row(row), sample.fields(), projection, first, out);
  return out + "}";
}

const char* const kFilms =
    R"([{"id":1,"title":"Solaris","a.b":"flat","crew":{"music":"Artemyev","cast":[{"name":"Banionis","role":{"name":"Kelvin","scenes":[1,2]}},{"name":"Bondarchuk"},"extra",[{"name":"Inner"}]],"empty":{}},"seen":null,"tags":["sf",["nested",3]]},)"
    R"({"id":2,"title":"Stalker","crew":[{"music":"Artemyev","year":1979},{"music":"none"}],"a":{"b":"nested"}}])";

TEST(ProjectionTest, ASearchReturnsTheNamedPartsOfADocument) {
  const Sample films(kFilms);
  const std::string all =
      R"({"id":1,"title":"Solaris","a.b":"flat","crew":{"music":"Artemyev","cast":[{"name":"Banionis","role":{"name":"Kelvin","scenes":[1,2]}},{"name":"Bondarchuk"},"extra",[{"name":"Inner"}]],"empty":{}},"seen":null,"tags":["sf",["nested",3]]})";
  const struct {
    Names names;
    std::string first, second;
  } kCases[] = {
      {Names{{"title", "*"}}, all, ""},
      {std::nullopt, all, ""},
      {Names{std::vector<std::string>{}}, "{}", "{}"},
      {Names{{"title"}}, R"({"title":"Solaris"})", R"({"title":"Stalker"})"},
      {Names{{"crew.music"}}, R"({"crew":{"music":"Artemyev"}})",
       R"({"crew":[{"music":"Artemyev"},{"music":"none"}]})"},
      {Names{{"crew.cast.name"}},
       R"({"crew":{"cast":[{"name":"Banionis"},{"name":"Bondarchuk"},"extra",[{"name":"Inner"}]]}})",
       R"({"crew":[{},{}]})"},
      {Names{{"crew.cast.role.name", "id"}},
       R"({"id":1,"crew":{"cast":[{"role":{"name":"Kelvin"}},{},"extra",[{}]]}})",
       R"({"id":2,"crew":[{},{}]})"},
      {Names{{"crew.cast.role.scenes"}},
       R"({"crew":{"cast":[{"role":{"scenes":[1,2]}},{},"extra",[{}]]}})", R"({"crew":[{},{}]})"},
      {Names{{"crew.empty"}}, R"({"crew":{"empty":{}}})", R"({"crew":[{},{}]})"},
      {Names{{"crew.nothing"}}, "{}", "{}"},
      {Names{{"crew.cast", "crew"}}, "",
       R"({"crew":[{"music":"Artemyev","year":1979},{"music":"none"}]})"},
      {Names{{"a.b"}}, R"({"a.b":"flat"})", R"({"a":{"b":"nested"}})"},
      {Names{{"a"}}, "{}", R"({"a":{"b":"nested"}})"},
      {Names{{"unknown", "seen"}}, R"({"seen":null})", "{}"},
      {Names{{"Title"}}, "{}", "{}"},
      {Names{{"crew.*"}}, "{}", "{}"},
      {Names{{"title", "title"}}, R"({"title":"Solaris"})", R"({"title":"Stalker"})"},
      {Names{{"tags"}}, R"({"tags":["sf",["nested",3]]})", "{}"},
      {Names{{"tags.x"}}, "{}", "{}"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.names && !test.names->empty() ? test.names->front() : "");
    const Projection projection = Projection::ForSearch(test.names, std::nullopt, films.fields());
    if (!test.first.empty()) {
      EXPECT_EQ(Select(films, 0, projection), test.first);
    }
    if (!test.second.empty()) {
      EXPECT_EQ(Select(films, 1, projection), test.second);
    }
  }
}

TEST(ProjectionTest, NamesMustBeDisplayedLiterally) {
  const Sample films(kFilms);
  const Names displayed{{"id", "crew.cast", "title", "gone"}};
  const auto select = [&](Names names, size_t row) {
    return Select(films, row, Projection::ForSearch(names, displayed, films.fields()));
  };
  EXPECT_EQ(select(Names{{"*"}}, 1), R"({"id":2,"title":"Stalker","crew":[{},{}]})");
  EXPECT_EQ(select(std::nullopt, 1), R"({"id":2,"title":"Stalker","crew":[{},{}]})");
  EXPECT_EQ(select(Names{{"crew"}}, 0), "{}");
  EXPECT_EQ(select(Names{{"crew.cast.name"}}, 0), "{}");
  EXPECT_EQ(select(Names{{"crew.music"}}, 0), "{}");
  EXPECT_EQ(select(Names{{"seen", "id"}}, 0), R"({"id":1})");
  EXPECT_EQ(select(Names{{"crew.cast"}}, 1), R"({"crew":[{},{}]})");
}

TEST(ProjectionTest, WhatLiesBelowADisplayedNameIsDisplayed) {
  const Sample sample(
      R"([{"a":{"b":1,"c.d":2},"a.b":3,"a.c.d":4,"ab":5,"x.y.z":6,"x.y":{"z":7,"w":8}}])");
  const auto select = [&](Names displayed, Names names = std::nullopt) {
    return Select(sample, 0, Projection::ForSearch(names, displayed, sample.fields()));
  };
  EXPECT_EQ(select(Names{{"a"}}), R"({"a":{"b":1,"c.d":2},"a.b":3,"a.c.d":4})");
  EXPECT_EQ(select(Names{{"a.c"}}), R"({"a":{"c.d":2},"a.c.d":4})");
  EXPECT_EQ(select(Names{{"a.b"}}), R"({"a":{"b":1},"a.b":3})");
  EXPECT_EQ(select(Names{{"x"}}), R"({"x.y.z":6,"x.y":{"z":7,"w":8}})");
  EXPECT_EQ(select(Names{{"x.y.z"}}), R"({"x.y.z":6,"x.y":{"z":7}})");
  EXPECT_EQ(select(Names{{"a"}}, Names{{"a"}}), R"({"a":{"b":1,"c.d":2}})");
  EXPECT_EQ(select(Names{{"a"}}, Names{{"a.b"}}), "{}");
  EXPECT_EQ(select(Names{{"a.gone"}}), "{}");
}

TEST(ProjectionTest, ParentsThatAreScalarsAreLeftOutAndEmptiedOnesStay) {
  const Sample sample(
      R"([{"p":{"q":{"r":1}}},{"p":{"q":{"s":1}}},{"p":{"q":7}},{"p":null},{"p":[]},{"p":[1,null,{"q":2}]}])");
  const Projection projection =
      Projection::ForSearch(Names{{"p.q.r"}}, std::nullopt, sample.fields());
  EXPECT_EQ(Select(sample, 0, projection), R"({"p":{"q":{"r":1}}})");
  EXPECT_EQ(Select(sample, 1, projection), R"({"p":{"q":{}}})");
  EXPECT_EQ(Select(sample, 2, projection), R"({"p":{}})");
  EXPECT_EQ(Select(sample, 3, projection), "{}");
  EXPECT_EQ(Select(sample, 4, projection), R"({"p":[]})");
  EXPECT_EQ(Select(sample, 5, projection), R"({"p":[1,null,{}]})");
}

TEST(ProjectionTest, DocumentRoutesIgnoreDisplayedAttributes) {
  const Sample films(kFilms);
  EXPECT_TRUE(Projection::ForDocuments(std::nullopt, films.fields()).all());
  EXPECT_TRUE(Projection::ForDocuments(Names{{"id", "*"}}, films.fields()).all());
  EXPECT_EQ(
      Select(films, 0,
             Projection::ForDocuments(Names{{"unknown", "crew.music", "a.b"}}, films.fields())),
      R"({"a.b":"flat","crew":{"music":"Artemyev"}})");
  EXPECT_EQ(
      Select(films, 0, Projection::ForDocuments(Names{std::vector<std::string>{}}, films.fields())),
      "{}");
}

TEST(ProjectionTest, NamesThatOnlyShareCharactersAreNotBelow) {
  const Sample sample(R"([{"a":{"b":1,"bc":2},"a-b":{"c":3},"ab":4,"a!":5}])");
  const auto select = [&](Names names) {
    return Select(sample, 0, Projection::ForSearch(names, std::nullopt, sample.fields()));
  };
  EXPECT_EQ(select(Names{{"a.b"}}), R"({"a":{"b":1}})");
  EXPECT_EQ(select(Names{{"a-b", "a.bc", "a!"}}), R"({"a":{"bc":2},"a-b":{"c":3},"a!":5})");
}

TEST(ProjectionTest, VectorsAreNeverWrittenAndMembersMayFollowOthers) {
  const Sample sample(R"([{"id":1,"_vectors":{"m":[1]},"na\"me":"x\ny"}])");
  std::string out = R"({"_rankingScore":1)";
  bool first = false;
  AppendProjected(sample.row(0), sample.fields(),
                  Projection::ForDocuments(std::nullopt, sample.fields()), first, out);
  EXPECT_EQ(out, R"({"_rankingScore":1,"id":1,"na\"me":"x\ny")");
  EXPECT_EQ(Select(sample, 0, Projection::ForDocuments(Names{{"_vectors"}}, sample.fields())),
            "{}");
}

}  // namespace
}  // namespace gannet::search
