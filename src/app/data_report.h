/* data_report.h - what centra data check says, as a table and as JSON. */
#ifndef APP_DATA_REPORT_H
#define APP_DATA_REPORT_H
#include "base/text.h"
#include "centra.h"

void data_report_table(const centra_data_report *r, text *to);
void data_report_json(const centra_data_report *r, text *to);
/* What is wrong: pictures that cannot be read, and pairs of equal pictures in different splits. */
size_t data_report_unreadable(const centra_data_report *r);
size_t data_report_across(const centra_data_report *r);
#endif
