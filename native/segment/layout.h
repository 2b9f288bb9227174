// Which sections a segment file has. The bytes of each are described beside its writer and in
// docs/format.md.
#pragma once

#include "segment/file.h"

namespace gannet::segment {

// rows: the stored documents
inline constexpr SectionId kRowDocids = 1;     // u32 each, ascending
inline constexpr SectionId kRowOffsets = 2;    // packed_offsets.h; one more than documents
inline constexpr SectionId kRowData = 3;

// text: the term dictionary, its postings, the forward index
inline constexpr SectionId kTextMeta = 10;
inline constexpr SectionId kTerms = 11;            // FST: word -> ordinal
inline constexpr SectionId kPostingOffsets = 12;   // packed_offsets.h; one more than words
inline constexpr SectionId kPostingData = 13;
inline constexpr SectionId kForwardOffsets = 14;   // packed_offsets.h; one more than documents
inline constexpr SectionId kForwardData = 15;
inline constexpr SectionId kFieldLengths = 16;     // see lengths.h
inline constexpr SectionId kNeighbourWords = 17;   // optional; see neighbours.h
inline constexpr SectionId kNeighbourData = 18;
inline constexpr SectionId kPrefixWords = 30;      // optional; see prefix_unions.h
inline constexpr SectionId kPrefixData = 31;

// columns: one directory; see columns.h
inline constexpr SectionId kColumnDirectory = 20;
inline constexpr SectionId kColumnData = 21;
inline constexpr SectionId kGeoPoints = 22;        // optional; see geo_index.h

}  // namespace gannet::segment
