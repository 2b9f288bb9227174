// Converting a Status to what JavaScript sees: an Error with a `code` of the error catalogue, and
// the location `at` in the form of ErrorLocation of src/contract/errors.ts.
#pragma once

#include <napi.h>

#include <string>

#include "base/status.h"

namespace gannet::addon {

// Code of the API's error catalogue for a status that is not ok.
std::string CodeOf(const Status& status);
Napi::Error MakeError(Napi::Env env, const Status& status);

}  // namespace gannet::addon
