/* walk_f32.cu - the mutual walk for an episode in single precision: unit vectors, their cosines by one product of halves,
 * one kernel for everything that happens between one query and the support, and two products of halves back.
 *
 * walk.cu is the general way: in double inside, for both types, every sharpness and every damping. This one takes what
 * training and evaluation ask for, and walk_f32_takes says when. */
#include "cuda/gpu.cuh"
#include "cuda/group.cuh"
#include "cuda/peers.cuh"
#include "cuda/units.cuh"
#include "cuda/walk_f32_back.cuh"
#include "cuda/walk_f32_tile.cuh"
#include "cuda/walk_ways.cuh"
#include <climits>

#define MOST_ALPHA 0.9995   /* nearer to 1 the general way, which can tell closed sets apart */
#define MOST_ITERATED 0.5   /* alpha^2 above this: factor instead */
#define ITERATED_ERROR 5e-8 /* what rounds leave of an error at most */
enum { ALIGNED = 8, MOST_WAY = 1024, SMALL_SHARED = 1 << 10 };
enum { ENOUGH = 27000 }; /* elements of a matrix that keep a block busy */

template <typename M, bool DIRECT>
__global__ void __launch_bounds__(WALK_THREADS, M::BLOCKS) walk_f32_kernel(const struct walk_f32 k)
{
    extern __shared__ float memory[];
    struct desk s;
    M m;
    (void)desk_lay(k, M::POWER != 0, memory, &s);
    s.query = (int)blockIdx.x / k.peers;
    s.rank = (int)blockIdx.x % k.peers;
    s.start = s.rank * k.width;
    s.columns = max(0, min(k.width, k.m - s.start));
    s.turn = 0;
    transitions(k, s, m);
    weights<DIRECT>(k, s, m);
    class_masses(k, s);
    write_results(k, s, m);
    if (k.differentiates) backward<DIRECT>(k, s, m);
    peers_meet(k.peers); /* nobody leaves while a peer may still read its memory */
}

struct chip {
    int processors, shared_bytes; /* the most for one block */
    bool has_clusters;
};

struct plan {
    struct walk_f32 k;
    struct units u;
    int power; /* a = b^power; 0: both are kept */
    int tall;  /* rows of a thread where the matrices lie in registers; k.across are its columns */
    size_t shared_bytes;
    size_t rows, channels;                      /* nq * rq; padded */
    float *phi, *d_query_unit, *d_support_unit; /* phi becomes d phi */
    __half *d_phi;                              /* [rows, 3, row]: high, low, high */
};

static status look(struct gpu *g, struct chip *out)
{
    int major = 0;
    out->processors = g->processors;
    GPU_TRY(g, cudaDeviceGetAttribute(&out->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->number));
    GPU_TRY(g, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, g->number));
    out->has_clusters = major >= 9;
    return OK;
}

static struct sharpness sharpness_of(double gamma)
{
    const double x = gamma / log(2.0);
    const float high = (float)x;
    return {high, (float)(x - (double)high)};
}

/* Chebyshev's steps shrink an error by `rate` each for eigenvalues between 0 and a2; two more, as K is not symmetric. */
static void describe_rounds(double a2, struct walk_f32 *k)
{
    const double sigma = a2 / (2 - a2), rate = sigma / (1 + sqrt(1 - sigma * sigma));
    k->beyond = (float)(2 / (2 - a2));
    k->sigma2 = (float)(sigma * sigma);
    k->quick = PLAIN_ROUNDS + 2 + (int)ceil(log(ITERATED_ERROR) / log(rate));
    k->rounds = k->quick + (int)ceil(log(ITERATED_ERROR) / log(a2));
}

