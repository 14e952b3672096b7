/* Do the cases of each match cover all values, and does each cover one that those before do not?
 * Patterns elsewhere must cover all values themselves. By usefulness (Maranget, "Warnings for
 * pattern matching", 2007): a pattern is useful after others if there is a value that it matches
 * and they do not; that value is what messages show. Runs on a definition whose types are final. */
#include "frontend/check/check.h"

#include "base/intern.h"

#include <inttypes.h>

typedef VEC(const Pat *) Row; /* NULL: any value */
typedef VEC(Row) Rows;

/* A value of which some parts do not matter. */
typedef struct {
    const char *text;
    bool loose; /* needs brackets inside of a constructor */
} Example;
typedef VEC(Example) Examples;

typedef struct {
    Ck *ck;
    int64_t work;
    bool gave_up;
} Exhaust;

/* Cells of tables: what a hundred cases of a dozen columns do not reach unless they are made for
 * it. */
enum { MAX_WORK = 4000000 };

/* --- Heads ---------------------------------------------------------------------------------- */

/* What a pattern says of the value itself: a constructor, or a number. */
typedef struct {
    const char *constr;
    int64_t i;
    double f;
} Head;

/* The pattern without names and types; NULL if it matches all. */
static const Pat *bare(const Pat *p)
{
    while (p && p->kind == P_ASCRIBE)
        p = p->pat;
    return p && p->kind != P_VAR && p->kind != P_WILD ? p : NULL;
}

static Head head_of(const Pat *p)
{
    Head h = {0};
    if (p->kind == P_CONSTR)
        h.constr = p->name;
    if (p->kind != P_LIT)
        return h;
    bool minus = p->lit->kind == AE_APP;
    const AExp *e = minus ? p->lit->app.args.at[0] : p->lit;
    PrimType s = e->lit.scalar;
    if (prim_is_float(s)) {
        h.f = minus ? -e->lit.fval : e->lit.fval;
        return h;
    }
    uint64_t v = minus ? 0 - e->lit.bits : e->lit.bits;
    h.i = prim_wrap(s, (int64_t)v);
    return h;
}

static bool same_head(Head a, Head b)
{
    return a.constr == b.constr && a.i == b.i && a.f == b.f;
}

/* The parts of values of type t, whose head is h. */
static const ATypes *parts_of(const AType *t, Head h)
{
    static const ATypes none = {0};
    return !type_is_composite(t) ? &none
           : t->kind == TY_SUM   ? &t->elems.at[type_part(t, h.constr)]->elems
                                 : &t->elems;
}

/* The pattern of part i of such a value. */
static const Pat *part(const Pat *p, const AType *t, int i)
{
    if (p->kind == P_RECORD) {
        for (int k = 0; k < p->elems.n; k++)
            if (p->names.at[k] == t->names.at[i])
                return bare(p->elems.at[k]);
        return NULL;
    }
    return i < p->elems.n ? bare(p->elems.at[i]) : NULL;
}

/* --- Tables --------------------------------------------------------------------------------- */

/* Whether the row matches values whose first column has that head; then *out has the parts of the
 * column in its place. */
static bool row_under(Exhaust *x, const Row *r, const AType *t, Head h, int n, Row *out)
{
    const Pat *p = r->at[0];
    bool scalar = t->kind == TY_SUM || t->kind == TY_SCALAR;
    if (p && scalar && !same_head(head_of(p), h))
        return false;
    *out = (Row){0};
    for (int i = 0; i < n; i++)
        vec_push(x->ck->a, out, p ? part(p, t, i) : NULL);
    for (int i = 1; i < r->n; i++)
        vec_push(x->ck->a, out, r->at[i]);
    return true;
}

static Examples find(Exhaust *x, const Rows *rows, const ATypes *types, const Row *q);

static Example example_of(Exhaust *x, const AType *t, Head h, const Example *parts, int n)
{
    Arena *a = x->ck->a;
    const char *s = t->kind == TY_SUM      ? arena_printf(a, "#%s", h.constr)
                    : t->kind == TY_RECORD ? "{"
                                           : "(";
    bool any = true;
    for (int i = 0; i < n; i++) {
        const Example *e = &parts[i];
        any = any && e->text[0] == '_';
        if (t->kind == TY_SUM)
            s = arena_printf(a, e->loose ? "%s (%s)" : "%s %s", s, e->text);
        else if (t->kind == TY_RECORD)
            s = arena_printf(a, "%s%s%s = %s", s, i ? ", " : "", t->names.at[i], e->text);
        else
            s = arena_printf(a, "%s%s%s", s, i ? ", " : "", e->text);
    }
    if (t->kind == TY_SUM)
        return (Example){s, n > 0};
    return (Example){any ? "_" : arena_printf(a, "%s%s", s, t->kind == TY_RECORD ? "}" : ")"),
                     false};
}

