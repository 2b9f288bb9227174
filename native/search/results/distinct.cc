#include "search/results/distinct.h"

#include <string_view>

#include "bitmap/postings_codec.h"

namespace gannet::search {

using segment::ColumnReader;
using segment::ValueOrdinal;

Distinct::Distinct(const index::Snapshot& snapshot, std::string_view field) : snapshot_(snapshot) {
  const auto id = snapshot.fields->Find(field);
  if (!id) return;
  for (const auto& segment : snapshot.segments) {
    const ColumnReader* reader = segment->columns->Find(*id);
    if (reader != nullptr && reader->value_count() == 0) reader = nullptr;
    columns_.push_back({segment.get(), reader});
    if (reader == nullptr) continue;
    active_ = true;
  }
}

void Distinct::ValuesOfInto(DocId kept, DocSet& excluded) const {
  const Column* own = nullptr;
  for (const Column& column : columns_) {
    if (column.segment->live.Contains(kept)) own = &column;
  }
  if (own == nullptr || own->reader == nullptr) return;
  const int64_t local = own->segment->text->Find(kept);
  if (local < 0) return;
  const bool was_excluded = excluded.Contains(kept);
  const auto exclude = [&](const Column& column, ValueOrdinal value) {
    const std::string_view postings = column.reader->postings(value);
    if (column.segment->all_live()) {
      UnionPostingsInto(postings, excluded);
    } else {
      IntersectPostings(postings, column.segment->live, excluded);
    }
  };
  own->reader->ForEachValue(static_cast<uint32_t>(local), [&](ValueOrdinal value) {
    const ColumnReader& reader = *own->reader;
    const bool is_number = value < reader.number_count();
    for (const Column& column : columns_) {
      if (&column == own) {
        exclude(column, value);
      } else if (column.reader != nullptr && is_number) {
        const double number = reader.numbers()[value];
        const uint32_t at = column.reader->LowerNumber(number);
        if (at < column.reader->UpperNumber(number)) exclude(column, at);
      } else if (column.reader != nullptr) {
        const std::string_view string = reader.string(value - reader.number_count());
        const uint32_t at = column.reader->LowerString(string);
        if (at < column.reader->string_count() && column.reader->string(at) == string) {
          exclude(column, column.reader->number_count() + at);
        }
      }
    }
  });
  if (!was_excluded) excluded.Remove(kept);
}

Result<std::unique_ptr<Distinct>> DistinctOf(const index::Snapshot& snapshot,
                                             const std::optional<std::string>& attribute) {
  const index::Settings& settings = *snapshot.settings;
  if (attribute) {
    const auto rule = settings.Filterable(*attribute);
    if (!rule || !rule->first.filterable()) {
      return Status::Invalid("The attribute `" + *attribute +
                                 "` of `distinct` is not filterable. " + settings.FilterableText(),
                             "invalid_search_distinct");
    }
  }
  const std::optional<std::string>& name = attribute ? attribute : settings.distinct;
  if (!name) return std::unique_ptr<Distinct>();
  auto distinct = std::make_unique<Distinct>(snapshot, *name);
  if (!distinct->active()) distinct.reset();
  return distinct;
}

}  // namespace gannet::search
