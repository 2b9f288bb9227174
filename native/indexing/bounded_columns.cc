#include "indexing/bounded_columns.h"

#include <span>
#include <string_view>

namespace gannet::indexing {
namespace {

// Documents between two checks of the memory.
constexpr size_t kDocumentsPerLook = 64;

}  // namespace

segment::ColumnBuilder& BoundedColumns::BeginDocument(DocId docid) {
  const size_t documents = builder_.docids().size();
  if (documents > 0 && documents % kDocumentsPerLook == 0 &&
      builder_.memory_bytes() > memory_bytes_)
    Spill();
  builder_.BeginDocument(docid);
  return builder_;
}

void BoundedColumns::Spill() {
  const size_t count = builder_.docids().size();
  runs_.push_back({static_cast<uint32_t>(parts_.size()), 0, static_cast<uint32_t>(count)});
  parts_.push_back({docids_.size(), count, {}});
  Part& part = parts_.back();
  docids_.insert(docids_.end(), builder_.docids().begin(), builder_.docids().end());
  for (const FieldId field : builder_.fields()) {
    const uint64_t begin = spool_.size();
    segment::ColumnWriter column([&](std::string_view bytes) {
      spool_.buffer() += bytes;
      spool_.Settle();
    });
    builder_.Take(field, column);
    part.columns.emplace(field, std::pair(begin, spool_.size() - begin));
  }
  builder_ = segment::ColumnBuilder();
}

Result<bool> BoundedColumns::Write(FieldId field, segment::ColumnsWriter& writer,
                                   const ColumnMerge::Pause& pause) {
  if (parts_.empty()) {
    if (!builder_.Has(field)) return false;
    segment::ColumnWriter column = writer.Begin(field);
    builder_.Take(field, column);
    writer.End();
    GANNET_RETURN_IF_ERROR(pause(column.bytes()));
    return true;
  }
  if (!spooled_) {
    Spill();
    GANNET_ASSIGN_OR_RETURN(spooled_, spool_.Bytes());
  }
  const LiveDocuments all;
  std::vector<segment::ColumnReader> readers;
  readers.reserve(parts_.size());
  std::vector<ColumnSource> sources;
  for (const Part& part : parts_) {
    const segment::ColumnReader* reader = nullptr;
    if (const auto found = part.columns.find(field); found != part.columns.end()) {
      GANNET_ASSIGN_OR_RETURN(
          segment::ColumnReader opened,
          segment::ColumnReader::Open(spooled_->substr(found->second.first, found->second.second)));
      reader = &readers.emplace_back(opened);
    }
    sources.push_back({reader, &all, std::span(docids_).subspan(part.first, part.count)});
  }
  if (readers.empty()) return false;
  segment::ColumnWriter column = writer.Begin(field);
  // Nothing is dead, so SpellingOf is never called.
  GANNET_RETURN_IF_ERROR(ColumnMerge(sources, runs_, docids_, nullptr, pause).Write(column));
  writer.End();
  return true;
}

}  // namespace gannet::indexing
