// Expansions of class 3: words that contain the word of the query.
#include "base/stop_point.h"
#include "search/query/term_expansion.h"

#include <string>
#include <utility>
#include <vector>

namespace gannet::search {
namespace {

// The words of one segment that contain a text, in order.
class PartMatches {
 public:
  // prefix    words that begin with the text do not count
  PartMatches(const index::SegmentView& segment, const std::string& text, bool prefix)
      : terms_(segment.text->terms()), text_(text), prefix_(prefix) {
    segment.text->triples().WordsWith(text, candidates_);
    Find();
  }

  bool Valid() const { return at_ < candidates_.size(); }
  // REQUIRES, below: Valid()
  const std::string& word() const { return word_; }
  Ordinal ordinal() const { return candidates_[at_]; }
  void Next() {
    ++at_;
    Find();
  }

 private:
  void Find() {
    for (; Valid(); ++at_) {
      counter_.Step(256);
      terms_.Word(ordinal(), word_);
      const size_t found = word_.find(text_);
      if (found == std::string::npos || word_.size() == text_.size()) continue;
      if (!prefix_ || found > 0) return;
    }
  }

  const fst::Fst& terms_;
  const std::string& text_;
  const bool prefix_;
  std::vector<Ordinal> candidates_;
  size_t at_ = 0;
  std::string word_;
  StopCounter counter_;
};

}  // namespace

void TermExpansion::ExpandParts(NodeNumber number) {
  const Node& node = graph_[number];
  Expansions& expansions = nodes_[number].classes[kPartsClass];
  expansions.ready = true;
  if (!node.inside || scope_.index_parts.empty()) return;
  std::vector<PartMatches> matches;
  matches.reserve(snapshot_.segments.size());
  for (const auto& segment : snapshot_.segments)
    matches.emplace_back(*segment, node.text, node.term.prefix);
  std::string word;
  while (expansions.words.size() < kPartWordsMax) {
    StopPoint();
    bool any = false;
    for (const PartMatches& match : matches) {
      if (!match.Valid() || (any && match.word() >= word)) continue;
      word = match.word();
      any = true;
    }
    if (!any) break;
    bool live = false;
    for (size_t s = 0; s < matches.size(); ++s) {
      if (!matches[s].Valid() || matches[s].word() != word) continue;
      // The table has only words of these fields, but some of their documents may be dead.
      live = live || snapshot_.segments[s]->all_live() ||
             words_.IsLive(s, matches[s].ordinal(), &scope_.index_parts);
      matches[s].Next();
    }
    if (!live) continue;
    if (const WordNumber known = words_.Find(word); known != kNoWord)
      expansions.words.push_back(known);
  }
}

}  // namespace gannet::search
