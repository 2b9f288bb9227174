#include "addon/errors.h"

namespace gannet::addon {

std::string CodeOf(const Status& status) {
  if (!status.detail().empty()) return status.detail();
  switch (status.code()) {
    case StatusCode::kFull: return "no_space_left_on_device";
    case StatusCode::kIo: return "io_error";
    case StatusCode::kCancelled: return "canceled";
    default: return "internal";
  }
}

Napi::Error MakeError(Napi::Env env, const Status& status) {
  Napi::Error error = Napi::Error::New(env, status.message());
  error.Value().Set("code", Napi::String::New(env, CodeOf(status)));
  return error;
}

}  // namespace gannet::addon
