#include "search/documents.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_value.h"
#include "base/stop_point.h"
#include "index/evaluate_filter.h"
#include "index/external_id.h"
#include "search/ranking/sort.h"
#include "search/request.h"
#include "search/results/projection.h"
#include "search/vectors/stored_vectors.h"

namespace gannet::search {
namespace {

// The number of rows to read ahead.
constexpr size_t kExpectedRows = 1024;

}  // namespace

class Listing::Writer {
 public:
  Writer(const index::Snapshot& snapshot, const std::optional<std::vector<std::string>>& fields,
         bool retrieve_vectors)
      : snapshot_(snapshot),
        projection_(Projection::ForDocuments(fields, *snapshot.fields)),
        retrieve_vectors_(retrieve_vectors),
        codec_(snapshot.dictionary) {}

  Status Append(DocId docid, std::string& out) {
    StopPoint();
    GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec_.Expand(snapshot_.FindRow(docid)));
    if (!segment::ParseRow(row, fields_)) return Status::Corruption("a stored document is damaged");
    bool first = true;
    out += '{';
    AppendProjected(fields_, *snapshot_.fields, projection_, first, out);
    if (retrieve_vectors_) {
      out += first ? "\"_vectors\":" : ",\"_vectors\":";
      GANNET_RETURN_IF_ERROR(AppendStoredVectors(snapshot_, docid, fields_, out));
    }
    out += '}';
    return Status::Ok();
  }
  // The id of the document appended last.
  std::string id() const {
    return index::ExternalIdOf(fields_, *snapshot_.fields, snapshot_.primary_key);
  }

 private:
  const index::Snapshot& snapshot_;
  Projection projection_;
  bool retrieve_vectors_;
  segment::RowCodec codec_;
  std::vector<segment::RowField> fields_;
};

namespace {

// Finds the first `end` documents in the order of the criteria, ties by docid.
void CollectSorted(const index::Snapshot& snapshot, const std::vector<SortCriterion>& sort,
                   size_t at, const DocSet& documents, uint64_t end, std::vector<DocId>& out) {
  if (at == sort.size()) {
    documents.ForEach([&](DocId docid) -> bool {
      out.push_back(docid);
      return out.size() < end;
    });
    return;
  }
  SortedBuckets buckets(snapshot, sort[at], documents);
  DocSet bucket;
  SortValue value;
  while (out.size() < end && buckets.Next(bucket, value))
    CollectSorted(snapshot, sort, at + 1, bucket, end, out);
}

// Keeps the documents that match the filter of a request, if it has one.
Status KeepMatching(const index::Snapshot& snapshot, const json::Value& request,
                    DocSet& documents) {
  if (request["filter"].is_null()) return Status::Ok();
  const filter::FilterFeatures features{request["containsFilter"].boolean(),
                                        request["multimodal"].boolean(),
                                        request["foreignKeys"].boolean()};
  const auto matched = index::EvaluateFilterJson(snapshot, request["filter"].text(), features);
  if (matched.ok()) {
    documents &= *matched;
    return Status::Ok();
  }
  const Status& status = matched.status();
  if (status.detail() != "invalid_search_filter") return status;
  return Status(status.code(), status.message(), "invalid_document_filter");
}

}  // namespace

Result<std::optional<std::string>> GetDocument(
    index::Index& index, std::string_view id, const std::optional<std::vector<std::string>>& fields,
    bool retrieve_vectors) {
  if (id.empty() || id.size() > 511) return std::optional<std::string>();
  // Read the ids first: a snapshot taken before might lack what they name.
  GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
  const auto docid = ids.Find(id);
  GANNET_RETURN_IF_ERROR(ids.health());
  const auto snapshot = index.present();
  if (!docid || !snapshot->documents.Contains(*docid)) return std::optional<std::string>();
  Listing::Writer writer(*snapshot, fields, retrieve_vectors);
  std::string out;
  GANNET_RETURN_IF_ERROR(writer.Append(*docid, out));
  // In between, the document may have been deleted and its docid reused.
  if (writer.id() != id) return std::optional<std::string>();
  return std::optional(std::move(out));
}

