#include "segment/columns.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/bytes.h"
#include "base/moment.h"
#include "base/stop_point.h"
#include "bitmap/docset_union.h"
#include "bitmap/postings_codec.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

constexpr uint32_t kGroupValues = ColumnReader::kGroupValues;
constexpr uint32_t kSuperValues = ColumnReader::kSuperValues;

constexpr size_t kFooterBytes = (kColumnPartCount + 1) * sizeof(uint64_t);

bool Monotone(const PackedOffsets& offsets, uint64_t end) {
  return offsets.IsAscending() && (offsets.empty() || offsets.back() <= end);
}

bool Monotone(std::span<const uint32_t> offsets, uint64_t end) {
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) return false;
  }
  return offsets.empty() || offsets.back() <= end;
}

constexpr uint64_t Padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::string DocSetBytes(std::span<const uint32_t> docids, const LocalDocIdList& local_docids) {
  std::vector<uint32_t> documents;
  local_docids.ForEach([&](uint32_t local) {
    if (documents.empty() || documents.back() != docids[local]) documents.push_back(docids[local]);
  });
  std::string out;
  AppendPostings(documents, out);
  return out;
}

}  // namespace

Result<ColumnReader> ColumnReader::Open(std::string_view blob) {
  const Status damaged = Status::Corruption("a column is damaged");
  if (blob.size() < kFooterBytes) return damaged;
  const char* const footer = blob.data() + blob.size() - kFooterBytes;
  std::string_view parts[kColumnPartCount];
  uint64_t at = 0, left = blob.size() - kFooterBytes;
  for (size_t i = 0; i < kColumnPartCount; ++i) {
    const auto size = LoadFixed<uint64_t>(footer + i * sizeof(uint64_t));
    if (size > left || Padded(size) > left) return damaged;
    parts[i] = blob.substr(at, size);
    at += Padded(size);
    left -= Padded(size);
  }
  if (left != 0) return damaged;
  const auto part = [&](ColumnPart which) { return parts[static_cast<size_t>(which)]; };
  ColumnReader column;
  column.code_width_ =
      static_cast<uint32_t>(LoadFixed<uint64_t>(footer + kColumnPartCount * sizeof(uint64_t)));
  column.postings_ = part(ColumnPart::kPostings);
  GANNET_ASSIGN_OR_RETURN(column.posting_offsets_,
                          PackedOffsets::Open(part(ColumnPart::kPostingOffsets)));
  column.groups_ = part(ColumnPart::kGroups);
  GANNET_ASSIGN_OR_RETURN(column.group_offsets_,
                          PackedOffsets::Open(part(ColumnPart::kGroupOffsets)));
  column.supers_ = part(ColumnPart::kSupers);
  GANNET_ASSIGN_OR_RETURN(column.super_offsets_,
                          PackedOffsets::Open(part(ColumnPart::kSuperOffsets)));
  column.numbers_ = AsSpan<double>(part(ColumnPart::kNumbers));
  column.strings_ = part(ColumnPart::kStrings);
  GANNET_ASSIGN_OR_RETURN(column.string_offsets_,
                          PackedOffsets::Open(part(ColumnPart::kStringOffsets)));
  column.spellings_ = part(ColumnPart::kSpellings);
  GANNET_ASSIGN_OR_RETURN(column.spelling_offsets_,
                          PackedOffsets::Open(part(ColumnPart::kSpellingOffsets)));
  column.flags_ = part(ColumnPart::kFlags);
  column.doc_offsets_ = AsSpan<uint32_t>(part(ColumnPart::kDocOffsets));
  column.codes_ = part(ColumnPart::kCodes).data();
  column.code_bytes_ = part(ColumnPart::kCodes).size();
  column.exists_ = part(ColumnPart::kExists);
  column.null_ = part(ColumnPart::kNull);
  column.empty_ = part(ColumnPart::kEmpty);
  column.valued_ = part(ColumnPart::kValued);
  if ((column.code_width_ != 1 && column.code_width_ != 2 && column.code_width_ != 4) ||
      column.string_offsets_.size() != column.flags_.size() + 1 ||
      column.spelling_offsets_.size() != column.string_offsets_.size() ||
      column.posting_offsets_.size() != uint64_t{column.value_count()} + 1 ||
      !Monotone(column.string_offsets_, column.strings_.size()) ||
      !Monotone(column.spelling_offsets_, column.spellings_.size()) ||
      !Monotone(column.posting_offsets_, column.postings_.size()) ||
      !Monotone(column.group_offsets_, column.groups_.size()) ||
      !Monotone(column.super_offsets_, column.supers_.size()) ||
      !Monotone(column.doc_offsets_, column.code_bytes_ / column.code_width_)) {
    return damaged;
  }
  return column;
}

