#include "indexing/merge.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "base/json_reader.h"
#include "fst/builder.h"
#include "indexing/live_lists.h"
#include "indexing/merge_columns.h"
#include "indexing/merge_elements.h"
#include "segment/columns.h"
#include "segment/file.h"
#include "segment/layout.h"
#include "segment/rows.h"
#include "segment/text.h"
#include "segment/vectors.h"
#include "text/normalize.h"

namespace gannet::indexing {
namespace {

using index::SegmentView;
using segment::ForwardWriter;

// The policy of ChooseMerge. Segments of the same size are joined four at a time, so that a bulk
// load ends with few. When there are too many, segments of similar sizes are joined, so that the
// smaller ones grow markedly.
constexpr size_t kAlikeMin = 4;
constexpr uint64_t kAlikeRatio = 2, kBalanceRatio = 2;
constexpr size_t kForcedCount = 3;
// A segment is rewritten if its dead documents hold more than 1 / kDeadShare of it, but never for
// less than kDeadBytesMin.
constexpr uint64_t kDeadShare = 5, kDeadBytesMin = 64 << 10;
// Merges are pressing if dead documents hold more than 1 / kPressingDeadShare of the bytes of live
// ones, or at this many segments.
constexpr uint64_t kPressingDeadShare = 2;
constexpr size_t kPressingCount = 2 * kSegmentsMax;
// Rows or words between two checks of `cancelled` and the clock.
constexpr uint32_t kItemsPerPause = 1024;
// Words whose postings are read ahead: 130 KB on average.
constexpr Ordinal kWordsAhead = 256;
constexpr auto kSleepMax = std::chrono::milliseconds(20);

// Limits the rate of a merge and lets it stop early.
class Pace {
 public:
  Pace(const std::atomic<bool>& cancelled, uint64_t bytes_per_second)
      : cancelled_(cancelled),
        bytes_per_second_(bytes_per_second),
        begin_(std::chrono::steady_clock::now()) {}

  // bytes: written so far. Sleeps until that is within the rate.
  Status Pause(uint64_t bytes) {
    for (;;) {
      if (cancelled_.load(std::memory_order_relaxed))
        return Status::Cancelled("The merge was stopped.");
      if (bytes_per_second_ == 0) return Status::Ok();
      const auto due =
          begin_ + std::chrono::microseconds(static_cast<int64_t>(
                       static_cast<double>(bytes) * 1e6 / static_cast<double>(bytes_per_second_)));
      const auto now = std::chrono::steady_clock::now();
      if (now >= due) return Status::Ok();
      std::this_thread::sleep_for(
          std::min<std::chrono::steady_clock::duration>(due - now, kSleepMax));
    }
  }

 private:
  const std::atomic<bool>& cancelled_;
  const uint64_t bytes_per_second_;
  const std::chrono::steady_clock::time_point begin_;
};

// A segment that is merged, and the new form of its parts.
class Source {
 public:
  explicit Source(std::shared_ptr<const SegmentView> view)
      : view_(std::move(view)),
        live_(view_->all_live() ? LiveDocuments() : LiveDocuments(view_->live)) {}

  const SegmentView& view() const { return *view_; }
  const LiveDocuments& live() const { return live_; }

  std::vector<Ordinal> new_ordinals;

 private:
  std::shared_ptr<const SegmentView> view_;
  LiveDocuments live_;
};

class Merge {
 public:
  Merge(const index::Snapshot& snapshot, std::vector<Source> sources,
        segment::SegmentFileWriter& file, Pace& pace)
      : snapshot_(snapshot), sources_(std::move(sources)), file_(file), pace_(pace) {}

  Status WriteAll() {
    GANNET_RETURN_IF_ERROR(OrderDocuments());
    GANNET_RETURN_IF_ERROR(WriteRows());
    GANNET_RETURN_IF_ERROR(WriteWords());
    GANNET_RETURN_IF_ERROR(WriteForward());
    GANNET_RETURN_IF_ERROR(WriteColumns());
    GANNET_RETURN_IF_ERROR(WriteVectors());
    for (const Source& source : sources_) GANNET_RETURN_IF_ERROR(source.view().Health());
    return file_.Finish();
  }

