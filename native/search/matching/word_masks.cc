#include "search/matching/word_masks.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace gannet::search {
namespace {

// `bits` shifted up by `by`, with the bits carried from the previous block.
uint64_t Shifted(uint64_t bits, uint64_t before, uint32_t by) {
  return bits << by | before >> (64 - by);
}

}  // namespace

WordMasks::WordMasks(const segment::TextReader& text, size_t roles)
    : text_(text),
      sets_(roles, OrdinalSet(text.terms().size())),
      used_(roles),
      any_of_many_(text.terms().size()) {}

void WordMasks::AddRange(Role role, Ordinal begin, Ordinal end) {
  if (begin >= end) return;
  sets_[role].Add(begin, end);
  used_[role] = true;
}

void WordMasks::Seal() {
  for (size_t role = 0; role < sets_.size(); ++role) {
    if (!used_[role]) continue;
    sets_[role].Order();
    const auto& ranges = sets_[role].ranges;
    if (few_.size() + ranges.size() > kRoleRangesMax) {
      many_.push_back(static_cast<Role>(role));
    } else {
      for (const auto& [begin, end] : ranges) few_.push_back({begin, end, static_cast<Role>(role)});
    }
  }
  if (many_.size() == 1) sets_[many_[0]].Seal();
  if (many_.size() < 2) return;
  for (const Role role : many_) {
    for (const auto& [begin, end] : sets_[role].ranges) any_of_many_.Add(begin, end);
  }
  any_of_many_.Seal();
}

bool WordMasks::Read(std::string_view record) {
  blocks_ = 0;
  runs_read_ = false;
  if (!text_.OpenRecord(record, document_)) {
    document_ = {};
    return false;
  }
  const segment::PackedOrdinals& words = document_.words;
  blocks_ = (words.count + kBits - 1) / kBits;
  if (blocks_ > blocks_max_) {
    blocks_max_ = blocks_;
    masks_.assign(sets_.size() * blocks_max_, 0);
  }
  static_assert(OrdinalSet::kBlock == kBits);
  Ordinal ordinals[kBits];
  MatchRoles(few_, words, masks_.data(), blocks_max_);
  if (many_.empty()) return true;
  const bool one = many_.size() == 1;
  const OrdinalSet& set = one ? sets_[many_[0]] : any_of_many_;
  for (uint32_t at = 0; at < words.count; at += kBits) {
    const uint32_t count = std::min<uint32_t>(kBits, words.count - at);
    uint64_t found =
        set.Match(words.data, uint64_t{at} * words.width, count, words.width, ordinals);
    uint64_t* const masks = masks_.data() + at / kBits;
    for (const Role role : many_) masks[role * blocks_max_] = one ? found : 0;
    for (found = one ? 0 : found; found != 0; found &= found - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(found));
      for (const Role role : many_)
        masks[role * blocks_max_] |= uint64_t{sets_[role].Has(ordinals[i])} << i;
    }
  }
  return true;
}

void WordMasks::ReadRuns() {
  runs_read_ = true;
  const uint32_t count = document_.words.count;
  // No record has more runs than words.
  if (runs_.size() < count) runs_.resize(count);
  if (starts_.size() < blocks_ * kStarts) starts_.resize(blocks_ * kStarts);
  uint64_t* const starts = starts_.data();
  for (size_t i = 0; i < blocks_ * kStarts; ++i) starts[i] = 0;
  const auto start = [&](uint32_t word, size_t kind) {
    starts[word / kBits * kStarts + kind] |= uint64_t{1} << word % kBits;
  };
  Run* const runs = runs_.data();
  Run* run = runs;
  FieldId field = 0;
  uint32_t field_begin = 0;
  ByteReader head(document_.head);
  while (!head.done()) {
    field = static_cast<FieldId>(field + head.Varint());
    const uint64_t words = head.Varint();
    ByteReader breaks(head.LengthPrefixed());
    if (!head.ok() || words > count - field_begin) return Refuse();
    const auto field_end = field_begin + static_cast<uint32_t>(words);
    uint32_t begin = field_begin, position = 0;
    uint64_t left_out = 0;  // positions before the run
    const auto add_run = [&](uint32_t end) {
      if (begin >= end) return;
      start(begin, 0);
      if (begin > field_begin && left_out < kStarts) start(begin, left_out);
      *run++ = {begin, end, field, position};
      position += end - begin;
      begin = end;
      left_out = 0;
    };
    while (!breaks.done()) {
      const uint64_t length = breaks.Varint();
      const uint64_t gap = breaks.Varint();
      if (!breaks.ok() || length >= field_end - begin) return Refuse();
      add_run(begin + static_cast<uint32_t>(length));
      position += static_cast<uint32_t>(gap);
      left_out += gap;
    }
    add_run(field_end);
    field_begin = field_end;
  }
  if (!head.ok() || !head.done() || field_begin != count) return Refuse();
  run_count_ = static_cast<size_t>(run - runs);
}

