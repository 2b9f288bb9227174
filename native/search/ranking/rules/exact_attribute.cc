// The first half of the rule exactness: whether an attribute is equal to the query, or begins with
// it.
//
// Posting lists of words, of leading positions and of field lengths decide this. Documents are read
// if they are few, or if the query is longer than the positions that are listed.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "search/matching/bucketed_position.h"
#include "search/matching/large_bucket.h"
#include "search/ranking/rank.h"
#include "search/ranking/read_words.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"
#include "segment/lengths.h"
#include "segment/text.h"

namespace gannet::search {
namespace {

constexpr uint32_t kCountedWordsMax = segment::kListedLengthMax;
// This many documents are read as fast as lists.
constexpr uint64_t kFewDocuments = 256;

bool ReadRatherThanLookUp(const DocSet& documents) {
  const uint64_t size = documents.size();
  return size <= kFewDocuments && size < LargeBucketMin();
}

enum class MatchType : uint8_t { kExactMatch, kMatchesStart, kNoExactMatch };
constexpr uint32_t kMatchTypes = 3;

struct QueryWord {
  uint32_t position;
  WordNumber word;
};

// Whether the word is at this position of any field.
bool StandsAt(WordMasks& masks, Role role, uint32_t position) {
  const uint32_t bucketed = BucketedPosition(position);
  for (const WordMasks::Run& run : masks.runs()) {
    for (uint32_t at = masks.First(role, run.begin, run.end); at != WordMasks::kNone;
         at = masks.First(role, at + 1, run.end)) {
      if (BucketedPosition(run.position + (at - run.begin)) == bucketed) return true;
    }
  }
  return false;
}

// How the attributes of a document match the words, whose roles are their numbers. count: number of
// words of the query.
// Fields and positions are tested separately: each word at its position in any field, and all words
// in one field.
MatchType MatchOf(WordMasks& masks, const FieldScope& scope, std::span<const QueryWord> words,
                  uint32_t count) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!StandsAt(masks, static_cast<Role>(i), words[i].position)) return MatchType::kNoExactMatch;
  }
  MatchType best = MatchType::kNoExactMatch;
  masks.AnyField([&](FieldId field, uint32_t begin, uint32_t end) {
    if (!scope.Searches(field)) return false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (masks.First(static_cast<Role>(i), begin, end) == WordMasks::kNone) return false;
    }
    best = count <= kCountedWordsMax && end - begin == count ? MatchType::kExactMatch
                                                             : MatchType::kMatchesStart;
    return best == MatchType::kExactMatch;
  });
  return best;
}

// The words of an attribute that is equal to the query or begins with it.
struct ExactQuery {
  std::vector<QueryWord> words;  // without stop words of phrases
  // Number of words, including stop words in phrases behind the first other word.
  uint32_t count = 0;
  // false: one of the terms has no word in the index, so no attribute matches.
  bool complete = true;

  std::vector<WordNumber> numbers() const {
    std::vector<WordNumber> numbers;
    for (const QueryWord& query_word : words) numbers.push_back(query_word.word);
    return numbers;
  }
};

