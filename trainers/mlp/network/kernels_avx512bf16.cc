#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const Kernels kAvx512Bf16Kernels;
const Kernels kAvx512Bf16Kernels = KernelsNamed("avx512bf16");
}  // namespace winnow::mlp
