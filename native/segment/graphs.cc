#include "segment/graphs.h"

#include <utility>

#include "base/bytes.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

SectionId RowsOf(size_t number) { return kGraphSections + static_cast<SectionId>(number) * 2; }
SectionId NodesOf(size_t number) { return RowsOf(number) + 1; }

}  // namespace

vector::ByteMatrix MatrixOf(const EmbedderReader& embedder) {
  const EmbedderReader::ByteRows rows = embedder.Bytes(0, embedder.row_count());
  return {rows.bytes, rows.scales, embedder.row_count(), embedder.dimensions()};
}

Result<std::shared_ptr<const GraphsReader>> GraphsReader::Open(
    std::shared_ptr<SegmentFile> file, std::shared_ptr<const VectorsReader> vectors) {
  auto reader = std::make_shared<GraphsReader>();
  reader->file_ = file;
  reader->vectors_ = std::move(vectors);
  ByteReader directory(file->ReadAll(kGraphDirectory));
  const uint64_t count = directory.Varint();
  for (uint64_t i = 0; i < count && directory.ok(); ++i) {
    auto entry = std::make_unique<Entry>();
    entry->embedder = directory.LengthPrefixed();
    entry->number = i;
    reader->entries_.push_back(std::move(entry));
  }
  if (!directory.ok() || file->corrupt())
    return Status::Corruption("the graphs in the segment file " + file->path() + " are damaged");
  return std::shared_ptr<const GraphsReader>(reader);
}

Status GraphsReader::OpenGraph(Entry& entry) const {
  std::call_once(entry.once, [&] {
    const EmbedderReader* embedder = vectors_->Find(entry.embedder);
    const vector::ByteMatrix matrix =
        embedder == nullptr ? vector::ByteMatrix() : MatrixOf(*embedder);
    const auto rows = AsSpan<uint32_t>(file_->ReadAll(RowsOf(entry.number)));
    const std::string_view nodes = file_->ReadAll(NodesOf(entry.number));
    if (matrix.bytes == nullptr || rows.size() != matrix.rows) {
      entry.status = Status::Corruption("the graph of the embedder `" + entry.embedder + "` in " +
                                        file_->path() + " is damaged");
      return;
    }
    auto graph = vector::Graph::Open(rows, nodes, matrix);
    if (graph.ok()) {
      entry.graph = std::move(*graph);
    } else {
      entry.status = graph.status();
    }
  });
  return entry.status;
}

const vector::Graph* GraphsReader::Find(std::string_view embedder) const {
  for (const auto& entry : entries_) {
    if (entry->embedder == embedder) return OpenGraph(*entry).ok() ? entry->graph.get() : nullptr;
  }
  return nullptr;
}

std::optional<GraphsReader::Stored> GraphsReader::FindStored(std::string_view embedder) const {
  const EmbedderReader* reader = vectors_->Find(embedder);
  if (reader == nullptr) return std::nullopt;
  for (const auto& entry : entries_) {
    if (entry->embedder != embedder) continue;
    return Stored{reader, AsSpan<uint32_t>(file_->ReadAll(RowsOf(entry->number))),
                  file_->ReadAll(NodesOf(entry->number))};
  }
  return std::nullopt;
}

Status GraphsReader::Verify() const {
  for (const auto& entry : entries_) GANNET_RETURN_IF_ERROR(OpenGraph(*entry));
  return Status::Ok();
}

Status GraphsWriter::Add(std::string_view embedder, const vector::BuiltGraph& graph) {
  PutBytes(directory_, embedder);
  const auto rows = graph.rows();
  file_.AddSection(RowsOf(count_), {reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
  file_.BeginSection(NodesOf(count_));
  const Status status = graph.Write([&](std::string_view bytes) { file_.Append(bytes); });
  file_.EndSection();
  ++count_;
  return status;
}

void GraphsWriter::Finish() {
  std::string directory;
  PutVarint(directory, count_);
  file_.AddSection(kGraphDirectory, directory + directory_);
}

}  // namespace gannet::segment
