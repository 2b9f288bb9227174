// The sections of a segment file. The bytes of each are described next to its writer and in
// docs/internals/format.md.
#pragma once

#include "segment/file.h"

namespace gannet::segment {

// rows: the stored documents
inline constexpr SectionId kRowDocids = 1;   // u32 each, ascending
inline constexpr SectionId kRowOffsets = 2;  // packed_offsets.h; one more than documents
inline constexpr SectionId kRowData = 3;

// text: the term dictionary, its postings, the forward index
inline constexpr SectionId kTextMeta = 10;
inline constexpr SectionId kTerms = 11;           // FST: word -> ordinal
inline constexpr SectionId kPostingOffsets = 12;  // packed_offsets.h; one more than words
inline constexpr SectionId kPostingData = 13;
inline constexpr SectionId kForwardOffsets = 14;  // packed_offsets.h; one more than documents
inline constexpr SectionId kForwardData = 15;
inline constexpr SectionId kFieldLengths = 16;    // see lengths.h
inline constexpr SectionId kAdjacencyWords = 17;  // optional; see adjacency.h
inline constexpr SectionId kAdjacencyData = 18;
inline constexpr SectionId kPrefixWords = 30;  // optional; see prefix_unions.h
inline constexpr SectionId kPrefixData = 31;
inline constexpr SectionId kTripleKeys = 32;  // optional; see triples.h
inline constexpr SectionId kTripleOffsets = 33;
inline constexpr SectionId kTripleData = 34;

// vectors: one directory, and for each embedder, by its index in the directory, a run of section
// ids; see vectors.h
inline constexpr SectionId kVectorDirectory = 40;
inline constexpr SectionId kGraphDirectory = 41;  // in a file of graphs; see graphs.h
inline constexpr SectionId kGraphSections =
    8192;  // + index of the embedder * 2: rows by node, nodes
inline constexpr SectionId kVectorSections =
    4096;  // + index of the embedder * kVectorParts + VectorPart
inline constexpr SectionId kVectorParts = 16;
enum class VectorPart : uint8_t {
  kDocids,      // u32 each, ascending: documents with an entry
  kFirstRows,   // u32 by document and one more: its first row
  kFlags,       // u8 by document: VectorFlags
  kRowDocids,   // u32 by row
  kRows,        // f32 by component by row; not when binary quantised
  kBytes,       // i8 by component by row; not when binary quantised
  kScales,      // ByteScale by row; not when binary quantised
  kBits,        // one bit per component, whole u64 by row; only when binary quantised
  kTextHashes,  // u64 by row; optional
  kFragments,   // u8 by row; optional
  kSigns,       // blocks of rows, vector/signs.h; optional
  kSpans,       // RowSpan by row; optional
};

// columns: one directory; see columns.h
inline constexpr SectionId kColumnDirectory = 20;
inline constexpr SectionId kColumnData = 21;
inline constexpr SectionId kGeoPoints = 22;         // optional; see geo_index.h
inline constexpr SectionId kElementDirectory = 23;  // optional; columns and maps of elements

}  // namespace gannet::segment
