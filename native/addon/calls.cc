#include "addon/calls.h"

#include <cstring>

namespace gannet::addon {

static constexpr size_t kCopiedBytesMax = 64 << 10;  // also in src/base/buffer-pool.ts

std::shared_ptr<Channel> ChannelOf(Napi::Env env) {
  return env.GetInstanceData<Environment>()->channel;
}

Napi::Value ToBuffer(Napi::Env env, std::string& bytes) {
  if (bytes.size() <= kCopiedBytesMax)
    return Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size());
  auto* held = new std::string(std::move(bytes));
  return Napi::Buffer<char>::New(
      env, held->data(), held->size(), [](Napi::Env, char*, std::string* s) { delete s; }, held);
}

Napi::Value ToPooledBuffer(Napi::Env env, std::string& bytes) {
  const Napi::FunctionReference& take = env.GetInstanceData<Environment>()->take_buffer;
  if (take.IsEmpty() || bytes.size() > kCopiedBytesMax) return ToBuffer(env, bytes);
  const Napi::Value taken = take.Call({Napi::Number::New(env, static_cast<double>(bytes.size()))});
  if (env.IsExceptionPending()) {
    env.GetAndClearPendingException();  // memory has run out
    return ToBuffer(env, bytes);
  }
  const auto buffer = taken.As<Napi::Buffer<char>>();
  if (!buffer.IsBuffer() || buffer.Length() != bytes.size()) return ToBuffer(env, bytes);
  std::memcpy(buffer.Data(), bytes.data(), bytes.size());
  return buffer;
}

Napi::Value ToString(Napi::Env env, std::string& text) { return Napi::String::New(env, text); }

std::shared_ptr<OpenIndex> IndexOf(const Napi::CallbackInfo& info) {
  auto open = info.Length() > 0 && info[0].IsNumber()
                  ? Engine::Instance().Find(info[0].As<Napi::Number>().Uint32Value())
                  : nullptr;
  if (!open)
    MakeError(info.Env(), Status::Internal("the index is not open")).ThrowAsJavaScriptException();
  return open;
}

std::string StringAt(const Napi::CallbackInfo& info, size_t at) {
  return info.Length() > at && info[at].IsString() ? info[at].As<Napi::String>().Utf8Value()
                                                   : std::string();
}

std::string TextAt(const Napi::CallbackInfo& info, size_t at) {
  if (info.Length() <= at || !info[at].IsBuffer()) return StringAt(info, at);
  const auto bytes = info[at].As<Napi::Buffer<char>>();
  return std::string(bytes.Data(), bytes.Length());
}

CancelFlag CancelFlagAt(const Napi::CallbackInfo& info, size_t at) {
  if (info.Length() <= at || !info[at].IsNumber()) return nullptr;
  const uint32_t cancellation_id = info[at].As<Napi::Number>().Uint32Value();
  if (cancellation_id == 0) return nullptr;
  auto& flags = info.Env().GetInstanceData<Environment>()->cancel_flags;
  std::erase_if(flags, [](const auto& entry) { return entry.second.expired(); });
  auto flag = std::make_shared<std::atomic<bool>>(false);
  flags[cancellation_id] = flag;
  return flag;
}

StopConditions ConditionsOf(const std::atomic<bool>* cancelled) {
  StopConditions conditions;
  conditions.cancelled = cancelled;
  return conditions;
}

StopConditions ListingConditions(const CancelFlag& cancelled, bool limited) {
  StopConditions conditions = ConditionsOf(cancelled.get());
  if (limited) conditions.end = StopConditions::Clock::now() + kRequestTimeMax;
  return conditions;
}

}  // namespace gannet::addon
