#include "bitmap/docset_union.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/stop_point.h"
#include "bitmap/docset_access.h"
#include "bitmap/postings_codec.h"

namespace gannet {
namespace {

using roaring::internal::array_container_t;
using roaring::internal::bitset_container_t;
using roaring::internal::container_t;
using roaring::internal::run_container_t;

// Constants of the portable roaring format (see docset.h), as far as this file reads it.
constexpr uint32_t kCookieRuns = 12347;
constexpr size_t kHeadBytes = 4;  // key and count of a block
// A set with runs and fewer blocks than this has no table of offsets.
constexpr uint32_t kOffsetsFromBlocks = 4;
constexpr uint32_t kArrayMax = 4096;
constexpr uint32_t kBlockDocids = 1 << 16;
constexpr size_t kBlockWords = kBlockDocids / 64;
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint64_t);

// A block is not dense if it has at most this many docids, repeated ones included.
constexpr size_t kSparseMax = 1024;
constexpr size_t kPendingMax = 8192;
constexpr size_t kPendingPerBlock = 512;
constexpr size_t kSortedMax = 48;  // up to this many docids are sorted just as quickly
constexpr size_t kCopiedSetMax = 512;
constexpr size_t kJoinedMax = 3;       // parts of a block that are joined one after the other
constexpr size_t kIntersectSlack = 8;  // offsets that CRoaring may write after the last one

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

// Sets the bits of `count` ascending 16-bit offsets, alternating between four runs of them:
// neighbouring offsets often fall into the same word, and each change of a word waits for the one
// before. Takes 0.44 ns per offset for a thousand offsets; in plain order 0.65 ns.
void SetEach(const char* offsets, uint32_t count, uint64_t* block) {
  const auto set = [&](size_t n) {
    const uint32_t low = LoadFixed<uint16_t>(offsets + n * sizeof(uint16_t));
    block[low / 64] |= uint64_t{1} << low % 64;
  };
  const size_t quarter = count / 4;
  for (size_t n = 0; n < quarter; ++n) {
    set(n);
    set(quarter + n);
    set(2 * quarter + n);
    set(3 * quarter + n);
  }
  for (size_t n = 4 * quarter; n < count; ++n) set(n);
}

uint32_t CountPortable(const uint64_t* block) {
  uint32_t count = 0;
  for (size_t w = 0; w < kBlockWords; ++w) count += static_cast<uint32_t>(std::popcount(block[w]));
  return count;
}

#if defined(__x86_64__)
// These instructions are newer than the processors that the rest is compiled for; without them
// counting takes ten times as long.
__attribute__((target("popcnt"))) uint32_t CountPopcnt(const uint64_t* block) {
  uint32_t count = 0;
  for (size_t w = 0; w < kBlockWords; ++w)
    count += static_cast<uint32_t>(__builtin_popcountll(block[w]));
  return count;
}

__attribute__((target("avx512f,avx512vpopcntdq"))) uint32_t CountAvx512(const uint64_t* block) {
  __m512i sum = _mm512_setzero_si512();
  for (size_t w = 0; w < kBlockWords; w += 8)
    sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_loadu_si512(block + w)));
  return static_cast<uint32_t>(_mm512_reduce_add_epi64(sum));
}

uint32_t Count(const uint64_t* block) {
  static const auto variant = ForCpu(CountAvx512, CountPopcnt, CountPortable);
  return variant(block);
}
#else
constexpr auto Count = CountPortable;
#endif

// Offsets that an extraction may write after the last one: as many as the widest variant writes at
// once.
constexpr size_t kExtractSlack = 32;

