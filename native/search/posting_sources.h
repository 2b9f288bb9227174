// The rules that add up a cost, over many documents with one path: their parts as far as posting lists tell them. What lists
// do not tell is read where it decides.
//
// The documents match the path, and all hold the same of the phrases that stand for its words.
//
// REQUIRES, for all: ForwardScan::Supports the path. Threads: one owner. Lifetime: die before the graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/cost_source.h"
#include "search/posting_costs.h"
#include "search/two_phase.h"
#include "search/forward_scan.h"

namespace gannet::search {

// Documents of a bucket, and the one of its paths that they match.
struct OnePath {
  DocSet documents;
  uint32_t number;  // of the path, in the bucket's order
  Path path;
  PathPhrases held;  // of the phrases that stand for its words those that the documents hold; they hold no others
};

// Documents that match several paths: each costs what it does along the cheapest, and takes the first that is. What lists do not
// tell of them is read, so that none is passed on as if it had a cost.
class CheapestPathSource : public CostSource {
 public:
  // of_paths: in the order of the paths; what each gives at a cost takes one path.
  CheapestPathSource(DocSet documents, std::vector<std::unique_ptr<CostSource>> of_paths)
      : documents_(std::move(documents)), of_paths_(std::move(of_paths)) {}

  CostBucket At(uint32_t cost) override;

 private:
  DocSet documents_;  // not yet in a part
  std::vector<std::unique_ptr<CostSource>> of_paths_;
};

// attributeRank, from the lists of fields.
class AttributeSource : public CostSource {
 public:
  AttributeSource(Graph& graph, OnePath bucket, uint32_t max_weight)
      : bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), max_weight_(max_weight) {}

  CostBucket At(uint32_t cost) override;

 private:
  OnePath bucket_;  // documents: not yet in a part
  PostingCosts lists_;
  uint32_t max_weight_;
  std::map<uint32_t, DocSet> behind_;  // by cost
};

// wordPosition, from the lists of early positions.
class PositionSource : public CostSource {
 public:
  // two_phase: of the documents, null when all of them are what they are ranked as. most: the greatest cost.
  PositionSource(Graph& graph, OnePath bucket, uint32_t max_weight, uint32_t most, TwoPhase* two_phase);

  CostBucket At(uint32_t cost) override;

 private:
  void AskAll();
  // Reads the costs of documents.
  void Read(const DocSet& documents);

  Graph& graph_;
  OnePath bucket_;  // documents: not yet in a part, as long as lists are asked
  PostingCosts lists_;
  uint32_t max_weight_, most_;
  TwoPhase* two_phase_;
  uint32_t known_;        // costs below are known from lists
  bool asked_all_ = false;
  PostingCosts::Positions positions_;  // once they were
};

// proximity, from the lists of where frequent words stand close to each other. All else has to be read. But only the page is wanted,
// and what the rules behind proximity say of documents is known from lists. So documents whose cost is not known are passed
// on as if they had the cost whose turn it is. A document is read when it would come onto the page; if it costs more,
// it waits for that cost instead.
class ProximitySource : public CostSource {
 public:
  ProximitySource(Graph& graph, OnePath bucket, uint32_t most);

  CostBucket At(uint32_t cost) override;
  DocSet Verify(uint32_t cost, const DocSet& among) override;

 private:
  // What costs the least.
  CostBucket Nearest();
  // What is known of the others.
  void AskRest();

  Graph& graph_;
  OnePath bucket_;
  PostingCosts lists_;
  ForwardScan scan_;
  uint32_t least_ = 0;  // any document costs
  bool listed_ = false;
  DocSet rest_;                  // those behind the nearest
  std::vector<DocSet> waiting_;  // known to cost this, by cost
  std::vector<DocSet> approximate_;   // costs this or more, by cost
};

}  // namespace gannet::search
