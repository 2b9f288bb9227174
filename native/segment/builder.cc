#include "segment/builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/memory.h"
#include "fst/builder.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

// Postings collected in memory at a time for writing: usually 4 bytes each, and as much again for
// early positions.
constexpr uint64_t kPostingsPerSlice = 4 << 20;
constexpr uint32_t kLeadingBits = std::bit_width(kLeadingPositions - 1);
static_assert(kLeadingPositions == 1 << kLeadingBits);

// Bits that hold the index of one of `fields` fields.
uint32_t FieldBits(size_t fields) { return static_cast<uint32_t>(std::bit_width(fields)); }

// The first 8 bytes of a word. For a shorter word, all its bytes, and its size in the last byte: so
// they identify the word.
constexpr size_t kFirstBytes = sizeof(uint64_t);
uint64_t FirstBytes(std::string_view word) {
  const char* const at = word.data();
  const size_t size = word.size();
  if (size >= kFirstBytes) return LoadFixed<uint64_t>(at);
  uint64_t bytes = size << 56;
  if (size >= 4) {
    bytes |= LoadFixed<uint32_t>(at) | uint64_t{LoadFixed<uint32_t>(at + size - 4)}
                                           << (size - 4) * 8;
  } else if (size > 0) {
    for (const size_t i : {size_t{0}, size / 2, size - 1})
      bytes |= uint64_t{static_cast<uint8_t>(at[i])} << i * 8;
  }
  return bytes;
}

