// The union of many posting lists at once: the documents of a prefix, of a word with its typos, of
// a word over all segments. Nothing is joined before all lists are known. A block of 65536 docids
// that only one long list reaches is copied unchanged. Where several lists meet, and for short
// lists, bits are set: in a flat bitset, or, if a block gets few docids, in one that records which
// of its words are in use. Joining bitmaps one after the other would allocate at every step, and
// walk what was joined before. A restriction is applied block by block too, before a block of the
// result is made.
//
// Memory: 8 kB per block of docids in use, which become blocks of the result where it is dense;
//         4 bytes per docid while there are few.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/stop_point.h"
#include "bitmap/doc_bits.h"
#include "bitmap/docset.h"

namespace roaring::internal {
struct bitset_container_s;
}

namespace gannet {

class DocSetUnion {
 public:
  // For a restriction of at most this many documents, each list is intersected with it at once: it
  // does not pay to collect all that the lists hold.
  static constexpr uint32_t kRestrictionMax = 2048;

  // within: restricts the result to its docids; null: no restriction. It must outlive the union and
  // stay unchanged.
  explicit DocSetUnion(const DocSet* within = nullptr);
  ~DocSetUnion();
  DocSetUnion(const DocSetUnion&) = delete;
  DocSetUnion& operator=(const DocSetUnion&) = delete;

  // Adds bytes of postings_codec.h; form 0 may hold more docids than the codec writes. REQUIRES:
  // they passed ValidatePostings, or are as AppendPostings wrote them; they stay in place until
  // Finish.
  void AddPostings(std::string_view bytes);
  // Adds portable roaring bytes. REQUIRES: they passed ValidateDocSet, or are as DocSet::AppendTo
  // wrote them; they stay in place until Finish.
  void AddRoaring(std::string_view bytes);
  void Add(std::span<const DocId> docids);  // any order, repeated or not
  void Add(DocSet set);
  void Add(std::shared_ptr<const DocSet> set);  // not null; nothing is copied
  // Adds what `part` holds and `without` does not; `part` is empty afterwards.
  void Add(DocSetUnion& part, const DocBits& without);
  // The union of all that was added, restricted to `within`; this object is empty afterwards.
  DocSet Finish();

 private:
  // A container of a roaring list or of a set: the docids of one block, borrowed as bytes.
  struct Part {
    enum class Form : uint8_t { kArray, kBits, kRuns } form;
    uint16_t key;    // docid / 65536
    uint32_t count;  // number of docids; for kRuns: of runs
    const char* bytes;
    uint32_t next;  // next part of the same block: index in parts_, kNoPart at the end
  };
  static constexpr uint32_t kNoPart = ~uint32_t{0};

  // 65536 bits.
  using Block = roaring::internal::bitset_container_s;
  struct Limit;  // the restriction of a block
  class SparseBits;
  struct Borrowed;

  // Adds the docids, or those of the part, that restriction_ holds.
  void AddRestricted(std::span<const DocId> docids);
  void AddPart(Part part);
  void AddRestricted(const Part& part);
  static void Spread(const Part& part, uint64_t* bits);
  // The bits of a block; allocated if absent.
  uint64_t* BitsOf(uint32_t key);
  void FlushPendingIfMany();
  void FlushPending();
  void SetBits(std::span<const DocId> docids);
  // Adds a set that is small, or restricted to few docids. False: it is neither, and nothing is
  // added.
  bool AddSmall(const DocSet& set);
  // REQUIRES: the set stays unchanged until Finish.
  void AddParts(const DocSet& set);
  // Orders pending_ by block.
  void GroupPending();
  // Adds to `set` the docids of a block that are in its parts, beginning with `first_part`, and in
  // `docids`, which may repeat; within the limit. False, and nothing is added: they are too many,
  // or not all parts are arrays.
  bool AppendSparse(uint32_t key, uint32_t first_part, std::span<const DocId> docids,
                    const Limit* limit, DocSet& set);
  // Adds to `set`, whose docids are all smaller, block by block, the docids in parts_, pending_ and
  // blocks_.
  void AppendAll(DocSet& set);
  // Adds the part within the limit. False, and nothing is added: the part is runs, without a limit.
  static bool AppendPart(const Part& part, const Limit* limit, DocSet& set);
  // Adds all parts of a block within the limit. False, and nothing is added: they are too many, or
  // some are runs.
  bool AppendJoined(uint32_t first_part, const Limit* limit, DocSet& set);
  void AppendBlock(uint32_t key, const Limit* limit, DocSet& set);

  StopCounter steps_;
  const DocSet* restriction_;               // few docids: lists are intersected with it at once
  std::vector<uint64_t> restriction_bits_;  // low 16 bits of its docids, once many were looked up
  uint32_t looked_up_ = 0, restriction_max_ = 0;
  const DocSet* within_;  // many docids: blocks are intersected with it at the end
  std::vector<DocId> pending_;
  std::vector<Part> parts_;
  std::vector<uint32_t> first_part_;  // by key
  std::vector<Block*> blocks_;        // by key; null where a block has none
  bool has_bitsets_ = false;
  std::unique_ptr<SparseBits> sparse_;  // empty except while a block is made
  // Sets that own the bytes of parts_.
  std::deque<DocSet> owned_;
  std::vector<std::shared_ptr<const DocSet>> shared_;
};

}  // namespace gannet
