/* gemm.c - batched matrix products, c = alpha a b + beta c, by packing b into panels for the gemm kernel.
 *
 * a is read where it lies, transposed or not; packing takes care of b's transposition and of alpha. There are two ways
 * to cut the work. When every group of b's columns meets only one block of rows, or each matrix has a b of its own,
 * a piece packs its group and uses it at once ("own"). When many blocks of rows meet the same b, it is packed once, by
 * all, before anyone multiplies ("shared"). Long sums are cut into blocks of DEPTH_BYTES, so that a panel of b and a
 * block of rows of a stay in the second-level cache. Products with a vector, or of few rows with a transposed matrix, go to
 * the dot kernels and pack nothing. */
#include "cpu/prims/matrix.h"

enum {
    ROWS = 84,            /* of a block; a multiple of the tiles of all kernels (6 and 14) */
    DEPTH_BYTES = 4096,   /* of a row of a in a block */
    SLAB_BYTES = 8 << 20, /* of b's panels that are shared at a time */
    UNIT = 4 << 20,       /* most multiplications of a unit, about a tenth of a millisecond */
    PIECE = 1 << 20,      /* fewest multiplications of a piece */
    OUTPUTS = 512,        /* results of a unit of a product with a vector */
    FEW = 8,              /* most rows of a that are multiplied one by one */
    NEAR = 16             /* columns of b, contiguous, that stay in the first-level cache meanwhile */
};

struct gemm {
    struct device *d;
    const kernel_table *k;
    size_t batch, m, n, depth;
    const real *a, *b; /* element (i, p) of matrix t is a[t*a_step + i*a_row + p*a_col]; b's (p, j) likewise */
    real *c;           /* [batch, m, n] */
    size_t a_step, a_row, a_col, b_step, b_row, b_col;
    real alpha;
    bool add; /* beta is not 0: c has been scaled, and the product is added to it */
    size_t depth_block, group, groups, grain;
    /* shared only: the slab that is being multiplied, columns [column, column + columns), terms [term, term + terms) */
    size_t column, columns, term, terms, row_blocks;
    real *packed;
};

static size_t panels_of(const struct gemm *g, size_t columns) { return size_div_up(columns, g->k->gemm_width); }

/* Packs columns [column, column + columns) of terms [term, term + terms), times alpha. */
static void pack(const struct gemm *g, size_t t, size_t column, size_t columns, size_t term, size_t terms, real *packed)
{
    const real *b = g->b + t * g->b_step + term * g->b_row + column * g->b_col;
    g->k->gemm_pack(terms, columns, b, g->b_row, g->b_col, packed);
    if (g->alpha != 1) {
        size_t count = panels_of(g, columns) * g->k->gemm_width * terms;
        g->k->affine(packed, g->alpha, (real)-0.0, packed, count);
    }
}

/* Rows [row, row + rows) of matrix t by packed columns. */
static void multiply(const struct gemm *g, size_t t, struct range rows, size_t column, size_t columns, size_t term,
                     size_t terms, const real *packed)
{
    const real *a = g->a + t * g->a_step + rows.from * g->a_row + term * g->a_col;
    real *c = g->c + (t * g->m + rows.from) * g->n + column;
    size_t width = g->k->gemm_width;
    g->k->gemm(rows.to - rows.from, columns, terms, a, g->a_row, g->a_col, packed, width, terms * width, c, g->n,
               g->add || term > 0);
}

static size_t own_bytes(const struct gemm *g)
{
    return panels_of(g, g->group) * g->k->gemm_width * g->depth_block * sizeof(real);
}

/* A unit is one group of columns of one matrix, all rows. */
static status own_piece(void *context, size_t piece, size_t worker)
{
    const struct gemm *g = context;
    struct range r = piece_range(g->batch * g->groups, g->grain, piece);
    void *packed;
    status st = cpu_scratch(cpu_of(g->d), worker, own_bytes(g), &packed);
    for (size_t u = r.from; u < r.to && st == OK; u++) {
        size_t t = u / g->groups, column = u % g->groups * g->group, columns = size_min(g->group, g->n - column);
        for (size_t term = 0; term < g->depth; term += g->depth_block) {
            size_t terms = size_min(g->depth_block, g->depth - term);
            pack(g, t, column, columns, term, terms, packed);
            for (size_t row = 0; row < g->m; row += ROWS) {
                struct range rows = {row, size_min(g->m, row + ROWS)};
                multiply(g, t, rows, column, columns, term, terms, packed);
            }
        }
    }
    return st;
}

