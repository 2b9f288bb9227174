// Compares the nearest documents with a loop over all embeddings; and searches by vectors and
// hybrid searches with handmade lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <set>

#include "comparisons.h"
#include "index/indexed_documents.h"
#include "indexing/graphs.h"
#include "search/execute.h"
#include "search/similar.h"
#include "search/ranking/score_details.h"
#include "search/vectors/vector_scan.h"
#include "vector/kernels.h"

namespace gannet::search {
namespace {

using Random = std::mt19937_64;
using Embeddings = IndexedDocuments::Embeddings;

struct Case {
  uint32_t dimensions;
  bool bits;
  bool shifted;
};

std::string SettingsOf(const Case& of) {
  std::string embedder = "{\"dimensions\":" + std::to_string(of.dimensions);
  if (of.bits) embedder += ",\"binaryQuantized\":true";
  if (of.shifted) embedder += ",\"distribution\":{\"mean\":0.6,\"sigma\":0.1}";
  return "{\"rankingRules\":[\"words\",\"typo\",\"sort\",\"exactness\"],\"filterableAttributes\":["
         "\"n\"],\"sortableAttributes\":[\"n\"],"
         "\"embedders\":{\"e\":" +
         embedder + "}}}";
}

std::vector<float> RandomVector(Random& random, uint32_t dimensions, bool with_length = false) {
  std::vector<float> vector(dimensions);
  if (!with_length && random() % 40 == 0) return vector;
  std::normal_distribution<float> normal;
  for (float& number : vector) number = normal(random);
  if (random() % 4 == 0) {  // few different values, so that many are equally near
    for (float& number : vector) number = number > 0 ? 1.0f : -1.0f;
  }
  const float length = std::exp(normal(random) * 3);
  for (float& number : vector) number *= length;
  return vector;
}

struct World {
  // with_length: no embedding has length 0. single: no document has several.
  World(Random& random, const Case& of, int segment_documents = 120, bool with_length = false,
        bool single = false)
      : shape(of), documents(SettingsOf(of)) {
    DocId next = 0;
    for (int segment = 0; segment < 3; ++segment) {
      std::map<DocId, std::string> batch;
      std::map<DocId, Embeddings> vectors;
      for (int i = 0; i < segment_documents; ++i) {
        const bool replaces = segment > 0 && random() % 5 == 0;
        const DocId docid = replaces ? static_cast<DocId>(random() % next) : next++;
        batch[docid] = "{\"id\":" + std::to_string(docid) +
                       ",\"n\":" + std::to_string(random() % 6) + ",\"t\":\"" +
                       (random() % 3 == 0 ? "red" : "blue") + (random() % 3 == 0 ? " sea" : "") +
                       "\"}";
        vectors.erase(docid);
        embeddings.erase(docid);
        if (random() % 8 == 0) continue;
        Embeddings rows;
        for (uint64_t r = 0; r < 1 + (!single && random() % 6 == 0) * 2; ++r)
          rows.push_back(RandomVector(random, of.dimensions, with_length));
        if (!embeddings.empty() && random() % 6 == 0) {  // nearly equal to another
          rows = embeddings.begin()->second;
          rows[0][0] *= 1.001f;
        }
        vectors[docid] = rows;
        embeddings[docid] = std::move(rows);
      }
      documents.Put(batch, vectors);
    }
  }

  // Computed by a plain loop.
  float Similarity(const Embeddings& targets, const Embeddings& rows, bool paired = false) const {
    double best = -1;
    for (const auto& row : rows) {
      for (const auto& target : targets) {
        if (paired && &row - rows.data() != &target - targets.data()) continue;
        double cosine;
        const size_t n = row.size();
        if (shape.bits) {
          int differing = 0;
          for (size_t i = 0; i < n; ++i) differing += (row[i] > 0) != (target[i] > 0);
          cosine = 1 - 2.0 * differing / static_cast<double>((n + 63) / 64 * 64);
        } else {
          const double product = std::sqrt(vector::Dot(row.data(), row.data(), n)) *
                                 std::sqrt(vector::Dot(target.data(), target.data(), n));
          cosine = product == 0 ? 1 : vector::Dot(row.data(), target.data(), n) / product;
        }
        best = std::max(best, cosine);
      }
    }
    return std::clamp(static_cast<float>((1 + best) / 2), 0.0f, 1.0f);
  }

