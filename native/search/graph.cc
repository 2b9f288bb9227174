#include "search/graph.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/utf8.h"
#include "fst/levenshtein.h"
#include "search/places.h"

namespace gannet::search {
namespace {

constexpr size_t kShortPrefixBytes = 4;
constexpr size_t kShortPrefixWordsMin = 100;
constexpr size_t kSynonymsMax = 50;
constexpr size_t kSynonymWordsMax = 100;
constexpr size_t kSynonymSizeMax = 500;  // bytes of its words plus number of words

std::vector<std::string> WordsOf(const text::Analyzer& analyzer, std::string_view text) {
  text::TokenBuffer buffer;
  analyzer.Tokenize(text, {}, buffer);
  std::vector<std::string> words;
  for (const text::Token& token : buffer.tokens) {
    if (token.kind == text::TokenKind::kWord) words.emplace_back(buffer.lemma(token));
  }
  return words;
}

std::string Join(const std::vector<std::string>& words, std::string_view by) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += by;
    out += word;
  }
  return out;
}

}  // namespace

SynonymTable::SynonymTable(const index::Settings& settings, const text::Analyzer& analyzer) {
  const auto fits = [](const std::vector<std::string>& words) {
    size_t size = words.size();
    for (const std::string& word : words) size += word.size();
    return !words.empty() && size < kSynonymSizeMax;
  };
  std::map<std::string, std::set<std::string>> merged;  // values in byte order of their texts
  for (const auto& [key, values] : settings.synonyms) {
    const auto words = WordsOf(analyzer, key);
    if (fits(words)) merged[Join(words, " ")].insert(values.begin(), values.end());
  }
  for (const auto& [key, values] : merged) {
    auto& lists = table_[key];
    for (const std::string& value : values) {
      auto words = WordsOf(analyzer, value);
      if (fits(words) && std::find(lists.begin(), lists.end(), words) == lists.end()) lists.push_back(std::move(words));
    }
  }
  const text::Analyzer plain;
  for (const std::string& word : settings.typo_disabled_words) disabled_words_.push_back(Join(WordsOf(plain, word), ""));
  std::sort(disabled_words_.begin(), disabled_words_.end());
}

const std::vector<std::vector<std::string>>* SynonymTable::Find(std::string_view key) const {
  const auto found = table_.find(key);
  return found == table_.end() ? nullptr : &found->second;
}

bool SynonymTable::TyposDisabled(std::string_view word) const {
  return std::binary_search(disabled_words_.begin(), disabled_words_.end(), word, std::less<>());
}

std::shared_ptr<const SynonymTable> SynonymTable::Of(const index::Snapshot& snapshot) {
  static std::mutex mutex;
  static std::map<const index::Settings*, std::pair<std::weak_ptr<const index::Settings>, std::shared_ptr<const SynonymTable>>>
      tables;
  const std::lock_guard lock(mutex);
  std::erase_if(tables, [](const auto& entry) { return entry.second.first.expired(); });
  auto& entry = tables[snapshot.settings.get()];
  if (!entry.second) entry = {snapshot.settings, std::make_shared<const SynonymTable>(*snapshot.settings, *snapshot.analyzer)};
  return entry.second;
}

Graph::Graph(const index::Snapshot& snapshot, const FieldScope& scope, const ParsedQuery& query)
    : snapshot_(snapshot), scope_(scope) {
  const auto& terms = query.terms;
  for (uint32_t slot = 0; slot < terms.size(); ++slot) {
    Node node;
    node.term = terms[slot];
    node.first_slot = node.last_slot = slot;
    if (!node.term.phrase) node.text = *node.term.words[0];
    AddNode(std::move(node));
  }
  for (uint32_t first = 0; first < terms.size(); ++first) {
    for (uint32_t count = 2; count <= 3 && first + count <= terms.size(); ++count) {
      Node node;
      bool run = true;
      for (uint32_t slot = first; slot < first + count && run; ++slot) {
        const Term& term = terms[slot];
        run = !term.phrase && (slot == first || term.first == terms[slot - 1].last + 1);
        if (!run) break;
        node.term.words.push_back(term.words[0]);
        node.text += *term.words[0];
      }
      if (!run || node.text.size() > kWordBytesMax) continue;
      node.term.prefix = terms[first + count - 1].prefix;
      node.term.first = terms[first].first;
      node.term.last = terms[first + count - 1].last;
      node.first_slot = first;
      node.last_slot = first + count - 1;
      AddNode(std::move(node));
    }
  }
}

