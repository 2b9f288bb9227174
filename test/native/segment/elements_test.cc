// Element columns against lists of entries.
#include "segment/elements.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test_seed.h"

namespace gannet::segment {
namespace {

using Entries = std::vector<std::pair<uint32_t, uint32_t>>;  // element, code

TEST(ElementColumn, KeepsTheElementsThatListsKeep) {
  std::mt19937_64 random(TestSeed());
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  size_t forms = 0;  // bit by form: dense and listed, by width
  for (int round = 0; round < 300; ++round) {
    const uint32_t elements = below(3) == 0 ? below(5) : below(3000);
    const uint32_t values = below(2) == 0 ? 1 + below(300) : 1 + below(200'000);
    const uint32_t entries_max = 1 + below(3), sparse = 1 + below(30);
    Entries entries;
    for (uint32_t element = 0; element < elements; ++element) {
      if (below(sparse) != 0) continue;
      for (uint32_t left = below(entries_max + 1); left > 0; --left)
        entries.emplace_back(element, 1 + below(values + ElementCode::kFirst - 1));
    }
    std::string bytes;
    const auto each = [&](const auto& sink) {
      for (const auto& [element, code] : entries) sink(element, code);
    };
    WriteElementColumn(elements, values, each, [&](std::string_view part) { bytes += part; });
    ASSERT_EQ(bytes.size() % 8, 0u);
    forms |= size_t{1} << static_cast<uint8_t>(bytes[bytes.size() - 8]);
    // Aligned, as columns of a segment are.
    std::vector<uint64_t> words(bytes.size() / 8);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
    const std::string_view blob(reinterpret_cast<const char*>(words.data()), bytes.size());
    const auto column = ElementColumn::Open(blob, elements);
    ASSERT_TRUE(column.ok());
    EXPECT_FALSE(ElementColumn::Open(blob.substr(8), elements).ok());

    const uint32_t begin = below(elements + 1), end = begin + below(elements - begin + 1);
    Entries found, expected;
    column->ForEach(begin, end, [&](uint32_t e, uint32_t code) { found.emplace_back(e, code); });
    for (const auto& entry : entries) {
      if (entry.first >= begin && entry.first < end) expected.push_back(entry);
    }
    ASSERT_EQ(found, expected);

    const uint32_t from = 1 + below(values), until = from + below(values);
    const auto passes = [&](uint32_t code) { return code >= from && code < until; };
    std::set<uint32_t> passing;
    for (const auto& [element, code] : entries) {
      if (passes(code)) passing.insert(element);
    }
    const uint32_t share = 1 + below(50);
    std::vector<uint32_t> some;
    for (uint32_t element = 0; element < elements; ++element) {
      if (below(share) == 0) some.push_back(element);
    }
    for (const bool inverted : {false, true}) {
      std::vector<uint32_t> kept = some, wanted;
      column->Keep(kept, inverted, passes);
      for (const uint32_t element : some) {
        if (passing.contains(element) != inverted) wanted.push_back(element);
      }
      ASSERT_EQ(kept, wanted);
    }
  }
  for (const unsigned form : {1u, 2u, 4u, 9u, 10u, 12u})
    EXPECT_TRUE((forms >> form & 1) != 0) << "no column of form " << form;
}

}  // namespace
}  // namespace gannet::segment
