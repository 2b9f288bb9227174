#include "search/federation/merge_responses.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "base/uuid.h"
#include "search/page.h"
#include "search/response.h"
#include "search/federation/merge_keys.h"
#include "search/federation/ranked_hits.h"
#include "search/federation/request.h"
#include "search/federation/server_facets.h"

namespace gannet::search {
namespace {

// Digits of a document's key that name it among the hits of a page.
constexpr size_t kDraftedKeySize = 8;

// A hit of the merged list.
struct ServerRankedHit {
  const ServerHit* hit;
  size_t server;
};

int CompareRanked(const ServerRankedHit& a, const ServerRankedHit& b) {
  const int order = CompareScores(a.hit->key, b.hit->key, UnlikeParts::kLengthDecides);
  if (order != 0) return order;
  return a.hit->position < b.hit->position ? -1 : a.hit->position > b.hit->position;
}

// Hits of one server, in its order.
class ServerHits {
 public:
  ServerHits(std::span<const ServerHit> hits, size_t server) : hits_(hits), server_(server) {}

  std::optional<ServerRankedHit> Next() {
    if (at_ == hits_.size()) return std::nullopt;
    return ServerRankedHit{&hits_[at_++], server_};
  }

 private:
  std::span<const ServerHit> hits_;
  size_t server_;
  size_t at_ = 0;
};

// The hits of two lists in one, drafted by teams: in each round a coin decides which list takes its
// best hit first, then the other takes one. F. Radlinski, M. Kurup, T. Joachims: How Does
// Clickthrough Data Reflect Retrieval Quality?, CIKM 2008.
class TeamDraft {
 public:
  // seed  the same seed gives the same draft
  TeamDraft(const std::vector<ServerResponse>& responses, uint64_t seed)
      : teams_{ServerHits(responses[0].hits, 0), ServerHits(responses[1].hits, 1)}, seed_(seed) {}

  // The best hit of the team that picks now; of the other one, once that has no more.
  std::optional<ServerRankedHit> Next() {
    const size_t team = (picks_ + Coin(picks_ / 2)) % 2;
    if (const auto hit = teams_[team].Next()) return hit;
    return teams_[1 - team].Next();
  }

  // The hit was taken. Until then the same team picks.
  void Take() { ++picks_; }

 private:
  // SplitMix64, of which one bit is used.
  size_t Coin(uint64_t round) const {
    uint64_t bits = seed_ + (round + 1) * 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bits >> 63;
  }

  std::array<ServerHits, 2> teams_;
  const uint64_t seed_;
  uint64_t picks_ = 0;
};

// The hits of one group.
std::span<const ServerHit> HitsOfGroup(const std::vector<ServerHit>& hits, uint64_t group) {
  const auto of = [&](uint64_t number) {
    return std::partition_point(hits.begin(), hits.end(),
                                [&](const ServerHit& hit) { return hit.group < number; });
  };
  return {of(group), of(group + 1)};
}

// The hits merged so far; decides which of the following hits may be added. While documents move
// between servers, some are on two.
class KeptHits {
 public:
  // across_queries  a value of the distinct attribute counts once in the whole list, not once per
  //                 query
  // across_indexes  a document of any index counts once
  explicit KeptHits(bool across_queries, bool across_indexes = false)
      : across_queries_(across_queries), across_indexes_(across_indexes) {}

  // Returns false if the document, or one that shares a value of the distinct attribute, is already
  // in the list.
  bool Add(const ServerHit& hit) {
    const std::string_view index = across_indexes_ ? std::string_view() : hit.index_uid;
    if (!hit.document.empty() && documents_.contains({index, hit.document})) {
      ++refused_;
      return false;
    }
    if (!AddValues(hit.position, hit.distinct)) return false;
    if (!hit.document.empty()) documents_.emplace(index, hit.document);
    return true;
  }

