// Merging: which segments are chosen, and what happens if the index changes during a merge.
#include "indexing/merge.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "bitmap/random_docids.h"
#include "indexing/write_path_model.h"

namespace gannet::indexing {
namespace {

// Applies the policy until nothing is left to do; returns the bytes rewritten.
uint64_t Settle(std::vector<SegmentBytes>& segments,
                uint64_t merged_max = segment::kSegmentBytesMax, bool at_rest = false) {
  uint64_t rewritten = 0;
  for (int guard = 0;; ++guard) {
    EXPECT_LT(guard, 1000) << "the policy does not come to rest";
    const std::vector<size_t> chosen = ChooseMerge(segments, merged_max, at_rest);
    if (chosen.empty() || guard >= 1000) return rewritten;
    SegmentBytes merged;
    uint64_t read = 0;
    std::vector<SegmentBytes> rest;
    for (size_t i = 0; i < segments.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) {
        merged.live += segments[i].live;
        read += segments[i].total;
      } else {
        rest.push_back(segments[i]);
      }
    }
    merged.total = merged.live;
    // The live share is an estimate: a merge may write as many bytes as it reads. A segment
    // rewritten to drop its dead documents may be larger, but it does not grow.
    EXPECT_TRUE(read <= merged_max || chosen.size() == 1) << "joined " << read;
    rewritten += merged.total;
    if (merged.live > 0) rest.push_back(merged);
    segments = rest;
  }
}

constexpr uint64_t kDocument = 2000;  // bytes

struct PolicyCase {
  const char* name;
  std::vector<uint64_t> sizes;  // of the segments at the start
  double
      rewritten_max;  // bytes per byte committed, plus those needed for the segments at the start
  uint64_t merged_max = UINT64_MAX;
  size_t full = 0;  // segments that stay as they are
};

TEST(MergePolicy, KeepsFewSegmentsAtLittleCostUnderCommitsOfOneDocument) {
  const uint64_t large = uint64_t{1} << 30;
  const PolicyCase cases[] = {
      {"empty index", {}, 10},
      {"one large segment", {large}, 10},
      {"many large segments", std::vector<uint64_t>(10, large), 10},
      {"one segment of each size",
       {large, large >> 3, large >> 6, large >> 9, large >> 12, large >> 15},
       10},
      {"full segments", std::vector<uint64_t>(30, large), 10, large, 30},
  };
  for (const PolicyCase& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<SegmentBytes> segments;
    for (const uint64_t size : c.sizes) segments.push_back({size, size});
    Settle(segments, c.merged_max);
    constexpr uint64_t kCommits = 20000;
    uint64_t rewritten = 0;
    size_t segments_max = 0;
    for (uint64_t i = 0; i < kCommits; ++i) {
      segments.push_back({kDocument, kDocument});
      rewritten += Settle(segments, c.merged_max);
      segments_max = std::max(segments_max, segments.size());
    }
    EXPECT_LE(segments_max, kSegmentsMax + c.full);
    const double per_byte = static_cast<double>(rewritten) / (kCommits * kDocument);
    EXPECT_LE(per_byte, c.rewritten_max);
    RecordProperty(c.name, std::to_string(per_byte));
  }
}

TEST(MergePolicy, BoundsTheSpaceOfDeadDocumentsWhateverIsReplaced) {
  std::mt19937_64 random(TestSeed());
  for (const uint64_t documents : {uint64_t{2000}, uint64_t{100'000}}) {
    // Each commit replaces documents all over the index.
    std::vector<SegmentBytes> segments{{documents * kDocument, documents * kDocument}};
    uint64_t rewritten = 0, committed = 0;
    for (int commit = 0; commit < 1000; ++commit) {
      const uint64_t count = 1 + random() % (documents / 100);
      uint64_t left = count * kDocument;
      const uint64_t live = documents * kDocument;
      for (SegmentBytes& segment : segments) {
        const auto share =
            static_cast<uint64_t>(static_cast<double>(left) * static_cast<double>(segment.live) /
                                  static_cast<double>(live));
        segment.live -= std::min(segment.live, share);
      }
      const auto sum = [&](auto member) {
        return std::accumulate(
            segments.begin(), segments.end(), uint64_t{0},
            [&](uint64_t s, const SegmentBytes& segment) { return s + segment.*member; });
      };
      const uint64_t fresh = live - sum(&SegmentBytes::live);
      segments.push_back({fresh, fresh});
      committed += fresh;
      rewritten += Settle(segments);
      const auto total = static_cast<double>(sum(&SegmentBytes::total));
      ASSERT_LE(total, 1.25 * static_cast<double>(live) + 10 * (64 << 10)) << "commit " << commit;
    }
    // Dead bytes are rewritten when they make up a fifth: five bytes of rewriting for each, in
    // addition to the tiers.
    EXPECT_LE(static_cast<double>(rewritten), 16 * static_cast<double>(committed));
  }
}

TEST(MergePolicy, JoinsSegmentsToNoMoreThanTheBound) {
  std::mt19937_64 random(TestSeed());
  constexpr uint64_t kMax = 1'000'000;
  for (int round = 0; round < 50; ++round) {
    std::vector<SegmentBytes> segments;
    for (int commit = 0; commit < 300; ++commit) {
      const uint64_t size = 1 + (random() % 8 == 0 ? random() % (2 * kMax) : random() % 100'000);
      segments.push_back({size, size});
      for (SegmentBytes& segment : segments)
        segment.live -= random() % 10 == 0 ? segment.live / 4 : 0;
      Settle(segments, kMax);
      size_t growing = 0;
      uint64_t live = 0;
      for (const SegmentBytes& segment : segments) {
        growing += segment.total <= kMax / 2 ? 1 : 0;
        live += segment.live;
        ASSERT_LE((segment.total - segment.live) * 5, segment.total + 5 * (64 << 10));
      }
      ASSERT_LE(growing, kSegmentsMax);
      // The others are half full, at most a fifth of which is dead.
      ASSERT_LE(segments.size(), kSegmentsMax + live / (kMax * 2 / 5));
    }
  }
}

TEST(MergePolicy, JoinsTriflesOnceAtRest) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    std::vector<SegmentBytes> segments;
    for (uint64_t n = random() % 40; n > 0; --n) {
      const uint64_t size = 1 + random() % (uint64_t{1} << (random() % 24));
      segments.push_back({size, size});
    }
    const uint64_t merged_max = round % 2 == 0 ? segment::kSegmentBytesMax : 3 * kTrifleBytes;
    Settle(segments, merged_max);
    const auto trifles = [&] {
      return std::count_if(segments.begin(), segments.end(),
                           [](const SegmentBytes& one) { return one.total < kTrifleBytes; });
    };
    const auto before = trifles();
    const std::vector<size_t> chosen = ChooseMerge(segments, merged_max, true);
    ASSERT_EQ(chosen.empty(), before < 2);
    for (const size_t i : chosen) ASSERT_LT(segments[i].total, kTrifleBytes);
    Settle(segments, merged_max, true);
    ASSERT_LE(trifles(), 1);
  }
}

TEST(MergePolicy, IsPressingIfMuchIsDeadOrSegmentsAreMany) {
  EXPECT_FALSE(IsPressing({}));
  EXPECT_FALSE(IsPressing({{1000, 1000}}));
  // Over all segments, 500 dead and 1000 live, then one byte more.
  EXPECT_FALSE(IsPressing({{900, 400}, {600, 600}}));
  EXPECT_TRUE(IsPressing({{900, 400}, {600, 600}, {1, 0}}));
  EXPECT_TRUE(IsPressing({{1000, 0}}));
  EXPECT_FALSE(IsPressing(std::vector<SegmentBytes>(2 * kSegmentsMax, {1000, 1000})));
  EXPECT_TRUE(IsPressing(std::vector<SegmentBytes>(2 * kSegmentsMax + 1, {1000, 1000})));
  // Full ones stay as they are.
  EXPECT_TRUE(IsPressing(std::vector<SegmentBytes>(2 * kSegmentsMax + 1, {1000, 1000}), 2000));
  EXPECT_FALSE(IsPressing(std::vector<SegmentBytes>(2 * kSegmentsMax + 1, {1000, 1000}), 1999));
}

class MergeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = index::Index::Open(folder_.path());
    ASSERT_TRUE(opened.ok());
    index_ = *opened;
    ASSERT_TRUE(RunSteps(*index_, SettingsStep(R"({"filterableAttributes":["color"]})"), {}).ok());
  }
  // One commit with documents [first, first + count) of the model.
  void Add(int first, int count, const std::string& color) {
    model_.BeginBatch();
    std::string payload = "[";
    for (int i = first; i < first + count; ++i) {
      const std::string id = std::to_string(i);
      const Fields fields{
          {"id", id}, {"title", Quoted("document number " + id)}, {"color", Quoted(color)}};
      model_.Add(id, fields, false, false);
      payload += (i > first ? "," : "") + DocumentGenerator(random_).Spell(fields);
    }
    model_.EndBatch();
    const auto done = RunSteps(*index_, DocumentsStep(0), {payload + "]"});
    ASSERT_TRUE(done.ok()) << done.status().message();
  }
  MergePlan PlanAll() const {
    MergePlan plan;
    for (const auto& segment : index_->snapshot()->segments)
      plan.segments.push_back(segment->files.id);
    return plan;
  }
  size_t FileCount() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/segments"))
      count += entry.exists();
    return count;
  }
  // Starts a merge of everything, slow enough to change the index meanwhile, and runs `change` once
  // the merge writes.
  template <typename Change>
  Status MergeDuring(Change&& change) {
    const MergePlan plan = PlanAll();
    const size_t files = FileCount();
    std::atomic<bool> cancelled{false};
    Status status;
    // The rate makes it write for about a second.
    uint64_t bytes = 0;
    for (const auto& segment : index_->snapshot()->segments) bytes += segment->rows->bytes();
    std::thread merge(
        [&] { status = RunMerge(*index_, plan, cancelled, std::max<uint64_t>(1, bytes)); });
    while (FileCount() == files) std::this_thread::yield();
    change(cancelled);
    merge.join();
    return status;
  }

  TestFolder folder_;
  std::shared_ptr<index::Index> index_;
  Model model_;
  std::mt19937_64 random_{1};
};

