// What a server of the network has answered, read as far as merging needs; hits stay bytes.
//
// The bytes come from outside. A response is checked as a whole before anything of it is used, and
// reading it takes time and memory in proportion to its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "search/ranking/score_key.h"
#include "search/results/facet_counts.h"

namespace gannet::search {

// Strings are slices of the response, in quotation marks; numbers are as the server wrote them.
struct ServerHit {
  std::string_view text;  // the object
  // In the text: the value of `_federation`, and the member with one comma next to it.
  size_t source_begin = 0, source_end = 0;
  size_t member_begin = 0, member_end = 0;
  std::string_view index_uid;
  std::string_view score;     // weighted
  uint64_t position = 0;      // of its query
  ScoreKey key;               // what it is compared by
  std::string_view document;  // the same for one document on all servers; empty: not told
  std::vector<std::string_view> distinct;  // the same for one value of the distinct attribute

  bool by_vector() const;
};

// A hit behind the end of the list, as far as it shares values of the distinct attribute.
struct FurtherHit {
  uint64_t position = 0;
  std::vector<std::string_view> distinct;
};

struct ServerFacets {
  std::string uid;  // of the index
  std::vector<FacetDistribution> distributions;
  std::optional<uint64_t> candidates;  // how many documents were counted
};

// A response to a federated search. Lifetime: borrows the bytes that it was read from.
struct ServerResponse {
  ServerResponse() = default;
  ServerResponse(const ServerResponse&) = delete;  // keys point to sort_values
  ServerResponse(ServerResponse&&) = default;
  ServerResponse& operator=(ServerResponse&&) = default;

  // Invalid: it is none, or it lacks what merging needs.
  static Result<ServerResponse> Read(std::string_view body);

  std::vector<ServerHit> hits;
  uint64_t processing_ms = 0;
  uint64_t total = 0;
  std::optional<std::vector<FurtherHit>> further;
  bool has_vectors = false;  // some query was answered with their help
  std::vector<std::pair<uint64_t, std::string_view>> query_vectors;  // by position of the query
  std::vector<ServerFacets> facets;
  std::vector<std::string_view> metadata;  // objects, in the order of the queries
  std::deque<SortValue> sort_values;       // of the keys
};

// The values in a response to a facet search. Invalid: as ServerResponse::Read.
Result<std::vector<FacetValue>> ReadFacetHits(std::string_view body);

}  // namespace gannet::search
