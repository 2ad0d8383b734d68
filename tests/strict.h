/* strict.h - a CPU that checks what ops promise to primitives (tensor/prims.def): shapes that agree, one type, labels and indices
 * in range. A primitive that reads or writes beyond a tensor may change no result; here it fails the test. */
#ifndef TESTS_STRICT_H
#define TESTS_STRICT_H
#include "tensor/device.h"

/* From now on calls of the device's primitives are checked before they are carried out. Other devices than the CPU are left alone. */
void strict_watch(struct device *d);
#endif
