/* score.c - scores a tiny episode with libcentra and prints what came out.
 *
 *     cc score.c $(pkg-config --cflags --libs centra) -o score        (c++ works as well)
 *
 * Two classes, one support picture each, two query pictures. A picture is a 2 x 2 map of features with 3 channels, which
 * a network would have computed; here they are written by hand. Class 7 shows "red" once and class 9 "green" once; the
 * other places are the same "blue" background in all pictures, so only one place in four tells the classes apart. */
#include <centra.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 3, PLACES = 4, WAY = 2, QUERIES = 2 };

/* [pictures, channels, places] */
static const double support[WAY][CHANNELS][PLACES] = {
    {{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 1, 1}}, /* red at place 0 */
    {{0, 0, 0, 0}, {0, 0, 1, 0}, {1, 1, 0, 1}}, /* green at place 2 */
};
static const int64_t support_labels[WAY] = {7, 9};
static const double query[QUERIES][CHANNELS][PLACES] = {
    {{0, 0, 0, 1}, {0, 0, 0, 0}, {1, 1, 1, 0}}, /* red at place 3 */
    {{0, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 1}}, /* green at place 1 */
};

static void describe(centra_episode *episode)
{
    memset(episode, 0, sizeof *episode);
    episode->precision = CENTRA_F64;
    episode->channels = CHANNELS;
    episode->support_count = WAY;
    episode->support_locations = PLACES;
    episode->support = support;
    episode->support_labels = support_labels;
    episode->query_count = QUERIES;
    episode->query_locations = PLACES;
    episode->query = query;
}

static centra_status score(centra_session *session)
{
    const centra_option options[] = {{"alpha", "0.5"}, {"gamma", "5"}};
    double probabilities[QUERIES][WAY], centrality[QUERIES][PLACES];
    int64_t labels[WAY];
    centra_head *head = NULL;
    centra_episode episode;
    centra_result result;
    centra_status status = centra_head_new(session, "mcl-katz", options, 2, &head);
    if (status != CENTRA_OK) return status;

    describe(&episode);
    memset(&result, 0, sizeof result); /* what stays NULL is not computed */
    result.labels = labels;
    result.scores = probabilities;
    result.centrality_query = centrality;
    status = centra_head_score(head, &episode, &result);
    for (int q = 0; q < QUERIES && status == CENTRA_OK; q++) {
        printf("query %d:", q);
        for (int k = 0; k < WAY; k++) printf("  class %d %.3f", (int)labels[k], probabilities[q][k]);
        printf("  centrality");
        for (int p = 0; p < PLACES; p++) printf(" %.3f", centrality[q][p]);
        printf("\n");
    }
    centra_head_free(head);
    return status;
}

int main(void)
{
    centra_session *session = NULL;
    centra_status status = centra_session_open(NULL, &session);
    if (status == CENTRA_OK) status = score(session);
    if (status != CENTRA_OK) fprintf(stderr, "score: %s\n", centra_message());
    centra_session_close(session);
    return status == CENTRA_OK ? 0 : 1;
}
