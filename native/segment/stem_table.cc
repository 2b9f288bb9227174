#include "segment/stem_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/stop_point.h"
#include "text/stemmer.h"

namespace gannet::segment {
namespace {

// A compound is made of two words of the dictionary of at least this many bytes, with one of the
// links between them.
constexpr size_t kPartBytesMin = 4;
constexpr std::string_view kLinks[] = {"", "s", "es", "n", "en", "e", "er"};

// Calls sink(part) for both parts of each way to cut the word in two.
template <typename Sink>
void ForEachPart(const fst::Fst& terms, std::string_view word, Sink&& sink) {
  for (size_t at = kPartBytesMin; at + kPartBytesMin <= word.size(); ++at) {
    const std::string_view right = word.substr(at);
    // Not in the middle of a character.
    if ((static_cast<uint8_t>(right[0]) & 0xc0) == 0x80 || !terms.Find(right)) continue;
    const std::string_view before = word.substr(0, at);
    for (const std::string_view link : kLinks) {
      if (!before.ends_with(link) || before.size() < kPartBytesMin + link.size()) continue;
      const std::string_view left = before.substr(0, before.size() - link.size());
      if (!terms.Find(left)) continue;
      sink(left);
      sink(right);
    }
  }
}

}  // namespace

StemTable::StemTable(const fst::Fst& terms, text::Locale language) {
  text::Stemmer stemmer(language);
  const bool compounds = text::HasCompounds(language);
  std::vector<std::pair<uint64_t, Ordinal>> entries;
  entries.reserve(terms.size());
  StopCounter steps;
  for (auto word = terms.Begin(); word.Valid(); word.Next()) {
    steps.Step(64);
    const auto add = [&](std::string_view part) {
      entries.emplace_back(Checksum(stemmer.Stem(part)), word.ordinal());
    };
    add(word.word());
    if (compounds && word.word().size() >= 2 * kPartBytesMin) {
      steps.Step(512);
      ForEachPart(terms, word.word(), add);
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  for (const auto& [hash, ordinal] : entries) {
    hashes_.push_back(hash);
    ordinals_.push_back(ordinal);
  }
}

std::span<const Ordinal> StemTable::WordsOf(std::string_view stem) const {
  const auto [begin, end] = std::equal_range(hashes_.begin(), hashes_.end(), Checksum(stem));
  return std::span(ordinals_).subspan(static_cast<size_t>(begin - hashes_.begin()),
                                      static_cast<size_t>(end - begin));
}

}  // namespace gannet::segment
