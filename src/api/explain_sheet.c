/* explain_sheet.c - the colours of explanations. */
#include "centra.h"
#include "image/ramp.h"

void centra_ramp(double value, unsigned char rgb[3])
{
    if (rgb) ramp_colour(value, rgb);
}
