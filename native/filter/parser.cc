#include "filter/parser.h"

#include <simdjson.h>

#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/stop_point.h"
#include "filter/lexer.h"

namespace gannet::filter {
namespace {

using NodePtr = std::unique_ptr<Node>;

constexpr std::string_view kOperations =
    "`=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS "
    "NOT NULL`, "
    "`IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, `STARTS WITH`, `NOT STARTS WITH`, "
    "`_geoRadius`, "
    "`_geoBoundingBox`, `_geoPolygon`";

NodePtr MakeNode(Node::Kind kind) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  return node;
}

// A node of `kind` with `children`, or the child itself if there is only one.
NodePtr Join(Node::Kind kind, std::vector<NodePtr> children) {
  if (children.empty()) return MakeNode(Node::Kind::kTrue);
  if (children.size() == 1) return std::move(children[0]);
  NodePtr node = MakeNode(kind);
  node->children = std::move(children);
  return node;
}

// The complement of `child`; for a complement, its child.
NodePtr Negate(NodePtr child) {
  if (child->kind == Node::Kind::kNot) return std::move(child->children[0]);
  NodePtr node = MakeNode(Node::Kind::kNot);
  node->children.push_back(std::move(child));
  return node;
}

std::string Number(double value) {
  std::string text;
  AppendJsonNumber(text, value);
  return text;
}

class Parser {
 public:
  Parser(std::string_view expression, const FilterFeatures& features)
      : source_(std::make_shared<const std::string>(expression)),
        lexer_(*source_),
        features_(features) {}

  Result<NodePtr> Parse() {
    lexer_.SkipSpace();
    if (lexer_.Done()) return MakeNode(Node::Kind::kTrue);
    GANNET_ASSIGN_OR_RETURN(NodePtr node, Expression(0));
    lexer_.SkipSpace();
    if (!lexer_.Done()) {
      return Fail(
          "Unexpected text after the end of the expression: `" + std::string(lexer_.Rest()) + "`.",
          lexer_.SpanOf(lexer_.at(), source_->size()));
    }
    return node;
  }

  // The first use of a feature that is off. Read after all expressions of a filter have been
  // parsed.
  const Status& feature_fault() const { return feature_fault_; }

 private:
  // ---- Faults ----

  Status Fail(std::string_view reason, Span span) const {
    return FilterError(reason, span, *source_);
  }
  Status FailHere(std::string_view reason) const {
    const size_t end =
        std::min(lexer_.at() + std::max<size_t>(lexer_.PeekWord().size(), 1), source_->size());
    return Fail(reason, lexer_.SpanOf(lexer_.at(), end));
  }
  Status FailFrom(std::string_view reason, size_t start) const {
    return Fail(reason, lexer_.SpanFrom(start));
  }

  Status FeatureError(std::string_view what, std::string_view feature, Span span) const {
    return FilterError("Using " + std::string(what) +
                           " in a filter requires the experimental feature `" +
                           std::string(feature) + "` to be enabled.",
                       span, *source_, "feature_not_enabled");
  }
  void Require(bool enabled, std::string_view what, std::string_view feature, Span span) {
    if (!enabled && feature_fault_.ok()) feature_fault_ = FeatureError(what, feature, span);
  }

  // ---- Combinations ----

  Result<NodePtr> Expression(int level) {
    std::vector<NodePtr> children;
    do {
      steps_.Step(64);
      GANNET_ASSIGN_OR_RETURN(NodePtr child, Conjunction(level));
      children.push_back(std::move(child));
      lexer_.SkipSpace();
    } while (lexer_.TakeKeyword("OR"));
    return Join(Node::Kind::kOr, std::move(children));
  }

  Result<NodePtr> Conjunction(int level) {
    std::vector<NodePtr> children;
    do {
      steps_.Step(64);
      GANNET_ASSIGN_OR_RETURN(NodePtr child, Negation(level));
      children.push_back(std::move(child));
      lexer_.SkipSpace();
    } while (lexer_.TakeKeyword("AND"));
    return Join(Node::Kind::kAnd, std::move(children));
  }

  Result<NodePtr> Negation(int level) {
    lexer_.SkipSpace();
    bool negated = false;
    while (lexer_.TakeKeyword("NOT")) {
      if (++level > kNestingMax) return TooDeep();
      negated = !negated;
      lexer_.SkipSpace();
    }
    GANNET_ASSIGN_OR_RETURN(NodePtr node, Primary(level));
    return negated ? Negate(std::move(node)) : std::move(node);
  }