void Graph::AddNode(Node node) {
  const auto& settings = *snapshot_.settings;
  if (!node.term.phrase && settings.typo_enabled && !SynonymTable::Of(snapshot_)->TyposDisabled(node.text)) {
    const size_t length = CountChars(node.text);
    const uint32_t allowed = length < settings.one_typo ? 0 : length < settings.two_typos ? 1 : 2;
    const uint32_t glue = node.last_slot - node.first_slot;
    node.allowed_typos = allowed > glue ? allowed - glue : 0;
  }
  nodes_.push_back(std::move(node));
}

bool Graph::IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const {
  const index::SegmentView& view = *snapshot_.segments[segment];
  if (view.all_live() && fields == nullptr) return true;
  return view.text->HasLive(ordinal, fields, view.all_live() ? nullptr : &view.live);
}

WordNumber Graph::AddWord(std::string_view text, std::vector<Ordinal> ordinals) {
  const auto number = static_cast<WordNumber>(words_.size());
  const bool numeric = scope_.exact_numbers && text::IsNumericWord(text);
  words_.push_back({std::string(text), std::move(ordinals), !numeric});
  numbers_.emplace(std::string(text), number);
  return number;
}

WordNumber Graph::FindWord(std::string_view text) {
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
  return any ? AddWord(text, std::move(ordinals)) : kNoWord;
}

std::optional<Phrase> Graph::FindPhrase(const std::vector<std::optional<std::string>>& words) {
  Phrase phrase;
  for (const auto& word : words) {
    if (!word) {
      phrase.words.push_back(kNoWord);
      continue;
    }
    const WordNumber number = FindWord(*word);
    if (number == kNoWord) return std::nullopt;
    phrase.words.push_back(number);
  }
  return phrase;
}

DocSet Graph::WordDocuments(const IndexWord& word, const segment::FieldSet* fields, const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    if (word.ordinals[s] != kNoOrdinal) text.UnionPostings(word.ordinals[s], fields, out);
  });
}

uint64_t Graph::Frequency(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal ordinal = words_[word].ordinals[s];
    if (ordinal != kNoOrdinal) sum += snapshot_.segments[s]->text->PostingBytes(ordinal);
  }
  return sum;
}

