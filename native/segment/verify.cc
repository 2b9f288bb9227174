#include "segment/verify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "bitmap/postings_codec.h"
#include "filter/geo.h"
#include "fst/fst.h"
#include "segment/columns.h"
#include "segment/geo_index.h"
#include "segment/graphs.h"
#include "segment/layout.h"
#include "segment/packed_offsets.h"
#include "segment/text.h"
#include "segment/triples.h"
#include "segment/vectors.h"
#include "vector/signs.h"

namespace gannet::segment {
namespace {

// Adding hashes does not depend on order, so two lists of the same items in any order have the same
// sum.
uint64_t HashOf(uint64_t a, uint64_t b) {
  uint64_t hash = (a * 0x9e3779b97f4a7c15) ^ (b + 0xbf58476d1ce4e5b9) * 0x94d049bb133111eb;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}
uint64_t HashOf(Ordinal word, uint32_t list, DocId docid) {
  return HashOf(uint64_t{list} << 32 | word, docid);
}

Status Wrong(std::string message) { return Status::Corruption(std::move(message)); }

// Checks offsets of `count` items that fill `size` bytes.
Result<PackedOffsets> CheckOffsets(std::string_view bytes, size_t count, uint64_t size) {
  GANNET_ASSIGN_OR_RETURN(const PackedOffsets offsets, PackedOffsets::Open(bytes));
  if (offsets.size() != count + 1) {
    return Wrong(std::to_string(offsets.size()) + " offsets for " + std::to_string(count) +
                 " entries");
  }
  if (offsets.front() != 0 || offsets.back() != size || !offsets.IsAscending()) {
    return Wrong("the offsets do not divide the " + std::to_string(size) + " bytes they are about");
  }
  std::vector<uint64_t> values(offsets.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = offsets[i];
  if (PackOffsets(values) != bytes) return Wrong("the offsets are not packed as they should be");
  return offsets;
}

Status CheckDocids(std::span<const DocId> docids) {
  for (size_t i = 1; i < docids.size(); ++i) {
    if (docids[i - 1] >= docids[i])
      return Wrong("docids do not ascend at position " + std::to_string(i));
  }
  return docids.empty() ? Wrong("a segment without documents") : Status::Ok();
}

// Reads a postings list into `out`.
Status ReadPostings(std::string_view bytes, const DocSet& documents, DocSet& out) {
  GANNET_RETURN_IF_ERROR(ValidatePostings(bytes));
  out = DecodePostings(bytes);
  return out.IsSubsetOf(documents) ? Status::Ok()
                                   : Wrong("postings name a document that is not in the segment");
}

// The sections of one file, and which of them are usable.
class File {
 public:
  File(const std::string& path, std::vector<Fault>& faults) : faults_(faults) {
    auto opened = SegmentFile::Open(path, SegmentFile::HeaderCheck::kLater);
    if (!opened.ok()) {
      faults_.push_back({opened.status().code() == StatusCode::kCorruption ? "directory" : "file",
                         opened.status().message()});
      return;
    }
    file_ = *opened;
    for (const SegmentFile::DamagedBlock& block : file_->FindDamage()) {
      const std::string where = "the checksum of bytes " + std::to_string(block.begin) + " to " +
                                std::to_string(block.end) + " of the file is wrong";
      if (block.begin == 0) faults_.push_back({"header", where});
      for (const SectionId id : block.sections) {
        faults_.push_back({SectionName(id), where});
        damaged_.push_back(id);
      }
    }
  }

  bool open() const { return file_ != nullptr; }
  const std::shared_ptr<SegmentFile>& operator*() const { return file_; }
  bool Valid(std::initializer_list<SectionId> ids) const {
    return open() && std::none_of(ids.begin(), ids.end(), [&](SectionId id) {
             return std::find(damaged_.begin(), damaged_.end(), id) != damaged_.end();
           });
  }
  // Whether all of them are present; reports the first that is not.
  bool Need(std::initializer_list<SectionId> ids) {
    bool all = true;
    for (const SectionId id : ids) {
      if (file_->Has(id)) continue;
      faults_.push_back({SectionName(id), "the section is missing"});
      all = false;
    }
    return all;
  }
  std::string_view Bytes(SectionId id) const { return file_->ReadAll(id); }
  // False: reports the status as a fault of that section.
  bool Check(SectionId id, const Status& status) {
    if (!status.ok()) faults_.push_back({SectionName(id), status.message()});
    return status.ok();
  }

 private:
  std::shared_ptr<SegmentFile> file_;
  std::vector<SectionId> damaged_;
  std::vector<Fault>& faults_;
};

Status CheckRow(RowCodec& codec, std::string_view compressed, size_t field_count,
                std::vector<RowField>& fields) {
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(compressed));
  if (!ParseRow(row, fields)) return Wrong("not a row");
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].field >= field_count) return Wrong("a field without name");
    if (i > 0 && fields[i - 1].field >= fields[i].field) return Wrong("fields do not ascend");
    if (!json::IsValid(fields[i].value))
      return Wrong("the value of field " + std::to_string(fields[i].field) + " is not JSON");
  }
  return Status::Ok();
}

Status CheckRows(File& file, std::span<const DocId> docids, const PackedOffsets& offsets,
                 const SegmentContext& context) {
  RowCodec codec(context.dictionary);
  std::vector<RowField> fields;
  const std::string_view data = file.Bytes(kRowData);
  for (size_t local = 0; local < docids.size(); ++local) {
    const std::string_view row = data.substr(offsets[local], offsets[local + 1] - offsets[local]);
    if (const Status status = CheckRow(codec, row, context.field_count, fields); !status.ok()) {
      return Wrong("document " + std::to_string(docids[local]) + ": " + status.message());
    }
    if (context.on_row) context.on_row(docids[local], fields);
  }
  return Status::Ok();
}

