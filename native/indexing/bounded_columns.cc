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

// Appends columns to the spool, and says where they are.
class BoundedColumns::SpoolSink : public segment::ColumnSink {
 public:
  SpoolSink(segment::Spool& spool, Part& part) : spool_(spool), part_(part) {}
  void Begin(segment::ColumnKey key) override {
    range_ = &part_.columns[key];
    range_->first = spool_.size();
  }
  void Append(std::string_view bytes) override {
    spool_.buffer() += bytes;
    spool_.Settle();
  }
  void End() override {
    range_->second = spool_.size() - range_->first;
    spool_.buffer().append((8 - spool_.size() % 8) % 8, '\0');
  }

 private:
  segment::Spool& spool_;
  Part& part_;
  std::pair<uint64_t, uint64_t>* range_ = nullptr;  // of the current column
};

void BoundedColumns::Spill() {
  const size_t count = builder_.docids().size();
  runs_.push_back({static_cast<uint32_t>(parts_.size()), 0, static_cast<uint32_t>(count)});
  parts_.push_back({docids_.size(), count, {}});
  docids_.insert(docids_.end(), builder_.docids().begin(), builder_.docids().end());
  SpoolSink sink(spool_, parts_.back());
  for (const FieldId field : builder_.fields()) builder_.Take(field, sink);
  builder_.WriteMaps(sink);
  builder_ = segment::ColumnBuilder();
}

std::string_view BoundedColumns::Blob(const Part& part, segment::ColumnKey key) const {
  const auto found = part.columns.find(key);
  if (found == part.columns.end()) return {};
  return spooled_->substr(found->second.first, found->second.second);
}

Status BoundedColumns::EndParts() {
  if (spooled_) return Status::Ok();
  Spill();
  GANNET_ASSIGN_OR_RETURN(spooled_, spool_.Bytes());
  static const LiveDocuments kAll;
  for (const Part& part : parts_) {
    std::vector<segment::ColumnKey> keys;
    for (const auto& [key, range] : part.columns) {
      if (key.kind != segment::ColumnKey::Kind::kDocuments) keys.push_back(key);
    }
    element_sources_.push_back({std::move(keys),
                                [this, &part](segment::ColumnKey key) { return Blob(part, key); },
                                &kAll, part.count});
  }
  elements_.emplace(element_sources_, runs_);
  return elements_->Open();
}

Status BoundedColumns::Write(FieldId field, segment::ColumnsWriter& writer,
                             const ColumnMerge::Pause& pause) {
  if (parts_.empty()) {
    if (!builder_.Has(field)) return Status::Ok();
    builder_.Take(field, writer);
    return pause(writer.bytes());
  }
  GANNET_RETURN_IF_ERROR(EndParts());
  const LiveDocuments all;
  std::vector<segment::ColumnReader> readers;
  readers.reserve(parts_.size());
  std::vector<ColumnSource> sources;
  for (const Part& part : parts_) {
    const segment::ColumnReader* reader = nullptr;
    if (const std::string_view blob = Blob(part, field); !blob.empty()) {
      GANNET_ASSIGN_OR_RETURN(segment::ColumnReader opened, segment::ColumnReader::Open(blob));
      reader = &readers.emplace_back(opened);
    }
    sources.push_back({reader, &all, std::span(docids_).subspan(part.first, part.count)});
  }
  if (readers.empty()) return Status::Ok();
  // Nothing is dead, so SpellingOf is never called.
  ColumnMerge merge(sources, runs_, docids_, nullptr, pause);
  writer.Begin(field);
  segment::ColumnWriter column([&](std::string_view bytes) { writer.Append(bytes); });
  GANNET_RETURN_IF_ERROR(merge.Write(column));
  writer.End();
  return elements_->WriteColumns(field, merge, pause, writer);
}

Status BoundedColumns::WriteMaps(segment::ColumnsWriter& writer, const ColumnMerge::Pause& pause) {
  if (parts_.empty()) {
    builder_.WriteMaps(writer);
    return pause(writer.bytes());
  }
  GANNET_RETURN_IF_ERROR(EndParts());
  return elements_->WriteMaps(pause, writer);
}

}  // namespace gannet::indexing
