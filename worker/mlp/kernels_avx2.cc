#include "worker/mlp/kernels.inc.h"

namespace winnow {
extern const MlpKernels kAvx2MlpKernels;
const MlpKernels kAvx2MlpKernels = KernelsNamed("avx2");
}  // namespace winnow
