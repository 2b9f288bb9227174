// The response of a server of the network, parsed as far as merging needs; hits stay bytes.
//
// The bytes are untrusted. A response is checked as a whole before any of it is used. Reading takes
// time and memory in proportion to its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "search/page.h"
#include "search/ranking/score_key.h"
#include "search/results/facet_counts.h"

namespace gannet::search {

// Strings are slices of the response, with their quotation marks; numbers are as the server wrote
// them.
struct ServerHit {
  std::string_view text;  // the object
  // Offsets in `text`: the value of `_federation`, and the member with one adjacent comma.
  size_t source_begin = 0, source_end = 0;
  size_t member_begin = 0, member_end = 0;
  std::string_view index_uid;
  std::string_view score;     // weighted
  uint64_t position = 0;      // position of its query
  bool fused = false;         // by rank: its score has the weights of both halves
  ScoreKey key;               // what the hit is compared by
  std::string_view document;  // identifies the document on all servers; empty: not sent
  std::vector<std::string_view> distinct;  // each identifies a value of the distinct attribute
  uint64_t group = 0;                      // the number of its group, among those asked for
  std::string_view group_value;            // JSON of the values that its group has; empty: not sent
  std::string_view group_values;           // a list of what finds the hits of its group

  bool by_vector() const;
};

// A hit after the end of the list that shares values of the distinct attribute.
struct FurtherHit {
  uint64_t position = 0;
  std::vector<std::string_view> distinct;
};

struct ServerFacets {
  std::string uid;  // uid of the index
  std::vector<FacetDistribution> distributions;
  std::optional<uint64_t> candidates;  // number of documents counted
};

// A response to a federated search. Lifetime: borrows the bytes that it was read from, unless it is
// that of this server.
struct ServerResponse {
  ServerResponse() = default;
  ServerResponse(const ServerResponse&) = delete;  // keys point to sort_values
  ServerResponse(ServerResponse&&) = default;
  ServerResponse& operator=(ServerResponse&&) = default;

  // Invalid: it is not a response, or lacks what merging needs.
  static Result<ServerResponse> Read(std::string_view body);

  // The response of this server, whose hits are taken as they are.
  // page  of a federated search that is merged here
  static Result<ServerResponse> Of(Page page);

  std::vector<ServerHit> hits;
  uint64_t processing_ms = 0;
  uint64_t total = 0;
  std::optional<std::vector<FurtherHit>> further;
  bool has_vectors = false;                                          // some query used vectors
  bool lacks_vector = false;                                         // some query had to do without
  std::vector<std::pair<uint64_t, std::string_view>> query_vectors;  // by position of the query
  std::vector<ServerFacets> facets;
  std::vector<uint64_t> group_totals;      // the number of hits of each group asked for
  std::vector<std::string_view> metadata;  // JSON objects, in the order of the queries
  std::deque<SortValue> sort_values;       // values that keys point to
  std::unique_ptr<const Page> own;         // of this server; else null
};

// The values in a response to a facet search. Invalid: as ServerResponse::Read.
Result<std::vector<FacetValue>> ReadFacetHits(std::string_view body);

}  // namespace gannet::search
