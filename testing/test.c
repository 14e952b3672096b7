/* minifut test: options, files, and a process for each program. */
#include "testing/test.h"

#include "command/args.h"
#include "command/child.h"
#include "command/folders.h"
#include "command/signals.h"
#include "command/source.h"
#include "command/tempdir.h"
#include "pipeline/binary.h"
#include "pipeline/passes.h"
#include "testing/testing.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char about[] = "usage: minifut test [options] FILES|FOLDERS\n"
                            "\n"
                            "Runs the test directives (comments that begin with `-- ==`) of "
                            "programs; folders are searched for\n"
                            "files NAME.sf and NAME.fut. Each case runs in the interpreter and "
                            "compiled, with every version of its parallel\n"
                            "nests; a program with `error:` must be rejected.\n";

/* --- Options -------------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    TestOptions o;
    Words files;
    bool any;         /* was a file or folder given? */
    int code;         /* -1: go on */
    const Args *args; /* while they are read */
} Command;

static int take_modes(void *env, const char *v)
{
    Command *c = env;
    char *words = arena_strdup(c->a, v), *save;
    c->o.n_modes = 0;
    for (char *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        int mode = fl_mode_of_text(w);
        bool twice = false;
        for (int i = 0; i < c->o.n_modes; i++)
            twice |= c->o.modes[i] == mode;
        if (mode < 0)
            return args_wrong(c->args, "%s", unknown_mode(c->a, w));
        if (!twice)
            c->o.modes[c->o.n_modes++] = mode;
    }
    return c->o.n_modes ? -1 : args_wrong(c->args, "--flatten: which modes?");
}

static int take_tag(void *env, const char *tag)
{
    Command *c = env;
    vec_push(c->a, &c->o.exclude, tag);
    return -1;
}

static void cannot_read(void *env, const char *path)
{
    Command *c = env;
    fprintf(stderr, "minifut test: cannot read %s: %s\n", path, strerror(errno));
    c->code = EXIT_USER;
}

static int take_file(void *env, const char *path)
{
    Command *c = env;
    struct stat st;
    c->any = true;
    if (stat(path, &st) != 0) {
        cannot_read(c, path);
    } else if (S_ISDIR(st.st_mode)) {
        FolderSearch s = {.a = c->a, .unread = cannot_read, .env = c};
        folder_search(&s, path);
        vec_append(c->a, &c->files, &s.files);
    } else {
        vec_push(c->a, &c->files, path);
    }
    return c->code;
}

static void take_arguments(Command *c, int argc, char **argv)
{
    enum { MOST_JOBS = 1024 };
    double jobs = 0, ranks = 0;
    const ArgRow rows[] = {
        {"-i, --interpret", "only the interpreter", .flag = &c->o.interpret},
        {"-c, --compile", "only compiled", .flag = &c->o.compile},
        {"--flatten=MODES", "modes, with commas between them (default: incremental)",
         .take = take_modes, .values = mode_words(c->a)},
        {"--choices",
         "compiled: each setting with all kernels that makers choose taken, and with none",
         .flag = &c->o.choices},
        {"-j, --jobs N", "programs at a time (default: one for each processor)", .number = &jobs},
        {"-d, --device NAME", "OpenCL device (substring of its name, or #k)", .text = &c->o.device},
        {"--ranks N", "compiled, by MPI on N ranks", .number = &ranks},
        {"--tolerance T",
         "relative difference allowed of floats (default: f16 1e-2, f32 1e-5, f64 1e-9, .fut "
         "0.002)",
         .number = &c->o.tolerance},
        {"--timeout S", "seconds a program may take (default 300)", .number = &c->o.timeout},
        {"--exclude TAG", "leaves programs with this tag out (may be repeated)", .take = take_tag},
        {"--keep", "keeps the temporary folder with what was built", .flag = &c->o.keep},
        {"-v, --verbose",
         "a line for each program with its seconds, all messages of those that fail",
         .flag = &c->o.verbose},
        {0}};
    const Args args = {"minifut test", about, rows, 0, c, NULL, take_file, "sf", NULL};
    c->args = &args;
    c->code = args_read(&args, argc, argv);
    if (c->code < 0 && !c->any)
        c->code = args_wrong(&args, "which programs?");
    c->o.ranks = ranks < 0 ? 0 : ranks > MOST_RANKS ? MOST_RANKS : (int)ranks;
    if (jobs > 0)
        c->o.jobs = jobs < 1 ? 1 : jobs > MOST_JOBS ? MOST_JOBS : (int)jobs;
    if (!c->o.interpret && !c->o.compile)
        c->o.interpret = c->o.compile = true;
    c->args = NULL;
}

