#include "search/ranking/formula_first.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/stop_point.h"
#include "bitmap/postings_codec.h"
#include "search/ranking/formula_bounds.h"
#include "segment/local_docids.h"

namespace gannet::search {
namespace {

using segment::ColumnReader;
using segment::DocSetCache;
using segment::GeoIndex;

// Ranges into which the numbers of a field are cut.
constexpr uint32_t kRangesMax = 48;
// A range that is too wide is cut into this number of ranges, and how often this is done.
constexpr uint32_t kPartsMax = 8;
constexpr int kCutsMax = 3;
// The nodes that the points of documents are first divided into.
constexpr size_t kNodesMax = 96;
constexpr size_t kCutNodesMax = 16;
// A field is not looked at if more of the documents remain.
constexpr double kKeptShareMax = 0.75;
// Nor a segment of which only one document in this number is ranked.
constexpr size_t kRankedShare = 16;
// The documents that are computed at first, per wanted one, and how many times as many next.
constexpr double kComputedPerWanted = 6;
constexpr double kComputedGrowth = 8;
// To compute this number of documents costs less than to look at another field.
constexpr uint64_t kFewComputed = 256;

constexpr Ordinal kOfPoints = 1 << 16;  // no field
// Apart from those of words.
constexpr auto kOfColumns = static_cast<DocSetCache::Kind>(1 << 18);

// Less than those of all documents without a value.
constexpr double kNoRank = -std::numeric_limits<double>::infinity();

// Greater comes first.
double RankOfValue(double value, bool ascending) {
  if (std::isnan(value)) return kNoRank;
  return ascending ? -value : value;
}

struct Range {
  ColumnReader::ValueRange values{};  // or points, by their numbers in a node of the tree
  uint32_t level = 0, node = 0;
  FieldDomain domain;  // of points: their distances
  double rank = 0;     // none of its documents has a better one
  double share = 0;    // of the documents, estimated
};

// Appends numbers of a field, cut into at most `ranges_max` ranges.
void CutNumbers(const ColumnReader& column, ColumnReader::ValueRange numbers, uint32_t ranges_max,
                std::vector<Range>& out) {
  constexpr uint32_t kGroup = ColumnReader::kGroupValues;
  uint32_t size = std::max(1u, (numbers.end - numbers.begin + ranges_max - 1) / ranges_max);
  // The documents of a group are stored, which pays where values have few.
  if (size > kGroup / 8 && column.number_count() > column.document_count() / kGroup)
    size = (size + kGroup - 1) / kGroup * kGroup;
  for (uint32_t begin = numbers.begin; begin < numbers.end; begin += size) {
    Range& range = out.emplace_back();
    range.values = {begin, std::min(begin + size, numbers.end)};
    range.domain.numbers = {column.numbers()[begin], column.numbers()[range.values.end - 1]};
  }
}

// Appends nodes of one level of a tree.
void AppendNodes(const GeoIndex& points, filter::GeoPoint from, uint32_t level, uint32_t begin,
                 uint32_t end, std::vector<Range>& out) {
  for (uint32_t node = begin; node < end; ++node) {
    Range& range = out.emplace_back();
    range.level = level;
    range.node = node;
    uint32_t first = node, last = node;
    for (uint32_t l = level; l > 0; --l) {
      first = points.level(l)[first].begin;
      last = points.level(l)[last].end - 1;
    }
    range.values = {points.level(0)[first].begin, points.level(0)[last].end};
    const auto bounds = GeoIndex::DistanceBounds(points.level(level)[node], from);
    range.domain.numbers = {bounds.min, bounds.max};
  }
}

// The ranges of points.
std::vector<Range> RangesOf(const GeoIndex& points, filter::GeoPoint from) {
  std::vector<Range> ranges;
  uint32_t level = 0;
  while (level + 1 < points.level_count() && points.level(level).size() > kNodesMax) ++level;
  if (points.regular() > 0) {
    const auto nodes = static_cast<uint32_t>(points.level(level).size());
    AppendNodes(points, from, level, 0, nodes, ranges);
  }
  if (points.regular() < points.size()) {
    ranges.emplace_back().values = {points.regular(), points.size()};
    ranges.back().domain.numbers = {0, std::numeric_limits<double>::infinity()};
  }
  ranges.emplace_back().domain.missing = true;
  return ranges;
}

// The ranges of the values of one field.
std::vector<Range> RangesOf(const ColumnReader& column) {
  std::vector<Range> ranges;
  const uint32_t numbers = column.number_count();
  CutNumbers(column, {0, numbers}, kRangesMax, ranges);
  if (column.string_count() > 0) {
    ranges.emplace_back().values = {numbers, column.value_count()};
    ranges.back().domain.strings = true;
  }
  ranges.emplace_back().domain.missing = true;
  return ranges;
}

// The documents of one segment.
class PrunedSegment {
 public:
  PrunedSegment(const index::Snapshot& snapshot, const index::SegmentView& view,
                const filter::Formula& formula, DocSet documents)
      : snapshot_(&snapshot),
        view_(&view),
        formula_(&formula),
        documents_(std::move(documents)),
        size_(documents_.size()) {
    const auto documents_in = static_cast<double>(view.documents->size());
    const auto column_of = [&](const std::string& name) -> std::pair<FieldId, const ColumnReader*> {
      const auto id = snapshot.fields->Find(name);
      return {id.value_or(0), id ? view.columns->Find(*id) : nullptr};
    };
    for (uint32_t n = 0; n < formula.fields.size(); ++n) {
      const auto [id, column] = column_of(formula.fields[n]);
      if (column == nullptr) continue;
      fields_.push_back({.number = n,
                         .key = id,
                         .column = column,
                         .valued = PostingsCount(column->valued_bytes()) / documents_in,
                         .ranges = RangesOf(*column)});
    }
    for (uint32_t n = 0; n < formula.decays.size(); ++n) {
      if (formula.decays[n].kind != filter::Decay::Kind::kPoint) continue;
      const auto [lat, lats] = column_of("_geo.lat");
      const auto [lng, lngs] = column_of("_geo.lng");
      if (lats == nullptr || lngs == nullptr) continue;
      const GeoIndex& points = view.columns->Points(lat, lng, view.rows->docids());
      if (points.size() == 0) continue;
      fields_.push_back({.number = static_cast<uint32_t>(formula.fields.size()) + n,
                         .key = kOfPoints,
                         .points = &points,
                         .from = formula.decays[n].point,
                         .valued = points.size() / documents_in,
                         .ranges = RangesOf(points, formula.decays[n].point)});
    }
  }

