// From a filter expression to the documents that pass it (docs/behaviour/filters.md).
//
// Conditions become ranges of column values, and those become documents: by joining the postings of
// the values, or, where only few documents are asked about, by looking at the values of each.
//
// Errors: Invalid with detail "invalid_search_filter" (or "feature_not_enabled"); the message ends
// with `start:end whole expression`.
#pragma once

#include <string_view>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "filter/ast.h"
#include "filter/parser.h"
#include "index/snapshot.h"

namespace gannet::index {

struct FilterContext {
  const Snapshot& snapshot;
  filter::FilterFeatures features;
  Deadline* deadline = nullptr;  // null: none
};

// Documents that pass: live ones only. Whether the fields are filterable is checked for the whole
// expression first; whether a field's rule allows the operator, where a condition is evaluated: not
// behind an AND that is empty already, nor on a field that no document ever had. within: only
// documents of this set are wanted; null: all.
// Once the deadline has passed nothing more is looked at: what passes is only what is known to pass
// by then.
Result<DocSet> EvaluateFilter(const FilterContext& context, const filter::Node& node,
                              const DocSet* within = nullptr);

// The same for the JSON text of a filter (filter/parser.h).
Result<DocSet> EvaluateFilterJson(const Snapshot& snapshot, std::string_view filter_json,
                                  const filter::FilterFeatures& features,
                                  Deadline* deadline = nullptr);

// Whether all fields and geo functions of the expression may be used at all.
Status CheckFilterable(const Snapshot& snapshot, const filter::Node& node);

}  // namespace gannet::index
