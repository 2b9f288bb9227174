// Compares word masks with plain loops over all words of a document.
#include "search/matching/word_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "index/indexed_documents.h"
#include "search/matching/packed.h"
#include "segment/builder.h"
#include "segment/layout.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

struct Word {
  FieldId field;
  uint32_t position;
  Ordinal ordinal;
};
using Words = std::vector<Word>;  // by field and position

struct Field {
  FieldId id;
  std::vector<uint32_t> positions;
  std::vector<Ordinal> ordinals;
};
using Document = std::vector<Field>;

Words WordsOf(const Document& document) {
  Words words;
  for (const Field& field : document) {
    for (size_t i = 0; i < field.positions.size(); ++i)
      words.push_back({field.id, field.positions[i], field.ordinals[i]});
  }
  return words;
}

Document RandomDocument(uint32_t dictionary, std::mt19937_64& random) {
  static constexpr uint32_t kGaps[] = {1, 2, 3, 8};
  Document document;
  const uint64_t words = random() % 4 == 0 ? random() % 4 : random() % 301;
  const uint64_t fields = random() % 6;
  const uint64_t gap_every = 1 + random() % (random() % 2 == 0 ? 4 : 200);
  const uint64_t common = 1 + random() % dictionary;
  FieldId id = 0;
  for (uint64_t f = 0; f < fields; ++f) {
    id = static_cast<FieldId>(id + (f > 0) + random() % (random() % 4 == 0 ? 300 : 2));
    Field field{id, {}, {}};
    uint32_t position = 0;
    for (uint64_t n = random() % 3 == 0 ? random() % 2 : random() % (words / fields * 2 + 1); n > 0;
         --n) {
      if (random() % gap_every == 0)
        position += random() % 40 == 0 ? 200 : kGaps[random() % std::size(kGaps)];
      field.positions.push_back(position++);
      field.ordinals.push_back(
          static_cast<Ordinal>(random() % (random() % 2 == 0 ? common : dictionary)));
    }
    document.push_back(std::move(field));
  }
  return document;
}

// A segment whose dictionary has `words` words, and forward records of documents over it.
class Records {
 public:
  Records(uint32_t words, const std::vector<Document>& documents)
      : path_(std::filesystem::temp_directory_path() /
              ("word-masks-" + std::to_string(TestSeed()))) {
    auto builder = segment::SegmentBuilder::Create(path_);
    EXPECT_TRUE(builder.ok());
    (*builder)->BeginDocument(0, "");
    for (uint32_t word = 0; word < words; ++word)
      (*builder)->AddWord(0, std::to_string(1'000'000 + word), word);
    (*builder)->EndDocument();
    EXPECT_TRUE((*builder)->Finish().ok());
    text_ = Open();
    if (documents.empty()) return;

    const std::string path = path_ + "-records";
    auto writer = segment::SegmentFileWriter::Create(path);
    EXPECT_TRUE(writer.ok());
    segment::ForwardWriter forward(**writer, words, {});
    for (size_t d = 0; d < documents.size(); ++d) {
      forward.BeginDocument(static_cast<DocId>(d));
      for (const Field& field : documents[d])
        forward.AddField(field.id, field.positions, field.ordinals);
      forward.EndDocument();
    }
    EXPECT_TRUE(forward.Finish().ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    const auto written = segment::SegmentFile::Open(path);
    EXPECT_TRUE(written.ok());
    const auto offsets =
        segment::PackedOffsets::Open((*written)->ReadAll(segment::kForwardOffsets));
    for (size_t d = 0; d < documents.size(); ++d) {
      const auto [begin, end] = offsets->RangeOf(d);
      records_.emplace_back((*written)->Read(segment::kForwardData, begin, end - begin));
    }
    std::filesystem::remove(path);
  }
  ~Records() { std::filesystem::remove(path_); }

  const segment::TextReader& text() const { return *text_; }
  // A separate reader, not yet marked as damaged.
  std::shared_ptr<const segment::TextReader> Open() const {
    const auto file = segment::SegmentFile::Open(path_);
    EXPECT_TRUE(file.ok());
    const auto text = segment::TextReader::Open(*file);
    EXPECT_TRUE(text.ok());
    return *text;
  }
  const std::string& operator[](size_t document) const { return records_[document]; }

 private:
  std::string path_;
  std::shared_ptr<const segment::TextReader> text_;
  std::vector<std::string> records_;
};

// The roles of ordinals, tested one by one.
struct Roles {
  std::vector<std::vector<std::pair<Ordinal, Ordinal>>> ranges;  // by role