/* --- Processes ------------------------------------------------------------------------------ */

typedef struct {
    pid_t pid; /* 0: free */
    const char *file, *tmp;
    double start, deadline;
} Job;

typedef struct {
    Arena *a;
    const TestOptions *o;
    TempDir tmp;
    Job *jobs;
    JobNews *progress; /* beside jobs; shared with their processes */
    int n_files, next, done;
    int passed, failed, skipped;
    bool live;
} Pool;

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
    (void)sig;
    stopped = 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

_Noreturn static void child(Pool *p, const Job *j, JobNews *progress)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    const char *messages = arena_printf(p->a, "%s/messages", j->tmp);
    FILE *report = fopen(arena_printf(p->a, "%s/report", j->tmp), "w");
    if (!report || !freopen(messages, "w", stderr) || !freopen("/dev/null", "r", stdin))
        _exit(EXIT_BUG);
    dup2(fileno(stderr), 1);
    setenv("TMPDIR", j->tmp, 1);
    Run run = {.a = p->a,
               .o = p->o,
               .file = j->file,
               .tmp = j->tmp,
               .report = report,
               .progress = progress};
    test_program(&run);
    bool told = !ferror(report);
    told = fclose(report) == 0 && told;
    fflush(NULL);
    _exit(told ? 0 : EXIT_USER); /* without its lines, failures would look like none */
}

/* Starts the next program in a free place. */
static void start(Pool *p, int k, const char *file)
{
    Job *j = &p->jobs[k];
    p->progress[k] = (JobNews){.at = "its start"};
    *j = (Job){.file = file, .deadline = now() + p->o->timeout};
    j->tmp = arena_printf(p->a, "%s/%d", p->tmp.path, p->next++);
    if (mkdir(j->tmp, 0700) != 0) {
        fprintf(stderr, "minifut test: cannot make %s: %s\n", j->tmp, strerror(errno));
        tempdir_close(&p->tmp);
        exit(EXIT_USER);
    }
    fflush(NULL);
    j->pid = fork();
    if (j->pid == 0)
        child(p, j, &p->progress[k]);
    if (j->pid < 0) {
        fprintf(stderr, "minifut test: cannot start a process: %s\n", strerror(errno));
        tempdir_close(&p->tmp);
        exit(EXIT_USER);
    }
    setpgid(j->pid, j->pid);
    j->start = now();
}

static void clear_progress(const Pool *p)
{
    if (p->live)
        fprintf(stderr, "\r\033[K");
}

static void show_progress(const Pool *p)
{
    if (p->live)
        fprintf(stderr, "\r\033[K[%d/%d] %d failed", p->done, p->n_files, p->failed);
}

/* Copies a file of the job to standard output, with `indent` before each line. True if it had any
 * text. */
static bool show_file(const Pool *p, const Job *j, const char *name, const char *indent)
{
    FILE *f = fopen(arena_printf(p->a, "%s/%s", j->tmp, name), "r");
    char *line = NULL;
    size_t cap = 0;
    bool any = false;
    while (f && getline(&line, &cap, f) > 0) {
        printf("%s%s%s", indent, line, strchr(line, '\n') ? "" : "\n");
        any = true;
    }
    free(line);
    if (f)
        fclose(f);
    return any;
}

/* The process of place k is gone; `late`: we killed it. */
static void finish(Pool *p, int k, int status, bool late)
{
    Job *j = &p->jobs[k];
    JobNews *pr = &p->progress[k];
    clear_progress(p);
    kill(-j->pid, SIGKILL); /* what it may have left behind */
    bool crashed = !late && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    show_file(p, j, "report", "");
    if (late)
        printf("%s: not ready after %.0f s: at %s\n", j->file, p->o->timeout, pr->at);
    else if (crashed && WIFSIGNALED(status))
        printf("%s: crashed (%s) at %s\n", j->file, strsignal(WTERMSIG(status)), pr->at);
    else if (crashed)
        printf("%s: ended with code %d at %s\n", j->file, WEXITSTATUS(status), pr->at);
    pr->failed += late || crashed;
    if (crashed || (p->o->verbose && pr->failed))
        show_file(p, j, "messages", "    ");
    if (p->o->verbose)
        printf("%s: %s%d passed, %d failed, %.1f s\n", j->file, pr->skipped ? "left out: " : "",
               pr->passed, pr->failed, now() - j->start);
    fflush(stdout);
    p->passed += pr->passed;
    p->failed += pr->failed;
    p->skipped += pr->skipped;
    p->done++;
    if (!p->o->keep)
        remove_folder(j->tmp);
    j->pid = 0;
    show_progress(p);
}

