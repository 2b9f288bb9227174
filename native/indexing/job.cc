#include "indexing/job.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "base/memory.h"
#include "index/external_id.h"
#include "indexing/bounded_columns.h"
#include "indexing/document_state.h"
#include "indexing/document_vectors.h"
#include "indexing/embedding_pass.h"
#include "indexing/extract.h"
#include "indexing/operations.h"

namespace gannet::indexing {
namespace {

// All builders together. More leaves fewer segments behind a load, for searches and merges, and
// takes that much more private memory (docs/performance.md).
constexpr uint64_t kSegmentMemoryMax = uint64_t{128} << 20;
// Of the memory of a job the builders have this share at most; the rest is for what the batch does
// to which document, and for writing a segment.
constexpr uint64_t kBuilderShare = 2;

// Documents that a worker writes between two looks at its builder and at `cancelled`.
constexpr size_t kDocumentsPerStep = 256;
// Each time a worker takes one part in kClaimShare of its share of what is left: long runs of
// docids, so that few segments have some of the same range, and short ones at the end, so that all
// workers end together.
constexpr size_t kClaimShare = 4;
// An index makes its row dictionary from the first batch with at least this much text.
constexpr size_t kDictionaryTextMin = 64 << 10;
// Rows that it is made of: 0.2 s of work. From 4 MB it would leave 0.6 % more, from 12 MB 0.1 %
// less.
constexpr size_t kDictionarySampleBytes = 8 << 20;

// What the workers of a job share and what they give back.
struct Work : DocumentSource {
  std::vector<index::FieldTraits> traits;
  std::shared_ptr<const text::Analyzer> analyzer;
  std::shared_ptr<const segment::RowDictionary> dictionary;
  std::vector<Change> changes;  // ascending by docid
  uint32_t threads;
  uint64_t budget_bytes;  // of each
  Progress* progress;
  index::Index* index;
  index::NewFiles* files;  // under `mutex`

  std::atomic<bool> stopped{false};  // some worker has failed
  std::mutex mutex;                  // guards what follows
  size_t next = 0;                   // of changes: the first that no worker has taken
  Status status;
  std::vector<index::SegmentFiles> segments;
  std::vector<uint32_t> written;  // docids whose row changed
  std::map<FieldId, int64_t> distribution;
};

// Makes segments out of changes until none is left.
class Worker {
 public:
  // Does the work; what it throws, when memory runs out, becomes the status of the work.
  static void Run(Work& work) {
    Status status;
    try {
      status = Worker(work).RunAll();
    } catch (const std::exception& error) {
      status = Status::Internal(error.what());
    }
    if (status.ok()) return;
    const std::lock_guard lock(work.mutex);
    if (work.status.ok()) work.status = std::move(status);
    work.stopped = true;
  }

 private:
  explicit Worker(Work& work)
      : work_(work),
        extractor_(*work.fields, work.traits, *work.analyzer),
        codec_(work.dictionary),
        state_(work) {}

  Status RunAll() {
    GANNET_RETURN_IF_ERROR(RunClaims());
    if (work_.stopped) return Status::Ok();
    GANNET_RETURN_IF_ERROR(FinishSegment());
    const std::lock_guard lock(work_.mutex);
    work_.written.insert(work_.written.end(), written_.begin(), written_.end());
    for (const auto& [field, count] : distribution_) work_.distribution[field] += count;
    return Status::Ok();
  }

  // Empty: nothing is left.
  std::span<const Change> Claim() {
    const std::lock_guard lock(work_.mutex);
    const size_t left = work_.stopped ? 0 : work_.changes.size() - work_.next;
    const size_t count =
        std::min(left, std::max(kDocumentsPerStep, left / (kClaimShare * work_.threads)));
    const auto claim = std::span<const Change>(work_.changes).subspan(work_.next, count);
    work_.next += count;
    return claim;
  }

  Status RunClaims() {
    for (;;) {
      std::span<const Change> claim = Claim();
      if (claim.empty()) return Status::Ok();
      while (!claim.empty() && !work_.stopped.load(std::memory_order_relaxed)) {
        const auto step = claim.first(std::min(claim.size(), kDocumentsPerStep));
        claim = claim.subspan(step.size());
        for (const Change& change : step) GANNET_RETURN_IF_ERROR(Write(change));
        work_.progress->Advance(step.size());
        GANNET_RETURN_IF_ERROR(work_.progress->Health());
        if (builder_ && builder_->memory_bytes() > work_.budget_bytes)
          GANNET_RETURN_IF_ERROR(FinishSegment());
      }
    }
  }

