// The columns of a segment, collected document by document within a bound of memory: whenever they
// take more, what there is goes to a temporary file, and in the end the parts are merged.
//
// Memory: the bound, twice the largest column of a part, and what ColumnMerge takes. Threads: one
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
#include "segment/columns.h"
#include "segment/spool.h"

namespace gannet::indexing {

class BoundedColumns {
 public:
  // folder: where the temporary file lies, once there is one.
  BoundedColumns(std::string folder, uint64_t memory_bytes)
      : memory_bytes_(memory_bytes), spool_(std::move(folder)) {}

  // The next document, whose values go to the result.
  segment::ColumnBuilder& BeginDocument(DocId docid);
  // Writes the column of a field, if there is one; false: there is none. To be called with
  // ascending fields, behind the last document.
  // Io, Full: the temporary file could not be written. Otherwise what `pause` answers.
  Result<bool> Write(FieldId field, segment::ColumnsWriter& writer,
                     const ColumnMerge::Pause& pause);

 private:
  // Documents that stand behind each other, and their columns in the spool.
  struct Part {
    size_t first, count;                                       // of docids_
    std::map<FieldId, std::pair<uint64_t, uint64_t>> columns;  // offset, size
  };
  void Spill();

  const uint64_t memory_bytes_;
  segment::ColumnBuilder builder_;  // of the documents behind the parts
  std::vector<DocId> docids_;
  std::vector<Part> parts_;
  std::vector<MergeRun> runs_;  // of the parts
  segment::Spool spool_;
  std::optional<std::string_view> spooled_;  // once all is there
};

}  // namespace gannet::indexing