  bool has_ranges() const { return !fields_.empty(); }
  uint64_t size() const { return size_; }

  // Orders the ranges of each field, best first. Those in which the last of a share of the
  // documents are become narrower.
  void Order(double now, bool ascending, double share) {
    now_ = now;
    ascending_ = ascending;
    domains_.assign(formula_->fields.size() + formula_->decays.size(),
                    {.numbers = {}, .missing = true});
    for (const Field& field : fields_) {
      for (const Range& range : field.ranges) domains_[field.number].Add(range.domain);
    }
    for (Field& field : fields_) OrderFrom(field, 0);
    std::sort(ranks_.begin(), ranks_.end(), std::greater<>());
    for (int cut = 0; cut < kCutsMax; ++cut) {
      const double rank = RankOfShare(share);
      if (ShareOf(rank) <= share * 2) return;
      Narrow(rank);
    }
  }

  // A rank that about this share of the documents can have, if fields are independent and all
  // values of a field have as many documents.
  double RankOfShare(double share) const {
    const auto found = std::partition_point(ranks_.begin(), ranks_.end(),
                                            [&](double rank) { return ShareOf(rank) < share; });
    return found == ranks_.end() ? kNoRank : *found;
  }

  // Computes the documents that can have at least a rank and were not computed before.
  void Compute(double rank, const FormulaInputs& inputs, std::vector<DocumentValue>& values) {
    if (rank >= computed_rank_) return;
    computed_rank_ = rank;
    const double few = static_cast<double>(kFewComputed) / static_cast<double>(size_);
    for (int cut = 0; cut < kCutsMax && rank > kNoRank && ShareOf(rank) > few; ++cut) Narrow(rank);
    DocSet documents = Reaching(rank);
    documents -= computed_;
    AppendFormulaValues(*snapshot_, *view_, *formula_, inputs, documents, values);
    computed_ |= documents;
  }

 private:
  // An attribute of the formula, or the points of documents.
  struct Field {
    uint32_t number;                       // among the domains of BoundsOf
    Ordinal key;                           // for cached documents
    const ColumnReader* column = nullptr;  // null: points
    const GeoIndex* points = nullptr;
    filter::GeoPoint from{};
    double valued;  // share of the documents that have a value
    std::vector<Range> ranges;