// Mixes 8 bytes at a time (the multiply-and-fold step of wyhash,
// https://github.com/wangyi-fudan/wyhash). The last bit says whether the word is longer than its
// first bytes.
uint32_t HashWord(std::string_view word, uint64_t first) {
  uint64_t hash = 0x9e3779b97f4a7c15 ^ word.size();
  const auto mix = [&](uint64_t value) {
    const auto product = static_cast<unsigned __int128>(hash ^ value) * 0xa0761d6478bd642f;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  mix(first);
  if (word.size() > kFirstBytes) {
    for (size_t at = kFirstBytes; at + kFirstBytes < word.size(); at += kFirstBytes)
      mix(LoadFixed<uint64_t>(word.data() + at));
    mix(LoadFixed<uint64_t>(word.data() + word.size() - kFirstBytes));
  }
  return (static_cast<uint32_t>(hash ^ hash >> 32) & ~uint32_t{1}) |
         (word.size() >= kFirstBytes ? 1 : 0);
}

// A field of the collected stream.
struct StreamField {
  FieldId field;
  const uint32_t* breaks;  // pairs (word index, position)
  uint32_t break_count;
  const uint32_t* words;
  uint32_t word_count;
};

// Calls begin(docid) for each document of the stream, then sink(index, field) for each of its
// fields. index: of the document in the stream.
template <typename Begin, typename Field>
void ForEachStreamDocument(const Chunks<uint32_t>& stream, Begin&& begin, Field&& sink) {
  uint32_t document = 0;
  for (size_t i = 0; i < stream.chunk_count(); ++i) {
    const std::span<const uint32_t> chunk = stream.chunk(i);
    const uint32_t* at = chunk.data();
    const uint32_t* const end = at + chunk.size();
    for (; at < end; ++document) {
      const DocId docid = *at++, fields = *at++;
      begin(docid);
      for (uint32_t n = 0; n < fields; ++n) {
        StreamField field;
        field.field = static_cast<FieldId>(*at++);
        field.word_count = *at++;
        field.break_count = *at++;
        field.breaks = at;
        at += size_t{field.break_count} * 2;
        field.words = at;
        at += field.word_count;
        sink(document, field);
      }
    }
  }
}

// The postings of a stream, grouped by word, one slice of the dictionary at a time.
//
// Packed: an unsigned number with space for the index of a document and, in the low bits, the index
// of a field in `fields` or an early position. fields: all that have words, ascending.
template <typename Packed>
class SlicedPostings {
 public:
  SlicedPostings(const Chunks<uint32_t>& stream, std::span<const uint32_t> docids,
                 const std::vector<Ordinal>& ordinal_of, const std::vector<uint32_t>& by_ordinal,
                 const std::vector<FieldId>& fields)
      : stream_(stream),
        docids_(docids),
        ordinal_of_(ordinal_of),
        by_ordinal_(by_ordinal),
        fields_(fields),
        field_bits_(FieldBits(fields.size())),
        number_of_(fields.empty() ? 0 : size_t{fields.back()} + 1),
        last_(by_ordinal.size()),
        in_fields_(by_ordinal.size()),
        leading_(by_ordinal.size()),
        list_of_(fields.size()) {
    for (size_t i = 0; i < fields.size(); ++i) number_of_[fields[i]] = static_cast<Packed>(i);
    ForEachInFields([&](uint32_t word, Packed) { ++in_fields_.counts[word]; });
    ForEachLeading([&](uint32_t word, Packed) { ++leading_.counts[word]; });
  }

  // Collects the slice that starts at a word, and returns the ordinal after the slice.
  Ordinal Gather(Ordinal from) {
    Ordinal until = from;
    uint64_t total = 0, leading_total = 0;
    while (until < by_ordinal_.size() &&
           (until == from || total + in_fields_.counts[by_ordinal_[until]] <= kPostingsPerSlice)) {
      in_fields_.cursor[until] = total;
      leading_.cursor[until] = leading_total;
      leading_total += leading_.counts[by_ordinal_[until]];
      total += in_fields_.counts[by_ordinal_[until++]];
    }
    in_fields_.slice.resize(total);
    leading_.slice.resize(leading_total);
    ForEachLeading([&](uint32_t word, Packed posting) {
      const Ordinal ordinal = ordinal_of_[word];
      if (ordinal >= from && ordinal < until) leading_.slice[leading_.cursor[ordinal]++] = posting;
    });
    ForEachInFields([&](uint32_t word, Packed posting) {
      const Ordinal ordinal = ordinal_of_[word];
      if (ordinal >= from && ordinal < until)
        in_fields_.slice[in_fields_.cursor[ordinal]++] = posting;
    });
    return until;
  }

  // Adds the lists of a word of the slice.
  void AddLists(Ordinal ordinal, PostingsWriter& writer) {
    AddFieldLists(in_fields_.Of(ordinal, by_ordinal_[ordinal]), writer);
    AddLeadingLists(leading_.Of(ordinal, by_ordinal_[ordinal]), writer);
  }

 private:
  struct Grouped {
    explicit Grouped(size_t words) : counts(words), cursor(words) {}
    // REQUIRES: the slice has been collected.
    std::span<const Packed> Of(Ordinal ordinal, uint32_t word) const {
      return std::span<const Packed>(slice).subspan(cursor[ordinal] - counts[word], counts[word]);
    }
    std::vector<uint32_t> counts;  // by word
    std::vector<uint64_t> cursor;  // by ordinal: where its next posting goes
    std::vector<Packed> slice;
  };

  // Calls sink for each document index with a field index. A word counts once per document and
  // field: last_ has the pair in which a word was last seen.
  template <typename Sink>
  void ForEachInFields(Sink&& sink) {
    std::fill(last_.begin(), last_.end(), ~Packed{0});
    ForEachStreamDocument(
        stream_, [](uint32_t) {},
        [&](Packed document, const StreamField& field) {
          const Packed posting = document << field_bits_ | number_of_[field.field];
          for (uint32_t i = 0; i < field.word_count; ++i) {
            const uint32_t word = field.words[i];
            if (last_[word] == posting) continue;
            last_[word] = posting;
            sink(word, posting);
          }
        });
  }

  // Calls sink for each document index with a position: the words at the first positions of fields.
  template <typename Sink>
  void ForEachLeading(Sink&& sink) {
    ForEachStreamDocument(
        stream_, [](uint32_t) {},
        [&](Packed document, const StreamField& field) {
          uint32_t position = 0, next_break = 0;
          for (uint32_t i = 0; i < field.word_count; ++i, ++position) {
            if (next_break < field.break_count && field.breaks[next_break * 2] == i) {
              position = field.breaks[next_break++ * 2 + 1];
            }
            if (position >= kLeadingPositions) return;
            sink(field.words[i], document << kLeadingBits | position);
          }
        });
  }

  void AddFieldLists(std::span<const Packed> postings, PostingsWriter& writer) {
    const Packed field_mask = (Packed{1} << field_bits_) - 1;
    used_.clear();
    for (const Packed posting : postings) {
      const auto field = static_cast<size_t>(posting & field_mask);
      if (list_of_[field] == 0) {
        used_.emplace_back(field, static_cast<uint32_t>(used_.size()));
        list_of_[field] = static_cast<uint32_t>(used_.size());
        if (lists_.size() < used_.size()) lists_.emplace_back();
        lists_[used_.size() - 1].clear();
      }
      lists_[list_of_[field] - 1].push_back(docids_[posting >> field_bits_]);
    }
    std::sort(used_.begin(), used_.end());
    for (const auto& [field, list] : used_) {
      writer.AddList(fields_[field], lists_[list]);
      list_of_[field] = 0;
    }
  }

  void AddLeadingLists(std::span<const Packed> postings, PostingsWriter& writer) {
    if (postings.empty()) return;
    for (const Packed posting : postings) {
      // The same position of several fields counts once.
      auto& list = at_position_[posting & (kLeadingPositions - 1)];
      const DocId docid = docids_[posting >> kLeadingBits];
      if (list.empty() || list.back() != docid) list.push_back(docid);
    }
    for (uint32_t position = 0; position < kLeadingPositions; ++position) {
      if (at_position_[position].empty()) continue;
      writer.AddList(kLeadingLists + position, at_position_[position]);
      at_position_[position].clear();
    }
  }

  const Chunks<uint32_t>& stream_;
  const std::span<const uint32_t> docids_;
  const std::vector<Ordinal>& ordinal_of_;
  const std::vector<uint32_t>& by_ordinal_;
  const std::vector<FieldId>& fields_;
  const uint32_t field_bits_;
  std::vector<Packed> number_of_;  // by field: its index in fields_
  std::vector<Packed> last_;       // by word
  Grouped in_fields_, leading_;
  std::vector<DocId> at_position_[kLeadingPositions];
  // Documents of the current word, by field index: list_of_[i] - 1 is the index of the list of
  // field i; 0 means that it has none yet.
  std::vector<std::vector<DocId>> lists_;
  std::vector<std::pair<size_t, uint32_t>> used_;
  std::vector<uint32_t> list_of_;
};

}  // namespace

