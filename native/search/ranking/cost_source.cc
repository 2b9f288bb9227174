#include "search/ranking/cost_source.h"

#include <tuple>

namespace gannet::search {

void CostBucket::Add(CostBucket other) {
  if (empty()) {
    *this = std::move(other);
    return;
  }
  verified |= other.verified;
  approximate |= other.approximate;
  for (PathTaken& taken : other.paths) {
    const auto known = std::find_if(paths.begin(), paths.end(), [&](const PathTaken& mine) {
      return mine.number == taken.number && mine.path == taken.path;
    });
    if (known == paths.end()) {
      paths.push_back(std::move(taken));
    } else {
      known->first = std::min(known->first, taken.first);
    }
  }
}

std::vector<Path> CostBucket::TakePaths() {
  const auto order = [](const PathTaken& taken) { return std::tie(taken.number, taken.first); };
  std::sort(paths.begin(), paths.end(), [&](const PathTaken& a, const PathTaken& b) { return order(a) < order(b); });
  std::vector<Path> taken;
  for (PathTaken& entry : paths) taken.push_back(std::move(entry.path));
  return taken;
}

}  // namespace gannet::search
