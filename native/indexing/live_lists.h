// Posting lists of several segments joined to one, without the documents that are dead.
//
// Threads: LiveDocuments is immutable and shared; LiveLists has one owner.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "bitmap/docset.h"

namespace gannet::indexing {

// Which documents of a segment are alive.
class LiveDocuments {
 public:
  LiveDocuments() = default;  // all of them
  // live: some of them; it must outlive this.
  explicit LiveDocuments(const DocSet& live);

  bool all() const { return live_ == nullptr; }
  bool Contains(DocId docid) const {
    if (all()) return true;
    const uint32_t at = docid - first_;  // far out of range when docid is smaller
    return at / 64 < bits_.size() && (bits_[at / 64] >> at % 64 & 1) != 0;
  }
  // REQUIRES: !all()
  const DocSet& set() const { return *live_; }

 private:
  const DocSet* live_ = nullptr;
  DocId first_ = 0;
  std::vector<uint64_t> bits_;  // from first_ on
};

// A list of a segment, as postings.
struct LiveList {
  const LiveDocuments* documents;
  std::string_view postings;
};

class LiveLists {
 public:
  // The live documents of all the lists take the place of what was joined before.
  void Join(std::span<const LiveList> lists);
  bool empty() const { return as_set_ ? set_.empty() : docids_.empty(); }
  void AppendPostingsTo(std::string& out) const;
  // sink(const DocSet&) or sink(std::span<const DocId>, ascending), whichever they are held as.
  template <typename Sink>
  void With(Sink&& sink) const {
    if (as_set_) {
      sink(set_);
    } else {
      sink(std::span<const DocId>(docids_));
    }
  }

 private:
  bool as_set_ = false;
  DocSet set_;
  std::vector<DocId> docids_;
};

}  // namespace gannet::indexing
