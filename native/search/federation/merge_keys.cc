#include "search/federation/merge_keys.h"

#include <string_view>
#include <utility>

#include "base/json.h"
#include "index/external_id.h"
#include "search/federation/distinct_values.h"
#include "search/fuse_by_rank.h"
#include "search/ranking/score_key.h"
#include "segment/rows.h"

namespace gannet::search {
namespace {

// FNV-1a.
uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

void AppendScoreKey(const ScoreKey& key, std::string& out) {
  out += '[';
  for (size_t i = 0; i < key.parts.size(); ++i) {
    if (i > 0) out += ',';
    key.parts[i].rule->AppendPart(key.parts[i], out);
  }
  out += ']';
}

// The distinct attribute of the query; null: none.
const std::string* DistinctOf(const FederatedQuery& query) {
  const auto& wanted = query.run->request().distinct;
  const auto& distinct = wanted ? wanted : query.snapshot->settings->distinct;
  return distinct ? &*distinct : nullptr;
}

// Appends the hashes of the document's values of the attribute, separated by commas.
void AppendDistinctKeys(const index::Snapshot& snapshot, const std::string& attribute, DocId docid,
                        std::string& out) {
  bool first = true;
  for (const std::string& value : ValuesOf(snapshot, attribute, docid)) {
    if (!std::exchange(first, false)) out += ',';
    AppendMergeKey(out, value);
  }
}

Status AppendDocumentKey(const index::Snapshot& snapshot, DocId docid, std::string& out) {
  segment::RowCodec codec(snapshot.dictionary);
  std::vector<segment::RowField> fields;
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(snapshot.FindRow(docid)));
  if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
  AppendMergeKey(out, index::ExternalIdOf(fields, *snapshot.fields, snapshot.primary_key));
  return Status::Ok();
}

}  // namespace

void AppendMergeKey(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const uint64_t hash = HashText(text);
  out += '"';
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[hash >> shift & 15];
  out += '"';
}

Status AppendMergeKeys(const FederatedQuery& query, const RankedHit& hit, std::string& out) {
  const index::Snapshot& snapshot = *query.snapshot;
  out += ",\"weightedScoreValues\":";
  AppendScoreKey(hit.pin == nullptr ? *hit.key : ScoreKey(), out);
  if (IsFused(hit.hit)) out += ",\"fused\":true";
  out += ",\"documentKey\":";
  GANNET_RETURN_IF_ERROR(AppendDocumentKey(snapshot, hit.hit.docid, out));
  const std::string* distinct = DistinctOf(query);
  if (distinct == nullptr) return Status::Ok();
  out += ",\"distinctKeys\":[";
  AppendDistinctKeys(snapshot, *distinct, hit.hit.docid, out);
  out += ']';
  return Status::Ok();
}

void AppendFurtherDistinctKeys(const Federation& federation, const std::vector<RankedHit>& further,
                               std::string& out) {
  out += ",\"furtherDistinctKeys\":[";
  bool first = true;
  std::string keys;
  for (const RankedHit& hit : further) {
    const FederatedQuery& query = federation.queries[hit.query];
    const std::string* distinct = DistinctOf(query);
    if (distinct == nullptr) continue;
    keys.clear();
    AppendDistinctKeys(*query.snapshot, *distinct, hit.hit.docid, keys);
    if (keys.empty()) continue;
    out += std::exchange(first, false) ? "[" : ",[";
    AppendJsonNumber(out, query.position);
    out += ',';
    out += keys;
    out += ']';
  }
  out += ']';
}

}  // namespace gannet::search
