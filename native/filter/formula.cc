#include "filter/formula.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/moment.h"

namespace gannet::filter {
namespace {

using Op = FormulaStep::Op;

struct Function {
  std::string_view name;
  Op op;
  int operands;  // 0: two or more
};
constexpr Function kFunctions[] = {
    {"log", Op::kLog, 1}, {"sqrt", Op::kSqrt, 1}, {"abs", Op::kAbs, 1},
    {"pow", Op::kPow, 2}, {"min", Op::kMin, 0},   {"max", Op::kMax, 0},
};
constexpr std::array<std::string_view, 8> kCalls = {"log", "sqrt", "abs", "pow",
                                                    "min", "max",  "if",  "decay"};

bool IsFormulaSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void AddFieldsOf(const Node& node, std::vector<std::string>& fields) {
  if (!node.field.empty()) fields.push_back(node.field);
  const bool geo = node.kind == Node::Kind::kGeoRadius ||
                   node.kind == Node::Kind::kGeoBoundingBox || node.kind == Node::Kind::kGeoPolygon;
  if (geo) fields.emplace_back("_geo");
  for (const auto& child : node.children) AddFieldsOf(*child, fields);
}

// Parses by recursive descent. After a fault nothing more is read.
class FormulaParser {
 public:
  FormulaParser(std::string_view text, const FilterFeatures& features)
      : text_(text), features_(features) {}

  Result<std::shared_ptr<const Formula>> Parse() {
    if (text_.size() > kFormulaBytesMax) {
      Fail("it is longer than " + std::to_string(kFormulaBytesMax) + " bytes");
    } else {
      Sum();
      SkipSpace();
      if (ok() && at_ < text_.size()) Fail("unexpected " + Found());
    }
    if (!ok()) return Status::Invalid(fault_);
    return std::make_shared<const Formula>(std::move(formula_));
  }

 private:
  bool ok() const { return fault_.empty(); }
  // Notes the first fault.
  void Fail(const std::string& reason, size_t at) {
    if (!ok()) return;
    const std::string_view before = text_.substr(0, at);
    const auto characters =
        std::count_if(before.begin(), before.end(), [](char c) { return (c & '\xc0') != '\x80'; });
    fault_ = "at character " + std::to_string(characters + 1) + ": " + reason;
  }
  void Fail(const std::string& reason) { Fail(reason, at_); }

  void SkipSpace() {
    while (at_ < text_.size() && IsFormulaSpace(text_[at_])) ++at_;
  }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (!ok() || Peek() != c) return false;
    ++at_;
    return true;
  }
  void Need(char c) {
    if (!Take(c)) Fail(std::string("expected `") + c + "`, found " + Found());
  }
  std::string Found() {
    if (Peek() == '\0') return "the end";
    if (!IsNameChar(text_[at_])) return std::string("`") + text_[at_] + "`";
    size_t end = at_;
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
    return "`" + std::string(text_.substr(at_, end - at_)) + "`";
  }

  void Push(FormulaStep step) {
    if (formula_.steps.size() >= kFormulaStepsMax)
      return Fail("it has more than " + std::to_string(kFormulaStepsMax) + " operations");
    formula_.steps.push_back(step);
  }
  // A part that may contain itself.
  template <typename Part>
  void Nested(Part&& part) {
    if (depth_ >= kFormulaDepthMax)
      return Fail("it is nested deeper than " + std::to_string(kFormulaDepthMax) + " levels");
    ++depth_;
    part();
    --depth_;
  }

  void Sum() {
    Nested([&] {
      Product();
      while (ok()) {
        const Op op = Peek() == '+' ? Op::kAdd : Op::kSubtract;
        if (!Take('+') && !Take('-')) break;
        Product();
        Push({.op = op});
      }
    });
  }
  void Product() {
    Signed();
    while (ok()) {
      const Op op = Peek() == '*' ? Op::kMultiply : Op::kDivide;
      if (!Take('*') && !Take('/')) break;
      Signed();
      Push({.op = op});
    }
  }
  void Signed() {
    if (!Take('-')) return Primary();
    Nested([&] { Signed(); });
    Push({.op = Op::kNegate});
  }

