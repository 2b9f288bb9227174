// Returning to the JavaScript thread.
//
// A completion is a closure that runs on the JavaScript thread of one environment; the channel
// wakes that thread once for all pending completions. While nothing is expected the channel does
// not keep the process alive.
//
// Threads: a Channel may be used from any thread; completions run on the environment's thread.
#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace gannet::addon {

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  using Completion = std::function<void(napi_env)>;
  static std::shared_ptr<Channel> Create(Napi::Env env);

  // Announces one more completion. Call on the JavaScript thread.
  void Expect(napi_env env);
  // Runs an expected completion. Call on any thread. After the environment has closed the
  // completion is dropped.
  void Complete(Completion completion) { Add(std::move(completion), true); }
  // The same for a completion that was not expected: it does not keep the process alive.
  void Notify(Completion completion) { Add(std::move(completion), false); }

 private:
  Channel() = default;
  void Add(Completion completion, bool expected);
  void Drain(napi_env env);
  void Close();
  napi_threadsafe_function function_ = nullptr;
  uint64_t expected_ = 0;  // used by the JavaScript thread only
  std::mutex mutex_;       // guards the members below
  struct Ready {
    Completion completion;
    bool expected;
  };
  std::vector<Ready> ready_;
  bool closed_ = false;
  bool woken_ = false;
};

}  // namespace gannet::addon
