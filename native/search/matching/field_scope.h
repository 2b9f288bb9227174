// The fields that a search may use, and whether expansions respect exact fields.
//
// Owner: the search. Threads: immutable once the search has made it.
#pragma once

#include "base/ids.h"
#include "segment/text.h"

namespace gannet::search {

struct FieldScope {
  bool all = true;             // every searchable field
  segment::FieldSet searched;  // used if `all` is false
  bool any_exact = false;      // some searched field or kind of word allows no typos
  segment::FieldSet tolerant;  // searched fields that allow typos, if any_exact
  bool index_exact = false;    // some field of the index allows no typos
  // Fields of the index that allow typos: a typo expands only to words in these.
  segment::FieldSet index_tolerant;
  bool exact_numbers = false;
  // Fields in whose words a query word also matches inside: those of the index, those searched.
  segment::FieldSet index_parts, parts;

  const segment::FieldSet* fields() const { return all ? nullptr : &searched; }
  const segment::FieldSet* tolerant_fields() const { return any_exact ? &tolerant : fields(); }
  bool Searches(FieldId field) const { return all || searched.Has(field); }
};

}  // namespace gannet::search
