// Arbitrary bytes as a stored set and as a posting list: whatever the validators accept reads the
// same through every reader.
//
//   clang-14 -O1 -w -fsanitize=fuzzer-no-link,address -I<generated> -c <generated>/roaring.c -o
//   roaring.o clang++-14 -std=c++20 -O1 -g -fsanitize=fuzzer,address -Inative -I<generated>
//       test/fuzz/docset_fuzz.cc native/bitmap/*.cc roaring.o
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "bitmap/docset.h"
#include "bitmap/postings_codec.h"

namespace {

using namespace gannet;

void Check(bool condition) {
  if (!condition) std::abort();
}

void UseAll(const DocSet& set) {
  Check(set.empty() == (set.size() == 0));
  if (set.empty()) return;
  uint64_t count = 0;
  uint32_t last = 0;
  set.ForEach([&](DocId docid) {
    Check(count == 0 || docid > last);
    last = docid;
    return ++count < 10'000;
  });
  Check(set.Select(0) == set.min() && set.Rank(set.max()) == set.size() - 1);
  const DocSet range = DocSet::Range(set.min(), set.max());
  Check((set & range).size() == set.IntersectionSize(range));
  DocSet rest = set;
  rest -= range;
  Check(rest.size() == 1 && rest.Contains(set.max()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<DocSet> parsed = DocSet::Parse(bytes);
  if (parsed.ok()) UseAll(*parsed);
  if (ValidateDocSet(bytes).ok()) {
    Check(parsed.ok());
    const DocSetView view(bytes);
    UseAll(view);
    Check(view.set() == *parsed);
  }
  if (ValidatePostings(bytes).ok()) {
    const DocSet set = DecodePostings(bytes);
    UseAll(set);
    Check(set.size() == PostingsCount(bytes));
    DocSet out;
    UnionPostingsInto(bytes, out);
    Check(out == set);
    DocSet both;
    IntersectPostings(bytes, out, both);
    Check(both == set && PostingsIntersect(bytes, out) == !set.empty());
  }
  return 0;
}
