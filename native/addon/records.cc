// Commits of indexes as records of a log that JavaScript keeps.
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "addon/calls.h"

namespace gannet::addon {
namespace {

using index::CommitLog;

// Leaves each commit to JavaScript, which calls prepareCommit when the commit is the next one, and
// endCommit when its outcome is known.
class ScriptLog : public CommitLog {
 public:
  ScriptLog(std::shared_ptr<Channel> channel, std::shared_ptr<Napi::FunctionReference> prepare)
      : channel_(std::move(channel)), prepare_(std::move(prepare)) {}

  Outcome Append(const std::string& dir, const std::vector<uint64_t>& files,
                 const std::function<Result<std::string>()>& prepare) override {
    std::unique_lock lock(mutex_);
    const uint32_t id = next_++;
    Call& call = calls_[id];
    CallPrepare(id, dir, files);
    changed_.wait(lock, [&] { return call.requested || call.outcome; });
    if (call.requested && !call.outcome) {
      const napi_deferred deferred = call.deferred;
      lock.unlock();
      auto delta = std::make_shared<Result<std::string>>(Status::Internal("unknown failure"));
      try {
        *delta = prepare();
      } catch (const std::exception& error) {
        *delta = Status::Internal(error.what());
      }
      const Status status = delta->ok() ? Status::Ok() : delta->status();
      channel_->Complete([deferred, delta](napi_env raw) {
        const Napi::Env env(raw);
        if (delta->ok()) {
          napi_resolve_deferred(raw, deferred, ToBuffer(env, **delta));
        } else {
          napi_reject_deferred(raw, deferred, MakeError(env, delta->status()).Value());
        }
      });
      lock.lock();
      if (!status.ok()) {
        calls_.erase(id);
        return {End::kNotWritten, status};
      }
      changed_.wait(lock, [&] { return call.outcome.has_value(); });
    }
    Outcome outcome = std::move(*call.outcome);
    calls_.erase(id);
    return outcome;
  }
  uint64_t first_number() const override { return first_number_; }
  bool leads() const override { return leads_; }
  // first_number: null where it does not.
  void Lead(const uint64_t* first_number) {
    if (first_number != nullptr) first_number_ = *first_number;
    leads_ = first_number != nullptr;
  }

  // On the JavaScript thread. False: there is no such commit, or it was prepared before.
  bool Prepare(uint32_t id, napi_env env, napi_deferred deferred) {
    {
      const std::lock_guard lock(mutex_);
      const auto call = calls_.find(id);
      if (call == calls_.end() || call->second.requested || call->second.outcome) return false;
      channel_->Expect(env);
      call->second.requested = true;
      call->second.deferred = deferred;
    }
    changed_.notify_all();
    return true;
  }
  void Finish(uint32_t id, Outcome outcome) {
    {
      const std::lock_guard lock(mutex_);
      const auto call = calls_.find(id);
      if (call == calls_.end() || call->second.outcome) return;
      call->second.outcome = std::move(outcome);
    }
    changed_.notify_all();
  }

