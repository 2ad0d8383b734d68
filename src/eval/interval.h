/* interval.h - means with honest uncertainty: Student's t over episodes, and paired differences. */
#ifndef EVAL_INTERVAL_H
#define EVAL_INTERVAL_H
#include <stddef.h>

struct interval {
    double mean, half; /* mean +- half is the interval; half is NaN for fewer than 2 values, mean for none */
    size_t count;
};
/* t such that P(T <= t) = p, to 1e-10 relative; infinite for p = 0 and 1, NaN where there is none. Degrees need not be
 * whole. */
double student_quantile(double p, double degrees);
/* P(T <= t). */
double student_below(double t, double degrees);
/* `confidence`: 0.95 for the 95 % interval. */
struct interval interval_of(const double *values, size_t n, double confidence);
/* The same of a[i] - b[i]. */
struct interval interval_of_difference(const double *a, const double *b, size_t n, double confidence);
#endif
