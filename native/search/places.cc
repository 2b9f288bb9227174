#include "search/places.h"

namespace gannet::search {

void RoleMap::Add(Ordinal ordinal, Role role) {
  bits_[ordinal / 64] |= uint64_t{1} << ordinal % 64;
  uint32_t& head = heads_[ordinal & (heads_.size() - 1)];
  entries_.push_back({ordinal, role});
  next_.push_back(head);
  head = static_cast<uint32_t>(entries_.size());
}

void RoleMap::AddRange(Ordinal begin, Ordinal end, Role role) {
  if (begin >= end) return;
  ranges_.push_back({begin, end, role});
  for (Ordinal ordinal = begin; ordinal < end;) {
    if (ordinal % 64 == 0 && end - ordinal >= 64) {
      bits_[ordinal / 64] = ~uint64_t{0};
      ordinal += 64;
    } else {
      bits_[ordinal / 64] |= uint64_t{1} << ordinal % 64;
      ++ordinal;
    }
  }
}

}  // namespace gannet::search
