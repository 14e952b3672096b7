#include "autotune/data/forest.h"

#include <stdlib.h>
#include <string.h>

int forest_find(const Forest *f, const char *name)
{
    for (int i = 0; i < f->nodes.n; i++)
        if (strcmp(f->nodes.at[i].name, name) == 0)
            return i;
    return -1;
}

/* The text between the class's brackets, split at the first comma; false if it is another class. */
static bool split_class(Arena *a, const char *cls, char **def, char **path)
{
    static const char head[] = "threshold(";
    size_t n = strlen(cls), h = sizeof head - 1;
    if (strncmp(cls, head, h) != 0 || n <= h || cls[n - 1] != ')')
        return false;
    char *inside = arena_strndup(a, cls + h, n - h - 1);
    char *comma = strchr(inside, ',');
    *def = inside;
    *path = comma ? comma + 1 : inside + strlen(inside);
    if (comma)
        *comma = '\0';
    return true;
}

bool forest_add(Arena *a, Forest *f, const char *name, const char *cls, int64_t def,
                const char **wrong)
{
    char *def_text, *path;
    *wrong = NULL;
    if (!split_class(a, cls, &def_text, &path)) {
        *wrong = arena_printf(a, "%s: not a threshold: %s", name, cls);
        return false;
    }
    Node node = {arena_strdup(a, name), -1, false, def};
    if (strcmp(def_text, "def") != 0)
        node.def = strtoll(def_text, NULL, 10);
    /* The last step of the path is the nearest ancestor. */
    for (char *save, *step = strtok_r(path, " ", &save); step; step = strtok_r(NULL, " ", &save)) {
        node.outcome = step[0] != '!';
        node.parent = forest_find(f, step + !node.outcome);
        if (node.parent < 0) {
            *wrong = arena_printf(a, "%s: unknown ancestor %s", name, step);
            return false;
        }
    }
    vec_push(a, &f->nodes, node);
    return true;
}

bool node_is_loop(const Node *n)
{
    return n->def == 0; /* versions have defaults that are numbers */
}