// What the forward records of a segment must add up to.
struct Sums {
  uint64_t fields = 0, leading = 0, lengths = 0, adjacency = 0;
};

Status CheckWord(std::string_view blob, Ordinal word, size_t field_count, const DocSet& documents,
                 Sums& sums) {
  ByteReader reader(blob);
  const uint64_t head = reader.Varint();
  const uint64_t lists = head >> 1;
  if (lists == 0) return Wrong("a word in no document");
  DocSet rest, longest, all, list;
  const bool with_rest = lists > 1 && (head & 1) != 0;
  uint64_t longest_at = 0, fields = 0;
  if (with_rest) {
    longest_at = reader.Varint();
    GANNET_RETURN_IF_ERROR(ReadPostings(reader.LengthPrefixed(), documents, rest));
  }
  uint64_t id = 0;
  for (uint64_t i = 0; i < lists; ++i) {
    const uint64_t step = reader.Varint();
    id += step;
    const std::string_view bytes =
        lists == 1 ? reader.Bytes(reader.left()) : reader.LengthPrefixed();
    if (!reader.ok()) return Wrong("lists are cut off");
    if (i > 0 && step == 0) return Wrong("lists do not ascend");
    const bool is_leading = id >= kLeadingLists;
    if (is_leading ? id >= kLeadingLists + kLeadingPositions : id >= field_count) {
      return Wrong("a list of the unknown field " + std::to_string(id));
    }
    GANNET_RETURN_IF_ERROR(ReadPostings(bytes, documents, list));
    if (list.empty()) return Wrong("an empty list");
    uint64_t& sum = is_leading ? sums.leading : sums.fields;
    list.ForEach([&](DocId docid) { sum += HashOf(word, static_cast<uint32_t>(id), docid); });
    if (is_leading) continue;
    ++fields;
    all |= list;
    if (i == longest_at) longest = list;
  }
  if (!reader.done()) return Wrong("bytes behind the lists");
  if (!with_rest) return Status::Ok();
  if (longest_at >= fields) return Wrong("the rest is that of a list which is no field's");
  if (!(rest == all - longest)) return Wrong("the rest is not what one list leaves of all");
  return Status::Ok();
}

Status CheckPostings(File& file, const PackedOffsets& offsets, const DocSet& documents,
                     size_t field_count, Sums& sums) {
  const std::string_view data = file.Bytes(kPostingData);
  for (Ordinal word = 0; word + size_t{1} < offsets.size(); ++word) {
    const Status status = CheckWord(data.substr(offsets[word], offsets[word + 1] - offsets[word]),
                                    word, field_count, documents, sums);
    if (!status.ok()) return Wrong("word " + std::to_string(word) + ": " + status.message());
  }
  return Status::Ok();
}

Status CheckLengths(std::string_view section, size_t field_count, const DocSet& documents,
                    Sums& sums) {
  uint64_t key = 0;
  bool first = true;
  DocSet list;
  for (ByteReader reader(section); !reader.done(); first = false) {
    const uint64_t step = reader.Varint();
    const std::string_view bytes = reader.LengthPrefixed();
    key += step;
    if (!reader.ok() || (step == 0 && !first) || key / kLengthsPerField >= field_count ||
        key % kLengthsPerField > kListedLengthMax) {
      return Wrong("lists are cut off, out of order or of an unknown field");
    }
    GANNET_RETURN_IF_ERROR(ReadPostings(bytes, documents, list));
    if (list.empty()) return Wrong("an empty list");
    list.ForEach([&](DocId docid) { sums.lengths += HashOf(key, docid); });
  }
  return Status::Ok();
}

// Reads the docids of one adjacency posting list.
Status ReadAdjacency(std::string_view bytes, std::vector<DocId>& docids) {
  docids.clear();
  ByteReader reader(bytes);
  const uint64_t header = reader.Varint();
  if ((header & 1) != 0) {
    const std::string_view roaring(reader.at(), reader.left());
    GANNET_RETURN_IF_ERROR(ValidateDocSet(roaring));
    DocSetView(roaring)->ToVector(docids);
  } else {
    uint64_t next = 0;
    while (!reader.done() && next <= UINT32_MAX) {
      docids.push_back(static_cast<DocId>(next + reader.Varint()));
      next = uint64_t{docids.back()} + 1;
    }
  }
  if (!reader.ok() || docids.empty() || docids.size() != header >> 1)
    return Wrong("a list has another length than it says");
  return Status::Ok();
}