 private:
  using Fields = std::vector<std::pair<FieldId, std::string_view>>;
  struct Walk {  // through the words of one source
    size_t source;
    fst::Fst::Iterator at;
  };
  struct Part {      // a list of one source
    uint32_t field;  // or the list of an early position
    uint32_t walk;   // index of its source among those of the word
    std::string_view postings;
  };
  struct Joined {  // the lists of a word
    std::vector<Part> parts;
    std::vector<LiveList> lists;
    LiveLists joined;
  };

  Status OrderDocuments();
  Status WriteRows();
  Status WriteWords();
  // Writes the lists of the word that these sources are at. False: no live document has it. word:
  // reused for the next one.
  Result<bool> JoinWord(std::span<Walk* const> same, Joined& word,
                        segment::PostingsWriter& postings);
  Status WriteForward();
  Status WriteColumns();
  Status WriteVectors();
  Status WriteColumn(FieldId field, const ElementMerge& elements, const ColumnMerge::Pause& pause,
                     segment::ColumnsWriter& out);
  // How the document at a local docid spells a value of a column; empty if it does not have it.
  Result<std::string> SpellingIn(const Source& source, uint32_t local, FieldId field,
                                 std::string_view normalised);
  Status Damaged(const Source& source) const {
    return Status::Corruption("the segment file " + source.view().rows->file()->path() +
                              " is damaged");
  }

  const index::Snapshot& snapshot_;
  std::vector<Source> sources_;
  segment::SegmentFileWriter& file_;
  Pace& pace_;
  uint64_t bytes_ = 0;  // written in the sections before the current one

