#include "addon/errors.h"

#include <string_view>

#include "base/utf8.h"

namespace gannet::addon {
namespace {

// A message may quote a request of many megabytes, and the server shows 8,192 UTF-16 units of its
// beginning and its end (src/contract/errors.ts). No unit takes more than three bytes.
constexpr size_t kMessageBeginBytes = 32 * 1024;
constexpr size_t kMessageEndBytes = 16 * 1024;

// Cut between characters.
std::string WithoutMiddle(std::string_view message) {
  if (message.size() <= kMessageBeginBytes + kMessageEndBytes) return std::string(message);
  const size_t begin = CharacterBegin(message, kMessageBeginBytes);
  const size_t end = CharacterBegin(message, message.size() - kMessageEndBytes);
  return std::string(message.substr(0, begin)).append(message.substr(end));
}

}  // namespace

std::string CodeOf(const Status& status) {
  if (!status.detail().empty()) return status.detail();
  switch (status.code()) {
    case StatusCode::kFull: return "no_space_left_on_device";
    case StatusCode::kIo: return "io_error";
    case StatusCode::kCancelled: return "canceled";
    case StatusCode::kCorruption: return "invalid_store_file";
    default: return "internal";
  }
}

Napi::Error MakeError(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, WithoutMiddle(status.message()));
  error.Value().Set("code", Napi::String::New(env, CodeOf(status)));
  if (const Location* location = status.location()) {
    auto at = Napi::Object::New(env);
    if (location->query)
      at.Set("query", Napi::Number::New(env, static_cast<double>(*location->query)));
    if (!location->path.empty()) at.Set("path", Napi::String::New(env, location->path));
    if (!location->index.empty()) at.Set("index", Napi::String::New(env, location->index));
    error.Value().Set("at", at);
  }
  return error;
}

}  // namespace gannet::addon
