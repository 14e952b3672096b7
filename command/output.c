#include "command/output.h"

#include "base/arena.h"
#include "base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char *path;
    const char *what;
} Protected;

static struct {
    Protected *at;
    size_t n, cap;
} protected;

void output_protect(const char *path, const char *what)
{
    for (size_t i = 0; i < protected.n; i++)
        if (strcmp(protected.at[i].path, path) == 0)
            return;
    if (protected.n == protected.cap) {
        protected.cap = protected.cap ? 2 * protected.cap : 16;
        protected.at = mem_or_exit(realloc(protected.at, protected.cap * sizeof *protected.at));
    }
    protected.at[protected.n++] = (Protected){mem_or_exit(strdup(path)), what};
}

void output_print_protected(FILE *f)
{
    for (size_t i = 0; i < protected.n; i++)
        fwrite(protected.at[i].path, 1, strlen(protected.at[i].path) + 1, f);
}

/* Only files can be lost. */
static bool is_file(const char *path, struct stat *st)
{
    return path && stat(path, st) == 0 && S_ISREG(st->st_mode);
}

static bool same_file(const struct stat *a, const char *path)
{
    struct stat b;
    return is_file(path, &b) && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

bool output_any_there(const Outputs *os)
{
    struct stat st;
    for (int i = 0; i < os->n; i++)
        if (is_file(os->of[i].path, &st))
            return true;
    return false;
}

/* `-o FILE`, or FILE alone. */
static void say_output(const Outputs *os, const Output *o)
{
    fprintf(stderr, "%s: %s%s%s", os->command, o->option ? o->option : "", o->option ? " " : "",
            o->path);
}

/* Is it a file that the command reads? Then a message. */
static bool is_protected(const Outputs *os, const Output *o)
{
    struct stat st;
    bool there = is_file(o->path, &st);
    for (size_t i = 0; i < protected.n && there; i++) {
        const Protected *p = &protected.at[i];
        if (!same_file(&st, p->path))
            continue;
        say_output(os, o);
        bool known = strcmp(p->path, o->path) == 0;
        fprintf(stderr, " would overwrite %s%s%s; give another name\n", known ? "" : p->path,
                known ? "" : ", ", p->what);
        return true;
    }
    return false;
}

/* The folder that a file is in or will be; its name there. */
static const char *name_in_folder(const char *path, struct stat *folder)
{
    const char *slash = strrchr(path, '/');
    char *of = slash ? mem_or_exit(strndup(path, (size_t)(slash - path) + 1)) : NULL;
    bool there = stat(of ? of : ".", folder) == 0;
    free(of);
    return !there ? NULL : slash ? slash + 1 : path;
}

/* Will both be one file? */
static bool same_new_file(const char *a, const char *b)
{
    struct stat in_a, in_b;
    const char *name_a = name_in_folder(a, &in_a), *name_b = name_in_folder(b, &in_b);
    return name_a && name_b && strcmp(name_a, name_b) == 0 && in_a.st_dev == in_b.st_dev &&
           in_a.st_ino == in_b.st_ino;
}

/* Are both written to one file? Then a message. */
static bool collides(const Outputs *os, const Output *a, const Output *b)
{
    struct stat st;
    if (!a->path || !b->path)
        return false;
    if (is_file(a->path, &st) ? !same_file(&st, b->path)
                              : stat(a->path, &st) == 0 || !same_new_file(a->path, b->path))
        return false;
    say_output(os, b);
    fprintf(stderr, " would overwrite what %s writes to %s; give another name\n",
            a->option ? a->option : "it", a->path);
    return true;
}

static bool begins_with(const char *path, const char *head)
{
    char got[128];
    size_t n = strlen(head);
    int fd = n <= sizeof got ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool does = fd >= 0 && read(fd, got, n) == (ssize_t)n && memcmp(got, head, n) == 0;
    if (fd >= 0)
        close(fd);
    return does;
}

static bool is_ours(const Output *o)
{
    const OutputKind *k = o->kind;
    for (size_t i = 0; i < sizeof k->heads / sizeof *k->heads && k->heads[i]; i++)
        if (begins_with(o->path, k->heads[i]))
            return true;
    return k->ours && k->ours(o->path);
}

/* May what is there be replaced? 0, or the exit code after a message. */
static int check_owner(const Outputs *os, const Output *o)
{
    struct stat st;
    if (os->force || !is_file(o->path, &st) || st.st_size == 0 || is_ours(o))
        return 0;
    fprintf(stderr,
            "%s: %s is there and was not made by minifut: give another name, or --force to write "
            "over it\n",
            os->command, o->path);
    return EXIT_USER;
}

int output_check(const Outputs *os)
{
    int code = 0;
    for (int i = 0; i < os->n; i++) {
        if (is_protected(os, &os->of[i]))
            return EXIT_USAGE;
        for (int k = 0; k < i; k++)
            if (collides(os, &os->of[k], &os->of[i]))
                return EXIT_USAGE;
    }
    for (int i = 0; i < os->n && !code; i++)
        code = check_owner(os, &os->of[i]);
    return code;
}

int output_write(const Outputs *os, const Output *o, const Out *text)
{
    int code = is_protected(os, o) ? EXIT_USAGE : check_owner(os, o);
    if (code || out_write_file(text, o->path))
        return code;
    fprintf(stderr, "%s: cannot write %s: %s\n", os->command, o->path, strerror(errno));
    return EXIT_USER;
}