  Status FinishSegment() {
    if (!builder_) return Status::Ok();
    const uint64_t held = builder_->memory_bytes();
    GANNET_RETURN_IF_ERROR(builder_->Finish());
    builder_.reset();
    ReturnFreeMemory(held);
    const std::lock_guard lock(work_.mutex);
    work_.segments.push_back({number_, number_, number_});
    return Status::Ok();
  }

  Status Write(const Change& change) {
    GANNET_ASSIGN_OR_RETURN(const bool exists, state_.Resolve(change));
    if (!exists) return Status::Ok();
    auto& fields = state_.fields();
    const DocumentVectors& vectors = state_.vectors();
    row_.clear();
    if (change.touched == kNone && !state_.kept_changed()) {
      row_ = state_.old_row();
    } else if (change.touched == kNone) {
      segment::AppendRow(fields, row_);
    } else {
      // Values are stored without white space between tokens; the minified copies live in values_.
      values_.clear();
      sizes_.clear();
      for (const segment::RowField& field : fields) {
        const size_t begin = values_.size();
        json::AppendMinified(values_, field.value);
        sizes_.push_back(values_.size() - begin);
      }
      size_t begin = 0;
      for (size_t i = 0; i < fields.size(); ++i) {
        fields[i].value = std::string_view(values_).substr(begin, sizes_[i]);
        begin += sizes_[i];
      }
      segment::AppendRow(fields, row_);
      if (state_.stored() && row_ == state_.old_row() && !vectors.Changed(change.docid))
        return Status::Ok();
      for (const segment::RowField& field : state_.old_fields()) Count(field.field, -1);
      for (const segment::RowField& field : fields) Count(field.field, 1);
    }
    compressed_.clear();
    codec_.Compress(row_, compressed_);
    if (!builder_) {
      number_ = work_.index->NextNumber();
      {
        const std::lock_guard lock(work_.mutex);
        work_.files->Add(number_);
      }
      GANNET_ASSIGN_OR_RETURN(builder_, segment::SegmentBuilder::Create(
                                            work_.index->FilePath(number_), work_.embedders));
    }
    builder_->BeginDocument(change.docid, compressed_);
    extractor_.ExtractAll(fields, *builder_);
    builder_->EndDocument();
    GANNET_RETURN_IF_ERROR(vectors.AddTo(state_.id(), change.docid, builder_->vectors()));
    written_.push_back(change.docid);
    return Status::Ok();
  }

  // `_vectors` is no attribute.
  void Count(FieldId field, int64_t by) {
    if (field != state_.vectors_field()) distribution_[field] += by;
  }

  Work& work_;
  Extractor extractor_;
  segment::RowCodec codec_;
  DocumentState state_;
  std::unique_ptr<segment::SegmentBuilder> builder_;
  uint64_t number_ = 0;
  std::string row_, values_, compressed_;
  std::vector<size_t> sizes_;
  std::vector<uint32_t> written_;
  std::map<FieldId, int64_t> distribution_;
};

// The smallest docids that are not in use, then those behind the greatest.
class DocIdAllocator {
 public:
  explicit DocIdAllocator(const DocSet& used) {
    const uint32_t end = used.empty() ? 0 : used.max() + 1;
    next_ = end;
    if (used.size() < end) (DocSet::Range(0, end) - used).ToVector(free_);
  }
  DocId Next() { return at_ < free_.size() ? free_[at_++] : next_++; }

