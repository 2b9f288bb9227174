#include "search/rank_unread.h"

#include <algorithm>

namespace gannet::search {
namespace {

// The first `count` of them.
DocSet First(const DocSet& documents, uint64_t count) {
  return documents.size() <= count ? documents : documents & DocSet::Range(0, documents.Select(static_cast<uint32_t>(count)));
}

}  // namespace

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

void Unread::ReadIfScarce(uint64_t wanted) {
  // The first documents stand for the others: as many are read as all before, until some were found or enough was read.
  constexpr uint64_t kFound = 4, kShare = 16;
  const uint64_t read_min = std::max(LargeBucketMin() / 16, uint64_t{1});
  // Of more than four times as many as are wanted most need not be read.
  const uint64_t scarce = LargeBucketMin() / 256 * wanted;
  const uint64_t all = unread_.size(), sure = sure_.size();
  if (sure >= wanted || all > 32 * LargeBucketMin()) return;
  uint64_t read = 0, found = 0;
  while (found < kFound && read * kShare < all) {
    Confirm(First(unread_, std::max(read, read_min)));
    read = all - unread_.size();
    found = sure_.size() - sure;
  }
  if (sure * read + found * all <= scarce * read) ReadAll();
}

uint64_t Unread::Count(uint64_t enough) {
  // Each step reads as many as all before, and no fewer than are missing.
  constexpr uint64_t kReadMin = 256;
  uint64_t read = 0;
  while (sure_.size() < enough && !unread_.empty()) {
    const uint64_t next = std::max({enough - sure_.size(), read, kReadMin});
    Confirm(First(unread_, next));
    read += next;
  }
  return sure_.size();
}

void Unread::FindSome(DocSet& documents) {
  // Each step reads as many as all before.
  constexpr uint64_t kReadMin = 64;
  if (documents.Intersects(sure_)) return;
  for (uint64_t count = kReadMin; !documents.empty(); count *= 2) {
    const DocSet first = First(documents, count);
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
