#include "indexing/job/documents.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "index/external_id.h"
#include "indexing/extract.h"
#include "indexing/job/workers.h"
#include "segment/rows.h"

namespace gannet::indexing {
namespace {

// An index makes its row dictionary from the first batch with at least this much text.
constexpr size_t kDictionaryTextMin = 64 << 10;
// Bytes of rows that it is made from: 0.2 s of work. Made from 4 MB it would leave 0.6 % more, from
// 12 MB 0.1 % less.
constexpr size_t kDictionarySampleBytes = 8 << 20;

// Gives the smallest docids that are not in use, then those after the greatest.
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

// The dictionary of the index, or a first one, which is added to the commit. Rows written without a
// dictionary stay readable; after a clear, there are no rows of a former dictionary.
std::shared_ptr<const segment::RowDictionary> MakeDictionary(Batch& batch,
                                                             const CollectedSteps& steps,
                                                             const std::vector<Change>& changes,
                                                             const index::FieldMap& fields) {
  const auto& stored = batch.before->dictionary;
  if (stored && !steps.cleared()) return stored;
  Operations& operations = steps.operations();
  size_t total = 0;
  for (const Change& change : changes) {
    total += operations.operation(operations.touched()[change.touched].first).document().size();
  }
  if (total < kDictionaryTextMin) return stored;
  std::string sample;
  std::vector<size_t> ends;
  std::vector<segment::RowField> row_fields;
  const auto vectors_field = fields.Find(kVectorsField);
  // The sample is evenly spread.
  const size_t step = total / kDictionarySampleBytes + 1;
  for (size_t i = 0; i < changes.size(); i += step) {
    const Operation& operation =
        operations.operation(operations.touched()[changes[i].touched].first);
    if (operation.action == Action::kDelete) continue;
    RowFieldsOf(operation.document(), fields, row_fields);
    std::erase_if(row_fields, [&](const auto& field) { return field.field == vectors_field; });
    segment::AppendRow(row_fields, sample);
    ends.push_back(sample.size());
    // Reached if the current documents are longer than the others.
    if (sample.size() > kDictionarySampleBytes) break;
  }
  batch.commit.dictionary = segment::TrainDictionary(sample, ends);
  return std::make_shared<const segment::RowDictionary>(*batch.commit.dictionary);
}

// Removes documents from the record: their external ids and their share of the distribution.
Status DeleteDocuments(Batch& batch, const DocSet& docids, bool ids_removed) {
  if (docids.empty()) return Status::Ok();
  const index::Snapshot& before = *batch.before;
  segment::RowCodec codec(before.dictionary);
  const auto vectors_field = before.fields->Find(kVectorsField);
  std::vector<segment::RowField> fields;
  std::vector<uint32_t> list;
  docids.ToVector(list);
  for (const DocId docid : list) {
    GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(before.FindRow(docid)));
    if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
    batch.commit.distribution->Count(fields, vectors_field, -1);
    if (ids_removed) continue;
    batch.commit.removed_external_ids.push_back(
        index::ExternalIdOf(fields, *before.fields, before.primary_key));
  }
  return Status::Ok();
}

// The changes of the documents that the steps touch.
struct Assigned {
  std::vector<Change> changes;  // ascending by docid
  DocSet deleted;               // deleted by id
};

// Gives docids, and adds the fields of the documents to `fields`.
Result<Assigned> AssignDocids(Batch& batch, const CollectedSteps& steps, index::FieldMap& fields) {
  auto& touched = steps.operations().touched();
  const Operations& operations = steps.operations();
  batch.progress.Begin("assigning documents ids", touched.size());
  FieldDiscovery discovery(fields);
  DocIdAllocator allocator(steps.cleared() ? DocSet() : batch.before->documents);
  Assigned out;
  out.changes.reserve(touched.size());
  for (uint32_t i = 0; i < touched.size(); ++i) {
    TouchedDocument& document = touched[i];
    if (document.stored && steps.deleted_by_filter().Contains(document.docid)) {
      // A deletion by filter precedes every other action of the batch.
      document.stored = false;
      document.docid = kNone;
    }
    bool exists = document.stored;
    for (uint32_t at = document.first; at != kNone; at = operations.operation(at).next) {
      const Operation& operation = operations.operation(at);
      if (operation.action == Action::kDelete) {
        exists = false;
        continue;
      }
      if (operation.skip_creation && !exists) continue;
      exists = true;
      steps.payloads().Read(operation.document().size());
      GANNET_RETURN_IF_ERROR(discovery.Add(operation.document()));
    }
    if (exists) {
      if (!document.stored) document.docid = allocator.Next();
      out.changes.push_back({document.docid, i});
    } else if (document.stored) {
      out.deleted.Add(document.docid);
      batch.commit.removed_external_ids.emplace_back(document.id());
    }
  }
  std::sort(out.changes.begin(), out.changes.end(),
            [](const auto& a, const auto& b) { return a.docid < b.docid; });
  return out;
}

}  // namespace

Status WriteDocuments(Batch& batch, const CollectedSteps& steps) {
  const index::Snapshot& before = *batch.before;
  index::Commit& commit = batch.commit;
  auto fields = std::make_shared<index::FieldMap>(*before.fields);
  GANNET_ASSIGN_OR_RETURN(Assigned assigned, AssignDocids(batch, steps, *fields));
  commit.distribution = steps.cleared() ? index::Distribution() : before.distribution;
  GANNET_RETURN_IF_ERROR(DeleteDocuments(batch, steps.deleted_by_filter(), false));
  GANNET_RETURN_IF_ERROR(DeleteDocuments(batch, assigned.deleted, true));

  if (!assigned.changes.empty()) {
    Work work;
    work.before = &before;
    work.fields = fields;
    work.traits = index::PlanFields(*fields, *before.settings);
    work.analyzer = before.analyzer;
    work.dictionary = MakeDictionary(batch, steps, assigned.changes, *fields);
    work.settings = before.settings.get();
    work.embedders = ShapesOf(*before.settings, steps.operations().dimensions());
    work.operations = &steps.operations();
    work.payloads = &steps.payloads();
    work.changes = std::move(assigned.changes);
    GANNET_ASSIGN_OR_RETURN(const index::Distribution change, WriteSegments(batch, work));
    commit.distribution->Add(change);
  }
  commit.distribution->DropUnused();
  if (fields->size() != before.fields->size()) commit.fields = fields;
  commit.dead = std::move(assigned.deleted);
  commit.dead |= steps.deleted_by_filter();
  commit.dead |= batch.written;
  return Status::Ok();
}

}  // namespace gannet::indexing
