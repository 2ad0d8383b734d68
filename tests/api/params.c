/* params.c - a head's learned parameters through the public calls. */
#include "base/file.h"
#include "base/npy.h"
#include "tests/api/sample.h"
#include "tests/test.h"
#include <stdio.h>

static const struct sample_shape shape = {3, 2, 4, 5, 6, CENTRA_F64};

static const char *write_params(double scale, size_t count)
{
    static char folder[400];
    char path[500];
    snprintf(folder, sizeof folder, "%s/params%zu", test_folder(), count);
    EXPECT_OK(folder_make(folder));
    snprintf(path, sizeof path, "%s/head.scale.npy", folder);
    EXPECT_OK(npy_write(path, NPY_F64, 1, &count, (double[]){scale, scale}));
    snprintf(path, sizeof path, "%s/head.r.npy", folder);
    EXPECT_OK(npy_write(path, NPY_F64, 1, (size_t[]){2}, (double[]){0, 0}));
    snprintf(path, sizeof path, "%s/layer1.0.weight.npy", folder); /* a network's: of no interest here */
    EXPECT_OK(npy_write(path, NPY_F64, 1, (size_t[]){2}, (double[]){0, 0}));
    return folder;
}

static bool make(struct sample *x, struct desk *d)
{
    if (!sample_make(&shape, 1, x) || !desk_open(d, "frn", NULL, 1)) return false;
    x->r.centrality_support = x->r.centrality_query = NULL;
    return true;
}

TEST(parameters_of_a_head_are_described)
{
    struct desk d;
    centra_param_info info;
    REQUIRE(desk_open(&d, "frn", NULL, 1));
    EXPECT_OK((status)centra_head_param(d.head, 0, 640, &info));
    EXPECT_TEXT(info.name, "head.scale");
    EXPECT(info.rank == 1 && info.dim[0] == 1);
    EXPECT_OK((status)centra_head_param(d.head, 1, 640, &info));
    EXPECT_TEXT(info.name, "head.r");
    EXPECT(info.rank == 1 && info.dim[0] == 2);
    EXPECT_STATUS((status)centra_head_param(d.head, 2, 640, &info), ST_USAGE);
    EXPECT_TEXT(centra_message(), "frn has no parameter 2; it has 2");
    EXPECT_STATUS((status)centra_head_param(NULL, 0, 640, &info), ST_USAGE);
    desk_close(&d);
}

TEST(loaded_parameters_scale_the_scores)
{
    struct desk d;
    struct sample x;
    double start[12];
    REQUIRE(make(&x, &d));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    for (size_t i = 0; i < 12; i++) start[i] = sample_at(&x, x.r.scores, i);
    EXPECT_OK((status)centra_head_load(d.head, write_params(3, 1)));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    for (size_t i = 0; i < 12; i++) EXPECT_NEAR(sample_at(&x, x.r.scores, i), 3 * start[i], 1e-12);
    sample_free(&x);
    desk_close(&d);
}

/* A second call must not add to the first one's. */
TEST(parameter_gradients_are_those_of_one_call)
{
    struct desk d;
    struct sample x;
    double scale[2], r[2][2];
    REQUIRE(make(&x, &d));
    for (int i = 0; i < 2; i++) {
        x.r.grad_params = (void *[]){&scale[i], r[i]};
        EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    }
    EXPECT(fabs(scale[0]) > 1e-6 && fabs(r[0][0]) > 1e-6);
    EXPECT(scale[0] == scale[1] && !memcmp(r[0], r[1], sizeof r[0]));
    x.e.query_labels = NULL;
    x.r = (centra_result){.grad_params = x.r.grad_params};
    EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_USAGE);
    sample_free(&x);
    desk_close(&d);
}

TEST(parameters_that_do_not_fit_are_refused_in_words)
{
    struct desk d, other;
    struct sample x;
    REQUIRE(make(&x, &d) && desk_open(&other, "mcl", NULL, 1));
    EXPECT_STATUS((status)centra_head_load(other.head, "file"), ST_USAGE);
    EXPECT_TEXT(centra_message(), "the head mcl has no parameters to load from 'file'");
    EXPECT_STATUS((status)centra_head_load(d.head, "no/such/file"), ST_IO);
    EXPECT_STATUS((status)centra_head_load(d.head, NULL), ST_USAGE);
    EXPECT_OK((status)centra_head_load(d.head, write_params(1, 2)));
    EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_SHAPE);
    EXPECT(strstr(centra_message(), "head.scale"));
    EXPECT_OK((status)centra_head_load(d.head, write_params(1, 1)));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    sample_free(&x);
    desk_close(&d);
    desk_close(&other);
}

TEST(loading_parameters_survives_failing_allocations)
{
    struct sample x;
    struct desk d;
    bool done = false;
    REQUIRE(make(&x, &d));
    const char *path = write_params(2, 1);
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r)); /* the tape has its memory */
    const size_t live = alloc_live();
    size_t n = 1;
    for (; n < 400 && !done; n++) {
        struct desk fresh = {d.session, NULL};
        EXPECT_OK((status)centra_head_new(d.session, "frn", NULL, 0, &fresh.head));
        alloc_fail_at(n);
        centra_status st = centra_head_load(fresh.head, path);
        if (st == CENTRA_OK) st = centra_head_score(fresh.head, &x.e, &x.r);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == (done ? CENTRA_OK : CENTRA_MEMORY));
        centra_head_free(fresh.head);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 8);
    sample_free(&x);
    desk_close(&d);
}
