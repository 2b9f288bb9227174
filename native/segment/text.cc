#include "segment/text.h"

#include <algorithm>
#include <bit>

#include "segment/layout.h"

namespace gannet::segment {
namespace {

// Above this many postings in all fields together their union is stored as well: joining the lists of
// many fields at query time then costs more than the bytes.
constexpr uint64_t kStoredUnionMin = 128;

template <typename T>
std::span<const T> AsSpan(std::string_view bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

std::string_view BytesOf(const std::vector<uint64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint64_t)};
}

}  // namespace

uint32_t OrdinalWidth(uint32_t word_count) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::bit_width(word_count == 0 ? 0 : word_count - 1)));
}

Result<std::shared_ptr<const TextReader>> TextReader::Open(std::shared_ptr<SegmentFile> file) {
  auto reader = std::make_shared<TextReader>();
  reader->file_ = file;
  const Status damaged = Status::Corruption("the segment file " + file->path() + " is damaged");
  ByteReader meta(file->ReadAll(kTextMeta));
  const auto words = static_cast<uint32_t>(meta.Varint());
  reader->ordinal_width_ = static_cast<uint32_t>(meta.Varint());
  reader->token_count_ = meta.Varint();
  reader->docids_ = AsSpan<uint32_t>(file->ReadAll(kRowDocids));
  reader->posting_offsets_ = AsSpan<uint64_t>(file->ReadAll(kPostingOffsets));
  reader->forward_offsets_ = AsSpan<uint64_t>(file->ReadAll(kForwardOffsets));
  auto terms = fst::Fst::Open(file->ReadAll(kTerms));
  if (!terms.ok()) return terms.status();
  reader->terms_ = *terms;
  if (!meta.ok() || file->corrupt() || reader->ordinal_width_ == 0 || reader->ordinal_width_ > 32 ||
      reader->terms_.size() != words || reader->posting_offsets_.size() != uint64_t{words} + 1 ||
      reader->forward_offsets_.size() != reader->docids_.size() + 1) {
    return damaged;
  }
  return std::shared_ptr<const TextReader>(reader);
}

std::string_view TextReader::PostingBlob(Ordinal ordinal) const {
  if (ordinal + size_t{1} >= posting_offsets_.size()) return {};
  const uint64_t begin = posting_offsets_[ordinal], end = posting_offsets_[ordinal + 1];
  return end < begin ? std::string_view() : file_->Read(kPostingData, begin, end - begin);
}

std::string_view TextReader::ForwardRecord(uint32_t place) const {
  const uint64_t begin = forward_offsets_[place], end = forward_offsets_[place + 1];
  return end < begin ? std::string_view() : file_->Read(kForwardData, begin, end - begin);
}

void TextReader::UnionPostings(Ordinal ordinal, const FieldSet* fields, DocSet& out) const {
  if (fields == nullptr) {
    ByteReader reader(PostingBlob(ordinal));
    const uint64_t head = reader.Varint();
    if ((head >> 1) > 1 && (head & 1)) {
      UnionPostingsInto(reader.LengthPrefixed(), out);
      return;
    }
  }
  ForEachField(ordinal, [&](FieldId field, std::string_view postings) {
    if (fields == nullptr || fields->Has(field)) UnionPostingsInto(postings, out);
  });
}

void TextReader::UnionRange(Ordinal begin, Ordinal end, const FieldSet* fields, DocSet& out) const {
  // Short lists are gathered and added at once; long ones are joined as bitmaps.
  std::vector<uint32_t> docids;
  const auto add = [&](std::string_view postings) {
    if (PostingsCount(postings) <= kDeltaPostingsMax) {
      PostingsReader(postings).ToVector(docids);
    } else {
      UnionPostingsInto(postings, out);
    }
  };
  for (Ordinal ordinal = begin; ordinal < end; ++ordinal) {
    if (fields == nullptr) {
      ByteReader reader(PostingBlob(ordinal));
      const uint64_t head = reader.Varint();
      if ((head >> 1) > 1 && (head & 1)) {
        add(reader.LengthPrefixed());
        continue;
      }
    }
    ForEachField(ordinal, [&](FieldId field, std::string_view postings) {
      if (fields == nullptr || fields->Has(field)) add(postings);
    });
  }
  if (docids.empty()) return;
  std::sort(docids.begin(), docids.end());
  docids.erase(std::unique(docids.begin(), docids.end()), docids.end());
  out |= DocSet::FromSorted(docids);
}

