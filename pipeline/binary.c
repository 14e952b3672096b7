/* Programs from their C text, by the C compiler. */
#include "pipeline/binary.h"

#include "command/cc.h"
#include "command/child.h"
#include "command/tempdir.h"
#include "common/policy.h"
#include "emit/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
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
static const char *compiled_runtime(Arena *a, bool shared)
{
    static const char *const folders[] = {"", "/build",
                                          "/../lib/minifut"}; /* from the compiler's own */
    const char *given = getenv("MINIFUT_RUNTIME"), *cc = getenv("CC"), *flags = getenv("CFLAGS");
    if (given && *given && !shared)
        return given;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || (cc && *cc) || (flags && *flags))
        return NULL;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path = arena_printf(a, "%s%s/libminifut_%s-%s.a", self, folders[i],
                                        shared ? "so" : "rt", embed_digest());
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

/* --- The calls of the C compiler -------------------------------------------------------------- */

/* Kernels are optimised for this machine, host code little: -O2 would take twice as long. No sum
 * takes a product in without being rounded, but where kernels ask for it (mf_mad_f32): C compilers
 * do so here and not there, and what two kernels compute of the same element must be the same (a
 * filter counts what it keeps before it keeps it). */
#define EXACT "-ffp-contract=off"
#if defined(__aarch64__)
#define NATIVE "-mcpu=native"
#elif defined(__x86_64__) || defined(__i386__)
#define NATIVE "-march=native"
#else
#define NATIVE NULL
#endif
static const char *const host_flags[] = {"-O1", EXACT, NULL};

/* Kernels for other processors, too, are there twice: as any of this kind has them, and for those
 * with AVX2 and FMA (rt_kernel_def). Those of ARM all have the same vectors. */
#if defined(__x86_64__)
enum { TEXTS = 2 };
#else
enum { TEXTS = 1 };
#endif
static const char *const wide[] = {"-mavx2", "-mfma", "-mbmi2", "-DRT_WIDE"};

/* The flags of kernels, of their first or second text. */
static const char *const *kernel_flags(Arena *a, const BinaryKernels *k, bool second)
{
    static const char *const all[] = {"-O3", "-fno-math-errno", "-fno-trapping-math", "-w", EXACT};
    enum { ALL = sizeof all / sizeof *all, WIDE = sizeof wide / sizeof *wide };
    const char **flags = NEWN(a, const char *, ALL + WIDE + 1);
    memcpy(flags, all, sizeof all);
    if (second)
        memcpy(flags + ALL, wide, sizeof wide);
    else
        flags[ALL] = k->portable ? NULL : NATIVE;
    return flags;
}

enum { MOST_PARTS = 16, PART_BYTES = 16000, MORE_ARGS = 12 };

typedef struct {
    Arena *arena;
    const char *source; /* as an argument, and what is made of it */
    const char *binary;
    int parts; /* of the kernels, compiled apart from the host code; 0: all is compiled at once */
    int texts; /* of each part */
    const BinaryKernels *kernels;
    const char *folder; /* of objects, and of what compilers keep meanwhile; NULL: no parts */
} Build;

/* Reading what stands before the kernels takes as long as to compile PART_BYTES of them. */
static int parts_of(size_t kernels)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    size_t parts = kernels / PART_BYTES + 1, most = cores < MOST_PARTS ? (size_t)cores : MOST_PARTS;
    return kernels == 0 || cc_level_chosen() ? 0 : (int)(parts < most ? parts : most);
}

static char *own_file(Arena *a, const char *path)
{
    char *file = cc_file(path);
    char *own = arena_strdup(a, file);
    free(file);
    return own;
}

/* "FOLDER/3.o", behind those of the parts of one text those of the other; the last one is the host
 * code's. */
static const char *object(const Build *b, int i)
{
    return own_file(b->arena, arena_printf(b->arena, "%s/%d.o", b->folder, i));
}

static void add(const char **args, int *n, const char *arg)
{
    args[(*n)++] = arg;
    args[*n] = NULL;
}

static void add_runtime(const char *runtime, const char **args, int *n)
{
    if (!runtime)
        return;
    add(args, n, "-DRT_API=");
    add(args, n, "-DRT_SEPARATE");
}

/* Names within a shared library mean its own, whatever others there are in the process. */
static void add_shape(const Build *b, const char **args, int *n)
{
    if (!b->kernels->shared)
        return;
    add(args, n, "-fPIC");
    add(args, n, "-shared");
    add(args, n, "-Wl,-Bsymbolic");
}