ExactQuery ExactQueryOf(TermExpansion& expansion, const std::vector<Path>& paths) {
  const Graph& graph = expansion.graph();
  // The remaining terms, if they may match verbatim.
  std::vector<NodeNumber> nodes;
  for (const Path& path : paths) {
    for (const Step& step : path) {
      if (graph.NodeOf(step).ngram() || step.typos > 0) continue;
      if (std::find(nodes.begin(), nodes.end(), step.node) == nodes.end())
        nodes.push_back(step.node);
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [&](NodeNumber a, NodeNumber b) { return graph[a].term.first < graph[b].term.first; });
  ExactQuery query;
  uint32_t slot = 0;
  for (const NodeNumber n : nodes) {
    const Node& node = graph[n];
    const Expansions& zero = expansion.Class(n, 0);
    const WordNumber verbatim = expansion.Of(n).verbatim;
    const auto first = static_cast<uint32_t>(node.term.first);
    if (node.term.phrase) {
      query.complete = query.complete && node.first_slot == slot++;
      if (!zero.phrases.empty()) {
        const auto& words = zero.phrases[0].words;
        for (uint32_t i = 0; i < words.size(); ++i) {
          if (words[i] != kNoWord) query.words.push_back({first + i, words[i]});
        }
      }
      query.count += static_cast<uint32_t>(node.term.last - node.term.first + 1);
    } else if (verbatim != kNoWord) {
      query.complete = query.complete && node.first_slot == slot++;
      query.words.push_back({first, verbatim});
      ++query.count;
    }
  }
  return query;
}

// Documents that may have an attribute that begins with the query.
struct MaybeExact {
  DocSet documents;
  bool read;  // whether to read them, because lists do not decide or they are few
};

MaybeExact MaybeExactOf(const Postings& postings, const FieldScope& scope, const ExactQuery& query,
                        const DocSet& documents) {
  MaybeExact found;
  if (!query.words.empty() && query.complete) found.documents = documents;
  found.read = ReadRatherThanLookUp(found.documents);
  if (found.read) return found;
  bool listed = true;  // whether lists have the positions of every word
  for (const auto& [position, word] : query.words) {
    if (found.documents.empty()) break;
    const bool early = position < segment::kLeadingPositions;
    listed = listed && early;
    if (early) found.documents = postings.WordAtPositions(word, 1u << position, &found.documents);
    // A document with the word at a leading position has it in some field.
    if (!early || !scope.all) {
      found.documents = postings.WordDocuments(word, scope.fields(), &found.documents);
    }
  }
  found.read = !listed || ReadRatherThanLookUp(found.documents);
  return found;
}

class ExactAttribute : public RankingRule {
 public:
  ExactAttribute() : RankingRule(kExactnessRule.name) {}

  void Split(Bucket bucket, BucketSplit& out) override;
  bool RanksOneByOne(bool) const override { return true; }

  // Shows both halves.
  void AppendScoreDetails(DetailWriter& out, const Detail& detail,
                          const Detail* next) const override {
    static constexpr const char* kNames[] = {R"("exactMatch")", R"("matchesStart")",
                                             R"("noExactMatch")"};
    const uint32_t type = kMatchTypes - detail.rank;
    out.Begin(kExactnessRule.name);
    out.Json("matchType", kNames[type]);
    if (type == static_cast<uint32_t>(MatchType::kNoExactMatch) && next != nullptr &&
        next->rule->id() == kExactWordsRule.name) {
      out.Number("matchingWords", next->rank - 1);
      out.Number("maxMatchingWords", next->max - 1);
      out.Score("score", MergedShare(detail, *next));
    } else {
      out.Score("score", detail.share());
    }
  }
};

void ExactAttribute::Split(Bucket bucket, BucketSplit& out) {
  QueryEvaluator& evaluator = out.ranker.query();
  const ExactQuery query = ExactQueryOf(evaluator.expansion, bucket.paths);
  const std::vector<WordNumber> words = query.numbers();
  auto [possible, read] =
      MaybeExactOf(evaluator.postings, evaluator.scope, query, bucket.documents);
  std::array<std::vector<DocId>, kMatchTypes> matching;  // documents that were read, by MatchType
  if (read) {
    ReadWords(
        evaluator.snapshot, evaluator.words, words, possible, [&](DocId docid, WordMasks& masks) {
          matching[static_cast<size_t>(MatchOf(masks, evaluator.scope, query.words, query.count))]
              .push_back(docid);
        });
  }
  const auto documents_of = [&](MatchType type) -> DocSet {
    if (read) {
      auto& docids = matching[static_cast<size_t>(type)];
      std::sort(docids.begin(), docids.end());
      return DocSet::FromSorted(docids);
    }
    const bool exact = type == MatchType::kExactMatch;
    if (possible.empty() || (exact && query.count > kCountedWordsMax)) return {};
    if (words.size() == 1 && !exact) return possible;
    return evaluator.postings.WordsTogether(words, exact ? query.count : 0, &possible);
  };
  DocSet rest = std::move(bucket.documents);
  for (const MatchType type :
       {MatchType::kExactMatch, MatchType::kMatchesStart, MatchType::kNoExactMatch}) {
    if (out.Full()) return;
    Bucket child;
    child.documents = type == MatchType::kNoExactMatch ? std::move(rest) : documents_of(type);
    if (child.documents.empty()) continue;
    possible -= child.documents;
    rest -= child.documents;
    child.paths = bucket.paths;
    child.two_phase = bucket.two_phase;
    out.Give(std::move(child), kMatchTypes - static_cast<uint32_t>(type), kMatchTypes);
  }
}

}  // namespace

const RuleDeclaration kExactnessRule{
    .name = "exactness",
    .add =
        [](const index::RankingRule& setting, const RuleInputs& inputs, Rules& rules) {
          AddRule(rules, std::make_unique<ExactAttribute>());
          kExactWordsRule.add(setting, inputs, rules);
        },
};

}  // namespace gannet::search
