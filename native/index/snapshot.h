// One consistent state of an index. A search or a job uses the same one from start to end.
//
// Immutable and shared: a commit publishes a new snapshot; an old one lives as long as somebody
// holds it. Readers never wait for writers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cache_line.h"
#include "base/ids.h"
#include "bitmap/doc_bits.h"
#include "bitmap/docset.h"
#include "index/distribution.h"
#include "index/fields.h"
#include "index/expansion_cache.h"
#include "index/measured_cutoffs.h"
#include "index/settings.h"
#include "segment/columns.h"
#include "segment/graphs.h"
#include "segment/rows.h"
#include "segment/text.h"
#include "segment/vectors.h"
#include "text/analyzer.h"

namespace gannet::index {

// The files with the parts of a segment; rows and text share one.
struct SegmentFiles {
  SegmentId id = 0;
  uint64_t base_file = 0;
  uint64_t columns_file = 0;  // equal to base_file until columns are rebuilt
  uint64_t graphs_file = 0;   // 0: none was built
};

struct SegmentView {
  SegmentFiles files;
  std::shared_ptr<const segment::RowsReader> rows;
  std::shared_ptr<const segment::TextReader> text;
  std::shared_ptr<const segment::ColumnsReader> columns;
  std::shared_ptr<const segment::VectorsReader> vectors;
  std::shared_ptr<const segment::GraphsReader> graphs;  // null: none was built
  // If none was built: those of a segment that this one replaced, to start from. Only in memory, so
  // after a start graphs are built from nothing. The files have no names any more.
  std::shared_ptr<const segment::GraphsReader> earlier_graphs;
  std::shared_ptr<const DocSet> documents;  // all documents of the segment
  DocSet dead;  // documents replaced or deleted since the segment was written
  std::shared_ptr<const DocBits> dead_bits;  // of dead
  DocSet live;                               // documents - dead
  std::shared_ptr<const DocSet> embedded;  // those of `documents` with an embedding of any embedder
  uint64_t embedding_count =
      0;  // number of embeddings of live documents, for all embedders together
  bool all_live() const { return dead.empty(); }
  // Makes those of the documents that are live dead.
  void Lose(const DocSet& documents);
  // Corruption: a damaged block has been read.
  Status Health() const;
};

using SegmentViews = std::vector<std::shared_ptr<const SegmentView>>;

// Each search changes the reference count and the caches: they share no cache line with what all
// searches read.
struct alignas(kCacheLine) Snapshot {
  std::shared_ptr<const StoredSettings> stored_settings;  // null when never set
  std::shared_ptr<const Settings> settings;
  std::shared_ptr<const FieldMap> fields;
  std::vector<FieldTraits> traits;  // by field
  std::shared_ptr<const text::Analyzer> analyzer;
  std::shared_ptr<const segment::RowDictionary> dictionary;  // null until the index has made one
  SegmentViews segments;
  DocSet documents;  // all live documents
  std::string primary_key;
  bool has_primary_key = false;
  Distribution distribution;  // of the live documents
  std::string updated_at;
  std::string last_batch;  // JSON
  uint64_t version = 0;    // grows with each commit
  // The first moment at which a document expires (index/expiry.h); nullopt: not computed.
  std::optional<double> first_expiry;
  alignas(kCacheLine) ExpansionCache expansion_cache;
  MeasuredCutoffs measured_cutoffs;

  Status Health() const;
  // The segment of a live document; null if there is none.
  const SegmentView* FindSegment(DocId docid) const;
  // The number of dimensions of an embedder, from the settings or else from the stored vectors. 0:
  // not known yet.
  uint32_t DimensionsOf(const EmbedderSettings& embedder) const;
  struct EmbeddingCounts {
    uint64_t embeddings, documents;  // documents with at least one
  };
  // Counts for all embedders together.
  EmbeddingCounts CountEmbeddings() const;
  // Tells the system to read the rows of these documents from the disk, unless they were read
  // before. Does not wait for them.
  void ExpectRows(std::span<const DocId> docids) const;
  // The compressed row of a live document; empty if there is none.
  std::string_view FindRow(DocId docid) const;
};

}  // namespace gannet::index