  std::vector<MergeRun> runs_;
  std::vector<DocId> merged_docids_;  // by new local docid
  uint32_t word_count_ = 0;
  std::vector<Ordinal> frequent_words_;
};

// Step 1: selects the documents, in docid order.
Status Merge::OrderDocuments() {
  std::vector<uint32_t> next(sources_.size(), 0);
  const auto docids_of = [&](size_t s) { return sources_[s].view().rows->docids(); };
  const auto skip_dead = [&](size_t s) {
    const auto docids = docids_of(s);
    while (next[s] < docids.size() && !sources_[s].live().Contains(docids[next[s]])) ++next[s];
  };
  for (size_t s = 0; s < sources_.size(); ++s) skip_dead(s);
  for (;;) {
    // The source to continue, and the docid at which another source interrupts it.
    size_t first = sources_.size();
    uint64_t lowest = ~uint32_t{0}, limit = uint64_t{1} << 32;
    for (size_t s = 0; s < sources_.size(); ++s) {
      const auto docids = docids_of(s);
      if (next[s] >= docids.size()) continue;
      const uint64_t docid = docids[next[s]];
      if (first == sources_.size() || docid < lowest) {
        if (first != sources_.size()) limit = std::min(limit, lowest);
        lowest = docid;
        first = s;
      } else {
        limit = std::min(limit, docid);
      }
    }
    if (first == sources_.size()) return Status::Ok();
    if (limit == lowest || (!merged_docids_.empty() && merged_docids_.back() >= lowest))
      return Damaged(sources_[first]);
    const auto docids = docids_of(first);
    while (next[first] < docids.size() && docids[next[first]] < limit) {
      const uint32_t local = next[first];
      if (!runs_.empty() && runs_.back().source == first &&
          runs_.back().local + runs_.back().count == local) {
        ++runs_.back().count;
      } else {
        runs_.push_back({static_cast<uint32_t>(first), local, 1});
      }
      merged_docids_.push_back(docids[local]);
      ++next[first];
      skip_dead(first);
    }
  }
}

// Step 2: copies stored documents in compressed form.
Status Merge::WriteRows() {
  segment::RowsWriter rows(file_);
  uint32_t done = 0;
  for (const auto& run : runs_) {
    const Source& source = sources_[run.source];
    for (uint32_t i = 0; i < run.count; ++i) {
      if (i % kItemsPerPause == 0)
        source.view().rows->WillNeed(run.local + i, std::min(run.count - i, kItemsPerPause));
      const std::string_view row = source.view().rows->at(run.local + i);
      if (row.empty()) return Damaged(source);
      rows.Add(merged_docids_[done], row);
      if (++done % kItemsPerPause == 0) GANNET_RETURN_IF_ERROR(pace_.Pause(bytes_ + rows.bytes()));
    }
  }
  rows.Finish();
  bytes_ += rows.bytes();
  return pace_.Pause(bytes_);
}

Result<bool> Merge::JoinWord(std::span<Walk* const> same, Joined& word,
                             segment::PostingsWriter& postings) {
  if (same.size() == 1 && sources_[same[0]->source].live().all()) {
    const std::string_view blob =
        sources_[same[0]->source].view().text->PostingBlob(same[0]->at.ordinal());
    if (blob.empty()) return Damaged(sources_[same[0]->source]);
    postings.CopyWord(same[0]->at.word(), blob);
    return true;
  }
  auto& [parts, lists, joined] = word;
  parts.clear();
  for (uint32_t i = 0; i < same.size(); ++i) {
    segment::TextReader::ForEachList(
        sources_[same[i]->source].view().text->PostingBlob(same[i]->at.ordinal()),
        [&parts = word.parts, i](uint32_t field, std::string_view bytes) {
          parts.push_back({field, i, bytes});
        });
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.field != b.field ? a.field < b.field : a.walk < b.walk;
  });
  bool any = false;
  for (size_t from = 0; from < parts.size();) {
    const uint32_t field = parts[from].field;
    lists.clear();
    for (; from < parts.size() && parts[from].field == field; ++from) {
      lists.push_back({&sources_[same[parts[from].walk]->source].live(), parts[from].postings});
    }
    joined.Join(lists);
    if (joined.empty()) continue;
    joined.With([&](const auto& documents) { postings.AddList(field, documents); });
    any = true;
  }
  if (any) postings.EndWord(same[0]->at.word());
  return any;
}

// Step 3: walks the dictionaries together; a word is kept if a live document holds it.
Status Merge::WriteWords() {
  std::vector<Walk> walks;
  for (size_t s = 0; s < sources_.size(); ++s) {
    const segment::TextReader& text = *sources_[s].view().text;
    // As many elements as packed words have values, so that unpacking needs no check of each.
    sources_[s].new_ordinals.assign(uint64_t{1} << text.ordinal_width(), ForwardWriter::kNoOrdinal);
    walks.push_back({s, text.terms().Begin()});
  }
  segment::PostingsWriter postings(file_, segment::FrequentMin(merged_docids_.size()),
                                   index::FieldsFoundByParts(snapshot_.traits));
  fst::Builder terms;
  std::string word;
  std::vector<Walk*> same;
  Joined joined;
  for (uint32_t count = 1;; ++count) {
    std::erase_if(walks, [](const Walk& walk) { return !walk.at.Valid(); });
    if (walks.empty()) break;
    same.clear();
    for (Walk& walk : walks) {
      const int order = same.empty() ? 0 : walk.at.word().compare(same[0]->at.word());
      if (order < 0) same.clear();
      if (order <= 0) same.push_back(&walk);
    }
    GANNET_ASSIGN_OR_RETURN(const bool any, JoinWord(same, joined, postings));
    if (any) {
      for (const Walk* walk : same) {
        sources_[walk->source].new_ordinals[walk->at.ordinal()] =
            static_cast<Ordinal>(terms.count());
      }
      terms.Add(same[0]->at.word());
    }
    for (Walk* walk : same) {
      walk->at.Next();
      if (!walk->at.Valid() || walk->at.ordinal() % kWordsAhead != 0) continue;
      sources_[walk->source].view().text->WillNeedPostings(walk->at.ordinal(),
                                                           walk->at.ordinal() + kWordsAhead);
    }
    if (count % kItemsPerPause == 0) GANNET_RETURN_IF_ERROR(pace_.Pause(bytes_ + postings.bytes()));
  }
  const auto words = static_cast<uint32_t>(terms.count());
  GANNET_RETURN_IF_ERROR(postings.Finish());
  bytes_ += postings.bytes();
  const std::string dictionary = terms.Finish();
  file_.AddSection(segment::kTerms, dictionary);
  bytes_ += dictionary.size();
  word_count_ = words;
  frequent_words_ = postings.FrequentWords();
  return pace_.Pause(bytes_);
}

// Step 4: copies the forward records, with new ordinals.
Status Merge::WriteForward() {
  ForwardWriter forward(file_, word_count_, std::move(frequent_words_));
  uint32_t done = 0;
  for (const auto& run : runs_) {
    const Source& source = sources_[run.source];
    const segment::TextReader& text = *source.view().text;
    for (uint32_t i = 0; i < run.count; ++i) {
      if (i % kItemsPerPause == 0)
        text.WillNeedRecords(run.local + i, std::min(run.count - i, kItemsPerPause));
      if (!forward.CopyDocument(merged_docids_[done], text.ForwardRecord(run.local + i),
                                text.ordinal_width(), source.new_ordinals)) {
        return Damaged(source);
      }
      if (++done % kItemsPerPause == 0)
        GANNET_RETURN_IF_ERROR(pace_.Pause(bytes_ + forward.bytes()));
    }
  }
  GANNET_RETURN_IF_ERROR(forward.Finish());
  bytes_ += forward.bytes();
  for (Source& source : sources_) std::vector<Ordinal>().swap(source.new_ordinals);
  return pace_.Pause(bytes_);
}

// Step 5: merges columns, one field at a time.
Status Merge::WriteColumns() {
  std::set<FieldId> fields;
  for (const Source& source : sources_) {
    for (const FieldId field : source.view().columns->fields()) fields.insert(field);
  }
  const uint64_t begin = bytes_;
  segment::ColumnsWriter writer(file_);
  const auto lat = snapshot_.fields->Find("_geo.lat"), lng = snapshot_.fields->Find("_geo.lng");
  if (lat && lng) writer.SetPointFields(*lat, *lng);
  std::vector<ElementSource> element_sources;
  for (const Source& source : sources_) {
    const segment::ColumnsReader& columns = *source.view().columns;
    element_sources.push_back({columns.element_keys(),
                               [&columns](segment::ColumnKey key) { return columns.Blob(key); },
                               &source.live(), source.view().rows->docids().size()});
  }
  ElementMerge elements(element_sources, runs_);
  GANNET_RETURN_IF_ERROR(elements.Open());
  const auto pause = [&](uint64_t bytes) { return pace_.Pause(bytes_ + bytes); };
  for (const FieldId field : fields)
    GANNET_RETURN_IF_ERROR(WriteColumn(field, elements, pause, writer));
  GANNET_RETURN_IF_ERROR(elements.WriteMaps(pause, writer));
  bytes_ = begin + writer.bytes();
  return writer.Finish();
}

// Step 6: copies embeddings, one embedder at a time.
Status Merge::WriteVectors() {
  std::vector<segment::EmbedderShape> shapes;
  for (const index::EmbedderSettings& embedder : snapshot_.settings->embedders) {
    shapes.push_back({embedder.name, snapshot_.DimensionsOf(embedder), embedder.binary_quantised});
  }
  segment::VectorsWriter vectors(file_.folder(), shapes);
  for (size_t embedder = 0; embedder < shapes.size(); ++embedder) {
    std::vector<const segment::EmbedderReader*> readers;
    for (const Source& source : sources_)
      readers.push_back(source.view().vectors->Find(shapes[embedder].name));
    std::vector<size_t> next(sources_.size(),
                             0);  // by source: the first entry not yet visited
    uint32_t done = 0;
    for (const MergeRun& run : runs_) {
      const segment::EmbedderReader* reader = readers[run.source];
      if (reader == nullptr) {
        done += run.count;
        continue;
      }
      const std::span<const DocId> docids = reader->docids();
      size_t& at = next[run.source];
      for (uint32_t i = 0; i < run.count; ++i) {
        const DocId docid = merged_docids_[done];
        while (at < docids.size() && docids[at] < docid) ++at;
        if (at < docids.size() && docids[at] == docid) {
          if (!reader->rows_of(at).empty() && reader->dimensions() != shapes[embedder].dimensions)
            return Damaged(sources_[run.source]);
          GANNET_RETURN_IF_ERROR(vectors.CopyDocument(embedder, *reader, at, reader->flags(at)));
        }
        if (++done % kItemsPerPause == 0)
          GANNET_RETURN_IF_ERROR(pace_.Pause(bytes_ + vectors.bytes()));
      }
    }
  }
  const uint64_t bytes = vectors.bytes();
  GANNET_RETURN_IF_ERROR(vectors.Write(file_));
  bytes_ += bytes;
  return pace_.Pause(bytes_);
}

Status Merge::WriteColumn(FieldId field, const ElementMerge& elements,
                          const ColumnMerge::Pause& pause, segment::ColumnsWriter& out) {
  std::vector<ColumnSource> columns;
  for (const Source& source : sources_) {
    columns.push_back(
        {source.view().columns->Find(field), &source.live(), source.view().rows->docids()});
  }
  const auto spelling_of = [&](size_t source, uint32_t local, std::string_view normalised) {
    return SpellingIn(sources_[source], local, field, normalised);
  };
  ColumnMerge merge(columns, runs_, merged_docids_, spelling_of, pause);
  out.Begin(field);
  segment::ColumnWriter column([&](std::string_view bytes) { out.Append(bytes); });
  GANNET_RETURN_IF_ERROR(merge.Write(column));
  out.End();
  bytes_ += column.bytes();
  return elements.WriteColumns(field, merge, pause, out);
}

Result<std::string> Merge::SpellingIn(const Source& source, uint32_t local, FieldId field,
                                      std::string_view normalised) {
  segment::RowCodec codec(snapshot_.dictionary);
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(source.view().rows->at(local)));
  std::vector<segment::RowField> fields;
  if (!segment::ParseRow(row, fields)) return Damaged(source);
  const std::string& target = snapshot_.fields->name(field);
  std::string found, scratch, folded;
  const auto walk = [&](auto&& self, const std::string& path, std::string_view value) -> void {
    const json::Kind kind = json::KindOf(value);
    if (kind == json::Kind::kArray) {
      json::ForEachElement(value, [&](std::string_view item) { self(self, path, item); });
    } else if (kind == json::Kind::kObject) {
      json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
        const std::string child = path + "." + std::string(key);
        if (index::Covers(child, target)) self(self, child, member);
      });
    } else if (found.empty() && path == target && kind != json::Kind::kNull &&
               kind != json::Kind::kNumber) {
      const std::string_view text =
          kind == json::Kind::kString ? json::StringValue(value, scratch) : value;
      text::NormalizeFacet(text, folded);
      // Long values are stored truncated.
      if (folded == normalised ||
          (folded.size() > kFacetStringBytesMax && folded.starts_with(normalised) &&
           normalised.size() + 4 > kFacetStringBytesMax)) {
        found = text;
      }
    }
  };
  for (const segment::RowField& top : fields) {
    if (top.field < snapshot_.fields->size() &&
        index::Covers(snapshot_.fields->name(top.field), target)) {
      walk(walk, snapshot_.fields->name(top.field), top.value);
    }
  }
  return found;
}