Status CheckAdjacency(std::string_view directory, std::string_view data, uint32_t word_count,
                      const DocSet& documents, std::vector<Ordinal>& frequent, Sums& sums) {
  ByteReader reader(directory);
  const uint64_t count = reader.Varint();
  uint64_t word = 0;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t step = reader.Varint();
    word += step;
    if ((i > 0 && step == 0) || word >= word_count)
      return Wrong("the words do not ascend, or one is unknown");
    frequent.push_back(static_cast<Ordinal>(word));
  }
  ByteReader lists(data);
  std::vector<DocId> docids;
  for (uint64_t left = 0; left < count && reader.ok(); ++left) {
    const uint64_t entries = reader.Varint();
    uint64_t number = 0;
    for (uint64_t i = 0; i < entries && reader.ok(); ++i) {
      const uint64_t step = reader.Varint();
      number += step;
      const std::string_view list = lists.Bytes(reader.Varint());
      if ((i > 0 && step == 0) || number >= count * kAdjacencyDistances || !lists.ok())
        return Wrong("pairs out of order or cut off");
      GANNET_RETURN_IF_ERROR(ReadAdjacency(list, docids));
      if (!DocSet::FromSorted(docids).IsSubsetOf(documents))
        return Wrong("a document that is not in the segment");
      const uint64_t pair = uint64_t{frequent[left]} << 32 | frequent[number / kAdjacencyDistances];
      for (const DocId docid : docids)
        sums.adjacency += HashOf(pair * kAdjacencyDistances + number % kAdjacencyDistances, docid);
    }
  }
  return reader.ok() && reader.done() && lists.done()
             ? Status::Ok()
             : Wrong("the pairs do not fill their sections");
}

// Checks every union against the lists of its words.
Status CheckPrefixes(const PrefixUnions& unions, std::string_view data, std::string_view postings,
                     const PackedOffsets& offsets, const DocSet& documents) {
  // By word: the number of the union that has it, and whether a union within that one has it too.
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> union_of(offsets.size(), kNone);
  std::vector<bool> in_part(offsets.size());
  for (uint32_t i = 0; i < unions.count(); ++i) {
    std::map<FieldId, DocSet> expected;
    const uint32_t around = union_of[unions.WordsOf(i).front().first];
    for (const auto& [begin, end] : unions.WordsOf(i)) {
      for (Ordinal word = begin; word < end; ++word) {
        if (union_of[word] != around || in_part[word])
          return Wrong("word " + std::to_string(word) +
                       " is in two unions, none of which is within the other");
        if (around == kNone) {
          union_of[word] = i;
        } else {
          in_part[word] = true;
        }
        TextReader::ForEachList(postings.substr(offsets[word], offsets[word + 1] - offsets[word]),
                                [&](uint32_t id, std::string_view list) {
                                  if (id < kLeadingLists)
                                    UnionPostingsInto(list, expected[static_cast<FieldId>(id)]);
                                });
      }
    }
    DocSet list;
    for (const PrefixUnions::List& of : unions.ListsOf(i)) {
      GANNET_RETURN_IF_ERROR(ReadPostings(data.substr(of.begin, of.size), documents, list));
      const auto node = expected.extract(of.field);
      if (node.empty() || !(node.mapped() == list))
        return Wrong("the union of field " + std::to_string(of.field) +
                     " is not that of its words");
    }
    if (!expected.empty()) return Wrong("the union of a field is missing");
  }
  return Status::Ok();
}

// Checks that every word of the table is in the lists of exactly its triples.
Status CheckTriples(const Triples& table, const fst::Fst& terms) {
  std::vector<bool> in_table(terms.size());
  std::vector<Ordinal> words;
  uint64_t sum = 0, expected = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    if (i > 0 && table.triple(i - 1) >= table.triple(i)) return Wrong("triples do not ascend");
    if (!table.WordsOf(i, words) || words.empty()) return Wrong("a list without words");
    for (const Ordinal word : words) {
      in_table[word] = true;
      sum += HashOf(table.triple(i), word);
    }
  }
  std::vector<uint64_t> triples;
  for (auto word = terms.Begin(); word.Valid(); word.Next()) {
    if (!in_table[word.ordinal()]) continue;
    triples.clear();
    ForEachTriple(word.word(), [&](uint64_t triple) { triples.push_back(triple); });
    std::sort(triples.begin(), triples.end());
    triples.erase(std::unique(triples.begin(), triples.end()), triples.end());
    for (const uint64_t triple : triples) expected += HashOf(triple, word.ordinal());
  }
  return sum == expected ? Status::Ok() : Wrong("words are not in the lists of their triples");
}

// Checks every document's words: ordinals in range, fields ascending, positions growing.
class ForwardCheck {
 public:
  ForwardCheck(uint32_t words, size_t field_count, std::span<const Ordinal> frequent)
      : words_(words), field_count_(field_count), seen_(words), frequent_(words) {
    for (const Ordinal word : frequent) frequent_[word] = true;
  }

