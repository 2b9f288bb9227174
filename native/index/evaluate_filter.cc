#include "index/evaluate_filter.h"

#include <algorithm>
#include <atomic>

#include "base/parallel_for.h"
#include "base/stop_point.h"
#include "bitmap/postings_codec.h"
#include "segment/local_docids.h"
#include "index/element_column_filter.h"
#include "index/element_filter.h"
#include "index/geo_points.h"
#include "index/operands.h"
#include "index/value_test.h"

namespace gannet::index {
namespace {

using filter::Node;
using filter::Operator;
using segment::ColumnReader;
using segment::ValueOrdinal;

uint64_t ValuesIn(const ValueRanges& ranges) {
  uint64_t values = 0;
  for (const ValueRange& range : ranges) values += range.end - range.begin;
  return values;
}

// Documents of the segment, dead ones included, with a value in one of the ranges.
DocSet DocumentsOf(const ColumnReader& column, const ValueRanges& ranges) {
  const uint64_t values = ValuesIn(ranges);
  if (values == 0) return {};
  if (values == column.value_count()) return DecodePostings(column.valued_bytes());
  if (column.single_valued() && values > column.value_count() / 2) {
    // The rest is smaller: take all documents with a value and remove those of the other values.
    ValueRanges others;
    ValueOrdinal begin = 0;
    for (const ValueRange& range : ranges) {
      if (begin < range.begin) others.push_back({begin, range.begin});
      begin = range.end;
    }
    if (begin < column.value_count()) others.push_back({begin, column.value_count()});
    DocSet documents = DecodePostings(column.valued_bytes());
    documents -= column.UnionOf(others);
    return documents;
  }
  return column.UnionOf(ranges);
}

// Those of `documents`, which are live in the segment, with a value in one of the ranges; looks at
// them one by one.
DocSet Select(const SegmentView& segment, const ColumnReader& column, const ValueRanges& ranges,
              const DocSet& documents) {
  std::vector<uint32_t> passing;
  segment::ForEachLocal(segment.rows->local_docids(), documents, [&](uint32_t local, DocId docid) {
    bool passes = false;
    column.ForEachValue(local, [&](ValueOrdinal value) { passes |= InRanges(ranges, value); });
    if (passes) passing.push_back(docid);
  });
  return DocSet::FromSorted(passing);
}

class Evaluator {
 public:
  explicit Evaluator(const FilterContext& context)
      : context_(context), snapshot_(context.snapshot) {}

  // Returns a subset of `within`.
  Result<DocSet> Evaluate(const Node& node, const DocSet& within) {
    StopPoint();
    switch (node.kind) {
      case Node::Kind::kTrue: return DocSet(within);
      case Node::Kind::kAnd: {
        DocSet passing;
        const DocSet* left = &within;
        for (const auto& child : node.children) {
          GANNET_ASSIGN_OR_RETURN(passing, Evaluate(*child, *left));
          if (passing.empty()) break;
          left = &passing;
        }
        return passing;
      }
      case Node::Kind::kOr: {
        DocSet passing;
        for (const auto& child : node.children) {
          GANNET_ASSIGN_OR_RETURN(const DocSet more, Evaluate(*child, within));
          passing |= more;
        }
        return passing;
      }
      case Node::Kind::kNot: {
        GANNET_ASSIGN_OR_RETURN(const DocSet passing, Evaluate(*node.children[0], within));
        // Documents not examined might pass the child.
        if (OutOfTime()) return DocSet();
        return within - passing;
      }
      default: return OutOfTime() ? DocSet() : Leaf(node, within);
    }
    return Status::Internal("a filter node of unknown kind");
  }

 private:
  bool OutOfTime() const { return context_.deadline != nullptr && context_.deadline->Passed(); }

  Result<DocSet> Leaf(const Node& node, const DocSet& within) {
    switch (node.kind) {
      case Node::Kind::kCondition: return Condition(node, within);
      case Node::Kind::kGeoRadius:
      case Node::Kind::kGeoBoundingBox:
      case Node::Kind::kGeoPolygon: return Geo(node, within);
      case Node::Kind::kVectorExists: return Vectors(node, within);
      case Node::Kind::kElements: return Elements(node, within);
      default: return Status::Internal("a filter node of unknown kind");
    }
  }

