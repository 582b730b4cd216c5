#include "trainers/mlp/network/kernels.h"

#include <cstdlib>
#include <string_view>

namespace winnow::mlp {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels, kAvx512Kernels, kAvx512Bf16Kernels;
#endif

const Kernels* const* RunnableKernels(int* count) {
  static const Kernels* runnable[4] = {&kPortableKernels};
  static const int runnable_count = [] {
    int found = 1;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2) runnable[found++] = &kAvx2Kernels;
    if (avx2 && avx512) runnable[found++] = &kAvx512Kernels;
    if (avx2 && avx512 && __builtin_cpu_supports("avx512bf16")) runnable[found++] = &kAvx512Bf16Kernels;
#endif
    return found;
  }();
  *count = runnable_count;
  return runnable;
}

const Kernels& ChosenKernels() {
  static const Kernels& chosen = []() -> const Kernels& {
    int count = 0;
    const Kernels* const* runnable = RunnableKernels(&count);
    const char* asked = std::getenv("WINNOW_SIMD");
    const std::string_view wish = asked == nullptr ? "" : asked;
    for (int i = 0; i < count; ++i) {
      if (wish == runnable[i]->name) return *runnable[i];
    }
    return *runnable[count - 1];
  }();
  return chosen;
}

bool IsBf16Fast() {
  if (const char* asked = std::getenv("WINNOW_SIMD"); asked != nullptr && *asked != '\0') return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) return false;
#endif
  return ChosenKernels().native_bf16;
}

}  // namespace winnow::mlp