  Status Add(const TextReader& text, uint32_t local) {
    const std::string_view record = text.ForwardRecord(local);
    ForwardDocument document;
    if (!text.OpenRecord(record, document)) return Wrong("a record is cut off");
    GANNET_RETURN_IF_ERROR(CheckHead(document));
    const DocId docid = text.docids()[local];
    leading_.clear();
    pairs_.clear();
    bool known = true;
    text.ForEachRun(
        record,
        [&](FieldId field, uint32_t words) {
          ++stamp_;
          frequent_before_.clear();
          if (words <= kListedLengthMax)
            sums_.lengths += HashOf(uint64_t{field} * kLengthsPerField + words, docid);
        },
        [&](FieldId field, uint32_t position, const PackedOrdinals& run) {
          for (uint32_t i = 0; i < run.count; ++i) {
            const Ordinal word = run.at(i);
            if (word >= words_) {
              known = false;
              return;
            }
            if (frequent_[word]) {
              for (auto before = frequent_before_.rbegin(); before != frequent_before_.rend();
                   ++before) {
                const uint32_t distance = position + i - before->second;
                if (distance > kAdjacencyDistances) break;
                pairs_.emplace_back(uint64_t{before->first} << 32 | word, distance - 1);
              }
              frequent_before_.emplace_back(word, position + i);
            }
            if (position + i < kLeadingPositions) leading_.emplace_back(word, position + i);
            if (seen_[word] == stamp_) continue;
            seen_[word] = stamp_;
            sums_.fields += HashOf(word, field, docid);
          }
        });
    if (!known) return Wrong("a word number beyond the dictionary");
    std::sort(leading_.begin(), leading_.end());
    leading_.erase(std::unique(leading_.begin(), leading_.end()), leading_.end());
    for (const auto& [word, position] : leading_)
      sums_.leading += HashOf(word, kLeadingLists + position, docid);
    std::sort(pairs_.begin(), pairs_.end());
    // The smallest distance of each pair comes first.
    const auto same_pair = [](const auto& a, const auto& b) { return a.first == b.first; };
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end(), same_pair), pairs_.end());
    for (const auto& [pair, between] : pairs_)
      sums_.adjacency += HashOf(pair * kAdjacencyDistances + between, docid);
    tokens_ += document.words.count;
    return Status::Ok();
  }
  const Sums& sums() const { return sums_; }
  uint64_t tokens() const { return tokens_; }

 private:
  Status CheckHead(const ForwardDocument& document) const {
    uint64_t field = 0, words = 0;
    bool first = true;
    for (ByteReader head(document.head); !head.done();) {
      const uint64_t step = head.Varint(), count = head.Varint();
      ByteReader breaks(head.LengthPrefixed());
      if (!head.ok()) return Wrong("the fields are cut off");
      field += step;
      if ((step == 0 && !first) || field >= field_count_ || count == 0)
        return Wrong("a field out of order or unknown");
      first = false;
      uint64_t behind = 0;
      while (!breaks.done()) {
        behind += breaks.Varint();
        if (breaks.Varint() == 0 || !breaks.ok() || behind >= count)
          return Wrong("a gap between words is damaged");
      }
      words += count;
    }
    return words == document.words.count ? Status::Ok()
                                         : Wrong("the fields do not add up to the words");
  }

  const uint32_t words_;
  const size_t field_count_;
  std::vector<uint64_t> seen_;  // by word: the last field of a document that had it
  uint64_t stamp_ = 0, tokens_ = 0;
  std::vector<bool> frequent_;  // by word: whether it has adjacency postings
  std::vector<std::pair<Ordinal, uint32_t>> leading_;
  std::vector<std::pair<uint64_t, uint32_t>> pairs_;           // words, positions between them
  std::vector<std::pair<Ordinal, uint32_t>> frequent_before_;  // of the field: word, position
  Sums sums_;
};

// Checks one column of a segment.
class ColumnCheck {
 public:
  ColumnCheck(const ColumnReader& column, std::span<const DocId> docids, const DocSet& documents)
      : column_(column), docids_(docids), documents_(documents) {}

  Status Run() {
    if (column_.document_count() != docids_.size())
      return Wrong("it is about another number of documents");
    GANNET_RETURN_IF_ERROR(CheckValues());
    GANNET_RETURN_IF_ERROR(CheckPostings());
    GANNET_RETURN_IF_ERROR(CheckDocuments());
    for (const uint32_t size : {ColumnReader::kGroupValues, ColumnReader::kSuperValues}) {
      GANNET_RETURN_IF_ERROR(CheckUnions(size));
    }
    return CheckMarks();
  }

 private:
  Status CheckValues() const {
    const auto numbers = column_.numbers();
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i]) || (i > 0 && numbers[i - 1] >= numbers[i]))
        return Wrong("numbers do not ascend");
    }
    for (uint32_t i = 0; i < column_.string_count(); ++i) {
      if (column_.string(i).empty()) return Wrong("an empty text among the values");
      if (i > 0 && column_.string(i - 1) >= column_.string(i)) return Wrong("texts do not ascend");
      column_.spelling(i);
    }
    return Status::Ok();
  }

  Status CheckPostings() {
    for (ValueOrdinal value = 0; value < column_.value_count(); ++value) {
      GANNET_RETURN_IF_ERROR(ReadPostings(column_.postings(value), documents_, list_));
      if (list_.empty()) return Wrong("a value of no document");
      list_.ForEach([&](DocId docid) { postings_sum_ += HashOf(value, docid); });
    }
    return Status::Ok();
  }

  Status CheckDocuments() {
    uint64_t sum = 0;
    Status status;
    std::vector<DocId> valued;
    for (uint32_t local = 0; local < docids_.size(); ++local) {
      int64_t last = -1;
      column_.ForEachValue(local, [&](ValueOrdinal value) {
        if (value >= column_.value_count()) status = Wrong("a document with an unknown value");
        if (int64_t{value} <= last) status = Wrong("the values of a document do not ascend");
        last = value;
        sum += HashOf(value, docids_[local]);
      });
      GANNET_RETURN_IF_ERROR(status);
      if (last >= 0) valued.push_back(docids_[local]);
    }
    if (sum != postings_sum_) return Wrong("documents by value differ from values by document");
    valued_ = DocSet::FromSorted(valued);
    return Status::Ok();
  }

  Status CheckUnions(uint32_t size) {
    DocSet all;
    for (ValueOrdinal first = 0; first + size <= column_.value_count(); first += size) {
      const std::string_view stored = column_.StoredUnion(first, size);
      if (stored.empty()) {
        if (column_.value_count() >= size * 2) return Wrong("a stored union is missing");
        continue;
      }
      GANNET_RETURN_IF_ERROR(ReadPostings(stored, documents_, list_));
      all.Clear();
      for (uint32_t i = 0; i < size; ++i) UnionPostingsInto(column_.postings(first + i), all);
      if (!(all == list_)) return Wrong("a stored union is not that of its values");
    }
    return Status::Ok();
  }

  Status CheckMarks() {
    DocSet exists;
    GANNET_RETURN_IF_ERROR(ReadPostings(column_.exists_bytes(), documents_, exists));
    for (const std::string_view bytes :
         {column_.null_bytes(), column_.empty_bytes(), column_.valued_bytes()}) {
      GANNET_RETURN_IF_ERROR(ReadPostings(bytes, documents_, list_));
      if (!list_.IsSubsetOf(exists)) return Wrong("a document has a value but not the field");
    }
    return list_ == valued_ ? Status::Ok()
                            : Wrong("the documents with a value are not those that have one");
  }

  const ColumnReader& column_;
  std::span<const DocId> docids_;
  const DocSet& documents_;
  DocSet list_, valued_;
  uint64_t postings_sum_ = 0;
};