static Example example_number(Exhaust *x, const AType *t, Head h)
{
    if (prim_is_float(t->scalar))
        return (Example){"_", false};
    if (t->scalar == T_BOOL)
        return (Example){h.i ? "true" : "false", false};
    return (Example){arena_printf(x->ck->a, "%" PRId64, h.i), h.i < 0};
}

/* A value that q matches and no row does, whose first column has head h. */
static Examples find_under(Exhaust *x, const Rows *rows, const ATypes *types, const Row *q, Head h)
{
    Arena *a = x->ck->a;
    const AType *t = type_deref(types->at[0]);
    const ATypes *parts = parts_of(t, h);
    Rows under = {0};
    ATypes inner = {0};
    Row r, wanted;
    if (!row_under(x, q, t, h, parts->n, &wanted))
        return (Examples){0};
    for (int i = 0; i < rows->n; i++) {
        if (!row_under(x, &rows->at[i], t, h, parts->n, &r))
            continue;
        vec_push(a, &under, r);
        x->work += r.n + 1;
    }
    vec_append(a, &inner, parts);
    for (int i = 1; i < types->n; i++)
        vec_push(a, &inner, types->at[i]);
    Examples found = find(x, &under, &inner, &wanted), out = {0};
    if (!found.n)
        return found;
    bool number = t->kind == TY_SCALAR;
    Example first = number ? example_number(x, t, h) : example_of(x, t, h, found.at, parts->n);
    vec_push(a, &out, first);
    for (int i = parts->n; i < found.n; i++)
        vec_push(a, &out, found.at[i]);
    return out;
}

typedef VEC(Head) Heads;

static bool has_head(const Heads *hs, Head h)
{
    for (int i = 0; i < hs->n; i++)
        if (same_head(hs->at[i], h))
            return true;
    return false;
}

/* The heads in the first column, each once. */
static Heads heads_in(Exhaust *x, const Rows *rows)
{
    Heads hs = {0};
    for (int i = 0; i < rows->n; i++) {
        const Pat *p = rows->at[i].at[0];
        if (p && !has_head(&hs, head_of(p)))
            vec_push(x->ck->a, &hs, head_of(p));
    }
    return hs;
}

/* One that is not among them; false if they are all that the type has. */
static bool other_head(const AType *t, const Heads *hs, Head *out)
{
    bool is_sum = t->kind == TY_SUM;
    int bits = is_sum ? 32 : prim_bits(t->scalar);
    if (!is_sum && prim_is_float(t->scalar)) {
        *out = (Head){.f = 0.5};
        while (has_head(hs, *out))
            out->f += 1;
        return true;
    }
    int64_t most = is_sum                      ? t->elems.n - 1
                   : t->scalar == T_BOOL       ? 1
                   : prim_is_signed(t->scalar) ? INT64_MAX >> (64 - bits)
                   : bits == 64                ? INT64_MAX
                                               : ((int64_t)1 << bits) - 1;
    for (int64_t i = 0; i <= hs->n && i <= most; i++) {
        *out = is_sum ? (Head){.constr = t->names.at[i]} : (Head){.i = i};
        if (!has_head(hs, *out))
            return true;
    }
    for (int64_t i = -1; !is_sum && prim_is_signed(t->scalar) && i >= -hs->n && i >= -most - 1;
         i--) {
        *out = (Head){.i = i};
        if (!has_head(hs, *out))
            return true;
    }
    return false;
}

/* As find, where no pattern looks into the first column. */
static Examples find_beside(Exhaust *x, const Rows *rows, const ATypes *types, const Row *q)
{
    Arena *a = x->ck->a;
    Rows beside = {0};
    ATypes rest = {types->at + 1, types->n - 1, types->n - 1};
    Row wanted = {q->at + 1, q->n - 1, q->n - 1};
    for (int i = 0; i < rows->n; i++) {
        const Row *r = &rows->at[i];
        vec_push(a, &beside, ((Row){r->at + 1, r->n - 1, r->n - 1}));
    }
    Examples found = find(x, &beside, &rest, &wanted), out = {0};
    if (!found.n)
        return found;
    vec_push(a, &out, ((Example){"_", false}));
    vec_append(a, &out, &found);
    return out;
}

/* Whether a row matches all values, as that of a last `case _` does. */
static bool all_covered(const Rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        int k = 0;
        while (k < rows->at[i].n && !rows->at[i].at[k])
            k++;
        if (k == rows->at[i].n)
            return true;
    }
    return false;
}

/* A value that q matches and no row does: an example for each column and one more at the end; none
 * if there is no such value. */
