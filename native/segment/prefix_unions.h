// Prefix unions: for the words that begin with the same one, two or three characters, the documents
// that hold any of them, by field.
//
// People type these beginnings all the time, and one may match thousands of words: joining their
// lists takes longer than the rest of a search. A union leaves frequent words out: they are looked
// up separately (adjacency.h), and joining their few lists costs little. The documents of a range
// of words are put together from the unions whose words are all in the range, and from the lists of
// the words that are in none of these unions.
//
// A word is in at most one of these unions: that of its first three characters; if that would have
// too few words, that of its first two, with all other words left over; or else that of the first
// one. If even that has too few words, no union is stored. If a first character has many unions, a
// union of all its words is stored as well.
//
// Section kPrefixWords:  varint number of unions; for each the varint number of ranges of words,
//                        then per range the varint distance of its first word from the end of the
//                        preceding range (for the first: from word 0), the varint number of words;
//                        the varint number of fields, then per field the varint distance from the
//                        preceding field, the varint length of its list
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

// A union is stored if it has at least this many words.
inline uint64_t PrefixWordsMin() { return Tuned().prefix_union_words_min; }

// A first character with at least this many unions gets one of all its words.
inline uint64_t LetterUnionsMin() { return std::max<uint64_t>(PrefixWordsMin() / 8, 2); }

// Characters of the longest prefixes.
inline constexpr size_t kPrefixCharsMax = 3;

// Memory: kPrefixCharsMax sets of documents, one more, as many MB per field, and the memory of a
// Spool.
class PrefixUnionWriter {
 public:
  explicit PrefixUnionWriter(SegmentFileWriter& file) : file_(file), lists_(file.folder()) {}

  // Words ascend over the calls; some may be left out. blob: from TextReader::PostingBlob.
  void Add(std::string_view word, Ordinal ordinal, std::string_view blob);
  uint64_t bytes() const { return lists_.size(); }  // of the lists so far
  // Writes both sections, or none if there is no union. Io, Full: the temporary file could not be
  // written.
  Status Finish();

 private:
  // Most words are in few documents. Those are only collected until it is known to which union they
  // belong.
  struct Documents {
    std::vector<DocId> few;  // of short lists, in any order
    DocSet many;             // of the others
    void Gather();           // moves all into `many`
  };
  struct Union {
    std::vector<WordRange> words;
    uint64_t count = 0;  // of the words
    std::map<FieldId, Documents> fields;
    // Adds the documents of `more`.
    void Merge(Union&& more);
  };
  // The words with the prefix of a level have ended: stores their union, or leaves them to the
  // level above.
  void End(size_t level);
  void Store(Union& words);

  SegmentFileWriter& file_;
  Spool lists_;
  std::string directory_;
  uint64_t stored_ = 0;
  // By the number of characters, less one: the prefix of the current word, and the words with that
  // prefix that are in no union.
  struct Level {
    std::string prefix;
    Union words;
  };
  std::array<Level, kPrefixCharsMax> levels_;
  // All words so far with the first character of the current word, and how many unions they have.
  Union letter_;
  uint64_t letter_unions_ = 0;
};

// Lifetime: borrows the bytes of the file.
class PrefixUnions {
 public:
  // Corruption: a section is damaged. If the sections are absent, there is no union.
  static Result<PrefixUnions> Open(const SegmentFile& file, uint32_t word_count);

  // Some words, as unions and the words that are in none of these.
  struct Cover {
    std::vector<uint32_t> unions;
    std::vector<WordRange> words;  // ascending, disjoint
    uint64_t word_count() const { return CountWords(words); }
  };
  // The largest unions whose words are all in `words`. words: in any order; some may be there
  // twice, ranges may be empty.
  Cover Find(std::span<const WordRange> words) const;
  // Find returns no union of fewer words.
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

  std::vector<Union> unions_;  // by first word; of equal ones, that with more words first
  std::vector<WordRange> ranges_;
  std::vector<List> lists_;
  uint64_t words_min_ = ~uint64_t{0};
};

}  // namespace gannet::segment
