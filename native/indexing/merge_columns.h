// Writes one column of several segments, or of parts of one, again as one, without the documents
// that are dead.
//
// The values of each source are in order, so all sources are walked at the same time, as words are:
// a value is kept if a live document has it. Nothing is looked up or sorted, and only small parts
// of the new column are held as a whole.
//
// Memory: 4 bytes per value of the sources, up to 16 per value of the new column, 4 per document,
// and the unions of its lists.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "indexing/live_lists.h"
#include "segment/columns.h"

namespace gannet::indexing {

// Documents that follow each other both in a source and in the result.
struct MergeRun {
  uint32_t source, local, count;
};

struct ColumnSource {
  const segment::ColumnReader* column;  // null: no document has the field
  const LiveDocuments* live;
  std::span<const DocId> docids;  // by local docid
};

class ColumnMerge {
 public:
  // How the document at a local docid of a source spells a string of the column. Called only if the
  // spelling stored in the source may be that of a dead document; empty: use the spelling of the
  // source.
  using SpellingOf = std::function<Result<std::string>(size_t source, uint32_t local,
                                                       std::string_view normalised)>;
  // Called now and then with the bytes written so far; any status but Ok ends the merge.
  using Pause = std::function<Status(uint64_t bytes)>;

  // runs: of the live documents, in docid order. docids: those of the live documents. All arguments
  // must outlive the merge.
  ColumnMerge(std::span<const ColumnSource> sources, std::span<const MergeRun> runs,
              std::span<const DocId> docids, SpellingOf spelling_of, Pause pause);

  // Corruption: a document has a value that its source does not list. Other errors come from the
  // functions passed in.
  Status Write(segment::ColumnWriter& out);

  // After Write: by value of a source, the value of the new column; kNoValue if no live document
  // has it.
  using ValueOrdinal = segment::ValueOrdinal;
  static constexpr ValueOrdinal kNoValue = ~ValueOrdinal{0};
  std::span<const ValueOrdinal> new_values(size_t source) const { return new_values_[source]; }
  ValueOrdinal value_count() const { return value_count_; }

 private:
  // A walk through the numbers or the strings of a source.
  struct Walk {
    uint32_t source;
    ValueOrdinal at, end;
  };
  // A string of the new column, with the source whose spelling counts.
  struct Taken {
    uint32_t source, number;
  };

  const segment::ColumnReader& column(size_t source) const { return *sources_[source].column; }
  // The index of the current string of a walk among the strings of its source.
  uint32_t NumberOf(const Walk& walk) const { return walk.at - column(walk.source).number_count(); }
  Status WriteLists(segment::ColumnWriter& out);
  // Walks through the values of all sources in order. value_of(const Walk&): the value to compare;
  // take(walks at the same value): called for each value that a live document has.
  template <typename ValueOf, typename Take>
  Status WalkValues(std::vector<Walk> walks, const ValueOf& value_of, const Take& take,
                    segment::ValueListsWriter& lists, const segment::ColumnWriter& out);
  Status TakeString(std::span<Walk* const> same);
  void WriteStringParts(segment::ColumnWriter& out) const;
  bool IsSingleValued() const;
  void WriteDocOffsets(segment::ColumnWriter& out) const;
  Status WriteCodes(segment::ColumnWriter& out);
  void WriteMarks(segment::ColumnWriter& out);

  std::span<const ColumnSource> sources_;
  std::span<const MergeRun> runs_;
  std::span<const DocId> docids_;
  SpellingOf spelling_of_;
  Pause pause_;

  std::vector<std::vector<ValueOrdinal>> new_values_;  // by source, then value
  ValueOrdinal value_count_ = 0;
  std::vector<double> numbers_;
  std::vector<Taken> strings_;
  std::vector<bool> varies_;  // by string
  std::unordered_map<size_t, std::string>
      spellings_;  // by string, where it differs from the source's
  std::vector<DocId> valued_;

  // Scratch.
  LiveLists joined_;
  std::vector<LiveList> lists_;
};

}  // namespace gannet::indexing
