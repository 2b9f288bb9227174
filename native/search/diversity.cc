#include "search/diversity.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/stop_point.h"
#include "search/federation/distinct_values.h"

namespace gannet::search {
namespace {

// Fills one page after the other. A hit that does not fit waits for the next page, before the hits
// that rank after it.
class PageFiller {
 public:
  PageFiller(const index::Snapshot& snapshot, const Diversity& wanted,
             const std::vector<Hit>& ranked, bool whole, uint64_t looks)
      : snapshot_(snapshot), wanted_(wanted), ranked_(ranked), whole_(whole), left_(looks) {}

  void BeginPage() {
    for (const uint32_t value : std::exchange(counted_, {})) counts_[value] = 0;
  }
  void CountPin(DocId docid) {
    for (std::string& value : ValuesOf(snapshot_, wanted_.attribute, docid))
      Count(NumberOf(std::move(value)));
  }
  // Returns false if hits are missing.
  bool FillPage(uint64_t slots, DiverseHits& out) {
    slots -= TakeWaiting(slots, out);
    for (; slots > 0 && next_ < ranked_.size() && left_ > 0; ++next_) {
      ReadValues(ranked_[next_].docid);
      if (Take(next_, out)) {
        --slots;
      } else {
        waiting_.push_back(next_);
      }
    }
    out.cut = slots > 0 && left_ > 0 && !whole_;
    if (out.cut) return false;
    // Too few values: the page takes what is left.
    for (; slots > 0 && first_ < waiting_.size(); --slots)
      out.hits.push_back(ranked_[waiting_[first_++]]);
    for (; slots > 0 && next_ < ranked_.size(); --slots) out.hits.push_back(ranked_[next_++]);
    out.cut = slots > 0 && !whole_;
    return slots == 0;
  }

 private:
  uint32_t NumberOf(std::string value) {
    constexpr uint64_t kNewValueLooks = 16;
    const auto [known, added] =
        numbers_.try_emplace(std::move(value), static_cast<uint32_t>(numbers_.size()));
    if (added) counts_.push_back(0);
    Look(added ? kNewValueLooks : 1);
    return known->second;
  }
  void ReadValues(DocId docid) {
    for (std::string& value : ValuesOf(snapshot_, wanted_.attribute, docid))
      values_.push_back(NumberOf(std::move(value)));
    ends_.push_back(values_.size());
  }
  // The values of a ranked hit that was read.
  std::span<const uint32_t> ValuesAt(size_t hit) const {
    const size_t begin = hit == 0 ? 0 : ends_[hit - 1];
    return std::span(values_).subspan(begin, ends_[hit] - begin);
  }

  void Look(uint64_t looks) {
    steps_.Step();
    left_ -= std::min(left_, looks);
  }
  void Count(uint32_t value) {
    if (counts_[value]++ == 0) counted_.push_back(value);
  }
  // Whether the hit has a place on the page.
  bool Take(size_t hit, DiverseHits& out) {
    const std::span<const uint32_t> values = ValuesAt(hit);
    Look(1 + values.size());
    if (std::any_of(values.begin(), values.end(),
                    [&](uint32_t value) { return counts_[value] >= wanted_.max; }))
      return false;
    for (const uint32_t value : values) Count(value);
    out.hits.push_back(ranked_[hit]);
    return true;
  }
  uint64_t TakeWaiting(uint64_t slots, DiverseHits& out) {
    uint64_t taken = 0;
    size_t at = first_;
    std::vector<size_t> passed;
    for (; taken < slots && at < waiting_.size() && left_ > 0; ++at) {
      if (Take(waiting_[at], out)) {
        ++taken;
      } else {
        passed.push_back(waiting_[at]);
      }
    }
    first_ = at - passed.size();
    std::copy(passed.begin(), passed.end(), waiting_.begin() + static_cast<ptrdiff_t>(first_));
    return taken;
  }

  const index::Snapshot& snapshot_;
  const Diversity& wanted_;
  const std::vector<Hit>& ranked_;
  const bool whole_;
  uint64_t left_;  // looks
  StopCounter steps_;
  std::unordered_map<std::string, uint32_t> numbers_;  // by value
  std::vector<uint32_t> values_;                       // of the hits that were read
  std::vector<size_t> ends_;                           // of the values of each
  std::vector<uint64_t> counts_;                       // by value, on the page
  std::vector<uint32_t> counted_;                      // the values with a count
  std::vector<size_t> waiting_;                        // numbers of hits, in ranked order
  size_t first_ = 0;                                   // of those that wait
  size_t next_ = 0;                                    // the first ranked hit that was not read
};

}  // namespace

DiverseHits Diversify(const index::Snapshot& snapshot, const SearchRequest& request,
                      const std::vector<Hit>& ranked, uint64_t end, bool whole, uint64_t looks) {
  DiverseHits out;
  PageFiller filler(snapshot, *request.diversity, ranked, whole, looks);
  const std::vector<PinnedDocument>& pins = request.pinned_at;
  const uint64_t size = std::clamp<uint64_t>(request.page.size(), 1, UINT32_MAX);
  size_t pin = 0;
  for (uint64_t begin = 0; begin < end; begin += size) {
    filler.BeginPage();
    uint64_t slots = 0;
    // Pins of the page count, also those after the end.
    for (uint64_t position = begin; position < begin + size; ++position) {
      const bool left = pin < pins.size();
      if (left && pins[pin].position <= position) {
        filler.CountPin(pins[pin++].docid);
      } else if (position < end) {
        ++slots;
      } else if (left) {
        position = pins[pin].position - uint64_t{1};
      } else {
        break;
      }
    }
    if (!filler.FillPage(slots, out)) break;
  }
  return out;
}

}  // namespace gannet::search
