#include "search/results/highlighter.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <tuple>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/long_text.h"
#include "base/stop_point.h"

namespace gannet::search {
namespace {

bool IsWord(const text::Token& token) { return token.kind <= text::TokenKind::kStopWord; }

uint64_t LengthBit(size_t bytes) { return uint64_t{1} << std::min<size_t>(bytes, 63); }

// The number of bytes of the first `count` characters.
uint32_t BytesOf(std::string_view text, uint32_t count) {
  size_t at = 0;
  while (at < text.size()) {
    if ((static_cast<uint8_t>(text[at]) & 0xc0) != 0x80 && count-- == 0) break;
    ++at;
  }
  return static_cast<uint32_t>(at);
}

std::string Escaped(std::string_view text) {
  std::string out;
  AppendJsonEscaped(out, text);
  return out;
}

bool IsContainer(json::Kind kind) {
  return kind == json::Kind::kObject || kind == json::Kind::kArray;
}

// Calls sink(prefix) for each dotted prefix of a path, the path itself included.
template <typename Sink>
void ForEachPrefix(std::string_view path, Sink&& sink) {
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    sink(path.substr(0, dot));
  sink(path);
}

}  // namespace

// TermMatcher

TermMatcher::TermMatcher(const MatchTerms& terms) {
  const auto first_byte = [](std::string_view word) { return static_cast<uint8_t>(word[0]); };
  const auto count_position = [&](uint32_t last) {
    position_count_ = std::max(position_count_, last + 1);
  };
  entries_.reserve(terms.words.size() + terms.phrases.size());
  for (const MatchPhrase& phrase : terms.phrases) {
    Phrase copy{{}, phrase.first_position};
    for (const auto& word : phrase.words) {
      if (word && !word->empty()) copy.words.push_back(*word);
    }
    if (copy.words.empty() || copy.words.size() != phrase.words.size()) continue;
    count_position(phrase.first_position + static_cast<uint32_t>(copy.words.size()) - 1);
    const std::string& head = copy.words[0];
    entries_[head].phrases.push_back(static_cast<uint32_t>(phrases_.size()));
    whole_lengths_[first_byte(head)] |= LengthBit(head.size());
    phrases_.push_back(std::move(copy));
  }
  for (const MatchWord& word : terms.words) {
    if (word.word.empty()) continue;
    const auto number = static_cast<uint32_t>(words_.size());
    Entry& entry = entries_[word.word];
    uint32_t& index = word.prefix ? entry.prefix : entry.exact;
    if (index != kNone) continue;
    index = number;
    auto& lengths = word.prefix ? prefix_lengths_ : whole_lengths_;
    if (word.prefix) prefix_bytes_max_ = std::max(prefix_bytes_max_, word.word.size());
    lengths[first_byte(word.word)] |= LengthBit(word.word.size());
    count_position(word.last_position);
    words_.push_back(
        {BytesOf(word.word, word.query_chars), word.first_position, word.last_position});
  }
  for (const MatchPart& part : terms.parts) count_position(part.last_position);
  parts_ = terms.parts;
}

std::optional<TermMatcher::Marked> TermMatcher::FindPart(std::string_view text,
                                                         const text::Analyzer& analyzer,
                                                         const text::Token& token,
                                                         std::string_view lemma) const {
  for (const MatchPart& part : parts_) {
    const size_t at = lemma.find(part.text);
    if (at == lemma.npos) continue;
    const auto offset = [&](size_t bytes) {
      return token.begin + analyzer.OriginalPrefix(text, token, static_cast<uint32_t>(bytes));
    };
    return Marked{offset(at), offset(at + part.text.size()), part.first_position,
                  part.last_position};
  }
  return std::nullopt;
}

bool TermMatcher::MatchesPhrase(const Phrase& phrase, size_t word, const text::TokenBuffer& tokens,
                                const std::vector<uint32_t>& words) const {
  if (phrase.words.size() > words.size() - word) return false;
  for (size_t i = 1; i < phrase.words.size(); ++i) {
    if (tokens.lemma(tokens.tokens[words[word + i]]) != phrase.words[i]) return false;
  }
  return true;
}

void TermMatcher::Find(std::string_view text, const text::Analyzer& analyzer,
                       const text::TokenBuffer& tokens, bool inside, std::vector<uint32_t>& words,
                       std::vector<TextMatch>& matches) const {
  words.clear();
  matches.clear();
  StopCounter steps;
  for (uint32_t i = 0; i < tokens.tokens.size(); ++i) {
    steps.Step();
    if (IsWord(tokens.tokens[i])) words.push_back(i);
  }
  for (uint32_t w = 0; w < words.size(); ++w) {
    steps.Step(16);
    const text::Token& token = tokens.tokens[words[w]];
    const std::string_view lemma = tokens.lemma(token);
    if (lemma.empty()) continue;
    const auto byte = static_cast<uint8_t>(lemma[0]);
    uint32_t found = kNone;
    bool whole = false;
    if (whole_lengths_[byte] & LengthBit(lemma.size())) {
      if (const auto entry = entries_.find(lemma); entry != entries_.end()) {
        const auto& candidates = entry->second.phrases;
        const auto phrase = std::find_if(
            candidates.begin(), candidates.end(),
            [&](uint32_t number) { return MatchesPhrase(phrases_[number], w, tokens, words); });
        if (phrase != candidates.end()) {
          const Phrase& hit = phrases_[*phrase];
          const auto count = static_cast<uint32_t>(hit.words.size());
          const uint32_t last = words[w + count - 1];
          matches.push_back({words[w], last, w, w + count - 1, token.begin, tokens.tokens[last].end,
                             hit.first_position,
                             static_cast<uint16_t>(hit.first_position + count - 1),
                             static_cast<uint16_t>(count)});
          w += count - 1;
          continue;
        }
        found = entry->second.exact;
        whole = found != kNone;
      }
    }
    const auto try_prefix = [&](size_t bytes) {
      steps.Step(bytes);
      const auto entry = entries_.find(lemma.substr(0, bytes));
      if (entry == entries_.end() || entry->second.prefix >= found) return;
      found = entry->second.prefix;
      whole = false;
    };
    for (uint64_t lengths = prefix_lengths_[byte]; lengths != 0; lengths &= lengths - 1) {
      const auto length = static_cast<size_t>(std::countr_zero(lengths));
      if (length > lemma.size()) break;
      const size_t bytes_max = length < 63 ? length : std::min(lemma.size(), prefix_bytes_max_);
      for (size_t bytes = length; bytes <= bytes_max; ++bytes) try_prefix(bytes);
    }
    if (found == kNone) {
      if (!inside || parts_.empty()) continue;
      steps.Step(16 * parts_.size());
      if (const auto part = FindPart(text, analyzer, token, lemma))
        matches.push_back({words[w], words[w], w, w, part->begin, part->end, part->first_position,
                           part->last_position, 0});
      continue;
    }
    const Word& word = words_[found];
    const uint32_t end =
        whole ? token.end : token.begin + analyzer.OriginalPrefix(text, token, word.bytes);
    matches.push_back(
        {words[w], words[w], w, w, token.begin, end, word.first_position, word.last_position, 0});
  }
}

// Highlighter

// What the request and the settings say about a path, computed once.
struct Highlighter::Node {
  explicit Node(std::pmr::memory_resource* memory) : path(memory), key(memory), children(memory) {}

