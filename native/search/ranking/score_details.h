// What the rules said of a hit, as a score and as the object `_rankingScoreDetails`
// (docs/behaviour/scores.md).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/snapshot.h"
#include "search/ranking/ranking_rule.h"

namespace gannet::search {

// The combined share of two rules that are shown as one.
double MergedShare(const Detail& first, const Detail& second);

// Writes the object `_rankingScoreDetails`, with one object per rule in order.
class DetailWriter {
 public:
  DetailWriter(const index::Settings& settings, DocId docid, std::string& out)
      : settings_(settings), docid_(docid), out_(out) {
    out_ += '{';
  }
  // Begins the object of a rule, with its order among all.
  void Begin(std::string_view key);
  // Add members to the current object. json: a value.
  void Number(std::string_view name, double value);
  void Score(std::string_view name, double value);  // in single precision
  void Json(std::string_view name, std::string_view json);
  // For further members, written as `"name":value` without a leading comma.
  std::string& Members();
  void End() { out_ += order_ > 0 ? "}}" : "}"; }
  uint64_t order() const { return order_; }
  const index::Settings& settings() const { return settings_; }
  DocId docid() const { return docid_; }  // of the hit

 private:
  const index::Settings& settings_;
  const DocId docid_;
  std::string& out_;
  uint64_t order_ = 0;
};

// R/M of docs/behaviour/scores.md; after a rule that scores (rules/by_score.h) its score, 0
// if there is none.
double ScoreOf(const Detail* detail);
// A lower bound for the score of the documents of the bucket, whatever later rules say. null: of
// all documents.
double ScoreMin(const Detail* detail);
// Whether the score is that of a rule by vectors.
bool HasVector(const Detail* detail);
// The chain as a list, first rule first.
std::vector<const Detail*> ChainOf(const Detail* detail);
// Appends the object `_rankingScoreDetails`.
void AppendScoreDetails(const Hit& hit, const index::Snapshot& snapshot, std::string& out);

}  // namespace gannet::search