// Two segments that are not full may always be joined.
bool IsFull(const SegmentBytes& segment, uint64_t merged_max) {
  return segment.total > merged_max / 2;
}

const SegmentView* FindSegment(const index::Snapshot& snapshot, SegmentId id) {
  for (const auto& segment : snapshot.segments) {
    if (segment->files.id == id) return segment.get();
  }
  return nullptr;
}

// Makes the tables that questions have asked the merged segments for, so that the next one need not
// wait for them.
void MakeTables(const index::Snapshot& before, const std::vector<SegmentId>& merged,
                const index::Snapshot& after, SegmentId number) {
  const SegmentView* segment = FindSegment(after, number);
  if (segment == nullptr) return;
  for (const SegmentId id : merged) {
    const SegmentView* source = FindSegment(before, id);
    if (source == nullptr) continue;
    for (const text::Locale language : source->text->StemLanguages())
      segment->text->Stems(language);
    if (source->text->has_occurrences()) segment->text->Occurrences();
  }
}

}  // namespace

std::vector<size_t> ChooseMerge(const std::vector<SegmentBytes>& segments, uint64_t merged_max,
                                bool at_rest) {
  std::vector<size_t> order;  // smallest first, without those that are full
  for (size_t i = 0; i < segments.size(); ++i) {
    if (!IsFull(segments[i], merged_max)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return segments[a].live < segments[b].live; });
  const size_t count = order.size();
  const auto live = [&](size_t i) { return segments[order[i]].live; };
  // As many of these as may be joined; two always may.
  const auto fitting = [&](size_t from, size_t until) {
    std::vector<size_t> chosen;
    for (uint64_t sum = 0; from < until; ++from) {
      sum += segments[order[from]].total;
      if (sum > merged_max) break;
      chosen.push_back(order[from]);
    }
    return chosen;
  };
  for (size_t from = 0; from < count; ++from) {
    size_t until = from + 1;
    while (until < count && live(until) <= live(from) * kAlikeRatio) ++until;
    if (until - from >= kAlikeMin) return fitting(from, until);
  }
  if (count > kSegmentsMax) {
    for (size_t from = 0; from < count; ++from) {
      uint64_t sum = live(from);
      size_t until = from + 1;
      while (until < count && live(until) <= sum * kBalanceRatio) sum += live(until++);
      if (until - from >= 2) return fitting(from, until);
    }
    // Every segment is far larger than those before it, so these hold almost nothing.
    return fitting(0, kForcedCount);
  }
  // The one with most dead bytes, and smaller ones: they add less work than the rewrite itself.
  size_t worst = segments.size();
  uint64_t worst_dead = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentBytes& segment = segments[i];
    const uint64_t dead = segment.total - std::min(segment.live, segment.total);
    if (dead < kDeadBytesMin || dead * kDeadShare <= segment.total || dead <= worst_dead) continue;
    worst = i;
    worst_dead = dead;
  }
  if (worst == segments.size()) {
    if (!at_rest) return {};
    std::erase_if(order, [&](size_t i) { return segments[i].total >= kTrifleBytes; });
    std::vector<size_t> trifles = fitting(0, order.size());
    if (trifles.size() < 2) trifles.clear();
    return trifles;
  }
  std::vector<size_t> chosen{worst};
  uint64_t sum = segments[worst].total;
  for (const size_t i : order) {
    if (i == worst || segments[i].live > segments[worst].live) break;
    sum += segments[i].total;
    if (sum > merged_max) break;
    chosen.push_back(i);
  }
  return chosen;
}

