// Writing hits: which fields of a document are shown, what is highlighted, and what the search adds
// to it (docs/behaviour/results.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/pins.h"
#include "search/ranking/rank.h"
#include "search/results/highlighter.h"
#include "search/results/projection.h"
#include "search/search_run.h"
#include "segment/rows.h"

namespace gannet::search {

// Writes the hits of one search. One thread. Lifetime: borrows the run.
// Cost: the constructor looks up the words to highlight.
class HitWriter {
 public:
  // expects  most hits of the run will be written, so their rows are requested
  explicit HitWriter(const SearchRun& run, bool expects = true);

  // Appends one hit as a JSON object.
  // extra  members to add, without a leading comma
  // Corruption: a stored document is damaged. Invalid: the response is already too large.
  Status Append(const PageHit& page_hit, std::string_view extra, std::string& out);

 private:
  struct Members;
  void AppendDistance(DocId docid, Members& members) const;
  Status AppendVectors(DocId docid, Members& members) const;
  Status AppendPassages(DocId docid, Members& members) const;
  void AppendScores(const PageHit& page_hit, Members& members) const;

  const SearchRun& run_;
  const bool shows_vectors_;
  const SortCriterion* geo_;                // whose distances are shown; null: none
  const index::EmbedderSettings* chunked_;  // whose passages are shown; null: none
  Projection projection_;
  Highlighter highlighter_;
  segment::RowCodec codec_;
  std::vector<segment::RowField> fields_;  // fields of the document written last
};

}  // namespace gannet::search
