#include "search/ranking/forward_scan.h"

#include <algorithm>
#include <map>

#include "search/matching/document_batches.h"

namespace gannet::search {
namespace {

// Assigns roles to the words and phrases that a scan looks for in one segment, and adds them to the
// masks.
class SegmentRoles {
 public:
  SegmentRoles(const QueryEvaluator& query, size_t segment, WordMasks& masks)
      : query_(query), segment_(segment), masks_(masks) {}

  // The positions that the words of the phrase must have.
  ScannedPhrase OfPhrase(const Phrase& phrase);
  // Adds the words that stand for a step which is not a phrase of the query.
  // typed    whether the word as typed is needed separately
  void AddWords(ScannedStep& scanned, bool typed);
  // Adds the roles by which a document matches such a step.
  // REQUIRES: AddWords
  void AddMatching(ScannedStep& scanned);

 private:
  // The role of the words of a short prefix. REQUIRES: scanned.words is set.
  Role OfShortPrefix(const ScannedStep& scanned);
  // The role of a single word, shared by all its uses. kNoRole: the segment does not contain the
  // word.
  Role OfWord(WordNumber word);
  // The role of the words that for_each(sink) passes to sink(Ordinal begin, Ordinal end).
  template <typename ForEach>
  Role OfRanges(ForEach&& for_each) {
    for_each([&](Ordinal begin, Ordinal end) { masks_.AddRange(count_, begin, end); });
    return count_++;
  }

  const QueryEvaluator& query_;
  size_t segment_;
  WordMasks& masks_;
  Role count_ = 0;                               // number of roles so far
  std::vector<std::pair<Ordinal, Role>> words_;  // words with a role of their own
};

Role SegmentRoles::OfWord(WordNumber word) {
  const Ordinal ordinal = query_.words.OrdinalOf(word, segment_);
  if (ordinal == kNoOrdinal) return kNoRole;
  const auto known = std::find_if(words_.begin(), words_.end(),
                                  [&](const auto& entry) { return entry.first == ordinal; });
  if (known != words_.end()) return known->second;
  masks_.Add(count_, ordinal);
  words_.emplace_back(ordinal, count_);
  return count_++;
}

ScannedPhrase SegmentRoles::OfPhrase(const Phrase& phrase) {
  ScannedPhrase scanned;
  const auto& words = phrase.words;
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w] == kNoWord) continue;
    const Role role = OfWord(words[w]);
    scanned.absent = scanned.absent || role == kNoRole;
    if (std::find(scanned.words.begin(), scanned.words.end(), role) == scanned.words.end())
      scanned.words.push_back(role);
    for (size_t other = w + 1; other <= w + 2 && other < words.size(); ++other) {
      if (words[other] != kNoWord)
        scanned.checks.push_back({role, OfWord(words[other]), static_cast<uint32_t>(other - w)});
    }
  }
  scanned.first = OfWord(words.front());
  scanned.first_real = OfWord(phrase.FirstReal());
  scanned.last = OfWord(words.back());
  return scanned;
}

void SegmentRoles::AddWords(ScannedStep& scanned, bool typed) {
  const TermExpansion& expansion = query_.expansion;
  const Step& step = *scanned.step;
  const WordNumber own = scanned.expansions->verbatim;
  size_t count = 0;
  Ordinal only = kNoOrdinal;
  expansion.ForEachRange(step, segment_, [&](Ordinal begin, Ordinal end) {
    count += end - begin;
    only = begin;
  });
  // A single word shares its role with its other uses.
  if (count == 1 && own != kNoWord && query_.words.OrdinalOf(own, segment_) == only) {
    scanned.words = OfWord(own);
  } else if (count > 0) {
    scanned.words = OfRanges([&](auto&& sink) { expansion.ForEachRange(step, segment_, sink); });
  }
  const bool may_be_typed = step.typos <= 0 && !scanned.node->ngram();
  if (may_be_typed && (typed || scanned.expansions->short_prefix)) scanned.as_typed = OfWord(own);
  if (scanned.expansions->short_prefix && step.typos <= 0)
    scanned.short_prefix = OfShortPrefix(scanned);
  expansion.ForEachPhrase(
      step, [&](const Phrase& phrase) { scanned.phrases.push_back(OfPhrase(phrase)); });
}

