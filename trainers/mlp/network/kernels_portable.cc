#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const Kernels kPortableKernels;
const Kernels kPortableKernels = KernelsNamed("off");
}  // namespace winnow::mlp
