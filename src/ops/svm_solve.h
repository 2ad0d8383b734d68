/* svm_solve.h - the dual of the Crammer-Singer machine, a convex quadratic program, on the host in double.
 *
 * minimise 1/2 sum_m x_m^T (K + ridge) x_m - sum_i x[y_i, i]   subject to   x[m, i] <= c [m = y_i],   sum_m x[m, i] = 0
 *
 * with x [way, rows], one vector x_m for each class. A primal-dual interior point by Mehrotra, as qpth has it: from its own
 * start, best iterate kept. The kernel couples numbers of one class only, so every system falls apart into `way` matrices of
 * size `rows` and one Schur complement of that size. */
#ifndef OPS_SVM_SOLVE_H
#define OPS_SVM_SOLVE_H
#include "ops/ops.h"

struct svm_problem {
    size_t rows, way;
    const double *kernel; /* [rows, rows] */
    const size_t *first;  /* class m has the rows first[m] up to first[m + 1] */
    struct svm settings;
};

struct svm_point {       /* all [way, rows] but y */
    double *x, *s, *z;   /* variables, slack below the bound, multiplier of the bound */
    double *y;           /* [rows]: multipliers of the sums */
    unsigned char *held; /* 1: at its bound; only when `exact` */
    bool exact;          /* the conditions of the optimum hold to rounding */
};

/* Memory of the tape. ST_NUMERIC when the kernel is not positive semidefinite, or not finite. */
status svm_solve(tape *t, const struct svm_problem *p, struct svm_point *out);
/* For g [way, rows], the derivative of something by x: the vector d [way, rows] with which its derivative by the kernel is
 * 1/2 sum_m (d_m x_m^T + x_m d_m^T). */
status svm_derivative(tape *t, const struct svm_problem *p, const struct svm_point *at, const double *g, double **d);
#endif
