#include "worker/mlp/kernels.inc.h"

namespace winnow {
extern const MlpKernels kAvx512Bf16MlpKernels;
const MlpKernels kAvx512Bf16MlpKernels = KernelsNamed("avx512bf16");
}  // namespace winnow
