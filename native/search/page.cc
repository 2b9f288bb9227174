#include "search/page.h"

#include <algorithm>

#include "base/json.h"
#include "base/stop_point.h"

namespace gannet::search {

void Page::BeginHit() {
  if (!hits_.empty()) text += ',';
  hits_.push_back({text.size(), text.size(), 0, false});
}

Status Page::EndHit(uint32_t query, bool pinned) {
  hits_.back() = {hits_.back().begin, text.size(), query, pinned};
  return CheckResponseSize(text, bytes_max_);
}

void Page::Choose(Window shown, bool lacks_vector) {
  shown_ = shown;
  if (lacks_vector) lacking_.push_back("\"embedding\"");
}

void Page::Reorder(const std::optional<std::vector<double>>& scores) {
  if (!scores) lacking_.push_back("\"rerank\"");
  std::vector<size_t> order(hits_.size()), moved;
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    if (scores && i < scores->size() && !hits_[i].pinned) moved.push_back(i);
  }
  std::vector<size_t> best = moved;
  std::stable_sort(best.begin(), best.end(),
                   [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
  for (size_t i = 0; i < moved.size(); ++i) order[moved[i]] = best[i];
  if (!shown_) return Arrange(order);
  const size_t begin = std::min<uint64_t>(shown_->begin, order.size());
  const size_t end = std::min<uint64_t>(shown_->end, order.size());
  Arrange(std::span(order).subspan(begin, end - begin));
}

void Page::Arrange(std::span<const size_t> order) {
  if (hits_.empty()) return;
  std::string arranged = text.substr(0, hits_[0].begin);
  std::vector<Hit> hits;
  for (const size_t from : order) {
    Hit hit = hits_[from];
    if (!hits.empty()) arranged += ',';
    const size_t begin = arranged.size();
    arranged.append(text, hit.begin, hit.end - hit.begin);
    hit.begin = begin;
    hit.end = arranged.size();
    hits.push_back(hit);
  }
  text = std::move(arranged);
  hits_ = std::move(hits);
}

void Page::FindReferences(std::span<const std::vector<ForeignKey>> keys,
                          std::shared_ptr<ForeignIds> ids) {
  ids_ = std::move(ids);
  for (const Hit& hit : hits_) {
    if (hit.query >= keys.size()) continue;
    const std::string_view object = hit_text(static_cast<size_t>(&hit - &hits_[0]));
    for (const ForeignKey& key : keys[hit.query]) {
      StopPoint();
      const uint32_t index = ids_->Index(key.uid);
      ForEachForeignId(object, key.path, [&](std::string_view value, std::string id) {
        const auto number = ids_->Add(index, std::move(id));
        if (!number) return;
        const auto begin = static_cast<uint32_t>(value.data() - text.data());
        references_.push_back({begin, begin + static_cast<uint32_t>(value.size()), index, *number});
      });
    }
  }
}

void Page::Attach(const std::string& uid, std::shared_ptr<const ForeignDocuments> documents) {
  const uint32_t index = ids_->Index(uid);
  if (documents_.size() <= index) documents_.resize(index + 1);
  documents_[index] = std::move(documents);
}

Status Page::ReplaceReferences() {
  std::erase_if(references_, [&](const Reference& one) {
    return one.index >= documents_.size() || documents_[one.index] == nullptr;
  });
  if (references_.empty()) return Status::Ok();
  std::sort(references_.begin(), references_.end(), [](const Reference& a, const Reference& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.index < b.index;
  });
  std::string replaced;
  size_t at = 0;
  for (size_t i = 0; i < references_.size(); ++i) {
    StopPoint();
    const Reference& one = references_[i];
    // If two keys name one id, the last one counts.
    if (i + 1 < references_.size() && references_[i + 1].begin == one.begin) continue;
    replaced.append(text, at, one.begin - at);
    replaced += documents_[one.index]->Find(ids_->Id(one.index, one.id));
    at = one.end;
    GANNET_RETURN_IF_ERROR(CheckResponseSize(replaced, bytes_max_));
  }
  replaced.append(text, at);
  text = std::move(replaced);
  return Status::Ok();
}

Result<SearchResponse> Page::Write(std::string_view extra) {
  GANNET_RETURN_IF_ERROR(ReplaceReferences());
  text += ']';
  text += rest;
  for (const std::string_view& part : lacking_) {
    text += &part == &lacking_[0] ? ",\"degraded\":[" : ",";
    text += part;
  }
  if (!lacking_.empty()) text += ']';
  text += extra;
  text += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(text, bytes_max_));
  return SearchResponse{std::move(text), std::move(head)};
}

Result<SearchResponse> Page::Finish(Page page, bool kept) {
  if (!kept) return page.Write();
  SearchResponse response{{}, std::move(page.head)};
  response.page = std::make_shared<Page>(std::move(page));
  return response;
}

}  // namespace gannet::search
