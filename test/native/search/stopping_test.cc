// Every kind of request with inputs of the maximum size: between two points at which its work can
// be stopped it takes less CPU time than a plain loop of some 50 ms, and wherever it is stopped,
// the next request has the same result as before.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/sanitizers.h"
#include "base/stop_point.h"
#include "index/indexed_documents.h"
#include "search/complete_request.h"
#include "search/documents.h"
#include "search/execute.h"
#include "search/federate.h"
#include "search/similar.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

// Attempts at a request whose gap was too long, each next to a plain loop of its own: other work on
// the machine lengthens CPU time too, for seconds at a time.
constexpr int kAttempts = 10;

double ThreadCpuMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// CPU ms of a plain loop over 20 MB, the best of several: about 50 on a machine of 2024.
double PlainLoopMs() {
  constexpr size_t kBytes = size_t{20} << 20;
  const std::string text(kBytes, 'a');
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const double begun = ThreadCpuMs();
    std::string out;
    uint32_t hash = 0;
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
      out += static_cast<char>(hash >> 24);
    }
    if (out.size() == kBytes) best = std::min(best, ThreadCpuMs() - begun);
  }
  return best;
}

std::string Repeat(std::string_view part, size_t times) {
  std::string out;
  out.reserve(part.size() * times);
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

constexpr std::string_view kSettings = R"({
  "filterableAttributes":[{"attributePatterns":["tag","n","wide.*","long","_geo"],
    "features":{"facetSearch":true,"filter":{"equality":true,"comparison":true}}}],
  "sortableAttributes":["tag","n","_geo"],
  "pagination":{"maxTotalHits":1000000},
  "faceting":{"maxValuesPerFacet":1000000,"sortFacetValuesBy":{"*":"count"}},
  "searchCutoffMs":100000000,
  "embedders":{"e":{"dimensions":64}},"embedderStates":{"e":{"computes":false}}})";

// A random word from a vocabulary of some thousand; frequent words are much more likely.
std::string WordOf(std::mt19937& random) {
  const double x = std::uniform_real_distribution<>(0, 1)(random);
  const auto n = static_cast<unsigned>(x * x * x * 8000);
  std::string word;
  for (unsigned left = n + 3; left > 0; left /= 12) word += static_cast<char>('a' + left % 12);
  return word;
}

constexpr DocId kDocuments = 30000;

// Enough documents for every loop to be long, in two segments, and a few large ones.
void Fill(IndexedDocuments& index, std::mt19937& random) {
  std::map<DocId, std::string> batch;
  std::map<DocId, IndexedDocuments::Embeddings> embeddings;
  std::normal_distribution<float> normal;
  for (DocId docid = 0; docid < kDocuments; ++docid) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += WordOf(random) + ' ';
    const auto at = [&](double limit) {
      return std::to_string(std::uniform_real_distribution<>(-limit, limit)(random));
    };
    batch[docid] = "{\"title\":\"" + text + "\",\"tag\":\"\u00e9\u00e9t" + std::to_string(docid) +
                   "\",\"n\":" + std::to_string(docid % 50000) + ",\"_geo\":{\"lat\":" + at(80) +
                   ",\"lng\":" + at(170) + "}}";
    auto& vector = embeddings[docid].emplace_back(64);
    for (float& number : vector) number = normal(random);
    if (docid == kDocuments / 2) {
      index.Put(batch, embeddings);
      batch.clear();
      embeddings.clear();
    }
  }
  // Large documents, with a margin below the limit on a slow machine (docs/internals/stopping.md):
  // many words; one word; many highlights; many values; many members.
  DocId docid = kDocuments;
  batch[docid++] = "{\"long\":" + Quoted(Repeat("aa b ", 1 << 16)) + "}";
  batch[docid++] = "{\"title\":" + Quoted("aa " + Repeat("x", 1 << 20)) + "}";
  batch[docid++] = "{\"title\":" + Quoted("aa " + Repeat("e\u0301", 1 << 19)) + "}";
  batch[docid++] = "{\"title\":" + Quoted("aa " + Repeat("\u8a9e", 1 << 18)) + "}";
  std::string values, members;
  for (int i = 0; i < 50000; ++i) {
    values += (i > 0 ? ",\"v" : "\"v") + std::to_string(i) + '"';
    members += (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\":\"aa\"";
  }
  batch[docid++] = "{\"title\":\"aa\",\"tag\":[" + values + "]}";
  batch[docid++] = "{\"title\":\"aa\",\"wide\":{" + members + "}}";
  index.Put(batch, embeddings);
}

