#include "bitmap/docset_union.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "bitmap/postings_codec.h"

namespace gannet {
namespace {

// The portable roaring format (see docset.h), as far as this file reads and writes it.
constexpr uint32_t kCookieNoRuns = 12346, kCookieRuns = 12347;
constexpr uint32_t kOffsetsFromBlocks = 4;  // with runs, fewer blocks come without a table of offsets
constexpr uint32_t kArrayMax = 4096;
constexpr size_t kBlockWords = 1024;
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint64_t);

constexpr size_t kGatheredMax = 4096;
constexpr size_t kScatteredPerBlock = 64;  // fewer docids per block are sorted as quickly
constexpr size_t kCopiedSetMax = 512;
constexpr size_t kBesideMax = 64;

void SetRange(uint64_t* block, uint32_t begin, uint32_t last) {
  const uint32_t first_word = begin / 64, last_word = last / 64;
  const uint64_t low = ~uint64_t{0} << begin % 64, high = ~uint64_t{0} >> (63 - last % 64);
  if (first_word == last_word) {
    block[first_word] |= low & high;
    return;
  }
  block[first_word] |= low;
  for (uint32_t word = first_word + 1; word < last_word; ++word) block[word] = ~uint64_t{0};
  block[last_word] |= high;
}

uint32_t CountPortable(const uint64_t* block) {
  uint32_t count = 0;
  for (size_t w = 0; w < kBlockWords; ++w) count += static_cast<uint32_t>(std::popcount(block[w]));
  return count;
}

#if defined(__x86_64__)
// The instruction is younger than the processors that the rest is compiled for; without it a count costs ten times as much.
__attribute__((target("popcnt"))) uint32_t CountPopcnt(const uint64_t* block) {
  uint32_t count = 0;
  for (size_t w = 0; w < kBlockWords; ++w) count += static_cast<uint32_t>(__builtin_popcountll(block[w]));
  return count;
}
const auto Count = __builtin_cpu_supports("popcnt") ? CountPopcnt : CountPortable;
#else
constexpr auto Count = CountPortable;
#endif

}  // namespace

// Blocks are used again and again by the searches of a thread.
struct DocSetUnion::Scratch {
  static constexpr size_t kKeptBlocksMax = 512;  // 4 MB
  std::vector<std::unique_ptr<uint64_t[]>> free;
  std::string bytes;

  uint64_t* Take() {
    std::unique_ptr<uint64_t[]> block;
    if (free.empty()) {
      block = std::make_unique_for_overwrite<uint64_t[]>(kBlockWords);
    } else {
      block = std::move(free.back());
      free.pop_back();
    }
    std::memset(block.get(), 0, kBlockBytes);
    return block.release();
  }
  void Return(uint64_t* block) {
    std::unique_ptr<uint64_t[]> owned(block);
    if (free.size() < kKeptBlocksMax) free.push_back(std::move(owned));
  }
  static Scratch& OfThread() {
    static thread_local Scratch scratch;
    return scratch;
  }
};

DocSetUnion::DocSetUnion(const DocSet* within) : scratch_(Scratch::OfThread()), within_(within) {}

DocSetUnion::~DocSetUnion() {
  for (uint64_t* block : blocks_) {
    if (block != nullptr) scratch_.Return(block);
  }
}

uint64_t* DocSetUnion::Block(uint32_t key) {
  if (key >= blocks_.size()) blocks_.resize(key + size_t{1});
  if (blocks_[key] == nullptr) blocks_[key] = scratch_.Take();
  scattered_ = true;
  return blocks_[key];
}

void DocSetUnion::AddPostings(std::string_view bytes) {
  if (bytes.empty()) return;
  ByteReader reader(bytes);
  const uint64_t header = reader.Varint();
  if ((header & 1) != 0) return AddRoaring({reader.at(), reader.left()});
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(header >> 1, kDeltaPostingsMax));
  uint32_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t docid = next + static_cast<uint32_t>(reader.Varint());
    if (within_ == nullptr || within_->Contains(docid)) gathered_.push_back(docid);
    next = docid + 1;
  }
  Gathered();
}

void DocSetUnion::AddRoaring(std::string_view bytes) {
  if (within_ != nullptr) {
    (DocSetView(bytes).set() & *within_).ToVector(gathered_);
    Gathered();
  } else if (only_.empty() && !scattered_) {
    only_ = bytes;
  } else {
    SpreadOnly();
    Spread(bytes);
  }
}