 private:
  std::vector<uint32_t> free_;
  size_t at_ = 0;
  DocId next_;
};

// Whether stored documents hold right local docids, where a change of settings makes it matter.
class GeoPointCheck {
 public:
  GeoPointCheck(const index::Snapshot& before, const index::Settings& after)
      : key_(before.fields->Find(before.primary_key)) {
    const index::Settings& settings = *before.settings;
    if (after.GeoEnabled() && !settings.GeoEnabled()) geo_ = before.fields->Find("_geo");
    if (after.GeoJsonEnabled() && !settings.GeoJsonEnabled())
      shape_ = before.fields->Find("_geojson");
  }
  bool needed() const { return geo_ || shape_; }
  // errors  as CheckGeo and CheckGeoJson
  Status Check(std::span<const segment::RowField> row) const {
    if (!needed()) return Status::Ok();
    const auto value_of = [&](std::optional<FieldId> wanted) {
      const auto found = std::find_if(row.begin(), row.end(),
                                      [&](const auto& field) { return field.field == wanted; });
      return found == row.end() ? std::string_view() : found->value;
    };
    const std::string_view id = value_of(key_), geo = value_of(geo_), shape = value_of(shape_);
    if (!geo.empty()) GANNET_RETURN_IF_ERROR(CheckGeo(id, geo));
    return shape.empty() ? Status::Ok() : CheckGeoJson(id, shape);
  }

 private:
  std::optional<FieldId> key_, geo_, shape_;
};

class Job {
 public:
  Job(index::Index& index, const json::Value& description,
      std::span<const std::string_view> payloads, const JobOptions& options,
      const FilterEvaluator& evaluate_filter, Progress& progress)
      : index_(index),
        description_(description),
        payloads_(payloads),
        options_(options),
        evaluate_filter_(evaluate_filter),
        progress_(progress),
        before_(index.snapshot()),
        files_(index) {}

  Result<std::string> Run();
  // Bytes held for what the batch does to which document.
  uint64_t memory_bytes() const { return operations_ ? operations_->memory_bytes() : 0; }

 private:
  Status CollectStep(uint32_t number, const json::Value& step);
  Status ApplySettings(const std::string& settings_json);
  Status WriteDocuments();
  // Before anything is written: when it fails nothing was done.
  Status MakeEmbeddings(Work& work);
  Status RunWorkers(Work& work);
  // The row of a document by its local docid in a segment. False: it is dead.
  Result<bool> ReadRow(const index::SegmentView& segment, size_t local, segment::RowCodec& codec,
                       std::vector<segment::RowField>& fields);
  Status CheckGeoPoints(const GeoPointCheck& geo_points);
  Status BuildColumns(const std::vector<index::FieldTraits>& traits,
                      const GeoPointCheck& geo_points);
  // What all builders may hold.
  uint64_t SegmentBytesMax() const {
    return std::min(options_.memory_bytes / kBuilderShare, kSegmentMemoryMax);
  }
  Status DeleteDocuments(const DocSet& docids, bool already_counted);
  std::string Outcome() const;
  std::shared_ptr<const segment::RowDictionary> MakeDictionary(const std::vector<Change>& changes,
                                                               const index::FieldMap& fields);

  index::Index& index_;
  const json::Value& description_;
  std::span<const std::string_view> payloads_;
  const JobOptions& options_;
  const FilterEvaluator& evaluate_filter_;
  Progress& progress_;
  std::shared_ptr<const index::Snapshot> before_;

