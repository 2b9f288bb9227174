#include "search/natural/block_scan.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/stop_point.h"
#include "bitmap/doc_bits.h"
#include "search/natural/bm25f.h"
#include "segment/occurrences.h"

namespace gannet::search {
namespace {

constexpr uint32_t kBlockDocuments = 32'768;
constexpr uint32_t kCodesDocuments = segment::Occurrences::kBlockDocuments;
static_assert(kCodesDocuments % kBlockDocuments == 0);
// Sums of bounds are floats, so they are compared with this margin.
constexpr double kMargin = 1 - 1e-5;
// A lookup in a list takes as long as reading some thirty documents of it.
constexpr uint64_t kLookupCost = 32;
// At most this many documents of rare words are looked at before all others, and read.
constexpr size_t kRareMax = 1024, kReadFirstMax = 64;
// Candidates are tested first if they are less than this share of the documents.
constexpr uint64_t kFewCandidates = 4;

// The documents of one list, ascending, block by block.
class ListCursor {
 public:
  explicit ListCursor(const ScanList& list) : list_(&list) {
    if (list.documents == nullptr) {
      data_ = list.docids.data();
      size_ = count_ = list.docids.size();
      span_ = size_ > 0 ? uint64_t{list.docids.back()} - list.docids.front() + 1 : 1;
      return;
    }
    cursor_.emplace(*list.documents);
    count_ = list.documents->size();
    if (count_ > 0) span_ = uint64_t{list.documents->max()} - list.documents->min() + 1;
    data_ = buffer_;
    Fill();
  }

  const ScanList& list() const { return *list_; }
  uint64_t count() const { return count_; }
  // About how many documents a block has.
  uint64_t count_in_block() const { return count_ * kBlockDocuments / span_; }
  // Whether there is a document in [begin, end). Skips documents before `begin`.
  bool MoveTo(DocId begin, uint64_t end) {
    if (size_ > 0 && data_[size_ - 1] < begin) {
      if (cursor_) {
        cursor_->SkipTo(begin);
        Fill();
      } else {
        at_ = size_;
      }
    }
    if (at_ < size_ && data_[at_] < begin)
      at_ = static_cast<size_t>(std::lower_bound(data_ + at_, data_ + size_, begin) - data_);
    return at_ < size_ && data_[at_] < end;
  }
  // Calls sink(docid, index) for the documents before `end`; index: in ScanList::docids.
  template <typename Sink>
  void ForEachBefore(uint64_t end, Sink&& sink) {
    while (at_ < size_) {
      while (at_ < size_ && data_[at_] < end) {
        sink(data_[at_], at_);
        ++at_;
      }
      if (at_ < size_ || !cursor_) return;
      Fill();
    }
  }
  // The index of a document of the current block in ScanList::docids, for a list of a docset 0; -1:
  // it is not in the list.
  int64_t Find(DocId docid) const {
    if (cursor_) return list_->documents->Contains(docid) ? 0 : -1;
    const uint32_t* found = std::lower_bound(data_ + at_, data_ + size_, docid);
    return found != data_ + size_ && *found == docid ? found - data_ : -1;
  }

 private:
  void Fill() {
    size_ = cursor_->Read(buffer_, std::size(buffer_));
    at_ = 0;
  }

  const ScanList* list_;
  std::optional<DocSetCursor> cursor_;  // of a docset
  const uint32_t* data_;
  size_t at_ = 0, size_ = 0;
  uint64_t count_ = 0, span_ = 1;
  uint32_t buffer_[256];
};

// What a list adds to a document.
class Adding {
 public:
  // codes    of the block; null: not known
  // begin    first docid of the block
  Adding(const ScanList& list, const uint8_t* codes, DocId begin)
      : list_(list), codes_(codes), first_(begin % kCodesDocuments) {}

  bool is_constant() const { return codes_ == nullptr || list_.by_length == nullptr; }
  float Constant() const { return list_.max; }
  float ByLength(uint32_t local) const { return list_.by_length[codes_[first_ + local]]; }
  float OfRepeats(uint32_t local, size_t index) const {
    const float once = ByLength(local);
    const uint8_t count = list_.counts[index];
    const float repeated = once * count;
    const float share = count == segment::Occurrences::kCountMax ? 1 : repeated / (repeated + kK1);
    // Above 0, whatever is rounded.
    return std::max(list_.worth * (share - once / (once + kK1)), kLeast);
  }
  float Of(uint32_t local, size_t index) const {
    if (is_constant()) return Constant();
    return list_.counts.empty() ? ByLength(local) : OfRepeats(local, index);
  }

 private:
  static constexpr auto kK1 = static_cast<float>(bm25f::kSaturation);
  static constexpr float kLeast = 1e-9f;

