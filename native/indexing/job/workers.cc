#include "indexing/job/workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "base/json_reader.h"
#include "base/memory.h"
#include "indexing/embedding_pass.h"
#include "indexing/extract.h"
#include "segment/builder.h"

namespace gannet::indexing {
namespace {

// Documents that a worker writes between two checks of its builder and of `cancelled`.
constexpr size_t kDocumentsPerStep = 256;
// Each time a worker takes 1 / kClaimShare of its share of the remaining changes: long runs of
// docids at first, so that few segments overlap in their range of docids, and short ones at the
// end, so that all workers finish together.
constexpr size_t kClaimShare = 4;

// What the workers of a job share and return.
struct Workers {
  Workers(const Work& work, Batch& batch, uint32_t threads)
      : work(work),
        batch(batch),
        threads(threads),
        budget_bytes(batch.BuilderMemoryMax() / threads),
        stored_max(batch.options.segment_bytes_max / 2) {}

  const Work& work;
  Batch& batch;  // `files` under `mutex`
  const uint32_t threads;
  const uint64_t budget_bytes;  // of each worker
  const uint64_t stored_max;    // of each segment; words and columns take no more than the budget

  std::atomic<bool> stopped{false};  // some worker has failed
  std::mutex mutex;                  // guards what follows
  size_t next = 0;                   // index in changes: the first that no worker has taken
  Status status;
  std::vector<index::SegmentFiles> segments;
  std::vector<uint32_t> written;     // docids whose row changed
  index::Distribution distribution;  // its change
};

// Makes segments from changes until none is left.
class Worker {
 public:
  // Does the work. An exception, thrown when memory runs out, becomes the status of all.
  static void Run(Workers& workers) {
    Status status;
    try {
      status = Worker(workers).RunAll();
    } catch (const std::exception& error) {
      status = Status::Internal(error.what());
    }
    if (status.ok()) return;
    const std::lock_guard lock(workers.mutex);
    if (workers.status.ok()) workers.status = std::move(status);
    workers.stopped = true;
  }

 private:
  explicit Worker(Workers& workers)
      : workers_(workers),
        work_(workers.work),
        extractor_(*work_.fields, work_.traits, *work_.analyzer),
        codec_(work_.dictionary),
        state_(work_) {}

  Status RunAll() {
    GANNET_RETURN_IF_ERROR(RunClaims());
    if (workers_.stopped) return Status::Ok();
    GANNET_RETURN_IF_ERROR(FinishSegment());
    const std::lock_guard lock(workers_.mutex);
    workers_.written.insert(workers_.written.end(), written_.begin(), written_.end());
    workers_.distribution.Add(distribution_);
    return Status::Ok();
  }

  // Takes changes for this worker; empty: none is left.
  std::span<const Change> Claim() {
    const std::lock_guard lock(workers_.mutex);
    const size_t left = workers_.stopped ? 0 : work_.changes.size() - workers_.next;
    const size_t count =
        std::min(left, std::max(kDocumentsPerStep, left / (kClaimShare * workers_.threads)));
    const auto claim = std::span<const Change>(work_.changes).subspan(workers_.next, count);
    workers_.next += count;
    return claim;
  }

  Status RunClaims() {
    for (;;) {
      std::span<const Change> claim = Claim();
      if (claim.empty()) return Status::Ok();
      while (!claim.empty() && !workers_.stopped.load(std::memory_order_relaxed)) {
        const auto step = claim.first(std::min(claim.size(), kDocumentsPerStep));
        claim = claim.subspan(step.size());
        for (const Change& change : step) {
          GANNET_RETURN_IF_ERROR(Write(change));
          if (builder_ && builder_->stored_bytes() > workers_.stored_max)
            GANNET_RETURN_IF_ERROR(FinishSegment());
        }
        workers_.batch.progress.Advance(step.size());
        GANNET_RETURN_IF_ERROR(workers_.batch.progress.Health());
        if (builder_ && builder_->memory_bytes() > workers_.budget_bytes)
          GANNET_RETURN_IF_ERROR(FinishSegment());
      }
    }
  }