  Status TooDeep() const {
    return FailHere("The filter is nested too deeply: at most " + std::to_string(kNestingMax) +
                    " levels of parentheses and NOT are allowed.");
  }

  Result<NodePtr> Primary(int level) {
    lexer_.SkipSpace();
    const size_t start = lexer_.at();
    if (lexer_.Take("(")) {
      if (level == kNestingMax) return TooDeep();
      GANNET_ASSIGN_OR_RETURN(NodePtr node, Expression(level + 1));
      lexer_.SkipSpace();
      if (!lexer_.Take(")"))
        return FailFrom("The parenthesis `(` is not closed: found " + lexer_.Found() + ".", start);
      return node;
    }
    const std::string_view word = lexer_.PeekWord();
    if (word == "_geoRadius") return GeoRadius();
    if (word == "_geoBoundingBox") return GeoBoundingBox();
    if (word == "_geoPolygon") return GeoPolygon();
    if (word == "_geo" || word == "_geoPoint" || word == "_geoDistance") {
      return FailHere(
          "`" + std::string(word) +
          "` is reserved and cannot be used as a field of a filter. Use `_geoRadius(latitude, "
          "longitude, "
          "distance)`, `_geoBoundingBox([latitude, longitude], [latitude, longitude])` or "
          "`_geoPolygon([latitude, longitude], ...)`.");
    }
    if (word == "_shard") {
      return FeatureError("`_shard`", "network", lexer_.SpanOf(start, start + word.size()));
    }
    if (word == "_foreign") {
      lexer_.Rewind(start + word.size());
      lexer_.SkipSpace();
      const bool call = lexer_.Peek() == '(';
      lexer_.Rewind(start);
      if (call && features_.foreign_keys)
        return FailHere("`_foreign` is not available here: searches and listings alone take it.");
      if (call)
        return FeatureError("`_foreign`", "foreignKeys", lexer_.SpanOf(start, start + word.size()));
    }
    if (!in_elements_ && (word == "_vectors" || word.starts_with("_vectors."))) {
      GANNET_ASSIGN_OR_RETURN(NodePtr node, VectorsIfAny());
      if (node) return node;
    }
    return Condition(level);
  }

  // The rest of `field[expression]`, after the opening bracket.
  Result<NodePtr> Elements(Value field, size_t start, int level) {
    if (level == kNestingMax) return TooDeep();
    NodePtr node = MakeNode(Node::Kind::kElements);
    node->field = std::move(field.text);
    node->field_span = field.span;
    const bool outer = std::exchange(in_elements_, true);
    GANNET_ASSIGN_OR_RETURN(NodePtr child, Expression(level + 1));
    in_elements_ = outer;
    node->children.push_back(std::move(child));
    lexer_.SkipSpace();
    if (!lexer_.Take("]"))
      return FailFrom("The bracket `[` is not closed: found " + lexer_.Found() + ".", start);
    SetPosition(*node, start);
    return node;
  }

  // ---- Conditions ----

  Result<NodePtr> Condition(int level) {
    const size_t start = lexer_.at();
    GANNET_ASSIGN_OR_RETURN(Value field, lexer_.TakeValue());
    lexer_.SkipSpace();
    if (lexer_.Take("[")) return Elements(std::move(field), start, level);
    NodePtr node = MakeNode(Node::Kind::kCondition);
    node->field = std::move(field.text);
    node->field_span = field.span;

    bool negated = false;
    if (const std::optional<Operator> op = ComparisonSymbol()) {
      node->op = *op;
      GANNET_RETURN_IF_ERROR(Operand(*node));
    } else {
      if (lexer_.TakeKeyword("NOT")) {
        negated = true;
        lexer_.SkipSpace();
      }
      const size_t keyword = lexer_.at();
      if (lexer_.TakeKeyword("IN")) {
        node->op = Operator::kIn;
        GANNET_RETURN_IF_ERROR(List(*node));
      } else if (lexer_.TakeKeyword("EXISTS")) {
        node->op = Operator::kExists;
      } else if (lexer_.TakeKeyword("CONTAINS")) {
        node->op = Operator::kContains;
        Require(features_.contains, "`CONTAINS`", "containsFilter", lexer_.SpanFrom(keyword));
        GANNET_RETURN_IF_ERROR(Operand(*node));
      } else if (TakeStartsWith()) {
        node->op = Operator::kStartsWith;
        GANNET_RETURN_IF_ERROR(Operand(*node));
      } else if (!negated && lexer_.TakeKeyword("IS")) {
        lexer_.SkipSpace();
        if (lexer_.TakeKeyword("NOT")) {
          negated = true;
          lexer_.SkipSpace();
        }
        if (lexer_.TakeKeyword("NULL")) {
          node->op = Operator::kIsNull;
        } else if (lexer_.TakeKeyword("EMPTY")) {
          node->op = Operator::kIsEmpty;
        } else {
          return FailHere(
              "After `IS` one of `NULL`, `NOT NULL`, `EMPTY` and `NOT EMPTY` is expected, found " +
              lexer_.Found() + ".");
        }
      } else if (!negated && BeginsValue()) {
        node->op = Operator::kBetween;
        GANNET_RETURN_IF_ERROR(Bounds(*node, start));
      } else {
        return NoOperation(start, keyword);
      }
    }
    node->negated_form = negated;
    SetPosition(*node, start);
    return negated ? Negate(std::move(node)) : std::move(node);
  }

