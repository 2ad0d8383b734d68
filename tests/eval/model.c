/* model.c - models: one table for network and head, settings before parameters, start values by seed alone. */
#include "eval/model.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

static bool open_model(struct world *w, const char *net, const char *head, struct model *m)
{
    *m = (struct model){0};
    if (!rig_open(w, NULL, 2, DT_F32)) return false;
    const status st = model_new(w->dev, net, head, m);
    if (st == OK) return true;
    test_failed(__FILE__, __LINE__, "no model: %s", error_text());
    world_close(w);
    return false;
}

TEST(a_model_holds_the_parameters_of_its_network_with_the_settings_that_were_set)
{
    struct world w;
    struct model m;
    REQUIRE(open_model(&w, "conv4", "mcl-katz", &m));
    EXPECT_OK(option_set(m.net->options, "net.", "width", "8", m.net_settings));
    EXPECT_OK(model_start(&m, DT_F32, 1));
    EXPECT_INT(m.channels, 8);
    EXPECT_INT(params_count(m.params), 20);
    const struct param *p = params_find(m.params, "layer1.0.weight");
    REQUIRE(p);
    EXPECT_INT(p->value.dim[0], 8);
    model_free(&m);
    world_close(&w);
}

TEST(start_values_of_a_model_follow_from_the_seed)
{
    float first[3];
    for (int i = 0; i < 3; i++) {
        struct world w;
        struct model m;
        REQUIRE(open_model(&w, "conv4", NULL, &m));
        EXPECT_OK(model_start(&m, DT_F32, i < 2 ? 7 : 8));
        struct param *p = params_find(m.params, "layer4.0.weight");
        REQUIRE(p);
        EXPECT_OK(w.dev->download(w.dev, &first[i], p->value.data, sizeof *first));
        model_free(&m);
        world_close(&w);
    }
    EXPECT(first[0] == first[1] && first[0] != first[2]);
}

/* Every head that lists parameters gets them, with the shape it names. */
TEST(a_model_holds_the_parameters_of_its_head)
{
    for (const struct head *const *h = head_table; *h; h++) {
        struct world w;
        struct model m;
        REQUIRE(open_model(&w, "conv4", (*h)->name, &m));
        EXPECT_OK(model_start(&m, DT_F64, 3));
        for (const struct head_param *q = (*h)->params; q && q->name; q++) {
            const struct param *p = params_find(m.params, q->name);
            EXPECT(p && p->value.rank == q->rank && p->value.type == DT_F64);
            for (int i = 0; p && i < q->rank; i++) EXPECT_INT(p->value.dim[i], q->dim(64, i));
        }
        model_free(&m);
        world_close(&w);
    }
}

TEST(an_unknown_network_or_head_makes_no_model)
{
    struct world w;
    struct model m = {0};
    REQUIRE(rig_open(&w, NULL, 1, DT_F32));
    EXPECT_STATUS(model_new(w.dev, "conv5", "mcl", &m), ST_USAGE);
    EXPECT_STATUS(model_new(w.dev, "conv4", "mlc", &m), ST_USAGE);
    EXPECT(!m.params && !m.net_settings);
    world_close(&w);
}
