// Texts of requests for tests, complete as the server makes them (src/search/plan.ts).
#pragma once

#include <string>

namespace gannet::search {

inline const std::string kPageMembers = R"("offset":0,"limit":20)";
inline const std::string kMarkMembers =
    R"("highlightPreTag":"<em>","highlightPostTag":"</em>","cropLength":10,"cropMarker":"…")";

// An object of the members and others before them. If both have a member, the later one counts.
inline std::string Complete(const std::string& members,
                            const std::string& others = kPageMembers + ',' + kMarkMembers) {
  return '{' + others + (members.empty() ? "" : ",") + members + '}';
}

}  // namespace gannet::search