  // The same if the document is not known.
  bool AddValues(uint64_t position, const std::vector<std::string_view>& distinct) {
    const uint64_t query = across_queries_ ? 0 : position;
    const bool taken = std::any_of(distinct.begin(), distinct.end(), [&](std::string_view value) {
      return values_.contains({query, value});
    });
    if (taken) {
      ++refused_;
      return false;
    }
    for (const std::string_view value : distinct) values_.emplace(query, value);
    return true;
  }

  uint64_t refused() const { return refused_; }

 private:
  // A set, not a hash table: a server cannot choose keys that make lookups slow.
  std::set<std::pair<std::string_view, std::string_view>> documents_;
  std::set<std::pair<uint64_t, std::string_view>> values_;
  const bool across_queries_, across_indexes_;
  uint64_t refused_ = 0;
};

// Appends a number as it was written, with a fraction even if it is an integer.
void AppendFloatText(std::string_view number, std::string& out) {
  out += number;
  if (number.find_first_of(".eE") == number.npos) out += ".0";
}

void AppendVector(std::string_view vector, std::string& out) {
  char open = '[';
  json::ForEachElement(vector, [&](std::string_view number) {
    out += std::exchange(open, ',');
    AppendFloatText(number, out);
  });
  out += open == '[' ? "[]" : "]";
}

// Merges the responses for one request.
class ResponseMerge {
 public:
  ResponseMerge(const json::Value& request, std::vector<ServerResponse>& responses)
      : request_(request),
        servers_(request["servers"].items()),
        responses_(responses),
        response_(request["responseBytesMax"].integer(UINT64_MAX)) {}

  Result<SearchResponse> Run() {
    GANNET_RETURN_IF_ERROR(MergeHits());
    const std::string& shape = request_["shape"].string();
    GANNET_RETURN_IF_ERROR(shape == "similar"  ? AppendSimilar()
                           : shape == "search" ? AppendSearch()
                                               : AppendFederated());
    if (!Drafts()) AppendRequestMember("remoteErrors", request_["remoteErrors"], out_);
    response_.head.processing_time_ms = Slowest();
    return Page::Finish(std::move(response_), request_["keepsPage"].boolean());
  }

  // The first step of groups, and of every other response.
  Status MergeHits() {
    GANNET_ASSIGN_OR_RETURN(const PageMembers requested, PageMembers::FromJson(request_["window"]));
    window_ = MergedWindow::Of(requested);
    WeighHalves();
    total_max_ = request_["totalMax"].integer(UINT64_MAX);
    const uint64_t end = std::min(window_.end(), total_max_);
    if (Drafts()) return DraftHits(end);
    // Totals of pages are exact if all values of the distinct attribute were sent.
    const bool all = std::any_of(responses_.begin(), responses_.end(),
                                 [](const ServerResponse& one) { return one.further.has_value(); });
    Merged<ServerHits> merged;
    for (size_t i = 0; i < responses_.size(); ++i) merged.Add(ServerHits(responses_[i].hits, i));
    KeptHits kept(request_["distinctAcrossQueries"].boolean());
    // Pages of a hybrid search count the duplicates on the first one.
    const uint64_t counted =
        request_["countsFirstPage"].boolean() && !all ? window_.limit : UINT64_MAX;
    uint64_t refused = 0;
    for (uint64_t position = 0; all || position < end;) {
      const auto hit = merged.Next();
      if (!hit) break;
      if (!kept.Add(*hit->hit)) continue;
      if (position >= window_.offset && position < end) page_.push_back(*hit);
      if (position < counted) refused = kept.refused();
      ++position;
    }
    uint64_t total = 0;
    for (const ServerResponse& response : responses_) {
      total += response.total;
      if (!response.further) continue;
      for (const FurtherHit& hit : *response.further) kept.AddValues(hit.position, hit.distinct);
    }
    if (counted == UINT64_MAX) refused = kept.refused();
    total_ = total - std::min(total, refused);
    return Status::Ok();
  }

