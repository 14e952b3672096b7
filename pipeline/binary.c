/* Programs from their C text, by the C compiler. */
#include "pipeline/binary.h"

#include "command/cc.h"
#include "command/child.h"
#include "common/policy.h"
#include "emit/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The runtime of programs, compiled: $MINIFUT_RUNTIME, or the library that was built with this
 * compiler and holds the same text, beside it or where it was installed. NULL: programs compile it
 * themselves, as those do whose compiler or flags somebody chose. */
static const char *compiled_runtime(Arena *a)
{
    static const char *const folders[] = {"", "/build",
                                          "/../lib/minifut"}; /* from the compiler's own */
    const char *given = getenv("MINIFUT_RUNTIME"), *cc = getenv("CC"), *flags = getenv("CFLAGS");
    if (given && *given)
        return given;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || (cc && *cc) || (flags && *flags))
        return NULL;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path =
            arena_printf(a, "%s%s/libminifut_rt-%s.a", self, folders[i], embed_digest());
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

/* Runs the C compiler: c_file -> binary. */
static int run_cc(Arena *a, const char *binary, const char *c_file)
{
    const char *runtime = compiled_runtime(a);
    char *out = cc_file(binary), *in = cc_file(c_file);
    const char *args[10] = {"-o", out, in};
    int n = 3;
    if (runtime) {
        args[n++] = "-DRT_API=";
        args[n++] = "-DRT_SEPARATE";
        args[n++] = runtime;
    }
    args[n++] = "-lm";
    args[n++] = "-ldl"; /* drivers are looked for when programs run */
    args[n++] = "-lpthread";
    int status = cc_run(args, false);
    free(out);
    free(in);
    if (status < 0)
        fprintf(stderr, "minifut: cannot run the C compiler: %s\n", strerror(errno));
    else if (WIFSIGNALED(status))
        fprintf(stderr, "minifut: the C compiler was ended by a signal (%s) on %s%s\n",
                strsignal(WTERMSIG(status)), c_file,
                WTERMSIG(status) == SIGKILL ? ": is there too little memory?" : "");
    else if (status)
        fprintf(stderr, "minifut: the C compiler failed on %s; is a C compiler installed (gcc)?\n",
                c_file);
    return status ? EXIT_USER : 0;
}

/* The C compiler's file, which it makes or writes anew, gets the mode of a new program. */
static bool put_in_place(const char *tmp, const char *name)
{
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    errno = ENODATA; /* one that succeeds without a word and without a file */
    return stat(tmp, &st) == 0 && st.st_size > 0 && chmod(tmp, 0777 & ~mask) == 0 &&
           rename(tmp, name) == 0;
}

int binary_build(Arena *a, const char *name)
{
    const char *c_file = arena_printf(a, "%s.c", name);
    char *tmp = arena_printf(a, "%s.XXXXXX", name);
    child_hold();
    int fd = mkstemp(tmp), code = EXIT_USER;
    if (fd >= 0) {
        close(fd);
        code = run_cc(a, tmp, c_file);
    }
    if (fd < 0 || (code == 0 && !put_in_place(tmp, name))) {
        fprintf(stderr, "minifut: cannot write %s: %s\n", name, strerror(errno));
        code = EXIT_USER;
    }
    if (fd >= 0 && code)
        unlink(tmp);
    child_release();
    return code;
}

bool binary_is_ours(const char *path)
{
    static const char mark[] = RT_HELP_HEAD;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool sized = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
    char *text = sized ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (text == MAP_FAILED)
        return false;
    bool ours = memmem(text, (size_t)st.st_size, mark, sizeof mark - 1) != NULL;
    munmap(text, (size_t)st.st_size);
    return ours;
}

bool binary_may_be(const char *name)
{
    struct stat st;
    if (stat(name, &st) != 0 || S_ISREG(st.st_mode))
        return true;
    fprintf(stderr, "minifut: cannot write %s: %s\n", name,
            S_ISDIR(st.st_mode) ? strerror(EISDIR) : "it is a device or pipe");
    return false;
}
