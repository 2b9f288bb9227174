// The functions of src/engine/native.ts. Thin: arguments are checked, work goes to a pool, bytes
// come back.

#include <napi.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "addon/channel.h"
#include "addon/errors.h"
#include "addon/indexes.h"
#include "addon/stop_watch.h"
#include "base/crash_mark.h"
#include "base/file_lock.h"
#include "base/json.h"
#include "base/process_limits.h"
#include "base/scheduling.h"
#include "filter/parser.h"
#include "index/evaluate_filter.h"
#include "index/verify.h"
#include "indexing/job.h"
#include "indexing/operations.h"
#include "indexing/parse.h"
#include "search/documents.h"
#include "search/execute.h"
#include "search/federate.h"
#include "search/federation/merge_responses.h"
#include "search/federation/server_facets.h"
#include "search/similar.h"
#include "store/page_check.h"
#include "store/sealed_value.h"

namespace gannet::addon {
namespace {

constexpr size_t kCopiedBytesMax = 64 << 10;  // also in src/base/buffer-pool.ts

struct Environment {
  std::shared_ptr<Channel> channel;
  Napi::FunctionReference take_buffer;  // of EngineOptions; empty: none
  Napi::FunctionReference make_answer;  // empty: not made yet
  std::unordered_map<uint32_t, std::weak_ptr<std::atomic<bool>>>
      gone_flags;  // of the searches under way, by ticket
};

std::shared_ptr<Channel> ChannelOf(Napi::Env env) {
  return env.GetInstanceData<Environment>()->channel;
}

// Runs `work` on a pool; the promise it returns settles with what `convert` makes of the result.
template <typename T, typename Work, typename Convert>
Napi::Value Async(Napi::Env env, ThreadPool& pool, Work work, Convert convert) {
  napi_deferred deferred;
  napi_value promise;
  napi_create_promise(env, &deferred, &promise);
  auto channel = ChannelOf(env);
  channel->Expect(env);
  pool.Run([channel, deferred, work = std::move(work), convert = std::move(convert)]() mutable {
    // Made before the work, so that nothing can fail between its end and its answer.
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

// The same for work that gives nothing but a status; the promise settles with undefined.
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

// What keeps a value as long as JavaScript holds it.
template <typename T>
Napi::External<T> Hold(Napi::Env env, T value) {
  return Napi::External<T>::New(env, new T(std::move(value)),
                                [](Napi::Env, T* held) { delete held; });
}

// Small ones are copied, which costs less than the finalizer of a buffer that takes the string
// over.
Napi::Value ToBuffer(Napi::Env env, std::string& bytes) {
  if (bytes.size() <= kCopiedBytesMax)
    return Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size());
  auto* held = new std::string(std::move(bytes));
  return Napi::Buffer<char>::New(
      env, held->data(), held->size(), [](Napi::Env, char*, std::string* s) { delete s; }, held);
}

// The same in memory that is used again once the answer has been sent, if there is such.
Napi::Value ToAnswer(Napi::Env env, std::string& bytes) {
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

// The open index of the first argument; throws and returns null when there is none.
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

// What is absent has its default.
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
  TakeTurns(kMainTurn);
  return info.Env().Undefined();
}

Napi::Value OpenIndexAt(const Napi::CallbackInfo& info) {
  const bool creates = info.Length() > 1 && info[1].ToBoolean().Value();
  auto handle = Engine::Instance().Open(
      StringAt(info, 0), creates ? index::IfAbsent::kCreate : index::IfAbsent::kRefuse);
  if (!handle.ok()) {
    MakeError(info.Env(), handle.status()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Napi::Number::New(info.Env(), *handle);
}

Napi::Value SweepIndex(const Napi::CallbackInfo& info) {
  if (const auto open = IndexOf(info)) open->index->Sweep();
  return info.Env().Undefined();
}

Napi::Value CloseIndex(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Engine::Instance().Configure({});
  napi_deferred deferred;
  napi_value promise;
  napi_create_promise(env, &deferred, &promise);
  const auto channel = ChannelOf(env);
  channel->Expect(env);
  const uint32_t handle = info[0].IsNumber() ? info[0].As<Napi::Number>().Uint32Value() : 0;
  Engine::Instance().Close(handle, [channel, deferred] {
    channel->Complete([deferred](napi_env raw) {
      napi_resolve_deferred(raw, deferred, Napi::Env(raw).Undefined());
    });
  });
  return Napi::Value(env, promise);
}

Napi::Value WatchStopsOf(const Napi::CallbackInfo& info) {
  const auto milliseconds = static_cast<int64_t>(info[0].ToNumber().DoubleValue());
  const Status status = WatchStops(std::chrono::milliseconds(milliseconds), StringAt(info, 1));
  if (!status.ok()) MakeError(info.Env(), status).ThrowAsJavaScriptException();
  return info.Env().Undefined();
}

Napi::Value IsMerging(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  return Napi::Boolean::New(info.Env(), open && open->merging());
}

Napi::Value TakeMergeFault(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  const Status fault = open ? open->merges.TakeFault() : Status::Ok();
  return fault.ok() ? info.Env().Null()
                    : Napi::Value(Napi::String::New(info.Env(), fault.message()));
}

// The names of all fields that the index knows, as a JSON list, in the order of their first
// appearance.
Napi::Value IndexFields(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  const auto snapshot = open->index->snapshot();
  std::string out = "[";
  for (size_t field = 0; field < snapshot->fields->size(); ++field) {
    if (field > 0) out += ',';
    AppendJsonString(out, snapshot->fields->name(static_cast<FieldId>(field)));
  }
  out += ']';
  return Napi::String::New(info.Env(), out);
}

Napi::Value IndexState(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  const auto snapshot = open->index->snapshot();
  const auto [disk, used] = open->index->DiskSizes();
  uint64_t row_bytes = 0;
  for (const auto& segment : snapshot->segments) {
    const uint64_t all = segment->documents->size();
    row_bytes += all == 0 ? 0 : segment->rows->bytes() * segment->live.size() / all;
  }
  std::string out = "{\"primaryKey\":";
  if (snapshot->has_primary_key) {
    AppendJsonString(out, snapshot->primary_key);
  } else {
    out += "null";
  }
  const bool with_settings = !info[1].IsBoolean() || info[1].As<Napi::Boolean>().Value();
  if (with_settings) {
    out += ",\"settings\":";
    out += snapshot->settings_json.empty() ? "null" : snapshot->settings_json;
  }
  const auto number = [&](const char* name, uint64_t value) {
    out += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  number("numberOfDocuments", snapshot->documents.size());
  number("rawDocumentDbSize", row_bytes);
  const auto vectors = snapshot->CountEmbeddings();
  number("numberOfEmbeddings", vectors.embeddings);
  number("numberOfEmbeddedDocuments", vectors.documents);
  number("diskBytes", disk);
  number("usedBytes", used);
  out += ",\"fieldDistribution\":{";
  std::map<std::string_view, uint64_t> by_name;
  for (const auto& [field, count] : snapshot->distribution) {
    const std::string& name = snapshot->fields->name(field);
    if (name != "_vectors") by_name[name] = count;
  }
  bool first = true;
  for (const auto& [name, count] : by_name) {
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, name);
    out += ':' + std::to_string(count);
  }
  out += "},\"updatedAt\":";
  if (snapshot->updated_at.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, snapshot->updated_at);
  }
  out += ",\"lastBatch\":";
  out += snapshot->last_batch.empty() ? "null" : snapshot->last_batch;
  out += '}';
  return Napi::String::New(info.Env(), out);
}

// A request: a string, or a buffer with its UTF-8.
std::string TextAt(const Napi::CallbackInfo& info, size_t at) {
  if (info.Length() <= at || !info[at].IsBuffer()) return StringAt(info, at);
  const auto bytes = info[at].As<Napi::Buffer<char>>();
  return std::string(bytes.Data(), bytes.Length());
}

// The flag of a ticket, which `cancelSearch` sets. 0 or nothing: null.
GoneFlag GoneFlagAt(const Napi::CallbackInfo& info, size_t at) {
  if (info.Length() <= at || !info[at].IsNumber()) return nullptr;
  const uint32_t ticket = info[at].As<Napi::Number>().Uint32Value();
  if (ticket == 0) return nullptr;
  auto& flags = info.Env().GetInstanceData<Environment>()->gone_flags;
  std::erase_if(flags, [](const auto& entry) { return entry.second.expired(); });
  auto flag = std::make_shared<std::atomic<bool>>(false);
  flags[ticket] = flag;
  return flag;
}

bool Gone(const search::Caller& caller) {
  return caller.gone && caller.gone->load(std::memory_order_relaxed);
}

Napi::Value CancelSearch(const Napi::CallbackInfo& info) {
  auto& flags = info.Env().GetInstanceData<Environment>()->gone_flags;
  const auto found =
      info[0].IsNumber() ? flags.find(info[0].As<Napi::Number>().Uint32Value()) : flags.end();
  if (found != flags.end()) {
    if (const auto flag = found->second.lock()) flag->store(true, std::memory_order_relaxed);
  }
  return info.Env().Undefined();
}

Napi::Value ToNumber(Napi::Env env, uint64_t number) {
  return Napi::Number::New(env, static_cast<double>(number));
}

Napi::Value ToNumbers(Napi::Env env, const std::vector<uint32_t>& numbers) {
  auto array = Napi::Uint32Array::New(env, numbers.size());
  std::copy(numbers.begin(), numbers.end(), array.Data());
  return array;
}

// Without those that are empty.
Napi::Value ToStrings(Napi::Env env, const std::vector<std::string>& strings) {
  auto array = Napi::Array::New(env, strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].empty()) array.Set(i, Napi::String::New(env, strings[i]));
  }
  return array;
}

// Makes an EngineAnswer of src/engine/native.ts. One call of a function costs less than to create
// its objects member by member from here.
constexpr const char* kMakeAnswer =
    "(bytes, processingTimeMs, degraded, totalHits) => "
    "({ bytes, head: { processingTimeMs, degraded, totalHits } })";

Napi::Value ToSearchAnswer(Napi::Env env, search::Answer& answer) {
  search::AnswerHead& known = answer.head;
  Napi::FunctionReference& make = env.GetInstanceData<Environment>()->make_answer;
  if (make.IsEmpty()) make = Napi::Persistent(env.RunScript(kMakeAnswer).As<Napi::Function>());
  const Napi::Value made =
      make.Call({ToAnswer(env, answer.body), ToNumber(env, known.processing_time_ms),
                 Napi::Boolean::New(env, known.degraded),
                 known.total_hits ? ToNumber(env, *known.total_hits) : env.Null()});
  if (known.hit_spans.empty() && known.query_uids.empty() && !known.needs_vector) return made;
  auto head = made.As<Napi::Object>().Get("head").As<Napi::Object>();
  if (!known.hit_spans.empty()) head.Set("hitSpans", ToNumbers(env, known.hit_spans));
  if (!known.hit_queries.empty()) head.Set("hitQueries", ToNumbers(env, known.hit_queries));
  if (!known.query_uids.empty()) head.Set("queryUids", ToStrings(env, known.query_uids));
  if (known.needs_vector) head.Set("needsVector", Hold(env, std::move(known.needs_vector)));
  return made;
}

// search, facetSearch, similar: a handle and a request in, an answer out.
template <Result<search::Answer> (*Execute)(index::Index&, std::string_view, const search::Caller&)>
Napi::Value Query(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  const uint64_t started = MonotonicMicroseconds();
  Engine::Instance().NoteSearch();
  return Async<search::Answer>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1),
       caller = search::Caller(started, GoneFlagAt(info, 2))]() -> Result<search::Answer> {
        if (Gone(caller)) return Status::Cancelled("nobody waits for the answer");
        return Execute(*open->index, request, caller);
      },
      ToSearchAnswer);
}

