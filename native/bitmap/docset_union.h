// Union of many posting lists at once: the documents of a prefix, of a word with its typos, of a
// word over all segments. Nothing is joined before all is known. A block of 65536 docids that only
// one long list reaches is copied as it is; where several meet, and for short lists, bits are set:
// in flat blocks, or, where a block gets few docids, in one whose words in use are known. Joining
// bitmaps one after the other would allocate, and walk what is there, at every step. What the
// result is cut down to is taken away block by block as well, before anything becomes a block of
// the result.
//
// Memory: 8 kB per block of docids in use, which become blocks of the result where it is dense; 4
// bytes per docid while few. Threads: one owner.
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
  // Lists are asked for so few documents one by one: it does not pay to find, and keep, all that
  // others hold.
  static constexpr uint32_t kRestrictionMax = 2048;

  // within: only what it holds is taken, null: everything. It must outlive the union and stay as it
  // is.
  explicit DocSetUnion(const DocSet* within = nullptr);
  ~DocSetUnion();
  DocSetUnion(const DocSetUnion&) = delete;
  DocSetUnion& operator=(const DocSetUnion&) = delete;

  // Bytes of postings_codec.h, of form 0 also with more docids. REQUIRES: they passed
  // ValidatePostings, or are as AppendPostings wrote them; they stay where they are until Finish.
  void AddPostings(std::string_view bytes);
  // Portable roaring bytes. REQUIRES: they passed ValidateDocSet, or are as DocSet::AppendTo wrote
  // them; they stay where they are until Finish.
  void AddRoaring(std::string_view bytes);
  void Add(std::span<const DocId> docids);  // any order, repeated or not
  void Add(DocSet set);
  void Add(std::shared_ptr<const DocSet> set);  // not null; nothing is copied
  // Adds what `part` holds but `without` does not; `part` is empty afterwards.
  void Add(DocSetUnion& part, const DocBits& without);
  // All that was added, or what of it `within` holds; the union is empty afterwards.
  DocSet Finish();

 private:
  // A container of a roaring list or of a set: the docids of one block, as they lie in its bytes.
  struct Part {
    enum class Form : uint8_t { kArray, kBits, kRuns } form;
    uint16_t key;    // docid / 65536
    uint32_t count;  // docids; of kRuns: runs
    const char* bytes;
    uint32_t next;  // of the same block: index in parts_, kNoPart at the end
  };
  static constexpr uint32_t kNoPart = ~uint32_t{0};

  // 65536 bits.
  using Block = roaring::internal::bitset_container_s;
  struct Limit;  // what of a block is taken
  class SparseBits;
  struct Borrowed;

  // What restriction_ holds of them, or of the part.
  void AddRestricted(std::span<const DocId> docids);
  void AddPart(Part part);
  void AddRestricted(const Part& part);
  static void Spread(const Part& part, uint64_t* bits);
  // The bits of a block; made where there is none yet.
  uint64_t* BitsOf(uint32_t key);
  void FlushPendingIfMany();
  void FlushPending();
  void SetBits(std::span<const DocId> docids);
  // Gathers what is taken of a set, where that is little. False: nothing was done.
  bool AddSmall(const DocSet& set);
  // The set must stay as it is until Finish.
  void AddParts(const DocSet& set);
  // Orders pending_ by block.
  void GroupPending();
  // Adds to `set` what of a block is in its parts, from `first_part` on, and in `docids`, repeated
  // or not, or what of that is within the limit. False, and nothing is added: it is too much, or
  // not all arrays.
  bool AppendSparse(uint32_t key, uint32_t first_part, std::span<const DocId> docids,
                    const Limit* limit, DocSet& set);
  // Adds to `set`, behind all that it holds, what is in parts_ and pending_ of each block in turn,
  // and in blocks_.
  void AppendAll(DocSet& set);
  // The whole part, or what of it is within the limit. False, and nothing is added: it has no such
  // form yet.
  static bool AppendPart(const Part& part, const Limit* limit, DocSet& set);
  // All parts of a block, or what of them is within the limit. False, and nothing is added: they
  // are too many, or runs.
  bool AppendJoined(uint32_t first_part, const Limit* limit, DocSet& set);
  void AppendBlock(uint32_t key, const Limit* limit, DocSet& set);

  StopCounter steps_;
  const DocSet* restriction_;  // few documents: lists are asked for them alone
  std::vector<uint64_t>
      restriction_bits_;  // those in any block of 65536 docids, once many were looked up
  uint32_t looked_up_ = 0, restriction_max_ = 0;
  const DocSet* within_;  // many documents: blocks are cut down to them at the end
  std::vector<DocId> pending_;
  std::vector<Part> parts_;
  std::vector<uint32_t> first_part_;  // by key
  std::vector<Block*> blocks_;        // by key; null where nothing is
  bool has_bitsets_ = false;
  std::unique_ptr<SparseBits> sparse_;  // empty but while a block is made
  // Sets that parts_ lie in.
  std::deque<DocSet> owned_;
  std::vector<std::shared_ptr<const DocSet>> shared_;
};

}  // namespace gannet
