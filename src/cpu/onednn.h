/* onednn.h - convolutions through oneDNN, for builds that have it: a second opinion for the tests, and a second way for
 * those who ask for it. Everything works without. */
#ifndef CPU_ONEDNN_H
#define CPU_ONEDNN_H
#include "tensor/device.h"

/* Puts oneDNN in place of the three f32 convolutions in a CPU device's table. Threads are oneDNN's own. */
void onednn_take_over(struct device *d);
const char *onednn_version(void); /* "2.6.3", of the library that is loaded */
#endif