  double Score(float similarity) const {
    if (!shape.shifted) return static_cast<double>(similarity);
    const float factor = 0.4f / 0.1f;
    similarity = similarity * factor + (0.5f - factor * 0.6f);
    return static_cast<double>(similarity <= 0 ? std::numeric_limits<float>::epsilon()
                                               : std::min(similarity, 1.0f));
  }

  std::vector<NearDocument> All(const Embeddings& targets, const DocSet& candidates,
                                bool paired = false) const {
    std::vector<NearDocument> all;
    for (const auto& [docid, rows] : embeddings) {
      if (candidates.Contains(docid)) all.push_back({docid, Similarity(targets, rows, paired)});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.docid < b.docid;
    });
    return all;
  }

  Case shape;
  IndexedDocuments documents;
  std::map<DocId, Embeddings> embeddings;
};

Case RandomCase(Random& random) {
  static constexpr uint32_t kDimensions[] = {1, 3, 8, 33, 64, 100, 384};
  return {kDimensions[random() % std::size(kDimensions)], random() % 4 == 0, random() % 4 == 0};
}

DocSet RandomCandidates(Random& random, const DocSet& all) {
  if (random() % 3 == 0) return all;
  DocSet some;
  const uint64_t share = 1 + random() % 20;
  all.ForEach([&](DocId docid) {
    if (random() % share == 0) some.Add(docid);
  });
  return some;
}

TEST(VectorScan, FindsWhatALoopFinds) {
  Random random(TestSeed());
  Comparisons comparisons(3000);
  while (comparisons.Left()) {
    const World world(random, RandomCase(random));
    const auto snapshot = world.documents.snapshot();
    for (int i = 0; i < 40 && comparisons.Next(); ++i) {
      Embeddings targets;
      for (uint64_t t = 0; t < 1 + (random() % 8 == 0); ++t) {
        const bool stored = !world.embeddings.empty() && random() % 3 == 0;
        targets.push_back(stored ? world.embeddings.begin()->second[0]
                                 : RandomVector(random, world.shape.dimensions));
      }
      const bool paired = random() % 4 == 0;
      const VectorScan scan(*snapshot, snapshot->settings->embedders[0], targets,
                            ScanOptions{.paired = paired});
      const DocSet candidates = RandomCandidates(random, snapshot->documents);
      auto expected = world.All(targets, candidates, paired);
      ASSERT_EQ(scan.Embedded(candidates).size(), expected.size());
      const size_t count = 1 + random() % (random() % 2 == 0 ? 20 : 500);
      const double score_min =
          expected.empty() ? 0.5 : world.Score(expected[random() % expected.size()].similarity);
      DocSet at_least;
      for (const NearDocument& document : expected) {
        if (world.Score(document.similarity) >= score_min) at_least.Add(document.docid);
      }
      ASSERT_TRUE(scan.AtLeast(candidates, score_min) == at_least);
      size_t end = std::min(count, expected.size());
      while (end > 0 && end < expected.size() &&
             expected[end].similarity == expected[end - 1].similarity)
        ++end;
      expected.resize(end);
      ASSERT_EQ(scan.Nearest(candidates, count), expected) << count << " of " << candidates.size();
    }
  }
}

TEST(VectorScan, OrdersTheEmbeddingsOfADocument) {
  Random random(TestSeed() + 1);
  for (Comparisons comparisons(2000); comparisons.Left();) {
    const World world(random, RandomCase(random));
    const auto snapshot = world.documents.snapshot();
    const bool paired = random() % 4 == 0;
    Embeddings targets;
    for (uint64_t t = 0; t < 1 + random() % 3; ++t)
      targets.push_back(RandomVector(random, world.shape.dimensions));
    const VectorScan scan(*snapshot, snapshot->settings->embedders[0], targets,
                          ScanOptions{.paired = paired});
    for (const auto& [docid, rows] : world.embeddings) {
      if (!comparisons.Next()) break;
      const auto& reader = *snapshot->FindSegment(docid)->vectors->Find("e");
      const auto rows_of = reader.FindRows(docid);
      std::vector<NearRow> expected;
      for (uint32_t n = 0; n < rows.size(); ++n) {
        Embeddings compared = targets;
        if (paired) compared = n < targets.size() ? Embeddings{targets[n]} : Embeddings{};
        expected.push_back({rows_of.begin + n, world.Similarity(compared, {rows[n]})});
      }
      for (size_t n = 1; n < expected.size(); ++n) {
        for (size_t at = n; at > 0 && expected[at - 1].similarity < expected[at].similarity; --at)
          std::swap(expected[at - 1], expected[at]);
      }
      ASSERT_EQ(scan.NearestRows(reader, rows_of), expected) << docid;
    }
  }
}

struct Recall {
  size_t found = 0, wanted = 0;
  double share() const { return static_cast<double>(found) / static_cast<double>(wanted); }
};

// Compares the nearest documents with a loop. If there are more candidates than a scan takes, some
// of the nearest may be missing, which is counted; all else is as in a scan.
void CheckChosen(const World& world, const Embeddings& targets, const ScanOptions& options,
                 const DocSet& candidates, size_t count, Recall& recall) {
  const auto snapshot = world.documents.snapshot();
  const VectorScan scan(*snapshot, snapshot->settings->embedders[0], targets, options);
  auto expected = world.All(targets, candidates, options.paired);
  const size_t known = expected.size();
  size_t end = std::min(count, known);
  while (end > 0 && end < known && expected[end].similarity == expected[end - 1].similarity) ++end;
  expected.resize(end);
  const std::vector<NearDocument> nearest = scan.Nearest(candidates, count);
  if (candidates.size() <= options.scanned_max) {
    ASSERT_EQ(nearest, expected);
    return;
  }
  ASSERT_GE(nearest.size(), std::min(count, known));
  std::set<DocId> given;
  for (size_t n = 0; n < nearest.size(); ++n) {
    const NearDocument& near = nearest[n];
    ASSERT_TRUE(given.insert(near.docid).second);
    ASSERT_TRUE(candidates.Contains(near.docid));
    ASSERT_EQ(near.similarity,
              world.Similarity(targets, world.embeddings.at(near.docid), options.paired));
    if (n > 0) {
      ASSERT_TRUE(
          nearest[n - 1].similarity > near.similarity ||
          (nearest[n - 1].similarity == near.similarity && nearest[n - 1].docid < near.docid));
    }
  }
  // Any of the equally near ones is correct.
  const size_t k = std::min(count, known);
  for (size_t n = 0; n < k; ++n)
    recall.found += nearest[n].similarity >= expected[k - 1].similarity ? 1 : 0;
  recall.wanted += k;
}

// Signs choose documents compared as by a scan, and miss one of some thousand of the nearest.
TEST(VectorScan, SignsFindWhatALoopFinds) {
  Random random(TestSeed());
  const Tuning tuned = Tuned();
  Tuning tuning = tuned;
  tuning.signed_rows_min = 100;
  SetTuning(tuning);
  Recall recall;
  Comparisons comparisons(600);
  while (comparisons.Left()) {
    static constexpr uint32_t kDimensions[] = {64, 100, 200};
    const bool single = random() % 2 == 0;
    const World world(random, {kDimensions[random() % 3], false, random() % 4 == 0}, 1000,
                      random() % 3 != 0, single);
    const auto snapshot = world.documents.snapshot();
    for (const auto& segment : snapshot->segments) {
      const segment::EmbedderReader* reader = segment->vectors->Find("e");
      ASSERT_EQ(reader->has_signs(), reader->row_count() > 100);
    }
    for (int i = 0; i < 60 && comparisons.Next(); ++i) {
      Embeddings targets;
      for (uint64_t t = 0; t < 1 + (random() % 3 == 0) * (1 + random() % 3); ++t) {
        const bool stored = random() % 3 == 0;
        targets.push_back(stored ? world.embeddings.begin()->second[0]
                                 : RandomVector(random, world.shape.dimensions, t > 0));
      }
      const ScanOptions options{.paired = random() % 4 == 0, .scanned_max = 0};
      const DocSet candidates = RandomCandidates(random, snapshot->documents);
      CheckChosen(world, targets, options, candidates,
                  1 + random() % (random() % 8 == 0 ? 700 : 20), recall);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  SetTuning(tuned);
  EXPECT_GT(recall.wanted, 0u);
  EXPECT_GE(recall.share(), 0.998);
}

// Graphs find documents compared as by a scan, only candidates, as many as requested, and most of
// the nearest.
TEST(VectorScan, GraphsFindNearlyAllThatALoopFinds) {
  Random random(TestSeed());
  const std::atomic<bool> cancelled{false};
  Recall recall;
  Comparisons comparisons(600);
  while (comparisons.Left()) {
    const bool with_length = random() % 3 != 0;
    const World world(random, {16, false, false}, 1500, with_length);
    const size_t graphs = 1 + random() % 3;
    const indexing::GraphOptions building{.threads = 1, .rows_min = 100, .parameters = {}};
    for (size_t i = 0; i < graphs; ++i) {
      const auto planned = indexing::PlanGraphs(*world.documents.snapshot(), building.rows_min);
      ASSERT_TRUE(planned);
      ASSERT_TRUE(
          indexing::BuildGraphs(world.documents.index(), *planned, building, cancelled).ok());
    }
    const auto snapshot = world.documents.snapshot();
    for (int i = 0; i < 60 && comparisons.Next(); ++i) {
      Embeddings targets;
      for (uint64_t t = 0; t < 1 + (random() % 6 == 0); ++t)
        targets.push_back(RandomVector(random, 16, random() % 8 != 0));
      const bool paired = random() % 4 == 0;
      const uint64_t scanned_max = 1 + random() % 2500;
      const ScanOptions options{.paired = paired,
                                .scanned_max = scanned_max,
                                .kept_min = 100 + random() % 200,
                                .walk_cost = random() % 3};
      const DocSet candidates = RandomCandidates(random, snapshot->documents);
      const size_t count = 1 + random() % (random() % 8 == 0 ? 700 : 20);
      CheckChosen(world, targets, options, candidates, count, recall);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_GT(recall.wanted, 0u);
  EXPECT_GE(recall.share(), 0.97);
}

TEST(VectorScan, ScansLittleAfterTheDeadlineAndNothingOnceCancelled) {
  Random random(TestSeed());
  const World world(random, {8, false, false});
  const auto snapshot = world.documents.snapshot();
  const Embeddings targets = {RandomVector(random, 8, true)};
  const auto& embedder = snapshot->settings->embedders[0];
  const auto nearest_of = [&](const ScanOptions& options) {
    return VectorScan(*snapshot, embedder, targets, options).Nearest(snapshot->documents, 1000);
  };
  const auto all = world.All(targets, snapshot->documents);
  EXPECT_EQ(nearest_of({.deadline = Deadline::In(0)}), all)
      << "few documents are looked at whatever the time";
  EXPECT_EQ(nearest_of({.deadline = Deadline::In(1'000'000), .untimed_documents = 0}), all);
  EXPECT_TRUE(nearest_of({.deadline = Deadline::In(0), .untimed_documents = 0}).empty());
  const auto first = nearest_of({.deadline = Deadline::In(0), .untimed_documents = 1});
  DocSet embedded;
  for (const NearDocument& near : first) embedded.Add(near.docid);
  EXPECT_EQ(first, world.All(targets, embedded)) << "what was looked at is in order";
  EXPECT_FALSE(first.empty());
  EXPECT_LT(first.size(), all.size());
  const auto cancelled = std::make_shared<const std::atomic<bool>>(true);
  EXPECT_TRUE(nearest_of({.deadline = Deadline::In(1'000'000, cancelled)}).empty());
  const VectorScan scan(*snapshot, embedder, targets,
                        {.deadline = Deadline::In(1'000'000, cancelled)});
  EXPECT_TRUE(scan.AtLeast(snapshot->documents, 0).empty());
}

std::unique_ptr<SearchRun> RunOf(const World& world, const SearchRequest& request) {
  auto run = RunSearch(world.documents.snapshot(), request);
  EXPECT_TRUE(run.ok()) << run.status().message();
  return run.ok() ? std::move(*run) : nullptr;
}

TEST(SemanticSearch, OrdersLikeALoop) {
  Random random(TestSeed());
  Comparisons comparisons(1500);
  while (comparisons.Left()) {
    const World world(random, RandomCase(random));
    const auto snapshot = world.documents.snapshot();
    for (int i = 0; i < 30 && comparisons.Next(); ++i) {
      SearchRequest request;
      request.hybrid = Hybrid{"e", 1, std::nullopt};
      request.vector = RandomVector(random, world.shape.dimensions);
      request.show_score = true;
      request.page.offset = random() % 3 == 0 ? random() % 30 : 0;
      request.page.limit = random() % 40;
      if (random() % 3 == 0) request.filter = "\"n < " + std::to_string(random() % 7) + "\"";
      const bool threshold = random() % 3 == 0, has_score_min = random() % 4 == 0,
                 paged = random() % 3 == 0;
      DocSet passing;
      for (const auto& [docid, text] : world.documents.documents()) {
        const json::Value document = json::Value::Parse(text);
        if (request.filter.empty() || document["n"].number() < std::stod(request.filter.substr(5)))
          passing.Add(docid);
      }
      auto all = world.All({*request.vector}, passing);
      const double bound = all.empty() ? 0.5 : world.Score(all[random() % all.size()].similarity);
      if (threshold) request.threshold = bound;
      if (has_score_min) request.hybrid->min_score = bound;
      if (paged) {
        request.page = PageMembers::Numbered(1 + random() % 3, 1 + random() % 30);
      }
      // Embedded documents first, then the others.
      std::vector<std::pair<DocId, double>> hits;
      DocSet embedded;
      for (const NearDocument& near : all) {
        embedded.Add(near.docid);
        const double score = world.Score(near.similarity);
        if ((threshold || has_score_min) && score < bound) continue;
        hits.emplace_back(near.docid, score);
      }
      if (!has_score_min && !(threshold && bound > 0))
        (passing - embedded).ForEach([&](DocId docid) { hits.emplace_back(docid, 0); });
      const size_t known = hits.size();
      const PageMembers& page = request.page;
      const size_t offset = paged ? (page.page - 1) * page.per_page : page.offset;
      const size_t count = page.size();
      hits.erase(hits.begin(),
                 hits.begin() + static_cast<ptrdiff_t>(std::min(offset, hits.size())));
      hits.resize(std::min(hits.size(), count));

      const auto run = RunOf(world, request);
      ASSERT_NE(run, nullptr);
      std::vector<std::pair<DocId, double>> found;
      for (const Hit& hit : run->hits()) found.emplace_back(hit.docid, ScoreOf(hit.detail));
      ASSERT_EQ(found, hits);
      ASSERT_EQ(run->semantic_hit_count(), hits.size());
      if (!threshold || paged || has_score_min) {
        ASSERT_EQ(run->total(), known);
      } else {
        ASSERT_GE(run->total(), known);
      }
      ASSERT_EQ(run->candidates().size(), run->total());
    }
  }
}

TEST(SemanticSearch, DocumentsNotScannedInTimeFollowUnranked) {
  IndexedDocuments documents(
      R"({"filterableAttributes":["n"],"searchCutoffMs":0,"embedders":{"e":{"dimensions":2}}})");
  std::map<DocId, std::string> batch;
  std::map<DocId, Embeddings> vectors;
  // The nearest twelve share a value, so a page of two takes another scan.
  for (DocId docid = 0; docid < 24; ++docid) {
    const bool near = docid >= 12;
    batch[docid] = "{\"id\":" + std::to_string(docid) + ",\"n\":" + (near ? "0" : "1") + "}";
    vectors[docid] = {{1, (near ? 0.01f : 1.0f) * static_cast<float>(24 - docid)}};
  }
  documents.Put(batch, vectors);
  SearchRequest request;
  request.hybrid = Hybrid{"e", 1, std::nullopt};
  request.vector = std::vector<float>{1, 0};
  request.show_score = true;
  const auto docids_of = [&] {
    auto run = RunSearch(documents.snapshot(), request);
    EXPECT_TRUE(run.ok()) << run.status().message();
    std::vector<DocId> docids;
    for (const Hit& hit : (*run)->hits()) docids.push_back(hit.docid);
    return docids;
  };
  request.page.limit = 3;
  EXPECT_EQ(docids_of(), (std::vector<DocId>{23, 22, 21}));
  request.distinct = "n";
  request.page.limit = 2;
  EXPECT_EQ(docids_of(), (std::vector<DocId>{23, 0})) << "11 is the nearest of the others";
  request.threshold = 0.5;
  EXPECT_EQ(docids_of(), (std::vector<DocId>{23}));
}

TEST(SimilarDocuments, KeepsDocumentsKnownToMatchTheFilterOnceCancelled) {
  Random random(TestSeed());
  const World world(random, {8, false, false});
  SearchRequest request;
  request.hybrid = Hybrid{"e", 1, std::nullopt};
  request.page.limit = 20;
  request.filter = "\"n >= 0\"";
  for (const bool over : {false, true}) {
    request.cancelled = std::make_shared<const std::atomic<bool>>(over);
    const auto run =
        RunSimilar(world.documents.snapshot(), request, world.embeddings.begin()->first,
                   DeadlineOf(*world.documents.snapshot(), request));
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ((*run)->hits().empty(), over);
  }
}

// The merge by definition: both complete lists, weighted, one after the other.
TEST(HybridSearch, MergesBothLists) {
  Random random(TestSeed());
  Comparisons comparisons(1500);
  while (comparisons.Left()) {
    const World world(random, RandomCase(random));
    for (int i = 0; i < 30 && comparisons.Next(); ++i) {
      static constexpr const char* kQueries[] = {"red",      "sea",   "red sea", "blue",
                                                 "blue sea", "green", "red -sea"};
      static constexpr double kRatios[] = {0.05, 0.2, 0.5, 0.8, 0.95};
      SearchRequest request;
      request.q = kQueries[random() % std::size(kQueries)];
      request.hybrid = Hybrid{"e", kRatios[random() % std::size(kRatios)], std::nullopt};
      request.vector = RandomVector(random, world.shape.dimensions);
      request.show_score = true;
      request.page.limit = random() % 30;
      request.page.offset = random() % 3 == 0 ? random() % 10 : 0;
      if (random() % 3 == 0) request.filter = "\"n < 3\"";
      const double ratio = request.hybrid->ratio;
      const bool has_score_min = random() % 3 == 0;
      if (has_score_min) request.hybrid->min_score = static_cast<double>(random() % 100) / 100;

      SearchRequest words = request, vectors = request;
      words.hybrid.reset();
      words.vector.reset();
      words.page.offset = vectors.page.offset = 0;
      words.page.limit = vectors.page.limit = 1000;
      vectors.hybrid->ratio = 1;
      vectors.half = true;
      const auto by_words = RunOf(world, words), by_vectors = RunOf(world, vectors);
      ASSERT_TRUE(by_words && by_vectors);
      const size_t end = request.page.offset + request.page.limit;
      struct Item {
        DocId docid;
        double weighted, score;
        bool by_vector;
      };
      std::vector<Item> words_list, vectors_list, merged;
      // The first page decides for all.
      const auto enough_for = [&](size_t size) {
        const std::vector<Hit>& hits = by_words->hits();
        return !has_score_min && hits.size() >= size &&
               std::all_of(
                   hits.begin(), hits.begin() + static_cast<ptrdiff_t>(size),
                   [&](const Hit& hit) { return ScoreOf(hit.detail) * (1 - ratio) >= 0.45; });
      };
      const bool enough = enough_for(request.page.limit);
      for (const Hit& hit : by_words->hits()) {
        if (words_list.size() == end) break;
        const double score = ScoreOf(hit.detail);
        words_list.push_back({hit.docid, score * (1 - ratio), score, false});
      }
      for (const Hit& hit : by_vectors->hits()) {
        if (vectors_list.size() == end) break;
        const double score = ScoreOf(hit.detail);
        vectors_list.push_back({hit.docid, score * ratio, score, true});
      }
      size_t w = 0, v = 0;
      std::set<DocId> seen;
      while (w < words_list.size() || v < vectors_list.size()) {
        const bool vector =
            !enough && (w == words_list.size() ||
                        (v < vectors_list.size() &&
                         vectors_list[v].weighted >= words_list[w].weighted - 2.3e-16));
        if (enough && w == words_list.size()) break;
        const Item& item = vector ? vectors_list[v++] : words_list[w++];
        if (seen.insert(item.docid).second) merged.push_back(item);
      }
      merged.erase(merged.begin(), merged.begin() + static_cast<ptrdiff_t>(std::min<size_t>(
                                                        request.page.offset, merged.size())));
      merged.resize(std::min<size_t>(merged.size(), request.page.limit));

      const auto run = RunOf(world, request);
      ASSERT_NE(run, nullptr);
      ASSERT_EQ(run->hits().size(), merged.size());
      uint64_t count = 0;
      for (size_t h = 0; h < merged.size(); ++h) {
        ASSERT_EQ(run->hits()[h].docid, merged[h].docid) << h;
        ASSERT_EQ(ScoreOf(run->hits()[h].detail), merged[h].score);
        ASSERT_EQ(HasVector(run->hits()[h].detail), merged[h].by_vector);
        count += merged[h].by_vector;
      }
      ASSERT_EQ(run->semantic_hit_count(), count);
      const DocSet both = by_words->candidates() | by_vectors->candidates();
      ASSERT_EQ(run->total(), enough ? by_words->total() : both.size());

      // The total is the same on every page.
      if (!has_score_min) {
        request.page = PageMembers::Numbered(1 + random() % 5, 1 + random() % 10);
        const auto paged = RunOf(world, request);
        ASSERT_NE(paged, nullptr);
        const DocSet& counted = enough_for(request.page.per_page) ? by_words->candidates() : both;
        ASSERT_EQ(paged->total(), counted.size());
        ASSERT_TRUE(paged->candidates() == counted);
      }
    }
  }
}

// The vector may arrive later: words are ranked once, in a snapshot that is kept.
TEST(HybridSearch, ResumesWithAVectorAsIfItWasKnownFromTheStart) {
  Random random(TestSeed());
  Comparisons comparisons(1500);
  uint64_t resumed = 0;
  while (comparisons.Left()) {
    World world(random, RandomCase(random));
    for (int i = 0; i < 30 && comparisons.Next(); ++i) {
      static constexpr const char* kQueries[] = {"red", "red sea", "blue", "red -sea"};
      SearchRequest request;
      request.q = kQueries[random() % std::size(kQueries)];
      request.hybrid = Hybrid{"e", 0.1 + 0.2 * static_cast<double>(random() % 5), std::nullopt};
      request.page.limit = random() % 30;
      request.page.offset = random() % 10;
      request.show_score = true;
      if (random() % 3 == 0) request.filter = "\"n < 3\"";
      if (random() % 3 == 0) request.distinct = "n";
      if (random() % 3 == 0) request.threshold = 0.3;
      if (random() % 4 == 0) request.hybrid->min_score = 0.4;
      if (random() % 4 == 0) request.page = PageMembers::Numbered(1 + random() % 3, 20);
      const bool from_start = random() % 2 == 0;
      auto run = RunSearch(world.documents.snapshot(), request, from_start);
      ASSERT_TRUE(run.ok()) << run.status().message();
      if (!(*run)->needs_vector()) continue;
      ++resumed;
      std::optional<std::vector<float>> vector;
      if (random() % 5 != 0) vector = RandomVector(random, world.shape.dimensions);
      ASSERT_TRUE(AddVector(**run, vector, from_start, nullptr).ok());
      request.vector = vector;
      request.without_vector = !vector;
      const auto whole = RunSearch(world.documents.snapshot(), request, from_start);
      ASSERT_TRUE(whole.ok());
      ASSERT_FALSE((*run)->needs_vector());
      ASSERT_EQ((*run)->hits().size(), (*whole)->hits().size());
      for (size_t h = 0; h < (*run)->hits().size(); ++h) {
        ASSERT_EQ((*run)->hits()[h].docid, (*whole)->hits()[h].docid) << h;
        ASSERT_EQ(ScoreOf((*run)->hits()[h].detail), ScoreOf((*whole)->hits()[h].detail));
      }
      ASSERT_EQ((*run)->total(), (*whole)->total());
      ASSERT_EQ((*run)->semantic_hit_count(), (*whole)->semantic_hit_count());
      ASSERT_EQ((*run)->query_vector() == nullptr, (*whole)->query_vector() == nullptr);
      ASSERT_TRUE((*run)->candidates() == (*whole)->candidates());
    }
  }
  EXPECT_GT(resumed, 0u);
}

TEST(HybridSearch, ResumesOnlyWithAVectorOfItsDimensions) {
  Random random(TestSeed());
  const World world(random, {8, false, false});
  SearchRequest request;
  request.hybrid = Hybrid{"e", 0.9, std::nullopt};
  request.page.limit = 20;
  const auto run = RunSearch(world.documents.snapshot(), request);
  ASSERT_TRUE(run.ok() && (*run)->needs_vector());
  const Status status = AddVector(**run, std::vector<float>{1, 2}, false, nullptr);
  EXPECT_EQ(status.detail(), "invalid_vector_dimensions");
}

}  // namespace
}  // namespace gannet::search