  Status BeginSegment() {
    {
      const std::lock_guard lock(workers_.mutex);
      number_ = workers_.batch.NewFile();
    }
    GANNET_ASSIGN_OR_RETURN(builder_, segment::SegmentBuilder::Create(
                                          workers_.batch.index.FilePath(number_), work_.embedders,
                                          index::FieldsFoundByParts(work_.traits)));
    return Status::Ok();
  }

  Status FinishSegment() {
    if (!builder_) return Status::Ok();
    const uint64_t held = builder_->memory_bytes();
    GANNET_RETURN_IF_ERROR(builder_->Finish());
    builder_.reset();
    ReturnFreeMemory(held);
    const std::lock_guard lock(workers_.mutex);
    workers_.segments.push_back({number_, number_, number_});
    return Status::Ok();
  }

  Status Write(const Change& change) {
    GANNET_ASSIGN_OR_RETURN(const bool exists, state_.Resolve(change));
    if (!exists) return Status::Ok();
    if (!MakeRow(change)) return Status::Ok();
    compressed_.clear();
    codec_.Compress(row_, compressed_);
    if (!builder_) GANNET_RETURN_IF_ERROR(BeginSegment());
    builder_->BeginDocument(change.docid, compressed_);
    extractor_.ExtractAll(state_.fields(), *builder_);
    builder_->EndDocument();
    GANNET_RETURN_IF_ERROR(state_.vectors().AddTo(state_.id(), change.docid, builder_->vectors()));
    written_.push_back(change.docid);
    return Status::Ok();
  }

  // Makes the row of the document in state_, and counts its fields. False: it is stored already.
  bool MakeRow(const Change& change) {
    auto& fields = state_.fields();
    row_.clear();
    if (change.touched == kNone) {
      if (state_.kept_changed()) {
        segment::AppendRow(fields, row_);
      } else {
        row_ = state_.old_row();
      }
      return true;
    }
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
    if (state_.stored() && row_ == state_.old_row() && !state_.vectors().Changed(change.docid))
      return false;
    distribution_.Count(state_.old_fields(), state_.vectors_field(), -1);
    distribution_.Count(fields, state_.vectors_field(), 1);
    return true;
  }

  Workers& workers_;
  const Work& work_;
  Extractor extractor_;
  segment::RowCodec codec_;
  DocumentState state_;
  std::unique_ptr<segment::SegmentBuilder> builder_;
  uint64_t number_ = 0;
  std::string row_, values_, compressed_;
  std::vector<size_t> sizes_;
  std::vector<uint32_t> written_;
  index::Distribution distribution_;  // its change
};

}  // namespace

Result<index::Distribution> WriteSegments(Batch& batch, Work& work) {
  std::unique_ptr<SpooledEmbeddings> made;
  if (batch.options.embed_calls != nullptr) {
    const std::string path = batch.index.FilePath(0);
    GANNET_ASSIGN_OR_RETURN(
        made, EmbedDocuments(work, work.changes, path.substr(0, path.find_last_of('/')),
                             *batch.options.embed_calls, batch.progress));
    work.made = made.get();
  }
  batch.progress.Begin("extracting words", work.changes.size());
  const uint32_t threads =
      work.changes.size() <= kDocumentsPerStep ? 1 : std::max<uint32_t>(1, batch.options.threads);
  Workers workers(work, batch, threads);
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (uint32_t i = 1; i < threads; ++i)
      others.emplace_back([&workers] { Worker::Run(workers); });
  } catch (const std::exception&) {
    // If a thread could not be started, the others do all the work.
  }
  Worker::Run(workers);
  for (std::thread& thread : others) thread.join();
  GANNET_RETURN_IF_ERROR(workers.status);
  for (const index::SegmentFiles& files : workers.segments) batch.commit.added.push_back(files);
  for (const DocId docid : workers.written) batch.written.Add(docid);
  return std::move(workers.distribution);
}

}  // namespace gannet::indexing
