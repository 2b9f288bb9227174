#include "search/ranking/formula_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/moment.h"
#include "base/stop_point.h"
#include "segment/local_docids.h"

namespace gannet::search {
namespace {

using filter::Decay;
using filter::Formula;
using filter::FormulaStep;
using Op = FormulaStep::Op;
using segment::ColumnReader;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Documents per run of the program.
constexpr size_t kBatch = 512;

double Finite(double value) { return std::isfinite(value) ? value : kNone; }

// The columns of one segment that the formula reads, by field.
struct Columns {
  std::vector<const ColumnReader*> values;  // null: no document has one
  const ColumnReader *lat = nullptr, *lng = nullptr;
};

Columns ColumnsOf(const index::Snapshot& snapshot, const index::SegmentView& segment,
                  const Formula& formula) {
  const auto find = [&](const std::string& name) -> const ColumnReader* {
    const auto field = snapshot.fields->Find(name);
    return field ? segment.columns->Find(*field) : nullptr;
  };
  Columns columns;
  for (const std::string& name : formula.fields) columns.values.push_back(find(name));
  columns.lat = find("_geo.lat");
  columns.lng = find("_geo.lng");
  return columns;
}

// Seconds since 1970; nullopt: the document has no date.
std::optional<double> DateAt(const ColumnReader& column, uint32_t local) {
  if (const auto number = column.NumberAt(local))
    return std::fabs(*number) >= kMillisecondsMin ? *number / 1000 : *number;
  std::optional<double> date;
  bool first = true;
  column.ForEachValue(local, [&](segment::ValueOrdinal value) {
    if (!std::exchange(first, false)) return;
    date = ParseDate(column.string(value - column.number_count()));
  });
  return date;
}

// The program, for batches of documents of one segment.
class Machine {
 public:
  Machine(const Formula& formula, const FormulaInputs& inputs, Columns columns)
      : formula_(formula), inputs_(inputs), columns_(std::move(columns)) {}

  void Run(std::span<const std::pair<uint32_t, DocId>> batch, std::vector<DocumentValue>& out) {
    batch_ = batch;
    top_ = 0;
    for (const FormulaStep& step : formula_.steps) Do(step);
    for (size_t i = 0; i < batch.size(); ++i) out.push_back({batch[i].second, stack_[0][i]});
  }

 private:
  template <typename Value>
  void Push(Value&& value) {
    if (stack_.size() == top_) stack_.emplace_back(kBatch);
    std::vector<double>& to = stack_[top_++];
    for (size_t i = 0; i < batch_.size(); ++i) to[i] = value(batch_[i].first, batch_[i].second);
  }

  void Do(const FormulaStep& step) {
    switch (step.op) {
      case Op::kNumber: return Push([&](uint32_t, DocId) { return step.number; });
      case Op::kField: {
        const ColumnReader* column = columns_.values[step.index];
        if (column == nullptr) return Push([](uint32_t, DocId) { return 0.0; });
        return Push([&](uint32_t local, DocId) { return column->NumberAt(local).value_or(0); });
      }
      case Op::kDecay: return PushDecay(formula_.decays[step.index], step.field);
      case Op::kRankingScore:
      case Op::kSemanticScore: {
        const bool known = step.op == Op::kRankingScore || inputs_.by_vectors;
        return Push([&](uint32_t, DocId docid) {
          if (!known) return 0.0;
          const auto found =
              std::lower_bound(inputs_.scores.begin(), inputs_.scores.end(), docid,
                               [](const DocumentScore& a, DocId b) { return a.docid < b; });
          const bool any = found != inputs_.scores.end() && found->docid == docid;
          return any ? found->score : 0.0;
        });
      }
      case Op::kIf: {
        const DocSet& holds = inputs_.conditions[step.index];
        const std::vector<double>& otherwise = stack_[--top_];
        std::vector<double>& to = stack_[top_ - 1];
        for (size_t i = 0; i < batch_.size(); ++i) {
          if (!holds.Contains(batch_[i].second)) to[i] = otherwise[i];
        }
        return;
      }
      case Op::kNegate:
      case Op::kLog:
      case Op::kSqrt:
      case Op::kAbs: {
        std::vector<double>& to = stack_[top_ - 1];
        for (size_t i = 0; i < batch_.size(); ++i) to[i] = Apply(step.op, to[i], 0);
        return;
      }
      default: {
        const std::vector<double>& right = stack_[--top_];
        std::vector<double>& to = stack_[top_ - 1];
        for (size_t i = 0; i < batch_.size(); ++i) to[i] = Apply(step.op, to[i], right[i]);
      }
    }
  }

  void PushDecay(const Decay& decay, uint32_t field) {
    if (decay.kind == Decay::Kind::kPoint) {
      return Push([&](uint32_t local, DocId) {
        if (columns_.lat == nullptr || columns_.lng == nullptr) return 0.0;
        const auto lat = columns_.lat->NumberAt(local), lng = columns_.lng->NumberAt(local);
        if (!lat || !lng) return 0.0;
        return DecayAt(decay, filter::HaversineMetres(decay.point, {.lat = *lat, .lng = *lng}));
      });
    }
    const ColumnReader* column = columns_.values[field];
    const double origin = decay.from_now ? inputs_.now : decay.origin;
    const bool date = decay.kind == Decay::Kind::kDate;
    Push([&](uint32_t local, DocId) {
      if (column == nullptr) return 0.0;
      const std::optional<double> value = date ? DateAt(*column, local) : column->NumberAt(local);
      return value ? DecayAt(decay, std::fabs(*value - origin)) : 0.0;
    });
  }

  const Formula& formula_;
  const FormulaInputs& inputs_;
  const Columns columns_;
  std::span<const std::pair<uint32_t, DocId>> batch_;
  std::vector<std::vector<double>> stack_;
  size_t top_ = 0;
};

}  // namespace

double Apply(Op op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNone;
  switch (op) {
    case Op::kNegate: return -a;
    case Op::kLog: return Finite(std::log(a));
    case Op::kSqrt: return Finite(std::sqrt(a));
    case Op::kAbs: return std::fabs(a);
    case Op::kAdd: return Finite(a + b);
    case Op::kSubtract: return Finite(a - b);
    case Op::kMultiply: return Finite(a * b);
    case Op::kDivide: return Finite(a / b);
    case Op::kPow: return Finite(std::pow(a, b));
    case Op::kMin: return std::min(a, b);
    case Op::kMax: return std::max(a, b);
    default: return kNone;
  }
}

double DecayAt(const Decay& decay, double distance) {
  const double share = distance / decay.scale;
  switch (decay.shape) {
    case Decay::Shape::kGauss: return std::exp2(-share * share);
    case Decay::Shape::kLinear: return std::max(0.0, 1 - share / 2);
    default: return std::exp2(-share);
  }
}

void AppendFormulaValues(const index::Snapshot& snapshot, const index::SegmentView& segment,
                         const Formula& formula, const FormulaInputs& inputs,
                         const DocSet& documents, std::vector<DocumentValue>& out) {
  if (documents.empty()) return;
  std::vector<std::pair<uint32_t, DocId>> batch;
  batch.reserve(kBatch);
  Machine machine(formula, inputs, ColumnsOf(snapshot, segment, formula));
  const auto run = [&] {
    StopPoint();
    machine.Run(batch, out);
    batch.clear();
  };
  segment::ForEachLocal(segment.rows->local_docids(), documents, [&](uint32_t local, DocId docid) {
    batch.emplace_back(local, docid);
    if (batch.size() == kBatch) run();
  });
  if (!batch.empty()) run();
}

}  // namespace gannet::search