  std::string GroupValues() const {
    std::string out = "[";
    for (const ServerRankedHit& best : page_) {
      if (&best != &page_[0]) out += ',';
      out += best.hit->group_values.empty() ? "[]" : best.hit->group_values;
    }
    return out + ']';
  }

  // The response with groups, of which `found` has the hits.
  Result<SearchResponse> WriteGroups(ResponseMerge& found) {
    GANNET_ASSIGN_OR_RETURN(const GroupBy group, GroupBy::FromJson(request_["grouping"]));
    found.WeighHalves();
    BeginResponse();
    if (request_["query"].is_string()) AppendRequestMember("query", request_["query"], out_);
    response_.head.processing_time_ms = Slowest() + found.Slowest();
    AppendNumber("processingTimeMs", response_.head.processing_time_ms, out_);
    out_ += ",\"groups\":[";
    for (size_t i = 0; i < page_.size(); ++i) {
      if (i > 0) out_ += ',';
      GANNET_RETURN_IF_ERROR(AppendGroup(page_[i], i, group.hits, found));
    }
    out_ += ']';
    response_.head.total_hits = std::min(total_, total_max_);
    AppendNumber("totalGroups", *response_.head.total_hits, out_);
    AppendNumber("page", window_.requested.page, out_);
    AppendNumber("limit", window_.requested.per_page, out_);
    (group.facets_per_group ? *this : found).AppendFacets(out_);
    AppendRequestMember("remoteErrors", found.request_["remoteErrors"], out_);
    AppendDegraded(LacksVector(), out_);
    return response_.Write();
  }

 private:
  // Takes from two lists alternately, and notes what each gives. How many documents both have is
  // not known: there are at least as many as the longer list has, and as were drafted.
  Status DraftHits(uint64_t end) {
    if (responses_.size() != 2) return Status::Internal("a draft has two lists");
    TeamDraft draft(responses_, request_["draft"]["seed"].integer());
    KeptHits kept(true, true);
    std::vector<std::string>& teams = response_.head.teams;
    teams.resize(2);
    uint64_t position = 0;
    while (position < end) {
      const auto hit = draft.Next();
      if (!hit) break;
      if (!kept.Add(*hit->hit)) continue;
      draft.Take();
      if (position++ < window_.offset) continue;
      page_.push_back(*hit);
      // Without its quotation marks.
      teams[hit->server] += hit->hit->document.substr(1, kDraftedKeySize);
    }
    total_ = std::max({responses_[0].total, responses_[1].total, position});
    return Status::Ok();
  }

  // The facets of a search of one index, or those by index.
  void AppendFacets(std::string& out) const {
    if (!request_["facetsOf"].is_string()) return AppendMergedFacets(request_, responses_, out);
    const std::string& uid = request_["facetsOf"].string();
    out += ',';
    AppendFacetDistributions(MergeFacets(responses_, uid, request_["faceting"][uid]), out);
  }

  bool LacksVector() const {
    return std::any_of(responses_.begin(), responses_.end(),
                       [](const ServerResponse& one) { return one.lacks_vector; });
  }

  // best   its first hit, in the list of this object; the other hits are in `found`
  // count  of its hits that are shown, at most
  Status AppendGroup(const ServerRankedHit& best, size_t number, uint64_t count,
                     const ResponseMerge& found) {
    Merged<ServerHits> merged;
    uint64_t total = 0;
    for (size_t i = 0; i < found.responses_.size(); ++i) {
      const ServerResponse& response = found.responses_[i];
      merged.Add(ServerHits(HitsOfGroup(response.hits, number), i));
      if (number < response.group_totals.size()) total += response.group_totals[number];
    }
    const bool shows_origin = ShowsOrigin();
    std::string hits;
    AppendText(best, shows_origin, hits);
    KeptHits kept(false);
    for (uint64_t shown = 1;;) {
      const auto hit = merged.Next();
      if (!hit) break;
      if (!best.hit->document.empty() && hit->hit->index_uid == best.hit->index_uid &&
          hit->hit->document == best.hit->document) {
        kept.AddValues(hit->hit->position, hit->hit->distinct);
        continue;
      }
      if (!kept.Add(*hit->hit) || shown == count) continue;
      hits += ',';
      found.AppendText(*hit, shows_origin, hits);
      GANNET_RETURN_IF_ERROR(
          CheckResponseSize(hits, request_["responseBytesMax"].integer(UINT64_MAX)));
      ++shown;
    }
    const std::string_view value = best.hit->group_value;
    out_ += "{\"value\":";
    out_ += value.empty() ? "null" : value;
    AppendNumber("totalHits", std::max<uint64_t>(total - std::min(total, kept.refused()), 1), out_);
    out_ += ",\"hits\":[";
    out_ += hits;
    out_ += "]}";
    return CheckResponseSize(out_, request_["responseBytesMax"].integer(UINT64_MAX));
  }

