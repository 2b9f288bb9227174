// Whether a sanitizer watches the memory: then it is that of the sanitizer, with its own `operator
// new`, and nothing is kept that was freed, since a use of it would not be seen. GCC and clang tell
// it in different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GANNET_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define GANNET_SANITIZED 1
#endif
#endif
