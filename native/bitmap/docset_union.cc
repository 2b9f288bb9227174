#include "bitmap/docset_union.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "base/cpu.h"
#include "bitmap/docset_access.h"
#include "bitmap/postings_codec.h"

namespace gannet {
namespace {

using roaring::internal::array_container_t;
using roaring::internal::bitset_container_t;

// The portable roaring format (see docset.h), as far as this file reads it.
constexpr uint32_t kCookieRuns = 12347;
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
// These instructions are younger than the processors that the rest is compiled for; without them a count costs ten times
// as much.
__attribute__((target("popcnt"))) uint32_t CountPopcnt(const uint64_t* block) {
  uint32_t count = 0;
  for (size_t w = 0; w < kBlockWords; ++w) count += static_cast<uint32_t>(__builtin_popcountll(block[w]));
  return count;
}

__attribute__((target("avx512f,avx512vpopcntdq"))) uint32_t CountAvx512(const uint64_t* block) {
  __m512i sum = _mm512_setzero_si512();
  for (size_t w = 0; w < kBlockWords; w += 8) sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_loadu_si512(block + w)));
  return static_cast<uint32_t>(_mm512_reduce_add_epi64(sum));
}

const auto Count = ForCpu(CountAvx512, CountPopcnt, CountPortable);
#else
constexpr auto Count = CountPortable;
#endif

// How many places an extraction may write behind the last one: as many as the widest variant writes at once.
constexpr size_t kExtractSlack = 32;

// Writes the places of the bits that are set, ascending, as 16 bits each.
void ExtractPortable(const uint64_t* block, uint16_t* out) {
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    for (uint64_t bits = block[w]; bits != 0; bits &= bits - 1) {
      *out++ = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
}

#if defined(__x86_64__)
// Four at a time whether they are there or not: how many bits the next word has cannot be foreseen, and each wrong guess
// costs as much as four places.
__attribute__((target("bmi,popcnt"))) void ExtractBmi(const uint64_t* block, uint16_t* out) {
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    uint64_t bits = block[w];
    const auto base = static_cast<uint16_t>(w * 64);
    auto left = static_cast<int64_t>(__builtin_popcountll(bits));
    uint16_t* const end = out + left;
    do {
      for (int i = 0; i < 4; ++i, bits &= bits - 1) out[i] = static_cast<uint16_t>(base + __builtin_ia32_tzcnt_u64(bits));
      out += 4;
      left -= 4;
    } while (left > 0);
    out = end;
  }
}

// Of each half of a word that has any bits, the places of those that are set, moved together.
__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt,bmi"))) void ExtractAvx512(const uint64_t* block, uint16_t* out) {
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<uint16_t, 32> places{};
    for (uint16_t i = 0; i < 32; ++i) places[i] = i;
    return places;
  }();
  const __m512i places = _mm512_load_si512(kPlaces.data());
  for (uint32_t w = 0; w < kBlockWords; w += 8) {
    const __m512i words = _mm512_loadu_si512(block + w);
    for (uint32_t used = _mm512_test_epi64_mask(words, words); used != 0; used &= used - 1) {
      const uint32_t word = w + static_cast<uint32_t>(__builtin_ctz(used));
      for (const uint32_t half : {0u, 1u}) {
        const auto bits = static_cast<uint32_t>(block[word] >> half * 32);
        const __m512i here = _mm512_add_epi16(places, _mm512_set1_epi16(static_cast<int16_t>(word * 64 + half * 32)));
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(bits, here));
        out += __builtin_popcount(bits);
      }
    }
  }
}

const auto Extract = ForCpu(ExtractAvx512, ExtractBmi, ExtractPortable);
#else
constexpr auto Extract = ExtractPortable;
#endif

// Containers that the set then owns.
void AppendContainer(DocSet& set, uint32_t key, roaring::internal::container_t* container, uint8_t type) {
  roaring::internal::ra_append(&DocSetAccess::Get(set)->high_low_container, static_cast<uint16_t>(key), container, type);
}

bitset_container_t* NewBlock() {
  bitset_container_t* block = roaring::internal::bitset_container_create();
  if (block == nullptr) std::abort();
  return block;
}

// slack: elements that may be written behind the last one.
array_container_t* NewArray(uint32_t count, size_t slack) {
  array_container_t* array = roaring::internal::array_container_create_given_capacity(static_cast<int32_t>(count + slack));
  if (array == nullptr) std::abort();
  array->cardinality = static_cast<int32_t>(count);
  return array;
}

}  // namespace

DocSetUnion::DocSetUnion(const DocSet* within) : within_(within) {}

DocSetUnion::~DocSetUnion() {
  for (Block* block : blocks_) roaring::internal::bitset_container_free(block);
}