Result<std::string> BodyOf(Result<SearchResponse> response) {
  GANNET_RETURN_IF_ERROR(response.status());
  return std::move(response->body);
}

struct Row {
  std::string name;
  std::function<Result<std::string>()> run;
};

class StoppingTest : public testing::Test {
 protected:
  StoppingTest() : index_(std::string(kSettings)), random_(TestSeed()) {
    Fill(index_, random_);
    AddRows();
  }

  void Add(std::string name, std::function<Result<std::string>()> run) {
    rows_.push_back({std::move(name), std::move(run)});
  }

  void Search(const std::string& name, const std::string& members) {
    Add("search: " + name,
        [=, this] { return BodyOf(ExecuteSearch(index_.index(), Complete(members), Caller(0))); });
  }
  void FacetSearch(const std::string& name, const std::string& members) {
    Add("facet search: " + name, [=, this] {
      return BodyOf(ExecuteFacetSearch(
          index_.index(), "{\"facetName\":\"tag\",\"responseBytesMax\":128000000," + members + "}",
          Caller(0)));
    });
  }
  void Listed(const std::string& name, const std::string& members) {
    Add("listing: " + name, [=, this]() -> Result<std::string> {
      GANNET_ASSIGN_OR_RETURN(const auto listing, Listing::Open(index_.index(), Complete(members)));
      std::string out;
      GANNET_RETURN_IF_ERROR(listing->Next(UINT64_MAX, out).status());
      return out;
    });
    Add("export: " + name, [=, this]() -> Result<std::string> {
      GANNET_ASSIGN_OR_RETURN(const auto stream,
                              DocumentStream::Open(index_.index(), "{" + members + "}"));
      return stream->Next(size_t{256} << 20);
    });
  }
  void Filtered(const std::string& name, const std::string& filter) {
    const std::string members = "\"containsFilter\":true,\"filter\":" + filter;
    Search("filter " + name, members);
    FacetSearch("filter " + name, members);
    Listed("filter " + name, members);
    Add("similar: filter " + name, [=, this]() -> Result<std::string> {
      const std::string text = "{" + members + "}";
      SearchRequest request = *SearchRequest::FromJson(json::Value::Parse(text));
      request.page.limit = 20;
      request.hybrid = Hybrid{"e", 1, std::nullopt};
      const auto snapshot = index_.snapshot();
      const Deadline deadline = DeadlineOf(*snapshot, request);
      GANNET_ASSIGN_OR_RETURN(const auto run,
                              RunSimilar(snapshot, std::move(request), 5, deadline));
      std::string hits;
      for (const Hit& hit : run->hits()) hits += std::to_string(hit.docid) + ' ';
      return hits;
    });
    Add("federated: filter " + name, [=, this] {
      index::Index* const indexes[] = {&index_.index()};
      return BodyOf(ExecuteFederatedSearch(
          indexes,
          R"({"requestUid":"r","federation":{"limit":20,"offset":0},"responseBytesMax":128000000,"otherIndexes":[],)"
          R"("queries":[{"indexUid":"a","federationOptions":{"weight":1},)" +
              members + "}]}",
          Caller(0)));
    });
  }

  void AddTexts() {
    const std::pair<std::string, std::string> texts[] = {
        {"accents", Repeat("\u00e9", 1000000)},
        {"ideographs", Repeat("\u8a9e", 1000000)},
        {"emoji", Repeat("\U0001f600", 500000)},
        {"marks", "a" + Repeat("\u0301", 1000000)},
        {"quotes", Repeat("\"a", 500000)},
        {"exclusions", "aa" + Repeat(" -a", 300000)},
        {"excluded phrases", "aa" + Repeat(" -\"a b\"", 150000)},
        {"words", Repeat("abc ", 250000)},
        {"one word", Repeat("a", 1000000)},
        {"long words", Repeat(Repeat("ab", 100) + ' ', 5000)},
        {"ten words", "aa bb ab ba ca ac da ad ea ae"},
        {"a phrase", "\"aa bb\""},
    };
    for (const auto& [name, text] : texts) {
      const std::string q = "\"q\":" + Quoted(text);
      Search(name, q);
      Search(name + ", marked",
             q + R"(,"limit":200,"attributesToHighlight":["*"],"showMatchesPosition":true,)"
                 R"("attributesToCrop":["*"],"responseBytesMax":128000000)");
      FacetSearch(name, q);
      FacetSearch(name + " for values", "\"facetQuery\":" + Quoted(text));
    }
    FacetSearch("a value with typos", "\"facetQuery\":\"\u00e9\u00e9t1234567890123\"");
    FacetSearch("all values", "\"facetQuery\":\"\"");
  }