  Payloads held_;
  std::optional<index::Index::ExternalIds> ids_;
  std::unique_ptr<Operations> operations_;
  std::vector<StepOutcome> outcomes_;
  index::Commit commit_;
  index::NewFiles files_;  // until the commit has them
  bool cleared_ = false;
  DocSet deleted_by_filter_;
  std::optional<std::string> settings_json_;
  std::map<std::string, Remake, std::less<>> remakes_;  // by embedder
  std::unique_ptr<SpooledEmbeddings> made_;
  DocSet written_;  // docids of the added segments
  uint64_t documents_after_ = 0;
};

Status Job::CollectStep(uint32_t number, const json::Value& step) {
  StepOutcome& outcome = outcomes_[number];
  const std::string& kind = step["kind"].string();
  if (kind == "clear") {
    // What came before in this batch is gone as well.
    outcome.deleted = cleared_ ? 0 : before_->documents.size();
    cleared_ = true;
    deleted_by_filter_.Clear();
    auto fresh = std::make_unique<Operations>(*before_, *ids_, deleted_by_filter_, true);
    fresh->primary_key = operations_->primary_key;
    fresh->has_primary_key = operations_->has_primary_key;
    operations_ = std::move(fresh);
    return Status::Ok();
  }
  if (kind == "settings") {
    settings_json_ = std::string(step["settings"].text());
    for (const auto& [name, change] : step["embeddings"].members()) {
      remakes_[name] = change.string() == "all" ? Remake::kAll : Remake::kChanged;
    }
    return Status::Ok();
  }
  if (kind == "primaryKey") {
    const std::string& key = step["primaryKey"].string();
    if (before_->has_primary_key && before_->primary_key != key && !before_->documents.empty()) {
      return Status::Invalid("The index has documents under the primary key `" +
                                 before_->primary_key + "`; `" + key + "` cannot replace it.",
                             "index_primary_key_already_exists");
    }
    operations_->primary_key = key;
    operations_->has_primary_key = true;
    return Status::Ok();
  }
  if (kind == "deleteIds") {
    for (const json::Value& id : step["ids"].items()) {
      outcome.deleted += operations_->AddDeletion(id.string()) ? 1 : 0;
    }
    return Status::Ok();
  }
  if (kind == "deleteFilter") {
    auto matched = evaluate_filter_(*before_, step["filter"].text());
    if (!matched.ok()) {
      const std::string& code = matched.status().detail();
      return Status(matched.status().code(), matched.status().message(),
                    code == "invalid_search_filter" ? "invalid_document_filter" : code);
    }
    DocSet docids = cleared_ ? DocSet() : *matched - deleted_by_filter_;
    const auto& touched = operations_->touched();
    for (size_t i = 0; i < touched.size(); ++i) {
      const TouchedDocument& document = touched[i];
      if (document.stored) docids.Remove(document.docid);
    }
    outcome.deleted = docids.size();
    deleted_by_filter_ |= docids;
    return Status::Ok();
  }
  const json::Value& payload = step["payload"];
  std::string_view bytes;
  if (payload["file"].is_string()) {
    GANNET_ASSIGN_OR_RETURN(auto mapped, Payload::Map(payload["file"].string()));
    bytes = held_.Hold(std::move(mapped));
  } else {
    const uint64_t buffer = payload["buffer"].integer();
    if (buffer >= payloads_.size()) return Status::Internal("a payload is missing");
    bytes = payloads_[buffer];
  }
  return operations_->AddDocuments(bytes, held_, step["format"].string() == "ndjson",
                                   step["method"].string() == "update",
                                   step["skipCreation"].boolean(), step["primaryKey"].string(),
                                   step["primaryKey"].is_string(), outcome);
}

std::shared_ptr<const segment::RowDictionary> Job::MakeDictionary(
    const std::vector<Change>& changes, const index::FieldMap& fields) {
  if (before_->dictionary && !cleared_) return before_->dictionary;
  size_t total = 0;
  for (const Change& change : changes) {
    total += operations_->operation(operations_->touched()[change.touched].first).document().size();
  }
  if (total < kDictionaryTextMin) return before_->dictionary;
  std::string sample;
  std::vector<size_t> ends;
  std::vector<segment::RowField> row_fields;
  const auto vectors_field = fields.Find(kVectorsField);
  // Evenly spread.
  const size_t step = total / kDictionarySampleBytes + 1;
  for (size_t i = 0; i < changes.size(); i += step) {
    const Operation& operation =
        operations_->operation(operations_->touched()[changes[i].touched].first);
    if (operation.action == Action::kDelete) continue;
    RowFieldsOf(operation.document(), fields, row_fields);
    std::erase_if(row_fields, [&](const auto& field) { return field.field == vectors_field; });
    segment::AppendRow(row_fields, sample);
    ends.push_back(sample.size());
    // Where the documents at hand are longer than the others.
    if (sample.size() > kDictionarySampleBytes) break;
  }
  commit_.dictionary = segment::TrainDictionary(sample, ends);
  return std::make_shared<const segment::RowDictionary>(*commit_.dictionary);
}

Status Job::RunWorkers(Work& work) {
  const uint32_t threads =
      work.changes.size() <= kDocumentsPerStep ? 1 : std::max<uint32_t>(1, options_.threads);
  work.threads = threads;
  work.budget_bytes = SegmentBytesMax() / threads;
  work.files = &files_;
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (uint32_t i = 1; i < threads; ++i) others.emplace_back([&work] { Worker::Run(work); });
  } catch (const std::exception&) {
    // Those that could be started do it all.
  }
  Worker::Run(work);
  for (std::thread& thread : others) thread.join();
  for (const index::SegmentFiles& files : work.segments) commit_.added.push_back(files);
  return work.status;
}

// Removes documents from the record: their external ids and their share of the field distribution.
Status Job::DeleteDocuments(const DocSet& docids, bool already_counted) {
  if (docids.empty()) return Status::Ok();
  auto& distribution = *commit_.distribution;
  segment::RowCodec codec(before_->dictionary);
  const auto vectors_field = before_->fields->Find(kVectorsField);
  std::vector<segment::RowField> fields;
  std::vector<uint32_t> list;
  docids.ToVector(list);
  for (const uint32_t docid : list) {
    GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(before_->FindRow(docid)));
    if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
    for (const segment::RowField& field : fields) {
      if (field.field == vectors_field) continue;
      auto count = distribution.find(field.field);
      if (count != distribution.end() && --count->second == 0) distribution.erase(count);
    }
    if (already_counted) continue;
    commit_.removed_external_ids.push_back(
        index::ExternalIdOf(fields, *before_->fields, before_->primary_key));
  }
  return Status::Ok();
}