void DocSetUnion::SpreadOnly() {
  if (!only_.empty()) Spread(std::exchange(only_, {}));
}

// Into blocks, or to what is gathered.
void DocSetUnion::Spread(std::string_view bytes) {
  const char* at = bytes.data();
  const auto cookie = LoadFixed<uint32_t>(at);
  at += sizeof(uint32_t);
  const bool with_runs = (cookie & 0xffff) == kCookieRuns;
  uint32_t blocks;
  const char* run_flags = nullptr;
  if (with_runs) {
    blocks = (cookie >> 16) + 1;
    run_flags = at;
    at += (blocks + 7) / 8;
  } else {
    blocks = LoadFixed<uint32_t>(at);
    at += sizeof(uint32_t);
  }
  const char* heads = at;  // of each block: key, count less one
  at += size_t{blocks} * 2 * sizeof(uint16_t);
  if (!with_runs || blocks >= kOffsetsFromBlocks) at += size_t{blocks} * sizeof(uint32_t);
  for (uint32_t i = 0; i < blocks; ++i) {
    const uint32_t key = LoadFixed<uint16_t>(heads + size_t{i} * 4);
    const uint32_t count = LoadFixed<uint16_t>(heads + size_t{i} * 4 + 2) + uint32_t{1};
    if (with_runs && (static_cast<uint8_t>(run_flags[i / 8]) >> i % 8 & 1) != 0) {
      const uint32_t runs = LoadFixed<uint16_t>(at);
      at += sizeof(uint16_t);
      uint64_t* block = Block(key);
      for (uint32_t r = 0; r < runs; ++r, at += 2 * sizeof(uint16_t)) {
        const uint32_t begin = LoadFixed<uint16_t>(at);
        SetRange(block, begin, begin + LoadFixed<uint16_t>(at + 2));
      }
    } else if (count <= kArrayMax) {
      if (key < blocks_.size() && blocks_[key] != nullptr) {
        uint64_t* block = blocks_[key];
        for (uint32_t n = 0; n < count; ++n) {
          const uint32_t low = LoadFixed<uint16_t>(at + size_t{n} * 2);
          block[low / 64] |= uint64_t{1} << low % 64;
        }
      } else {
        for (uint32_t n = 0; n < count; ++n) gathered_.push_back(key << 16 | LoadFixed<uint16_t>(at + size_t{n} * 2));
      }
      at += size_t{count} * sizeof(uint16_t);
    } else {
      uint64_t* block = Block(key);
      for (size_t w = 0; w < kBlockWords; ++w) block[w] |= LoadFixed<uint64_t>(at + w * sizeof(uint64_t));
      at += kBlockBytes;
    }
  }
  Gathered();
}

void DocSetUnion::Add(std::span<const uint32_t> docids) {
  if (within_ == nullptr) {
    gathered_.insert(gathered_.end(), docids.begin(), docids.end());
  } else {
    std::copy_if(docids.begin(), docids.end(), std::back_inserter(gathered_), [&](uint32_t docid) { return within_->Contains(docid); });
  }
  Gathered();
}

void DocSetUnion::Add(const DocSet& set) {
  if (set.empty()) return;
  if (within_ != nullptr) {
    (set & *within_).ToVector(gathered_);
    Gathered();
  } else if (set.size() <= kCopiedSetMax) {
    set.ToVector(gathered_);
    Gathered();
  } else {
    rest_ |= set;
  }
}

void DocSetUnion::Add(DocSetUnion& part, const DocSet& without) {
  // Clearing bit by bit is for few docids.
  constexpr uint64_t kClearedMax = 1 << 14;
  part.SpreadOnly();
  if (!part.rest_.empty() || (part.scattered_ && without.size() > kClearedMax)) {
    DocSet set = part.Finish();
    set -= without;
    return Add(set);
  }
  std::erase_if(part.gathered_, [&](uint32_t docid) { return without.Contains(docid); });
  if (part.scattered_) {
    without.ForEach([&](uint32_t docid) {
      const uint32_t key = docid >> 16;
      if (key >= part.blocks_.size()) return false;
      if (part.blocks_[key] != nullptr) part.blocks_[key][(docid & 0xffff) / 64] &= ~(uint64_t{1} << docid % 64);
      return true;
    });
    if (blocks_.size() < part.blocks_.size()) blocks_.resize(part.blocks_.size());
    for (size_t key = 0; key < part.blocks_.size(); ++key) {
      uint64_t* from = std::exchange(part.blocks_[key], nullptr);
      if (from == nullptr) continue;
      if (blocks_[key] == nullptr) {
        blocks_[key] = from;
      } else {
        for (size_t w = 0; w < kBlockWords; ++w) blocks_[key][w] |= from[w];
        scratch_.Return(from);
      }
    }
    scattered_ = true;
    part.scattered_ = false;
  }
  Add(std::span<const uint32_t>(part.gathered_));
  part.gathered_.clear();
}