 private:
  struct Call {
    bool requested = false;
    napi_deferred deferred = nullptr;
    std::optional<Outcome> outcome;
  };
  void CallPrepare(uint32_t id, const std::string& dir, const std::vector<uint64_t>& files) {
    channel_->Notify([prepare = prepare_, id, dir, files](napi_env raw) {
      const Napi::Env env(raw);
      auto names = Napi::Array::New(env, files.size());
      for (uint32_t i = 0; i < files.size(); ++i)
        names.Set(i, Napi::String::New(env, std::to_string(files[i])));
      prepare->Call({Napi::Number::New(env, id), Napi::String::New(env, dir), names});
      if (env.IsExceptionPending()) env.GetAndClearPendingException();
    });
  }

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<Napi::FunctionReference> prepare_;
  std::atomic<uint64_t> first_number_{0};
  std::atomic<bool> leads_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<uint32_t, Call> calls_;
  uint32_t next_ = 1;
};

// The log of the process; used by the JavaScript thread that has set it.
std::shared_ptr<ScriptLog>& TheScriptLog() {
  static auto* log = new std::shared_ptr<ScriptLog>();
  return *log;
}

Napi::Value SetCommitLog(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  TheScriptLog() = nullptr;
  if (info[0].IsFunction()) {
    const auto channel = ChannelOf(env);
    const std::shared_ptr<Napi::FunctionReference> prepare(
        new Napi::FunctionReference(Napi::Persistent(info[0].As<Napi::Function>())),
        [channel](Napi::FunctionReference* last) {
          channel->Notify([last](napi_env) { delete last; });
        });
    TheScriptLog() = std::make_shared<ScriptLog>(channel, prepare);
  }
  index::Index::SetLog(TheScriptLog());
  return env.Undefined();
}

Napi::Value Lead(const Napi::CallbackInfo& info) {
  const auto& log = TheScriptLog();
  if (log == nullptr) return info.Env().Undefined();
  if (info[0].IsBigInt()) {
    bool lossless = false;
    const uint64_t first = info[0].As<Napi::BigInt>().Uint64Value(&lossless);
    log->Lead(&first);
    Engine::Instance().ScheduleAll();
  } else {
    log->Lead(nullptr);
  }
  return info.Env().Undefined();
}

Napi::Value PrepareCommit(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_deferred deferred;
  napi_value promise;
  napi_create_promise(env, &deferred, &promise);
  const auto& log = TheScriptLog();
  if (log == nullptr || !log->Prepare(info[0].ToNumber().Uint32Value(), env, deferred)) {
    const Status ended = Status::Cancelled("The commit has ended.");
    napi_reject_deferred(env, deferred, MakeError(env, ended).Value());
  }
  return Napi::Value(env, promise);
}

Napi::Value EndCommit(const Napi::CallbackInfo& info) {
  const std::string end = StringAt(info, 1), code = StringAt(info, 2), message = StringAt(info, 3);
  CommitLog::Outcome outcome{CommitLog::End::kApplied, Status::Ok()};
  if (end != "applied") {
    outcome.end = end == "notWritten" ? CommitLog::End::kNotWritten : CommitLog::End::kUnknown;
    outcome.status = code == "canceled" ? Status::Cancelled(message)
                                        : Status(StatusCode::kInternal, message, code);
  }
  if (const auto& log = TheScriptLog(); log != nullptr)
    log->Finish(info[0].ToNumber().Uint32Value(), std::move(outcome));
  return info.Env().Undefined();
}

Napi::Value ApplyRecord(const Napi::CallbackInfo& info) {
  const auto open = IndexOf(info);
  if (!open || !info[2].IsNumber() || !info[3].IsBuffer()) return info.Env().Undefined();
  const auto sequence = static_cast<uint64_t>(info[2].As<Napi::Number>().Int64Value());
  const auto bytes = info[3].As<Napi::Buffer<char>>();
  // The buffer lives until the promise settles.
  const auto held = std::make_shared<Napi::Reference<Napi::Buffer<char>>>(Napi::Persistent(bytes));
  return Async<bool>(
      info.Env(), Engine::Instance().records(),
      [open, log_id = StringAt(info, 1), sequence,
       delta = std::string_view(bytes.Data(), bytes.Length())] {
        auto applied = open->index->ApplyRecord(log_id, sequence, delta);
        if (applied.ok()) Engine::Instance().CheckAhead(*open);
        return applied;
      },
      [held](Napi::Env env, bool& applied) {
        held->Reset();
        return Napi::Boolean::New(env, applied);
      });
}

constexpr NamedFunction kRecordFunctions[] = {
    {"setCommitLog", SetCommitLog},   {"lead", Lead},
    {"prepareCommit", PrepareCommit}, {"endCommit", EndCommit},
    {"applyRecord", ApplyRecord},
};

}  // namespace

std::span<const NamedFunction> RecordFunctions() { return kRecordFunctions; }

}  // namespace gannet::addon