// Checks the elements of a field: that their maps fit, and that no element has a value which its
// document does not have.
class ElementCheck {
 public:
  explicit ElementCheck(const ColumnsReader& columns, size_t documents)
      : columns_(columns), documents_(documents) {}

  Status Run(ColumnKey key) const {
    const PackedOffsets* const outer = columns_.Map(key.outer, key.outer);
    if (outer == nullptr) return Wrong("elements whose documents are not known");
    return key.kind == ColumnKey::Kind::kMap ? CheckMap(key, *outer) : CheckColumn(key, *outer);
  }

 private:
  Status CheckMap(ColumnKey key, const PackedOffsets& outer) const {
    const PackedOffsets *const map = columns_.Map(key.field, key.outer), *const own = columns_.Map(
                                                                             key.field, key.field);
    if (map == nullptr || own == nullptr) return Wrong("elements whose documents are not known");
    const uint64_t parents = key.field == key.outer ? documents_ : outer.back();
    return map->size() == parents + 1 && map->front() == 0 && map->back() == own->back()
               ? Status::Ok()
               : Wrong("elements and what they are in differ in number");
  }

  Status CheckColumn(ColumnKey key, const PackedOffsets& outer) const {
    const ElementColumn* const elements = columns_.Elements(key.field, key.outer);
    const ColumnReader* const column = columns_.Find(key.field);
    if (elements == nullptr || column == nullptr || outer.size() != documents_ + 1)
      return Wrong("the values of elements do not fit");
    bool known = true;
    std::vector<ValueOrdinal> values;
    for (uint32_t local = 0; local < documents_; ++local) {
      values.clear();
      column->ForEachValue(local, [&](ValueOrdinal value) { values.push_back(value); });
      const auto [begin, end] = outer.RangeOf(local);
      elements->ForEach(begin, end, [&](uint32_t, uint32_t code) {
        known &= code < ElementCode::kFirst ||
                 std::binary_search(values.begin(), values.end(), code - ElementCode::kFirst);
      });
    }
    return known ? Status::Ok() : Wrong("an element has a value that its document does not have");
  }

  const ColumnsReader& columns_;
  const size_t documents_;
};

// Checks that the columns of a file follow each other, in order.
Status CheckColumnOffsets(File& file, size_t field_count) {
  std::vector<std::pair<uint64_t, uint64_t>> columns;  // offset, size
  const auto read = [&](std::string_view bytes, bool of_elements) {
    ByteReader directory(bytes);
    std::optional<ColumnKey> last;
    bool fits = true;
    while (!directory.done() && fits) {
      const auto kind = of_elements ? directory.Fixed<uint8_t>() : uint8_t{0};
      const auto field = directory.Fixed<FieldId>();
      const auto outer = of_elements ? directory.Fixed<FieldId>() : FieldId{0};
      const ColumnKey key(static_cast<ColumnKey::Kind>(kind), field, outer);
      const auto offset = directory.Fixed<uint64_t>(), size = directory.Fixed<uint64_t>();
      fits = directory.ok() && (kind != 0) == of_elements && kind <= 2 && field < field_count &&
             outer < field_count && (!last || *last < key);
      columns.emplace_back(offset, size);
      last = key;
    }
    return fits;
  };
  const bool fits = read(file.Bytes(kColumnDirectory), false) &&
                    (!(*file)->Has(kElementDirectory) || read(file.Bytes(kElementDirectory), true));
  if (!fits) return Wrong("columns out of order or unknown");
  std::sort(columns.begin(), columns.end());
  uint64_t expected = 0;
  for (const auto& [offset, size] : columns) {
    if (offset != expected) return Wrong("columns not behind each other");
    expected += (size + 7) / 8 * 8;
  }
  return expected == (*file)->SectionSize(kColumnData) ? Status::Ok()
                                                       : Wrong("columns do not fill their section");
}