  std::pmr::string path;
  std::pmr::string key;            // `"name":`
  Cover selected = Cover::kNone;   // in `_formatted`
  Cover displayed = Cover::kNone;  // for `_matchesPosition`; kNone if not requested
  bool highlight = false;
  bool inside = false;  // parts of words are highlighted
  uint32_t crop = 0;    // in words; 0: not cropped
  std::span<const text::Locale> locales;
  MatchBounds* bounds = nullptr;
  std::pmr::unordered_map<std::pmr::string, Node*, StringHash, std::equal_to<>> children;
};

// The entries of `_matchesPosition` for one attribute.
struct Highlighter::MatchBounds {
  std::string_view path;
  size_t begin = 0, end = 0;  // in entries_; equal: not in found_
};

Highlighter::Highlighter(const index::Snapshot& snapshot, const MatchTerms& terms,
                         HighlightOptions options,
                         const std::optional<std::vector<std::string>>& attributes_to_retrieve,
                         std::vector<text::Locale> locales)
    : snapshot_(snapshot),
      options_(std::move(options)),
      locales_(std::move(locales)),
      matcher_(options_.highlight || options_.crop || options_.matches_position ? terms
                                                                                : MatchTerms()),
      bounds_(std::pmr::polymorphic_allocator<>(&arena_).new_object<BoundsByPath>()) {
  const index::FieldMap& fields = *snapshot.fields;
  const auto& displayed = snapshot.settings->displayed;
  displayed_ = Projection::ForSearch(std::nullopt, displayed, fields);
  const bool any_displayed = displayed_.all() ? fields.size() > 0 : !displayed_.empty();

  std::vector<std::string> names;
  if (options_.highlight) {
    for (const std::string& name : *options_.highlight) {
      StopPoint();
      if (name == "*") {
        highlights_all_ = any_displayed;
      } else if (const auto field = fields.Find(name); field && Displayed(*field)) {
        highlighted_.push_back(*field);
      }
      names.push_back(name);
    }
  }
  ReadCropRules();
  bool crops_all = false;
  for (const CropRule& rule : crop_rules_) {
    crops_all |= !rule.field;
    names.push_back(rule.field ? fields.name(*rule.field) : "*");
  }
  formats_ = highlights_all_ || !highlighted_.empty() || (crops_all && any_displayed) ||
             std::any_of(crop_rules_.begin(), crop_rules_.end(),
                         [](const CropRule& rule) { return rule.field; });
  if (!formats_) return;
  if (attributes_to_retrieve) {
    names.insert(names.end(), attributes_to_retrieve->begin(), attributes_to_retrieve->end());
    projection_ = Projection::ForSearch(std::move(names), displayed, fields);
  } else {
    projection_ = displayed_;
  }
  pre_tag_ = Escaped(options_.pre_tag);
  post_tag_ = Escaped(options_.post_tag);
  marker_ = Escaped(options_.crop_marker);
}

// Whether a request may name the field: a field below a displayed name is displayed, but cannot be
// named itself.
bool Highlighter::Displayed(FieldId field) const {
  const auto& displayed = snapshot_.settings->displayed;
  return displayed_.all() || std::find(displayed->begin(), displayed->end(),
                                       snapshot_.fields->name(field)) != displayed->end();
}

void Highlighter::ReadCropRules() {
  if (!options_.crop) return;
  for (const std::string_view item : *options_.crop) {
    StopPoint();
    const size_t colon = item.rfind(':');
    const std::string_view name = item.substr(0, colon);
    uint32_t length = options_.crop_length;
    if (colon != item.npos && colon + 1 < item.size()) {
      const char* const end = item.data() + item.size();
      uint32_t number = 0;
      const auto [stop, error] = std::from_chars(item.data() + colon + 1, end, number);
      if (stop == end) length = error == std::errc::result_out_of_range ? UINT32_MAX : number;
    }
    if (name == "*") {
      crop_rules_.push_back({std::nullopt, length});
    } else if (const auto field = snapshot_.fields->Find(name); field && Displayed(*field)) {
      crop_rules_.push_back({*field, length});
    }
  }
}

// An option of a parent applies to everything below it; if several apply, the field with the lowest
// number decides.
uint32_t Highlighter::CropLength(std::string_view path) const {
  std::optional<FieldId> deciding;
  uint32_t length = 0;
  ForEachPrefix(path, [&](std::string_view prefix) {
    const auto field = snapshot_.fields->Find(prefix);
    if (!field || (deciding && *deciding < *field) || displayed_.Of(prefix) != Cover::kWhole)
      return;
    const auto rule = std::find_if(
        crop_rules_.rbegin(), crop_rules_.rend(),
        [&](const CropRule& candidate) { return !candidate.field || *candidate.field == *field; });
    if (rule == crop_rules_.rend()) return;
    deciding = field;
    length = rule->length;
  });
  return length;
}

Highlighter::Node* Highlighter::MakeNode(const Node* parent, std::string_view key) {
  Node* const node = std::pmr::polymorphic_allocator<>(&arena_).new_object<Node>(&arena_);
  if (parent != nullptr) (node->path = parent->path) += '.';
  node->path += key;
  std::string name;
  AppendJsonString(name, key);
  (node->key = name) += ':';
  const auto inherit = [&](Cover of_parent, const Projection& projection) {
    return parent != nullptr && of_parent == Cover::kWhole ? Cover::kWhole
                                                           : projection.Of(node->path);
  };
  if (formats_) {
    node->selected = inherit(parent == nullptr ? Cover::kNone : parent->selected, projection_);
    node->highlight = highlights_all_ && displayed_.Of(node->path) == Cover::kWhole;
    ForEachPrefix(node->path, [&](std::string_view prefix) {
      const auto field = snapshot_.fields->Find(prefix);
      node->highlight |= field && std::find(highlighted_.begin(), highlighted_.end(), *field) !=
                                      highlighted_.end();
    });
    node->crop = CropLength(node->path);
  }
  if (options_.matches_position && !matcher_.empty()) {
    node->displayed = inherit(parent == nullptr ? Cover::kNone : parent->displayed, displayed_);
  }
  node->inside = snapshot_.settings->FoundByParts(node->path);
  node->locales = locales_;
  if (locales_.empty()) {
    if (const index::LocalizedRule* rule = snapshot_.settings->Localized(node->path))
      node->locales = rule->locales;
  }
  if (node->displayed == Cover::kWhole) {
    // Shared: a document may hold both {"a":{"b":...}} and {"a.b":...}.
    MatchBounds*& bounds = (*bounds_)[node->path];
    if (bounds == nullptr) {
      bounds = std::pmr::polymorphic_allocator<>(&arena_).new_object<MatchBounds>();
      bounds->path = node->path;
    }
    node->bounds = bounds;
  }
  return node;
}

Highlighter::Node& Highlighter::Root(FieldId field) {
  if (field >= roots_.size()) roots_.resize(field + size_t{1});
  if (roots_[field] == nullptr) roots_[field] = MakeNode(nullptr, snapshot_.fields->name(field));
  return *roots_[field];
}

Highlighter::Node& Highlighter::Child(Node& node, std::string_view key) {
  const auto found = node.children.find(key);
  if (found != node.children.end()) return *found->second;
  return *node.children.emplace(key, MakeNode(&node, key)).first->second;
}

void Highlighter::Append(std::span<const segment::RowField> row, bool& first, std::string& out) {
  if (!active()) return;
  if (formats_) {
    if (!first) out.push_back(',');
    first = false;
    out += "\"_formatted\":{";
  }
  bool first_field = true;
  for (const segment::RowField& field : row) {
    if (snapshot_.fields->name(field.field) == "_vectors") continue;
    Node& node = Root(field.field);
    const bool write = node.selected == Cover::kWhole ||
                       (node.selected == Cover::kPart && IsContainer(json::KindOf(field.value)));
    if (write) {
      if (!first_field) out.push_back(',');
      first_field = false;
      out += node.key;
    }
    if (write || node.displayed != Cover::kNone) Walk(node, field.value, write, out);
  }
  if (formats_) out.push_back('}');
  if (!options_.matches_position) return;

  if (!first) out.push_back(',');
  first = false;
  out += "\"_matchesPosition\":{";
  for (MatchBounds* bounds : found_) {
    if (bounds != found_.front()) out.push_back(',');
    AppendJsonString(out, bounds->path);
    out += ":[";
    AppendLong(std::string_view(entries_).substr(bounds->begin, bounds->end - bounds->begin), out);
    out.push_back(']');
    bounds->begin = bounds->end = 0;
  }
  found_.clear();
  entries_.clear();
  out.push_back('}');
}

void Highlighter::Walk(Node& node, std::string_view value, bool write, std::string& out) {
  steps_.Step(64);
  const json::Kind kind = json::KindOf(value);
  if (kind == json::Kind::kObject) {
    if (write) out.push_back('{');
    bool first = true;
    json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
      Node& child = Child(node, key);
      const bool write_child =
          write && (child.selected == Cover::kWhole ||
                    (child.selected == Cover::kPart && IsContainer(json::KindOf(member))));
      if (write_child) {
        if (!first) out.push_back(',');
        first = false;
        out += child.key;
      }
      if (write_child || child.displayed != Cover::kNone) Walk(child, member, write_child, out);
    });
    if (write) out.push_back('}');
  } else if (kind == json::Kind::kArray) {
    if (write) out.push_back('[');
    bool first = true;
    indices_.push_back(0);
    json::ForEachElement(value, [&](std::string_view element) {
      if (write && !first) out.push_back(',');
      first = false;
      Walk(node, element, write, out);
      ++indices_.back();
    });
    indices_.pop_back();
    if (write) out.push_back(']');
  } else {
    WalkLeaf(node, value, write, out);
  }
}

