#define WINNOW_KERNELS kAvx512Kernels
#define WINNOW_KERNELS_NAME "avx512"
#include "trainers/gbdt/tree/kernels.inc.h"
