#include "search/ranking/two_phase.h"

#include <algorithm>

namespace gannet::search {
namespace {

// The first `count` documents.
DocSet First(const DocSet& documents, uint64_t count) {
  return documents.size() <= count
             ? documents
             : documents & DocSet::Range(0, documents.Select(static_cast<uint32_t>(count)));
}

}  // namespace

DocSet TwoPhase::Verify(const DocSet& documents) {
  DocSet read = documents & approximate_;
  if (!read.empty()) {
    if (in_vain()) read = approximate_;
    const DocSet found = Read(read);
    approximate_ -= read;
    in_vain_ = found.empty() ? in_vain_ + read.size() : 0;
    verified_ |= found;
  }
  return documents & verified_;
}

void TwoPhase::VerifyIfScarce(uint64_t wanted) {
  // The first documents are a sample: each step reads as many as all before, until some are found
  // or enough are read.
  constexpr uint64_t kFound = 4, kShare = 16;
  const uint64_t read_min = std::max(LargeBucketMin() / 16, uint64_t{1});
  // If there are more than four times as many as wanted, most need not be read.
  const uint64_t scarce = LargeBucketMin() / 256 * wanted;
  const uint64_t all = approximate_.size(), verified = verified_.size();
  if (verified >= wanted || all > 32 * LargeBucketMin()) return;
  uint64_t read = 0, found = 0;
  while (found < kFound && read * kShare < all) {
    Verify(First(approximate_, std::max(read, read_min)));
    read = all - approximate_.size();
    found = verified_.size() - verified;
  }
  if (verified * read + found * all <= scarce * read) VerifyAll();
}

uint64_t TwoPhase::Count(uint64_t enough) {
  // Each step reads as many as all before, and at least as many as are missing.
  constexpr uint64_t kReadMin = 256;
  uint64_t read = 0;
  while (verified_.size() < enough && !approximate_.empty()) {
    const uint64_t next = std::max({enough - verified_.size(), read, kReadMin});
    Verify(First(approximate_, next));
    read += next;
  }
  return verified_.size();
}

void TwoPhase::DropUnverified(DocSet& documents) {
  // Each step reads as many as all steps before.
  constexpr uint64_t kReadMin = 64;
  if (documents.Intersects(verified_)) return;
  for (uint64_t count = kReadMin; !documents.empty(); count *= 2) {
    const DocSet first = First(documents, count);
    const DocSet found = Verify(first);
    documents -= first - found;
    if (!found.empty()) return;
  }
}

DocSet TwoPhaseCosts::Read(const DocSet& documents) {
  DocSet found;
  for (const auto& source : sources_) found |= source->Verify(cost_, documents);
  return found;
}

}  // namespace gannet::search
