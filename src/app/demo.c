/* demo.c - centra demo: a small generated episode, scored with two heads, with its centralities as maps.
 *
 * demo_episode.c makes the episode, demo_map.c draws; this file scores and says in words what there is to see. */
#include "app/demo.h"
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdlib.h>

struct demo {
    bool ascii;
};

enum { MUTUAL, ONE_WAY, HEADS };
static const char *const head_names[HEADS] = {[MUTUAL] = "mcl-katz", [ONE_WAY] = "unidirectional"};

struct story {
    struct demo_episode episode;
    struct demo_result result[HEADS];
};

static size_t best_of(const struct demo_result *r, size_t query)
{
    size_t best = 0;
    for (size_t k = 1; k < DEMO_WAY; k++)
        if (r->scores[query][k] > r->scores[query][best]) best = k;
    return best;
}

static size_t right_answers(const struct story *s, size_t head)
{
    size_t right = 0;
    for (size_t i = 0; i < DEMO_QUERIES; i++)
        right += (int64_t)best_of(&s->result[head], i) == s->episode.query_labels[i];
    return right;
}

static status score_with(centra_session *session, const struct demo_episode *e, const char *name,
                         struct demo_result *out)
{
    const centra_episode episode = {
        .precision = CENTRA_F32,
        .channels = DEMO_CHANNELS,
        .support_count = DEMO_WAY,
        .support_locations = DEMO_CELLS,
        .support = e->support,
        .support_labels = e->support_labels,
        .query_count = DEMO_QUERIES,
        .query_locations = DEMO_CELLS,
        .query = e->query,
        .query_labels = e->query_labels,
    };
    const centra_result result = {
        .scores = out->scores, .loss = &out->loss, .centrality_support = out->support, .centrality_query = out->query};
    centra_head *head = NULL;
    status st = library(centra_head_new(session, name, NULL, 0, &head));
    out->head = name;
    if (st == OK) st = library(centra_head_score(head, &episode, &result));
    centra_head_free(head);
    return st;
}

static void add_predictions(text *to, const struct story *s)
{
    struct table table = {.align = "rrrrrr"};
    table_cell(&table, "query");
    table_cell(&table, "true");
    for (size_t h = 0; h < HEADS; h++) {
        table_cell(&table, "%s", head_names[h]);
        table_cell(&table, "probability");
    }
    for (size_t i = 0; i < DEMO_QUERIES; i++) {
        table_cell(&table, "%zu", i);
        table_cell(&table, "%lld", (long long)s->episode.query_labels[i]);
        for (size_t h = 0; h < HEADS; h++) {
            size_t best = best_of(&s->result[h], i);
            table_cell(&table, "%zu", best);
            table_cell(&table, "%.3f", (double)s->result[h].scores[i][best]);
        }
    }
    table_cell(&table, "right");
    table_cell(&table, "%s", "");
    for (size_t h = 0; h < HEADS; h++) {
        table_cell(&table, "%zu of %d", right_answers(s, h), DEMO_QUERIES);
        table_cell(&table, "%s", "");
    }
    table_write(&table, 2, to);
}

static double mean_of_true(const struct story *s, size_t head)
{
    double sum = 0;
    for (size_t i = 0; i < DEMO_QUERIES; i++) sum += (double)s->result[head].scores[i][s->episode.query_labels[i]];
    return sum / DEMO_QUERIES;
}

/* The query that the mutual head is surest about. */
static size_t surest(const struct story *s)
{
    const struct demo_result *r = &s->result[MUTUAL];
    size_t found = 0;
    for (size_t i = 1; i < DEMO_QUERIES; i++)
        if (r->scores[i][best_of(r, i)] > r->scores[found][best_of(r, found)]) found = i;
    return found;
}

static void add_maps(text *to, const struct story *s, bool unicode)
{
    const struct demo_result *r = &s->result[MUTUAL];
    size_t i = surest(s), best = best_of(r, i);
    text_addf(to,
              "\nWhere %s looks, for the query it is surest about; the frame is where the pattern really is:\n\n"
              "  %-31s%s %zu\n",
              r->head, "query", "support picture of class", best);
    demo_maps(to, r->query[i], s->episode.query_place[i], r->support[i][best], s->episode.support_place[best], unicode);
    text_addf(to,
              "\nThe pattern covers %.0f %% of each map and holds %.0f %% of the query's centrality and %.0f %% of "
              "the\nsupport picture's: ",
              100.0 * DEMO_PATTERN * DEMO_PATTERN / DEMO_CELLS,
              100 * demo_share(r->query[i], s->episode.query_place[i]),
              100 * demo_share(r->support[i][best], s->episode.support_place[best]));
    text_add(to, "its locations find each other in both directions, while clutter\n"
                 "finds nothing that would find it back. Nobody said where the pattern is.\n");
}

