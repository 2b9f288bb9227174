// Expansion cache: expansions of query words by typos and by splitting, kept for later searches of
// the same snapshot. People type on, and every key repeats the words before it.
//
// There are two generations. A new entry goes into the young one. When the young generation is full
// it becomes the old one, and the former old one is dropped. An entry of the old generation that is
// found again moves to the young one.
//
// Memory: at most 2 * kBytesMax. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace gannet::index {

class ExpansionCache {
 public:
  static constexpr size_t kBytesMax = 1 << 20;

  struct Word {
    std::string text;
    std::vector<Ordinal> ordinals;  // by segment
  };
  // Expansions of one query word.
  struct Entry {
    std::array<std::optional<std::vector<Word>>, 2>
        typos;  // words with one typo and with two; nullopt: not computed yet
    bool split_known = false;
    std::optional<std::pair<Word, Word>> split;  // the best split into two words
    mutable std::atomic<uint32_t> spared{0};     // searches that did not need to know the split
  };

  ExpansionCache() = default;
  // A copy belongs to another snapshot, so it starts empty.
  ExpansionCache(const ExpansionCache&) {}
  ExpansionCache& operator=(const ExpansionCache&) = delete;

  // Null if there is no entry.
  std::shared_ptr<const Entry> Find(const std::string& key) const;
  // Adds an entry, or replaces the one with that key.
  void Store(const std::string& key, std::shared_ptr<const Entry> entry) const;
  size_t bytes() const;

 private:
  struct Generation {
    std::unordered_map<std::string, std::shared_ptr<const Entry>> entries;
    size_t bytes = 0;
  };
  static size_t BytesOf(const std::string& key, const Entry& entry);
  void StoreLocked(const std::string& key, std::shared_ptr<const Entry> entry) const;

  mutable std::mutex mutex_;  // guards what follows
  mutable Generation young_, old_;
};

}  // namespace gannet::index