/* Looks after the processes until one place at least is free (all of them: `all`). */
static void wait_jobs(Pool *p, bool all)
{
    while (!stopped) {
        int busy = 0;
        for (int k = 0; k < p->o->jobs; k++) {
            Job *j = &p->jobs[k];
            int status = 0;
            bool late = false;
            if (!j->pid)
                continue;
            if (waitpid(j->pid, &status, WNOHANG) == 0) {
                late = now() > j->deadline;
                busy += !late;
                if (!late)
                    continue;
                kill(-j->pid, SIGKILL);
                waitpid(j->pid, &status, 0);
            }
            finish(p, k, status, late);
        }
        if (busy == 0 || (!all && busy < p->o->jobs))
            return;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

static void run_all(Pool *p, const Words *files)
{
    for (int i = 0; i < files->n && !stopped; i++) {
        wait_jobs(p, false);
        for (int k = 0; k < p->o->jobs && !stopped; k++)
            if (!p->jobs[k].pid) {
                start(p, k, files->at[i]);
                break;
            }
    }
    wait_jobs(p, true);
    for (int k = 0; k < p->o->jobs; k++) /* interrupted */
        if (p->jobs[k].pid) {
            kill(-p->jobs[k].pid, SIGKILL);
            waitpid(p->jobs[k].pid, NULL, 0);
        }
    clear_progress(p);
}

static void add_flags(Arena *a, const char *flags)
{
    setenv("CFLAGS", arena_printf(a, "%s %s", getenv("CFLAGS"), flags), 1);
}

/* Sets the flags of programs. */
static void set_flags(Pool *p)
{
    setenv("CFLAGS", "-O0", 0);
    if (p->o->forks)
        add_flags(p->a, "-fPIC");
    binary_share_runtime(p->a, p->tmp.path);
    if (p->o->forks)
        add_flags(p->a, "-shared");
}

/* Unless told otherwise programs run natively, whatever devices there are: it takes them no time to
 * start. PoCL needs ten times as long to optimise all that goes into one kernel. */
static void choose_driver(TestOptions *o)
{
    if (o->device)
        return;
    setenv("MINIFUT_DRIVER", "native", 0);
    o->forks = !o->ranks && strcmp(getenv("MINIFUT_DRIVER"), "opencl") == 0 && driver_start();
    if (o->forks)
        setenv("MINIFUT_STEPS", "-cl-opt-disable", 0);
}

static bool open_pool(Pool *p)
{
    if (!tempdir_open(&p->tmp, NULL)) {
        fprintf(stderr, "minifut test: cannot make a folder %s: %s\n", p->tmp.path,
                strerror(errno));
        return false;
    }
    p->jobs = NEWN(p->a, Job, p->o->jobs);
    size_t size = sizeof *p->progress * (size_t)p->o->jobs;
    p->progress = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p->progress == MAP_FAILED) {
        fprintf(stderr, "minifut test: out of memory\n");
        tempdir_close(&p->tmp);
        return false;
    }
    catch_signals(on_signal);
    return true;
}

int test_main(int argc, char **argv)
{
    Command c = {.a = arena_new(), .code = -1};
    c.o = (TestOptions){.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                        .modes = {FLATTEN_INCREMENTAL},
                        .n_modes = 1,
                        .timeout = 300};
    if (c.o.jobs < 1)
        c.o.jobs = 1;
    take_arguments(&c, argc, argv);
    if (c.code >= 0)
        return c.code;
    if (!c.files.n) {
        fprintf(stderr, "minifut test: there are no programs (files NAME.sf, NAME.fut) there\n");
        return EXIT_USER;
    }
    vec_push(c.a, &c.o.exclude, "disable");
    Pool p = {.a = c.a, .o = &c.o, .n_files = c.files.n, .live = isatty(2)};
    if (!open_pool(&p))
        return EXIT_USER;
    if (c.o.compile) {
        choose_driver(&c.o);
        set_flags(&p);
    }
    run_all(&p, &c.files);
    if (c.o.keep) {
        fprintf(stderr, "minifut test: what was built is in %s\n", p.tmp.path);
        tempdir_keep(&p.tmp);
    } else {
        tempdir_close(&p.tmp);
    }
    if (stopped) {
        fprintf(stderr, "minifut test: interrupted\n");
        return EXIT_USER;
    }
    if (p.skipped)
        printf("%d programs left out for their tags\n", p.skipped);
    printf("%d passed, %d failed\n", p.passed, p.failed);
    return p.failed ? EXIT_USER : 0;
}
