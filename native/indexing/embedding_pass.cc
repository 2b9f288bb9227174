#include "indexing/embedding_pass.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <type_traits>

#include "base/bytes.h"
#include "base/json.h"
#include "index/fields.h"
#include "index/settings.h"
#include "indexing/job.h"

namespace gannet::indexing {
namespace {

// A chunk ends with the document that reaches one of these.
constexpr size_t kChunkDocuments = 256;
constexpr size_t kChunkBytes = 512 << 10;
// Calls handed out at a time: while some wait for a provider, others are rendered.
constexpr size_t kCallsMax = 4;

static_assert(std::is_trivially_copyable_v<segment::RowSource>);

Status WrongResponse() {
  return Status::Internal("the embeddings of documents came in a wrong form");
}

class Pass {
 public:
  Pass(const DocumentSource& source, const std::string& folder, EmbedCalls& calls,
       Progress& progress)
      : source_(source),
        calls_(calls),
        progress_(progress),
        state_(source),
        made_(std::make_unique<SpooledEmbeddings>(folder, source.embedders)) {
    uint32_t next = 0;
    for (const index::EmbedderSettings& embedder : source.settings->embedders) {
      numbers_.push_back(embedder.computes ? next++ : kNone);
    }
    for (const char* name : {"_vectors", "_geo", "_geojson"})
      hidden_.push_back(source.fields->Find(name));
  }

  Status Run(std::span<const Change> changes) {
    progress_.Begin("embedding documents", changes.size());
    for (const Change& change : changes) {
      GANNET_ASSIGN_OR_RETURN(const bool exists, state_.Resolve(change));
      if (exists) Collect(change);
      if (documents_.size() >= kChunkDocuments || chunk_.size() >= kChunkBytes)
        GANNET_RETURN_IF_ERROR(Send());
      progress_.Advance();
      GANNET_RETURN_IF_ERROR(progress_.Health());
    }
    GANNET_RETURN_IF_ERROR(Send());
    while (!under_way_.empty()) GANNET_RETURN_IF_ERROR(TakeResponse());
    return made_->Seal();
  }

  std::unique_ptr<SpooledEmbeddings> Take() { return std::move(made_); }

 private:
  struct Document {
    DocId docid;
    std::vector<DocumentVectors::Want> wants;
  };
  struct Call {
    uint32_t number;
    std::vector<Document> documents;
  };

  void Collect(const Change& change) {
    std::vector<DocumentVectors::Want> wants;
    state_.vectors().AppendWants(wants);
    if (wants.empty()) return;
    chunk_ += chunk_.empty() ? "[{\"id\":" : ",{\"id\":";
    AppendJsonString(chunk_, state_.id());
    chunk_ += ",\"doc\":";
    AppendDocument(state_.fields());
    if (change.touched != kNone && state_.stored() &&
        std::any_of(wants.begin(), wants.end(), HashIsMissing)) {
      chunk_ += ",\"old\":";
      AppendDocument(state_.old_fields());
    }
    chunk_ += ",\"want\":[";
    for (size_t i = 0; i < wants.size(); ++i) {
      if (i > 0) chunk_ += ',';
      AppendWant(wants[i]);
    }
    chunk_ += "]}";
    documents_.push_back({change.docid, std::move(wants)});
  }

  // Whether the stored embeddings do not record the text that they were made from.
  static bool HashIsMissing(const DocumentVectors::Want& want) {
    if (want.always || want.stored == nullptr) return false;
    const auto rows = want.stored->rows_of(want.local);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
      if (want.stored->source(row).text_hash != 0) return false;
    }
    return true;
  }

  void AppendDocument(std::span<const segment::RowField> fields) {
    chunk_ += '{';
    bool first = true;
    for (const segment::RowField& field : fields) {
      if (std::find(hidden_.begin(), hidden_.end(), field.field) != hidden_.end()) continue;
      if (!std::exchange(first, false)) chunk_ += ',';
      AppendJsonString(chunk_, source_.fields->name(field.field));
      chunk_ += ':';
      chunk_ += field.value;
    }
    chunk_ += '}';
  }

