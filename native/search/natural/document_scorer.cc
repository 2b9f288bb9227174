#include "search/natural/document_scorer.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "search/natural/bm25f.h"

namespace gannet::search {

DocumentScorer::DocumentScorer(const index::Snapshot& snapshot, const Question& question,
                               const IndexWords& index_words, std::span<const FieldCounts> fields,
                               size_t segment)
    : text_(*snapshot.segments[segment]->text), question_(question), fields_(fields) {
  wanted_.resize(text_.terms().size() / 64 + 1);
  for (const auto& [begin, end] : question.all[segment]) {
    for (Ordinal ordinal = begin; ordinal < end; ++ordinal)
      wanted_[ordinal / 64] |= uint64_t{1} << ordinal % 64;
  }
  for (uint32_t w = 0; w < question.words.size(); ++w) {
    const QuestionWord& word = question.words[w];
    if (word.characters) {
      if (word.characters->words.empty()) continue;
      const Ordinal first = index_words.OrdinalOf(word.characters->words[0], segment),
                    second = index_words.OrdinalOf(word.characters->words[1], segment);
      if (first == kNoOrdinal || second == kNoOrdinal) continue;
      uses_.push_back({first, w, Variant::kExact, Part::kLeft});
      uses_.push_back({second, w, Variant::kExact, Part::kRight});
    }
    for (const auto& [number, variant] : word.words) {
      const Ordinal ordinal = index_words.OrdinalOf(number, segment);
      if (ordinal != kNoOrdinal) uses_.push_back({ordinal, w, variant});
    }
    if (!word.stems.empty()) {
      for (const Ordinal ordinal : word.stems[segment])
        uses_.push_back({ordinal, w, Variant::kStem});
    }
    if (!word.prefixes.empty()) ranges_.push_back({word.prefixes[segment], w});
  }
  std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
    return std::tie(a.ordinal, a.word, a.part) < std::tie(b.ordinal, b.word, b.part);
  });
  states_.resize(question.words.size());
  pairs_.resize(question.words.size());
  nearness_.resize(question.neighbours.size());
  if (question.words.size() <= bm25f::kWholeWordsMax && question.neighbours.size() <= kBits)
    field_states_.resize(fields.size());
  for (uint32_t p = 0; p < question.neighbours.size(); ++p) {
    pairs_[question.neighbours[p].left].push_back(p);
    pairs_[question.neighbours[p].right].push_back(p);
  }
}

template <typename Sink>
void DocumentScorer::ForEachUse(Ordinal ordinal, Sink&& sink) const {
  auto use = std::lower_bound(uses_.begin(), uses_.end(), ordinal,
                              [](const Use& a, Ordinal b) { return a.ordinal < b; });
  uint32_t itself = ~uint32_t{0};
  for (; use != uses_.end() && use->ordinal == ordinal; ++use) {
    sink(*use);
    itself = use->word;
  }
  for (const Range& range : ranges_) {
    if (ordinal >= range.words.first && ordinal < range.words.second && range.word != itself)
      sink(Use{ordinal, range.word, Variant::kPrefix});
  }
}