Role SegmentRoles::OfShortPrefix(const ScannedStep& scanned) {
  const auto& classes = scanned.expansions->classes;
  const Step& step = *scanned.step;
  const bool all = step.typos == 0 || step.verbatim ||
                   std::all_of(classes.begin() + 1, classes.end(),
                               [](const Expansions& other) { return other.words.empty(); });
  if (all) return scanned.words;
  return OfRanges([&](auto&& sink) { query_.expansion.ForEachRange(classes[0], segment_, sink); });
}

void SegmentRoles::AddMatching(ScannedStep& scanned) {
  const Step& step = *scanned.step;
  const bool ngram = scanned.node->ngram();
  if (step.verbatim) {
    if (!ngram) scanned.plain = OfWord(scanned.expansions->verbatim);
    return;
  }
  const bool inside =
      step.last_class() == kPartsClass && !scanned.expansions->classes[kPartsClass].words.empty();
  if (!query_.scope.any_exact && !inside) {
    scanned.plain = scanned.words;
    return;
  }
  const auto of_classes = [&](int first, int last) {
    if (first > last) return kNoRole;
    return OfRanges([&](auto&& sink) {
      for (int c = first; c <= last; ++c)
        query_.expansion.ForEachRange(scanned.expansions->classes[c], segment_, sink);
    });
  };
  // The first class that counts only in fields that allow typos.
  const int strict = !query_.scope.any_exact ? kPartsClass : ngram ? 0 : 1;
  scanned.plain = of_classes(step.first_class(), std::min(step.last_class(), strict - 1));
  scanned.tolerant = of_classes(std::max(step.first_class(), strict),
                                std::min(step.last_class(), kPartsClass - 1));
  if (inside) scanned.inside = of_classes(kPartsClass, kPartsClass);
}

}  // namespace

ForwardScan::ForwardScan(const RankContext& context, std::vector<const CostRule*> rules,
                         std::vector<Path> paths, bool known)
    : context_(context), rules_(std::move(rules)), known_(known) {
  for (const Path& path : paths) {
    Links& links = paths_.emplace_back();
    uint16_t previous = kNone;
    for (const Step& step : path) {
      const Link link{previous, StepNumber(step)};
      const auto at = std::find(links_.begin(), links_.end(), link);
      links.push_back(static_cast<uint16_t>(at - links_.begin()));
      if (at == links_.end()) links_.push_back(link);
      previous = link.step;
    }
  }
}

uint16_t ForwardScan::StepNumber(const Step& step) {
  const auto at = std::find(steps_.begin(), steps_.end(), step);
  const auto number = static_cast<uint16_t>(at - steps_.begin());
  if (at != steps_.end()) return number;
  TermExpansion& expansion = context_.query.expansion;
  expansion.Class(step.node, 0);
  if (!context_.NodeOf(step).term.phrase && !step.verbatim) {
    for (int c = step.first_class(); c <= step.last_class(); ++c) expansion.Class(step.node, c);
  }
  steps_.push_back(step);
  return number;
}

std::optional<ForwardScan::Links> ForwardScan::FindLinks(const Path& path) const {
  Links links;
  uint16_t previous = kNone;
  for (const Step& step : path) {
    const auto number = std::find(steps_.begin(), steps_.end(), step);
    const auto at = std::find(links_.begin(), links_.end(),
                              Link{previous, static_cast<uint16_t>(number - steps_.begin())});
    if (at == links_.end()) return std::nullopt;
    links.push_back(static_cast<uint16_t>(at - links_.begin()));
    previous = at->step;
  }
  return links;
}

bool ForwardScan::Tells(const CostRule& rule, const std::vector<Path>& paths,
                        const DocSet& documents) const {
  if (std::find(rules_.begin(), rules_.end(), &rule) == rules_.end()) return false;
  if (!std::all_of(paths.begin(), paths.end(),
                   [&](const Path& path) { return FindLinks(path).has_value(); }))
    return false;
  return documents.IsSubsetOf(documents_);
}

