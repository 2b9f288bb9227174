// Searches without a query: combinations of filter, several sort criteria, distinct, pages, totals
// and facets.
#include <gtest/gtest.h>

#include <set>

#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "index/random_documents.h"
#include "search/execute.h"
#include "search/ranking/naive_sort.h"
#include "search/results/facet_counts.h"
#include "search/results/naive_distinct.h"

namespace gannet::search {
namespace {

struct PlainResult {
  std::vector<DocId> hits;
  uint64_t total = 0;
  std::set<DocId> candidates;
};

// The result of a search, computed by sorting and walking all documents.
class NaiveSearch {
 public:
  NaiveSearch(const NaiveIndex& index, const SearchRequest& request,
              std::vector<SortCriterion> criteria, std::optional<std::string> distinct,
              std::optional<double> number_min, uint64_t total_max)
      : request_(request),
        criteria_(std::move(criteria)),
        distinct_(std::move(distinct)),
        total_max_(total_max) {
    for (const NaiveDocument& document : index.documents()) {
      const std::vector<double>& numbers = document.Of("number").numbers;
      if (number_min &&
          std::none_of(numbers.begin(), numbers.end(), [&](double n) { return n >= *number_min; }))
        continue;
      documents_.emplace(document.docid, &document);
    }
  }

  PlainResult Run() {
    std::vector<const NaiveDocument*> all;
    for (const auto& [docid, document] : documents_) {
      all.push_back(document);
      result_.candidates.insert(docid);
    }
    uint64_t offset = std::min(request_.page.offset, total_max_),
             end = std::min(total_max_, offset + request_.page.limit);
    if (request_.page.numbered) {
      const uint64_t per_page = request_.page.per_page, page = request_.page.page;
      offset = std::min(total_max_, page == 0 ? 0 : (page - 1) * per_page);
      end = page == 0 ? offset : std::min(total_max_, offset + per_page);
    }
    offset_ = offset;
    end_ = end;
    Split(all, 0);
    result_.total = std::min<uint64_t>(total_max_, result_.candidates.size());
    return std::move(result_);
  }

 private:
  bool Full() const { return seen_ >= end_; }
  // With pages, totals are those of all documents after distinct in their order, also after the
  // page.
  bool Over() const { return Full() && !(request_.page.numbered && distinct_); }

  void Split(const std::vector<const NaiveDocument*>& documents, size_t criterion) {
    if (criterion < criteria_.size()) {
      std::vector<const NaiveDocument*> left;
      for (const NaiveDocument* document : documents) {
        if (result_.candidates.contains(document->docid)) left.push_back(document);
      }
      for (const NaiveBucket& bucket : NaiveSort(left, criteria_[criterion])) {
        if (Over()) return;
        std::vector<const NaiveDocument*> part;
        for (const DocId docid : bucket.docids) part.push_back(documents_.at(docid));
        Split(part, criterion + 1);
      }
      return;
    }
    for (const NaiveDocument* document : documents) {
      // Distinct is applied to a whole bucket of a criterion.
      if (Over() && criteria_.empty()) return;
      if (!Take(document->docid)) continue;
      if (Full()) continue;
      if (seen_ >= offset_) result_.hits.push_back(document->docid);
      ++seen_;
    }
  }

  // Returns false if an earlier document represents this one. Otherwise removes the documents that
  // it represents from the candidates.
  bool Take(DocId docid) {
    if (!result_.candidates.contains(docid)) return false;
    if (!distinct_) return true;
    const NaiveKeys own = NaiveKeysOf(*documents_.at(docid), *distinct_);
    std::erase_if(result_.candidates, [&](DocId other) {
      return other != docid && NaiveShare(own, NaiveKeysOf(*documents_.at(other), *distinct_));
    });
    return true;
  }

