#include "search/distinct.h"

#include <algorithm>

#include "bitmap/postings_codec.h"
#include "segment/doc_places.h"

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
    single_valued_ &= reader->single_valued();
  }
}

void Distinct::ValuesOfInto(DocId kept, DocSet& excluded) const {
  const Column* own = nullptr;
  for (const Column& column : columns_) {
    if (column.segment->live.Contains(kept)) own = &column;
  }
  if (own == nullptr || own->reader == nullptr) return;
  const int64_t place = own->segment->text->Find(kept);
  if (place < 0) return;
  const bool was_excluded = excluded.Contains(kept);
  const auto exclude = [&](const Column& column, ValueOrdinal value) {
    const std::string_view postings = column.reader->postings(value);
    if (column.segment->all_live()) {
      UnionPostingsInto(postings, excluded);
    } else {
      IntersectPostings(postings, column.segment->live, excluded);
    }
  };
  own->reader->ForEachValue(static_cast<uint32_t>(place), [&](ValueOrdinal value) {
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

uint32_t Distinct::NumberValues(std::vector<std::vector<uint32_t>>& numbers) const {
  numbers.resize(columns_.size());
  std::vector<uint32_t> next(columns_.size());
  uint32_t count = 0;
  // The columns are sorted: the least of their next values gets the next number, wherever it stands.
  for (const bool strings : {false, true}) {
    for (;;) {
      const ColumnReader* least = nullptr;
      uint32_t at = 0;
      for (size_t i = 0; i < columns_.size(); ++i) {
        const ColumnReader* reader = columns_[i].reader;
        if (reader == nullptr || next[i] >= (strings ? reader->value_count() : reader->number_count())) continue;
        const bool before =
            least == nullptr ||
            (strings ? reader->string(next[i] - reader->number_count()) < least->string(at - least->number_count())
                     : reader->numbers()[next[i]] < least->numbers()[at]);
        if (!before) continue;
        least = reader;
        at = next[i];
      }
      if (least == nullptr) break;
      for (size_t i = 0; i < columns_.size(); ++i) {
        const ColumnReader* reader = columns_[i].reader;
        if (reader == nullptr || next[i] >= (strings ? reader->value_count() : reader->number_count())) continue;
        const bool same =
            strings ? reader->string(next[i] - reader->number_count()) == least->string(at - least->number_count())
                    : reader->numbers()[next[i]] == least->numbers()[at];
        if (!same) continue;
        numbers[i].push_back(count);
        ++next[i];
      }
      ++count;
    }
  }
  return count;
}

uint64_t Distinct::CountSingleValued(const DocSet& documents) const {
  uint64_t without = 0;
  // By column and value: whether a document has it. Empty: all of them.
  std::vector<std::vector<uint8_t>> seen(columns_.size());
  std::vector<bool> whole(columns_.size());
  size_t columns_met = 0, met = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const DocSet part = documents & column.segment->live;
    const uint64_t size = part.size();
    if (size == 0) continue;
    if (column.reader == nullptr) {
      without += size;
      continue;
    }
    ++columns_met;
    met = i;
    if (size == column.segment->documents->size()) {
      whole[i] = true;
      without += size - PostingsCount(column.reader->valued_bytes());
      continue;
    }
    seen[i].resize(column.reader->value_count() + size_t{1});
    column.reader->WithCodes([&](const auto* codes) {
      uint64_t none = 0;
      uint8_t* const marks = seen[i].data();
      segment::ForEachPlace(column.segment->rows->docids(), part, [&](uint32_t place, uint32_t) {
        const uint32_t code = codes[place];
        none += code == 0;
        marks[code] = 1;
      });
      without += none;
    });
  }
  const auto has = [&](size_t column, uint32_t value) { return whole[column] || seen[column][value + 1] != 0; };
  uint64_t values = 0;
  if (columns_met == 1) {
    if (whole[met]) return without + columns_[met].reader->value_count();
    for (uint32_t value = 0; value < columns_[met].reader->value_count(); ++value) values += has(met, value);
    return without + values;
  }
  if (columns_met == 0) return without;
  std::vector<std::vector<uint32_t>> numbers;
  std::vector<uint8_t> kept(NumberValues(numbers));
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!whole[i] && seen[i].empty()) continue;
    for (uint32_t value = 0; value < numbers[i].size(); ++value) {
      if (has(i, value)) kept[numbers[i][value]] = 1;
    }
  }
  return without + static_cast<uint64_t>(std::count(kept.begin(), kept.end(), 1));
}

uint64_t Distinct::CountInOrder(const DocSet& documents) const {
  std::vector<std::vector<uint32_t>> numbers;
  std::vector<uint8_t> taken(NumberValues(numbers));
  // Places of the wanted documents per column; the columns are merged by docid.
  struct Stream {
    size_t column;
    std::vector<uint32_t> docids, places;
    size_t next = 0;
  };
  std::vector<Stream> streams;
  uint64_t kept = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const DocSet part = documents & columns_[i].segment->live;
    if (columns_[i].reader == nullptr) {
      kept += part.size();
      continue;
    }
    if (part.empty()) continue;
    Stream stream{i, {}, {}, 0};
    stream.docids.reserve(part.size());
    stream.places.reserve(part.size());
    segment::ForEachPlace(columns_[i].segment->rows->docids(), part, [&](uint32_t place, uint32_t docid) {
      stream.docids.push_back(docid);
      stream.places.push_back(place);
    });
    streams.push_back(std::move(stream));
  }
  const auto visit = [&](const Stream& stream, size_t at) {
    const ColumnReader& reader = *columns_[stream.column].reader;
    const std::vector<uint32_t>& number = numbers[stream.column];
    bool free = true;
    reader.ForEachValue(stream.places[at], [&](ValueOrdinal value) { free &= taken[number[value]] == 0; });
    if (!free) return;
    ++kept;
    reader.ForEachValue(stream.places[at], [&](ValueOrdinal value) { taken[number[value]] = 1; });
  };
  while (streams.size() > 1) {
    // The stream with the least docid goes on up to the least of the others.
    size_t first = 0;
    uint32_t limit = UINT32_MAX;
    for (size_t i = 1; i < streams.size(); ++i) {
      if (streams[i].docids[streams[i].next] < streams[first].docids[streams[first].next]) first = i;
    }
    for (size_t i = 0; i < streams.size(); ++i) {
      if (i != first) limit = std::min(limit, streams[i].docids[streams[i].next]);
    }
    Stream& stream = streams[first];
    while (stream.next < stream.docids.size() && stream.docids[stream.next] < limit) visit(stream, stream.next++);
    if (stream.next == stream.docids.size()) streams.erase(streams.begin() + static_cast<ptrdiff_t>(first));
  }
  for (Stream& stream : streams) {
    while (stream.next < stream.docids.size()) visit(stream, stream.next++);
  }
  return kept;
}

uint64_t Distinct::CountDistinct(const DocSet& documents) const {
  if (!active_) return documents.size();
  return single_valued_ ? CountSingleValued(documents) : CountInOrder(documents);
}

}  // namespace gannet::search
