/* walk.cu - the mutual walk for an episode: unit vectors, three or four matrix products by cuBLAS, and two kernels with
 * one block of threads a query. Most episodes in single precision take the quicker way of walk_f32.cu. */
#include "cuda/group.cuh"
#include "cuda/walk_backward.cuh"
#include "cuda/walk_ways.cuh"

enum { STATIC_SHARED = 8 << 10 }; /* more than walk_kernel's own arrays take */

template <typename real> __global__ void walk_kernel(struct walk<real> w)
{
    extern __shared__ double own_g[];
    __shared__ double shared[THREADS];
    const struct walker<real> q = walker_of<real>(w, own_g, shared);
    weights(w, q);
    report(w, q);
    __syncthreads();
    if (w.differentiates) backward(w, q);
}

template <typename real> static struct walk<real> describe(struct gpu *g, const struct walk_args *a)
{
    struct walk<real> w = {};
    w.way = a->proto->dim[0];
    w.channels = a->proto->dim[1];
    w.rs = a->proto->dim[2];
    w.nq = a->query->dim[0];
    w.rq = a->query->dim[2];
    w.m = w.way * w.rs;
    w.gamma = a->gamma;
    w.beta = a->beta;
    w.alpha = a->alpha;
    w.walks_back = a->alpha > 0 || a->pi_query || a->d_pi_query;
    w.differentiates = a->d_query || a->d_proto;
    w.prob = reals<real>(a->prob);
    w.log_prob = reals<real>(a->log_prob);
    w.pi_support = reals<real>(a->pi_support);
    w.pi_query = reals<real>(a->pi_query);
    w.labels = a->labels ? ints(a->labels) : NULL;
    w.d_prob = reals<real>(a->d_prob);
    w.d_log_prob = reals<real>(a->d_log_prob);
    w.d_pi_support = reals<real>(a->d_pi_support);
    w.d_pi_query = reals<real>(a->d_pi_query);
    w.fault = g->fault;
    return w;
}

template <typename real> static void layout(struct walk<real> *w, struct cursor *c)
{
    const size_t rows = w->nq * w->rq, matrix = rows * w->m, square = rows * w->rq;
    w->unit_query = cursor_take<real>(c, rows * w->channels);
    w->unit_support = cursor_take<real>(c, w->m * w->channels);
    w->query_inverse = cursor_take<real>(c, rows);
    w->support_inverse = cursor_take<real>(c, w->m);
    w->phi = cursor_take<real>(c, matrix);
    w->a = cursor_take<real>(c, matrix);
    w->b = cursor_take<real>(c, w->walks_back ? matrix : 0);
    w->k = cursor_take<real>(c, square);
    w->g = cursor_take<double>(c, w->in_shared ? 0 : square);
    w->pivot = cursor_take<int>(c, rows);
    double **const of_rows[] = {&w->row_max, &w->row_inverse, &w->first, &w->w, &w->lam};
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++) *of_rows[i] = cursor_take<double>(c, rows);
    double **const of_columns[] = {&w->pi, &w->v, &w->t, &w->tq};
    for (size_t i = 0; i < sizeof of_columns / sizeof *of_columns; i++)
        *of_columns[i] = cursor_take<double>(c, w->nq * w->m);
    w->losses = cursor_take<double>(c, w->nq);
    w->d_unit_query = cursor_take<real>(c, w->differentiates ? rows * w->channels : 0);
    w->d_unit_support = cursor_take<real>(c, w->differentiates ? w->m * w->channels : 0);
}

/* Where G lies, and all other memory. */
template <typename real> static status reserve(struct gpu *g, struct walk<real> *w)
{
    int most = 0;
    void *memory;
    struct cursor c = {};
    const size_t bytes = w->rq * w->rq * sizeof(double);
    GPU_TRY(g, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->number));
    w->in_shared = bytes + STATIC_SHARED <= (size_t)most;
    if (w->in_shared)
        GPU_TRY(g, cudaFuncSetAttribute(walk_kernel<real>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        most - STATIC_SHARED));
    layout(w, &c);
    PASS(gpu_scratch(g, c.bytes, &memory));
    c = {(char *)memory, 0};
    layout(w, &c);
    return OK;
}

/* x [n, C, r] as unit vectors [n * r, C]; a vector of zeros stays one. */
template <typename real>
static status unit_vectors(struct gpu *g, const tensor *x, real *unit, real *inverse)
{
    const real *from = reals<real>(x);
    return along(g, {x->dim[0], x->dim[1], x->dim[2]}, [=] __device__(const struct group &v) {
        double most = 0, square = 0; /* in units of the largest: squares neither overflow nor vanish */
        for (size_t i = v.slot; i < v.n; i += v.slots) most = fmax(most, fabs((double)from[v.offset + i * v.step]));
        most = v.max(most);
        for (size_t i = v.slot; i < v.n && most > 0; i += v.slots) {
            const double e = (double)from[v.offset + i * v.step] / most;
            square += e * e;
        }
        const double norm = most * sqrt(v.sum(square)), scale = norm < 1e-12 ? 0 : 1 / norm;
        for (size_t i = v.slot; i < v.n; i += v.slots)
            unit[v.vector * v.n + i] = (real)((double)from[v.offset + i * v.step] * scale);
        if (v.first) inverse[v.vector] = (real)scale;
    });
}

