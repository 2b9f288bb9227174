#include "search/groups.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/parallel_for.h"
#include "base/stop_point.h"
#include "search/allowed_documents.h"
#include "search/execute.h"
#include "search/hits.h"
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

// Writes the groups of a page.
class Groups {
 public:
  explicit Groups(const SearchRun& run) : run_(run), request_(run.request()) {
    // The further hits are of the same list: without distinct, by words alone if the best hits are.
    request_.group.reset();
    request_.distinct.reset();
    request_.page = 1;
    request_.needs_candidates = false;
    request_.facets.clear();
    if (request_.kind() == SearchKind::kHybrid) {
      request_.needs_vectors = run.query_vector() != nullptr;
      if (!request_.needs_vectors) request_.hybrid.reset();
    }
    request_.deadline = DeadlineOf(run.snapshot(), request_);
  }

  Status Append(std::string& out) {
    const std::vector<Hit>& best = run_.hits();
    Deadline deadline = *request_.deadline;
    GANNET_ASSIGN_OR_RETURN(DocSet matching, MatchingFilter(run_.snapshot(), request_, deadline));
    matching_ = std::move(matching);
    if (request_.kind() == SearchKind::kHybrid) {
      SearchRequest list = request_;
      list.hits_per_page = kListedMax;
      GANNET_ASSIGN_OR_RETURN(list_, RunSearch(run_.list().snapshot, std::move(list)));
    }
    std::vector<Group> groups(best.size());
    DocSet all;
    for (size_t i = 0; i < best.size(); ++i) {
      groups[i].members = MembersOf(best[i].docid);
      if (groups[i].members.size() > 1) all |= groups[i].members;
    }
    GANNET_RETURN_IF_ERROR(RankTogether(std::move(all)));
    std::atomic<uint64_t> bytes{0};
    const auto write = [&](size_t i) {
      // Texts that are too large together are not made.
      if (bytes.load() > request_.response_bytes_max) return;
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
      GANNET_RETURN_IF_ERROR(CheckResponseSize(out, request_.response_bytes_max));
    }
    return Status::Ok();
  }

  // Appends the facets of all documents, or of the best hits.
  Status AppendFacetsPer(bool group, std::string& out) {
    if (run_.request().facets.empty()) return Status::Ok();
    if (group) return AppendFacetsOf(run_, out);
    SearchRequest all = request_;
    all.facets = run_.request().facets;
    all.needs_candidates = true;
    all.hits_per_page = 0;
    GANNET_ASSIGN_OR_RETURN(const auto run, RunSearch(run_.list().snapshot, std::move(all)));
    return AppendFacetsOf(*run, out);
  }

 private:
  struct Group {
    DocSet members;
    std::string text;
    Status status = Status::Ok();
  };

  // Ranks the documents of all groups at once, if they are few. A distinct attribute of the index
  // counts in each group.
  Status RankTogether(DocSet documents) {
    const index::Settings& settings = *run_.snapshot().settings;
    const uint64_t count = documents.size();
    if (count == 0 || count > kTogetherMax || count > settings.max_total_hits || settings.distinct)
      return Status::Ok();
    SearchRequest request = request_;
    request.matching = std::make_shared<const DocSet>(std::move(documents));
    request.hits_per_page = count;
    request.needs_candidates = true;
    GANNET_ASSIGN_OR_RETURN(together_, RunSearch(run_.list().snapshot, std::move(request)));
    return Status::Ok();
  }

  // The documents that share a value with the best one, itself included.
  DocSet MembersOf(DocId best) const {
    DocSet members;
    const Distinct* distinct = run_.list().distinct.get();
    if (distinct != nullptr) distinct->ValuesOfInto(best, members);
    members &= matching_;
    members.Add(best);
    return members;
  }

