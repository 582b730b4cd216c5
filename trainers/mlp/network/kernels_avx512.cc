#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = KernelsNamed("avx512");
}  // namespace winnow::mlp
