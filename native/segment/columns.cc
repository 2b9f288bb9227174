#include "segment/columns.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/bytes.h"
#include "bitmap/docset_union.h"
#include "bitmap/postings_codec.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

constexpr uint32_t kGroupValues = ColumnReader::kGroupValues;
constexpr uint32_t kSuperValues = ColumnReader::kSuperValues;

// The parts of a blob, each 8-byte aligned, in this order behind a header of their sizes.
enum Part { kNumbers, kValuePostings, kStringOffsets, kSpellingOffsets, kFlags, kDocOffsets, kCodes, kStrings,
            kSpellings, kPostings, kExists, kNull, kEmpty, kGroupOffsets, kGroups, kValued, kSuperOffsets, kSupers,
            kPartCount };

template <typename T>
std::span<const T> AsSpan(std::string_view bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

bool Monotone(const PackedOffsets& offsets, uint64_t end) {
  return offsets.IsAscending() && (offsets.empty() || offsets.back() <= end);
}

bool Monotone(std::span<const uint32_t> offsets, uint64_t end) {
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) return false;
  }
  return offsets.empty() || offsets.back() <= end;
}

std::string DocSetBytes(std::span<const uint32_t> docids, const PlaceList& places) {
  std::vector<uint32_t> documents;
  places.ForEach([&](uint32_t place) {
    if (documents.empty() || documents.back() != docids[place]) documents.push_back(docids[place]);
  });
  std::string out;
  AppendPostings(documents, out);
  return out;
}

}  // namespace

Result<ColumnReader> ColumnReader::Open(std::string_view blob) {
  const Status damaged = Status::Corruption("a column is damaged");
  constexpr size_t kHeader = (kPartCount + 1) * 8;
  if (blob.size() < kHeader) return damaged;
  ColumnReader column;
  std::string_view parts[kPartCount];
  uint64_t at = kHeader;
  for (int i = 0; i < kPartCount; ++i) {
    const auto size = LoadFixed<uint64_t>(blob.data() + i * 8);
    if (at > blob.size() || size > blob.size() - at) return damaged;
    parts[i] = blob.substr(at, size);
    at += (size + 7) / 8 * 8;
  }
  column.code_width_ = static_cast<uint32_t>(LoadFixed<uint64_t>(blob.data() + kPartCount * 8));
  column.numbers_ = AsSpan<double>(parts[kNumbers]);
  GANNET_ASSIGN_OR_RETURN(column.posting_offsets_, PackedOffsets::Open(parts[kValuePostings]));
  column.string_offsets_ = AsSpan<uint32_t>(parts[kStringOffsets]);
  column.spelling_offsets_ = AsSpan<uint32_t>(parts[kSpellingOffsets]);
  column.flags_ = parts[kFlags];
  column.doc_offsets_ = AsSpan<uint32_t>(parts[kDocOffsets]);
  column.codes_ = parts[kCodes].data();
  column.code_bytes_ = parts[kCodes].size();
  column.strings_ = parts[kStrings];
  column.spellings_ = parts[kSpellings];
  column.postings_ = parts[kPostings];
  column.exists_ = parts[kExists];
  column.null_ = parts[kNull];
  column.empty_ = parts[kEmpty];
  GANNET_ASSIGN_OR_RETURN(column.group_offsets_, PackedOffsets::Open(parts[kGroupOffsets]));
  column.groups_ = parts[kGroups];
  column.valued_ = parts[kValued];
  GANNET_ASSIGN_OR_RETURN(column.super_offsets_, PackedOffsets::Open(parts[kSuperOffsets]));
  column.supers_ = parts[kSupers];
  if ((column.code_width_ != 1 && column.code_width_ != 2 && column.code_width_ != 4) ||
      column.string_offsets_.empty() || column.spelling_offsets_.size() != column.string_offsets_.size() ||
      column.flags_.size() != column.string_count() ||
      column.posting_offsets_.size() != uint64_t{column.value_count()} + 1 ||
      !Monotone(column.string_offsets_, column.strings_.size()) ||
      !Monotone(column.spelling_offsets_, column.spellings_.size()) ||
      !Monotone(column.posting_offsets_, column.postings_.size()) ||
      !Monotone(column.group_offsets_, column.groups_.size()) ||
      !Monotone(column.super_offsets_, column.supers_.size()) ||
      !Monotone(column.doc_offsets_, parts[kCodes].size() / column.code_width_)) {
    return damaged;
  }
  return column;
}

