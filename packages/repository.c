#include "packages/repository.h"

#include "command/tempdir.h"
#include "packages/git.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The default branch of what was fetched. */
static const char FETCHED_HEAD[] = "refs/minifut/head";

/* --- Package paths ---------------------------------------------------------------------------- */

/* Where the major version begins, with its `@`; the end of the path if it has none. */
static const char *major_of(const char *package)
{
    const char *at = strrchr(package, '@'), *end = package + strlen(package);
    return at && at[1] && strspn(at + 1, "0123456789") == (size_t)(end - at - 1) ? at : end;
}

/* Is the version of that package, by the major version in its path? */
static bool package_takes(const char *package, Semver v)
{
    const char *at = major_of(package);
    return *at ? strtoull(at + 1, NULL, 10) == v.major : v.major < 2;
}

static const char *without_major(Arena *a, const char *package)
{
    return arena_strndup(a, package, (size_t)(major_of(package) - package));
}

/* The path under which versions with that first number are known. */
static const char *path_for(Arena *a, const char *package, Semver v)
{
    const char *name = without_major(a, package);
    return v.major < 2 ? name : arena_printf(a, "%s@%d", name, (int)v.major);
}

/* --- Messages --------------------------------------------------------------------------------- */

/* What git said, behind the message that it failed. */
static void note_git(Loc loc, const GitAnswer *g)
{
    if (g->missing)
        diag_note(loc, "git, which fetches packages, cannot be run: %s", g->errors);
    else if (*g->errors)
        diag_note(loc, "git says: %s", g->errors);
}

/* --- Finding and fetching --------------------------------------------------------------------- */

static bool is_repository(Arena *a, const char *dir)
{
    struct stat st;
    return stat(arena_printf(a, "%s/objects", dir), &st) == 0 && S_ISDIR(st.st_mode) &&
           stat(arena_printf(a, "%s/HEAD", dir), &st) == 0;
}

/* The repository in a mirror: bare, or with its files beside it; NULL if it is not there. */
static const char *in_mirror(const Origin *o, const char *name)
{
    static const char *const endings[] = {".git", "/.git", ""};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *dir = arena_printf(o->a, "%s/%s%s", o->mirror, name, endings[i]);
        if (is_repository(o->a, dir))
            return dir;
    }
    return NULL;
}

static const char *cache_folder(Arena *a)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    return xdg && xdg[0] == '/'     ? arena_printf(a, "%s/minifut/packages", xdg)
           : home && home[0] == '/' ? arena_printf(a, "%s/.cache/minifut/packages", home)
                                    : NULL;
}

/* Makes the folders that a path has; only its user can read those that are new. */
static bool make_folders(Arena *a, const char *path)
{
    char *s = arena_strdup(a, path);
    for (char *at = s + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(s, 0700);
        *at = '/';
    }
    return mkdir(s, 0700) == 0 || errno == EEXIST;
}

/* Fetches all branches and tags; a tag that was moved, moves here. */
static bool fetch(Origin *o, const char *name, const char *dir, Loc loc)
{
    const char *url = arena_printf(o->a, "https://%s", name),
               *head = arena_printf(o->a, "+HEAD:%s", FETCHED_HEAD);
    GitAnswer g = GIT(o->a, dir, "fetch", "--quiet", "--force", "--no-write-fetch-head",
                      "--no-recurse-submodules", url, head, "+refs/heads/*:refs/heads/*",
                      "+refs/tags/*:refs/tags/*");
    if (g.ok)
        return true;
    diag_error(loc, "cannot fetch %s", url);
    note_git(loc, &g);
    if (!g.missing)
        diag_note(loc, "without a network, --mirror takes repositories from a folder, and "
                       "--offline what was fetched before");
    return false;
}

/* Makes the copy in the cache: elsewhere, and renamed when it is complete. */
static bool make_copy(Origin *o, const char *name, const char *cache, const char *dir, Loc loc)
{
    TempDir temp;
    const char *folder = arena_strndup(o->a, dir, (size_t)(strrchr(dir, '/') - dir));
    if (!make_folders(o->a, folder) || !tempdir_open(&temp, cache)) {
        diag_error(loc, "cannot keep packages in the cache %s: %s", cache, strerror(errno));
        return false;
    }
    const char *fresh = arena_printf(o->a, "%s/repository", temp.path);
    GitAnswer g = GIT(o->a, NULL, "init", "--quiet", "--bare", "--template=", fresh);
    if (!g.ok) {
        diag_error(loc, "cannot make a repository in the cache %s", cache);
        note_git(loc, &g);
    }
    bool ok = g.ok && fetch(o, name, fresh, loc);
    if (ok && rename(fresh, dir) != 0 && !is_repository(o->a, dir)) {
        diag_error(loc, "cannot make %s: %s", dir, strerror(errno));
        ok = false;
    }
    tempdir_close(&temp);
    return ok;
}

