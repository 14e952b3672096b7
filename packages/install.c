/* A file in lib/ is a package's if the record says so, which lies there and has the hash of each
 * file (git's, of its contents), or if the package's repository has such contents: `futhark pkg`
 * keeps no record. A file of a package that somebody has changed is the user's. */
#include "packages/install.h"

#include "base/intern.h"
#include "base/ptrmap.h"
#include "command/tempdir.h"
#include "packages/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum { KEPT_FILE, KEPT_LINK, KEPT_FOLDER } KeptKind;

/* What is the user's, below lib/. */
typedef struct {
    KeptKind kind;
    const char *name;
} Kept;

struct Install {
    Origin *o;
    const Packages *ps;
    bool force, ok;
    const char *lib; /* the folder, or where a link of that name leads */
    bool there;
    mode_t mode; /* of what is there */
    TempDir temp;
    const char *fresh;
    /* Names are interned, and below lib/. */
    PtrMap *wanted;       /* of files: RepoFile */
    PtrSet *folders;      /* ... and the folders that they are in */
    PtrMap *recorded;     /* names of files: hashes of their contents, interned */
    Out record;           /* the new one */
    int n_wanted, n_same; /* files; those that are there already */
    bool stale;           /* something is to be left out, or the record is another one */
    int kept_files;
    VEC(Kept) kept;
};

static const char *joined(const Install *in, const char *folder, const char *name)
{
    return arena_printf(in->o->a, "%s/%s", folder, name);
}

/* --- What is wanted --------------------------------------------------------------------------- */

static void want(Install *in, const char *package, const RepoFile *f)
{
    const char *name = intern(joined(in, package, f->name));
    ptrmap_put(in->wanted, name, f);
    in->n_wanted++;
    for (const char *s = name; (s = strchr(s, '/')); s++)
        ptrset_add(in->folders, intern_n(name, (size_t)(s - name)));
    out_printf(&in->record, "  %s %s\n", f->blob, f->name);
}

static bool want_all(Install *in)
{
    Arena *a = in->o->a;
    bool ok = true;
    if (in->ps->n)
        out_puts(&in->record, PACKAGE_RECORD_HEAD);
    for (int i = 0; i < in->ps->n; i++) {
        const Package *p = &in->ps->at[i];
        const char *version = semver_text(a, p->version);
        RepoFiles files = {0};
        ok &= repo_files(in->o, p->repo, p->path, version, p->commit, &files, p->loc);
        out_printf(&in->record, "%s %s %s\n", p->path, version, p->commit);
        for (int k = 0; k < files.n && ok; k++)
            want(in, p->path, &files.at[k]);
    }
    return ok;
}

/* --- What is there ---------------------------------------------------------------------------- */

/* The hash that git has for a file's contents, interned; NULL and errno. */
static const char *hash_of(Arena *a, const char *path)
{
    size_t n;
    const char *text = package_file_text(a, path, &n);
    if (!text)
        return NULL;
    char head[64], hash[SHA1_DIGEST_STRING_LENGTH];
    SHA1_CTX c;
    SHA1Init(&c);
    SHA1Update(&c, (const uint8_t *)head, (size_t)snprintf(head, sizeof head, "blob %zu", n) + 1);
    SHA1Update(&c, (const uint8_t *)text, n);
    return intern(SHA1End(&c, hash));
}

static void add_recorded(void *env, const char *name, const char *hash)
{
    ptrmap_put(((Install *)env)->recorded, intern(name), intern(hash));
}

static void read_record(Install *in)
{
    Arena *a = in->o->a;
    size_t n;
    char *text = package_file_text(a, joined(in, in->lib, PACKAGE_RECORD), &n);
    in->stale =
        !text ? in->record.n > 0 : n != in->record.n || memcmp(text, in->record.text, n) != 0;
    if (text)
        package_record_each(a, text, add_recorded, in);
}

/* The package whose folder a file lies in; NULL if it is none that is wanted. */
static const Package *package_of(const Install *in, const char *name)
{
    for (int i = 0; i < in->ps->n; i++) {
        size_t n = strlen(in->ps->at[i].path);
        if (!strncmp(name, in->ps->at[i].path, n) && name[n] == '/')
            return &in->ps->at[i];
    }
    return NULL;
}

/* Has a package brought the file, as it is? */
static bool is_brought(const Install *in, const char *name, const char *hash)
{
    if (ptrmap_get(in->recorded, name) == hash)
        return true;
    const Package *p = package_of(in, name);
    return p && repo_knows(in->o, p->repo, hash);
}