TEST(MergePauseTest, LetsALargeMergeBeginInAPauseButNotLaterThanItMust) {
  using Decision = MergePause::Decision;
  MergePause pause;
  MergePause::Clock::time_point now{};
  const auto after = [&](std::chrono::milliseconds time) { return now += time; };
  EXPECT_EQ(pause.Decide(now, true, false), Decision::kAfterBatch);
  EXPECT_EQ(pause.Decide(after(std::chrono::milliseconds(10)), false, true), Decision::kSoon);
  EXPECT_EQ(pause.Decide(after(std::chrono::milliseconds(900)), false, false), Decision::kSoon);
  // A batch has begun and ended: the pause begins again.
  EXPECT_EQ(pause.Decide(after(std::chrono::milliseconds(50)), false, true), Decision::kSoon);
  EXPECT_EQ(pause.Decide(after(std::chrono::milliseconds(900)), false, false), Decision::kSoon);
  EXPECT_EQ(pause.Decide(after(std::chrono::milliseconds(100)), false, false), Decision::kNow);
  // Batches, or searches, without a pause between them.
  for (const bool batches : {true, false}) {
    const auto begin = now;
    Decision decision = Decision::kAfterBatch;
    for (int i = 0; decision != Decision::kNow && now - begin < 2 * MergePause::kWaitMax; ++i) {
      decision = pause.Decide(after(std::chrono::milliseconds(300)), batches && i % 2 == 0,
                              !batches || i % 2 != 0);
      EXPECT_EQ(decision == Decision::kAfterBatch,
                batches && i % 2 == 0 && decision != Decision::kNow);
    }
    EXPECT_EQ(decision, Decision::kNow);
    EXPECT_GE(now - begin, MergePause::kWaitMax);
    EXPECT_LT(now - begin, MergePause::kWaitMax + std::chrono::seconds(1));
  }
}