void Highlighter::WalkLeaf(Node& node, std::string_view value, bool write, std::string& out) {
  const json::Kind kind = json::KindOf(value);
  const bool is_text = kind == json::Kind::kString || kind == json::Kind::kNumber;
  const bool locate = is_text && node.bounds != nullptr;
  const bool mark = is_text && write && node.highlight && !matcher_.empty();
  // A text has at most as many words as bytes.
  const bool crop = is_text && write && node.crop > 0 && value.size() > node.crop;
  if (locate || mark || crop) {
    const std::string_view text =
        kind == json::Kind::kString ? json::StringValue(value, scratch_) : value;
    tokens_.Clear();
    snapshot_.analyzer->Tokenize(text, node.locales, tokens_);
    matcher_.Find(text, *snapshot_.analyzer, tokens_, node.inside, words_, matches_);
    if (locate && !matches_.empty()) AddMatchBounds(*node.bounds);
    if (mark || crop) {
      const Window window = crop ? Crop(text, node.crop) : Window{0, text.size(), false, false};
      out.push_back('"');
      AppendText(text, window, mark, out);
      out.push_back('"');
      return;
    }
  }
  if (!write) return;
  if (kind == json::Kind::kNumber) {
    out.push_back('"');
    out += value;
    out.push_back('"');
  } else {
    out += value;
  }
}

