// The embeddings of one document while a batch is applied to it (embedders.md 10 and 11).
//
// Threads: one owner; the snapshot and the settings are shared.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "index/snapshot.h"
#include "indexing/operations.h"
#include "indexing/vectors_field.h"
#include "segment/vectors.h"

namespace gannet::indexing {

// Embeddings made for the documents of a batch from their texts.
//
// Threads: any.
class MadeEmbeddings {
 public:
  virtual ~MadeEmbeddings() = default;
  struct Rows {
    std::span<const float> numbers;               // of all rows, one after another
    std::span<const segment::RowSource> sources;  // by row
  };
  // embedder: by index, in the settings in force after the batch.
  // Nullopt: none were requested, because the text is the same; the stored ones stay.
  virtual std::optional<Rows> Find(size_t embedder, DocId docid) const = 0;
};

// The embedders of settings in the form that a segment needs. dimensions: by embedder, 0 where they
// are not known.
std::vector<segment::EmbedderShape> ShapesOf(const index::Settings& settings,
                                             std::span<const uint32_t> dimensions);

// The effect of a change of settings on the embeddings that an embedder has made: they stay, those
// whose text differs now are remade, or all are remade.
enum class Remake : uint8_t { kNone, kChanged, kAll };

class DocumentVectors {
 public:
  // shapes: of the embedders of `after`, the settings in force after the batch. remakes: by
  // embedder; may be empty. made: may be null.
  DocumentVectors(const index::Snapshot& before, const index::Settings& after,
                  std::vector<segment::EmbedderShape> shapes, std::vector<Remake> remakes,
                  const MadeEmbeddings* made);

  // Starts with a document as it is stored. kept: the value of its stored `_vectors`, which has the
  // names that are not embedders; empty: none. If the batch adds embedders, their values are taken
  // from there; if it removes embedders, their values go there.
  // Invalid: vector_embedding_error, invalid_vectors_type, invalid_vector_dimensions,
  // too_many_vectors.
  Status BeginStored(std::string_view document_id, DocId docid, std::string_view kept);
  // Starts without a document.
  void BeginNew();
  // Deletes the document; it may be sent again.
  void Delete() { BeginNew(); }
  // vectors: the value of `_vectors` in a document that is sent, already checked; empty: it has
  // none. It must outlive the use of the document here.
  void Apply(Action action, std::string_view vectors);

  // An embedding to be made.
  struct Want {
    size_t embedder;
    bool always;                            // also if the text is the same
    const segment::EmbedderReader* stored;  // null: nothing is stored that could stay
    size_t local;                           // in `stored`
  };
  void AppendWants(std::vector<Want>& out) const;

  // Whether an embedding or flag may differ from the stored one. docid: of the document.
  bool Changed(DocId docid) const;
  // The `_vectors` that the stored document keeps; empty: none.
  const std::string& kept() const { return kept_text_; }
  // Adds the entries of the document. Corruption: a stored vector is damaged. Invalid:
  // invalid_vector_dimensions.
  Status AddTo(std::string_view document_id, DocId docid, segment::VectorsWriter& vectors) const;

 private:
  enum class From : uint8_t { kNothing, kStored, kGiven, kNone };
  struct State {
    From from = From::kNothing;
    uint8_t flags = 0;
    bool make = false;  // embeddings are made of its text if that has changed, or there are none
    bool changed = false;
    const segment::EmbedderReader* stored = nullptr;
    size_t local = 0;  // in the stored vectors
    VectorsEntry given;
  };
  void ApplyEntry(size_t embedder, const VectorsEntry& entry, bool document_exists);
  void ApplyAbsent(size_t embedder, bool document_exists);
  void WriteKept();
  Remake RemakeOf(size_t embedder) const {
    return embedder < remakes_.size() ? remakes_[embedder] : Remake::kNone;
  }
  std::optional<MadeEmbeddings::Rows> Made(size_t embedder, DocId docid) const;

  const index::Snapshot& before_;
  const index::Settings& after_;
  const std::vector<segment::EmbedderShape> shapes_;
  const std::vector<Remake> remakes_;
  const MadeEmbeddings* const made_;
  std::vector<const index::EmbedderSettings*> removed_;  // removed ones, of the settings before
  std::vector<State> states_;                            // by embedder of `after_`
  bool exists_ = false;
  std::map<std::string, std::string, std::less<>> kept_;  // name to its JSON
  std::string kept_text_;
};

}  // namespace gannet::indexing
