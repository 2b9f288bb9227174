// Evaluates a filter expression to the documents that pass it (docs/behaviour/filters.md).
//
// Conditions become ranges of column values, and those become documents: by joining the postings of
// the values or, if few documents are in question, by looking at the values of each.
//
// Errors: Invalid with detail "invalid_search_filter" (or "feature_not_enabled"); the message ends
// with `start:end whole expression`.
#pragma once

#include <string_view>

#include "base/deadline.h"
#include "base/moment.h"
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
  double now = UnixSeconds();    // `now` of the expression
};

// Documents that pass; live ones only. The whole expression is checked first for fields that are
// not filterable and for operands that are not dates. Whether a field's rule allows an operator is
// checked when the condition is evaluated: not after an AND that is empty already, nor on a field
// that no document ever had. within: only documents of this set are wanted; null: all. Once the
// deadline has passed, evaluation stops; the result then has only documents known to pass by that
// time.
Result<DocSet> EvaluateFilter(const FilterContext& context, const filter::Node& node,
                              const DocSet* within = nullptr);

// The same for the JSON text of a filter (filter/parser.h).
Result<DocSet> EvaluateFilterJson(const Snapshot& snapshot, std::string_view filter_json,
                                  const filter::FilterFeatures& features,
                                  Deadline* deadline = nullptr);

// Checks that all fields and geo functions of the expression may be used in filters, and that dates
// are compared with dates.
Status CheckFilterable(const Snapshot& snapshot, const filter::Node& node);

}  // namespace gannet::index
