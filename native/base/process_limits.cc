#include "base/process_limits.h"

#include <sys/resource.h>

namespace gannet {

bool LimitProcess([[maybe_unused]] pid_t process, [[maybe_unused]] uint64_t data_bytes) {
#ifdef __linux__
  const rlimit data{data_bytes, data_bytes};
  const rlimit core{0, 0};
  return prlimit(process, RLIMIT_DATA, &data, nullptr) == 0 &&
         prlimit(process, RLIMIT_CORE, &core, nullptr) == 0;
#else
  return false;
#endif
}

}  // namespace gannet