  void AddQuestions() {
    std::string question;
    for (int i = 0; i < 512; ++i) question += WordOf(random_) + ' ';
    const std::pair<std::string, std::string> questions[] = {
        {"a question", question},
        {"a question of frequent words", "a b c d aa bb ab ba ca ac da ad ea ae "},
        {"a question of one letter", "a"},
        {"a question of endless words", Repeat("abc ", 250000)},
        {"a question without spaces", Repeat("\u8a9e", 1000000)},
    };
    for (const auto& [name, text] : questions) {
      const std::string q = R"("matchingStrategy":"natural","q":)" + Quoted(text);
      Search(name, q);
      Search(name + ", all documents",
             q + R"(,"limit":1000000,"showRankingScoreDetails":true,"responseBytesMax":512000000)");
      Search(name + ", those above a score", q + R"(,"rankingScoreThreshold":0.3)");
    }
  }

  void AddFilters() {
    std::string in = "tag IN [", ors = "n = 1", numbers = "n IN [";
    for (int i = 0; i < 10000; ++i) {
      in += (i > 0 ? ", v" : "v") + std::to_string(i);
      numbers += (i > 0 ? ", " : "") + std::to_string(i * 3);
    }
    for (int i = 0; i < 20000; ++i) ors += " OR n = " + std::to_string(i);
    Filtered("of a long list", Quoted(in + "]"));
    Filtered("of a long list of numbers", Quoted(numbers + "]"));
    Filtered("of many alternatives", Quoted(ors));
    Filtered("of parentheses", Quoted(Repeat("(", 150) + "n > 1" + Repeat(")", 150)));
    Filtered("of negations", Quoted(Repeat("NOT ", 100) + "n > 1"));
    Filtered("of many parts", "[" + Repeat("\"tag CONTAINS 't'\",", 20) + "\"n > 5\"]");
    Filtered("of beginnings", "[[" + Repeat("\"tag STARTS WITH 'eet1'\",", 2000) + "\"n > 5\"]]");
    Filtered("of ranges", Quoted("n > 5" + Repeat(" OR n 10 TO 49000", 2000)));
    Filtered("by distance", Quoted("_geoRadius(0, 0, 9000000)" +
                                   Repeat(" OR _geoBoundingBox([60, 60], [-60, -60])", 200)));
    Filtered("of a long text", Quoted("tag = '" + Repeat("\u00e9", 1000000) + "'"));
  }

  void AddPages() {
    std::string names = "[";
    for (int i = 0; i < 65536; ++i)
      names += (i > 0 ? ",\"wide.n" : "\"wide.n") + std::to_string(i) + '"';
    names += "]";
    const std::string large = R"("limit":1000000,"responseBytesMax":512000000)";
    Search("all documents", large);
    Search("all documents of a word", R"("q":"a",)" + large);
    Search("all documents, marked", R"("q":"a","attributesToHighlight":["*"],)" + large);
    Search("all documents with scores", R"("q":"a","showRankingScoreDetails":true,)" + large);
    Search("by value", R"("sort":["tag:desc","n:asc"],)" + large);
    for (const std::string formula :
         {"log(1 + n) * decay(_geo, _geoPoint(1, 1), 500km)", "_rankingScore * sqrt(n)",
          "if(n > 7, pow(n, 0.5), decay(n, now, 30d))"}) {
      const std::string sort = R"("sort":[")" + formula + R"(:desc"])";
      Search("by " + formula, sort);
      Search("by " + formula + ", all documents", sort + "," + large);
      Search("by " + formula + ", of a word", R"("q":"a",)" + sort);
    }
    Search("sorted by distance", R"("sort":["_geoPoint(1,1):asc"],)" + large);
    Search("distinct", R"("distinct":"n",)" + large);
    Search("facets", R"("facets":["*"],"limit":1)");
    Search("facets of a word", R"("q":"a","facets":["*"],"limit":1)");
    Search("attributes", "\"attributesToRetrieve\":" + names);
    Search("attributes to mark", R"("q":"a","attributesToHighlight":)" + names);
    Search("attributes to crop", R"("q":"a","attributesToCrop":)" + names);
    Listed("all", R"("limit":1000000)");
    Listed("sorted", R"("limit":1000000,"sort":["tag:desc"])");
    Listed("fields", "\"limit\":1000,\"fields\":" + names);
    const std::string vector = Repeat("AACAPwAAgD8AAIA/", 21) + "AACAPw==";
    const std::string hybrid = R"("hybrid":{"embedder":"e","semanticRatio":)";
    Search("vectors", hybrid + "1},\"vector\":\"" + vector + "\"," + large);
    Search("hybrid", hybrid + "0.5},\"q\":\"a b\",\"vector\":\"" + vector + "\"," + large);
    Add("federated: many queries", [=, this] {
      constexpr size_t kQueries = 10;
      std::string queries;
      for (size_t i = 0; i < kQueries; ++i)
        queries +=
            (i > 0 ? "," : "") +
            std::string(
                R"({"indexUid":"a","q":"a","distinct":"n","federationOptions":{"weight":1}})");
      const std::vector<index::Index*> indexes(kQueries, &index_.index());
      return BodyOf(ExecuteFederatedSearch(
          indexes,
          R"({"requestUid":"r","federation":{"limit":100000,"offset":0,"facetsByIndex":{"a":["tag"]}},)"
          R"("responseBytesMax":128000000,"otherIndexes":[],"queries":[)" +
              queries + "]}",
          Caller(0)));
    });
  }

