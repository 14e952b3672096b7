/* What the host's SOACs go over is shared out over the ranks: level 2 of the rules of flattening.
 *
 *     let ys = map f xs           let (first, count) = this rank's share of n, if it is worth it
 *     let s = reduce op ne ys =>  let ys' = map f xs[first : first + count]
 *                                 let s' = reduce op ne ys'
 *                                 let s = all ranks' s' combined, in the order of ranks
 *
 * (segmap^2 and segred^2: what is inside stays for level 1.) Arrays stay in parts where all that
 * reads them goes over their rows; loops pass parts on. Where one is read otherwise its parts are
 * gathered, once, where it is made. Whether n is shared out is a threshold (SHARED); where it is
 * not, a part is the whole and nothing is exchanged.
 *
 * What is done by all ranks alike (scalars, scatters, histograms, whatever has few elements) is the
 * same on each of them; so are the exchanges that they come to, and their order.
 *
 * SOAC dialect, last before flattening. Before and after: well-formed. */
#include "level2/level2.h"
#include "level2/shares.h"

static void share_stm(Parts *P, const Stm *s);

/* --- Levels --------------------------------------------------------------------------------- */

static Level *enter(Parts *P)
{
    Level *l = NEW(P->cx->perm, Level);
    *l = (Level){.outer = P->at, .facts = ranges_mark(P->ra), .bl = bld_new(P->cx)};
    P->at = l;
    return l;
}

static Body *leave(Parts *P, Level *l, Atoms res)
{
    parts_leave(P, l);
    ranges_reset(P->ra, l->facts);
    P->at = l->outer;
    return bld_body(&l->bl, res);
}

static void know(Parts *P, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        parts_know(P, vs->at[i]);
}

static void gather_all(Parts *P, const VarSet *used)
{
    Vars vs = varset_list(P->cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        parts_gather(P, vs.at[i]);
}

static void gather_atom(Parts *P, Atom a)
{
    if (a.var)
        parts_gather(P, a.var);
}

/* A statement that all ranks do, with all of what it reads. */
static void do_alike(Parts *P, const Stm *s)
{
    VarSet *used = varmap_new(P->cx->perm);
    free_in_stm(used, s);
    gather_all(P, used);
    bld_stm(&P->at->bl, *s);
    know(P, &s->pat);
    if (s->exp->kind == E_IOTA || s->exp->kind == E_REPLICATE)
        varmap_put(P->made, s->pat.at[0], s->exp);
}

/* --- Values of all ranks -------------------------------------------------------------------- */

/* The values of rank r. */
static Atoms of_rank(Bld *bl, Atom exchange, Atom r, const Atoms *mine, Loc loc)
{
    Ctx *cx = bl->cx;
    Atoms out = {0};
    for (int k = 0; k < mine->n; k++) {
        Exp *e = exp_new(cx, E_PEER, loc);
        e->ranks.type = atom_type(mine->at[k]).elem;
        vec_push(cx->perm, &e->ranks.args, atom_i64(k));
        vec_push(cx->perm, &e->ranks.args, exchange);
        vec_push(cx->perm, &e->ranks.args, r);
        vec_push(cx->perm, &out, bld_exp(bl, "peer", e));
    }
    return out;
}

/* The values of the first n ranks, combined in their order with `from`. */
static Atoms combined(Bld *bl, const Exp *soac, const Atoms *from, const Atoms *mine, Atom n)
{
    Ctx *cx = bl->cx;
    Loc loc = soac->loc;
    Exp *t = exp_new(cx, E_EXCHANGE, loc);
    vec_append(cx->perm, &t->ranks.args, mine);
    Atom exchange = bld_exp(bl, "exchange", t);
    Exp *e = exp_new(cx, E_LOOP, loc);
    e->loop.kind = LOOP_FOR;
    e->loop.i = var_new(cx, "r", type_prim(T_I64), loc);
    e->loop.bound = n;
    e->loop.inits = *from;
    for (int k = 0; k < mine->n; k++)
        vec_push(cx->perm, &e->loop.params,
                 var_new(cx, "acc", type_prim(atom_type(mine->at[k]).elem), loc));
    Bld turn = bld_new(cx);
    Atoms both = atoms_of_vars(cx, &e->loop.params);
    Atoms theirs = of_rank(&turn, exchange, atom_var(e->loop.i), mine, loc);
    vec_append(cx->perm, &both, &theirs);
    Atoms res = bld_inline_lambda(&turn, soac->soac.op, &both);
    e->loop.body = bld_body(&turn, res);
    return bld_exps(bl, "acc", e);
}

/* vs := what the ranks have found, combined: segred^2. */
static void all_reduce(Parts *P, const Exp *e, const Share *share, const Vars *vs,
                       const Atoms *mine)
{
    Ctx *cx = P->cx;
    Bld all = bld_new(cx), here = bld_new(cx);
    Atoms res = combined(&all, e, &e->soac.nes, mine, P->ranks);
    Stm s = {.pat = *vs};
    s.exp = exp_if(cx, e->loc, share->shared, bld_body(&all, res), bld_body(&here, *mine));
    bld_stm(&P->at->bl, s);
    know(P, vs);
}

/* --- SOACs ---------------------------------------------------------------------------------- */

static bool is_shareable(const Parts *P, const Exp *e)
{
    enum { FEW = 16 };
    unsigned alone = ATTR_SEQUENTIAL | ATTR_SEQUENTIAL_OUTER;
    if (!exp_is_soac(e) || exp_is(e, F_DESTS) || (e->attrs & alone))
        return false;
    if (!e->soac.width.var && e->soac.width.c.i < FEW)
        return false;
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_type(e->soac.nes.at[k]).rank > 0)
            return false;
    return e->soac.nes.n <= MOST_EXCHANGED && exp_consumes(P->cx, e).n == 0;
}