Status Job::WriteDocuments() {
  progress_.Begin("assigning documents ids", operations_->touched().size());
  auto fields = std::make_shared<index::FieldMap>(*before_->fields);
  const size_t fields_before = fields->size();
  FieldDiscovery discovery(*fields);
  DocSet used = cleared_ ? DocSet() : before_->documents;
  DocIdAllocator allocator(used);
  DocSet gone = deleted_by_filter_;
  std::vector<Change> changes;
  auto& touched = operations_->touched();
  changes.reserve(touched.size());
  std::vector<std::string> removed_ids;
  DocSet gone_with_id;
  for (uint32_t i = 0; i < touched.size(); ++i) {
    TouchedDocument& document = touched[i];
    if (document.stored && deleted_by_filter_.Contains(document.docid)) {
      // A deletion by filter came before every other action of the batch.
      document.stored = false;
      document.docid = kNone;
    }
    bool exists = document.stored;
    for (uint32_t at = document.first; at != kNone; at = operations_->operation(at).next) {
      const Operation& operation = operations_->operation(at);
      if (operation.action == Action::kDelete) {
        exists = false;
        continue;
      }
      if (operation.skip_creation && !exists) continue;
      exists = true;
      held_.Read(operation.document().size());
      GANNET_RETURN_IF_ERROR(discovery.Add(operation.document()));
    }
    if (exists) {
      if (!document.stored) {
        document.docid = allocator.Next();
      }
      changes.push_back({document.docid, i});
    } else if (document.stored) {
      gone.Add(document.docid);
      gone_with_id.Add(document.docid);
      commit_.removed_external_ids.emplace_back(document.id());
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.docid < b.docid; });
  commit_.distribution = cleared_ ? std::map<FieldId, uint64_t>() : before_->distribution;
  // Older versions counted it.
  if (const auto vectors_field = fields->Find(kVectorsField))
    commit_.distribution->erase(*vectors_field);
  GANNET_RETURN_IF_ERROR(DeleteDocuments(deleted_by_filter_, false));
  GANNET_RETURN_IF_ERROR(DeleteDocuments(gone_with_id, true));

  if (!changes.empty()) {
    Work work;
    work.before = before_.get();
    work.fields = fields;
    work.traits = index::PlanFields(*fields, *before_->settings);
    work.analyzer = commit_.text_form ? index::MakeAnalyzer(*before_->settings, *commit_.text_form)
                                      : before_->analyzer;
    work.dictionary = MakeDictionary(changes, *fields);
    work.settings = before_->settings.get();
    work.embedders = ShapesOf(*before_->settings, operations_->dimensions());
    work.operations = operations_.get();
    work.payloads = &held_;
    work.changes = std::move(changes);
    work.progress = &progress_;
    work.index = &index_;
    GANNET_RETURN_IF_ERROR(MakeEmbeddings(work));
    progress_.Begin("extracting words", work.changes.size());
    GANNET_RETURN_IF_ERROR(RunWorkers(work));
    for (const uint32_t docid : work.written) written_.Add(docid);
    gone |= written_;
    for (const auto& [field, delta] : work.distribution) {
      const int64_t count = static_cast<int64_t>((*commit_.distribution)[field]) + delta;
      if (count <= 0) {
        commit_.distribution->erase(field);
      } else {
        (*commit_.distribution)[field] = static_cast<uint64_t>(count);
      }
    }
    if (commit_.dictionary) {
      // Rows written with no dictionary stay readable; those of a former one do not exist after a
      // clear.
      commit_.dictionary = work.dictionary->bytes();
    }
  }
  if (fields->size() != fields_before) commit_.fields = fields;
  commit_.dead = std::move(gone);
  return Status::Ok();
}

