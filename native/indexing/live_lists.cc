#include "indexing/live_lists.h"

#include <algorithm>

#include "bitmap/postings_codec.h"

namespace gannet::indexing {

LiveDocuments::LiveDocuments(const DocSet& live) : live_(&live) {
  if (live.empty()) return;
  first_ = live.min();
  bits_.resize((live.max() - first_) / 64 + 1);
  live.ForEach(
      [&](DocId docid) { bits_[(docid - first_) / 64] |= uint64_t{1} << (docid - first_) % 64; });
}

void LiveLists::Join(std::span<const LiveList> lists) {
  docids_.clear();
  as_set_ = false;
  for (const LiveList& list : lists) {
    const PostingsReader reader(list.postings);
    if (reader.count() > kDeltaPostingsMax) {
      if (!as_set_) set_.Clear();
      as_set_ = true;
      if (list.documents->all()) {
        reader.UnionInto(set_);
      } else {
        reader.IntersectInto(list.documents->set(), set_);
      }
    } else if (list.documents->all()) {
      reader.ToVector(docids_);
    } else {
      reader.ForEach([&](DocId docid) {
        if (list.documents->Contains(docid)) docids_.push_back(docid);
      });
    }
  }
  if (as_set_) {
    set_.AddMany(docids_);
  } else if (!std::is_sorted(docids_.begin(), docids_.end())) {
    std::sort(docids_.begin(), docids_.end());
  }
}

void LiveLists::AppendPostingsTo(std::string& out) const {
  With([&](const auto& documents) { AppendPostings(documents, out); });
}

}  // namespace gannet::indexing
