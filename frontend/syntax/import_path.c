/* Where imports are looked up: relative to the file that they stand in; what begins with `lib/`
 * then in the folders above it, and above the program, up to the one that holds a `futhark.pkg`.
 * Packages lie there (lib/github.com/USER/PACKAGE/), as `minifut pkg` puts them. */
#include "frontend/syntax/import_path.h"

#include "base/intern.h"
#include "command/source.h"
#include "packages/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- Names of files ------------------------------------------------------------------------- */

const char *import_real(const char *path)
{
    char *real = realpath(path, NULL);
    const char *s = intern(real ? real : path);
    free(real);
    return s;
}

/* Takes `.`, `..` behind a folder, and empty parts out of a path. */
static char *without_dots(Arena *a, const char *path)
{
    char *s = arena_alloc(a, strlen(path) + 1), *to = s, *floor = s;
    if (*path == '/')
        *to++ = '/', floor = to;
    for (; *path; path += strspn(path, "/")) {
        size_t n = strcspn(path, "/");
        if (n == 2 && !memcmp(path, "..", n) && to > floor) {
            for (to--; to > floor && to[-1] != '/';)
                to--;
        } else if (n && !(n == 1 && *path == '.')) {
            memcpy(to, path, n);
            to += n;
            if (n == 2 && !memcmp(path, "..", n))
                floor = to + 1;
            *to++ = '/';
        }
        path += n;
    }
    if (to > s + (*s == '/'))
        to--;
    *to = 0;
    return s;
}