std::string_view ColumnReader::spelling(uint32_t i) const {
  if (flags_[i] & 2) return string(i);
  const auto [begin, end] = spelling_offsets_.RangeOf(i);
  return spellings_.substr(begin, end - begin);
}

std::string_view ColumnReader::StoredUnion(ValueOrdinal first, uint32_t size) const {
  const auto& offsets = size == kSuperValues ? super_offsets_ : group_offsets_;
  const uint32_t group = first / size;
  if (first % size != 0 || group + size_t{1} >= offsets.size()) return {};
  return (size == kSuperValues ? supers_ : groups_)
      .substr(offsets[group], offsets[group + 1] - offsets[group]);
}

DocSet ColumnReader::UnionOf(std::span<const ValueRange> ranges) const {
  if (ranges.size() == 1 && ranges[0].end - ranges[0].begin == 1)
    return DecodePostings(postings(ranges[0].begin));
  DocSetUnion documents;
  for (const ValueRange& range : ranges) {
    for (ValueOrdinal at = range.begin; at < range.end;) {
      uint32_t size = kSuperValues;
      std::string_view list;
      for (; size > 1 && list.empty(); size = list.empty() ? size / kGroupValues : size) {
        if (size <= range.end - at) list = StoredUnion(at, size);
      }
      documents.AddPostings(list.empty() ? postings(at) : list);
      at += size;
    }
  }
  return documents.Finish();
}

bool ColumnReader::SkipUp(ValueOrdinal& value, ValueOrdinal end, const DocSet& documents) const {
  for (const uint32_t size : {kSuperValues, kGroupValues}) {
    if (size > end - value) continue;
    const std::string_view postings = StoredUnion(value, size);
    if (postings.empty() || PostingsIntersect(postings, documents)) continue;
    value += size;
    return true;
  }
  return false;
}

bool ColumnReader::SkipDown(ValueOrdinal& value, ValueOrdinal begin,
                            const DocSet& documents) const {
  for (const uint32_t size : {kSuperValues, kGroupValues}) {
    if (size > value - begin) continue;
    const std::string_view postings = StoredUnion(value - size, size);
    if (postings.empty() || PostingsIntersect(postings, documents)) continue;
    value -= size;
    return true;
  }
  return false;
}

int64_t ColumnReader::NsOfIntersection(uint64_t count, uint64_t documents_count,
                                       uint64_t segment_documents) {
  if (count <= kDeltaPostingsMax) return 50 + static_cast<int64_t>(count) * 5;
  constexpr uint64_t kArrayMax = 4096;  // docids of a block of 65536 that are stored as a list
  const uint64_t blocks = segment_documents / 65536 + 1;
  const bool list = count / blocks < kArrayMax, other_list = documents_count / blocks < kArrayMax;
  // Two lists are merged; if one is much longer, the shorter one is looked up in it.
  const uint64_t work = list && other_list ? std::min((count + documents_count) * 12,
                                                      std::min(count, documents_count) * 64)
                        : list             ? count
                        : other_list       ? documents_count
                                           : blocks * 200;
  return static_cast<int64_t>(500 + blocks * 40 + work);
}