  void Primary() {
    if (!ok()) return;
    const char next = Peek();
    if (next == '(') {
      ++at_;
      Sum();
      return Need(')');
    }
    if (IsDigit(next) || next == '.') return Push({.op = Op::kNumber, .number = Number()});
    const size_t begin = at_;
    const bool quoted = next == '"';
    const std::string name = Name();
    if (!ok()) return;
    if (!quoted && Peek() == '(') return Call(name, begin);
    if (!quoted && (name == "_rankingScore" || name == "_semanticScore")) {
      formula_.uses_scores = true;
      return Push({.op = name == "_rankingScore" ? Op::kRankingScore : Op::kSemanticScore});
    }
    if (name.starts_with("_geo"))
      return Fail("`" + name + "` is no number; use `decay(_geo, _geoPoint(lat, lng), 5km)`",
                  begin);
    Push({.op = Op::kField, .index = FieldOf(name)});
  }

  void Call(const std::string& name, size_t begin) {
    Need('(');
    if (name == "if") return If();
    if (name == "decay") return DecayCall();
    const auto function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                       [&](const Function& one) { return one.name == name; });
    if (function == std::end(kFunctions)) return Fail("there is no function `" + name + "`", begin);
    Sum();
    int operands = 1;
    while (ok() && Peek() == ',' && (function->operands == 0 || operands < function->operands)) {
      Need(',');
      Sum();
      ++operands;
      if (function->operands == 0) Push({.op = function->op});
    }
    if (operands < std::max(function->operands, function->operands == 0 ? 2 : 1)) Need(',');
    Need(')');
    if (function->operands > 0) Push({.op = function->op});
  }