bool IsPressing(const std::vector<SegmentBytes>& segments, uint64_t merged_max) {
  uint64_t dead = 0, live = 0;
  size_t count = 0;
  for (const SegmentBytes& segment : segments) {
    dead += segment.total - std::min(segment.live, segment.total);
    live += segment.live;
    count += IsFull(segment, merged_max) ? 0 : 1;
  }
  return dead * kPressingDeadShare > live || count > kPressingCount;
}

std::optional<MergePlan> PlanMerge(const index::Snapshot& snapshot,
                                   const std::vector<SegmentId>& busy, uint64_t bytes_max,
                                   bool at_rest) {
  std::vector<SegmentBytes> all, sizes;
  std::vector<SegmentId> ids;
  for (const auto& segment : snapshot.segments) {
    uint64_t bytes = segment->rows->file()->size();
    if (segment->columns->file() != segment->rows->file())
      bytes += segment->columns->file()->size();
    const uint64_t documents = std::max<uint64_t>(1, segment->documents->size());
    const double share = static_cast<double>(segment->live.size()) / static_cast<double>(documents);
    all.push_back({bytes, static_cast<uint64_t>(static_cast<double>(bytes) * share)});
    if (bytes > bytes_max || std::find(busy.begin(), busy.end(), segment->files.id) != busy.end())
      continue;
    sizes.push_back(all.back());
    ids.push_back(segment->files.id);
  }
  MergePlan plan;
  plan.pressing = IsPressing(all);
  for (const size_t i : ChooseMerge(sizes, segment::kSegmentBytesMax, at_rest)) {
    plan.segments.push_back(ids[i]);
    plan.bytes += sizes[i].total;
  }
  if (plan.segments.empty()) return std::nullopt;
  return plan;
}

