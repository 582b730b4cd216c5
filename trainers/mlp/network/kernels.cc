#include "trainers/mlp/network/kernels.h"

#include <cstdlib>
#include <string_view>

namespace winnow::mlp {

extern const MlpKernels kPortableMlpKernels;
#if defined(__x86_64__)
extern const MlpKernels kAvx2MlpKernels, kAvx512MlpKernels, kAvx512Bf16MlpKernels;
#endif

const MlpKernels* const* RunnableMlpKernels(int* count) {
  static const MlpKernels* runnable[4] = {&kPortableMlpKernels};
  static const int runnable_count = [] {
    int found = 1;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2) runnable[found++] = &kAvx2MlpKernels;
    if (avx2 && avx512) runnable[found++] = &kAvx512MlpKernels;
    if (avx2 && avx512 && __builtin_cpu_supports("avx512bf16")) runnable[found++] = &kAvx512Bf16MlpKernels;
#endif
    return found;
  }();
  *count = runnable_count;
  return runnable;
}

const MlpKernels& ChosenMlpKernels() {
  static const MlpKernels& chosen = []() -> const MlpKernels& {
    int count = 0;
    const MlpKernels* const* runnable = RunnableMlpKernels(&count);
    const char* asked = std::getenv("WINNOW_SIMD");
    const std::string_view wish = asked == nullptr ? "" : asked;
    for (int i = 0; i < count; ++i) {
      if (wish == runnable[i]->name) return *runnable[i];
    }
    return *runnable[count - 1];
  }();
  return chosen;
}

}  // namespace winnow::mlp
