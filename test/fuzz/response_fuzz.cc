// Any bytes as the responses of servers of a network, one on each line: those that are understood
// merge into a body that is JSON.
#include <cstdint>
#include <cstdlib>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "search/federation/merge_responses.h"
#include "search/federation/server_facets.h"

namespace {

using namespace gannet;

constexpr const char* kRequests[] = {
    R"("window":{"limit":3,"offset":1},"showsMetadata":true,"faceting":{"a":null,"b":{}}})",
    R"("window":{"page":1,"hitsPerPage":2},"distinctAcrossQueries":true,"mergeFacets":{},
       "faceting":{"a":{"sortFacetValuesBy":{"*":"count"},"maxValuesPerFacet":2}}})",
    R"("shape":"search","window":{},"query":"q","facetsOf":"a","showsMetadata":true,
       "halves":{"words":0.5,"vectors":0.5}})",
    R"("shape":"similar","window":{},"target":{"id":"1","limit":5,"hasEmbeddings":true}})",
};

std::vector<std::string_view> LinesOf(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.push_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

void Require(const Result<search::SearchResponse>& response) {
  if (!response.ok() || !json::IsValid(response->body, 2000) || !IsUtf8(response->body))
    std::abort();
}

void Merge(const std::vector<std::string_view>& lines, const std::string& rest) {
  std::string request = R"({"remoteErrors":{},"servers":[)";
  std::vector<search::ServerResponse> responses;
  for (const std::string_view line : lines) {
    auto response = search::ServerResponse::Read(line);
    if (!response.ok()) continue;
    request += responses.empty() ? R"({"name":"s","isHere":true,"positions":[0,1]})"
                                 : R"(,{"name":null,"positions":[0]})";
    responses.push_back(std::move(*response));
  }
  Require(search::MergeResponses(request + "]," + rest, responses));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto lines = LinesOf({reinterpret_cast<const char*>(data), size});
  for (const char* request : kRequests) Merge(lines, request);
  std::vector<std::vector<search::FacetValue>> values;
  for (const std::string_view line : lines) {
    auto read = search::ReadFacetHits(line);
    if (read.ok()) values.push_back(std::move(*read));
  }
  Require(search::MergeFacetHits(R"({"facetName":"f","remoteErrors":{}})", values));
  return 0;
}
