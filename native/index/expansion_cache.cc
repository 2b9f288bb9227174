#include "index/expansion_cache.h"

namespace gannet::index {

std::shared_ptr<const ExpansionCache::Entry> ExpansionCache::Find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = young_.entries.find(key); found != young_.entries.end())
    return found->second;
  const auto found = old_.entries.find(key);
  if (found == old_.entries.end()) return nullptr;
  auto entry = found->second;
  StoreLocked(key, entry);
  return entry;
}

void ExpansionCache::Store(const std::string& key, std::shared_ptr<const Entry> entry) const {
  const std::lock_guard lock(mutex_);
  StoreLocked(key, std::move(entry));
}

void ExpansionCache::StoreLocked(const std::string& key, std::shared_ptr<const Entry> entry) const {
  const size_t bytes = BytesOf(key, *entry);
  if (bytes > kBytesMax) return;
  if (young_.bytes + bytes > kBytesMax) old_ = std::exchange(young_, Generation());
  std::shared_ptr<const Entry>& slot = young_.entries[key];
  if (slot != nullptr) young_.bytes -= BytesOf(key, *slot);
  young_.bytes += bytes;
  slot = std::move(entry);
}

size_t ExpansionCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return young_.bytes + old_.bytes;
}

size_t ExpansionCache::BytesOf(const std::string& key, const Entry& entry) {
  constexpr size_t kNodeBytes = 128;  // of the map and the entry
  const auto of_word = [](const Word& word) {
    return sizeof(Word) + word.text.size() + word.ordinals.size() * sizeof(Ordinal);
  };
  size_t bytes = kNodeBytes + key.size();
  for (const auto& words : entry.typos) {
    if (!words) continue;
    for (const Word& word : *words) bytes += of_word(word);
  }
  if (entry.split) bytes += of_word(entry.split->first) + of_word(entry.split->second);
  return bytes;
}

}  // namespace gannet::index
