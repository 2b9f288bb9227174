#include "addon/channel.h"

namespace gannet::addon {

std::shared_ptr<Channel> Channel::Create(Napi::Env env) {
  auto channel = std::shared_ptr<Channel>(new Channel());
  auto* held = new std::shared_ptr<Channel>(channel);
  napi_value name;
  napi_create_string_utf8(env, "gannet", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(
      env, nullptr, nullptr, name, 0, 1, held,
      [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<Channel>*>(data); },
      held,
      [](napi_env call_env, napi_value, void* context, void*) {
        // The environment is null while it is being torn down.
        if (call_env != nullptr)
          (*static_cast<std::shared_ptr<Channel>*>(context))->Drain(call_env);
      },
      &channel->function_);
  napi_unref_threadsafe_function(env, channel->function_);
  napi_add_env_cleanup_hook(
      env,
      [](void* data) {
        auto* hook = static_cast<std::shared_ptr<Channel>*>(data);
        (*hook)->Close();
        delete hook;
      },
      new std::shared_ptr<Channel>(channel));
  return channel;
}

void Channel::Expect(napi_env env) {
  if (expected_++ == 0) napi_ref_threadsafe_function(env, function_);
}

void Channel::Add(Completion completion, bool expected) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  ready_.push_back({std::move(completion), expected});
  if (woken_) return;
  woken_ = true;
  napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
}

void Channel::Drain(napi_env env) {
  std::vector<Ready> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(ready_);
    woken_ = false;
  }
  for (Ready& next : ready) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) != napi_ok) continue;
    next.completion(env);
    napi_close_handle_scope(env, scope);
    if (next.expected && --expected_ == 0) napi_unref_threadsafe_function(env, function_);
  }
}

void Channel::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.clear();
}

}  // namespace gannet::addon