using PendingHandle = std::shared_ptr<search::PendingSearch>;

// The search is used up.
Napi::Value ResumeSearch(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Napi::External<PendingHandle>>().Data();
  if (!held) {
    MakeError(info.Env(), Status::Internal("the search was resumed or dropped already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  std::optional<std::vector<float>> vector;
  if (info[1].IsTypedArray()) {
    const auto numbers = info[1].As<Napi::Float32Array>();
    vector.emplace(numbers.Data(), numbers.Data() + numbers.ElementLength());
  }
  const uint64_t started = MonotonicMicroseconds();
  return Async<search::Answer>(
      info.Env(), Engine::Instance().searches(),
      [pending = std::move(held), vector = std::move(vector),
       caller = search::Caller(started, GoneFlagAt(info, 2))]() mutable -> Result<search::Answer> {
        if (Gone(caller)) return Status::Cancelled("nobody waits for the answer");
        return pending->Resume(std::move(vector), caller);
      },
      ToSearchAnswer);
}

Napi::Value DropSearch(const Napi::CallbackInfo& info) {
  info[0].As<Napi::External<PendingHandle>>().Data()->reset();
  return info.Env().Undefined();
}

constexpr uint64_t kListingPartBytes = 256 << 10;

struct ListingPart {
  std::string bytes;
  std::shared_ptr<search::Listing> rest;  // null: this was the last part
};

Result<ListingPart> NextPart(std::shared_ptr<search::Listing> listing) {
  ListingPart part;
  GANNET_ASSIGN_OR_RETURN(const bool last, listing->Next(kListingPartBytes, part.bytes));
  if (!last) part.rest = std::move(listing);
  return part;
}

Napi::Value ToPart(Napi::Env env, ListingPart& part) {
  auto object = Napi::Object::New(env);
  object.Set("bytes", ToAnswer(env, part.bytes));
  object.Set("rest", part.rest ? Napi::Value(Hold(env, std::move(part.rest))) : env.Null());
  return object;
}

Napi::Value FetchDocuments(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  Engine::Instance().NoteSearch();
  return Async<ListingPart>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1),
       caller = search::Caller(0, GoneFlagAt(info, 2))]() -> Result<ListingPart> {
        if (Gone(caller)) return Status::Cancelled("nobody waits for the answer");
        GANNET_ASSIGN_OR_RETURN(auto listing, search::Listing::Open(*open->index, request, caller));
        return NextPart(std::move(listing));
      },
      ToPart);
}

