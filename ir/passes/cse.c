/* Common subexpressions: a statement whose expression was already computed by one that is in scope
 * is dropped, and its results replaced.
 *
 * Expressions are compared by their text, with the variables bound inside numbered in order, so
 * that equal maps are found too. Fresh arrays are merged only if neither is ever consumed, and not
 * across the border of a kernel (SEG dialect), where they would change their place in memory.
 * Thresholds are compared once each and never merged.
 *
 * Before fusion only scalars and views are merged: then SOACs that read the same array, by a view
 * that each made for itself, are seen to do so, and so are equal widths. An array that is computed
 * twice stays so, since each may become part of another consumer.
 *
 * Before: well-formed. After: well-formed; what was merged is gone. */
#include "ir/passes/simplify.h"

#include "base/intern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Known Known;
struct Known {
    Known *next;
    uint64_t hash;
    const Exp *exp;
    const char *key; /* its text, interned; NULL until it is compared */
    const Vars *pat;
    int kernel; /* depth of mapnests where it was computed */
};

enum { N_BUCKETS = 4096 };

typedef struct {
    Simp S;         /* replacements and binders */
    unsigned forms; /* traits of the forms that are merged; 0: all */
    Known *known[N_BUCKETS];
    VEC(Known **) entered; /* buckets, for leaving scopes */
    int kernel;
} Cse;

/* --- Keys ----------------------------------------------------------------------------------- */

typedef struct {
    VarMap *number; /* Var -> its number + 1 */
    int n;
} Bound;

static void bound_body(void *env, Body *b);

static void bound_var(void *env, Var *v)
{
    Bound *bd = env;
    varmap_put(bd->number, v, (const void *)(uintptr_t)++bd->n);
}

static void bound_lambda(void *env, Lambda *l)
{
    bound_body(env, l->body);
}

static void bound_in_exp(Bound *bd, const Exp *e)
{
    ExpVisitor v = {bd, NULL, bound_var, bound_body, bound_lambda};
    exp_visit(e, &v);
}

static void bound_body(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            bound_var(env, b->stms.at[i].pat.at[k]);
        bound_in_exp(env, b->stms.at[i].exp);
    }
}

/* A copy of e whose bound variables are named by their numbers; free variables stay. The ids of the
 * copies are negative, so that they cannot be taken for others'. */
typedef struct {
    Ctx *cx;
    Bound *bd;
    VarMap *named;
} Naming;

static Var *named_var(Naming *n, const Var *v)
{
    Var *w = varmap_get(n->named, v);
    uintptr_t k = (uintptr_t)varmap_get(n->bd->number, v);
    if (!w && k) {
        w = NEW(n->cx->perm, Var);
        *w = *v;
        w->base = "";
        w->id = -(int)k;
        varmap_put(n->named, v, w);
        Type t = {v->type.elem, v->type.rank, NEWN(n->cx->perm, Atom, v->type.rank + 1)};
        for (int i = 0; i < t.rank; i++) {
            Atom a = v->type.dims[i];
            t.dims[i] = a.var && named_var(n, a.var) ? atom_var(named_var(n, a.var)) : a;
        }
        w->type = t;
    }
    return w;
}

static Atom name_atom(void *env, Atom a)
{
    Var *w = a.var ? named_var(env, a.var) : NULL;
    return w ? atom_var(w) : a;
}

static Var *name_binder(void *env, Var *v)
{
    Var *w = named_var(env, v);
    return w ? w : v;
}

static Body *name_body(void *env, Body *b);

static Vars name_vars(Naming *n, const Vars *vs)
{
    Vars r = {0};
    for (int i = 0; i < vs->n; i++) {
        Var *v = name_binder(n, vs->at[i]);
        vec_push(n->cx->perm, &r, v);
    }
    return r;
}

static Lambda *name_lambda(void *env, Lambda *l)
{
    Naming *n = env;
    return lambda_new(n->cx, name_vars(n, &l->params), name_body(n, l->body));
}

