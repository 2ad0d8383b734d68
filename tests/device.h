/* device.h - the device that the numerical tests run on: the CPU, or the one that CENTRA_TEST_DEVICE names.
 *
 * The suites of primitives, operators, heads and networks are the same for every device; only how a tensor is filled and
 * read differs, and their rigs hide that. */
#ifndef TESTS_DEVICE_H
#define TESTS_DEVICE_H
#include "base/arena.h"
#include "base/pool.h"
#include "tensor/device.h"

/* "cuda", or NULL for the CPU. */
const char *test_device(void);
/* Opens that device; on the CPU with the instruction set `isa` (NULL: as usual). */
status test_device_open(pool *threads, const char *isa, struct device **out);
/* The CPU whatever the device under test is: what that is compared with. */
status test_cpu_open(pool *threads, const char *isa, struct device **out);
/* An arena over memory that both the host and the test device can follow; NULL when there is none. The device is open. */
arena *test_device_arena(size_t first_block_bytes);
/* For tests of what only the CPU promises: true, and the test is marked as skipped, on another device. */
bool test_is_for_cpu(void);
#endif