/* The directory of a package's repository; `fresh`: it has just been fetched. */
static const char *find(Origin *o, const char *name, bool *fresh, Loc loc)
{
    if (o->mirror) {
        const char *dir = in_mirror(o, name);
        if (!dir)
            diag_error(loc, "the mirror has no repository %s/%s or %s/%s.git", o->mirror, name,
                       o->mirror, name);
        return dir;
    }
    const char *cache = cache_folder(o->a);
    if (!cache) {
        diag_error(loc, "neither $XDG_CACHE_HOME nor $HOME says where to keep packages");
        return NULL;
    }
    const char *dir = arena_printf(o->a, "%s/%s.git", cache, name);
    if (is_repository(o->a, dir))
        return dir;
    if (o->offline) {
        diag_error(loc, "%s has not been fetched before, and --offline forbids it", name);
        return NULL;
    }
    *fresh = true;
    return make_copy(o, name, cache, dir, loc) ? dir : NULL;
}

Repository *repo_open(Origin *o, const char *package, Loc loc)
{
    const char *name = without_major(o->a, package);
    for (int i = 0; i < o->open.n; i++)
        if (!strcmp(o->open.at[i]->name, name))
            return o->open.at[i];
    bool fresh = o->mirror || o->offline;
    const char *dir = find(o, name, &fresh, loc);
    if (!dir)
        return NULL;
    Repository *r = NEW(o->a, Repository);
    *r = (Repository){.name = name, .dir = dir, .fresh = fresh, .copy = !o->mirror};
    vec_push(o->a, &o->open, r);
    return r;
}

bool repo_refresh(Origin *o, Repository *r, Loc loc)
{
    r->fresh = r->fresh || fetch(o, r->name, r->dir, loc);
    return r->fresh;
}

/* --- Versions --------------------------------------------------------------------------------- */

static int by_age(const void *x, const void *y)
{
    return semver_compare(*(const Semver *)x, *(const Semver *)y);
}

/* All that are released, the oldest first. */
static bool all_versions(Origin *o, const Repository *r, Semvers *to, Loc loc)
{
    GitAnswer g = GIT(o->a, r->dir, "for-each-ref", "--format=%(refname:strip=2)", "refs/tags/v*");
    if (!g.ok) {
        diag_error(loc, "cannot read the repository of %s, %s", r->name, r->dir);
        note_git(loc, &g);
    }
    size_t at = 0;
    Semver v;
    for (char *tag; g.ok && (tag = git_line(&g, &at, '\n'));)
        if (semver_is(o->a, tag + 1, &v))
            vec_push(o->a, to, v);
    if (to->n)
        qsort(to->at, (size_t)to->n, sizeof *to->at, by_age);
    return g.ok;
}

bool repo_versions(Origin *o, Repository *r, const char *package, Semvers *to, Loc loc)
{
    Semvers all = {0};
    if (!all_versions(o, r, &all, loc))
        return false;
    for (int i = 0; i < all.n; i++)
        if (package_takes(package, all.at[i]))
            vec_push(o->a, to, all.at[i]);
    return true;
}

/* The hash of the commit that the name means; NULL if there is none. */
static const char *commit_of(const Origin *o, const Repository *r, const char *name)
{
    GitAnswer g = GIT(o->a, r->dir, "rev-parse", "--quiet", "--verify",
                      arena_printf(o->a, "%s^{commit}", name));
    size_t at = 0;
    return g.ok ? git_line(&g, &at, '\n') : NULL;
}

/* Is it the hash of a commit, or the beginning of one that others will hardly share? */
static bool is_hash(const char *s)
{
    enum { SHORTEST = 7, LONGEST = 64 };
    size_t n = strlen(s);
    return n >= SHORTEST && n <= LONGEST && strspn(s, "0123456789abcdef") == n;
}

/* The versions of a list, or the last of many. */
static const char *listed(Arena *a, const Semvers *vs)
{
    enum { SHOWN = 8 };
    const char *text = vs->n > SHOWN ? "..., " : "";
    for (int i = vs->n > SHOWN ? vs->n - SHOWN : 0; i < vs->n; i++)
        text =
            arena_printf(a, "%s%s%s", text, semver_text(a, vs->at[i]), i + 1 < vs->n ? ", " : "");
    return text;
}

