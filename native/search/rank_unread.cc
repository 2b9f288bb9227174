#include "search/rank_unread.h"

#include <algorithm>

namespace gannet::search {

DocSet Unread::Confirm(const DocSet& documents) {
  DocSet read = documents & unread_;
  if (!read.empty()) {
    if (in_vain()) read = unread_;
    unread_ -= read;
    const DocSet found = Read(read);
    in_vain_ = found.empty() ? in_vain_ + read.size() : 0;
    sure_ |= found;
  }
  return documents & sure_;
}

uint64_t Unread::Count(uint64_t enough) {
  // Each step reads as many as all before, and no fewer than are missing.
  constexpr uint64_t kReadMin = 256;
  uint64_t read = 0;
  while (sure_.size() < enough && !unread_.empty()) {
    const uint64_t next = std::max({enough - sure_.size(), read, kReadMin});
    Confirm(unread_.size() <= next ? unread_ : unread_ & DocSet::Range(0, unread_.Select(static_cast<uint32_t>(next))));
    read += next;
  }
  return sure_.size();
}

DocSet UnreadNearness::Read(const DocSet& documents) {
  sweep_.Run(documents, PathSweep::Costs::kProximity);
  const auto by_cost = sweep_.ByCost(&PathCosts::proximity, static_cast<uint32_t>(waiting_.size() - 1), documents);
  for (size_t c = 0; c < by_cost.size(); ++c) {
    if (c != cost_) waiting_[c] |= DocSet::FromSorted(by_cost[c]);
  }
  return DocSet::FromSorted(by_cost[cost_]);
}

}  // namespace gannet::search
