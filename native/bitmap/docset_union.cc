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
constexpr size_t kHeadBytes = 4;             // key and count of a block
constexpr uint32_t kOffsetsFromBlocks = 4;  // with runs, fewer blocks come without a table of offsets
constexpr uint32_t kArrayMax = 4096;
constexpr uint32_t kNoKey = ~uint32_t{0};
constexpr size_t kBlockWords = 1024;
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint64_t);

constexpr size_t kGatheredMax = 4096;
constexpr size_t kScatteredPerBlock = 64;  // fewer docids per block are sorted as quickly
constexpr size_t kCopiedSetMax = 512;

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

// How many places an extraction may write behind the last one.
constexpr size_t kExtractSlack = 4;

// Writes the places of the bits that are set, ascending, as 16 bits each.
void ExtractPortable(const uint64_t* block, char* out) {
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    for (uint64_t bits = block[w]; bits != 0; bits &= bits - 1, out += sizeof(uint16_t)) {
      const auto low = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      std::memcpy(out, &low, sizeof(low));
    }
  }
}

#if defined(__x86_64__)
// Four at a time whether they are there or not: how many bits the next word has cannot be foreseen, and each wrong guess
// costs as much as four places.
__attribute__((target("bmi,popcnt"))) void ExtractBmi(const uint64_t* block, char* out) {
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    uint64_t bits = block[w];
    const auto base = static_cast<uint16_t>(w * 64);
    auto left = static_cast<int64_t>(__builtin_popcountll(bits));
    char* const end = out + left * static_cast<int64_t>(sizeof(uint16_t));
    do {
      for (int i = 0; i < 4; ++i) {
        const auto low = static_cast<uint16_t>(base + __builtin_ia32_tzcnt_u64(bits));
        std::memcpy(out + i * sizeof(uint16_t), &low, sizeof(low));
        bits &= bits - 1;
      }
      out += 4 * sizeof(uint16_t);
      left -= 4;
    } while (left > 0);
    out = end;
  }
}
const auto Extract = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt") ? ExtractBmi : ExtractPortable;
#else
constexpr auto Extract = ExtractPortable;
#endif

}  // namespace

// Blocks are used again and again by the searches of a thread.
struct DocSetUnion::Scratch {
  static constexpr size_t kKeptBlocksMax = 512;  // 4 MB
  std::vector<std::unique_ptr<uint64_t[]>> free;
  std::string heads, bodies, bytes;
  std::vector<uint32_t> sizes;

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
    return Gathered();
  }
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
  at += size_t{blocks} * kHeadBytes;
  if (!with_runs || blocks >= kOffsetsFromBlocks) at += size_t{blocks} * sizeof(uint32_t);
  for (uint32_t i = 0; i < blocks; ++i) {
    const auto key = LoadFixed<uint16_t>(heads + size_t{i} * kHeadBytes);
    const uint32_t count = LoadFixed<uint16_t>(heads + size_t{i} * kHeadBytes + 2) + uint32_t{1};
    if (with_runs && (static_cast<uint8_t>(run_flags[i / 8]) >> i % 8 & 1) != 0) {
      const uint32_t runs = LoadFixed<uint16_t>(at);
      at += sizeof(uint16_t);
      parts_.push_back({Part::Form::kRuns, key, runs, at});
      at += size_t{runs} * 2 * sizeof(uint16_t);
    } else if (count <= kArrayMax) {
      parts_.push_back({Part::Form::kArray, key, count, at});
      at += size_t{count} * sizeof(uint16_t);
    } else {
      parts_.push_back({Part::Form::kBits, key, count, at});
      at += kBlockBytes;
    }
  }
}

