#define WINNOW_KERNELS kAvx2Kernels
#define WINNOW_KERNELS_NAME "avx2"
#include "worker/gbdt/kernels.inc.h"