DocSet Graph::PhraseDocuments(const Phrase& phrase, const segment::FieldSet* fields) {
  // All words in these fields; then where they stand decides.
  std::vector<WordNumber> distinct;
  for (const WordNumber word : phrase.words) {
    if (word != kNoWord && std::find(distinct.begin(), distinct.end(), word) == distinct.end()) distinct.push_back(word);
  }
  if (distinct.empty()) return {};
  // The rarest word first: the others are looked for in its documents.
  std::vector<WordNumber> by_frequency = distinct;
  std::sort(by_frequency.begin(), by_frequency.end(), [&](WordNumber a, WordNumber b) { return Frequency(a) < Frequency(b); });
  DocSet documents = WordDocuments(words_[by_frequency[0]], fields);
  for (size_t i = 1; i < by_frequency.size() && !documents.empty(); ++i) {
    documents = WordDocuments(words_[by_frequency[i]], fields, &documents);
  }
  if (documents.empty()) return {};
  if (phrase.words.size() == 1) return documents;
  const bool by_attribute = snapshot_.settings->proximity_by_attribute;
  std::vector<uint32_t> kept;
  std::vector<std::vector<Place>> places(distinct.size());
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    DocSet here = documents & view.live;
    if (here.empty()) continue;
    RoleMap roles(*view.text);
    bool all = true;
    for (size_t i = 0; i < distinct.size(); ++i) {
      const Ordinal ordinal = words_[distinct[i]].ordinals[s];
      if (ordinal == kNoOrdinal) {
        all = false;
      } else {
        roles.Add(ordinal, static_cast<Role>(i));
      }
    }
    if (!all) continue;
    // Of frequent words it is listed where one follows the other.
    bool listed = !by_attribute;
    for (size_t i = 1; i < phrase.words.size() && !by_attribute && !here.empty(); ++i) {
      const WordNumber left = phrase.words[i - 1], right = phrase.words[i];
      if (left == kNoWord || right == kNoWord ||
          !view.text->ListsNeighbours(words_[left].ordinals[s], words_[right].ordinals[s])) {
        listed = false;
        continue;
      }
      DocSetUnion neighbours;
      view.text->UnionNeighbours(words_[left].ordinals[s], words_[right].ordinals[s], neighbours);
      here &= neighbours.Finish();
    }
    if (here.empty()) continue;
    if (listed && phrase.words.size() == 2) {
      here.ToVector(kept);
      continue;
    }
    // Two neighbouring words are kept for the next search: where they stand depends on the segment alone.
    const bool pair = phrase.words.size() == 2 && distinct.size() == 2 && !by_attribute;
    using segment::FoundSets;
    const Ordinal left_ordinal = words_[distinct[0]].ordinals[s], right_ordinal = pair ? words_[distinct[1]].ordinals[s] : 0;
    if (pair) {
      if (const auto known = view.text->found().Find(FoundSets::Kind::kNeighbours, left_ordinal, right_ordinal)) {
        (*known & here).ToVector(kept);
        continue;
      }
    }
    constexpr size_t kKeptDocumentsMin = 256;
    const bool keep = pair && here.size() >= kKeptDocumentsMin;
    DocSet looked_at = here;
    if (keep && fields != nullptr) {
      looked_at = WordDocuments(words_[distinct[0]], nullptr) & WordDocuments(words_[distinct[1]], nullptr) & view.live;
    }
    const size_t kept_before = kept.size();
    roles.Seal();
    view.text->ForEachRecord(looked_at, [&](uint32_t docid, std::string_view record) {
      for (auto& list : places) list.clear();
      roles.Scan(record, [&](Role role, Place at) { places[role].push_back(at); });
      const auto places_of = [&](WordNumber word) -> const std::vector<Place>& {
        return places[static_cast<size_t>(std::find(distinct.begin(), distinct.end(), word) - distinct.begin())];
      };
      for (size_t i = 0; i < phrase.words.size(); ++i) {
        if (phrase.words[i] == kNoWord) continue;
        for (size_t j = i + 1; j <= i + 2 && j < phrase.words.size(); ++j) {
          if (phrase.words[j] == kNoWord) continue;
          const auto& left = places_of(phrase.words[i]);
          const auto& right = places_of(phrase.words[j]);
          bool follows = false;
          for (const Place x : left) {
            for (const Place y : right) {
              if (FieldOf(x) != FieldOf(y)) continue;
              follows |= by_attribute || (y > x && y - x <= j - i);
            }
          }
          if (!follows) return;
        }
      }
      kept.push_back(docid);
    });
    if (keep) {
      DocSet found = DocSet::FromSorted(std::span(kept).subspan(kept_before));
      if (fields != nullptr) {
        kept.resize(kept_before);
        (found & here).ToVector(kept);
      }
      view.text->found().Store(FoundSets::Kind::kNeighbours, left_ordinal, right_ordinal, std::move(found));
    }
  }
  std::sort(kept.begin(), kept.end());
  return DocSet::FromSorted(kept);
}

