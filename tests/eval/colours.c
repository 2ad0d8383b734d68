/* colours.c - pictures that differ by colour, with some differences within a class. */
#include "tests/eval/colours.h"
#include "tests/data/sample.h"
#include <stdio.h>

void colour_set(void)
{
    for (int c = 0; c <= COLOUR_CLASSES; c++)
        for (int i = 0; i < (c < COLOUR_CLASSES ? COLOUR_EACH : 2); i++) {
            char name[64], ppm[SAMPLE_PPM_BYTES];
            sample_ppm(50, ppm);
            for (int p = 0; p < 4; p++) {
                ppm[11 + 3 * p + c % 3] = (char)(60 + 15 * c + 9 * i);
                ppm[11 + 3 * p + (c + p) % 3] = (char)(80 + 5 * c - 3 * i);
            }
            snprintf(name, sizeof name, "set/test/c%d/%d.ppm", c, i);
            sample_file(name, ppm, sizeof ppm);
        }
}