// The part behind the one that gave `rest`, which is used up.
Napi::Value FetchRest(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Napi::External<std::shared_ptr<search::Listing>>>().Data();
  if (!held) {
    MakeError(info.Env(), Status::Internal("the rest of the listing was taken already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Async<ListingPart>(
      info.Env(), Engine::Instance().searches(),
      [listing = std::move(held)] { return NextPart(listing); }, ToPart);
}

// Lets go of what the listing holds, which would else wait for the garbage collector.
Napi::Value DropRest(const Napi::CallbackInfo& info) {
  info[0].As<Napi::External<std::shared_ptr<search::Listing>>>().Data()->reset();
  return info.Env().Undefined();
}

Napi::Value FederatedSearch(const Napi::CallbackInfo& info) {
  std::vector<std::shared_ptr<OpenIndex>> open;
  const auto handles = info[0].As<Napi::Array>();
  for (uint32_t i = 0; i < handles.Length(); ++i) {
    auto one = Engine::Instance().Find(handles.Get(i).ToNumber().Uint32Value());
    if (!one) {
      MakeError(info.Env(), Status::Internal("an index is not open")).ThrowAsJavaScriptException();
      return info.Env().Undefined();
    }
    open.push_back(std::move(one));
  }
  const uint64_t started = MonotonicMicroseconds();
  Engine::Instance().NoteSearch();
  return Async<search::Answer>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1),
       caller = search::Caller(started, GoneFlagAt(info, 2))]() -> Result<search::Answer> {
        if (Gone(caller)) return Status::Cancelled("nobody waits for the answer");
        std::vector<index::Index*> indexes;
        for (const auto& one : open) indexes.push_back(one->index.get());
        return search::ExecuteFederatedSearch(indexes, request, caller);
      },
      ToSearchAnswer);
}

