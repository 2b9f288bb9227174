// A response until it is written: its hits one by one, and what surrounds them. Later steps change
// the order of the hits (docs/behaviour/reranking.md) and put documents of other indexes into them;
// the bytes are written once, after the last step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/foreign_documents.h"
#include "search/request.h"
#include "search/response.h"

namespace gannet::search {

// The last member of a hit, if it says where the hit is from; and the same where that is left out.
inline constexpr std::string_view kSourceName = "\"_federation\":";
inline constexpr std::string_view kSourceLeftOut = "\"_federation\":{}";

// Threads: one owner at a time. It borrows nothing of the search.
class Page {
 public:
  // bytes_max  limit of the response
  explicit Page(uint64_t bytes_max) : bytes_max_(bytes_max) { text.reserve(16 << 10); }

  // Building. Append the members before the hits and the beginning of their list to `text`, then
  // each hit between BeginHit and EndHit, then the members after them to `rest`, each with a comma.
  void BeginHit();
  // query   number of the query that found the hit
  // pinned  the hit keeps its position
  // Invalid: as CheckResponseSize.
  Status EndHit(uint32_t query = 0, bool pinned = false);
  // Only these hits are part of the response, once they are in their order. Behind all other
  // members it names what was missing.
  void Choose(Window shown, bool lacks_vector);

  ResponseHead head;
  std::string text, rest;
  // For each hit of a response that is merged with those of other servers: the value of its
  // `_federation`, which is empty in the hit.
  std::vector<std::string> sources;

  size_t hit_count() const { return hits_.size(); }
  std::string_view hit_text(size_t hit) const {
    return std::string_view(text).substr(hits_[hit].begin, hits_[hit].end - hits_[hit].begin);
  }

  // The size of the response as it is now.
  uint64_t bytes() const { return text.size() + rest.size() + 2; }

  // Orders the first hits by their scores, the best first; equal ones, those that are pinned and
  // those without a score stay. Then only the hits that were chosen are left.
  // scores  nullopt: there are none, and the response says so
  void Reorder(const std::optional<std::vector<double>>& scores);

  // Collects the ids of documents that hits refer to. Call it once.
  // keys  by query
  void FindReferences(std::span<const std::vector<ForeignKey>> keys,
                      std::shared_ptr<ForeignIds> ids);
  // Replaces the ids that were found for an index. An id that names no document becomes {}.
  void Attach(const std::string& uid, std::shared_ptr<const ForeignDocuments> documents);

  // The response; uses up the page.
  // extra  members to add, each with a comma before it
  // Invalid: as CheckResponseSize.
  Result<SearchResponse> Write(std::string_view extra = {});
  // The same, or a response that is still this page.
  static Result<SearchResponse> Finish(Page page, bool kept);

 private:
  struct Hit {
    size_t begin, end;  // in `text`
    uint32_t query;
    bool pinned;
  };
  struct Reference {
    uint32_t begin, end;  // in `text`
    uint32_t index, id;   // numbers of `ids_`
  };

  void Arrange(std::span<const size_t> order);
  Status ReplaceReferences();

  uint64_t bytes_max_;
  std::vector<Hit> hits_;
  std::optional<Window> shown_;
  std::vector<std::string_view> lacking_;  // as JSON
  std::vector<Reference> references_;
  std::shared_ptr<ForeignIds> ids_;
  std::vector<std::shared_ptr<const ForeignDocuments>> documents_;  // by number of the index
};

}  // namespace gannet::search
