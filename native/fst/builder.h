// Builds a dictionary (fst.h) from sorted words; the format is described in node.h.
//
// Cost: about 0.2 us per word; memory grows with the number of distinct nodes, some 20 bytes each
// and 8 per arc. Threads: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gannet::fst {

class Builder {
 public:
  Builder();

  // REQUIRES: `word` follows the word before in byte order; at most kWordBytesMax bytes; fewer than
  // 2^32 words with less than 4 GB of nodes.
  void Add(std::string_view word);

  // Words added; the ordinal of the next one.
  uint64_t count() const { return count_; }

  // The stored dictionary, for Fst::Open. Leaves the builder empty.
  std::string Finish();

 private:
  // Where a written node ends in reversed_; 0 stands for the leaf.
  using Address = uint32_t;

  struct Arc {
    Address target;
    uint8_t label;
    friend bool operator==(const Arc&, const Arc&) = default;
  };
  struct Open {  // a node on the path of the last word
    std::vector<Arc> arcs;
    std::vector<uint32_t> words_before;  // by arc
    uint32_t words = 0;                  // words of the node added so far
    bool final = false;
  };
  struct Frozen {  // a written node
    uint32_t hash;
    Address address;
    uint32_t first_arc;  // in frozen_arcs_
    uint16_t arc_count;
    bool final;
  };

  void FreezeDownTo(size_t depth);
  Address Freeze(const Open& node);
  Address Write(const Open& node);
  void GrowRegister();

  std::vector<Open> path_;  // by depth; the first depth_ + 1 are in use
  size_t depth_ = 0;
  std::string last_;
  uint64_t count_ = 0;
  std::string reversed_;  // the nodes back to front: children are written before their parents
  std::string scratch_;

  // Hash table of written nodes: open addressing, index into frozen_ plus 1; 0 is free.
  std::vector<uint32_t> slots_;
  std::vector<Frozen> frozen_;
  std::vector<Arc> frozen_arcs_;
};

}  // namespace gannet::fst
