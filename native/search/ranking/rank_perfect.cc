// The ways to a full page that leave most of a bucket unread.
//
// The best documents of a search are those that match it perfectly, and posting lists tell which these are: every word
// as typed, a single word in the best attribute, at its beginning. Where they fill the page, no other document can be on it,
// and nothing else is looked for.
#include "search/ranking/rank.h"

#include <algorithm>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/posting_costs.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

// The documents that match every word as typed (or as prefixes) come first of all when `typo` follows `words`. They
// are found without looking for typos at all, and often fill the page. Only without scores: these need to know which
// other paths there are.
bool Ranker::EmitPerfect(const DocSet* within, size_t rule, const Detail* detail) {
  if (!PerfectFirst(rule) || detail != nullptr) return false;
  Bucket child;
  Path path;
  for (uint16_t n = 0; n < graph_->nodes().size(); ++n) {
    const Node& node = graph_->nodes()[n];
    if (node.ngram()) continue;
    if (node.synonyms_only) return false;  // of two paths neither is the perfect one
    path.push_back({n, 0, false});
  }
  if (path.size() == 1) {
    // There are no words whose distance proximity could tell.
    size_t behind = rule + 2;
    while (behind < rules_.size() && rules_[behind].kind == RuleKind::kProximity) ++behind;
    if (EmitBestAttribute(path, within, behind) || EmitPhrase(path, within, behind)) return true;
  }
  child.documents = PathDocuments(*graph_, path, within);
  if (child.documents.empty()) return EmitOneTypo(std::move(path), within, rule);
  if (child.documents.size() < options_.end) return false;
  child.paths.push_back(std::move(path));
  Refine(std::move(child), rule + 2, detail);
  return true;
}

// Where one word stands for nothing as it was typed, those come first that have one typo there. The others need not be looked for
// with typos, and nothing with two.
bool Ranker::EmitOneTypo(Path path, const DocSet* within, size_t rule) {
  const auto is_unknown = [&](const Step& step) { return graph_->Class(NodeOf(step), 0).empty(); };
  const auto unknown = std::find_if(path.begin(), path.end(), is_unknown);
  if (unknown == path.end() || std::any_of(unknown + 1, path.end(), is_unknown)) return false;
  unknown->typos = 1;
  Bucket child{PathDocuments(*graph_, path, within), {path}};
  if (child.documents.empty() || child.documents.size() < options_.end) return false;
  Refine(std::move(child), rule + 2, nullptr);
  return true;
}

// Of a single word, those come first that have it in the best attribute, and of these where a field begins with it.
bool Ranker::EmitBestAttribute(const Path& path, const DocSet* within, size_t rule) {
  if (max_weight_ == 0) return false;
  if (rule >= rules_.size() || rules_[rule].kind != RuleKind::kAttributeRank) return false;
  if (NodeOf(path[0]).term.phrase || !ForwardScan::Supports(*graph_, path)) return false;
  if (!graph_->Class(NodeOf(path[0]), 0).phrases.empty()) return false;
  const PathPhrases none;
  PostingCosts lists(*graph_, path, none);
  const auto emit = [&](DocSet best, size_t behind) {
    if (best.size() < options_.end) return false;
    Refine(Bucket{std::move(best), {path}}, behind, nullptr);
    return true;
  };
  if (rule + 1 < rules_.size() && rules_[rule + 1].kind == RuleKind::kWordPosition && lists.known_positions() > 0) {
    const DocSet near = lists.StepAtPositions(0, lists.PositionsAt(path[0], 0), within);
    if (near.size() >= options_.end && emit(lists.InBestFields(0, &near, max_weight_), rule + 2)) return true;
  }
  return emit(lists.InBestFields(0, within, max_weight_), rule + 1);
}

// Of a phrase alone, lists tell which documents hold its words, and how these rank. Whether they stand as they must is read where
// a document would come onto the page.
bool Ranker::EmitPhrase(const Path& path, const DocSet* within, size_t rule) {
  if (graph_->nodes().size() > 1 || !NodeOf(path[0]).term.phrase || !ForwardScan::Supports(*graph_, path)) return false;
  if (snapshot_.settings->proximity_by_attribute) return false;
  const Expansions& zero = graph_->Class(NodeOf(path[0]), 0);
  if (zero.Knows(within) || !RanksOneByOne(rule, nullptr)) return false;
  const Phrase& phrase = zero.phrases[0];
  if (graph_->MostDocuments(phrase) < LargeBucketMin()) return false;
  const segment::FieldSet* const fields = graph_->scope().fields();
  PhraseMatches matches = graph_->PhraseByLists(phrase, fields, within);
  if (matches.approximate.size() < LargeBucketMin()) {
    NodeOf(path[0]).classes[0].Know(within, graph_->VerifyApproximate(phrase, fields, within, std::move(matches)));
    return false;
  }
  if (!graph_->PaysToReadSome(phrase, matches.approximate, LargeBucketMin())) return false;
  Bucket child{matches.verified | matches.approximate, {path}};
  two_phase_ = &phrase_.emplace(*graph_, phrase, std::move(matches));
  Refine(std::move(child), rule, nullptr);
  two_phase_ = nullptr;
  return true;
}

bool Ranker::PerfectFirst(size_t rule) const {
  return !options_.details && !options_.threshold && distinct_ == nullptr && !options_.exhaustive && options_.offset == 0 &&
         hits_.empty() && rule + 1 < rules_.size() && rules_[rule].kind == RuleKind::kWords &&
         rules_[rule + 1].kind == RuleKind::kTypo;
}

}  // namespace gannet::search
