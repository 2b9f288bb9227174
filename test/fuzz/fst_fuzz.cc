// Arbitrary bytes as a dictionary: whatever Open accepts can be used without reading outside,
// without end or ordinals too large; whatever Verify accepts behaves as a sorted set.
//
//   clang++-14 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Inative test/fuzz/fst_fuzz.cc
//   native/fst/*.cc
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fst/builder.h"
#include "fst/fst.h"
#include "fst/levenshtein.h"

namespace {

using namespace gannet::fst;

void Check(bool condition) {
  if (!condition) std::abort();
}

void UseAll(const Fst& fst, bool verified) {
  constexpr size_t kStepsMax = 200;
  std::string last;
  size_t steps = 0;
  for (auto it = fst.Begin(); it.Valid() && steps < kStepsMax; it.Next(), ++steps) {
    Check(it.ordinal() < fst.size());
    const auto found = fst.Find(it.word());
    const auto [begin, end] = fst.PrefixRange(it.word().substr(0, it.word().size() / 2));
    Check(begin <= end && end <= fst.size());
    auto again = fst.SeekOrdinal(it.ordinal());
    const std::string word = fst.Word(it.ordinal());
    if (verified) {
      Check(found == it.ordinal() && it.ordinal() == steps);
      Check(begin <= steps && steps < end);
      Check(again.Valid() && again.word() == it.word() && word == it.word());
      Check(fst.Seek(it.word()).ordinal() == steps);
      Check(steps == 0 || last < it.word());
    } else {
      Check(!found || *found < fst.size());
      if (again.Valid()) again.Next();
    }
    last = it.word();
  }
  if (verified && steps < kStepsMax) Check(steps == fst.size());
  for (const bool prefix : {false, true}) {
    const FuzzyQuery query(std::string_view(last).substr(0, 20), 1, prefix);
    steps = 0;
    for (FuzzyStream it(fst, query); it.Valid() && steps < kStepsMax; it.Next(), ++steps) {
      Check(it.ordinal() < fst.size() && it.distance() <= 1);
      if (verified) Check(fst.Find(it.word()) == it.ordinal());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto fst = Fst::Open(bytes); fst.ok()) UseAll(*fst, fst->Verify().ok());

  // The same bytes as the nodes of a dictionary, whose header is then right.
  if (size > 4) {
    std::string file(kMagic, 4);
    file.append(bytes.substr(0, 4));
    gannet::PutFixed(file, static_cast<uint32_t>(size - 4));
    file.append(bytes.substr(4));
    file.append(kPaddingBytes, '\0');
    const std::string exact(file);
    if (const auto fst = Fst::Open(exact); fst.ok()) UseAll(*fst, fst->Verify().ok());
  }
  return 0;
}
