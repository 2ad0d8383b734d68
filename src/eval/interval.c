/* interval.c - Student's t by its own continued fraction.
 *
 * With r = t / sqrt(degrees) and x = 1 / (1 + r r), P(|T| > t) is the incomplete beta function I_x(degrees/2, 1/2). It
 * is computed as its continued fraction (Lentz's method), from whichever of x and 1 - x makes that converge quickly;
 * logarithms keep far tails and many degrees exact. The quantile is found by Newton's method on logarithms, where both
 * tail and middle are nearly straight lines, with bisection as the fallback. */
#include "eval/interval.h"
#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* log(gamma(a + 1/2) / gamma(a)), by its series for large a and steps down to small ones. */
static double log_gamma_ratio(double a)
{
    double steps = 0;
    while (a < 20) steps += log1p(0.5 / a), a += 1;
    const double i = 1 / a, i2 = i * i;
    return 0.5 * log(a) - i * (1.0 / 8 - i2 * (1.0 / 192 - i2 * (1.0 / 640 - i2 * 17.0 / 14336))) - steps;
}

static double away_from_zero(double v) { return fabs(v) < 1e-300 ? 1e-300 : v; }

/* The continued fraction of I_x(a, b), without the factor x^a (1-x)^b / (a B(a, b)); for x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST_TERMS = 100000 };
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        value *= c * d;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        value *= c * d;
        if (fabs(c * d - 1) < 1e-16) break;
    }
    return value;
}

struct student {
    double degrees, log_scale; /* log of 1 / B(degrees/2, 1/2) */
};

/* What the distribution is at t = exp(log_t): logarithms of P(T > t), of P(0 < T < t) and of t times the density. */
struct student_at {
    double tail, middle, slope;
};

static struct student_at student_at(const struct student *s, double log_t)
{
    const double a = s->degrees / 2, log_r = log_t - 0.5 * log(s->degrees);
    const double r2 = exp(2 * log_r);
    const double log_x = log_r > 20 ? -2 * log_r : -log1p(r2); /* beyond, 1 + r r is r r */
    const double log_y = log_r > 20 ? 0 : 2 * log_r + log_x;   /* of y = 1 - x */
    const double factor = s->log_scale + a * log_x + 0.5 * log_y;
    struct student_at at;
    at.slope = factor; /* t f(t) = x^a y^(1/2) / B(a, 1/2) */
    if (exp(log_x) < (a + 1) / (a + 2.5)) {
        at.tail = factor - log(2 * a) + log(beta_fraction(a, 0.5, exp(log_x)));
        at.middle = log(0.5 - fmin(0.5, exp(at.tail)));
    } else {
        at.middle = factor + log(beta_fraction(0.5, a, exp(log_y))); /* half of I_y(1/2, a); its 1/a is 2 */
        at.tail = log(0.5 - fmin(0.5, exp(at.middle)));
    }
    return at;
}

/* t > 0 with P(T > t) = tail and P(0 < T < t) = middle; of the two, which add up to 1/2, the smaller is matched. */
static double solve(const struct student *s, double tail, double middle)
{
    const bool by_tail = tail < middle;
    const double wanted = log(by_tail ? tail : middle);
    double low = -745, high = 3000, u = 0; /* log t; above 709, t itself is infinite */
    for (int i = 0; i < 200; i++) {
        const struct student_at at = student_at(s, u);
        const double seen = by_tail ? at.tail : at.middle;
        const double slope = by_tail ? -exp(at.slope - at.tail) : exp(at.slope - at.middle);
        if ((seen > wanted) == by_tail) low = u;
        else high = u;
        double next = u - (seen - wanted) / slope;
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (fabs(next - u) < 1e-15 * fmax(1, fabs(u))) return exp(next);
        u = next;
    }
    return exp(u);
}

double student_quantile(double p, double degrees)
{
    if (!(p >= 0 && p <= 1 && degrees > 0) || isinf(degrees)) return (double)NAN;
    if (p == 0 || p == 1) return p == 0 ? -(double)INFINITY : (double)INFINITY;
    if (p == 0.5) return 0;
    const struct student s = {degrees, log_gamma_ratio(degrees / 2) - 0.5 * log(acos(-1.0))};
    return p < 0.5 ? -solve(&s, p, 0.5 - p) : solve(&s, 1 - p, p - 0.5);
}

double student_below(double t, double degrees)
{
    if (isnan(t) || !(degrees > 0) || isinf(degrees)) return (double)NAN;
    if (t == 0) return 0.5;
    if (isinf(t)) return t > 0;
    const struct student s = {degrees, log_gamma_ratio(degrees / 2) - 0.5 * log(acos(-1.0))};
    const double tail = exp(student_at(&s, log(fabs(t))).tail);
    return t > 0 ? 1 - tail : tail;
}

/* Of a[i] - b[i], or of a[i] where b is NULL. Two passes, so that a mean far from 0 costs no digits. */
static struct interval measure(const double *a, const double *b, size_t n, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    struct interval out = {(double)NAN, (double)NAN, n};
    if (n == 0) return out;
    double sum = 0, rest = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += b ? a[i] - b[i] : a[i];
    out.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = (b ? a[i] - b[i] : a[i]) - out.mean;
        rest += d;
        squares += d * d;
    }
    if (n < 2) return out;
    const double variance = fmax(0, squares - rest * rest / (double)n) / (double)(n - 1);
    out.half = student_quantile(0.5 + confidence / 2, (double)(n - 1)) * sqrt(variance / (double)n);
    return out;
}

struct interval interval_of(const double *values, size_t n, double confidence)
{
    return measure(values, NULL, n, confidence);
}

struct interval interval_of_difference(const double *a, const double *b, size_t n, double confidence)
{
    return measure(a, b, n, confidence);
}