  // Whether the lists are those of two indexes of this server.
  bool Drafts() const { return request_["draft"].is_object(); }

  bool ShowsOrigin() const { return request_["showsOrigin"].boolean(true); }

  // Weighs the two halves of a hybrid search as the search of one server does.
  void WeighHalves() {
    const json::Value& halves = request_["halves"];
    if (!halves.is_object()) return;
    const double words = halves["words"].number(), vectors = halves["vectors"].number();
    for (ServerResponse& response : responses_) {
      for (ServerHit& hit : response.hits) {
        if (hit.fused) continue;
        for (ScorePart& part : hit.key.parts)
          part.number *= part.rule->by_vectors() ? vectors : words;
      }
    }
  }

  Status AppendFederated() {
    GANNET_RETURN_IF_ERROR(AppendHits(true));
    AppendNumber("processingTimeMs", Slowest(), out_);
    AppendTotal(window_.requested, UINT64_MAX);
    AppendSemanticHitCount();
    AppendQueryVectors();
    AppendMergedFacets(request_, responses_, out_);
    AppendRequestUid();
    if (request_["showsMetadata"].boolean()) {
      out_ += ",\"metadata\":[";
      AppendMetadata(SIZE_MAX);
      out_ += ']';
    }
    return Status::Ok();
  }

  Status AppendSearch() {
    GANNET_RETURN_IF_ERROR(AppendHits(request_["showsOrigin"].boolean()));
    AppendRequestMember("query", request_["query"], out_);
    AppendQueryVector();
    AppendNumber("processingTimeMs", Slowest(), out_);
    AppendTotal(window_.requested, total_max_);
    AppendSemanticHitCount();
    if (request_["facetsOf"].is_string()) AppendFacets(out_);
    AppendRequestUid();
    if (request_["showsMetadata"].boolean() && !responses_.empty()) {
      out_ += ",\"metadata\":";
      AppendMetadata(1);
    }
    return Status::Ok();
  }

  // Removes the document itself, which is found too.
  Status AppendSimilar() {
    const json::Value& target = request_["target"];
    std::string document;
    AppendMergeKey(document, target["id"].string());
    const auto is_target = [&](const ServerRankedHit& one) {
      return one.hit->document == document;
    };
    if (std::any_of(page_.begin(), page_.end(), is_target)) total_ -= std::min<uint64_t>(total_, 1);
    // A document without embeddings is similar to none.
    std::erase_if(page_, [&](const ServerRankedHit& one) {
      return is_target(one) || one.hit->key.global <= 0;
    });
    GANNET_ASSIGN_OR_RETURN(const PageMembers requested, PageMembers::FromJson(target));
    const bool embedded = target["hasEmbeddings"].boolean();
    const uint64_t begin = std::min<uint64_t>(requested.offset, page_.size());
    const uint64_t count = embedded ? std::min<uint64_t>(requested.limit, page_.size() - begin) : 0;
    page_ = {page_.begin() + static_cast<ptrdiff_t>(begin),
             page_.begin() + static_cast<ptrdiff_t>(begin + count)};
    GANNET_RETURN_IF_ERROR(AppendHits(false));
    AppendRequestMember("id", target["id"], out_);
    AppendNumber("processingTimeMs", Slowest(), out_);
    AppendTotal(requested, target["totalMax"].integer(UINT64_MAX));
    return Status::Ok();
  }