  Status NoOperation(size_t start, size_t keyword) {
    lexer_.Rewind(keyword);
    return FailFrom("An operation is expected after the field, one of " + std::string(kOperations) +
                        "; found " + lexer_.Found() + ".",
                    start);
  }

  std::optional<Operator> ComparisonSymbol() {
    if (lexer_.Take("!=")) return Operator::kNotEqual;
    if (lexer_.Take("=")) return Operator::kEqual;
    if (lexer_.Take(">=")) return Operator::kGreaterEqual;
    if (lexer_.Take(">")) return Operator::kGreater;
    if (lexer_.Take("<=")) return Operator::kLessEqual;
    if (lexer_.Take("<")) return Operator::kLess;
    return std::nullopt;
  }

  Status Operand(Node& node) {
    lexer_.SkipSpace();
    const size_t start = lexer_.at();
    GANNET_ASSIGN_OR_RETURN(Value value, lexer_.TakeValue());
    // The only operand with a sign inside that is no character of a word.
    if (source_->compare(start, lexer_.at() - start, "now") == 0 && lexer_.Take("+")) {
      const std::string_view period = lexer_.PeekWord();
      lexer_.Take(period);
      value.text += "+" + std::string(period);
      value.is_date = true;
      value.span = lexer_.SpanFrom(start);
    }
    node.values.push_back(std::move(value));
    return Status::Ok();
  }

  // The one keyword that holds exactly one space.
  bool TakeStartsWith() {
    const size_t start = lexer_.at();
    if (lexer_.Take("STARTS ") && lexer_.TakeKeyword("WITH")) return true;
    lexer_.Rewind(start);
    return false;
  }

  bool BeginsValue() const {
    const std::string_view word = lexer_.PeekWord();
    return lexer_.Peek() == '"' || lexer_.Peek() == '\'' ||
           (!word.empty() && !IsReservedWord(word));
  }

  // `a TO b`, the cursor at `a`. A quoted `a` needs no space before `TO`; `b` always needs one.
  Status Bounds(Node& node, size_t start) {
    const size_t first = lexer_.at();
    GANNET_RETURN_IF_ERROR(Operand(node));
    lexer_.SkipSpace();
    if (!lexer_.TakeKeyword("TO")) return NoOperation(start, first);
    if (!lexer_.SkipSpace())
      return FailHere("White space and a value are expected after `TO`, found " + lexer_.Found() +
                      ".");
    return Operand(node);
  }

  Status List(Node& node) {
    lexer_.SkipSpace();
    const size_t open = lexer_.at();
    if (!lexer_.Take("["))
      return FailHere("A list in brackets `[` is expected after `IN`, found " + lexer_.Found() +
                      ".");
    for (;;) {
      lexer_.SkipSpace();
      if (lexer_.Take("]")) return Status::Ok();
      if (lexer_.Done()) return FailFrom("The list of `IN` is not closed by `]`.", open);
      GANNET_RETURN_IF_ERROR(Operand(node));
      lexer_.SkipSpace();
      if (lexer_.Take(",")) continue;
      if (lexer_.Take("]")) return Status::Ok();
      if (lexer_.Done()) return FailFrom("The list of `IN` is not closed by `]`.", open);
      return FailHere("The values of an `IN` list are separated by commas, found " +
                      lexer_.Found() + ".");
    }
  }

