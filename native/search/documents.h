// Reading stored documents: one by its id, or many by filter, ids and sort (docs/behaviour/results.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/index.h"

namespace gannet::search {

// The document as JSON, or nullopt when the id is unknown.
Result<std::optional<std::string>> GetDocument(index::Index& index, std::string_view id,
                                               const std::optional<std::vector<std::string>>& fields,
                                               bool retrieve_vectors);

// request: JSON of the parameters of documents/fetch. The result is the response body.
Result<std::string> FetchDocuments(index::Index& index, std::string_view request);

// The documents of one snapshot in the order of their docids, whole, as lines of JSON. The index may change or close meanwhile.
class DocumentStream {
 public:
  // request: JSON of `filter` as in documents/fetch, null for all documents, and of `containsFilter` and `multimodal`.
  static Result<std::unique_ptr<DocumentStream>> Open(index::Index& index, std::string_view request);
  ~DocumentStream();

  // All documents, those read included.
  uint64_t total() const;
  // The next lines, of about so many bytes together, and at least one. Empty: there are no more. From one thread at a time.
  Result<std::string> Next(size_t bytes);
  // Begins anew.
  void Rewind();

 private:
  struct State;
  explicit DocumentStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gannet::search
