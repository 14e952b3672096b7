/* What iterations of a map do alike in each turn of a loop is done once before the map, for all
 * turns.
 *
 *     map (\x -> loop (r = x) for k < n do      let ss = map (\k -> scan op (f k as)) (iota n)
 *                  let s = scan op (f k as)  =>  in map (\x -> loop (r = x) for k < n do
 *                  in g s r) xs                               g ss[k] r) xs
 *
 * Reverse mode then adds up what all iterations say of ss, and goes through the scan once; as it
 * was, each iteration would do so. Those are sums of arrays for each turn: of arrays no larger than
 * what the loop carries, which reverse mode keeps for each turn anyway, and only where there is
 * more than elements by themselves.
 *
 * SOAC dialect, in functions that VJP is asked of. Before, after: well-formed. */
#include "ir/chains/alike.h"

typedef struct {
    AlikeAt at;
    bool changed;
} Once;

/* Where the walk is. */
typedef struct {
    VarSet *inside; /* what is bound in the function of the innermost map; NULL: there is none, or a
                       branch around */
    Bld *before;    /* that map's place */
} Around;

static Body *once_body(Once *O, const Body *b, const Around *at);

static void inside_add(const Around *at, const Vars *vs)
{
    for (int k = 0; at->inside && k < vs->n; k++)
        varset_add(at->inside, vs->at[k]);
}

static bool is_fold_or_loop(const Exp *e)
{
    return e->kind == E_LOOP || (exp_is_soac(e) && e->kind != E_MAP);
}

static bool any_work(const Stms *ss)
{
    for (int i = 0; i < ss->n; i++)
        if (exp_any(ss->at[i].exp, is_fold_or_loop))
            return true;
    return false;
}

/* Is each size of t that of a dimension of its own of `large`? */
static bool within(Type t, Type large)
{
    bool used[64] = {false};
    for (int d = 0; d < t.rank; d++) {
        int k = 0;
        while (k < large.rank && (used[k] || !atom_eq(large.dims[k], t.dims[d])))
            k++;
        if (k == large.rank)
            return false;
        used[k] = true;
    }
    return true;
}

/* --- What reverse mode keeps ---------------------------------------------------------------- */

/* What is made of what is in `from` is added to it. */
typedef struct {
    VarSet *from;
    bool more; /* something was added */
} Spread;

static void spread_to(Spread *s, const Vars *vs, bool all)
{
    for (int k = 0; all && k < vs->n; k++) {
        s->more |= !varset_has(s->from, vs->at[k]);
        varset_add(s->from, vs->at[k]);
    }
}

static bool any_from(const Spread *s, const Atoms *as)
{
    for (int k = 0; k < as->n; k++)
        if (as->at[k].var && varset_has(s->from, as->at[k].var))
            return true;
    return false;
}

static void spread_body(void *env, Body *b);

static void spread_lambda(void *env, Lambda *l)
{
    spread_body(env, l->body);
}

static void spread_body(void *env, Body *b)
{
    Spread *s = env;
    ExpVisitor inside = {.env = env, .body = spread_body, .lambda = spread_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (exp_is_soac(e)) {
            bool folds = any_from(s, &e->soac.arrs) || any_from(s, &e->soac.nes);
            for (int k = 0; e->soac.fn && k < e->soac.fn->params.n && k < e->soac.arrs.n; k++)
                if (e->soac.arrs.at[k].var && varset_has(s->from, e->soac.arrs.at[k].var))
                    spread_to(s, &(Vars){.at = &e->soac.fn->params.at[k], .n = 1}, true);
            if (e->soac.op)
                spread_to(s, &e->soac.op->params, folds);
        } else if (e->kind == E_LOOP) {
            bool carries = any_from(s, &e->loop.inits) || any_from(s, &e->loop.body->res);
            spread_to(s, &e->loop.params, carries);
        }
        exp_visit(e, &inside);
        spread_to(s, &b->stms.at[i].pat, exp_uses_any(e, s->from));
    }
}

/* All that is made of vs in the loop's turn, these included. */
static VarSet *made_of(Ctx *cx, const Exp *loop, const Vars *vs)
{
    Spread s = {varmap_new(cx->perm), true};
    for (int k = 0; k < vs->n; k++)
        varset_add(s.from, vs->at[k]);
    while (s.more) {
        s.more = false;
        spread_body(&s, loop->loop.body);
    }
    return s.from;
}

/* Is there a number in b whose derivative takes what is in `carried`: not linear in it, or a
 * product with what is in `alike`? */
typedef struct {
    const VarSet *carried, *alike;
    bool found;
} Needs;

static bool is_in(const VarSet *s, Atom a)
{
    return a.var && varset_has(s, a.var);
}

static bool needs(const Needs *n, const Exp *e)
{
    if (e->kind != E_PRIM || !prim_is_float(e->prim.type))
        return false;
    const Atoms *as = &e->prim.args;
    switch ((int)e->prim.op) {
    case OP_ADD:
    case OP_SUB:
    case OP_NEG:
    case OP_MIN:
    case OP_MAX: return false;
    case OP_MUL:
        for (int k = 0; k < 2; k++)
            if (is_in(n->carried, as->at[k]) &&
                (is_in(n->carried, as->at[1 - k]) || is_in(n->alike, as->at[1 - k])))
                return true;
        return false;
    case OP_DIV:
        return is_in(n->carried, as->at[1]) ||
               (is_in(n->carried, as->at[0]) && is_in(n->alike, as->at[1]));
    }
    for (int k = 0; k < as->n; k++)
        if (is_in(n->carried, as->at[k]))
            return true;
    return false;
}