static void add_libraries(const char *runtime, const char **args, int *n)
{
    if (runtime)
        add(args, n, runtime);
    add(args, n, "-lm");
    add(args, n, "-ldl"); /* a driver that is looked for when programs run */
    add(args, n, "-lpthread");
}

static int compile_whole(const Build *b)
{
    const char *args[MORE_ARGS], *runtime = compiled_runtime(b->arena, b->kernels->shared);
    int n = 0;
    add_shape(b, args, &n);
    add(args, &n, "-o");
    add(args, &n, b->binary);
    add(args, &n, b->source);
    add_runtime(runtime, args, &n);
    add_libraries(runtime, args, &n);
    return cc_run_all(&(CcCall){host_flags, args, b->kernels->mpi}, 1, b->folder, false);
}

static int objects_of_kernels(const Build *b)
{
    return b->parts * b->texts;
}

/* The call that makes an object: of kernels, or of the host code. */
static CcCall part_call(const Build *b, int i, const char *runtime)
{
    const BinaryKernels *k = b->kernels;
    const char **args = NEWN(b->arena, const char *, MORE_ARGS);
    bool host = i == objects_of_kernels(b);
    int n = 0;
    if (host) {
        add(args, &n, "-DRT_PART_HOST");
        if (b->texts > 1)
            add(args, &n, "-DRT_WIDE");
        add_runtime(runtime, args, &n);
    } else {
        add(args, &n, "-DRT_PART_KERNELS");
        add(args, &n, arena_printf(b->arena, "-DRT_PARTS=%d", b->parts));
        add(args, &n, arena_printf(b->arena, "-DRT_PART=%d", i % b->parts));
    }
    if (k->shared)
        add(args, &n, "-fPIC");
    add(args, &n, "-c");
    add(args, &n, "-o");
    add(args, &n, object(b, i));
    add(args, &n, b->source);
    return (CcCall){host ? host_flags : kernel_flags(b->arena, k, i >= b->parts), args,
                    host && k->mpi};
}

static int link_parts(const Build *b, const char *runtime)
{
    const char *args[TEXTS * MOST_PARTS + MORE_ARGS];
    int n = 0;
    add_shape(b, args, &n);
    add(args, &n, "-o");
    add(args, &n, b->binary);
    for (int i = objects_of_kernels(b); i >= 0; i--)
        add(args, &n, object(b, i));
    add_libraries(runtime, args, &n);
    return cc_run_all(&(CcCall){host_flags, args, b->kernels->mpi}, 1, b->folder, false);
}

static int compile_parts(const Build *b)
{
    const char *runtime = compiled_runtime(b->arena, b->kernels->shared);
    CcCall calls[TEXTS * MOST_PARTS + 1];
    int n = objects_of_kernels(b);
    for (int i = 0; i <= n; i++)
        calls[i] = part_call(b, i, runtime);
    int status = cc_run_all(calls, n + 1, b->folder, false);
    return status ? status : link_parts(b, runtime);
}

static void tell_failure(int status, const char *c_file)
{
    if (status < 0)
        fprintf(stderr, "minifut: cannot run the C compiler: %s\n", strerror(errno));
    else if (WIFSIGNALED(status))
        fprintf(stderr, "minifut: the C compiler was ended by a signal (%s) on %s%s\n",
                strsignal(WTERMSIG(status)), c_file,
                WTERMSIG(status) == SIGKILL ? ": is there too little memory?" : "");
    else if (status)
        fprintf(stderr, "minifut: the C compiler failed on %s; is a C compiler installed (gcc)?\n",
                c_file);
}

