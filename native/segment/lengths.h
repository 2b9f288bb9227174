// Field lengths: the documents whose field has exactly a given number of words, for short fields.
//
// They decide whether a query is the whole content of a field, without reading the documents.
//
// Section kFieldLengths: for each field and number of words that occurs, ascending: varint distance
// of field * 32 + words, varint length, postings (bitmap/postings_codec.h).
//
// Threads: a reader is immutable and shared; a writer has one owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset_union.h"
#include "segment/file.h"

namespace gannet::segment {

// Longer fields are not listed.
inline constexpr uint32_t kListedLengthMax = 30;
inline constexpr uint32_t kLengthsPerField = 32;
static_assert(kListedLengthMax < kLengthsPerField);

class LengthsWriter {
 public:
  // docids ascend over the calls.
  void Add(DocId docid, FieldId field, uint32_t words);
  void Finish(SegmentFileWriter& file);

 private:
  struct List {
    std::string gaps;  // varints
    uint32_t count = 0;
    DocId next = 0;
  };
  std::map<uint32_t, List> lists_;  // by field * 32 + words
};

class LengthsReader {
 public:
  static Result<LengthsReader> Open(const SegmentFile& file);
  // Adds documents whose `field` has `words` words. REQUIRES: words <= kListedLengthMax
  void Union(FieldId field, uint32_t words, DocSetUnion& out) const;

 private:
  struct List {
    uint32_t key;
    std::string_view postings;
  };
  std::vector<List> lists_;
};

}  // namespace gannet::segment