  void AppendTotal(const PageMembers& requested, uint64_t total_max) {
    response_.head.total_hits = std::min(total_, total_max);
    AppendPage(requested, *response_.head.total_hits, out_);
  }

  // Writes the start of the response, up to the hits.
  void BeginResponse() {
    std::string& out = response_.text;
    out = "{";
    if (request_["indexUid"].is_string()) {
      out += "\"indexUid\":";
      out += request_["indexUid"].text();
      out += ',';
    }
    out += "\"hits\":[";
  }

  Status AppendHits(bool shows_origin) {
    BeginResponse();
    std::string& out = response_.text;
    for (const ServerRankedHit& ranked : page_) {
      const ServerHit& hit = *ranked.hit;
      response_.BeginHit();
      AppendText(ranked, shows_origin, out);
      GANNET_RETURN_IF_ERROR(response_.EndHit(static_cast<uint32_t>(hit.position)));
    }
    return Status::Ok();
  }

  // Appends a hit of these responses.
  void AppendText(const ServerRankedHit& ranked, bool shows_origin, std::string& out) const {
    const ServerHit& hit = *ranked.hit;
    if (shows_origin) {
      out += hit.text.substr(0, hit.source_begin);
      AppendOrigin(ranked, out);
      out += hit.text.substr(hit.source_end);
    } else {
      out += hit.text.substr(0, hit.member_begin);
      out += hit.text.substr(hit.member_end);
    }
  }

  void AppendOrigin(const ServerRankedHit& ranked, std::string& out) const {
    out += "{\"indexUid\":";
    out += ranked.hit->index_uid;
    AppendNumber("queriesPosition", ranked.hit->position, out);
    out += ",\"weightedRankingScore\":";
    AppendFloatText(ranked.hit->score, out);
    if (!Drafts()) AppendRequestMember("remote", servers_[ranked.server]["name"], out);
    out += '}';
  }

  uint64_t Slowest() const {
    uint64_t slowest = request_["processingTimeMs"].integer();
    for (const ServerResponse& response : responses_)
      slowest = std::max(slowest, response.processing_ms);
    return slowest;
  }

  // The number of hits by vectors only if this server used vectors for a query.
  void AppendSemanticHitCount() {
    for (size_t i = 0; i < responses_.size(); ++i) {
      if (!servers_[i]["isHere"].boolean() || !responses_[i].has_vectors) continue;
      const auto count = std::count_if(page_.begin(), page_.end(), [](const ServerRankedHit& one) {
        return one.hit->by_vector();
      });
      AppendNumber("semanticHitCount", static_cast<uint64_t>(count), out_);
      break;
    }
    AppendDegraded(LacksVector(), out_);
  }

  void AppendQueryVectors() {
    std::map<uint64_t, std::string_view> vectors;
    for (const ServerResponse& response : responses_) {
      for (const auto& [position, vector] : response.query_vectors)
        vectors.insert_or_assign(position, vector);
    }
    if (vectors.empty()) return;
    out_ += ",\"queryVectors\":";
    char open = '{';
    for (const auto& [position, vector] : vectors) {
      out_ += std::exchange(open, ',');
      out_ += '"' + std::to_string(position) + "\":";
      AppendVector(vector, out_);
    }
    out_ += '}';
  }

  // The vector of the only query.
  void AppendQueryVector() {
    for (const ServerResponse& response : responses_) {
      for (const auto& [position, vector] : response.query_vectors) {
        if (position != 0) continue;
        out_ += ",\"queryVector\":";
        return AppendVector(vector, out_);
      }
    }
  }

  void AppendRequestUid() {
    out_ += ",\"requestUid\":";
    AppendJsonString(out_, MakeUuid7());
  }

