// The first documents by a formula, without computing it for all (docs/behaviour/formulas.md).
//
// The values of each field are cut into ranges. A range cannot have one of the first documents if
// the formula's bound there, whatever the other fields are, is worse than the value of `wanted`
// documents that are known. Only documents whose fields are all in other ranges are computed.
#pragma once

#include "search/ranking/formula_values.h"

namespace gannet::search {

struct FirstOptions {
  size_t wanted = 0;
  bool ascending = false;
  // With fewer documents in a segment, all of them are computed.
  size_t pruned_min = 4096;
};

// Documents with their values, in any order: at least the first `wanted` of `documents`, and all
// whose value equals that of the last of these. documents: live ones.
std::vector<DocumentValue> FirstByFormula(const index::Snapshot& snapshot,
                                          const filter::Formula& formula,
                                          const FormulaInputs& inputs, const DocSet& documents,
                                          const FirstOptions& options);

}  // namespace gannet::search
