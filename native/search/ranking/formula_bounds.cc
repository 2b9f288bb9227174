#include "search/ranking/formula_bounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/ranking/formula_values.h"

namespace gannet::search {
namespace {

using filter::Decay;
using filter::FormulaStep;
using Op = FormulaStep::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Interval kAnything{-kInfinity, kInfinity};
constexpr Interval kShare{0, 1};

// Functions of the C library are not exact to the last bit, and so not strictly monotone.
Interval Widened(Interval of) {
  constexpr double kError = 1e-12;
  if (std::isfinite(of.low)) of.low -= std::fabs(of.low) * kError;
  if (std::isfinite(of.high)) of.high += std::fabs(of.high) * kError;
  return of;
}

// The hull of what an operation gives for all pairs of limits.
Interval OfCorners(Op op, const Interval& a, const Interval& b) {
  Interval out;
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      const double value = op == Op::kMultiply ? x * y : op == Op::kDivide ? x / y : std::pow(x, y);
      if (std::isnan(value)) return kAnything;
      out.Add(value);
    }
  }
  return out;
}

Interval OfUnary(Op op, const Interval& a) {
  if (a.empty()) return a;
  switch (op) {
    case Op::kNegate: return {-a.high, -a.low};
    case Op::kAbs:
      if (a.low >= 0) return a;
      return {a.high <= 0 ? -a.high : 0, std::max(-a.low, a.high)};
    case Op::kSqrt:
      if (a.high < 0) return {};
      return Widened({std::sqrt(std::max(a.low, 0.0)), std::sqrt(a.high)});
    default:
      if (a.high <= 0) return {};
      return Widened({a.low <= 0 ? -kInfinity : std::log(a.low), std::log(a.high)});
  }
}

Interval OfBinary(Op op, const Interval& a, const Interval& b) {
  if (a.empty() || b.empty()) return {};
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract: {
      const Interval other = op == Op::kAdd ? b : Interval{-b.high, -b.low};
      const Interval sum{a.low + other.low, a.high + other.high};
      return std::isnan(sum.low) || std::isnan(sum.high) ? kAnything : sum;
    }
    case Op::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::kMultiply: return OfCorners(op, a, b);
    case Op::kDivide: return b.low > 0 || b.high < 0 ? OfCorners(op, a, b) : kAnything;
    // With a positive base it is monotone in both operands.
    default: return a.low > 0 ? Widened(OfCorners(op, a, b)) : kAnything;
  }
}

Interval OfField(const FieldDomain& domain) {
  Interval out = domain.numbers;
  if (domain.strings || domain.missing) out.Add(0);
  return out;
}

Interval OfDecay(const Decay& decay, double now, const FieldDomain& domain) {
  const bool date = decay.kind == Decay::Kind::kDate;
  if (date && domain.strings) return kShare;
  Interval out;
  if (domain.strings || domain.missing) out.Add(0);
  if (domain.numbers.empty()) return out;
  Interval numbers = domain.numbers;
  if (date) {
    const auto milliseconds = [](double value) { return std::fabs(value) >= kMillisecondsMin; };
    if (milliseconds(numbers.low) != milliseconds(numbers.high) ||
        (milliseconds(numbers.low) && (numbers.low < 0) != (numbers.high < 0)))
      return kShare;
    if (milliseconds(numbers.low)) numbers = {numbers.low / 1000, numbers.high / 1000};
  }
  // Numbers of a point are distances already.
  const bool point = decay.kind == Decay::Kind::kPoint;
  const double origin = point ? 0 : decay.from_now ? now : decay.origin;
  const Interval distance = OfUnary(Op::kAbs, {numbers.low - origin, numbers.high - origin});
  out.Add(Widened({DecayAt(decay, distance.high), DecayAt(decay, distance.low)}));
  return out;
}

}  // namespace

Interval BoundsOf(const filter::Formula& formula, double now,
                  std::span<const FieldDomain> domains) {
  std::vector<Interval> stack;
  stack.reserve(filter::kFormulaDepthMax);
  const auto pop = [&] {
    const Interval top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const FormulaStep& step : formula.steps) {
    switch (step.op) {
      case Op::kNumber: stack.push_back({step.number, step.number}); break;
      case Op::kField: stack.push_back(OfField(domains[step.index])); break;
      case Op::kDecay: {
        const Decay& decay = formula.decays[step.index];
        const bool point = decay.kind == Decay::Kind::kPoint;
        const size_t field = point ? formula.fields.size() + step.index : step.field;
        stack.push_back(OfDecay(decay, now, domains[field]));
        break;
      }
      case Op::kRankingScore:
      case Op::kSemanticScore: stack.push_back(kAnything); break;
      case Op::kNegate:
      case Op::kLog:
      case Op::kSqrt:
      case Op::kAbs: stack.push_back(OfUnary(step.op, pop())); break;
      case Op::kIf: {
        const Interval otherwise = pop();
        stack.back().Add(otherwise);
        break;
      }
      default: {
        const Interval right = pop();
        stack.back() = OfBinary(step.op, stack.back(), right);
      }
    }
  }
  return stack.back();
}

}  // namespace gannet::search
