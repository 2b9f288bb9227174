#include "search/natural/block_scan.h"

#include <algorithm>
#include <memory>

#include "base/stop_point.h"

namespace gannet::search {
namespace {

constexpr uint32_t kBlockDocuments = 65'536;
// Sums of bounds are floats, so they are compared with this margin.
constexpr double kMargin = 1 - 1e-5;

// The documents of one list, ascending, block by block.
class ListCursor {
 public:
  explicit ListCursor(const BoundedList& list) : list_(&list), cursor_(list.documents) { Fill(); }

  double bound() const { return list_->bound; }
  bool Contains(DocId docid) const { return list_->documents.Contains(docid); }
  // Whether there is a document in [begin, end). Skips documents before `begin`.
  bool MoveTo(DocId begin, uint64_t end) {
    if (size_ > 0 && buffer_[size_ - 1] < begin) {
      cursor_.SkipTo(begin);
      Fill();
    }
    while (at_ < size_ && buffer_[at_] < begin) ++at_;
    return at_ < size_ && buffer_[at_] < end;
  }
  // Calls sink(docid) for the documents before `end`.
  template <typename Sink>
  void ForEachBefore(uint64_t end, Sink&& sink) {
    while (at_ < size_) {
      while (at_ < size_ && buffer_[at_] < end) sink(buffer_[at_++]);
      if (at_ < size_) return;
      Fill();
    }
  }

 private:
  void Fill() {
    size_ = cursor_.Read(buffer_, std::size(buffer_));
    at_ = 0;
  }

  const BoundedList* list_;
  DocSetCursor cursor_;
  uint32_t buffer_[256];
  size_t at_ = 0, size_ = 0;
};

class BlockScan {
 public:
  BlockScan(std::span<const BoundedList> lists, const DocSet& candidates,
            const std::function<double()>& sum_min,
            const std::function<void(std::span<const DocId>)>& read)
      : candidates_(candidates), sum_min_(sum_min), read_(read), sums_(kBlockDocuments) {
    for (const BoundedList& list : lists) {
      if (!list.documents.empty()) cursors_.push_back(std::make_unique<ListCursor>(list));
    }
    std::sort(cursors_.begin(), cursors_.end(),
              [](const auto& a, const auto& b) { return a->bound() > b->bound(); });
  }

  void Run() {
    if (candidates_.empty()) return;
    for (uint64_t begin = candidates_.min() / kBlockDocuments * kBlockDocuments;
         begin <= candidates_.max(); begin += kBlockDocuments)
      ScanBlock(static_cast<DocId>(begin));
  }

 private:
  void ScanBlock(DocId begin) {
    StopPoint();
    const uint64_t end = uint64_t{begin} + kBlockDocuments;
    here_.clear();
    double rest = 0;
    for (const auto& cursor : cursors_) {
      if (!cursor->MoveTo(begin, end)) continue;
      here_.push_back(cursor.get());
      rest += cursor->bound();
    }
    size_t next = 0;
    for (; next < here_.size() && rest >= sum_min_() * kMargin; ++next) {
      Collect(*here_[next], begin, end);
      rest -= here_[next]->bound();
    }
    for (; next < here_.size(); ++next) {
      Refine(*here_[next], begin, end, rest);
      rest -= here_[next]->bound();
    }
    ReadBest(begin);
    for (const uint32_t local : found_) sums_[local] = 0;
    found_.clear();
  }

  // Adds an essential list.
  void Collect(ListCursor& list, DocId begin, uint64_t end) {
    const auto bound = static_cast<float>(list.bound());
    list.ForEachBefore(end, [&](DocId docid) {
      float& sum = sums_[docid - begin];
      if (sum == 0) found_.push_back(docid - begin);
      sum += bound;
    });
    StopPoint();
  }

  // Adds another list to the documents found so far that can still reach the minimum.
  void Refine(ListCursor& list, DocId begin, uint64_t end, double rest) {
    const double sum_min = sum_min_() * kMargin;
    std::erase_if(found_, [&](uint32_t local) {
      if (static_cast<double>(sums_[local]) + rest >= sum_min) return false;
      sums_[local] = 0;
      return true;
    });
    const auto bound = static_cast<float>(list.bound());
    // A lookup takes as long as reading some thirty documents of the list.
    if (found_.size() < kBlockDocuments / 64) {
      for (const uint32_t local : found_) {
        if (list.Contains(begin + local)) sums_[local] += bound;
      }
      return;
    }
    list.ForEachBefore(end, [&](DocId docid) {
      float& sum = sums_[docid - begin];
      if (sum > 0) sum += bound;
    });
    StopPoint();
  }

  // Reads the documents found, best first, as long as they can reach the minimum.
  void ReadBest(DocId begin) {
    const auto is_worse = [&](uint32_t a, uint32_t b) { return sums_[a] < sums_[b]; };
    std::vector<uint32_t> heap = found_;
    std::make_heap(heap.begin(), heap.end(), is_worse);
    std::vector<DocId> batch;
    size_t batch_max = 32;
    while (!heap.empty()) {
      batch.clear();
      const double sum_min = sum_min_() * kMargin;
      while (!heap.empty() && batch.size() < batch_max &&
             static_cast<double>(sums_[heap[0]]) >= sum_min) {
        std::pop_heap(heap.begin(), heap.end(), is_worse);
        const DocId docid = begin + heap.back();
        heap.pop_back();
        if (candidates_.Contains(docid)) batch.push_back(docid);
      }
      const bool last = heap.empty() || static_cast<double>(sums_[heap[0]]) < sum_min;
      std::sort(batch.begin(), batch.end());
      if (!batch.empty()) read_(batch);
      if (last) return;
      batch_max = std::min<size_t>(batch_max * 2, 4096);
    }
  }

  const DocSet& candidates_;
  const std::function<double()>& sum_min_;
  const std::function<void(std::span<const DocId>)>& read_;
  std::vector<std::unique_ptr<ListCursor>> cursors_;  // by bound, descending
  std::vector<float> sums_;                           // sums of bounds, by position in the block
  std::vector<uint32_t> found_;                       // positions whose sum is not 0
  std::vector<ListCursor*> here_;                     // those with documents in the block
};

}  // namespace

void ScanBlocks(std::span<const BoundedList> lists, const DocSet& candidates,
                const std::function<double()>& sum_min,
                const std::function<void(std::span<const DocId>)>& read) {
  BlockScan(lists, candidates, sum_min, read).Run();
}

}  // namespace gannet::search