// Writes the offsets of the bits that are set, ascending, as 16 bits each.
void ExtractPortable(const uint64_t* block, uint16_t* out) {
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    for (uint64_t bits = block[w]; bits != 0; bits &= bits - 1) {
      *out++ = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
}

#if defined(__x86_64__)
// First collects, without a branch, the words that have any bits; then writes four offsets at a
// time whether or not there are four. How many bits the next word has cannot be predicted, and each
// misprediction costs as much as four offsets.
__attribute__((target("bmi,popcnt"))) void ExtractBmi(const uint64_t* block, uint16_t* out) {
  std::array<uint16_t, kBlockWords> used;
  size_t used_count = 0;
  for (uint32_t w = 0; w < kBlockWords; ++w) {
    used[used_count] = static_cast<uint16_t>(w);
    used_count += block[w] != 0 ? 1 : 0;
  }
  for (size_t u = 0; u < used_count; ++u) {
    uint64_t bits = block[used[u]];
    const auto base = static_cast<uint16_t>(used[u] * 64);
    auto left = static_cast<int64_t>(__builtin_popcountll(bits));
    uint16_t* const end = out + left;
    do {
      for (int i = 0; i < 4; ++i, bits &= bits - 1)
        out[i] = static_cast<uint16_t>(base + __builtin_ia32_tzcnt_u64(bits));
      out += 4;
      left -= 4;
    } while (left > 0);
    out = end;
  }
}

// For each half of a word that has any bits: the offsets of the set bits, compressed.
__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt,bmi"))) void ExtractAvx512(
    const uint64_t* block, uint16_t* out) {
  alignas(64) static constexpr auto kOffsets = [] {
    std::array<uint16_t, 32> offsets{};
    for (uint16_t i = 0; i < 32; ++i) offsets[i] = i;
    return offsets;
  }();
  const __m512i offsets = _mm512_load_si512(kOffsets.data());
  for (uint32_t w = 0; w < kBlockWords; w += 8) {
    const __m512i words = _mm512_loadu_si512(block + w);
    for (uint32_t used = _mm512_test_epi64_mask(words, words); used != 0; used &= used - 1) {
      const uint32_t word = w + static_cast<uint32_t>(__builtin_ctz(used));
      for (const uint32_t half : {0u, 1u}) {
        const auto bits = static_cast<uint32_t>(block[word] >> half * 32);
        const __m512i here = _mm512_add_epi16(
            offsets, _mm512_set1_epi16(static_cast<int16_t>(word * 64 + half * 32)));
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(bits, here));
        out += __builtin_popcount(bits);
      }
    }
  }
}

void Extract(const uint64_t* block, uint16_t* out) {
  static const auto variant = ForCpu(ExtractAvx512, ExtractBmi, ExtractPortable);
  variant(block, out);
}
#else
constexpr auto Extract = ExtractPortable;
#endif

// Appends a container, which the set then owns.
void AppendContainer(DocSet& set, uint32_t key, container_t* container, uint8_t type) {
  roaring::internal::ra_append(&DocSetAccess::Get(set)->high_low_container,
                               static_cast<uint16_t>(key), container, type);
}

void AppendUnlessEmpty(DocSet& set, uint32_t key, container_t* container, uint8_t type) {
  if (container == nullptr) std::abort();
  if (roaring::internal::container_nonzero_cardinality(container, type))
    return AppendContainer(set, key, container, type);
  roaring::internal::container_free(container, type);
}

bitset_container_t* NewBlock() {
  bitset_container_t* block = roaring::internal::bitset_container_create();
  if (block == nullptr) std::abort();
  return block;
}

// slack: elements that may be written after the last one.
array_container_t* NewArray(uint32_t count, size_t slack) {
  array_container_t* array =
      roaring::internal::array_container_create_given_capacity(static_cast<int32_t>(count + slack));
  if (array == nullptr) std::abort();
  array->cardinality = static_cast<int32_t>(count);
  return array;
}

// Decodes docids written as varint gaps (less 1 except for the first), a part at a time.
class GapReader {
 public:
  static constexpr size_t kPart = 512;

  GapReader(ByteReader bytes, uint64_t count) : bytes_(bytes), left_(count) {}