void WordMasks::Refuse() {
  text_.file()->MarkCorrupt();
  run_count_ = 0;
}

std::span<const WordMasks::Run> WordMasks::runs() {
  if (!runs_read_) ReadRuns();
  return {runs_.data(), run_count_};
}

uint32_t WordMasks::Distance(Role left, Role right) {
  if (!used_[left] || !used_[right]) return kFar;
  const uint64_t* a = MaskOf(left);
  const uint64_t* b = MaskOf(right);
  uint32_t distance = kFar;
  uint64_t before = 0;
  for (size_t w = 0; w < blocks_; before = a[w++]) {
    const uint64_t by_one = Shifted(a[w], before, 1), by_two = Shifted(a[w], before, 2),
                   by_three = Shifted(a[w], before, 3);
    if (((by_one | by_two | by_three) & b[w]) == 0) continue;
    if (!runs_read_) ReadRuns();
    // In one run, the distance of words is that of their bits. Positions skipped between runs add
    // to it; a distance of three cannot contain two such gaps.
    const uint64_t* starts = starts_.data() + w * kStarts;
    const uint64_t inside = ~starts[0], inside_before = w > 0 ? ~*(starts - kStarts) : 0;
    if ((by_one & b[w] & inside) != 0) return 1;
    const uint64_t inside_one = Shifted(inside, inside_before, 1),
                   inside_two = Shifted(inside, inside_before, 2);
    const uint64_t one_left_out = starts[1], two_left_out = starts[2];
    const uint64_t two = (by_two & inside & inside_one) | (by_one & one_left_out);
    if ((two & b[w]) != 0) {
      distance = 2;
      continue;
    }
    if (distance <= 3) continue;
    const uint64_t one_before = Shifted(one_left_out, w > 0 ? *(starts - kStarts + 1) : 0, 1);
    const uint64_t three = (by_three & inside & inside_one & inside_two) |
                           (by_two & ((one_left_out & inside_one) | (one_before & inside))) |
                           (by_one & two_left_out);
    if ((three & b[w]) != 0) distance = 3;
  }
  return distance;
}

uint32_t WordMasks::First(Role role, uint32_t begin, uint32_t end) const {
  if (!used_[role] || begin >= end) return kNone;
  const uint64_t* mask = MaskOf(role);
  uint64_t bits = mask[begin / kBits] & ~uint64_t{0} << begin % kBits;
  for (uint32_t w = begin / kBits;;) {
    if (bits != 0) {
      const uint32_t word = w * kBits + static_cast<uint32_t>(std::countr_zero(bits));
      return word < end ? word : kNone;
    }
    if (++w * kBits >= end) return kNone;
    bits = mask[w];
  }
}

uint32_t WordMasks::Last(Role role, uint32_t begin, uint32_t end) const {
  if (!used_[role] || begin >= end) return kNone;
  const uint64_t* mask = MaskOf(role);
  uint32_t w = (end - 1) / kBits;
  uint64_t bits = mask[w] & ~uint64_t{0} >> (kBits - 1 - (end - 1) % kBits);
  while (true) {
    if (bits != 0) {
      const uint32_t word = w * kBits + kBits - 1 - static_cast<uint32_t>(std::countl_zero(bits));
      return word >= begin ? word : kNone;
    }
    if (w-- <= begin / kBits) return kNone;
    bits = mask[w];
  }
}

}  // namespace gannet::search
