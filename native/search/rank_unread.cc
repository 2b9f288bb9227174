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

void Unread::FindSome(DocSet& documents) {
  // Each step reads as many as all before.
  constexpr uint64_t kReadMin = 64;
  if (documents.Intersects(sure_)) return;
  for (uint64_t count = kReadMin; !documents.empty(); count *= 2) {
    const DocSet first = documents.size() <= count ? documents : documents & DocSet::Range(0, documents.Select(static_cast<uint32_t>(count)));
    const DocSet found = Confirm(first);
    documents -= first - found;
    if (!found.empty()) return;
  }
}

DocSet UnreadCosts::Read(const DocSet& documents) {
  DocSet found;
  for (const auto& source : sources_) found |= source->Confirm(cost_, documents);
  return found;
}

}  // namespace gannet::search