  const SearchRequest& request_;
  std::vector<SortCriterion> criteria_;
  std::optional<std::string> distinct_;
  uint64_t total_max_, offset_ = 0, end_ = 0, seen_ = 0;
  std::map<DocId, const NaiveDocument*> documents_;
  PlainResult result_;
};

TEST(PlaceholderOracle, SortsMakesDistinctAndPagesLikeAWalkOverTheDocuments) {
  RandomDocuments random(TestSeed());
  const auto direction = [&] { return random.Below(2) == 0 ? ":asc" : ":desc"; };
  const auto field = [&] { return kRandomFields[random.Below(kRandomFields.size())]; };
  const auto criterion = [](const std::string& text) {
    SortCriterion out;
    const size_t colon = text.rfind(':');
    out.ascending = text.substr(colon + 1) == "asc";
    if (!text.starts_with("_geoPoint(")) {
      out.field = text.substr(0, colon);
    } else {
      out.kind = SortCriterion::Kind::kGeo;
      out.lat = std::stod(text.substr(10));
      out.lng = std::stod(text.substr(text.find(',') + 1));
    }
    return out;
  };
  for (Comparisons comparisons(4000); comparisons.Left();) {
    std::vector<std::string> rules;
    const uint64_t sort_at = random.Below(3);
    for (uint64_t i = 0; i < 3; ++i) {
      if (i == sort_at) rules.push_back("sort");
      if (random.Below(4) == 0) rules.push_back(field() + direction());
      if (random.Below(2) == 0) rules.push_back(i == 0 ? "words" : i == 1 ? "exactness" : "typo");
    }
    std::string listed;
    for (const std::string& rule : rules) listed += (listed.empty() ? "\"" : ",\"") + rule + "\"";
    const std::optional<std::string> setting =
        random.Below(3) == 0 ? std::optional(field()) : std::nullopt;
    const uint64_t total_max = random.Below(4) == 0 ? 5 : 1000;
    const std::string settings = std::string(kRandomSettings);
    IndexedDocuments index(settings.substr(0, settings.size() - 1) + ",\"rankingRules\":[" +
                           listed + "]" +
                           (setting ? ",\"distinctAttribute\":\"" + *setting + "\"" : "") +
                           ",\"pagination\":{\"maxTotalHits\":" + std::to_string(total_max) + "}}");
    random.Fill(index, random.Below(4) == 0 ? 200 : 30);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, kRandomFields);
    for (int i = 400; i > 0 && comparisons.Next(); --i) {
      SearchRequest request;
      std::optional<double> number_min;
      if (random.Below(2) == 0) {
        number_min = static_cast<double>(random.Below(300)) - 150;
        request.filter = "\"number >= " + std::to_string(static_cast<int>(*number_min)) + "\"";
      }
      for (uint64_t n = random.Below(4); n > 0; --n) {
        static const char* const kSorts[] = {"_geoPoint(48.85, 2.35)", "_geoPoint(-17, 180)",
                                             "_geoPoint(0,0)"};
        request.sort.push_back((random.Below(3) == 0 ? kSorts[random.Below(3)] : field()) +
                               direction());
      }
      if (random.Below(4) == 0) request.distinct = field();
      request.page.offset = random.Below(3) == 0 ? random.Below(40) : 0;
      request.page.limit = random.Below(4) == 0 ? random.Below(200) : random.Below(6);
      if (random.Below(2) == 0)
        request.page = PageMembers::Numbered(random.Below(5), random.Below(20));
      if (random.Below(2) == 0) request.facets = {"*"};
      request.needs_candidates = !request.facets.empty();

      // A field (or `_geoPoint`) counts at its first occurrence.
      std::vector<SortCriterion> criteria;
      std::set<std::string> met;
      const auto add = [&](const std::string& text) {
        const SortCriterion one = criterion(text);
        std::string name = one.label();
        if (met.insert(name.substr(0, name.rfind(':'))).second) criteria.push_back(one);
      };
      for (const std::string& rule : rules) {
        if (rule == "sort") {
          for (const std::string& item : request.sort) add(item);
        } else if (rule.find(':') != rule.npos) {
          add(rule);
        }
      }
      const auto distinct = request.distinct ? request.distinct : setting;
      const PlainResult expected =
          NaiveSearch(documents, request, criteria, distinct, number_min, total_max).Run();
      std::string said = "rules " + listed + " filter " + request.filter + " distinct " +
                         distinct.value_or("-") + " sort";
      for (const std::string& item : request.sort) said += " " + item;
      const auto run = RunSearch(snapshot, request);
      ASSERT_TRUE(run.ok()) << run.status().message() << " " << said;
      std::vector<DocId> hits;
      for (const Hit& hit : (*run)->hits()) hits.push_back(hit.docid);
      ASSERT_EQ(hits, expected.hits) << said;
      ASSERT_EQ((*run)->total(), expected.total) << said;
      // They are returned only if requested.
      request.needs_candidates = true;
      const auto telling = RunSearch(snapshot, request);
      ASSERT_TRUE(telling.ok()) << telling.status().message() << " " << said;
      std::vector<uint32_t> candidates;
      (*telling)->candidates().ToVector(candidates);
      ASSERT_EQ(candidates,
                std::vector<uint32_t>(expected.candidates.begin(), expected.candidates.end()))
          << said;
    }
  }
}

}  // namespace
}  // namespace gannet::search
