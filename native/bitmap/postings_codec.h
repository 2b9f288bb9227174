// The compact bytes of a posting list. Most words occur in a handful of documents, where a roaring
// bitmap would spend 16 bytes on headers; long lists are read in place.
//
// Format, chosen by the number of docids:
//   header   varint: count * 2 + form
//   form 0   count <= kDeltaPostingsMax: the first docid, then each gap to the docid before,
//            less 1; varints
//   form 1   longer lists: portable roaring bytes (DocSet::AppendTo, run-optimised)
// No bytes at all mean the empty list, as does the single byte 0.
//
// REQUIRES, for all readers: the bytes passed ValidatePostings, or are as AppendPostings wrote them
// (checksum).
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"

namespace gannet {

// For some 32 docids spread over 1 M, roaring bytes are 2.5 times larger but decode 3 times faster
// (0.5 us).
inline constexpr uint32_t kDeltaPostingsMax = 32;

void AppendPostings(const DocSet& docids, std::string& out);
// REQUIRES: docids ascending and distinct.
void AppendPostings(std::span<const DocId> docids, std::string& out);

// One opened posting list. Lifetime: borrows the bytes.
class PostingsReader {
 public:
  explicit PostingsReader(std::string_view bytes);

  uint32_t count() const { return count_; }
  // The list as a docset; null: it is short, and docids() has it.
  const DocSet* set() const { return view_ ? &view_->set() : nullptr; }
  std::span<const DocId> docids() const { return view_ ? std::span<const DocId>() : small(); }
  bool Contains(DocId docid) const;
  bool Intersects(const DocSet& filter) const;
  uint64_t IntersectionSize(const DocSet& filter) const;
  uint64_t IntersectionSize(const PostingsReader& other) const;

  // Adds all docids, or those also in `filter`, to `out`. `out` is not `filter`.
  void UnionInto(DocSet& out) const;
  void IntersectInto(const DocSet& filter, DocSet& out) const;

  // Appends all docids, ascending.
  void ToVector(std::vector<uint32_t>& out) const;
  DocSet ToDocSet() const;

  // Like DocSet::ForEach: ascending; f(DocId) may return bool, false stops.
  template <typename F>
  void ForEach(F&& f) const {
    if (view_) return view_->set().ForEach(f);
    for (const DocId docid : small()) {
      if constexpr (std::is_same_v<decltype(f(docid)), bool>) {
        if (!f(docid)) return;
      } else {
        f(docid);
      }
    }
  }

 private:
  std::span<const uint32_t> small() const { return {small_, count_}; }

  uint32_t count_ = 0;
  std::optional<DocSetView> view_;     // form 1
  uint32_t small_[kDeltaPostingsMax];  // form 0: the first count_ are set
};

// Number of docids; reads the header only.
uint32_t PostingsCount(std::string_view bytes);
// out |= postings
void UnionPostingsInto(std::string_view bytes, DocSet& out);
// out |= postings & filter. REQUIRES: `out` is not `filter`.
void IntersectPostings(std::string_view bytes, const DocSet& filter, DocSet& out);
DocSet DecodePostings(std::string_view bytes);
bool PostingsIntersect(std::string_view bytes, const DocSet& filter);

// Corruption if the readers above must not be used on `bytes`. docid_end: exclusive upper bound.
Status ValidatePostings(std::string_view bytes, uint64_t docid_end = uint64_t{1} << 32);

}  // namespace gannet
