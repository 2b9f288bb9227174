// Reading stored documents: one by its id, or many by filter, ids and sort
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

// A listing of documents, written part by part and all from the state that the index had when it
// was opened: what it holds of the index does not grow with what is written, nor does it keep the
// index from being closed.
// One thread at a time.
class Listing {
 public:
  class Writer;

  // request: JSON of the parameters of documents/fetch.
  static Result<std::unique_ptr<Listing>> Open(index::Index& index, std::string_view request);
  ~Listing();
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  // Appends the next part of the response body, of `bytes` and what the last document goes beyond.
  // True: the last part.
  Result<bool> Next(uint64_t bytes, std::string& out);

 private:
  Listing(std::shared_ptr<const index::Snapshot> snapshot, std::vector<DocId> page,
          const json::Value& request);

  const std::shared_ptr<const index::Snapshot> snapshot_;
  const std::vector<DocId> page_;
  const std::unique_ptr<Writer> writer_;
  size_t at_ = 0;  // in page_: the next document
  std::string tail_;
};

// The documents of one snapshot in the order of their docids, whole, as lines of JSON. The index
// may change or close meanwhile.
class DocumentStream {
 public:
  // request: JSON of `filter` as in documents/fetch, null for all documents, and of
  // `containsFilter`, `multimodal` and `foreignKeys`.
  static Result<std::unique_ptr<DocumentStream>> Open(index::Index& index,
                                                      std::string_view request);
  ~DocumentStream();

  // All documents, those read included.
  uint64_t total() const;
  // The next lines, of about so many bytes together, and at least one. Empty: there are no more.
  // From one thread at a time.
  Result<std::string> Next(size_t bytes);
  // Begins anew.
  void Rewind();

 private:
  struct State;
  explicit DocumentStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gannet::search