Status Job::MakeEmbeddings(Work& work) {
  if (options_.embed_calls == nullptr) return Status::Ok();
  const std::string path = index_.FilePath(0);
  GANNET_ASSIGN_OR_RETURN(made_,
                          EmbedDocuments(work, work.changes, path.substr(0, path.find_last_of('/')),
                                         *options_.embed_calls, progress_));
  work.made = made_.get();
  return Status::Ok();
}

Result<bool> Job::ReadRow(const index::SegmentView& segment, size_t local, segment::RowCodec& codec,
                          std::vector<segment::RowField>& fields) {
  if (local % 1024 == 0) {
    progress_.Advance(1024);
    GANNET_RETURN_IF_ERROR(progress_.Health());
  }
  if (!segment.all_live() && !segment.live.Contains(segment.rows->docids()[local])) return false;
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(segment.rows->at(local)));
  if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
  return true;
}

Status Job::CheckGeoPoints(const GeoPointCheck& geo_points) {
  segment::RowCodec codec(before_->dictionary);
  std::vector<segment::RowField> fields;
  progress_.Begin("checking places", before_->documents.size());
  for (const auto& segment : before_->segments) {
    for (size_t local = 0; local < segment->rows->docids().size(); ++local) {
      GANNET_ASSIGN_OR_RETURN(const bool live, ReadRow(*segment, local, codec, fields));
      if (live) GANNET_RETURN_IF_ERROR(geo_points.Check(fields));
    }
  }
  return Status::Ok();
}

Status Job::BuildColumns(const std::vector<index::FieldTraits>& traits,
                         const GeoPointCheck& geo_points) {
  std::vector<bool> wanted(traits.size());
  std::vector<bool> keep(traits.size());
  bool any_new = false, any_gone = false;
  for (size_t i = 0; i < traits.size(); ++i) {
    keep[i] = traits[i].faceted && before_->traits[i].faceted;
    wanted[i] = traits[i].faceted && !before_->traits[i].faceted;
    any_new |= wanted[i];
    any_gone |= !traits[i].faceted && before_->traits[i].faceted;
  }
  if (!any_new && !any_gone) return geo_points.needed() ? CheckGeoPoints(geo_points) : Status::Ok();
  const text::Analyzer& analyzer = *before_->analyzer;
  progress_.Begin("extracting facets", before_->documents.size());
  for (const auto& segment : before_->segments) {
    Extractor extractor(*before_->fields, traits, analyzer);
    segment::RowCodec codec(before_->dictionary);
    const uint64_t number = index_.NextNumber();
    files_.Add(number);
    GANNET_ASSIGN_OR_RETURN(auto file, segment::SegmentFileWriter::Create(index_.FilePath(number)));
    BoundedColumns columns(file->folder(), SegmentBytesMax());
    std::vector<segment::RowField> fields;
    const auto docids = segment->rows->docids();
    for (size_t local = 0; local < docids.size() && (any_new || geo_points.needed()); ++local) {
      segment::ColumnBuilder& values = columns.BeginDocument(docids[local]);
      GANNET_ASSIGN_OR_RETURN(const bool live, ReadRow(*segment, local, codec, fields));
      if (!live) continue;
      GANNET_RETURN_IF_ERROR(geo_points.Check(fields));
      extractor.ExtractColumns(fields, wanted, values);
    }
    segment::ColumnsWriter writer(*file);
    const auto pause = [&](uint64_t) { return progress_.Health(); };
    for (size_t field = 0; field < traits.size(); ++field) {
      if (keep[field]) {
        const std::string_view blob = segment->columns->Blob(static_cast<FieldId>(field));
        if (!blob.empty()) writer.Copy(static_cast<FieldId>(field), blob);
      } else if (wanted[field]) {
        GANNET_RETURN_IF_ERROR(columns.Write(static_cast<FieldId>(field), writer, pause).status());
      }
    }
    writer.Finish();
    GANNET_RETURN_IF_ERROR(file->Finish());
    commit_.columns.emplace_back(segment->files.id, number);
  }
  return Status::Ok();
}