TEST_F(MergeTest, PressesOnceDeadDocumentsHoldMoreThanHalfOfWhatLiveOnesDo) {
  Add(0, 8000, "red");
  Add(0, 3000, "Blue");
  auto plan = PlanMerge(*index_->snapshot());
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->pressing);
  Add(3000, 3000, "green");
  plan = PlanMerge(*index_->snapshot());
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->pressing);
  // Depends on the whole index, whichever segments are taken.
  plan = PlanMerge(*index_->snapshot(), {index_->snapshot()->segments[1]->files.id});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->pressing);
  ASSERT_TRUE(MergeToOne(*index_).ok());
  EXPECT_FALSE(PlanMerge(*index_->snapshot()).has_value());
}

TEST_F(MergeTest, KeepsDocumentsDeadThatDiedWhileItRan) {
  for (int i = 0; i < 4; ++i) Add(i * 50, 50, "red");
  ASSERT_EQ(index_->snapshot()->segments.size(), 4u);
  const Status status = MergeDuring([&](std::atomic<bool>&) { Add(20, 100, "Blue"); });
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(index_->snapshot()->segments.size(), 2u);
  ExpectIndexHolds(*index_, model_);
  index_.reset();
  index_ = *index::Index::Open(folder_.path());
  ExpectIndexHolds(*index_, model_);
  ASSERT_EQ(MergeToOne(*index_).message(), "");
  ExpectIndexHolds(*index_, model_);
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(MergeTest, IsCancelledWhenASourceIsRemovedOrGetsNewColumns) {
  for (int i = 0; i < 3; ++i) Add(i * 50, 50, "red");
  Status status = MergeDuring([&](std::atomic<bool>&) {
    ASSERT_TRUE(
        RunSteps(*index_, SettingsStep(R"({"filterableAttributes":["color","title"]})"), {}).ok());
  });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(FileCount(), 6u) << "base and columns files of the three segments";
  ExpectIndexHolds(*index_, model_);
  status = MergeDuring([&](std::atomic<bool>&) {
    ASSERT_TRUE(RunSteps(*index_, R"({"task":1,"kind":"clear"})", {}).ok());
    model_.BeginBatch();
    model_.Clear();
    model_.EndBatch();
  });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(FileCount(), 0u);
  ExpectIndexHolds(*index_, model_);
}

TEST_F(MergeTest, StopsWhenItIsCancelledAndLeavesNoFile) {
  for (int i = 0; i < 3; ++i) Add(i * 50, 50, "red");
  const Status status = MergeDuring([&](std::atomic<bool>& cancelled) { cancelled = true; });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(FileCount(), 3u);
  EXPECT_EQ(index_->snapshot()->segments.size(), 3u);
  ExpectIndexHolds(*index_, model_);
}

TEST_F(MergeTest, SmallSegmentsAreMergedWhileALargeMergeRuns) {
  for (int i = 0; i < 5; ++i) Add(i * 200, 200, "red");
  Merges merges;
  const auto large = merges.Next(*index_, UINT64_MAX);
  ASSERT_TRUE(large);
  const size_t taken = large->plan().segments.size();
  ASSERT_GE(taken, 4u);
  const std::atomic<bool> cancelled{false};
  std::atomic<bool> done{false};
  Status status;
  std::thread slow([&] {
    status =
        RunMerge(*index_, large->plan(), cancelled, std::max<uint64_t>(1, large->plan().bytes / 4));
    done = true;
  });
  size_t commits = 0, small_merges = 0, segments_max = 0;
  for (int id = 900; !done || commits < 30; ++id, ++commits) {
    Add(id % 1000 + 100, 1, "blue");
    while (const auto small = merges.Next(*index_, UINT64_MAX)) {
      for (const SegmentId segment : small->plan().segments) {
        ASSERT_EQ(std::count(large->plan().segments.begin(), large->plan().segments.end(), segment),
                  0);
      }
      ASSERT_EQ(RunMerge(*index_, small->plan(), cancelled, 0).message(), "");
      ++small_merges;
    }
    segments_max = std::max(segments_max, index_->snapshot()->segments.size());
  }
  slow.join();
  EXPECT_EQ(status.message(), "");
  EXPECT_GT(small_merges, 0u);
  EXPECT_LE(segments_max, taken + kSegmentsMax);
  ExpectIndexHolds(*index_, model_);
}

TEST_F(MergeTest, SegmentsAreFreeAfterTheirClaim) {
  for (int i = 0; i < 4; ++i) Add(i * 50, 50, "red");
  Merges merges;
  const auto bytes = index_->snapshot()->segments[0]->rows->file()->size();
  EXPECT_FALSE(merges.Next(*index_, bytes / 2)) << "larger segments are left alone";
  for (int round = 0; round < 2; ++round) {
    auto claim = merges.Next(*index_, bytes * 2);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->plan().segments.size(), 4u);
    EXPECT_FALSE(merges.Next(*index_, bytes * 2));
    const Merges::Claim moved = std::move(*claim);
    claim.reset();
    EXPECT_FALSE(merges.Next(*index_, bytes * 2));
  }
}

