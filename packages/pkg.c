/* minifut pkg: what `futhark pkg` does, on the same futhark.pkg and lib/. A command that changes
 * what is required changes lib/ in the same step: both are as they were, or both are new. */
#include "packages/pkg.h"

#include "command/args.h"
#include "command/child.h"
#include "command/source.h"
#include "common/spell.h"
#include "packages/git.h"
#include "packages/install.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Pkg Pkg;

/* What one of the commands is: the least and the most words behind it. */
typedef struct {
    const char *name, *shown, *does;
    int least, most;
    bool (*run)(Pkg *);
    bool makes; /* it needs no futhark.pkg */
    int bit;    /* of the table of options */
} PkgCommand;

enum { MAX_WORDS = 2 };

struct Pkg {
    Arena *a;
    Args args;
    const PkgCommand *command;
    const char *words[MAX_WORDS];
    int n_words;
    Origin origin;
    bool force, verbose;
    const char *text; /* of futhark.pkg; NULL: there is none */
    size_t n;
    Manifest m;
};

/* --- The file futhark.pkg --------------------------------------------------------------------- */

/* The project is where the file is, here or above. False after a message. */
static bool find_project(Pkg *p)
{
    const char *up = "";
    struct stat here, root;
    while (access(arena_printf(p->a, "%s" MANIFEST_NAME, up), F_OK) != 0) {
        const char *folder = *up ? up : ".";
        if (stat(folder, &here) != 0 || stat("/", &root) != 0 ||
            (here.st_dev == root.st_dev && here.st_ino == root.st_ino)) {
            if (!p->command->makes)
                diag_error(NO_LOC, "there is no " MANIFEST_NAME " here, nor above: `minifut pkg "
                                   "add` and `init` make one");
            return p->command->makes;
        }
        up = arena_printf(p->a, "%s../", up);
    }
    if (*up && chdir(up) != 0) {
        diag_error(NO_LOC, "cannot go to %s: %s", up, strerror(errno));
        return false;
    }
    if (*up)
        printf("in %s\n", up);
    return true;
}

/* One command at a time changes a project: others wait. Where there are no locks, none does. */
static void lock_project(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fputs("minifut pkg: waits for another one in this folder\n", stderr);
        while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
}

static bool read_project(Pkg *p)
{
    if (access(MANIFEST_NAME, F_OK) != 0)
        return p->command->makes;
    p->text = source_read(p->a, MANIFEST_NAME, false, NO_LOC, &p->n);
    return p->text && manifest_read(p->a, MANIFEST_NAME, p->text, p->n, &p->m);
}

static bool write_text(const Out *o)
{
    bool ok = out_write_file(o, MANIFEST_NAME);
    if (!ok)
        diag_error(NO_LOC, "cannot write " MANIFEST_NAME ": %s", strerror(errno));
    return ok;
}

/* Writes the file as it is in memory. */
static bool write_project(Pkg *p)
{
    Out o = {0};
    manifest_print(&o, p->a, &p->m);
    bool ok = write_text(&o);
    out_free(&o);
    return ok;
}

/* Writes it as it was. */
static void restore_project(Pkg *p)
{
    Out o = {0};
    if (p->text)
        out_putn(&o, p->text, p->n);
    if (p->text)
        (void)write_text(&o);
    else
        (void)unlink(MANIFEST_NAME);
    out_free(&o);
}

/* --- lib/ ------------------------------------------------------------------------------------- */

static void print_packages(Pkg *p, const Packages *ps)
{
    for (int i = 0; i < ps->n; i++)
        printf("  %s %s\n", ps->at[i].path, semver_text(p->a, ps->at[i].version));
}

/* Makes lib/ what the requirements in memory want it to be; `changed`: futhark.pkg gets them. */
static bool bring(Pkg *p, bool changed)
{
    Packages ps = {0};
    Install *in = solve(&p->origin, &p->m, &ps) ? install_prepare(&p->origin, &ps, p->force) : NULL;
    if (!in)
        return false;
    bool ok = !changed || write_project(p);
    if (ok && !install_put(in)) {
        ok = false;
        if (changed)
            restore_project(p);
    }
    if (ok) {
        printf(!ps.n                 ? "lib/ has no packages\n"
               : install_is_done(in) ? "lib/ has already\n"
                                     : "lib/ has now\n");
        print_packages(p, &ps);
        if (install_kept(in) && !install_is_done(in))
            printf("and %d file%s of no package, kept\n", install_kept(in),
                   install_kept(in) == 1 ? "" : "s");
    }
    install_end(in);
    return ok;
}

/* --- What is asked for ------------------------------------------------------------------------ */

/* The package that a path or an address means: https://github.com/a/b.git, git@github.com:a/b; NULL
 * after a message. */
