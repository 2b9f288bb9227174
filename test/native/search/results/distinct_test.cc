#include "search/results/distinct.h"

#include <gtest/gtest.h>

#include <map>

#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "index/random_documents.h"
#include "search/results/naive_distinct.h"

namespace gannet::search {
namespace {

TEST(DistinctOracle, ExcludesLikeAWalkOverTheDocuments) {
  RandomDocuments random(TestSeed());
  std::vector<std::string> fields = kRandomFields;
  fields.push_back("id");
  for (Comparisons comparisons(8000); comparisons.Left();) {
    IndexedDocuments index(kRandomSettings);
    const uint64_t size = random.Below(40);
    random.Fill(index, size == 0 ? 2000 : size < 16 ? 200 : 50);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, kRandomFields);
    for (const std::string& field : fields) {
      // `id` is not stored in columns, as if no document had it.
      std::map<DocId, NaiveKeys> keys;
      for (const NaiveDocument& document : documents.documents())
        keys[document.docid] = NaiveKeysOf(document, field);
      const Distinct distinct(*snapshot, field);
      const bool any = std::any_of(keys.begin(), keys.end(),
                                   [](const auto& entry) { return !entry.second.empty(); });
      ASSERT_TRUE(distinct.active() || !any) << field;
      for (int i = size == 0 ? 6 : 30; i > 0 && comparisons.Next(); --i) {
        const DocSet wanted = i % 10 == 0 ? snapshot->documents : random.Some(snapshot->documents);
        if (wanted.empty()) continue;
        const DocId one = wanted.Select(static_cast<uint32_t>(random.Below(wanted.size())));
        DocSet excluded, expected;
        if (i % 2 == 0) excluded.Add(1u << 30);
        expected = excluded;
        for (const auto& [docid, theirs] : keys) {
          if (docid != one && NaiveShare(keys[one], theirs)) expected.Add(docid);
        }
        distinct.ValuesOfInto(one, excluded);
        ASSERT_EQ(excluded, expected) << field << " of " << one;
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
