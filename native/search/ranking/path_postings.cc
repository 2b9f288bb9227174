#include "search/ranking/path_postings.h"

namespace gannet::search {

bool HasPostings(TermExpansion& expansion, const Path& path) {
  bool has = true;
  for (const Step& step : path) {
    const Expansions& zero = expansion.Class(step.node, 0);
    if (expansion.graph().NodeOf(step).term.phrase) {
      has = has && zero.phrases.size() == 1;
    } else if (step.verbatim) {
      has = has && expansion.Of(step.node).verbatim != kNoWord;
    } else {
      for (int c = step.first_class(); c <= step.last_class(); ++c) expansion.Class(step.node, c);
    }
  }
  return has;
}

DocSet PathPostings::InLists(size_t i, const segment::WordLists& lists, const DocSet* within) {
  const auto for_each = [&](size_t s, auto&& sink) {
    const auto sink_range = [&](Ordinal begin, Ordinal end) {
      const segment::WordRange range(begin, end);
      segment::WordLists of_range = lists;
      of_range.words = {&range, 1};
      sink(of_range);
    };
    ForEachRange(i, End::kFirstReal, s, sink_range);
    ForEachHeld(i, End::kFirstReal, s, sink_range);
  };
  // The expansions of the step are looked up before this point, so several threads may read them.
  uint64_t to_join = 0;
  const auto& segments = query_.snapshot.segments;
  for (size_t s = 0; s < segments.size(); ++s) {
    for_each(s, [&](const segment::WordLists& of_range) {
      to_join += segments[s]->text->ListsToJoin(of_range);
    });
  }
  const auto add = [&](size_t s, const segment::TextReader&, DocSetUnion& out) {
    for_each(s, [&](const segment::WordLists& of_range) {
      query_.postings.UnionLists(s, of_range, within, out);
    });
  };
  return query_.postings.LiveUnion(within, add, to_join);
}

DocSet PathPostings::OfSum(uint32_t cost, const DocSet& within, const OfStep& of_step) const {
  DocSet found;
  const std::function<void(size_t, uint32_t, DocSet)> spread = [&](size_t at, uint32_t left,
                                                                   DocSet documents) {
    if (at == path_.size()) {
      if (left == 0) found |= documents;
      return;
    }
    // If a step can cost less, it does.
    for (uint32_t own = 0; own <= left && !documents.empty(); ++own) {
      DocSet here = of_step(at, own, documents);
      if (here.empty()) continue;
      if (own < left) documents -= here;
      spread(at + 1, left - own, std::move(here));
    }
  };
  spread(0, cost, within);
  return found;
}

}  // namespace gannet::search
