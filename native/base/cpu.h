// Which variants of functions run: the binary is compiled for any processor of its kind, and what pays to be written for
// younger ones is chosen when the program starts.
#pragma once

#include <cstdlib>
#include <string_view>

namespace gannet {

enum class CpuLevel {
  kPortable,
  kAvx2,    // and POPCNT, BMI
  kAvx512,  // F, BW, VBMI, VBMI2, VNNI and VPOPCNTDQ
};

// The level of this machine, or a lower one that GANNET_CPU names (`portable`, `avx2`): so tests reach every variant.
inline CpuLevel Cpu() {
  static const CpuLevel level = [] {
    CpuLevel best = CpuLevel::kPortable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi")) best = CpuLevel::kAvx2;
    if (best == CpuLevel::kAvx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
        __builtin_cpu_supports("avx512vpopcntdq")) {
      best = CpuLevel::kAvx512;
    }
#endif
    const char* named = std::getenv("GANNET_CPU");
    const std::string_view wanted = named == nullptr ? "" : named;
    if (wanted == "portable") return CpuLevel::kPortable;
    if (wanted == "avx2" && best == CpuLevel::kAvx512) return CpuLevel::kAvx2;
    return best;
  }();
  return level;
}

// The variant for this machine.
template <typename Function>
Function* ForCpu([[maybe_unused]] Function* avx512, [[maybe_unused]] Function* avx2, Function* portable) {
  switch (Cpu()) {
    case CpuLevel::kAvx512: return avx512;
    case CpuLevel::kAvx2: return avx2;
    default: return portable;
  }
}

}  // namespace gannet
