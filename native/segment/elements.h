// Values by element, for conditions on one element of an array (docs/behaviour/filters.md).
//
// The objects at a path are elements. A segment numbers those of each path in the order of its
// documents. For each field below the path, an element column says which of the values of the
// field's column (columns.h) an element has, or how it lacks one. An element map says where the
// elements of each document begin, or those of each element of another path around them
// (packed_offsets.h).
//
// Bytes of an element column: if listed, u32 element of each entry, ascending; the codes, of each
// entry or else of each element; zeros up to a multiple of 8; u64 codes; u64 width of a code (1, 2
// or 4), plus 8 if listed. Columns are listed where elements have several entries, or few have one.
//
// Threads: immutable and shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace gannet::segment {

// A code: one of these, or a value's ordinal in the column of the field, plus kFirst.
struct ElementCode {
  static constexpr uint32_t kNone = 0;     // the element does not have the field
  static constexpr uint32_t kPresent = 1;  // has it, with nothing of what follows
  static constexpr uint32_t kNull = 2;
  static constexpr uint32_t kEmpty = 3;  // "", [] or {}
  static constexpr uint32_t kFirst = 4;
};

// The width of a code for this number of values.
constexpr uint32_t CodeWidth(uint32_t values) {
  return values < 0xff ? 1 : values < 0xffff ? 2 : 4;
}

// Lifetime: borrows the bytes.
class ElementColumn {
 public:
  // Objects within each other that are counted as elements: fields of those further inside belong
  // to the outer ones alone.
  static constexpr size_t kDepthMax = 4;

  // Corruption: the sizes do not fit, or there are other elements than `elements`.
  static Result<ElementColumn> Open(std::string_view blob, uint64_t elements);

  // Calls sink(uint32_t element, uint32_t code) for the entries of elements [begin, end), ascending
  // by element.
  template <typename Sink>
  void ForEach(uint64_t begin, uint64_t end, Sink&& sink) const {
    if (!listed_) {
      for (uint64_t e = begin; e < end; ++e) {
        const uint32_t code = CodeAt(e);
        if (code != ElementCode::kNone) sink(static_cast<uint32_t>(e), code);
      }
      return;
    }
    const auto from = std::lower_bound(elements_.begin(), elements_.end(), begin);
    for (auto at = from; at != elements_.end() && *at < end; ++at)
      sink(*at, CodeAt(static_cast<size_t>(at - elements_.begin())));
  }

  // Removes the elements of which passes(code) is false for all entries; if `inverted`, those of
  // which it is true for one. REQUIRES: elements ascend; passes(ElementCode::kNone) is false
  template <typename Passes>
  void Keep(std::vector<uint32_t>& elements, bool inverted, const Passes& passes) const {
    switch (width_) {
      case 1: return Keep<uint8_t>(elements, inverted, passes);
      case 2: return Keep<uint16_t>(elements, inverted, passes);
      default: return Keep<uint32_t>(elements, inverted, passes);
    }
  }

 private:
  template <typename Code, typename Passes>
  void Keep(std::vector<uint32_t>& elements, bool inverted, const Passes& passes) const {
    const auto code_at = [codes = codes_](size_t i) -> uint32_t {
      return LoadFixed<Code>(codes + i * sizeof(Code));
    };
    size_t kept = 0;
    if (listed_) {
      auto at = elements_.begin();
      for (const uint32_t element : elements) {
        at = Find(at, element);
        bool passing = false;
        for (; at != elements_.end() && *at == element; ++at)
          passing |= passes(code_at(static_cast<size_t>(at - elements_.begin())));
        elements[kept] = element;
        kept += passing != inverted;
      }
    } else {
      // Without branches: most conditions are as good as random.
      for (const uint32_t element : elements) {
        elements[kept] = element;
        kept += passes(code_at(element)) != inverted;
      }
    }
    elements.resize(kept);
  }

  using Entry = std::span<const uint32_t>::iterator;
  // The first entry at or after `from` of an element at or after this one. Near ones are fast.
  Entry Find(Entry from, uint32_t element) const {
    std::ptrdiff_t step = 1;
    while (elements_.end() - from > step && from[step] < element) {
      from += step;
      step *= 2;
    }
    return std::lower_bound(from, from + std::min(step + 1, elements_.end() - from), element);
  }

  uint32_t CodeAt(size_t i) const {
    switch (width_) {
      case 1: return static_cast<uint8_t>(codes_[i]);
      case 2: return LoadFixed<uint16_t>(codes_ + i * 2);
      default: return LoadFixed<uint32_t>(codes_ + i * 4);
    }
  }

  std::span<const uint32_t> elements_;
  const char* codes_ = nullptr;
  uint32_t width_ = 1;
  bool listed_ = false;
};

// Writes an element column. elements: how many there are. values: of the column of the field.
// each(sink): calls sink(uint32_t element, uint32_t code) for all entries, ascending by element; it
// is called several times.
template <typename Each>
void WriteElementColumn(uint64_t elements, uint32_t values, const Each& each,
                        const std::function<void(std::string_view)>& out) {
  uint64_t entries = 0;
  int64_t last = -1;
  bool several = false;
  each([&](uint32_t element, uint32_t) {
    several |= last == int64_t{element};
    last = element;
    ++entries;
  });
  const uint32_t width = CodeWidth(values + ElementCode::kFirst);
  const bool listed = several || entries * (sizeof(uint32_t) + width) < elements * width;
  constexpr size_t kBytesAtOnce = 64 << 10;
  std::string bytes;
  uint64_t written = 0;
  const auto put = [&](uint32_t number, uint32_t size) {
    bytes.append(reinterpret_cast<const char*>(&number), size);
    written += size;
    if (bytes.size() < kBytesAtOnce) return;
    out(bytes);
    bytes.clear();
  };
  if (listed) each([&](uint32_t element, uint32_t) { put(element, sizeof(element)); });
  uint64_t next = 0;
  each([&](uint32_t element, uint32_t code) {
    for (; !listed && next < element; ++next) put(ElementCode::kNone, width);
    put(code, width);
    ++next;
  });
  for (; !listed && next < elements; ++next) put(ElementCode::kNone, width);
  while (written % 8 != 0) put(0, 1);
  PutFixed<uint64_t>(bytes, listed ? entries : elements);
  PutFixed<uint64_t>(bytes, width + (listed ? 8 : 0));
  out(bytes);
}

}  // namespace gannet::segment