    std::span<const Range> Kept(double rank) const {
      const auto end = std::partition_point(ranges.begin(), ranges.end(),
                                            [&](const Range& range) { return range.rank >= rank; });
      return {ranges.begin(), end};
    }
    double KeptShare(double rank) const {
      double share = 0;
      for (const Range& range : Kept(rank)) share += range.share;
      return share;
    }
    double ShareOf(const Range& range) const {
      const double values = column != nullptr ? column->value_count() : points->size();
      return range.domain.missing ? 1 - valued
                                  : valued * (range.values.end - range.values.begin) / values;
    }
    // Cuts a range. The parts are at the end. False: it is not cut.
    bool Cut(size_t number) {
      const Range whole = ranges[number];
      const bool one = column == nullptr ? whole.level == 0
                                         : whole.domain.numbers.empty() ||
                                               whole.values.end - whole.values.begin == 1;
      if (one || whole.domain.missing) return false;
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(number));
      if (column != nullptr) {
        CutNumbers(*column, whole.values, kPartsMax, ranges);
      } else {
        const GeoIndex::Node& node = points->level(whole.level)[whole.node];
        AppendNodes(*points, from, whole.level - 1, node.begin, node.end, ranges);
      }
      return true;
    }
  };
  struct Kept {
    const Field* field = nullptr;
    double share = 0;
    bool missing = false;                          // documents without a value too
    std::vector<ColumnReader::ValueRange> values;  // ascending
  };

  // Ranks and orders the ranges of a field, of which some are ranked already.
  void OrderFrom(Field& field, size_t first) {
    const FieldDomain any = domains_[field.number];
    for (Range& range : std::span(field.ranges).subspan(first)) {
      StopPoint();
      domains_[field.number] = range.domain;
      const Interval bounds = BoundsOf(*formula_, now_, domains_);
      range.rank = bounds.empty() ? kNoRank : ascending_ ? -bounds.low : bounds.high;
      range.share = field.ShareOf(range);
      ranks_.push_back(range.rank);
    }
    domains_[field.number] = any;
    std::stable_sort(field.ranges.begin(), field.ranges.end(),
                     [](const Range& a, const Range& b) { return a.rank > b.rank; });
  }

  // Cuts the last range of each field that can have a rank, and a few nodes of points.
  void Narrow(double rank) {
    for (Field& field : fields_) {
      const size_t kept = field.Kept(rank).size();
      const size_t cut = field.points != nullptr && kept <= kCutNodesMax ? kept : kept > 0 ? 1 : 0;
      size_t ranked = field.ranges.size();
      for (size_t i = 0; i < cut; ++i) ranked -= field.Cut(kept - 1 - i) ? 1 : 0;
      if (ranked < field.ranges.size()) OrderFrom(field, ranked);
    }
    std::sort(ranks_.begin(), ranks_.end(), std::greater<>());
  }

  double ShareOf(double rank) const {
    double share = 1;
    for (const Field& field : fields_) share *= field.KeptShare(rank);
    return share;
  }

  // The fields that drop some documents, best first.
  std::vector<Kept> KeptOf(double rank) const {
    std::vector<Kept> all;
    for (const Field& field : fields_) {
      const double share = field.KeptShare(rank);
      if (share > kKeptShareMax) continue;
      Kept& one = all.emplace_back();
      one.field = &field;
      one.share = share;
      std::vector<ColumnReader::ValueRange> values;
      for (const Range& range : field.Kept(rank)) {
        one.missing = one.missing || range.domain.missing;
        if (!range.domain.missing) values.push_back(range.values);
      }
      std::sort(values.begin(), values.end(),
                [](const auto& a, const auto& b) { return a.begin < b.begin; });
      for (const ColumnReader::ValueRange& next : values) {
        if (!one.values.empty() && one.values.back().end == next.begin) {
          one.values.back().end = next.end;
        } else {
          one.values.push_back(next);
        }
      }
    }
    std::sort(all.begin(), all.end(),
              [](const Kept& a, const Kept& b) { return a.share < b.share; });
    return all;
  }

