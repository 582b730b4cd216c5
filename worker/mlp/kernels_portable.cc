#include "worker/mlp/kernels.inc.h"

namespace winnow {
extern const MlpKernels kPortableMlpKernels;
const MlpKernels kPortableMlpKernels = KernelsNamed("off");
}  // namespace winnow