  void AppendWant(const DocumentVectors::Want& want) {
    chunk_ += '[';
    AppendJsonNumber(chunk_, uint64_t{numbers_[want.embedder]});
    chunk_ += want.always ? ",1,[" : ",0,[";
    if (want.stored != nullptr) {
      const auto rows = want.stored->rows_of(want.local);
      for (uint32_t row = rows.begin; row < rows.end; ++row) {
        if (row > rows.begin) chunk_ += ',';
        const segment::RowSource source = want.stored->source(row);
        chunk_ += '[';
        AppendJsonNumber(chunk_, uint64_t{source.fragment});
        chunk_ += ",\"";
        AppendHash(source.text_hash);
        chunk_ += '"';
        if (source.span != segment::RowSpan{}) {
          chunk_ += ',';
          AppendJsonNumber(chunk_, source.span.start);
          chunk_ += ',';
          AppendJsonNumber(chunk_, source.span.length);
        }
        chunk_ += ']';
      }
    }
    chunk_ += "]]";
  }

  // Appends sixteen digits; a single one for an unknown hash.
  void AppendHash(uint64_t hash) {
    if (hash == 0) {
      chunk_ += '0';
      return;
    }
    for (int shift = 60; shift >= 0; shift -= 4) chunk_ += "0123456789abcdef"[(hash >> shift) & 15];
  }

  Status Send() {
    if (documents_.empty()) return Status::Ok();
    while (under_way_.size() >= kCallsMax) GANNET_RETURN_IF_ERROR(TakeResponse());
    chunk_ += ']';
    const uint32_t call = calls_.Send(std::exchange(chunk_, {}));
    under_way_.push_back({call, std::exchange(documents_, {})});
    return Status::Ok();
  }

  // Takes results in the order of the calls, so that docids ascend.
  Status TakeResponse() {
    const Call call = std::move(under_way_.front());
    under_way_.pop_front();
    GANNET_ASSIGN_OR_RETURN(const std::string response, calls_.Await(call.number, progress_));
    ByteReader reader(response);
    for (const Document& document : call.documents) {
      for (const DocumentVectors::Want& want : document.wants) {
        if (reader.Fixed<uint8_t>() != 0)
          GANNET_RETURN_IF_ERROR(TakeRows(reader, document.docid, want));
        if (!reader.ok()) return WrongResponse();
      }
    }
    return reader.done() ? Status::Ok() : WrongResponse();
  }

  // Reads the embeddings of a document for one embedder from a result:
  // src/embedding/chunk-result.ts.
  Status TakeRows(ByteReader& reader, DocId docid, const DocumentVectors::Want& want) {
    sources_.clear();
    floats_.clear();
    const uint16_t count = reader.Fixed<uint16_t>();
    for (uint16_t i = 0; i < count && reader.ok(); ++i) {
      const bool stays = reader.Fixed<uint8_t>() != 0;
      segment::RowSource source;
      source.fragment = reader.Fixed<uint8_t>();
      source.text_hash = reader.Fixed<uint64_t>();
      source.span.start = reader.Fixed<uint32_t>();
      source.span.length = reader.Fixed<uint32_t>();
      sources_.push_back(source);
      if (!stays) {
        AppendFloats(reader.Bytes(reader.Fixed<uint32_t>() * sizeof(float)));
      } else if (!AppendStored(want, reader.Fixed<uint8_t>())) {
        return WrongResponse();
      }
    }
    if (!reader.ok()) return WrongResponse();
    const uint32_t dimensions = source_.embedders[want.embedder].dimensions;
    if (floats_.size() != uint64_t{count} * dimensions) return WrongResponse();
    made_->Add(want.embedder, docid, sources_, floats_);
    return Status::Ok();
  }

