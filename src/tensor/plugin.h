/* plugin.h - what a device that lives in a shared object of its own exports: one table, under the name centra_plugin.
 *
 * The library opens the object when such a device is asked for (api/plugin.c), compares the two numbers before it calls
 * anything, and refuses an object that was made from other headers. A plug-in has no error slot of its own: it explains
 * failures through the function that it is given, so that the sentence lies where the caller looks for it. */
#ifndef TENSOR_PLUGIN_H
#define TENSOR_PLUGIN_H
#include "tensor/device.h"

typedef status (*plugin_fail)(status st, const char *format, ...);

struct plugin {
    uint32_t abi, bytes; /* DEVICE_ABI and sizeof(struct device) of the headers it was made from */
    status (*open)(plugin_fail fail, int number, struct device **out); /* the number behind the colon; 0 without one */
};

#define PLUGIN_SYMBOL "centra_plugin"
#endif
