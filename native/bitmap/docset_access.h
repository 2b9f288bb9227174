// The CRoaring bitmap inside a DocSet. For native/bitmap only.
#pragma once

#include <roaring.h>

#include <cstdlib>
#include <cstring>

#include "bitmap/docset.h"

namespace gannet {

struct DocSetAccess {
  using Bitmap = roaring::api::roaring_bitmap_t;

  static Bitmap* Get(DocSet& set) { return reinterpret_cast<Bitmap*>(set.storage_); }
  static const Bitmap* Get(const DocSet& set) {
    return reinterpret_cast<const Bitmap*>(set.storage_);
  }
  static_assert(sizeof(Bitmap) == sizeof(DocSet) && alignof(Bitmap) <= alignof(DocSet));

  // A DocSet that takes over what `bitmap` owns; the struct itself is freed.
  static DocSet Adopt(Bitmap* bitmap) {
    if (bitmap == nullptr) std::abort();
    DocSet set;
    std::memcpy(set.storage_, bitmap, sizeof(set.storage_));
    roaring_free(bitmap);
    return set;
  }
};

}  // namespace gannet
