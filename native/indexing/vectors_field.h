// The field `_vectors` of a document as it is sent (embedders.md 10).
//
// Threads: all functions are pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/settings.h"
#include "segment/vectors.h"

namespace gannet::indexing {

inline constexpr std::string_view kVectorsField = "_vectors";

// Limit of the embeddings of one document for one embedder.
inline constexpr uint32_t kEmbeddingsMax = 256;

// The entry of a document for one embedder.
struct VectorsEntry {
  // JSON: an array of numbers, or an array of such arrays. Empty: not given.
  std::string_view embeddings;
  std::string_view passages;  // JSON of a list of `start` and `length` by embedding; may be empty
  bool removed = false;       // null or an empty array was sent: there are no embeddings
  bool regenerate = false;
  bool given() const { return !embeddings.empty(); }
};

// Reads an entry from the JSON value of a name. document_id, name: for messages. dimensions: of
// each embedding; 0: any.
// Invalid: invalid_vectors_type, too_many_vectors; with dimensions also invalid_vector_dimensions.
Result<VectorsEntry> ReadVectorsEntry(std::string_view document_id, std::string_view name,
                                      std::string_view value, uint32_t dimensions);

// The members of `_vectors`; the last of a repeated name counts. Invalid: invalid_vectors_type, it
// is neither an object nor null.
using VectorsMembers = std::map<std::string, std::string_view, std::less<>>;
Result<VectorsMembers> ReadVectorsMembers(std::string_view document_id, std::string_view vectors);

// Calls sink(row) for each embedding of an entry that was read before. Numbers beyond the range of
// a single become its greatest number.
void ForEachEmbedding(const VectorsEntry& entry,
                      const std::function<void(std::span<const float>)>& sink);
// The passages that its embeddings were made from, in their order; empty: not given.
std::vector<segment::RowSpan> PassagesOf(const VectorsEntry& entry);
// Number of dimensions of its first embedding; 0 if there is none.
uint32_t DimensionsOf(const VectorsEntry& entry);

// Appends the value of a name that is not an embedder in the form in which it is kept: null as [],
// objects with both members.
void AppendKeptEntry(std::string_view value, const VectorsEntry& entry, std::string& out);

// The error for a document sent without the vectors that only it can provide.
// given: names in its `_vectors`.
Status MissingVectors(std::string_view document_id, std::string_view embedder,
                      const VectorsMembers& given);

// Reads the number at `at`, which must be valid JSON, as a double rounded to single precision.
// Moves `at` past it.
float ReadSingle(const char*& at, const char* end);

}  // namespace gannet::indexing
