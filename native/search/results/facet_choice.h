// Which attributes divide the hits, for `facets: "auto"` (docs/behaviour/facets.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "index/snapshot.h"
#include "search/results/facet_counter.h"
#include "search/results/projection.h"

namespace gannet::search {

// At most this many are chosen.
inline constexpr size_t kChosenFacetsMax = 10;

// The filterable attributes that may be chosen: displayed ones, but not points and the primary key.
class ChoosableFacets {
 public:
  explicit ChoosableFacets(const index::Snapshot& snapshot);
  bool Contains(std::string_view name) const;

 private:
  const index::Snapshot& snapshot_;
  Projection displayed_;
};

// One counted attribute.
struct FacetToChoose {
  std::string_view name;
  bool named = false;  // the request names it, so it is chosen in any case
};

// The numbers of the chosen attributes: those that most candidates have come first, of equal ones
// those with fewer values, then by name.
// counters    of the attributes, for all values
// candidates  their number
std::vector<size_t> ChooseFacets(std::span<const FacetToChoose> facets,
                                 std::span<FieldCounter> counters, uint64_t candidates);

}  // namespace gannet::search