  void AppendFloats(std::string_view bytes) {
    if (bytes.empty()) return;
    const size_t before = floats_.size();
    floats_.resize(before + bytes.size() / sizeof(float));
    std::memcpy(floats_.data() + before, bytes.data(), bytes.size());
  }

  bool AppendStored(const DocumentVectors::Want& want, uint8_t fragment) {
    if (want.stored == nullptr) return false;
    const auto rows = want.stored->rows_of(want.local);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
      if (want.stored->source(row).fragment != fragment) continue;
      if (!want.stored->ReadRow(row, row_)) return false;
      floats_.insert(floats_.end(), row_.begin(), row_.end());
      return true;
    }
    return false;
  }

  const DocumentSource& source_;
  EmbedCalls& calls_;
  Progress& progress_;
  DocumentState state_;
  std::unique_ptr<SpooledEmbeddings> made_;
  std::vector<uint32_t>
      numbers_;  // by embedder: its index among those that make embeddings, or kNone
  std::vector<std::optional<FieldId>> hidden_;
  std::string chunk_;
  std::vector<Document> documents_;  // of the chunk
  std::deque<Call> under_way_;
  std::vector<segment::RowSource> sources_;
  std::vector<float> floats_, row_;
};

}  // namespace

SpooledEmbeddings::SpooledEmbeddings(std::string folder,
                                     const std::vector<segment::EmbedderShape>& embedders)
    : spool_(std::move(folder)) {
  for (const segment::EmbedderShape& shape : embedders)
    embedders_.push_back({shape.dimensions, {}});
}

void SpooledEmbeddings::Add(size_t embedder, DocId docid,
                            std::span<const segment::RowSource> sources,
                            std::span<const float> numbers) {
  embedders_[embedder].entries.push_back(
      {docid, static_cast<uint32_t>(sources.size()), spool_.size()});
  std::string& out = spool_.buffer();
  out.append(reinterpret_cast<const char*>(sources.data()), sources.size_bytes());
  out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  // Aligned, because sources are read in place.
  out.append((alignof(segment::RowSource) - spool_.size() % alignof(segment::RowSource)) %
                 alignof(segment::RowSource),
             '\0');
  spool_.Settle();
}

Status SpooledEmbeddings::Seal() {
  GANNET_ASSIGN_OR_RETURN(bytes_, spool_.Bytes());
  return Status::Ok();
}

std::optional<MadeEmbeddings::Rows> SpooledEmbeddings::Find(size_t embedder, DocId docid) const {
  const Embedder& made = embedders_[embedder];
  const auto found =
      std::lower_bound(made.entries.begin(), made.entries.end(), docid,
                       [](const Entry& entry, DocId wanted) { return entry.docid < wanted; });
  if (found == made.entries.end() || found->docid != docid) return std::nullopt;
  const char* at = bytes_.data() + found->offset;
  Rows rows;
  rows.sources = {reinterpret_cast<const segment::RowSource*>(at), found->row_count};
  rows.numbers = {reinterpret_cast<const float*>(at + rows.sources.size_bytes()),
                  size_t{found->row_count} * made.dimensions};
  return rows;
}

Result<std::unique_ptr<SpooledEmbeddings>> EmbedDocuments(const DocumentSource& source,
                                                          std::span<const Change> changes,
                                                          const std::string& folder,
                                                          EmbedCalls& calls, Progress& progress) {
  const auto& embedders = source.settings->embedders;
  if (std::all_of(embedders.begin(), embedders.end(),
                  [](const auto& embedder) { return !embedder.computes; })) {
    return std::unique_ptr<SpooledEmbeddings>();
  }
  Pass pass(source, folder, calls, progress);
  GANNET_RETURN_IF_ERROR(pass.Run(changes));
  return pass.Take();
}

}  // namespace gannet::indexing
