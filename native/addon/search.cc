// The functions for searches, and for merging responses of servers.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "addon/calls.h"
#include "base/deadline.h"
#include "base/stage_clock.h"
#include "search/execute.h"
#include "search/federate.h"
#include "search/federation/merge_responses.h"
#include "search/federation/server_facets.h"
#include "search/foreign_documents.h"
#include "search/page.h"
#include "search/similar.h"

namespace gannet::addon {
namespace {

// The conditions of a search of `cutoff_ms` milliseconds.
StopConditions TimedConditions(uint64_t cutoff_ms, const CancelFlag& cancelled) {
  StopConditions conditions = ConditionsOf(cancelled.get());
  const Deadline cutoff = Deadline::In(cutoff_ms);
  conditions.grace_end = cutoff.at();
  conditions.end = cutoff.at() + kRequestTimeMax;
  return conditions;
}

// The conditions of a search in `indexes`.
StopConditions SearchConditions(std::span<const std::shared_ptr<OpenIndex>> indexes,
                                const CancelFlag& cancelled) {
  uint64_t cutoff_ms = 0;
  for (const auto& open : indexes) cutoff_ms = std::max(cutoff_ms, open->index->search_cutoff_ms());
  StopConditions conditions = TimedConditions(cutoff_ms, cancelled);
  if (indexes.size() == 1) conditions.closing = &indexes[0]->closing;
  return conditions;
}

Napi::Value CancelSearch(const Napi::CallbackInfo& info) {
  auto& flags = info.Env().GetInstanceData<Environment>()->cancel_flags;
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

// The strings that are not empty, at their indexes.
Napi::Value ToStrings(Napi::Env env, const std::vector<std::string>& strings) {
  auto array = Napi::Array::New(env, strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].empty()) array.Set(i, Napi::String::New(env, strings[i]));
  }
  return array;
}

// Makes an EngineResult of src/engine/native.ts. Calling one function costs less than creating its
// objects member by member from here.
constexpr const char* kMakeResponse =
    "(bytes, processingTimeMs, degraded, totalHits) => "
    "({ bytes, head: { processingTimeMs, degraded, totalHits } })";

Napi::Value ToSearchResponse(Napi::Env env, search::SearchResponse& response) {
  search::ResponseHead& head = response.head;
  Napi::FunctionReference& make = env.GetInstanceData<Environment>()->make_response;
  if (make.IsEmpty()) make = Napi::Persistent(env.RunScript(kMakeResponse).As<Napi::Function>());
  const Napi::Value made =
      make.Call({ToPooledBuffer(env, response.body), ToNumber(env, head.processing_time_ms),
                 Napi::Boolean::New(env, head.degraded),
                 head.total_hits ? ToNumber(env, *head.total_hits) : env.Null()});
  if (head.sources.empty() && head.query_uids.empty() && head.teams.empty() && !head.needs_vector &&
      !response.page)
    return made;
  auto made_head = made.As<Napi::Object>().Get("head").As<Napi::Object>();
  if (!head.sources.empty())
    made_head.Set("sources",
                  Napi::Buffer<char>::Copy(env, head.sources.data(), head.sources.size()));
  if (!head.query_uids.empty()) made_head.Set("queryUids", ToStrings(env, head.query_uids));
  if (!head.teams.empty()) made_head.Set("teams", ToStrings(env, head.teams));
  if (head.needs_vector) made_head.Set("needsVector", Hold(env, std::move(head.needs_vector)));
  if (response.page) {
    made_head.Set("pageBytes", ToNumber(env, response.page->bytes()));
    made_head.Set("page", Hold(env, std::move(response.page)));
  }
  return made;
}

// A response, and where its time went.
struct TimedResponse {
  search::SearchResponse response;
  uint64_t cpu_ns = 0;
  std::vector<StageClock::Stage> stages;  // empty: not asked for
};

Napi::Value ToTimedResponse(Napi::Env env, TimedResponse& timed) {
  const Napi::Value made = ToSearchResponse(env, timed.response);
  auto head = made.As<Napi::Object>().Get("head").As<Napi::Object>();
  const auto ms = [&](uint64_t ns) {
    return Napi::Number::New(env, static_cast<double>(ns) / 1e6);
  };
  head.Set("cpuMs", ms(timed.cpu_ns));
  if (timed.stages.empty()) return made;
  auto stages = Napi::Array::New(env, timed.stages.size());
  for (uint32_t i = 0; i < timed.stages.size(); ++i) {
    const StageClock::Stage& stage = timed.stages[i];
    auto one = Napi::Object::New(env);
    one.Set("name", (stage.of_rule ? "rule " : "") + stage.name);
    one.Set("ms", ms(stage.wall_ns));
    one.Set("cpuMs", ms(stage.cpu_ns));
    if (stage.unit != nullptr) {
      one.Set("unit", stage.unit);
      one.Set("size", ToNumber(env, stage.size));
    }
    stages.Set(i, one);
  }
  head.Set("stages", stages);
  return made;
}

// Runs a search on a thread of the pool.
// timed    the result has its stages; they begin with the wait for a thread
// started  when the addon was called, in microseconds
template <typename Work>
Result<TimedResponse> RunTimed(bool timed, uint64_t started, const StopConditions& conditions,
                               Work&& work) {
  // Read before the clock starts, so that no time counts twice.
  const uint64_t queued_us = MonotonicMicroseconds() - started;
  std::optional<StageClock> clock;
  if (timed) clock.emplace("other");
  const uint64_t cpu_ns = ProcessorNanoseconds();
  Result<search::SearchResponse> response =
      RunStoppable(conditions, [&]() -> Result<search::SearchResponse> {
        StopPoint();
        return work();
      });
  GANNET_RETURN_IF_ERROR(response.status());
  TimedResponse out{std::move(*response), ProcessorNanoseconds() - cpu_ns, {}};
  if (!clock) return out;
  out.stages = clock->Stop();
  out.stages.insert(out.stages.begin(), {.name = "thread", .wall_ns = queued_us * 1000});
  return out;
}

// search, facetSearch, similar: a handle and a request in, a result out.
template <Result<search::SearchResponse> (*Execute)(index::Index&, std::string_view,
                                                    const search::Caller&)>
Napi::Value Query(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  const uint64_t started = MonotonicMicroseconds();
  Engine::Instance().NoteSearch();
  return Async<TimedResponse>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1), timed = info[3].ToBoolean().Value(),
       caller = search::Caller(started, CancelFlagAt(info, 2))]() {
        return RunTimed(timed, caller.started_us, SearchConditions({&open, 1}, caller.cancelled),
                        [&] { return Execute(*open->index, request, caller); });
      },
      ToTimedResponse);
}

