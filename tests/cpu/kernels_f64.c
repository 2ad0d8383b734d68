/* kernels_f64.c - the checks of the double kernels. */
#define CENTRA_REAL 64
#include "tests/cpu/check.h"
#include "tests/cpu/kernels_conv.h"
#include "tests/cpu/kernels_depthwise.h"
#include "tests/cpu/kernels_elementwise.h"
#include "tests/cpu/kernels_reduce.h"
#include "tests/cpu/kernels_gemm.h" /* after kernels_reduce.h, whose bounds it uses; so does the next */
#include "tests/cpu/kernels_walk.h"
#include "tests/cpu/kernels_norm.h"
#include "tests/cpu/kernels_winograd.h"