size_t ForwardScan::NumberOf(const CostRule& rule) const {
  return static_cast<size_t>(std::find(rules_.begin(), rules_.end(), &rule) - rules_.begin());
}

void ForwardScan::Run(const DocSet& documents) {
  documents_ = documents;
  cells_.clear();
  rows_.clear();
  rows_.reserve(documents.size());
  const auto by_docid = [](const Row& a, const Row& b) { return a.docid < b.docid; };
  std::vector<size_t> runs{0};  // boundaries of runs of ascending docids
  const auto read = [&](const DocumentBatch& batch, std::vector<uint16_t>& cells) {
    RunSegment(batch.segment, batch.documents, cells);
  };
  for (const auto& cells : ReadBatches<uint16_t>(BatchesOf(context_.snapshot, documents), read)) {
    for (size_t at = 0; at < cells.size(); at += row_cells()) {
      rows_.push_back(
          {cells[at] | DocId{cells[at + 1]} << 16, static_cast<uint32_t>(cells_.size() + at)});
    }
    cells_.insert(cells_.end(), cells.begin(), cells.end());
    if (rows_.size() == runs.back()) continue;
    if (runs.back() > 0 && by_docid(rows_[runs.back() - 1], rows_[runs.back()])) runs.pop_back();
    runs.push_back(rows_.size());
  }
  // Runs are merged in pairs until one is left.
  while (runs.size() > 2) {
    const auto at = [&](size_t i) { return rows_.begin() + static_cast<ptrdiff_t>(runs[i]); };
    std::vector<size_t> merged{0};
    for (size_t i = 0; i + 2 < runs.size(); i += 2) {
      std::inplace_merge(at(i), at(i + 1), at(i + 2), by_docid);
      merged.push_back(runs[i + 2]);
    }
    if (merged.back() != rows_.size()) merged.push_back(rows_.size());
    runs = std::move(merged);
  }
}

std::vector<ScannedStep> ForwardScan::StepsIn(size_t segment, WordMasks& masks) const {
  const bool typed = std::any_of(rules_.begin(), rules_.end(),
                                 [](const CostRule* rule) { return rule->AsksWordAsTyped(); });
  SegmentRoles roles(context_.query, segment, masks);
  std::vector<ScannedStep> steps(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    ScannedStep& scanned = steps[i];
    scanned.number = i;
    scanned.step = &steps_[i];
    scanned.node = &context_.NodeOf(steps_[i]);
    scanned.expansions = &context_.query.expansion.Of(steps_[i].node);
    if (scanned.node->term.phrase) {
      for (const Phrase& phrase : scanned.expansions->classes[0].phrases)
        scanned.phrases.push_back(roles.OfPhrase(phrase));
      continue;
    }
    roles.AddWords(scanned, typed);
    if (!known_) roles.AddMatching(scanned);
  }
  masks.Seal();
  return steps;
}

void ScannedDocument::FindHeld(ScannedStep& step) {
  const bool by_attribute = snapshot_.settings->proximity_by_attribute;
  const auto side_by_side = [&](const ScannedPhrase::Check& check) {
    if (!by_attribute) return masks_.Distance(check.left, check.right) <= check.distance;
    return masks_.AnyField([&](FieldId, uint32_t begin, uint32_t end) {
      return masks_.First(check.left, begin, end) != WordMasks::kNone &&
             masks_.First(check.right, begin, end) != WordMasks::kNone;
    });
  };
  for (ScannedPhrase& phrase : step.phrases) {
    phrase.held = !phrase.absent &&
                  std::all_of(phrase.words.begin(), phrase.words.end(),
                              [&](Role word) { return Searched(word); }) &&
                  std::all_of(phrase.checks.begin(), phrase.checks.end(), side_by_side);
  }
}

bool ScannedDocument::Matches(const ScannedStep& step) {
  if (Searched(step.plain)) return true;
  if (Holds(step.tolerant, false, [&](FieldId field) { return scope_.tolerant.Has(field); }))
    return true;
  if (Holds(step.inside, false, [&](FieldId field) { return scope_.parts.Has(field); }))
    return true;
  return std::any_of(step.phrases.begin(), step.phrases.end(),
                     [](const ScannedPhrase& phrase) { return phrase.held; });
}

