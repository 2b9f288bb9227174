// Synonyms in normalized form, and the words that allow no typos: the parts of the settings about
// words, built once per settings.
//
// Threads: immutable after construction; Of() may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "index/settings.h"
#include "index/snapshot.h"
#include "text/analyzer.h"

namespace gannet::search {

class SynonymTable {
 public:
  SynonymTable(const index::Settings& settings, const text::Analyzer& analyzer);
  // The synonyms of a key, which is words joined by spaces. Each synonym is a list of words. Null
  // if there are none.
  const std::vector<std::vector<std::string>>* Find(std::string_view key) const;
  bool empty() const { return table_.empty(); }
  // Whether typos are disabled for this normalized word.
  bool TyposDisabled(std::string_view word) const;
  // The table for the settings of a snapshot; cached as long as the settings exist.
  static std::shared_ptr<const SynonymTable> Of(const index::Snapshot& snapshot);

 private:
  std::map<std::string, std::vector<std::vector<std::string>>, std::less<>> table_;
  std::vector<std::string> disabled_words_;  // sorted
};

}  // namespace gannet::search
