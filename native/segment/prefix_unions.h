// Prefix unions: for the words that begin with the same one, two or three characters, the documents
// that hold any of them, by field.
//
// People type these beginnings all the time, and up to thousands of words stand behind one: to join
// their lists takes longer than the rest of a search. Frequent words are left out of a union, for
// they are asked for apart from the others (adjacency.h), and joining their few lists costs little.
// A union that is asked for is put together from those whose words are all wanted, and from the
// lists of the words that are in none of these.
//
// A word is in one of these unions at most: that of its first three characters; where that would be
// of few words, that of two, with all others that are left over; or else that of the first one.
// What is few words even then is not stored. Where a first character has many unions, that of all
// its words is stored beside them.
//
// Section kPrefixWords:  varint number of unions; of each the varint number of ranges of words,
//                        then per range the varint distance of its first word to the end of the
//                        range before (of the first: to word 0), the varint number of words; the
//                        varint number of fields, then per field the varint distance to the field
//                        before, the varint length of its list
// Section kPrefixData:   the lists in that order: postings (bitmap/postings_codec.h)
//
// Threads: a reader is immutable and shared; a writer has one owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tuning.h"
#include "bitmap/docset.h"
#include "segment/file.h"
#include "segment/spool.h"
#include "segment/word_ranges.h"

namespace gannet::segment {

// Of so many words a union is stored.
inline uint64_t PrefixWordsMin() { return Tuned().prefix_union_words_min; }

// A first character with so many unions has one of all its words.
inline uint64_t LetterUnionsMin() { return std::max<uint64_t>(PrefixWordsMin() / 8, 2); }

// Characters of the longest prefixes.
inline constexpr size_t kPrefixCharsMax = 3;

// Memory: kPrefixCharsMax sets of documents, one more, and as many MB per field, and what a Spool
// holds.
class PrefixUnionWriter {
 public:
  explicit PrefixUnionWriter(SegmentFileWriter& file) : file_(file), lists_(file.folder()) {}

  // A word behind all that were added; some may be left out. blob: as TextReader::PostingBlob gives
  // it.
  void Add(std::string_view word, Ordinal ordinal, std::string_view blob);
  uint64_t bytes() const { return lists_.size(); }  // of the lists so far
  // Writes both sections, or none where there is no union. Io, Full: the temporary file could not
  // be written.
  Status Finish();

 private:
  // Most words are in few documents, which are only gathered until it is known where their union
  // belongs.
  struct Documents {
    std::vector<DocId> few;  // of short lists, in any order
    DocSet many;             // of the others
    void Gather();           // all in `many`
  };
  struct Union {
    std::vector<WordRange> words;
    uint64_t count = 0;  // of the words
    std::map<FieldId, Documents> fields;
    // Takes what `more` has.
    void Merge(Union&& more);
  };
  // The words with the prefix of a level have ended: they are stored, or left to the level above.
  void End(size_t level);
  void Store(Union& words);

  SegmentFileWriter& file_;
  Spool lists_;
  std::string directory_;
  uint64_t stored_ = 0;
  // By the number of characters, less one: the prefix of the word at hand, and the words with it
  // that are in no union.
  struct Level {
    std::string prefix;
    Union words;
  };
  std::array<Level, kPrefixCharsMax> levels_;
  // All words so far with the first character of the word at hand, and how many unions there are of
  // them.
  Union letter_;
  uint64_t letter_unions_ = 0;
};

// Lifetime: borrows the bytes of the file.
class PrefixUnions {
 public:
  // Corruption: a section is damaged. Without the sections there is no union.
  static Result<PrefixUnions> Open(const SegmentFile& file, uint32_t word_count);

  // Some words, as unions and as what is in none of these.
  struct Cover {
    std::vector<uint32_t> unions;
    std::vector<WordRange> words;  // ascending, apart
    uint64_t word_count() const { return CountWords(words); }
  };
  // The largest unions that are wanted whole. words: in any order, some may be there twice, ranges
  // may be empty.
  Cover Find(std::span<const WordRange> words) const;
  // No Find has a union of fewer words.
  uint64_t words_min() const { return words_min_; }

  struct List {
    FieldId field;
    uint64_t begin, size;  // in kPrefixData
  };
  std::span<const List> ListsOf(uint32_t number) const {
    return std::span(lists_).subspan(unions_[number].first_list, unions_[number].list_count);
  }
  std::span<const WordRange> WordsOf(uint32_t number) const {
    return std::span(ranges_).subspan(unions_[number].first_range, unions_[number].range_count);
  }
  uint32_t count() const { return static_cast<uint32_t>(unions_.size()); }

 private:
  struct Union {
    uint64_t word_count;
    uint32_t first_range, range_count;
    uint32_t first_list, list_count;
  };

  std::vector<Union> unions_;  // by their first word, that of more words before others
  std::vector<WordRange> ranges_;
  std::vector<List> lists_;
  uint64_t words_min_ = ~uint64_t{0};
};

}  // namespace gannet::segment
