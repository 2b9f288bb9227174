#include "index/element_column_filter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/stop_point.h"
#include "segment/local_docids.h"

namespace gannet::index {

using filter::Node;
using filter::Operator;
using segment::ElementCode;

namespace {

// Elements tested at a time, or those of one document or element if they are more: so that they
// stay in the cache.
constexpr uint64_t kElementsAtOnce = 8192;
constexpr size_t kDocumentsBetweenLooks = 16384;

// Those of the elements that are not among the others; both ascend.
std::vector<uint32_t> RestOf(const std::vector<uint32_t>& elements,
                             const std::vector<uint32_t>& others) {
  std::vector<uint32_t> rest;
  rest.reserve(elements.size());
  std::set_difference(elements.begin(), elements.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

}  // namespace

ElementColumnFilter::ElementColumnFilter(const Node& node, const Snapshot& snapshot, double now) {
  Prepare(node, "", snapshot, now, root_);
}

void ElementColumnFilter::Prepare(const Node& node, const std::string& parent,
                                  const Snapshot& snapshot, double now, Test& out) {
  StopPoint();
  out.node = &node;
  const std::string path = parent + node.field;
  for (const auto& child : node.children) {
    const std::string& inner = node.kind == Node::Kind::kElements ? path + "." : parent;
    Prepare(*child, inner, snapshot, now, out.children.emplace_back());
  }
  switch (node.kind) {
    case Node::Kind::kAnd:
    case Node::Kind::kOr:
    case Node::Kind::kNot: return;
    case Node::Kind::kElements: out.field = snapshot.fields->Find(path); return;
    case Node::Kind::kCondition: {
      out.field = snapshot.fields->Find(path);
      if (node.values.empty()) return;
      const auto rule = snapshot.settings->Filterable(path);
      out.values.emplace(node, rule && rule->first.date && node.op <= Operator::kIn, now);
      return;
    }
    default: by_columns_ = false;
  }
}

std::optional<DocSet> ElementColumnFilter::Passing(const SegmentView& segment,
                                                   const DocSet& documents,
                                                   Deadline* deadline) const {
  Columns root;
  if (!by_columns_ || !root_.field || !Find(root_, *segment.columns, *root_.field, root))
    return std::nullopt;
  const auto docids = segment.rows->docids();
  std::vector<uint32_t> locals, passing;
  const auto settle = [&] {
    if (deadline == nullptr || !deadline->Passed()) {
      KeepHaving(root, locals);
      for (const uint32_t local : locals) passing.push_back(docids[local]);
    }
    locals.clear();
  };
  segment::ForEachLocal(segment.rows->local_docids(), documents, [&](uint32_t local, DocId) {
    locals.push_back(local);
    if (locals.size() == kDocumentsBetweenLooks) settle();
  });
  settle();
  return DocSet::FromSorted(passing);
}

bool ElementColumnFilter::Find(const Test& test, const segment::ColumnsReader& columns,
                               FieldId outer, Columns& out) {
  StopPoint();
  out.test = &test;
  FieldId inner = outer;
  switch (test.node->kind) {
    case Node::Kind::kCondition: return FindCondition(test, columns, outer, out);
    case Node::Kind::kElements: {
      if (!test.field) return true;
      inner = *test.field;
      out.map = columns.Map(inner, outer);
      if (out.map != nullptr) break;
      // Without elements there is no map of those around them.
      const segment::PackedOffsets* const own = columns.Map(inner, inner);
      return own != nullptr ? own->back() == 0 : columns.Find(inner) == nullptr;
    }
    default: break;
  }
  for (const Test& child : test.children) {
    if (!Find(child, columns, inner, out.children.emplace_back())) return false;
  }
  return true;
}

bool ElementColumnFilter::FindCondition(const Test& test, const segment::ColumnsReader& columns,
                                        FieldId outer, Columns& out) {
  if (!test.field) return true;
  out.column = columns.Elements(*test.field, outer);
  if (out.column == nullptr) return true;
  if (columns.Find(*test.field) == nullptr) return false;
  constexpr ValueRange kAny{ElementCode::kPresent, ~uint32_t{0}};
  switch (test.node->op) {
    case Operator::kExists: out.codes = {kAny}; break;
    case Operator::kIsNull: out.codes = {{ElementCode::kNull, ElementCode::kNull + 1}}; break;
    case Operator::kIsEmpty: out.codes = {{ElementCode::kEmpty, ElementCode::kEmpty + 1}}; break;
    default:
      if (test.node->op == Operator::kStartsWith && Literal(test.node->values[0]).string.empty()) {
        out.codes = {kAny};
        break;
      }
      // No element is one of no values.
      if (!test.values) break;
      out.codes = test.values->Ranges(columns, *test.field);
      for (ValueRange& range : out.codes) {
        range.begin += ElementCode::kFirst;
        range.end += ElementCode::kFirst;
      }
  }
  return true;
}

void ElementColumnFilter::Keep(const Columns& columns, std::vector<uint32_t>& elements) {
  StopPoint();
  switch (columns.test->node->kind) {
    case Node::Kind::kAnd:
      for (const Columns& child : columns.children) {
        if (!elements.empty()) Keep(child, elements);
      }
      return;
    case Node::Kind::kOr: return KeepAny(columns, elements);
    case Node::Kind::kNot: {
      std::vector<uint32_t> passing(elements);
      Keep(columns.children[0], passing);
      elements = RestOf(elements, passing);
      return;
    }
    case Node::Kind::kElements: return KeepHaving(columns, elements);
    default: break;
  }
  const bool inverted = columns.test->node->op == Operator::kNotEqual;
  if (columns.column == nullptr) {
    // A field that no document ever had passes no condition.
    if (!inverted || !columns.test->field) elements.clear();
  } else if (columns.codes.size() == 1) {
    const uint32_t begin = columns.codes[0].begin, size = columns.codes[0].end - begin;
    columns.column->Keep(elements, inverted, [=](uint32_t code) { return code - begin < size; });
  } else {
    columns.column->Keep(elements, inverted,
                         [&](uint32_t code) { return InRanges(columns.codes, code); });
  }
}

void ElementColumnFilter::KeepAny(const Columns& columns, std::vector<uint32_t>& elements) {
  std::vector<uint32_t> passing, both;
  for (const Columns& child : columns.children) {
    std::vector<uint32_t> more = RestOf(elements, passing);
    if (more.empty()) break;
    Keep(child, more);
    both.clear();
    std::merge(passing.begin(), passing.end(), more.begin(), more.end(), std::back_inserter(both));
    passing.swap(both);
  }
  elements = std::move(passing);
}

void ElementColumnFilter::KeepHaving(const Columns& columns, std::vector<uint32_t>& outers) {
  if (columns.map == nullptr) return outers.clear();
  const segment::PackedOffsets& map = *columns.map;
  std::vector<uint32_t> elements, ends;
  size_t kept = 0;
  for (size_t from = 0, until = 0; from < outers.size(); from = until) {
    elements.clear();
    ends.clear();
    for (; until < outers.size() && elements.size() < kElementsAtOnce; ++until) {
      const auto [begin, end] = map.RangeOf(outers[until]);
      for (uint64_t element = begin; element < end; ++element)
        elements.push_back(static_cast<uint32_t>(element));
      ends.push_back(static_cast<uint32_t>(end));
    }
    Keep(columns.children[0], elements);
    auto at = elements.begin();
    for (size_t i = from; i < until; ++i) {
      const auto before = at;
      while (at != elements.end() && *at < ends[i - from]) ++at;
      const uint32_t outer = outers[i];
      outers[kept] = outer;
      kept += at != before;
    }
  }
  outers.resize(kept);
}

}  // namespace gannet::index
