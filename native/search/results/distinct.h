// One document per value of a field (docs/behaviour/ranking.md, distinct): finds the documents that
// a kept one excludes.
//
// All values of a document count: each string in facet-normalized form, each number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"

namespace gannet::search {

// Lifetime: borrows the snapshot.
class Distinct {
 public:
  Distinct(const index::Snapshot& snapshot, std::string_view field);

  // Whether some document has a value.
  bool active() const { return active_; }

  // Adds every other live document that shares a value with `kept`.
  void ValuesOfInto(DocId kept, DocSet& excluded) const;
  // Adds every live document with one of the values, in the form of federation/distinct_values.h.
  void WithValuesInto(const std::vector<std::string>& values, DocSet& documents) const;

 private:
  struct Column {
    const index::SegmentView* segment;
    const segment::ColumnReader* reader;  // null: no document of the segment has a value

    // Add the live documents with a value.
    void Add(segment::ValueOrdinal value, DocSet& documents) const;
    void AddNumber(double number, DocSet& documents) const;
    void AddString(std::string_view string, DocSet& documents) const;
  };

  const index::Snapshot& snapshot_;
  std::vector<Column> columns_;
  bool active_ = false;
};

// Whether the attribute that a parameter names may be compared by its values. Invalid: it is not
// filterable; the code is that of the parameter.
Status CheckFilterable(const index::Settings& settings, const std::string& attribute,
                       const std::string& parameter);

// Distinct by the attribute that a request names, else by that of the settings. Null: there is
// neither, or no document has a value. Invalid: invalid_search_distinct.
Result<std::unique_ptr<Distinct>> DistinctOf(const index::Snapshot& snapshot,
                                             const std::optional<std::string>& attribute);

}  // namespace gannet::search
