// Registers the functions of src/engine/native.ts.

#include "addon/calls.h"

namespace gannet::addon {
namespace {

// Exceptions, such as those when memory runs out, never leave native code.
Napi::Value Guarded(const NamedFunction& named, const Napi::CallbackInfo& info) {
  try {
    return named.function(info);
  } catch (const std::exception& error) {
    MakeError(info.Env(), Status::Internal(error.what())).ThrowAsJavaScriptException();
  }
  return info.Env().Undefined();
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new Environment{Channel::Create(env), {}, {}, {}});
  for (const auto functions :
       {SearchFunctions(), ListingFunctions(), BatchFunctions(), VerifyFunctions(),
        IndexFunctions(), ProcessFunctions(), RecordFunctions()}) {
    for (const NamedFunction& named : functions) {
      exports.Set(
          named.name,
          Napi::Function::New(
              env, [&named](const Napi::CallbackInfo& info) { return Guarded(named, info); },
              named.name));
    }
  }
  return exports;
}

}  // namespace
}  // namespace gannet::addon

static Napi::Object InitModule(Napi::Env env, Napi::Object exports) {
  return gannet::addon::Init(env, exports);
}
NODE_API_MODULE(gannet, InitModule)
