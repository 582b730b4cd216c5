#define WINNOW_KERNELS kAvx2Kernels
#define WINNOW_KERNELS_NAME "avx2"
#include "trainers/gbdt/tree/kernels.inc.h"