std::string_view ColumnReader::spelling(uint32_t i) const {
  if (flags_[i] & 2) return string(i);
  return spellings_.substr(spelling_offsets_[i], spelling_offsets_[i + 1] - spelling_offsets_[i]);
}

std::string_view ColumnReader::StoredUnion(ValueOrdinal first, uint32_t size) const {
  const auto& offsets = size == kSuperValues ? super_offsets_ : group_offsets_;
  const uint32_t group = first / size;
  if (first % size != 0 || group + size_t{1} >= offsets.size()) return {};
  return (size == kSuperValues ? supers_ : groups_).substr(offsets[group], offsets[group + 1] - offsets[group]);
}

DocSet ColumnReader::UnionOf(std::span<const ValueRange> ranges) const {
  if (ranges.size() == 1 && ranges[0].end - ranges[0].begin == 1) return DecodePostings(postings(ranges[0].begin));
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

bool ColumnReader::SkipDown(ValueOrdinal& value, ValueOrdinal begin, const DocSet& documents) const {
  for (const uint32_t size : {kSuperValues, kGroupValues}) {
    if (size > value - begin) continue;
    const std::string_view postings = StoredUnion(value - size, size);
    if (postings.empty() || PostingsIntersect(postings, documents)) continue;
    value -= size;
    return true;
  }
  return false;
}

int64_t ColumnReader::NsOfIntersection(uint64_t count, uint64_t documents_count, uint64_t segment_documents) {
  if (count <= kDeltaPostingsMax) return 50 + static_cast<int64_t>(count) * 5;
  constexpr uint64_t kArrayMax = 4096;  // docids of a block of 65536 that are stored as a list
  const uint64_t blocks = segment_documents / 65536 + 1;
  const bool list = count / blocks < kArrayMax, other_list = documents_count / blocks < kArrayMax;
  // Two lists are merged, or the shorter one is looked up in one much longer.
  const uint64_t work = list && other_list
                            ? std::min((count + documents_count) * 12, std::min(count, documents_count) * 64)
                        : list              ? count
                        : other_list        ? documents_count
                                            : blocks * 200;
  return static_cast<int64_t>(500 + blocks * 40 + work);
}

uint32_t ColumnReader::LowerNumber(double value) const {
  return static_cast<uint32_t>(std::lower_bound(numbers_.begin(), numbers_.end(), value) - numbers_.begin());
}
uint32_t ColumnReader::UpperNumber(double value) const {
  return static_cast<uint32_t>(std::upper_bound(numbers_.begin(), numbers_.end(), value) - numbers_.begin());
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
  // One search through all strings; a hit across a border is none.
  size_t at = string_offsets_[0];
  uint32_t string = 0;
  while (at + part.size() <= strings_.size()) {
    const void* found = memmem(strings_.data() + at, strings_.size() - at, part.data(), part.size());
    if (found == nullptr) return;
    const auto hit = static_cast<size_t>(static_cast<const char*>(found) - strings_.data());
    string = static_cast<uint32_t>(
        std::upper_bound(string_offsets_.begin() + string, string_offsets_.end(), hit) - string_offsets_.begin() - 1);
    if (string >= string_count()) return;
    if (hit + part.size() <= string_offsets_[string + 1]) {
      out.push_back(string);
      at = string_offsets_[string + 1];
    } else {
      at = hit + 1;
    }
  }
}

Result<std::shared_ptr<const ColumnsReader>> ColumnsReader::Open(std::shared_ptr<SegmentFile> file) {
  auto reader = std::make_shared<ColumnsReader>();
  reader->file_ = file;
  ByteReader directory(file->ReadAll(kColumnDirectory));
  while (!directory.done() && directory.ok()) {
    auto entry = std::make_unique<Entry>();
    entry->field = directory.Fixed<FieldId>();
    entry->offset = directory.Fixed<uint64_t>();
    entry->size = directory.Fixed<uint64_t>();
    reader->entries_.push_back(std::move(entry));
  }
  if (!directory.ok() || file->corrupt()) {
    return Status::Corruption("the segment file " + file->path() + " is damaged");
  }
  return std::shared_ptr<const ColumnsReader>(reader);
}

const ColumnsReader::Entry* ColumnsReader::FindEntry(FieldId field) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), field,
                                      [](const auto& entry, FieldId f) { return entry->field < f; });
  return found != entries_.end() && (*found)->field == field ? found->get() : nullptr;
}