  // The next docids, ascending, at most kPart of them; empty at the end, or if bytes are missing.
  std::span<const uint32_t> Next() {
    const size_t wanted = std::min<uint64_t>(kPart, left_);
    uint32_t* out = part_.data();
    uint32_t* const end = out + wanted;
    uint32_t next = next_;
    const auto add = [&](uint64_t gap) {
      *out = next + static_cast<uint32_t>(gap);
      next = *out++ + 1;
    };
    while (end - out >= static_cast<ptrdiff_t>(kGaps) && bytes_.left() >= kGaps) {
      // Most gaps take one byte or two.
      uint64_t gaps = LoadFixed<uint64_t>(bytes_.at());
      const uint64_t longer = gaps & 0x8080808080808080;
      const auto single = static_cast<size_t>(longer == 0 ? kGaps : std::countr_zero(longer) / 8);
      for (size_t i = 0; i < single; ++i, gaps >>= 8) add(gaps & 0xff);
      bytes_.Bytes(single);
      if (single == kGaps) continue;
      if (single + 1 < kGaps && (gaps & 0x8000) == 0) {
        add((gaps & 0x7f) | (gaps >> 1 & 0x3f80));
        bytes_.Bytes(2);
      } else {
        add(bytes_.Varint());
      }
    }
    while (out != end && bytes_.ok()) add(bytes_.Varint());
    next_ = next;
    left_ = bytes_.ok() ? left_ - wanted : 0;
    return {part_.data(), bytes_.ok() ? wanted : 0};
  }

 private:
  static constexpr size_t kGaps = sizeof(uint64_t);
  ByteReader bytes_;
  uint64_t left_;
  uint32_t next_ = 0;
  std::array<uint32_t, kPart> part_;
};

const roaring::api::roaring_array_t& BlocksOf(const DocSet& set) {
  return DocSetAccess::Get(set)->high_low_container;
}

}  // namespace

