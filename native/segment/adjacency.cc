#include "segment/adjacency.h"

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "bitmap/docset.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

constexpr uint32_t kBlockDocids = 1 << 16;
constexpr uint64_t kFormRoaring = 1;
// A bit per docid is smaller than a gap of a byte when more than an eighth of the range is in use.
constexpr uint64_t kDenseShare = 8;

}  // namespace

AdjacencyWriter::AdjacencyWriter(SegmentFileWriter& file, std::vector<Ordinal> words,
                                 uint32_t word_count)
    : file_(file),
      words_(std::move(words)),
      ranks_(word_count),
      last_(words_.size() * words_.size()),
      counts_(words_.size() * words_.size() + 1),
      spool_(file.folder()) {
  for (size_t i = 0; i < words_.size(); ++i) ranks_[words_[i]] = static_cast<uint16_t>(i + 1);
}

void AdjacencyWriter::BeginDocument(DocId docid) {
  if (documents_ > 0 && docid / kBlockDocids != docid_ / kBlockDocids) EndBlock();
  docid_ = docid;
  ++documents_;
  before_ = {};
}

void AdjacencyWriter::Found(uint32_t pair, uint32_t distance) {
  Last& last = last_[pair];
  if (last.document == documents_) {
    if (distance < pairs_[last.index].distance) pairs_[last.index].distance = distance & 3;
    return;
  }
  last = {documents_, static_cast<uint32_t>(pairs_.size())};
  pairs_.push_back({pair & ((1u << 30) - 1), distance & 3});
  docids_.push_back(static_cast<uint16_t>(docid_));
}

void AdjacencyWriter::EndBlock() {
  if (pairs_.empty()) return;
  // Sorted by pair, docids in order within each.
  struct Document {
    uint16_t docid, distance;
  };
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const Pair& found : pairs_) ++counts_[found.pair + 1];
  for (size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
  std::vector<Document> sorted(docids_.size());
  for (size_t i = 0; i < pairs_.size(); ++i)
    sorted[counts_[pairs_[i].pair]++] = {docids_[i], static_cast<uint16_t>(pairs_[i].distance)};
  // counts_[pair] is now where its documents end.
  blocks_.push_back({docid_ / kBlockDocids, spool_.size(), 0});
  std::string& out = spool_.buffer();
  uint64_t last = 0;
  uint32_t begin = 0;
  // The documents of the current pair by distance, encoded: docids as varint gaps.
  struct List {
    char *begin, *end;
    uint32_t next = 0, count = 0;
  };
  constexpr size_t kGapBytesMax = 3;
  std::string gaps;
  for (size_t pair = 0; pair + 1 < counts_.size(); ++pair) {
    const std::span documents = std::span(sorted).subspan(begin, counts_[pair] - begin);
    begin = counts_[pair];
    if (documents.empty()) continue;
    List lists[kAdjacencyDistances];
    const size_t list_bytes_max = documents.size() * kGapBytesMax;
    if (gaps.size() < list_bytes_max * kAdjacencyDistances)
      gaps.resize(list_bytes_max * kAdjacencyDistances);
    for (uint32_t i = 0; i < kAdjacencyDistances; ++i)
      lists[i].begin = lists[i].end = gaps.data() + i * list_bytes_max;
    for (const Document& document : documents) {
      List& list = lists[document.distance - 1];
      uint32_t gap = document.docid - list.next;
      list.next = document.docid + uint32_t{1};
      ++list.count;
      for (; gap >= 0x80; gap >>= 7) *list.end++ = static_cast<char>(gap | 0x80);
      *list.end++ = static_cast<char>(gap);
    }
    for (uint32_t i = 0; i < kAdjacencyDistances; ++i) {
      if (lists[i].count == 0) continue;
      const uint64_t number = pair * kAdjacencyDistances + i;
      PutVarint(out, number - last);
      last = number;
      PutVarint(out, lists[i].count);
      out.append(lists[i].begin, static_cast<size_t>(lists[i].end - lists[i].begin));
    }
  }
  blocks_.back().end = spool_.size();
  spool_.Settle();
  pairs_.clear();
  docids_.clear();
}

