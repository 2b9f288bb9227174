// Words of a dictionary within a few typos of a query word, in ascending byte order.
//
// Distance: Damerau-Levenshtein in code points. Inserting, deleting or replacing a character and
// swapping two neighbours count 1 each; a swapped pair is not edited again (optimal string
// alignment, as in Schulz & Mihov, "Fast String Correction with Levenshtein-Automata", IJDAR 5,
// 2002). With `prefix` a word is read from left to right and accepted where the query is near
// enough and no prefix of the query is nearer to the characters read.
//
// The walk goes down the dictionary with the set of positions of the query that some alignment may
// have reached, by number of errors: after d characters of the word these are within d +-
// distance_max, so each set is a few bits and a character costs a dozen instructions, whatever the
// query's length.
//
// Dictionaries hold valid UTF-8. Words that are not may be missed or get another distance.
//
// Threads: a FuzzyQuery is immutable and may serve many streams; a stream has one owner.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fst/fst.h"

namespace gannet::fst {

// Which words match, by their first character. The distance reported is the plain one in every
// mode. An empty query has no first character: all modes then mean kAny.
enum class FirstChar : uint8_t {
  kAny,
  kSameFirst,       // only words that begin with the query's first character
  kSameFirstOrOne,  // these, and words at distance 0 or 1 that begin with another character
};

class FuzzyQuery {
 public:
  static constexpr int kDistanceMax = 2;

  // query: UTF-8, copied. distance_max: 0..kDistanceMax. Cost: 1 kB cleared, linear in the query.
  FuzzyQuery(std::string_view query, int distance_max, bool prefix,
             FirstChar first = FirstChar::kAny);

  int distance_max() const { return distance_max_; }
  bool prefix() const { return prefix_; }

 private:
  friend class FuzzyStream;

  // The query from the character at `position`. REQUIRES: position <= length_
  std::string_view From(uint32_t position) const {
    return std::string_view(bytes_).substr(begins_[position]);
  }

  // Bit i: the query has `c` at position at - distance_max + i, for i of 0..2 * distance_max.
  uint32_t Matches(char32_t c, uint32_t at) const;

  std::string bytes_;
  std::vector<uint32_t> begins_;  // offset of each character in bytes_; then its size
  // the query between fillers: distance_max before, 2 * distance_max + 1 after
  std::vector<char32_t> padded_;
  std::array<uint64_t, 128> ascii_{};  // by character: bit i set when padded_[i] is it
  uint32_t length_ = 0;                // of the query, code points
  bool use_ascii_ = false;             // the padded query fits the 64 bits
  uint8_t distance_max_;
  bool prefix_;
  FirstChar first_;
};

// Iterates over the matching words; several streams can be merged by word(). With `prefix`, the
// words below an accepted prefix are read at the speed of Fst::Iterator once their distance is
// settled.
// Lifetime: borrows the query and the bytes of the dictionary.
class FuzzyStream {
 public:
  // Starts at the first match.
  FuzzyStream(const Fst& fst, const FuzzyQuery& query);

  bool Valid() const { return valid_; }
  // REQUIRES, for the members below: Valid()
  std::string_view word() const { return word_; }  // until Next()
  uint32_t ordinal() const { return ordinal_; }
  uint8_t distance() const { return distance_; }
  void Next();

 private:
  static constexpr uint8_t kNone = 255;  // a distance that no alignment reaches

  // The positions of the query reached after `d` characters of the word: bit i stands for the
  // position d - distance_max + i.
  struct State {
    uint8_t at[3] = {};    // by number of errors so far
    uint8_t swap[2] = {};  // first half of a swap read, by the number of errors before it
  };
  struct Frame {
    Node node;
    uint32_t words_before = 0;  // words before this node
    char32_t partial = 0;       // bits of the partly read character
    uint16_t arc = 0;           // the next arc to take
    uint16_t chars = 0;         // complete characters of the word
    uint8_t missing = 0;        // bytes missing from the partly read character
    uint8_t cap = 0;            // errors allowed below
    uint8_t best = kNone;       // with `prefix`: the distance at which a prefix was accepted
    bool settled = false;       // with `prefix`: `best` holds for every word below
    uint8_t exact = 0;  // no error is left: positions of which the next character must be one
    State state;
  };

  State Initial() const;
  State Step(const State& state, uint32_t matches, uint32_t chars, uint8_t cap) const;
  uint8_t DistanceAtEnd(const State& state, uint32_t chars) const;
  static bool NoneNearer(const State& state, uint8_t distance);
  static uint8_t MinErrors(const State& state);
  uint8_t ExactPositions(const Frame& frame) const;
  bool CanLeadOn(const Frame& frame, uint8_t lead) const;
  bool RestIsBelow(const Frame& frame) const;
  bool FollowChar(Frame& child, char32_t c, bool first) const;
  bool FollowByte(const Frame& parent, uint8_t label, Frame& child) const;
  bool Accept(const Frame& frame);
  void Advance();

  Fst fst_;
  const FuzzyQuery* query_;
  std::vector<Frame> path_;  // one frame more than word_ has bytes
  std::string word_;
  uint32_t ordinal_ = 0;
  uint8_t distance_ = 0;
  bool valid_ = false;
};

// sink(std::string_view word, uint32_t ordinal, uint8_t distance) -> bool: false stops.
// Cost for 1 M words of natural language: 25 us at distance 1, 0.27 ms at distance 2; 12 us and
// 0.09 ms when the first character is restricted (perf/micro/fst_bench.cc, EPYC, shared).
template <typename Sink>
void Walk(const Fst& fst, const FuzzyQuery& query, Sink&& sink) {
  for (FuzzyStream stream(fst, query); stream.Valid(); stream.Next()) {
    if (!sink(stream.word(), stream.ordinal(), stream.distance())) return;
  }
}

}  // namespace gannet::fst
