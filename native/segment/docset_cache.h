// Docset cache: keeps docsets that were costly to make for later searches: unions over many words,
// and the documents of two adjacent words. A docset belongs to an immutable segment and is dropped
// with it. All segments of the process share one budget in bytes.
//
// Eviction follows GreedyDual-Size (Cao and Irani, Cost-Aware WWW Proxy Caching Algorithms, 1997).
// Each docset has a rank: its cost per byte above a floor. The docset of the lowest rank is
// dropped, and the floor rises to that rank. A docset is ranked again each time it is found. So
// many cheap docsets do not drive out the costly ones, and unused docsets are dropped in the end.
//
// Threads: any.
// Memory: the budget, and another quarter of it in address space.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/byte_arena.h"
#include "base/ids.h"
#include "bitmap/docset.h"

namespace gannet::segment {

class DocSetCache;

// The budget that several caches share. Lifetime: outlives the caches, and the docsets they
// returned.
class DocSetCacheBudget {
 public:
  // bytes_max    bytes of docsets in use; the arena has a quarter more, so that large docsets find
  //              space among small ones
  explicit DocSetCacheBudget(size_t bytes_max) : bytes_max_(bytes_max), arena_(bytes_max / 4 * 5) {}
  // The budget of all segments.
  static DocSetCacheBudget& Process();
  size_t bytes() const;

 private:
  friend class DocSetCache;
  struct Entry;
  using Order = std::map<std::pair<double, uint64_t>,
                         Entry*>;  // rank, and a count that rises: of equal ones, the older first
  struct Entry {
    std::shared_ptr<const DocSet> set;
    size_t bytes = 0;
    double per_byte = 0;  // cost
    const DocSetCache* owner = nullptr;
    const std::string* key = nullptr;
    Order::iterator position;
  };
  std::pair<double, uint64_t> RankOf(const Entry& entry) {
    return {floor_ + entry.per_byte, ++count_};
  }

  const size_t bytes_max_;
  ByteArena arena_;
  mutable std::mutex mutex_;  // guards what follows, and the sets of all owners
  size_t bytes_ = 0;
  double floor_ = 0;
  uint64_t count_ = 0;
  Order order_;
};

// The cached docsets of one segment.
class DocSetCache {
 public:
  // What a docset was made from. kField is a base to which a field id is added, kLeading one for
  // a mask of leading positions.
  enum class Kind : uint32_t { kRange, kAdjacency, kField = 1 << 16, kLeading = 1 << 17 };
  static Kind KindOfField(FieldId field) {
    return static_cast<Kind>(static_cast<uint32_t>(Kind::kField) + field);
  }
  static Kind KindOfLeading(uint32_t mask) {
    return static_cast<Kind>(static_cast<uint32_t>(Kind::kLeading) + mask);
  }

  explicit DocSetCache(DocSetCacheBudget& budget = DocSetCacheBudget::Process())
      : budget_(budget) {}
  ~DocSetCache();
  DocSetCache(const DocSetCache&) = delete;
  DocSetCache& operator=(const DocSetCache&) = delete;

  // The key of a docset of any number of words or word ranges.
  static std::string KeyOf(Kind kind, std::span<const Ordinal> words);

  // The docset of a key, which is ranked again; null if it is not cached.
  std::shared_ptr<const DocSet> Find(const std::string& key) const;
  // Whether a docset is cached. Does not rank it again.
  bool Has(const std::string& key) const;
  // Caches a docset, if the budget allows.
  // cost    of making it, in bytes of postings or as much time
  void Store(const std::string& key, const DocSet& documents, uint64_t cost) const;
  // Whether to read documents instead of making a docset that is not cached. The cost of reading is
  // added up by key (NoteRead). Once the sum reaches the cost of making the docset, the result is
  // false and the sum starts again at 0. So both together cost at most twice as much as the cheaper
  // way, however often the docset is needed (Karlin et al., Competitive Snoopy Caching, 1988).
  // documents    how many would be read
  // cost         of making the docset, as in Store
  bool PaysToRead(const std::string& key, uint64_t documents, uint64_t cost) const;
  // Adds `documents` that were read to the sum of the key.
  void NoteRead(const std::string& key, uint64_t documents) const;
  // Caches a docset that was made by reading its documents.
  void StoreRead(const std::string& key, const DocSet& documents) const {
    Store(key, documents, documents.size() * kReadCost);
  }
  static constexpr uint64_t kReadCost = 128;  // cost of reading one document, as in Store
  // Bytes of the budget that a docset takes.
  static size_t BytesOf(const std::string& key, const DocSet& documents);

 private:
  static constexpr size_t kReadSums = 256;

  DocSetCacheBudget& budget_;
  // The sum of what was read, by hash of the key. Keys that share a sum get their docset a little
  // earlier.
  std::atomic<uint64_t>& ReadOf(const std::string& key) const {
    return read_[std::hash<std::string>()(key) % kReadSums];
  }
  mutable std::array<std::atomic<uint64_t>, kReadSums> read_{};
  mutable std::unordered_map<std::string, DocSetCacheBudget::Entry>
      sets_;  // guarded by the mutex of the budget
};

}  // namespace gannet::segment