  const ScanList& list_;
  const uint8_t* codes_;
  uint32_t first_;
};

class BlockScan {
 public:
  BlockScan(const Scan& scan, const std::function<void(std::span<const DocId>)>& read)
      : scan_(scan), read_(read), sums_(kBlockDocuments), word_rest_(scan.word_max.size()) {
    for (const ScanList& list : scan.lists) {
      if (!list.docids.empty() || (list.documents != nullptr && !list.documents->empty()))
        cursors_.push_back(std::make_unique<ListCursor>(list));
    }
    // What a list costs grows with its documents, so those that add little per document come last.
    std::sort(cursors_.begin(), cursors_.end(), [](const auto& a, const auto& b) {
      return static_cast<double>(a->list().max) * static_cast<double>(b->count()) >
             static_cast<double>(b->list().max) * static_cast<double>(a->count());
    });
  }

  void Run() {
    DocId first = UINT32_MAX, last = 0;
    for (const auto& cursor : cursors_) {
      const ScanList& list = cursor->list();
      first = std::min(first, list.documents ? list.documents->min() : list.docids.front());
      last = std::max(last, list.documents ? list.documents->max() : list.docids.back());
    }
    if (cursors_.empty() || scan_.candidates.empty()) return;
    first = std::max(first, scan_.candidates.min());
    last = std::min(last, scan_.candidates.max());
    if (scan_.candidates.size() < (uint64_t{last} - std::min(first, last)) / kFewCandidates)
      few_.emplace(scan_.candidates);
    ReadFirst();
    for (uint64_t begin = first / kBlockDocuments * kBlockDocuments; begin <= last;
         begin += kBlockDocuments) {
      ScanBlock(static_cast<DocId>(begin));
    }
  }

 private:
  struct Sum {
    float sum = 0;      // 0: none of the lists so far has the document
    uint32_t mask = 0;  // see ScoreBound
  };
  // A list with documents in the block, and what it and those after it can add.
  struct Here {
    ListCursor* cursor;
    double rest;
    uint32_t rest_mask;
  };

  // Reads documents that have rare words. They are likely to be good, which raises the minimum for
  // all blocks.
  void ReadFirst() {
    std::vector<std::pair<DocId, float>> rare;
    uint64_t all = 0;
    for (const auto& cursor : cursors_) {
      all += cursor->count();
      if (rare.size() + cursor->count() > kRareMax) continue;
      const ScanList& list = cursor->list();
      const auto add = [&](DocId docid) { rare.emplace_back(docid, list.max); };
      if (list.documents != nullptr) {
        list.documents->ForEach(add);
      } else {
        std::for_each(list.docids.begin(), list.docids.end(), add);
      }
    }
    if (all < kRareMax * kReadFirstMax) return;
    std::sort(rare.begin(), rare.end());
    size_t kept = 0;
    for (const auto& [docid, max] : rare) {
      if (kept > 0 && rare[kept - 1].first == docid) {
        rare[kept - 1].second += max;
      } else if (scan_.candidates.Contains(docid)) {
        rare[kept++] = {docid, max};
      }
    }
    rare.resize(kept);
    const auto is_better = [](const auto& a, const auto& b) { return a.second > b.second; };
    if (rare.size() > kReadFirstMax) {
      std::nth_element(rare.begin(), rare.begin() + kReadFirstMax, rare.end(), is_better);
      rare.resize(kReadFirstMax);
    }
    for (const auto& [docid, max] : rare) read_first_.push_back(docid);
    std::sort(read_first_.begin(), read_first_.end());
    if (!read_first_.empty()) read_(read_first_);
  }

  void ScanBlock(DocId begin) {
    StopPoint();
    const uint64_t end = uint64_t{begin} + kBlockDocuments;
    here_.clear();
    for (const auto& cursor : cursors_) {
      if (cursor->MoveTo(begin, end)) here_.push_back({cursor.get(), 0, 0});
    }
    AddRests();
    got_min_ = scan_.got_min() * kMargin;
    size_t next = 0;
    for (; next < here_.size(); ++next) {
      const Here& here = here_[next];
      if (scan_.bound.Got(here.rest, here.rest_mask) < got_min_) break;
      Collect(*here.cursor, begin, end);
    }
    for (; next < here_.size() && !found_.empty(); ++next) Refine(here_[next], begin, end);
    if (!found_.empty()) ReadBest(begin);
    for (const uint32_t local : found_) sums_[local] = Sum();
    found_.clear();
  }

  void AddRests() {
    double rest = 0;
    uint32_t mask = 0;
    for (size_t i = here_.size(); i-- > 0;) {
      const ScanList& list = here_[i].cursor->list();
      // The lists of one word never add more than its worth.
      float& of_word = word_rest_[list.word];
      const float more = std::min(of_word + list.max, scan_.word_max[list.word]);
      rest += static_cast<double>(std::max(more - of_word, 0.0f));
      of_word = std::max(of_word, more);
      mask |= ScoreBound::MaskOf(list.word);
      here_[i].rest = rest;
      here_[i].rest_mask = mask;
    }
    for (const Here& here : here_) word_rest_[here.cursor->list().word] = 0;
  }

