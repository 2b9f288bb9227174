#include "search/pins.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "search/allowed_documents.h"

namespace gannet::search {

Result<std::vector<PinnedDocument>> FindPins(index::Index& index, const std::vector<Pin>& pins) {
  std::vector<PinnedDocument> pinned;
  if (pins.empty()) return pinned;
  GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
  for (const Pin& pin : pins) {
    if (const auto docid = ids.Find(pin.id)) pinned.push_back({*docid, pin.position, pin.hidden});
  }
  GANNET_RETURN_IF_ERROR(ids.health());
  return pinned;
}

Status KeepPins(const index::Snapshot& snapshot, SearchRequest& request,
                std::vector<PinnedDocument>& pins) {
  if (pins.empty()) return Status::Ok();
  if (!request.filter.empty()) {
    Deadline deadline = DeadlineOf(snapshot, request);
    GANNET_ASSIGN_OR_RETURN(DocSet matching, MatchingFilter(snapshot, request, deadline));
    request.matching = std::make_shared<const DocSet>(std::move(matching));
  }
  DocSet excluded, pinned;
  std::erase_if(pins, [&](const PinnedDocument& pin) {
    const bool there = snapshot.documents.Contains(pin.docid) &&
                       (!request.matching || request.matching->Contains(pin.docid));
    if (!there || excluded.Contains(pin.docid)) return true;
    excluded.Add(pin.docid);
    if (!pin.hidden) pinned.Add(pin.docid);
    return pin.hidden;
  });
  std::stable_sort(pins.begin(), pins.end(), [](const PinnedDocument& a, const PinnedDocument& b) {
    return a.position < b.position;
  });
  request.pinned_at = pins;
  if (!excluded.empty()) request.excluded = std::make_shared<const DocSet>(std::move(excluded));
  if (!pinned.empty()) request.pinned = std::make_shared<const DocSet>(std::move(pinned));
  return Status::Ok();
}

std::vector<PageHit> InsertPins(const std::vector<Hit>& hits,
                                const std::vector<PinnedDocument>& pins, Window window) {
  std::vector<PageHit> page;
  if (pins.empty()) {
    for (const Hit& hit : hits) page.push_back({hit});
    return page;
  }
  size_t pin = 0, hit = 0;
  for (uint64_t position = 0; position < window.end && (pin < pins.size() || hit < hits.size());
       ++position) {
    const bool pinned = pin < pins.size() && (pins[pin].position <= position || hit == hits.size());
    const PageHit page_hit =
        pinned ? PageHit{{pins[pin].docid, nullptr}, &pins[pin]} : PageHit{hits[hit]};
    ++(pinned ? pin : hit);
    if (position >= window.begin) page.push_back(page_hit);
  }
  return page;
}

}  // namespace gannet::search
