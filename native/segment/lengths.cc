#include "segment/lengths.h"

#include <algorithm>

#include "base/bytes.h"
#include "bitmap/postings_codec.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

uint32_t KeyOf(FieldId field, uint32_t words) { return field * kLengthsPerField + words; }

}  // namespace

void LengthsWriter::Add(DocId docid, FieldId field, uint32_t words) {
  if (words > kListedLengthMax) return;
  List& list = lists_[KeyOf(field, words)];
  PutVarint(list.gaps, docid - list.next);
  list.next = docid + 1;
  ++list.count;
}

void LengthsWriter::Finish(SegmentFileWriter& file) {
  file.BeginSection(kFieldLengths);
  uint32_t last = 0;
  std::vector<DocId> docids;
  std::string out, postings;
  for (const auto& [key, list] : lists_) {
    docids.clear();
    ByteReader gaps(list.gaps);
    for (DocId next = 0; docids.size() < list.count; next = docids.back() + 1) {
      docids.push_back(next + static_cast<DocId>(gaps.Varint()));
    }
    postings.clear();
    AppendPostings(docids, postings);
    out.clear();
    PutVarint(out, key - last);
    last = key;
    PutBytes(out, postings);
    file.Append(out);
  }
  file.EndSection();
}

Result<LengthsReader> LengthsReader::Open(const SegmentFile& file) {
  LengthsReader reader;
  ByteReader bytes(file.ReadAll(kFieldLengths));
  for (uint32_t key = 0; !bytes.done() && bytes.ok();) {
    key += static_cast<uint32_t>(bytes.Varint());
    reader.lists_.push_back({key, bytes.LengthPrefixed()});
  }
  if (!bytes.ok()) return Status::Corruption("the segment file " + file.path() + " is damaged");
  return reader;
}

void LengthsReader::Union(FieldId field, uint32_t words, DocSetUnion& out) const {
  const uint32_t key = KeyOf(field, words);
  const auto found = std::lower_bound(lists_.begin(), lists_.end(), key,
                                      [](const List& list, uint32_t k) { return list.key < k; });
  if (found != lists_.end() && found->key == key) out.AddPostings(found->postings);
}

}  // namespace gannet::segment
