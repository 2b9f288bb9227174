#include "bitmap/docset.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/block_pool.h"
#include "bitmap/docset_access.h"

namespace gannet {

using roaring::api::roaring_array_t;
using roaring::api::roaring_bitmap_t;
using roaring::api::roaring_uint32_iterator_t;
using roaring::internal::array_container_t;
using roaring::internal::container_t;

namespace {

// Containers come from the pool of the thread. Containers made before this runs may be freed all
// the same (block_pool.h).
[[maybe_unused]] const bool kPooled = [] {
  roaring_init_memory_hook(
      {PoolMalloc, PoolRealloc, std::calloc, PoolFree, PoolAlignedMalloc, PoolAlignedFree});
  return true;
}();

roaring_bitmap_t* R(DocSet& set) { return DocSetAccess::Get(set); }
const roaring_bitmap_t* R(const DocSet& set) { return DocSetAccess::Get(set); }

// The docids of `block` that `taken` lacks; uses `block` up. In place, CRoaring compares two arrays
// one docid at a time; into a third array, eight at once.
container_t* Without(container_t* block, uint8_t type, const container_t* taken, uint8_t taken_type,
                     uint8_t& left_type) {
  if (type != ARRAY_CONTAINER_TYPE || taken_type != ARRAY_CONTAINER_TYPE) {
    return roaring::internal::container_iandnot(block, type, taken, taken_type, &left_type);
  }
  auto* array = static_cast<array_container_t*>(block);
  array_container_t* left =
      roaring::internal::array_container_create_given_capacity(array->cardinality);
  if (left == nullptr) std::abort();
  roaring::internal::array_container_andnot(array, static_cast<const array_container_t*>(taken),
                                            left);
  roaring::internal::array_container_free(array);
  left_type = ARRAY_CONTAINER_TYPE;
  return left;
}

// blocks -= taken. REQUIRES: blocks are not shared.
void TakeAway(roaring_array_t& blocks, const roaring_array_t& taken) {
  int32_t kept = 0;
  for (int32_t i = 0, j = 0; i < blocks.size; ++i) {
    container_t* block = blocks.containers[i];
    uint8_t type = blocks.typecodes[i];
    while (j < taken.size && taken.keys[j] < blocks.keys[i]) ++j;
    if (j < taken.size && taken.keys[j] == blocks.keys[i]) {
      block = Without(block, type, taken.containers[j], taken.typecodes[j], type);
      if (!roaring::internal::container_nonzero_cardinality(block, type)) {
        roaring::internal::container_free(block, type);
        continue;
      }
    }
    blocks.keys[kept] = blocks.keys[i];
    blocks.containers[kept] = block;
    blocks.typecodes[kept++] = type;
  }
  blocks.size = kept;
}

}  // namespace

DocSet::DocSet(const DocSet& other) {
  if (!other.empty()) *this = DocSetAccess::Adopt(roaring_bitmap_copy(R(other)));
}

DocSet::DocSet(DocSet&& other) noexcept {
  std::memcpy(storage_, other.storage_, sizeof(storage_));
  std::memset(other.storage_, 0, sizeof(storage_));
}

DocSet& DocSet::operator=(const DocSet& other) {
  if (this != &other) *this = DocSet(other);
  return *this;
}

DocSet& DocSet::operator=(DocSet&& other) noexcept {
  if (this == &other) return *this;
  Clear();
  std::memcpy(storage_, other.storage_, sizeof(storage_));
  std::memset(other.storage_, 0, sizeof(storage_));
  return *this;
}

DocSet::~DocSet() { Clear(); }

void DocSet::Clear() {
  roaring::internal::ra_clear(&R(*this)->high_low_container);
  std::memset(storage_, 0, sizeof(storage_));
}

DocSet DocSet::Range(uint32_t begin, uint32_t end) {
  DocSet set;
  set.AddRange(begin, end);
  return set;
}

DocSet DocSet::FromSorted(std::span<const DocId> docids) {
  DocSet set;
  set.AddMany(docids);
  return set;
}

DocSet DocSet::Union(std::span<const DocSet* const> sets) {
  std::vector<const roaring_bitmap_t*> bitmaps;
  bitmaps.reserve(sets.size());
  for (const DocSet* set : sets) {
    if (!set->empty()) bitmaps.push_back(R(*set));
  }
  if (bitmaps.empty()) return {};
  return DocSetAccess::Adopt(roaring_bitmap_or_many(bitmaps.size(), bitmaps.data()));
}

Result<DocSet> DocSet::Parse(std::string_view bytes) {
  roaring_bitmap_t* bitmap = roaring_bitmap_portable_deserialize_safe(bytes.data(), bytes.size());
  if (bitmap == nullptr) return Status::Corruption("docset: bytes are not a roaring bitmap");
  DocSet set = DocSetAccess::Adopt(bitmap);
  const char* reason = nullptr;
  if (!roaring_bitmap_internal_validate(R(set), &reason)) {
    return Status::Corruption(std::string("docset: ") + (reason ? reason : "invalid"));
  }
  if (roaring_bitmap_portable_deserialize_size(bytes.data(), bytes.size()) != bytes.size()) {
    return Status::Corruption("docset: bytes after the end");
  }
  return set;
}

bool DocSet::empty() const { return roaring_bitmap_is_empty(R(*this)); }
uint64_t DocSet::size() const { return roaring_bitmap_get_cardinality(R(*this)); }
bool DocSet::Contains(DocId docid) const { return roaring_bitmap_contains(R(*this), docid); }

uint32_t DocSet::min() const {
  assert(!empty());
  return roaring_bitmap_minimum(R(*this));
}

uint32_t DocSet::max() const {
  assert(!empty());
  return roaring_bitmap_maximum(R(*this));
}

void DocSet::Add(DocId docid) { roaring_bitmap_add(R(*this), docid); }

void DocSet::AddMany(std::span<const DocId> docids) {
  if (!docids.empty()) roaring_bitmap_add_many(R(*this), docids.size(), docids.data());
}

void DocSet::AddRange(uint32_t begin, uint32_t end) {
  if (begin < end) roaring_bitmap_add_range(R(*this), begin, end);
}

void DocSet::Remove(DocId docid) { roaring_bitmap_remove(R(*this), docid); }

DocSet& DocSet::operator|=(const DocSet& other) {
  if (this != &other) roaring_bitmap_or_inplace(R(*this), R(other));
  return *this;
}

DocSet& DocSet::operator&=(const DocSet& other) {
  if (this != &other) roaring_bitmap_and_inplace(R(*this), R(other));
  return *this;
}

DocSet& DocSet::operator-=(const DocSet& other) {
  if (this == &other) {
    Clear();
  } else {
    TakeAway(R(*this)->high_low_container, R(other)->high_low_container);
  }
  return *this;
}

DocSet operator|(const DocSet& a, const DocSet& b) {
  return DocSetAccess::Adopt(roaring_bitmap_or(R(a), R(b)));
}

DocSet operator&(const DocSet& a, const DocSet& b) {
  return DocSetAccess::Adopt(roaring_bitmap_and(R(a), R(b)));
}

DocSet operator-(const DocSet& a, const DocSet& b) {
  return DocSetAccess::Adopt(roaring_bitmap_andnot(R(a), R(b)));
}

bool operator==(const DocSet& a, const DocSet& b) { return roaring_bitmap_equals(R(a), R(b)); }

uint64_t DocSet::IntersectionSize(const DocSet& other) const {
  return roaring_bitmap_and_cardinality(R(*this), R(other));
}

bool DocSet::Intersects(const DocSet& other) const {
  return roaring_bitmap_intersect(R(*this), R(other));
}

bool DocSet::IsSubsetOf(const DocSet& other) const {
  return roaring_bitmap_is_subset(R(*this), R(other));
}

void DocSet::ToVector(std::vector<uint32_t>& out) const {
  const size_t before = out.size();
  out.resize(before + size());
  if (out.size() > before) roaring_bitmap_to_uint32_array(R(*this), out.data() + before);
}

uint32_t DocSet::Select(uint32_t rank) const {
  DocId docid = 0;
  [[maybe_unused]] const bool found = roaring_bitmap_select(R(*this), rank, &docid);
  assert(found);
  return docid;
}

uint64_t DocSet::Rank(DocId docid) const {
  return docid == 0 ? 0 : roaring_bitmap_rank(R(*this), docid - 1);
}

void DocSet::Optimize() {
  if (empty()) {
    Clear();
    return;
  }
  // A block keeps its form where another one has as many bytes. Without runs, the form follows from
  // the docids, so equal sets have equal bytes.
  roaring_bitmap_remove_run_compression(R(*this));
  roaring_bitmap_run_optimize(R(*this));
  roaring_bitmap_shrink_to_fit(R(*this));
}

void DocSet::AppendTo(std::string& out) const {
  const size_t before = out.size();
  out.resize(before + SerializedBytes());
  WriteTo(out.data() + before);
}

void DocSet::WriteTo(char* out) const { roaring_bitmap_portable_serialize(R(*this), out); }

size_t DocSet::SerializedBytes() const { return roaring_bitmap_portable_size_in_bytes(R(*this)); }

DocSetCursor::DocSetCursor(const DocSet& set) {
  static_assert(sizeof(roaring_uint32_iterator_t) <= sizeof(storage_));
  roaring_iterator_init(R(set), reinterpret_cast<roaring_uint32_iterator_t*>(storage_));
}

size_t DocSetCursor::Read(uint32_t* buffer, size_t capacity) {
  const auto count = static_cast<uint32_t>(capacity < UINT32_MAX ? capacity : UINT32_MAX);
  return roaring_uint32_iterator_read(reinterpret_cast<roaring_uint32_iterator_t*>(storage_),
                                      buffer, count);
}

void DocSetCursor::SkipTo(DocId docid) {
  auto* it = reinterpret_cast<roaring_uint32_iterator_t*>(storage_);
  if (it->has_value && it->current_value < docid) {
    roaring_uint32_iterator_move_equalorlarger(it, docid);
  }
}

// CRoaring makes the bitmap in one arena whose first bytes are the roaring_bitmap_t; set_ holds a
// copy of that struct, so that readers see an ordinary DocSet.
DocSetView::DocSetView(std::string_view bytes) {
  roaring_bitmap_t* bitmap = roaring_bitmap_portable_deserialize_frozen(bytes.data());
  if (bitmap == nullptr) std::abort();  // not the bytes of a set: the caller broke REQUIRES
  std::memcpy(set_.storage_, bitmap, sizeof(set_.storage_));
  arena_ = bitmap;
}

DocSetView::DocSetView(DocSetView&& other) noexcept
    : set_(std::move(other.set_)), arena_(std::exchange(other.arena_, nullptr)) {}

DocSetView& DocSetView::operator=(DocSetView&& other) noexcept {
  if (this == &other) return *this;
  Release();
  set_ = std::move(other.set_);
  arena_ = std::exchange(other.arena_, nullptr);
  return *this;
}

DocSetView::~DocSetView() { Release(); }

void DocSetView::Release() {
  // The arena owns the tables: set_ must not free them.
  std::memset(set_.storage_, 0, sizeof(set_.storage_));
  if (arena_ != nullptr) roaring_free(arena_);
  arena_ = nullptr;
}

Status ValidateDocSet(std::string_view bytes, uint64_t docid_end) {
  GANNET_ASSIGN_OR_RETURN(const DocSet set, DocSet::Parse(bytes));
  // A parse reads containers one after the other, a view reads them through the table of offsets:
  // only writing the set again shows that both mean the same.
  std::string again;
  set.AppendTo(again);
  if (again != bytes) return Status::Corruption("docset: bytes are not in canonical form");
  if (!set.empty() && set.max() >= docid_end) return Status::Corruption("docset: docid too large");
  return {};
}

}  // namespace gannet
