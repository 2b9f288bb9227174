// Neighbours: for pairs of frequent words, the documents in which one stands right behind the other.
//
// Nearness of words is read from the forward index, document by document; for two words that half of all documents hold
// that is slow, and they are what people type most. So for the few hundred most frequent words of a segment every
// pair that occurs is listed. The list of a pair is whole: of two frequent words without one, none is a neighbour.
//
// Section kNeighbourWords:  varint number of words; ordinals as varint distances; for each word the varint number of words
//                           that follow it, then of each the varint distance of its place, the varint length of its list
// Section kNeighbourData:   the lists, in that order: varint documents * 2 + form; form 0: docids as varint gaps (less 1,
//                           the first as it is); form 1: portable roaring bytes
//
// Threads: a reader is immutable and shared; a writer has one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset_union.h"
#include "segment/file.h"

namespace gannet::segment {

// A word is frequent when this many of the segment's documents hold it, fields counted apart.
constexpr uint64_t FrequentMin(uint64_t documents) { return documents / 50 < 64 ? 64 : documents / 50; }
inline constexpr size_t kFrequentWordsMax = 1024;

// Documents are given by ascending docid; their words field by field, by ascending position.
//
// Memory: 8 bytes per pair of words (at most 8 MB), 10 bytes per pair found among 65536 docids. Lists of finished docids
// lie in a temporary file without a name.
class NeighbourWriter {
 public:
  // words: ordinals of the frequent words, ascending, at most kFrequentWordsMax; word_count: of the dictionary.
  NeighbourWriter(SegmentFileWriter& file, std::vector<Ordinal> words, uint32_t word_count);
  ~NeighbourWriter();

  void BeginDocument(DocId docid);
  void BeginField() { last_rank_ = 0; }
  void Add(uint32_t position, Ordinal ordinal) {
    const uint32_t rank = ranks_[ordinal];
    if (rank != 0 && last_rank_ != 0 && position == last_position_ + 1) Found((last_rank_ - 1) * words_.size() + rank - 1);
    last_rank_ = rank;
    last_position_ = position;
  }
  // Writes both sections. Io, Full: the temporary file could not be written.
  Status Finish();

 private:
  class Spool;
  void Found(size_t pair);
  void EndBlock();

  SegmentFileWriter& file_;
  std::vector<Ordinal> words_;
  std::vector<uint16_t> ranks_;      // by ordinal: place in words_ plus 1, 0 for the others
  uint32_t last_rank_ = 0, last_position_ = 0;
  DocId docid_ = 0;
  bool any_ = false;                 // whether a document was begun
  std::vector<uint32_t> last_seen_;  // by pair: docid + 1 that had it last
  // Of the block of 65536 docids at hand.
  std::vector<uint32_t> pairs_;
  std::vector<uint16_t> docids_;
  std::vector<uint32_t> counts_;
  std::unique_ptr<Spool> spool_;
};

// Lifetime: borrows the bytes of the file.
class NeighbourReader {
 public:
  // Corruption: a section is damaged. Without the sections no word is frequent.
  static Result<NeighbourReader> Open(const SegmentFile& file);

  // Whether the pairs of this word and other frequent ones are listed.
  bool Frequent(Ordinal ordinal) const { return Place(ordinal) >= 0; }
  const std::vector<Ordinal>& words() const { return words_; }
  // Adds the documents in which `right` follows `left`. REQUIRES: both are frequent.
  void Union(const SegmentFile& file, Ordinal left, Ordinal right, DocSetUnion& out) const;

 private:
  // The words that follow one word, as kNeighbourWords has them.
  struct Row {
    std::string_view entries;
    uint64_t begin;  // of its first list, in kNeighbourData
  };
  int64_t Place(Ordinal ordinal) const;

  std::vector<Ordinal> words_;
  std::vector<Row> rows_;  // by left word
};

}  // namespace gannet::segment
