// The functions that check whether stored or received data is valid.
#include <string>

#include "addon/calls.h"
#include "base/json.h"
#include "filter/formula.h"
#include "filter/parser.h"
#include "index/verify.h"
#include "store/page_check.h"
#include "store/sealed_value.h"

namespace gannet::addon {
namespace {

Napi::Value CheckLargeFilter(const Napi::CallbackInfo& info) {
  const auto enabled = [&](size_t at) {
    return info.Length() > at && info[at].ToBoolean().Value();
  };
  const bool contains = enabled(1), multimodal = enabled(2);
  return AsyncStatus(info.Env(), Engine::Instance().searches(),
                     [text = TextAt(info, 0), contains, multimodal]() -> Status {
                       return RunStoppable(ListingConditions(nullptr, true), [&] {
                         return filter::ParseFilterJson(
                                    text, filter::FilterFeatures{contains, multimodal})
                             .status();
                       });
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

Napi::Value CheckRankingRule(const Napi::CallbackInfo& info) {
  const std::string rule = StringAt(info, 0), text = rule.substr(0, rule.rfind(':'));
  if (!filter::LooksLikeFormula(text)) return info.Env().Undefined();
  const auto formula = filter::ParseFormula(text, {});
  if (!formula.ok()) {
    MakeError(info.Env(), Status::Invalid("Invalid formula in the ranking rule `" + rule +
                                              "`: " + formula.status().message() + ".",
                                          "invalid_settings_ranking_rules"))
        .ThrowAsJavaScriptException();
  }
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

constexpr NamedFunction kVerifyFunctions[] = {
    {"checkFilter", CheckFilter},   {"checkLargeFilter", CheckLargeFilter},
    {"verifyIndex", VerifyIndexAt}, {"checkDatabase", CheckDatabase},
    {"sumOfValue", SumOfValue},     {"checkRankingRule", CheckRankingRule},
};

}  // namespace

std::span<const NamedFunction> VerifyFunctions() { return kVerifyFunctions; }

}  // namespace gannet::addon