  bool Has(Role role, Ordinal ordinal) const {
    return std::any_of(ranges[role].begin(), ranges[role].end(), [&](const auto& range) {
      return ordinal >= range.first && ordinal < range.second;
    });
  }
  void AddTo(WordMasks& masks) const {
    for (size_t role = 0; role < ranges.size(); ++role) {
      for (const auto& [begin, end] : ranges[role]) {
        if (end == begin + 1) {
          masks.Add(static_cast<Role>(role), begin);
        } else {
          masks.AddRange(static_cast<Role>(role), begin, end);
        }
      }
    }
    masks.Seal();
  }
};

Roles RandomRoles(uint32_t dictionary, const std::vector<Document>& documents,
                  std::mt19937_64& random) {
  std::vector<Ordinal> seen{0};
  for (const Document& document : documents) {
    for (const Field& field : document)
      seen.insert(seen.end(), field.ordinals.begin(), field.ordinals.end());
  }
  Roles roles;
  roles.ranges.resize(1 + random() % 9);
  const uint64_t ranges_max = random() % 2 == 0 ? 2 : 10;
  for (auto& ranges : roles.ranges) {
    for (uint64_t n = random() % (ranges_max + 1); n > 0; --n) {
      // Mostly words of the document and their neighbors.
      const Ordinal begin =
          std::min(dictionary - 1, seen[random() % seen.size()] + (random() % 4 == 0 ? 1 : 0));
      const uint64_t size = random() % 4 == 0 ? random() % 30 : 1;
      ranges.emplace_back(begin,
                          static_cast<Ordinal>(std::min<uint64_t>(dictionary, begin + size)));
    }
  }
  return roles;
}

uint32_t NaiveDistance(const Words& words, const Roles& roles, Role left, Role right) {
  uint32_t distance = WordMasks::kFar;
  for (const Word& a : words) {
    if (!roles.Has(left, a.ordinal)) continue;
    for (const Word& b : words) {
      if (b.field != a.field || b.position <= a.position || b.position - a.position >= distance)
        continue;
      if (roles.Has(right, b.ordinal)) distance = b.position - a.position;
    }
  }
  return distance;
}

bool NaiveShareField(const Words& words, const Roles& roles, Role left, Role right) {
  for (const Word& a : words) {
    for (const Word& b : words) {
      if (a.field == b.field && roles.Has(left, a.ordinal) && roles.Has(right, b.ordinal))
        return true;
    }
  }
  return false;
}

// The fields that AnyField visits.
bool ShareField(WordMasks& masks, Role left, Role right) {
  return masks.AnyField([&](FieldId, uint32_t begin, uint32_t end) {
    return masks.First(left, begin, end) != WordMasks::kNone &&
           masks.First(right, begin, end) != WordMasks::kNone;
  });
}

void ExpectRuns(std::span<const WordMasks::Run> runs, const Words& words) {
  uint32_t at = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    const WordMasks::Run& run = runs[r];
    ASSERT_EQ(run.begin, at);
    ASSERT_LT(run.begin, run.end);
    ASSERT_LE(run.end, words.size());
    for (; at < run.end; ++at) {
      ASSERT_EQ(words[at].field, run.field);
      ASSERT_EQ(words[at].position, run.position + (at - run.begin));
    }
    // As long as possible.
    if (r > 0 && runs[r - 1].field == run.field) {
      ASSERT_GT(run.position, runs[r - 1].position + (runs[r - 1].end - runs[r - 1].begin));
    }
  }
  ASSERT_EQ(at, words.size());
}