  void SetPosition(Node& node, size_t start) {
    node.span = lexer_.SpanFrom(start);
    node.source = source_;
  }

  // ---- Geo ----

  static constexpr std::string_view kRadiusUse =
      "`_geoRadius` takes 3 or 4 numbers: `_geoRadius(latitude, longitude, metres[, resolution])`";
  static constexpr std::string_view kBoxUse =
      "`_geoBoundingBox` takes two points, the top right and the bottom left corner: "
      "`_geoBoundingBox([latitude, "
      "longitude], [latitude, longitude])`";
  static constexpr std::string_view kPolygonUse =
      "`_geoPolygon` takes at least three points: `_geoPolygon([latitude, longitude], [latitude, "
      "longitude], "
      "[latitude, longitude], ...)`";

  // Consumes the name and the opening parenthesis of a geo function.
  Status OpenCall(std::string_view use) {
    lexer_.Rewind(lexer_.at() + lexer_.PeekWord().size());
    return Expect("(", use);
  }

  Status Expect(std::string_view symbol, std::string_view use) {
    lexer_.SkipSpace();
    if (lexer_.Take(symbol)) return Status::Ok();
    return FailHere(std::string(use) + "; expected `" + std::string(symbol) + "`, found " +
                    lexer_.Found() + ".");
  }

  Result<Value> Argument(std::string_view use) {
    lexer_.SkipSpace();
    std::optional<Value> number = lexer_.TakeNumber();
    if (!number)
      return FailHere(std::string(use) + "; expected a finite number, found " + lexer_.Found() +
                      ".");
    return std::move(*number);
  }

  // `lat, lng`.
  Result<GeoPoint> Point(std::string_view use) {
    GANNET_ASSIGN_OR_RETURN(const Value lat, Argument(use));
    GANNET_RETURN_IF_ERROR(Expect(",", use));
    GANNET_ASSIGN_OR_RETURN(const Value lng, Argument(use));
    if (std::fabs(*lat.number) > 90) {
      return Fail("The latitude `" + lat.text + "` is outside the range from -90 to 90.", lat.span);
    }
    if (std::fabs(*lng.number) > 180) {
      return Fail("The longitude `" + lng.text + "` is outside the range from -180 to 180; `" +
                      Number(std::remainder(*lng.number, 360)) + "` is the same place.",
                  lng.span);
    }
    return GeoPoint{*lat.number, *lng.number};
  }

  Result<GeoPoint> BracketedPoint(std::string_view use) {
    GANNET_RETURN_IF_ERROR(Expect("[", use));
    GANNET_ASSIGN_OR_RETURN(const GeoPoint point, Point(use));
    GANNET_RETURN_IF_ERROR(Expect("]", use));
    return point;
  }

  Result<NodePtr> GeoRadius() {
    const size_t start = lexer_.at();
    NodePtr node = MakeNode(Node::Kind::kGeoRadius);
    GANNET_RETURN_IF_ERROR(OpenCall(kRadiusUse));
    GANNET_ASSIGN_OR_RETURN(const GeoPoint centre, Point(kRadiusUse));
    node->points = {centre};
    GANNET_RETURN_IF_ERROR(Expect(",", kRadiusUse));
    GANNET_ASSIGN_OR_RETURN(const Value metres, Argument(kRadiusUse));
    node->metres = *metres.number;
    lexer_.SkipSpace();
    if (lexer_.Take(",")) {
      GANNET_ASSIGN_OR_RETURN(const Value resolution, Argument(kRadiusUse));
      const double sides = std::trunc(*resolution.number);
      if (sides < 3 || sides > 1000) {
        return Fail("The resolution of `_geoRadius` must be between 3 and 1000, found `" +
                        resolution.text + "`.",
                    resolution.span);
      }
      node->resolution = static_cast<int>(sides);
    }
    GANNET_RETURN_IF_ERROR(Expect(")", kRadiusUse));
    SetPosition(*node, start);
    return node;
  }