static Exp *name_exp(Naming *n, const Exp *e)
{
    ExpMapper m = {n, name_atom, name_binder, name_body, name_lambda};
    return exp_map_parts(n->cx, e, &m);
}

static Body *name_body(void *env, Body *b)
{
    Naming *n = env;
    Bld bl = bld_new(n->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = {name_vars(n, &b->stms.at[i].pat), name_exp(n, b->stms.at[i].exp)};
        bld_stm(&bl, s);
    }
    Atoms res = {0};
    for (int k = 0; k < b->res.n; k++)
        vec_push(n->cx->perm, &res, name_atom(n, b->res.at[k]));
    return bld_body(&bl, res);
}

/* Operands of commutative operations in one order. */
static void order_operands(Ctx *cx, Exp *e)
{
    if (e->kind != E_PRIM || e->prim.args.n != 2 || !simp_commutes(e->prim.op, e->prim.type))
        return;
    const Atom *a = e->prim.args.at;
    if (a[0].var && a[1].var && a[0].var->id > a[1].var->id) {
        Atoms turned = {0};
        vec_push(cx->perm, &turned, a[1]);
        vec_push(cx->perm, &turned, a[0]);
        e->prim.args = turned;
    }
}

/* The text of e; a bounds check is no difference: where one of two succeeds, so does the other. */
static const char *key_of(const Exp *e)
{
    Arena *mem = arena_new();
    Ctx cx = {.perm = mem, .scratch = mem};
    Bound bd = {varmap_new(mem), 0};
    bound_in_exp(&bd, e);
    Naming n = {&cx, &bd, varmap_new(mem)};
    Exp *named = name_exp(&n, e);
    named->attrs = 0;
    order_operands(&cx, named);
    if (named->kind == E_INDEX)
        named->index.safe = true;
    Out o = {0};
    ir_print_exp(&o, named);
    const char *key = intern(o.text);
    out_free(&o);
    arena_free(mem);
    return key;
}

/* --- The pass ------------------------------------------------------------------------------- */

static Known **bucket(Cse *C, uint64_t hash)
{
    return &C->known[(hash ^ hash >> 32) % N_BUCKETS];
}

static void hash_atom(void *env, Atom a)
{
    uint64_t bits = a.var ? (uint64_t)(uintptr_t)a.var >> 4 : (uint64_t)a.c.i;
    *(uint64_t *)env += (bits + 1) * 0x9e3779b97f4a7c15u;
}

/* Equal for expressions of the same text, and much cheaper: the form with the operands that no part
 * of it binds, in any order. Texts are made only of expressions whose hashes are equal. */
static uint64_t hash_of(const Exp *e)
{
    uint64_t h = (uint64_t)e->kind * 0x100000001b3u;
    ExpVisitor v = {.env = &h, .atom = hash_atom};
    if (exp_is_seg(e))
        hash_atom(&h, e->seg.nest.at[0].width);
    else if (exp_is_soac(e))
        hash_atom(&h, e->soac.width);
    else if (e->kind == E_IF)
        hash_atom(&h, e->branch.test);
    else if (e->kind != E_LOOP)
        exp_visit(e, &v);
    return h;
}

static void leave(Cse *C, int mark)
{
    while (C->entered.n > mark) {
        Known **b = C->entered.at[--C->entered.n];
        *b = (*b)->next;
    }
}

/* Results that do not live in memory of their own: scalars and views. */
static bool no_memory(const Stm *s)
{
    ExpKind k = s->exp->kind;
    if (k == E_INDEX || k == E_REARRANGE || k == E_ATOM)
        return true;
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            return false;
    return true;
}

static bool may_merge(Cse *C, const Stm *s, const Known *k)
{
    if (k->pat->n != s->pat.n || (k->kernel != C->kernel && !no_memory(s)))
        return false;
    for (int i = 0; i < s->pat.n; i++) {
        const Var *x = s->pat.at[i], *y = k->pat->at[i];
        if (x->type.elem != y->type.elem || x->type.rank != y->type.rank)
            return false;
        if (s->exp->kind != E_INDEX && s->exp->kind != E_REARRANGE &&
            (varset_has(C->S.unstable, x) || varset_has(C->S.unstable, y)))
            return false;
    }
    return true;
}

