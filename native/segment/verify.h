// Reads everything of a segment and tells what is not as its writer leaves it.
//
// Two kinds of damage are looked for: blocks whose checksum is wrong, and content that has the
// right checksum but no sense (a fault of a program that wrote it). A part with a damaged block is
// not looked into.
//
// Threads: none of its own. Cost: one pass over the file, about 100 MB/s; 16 bytes of memory per
// word of the dictionary.
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

// What the name of a section is in reports and in docs/format.md; `section N` when it has none.
std::string SectionName(SectionId id);

struct SegmentContext {
  size_t field_count = 0;
  std::shared_ptr<const RowDictionary> dictionary;  // of the index; may be null
  std::optional<std::pair<FieldId, FieldId>> point_fields;
  // Told of every row that can be read.
  std::function<void(DocId, std::span<const RowField>)> on_row;
};

struct SegmentContent {
  std::vector<Fault> faults;
  std::vector<DocId> docids;  // empty when they cannot be read
  uint64_t words = 0, tokens = 0;
};

// The base file: rows and text.
SegmentContent VerifyBase(const std::string& path, const SegmentContext& context);
// The columns in a file, which is the base file or one of columns only. docids: of the segment.
std::vector<Fault> VerifyColumns(const std::string& path, std::span<const DocId> docids,
                                 const SegmentContext& context);

// The graphs in a file, over the vectors of a base file. What of these is damaged is told by
// VerifyBase.
std::vector<Fault> VerifyGraphs(const std::string& path, const std::string& base_path);

}  // namespace gannet::segment