Status CheckPoints(const GeoIndex& points, const ColumnReader& lats, const ColumnReader& lngs,
                   std::span<const DocId> docids) {
  std::map<DocId, uint32_t> locals;  // of the documents with a point
  for (uint32_t local = 0; local < docids.size(); ++local) {
    if (lats.NumberAt(local) && lngs.NumberAt(local)) locals.emplace(docids[local], local);
  }
  if (points.size() != locals.size())
    return Wrong("another number of points than documents that have one");
  for (uint32_t i = 0; i < points.size(); ++i) {
    const auto found = locals.find(points.docid(i));
    if (found == locals.end()) return Wrong("a point twice, or of a document without one");
    const filter::GeoPoint point{.lat = *lats.NumberAt(found->second),
                                 .lng = *lngs.NumberAt(found->second)};
    if (!(points.point(i) == point)) return Wrong("a point is elsewhere than its document");
    if ((std::fabs(point.lat) <= 90 && std::fabs(point.lng) <= 180) != (i < points.regular())) {
      return Wrong("points beyond the globe are not apart from the others");
    }
    locals.erase(found);
  }
  for (uint32_t level = 0; level < points.level_count(); ++level) {
    uint32_t next = 0;
    for (const GeoIndex::Node& node : points.level(level)) {
      if (node.begin != next) return Wrong("nodes leave children out");
      next = node.end;
      for (uint32_t i = node.begin; i < node.end; ++i) {
        if (level == 0) {
          const bool reached = GeoIndex::DistanceBounds(node, points.point(i)).min == 0;
          if (!node.box.Contains(points.point(i)) || !reached)
            return Wrong("a point outside of its node");
        } else {
          const filter::GeoBox& below = points.level(level - 1)[i].box;
          if (below.south < node.box.south || below.north > node.box.north ||
              below.west < node.box.west || below.east > node.box.east) {
            return Wrong("a node outside of the one above");
          }
        }
      }
    }
    const size_t children = level == 0 ? points.regular() : points.level(level - 1).size();
    if (next != children) return Wrong("nodes leave children out");
  }
  return Status::Ok();
}

// Checks one row: its quantised form must match its numbers.
Status CheckVectorRow(const EmbedderReader& embedder, uint32_t row, std::vector<float>& numbers) {
  const uint32_t dimensions = embedder.dimensions();
  if (embedder.binary_quantised()) {
    const uint64_t* bits = embedder.Bits(row, row + 1);
    const bool clean = bits != nullptr &&
                       (dimensions % 64 == 0 || bits[dimensions / 64] >> (dimensions % 64) == 0);
    return clean ? Status::Ok() : Wrong("bits beyond the dimensions");
  }
  const auto quantised = embedder.Bytes(row, row + 1);
  if (!embedder.ReadRow(row, numbers) || quantised.bytes == nullptr)
    return Wrong("a row cannot be read");
  double squares = 0, off = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) return Wrong("a number is not finite");
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  const double length = std::sqrt(squares);
  for (uint32_t i = 0; i < dimensions; ++i) {
    const double unit = length > 0 ? static_cast<double>(numbers[i]) / length : 0;
    const double distance =
        unit - static_cast<double>(quantised.scales->scale) * quantised.bytes[i];
    off += distance * distance;
  }
  // Allows for rounding.
  constexpr double kTolerance = 1e-7;
  return std::sqrt(off) <= static_cast<double>(quantised.scales->error) + kTolerance
             ? Status::Ok()
             : Wrong("its bytes are further off than they say");
}

// Signs are computed from the rows again: all machines compute the same bits.
Status CheckSigns(const EmbedderReader& embedder) {
  if (!embedder.has_signs()) return Status::Ok();
  vector::SignEncoder encoder(embedder.dimensions());
  std::vector<float> numbers;
  for (uint32_t row = 0; row < embedder.row_count(); ++row) {
    if (!embedder.ReadRow(row, numbers)) return Wrong("a row cannot be read");
    encoder.Add(numbers.data());
    if (encoder.rows() < vector::kSignRows && row + 1 < embedder.row_count()) continue;
    const size_t block = row / vector::kSignRows;
    const uint8_t* signs = embedder.Signs(block, block + 1);
    if (signs == nullptr || !std::equal(encoder.block().begin(), encoder.block().end(), signs)) {
      return Wrong("the signs of rows up to " + std::to_string(row) + " are not theirs");
    }
    encoder.Clear();
  }
  return Status::Ok();
}

Status CheckEmbedder(const EmbedderReader& embedder, const DocSet& documents) {
  const auto docids = embedder.docids();
  GANNET_RETURN_IF_ERROR(CheckDocids(docids));
  std::vector<float> numbers;
  for (size_t local = 0; local < docids.size(); ++local) {
    const std::string which = "document " + std::to_string(docids[local]) + ": ";
    if (!documents.Contains(docids[local])) return Wrong(which + "not in the segment");
    if ((embedder.flags(local) & ~(kRegenerate | kUserProvided)) != 0)
      return Wrong(which + "unknown flags");
    const auto rows = embedder.rows_of(local);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
      if (embedder.row_docids()[row] != docids[local])
        return Wrong(which + "a row says another document");
      if (const Status status = CheckVectorRow(embedder, row, numbers); !status.ok())
        return Wrong(which + status.message());
    }
  }
  return CheckSigns(embedder);
}

// Checks the vectors of a file that has some.
void CheckVectors(File& file, const DocSet& documents) {
  for (const SectionId id : (*file)->sections()) {
    if (id >= kVectorSections && !file.Valid({id})) return;
  }
  const auto vectors = VectorsReader::Open(*file);
  if (!file.Check(kVectorDirectory, vectors.ok() ? Status::Ok() : vectors.status())) return;
  for (const EmbedderReader& embedder : (*vectors)->embedders()) {
    const Status status = CheckEmbedder(embedder, documents);
    if (!status.ok())
      file.Check(kVectorSections, Wrong("embedder `" + embedder.name() + "`, " + status.message()));
  }
}

// Checks a base file, section by section.
class BaseCheck {
 public:
  BaseCheck(const std::string& path, const SegmentContext& context)
      : context_(context), file_(path, content_.faults) {}

  SegmentContent Run() {
    if (CheckDocuments() && CheckTerms()) {
      CheckPostingLists();
      CheckFieldLengths();
      CheckPairs();
      CheckParts();
      CheckForward();
    }
    return std::move(content_);
  }

