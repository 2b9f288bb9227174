// Finds the documents of a JSON or NDJSON payload without parsing their content.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "indexing/parse.h"

namespace gannet::indexing {

struct ObjectScan {
  const char* end = nullptr;  // after the closing brace; null: the object is not closed
  bool too_deep = false;
  bool escapes = false;       // contains a backslash
  bool long_integer = false;  // contains at least 19 digits in a row outside of strings
};

// Walks the documents of a payload.
class PayloadScanner {
 public:
  PayloadScanner(std::string_view bytes, PayloadFormat format);

  struct Document {
    std::string_view text;
    ObjectScan scan;
  };

  // The next document; nullopt at the end.
  Result<std::optional<Document>> Next();

  // The fault inside `text`, a part of the payload that starts where a document does.
  Status FaultInside(std::string_view text) const;

  // Whether simdjson may read past the end of `text` without leaving the payload.
  bool Padded(std::string_view text) const {
    return static_cast<size_t>(end_ - (text.data() + text.size())) >= kDocumentPadding;
  }

 private:
  enum class State : uint8_t { kStart, kSingle, kInArray, kSequence };

  // Returns no document; a fault if anything follows the array.
  Result<std::optional<Document>> EndOfArray();
  void SkipSpace();
  std::string_view Rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  Status FaultHere(std::string_view reason) const;

  PayloadFormat format_;
  State state_ = State::kStart;
  std::string_view payload_;
  const char* at_;
  const char* end_;
};

}  // namespace gannet::indexing
