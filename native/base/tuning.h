// Thresholds that choose between two ways to compute a result. Both ways give the same result
// unless a comment says otherwise. Tests change them so that rare ways become common on small data.
// The server uses the defaults.
//
// Each comment says what the threshold trades, and how the default was found (docs/internals has
// the figures).
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
  // A bucket of at least this many documents is split by posting lists, a smaller one by reading
  // its records. Work on twice as many documents, or on this many lists, is shared with idle
  // threads.
  // Trades: a union of lists costs the same for few documents as for many; a record costs 40 to
  // 60 ns.
  // Found: 256, 512, 2,048 and 4,096 were measured alternately on both collections; 512 gains 2 %
  // on packages and loses 5 % on the catalogue, 2,048 gains 2 % on the catalogue alone.
  uint64_t large_bucket_min = 1024;
  // The union of the lists of at least this many words is kept in the docset cache; for unions by
  // leading position the minimum is `cached_position_words_min`.
  // Trades: memory of the cache, and a copy per search, for the union. Cheap unions evict
  // costly ones.
  // Found: with a minimum of 16 words, searches that are not repeated were 4 % slower and others
  // no faster. A word has several lists by position, so fewer words cost as much.
  uint64_t cached_words_min = 200;
  uint64_t cached_position_words_min = 64;
  // A word is frequent if at least this many documents of a segment hold it; in large segments, as
  // many as segment::FrequentMin says. Pairs of frequent words are listed by distance.
  // Trades: bytes of adjacency postings for reading records.
  // Found: in small segments a pair of rarer words has too few documents for its list to save
  // anything; docs/internals/segments.md has the shares that were tried in large ones.
  uint64_t frequent_documents_min = 64;
  // A segment stores the union of the words that begin alike if there are at least this many.
  // Trades: bytes of segments for the union that the first search for a prefix computes.
  // Found: the smallest number whose unions made a measurable difference to the first search for a
  // prefix, for 22 MB on the catalogue.
  uint64_t prefix_union_words_min = 64;
  // For a word in several fields with at least this many postings, a segment stores which documents
  // its longest list lacks.
  // Trades: bytes for the union of the lists of many fields.
  // Found: with 128, CPU stayed within noise for 2 MB more.
  uint64_t stored_rest_min = 1024;
  // With more candidates than this, the nearest vectors are chosen in graphs, not by a scan.
  // Trades: the time of a scan, which grows with the candidates, for the 3 % of the nearest that
  // walks miss. Results depend on it.
  // Found: among 253,744 rows a scan took 8.1 ms and a walk 5.7 ms (docs/internals/vectors.md).
  uint64_t scanned_candidates_max = 300'000;
  // A segment with more rows than this for an embedder stores the signs of its vectors, and
  // searches scan them first.
  // Trades: 6 us per row of 384 components when the segment is written, 56 bytes, and what signs
  // miss, one of 50,000 of the nearest, for the time of a scan. Results depend on it.
  // Found: the nearest 20 of 5,000 rows take the same both ways (docs/internals/vectors.md).
  uint64_t signed_rows_min = 5'000;
  // The highest level of SIMD variants to use, if the processor has it. Lower levels are for tests
  // and comparisons.
  CpuLevel cpu_max = CpuLevel::kAvx512;
};

namespace internal {
inline Tuning tuning;
}

inline const Tuning& Tuned() { return internal::tuning; }
// REQUIRES: nothing of the engine has been used yet.
inline void SetTuning(const Tuning& tuning) { internal::tuning = tuning; }

}  // namespace gannet
