// CheckedDocSet: a DocSet and its naive twin, a std::set, behind one interface. Every change is
// made to both and then compared, so that any test may run doubled.
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
  const std::set<uint32_t>& twin() const { return twin_; }

  void Add(uint32_t docid) {
    set_.Add(docid);
    twin_.insert(docid);
  }
  void AddMany(std::span<const uint32_t> docids) {
    set_.AddMany(docids);
    twin_.insert(docids.begin(), docids.end());
  }
  void AddRange(uint32_t begin, uint32_t end) {
    set_.AddRange(begin, end);
    for (uint32_t docid = begin; docid < end; ++docid) twin_.insert(docid);
  }
  void Remove(uint32_t docid) {
    set_.Remove(docid);
    twin_.erase(docid);
  }
  void Optimize() { set_.Optimize(); }

  CheckedDocSet& operator|=(const CheckedDocSet& other) {
    set_ |= other.set_;
    if (this != &other) twin_.insert(other.twin_.begin(), other.twin_.end());
    return *this;
  }
  CheckedDocSet& operator&=(const CheckedDocSet& other) {
    set_ &= other.set_;
    std::set<uint32_t> both;
    std::set_intersection(twin_.begin(), twin_.end(), other.twin_.begin(), other.twin_.end(),
                          std::inserter(both, both.end()));
    twin_ = std::move(both);
    return *this;
  }
  CheckedDocSet& operator-=(const CheckedDocSet& other) {
    set_ -= other.set_;
    std::set<uint32_t> rest;
    std::set_difference(twin_.begin(), twin_.end(), other.twin_.begin(), other.twin_.end(),
                        std::inserter(rest, rest.end()));
    twin_ = std::move(rest);
    return *this;
  }

  // Compares every way of reading the set with the twin.
  void Check() const {
    const std::vector<uint32_t> expected(twin_.begin(), twin_.end());
    CheckEqual(set_, expected);
  }

  static void CheckEqual(const DocSet& set, const std::vector<uint32_t>& expected) {
    std::vector<uint32_t> actual;
    set.ToVector(actual);
    ASSERT_EQ(actual, expected);
    ASSERT_EQ(set.size(), expected.size());
    ASSERT_EQ(set.empty(), expected.empty());
    std::vector<uint32_t> visited;
    set.ForEach([&](uint32_t docid) { visited.push_back(docid); });
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
  std::set<uint32_t> twin_;
};

}  // namespace gannet
