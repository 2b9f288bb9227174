// Union of many posting lists at once: the documents of a prefix, of a word with its typos, of a word over all
// segments. Short lists are gathered; long ones, and the short ones once there are enough, are set bit by bit in flat
// blocks of 65536 docids. Joining bitmaps one after the other would allocate, and walk what is there, at every step.
//
// Memory: 8 kB per block of docids in use, lent from a pool of the thread; 4 bytes per docid while few.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bitmap/docset.h"

namespace gannet {

class DocSetUnion {
 public:
  // within: only what it holds is taken, null: everything. For few documents; it must outlive the union.
  explicit DocSetUnion(const DocSet* within = nullptr);
  ~DocSetUnion();
  DocSetUnion(const DocSetUnion&) = delete;
  DocSetUnion& operator=(const DocSetUnion&) = delete;

  // Bytes of postings_codec.h. REQUIRES: they passed ValidatePostings, or are as AppendPostings wrote them; they stay
  // where they are until Finish.
  void AddPostings(std::string_view bytes);
  // Portable roaring bytes. REQUIRES: they passed ValidateDocSet, or are as DocSet::AppendTo wrote them; they stay where
  // they are until Finish.
  void AddRoaring(std::string_view bytes);
  void Add(std::span<const uint32_t> docids);  // any order, repeated or not
  void Add(const DocSet& set);
  // Adds what `part` holds but `without` does not; `part` is empty afterwards.
  void Add(DocSetUnion& part, const DocSet& without);
  // All that was added; the union is empty afterwards.
  DocSet Finish();

 private:
  uint64_t* Block(uint32_t key);
  void Gathered();
  void Scatter();

  struct Scratch;
  void Spread(std::string_view roaring);
  void SpreadOnly();

  Scratch& scratch_;
  const DocSet* within_;
  std::string_view only_;  // roaring bytes: the one long list that was added so far
  std::vector<uint32_t> gathered_;
  std::vector<uint64_t*> blocks_;  // by docid / 65536; null where nothing is
  bool scattered_ = false;
  DocSet rest_;  // long sets that came as such
};

}  // namespace gannet
