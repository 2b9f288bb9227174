// The rule words: the more words of the query a document matches, the better. For each stage of the
// matching strategy it returns the documents of each path with that number of words left out.
//
// If `typo` follows, the documents that match every word as typed come first. Posting lists give
// them, so they are ranked before any lookup of typos, and usually fill the page.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rank.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {

namespace {

// Ranks the first bucket of words and typo if only the page is wanted: the documents that match the
// query as typed, found without looking for others.
class TypedFirst {
 public:
  // within    documents in which to find them; null: all live ones
  // done      receives the documents that were ranked
  TypedFirst(BucketSplit& out, const DocSet* within, DocSet& done)
      : ranker_(out.ranker),
        query_(ranker_.query()),
        within_(within),
        behind_(out.rule + 2),
        done_(done) {}

  // Whether the rules begin like this and it is useful. Not if scores are wanted: these depend on
  // the other paths.
  static bool Applies(const BucketSplit& out);
  // Returns true if there are no other documents, or they are not needed.
  bool Emit();

 private:
  // For one word: ranks the documents of cost 0 under the next rules.
  void EmitCheapest(const Path& path);
  // For one phrase whose words occur in many documents. Returns false if this would not be faster.
  bool EmitPhrase(const Path& path);

  Ranker& ranker_;
  QueryEvaluator& query_;
  const DocSet* within_;
  const size_t behind_;  // number of the rule after typo
  DocSet& done_;
};

bool TypedFirst::Applies(const BucketSplit& out) {
  const Ranker& ranker = out.ranker;
  const RankOptions& options = ranker.options();
  return out.said == nullptr && !options.details && !options.threshold && !ranker.has_distinct() &&
         !options.exhaustive && options.offset == 0 && ranker.hits().empty() &&
         out.rule + 1 < ranker.rules().size() &&
         ranker.rules()[out.rule + 1]->id() == kTypoRule.name;
}

bool TypedFirst::Emit() {
  Path path;
  const Graph& graph = query_.graph;
  for (NodeNumber n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph[n];
    if (node.ngram()) continue;
    if (node.synonyms_only) return false;  // with two paths, neither is the one as typed
    path.push_back({n, 0, false});
  }
  if (path.size() == 1) {
    if (EmitPhrase(path)) return true;
    EmitCheapest(path);
    if (ranker_.Full(nullptr)) return true;
  }
  // If one word has no expansions as typed, documents with one typo in it come first. The other
  // words need no typos, and this one no second typo.
  const auto is_unknown = [&](const Step& step) {
    return query_.expansion.Class(step.node, 0).empty();
  };
  const auto unknown = std::find_if(path.begin(), path.end(), is_unknown);
  if (unknown != path.end()) {
    if (std::any_of(unknown + 1, path.end(), is_unknown)) return false;
    unknown->typos = 1;
  }
  Bucket first{PathDocuments(query_.documents, path, within_), {path}};
  first.documents -= done_;
  done_ |= first.documents;
  ranker_.Refine(std::move(first), behind_, nullptr);
  return ranker_.Full(nullptr);
}

void TypedFirst::EmitCheapest(const Path& path) {
  const Expansions& zero = query_.expansion.Class(path[0].node, 0);
  if (query_.graph.NodeOf(path[0]).term.phrase || !zero.phrases.empty()) return;
  // The documents of cost 0 under the first rules that distinguish them, smallest set first.
  const Rules& rules = ranker_.rules();
  const RankContext& context = ranker_.costs().context();
  const auto cost_of = [&](size_t r) { return r < rules.size() ? rules[r]->cost() : nullptr; };
  size_t rule = behind_;
  while (cost_of(rule) != nullptr && cost_of(rule)->ConstantCost(context, path)) ++rule;
  const CostRule *const first = cost_of(rule), *const second = cost_of(rule + 1);
  if (first == nullptr) return;
  const uint64_t end = ranker_.options().end;
  const auto emit = [&](std::optional<DocSet> documents, size_t behind) {
    if (!documents || documents->size() < end) return false;
    done_ |= *documents;
    ranker_.Refine(Bucket{std::move(*documents), {path}}, behind, nullptr);
    return true;
  };
  if (second != nullptr) {
    const auto cheapest = second->Cheapest(context, path, within_);
    if (cheapest && cheapest->size() >= end &&
        emit(first->Cheapest(context, path, &*cheapest), rule + 2))
      return;
  }
  emit(first->Cheapest(context, path, within_), rule + 1);
}

// For a phrase alone, lists give the documents that contain its words, and their ranks. Whether the
// words are adjacent is verified only for documents about to enter the page.
bool TypedFirst::EmitPhrase(const Path& path) {
  const NodeNumber node = path[0].node;
  if (query_.graph.nodes().size() > 1 || !query_.graph[node].term.phrase ||
      !HasPostings(query_.expansion, path))
    return false;
  if (ranker_.snapshot().settings->proximity_by_attribute) return false;
  if (query_.documents.Keeps(node, 0, within_) || !ranker_.RanksOneByOne(behind_, nullptr))
    return false;
  const Phrase& phrase = query_.expansion.Class(node, 0).phrases[0];
  const PhraseMatcher& phrases = query_.phrases;
  if (phrases.DocumentsMax(phrase) < LargeBucketMin()) return false;
  const segment::FieldSet* const fields = query_.scope.fields();
  PhraseMatches matches = phrases.ByLists(phrase, fields, within_);
  if (matches.approximate.size() < LargeBucketMin()) {
    query_.documents.Keep(node, 0, within_,
                          phrases.VerifyApproximate(phrase, fields, within_, std::move(matches)));
    return false;
  }
  if (!phrases.PaysToReadSome(phrase, matches.approximate, LargeBucketMin())) return false;
  Bucket child{matches.verified | matches.approximate, {path}};
  child.two_phase = &ranker_.Keep(phrase, std::move(matches));
  ranker_.Refine(std::move(child), behind_, nullptr);
  return true;
}

class Words : public RankingRule {
 public:
  Words() : RankingRule(kWordsRule.name) {}

  void Split(Bucket bucket, BucketSplit& out) override { SplitMatching(&bucket.documents, out); }
  bool FindsMatches() const override { return true; }

  void SplitMatching(const DocSet* within, BucketSplit& out) override {
    DocSet done;  // documents already in a bucket
    if (TypedFirst::Applies(out) && TypedFirst(out, within, done).Emit()) return;
    const PathStages& stages = out.ranker.stages();
    for (uint32_t dropped = 0; dropped < stages.paths.size(); ++dropped) {
      if (out.Full()) return;
      Bucket child;
      for (const Path& path : stages.paths[dropped]) {
        DocSet documents = PathDocuments(out.ranker.query().documents, path, within);
        documents -= done;
        if (documents.empty()) continue;
        done |= documents;
        child.documents |= documents;
        child.paths.push_back(path);
      }
      if (child.documents.empty()) continue;
      out.Give(std::move(child), stages.max_matching_words - dropped, stages.max_matching_words);
    }
  }

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    out.Begin(kWordsRule.name);
    out.Number("matchingWords", detail.rank);
    out.Number("maxMatchingWords", detail.max);
    out.Score("score", detail.share());
  }
};

}  // namespace

const RuleDeclaration kWordsRule{
    .name = "words",
    .add =
        [](const index::RankingRule&, const RuleInputs& inputs, Rules& rules) {
          if (inputs.strategy != MatchingStrategy::kAll) AddRule(rules, std::make_unique<Words>());
        },
};

}  // namespace gannet::search