/* Says that the package has no such release, which there are, and which one may be meant. */
static void report_no_version(Origin *o, const Repository *r, const char *package, Semver v,
                              Loc loc)
{
    Semvers all = {0};
    if (!all_versions(o, r, &all, loc))
        return;
    diag_error(loc, "%s has no version %s: its repository has no tag v%s", package,
               semver_text(o->a, v), semver_text(o->a, v));
    if (!all.n)
        diag_note(loc,
                  "it has no tags of the form vX.Y.Z at all; a commit can be required "
                  "instead: `minifut pkg add %s` takes the newest one",
                  package);
    else
        diag_note(loc, "it has %s", listed(o->a, &all));
    for (int i = 0; i < all.n; i++)
        if (semver_compare(all.at[i], v) >= 0 && package_takes(package, all.at[i])) {
            diag_note(loc, "the next one is %s", semver_text(o->a, all.at[i]));
            return;
        }
}

const char *repo_commit(Origin *o, Repository *r, const char *package, Semver v, Loc loc)
{
    bool by_hash = semver_is_commit(v);
    if (!package_takes(package, v)) {
        diag_error(loc, "version %s is not of the package %s, but of %s", semver_text(o->a, v),
                   package, path_for(o->a, package, v));
        return NULL;
    }
    if (by_hash && !is_hash(v.commit)) {
        diag_error(loc, "`%s` is not the hash of a commit", v.commit);
        return NULL;
    }
    const char *name =
        by_hash ? v.commit : arena_printf(o->a, "refs/tags/v%s", semver_text(o->a, v));
    const char *commit = commit_of(o, r, name);
    if (!commit && !r->fresh) {
        if (!repo_refresh(o, r, loc))
            return NULL;
        commit = commit_of(o, r, name);
    }
    if (!commit && by_hash)
        diag_error(loc, "the repository of %s has no commit %s", package, v.commit);
    else if (!commit)
        report_no_version(o, r, package, v, loc);
    return commit;
}

/* When the commit was made, as fourteen digits. */
static const char *time_of(const Origin *o, const Repository *r, const char *commit)
{
    GitAnswer g = GIT(o->a, r->dir, "show", "--no-patch", "--format=%ct", commit);
    size_t at = 0;
    char *text = g.ok ? git_line(&g, &at, '\n') : NULL;
    time_t seconds = (time_t)(text ? strtoll(text, NULL, 10) : 0);
    struct tm tm;
    char digits[64];
    if (!gmtime_r(&seconds, &tm) || !strftime(digits, sizeof digits, "%Y%m%d%H%M%S", &tm))
        return "00000000000000";
    return arena_strdup(o->a, digits);
}

bool repo_commit_version(Origin *o, Repository *r, const char *package, const char *hash, Semver *v,
                         Loc loc)
{
    const char *head = r->copy ? FETCHED_HEAD : "HEAD", *commit = NULL;
    if (hash && !is_hash(hash)) {
        diag_error(loc, "`%s` is neither a version X.Y.Z nor the hash of a commit", hash);
        return false;
    }
    if (hash)
        commit = commit_of(o, r, hash);
    if (!commit && !repo_refresh(o, r, loc))
        return false;
    Semvers all = {0};
    if (!hash && all_versions(o, r, &all, loc) && all.n) {
        Semver last = vec_last(&all);
        diag_error(loc, "%s has no versions; those from %s on are of the package %s", package,
                   semver_text(o->a, last), path_for(o->a, package, last));
        return false;
    }
    commit = commit ? commit : commit_of(o, r, hash ? hash : head);
    if (!commit) {
        diag_error(loc, "the repository of %s has no commit%s%s", r->name, hash ? " " : "",
                   hash ? hash : "");
        return false;
    }
    *v = (Semver){.time = time_of(o, r, commit), .commit = commit};
    return true;
}

/* --- Files ------------------------------------------------------------------------------------ */

/* The contents of each file, by one call. */
static bool read_blobs(Origin *o, const Repository *r, RepoFiles *files, Loc loc)
{
    FILE *names = tmpfile();
    for (int i = 0; names && i < files->n; i++)
        fprintf(names, "%s\n", files->at[i].blob);
    if (!names || fflush(names) != 0 || fseek(names, 0, SEEK_SET) != 0) {
        diag_error(loc, "cannot write a temporary file: %s", strerror(errno));
        if (names)
            fclose(names);
        return false;
    }
    GitAnswer g = git_run(o->a, r->dir, names, (const char *const[]){"cat-file", "--batch", NULL});
    fclose(names);
    size_t at = 0;
    bool ok = g.ok;
    for (int i = 0; ok && i < files->n; i++) {
        RepoFile *f = &files->at[i];
        char *line = git_line(&g, &at, '\n'), *size = line ? strrchr(line, ' ') : NULL;
        f->n = size ? strtoull(size, NULL, 10) : 0;
        f->text = g.text + at;
        ok = size && strstr(line, " blob ") && f->n <= g.n && at <= g.n - f->n;
        at += f->n + 1;
    }
    if (!ok) {
        diag_error(loc, "cannot read files of %s, %s", r->name, r->dir);
        note_git(loc, &g);
    }
    return ok;
}