static void describe(const struct walk_args *a, struct plan *p)
{
    struct walk_f32 *k = &p->k;
    k->nq = (int)a->query->dim[0];
    k->way = (int)a->proto->dim[0];
    k->rs = (int)a->proto->dim[2];
    k->rq = (int)a->query->dim[2];
    k->m = k->way * k->rs;
    k->row = (int)size_round_up((size_t)k->m, ALIGNED);
    k->gamma = (float)a->gamma;
    k->beta = (float)a->beta;
    k->alpha = (float)a->alpha;
    k->a2 = (float)(a->alpha * a->alpha);
    k->rest = (float)(1 - a->alpha * a->alpha);
    k->to_support = sharpness_of(a->gamma);
    k->to_query = sharpness_of(a->beta);
    k->direct = a->alpha * a->alpha > MOST_ITERATED;
    if (!k->direct && a->alpha > 0) describe_rounds(a->alpha * a->alpha, k);
    k->walks_back = a->alpha > 0 || a->pi_query || a->d_pi_query;
    k->differentiates = a->d_query || a->d_proto;
    k->prob = reals<float>(a->prob);
    k->log_prob = reals<float>(a->log_prob);
    k->pi_support = reals<float>(a->pi_support);
    k->pi_query = reals<float>(a->pi_query);
    k->labels = a->labels ? ints(a->labels) : NULL;
    k->d_prob = reals<float>(a->d_prob);
    k->d_log_prob = reals<float>(a->d_log_prob);
    k->d_pi_support = reals<float>(a->d_pi_support);
    k->d_pi_query = reals<float>(a->d_pi_query);
    p->power = a->gamma == 2 * a->beta ? 2 : a->gamma == 4 * a->beta ? 4 : 0;
    p->rows = (size_t)k->nq * (size_t)k->rq;
    p->channels = size_round_up(a->query->dim[1], ALIGNED);
    k->n_step = (k->rq + 1) | 1;
}

/* Whether a block has little enough to do. Factoring is the first peer's work alone: the others would wait for it the longer
 * the more they are. */
static bool is_small(const struct chip *chip, const struct walk_f32 *k)
{
    const size_t elements = (size_t)k->rq * (size_t)k->width;
    if (k->nq * k->peers >= 2 * chip->processors) return true;
    return k->direct ? elements <= ENOUGH / 2 || k->peers >= MOST_PEERS / 2 : elements <= ENOUGH;
}

/* How many clusters run at the same time. The blocks of one lie in a group of processors, 16 or a few more. */
static int clusters_at_once(const struct chip *chip, int peers, int blocks_a_processor)
{
    enum { GROUP = 16 };
    const int groups = chip->processors / GROUP, left = chip->processors % GROUP;
    if (peers == 1) return chip->processors * blocks_a_processor;
    return groups * (GROUP * blocks_a_processor / peers) + left * blocks_a_processor / peers;
}

/* Cuts a query's columns among `peers` blocks; false when a block's share does not fit into its shared memory. */
static bool cut(const struct chip *chip, struct plan *p, int peers, int across)
{
    struct walk_f32 *k = &p->k;
    struct desk unused;
    k->peers = peers;
    k->across = across;
    k->width = (int)size_div_up((size_t)k->row, (size_t)peers);
    k->step = k->width | 1;
    p->shared_bytes = desk_lay(*k, p->power != 0, NULL, &unused) * sizeof(float);
    return p->shared_bytes + SMALL_SHARED <= (size_t)chip->shared_bytes;
}

struct tile_size {
    int tall, across, blocks; /* blocks: a processor, at most */
};
#define TILE_SIZE(TALL, WIDE) {TALL, WIDE, in_registers<2, TALL, WIDE>::BLOCKS},
static const struct tile_size tile_sizes[] = {WALK_TILES(TILE_SIZE)};

/* How long a query's blocks take with a tile, in elements of a thread: a round costs what its elements cost and what
 * waiting costs, the more where blocks wait for each other. INT_MAX when the tile is too small, or when blocks that have
 * little to do would wait for each other. */
static int tile_time(const struct chip *chip, const struct walk_f32 *k, const struct tile_size *t, int peers)
{
    enum { WAIT_ALONE = 50, WAIT_FOR_PEERS = 100, ENOUGH_FOR_PEERS = 12000 };
    const int at_once = clusters_at_once(chip, peers, t->blocks);
    if (t->tall * WALK_WARPS < k->rq || peers * t->across * LANES < k->row || at_once == 0) return INT_MAX;
    if (peers > 1 && k->rq * (k->row / peers) < ENOUGH_FOR_PEERS) return INT_MAX;
    const int waves = (int)size_div_up((size_t)k->nq, (size_t)at_once);
    return waves * (t->tall * t->across + (peers > 1 ? WAIT_FOR_PEERS : WAIT_ALONE));
}

/* Keeps the matrices in registers, on as many blocks a query as end first. False when no tile serves. */
static bool share_registers(const struct chip *chip, struct plan *p)
{
    const int most = chip->has_clusters ? MOST_PEERS : 1;
    const struct tile_size *best = NULL;
    int best_peers = 0, least = INT_MAX;
    if (p->k.rounds == 0 || p->power == 0) return false;
    for (int peers = 1; peers <= most; peers++)
        for (const struct tile_size &t : tile_sizes) {
            const int time = tile_time(chip, &p->k, &t, peers);
            if (time >= least) continue;
            least = time;
            best = &t;
            best_peers = peers;
        }
    p->tall = best ? best->tall : 0;
    return best && cut(chip, p, best_peers, best->across);
}

