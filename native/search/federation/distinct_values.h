// One document per value of a field over several indexes (docs/behaviour/results.md).
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "index/snapshot.h"

namespace gannet::search {

// The values of a field in a live document: strings prefixed with "s", numbers with "n".
std::vector<std::string> ValuesOf(const index::Snapshot& snapshot, std::string_view field,
                                  DocId docid);

// The values of all documents kept so far, over all indexes.
class DistinctValues {
 public:
  explicit DistinctValues(std::string field) : field_(std::move(field)) {}

  // Returns false if the document shares a value with a kept one. Otherwise adds its values and
  // returns true.
  bool Keep(const index::Snapshot& snapshot, DocId docid);

 private:
  std::string field_;
  std::unordered_set<std::string> taken_;
};

}  // namespace gannet::search
