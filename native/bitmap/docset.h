// DocSet: a set of docids, used throughout the engine. A value type over CRoaring's 32-bit bitmap
// (https://roaringbitmap.org; format: https://github.com/RoaringBitmap/RoaringFormatSpec): sorted
// 16-bit arrays, 8 kB bitsets or runs, whichever is smallest for each block of 65536 docids.
//
// DocSetView reads serialised bytes in place (a mapped file) and lends them as a const DocSet.
//
// Invariants: an empty DocSet owns no memory. Containers are never shared between two sets.
// Threads:    const members may run at the same time on one set; others need exclusive access.
// Memory:     the program ends when an allocation fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace gannet {

class DocSet {
 public:
  DocSet() = default;
  DocSet(const DocSet& other);
  DocSet(DocSet&& other) noexcept;
  DocSet& operator=(const DocSet& other);
  DocSet& operator=(DocSet&& other) noexcept;
  ~DocSet();

  // All docids of [begin, end); empty when begin >= end. Cost: proportional to the range / 65536.
  static DocSet Range(uint32_t begin, uint32_t end);
  // REQUIRES: docids ascending and distinct.
  static DocSet FromSorted(std::span<const DocId> docids);
  // Union of all sets (none: empty). Faster than |= in a loop: cardinalities are counted once at
  // the end. REQUIRES: no null pointer.
  static DocSet Union(std::span<const DocSet* const> sets);
  // Copies portable roaring bytes; Corruption unless they are exactly one valid set.
  static Result<DocSet> Parse(std::string_view bytes);

  bool empty() const;
  uint64_t size() const;  // cost: one addition per block of 65536 docids in use
  bool Contains(DocId docid) const;
  DocId min() const;  // REQUIRES: !empty()
  DocId max() const;  // REQUIRES: !empty()

  void Add(DocId docid);
  void AddMany(std::span<const DocId> docids);  // any order; ascending is fastest
  void AddRange(uint32_t begin, uint32_t end);  // [begin, end)
  void Remove(DocId docid);
  void Clear();

  DocSet& operator|=(const DocSet& other);
  DocSet& operator&=(const DocSet& other);
  DocSet& operator-=(const DocSet& other);
  friend DocSet operator|(const DocSet& a, const DocSet& b);
  friend DocSet operator&(const DocSet& a, const DocSet& b);
  friend DocSet operator-(const DocSet& a, const DocSet& b);
  friend bool operator==(const DocSet& a, const DocSet& b);

  uint64_t IntersectionSize(const DocSet& other) const;  // nothing is allocated
  bool Intersects(const DocSet& other) const;
  bool IsSubsetOf(const DocSet& other) const;

  // Calls f(DocId docid) in ascending order. f may return bool; false stops the walk.
  // REQUIRES: f does not change this set.
  template <typename F>
  void ForEach(F&& f) const;
  // Appends all docids, ascending. About 700 million docids per second.
  void ToVector(std::vector<uint32_t>& out) const;

  // The docid with `rank` smaller ones. REQUIRES: rank < size()
  uint32_t Select(uint32_t rank) const;
  // Number of docids strictly below `docid`: Select(Rank(d)) == d for every d contained.
  uint64_t Rank(DocId docid) const;

  // Converts blocks to runs where that is smaller and gives unused memory back.
  void Optimize();
  // Appends the portable roaring format: SerializedBytes() bytes. Call Optimize() first for the
  // fewest.
  void AppendTo(std::string& out) const;
  size_t SerializedBytes() const;
  // Writes the same bytes to `out`, which has space for SerializedBytes() bytes.
  void WriteTo(char* out) const;

 private:
  friend class DocSetView;
  friend class DocSetCursor;
  friend struct DocSetAccess;  // docset_access.h: storage_ as roaring_bitmap_t

  // A roaring_bitmap_t; all zeros is its empty state. The size is checked in docset.cc.
  alignas(8) std::byte storage_[40] = {};
};

// Reads a set in blocks. For loops that stop early, skip ahead, or walk several sets together.
// Lifetime: the set must live and stay unchanged.
class DocSetCursor {
 public:
  explicit DocSetCursor(const DocSet& set);
  // Writes the next docids, at most `capacity`, ascending. Returns how many; 0 at the end.
  size_t Read(uint32_t* buffer, size_t capacity);
  // Moves forward so that the next docid read is >= `docid`. Never moves backward.
  void SkipTo(DocId docid);

 private:
  alignas(8) std::byte storage_[48];  // a roaring_uint32_iterator_t
};

// Borrowed serialised bytes (AppendTo), usable as a const DocSet without copying them; any
// alignment.
// REQUIRES:  the bytes passed ValidateDocSet when they were written or opened; they are not
//            checked again.
// Lifetime:  the bytes must outlive the view; sets computed from it own their memory.
// Cost:      0.2 us and a few bytes per block of 65536 docids.
class DocSetView {
 public:
  explicit DocSetView(std::string_view bytes);
  DocSetView(DocSetView&& other) noexcept;
  DocSetView& operator=(DocSetView&& other) noexcept;
  ~DocSetView();

  const DocSet& set() const { return set_; }
  operator const DocSet&() const { return set_; }
  const DocSet* operator->() const { return &set_; }

 private:
  void Release();

  DocSet set_;
  void* arena_ = nullptr;  // owns the tables of set_
};

// Corruption unless `bytes` are exactly what AppendTo writes, so that a DocSetView of them is safe.
// docid_end: exclusive upper bound of the docids allowed.
Status ValidateDocSet(std::string_view bytes, uint64_t docid_end = uint64_t{1} << 32);

template <typename F>
void DocSet::ForEach(F&& f) const {
  if (empty()) return;
  DocSetCursor cursor(*this);
  uint32_t block[128];
  while (const size_t count = cursor.Read(block, 128)) {
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<decltype(f(block[i])), bool>) {
        if (!f(block[i])) return;
      } else {
        f(block[i]);
      }
    }
    if (count < 128) return;
  }
}

}  // namespace gannet
