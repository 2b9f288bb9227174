#include "fst/levenshtein.h"

#include <algorithm>
#include <cassert>

#include "base/stop_point.h"
#include "base/utf8.h"

namespace gannet::fst {
namespace {

constexpr char32_t kFiller = 0xffffffff;  // no character

// The number of bytes of a character, from its first byte. A byte that begins no character counts
// as a character of one byte.
uint8_t Utf8Bytes(uint8_t lead) {
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 1;
}

uint8_t Utf8Lead(char32_t c) {
  return static_cast<uint8_t>(c < 0x80      ? c
                              : c < 0x800   ? 0xc0 | c >> 6
                              : c < 0x10000 ? 0xe0 | c >> 12
                                            : 0xf0 | c >> 18);
}

}  // namespace

FuzzyQuery::FuzzyQuery(std::string_view query, int distance_max, bool prefix, FirstChar first)
    : bytes_(query),
      distance_max_(static_cast<uint8_t>(distance_max)),
      prefix_(prefix),
      first_(first) {
  assert(distance_max >= 0 && distance_max <= kDistanceMax);
  padded_.assign(distance_max_, kFiller);
  for (size_t at = 0; at < query.size(); ++length_) {
    begins_.push_back(static_cast<uint32_t>(at));
    padded_.push_back(DecodeUtf8(query, at));
  }
  begins_.push_back(static_cast<uint32_t>(query.size()));
  if (length_ == 0) first_ = FirstChar::kAny;
  padded_.resize(padded_.size() + 2 * distance_max_ + 1, kFiller);
  use_ascii_ = padded_.size() <= 64;
  if (!use_ascii_) return;
  for (size_t i = 0; i < padded_.size(); ++i) {
    if (padded_[i] < 128) ascii_[padded_[i]] |= uint64_t{1} << i;
  }
}

uint32_t FuzzyQuery::Matches(char32_t c, uint32_t at) const {
  const uint32_t width = 2u * distance_max_ + 1;
  // No alignment gets further than distance_max past the end.
  if (at > length_ + distance_max_) return 0;
  if (c < 128 && use_ascii_) {
    return static_cast<uint32_t>(ascii_[c] >> at) & ((1u << width) - 1);
  }
  uint32_t matches = 0;
  for (uint32_t i = 0; i < width; ++i) matches |= static_cast<uint32_t>(padded_[at + i] == c) << i;
  return matches;
}

FuzzyStream::FuzzyStream(const Fst& fst, const FuzzyQuery& query) : fst_(fst), query_(&query) {
  Frame root;
  if (!fst_.Root(root.node)) return;
  root.cap = query.distance_max_;
  root.state = Initial();
  path_.reserve(32);
  path_.push_back(root);
  // The empty word has no first character.
  if (query.first_ == FirstChar::kSameFirst) {
    Advance();
    return;
  }
  if (query.first_ == FirstChar::kSameFirstOrOne && DistanceAtEnd(root.state, 0) > 1) {
    Advance();
    return;
  }
  if (!Accept(root)) Advance();
}

void FuzzyStream::Next() {
  assert(valid_);
  Advance();
}

// Before any character: position p is reached by deleting p characters of the query.
FuzzyStream::State FuzzyStream::Initial() const {
  State state;
  for (uint32_t errors = 0; errors <= query_->distance_max_ && errors <= query_->length_;
       ++errors) {
    state.at[errors] = static_cast<uint8_t>(1u << (query_->distance_max_ + errors));
  }
  return state;
}

// The state after one more character of the word. matches: FuzzyQuery::Matches of that character at
// `chars`, the number of characters before it. In the new state a bit stands for the next higher
// position: an alignment that advances by one character keeps its bit, one that stays moves a bit
// down.
FuzzyStream::State FuzzyStream::Step(const State& state, uint32_t matches, uint32_t chars,
                                     uint8_t cap) const {
  const uint32_t k = query_->distance_max_;
  // Positions up to the query's length only: bit i is position chars + 1 - k + i.
  const uint32_t width = std::min(2 * k + 1, query_->length_ + k - chars);
  const uint32_t within = (1u << width) - 1;
  const uint32_t next_matches = matches >> 1;
  State to;
  uint32_t below = state.at[0] & matches & within;
  to.at[0] = static_cast<uint8_t>(below);
  for (uint32_t errors = 1; errors <= cap; ++errors) {
    const uint32_t before = state.at[errors - 1];
    const uint32_t reached = (state.at[errors] & matches)                // same character
                             | before >> 1                               // one too many in the word
                             | before                                    // another character
                             | below << 1                                // one missing in the word
                             | (state.swap[errors - 1] & matches) << 1;  // second half of a swap
    below = reached & within;
    to.at[errors] = static_cast<uint8_t>(below);
    to.swap[errors - 1] = static_cast<uint8_t>((before & next_matches) >> 1);
  }
  return to;
}

// The distance between the query and the `chars` characters read, or kNone.
uint8_t FuzzyStream::DistanceAtEnd(const State& state, uint32_t chars) const {
  const int bit =
      static_cast<int>(query_->length_) - static_cast<int>(chars) + query_->distance_max_;
  if (bit < 0 || bit > 2 * query_->distance_max_) return kNone;
  for (uint8_t errors = 0; errors <= query_->distance_max_; ++errors) {
    if (state.at[errors] >> bit & 1) return errors;
  }
  return kNone;
}

// Whether no prefix of the query is nearer than `distance` to the characters read.
bool FuzzyStream::NoneNearer(const State& state, uint8_t distance) {
  for (uint8_t errors = 0; errors < distance; ++errors) {
    if (state.at[errors]) return false;
  }
  return true;
}

// A lower bound of the distance of every word below; kNone: no word below can match.
uint8_t FuzzyStream::MinErrors(const State& state) {
  if (state.at[0]) return 0;
  if (state.at[1] | state.swap[0]) return 1;
  if (state.at[2] | state.swap[1]) return 2;
  return kNone;
}

// The positions, as in State, of the characters of the query one of which must come next; 0 when
// others may come.
uint8_t FuzzyStream::ExactPositions(const Frame& frame) const {
  if (frame.best != kNone) return 0;
  uint32_t exact = frame.state.at[frame.cap];
  for (uint8_t errors = 0; errors < frame.cap; ++errors) {
    if (frame.state.at[errors]) return 0;
    exact |= frame.state.swap[errors];
  }
  return static_cast<uint8_t>(exact);
}

// Whether a multi-byte character that begins with `lead` can keep the walk alive: false only if the
// character must be one of the query's.
bool FuzzyStream::CanLeadOn(const Frame& frame, uint8_t lead) const {
  const std::vector<char32_t>& padded = query_->padded_;
  if (frame.chars == 0 && query_->first_ == FirstChar::kSameFirst) {
    return lead == Utf8Lead(padded[query_->distance_max_]);
  }
  if (frame.exact == 0) return true;
  for (uint32_t i = 0; frame.exact >> i; ++i) {
    const char32_t c = padded[frame.chars + i];
    if ((frame.exact >> i & 1) && c != kFiller && Utf8Lead(c) == lead) return true;
  }
  return false;
}

// For a frame without errors left: whether the rest of the query follows from one of its positions.
// Most such frames end here, before any work for the nodes below.
bool FuzzyStream::RestIsBelow(const Frame& frame) const {
  const auto below = [&](std::string_view first, std::string_view then) {
    Node node = frame.node;
    for (const std::string_view part : {first, then}) {
      for (const char label : part) {
        const uint32_t arc = node.FindArc(static_cast<uint8_t>(label));
        if (arc == node.arc_count || !fst_.Child(node, arc, node)) return false;
      }
    }
    return query_->prefix_ || node.final;
  };
  uint32_t swaps = 0;
  for (uint8_t errors = 0; errors < frame.cap; ++errors) swaps |= frame.state.swap[errors];
  for (uint32_t i = 0; frame.exact >> i != 0; ++i) {
    const uint32_t position = frame.chars + i - query_->distance_max_;
    if ((frame.state.at[frame.cap] >> i & 1) != 0 && below(query_->From(position), {})) return true;
    if ((swaps >> i & 1) == 0) continue;
    // The other half of a swapped pair: the character after it was already read.
    const std::string_view half = query_->From(position);
    if (below(half.substr(0, half.size() - query_->From(position + 1).size()),
              query_->From(position + 2)))
      return true;
  }
  return false;
}

// Follows one character. False: no word below can match.
bool FuzzyStream::FollowChar(Frame& child, char32_t c, bool first) const {
  const FuzzyQuery& query = *query_;
  if (first && query.first_ != FirstChar::kAny && c != query.padded_[query.distance_max_]) {
    if (query.first_ == FirstChar::kSameFirst) return false;
    child.cap = std::min<uint8_t>(child.cap, 1);
  }
  child.state = child.chars > query.length_ + query.distance_max_
                    ? State{}
                    : Step(child.state, query.Matches(c, child.chars), child.chars, child.cap);
  ++child.chars;
  const uint8_t min_errors = MinErrors(child.state);
  if (!query.prefix_) {
    child.exact = ExactPositions(child);
    return min_errors != kNone;
  }
  if (const uint8_t end = DistanceAtEnd(child.state, child.chars);
      end != kNone && NoneNearer(child.state, end)) {
    child.best = end;
    child.settled = true;
  }
  child.exact = ExactPositions(child);
  return child.best != kNone || min_errors != kNone;
}

// Sets `child`, except its node, to the state after one byte. False: no word below can match.
bool FuzzyStream::FollowByte(const Frame& parent, uint8_t label, Frame& child) const {
  child.partial = 0;
  child.chars = parent.chars;
  child.missing = 0;
  child.cap = parent.cap;
  child.best = parent.best;
  child.settled = parent.settled;
  child.exact = 0;
  child.state = parent.state;
  if (parent.settled) return true;
  if (parent.missing > 0 && (label & 0xc0) == 0x80) {
    child.partial = parent.partial << 6 | (label & 0x3f);
    child.missing = parent.missing - 1;
    return child.missing > 0 || FollowChar(child, child.partial, parent.chars == 0);
  }
  if (parent.missing > 0) return false;  // not UTF-8
  const uint8_t bytes = Utf8Bytes(label);
  if (bytes == 1) return FollowChar(child, label, parent.chars == 0);
  child.missing = bytes - 1;
  child.partial = label & (0x7f >> bytes);
  return CanLeadOn(parent, label);
}

// Whether the word that ends at `frame` matches; if so, makes it the current word.
bool FuzzyStream::Accept(const Frame& frame) {
  if (!frame.node.final || frame.missing > 0) return false;
  const uint8_t distance = frame.settled ? frame.best : DistanceAtEnd(frame.state, frame.chars);
  if (distance == kNone || frame.words_before >= fst_.size()) return false;
  ordinal_ = frame.words_before;
  distance_ = distance;
  valid_ = true;
  return true;
}

// Moves to the next match after the top node.
void FuzzyStream::Advance() {
  valid_ = false;
  Frame child;
  StopCounter counter;
  while (!path_.empty()) {
    Frame& frame = path_.back();
    const uint32_t arc_count = frame.node.arc_count;
    uint32_t arc = frame.arc;
    // Most nodes are reached without errors left: skip cheaply what cannot follow.
    counter.Step(8 + arc_count - arc);
    for (; arc < arc_count; ++arc) {
      const uint8_t label = frame.node.labels[arc];
      if (frame.exact != 0 && label < 128 &&
          (query_->Matches(label, frame.chars) & frame.exact) == 0) {
        continue;
      }
      if (FollowByte(frame, label, child)) break;
    }
    if (arc == arc_count) {
      path_.pop_back();
      if (!path_.empty()) word_.pop_back();
      continue;
    }
    frame.arc = static_cast<uint16_t>(arc + 1);
    if (word_.size() >= kWordBytesMax || !fst_.Child(frame.node, arc, child.node)) {
      path_.clear();  // damaged bytes
      return;
    }
    if (child.exact != 0 && !RestIsBelow(child)) continue;
    child.arc = 0;
    child.words_before = frame.words_before + frame.node.WordsBefore(arc);
    word_.push_back(static_cast<char>(frame.node.labels[arc]));
    path_.push_back(child);
    if (Accept(path_.back())) return;
  }
}

}  // namespace gannet::fst