void ExpectSame(WordMasks& masks, const Words& words, const Roles& roles, std::mt19937_64& random) {
  const auto role_count = static_cast<Role>(roles.ranges.size());
  const auto any_role = [&] { return static_cast<Role>(random() % role_count); };
  ASSERT_EQ(masks.size(), words.size());
  // Positions are read on first use, whichever function needs them.
  if (random() % 2 == 0) ExpectRuns(masks.runs(), words);
  for (int n = 0; n < 12; ++n) {
    const Role left = any_role(), right = any_role();
    ASSERT_EQ(masks.Distance(left, right), NaiveDistance(words, roles, left, right))
        << "roles " << left << ", " << right;
    ASSERT_EQ(ShareField(masks, left, right), NaiveShareField(words, roles, left, right))
        << "roles " << left << ", " << right;
  }
  ExpectRuns(masks.runs(), words);
  for (int n = 0; n < 30; ++n) {
    const Role role = any_role();
    const bool whole = n < 5;
    const auto begin = whole ? 0 : static_cast<uint32_t>(random() % (words.size() + 1));
    const auto end = static_cast<uint32_t>(whole ? words.size() : random() % (words.size() + 1));
    uint32_t first = WordMasks::kNone, last = WordMasks::kNone;
    for (uint32_t at = begin; at < end; ++at) {
      if (!roles.Has(role, words[at].ordinal)) continue;
      if (first == WordMasks::kNone) first = at;
      last = at;
    }
    ASSERT_EQ(masks.First(role, begin, end), first) << begin << " to " << end;
    ASSERT_EQ(masks.Last(role, begin, end), last) << begin << " to " << end;
  }
}

TEST(WordMasks, AgreesWithPlainLoops) {
  std::mt19937_64 random(TestSeed());
  GuardedBytes memory;
  for (int round = 0; round < 300 && !testing::Test::HasFatalFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto dictionary = static_cast<uint32_t>(1 + random() % (uint64_t{1} << random() % 13));
    std::vector<Document> documents(1 + random() % 6);
    for (Document& document : documents) document = RandomDocument(dictionary, random);
    const Records records(dictionary, documents);
    const Roles roles = RandomRoles(dictionary, documents, random);
    WordMasks masks(records.text(), roles.ranges.size());
    roles.AddTo(masks);
    // Nothing of the previous record may remain.
    for (int n = 0; n < 12 && !testing::Test::HasFatalFailure(); ++n) {
      const size_t d = random() % documents.size();
      ASSERT_TRUE(masks.Read(memory.Put(records[d], static_cast<char>(random()))));
      ExpectSame(masks, WordsOf(documents[d]), roles, random);
    }
    EXPECT_FALSE(records.text().file()->corrupt());
  }
}

// The parts of a record, to damage one by one.
struct Parts {
  struct Field {
    uint64_t step, words;
    std::vector<uint64_t> breaks;
  };
  uint64_t words;
  std::vector<Field> fields;
  std::string packed;

  std::string Record() const {
    std::string head;
    for (const Field& field : fields) {
      PutVarint(head, field.step);
      PutVarint(head, field.words);
      std::string breaks;
      for (const uint64_t value : field.breaks) PutVarint(breaks, value);
      PutBytes(head, breaks);
    }
    std::string record;
    PutVarint(record, words);
    PutBytes(record, head);
    return record + packed;
  }
};

// Whatever the record contains, results refer to existing words.
void ReadEverything(WordMasks& masks, Role roles) {
  uint32_t before = 0;
  for (Role left = 0; left < roles; ++left) {
    for (Role right = 0; right < roles; ++right) {
      const uint32_t distance = masks.Distance(left, right);
      ASSERT_TRUE(distance >= 1 && distance <= WordMasks::kFar);
      ShareField(masks, left, right);
    }
  }
  for (const WordMasks::Run& run : masks.runs()) {
    ASSERT_GE(run.begin, before);
    ASSERT_LT(run.begin, run.end);
    ASSERT_LE(run.end, masks.size());
    before = run.end;
  }
  for (Role role = 0; role < roles; ++role) {
    const uint32_t first = masks.First(role, 0, masks.size()),
                   last = masks.Last(role, 0, masks.size());
    ASSERT_TRUE(first == WordMasks::kNone || first < masks.size());
    ASSERT_TRUE(last == WordMasks::kNone || (last < masks.size() && last >= first));
  }
}

class DamagedRecord : public testing::Test {
 protected:
  static constexpr uint32_t kDictionary = 200, kWidth = 8;
  static constexpr Role kRoles = 8;

  // Seventy words: three of field 1, the last two after a gap, and 67 of field 4, of which the
  // first ten are followed by a gap.
  DamagedRecord() {
    std::vector<Ordinal> ordinals(70);
    for (Ordinal& ordinal : ordinals) ordinal = static_cast<Ordinal>(random_() % 8);
    valid_ = {70, {{1, 3, {1, 2}}, {3, 67, {10, 2}}}, Pack(ordinals, kWidth)};
  }

