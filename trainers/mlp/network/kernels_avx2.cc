#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const MlpKernels kAvx2MlpKernels;
const MlpKernels kAvx2MlpKernels = KernelsNamed("avx2");
}  // namespace winnow::mlp