// The bits of a block that has few docids. It records which words have any bits, so that only those
// are read; that is much faster than reading all words, or than sorting the docids.
class DocSetUnion::SparseBits {
 public:
  void Add(uint32_t low) {
    const uint32_t word = low / 64;
    (*bits_)[word] |= uint64_t{1} << low % 64;
    used_[word / 64] |= uint64_t{1} << word % 64;
  }
  // Writes the offsets of the set bits, restricted to the bits in `taken` (null: all), ascending,
  // then clears all bits. Returns the number of offsets.
  size_t Drain(const uint64_t* taken, uint16_t* out) {
    const uint16_t* const begin = out;
    for (uint32_t u = 0; u < kBlockWords / 64; ++u) {
      for (uint64_t used = std::exchange(used_[u], 0); used != 0; used &= used - 1) {
        const uint32_t word = u * 64 + static_cast<uint32_t>(std::countr_zero(used));
        uint64_t bits = std::exchange((*bits_)[word], 0);
        if (taken != nullptr) bits &= taken[word];
        for (; bits != 0; bits &= bits - 1)
          *out++ = static_cast<uint16_t>(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
    return static_cast<size_t>(out - begin);
  }

 private:
  // Allocated separately, with the size of the blocks that the pool keeps.
  std::unique_ptr<std::array<uint64_t, kBlockWords>> bits_ =
      std::make_unique<std::array<uint64_t, kBlockWords>>();
  std::array<uint64_t, kBlockWords / 64> used_{};
};

struct DocSetUnion::Limit {
  const container_t* container;
  uint8_t type;
};

// A part as a read-only container around its bytes, in place.
struct DocSetUnion::Borrowed {
  explicit Borrowed(const Part& part) {
    char* bytes = const_cast<char*>(part.bytes);
    const auto count = static_cast<int32_t>(part.count);
    switch (part.form) {
      case Part::Form::kArray:
        array.cardinality = array.capacity = count;
        array.array = reinterpret_cast<uint16_t*>(bytes);
        container = &array;
        type = ARRAY_CONTAINER_TYPE;
        break;
      case Part::Form::kBits:
        bits.cardinality = count;
        bits.words = reinterpret_cast<uint64_t*>(bytes);
        container = &bits;
        type = BITSET_CONTAINER_TYPE;
        break;
      case Part::Form::kRuns:
        runs.n_runs = runs.capacity = count;
        runs.runs = reinterpret_cast<roaring::internal::rle16_t*>(bytes);
        container = &runs;
        type = RUN_CONTAINER_TYPE;
        break;
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  array_container_t array;
  bitset_container_t bits;
  run_container_t runs;
  const container_t* container = nullptr;
  uint8_t type = 0;
};

DocSetUnion::DocSetUnion(const DocSet* within) {
  const bool few = within != nullptr && within->size() <= kRestrictionMax;
  restriction_ = few ? within : nullptr;
  restriction_max_ = few && !within->empty() ? within->max() : 0;
  within_ = few ? nullptr : within;
}

DocSetUnion::~DocSetUnion() {
  for (Block* block : blocks_) roaring::internal::bitset_container_free(block);
}

uint64_t* DocSetUnion::BitsOf(uint32_t key) {
  if (key >= blocks_.size()) blocks_.resize(key + size_t{1});
  if (blocks_[key] == nullptr) blocks_[key] = NewBlock();
  has_bitsets_ = true;
  return blocks_[key]->words;
}

void DocSetUnion::AddPostings(std::string_view bytes) {
  if (bytes.empty()) return;
  steps_.Step(16 + bytes.size());
  ByteReader reader(bytes);
  const uint64_t header = reader.Varint();
  if ((header & 1) != 0) return AddRoaring({reader.at(), reader.left()});
  const uint64_t count = header >> 1;
  GapReader gaps(reader, count);
  const bool to_bitsets = restriction_ == nullptr && count >= kPendingMax;
  for (auto docids = gaps.Next(); !docids.empty(); docids = gaps.Next()) {
    if (to_bitsets) {
      SetBits(docids);
    } else if (restriction_ == nullptr) {
      pending_.insert(pending_.end(), docids.begin(), docids.end());
    } else {
      if (docids.front() > restriction_max_) break;
      AddRestricted(docids);
    }
  }
  FlushPendingIfMany();
}

void DocSetUnion::AddRestricted(std::span<const DocId> docids) {
  constexpr uint32_t kLookupsMax = 64;  // docids looked up one by one before making bits pays
  if (restriction_bits_.empty()) {
    looked_up_ += static_cast<uint32_t>(docids.size());
    if (looked_up_ <= kLookupsMax) {
      std::copy_if(docids.begin(), docids.end(), std::back_inserter(pending_),
                   [&](DocId docid) { return restriction_->Contains(docid); });
      return;
    }
    restriction_bits_.resize(kBlockWords);
    restriction_->ForEach([&](DocId docid) {
      restriction_bits_[docid % kBlockDocids / 64] |= uint64_t{1} << docid % 64;
    });
  }
  // Compares positions within the block first, whatever the block: few docids outside the
  // restriction pass. Without a branch, which could not be predicted.
  std::array<uint32_t, GapReader::kPart> passed;
  while (!docids.empty()) {
    const auto part = docids.first(std::min(docids.size(), passed.size()));
    docids = docids.subspan(part.size());
    size_t count = 0;
    for (const DocId docid : part) {
      passed[count] = docid;
      count += restriction_bits_[docid % kBlockDocids / 64] >> docid % 64 & 1;
    }
    std::copy_if(passed.begin(), passed.begin() + static_cast<ptrdiff_t>(count),
                 std::back_inserter(pending_),
                 [&](DocId docid) { return restriction_->Contains(docid); });
  }
}

void DocSetUnion::AddRoaring(std::string_view bytes) {
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
  const char* heads = at;  // key, and count less one, of each block
  at += size_t{blocks} * kHeadBytes;
  if (!with_runs || blocks >= kOffsetsFromBlocks) at += size_t{blocks} * sizeof(uint32_t);
  for (uint32_t i = 0; i < blocks; ++i) {
    const auto key = LoadFixed<uint16_t>(heads + size_t{i} * kHeadBytes);
    const uint32_t count = LoadFixed<uint16_t>(heads + size_t{i} * kHeadBytes + 2) + uint32_t{1};
    if (with_runs && (static_cast<uint8_t>(run_flags[i / 8]) >> i % 8 & 1) != 0) {
      const uint32_t runs = LoadFixed<uint16_t>(at);
      at += sizeof(uint16_t);
      AddPart({Part::Form::kRuns, key, runs, at, kNoPart});
      at += size_t{runs} * 2 * sizeof(uint16_t);
    } else if (count <= kArrayMax) {
      AddPart({Part::Form::kArray, key, count, at, kNoPart});
      at += size_t{count} * sizeof(uint16_t);
    } else {
      AddPart({Part::Form::kBits, key, count, at, kNoPart});
      at += kBlockBytes;
    }
  }
  FlushPendingIfMany();
}

void DocSetUnion::AddPart(Part part) {
  if (restriction_ != nullptr) return AddRestricted(part);
  if (part.key >= first_part_.size()) first_part_.resize(part.key + size_t{1}, kNoPart);
  part.next = std::exchange(first_part_[part.key], static_cast<uint32_t>(parts_.size()));
  parts_.push_back(part);
}

void DocSetUnion::AddRestricted(const Part& part) {
  const auto& blocks = BlocksOf(*restriction_);
  const int32_t at = roaring::internal::ra_get_index(&blocks, part.key);
  if (at < 0) return;
  const Borrowed borrowed(part);
  const uint32_t base = uint32_t{part.key} << 16;
  const container_t* allowed = blocks.containers[at];
  if (blocks.typecodes[at] == ARRAY_CONTAINER_TYPE) {
    uint16_t lows[kRestrictionMax + kIntersectSlack];
    array_container_t both;
    both.cardinality = 0;
    both.capacity = kRestrictionMax;
    both.array = lows;
    const auto* array = static_cast<const array_container_t*>(allowed);
    switch (part.form) {
      case Part::Form::kArray:
        roaring::internal::array_container_intersection(array, &borrowed.array, &both);
        break;
      case Part::Form::kBits:
        roaring::internal::array_bitset_container_intersection(array, &borrowed.bits, &both);
        break;
      case Part::Form::kRuns:
        roaring::internal::array_run_container_intersection(array, &borrowed.runs, &both);
        break;
    }
    for (int32_t i = 0; i < both.cardinality; ++i) pending_.push_back(base | lows[i]);
    return;
  }
  uint8_t type;
  container_t* both = roaring::internal::container_and(borrowed.container, borrowed.type, allowed,
                                                       blocks.typecodes[at], &type);
  const size_t before = pending_.size();
  pending_.resize(before +
                  static_cast<size_t>(roaring::internal::container_get_cardinality(both, type)));
  roaring::internal::container_to_uint32_array(pending_.data() + before, both, type, base);
  roaring::internal::container_free(both, type);
}

void DocSetUnion::Spread(const Part& part, uint64_t* bits) {
  switch (part.form) {
    case Part::Form::kArray: SetEach(part.bytes, part.count, bits); break;
    case Part::Form::kBits:
      for (size_t w = 0; w < kBlockWords; ++w)
        bits[w] |= LoadFixed<uint64_t>(part.bytes + w * sizeof(uint64_t));
      break;
    case Part::Form::kRuns:
      for (uint32_t r = 0; r < part.count; ++r) {
        const uint32_t begin = LoadFixed<uint16_t>(part.bytes + size_t{r} * 4);
        SetRange(bits, begin, begin + LoadFixed<uint16_t>(part.bytes + size_t{r} * 4 + 2));
      }
      break;
  }
}

void DocSetUnion::Add(std::span<const DocId> docids) {
  if (restriction_ == nullptr) {
    pending_.insert(pending_.end(), docids.begin(), docids.end());
  } else {
    AddRestricted(docids);
  }
  FlushPendingIfMany();
}

void DocSetUnion::Add(DocSet set) {
  if (AddSmall(set)) return;
  AddParts(owned_.emplace_back(std::move(set)));
}

void DocSetUnion::Add(std::shared_ptr<const DocSet> set) {
  if (AddSmall(*set)) return;
  AddParts(*shared_.emplace_back(std::move(set)));
}

bool DocSetUnion::AddSmall(const DocSet& set) {
  if (restriction_ != nullptr) {
    AddParts(set);
  } else if (set.size() <= kCopiedSetMax) {
    set.ToVector(pending_);
  } else {
    return false;
  }
  FlushPendingIfMany();
  return true;
}

void DocSetUnion::AddParts(const DocSet& set) {
  const auto& blocks = BlocksOf(set);
  for (int32_t i = 0; i < blocks.size; ++i) {
    const container_t* container = blocks.containers[i];
    const uint16_t key = blocks.keys[i];
    const auto add = [&](Part::Form form, int32_t count, const void* at) {
      AddPart({form, key, static_cast<uint32_t>(count), static_cast<const char*>(at), kNoPart});
    };
    if (blocks.typecodes[i] == ARRAY_CONTAINER_TYPE) {
      const auto* array = static_cast<const array_container_t*>(container);
      add(Part::Form::kArray, array->cardinality, array->array);
    } else if (blocks.typecodes[i] == BITSET_CONTAINER_TYPE) {
      const auto* bits = static_cast<const bitset_container_t*>(container);
      add(Part::Form::kBits, bits->cardinality, bits->words);
    } else {
      const auto* runs = static_cast<const run_container_t*>(container);
      add(Part::Form::kRuns, runs->n_runs, runs->runs);
    }
  }
}

void DocSetUnion::Add(DocSetUnion& part, const DocBits& without) {
  // They own the bytes of the parts that are taken over unchanged.
  std::move(part.owned_.begin(), part.owned_.end(), std::back_inserter(owned_));
  std::move(part.shared_.begin(), part.shared_.end(), std::back_inserter(shared_));
  part.owned_.clear();
  part.shared_.clear();
  std::erase_if(part.pending_, [&](DocId docid) { return without.Contains(docid); });
  // Blocks where `without` is empty are taken over unchanged.
  for (const Part& roaring : part.parts_) {
    if (without.block(roaring.key) == nullptr) {
      AddPart(roaring);
    } else if (roaring.form == Part::Form::kArray && roaring.count <= kSparseMax) {
      for (uint32_t n = 0; n < roaring.count; ++n) {
        const DocId docid =
            uint32_t{roaring.key} << 16 | LoadFixed<uint16_t>(roaring.bytes + size_t{n} * 2);
        if (!without.Contains(docid)) pending_.push_back(docid);
      }
    } else {
      Spread(roaring, part.BitsOf(roaring.key));
    }
  }
  part.parts_.clear();
  part.first_part_.clear();
  if (part.has_bitsets_) {
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
    has_bitsets_ = true;
    part.has_bitsets_ = false;
  }
  Add(std::span<const uint32_t>(part.pending_));
  part.pending_.clear();
}

// Called after docids were added: moves them to bitsets once they are many.
void DocSetUnion::FlushPendingIfMany() {
  if (pending_.size() >= std::max(kPendingMax, kPendingPerBlock * blocks_.size())) FlushPending();
}

void DocSetUnion::FlushPending() {
  SetBits(pending_);
  pending_.clear();
}

void DocSetUnion::SetBits(std::span<const DocId> docids) {
  uint32_t key = ~uint32_t{0};
  uint64_t* bits = nullptr;
  for (const DocId docid : docids) {
    if (docid >> 16 != key) {
      key = docid >> 16;
      bits = BitsOf(key);
    }
    bits[(docid & 0xffff) / 64] |= uint64_t{1} << docid % 64;
  }
}

bool DocSetUnion::AppendPart(const Part& part, const Limit* limit, DocSet& set) {
  if (limit == nullptr) {
    switch (part.form) {
      case Part::Form::kArray: {
        array_container_t* array = NewArray(part.count, 0);
        std::memcpy(array->array, part.bytes, part.count * sizeof(uint16_t));
        AppendContainer(set, part.key, array, ARRAY_CONTAINER_TYPE);
        return true;
      }
      case Part::Form::kBits: {
        Block* block = NewBlock();
        std::memcpy(block->words, part.bytes, kBlockBytes);
        block->cardinality = static_cast<int32_t>(part.count);
        AppendContainer(set, part.key, block, BITSET_CONTAINER_TYPE);
        return true;
      }
      case Part::Form::kRuns: return false;
    }
  }
  const Borrowed borrowed(part);
  uint8_t type_of_both;
  container_t* both = roaring::internal::container_and(
      borrowed.container, borrowed.type, limit->container, limit->type, &type_of_both);
  AppendUnlessEmpty(set, part.key, both, type_of_both);
  return true;
}

void DocSetUnion::AppendBlock(uint32_t key, const Limit* limit, DocSet& set) {
  Block* block = std::exchange(blocks_[key], nullptr);
  if (limit != nullptr && limit->type == BITSET_CONTAINER_TYPE) {
    const uint64_t* taken = static_cast<const bitset_container_t*>(limit->container)->words;
    for (size_t w = 0; w < kBlockWords; ++w) block->words[w] &= taken[w];
  } else if (limit != nullptr && limit->type == ARRAY_CONTAINER_TYPE) {
    const auto* taken = static_cast<const array_container_t*>(limit->container);
    array_container_t* array = NewArray(static_cast<uint32_t>(taken->cardinality), 0);
    roaring::internal::array_bitset_container_intersection(taken, block, array);
    AppendUnlessEmpty(set, key, array, ARRAY_CONTAINER_TYPE);
    return roaring::internal::bitset_container_free(block);
  }
  const uint32_t count = Count(block->words);
  block->cardinality = static_cast<int32_t>(count);
  if (limit != nullptr && limit->type == RUN_CONTAINER_TYPE) {
    uint8_t type;
    container_t* both = roaring::internal::container_and(block, BITSET_CONTAINER_TYPE,
                                                         limit->container, limit->type, &type);
    AppendUnlessEmpty(set, key, both, type);
    return roaring::internal::bitset_container_free(block);
  }
  if (count > kArrayMax) return AppendContainer(set, key, block, BITSET_CONTAINER_TYPE);
  if (count > 0) {
    array_container_t* array = NewArray(count, kExtractSlack);
    Extract(block->words, array->array);
    AppendContainer(set, key, array, ARRAY_CONTAINER_TYPE);
  }
  roaring::internal::bitset_container_free(block);
}

bool DocSetUnion::AppendJoined(uint32_t first_part, const Limit* limit, DocSet& set) {
  size_t count = 0;
  for (uint32_t part = first_part; part != kNoPart; part = parts_[part].next) {
    if (++count > kJoinedMax || parts_[part].form == Part::Form::kRuns) return false;
  }
  // Joins the first parts: borrowed in place, or owned once restricted or joined.
  std::array<std::optional<Borrowed>, kJoinedMax> borrowed;
  const container_t* joined = nullptr;
  uint8_t type = 0;
  bool owned = false;
  for (uint32_t part = first_part; part != kNoPart; part = parts_[part].next) {
    const Borrowed& whole = borrowed[--count].emplace(parts_[part]);
    const container_t* next = whole.container;
    uint8_t next_type = whole.type;
    if (limit != nullptr)
      next = roaring::internal::container_and(next, whole.type, limit->container, limit->type,
                                              &next_type);
    if (joined == nullptr) {
      joined = next;
      type = next_type;
      owned = limit != nullptr;
      continue;
    }
    uint8_t type_of_both;
    const container_t* both =
        roaring::internal::container_or(joined, type, next, next_type, &type_of_both);
    if (owned) roaring::internal::container_free(const_cast<container_t*>(joined), type);
    if (limit != nullptr)
      roaring::internal::container_free(const_cast<container_t*>(next), next_type);
    joined = both;
    type = type_of_both;
    owned = true;
  }
  if (!owned) joined = roaring::internal::container_clone(joined, type);
  AppendUnlessEmpty(set, parts_[first_part].key, const_cast<container_t*>(joined), type);
  return true;
}

bool DocSetUnion::AppendSparse(uint32_t key, uint32_t first_part, std::span<const DocId> docids,
                               const Limit* limit, DocSet& set) {
  size_t count = docids.size();
  for (uint32_t part = first_part; part != kNoPart && count <= kSparseMax;
       part = parts_[part].next) {
    count += parts_[part].form == Part::Form::kArray ? parts_[part].count : kSparseMax + 1;
  }
  if (count > kSparseMax) return false;
  if (sparse_ == nullptr) sparse_ = std::make_unique<SparseBits>();
  SparseBits& bits = *sparse_;
  for (uint32_t part = first_part; part != kNoPart; part = parts_[part].next) {
    for (uint32_t n = 0; n < parts_[part].count; ++n)
      bits.Add(LoadFixed<uint16_t>(parts_[part].bytes + size_t{n} * 2));
  }
  for (const DocId docid : docids) bits.Add(docid & 0xffff);
  const bool as_bits = limit != nullptr && limit->type == BITSET_CONTAINER_TYPE;
  uint16_t lows[kSparseMax];
  count = bits.Drain(
      as_bits ? static_cast<const bitset_container_t*>(limit->container)->words : nullptr, lows);
  if (count == 0) return true;
  if (limit != nullptr && !as_bits) {
    return AppendPart({Part::Form::kArray, static_cast<uint16_t>(key), static_cast<uint32_t>(count),
                       reinterpret_cast<const char*>(lows), kNoPart},
                      limit, set);
  }
  array_container_t* array = NewArray(static_cast<uint32_t>(count), 0);
  std::memcpy(array->array, lows, count * sizeof(uint16_t));
  AppendContainer(set, key, array, ARRAY_CONTAINER_TYPE);
  return true;
}

void DocSetUnion::GroupPending() {
  if (std::is_sorted(pending_.begin(), pending_.end())) return;
  std::vector<uint32_t> begins;
  for (const DocId docid : pending_) {
    const size_t next_key = (docid >> 16) + size_t{1};
    if (next_key >= begins.size()) begins.resize(next_key + 1);
    ++begins[next_key];
  }
  for (size_t key = 1; key < begins.size(); ++key) begins[key] += begins[key - 1];
  std::vector<DocId> grouped(pending_.size());
  for (const DocId docid : pending_) grouped[begins[docid >> 16]++] = docid;
  pending_ = std::move(grouped);
}

void DocSetUnion::AppendAll(DocSet& set) {
  auto docid = pending_.begin();
  int32_t next_limit = 0;
  uint32_t end = static_cast<uint32_t>(std::max(blocks_.size(), first_part_.size()));
  if (!pending_.empty()) end = std::max(end, (pending_.back() >> 16) + 1);
  for (uint32_t key = 0; key < end; ++key) {
    steps_.Step(512);
    const bool has_block = key < blocks_.size() && blocks_[key] != nullptr;
    const uint32_t first_part = key < first_part_.size() ? first_part_[key] : kNoPart;
    const auto docids = docid;
    while (docid != pending_.end() && *docid >> 16 == key) ++docid;
    if (!has_block && first_part == kNoPart && docids == docid) continue;
    Limit limit{nullptr, 0};
    if (within_ != nullptr) {
      const auto& limits = BlocksOf(*within_);
      while (next_limit < limits.size && limits.keys[next_limit] < key) ++next_limit;
      if (next_limit == limits.size || limits.keys[next_limit] != key) {
        if (has_block)
          roaring::internal::bitset_container_free(std::exchange(blocks_[key], nullptr));
        continue;
      }
      limit = {limits.containers[next_limit], limits.typecodes[next_limit]};
    }
    const Limit* here = within_ == nullptr ? nullptr : &limit;
    const bool alone = !has_block && first_part != kNoPart && parts_[first_part].next == kNoPart &&
                       docids == docid;
    if (alone && AppendPart(parts_[first_part], here, set)) continue;
    if (!has_block && docids == docid && AppendJoined(first_part, here, set)) continue;
    if (!has_block && AppendSparse(key, first_part, {docids, docid}, here, set)) continue;
    uint64_t* bits = BitsOf(key);
    for (uint32_t part = first_part; part != kNoPart; part = parts_[part].next)
      Spread(parts_[part], bits);
    for (auto at = docids; at != docid; ++at) bits[(*at & 0xffff) / 64] |= uint64_t{1} << *at % 64;
    AppendBlock(key, here, set);
  }
}

DocSet DocSetUnion::Finish() {
  if (!pending_.empty()) {
    const DocId max_docid = *std::max_element(pending_.begin(), pending_.end());
    const bool many = pending_.size() >= kPendingPerBlock * ((max_docid >> 16) + size_t{1});
    if (has_bitsets_ || many) {
      FlushPending();
    } else if (pending_.size() > kSortedMax) {
      GroupPending();
    } else {
      std::sort(pending_.begin(), pending_.end());
      pending_.erase(std::unique(pending_.begin(), pending_.end()), pending_.end());
    }
  }
  DocSet set;
  if (!has_bitsets_ && parts_.empty() && pending_.size() <= kSortedMax) {
    set = DocSet::FromSorted(pending_);
    if (within_ != nullptr) set &= *within_;
  } else {
    AppendAll(set);
  }
  pending_.clear();
  parts_.clear();
  first_part_.clear();
  has_bitsets_ = false;
  owned_.clear();
  shared_.clear();
  return set;
}

}  // namespace gannet
