/* at_once.c - heads in one call, where the device under test offers them, against their definitions in double. */
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>

struct shape {
    size_t way, shots, channels, rs, nq, rq, k;
};

/* Channels that are and are not multiples of 8, more of them than a GPU's unit vectors take at once; maps of one location, of
 * quads, of several tiles, of all sizes of systems; more pictures than a GPU has processors. */
static const struct shape shapes[] = {
    {2, 1, 8, 4, 3, 4, 1},      {5, 1, 64, 25, 75, 25, 1}, {5, 1, 128, 100, 12, 100, 1}, {3, 2, 70, 7, 2, 9, 3},
    {2, 5, 131, 25, 2, 33, 8},  {4, 1, 13, 1, 3, 1, 1},    {3, 1, 40, 33, 2, 65, 2},     {2, 1, 130, 128, 2, 130, 5},
    {6, 1, 97, 96, 2, 70, 3},   {30, 3, 50, 4, 2, 6, 2},   {2, 1, 1800, 3, 2, 32, 1},    {5, 60, 9, 2, 80, 2, 4},
    {200, 1, 17, 2, 300, 3, 2}, {1, 1, 5, 1, 1, 2, 1},     {5, 1, 640, 25, 75, 25, 3},   {2, 1, 200, 110, 3, 40, 1}};

struct scene {
    struct world w;
    struct shape s;
    double *support, *query, *wanted, *seen; /* owned */
    int32_t *labels;                         /* owned; pictures of a class stand together */
};

static double *numbers(struct random *r, size_t n)
{
    double *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = (double)(float)(random_normal(r) + 0.3);
    return x;
}

static bool scene_open(struct scene *c, const struct shape *s, struct random *r)
{
    const size_t ns = s->way * s->shots;
    *c = (struct scene){.s = *s};
    if (!world_open(&c->w, 2, DT_F32, TAPE_INFERENCE)) return false;
    c->support = numbers(r, ns * s->channels * s->rs);
    c->query = numbers(r, s->nq * s->channels * s->rq);
    c->wanted = calloc(s->nq * s->way, sizeof(double));
    c->seen = calloc(s->nq * s->way, sizeof(double));
    c->labels = calloc(ns, sizeof *c->labels);
    for (size_t i = 0; c->labels && i < ns; i++) c->labels[i] = (int32_t)(i / s->shots);
    return c->support && c->query && c->wanted && c->seen && c->labels;
}

static void scene_close(struct scene *c)
{
    world_close(&c->w);
    free(c->support);
    free(c->query);
    free(c->wanted);
    free(c->seen);
    free(c->labels);
}

static var *support_of(struct scene *c)
{
    return world_constant(&c->w, DIMS(c->s.way * c->s.shots, c->s.channels, c->s.rs), c->support);
}
static var *query_of(struct scene *c) { return world_constant(&c->w, DIMS(c->s.nq, c->s.channels, c->s.rq), c->query); }

/* Feature number j of the support, or of the queries, and how far apart its channels lie. */
struct feature {
    const double *x;
    size_t step;
};
static struct feature support_feature(const struct scene *c, size_t j)
{
    return (struct feature){c->support + j / c->s.rs * c->s.channels * c->s.rs + j % c->s.rs, c->s.rs};
}
static struct feature query_feature(const struct scene *c, size_t j)
{
    return (struct feature){c->query + j / c->s.rq * c->s.channels * c->s.rq + j % c->s.rq, c->s.rq};
}
static double dot(const struct scene *c, struct feature a, struct feature b)
{
    double sum = 0;
    for (size_t i = 0; i < c->s.channels; i++) sum += a.x[i * a.step] * b.x[i * b.step];
    return sum;
}

/* Fails unless everything is as near as single precision allows. */
static void compare(struct scene *c, const char *what, const var *y)
{
    const size_t n = c->s.nq * c->s.way;
    double most = 0, off = 0;
    EXPECT_OK(tape_status(c->w.t));
    if (!y || !world_read(&c->w, &y->value, c->seen)) return;
    EXPECT_DIMS(y->value, c->s.nq, c->s.way);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(c->wanted[i]));
        if (!(fabs(c->seen[i] - c->wanted[i]) <= off)) off = fabs(c->seen[i] - c->wanted[i]);
    }
    if (!(off <= 2e-6 * most))
        test_failed(__FILE__, __LINE__, "%s, %zu-way %zu-shot, C %zu, %zu and %zu locations: off by %.3g of %.3g", what,
                    c->s.way, c->s.shots, c->s.channels, c->s.rs, c->s.rq, off, most);
}