// Called when docids were gathered: they are scattered once there are many.
void DocSetUnion::Gathered() {
  if (gathered_.size() >= std::max(kGatheredMax, kScatteredPerBlock * blocks_.size())) Scatter();
}

void DocSetUnion::Scatter() {
  SpreadOnly();
  for (const uint32_t docid : gathered_) Block(docid >> 16)[(docid & 0xffff) / 64] |= uint64_t{1} << docid % 64;
  gathered_.clear();
}

DocSet DocSetUnion::Finish() {
  // A long list with few docids beside it is copied as it is.
  if (!only_.empty() && gathered_.size() <= kBesideMax && rest_.empty()) {
    DocSet set = DocSet::ReadPortable(std::exchange(only_, {}));
    set.AddMany(gathered_);
    gathered_.clear();
    return set;
  }
  SpreadOnly();
  DocSet set;
  if (!scattered_ && !gathered_.empty()) {
    const uint32_t most = *std::max_element(gathered_.begin(), gathered_.end());
    if (gathered_.size() >= kScatteredPerBlock * ((most >> 16) + size_t{1})) Scatter();
  }
  if (!scattered_) {
    if (!std::is_sorted(gathered_.begin(), gathered_.end())) std::sort(gathered_.begin(), gathered_.end());
    gathered_.erase(std::unique(gathered_.begin(), gathered_.end()), gathered_.end());
    set = DocSet::FromSorted(gathered_);
    gathered_.clear();
  } else {
    Scatter();
    // The bytes of the set, one block after the other, which CRoaring then takes over.
    std::vector<uint32_t> counts(blocks_.size());
    uint32_t used = 0;
    for (size_t key = 0; key < blocks_.size(); ++key) {
      if (blocks_[key] != nullptr) counts[key] = Count(blocks_[key]);
      used += counts[key] > 0;
    }
    std::string& out = scratch_.bytes;
    out.clear();
    PutFixed<uint32_t>(out, kCookieNoRuns);
    PutFixed<uint32_t>(out, used);
    const size_t heads = out.size(), offsets = heads + size_t{used} * 4;
    out.resize(offsets + size_t{used} * 4);
    uint32_t at = 0;
    for (uint32_t key = 0; key < blocks_.size(); ++key) {
      const uint32_t count = counts[key];
      if (count == 0) continue;
      uint64_t* block = blocks_[key];
      const auto low_key = static_cast<uint16_t>(key), less_one = static_cast<uint16_t>(count - 1);
      const auto begin = static_cast<uint32_t>(out.size());
      std::memcpy(&out[heads + size_t{at} * 4], &low_key, sizeof(low_key));
      std::memcpy(&out[heads + size_t{at} * 4 + 2], &less_one, sizeof(less_one));
      std::memcpy(&out[offsets + size_t{at} * 4], &begin, sizeof(begin));
      ++at;
      if (count > kArrayMax) {
        out.append(reinterpret_cast<const char*>(block), kBlockBytes);
      } else {
        out.resize(begin + size_t{count} * sizeof(uint16_t));
        char* array = &out[begin];
        for (uint32_t w = 0; w < kBlockWords; ++w) {
          for (uint64_t bits = block[w]; bits != 0; bits &= bits - 1, array += sizeof(uint16_t)) {
            const auto low = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
            std::memcpy(array, &low, sizeof(low));
          }
        }
      }
    }
    for (uint64_t*& block : blocks_) {
      if (block != nullptr) scratch_.Return(std::exchange(block, nullptr));
    }
    scattered_ = false;
    if (used > 0) set = DocSet::ReadPortable(out);
  }
  if (rest_.empty()) return set;
  rest_ |= set;
  return std::move(rest_);
}

}  // namespace gannet
