/* Open documents: their texts, edits, and the names of their files. */
#include "lsp/documents.h"

#include "lsp/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- URIs and paths ------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10
                                        : -1;
}

char *uri_path(const char *uri)
{
    static const char scheme[] = "file://";
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return mem_or_exit(strdup(uri));
    const char *s = uri + sizeof scheme - 1;
    s += strcspn(s, "/"); /* the host */
    char *path = mem_or_exit(malloc(strlen(s) + 1)), *to = path;
    while (*s) {
        int high = *s == '%' ? hex_digit(s[1]) : -1, low = high < 0 ? -1 : hex_digit(s[2]);
        bool escape = low >= 0 && (high || low);
        *to++ = escape ? (char)(16 * high + low) : *s;
        s += escape ? 3 : 1;
    }
    *to = 0;
    return path;
}

char *path_uri(const char *path)
{
    char *uri = mem_or_exit(malloc(3 * strlen(path) + 8)), *to = uri;
    if (*path != '/') /* no file */
        return strcpy(uri, path);
    to += sprintf(to, "file://");
    for (; *path; path++) {
        if (isalnum((unsigned char)*path) || strchr("/-._~", *path))
            *to++ = *path;
        else
            to += sprintf(to, "%%%02X", (unsigned char)*path);
    }
    *to = 0;
    return uri;
}

/* Takes `.`, `..` and empty parts out of an absolute path, where it is. */
static void clean_path(char *path)
{
    char *to = path;
    for (const char *s = path; *s == '/';) {
        size_t n = 1 + strcspn(s + 1, "/");
        if (n == 3 && s[1] == '.' && s[2] == '.') {
            while (to > path && *--to != '/') {
            }
        } else if (n > 1 && !(n == 2 && s[1] == '.')) {
            memmove(to, s, n);
            to += n;
        }
        s += n;
    }
    *to = 0;
}

static bool same_file(const char *a, const char *b)
{
    enum {
        LONGEST = 4096
    }; /* what imports itself by ever longer names has an end, as on the disk */
    if (strcmp(a, b) == 0)
        return true;
    if (*a != '/' || *b != '/' || strlen(a) >= LONGEST)
        return false;
    char *x = mem_or_exit(strdup(a)), *y = mem_or_exit(strdup(b));
    clean_path(x);
    clean_path(y);
    struct stat s, t;
    bool same = strcmp(x, y) == 0 || (stat(a, &s) == 0 && stat(b, &t) == 0 &&
                                      s.st_dev == t.st_dev && s.st_ino == t.st_ino);
    free(x);
    free(y);
    return same;
}

/* --- Documents ------------------------------------------------------------------------------ */

Document *document_find(const Documents *ds, const char *uri)
{
    for (Document *d = ds->first; d; d = d->next)
        if (strcmp(d->uri, uri) == 0)
            return d;
    return NULL;
}

const Document *document_of_file(const Documents *ds, const char *path)
{
    for (const Document *d = ds->first; d; d = d->next)
        if (same_file(path, d->path))
            return d;
    return NULL;
}

static void set_text(Document *d, char *text, size_t n)
{
    free(d->text);
    d->text = text;
    d->n = n;
}

Document *document_open(Documents *ds, const char *uri, const char *text, int version)
{
    Document *d = document_find(ds, uri);
    if (!d) {
        d = mem_or_exit(calloc(1, sizeof *d));
        d->uri = mem_or_exit(strdup(uri));
        d->path = uri_path(uri);
        d->next = ds->first;
        ds->first = d;
    }
    set_text(d, mem_or_exit(strdup(text)), strlen(text));
    d->version = version;
    return d;
}

void document_close(Documents *ds, Document *d)
{
    Document **at = &ds->first;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    document_forget_reads(d);
    free(d->uri);
    free(d->path);
    free(d->text);
    free(d->good);
    free(d);
}

/* --- The files that documents depend on ------------------------------------------------------ */

void document_forget_reads(Document *d)
{
    for (int i = 0; i < d->reads.n; i++) {
        free(d->reads.at[i].path);
        free(d->reads.at[i].stamp);
    }
    free(d->reads.at);
    d->reads = (FilesRead){0};
    d->known = false;
}

char *file_stamp(const char *path, bool now)
{
    enum { TICK = 20 * 1000 * 1000 }; /* ns; clocks of file systems are coarse */
    struct stat st;
    struct timespec time;
    char text[128] = "";
    if (stat(path, &st) == 0) {
        clock_gettime(CLOCK_REALTIME, &time);
        int64_t age = (time.tv_sec - st.st_ctim.tv_sec) * (int64_t)1000000000 + time.tv_nsec -
                      st.st_ctim.tv_nsec;
        bool fresh = now && age > -TICK && age < TICK;
        snprintf(text, sizeof text, "%s%jx.%jx.%jx.%jx.%lx", fresh ? "fresh " : "",
                 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (uintmax_t)st.st_size,
                 (uintmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    }
    return mem_or_exit(strdup(text));
}

bool document_is_outdated(const Document *d)
{
    bool same = true;
    for (int i = 0; i < d->reads.n && same; i++) {
        const FileRead *f = &d->reads.at[i];
        char *now = f->stamp ? file_stamp(f->path, false) : NULL;
        same = !now || strcmp(now, f->stamp) == 0;
        free(now);
    }
    return !same;
}

void documents_touch(const Documents *ds, const char *path)
{
    for (Document *d = ds->first; d; d = d->next) {
        bool own = same_file(path, d->path);
        d->anew |= !d->known && !own;
        for (int i = 0; !d->anew && i < d->reads.n; i++)
            d->anew = same_file(d->reads.at[i].path, path);
        d->stale |= d->anew || own;
    }
}

void documents_touch_outdated(const Documents *ds)
{
    for (Document *d = ds->first; d; d = d->next) {
        d->anew |= !d->known || document_is_outdated(d);
        for (int i = 0; !d->anew && i < d->reads.n; i++)
            d->anew = d->reads.at[i].stamp && !*d->reads.at[i].stamp;
        d->stale |= d->anew;
    }
}

/* --- Edits ---------------------------------------------------------------------------------- */

/* Puts a text in the place of a range. */
static void replace(Document *d, Position from, Position to, const char *text)
{
    Arena *a = arena_new();
    Lines l = lines_of(a, d->text, d->n);
    size_t beg = lines_offset(&l, from), end = lines_offset(&l, to), n = strlen(text);
    arena_free(a);
    if (end < beg)
        end = beg;
    size_t size = beg + n + (d->n - end);
    char *out = mem_or_exit(malloc(size + 1));
    memcpy(out, d->text, beg);
    memcpy(out + beg, text, n);
    memcpy(out + beg + n, d->text + end, d->n - end + 1);
    set_text(d, out, size);
}

bool document_change(Document *d, const cJSON *changes)
{
    const cJSON *c;
    bool ok = cJSON_IsArray(changes);
    cJSON_ArrayForEach(c, changes)
    {
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(c, "text");
        const cJSON *range = cJSON_GetObjectItemCaseSensitive(c, "range");
        Position from, to;
        if (!cJSON_IsString(text))
            ok = false;
        else if (!range || cJSON_IsNull(range))
            set_text(d, mem_or_exit(strdup(text->valuestring)), strlen(text->valuestring));
        else if (json_read_position(json_member(range, "start"), &from) &&
                 json_read_position(json_member(range, "end"), &to))
            replace(d, from, to, text->valuestring);
        else
            ok = false;
    }
    return ok;
}