Status Job::ApplySettings(const std::string& settings_json) {
  const index::Settings settings = index::Settings::FromJson(json::Value::Parse(settings_json));
  commit_.settings_json = settings_json;
  if (cleared_ || before_->documents.empty()) return Status::Ok();
  const std::vector<index::FieldTraits> traits = index::PlanFields(*before_->fields, settings);
  const GeoPointCheck geo_points(*before_, settings);
  const bool same_vectors = settings.SameVectors(*before_->settings) && remakes_.empty();
  if (settings.SameText(*before_->settings) && same_vectors)
    return BuildColumns(traits, geo_points);
  // Before the long work begins.
  if (geo_points.needed()) GANNET_RETURN_IF_ERROR(CheckGeoPoints(geo_points));
  // Every document is read again and written to new segments beside the live ones.
  Work work;
  work.before = before_.get();
  // Where vectors of an embedder that goes are kept.
  if (!settings.SameVectors(*before_->settings) && !before_->fields->Find(kVectorsField)) {
    auto fields = std::make_shared<index::FieldMap>(*before_->fields);
    GANNET_RETURN_IF_ERROR(fields->Add(kVectorsField, 0).status());
    commit_.fields = fields;
  }
  work.fields = commit_.fields ? commit_.fields : before_->fields;
  work.traits = commit_.fields ? index::PlanFields(*work.fields, settings) : traits;
  work.settings = &settings;
  std::vector<uint32_t> dimensions;
  for (const index::EmbedderSettings& embedder : settings.embedders) {
    dimensions.push_back(embedder.dimensions != 0 ? embedder.dimensions
                                                  : before_->DimensionsOf(embedder));
  }
  work.embedders = ShapesOf(settings, dimensions);
  for (const index::EmbedderSettings& embedder : settings.embedders) {
    const auto found = remakes_.find(embedder.name);
    work.remakes.push_back(found == remakes_.end() ? Remake::kNone : found->second);
  }
  if (before_->text_form != text::kTextFormNow) commit_.text_form = text::kTextFormNow;
  work.analyzer = index::MakeAnalyzer(settings, text::kTextFormNow);
  work.dictionary = before_->dictionary;
  work.operations = nullptr;
  before_->documents.ForEach([&](uint32_t docid) { work.changes.push_back({docid, kNone}); });
  work.progress = &progress_;
  work.index = &index_;
  GANNET_RETURN_IF_ERROR(MakeEmbeddings(work));
  progress_.Begin("extracting words", work.changes.size());
  GANNET_RETURN_IF_ERROR(RunWorkers(work));
  for (const uint32_t docid : work.written) written_.Add(docid);
  for (const auto& segment : before_->segments) commit_.removed.push_back(segment->files.id);
  return Status::Ok();
}

std::string Job::Outcome() const {
  std::string out = "{\"results\":[";
  size_t number = 0;
  for (const json::Value& step : description_["steps"].items()) {
    const StepOutcome& outcome = outcomes_[number];
    if (number++ > 0) out += ',';
    out += "{\"task\":";
    AppendJsonNumber(out, step["task"].integer());
    if (!outcome.status.ok()) {
      out += ",\"error\":{\"code\":";
      AppendJsonString(out, outcome.status.detail().empty() ? "internal" : outcome.status.detail());
      out += ",\"message\":";
      AppendJsonString(out, outcome.status.message());
      out += '}';
    } else if (step["kind"].string() == "documents") {
      out += ",\"indexedDocuments\":";
      AppendJsonNumber(out, outcome.indexed);
    } else if (step["kind"].string() != "settings" && step["kind"].string() != "primaryKey") {
      out += ",\"deletedDocuments\":";
      AppendJsonNumber(out, outcome.deleted);
    }
    out += '}';
  }
  out += "],\"numberOfDocuments\":";
  AppendJsonNumber(out, documents_after_);
  out += '}';
  return out;
}