/* Does what is there stand where a package has a file or a folder? */
static bool is_in_the_way(const Install *in, const char *name, KeptKind kind)
{
    if (ptrmap_get(in->wanted, name) || (kind != KEPT_FOLDER && ptrset_has(in->folders, name)))
        return true;
    for (const char *s = name; (s = strchr(s, '/')); s++)
        if (ptrmap_get(in->wanted, intern_n(name, (size_t)(s - name))))
            return true;
    return false;
}

/* Keeps what is the user's. */
static void keep(Install *in, const char *name, KeptKind kind)
{
    if (!is_in_the_way(in, name, kind)) {
        vec_push(in->o->a, &in->kept, (Kept){kind, name});
        in->kept_files += kind != KEPT_FOLDER;
    } else if (in->force) {
        in->stale = true;
    } else {
        diag_error(
            NO_LOC,
            "lib/%s is not as a package has brought it, and would be replaced: move it away, "
            "or use --force",
            name);
        in->ok = false;
    }
}

static void look_at_file(Install *in, const char *name, const char *path)
{
    const RepoFile *f = ptrmap_get(in->wanted, name);
    const char *hash = hash_of(in->o->a, path);
    if (!hash) {
        diag_error(NO_LOC, "cannot read lib/%s: %s", name, strerror(errno));
        in->ok = false;
    } else if (f && hash == intern(f->blob)) {
        in->n_same++;
    } else if (is_brought(in, name, hash)) {
        in->stale = true;
    } else {
        keep(in, name, KEPT_FILE);
    }
}

/* Looks at all that is in a folder of lib/ ("": itself). */
static void look_at(Install *in, const char *folder)
{
    const char *path = *folder ? joined(in, in->lib, folder) : in->lib;
    DIR *dir = opendir(path);
    int n = 0;
    if (!dir) {
        diag_error(NO_LOC, "cannot read %s: %s", path, strerror(errno));
        in->ok = false;
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            (!*folder && !strcmp(e->d_name, PACKAGE_RECORD)))
            continue;
        n++;
        const char *name = intern(*folder ? joined(in, folder, e->d_name) : e->d_name),
                   *file = joined(in, in->lib, name);
        if (lstat(file, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            look_at(in, name);
        } else if (S_ISREG(st.st_mode)) {
            look_at_file(in, name, file);
        } else if (S_ISLNK(st.st_mode)) {
            keep(in, name, KEPT_LINK);
        } else {
            diag_error(NO_LOC, "lib/%s is neither file, link nor folder: move it away", name);
            in->ok = false;
        }
    }
    closedir(dir);
    if (!n && *folder)
        keep(in, folder, KEPT_FOLDER);
}

/* --- Making it anew --------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool ok = true;
    while (ok && n) {
        ssize_t k = write(fd, text, n);
        ok = k >= 0 || errno == EINTR;
        if (k > 0) {
            text += k;
            n -= (size_t)k;
        }
    }
    int saved = errno;
    if (close(fd) != 0)
        return false;
    errno = saved;
    return ok;
}

/* Makes the folders that a file in the new lib/ is in. */
static bool make_parents(Install *in, const char *name)
{
    for (const char *s = name; (s = strchr(s, '/')); s++) {
        const char *path = joined(in, in->fresh, intern_n(name, (size_t)(s - name)));
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return false;
    }
    return true;
}

/* A second name for the user's file; where there are none, a copy. */
static bool keep_file(Install *in, const char *from, const char *to)
{
    struct stat st;
    size_t n;
    if (link(from, to) == 0)
        return true;
    const char *text = package_file_text(in->o->a, from, &n);
    return text && write_file(to, text, n) && stat(from, &st) == 0 &&
           chmod(to, st.st_mode & 07777) == 0;
}

static bool keep_link(Install *in, const char *from, const char *to)
{
    enum { LONGEST = 4096 };
    char *target = arena_alloc(in->o->a, LONGEST);
    ssize_t n = readlink(from, target, LONGEST - 1);
    return n >= 0 && symlink(target, to) == 0;
}