/* How many blocks share a query: as few as its matrices fit into; more, while blocks are fewer than the chip could use and
 * each would still have enough to do. False when even the largest cluster is too small. */
static bool share_out(const struct chip *chip, struct plan *p)
{
    const int most = chip->has_clusters ? MOST_PEERS : 1;
    for (int peers = 1; peers <= most; peers *= 2)
        if (cut(chip, p, peers, 0) && (is_small(chip, &p->k) || peers * 2 > most)) return true;
    return false;
}

static bool size_is_small(size_t x) { return x <= INT_MAX / 16; }

/* Whether an episode can go this way. */
static bool takes(const struct chip *chip, const struct walk_args *a, struct plan *p)
{
    const size_t way = a->proto->dim[0], c = a->query->dim[1], rs = a->proto->dim[2], rq = a->query->dim[2],
                 nq = a->query->dim[0];
    const bool asked = a->solver == WALK_AUTO || a->solver == WALK_ITERATE;
    if (!asked || a->gamma > MOST_SHARPNESS || a->beta > MOST_SHARPNESS || a->alpha > MOST_ALPHA) return false;
    if (way == 0 || c == 0 || rs == 0 || rq == 0 || way > MOST_WAY || rq > MOST_ROWS) return false;
    if (!size_is_small(nq) || !size_is_small(c) || !size_is_small(rs) || !size_is_small(way * rs) ||
        !size_is_small(nq * rq))
        return false;
    describe(a, p);
    return share_registers(chip, p) || share_out(chip, p);
}

static void lay(const struct walk_args *a, struct plan *p, struct cursor *c)
{
    struct walk_f32 *k = &p->k;
    struct unit_maps *support = &p->u.of[0], *query = &p->u.of[1];
    const size_t row = (size_t)k->row, across = p->channels;
    const bool back = k->differentiates;
    query->halves = cursor_take<__half>(c, p->rows * 3 * across);
    support->halves = cursor_take<__half>(c, row * 3 * across); /* what lies beyond m is read and counts for nothing */
    query->inverse = cursor_take<float>(c, p->rows);
    support->inverse = cursor_take<float>(c, row);
    p->phi = cursor_take<float>(c, p->rows * row);
    k->losses = cursor_take<double>(c, (size_t)k->nq);
    support->stacked = a->d_query ? cursor_take<__half>(c, 3 * row * across) : NULL;
    k->largest = back ? cursor_take<float>(c, (size_t)(k->nq * k->peers)) : NULL;
    p->d_phi = back ? cursor_take<__half>(c, p->rows * 3 * row) : NULL;
    p->d_query_unit = a->d_query ? cursor_take<float>(c, p->rows * across) : NULL;
    p->d_support_unit = a->d_proto ? cursor_take<float>(c, row * across) : NULL;
}

static status reserve(struct gpu *g, const struct walk_args *a, struct plan *p)
{
    void *memory;
    struct cursor c = {};
    lay(a, p, &c);
    PASS(gpu_scratch(g, c.bytes, &memory));
    c = {(char *)memory, 0};
    lay(a, p, &c);
    p->k.phi = p->k.d_phi = p->phi;
    return OK;
}

static void describe_units(const struct walk_args *a, struct plan *p)
{
    const struct walk_f32 *k = &p->k;
    struct unit_maps *support = &p->u.of[0], *query = &p->u.of[1];
    p->u.channels = (int)a->query->dim[1];
    p->u.padded = (int)p->channels;
    p->u.largest = k->largest;
    p->u.count = k->nq * k->peers;
    support->x = reals<float>(a->proto);
    support->dx = reals<float>(a->d_proto);
    support->pictures = k->way;
    support->r = k->rs;
    support->low = 1; /* high low high, against low high high */
    support->clear = k->row - k->m;
    support->d_unit = p->d_support_unit;
    query->x = reals<float>(a->query);
    query->dx = reals<float>(a->d_query);
    query->pictures = k->nq;
    query->r = k->rq;
    query->d_unit = p->d_query_unit;
}

