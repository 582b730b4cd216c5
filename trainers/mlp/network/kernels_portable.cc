#include "trainers/mlp/network/kernels.inc.h"

namespace winnow::mlp {
extern const MlpKernels kPortableMlpKernels;
const MlpKernels kPortableMlpKernels = KernelsNamed("off");
}  // namespace winnow::mlp
