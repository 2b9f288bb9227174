// Cost sources that ask posting lists, for large groups of documents that match one path.
//
// A source returns documents as soon as posting lists decide their cost. Where they give only a lower
// bound, the source either returns the documents as approximate (ProximitySource) or scans their
// forward records when the bound is asked for (PositionSource).
//
// Invariant: all documents of a source match the path, and hold the same of the phrases that stand
// for words of the path.
//
// REQUIRES, for all sources: ForwardScan::Supports(path).
// Threads: one owner. Lifetime: a source dies before the graph.
// Cost: unions of the posting lists of the path's words per call; no record is read unless said so.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/cost_source.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/posting_costs.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

// Documents of a bucket that match one path of the bucket, or are ranked along it.
struct OnePath {
  DocSet documents;
  uint32_t number;   // of the path among the paths of the bucket
  Path path;
  PathPhrases held;  // of the phrases that stand for words of the path: those that every document
                     // holds; no document holds any other
};

// Documents that match several paths. A document costs what it costs along its cheapest path, and
// takes the first of equally cheap ones. Approximate documents of the paths are verified at once, so
// this source returns verified documents only.
class CheapestPathSource : public CostSource {
 public:
  // of_paths    the source of each path, in the order of the paths; each returns one path per cost
  CheapestPathSource(DocSet documents, std::vector<std::unique_ptr<CostSource>> of_paths)
      : documents_(std::move(documents)), of_paths_(std::move(of_paths)) {}

  CostBucket At(uint32_t cost) override;

 private:
  DocSet documents_;  // not yet returned
  std::vector<std::unique_ptr<CostSource>> of_paths_;
};

// attributeRank, from the postings of fields.
class AttributeSource : public CostSource {
 public:
  AttributeSource(Graph& graph, OnePath bucket, uint32_t max_weight)
      : bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), max_weight_(max_weight) {}

  CostBucket At(uint32_t cost) override;

 private:
  OnePath bucket_;  // its documents: those whose cost is not known yet
  PostingCosts lists_;
  uint32_t max_weight_;
  std::map<uint32_t, DocSet> behind_;  // documents of costs above 0, by cost
};

// wordPosition, from leading-position postings. Documents whose words stand further behind are read.
class PositionSource : public CostSource {
 public:
  // max_weight    greatest weight of a field, for the forward scan
  // most          the greatest cost of the rule
  // two_phase     verifies the documents before they are read; null: all are verified
  PositionSource(Graph& graph, OnePath bucket, uint32_t max_weight, uint32_t most, TwoPhase* two_phase);

  CostBucket At(uint32_t cost) override;

 private:
  // Asks posting lists for all costs, or reads the documents where that is quicker.
  void AskAll();
  // Adds the costs of `documents` by a forward scan.
  void Read(const DocSet& documents);

  Graph& graph_;
  OnePath bucket_;  // its documents: not yet returned, until asked_all_
  PostingCosts lists_;
  uint32_t max_weight_, most_;
  TwoPhase* two_phase_;
  uint32_t known_;        // lower costs are decided by posting lists
  bool asked_all_ = false;
  PostingCosts::Positions positions_;  // filled once asked_all_
};

// proximity, from adjacency postings. They decide the cost of documents whose words are all frequent;
// for other words they give a lower bound. A document is returned at its lower bound as approximate.
// Verify() reads it; a document that costs more is returned, verified, at its own cost.
class ProximitySource : public CostSource {
 public:
  ProximitySource(Graph& graph, OnePath bucket, uint32_t most);

  CostBucket At(uint32_t cost) override;
  DocSet Verify(uint32_t cost, const DocSet& among) override;

 private:
  // The documents of the least cost.
  CostBucket Nearest();
  // Fills waiting_ and approximate_ for the others.
  void AskRest();

  Graph& graph_;
  OnePath bucket_;
  PostingCosts lists_;
  ForwardScan scan_;
  uint32_t least_ = 0;               // the least cost of the path
  bool listed_ = false;              // whether posting lists tell anything
  DocSet rest_;                      // documents that cost more than least_
  std::vector<DocSet> waiting_;      // verified documents not yet returned, by cost
  std::vector<DocSet> approximate_;  // documents not yet returned, by lower bound
};

}  // namespace gannet::search
