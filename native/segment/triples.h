// Triples: for three characters that follow each other in a word, the words that contain them.
//
// A query finds the parts of words by them: a word that contains `4711` has the triples `471` and
// `711`. The words that have all triples of a text are candidates: whoever asks compares the words
// themselves. Only words of some fields are in the table (the setting `substringAttributes`); a
// segment without such words has no table.
//
// Section kTripleKeys:    the triples in ascending order: u64 each, its characters in 21 bits, the
//                         first in the highest
// Section kTripleOffsets: where the lists of words begin, and where the last ends: packed_offsets.h
// Section kTripleData:    by triple, the ordinals of its words as varint distances from the
//                         ordinal before; the first from 0
//
// Threads: a reader is immutable and shared; a writer has one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/utf8.h"
#include "segment/file.h"
#include "segment/packed_offsets.h"

namespace gannet::segment {

// Texts of fewer characters have no triples.
inline constexpr size_t kTripleChars = 3;

// Calls sink(uint64_t triple) for every three characters in a row; the same triple may come twice.
template <typename Sink>
void ForEachTriple(std::string_view text, Sink&& sink) {
  constexpr int kCharBits = 21;
  constexpr uint64_t kMask = (uint64_t{1} << kTripleChars * kCharBits) - 1;
  uint64_t triple = 0;
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    triple = (triple << kCharBits | DecodeUtf8(text, at)) & kMask;
    if (++count >= kTripleChars) sink(triple);
  }
}

// Memory: about 1.5 bytes per triple of a word, and 60 per distinct triple.
class TripleWriter {
 public:
  explicit TripleWriter(SegmentFileWriter& file) : file_(file) {}
  // Ordinals ascend over the calls.
  void Add(std::string_view word, Ordinal ordinal);
  uint64_t bytes() const { return bytes_; }
  // Writes the sections, or none if there is no triple.
  void Finish();

 private:
  struct List {
    std::string words;
    Ordinal last = 0;
  };
  SegmentFileWriter& file_;
  std::unordered_map<uint64_t, List> lists_;
  uint64_t bytes_ = 0;
};

// Lifetime: the file must outlive it.
class Triples {
 public:
  // Corruption: the sizes of the sections do not fit. If they are absent, the table is empty.
  static Result<Triples> Open(const SegmentFile& file, uint32_t word_count);

  // Replaces `out` by the words that have all triples of `text`, ascending.
  // REQUIRES: at least kTripleChars characters
  // cost  one look-up per triple; reads the lists of the rarest triples
  void WordsWith(std::string_view text, std::vector<Ordinal>& out) const;
  size_t size() const { return size_; }
  // The triple at an index, and its words. REQUIRES: index < size()
  uint64_t triple(size_t index) const;
  // False: the list is damaged; `out` then has the words before the damage.
  bool WordsOf(size_t index, std::vector<Ordinal>& out) const;

 private:
  const SegmentFile* file_ = nullptr;
  const SegmentFile::Section* data_ = nullptr;
  const char* keys_ = nullptr;
  size_t size_ = 0;
  PackedOffsets offsets_;
  uint32_t word_count_ = 0;
};

}  // namespace gannet::segment