static status report_words(const struct call *c, const struct story *s)
{
    const struct demo *settings = c->settings;
    text t = {0};
    text_addf(
        &t,
        "%d classes, each a pattern of %dx%d local features that lies somewhere among the clutter of an %dx%d map;\n"
        "one picture of each class is known, %d pictures are to be classified (seed %lld):\n\n",
        DEMO_WAY, DEMO_PATTERN, DEMO_PATTERN, DEMO_SIDE, DEMO_SIDE, DEMO_QUERIES, (long long)c->common.seed);
    add_predictions(&t, s);
    text_addf(&t, "\nOn average %s gives the true class %.3f and %s, which goes one way only, %.3f; chance is %.3f.\n",
              head_names[MUTUAL], mean_of_true(s, MUTUAL), head_names[ONE_WAY], mean_of_true(s, ONE_WAY),
              1.0 / DEMO_WAY);
    add_maps(&t, s, !settings->ascii && terminal_unicode());
    return put(&t);
}

static void json_number(struct json_writer *w, const char *key, int64_t value)
{
    json_key(w, key);
    json_int(w, value);
}

static void json_predictions(struct json_writer *w, const struct story *s, size_t head)
{
    const struct demo_result *r = &s->result[head];
    json_key(w, "predictions");
    json_array(w);
    for (size_t i = 0; i < DEMO_QUERIES; i++) {
        size_t best = best_of(r, i);
        json_object(w);
        json_number(w, "query", (int64_t)i);
        json_number(w, "true", s->episode.query_labels[i]);
        json_number(w, "label", (int64_t)best);
        json_key(w, "probability");
        json_real(w, (double)r->scores[i][best]);
        json_key(w, "pattern_share_query");
        json_real(w, demo_share(r->query[i], s->episode.query_place[i]));
        json_key(w, "pattern_share_support");
        json_real(w, demo_share(r->support[i][best], s->episode.support_place[best]));
        json_object_end(w);
    }
    json_array_end(w);
}

static status report_json(const struct call *c, const struct story *s)
{
    text t = {0};
    struct json_writer w;
    json_begin(&w, &t, false);
    json_array(&w);
    for (size_t h = 0; h < HEADS; h++) {
        json_object(&w);
        json_key(&w, "head");
        json_string(&w, head_names[h]);
        json_number(&w, "way", DEMO_WAY);
        json_number(&w, "shot", 1);
        json_number(&w, "query", DEMO_EACH);
        json_number(&w, "seed", c->common.seed);
        json_key(&w, "accuracy");
        json_real(&w, 100.0 * (double)right_answers(s, h) / DEMO_QUERIES);
        json_key(&w, "loss");
        json_real(&w, s->result[h].loss);
        json_predictions(&w, s, h);
        json_object_end(&w);
    }
    json_array_end(&w);
    text_add(&t, "\n");
    return put(&t);
}

static status demo_run(const struct call *c)
{
    centra_session *session = NULL;
    struct story *s = calloc(1, sizeof *s);
    status st = s ? OK : fail(ST_MEMORY, "no memory for the demonstration");
    if (st != OK) return st;
    TRY(session_open(c, &session));
    demo_episode_make((uint64_t)c->common.seed, &s->episode);
    for (size_t h = 0; h < HEADS; h++) TRY(score_with(session, &s->episode, head_names[h], &s->result[h]));
    TRY(c->common.json ? report_json(c, s) : report_words(c, s));
done:
    centra_session_close(session);
    free(s);
    return st;
}

static const struct option demo_options[] = {OPT_FLAG(struct demo, ascii, "ascii", "draw with plain ASCII characters"),
                                             OPT_END};

static const char *const demo_details[] = {
    "Makes a small episode: every class is a pattern of local features, every picture hides one pattern in clutter. "
    "Scores "
    "it with mutual centralized learning and with the one-way average that it improves on, and draws where the mutual "
    "head looks.",
    NULL};

const struct command demo_command = {
    .name = "demo",
    .title = "shows what it is about on a small generated episode",
    .options = demo_options,
    .settings_bytes = sizeof(struct demo),
    .details = demo_details,
    .run = demo_run,
    .examples = {{"centra demo", "predictions and maps in the terminal"},
                 {"centra demo --seed 7 --json", "another episode, as JSON"}},
};