  Result<NodePtr> GeoBoundingBox() {
    const size_t start = lexer_.at();
    NodePtr node = MakeNode(Node::Kind::kGeoBoundingBox);
    GANNET_RETURN_IF_ERROR(OpenCall(kBoxUse));
    GANNET_ASSIGN_OR_RETURN(const GeoPoint top_right, BracketedPoint(kBoxUse));
    GANNET_RETURN_IF_ERROR(Expect(",", kBoxUse));
    GANNET_ASSIGN_OR_RETURN(const GeoPoint bottom_left, BracketedPoint(kBoxUse));
    GANNET_RETURN_IF_ERROR(Expect(")", kBoxUse));
    if (top_right.lat < bottom_left.lat) {
      return FailFrom("The top of the bounding box, `" + Number(top_right.lat) +
                          "`, is below its bottom, `" + Number(bottom_left.lat) + "`.",
                      start);
    }
    node->points = {top_right, bottom_left};
    SetPosition(*node, start);
    return node;
  }

  Result<NodePtr> GeoPolygon() {
    const size_t start = lexer_.at();
    NodePtr node = MakeNode(Node::Kind::kGeoPolygon);
    GANNET_RETURN_IF_ERROR(OpenCall(kPolygonUse));
    do {
      GANNET_ASSIGN_OR_RETURN(const GeoPoint point, BracketedPoint(kPolygonUse));
      node->points.push_back(point);
      lexer_.SkipSpace();
    } while (lexer_.Take(",") && (lexer_.SkipSpace(), lexer_.Peek() != ')'));
    GANNET_RETURN_IF_ERROR(Expect(")", kPolygonUse));
    if (node->points.size() < 3) {
      return FailFrom(
          std::string(kPolygonUse) + "; found " + std::to_string(node->points.size()) + ".", start);
    }
    SetPosition(*node, start);
    return node;
  }

  // ---- Vectors ----

  // A name between dots, bare or quoted.
  Result<std::string> PathName() {
    if (lexer_.Peek() == '"' || lexer_.Peek() == '\'') {
      GANNET_ASSIGN_OR_RETURN(Value name, lexer_.TakeQuoted());
      return std::move(name.text);
    }
    const std::string_view word = lexer_.PeekWord();
    const std::string_view name = word.substr(0, word.find('.'));
    if (name.empty())
      return FailHere("A name is expected after the dot, found " + lexer_.Found() + ".");
    lexer_.Take(name);
    return std::string(name);
  }

  // Consumes `EXISTS` or `NOT EXISTS`; nullopt if neither comes next, with the cursor at an
  // undefined position.
  std::optional<bool> TakeExists() {
    lexer_.SkipSpace();
    const bool negated = lexer_.TakeKeyword("NOT");
    if (negated) lexer_.SkipSpace();
    if (!lexer_.TakeKeyword("EXISTS")) return std::nullopt;
    return negated;
  }

  // The vector filter at the cursor. Null, with the cursor unchanged, if `_vectors` is an ordinary
  // field: it precedes another operator and has no quoted name.
  Result<NodePtr> VectorsIfAny() {
    const size_t start = lexer_.at();
    const size_t word_end = start + lexer_.PeekWord().size();
    const bool quoted = source_->at(word_end - 1) == '.' && word_end < source_->size() &&
                        (source_->at(word_end) == '"' || source_->at(word_end) == '\'');
    NodePtr node = MakeNode(Node::Kind::kVectorExists);
    const Status path = VectorPath(*node);
    if (!path.ok()) {
      lexer_.Rewind(word_end);
      if (quoted || TakeExists()) return path;
      lexer_.Rewind(start);
      return NodePtr();
    }
    node->field_span = lexer_.SpanFrom(start);
    if (const std::optional<bool> negated = TakeExists()) {
      Require(features_.multimodal, "`_vectors`", "multimodal", node->field_span);
      node->negated_form = *negated;
      SetPosition(*node, start);
      return *negated ? Negate(std::move(node)) : std::move(node);
    }
    if (quoted) {
      return Fail("Only `EXISTS` and `NOT EXISTS` can follow `_vectors` with a quoted name.",
                  node->field_span);
    }
    lexer_.Rewind(start);
    return NodePtr();
  }

  Status VectorPath(Node& node) {
    lexer_.Take("_vectors");
    if (!lexer_.Take(".")) return Status::Ok();
    GANNET_ASSIGN_OR_RETURN(node.embedder, PathName());
    if (!lexer_.Take(".")) return Status::Ok();
    if (lexer_.Take("fragments.")) {
      node.vector_kind = VectorKind::kFragment;
      GANNET_ASSIGN_OR_RETURN(node.fragment, PathName());
      if (lexer_.Peek() != '.') return Status::Ok();
    } else if (lexer_.TakeKeyword("userProvided")) {
      node.vector_kind = VectorKind::kUserProvided;
      return Status::Ok();
    } else if (lexer_.TakeKeyword("regenerate")) {
      node.vector_kind = VectorKind::kRegenerate;
      return Status::Ok();
    } else if (lexer_.TakeKeyword("documentTemplate")) {
      node.vector_kind = VectorKind::kDocumentTemplate;
      return Status::Ok();
    }
    return FailHere(
        "After `_vectors` and the embedder one of `fragments.<name>`, `userProvided`, "
        "`documentTemplate` "
        "and `regenerate` is expected, found " +
        lexer_.Found() + ".");
  }