  Result<DocSet> Condition(const Node& node, const DocSet& within) {
    const auto field = snapshot_.fields->Find(node.field);
    if (!field) return DocSet();
    GANNET_RETURN_IF_ERROR(CheckOperator(node));
    return Values(node, *field, within);
  }

  // The documents with a value that passes the condition. field: of this name
  Result<DocSet> Values(const Node& node, FieldId id, const DocSet& within) {
    const std::optional<FieldId> field = id;
    const bool any_start =
        node.op == Operator::kStartsWith && Literal(node.values[0]).string.empty();
    if (node.op == Operator::kExists || any_start) {
      return Flagged(*field, &ColumnReader::exists_bytes, within);
    }
    if (node.op == Operator::kIsNull) return Flagged(*field, &ColumnReader::null_bytes, within);
    if (node.op == Operator::kIsEmpty) return Flagged(*field, &ColumnReader::empty_bytes, within);
    DocSet passing =
        WithValues(*field, within, ConditionTest(node, ComparesDates(node), context_.now));
    return node.op == Operator::kNotEqual ? within - passing : std::move(passing);
  }

  Result<DocSet> Elements(const Node& node, const DocSet& within) {
    const auto field = snapshot_.fields->Find(node.field);
    if (!field) return DocSet();
    const DocSet having = Flagged(*field, &ColumnReader::exists_bytes, within);
    GANNET_ASSIGN_OR_RETURN(const DocSet candidates,
                            Candidates(*node.children[0], node.field + ".", having));
    DocSet passing;
    const ElementColumnFilter columns(node, snapshot_, context_.now);
    std::optional<ElementFilter> rows;
    for (const auto& segment : snapshot_.segments) {
      const DocSet documents = candidates & segment->live;
      if (documents.empty()) continue;
      if (const auto here = columns.Passing(*segment, documents, context_.deadline)) {
        passing |= *here;
        continue;
      }
      if (!rows) rows.emplace(node, snapshot_, context_.now);
      GANNET_ASSIGN_OR_RETURN(const DocSet here, Verified(*rows, *segment, documents));
      passing |= here;
    }
    return passing;
  }

  // A superset of the documents of `having` with an element that passes, from the columns alone.
  // Where the element does not pass something, another one may: a complement excludes nothing.
  Result<DocSet> Candidates(const Node& node, const std::string& parent, const DocSet& having) {
    switch (node.kind) {
      case Node::Kind::kAnd: {
        DocSet rest = having;
        for (const auto& child : node.children) {
          GANNET_ASSIGN_OR_RETURN(rest, Candidates(*child, parent, rest));
        }
        return rest;
      }
      case Node::Kind::kOr: {
        DocSet all;
        for (const auto& child : node.children) {
          GANNET_ASSIGN_OR_RETURN(const DocSet more, Candidates(*child, parent, having));
          all |= more;
        }
        return all;
      }
      case Node::Kind::kElements:
        return Candidates(*node.children[0], parent + node.field + ".", having);
      case Node::Kind::kCondition: {
        if (node.op == Operator::kNotEqual) return DocSet(having);
        const auto field = snapshot_.fields->Find(parent + node.field);
        if (!field) return DocSet();
        Node whole;
        whole.kind = node.kind;
        whole.field = parent + node.field;
        whole.op = node.op;
        whole.values = node.values;
        whole.source = node.source;
        return Values(whole, *field, having);
      }
      default: return DocSet(having);
    }
  }

