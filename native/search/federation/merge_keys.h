// What another server needs to merge hits with its own (docs/behaviour/network.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/federation/federation.h"
#include "search/federation/ranked_hits.h"

namespace gannet::search {

// Appends the merge key of a text, which is the same on every server.
void AppendMergeKey(std::string& out, std::string_view text);

// Appends the members of a hit that another server needs: its comparison key, its document, and the
// values of its distinct attribute.
// Corruption: a stored document is damaged.
Status AppendMergeKeys(const FederatedQuery& query, const RankedHit& hit, std::string& out);

// Appends the member with the distinct values of hits that are not on the page.
void AppendFurtherDistinctKeys(const Federation& federation, const std::vector<RankedHit>& further,
                               std::string& out);

}  // namespace gannet::search
