// Choosing between variants of a function. The binary is compiled for any processor of its
// architecture; functions that gain from newer instructions have a variant for them, chosen at
// first use.
#pragma once

#include <algorithm>

#include "base/tuning.h"

namespace gannet {

// The level of this machine, or Tuning::cpu_max if that is lower. REQUIRES: the first call comes
// after SetTuning.
inline CpuLevel Cpu() {
  static const CpuLevel level = [] {
    CpuLevel best = CpuLevel::kPortable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
        __builtin_cpu_supports("bmi"))
      best = CpuLevel::kAvx2;
    if (best == CpuLevel::kAvx2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
        __builtin_cpu_supports("avx512vpopcntdq")) {
      best = CpuLevel::kAvx512;
    }
#endif
    return std::min(best, Tuned().cpu_max);
  }();
  return level;
}

// The variant for this machine.
template <typename Function>
Function* ForCpu([[maybe_unused]] Function* avx512, [[maybe_unused]] Function* avx2,
                 Function* portable) {
  switch (Cpu()) {
    case CpuLevel::kAvx512: return avx512;
    case CpuLevel::kAvx2: return avx2;
    default: return portable;
  }
}

}  // namespace gannet
