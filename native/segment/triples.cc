#include "segment/triples.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/stop_point.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

// The number of lists that are read for one text, the shortest of its triples. The words are
// compared anyway.
constexpr size_t kListsReadMax = 4;

}  // namespace

void TripleWriter::Add(std::string_view word, Ordinal ordinal) {
  ForEachTriple(word, [&](uint64_t triple) {
    List& list = lists_[triple];
    if (!list.words.empty() && list.last == ordinal) return;  // twice in the word
    const size_t before = list.words.size();
    PutVarint(list.words, ordinal - list.last);
    list.last = ordinal;
    bytes_ += list.words.size() - before;
  });
}

void TripleWriter::Finish() {
  if (lists_.empty()) return;
  std::vector<uint64_t> keys;
  keys.reserve(lists_.size());
  for (const auto& [triple, list] : lists_) keys.push_back(triple);
  std::sort(keys.begin(), keys.end());
  file_.BeginSection(kTripleData);
  std::vector<uint64_t> offsets{0};
  for (const uint64_t triple : keys) {
    const std::string& words = lists_[triple].words;
    file_.Append(words);
    offsets.push_back(offsets.back() + words.size());
  }
  file_.EndSection();
  file_.AddSection(kTripleKeys, BytesOf(keys));
  file_.AddSection(kTripleOffsets, PackOffsets(offsets));
}

Result<Triples> Triples::Open(const SegmentFile& file, uint32_t word_count) {
  Triples table;
  if (!file.Has(kTripleKeys)) return table;
  const std::string_view keys = file.ReadAll(kTripleKeys);
  GANNET_ASSIGN_OR_RETURN(table.offsets_, PackedOffsets::Open(file.ReadAll(kTripleOffsets)));
  table.file_ = &file;
  table.data_ = file.Find(kTripleData);
  table.keys_ = keys.data();
  table.size_ = keys.size() / sizeof(uint64_t);
  table.word_count_ = word_count;
  if (keys.size() % sizeof(uint64_t) != 0 || table.offsets_.size() != table.size_ + 1)
    return Status::Corruption("the segment file " + file.path() + " is damaged");
  return table;
}

uint64_t Triples::triple(size_t index) const {
  return LoadFixed<uint64_t>(keys_ + index * sizeof(uint64_t));
}

bool Triples::WordsOf(size_t index, std::vector<Ordinal>& out) const {
  out.clear();
  const auto [begin, end] = offsets_.RangeOf(index);
  ByteReader reader(end < begin ? std::string_view() : file_->Read(data_, begin, end - begin));
  uint64_t ordinal = 0;
  StopCounter steps;
  while (!reader.done()) {
    const uint64_t distance = reader.Varint();
    ordinal += distance;
    if (!reader.ok() || ordinal >= word_count_ || (distance == 0 && !out.empty())) {
      file_->MarkCorrupt();
      return false;
    }
    out.push_back(static_cast<Ordinal>(ordinal));
    steps.Step(4);
  }
  return true;
}

void Triples::WordsWith(std::string_view text, std::vector<Ordinal>& out) const {
  out.clear();
  std::vector<std::pair<uint64_t, size_t>> lists;  // bytes, index
  bool all = size_ > 0;
  ForEachTriple(text, [&](uint64_t wanted) {
    if (!all) return;
    size_t first = 0, count = size_;
    while (count > 0) {
      const size_t half = count / 2;
      if (triple(first + half) < wanted) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    all = first < size_ && triple(first) == wanted;
    if (!all) return;
    const auto [begin, end] = offsets_.RangeOf(first);
    lists.emplace_back(end - begin, first);
  });
  if (!all || lists.empty()) return;
  std::sort(lists.begin(), lists.end());
  lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
  WordsOf(lists[0].second, out);
  std::vector<Ordinal> next, common;
  for (size_t i = 1; i < lists.size() && i < kListsReadMax && !out.empty(); ++i) {
    WordsOf(lists[i].second, next);
    common.clear();
    std::set_intersection(out.begin(), out.end(), next.begin(), next.end(),
                          std::back_inserter(common));
    out.swap(common);
  }
}

}  // namespace gannet::segment