static status cosines(struct gpu *g, const struct plan *p)
{
    const size_t deep = 3 * p->channels, row = (size_t)p->k.row;
    const struct half_factor query = {p->u.of[1].halves, deep, false}, support = {p->u.of[0].halves, deep, true};
    const float scale = (float)(1 / (UNIT_SCALE * UNIT_SCALE));
    const struct half_product product = {p->rows, row, deep, query, support, p->phi, row, scale};
    return half_product_run(g, &product);
}

typedef void walk_f32_entry(const struct walk_f32);
template <bool DIRECT> static walk_f32_entry *entry_shared(int power)
{
    return power == 2   ? walk_f32_kernel<in_shared<2>, DIRECT>
           : power == 4 ? walk_f32_kernel<in_shared<4>, DIRECT>
                        : walk_f32_kernel<in_shared<0>, DIRECT>;
}

template <int POWER> static walk_f32_entry *entry_registers(const struct plan *p)
{
#define TILE_ENTRY(TALL, WIDE) \
    if (p->tall == TALL && p->k.across == WIDE) return walk_f32_kernel<in_registers<POWER, TALL, WIDE>, false>;
    WALK_TILES(TILE_ENTRY)
    return NULL;
}

static walk_f32_entry *entry_of(const struct plan *p)
{
    if (p->k.across) return p->power == 2 ? entry_registers<2>(p) : entry_registers<4>(p);
    return p->k.direct ? entry_shared<true>(p->power) : entry_shared<false>(p->power);
}

static status walk_queries(struct gpu *g, const struct plan *p)
{
    walk_f32_entry *const kernel = entry_of(p);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t how = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)p->k.peers, 1, 1};
    how.gridDim = dim3((unsigned)(p->k.nq * p->k.peers));
    how.blockDim = dim3(WALK_THREADS);
    how.dynamicSmemBytes = p->shared_bytes;
    how.stream = g->stream;
    how.attrs = &attribute;
    how.numAttrs = p->k.peers > 1 ? 1 : 0;
    GPU_TRY(g, cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)p->shared_bytes));
    GPU_TRY(g, cudaLaunchKernelEx(&how, kernel, p->k));
    return LAUNCHED(g, "the walk in single precision");
}

static status mean_loss(struct gpu *g, const struct plan *p, float *loss)
{
    const double *losses = p->k.losses;
    const size_t nq = (size_t)p->k.nq;
    return along(g, {1, nq, 1}, [=] __device__(const struct group &all) {
        double sum = 0;
        for (size_t i = all.slot; i < all.n; i += all.slots) sum += losses[i];
        sum = all.sum(sum);
        if (all.first) *loss = (float)(sum / (double)nq);
    });
}

/* d phi [rows, 3 row] is (high, low, high), so it meets (low, high, high): along its columns with the support stacked that
 * way, and seen as [3 rows, row] along its rows with the query as it lies. */
static status features_back(struct gpu *g, const struct plan *p)
{
    const size_t row = (size_t)p->k.row, across = p->channels;
    const struct split split = {p->rows, p->k.row, p->k.m, p->k.d_phi, p->d_phi, p->k.largest, p->u.count};
    PASS(split_run(g, &split));
    if (p->d_query_unit) {
        const struct half_factor d_phi = {p->d_phi, 3 * row, false}, support = {p->u.of[0].stacked, across, false};
        const struct half_product d = {p->rows, across, 3 * row, d_phi, support, p->d_query_unit, across, 1};
        PASS(half_product_run(g, &d));
    }
    if (p->d_support_unit) {
        const struct half_factor d_phi = {p->d_phi, row, true}, query = {p->u.of[1].halves, across, false};
        const struct half_product d = {row, across, 3 * p->rows, d_phi, query, p->d_support_unit, across, 1};
        PASS(half_product_run(g, &d));
    }
    return units_back_run(g, &p->u);
}

static status run(struct gpu *g, const struct walk_args *a, struct plan *p)
{
    PASS(reserve(g, a, p));
    describe_units(a, p);
    PASS(units_run(g, &p->u));
    PASS(cosines(g, p));
    PASS(walk_queries(g, p));
    if (a->loss) PASS(mean_loss(g, p, reals<float>(a->loss)));
    return p->k.differentiates ? features_back(g, p) : OK;
}

status walk_f32_episode(struct gpu *g, const struct walk_args *a, bool *done)
{
    struct chip chip = {};
    struct plan p = {};
    PASS(look(g, &chip));
    *done = takes(&chip, a, &p);
    return *done ? run(g, a, &p) : OK;
}
