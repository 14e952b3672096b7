/* Completion: names by the language server's eyes, files by their folder. */
#include "repl/offer.h"

#include "command/source.h"
#include "lsp/look.h"
#include "lsp/process/job.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- Names ---------------------------------------------------------------------------------- */

typedef struct {
    const Session *s;
    const char *text;
    size_t at;
} Question;

static bool begins_declaration(const char *text)
{
    static const char *const words[] = {"def",  "entry",  "type", "module",
                                        "open", "import", "local"};
    text += strspn(text, " \t\n");
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncmp(text, words[i], n) == 0)
            return true;
    return strncmp(text, "#[", 2) == 0;
}

/* The labels of what can be there, a line each. */
static char *labels(void *env)
{
    const Question *q = env;
    Arena *a = arena_new();
    Documents docs = {0};
    FePiece *before;
    Document doc = {.path = "<input>",
                    .text = (char *)q->text,
                    .n = strlen(q->text),
                    .exp = !begins_declaration(q->text)};
    doc.n_before = session_texts(q->s, a, &(FePiece){0}, &before) - 1;
    doc.before = before;
    Document *sources = NEWN(a, Document, q->s->sources.n);
    for (int i = 0; i < q->s->sources.n; i++) {
        const Source *s = &q->s->sources.at[i];
        sources[i] = (Document){
            .path = (char *)s->path, .text = (char *)s->text, .n = s->n, .next = docs.first};
        docs.first = &sources[i];
    }
    const Query query = {.a = a, .docs = &docs, .doc = &doc, .at = q->at};
    const cJSON *items = query_completion(&query), *item;
    Out o = {0};
    cJSON_ArrayForEach(item, items) out_printf(&o, "%s\n", json_string(item, "label"));
    return out_take(&o);
}

/* The labels, to be freed, or NULL. */
static char *ask_labels(Question *q)
{
    Job job;
    char why[200];
    if (!job_start(&job, labels, q))
        return NULL;
    while (!job_read(&job)) {
    }
    return job_end(&job, why, sizeof why);
}

void offer_names(const Session *s, const char *text, size_t at, Offers *offers)
{
    size_t from = at;
    while (from > 0 && (isalnum((unsigned char)text[from - 1]) || text[from - 1] == '_' ||
                        text[from - 1] == '\''))
        from--;
    Question q = {s, text, at};
    char *all = ask_labels(&q), *next = all;
    offers->from = from;
    for (char *line; all && (line = strsep(&next, "\n"));)
        if (*line && strncmp(line, text + from, at - from) == 0)
            vec_push(offers->a, &offers->words, arena_strdup(offers->a, line));
    free(all);
}

/* --- Files ---------------------------------------------------------------------------------- */

void offer_files(const char *line, size_t cursor, Offers *offers)
{
    size_t from = cursor;
    while (from > 0 && !isspace((unsigned char)line[from - 1]))
        from--;
    const char *word = arena_strndup(offers->a, line + from, cursor - from),
               *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
    const char *folder = arena_strndup(offers->a, word, (size_t)(name - word));
    DIR *d = opendir(*folder ? folder : ".");
    offers->from = from;
    for (const struct dirent *f; d && (f = readdir(d));) {
        const char *path = arena_printf(offers->a, "%s%s", folder, f->d_name);
        struct stat st;
        if (strncmp(f->d_name, name, strlen(name)) != 0 || (*f->d_name == '.' && *name != '.') ||
            stat(path, &st) != 0)
            continue;
        bool program = source_stem(path) < strlen(path);
        if (S_ISDIR(st.st_mode) || program)
            vec_push(offers->a, &offers->words,
                     S_ISDIR(st.st_mode) ? arena_printf(offers->a, "%s/", path) : path);
    }
    if (d)
        closedir(d);
}
