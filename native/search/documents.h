// Reading stored documents: one by its id, or several by filter, ids and sort
// (docs/behaviour/results.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/json_value.h"
#include "index/index.h"
#include "search/caller.h"

namespace gannet::search {

// The document as JSON, or nullopt when the id is unknown.
Result<std::optional<std::string>> GetDocument(
    index::Index& index, std::string_view id, const std::optional<std::vector<std::string>>& fields,
    bool retrieve_vectors);

// Lists documents in parts, all from the state that the index had when the listing was opened.
// Memory does not grow with the number of parts written, and an open listing does not keep the
// index from being closed. Use it from one thread at a time.
class Listing {
 public:
  class Writer;

  // request: JSON of the parameters of documents/fetch.
  static Result<std::unique_ptr<Listing>> Open(index::Index& index, std::string_view request);
  ~Listing();
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  // Appends the next part of the response body: at least `bytes` bytes, ending after a whole
  // document, unless it is the last part. Returns true for the last part.
  Result<bool> Next(uint64_t bytes, std::string& out);

 private:
  Listing(std::shared_ptr<const index::Snapshot> snapshot, std::vector<DocId> page,
          const json::Value& request);

  const std::shared_ptr<const index::Snapshot> snapshot_;
  const std::vector<DocId> page_;
  const std::unique_ptr<Writer> writer_;
  size_t at_ = 0;  // index in page_ of the next document
  std::string tail_;
};

// Streams whole documents of one snapshot as lines of JSON, in the order of their docids. The index
// may change or be closed meanwhile.
class DocumentStream {
 public:
  // request: JSON with `filter` as in documents/fetch (null for all documents), `containsFilter`,
  // `multimodal` and `foreignKeys`.
  static Result<std::unique_ptr<DocumentStream>> Open(index::Index& index,
                                                      std::string_view request);
  ~DocumentStream();

  // The number of documents in the stream, including those already read.
  uint64_t total() const;
  // The next lines, about `bytes` bytes in total but at least one line. Empty at the end. Call it
  // from one thread at a time.
  Result<std::string> Next(size_t bytes);
  // Starts again at the first document.
  void Rewind();

 private:
  struct State;
  explicit DocumentStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gannet::search