static void gather_inside(Parts *P, const Exp *e, const Lambda *fn)
{
    VarSet *used = varmap_new(P->cx->perm);
    if (fn)
        free_in_lambda(used, fn);
    if (e->soac.op)
        free_in_lambda(used, e->soac.op);
    gather_all(P, used);
}

/* let part = what this rank finds; the variables. */
static Vars soac_here(Parts *P, const Stm *s, const Share *share)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    const Lambda *fn = halo_read(P, e, share);
    gather_inside(P, e, fn);
    Exp *r = exp_new(cx, e->kind, e->loc);
    *r = *e;
    r->soac.fn = (Lambda *)(uintptr_t)fn;
    r->soac.width = share->count;
    r->soac.arrs = (Atoms){0};
    for (int i = 0; i < e->soac.arrs.n; i++)
        vec_push(cx->perm, &r->soac.arrs, parts_beside(P, e->soac.arrs.at[i], share, fn, e->loc));
    Vars vs = {0};
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        Type t = v->type.rank > 0 ? parts_type(cx, v->type, share) : v->type;
        vec_push(cx->perm, &vs, var_new(cx, v->base, t, v->loc));
    }
    bld_stm(&P->at->bl, (Stm){vs, r});
    know(P, &vs);
    return vs;
}

static Vars first_of(Ctx *cx, const Vars *vs, int n)
{
    Vars out = {0};
    for (int k = 0; k < n; k++)
        vec_push(cx->perm, &out, vs->at[k]);
    return out;
}

