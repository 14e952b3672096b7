/* The pass `layout`: constructs read through copies where layout.c found that cheaper. */
#include "memory/layout.h"

typedef struct {
    Var *root, *var;
    const int *perm;
} Made;

/* A list of host statements under construction. */
typedef struct Level Level;
struct Level {
    Level *parent;
    bool loop;     /* the body of a loop */
    bool chosen;   /* a branch of the program's own, not a version: it may never be taken */
    VarSet *bound; /* variables bound here, loop parameters included */
    Stms stms;
    VEC(Made) made; /* manifests here */
};

typedef struct {
    Ctx *cx;
    Layouts layouts;
    VarMap *views;  /* host arrays that are permuted ones -> their Exp */
    VarSet *guards; /* of versions */
} Pass;

static Body *pass_body(Pass *ps, const Body *b, Level *lv);

static Var *find_made(const Level *lv, const Var *root, const int *perm)
{
    for (; lv; lv = lv->parent)
        for (int i = 0; i < lv->made.n; i++)
            if (lv->made.at[i].root == root && perm_eq(lv->made.at[i].perm, perm, root->type.rank))
                return lv->made.at[i].var;
    return NULL;
}

static Var *push_permuted(Pass *ps, Level *lv, ExpKind kind, const int *perm, Var *of, Var *like)
{
    Exp *e = exp_rearrange(ps->cx, like->loc, perm, atom_var(of));
    e->kind = kind;
    Stm s = {.exp = e};
    vec_push(ps->cx->perm, &s.pat, var_like(ps->cx, like));
    vec_push(ps->cx->perm, &lv->stms, s);
    return s.pat.at[0];
}

/* Where a copy of root is made: in front of the loops that do not change it, out of versions in
 * them, too: it is better made once for nothing than in each turn. */
static Level *place_of(Level *lv, const Var *root)
{
    Level *best = lv;
    for (; lv && !lv->chosen && !varset_has(lv->bound, root); lv = lv->parent)
        if (lv->loop)
            best = lv->parent;
    return best;
}

/* root laid out by perm, as far out as it is known. */
static Var *manifest(Pass *ps, Level *lv, Var *root, const int *perm, Loc loc)
{
    Var *v = find_made(lv, root, perm);
    if (v)
        return v;
    lv = place_of(lv, root);
    v = push_permuted(ps, lv, E_MANIFEST, perm, root, root);
    vec_last(&lv->stms).exp->loc = loc;
    vec_push(ps->cx->perm, &lv->made, (Made){root, v, perm});
    return v;
}

/* What is read instead of r's array. Of a permuted array, the array itself is laid out, and
 * permuted again: several views of it share a copy. */
static Var *reread(Pass *ps, Level *lv, const Reread *r, Loc loc)
{
    int rank = r->arr->type.rank;
    int *perm = NEWN(ps->cx->perm, int, rank), *view = NEWN(ps->cx->perm, int, rank);
    Var *root = r->arr;
    for (int k = 0; k < rank; k++) {
        perm[k] = r->perm[k];
        view[k] = k;
    }
    for (const Exp *e; (e = varmap_get(ps->views, root)) != NULL; root = e->rearrange.arr.var)
        for (int k = 0; k < rank; k++) {
            perm[k] = e->rearrange.perm[perm[k]];
            view[k] = e->rearrange.perm[view[k]];
        }
    Var *m = manifest(ps, lv, root, perm, loc);
    return root == r->arr ? m : push_permuted(ps, lv, E_REARRANGE, view, m, r->arr);
}

static Exp *pass_seg(Pass *ps, const Exp *e, Level *lv)
{
    Subst *su = NULL;
    for (int i = 0; i < ps->layouts.rereads.n; i++) {
        const Reread *r = &ps->layouts.rereads.at[i];
        if (r->seg != e)
            continue;
        if (!su)
            su = subst_new(ps->cx);
        subst_add(su, r->arr, atom_var(reread(ps, lv, r, e->loc)));
    }
    return su ? subst_exp(ps->cx, su, e) : (Exp *)e;
}

static Body *turn(Pass *ps, const Exp *loop, Level *lv)
{
    Level in = {.parent = lv, .loop = true, .bound = varmap_new(ps->cx->perm)};
    for (int i = 0; i < loop->loop.params.n; i++)
        varset_add(in.bound, loop->loop.params.at[i]);
    return pass_body(ps, loop->loop.body, &in);
}

static Body *branch(Pass *ps, const Body *b, const Exp *e, Level *lv)
{
    bool version = e->branch.test.var && varset_has(ps->guards, e->branch.test.var);
    Level in = {.parent = lv, .chosen = !version, .bound = varmap_new(ps->cx->perm)};
    return pass_body(ps, b, &in);
}

static Exp *pass_exp(Pass *ps, const Exp *e, Level *lv)
{
    if (exp_is_seg(e))
        return pass_seg(ps, e, lv);
    if (e->kind != E_IF && e->kind != E_LOOP)
        return (Exp *)e;
    Exp *r = exp_new(ps->cx, e->kind, e->loc);
    *r = *e;
    if (e->kind == E_LOOP) {
        r->loop.body = turn(ps, e, lv);
    } else {
        r->branch.then_ = branch(ps, e->branch.then_, e, lv);
        r->branch.else_ = branch(ps, e->branch.else_, e, lv);
    }
    return r;
}

/* NULL: it stays as it is. */
static const int *other_order(const Pass *ps, const Exp *e)
{
    for (int i = 0; i < ps->layouts.reorders.n; i++)
        if (ps->layouts.reorders.at[i].seg == e)
            return ps->layouts.reorders.at[i].order;
    return NULL;
}

static void pass_stm(Pass *ps, const Stm *s, Level *lv)
{
    Stm r = {s->pat, pass_exp(ps, s->exp, lv)};
    if (exp_is_guard(s->exp))
        varset_add(ps->guards, s->pat.at[0]);
    const int *order = other_order(ps, s->exp);
    int first = lv->stms.n;
    if (order)
        order_push(ps->cx, &r, order, &lv->stms);
    else
        vec_push(ps->cx->perm, &lv->stms, r);
    for (int i = first; i < lv->stms.n; i++) {
        const Stm *made = &lv->stms.at[i];
        for (int k = 0; k < made->pat.n; k++)
            varset_add(lv->bound, made->pat.at[k]);
        if (made->exp->kind == E_REARRANGE)
            varmap_put(ps->views, made->pat.at[0], made->exp);
    }
}

static Body *pass_body(Pass *ps, const Body *b, Level *lv)
{
    for (int i = 0; i < b->stms.n; i++)
        pass_stm(ps, &b->stms.at[i], lv);
    Body *r = NEW(ps->cx->perm, Body);
    *r = (Body){lv->stms, b->res};
    return r;
}

Prog *mem_layout(Ctx *cx, const Prog *in)
{
    Prog *out = NEW(cx->perm, Prog);
    out->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Pass ps = {cx, layout_decide(cx, &en, true), varmap_new(cx->perm), varmap_new(cx->perm)};
        Level lv = {.bound = varmap_new(cx->perm)};
        en.body = pass_body(&ps, en.body, &lv);
        vec_push(cx->perm, &out->entries, en);
    }
    return out;
}