  // Reads a valid record and then this one. Returns whether the damage is detected.
  bool Noticed(const std::string& record) {
    const auto text = segment_.Open();
    WordMasks masks(*text, kRoles);
    for (Role role = 0; role + 1 < kRoles; ++role) {
      // The last words, by many ranges.
      for (Ordinal n = 0; n < (role < 4 ? 1 : 9); ++n) masks.Add(role, role + n * 2);
    }
    masks.Seal();
    EXPECT_TRUE(masks.Read(memory_.Put(valid_.Record(), '\0')));
    ReadEverything(masks, kRoles);
    EXPECT_FALSE(text->file()->corrupt());
    if (!masks.Read(memory_.Put(record, static_cast<char>(random_())))) EXPECT_EQ(masks.size(), 0u);
    ReadEverything(masks, kRoles);
    return text->file()->corrupt();
  }

  std::mt19937_64 random_{TestSeed()};
  const Records segment_{kDictionary, {}};
  GuardedBytes memory_;
  Parts valid_;
};

TEST_F(DamagedRecord, WordsAreNotThoseOfTheHead) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  const std::vector<std::pair<std::string, std::function<void(Parts&)>>> damages = {
      {"fewer words than packed", [](Parts& parts) { parts.words = 69; }},
      {"more words than packed", [](Parts& parts) { parts.words = 71; }},
      {"no words", [](Parts& parts) { parts.words = 0; }},
      {"words beyond any record", [](Parts& parts) { parts.words = kHuge; }},
      {"words whose bits are too many to count",
       [](Parts& parts) { parts.words = uint64_t{1} << 61; }},
      {"fewer packed", [](Parts& parts) { parts.packed.pop_back(); }},
      {"more packed", [](Parts& parts) { parts.packed += 'x'; }},
      {"no head", [](Parts& parts) { parts.fields.clear(); }},
      {"a field too few", [](Parts& parts) { parts.fields.pop_back(); }},
      {"a field too many",
       [](Parts& parts) {
         parts.fields.push_back({1, 1, {}});
       }},
      {"the last field one word shorter", [](Parts& parts) { parts.fields[1].words -= 1; }},
      {"the last field one word longer", [](Parts& parts) { parts.fields[1].words += 1; }},
      {"the last field far longer", [](Parts& parts) { parts.fields[1].words = kHuge; }},
      {"the first field longer", [](Parts& parts) { parts.fields[0].words = 4; }},
      {"the first field far longer", [](Parts& parts) { parts.fields[0].words = kHuge - 1; }},
      {"a field whose end is before its begin",
       [](Parts& parts) { parts.fields[1].words = kHuge - 1; }},
  };
  for (const auto& [what, damage] : damages) {
    SCOPED_TRACE(what);
    Parts parts = valid_;
    damage(parts);
    EXPECT_TRUE(Noticed(parts.Record()));
  }
}

TEST_F(DamagedRecord, RunsAreNotThoseOfTheField) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  const std::vector<std::vector<uint64_t>> breaks = {
      {68, 1}, {60, 1, 60, 1}, {kHuge, 1}, {10, 2, kHuge, 3}, {10, 2, kHuge - 5, 3, 40, 1},
  };
  for (size_t i = 0; i < breaks.size(); ++i) {
    SCOPED_TRACE(i);
    Parts parts = valid_;
    parts.fields[1].breaks = breaks[i];
    EXPECT_TRUE(Noticed(parts.Record()));
  }
  // A gap of no positions, and one of the maximum number of positions, are unusual but harmless.
  for (const uint64_t gap : {uint64_t{0}, kHuge}) {
    Parts parts = valid_;
    parts.fields[1].breaks = {10, gap};
    Noticed(parts.Record());
  }
}

TEST_F(DamagedRecord, CutShort) {
  const std::string record = valid_.Record();
  for (size_t size = 0; size < record.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_TRUE(Noticed(record.substr(0, size)));
  }
}

TEST_F(DamagedRecord, AnyBytesChanged) {
  const std::string record = valid_.Record();
  for (int round = 0; round < 300; ++round) {
    std::string changed = record;
    for (uint64_t n = 1 + random_() % 3; n > 0; --n) {
      // Mostly bytes of the head.
      char& byte = changed[random_() % (random_() % 4 == 0 ? changed.size() : 12)];
      byte = static_cast<char>(random_() % 3 == 0 ? 0xff : random_());
    }
    Noticed(changed);
  }
}

}  // namespace
}  // namespace gannet::search