TEST_F(MergeTest, LeavesDamagedSegmentsAloneAndMergesTheOthers) {
  for (int i = 0; i < 9; ++i) Add(i * 50, 50, "red");
  const auto damaged = index_->snapshot()->segments[2];
  damaged->rows->file()->MarkCorrupt();
  Merges merges;
  const std::atomic<bool> cancelled{false};
  int failed = 0;
  while (const auto claim = merges.Next(*index_, UINT64_MAX)) {
    const Status status = RunMerge(*index_, claim->plan(), cancelled, 0);
    failed += status.ok() ? 0 : 1;
    merges.Ended(*index_, claim->plan(), status);
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(index_->snapshot()->segments.size(), 2u);
  EXPECT_EQ(merges.TakeFault().code(), StatusCode::kCorruption);
  EXPECT_TRUE(merges.TakeFault().ok()) << "returned twice";
}

TEST_F(MergeTest, WaitsAfterAFaultEachTimeTwiceAsLong) {
  for (int i = 0; i < 4; ++i) Add(i * 50, 50, "red");
  Merges merges;
  auto now = Merges::Clock::now();
  const auto fail = [&](const Status& status) {
    const auto claim = merges.Next(*index_, UINT64_MAX, now);
    ASSERT_TRUE(claim);
    merges.Ended(*index_, claim->plan(), status, now);
  };
  std::chrono::seconds wait = Merges::kRetryMin;
  for (int i = 0; i < 12; ++i, wait = std::min(wait * 2, std::chrono::seconds(Merges::kRetryMax))) {
    fail(Status::Full("no space left"));
    now += wait - std::chrono::milliseconds(1);
    EXPECT_FALSE(merges.Next(*index_, UINT64_MAX, now)) << wait.count();
    now += std::chrono::milliseconds(1);
  }
  EXPECT_EQ(merges.TakeFault().code(), StatusCode::kFull);
  // A success resets the delay, a cancellation changes nothing.
  fail(Status::Ok());
  fail(Status::Cancelled("stopped"));
  fail(Status::Full("no space left"));
  now += Merges::kRetryMin;
  EXPECT_TRUE(merges.Next(*index_, UINT64_MAX, now));
}

TEST_F(MergeTest, SpellsAFacetValueAsTheFirstLiveDocument) {
  Add(0, 1, "RED");
  Add(1, 1, "Red");
  ASSERT_EQ(MergeToOne(*index_).message(),
            "");  // one segment in which "red" is spelled in two ways
  Add(0, 1, "blue");
  Add(2, 1, "red");
  ASSERT_EQ(MergeToOne(*index_).message(), "");
  const auto snapshot = index_->snapshot();
  const auto* column = snapshot->segments[0]->columns->Find(*snapshot->fields->Find("color"));
  ASSERT_NE(column, nullptr);
  ASSERT_EQ(column->string_count(), 2u);
  EXPECT_EQ(column->string(1), "red");
  EXPECT_EQ(column->spelling(1), "Red");
  EXPECT_TRUE(column->spelling_varies(1));
  ExpectIndexHolds(*index_, model_);
}

TEST_F(MergeTest, GivesBackTheSpaceOfReplacedDocuments) {
  for (int round = 0; round < 30; ++round) {
    Add(0, 400, round % 2 == 0 ? "red" : "blue");
    MergeAll(*index_);
  }
  uint64_t bytes = 0;
  for (const auto& segment : index_->snapshot()->segments) bytes += segment->rows->file()->size();
  ASSERT_EQ(MergeToOne(*index_).message(), "");
  const uint64_t fresh = index_->snapshot()->segments[0]->rows->file()->size();
  EXPECT_LE(bytes, fresh * 13 / 10 + (64 << 10));
  ExpectIndexHolds(*index_, model_);
}

}  // namespace
}  // namespace gannet::indexing
