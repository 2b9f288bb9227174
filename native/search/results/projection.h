// Which parts of a document are returned (docs/behaviour/results.md).
//
// A name is a dotted path. It selects the value at that path whole, and the skeleton around it:
// objects keep only what is selected, in arrays every element is reduced the same way while scalars
// among them stay. A scalar where the path expects something below it is left out. A key that has
// dots in it is selected by exactly those characters: `a.b` selects both {"a":{"b":1}} and
// {"a.b":1}, `a` only the former. A displayed name covers whatever lies below it instead
// (docs/behaviour/results.md), so that `a` displays both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/fields.h"
#include "segment/rows.h"

namespace gannet::search {

// What a projection says about one path.
enum class Cover : uint8_t {
  kNone,
  kPart,   // something below it is selected
  kWhole,  // it is selected with all that is below
};

// Immutable.
class Projection {
 public:
  // Of a search. nullopt, or a list with "*": all that is displayed. A name must be displayed
  // literally: neither a parent nor a child of a displayed name is. Names that no document has are
  // ignored.
  static Projection ForSearch(const std::optional<std::vector<std::string>>& retrieve,
                              const std::optional<std::vector<std::string>>& displayed,
                              const index::FieldMap& fields);
  // Of the document routes, which do not look at displayedAttributes.
  // Names that no document has are ignored.
  static Projection ForDocuments(const std::optional<std::vector<std::string>>& names,
                                 const index::FieldMap& fields);

  bool all() const { return all_; }
  bool empty() const { return !all_ && names_.empty(); }
  // REQUIRES: no part of the document that contains `path` is selected whole (else so is `path`).
  Cover Of(std::string_view path) const;

 private:
  bool all_ = false;
  bool covering_ = false;           // a name covers keys with dots that lie below it
  std::vector<std::string> names_;  // sorted, distinct
};

// Appends the members of the selected document without the enclosing braces, in field order.
// `first` tells whether no member precedes them, and is updated. `_vectors` is never written.
void AppendProjected(std::span<const segment::RowField> row, const index::FieldMap& fields,
                     const Projection& projection, bool& first, std::string& out);

}  // namespace gannet::search
