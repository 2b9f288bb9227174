// Documents of other indexes that hits refer to (docs/behaviour/foreign-keys.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json_value.h"

namespace gannet::search {

// The field of an index whose values are ids of documents of another index.
struct ForeignKey {
  static std::vector<ForeignKey> ListFromJson(const json::Value& list);

  std::string uid;   // of the other index
  std::string path;  // of the field
};

// Calls found(value, id) for each id at the path of a hit, and of its `_formatted`. Dots lead into
// objects, lists are searched. Texts and integers are ids.
// value  slice of the hit
void ForEachForeignId(std::string_view hit, std::string_view path,
                      const std::function<void(std::string_view value, std::string id)>& found);

// The ids that the hits of a request refer to, by index, each once. An index without ids is one
// that hits could refer to.
class ForeignIds {
 public:
  // More of one index are too many for a page (docs/limits/); they are not collected.
  static constexpr size_t kMax = 10'000;

  // The number of an index, from 0.
  uint32_t Index(const std::string& uid);
  // The number of an id. nullopt: there are too many.
  std::optional<uint32_t> Add(uint32_t index, std::string id);
  const std::string& Id(uint32_t index, uint32_t number) const {
    return *indexes_[index].ids[number];
  }

  // Appends `[{"uid":...,"ids":[...]},...]`; an index of which there are too many ids has
  // `"tooMany":true`.
  void Append(std::string& out) const;

 private:
  struct Of {
    std::string uid;
    std::unordered_map<std::string, uint32_t> numbers;
    std::vector<const std::string*> ids;  // by number
    bool too_many = false;
  };

  std::deque<Of> indexes_;  // in the order in which they were found; few
};

// The documents of a listing of another index, by id.
class ForeignDocuments {
 public:
  // listing      JSON of a response to documents/fetch
  // primary_key  its member in each document, which is removed if `hides_key`
  // keep         keeps the bytes of the listing
  ForeignDocuments(std::string_view listing, std::string_view primary_key, bool hides_key,
                   std::shared_ptr<void> keep);

  // {}: there is none
  std::string_view Find(const std::string& id) const;

 private:
  std::unordered_map<std::string, std::string_view> by_id_;
  std::deque<std::string> written_;  // documents without their key
  std::shared_ptr<void> keep_;
};

}  // namespace gannet::search