/* Runs the body on every shape, and on `more` of them; skips where the device has no such primitive. */
static void on_shapes(const char *what, size_t more, const struct shape *others,
                      bool offered(const struct scene *c, const var *support, const var *query),
                      void expected(struct scene *c), var *run(struct scene *c, var *support, var *query))
{
    const size_t own = sizeof shapes / sizeof *shapes;
    struct random r = test_random();
    size_t seen = 0;
    for (size_t i = 0; i < own + more; i++) {
        struct scene c;
        REQUIRE(scene_open(&c, i < own ? &shapes[i] : &others[i - own], &r));
        var *support = support_of(&c), *query = query_of(&c);
        if (support && query && offered(&c, support, query)) {
            seen++;
            expected(&c);
            compare(&c, what, run(&c, support, query));
        }
        scene_close(&c);
    }
    if (seen == 0 && test_device()) test_failed(__FILE__, __LINE__, "device %s has no %s", test_device(), what);
    if (seen == 0) test_skip("the CPU has no head in one call; set CENTRA_TEST_DEVICE to cuda");
}

/* proto */

static bool distance_offered(const struct scene *c, const var *support, const var *query)
{
    return op_class_distance_offered(c->w.t, support, c->s.way, query);
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static void distances(struct scene *c)
{
    const struct shape *s = &c->s;
    for (size_t i = 0; i < s->nq * s->way; i++) {
        double sum = 0;
        for (size_t channel = 0; channel < s->channels; channel++) {
            double apart = mean_of(c->query + (i / s->way * s->channels + channel) * s->rq, s->rq);
            for (size_t shot = 0; shot < s->shots; shot++) {
                const size_t picture = i % s->way * s->shots + shot;
                apart -= mean_of(c->support + (picture * s->channels + channel) * s->rs, s->rs) / (double)s->shots;
            }
            sum += apart * apart;
        }
        c->wanted[i] = -2 * sum;
    }
}

static var *run_distances(struct scene *c, var *support, var *query)
{
    const tensor *labels = world_index(&c->w, c->s.way * c->s.shots, c->labels);
    (void)op_class_distance(c->w.t, support, labels, c->s.way, query, 1); /* what it leaves behind must not count */
    return op_class_distance(c->w.t, support, labels, c->s.way, query, -2);
}

TEST(class_distances_in_one_call_are_those_of_the_definition)
{
    on_shapes("class_distance", 0, NULL, distance_offered, distances, run_distances);
}

/* dn4 */

static bool nearest_offered(const struct scene *c, const var *support, const var *query)
{
    return op_nearest_offered(c->w.t, support, query, c->s.k);
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Shapes that a GPU of 132 processors searches in tiles of 128 locations and 256 features, the last rows and columns not full:
 * groups that are cut by tiles and that cover several, of 8 to 600 features, all k that are searched so, depths that are and
 * are not multiples of what is copied at once; the last one is small, with more channels than fit into shared memory. */
static const struct shape searches[] = {
    {5, 1, 640, 100, 75, 100, 1}, {4, 1, 33, 110, 60, 101, 2}, {7, 1, 72, 110, 29, 100, 3}, {2, 3, 64, 100, 40, 100, 3},
    {1, 6, 40, 100, 40, 100, 1},  {20, 1, 64, 25, 180, 25, 1}, {60, 1, 40, 8, 50, 100, 2},  {2, 1, 1800, 12, 2, 32, 1}};

/* n features as unit vectors one after the other; those without a length stay zero. */
static double *units_of(const struct scene *c, size_t n, struct feature at(const struct scene *c, size_t j))
{
    const size_t channels = c->s.channels;
    double *units = calloc(n * channels, sizeof *units);
    for (size_t j = 0; units && j < n; j++) {
        const struct feature f = at(c, j);
        const double norm = sqrt(dot(c, f, f));
        for (size_t i = 0; i < channels && norm > 0; i++) units[j * channels + i] = f.x[i * f.step] / norm;
    }
    return units;
}

static double dot_of(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void nearest_sums(struct scene *c)
{
    const struct shape *s = &c->s;
    const size_t m = s->shots * s->rs;
    double *cosines = calloc(m, sizeof *cosines), *support = units_of(c, s->way * m, support_feature),
           *query = units_of(c, s->nq * s->rq, query_feature);
    REQUIRE(cosines && support && query);
    for (size_t i = 0; i < s->nq * s->way; i++) c->wanted[i] = 0;
    for (size_t at = 0; at < s->nq * s->rq; at++)
        for (size_t own = 0; own < s->way; own++) {
            for (size_t j = 0; j < m; j++)
                cosines[j] = dot_of(s->channels, query + at * s->channels, support + (own * m + j) * s->channels);
            qsort(cosines, m, sizeof *cosines, falling);
            for (size_t j = 0; j < s->k; j++) c->wanted[at / s->rq * s->way + own] += 0.5 * cosines[j];
        }
    free(cosines);
    free(support);
    free(query);
}

static var *run_nearest(struct scene *c, var *support, var *query)
{
    return op_nearest(c->w.t, support, c->s.way, query, c->s.k, 0.5);
}

TEST(nearest_features_in_one_call_are_those_of_the_definition)
{
    on_shapes("nearest", sizeof searches / sizeof *searches, searches, nearest_offered, nearest_sums, run_nearest);
}

/* All channels of a location, r numbers apart. */
static void clear_feature(double *x, size_t channels, size_t r)
{
    for (size_t i = 0; i < channels; i++) x[i * r] = 0;
}

/* NaN in group 1 and in query 1, and nowhere else; everything else as before. */
static void expect_spread(struct scene *c, const var *y)
{
    EXPECT_OK(tape_status(c->w.t));
    if (!y || !world_read(&c->w, &y->value, c->seen)) return;
    for (size_t i = 0; i < c->s.nq * c->s.way; i++) {
        const bool bad = i / c->s.way == 1 || i % c->s.way == 1;
        if (bad != isnan(c->seen[i]) ||
            (!bad && !(fabs(c->seen[i] - c->wanted[i]) <= 2e-6 * fabs(c->wanted[i]) + 1e-5)))
            test_failed(__FILE__, __LINE__, "k %zu, query %zu, group %zu: %g instead of %g", c->s.k, i / c->s.way,
                        i % c->s.way, c->seen[i], bad ? (double)NAN : c->wanted[i]);
    }
}

TEST(nearest_features_in_one_call_show_nan_and_take_zeros)
{
    static const struct shape odd[] = {{3, 1, 40, 30, 4, 20, 1},    {3, 1, 40, 30, 4, 20, 3},
                                       {3, 1, 40, 4, 4, 20, 1},     {3, 1, 40, 30, 4, 20, 8},
                                       {5, 1, 40, 100, 50, 100, 1}, {5, 1, 40, 100, 50, 100, 2}};
    struct random r = test_random();
    bool offered = true;
    for (size_t i = 0; offered && i < sizeof odd / sizeof *odd; i++) {
        struct scene c;
        REQUIRE(scene_open(&c, &odd[i], &r));
        clear_feature(c.query + 3, c.s.channels, c.s.rq);
        clear_feature(c.support + 2, c.s.channels, c.s.rs);
        var *support = support_of(&c), *query = query_of(&c);
        offered = support && query && nearest_offered(&c, support, query);
        if (offered) {
            nearest_sums(&c);
            compare(&c, "nearest", run_nearest(&c, support, query));
            c.support[c.s.rs * c.s.channels + c.s.rs - 1] = NAN; /* channel 0 of the last location of group 1 */
            c.query[c.s.rq * (c.s.channels + 3)] = NAN;          /* channel 3 of the first of query 1 */
            expect_spread(&c, run_nearest(&c, support_of(&c), query_of(&c)));
        }
        scene_close(&c);
    }
    if (!offered) test_skip("this device has no search of nearest features in one call");
}

/* frn */

#define R0 0.3
#define R1 (-0.2)
#define FACTOR 1.7

static struct reconstruct terms(const struct scene *c)
{
    return (struct reconstruct){c->s.way, 0.8 * (double)(c->s.shots * c->s.rs), 1e-3, -0.25};
}

static bool reconstruct_offered(const struct scene *c, const var *support, const var *query)
{
    return op_reconstruct_offered(c->w.t, support, query, c->s.way);
}

/* x = a^-1 x by Gauss, for a [m, m] that is definite; a is used up. */
static void solve(size_t m, double *a, double *x)
{
    for (size_t k = 0; k < m; k++)
        for (size_t i = k + 1; i < m; i++) {
            const double f = a[i * m + k] / a[k * m + k];
            for (size_t j = k; j < m; j++) a[i * m + j] -= f * a[k * m + j];
            x[i] -= f * x[k];
        }
    for (size_t i = m; i-- > 0;) {
        for (size_t j = i + 1; j < m; j++) x[i] -= a[i * m + j] * x[j];
        x[i] /= a[i * m + i];
    }
}

static double error_of(const struct scene *c, const double *gram, double *work, size_t own, struct feature q)
{
    const size_t m = c->s.shots * c->s.rs;
    double *x = work + m * m, sum = 0;
    memcpy(work, gram, m * m * sizeof *work);
    for (size_t i = 0; i < m; i++) x[i] = dot(c, support_feature(c, own * m + i), q);
    solve(m, work, x);
    for (size_t channel = 0; channel < c->s.channels; channel++) {
        double e = -q.x[channel * q.step];
        for (size_t i = 0; i < m; i++) {
            const struct feature f = support_feature(c, own * m + i);
            e += exp((double)(float)R1) * x[i] * f.x[channel * f.step];
        }
        sum += e * e;
    }
    return sum;
}

static void errors(struct scene *c)
{
    const struct reconstruct t = terms(c);
    const size_t m = c->s.shots * c->s.rs, nq = c->s.nq, rq = c->s.rq, way = c->s.way;
    double *gram = calloc(2 * m * m + m, sizeof *gram);
    REQUIRE(gram);
    for (size_t i = 0; i < nq * way; i++) c->wanted[i] = 0;
    for (size_t own = 0; own < way; own++) {
        for (size_t e = 0; e < m * m; e++) {
            const struct feature a = support_feature(c, own * m + e / m), b = support_feature(c, own * m + e % m);
            gram[e] = dot(c, a, b) + (e / m == e % m ? t.share * exp((double)(float)R0) + t.ridge : 0);
        }
        for (size_t at = 0; at < nq * rq; at++)
            c->wanted[at / rq * way + own] += t.scale * (double)(float)FACTOR *
                                              error_of(c, gram, gram + m * m, own, query_feature(c, at));
    }
    free(gram);
}

static var *run_reconstruct(struct scene *c, var *support, var *query)
{
    const struct reconstruct t = terms(c);
    var *r = world_constant(&c->w, DIMS(2), NUMBERS(R0, R1)), *factor = world_constant(&c->w, DIMS(1), NUMBERS(FACTOR));
    return op_reconstruct(c->w.t, support, query, r, factor, &t);
}

TEST(reconstruction_in_one_call_is_that_of_the_definition)
{
    on_shapes("reconstruct", 0, NULL, reconstruct_offered, errors, run_reconstruct);
}

TEST(reconstruction_in_one_call_tells_a_system_that_is_not_definite)
{
    struct random r = test_random();
    struct scene c;
    double y;
    REQUIRE(scene_open(&c, &(struct shape){1, 1, 4, 3, 1, 1, 1}, &r));
    for (size_t i = 0; i < 12; i++) c.support[i] = 0;
    var *support = support_of(&c), *query = query_of(&c);
    if (!reconstruct_offered(&c, support, query)) test_skip("this device has no reconstruction in one call");
    else {
        var *terms = world_constant(&c.w, DIMS(2), NUMBERS(0, 0)), *factor = world_constant(&c.w, DIMS(1), NUMBERS(1));
        const var *out = op_reconstruct(c.w.t, support, query, terms, factor, &(struct reconstruct){1, 0, 0, 1});
        REQUIRE(out);
        EXPECT_STATUS(c.w.dev->download(c.w.dev, &y, out->value.data, sizeof(float)), ST_NUMERIC);
    }
    scene_close(&c);
}

TEST(heads_in_one_call_are_not_offered_where_a_gradient_is_wanted)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    const var *leaf = world_leaf(&w, DIMS(1, 2, 1), NUMBERS(1, 2)),
              *fixed = world_constant(&w, DIMS(1, 2, 1), NUMBERS(3, 4));
    REQUIRE(leaf && fixed);
    EXPECT(!op_class_distance_offered(w.t, leaf, 1, fixed) && !op_class_distance_offered(w.t, fixed, 1, leaf));
    EXPECT(!op_nearest_offered(w.t, leaf, fixed, 1) && !op_nearest_offered(w.t, fixed, leaf, 1));
    EXPECT(!op_reconstruct_offered(w.t, leaf, fixed, 1) && !op_reconstruct_offered(w.t, fixed, leaf, 1));
    EXPECT(!op_nearest_offered(w.t, fixed, fixed, NEAREST_K + 1));
    EXPECT(!op_class_distance_offered(w.t, fixed, CLASS_DISTANCE_WAY + 1, fixed));
    world_close(&w);
}