  // Those of the documents, which are live in the segment, that pass by what is stored.
  Result<DocSet> Verified(const ElementFilter& filter, const SegmentView& segment,
                          const DocSet& documents) {
    constexpr size_t kDocumentsAtOnce = 512;
    std::vector<uint32_t> docids;
    documents.ToVector(docids);
    std::vector<uint8_t> passes(docids.size());
    std::atomic<bool> damaged{false};
    const size_t parts = (docids.size() + kDocumentsAtOnce - 1) / kDocumentsAtOnce;
    ParallelFor(parts, [&](size_t part) {
      if (OutOfTime() || damaged) return;
      segment::RowCodec codec(snapshot_.dictionary);
      std::vector<segment::RowField> row;
      StopCounter steps;
      const size_t end = std::min(docids.size(), (part + 1) * kDocumentsAtOnce);
      for (size_t i = part * kDocumentsAtOnce; i < end; ++i) {
        const int64_t local = segment.rows->local_docids().Find(docids[i]);
        const auto bytes = codec.Expand(segment.rows->at(static_cast<size_t>(local)));
        if (!bytes.ok() || !segment::ParseRow(*bytes, row)) {
          damaged = true;
          return;
        }
        steps.Step(64 + bytes->size() / 8);
        passes[i] = filter.Passes(row);
      }
    });
    if (damaged) {
      segment.rows->file()->MarkCorrupt();
      return segment.Health();
    }
    size_t kept = 0;
    for (size_t i = 0; i < docids.size(); ++i) {
      if (passes[i] != 0) docids[kept++] = docids[i];
    }
    return DocSet::FromSorted({docids.data(), kept});
  }

  // Whether the condition compares values, and the field's rule says that they are dates.
  bool ComparesDates(const Node& node) const {
    if (node.op > Operator::kIn) return false;
    const auto rule = snapshot_.settings->Filterable(node.field);
    return rule && rule->first.date;
  }

  // Documents of `within` with a value that the test selects.
  DocSet WithValues(FieldId field, const DocSet& within, const ConditionTest& test) {
    DocSet passing;
    for (const auto& segment : snapshot_.segments) {
      const ColumnReader* column = segment->columns->Find(field);
      if (column == nullptr) continue;
      const ValueRanges ranges = test.Ranges(*segment->columns, field);
      if (!ranges.empty()) passing |= Restricted(*segment, *column, ranges, within);
    }
    return passing;
  }

  // Documents of `within` that are live in the segment and have a value in the ranges.
  DocSet Restricted(const SegmentView& segment, const ColumnReader& column,
                    const ValueRanges& ranges, const DocSet& within) {
    const bool all = &within == &snapshot_.documents;
    // Joining costs something per value and per document with a value; looking at documents costs
    // something per document in question.
    if (!all) {
      const DocSet restricted = within & segment.live;
      if (restricted.empty()) return {};
      const double share =
          static_cast<double>(ValuesIn(ranges)) / std::max(1u, column.value_count());
      const double joined = share * static_cast<double>(segment.documents->size());
      if (static_cast<double>(restricted.size()) * 20 < joined + 500)
        return Select(segment, column, ranges, restricted);
      DocSet passing;
      if (ValuesIn(ranges) == 1) {
        IntersectPostings(column.postings(ranges[0].begin), restricted, passing);
      } else {
        passing = DocumentsOf(column, ranges);
        passing &= restricted;
      }
      return passing;
    }
    DocSet passing = DocumentsOf(column, ranges);
    if (!segment.all_live()) passing &= segment.live;
    return passing;
  }

  DocSet Flagged(FieldId field, std::string_view (ColumnReader::*bytes)() const,
                 const DocSet& within) {
    DocSet passing;
    for (const auto& segment : snapshot_.segments) {
      const ColumnReader* column = segment->columns->Find(field);
      if (column == nullptr) continue;
      DocSet part = DecodePostings((column->*bytes)());
      if (!segment->all_live()) part &= segment->live;
      passing |= part;
    }
    if (&within != &snapshot_.documents) passing &= within;
    return passing;
  }