// What a server has answered, as it was read. It borrows bytes of JavaScript.
template <typename T>
struct HeldResponse {
  std::shared_ptr<Napi::Reference<Napi::Buffer<char>>> bytes;
  T read;
};
template <typename T>
using ResponseHandle = std::shared_ptr<HeldResponse<T>>;

// Keeps the bytes of a buffer as they are. The last owner may be a thread of a pool.
std::shared_ptr<Napi::Reference<Napi::Buffer<char>>> KeepBytes(Napi::Env env,
                                                               Napi::Buffer<char> buffer) {
  const auto channel = ChannelOf(env);
  using Reference = Napi::Reference<Napi::Buffer<char>>;
  return {new Reference(Napi::Persistent(buffer)),
          [channel](Reference* last) { channel->Notify([last](napi_env) { delete last; }); }};
}

// readResponse, readFacetHits: bytes of a server in, a handle out.
template <typename T, Result<T> (*Read)(std::string_view)>
Napi::Value ReadResponse(const Napi::CallbackInfo& info) {
  const auto buffer = info[0].As<Napi::Buffer<char>>();
  const std::string_view body(buffer.Data(), buffer.Length());
  return Async<ResponseHandle<T>>(
      info.Env(), Engine::Instance().searches(),
      [body, bytes = KeepBytes(info.Env(), buffer)]() -> Result<ResponseHandle<T>> {
        GANNET_ASSIGN_OR_RETURN(T read, Read(body));
        return std::make_shared<HeldResponse<T>>(HeldResponse<T>{bytes, std::move(read)});
      },
      [](Napi::Env env, ResponseHandle<T>& handle) -> Napi::Value {
        return Hold(env, std::move(handle));
      });
}