  // The documents that can have at least a rank, and possibly others.
  DocSet Reaching(double rank) const {
    const std::vector<Kept> kept = KeptOf(rank);
    if (kept.empty()) return documents_;
    // The columns of a segment may be built again, with other values.
    std::vector<Ordinal> made_from = {static_cast<Ordinal>(view_->files.columns_file),
                                      static_cast<Ordinal>(view_->files.columns_file >> 32)};
    for (const Kept& one : kept) {
      made_from.insert(made_from.end(),
                       {one.field->key, one.missing, static_cast<Ordinal>(one.values.size())});
      for (const auto& [begin, end] : one.values) made_from.insert(made_from.end(), {begin, end});
    }
    const DocSetCache& cache = view_->text->docset_cache();
    const std::string key = DocSetCache::KeyOf(kOfColumns, made_from);
    if (const auto cached = cache.Find(key)) return *cached & documents_;
    DocSet found;
    uint64_t cost = 0;
    for (const Kept& one : kept) {
      StopPoint();
      if (cost > 0 && found.size() <= kFewComputed) break;
      DocSet documents = DocumentsOf(one);
      cost += documents.size() * sizeof(uint16_t) + 1;
      if (&one != &kept.front()) documents &= found;
      found = std::move(documents);
    }
    cache.Store(key, found, cost);
    return found & documents_;
  }

  DocSet DocumentsOf(const Kept& kept) const {
    const ColumnReader* column = kept.field->column;
    if (column != nullptr) {
      DocSet found = column->UnionOf(kept.values);
      if (kept.missing) found |= *view_->documents - DecodePostings(column->valued_bytes());
      return found;
    }
    const GeoIndex& points = *kept.field->points;
    std::vector<DocId> docids;
    StopCounter steps;
    const auto add = [&](uint32_t begin, uint32_t end) {
      for (; begin < end; ++begin) {
        steps.Step();
        docids.push_back(points.docid(begin));
      }
    };
    if (!kept.missing) {
      for (const auto& [begin, end] : kept.values) add(begin, end);
      return segment::DocSetOf(docids);
    }
    uint32_t at = 0;
    for (const auto& [begin, end] : kept.values) {
      add(at, begin);
      at = end;
    }
    add(at, points.size());
    return *view_->documents - segment::DocSetOf(docids);
  }

  const index::Snapshot* snapshot_;
  const index::SegmentView* view_;
  const filter::Formula* formula_;
  DocSet documents_, computed_;
  uint64_t size_;  // of documents_
  double now_ = 0;
  bool ascending_ = false;
  std::vector<FieldDomain> domains_;                                // of all documents
  double computed_rank_ = std::numeric_limits<double>::infinity();  // all from it on are computed
  std::vector<Field> fields_;                                       // that have values
  std::vector<double> ranks_;                                       // of all ranges, best first
};

// The rank of the last of the first `wanted` documents; kNoRank: fewer have a value.
double LastRank(const std::vector<DocumentValue>& values, const FirstOptions& options) {
  if (values.size() < options.wanted || options.wanted == 0) return kNoRank;
  std::vector<double> ranks;
  ranks.reserve(values.size());
  for (const DocumentValue& one : values)
    ranks.push_back(RankOfValue(one.value, options.ascending));
  const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(options.wanted - 1);
  std::nth_element(ranks.begin(), last, ranks.end(), std::greater<>());
  return *last;
}

}  // namespace

std::vector<DocumentValue> FirstByFormula(const index::Snapshot& snapshot,
                                          const filter::Formula& formula,
                                          const FormulaInputs& inputs, const DocSet& documents,
                                          const FirstOptions& options) {
  std::vector<DocumentValue> values;
  std::vector<PrunedSegment> pruned;
  uint64_t total = 0;
  for (const auto& segment : snapshot.segments) {
    DocSet wanted = documents & segment->live;
    if (wanted.empty()) continue;
    const size_t size = wanted.size();
    if (!formula.uses_scores && size >= options.pruned_min && size / 8 >= options.wanted &&
        size * kRankedShare >= segment->documents->size()) {
      PrunedSegment one(snapshot, *segment, formula, DocSet(wanted));
      if (one.has_ranges()) {
        total += size;
        pruned.push_back(std::move(one));
        continue;
      }
    }
    AppendFormulaValues(snapshot, *segment, formula, inputs, wanted, values);
  }
  const auto compute = [&](const auto& rank_of) {
    for (PrunedSegment& one : pruned) one.Compute(rank_of(one), inputs, values);
  };
  // First some that are likely to be among the first, then all that can be.
  double share = kComputedPerWanted * static_cast<double>(options.wanted + 1) /
                 static_cast<double>(std::max<uint64_t>(total, 1));
  for (PrunedSegment& one : pruned) one.Order(inputs.now, options.ascending, share);
  for (; share < 1 && LastRank(values, options) == kNoRank; share *= kComputedGrowth)
    compute([&](const PrunedSegment& one) { return one.RankOfShare(share); });
  compute([&](const PrunedSegment&) { return LastRank(values, options); });
  return values;
}

}  // namespace gannet::search