static bool put_kept(Install *in, const Kept *k)
{
    const char *from = joined(in, in->lib, k->name), *to = joined(in, in->fresh, k->name);
    switch (k->kind) {
    case KEPT_FILE: return make_parents(in, k->name) && keep_file(in, from, to);
    case KEPT_LINK: return make_parents(in, k->name) && keep_link(in, from, to);
    case KEPT_FOLDER: return make_parents(in, k->name) && (mkdir(to, 0777) == 0 || errno == EEXIST);
    }
    return false;
}

/* Fills the new folder; false and errno. */
static bool fill(Install *in)
{
    if (mkdir(in->fresh, 0777) != 0)
        return false;
    for (int i = 0; (i = ptrmap_next(in->wanted, i)) >= 0; i++) {
        const char *name = ptrmap_key(in->wanted, i);
        const RepoFile *f = ptrmap_get(in->wanted, name);
        if (!make_parents(in, name) || !write_file(joined(in, in->fresh, name), f->text, f->n))
            return false;
    }
    for (int i = 0; i < in->kept.n; i++)
        if (!put_kept(in, &in->kept.at[i]))
            return false;
    return !in->record.n ||
           write_file(joined(in, in->fresh, PACKAGE_RECORD), in->record.text, in->record.n);
}

/* --- In one step ------------------------------------------------------------------------------ */

/* Where lib/ is, if that is a link; there need be none. */
static bool find_lib(Install *in)
{
    struct stat st;
    in->lib = "lib";
    in->there = lstat(in->lib, &st) == 0;
    if (in->there && S_ISLNK(st.st_mode)) {
        char *real = realpath(in->lib, NULL);
        if (!real) {
            diag_error(NO_LOC, "lib is a link that leads nowhere: %s", strerror(errno));
            return false;
        }
        in->lib = arena_strdup(in->o->a, real);
        free(real);
    }
    if (in->there && (stat(in->lib, &st) != 0 || !S_ISDIR(st.st_mode))) {
        diag_error(NO_LOC, "lib is no folder");
        return false;
    }
    in->mode = st.st_mode & 07777;
    return true;
}

Install *install_prepare(Origin *o, const Packages *ps, bool force)
{
    Arena *a = o->a;
    Install *in = NEW(a, Install);
    *in = (Install){.o = o,
                    .ps = ps,
                    .force = force,
                    .ok = true,
                    .wanted = ptrmap_new(a),
                    .folders = ptrmap_new(a),
                    .recorded = ptrmap_new(a)};
    if (!find_lib(in) || !want_all(in))
        return NULL;
    if (in->there) {
        read_record(in);
        look_at(in, "");
    }
    if (!in->ok)
        return NULL;
    if (install_is_done(in))
        return in;
    const char *slash = strrchr(in->lib, '/');
    const char *beside = slash ? arena_strndup(a, in->lib, (size_t)(slash - in->lib)) : ".";
    bool ok = tempdir_open(&in->temp, beside);
    in->fresh = arena_printf(a, "%s/lib", in->temp.path);
    if (!ok || !fill(in)) {
        diag_error(NO_LOC, "cannot make a new folder lib: %s", strerror(errno));
        if (ok)
            install_end(in);
        return NULL;
    }
    return in;
}

bool install_is_done(const Install *in)
{
    return !in->stale && in->n_same == in->n_wanted;
}

/* Exchanges the two; on file systems that cannot, by way of lib~old, which is where the old one is
 * if something happens in between. */
static bool exchange(Install *in)
{
    if (!in->there)
        return rename(in->fresh, in->lib) == 0;
    if (renameat2(AT_FDCWD, in->fresh, AT_FDCWD, in->lib, RENAME_EXCHANGE) == 0)
        return true;
    const char *old = arena_printf(in->o->a, "%s~old", in->lib);
    if ((errno != EINVAL && errno != ENOSYS) || rename(in->lib, old) != 0)
        return false;
    if (rename(in->fresh, in->lib) != 0) {
        int saved = errno;
        (void)rename(old, in->lib);
        errno = saved;
        return false;
    }
    (void)rename(old, in->fresh);
    return true;
}

bool install_put(Install *in)
{
    if (install_is_done(in))
        return true;
    if (!exchange(in)) {
        diag_error(NO_LOC, "cannot replace %s: %s", in->lib, strerror(errno));
        return false;
    }
    if (in->there)
        (void)chmod(in->lib, in->mode);
    (void)rmdir(in->lib); /* nothing is left in it */
    return true;
}

int install_kept(const Install *in)
{
    return in->kept_files;
}

void install_end(Install *in)
{
    tempdir_close(&in->temp);
    out_free(&in->record);
}