  // The filter reaches to the first comma outside quotes and brackets.
  void If() {
    SkipSpace();
    const size_t begin = at_;
    int open = 0;
    char quote = '\0';
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != '\0') {
        if (c == '\\') ++at_;
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++open;
      } else if (c == ')' || c == ']') {
        if (--open < 0) break;
      } else if (c == ',' && open == 0) {
        break;
      }
    }
    at_ = std::min(at_, text_.size());
    auto condition = ParseFilter(text_.substr(begin, at_ - begin), features_);
    if (!condition.ok()) return Fail(condition.status().message(), begin);
    if ((*condition)->kind == Node::Kind::kTrue) return Fail("expected a condition", begin);
    if (formula_.conditions.size() >= kFormulaConditionsMax)
      return Fail("it has more than " + std::to_string(kFormulaConditionsMax) + " conditions");
    const auto index = static_cast<uint32_t>(formula_.conditions.size());
    formula_.conditions.push_back(std::move(*condition));
    Need(',');
    Sum();
    Need(',');
    Sum();
    Need(')');
    Push({.op = Op::kIf, .index = index});
  }

  void DecayCall() {
    Decay decay;
    SkipSpace();
    const std::string field = Name();
    if (field == "_geo") decay.kind = Decay::Kind::kPoint;
    Need(',');
    Origin(decay);
    Need(',');
    Scale(decay);
    if (Take(',')) {
      SkipSpace();
      const size_t begin = at_;
      const std::string shape = Name();
      decay.shape = shape == "gauss" ? Decay::Shape::kGauss : Decay::Shape::kExp;
      if (shape == "linear") decay.shape = Decay::Shape::kLinear;
      if (shape != "gauss" && shape != "linear" && shape != "exp")
        Fail("expected `exp`, `gauss` or `linear`", begin);
    }
    Need(')');
    const auto index = static_cast<uint32_t>(formula_.decays.size());
    formula_.decays.push_back(decay);
    Push({.op = Op::kDecay, .index = index, .field = FieldOf(field)});
  }

  void Origin(Decay& decay) {
    SkipSpace();
    const size_t begin = at_;
    if (decay.kind == Decay::Kind::kPoint) {
      if (Name() != "_geoPoint") return Fail("expected `_geoPoint(lat, lng)`", begin);
      Need('(');
      decay.point.lat = SignedNumber();
      Need(',');
      decay.point.lng = SignedNumber();
      Need(')');
      if (std::fabs(decay.point.lat) > 90 || std::fabs(decay.point.lng) > 180)
        Fail("the latitude lies between -90 and 90, the longitude between -180 and 180", begin);
    } else if (Take('\'')) {
      const size_t end = std::min(text_.find('\'', at_), text_.size());
      const std::optional<double> date = ParseDate(text_.substr(at_, end - at_));
      at_ = end;
      Need('\'');
      if (!date) return Fail("expected a date such as '2026-01-31'", begin);
      decay.kind = Decay::Kind::kDate;
      decay.origin = *date;
    } else if (IsDigit(Peek()) || Peek() == '-' || Peek() == '.') {
      decay.origin = SignedNumber();
    } else if (Name() == "now") {
      decay.kind = Decay::Kind::kDate;
      decay.from_now = true;
    } else {
      Fail("expected a number, `now` or a date in single quotes", begin);
    }
  }

  void Scale(Decay& decay) {
    SkipSpace();
    const size_t begin = at_;
    decay.scale = Number();
    const size_t unit_begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    const std::string_view unit = text_.substr(unit_begin, at_ - unit_begin);
    double factor = unit.empty() && decay.kind != Decay::Kind::kDate ? 1 : 0;
    if (decay.kind == Decay::Kind::kPoint) {
      if (unit == "m") factor = 1;
      if (unit == "km") factor = 1000;
    } else if (decay.kind == Decay::Kind::kDate) {
      for (const auto& [name, seconds] :
           {std::pair{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}}) {
        if (unit == name) factor = seconds;
      }
    }
    if (factor == 0) {
      return Fail(decay.kind == Decay::Kind::kDate
                      ? "expected a number with a unit, `s`, `m`, `h`, `d` or `w`"
                  : decay.kind == Decay::Kind::kPoint ? "expected a number of `m` or `km`"
                                                      : "expected a number without a unit",
                  begin);
    }
    decay.scale *= factor;
    if (!(decay.scale > 0) || !std::isfinite(decay.scale))
      Fail("the scale must be more than 0", begin);
  }

  double SignedNumber() {
    const bool negative = Take('-');
    const double number = Number();
    return negative ? -number : number;
  }
  double Number() {
    SkipSpace();
    double number = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, number);
    if (error != std::errc() || !std::isfinite(number)) {
      Fail("expected a number, found " + Found());
      return 0;
    }
    at_ = static_cast<size_t>(rest - text_.data());
    return number;
  }

  // A name, or a text in double quotes.
  std::string Name() {
    std::string name;
    if (Take('"')) {
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        name += text_[at_++];
      }
      Need('"');
    } else {
      SkipSpace();
      if (at_ < text_.size() && IsDigit(text_[at_]))
        Fail("expected an attribute, found " + Found());
      while (ok() && at_ < text_.size() && IsNameChar(text_[at_])) name += text_[at_++];
    }
    if (name.empty()) Fail("expected an attribute, a number or `(`, found " + Found());
    return name;
  }
  uint32_t FieldOf(const std::string& name) {
    const auto found = std::find(formula_.fields.begin(), formula_.fields.end(), name);
    if (found == formula_.fields.end()) {
      formula_.fields.push_back(name);
      return static_cast<uint32_t>(formula_.fields.size() - 1);
    }
    return static_cast<uint32_t>(found - formula_.fields.begin());
  }

  const std::string_view text_;
  const FilterFeatures& features_;
  Formula formula_;
  std::string fault_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> Formula::AllFields() const {
  std::vector<std::string> all = fields;
  for (const auto& condition : conditions) AddFieldsOf(*condition, all);
  return all;
}

bool LooksLikeFormula(std::string_view text) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const bool is_operator = std::string_view("+-*/").find(text[i]) != std::string_view::npos;
    if (is_operator && IsFormulaSpace(text[i - 1]) && IsFormulaSpace(text[i + 1])) return true;
  }
  if (text == "_rankingScore" || text == "_semanticScore") return true;
  for (const std::string_view name : kCalls) {
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      if (at > 0 && IsNameChar(text[at - 1])) continue;
      size_t after = at + name.size();
      while (after < text.size() && IsFormulaSpace(text[after])) ++after;
      if (after < text.size() && text[after] == '(') return true;
    }
  }
  return false;
}

Result<std::shared_ptr<const Formula>> ParseFormula(std::string_view text,
                                                    const FilterFeatures& features) {
  return FormulaParser(text, features).Parse();
}

}  // namespace gannet::filter
