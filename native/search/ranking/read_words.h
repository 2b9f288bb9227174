// Reads the occurrences of given words in given documents from the forward records.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/index_words.h"
#include "search/matching/word_masks.h"

namespace gannet::search {

// Calls sink(DocId, WordMasks&) for each live document of `documents`, segment by segment, docids
// ascending within a segment.
// numbers    the words to look for; the role of a word in the masks is its index here
// A damaged record contains no words.
template <typename Sink>
void ReadWords(const index::Snapshot& snapshot, const IndexWords& words,
               std::span<const WordNumber> numbers, const DocSet& documents, Sink&& sink) {
  const auto& segments = snapshot.segments;
  for (size_t s = 0; s < segments.size(); ++s) {
    const DocSet here = documents & segments[s]->live;
    if (here.empty()) continue;
    const segment::TextReader& text = *segments[s]->text;
    WordMasks masks(text, numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (const Ordinal ordinal = words.OrdinalOf(numbers[i], s); ordinal != kNoOrdinal)
        masks.Add(static_cast<Role>(i), ordinal);
    }
    masks.Seal();
    text.ForEachRecord(here, [&](DocId docid, std::string_view record) {
      masks.Read(record);
      sink(docid, masks);
    });
  }
}

}  // namespace gannet::search
