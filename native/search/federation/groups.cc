#include "search/federation/groups.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_value.h"
#include "base/parallel_for.h"
#include "search/allowed_documents.h"
#include "search/execute.h"
#include "search/federation/distinct_values.h"
#include "search/federation/facets.h"
#include "search/federation/response.h"
#include "search/response.h"
#include "search/results/projection.h"
#include "segment/rows.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

// The values of a document at a path, each once, as JSON.
class ShownValues {
 public:
  void CollectAt(const json::Value& node, std::string_view path) {
    for (const json::Value& item : node.items()) CollectAt(item, path);
    for (const auto& [name, member] : node.members()) {
      if (name == path) {
        Collect(member);
      } else if (path.size() > name.size() && path.starts_with(name) && path[name.size()] == '.') {
        CollectAt(member, path.substr(name.size() + 1));
      }
    }
  }

  // One value, the list of several, or null.
  void Append(std::string& out) const {
    if (values_.empty()) out += "null";
    if (values_.size() > 1) out += '[';
    for (const json::Value& value : values_) {
      if (&value != &values_[0]) out += ',';
      out += value.text();
    }
    if (values_.size() > 1) out += ']';
  }

 private:
  void Collect(const json::Value& value) {
    for (const json::Value& item : value.items()) Collect(item);
    const auto kind = value.kind();
    const bool counts =
        kind == json::Value::Kind::kString
            ? !text::TrimWhiteSpace(value.string()).empty()
            : kind == json::Value::Kind::kNumber || kind == json::Value::Kind::kBoolean;
    const auto same = [&](const json::Value& known) {
      return known.kind() == kind && known.string() == value.string() &&
             known.number() == value.number() && known.boolean() == value.boolean();
    };
    if (counts && std::none_of(values_.begin(), values_.end(), same)) values_.push_back(value);
  }

  std::vector<json::Value> values_;
};

// Hits of the list of a hybrid search that groups follow.
constexpr uint64_t kListedMax = 1000;

// Documents of groups that are ranked together.
constexpr uint64_t kTogetherMax = 4096;

uint64_t CountOf(const std::vector<DocSet>& members) {
  uint64_t count = 0;
  for (const DocSet& documents : members) count += documents.size();
  return count;
}

// The same search without distinct: of words alone if the best hits are.
SearchRequest WithoutDistinct(const SearchRun& run) {
  SearchRequest request = run.request();
  request.group.reset();
  request.distinct.reset();
  request.first_page.reset();
  if (request.kind() == SearchKind::kHybrid) {
    request.needs_vectors = run.query_vector() != nullptr;
    if (!request.needs_vectors) request.hybrid.reset();
  }
  request.deadline.reset();
  request.deadline = DeadlineOf(run.snapshot(), request);
  return request;
}

}  // namespace

Groups::Groups(const Federation& heads, const GroupBy& group, uint64_t response_bytes_max)
    : heads_(heads), group_(group), response_bytes_max_(response_bytes_max) {
  for (const FederatedQuery& query : heads.queries)
    queries_.push_back({WithoutDistinct(*query.run), 0, {}});
  for (const auto& [uid, index] : heads.indexes) {
    if (index.queries.empty()) continue;
    for (const uint32_t number : index.queries) queries_[number].index = indexes_.size();
    indexes_.push_back({index.snapshot.get(),
                        std::make_unique<Distinct>(*index.snapshot, group.attribute), DocSet()});
  }
}

Status Groups::Append(const std::vector<RankedHit>& best, std::string& out) {
  GANNET_RETURN_IF_ERROR(FindMatching());
  GANNET_RETURN_IF_ERROR(FindList());
  std::vector<Group> groups(best.size());
  Members all(indexes_.size());
  for (size_t i = 0; i < best.size(); ++i) {
    const RankedHit& hit = best[i];
    const index::Snapshot& snapshot = *heads_.queries[hit.query].snapshot;
    Members& members = groups[i].members =
        MembersOf(ValuesOf(snapshot, group_.attribute, hit.hit.docid));
    members[queries_[hit.query].index].Add(hit.hit.docid);
    if (CountOf(members) < 2) continue;
    for (size_t index = 0; index < all.size(); ++index) all[index] |= members[index];
  }
  GANNET_RETURN_IF_ERROR(RankTogether(std::move(all)));
  std::atomic<uint64_t> bytes{0};
  const auto write = [&](size_t i) {
    // Texts that are too large together are not made.
    if (bytes.load() > response_bytes_max_) return;
    groups[i].status = AppendGroup(best[i], groups[i].members, groups[i].text);
    bytes += groups[i].status.ok() ? groups[i].text.size() : UINT32_MAX;
  };
  if (together_ != nullptr || best.size() < 2) {
    for (size_t i = 0; i < best.size(); ++i) write(i);
  } else {
    ParallelFor(best.size(), write);
  }
  for (Group& group : groups) {
    GANNET_RETURN_IF_ERROR(std::move(group.status));
    if (&group != &groups[0]) out += ',';
    out += group.text;
    GANNET_RETURN_IF_ERROR(CheckResponseSize(out, response_bytes_max_));
  }
  return Status::Ok();
}

