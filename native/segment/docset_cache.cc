#include "segment/docset_cache.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace gannet::segment {
namespace {

constexpr size_t kProcessBytesMax = 32 << 20;
constexpr size_t kEntryBytes = 512;  // of the maps, and the tables of the set

// A set in its stored bytes, and the object that reads it there. As hundreds of separate blocks it
// would take half as much again.
struct Packed {
  Packed(ByteArena& arena, const DocSet& documents)
      : bytes(arena, documents.SerializedBytes()), view(Written(documents, bytes)) {}
  static std::string_view Written(const DocSet& documents, const ArenaBlock& bytes) {
    documents.WriteTo(bytes.data());
    return {bytes.data(), bytes.size()};
  }

  const ArenaBlock bytes;
  const DocSetView view;
};

}  // namespace

DocSetCacheBudget& DocSetCacheBudget::Process() {
  static auto* const budget =
      new DocSetCacheBudget(kProcessBytesMax);  // segments may live until the process ends
  return *budget;
}

size_t DocSetCacheBudget::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

DocSetCache::~DocSetCache() {
  const std::lock_guard lock(budget_.mutex_);
  for (auto& [key, entry] : sets_) {
    budget_.order_.erase(entry.position);
    budget_.bytes_ -= entry.bytes;
  }
}

std::string DocSetCache::KeyOf(Kind kind, std::span<const Ordinal> words) {
  std::string key(reinterpret_cast<const char*>(&kind), sizeof(kind));
  key.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  return key;
}

std::shared_ptr<const DocSet> DocSetCache::Find(const std::string& key) const {
  const std::lock_guard lock(budget_.mutex_);
  const auto found = sets_.find(key);
  if (found == sets_.end()) return nullptr;
  DocSetCacheBudget::Entry& entry = found->second;
  auto node = budget_.order_.extract(entry.position);
  node.key() = budget_.RankOf(entry);
  entry.position = budget_.order_.insert(std::move(node)).position;
  return entry.set;
}

bool DocSetCache::PaysToRead(const std::string& key, uint64_t documents, uint64_t cost) const {
  std::atomic<uint64_t>& read = ReadOf(key);
  if (read.load(std::memory_order_relaxed) + documents * kReadCost <= cost) return true;
  read.store(0, std::memory_order_relaxed);
  return false;
}

void DocSetCache::NoteRead(const std::string& key, uint64_t documents) const {
  ReadOf(key).fetch_add(documents * kReadCost, std::memory_order_relaxed);
}

bool DocSetCache::Has(const std::string& key) const {
  const std::lock_guard lock(budget_.mutex_);
  return sets_.contains(key);
}

size_t DocSetCache::BytesOf(const std::string& key, const DocSet& documents) {
  return documents.SerializedBytes() + key.size() + kEntryBytes;
}

void DocSetCache::Store(const std::string& key, const DocSet& documents, uint64_t cost) const {
  const size_t bytes = BytesOf(key, documents);
  if (bytes > budget_.bytes_max_) return;
  const auto packed = std::make_shared<const Packed>(budget_.arena_, documents);
  std::vector<std::shared_ptr<const DocSet>> dropped;
  {
    const std::lock_guard lock(budget_.mutex_);
    const auto [at, is_new] = sets_.try_emplace(key);
    if (!is_new) return;
    DocSetCacheBudget::Entry& entry = at->second;
    entry.set = std::shared_ptr<const DocSet>(packed, &packed->view.set());
    entry.bytes = bytes;
    entry.per_byte = static_cast<double>(cost) / static_cast<double>(bytes);
    entry.owner = this;
    entry.key = &at->first;
    entry.position = budget_.order_.emplace(budget_.RankOf(entry), &entry).first;
    budget_.bytes_ += bytes;
    while (budget_.bytes_ > budget_.bytes_max_) {
      const auto lowest = budget_.order_.begin();
      DocSetCacheBudget::Entry& evicted = *lowest->second;
      budget_.floor_ = lowest->first.first;
      budget_.order_.erase(lowest);
      budget_.bytes_ -= evicted.bytes;
      dropped.push_back(std::move(evicted.set));
      const DocSetCache* owner = evicted.owner;
      owner->sets_.erase(owner->sets_.find(*evicted.key));
    }
  }
  // Here, after the lock is released, the dropped docsets are freed.
}

}  // namespace gannet::segment
