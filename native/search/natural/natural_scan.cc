#include "search/natural/natural_scan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <queue>

#include "base/json.h"
#include "base/utf8.h"
#include "search/natural/block_scan.h"
#include "search/natural/bm25f.h"
#include "search/natural/languages.h"

namespace gannet::search {
namespace {

constexpr std::array<const char*, kVariants> kVariantNames{"exact", "stem", "synonym", "prefix",
                                                           "typo"};

std::vector<FieldCounts> CountsOf(const index::Snapshot& snapshot, const FieldScope& scope) {
  std::vector<FieldCounts> counts(snapshot.traits.size());
  std::vector<double> words(counts.size()), documents(counts.size());
  for (const auto& segment : snapshot.segments) {
    for (const segment::FieldLength& length : segment->text->SampledLengths()) {
      if (length.field >= counts.size()) continue;
      words[length.field] += length.words;
      documents[length.field] += length.documents;
    }
  }
  for (size_t f = 0; f < counts.size(); ++f) {
    if (!snapshot.traits[f].searchable || !scope.Searches(static_cast<FieldId>(f))) continue;
    counts[f].weight =
        snapshot.settings->NaturalWeight(snapshot.fields->name(static_cast<FieldId>(f)));
    if (documents[f] > 0) counts[f].mean = words[f] / documents[f];
  }
  return counts;
}

// A text of more words than this is prose, in which quotation marks do not require a phrase.
constexpr size_t kQuotingWordsMax = kTermsMax;

size_t WordsOf(const ParsedQuery& query) {
  size_t words = 0;
  for (const Term& term : query.terms) words += term.words.size();
  return words;
}

bool IsBetter(const NearDocument& a, const NearDocument& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.docid < b.docid;
}

}  // namespace

NaturalScan::NaturalScan(const ParsedQuery& query, QueryEvaluator& evaluator,
                         std::span<const text::Locale> locales, const Deadline& deadline)
    : snapshot_(evaluator.snapshot),
      evaluator_(evaluator),
      deadline_(deadline),
      question_(
          QuestionOf(query, evaluator, LanguagesOf(query, snapshot_, evaluator.scope, locales))),
      fields_(CountsOf(snapshot_, evaluator.scope)),
      bound_(question_),
      lists_(snapshot_.segments.size()) {
  const bool quotes_demand = WordsOf(query) <= kQuotingWordsMax;
  for (const Term& term : query.terms) {
    if (!term.mandatory || !quotes_demand) continue;
    if (auto phrase = evaluator.words.FindPhrase(term.words)) {
      phrases_.push_back(std::move(*phrase));
    } else {
      impossible_ = true;
    }
  }
}

DocSet NaturalScan::Matching(const DocSet* allowed) {
  if (impossible_) return {};
  std::optional<DocSet> within;
  for (const Phrase& phrase : phrases_) {
    DocSet documents = evaluator_.phrases.Documents(phrase, evaluator_.scope.fields());
    if (allowed != nullptr) documents &= *allowed;
    within = within ? *within & documents : std::move(documents);
    allowed = &*within;
  }
  return WithWords(allowed);
}

DocSet NaturalScan::WithWords(const DocSet* allowed) {
  characters_.resize(question_.words.size());
  WordsBySegment words(snapshot_.segments.size());
  std::vector<const DocSet*> sets;
  for (size_t w = 0; w < question_.words.size(); ++w) {
    const QuestionWord& word = question_.words[w];
    if (word.characters) {
      if (word.characters->words.empty()) continue;
      DocSet& documents = characters_[w];
      documents = evaluator_.phrases.Documents(*word.characters, evaluator_.scope.fields());
      if (allowed != nullptr) documents &= *allowed;
      sets.push_back(&documents);
      continue;
    }
    for (size_t s = 0; s < words.size(); ++s) {
      for (const segment::WordRange& range : RangesOf(word, evaluator_.words, s))
        words[s].push_back(range);
    }
  }
  for (auto& ranges : words) segment::Unite(ranges);
  DocSet documents = evaluator_.postings.AnyWord(words, evaluator_.scope.fields(), allowed);
  if (allowed != nullptr) documents &= *allowed;
  sets.push_back(&documents);
  return DocSet::Union(sets);
}

const ScanLists& NaturalScan::ListsOf(size_t segment) const {
  auto& lists = lists_[segment];
  if (!lists) {
    lists =
        std::make_unique<ScanLists>(question_, evaluator_, fields_, bound_, characters_, segment);
  }
  return *lists;
}

template <typename Sink>
void NaturalScan::ForEachWorth(const DocSet& candidates, const std::function<double()>& worth_min,
                               Sink&& sink) const {
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    if (view.live.empty()) continue;
    std::optional<DocumentScorer> scorer;
    const auto read = [&](std::span<const DocId> docids) {
      const DocSet here = DocSet::FromSorted(docids) & view.live;
      if (here.empty()) return;
      if (!scorer) scorer.emplace(snapshot_, question_, evaluator_.words, fields_, s);
      view.text->ForEachRecord(
          here, [&](DocId docid, std::string_view record) { sink(docid, scorer->Worth(record)); });
    };
    const ScanLists& lists = ListsOf(s);
    const auto codes = [&](FieldId field, uint32_t key) { return lists.LengthCodes(field, key); };
    const Scan scan{lists.lists(), lists.word_max(), bound_, codes, candidates, worth_min};
    if (!RunUntil(deadline_.at(), [&] { ScanBlocks(scan, read); })) return;
  }
}

