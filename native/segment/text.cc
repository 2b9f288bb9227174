#include "segment/text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/stop_point.h"
#include "base/tuning.h"
#include "segment/layout.h"
#include "text/language_guess.h"

namespace gannet::segment {
namespace {

// If a word has at least this many postings in all fields together, the documents of their union
// that are not in the longest list are stored as well: joining the lists of many fields at query
// time then costs more than the bytes.
uint64_t StoredRestMin() { return Tuned().stored_rest_min; }

// Unions of fewer words are not cached: making them takes little longer than copying them.
uint64_t CachedWordsMin(bool leading_positions) {
  return leading_positions ? Tuned().cached_position_words_min : Tuned().cached_words_min;
}
constexpr uint64_t kListCost = 64;  // opening a list takes as long as reading this many bytes of it

constexpr uint64_t kBytesAtOnce =
    2;  // for stored unions: they are large, and joined in whole blocks

// Number of lists: one per word, and one per field of a union.
uint64_t ListCount(const PrefixUnions::Cover& cover) {
  return cover.word_count() + cover.unions.size();
}

// Whether the word of this blob occurs in one of the fields.
bool HasField(std::string_view blob, const FieldSet& fields) {
  bool found = false;
  TextReader::ForEachList(blob, [&](uint32_t id, std::string_view) {
    found = found || (id < kLeadingLists && fields.Has(static_cast<FieldId>(id)));
  });
  return found;
}

}  // namespace

uint32_t OrdinalWidth(uint32_t word_count) {
  return std::max<uint32_t>(
      1, static_cast<uint32_t>(std::bit_width(word_count == 0 ? 0 : word_count - 1)));
}

Result<std::shared_ptr<const TextReader>> TextReader::Open(std::shared_ptr<SegmentFile> file) {
  auto reader = std::make_shared<TextReader>();
  reader->file_ = file;
  const Status damaged = Status::Corruption("the segment file " + file->path() + " is damaged");
  ByteReader meta(file->ReadAll(kTextMeta));
  const auto words = static_cast<uint32_t>(meta.Varint());
  reader->ordinal_width_ = static_cast<uint32_t>(meta.Varint());
  reader->token_count_ = meta.Varint();
  reader->local_docids_ = LocalDocIds(AsSpan<uint32_t>(file->ReadAll(kRowDocids)));
  const auto posting_offsets = PackedOffsets::Open(file->ReadAll(kPostingOffsets)),
             forward_offsets = PackedOffsets::Open(file->ReadAll(kForwardOffsets));
  if (!posting_offsets.ok() || !forward_offsets.ok()) return damaged;
  reader->posting_offsets_ = *posting_offsets;
  reader->forward_offsets_ = *forward_offsets;
  reader->posting_section_ = file->Find(kPostingData);
  reader->forward_section_ = file->Find(kForwardData);
  reader->forward_data_ = file->Read(kForwardData, 0, 0).data();
  auto terms = fst::Fst::Open(file->ReadAll(kTerms));
  if (!terms.ok()) return terms.status();
  reader->terms_ = *terms;
  GANNET_ASSIGN_OR_RETURN(reader->lengths_, LengthsReader::Open(*file));
  GANNET_ASSIGN_OR_RETURN(reader->adjacency_, AdjacencyReader::Open(*file));
  GANNET_ASSIGN_OR_RETURN(reader->prefixes_, PrefixUnions::Open(*file, words));
  reader->prefix_section_ = file->Find(kPrefixData);
  GANNET_ASSIGN_OR_RETURN(reader->triples_, Triples::Open(*file, words));
  if (!meta.ok() || file->corrupt() || reader->ordinal_width_ != OrdinalWidth(words) ||
      reader->terms_.size() != words || reader->posting_offsets_.size() != uint64_t{words} + 1 ||
      reader->forward_offsets_.size() != reader->docids().size() + 1) {
    return damaged;
  }
  return std::shared_ptr<const TextReader>(reader);
}

std::string_view TextReader::PostingBlob(Ordinal ordinal) const {
  if (ordinal + size_t{1} >= posting_offsets_.size()) return {};
  return ReadRange(posting_section_, posting_offsets_.RangeOf(ordinal));
}

uint64_t TextReader::PostingBytes(Ordinal begin, Ordinal end) const {
  if (begin >= end || end >= posting_offsets_.size()) return 0;
  const uint64_t from = posting_offsets_[begin], to = posting_offsets_[end];
  return to < from ? 0 : to - from;
}

TextReader::Count TextReader::CountDocuments(Ordinal ordinal) const {
  if (const auto disjoint = DisjointPostings(ordinal)) {
    const uint64_t count = disjoint->count();
    return {count, count};
  }
  Count count{0, 0};
  ForEachField(ordinal, [&](FieldId, std::string_view postings) {
    const uint64_t of_field = PostingsCount(postings);
    count.min = std::max(count.min, of_field);
    count.max += of_field;
  });
  return count;
}

text::Locale TextReader::GuessedLanguage() const {
  std::call_once(language_once_, [&] {
    language_ = text::GuessLanguage([&](std::string_view word) {
      const auto ordinal = terms_.Find(word);
      return ordinal ? static_cast<double>(CountDocuments(*ordinal).max) : 0.0;
    });
  });
  return language_;
}

std::shared_ptr<const StemTable> TextReader::Stems(text::Locale language) const {
  const auto find = [&] {
    return std::find_if(stems_.begin(), stems_.end(),
                        [&](const auto& table) { return table.first == language; });
  };
  const std::lock_guard lock(stems_mutex_);
  if (const auto known = find(); known != stems_.end()) {
    std::rotate(known, known + 1, stems_.end());
    return stems_.back().second;
  }
  auto table = std::make_shared<const StemTable>(terms_, language);
  if (stems_.size() == kStemTablesMax) stems_.erase(stems_.begin());
  stems_.emplace_back(language, table);
  return table;
}

std::vector<text::Locale> TextReader::StemLanguages() const {
  const std::lock_guard lock(stems_mutex_);
  std::vector<text::Locale> languages;
  for (const auto& table : stems_) languages.push_back(table.first);
  return languages;
}

std::shared_ptr<const segment::Occurrences> TextReader::Occurrences() const {
  const std::lock_guard lock(occurrences_mutex_);
  if (!occurrences_) occurrences_ = std::make_shared<const segment::Occurrences>(*this);
  return occurrences_;
}

bool TextReader::has_occurrences() const {
  const std::lock_guard lock(occurrences_mutex_);
  return occurrences_ != nullptr;
}

const std::vector<FieldLength>& TextReader::SampledLengths() const {
  std::call_once(sampled_once_, [&] {
    std::map<FieldId, FieldLength> lengths;
    const uint32_t count = std::min(document_count(), kSampledDocuments);
    for (uint64_t i = 0; i < count; ++i) {
      const auto local = static_cast<uint32_t>(i * document_count() / count);
      ForEachRun(
          ForwardRecord(local),
          [&](FieldId field, uint32_t words) {
            FieldLength& length =
                lengths.try_emplace(field, FieldLength{field, 0, 0}).first->second;
            ++length.documents;
            length.words += words;
          },
          [](FieldId, uint32_t, PackedOrdinals) {});
    }
    for (const auto& [field, length] : lengths) sampled_.push_back(length);
  });
  return sampled_;
}

void TextReader::ExpectPostings(std::span<const WordRange> words) const {
  for (const auto& [begin, end] : words) {
    if (const uint64_t bytes = PostingBytes(begin, end); bytes > 0)
      file_->Expect(posting_section_, posting_offsets_[begin], bytes);
  }
}

void TextReader::WillNeedPostings(Ordinal begin, Ordinal end) const {
  end = static_cast<Ordinal>(std::min<size_t>(end, posting_offsets_.size() - 1));
  if (begin >= end) return;
  const uint64_t from = posting_offsets_[begin];
  file_->WillNeed(posting_section_, from, posting_offsets_[end] - from);
}

void TextReader::WillNeedRecords(uint32_t local, uint32_t count) const {
  const uint64_t from = forward_offsets_[local];
  file_->WillNeed(
      forward_section_, from,
      forward_offsets_[std::min<size_t>(size_t{local} + count, forward_offsets_.size() - 1)] -
          from);
}

std::optional<TextReader::Disjoint> TextReader::DisjointPostings(Ordinal ordinal) const {
  ByteReader reader(PostingBlob(ordinal));
  const uint64_t head = reader.Varint();
  const uint64_t lists = head >> 1;
  if ((head & 1) != 0) {
    const uint64_t longest = reader.Varint();
    Disjoint disjoint;
    disjoint.rest = reader.LengthPrefixed();
    for (uint64_t local = 0; local <= longest && reader.ok(); ++local) {
      reader.Varint();
      disjoint.main = reader.LengthPrefixed();
    }
    return disjoint;
  }
  const uint64_t field = reader.Varint();
  if (field >= kLeadingLists) return std::nullopt;
  if (lists == 1) return Disjoint{{reader.at(), reader.left()}, {}};
  // One field, followed by early positions.
  const std::string_view first = reader.LengthPrefixed();
  if (field + reader.Varint() < kLeadingLists) return std::nullopt;
  return Disjoint{first, {}};
}

void TextReader::UnionPostings(Ordinal ordinal, const FieldSet* fields, DocSetUnion& out) const {
  if (fields == nullptr) {
    if (const auto disjoint = DisjointPostings(ordinal)) {
      out.AddPostings(disjoint->main);
      if (!disjoint->rest.empty()) out.AddPostings(disjoint->rest);
      return;
    }
  }
  ForEachField(ordinal, [&](FieldId field, std::string_view postings) {
    if (fields == nullptr || fields->Has(field)) out.AddPostings(postings);
  });
}

uint64_t TextReader::CommonDocuments(Ordinal a, Ordinal b) const {
  const auto of_a = DisjointPostings(a), of_b = DisjointPostings(b);
  if (of_a && of_b) {
    const PostingsReader main(of_b->main), rest(of_b->rest);
    const auto common = [&](const PostingsReader& list) {
      return list.IntersectionSize(main) + list.IntersectionSize(rest);
    };
    return common(PostingsReader(of_a->main)) + common(PostingsReader(of_a->rest));
  }
  const auto documents = [&](Ordinal ordinal) {
    DocSetUnion join;
    UnionPostings(ordinal, nullptr, join);
    return join.Finish();
  };
  const auto common = [](const Disjoint& lists, const DocSet& others) {
    return PostingsReader(lists.main).IntersectionSize(others) +
           PostingsReader(lists.rest).IntersectionSize(others);
  };
  if (of_a) return common(*of_a, documents(b));
  if (of_b) return common(*of_b, documents(a));
  return documents(a).IntersectionSize(documents(b));
}

std::optional<DocSetCache::Kind> TextReader::CacheKind(const WordLists& lists) {
  const uint64_t words = lists.word_count();
  if (words < CachedWordsMin(lists.leading_positions != 0)) return std::nullopt;
  if (lists.leading_positions != 0) return DocSetCache::KindOfLeading(lists.leading_positions);
  if (lists.fields == nullptr) return DocSetCache::Kind::kRange;
  const auto field = lists.fields->only();
  return field ? std::optional(DocSetCache::KindOfField(*field)) : std::nullopt;
}

uint64_t TextReader::ListsToJoin(const WordLists& lists) const {
  const auto kind = CacheKind(lists);
  return kind && !docset_cache_.Has(CacheKey(*kind, lists)) ? ListCount(CoverOf(lists)) : 0;
}

bool TextReader::PaysToRead(const WordLists& lists, uint64_t to_join, uint64_t documents) const {
  const std::string key = CacheKey(*CacheKind(lists), lists);
  if (!docset_cache_.PaysToRead(key, documents, to_join * kListCost)) return false;
  docset_cache_.NoteRead(key, documents);
  return true;
}

PrefixUnions::Cover TextReader::CoverOf(const WordLists& lists) const {
  if (HasCover(lists)) return prefixes_.Find(lists.words);
  return {{}, {lists.words.begin(), lists.words.end()}};
}

template <typename Sink>
void TextReader::ForEachStored(const WordLists& lists, const PrefixUnions::Cover& cover,
                               Sink&& sink) const {
  for (const uint32_t number : cover.unions) {
    for (const PrefixUnions::List& list : prefixes_.ListsOf(number)) {
      if (lists.fields == nullptr || lists.fields->Has(list.field)) sink(list);
    }
  }
}

void TextReader::JoinLists(const WordLists& lists, DocSetUnion& out) const {
  if (HasCover(lists)) return JoinLists(lists, prefixes_.Find(lists.words), out);
  ExpectPostings(lists.words);
  JoinWords(lists.words, lists, out);
}

void TextReader::JoinLists(const WordLists& lists, const PrefixUnions::Cover& cover,
                           DocSetUnion& out) const {
  ForEachStored(lists, cover, [&](const PrefixUnions::List& list) {
    file_->Expect(prefix_section_, list.begin, list.size);
  });
  ExpectPostings(cover.words);
  ForEachStored(lists, cover, [&](const PrefixUnions::List& list) {
    out.AddPostings(file_->Read(prefix_section_, list.begin, list.size));
  });
  JoinWords(cover.words, lists, out);
}

void TextReader::JoinWords(std::span<const WordRange> words, const WordLists& lists,
                           DocSetUnion& out) const {
  for (const auto& [begin, end] : words) {
    for (Ordinal ordinal = begin; ordinal < end; ++ordinal) {
      if (lists.leading_positions == 0) {
        UnionPostings(ordinal, lists.fields, out);
        continue;
      }
      ForEachList(PostingBlob(ordinal), [&](uint32_t id, std::string_view postings) {
        if (id >= kLeadingLists && (lists.leading_positions >> (id - kLeadingLists) & 1) != 0)
          out.AddPostings(postings);
      });
    }
  }
}

uint64_t TextReader::JoinCost(const WordLists& lists, const PrefixUnions::Cover& cover) const {
  uint64_t cost = ListCount(cover) * kListCost;
  for (const auto& [begin, end] : cover.words) cost += PostingBytes(begin, end);
  ForEachStored(lists, cover,
                [&](const PrefixUnions::List& list) { cost += list.size / kBytesAtOnce; });
  return cost;
}

uint64_t TextReader::JoinFrequent(const WordLists& lists, DocSetUnion& out) const {
  std::vector<Ordinal> frequent;
  std::vector<WordRange> rare, each;
  for (const WordRange& range : lists.words) adjacency_.Split(range, frequent, rare);
  const WordLists others{rare, lists.fields};
  if (frequent.empty() || !CacheKind(others)) return 0;
  for (const Ordinal word : frequent) each.emplace_back(word, word + 1);
  UnionLists(others, out);
  ExpectPostings(each);
  JoinWords(each, lists, out);
  return JoinCost(lists, {{}, each});
}

void TextReader::UnionLists(const WordLists& lists, DocSetUnion& out) const {
  const auto kind = CacheKind(lists);
  if (!kind) return JoinLists(lists, out);
  const std::string key = CacheKey(*kind, lists);
  if (auto known = docset_cache_.Find(key)) return out.Add(std::move(known));
  const PrefixUnions::Cover cover = CoverOf(lists);
  uint64_t cost = JoinCost(lists, cover);
  if (cost < CachedWordsMin(lists.leading_positions != 0) * kListCost)
    return JoinLists(lists, cover, out);
  DocSetUnion join;
  // If any field will do, the words that are not frequent are looked up on their own as well.
  const uint64_t with_frequent = *kind == DocSetCache::Kind::kRange ? JoinFrequent(lists, join) : 0;
  if (with_frequent > 0) {
    cost = with_frequent;
  } else {
    JoinLists(lists, cover, join);
  }
  DocSet documents = join.Finish();
  docset_cache_.Store(key, documents, cost);
  out.Add(std::move(documents));
}

bool TextReader::HasLive(Ordinal ordinal, const FieldSet* fields, const DocSet* live) const {
  bool found = false;
  ForEachField(ordinal, [&](FieldId field, std::string_view postings) {
    if (found || (fields != nullptr && !fields->Has(field))) return;
    found = live == nullptr || PostingsIntersect(postings, *live);
  });
  return found;
}

int64_t TextReader::Find(DocId docid) const { return local_docids_.Find(docid); }

PostingsWriter::PostingsWriter(SegmentFileWriter& file, uint64_t frequent_min, FieldSet parts)
    : file_(file),
      prefixes_(file),
      triples_(file),
      frequent_min_(frequent_min),
      parts_(std::move(parts)),
      any_parts_(!parts_.empty()) {
  file_.BeginSection(kPostingData);
}

void PostingsWriter::AddList(uint32_t id, std::span<const DocId> docids) {
  AppendPostings(docids, list_bytes_);
  lists_.push_back({id, list_bytes_.size()});
  if (id < kLeadingLists) total_ += docids.size();
}

void PostingsWriter::AddList(uint32_t id, const DocSet& docids) {
  AppendPostings(docids, list_bytes_);
  lists_.push_back({id, list_bytes_.size()});
  if (id < kLeadingLists) total_ += docids.size();
}

void PostingsWriter::EndWord(std::string_view word) {
  blob_.clear();
  const auto is_field = [](const List& list) { return list.id < kLeadingLists; };
  const auto fields = static_cast<size_t>(std::find_if_not(lists_.begin(), lists_.end(), is_field) -
                                          lists_.begin());
  const bool with_rest = fields > 1 && total_ >= StoredRestMin();
  PutVarint(blob_, lists_.size() << 1 | (with_rest ? 1 : 0));
  if (lists_.size() == 1) {
    PutVarint(blob_, lists_[0].id);
    blob_.append(list_bytes_);
  } else {
    if (with_rest) AppendRest(fields);
    uint32_t last = 0;
    for (size_t i = 0; i < lists_.size(); ++i) {
      PutVarint(blob_, lists_[i].id - last);
      PutBytes(blob_, PostingsOf(i));
      last = lists_[i].id;
    }
  }
  Append(word, blob_, total_);
  lists_.clear();
  list_bytes_.clear();
  total_ = 0;
}

void PostingsWriter::AppendRest(size_t fields) {
  size_t longest = 0;
  for (size_t i = 1; i < fields; ++i) {
    if (PostingsCount(PostingsOf(i)) > PostingsCount(PostingsOf(longest))) longest = i;
  }
  DocSet rest;
  for (size_t i = 0; i < fields; ++i) {
    if (i != longest) UnionPostingsInto(PostingsOf(i), rest);
  }
  rest -= DecodePostings(PostingsOf(longest));
  rest_.clear();
  AppendPostings(rest, rest_);
  PutVarint(blob_, longest);
  PutBytes(blob_, rest_);
}

void PostingsWriter::CopyWord(std::string_view word, std::string_view blob) {
  uint64_t documents = 0;
  TextReader::ForEachList(blob, [&](uint32_t id, std::string_view postings) {
    if (id < kLeadingLists) documents += PostingsCount(postings);
  });
  Append(word, blob, documents);
}

void PostingsWriter::Append(std::string_view word, std::string_view blob, uint64_t documents) {
  const auto ordinal = static_cast<Ordinal>(count());
  if (documents >= frequent_min_) {
    frequent_.emplace_back(documents, ordinal);
  } else {
    prefixes_.Add(word, ordinal, blob);
  }
  if (any_parts_ && HasField(blob, parts_)) triples_.Add(word, ordinal);
  file_.Append(blob);
  offsets_.push_back(offsets_.back() + blob.size());
}

std::vector<Ordinal> PostingsWriter::FrequentWords() const {
  auto words = frequent_;
  if (words.size() > kFrequentWordsMax) {
    const auto more = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    std::nth_element(words.begin(), words.begin() + kFrequentWordsMax, words.end(), more);
    words.resize(kFrequentWordsMax);
  }
  std::vector<Ordinal> ordinals;
  for (const auto& [documents, ordinal] : words) ordinals.push_back(ordinal);
  std::sort(ordinals.begin(), ordinals.end());
  return ordinals;
}

Status PostingsWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kPostingOffsets, PackOffsets(offsets_));
  triples_.Finish();
  return prefixes_.Finish();
}

