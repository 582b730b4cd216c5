#include "worker/mlp/kernels.inc.h"

namespace winnow {
extern const MlpKernels kAvx512MlpKernels;
const MlpKernels kAvx512MlpKernels = KernelsNamed("avx512");
}  // namespace winnow
