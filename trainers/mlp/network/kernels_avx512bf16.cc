#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const MlpKernels kAvx512Bf16MlpKernels;
const MlpKernels kAvx512Bf16MlpKernels = KernelsNamed("avx512bf16");
}  // namespace winnow::mlp
