// The functions for documents: pages of them, one of them, all of them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addon/calls.h"
#include "search/documents.h"

namespace gannet::addon {
namespace {

constexpr uint64_t kListingPartBytes = 256 << 10;

// A listing in progress.
struct OpenListing {
  std::unique_ptr<search::Listing> listing;
  CancelFlag cancelled;
  bool limited;  // each part has a time limit
};

struct ListingPart {
  std::string bytes;
  std::shared_ptr<OpenListing> rest;  // null: this was the last part
};

Result<ListingPart> NextPart(std::shared_ptr<OpenListing> open) {
  return RunStoppable(ListingConditions(open->cancelled, open->limited),
                      [&]() -> Result<ListingPart> {
                        ListingPart part;
                        GANNET_ASSIGN_OR_RETURN(const bool last,
                                                open->listing->Next(kListingPartBytes, part.bytes));
                        if (!last) part.rest = std::move(open);
                        return part;
                      });
}

Napi::Value ToPart(Napi::Env env, ListingPart& part) {
  auto object = Napi::Object::New(env);
  object.Set("bytes", ToPooledBuffer(env, part.bytes));
  object.Set("rest", part.rest ? Napi::Value(Hold(env, std::move(part.rest))) : env.Null());
  return object;
}

Napi::Value FetchDocuments(const Napi::CallbackInfo& info) {
  auto open = IndexOf(info);
  if (!open) return info.Env().Undefined();
  Engine::Instance().NoteSearch();
  const bool limited = !(info.Length() > 3 && info[3].ToBoolean().Value());
  return Async<ListingPart>(
      info.Env(), Engine::Instance().searches(),
      [open = std::move(open), request = TextAt(info, 1), cancelled = CancelFlagAt(info, 2),
       limited]() -> Result<ListingPart> {
        auto listing = std::make_shared<OpenListing>(OpenListing{nullptr, cancelled, limited});
        GANNET_RETURN_IF_ERROR(RunStoppable(ListingConditions(cancelled, limited), [&]() -> Status {
          StopPoint();
          GANNET_ASSIGN_OR_RETURN(listing->listing, search::Listing::Open(*open->index, request));
          return Status::Ok();
        }));
        return NextPart(std::move(listing));
      },
      ToPart);
}

// The part after the one that gave `rest`, which is used up.
Napi::Value FetchRest(const Napi::CallbackInfo& info) {
  auto& held = *info[0].As<Napi::External<std::shared_ptr<OpenListing>>>().Data();
  if (!held) {
    MakeError(info.Env(), Status::Internal("the rest of the listing was taken already"))
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Async<ListingPart>(
      info.Env(), Engine::Instance().searches(),
      [listing = std::move(held)] { return NextPart(listing); }, ToPart);
}

// Releases what the listing holds, which would otherwise wait for the garbage collector.
Napi::Value DropRest(const Napi::CallbackInfo& info) {
  info[0].As<Napi::External<std::shared_ptr<OpenListing>>>().Data()->reset();
  return info.Env().Undefined();
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
  return ToPooledBuffer(info.Env(), **document);
}

// A stream as JavaScript holds it. Its memory is freed when it is garbage collected; what it reads
// is released when it is closed.
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
      [open, request = StringAt(info, 1),
       cancelled = CancelFlagAt(info, 2)]() -> Result<StreamHandle> {
        return RunStoppable(ConditionsOf(cancelled.get()), [&]() -> Result<StreamHandle> {
          StopPoint();
          GANNET_ASSIGN_OR_RETURN(auto stream, search::DocumentStream::Open(*open->index, request));
          return StreamHandle(std::move(stream));
        });
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

constexpr NamedFunction kListingFunctions[] = {
    {"fetchDocuments", FetchDocuments},
    {"getDocument", GetDocument},
    {"openDocuments", OpenDocuments},
    {"nextDocuments", NextDocuments},
    {"rewindDocuments", RewindDocuments},
    {"closeDocuments", CloseDocuments},
    {"fetchRest", FetchRest},
    {"dropRest", DropRest},
};

}  // namespace

std::span<const NamedFunction> ListingFunctions() { return kListingFunctions; }

}  // namespace gannet::addon