static status own_run(struct gemm *g)
{
    size_t width = g->k->gemm_width, most = size_max(1, UNIT / (g->m * g->depth) / width) * width;
    g->group = size_min(most, size_max(1, SLAB_BYTES / 32 / (g->depth_block * sizeof(real)) / width) * width);
    g->groups = size_div_up(g->n, g->group);
    g->grain = size_max(1, PIECE / (g->m * g->depth * size_min(g->n, g->group)));
    const status st = cpu_reserve(cpu_of(g->d), own_bytes(g));
    return st != OK ? st : pool_run(cpu_of(g->d)->threads, pieces_of(g->batch * g->groups, g->grain), own_piece, g);
}

static real *slab_panels(const struct gemm *g, size_t column) /* column counts from the slab's first */
{
    return g->packed + column * g->terms;
}

static status pack_piece(void *context, size_t piece, size_t worker)
{
    const struct gemm *g = context;
    struct range r = piece_range(g->columns, g->group, piece);
    (void)worker;
    pack(g, 0, g->column + r.from, r.to - r.from, g->term, g->terms, slab_panels(g, r.from));
    return OK;
}

/* A unit is one block of rows of one matrix by one group of columns. */
static status shared_piece(void *context, size_t piece, size_t worker)
{
    const struct gemm *g = context;
    struct range r = piece_range(g->batch * g->row_blocks * g->groups, g->grain, piece);
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        size_t column = u % g->groups * g->group, block = u / g->groups;
        struct range rows = piece_range(g->m, ROWS, block % g->row_blocks);
        multiply(g, block / g->row_blocks, rows, g->column + column, size_min(g->group, g->columns - column), g->term,
                 g->terms, slab_panels(g, column));
    }
    return OK;
}

static status slab_run(struct gemm *g)
{
    status st = OK;
    pool *threads = cpu_of(g->d)->threads;
    size_t width = g->k->gemm_width, rows = size_min(g->m, ROWS);
    g->group = size_max(1, UNIT / (rows * g->terms) / width) * width;
    g->groups = size_div_up(g->columns, g->group);
    g->row_blocks = size_div_up(g->m, ROWS);
    g->grain = size_max(1, PIECE / (rows * g->terms * size_min(g->columns, g->group)));
    TRY(pool_run(threads, g->groups, pack_piece, g));
    TRY(pool_run(threads, pieces_of(g->batch * g->row_blocks * g->groups, g->grain), shared_piece, g));
done:
    return st;
}

static status shared_run(struct gemm *g)
{
    status st = OK;
    void *packed;
    size_t width = g->k->gemm_width, most = size_max(1, SLAB_BYTES / (g->depth_block * sizeof(real)) / width) * width;
    size_t columns = size_min(most, panels_of(g, g->n) * width);
    TRY(cpu_shared(cpu_of(g->d), columns * g->depth_block * sizeof(real), &packed));
    g->packed = packed;
    for (g->column = 0; g->column < g->n; g->column += columns) {
        g->columns = size_min(columns, g->n - g->column);
        for (g->term = 0; g->term < g->depth; g->term += g->depth_block) {
            g->terms = size_min(g->depth_block, g->depth - g->term);
            TRY(slab_run(g));
        }
    }
done:
    return st;
}

/* c[m] = a b[., 0], or c[n] = a[0, .] b; `rows` says that the sums run along rows of the matrix in memory. */
struct vector_product {
    const struct gemm *g;
    const real *matrix, *vector;
    size_t matrix_step, vector_step, row_step;
    bool rows;
    size_t outputs, blocks, grain;
};

static status vector_piece(void *context, size_t piece, size_t worker)
{
    const struct vector_product *w = context;
    const struct gemm *g = w->g;
    struct range r = piece_range(g->batch * w->blocks, w->grain, piece);
    real block[OUTPUTS];
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        size_t t = u / w->blocks, from = u % w->blocks * OUTPUTS, count = size_min(OUTPUTS, w->outputs - from);
        const real *e = w->matrix + t * w->matrix_step, *v = w->vector + t * w->vector_step;
        real *c = g->c + t * w->outputs + from;
        if (w->rows) g->k->rows_dot(e + from * w->row_step, w->row_step, count, g->depth, v, block);
        else g->k->columns_dot(e + from, w->row_step, g->depth, count, v, block);
        if (g->add) g->k->axpy(g->alpha, block, c, count);
        else g->k->affine(block, g->alpha, (real)-0.0, c, count);
    }
    return OK;
}