/* d x [n, C, r] = (d unit - unit (unit . d unit)) / norm */
template <typename real>
static status unit_vectors_back(struct gpu *g, const real *unit, const real *inverse, const real *d_unit, tensor *dx)
{
    real *to = reals<real>(dx);
    return along(g, {dx->dim[0], dx->dim[1], dx->dim[2]}, [=] __device__(const struct group &v) {
        const size_t first = v.vector * v.n;
        double dot = 0;
        for (size_t i = v.slot; i < v.n; i += v.slots) dot += (double)unit[first + i] * (double)d_unit[first + i];
        dot = v.sum(dot);
        for (size_t i = v.slot; i < v.n; i += v.slots)
            to[v.offset + i * v.step] =
                (real)(((double)d_unit[first + i] - (double)unit[first + i] * dot) * (double)inverse[v.vector]);
    });
}

template <typename real> static status mean_loss(struct gpu *g, const struct walk<real> &w, real *loss)
{
    const double *losses = w.losses;
    const size_t nq = w.nq;
    return along(g, {1, nq, 1}, [=] __device__(const struct group &all) {
        double sum = 0;
        for (size_t i = all.slot; i < all.n; i += all.slots) sum += losses[i];
        sum = all.sum(sum);
        if (all.first) *loss = (real)(sum / (double)nq);
    });
}

/* d phi is known: through the product and the normalisation to the features. */
template <typename real> static status features_back(struct gpu *g, const struct walk<real> &w, const struct walk_args *a)
{
    const size_t rows = w.nq * w.rq, c = w.channels, m = w.m;
    if (a->d_query) {
        const struct product<real> p = {false, false, rows, c, m, 1, w.phi, w.unit_support, w.d_unit_query,
                                        m,     c,     c,    0, 0, 0, 1,     0};
        PASS(product_run(g, &p));
        PASS(unit_vectors_back(g, w.unit_query, w.query_inverse, w.d_unit_query, a->d_query));
    }
    if (a->d_proto) {
        const struct product<real> p = {true, false, m, c, rows, 1, w.phi, w.unit_query, w.d_unit_support,
                                        m,    c,     c, 0, 0,    0, 1,     0};
        PASS(product_run(g, &p));
        PASS(unit_vectors_back(g, w.unit_support, w.support_inverse, w.d_unit_support, a->d_proto));
    }
    return OK;
}

static status try_quick(struct gpu *g, const struct walk_args *a, float *, bool *done)
{
    return walk_f32_episode(g, a, done);
}
static status try_quick(struct gpu *, const struct walk_args *, double *, bool *) { return OK; }

template <typename real> status walk_episode(struct device *d, const struct walk_args *a)
{
    struct gpu *g = gpu_enter(d);
    bool done = false;
    struct walk<real> w = describe<real>(g, a);
    const size_t rows = w.nq * w.rq, c = w.channels, m = w.m, rq = w.rq;
    if (w.nq == 0) return OK;
    PASS(try_quick(g, a, (real *)NULL, &done));
    if (done) return OK;
    PASS(reserve(g, &w));
    PASS(unit_vectors(g, a->proto, w.unit_support, w.support_inverse));
    PASS(unit_vectors(g, a->query, w.unit_query, w.query_inverse));
    const struct product<real> cosines = {false, true, rows, m, c, 1, w.unit_query, w.unit_support, w.phi,
                                          c,     c,    m,    0, 0, 0, 1,            0};
    PASS(product_run(g, &cosines));
    transitions_kernel<<<(unsigned)w.nq, THREADS, 0, g->stream>>>(w);
    PASS(LAUNCHED(g, "the walk's transitions"));
    if (w.alpha > 0) {
        const struct product<real> two_steps = {false, true, rq, rq,     m, w.nq,    w.b, w.a, w.k,
                                                m,     m,    rq, rq * m, rq * m,     rq * rq, 1,   0};
        PASS(product_run(g, &two_steps));
    }
    walk_kernel<<<(unsigned)w.nq, THREADS, w.in_shared ? rq * rq * sizeof(double) : 0, g->stream>>>(w);
    PASS(LAUNCHED(g, "the walk"));
    if (a->loss) PASS(mean_loss(g, w, reals<real>(a->loss)));
    return w.differentiates ? features_back(g, w, a) : OK;
}

template <typename real> static void enter(struct prims *p) { p->walk = walk_episode<real>; }

void table_walk(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
