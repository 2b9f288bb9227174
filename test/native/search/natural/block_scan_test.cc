// The best documents that a scan of blocks reads, against reading all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "comparisons.h"
#include "search/natural/block_scan.h"
#include "segment/occurrences.h"

namespace gannet::search {
namespace {

using Random = std::mt19937_64;
using Codes = std::vector<uint8_t>;
using Added = std::vector<float>;

double Share(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

Question RandomQuestion(Random& random) {
  Question question;
  // Short, with all bits, with words beyond the bits.
  const uint64_t count = 1 + random() % std::array{10, 25, 50}[random() % 3];
  for (uint64_t w = 0; w < count; ++w) {
    QuestionWord& word = question.words.emplace_back();
    word.worth[0] = 0.1 + 10 * Share(random) * Share(random);
    question.words_worth += word.worth[0];
  }
  for (uint32_t w = 1; w < count; ++w) {
    const uint32_t other = random() % 8 == 0 ? static_cast<uint32_t>(random() % w) : w - 1;
    if (random() % 4 > 0) question.neighbours.push_back({other, w, 1});
  }
  return question;
}

struct Lists {
  std::vector<ScanList> lists;
  std::vector<float> word_max;
  std::map<DocId, double> got;  // at most what the bounds allow
  // What the lists borrow.
  std::deque<DocSet> sets;
  std::deque<std::vector<DocId>> docids;
  std::deque<Codes> counts;
  std::deque<Added> tables;
  std::map<uint32_t, Codes> codes;  // of the field 0, by key; the field 1 has none
};

std::vector<DocId> RandomDocIds(Random& random, uint32_t span) {
  DocSet docids;
  for (uint64_t i = random() % 2000; i > 0; --i) docids.Add(static_cast<DocId>(random() % span));
  std::vector<DocId> list;
  docids.ToVector(list);
  return list;
}

// What a list adds to a document, from its declaration.
double AddedBy(const Lists& made, const ScanList& list, size_t index, DocId docid) {
  const auto codes = made.codes.find(docid >> 16);
  if (list.by_length == nullptr || list.field != 0 || codes == made.codes.end())
    return static_cast<double>(list.max);
  const auto once = static_cast<double>(list.by_length[codes->second[docid & 0xffff]]);
  if (list.counts.empty()) return once;
  const double all = once * list.counts[index];
  const double share = list.counts[index] == 255 ? 1 : all / (all + 2);
  return static_cast<double>(list.worth) * (share - once / (once + 2));
}

Lists RandomLists(Random& random, const Question& question, const ScoreBound& bound) {
  Lists made;
  const uint32_t span = random() % 2 == 0 ? 3000 : 300'000;
  for (uint32_t key = 0; key <= span >> 16; ++key) {
    if (random() % 4 == 0) continue;
    Codes& codes = made.codes[key];
    for (int i = 0; i < 65'536; ++i) codes.push_back(static_cast<uint8_t>(random()));
  }
  std::map<DocId, std::map<uint32_t, double>> sums;  // by word
  for (uint32_t w = 0; w < question.words.size(); ++w) {
    const auto worth = static_cast<float>(question.words[w].worth[0]);
    const auto extra = static_cast<float>(bound.WordExtra(w));
    made.word_max.push_back(worth + extra);
    for (uint64_t n = random() % 3; n > 0; --n) {
      ScanList list;
      list.word = w;
      list.worth = worth;
      list.field = static_cast<FieldId>(random() % 2);
      list.docids = made.docids.emplace_back(RandomDocIds(random, span));
      list.max = worth + extra;
      Added& table = made.tables.emplace_back();
      const bool repeats = random() % 3 == 0;
      const bool by_length = repeats || random() % 2 == 0;
      for (int i = 0; i < 256; ++i)
        table.push_back(static_cast<float>(0.01 + Share(random)) * (repeats ? 8 : worth));
      if (repeats) {
        Codes& counts = made.counts.emplace_back();
        for (size_t i = 0; i < list.docids.size(); ++i)
          counts.push_back(static_cast<uint8_t>(random() % 20 == 0 ? 255 : 2 + random() % 5));
        list.counts = counts;
      } else if (by_length) {
        for (float& added : table) added = std::min(added, worth) + extra;
      }
      if (by_length) list.by_length = table.data();
      for (size_t i = 0; i < list.docids.size(); ++i)
        sums[list.docids[i]][w] += AddedBy(made, list, i, list.docids[i]);
      if (!repeats && random() % 2 == 0) {
        list.documents = &made.sets.emplace_back(DocSet::FromSorted(list.docids));
        list.docids = {};
      }
      made.lists.push_back(list);
    }
  }
  for (const auto& [docid, words] : sums) {
    double sum = 0;
    uint32_t mask = 0;
    for (const auto& [word, added] : words) {
      sum += std::min(added, static_cast<double>(made.word_max[word]));
      mask |= ScoreBound::MaskOf(word);
    }
    // Some have all that they can.
    made.got[docid] = bound.Got(sum, mask) * (random() % 8 == 0 ? 1 : Share(random));
  }
  return made;
}

TEST(BlockScan, ReadsTheBestDocuments) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (Comparisons comparisons(200); comparisons.Next();) {
    const Question question = RandomQuestion(random);
    const ScoreBound bound(question);
    const Lists made = RandomLists(random, question, bound);
    DocSet candidates;
    std::vector<double> all;
    const uint64_t kept_of_5 = 1 + random() % 5;
    for (const auto& [docid, got] : made.got) {
      if (random() % 5 >= kept_of_5) continue;
      candidates.Add(docid);
      all.push_back(got);
    }
    const size_t count = 1 + random() % 30;
    std::priority_queue<double, std::vector<double>, std::greater<double>> kept;
    std::map<DocId, int> read;
    const auto codes = [&](FieldId field, uint32_t key) -> const uint8_t* {
      const auto found = made.codes.find(key);
      return field != 0 || found == made.codes.end() ? nullptr : found->second.data();
    };
    const auto got_min = [&] { return kept.size() < count ? 0 : kept.top(); };
    ScanBlocks({made.lists, made.word_max, bound, codes, candidates, got_min},
               [&](std::span<const DocId> documents) {
                 ASSERT_TRUE(std::is_sorted(documents.begin(), documents.end()));
                 for (const DocId docid : documents) {
                   ASSERT_TRUE(candidates.Contains(docid));
                   ASSERT_EQ(++read[docid], 1);
                   kept.push(made.got.at(docid));
                   if (kept.size() > count) kept.pop();
                 }
               });
    std::sort(all.rbegin(), all.rend());
    ASSERT_EQ(kept.size(), std::min(count, all.size()));
    if (!all.empty()) {
      ASSERT_EQ(kept.top(), all[kept.size() - 1]);
    }
  }
}

TEST(BlockScan, ReadsFewOfManyDocuments) {
  // One rare word decides; the common one alone cannot.
  Question question;
  question.words.resize(2);
  question.words[0].worth[0] = 10;
  question.words[1].worth[0] = 1;
  question.words_worth = 11;
  const ScoreBound bound(question);
  const DocSet rare = DocSet::FromSorted(std::vector<uint32_t>{7, 70'000, 140'000}),
               common = DocSet::Range(0, 200'000);
  std::vector<ScanList> lists(2);
  lists[0].max = 10;
  lists[0].documents = &rare;
  lists[1].word = 1;
  lists[1].max = 1;
  lists[1].documents = &common;
  const std::vector<float> word_max{10, 1};
  std::vector<DocId> read;
  const Scan scan{lists,  word_max,
                  bound,  [](FieldId, uint32_t) { return nullptr; },
                  common, [&] { return read.empty() ? 0.0 : 9.0; }};
  ScanBlocks(scan, [&](std::span<const DocId> documents) {
    read.insert(read.end(), documents.begin(), documents.end());
  });
  EXPECT_LE(read.size(), 100u);
  rare.ForEach([&](DocId docid) { EXPECT_EQ(std::count(read.begin(), read.end(), docid), 1); });
}

}  // namespace
}  // namespace gannet::search
