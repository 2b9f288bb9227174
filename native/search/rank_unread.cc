#include "search/rank_unread.h"

namespace gannet::search {

DocSet Unread::Confirm(const DocSet& documents) {
  DocSet read = documents & unread_;
  if (!read.empty()) {
    if (in_vain()) read = unread_;
    unread_ -= read;
    sweep_.Run(read, PathSweep::Costs::kProximity);
    const auto by_cost = sweep_.ByCost(&PathCosts::proximity, static_cast<uint32_t>(waiting_.size() - 1), read);
    in_vain_ = by_cost[cost_].empty() ? in_vain_ + read.size() : 0;
    for (size_t c = 0; c < by_cost.size(); ++c) (c == cost_ ? sure_ : waiting_[c]) |= DocSet::FromSorted(by_cost[c]);
  }
  return documents & sure_;
}

}  // namespace gannet::search
