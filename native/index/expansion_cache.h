// What searches found out about words of a query, kept for later searches of the same state of the index: people type on,
// and every key asks for the words before it again.
//
// Two generations: what is found goes into the young one; when that is full it becomes the old one, and the old one is
// dropped. What is asked for again moves to the young one.
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
  // What may stand for a word that was mistyped.
  struct Entry {
    std::array<std::optional<std::vector<Word>>, 2> typos;  // words with one typo, with two; nullopt: not looked for yet
    bool split_known = false;
    std::optional<std::pair<Word, Word>> split;  // the two words that it is best split into
    mutable std::atomic<uint32_t> spared{0};     // searches that did without knowing the split
  };

  ExpansionCache() = default;
  // Of another state: nothing is known of it.
  ExpansionCache(const ExpansionCache&) {}
  ExpansionCache& operator=(const ExpansionCache&) = delete;

  // Null: not kept.
  std::shared_ptr<const Entry> Find(const std::string& key) const;
  // Replaces what is kept.
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
