// The columns of a segment, collected document by document within a limit of memory: whenever they
// exceed it, the columns so far go to a temporary file, and in the end the parts are merged.
//
// Memory: the limit, twice the largest column of a part, and what ColumnMerge takes. Threads: one
// owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "indexing/merge_columns.h"
#include "indexing/merge_elements.h"
#include "segment/columns.h"
#include "segment/spool.h"

namespace gannet::indexing {

class BoundedColumns {
 public:
  // folder: for the temporary file, if one is needed.
  BoundedColumns(std::string folder, uint64_t memory_bytes)
      : memory_bytes_(memory_bytes), spool_(std::move(folder)) {}

  // Begins the next document, whose values are added to the result.
  segment::ColumnBuilder& BeginDocument(DocId docid);
  // Writes the column of a field, if it has one, and those of its elements. Call it with ascending
  // fields, after the last document.
  // Io, Full: the temporary file could not be written. Other errors come from `pause`.
  Status Write(FieldId field, segment::ColumnsWriter& writer, const ColumnMerge::Pause& pause);
  // Call it after the last column.
  Status WriteMaps(segment::ColumnsWriter& writer, const ColumnMerge::Pause& pause);

 private:
  // Consecutive documents, and their columns in the spool.
  struct Part {
    size_t first, count;                                                  // of docids_
    std::map<segment::ColumnKey, std::pair<uint64_t, uint64_t>> columns;  // offset, size
  };
  class SpoolSink;
  void Spill();
  Status EndParts();
  std::string_view Blob(const Part& part, segment::ColumnKey key) const;

  const uint64_t memory_bytes_;
  segment::ColumnBuilder builder_;  // of the documents after the parts
  std::vector<DocId> docids_;
  std::vector<Part> parts_;
  std::vector<MergeRun> runs_;  // of the parts
  segment::Spool spool_;
  std::optional<std::string_view> spooled_;  // set when everything is in the spool
  std::vector<ElementSource> element_sources_;
  std::optional<ElementMerge> elements_;
};

}  // namespace gannet::indexing
