// The functions for an index as a whole.
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "addon/calls.h"
#include "base/json.h"
#include "index/expiry.h"
#include "indexing/merge.h"

namespace gannet::addon {
namespace {

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

Napi::Value IsMerging(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  return Napi::Boolean::New(info.Env(), open && open->merging());
}

// Bytes of the segments that are merged next; 0: there is nothing to merge.
Napi::Value MergeDebt(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  const auto plan = open ? indexing::PlanMerge(*open->index->snapshot()) : std::nullopt;
  return Napi::Number::New(info.Env(), plan ? static_cast<double>(plan->bytes) : 0);
}

Napi::Value MergeAtRest(const Napi::CallbackInfo& info) {
  if (const auto open = IndexOf(info)) Engine::Instance().MergeAtRest(*open);
  return info.Env().Undefined();
}

Napi::Value TakeMergeFault(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  const Status fault = open ? open->merges.TakeFault() : Status::Ok();
  return fault.ok() ? info.Env().Null()
                    : Napi::Value(Napi::String::New(info.Env(), fault.message()));
}

// Whether a block of the segments that was read has the wrong checksum.
Napi::Value IsDamaged(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  return Napi::Boolean::New(info.Env(), open && !open->index->snapshot()->Health().ok());
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
  std::string out = "{\"primaryKey\":";
  if (snapshot->has_primary_key) {
    AppendJsonString(out, snapshot->primary_key);
  } else {
    out += "null";
  }
  const auto number = [&](const char* name, uint64_t value) {
    out += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  const uint64_t documents = snapshot->documents.size();
  number("numberOfDocuments", documents);
  number("rawDocumentDbSize", snapshot->distribution.JsonBytes(*snapshot->fields, documents));
  const auto vectors = snapshot->CountEmbeddings();
  number("numberOfEmbeddings", vectors.embeddings);
  number("numberOfEmbeddedDocuments", vectors.documents);
  number("diskBytes", disk);
  number("usedBytes", used);
  const double first_expiry =
      snapshot->first_expiry
          ? *snapshot->first_expiry
          : index::NextExpiry(*snapshot, -std::numeric_limits<double>::infinity());
  if (std::isfinite(first_expiry)) {
    out += ",\"firstExpiry\":";
    AppendJsonNumber(out, first_expiry);
  }
  out += ",\"fieldDistribution\":{";
  std::map<std::string_view, int64_t> by_name;
  for (const auto& [field, share] : snapshot->distribution.shares())
    by_name[snapshot->fields->name(field)] = share.documents;
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

// {json, long}: see index::StoredSettings; null if they were never set.
Napi::Value IndexSettings(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto open = IndexOf(info);
  if (!open) return env.Undefined();
  const auto stored = open->index->snapshot()->stored_settings;
  if (stored == nullptr) return env.Null();
  auto values = Napi::Object::New(env);
  for (const auto& [name, value] : stored->long_values)
    values.Set(name, Napi::Buffer<char>::Copy(env, value.data(), value.size()));
  auto settings = Napi::Object::New(env);
  settings.Set("json", Napi::String::New(env, stored->json));
  settings.Set("long", values);
  return settings;
}

Napi::Value CopyIndex(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  return AsyncStatus(info.Env(), Engine::Instance().batches(),
                     [open, dir = StringAt(info, 1)] { return open->index->CopyTo(dir); });
}

constexpr NamedFunction kIndexFunctions[] = {
    {"openIndex", OpenIndexAt},         {"sweepIndex", SweepIndex},
    {"closeIndex", CloseIndex},         {"isMerging", IsMerging},
    {"takeMergeFault", TakeMergeFault}, {"indexState", IndexState},
    {"indexSettings", IndexSettings},   {"indexFields", IndexFields},
    {"copyIndex", CopyIndex},           {"isDamaged", IsDamaged},
    {"mergeDebt", MergeDebt},           {"mergeAtRest", MergeAtRest},
};

}  // namespace

std::span<const NamedFunction> IndexFunctions() { return kIndexFunctions; }

}  // namespace gannet::addon
