#include "bitmap/postings_codec.h"

#include <algorithm>
#include <cassert>

#include "base/bytes.h"

namespace gannet {
namespace {

constexpr uint64_t kFormRoaring = 1;

void AppendDeltas(std::span<const DocId> docids, std::string& out) {
  PutVarint(out, docids.size() * 2);
  uint32_t next = 0;  // the smallest docid that may follow
  for (const DocId docid : docids) {
    assert(docid >= next);
    PutVarint(out, docid - next);
    next = docid + 1;
  }
}

void AppendRoaring(DocSet set, std::string& out) {
  set.Optimize();
  PutVarint(out, set.size() * 2 + kFormRoaring);
  set.AppendTo(out);
}

}  // namespace

void AppendPostings(const DocSet& docids, std::string& out) {
  const uint64_t count = docids.size();
  if (count > kDeltaPostingsMax) return AppendRoaring(docids, out);
  uint32_t small[kDeltaPostingsMax];
  DocSetCursor(docids).Read(small, kDeltaPostingsMax);
  AppendDeltas({small, static_cast<size_t>(count)}, out);
}

void AppendPostings(std::span<const DocId> docids, std::string& out) {
  if (docids.size() > kDeltaPostingsMax) return AppendRoaring(DocSet::FromSorted(docids), out);
  AppendDeltas(docids, out);
}

PostingsReader::PostingsReader(std::string_view bytes) {
  if (bytes.empty()) return;
  ByteReader reader(bytes);
  const uint64_t header = reader.Varint();
  count_ = static_cast<uint32_t>(header >> 1);
  if (header & kFormRoaring) {
    view_.emplace(std::string_view(reader.at(), reader.left()));
    return;
  }
  count_ = std::min(count_, kDeltaPostingsMax);
  uint32_t next = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    small_[i] = next + static_cast<uint32_t>(reader.Varint());
    next = small_[i] + 1;
  }
}

bool PostingsReader::Contains(DocId docid) const {
  if (view_) return view_->set().Contains(docid);
  return std::binary_search(small_, small_ + count_, docid);
}

bool PostingsReader::Intersects(const DocSet& filter) const {
  if (view_) return view_->set().Intersects(filter);
  return std::any_of(small_, small_ + count_, [&](uint32_t d) { return filter.Contains(d); });
}

uint64_t PostingsReader::IntersectionSize(const DocSet& filter) const {
  if (view_) return view_->set().IntersectionSize(filter);
  uint64_t count = 0;
  for (const DocId docid : small()) count += filter.Contains(docid);
  return count;
}

uint64_t PostingsReader::IntersectionSize(const PostingsReader& other) const {
  if (other.view_) return IntersectionSize(other.view_->set());
  uint64_t count = 0;
  for (const DocId docid : other.small()) count += Contains(docid);
  return count;
}

void PostingsReader::UnionInto(DocSet& out) const {
  if (view_) {
    out |= view_->set();
  } else {
    out.AddMany(small());
  }
}

void PostingsReader::IntersectInto(const DocSet& filter, DocSet& out) const {
  assert(&filter != &out);
  if (view_) {
    DocSet both = view_->set() & filter;
    if (out.empty()) {
      out = std::move(both);
    } else {
      out |= both;
    }
    return;
  }
  uint32_t both[kDeltaPostingsMax];
  size_t count = 0;
  for (const DocId docid : small()) {
    if (filter.Contains(docid)) both[count++] = docid;
  }
  out.AddMany({both, count});
}

void PostingsReader::ToVector(std::vector<uint32_t>& out) const {
  if (view_) {
    view_->set().ToVector(out);
  } else {
    out.insert(out.end(), small_, small_ + count_);
  }
}

DocSet PostingsReader::ToDocSet() const {
  return view_ ? DocSet(view_->set()) : DocSet::FromSorted(small());
}

uint32_t PostingsCount(std::string_view bytes) {
  if (bytes.empty()) return 0;
  return static_cast<uint32_t>(ByteReader(bytes).Varint() >> 1);
}

void UnionPostingsInto(std::string_view bytes, DocSet& out) {
  PostingsReader(bytes).UnionInto(out);
}

void IntersectPostings(std::string_view bytes, const DocSet& filter, DocSet& out) {
  PostingsReader(bytes).IntersectInto(filter, out);
}

DocSet DecodePostings(std::string_view bytes) { return PostingsReader(bytes).ToDocSet(); }

bool PostingsIntersect(std::string_view bytes, const DocSet& filter) {
  return PostingsReader(bytes).Intersects(filter);
}

Status ValidatePostings(std::string_view bytes, uint64_t docid_end) {
  if (bytes.empty()) return {};
  ByteReader reader(bytes);
  const uint64_t header = reader.Varint();
  const uint64_t count = header >> 1;
  if (!reader.ok()) return Status::Corruption("postings: header is cut off");
  if (header & kFormRoaring) {
    const std::string_view roaring(reader.at(), reader.left());
    GANNET_RETURN_IF_ERROR(ValidateDocSet(roaring, docid_end));
    if (DocSetView(roaring)->size() != count) return Status::Corruption("postings: wrong count");
    return {};
  }
  if (count > kDeltaPostingsMax) return Status::Corruption("postings: too many deltas");
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t delta = reader.Varint();
    if (!reader.ok()) return Status::Corruption("postings: cut off");
    if (delta >= docid_end || next + delta >= docid_end) {
      return Status::Corruption("postings: docid too large");
    }
    next += delta + 1;
  }
  if (!reader.done()) return Status::Corruption("postings: bytes after the end");
  return {};
}

}  // namespace gannet