using PendingHandle = std::shared_ptr<search::PendingSearch>;

// resumeSearch; the search is used up.
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
  return Async<TimedResponse>(
      info.Env(), Engine::Instance().searches(),
      [pending = std::move(held), vector = std::move(vector), timed = info[3].ToBoolean().Value(),
       caller = search::Caller(started, CancelFlagAt(info, 2))]() mutable {
        const uint64_t cutoff_ms = pending->cutoff_ms();
        return RunTimed(timed, caller.started_us, TimedConditions(cutoff_ms, caller.cancelled),
                        [&] { return pending->Resume(std::move(vector), caller); });
      },
      ToTimedResponse);
}

Napi::Value DropSearch(const Napi::CallbackInfo& info) {
  info[0].As<Napi::External<PendingHandle>>().Data()->reset();
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
  return Async<TimedResponse>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1), timed = info[3].ToBoolean().Value(),
       caller = search::Caller(started, CancelFlagAt(info, 2))]() {
        return RunTimed(timed, caller.started_us, SearchConditions(open, caller.cancelled), [&] {
          std::vector<index::Index*> indexes;
          for (const auto& one : open) indexes.push_back(one->index.get());
          return search::ExecuteFederatedSearch(indexes, request, caller);
        });
      },
      ToTimedResponse);
}

// The parsed response of a server. It borrows bytes of JavaScript.
template <typename T>
struct HeldResponse {
  std::shared_ptr<Napi::Reference<Napi::Buffer<char>>> bytes;
  T read;
};
template <typename T>
using ResponseHandle = std::shared_ptr<HeldResponse<T>>;

// Keeps the bytes of a buffer alive. The last owner may be a thread of a pool.
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

// The handles in a list, which are used up. nullopt: one was used before, and an error is thrown.
template <typename T>
std::optional<std::vector<ResponseHandle<T>>> TakeResponses(const Napi::CallbackInfo& info,
                                                            size_t at) {
  std::vector<ResponseHandle<T>> handles;
  const auto list = info[at].As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    handles.push_back(std::move(*list.Get(i).As<Napi::External<ResponseHandle<T>>>().Data()));
    if (handles.back()) continue;
    MakeError(info.Env(), Status::Internal("a response was merged already"))
        .ThrowAsJavaScriptException();
    return std::nullopt;
  }
  return handles;
}