  Status AppendGroup(const Hit& best, const DocSet& members, std::string& out) const {
    out += "{\"value\":";
    GANNET_RETURN_IF_ERROR(AppendValue(best.docid, out));
    std::unique_ptr<SearchRun> own;
    uint64_t total = 1;
    if (members.size() > 1 && together_ != nullptr) {
      DocSet counted = members;
      counted &= together_->candidates();
      total = counted.size();
    } else if (members.size() > 1) {
      SearchRequest request = request_;
      request.matching = std::make_shared<const DocSet>(members);
      request.hits_per_page = run_.request().group->hits;
      GANNET_ASSIGN_OR_RETURN(own, RunSearch(run_.list().snapshot, std::move(request)));
      total = own->total();
    }
    AppendNumber("totalHits", std::max<uint64_t>(total, 1), out);
    out += ",\"hits\":[";
    GANNET_RETURN_IF_ERROR(Write(run_, {{best}}, out));
    DocSet shown;
    shown.Add(best.docid);
    // Hits after the end of the list follow as they are ranked among the documents of the groups.
    for (const SearchRun* run : {list_.get(), together_.get(), own.get()}) {
      if (run == nullptr || members.size() == 1) continue;
      const std::vector<PageHit> rest = Further(*run, members, shown);
      if (rest.empty()) continue;
      out += ',';
      GANNET_RETURN_IF_ERROR(Write(*run, rest, out));
    }
    out += "]}";
    return Status::Ok();
  }

  // Appends hits of a run. Groups that are ranked together are written by one thread.
  Status Write(const SearchRun& run, const std::vector<PageHit>& hits, std::string& out) const {
    std::unique_ptr<HitWriter> own;
    std::unique_ptr<HitWriter>& writer = together_ != nullptr ? writers_[&run] : own;
    if (writer == nullptr) writer = std::make_unique<HitWriter>(run, &run == &run_);
    for (const PageHit& hit : hits) {
      if (&hit != &hits[0]) out += ',';
      GANNET_RETURN_IF_ERROR(writer->Append(hit, {}, out));
      GANNET_RETURN_IF_ERROR(CheckResponseSize(out, request_.response_bytes_max));
    }
    return Status::Ok();
  }

  // The next hits of a group. shown: those before, the returned ones are added
  std::vector<PageHit> Further(const SearchRun& run, const DocSet& members, DocSet& shown) const {
    std::vector<PageHit> hits;
    for (const Hit& hit : run.hits()) {
      if (shown.size() >= run_.request().group->hits) break;
      if (shown.Contains(hit.docid) || !members.Contains(hit.docid)) continue;
      shown.Add(hit.docid);
      hits.push_back({hit});
    }
    return hits;
  }

  Status AppendValue(DocId best, std::string& out) const {
    const index::Snapshot& snapshot = run_.snapshot();
    const std::string& attribute = run_.request().group->attribute;
    segment::RowCodec codec(snapshot.dictionary);
    std::vector<segment::RowField> fields;
    GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(snapshot.FindRow(best)));
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

  const SearchRun& run_;
  SearchRequest request_;  // of the further hits
  DocSet matching_;        // documents that pass the filter
  // The first hits of the list of a hybrid search. Their scores and ranks depend on all documents
  // of the list, not only on those of a group. Null: another search.
  std::unique_ptr<SearchRun> list_;
  std::unique_ptr<SearchRun> together_;  // null: each group is ranked alone
  mutable std::map<const SearchRun*, std::unique_ptr<HitWriter>> writers_;
};

}  // namespace

Result<SearchResponse> WriteGroupsResponse(const SearchRun& run, const json::Value& request,
                                           const Caller& caller) {
  const SearchRequest& wanted = run.request();
  Groups groups(run);
  std::string texts, facets;
  GANNET_RETURN_IF_ERROR(groups.Append(texts));
  GANNET_RETURN_IF_ERROR(groups.AppendFacetsPer(wanted.group->facets_per_group, facets));
  ResponseHead head;
  SetTimes(caller, CutoffMs(run.snapshot()), head);
  head.total_hits = run.total();
  std::string out = "{";
  if (request["indexUid"].is_string()) {
    out += "\"indexUid\":";
    AppendJsonString(out, request["indexUid"].string());
    out += ',';
  }
  out += "\"hits\":[],\"query\":";
  AppendJsonString(out, wanted.q);
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  out += ",\"groups\":[" + texts + ']';
  AppendNumber("totalGroups", *head.total_hits, out);
  AppendNumber("page", wanted.page.value_or(1), out);
  AppendNumber("limit", wanted.per_page(), out);
  out += facets;
  AppendDegraded(run.lacks_vector(), out);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(out, wanted.response_bytes_max));
  GANNET_RETURN_IF_ERROR(run.snapshot().Health());
  return SearchResponse{std::move(out), std::move(head)};
}

}  // namespace gannet::search