void Highlighter::AddMatchBounds(MatchBounds& bounds) {
  if (bounds.begin == bounds.end) found_.push_back(&bounds);
  std::string& out = entries_;
  bounds.begin = out.size();
  StopCounter steps;
  for (const TextMatch& match : matches_) {
    steps.Step(32);
    if (out.size() > bounds.begin) out.push_back(',');
    out += "{\"start\":";
    AppendJsonNumber(out, match.begin);
    out += ",\"length\":";
    AppendJsonNumber(out, match.end - match.begin);
    if (!indices_.empty()) {
      out += ",\"indices\":[";
      for (size_t i = 0; i < indices_.size(); ++i) {
        if (i > 0) out.push_back(',');
        AppendJsonNumber(out, indices_[i]);
      }
      out.push_back(']');
    }
    out.push_back('}');
  }
  bounds.end = out.size();
}

// The best run of matches to show in `length` words, as indexes of its first and last match;
// nullopt if there are none. Compares all runs of less than `length` words that cannot be extended
// by another match; the first of equal runs wins. A window slides over the matches; the parts of
// the score are updated as matches enter and leave it.
std::optional<std::pair<size_t, size_t>> Highlighter::BestMatches(uint32_t length) {
  if (matches_.empty()) return std::nullopt;
  position_counts_.assign(matcher_.position_count(), 0);
  int64_t distinct = 0, nearness = 0, in_order = 0;
  const auto count_match = [&](const TextMatch& match, int sign) {
    for (uint32_t position = match.first_position; position <= match.last_position; ++position) {
      uint32_t& count = position_counts_[position];
      if (sign > 0 && count++ == 0) ++distinct;
      if (sign < 0 && --count == 0) --distinct;
    }
    if (match.phrase_words == 0) return;
    nearness -= sign * (match.phrase_words - 1);
    in_order += sign * (match.phrase_words - 1);
  };
  const auto count_adjacent = [&](const TextMatch& left, const TextMatch& right, int sign) {
    nearness -=
        sign * static_cast<int64_t>(std::min<uint32_t>(7, right.first_word - left.last_word));
    if (right.first_position > left.first_position) in_order += sign;
  };

  std::optional<std::pair<size_t, size_t>> best;
  std::tuple<int64_t, int64_t, int64_t> best_score;
  size_t begin = 0;  // the run is [begin, end)
  const auto judge = [&](size_t end) {
    if (begin == end) return;
    const auto score = std::make_tuple(distinct, nearness, in_order);
    if (best && score <= best_score) return;
    best.emplace(begin, end - 1);
    best_score = score;
  };
  StopCounter steps;
  for (size_t end = 0; end < matches_.size(); ++end) {
    steps.Step(16);
    const TextMatch& next = matches_[end];
    const auto fits = [&] { return next.last_word - matches_[begin].first_word < length; };
    if (!fits()) judge(end);
    while (begin < end && !fits()) {
      count_match(matches_[begin], -1);
      if (begin + 1 < end) count_adjacent(matches_[begin], matches_[begin + 1], -1);
      ++begin;
    }
    if (begin == end && !fits()) {
      ++begin;
      continue;
    }
    if (begin < end) count_adjacent(matches_[end - 1], next, 1);
    count_match(next, 1);
  }
  judge(matches_.size());
  if (!best) best.emplace(0, 0);
  return best;
}

