#include "search/distinct.h"

#include <gtest/gtest.h>

#include <set>

#include "bitmap/random_docids.h"
#include "index/random_documents.h"

namespace gannet::search {
namespace {

using Keys = std::set<std::pair<double, std::string>>;

// Values that two documents may not share; numbers and strings are never equal.
Keys KeysOf(const json::Value& document, const std::string& field) {
  const NaiveValues values = NaiveValuesOf(document, field);
  Keys keys;
  for (const double number : values.numbers) keys.emplace(number, "");
  for (const std::string& string : values.strings) keys.emplace(0, "s" + string);
  return keys;
}

bool Share(const Keys& a, const Keys& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& key) { return b.contains(key); });
}

TEST(Distinct, ExcludesAndCountsLikeAWalkOverTheDocuments) {
  RandomDocuments random(TestSeed());
  for (int round = 0; round < 12; ++round) {
    IndexedDocuments index(kRandomSettings);
    random.Fill(index, round % 3 == 2 ? 2000 : 200);
    const auto snapshot = index.snapshot();
    for (const std::string field : {"mixed", "number", "tag", "o.x", "id", "o", "never"}) {
      std::map<DocId, Keys> keys;
      for (const auto& [docid, text] : index.documents()) {
        // `id` is not kept in columns: as if no document had it.
        if (field != "id") keys[docid] = KeysOf(json::Value::Parse(text), field);
      }
      const Distinct distinct(*snapshot, field);
      const bool any = std::any_of(keys.begin(), keys.end(), [](const auto& entry) { return !entry.second.empty(); });
      ASSERT_TRUE(distinct.active() || !any) << field;
      for (int i = 0; i < 6; ++i) {
        const DocSet documents = i == 0 ? snapshot->documents : random.Some(snapshot->documents);
        uint64_t kept = 0;
        Keys taken;
        documents.ForEach([&](uint32_t docid) {
          if (Share(keys[docid], taken)) return;
          ++kept;
          taken.insert(keys[docid].begin(), keys[docid].end());
        });
        ASSERT_EQ(distinct.CountDistinct(documents), kept) << field;
        if (documents.empty()) continue;
        const DocId one = documents.Select(static_cast<uint32_t>(random.Below(documents.size())));
        DocSet excluded, expected;
        if (i % 2 == 0) excluded.Add(1u << 30);
        expected = excluded;
        for (const auto& [docid, theirs] : keys) {
          if (docid != one && Share(keys[one], theirs)) expected.Add(docid);
        }
        distinct.ValuesOfInto(one, excluded);
        ASSERT_EQ(excluded, expected) << field << " of " << one;
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