/* What is scanned begins, on all ranks but the first, with what those before it have: segscan^2. */
static void scan_on(Parts *P, const Stm *s, const Share *share, Vars *here)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    int n = e->soac.nes.n;
    Loc loc = e->loc;
    Bld on = bld_new(cx), alone = bld_new(cx), last = bld_new(cx), none = bld_new(cx);
    Atoms ends = {0}, parts = {0}, arrs = {0};
    Atom at = bld_binop(&last, loc, OP_SUB, share->count, atom_i64(1));
    for (int k = 0; k < n; k++) {
        Atom part = atom_var(here->at[k]);
        vec_push(cx->perm, &parts, part);
        vec_push(cx->perm, &arrs, part);
        vec_push(cx->perm, &ends, bld_exp(&last, "end", exp_index(cx, loc, part, &at, 1, true)));
    }
    Exp *some = exp_binop(cx, loc, OP_LT, atom_i64(0), share->count);
    Atom any = bld_exp(&on, "some", some);
    Atoms mine = bld_exps(
        &on, "end", exp_if(cx, loc, any, bld_body(&last, ends), bld_body(&none, e->soac.nes)));
    Atoms before = combined(&on, e, &e->soac.nes, &mine, share->rank);
    Bld turn = bld_new(cx);
    Vars xs = {0};
    Atoms both = {0};
    vec_append(cx->perm, &both, &before);
    for (int k = 0; k < n; k++) {
        Var *x = var_new(cx, "x", type_prim(atom_type(e->soac.nes.at[k]).elem), loc);
        vec_push(cx->perm, &xs, x);
        vec_push(cx->perm, &both, atom_var(x));
    }
    Atoms sums = bld_inline_lambda(&turn, e->soac.op, &both);
    Exp *map = exp_map(cx, loc, share->count, arrs, lambda_new(cx, xs, bld_body(&turn, sums)));
    Atoms res = bld_exps(&on, "on", map);
    Vars pat = {0};
    for (int k = 0; k < n; k++) {
        vec_push(cx->perm, &pat, var_like(cx, here->at[k]));
    }
    bld_stm(&P->at->bl, (Stm){pat, exp_if(cx, loc, share->shared, bld_body(&on, res),
                                          bld_body(&alone, parts))});
    Vars scanned = {0};
    vec_append(cx->perm, &scanned, &pat);
    for (int k = n; k < here->n; k++)
        vec_push(cx->perm, &scanned, here->at[k]);
    *here = scanned;
    know(P, &pat);
}

static void share_soac(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    int folds = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    Share *share = parts_share(P, e->soac.width, e->loc);
    Vars here = soac_here(P, s, share);
    if (exp_is(e, F_SCAN))
        scan_on(P, s, share, &here);
    for (int k = folds; k < s->pat.n; k++)
        parts_put(P, s->pat.at[k], here.at[k], share);
    if (folds > 0) {
        Vars sums = first_of(P->cx, &s->pat, folds), mine = first_of(P->cx, &here, folds);
        Atoms values = atoms_of_vars(P->cx, &mine);
        all_reduce(P, e, share, &sums, &values);
    }
}

/* --- Branches and loops --------------------------------------------------------------------- */

static void walk(Parts *P, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        share_stm(P, &b->stms.at[i]);
        ranges_bind(P->ra, &b->stms.at[i].pat, b->stms.at[i].exp);
    }
}

static Body *branch(Parts *P, const Exp *e, bool truth)
{
    const Body *b = truth ? e->branch.then_ : e->branch.else_;
    Level *l = enter(P);
    ranges_cond(P->ra, e->branch.test, truth);
    walk(P, b);
    for (int i = 0; i < b->res.n; i++)
        gather_atom(P, b->res.at[i]);
    return leave(P, l, b->res);
}

static void share_if(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Body *then_ = branch(P, e, true), *else_ = branch(P, e, false);
    Exp *r = exp_if(P->cx, e->loc, e->branch.test, then_, else_);
    r->attrs = e->attrs;
    bld_stm(&P->at->bl, (Stm){s->pat, r});
    know(P, &s->pat);
}

/* Is it known before the loop? */
static bool known_outside(const Parts *P, const Exp *loop, Atom n)
{
    return parts_in_scope(P, n) && (!n.var || vars_find(&loop->loop.params, n.var) < 0);
}

/* The parameters of a loop: those that it passes on in parts have a share. */
typedef struct {
    Share **share;
    Vars params;
} Carried;

static bool any_consumed(const Vars *consumed, Atom a)
{
    return a.var && vars_find(consumed, a.var) >= 0;
}

/* Is there a SOAC over n elements in the host's code? */
static bool goes_over(const Body *b, Atom n)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (exp_is_soac(e) && atom_eq(e->soac.width, n))
            return true;
        if (e->kind == E_LOOP && goes_over(e->loop.body, n))
            return true;
        if (e->kind == E_IF && (goes_over(e->branch.then_, n) || goes_over(e->branch.else_, n)))
            return true;
    }
    return false;
}