void ScannedDocument::FindOccurrences(const ScannedStep& step, Occurrences& occurrences) {
  occurrences.known = true;
  occurrences.list.clear();
  const auto of_role = [&](Role role) {
    if (role == kNoRole) return;
    const auto runs = masks_.runs();
    auto run = runs.begin();
    for (uint32_t word = masks_.First(role, 0, masks_.size()); word != WordMasks::kNone;
         word = masks_.First(role, run->end, masks_.size())) {
      while (run != runs.end() && run->end <= word) ++run;
      if (run == runs.end()) return;  // a damaged record
      occurrences.list.push_back({&*run, role, word});
    }
  };
  of_role(step.words);
  for (const ScannedPhrase& phrase : step.phrases) {
    if (phrase.held) of_role(phrase.first_real);
  }
}

void ForwardScan::RunSegment(size_t segment, const DocSet& documents,
                             std::vector<uint16_t>& cells) const {
  const segment::TextReader& text = *context_.snapshot.segments[segment]->text;
  // For each step: its words, the word as typed, a short prefix, three kinds of matches; plus the
  // words of phrases.
  size_t roles_max = steps_.size() * 6;
  for (const Step& step : steps_) {
    for (const Expansions& expansions : context_.query.expansion.Of(step.node).classes) {
      for (const Phrase& phrase : expansions.phrases) roles_max += phrase.words.size();
    }
  }
  WordMasks masks(text, roles_max);
  std::vector<ScannedStep> steps = StepsIn(segment, masks);
  ScannedDocument document(context_.snapshot, context_.query.scope, masks, steps.size());
  const size_t width = row_cells(), costs_at = 2 + match_cells();
  // For each link the first one with the same step: costs that do not depend on the previous step
  // are computed once.
  std::vector<size_t> firsts(links_.size());
  for (size_t l = 0; l < links_.size(); ++l) {
    firsts[l] = static_cast<size_t>(
        std::find_if(links_.begin(), links_.end(),
                     [&](const Link& link) { return link.step == links_[l].step; }) -
        links_.begin());
  }
  std::vector<uint8_t> asks_previous;
  for (const CostRule* rule : rules_) asks_previous.push_back(rule->AsksPrevious());
  size_t row_at = cells.size();
  cells.resize(row_at + documents.size() * width);
  text.ForEachRecord(documents, [&](DocId docid, std::string_view record) {
    masks.Read(record);
    document.Next();
    uint16_t* const row = cells.data() + row_at;
    row_at += width;
    row[0] = static_cast<uint16_t>(docid);
    row[1] = static_cast<uint16_t>(docid >> 16);
    for (size_t i = 0; i < steps.size(); ++i) {
      ScannedStep& step = steps[i];
      if (!step.phrases.empty()) document.FindHeld(step);
      step.matches = known_ || document.Matches(step);
      if (step.matches) row[2 + i / 16] = static_cast<uint16_t>(row[2 + i / 16] | 1u << i % 16);
    }
    uint16_t* const costs = row + costs_at;
    for (size_t l = 0; l < links_.size(); ++l) {
      const ScannedStep& step = steps[links_[l].step];
      if (!step.matches) continue;
      const ScannedStep* const previous =
          links_[l].previous == kNone ? nullptr : &steps[links_[l].previous];
      for (size_t r = 0; r < rules_.size(); ++r) {
        uint16_t& cost = costs[l * rules_.size() + r];
        if (!asks_previous[r]) {
          cost = firsts[l] == l
                     ? static_cast<uint16_t>(rules_[r]->StepCost(context_, document, nullptr, step))
                     : costs[firsts[l] * rules_.size() + r];
        } else if (previous == nullptr || previous->matches) {
          cost = static_cast<uint16_t>(rules_[r]->StepCost(context_, document, previous, step));
        }
      }
    }
  });
  cells.resize(row_at);
}

