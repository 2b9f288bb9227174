// Whether the build uses a sanitizer. The sanitizer then replaces `operator new`, and freed memory
// must not be pooled: the sanitizer would not see its use. GCC and clang report a sanitizer in
// different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GANNET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define GANNET_SANITIZED 1
#endif
#endif
