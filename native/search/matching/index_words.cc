#include "search/matching/index_words.h"

#include <utility>

namespace gannet::search {

WordNumber IndexWords::Append(std::string_view text, std::vector<Ordinal> ordinals) {
  const auto number = static_cast<WordNumber>(words_.size());
  const bool numeric = scope_.exact_numbers && text::IsNumericWord(text);
  words_.push_back({std::string(text), std::move(ordinals), !numeric});
  numbers_.emplace(std::string(text), number);
  return number;
}

WordNumber IndexWords::Add(std::string_view text, std::vector<Ordinal> ordinals) {
  const auto known = numbers_.find(text);
  return known != numbers_.end() ? known->second : Append(text, std::move(ordinals));
}

WordNumber IndexWords::Find(std::string_view text) {
  if (text.empty() || text.size() > kWordBytesMax) return kNoWord;
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  std::vector<Ordinal> ordinals(snapshot_.segments.size(), kNoOrdinal);
  bool any = false;
  for (size_t s = 0; s < ordinals.size(); ++s) {
    const auto ordinal = snapshot_.segments[s]->text->terms().Find(text);
    if (!ordinal || !IsLive(s, *ordinal, nullptr)) continue;
    ordinals[s] = *ordinal;
    any = true;
  }
  return any ? Append(text, std::move(ordinals)) : kNoWord;
}

std::optional<Phrase> IndexWords::FindPhrase(const std::vector<std::optional<std::string>>& words) {
  Phrase phrase;
  for (const auto& word : words) {
    if (!word) {
      phrase.words.push_back(kNoWord);
      continue;
    }
    const WordNumber number = Find(*word);
    if (number == kNoWord) return std::nullopt;
    phrase.words.push_back(number);
  }
  return phrase;
}

bool IndexWords::IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const {
  const index::SegmentView& view = *snapshot_.segments[segment];
  if (view.all_live() && fields == nullptr) return true;
  return view.text->HasLive(ordinal, fields, view.all_live() ? nullptr : &view.live);
}

bool IndexWords::Tolerates(WordNumber word) const {
  const IndexWord& known = words_[word];
  if (!known.tolerant || !scope_.index_exact) return known.tolerant;
  for (size_t s = 0; s < known.ordinals.size(); ++s) {
    if (known.ordinals[s] != kNoOrdinal && IsLive(s, known.ordinals[s], &scope_.index_tolerant))
      return true;
  }
  return false;
}

}  // namespace gannet::search
