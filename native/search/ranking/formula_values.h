// The values of a formula (filter/formula.h) for many documents (docs/behaviour/formulas.md).
//
// An attribute counts with the first of its values in ascending order if that is a number, else 0.
// A result that is not a finite number, of any operation, is no value: NaN, which passes through
// all operations but `if`, whose other operand does not count.
#pragma once

#include <span>
#include <vector>

#include "bitmap/docset.h"
#include "filter/formula.h"
#include "index/snapshot.h"

namespace gannet::search {

struct DocumentValue {
  DocId docid;
  double value;  // NaN: none
};

struct DocumentScore {
  DocId docid;
  double score;
};

struct FormulaInputs {
  std::span<const DocSet> conditions;  // documents for which each condition holds
  double now = 0;                      // seconds since 1970
  // By docid. A document without an entry has score 0.
  std::span<const DocumentScore> scores{};
  bool by_vectors = false;  // the scores are semantic
};

// Numbers from this one on are milliseconds since 1970, smaller ones are seconds.
inline constexpr double kMillisecondsMin = 1e11;

// Appends one per document. documents: live ones of the segment.
void AppendFormulaValues(const index::Snapshot& snapshot, const index::SegmentView& segment,
                         const filter::Formula& formula, const FormulaInputs& inputs,
                         const DocSet& documents, std::vector<DocumentValue>& out);

// The result of one operation on the operands `a` and `b`.
double Apply(filter::FormulaStep::Op op, double a, double b);
// The value of a decay at a distance from its origin.
double DecayAt(const filter::Decay& decay, double distance);

}  // namespace gannet::search
