#include "search/hits.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/stop_point.h"
#include "search/response.h"
#include "search/ranking/score_details.h"
#include "search/ranking/sort.h"
#include "search/results/match_terms.h"
#include "search/vectors/passages.h"
#include "search/vectors/stored_vectors.h"

namespace gannet::search {
namespace {

MatchTerms TermsToMark(const SearchRun& run) {
  const HighlightOptions& format = run.request().format;
  const bool marks = format.highlight || format.crop || format.matches_position;
  const RankedList& list = run.list();
  if (!marks || list.query.terms.empty()) return MatchTerms();
  return list.natural ? list.natural->TermsToMark() : MatchTermsOf(*list.evaluator);
}

bool ShowsVectors(const SearchRequest& request, const index::Settings& settings) {
  if (!request.retrieve_vectors) return false;
  const auto& displayed = settings.displayed;
  return request.hidden_vectors || !displayed ||
         std::find(displayed->begin(), displayed->end(), "_vectors") != displayed->end();
}

// The criterion of sorting by distance, if its point is shown.
const SortCriterion* ShownDistance(const std::vector<SortCriterion>& sort,
                                   const Projection& projection) {
  const auto geo = std::find_if(sort.begin(), sort.end(), [](const SortCriterion& criterion) {
    return criterion.kind == SortCriterion::Kind::kGeo;
  });
  if (geo == sort.end()) return nullptr;
  const auto whole = [&](std::string_view path) { return projection.Of(path) == Cover::kWhole; };
  return whole("_geo") || (whole("_geo.lat") && whole("_geo.lng")) ? &*geo : nullptr;
}

// The embedder whose passages are shown; null: none. They are text of an attribute, which must be
// displayed.
const index::EmbedderSettings* ShownPassages(const SearchRun& run) {
  const SearchRequest& request = run.request();
  const index::Settings& settings = *run.snapshot().settings;
  if (request.show_passages == 0 || run.scan() == nullptr || !request.hybrid) return nullptr;
  const index::EmbedderSettings* embedder = settings.Embedder(request.hybrid->embedder);
  if (embedder == nullptr || embedder->chunked.empty()) return nullptr;
  const std::string_view path = embedder->chunked;
  const auto displayed =
      Projection::ForSearch(std::nullopt, settings.displayed, *run.snapshot().fields);
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    if (displayed.Of(path.substr(0, end)) == Cover::kWhole) return embedder;
    if (end == std::string_view::npos) return nullptr;
  }
}

}  // namespace

// Writes the object of a hit member by member.
struct HitWriter::Members {
  explicit Members(std::string& text) : out(text) {}

  // Begins a member. Append its value to the result.
  std::string& Begin(std::string_view name) {
    Separate() += '"';
    out += name;
    return out += "\":";
  }
  // Append a whole member to the result.
  std::string& Separate() {
    if (!first) out += ',';
    first = false;
    return out;
  }

  std::string& out;
  bool first = true;
};

HitWriter::HitWriter(const SearchRun& run, bool expects)
    : run_(run),
      shows_vectors_(ShowsVectors(run.request(), *run.snapshot().settings)),
      projection_(Projection::ForSearch(run.request().attributes_to_retrieve,
                                        run.snapshot().settings->displayed,
                                        *run.snapshot().fields)),
      highlighter_(run.snapshot(), TermsToMark(run), run.request().format,
                   run.request().attributes_to_retrieve, std::vector<text::Locale>()),
      codec_(run.snapshot().dictionary) {
  geo_ = ShownDistance(run.list().sort, projection_);
  chunked_ = ShownPassages(run);
  if (!expects) return;
  std::vector<DocId> docids;
  for (const Hit& hit : run.hits()) docids.push_back(hit.docid);
  run.snapshot().ExpectRows(docids);
}

Status HitWriter::Append(const PageHit& page_hit, std::string_view extra, std::string& out) {
  StopPoint();
  const DocId docid = page_hit.hit.docid;
  const index::Snapshot& snapshot = run_.snapshot();
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec_.Expand(snapshot.FindRow(docid)));
  if (!segment::ParseRow(row, fields_)) return Status::Corruption("a stored document is damaged");
  out += '{';
  Members members(out);
  AppendProjected(fields_, *snapshot.fields, projection_, members.first, out);
  AppendDistance(docid, members);
  GANNET_RETURN_IF_ERROR(AppendVectors(docid, members));
  GANNET_RETURN_IF_ERROR(AppendPassages(docid, members));
  if (highlighter_.active()) {
    highlighter_.Append(fields_, members.first, out);
    GANNET_RETURN_IF_ERROR(CheckResponseSize(out, run_.request().response_bytes_max));
  }
  AppendScores(page_hit, members);
  if (!extra.empty()) members.Separate() += extra;
  out += '}';
  return Status::Ok();
}

void HitWriter::AppendDistance(DocId docid, Members& members) const {
  if (geo_ == nullptr) return;
  const SortValue value = SortValueOf(run_.snapshot(), *geo_, docid);
  if (value.kind == SortValue::Kind::kGeo)
    AppendJsonNumber(members.Begin("_geoDistance"), std::round(value.distance));
}

Status HitWriter::AppendVectors(DocId docid, Members& members) const {
  if (!shows_vectors_) return Status::Ok();
  return AppendStoredVectors(run_.snapshot(), docid, fields_, members.Begin("_vectors"));
}

Status HitWriter::AppendPassages(DocId docid, Members& members) const {
  if (chunked_ == nullptr) return Status::Ok();
  std::string& out = members.Begin("_passages");
  search::AppendPassages(run_.snapshot(), *chunked_, *run_.scan(), docid, fields_,
                         run_.request().show_passages, out);
  return CheckResponseSize(out, run_.request().response_bytes_max);
}

void HitWriter::AppendScores(const PageHit& page_hit, Members& members) const {
  const SearchRequest& request = run_.request();
  if (request.show_score) {
    AppendJsonFloat(members.Begin("_rankingScore"),
                    page_hit.pin == nullptr ? ScoreOf(page_hit.hit.detail) : 1.0);
  }
  if (!request.show_details) return;
  std::string& out = members.Begin("_rankingScoreDetails");
  if (page_hit.pin == nullptr) {
    AppendScoreDetails(page_hit.hit, run_.snapshot(), out);
  } else {
    out += "{\"pin\":{\"order\":0,\"position\":";
    AppendJsonNumber(out, uint64_t{page_hit.pin->position});
    out += "}}";
  }
}

}  // namespace gannet::search
