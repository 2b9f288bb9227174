#include "fst/fst.h"

#include <algorithm>
#include <cassert>

#include "base/bytes.h"

namespace gannet::fst {

Result<Fst> Fst::Open(std::string_view bytes) {
  if (bytes.size() < kFileHeaderBytes + kPaddingBytes || bytes.substr(0, 4) != kMagic) {
    return Status::Corruption("fst: not a dictionary");
  }
  Fst fst;
  fst.size_ = LoadFixed<uint32_t>(bytes.data() + 4);
  const uint32_t node_bytes = LoadFixed<uint32_t>(bytes.data() + 8);
  if (bytes.size() != kFileHeaderBytes + size_t{node_bytes} + kPaddingBytes) {
    return Status::Corruption("fst: wrong length");
  }
  fst.nodes_ = bytes.substr(kFileHeaderBytes, node_bytes);
  // A dictionary without nodes holds the empty word or nothing.
  if (node_bytes == 0 ? fst.size_ > 1 : fst.size_ == 0)
    return Status::Corruption("fst: wrong size");
  fst.root_ = node_bytes == 0 ? kLeaf : 0;
  Node root;
  if (fst.size_ > 0 && !fst.Root(root)) return Status::Corruption("fst: no root");
  return fst;
}

// Nodes are adjacent and point forward only: one pass finds where they begin, a second one from
// back to front knows the children of each.
Status Fst::Verify() const {
  std::vector<NodeOffset> offsets;
  for (size_t at = 0; at < nodes_.size();) {
    Node node;
    if (!Node::Decode(nodes_, static_cast<NodeOffset>(at), node)) {
      return Status::Corruption("fst: node outside the nodes");
    }
    offsets.push_back(static_cast<NodeOffset>(at));
    at = node.end;
  }
  struct Below {
    uint64_t words;
    size_t height;
  };
  std::vector<Below> below(offsets.size());
  for (size_t i = offsets.size(); i-- > 0;) {
    Node node;
    Node::Decode(nodes_, offsets[i], node);
    Below& own = below[i];
    own = {node.final, 0};
    for (uint32_t arc = 0; arc < node.arc_count; ++arc) {
      if (arc > 0 && node.labels[arc - 1] >= node.labels[arc]) {
        return Status::Corruption("fst: labels out of order");
      }
      if (node.WordsBefore(arc) != own.words) return Status::Corruption("fst: wrong word count");
      Below child{1, 0};
      if (const NodeOffset target = node.Target(arc); target != kLeaf) {
        const auto found = std::lower_bound(offsets.begin(), offsets.end(), target);
        if (found == offsets.end() || *found != target) {
          return Status::Corruption("fst: arc to no node");
        }
        child = below[static_cast<size_t>(found - offsets.begin())];
      }
      own.words += child.words;
      own.height = std::max(own.height, child.height + 1);
    }
    if (own.words > UINT32_MAX) return Status::Corruption("fst: too many words");
  }
  if (!below.empty() && below[0].words != size_) return Status::Corruption("fst: wrong size");
  if (!below.empty() && below[0].height > kWordBytesMax) return Status::Corruption("fst: too deep");
  return {};
}

std::optional<uint32_t> Fst::Find(std::string_view word) const {
  Node node;
  if (!Root(node)) return std::nullopt;
  uint32_t ordinal = 0;
  for (const char byte : word) {
    const uint32_t arc = node.FindArc(static_cast<uint8_t>(byte));
    if (arc == node.arc_count) return std::nullopt;
    ordinal += node.WordsBefore(arc);
    if (!Child(node, arc, node)) return std::nullopt;
  }
  if (!node.final || ordinal >= size_) return std::nullopt;
  return ordinal;
}

std::pair<uint32_t, uint32_t> Fst::PrefixRange(std::string_view prefix) const {
  Node node;
  if (!Root(node)) return {0, 0};
  uint32_t begin = 0, end = size_;
  for (const char byte : prefix) {
    const uint32_t arc = node.FindArc(static_cast<uint8_t>(byte));
    if (arc == node.arc_count) return {0, 0};
    if (arc + 1 < node.arc_count) end = begin + node.WordsBefore(arc + 1);
    begin += node.WordsBefore(arc);
    if (!Child(node, arc, node)) return {0, 0};
  }
  if (begin >= end || end > size_) return {0, 0};
  return {begin, end};
}

std::string Fst::Word(uint32_t ordinal) const {
  std::string out;
  Word(ordinal, out);
  return out;
}

void Fst::Word(uint32_t ordinal, std::string& out) const {
  assert(ordinal < size_);
  out.clear();
  Node node;
  if (!Root(node)) return;
  uint32_t rank = ordinal;
  while (rank >= node.final && node.arc_count > 0 && out.size() < kWordBytesMax) {
    const uint32_t arc = node.ArcOfRank(rank);
    rank -= std::min(rank, node.WordsBefore(arc));
    out.push_back(static_cast<char>(node.labels[arc]));
    if (!Child(node, arc, node)) return;
  }
}

Fst::Iterator Fst::Begin() const { return Seek({}); }

Fst::Iterator Fst::Seek(std::string_view from) const {
  Iterator it(*this);
  Node root;
  if (!Root(root)) return it;
  it.path_.push_back({root, 0});
  uint32_t begin = 0, end = size_;  // ordinals below the node reached
  for (const char byte : from) {
    const auto label = static_cast<uint8_t>(byte);
    const Node node = it.path_.back().node;
    const uint32_t arc = node.LowerBound(label);
    if (arc == node.arc_count || node.labels[arc] != label) {
      it.path_.back().arc = arc;
      it.ordinal_ = arc == node.arc_count ? end : begin + node.WordsBefore(arc);
      it.ToNextFinal();
      return it;
    }
    if (arc + 1 < node.arc_count) end = begin + node.WordsBefore(arc + 1);
    begin += node.WordsBefore(arc);
    if (!it.Descend(arc)) return it;
  }
  it.ordinal_ = begin;
  if (it.path_.back().node.final) {
    it.valid_ = begin < size_;
  } else {
    it.ToNextFinal();
  }
  return it;
}

Fst::Iterator Fst::SeekOrdinal(uint32_t ordinal) const {
  Iterator it(*this);
  Node root;
  if (ordinal >= size_ || !Root(root)) return it;
  it.path_.push_back({root, 0});
  it.ordinal_ = ordinal;
  uint32_t rank = ordinal;
  for (;;) {
    const Node& node = it.path_.back().node;
    if (rank < node.final) break;
    if (node.arc_count == 0) return it;  // damaged: fewer words here than counted
    const uint32_t arc = node.ArcOfRank(rank);
    rank -= std::min(rank, node.WordsBefore(arc));
    if (!it.Descend(arc)) return it;
  }
  it.valid_ = true;
  return it;
}

void Fst::Iterator::Next() {
  assert(valid_);
  ++ordinal_;
  ToNextFinal();
}

// Takes `arc` of the top node. False: the bytes are damaged, and nothing has changed.
bool Fst::Iterator::Descend(uint32_t arc) {
  Frame& frame = path_.back();
  Frame child{{}, 0};
  if (word_.size() >= kWordBytesMax || !fst_.Child(frame.node, arc, child.node)) return false;
  frame.arc = arc + 1;
  word_.push_back(static_cast<char>(frame.node.labels[arc]));
  path_.push_back(child);
  return true;
}

// Moves to the next final node in the order of the walk, after the top node.
void Fst::Iterator::ToNextFinal() {
  valid_ = false;
  if (ordinal_ >= fst_.size_) return;
  for (;;) {
    const Frame& frame = path_.back();
    if (frame.arc == frame.node.arc_count) {
      path_.pop_back();
      if (path_.empty()) return;
      word_.pop_back();
      continue;
    }
    if (!Descend(frame.arc)) return;
    if (path_.back().node.final) {
      valid_ = true;
      return;
    }
  }
}

}  // namespace gannet::fst
