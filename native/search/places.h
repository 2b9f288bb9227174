// Finding where the words of a query stand in one document, from its forward record.
//
// A role is what a word is to the query: a derivation of some node, a word of some phrase. The map says
// which ordinals of one segment have which roles; a scan reads a record once and reports each occurrence. A bitset
// over the dictionary rejects the words that have none, at about a nanosecond each.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "segment/text.h"

namespace gannet::search {

using Role = uint16_t;

// field * 65536 + position: places of one field are adjacent, and in order.
using Place = uint32_t;
inline constexpr Place MakePlace(FieldId field, uint32_t position) {
  return Place{field} << 16 | (position & 0xffff);
}
inline constexpr FieldId FieldOf(Place place) { return static_cast<FieldId>(place >> 16); }
inline constexpr uint32_t PositionOf(Place place) { return place & 0xffff; }

class RoleMap {
 public:
  explicit RoleMap(const segment::TextReader& text)
      : text_(text), bits_((text.terms().size() + 63) / 64) {}

  void Add(Ordinal ordinal, Role role);
  void AddRange(Ordinal begin, Ordinal end, Role role);

  // Calls sink(Role, Ordinal, Place) for each occurrence of a word with a role, field by field, in order.
  template <typename Sink>
  void Scan(std::string_view record, Sink&& sink) const {
    text_.ForEachRun(
        record, [](FieldId, uint32_t) {},
        [&](FieldId field, uint32_t position, const segment::PackedOrdinals& run) {
          const uint64_t mask = (uint64_t{1} << run.width) - 1;
          uint64_t bit = run.bit;
          for (uint32_t i = 0; i < run.count; ++i, bit += run.width) {
            const auto ordinal =
                static_cast<Ordinal>(LoadFixed<uint64_t>(run.data + (bit >> 3)) >> (bit & 7) & mask);
            if (ordinal / 64 < bits_.size() && (bits_[ordinal / 64] >> (ordinal % 64) & 1) != 0) {
              const Place place = MakePlace(field, position + i);
              Report(ordinal, [&](Role role) { sink(role, ordinal, place); });
            }
          }
        });
  }

  const segment::TextReader& text() const { return text_; }

 private:
  struct Entry {
    Ordinal ordinal;
    Role role;
  };
  struct Range {
    Ordinal begin, end;
    Role role;
  };
  template <typename Sink>
  void Report(Ordinal ordinal, Sink&& sink) const {
    for (const Range& range : ranges_) {
      if (ordinal >= range.begin && ordinal < range.end) sink(range.role);
    }
    if (entries_.empty()) return;
    for (uint32_t at = heads_[ordinal & (heads_.size() - 1)]; at != 0; at = next_[at - 1]) {
      if (entries_[at - 1].ordinal == ordinal) sink(entries_[at - 1].role);
    }
  }

  const segment::TextReader& text_;
  std::vector<uint64_t> bits_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> heads_ = std::vector<uint32_t>(256), next_;  // chains by ordinal
  std::vector<Range> ranges_;
};

}  // namespace gannet::search
