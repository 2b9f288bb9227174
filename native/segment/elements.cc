#include "segment/elements.h"

namespace gannet::segment {

Result<ElementColumn> ElementColumn::Open(std::string_view blob, uint64_t elements) {
  const Status damaged = Status::Corruption("a column of elements is damaged");
  constexpr size_t kFooterBytes = 2 * sizeof(uint64_t);
  if (blob.size() < kFooterBytes) return damaged;
  const char* const footer = blob.data() + blob.size() - kFooterBytes;
  const auto codes = LoadFixed<uint64_t>(footer), form = LoadFixed<uint64_t>(footer + 8);
  ElementColumn column;
  column.listed_ = (form & 8) != 0;
  column.width_ = static_cast<uint32_t>(form & 7);
  const bool known = form < 16 && (column.width_ == 1 || column.width_ == 2 || column.width_ == 4);
  if (!known || codes > blob.size()) return damaged;
  const uint64_t listed_bytes = column.listed_ ? codes * sizeof(uint32_t) : 0;
  const uint64_t bytes = listed_bytes + codes * column.width_;
  if ((bytes + 7) / 8 * 8 + kFooterBytes != blob.size()) return damaged;
  column.elements_ = AsSpan<uint32_t>(blob.substr(0, listed_bytes));
  column.codes_ = blob.data() + listed_bytes;
  const bool fits = column.listed_
                        ? std::is_sorted(column.elements_.begin(), column.elements_.end()) &&
                              (codes == 0 || column.elements_.back() < elements)
                        : codes == elements;
  if (!fits) return damaged;
  return column;
}

}  // namespace gannet::segment
