// Reads everything of an index that nobody has open, and tells what is not as it should be.
//
// Nothing is written, not even a lock. Damaged pages of LMDB, which has no checksums, may end the
// process: callers that must survive it read in a process of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gannet::index {

struct IndexFault {
  std::string file;       // below the folder of the index
  std::string structure;  // a section of a segment, a table or key of index.mdb, ...
  std::string message;
};

struct IndexReport {
  std::vector<IndexFault> faults;
  std::vector<std::string> unused;  // files that no manifest names; swept when the index is opened
  std::string last_batch;           // JSON, as Snapshot has it; empty: none
  uint64_t documents = 0, segments = 0, words = 0, tokens = 0, bytes = 0;
};

// dir: of one index. Memory: 16 bytes per document and the largest dictionary.
IndexReport VerifyIndex(const std::string& dir);

}  // namespace gannet::index