/* c_file -> binary. Objects are in a folder of their own. */
static int compile(Arena *a, const char *binary, const char *c_file, const BinaryKernels *k)
{
    TempDir folder = {0};
    Build b = {.arena = a,
               .source = own_file(a, c_file),
               .binary = own_file(a, binary),
               .parts = parts_of(k->bytes),
               .texts = k->portable ? TEXTS : 1,
               .kernels = k};
    if (b.parts > 0 && !tempdir_open(&folder, NULL)) {
        fprintf(stderr, "minifut: cannot make a folder %s: %s\n", folder.path, strerror(errno));
        free(folder.path);
        return EXIT_USER;
    }
    b.folder = folder.path;
    int status = b.parts > 0 ? compile_parts(&b) : compile_whole(&b);
    tell_failure(status, c_file);
    tempdir_close(&folder);
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

const char *binary_file(Arena *a, const char *name, bool shared)
{
    return shared ? arena_printf(a, "%s.so", name) : name;
}

int binary_build(Arena *a, const char *name, const BinaryKernels *k)
{
    const char *c_file = arena_printf(a, "%s.c", name);
    name = binary_file(a, name, k->shared);
    char *tmp = arena_printf(a, "%s.XXXXXX", name);
    child_hold();
    int fd = mkstemp(tmp), code = EXIT_USER;
    if (fd >= 0) {
        close(fd);
        code = compile(a, tmp, c_file, k);
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

/* --- Many programs, one after another -------------------------------------------------------- */

/* With host_flags, in a call of its own. */
static bool make(const char *folder, const char *const *args)
{
    return cc_run_all(&(CcCall){host_flags, args, false}, 1, folder, true) == 0;
}

/* Has the runtime's text, which is in `text`, read once and for all, for programs whose code all
 * has one level (parts_of): a header, which their text then leaves out. */
static void share_text(Arena *a, const char *folder, const char *text)
{
    const char *gch = arena_printf(a, "%s/runtime.h.gch", folder),
               *args[] = {"-DRT_API=",      "-DRT_SEPARATE",   "-x", "c-header", "-o",
                          own_file(a, gch), own_file(a, text), NULL};
    if (cc_level_chosen() && !strpbrk(folder, " \t\n") && make(folder, args))
        setenv("CFLAGS", arena_printf(a, "%s -include %s/runtime.h", getenv("CFLAGS"), folder), 1);
}

void binary_share_runtime(Arena *a, const char *folder)
{
    size_t n;
    const char *text = arena_printf(a, "%s/runtime.h", folder),
               *object = own_file(a, arena_printf(a, "%s/runtime.o", folder)),
               *args[] = {"-DRT_API=", "-x", "c", "-c", "-o", object, own_file(a, text), NULL};
    Out o = {0};
    for (RuntimePart part = RUNTIME_CORE; part <= RUNTIME_PROGRAM; part++) {
        const char *part_text = embed_runtime(part, &n);
        out_putn(&o, part_text, n);
    }
    child_hold();
    if (out_write_file(&o, text) && make(folder, args)) {
        setenv("MINIFUT_RUNTIME", object, 1);
        share_text(a, folder, text);
    }
    child_release();
    out_free(&o);
}

/* --- Programs without a name ----------------------------------------------------------------- */

/* Builds `folder/program` of the text. */
static int build_in(Arena *a, const char *folder, const Out *text, const BinaryKernels *k)
{
    const char *name = arena_printf(a, "%s/program", folder),
               *c_file = arena_printf(a, "%s.c", name);
    int file = -1;
    if (!out_write_file(text, c_file))
        fprintf(stderr, "minifut: cannot write %s: %s\n", c_file, strerror(errno));
    else if (binary_build(a, name, k) == 0 && (file = open(name, O_RDONLY | O_CLOEXEC)) < 0)
        fprintf(stderr, "minifut: cannot read %s: %s\n", name, strerror(errno));
    return file;
}

int binary_build_unnamed(Arena *a, const Out *text, const BinaryKernels *k)
{
    TempDir folder = {0};
    int file = -1;
    child_hold();
    if (tempdir_open(&folder, NULL)) {
        file = build_in(a, folder.path, text, k);
        tempdir_close(&folder);
    } else {
        fprintf(stderr, "minifut: cannot make a folder %s: %s\n", folder.path, strerror(errno));
        free(folder.path);
    }
    child_release();
    return file;
}

int binary_become(int file, const char *const *args)
{
    fflush(NULL);
    fexecve(file, (char *const *)args, environ);
    fprintf(stderr, "minifut: cannot run the program that was built: %s%s\n", strerror(errno),
            errno == EACCES ? ": does its folder allow that? $TMPDIR names another" : "");
    return EXIT_USER;
}

bool binary_is_ours(const char *path)
{
    static const char program[] = RT_HELP_HEAD, library[] = RT_LIBRARY_MARK;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool sized = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0;
    char *text = sized ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (text == MAP_FAILED)
        return false;
    bool ours = memmem(text, (size_t)st.st_size, program, sizeof program - 1) ||
                memmem(text, (size_t)st.st_size, library, sizeof library - 1);
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