const ColumnReader* ColumnsReader::Find(FieldId field) const {
  const Entry* entry = FindEntry(field);
  if (entry == nullptr) return nullptr;
  std::call_once(entry->once, [&] {
    const std::string_view blob = file_->Read(kColumnData, entry->offset, entry->size);
    auto reader = ColumnReader::Open(blob);
    if (reader.ok()) {
      entry->reader = std::make_unique<ColumnReader>(*reader);
    } else {
      file_->MarkCorrupt();
    }
  });
  return entry->reader.get();
}

namespace {

// The points of documents [0, count) by place. Null columns: none has one.
std::string BuildPoints(const ColumnReader* lats, const ColumnReader* lngs, uint32_t count) {
  std::vector<GeoIndex::Entry> entries;
  for (uint32_t place = 0; lats != nullptr && lngs != nullptr && place < count; ++place) {
    const auto lat = lats->NumberAt(place), lng = lngs->NumberAt(place);
    if (lat && lng) entries.push_back({place, {.lat = *lat, .lng = *lng}});
  }
  return GeoIndex::Build(entries);
}

}  // namespace

const GeoIndex& ColumnsReader::Points(FieldId lat, FieldId lng, std::span<const uint32_t> docids) const {
  std::call_once(points_once_, [&] {
    if (file_->Has(kGeoPoints)) {
      if (auto stored = GeoIndex::Open(file_->ReadAll(kGeoPoints), docids); stored.ok()) {
        points_ = std::make_unique<const GeoIndex>(std::move(*stored));
        return;
      }
      file_->MarkCorrupt();
    }
    points_bytes_ = BuildPoints(Find(lat), Find(lng), static_cast<uint32_t>(docids.size()));
    auto built = GeoIndex::Open(points_bytes_, docids);
    assert(built.ok());
    points_ = std::make_unique<const GeoIndex>(std::move(*built));
  });
  return *points_;
}

std::span<const StoredShape> ColumnsReader::Shapes(const std::function<std::vector<StoredShape>()>& build) const {
  std::call_once(shapes_once_, [&] { shapes_ = build(); });
  return shapes_;
}

std::string_view ColumnsReader::Blob(FieldId field) const {
  const Entry* entry = FindEntry(field);
  return entry == nullptr ? std::string_view() : file_->Read(kColumnData, entry->offset, entry->size);
}

std::vector<FieldId> ColumnsReader::fields() const {
  std::vector<FieldId> fields;
  for (const auto& entry : entries_) fields.push_back(entry->field);
  return fields;
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
  return numbers_.memory_bytes() + strings_.memory_bytes() + string_bytes_ + exists_.memory_bytes() + null_.memory_bytes() +
         empty_.memory_bytes();
}

std::vector<double> FieldColumnBuilder::Numbers(std::vector<Entry>& entries) const {
  struct Value {
    double value;
    uint32_t at;  // in entries
  };
  std::vector<Value> sorted;
  sorted.reserve(numbers_.size());
  entries.reserve(numbers_.size() + strings_.size());
  numbers_.ForEach([&](uint32_t place, double value) {
    // -0 and 0 are one value.
    sorted.push_back({value == 0 ? 0 : value, static_cast<uint32_t>(entries.size())});
    entries.push_back({place, 0});
  });
  std::sort(sorted.begin(), sorted.end(), [](const Value& a, const Value& b) { return a.value < b.value; });
  std::vector<double> distinct;
  for (const Value& value : sorted) {
    if (distinct.empty() || distinct.back() != value.value) distinct.push_back(value.value);
    entries[value.at].value = static_cast<ValueOrdinal>(distinct.size() - 1);
  }
  return distinct;
}

