// CheckedDocSet: a DocSet and its reference model, a std::set, with one interface. Every change is
// made to both and then compared, so that any test can check both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <vector>

#include "bitmap/docset.h"

namespace gannet {

class CheckedDocSet {
 public:
  CheckedDocSet() = default;

  const DocSet& set() const { return set_; }
  const std::set<DocId>& reference() const { return reference_; }

  void Add(DocId docid) {
    set_.Add(docid);
    reference_.insert(docid);
  }
  void AddMany(std::span<const DocId> docids) {
    set_.AddMany(docids);
    reference_.insert(docids.begin(), docids.end());
  }
  void AddRange(uint32_t begin, uint32_t end) {
    set_.AddRange(begin, end);
    for (DocId docid = begin; docid < end; ++docid) reference_.insert(docid);
  }
  void Remove(DocId docid) {
    set_.Remove(docid);
    reference_.erase(docid);
  }
  void Optimize() { set_.Optimize(); }

  CheckedDocSet& operator|=(const CheckedDocSet& other) {
    set_ |= other.set_;
    if (this != &other) reference_.insert(other.reference_.begin(), other.reference_.end());
    return *this;
  }
  CheckedDocSet& operator&=(const CheckedDocSet& other) {
    set_ &= other.set_;
    std::set<uint32_t> both;
    std::set_intersection(reference_.begin(), reference_.end(), other.reference_.begin(),
                          other.reference_.end(), std::inserter(both, both.end()));
    reference_ = std::move(both);
    return *this;
  }
  CheckedDocSet& operator-=(const CheckedDocSet& other) {
    set_ -= other.set_;
    std::set<uint32_t> rest;
    std::set_difference(reference_.begin(), reference_.end(), other.reference_.begin(),
                        other.reference_.end(), std::inserter(rest, rest.end()));
    reference_ = std::move(rest);
    return *this;
  }

  // Compares every way of reading the set with the reference model.
  void Check() const {
    const std::vector<uint32_t> expected(reference_.begin(), reference_.end());
    CheckEqual(set_, expected);
  }

  static void CheckEqual(const DocSet& set, const std::vector<uint32_t>& expected) {
    std::vector<uint32_t> actual;
    set.ToVector(actual);
    ASSERT_EQ(actual, expected);
    ASSERT_EQ(set.size(), expected.size());
    ASSERT_EQ(set.empty(), expected.empty());
    std::vector<DocId> visited;
    set.ForEach([&](DocId docid) { visited.push_back(docid); });
    ASSERT_EQ(visited, expected);
    if (expected.empty()) return;
    ASSERT_EQ(set.min(), expected.front());
    ASSERT_EQ(set.max(), expected.back());
    for (size_t rank = 0; rank < expected.size(); rank += 1 + expected.size() / 50) {
      ASSERT_EQ(set.Select(static_cast<uint32_t>(rank)), expected[rank]);
      ASSERT_EQ(set.Rank(expected[rank]), rank);
      ASSERT_TRUE(set.Contains(expected[rank]));
    }
  }

 private:
  DocSet set_;
  std::set<DocId> reference_;
};

}  // namespace gannet
