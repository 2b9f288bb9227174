// Writes the element columns and element maps of several segments, or of parts of one, again as
// those of one, without the documents that are dead (segment/elements.h).
//
// Elements of a field are left out if a source has such documents, but does not know their
// elements: old segments, and objects too far inside others.
//
// Memory: 8 bytes per document, or per element of an outer field.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "indexing/live_lists.h"
#include "indexing/merge_columns.h"
#include "segment/columns.h"

namespace gannet::indexing {

struct ElementSource {
  std::vector<segment::ColumnKey> keys;  // of element columns and maps
  // The bytes of what there is under a key, also of a column; empty if there is nothing.
  std::function<std::string_view(segment::ColumnKey)> blob;
  const LiveDocuments* live;
  size_t documents;
};

class ElementMerge {
 public:
  // runs: as for ColumnMerge. Both arguments must outlive the merge.
  ElementMerge(std::span<const ElementSource> sources, std::span<const MergeRun> runs)
      : sources_(sources), runs_(runs) {}

  // Call it first. Corruption: a map is damaged.
  Status Open();
  // Writes what elements have of the field. merged: the merge that wrote the field's column.
  // Corruption: an element has a value that its source does not list. Other errors come from
  // `pause`.
  Status WriteColumns(FieldId field, const ColumnMerge& merged, const ColumnMerge::Pause& pause,
                      segment::ColumnSink& out) const;
  Status WriteMaps(const ColumnMerge::Pause& pause, segment::ColumnSink& out) const;

 private:
  using Maps = std::vector<segment::PackedOffsets>;  // by source; empty where it has none
  struct Range {
    uint64_t begin, end;
  };

  // Whether the source has live documents with the field, whose elements it does not know.
  Result<bool> Lacks(size_t source, FieldId field) const;
  // Removes what is not known in all sources.
  Status RemoveIncomplete();
  // The elements of a source's documents [begin, end); none if it has no map.
  static Range ElementsIn(const segment::PackedOffsets& map, uint64_t begin, uint64_t end) {
    return map.empty() ? Range{0, 0} : Range{map[begin], map[end]};
  }
  uint64_t CountOf(FieldId field) const;

  std::span<const ElementSource> sources_;
  std::span<const MergeRun> runs_;
  std::map<std::pair<FieldId, FieldId>, Maps> maps_;  // by field and outer field
  std::map<FieldId, std::set<FieldId>> columns_;      // outer fields by field
};

}  // namespace gannet::indexing