std::vector<MergePlan> PlanCompaction(const index::Snapshot& snapshot, uint64_t merged_max) {
  std::vector<MergePlan> plans;
  MergePlan plan;
  bool dead = false;
  const auto end = [&] {
    if (plan.segments.size() > 1 || dead) plans.push_back(std::move(plan));
    plan = MergePlan();
    dead = false;
  };
  for (const auto& segment : snapshot.segments) {
    uint64_t bytes = segment->rows->file()->size();
    if (segment->columns->file() != segment->rows->file())
      bytes += segment->columns->file()->size();
    if (!plan.segments.empty() && plan.bytes + bytes > merged_max) end();
    plan.segments.push_back(segment->files.id);
    plan.bytes += bytes;
    dead = dead || segment->live.size() < segment->documents->size();
  }
  end();
  return plans;
}

std::optional<Merges::Claim> Merges::Next(const index::Index& index, uint64_t bytes_max,
                                          Clock::time_point now, bool at_rest) {
  const std::lock_guard lock(mutex_);
  if (retry_after_.count() > 0 && now < retry_at_) return std::nullopt;
  std::vector<SegmentId> busy = taken_;
  busy.insert(busy.end(), damaged_.begin(), damaged_.end());
  // Under the lock: so the snapshot no longer has the sources of claims that were released.
  auto plan = PlanMerge(*index.snapshot(), busy, bytes_max, at_rest);
  if (!plan) return std::nullopt;
  taken_.insert(taken_.end(), plan->segments.begin(), plan->segments.end());
  return Claim(*this, std::move(*plan));
}

