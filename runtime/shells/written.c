/* Files that options of a generated program ask for: none is written over what the program reads,
 * nor, unless --force is given, over what is not of its kind; command/output.h says the same of the
 * compiler's commands. And those that clients of its server ask for. */
#include "runtime/shells/serve.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool rt_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What the program reads there, in words; NULL: nothing. */
static const char *rt_is_read(const rt_outputs *w, const struct stat *st)
{
    struct stat its;
    if (fstat(0, &its) == 0 && rt_same_file(st, &its))
        return "its arguments";
    if (stat("/proc/self/exe", &its) == 0 && rt_same_file(st, &its))
        return "the program";
    for (int i = 0; i < w->n_read; i++)
        if (stat(w->read[i], &its) == 0 && rt_same_file(st, &its))
            return "its tuning file";
    return NULL;
}

/* Is it what the option writes? The head that is NULL stands for lines of numbers. */
static bool rt_is_kind(const char *path, const char *head)
{
    char got[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, got, sizeof got - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    got[n] = '\0';
    return head ? strncmp(got, head, strlen(head)) == 0
                : strspn(got, "0123456789\r\n") == (size_t)n;
}

RT_API int rt_output_check(const rt_outputs *w, const char *option, const char *path,
                           const char *head)
{
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    const char *is = rt_is_read(w, &st);
    if (is) {
        fprintf(stderr, "%s: %s %s would overwrite %s; give another name\n", w->program, option,
                path, is);
        return 2;
    }
    if (w->force || st.st_size == 0 || rt_is_kind(path, head))
        return 0;
    fprintf(
        stderr,
        "%s: %s is there and was not made by %s: give another name, or --force to write over it\n",
        w->program, path, option);
    return 1;
}

RT_API FILE *rt_store_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    FILE *f = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "wb") : NULL;
    if (!f && fd >= 0)
        close(fd);
    return f;
}