static status vector_run(const struct gemm *g)
{
    struct vector_product w = {g,    g->a, g->b, g->a_step, g->b_step, size_max(g->a_row, g->a_col), g->a_col == 1,
                               g->m, 0,    0};
    if (g->n > 1) {
        w = (struct vector_product){g,    g->b, g->a, g->b_step, g->a_step, size_max(g->b_row, g->b_col), g->b_row == 1,
                                    g->n, 0,    0};
    }
    w.blocks = size_div_up(w.outputs, OUTPUTS);
    w.grain = size_max(1, 4 * GRAIN / (size_min(w.outputs, OUTPUTS) * g->depth));
    return pool_run(cpu_of(g->d)->threads, pieces_of(g->batch * w.blocks, w.grain), vector_piece, &w);
}

/* A unit is NEAR columns of b by all rows of a: each row of few meets every column as a dot, and b is read once. */
static status few_piece(void *context, size_t piece, size_t worker)
{
    const struct gemm *g = context;
    struct range r = piece_range(size_div_up(g->n, NEAR), g->grain, piece);
    real block[NEAR];
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        size_t column = u * NEAR, count = size_min(NEAR, g->n - column);
        for (size_t i = 0; i < g->m; i++) {
            real *c = g->c + i * g->n + column;
            g->k->rows_dot(g->b + column * g->b_col, g->b_col, count, g->depth, g->a + i * g->a_row, block);
            if (g->add) g->k->axpy(g->alpha, block, c, count);
            else g->k->affine(block, g->alpha, (real)-0.0, c, count);
        }
    }
    return OK;
}

static bool few_rows(const struct gemm *g)
{
    return g->batch == 1 && g->m <= FEW && g->a_col == 1 && g->b_row == 1 && g->n >= NEAR && g->depth >= 2 * NEAR;
}

static status few_run(struct gemm *g)
{
    g->grain = size_max(1, 4 * GRAIN / (NEAR * g->depth));
    return pool_run(cpu_of(g->d)->threads, pieces_of(size_div_up(g->n, NEAR), g->grain), few_piece, g);
}

static struct gemm gemm_of(struct device *d, bool ta, bool tb, const tensor *a, const tensor *b, const tensor *c)
{
    struct matrices x = matrices_of(a), y = matrices_of(b), z = matrices_of(c);
    struct gemm g = {.d = d, .k = KERNELS(d), .batch = z.batch, .m = z.rows, .n = z.columns, .c = z.data};
    g.depth = ta ? x.rows : x.columns;
    g.a = x.data;
    g.b = y.data;
    g.a_step = x.batch == 1 ? 0 : x.rows * x.columns;
    g.b_step = y.batch == 1 ? 0 : y.rows * y.columns;
    g.a_row = ta ? 1 : x.columns;
    g.a_col = ta ? x.columns : 1;
    g.b_row = tb ? 1 : y.columns;
    g.b_col = tb ? y.columns : 1;
    if (g.b_step == 0 && !ta && x.batch == z.batch) { /* matrices that share b are one tall matrix */
        g.m *= g.batch;
        g.batch = 1;
    }
    size_t most = DEPTH_BYTES / sizeof(real), blocks = size_max(1, size_div_up(g.depth, most));
    g.depth_block = size_div_up(g.depth, blocks);
    return g;
}

status R(prim_gemm)(struct device *d, bool ta, bool tb, double alpha, const tensor *a, const tensor *b, double beta,
                    tensor *c)
{
    status st = OK;
    struct gemm g = gemm_of(d, ta, tb, a, b, c);
    g.alpha = (real)alpha;
    g.add = beta != 0;
    if (g.batch == 0 || g.m == 0 || g.n == 0) return OK;
    if (g.depth == 0 && beta == 0) return R(prim_fill)(d, 0, c);
    if (beta != 0 && beta != 1) TRY(R(prim_affine)(d, c, beta, -0.0, c));
    if (g.depth == 0) return OK;
    if (g.m == 1 || g.n == 1) return vector_run(&g);
    if (few_rows(&g)) return few_run(&g);
    return g.b_step == 0 && g.batch * g.m > ROWS ? shared_run(&g) : own_run(&g);
done:
    return st;
}