double DocumentScorer::Worth(std::string_view record) {
  for (const uint32_t word : touched_) states_[word] = State();
  touched_.clear();
  for (const uint32_t word : found_) {
    states_[word] = State();
    for (const uint32_t pair : pairs_[word]) nearness_[pair] = 0;
  }
  found_.clear();
  // An index may have 65,536 fields, of which a document has few.
  for (const FieldId field : fields_found_) field_states_[field] = FieldState();
  fields_found_.clear();
  together_ = whole_ = 0;
  segment::ForwardDocument document;
  if (!text_.OpenRecord(record, document)) return 0;
  segment::PositionCursor cursor(document);
  for (uint32_t i = 0; i < document.words.count; ++i) {
    steps_.Step();
    const Ordinal ordinal = document.words.at(i);
    if ((wanted_[ordinal / 64] >> ordinal % 64 & 1) == 0) continue;
    const auto [field, position] = cursor.At(i);
    const FieldCounts& counts = fields_[field];
    if (counts.weight == 0) continue;
    if (!field_states_.empty()) field_states_[field].length = cursor.field_words();
    const double occurrence = bm25f::Occurrence(counts.weight, cursor.field_words(), counts.mean);
    ForEachUse(ordinal, [&, field = field, position = position](const Use& use) {
      if (use.part == Part::kWhole) {
        Take(use.word, use.variant, field, position, occurrence);
      } else {
        TakeCharacter(use, field, position, occurrence);
      }
    });
  }
  const auto worth_of = [&](uint32_t word) {
    return question_.words[word].worth[static_cast<size_t>(states_[word].variant)];
  };
  double worth = 0, covered = 0;
  for (const uint32_t word : found_) {
    worth += WorthOf(word);
    covered += worth_of(word);
  }
  for (size_t p = 0; p < nearness_.size(); ++p) {
    if (nearness_[p] == 0) continue;
    const Neighbours& pair = question_.neighbours[p];
    together_ += nearness_[p] * question_.WorthTogether(worth_of(pair.left), worth_of(pair.right));
  }
  whole_ = ShareOfField() * bm25f::Whole(question_.words.size()) * covered;
  return (worth + together_ + whole_) *
         bm25f::Coverage(covered / question_.words_worth, question_.words.size());
}

void DocumentScorer::TakeCharacter(const Use& use, FieldId field, uint32_t position,
                                   double occurrence) {
  State& state = states_[use.word];
  if (use.part == Part::kRight) {
    if (state.left_field == field && state.left_position + 1 == position)
      Take(use.word, use.variant, field, position - 1, occurrence);
    return;
  }
  touched_.push_back(use.word);
  state.left_field = field;
  state.left_position = position;
}

void DocumentScorer::Take(uint32_t word, Variant variant, FieldId field, uint32_t position,
                          double occurrence) {
  State& state = states_[word];
  if (state.occurrences == 0) found_.push_back(word);
  state.occurrences += occurrence;
  state.variant = std::min(state.variant, variant);
  if (occurrence > state.max) {
    state.max = occurrence;
    state.field = field;
  }
  state.last_field = field;
  state.last_position = position;
  if (!field_states_.empty()) {
    if (field_states_[field].words == 0) fields_found_.push_back(field);
    field_states_[field].words |= uint32_t{1} << word;
  }
  for (const uint32_t p : pairs_[word]) {
    const Neighbours& pair = question_.neighbours[p];
    const bool is_right = pair.right == word;
    const State& other = states_[is_right ? pair.left : pair.right];
    if (other.occurrences == 0 || other.last_field != field || other.last_position == position)
      continue;
    const int64_t since = int64_t{position} - other.last_position;
    const double nearness = bm25f::Nearness(is_right ? since : -since, pair.distance);
    nearness_[p] = std::max(nearness_[p], nearness);
    if (!field_states_.empty() && nearness == 1) field_states_[field].pairs |= uint32_t{1} << p;
  }
}

double DocumentScorer::ShareOfField() const {
  if (found_.size() < question_.words.size()) return 0;
  double max = 0;
  for (const FieldId field : fields_found_) {
    const FieldState& state = field_states_[field];
    if (static_cast<size_t>(std::popcount(state.words)) < found_.size()) continue;
    double share = std::min(1.0, static_cast<double>(question_.length) / state.length);
    if (!nearness_.empty())
      share *= std::popcount(state.pairs) / static_cast<double>(nearness_.size());
    max = std::max(max, share);
  }
  return max;
}

double DocumentScorer::WorthOf(uint32_t word) const {
  const State& state = states_[word];
  return question_.words[word].worth[static_cast<size_t>(state.variant)] *
         bm25f::Saturated(state.occurrences);
}

std::vector<WordFinding> DocumentScorer::Findings() const {
  std::vector<WordFinding> findings;
  for (const uint32_t word : found_)
    findings.push_back({word, states_[word].variant, states_[word].field, WorthOf(word)});
  std::sort(findings.begin(), findings.end(),
            [](const WordFinding& a, const WordFinding& b) { return a.word < b.word; });
  return findings;
}

}  // namespace gannet::search
