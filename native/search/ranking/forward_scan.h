// Forward scan: computes the costs of documents along the paths of a bucket in one pass over their
// forward records.
//
// The scan stores which steps a document matches, and the cost under each rule for each pair of
// steps that are adjacent on some path. The cost of a path is a sum of these, so later rules need
// not read again, whichever paths are left.
//
// Threads: one owner; idle threads help if there are many documents. Lifetime: must be destroyed
// before the query.
// Cost: 40 to 60 ns per document for a short path; 2 bytes of memory per document, rule and pair of
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
  // rules    rules whose costs are computed; empty: only which documents match
  // known    all documents are known to match the path, which is the only one
  ForwardScan(const RankContext& context, std::vector<const CostRule*> rules,
              std::vector<Path> paths, bool known);

  // The maximum number of documents for one Run, so that the stored results take at most 16 MB.
  size_t DocumentsAtOnce() const {
    return std::max<size_t>((size_t{16} << 20) / (row_cells() * sizeof(uint16_t)), 1024);
  }
  // Reads the documents. Discards those of the last call.
  void Run(const DocSet& documents);
  // Whether the last Run has the costs under the rule of these documents along these paths.
  bool Tells(const CostRule& rule, const std::vector<Path>& paths, const DocSet& documents) const;

  // The documents of the last Run that match a path. path: index into the constructor's list.
  DocSet Matching(size_t path) const;
  // Documents of the last Run by cost along one path. max: documents that cost more are listed
  // there.
  std::vector<std::vector<DocId>> ByCost(const CostRule& rule, uint32_t max,
                                         const DocSet& within) const;
  // The same for several paths: each document takes the cheapest path that it matches, the first of
  // several equally cheap ones. Adds a source for each path that is taken.
  // numbers    numbers of the paths in their bucket, in the order of `paths`
  // REQUIRES: Tells(rule, paths, within)
  void AddSources(const CostRule& rule, const std::vector<Path>& paths,
                  std::span<const uint32_t> numbers, uint32_t max, const DocSet& within,
                  Sources& sources) const;

 private:
  static constexpr uint16_t kNone = 0xffff;
  // Two steps adjacent on a path; previous kNone: the first step of a path.
  struct Link {
    uint16_t previous, step;  // indexes into steps_
    bool operator==(const Link&) const = default;
  };
  using Links = std::vector<uint16_t>;  // a path, as indexes into links_
  struct Row {
    DocId docid;
    uint32_t at;  // index into cells_
  };

  uint16_t StepNumber(const Step& step);
  // nullopt: no path of the scan has these steps.
  std::optional<Links> FindLinks(const Path& path) const;
  size_t match_cells() const { return (steps_.size() + 15) / 16; }
  size_t row_cells() const { return 2 + match_cells() + links_.size() * rules_.size(); }
  // Appends the cells of documents of the segment to `cells`, ascending by docid: two for the
  // docid, then the bits of the steps that match, then the costs by link and rule.
  void RunSegment(size_t segment, const DocSet& documents, std::vector<uint16_t>& cells) const;
  std::vector<ScannedStep> StepsIn(size_t segment, WordMasks& masks) const;
  bool Matches(const Row& row, const Links& links) const;
  // REQUIRES: the row matches the links. stop: may return early once the sum reaches this.
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
  DocSet documents_;  // documents of the last Run
  std::vector<uint16_t> cells_;
  std::vector<Row> rows_;  // ascending by docid
};

}  // namespace gannet::search
