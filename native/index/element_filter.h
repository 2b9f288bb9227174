// Conditions on one element of an array, such as `items[price < 5 AND colour = red]`, tested on the
// stored documents (docs/behaviour/filters.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/ast.h"
#include "filter/geo.h"
#include "index/operands.h"
#include "index/snapshot.h"

namespace gannet::index {

class ElementFilter {
 public:
  // node: a kElements, checked; must outlive this object, as must the snapshot.
  // now: the moment that `now` means
  ElementFilter(const filter::Node& node, const Snapshot& snapshot, double now);

  // Whether an element of the document passes. row: its fields
  bool Passes(const std::vector<segment::RowField>& row) const;

 private:
  // A node of the expression, with what depends on it alone.
  struct Test {
    const filter::Node* node = nullptr;
    std::vector<Test> children;
    bool known = true;  // a document has had the field
    // The operands of a condition: sorted for equality, in the order of the expression else.
    std::vector<std::string> strings;
    std::vector<std::optional<double>> numbers;
    std::vector<double> equal_numbers;
    bool dates = false;           // the values are moments
    std::vector<double> moments;  // operands, in the same order
    filter::Shape area;           // of a geo function
  };
  void Prepare(const filter::Node& node, const std::string& parent, double now, Test& out) const;
  void PrepareCondition(const std::string& path, double now, Test& test) const;

  // Whether an object among the value and, if it is an array, its elements passes.
  static bool AnyElement(const Test& test, std::string_view value);
  static bool Passes(const Test& test, std::string_view object);
  static bool Condition(const Test& test, std::string_view object);
  static bool Compares(const Test& test, std::string_view leaf);
  static bool Equals(const Test& test, std::optional<double> number, std::string_view string,
                     std::optional<double> moment);
  static bool Geo(const Test& test, std::string_view object);

  const Snapshot& snapshot_;
  Test root_;
};

}  // namespace gannet::index
