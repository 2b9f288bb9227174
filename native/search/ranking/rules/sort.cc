// The rule sort: orders documents by the values of a field, or by distance
// (docs/behaviour/ranking.md, sort). The criteria of the search take its position; `field:asc` and
// `field:desc` are rules of this kind by themselves. search/ranking/sort.h makes the buckets.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "search/ranking/formula_order.h"
#include "search/ranking/rank.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

using Kind = SortCriterion::Kind;

// If several criteria have the same field, the first one counts.
std::string IdOf(const SortCriterion& criterion) {
  std::string id = criterion.label();
  id.resize(id.rfind(':') + 1);
  return id;
}

class Sort : public RankingRule {
 public:
  // inputs  null: the rule only compares
  explicit Sort(SortCriterion criterion, const RuleInputs* inputs = nullptr)
      : RankingRule(IdOf(criterion)), criterion_(std::move(criterion)) {
    if (inputs != nullptr) inputs_.emplace(*inputs);
  }

  void Split(Bucket bucket, BucketSplit& out) override {
    if (criterion_.formula != nullptr)
      return SplitByFormula(criterion_, *inputs_, std::move(bucket), out);
    SortedBuckets sorted(out.ranker.snapshot(), criterion_, std::move(bucket.documents));
    DocSet documents;
    SortValue value;
    while (!out.Full() && sorted.Next(documents, value))
      out.Give(Bucket{documents, bucket.paths, bucket.two_phase}, Detail{.value = value});
  }
  // Which points count as equally far depends on the nearest of them.
  // The score of a document too depends on others.
  bool RanksOneByOne(bool) const override {
    return !geo() && (criterion_.formula == nullptr || !criterion_.formula->uses_scores);
  }

  bool ReadsEveryDocument() const override { return criterion_.formula != nullptr; }

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    if (!Shows(out.settings())) {
      out.Begin("<hidden-rule-" + std::to_string(out.order()) + ">");
      return out.Json("value", R"("<hidden>")");
    }
    out.Begin(criterion_.label());
    AppendSortValueJson(detail.value, out.Members());
  }

  std::optional<ScorePart> PartOf(const Detail& detail, double) const override {
    return ScorePart{this, 0, &detail.value};
  }
  std::string_view compared_as() const override {
    if (geo()) return criterion_.ascending ? "geo:asc" : "geo:desc";
    return criterion_.ascending ? "asc" : "desc";
  }
  std::string label() const override { return "`" + criterion_.label() + "`"; }
  int Compare(const ScorePart& a, const ScorePart& b) const override {
    return CompareSortValues(*a.value, *b.value, criterion_.ascending);
  }
  void AppendPart(const ScorePart& part, std::string& out) const override {
    out += geo() ? "{\"geoSort\":{\"asc\":" : "{\"sort\":{\"asc\":";
    out += criterion_.ascending ? "true," : "false,";
    if (!geo()) {
      AppendSortValueJson(*part.value, out);
    } else if (part.value->kind == SortValue::Kind::kGeo) {
      out += "\"distance\":";
      AppendJsonFloat(out, std::round(part.value->distance * 1000) / 1000);
    } else {
      out += "\"distance\":null";
    }
    out += "}}";
  }

 private:
  bool geo() const { return criterion_.kind == Kind::kGeo; }
  // Whether the value gives away no field that is not displayed.
  bool Shows(const index::Settings& settings) const {
    if (criterion_.formula == nullptr) return geo() || settings.Displays(criterion_.field);
    const std::vector<std::string> fields = criterion_.formula->AllFields();
    return std::all_of(fields.begin(), fields.end(),
                       [&](const std::string& field) { return settings.Displays(field); });
  }

  const SortCriterion criterion_;
  std::optional<RuleInputs> inputs_;
};

// A rule that can only compare.
const RankingRule& RuleOf(bool geo, bool ascending) {
  static const auto rule = [](Kind kind, bool up) {
    return Sort(SortCriterion{.kind = kind, .ascending = up});
  };
  static const std::array<Sort, 4> kRules{rule(Kind::kField, false), rule(Kind::kField, true),
                                          rule(Kind::kGeo, false), rule(Kind::kGeo, true)};
  return kRules[(geo ? 2 : 0) + (ascending ? 1 : 0)];
}

// nullopt: it is not a value.
std::optional<SortValue> ReadValue(bool geo, std::string_view json) {
  SortValue value;
  if (json::KindOf(json) == json::Kind::kNull) return value;
  if (!geo && json::KindOf(json) == json::Kind::kString) {
    value.kind = SortValue::Kind::kString;
    std::string scratch;
    value.string = json::StringValue(json, scratch);
    return IsUtf8(value.string) ? std::optional(value) : std::nullopt;
  }
  value.kind = geo ? SortValue::Kind::kGeo : SortValue::Kind::kNumber;
  if (!ReadFinite(json, geo ? value.distance : value.number)) return std::nullopt;
  return value;
}

bool ReadSortPart(std::string_view name, std::string_view json, ScorePart& part,
                  std::deque<SortValue>& values) {
  const bool geo = name == "geoSort";
  if (!geo && name != "sort") return true;
  if (json::KindOf(json) != json::Kind::kObject) return false;
  std::optional<bool> ascending;
  std::optional<SortValue> value;
  bool good = true;
  json::ForEachMember(json, [&](std::string_view member, std::string_view of_member) {
    if (member == "asc") {
      good = good && json::KindOf(of_member) == json::Kind::kBoolean;
      ascending = of_member[0] == 't';
    } else if (member == (geo ? "distance" : "value")) {
      value = ReadValue(geo, of_member);
      good = good && value;
    }
    return good;
  });
  if (!good || !ascending || !value) return false;
  values.push_back(std::move(*value));
  part = {&RuleOf(geo, *ascending), 0, &values.back()};
  return true;
}

}  // namespace

const RuleDeclaration kSortRule{
    .name = "sort",
    .sorts = true,
    .add =
        [](const index::RankingRule& setting, const RuleInputs& inputs, Rules& rules) {
          if (!setting.field.empty()) {
            const Kind kind = setting.formula == nullptr ? Kind::kField : Kind::kFormula;
            return AddRule(rules,
                           std::make_unique<Sort>(SortCriterion{.kind = kind,
                                                                .field = setting.field,
                                                                .ascending = setting.ascending,
                                                                .formula = setting.formula},
                                                  &inputs));
          }
          for (const SortCriterion& criterion : inputs.sort)
            AddRule(rules, std::make_unique<Sort>(criterion, &inputs));
        },
    .read_part = ReadSortPart,
};

}  // namespace gannet::search
