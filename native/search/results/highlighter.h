// Highlighting, cropping and the positions of matches (docs/behaviour/results.md): the members
// `_formatted` and `_matchesPosition` of a hit.
//
// Matching works on the original text, not on the index, so attributes that are not searchable are
// highlighted as well. Behavior known from recorded responses:
//   - For an attribute inside arrays, the positions are those of the last element that has any.
//   - A phrase that contains a stop word is never highlighted.
//   - If a match is a phrase longer than the crop length, the window begins at the start of the
//   text.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/stop_point.h"
#include "index/snapshot.h"
#include "search/results/projection.h"
#include "segment/rows.h"
#include "text/analyzer.h"

namespace gannet::search {

// The hash of maps with std::string keys that are searched by std::string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

// A word of the query graph that may match tokens of a text.
struct MatchWord {
  std::string word;  // normalized
  // true: a token that begins with `word` matches, and its first min(query_chars, characters of
  // word) characters are highlighted. false: only a token equal to `word` matches, as a whole.
  bool prefix = false;
  uint32_t query_chars = 0;  // characters of the query word that it stands for
  uint16_t first_position = 0, last_position = 0;  // query positions that it covers
};

// Adjacent words, with any separators. nullopt: any stop word.
struct MatchPhrase {
  std::vector<std::optional<std::string>> words;
  uint16_t first_position = 0;
};

// A word of the query that may be part of a word, in attributes that are found by parts of words.
struct MatchPart {
  std::string text;  // normalized
  uint16_t first_position = 0, last_position = 0;
};

// Terms in the order in which they are tried on a token; phrases before words, words before parts.
struct MatchTerms {
  std::vector<MatchPhrase> phrases;
  std::vector<MatchWord> words;
  std::vector<MatchPart> parts;
};

// The options of the request; names need not exist.
struct HighlightOptions {
  std::optional<std::vector<std::string>> highlight;  // names, or "*"
  std::optional<std::vector<std::string>> crop;       // "name", "name:words", "*", "*:words"
  uint32_t crop_length = 0;                           // in words; 0: text is not cropped
  std::string crop_marker, pre_tag, post_tag;
  bool matches_position = false;
  // Limit of the response: bytes after it are not written, and the owner refuses the response.
  uint64_t bytes_max = UINT64_MAX;
};

// The tokens of a text that one term matches.
struct TextMatch {
  uint32_t first_token, last_token;        // inclusive; indexes into the token buffer
  uint32_t first_word, last_word;          // the same, counting only words
  uint32_t begin, end;                     // bytes of the text to highlight, [begin, end)
  uint16_t first_position, last_position;  // query positions
  uint16_t phrase_words;                   // 0: a single word
};

// Finds the terms in the tokens of a text. Immutable.
// Cost: one lookup for a token whose first byte and length equal those of some term, none for
// others.
class TermMatcher {
 public:
  explicit TermMatcher(const MatchTerms& terms);
  bool empty() const { return entries_.empty() && parts_.empty(); }
  // Query positions are below this.
  uint32_t position_count() const { return position_count_; }
  // Replaces `matches` by those in `text`, in order, without overlaps. Stores in `words` the
  // indexes of the tokens that are words. inside: parts of words count.
  void Find(std::string_view text, const text::Analyzer& analyzer, const text::TokenBuffer& tokens,
            bool inside, std::vector<uint32_t>& words, std::vector<TextMatch>& matches) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    uint32_t exact = kNone, prefix = kNone;  // index of the first of words_ with this word
    std::vector<uint32_t> phrases;           // indexes of the phrases that begin with it
  };
  struct Word {
    uint32_t bytes;  // bytes of the token to highlight, for prefixes
    uint16_t first_position, last_position;
  };
  struct Phrase {
    std::vector<std::string> words;
    uint16_t first_position;
  };
  // The bytes of a token that its match highlights, and the query positions of the match.
  struct Marked {
    uint32_t begin, end;
    uint16_t first_position, last_position;
  };
  // The first part that the word contains, where it occurs first.
  std::optional<Marked> FindPart(std::string_view text, const text::Analyzer& analyzer,
                                 const text::Token& token, std::string_view lemma) const;
  bool MatchesPhrase(const Phrase& phrase, size_t word, const text::TokenBuffer& tokens,
                     const std::vector<uint32_t>& words) const;

