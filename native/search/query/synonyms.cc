#include "search/query/synonyms.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace gannet::search {
namespace {

constexpr size_t kSynonymSizeMax = 500;  // bytes of its words plus the number of words

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
  std::map<std::string, std::set<std::string>> merged;  // values in byte order of their text
  for (const auto& [key, values] : settings.synonyms) {
    const auto words = WordsOf(analyzer, key);
    if (fits(words)) merged[Join(words, " ")].insert(values.begin(), values.end());
  }
  for (const auto& [key, values] : merged) {
    auto& lists = table_[key];
    std::set<std::vector<std::string>> known;
    for (const std::string& value : values) {
      auto words = WordsOf(analyzer, value);
      if (fits(words) && known.insert(words).second) lists.push_back(std::move(words));
    }
  }
  const text::Analyzer plain;
  for (const std::string& word : settings.typo_disabled_words)
    disabled_words_.push_back(Join(WordsOf(plain, word), ""));
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
  static std::map<const index::Settings*, std::pair<std::weak_ptr<const index::Settings>,
                                                    std::shared_ptr<const SynonymTable>>>
      tables;
  const std::lock_guard lock(mutex);
  std::erase_if(tables, [](const auto& entry) { return entry.second.first.expired(); });
  auto& entry = tables[snapshot.settings.get()];
  if (!entry.second)
    entry = {snapshot.settings,
             std::make_shared<const SynonymTable>(*snapshot.settings, *snapshot.analyzer)};
  return entry.second;
}

}  // namespace gannet::search
