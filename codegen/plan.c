/* Plans as data: sharing of kernels and sites. */
#include "codegen/plan.h"

#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

/* --- Sites and kernels ------------------------------------------------------------------------ */

int plan_site(Plan *p, Loc loc, const char *msg)
{
    for (int i = 0; i < p->sites.n; i++) {
        const Site *s = &p->sites.at[i];
        if (s->loc.beg == loc.beg && s->loc.end == loc.end && strcmp(s->msg, msg) == 0)
            return i;
    }
    vec_push(p->arena, &p->sites, (Site){loc, arena_strdup(p->arena, msg)});
    return p->sites.n - 1;
}

static bool ident_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Length of the identifier (or number) at s, 0 if there is none. */
static size_t ident_len(const char *s)
{
    size_t n = 0;
    while (ident_char(s[n]))
        n++;
    return n;
}

/* An identifier that var_c_name or a kernel maker numbered: name_12. */
static bool is_numbered(const char *s, size_t n)
{
    size_t d = n;
    while (d > 0 && s[d - 1] >= '0' && s[d - 1] <= '9')
        d--;
    return d < n && d >= 2 && s[d - 1] == '_';
}

/* The text with each numbered identifier replaced by the position of its first occurrence, and the
 * kernel's name by a fixed one: equal for kernels that differ in names only. */
static const char *canonical_text(const Kernel *k)
{
    Out o = {0};
    VEC(const char *) seen = {0};
    Arena *tmp = arena_new();
    for (const char *s = k->text; *s;) {
        size_t n = ident_len(s);
        if (n == 0) {
            out_putn(&o, s++, 1);
            continue;
        }
        const char *id = intern_n(s, n);
        if (strcmp(id, k->name) == 0) {
            out_puts(&o, "@");
        } else if (is_numbered(s, n)) {
            int i = 0;
            while (i < seen.n && seen.at[i] != id)
                i++;
            if (i == seen.n)
                vec_push(tmp, &seen, id);
            out_printf(&o, "$%d", i);
        } else {
            out_putn(&o, s, n);
        }
        s += n;
    }
    const char *text = intern(o.text ? o.text : "");
    out_free(&o);
    arena_free(tmp);
    return text;
}

static bool same_params(const KParams *a, const KParams *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->at[i].kind != b->at[i].kind || a->at[i].type != b->at[i].type)
            return false;
    return true;
}

/* text with the whole identifier `from` replaced by `to`. */
static const char *rename_ident(Ctx *cx, const char *text, const char *from, const char *to)
{
    Out o = {0};
    for (const char *s = text; *s;) {
        size_t n = ident_len(s);
        if (n && n == strlen(from) && strncmp(s, from, n) == 0)
            out_puts(&o, to);
        else
            out_putn(&o, s, n ? n : 1);
        s += n ? n : 1;
    }
    const char *r = arena_strdup(cx->perm, o.text ? o.text : "");
    out_free(&o);
    return r;
}

static bool name_taken(const Plan *p, const char *name)
{
    for (int i = 0; i < p->kernels.n; i++)
        if (strcmp(p->kernels.at[i]->name, name) == 0)
            return true;
    return false;
}

Kernel *kernel_intern(Plan *p, Ctx *cx, Kernel k)
{
    k.canonical = canonical_text(&k);
    for (int i = 0; i < p->kernels.n; i++) {
        Kernel *other = p->kernels.at[i];
        if (other->canonical == k.canonical && same_params(&other->params, &k.params))
            return other;
    }
    const char *name = k.name;
    for (int i = 2; name_taken(p, name); i++)
        name = arena_printf(cx->perm, "%s_%d", k.name, i);
    if (name != k.name)
        k.text = rename_ident(cx, k.text, k.name, name);
    k.name = name;
    k.id = p->kernels.n;
    Kernel *new = NEW(cx->perm, Kernel);
    *new = k;
    vec_push(cx->perm, &p->kernels, new);
    return new;
}