uint64_t* DocSetUnion::BitsOf(uint32_t key) {
  if (key >= blocks_.size()) blocks_.resize(key + size_t{1});
  if (blocks_[key] == nullptr) blocks_[key] = NewBlock();
  scattered_ = true;
  return blocks_[key]->words;
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

void DocSetUnion::Spread(const Part& part, uint64_t* bits) {
  switch (part.form) {
    case Part::Form::kArray:
      for (uint32_t n = 0; n < part.count; ++n) {
        const uint32_t low = LoadFixed<uint16_t>(part.bytes + size_t{n} * 2);
        bits[low / 64] |= uint64_t{1} << low % 64;
      }
      break;
    case Part::Form::kBits:
      for (size_t w = 0; w < kBlockWords; ++w) bits[w] |= LoadFixed<uint64_t>(part.bytes + w * sizeof(uint64_t));
      break;
    case Part::Form::kRuns:
      for (uint32_t r = 0; r < part.count; ++r) {
        const uint32_t begin = LoadFixed<uint16_t>(part.bytes + size_t{r} * 4);
        SetRange(bits, begin, begin + LoadFixed<uint16_t>(part.bytes + size_t{r} * 4 + 2));
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
      Spread(roaring, part.BitsOf(roaring.key));
    }
  }
  part.parts_.clear();
  if (part.scattered_) {
    if (blocks_.size() < part.blocks_.size()) blocks_.resize(part.blocks_.size());
    for (uint32_t key = 0; key < part.blocks_.size(); ++key) {
      Block* from = std::exchange(part.blocks_[key], nullptr);
      if (from == nullptr) continue;
      if (const uint64_t* dropped = without.block(key); dropped != nullptr) {
        for (size_t w = 0; w < kBlockWords; ++w) from->words[w] &= ~dropped[w];
      }
      if (blocks_[key] == nullptr) {
        blocks_[key] = from;
      } else {
        for (size_t w = 0; w < kBlockWords; ++w) blocks_[key]->words[w] |= from->words[w];
        roaring::internal::bitset_container_free(from);
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
  for (const uint32_t docid : gathered_) BitsOf(docid >> 16)[(docid & 0xffff) / 64] |= uint64_t{1} << docid % 64;
  gathered_.clear();
}

void DocSetUnion::AppendBlock(uint32_t key, DocSet& set) {
  Block* block = std::exchange(blocks_[key], nullptr);
  const uint32_t count = Count(block->words);
  if (count > kArrayMax) {
    block->cardinality = static_cast<int32_t>(count);
    return AppendContainer(set, key, block, BITSET_CONTAINER_TYPE);
  }
  if (count > 0) {
    array_container_t* array = NewArray(count, kExtractSlack);
    Extract(block->words, array->array);
    AppendContainer(set, key, array, ARRAY_CONTAINER_TYPE);
  }
  roaring::internal::bitset_container_free(block);
}

void DocSetUnion::AppendAll(DocSet& set) {
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.key < b.key; });
  auto part = parts_.begin();
  auto docid = gathered_.begin();
  size_t next_block = 0;
  while (true) {
    while (next_block < blocks_.size() && blocks_[next_block] == nullptr) ++next_block;
    uint32_t key = next_block < blocks_.size() ? static_cast<uint32_t>(next_block) : kNoKey;
    if (part != parts_.end()) key = std::min<uint32_t>(key, part->key);
    if (docid != gathered_.end()) key = std::min(key, *docid >> 16);
    if (key == kNoKey) return;
    const auto part_end = std::find_if(part, parts_.end(), [&](const Part& p) { return p.key != key; });
    const auto docid_end = std::find_if(docid, gathered_.end(), [&](uint32_t d) { return d >> 16 != key; });
    const bool has_block = key < blocks_.size() && blocks_[key] != nullptr;
    const bool alone = !has_block && part_end - part == 1 && docid == docid_end;
    if (alone && part->form == Part::Form::kArray) {
      array_container_t* array = NewArray(part->count, 0);
      std::memcpy(array->array, part->bytes, part->count * sizeof(uint16_t));
      AppendContainer(set, key, array, ARRAY_CONTAINER_TYPE);
    } else if (alone && part->form == Part::Form::kBits) {
      Block* block = NewBlock();
      std::memcpy(block->words, part->bytes, kBlockBytes);
      block->cardinality = static_cast<int32_t>(part->count);
      AppendContainer(set, key, block, BITSET_CONTAINER_TYPE);
    } else {
      uint64_t* bits = BitsOf(key);
      for (; part != part_end; ++part) Spread(*part, bits);
      for (; docid != docid_end; ++docid) bits[(*docid & 0xffff) / 64] |= uint64_t{1} << *docid % 64;
      AppendBlock(key, set);
    }
    part = part_end;
    docid = docid_end;
  }
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
    AppendAll(set);
  }
  gathered_.clear();
  parts_.clear();
  scattered_ = false;
  if (rest_.empty()) return set;
  rest_ |= set;
  return std::move(rest_);
}

}  // namespace gannet