void Graph::DerivePrefix(Node& node) {
  Derivations& zero = node.classes[0];
  const size_t segments = snapshot_.segments.size();
  zero.ranges.assign(segments, {0, 0});
  size_t total = 0;
  for (size_t s = 0; s < segments; ++s) {
    zero.ranges[s] = snapshot_.segments[s]->text->terms().PrefixRange(node.text);
    total += zero.ranges[s].second - zero.ranges[s].first;
  }
  if (total == 0) return;
  zero.has_range = true;
  const bool plain_words = node.ngram() && scope_.exact_numbers;
  const bool may_be_short = node.text.size() <= kShortPrefixBytes;
  // Whether the limits matter is known from the sizes, mostly without looking at the words.
  size_t largest = 0;
  for (const auto& [begin, end] : zero.ranges) largest = std::max<size_t>(largest, end - begin);
  const bool any_dead = std::any_of(snapshot_.segments.begin(), snapshot_.segments.end(), [](const auto& s) { return !s->all_live(); });
  if (may_be_short && largest >= kShortPrefixWordsMin && !any_dead) {
    node.short_prefix = true;
    if (!plain_words) return;
  } else if (!may_be_short && total <= kPrefixWordsMax && !plain_words) {
    return;
  } else if (may_be_short && total < kShortPrefixWordsMin && !plain_words) {
    return;
  }
  // Words in order over all segments, live ones only, up to the limit.
  std::vector<fst::Fst::Iterator> at;
  for (size_t s = 0; s < segments; ++s) at.push_back(snapshot_.segments[s]->text->terms().SeekOrdinal(zero.ranges[s].first));
  size_t count = 0;
  std::vector<std::pair<std::string, std::vector<Ordinal>>> listed;
  std::string word;
  while (count < kPrefixWordsMax + 1 || may_be_short) {
    bool any = false;
    for (size_t s = 0; s < segments; ++s) {
      if (!at[s].Valid() || at[s].ordinal() >= zero.ranges[s].second) continue;
      if (!any || at[s].word() < word) word = at[s].word();
      any = true;
    }
    if (!any) break;
    std::vector<Ordinal> ordinals(segments, kNoOrdinal);
    bool live = false;
    for (size_t s = 0; s < segments; ++s) {
      if (!at[s].Valid() || at[s].ordinal() >= zero.ranges[s].second || at[s].word() != word) continue;
      if (IsLive(s, at[s].ordinal(), nullptr)) {
        ordinals[s] = at[s].ordinal();
        live = true;
      }
      at[s].Next();
    }
    if (!live) continue;
    ++count;
    if (plain_words || count <= kPrefixWordsMax) listed.emplace_back(word, std::move(ordinals));
    // A short prefix with enough words has no limit.
    if (may_be_short && count >= kShortPrefixWordsMin && !plain_words) break;
  }
  if (may_be_short && count >= kShortPrefixWordsMin) {
    node.short_prefix = true;
    if (!plain_words) return;
  }
  if (!node.short_prefix && count > kPrefixWordsMax) {
    // The range ends behind the last word that counts.
    const auto& last = listed[kPrefixWordsMax - 1].first;
    for (size_t s = 0; s < segments; ++s) {
      auto after = snapshot_.segments[s]->text->terms().Seek(last + '\0');
      const Ordinal end = after.Valid() ? after.ordinal() : snapshot_.segments[s]->text->terms().size();
      zero.ranges[s].second = std::min(zero.ranges[s].second, std::max(end, zero.ranges[s].first));
    }
  }
  if (plain_words) {
    zero.has_range = false;
    for (auto& [text, ordinals] : listed) {
      if (text::IsNumericWord(text) || text == node.text) continue;  // the word itself is there already
      const auto known = numbers_.find(text);
      zero.words.push_back(known != numbers_.end() ? known->second : AddWord(text, std::move(ordinals)));
    }
  }
}

void Graph::AddSynonyms(Node& node) {
  const auto table = SynonymTable::Of(snapshot_);
  if (table->empty()) return;
  const auto add = [&](const std::vector<std::string>& words) {
    std::vector<std::optional<std::string>> list(words.begin(), words.end());
    if (auto phrase = FindPhrase(list)) node.classes[0].phrases.push_back(std::move(*phrase));
  };
  size_t total = 0;
  if (const auto* values = table->Find(node.text)) {
    for (size_t i = 0; i < values->size() && i < kSynonymsMax; ++i) {
      if (total + (*values)[i].size() > kSynonymWordsMax) continue;
      total += (*values)[i].size();
      add((*values)[i]);
    }
  }
  if (!node.ngram()) return;
  std::string key;
  for (const auto& word : node.term.words) {
    if (!key.empty()) key += ' ';
    key += *word;
  }
  if (const auto* values = table->Find(key)) {
    for (const auto& value : *values) add(value);
  }
}

