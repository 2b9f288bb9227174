// A ranking rule: how it splits a bucket, what `_rankingScoreDetails` shows of it, and how it
// compares hits of several searches (docs/behaviour/ranking.md, scores.md).
//
// Each rule is a class in its own file in rules/, which holds everything about the rule and its
// declaration: its name, and how it is made from settings and a search (rules.h lists the rules).
// Code that runs rules, shows them or compares by them names no rule.
//
// A rule whose cost is the sum over the steps of a path is a CostRule (cost_rule.h).
//
// Threads: one owner. An object serves one search; its hits borrow it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/bucket.h"
#include "search/ranking/sort.h"

namespace gannet::search {

class BucketSplit;
class CostRule;
class DetailWriter;
class RankingRule;

// What one rule said of a bucket; a chain back to the first rule.
struct Detail {
  const RankingRule* rule = nullptr;
  uint32_t rank = 0, max = 0;  // max 0: not part of the score
  SortValue value = {};
  float similarity = -1;  // of a rule that scores; negative: the document has no score
  const Detail* previous = nullptr;

  double share() const { return static_cast<double>(rank) / max; }
};

struct Hit {
  DocId docid;
  const Detail* detail;  // null when no rule ran
};

// A part of the key by which hits of several searches are compared. Lifetime: borrows the details
// and the rule.
struct ScorePart {
  const RankingRule* rule = nullptr;
  double number = 0;                 // weighted
  const SortValue* value = nullptr;  // null: the number counts
};

class RankingRule {
 public:
  // id    the same for rules that say the same of documents; only the first such rule runs
  explicit RankingRule(std::string_view id) : id_(id) {}
  virtual ~RankingRule() = default;
  RankingRule(const RankingRule&) = delete;
  RankingRule& operator=(const RankingRule&) = delete;
  const std::string& id() const { return id_; }

  // Passes the documents of the bucket to `out` as smaller buckets, best first.
  virtual void Split(Bucket bucket, BucketSplit& out) = 0;
  // Whether the rule can find the documents that match the query by itself, with SplitMatching: it
  // does what Split does for the documents of `within` (null: all live ones) that match.
  virtual bool FindsMatches() const { return false; }
  virtual void SplitMatching(const DocSet* /*within*/, BucketSplit& /*out*/) {}
  // Whether what the rule says of a document does not depend on the other documents of the bucket,
  // and needs no verification of its own. last: no rule follows.
  virtual bool RanksOneByOne(bool /*last*/) const { return false; }
  // Whether what the rule says of a bucket depends on which buckets it split before. No bucket may
  // then be skipped.
  virtual bool Remembers() const { return false; }
  // Whether a split reads every document of the bucket, and so takes long even without words.
  virtual bool ReadsEveryDocument() const { return false; }
  // `this` if the rule is a cost rule, else null.
  virtual const CostRule* cost() const { return nullptr; }

  // Appends the object of the rule, or nothing if another rule shows what this one said.
  // next    what the next rule said; null: there is none
  virtual void AppendScoreDetails(DetailWriter& out, const Detail& detail,
                                  const Detail* next) const = 0;

  // The part by which hits are compared under this rule. nullopt: they are compared by the combined
  // rank of this rule and its neighbors.
  virtual std::optional<ScorePart> PartOf(const Detail& /*detail*/, double /*weight*/) const {
    return std::nullopt;
  }
  // Whether its similarity alone is the score (rules/by_score.h).
  virtual bool scores() const { return false; }
  // Whether the rule ranks by vectors.
  virtual bool by_vectors() const { return false; }
  // Two parts can be compared if their rules are of one class.
  static constexpr std::string_view kRelevancy = "relevancy";
  virtual std::string_view compared_as() const { return kRelevancy; }
  // What the rule orders by, for messages.
  virtual std::string label() const { return std::string(kRelevancy); }
  // Negative: a comes first; 0: equal. REQUIRES: both parts are of the class of this rule.
  virtual int Compare(const ScorePart& a, const ScorePart& b) const;
  // Appends the part as JSON for other servers, which read it with RuleDeclaration::read_part.
  virtual void AppendPart(const ScorePart& part, std::string& out) const;

 private:
  const std::string id_;
};

// In the order in which they run.
using Rules = std::vector<std::unique_ptr<RankingRule>>;

// The rule that stands for rules skipped after the deadline, and for those of other servers.
const RankingRule& NoRule();

// Negative: a is greater and comes first; 0: equal.
int CompareNumbers(double a, double b);

}  // namespace gannet::search
