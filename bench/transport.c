/* transport.c - the time of one problem of optimal transport beside OpenCV's, in turns, on features as deepemd meets them.
 *
 *     cc -O3 -ffp-contract=off -Isrc bench/transport.c -o build/bench-transport -lm -ldl
 *     build/bench-transport libopencv_imgproc.so.406
 *
 * OpenCV is opened by name and called through its C interface (cvCalcEMD2), so that none of its headers are needed. */
#define _POSIX_C_SOURCE 200809L
#include "base/transport.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHANNELS = 64, KINDS = 8, MOST = 144, PROBLEMS = 2000 };

struct cv_mat { /* CvMat, as OpenCV 1 to 4 have it */
    int type, step, *references, header_references;
    float *data;
    int rows, columns;
};
typedef float cv_emd(const void *, const void *, int, void *, const void *, void *, float *, void *);

static struct cv_mat matrix(int rows, int columns, float *data)
{
    const struct cv_mat m = {0x42424005, columns * 4, NULL, 0, data, rows, columns}; /* continuous, float */
    return m;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double noise(void) /* nearly normal */
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += rand() / (double)RAND_MAX;
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

static double features[2][MOST][CHANNELS];

/* Two maps whose locations show a few kinds of things, their weights, and 1 - cos of what centring leaves. */
static void draw(int r, float weight[2][MOST], float *cost)
{
    static double kind[KINDS][CHANNELS];
    double mean[2][CHANNELS] = {{0}};
    for (int i = 0; i < KINDS * CHANNELS; i++) kind[i / CHANNELS][i % CHANNELS] = noise();
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < r; i++) {
            const int shown = rand() % KINDS;
            for (int c = 0; c < CHANNELS; c++) {
                features[side][i][c] = fmax(0, kind[shown][c] + noise());
                mean[side][c] += features[side][i][c] / r;
            }
        }
    for (int side = 0; side < 2; side++) {
        double sum = 0;
        for (int i = 0; i < r; i++) {
            double w = 1e-3, level = 0, square = 0;
            for (int c = 0; c < CHANNELS; c++) w += features[side][i][c] * mean[!side][c];
            sum += w;
            weight[side][i] = (float)w;
            for (int c = 0; c < CHANNELS; c++) level += features[side][i][c] / CHANNELS;
            for (int c = 0; c < CHANNELS; c++) features[side][i][c] -= level;
            for (int c = 0; c < CHANNELS; c++) square += features[side][i][c] * features[side][i][c];
            for (int c = 0; c < CHANNELS; c++) features[side][i][c] /= sqrt(square);
        }
        for (int i = 0; i < r; i++) weight[side][i] = (float)(weight[side][i] * r / sum);
    }
    for (int i = 0; i < r * r; i++) {
        double cos = 0;
        for (int c = 0; c < CHANNELS; c++) cos += features[0][i / r][c] * features[1][i % r][c];
        cost[i] = (float)(1 - cos);
    }
}

/* As cpu/prims/transport.c does it: from floats to the least cost, here with weights that sum to 1. */
static double solve(int r, float weight[2][MOST], const float *cost, void *memory)
{
    struct transport t;
    double wide[MOST], value = 0;
    transport_carve(&t, r, r, memory);
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++) t.cost[i * t.stride + j] = (double)cost[i * r + j];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < r; i++) wide[i] = (double)weight[side][i];
        if (!transport_amounts(wide, r, t.amount + side * r)) return NAN;
    }
    if (!transport_solve(&t)) return NAN;
    for (int p = 1; p < 2 * r; p++) value += (double)t.flow[p] * transport_cost(&t, p, t.parent[p]);
    return value / (double)TRANSPORT_WHOLE;
}

static void compare(cv_emd *emd, int r, int problems)
{
    static float weight[2][MOST], cost[MOST * MOST], flow[MOST * MOST];
    static double times[2][PROBLEMS];
    double apart = 0;
    void *memory = malloc(transport_bytes(r, r));
    if (!memory) return;
    for (int k = 0; k < problems; k++) {
        draw(r, weight, cost);
        const struct cv_mat a = matrix(r, 1, weight[0]), b = matrix(r, 1, weight[1]), c = matrix(r, r, cost);
        struct cv_mat f = matrix(r, r, flow);
        const double start = seconds(), theirs = (double)emd(&a, &b, -1, NULL, &c, &f, NULL, NULL);
        const double middle = seconds(), ours = solve(r, weight, cost, memory);
        times[0][k] = seconds() - middle;
        times[1][k] = middle - start;
        if (!(fabs(ours - theirs) <= apart)) apart = fabs(ours - theirs);
    }
    const double ours = median(times[0], problems), theirs = median(times[1], problems);
    printf("| %d | %.1f us | %.1f us | %.1f | %.1g |\n", r, ours * 1e6, theirs * 1e6, theirs / ours, apart);
    free(memory);
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    cv_emd *emd = NULL;
    if (library) *(void **)&emd = dlsym(library, "cvCalcEMD2");
    if (!emd) {
        fprintf(stderr,
                "usage: bench-transport LIBRARY, the file of OpenCV's imgproc (such as libopencv_imgproc.so.406)\n");
        return 2;
    }
    printf("| places | Centra | OpenCV | ratio | values differ by |\n|---|---|---|---|---|\n");
    compare(emd, 9, PROBLEMS);
    compare(emd, 25, PROBLEMS);
    compare(emd, 64, 100);
    compare(emd, 100, 40);
    compare(emd, 144, 20);
    dlclose(library);
    return 0;
}
