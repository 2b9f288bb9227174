// The rule words: the more words of the query a document matches, the better. Stage by stage of the
// matching strategy, the documents of each path that leaves out so many words.
//
// Where `typo` follows, the documents that match every word as typed come first of all. Posting
// lists tell them, so they are ranked before anything is looked for within typos, and mostly fill
// the page.
#include <algorithm>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rank.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

void Ranker::SplitByWords(const DocSet* within, size_t rule, const Detail* detail) {
  DocSet done;  // in a bucket
  if (BeginsWithTyped(rule, detail) && EmitTyped(within, rule, done)) return;
  bool dropping = false;
  for (uint32_t dropped = 0; dropped < stages_.paths.size(); ++dropped) {
    if (Full(detail)) return;
    Bucket child;
    for (const Path& path : stages_.paths[dropped]) {
      DocSet documents = PathDocuments(query_->documents, path, within);
      documents -= done;
      if (documents.empty()) continue;
      done |= documents;
      child.documents |= documents;
      child.paths.push_back(path);
    }
    if (child.documents.empty()) continue;
    Detail next;
    next.rule = rules_[rule];
    next.rank = stages_.max_matching_words - dropped;
    next.max = stages_.max_matching_words;
    next.previous = detail;
    Descend(std::move(child), rule + 1, Add(std::move(next)), dropping);
  }
}

// Not where scores are wanted: these need to know which other paths there are.
bool Ranker::BeginsWithTyped(size_t rule, const Detail* detail) const {
  return detail == nullptr && !options_.details && !options_.threshold && distinct_ == nullptr &&
         !options_.exhaustive && options_.offset == 0 && hits_.empty() &&
         rule + 1 < rules_.size() && rules_[rule + 1].kind == RuleKind::kTypo;
}

bool Ranker::EmitTyped(const DocSet* within, size_t rule, DocSet& done) {
  Path path;
  const Graph& graph = query_->graph;
  for (NodeNumber n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph[n];
    if (node.ngram()) continue;
    if (node.synonyms_only) return false;  // of two paths neither is the one as typed
    path.push_back({n, 0, false});
  }
  const size_t behind = rule + 2;
  if (path.size() == 1) {
    if (EmitPhrase(path, within, behind)) return true;
    EmitCheapest(path, within, behind, done);
    if (Full(nullptr)) return true;
  }
  // Where one word stands for nothing as it was typed, those come first that have one typo there.
  // The others need not be looked for with typos, and nothing with two.
  const auto is_unknown = [&](const Step& step) {
    return query_->expansion.Class(step.node, 0).empty();
  };
  const auto unknown = std::find_if(path.begin(), path.end(), is_unknown);
  if (unknown != path.end()) {
    if (std::any_of(unknown + 1, path.end(), is_unknown)) return false;
    unknown->typos = 1;
  }
  Bucket first{PathDocuments(query_->documents, path, within), {path}};
  first.documents -= done;
  done |= first.documents;
  Refine(std::move(first), behind, nullptr);
  return Full(nullptr);
}

void Ranker::EmitCheapest(const Path& path, const DocSet* within, size_t rule, DocSet& done) {
  const Expansions& zero = query_->expansion.Class(path[0].node, 0);
  if (NodeOf(path[0]).term.phrase || !zero.phrases.empty()) return;
  // The documents that cost nothing under the first rules that tell them apart, the fewest first.
  const auto asks = [&](size_t r) {
    return r < rules_.size() && rules_[r].kind == RuleKind::kCost;
  };
  while (asks(rule) && rules_[rule].cost->ConstantCost(*context_, path)) ++rule;
  if (!asks(rule)) return;
  const auto emit = [&](std::optional<DocSet> documents, size_t behind) {
    if (!documents || documents->size() < options_.end) return false;
    done |= *documents;
    Refine(Bucket{std::move(*documents), {path}}, behind, nullptr);
    return true;
  };
  const CostRule& first = *rules_[rule].cost;
  if (asks(rule + 1)) {
    const auto second = rules_[rule + 1].cost->Cheapest(*context_, path, within);
    if (second && second->size() >= options_.end &&
        emit(first.Cheapest(*context_, path, &*second), rule + 2))
      return;
  }
  emit(first.Cheapest(*context_, path, within), rule + 1);
}

// Of a phrase alone, lists tell which documents hold its words, and how these rank. Whether they
// stand as they must is read where a document would come onto the page.
bool Ranker::EmitPhrase(const Path& path, const DocSet* within, size_t rule) {
  const NodeNumber node = path[0].node;
  if (query_->graph.nodes().size() > 1 || !query_->graph[node].term.phrase ||
      !HasPostings(query_->expansion, path))
    return false;
  if (snapshot_.settings->proximity_by_attribute) return false;
  if (query_->documents.Keeps(node, 0, within) || !RanksOneByOne(rule, nullptr)) return false;
  const Phrase& phrase = query_->expansion.Class(node, 0).phrases[0];
  const PhraseMatcher& phrases = query_->phrases;
  if (phrases.MostDocuments(phrase) < LargeBucketMin()) return false;
  const segment::FieldSet* const fields = query_->scope.fields();
  PhraseMatches matches = phrases.ByLists(phrase, fields, within);
  if (matches.approximate.size() < LargeBucketMin()) {
    query_->documents.Keep(node, 0, within,
                           phrases.VerifyApproximate(phrase, fields, within, std::move(matches)));
    return false;
  }
  if (!phrases.PaysToReadSome(phrase, matches.approximate, LargeBucketMin())) return false;
  Bucket child{matches.verified | matches.approximate, {path}};
  child.two_phase = &phrase_.emplace(phrases, phrase, std::move(matches));
  Refine(std::move(child), rule, nullptr);
  return true;
}

}  // namespace gannet::search