/* What is known by the text of e; NULL if nothing is. */
static const Known *known_as(Cse *C, const Stm *s, const Exp *e, uint64_t hash, const char **key)
{
    for (Known *k = *bucket(C, hash); k; k = k->next) {
        if (k->hash != hash)
            continue;
        *key = *key ? *key : key_of(e);
        k->key = k->key ? k->key : key_of(k->exp);
        if (k->key == *key && may_merge(C, s, k))
            return k;
    }
    return NULL;
}

static bool worth_a_key(Cse *C, const Exp *e)
{
    if (C->forms && !exp_is(e, C->forms))
        return false;
    if (e->kind == E_SUFF || e->kind == E_SHARED || e->kind == E_EXCHANGE || e->kind == E_ATOM ||
        e->kind == E_UPDATE || e->kind == E_SCRATCH || exp_has_effect(e))
        return false;
    return exp_consumes(C->S.cx, e).n == 0;
}

static Body *cse_body(void *env, Body *b);

static Atom cse_atom(void *env, Atom a)
{
    return simp_atom(&((Cse *)env)->S, a);
}

static Var *cse_binder(void *env, Var *v)
{
    return simp_binder(&((Cse *)env)->S, v);
}

static Lambda *cse_lambda(void *env, Lambda *l)
{
    Cse *C = env;
    Vars params = simp_binders(&C->S, &l->params);
    return lambda_new(C->S.cx, params, cse_body(C, l->body));
}

static void cse_stm(Cse *C, const Stm *s, Bld *bl)
{
    ExpMapper m = {C, cse_atom, cse_binder, cse_body, cse_lambda};
    C->kernel += exp_is_seg(s->exp);
    Exp *e = exp_map_parts(C->S.cx, s->exp, &m);
    C->kernel -= exp_is_seg(s->exp);
    bool keyed = worth_a_key(C, e);
    uint64_t hash = keyed ? hash_of(e) : 0;
    const char *key = NULL;
    const Known *same = keyed ? known_as(C, s, e, hash, &key) : NULL;
    if (same) {
        for (int i = 0; i < s->pat.n; i++)
            simp_replace(&C->S, s->pat.at[i], atom_var(same->pat->at[i]));
        return;
    }
    Stm r = {simp_binders(&C->S, &s->pat), e};
    bld_stm(bl, r);
    if (!keyed)
        return;
    Known *k = NEW(C->S.cx->perm, Known), **b = bucket(C, hash);
    *k = (Known){*b, hash, e, key, arena_memdup(C->S.cx->perm, &r.pat, sizeof r.pat), C->kernel};
    *b = k;
    vec_push(C->S.cx->perm, &C->entered, b);
}

static Body *cse_body(void *env, Body *b)
{
    Cse *C = env;
    int mark = C->entered.n;
    Bld bl = bld_new(C->S.cx);
    for (int i = 0; i < b->stms.n; i++)
        cse_stm(C, &b->stms.at[i], &bl);
    leave(C, mark);
    return bld_body(&bl, simp_atoms(&C->S, &b->res));
}

static Prog *cse(Ctx *cx, const Prog *in, unsigned forms)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    Cse *C = NEW(cx->perm, Cse);
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        *C = (Cse){0}; /* large, and entries may be many */
        C->S.cx = cx;
        C->forms = forms;
        C->S.dialect = in->dialect;
        C->S.repl = varmap_new(cx->perm);
        C->S.unstable = alias_consumed(cx, &en);
        en.body = cse_body(C, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}

Prog *pass_cse(Ctx *cx, const Prog *in)
{
    return cse(cx, in, 0);
}

Prog *pass_cse_views(Ctx *cx, const Prog *in)
{
    return cse(cx, in, F_SCALAR | F_VIEW);
}