static void needs_body(void *env, Body *b);

static void needs_lambda(void *env, Lambda *l)
{
    needs_body(env, l->body);
}

static void needs_body(void *env, Body *b)
{
    Needs *n = env;
    ExpVisitor inside = {.env = env, .body = needs_body, .lambda = needs_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        n->found |= needs(n, b->stms.at[i].exp);
        exp_visit(b->stms.at[i].exp, &inside);
    }
}

/* Is what is given to all iterations no more, but for a factor, than what each of them keeps? */
static bool kept_anyway(Ctx *cx, const Exp *loop, const Vars *given)
{
    enum { MOST_GIVEN = 4 /* as large as one that is kept */ };
    const VarSet *alike = made_of(cx, loop, given);
    Vars kept = {0};
    for (int k = 0; k < loop->loop.params.n; k++) {
        Var *p = loop->loop.params.at[k];
        Needs n = {.alike = alike};
        if (p->type.rank == 0 || !prim_is_float(p->type.elem))
            continue;
        n.carried = made_of(cx, loop, &(Vars){.at = &p, .n = 1});
        needs_body(&n, loop->loop.body);
        if (n.found)
            vec_push(cx->perm, &kept, p);
    }
    int as_large = 0;
    for (int i = 0; i < given->n; i++) {
        int k = 0;
        while (k < kept.n && !within(given->at[i]->type, kept.at[k]->type))
            k++;
        if (k == kept.n)
            return false;
        as_large += given->at[i]->type.rank == kept.at[k]->type.rank;
    }
    return as_large <= MOST_GIVEN * kept.n;
}

/* The loop, without what its turns do alike, which `place` gets; else as it is. */
static Exp *once_loop(Once *O, Exp *e, const Around *place)
{
    Ctx *cx = O->at.cx;
    Alike p = {0};
    if (!place->inside || e->loop.kind != LOOP_FOR || e->attrs || e->loop.i->type.elem != T_I64 ||
        atom_variant(place->inside, e->loop.bound) || !alike_turns(&O->at, place->inside, e, &p) ||
        !any_work(&p.common) || !kept_anyway(cx, e, &p.given))
        return e;
    Bld body = bld_new(cx);
    Atom n = bld_binop(place->before, e->loc, OP_MAX, atom_i64(0), e->loop.bound);
    Exp *map = alike_map(&O->at, e, &p, atom_i64(0), n, place->before);
    Atoms all = bld_exps(place->before, "alike", map);
    Atom k = atom_var(e->loop.i);
    for (int i = 0; i < all.n; i++)
        bld_define(&body, p.given.at[i], exp_index(cx, e->loc, all.at[i], &k, 1, true));
    vec_append(cx->perm, &body.stms, &p.stay);
    Exp *r = exp_new(cx, E_LOOP, e->loc);
    *r = *e;
    r->loop.bound = n; /* so that sizes are seen to be the same */
    r->loop.body = bld_body(&body, e->loop.body->res);
    O->changed = true;
    return r;
}

static Exp *once_map(Once *O, const Exp *e, Bld *before)
{
    Exp *r = exp_new(O->at.cx, e->kind, e->loc);
    Around at = {varmap_new(O->at.cx->perm), before};
    *r = *e;
    inside_add(&at, &e->soac.fn->params);
    r->soac.fn = lambda_new(O->at.cx, e->soac.fn->params, once_body(O, e->soac.fn->body, &at));
    return r;
}

static Exp *once_exp(Once *O, const Exp *e, const Around *at, Bld *before)
{
    static const Around nowhere;
    if (e->kind == E_MAP)
        return once_map(O, e, before);
    Exp *r = exp_new(O->at.cx, e->kind, e->loc);
    *r = *e;
    if (e->kind == E_LOOP) {
        inside_add(at, &e->loop.params);
        if (e->loop.kind == LOOP_FOR && at->inside)
            varset_add(at->inside, e->loop.i);
        r->loop.body = once_body(O, e->loop.body, at);
    } else if (e->kind == E_IF) {
        r->branch.then_ = once_body(O, e->branch.then_, &nowhere);
        r->branch.else_ = once_body(O, e->branch.else_, &nowhere);
    } else {
        return (Exp *)(uintptr_t)e;
    }
    return r;
}

static Body *once_body(Once *O, const Body *b, const Around *at)
{
    Bld bl = bld_new(O->at.cx);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        Exp *e = (Exp *)(uintptr_t)s->exp;
        if (e->kind == E_LOOP)
            e = once_loop(O, e, at);
        e = once_exp(O, e, at, &bl);
        bld_stm(&bl, (Stm){s->pat, e});
        inside_add(at, &s->pat);
    }
    return bld_body(&bl, b->res);
}

static void definitions(void *env, Body *b);

static void definitions_of(void *env, Lambda *l)
{
    definitions(env, l->body);
}

static void definitions(void *env, Body *b)
{
    ExpVisitor inner = {.env = env, .body = definitions, .lambda = definitions_of};
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (s->pat.n == 1)
            varmap_put(env, s->pat.at[0], s->exp);
        exp_visit(s->exp, &inner);
    }
}

Lambda *once_turns(Ctx *cx, const Entry *en, Lambda *fn)
{
    static const Around nowhere;
    VarMap *defs = varmap_new(cx->perm);
    definitions(defs, en->body);
    Once O = {{cx, defs, alias_consumed(cx, en)}, false};
    Body *b = once_body(&O, fn->body, &nowhere);
    return O.changed ? lambda_new(cx, fn->params, b) : fn;
}