 private:
  size_t SectionSize(SectionId id) const { return (*file_)->SectionSize(id); }

  // False: nothing else can be checked.
  bool CheckDocuments() {
    if (!file_.open() ||
        !file_.Need({kRowDocids, kRowOffsets, kRowData, kTextMeta, kTerms, kPostingOffsets,
                     kPostingData, kForwardOffsets, kForwardData, kFieldLengths})) {
      return false;
    }
    if (!file_.Valid({kRowDocids}) ||
        !file_.Check(kRowDocids, CheckDocids(AsSpan<DocId>(file_.Bytes(kRowDocids))))) {
      return false;
    }
    const auto docids = AsSpan<DocId>(file_.Bytes(kRowDocids));
    content_.docids.assign(docids.begin(), docids.end());
    documents_ = DocSet::FromSorted(docids);
    if (file_.Valid({kRowOffsets})) {
      const auto offsets =
          CheckOffsets(file_.Bytes(kRowOffsets), docids.size(), SectionSize(kRowData));
      if (file_.Check(kRowOffsets, offsets.status()) && file_.Valid({kRowData})) {
        file_.Check(kRowData, CheckRows(file_, docids, *offsets, context_));
      }
    }
    if ((*file_)->Has(kVectorDirectory) && file_.Valid({kVectorDirectory}))
      CheckVectors(file_, documents_);
    return true;
  }

  // False: the words cannot be checked.
  bool CheckTerms() {
    if (!file_.Valid({kTerms})) return false;
    const auto terms = fst::Fst::Open(file_.Bytes(kTerms));
    if (!file_.Check(kTerms, terms.ok() ? terms->Verify() : terms.status())) return false;
    words_ = terms->size();
    content_.words = words_;
    return true;
  }

  void CheckPostingLists() {
    if (!file_.Valid({kPostingOffsets})) return;
    const auto offsets =
        CheckOffsets(file_.Bytes(kPostingOffsets), words_, SectionSize(kPostingData));
    posted_ = file_.Check(kPostingOffsets, offsets.status()) && file_.Valid({kPostingData}) &&
              file_.Check(kPostingData,
                          CheckPostings(file_, *offsets, documents_, context_.field_count, said_));
    if (!posted_ || !(*file_)->Has(kPrefixWords) || !file_.Need({kPrefixData}) ||
        !file_.Valid({kPrefixWords, kPrefixData})) {
      return;
    }
    const auto unions = PrefixUnions::Open(**file_, words_);
    begun_ = file_.Check(kPrefixWords, unions.status());
    if (!begun_) return;
    file_.Check(kPrefixData, CheckPrefixes(*unions, file_.Bytes(kPrefixData),
                                           file_.Bytes(kPostingData), *offsets, documents_));
  }

  void CheckFieldLengths() {
    if (!file_.Valid({kFieldLengths})) return;
    measured_ = file_.Check(kFieldLengths, CheckLengths(file_.Bytes(kFieldLengths),
                                                        context_.field_count, documents_, said_));
  }

  void CheckPairs() {
    if (!(*file_)->Has(kAdjacencyWords) || !file_.Need({kAdjacencyData}) ||
        !file_.Valid({kAdjacencyWords, kAdjacencyData})) {
      return;
    }
    paired_ = file_.Check(kAdjacencyWords,
                          CheckAdjacency(file_.Bytes(kAdjacencyWords), file_.Bytes(kAdjacencyData),
                                         words_, documents_, frequent_, said_));
  }

  void CheckParts() {
    if (!(*file_)->Has(kTripleKeys) || !file_.Need({kTripleOffsets, kTripleData}) ||
        !file_.Valid({kTripleKeys, kTripleOffsets, kTripleData})) {
      return;
    }
    parted_ = false;
    const size_t count = SectionSize(kTripleKeys) / sizeof(uint64_t);
    const auto offsets = CheckOffsets(file_.Bytes(kTripleOffsets), count, SectionSize(kTripleData));
    if (!file_.Check(kTripleOffsets, offsets.status())) return;
    const auto table = Triples::Open(**file_, words_);
    const auto terms = fst::Fst::Open(file_.Bytes(kTerms));
    if (!file_.Check(kTripleKeys, table.status()) || !terms.ok()) return;
    parted_ = true;
    file_.Check(kTripleData, CheckTriples(*table, *terms));
  }

  void CheckForward() {
    if (!file_.Valid({kTextMeta, kForwardOffsets, kForwardData, kPostingOffsets, kFieldLengths,
                      kAdjacencyWords, kPrefixWords, kTripleKeys, kTripleOffsets})) {
      return;
    }
    const auto& docids = content_.docids;
    const auto offsets =
        CheckOffsets(file_.Bytes(kForwardOffsets), docids.size(), SectionSize(kForwardData));
    if (!file_.Check(kForwardOffsets, offsets.status())) return;
    const auto text = TextReader::Open(*file_);
    if (!text.ok()) {
      const bool others_open = measured_ && (paired_ || !(*file_)->Has(kAdjacencyWords)) &&
                               (begun_ || !(*file_)->Has(kPrefixWords)) && parted_;
      if (others_open) file_.Check(kTextMeta, text.status());
      return;
    }
    ForwardCheck forward(words_, context_.field_count, frequent_);
    for (uint32_t local = 0; local < docids.size(); ++local) {
      if (const Status status = forward.Add(**text, local); !status.ok()) {
        file_.Check(kForwardData,
                    Wrong("document " + std::to_string(docids[local]) + ": " + status.message()));
        return;
      }
    }
    content_.tokens = forward.tokens();
    if (forward.tokens() != (*text)->token_count()) {
      file_.Check(kTextMeta, Wrong("another number of words than the documents hold"));
    }
    Compare(forward.sums());
  }