Result<std::unique_ptr<Listing>> Listing::Open(index::Index& index, std::string_view request_json) {
  const json::Value request = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(const PageMembers requested, PageMembers::FromJson(request));
  const uint64_t offset = requested.offset, limit = requested.limit;
  DocSet wanted;
  const bool by_ids = request["ids"].is_array();
  if (by_ids) {
    GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
    for (const json::Value& id : request["ids"].items()) {
      StopPoint();
      if (const auto docid = ids.Find(id.is_string() ? std::string_view(id.string()) : id.text()))
        wanted.Add(*docid);
    }
    GANNET_RETURN_IF_ERROR(ids.health());
  }
  auto snapshot = index.present();
  DocSet documents = snapshot->documents;
  if (by_ids) documents &= wanted;
  GANNET_RETURN_IF_ERROR(KeepMatching(*snapshot, request, documents));
  const auto sort_items = request["sort"].Strings().value_or(std::vector<std::string>());
  GANNET_ASSIGN_OR_RETURN(
      const auto sort, ParseSort(sort_items, *snapshot->settings, "invalid_document_sort", false));
  const uint64_t total = documents.size();
  std::vector<DocId> page;
  if (sort.empty()) {
    if (offset < total && limit > 0) {
      DocSetCursor cursor(documents);
      if (offset > 0) cursor.SkipTo(documents.Select(static_cast<uint32_t>(offset)));
      page.resize(std::min(limit, total - offset));
      size_t filled = 0;
      while (filled < page.size()) {
        const size_t count = cursor.Read(page.data() + filled, page.size() - filled);
        if (count == 0) break;
        filled += count;
      }
      page.resize(filled);
    }
  } else if (limit > 0) {
    const uint64_t end = offset > total ? total : offset + std::min(limit, total - offset);
    if (offset < end) {
      CollectSorted(*snapshot, sort, 0, documents, end, page);
      page.erase(page.begin(),
                 page.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(offset, page.size())));
    }
  }
  auto listing =
      std::unique_ptr<Listing>(new Listing(std::move(snapshot), std::move(page), request));
  listing->tail_ = "],\"offset\":";
  AppendJsonNumber(listing->tail_, offset);
  listing->tail_ += ",\"limit\":";
  AppendJsonNumber(listing->tail_, limit);
  listing->tail_ += ",\"total\":";
  AppendJsonNumber(listing->tail_, total);
  listing->tail_ += '}';
  return listing;
}

Listing::Listing(std::shared_ptr<const index::Snapshot> snapshot, std::vector<DocId> page,
                 const json::Value& request)
    : snapshot_(std::move(snapshot)),
      page_(std::move(page)),
      writer_(std::make_unique<Writer>(*snapshot_, request["fields"].Strings(),
                                       request["retrieveVectors"].boolean())) {}

Listing::~Listing() = default;

Result<bool> Listing::Next(uint64_t bytes, std::string& out) {
  const size_t before = out.size();
  if (at_ == 0) out += "{\"results\":[";
  while (at_ < page_.size()) {
    if (out.size() - before >= bytes) return false;
    if (at_ % kExpectedRows == 0) {
      const std::span<const DocId> rest(page_);
      snapshot_->ExpectRows(rest.subspan(at_, std::min(kExpectedRows, page_.size() - at_)));
    }
    if (at_ > 0) out += ',';
    GANNET_RETURN_IF_ERROR(writer_->Append(page_[at_], out));
    ++at_;
  }
  out += tail_;
  GANNET_RETURN_IF_ERROR(snapshot_->Health());
  return true;
}

struct DocumentStream::State {
  State(std::shared_ptr<const index::Snapshot> taken, DocSet matched)
      : snapshot(std::move(taken)),
        documents(std::move(matched)),
        cursor(documents),
        writer(*snapshot, std::nullopt, true) {}

  const std::shared_ptr<const index::Snapshot> snapshot;
  const DocSet documents;
  DocSetCursor cursor;
  Listing::Writer writer;
  // Docids read ahead, and the number of those already written.
  std::vector<DocId> page;
  size_t done = 0;
};

DocumentStream::DocumentStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
DocumentStream::~DocumentStream() = default;

Result<std::unique_ptr<DocumentStream>> DocumentStream::Open(index::Index& index,
                                                             std::string_view request_json) {
  const json::Value request = json::Value::Parse(request_json);
  auto snapshot = index.present();
  DocSet documents = snapshot->documents;
  GANNET_RETURN_IF_ERROR(KeepMatching(*snapshot, request, documents));
  return std::unique_ptr<DocumentStream>(
      new DocumentStream(std::make_unique<State>(std::move(snapshot), std::move(documents))));
}

uint64_t DocumentStream::total() const { return state_->documents.size(); }

void DocumentStream::Rewind() {
  state_->cursor = DocSetCursor(state_->documents);
  state_->page.clear();
  state_->done = 0;
}

Result<std::string> DocumentStream::Next(size_t bytes) {
  constexpr size_t kPage = 256;
  constexpr std::string_view kNoVectors = "\"_vectors\":{}}";
  State& state = *state_;
  std::string out;
  out.reserve(bytes + bytes / 8);
  while (out.size() < bytes) {
    if (state.done == state.page.size()) {
      state.page.resize(kPage);
      state.page.resize(state.cursor.Read(state.page.data(), kPage));
      state.done = 0;
      if (state.page.empty()) break;
      state.snapshot->ExpectRows(state.page);
    }
    const size_t begin = out.size();
    GANNET_RETURN_IF_ERROR(state.writer.Append(state.page[state.done++], out));
    if (out.ends_with(kNoVectors)) {
      out.resize(out.size() - kNoVectors.size());
      if (out.size() > begin + 1) out.pop_back();  // the last comma
      out += '}';
    }
    out += '\n';
  }
  GANNET_RETURN_IF_ERROR(state.snapshot->Health());
  return out;
}

}  // namespace gannet::search
