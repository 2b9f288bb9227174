// What a search may look at: fields, and whether expansions respect exact fields.
//
// Owner: the search. Threads: immutable once the search has made it.
#pragma once

#include "base/ids.h"
#include "segment/text.h"

namespace gannet::search {

struct FieldScope {
  bool all = true;             // every searchable field
  segment::FieldSet searched;  // when not all
  bool any_exact = false;      // some searched field or word kind takes no typos
  segment::FieldSet tolerant;  // searched fields that take typos, when any_exact
  bool index_exact = false;    // some field of the index takes no typos
  segment::FieldSet
      index_tolerant;  // fields of the index that take typos: a typo leads to their words only
  bool exact_numbers = false;

  const segment::FieldSet* fields() const { return all ? nullptr : &searched; }
  const segment::FieldSet* tolerant_fields() const { return any_exact ? &tolerant : fields(); }
  bool Searches(FieldId field) const { return all || searched.Has(field); }
};

}  // namespace gannet::search