static const char *package_meant(Pkg *p, const char *word)
{
    const char *from = strstr(word, "://");
    char *path = arena_strdup(p->a, from ? from + 3 : word);
    char *user = strchr(path, '@'), *colon = strchr(path, ':');
    if (user && (from ? user < path + strcspn(path, "/") : colon && user < colon))
        path =
            user + 1; /* the beginning of an address; a package has its major version at the end */
    if (!from && user && colon && user < colon)
        *colon = '/';
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        path[--n] = '\0';
    if (n > 4 && !strcmp(path + n - 4, ".git"))
        path[n - 4] = '\0';
    const char *wrong = package_path_wrong(p->a, path);
    if (wrong)
        diag_error(NO_LOC, "`%s` is no path of a package: %s", path, wrong);
    return wrong ? NULL : path;
}

/* The newest release, or the newest commit if there is none; false after a message. */
static bool newest(Pkg *p, Repository *r, const char *package, Semver *v)
{
    Semvers of = {0};
    if (!repo_refresh(&p->origin, r, NO_LOC) || !repo_versions(&p->origin, r, package, &of, NO_LOC))
        return false;
    if (of.n) {
        *v = vec_last(&of);
        return true;
    }
    return repo_commit_version(&p->origin, r, package, NULL, v, NO_LOC);
}

/* The requirement of a version, or (NULL) of the newest one. */
static bool require(Pkg *p, const char *package, const char *wanted, Require *q)
{
    Repository *r = repo_open(&p->origin, package, NO_LOC);
    *q = (Require){.path = package};
    if (!r)
        return false;
    if (wanted && *wanted == 'v' && semver_is(p->a, wanted + 1, &q->version))
        wanted++;
    bool ok = true;
    if (!wanted)
        ok = newest(p, r, package, &q->version);
    else if (!semver_is(p->a, wanted, &q->version))
        ok = repo_commit_version(&p->origin, r, package, wanted, &q->version, NO_LOC);
    const char *commit = ok ? repo_commit(&p->origin, r, package, q->version, NO_LOC) : NULL;
    q->hash = semver_is_commit(q->version) ? NULL : commit;
    return commit != NULL;
}

/* A program that is no test of the others, by its name. */
static int is_offered(const struct dirent *e)
{
    size_t n = source_stem(e->d_name);
    bool test = (n >= 5 && !strncmp(e->d_name + n - 5, "_test", 5)) ||
                (n >= 6 && !strncmp(e->d_name + n - 6, "_tests", 6));
    return n < strlen(e->d_name) && !test;
}

/* How programs import it: what they have to say is long. */
static void print_imports(Pkg *p, const char *package)
{
    enum { SHOWN = 8 };
    struct dirent **found;
    int n = scandir(arena_printf(p->a, "lib/%s", package), &found, is_offered, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = found[i]->d_name;
        if (i < SHOWN)
            printf("import \"lib/%s/%.*s\"\n", package, (int)source_stem(name), name);
        free(found[i]);
    }
    if (n > SHOWN)
        printf("... and %d more files in lib/%s\n", n - SHOWN, package);
    if (n >= 0)
        free(found);
}

static bool pkg_add(Pkg *p)
{
    Require q;
    const char *package = package_meant(p, p->words[0]);
    if (!package || !require(p, package, p->n_words > 1 ? p->words[1] : NULL, &q))
        return false;
    const char *version = semver_text(p->a, q.version);
    Require *old = manifest_find(&p->m, package);
    const char *before = old ? semver_text(p->a, old->version) : version;
    if (old)
        *old = q;
    else
        vec_push(p->a, &p->m.lines, q);
    if (!bring(p, true))
        return false;
    bool same = !strcmp(before, version);
    printf(MANIFEST_NAME " requires %s %s%s%s\n", package, version, same ? "" : " instead of ",
           same ? "" : before);
    print_imports(p, package);
    return true;
}

static bool pkg_remove(Pkg *p)
{
    const char *package = package_meant(p, p->words[0]);
    Require *q = package ? manifest_find(&p->m, package) : NULL;
    if (!package)
        return false;
    if (!q) {
        rt_spelling s = rt_spell(package);
        for (int i = 0; i < p->m.lines.n; i++)
            if (p->m.lines.at[i].path)
                rt_spell_try(&s, p->m.lines.at[i].path);
        diag_error(NO_LOC, MANIFEST_NAME " does not require %s%s", package, rt_spell_hint(&s));
        return false;
    }
    Requires left = {0};
    for (int i = 0; i < p->m.lines.n; i++)
        if (!p->m.lines.at[i].path || strcmp(p->m.lines.at[i].path, package) != 0)
            vec_push(p->a, &left, p->m.lines.at[i]);
    p->m.lines = left;
    if (!bring(p, true))
        return false;
    printf(MANIFEST_NAME " does not require %s any more\n", package);
    return true;
}

