// Reads everything in an index that no process has open, and reports what is wrong.
//
// Writes nothing, not even a lock. LMDB has no checksums, and its damaged pages may crash the
// process: a caller that must survive runs this in a process of its own.
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
  std::string last_batch;           // JSON, as in Snapshot; empty: none
  uint64_t documents = 0, segments = 0, words = 0, tokens = 0, bytes = 0;
};

// dir: folder of one index. Memory: 16 bytes per document and the largest dictionary.
IndexReport VerifyIndex(const std::string& dir);

}  // namespace gannet::index
