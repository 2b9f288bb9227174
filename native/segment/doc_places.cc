#include "segment/doc_places.h"

#include <algorithm>
#include <bit>

namespace gannet::segment {

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
