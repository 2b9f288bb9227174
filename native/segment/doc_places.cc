#include "segment/doc_places.h"

#include <algorithm>
#include <bit>

namespace gannet::segment {
namespace {

// Of so many docids one may be missing for the missing ones to be listed.
constexpr uint64_t kDocidsPerMissing = 8;

}  // namespace

DocPlaces::DocPlaces(std::span<const uint32_t> docids) : docids_(docids) {
  if (docids.empty() || docids.back() - docids.front() == docids.size() - 1) return;
  const uint64_t missing = uint64_t{docids.back()} - docids.front() + 1 - docids.size();
  listed_ = missing <= docids.size() / kDocidsPerMissing;
  if (!listed_) return;
  missing_.reserve(missing);
  for (size_t place = 1; place < docids.size(); ++place) {
    for (uint32_t docid = docids[place - 1] + 1; docid < docids[place] && missing_.size() < missing; ++docid) {
      missing_.push_back(docid);
    }
  }
}

DocSet DocPlaces::Documents() const {
  if (docids_.empty() || !listed_ || docids_.front() > docids_.back() || docids_.back() == UINT32_MAX) {
    return DocSet::FromSorted(docids_);
  }
  DocSet documents = DocSet::Range(docids_.front(), docids_.back() + 1);
  if (!missing_.empty()) documents -= DocSet::FromSorted(missing_);
  return documents;
}

int64_t DocPlaces::Find(uint32_t docid) const {
  if (docids_.empty() || docid < docids_.front() || docid > docids_.back()) return -1;
  const uint32_t guess = docid - docids_.front();
  if (listed_) {
    const auto before = std::lower_bound(missing_.begin(), missing_.end(), docid);
    if (before != missing_.end() && *before == docid) return -1;
    return guess - (before - missing_.begin());
  }
  // docids are distinct, so that none stands behind the guess.
  const auto end = docids_.begin() + static_cast<ptrdiff_t>(std::min<size_t>(guess, docids_.size() - 1)) + 1;
  const auto found = std::lower_bound(docids_.begin(), end, docid);
  return found != end && *found == docid ? found - docids_.begin() : -1;
}

void DocPlaceCursor::Advance(uint32_t docid) {
  if (places_.listed_) {
    // The first missing one above docid: with steps that double, then between the last two.
    const std::vector<uint32_t>& missing = places_.missing_;
    size_t low = at_, step = 1;
    while (low + step < missing.size() && missing[low + step] < docid) {
      low += step;
      step *= 2;
    }
    const auto end = missing.begin() + static_cast<ptrdiff_t>(std::min(low + step, missing.size()));
    const auto next = std::lower_bound(missing.begin() + static_cast<ptrdiff_t>(low), end, docid);
    const auto passed = static_cast<uint32_t>(next - missing.begin());
    base_ = places_.docids_[0] + passed;
    at_ = passed;
    next_missing_ = passed < missing.size() ? missing[passed] : UINT32_MAX;
    return;
  }
  const std::span<const uint32_t> docids = places_.docids_;
  const auto last = static_cast<uint32_t>(docids.size() - 1);
  // docids are distinct, so the place is at most as far ahead as the docid; gaps put it before that.
  uint32_t high = docid <= docids[at_] ? at_ : at_ + std::min(last - at_, docid - docids[at_]);
  uint32_t step = 1, low = high;
  while (docids[low] > docid) {
    high = low - 1;
    low = low - at_ > step ? low - step : at_;
    step *= 2;
  }
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (docids[middle] <= docid) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  at_ = low;
  base_ = docid - low;
  next_missing_ = docid + 1;
}

DocSet DocSetOf(std::vector<uint32_t>& docids) {
  if (docids.empty()) return {};
  const auto [least, most] = std::minmax_element(docids.begin(), docids.end());
  const uint32_t first = *least, range = *most - first;
  if (docids.size() < 512 || range / 64 > docids.size()) {
    std::sort(docids.begin(), docids.end());
    return DocSet::FromSorted(docids);
  }
  // A bit per docid of the range sorts them faster than comparing.
  std::vector<uint64_t> bits(range / 64 + size_t{1});
  for (const uint32_t docid : docids) bits[(docid - first) / 64] |= uint64_t{1} << (docid - first) % 64;
  size_t count = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    for (uint64_t word = bits[i]; word != 0; word &= word - 1) {
      docids[count++] = first + static_cast<uint32_t>(i * 64) + static_cast<uint32_t>(std::countr_zero(word));
    }
  }
  return DocSet::FromSorted(docids);
}

}  // namespace gannet::segment
