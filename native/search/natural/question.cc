#include "search/natural/question.h"

#include <algorithm>
#include <map>
#include <memory>

#include "search/natural/bm25f.h"
#include "text/stemmer.h"

namespace gannet::search {
namespace {

// What a variant is worth relative to the word itself.
constexpr std::array<double, kVariants> kQuality{1, 0.9, 0.9, 0.9, 0.5};
// In questions of at most this many terms, words that the index has may be mistyped as well.
constexpr size_t kTypingTermsMax = 4;

// Counts dead documents, too.
uint64_t DocumentsWith(const segment::TextReader& text, Ordinal ordinal) {
  const segment::TextReader::Count count = text.CountDocuments(ordinal);
  if (count.min == count.max) return count.max;
  // A rare word, in several fields.
  DocSetUnion documents;
  text.UnionPostings(ordinal, nullptr, documents);
  return documents.Finish().size();
}

class QuestionBuilder {
 public:
  QuestionBuilder(QueryEvaluator& evaluator, std::span<const text::Locale> languages)
      : evaluator_(evaluator) {
    question_.all.resize(evaluator.snapshot.segments.size());
    for (const text::Locale language : languages) {
      Stems& stems = stems_.emplace_back();
      stems.stemmer = std::make_unique<text::Stemmer>(language);
      for (const auto& segment : evaluator.snapshot.segments)
        stems.tables.push_back(segment->text->Stems(language));
    }
  }

  Question Run(const ParsedQuery& query) {
    terms_ = query.terms.size();
    for (NodeNumber node = 0; node < query.terms.size(); ++node) AddTerm(query.terms[node], node);
    for (QuestionWord& word : question_.words) Value(word);
    for (const Neighbours& pair : question_.neighbours) {
      question_.worth += question_.WorthTogether(question_.words[pair.left].worth[0],
                                                 question_.words[pair.right].worth[0]);
    }
    question_.worth += bm25f::Whole(question_.words.size()) * question_.words_worth;
    for (auto& words : question_.all) segment::Unite(words);
    return std::move(question_);
  }

 private:
  // The stems of one language.
  struct Stems {
    std::unique_ptr<text::Stemmer> stemmer;
    std::vector<std::shared_ptr<const segment::StemTable>> tables;  // by segment
  };

  void AddTerm(const Term& term, NodeNumber node) {
    if (!term.phrase) {
      AddWord(*term.words[0], term.first);
      if (question_.words[last_].times == 1) Expand(question_.words[last_], node);
      return;
    }
    for (size_t i = 0; i < term.words.size(); ++i) {
      if (!term.words[i]) continue;
      if (!term.mandatory && i + 1 < term.words.size() && term.words[i + 1]) {
        AddCharacters(*term.words[i], *term.words[i + 1], term.first + static_cast<int32_t>(i));
        continue;
      }
      // The last character is part of a pair already.
      if (!term.mandatory && i > 0 && term.words[i - 1]) continue;
      AddWord(*term.words[i], term.first + static_cast<int32_t>(i));
      Add(question_.words[last_], evaluator_.words.Find(*term.words[i]), Variant::kExact);
      AddStems(question_.words[last_]);
    }
  }

  void AddCharacters(const std::string& left, const std::string& right, int32_t position) {
    AddWord(left + right, position);
    QuestionWord& word = question_.words[last_];
    if (word.times == 1)
      word.characters = evaluator_.words.FindPhrase({left, right}).value_or(Phrase());
  }

  // Counts a word of the question, and sets last_ to it.
  void AddWord(const std::string& text, int32_t position) {
    const auto [known, is_new] =
        numbers_.emplace(text, static_cast<uint32_t>(question_.words.size()));
    if (is_new) question_.words.emplace_back().text = text;
    const uint32_t number = known->second;
    ++question_.words[number].times;
    ++question_.length;
    if (position_ && number != last_) AddNeighbours(last_, number, position - *position_);
    last_ = number;
    position_ = position;
  }

  void AddNeighbours(uint32_t left, uint32_t right, int32_t distance) {
    if (evaluator_.snapshot.settings->proximity_by_attribute) return;
    // A sentence ends between the two words.
    if (distance >= static_cast<int32_t>(text::kHardSeparatorGap)) return;
    const auto same = [&](const Neighbours& pair) {
      return pair.left == left && pair.right == right;
    };
    auto& pairs = question_.neighbours;
    if (std::none_of(pairs.begin(), pairs.end(), same)) pairs.push_back({left, right, distance});
  }

  void Expand(QuestionWord& word, NodeNumber node) {
    TermExpansion& expansion = evaluator_.expansion;
    const Expansions& plain = expansion.Class(node, 0);
    Add(word, expansion.Of(node).verbatim, Variant::kExact);
    AddStems(word);
    for (const Phrase& synonym : plain.phrases) {
      if (synonym.words.size() == 1) Add(word, synonym.words[0], Variant::kSynonym);
    }
    for (const WordNumber number : plain.words) Add(word, number, Variant::kPrefix);
    if (plain.has_range) word.prefixes = plain.ranges;
    const bool known = !word.words.empty() || HasStems(word);
    if ((known && terms_ > kTypingTermsMax) || ++words_with_typos_ > kTermsMax) return;
    const size_t without = word.words.size();
    for (int typos = 1; typos < kPartsClass && word.words.size() == without; ++typos) {
      if (known && typos > 1) return;
      for (const WordNumber number : expansion.Class(node, typos).words)
        Add(word, number, Variant::kTypo);
    }
  }

