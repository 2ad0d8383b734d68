/* recipes.h - the recipes that come with the program: beside it where it was built, in share/centra where installed. */
#ifndef APP_RECIPES_H
#define APP_RECIPES_H
#include "base/status.h"
#include "base/text.h"
#include <stddef.h>

struct recipe_list {
    struct recipe_entry {
        char *name, *title, *path; /* owned */
    } * item;                      /* owned, sorted by name */
    size_t count;
};
/* CENTRA_RECIPES names another folder. */
status recipes_find(struct recipe_list *out);
void recipes_free(struct recipe_list *l);
/* The file of a recipe given as a path or as the name of a shipped one; a "did you mean" when it is neither. */
status recipe_path(const char *given, text *out);
#endif
