// Reads everything in a segment and reports what differs from what its writer writes.
//
// Two kinds of damage are reported: blocks whose checksum is wrong, and content that has the right
// checksum but makes no sense (a bug of the program that wrote it). A part with a damaged block is
// not examined.
//
// Threads: starts none. Cost: one pass over the file, about 100 MB/s; 16 bytes of memory per word
// of the dictionary.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "segment/file.h"
#include "segment/rows.h"

namespace gannet::segment {

struct Fault {
  std::string structure;  // name of the section, or `header`, `directory`
  std::string message;
};

// Name of a section in reports and in docs/internals/format.md; `section N` if it has none.
std::string SectionName(SectionId id);

struct SegmentContext {
  size_t field_count = 0;
  std::shared_ptr<const RowDictionary> dictionary;  // of the index; may be null
  std::optional<std::pair<FieldId, FieldId>> point_fields;
  // Called for every row that can be read.
  std::function<void(DocId, std::span<const RowField>)> on_row;
};

struct SegmentContent {
  std::vector<Fault> faults;
  std::vector<DocId> docids;  // empty when they cannot be read
  uint64_t words = 0, tokens = 0;
};

// Checks the base file: rows and text.
SegmentContent VerifyBase(const std::string& path, const SegmentContext& context);
// Checks the columns in a file, which is the base file or one of columns only. docids: of the
// segment.
std::vector<Fault> VerifyColumns(const std::string& path, std::span<const DocId> docids,
                                 const SegmentContext& context);

// Checks the graphs in a file, over the vectors of a base file. VerifyBase reports damage of the
// vectors.
std::vector<Fault> VerifyGraphs(const std::string& path, const std::string& base_path);

}  // namespace gannet::segment
