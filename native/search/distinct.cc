#include "search/distinct.h"

#include <algorithm>
#include <functional>
#include <string_view>

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

// Numbers values as they are met, from 0 on; equal values of different columns get one number.
class Distinct::Numbering {
 public:
  explicit Numbering(const std::vector<Column>& columns) : columns_(columns), numbers_(columns.size()) {
    size_t with_values = 0;
    for (const Column& column : columns) with_values += column.reader != nullptr;
    alone_ = with_values == 1;
    if (!alone_) slots_.resize(1024);
  }

  // Of all values met so far; numbers are below it.
  uint32_t count() const { return count_; }

  uint32_t Of(size_t column, ValueOrdinal value) {
    const ColumnReader& reader = *columns_[column].reader;
    if (alone_) {
      count_ = reader.value_count();
      return value;
    }
    std::vector<uint32_t>& known = numbers_[column];
    if (known.empty()) known.resize(reader.value_count());
    if (known[value] == 0) known[value] = Find({static_cast<uint32_t>(column), value}) + 1;
    return known[value] - 1;
  }

 private:
  struct Value {
    uint32_t column;
    ValueOrdinal value;
  };
  bool IsNumber(Value v) const { return v.value < columns_[v.column].reader->number_count(); }
  double Number(Value v) const { return columns_[v.column].reader->numbers()[v.value]; }
  std::string_view String(Value v) const {
    const ColumnReader& reader = *columns_[v.column].reader;
    return reader.string(v.value - reader.number_count());
  }
  size_t Hash(Value v) const {
    return IsNumber(v) ? std::hash<double>()(Number(v)) : std::hash<std::string_view>()(String(v));
  }
  bool Equal(Value a, Value b) const {
    if (IsNumber(a) != IsNumber(b)) return false;
    return IsNumber(a) ? Number(a) == Number(b) : String(a) == String(b);
  }

  uint32_t Find(Value value) {
    const size_t hash = Hash(value), mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      const uint32_t number = slots_[at] - 1;
      if (hashes_[number] == hash && Equal(values_[number], value)) return number;
    }
    slots_[at] = ++count_;
    hashes_.push_back(hash);
    values_.push_back(value);
    if (values_.size() * 2 > slots_.size()) Grow();
    return count_ - 1;
  }

  void Grow() {
    slots_.assign(slots_.size() * 4, 0);
    const size_t mask = slots_.size() - 1;
    for (uint32_t number = 0; number < hashes_.size(); ++number) {
      size_t at = hashes_[number] & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = number + 1;
    }
  }

  const std::vector<Column>& columns_;
  bool alone_;  // one column has all the values: their order numbers them
  uint32_t count_ = 0;
  std::vector<std::vector<uint32_t>> numbers_;  // by column and value: number + 1, or 0
  std::vector<uint32_t> slots_;                 // hash table of number + 1; a power of two of them
  std::vector<size_t> hashes_;                  // by number
  std::vector<Value> values_;                   // by number: where it was met first
};

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
      segment::ForEachPlace(column.segment->rows->places(), part, [&](uint32_t place, uint32_t) {
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
  Numbering numbering(columns_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!whole[i] && seen[i].empty()) continue;
    const uint32_t count = columns_[i].reader->value_count();
    for (uint32_t value = 0; value < count; ++value) {
      if (has(i, value)) numbering.Of(i, value);
    }
  }
  return without + numbering.count();
}

uint64_t Distinct::CountInOrder(const DocSet& documents) const {
  Numbering numbering(columns_);
  std::vector<uint8_t> taken;  // by number
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
    segment::ForEachPlace(columns_[i].segment->rows->places(), part, [&](uint32_t place, uint32_t docid) {
      stream.docids.push_back(docid);
      stream.places.push_back(place);
    });
    streams.push_back(std::move(stream));
  }
  std::vector<uint32_t> own;
  const auto visit = [&](const Stream& stream, size_t at) {
    own.clear();
    columns_[stream.column].reader->ForEachValue(
        stream.places[at], [&](ValueOrdinal value) { own.push_back(numbering.Of(stream.column, value)); });
    if (taken.size() < numbering.count()) taken.resize(numbering.count() + size_t{1024});
    for (const uint32_t number : own) {
      if (taken[number] != 0) return;
    }
    ++kept;
    for (const uint32_t number : own) taken[number] = 1;
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
