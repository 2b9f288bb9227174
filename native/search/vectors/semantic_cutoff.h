// The score from which hits count that only vectors find (docs/behaviour/vectors.md, cut-off).
#pragma once

#include <optional>

#include "index/snapshot.h"

namespace gannet::search {

// What the setting `semanticCutoff` means for an embedder; nullopt: all hits count. `auto` is
// measured once per snapshot, from the similarities of the pairs of at most 128 documents.
std::optional<double> SemanticCutoff(const index::Snapshot& snapshot,
                                     const index::EmbedderSettings& embedder);

}  // namespace gannet::search
