// How often words occur in fields of one segment, and how long these fields are: what bounds the
// score of a document before its forward record is read (search/natural/).
//
// Nothing of it is stored: it is made from the forward records when a question first needs it, and
// lives as long as the segment is open, like stem tables.
//
// Threads: immutable.
// Memory: 1 byte per document and field, where at least a sixteenth of a block of 65,536 docids has
// the field; 5 bytes for each word that occurs more than once in a field of a document.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace gannet::segment {

class TextReader;

class Occurrences {
 public:
  // Cost: 5 ns per word of the documents.
  explicit Occurrences(const TextReader& text);

  // Lengths of fields as codes of one byte, which grow with the length: exact below 128 words, then
  // sixteen for each doubling.
  static constexpr size_t kLengthCodes = 256;
  static uint8_t CodeOf(uint32_t words);
  // The shortest length with this code.
  static uint32_t LengthOf(uint8_t code);
  // The codes of one field, for the docids from key * 65536 on; 0 where the document lacks the
  // field. Null: few of these documents have it.
  static constexpr uint32_t kBlockDocuments = 65'536;
  const uint8_t* LengthCodes(FieldId field, uint32_t key) const;

  // Words that occur twice or three times in a field, and those that occur more often.
  enum class Tier : uint8_t { kFew, kMany };
  static constexpr size_t kTiers = 2;
  static constexpr uint32_t kFewMax = 3;
  static constexpr uint8_t kCountMax = 255;  // this many or more
  struct Repeats {
    std::span<const DocId> docids;    // ascending
    std::span<const uint8_t> counts;  // how often the word occurs in the field, by document
  };
  Repeats RepeatsOf(Ordinal word, FieldId field, Tier tier) const;

  uint64_t bytes() const;

 private:
  struct Entry {
    Ordinal word;
    DocId docid;
    uint8_t count;
  };
  // The entries of one field and tier, by word.
  struct Table {
    std::vector<Ordinal> words;    // ascending
    std::vector<uint32_t> begins;  // of each word, and the end
    std::vector<DocId> docids;
    std::vector<uint8_t> counts;
  };
  // entries    those of a word by ascending docid
  static Table Sort(const std::vector<Entry>& entries, size_t words);

  using Codes = std::array<uint8_t, kBlockDocuments>;
  std::map<std::pair<FieldId, Tier>, Table> tables_;
  std::map<std::pair<FieldId, uint32_t>, std::unique_ptr<Codes>> codes_;
};

}  // namespace gannet::segment
