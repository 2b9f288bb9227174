#include "search/ranking/score_details.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace gannet::search {

namespace {

// R and M of docs/behaviour/scores.md.
std::pair<double, double> RankOf(const Detail* detail) {
  double rank = 1, max = 1;
  for (const Detail* part : ChainOf(detail)) {
    if (part->max == 0) continue;
    rank = (rank - 1) * part->max + part->rank;
    max *= part->max;
  }
  return {rank, max};
}

// The rule of a chain that scores; null: it has none.
const Detail* ScoredBy(const Detail* detail) {
  while (detail != nullptr && !detail->rule->scores()) detail = detail->previous;
  return detail;
}

double SimilarityOf(const Detail& detail) {
  return std::max(0.0, static_cast<double>(detail.similarity));
}

}  // namespace

bool HasVector(const Detail* detail) {
  const Detail* scored = ScoredBy(detail);
  return scored != nullptr && scored->rule->by_vectors();
}

double ScoreOf(const Detail* detail) {
  if (const Detail* scored = ScoredBy(detail)) return SimilarityOf(*scored);
  const auto [rank, max] = RankOf(detail);
  return rank / max;
}

// Later rules divide the range from rank - 1 to rank, and may say rank 0.
double ScoreMin(const Detail* detail) {
  if (const Detail* scored = ScoredBy(detail)) return SimilarityOf(*scored);
  const auto [rank, max] = RankOf(detail);
  return (rank - 1) / max;
}

std::vector<const Detail*> ChainOf(const Detail* detail) {
  std::vector<const Detail*> chain;
  for (; detail != nullptr; detail = detail->previous) chain.push_back(detail);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

double MergedShare(const Detail& first, const Detail& second) {
  return ((first.rank - 1.0) * second.max + second.rank) /
         (static_cast<double>(first.max) * second.max);
}

void DetailWriter::Begin(std::string_view key) {
  if (order_ > 0) out_ += "},";
  AppendJsonString(out_, key);
  out_ += ":{\"order\":";
  AppendJsonNumber(out_, order_++);
}

std::string& DetailWriter::Members() {
  out_ += ',';
  return out_;
}

void DetailWriter::Json(std::string_view name, std::string_view json) {
  out_ += ",\"";
  out_ += name;
  out_ += "\":";
  out_ += json;
}

void DetailWriter::Number(std::string_view name, double value) {
  Json(name, "");
  AppendJsonNumber(out_, value);
}

void DetailWriter::Score(std::string_view name, double value) {
  Json(name, "");
  AppendJsonFloat(out_, value);
}

void AppendScoreDetails(const Hit& hit, const index::Snapshot& snapshot, std::string& out) {
  const auto chain = ChainOf(hit.detail);
  DetailWriter writer(*snapshot.settings, hit.docid, out);
  for (size_t i = 0; i < chain.size(); ++i) {
    chain[i]->rule->AppendScoreDetails(writer, *chain[i],
                                       i + 1 < chain.size() ? chain[i + 1] : nullptr);
  }
  writer.End();
}

}  // namespace gannet::search
