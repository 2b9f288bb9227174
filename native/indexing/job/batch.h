// The state that the parts of a job share: the index before it, and the commit that they add to.
#pragma once

#include <algorithm>
#include <memory>

#include "bitmap/docset.h"
#include "index/index.h"
#include "indexing/job.h"

namespace gannet::indexing {

struct Batch {
  Batch(index::Index& index, const JobOptions& options, Progress& progress)
      : index(index),
        options(options),
        progress(progress),
        before(index.snapshot()),
        files(index) {}

  // Memory limit of all builders together.
  uint64_t BuilderMemoryMax() const {
    return std::min(options.memory_bytes / kBuilderShare, kSegmentMemoryMax);
  }
  // A number for a new file, which is removed unless the commit takes it over.
  uint64_t NewFile() {
    const uint64_t number = index.NextNumber();
    files.Add(number);
    return number;
  }

  index::Index& index;
  const JobOptions& options;
  Progress& progress;
  const std::shared_ptr<const index::Snapshot> before;
  index::Commit commit;
  index::NewFiles files;  // owned until the commit takes them over
  DocSet written;         // docids of the added segments

 private:
  // Limit for all builders together. More would leave fewer segments after a load, for searches and
  // merges, and take that much more private memory (docs/performance.md).
  static constexpr uint64_t kSegmentMemoryMax = uint64_t{128} << 20;
  // The builders use at most 1 / kBuilderShare of the memory of a job. The rest is for the
  // operations of the batch, and for writing a segment.
  static constexpr uint64_t kBuilderShare = 2;
};

}  // namespace gannet::indexing
