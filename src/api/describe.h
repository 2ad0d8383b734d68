/* describe.h - an option of a head or network as the public calls tell it. */
#ifndef API_DESCRIBE_H
#define API_DESCRIBE_H
#include "base/option.h"
#include "centra.h"

size_t option_count(const struct option *table); /* NULL: 0 */
/* `owner` stands in the message when there is no such option. */
status option_describe(const struct option *table, const char *owner, size_t index, centra_option_info *out);
#endif
