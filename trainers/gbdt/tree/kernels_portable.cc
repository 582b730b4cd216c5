#define WINNOW_KERNELS kPortableKernels
#define WINNOW_KERNELS_NAME "portable"
#include "trainers/gbdt/tree/kernels.inc.h"