uint32_t ColumnReader::LowerNumber(double value) const {
  return static_cast<uint32_t>(std::lower_bound(numbers_.begin(), numbers_.end(), value) -
                               numbers_.begin());
}
uint32_t ColumnReader::UpperNumber(double value) const {
  return static_cast<uint32_t>(std::upper_bound(numbers_.begin(), numbers_.end(), value) -
                               numbers_.begin());
}
uint32_t ColumnReader::LowerString(std::string_view value) const {
  uint32_t low = 0, high = string_count();
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (string(middle) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
uint32_t ColumnReader::UpperString(std::string_view value) const {
  const uint32_t at = LowerString(value);
  return at < string_count() && string(at) == value ? at + 1 : at;
}

void ColumnReader::FindContaining(std::string_view part, std::vector<uint32_t>& out) const {
  // Searches through all strings at once, a part of them at a time. A hit that crosses the border
  // of two strings does not count.
  constexpr size_t kBytesAtOnce = size_t{1} << 20;
  size_t at = string_offsets_[0];
  uint32_t string = 0;
  StopCounter steps;
  while (at + part.size() <= strings_.size()) {
    const size_t bytes = std::min(strings_.size() - at, kBytesAtOnce + part.size() - 1);
    const void* found = memmem(strings_.data() + at, bytes, part.data(), part.size());
    if (found == nullptr) {
      StopPoint();
      at += bytes - part.size() + 1;
      continue;
    }
    steps.Step(32);
    const auto hit = static_cast<size_t>(static_cast<const char*>(found) - strings_.data());
    // Finds the last string that does not begin after the hit; `string` does not.
    for (uint32_t end = string_count(); end - string > 1;) {
      const uint32_t middle = string + (end - string) / 2;
      (string_offsets_[middle] <= hit ? string : end) = middle;
    }
    if (hit + part.size() <= string_offsets_[string + 1]) {
      out.push_back(string);
      at = string_offsets_[string + 1];
    } else {
      at = hit + 1;
    }
  }
}

ColumnDates::ColumnDates(const ColumnReader& column) : column_(column) {
  struct Dated {
    double moment;
    uint32_t string;
  };
  std::vector<Dated> dates;
  StopCounter steps;
  for (uint32_t i = 0; i < column.string_count(); ++i) {
    steps.Step(16);
    if (const auto moment = ParseDate(column.string(i))) dates.push_back({*moment, i});
  }
  if (dates.empty()) return;
  count_ = static_cast<uint32_t>(dates.size());
  first_ = dates[0].string;
  const auto earlier = [](const Dated& a, const Dated& b) { return a.moment < b.moment; };
  if (dates.back().string - first_ + 1 == count_ &&
      std::is_sorted(dates.begin(), dates.end(), earlier)) {
    return;
  }
  std::stable_sort(dates.begin(), dates.end(), earlier);
  strings_.reserve(count_);
  for (const Dated& date : dates) strings_.push_back(date.string);
}

double ColumnDates::MomentAt(uint32_t i) const { return *ParseDate(column_.string(StringAt(i))); }

uint32_t ColumnDates::Lower(double moment, bool after) const {
  uint32_t begin = 0, end = count_;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    const double at = MomentAt(middle);
    if (at < moment || (after && at == moment)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void ColumnDates::AppendValues(std::span<const Range> ranges,
                               std::vector<ColumnReader::ValueRange>& out) const {
  const uint32_t numbers = column_.number_count();
  std::vector<bool> found;  // by string
  StopCounter steps;
  for (const Range& range : ranges) {
    steps.Step(64);
    const uint32_t begin = Lower(range.from, false), end = Lower(range.to, true);
    if (begin >= end) continue;
    if (strings_.empty()) {
      out.push_back({numbers + first_ + begin, numbers + first_ + end});
      continue;
    }
    found.resize(column_.string_count());
    for (uint32_t i = begin; i < end; ++i) {
      steps.Step(1);
      found[strings_[i]] = true;
    }
  }
  for (uint32_t i = 0; i < found.size(); ++i) {
    steps.Step(1);
    if (!found[i]) continue;
    const uint32_t begin = i;
    while (i + 1 < found.size() && found[i + 1]) ++i;
    out.push_back({numbers + begin, numbers + i + 1});
  }
}

Result<std::shared_ptr<const ColumnsReader>> ColumnsReader::Open(
    std::shared_ptr<SegmentFile> file) {
  auto reader = std::make_shared<ColumnsReader>();
  reader->file_ = file;
  ByteReader directory(file->ReadAll(kColumnDirectory));
  const auto add = [&](ColumnKey key, ByteReader& bytes) {
    auto entry = std::make_unique<Entry>(key);
    entry->offset = bytes.Fixed<uint64_t>();
    entry->size = bytes.Fixed<uint64_t>();
    reader->entries_.push_back(std::move(entry));
  };
  while (!directory.done() && directory.ok()) add(directory.Fixed<FieldId>(), directory);
  ByteReader elements(file->Has(kElementDirectory) ? file->ReadAll(kElementDirectory)
                                                   : std::string_view());
  while (!elements.done() && elements.ok()) {
    const auto kind = static_cast<ColumnKey::Kind>(elements.Fixed<uint8_t>());
    const auto field = elements.Fixed<FieldId>(), outer = elements.Fixed<FieldId>();
    add(ColumnKey(kind, field, outer), elements);
  }
  if (!directory.ok() || !elements.ok() || file->corrupt()) {
    return Status::Corruption("the segment file " + file->path() + " is damaged");
  }
  return std::shared_ptr<const ColumnsReader>(reader);
}

ColumnsReader::Entry* ColumnsReader::FindEntry(ColumnKey key) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const auto& entry, const ColumnKey& k) { return entry->key < k; });
  return found != entries_.end() && (*found)->key == key ? found->get() : nullptr;
}

template <typename T, typename Read>
const T* ColumnsReader::Opened(ColumnKey key, std::unique_ptr<T> Entry::*to,
                               const Read& read) const {
  Entry* const entry = FindEntry(key);
  if (entry == nullptr) return nullptr;
  std::call_once(entry->once, [&] {
    auto opened = read(file_->Read(kColumnData, entry->offset, entry->size));
    if (opened.ok()) {
      (entry->*to) = std::make_unique<T>(std::move(*opened));
    } else {
      file_->MarkCorrupt();
    }
  });
  return (entry->*to).get();
}

const ColumnReader* ColumnsReader::Find(FieldId field) const {
  return Opened(field, &Entry::reader, ColumnReader::Open);
}

const PackedOffsets* ColumnsReader::Map(FieldId field, FieldId outer) const {
  return Opened(ColumnKey::Map(field, outer), &Entry::map, PackedOffsets::OpenAscending);
}

const ElementColumn* ColumnsReader::Elements(FieldId field, FieldId outer) const {
  const PackedOffsets* const map = Map(outer, outer);
  if (map == nullptr) return nullptr;
  return Opened(ColumnKey::Elements(field, outer), &Entry::elements,
                [&](std::string_view bytes) { return ElementColumn::Open(bytes, map->back()); });
}

const ColumnDates& ColumnsReader::Dates(FieldId field) const {
  Entry* const entry = FindEntry(field);
  const std::lock_guard lock(dates_mutex_);
  if (!entry->dates) entry->dates = std::make_unique<ColumnDates>(*Find(field));
  return *entry->dates;
}

namespace {

// Builds an index of the points of documents [0, count). Null columns: no document has one.
void BuildPoints(const ColumnReader* lats, const ColumnReader* lngs, uint32_t count,
                 const GeoIndex::Sink& sink) {
  const auto point_of = [&](uint32_t local) -> std::optional<filter::GeoPoint> {
    const auto lat = lats->NumberAt(local), lng = lngs->NumberAt(local);
    if (!lat || !lng) return std::nullopt;
    return filter::GeoPoint{.lat = *lat, .lng = *lng};
  };
  GeoIndex::Build(lats == nullptr || lngs == nullptr ? 0 : count, point_of, sink);
}

}  // namespace

const GeoIndex& ColumnsReader::Points(FieldId lat, FieldId lng,
                                      std::span<const uint32_t> docids) const {
  std::call_once(points_once_, [&] {
    if (file_->Has(kGeoPoints)) {
      if (auto stored = GeoIndex::Open(file_->ReadAll(kGeoPoints), docids); stored.ok()) {
        points_ = std::make_unique<const GeoIndex>(std::move(*stored));
        return;
      }
      file_->MarkCorrupt();
    }
    BuildPoints(Find(lat), Find(lng), static_cast<uint32_t>(docids.size()),
                [&](std::string_view bytes) { points_bytes_ += bytes; });
    auto built = GeoIndex::Open(points_bytes_, docids);
    assert(built.ok());
    points_ = std::make_unique<const GeoIndex>(std::move(*built));
  });
  return *points_;
}

std::span<const StoredShape> ColumnsReader::Shapes(
    const std::function<std::vector<StoredShape>()>& build) const {
  std::call_once(shapes_once_, [&] { shapes_ = build(); });
  return shapes_;
}

std::string_view ColumnsReader::Blob(ColumnKey key) const {
  const Entry* entry = FindEntry(key);
  return entry == nullptr ? std::string_view()
                          : file_->Read(kColumnData, entry->offset, entry->size);
}

std::vector<FieldId> ColumnsReader::fields() const {
  std::vector<FieldId> fields;
  for (const auto& entry : entries_) {
    if (entry->key.kind == ColumnKey::Kind::kDocuments) fields.push_back(entry->key.field);
  }
  return fields;
}

std::vector<ColumnKey> ColumnsReader::element_keys() const {
  std::vector<ColumnKey> keys;
  for (const auto& entry : entries_) {
    if (entry->key.kind != ColumnKey::Kind::kDocuments) keys.push_back(entry->key);
  }
  return keys;
}

uint32_t FieldColumnBuilder::InternString(std::string_view normalised, std::string_view original) {
  const auto found = ids_.find(normalised);
  if (found != ids_.end()) {
    StringValue& value = table_[found->second];
    if (value.original != original) value.varies = true;
    return found->second;
  }
  const auto id = static_cast<uint32_t>(table_.size());
  ids_.emplace(std::string(normalised), id);
  table_.push_back({std::string(normalised), std::string(original)});
  string_bytes_ += normalised.size() * 2 + original.size() + 128;
  return id;
}

uint64_t FieldColumnBuilder::memory_bytes() const {
  uint64_t bytes = numbers_.memory_bytes() + strings_.memory_bytes() + string_bytes_ +
                   exists_.memory_bytes() + null_.memory_bytes() + empty_.memory_bytes();
  for (const auto& [field, entries] : elements_) bytes += entries.memory_bytes();
  return bytes;
}

std::vector<double> FieldColumnBuilder::Numbers(std::vector<Entry>& entries) const {
  struct Value {
    double value;
    uint32_t at;  // in entries
  };
  std::vector<Value> sorted;
  sorted.reserve(numbers_.size());
  entries.reserve(numbers_.size() + strings_.size());
  numbers_.ForEach([&](uint32_t local, double value) {
    // -0 and 0 are one value.
    sorted.push_back({value == 0 ? 0 : value, static_cast<uint32_t>(entries.size())});
    entries.push_back({local, 0});
  });
  std::sort(sorted.begin(), sorted.end(),
            [](const Value& a, const Value& b) { return a.value < b.value; });
  std::vector<double> distinct;
  for (const Value& value : sorted) {
    if (distinct.empty() || distinct.back() != value.value) distinct.push_back(value.value);
    entries[value.at].value = static_cast<ValueOrdinal>(distinct.size() - 1);
  }
  return distinct;
}

void FieldColumnBuilder::OrderEntries(size_t number_entries, std::vector<Entry>& entries) {
  const auto by_local = [](const Entry& a, const Entry& b) { return a.local < b.local; };
  if (number_entries > 0 && number_entries < entries.size()) {
    std::inplace_merge(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(number_entries),
                       entries.end(), by_local);
  }
  for (auto from = entries.begin(); from != entries.end();) {
    auto until = from + 1;
    while (until != entries.end() && until->local == from->local) ++until;
    if (until - from > 1)
      std::sort(from, until, [](const Entry& a, const Entry& b) { return a.value < b.value; });
    from = until;
  }
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
}

void FieldColumnBuilder::WriteLists(std::span<const Entry> entries,
                                    std::span<const uint32_t> docids, uint32_t values,
                                    ColumnWriter& out) {
  // A counting sort keeps documents ascending.
  std::vector<uint32_t> ends(values + size_t{1});
  for (const Entry& entry : entries) ++ends[entry.value + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<uint32_t> grouped(ends.back());
  for (const Entry& entry : entries) grouped[ends[entry.value]++] = docids[entry.local];
  ValueListsWriter lists(out);
  std::string bytes;
  for (uint32_t value = 0, begin = 0; value < values; begin = ends[value++]) {
    bytes.clear();
    AppendPostings(std::span(grouped).subspan(begin, ends[value] - begin), bytes);
    lists.Add(bytes);
  }
  lists.Finish();
}

void FieldColumnBuilder::Write(std::span<const uint32_t> docids, ColumnWriter& out,
                               Ordinals* ordinals) const {
  std::vector<Entry> entries;
  const std::vector<double> numbers = Numbers(entries);
  const size_t number_entries = entries.size();
  std::vector<uint32_t> order(table_.size()), rank(table_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return table_[a].normalised < table_[b].normalised; });
  for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  strings_.ForEach([&](uint32_t local, uint32_t id) {
    entries.push_back({local, static_cast<uint32_t>(numbers.size()) + rank[id]});
  });
  std::vector<uint32_t>().swap(rank);
  const auto values = static_cast<uint32_t>(numbers.size() + table_.size());
  if (ordinals != nullptr) {
    ordinals->values = values;
    ordinals->of.reserve(entries.size());
    for (const Entry& entry : entries) ordinals->of.push_back(entry.value);
  }
  OrderEntries(number_entries, entries);

  WriteLists(entries, docids, values, out);
  out.Append(ColumnPart::kNumbers, BytesOf(numbers));
  WriteStrings(out, static_cast<uint32_t>(order.size()), [&](uint32_t i) {
    const StringValue& value = table_[order[i]];
    return ColumnString{value.normalised, value.original, value.varies};
  });
  bool single = true;
  for (size_t i = 1; i < entries.size() && single; ++i)
    single = entries[i].local != entries[i - 1].local;
  if (!single) {
    std::vector<uint32_t> offsets;
    offsets.reserve(docids.size() + 1);
    size_t next = 0;
    for (uint32_t local = 0; local <= docids.size(); ++local) {
      while (next < entries.size() && entries[next].local < local) ++next;
      offsets.push_back(static_cast<uint32_t>(next));
    }
    out.Append(ColumnPart::kDocOffsets, BytesOf(offsets));
  }
  const uint32_t width = CodeWidth(values);
  std::string codes;
  const auto put_code = [&](uint32_t code) {
    codes.append(reinterpret_cast<const char*>(&code), width);
  };
  if (single) {
    codes.reserve(docids.size() * width);
    size_t next = 0;
    for (uint32_t local = 0; local < docids.size(); ++local) {
      put_code(next < entries.size() && entries[next].local == local ? entries[next++].value + 1
                                                                     : 0);
    }
  } else {
    codes.reserve(entries.size() * width);
    for (const Entry& entry : entries) put_code(entry.value);
  }
  out.Append(ColumnPart::kCodes, codes);
  LocalDocIdList valued;
  for (const Entry& entry : entries) valued.Add(entry.local);
  out.Append(ColumnPart::kExists, DocSetBytes(docids, exists_));
  out.Append(ColumnPart::kNull, DocSetBytes(docids, null_));
  out.Append(ColumnPart::kEmpty, DocSetBytes(docids, empty_));
  out.Append(ColumnPart::kValued, DocSetBytes(docids, valued));
  out.Finish(width);
}

std::vector<FieldId> FieldColumnBuilder::outers() const {
  std::vector<FieldId> fields;
  for (const auto& [field, entries] : elements_) fields.push_back(field);
  return fields;
}

void FieldColumnBuilder::WriteElements(FieldId outer, uint32_t elements, const Ordinals& ordinals,
                                       ColumnSink& out) const {
  const Chunks<ElementEntry>& entries = elements_.at(outer);
  // What an element has beyond a mark that says only that it has the field.
  const auto each = [&](const auto& sink) {
    Chunks<ElementEntry>::Cursor cursor(entries);
    bool pending = false;
    uint32_t last = 0;
    const auto settle = [&] {
      if (std::exchange(pending, false)) sink(last, ElementCode::kPresent);
    };
    for (size_t left = entries.size(); left > 0; --left) {
      const auto [element, what] = cursor.Next();
      if (element != last) settle();
      const uint32_t index = what / kTags;
      switch (what % kTags) {
        case kNumber: sink(element, ordinals.of[index] + ElementCode::kFirst); break;
        case kString:
          sink(element, ordinals.of[numbers_.size() + index] + ElementCode::kFirst);
          break;
        default:
          if (index != ElementCode::kPresent) sink(element, index);
      }
      pending = what == ElementCode::kPresent * kTags + kMark;
      last = element;
    }
    settle();
  };
  WriteElementColumn(elements, ordinals.values, each,
                     [&](std::string_view bytes) { out.Append(bytes); });
}

void ColumnWriter::Append(ColumnPart part, std::string_view bytes) {
  assert(part >= part_);
  while (part_ < part) EndPart();
  sizes_[static_cast<size_t>(part)] += bytes.size();
  bytes_ += bytes.size();
  sink_(bytes);
}

void ColumnWriter::EndPart() {
  static constexpr char kZeros[8] = {};
  const uint64_t padding = Padded(bytes_) - bytes_;
  if (padding > 0) sink_({kZeros, padding});
  bytes_ += padding;
  part_ = static_cast<ColumnPart>(static_cast<uint8_t>(part_) + 1);
}

void ColumnWriter::Finish(uint32_t code_width) {
  while (static_cast<size_t>(part_) < kColumnPartCount) EndPart();
  std::string footer;
  for (const uint64_t size : sizes_) PutFixed<uint64_t>(footer, size);
  PutFixed<uint64_t>(footer, code_width);
  sink_(footer);
  bytes_ += footer.size();
}

void ValueListsWriter::Unions::Add(std::string_view lists, std::span<const uint64_t> begins) {
  DocSetUnion all;
  for (size_t i = 1; i < begins.size(); ++i)
    all.AddPostings(lists.substr(begins[i - 1] - begins[0], begins[i] - begins[i - 1]));
  AppendPostings(all.Finish(), bytes);
  offsets.push_back(bytes.size());
}

void ValueListsWriter::Add(std::string_view postings) {
  lists_ += postings;
  offsets_.push_back(offsets_.back() + postings.size());
  const size_t count = offsets_.size() - 1;
  if (count % groups_.values != 0) return;
  out_.Append(ColumnPart::kPostings, lists_);
  groups_.Add(lists_, std::span(offsets_).last(groups_.values + 1));
  lists_.clear();
  if (count % supers_.values != 0) return;
  const auto begins = std::span(groups_.offsets).last(supers_.values / groups_.values + 1);
  supers_.Add(std::string_view(groups_.bytes).substr(begins.front()), begins);
}

void ValueListsWriter::WriteUnions(const Unions& unions, ColumnPart bytes, ColumnPart offsets) {
  // A single union would have the same documents as the lists.
  if (offsets_.size() - 1 < size_t{unions.values} * 2) return;
  out_.Append(bytes, unions.bytes);
  out_.Append(offsets, PackOffsets(unions.offsets));
}

void ValueListsWriter::Finish() {
  out_.Append(ColumnPart::kPostings, lists_);
  out_.Append(ColumnPart::kPostingOffsets, PackOffsets(offsets_));
  WriteUnions(groups_, ColumnPart::kGroups, ColumnPart::kGroupOffsets);
  WriteUnions(supers_, ColumnPart::kSupers, ColumnPart::kSuperOffsets);
}

void WriteStrings(ColumnWriter& out, uint32_t count,
                  const std::function<ColumnString(uint32_t)>& at) {
  std::vector<uint64_t> offsets{0};
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view normalised = at(i).normalised;
    out.Append(ColumnPart::kStrings, normalised);
    offsets.push_back(offsets.back() + normalised.size());
  }
  out.Append(ColumnPart::kStringOffsets, PackOffsets(offsets));
  std::string flags;
  offsets.assign(1, 0);
  for (uint32_t i = 0; i < count; ++i) {
    const ColumnString string = at(i);
    const bool same = string.spelling == string.normalised;
    if (!same) out.Append(ColumnPart::kSpellings, string.spelling);
    offsets.push_back(offsets.back() + (same ? 0 : string.spelling.size()));
    flags.push_back(static_cast<char>((string.varies ? 1 : 0) | (same ? 2 : 0)));
  }
  out.Append(ColumnPart::kSpellingOffsets, PackOffsets(offsets));
  out.Append(ColumnPart::kFlags, flags);
}

