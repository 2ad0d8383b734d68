/* demo.h - what the files of centra demo share: two trained networks, four heads on the same episodes, and the page. */
#ifndef APP_DEMO_H
#define APP_DEMO_H
#include "app/command.h"
#include "base/chart.h"

enum { DEMO_RUNS = 2, DEMO_ROWS = 4, DEMO_WAY = 5, DEMO_SHOT = 1, DEMO_QUERY = 15, DEMO_MOST_SETTINGS = 16 };

struct demo_settings {
    const char *out, *data, *set;
    int64_t episodes, epochs;
};

/* One training: the curves are kept as it goes. */
struct demo_run {
    const char *head;
    text folder;
    struct chart_point *loss, *validation; /* owned */
    size_t epochs, room;
    double seconds;
    centra_eval *eval; /* of the heads that this network serves */
};

struct demo_row {
    const struct demo_run *run;
    size_t head;                        /* in the run's evaluation */
    double difference, difference_ci95; /* to the first row, episode by episode */
};

struct demo {
    const struct call *call;
    centra_session *session;
    text data; /* "synth:1" */
    struct demo_run run[DEMO_RUNS];
    struct demo_row row[DEMO_ROWS];
};

/* demo_report.c: report.html in the demo's folder. */
status demo_report(const struct demo *d, const char *path);
/* demo_views.c: sample episodes with what the mutual head looked at, as part of the page. */
status demo_views(const struct demo *d, text *page);
#endif
