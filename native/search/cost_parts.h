// A bucket under a rule that adds up a cost along a path, in parts of equal cost, the cheapest first.
//
// Several such sources stand for one bucket where its documents are told apart by different means (rank_cost.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/paths.h"

namespace gannet::search {

// A path that documents take first.
struct PathTaken {
  uint32_t number;  // in the order of the bucket's paths
  DocId first;      // the least document that takes it
  Path path;        // with the choices of the rule
};

struct CostPart {
  DocSet sure;
  DocSet unread;  // these may cost more
  std::vector<PathTaken> paths;

  bool empty() const { return sure.empty() && unread.empty(); }
  // Takes the documents and the paths of another.
  void Add(CostPart other);
  // In the order in which the next rule visits them.
  std::vector<Path> TakePaths();
};

class CostParts {
 public:
  virtual ~CostParts() = default;
  // What costs `cost`. Call with 0 and with each cost behind it, in order, as far as is wanted.
  virtual CostPart At(uint32_t cost) = 0;
  // Of the unread documents of the last part, that of `cost`, those in `among`: returns which of them cost that. The others come
  // at their own cost.
  virtual DocSet Confirm(uint32_t /*cost*/, const DocSet& /*among*/) { return {}; }
};

// Parts known beforehand.
class KnownParts : public CostParts {
 public:
  explicit KnownParts(std::map<uint32_t, CostPart> parts) : parts_(std::move(parts)) {}
  CostPart At(uint32_t cost) override {
    auto part = parts_.extract(cost);
    return part.empty() ? CostPart() : std::move(part.mapped());
  }

 private:
  std::map<uint32_t, CostPart> parts_;
};

}  // namespace gannet::search