ForwardWriter::ForwardWriter(SegmentFileWriter& file, uint32_t word_count,
                             std::vector<Ordinal> frequent)
    : file_(file),
      width_(OrdinalWidth(word_count)),
      word_count_(word_count),
      adjacency_(file, std::move(frequent), word_count) {
  file_.BeginSection(kForwardData);
}

void ForwardWriter::BeginDocument(DocId docid) {
  docid_ = docid;
  adjacency_.BeginDocument(docid);
  head_.clear();
  packed_.clear();
  bits_ = 0;
  held_ = 0;
  words_ = 0;
  last_field_ = 0;
}

void ForwardWriter::AddField(FieldId field, std::span<const uint32_t> positions,
                             std::span<const Ordinal> ordinals) {
  PutVarint(head_, static_cast<uint64_t>(field - last_field_));
  last_field_ = field;
  PutVarint(head_, ordinals.size());
  // A break: words up to which positions are consecutive, then the positions left out.
  std::string breaks;
  uint32_t expected = 0, last_break = 0;
  for (uint32_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != expected) {
      PutVarint(breaks, i - last_break);
      PutVarint(breaks, positions[i] - expected);
      last_break = i;
    }
    expected = positions[i] + 1;
  }
  PutBytes(head_, breaks);
  lengths_.Add(docid_, field, static_cast<uint32_t>(ordinals.size()));
  adjacency_.BeginField();
  for (size_t i = 0; i < ordinals.size(); ++i) adjacency_.Add(positions[i], ordinals[i]);
  for (const Ordinal ordinal : ordinals) {
    bits_ |= uint64_t{ordinal} << held_;
    held_ += width_;
    if (held_ >= 32) {
      PutFixed<uint32_t>(packed_, static_cast<uint32_t>(bits_));
      bits_ >>= 32;
      held_ -= 32;
    }
  }
  words_ += static_cast<uint32_t>(ordinals.size());
}