// mergeResponses, mergeFacetHits: a request and handles, which are used up, in, a body out.
template <typename T, Result<search::Answer> (*Merge)(std::string_view, std::vector<T>&)>
Napi::Value MergeRead(const Napi::CallbackInfo& info) {
  std::vector<ResponseHandle<T>> handles;
  const auto list = info[1].As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    handles.push_back(std::move(*list.Get(i).As<Napi::External<ResponseHandle<T>>>().Data()));
    if (handles.back()) continue;
    MakeError(info.Env(), Status::Internal("a response was merged already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Async<search::Answer>(
      info.Env(), Engine::Instance().searches(),
      [handles = std::move(handles), request = TextAt(info, 0)]() -> Result<search::Answer> {
        std::vector<T> responses;
        for (const auto& handle : handles) responses.push_back(std::move(handle->read));
        return Merge(request, responses);
      },
      ToSearchAnswer);
}

Napi::Value GetDocument(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  std::optional<std::vector<std::string>> fields;
  if (info[2].IsArray()) {
    fields.emplace();
    const auto list = info[2].As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i)
      fields->push_back(list.Get(i).ToString().Utf8Value());
  }
  auto document =
      search::GetDocument(*open->index, StringAt(info, 1), fields, info[3].ToBoolean().Value());
  if (!document.ok()) {
    MakeError(info.Env(), document.status()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  if (!*document) return info.Env().Null();
  return ToAnswer(info.Env(), **document);
}

// What JavaScript holds of a stream; its memory goes when it is collected, what it reads when it is
// closed.
using StreamHandle = std::shared_ptr<search::DocumentStream>;

StreamHandle StreamOf(const Napi::CallbackInfo& info) {
  const StreamHandle stream =
      info[0].IsExternal() ? *info[0].As<Napi::External<StreamHandle>>().Data() : nullptr;
  if (!stream)
    MakeError(info.Env(), Status::Internal("the stream of documents is closed"))
        .ThrowAsJavaScriptException();
  return stream;
}

Napi::Value OpenDocuments(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  return Async<StreamHandle>(
      info.Env(), Engine::Instance().batches(),
      [open, request = StringAt(info, 1)]() -> Result<StreamHandle> {
        GANNET_ASSIGN_OR_RETURN(auto stream, search::DocumentStream::Open(*open->index, request));
        return StreamHandle(std::move(stream));
      },
      [](Napi::Env env, StreamHandle& stream) -> Napi::Value {
        auto object = Napi::Object::New(env);
        object.Set("total", Napi::Number::New(env, static_cast<double>(stream->total())));
        object.Set("stream", Hold(env, std::move(stream)));
        return object;
      });
}

Napi::Value NextDocuments(const Napi::CallbackInfo& info) {
  const auto stream = StreamOf(info);
  if (!stream) return info.Env().Undefined();
  const auto bytes = static_cast<size_t>(info[1].ToNumber().DoubleValue());
  return Async<std::string>(
      info.Env(), Engine::Instance().batches(), [stream, bytes] { return stream->Next(bytes); },
      ToBuffer);
}

Napi::Value RewindDocuments(const Napi::CallbackInfo& info) {
  if (const auto stream = StreamOf(info)) stream->Rewind();
  return info.Env().Undefined();
}

Napi::Value CloseDocuments(const Napi::CallbackInfo& info) {
  if (info[0].IsExternal()) info[0].As<Napi::External<StreamHandle>>().Data()->reset();
  return info.Env().Undefined();
}

Napi::Value CopyIndex(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  return AsyncStatus(info.Env(), Engine::Instance().batches(),
                     [open, dir = StringAt(info, 1)] { return open->index->CopyTo(dir); });
}

// The names of columns are repeated for each line: the lines of JSON may be so many times as long
// as their CSV, or so many bytes.
constexpr size_t kCsvGrowthMax = 64;
constexpr size_t kCsvLinesFree = size_t{1} << 20;

struct PayloadSummary {
  uint64_t documents = 0;
  std::optional<std::string> ndjson;
};

Result<PayloadSummary> SummarisePayload(std::string_view bytes, const std::string& format,
                                        char delimiter, const std::string& output) {
  PayloadSummary summary;
  if (format != "csv") {
    const auto kind =
        format == "ndjson" ? indexing::PayloadFormat::kNdjson : indexing::PayloadFormat::kJson;
    GANNET_ASSIGN_OR_RETURN(summary.documents, indexing::CheckPayload(bytes, kind));
    return summary;
  }
  const size_t most = std::max(kCsvGrowthMax * bytes.size(), kCsvLinesFree);
  size_t made = 0;
  const auto grow = [&](size_t by) {
    made += by;
    if (made <= most) return Status::Ok();
    return Status::Invalid("The names of the columns make the lines of the csv payload too long.",
                           "payload_too_large");
  };
  if (output.empty()) {
    std::string lines;
    GANNET_ASSIGN_OR_RETURN(summary.documents,
                            indexing::ConvertCsv(bytes, delimiter, [&](std::string_view chunk) {
                              GANNET_RETURN_IF_ERROR(grow(chunk.size()));
                              lines += chunk;
                              return Status::Ok();
                            }));
    summary.ndjson = std::move(lines);
    return summary;
  }
  const int descriptor = open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) return segment::IoStatus("creating a payload", errno);
  auto documents = indexing::ConvertCsv(bytes, delimiter, [&](std::string_view chunk) {
    GANNET_RETURN_IF_ERROR(grow(chunk.size()));
    for (size_t at = 0; at < chunk.size();) {
      const ssize_t count = write(descriptor, chunk.data() + at, chunk.size() - at);
      if (count < 0 && errno != EINTR) return segment::IoStatus("writing a payload", errno);
      if (count > 0) at += static_cast<size_t>(count);
    }
    return Status::Ok();
  });
  Status status = documents.ok() ? Status::Ok() : documents.status();
  if (status.ok() && fsync(descriptor) != 0) status = segment::IoStatus("syncing a payload", errno);
  close(descriptor);
  if (!status.ok()) {
    unlink(output.c_str());
    return status;
  }
  summary.documents = *documents;
  return summary;
}

Napi::Value CheckPayload(const Napi::CallbackInfo& info) {
  const std::string format = StringAt(info, 1), delimiter = StringAt(info, 2),
                    output = StringAt(info, 3);
  const char cut = delimiter.empty() ? ',' : delimiter[0];
  const auto convert = [](Napi::Env env, PayloadSummary& summary) -> Napi::Value {
    auto object = Napi::Object::New(env);
    object.Set("documents", Napi::Number::New(env, static_cast<double>(summary.documents)));
    if (summary.ndjson) object.Set("ndjson", ToBuffer(env, *summary.ndjson));
    return object;
  };
  ThreadPool& pool = Engine::Instance().searches();
  if (info[0].IsBuffer()) {
    const auto buffer = info[0].As<Napi::Buffer<char>>();
    std::string bytes(buffer.Data(), buffer.Length());
    return Async<PayloadSummary>(
        info.Env(), pool,
        [bytes = std::move(bytes), format, cut] {
          return SummarisePayload(bytes, format, cut, {});
        },
        convert);
  }
  return Async<PayloadSummary>(
      info.Env(), pool,
      [path = StringAt(info, 0), format, cut, output]() -> Result<PayloadSummary> {
        GANNET_ASSIGN_OR_RETURN(const auto payload, indexing::Payload::Map(path));
        return SummarisePayload(payload->bytes(), format, cut, output);
      },
      convert);
}

Result<DocSet> EvaluateForDeletion(const index::Snapshot& snapshot, std::string_view filter_json) {
  // Whether CONTAINS may be used was checked when the request came in.
  return index::EvaluateFilterJson(snapshot, filter_json, filter::FilterFeatures{true, true});
}

// What a batch asks for embeddings: `function`, on its own thread. Null: it is no function.
std::shared_ptr<indexing::EmbedCalls> EmbedCallsTo(Napi::Env env, const Napi::Value& function) {
  if (!function.IsFunction()) return nullptr;
  const auto channel = ChannelOf(env);
  const std::shared_ptr<Napi::FunctionReference> reference(
      new Napi::FunctionReference(Napi::Persistent(function.As<Napi::Function>())),
      // The last owner may be a thread of a pool.
      [channel](Napi::FunctionReference* last) {
        channel->Notify([last](napi_env) { delete last; });
      });
  return std::make_shared<indexing::EmbedCalls>(
      [channel, reference](uint32_t call, std::string documents) {
        const auto held = std::make_shared<std::string>(std::move(documents));
        channel->Notify([reference, call, held](napi_env raw) {
          const Napi::Env env(raw);
          reference->Call({Napi::Number::New(env, call), ToBuffer(env, *held)});
          if (env.IsExceptionPending()) env.GetAndClearPendingException();
        });
      });
}

std::shared_ptr<indexing::EmbedCalls> EmbedCallsOf(OpenIndex& open) {
  const std::lock_guard lock(open.embed_mutex);
  return open.embed_calls;
}

void SetEmbedCalls(OpenIndex& open, std::shared_ptr<indexing::EmbedCalls> calls) {
  const std::lock_guard lock(open.embed_mutex);
  open.embed_calls = std::move(calls);
}

Napi::Value AnswerEmbed(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open || !info[1].IsNumber() || !info[2].IsBuffer()) return info.Env().Undefined();
  const auto bytes = info[2].As<Napi::Buffer<char>>();
  if (const auto calls = EmbedCallsOf(*open)) {
    calls->Answer(info[1].As<Napi::Number>().Uint32Value(),
                  std::string(bytes.Data(), bytes.Length()));
  }
  return info.Env().Undefined();
}