static Carried carried_at_most(Parts *P, const Exp *e)
{
    Carried c = {.share = NEWN(P->cx->perm, Share *, e->loop.params.n)};
    Vars consumed = exp_consumes(P->cx, e);
    for (int i = 0; i < e->loop.params.n; i++) {
        const Var *p = e->loop.params.at[i];
        bool may = p->type.rank > 0 && known_outside(P, e, p->type.dims[0]) &&
                   goes_over(e->loop.body, p->type.dims[0]) &&
                   !any_consumed(&consumed, e->loop.inits.at[i]);
        c.share[i] = may ? parts_share(P, p->type.dims[0], e->loc) : NULL;
    }
    return c;
}

/* Makes the body, of which what is not given on in parts is no longer carried so; false: something
 * was not. */
static bool try_turn(Parts *P, const Exp *e, Carried *c)
{
    bool fits = true;
    c->params = (Vars){0};
    (void)enter(P);
    ranges_loop(P->ra, e);
    know(P, &e->loop.params);
    if (e->loop.i)
        parts_know(P, e->loop.i);
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *p = e->loop.params.at[i];
        if (c->share[i]) {
            Var *part = var_new(P->cx, p->base, parts_type(P->cx, p->type, c->share[i]), p->loc);
            parts_put(P, p, part, c->share[i]);
            p = part;
        }
        vec_push(P->cx->perm, &c->params, p);
    }
    walk(P, e->loop.body);
    for (int i = 0; i < c->params.n; i++)
        if (c->share[i] && !parts_get(P, e->loop.body->res.at[i], c->share[i])) {
            c->share[i] = NULL;
            fits = false;
        }
    return fits;
}

static void share_loop(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    Carried c = carried_at_most(P, e);
    while (!try_turn(P, e, &c))
        (void)leave(P, P->at, (Atoms){0});
    Exp *r = exp_new(cx, E_LOOP, e->loc);
    *r = *e;
    Atoms res = {0};
    for (int i = 0; i < c.params.n; i++) {
        Atom a = e->loop.body->res.at[i];
        if (c.share[i])
            a = atom_var(parts_get(P, a, c.share[i]));
        else
            gather_atom(P, a);
        vec_push(cx->perm, &res, a);
    }
    r->loop.body = leave(P, P->at, res);
    r->loop.params = c.params;
    r->loop.inits = (Atoms){0};
    Vars pat = {0};
    for (int i = 0; i < c.params.n; i++) {
        Atom a = e->loop.inits.at[i];
        Var *v = s->pat.at[i];
        if (c.share[i]) {
            a = parts_of(P, a, c.share[i], e->loc);
            Var *part = var_new(cx, v->base, parts_type(cx, v->type, c.share[i]), v->loc);
            vec_push(cx->perm, &pat, part);
        } else {
            gather_atom(P, a);
            vec_push(cx->perm, &pat, v);
        }
        vec_push(cx->perm, &r->loop.inits, a);
    }
    bld_stm(&P->at->bl, (Stm){pat, r});
    know(P, &s->pat);
    for (int i = 0; i < c.params.n; i++)
        if (c.share[i])
            parts_put(P, s->pat.at[i], pat.at[i], c.share[i]);
}

/* --- Views ---------------------------------------------------------------------------------- */

static bool is_all(const DimIndex *di, Atom n)
{
    return di->is_slice && atom_is_int(di->start, 0) && atom_is_int(di->stride, 1) &&
           atom_eq(di->n, n);
}

/* e of the part that is here, if its rows are made of the rows of what it reads; else NULL. */
static Exp *of_rows(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Atom of = e->kind == E_COPY ? e->copy.arr : exp_view_of(e);
    const Part *p = of.var ? varmap_get(P->parts, of.var) : NULL;
    if (!p || p->whole || s->pat.at[0]->type.rank == 0 ||
        !atom_eq(s->pat.at[0]->type.dims[0], p->share->n))
        return NULL;
    Exp *r = exp_new(P->cx, e->kind, e->loc);
    *r = *e;
    Atom part = atom_var(p->var);
    switch (e->kind) {
    case E_ATOM: r->atom = part; return r;
    case E_COPY: r->copy.arr = part; return r;
    case E_REARRANGE: r->rearrange.arr = part; return e->rearrange.perm[0] == 0 ? r : NULL;
    case E_INDEX:
        r->index.arr = part;
        r->index.at = (DimIndexes){0};
        vec_append(P->cx->perm, &r->index.at, &e->index.at);
        if (!is_all(&e->index.at.at[0], p->share->n))
            return NULL;
        r->index.at.at[0].n = p->share->count;
        return r;
    default: return NULL;
    }
}