  std::shared_ptr<const std::string> source_;
  Lexer lexer_;
  FilterFeatures features_;
  Status feature_fault_;
  bool in_elements_ = false;  // inside the brackets of `field[...]`
  StopCounter steps_;
};

// ---- JSON ----

Status WrongKind(std::string_view expected, const simdjson::dom::element& found) {
  constexpr size_t kFoundBytesMax = 100;
  std::string text = simdjson::minify(found);
  if (text.size() > kFoundBytesMax) {
    size_t end = kFoundBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return Status::Invalid(
      "Invalid filter: expected " + std::string(expected) + ", found `" + text + "`.",
      "invalid_search_filter");
}

// Parses the expressions of one filter and records the first use of a feature that is off.
class FilterReader {
 public:
  explicit FilterReader(const FilterFeatures& features) : features_(features) {}

  Result<NodePtr> Read(const simdjson::dom::element& filter) {
    if (filter.is_null()) return MakeNode(Node::Kind::kTrue);
    std::string_view text;
    if (filter.get(text) == simdjson::SUCCESS) return Expression(text);
    simdjson::dom::array parts;
    if (filter.get(parts) != simdjson::SUCCESS) return WrongKind("a string or an array", filter);
    std::vector<NodePtr> conjunction;
    for (const simdjson::dom::element part : parts) {
      simdjson::dom::array alternatives;
      std::vector<NodePtr> disjunction;
      if (part.get(alternatives) == simdjson::SUCCESS) {
        for (const simdjson::dom::element alternative : alternatives) {
          if (alternative.get(text) != simdjson::SUCCESS) return WrongKind("a string", alternative);
          GANNET_RETURN_IF_ERROR(Add(disjunction, text));
        }
      } else if (part.get(text) == simdjson::SUCCESS) {
        GANNET_RETURN_IF_ERROR(Add(disjunction, text));
      } else {
        return WrongKind("a string or an array of strings", part);
      }
      if (!disjunction.empty())
        conjunction.push_back(Join(Node::Kind::kOr, std::move(disjunction)));
    }
    return Join(Node::Kind::kAnd, std::move(conjunction));
  }

  Result<NodePtr> Expression(std::string_view text) {
    steps_.Step(64);
    Parser parser(text, features_);
    Result<NodePtr> node = parser.Parse();
    if (feature_fault_.ok()) feature_fault_ = parser.feature_fault();
    return node;
  }

  const Status& feature_fault() const { return feature_fault_; }

 private:
  Status Add(std::vector<NodePtr>& parts, std::string_view text) {
    GANNET_ASSIGN_OR_RETURN(NodePtr node, Expression(text));
    if (node->kind != Node::Kind::kTrue) parts.push_back(std::move(node));
    return Status::Ok();
  }

  FilterFeatures features_;
  Status feature_fault_;
  StopCounter steps_;
};

}  // namespace

Result<std::unique_ptr<Node>> ParseFilterJson(std::string_view json,
                                              const FilterFeatures& features) {
  simdjson::dom::parser parser;
  simdjson::dom::element filter;
  if (parser.parse(json.data(), json.size()).get(filter) != simdjson::SUCCESS) {
    return Status::Invalid("Invalid filter: it is not valid JSON.", "invalid_search_filter");
  }
  FilterReader reader(features);
  GANNET_ASSIGN_OR_RETURN(NodePtr node, reader.Read(filter));
  if (!reader.feature_fault().ok()) return reader.feature_fault();
  return node;
}

Result<std::unique_ptr<Node>> ParseFilter(std::string_view expression,
                                          const FilterFeatures& features) {
  FilterReader reader(features);
  GANNET_ASSIGN_OR_RETURN(NodePtr node, reader.Expression(expression));
  if (!reader.feature_fault().ok()) return reader.feature_fault();
  return node;
}

}  // namespace gannet::filter