void Graph::DeriveZero(Node& node) {
  Derivations& zero = node.classes[0];
  zero.ready = true;
  if (node.term.phrase) {
    if (auto phrase = FindPhrase(node.term.words)) zero.phrases.push_back(std::move(*phrase));
    return;
  }
  if (node.text.size() <= kWordBytesMax) {
    const WordNumber word = FindWord(node.text);
    if (word != kNoWord && (!node.ngram() || words_[word].tolerant)) zero.words.push_back(word);
    if (!node.ngram()) node.verbatim = word;
    if (node.term.prefix) DerivePrefix(node);
  }
  AddSynonyms(node);
}

void Graph::DeriveTypos(Node& node) {
  if (!node.classes[0].ready) DeriveZero(node);
  node.classes[1].ready = node.classes[2].ready = true;
  if (node.term.phrase || node.text.size() > kWordBytesMax) return;
  if (node.allowed_typos > 0) {
    const fst::FirstChar first = node.allowed_typos == 1 ? fst::FirstChar::kSameFirst : fst::FirstChar::kSameFirstOrOne;
    const fst::FuzzyQuery query(node.text, static_cast<int>(node.allowed_typos), node.term.prefix, first);
    size_t char_bytes = 0;
    DecodeUtf8(node.text, char_bytes);
    const std::string_view first_char = std::string_view(node.text).substr(0, char_bytes);
    std::vector<fst::FuzzyStream> streams;
    for (const auto& segment : snapshot_.segments) streams.emplace_back(segment->text->terms(), query);
    std::string word;
    while (true) {
      bool any = false;
      for (const auto& stream : streams) {
        if (!stream.Valid()) continue;
        if (!any || stream.word() < word) word = stream.word();
        any = true;
      }
      if (!any) break;
      uint8_t distance = 0;
      bool live = false;
      const bool zero_typo = word == node.text || (node.term.prefix && word.starts_with(node.text));
      const bool numeric = scope_.exact_numbers && text::IsNumericWord(word);
      for (size_t s = 0; s < streams.size(); ++s) {
        if (!streams[s].Valid() || streams[s].word() != word) continue;
        distance = streams[s].distance();
        if (!zero_typo && !numeric && IsLive(s, streams[s].ordinal(), scope_.index_exact ? &scope_.index_tolerant : nullptr)) {
          live = true;
        }
        streams[s].Next();
      }
      if (!live || distance == 0) continue;
      // With another first character one edit counts for two.
      if (node.allowed_typos == 2 && !std::string_view(word).starts_with(first_char)) distance = 2;
      auto& list = node.classes[distance].words;
      if (list.size() < (distance == 1 ? kOneTypoWordsMax : kTwoTypoWordsMax)) {
        if (const WordNumber number = FindWord(word); number != kNoWord) list.push_back(number);
      }
      const bool full = node.classes[1].words.size() >= kOneTypoWordsMax &&
                        (node.allowed_typos < 2 || node.classes[2].words.size() >= kTwoTypoWordsMax);
      if (full) break;
    }
  }
  if (auto split = Split(node)) node.classes[1].phrases.push_back(std::move(*split));
}

uint64_t Graph::MostCommon(const IndexWord& a, const IndexWord& b) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    if (a.ordinals[s] == kNoOrdinal || b.ordinals[s] == kNoOrdinal) continue;
    sum += snapshot_.segments[s]->text->CommonDocuments(a.ordinals[s], b.ordinals[s]);
  }
  return sum;
}

std::optional<Phrase> Graph::Split(const Node& node) {
  struct Candidate {
    Phrase phrase;
    uint64_t bound;  // documents that hold both words
    size_t at;
  };
  std::vector<Candidate> candidates;
  for (size_t at = 0; at < node.text.size();) {
    DecodeUtf8(node.text, at);
    if (at >= node.text.size()) break;
    const WordNumber left = FindWord(std::string_view(node.text).substr(0, at));
    if (left == kNoWord) continue;
    const WordNumber right = FindWord(std::string_view(node.text).substr(at));
    if (right == kNoWord) continue;
    if (const uint64_t both = MostCommon(words_[left], words_[right]); both > 0) candidates.push_back({{{left, right}}, both, at});
  }
  // The one with the most documents wins, whatever fields are searched, the earliest among equals; no more than the bound
  // are possible.
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.bound > b.bound; });
  // Two words of the query that were joined are not split into themselves: if that has the most documents, there is no
  // split. Often nothing else is possible, and the documents of the pair need not be looked for.
  const Candidate* own = nullptr;
  const Candidate* best = nullptr;
  uint64_t best_count = 0;
  const auto take = [&](const Candidate& candidate) {
    const uint64_t count = PhraseDocuments(candidate.phrase, nullptr).size();
    if (count > best_count || (count == best_count && count > 0 && best != nullptr && candidate.at < best->at)) {
      best = &candidate;
      best_count = count;
    }
  };
  const bool joined = node.ngram() && node.term.words.size() == 2;
  for (const Candidate& candidate : candidates) {
    if (joined && words_[candidate.phrase.words[0]].text == *node.term.words[0]) {
      own = &candidate;
    } else if (best == nullptr || candidate.bound >= best_count) {
      take(candidate);
    }
  }
  if (best != nullptr && own != nullptr && own->bound >= best_count) take(*own);
  if (best == nullptr || best == own) return std::nullopt;
  return best->phrase;
}

