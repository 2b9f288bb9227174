#include "segment/train_dictionary.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace gannet::segment {
namespace {

// Size of the substrings that are counted. LZ4 finds four bytes already, but a match pays only from
// about six.
constexpr size_t kGramBytes = 8;
// Bytes of a segment. With 4 MB of rows of the catalogue and of packages, 32 left 2 and 6 % more
// bytes than 128; 64 and 512 left up to 2 % more.
constexpr size_t kSegmentBytes = 128;
constexpr int kHashBitsMax = 20;
// Passes over the text to fill the dictionary.
constexpr int kPasses = 3;

// The number of rows in which each substring occurs, not counting the first. Substrings with the
// same hash are counted together.
class Worths {
 public:
  Worths(std::string_view rows, std::span<const size_t> ends)
      : bits_(std::clamp(static_cast<int>(std::bit_width(rows.size())), 8, kHashBitsMax)),
        worths_(size_t{1} << bits_) {
    std::vector<uint32_t> last(worths_.size());  // row + 1
    size_t begin = 0;
    for (uint32_t row = 0; row < ends.size(); begin = ends[row++]) {
      for (size_t at = begin; at + kGramBytes <= ends[row]; ++at) {
        const uint32_t gram = GramAt(rows, at);
        if (last[gram] == row + 1) continue;
        if (last[gram] != 0) ++worths_[gram];
        last[gram] = row + 1;
      }
    }
  }
  uint32_t GramAt(std::string_view rows, size_t at) const {
    return static_cast<uint32_t>(LoadFixed<uint64_t>(rows.data() + at) * 0x9e3779b97f4a7c15 >>
                                 (64 - bits_));
  }
  uint32_t& operator[](uint32_t gram) { return worths_[gram]; }
  size_t size() const { return worths_.size(); }

 private:
  int bits_;
  std::vector<uint32_t> worths_;
};

}  // namespace

std::string TrainDictionary(std::string_view rows, std::span<const size_t> ends) {
  if (rows.size() <= kRowDictionaryBytes) return std::string(rows);
  Worths worths(rows, ends);
  std::vector<uint16_t> held(worths.size());  // how often the current segment has the substring
  std::vector<std::pair<uint64_t, std::string_view>> chosen;
  constexpr size_t kStretches = kRowDictionaryBytes / kSegmentBytes;
  const size_t stretch = rows.size() / kStretches, grams_end = rows.size() - kGramBytes + 1;
  size_t total = 0;
  for (size_t i = 0; i < kStretches * kPasses && total < kRowDictionaryBytes; ++i) {
    const size_t begin = i % kStretches * stretch,
                 end = std::min(begin + std::max(stretch, kSegmentBytes), grams_end);
    uint64_t worth = 0, best = 0;
    size_t best_end = begin;  // the last substring of the best segment, plus 1
    size_t from = begin;
    for (size_t at = begin; at < end; ++at) {
      const uint32_t gram = worths.GramAt(rows, at);
      if (held[gram]++ == 0) worth += worths[gram];
      if (at - from + kGramBytes > kSegmentBytes) {
        const uint32_t left = worths.GramAt(rows, from++);
        if (--held[left] == 0) worth -= worths[left];
      }
      if (worth > best) {
        best = worth;
        best_end = at + 1;
      }
    }
    for (; from < end; ++from) held[worths.GramAt(rows, from)] = 0;
    if (best == 0) continue;
    // Drops the ends that occur nowhere else.
    size_t first = best_end - std::min(best_end - begin, kSegmentBytes - kGramBytes + 1),
           last = best_end - 1;
    while (worths[worths.GramAt(rows, first)] == 0) ++first;
    while (worths[worths.GramAt(rows, last)] == 0) --last;
    for (size_t at = first; at <= last; ++at) worths[worths.GramAt(rows, at)] = 0;
    chosen.emplace_back(best, rows.substr(first, last - first + kGramBytes));
    total += chosen.back().second.size();
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string dictionary;
  for (const auto& [worth, segment] : chosen) dictionary += segment;
  if (dictionary.size() > kRowDictionaryBytes)
    dictionary.erase(0, dictionary.size() - kRowDictionaryBytes);
  return dictionary;
}

}  // namespace gannet::segment
