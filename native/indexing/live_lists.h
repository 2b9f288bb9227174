// Joins posting lists of several segments into one, without the documents that are dead.
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

// Tells which documents of a segment are live.
class LiveDocuments {
 public:
  LiveDocuments() = default;  // all documents
  // live: the live documents, if some are dead; must outlive this object.
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
  std::vector<uint64_t> bits_;  // starting at first_
};

// A list of a segment, as postings.
struct LiveList {
  const LiveDocuments* documents;
  std::string_view postings;
};

class LiveLists {
 public:
  // Replaces the content by the live documents of all the lists.
  void Join(std::span<const LiveList> lists);
  bool empty() const { return as_set_ ? set_.empty() : docids_.empty(); }
  void AppendPostingsTo(std::string& out) const;
  // Calls sink(const DocSet&) or sink(std::span<const DocId>, ascending), depending on how the
  // documents are held.
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
