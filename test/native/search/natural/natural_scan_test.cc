// The worth of documents for a question, against plain loops over their words; and who comes first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "comparisons.h"
#include "index/indexed_documents.h"
#include "search/natural/bm25f.h"
#include "search/natural/natural_scan.h"

namespace gannet::search {
namespace {

using Random = std::mt19937_64;
using Words = std::vector<std::string>;

constexpr const char* kFields[] = {"title", "text"};
constexpr double kWeights[] = {3, 1};
constexpr const char* kSettings =
    R"({"searchableAttributes":["title","text"],"prefixSearch":"disabled",)"
    R"("typoTolerance":{"enabled":false}})";

struct NaiveDocument {
  std::map<std::string, Words> fields;
};

// BM25F as docs/behaviour/relevance.md has it.
struct NaiveModel {
  std::map<DocId, NaiveDocument> documents;

  double Mean(const std::string& field) const {
    double words = 0, holders = 0;
    for (const auto& [docid, document] : documents) {
      const auto found = document.fields.find(field);
      if (found == document.fields.end() || found->second.empty()) continue;
      words += static_cast<double>(found->second.size());
      ++holders;
    }
    return holders == 0 ? 1 : words / holders;
  }
  double Worth(const std::string& word) const {
    double holders = 0;
    for (const auto& [docid, document] : documents) {
      holders +=
          std::any_of(document.fields.begin(), document.fields.end(), [&](const auto& field) {
            return std::count(field.second.begin(), field.second.end(), word) > 0;
          });
    }
    const double all = static_cast<double>(documents.size());
    return std::log(1 + (all - holders + 0.5) / (holders + 0.5));
  }
  // The best nearness of an occurrence of `left` and one of `right`, each the last of its word so
  // far.
  static double Nearness(const NaiveDocument& document, const std::string& left,
                         const std::string& right) {
    double best = 0;
    for (const auto& [name, words] : document.fields) {
      int64_t l = -1, r = -1;
      for (int64_t p = 0; p < static_cast<int64_t>(words.size()); ++p) {
        if (words[p] == left) l = p;
        if (words[p] == right) r = p;
        if ((words[p] != left && words[p] != right) || l < 0 || r < 0) continue;
        const int64_t off = std::abs(r - l - 1);
        if (off <= 8) best = std::max(best, 1.0 / static_cast<double>(1 + off));
      }
    }
    return best;
  }
  // The share of a field with all words that the question makes up, and of its pairs that stand
  // side by side there.
  static double ShareOfField(const NaiveDocument& document, const Words& question,
                             const std::set<std::pair<std::string, std::string>>& pairs) {
    double best = 0;
    for (const auto& [name, words] : document.fields) {
      const bool all = std::all_of(question.begin(), question.end(), [&](const std::string& word) {
        return std::count(words.begin(), words.end(), word) > 0;
      });
      if (!all) continue;
      double adjacent = 0;
      for (const auto& [left, right] : pairs) {
        int64_t l = -1, r = -1;
        bool found = false;
        for (int64_t p = 0; p < static_cast<int64_t>(words.size()); ++p) {
          if (words[p] == left) l = p;
          if (words[p] == right) r = p;
          found |= l >= 0 && r == l + 1;
        }
        adjacent += found ? 1 : 0;
      }
      const double count = static_cast<double>(pairs.size());
      best = std::max(best, std::min(1.0, static_cast<double>(question.size()) /
                                              static_cast<double>(words.size())) *
                                (pairs.empty() ? 1 : adjacent / count));
    }
    return best;
  }
  double Score(DocId docid, const Words& question) const {
    const NaiveDocument& document = documents.at(docid);
    double got = 0, worth = 0, covered = 0, words = 0;
    for (const std::string& word : question) {
      double occurrences = 0;
      for (int f = 0; f < 2; ++f) {
        const auto found = document.fields.find(kFields[f]);
        if (found == document.fields.end()) continue;
        const auto times = std::count(found->second.begin(), found->second.end(), word);
        const double length = static_cast<double>(found->second.size());
        occurrences += static_cast<double>(times) * kWeights[f] /
                       (1 - bm25f::kLengthShare +
                        bm25f::kLengthShare * length / std::max(1.0, Mean(kFields[f])));
      }
      got += Worth(word) * occurrences / (occurrences + bm25f::kSaturation);
      worth += Worth(word);
      if (occurrences > 0) covered += Worth(word);
      words += Worth(word);
    }
    std::map<std::string, double> times;
    for (const std::string& word : question) ++times[word];
    // Few words: all of them count, side by side.
    const double distinct = static_cast<double>(times.size());
    const double shortness = distinct < 2 ? 0 : 4 / (distinct * distinct);
    std::set<std::pair<std::string, std::string>> pairs;
    for (size_t i = 1; i < question.size(); ++i) {
      if (question[i] != question[i - 1]) pairs.emplace(question[i - 1], question[i]);
    }
    for (const auto& [left, right] : pairs) {
      const double both =
          (0.1 + shortness) * std::min(times[left] * Worth(left), times[right] * Worth(right));
      worth += both;
      got += both * Nearness(document, left, right);
    }
    if (distinct <= 10) {
      got += 2 / distinct * covered * ShareOfField(document, question, pairs);
      worth += 2 / distinct * words;
    }
    return std::sqrt(got * std::pow(covered / words, shortness) / worth);
  }
};

std::string WordOf(Random& random) {
  // A few words are common, most are rare.
  const double share = std::uniform_real_distribution<double>(0, 1)(random);
  return "w" + std::to_string(static_cast<int>(40 * share * share * share));
}

struct World {
  explicit World(Random& random) : index(kSettings) {
    DocId next = 0;
    for (int segment = 0; segment < 3; ++segment) {
      std::map<DocId, std::string> batch;
      for (uint64_t i = random() % 40; i > 0; --i) batch[next] = Document(random, next), ++next;
      if (!batch.empty()) index.Put(batch);
    }
  }