void DocSetUnion::Spread(const Part& part, uint64_t* block) {
  switch (part.form) {
    case Part::Form::kArray:
      for (uint32_t n = 0; n < part.count; ++n) {
        const uint32_t low = LoadFixed<uint16_t>(part.bytes + size_t{n} * 2);
        block[low / 64] |= uint64_t{1} << low % 64;
      }
      break;
    case Part::Form::kBits:
      for (size_t w = 0; w < kBlockWords; ++w) block[w] |= LoadFixed<uint64_t>(part.bytes + w * sizeof(uint64_t));
      break;
    case Part::Form::kRuns:
      for (uint32_t r = 0; r < part.count; ++r) {
        const uint32_t begin = LoadFixed<uint16_t>(part.bytes + size_t{r} * 4);
        SetRange(block, begin, begin + LoadFixed<uint16_t>(part.bytes + size_t{r} * 4 + 2));
      }
      break;
  }
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

void DocSetUnion::Add(DocSetUnion& part, const DocBits& without) {
  part.rest_.ToVector(part.gathered_);
  part.rest_.Clear();
  std::erase_if(part.gathered_, [&](uint32_t docid) { return without.Contains(docid); });
  // Blocks without anything to leave out stay as they are.
  for (const Part& roaring : part.parts_) {
    if (without.block(roaring.key) == nullptr) {
      parts_.push_back(roaring);
    } else {
      Spread(roaring, part.Block(roaring.key));
    }
  }
  part.parts_.clear();
  if (part.scattered_) {
    for (uint32_t key = 0; key < part.blocks_.size(); ++key) {
      const uint64_t* dropped = without.block(key);
      uint64_t* block = part.blocks_[key];
      if (dropped == nullptr || block == nullptr) continue;
      for (size_t w = 0; w < kBlockWords; ++w) block[w] &= ~dropped[w];
    }
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
  for (const uint32_t docid : gathered_) Block(docid >> 16)[(docid & 0xffff) / 64] |= uint64_t{1} << docid % 64;
  gathered_.clear();
}

// Appends one container, from the bits of a block.
void DocSetUnion::AppendBlock(uint32_t key, std::string& heads, std::string& bodies) {
  uint64_t* block = std::exchange(blocks_[key], nullptr);
  const uint32_t count = Count(block);
  if (count > 0) {
    PutFixed(heads, static_cast<uint16_t>(key));
    PutFixed(heads, static_cast<uint16_t>(count - 1));
  }
  if (count > kArrayMax) {
    bodies.append(reinterpret_cast<const char*>(block), kBlockBytes);
  } else if (count > 0) {
    const size_t begin = bodies.size(), end = begin + size_t{count} * sizeof(uint16_t);
    bodies.resize(end + kExtractSlack * sizeof(uint16_t));
    Extract(block, &bodies[begin]);
    bodies.resize(end);
  }
  scratch_.Return(block);
}

DocSet DocSetUnion::Finish() {
  if (!gathered_.empty()) {
    const uint32_t most = *std::max_element(gathered_.begin(), gathered_.end());
    const bool many = gathered_.size() >= kScatteredPerBlock * ((most >> 16) + size_t{1});
    if (scattered_ || many) {
      Scatter();
    } else {
      if (!std::is_sorted(gathered_.begin(), gathered_.end())) std::sort(gathered_.begin(), gathered_.end());
      gathered_.erase(std::unique(gathered_.begin(), gathered_.end()), gathered_.end());
    }
  }
  DocSet set;
  if (!scattered_ && parts_.empty()) {
    set = DocSet::FromSorted(gathered_);
  } else {
    // The bytes of the set, one block after the other, which CRoaring then takes over.
    std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.key < b.key; });
    std::string& heads = scratch_.heads;
    std::string& bodies = scratch_.bodies;
    heads.clear();
    bodies.clear();
    scratch_.sizes.clear();
    auto part = parts_.begin();
    auto docid = gathered_.begin();
    size_t next_block = 0;
    while (true) {
      while (next_block < blocks_.size() && blocks_[next_block] == nullptr) ++next_block;
      uint32_t key = next_block < blocks_.size() ? static_cast<uint32_t>(next_block) : kNoKey;
      if (part != parts_.end()) key = std::min<uint32_t>(key, part->key);
      if (docid != gathered_.end()) key = std::min(key, *docid >> 16);
      if (key == kNoKey) break;
      const auto part_end = std::find_if(part, parts_.end(), [&](const Part& p) { return p.key != key; });
      const auto docid_end = std::find_if(docid, gathered_.end(), [&](uint32_t d) { return d >> 16 != key; });
      const bool has_block = key < blocks_.size() && blocks_[key] != nullptr;
      const size_t before = bodies.size();
      if (!has_block && part_end - part == 1 && docid == docid_end && part->form != Part::Form::kRuns) {
        PutFixed(heads, part->key);
        PutFixed(heads, static_cast<uint16_t>(part->count - 1));
        bodies.append(part->bytes, part->form == Part::Form::kBits ? kBlockBytes : part->count * sizeof(uint16_t));
      } else {
        uint64_t* block = Block(key);
        for (; part != part_end; ++part) Spread(*part, block);
        for (; docid != docid_end; ++docid) block[(*docid & 0xffff) / 64] |= uint64_t{1} << *docid % 64;
        AppendBlock(key, heads, bodies);
      }
      part = part_end;
      docid = docid_end;
      if (bodies.size() > before) scratch_.sizes.push_back(static_cast<uint32_t>(bodies.size() - before));
    }
    if (!bodies.empty()) {
      std::string& out = scratch_.bytes;
      out.clear();
      PutFixed<uint32_t>(out, kCookieNoRuns);
      PutFixed<uint32_t>(out, static_cast<uint32_t>(scratch_.sizes.size()));
      out += heads;
      auto begin = static_cast<uint32_t>(out.size() + scratch_.sizes.size() * sizeof(uint32_t));
      for (const uint32_t size : scratch_.sizes) {
        PutFixed(out, begin);
        begin += size;
      }
      out += bodies;
      set = DocSet::ReadPortable(out);
    }
  }
  gathered_.clear();
  parts_.clear();
  scattered_ = false;
  if (rest_.empty()) return set;
  rest_ |= set;
  return std::move(rest_);
}

}  // namespace gannet