  Result<DocSet> Geo(const Node& node, const DocSet& within) {
    DocSet passing;
    const bool points = snapshot_.settings->Filterable("_geo").has_value();
    if (points && node.kind == Node::Kind::kGeoRadius) {
      passing = PointsInRadius(snapshot_, node.points[0], node.metres);
    } else if (points && node.kind == Node::Kind::kGeoBoundingBox) {
      passing = PointsInBox(snapshot_, filter::BoxOf(node.points[0], node.points[1]));
    }
    if (snapshot_.settings->GeoJsonEnabled()) {
      filter::Shape area;
      switch (node.kind) {
        case Node::Kind::kGeoRadius:
          area = filter::CircleShape(node.points[0], node.metres, node.resolution);
          break;
        case Node::Kind::kGeoBoundingBox:
          area = filter::BoxShape(node.points[0], node.points[1]);
          break;
        default: area = filter::PolygonShape(node.points); break;
      }
      GANNET_ASSIGN_OR_RETURN(const DocSet shapes, ShapesIntersecting(snapshot_, area, within));
      passing |= shapes;
    }
    passing &= within;
    return passing;
  }

  Result<DocSet> Vectors(const Node& node, const DocSet& within) {
    DocSet passing;
    if (node.embedder.empty()) {
      for (const auto& segment : snapshot_.segments) {
        passing |= segment->all_live() ? *segment->embedded : *segment->embedded & segment->live;
      }
      passing &= within;
      return passing;
    }
    const EmbedderSettings* embedder = snapshot_.settings->Embedder(node.embedder);
    if (embedder == nullptr) {
      return FilterError("The embedder `" + node.embedder + "` does not exist.", node.field_span,
                         *node.source);
    }
    std::optional<uint8_t> fragment;
    if (node.vector_kind == filter::VectorKind::kFragment) {
      fragment = embedder->Fragment(node.fragment);
      if (!fragment) {
        return FilterError(
            "The embedder `" + node.embedder + "` has no fragment `" + node.fragment + "`.",
            node.field_span, *node.source);
      }
    }
    for (const auto& segment : snapshot_.segments) {
      const segment::EmbedderReader* vectors = segment->vectors->Find(node.embedder);
      if (vectors == nullptr) continue;
      DocSet documents = VectorDocuments(*vectors, *embedder, node.vector_kind, fragment);
      if (!segment->all_live()) documents &= segment->live;
      passing |= documents;
    }
    passing &= within;
    return passing;
  }

  static DocSet VectorDocuments(const segment::EmbedderReader& vectors,
                                const EmbedderSettings& embedder, filter::VectorKind kind,
                                std::optional<uint8_t> fragment) {
    switch (kind) {
      case filter::VectorKind::kAny: return vectors.embedded();
      case filter::VectorKind::kUserProvided:
        // A user may also provide an empty list of vectors.
        return vectors.user_provided() |
               (vectors.local_docids().Documents() - vectors.embedded() - vectors.regenerated());
      case filter::VectorKind::kRegenerate: return vectors.regenerated();
      case filter::VectorKind::kDocumentTemplate:
        if (!embedder.fragments.empty()) return {};
        return vectors.embedded() - vectors.user_provided();
      case filter::VectorKind::kFragment: {
        std::vector<uint32_t> docids;  // ascending, as rows are
        const auto row_docids = vectors.row_docids();
        for (uint32_t row = 0; row < vectors.row_count(); ++row) {
          const bool listed = !docids.empty() && docids.back() == row_docids[row];
          if (!listed && vectors.source(row).fragment == *fragment)
            docids.push_back(row_docids[row]);
        }
        return DocSet::FromSorted(docids) - vectors.user_provided();
      }
    }
    return {};
  }

  // Checks the field's rule for the operators that need equality or comparison. REQUIRES: it allows
  // one of them.
  Status CheckOperator(const Node& node) const {
    bool needs_equality = false, needs_comparison = false;
    switch (node.op) {
      case Operator::kEqual:
      case Operator::kNotEqual:
      case Operator::kIn: needs_equality = true; break;
      case Operator::kGreater:
      case Operator::kGreaterEqual:
      case Operator::kLess:
      case Operator::kLessEqual:
      case Operator::kBetween: needs_comparison = true; break;
      default: return Status::Ok();
    }
    const auto rule = snapshot_.settings->Filterable(node.field);
    if (!rule || (!(needs_equality && !rule->first.equality) &&
                  !(needs_comparison && !rule->first.compares()))) {
      return Status::Ok();
    }
    return FilterError("The operator `" + std::string(OperatorName(node.op, node.negated_form)) +
                           "` is not enabled for the attribute `" + node.field + "`: rule #" +
                           std::to_string(rule->second) +
                           " of `filterableAttributes` does not have the feature `" +
                           (needs_equality ? "equality" : "comparison") + "`.",
                       node.field_span, *node.source);
  }