  std::unordered_map<std::string, Entry, StringHash, std::equal_to<>> entries_;
  std::vector<Word> words_;
  std::vector<Phrase> phrases_;
  std::vector<MatchPart> parts_;
  // By first byte: bit min(length, 63) is set for words that match a whole token, and for prefixes.
  std::array<uint64_t, 256> whole_lengths_{}, prefix_lengths_{};
  size_t prefix_bytes_max_ = 0;
  uint32_t position_count_ = 0;
};

// One object per search. Threads: one. The snapshot must outlive it; everything else is copied.
class Highlighter {
 public:
  // attributes_to_retrieve  of the request: `_formatted` has these as well
  // locales                 of the request; empty: those of each attribute
  Highlighter(const index::Snapshot& snapshot, const MatchTerms& terms, HighlightOptions options,
              const std::optional<std::vector<std::string>>& attributes_to_retrieve,
              std::vector<text::Locale> locales);
  Highlighter(const Highlighter&) = delete;
  Highlighter& operator=(const Highlighter&) = delete;

  // Whether `_formatted` or `_matchesPosition` is wanted at all.
  bool active() const { return formats_ || options_.matches_position; }
  // Appends the requested ones as members of an object. `first` is whether no member precedes them,
  // and is updated.
  void Append(std::span<const segment::RowField> row, bool& first, std::string& out);

 private:
  struct Node;
  struct MatchBounds;
  using BoundsByPath =
      std::pmr::unordered_map<std::pmr::string, MatchBounds*, StringHash, std::equal_to<>>;
  struct CropRule {
    std::optional<FieldId> field;  // nullopt: every field
    uint32_t length;
  };
  // A range of bytes of a text, and whether text was cut off at either end.
  struct Window {
    size_t begin, end;
    bool cut_before, cut_after;
  };

  bool Displayed(FieldId field) const;
  void ReadCropRules();
  uint32_t CropLength(std::string_view path) const;
  Node* MakeNode(const Node* parent, std::string_view key);
  Node& Root(FieldId field);
  Node& Child(Node& node, std::string_view key);

  // write: whether to write the value into `_formatted`.
  void Walk(Node& node, std::string_view value, bool write, std::string& out);
  void WalkLeaf(Node& node, std::string_view value, bool write, std::string& out);
  void AddMatchBounds(MatchBounds& bounds);
  Window Crop(std::string_view text, uint32_t length);
  std::optional<std::pair<size_t, size_t>> BestMatches(uint32_t length);
  void AppendText(std::string_view text, const Window& window, bool mark, std::string& out) const;

  const index::Snapshot& snapshot_;
  const HighlightOptions options_;
  const std::vector<text::Locale> locales_;
  TermMatcher matcher_;
  Projection projection_;  // fields of `_formatted`
  Projection displayed_;
  std::vector<CropRule> crop_rules_;  // the last rule that applies counts
  bool highlights_all_ = false;
  std::vector<FieldId> highlighted_;
  bool formats_ = false;
  std::string pre_tag_, post_tag_, marker_;  // JSON-escaped

  // Holds nodes and bounds: a document can have 100,000 of them, and to free one after the other
  // would take 50 ms after the last stop point. Their destructors never run.
  std::pmr::monotonic_buffer_resource arena_;
  std::vector<Node*> roots_;  // by field; null: not seen
  BoundsByPath* bounds_;
  // In the current document.
  std::vector<MatchBounds*> found_;
  std::string entries_;            // of all found_
  std::vector<uint32_t> indices_;  // of the array elements around the current value

  // State for the current text.
  text::TokenBuffer tokens_;
  std::vector<uint32_t> words_;
  std::vector<TextMatch> matches_;
  std::string scratch_;
  std::vector<uint32_t> position_counts_;
  StopCounter steps_;
};

}  // namespace gannet::search