FieldColumnBuilder& ColumnBuilder::Of(FieldId field) {
  if (field >= columns_.size()) columns_.resize(size_t{field} + 1);
  if (!columns_[field]) columns_[field] = std::make_unique<FieldColumnBuilder>();
  return *columns_[field];
}

uint64_t ColumnBuilder::memory_bytes() const {
  uint64_t bytes = 0;
  for (const auto& column : columns_) bytes += column ? column->memory_bytes() : 0;
  for (const auto& elements : elements_) {
    if (!elements) continue;
    for (const auto& [outer, parents] : elements->in) bytes += parents.memory_bytes();
  }
  return bytes;
}

ColumnBuilder::ElementsOfField& ColumnBuilder::ElementsOf(FieldId field) {
  if (field >= elements_.size()) elements_.resize(size_t{field} + 1);
  if (!elements_[field]) elements_[field] = std::make_unique<ElementsOfField>();
  return *elements_[field];
}

bool ColumnBuilder::BeginElement(FieldId field) {
  if (within_.size() == ElementColumn::kDepthMax) {
    ElementsOf(field).incomplete = true;
    return false;
  }
  ElementsOfField& elements = ElementsOf(field);
  elements.in[field].Add(local());
  for (const auto& [outer, element] : within_) elements.in[outer].Add(element);
  within_.push_back({field, elements.count++});
  return true;
}

