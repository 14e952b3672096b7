#include "autotune/run/settings.h"

#include "autotune/data/file.h"
#include "common/spell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void warn_of_parameter(const char *tool, const char *file, const char *name, const Forest *f)
{
    rt_spelling s = rt_spell(name);
    for (int i = 0; i < f->nodes.n; i++)
        rt_spell_try(&s, f->nodes.at[i].name);
    fprintf(stderr, "minifut %s: warning: %s: the program has no parameter %s%s\n", tool, file,
            name, rt_spell_hint(&s));
}

/* Warns if the file says that it holds for another device or program, as the program does
 * (runtime/core/tuning.c). */
static void warn_of_origin(Arena *a, Session *s, const char *tool, const char *file)
{
    char *save, *origin = arena_strdup(a, session_origin(s));
    for (char *line = strtok_r(origin, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t n = strcspn(line, ":");
        const char *own = line + n + strspn(line + n, ": "),
                   *head = arena_strndup(a, line, (size_t)(own - line));
        const char *its = tuning_comment(a, file, head);
        bool device = strncmp(line, "device", n) == 0;
        if (its && strcmp(its, own) != 0)
            fprintf(stderr, "minifut %s: warning: %s: tuned %s%s\n", tool, file,
                    device ? "on another device: " : "for another version of the program",
                    device ? its : "");
    }
}

static int find_size(const Sizes *sizes, const char *name)
{
    for (int i = 0; i < sizes->n; i++)
        if (strcmp(sizes->at[i].name, name) == 0)
            return i;
    return -1;
}

bool settings_read(Arena *a, Session *s, const char *tool, const ToolOptions *o, FileSettings *res)
{
    const Forest *f = session_forest(s);
    int64_t *thresholds = NEWN(a, int64_t, f->nodes.n),
            *sizes = NEWN(a, int64_t, session_sizes(s)->n);
    Settings file = {0};
    const char *wrong;
    bool there = !o->untuned && (o->tuning_given || access(o->tuning, F_OK) == 0);
    *res = (FileSettings){there ? o->tuning : NULL, {thresholds, sizes}};
    if (!there)
        return true;
    if (!tuning_read(a, o->tuning, &file, &wrong)) {
        fprintf(stderr, "minifut %s: %s\n", tool, wrong);
        return false;
    }
    warn_of_origin(a, s, tool, o->tuning);
    for (int i = 0; i < file.n; i++) {
        int node = forest_find(f, file.at[i].name);
        int size = find_size(session_sizes(s), file.at[i].name);
        if (node >= 0)
            thresholds[node] = file.at[i].value;
        else if (size >= 0)
            sizes[size] = file.at[i].value;
        else if (!session_knows(s, file.at[i].name)) /* no other entry point's either */
            warn_of_parameter(tool, o->tuning, file.at[i].name, f);
    }
    return true;
}