bool TextReader::HasLive(Ordinal ordinal, const FieldSet* fields, const DocSet* live) const {
  bool found = false;
  ForEachField(ordinal, [&](FieldId field, std::string_view postings) {
    if (found || (fields != nullptr && !fields->Has(field))) return;
    found = live == nullptr || PostingsIntersect(postings, *live);
  });
  return found;
}

int64_t TextReader::Find(DocId docid) const {
  if (docids_.empty() || docid < docids_.front() || docid > docids_.back()) return -1;
  // Docids are dense in a freshly built segment: the place is then known at once.
  const size_t guess = std::min<size_t>(docid - docids_.front(), docids_.size() - 1);
  if (docids_[guess] == docid) return static_cast<int64_t>(guess);
  const auto found = std::lower_bound(docids_.begin(), docids_.begin() + static_cast<ptrdiff_t>(guess), docid);
  return *found == docid ? found - docids_.begin() : -1;
}

PostingsWriter::PostingsWriter(SegmentFileWriter& file) : file_(file) { file_.BeginSection(kPostingData); }

template <typename Lists>
void PostingsWriter::AddLists(const Lists& lists) {
  blob_.clear();
  uint64_t total = 0;
  for (const auto& [field, docids] : lists) total += docids.size();
  const bool with_union = lists.size() > 1 && total >= kStoredUnionMin;
  PutVarint(blob_, lists.size() << 1 | (with_union ? 1 : 0));
  if (lists.size() == 1) {
    PutVarint(blob_, lists[0].first);
    AppendPostings(lists[0].second, blob_);
  } else {
    if (with_union) {
      DocSet all;
      for (const auto& [field, docids] : lists) {
        if constexpr (std::is_same_v<std::decay_t<decltype(docids)>, DocSet>) {
          all |= docids;
        } else {
          all |= DocSet::FromSorted(docids);
        }
      }
      part_.clear();
      AppendPostings(all, part_);
      PutBytes(blob_, part_);
    }
    FieldId last = 0;
    for (const auto& [field, docids] : lists) {
      PutVarint(blob_, static_cast<uint64_t>(field - last));
      last = field;
      part_.clear();
      AppendPostings(docids, part_);
      PutBytes(blob_, part_);
    }
  }
  file_.Append(blob_);
  offsets_.push_back(offsets_.back() + blob_.size());
}

void PostingsWriter::Add(std::span<const std::pair<FieldId, std::vector<DocId>>> lists) { AddLists(lists); }
void PostingsWriter::Add(std::span<const std::pair<FieldId, DocSet>> lists) { AddLists(lists); }

void PostingsWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kPostingOffsets, BytesOf(offsets_));
}

ForwardWriter::ForwardWriter(SegmentFileWriter& file, uint32_t word_count)
    : file_(file), width_(OrdinalWidth(word_count)), word_count_(word_count) {
  file_.BeginSection(kForwardData);
}

void ForwardWriter::BeginDocument(uint32_t field_count) {
  record_.clear();
  PutVarint(record_, field_count);
}

void ForwardWriter::AddField(FieldId field, std::span<const uint32_t> positions,
                             std::span<const Ordinal> ordinals) {
  PutVarint(record_, field);
  PutVarint(record_, ordinals.size());
  // A break: words up to which positions are consecutive, then the positions left out.
  uint32_t breaks = 0, expected = 0;
  for (const uint32_t position : positions) {
    breaks += position != expected;
    expected = position + 1;
  }
  PutVarint(record_, breaks);
  expected = 0;
  uint32_t last_break = 0;
  for (uint32_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != expected) {
      PutVarint(record_, i - last_break);
      PutVarint(record_, positions[i] - expected);
      last_break = i;
    }
    expected = positions[i] + 1;
  }
  uint64_t bits = 0;
  uint32_t held = 0;
  for (const Ordinal ordinal : ordinals) {
    bits |= uint64_t{ordinal} << held;
    held += width_;
    while (held >= 8) {
      record_.push_back(static_cast<char>(bits));
      bits >>= 8;
      held -= 8;
    }
  }
  if (held > 0) record_.push_back(static_cast<char>(bits));
  token_count_ += ordinals.size();
}

void ForwardWriter::EndDocument() {
  file_.Append(record_);
  offsets_.push_back(offsets_.back() + record_.size());
}

void ForwardWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kForwardOffsets, BytesOf(offsets_));
  std::string meta;
  PutVarint(meta, word_count_);
  PutVarint(meta, width_);
  PutVarint(meta, token_count_);
  file_.AddSection(kTextMeta, meta);
}

}  // namespace gannet::segment