std::vector<FieldId> ColumnBuilder::fields() const {
  std::vector<FieldId> fields;
  for (size_t field = 0; field < columns_.size(); ++field) {
    if (columns_[field]) fields.push_back(static_cast<FieldId>(field));
  }
  return fields;
}

void ColumnBuilder::Take(FieldId field, ColumnSink& out) {
  const std::unique_ptr<FieldColumnBuilder> column = std::move(columns_[field]);
  const std::vector<FieldId> outers = column->outers();
  FieldColumnBuilder::Ordinals ordinals;
  out.Begin(field);
  ColumnWriter writer([&](std::string_view bytes) { out.Append(bytes); });
  column->Write(docids_, writer, outers.empty() ? nullptr : &ordinals);
  out.End();
  for (const FieldId outer : outers) {
    const ElementsOfField& elements = *elements_[outer];
    if (elements.incomplete) continue;
    out.Begin(ColumnKey::Elements(field, outer));
    column->WriteElements(outer, elements.count, ordinals, out);
    out.End();
  }
}

void ColumnBuilder::WriteMaps(ColumnSink& out) const {
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i] || elements_[i]->incomplete) continue;
    const auto field = static_cast<FieldId>(i);
    const ElementsOfField& elements = *elements_[i];
    const auto write = [&](FieldId outer, size_t count, const Chunks<uint32_t>& parents) {
      std::vector<uint64_t> begins(count + 1);
      Chunks<uint32_t>::Cursor cursor(parents);
      for (size_t left = parents.size(); left > 0; --left) ++begins[cursor.Next() + 1];
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      out.Begin(ColumnKey::Map(field, outer));
      out.Append(PackOffsets(begins));
      out.End();
    };
    if (elements.in.empty()) write(field, docids_.size(), {});
    for (const auto& [outer, parents] : elements.in) {
      if (outer == field) {
        write(field, docids_.size(), parents);
      } else if (parents.size() == elements.count && !elements_[outer]->incomplete) {
        write(outer, elements_[outer]->count, parents);
      }
    }
  }
}

