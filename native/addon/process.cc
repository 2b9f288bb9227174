// The functions for the engine and the process.
#include <algorithm>
#include <chrono>
#include <string>

#include "addon/calls.h"
#include "addon/stop_watch.h"
#include "base/crash_mark.h"
#include "base/file_lock.h"
#include "base/process_limits.h"
#include "base/scheduling.h"

namespace gannet::addon {
namespace {

// An absent member has its default.
Tuning TuningOf(const Napi::Object& object) {
  Tuning tuning;
  const std::pair<const char*, uint64_t*> numbers[] = {
      {"largeBucketMin", &tuning.large_bucket_min},
      {"cachedWordsMin", &tuning.cached_words_min},
      {"cachedPositionWordsMin", &tuning.cached_position_words_min},
      {"frequentDocumentsMin", &tuning.frequent_documents_min},
      {"prefixUnionWordsMin", &tuning.prefix_union_words_min},
      {"storedRestMin", &tuning.stored_rest_min},
      {"scannedCandidatesMax", &tuning.scanned_candidates_max},
      {"signedRowsMin", &tuning.signed_rows_min},
  };
  for (const auto& [name, number] : numbers) {
    if (const Napi::Value given = object.Get(name); given.IsNumber())
      *number = static_cast<uint64_t>(given.ToNumber().DoubleValue());
  }
  if (const Napi::Value given = object.Get("cpuMax"); given.IsString()) {
    const std::string level = given.ToString().Utf8Value();
    tuning.cpu_max = level == "portable" ? CpuLevel::kPortable
                     : level == "avx2"   ? CpuLevel::kAvx2
                                         : CpuLevel::kAvx512;
  }
  return tuning;
}

Napi::Value Configure(const Napi::CallbackInfo& info) {
  const auto object = info[0].As<Napi::Object>();
  const auto number = [&](const char* name) { return object.Get(name).ToNumber().DoubleValue(); };
  EngineOptions options;
  options.search_threads = std::max(1u, static_cast<uint32_t>(number("searchThreads")));
  options.indexing_threads = std::max(1u, static_cast<uint32_t>(number("indexingThreads")));
  options.indexing_memory_bytes = static_cast<uint64_t>(number("indexingMemoryBytes"));
  if (const Napi::Value tuning = object.Get("tuning"); tuning.IsObject())
    options.tuning = TuningOf(tuning.As<Napi::Object>());
  Engine::Instance().Configure(options);
  const Napi::Value take_buffer = object.Get("takeBuffer");
  if (take_buffer.IsFunction()) {
    info.Env().GetInstanceData<Environment>()->take_buffer =
        Napi::Persistent(take_buffer.As<Napi::Function>());
  }
  SetTimeSlice(kMainTimeSlice);
  return info.Env().Undefined();
}

Napi::Value WatchStopsOf(const Napi::CallbackInfo& info) {
  const auto milliseconds = static_cast<int64_t>(info[0].ToNumber().DoubleValue());
  const Status status = WatchStops(std::chrono::milliseconds(milliseconds), StringAt(info, 1));
  if (!status.ok()) MakeError(info.Env(), status).ThrowAsJavaScriptException();
  return info.Env().Undefined();
}

Napi::Value LimitProcessOf(const Napi::CallbackInfo& info) {
  const auto process = static_cast<pid_t>(info[0].ToNumber().Int32Value());
  const auto bytes = static_cast<uint64_t>(info[1].ToNumber().Int64Value());
  return Napi::Boolean::New(info.Env(), LimitProcess(process, bytes));
}

Napi::Value MarkCrashesIn(const Napi::CallbackInfo& info) {
  MarkCrashes(info[0].ToNumber().Int32Value());
  return info.Env().Undefined();
}

Napi::Value LockFileAt(const Napi::CallbackInfo& info) {
  const std::string name = StringAt(info, 1);
  const LockKind kind = name == "holder" ? LockKind::kHolder
                        : name == "data" ? LockKind::kData
                                         : LockKind::kReader;
  const auto lock = LockFile(StringAt(info, 0), kind);
  if (lock.ok()) return Napi::Number::New(info.Env(), *lock);
  if (lock.status().code() == StatusCode::kLimit)
    return Napi::String::New(info.Env(), lock.status().message());
  MakeError(info.Env(), lock.status()).ThrowAsJavaScriptException();
  return info.Env().Undefined();
}

constexpr NamedFunction kProcessFunctions[] = {
    {"configure", Configure}, {"watchStops", WatchStopsOf},   {"limitProcess", LimitProcessOf},
    {"lockFile", LockFileAt}, {"markCrashes", MarkCrashesIn},
};

}  // namespace

std::span<const NamedFunction> ProcessFunctions() { return kProcessFunctions; }

}  // namespace gannet::addon