std::vector<NearDocument> NaturalScan::Best(const DocSet& candidates, size_t count) const {
  std::vector<NearDocument> best;
  // The best `count` so far, the lowest on top.
  std::priority_queue<double, std::vector<double>, std::greater<double>> kept;
  const auto worth_min = [&] { return kept.size() < count ? 0.0 : kept.top(); };
  ForEachWorth(candidates, worth_min, [&](DocId docid, double worth) {
    if (worth < worth_min()) return;
    kept.push(worth);
    if (kept.size() > count) kept.pop();
    best.push_back({docid, static_cast<float>(bm25f::Score(worth, question_.worth))});
  });
  if (best.size() > count) {
    const auto last = best.begin() + static_cast<ptrdiff_t>(count) - 1;
    std::nth_element(best.begin(), last, best.end(), IsBetter);
    const float lowest = last->similarity;
    std::erase_if(best, [&](const NearDocument& found) { return found.similarity < lowest; });
  }
  std::sort(best.begin(), best.end(), IsBetter);
  return best;
}

DocSet NaturalScan::AtLeast(const DocSet& candidates, double score) const {
  DocSet documents;
  const double wanted = bm25f::WorthOfScore(score, question_.worth) * (1 - 1e-6);
  ForEachWorth(
      candidates, [&] { return wanted; },
      [&](DocId docid, double worth) {
        if (static_cast<double>(static_cast<float>(bm25f::Score(worth, question_.worth))) >= score)
          documents.Add(docid);
      });
  return documents;
}

void NaturalScan::AppendFindings(DocId docid, std::string& out) const {
  out += "\"words\":[";
  double got = 0, sum = 0, together = 0, whole = 0;
  std::vector<WordFinding> findings;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    const int64_t local = view.live.Contains(docid) ? view.text->Find(docid) : -1;
    if (local < 0) continue;
    DocumentScorer scorer(snapshot_, question_, evaluator_.words, fields_, s);
    got = scorer.Worth(view.text->ForwardRecord(static_cast<uint32_t>(local)));
    findings = scorer.Findings();
    together = scorer.together();
    whole = scorer.whole();
    sum = together + whole;
    for (const WordFinding& finding : findings) sum += finding.worth;
  }
  // The parts shown add up to the score.
  const double share = sum > 0 ? bm25f::Score(got, question_.worth) / sum : 0;
  for (const WordFinding& finding : findings) {
    if (&finding != &findings[0]) out += ',';
    const std::string& name = snapshot_.fields->name(finding.field);
    out += "{\"word\":";
    AppendJsonString(out, question_.words[finding.word].text);
    out += ",\"attribute\":";
    AppendJsonString(out, snapshot_.settings->Displays(name) ? name : "<hidden>");
    out += ",\"variant\":\"";
    out += kVariantNames[static_cast<size_t>(finding.variant)];
    out += "\",\"contribution\":";
    AppendJsonFloat(out, finding.worth * share);
    out += '}';
  }
  out += "],\"proximity\":";
  AppendJsonFloat(out, together * share);
  out += ",\"wholeField\":";
  AppendJsonFloat(out, whole * share);
}

MatchTerms NaturalScan::TermsToMark() const {
  MatchTerms terms;
  for (uint16_t w = 0; w < question_.words.size(); ++w) {
    const QuestionWord& word = question_.words[w];
    const auto chars = static_cast<uint32_t>(CountChars(word.text));
    if (!word.prefixes.empty()) terms.words.push_back({word.text, true, chars, w, w});
    if (word.characters && !word.characters->words.empty()) {
      const auto text_of = [&](size_t i) {
        return evaluator_.words[word.characters->words[i]].text;
      };
      terms.phrases.push_back({{text_of(0), text_of(1)}, w});
    }
    for (size_t s = 0; s < word.stems.size(); ++s) {
      for (const Ordinal ordinal : word.stems[s]) {
        std::string text = snapshot_.segments[s]->text->terms().Word(ordinal);
        const auto whole = static_cast<uint32_t>(CountChars(text));
        terms.words.push_back({std::move(text), false, whole, w, w});
      }
    }
    for (const auto& [number, variant] : word.words) {
      const std::string& text = evaluator_.words[number].text;
      terms.words.push_back({text, false, static_cast<uint32_t>(CountChars(text)), w, w});
    }
  }
  return terms;
}

}  // namespace gannet::search