Status Groups::AppendMembers(const FederatedRequest& request,
                             const std::vector<std::vector<std::string>>& values, Page& page,
                             std::vector<uint64_t>& totals) {
  GANNET_RETURN_IF_ERROR(FindMatching());
  GANNET_RETURN_IF_ERROR(FindList());
  std::vector<Members> groups;
  Members all(indexes_.size());
  for (const auto& of_group : values) {
    groups.push_back(MembersOf(of_group));
    for (size_t index = 0; index < all.size(); ++index) all[index] |= groups.back()[index];
  }
  GANNET_RETURN_IF_ERROR(RankTogether(std::move(all)));
  std::string source;
  for (size_t i = 0; i < groups.size(); ++i) {
    GANNET_ASSIGN_OR_RETURN(const Ranked ranked, Rank(groups[i], nullptr));
    totals.push_back(ranked.total);
    std::map<const SearchRun*, std::unique_ptr<HitWriter>> own;
    auto& writers = ranked.own ? own : writers_;
    for (const auto& [federation, hit] : ranked.hits) {
      const FederatedQuery& query = federation->queries[hit.query];
      std::unique_ptr<HitWriter>& writer = writers[query.run.get()];
      if (!writer) writer = std::make_unique<HitWriter>(*query.run, false);
      source.clear();
      GANNET_RETURN_IF_ERROR(
          AppendSource(query, hit, true, ",\"group\":" + std::to_string(i), source));
      GANNET_RETURN_IF_ERROR(AppendHit(request, hit, source, *writer, page));
    }
  }
  return Status::Ok();
}

// The list whose order groups follow, if ranks in it differ from those in a group.
Status Groups::FindList() {
  if (std::none_of(queries_.begin(), queries_.end(),
                   [](const Query& query) { return query.request.kind() == SearchKind::kHybrid; }))
    return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(list_, Find(nullptr, kListedMax, false));
  return Status::Ok();
}

Status Groups::FindMatching() {
  for (size_t i = 0; i < queries_.size(); ++i) {
    Query& query = queries_[i];
    Deadline deadline = *query.request.deadline;
    GANNET_ASSIGN_OR_RETURN(query.matching,
                            MatchingFilter(*heads_.queries[i].snapshot, query.request, deadline));
    indexes_[query.index].matching |= query.matching;
  }
  return Status::Ok();
}

Result<std::unique_ptr<Groups::Found>> Groups::Find(const Members* within, uint64_t hits,
                                                    bool needs_candidates) const {
  auto found = std::make_unique<Found>();
  Federation& federation = found->federation;
  federation.indexes = heads_.indexes;
  for (auto& [uid, index] : federation.indexes) index.rejected = DocSet();
  for (size_t i = 0; i < queries_.size(); ++i) {
    const FederatedQuery& head = heads_.queries[i];
    FederatedQuery query{head.uid, head.weight,   head.position, queries_[i].request,
                         {},       head.snapshot, Status::Ok(),  nullptr};
    query.request.page = PageMembers::Numbered(1, hits);
    query.request.needs_candidates = needs_candidates;
    if (within != nullptr) {
      DocSet matching = (*within)[queries_[i].index];
      matching &= queries_[i].matching;
      query.request.matching = std::make_shared<const DocSet>(std::move(matching));
    }
    federation.queries.push_back(std::move(query));
  }
  if (plain()) {
    FederatedQuery& query = federation.queries[0];
    GANNET_ASSIGN_OR_RETURN(query.run, RunSearch(query.snapshot, std::move(query.request)));
    found->list = std::make_unique<MergedList>();
    for (const Hit& hit : query.run->hits()) found->list->page.push_back({0, hit, nullptr});
    found->total = query.run->total();
    return found;
  }
  GANNET_RETURN_IF_ERROR(RunQueries(federation));
  FederatedRequest request;
  request.window.limit = hits;
  request.window.requested.numbered = true;
  found->list = MergeLists(request, {}, federation);
  if (needs_candidates) found->total = TotalOf(federation);
  return found;
}

