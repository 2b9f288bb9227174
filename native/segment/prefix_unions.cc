#include "segment/prefix_unions.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/utf8.h"
#include "bitmap/postings_codec.h"
#include "segment/layout.h"
#include "segment/text.h"

namespace gannet::segment {
namespace {

constexpr size_t kFewMax = 1 << 18;

// Whether `sorted` has all of `words`.
bool Holds(std::span<const WordRange> sorted, std::span<const WordRange> words) {
  return std::all_of(words.begin(), words.end(), [&](const WordRange& range) {
    const auto behind =
        std::upper_bound(sorted.begin(), sorted.end(), range.first,
                         [](Ordinal word, const WordRange& r) { return word < r.first; });
    return behind != sorted.begin() && range.second <= std::prev(behind)->second;
  });
}

// Adds what is in `words` but not in `without`. REQUIRES: both ascend and are disjoint, `without`
// is within `words`.
void Subtract(std::span<const WordRange> words, std::span<const WordRange> without,
              std::vector<WordRange>& out) {
  auto next = without.begin();
  for (auto [begin, end] : words) {
    for (; next != without.end() && next->first < end; ++next) {
      if (begin < next->first) out.emplace_back(begin, next->first);
      begin = next->second;
    }
    if (begin < end) out.emplace_back(begin, end);
  }
}

}  // namespace

void PrefixUnionWriter::Documents::Gather() {
  std::sort(few.begin(), few.end());
  many.AddMany(few);
  few.clear();
}

void PrefixUnionWriter::Add(std::string_view word, Ordinal ordinal, std::string_view blob) {
  std::array<size_t, kPrefixCharsMax> ends;
  size_t end = 0;
  for (size_t& of : ends) {
    if (end < word.size()) DecodeUtf8(word, end);
    of = end;
  }
  size_t same = 0;
  while (same < levels_.size() && levels_[same].prefix == word.substr(0, ends[same])) ++same;
  for (size_t level = levels_.size(); level-- > same;) {
    End(level);
    levels_[level].prefix = word.substr(0, ends[level]);
  }
  Union& words = levels_.back().words;
  if (!words.words.empty() && words.words.back().second == ordinal) {
    ++words.words.back().second;
  } else {
    words.words.emplace_back(ordinal, ordinal + 1);
  }
  ++words.count;
  TextReader::ForEachList(blob, [&](uint32_t id, std::string_view postings) {
    if (id >= kLeadingLists) return;
    Documents& documents = words.fields[static_cast<FieldId>(id)];
    const PostingsReader list(postings);
    if (list.count() <= kDeltaPostingsMax) {
      list.ToVector(documents.few);
      if (documents.few.size() > kFewMax) documents.Gather();
    } else {
      list.UnionInto(documents.many);
    }
  });
}

void PrefixUnionWriter::Union::Merge(Union&& more) {
  words.insert(words.end(), more.words.begin(), more.words.end());
  count += more.count;
  fields.merge(more.fields);  // the fields that are new here
  for (auto& [field, documents] : more.fields) {
    Documents& all = fields[field];
    all.few.insert(all.few.end(), documents.few.begin(), documents.few.end());
    if (all.few.size() > kFewMax) all.Gather();
    if (!documents.many.empty()) all.many |= documents.many;
  }
  more = {};
}

void PrefixUnionWriter::End(size_t level) {
  Union& words = levels_[level].words;
  const bool many = words.count >= PrefixWordsMin();
  if (many) {
    Store(words);
    ++letter_unions_;
  }
  (many || level == 0 ? letter_ : levels_[level - 1].words).Merge(std::move(words));
  if (level > 0) return;
  if (letter_unions_ >= LetterUnionsMin()) Store(letter_);
  letter_ = {};
  letter_unions_ = 0;
}

void PrefixUnionWriter::Store(Union& words) {
  Unite(words.words);
  PutVarint(directory_, words.words.size());
  Ordinal last = 0;
  for (const auto& [begin, end] : words.words) {
    PutVarint(directory_, begin - last);
    PutVarint(directory_, end - begin);
    last = end;
  }
  PutVarint(directory_, words.fields.size());
  FieldId last_field = 0;
  for (auto& [field, documents] : words.fields) {
    documents.Gather();
    documents.many.Optimize();
    const uint64_t begin = lists_.size();
    AppendPostings(documents.many, lists_.buffer());
    PutVarint(directory_, static_cast<uint64_t>(field - last_field));
    PutVarint(directory_, lists_.size() - begin);
    last_field = field;
  }
  lists_.Settle();
  ++stored_;
}

Status PrefixUnionWriter::Finish() {
  for (size_t level = levels_.size(); level-- > 0;) End(level);
  if (stored_ == 0) return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(const std::string_view lists, lists_.Bytes());
  file_.AddSection(kPrefixData, lists);
  std::string directory;
  PutVarint(directory, stored_);
  directory += directory_;
  file_.AddSection(kPrefixWords, directory);
  return Status::Ok();
}

Result<PrefixUnions> PrefixUnions::Open(const SegmentFile& file, uint32_t word_count) {
  PrefixUnions unions;
  if (!file.Has(kPrefixWords)) return unions;
  const Status damaged = Status::Corruption("the segment file " + file.path() + " is damaged");
  const uint64_t data_bytes = file.SectionSize(kPrefixData);
  ByteReader bytes(file.ReadAll(kPrefixWords));
  const uint64_t count = bytes.Varint();
  uint64_t data = 0;
  for (uint64_t i = 0; i < count && bytes.ok(); ++i) {
    Union next{0, static_cast<uint32_t>(unions.ranges_.size()), 0,
               static_cast<uint32_t>(unions.lists_.size()), 0};
    uint64_t word = 0;
    for (uint64_t ranges = bytes.Varint(); ranges > 0 && bytes.ok(); --ranges) {
      const uint64_t begin = word + bytes.Varint();
      word = begin + bytes.Varint();
      if (begin >= word || word > word_count) return damaged;
      unions.ranges_.emplace_back(begin, word);
      ++next.range_count;
    }
    uint64_t field = 0;
    for (uint64_t fields = bytes.Varint(); fields > 0 && bytes.ok(); --fields) {
      field += bytes.Varint();
      const uint64_t size = bytes.Varint();
      if (field >= kLeadingLists || size > data_bytes - data) return damaged;
      unions.lists_.push_back({static_cast<FieldId>(field), data, size});
      data += size;
      ++next.list_count;
    }
    if (next.range_count == 0) return damaged;
    next.word_count = CountWords(std::span(unions.ranges_).subspan(next.first_range));
    unions.words_min_ = std::min(unions.words_min_, next.word_count);
    unions.unions_.push_back(next);
  }
  if (!bytes.ok() || !bytes.done() || data != data_bytes) return damaged;
  std::sort(unions.unions_.begin(), unions.unions_.end(), [&](const Union& a, const Union& b) {
    const Ordinal first_of_a = unions.ranges_[a.first_range].first,
                  first_of_b = unions.ranges_[b.first_range].first;
    return first_of_a != first_of_b ? first_of_a < first_of_b : a.word_count > b.word_count;
  });
  return unions;
}

PrefixUnions::Cover PrefixUnions::Find(std::span<const WordRange> words) const {
  Cover cover;
  std::vector<WordRange> wanted(words.begin(), words.end());
  std::erase_if(wanted, [](const WordRange& range) { return range.first >= range.second; });
  Unite(wanted);
  if (wanted.empty()) return cover;
  std::vector<WordRange> covered;
  auto at = std::lower_bound(
      unions_.begin(), unions_.end(), wanted.front().first,
      [&](const Union& of, Ordinal word) { return ranges_[of.first_range].first < word; });
  for (; at != unions_.end() && ranges_[at->first_range].first < wanted.back().second; ++at) {
    const auto number = static_cast<uint32_t>(at - unions_.begin());
    const std::span<const WordRange> here = WordsOf(number);
    // A union is followed by its parts.
    if (!cover.unions.empty() && Holds(WordsOf(cover.unions.back()), here)) continue;
    if (!Holds(wanted, here)) continue;
    cover.unions.push_back(number);
    covered.insert(covered.end(), here.begin(), here.end());
  }
  std::sort(covered.begin(), covered.end());
  Subtract(wanted, covered, cover.words);
  return cover;
}

}  // namespace gannet::segment