void Merges::Ended(const index::Index& index, const MergePlan& plan, const Status& status,
                   Clock::time_point now) {
  if (status.code() == StatusCode::kCancelled) return;
  const std::lock_guard lock(mutex_);
  if (status.ok()) {
    retry_after_ = {};
    return;
  }
  fault_ = status;
  const std::shared_ptr<const index::Snapshot> snapshot = index.snapshot();
  std::vector<SegmentId> damaged;
  for (const SegmentId id : plan.segments) {
    const SegmentView* segment = FindSegment(*snapshot, id);
    if (segment != nullptr && !segment->Health().ok()) damaged.push_back(id);
  }
  if (damaged.empty() && status.code() == StatusCode::kCorruption) damaged = plan.segments;
  damaged_.insert(damaged_.end(), damaged.begin(), damaged.end());
  if (!damaged.empty()) return;
  retry_after_ = std::clamp(retry_after_ * 2, kRetryMin, kRetryMax);
  retry_at_ = now + retry_after_;
}

Status Merges::TakeFault() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fault_, Status::Ok());
}

Merges::Claim::~Claim() {
  if (merges_ == nullptr) return;
  const std::lock_guard lock(merges_->mutex_);
  std::erase_if(merges_->taken_, [&](SegmentId id) {
    return std::find(plan_.segments.begin(), plan_.segments.end(), id) != plan_.segments.end();
  });
}

MergePause::Decision MergePause::Decide(Clock::time_point now, bool batch_running, bool disturbed) {
  if (!waiting_since_) waiting_since_ = now;
  if (batch_running || disturbed) quiet_since_.reset();
  if (!batch_running && !quiet_since_) quiet_since_ = now;
  if (now - *waiting_since_ >= kWaitMax || (quiet_since_ && now - *quiet_since_ >= kPause)) {
    waiting_since_.reset();
    quiet_since_.reset();
    return Decision::kNow;
  }
  return batch_running ? Decision::kAfterBatch : Decision::kSoon;
}

Status RunMerge(index::Index& index, const MergePlan& plan, const std::atomic<bool>& cancelled,
                uint64_t bytes_per_second) {
  const std::shared_ptr<const index::Snapshot> snapshot = index.snapshot();
  const Status changed = Status::Cancelled("The segments to merge have changed meanwhile.");
  std::vector<Source> sources;
  for (const auto& segment : snapshot->segments) {
    if (std::find(plan.segments.begin(), plan.segments.end(), segment->files.id) !=
        plan.segments.end()) {
      sources.emplace_back(segment);
    }
  }
  if (sources.empty() || sources.size() != plan.segments.size()) return changed;

  index::Commit commit;
  const uint64_t number = index.NextNumber();
  index::NewFiles files(index);
  files.Add(number);
  {
    GANNET_ASSIGN_OR_RETURN(auto file, segment::SegmentFileWriter::Create(index.FilePath(number)));
    Pace pace(cancelled, bytes_per_second);
    GANNET_RETURN_IF_ERROR(Merge(*snapshot, std::move(sources), *file, pace).WriteAll());
  }
  commit.added.push_back({number, number, number});
  commit.removed = plan.segments;
  const auto adjust = [&](const index::Snapshot& now, index::Commit& merged) {
    DocSet dead;
    std::vector<SegmentId> left;
    for (const SegmentId id : plan.segments) {
      const SegmentView* before = FindSegment(*snapshot, id);
      const SegmentView* after = FindSegment(now, id);
      if (after == nullptr) {
        // Its last document died, or is in another segment now.
        dead |= before->live;
        continue;
      }
      // New columns would be lost with the old segment.
      if (after->files.columns_file != before->files.columns_file) return changed;
      if (!(after->live == before->live)) dead |= before->live - after->live;
      left.push_back(id);
    }
    // The index was cleared or rebuilt meanwhile.
    if (left.empty()) return changed;
    merged.removed = std::move(left);
    if (!dead.empty()) merged.dead_in_added.emplace_back(number, std::move(dead));
    return Status::Ok();
  };
  GANNET_RETURN_IF_ERROR(index.Apply(std::move(commit), adjust, &files));
  MakeTables(*snapshot, plan.segments, *index.snapshot(), number);
  return Status::Ok();
}

}  // namespace gannet::indexing
