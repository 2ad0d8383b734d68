/* analyser.h - put before each file by tools/tidy.sh: tells the analyser that fail() returns the code it was given, which
 * it cannot see across files; else it follows paths on which a failure counts as success. */
#include "base/status.h"
#define fail(code, ...) ((void)fail(code, __VA_ARGS__), (code))