Highlighter::Window Highlighter::Crop(std::string_view text, uint32_t length) {
  const std::vector<text::Token>& tokens = tokens_.tokens;
  size_t begin = 0, end = 0;  // indexes of tokens, [begin, end)
  uint32_t wanted = length;   // number of words still to take
  if (const auto best = BestMatches(length)) {
    const TextMatch& first = matches_[best->first];
    const TextMatch& last = matches_[best->second];
    const uint32_t words = last.last_word - first.first_word + 1;
    begin = first.first_token;
    end = last.last_token + size_t{1};
    if (words > length) {
      begin = 0;
      end = words_[first.first_word + length];
      if (end > 0 && !IsWord(tokens[end - 1])) --end;
      wanted = 0;
    } else {
      wanted = length - words;
    }
  }
  const auto take_left = [&] { wanted -= IsWord(tokens[--begin]); };
  const auto take_right = [&] { wanted -= IsWord(tokens[end++]); };
  StopCounter steps;
  while (wanted > 0 && (begin > 0 || end < tokens.size())) {
    steps.Step();
    if (begin == 0) {
      take_right();
      continue;
    }
    if (end == tokens.size()) {
      take_left();
      continue;
    }
    const text::Token& left = tokens[begin - 1];
    const text::Token& right = tokens[end];
    if (IsWord(left)) {
      take_left();
      if (IsWord(right) && wanted > 0) take_right();
    } else if (IsWord(right)) {
      take_right();
    } else if (left.kind == right.kind) {
      take_left();
      if (wanted > 1) take_right();
    } else if (left.kind == text::TokenKind::kHardSeparator) {
      take_right();
    } else {
      take_left();
    }
  }
  Window window{begin == 0 ? 0 : tokens[begin - 1].end,
                end == tokens.size() ? text.size() : tokens[end].begin, false, false};
  window.cut_before = window.begin > 0;
  window.cut_after = window.end < text.size();
  return window;
}

void Highlighter::AppendText(std::string_view text, const Window& window, bool mark,
                             std::string& out) const {
  if (window.cut_before) out += marker_;
  size_t at = window.begin;
  if (mark) {
    StopCounter steps;
    for (const TextMatch& match : matches_) {
      steps.Step(16);
      const size_t begin = std::max<size_t>(match.begin, at),
                   end = std::min<size_t>(match.end, window.end);
      if (begin >= end) continue;
      if (out.size() > options_.bytes_max) return;
      AppendJsonEscaped(out, text.substr(at, begin - at));
      out += pre_tag_;
      AppendJsonEscaped(out, text.substr(begin, end - begin));
      out += post_tag_;
      at = end;
    }
  }
  AppendJsonEscaped(out, text.substr(at, window.end - at));
  if (window.cut_after) out += marker_;
}

}  // namespace gannet::search
