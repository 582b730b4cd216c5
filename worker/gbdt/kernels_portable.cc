#define WINNOW_KERNELS kPortableKernels
#define WINNOW_KERNELS_NAME "portable"
#include "worker/gbdt/kernels.inc.h"
