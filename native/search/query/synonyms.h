// Synonyms in normalised form, and the words without typos: what settings say of words, made once
// per settings.
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
  // Values of a key given as words joined by blanks; each a list of words. Null when there are
  // none.
  const std::vector<std::vector<std::string>>* Find(std::string_view key) const;
  bool empty() const { return table_.empty(); }
  // Normalised words on which typos are switched off.
  bool TyposDisabled(std::string_view word) const;
  // The table of a snapshot's settings; kept as long as the settings live.
  static std::shared_ptr<const SynonymTable> Of(const index::Snapshot& snapshot);

 private:
  std::map<std::string, std::vector<std::vector<std::string>>, std::less<>> table_;
  std::vector<std::string> disabled_words_;  // sorted
};

}  // namespace gannet::search