Napi::Value FailEmbed(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open || !info[1].IsNumber()) return info.Env().Undefined();
  const std::string code = StringAt(info, 2), message = StringAt(info, 3);
  // Whatever it is, it ends the batch.
  const Status status = code == "canceled" ? Status::Cancelled(message)
                                           : Status(StatusCode::kInternal, message, code);
  if (const auto calls = EmbedCallsOf(*open))
    calls->Answer(info[1].As<Napi::Number>().Uint32Value(), status);
  return info.Env().Undefined();
}

Napi::Value ApplyBatch(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  std::vector<std::string> payloads;
  if (info[2].IsArray()) {
    const auto list = info[2].As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) {
      const auto buffer = list.Get(i).As<Napi::Buffer<char>>();
      payloads.emplace_back(buffer.Data(), buffer.Length());
    }
  }
  // Here, so that whoever cancels it from now on is heard, also while it waits for a thread or a
  // merge.
  open->progress.cancelled = false;
  return Async<std::string>(
      info.Env(), Engine::Instance().batches(),
      [open = std::move(open), job = StringAt(info, 1), payloads = std::move(payloads),
       calls = EmbedCallsTo(info.Env(), info[3])]() -> Result<std::string> {
        const std::lock_guard batch(open->batch_mutex);
        SetEmbedCalls(*open, calls);
        std::vector<std::string_view> views(payloads.begin(), payloads.end());
        const EngineOptions& engine = Engine::Instance().options();
        const bool settings = job.find("\"kind\":\"settings\"") != job.npos;
        const BatchMemory memory(settings);
        const indexing::JobOptions options{engine.indexing_threads, memory.bytes(), calls.get()};
        std::unique_lock structure(open->structure_mutex, std::defer_lock);
        if (settings) {
          // Columns are built segment by segment: no merge may take a segment away meanwhile.
          open->stop_merging = true;
          structure.lock();
          open->stop_merging = false;
        }
        const auto run = [&] {
          const RunningBatch running(*open);
          return indexing::RunBatch(*open->index, job, views, options, EvaluateForDeletion,
                                    open->progress);
        };
        auto outcome = run();
        SetEmbedCalls(*open, nullptr);
        if (structure.owns_lock()) structure.unlock();
        Engine::Instance().CheckAhead(*open);
        Engine::Instance().ScheduleMerges(open);
        return outcome;
      },
      ToString);
}

