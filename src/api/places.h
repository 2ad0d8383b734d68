/* places.h - where the library and the program lie: what came along is looked for around them. */
#ifndef API_PLACES_H
#define API_PLACES_H
#include <limits.h>

/* The folder of each; "" where the system does not tell. */
void place_of_library(char out[PATH_MAX]);
void place_of_program(char out[PATH_MAX]);
#endif
