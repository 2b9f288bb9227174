// Thresholds that decide between two ways to an answer, the same one where a comment says nothing
// else. Tests move them to make rare ways common on small data. The product takes the defaults.
//
// Each says what it trades, and how the default was found (docs/design has the figures).
//
// Threads: set once, before any other use of the engine; read by any thread afterwards.
#pragma once

#include <cstdint>

namespace gannet {

// SIMD variants of hot loops, in ascending order.
enum class CpuLevel : uint8_t {
  kPortable,
  kAvx2,    // and POPCNT, BMI
  kAvx512,  // F, BW, VBMI, VBMI2, VNNI and VPOPCNTDQ
};

struct Tuning {
  // A bucket of so many documents is split by posting lists, a smaller one by reading its records.
  // Twice as many documents, or so many lists, are shared with idle threads.
  // Trades: a union of lists costs the same for few documents as for many; a record costs 40 to 60
  // ns.
  // Found: 256, 512, 2,048 and 4,096 measured by turns on both collections; 512 gains 2 % on
  // packages and loses 5 % on the catalogue, 2,048 gains 2 % on the catalogue alone.
  uint64_t large_bucket_min = 1024;
  // From so many words on a union of their lists is kept in the docset cache; of unions by leading
  // position from `cached_position_words_min` on.
  // Trades: memory of the cache, and a copy per search, for the joining. Cheap unions drive costly
  // ones out.
  // Found: keeping unions from 16 words on made searches that come once 4 % slower and others no
  // faster. Lists of positions are several for each word, so fewer words are as costly.
  uint64_t cached_words_min = 200;
  uint64_t cached_position_words_min = 64;
  // A word is frequent, and its pairs with other frequent words are listed by distance, if so many
  // documents of a segment hold it; in large segments a fiftieth of the documents.
  // Trades: bytes of adjacency postings for reading records.
  // Found: in small segments a pair of rarer words has too few documents for its list to spare
  // anything; the fiftieth was chosen on both collections for 3 to 5 % more bytes.
  uint64_t frequent_documents_min = 64;
  // From so many words on the union of the words that begin alike is stored in a segment.
  // Trades: bytes of segments for the joining of lists by the first search for a prefix.
  // Found: the smallest number whose unions the first askings of prefixes noticed, for 22 MB on the
  // catalogue.
  uint64_t prefix_union_words_min = 64;
  // From so many postings on a word in several fields has stored which documents its longest list
  // lacks.
  // Trades: bytes for joining the lists of many fields.
  // Found: with 128 CPU stayed within noise for 2 MB more.
  uint64_t stored_rest_min = 1024;
  // The nearest vectors of more candidates are looked for in graphs.
  // Trades: the time of a scan, which grows with the candidates, for the 3 % of the nearest that a
  // walk misses. Answers depend on it.
  // Found: among 253,744 rows a scan took 8.1 ms and a walk 5.7 (docs/design/vectors.md).
  uint64_t scanned_candidates_max = 300'000;
  // The highest SIMD variants that run, if the processor has them. Lower ones are for tests and for
  // comparing.
  CpuLevel cpu_max = CpuLevel::kAvx512;
};

namespace internal {
inline Tuning tuning;
}

inline const Tuning& Tuned() { return internal::tuning; }
// REQUIRES: nothing of the engine was used before.
inline void SetTuning(const Tuning& tuning) { internal::tuning = tuning; }

}  // namespace gannet
