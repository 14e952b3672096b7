/* What the C API calls opaque types, by the names that Futhark gives them: as readable as Futhark
 * makes it, else a digest. */
#include "emit/api.h"

#include <ctype.h>
#include <md5.h>
#include <string.h>

static bool accept(const char **at, const char *word)
{
    size_t n = strlen(word);
    bool is = strncmp(*at, word, n) == 0;
    *at += is ? n : 0;
    return is;
}

static const char *atom(Ctx *cx, const char **at)
{
    size_t n = strcspn(*at, "[]{}(),.:");
    const char *s = n ? arena_strndup(cx->perm, *at, n) : NULL;
    *at += n;
    return s;
}

static const char *readable(Ctx *cx, const char **at);

/* "f32, i32)": "2_f32_i32"; of a record "x:f32, y:i32}": "__x_f32__y_i32". */
static const char *readable_list(Ctx *cx, const char **at, const char *end, bool record)
{
    const char *s = "";
    int n = 0;
    while (!accept(at, end)) {
        if (n++ && !accept(at, ", "))
            return NULL;
        const char *field = record ? atom(cx, at) : NULL;
        const char *type = record && (!field || !accept(at, ":")) ? NULL : readable(cx, at);
        if (!type)
            return NULL;
        s = record ? arena_printf(cx->perm, "%s__%s_%s", s, field, type)
                   : arena_printf(cx->perm, "%s_%s", s, type);
    }
    return record ? s : arena_printf(cx->perm, "%d%s", n, n ? s : "_");
}

/* The type at *at as part of a name, and moves behind it: "f32", "m_point" (m.point),
 * "arr1d_point", "tup2_f32_arr1d_i32", "rec__x_f32__y_f32". NULL: Futhark knows no such name. */
static const char *readable(Ctx *cx, const char **at)
{
    const char *inner;
    int dims = 0;
    while (accept(at, "[]"))
        dims++;
    if (dims) {
        inner = readable(cx, at);
        return inner ? arena_printf(cx->perm, "arr%dd_%s", dims, inner) : NULL;
    }
    if (accept(at, "(") || accept(at, "{")) {
        bool record = (*at)[-1] == '{';
        inner = readable_list(cx, at, record ? "}" : ")", record);
        return inner ? arena_printf(cx->perm, record ? "rec%s" : "tup%s", inner) : NULL;
    }
    const char *name = atom(cx, at), *member = name && accept(at, ".") ? atom(cx, at) : "";
    return name && member ? arena_printf(cx->perm, *member ? "%s_%s" : "%s%s", name, member) : NULL;
}

static bool is_identifier(const char *s)
{
    bool ok = isalpha((unsigned char)*s);
    for (; ok && *s; s++)
        ok = isalnum((unsigned char)*s) || *s == '_';
    return ok;
}

static bool is_among(const Texts *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

const char *api_opaque_name(Ctx *cx, const char *name, const Texts *taken)
{
    const char *at = name, *s = strcmp(name, "()") == 0 ? "unit" : readable(cx, &at);
    bool whole = s && (at == name || !*at);
    const char *found = whole && is_identifier(s) ? arena_printf(cx->perm, "opaque_%s", s) : NULL;
    if (found && !is_among(taken, found))
        return found;
    char digest[MD5_DIGEST_STRING_LENGTH];
    MD5Data((const uint8_t *)name, strlen(name), digest);
    return arena_printf(cx->perm, "opaque_%s", digest);
}

/* Letters that stand for themselves, and z, Z and the prime escaped: Futhark's z-encoding, as far
 * as names can have them. */
const char *api_member_name(Ctx *cx, const char *name)
{
    bool whole = true;
    size_t n = 0;
    for (const char *s = name; *s; s++)
        whole = whole && (isalnum((unsigned char)*s) || *s == '_');
    if (whole)
        return name;
    char *out = NEWN(cx->perm, char, 2 * strlen(name) + 1);
    for (const char *s = name; *s; s++) {
        bool escaped = *s == 'z' || *s == 'Z' || *s == '\'';
        if (escaped)
            out[n++] = *s == 'Z' ? 'Z' : 'z';
        out[n++] = *s == '\'' ? 'q' : *s;
    }
    return out;
}