  void Compare(const Sums& found) {
    if (posted_ && (said_.fields != found.fields || said_.leading != found.leading)) {
      file_.Check(kPostingData, Wrong("documents by word differ from words by document"));
    }
    if (measured_ && said_.lengths != found.lengths)
      file_.Check(kFieldLengths, Wrong("they differ from the documents"));
    if (paired_ && said_.adjacency != found.adjacency) {
      file_.Check(kAdjacencyData,
                  Wrong("documents by pair of words differ from words by document"));
    }
  }

  const SegmentContext& context_;
  SegmentContent content_;
  File file_;
  DocSet documents_;
  uint32_t words_ = 0;
  std::vector<Ordinal> frequent_;
  // The sums that each readable section gives for the documents; those of the forward records must
  // be equal.
  Sums said_;
  bool posted_ = false, measured_ = false, paired_ = false, begun_ = false;
  bool parted_ = true;  // there is no table of triples, or it opens
};

}  // namespace

std::string SectionName(SectionId id) {
  switch (id) {
    case kRowDocids: return "row docids";
    case kRowOffsets: return "row offsets";
    case kRowData: return "row data";
    case kTextMeta: return "text meta";
    case kTerms: return "terms";
    case kPostingOffsets: return "posting offsets";
    case kPostingData: return "posting data";
    case kForwardOffsets: return "forward offsets";
    case kForwardData: return "forward data";
    case kFieldLengths: return "field lengths";
    case kAdjacencyWords: return "adjacency words";
    case kAdjacencyData: return "adjacency data";
    case kPrefixWords: return "prefix words";
    case kPrefixData: return "prefix data";
    case kTripleKeys: return "triple keys";
    case kTripleOffsets: return "triple offsets";
    case kTripleData: return "triple data";
    case kColumnDirectory: return "column directory";
    case kColumnData: return "column data";
    case kGeoPoints: return "points";
    case kElementDirectory: return "element directory";
    case kVectorDirectory: return "vector directory";
    case kGraphDirectory: return "graph directory";
    default:
      if (id >= kGraphSections) return "graphs";
      return id >= kVectorSections ? "vectors" : "section " + std::to_string(id);
  }
}

SegmentContent VerifyBase(const std::string& path, const SegmentContext& context) {
  return BaseCheck(path, context).Run();
}

std::vector<Fault> VerifyColumns(const std::string& path, std::span<const DocId> docids,
                                 const SegmentContext& context) {
  std::vector<Fault> faults;
  File file(path, faults);
  if (!file.open() || !file.Need({kColumnDirectory, kColumnData}) || docids.empty() ||
      !file.Valid({kColumnDirectory, kColumnData, kElementDirectory})) {
    return faults;
  }
  if (!file.Check(kColumnDirectory, CheckColumnOffsets(file, context.field_count))) return faults;
  const auto columns = ColumnsReader::Open(*file);
  if (!file.Check(kColumnDirectory, columns.ok() ? Status::Ok() : columns.status())) return faults;
  const DocSet documents = DocSet::FromSorted(docids);
  for (const FieldId field : (*columns)->fields()) {
    const ColumnReader* column = (*columns)->Find(field);
    const Status checked = column == nullptr ? Wrong("the sizes of its parts do not fit")
                                             : ColumnCheck(*column, docids, documents).Run();
    if (!checked.ok()) {
      file.Check(kColumnData, Wrong("field " + std::to_string(field) + ": " + checked.message()));
      return faults;
    }
  }
  const ElementCheck elements(**columns, docids.size());
  for (const ColumnKey key : (*columns)->element_keys()) {
    if (const Status checked = elements.Run(key); !checked.ok()) {
      file.Check(kElementDirectory,
                 Wrong("field " + std::to_string(key.field) + ": " + checked.message()));
      return faults;
    }
  }
  if (!(*file)->Has(kGeoPoints) || !file.Valid({kGeoPoints})) return faults;
  const auto points = GeoIndex::Open(file.Bytes(kGeoPoints), docids);
  if (!file.Check(kGeoPoints, points.ok() ? Status::Ok() : points.status())) return faults;
  const ColumnReader* lats =
      context.point_fields ? (*columns)->Find(context.point_fields->first) : nullptr;
  const ColumnReader* lngs =
      context.point_fields ? (*columns)->Find(context.point_fields->second) : nullptr;
  file.Check(kGeoPoints, lats == nullptr || lngs == nullptr
                             ? Wrong("points without columns of them")
                             : CheckPoints(*points, *lats, *lngs, docids));
  return faults;
}

std::vector<Fault> VerifyGraphs(const std::string& path, const std::string& base_path) {
  std::vector<Fault> faults;
  File file(path, faults);
  if (!file.open() || !file.Need({kGraphDirectory})) return faults;
  for (const SectionId id : (*file)->sections()) {
    if (!file.Valid({id})) return faults;
  }
  const auto base = SegmentFile::Open(base_path);
  if (!base.ok()) return faults;
  const auto vectors = VectorsReader::Open(*base);
  if (!vectors.ok()) return faults;
  const auto graphs = GraphsReader::Open(*file, *vectors);
  if (file.Check(kGraphDirectory, graphs.ok() ? Status::Ok() : graphs.status()))
    file.Check(kGraphSections, (*graphs)->Verify());
  return faults;
}

}  // namespace gannet::segment
