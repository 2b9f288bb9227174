#include "search/ranking/candidates.h"

#include <algorithm>

namespace gannet::search {
namespace {

constexpr Role kNoRole = 0xffff;

}  // namespace

void Candidates::AssignRoles() {
  auto& nodes = graph_.nodes();
  if (class_roles_.size() < nodes.size()) {
    class_roles_.resize(nodes.size(), {kNoRole, kNoRole, kNoRole});
  }
  word_roles_.resize(graph_.words().size(), kNoRole);
  const auto role_of_word = [&](WordNumber word) {
    if (word != kNoWord && word_roles_[word] == kNoRole) word_roles_[word] = role_count_++;
  };
  for (const WordNumber word : followed_) role_of_word(word);
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (int typos = 0; typos < kTypoClasses; ++typos) {
      const Expansions& expansions = nodes[n].classes[typos];
      if (!expansions.ready || expansions.empty()) continue;
      const bool only_verbatim = typos == 0 && !expansions.has_range && expansions.words.size() == 1;
      if (!expansions.words.empty() || expansions.has_range) {
        // A class of one word shares the role of the word.
        if (only_verbatim || (expansions.words.size() == 1 && !expansions.has_range)) {
          role_of_word(expansions.words[0]);
          class_roles_[n][typos] = word_roles_[expansions.words[0]];
        } else if (class_roles_[n][typos] == kNoRole) {
          class_roles_[n][typos] = role_count_++;
        }
      }
      for (const Phrase& phrase : expansions.phrases) {
        for (const WordNumber word : phrase.words) role_of_word(word);
      }
    }
    role_of_word(nodes[n].verbatim);
  }
}

void Candidates::LoadUnknown(const DocSet& documents) {
  std::vector<DocId> unknown;
  documents.ForEach([&](DocId docid) {
    if (Find(docid) < 0) unknown.push_back(docid);
  });
  if (!unknown.empty()) Load(DocSet::FromSorted(unknown));
}

void Candidates::Load(const DocSet& documents) {
  AssignRoles();
  const size_t before = known_.size();
  const auto& segments = graph_.snapshot().segments;
  for (size_t s = 0; s < segments.size(); ++s) {
    const DocSet here = documents & segments[s]->live;
    if (!here.empty()) LoadSegment(s, here);
  }
  const auto by_docid = [](const Known& a, const Known& b) { return a.docid < b.docid; };
  if (!std::is_sorted(known_.begin() + static_cast<ptrdiff_t>(before), known_.end(), by_docid)) {
    std::sort(known_.begin() + static_cast<ptrdiff_t>(before), known_.end(), by_docid);
  }
  std::inplace_merge(known_.begin(), known_.begin() + static_cast<ptrdiff_t>(before), known_.end(), by_docid);
}

void Candidates::LoadSegment(size_t segment, const DocSet& documents) {
  const index::SegmentView& view = *graph_.snapshot().segments[segment];
  RoleMap roles(*view.text);
  const auto& nodes = graph_.nodes();
  const auto& words = graph_.words();
  for (WordNumber word = 0; word < words.size(); ++word) {
    if (word_roles_[word] == kNoRole || words[word].ordinals[segment] == kNoOrdinal) continue;
    roles.Add(words[word].ordinals[segment], word_roles_[word]);
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (int typos = 0; typos < kTypoClasses; ++typos) {
      const Expansions& expansions = nodes[n].classes[typos];
      const Role role = class_roles_[n][typos];
      if (role == kNoRole || !expansions.ready) continue;
      if (expansions.words.size() == 1 && !expansions.has_range) continue;  // the word's own role
      const bool range = expansions.has_range && expansions.ranges[segment].first < expansions.ranges[segment].second;
      if (range) roles.AddRange(expansions.ranges[segment].first, expansions.ranges[segment].second, role);
      for (const WordNumber word : expansions.words) {
        const Ordinal ordinal = words[word].ordinals[segment];
        if (ordinal == kNoOrdinal) continue;
        if (range && ordinal >= expansions.ranges[segment].first && ordinal < expansions.ranges[segment].second) continue;
        roles.Add(ordinal, role);
      }
    }
  }
  roles.Seal();
  struct Found {
    Role role;
    TokenPosition position;
  };
  std::vector<Found> found;
  view.text->ForEachRecord(documents, [&](uint32_t docid, std::string_view record) {
    found.clear();
    roles.Scan(record, [&](Role role, TokenPosition at) { found.push_back({role, at}); });
    const auto by_role = [](const Found& a, const Found& b) { return a.role < b.role; };
    if (found.size() > 1 && !std::is_sorted(found.begin(), found.end(), by_role)) {
      std::stable_sort(found.begin(), found.end(), by_role);
    }
    const auto begin = static_cast<uint32_t>(entries_.size());
    for (size_t i = 0; i < found.size();) {
      const auto from = static_cast<uint32_t>(positions_.size());
      const Role role = found[i].role;
      for (; i < found.size() && found[i].role == role; ++i) positions_.push_back(found[i].position);
      entries_.push_back({role, from, static_cast<uint32_t>(positions_.size())});
    }
    known_.push_back({docid, begin, static_cast<uint32_t>(entries_.size())});
  });
}

