#include "search/vectors/stored_vectors.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"

namespace gannet::search {
namespace {

// Appends the member `passages`, if the embeddings were made from some.
void AppendSpans(const segment::EmbedderReader& reader, size_t local, std::string& out) {
  const auto rows = reader.rows_of(local);
  if (rows.empty() || reader.source(rows.begin).span == segment::RowSpan{}) return;
  out += ",\"passages\":[";
  for (uint32_t row = rows.begin; row < rows.end; ++row) {
    const segment::RowSpan span = reader.source(row).span;
    out += row == rows.begin ? "{\"start\":" : ",{\"start\":";
    AppendJsonNumber(out, span.start);
    out += ",\"length\":";
    AppendJsonNumber(out, span.length);
    out += '}';
  }
  out += ']';
}

}  // namespace

Status AppendStoredVectors(const index::Snapshot& snapshot, DocId docid,
                           std::span<const segment::RowField> row, std::string& out) {
  const index::SegmentView* segment = snapshot.FindSegment(docid);
  bool first = true;
  const auto member = [&](std::string_view name) {
    out += std::exchange(first, false) ? '{' : ',';
    AppendJsonString(out, name);
    out += ':';
  };
  for (const index::EmbedderSettings& embedder : snapshot.settings->embedders) {
    const segment::EmbedderReader* reader =
        segment == nullptr ? nullptr : segment->vectors->Find(embedder.name);
    const int64_t local = reader == nullptr ? -1 : reader->local_docids().Find(docid);
    member(embedder.name);
    out += "{\"embeddings\":";
    if (local < 0) {
      out += "[],\"regenerate\":false}";
      continue;
    }
    GANNET_RETURN_IF_ERROR(segment::AppendEmbeddings(*reader, static_cast<size_t>(local), out));
    const bool regenerate = (reader->flags(static_cast<size_t>(local)) & segment::kRegenerate) != 0;
    out += regenerate ? ",\"regenerate\":true" : ",\"regenerate\":false";
    if (regenerate) AppendSpans(*reader, static_cast<size_t>(local), out);
    out += '}';
  }
  const auto field = snapshot.fields->Find("_vectors");
  const auto kept = std::find_if(row.begin(), row.end(), [&](const segment::RowField& stored) {
    return stored.field == field;
  });
  if (kept != row.end() && json::KindOf(kept->value) == json::Kind::kObject) {
    json::ForEachMember(kept->value, [&](std::string_view name, std::string_view value) {
      if (snapshot.settings->Embedder(name) != nullptr) return;
      member(name);
      out += value;
    });
  }
  out += first ? "{}" : "}";
  return Status::Ok();
}

Result<std::vector<std::vector<float>>> ReadEmbeddings(const index::Snapshot& snapshot,
                                                       const index::EmbedderSettings& embedder,
                                                       DocId docid) {
  std::vector<std::vector<float>> embeddings;
  const index::SegmentView* segment = snapshot.FindSegment(docid);
  const segment::EmbedderReader* reader =
      segment == nullptr ? nullptr : segment->vectors->Find(embedder.name);
  if (reader == nullptr) return embeddings;
  const auto rows = reader->FindRows(docid);
  for (uint32_t row = rows.begin; row < rows.end; ++row) {
    std::vector<float> numbers;
    if (!reader->ReadRow(row, numbers)) return Status::Corruption("a stored vector is damaged");
    embeddings.push_back(std::move(numbers));
  }
  return embeddings;
}

}  // namespace gannet::search
