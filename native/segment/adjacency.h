// Adjacency postings: for pairs of frequent words, the documents in which one word follows the
// other closely.
//
// How near words are to each other is read from the forward index, document by document. For two
// words that half of all documents hold this is slow, and frequent words are what people type most.
// So for the most frequent words of a segment, every pair that occurs within kAdjacencyDistances
// positions has postings, by the smallest distance in each document.
//
// Invariant: the postings of a pair are complete. If a document holds two frequent words and is in
// none of the lists of the pair, the words are nowhere that close in it.
//
//
// Section kAdjacencyWords:  varint number of words; ordinals as varint distances; for each word the
//                           varint number of its lists, then for each list the varint distance of
//                           its number and its varint length. The number of a list: index of the
//                           following word * kAdjacencyDistances + distance - 1
// Section kAdjacencyData:   the lists, in that order: varint documents * 2 + form; form 0: docids
//                           as varint gaps (less 1; the first docid is stored as it is); form 1:
//                           portable roaring bytes
//
// Threads: a reader is immutable and shared; a writer has one owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tuning.h"
#include "bitmap/docset_union.h"
#include "segment/file.h"
#include "segment/spool.h"
#include "segment/word_ranges.h"

namespace gannet::segment {

// A word is frequent if at least this many of the segment's documents hold it: 1,024, but at least
// one in 150 and at most one in 50. Fewer documents than 1,024 are read faster than lists are
// joined. A document counts once for each field that holds the word.
inline uint64_t FrequentMin(uint64_t documents) {
  return std::max(Tuned().frequent_documents_min,
                  std::clamp(uint64_t{1024}, documents / 150, documents / 50));
}
inline constexpr size_t kFrequentWordsMax = 1024;
// The greatest distance that has postings. The proximity rule gives all greater distances the same
// cost.
inline constexpr uint32_t kAdjacencyDistances = 3;

// Writes the adjacency postings of a segment. Documents are given by ascending docid, their words
// field by field, by ascending position.
//
// Memory: 12 bytes per pair of words (at most 12 MB), and 10 bytes per pair that is found in one
// block of 65536 docids. Lists of finished blocks are in an unlinked temporary file.
class AdjacencyWriter {
 public:
  // words         ordinals of the frequent words, ascending, at most kFrequentWordsMax
  // word_count    words of the dictionary
  AdjacencyWriter(SegmentFileWriter& file, std::vector<Ordinal> words, uint32_t word_count);

  void BeginDocument(DocId docid);
  void BeginField() { before_ = {}; }
  void Add(uint32_t position, Ordinal ordinal) {
    const uint32_t rank = ranks_[ordinal];
    if (rank == 0) return;
    for (const auto& [left, at] : before_) {
      const uint32_t between = position - at - 1;
      if (left != 0 && between < kAdjacencyDistances)
        Found(static_cast<uint32_t>((left - 1) * words_.size() + rank - 1), between + 1);
    }
    for (size_t i = kAdjacencyDistances - 1; i > 0; --i) before_[i] = before_[i - 1];
    before_[0] = {rank, position};
  }
  // Writes both sections. Io, Full: the temporary file could not be written.
  Status Finish();

 private:
  void Found(uint32_t pair, uint32_t distance);
  void EndBlock();

  SegmentFileWriter& file_;
  std::vector<Ordinal> words_;
  std::vector<uint16_t> ranks_;  // by ordinal: index in words_ plus 1, 0 for the others
  struct Before {
    uint32_t rank = 0, position = 0;
  };
  std::array<Before, kAdjacencyDistances>
      before_;  // the last frequent words of the field, the nearest first
  DocId docid_ = 0;
  uint32_t documents_ = 0;  // begun so far
  // State of the current block of 65536 docids.
  struct Pair {
    uint32_t pair : 30, distance : 2;
  };
  std::vector<Pair> pairs_;
  std::vector<uint16_t> docids_;  // of pairs_
  // Where a pair was last found.
  struct Last {
    uint32_t document = 0;  // value of documents_ at that time
    uint32_t index = 0;     // in pairs_
  };
  std::vector<Last> last_;        // by pair
  std::vector<uint32_t> counts_;  // by pair: how often it was found
  // The lists of finished blocks: for each list with documents, ascending, the varint distance of
  // its number (pair * kAdjacencyDistances + distance - 1), the varint number of documents, and
  // their docids as varint gaps within the block.
  Spool spool_;
  struct Block {
    uint32_t block;
    uint64_t begin, end;  // in spool_
  };
  std::vector<Block> blocks_;
};

// Lifetime: borrows the bytes of the file.
class AdjacencyReader {
 public:
  // Corruption: a section is damaged. If the sections are absent, no word is frequent.
  static Result<AdjacencyReader> Open(const SegmentFile& file);

  // Whether the word is frequent: pairs of it and any other frequent word have postings.
  bool Frequent(Ordinal ordinal) const { return RankOf(ordinal) >= 0; }
  const std::vector<Ordinal>& words() const { return words_; }
  // Splits a range of words: adds the frequent ones to `frequent`, the ranges between to `rare`.
  void Split(WordRange words, std::vector<Ordinal>& frequent, std::vector<WordRange>& rare) const;
  // Adds the documents in which `right` follows `left` at `distance` positions, and nowhere nearer.
  // distance    1 to kAdjacencyDistances
  // REQUIRES: both words are frequent.
  void Union(const SegmentFile& file, Ordinal left, Ordinal right, uint32_t distance,
             DocSetUnion& out) const;

 private:
  static constexpr uint64_t kEntriesPerSkip = 16;
  // A point at which reading of a row can begin.
  struct Skip {
    uint32_t number;  // of the preceding list
    uint32_t offset;  // in the bytes of the row
    uint64_t begin;   // of the next list, in kAdjacencyData
  };
  // The lists of one word, as stored in kAdjacencyWords.
  struct Row {
    std::string_view entries;
    size_t first_skip;
  };
  int64_t RankOf(Ordinal ordinal) const;

  std::vector<Ordinal> words_;
  std::vector<Row> rows_;    // by left word
  std::vector<Skip> skips_;  // each row has one before its first entry
};

}  // namespace gannet::segment