Status ColumnBuilder::Write(SegmentFileWriter& file) {
  ColumnsWriter writer(file);
  if (point_fields_) writer.SetPointFields(point_fields_->first, point_fields_->second);
  for (const FieldId field : fields()) Take(field, writer);
  WriteMaps(writer);
  return writer.Finish();
}

ColumnsWriter::ColumnsWriter(SegmentFileWriter& file)
    : lat_(file.folder()), lng_(file.folder()), file_(file) {
  file_.BeginSection(kColumnData);
}

void ColumnsWriter::Begin(ColumnKey key) {
  key_ = key;
  begin_ = offset_;
}

void ColumnsWriter::Append(std::string_view bytes) {
  file_.Append(bytes);
  offset_ += bytes.size();
  const auto keep = [&](Spool& spool) {
    spool.buffer() += bytes;
    spool.Settle();
  };
  if (point_fields_ && key_ == point_fields_->first) keep(lat_);
  if (point_fields_ && key_ == point_fields_->second) keep(lng_);
}

void ColumnsWriter::End() {
  const bool of_documents = key_.kind == ColumnKey::Kind::kDocuments;
  std::string& directory = of_documents ? directory_ : element_directory_;
  if (!of_documents) directory.push_back(static_cast<char>(key_.kind));
  PutFixed<FieldId>(directory, key_.field);
  if (!of_documents) PutFixed<FieldId>(directory, key_.outer);
  PutFixed<uint64_t>(directory, begin_);
  PutFixed<uint64_t>(directory, offset_ - begin_);
  static constexpr char kZeros[8] = {};
  Append({kZeros, Padded(offset_) - offset_});
}

