// The term dictionary: a sorted set of words (byte strings) with their ordinals, read in place.
//
// An ordinal is the rank of a word in byte order; all words with a common prefix are one range of
// ordinals. Built by Builder (builder.h); bytes and sources in node.h; fuzzy search in
// levenshtein.h.
//
// Lifetime: Fst and Iterator borrow the bytes.
// Threads:  Fst is immutable, an Iterator has one owner.
// Damage:   on any bytes that Open accepted, every function ends, stays inside them, and gives
//           only ordinals below size(); which words it gives is then undefined. Verify detects
//           damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fst/node.h"

namespace gannet::fst {

class Fst {
 public:
  class Iterator;

  // The empty dictionary.
  Fst() = default;

  // Checks header and size. Cost: constant.
  static Result<Fst> Open(std::string_view bytes);

  // Corruption unless every node is as Builder writes it. Cost: linear, about 100 MB/s.
  Status Verify() const;

  uint32_t size() const { return size_; }

  std::optional<uint32_t> Find(std::string_view word) const;

  // Ordinals [begin, end) of the words that begin with `prefix`, including `prefix`; {0, 0}: none.
  std::pair<uint32_t, uint32_t> PrefixRange(std::string_view prefix) const;

  // The word of an ordinal; the second form replaces `out`. REQUIRES: ordinal < size()
  std::string Word(uint32_t ordinal) const;
  void Word(uint32_t ordinal, std::string& out) const;

  Iterator Begin() const;
  // An iterator at the first word >= `from`.
  Iterator Seek(std::string_view from) const;
  // An iterator at the word with `ordinal`; at the end when ordinal >= size().
  Iterator SeekOrdinal(uint32_t ordinal) const;

  // The root, for other walks over the nodes, such as levenshtein.h. False: the dictionary has no
  // root or is damaged; the walk must end.
  bool Root(Node& node) const { return size_ > 0 && Node::Decode(nodes_, root_, node); }
  bool Child(const Node& parent, uint32_t arc, Node& node) const {
    return Node::Decode(nodes_, parent.Target(arc), node);
  }

 private:
  std::string_view nodes_;  // followed by kPaddingBytes
  NodeOffset root_ = kLeaf;
  uint32_t size_ = 0;
};

// Iterates over the words in ascending byte order.
class Fst::Iterator {
 public:
  bool Valid() const { return valid_; }
  // REQUIRES, below: Valid()
  std::string_view word() const { return word_; }  // until Next()
  uint32_t ordinal() const { return ordinal_; }
  void Next();

 private:
  friend class Fst;
  struct Frame {
    Node node;
    uint32_t arc;  // the next arc to take
  };

  explicit Iterator(const Fst& fst) : fst_(fst) {}
  bool Descend(uint32_t arc);
  void ToNextFinal();

  Fst fst_;
  std::vector<Frame> path_;  // one frame more than word_ has bytes
  std::string word_;
  uint32_t ordinal_ = 0;
  bool valid_ = false;
};

}  // namespace gannet::fst
