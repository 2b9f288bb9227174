// A set of docids as flat bits: for looking up docids in any order, and for subtracting the set
// from many others.
//
// Memory: 8 kB per block of 65536 docids in use.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bitmap/docset.h"

namespace gannet {

class DocBits {
 public:
  static constexpr uint32_t kBlockWords = 1024;

  DocBits() = default;
  // cost  1 ns per docid
  explicit DocBits(const DocSet& set) {
    set.ForEach([&](DocId docid) {
      const uint32_t key = docid >> 16;
      if (key >= blocks_.size()) blocks_.resize(key + size_t{1});
      if (blocks_[key] == nullptr) blocks_[key] = std::make_unique<Block>();
      (*blocks_[key])[(docid & 0xffff) / 64] |= uint64_t{1} << docid % 64;
    });
  }

  bool Contains(DocId docid) const {
    const uint64_t* words = block(docid >> 16);
    return words != nullptr && (words[(docid & 0xffff) / 64] >> docid % 64 & 1) != 0;
  }
  // The bits of the docids [key * 65536, (key + 1) * 65536), null when none is set.
  const uint64_t* block(uint32_t key) const {
    return key < blocks_.size() && blocks_[key] != nullptr ? blocks_[key]->data() : nullptr;
  }

 private:
  using Block = std::array<uint64_t, kBlockWords>;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace gannet