int64_t Candidates::Find(DocId docid) const {
  const auto found = std::lower_bound(known_.begin(), known_.end(), docid,
                                      [](const Known& known, DocId id) { return known.docid < id; });
  return found != known_.end() && found->docid == docid ? found - known_.begin() : -1;
}

std::span<const TokenPosition> Candidates::PositionsOf(const Known& known, Role role) const {
  if (role == kNoRole) return {};
  for (uint32_t i = known.begin; i < known.end; ++i) {
    if (entries_[i].role == role) return std::span(positions_).subspan(entries_[i].begin, entries_[i].end - entries_[i].begin);
  }
  return {};
}

std::span<const TokenPosition> Candidates::WordPositions(DocId docid, WordNumber word) const {
  const int64_t at = Find(docid);
  if (at < 0 || word == kNoWord || word >= word_roles_.size()) return {};
  return PositionsOf(known_[static_cast<size_t>(at)], word_roles_[word]);
}

std::span<const TokenPosition> Candidates::ClassPositions(DocId docid, uint16_t node, int typos) const {
  const int64_t at = Find(docid);
  if (at < 0 || node >= class_roles_.size()) return {};
  return PositionsOf(known_[static_cast<size_t>(at)], class_roles_[node][static_cast<size_t>(typos)]);
}

void Candidates::StateOf(DocId docid, const Node& node, int typos, bool verbatim, State& state) const {
  state.matches = false;
  state.positions.clear();
  state.phrases.clear();
  state.ends.clear();
  const int64_t at = Find(docid);
  if (at < 0) return;
  const Known& known = known_[static_cast<size_t>(at)];
  const FieldScope& scope = graph_.scope();
  const auto in_scope = [&](std::span<const TokenPosition> positions) {
    return !positions.empty() &&
           (scope.all || std::any_of(positions.begin(), positions.end(), [&](TokenPosition p) { return scope.Searches(FieldOf(p)); }));
  };
  const auto node_number = static_cast<size_t>(&node - graph_.nodes().data());
  if (verbatim && !node.term.phrase) {
    if (node.ngram() || node.verbatim == kNoWord) return;
    const auto positions = PositionsOf(known, word_roles_[node.verbatim]);
    if (!in_scope(positions)) return;
    // A short prefix keeps the list of all its words even so.
    const auto range = node.short_prefix ? PositionsOf(known, class_roles_[node_number][0]) : std::span<const TokenPosition>();
    state.positions.push_back(range.empty() ? positions : range);
    state.matches = true;
    return;
  }
  const bool by_attribute = graph_.snapshot().settings->proximity_by_attribute;
  for (int c = typos < 0 ? 0 : typos; c <= (typos < 0 ? kTypoClasses - 1 : typos); ++c) {
    const Expansions& expansions = node.classes[c];
    if (!expansions.ready) continue;
    // Distances and positions are known without fields: a word of any class counts wherever it stands, as long as some
    // word of the node stands in a field that is searched.
    if (const auto positions = PositionsOf(known, class_roles_[node_number][c]); !positions.empty()) {
      state.positions.push_back(positions);
      // A class of one word shares a role that knows nothing of tolerant fields.
      const bool tolerant_only = scope.any_exact && (c > 0 || node.ngram());
      const auto tolerant = [&](TokenPosition p) { return scope.tolerant.Has(FieldOf(p)); };
      if (in_scope(positions) && (!tolerant_only || std::any_of(positions.begin(), positions.end(), tolerant))) state.matches = true;
    }
    const auto of = [&](WordNumber word) {
      return word == kNoWord ? std::span<const TokenPosition>() : PositionsOf(known, word_roles_[word]);
    };
    for (const Phrase& phrase : expansions.phrases) {
      if (const auto last = of(phrase.words.back()); !last.empty()) state.ends.push_back(last);
      bool holds = true;
      for (size_t i = 0; i < phrase.words.size() && holds; ++i) {
        if (phrase.words[i] == kNoWord) continue;
        const auto left = PositionsOf(known, word_roles_[phrase.words[i]]);
        holds = in_scope(left);
        for (size_t j = i + 1; j <= i + 2 && j < phrase.words.size() && holds; ++j) {
          if (phrase.words[j] == kNoWord) continue;
          const auto right = PositionsOf(known, word_roles_[phrase.words[j]]);
          bool follows = false;
          for (const TokenPosition x : left) {
            for (const TokenPosition y : right) {
              follows |= FieldOf(x) == FieldOf(y) && (by_attribute || (y > x && y - x <= j - i));
            }
          }
          holds = follows;
        }
      }
      if (!holds) continue;
      PhrasePositions positions;
      positions.first = of(phrase.words.front());
      for (const WordNumber word : phrase.words) {
        if (word == kNoWord) continue;
        positions.first_real = of(word);
        break;
      }
      state.phrases.push_back(positions);
      state.matches = true;
    }
  }
}

}  // namespace gannet::search