const Derivations& Graph::Class(Node& node, int typo_class) {
  Derivations& derivations = node.classes[typo_class];
  if (!derivations.ready) {
    if (typo_class == 0) {
      DeriveZero(node);
    } else {
      DeriveTypos(node);
    }
  }
  return derivations;
}

const DocSet& Graph::Documents(Node& node, int typo_class) {
  Derivations& derivations = node.classes[typo_class];
  if (!derivations.documents) derivations.documents = FindDocuments(node, typo_class, nullptr);
  return *derivations.documents;
}

DocSet Graph::DocumentsWithin(Node& node, int typo_class, const DocSet& within) {
  const bool asked = !node.classes[typo_class].documents && within.size() <= kAskedMax;
  return asked ? FindDocuments(node, typo_class, &within) : Documents(node, typo_class) & within;
}

DocSet Graph::FindDocuments(Node& node, int typo_class, const DocSet* within) {
  const Derivations& derivations = Class(node, typo_class);
  const bool tolerant_only = typo_class > 0 || node.ngram();
  const segment::FieldSet* fields = tolerant_only ? scope_.tolerant_fields() : scope_.fields();
  DocSet documents = LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    ForEachRange(derivations, s, [&](Ordinal begin, Ordinal end) { text.ExpectPostings(begin, end); });
    ForEachRange(derivations, s, [&](Ordinal begin, Ordinal end) { text.UnionRange(begin, end, fields, out); });
  });
  for (const Phrase& phrase : derivations.phrases) {
    DocSet of_phrase = PhraseDocuments(phrase, scope_.fields());
    if (within != nullptr) of_phrase &= *within;
    documents |= of_phrase;
  }
  return documents;
}

DocSet Graph::WordHeads(const IndexWord& word, uint32_t mask, const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const Ordinal ordinal = word.ordinals[s];
    if (ordinal != kNoOrdinal) text.UnionHeads(ordinal, ordinal + 1, mask, out);
  });
}

DocSet Graph::DocumentsTogether(std::span<const WordNumber> words, uint32_t length, const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const auto ordinal_of = [&](WordNumber word) { return words_[word].ordinals[s]; };
    if (std::any_of(words.begin(), words.end(), [&](WordNumber word) { return ordinal_of(word) == kNoOrdinal; })) return;
    text.ForEachField(ordinal_of(words[0]), [&](FieldId field, std::string_view postings) {
      if (!scope_.Searches(field)) return;
      DocSet documents = DecodePostings(postings);
      for (size_t i = 1; i < words.size() && !documents.empty(); ++i) {
        DocSet both;
        text.ForEachField(ordinal_of(words[i]), [&](FieldId other, std::string_view list) {
          if (other == field) IntersectPostings(list, documents, both);
        });
        documents = std::move(both);
      }
      if (length > 0 && !documents.empty()) {
        DocSetUnion of_length;
        text.lengths().Union(field, length, of_length);
        documents &= of_length.Finish();
      }
      out.Add(documents);
    });
  });
}

const DocSet& Graph::Documents(Node& node) {
  if (!node.any) {
    DocSet any = Documents(node, 0);
    for (int typos = 1; typos < kTypoClasses; ++typos) any |= Documents(node, typos);
    node.any = std::move(any);
  }
  return *node.any;
}

}  // namespace gannet::search
