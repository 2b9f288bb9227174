#include "indexing/merge_elements.h"

#include <algorithm>
#include <optional>

#include "bitmap/postings_codec.h"

namespace gannet::indexing {
namespace {

using segment::ColumnKey;
using segment::ElementCode;
using segment::ElementColumn;
using segment::PackedOffsets;

// Documents between two pauses.
constexpr uint32_t kDocumentsPerPause = 4096;

Status DamagedElements() { return Status::Corruption("the elements of a segment are damaged"); }

}  // namespace

Status ElementMerge::Open() {
  for (size_t s = 0; s < sources_.size(); ++s) {
    for (const ColumnKey& key : sources_[s].keys) {
      if (key.kind == ColumnKey::Kind::kElements) {
        columns_[key.field].insert(key.outer);
        continue;
      }
      Maps& maps = maps_[{key.field, key.outer}];
      maps.resize(sources_.size());
      GANNET_ASSIGN_OR_RETURN(maps[s], PackedOffsets::OpenAscending(sources_[s].blob(key)));
    }
  }
  for (const auto& [fields, maps] : maps_) {
    const auto outer = maps_.find({fields.second, fields.second});
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (maps[s].empty()) continue;
      uint64_t size = sources_[s].documents;
      if (fields.first != fields.second) {
        if (outer == maps_.end() || outer->second[s].empty()) return DamagedElements();
        size = outer->second[s].back();
      }
      if (maps[s].size() != size + 1 || maps[s].front() != 0) return DamagedElements();
    }
  }
  return RemoveIncomplete();
}

Result<bool> ElementMerge::Lacks(size_t source, FieldId field) const {
  const std::string_view blob = sources_[source].blob(field);
  if (blob.empty()) return false;
  GANNET_ASSIGN_OR_RETURN(const auto column, segment::ColumnReader::Open(blob));
  bool any = false;
  PostingsReader(column.exists_bytes()).ForEach([&](DocId docid) {
    any = sources_[source].live->Contains(docid);
    return !any;
  });
  return any;
}

Status ElementMerge::RemoveIncomplete() {
  std::set<FieldId> unknown;
  for (const auto& [fields, maps] : maps_) {
    if (fields.first != fields.second) continue;
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (!maps[s].empty()) continue;
      GANNET_ASSIGN_OR_RETURN(const bool lacks, Lacks(s, fields.first));
      if (lacks) unknown.insert(fields.first);
    }
    if (CountOf(fields.first) > ~uint32_t{0}) unknown.insert(fields.first);
  }
  std::erase_if(maps_, [&](const auto& entry) {
    const auto& [field, outer] = entry.first;
    if (unknown.contains(field) || unknown.contains(outer)) return true;
    if (field == outer) return false;
    const Maps& own = maps_.at({field, field});
    for (size_t s = 0; s < sources_.size(); ++s) {
      if (entry.second[s].empty() && !own[s].empty() && own[s].back() > 0) return true;
    }
    return false;
  });
  return Status::Ok();
}

uint64_t ElementMerge::CountOf(FieldId field) const {
  const Maps& maps = maps_.at({field, field});
  uint64_t count = 0;
  for (const MergeRun& run : runs_) {
    const Range range = ElementsIn(maps[run.source], run.local, uint64_t{run.local} + run.count);
    count += range.end - range.begin;
  }
  return count;
}

Status ElementMerge::WriteColumns(FieldId field, const ColumnMerge& merged,
                                  const ColumnMerge::Pause& pause, segment::ColumnSink& out) const {
  const auto outers = columns_.find(field);
  if (outers == columns_.end()) return Status::Ok();
  for (const FieldId outer : outers->second) {
    const auto found = maps_.find({outer, outer});
    if (found == maps_.end()) continue;
    const Maps& maps = found->second;
    // By source; none where no element has the field.
    std::vector<std::optional<ElementColumn>> columns(sources_.size());
    for (size_t s = 0; s < sources_.size(); ++s) {
      const std::string_view blob = sources_[s].blob(ColumnKey::Elements(field, outer));
      if (blob.empty()) continue;
      if (maps[s].empty()) return DamagedElements();
      GANNET_ASSIGN_OR_RETURN(columns[s], ElementColumn::Open(blob, maps[s].back()));
    }
    Status status;
    const auto each = [&](const auto& sink) {
      uint64_t base = 0;  // the number of the next element
      for (const MergeRun& run : runs_) {
        const auto new_values = merged.new_values(run.source);
        for (uint32_t done = 0; done < run.count && status.ok(); done += kDocumentsPerPause) {
          const uint64_t local = uint64_t{run.local} + done;
          const Range range = ElementsIn(maps[run.source], local,
                                         local + std::min(run.count - done, kDocumentsPerPause));
          const auto copy = [&](uint32_t element, uint32_t code) {
            if (code >= ElementCode::kFirst) {
              const uint32_t value = code - ElementCode::kFirst;
              if (value >= new_values.size() || new_values[value] == ColumnMerge::kNoValue) {
                status = DamagedElements();
                return;
              }
              code = new_values[value] + ElementCode::kFirst;
            }
            sink(static_cast<uint32_t>(base + element - range.begin), code);
          };
          const auto& column = columns[run.source];
          if (column) column->ForEach(range.begin, range.end, copy);
          base += range.end - range.begin;
          if (status.ok()) status = pause(0);
        }
      }
    };
    out.Begin(ColumnKey::Elements(field, outer));
    segment::WriteElementColumn(CountOf(outer), merged.value_count(), each,
                                [&](std::string_view bytes) { out.Append(bytes); });
    out.End();
    GANNET_RETURN_IF_ERROR(status);
  }
  return Status::Ok();
}

Status ElementMerge::WriteMaps(const ColumnMerge::Pause& pause, segment::ColumnSink& out) const {
  for (const auto& [fields, maps] : maps_) {
    const Maps* const around =
        fields.first == fields.second ? nullptr : &maps_.at({fields.second, fields.second});
    std::vector<uint64_t> begins{0};
    for (const MergeRun& run : runs_) {
      GANNET_RETURN_IF_ERROR(pause(0));
      const PackedOffsets& map = maps[run.source];
      Range range{run.local, uint64_t{run.local} + run.count};
      if (around != nullptr) range = ElementsIn((*around)[run.source], range.begin, range.end);
      for (uint64_t i = range.begin; i < range.end; ++i)
        begins.push_back(begins.back() + (map.empty() ? 0 : map[i + 1] - map[i]));
    }
    out.Begin(ColumnKey::Map(fields.first, fields.second));
    out.Append(segment::PackOffsets(begins));
    out.End();
  }
  return Status::Ok();
}

}  // namespace gannet::indexing