  const uint8_t* CodesOf(const ScanList& list, DocId begin) const {
    return list.by_length == nullptr ? nullptr
                                     : scan_.length_codes(list.field, begin / kCodesDocuments);
  }

  // Calls sink(local, float) with what the list adds to each document of the block.
  template <typename Sink>
  void ForEachAdded(ListCursor& cursor, DocId begin, uint64_t end, Sink&& sink) {
    const ScanList& list = cursor.list();
    const Adding adding(list, CodesOf(list, begin), begin);
    if (adding.is_constant()) {
      const float added = adding.Constant();
      cursor.ForEachBefore(end, [&](DocId docid, size_t) { sink(docid - begin, added); });
    } else if (list.counts.empty()) {
      cursor.ForEachBefore(
          end, [&](DocId docid, size_t) { sink(docid - begin, adding.ByLength(docid - begin)); });
    } else {
      cursor.ForEachBefore(end, [&](DocId docid, size_t index) {
        sink(docid - begin, adding.OfRepeats(docid - begin, index));
      });
    }
    StopPoint();
  }

  // Adds an essential list.
  void Collect(ListCursor& cursor, DocId begin, uint64_t end) {
    const uint32_t mask = ScoreBound::MaskOf(cursor.list().word);
    ForEachAdded(cursor, begin, end, [&](uint32_t local, float added) {
      Sum& sum = sums_[local];
      if (sum.sum == 0) {
        if (few_ && !few_->Contains(begin + local)) return;
        found_.push_back(local);
      }
      sum.sum += added;
      sum.mask |= mask;
    });
  }

  // Adds another list to the documents found so far that can still get the minimum.
  void Refine(const Here& here, DocId begin, uint64_t end) {
    std::erase_if(found_, [&](uint32_t local) {
      Sum& sum = sums_[local];
      if (scan_.bound.Got(static_cast<double>(sum.sum) + here.rest, sum.mask | here.rest_mask) >=
          got_min_)
        return false;
      sum = Sum();
      return true;
    });
    ListCursor& cursor = *here.cursor;
    const ScanList& list = cursor.list();
    const uint32_t mask = ScoreBound::MaskOf(list.word);
    const auto add = [&](uint32_t local, float added) {
      Sum& sum = sums_[local];
      if (sum.sum == 0) return;
      sum.sum += added;
      sum.mask |= mask;
    };
    if (found_.size() * kLookupCost >= cursor.count_in_block())
      return ForEachAdded(cursor, begin, end, add);
    const Adding adding(list, CodesOf(list, begin), begin);
    for (const uint32_t local : found_) {
      const int64_t index = cursor.Find(begin + local);
      if (index >= 0) add(local, adding.Of(local, static_cast<size_t>(index)));
    }
  }

  // Reads the documents found, best first, as long as they can get the minimum.
  void ReadBest(DocId begin) {
    heap_.clear();
    for (const uint32_t local : found_) {
      const Sum& sum = sums_[local];
      const double got = scan_.bound.Got(static_cast<double>(sum.sum), sum.mask);
      if (got >= got_min_) heap_.emplace_back(static_cast<float>(got), local);
    }
    std::make_heap(heap_.begin(), heap_.end());
    size_t batch_max = 32;
    while (!heap_.empty()) {
      batch_.clear();
      got_min_ = scan_.got_min() * kMargin;
      const auto reaches = [&] { return static_cast<double>(heap_[0].first) >= got_min_; };
      while (!heap_.empty() && batch_.size() < batch_max && reaches()) {
        std::pop_heap(heap_.begin(), heap_.end());
        const DocId docid = begin + heap_.back().second;
        heap_.pop_back();
        if ((few_ || scan_.candidates.Contains(docid)) &&
            !std::binary_search(read_first_.begin(), read_first_.end(), docid))
          batch_.push_back(docid);
      }
      const bool last = heap_.empty() || !reaches();
      std::sort(batch_.begin(), batch_.end());
      if (!batch_.empty()) read_(batch_);
      if (last) return;
      batch_max = std::min<size_t>(batch_max * 2, 4096);
    }
  }

  const Scan& scan_;
  const std::function<void(std::span<const DocId>)>& read_;
  std::vector<std::unique_ptr<ListCursor>> cursors_;  // by bound per document, descending
  std::optional<DocBits> few_;                        // the candidates, if they are few
  double got_min_ = 0;                                // in the current block
  std::vector<Sum> sums_;                             // by position in the block
  std::vector<uint32_t> found_;                       // positions whose sum is not 0
  std::vector<Here> here_;                            // in the order of cursors_
  std::vector<float> word_rest_;                      // by word; 0 between calls
  std::vector<std::pair<float, uint32_t>> heap_;      // bound and position of those to be read
  std::vector<DocId> batch_;
  std::vector<DocId> read_first_;  // ascending
};

}  // namespace

void ScanBlocks(const Scan& scan, const std::function<void(std::span<const DocId>)>& read) {
  BlockScan(scan, read).Run();
}

}  // namespace gannet::search
