// The two halves of the rule exactness: whether an attribute is the query, or begins with it; then which words a
// document has as typed.
//
// Both are known from posting lists, of words, of early positions and of field lengths. Documents are read only where
// the query is longer than the positions that are listed.
#include "search/rank.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "search/candidates.h"
#include "search/sweep.h"
#include "segment/lengths.h"
#include "segment/text.h"

namespace gannet::search {
namespace {

constexpr uint32_t kCountedWordsMax = segment::kListedLengthMax;

}  // namespace

MatchType Ranker::MatchOf(DocId docid, const std::vector<std::pair<uint32_t, WordNumber>>& wanted, uint32_t count) {
  // Field and position are known separately: each word at its place in any field, all words in one field.
  for (const auto& [position, word] : wanted) {
    const auto places = candidates_->WordPlaces(docid, word);
    const uint32_t bucketed = BucketedPosition(position);
    if (std::none_of(places.begin(), places.end(), [&](Place p) { return BucketedPosition(PositionOf(p)) == bucketed; })) {
      return MatchType::kNoExactMatch;
    }
  }
  MatchType best = MatchType::kNoExactMatch;
  FieldId last = 0xffff;
  for (const Place place : candidates_->WordPlaces(docid, wanted[0].second)) {
    const FieldId field = FieldOf(place);
    if (field == last || !graph_->scope().Searches(field)) continue;
    last = field;
    bool all = true;
    for (const auto& [position, word] : wanted) {
      const auto places = candidates_->WordPlaces(docid, word);
      all = all && std::any_of(places.begin(), places.end(), [&](Place p) { return FieldOf(p) == field; });
    }
    if (!all) continue;
    best = MatchType::kMatchesStart;
    if (count <= kCountedWordsMax && candidates_->WordCount(docid, field) == count) return MatchType::kExactMatch;
  }
  return best;
}

void Ranker::SplitByExactAttribute(const Bucket& bucket, size_t rule, const Detail* detail) {
  // Terms still in play, as far as they may match verbatim.
  std::vector<uint16_t> nodes;
  for (const Path& path : bucket.paths) {
    for (const Step& step : path) {
      if (NodeOf(step).ngram() || step.typos > 0) continue;
      if (std::find(nodes.begin(), nodes.end(), step.node) == nodes.end()) nodes.push_back(step.node);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [&](uint16_t a, uint16_t b) {
    return graph_->nodes()[a].term.first < graph_->nodes()[b].term.first;
  });
  std::vector<std::pair<uint32_t, WordNumber>> wanted;
  uint32_t count = 0, slot = 0;
  bool gap = false;
  for (const uint16_t n : nodes) {
    Node& node = graph_->nodes()[n];
    const Derivations& zero = graph_->Class(node, 0);
    const auto first = static_cast<uint32_t>(node.term.first);
    if (node.term.phrase) {
      gap = gap || node.first_slot != slot++;
      if (!zero.phrases.empty()) {
        for (size_t i = 0; i < zero.phrases[0].words.size(); ++i) {
          if (zero.phrases[0].words[i] != kNoWord) wanted.emplace_back(first + i, zero.phrases[0].words[i]);
        }
      }
      count += static_cast<uint32_t>(node.term.words.size());
    } else if (node.verbatim != kNoWord) {
      gap = gap || node.first_slot != slot++;
      wanted.emplace_back(first, node.verbatim);
      ++count;
    }
  }
  std::vector<WordNumber> words;
  for (const auto& [position, word] : wanted) words.push_back(word);
  DocSet possible;
  bool listed = true;  // whether lists tell where every word stands
  if (!wanted.empty() && !gap) {
    possible = bucket.documents;
    for (const auto& [position, word] : wanted) {
      const IndexWord& index_word = graph_->words()[word];
      const bool early = position < segment::kHeadPositions;
      listed = listed && early;
      if (early) possible = graph_->WordHeads(index_word, 1u << position, &possible);
      // What has it at an early position has it in some field.
      if (!early || !graph_->scope().all) possible = graph_->WordDocuments(index_word, graph_->scope().fields(), &possible);
    }
  }
  DocSet rest = bucket.documents;
  bool dropping = false;
  for (const MatchType type : {MatchType::kExactMatch, MatchType::kMatchesStart, MatchType::kNoExactMatch}) {
    if (Full()) return;
    Bucket part;
    if (type == MatchType::kNoExactMatch) {
      part.documents = std::move(rest);
    } else if (possible.empty() || (type == MatchType::kExactMatch && count > kCountedWordsMax)) {
      continue;
    } else if (listed && words.size() == 1 && type == MatchType::kMatchesStart) {
      part.documents = possible;
    } else if (listed) {
      part.documents = graph_->DocumentsTogether(words, type == MatchType::kExactMatch ? count : 0, &possible);
    } else {
      Prepare(Bucket{possible, bucket.paths});
      possible.ForEach([&](uint32_t docid) {
        if (MatchOf(docid, wanted, count) == type) part.documents.Add(docid);
      });
    }
    if (part.documents.empty()) continue;
    possible -= part.documents;
    rest -= part.documents;
    part.paths = bucket.paths;
    Detail next;
    next.rule = rules_[rule];
    next.rank = static_cast<uint32_t>(3 - static_cast<int>(type));
    next.max = 3;
    next.match = type;
    next.previous = detail;
    Descend(std::move(part), rule + 1, Add(std::move(next)), dropping);
  }
}

void Ranker::SplitByVerbatim(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  const Path& path = bucket.paths[0];
  std::vector<DocSet> verbatim(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    Node& node = NodeOf(path[i]);
    if (node.ngram() || path[i].typos > 0) continue;
    if (node.term.phrase) {
      verbatim[i] = graph_->DocumentsWithin(node, 0, bucket.documents);
    } else if (graph_->Class(node, 0), node.verbatim != kNoWord) {
      verbatim[i] = graph_->WordDocuments(graph_->words()[node.verbatim], graph_->scope().fields(), &bucket.documents);
    }
  }
  // Every choice of words that documents have as typed, by cost.
  struct Part {
    DocSet documents;
    std::vector<std::pair<uint32_t, Path>> paths;  // lowest docid, path
  };
  std::map<uint32_t, Part> parts;
  Path chosen = path;
  const std::function<void(size_t, uint32_t, DocSet)> divide = [&](size_t at, uint32_t cost, DocSet documents) {
    if (documents.empty()) return;
    if (at == path.size()) {
      Part& part = parts[cost];
      part.paths.emplace_back(documents.min(), chosen);
      part.documents |= documents;
      return;
    }
    DocSet with = documents & verbatim[at];
    documents -= with;
    chosen[at].verbatim = true;
    divide(at + 1, cost, std::move(with));
    chosen[at].verbatim = path[at].verbatim;
    divide(at + 1, cost + NodeOf(path[at]).slots(), std::move(documents));
  };
  divide(0, 0, bucket.documents);
  bool dropping = false;
  for (auto& [cost, part] : parts) {
    if (Full()) return;
    std::sort(part.paths.begin(), part.paths.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Bucket inner{std::move(part.documents), {}};
    for (auto& [docid, way] : part.paths) inner.paths.push_back(std::move(way));
    Descend(std::move(inner), rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
}

}  // namespace gannet::search