  void AddRows() {
    AddTexts();
    AddQuestions();
    AddFilters();
    AddPages();
  }

  IndexedDocuments index_;
  std::mt19937 random_;
  std::vector<Row> rows_;
};

// The response without the parts that differ each time.
std::string Comparable(const Result<std::string>& response) {
  if (!response.ok()) return response.status().message();
  std::string text = *response;
  const std::string_view name = "\"processingTimeMs\":";
  if (const size_t at = text.find(name); at != text.npos) {
    const size_t begin = at + name.size();
    text.erase(begin, text.find_first_not_of("0123456789", begin) - begin);
  }
  return text;
}

struct Measured {
  // CPU ms: the longest between two stop points, and of the whole request.
  double longest = 0, all = 0;
  uint64_t points = 0;
  std::string response;
};

Measured Measure(const Row& row) {
  Measured out;
  const double begun = ThreadCpuMs();
  double last = begun;
  const std::function<void()> note = [&] {
    const double now = ThreadCpuMs();
    out.longest = std::max(out.longest, now - last);
    last = now;
    ++out.points;
  };
  StopConditions conditions;
  conditions.probe = &note;
  const auto response = RunStoppable(conditions, row.run);
  note();
  out.all = last - begun;
  out.response = Comparable(response);
  return out;
}

TEST_F(StoppingTest, WorkCanBeStoppedEverywhere) {
  const double first_loop = PlainLoopMs();
  for (const Row& row : rows_) {
    SCOPED_TRACE(row.name);
    Measured measured = Measure(row);
#ifndef GANNET_SANITIZED
    double longest_allowed = first_loop;
    for (int i = 1; i < kAttempts && measured.longest >= longest_allowed; ++i) {
      longest_allowed = PlainLoopMs();
      measured.longest = Measure(row).longest;
    }
    EXPECT_LT(measured.longest, longest_allowed) << "of " << measured.all << " ms";
#endif
    RecordProperty(
        row.name, std::to_string(measured.longest) + " of " + std::to_string(measured.all) + " ms");
    const std::string& expected = measured.response;
    // Stopped at any point.
    for (const StopReason reason : {StopReason::kCancelled, StopReason::kOverdue}) {
      std::atomic<bool> cancelled{false};
      // Caches may have shortened the work.
      uint64_t left = std::uniform_int_distribution<uint64_t>(1, measured.points)(random_);
      StopConditions stopping;
      stopping.cancelled = &cancelled;
      const std::function<void()> stop = [&] {
        if (left == 0 || --left > 0) return;
        if (reason == StopReason::kCancelled) cancelled = true;
        if (reason == StopReason::kOverdue) stopping.end = {};
      };
      stopping.probe = &stop;
      const auto stopped = RunStoppable(stopping, row.run);
      if (reason == StopReason::kCancelled && left == 0) {
        ASSERT_FALSE(stopped.ok());
        EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
      }
      const std::string again = Comparable(row.run());
      const auto differ =
          std::mismatch(expected.begin(), expected.end(), again.begin(), again.end());
      const auto at = static_cast<size_t>(differ.first - expected.begin());
      EXPECT_TRUE(expected == again) << expected.substr(at, 200) << "\nis now\n"
                                     << again.substr(at, 200);
    }
  }
}

}  // namespace
}  // namespace gannet::search
