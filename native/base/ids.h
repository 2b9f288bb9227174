// Numeric identifiers inside the engine. They never leave it.
#pragma once

#include <cstdint>

namespace gannet {

using DocId = uint32_t;    // dense, given in insertion order, kept when a document is replaced
using FieldId = uint16_t;  // a dotted attribute path, numbered in order of first appearance
using Ordinal = uint32_t;  // index of a word in one segment's term dictionary, in byte order
using SegmentId = uint64_t;

inline constexpr uint32_t kWordBytesMax = 250;   // longer words are not indexed
inline constexpr uint32_t kPositionMax = 65535;  // position of a word inside one field
inline constexpr uint32_t kFieldsMax = 65535;    // per index
inline constexpr uint32_t kFacetStringBytesMax = 468;

}  // namespace gannet