void ForwardWriter::EndDocument() {
  for (; held_ > 0; held_ -= std::min<uint32_t>(held_, 8), bits_ >>= 8)
    packed_.push_back(static_cast<char>(bits_));
  record_.clear();
  PutVarint(record_, words_);
  PutBytes(record_, head_);
  record_ += packed_;
  token_count_ += words_;
  file_.Append(record_);
  offsets_.push_back(offsets_.back() + record_.size());
}

bool ForwardWriter::CopyDocument(DocId docid, std::string_view record, uint32_t width,
                                 std::span<const Ordinal> new_ordinals) {
  ByteReader reader(record);
  const uint64_t words = reader.Varint();
  const std::string_view head = reader.LengthPrefixed();
  if (!reader.ok() || words > reader.left() * uint64_t{8}) return false;
  const std::string_view packed = reader.Bytes((words * width + 7) / 8);
  if (!reader.ok() || !reader.done()) return false;
  record_.clear();
  PutVarint(record_, words);
  PutBytes(record_, head);
  // Words are moved from `packed` to `out` through 64 bits at a time.
  const size_t begin = record_.size(), bytes = (words * width_ + 7) / 8;
  record_.resize(begin + bytes + sizeof(uint32_t));
  char* out = record_.data() + begin;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t bit = 0, bits = 0;
  uint32_t held = 0;
  Ordinal greatest = 0;
  copied_.resize(words);
  for (uint64_t i = 0; i < words; ++i, bit += width) {
    const Ordinal ordinal =
        new_ordinals[LoadFixed<uint64_t>(packed.data() + (bit >> 3)) >> (bit & 7) & mask];
    copied_[i] = ordinal;
    greatest = std::max(greatest, ordinal);
    bits |= uint64_t{ordinal} << held;
    held += width_;
    if (held >= 32) {
      std::memcpy(out, &bits, sizeof(uint32_t));
      out += sizeof(uint32_t);
      bits >>= 32;
      held -= 32;
    }
  }
  if (words > 0 && greatest >= word_count_) return false;
  if (!ListPostings(docid, head)) return false;
  std::memcpy(out, &bits, sizeof(uint32_t));
  record_.resize(begin + bytes);
  token_count_ += words;
  file_.Append(record_);
  offsets_.push_back(offsets_.back() + record_.size());
  return true;
}

