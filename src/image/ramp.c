/* ramp.c - a perceptual colour ramp by formula.
 *
 * In OKLCh (Ottosson 2020: OKLab's lightness, chroma and hue angle) the lightness grows in even steps, so that equal
 * differences of the value look equal, order is never in doubt, and a grey print still reads. The hue turns from violet
 * over red to yellow: its ends differ along the axis of blue and yellow, which those who confuse red and green see as
 * well. The chroma swells in the middle, and shrinks where the screen cannot show so much. */
#include "image/ramp.h"
#include <math.h>
#include <stdbool.h>

static const double DARKEST = 0.22, LIGHTEST = 0.95;    /* OKLab's lightness */
static const double FIRST_HUE = 288, LAST_HUE = 468;    /* degrees; 468 is 108, once around */
static const double LEAST_CHROMA = 0.11, SWELL = 0.085; /* chroma at the ends, and what the middle has more */
static const double PI = 3.14159265358979323846;

/* OKLab to linear sRGB; false where that is outside of what a screen shows. */
static bool linear_rgb(double lightness, double a, double b, double out[3])
{
    const double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    const double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    const double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    const double l3 = l * l * l, m3 = m * m * m, s3 = s * s * s;
    out[0] = 4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3;
    out[1] = -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3;
    out[2] = -0.0041960863 * l3 - 0.7034186147 * m3 + 1.7076147010 * s3;
    for (int c = 0; c < 3; c++)
        if (!(out[c] >= 0 && out[c] <= 1)) return false;
    return true;
}

static uint8_t screen_value(double linear)
{
    const double x = fmin(fmax(linear, 0), 1);
    const double v = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (uint8_t)(255 * v + 0.5);
}

void ramp_colour(double value, uint8_t rgb[3])
{
    const double v = value > 0 ? fmin(value, 1) : 0; /* not a number: 0 */
    const double lightness = DARKEST + (LIGHTEST - DARKEST) * v;
    const double hue = (FIRST_HUE + (LAST_HUE - FIRST_HUE) * v) * PI / 180;
    const double chroma = LEAST_CHROMA + SWELL * sin(PI * v);
    double linear[3], shown = chroma, grey = 0;
    const bool fits = linear_rgb(lightness, chroma * cos(hue), chroma * sin(hue), linear);
    for (int step = 0; !fits && step < 12; step++) { /* grey always fits */
        const double middle = (grey + shown) / 2;
        if (linear_rgb(lightness, middle * cos(hue), middle * sin(hue), linear)) grey = middle;
        else shown = middle;
    }
    if (!fits) linear_rgb(lightness, grey * cos(hue), grey * sin(hue), linear);
    for (int c = 0; c < 3; c++) rgb[c] = screen_value(linear[c]);
}

void ramp_fill(struct ramp *out)
{
    for (int i = 0; i < RAMP_STEPS; i++) ramp_colour(i / (RAMP_STEPS - 1.0), out->rgb[i]);
}
