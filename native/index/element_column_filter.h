// Conditions on one element of an array, tested by the columns of elements (segment/elements.h);
// element_filter.h tests them on the stored documents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "filter/ast.h"
#include "index/snapshot.h"
#include "index/value_test.h"

namespace gannet::index {

class ElementColumnFilter {
 public:
  // node: a kElements, checked; must outlive this object, as must the snapshot.
  // now: the moment that `now` means
  ElementColumnFilter(const filter::Node& node, const Snapshot& snapshot, double now);

  // Those of the documents, which are live in the segment, with an element that passes; of those
  // looked at when the deadline passes. nullopt: the columns of the segment cannot tell.
  std::optional<DocSet> Passing(const SegmentView& segment, const DocSet& documents,
                                Deadline* deadline) const;

 private:
  // A node of the expression, with what depends on it and the index alone.
  struct Test {
    const filter::Node* node = nullptr;
    std::vector<Test> children;
    std::optional<FieldId> field;  // of the condition or the brackets; nullopt: not known
    std::optional<ConditionTest> values;
  };
  // The same with the columns of one segment.
  struct Columns {
    const Test* test = nullptr;
    std::vector<Columns> children;
    const segment::ElementColumn* column = nullptr;  // null: no element has the field
    ValueRanges codes;                               // that pass the condition
    const segment::PackedOffsets* map = nullptr;     // of the brackets; null: there are no elements
  };

  void Prepare(const filter::Node& node, const std::string& parent, const Snapshot& snapshot,
               double now, Test& out);
  // outer: the field whose elements are tested. False: the columns cannot tell.
  static bool Find(const Test& test, const segment::ColumnsReader& columns, FieldId outer,
                   Columns& out);
  static bool FindCondition(const Test& test, const segment::ColumnsReader& columns, FieldId outer,
                            Columns& out);
  // Removes the elements that do not pass; for brackets, those, or the documents, of which no
  // element passes. elements: ascending
  static void Keep(const Columns& columns, std::vector<uint32_t>& elements);
  static void KeepAny(const Columns& columns, std::vector<uint32_t>& elements);
  static void KeepHaving(const Columns& columns, std::vector<uint32_t>& outers);

  Test root_;
  bool by_columns_ = true;  // no part of the expression needs the documents
};

}  // namespace gannet::index