Result<std::string> Job::Run() {
  {
    auto ids = index_.ReadExternalIds();
    if (!ids.ok()) return ids.status();
    ids_.emplace(std::move(*ids));
  }
  operations_ = std::make_unique<Operations>(*before_, *ids_, deleted_by_filter_, false);
  const auto& steps = description_["steps"].items();
  outcomes_.resize(steps.size());
  progress_.Begin("preparing payloads", steps.size());
  bool any_ok = steps.empty();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    Status status = CollectStep(i, steps[i]);
    // A fault of the user's input concerns the step alone; anything else the whole batch.
    if (!status.ok() && status.code() != StatusCode::kInvalidArgument) return status;
    any_ok |= status.ok();
    outcomes_[i].status = std::move(status);
    progress_.Advance();
    GANNET_RETURN_IF_ERROR(progress_.Health());
  }
  GANNET_RETURN_IF_ERROR(ids_->health());
  commit_.clear = cleared_;
  // No word is left of another form.
  if ((cleared_ || before_->documents.empty()) && before_->text_form != text::kTextFormNow) {
    commit_.text_form = text::kTextFormNow;
  }
  if (operations_->size() > 0 || !deleted_by_filter_.empty()) {
    GANNET_RETURN_IF_ERROR(WriteDocuments());
  } else if (cleared_) {
    commit_.distribution.emplace();
  }
  if (settings_json_) GANNET_RETURN_IF_ERROR(ApplySettings(*settings_json_));
  if (any_ok && operations_->has_primary_key &&
      (!before_->has_primary_key || before_->primary_key != operations_->primary_key)) {
    commit_.primary_key = operations_->primary_key;
  }
  if (any_ok) commit_.updated_at = description_["now"].string();

  progress_.Begin("committing", 1);
  ids_.reset();
  // Late, when the workers no longer need memory.
  for (size_t i = 0; i < operations_->touched().size(); ++i) {
    const TouchedDocument& document = operations_->touched()[i];
    if (!document.stored && document.docid != kNone)
      commit_.new_external_ids.emplace_back(document.id(), document.docid);
  }
  std::string outcome;
  const auto adjust = [&](const index::Snapshot& now, index::Commit& commit) {
    // Merges may have moved documents since the job began; their docids have not changed.
    DocSet after = commit.clear ? DocSet() : now.documents - commit.dead;
    after |= written_;
    documents_after_ = after.size();
    if (!commit.removed.empty()) {
      commit.removed.clear();
      for (const auto& segment : now.segments) commit.removed.push_back(segment->files.id);
    }
    for (const auto& [id, file] : commit.columns) {
      const auto same = [&, segment = id](const auto& s) { return s->files.id == segment; };
      if (std::none_of(now.segments.begin(), now.segments.end(), same)) {
        return Status::Internal("a segment was merged while its columns were built");
      }
    }
    outcome = Outcome();
    commit.last_batch = "{\"batchUid\":" + std::to_string(description_["batchUid"].integer()) +
                        ",\"taskUids\":" + std::string(description_["taskUids"].text()) +
                        ",\"outcome\":" + outcome + "}";
    return Status::Ok();
  };
  GANNET_RETURN_IF_ERROR(index_.Apply(std::move(commit_), adjust, &files_));
  return outcome;
}

}  // namespace

void Progress::Begin(const char* name, uint64_t total) {
  name_ = name;
  finished_ = 0;
  total_ = total;
}

Progress::Step Progress::step() const { return {name_.load(), finished_.load(), total_.load()}; }

Result<std::string> RunBatch(index::Index& index, std::string_view job,
                             std::span<const std::string_view> payloads, const JobOptions& options,
                             const FilterEvaluator& evaluate_filter, Progress& progress) {
  const json::Value description = json::Value::Parse(job);
  uint64_t held = 0;
  auto outcome = [&] {
    Job whole(index, description, payloads, options, evaluate_filter, progress);
    auto result = whole.Run();
    held = whole.memory_bytes();
    return result;
  }();
  ReturnFreeMemory(held);
  return outcome;
}

}  // namespace gannet::indexing
