// One node of a stored dictionary, as bytes.
//
// A dictionary is a minimal acyclic automaton over bytes (Daciuk et al., "Incremental Construction
// of Minimal Acyclic Finite-State Automata", Computational Linguistics 26(1), 2000). Each arc
// stores how many words of its node come before it; their sum along a path is the ordinal of the
// word reached (Lucchesi & Kowaltowski, "Applications of Finite Automata Representing Large
// Vocabularies", 1993).
//
// File
//   "GFS1"  u32 words  u32 node_bytes  node_bytes of nodes, root first  3 zero bytes
// Node: header byte, then fields without padding, little-endian
//   bit 7     final: the path to this node is a word
//   bits 4-6  targets: 0 every target is the leaf; 1..4 bytes per target;
//             5 (one arc only) the target is the node right after this one
//   bits 2-3  bytes per count, less 1
//   bits 0-1  arc count 1..3; 0: the next byte is the arc count less 1
//   labels    a byte per arc, ascending
//   targets   0 the leaf (final, no arcs, not stored); else 1 + distance from this node's end
//   counts    for all arcs but the first: words of this node before the arc, `final` included
//
// Targets only point forward, so that no bytes can make a walk run in circles. The 3 bytes after
// the nodes allow 4-byte loads everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace gannet::fst {

inline constexpr char kMagic[] = "GFS1";
inline constexpr size_t kFileHeaderBytes = 12;
inline constexpr size_t kPaddingBytes = 3;
inline constexpr size_t kWordBytesMax = 1024;  // of any word; also the depth where every walk stops

// Offset of a node from the first one. The leaf has none.
using NodeOffset = uint32_t;
inline constexpr NodeOffset kLeaf = UINT32_MAX;

// A decoded node: points into the stored bytes.
struct Node {
  static constexpr uint8_t kTargetsNext = 5;

  const uint8_t* labels = nullptr;
  NodeOffset end = 0;  // first byte after the node
  uint16_t arc_count = 0;
  uint8_t target_bytes = 0;  // 0..4, or kTargetsNext
  uint8_t count_bytes = 1;
  bool final = true;

  // Decodes the node at `offset` of `nodes` (without padding, which must follow). False: it is not
  // within them; the node is then unusable.
  static bool Decode(std::string_view nodes, NodeOffset offset, Node& node) {
    if (offset == kLeaf) {
      node = Node{};
      return true;
    }
    if (offset + size_t{2} > nodes.size()) return false;
    const auto* at = reinterpret_cast<const uint8_t*>(nodes.data()) + offset;
    const uint8_t header = *at++;
    uint32_t arc_count = header & 3;
    if (arc_count == 0) arc_count = uint32_t{*at++} + 1;
    node.labels = at;
    node.arc_count = static_cast<uint16_t>(arc_count);
    node.target_bytes = header >> 4 & 7;
    node.count_bytes = static_cast<uint8_t>((header >> 2 & 3) + 1);
    node.final = header >> 7;
    if (node.target_bytes > 4 && (node.target_bytes != kTargetsNext || arc_count != 1))
      return false;
    const size_t bytes = arc_count + arc_count * node.stored_target_bytes() +
                         (arc_count - 1) * size_t{node.count_bytes};
    const size_t end =
        static_cast<size_t>(at - reinterpret_cast<const uint8_t*>(nodes.data())) + bytes;
    node.end = static_cast<NodeOffset>(end);
    return end <= nodes.size();
  }

  // REQUIRES, for the members below: arc < arc_count

  // May be outside the nodes when the bytes are damaged: Decode detects that.
  NodeOffset Target(uint32_t arc) const {
    if (target_bytes == 0) return kLeaf;
    if (target_bytes == kTargetsNext) return end;
    const uint32_t stored = Load(labels + arc_count + arc * target_bytes, target_bytes);
    if (stored == 0) return kLeaf;
    const uint64_t target = uint64_t{end} + stored - 1;
    return target < kLeaf ? static_cast<NodeOffset>(target) : kLeaf - 1;
  }

  // Words of this node that come before those of `arc`.
  uint32_t WordsBefore(uint32_t arc) const {
    if (arc == 0) return final;
    const uint8_t* counts = labels + arc_count + arc_count * stored_target_bytes();
    return Load(counts + (arc - 1) * count_bytes, count_bytes);
  }

  // Index of the first label >= `label`, or arc_count.
  uint32_t LowerBound(uint8_t label) const {
    uint32_t arc = 0;
    while (arc < arc_count && labels[arc] < label) ++arc;
    return arc;
  }

  // Index of `label`, or arc_count.
  uint32_t FindArc(uint8_t label) const {
    if (arc_count <= 4) {
      for (uint32_t arc = 0; arc < arc_count; ++arc) {
        if (labels[arc] == label) return arc;
      }
      return arc_count;
    }
    const void* at = std::memchr(labels, label, arc_count);
    return at ? static_cast<uint32_t>(static_cast<const uint8_t*>(at) - labels) : arc_count;
  }

  // Index of the last arc with WordsBefore(arc) <= rank. REQUIRES: rank >= final, arc_count > 0
  uint32_t ArcOfRank(uint32_t rank) const {
    uint32_t low = 0, high = arc_count;
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (WordsBefore(middle) <= rank ? low : high) = middle;
    }
    return low;
  }

 private:
  uint32_t stored_target_bytes() const { return target_bytes == kTargetsNext ? 0 : target_bytes; }

  static uint32_t Load(const uint8_t* at, uint32_t bytes) {
    return LoadFixed<uint32_t>(at) & (UINT32_MAX >> (32 - 8 * bytes));
  }
};

}  // namespace gannet::fst