// mergeResponses, mergeFacetHits: a request and handles in, which are used up; a body out.
template <typename T, Result<search::SearchResponse> (*Merge)(std::string_view, std::vector<T>&)>
Napi::Value MergeRead(const Napi::CallbackInfo& info) {
  auto handles = TakeResponses<T>(info, 1);
  if (!handles) return info.Env().Undefined();
  return Async<search::SearchResponse>(
      info.Env(), Engine::Instance().searches(),
      [handles = std::move(*handles),
       request = TextAt(info, 0)]() -> Result<search::SearchResponse> {
        std::vector<T> responses;
        for (const auto& handle : handles) responses.push_back(std::move(handle->read));
        return Merge(request, responses);
      },
      ToSearchResponse);
}

using PageHandle = std::shared_ptr<search::Page>;

PageHandle& PageIn(const Napi::Value& value) {
  return *value.As<Napi::External<PageHandle>>().Data();
}

// Runs `work` on the pages of a list, which must not have been written or dropped.
template <typename T, typename Work, typename Convert>
Napi::Value OnPages(const Napi::CallbackInfo& info, size_t cancel_at, Work work, Convert convert) {
  std::vector<PageHandle> pages;
  const auto list = info[0].As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    pages.push_back(PageIn(list.Get(i)));
    if (pages.back()) continue;
    MakeError(info.Env(), Status::Internal("a page was written or dropped already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Async<T>(
      info.Env(), Engine::Instance().searches(),
      [pages = std::move(pages), work = std::move(work),
       cancelled = CancelFlagAt(info, cancel_at)]() mutable -> Result<T> {
        return RunStoppable(ListingConditions(cancelled, true), [&] { return work(pages); });
      },
      convert);
}

Napi::Value ReorderPage(const Napi::CallbackInfo& info) {
  std::optional<std::vector<double>> scores;
  if (info[1].IsTypedArray()) {
    const auto numbers = info[1].As<Napi::Float64Array>();
    scores.emplace(numbers.Data(), numbers.Data() + numbers.ElementLength());
  }
  const auto reorder = [scores = std::move(scores)](auto& pages) -> Result<uint64_t> {
    pages[0]->Reorder(scores);
    return pages[0]->bytes();
  };
  return OnPages<uint64_t>(info, 2, reorder,
                           [](Napi::Env env, uint64_t& bytes) { return ToNumber(env, bytes); });
}

Napi::Value FindReferences(const Napi::CallbackInfo& info) {
  const auto find = [request = TextAt(info, 1)](auto& pages) -> Result<std::string> {
    const json::Value keys = json::Value::Parse(request);
    const auto ids = std::make_shared<search::ForeignIds>();
    for (size_t i = 0; i < pages.size(); ++i) {
      std::vector<std::vector<search::ForeignKey>> by_query;
      for (const json::Value& query : keys.items()[i].items())
        by_query.push_back(search::ForeignKey::ListFromJson(query));
      pages[i]->FindReferences(by_query, ids);
    }
    std::string text;
    ids->Append(text);
    return text;
  };
  return OnPages<std::string>(info, 2, find, ToString);
}

Napi::Value AttachDocuments(const Napi::CallbackInfo& info) {
  const auto buffer = info[2].As<Napi::Buffer<char>>();
  const std::string_view listing(buffer.Data(), buffer.Length());
  const auto attach = [uid = StringAt(info, 1), listing, bytes = KeepBytes(info.Env(), buffer),
                       key = StringAt(info, 3),
                       hides_key = info[4].ToBoolean().Value()](auto& pages) -> Result<bool> {
    const auto documents =
        std::make_shared<const search::ForeignDocuments>(listing, key, hides_key, bytes);
    for (const PageHandle& page : pages) page->Attach(uid, documents);
    return true;
  };
  return OnPages<bool>(info, 5, attach, [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Value WritePage(const Napi::CallbackInfo& info) {
  const auto write = [extra = StringAt(info, 1)](auto& pages) { return pages[0]->Write(extra); };
  return OnPages<search::SearchResponse>(info, 2, write, ToSearchResponse);
}

// responseOfPage: the page of this server in, which is used up, a handle for merging out.
Napi::Value ResponseOfPage(const Napi::CallbackInfo& info) {
  using Handle = ResponseHandle<search::ServerResponse>;
  const auto take = [](auto& pages) -> Result<Handle> {
    GANNET_ASSIGN_OR_RETURN(auto read, search::ServerResponse::Of(std::move(*pages[0])));
    return std::make_shared<HeldResponse<search::ServerResponse>>(
        HeldResponse<search::ServerResponse>{nullptr, std::move(read)});
  };
  return OnPages<Handle>(info, 1, take, [](Napi::Env env, Handle& handle) -> Napi::Value {
    return Hold(env, std::move(handle));
  });
}

Napi::Value DropPage(const Napi::CallbackInfo& info) {
  PageIn(info[0]).reset();
  return info.Env().Undefined();
}

// Merged groups, and the responses whose bytes they borrow.
struct HeldGroups {
  std::vector<ResponseHandle<search::ServerResponse>> handles;
  std::unique_ptr<search::MergedGroups> groups;
};
using GroupsHandle = std::shared_ptr<HeldGroups>;

// mergeBest: a request and handles in, which are used up; groups and their values out.
Napi::Value MergeBest(const Napi::CallbackInfo& info) {
  auto handles = TakeResponses<search::ServerResponse>(info, 1);
  if (!handles) return info.Env().Undefined();
  return Async<GroupsHandle>(
      info.Env(), Engine::Instance().searches(),
      [handles = std::move(*handles), request = TextAt(info, 0)]() mutable -> Result<GroupsHandle> {
        std::vector<search::ServerResponse> responses;
        for (const auto& handle : handles) responses.push_back(std::move(handle->read));
        GANNET_ASSIGN_OR_RETURN(auto groups,
                                search::MergedGroups::Of(std::move(request), std::move(responses)));
        return std::make_shared<HeldGroups>(HeldGroups{std::move(handles), std::move(groups)});
      },
      [](Napi::Env env, GroupsHandle& handle) -> Napi::Value {
        auto result = Napi::Object::New(env);
        result.Set("values", Napi::String::New(env, handle->groups->values()));
        result.Set("groups", Hold(env, std::move(handle)));
        return result;
      });
}

// mergeGroups: groups, a request and handles in, which are used up; a body out.
Napi::Value MergeGroups(const Napi::CallbackInfo& info) {
  auto handles = TakeResponses<search::ServerResponse>(info, 2);
  if (!handles) return info.Env().Undefined();
  GroupsHandle held = std::move(*info[0].As<Napi::External<GroupsHandle>>().Data());
  if (!held) {
    MakeError(info.Env(), Status::Internal("the groups were merged already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Async<search::SearchResponse>(
      info.Env(), Engine::Instance().searches(),
      [held = std::move(held), handles = std::move(*handles),
       request = TextAt(info, 1)]() -> Result<search::SearchResponse> {
        std::vector<search::ServerResponse> responses;
        for (const auto& handle : handles) responses.push_back(std::move(handle->read));
        return held->groups->Write(request, responses);
      },
      ToSearchResponse);
}

using FacetHits = std::vector<search::FacetValue>;

constexpr NamedFunction kSearchFunctions[] = {
    {"search", Query<search::ExecuteSearch>},
    {"facetSearch", Query<search::ExecuteFacetSearch>},
    {"resumeSearch", ResumeSearch},
    {"dropSearch", DropSearch},
    {"similar", Query<search::ExecuteSimilar>},
    {"federatedSearch", FederatedSearch},
    {"readResponse", ReadResponse<search::ServerResponse, search::ServerResponse::Read>},
    {"readFacetHits", ReadResponse<FacetHits, search::ReadFacetHits>},
    {"mergeResponses", MergeRead<search::ServerResponse, search::MergeResponses>},
    {"mergeBest", MergeBest},
    {"mergeGroups", MergeGroups},
    {"mergeFacetHits", MergeRead<FacetHits, search::MergeFacetHits>},
    {"reorderPage", ReorderPage},
    {"findReferences", FindReferences},
    {"attachDocuments", AttachDocuments},
    {"writePage", WritePage},
    {"responseOfPage", ResponseOfPage},
    {"dropPage", DropPage},
    {"cancelSearch", CancelSearch},
};

}  // namespace

std::span<const NamedFunction> SearchFunctions() { return kSearchFunctions; }

}  // namespace gannet::addon
