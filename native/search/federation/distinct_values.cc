#include "search/federation/distinct_values.h"

#include <algorithm>

#include "base/json.h"

namespace gannet::search {

std::vector<std::string> ValuesOf(const index::Snapshot& snapshot, std::string_view field,
                                  DocId docid) {
  std::vector<std::string> values;
  const auto number = snapshot.fields->Find(field);
  const index::SegmentView* segment = snapshot.FindSegment(docid);
  if (!number || segment == nullptr) return values;
  const segment::ColumnReader* column = segment->columns->Find(*number);
  const int64_t local = segment->text->Find(docid);
  if (column == nullptr || local < 0) return values;
  column->ForEachValue(static_cast<uint32_t>(local), [&](segment::ValueOrdinal value) {
    if (value >= column->number_count()) {
      values.emplace_back("s") += column->string(value - column->number_count());
    } else {
      values.emplace_back("n");
      AppendJsonNumber(values.back(), column->numbers()[value]);
    }
  });
  return values;
}

bool DistinctValues::Keep(const index::Snapshot& snapshot, DocId docid) {
  const std::vector<std::string> values = ValuesOf(snapshot, field_, docid);
  if (std::any_of(values.begin(), values.end(),
                  [&](const std::string& value) { return taken_.contains(value); }))
    return false;
  taken_.insert(values.begin(), values.end());
  return true;
}

}  // namespace gannet::search
