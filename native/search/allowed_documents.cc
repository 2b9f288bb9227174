#include "search/allowed_documents.h"

#include <utility>

#include "base/stage_clock.h"
#include "index/evaluate_filter.h"

namespace gannet::search {

Result<DocSet> MatchingFilter(const index::Snapshot& snapshot, const SearchRequest& request,
                              Deadline& deadline) {
  if (request.matching) return *request.matching;
  if (request.filter.empty()) return snapshot.documents;
  const filter::FilterFeatures features{request.contains_filter, request.multimodal};
  InStage stage("filter");
  GANNET_ASSIGN_OR_RETURN(DocSet matching,
                          index::EvaluateFilterJson(snapshot, request.filter, features, &deadline));
  stage.Count("documents", matching.size());
  return matching;
}

Result<std::optional<DocSet>> AllowedDocuments(const index::Snapshot& snapshot,
                                               const SearchRequest& request, Deadline& deadline) {
  const bool filters = request.matching || !request.filter.empty();
  if (!filters && !request.excluded) return std::optional<DocSet>();
  GANNET_ASSIGN_OR_RETURN(DocSet allowed, MatchingFilter(snapshot, request, deadline));
  if (request.excluded) allowed -= *request.excluded;
  return std::optional(std::move(allowed));
}

std::optional<DocSet> WithoutNegatives(std::optional<DocSet> allowed, const ParsedQuery& query,
                                       QueryEvaluator& evaluator) {
  if (query.negative_words.empty() && query.negative_phrases.empty()) return allowed;
  const segment::FieldSet* fields = evaluator.scope.fields();
  DocSet kept = allowed ? std::move(*allowed) : evaluator.snapshot.documents;
  for (const std::string& text : query.negative_words) {
    const WordNumber word = evaluator.words.Find(text);
    if (word != kNoWord) kept -= evaluator.postings.WordDocuments(word, fields);
  }
  for (const auto& words : query.negative_phrases) {
    if (const auto phrase = evaluator.words.FindPhrase(words))
      kept -= evaluator.phrases.Documents(*phrase, fields);
  }
  return kept;
}

}  // namespace gannet::search
