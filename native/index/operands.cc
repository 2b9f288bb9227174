#include "index/operands.h"

#include "base/moment.h"
#include "base/stop_point.h"
#include "text/normalize.h"

namespace gannet::index {

Literal::Literal(const filter::Value& value) : number(value.number) {
  text::NormalizeFacet(value.text, string);
}

Result<std::vector<double>> MomentsOf(const filter::Node& condition, double now) {
  std::vector<double> moments;
  for (const filter::Value& value : condition.values) {
    StopPoint();
    const Literal literal(value);
    std::optional<double> moment = ParseDate(literal.string);
    if (!moment) moment = ParseRelativeDate(literal.string, now);
    if (!moment) moment = literal.number;
    if (moment) {
      moments.push_back(*moment);
    } else if (value.is_date || !IsEquality(condition.op)) {
      return filter::FilterError(
          "`" + value.text + "` is not a date: `" + condition.field +
              "` is compared with dates such as \"2026-01-31\", \"2026-01-31T10:00:00Z\", "
              "seconds since 1970, `now` and `now-7d`.",
          value.span, *condition.source);
    }
  }
  return moments;
}

}  // namespace gannet::index