void FieldColumnBuilder::OrderEntries(size_t number_entries, std::vector<Entry>& entries) {
  const auto by_place = [](const Entry& a, const Entry& b) { return a.place < b.place; };
  if (number_entries > 0 && number_entries < entries.size()) {
    std::inplace_merge(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(number_entries), entries.end(), by_place);
  }
  for (auto from = entries.begin(); from != entries.end();) {
    auto until = from + 1;
    while (until != entries.end() && until->place == from->place) ++until;
    if (until - from > 1) std::sort(from, until, [](const Entry& a, const Entry& b) { return a.value < b.value; });
    from = until;
  }
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
}

FieldColumnBuilder::Postings FieldColumnBuilder::PostingsOf(std::span<const Entry> entries, std::span<const uint32_t> docids,
                                                            uint32_t lists, uint32_t values_per_list) {
  // A counting sort keeps documents ascending. Values of one document stand side by side: it counts once per list.
  const auto for_each = [&](auto&& sink) {
    for (size_t i = 0; i < entries.size(); ++i) {
      const uint32_t list = entries[i].value / values_per_list;
      if (list >= lists) continue;
      if (i > 0 && entries[i - 1].place == entries[i].place && entries[i - 1].value / values_per_list == list) continue;
      sink(list, docids[entries[i].place]);
    }
  };
  std::vector<uint32_t> ends(lists + size_t{1});
  for_each([&](uint32_t list, uint32_t) { ++ends[list + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<uint32_t> grouped(ends.back());
  for_each([&](uint32_t list, uint32_t docid) { grouped[ends[list]++] = docid; });
  Postings out;
  out.offsets.reserve(lists + size_t{1});
  out.offsets.push_back(0);
  for (uint32_t list = 0, begin = 0; list < lists; begin = ends[list++]) {
    AppendPostings(std::span(grouped).subspan(begin, ends[list] - begin), out.bytes);
    out.offsets.push_back(out.bytes.size());
  }
  return out;
}

void FieldColumnBuilder::Write(std::span<const uint32_t> docids, std::string& out) const {
  std::vector<Entry> entries;
  const std::vector<double> numbers = Numbers(entries);
  const size_t number_entries = entries.size();
  std::vector<uint32_t> order(table_.size()), rank(table_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return table_[a].normalised < table_[b].normalised; });
  for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  strings_.ForEach([&](uint32_t place, uint32_t id) { entries.push_back({place, static_cast<uint32_t>(numbers.size()) + rank[id]}); });
  OrderEntries(number_entries, entries);
  const auto values = static_cast<uint32_t>(numbers.size() + table_.size());

  bool single = true;
  for (size_t i = 1; i < entries.size() && single; ++i) single = entries[i].place != entries[i - 1].place;
  const uint32_t width = values < 0xff ? 1 : values < 0xffff ? 2 : 4;
  std::string codes;
  std::vector<uint32_t> doc_offsets;
  const auto put_code = [&](uint32_t code) { codes.append(reinterpret_cast<const char*>(&code), width); };
  if (single) {
    codes.reserve(docids.size() * width);
    size_t next = 0;
    for (uint32_t place = 0; place < docids.size(); ++place) {
      put_code(next < entries.size() && entries[next].place == place ? entries[next++].value + 1 : 0);
    }
  } else {
    codes.reserve(entries.size() * width);
    doc_offsets.reserve(docids.size() + 1);
    size_t next = 0;
    for (uint32_t place = 0; place < docids.size(); ++place) {
      doc_offsets.push_back(static_cast<uint32_t>(next));
      while (next < entries.size() && entries[next].place == place) put_code(entries[next++].value);
    }
    doc_offsets.push_back(static_cast<uint32_t>(next));
  }
  const auto unions_of = [&](uint32_t size) {
    return values < size * 2 ? Postings() : PostingsOf(entries, docids, values / size, size);
  };
  const Postings postings = PostingsOf(entries, docids, values, 1), groups = unions_of(kGroupValues), supers = unions_of(kSuperValues);
  PlaceList valued_places;
  for (const Entry& entry : entries) valued_places.Add(entry.place);
  const std::string valued = DocSetBytes(docids, valued_places);
  std::vector<Entry>().swap(entries);
  std::string strings, spellings, flags;
  std::vector<uint32_t> string_offsets{0}, spelling_offsets{0};
  for (const uint32_t id : order) {
    const StringValue& value = table_[id];
    strings += value.normalised;
    string_offsets.push_back(static_cast<uint32_t>(strings.size()));
    const bool same = value.original == value.normalised;
    if (!same) spellings += value.original;
    spelling_offsets.push_back(static_cast<uint32_t>(spellings.size()));
    flags.push_back(static_cast<char>((value.varies ? 1 : 0) | (same ? 2 : 0)));
  }
  const std::string exists = DocSetBytes(docids, exists_), null = DocSetBytes(docids, null_), empty = DocSetBytes(docids, empty_);
  const std::string value_postings = PackOffsets(postings.offsets), group_ends = PackOffsets(groups.offsets),
                    super_ends = PackOffsets(supers.offsets);
  const std::string_view parts[kPartCount] = {BytesOf(numbers), value_postings, BytesOf(string_offsets),
                                              BytesOf(spelling_offsets), flags, BytesOf(doc_offsets), codes, strings,
                                              spellings, postings.bytes, exists, null, empty, group_ends,
                                              groups.bytes, valued, super_ends, supers.bytes};
  size_t size = (kPartCount + 1) * sizeof(uint64_t);
  for (const std::string_view part : parts) size += (part.size() + 7) / 8 * 8;
  out.reserve(out.size() + size);
  for (const std::string_view part : parts) PutFixed<uint64_t>(out, part.size());
  PutFixed<uint64_t>(out, width);
  for (const std::string_view part : parts) {
    out.append(part);
    out.append((8 - part.size() % 8) % 8, '\0');
  }
}

FieldColumnBuilder& ColumnBuilder::Of(FieldId field) {
  if (field >= columns_.size()) columns_.resize(size_t{field} + 1);
  if (!columns_[field]) columns_[field] = std::make_unique<FieldColumnBuilder>();
  return *columns_[field];
}

uint64_t ColumnBuilder::memory_bytes() const {
  uint64_t bytes = 0;
  for (const auto& column : columns_) bytes += column ? column->memory_bytes() : 0;
  return bytes;
}

void ColumnBuilder::Write(SegmentFileWriter& file, const std::function<void(ColumnsWriter&, FieldId)>& copy,
                          size_t field_end) {
  ColumnsWriter writer(file);
  if (point_fields_) writer.SetPointFields(point_fields_->first, point_fields_->second);
  for (size_t i = 0; i < std::max(columns_.size(), field_end); ++i) {
    const auto field = static_cast<FieldId>(i);
    if (i >= columns_.size() || !columns_[field]) {
      copy(writer, field);
      continue;
    }
    std::string blob;
    columns_[field]->Write(docids_, blob);
    writer.Add(field, blob);
    columns_[field].reset();
  }
  writer.Finish();
}

ColumnsWriter::ColumnsWriter(SegmentFileWriter& file) : file_(file) { file_.BeginSection(kColumnData); }

void ColumnsWriter::Add(FieldId field, std::string_view blob) {
  PutFixed<FieldId>(directory_, field);
  PutFixed<uint64_t>(directory_, offset_);
  PutFixed<uint64_t>(directory_, blob.size());
  file_.Append(blob);
  offset_ += blob.size();
  if (point_fields_ && field == point_fields_->first) lat_ = blob;
  if (point_fields_ && field == point_fields_->second) lng_ = blob;
}

void ColumnsWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kColumnDirectory, directory_);
  if (lat_.empty() || lng_.empty()) return;
  const auto lats = ColumnReader::Open(lat_), lngs = ColumnReader::Open(lng_);
  if (!lats.ok() || !lngs.ok()) return;
  file_.AddSection(kGeoPoints, BuildPoints(&*lats, &*lngs, std::min(lats->place_count(), lngs->place_count())));
}

}  // namespace gannet::segment
