// A ranking rule: how it splits a bucket, what `_rankingScoreDetails` shows of it, and what hits of
// several searches are compared by (docs/behaviour/ranking.md, scores.md).
//
// Each rule is a class in a file of its own in rules/ that holds all that is known of it, and its
// declaration: name, and how it is made from settings and a search (rules.h lists them). Who drives
// rules, shows them or compares by them names none.
//
// A rule whose documents cost the sum of the steps of a path is a CostRule (cost_rule.h).
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
  float similarity = -1;  // of a rule by vectors; below 0: the document has no embedding
  const Detail* previous = nullptr;

  double share() const { return static_cast<double>(rank) / max; }
};

// A part of what hits of several searches are compared by. Lifetime: borrows the details and the
// rule.
struct ScorePart {
  const RankingRule* rule = nullptr;
  double number = 0;                 // weighted
  const SortValue* value = nullptr;  // null: the number counts
};

class RankingRule {
 public:
  // id    the same for rules that say the same of documents: of these the first one counts
  explicit RankingRule(std::string_view id) : id_(id) {}
  virtual ~RankingRule() = default;
  RankingRule(const RankingRule&) = delete;
  RankingRule& operator=(const RankingRule&) = delete;
  const std::string& id() const { return id_; }

  // Gives the documents of the bucket to `out` as smaller buckets, best first.
  virtual void Split(Bucket bucket, BucketSplit& out) = 0;
  // Whether it can find the documents that match the query itself, by SplitMatching: the same of
  // those of `within` (null: all live ones) that match.
  virtual bool FindsMatches() const { return false; }
  virtual void SplitMatching(const DocSet* /*within*/, BucketSplit& /*out*/) {}
  // Whether it says of a document what does not depend on the other documents of the bucket, and
  // needs no verifying of its own. last: no rule follows
  virtual bool RanksOneByOne(bool /*last*/) const { return false; }
  // Whether what it says of a bucket depends on which buckets it split before: none may then be
  // passed over.
  virtual bool Remembers() const { return false; }
  // Itself, if its costs are sums along paths that the planner may ask for.
  virtual const CostRule* cost() const { return nullptr; }

  // Appends its object, or nothing if another rule shows what it said.
  // next    what the rule behind it said; null: there is none
  virtual void AppendScoreDetails(DetailWriter& out, const Detail& detail,
                                  const Detail* next) const = 0;

  // Hits are compared by their ranks under this rule and its neighbours together, unless the rule
  // has a part of its own: then this is what it says of a hit.
  virtual std::optional<ScorePart> PartOf(const Detail& /*detail*/, double /*weight*/) const {
    return std::nullopt;
  }
  // Whether it ranks by the nearness of vectors: this alone is then the score.
  virtual bool by_vectors() const { return false; }
  // Parts of rules of one class can be compared.
  static constexpr std::string_view kRelevancy = "relevancy";
  virtual std::string_view compared_as() const { return kRelevancy; }
  // What the rule orders by, for people.
  virtual std::string label() const { return std::string(kRelevancy); }
  // Below 0: a comes first; 0: neither. REQUIRES: both are of its class.
  virtual int Compare(const ScorePart& a, const ScorePart& b) const;
  // Appends the part for other servers, which read it with `read_part` of a declaration.
  virtual void AppendPart(const ScorePart& part, std::string& out) const;

 private:
  const std::string id_;
};

// In the order in which they run.
using Rules = std::vector<std::unique_ptr<RankingRule>>;

// What stands for rules that were skipped because time was over, and for those of other servers.
const RankingRule& NoRule();

// Below 0: the greater number a comes first.
int CompareNumbers(double a, double b);

}  // namespace gannet::search
