// Forward scan: the costs of documents along the paths of a bucket, in one pass over their forward
// records.
//
// What is kept of a document is which steps it matches, and what each rule says of each two steps
// that follow each other on some path. The cost of a path is a sum of these, so the rules behind
// the one that asked need not read again, whichever paths are still in play.
//
// Threads: one owner; idle threads help with many documents. Lifetime: dies before the query.
// Cost: 40 to 60 ns per document of a short path; 2 bytes of memory for each document, rule and two
// steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/cost_rule.h"

namespace gannet::search {

class ForwardScan {
 public:
  // Looks up the expansions of the steps.
  // rules    whose costs are told; none: only which documents match
  // known    the documents are known to match the path: there is one
  ForwardScan(const RankContext& context, std::vector<const CostRule*> rules,
              std::vector<Path> paths, bool known);

  // How many documents to read with one Run at most, so that what is kept of them stays within 16
  // MB.
  size_t DocumentsAtOnce() const {
    return std::max<size_t>((size_t{16} << 20) / (row_cells() * sizeof(uint16_t)), 1024);
  }
  // Reads the documents, in place of those of the last call.
  void Run(const DocSet& documents);
  // Whether the last Run tells what the rule says of these documents along these paths.
  bool Tells(const CostRule& rule, const std::vector<Path>& paths, const DocSet& documents) const;

  // The documents of the last Run that match a path, a number in the constructor's list.
  DocSet Matching(size_t path) const;
  // Documents of the last Run by cost.
  // Costs of one path. max: what costs more is listed there.
  std::vector<std::vector<DocId>> ByCost(const CostRule& rule, uint32_t max,
                                         const DocSet& within) const;
  // Of several: each document takes the cheapest path that it matches, the first among equals. A
  // source per path that is taken.
  // numbers    of the paths in their bucket, in the order of `paths`
  // REQUIRES: Tells(rule, paths, within)
  void AddSources(const CostRule& rule, const std::vector<Path>& paths,
                  std::span<const uint32_t> numbers, uint32_t max, const DocSet& within,
                  Sources& sources) const;

 private:
  static constexpr uint16_t kNone = 0xffff;
  // Two steps that follow each other; previous kNone: the first step of a path.
  struct Link {
    uint16_t previous, step;  // of steps_
    bool operator==(const Link&) const = default;
  };
  using Links = std::vector<uint16_t>;  // of links_; a path
  struct Row {
    DocId docid;
    uint32_t at;  // of cells_
  };

  uint16_t StepNumber(const Step& step);
  // nullopt: no path of the scan has these steps
  std::optional<Links> FindLinks(const Path& path) const;
  size_t match_cells() const { return (steps_.size() + 15) / 16; }
  size_t row_cells() const { return 2 + match_cells() + links_.size() * rules_.size(); }
  // Cells of documents of the segment, ascending by docid, behind what `cells` holds: two of the
  // docid, bits of the steps that match, costs by link and rule.
  void RunSegment(size_t segment, const DocSet& documents, std::vector<uint16_t>& cells) const;
  std::vector<ScannedStep> StepsIn(size_t segment, WordMasks& masks) const;
  bool Matches(const Row& row, const Links& links) const;
  // REQUIRES: the row matches the links. stop: a sum that is no longer of interest
  uint32_t CostOf(const Row& row, const Links& links, size_t rule, uint32_t stop) const;
  size_t NumberOf(const CostRule& rule) const;
  // Calls sink(const Row&) for the rows of documents in `within`, ascending by docid.
  template <typename Sink>
  void ForEachRow(const DocSet& within, Sink&& sink) const;

  const RankContext& context_;
  std::vector<const CostRule*> rules_;
  bool known_;
  std::vector<Step> steps_;
  std::vector<Link> links_;
  std::vector<Links> paths_;
  DocSet documents_;  // of the last Run
  std::vector<uint16_t> cells_;
  std::vector<Row> rows_;  // ascending by docid
};

}  // namespace gannet::search