bool ForwardWriter::ListPostings(DocId docid, std::string_view head) {
  adjacency_.BeginDocument(docid);
  size_t at = 0;
  FieldId field = 0;
  for (ByteReader reader(head); !reader.done();) {
    field = static_cast<FieldId>(field + reader.Varint());
    const uint64_t words = reader.Varint();
    ByteReader breaks(reader.LengthPrefixed());
    if (!reader.ok() || words > copied_.size() - at) return false;
    lengths_.Add(docid, field, static_cast<uint32_t>(words));
    adjacency_.BeginField();
    const size_t end = at + words;
    for (uint32_t position = 0; at < end;) {
      size_t run_end = end;
      uint64_t gap = 0;
      if (!breaks.done()) {
        run_end = std::min<uint64_t>(end, at + breaks.Varint());
        gap = breaks.Varint();
      }
      for (; at < run_end; ++at, ++position) adjacency_.Add(position, copied_[at]);
      position += static_cast<uint32_t>(gap);
    }
  }
  return at == copied_.size();
}

Status ForwardWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kForwardOffsets, PackOffsets(offsets_));
  lengths_.Finish(file_);
  GANNET_RETURN_IF_ERROR(adjacency_.Finish());
  std::string meta;
  PutVarint(meta, word_count_);
  PutVarint(meta, width_);
  PutVarint(meta, token_count_);
  file_.AddSection(kTextMeta, meta);
  return Status::Ok();
}

}  // namespace gannet::segment