/* A line of ls-tree: MODE TYPE HASH, a tab, NAME. What it is, in `f`, and its mode; false: what is
 * this? */
static bool read_entry(Arena *a, char *line, RepoFile *f, const char **mode)
{
    char *tab = strchr(line, '\t'), *save;
    if (!tab)
        return false;
    *tab = '\0';
    f->name = arena_strdup(a, tab + 1);
    *mode = strtok_r(line, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    char *blob = strtok_r(NULL, " ", &save);
    f->blob = blob ? arena_strdup(a, blob) : NULL;
    return *mode && blob;
}

/* Why no such file is taken out of a package; NULL if it may be. */
static const char *refused(Arena *a, const RepoFile *f, const char *mode)
{
    if (!strcmp(mode, "120000"))
        return "a link: it could lead anywhere";
    if (strncmp(mode, "100", 3) != 0)
        return "no file (a repository within the repository?)";
    for (const char *at = f->name;; at++) {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n <= 2 && strspn(at, ".") >= n))
            return "a path that could lead elsewhere";
        if (n == 4 && !strncasecmp(at, ".git", n))
            return "a path that git keeps for itself";
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)at[i] < ' ' || at[i] == 0x7f || at[i] == '\\')
                return arena_printf(a, "a path with a character of code %d", (unsigned char)at[i]);
        at += n;
        if (!*at)
            return NULL;
    }
}

/* Characters that could command a terminal as `?`. */
static const char *shown(Arena *a, const char *name)
{
    char *text = arena_strdup(a, name);
    for (char *s = text; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            *s = '?';
    return text;
}

/* What lies below `path` (itself, if it is a file), without contents. False after a message. */
static bool list_tree(Origin *o, const Repository *r, const char *commit, const char *path,
                      RepoFiles *to, Loc loc)
{
    GitAnswer g = GIT(o->a, r->dir, "--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree",
                      commit, "--", path);
    if (!g.ok) {
        diag_error(loc, "cannot read the repository of %s, %s", r->name, r->dir);
        note_git(loc, &g);
    }
    size_t at = 0;
    bool ok = g.ok;
    for (char *line; ok && (line = git_line(&g, &at, '\0'));) {
        RepoFile f = {0};
        const char *mode;
        if (!read_entry(o->a, line, &f, &mode))
            continue;
        const char *why = refused(o->a, &f, mode);
        if (why) {
            diag_error(loc, "the package %s is refused: its file `%s` is %s", r->name,
                       shown(o->a, f.name), why);
            ok = false;
        }
        vec_push(o->a, to, f);
    }
    return ok;
}

bool repo_manifest(Origin *o, Repository *r, const char *package, const char *version,
                   const char *commit, Manifest *m, Loc loc)
{
    RepoFiles files = {0};
    if (!list_tree(o, r, commit, MANIFEST_NAME, &files, loc))
        return false;
    if (files.n != 1) {
        diag_error(loc, "%s %s is no package: its repository has no file %s", package, version,
                   MANIFEST_NAME);
        return false;
    }
    return read_blobs(o, r, &files, loc) &&
           manifest_read(o->a, arena_printf(o->a, "%s %s: %s", package, version, MANIFEST_NAME),
                         files.at[0].text, files.at[0].n, m);
}

bool repo_files(Origin *o, Repository *r, const char *package, const char *version,
                const char *commit, RepoFiles *to, Loc loc)
{
    const char *folder = arena_printf(o->a, "lib/%s/", package);
    if (!list_tree(o, r, commit, folder, to, loc))
        return false;
    if (!to->n) {
        Manifest m;
        bool known = repo_manifest(o, r, package, version, commit, &m, loc);
        diag_error(loc, "%s %s has no folder lib/%s, where its files should be", package, version,
                   package);
        if (known && m.package && strcmp(m.package, package) != 0)
            diag_note(loc, "it says that it is the package %s", m.package);
        return false;
    }
    for (int i = 0; i < to->n; i++)
        to->at[i].name += strlen(folder);
    return read_blobs(o, r, to, loc);
}

bool repo_knows(Origin *o, const Repository *r, const char *blob)
{
    GitAnswer g = GIT(o->a, r->dir, "cat-file", "-e", blob);
    return g.ok;
}