  void AddStems(QuestionWord& word) {
    if (stems_.empty() || !word.stems.empty()) return;
    word.stems.resize(question_.all.size());
    for (const Stems& stems : stems_) {
      const std::string_view stem = stems.stemmer->Stem(word.text);
      for (size_t s = 0; s < word.stems.size(); ++s) {
        for (const Ordinal ordinal : stems.tables[s]->WordsOf(stem)) {
          if (!IsExact(word, s, ordinal)) word.stems[s].push_back(ordinal);
        }
      }
    }
    for (auto& ordinals : word.stems) {
      std::sort(ordinals.begin(), ordinals.end());
      ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
    }
  }
  static bool HasStems(const QuestionWord& word) {
    return std::any_of(word.stems.begin(), word.stems.end(),
                       [](const auto& ordinals) { return !ordinals.empty(); });
  }
  bool IsExact(const QuestionWord& word, size_t segment, Ordinal ordinal) const {
    return !word.words.empty() && word.words[0].second == Variant::kExact &&
           evaluator_.words.OrdinalOf(word.words[0].first, segment) == ordinal;
  }

  void Add(QuestionWord& word, WordNumber number, Variant variant) {
    const auto same = [&](const auto& known) { return known.first == number; };
    if (number == kNoWord || std::any_of(word.words.begin(), word.words.end(), same)) return;
    word.words.emplace_back(number, variant);
  }

  // The worth of the word: the more documents contain one of its variants, the lower.
  void Value(QuestionWord& word) {
    const index::Snapshot& snapshot = evaluator_.snapshot;
    const auto all = static_cast<double>(snapshot.documents.size());
    std::array<double, kVariants> found{};
    for (const auto& [number, variant] : word.words) {
      for (size_t s = 0; s < question_.all.size(); ++s) {
        const Ordinal ordinal = evaluator_.words.OrdinalOf(number, s);
        if (ordinal == kNoOrdinal) continue;
        question_.all[s].emplace_back(ordinal, ordinal + 1);
        found[static_cast<size_t>(variant)] +=
            static_cast<double>(DocumentsWith(*snapshot.segments[s]->text, ordinal));
      }
    }
    for (size_t s = 0; s < word.stems.size(); ++s) {
      for (const Ordinal ordinal : word.stems[s]) {
        question_.all[s].emplace_back(ordinal, ordinal + 1);
        found[static_cast<size_t>(Variant::kStem)] +=
            static_cast<double>(DocumentsWith(*snapshot.segments[s]->text, ordinal));
      }
    }
    if (!word.prefixes.empty()) {
      WordsBySegment ranges(word.prefixes.size());
      for (size_t s = 0; s < ranges.size(); ++s) {
        if (word.prefixes[s].first >= word.prefixes[s].second) continue;
        ranges[s].push_back(word.prefixes[s]);
        question_.all[s].push_back(word.prefixes[s]);
      }
      found[static_cast<size_t>(Variant::kPrefix)] +=
          static_cast<double>(evaluator_.postings.AnyWord(ranges, nullptr, nullptr).size());
    }
    if (word.characters) ValueCharacters(*word.characters, found);
    // The word itself gets the worth that it has with its stems and with words that begin with it:
    // the part typed so far may be a rare word.
    double& exact = found[static_cast<size_t>(Variant::kExact)];
    double& stem = found[static_cast<size_t>(Variant::kStem)];
    double& prefix = found[static_cast<size_t>(Variant::kPrefix)];
    exact = std::max(exact + stem, prefix);
    stem = prefix = 0;
    double documents = 0;
    for (size_t v = 0; v < kVariants; ++v) {
      documents += found[v];
      word.worth[v] = word.times * kQuality[v] * bm25f::Rarity(documents, all);
    }
    question_.worth += word.worth[0];
    question_.words_worth += word.worth[0];
  }

  void ValueCharacters(const Phrase& characters, std::array<double, kVariants>& found) {
    if (characters.words.empty()) return;
    found[static_cast<size_t>(Variant::kExact)] =
        static_cast<double>(evaluator_.phrases.Documents(characters, nullptr).size());
    for (size_t s = 0; s < question_.all.size(); ++s) {
      for (const WordNumber character : characters.words) {
        const Ordinal ordinal = evaluator_.words.OrdinalOf(character, s);
        if (ordinal != kNoOrdinal) question_.all[s].emplace_back(ordinal, ordinal + 1);
      }
    }
  }

  QueryEvaluator& evaluator_;
  std::vector<Stems> stems_;
  size_t terms_ = 0;             // terms of the query
  size_t words_with_typos_ = 0;  // words looked up with typos, each in all dictionaries
  Question question_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
  uint32_t last_ = 0;
  std::optional<int32_t> position_;  // position of last_
};

}  // namespace

std::vector<segment::WordRange> RangesOf(const QuestionWord& word, const IndexWords& words,
                                         size_t segment) {
  std::vector<segment::WordRange> ranges;
  for (const auto& [number, variant] : word.words) {
    const Ordinal ordinal = words.OrdinalOf(number, segment);
    if (ordinal != kNoOrdinal) ranges.emplace_back(ordinal, ordinal + 1);
  }
  if (!word.stems.empty()) {
    for (const Ordinal ordinal : word.stems[segment]) ranges.emplace_back(ordinal, ordinal + 1);
  }
  if (!word.prefixes.empty() && word.prefixes[segment].first < word.prefixes[segment].second)
    ranges.push_back(word.prefixes[segment]);
  segment::Unite(ranges);
  return ranges;
}

Question QuestionOf(const ParsedQuery& query, QueryEvaluator& evaluator,
                    std::span<const text::Locale> languages) {
  return QuestionBuilder(evaluator, languages).Run(query);
}

}  // namespace gannet::search