  std::string Document(Random& random, DocId docid) {
    std::string json = "{\"id\":" + std::to_string(docid);
    for (const char* field : kFields) {
      std::string text;
      Words words;
      for (uint64_t i = random() % 12; i > 0; --i) words.push_back(WordOf(random));
      for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
      if (!words.empty()) model.documents[docid].fields[field] = words;
      json += ",\"" + std::string(field) + "\":\"" + text + "\"";
    }
    model.documents[docid];
    return json + "}";
  }

  IndexedDocuments index;
  NaiveModel model;
};

Deadline Never() { return Deadline::In(UINT64_MAX); }

struct Scanned {
  Scanned(const IndexedDocuments& documents, const std::string& question)
      : snapshot(documents.snapshot()),
        query(ParseQuery(question, *snapshot->analyzer, {}, {}, snapshot->settings->prefix_search,
                         MatchingStrategy::kNatural)),
        evaluator(*snapshot, scope, query),
        scan(query, evaluator, {}, Never()) {}

  std::shared_ptr<const index::Snapshot> snapshot;
  FieldScope scope;
  ParsedQuery query;
  QueryEvaluator evaluator;
  NaturalScan scan;
};

std::vector<std::pair<float, DocId>> NaiveOrder(const World& world, const Words& question) {
  std::vector<std::pair<float, DocId>> order;
  for (const auto& [docid, document] : world.model.documents) {
    const auto score = static_cast<float>(world.model.Score(docid, question));
    if (score > 0) order.emplace_back(score, docid);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return order;
}

TEST(NaturalScan, ScoresAndOrderAreThoseOfPlainLoops) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 30; ++round) {
    Random random(seed + static_cast<uint64_t>(round));
    World world(random);
    for (int i = 0; i < 10; ++i) {
      Words question;
      std::string text;
      for (uint64_t n = 1 + random() % 8; n > 0; --n) {
        question.push_back(WordOf(random));
        text += question.back() + " ";
      }
      Scanned scanned(world.index, text);
      const auto expected = NaiveOrder(world, question);
      const DocSet matching = scanned.scan.Matching(nullptr);
      ASSERT_EQ(matching.size(), expected.size()) << text;
      const size_t count = 1 + random() % 12;
      const auto best = scanned.scan.Best(matching, count);
      ASSERT_GE(best.size(), std::min(count, expected.size()));
      for (size_t rank = 0; rank < best.size(); ++rank) {
        ASSERT_NEAR(best[rank].similarity, expected[rank].first, 1e-5) << text << " rank " << rank;
        ASSERT_NEAR(best[rank].similarity, world.model.Score(best[rank].docid, question), 1e-5);
        ASSERT_GT(best[rank].similarity, 0);
        ASSERT_LE(best[rank].similarity, 1);
      }
      if (expected.empty()) continue;
      const float score_min = expected[expected.size() / 2].first - 1e-4f;
      DocSet at_least = scanned.scan.AtLeast(matching, static_cast<double>(score_min));
      for (const auto& [score, docid] : expected) {
        if (std::abs(score - score_min) > 1e-5f) {
          ASSERT_EQ(at_least.Contains(docid), score >= score_min);
        }
      }
    }
  }
}

// Enough documents for bounds by length, in several segments, some of them replaced; with stems,
// typos and words that are being typed.
TEST(NaturalScan, TheBestAreTheFirstOfAll) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto word = [&]() -> std::string {
    static constexpr const char* kEndings[] = {"", "s", "ing", "ed"};
    const double share = std::uniform_real_distribution<double>(0, 1)(random);
    const int stem = static_cast<int>(2000 * std::pow(share, 4));
    return std::string("lo") + static_cast<char>('a' + stem % 26) + std::to_string(stem / 26) +
           "rk" + kEndings[random() % 3 == 0 ? random() % 4 : 0];
  };
  const auto text = [&](uint64_t words_max) {
    std::string words;
    for (uint64_t i = 1 + random() % words_max; i > 0; --i)
      words += (words.empty() ? "" : " ") + word();
    return words;
  };
  IndexedDocuments index(R"({"searchableAttributes":["title","text"]})");
  for (const auto& [first, count] :
       {std::pair(0, 7000), std::pair(6500, 600), std::pair(7100, 5)}) {
    std::map<DocId, std::string> batch;
    for (int i = 0; i < count; ++i) {
      const auto docid = static_cast<DocId>(first + i);
      batch[docid] = R"({"id":)" + std::to_string(docid) + R"(,"title":")" + text(6) +
                     (random() % 9 == 0 ? "" : R"(","text":")" + text(30)) + "\"}";
    }
    index.Put(batch);
  }
  for (Comparisons comparisons(60); comparisons.Next();) {
    const std::string question = text(std::array{4, 12, 50}[random() % 3]);
    Scanned scanned(index, random() % 2 == 0 ? question : question + " ");
    DocSet matching = scanned.scan.Matching(nullptr);
    if (random() % 3 == 0) matching &= DocSet::Range(0, static_cast<DocId>(200 + random() % 4000));
    if (matching.empty()) continue;
    auto all = scanned.scan.Best(matching, matching.size());
    ASSERT_EQ(all.size(), matching.size());
    const size_t count = std::min<size_t>(1 + random() % 30, all.size());
    const auto best = scanned.scan.Best(matching, count);
    std::erase_if(all, [&, lowest = all[count - 1].similarity](const NearDocument& document) {
      return document.similarity < lowest;
    });
    ASSERT_EQ(best.size(), all.size()) << question;
    for (size_t rank = 0; rank < best.size(); ++rank) {
      ASSERT_EQ(best[rank].docid, all[rank].docid) << question << " rank " << rank;
      ASSERT_EQ(best[rank].similarity, all[rank].similarity);
    }
    DocSet at_least = scanned.scan.AtLeast(matching, static_cast<double>(all.back().similarity));
    ASSERT_EQ(at_least.size(), all.size()) << question;
  }
}

}  // namespace
}  // namespace gannet::search