bool ForwardScan::Matches(const Row& row, const Links& links) const {
  return std::all_of(links.begin(), links.end(), [&](uint16_t link) {
    const uint16_t step = links_[link].step;
    return (cells_[row.at + 2 + step / 16] >> step % 16 & 1) != 0;
  });
}

uint32_t ForwardScan::CostOf(const Row& row, const Links& links, size_t rule, uint32_t stop) const {
  const uint16_t* const costs = cells_.data() + row.at + 2 + match_cells() + rule;
  uint32_t sum = 0;
  for (auto link = links.begin(); link != links.end() && sum < stop; ++link)
    sum += costs[*link * rules_.size()];
  return sum;
}

template <typename Sink>
void ForwardScan::ForEachRow(const DocSet& within, Sink&& sink) const {
  if (rows_.size() == within.size()) {
    for (const Row& row : rows_) sink(row);
    return;
  }
  auto at = rows_.begin();
  within.ForEach([&](DocId docid) {
    at = std::lower_bound(at, rows_.end(), docid,
                          [](const Row& row, DocId id) { return row.docid < id; });
    if (at != rows_.end() && at->docid == docid) sink(*at);
  });
}

DocSet ForwardScan::Matching(size_t path) const {
  std::vector<DocId> matching;
  for (const Row& row : rows_) {
    if (Matches(row, paths_[path])) matching.push_back(row.docid);
  }
  return DocSet::FromSorted(matching);
}

std::vector<std::vector<DocId>> ForwardScan::ByCost(const CostRule& rule, uint32_t max,
                                                    const DocSet& within) const {
  std::vector<std::vector<DocId>> by_cost(max + size_t{1});
  const size_t number = NumberOf(rule);
  ForEachRow(within, [&](const Row& row) {
    by_cost[std::min(CostOf(row, paths_[0], number, ~uint32_t{0}), max)].push_back(row.docid);
  });
  return by_cost;
}

void ForwardScan::AddSources(const CostRule& rule, const std::vector<Path>& paths,
                             std::span<const uint32_t> numbers, uint32_t max, const DocSet& within,
                             Sources& sources) const {
  struct Group {
    std::vector<DocId> documents;
    std::vector<PathTaken> paths;
  };
  std::vector<std::map<uint32_t, Group>> groups(paths.size());  // by path, by cost
  std::vector<Links> links;
  for (const Path& path : paths) links.push_back(*FindLinks(path));
  const size_t number = NumberOf(rule);
  ForEachRow(within, [&](const Row& row) {
    uint32_t best = ~uint32_t{0};
    size_t taken = 0;
    for (size_t p = 0; p < links.size() && best > 0; ++p) {
      if (!Matches(row, links[p])) continue;
      const uint32_t cost = CostOf(row, links[p], number, best);
      if (cost >= best) continue;
      best = cost;
      taken = p;
    }
    // Every document matches some path if docsets and records agree. If they do not, rank it last
    // instead of losing it.
    Group& group = groups[taken][std::min(best, max)];
    group.documents.push_back(row.docid);
    if (!rule.NarrowsToTyped()) {
      if (group.paths.empty()) group.paths.push_back({numbers[taken], row.docid, paths[taken]});
      return;
    }
    Path path = paths[taken];
    for (size_t i = 0; i < path.size() && best <= max; ++i) {
      const uint16_t cost =
          cells_[row.at + 2 + match_cells() + links[taken][i] * rules_.size() + number];
      path[i].verbatim = path[i].verbatim || cost == 0;
    }
    const bool known = std::any_of(group.paths.begin(), group.paths.end(),
                                   [&](const PathTaken& other) { return other.path == path; });
    if (!known) group.paths.push_back({numbers[taken], row.docid, std::move(path)});
  });
  for (auto& of_path : groups) {
    if (of_path.empty()) continue;
    std::map<uint32_t, CostBucket> buckets;
    for (auto& [cost, group] : of_path)
      buckets[cost] = {DocSet::FromSorted(group.documents), {}, std::move(group.paths)};
    sources.push_back(std::make_unique<KnownCosts>(std::move(buckets)));
  }
}

}  // namespace gannet::search
