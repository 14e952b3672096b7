/* The record in lib/ that `minifut pkg` keeps, as install.c writes it:
 *
 *     HEAD
 *     github.com/user/package 1.2.0 COMMIT
 *       HASH file of the package
 */
#include "packages/record.h"

#include "base/intern.h"
#include "base/ptrmap.h"
#include "packages/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *package_file_text(Arena *a, const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0)
        return NULL;
    char *text = fstat(fd, &st) == 0 ? arena_alloc(a, (size_t)st.st_size + 1) : NULL;
    ssize_t k = 1;
    *n = 0;
    while (text && k > 0 && *n < (size_t)st.st_size)
        if ((k = read(fd, text + *n, (size_t)st.st_size - *n)) > 0)
            *n += (size_t)k;
    int saved = errno;
    close(fd);
    errno = saved;
    return k < 0 ? NULL : text;
}

void package_record_each(Arena *a, char *text, PackageRecordFile *file, void *env)
{
    const char *package = "";
    char *save, *line = strtok_r(text, "\n", &save);
    while (line && (line = strtok_r(NULL, "\n", &save))) {
        bool of_file = *line == ' ';
        char *space = strchr(line + 2 * of_file, ' ');
        if (!space)
            continue;
        *space = '\0';
        if (of_file)
            file(env, arena_printf(a, "%s/%s", package, space + 1), line + 2);
        else
            package = line;
    }
}

/* --- Files by their paths --------------------------------------------------------------------- */

typedef struct {
    const char *path; /* of lib, interned, with a slash behind */
    PtrSet *files;    /* below it, interned; NULL: there is no record, ... */
    bool project;     /* ... but a project beside it, ... */
    const char *own;  /* ... which is that package; NULL: none */
} Lib;

struct PackageFiles {
    Arena *a;
    VEC(Lib) libs;
};

PackageFiles *package_files_new(Arena *a)
{
    PackageFiles *p = NEW(a, PackageFiles);
    p->a = a;
    return p;
}

static void add_name(void *env, const char *name, const char *hash)
{
    (void)hash;
    ptrset_add(env, intern(name));
}

static Lib read_lib(Arena *a, const char *path)
{
    Lib lib = {.path = path};
    size_t n;
    char *text = package_file_text(a, arena_printf(a, "%s" PACKAGE_RECORD, path), &n);
    if (text) {
        lib.files = ptrmap_new(a);
        package_record_each(a, text, add_name, lib.files);
        return lib;
    }
    text = package_file_text(a, arena_printf(a, "%s../" MANIFEST_NAME, path), &n);
    Manifest m = {0};
    Loc where;
    if (!text)
        return lib;
    bool parsed = !manifest_parse(a, text, n, 0, &m, &where);
    lib.project = !parsed;
    for (int i = 0; i < m.lines.n; i++)
        lib.project |= m.lines.at[i].path != NULL;
    if (parsed)
        lib.own = m.package;
    return lib;
}

static const Lib *lib_at(PackageFiles *p, const char *path)
{
    for (int i = 0; i < p->libs.n; i++)
        if (p->libs.at[i].path == path)
            return &p->libs.at[i];
    vec_push(p->a, &p->libs, read_lib(p->a, path));
    return &vec_last(&p->libs);
}

static bool has_brought(const Lib *lib, const char *name)
{
    if (lib->files)
        return ptrset_has(lib->files, intern(name));
    size_t n = lib->own ? strlen(lib->own) : 0;
    return lib->project && !(n && strncmp(name, lib->own, n) == 0 && name[n] == '/');
}

bool package_has_file(PackageFiles *p, const char *path, size_t above)
{
    bool found = false;
    for (const char *s = path; !found && (s = strstr(s, "lib/")); s++)
        if ((size_t)(s - path) >= above && (s == path || s[-1] == '/'))
            found = has_brought(lib_at(p, intern_n(path, (size_t)(s + 4 - path))), s + 4);
    return found;
}
