/* Plans as data: symbolic arithmetic, locations of arrays, sharing of kernels and sites. */
#include "codegen/plan.h"

#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

/* --- Symbolic expressions -------------------------------------------------------------------- */

static const Sx *sx_new(Ctx *cx, Sx s)
{
    Sx *p = NEW(cx->perm, Sx);
    *p = s;
    int parts = 1 + (s.a ? s.a->parts : 0) + (s.b ? s.b->parts : 0);
    p->parts = parts < INT32_MAX / 4 ? parts : INT32_MAX / 4; /* they may be shared: any number */
    return p;
}

const Sx *sx_const(Ctx *cx, int64_t k)
{
    return sx_new(cx, (Sx){.kind = SX_CONST, .k = k});
}

const Sx *sx_var(Ctx *cx, const Var *v)
{
    return sx_new(cx, (Sx){.kind = SX_VAR, .var = v});
}

const Sx *sx_atom(Ctx *cx, Atom a)
{
    return a.var ? sx_var(cx, a.var) : sx_const(cx, a.c.i);
}

const Sx *sx_text(Ctx *cx, const char *text)
{
    return sx_new(cx, (Sx){.kind = SX_TEXT, .text = intern(text)});
}

const Sx *sx_size(Ctx *cx, SizeId id)
{
    return sx_new(cx, (Sx){.kind = SX_SIZE, .k = id});
}

bool sx_is_const(const Sx *a, int64_t k)
{
    return a->kind == SX_CONST && a->k == k;
}

/* A total order, for normal forms and equality. */
static int sx_cmp(const Sx *a, const Sx *b)
{
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    switch (a->kind) {
    case SX_CONST:
    case SX_SIZE: return a->k < b->k ? -1 : a->k > b->k;
    case SX_VAR: return a->var->id < b->var->id ? -1 : a->var->id > b->var->id;
    case SX_TEXT: return strcmp(a->text, b->text);
    case SX_ADD:
    case SX_SUB:
    case SX_MUL:
    case SX_DIV:
    case SX_CEILDIV:
    case SX_MOD:
    case SX_MIN:
    case SX_MAX: break;
    }
    int c = sx_cmp(a->a, b->a);
    return c ? c : sx_cmp(a->b, b->b);
}

bool sx_eq(const Sx *a, const Sx *b)
{
    return sx_cmp(a, b) == 0;
}

/* False when the result does not fit. */
static bool fold(SxKind op, int64_t a, int64_t b, int64_t *r)
{
    switch (op) {
    case SX_ADD: return !__builtin_add_overflow(a, b, r);
    case SX_SUB: return !__builtin_sub_overflow(a, b, r);
    case SX_MUL: return !__builtin_mul_overflow(a, b, r);
    case SX_DIV: *r = b > 0 ? a / b : 0; return b > 0;
    case SX_CEILDIV: *r = b > 0 ? a / b + (a % b != 0) : 0; return b > 0 && a >= 0;
    case SX_MOD: *r = b > 0 ? a % b : 0; return b > 0;
    case SX_MIN: *r = a < b ? a : b; return true;
    case SX_MAX: *r = a > b ? a : b; return true;
    case SX_CONST:
    case SX_VAR:
    case SX_TEXT:
    case SX_SIZE: break;
    }
    return false;
}

/* Products are kept as (..(f1*f2)*..)*const with the factors in order, so that equal products are
 * equal as trees, whatever the order they were multiplied in. */
static const Sx *mul_factor(Ctx *cx, const Sx *prod, const Sx *f)
{
    if (sx_is_const(prod, 0) || sx_is_const(f, 0))
        return sx_const(cx, 0);
    if (sx_is_const(f, 1))
        return prod;
    if (sx_is_const(prod, 1))
        return f;
    int64_t k;
    if (prod->kind == SX_CONST) {
        if (f->kind == SX_CONST && fold(SX_MUL, prod->k, f->k, &k))
            return sx_const(cx, k);
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = f, .b = prod});
    }
    const Sx *last = prod->kind == SX_MUL ? prod->b : prod;
    bool before = f->kind != SX_CONST && (last->kind == SX_CONST || sx_cmp(f, last) < 0);
    if (f->kind == SX_CONST && last->kind == SX_CONST && fold(SX_MUL, last->k, f->k, &k))
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = prod->a, .b = sx_const(cx, k)});
    if (!before)
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = prod, .b = f});
    if (prod->kind != SX_MUL)
        return sx_new(cx, (Sx){.kind = SX_MUL, .a = f, .b = prod});
    return sx_new(cx, (Sx){.kind = SX_MUL, .a = mul_factor(cx, prod->a, f), .b = last});
}

static const Sx *sx_product2(Ctx *cx, const Sx *a, const Sx *b)
{
    if (b->kind == SX_MUL)
        return mul_factor(cx, sx_product2(cx, a, b->a), b->b);
    return mul_factor(cx, a, b);
}