// Writes all segments again as few as can be, without the documents that are dead.
Napi::Value CompactIndex(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  open->progress.cancelled = false;
  return AsyncStatus(
      info.Env(), Engine::Instance().batches(), [open = std::move(open)]() -> Status {
        const std::lock_guard batch(open->batch_mutex);
        // Nobody else may take a segment meanwhile.
        open->stop_merging = true;
        const std::unique_lock structure(open->structure_mutex);
        open->stop_merging = false;
        for (const indexing::MergePlan& plan : indexing::PlanCompaction(*open->index->snapshot())) {
          GANNET_RETURN_IF_ERROR(
              indexing::RunMerge(*open->index, plan, open->progress.cancelled, 0));
        }
        return Status::Ok();
      });
}

Napi::Value CancelBatch(const Napi::CallbackInfo& info) {
  if (const auto open = IndexOf(info)) open->progress.cancelled = true;
  return info.Env().Undefined();
}

Napi::Value BatchProgress(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  if (!open->running) return Napi::String::New(info.Env(), "null");
  const auto step = open->progress.step();
  std::string out = "{\"steps\":[{\"currentStep\":";
  AppendJsonString(out, step.name);
  out += ",\"finished\":" + std::to_string(std::min(step.finished, step.total)) +
         ",\"total\":" + std::to_string(step.total) + "}]}";
  return Napi::String::New(info.Env(), out);
}

Napi::Value CheckLargeFilter(const Napi::CallbackInfo& info) {
  const auto enabled = [&](size_t at) {
    return info.Length() > at && info[at].ToBoolean().Value();
  };
  const bool contains = enabled(1), multimodal = enabled(2);
  return AsyncStatus(
      info.Env(), Engine::Instance().searches(),
      [text = TextAt(info, 0), contains, multimodal]() -> Status {
        return filter::ParseFilterJson(text, filter::FilterFeatures{contains, multimodal}).status();
      });
}

Napi::Value CheckFilter(const Napi::CallbackInfo& info) {
  const auto enabled = [&](size_t at) {
    return info.Length() > at && info[at].ToBoolean().Value();
  };
  const auto tree =
      filter::ParseFilterJson(StringAt(info, 0), filter::FilterFeatures{enabled(1), enabled(2)});
  if (!tree.ok()) MakeError(info.Env(), tree.status()).ThrowAsJavaScriptException();
  return info.Env().Undefined();
}

