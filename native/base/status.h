// Outcome of anything that can fail for reasons outside the program.
//
// A Status is a code plus a sentence for people; Result<T> is a value or a Status. Our code throws
// no exceptions: library failures are turned into a Status in the one folder that includes the
// library.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gannet {

enum class StatusCode : unsigned char {
  kOk,
  kNotFound,
  kInvalidArgument,  // the user's input; `detail` may carry an API error code
  kCorruption,       // stored bytes fail their checksum or validation
  kIo,
  kFull,  // no space left on the device, or the map is full
  kLimit,
  kCancelled,
  kInternal,
};

// Which part of a request a failure is about. Who shows the failure puts it before the message.
struct Location {
  std::optional<size_t> query;  // position of one of several queries
  std::string path;             // another part, such as "federation.distinct"; empty: none
  std::string index;            // uid; empty: none
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, std::string detail = {})
      : code_(code), message_(std::move(message)), detail_(std::move(detail)) {}

  static Status Ok() { return {}; }
  static Status NotFound(std::string message) {
    return {StatusCode::kNotFound, std::move(message)};
  }
  // detail: the API error code that describes the fault, such as "invalid_search_filter".
  static Status Invalid(std::string message, std::string detail = {}) {
    return {StatusCode::kInvalidArgument, std::move(message), std::move(detail)};
  }
  static Status Corruption(std::string message) {
    return {StatusCode::kCorruption, std::move(message)};
  }
  static Status Io(std::string message) { return {StatusCode::kIo, std::move(message)}; }
  static Status Full(std::string message) { return {StatusCode::kFull, std::move(message)}; }
  static Status Limit(std::string message) { return {StatusCode::kLimit, std::move(message)}; }
  static Status Cancelled(std::string message) {
    return {StatusCode::kCancelled, std::move(message)};
  }
  static Status Internal(std::string message) {
    return {StatusCode::kInternal, std::move(message)};
  }

  // The same failure, with its location.
  Status At(Location location) const {
    Status located = *this;
    located.location_ = std::make_shared<const Location>(std::move(location));
    return located;
  }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& detail() const { return detail_; }
  const Location* location() const { return location_.get(); }  // null: none is known

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string detail_;
  std::shared_ptr<const Location> location_;
};

// A value of type T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // REQUIRES: ok()
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Leaves the calling function with the status of `expression` when it failed.
#define GANNET_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                            \
    if (::gannet::Status status_macro_ = (expression); !status_macro_.ok()) return status_macro_; \
  } while (false)

#define GANNET_CONCAT_INNER(a, b) a##b
#define GANNET_CONCAT(a, b) GANNET_CONCAT_INNER(a, b)
// Declares `lhs` from the value of the Result `expression`, or leaves with its status.
#define GANNET_ASSIGN_OR_RETURN(lhs, expression) \
  GANNET_ASSIGN_OR_RETURN_INNER(GANNET_CONCAT(result_macro_, __LINE__), lhs, expression)
#define GANNET_ASSIGN_OR_RETURN_INNER(result, lhs, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return result.status();                    \
  lhs = std::move(*result)

}  // namespace gannet
