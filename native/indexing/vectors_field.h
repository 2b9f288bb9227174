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

namespace gannet::indexing {

inline constexpr std::string_view kVectorsField = "_vectors";

// Embeddings of one document for one embedder at most.
inline constexpr uint32_t kEmbeddingsMax = 256;

// What a document says of one embedder.
struct VectorsEntry {
  // JSON: an array of numbers, or an array of such arrays. Empty: not given.
  std::string_view embeddings;
  bool removed = false;  // null, or an empty array: there are none
  bool regenerate = false;
  bool given() const { return !embeddings.empty(); }
};

// The entry that the JSON value of a name stands for. document_id, name: for messages.
// Invalid: invalid_vectors_type, too_many_vectors; with dimensions also invalid_vector_dimensions.
// dimensions: of each embedding; 0: any.
Result<VectorsEntry> ReadVectorsEntry(std::string_view document_id, std::string_view name,
                                      std::string_view value, uint32_t dimensions);

// The members of `_vectors`; of those of one name the last. Invalid: invalid_vectors_type, it is
// neither an object nor null.
using VectorsMembers = std::map<std::string, std::string_view, std::less<>>;
Result<VectorsMembers> ReadVectorsMembers(std::string_view document_id, std::string_view vectors);

// Calls sink(row) for each embedding of an entry that was read before. Numbers beyond single
// precision become its greatest.
void ForEachEmbedding(const VectorsEntry& entry,
                      const std::function<void(std::span<const float>)>& sink);
// Numbers of its first embedding; 0 without one.
uint32_t DimensionsOf(const VectorsEntry& entry);

// Appends the value of a name that is no embedder as it is kept: null as [], objects with both
// members.
void AppendKeptEntry(std::string_view value, const VectorsEntry& entry, std::string& out);

// The error of a document that came without the vectors that only it can give.
// given: names in its `_vectors`.
Status MissingVectors(std::string_view document_id, std::string_view embedder,
                      const VectorsMembers& given);

// The number at `at`, valid JSON; moves `at` behind it. As a double rounded to single precision.
float ReadSingle(const char*& at, const char* end);

}  // namespace gannet::indexing