std::string ReportJson(const index::IndexReport& report) {
  std::string out = "{\"faults\":[";
  for (const index::IndexFault& fault : report.faults) {
    if (out.back() != '[') out += ',';
    out += "{\"file\":";
    AppendJsonString(out, fault.file);
    out += ",\"structure\":";
    AppendJsonString(out, fault.structure);
    out += ",\"message\":";
    AppendJsonString(out, fault.message);
    out += '}';
  }
  out += "],\"unused\":[";
  for (const std::string& file : report.unused) {
    if (out.back() != '[') out += ',';
    AppendJsonString(out, file);
  }
  out += ']';
  const auto number = [&](const char* name, uint64_t value) {
    out += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  out += ",\"lastBatch\":" + (report.last_batch.empty() ? "null" : report.last_batch);
  number("documents", report.documents);
  number("segments", report.segments);
  number("words", report.words);
  number("tokens", report.tokens);
  number("bytes", report.bytes);
  return out + '}';
}

Napi::Value VerifyIndexAt(const Napi::CallbackInfo& info) {
  Engine::Instance().Configure({});
  return Async<std::string>(
      info.Env(), Engine::Instance().batches(),
      [dir = StringAt(info, 0)]() -> Result<std::string> {
        return ReportJson(index::VerifyIndex(dir));
      },
      ToString);
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

Napi::Value CheckDatabase(const Napi::CallbackInfo& info) {
  const Status status = store::CheckPages(StringAt(info, 0));
  return status.ok() ? info.Env().Null()
                     : Napi::Value(Napi::String::New(info.Env(), status.message()));
}

Napi::Value SumOfValue(const Napi::CallbackInfo& info) {
  const std::string table = StringAt(info, 0), key = StringAt(info, 1);
  const auto value = info[2].As<Napi::Uint8Array>();
  const std::string_view bytes(reinterpret_cast<const char*>(value.Data()), value.ByteLength());
  return Napi::Number::New(info.Env(), store::SumOf(store::TableSeed(table), key, bytes));
}

using Function = Napi::Value(const Napi::CallbackInfo&);

// Nothing that is thrown, as when memory runs out, leaves native code.
Napi::Value Guarded(Function* function, const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const std::exception& error) {
    MakeError(info.Env(), Status::Internal(error.what())).ThrowAsJavaScriptException();
  }
  return info.Env().Undefined();
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(
      new Environment{.channel = Channel::Create(env), .take_buffer = {}, .gone_flags = {}});
  const auto add = [&](const char* name, Function* function) {
    exports.Set(
        name,
        Napi::Function::New(
            env, [function](const Napi::CallbackInfo& info) { return Guarded(function, info); },
            name));
  };
  add("configure", Configure);
  add("openIndex", OpenIndexAt);
  add("sweepIndex", SweepIndex);
  add("closeIndex", CloseIndex);
  add("watchStops", WatchStopsOf);
  add("isMerging", IsMerging);
  add("takeMergeFault", TakeMergeFault);
  add("indexState", IndexState);
  add("indexFields", IndexFields);
  add("search", Query<search::ExecuteSearch>);
  add("facetSearch", Query<search::ExecuteFacetSearch>);
  add("resumeSearch", ResumeSearch);
  add("dropSearch", DropSearch);
  add("similar", Query<search::ExecuteSimilar>);
  add("fetchDocuments", FetchDocuments);
  add("federatedSearch", FederatedSearch);
  using FacetHits = std::vector<search::FacetValue>;
  add("readResponse", ReadResponse<search::ServerResponse, search::ServerResponse::Read>);
  add("readFacetHits", ReadResponse<FacetHits, search::ReadFacetHits>);
  add("mergeResponses", MergeRead<search::ServerResponse, search::MergeResponses>);
  add("mergeFacetHits", MergeRead<FacetHits, search::MergeFacetHits>);
  add("getDocument", GetDocument);
  add("openDocuments", OpenDocuments);
  add("nextDocuments", NextDocuments);
  add("rewindDocuments", RewindDocuments);
  add("closeDocuments", CloseDocuments);
  add("copyIndex", CopyIndex);
  add("checkPayload", CheckPayload);
  add("applyBatch", ApplyBatch);
  add("compactIndex", CompactIndex);
  add("answerEmbed", AnswerEmbed);
  add("failEmbed", FailEmbed);
  add("cancelBatch", CancelBatch);
  add("batchProgress", BatchProgress);
  add("checkFilter", CheckFilter);
  add("checkLargeFilter", CheckLargeFilter);
  add("fetchRest", FetchRest);
  add("dropRest", DropRest);
  add("cancelSearch", CancelSearch);
  add("verifyIndex", VerifyIndexAt);
  add("limitProcess", LimitProcessOf);
  add("lockFile", LockFileAt);
  add("markCrashes", MarkCrashesIn);
  add("checkDatabase", CheckDatabase);
  add("sumOfValue", SumOfValue);
  return exports;
}

}  // namespace
}  // namespace gannet::addon

static Napi::Object InitModule(Napi::Env env, Napi::Object exports) {
  return gannet::addon::Init(env, exports);
}
NODE_API_MODULE(gannet, InitModule)
