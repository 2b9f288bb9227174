#include "index/operands.h"

#include <algorithm>
#include <string_view>

#include "base/moment.h"
#include "base/stop_point.h"
#include "text/normalize.h"

namespace gannet::index {

Literal::Literal(const filter::Value& value) : number(value.number) {
  text::NormalizeFacet(value.text, string);
}

namespace {

std::optional<double> MomentOf(const filter::Value& value, double now) {
  // As it is written: `M` is no minute.
  if (const auto moment = ParseRelativeDate(value.text, now)) return moment;
  const Literal literal(value);
  const auto moment = ParseDate(literal.string);
  return moment ? moment : literal.number;
}

// Whether a text that is not a time was meant to be one: `NOW`, `now-1M`, `now - 1 day`.
bool LooksRelative(const filter::Value& value) {
  if (value.is_date) return true;
  const Literal literal(value);
  std::string_view rest = literal.string;
  const auto skip_spaces = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  };
  skip_spaces();
  if (!rest.starts_with("now")) return false;
  rest.remove_prefix(3);
  skip_spaces();
  if (rest.empty()) return true;
  if (rest[0] != '+' && rest[0] != '-') return false;
  rest.remove_prefix(1);
  skip_spaces();
  return rest.empty() || (rest[0] >= '0' && rest[0] <= '9');
}

}  // namespace

Status CheckDateOperands(const filter::Node& condition) {
  for (const filter::Value& value : condition.values) {
    StopPoint();
    if (MomentOf(value, 0)) continue;
    if (IsEquality(condition.op) && !LooksRelative(value)) continue;
    return filter::FilterError(
        "`" + value.text + "` is not a date: `" + condition.field +
            "` is compared with dates such as \"2026-01-31\", \"2026-01-31T10:00:00Z\", "
            "seconds since 1970, `now`, and `now-7d` with at most nine digits and one of the units "
            "`s`, `m`, `h`, `d` and `w`, in lower case.",
        value.span, *condition.source);
  }
  return Status::Ok();
}

std::vector<double> MomentsOf(const filter::Node& condition, double now) {
  std::vector<double> moments;
  for (const filter::Value& value : condition.values) {
    StopPoint();
    if (const auto moment = MomentOf(value, now)) moments.push_back(*moment);
  }
  return moments;
}

}  // namespace gannet::index
