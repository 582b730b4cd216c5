#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = KernelsNamed("avx2");
}  // namespace winnow::mlp