/* a + k with constants collected at the right end. */
static const Sx *add_const(Ctx *cx, const Sx *a, int64_t k)
{
    int64_t sum;
    if (a->kind == SX_ADD && a->b->kind == SX_CONST && fold(SX_ADD, a->b->k, k, &sum))
        return add_const(cx, a->a, sum);
    if (a->kind == SX_SUB && a->b->kind == SX_CONST && fold(SX_SUB, k, a->b->k, &sum))
        return add_const(cx, a->a, sum);
    if (k == 0)
        return a;
    if (k < 0 && k != INT64_MIN)
        return sx_new(cx, (Sx){.kind = SX_SUB, .a = a, .b = sx_const(cx, -k)});
    return sx_new(cx, (Sx){.kind = SX_ADD, .a = a, .b = sx_const(cx, k)});
}

/* The constant that a op b is though a or b is unknown, or the operand that it equals; else NULL.
 */
static const Sx *identity(Ctx *cx, SxKind op, const Sx *a, const Sx *b)
{
    bool same = sx_eq(a, b);
    switch (op) {
    case SX_SUB: return same ? sx_const(cx, 0) : NULL;
    case SX_DIV:
    case SX_CEILDIV: return sx_is_const(b, 1) || sx_is_const(a, 0) ? a : NULL;
    case SX_MOD: return sx_is_const(b, 1) ? sx_const(cx, 0) : sx_is_const(a, 0) ? a : NULL;
    case SX_MIN:
    case SX_MAX:
        if (a->kind == op && (sx_eq(a->a, b) || sx_eq(a->b, b)))
            return a;
        return same ? a : NULL;
    case SX_ADD:
    case SX_MUL:
    case SX_CONST:
    case SX_VAR:
    case SX_TEXT:
    case SX_SIZE: break;
    }
    return NULL;
}

const Sx *sx_op(Ctx *cx, SxKind op, const Sx *a, const Sx *b)
{
    int64_t k;
    if (a->kind == SX_CONST && b->kind == SX_CONST && fold(op, a->k, b->k, &k))
        return sx_const(cx, k);
    if (op == SX_MUL)
        return sx_product2(cx, a, b);
    if (op == SX_ADD && b->kind == SX_CONST)
        return add_const(cx, a, b->k);
    if (op == SX_ADD && a->kind == SX_CONST)
        return add_const(cx, b, a->k);
    if (op == SX_SUB && b->kind == SX_CONST && b->k != INT64_MIN)
        return add_const(cx, a, -b->k);
    const Sx *id = identity(cx, op, a, b);
    return id ? id : sx_new(cx, (Sx){.kind = op, .a = a, .b = b});
}

const Sx *sx_product(Ctx *cx, const Atom *dims, int n)
{
    const Sx *p = sx_const(cx, 1);
    for (int i = 0; i < n; i++)
        p = sx_mul(cx, p, sx_atom(cx, dims[i]));
    return p;
}

void sx_vars(const Sx *a, VarSet *s)
{
    if (!a)
        return;
    if (a->kind == SX_VAR)
        varset_add(s, a->var);
    sx_vars(a->a, s);
    sx_vars(a->b, s);
}

/* The names that sizes have in host code; each function gets those that it uses from rt_size. */
static const char *const size_names[] = {
    [SIZE_GROUP] = "group_size", [SIZE_NUM_GROUPS] = "num_groups",
    [SIZE_TILE] = "tile_size",   [SIZE_MAX_GROUP] = "max_group_size",
    [SIZE_IS_CPU] = "is_cpu",    [SIZE_LOCAL] = "local_memory",
};

