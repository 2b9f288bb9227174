#include "search/results/distinct.h"

#include <string_view>

#include "base/json_reader.h"
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

void Distinct::Column::Add(ValueOrdinal value, DocSet& documents) const {
  const std::string_view postings = reader->postings(value);
  if (segment->all_live()) {
    UnionPostingsInto(postings, documents);
  } else {
    IntersectPostings(postings, segment->live, documents);
  }
}

void Distinct::Column::AddNumber(double number, DocSet& documents) const {
  if (reader == nullptr) return;
  const uint32_t at = reader->LowerNumber(number);
  if (at < reader->UpperNumber(number)) Add(at, documents);
}

void Distinct::Column::AddString(std::string_view string, DocSet& documents) const {
  if (reader == nullptr) return;
  const uint32_t at = reader->LowerString(string);
  if (at < reader->string_count() && reader->string(at) == string)
    Add(reader->number_count() + at, documents);
}

void Distinct::WithValuesInto(const std::vector<std::string>& values, DocSet& documents) const {
  for (const std::string& value : values) {
    const std::string_view text = std::string_view(value).substr(1);
    for (const Column& column : columns_) {
      if (value[0] == 'n') {
        column.AddNumber(json::NumberValue(text), documents);
      } else {
        column.AddString(text, documents);
      }
    }
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
  own->reader->ForEachValue(static_cast<uint32_t>(local), [&](ValueOrdinal value) {
    const ColumnReader& reader = *own->reader;
    const bool is_number = value < reader.number_count();
    for (const Column& column : columns_) {
      if (&column == own) {
        column.Add(value, excluded);
      } else if (is_number) {
        column.AddNumber(reader.numbers()[value], excluded);
      } else {
        column.AddString(reader.string(value - reader.number_count()), excluded);
      }
    }
  });
  if (!was_excluded) excluded.Remove(kept);
}

Status CheckFilterable(const index::Settings& settings, const std::string& attribute,
                       const std::string& parameter) {
  const auto rule = settings.Filterable(attribute);
  if (rule && rule->first.filterable()) return Status::Ok();
  return Status::Invalid("The attribute `" + attribute + "` of `" + parameter +
                             "` is not filterable. " + settings.FilterableText(),
                         "invalid_search_" + parameter);
}

Result<std::unique_ptr<Distinct>> DistinctOf(const index::Snapshot& snapshot,
                                             const std::optional<std::string>& attribute) {
  const index::Settings& settings = *snapshot.settings;
  if (attribute) GANNET_RETURN_IF_ERROR(CheckFilterable(settings, *attribute, "distinct"));
  const std::optional<std::string>& name = attribute ? attribute : settings.distinct;
  if (!name) return std::unique_ptr<Distinct>();
  auto distinct = std::make_unique<Distinct>(snapshot, *name);
  if (!distinct->active()) distinct.reset();
  return distinct;
}

}  // namespace gannet::search