// Ranks the documents of all groups at once, if they are few. A distinct attribute of an index
// counts in each group.
Status Groups::RankTogether(Members documents) {
  const uint64_t count = CountOf(documents);
  if (count == 0 || count > kTogetherMax) return Status::Ok();
  for (size_t i = 0; i < indexes_.size(); ++i) {
    const index::Settings& settings = *indexes_[i].snapshot->settings;
    if (settings.distinct || documents[i].size() > settings.max_total_hits) return Status::Ok();
  }
  GANNET_ASSIGN_OR_RETURN(together_, Find(&documents, count, true));
  for (const auto& [uid, index] : together_->federation.indexes) {
    if (!index.queries.empty()) candidates_.push_back(CandidatesOf(index, together_->federation));
  }
  return Status::Ok();
}

// The documents with one of the values.
Groups::Members Groups::MembersOf(const std::vector<std::string>& values) const {
  Members members(indexes_.size());
  for (size_t i = 0; i < indexes_.size(); ++i) {
    indexes_[i].distinct->WithValuesInto(values, members[i]);
    members[i] &= indexes_[i].matching;
  }
  return members;
}

Result<Groups::Ranked> Groups::Rank(const Members& members, const RankedHit* best) const {
  Ranked ranked;
  Members shown(indexes_.size());
  if (best != nullptr) {
    ranked.hits.emplace_back(&heads_, *best);
    shown[queries_[best->query].index].Add(best->hit.docid);
  }
  ranked.total = ranked.hits.size();
  if (CountOf(members) == ranked.total) return ranked;
  if (together_ != nullptr) {
    Members counted = members;
    for (size_t i = 0; i < counted.size(); ++i) counted[i] &= candidates_[i];
    ranked.total = std::max(ranked.total, CountOf(counted));
  } else {
    GANNET_ASSIGN_OR_RETURN(ranked.own, Find(&members, group_.hits, !plain()));
    ranked.total = std::max(ranked.total, ranked.own->total);
  }
  // Hits after the end of the list follow as they are ranked among the documents of the groups.
  for (const Found* found : {list_.get(), together_.get(), ranked.own.get()}) {
    if (found == nullptr) continue;
    for (const RankedHit& hit : found->list->page) {
      if (ranked.hits.size() >= group_.hits) break;
      const size_t index = queries_[hit.query].index;
      const DocId docid = hit.hit.docid;
      if (shown[index].Contains(docid) || !members[index].Contains(docid)) continue;
      shown[index].Add(docid);
      ranked.hits.emplace_back(&found->federation, hit);
    }
  }
  return ranked;
}

Status Groups::AppendGroup(const RankedHit& best, const Members& members, std::string& out) const {
  out += "{\"value\":";
  GANNET_RETURN_IF_ERROR(AppendShownValue(*heads_.queries[best.query].snapshot, group_.attribute,
                                          best.hit.docid, out));
  GANNET_ASSIGN_OR_RETURN(const Ranked ranked, Rank(members, &best));
  AppendNumber("totalHits", ranked.total, out);
  out += ",\"hits\":[";
  std::map<const SearchRun*, std::unique_ptr<HitWriter>> own;
  auto& writers = together_ != nullptr ? writers_ : own;
  std::string source;
  for (const auto& [federation, hit] : ranked.hits) {
    if (&hit != &ranked.hits[0].second) out += ',';
    const FederatedQuery& query = federation->queries[hit.query];
    std::unique_ptr<HitWriter>& writer = writers[query.run.get()];
    if (!writer) writer = std::make_unique<HitWriter>(*query.run, federation == &heads_);
    source.clear();
    if (!plain()) GANNET_RETURN_IF_ERROR(AppendSource(query, hit, false, {}, source));
    GANNET_RETURN_IF_ERROR(writer->Append({hit.hit}, source, out));
    GANNET_RETURN_IF_ERROR(CheckResponseSize(out, response_bytes_max_));
  }
  out += "]}";
  return Status::Ok();
}

Status AppendShownValue(const index::Snapshot& snapshot, const std::string& attribute, DocId docid,
                        std::string& out) {
  segment::RowCodec codec(snapshot.dictionary);
  std::vector<segment::RowField> fields;
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(snapshot.FindRow(docid)));
  if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
  const auto projection =
      Projection::ForDocuments(std::vector<std::string>{attribute}, *snapshot.fields);
  std::string document = "{";
  bool first = true;
  AppendProjected(fields, *snapshot.fields, projection, first, document);
  document += '}';
  const json::Value object = json::Value::Parse(document);
  ShownValues values;
  values.CollectAt(object, attribute);
  values.Append(out);
  return Status::Ok();
}

}  // namespace gannet::search