void ColumnsWriter::Copy(ColumnKey key, std::string_view blob) {
  Begin(key);
  Append(blob);
  End();
}

Status ColumnsWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kColumnDirectory, directory_);
  if (!element_directory_.empty()) file_.AddSection(kElementDirectory, element_directory_);
  if (lat_.size() == 0 || lng_.size() == 0) return Status::Ok();
  // Padded like a section, because word loads may reach past the end.
  const auto bytes_of = [](Spool& spool) -> Result<std::string_view> {
    const uint64_t size = spool.size();
    spool.buffer().append(kSectionPadding, '\0');
    GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, spool.Bytes());
    return bytes.substr(0, size);
  };
  GANNET_ASSIGN_OR_RETURN(const std::string_view lat, bytes_of(lat_));
  GANNET_ASSIGN_OR_RETURN(const std::string_view lng, bytes_of(lng_));
  GANNET_ASSIGN_OR_RETURN(const auto lats, ColumnReader::Open(lat));
  GANNET_ASSIGN_OR_RETURN(const auto lngs, ColumnReader::Open(lng));
  file_.BeginSection(kGeoPoints);
  BuildPoints(&lats, &lngs, std::min(lats.document_count(), lngs.document_count()),
              [&](std::string_view bytes) { file_.Append(bytes); });
  file_.EndSection();
  return Status::Ok();
}

}  // namespace gannet::segment
