#include "fst/builder.h"

#include <algorithm>
#include <cassert>

#include "base/bytes.h"
#include "fst/node.h"

namespace gannet::fst {
namespace {

constexpr size_t kSlotsMin = 1024;

uint32_t BytesFor(uint32_t value) {
  return value < 1u << 8 ? 1 : value < 1u << 16 ? 2 : value < 1u << 24 ? 3 : 4;
}

void PutNumber(std::string& out, uint32_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i));
}

}  // namespace

Builder::Builder() : path_(1), slots_(kSlotsMin) {}

void Builder::Add(std::string_view word) {
  assert(word.size() <= kWordBytesMax);
  assert(count_ == 0 || last_ < word);
  const size_t shared = static_cast<size_t>(
      std::mismatch(word.begin(), word.end(), last_.begin(), last_.end()).first - word.begin());
  FreezeDownTo(shared);
  depth_ = word.size();
  if (path_.size() <= depth_) path_.resize(depth_ + 1);
  path_[depth_].final = true;
  path_[depth_].words = 1;
  last_.assign(word);
  ++count_;
}

std::string Builder::Finish() {
  FreezeDownTo(0);
  if (count_ > 0) Freeze(path_[0]);
  std::string out(kMagic, 4);
  out.reserve(kFileHeaderBytes + reversed_.size() + kPaddingBytes);
  PutFixed(out, static_cast<uint32_t>(count_));
  PutFixed(out, static_cast<uint32_t>(reversed_.size()));
  out.append(reversed_.rbegin(), reversed_.rend());
  out.append(kPaddingBytes, '\0');
  *this = Builder();
  return out;
}

// Writes the nodes of the last word below `depth` and attaches each to its parent.
void Builder::FreezeDownTo(size_t depth) {
  for (; depth_ > depth; --depth_) {
    Open& node = path_[depth_];
    Open& parent = path_[depth_ - 1];
    Address address = 0;
    if (!node.arcs.empty()) address = Freeze(node);
    parent.arcs.push_back({address, static_cast<uint8_t>(last_[depth_ - 1])});
    parent.words_before.push_back(parent.words);
    parent.words += node.words;
    node.arcs.clear();
    node.words_before.clear();
    node.words = 0;
    node.final = false;
  }
}

// The address of the written node equal to `node`, which is written if there is none.
Builder::Address Builder::Freeze(const Open& node) {
  uint64_t hash = node.final;
  for (const Arc& arc : node.arcs) {
    hash = (hash ^ (uint64_t{arc.target} << 8 | arc.label)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  const auto short_hash = static_cast<uint32_t>(hash);
  size_t slot = short_hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Frozen& known = frozen_[slots_[slot] - 1];
    if (known.hash == short_hash && known.final == node.final &&
        known.arc_count == node.arcs.size() &&
        std::equal(node.arcs.begin(), node.arcs.end(), frozen_arcs_.begin() + known.first_arc)) {
      return known.address;
    }
  }
  frozen_.push_back({short_hash, node.arcs.empty() ? 0 : Write(node),
                     static_cast<uint32_t>(frozen_arcs_.size()),
                     static_cast<uint16_t>(node.arcs.size()), node.final});
  frozen_arcs_.insert(frozen_arcs_.end(), node.arcs.begin(), node.arcs.end());
  slots_[slot] = static_cast<uint32_t>(frozen_.size());
  if (frozen_.size() * 2 > slots_.size()) GrowRegister();
  return frozen_.back().address;
}

void Builder::GrowRegister() {
  slots_.assign(slots_.size() * 2, 0);
  for (size_t i = 0; i < frozen_.size(); ++i) {
    size_t slot = frozen_[i].hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

// Appends `node`, last byte first. In the finished order it ends where reversed_ ends now, and a
// child begins at its address: their difference is the distance stored.
Builder::Address Builder::Write(const Open& node) {
  const auto arc_count = static_cast<uint32_t>(node.arcs.size());
  const auto here = static_cast<Address>(reversed_.size());
  const auto stored = [&](const Arc& arc) { return arc.target == 0 ? 0 : here - arc.target + 1; };
  uint32_t target_bytes = 0;
  for (const Arc& arc : node.arcs) {
    if (arc.target != 0) target_bytes = std::max(target_bytes, BytesFor(stored(arc)));
  }
  if (arc_count == 1 && node.arcs[0].target == here && here != 0) target_bytes = Node::kTargetsNext;
  const uint32_t count_bytes = arc_count == 1 ? 1 : BytesFor(node.words_before.back());

  scratch_.clear();
  scratch_.push_back(static_cast<char>((node.final ? 0x80 : 0) | target_bytes << 4 |
                                       (count_bytes - 1) << 2 | (arc_count <= 3 ? arc_count : 0)));
  if (arc_count > 3) scratch_.push_back(static_cast<char>(arc_count - 1));
  for (const Arc& arc : node.arcs) scratch_.push_back(static_cast<char>(arc.label));
  if (target_bytes >= 1 && target_bytes <= 4) {
    for (const Arc& arc : node.arcs) PutNumber(scratch_, stored(arc), target_bytes);
  }
  for (uint32_t i = 1; i < arc_count; ++i) {
    PutNumber(scratch_, node.words_before[i], count_bytes);
  }
  reversed_.append(scratch_.rbegin(), scratch_.rend());
  assert(reversed_.size() < UINT32_MAX);
  return static_cast<Address>(reversed_.size());
}

}  // namespace gannet::fst