static Examples find(Exhaust *x, const Rows *rows, const ATypes *types, const Row *q)
{
    Examples all = {0};
    if (++x->work > MAX_WORK)
        x->gave_up = true;
    if (x->gave_up || all_covered(rows))
        return all;
    if (!rows->n) {
        for (int i = 0; i <= types->n; i++)
            vec_push(x->ck->a, &all, ((Example){"_", false}));
        return all;
    }
    const AType *t = type_deref(types->at[0]);
    if (q->at[0])
        return find_under(x, rows, types, q, head_of(q->at[0]));
    Heads hs = heads_in(x, rows);
    if (!hs.n)
        return find_beside(x, rows, types, q);
    if (t->kind != TY_SUM && t->kind != TY_SCALAR)
        return find_under(x, rows, types, q, (Head){0});
    Head other;
    if (other_head(t, &hs, &other)) {
        all = find_under(x, rows, types, q, other);
        if (all.n)
            return all;
    }
    for (int i = 0; i < hs.n && !all.n; i++)
        all = find_under(x, rows, types, q, hs.at[i]);
    return all;
}

/* --- Definitions ---------------------------------------------------------------------------- */

/* A value of type t that q (NULL: any) matches and the patterns do not; NULL if there is none. */
static const char *uncovered(Exhaust *x, const Rows *rows, AType *t, const Pat *q)
{
    x->work = 0;
    x->gave_up = false;
    ATypes types = {&t, 1, 1};
    const Pat *first = bare(q);
    Row r = {&first, 1, 1};
    ArenaMark mark = arena_mark(x->ck->a); /* each case of a long match has its tables */
    Examples found = find(x, rows, &types, &r);
    const char *text = found.n ? intern(found.at[0].text) : NULL;
    arena_reset(x->ck->a, mark);
    return text;
}

static void add_row(Exhaust *x, Rows *rows, const Pat *p)
{
    Row r = {0};
    vec_push(x->ck->a, &r, bare(p));
    vec_push(x->ck->a, rows, r);
}

/* The `match` that takes the cases behind the expression for its own, or NULL. */
static const AExp *match_at_end(const AExp *e)
{
    while (e && !e->parens && e->kind != AE_MATCH)
        e = e->kind == AE_LET      ? e->let.body
            : e->kind == AE_LETFUN ? e->letfun.body
            : e->kind == AE_LAMBDA ? e->lambda.body
            : e->kind == AE_LOOP   ? e->loop.body
            : e->kind == AE_IF     ? e->cond.els
            : e->kind == AE_ATTR   ? e->attr.e
                                   : NULL;
    return e && !e->parens ? e : NULL;
}

/* Adds the pattern of a case to those before; false if they cover it. */
static bool add_case(Exhaust *x, Rows *rows, AType *t, const Pat *p)
{
    bool more = uncovered(x, rows, t, p) || x->gave_up;
    if (more)
        add_row(x, rows, p);
    return more;
}

/* Points at the first case that is too much in a match inside of the last one: it may be meant for
 * the match outside. */
static void note_taken(Exhaust *x, const Case *last)
{
    const AExp *inner = match_at_end(last->body);
    Rows rows = {0};
    for (int i = 0; inner && i < inner->match.cases.n; i++) {
        const Pat *p = inner->match.cases.at[i].pat;
        if (add_case(x, &rows, inner->match.e->type, p))
            continue;
        ck_note(x->ck, p->loc,
                "this case is one of the `match` inside of the case above; brackets around that "
                "would end it");
        return;
    }
}

static void check_cases(Exhaust *x, const AExp *e)
{
    Rows rows = {0};
    AType *t = e->match.e->type;
    for (int i = 0; i < e->match.cases.n; i++) {
        const Pat *p = e->match.cases.at[i].pat;
        if (!add_case(x, &rows, t, p))
            diag_warn(p->loc, "this case is never reached: those before cover it");
    }
    const char *missing = uncovered(x, &rows, t, NULL);
    if (missing) {
        ck_error(x->ck, e->loc, "not all cases are covered; missing: `%s`", missing);
        note_taken(x, &vec_last(&e->match.cases));
    } else if (x->gave_up)
        diag_limit(e->loc,
                   "the cases of this match are too involved to be compared; match in steps");
}

static void check_pattern(Exhaust *x, const Pat *p)
{
    Rows rows = {0};
    add_row(x, &rows, p);
    const char *missing = uncovered(x, &rows, p->type, NULL);
    if (missing)
        ck_error(x->ck, p->loc,
                 "this pattern does not match all values; missing: `%s`; use `match`", missing);
}

static void visit_pat(void *env, Pat **p)
{
    check_pattern(env, *p);
}

static void visit(void *env, AExp *e);

static void visit_exp(void *env, AExp **e)
{
    visit(env, *e);
}

static void visit(void *env, AExp *e)
{
    if (e->kind == AE_MATCH) {
        check_cases(env, e);
        aexp_children(e, visit, env);
    } else {
        aexp_parts(e, &(TreeParts){.env = env, .exp = visit_exp, .pat = visit_pat});
    }
}

void exhaust_def(Ck *ck, const Def *d)
{
    Exhaust x = {.ck = ck};
    def_parts((Def *)d, &(TreeParts){.env = &x, .exp = visit_exp, .pat = visit_pat});
}
