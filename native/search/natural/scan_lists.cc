#include "search/natural/scan_lists.h"

#include <algorithm>
#include <cmath>

#include "base/stop_point.h"
#include "bitmap/docset_union.h"
#include "search/natural/bm25f.h"

namespace gannet::search {
namespace {

// A word of the question that matches more words than this, such as all that begin with a few
// letters, is one list.
constexpr uint64_t kBoundedWordsMax = 64;
// So is a word that would bring the lists of a segment above this number. Each takes at most 1 KiB.
constexpr uint64_t kListsMax = 4096;

}  // namespace

ScanLists::ScanLists(const Question& question, const QueryEvaluator& evaluator,
                     std::span<const FieldCounts> fields, const ScoreBound& bound,
                     std::span<const DocSet> characters, size_t segment)
    : question_(question),
      fields_(fields),
      bound_(bound),
      text_(*evaluator.snapshot.segments[segment]->text),
      occurrences_(text_.Occurrences()) {
  for (uint32_t w = 0; w < question.words.size(); ++w) {
    const QuestionWord& word = question.words[w];
    auto best = word.characters ? Variant::kExact : Variant::kTypo;
    for (const auto& [number, variant] : word.words) best = std::min(best, variant);
    if (!word.prefixes.empty()) best = std::min(best, Variant::kPrefix);
    if (!word.stems.empty() && !word.stems[segment].empty()) best = std::min(best, Variant::kStem);
    const double worth = word.worth[static_cast<size_t>(best)];
    word_worth_.push_back(static_cast<float>(worth));
    word_max_.push_back(static_cast<float>(worth + bound.WordExtra(w)));
    if (word.characters) {
      AddConstant(w, characters[w]);
      continue;
    }
    const auto ranges = RangesOf(word, evaluator.words, segment);
    StopPoint();
    if (lists_.size() + ListsFor(ranges) > kListsMax) {
      DocSetUnion documents;
      text_.UnionLists({ranges, evaluator.scope.fields()}, documents);
      AddConstant(w, sets_.emplace_back(documents.Finish()));
      continue;
    }
    for (const auto& [begin, end] : ranges) {
      for (Ordinal ordinal = begin; ordinal < end; ++ordinal) AddBounded(w, ordinal);
    }
  }
}

uint64_t ScanLists::ListsFor(std::span<const segment::WordRange> ranges) const {
  if (segment::CountWords(ranges) > kBoundedWordsMax) return kListsMax + 1;
  uint64_t fields = 0;
  for (const auto& [begin, end] : ranges) {
    for (Ordinal ordinal = begin; ordinal < end; ++ordinal)
      text_.ForEachField(ordinal, [&](FieldId, std::string_view) { ++fields; });
  }
  return fields * (1 + segment::Occurrences::kTiers);
}

void ScanLists::AddConstant(uint32_t number, const DocSet& documents) {
  ScanList list;
  list.word = number;
  list.max = word_max_[number];
  list.documents = &documents;
  if (list.max > 0 && !documents.empty()) lists_.push_back(list);
}

void ScanLists::AddBounded(uint32_t number, Ordinal word) {
  text_.ForEachField(word, [&](FieldId field, std::string_view bytes) {
    if (field >= fields_.size() || fields_[field].weight == 0) return;
    const PostingsReader& postings = postings_.emplace_back(bytes);
    const Table& added = AddedIn(field, number);
    ScanList list;
    list.word = number;
    list.max = std::min(added[1], word_max_[number]);
    list.documents = postings.set();
    list.docids = postings.docids();
    list.field = field;
    list.by_length = added.data();
    if (list.max > 0) lists_.push_back(list);
    AddRepeats(number, field, word);
  });
}

void ScanLists::AddRepeats(uint32_t number, FieldId field, Ordinal word) {
  using Tier = segment::Occurrences::Tier;
  const auto worth = static_cast<double>(word_worth_[number]);
  for (const Tier tier : {Tier::kFew, Tier::kMany}) {
    const auto repeats = occurrences_->RepeatsOf(word, field, tier);
    if (repeats.docids.empty()) continue;
    // count * o / (count * o + k) - o / (o + k), for any o, is most for o = k / sqrt(count).
    const double root = std::sqrt(segment::Occurrences::kFewMax);
    const double share = tier == Tier::kFew ? (root - 1) / (root + 1) : 1;
    ScanList list;
    list.word = number;
    list.max = static_cast<float>(worth * share);
    list.docids = repeats.docids;
    list.counts = repeats.counts;
    list.field = field;
    list.by_length = OccurrenceIn(field).data();
    list.worth = static_cast<float>(worth);
    if (list.max > 0) lists_.push_back(list);
  }
}

const ScanLists::Table& ScanLists::OccurrenceIn(FieldId field) {
  const auto [known, is_new] = occurrence_in_.try_emplace(field);
  if (is_new) {
    for (size_t code = 0; code < known->second.size(); ++code) {
      const uint32_t words = segment::Occurrences::LengthOf(static_cast<uint8_t>(code));
      known->second[code] =
          static_cast<float>(bm25f::Occurrence(fields_[field].weight, words, fields_[field].mean));
    }
  }
  return known->second;
}

const ScanLists::Table& ScanLists::AddedIn(FieldId field, uint32_t number) {
  const auto [known, is_new] = added_in_.try_emplace({field, number});
  if (is_new) {
    const Table& occurrence = OccurrenceIn(field);
    const auto extra = static_cast<float>(bound_.WordExtra(number));
    for (size_t code = 0; code < known->second.size(); ++code) {
      known->second[code] =
          word_worth_[number] *
              static_cast<float>(bm25f::Saturated(static_cast<double>(occurrence[code]))) +
          extra;
    }
  }
  return known->second;
}

}  // namespace gannet::search
