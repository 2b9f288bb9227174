#include "search/vectors/passages.h"

#include <utility>

#include "base/json.h"
#include "base/json_reader.h"

namespace gannet::search {
namespace {

// The value at a dotted path below a member with this name; empty: it is not there. A name with
// dots is found too.
std::string_view ValueBelow(std::string_view name, std::string_view value, std::string_view path) {
  if (name == path) return value;
  if (path.size() <= name.size() || !path.starts_with(name) || path[name.size()] != '.' ||
      json::KindOf(value) != json::Kind::kObject) {
    return {};
  }
  std::string_view found;
  json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
    found = ValueBelow(key, member, path.substr(name.size() + 1));
    return found.empty();
  });
  return found;
}

bool BeginsCharacter(std::string_view text, size_t at) {
  return at == text.size() || (static_cast<uint8_t>(text[at]) & 0xc0) != 0x80;
}

// Whether the text has the span. One that came with a document may be of another text.
bool Has(std::string_view text, segment::RowSpan span) {
  const size_t end = size_t{span.start} + span.length;
  return span.length > 0 && end <= text.size() && BeginsCharacter(text, span.start) &&
         BeginsCharacter(text, end);
}

}  // namespace

void AppendPassages(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder,
                    const VectorScan& scan, DocId docid, std::span<const segment::RowField> row,
                    uint64_t count, std::string& out) {
  out += '[';
  std::string_view value;
  for (size_t i = 0; i < row.size() && value.empty(); ++i)
    value = ValueBelow(snapshot.fields->name(row[i].field), row[i].value, embedder.chunked);
  const index::SegmentView* segment = snapshot.FindSegment(docid);
  const segment::EmbedderReader* reader =
      segment == nullptr ? nullptr : segment->vectors->Find(embedder.name);
  const int64_t local = reader == nullptr ? -1 : reader->local_docids().Find(docid);
  if (local >= 0 && json::KindOf(value) == json::Kind::kString &&
      (reader->flags(static_cast<size_t>(local)) & segment::kRegenerate) != 0) {
    std::string scratch;
    const std::string_view text = json::StringValue(value, scratch);
    bool first = true;
    for (const NearRow& near :
         scan.NearestRows(*reader, reader->rows_of(static_cast<size_t>(local)))) {
      const segment::RowSpan span = reader->source(near.row).span;
      if (count == 0) break;
      if (!Has(text, span)) continue;
      --count;
      out += std::exchange(first, false) ? "{\"attribute\":" : ",{\"attribute\":";
      AppendJsonString(out, embedder.chunked);
      out += ",\"start\":";
      AppendJsonNumber(out, span.start);
      out += ",\"length\":";
      AppendJsonNumber(out, span.length);
      out += ",\"score\":";
      AppendJsonFloat(out, static_cast<double>(near.similarity));
      out += ",\"text\":";
      AppendJsonString(out, text.substr(span.start, span.length));
      out += '}';
    }
  }
  out += ']';
}

}  // namespace gannet::search
