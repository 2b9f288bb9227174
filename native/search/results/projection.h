// Which parts of a document are returned (docs/behaviour/results.md).
//
// A name is a dotted path. It selects the whole value at that path and the structure around it:
// objects keep only selected members; in arrays every object is reduced in the same way, and
// scalars stay. A scalar is left out if the path continues below it. A key that contains dots is
// selected by exactly its characters: `a.b` selects both {"a":{"b":1}} and {"a.b":1}, `a` only the
// former. A displayed name, in contrast, covers everything below it (docs/behaviour/results.md), so
// that `a` displays both.
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
  kWhole,  // it is selected with everything below
};

// Immutable.
class Projection {
 public:
  // The projection of a search. nullopt, or a list with "*": all displayed fields. A name must be
  // displayed literally: a parent or a child of a displayed name does not count. Names that no
  // document has are ignored.
  static Projection ForSearch(const std::optional<std::vector<std::string>>& retrieve,
                              const std::optional<std::vector<std::string>>& displayed,
                              const index::FieldMap& fields);
  // The projection of the document routes, which ignore displayedAttributes.
  // Names that no document has are ignored.
  static Projection ForDocuments(const std::optional<std::vector<std::string>>& names,
                                 const index::FieldMap& fields);

  bool all() const { return all_; }
  bool empty() const { return !all_ && names_.empty(); }
  // REQUIRES: no part of the document that contains `path` is selected as a whole (otherwise so is
  // `path`).
  Cover Of(std::string_view path) const;

 private:
  bool all_ = false;
  bool covering_ = false;           // a name covers keys with dots that lie below it
  std::vector<std::string> names_;  // sorted, distinct
};

// Appends the members of the selected document without the enclosing braces, in field order.
// `first` is whether no member precedes them, and is updated. `_vectors` is never written.
void AppendProjected(std::span<const segment::RowField> row, const index::FieldMap& fields,
                     const Projection& projection, bool& first, std::string& out);

}  // namespace gannet::search
