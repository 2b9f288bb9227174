// The functions for payloads and batches.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addon/calls.h"
#include "base/json.h"
#include "filter/parser.h"
#include "index/evaluate_filter.h"
#include "indexing/job.h"
#include "indexing/operations.h"
#include "indexing/parse.h"

namespace gannet::addon {
namespace {

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
  const uint64_t bytes_max = indexing::NdjsonBytesMax(bytes.size());
  size_t made = 0;
  const auto grow = [&](size_t by) {
    made += by;
    if (made <= bytes_max) return Status::Ok();
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

// Evaluates the filter of a deletion, until `cancelled` is set.
indexing::FilterEvaluator EvaluatorForDeletion(const std::atomic<bool>& cancelled) {
  return [&cancelled](const index::Snapshot& snapshot, std::string_view filter_json) {
    return RunStoppable(ConditionsOf(&cancelled), [&]() -> Result<DocSet> {
      // Whether CONTAINS is allowed was checked when the request was received.
      return index::EvaluateFilterJson(snapshot, filter_json, filter::FilterFeatures{true, true});
    });
  };
}

// Requests for embeddings of a batch: they call `function` on its own thread. Null: `function` is
// not a function.
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

Napi::Value CompleteEmbed(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open || !info[1].IsNumber() || !info[2].IsBuffer()) return info.Env().Undefined();
  const auto bytes = info[2].As<Napi::Buffer<char>>();
  if (const auto calls = EmbedCallsOf(*open)) {
    calls->Respond(info[1].As<Napi::Number>().Uint32Value(),
                   std::string(bytes.Data(), bytes.Length()));
  }
  return info.Env().Undefined();
}

Napi::Value FailEmbed(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open || !info[1].IsNumber()) return info.Env().Undefined();
  const std::string code = StringAt(info, 2), message = StringAt(info, 3);
  // Whatever the status is, it ends the batch.
  const Status status = code == "canceled" ? Status::Cancelled(message)
                                           : Status(StatusCode::kInternal, message, code);
  if (const auto calls = EmbedCallsOf(*open))
    calls->Respond(info[1].As<Napi::Number>().Uint32Value(), status);
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
  // Reset before the batch waits for a thread or a merge, so that a cancellation takes effect from
  // here on.
  open->progress.cancelled = false;
  return Async<std::string>(
      info.Env(), Engine::Instance().batches(),
      [open = std::move(open), description = StringAt(info, 1), payloads = std::move(payloads),
       calls = EmbedCallsTo(info.Env(), info[3])]() -> Result<std::string> {
        GANNET_ASSIGN_OR_RETURN(const auto job, indexing::BatchJob::Parse(description));
        const std::lock_guard batch(open->batch_mutex);
        SetEmbedCalls(*open, calls);
        std::vector<std::string_view> views(payloads.begin(), payloads.end());
        const EngineOptions& engine = Engine::Instance().options();
        const bool settings = job.ChangesSettings();
        const BatchMemory memory(settings);
        const indexing::JobOptions options{engine.indexing_threads, memory.bytes(), calls.get()};
        std::unique_lock structure(open->structure_mutex, std::defer_lock);
        if (settings) {
          // Columns are built segment by segment: no merge may remove a segment meanwhile.
          open->stop_merging = true;
          structure.lock();
          open->stop_merging = false;
        }
        const auto run = [&] {
          const RunningBatch running(*open);
          return indexing::RunBatch(*open->index, job, views, options,
                                    EvaluatorForDeletion(open->progress.cancelled), open->progress);
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

// Rewrites all segments into as few as possible, without dead documents.
Napi::Value CompactIndex(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  open->progress.cancelled = false;
  return AsyncStatus(
      info.Env(), Engine::Instance().batches(), [open = std::move(open)]() -> Status {
        const std::lock_guard batch(open->batch_mutex);
        // No merge may take a segment meanwhile.
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

constexpr NamedFunction kBatchFunctions[] = {
    {"checkPayload", CheckPayload},   {"applyBatch", ApplyBatch}, {"compactIndex", CompactIndex},
    {"completeEmbed", CompleteEmbed}, {"failEmbed", FailEmbed},   {"cancelBatch", CancelBatch},
    {"batchProgress", BatchProgress},
};

}  // namespace

std::span<const NamedFunction> BatchFunctions() { return kBatchFunctions; }

}  // namespace gannet::addon
