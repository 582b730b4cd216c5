#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const MlpKernels kAvx512MlpKernels;
const MlpKernels kAvx512MlpKernels = KernelsNamed("avx512");
}  // namespace winnow::mlp