  // Appends metadata in the order of the queries: for each query, one object per server that
  // responded.
  void AppendMetadata(size_t entries_max) {
    struct Entry {
      uint64_t position;
      size_t server, query;
    };
    std::vector<Entry> entries;
    for (size_t i = 0; i < responses_.size(); ++i) {
      const auto& positions = servers_[i]["positions"].items();
      for (size_t query = 0; query < positions.size(); ++query)
        entries.push_back({positions[query].integer(), i, query});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.position < b.position; });
    if (entries.size() > entries_max) entries.resize(entries_max);
    for (const Entry& entry : entries) {
      if (&entry != &entries[0]) out_ += ',';
      const auto& known = responses_[entry.server].metadata;
      AppendEntry(entry.position, entry.query < known.size() ? known[entry.query] : "{}",
                  servers_[entry.server]["name"]);
    }
  }

  void AppendEntry(uint64_t position, std::string_view entry, const json::Value& server) {
    char open = '{';
    json::ForEachMember(entry, [&](std::string_view name, std::string_view value) {
      if (name == "queryUid") NoteQueryUid(position, value);
      if (name == "remote" && !server.is_null()) return;
      out_ += std::exchange(open, ',');
      AppendJsonString(out_, name);
      out_ += ':';
      out_ += value;
    });
    if (!server.is_null()) {
      out_ += std::exchange(open, ',');
      out_ += "\"remote\":";
      out_ += server.text();
    }
    out_ += open == '{' ? "{}" : "}";
  }

  // If several servers sent a uid, the first one counts.
  void NoteQueryUid(uint64_t position, std::string_view uid) {
    if (json::KindOf(uid) != json::Kind::kString) return;
    auto& known = response_.head.query_uids;
    if (known.size() <= position) known.resize(position + 1);
    std::string scratch;
    if (known[position].empty()) known[position] = json::StringValue(uid, scratch);
  }

  const json::Value& request_;
  const std::vector<json::Value>& servers_;
  std::vector<ServerResponse>& responses_;
  MergedWindow window_;
  std::vector<ServerRankedHit> page_;
  uint64_t total_ = 0, total_max_ = UINT64_MAX;
  Page response_;
  std::string& out_ = response_.rest;
};

}  // namespace

Result<SearchResponse> MergeResponses(std::string_view request,
                                      std::vector<ServerResponse>& responses) {
  const json::Value object = json::Value::Parse(request);
  if (object["servers"].items().size() != responses.size())
    return Status::Internal("a response is missing");
  return ResponseMerge(object, responses).Run();
}

struct MergedGroups::State {
  State(std::string text, std::vector<ServerResponse> best)
      : request_text(std::move(text)),
        request(json::Value::Parse(request_text)),
        responses(std::move(best)),
        merge(request, responses) {}

  const std::string request_text;
  const json::Value request;
  std::vector<ServerResponse> responses;
  ResponseMerge merge;
};

MergedGroups::MergedGroups(std::unique_ptr<State> state) : state_(std::move(state)) {}
MergedGroups::~MergedGroups() = default;

Result<std::unique_ptr<MergedGroups>> MergedGroups::Of(std::string request,
                                                       std::vector<ServerResponse> best) {
  auto state = std::make_unique<State>(std::move(request), std::move(best));
  if (state->request["servers"].items().size() != state->responses.size())
    return Status::Internal("a response is missing");
  GANNET_RETURN_IF_ERROR(state->merge.MergeHits());
  return std::unique_ptr<MergedGroups>(new MergedGroups(std::move(state)));
}

std::string MergedGroups::values() const { return state_->merge.GroupValues(); }

Result<SearchResponse> MergedGroups::Write(std::string_view request,
                                           std::vector<ServerResponse>& found) {
  const json::Value object = json::Value::Parse(request);
  if (object["servers"].items().size() != found.size())
    return Status::Internal("a response is missing");
  ResponseMerge merge(object, found);
  return state_->merge.WriteGroups(merge);
}

}  // namespace gannet::search
