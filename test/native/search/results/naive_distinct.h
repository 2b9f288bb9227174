// A reference model: which documents share a value.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "index/naive_index.h"

namespace gannet::search {

using NaiveKeys = std::set<std::pair<double, std::string>>;

// Values that no two documents may share; numbers and strings are never equal.
inline NaiveKeys NaiveKeysOf(const NaiveDocument& document, const std::string& field) {
  NaiveKeys keys;
  for (const double number : document.Of(field).numbers) keys.emplace(number, "");
  for (const std::string& string : document.Of(field).strings) keys.emplace(0, "s" + string);
  return keys;
}

inline bool NaiveShare(const NaiveKeys& a, const NaiveKeys& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& key) { return b.contains(key); });
}

}  // namespace gannet::search