static void share_view(Parts *P, const Stm *s, Exp *rows)
{
    Atom of = s->exp->kind == E_COPY ? s->exp->copy.arr : exp_view_of(s->exp);
    const Part *p = varmap_get(P->parts, of.var);
    Var *v = s->pat.at[0];
    Var *part = var_new(P->cx, v->base, parts_type(P->cx, v->type, p->share), v->loc);
    bld_define(&P->at->bl, part, rows);
    parts_put(P, v, part, p->share);
}

/* --- Statements ----------------------------------------------------------------------------- */

static void share_stm(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    bool inside = exp_has_soac(e) && !(e->attrs & ATTR_SEQUENTIAL);
    Exp *rows = s->pat.n == 1 ? of_rows(P, s) : NULL;
    if (is_shareable(P, e))
        share_soac(P, s);
    else if (e->kind == E_LOOP && inside)
        share_loop(P, s);
    else if (e->kind == E_IF && inside)
        share_if(P, s);
    else if (rows)
        share_view(P, s, rows);
    else
        do_alike(P, s);
}

/* --- Work ----------------------------------------------------------------------------------- */

/* What a body goes over in its deepest nest: widths, bounds of loops. */
static Atoms deepest(Ctx *cx, const Body *b)
{
    Atoms most = {0};
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        bool soac = exp_is_soac(e), turns = e->kind == E_LOOP && e->loop.kind == LOOP_FOR;
        const Body *inner = soac                ? (e->soac.fn ? e->soac.fn->body : NULL)
                            : e->kind == E_LOOP ? e->loop.body
                                                : NULL;
        Atom n = soac ? e->soac.width : turns ? e->loop.bound : atom_i64(1);
        Atoms below = inner ? deepest(cx, inner) : (Atoms){0}, all = {0};
        if ((soac || turns) && atom_type(n).elem == T_I64)
            vec_push(cx->perm, &all, n);
        vec_append(cx->perm, &all, &below);
        if (all.n > most.n)
            most = all;
    }
    return most;
}

static void note_work(Parts *P, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_LOOP)
            note_work(P, e->loop.body);
        if (e->kind == E_IF) {
            note_work(P, e->branch.then_);
            note_work(P, e->branch.else_);
        }
        if (!exp_is_soac(e) || !e->soac.fn || !e->soac.width.var)
            continue;
        Atoms inside = deepest(P->cx, e->soac.fn->body);
        const Atoms *known = varmap_get(P->work, e->soac.width.var);
        if (known && known->n >= inside.n)
            continue;
        Atoms *own = NEW(P->cx->perm, Atoms);
        *own = inside;
        varmap_put(P->work, e->soac.width.var, own);
    }
}

/* --- The pass ------------------------------------------------------------------------------- */

static Entry share_entry(Ctx *cx, const Entry *en)
{
    Parts P = {.cx = cx, .entry = en->name};
    P.bound = varmap_new(cx->perm);
    P.parts = varmap_new(cx->perm);
    P.made = varmap_new(cx->perm);
    P.work = varmap_new(cx->perm);
    P.ra = ranges_new(cx, varmap_new(cx->perm));
    for (int i = 0; i < en->params.n; i++)
        ranges_given(P.ra, en->params.at[i]->type);
    Level *l = enter(&P);
    know(&P, &en->params);
    know(&P, &en->sizes);
    for (int i = 0; i < en->user_params.n; i++)
        parts_know(&P, en->user_params.at[i].var);
    note_work(&P, en->body);
    walk(&P, en->body);
    for (int i = 0; i < en->body->res.n; i++)
        gather_atom(&P, en->body->res.at[i]);
    Entry r = *en;
    r.body = leave(&P, l, en->body->res);
    ir_copy_needed(cx, &r);
    return r;
}

Prog *l2_share(Ctx *cx, const Prog *in)
{
    if (!cx->ranks)
        return (Prog *)(uintptr_t)in;
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++)
        vec_push(cx->perm, &p->entries, share_entry(cx, &in->entries.at[i]));
    return p;
}
