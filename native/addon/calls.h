// Shared by the functions of the addon: reading arguments, running work on a pool, and returning
// results through promises.
#pragma once

#include <napi.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "addon/channel.h"
#include "addon/errors.h"
#include "addon/indexes.h"
#include "base/stop_point.h"
#include "search/caller.h"

namespace gannet::addon {

struct NamedFunction {
  const char* name;
  Napi::Value (*function)(const Napi::CallbackInfo&);
};

// The functions of src/engine/native.ts, by the file that defines them.
std::span<const NamedFunction> SearchFunctions();
std::span<const NamedFunction> ListingFunctions();
std::span<const NamedFunction> BatchFunctions();
std::span<const NamedFunction> VerifyFunctions();
std::span<const NamedFunction> IndexFunctions();
std::span<const NamedFunction> ProcessFunctions();
std::span<const NamedFunction> RecordFunctions();

struct Environment {
  std::shared_ptr<Channel> channel;
  Napi::FunctionReference take_buffer;    // `takeBuffer` of EngineOptions; empty: none
  Napi::FunctionReference make_response;  // empty: not made yet
  std::unordered_map<uint32_t, std::weak_ptr<std::atomic<bool>>>
      cancel_flags;  // flags of the searches in progress, by cancellation id
};

std::shared_ptr<Channel> ChannelOf(Napi::Env env);

// Runs `work` on a pool; the promise settles with `convert` of its result.
template <typename T, typename Work, typename Convert>
Napi::Value Async(Napi::Env env, ThreadPool& pool, Work work, Convert convert) {
  napi_deferred deferred;
  napi_value promise;
  napi_create_promise(env, &deferred, &promise);
  auto channel = ChannelOf(env);
  channel->Expect(env);
  pool.Run([channel, deferred, work = std::move(work), convert = std::move(convert)]() mutable {
    // Allocated before the work, so that nothing can fail between its end and its result.
    auto result = std::make_shared<Result<T>>(Status::Internal("unknown failure in native code"));
    try {
      *result = work();
    } catch (const std::exception& error) {
      *result = Status::Internal(error.what());
    } catch (...) {
    }
    channel->Complete([deferred, result, convert = std::move(convert)](napi_env raw) {
      const Napi::Env env(raw);
      if (result->ok()) {
        napi_resolve_deferred(raw, deferred, convert(env, **result));
      } else {
        napi_reject_deferred(raw, deferred, MakeError(env, result->status()).Value());
      }
    });
  });
  return Napi::Value(env, promise);
}

// The same for work that returns only a status; the promise resolves to undefined.
template <typename Work>
Napi::Value AsyncStatus(Napi::Env env, ThreadPool& pool, Work work) {
  return Async<bool>(
      env, pool,
      [work = std::move(work)]() -> Result<bool> {
        GANNET_RETURN_IF_ERROR(work());
        return true;
      },
      [](Napi::Env env, bool&) { return env.Undefined(); });
}

// Wraps a value that lives as long as JavaScript holds the wrapper.
template <typename T>
Napi::External<T> Hold(Napi::Env env, T value) {
  return Napi::External<T>::New(env, new T(std::move(value)),
                                [](Napi::Env, T* held) { delete held; });
}

// Small strings are copied, which costs less than the finalizer of a buffer that takes over the
// string.
Napi::Value ToBuffer(Napi::Env env, std::string& bytes);

// The same, in a buffer that is reused once the response has been sent, if one is available.
Napi::Value ToPooledBuffer(Napi::Env env, std::string& bytes);

Napi::Value ToString(Napi::Env env, std::string& text);

// The open index named by the first argument; throws and returns null if there is none.
std::shared_ptr<OpenIndex> IndexOf(const Napi::CallbackInfo& info);

std::string StringAt(const Napi::CallbackInfo& info, size_t at);

// The text of a request: a string, or a buffer of UTF-8.
std::string TextAt(const Napi::CallbackInfo& info, size_t at);

// The flag of a cancellation id, which `cancelSearch` sets. Null if the id is 0 or absent.
CancelFlag CancelFlagAt(const Napi::CallbackInfo& info, size_t at);

// The conditions that stop the work of a request. `cancelled`: null, or set once nobody waits any
// more.
StopConditions ConditionsOf(const std::atomic<bool>* cancelled);

// The same for work that has no time limit of its own: a part of a listing, a check of a filter.
// `limited`: it stops after kRequestTimeMax; otherwise it runs as long as somebody waits.
StopConditions ListingConditions(const CancelFlag& cancelled, bool limited);

// How long a search may take after its own limit (`searchCutoffMs`), for facets and hits, and how
// long each part of a listing may take. The largest responses take some seconds.
constexpr auto kRequestTimeMax = std::chrono::seconds(10);

}  // namespace gannet::addon