WordTable::WordTable() : slots_(1 << 12) {}

std::string_view WordTable::word(uint32_t number) const {
  const size_t end = number + 1 < begins_.size() ? begins_[number + 1] : bytes_.size();
  return std::string_view(bytes_).substr(begins_[number], end - begins_[number]);
}

uint32_t WordTable::Intern(std::string_view word) {
  const uint64_t first = FirstBytes(word);
  const uint32_t hash = HashWord(word, first);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash >> 1 & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.word == 0) {
      const uint32_t number = size();
      begins_.push_back(static_cast<uint32_t>(bytes_.size()));
      bytes_.append(word);
      slots_[at] = {first, hash, number + 1};
      if (size() * size_t{2} > slots_.size()) Grow();
      return number;
    }
    if (slot.first != first || slot.hash != hash) continue;
    if (word.size() < kFirstBytes || this->word(slot.word - 1) == word) return slot.word - 1;
  }
}

void WordTable::Grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, {});
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.word == 0) continue;
    size_t at = slot.hash >> 1 & mask;
    while (slots_[at].word != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

uint64_t WordTable::memory_bytes() const {
  return bytes_.capacity() + begins_.capacity() * sizeof(uint32_t) +
         slots_.capacity() * sizeof(Slot);
}

Result<std::unique_ptr<SegmentBuilder>> SegmentBuilder::Create(const std::string& path,
                                                               std::vector<EmbedderShape> embedders,
                                                               FieldSet parts) {
  GANNET_ASSIGN_OR_RETURN(auto file, SegmentFileWriter::Create(path));
  return std::unique_ptr<SegmentBuilder>(
      new SegmentBuilder(std::move(file), std::move(embedders), std::move(parts)));
}

SegmentBuilder::SegmentBuilder(std::unique_ptr<SegmentFileWriter> file,
                               std::vector<EmbedderShape> embedders, FieldSet parts)
    : file_(std::move(file)),
      rows_(*file_),
      vectors_(file_->folder(), std::move(embedders)),
      parts_(std::move(parts)) {}

void SegmentBuilder::BeginDocument(DocId docid, std::string_view row) {
  rows_.Add(docid, row);
  columns_.BeginDocument(docid);
  record_.assign({docid, 0});
  document_.clear();
}

void SegmentBuilder::EndDocument() {
  // Fields come in the order of the document; values of one field need not follow each other
  // (arrays of objects).
  if (!std::is_sorted(document_.begin(), document_.end(),
                      [](const auto& a, const auto& b) { return a.field < b.field; })) {
    std::stable_sort(document_.begin(), document_.end(),
                     [](const auto& a, const auto& b) { return a.field < b.field; });
  }
  for (size_t from = 0; from < document_.size();) {
    const FieldId field = document_[from].field;
    size_t until = from;
    while (until < document_.size() && document_[until].field == field) ++until;
    if (field >= has_field_.size()) has_field_.resize(size_t{field} + 1);
    has_field_[field] = true;
    ++record_[1];
    record_.push_back(field);
    record_.push_back(static_cast<uint32_t>(until - from));
    const size_t breaks_at = record_.size();
    record_.push_back(0);
    uint32_t expected = 0;
    for (size_t i = from; i < until; ++i) {
      if (document_[i].position != expected) {
        ++record_[breaks_at];
        record_.push_back(static_cast<uint32_t>(i - from));
        record_.push_back(document_[i].position);
      }
      expected = document_[i].position + 1;
    }
    for (size_t i = from; i < until; ++i) record_.push_back(document_[i].term);
    from = until;
  }
  std::copy(record_.begin(), record_.end(), stream_.Extend(record_.size()));
  ++document_count_;
}

uint64_t SegmentBuilder::memory_bytes() const {
  return stream_.memory_bytes() + words_.memory_bytes() + columns_.memory_bytes() +
         vectors_.memory_bytes() + uint64_t{document_count_} * 12;
}

template <typename Packed>
Result<std::vector<Ordinal>> SegmentBuilder::WritePostings(const std::vector<Ordinal>& ordinal_of,
                                                           const std::vector<uint32_t>& by_ordinal,
                                                           const std::vector<FieldId>& fields) {
  SlicedPostings<Packed> postings(stream_, rows_.docids(), ordinal_of, by_ordinal, fields);
  PostingsWriter writer(*file_, FrequentMin(document_count_), parts_);
  for (Ordinal from = 0; from < by_ordinal.size();) {
    const Ordinal until = postings.Gather(from);
    for (; from < until; ++from) {
      postings.AddLists(from, writer);
      writer.EndWord(words_.word(by_ordinal[from]));
    }
  }
  GANNET_RETURN_IF_ERROR(writer.Finish());
  return writer.FrequentWords();
}

Status SegmentBuilder::WriteForward(const std::vector<Ordinal>& ordinal_of,
                                    std::vector<Ordinal> frequent) {
  ForwardWriter writer(*file_, words_.size(), std::move(frequent));
  std::vector<uint32_t> positions;
  std::vector<Ordinal> ordinals;
  bool open = false;
  ForEachStreamDocument(
      stream_,
      [&](DocId docid) {
        if (open) writer.EndDocument();
        open = true;
        writer.BeginDocument(docid);
      },
      [&](uint32_t, const StreamField& field) {
        positions.clear();
        ordinals.clear();
        uint32_t position = 0, next_break = 0;
        for (uint32_t i = 0; i < field.word_count; ++i) {
          if (next_break < field.break_count && field.breaks[next_break * 2] == i) {
            position = field.breaks[next_break++ * 2 + 1];
          }
          positions.push_back(position++);
          ordinals.push_back(ordinal_of[field.words[i]]);
        }
        writer.AddField(field.field, positions, ordinals);
      });
  if (open) writer.EndDocument();
  return writer.Finish();
}

Status SegmentBuilder::Finish() {
  rows_.Finish();
  // Columns first, because this frees their memory: writing postings takes as much.
  const uint64_t columns_bytes = columns_.memory_bytes();
  GANNET_RETURN_IF_ERROR(columns_.Write(*file_));
  ReturnFreeMemory(columns_bytes);
  std::vector<uint32_t> by_ordinal(words_.size());
  std::iota(by_ordinal.begin(), by_ordinal.end(), 0);
  std::sort(by_ordinal.begin(), by_ordinal.end(),
            [&](uint32_t a, uint32_t b) { return words_.word(a) < words_.word(b); });
  std::vector<Ordinal> ordinal_of(words_.size());
  fst::Builder terms;
  for (uint32_t ordinal = 0; ordinal < by_ordinal.size(); ++ordinal) {
    ordinal_of[by_ordinal[ordinal]] = ordinal;
    terms.Add(words_.word(by_ordinal[ordinal]));
  }
  file_->AddSection(kTerms, terms.Finish());
  std::vector<FieldId> fields;
  for (size_t field = 0; field < has_field_.size(); ++field) {
    if (has_field_[field]) fields.push_back(static_cast<FieldId>(field));
  }
  const uint32_t bits = static_cast<uint32_t>(std::bit_width(document_count_)) +
                        std::max(FieldBits(fields.size()), kLeadingBits);
  GANNET_ASSIGN_OR_RETURN(std::vector<Ordinal> frequent,
                          bits <= 32 ? WritePostings<uint32_t>(ordinal_of, by_ordinal, fields)
                                     : WritePostings<uint64_t>(ordinal_of, by_ordinal, fields));
  GANNET_RETURN_IF_ERROR(WriteForward(ordinal_of, std::move(frequent)));
  GANNET_RETURN_IF_ERROR(vectors_.Write(*file_));
  return file_->Finish();
}

}  // namespace gannet::segment