  const FilterContext& context_;
  const Snapshot& snapshot_;
};

}  // namespace

namespace {

// Checks the operands where dates are compared. Elsewhere none may be now+7d.
Status CheckDates(const Node& node, const FilterFeatures& features) {
  if (features.date && node.op <= Operator::kIn) return CheckDateOperands(node);
  for (const filter::Value& value : node.values) {
    if (!value.is_date) continue;
    return FilterError(
        "`" + value.text + "` is a date, but " +
            (features.date ? "`" + std::string(OperatorName(node.op, node.negated_form)) +
                                 "` does not compare dates."
                           : "the rule of `" + node.field +
                                 "` in `filterableAttributes` does not have the feature "
                                 "`date`."),
        value.span, *node.source);
  }
  return Status::Ok();
}

// The same for an expression inside the brackets of `parent[...]`, where every field may be used.
Status CheckElements(const Settings& settings, const Node& node, const std::string& parent) {
  StopPoint();
  const std::string path = parent + node.field;
  if (node.kind == Node::Kind::kCondition) {
    const auto rule = settings.Filterable(path);
    return CheckDates(node, rule ? rule->first : FilterFeatures());
  }
  for (const auto& child : node.children) {
    GANNET_RETURN_IF_ERROR(
        CheckElements(settings, *child, node.kind == Node::Kind::kElements ? path + "." : parent));
  }
  return Status::Ok();
}

}  // namespace

Status CheckFilterable(const Snapshot& snapshot, const Node& node) {
  StopPoint();
  const Settings& settings = *snapshot.settings;
  switch (node.kind) {
    case Node::Kind::kCondition: {
      const auto rule = settings.Filterable(node.field);
      if (rule && rule->first.filterable()) return CheckDates(node, rule->first);
      return FilterError(
          "The attribute `" + node.field + "` is not filterable. " + settings.FilterableText(),
          node.field_span, *node.source);
    }
    case Node::Kind::kGeoRadius:
    case Node::Kind::kGeoBoundingBox:
      if (settings.Filterable("_geo") || settings.GeoJsonEnabled()) return Status::Ok();
      return FilterError("Geo filters need `_geo` or `_geojson` among the filterable attributes. " +
                             settings.FilterableText(),
                         node.span, *node.source);
    case Node::Kind::kGeoPolygon:
      if (settings.GeoJsonEnabled()) return Status::Ok();
      return FilterError("`_geoPolygon` needs `_geojson` among the filterable attributes. " +
                             settings.FilterableText(),
                         node.span, *node.source);
    case Node::Kind::kElements:
      if (settings.FiltersElements(node.field)) return CheckElements(settings, node, "");
      return FilterError("`" + node.field + "[...]` needs the feature `elements` in the rule of `" +
                             node.field + "` in `filterableAttributes`.",
                         node.field_span, *node.source);
    default:
      for (const auto& child : node.children)
        GANNET_RETURN_IF_ERROR(CheckFilterable(snapshot, *child));
      return Status::Ok();
  }
}

Result<DocSet> EvaluateFilter(const FilterContext& context, const Node& node,
                              const DocSet* within) {
  GANNET_RETURN_IF_ERROR(CheckFilterable(context.snapshot, node));
  return Evaluator(context).Evaluate(node,
                                     within == nullptr ? context.snapshot.documents : *within);
}

Result<DocSet> EvaluateFilterJson(const Snapshot& snapshot, std::string_view filter_json,
                                  const filter::FilterFeatures& features, Deadline* deadline) {
  GANNET_ASSIGN_OR_RETURN(const std::unique_ptr<Node> node,
                          filter::ParseFilterJson(filter_json, features));
  return EvaluateFilter({snapshot, features, deadline}, *node);
}

}  // namespace gannet::index