static bool pkg_sync(Pkg *p)
{
    return bring(p, false);
}

static bool pkg_upgrade(Pkg *p)
{
    const char *told = "";
    for (int i = 0; i < p->m.lines.n; i++) {
        Require *q = &p->m.lines.at[i], newer;
        if (!q->path)
            continue;
        if (!require(p, q->path, NULL, &newer))
            return false;
        bool same = semver_is_commit(q->version) && semver_is_commit(newer.version) &&
                    !strcmp(q->version.commit, newer.version.commit);
        if (same || semver_compare(newer.version, q->version) <= 0)
            continue;
        told = arena_printf(p->a, "%s%s %s => %s\n", told, q->path, semver_text(p->a, q->version),
                            semver_text(p->a, newer.version));
        *q = newer;
    }
    if (!bring(p, *told))
        return false;
    fputs(*told ? told : "nothing to upgrade\n", stdout);
    return true;
}

static bool pkg_versions(Pkg *p)
{
    Semvers of = {0};
    const char *package = package_meant(p, p->words[0]);
    Repository *r = package ? repo_open(&p->origin, package, NO_LOC) : NULL;
    if (!r || !repo_refresh(&p->origin, r, NO_LOC) ||
        !repo_versions(&p->origin, r, package, &of, NO_LOC))
        return false;
    for (int i = 0; i < of.n; i++)
        printf("%s\n", semver_text(p->a, of.at[i]));
    if (!of.n)
        diag_warn(NO_LOC, "%s has no releases: its repository has no such tags", package);
    return true;
}

/* --- Packages of one's own -------------------------------------------------------------------- */

/* Is there a program in the folder, or below? */
static bool has_programs(Pkg *p, const char *folder)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        struct stat st;
        const char *path = arena_printf(p->a, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || lstat(path, &st) != 0)
            continue;
        found = S_ISDIR(st.st_mode) ? has_programs(p, path)
                                    : source_stem(e->d_name) < strlen(e->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool pkg_check(Pkg *p)
{
    Packages ps = {0};
    if (!solve(&p->origin, &p->m, &ps))
        return false;
    printf(ps.n ? "these versions are taken:\n" : "no packages are required\n");
    print_packages(p, &ps);
    const char *folder = p->m.package ? arena_printf(p->a, "lib/%s", p->m.package) : NULL;
    if (folder && !has_programs(p, folder)) {
        diag_error(p->m.loc, "there is no .fut or .sf file in %s, where the package's files belong",
                   folder);
        return false;
    }
    return true;
}

static bool pkg_fmt(Pkg *p)
{
    return write_project(p);
}

static bool pkg_init(Pkg *p)
{
    struct stat st;
    const char *package = p->n_words ? package_meant(p, p->words[0]) : NULL;
    if (p->n_words && !package)
        return false;
    if (lstat(MANIFEST_NAME, &st) == 0) {
        diag_error(NO_LOC, "there is a " MANIFEST_NAME " already");
        return false;
    }
    p->m = (Manifest){.package = package};
    char *folder = arena_printf(p->a, "lib/%s/", package ? package : "");
    for (char *s = folder; package && (s = strchr(s, '/')); *s++ = '/') {
        *s = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            diag_error(NO_LOC, "cannot make the folder %s: %s", folder, strerror(errno));
            return false;
        }
    }
    if (!write_project(p))
        return false;
    printf("made " MANIFEST_NAME "%s%s\n", package ? ", and " : "", package ? folder : "");
    return true;
}

/* --- The command line ------------------------------------------------------------------------- */

/* Which commands an option goes with. */
enum {
    ADD = 1,
    REMOVE = 2,
    SYNC = 4,
    UPGRADE = 8,
    VERSIONS = 16,
    CHECK = 32,
    INIT = 64,
    FMT = 128
};

