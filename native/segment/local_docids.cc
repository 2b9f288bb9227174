#include "segment/local_docids.h"

#include <algorithm>
#include <bit>

namespace gannet::segment {
namespace {

// Runs are listed if they have this many docids on average.
constexpr size_t kRunMin = 8;
// With this many, a set is made faster from runs than from docids.
constexpr size_t kLongRunMin = 64;

}  // namespace

LocalDocIds::LocalDocIds(std::span<const uint32_t> docids) : docids_(docids) {
  if (docids.empty()) return;
  runs_.push_back({docids[0], 0});
  if (docids.back() - docids.front() == docids.size() - 1) return;
  for (size_t local = 1; local < docids.size(); ++local) {
    if (docids[local] == docids[local - 1] + 1) continue;
    // Docids that do not ascend are damaged: they are searched one by one.
    if (docids[local] <= docids[local - 1] || runs_.size() > docids.size() / kRunMin) {
      runs_ = {};
      return;
    }
    runs_.push_back({docids[local], static_cast<uint32_t>(local)});
  }
  runs_.shrink_to_fit();
}

DocSet LocalDocIds::Documents() const {
  if (docids_.empty() || runs_.empty() || runs_.size() > docids_.size() / kLongRunMin + 1 ||
      docids_.front() > docids_.back() || docids_.back() == UINT32_MAX) {
    return DocSet::FromSorted(docids_);
  }
  DocSet documents;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const size_t end = i + 1 < runs_.size() ? runs_[i + 1].local : docids_.size();
    documents.AddRange(runs_[i].docid,
                       runs_[i].docid + static_cast<uint32_t>(end - runs_[i].local));
  }
  return documents;
}

int64_t LocalDocIds::Find(DocId docid) const {
  if (docids_.empty() || docid < docids_.front() || docid > docids_.back()) return -1;
  if (!runs_.empty()) {
    const auto behind = std::upper_bound(runs_.begin() + 1, runs_.end(), docid,
                                         [](uint32_t d, const Run& run) { return d < run.docid; });
    const uint64_t local = uint64_t{(behind - 1)->local} + (docid - (behind - 1)->docid);
    return local < (behind == runs_.end() ? docids_.size() : behind->local)
               ? static_cast<int64_t>(local)
               : -1;
  }
  // docids are distinct, so none is after the guess.
  const uint32_t guess = docid - docids_.front();
  const auto end =
      docids_.begin() + static_cast<ptrdiff_t>(std::min<size_t>(guess, docids_.size() - 1)) + 1;
  const auto found = std::lower_bound(docids_.begin(), end, docid);
  return found != end && *found == docid ? found - docids_.begin() : -1;
}

void LocalDocIdCursor::Advance(DocId docid) {
  if (const auto& runs = local_docids_.runs_; !runs.empty()) {
    // Finds the last run that begins before it: with steps that double, then between the last two.
    size_t low = at_, step = 1;
    while (low + step < runs.size() && runs[low + step].docid <= docid) {
      low += step;
      step *= 2;
    }
    const auto first = runs.begin() + static_cast<ptrdiff_t>(low) + 1,
               end = runs.begin() + static_cast<ptrdiff_t>(std::min(low + step, runs.size()));
    const auto behind =
        std::upper_bound(first, std::max(first, end), docid,
                         [](uint32_t d, const LocalDocIds::Run& run) { return d < run.docid; });
    const LocalDocIds::Run& run = *(behind - 1);
    at_ = static_cast<uint32_t>(behind - 1 - runs.begin());
    base_ = run.docid - run.local;
    end_ = behind == runs.end() ? UINT32_MAX : behind->docid;
    return;
  }
  const std::span<const uint32_t> docids = local_docids_.docids_;
  const auto last = static_cast<uint32_t>(docids.size() - 1);
  // docids are distinct, so the local docid is at most as far ahead as the docid; gaps put it
  // before that.
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
  end_ = docid + 1;
}

DocSet DocSetOf(std::vector<uint32_t>& docids) {
  if (docids.empty()) return {};
  const auto [min, max] = std::minmax_element(docids.begin(), docids.end());
  const uint32_t first = *min, range = *max - first;
  if (docids.size() < 512 || range / 64 > docids.size()) {
    std::sort(docids.begin(), docids.end());
    return DocSet::FromSorted(docids);
  }
  // Setting a bit per docid of the range sorts them faster than comparing.
  std::vector<uint64_t> bits(range / 64 + size_t{1});
  for (const DocId docid : docids)
    bits[(docid - first) / 64] |= uint64_t{1} << (docid - first) % 64;
  size_t count = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    for (uint64_t word = bits[i]; word != 0; word &= word - 1) {
      docids[count++] =
          first + static_cast<uint32_t>(i * 64) + static_cast<uint32_t>(std::countr_zero(word));
    }
  }
  return DocSet::FromSorted(docids);
}

}  // namespace gannet::segment
