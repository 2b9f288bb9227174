// What the parts of a job share: the index before it, and the commit that they add to.
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

  // What all builders may hold.
  uint64_t SegmentBytesMax() const {
    return std::min(options.memory_bytes / kBuilderShare, kSegmentMemoryMax);
  }
  // A number for a file that is removed unless the commit has it.
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
  index::NewFiles files;  // until the commit has them
  DocSet written;         // docids of the added segments

 private:
  // All builders together. More leaves fewer segments behind a load, for searches and merges, and
  // takes that much more private memory (docs/performance.md).
  static constexpr uint64_t kSegmentMemoryMax = uint64_t{128} << 20;
  // Of the memory of a job the builders have this share at most; the rest is for what the batch
  // does to which document, and for writing a segment.
  static constexpr uint64_t kBuilderShare = 2;
};

}  // namespace gannet::indexing