Status AdjacencyWriter::Finish() {
  EndBlock();
  if (words_.empty()) return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, spool_.Bytes());
  // Walks all blocks at the same time, list by list.
  struct Walk {
    uint32_t block;
    ByteReader reader;
    uint64_t number;  // of the next list
    bool done;
  };
  std::vector<Walk> walks;
  for (const Block& block : blocks_) {
    walks.push_back(
        {block.block, ByteReader(bytes.substr(block.begin, block.end - block.begin)), 0, false});
    walks.back().number = walks.back().reader.Varint();
  }
  const uint64_t lists_per_word = words_.size() * kAdjacencyDistances;
  std::string directory;
  PutVarint(directory, words_.size());
  Ordinal last_word = 0;
  for (const Ordinal word : words_) {
    PutVarint(directory, word - last_word);
    last_word = word;
  }
  file_.BeginSection(kAdjacencyData);
  std::vector<uint32_t> docids;
  std::string list, row;
  for (uint64_t left = 0; left < words_.size(); ++left) {
    row.clear();
    uint64_t entries = 0, last = 0;
    while (true) {
      uint64_t number = ~uint64_t{0};
      for (const Walk& walk : walks) {
        if (!walk.done) number = std::min(number, walk.number);
      }
      if (number >= (left + 1) * lists_per_word) break;
      docids.clear();
      for (Walk& walk : walks) {
        if (walk.done || walk.number != number) continue;
        const uint64_t count = walk.reader.Varint();
        uint32_t next = walk.block * kBlockDocids;
        for (uint64_t i = 0; i < count; ++i) {
          docids.push_back(next + static_cast<uint32_t>(walk.reader.Varint()));
          next = docids.back() + 1;
        }
        walk.done = walk.reader.done();
        if (!walk.done) walk.number += walk.reader.Varint();
      }
      list.clear();
      if (docids.size() > (docids.back() - docids.front()) / kDenseShare + 1) {
        PutVarint(list, docids.size() * 2 + kFormRoaring);
        DocSet set = DocSet::FromSorted(docids);
        set.Optimize();
        set.AppendTo(list);
      } else {
        PutVarint(list, docids.size() * 2);
        uint32_t next = 0;
        for (const DocId docid : docids) {
          PutVarint(list, docid - next);
          next = docid + 1;
        }
      }
      file_.Append(list);
      const uint64_t in_row = number - left * lists_per_word;
      PutVarint(row, in_row - last);
      PutVarint(row, list.size());
      last = in_row;
      ++entries;
    }
    PutVarint(directory, entries);
    directory += row;
  }
  file_.EndSection();
  file_.AddSection(kAdjacencyWords, directory);
  return Status::Ok();
}

Result<AdjacencyReader> AdjacencyReader::Open(const SegmentFile& file) {
  AdjacencyReader reader;
  if (!file.Has(kAdjacencyWords)) return reader;
  const Status damaged = Status::Corruption("the segment file " + file.path() + " is damaged");
  ByteReader bytes(file.ReadAll(kAdjacencyWords));
  const uint64_t words = bytes.Varint();
  if (words > kFrequentWordsMax) return damaged;
  uint64_t word = 0;
  for (uint64_t i = 0; i < words; ++i) {
    word += bytes.Varint();
    reader.words_.push_back(static_cast<Ordinal>(word));
  }
  uint64_t begin = 0;
  for (uint64_t left = 0; left < words && bytes.ok(); ++left) {
    const uint64_t count = bytes.Varint();
    const char* const row = bytes.at();
    const size_t first_skip = reader.skips_.size();
    uint64_t number = 0;
    for (uint64_t i = 0; i < count && bytes.ok(); ++i) {
      if (i % kEntriesPerSkip == 0) {
        reader.skips_.push_back(
            {static_cast<uint32_t>(number), static_cast<uint32_t>(bytes.at() - row), begin});
      }
      number += bytes.Varint();
      if (number >= words * kAdjacencyDistances) return damaged;
      begin += bytes.Varint();
    }
    reader.rows_.push_back(
        {std::string_view(row, static_cast<size_t>(bytes.at() - row)), first_skip});
  }
  reader.skips_.shrink_to_fit();
  if (!bytes.ok() || !bytes.done() || begin != file.SectionSize(kAdjacencyData)) return damaged;
  return reader;
}

int64_t AdjacencyReader::RankOf(Ordinal ordinal) const {
  const auto found = std::lower_bound(words_.begin(), words_.end(), ordinal);
  return found != words_.end() && *found == ordinal ? found - words_.begin() : -1;
}

void AdjacencyReader::Split(WordRange words, std::vector<Ordinal>& frequent,
                            std::vector<WordRange>& rare) const {
  auto [begin, end] = words;
  for (auto next = std::lower_bound(words_.begin(), words_.end(), begin);
       next != words_.end() && *next < end; ++next) {
    if (begin < *next) rare.emplace_back(begin, *next);
    frequent.push_back(*next);
    begin = *next + 1;
  }
  if (begin < end) rare.emplace_back(begin, end);
}

void AdjacencyReader::Union(const SegmentFile& file, Ordinal left, Ordinal right, uint32_t distance,
                            DocSetUnion& out) const {
  const auto at = static_cast<size_t>(RankOf(left));
  const Row& row = rows_[at];
  if (row.entries.empty()) return;
  const auto wanted = static_cast<uint64_t>(RankOf(right)) * kAdjacencyDistances + distance - 1;
  const auto skips_begin = skips_.begin() + static_cast<ptrdiff_t>(row.first_skip);
  const auto skips_end = at + 1 < rows_.size()
                             ? skips_.begin() + static_cast<ptrdiff_t>(rows_[at + 1].first_skip)
                             : skips_.end();
  // The first skip precedes all lists, number 0 included.
  const auto skip = std::lower_bound(skips_begin + 1, skips_end, wanted,
                                     [](const Skip& s, uint64_t n) { return s.number < n; }) -
                    1;
  uint64_t begin = skip->begin, size = 0, number = skip->number;
  bool found = false;
  for (ByteReader entries(row.entries.substr(skip->offset)); !found && !entries.done();) {
    begin += size;
    number += entries.Varint();
    size = entries.Varint();
    if (number > wanted) return;
    found = number == wanted;
  }
  if (!found) return;
  // Like postings, except that more docids are stored as gaps.
  out.AddPostings(file.Read(kAdjacencyData, begin, size));
}

}  // namespace gannet::segment