static const PkgCommand commands[] = {
    {"add", "add PATH [VERSION]", "requires a package, in its newest version if none is given", 1,
     2, pkg_add, true, ADD},
    {"remove", "remove PATH", "requires it no more", 1, 1, pkg_remove, false, REMOVE},
    {"sync", "sync", "fills lib/ with what futhark.pkg requires", 0, 0, pkg_sync, false, SYNC},
    {"upgrade", "upgrade", "requires the newest version of each package", 0, 0, pkg_upgrade, false,
     UPGRADE},
    {"versions", "versions PATH", "lists the versions of a package", 1, 1, pkg_versions, true,
     VERSIONS},
    {"check", "check", "finds out if all that is required is to be had", 0, 0, pkg_check, false,
     CHECK},
    {"init", "init [PATH]", "makes futhark.pkg, and lib/PATH for a package of your own", 0, 1,
     pkg_init, true, INIT},
    {"create", NULL, NULL, 1, 1, pkg_init, true, INIT},
    {"fmt", "fmt", "brings futhark.pkg into its layout", 0, 0, pkg_fmt, false, FMT},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int take_word(void *env, const char *word)
{
    Pkg *p = env;
    if (!p->command || p->n_words == p->command->most)
        return args_wrong(&p->args, "takes no argument '%s'", word);
    p->words[p->n_words++] = word;
    return -1;
}

/* The commands, for the help. */
static const char *about(Arena *a)
{
    enum { COLUMN = 22 };
    const char *text = "usage: minifut pkg COMMAND [options]\n\n"
                       "Packages of others: requires them in futhark.pkg, fetches them by git, "
                       "puts them into lib/.\n\n";
    for (const PkgCommand *c = commands; c < commands + N_COMMANDS; c++)
        if (c->shown)
            text = arena_printf(a, "%s  %-*s %s\n", text, COLUMN, c->shown, c->does);
    return arena_printf(a,
                        "%s\nPATH is github.com/USER/NAME, as in imports, or the address of a "
                        "repository. VERSION is X.Y.Z\nor the hash of a commit.\n\n",
                        text);
}

/* The command that is meant; NULL after a message. */
static const PkgCommand *find_command(const char *name)
{
    rt_spelling s = rt_spell(name);
    for (const PkgCommand *c = commands; c < commands + N_COMMANDS; c++) {
        if (!strcmp(name, c->name))
            return c;
        if (c->shown)
            rt_spell_try(&s, c->name);
    }
    fprintf(stderr, "minifut pkg: unknown command '%s'%s (minifut pkg --help)\n", name,
            rt_spell_hint(&s));
    return NULL;
}

/* A folder's name that stays right if we go elsewhere. */
static const char *absolute(Arena *a, const char *path)
{
    char *real = path ? realpath(path, NULL) : NULL;
    const char *kept = real ? arena_strdup(a, real) : path;
    free(real);
    return kept;
}

/* -1, or the exit code. */
static int read_args(Pkg *p, int argc, char **argv)
{
    const char *mirror = NULL;
    const ArgRow rows[] = {{"--mirror DIR",
                            "takes repositories from DIR/github.com/USER/NAME(.git), not from the\n"
                            "network (default: $MINIFUT_MIRROR)",
                            .text = &mirror, .commands = ~(INIT | FMT)},
                           {"--offline", "takes what was fetched before, nothing from the network",
                            .flag = &p->origin.offline, .commands = ~(INIT | FMT)},
                           {"--force", "replaces files of packages that were changed by hand",
                            .flag = &p->force, .commands = ADD | REMOVE | SYNC | UPGRADE},
                           {"-v, --verbose", "shows how git is called", .flag = &p->verbose,
                            .commands = ~(INIT | FMT)},
                           {0}};
    const char *name = p->command ? p->command->name : "", *first = "";
    for (const PkgCommand *c = commands; c < commands + N_COMMANDS; c++)
        if (c->shown)
            first = arena_printf(p->a, "%s%s%s", first, *first ? " " : "", c->name);
    p->args = (Args){.command = arena_printf(p->a, "minifut pkg%s%s", *name ? " " : "", name),
                     .about = about(p->a),
                     .rows = rows,
                     .which = p->command ? p->command->bit : ~0,
                     .env = p,
                     .word = take_word,
                     .first = first};
    int code = args_read(&p->args, argc, argv);
    if (code < 0 && (!p->command || p->n_words < p->command->least))
        code = args_wrong(&p->args, p->command ? "which package?" : "which command?");
    if (!mirror || !*mirror)
        mirror = getenv("MINIFUT_MIRROR");
    p->origin.mirror = mirror && *mirror ? absolute(p->a, mirror) : NULL;
    return code;
}

int pkg_main(int argc, char **argv)
{
    Pkg p = {.a = arena_new()};
    p.origin.a = p.a;
    bool named = argc > 0 && argv[0][0] != '-';
    p.command = named ? find_command(argv[0]) : NULL;
    if (named && !p.command)
        return EXIT_USAGE;
    if (argc == 0) {
        fputs(about(p.a), stderr);
        return EXIT_USAGE;
    }
    int code = read_args(&p, argc - named, argv + named);
    if (code >= 0)
        return code;
    if (p.verbose)
        git_set_verbose();
    bool found = p.command->run == pkg_init || find_project(&p);
    if (found)
        lock_project();
    child_hold();
    if (found && (p.command->run == pkg_init || read_project(&p)))
        (void)p.command->run(&p);
    child_release();
    diag_flush();
    return diag_exit_code();
}