const char *size_c_name(SizeId id)
{
    return size_names[id];
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* |a| < 2^bits; 64 if it may be anything. Facts of the device are less than 2^40. */
static int sx_bits(const Sx *a)
{
    enum { FACT_BITS = 40 };
    int bits = 0;
    switch (a->kind) {
    case SX_CONST:
        while (bits < 64 && a->k >> bits != 0 && a->k >> bits != -1)
            bits++;
        return bits + (a->k < 0);
    case SX_SIZE: return FACT_BITS;
    case SX_VAR:
    case SX_TEXT: return 64;
    case SX_ADD:
    case SX_SUB: bits = most(sx_bits(a->a), sx_bits(a->b)) + 1; break;
    case SX_MUL: bits = sx_bits(a->a) + sx_bits(a->b); break;
    case SX_MIN:
    case SX_MAX: bits = most(sx_bits(a->a), sx_bits(a->b)); break;
    case SX_DIV:
    case SX_CEILDIV: bits = sx_bits(a->a); break;
    case SX_MOD: bits = sx_bits(a->b); break;
    }
    return bits > 64 ? 64 : bits;
}

static void sx_print(Out *o, const Sx *a, int level, bool exact);

static void sx_call(Out *o, const char *fn, const Sx *a, bool exact)
{
    out_printf(o, "%s(", fn);
    sx_print(o, a->a, 0, exact);
    out_puts(o, ", ");
    sx_print(o, a->b, 0, exact);
    out_puts(o, ")");
}

/* Prints a; level: how tightly the context binds (0 sum, 1 right of - or term, 2 factor); exact:
 * with the functions for sizes (runtime/scalar.h) where an operator might wrap around. */
static void sx_print(Out *o, const Sx *a, int level, bool exact)
{
    static const struct {
        const char *sign, *fn;
    } ops[] = {[SX_ADD] = {" + ", "mf_size_add"}, [SX_SUB] = {" - ", "mf_size_sub"},
               [SX_MUL] = {" * ", "mf_size_mul"}, [SX_DIV] = {" / ", NULL},
               [SX_MOD] = {" % ", NULL},          [SX_CEILDIV] = {NULL, "mf_size_ceildiv"},
               [SX_MIN] = {NULL, "mf_min_i64"},   [SX_MAX] = {NULL, "mf_max_i64"}};
    switch (a->kind) {
    case SX_CONST:
        if (a->k == INT64_MIN)
            out_puts(o, "(-9223372036854775807L - 1)");
        else
            out_printf(o, a->k < 0 ? "(%lld%s)" : "%lld%s", (long long)a->k,
                       a->k > INT32_MAX || a->k < -INT32_MAX ? "L" : "");
        return;
    case SX_VAR: out_puts(o, var_c_name(a->var)); return;
    case SX_TEXT: out_puts(o, a->text); return;
    case SX_SIZE: out_puts(o, size_names[a->k]); return;
    case SX_MIN:
    case SX_MAX: sx_call(o, ops[a->kind].fn, a, exact); return;
    case SX_CEILDIV:
        if (exact && sx_bits(a->a) > 62) {
            sx_call(o, ops[a->kind].fn, a, exact);
            return;
        }
        out_puts(o, level > 1 ? "((" : "(");
        sx_print(o, a->a, 0, exact);
        out_puts(o, " + ");
        sx_print(o, a->b, 0, exact);
        out_puts(o, " - 1) / ");
        sx_print(o, a->b, 2, exact);
        out_puts(o, level > 1 ? ")" : "");
        return;
    case SX_ADD:
    case SX_SUB:
    case SX_MUL:
        if (exact && sx_bits(a) > 63) {
            sx_call(o, ops[a->kind].fn, a, exact);
            return;
        }
        break;
    case SX_DIV:
    case SX_MOD: break;
    }
    bool sum = a->kind == SX_ADD || a->kind == SX_SUB;
    bool paren = level > (sum ? 0 : 1);
    out_puts(o, paren ? "(" : "");
    sx_print(o, a->a, sum ? 0 : 1, exact);
    out_puts(o, ops[a->kind].sign);
    sx_print(o, a->b, sum ? 1 : 2, exact);
    out_puts(o, paren ? ")" : "");
}

static const char *sx_text_of(const Sx *a, int level, bool exact)
{
    Out o = {0};
    sx_print(&o, a, level, exact);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

const char *sx_c(const Sx *a)
{
    return sx_text_of(a, 0, false);
}

const char *sx_c_factor(const Sx *a)
{
    return sx_text_of(a, 2, false);
}

const char *sx_exact_c(const Sx *a)
{
    return sx_text_of(a, 0, true);
}

/* --- Locations of arrays ---------------------------------------------------------------------- */

ArrLoc loc_permuted(Ctx *cx, Mem *mem, Type t, const int *perm)
{
    ArrLoc l = {mem, sx_const(cx, 0), NEWN(cx->perm, const Sx *, t.rank)};
    const Sx *stride = sx_const(cx, 1);
    for (int k = t.rank - 1; k >= 0; k--) {
        int d = perm ? perm[k] : k;
        l.strides[d] = stride;
        stride = sx_mul(cx, stride, sx_atom(cx, t.dims[d]));
    }
    return l;
}

ArrLoc loc_row_major(Ctx *cx, Mem *mem, Type t)
{
    return loc_permuted(cx, mem, t, NULL);
}

bool loc_perm(Ctx *cx, const ArrLoc *l, Type t, int *perm)
{
    const Sx *stride = sx_const(cx, 1);
    bool used[32] = {false};
    ASSERT(t.rank <= 32);
    for (int k = t.rank - 1; k >= 0; k--) {
        int d = t.rank - 1; /* of dimensions with the same stride, the last: so row-major wins */
        while (d >= 0 && (used[d] || !sx_eq(l->strides[d], stride)))
            d--;
        if (d < 0)
            return false;
        used[d] = true;
        perm[k] = d;
        stride = sx_mul(cx, stride, sx_atom(cx, t.dims[d]));
    }
    return true;
}

bool loc_is_row_major(Ctx *cx, const ArrLoc *l, Type t)
{
    const Sx *stride = sx_const(cx, 1);
    for (int k = t.rank - 1; k >= 0; k--) {
        if (!sx_eq(l->strides[k], stride) && !atom_is_int(t.dims[k], 1))
            return false;
        stride = sx_mul(cx, stride, sx_atom(cx, t.dims[k]));
    }
    return true;
}

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
