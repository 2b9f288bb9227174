// Document sets that were costly to find, kept for the next search: unions of many words, neighbouring words. Each belongs
// to an immutable segment and is dropped with it. All segments of the process share one bound in bytes.
//
// Which set goes first is decided as by GreedyDual-Size (Cao and Irani, Cost-Aware WWW Proxy Caching Algorithms, 1997): each has
// a rank, its cost per byte above a floor; what has the lowest goes, the floor rises to that, and what is asked for is
// ranked anew. So many sets that are quickly made do not drive out the costly ones, and what nobody asks for goes at last.
//
// Threads: any.
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

// What many caches may hold together. Outlives them, and the sets that they gave out.
class DocSetCacheBudget {
 public:
  // Of the bytes of the sets there is a quarter more than may be in use, so that large ones find room among small ones.
  explicit DocSetCacheBudget(size_t bytes_max) : bytes_max_(bytes_max), arena_(bytes_max / 4 * 5) {}
  // That of all segments.
  static DocSetCacheBudget& Process();
  size_t bytes() const;

 private:
  friend class DocSetCache;
  struct Entry;
  using Order = std::map<std::pair<double, uint64_t>, Entry*>;  // rank, and a count that rises: of equal ones, the older first
  struct Entry {
    std::shared_ptr<const DocSet> set;
    size_t bytes = 0;
    double per_byte = 0;  // cost
    const DocSetCache* owner = nullptr;
    const std::string* key = nullptr;
    Order::iterator place;
  };
  std::pair<double, uint64_t> RankOf(const Entry& entry) { return {floor_ + entry.per_byte, ++count_}; }

  const size_t bytes_max_;
  ByteArena arena_;
  mutable std::mutex mutex_;  // guards what follows, and the sets of all owners
  size_t bytes_ = 0;
  double floor_ = 0;
  uint64_t count_ = 0;
  Order order_;
};

class DocSetCache {
 public:
  enum class Kind : uint32_t { kRange, kAdjacency, kField = 1 << 16, kLeading = 1 << 17 };  // kField + field, kLeading + mask
  static Kind KindOfField(FieldId field) { return static_cast<Kind>(static_cast<uint32_t>(Kind::kField) + field); }
  static Kind KindOfLeading(uint32_t mask) { return static_cast<Kind>(static_cast<uint32_t>(Kind::kLeading) + mask); }

  explicit DocSetCache(DocSetCacheBudget& budget = DocSetCacheBudget::Process()) : budget_(budget) {}
  ~DocSetCache();
  DocSetCache(const DocSetCache&) = delete;
  DocSetCache& operator=(const DocSetCache&) = delete;

  // A key of any number of words.
  static std::string KeyOf(Kind kind, std::span<const Ordinal> words);

  // Null: not kept.
  std::shared_ptr<const DocSet> Find(const std::string& key) const;
  // Whether it is kept; it counts as asked for only by Find.
  bool Has(const std::string& key) const;
  // cost: what making them took, in bytes of postings or as much time.
  void Store(const std::string& key, const DocSet& documents, uint64_t cost) const;
  // Whether to read so many documents instead of making a set that is not kept, at this cost, for them alone. What is read is
  // noted and added up by key: once it comes to what making the set costs, the answer is no, and the sum begins anew. So reading
  // and making cost at most twice as much as the cheaper of them, however often it is asked (Karlin et al., Competitive Snoopy
  // Caching, 1988).
  bool PaysToRead(const std::string& key, uint64_t documents, uint64_t cost) const;
  void NoteRead(const std::string& key, uint64_t documents) const;
  // Those that were found by reading documents.
  void StoreRead(const std::string& key, const DocSet& documents) const { Store(key, documents, documents.size() * kReadCost); }
  static constexpr uint64_t kReadCost = 128;  // of a document
  // What a set counts for.
  static size_t BytesOf(const std::string& key, const DocSet& documents);

 private:
  static constexpr size_t kReadSums = 256;

  DocSetCacheBudget& budget_;
  // What was read instead of making a set, by hash of its key. Sets that share a sum are made a little earlier.
  std::atomic<uint64_t>& ReadOf(const std::string& key) const { return read_[std::hash<std::string>()(key) % kReadSums]; }
  mutable std::array<std::atomic<uint64_t>, kReadSums> read_{};
  mutable std::unordered_map<std::string, DocSetCacheBudget::Entry> sets_;  // guarded by the mutex of the budget
};

}  // namespace gannet::segment
