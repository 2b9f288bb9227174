#include "indexing/merge_columns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "bitmap/postings_codec.h"

namespace gannet::indexing {
namespace {

using segment::ColumnPart;
using segment::ColumnReader;
using segment::ColumnWriter;

// Values or documents between two pauses.
constexpr uint32_t kValuesPerPause = 1024;

std::optional<DocId> FirstLive(const LiveList& list) {
  std::optional<DocId> first;
  PostingsReader(list.postings).ForEach([&](DocId docid) {
    if (list.documents->Contains(docid)) first = docid;
    return !first;
  });
  return first;
}

}  // namespace

ColumnMerge::ColumnMerge(std::span<const ColumnSource> sources, std::span<const MergeRun> runs,
                         std::span<const DocId> docids, SpellingOf spelling_of, Pause pause)
    : sources_(sources),
      runs_(runs),
      docids_(docids),
      spelling_of_(std::move(spelling_of)),
      pause_(std::move(pause)) {}

Status ColumnMerge::Write(ColumnWriter& out) {
  GANNET_RETURN_IF_ERROR(WriteLists(out));
  out.Append(ColumnPart::kNumbers, BytesOf(numbers_));
  std::vector<double>().swap(numbers_);
  WriteStringParts(out);
  GANNET_RETURN_IF_ERROR(WriteCodes(out));
  WriteMarks(out);
  out.Finish(segment::CodeWidth(value_count_));
  return pause_(out.bytes());
}

template <typename ValueOf, typename Take>
Status ColumnMerge::WalkValues(std::vector<Walk> walks, const ValueOf& value_of, const Take& take,
                               segment::ValueListsWriter& lists, const ColumnWriter& out) {
  std::vector<Walk*> same;
  std::string postings;
  for (uint32_t steps = 1;; ++steps) {
    std::erase_if(walks, [](const Walk& walk) { return walk.at == walk.end; });
    if (walks.empty()) return Status::Ok();
    same.clear();
    for (Walk& walk : walks) {
      if (!same.empty() && value_of(*same[0]) < value_of(walk)) continue;
      if (!same.empty() && value_of(walk) < value_of(*same[0])) same.clear();
      same.push_back(&walk);
    }
    lists_.clear();
    for (const Walk* walk : same)
      lists_.push_back({sources_[walk->source].live, column(walk->source).postings(walk->at)});
    joined_.Join(lists_);
    if (!joined_.empty()) {
      for (const Walk* walk : same) new_values_[walk->source][walk->at] = value_count_;
      ++value_count_;
      GANNET_RETURN_IF_ERROR(take(same));
      postings.clear();
      joined_.AppendPostingsTo(postings);
      lists.Add(postings);
    }
    for (Walk* walk : same) ++walk->at;
    if (steps % kValuesPerPause == 0) GANNET_RETURN_IF_ERROR(pause_(out.bytes()));
  }
}

// Numbers come before strings.
Status ColumnMerge::WriteLists(ColumnWriter& out) {
  new_values_.resize(sources_.size());
  std::vector<Walk> numbers, strings;
  for (uint32_t s = 0; s < sources_.size(); ++s) {
    if (sources_[s].column == nullptr) continue;
    new_values_[s].assign(column(s).value_count(), kNoValue);
    numbers.push_back({s, 0, column(s).number_count()});
    strings.push_back({s, column(s).number_count(), column(s).value_count()});
  }
  segment::ValueListsWriter lists(out);
  const auto number_of = [&](const Walk& walk) { return column(walk.source).numbers()[walk.at]; };
  const auto take_number = [&](std::span<Walk* const> same) {
    numbers_.push_back(number_of(*same[0]));
    return Status::Ok();
  };
  GANNET_RETURN_IF_ERROR(WalkValues(std::move(numbers), number_of, take_number, lists, out));
  const auto string_of = [&](const Walk& walk) {
    return column(walk.source).string(NumberOf(walk));
  };
  const auto take_string = [&](std::span<Walk* const> same) { return TakeString(same); };
  GANNET_RETURN_IF_ERROR(WalkValues(std::move(strings), string_of, take_string, lists, out));
  lists.Finish();
  return Status::Ok();
}

// Takes the spelling of the live document with the lowest docid. lists_: of the walks.
Status ColumnMerge::TakeString(std::span<Walk* const> same) {
  const Walk* first = nullptr;
  DocId first_docid = 0;
  bool varies = false;
  for (size_t i = 0; i < same.size(); ++i) {
    const auto docid = FirstLive(lists_[i]);
    if (!docid) continue;
    const ColumnReader& own = column(same[i]->source);
    varies |= own.spelling_varies(NumberOf(*same[i]));
    varies |= first != nullptr &&
              own.spelling(NumberOf(*same[i])) != column(first->source).spelling(NumberOf(*first));
    if (first != nullptr && *docid > first_docid) continue;
    first = same[i];
    first_docid = *docid;
  }
  const ColumnSource& source = sources_[first->source];
  const uint32_t number = NumberOf(*first);
  if (source.column->spelling_varies(number) && !source.live->all()) {
    const auto local = std::lower_bound(source.docids.begin(), source.docids.end(), first_docid) -
                       source.docids.begin();
    GANNET_ASSIGN_OR_RETURN(
        std::string found,
        spelling_of_(first->source, static_cast<uint32_t>(local), source.column->string(number)));
    if (!found.empty()) spellings_.emplace(strings_.size(), std::move(found));
  }
  strings_.push_back({first->source, number});
  varies_.push_back(varies);
  return Status::Ok();
}

void ColumnMerge::WriteStringParts(ColumnWriter& out) const {
  segment::WriteStrings(out, static_cast<uint32_t>(strings_.size()), [&](uint32_t i) {
    const ColumnReader& from = column(strings_[i].source);
    const auto found = spellings_.find(i);
    const std::string_view spelling =
        found == spellings_.end() ? from.spelling(strings_[i].number) : found->second;
    return segment::ColumnString{from.string(strings_[i].number), spelling, varies_[i]};
  });
}

bool ColumnMerge::IsSingleValued() const {
  for (const MergeRun& run : runs_) {
    const ColumnReader* own = sources_[run.source].column;
    if (own == nullptr || own->single_valued()) continue;
    for (uint32_t i = 0; i < run.count; ++i) {
      if (own->ValueCount(run.local + i) > 1) return false;
    }
  }
  return true;
}

void ColumnMerge::WriteDocOffsets(ColumnWriter& out) const {
  std::vector<uint32_t> offsets{0};
  uint32_t end = 0;
  for (const MergeRun& run : runs_) {
    const ColumnReader* own = sources_[run.source].column;
    for (uint32_t i = 0; i < run.count; ++i) {
      if (own != nullptr) end += own->ValueCount(run.local + i);
      offsets.push_back(end);
      if (offsets.size() < kValuesPerPause) continue;
      out.Append(ColumnPart::kDocOffsets, BytesOf(offsets));
      offsets.clear();
    }
  }
  out.Append(ColumnPart::kDocOffsets, BytesOf(offsets));
}

Status ColumnMerge::WriteCodes(ColumnWriter& out) {
  const bool single = IsSingleValued();
  if (!single) WriteDocOffsets(out);
  const uint32_t width = segment::CodeWidth(value_count_);
  std::string codes;
  const auto put = [&](uint32_t code) {
    codes.append(reinterpret_cast<const char*>(&code), width);
  };
  uint32_t done = 0;
  for (const MergeRun& run : runs_) {
    const ColumnReader* own = sources_[run.source].column;
    const std::vector<ValueOrdinal>& new_values = new_values_[run.source];
    for (uint32_t i = 0; i < run.count; ++i, ++done) {
      bool any = false, known = true;
      const auto put_value = [&](ValueOrdinal value) {
        any = true;
        known &= value < new_values.size() && new_values[value] != kNoValue;
        if (known) put(new_values[value] + (single ? 1 : 0));
      };
      if (own != nullptr) own->ForEachValue(run.local + i, put_value);
      if (!known) return Status::Corruption("a column of a segment is damaged");
      if (any) valued_.push_back(docids_[done]);
      if (single && !any) put(0);
      if (done % kValuesPerPause != 0) continue;
      out.Append(ColumnPart::kCodes, codes);
      codes.clear();
      GANNET_RETURN_IF_ERROR(pause_(out.bytes()));
    }
  }
  out.Append(ColumnPart::kCodes, codes);
  return Status::Ok();
}

void ColumnMerge::WriteMarks(ColumnWriter& out) {
  std::string postings;
  const auto mark = [&](ColumnPart part, std::string_view (ColumnReader::*bytes)() const) {
    lists_.clear();
    for (const ColumnSource& source : sources_) {
      if (source.column != nullptr) lists_.push_back({source.live, (source.column->*bytes)()});
    }
    joined_.Join(lists_);
    postings.clear();
    joined_.AppendPostingsTo(postings);
    out.Append(part, postings);
  };
  mark(ColumnPart::kExists, &ColumnReader::exists_bytes);
  mark(ColumnPart::kNull, &ColumnReader::null_bytes);
  mark(ColumnPart::kEmpty, &ColumnReader::empty_bytes);
  postings.clear();
  AppendPostings(valued_, postings);
  out.Append(ColumnPart::kValued, postings);
}

}  // namespace gannet::indexing