/* The shorter name, unless a link makes another file of it. */
static const char *clean(Arena *a, const char *path)
{
    const char *shorter = without_dots(a, path);
    struct stat s, t;
    bool same = stat(path, &s) != 0 ||
                (stat(shorter, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino);
    return same ? shorter : path;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --- Search --------------------------------------------------------------------------------- */

/* The file of that name, which may end in `.sf` or `.fut`, below a folder ("" or with a slash
 * behind). */
static const char *file_in(Arena *a, const char *folder, const char *name)
{
    static const char *const endings[] = {".sf", ".fut"};
    if (source_stem(name) < strlen(name)) {
        const char *path = arena_printf(a, "%s%s", folder, name);
        return source_there(path) ? clean(a, path) : NULL;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *path = arena_printf(a, "%s%s%s", folder, name, endings[i]);
        if (source_there(path))
            return clean(a, path);
    }
    return NULL;
}

/* The folder of a file: "" or with a slash behind. */
static const char *folder_of(Arena *a, const char *file)
{
    const char *slash = strrchr(file, '/');
    return arena_strndup(a, file, slash ? (size_t)(slash - file + 1) : 0);
}

/* The folder above, or NULL if there is none but the root, or this is where a program's files
 * begin. A package that was copied with its own `futhark.pkg` into a `lib` is no such place. */
static const char *above(Arena *a, const char *folder)
{
    const char *here = *folder ? folder : ".", *real = import_real(here);
    bool begins =
        source_there(arena_printf(a, "%s" MANIFEST_NAME, folder)) && !strstr(real, "/lib/");
    if (begins || !is_folder(here))
        return NULL;
    const char *up = import_real(arena_printf(a, "%s..", folder));
    return !strcmp(up, "/") || up == real ? NULL : arena_printf(a, "%s../", folder);
}

/* The file in the folders above, or NULL; `tried` receives their `lib` folders. */
static const char *file_above(Arena *a, const char *file, const char *name, Names *tried)
{
    for (const char *folder = folder_of(a, file); folder; folder = above(a, folder)) {
        const char *found = file_in(a, folder, name),
                   *lib = clean(a, arena_printf(a, "%slib", folder));
        if (found)
            return found;
        bool known = !is_folder(lib);
        for (int i = 0; i < tried->n && !known; i++)
            known = !strcmp(tried->at[i], lib);
        if (!known)
            vec_push(a, tried, lib);
    }
    return NULL;
}

/* --- What is not there ---------------------------------------------------------------------- */

/* What stands behind `lib/` in the path of a file, if it may be of a package: it begins with a
 * host's name. NULL: it is not. */
static const char *behind_lib(const char *path)
{
    for (const char *s = path; (s = strstr(s, "lib/")); s++)
        if ((s == path || s[-1] == '/') && s[4] != '.' && memchr(s + 4, '.', strcspn(s + 4, "/")))
            return s + 4;
    return NULL;
}

/* The package that a file behind `lib/` is of, as most are named: HOST/USER/NAME. NULL: of none. */
static const char *usual_package(Arena *a, const char *file)
{
    const char *end = file;
    for (int part = 0; part < 3 && end; part++)
        end = strchr(end + (part > 0), '/');
    return end ? arena_strndup(a, file, (size_t)(end - file)) : NULL;
}

/* The package that a file behind `lib/` is of, if the project of the file `from`, whose
 * `futhark.pkg` is in a folder above, requires it; else NULL. */
static const char *required(Arena *a, const char *from, const char *file, Loc loc)
{
    for (const char *folder = folder_of(a, from); folder; folder = above(a, folder)) {
        const char *name = arena_printf(a, "%s" MANIFEST_NAME, folder), *text = NULL;
        size_t n;
        Loc where;
        Manifest m;
        if (source_there(name) && !is_folder(name))
            text = source_read(a, name, false, loc, &n);
        if (!text || manifest_parse(a, text, n, 0, &m, &where))
            continue;
        for (int i = 0; i < m.lines.n; i++) {
            const char *path = m.lines.at[i].path;
            if (path && !strncmp(file, path, strlen(path)) && file[strlen(path)] == '/')
                return path;
        }
    }
    return NULL;
}

/* What brings the package that the file is of; "" if it is of none, or that is there already. */
static const char *advice(Arena *a, const char *main, const char *from, const char *path, Loc loc,
                          const Names *tried)
{
    const char *file = behind_lib(path);
    const char *package = file ? required(a, from, file, loc) : NULL;
    if (file && !package)
        package = required(a, main, file, loc);
    bool sync = package || behind_lib(from);
    if (file && !package)
        package = usual_package(a, file);
    if (!package)
        return "";
    bool there = is_folder(arena_strndup(a, path, (size_t)(file - path) + strlen(package)));
    for (int i = 0; i < tried->n && !there; i++)
        there = is_folder(arena_printf(a, "%s/%s", tried->at[i], package));
    if (there)
        return arena_printf(a, "; the package %s is there, without such a file", package);
    return sync ? arena_printf(a, "; `minifut pkg sync` fetches the package %s", package)
                : arena_printf(a, "; `minifut pkg add %s` fetches the package", package);
}

/* Says that nothing was found, in the `lib` folders tried besides the one beside the importing
 * file, which is the first. */
static void report_missing(Arena *a, const char *main, const char *from, const char *name, Loc loc,
                           const Names *tried)
{
    const char *folder = *name == '/' ? "" : folder_of(a, from), *rest = "";
    const char *path = without_dots(a, arena_printf(a, "%s%s", folder, name));
    for (int i = 1; i < tried->n; i++)
        rest = arena_printf(a, "%s%s`%s`", rest, i > 1 ? ", " : "; also tried ", tried->at[i]);
    if (*name != '.' && *name != '/' && strchr(name, '/') && memchr(name, '.', strcspn(name, "/")))
        rest = arena_printf(a, "%s; the name of a package begins with `lib/`", rest);
    rest = arena_printf(a, "%s%s", rest, advice(a, main, from, path, loc, tried));
    if (source_stem(name) < strlen(name))
        diag_error(loc, "there is no file `%s`%s", path, rest);
    else
        diag_error(loc, "there is neither `%s.sf` nor `%s.fut`%s", path, path, rest);
}

const char *import_find(Arena *a, const char *main, const char *from, const char *name, Loc loc)
{
    const char *folder = *name == '/' ? "" : folder_of(a, from), *found = file_in(a, folder, name);
    Names tried = {0};
    if (!found && !strncmp(name, "lib/", 4)) {
        vec_push(a, &tried, clean(a, arena_printf(a, "%slib", folder)));
        found = file_above(a, from, name, &tried);
        if (!found)
            found = file_above(a, main, name, &tried);
    }
    if (!found)
        report_missing(a, main, from, name, loc, &tried);
    return found ? intern(found) : NULL;
}
