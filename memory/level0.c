/* The arrays that a work-group makes: those of the body of a segmap^1 with level-0 constructs
 * inside. One walk over the body, before any code is made, gives each of them a block and an index
 * function: a block of local memory of its own, the block of what it is a view of or updates in
 * place, or the place where its value is wanted, in a row of the result, say (place.c).
 *
 * A block of local memory has its size before the launch: a bound in terms of what the host knows.
 * Where an array has none, a work-group cannot run the construct, and single threads do.
 *
 * What single work-items make for themselves, inside level-0 constructs and in code without any, is
 * not looked at. */
#include "memory/memory.h"

#include "base/ident.h"
#include "memory/place.h"
#include "size/prove.h"

typedef struct {
    Ctx *cx;
    EntryMemory *em;
    Ranges *host;     /* of numbers, where the construct stands */
    Ranges *known;    /* ... and inside the kernel */
    SxBounds *bounds; /* of sizes computed there */
    VarSet *inside;   /* variables bound there */
    VarMap *wishes;   /* array variable -> ArrLoc *: where its value is wanted */
    Mem **results;    /* blocks that the group writes its results to */
    int n_results;
    VarSet *frozen; /* arrays that must stay as they are, wherever they lie */
    bool fits;      /* so far every array has a bound */
    int n_locals;
} Group;

/* --- Blocks ----------------------------------------------------------------------------------- */

static const ArrLoc *loc_of(const Group *g, const Var *v)
{
    const ArrLoc *l = varmap_get(g->em->locs, v);
    if (!l)
        ice(v->loc, "array %s has no memory", var_text(v));
    return l;
}

static void bind(Group *g, const Var *v, ArrLoc loc)
{
    ArrLoc *l = NEW(g->cx->perm, ArrLoc);
    *l = loc;
    varmap_put(g->em->locs, v, l);
}

static bool is_host(void *env, const KExp *leaf)
{
    const Group *g = env;
    return leaf->kind == KE_HOST && !varset_has(g->inside, leaf->host);
}

/* May the group write v's memory? */
static bool writable(const Group *g, const Var *v)
{
    const Mem *m = loc_of(g, v)->mem;
    bool own = m->local;
    for (int j = 0; j < g->n_results; j++)
        own = own || m == g->results[j];
    return own && !varset_has(g->frozen, v);
}

/* A block of local memory for an array of type t, row-major. */
static ArrLoc local_block(Group *g, const Var *v, Type t)
{
    Mem *m = NEW(g->cx->perm, Mem);
    m->id = m->root = -1;
    m->name = arena_printf(g->cx->perm, "%s_local_%d", c_ident(v->base), g->n_locals++);
    m->local = true;
    m->elems = sx_upper_count(g->bounds, g->host, t);
    g->fits = g->fits && m->elems;
    return (ArrLoc){m, lmad_permuted(g->cx, t, NULL)};
}

static ArrMade *made(Group *g, const Var *v, ArrLoc loc)
{
    ArrMade *m = NEW(g->cx->perm, ArrMade);
    *m = (ArrMade){.loc = loc, .own = true};
    varmap_put(g->em->made, v, m);
    return m;
}

/* v takes memory: where its value is wanted, or a block of its own. */
static void make(Group *g, const Var *v)
{
    const ArrLoc *wish = varmap_get(g->wishes, v);
    ArrLoc l = wish ? *wish : local_block(g, v, v->type);
    made(g, v, l)->own = !wish;
    bind(g, v, l);
}

/* v takes memory, where `as` lies from now on. */
static void make_as(Group *g, const Var *v, const Var *as)
{
    make(g, v);
    bind(g, as, *loc_of(g, v));
}

static void make_arrays(Group *g, const Vars *pat, int from)
{
    for (int j = from; j < pat->n; j++)
        if (pat->at[j]->type.rank > 0)
            make(g, pat->at[j]);
}

typedef struct {
    Group *g;
    Mem *mem;
} Wanted;

static bool take_wish(void *env, const Var *v, Lmad at)
{
    const Wanted *w = env;
    if (varmap_get(w->g->wishes, v))
        return false;
    ArrLoc *l = NEW(w->g->cx->perm, ArrLoc);
    *l = (ArrLoc){w->mem, at};
    varmap_put(w->g->wishes, v, l);
    return true;
}

static void wish(Group *g, const Body *b, Atom v, ArrLoc dest)
{
    Wanted w = {g, dest.mem};
    place_wish(g->cx, b, v, dest.at, take_wish, &w);
}

/* A number that only the kernel knows. */
static const Var *kernel_number(Group *g, const char *base, Loc loc)
{
    Var *v = var_new(g->cx, base, type_prim(T_I64), loc);
    varset_add(g->inside, v);
    return v;
}

static void enter_vars(Group *g, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        varset_add(g->inside, vs->at[i]);
}

/* --- Views ------------------------------------------------------------------------------------ */

/* A view whose check fails shows nothing: where it lies is known in the kernel only. */
static Lmad checked(Group *g, int rank, Loc loc)
{
    const KExp **strides = NEWN(g->cx->perm, const KExp *, rank);
    for (int k = 0; k < rank; k++)
        strides[k] = sx_var(g->cx, kernel_number(g, "stride", loc));
    return (Lmad){sx_var(g->cx, kernel_number(g, "off", loc)), strides};
}

static void view(Group *g, const Stm *s)
{
    const Exp *e = s->exp;
    const Var *v = s->pat.at[0];
    if (v->type.rank == 0)
        return;
    ArrLoc l = *loc_of(g, exp_view_of(e).var);
    if (e->kind == E_INDEX)
        l.at = e->index.safe ? lmad_index(g->cx, l.at, &e->index.at)
                             : checked(g, v->type.rank, e->loc);
    else if (e->kind == E_REARRANGE)
        l.at = lmad_rearrange(g->cx, l.at, v->type.rank, e->rearrange.perm);
    bind(g, v, l);
}

static void reshape(Group *g, const Stm *s)
{
    const Var *v = s->pat.at[0], *from = s->exp->reshape.arr.var;
    ArrLoc l = *loc_of(g, from);
    if (!lmad_reshape(g->cx, l.at, from->type, v->type, &l.at)) {
        l = local_block(g, v, from->type);
        made(g, v, l);
        l.at = lmad_permuted(g->cx, v->type, NULL);
    }
    bind(g, v, l);
}

/* Row i, a number of the kernel, of arr. */
static void row(Group *g, const Var *x, Atom arr, const KExp *i)
{
    if (x->type.rank == 0)
        return;
    ArrLoc l = *loc_of(g, arr.var);
    l.at = lmad_rows(g->cx, l.at, arr.var->type.rank, &i, 1);
    bind(g, x, l);
}

static void rows(Group *g, const Vars *params, const Atoms *arrs, const KExp *i)
{
    for (int k = 0; k < arrs->n; k++)
        row(g, params->at[k], arrs->at[k], i);
}

/* --- Statements in place ---------------------------------------------------------------------- */

/* v is arr updated, in place if that may be written. */
static void update(Group *g, const Var *v, const Var *arr)
{
    if (writable(g, arr))
        bind(g, v, *loc_of(g, arr));
    else
        make(g, v);
}

static void update_dests(Group *g, const Stm *s, const Dests *dests)
{
    for (int j = 0; j < dests->n; j++)
        update(g, s->pat.at[j], dests->at[j].arr.var);
}

/* --- Branches --------------------------------------------------------------------------------- */

static void level0_body(Group *g, const Body *b);

/* The larger of both branches' sizes bounds an existential size. */
static void branch_bound(Group *g, const Stm *s, int j)
{
    const Exp *e = s->exp;
    const Var *v = s->pat.at[j];
    Atom a = e->branch.then_->res.at[j], b = e->branch.else_->res.at[j];
    if (v->type.rank > 0 || v->type.elem != T_I64 || place_binds(e->branch.then_, a.var) ||
        place_binds(e->branch.else_, b.var))
        return;
    const KExp *x = sx_upper(g->bounds, sx_atom(g->cx, a)),
               *y = sx_upper(g->bounds, sx_atom(g->cx, b));
    if (x && y)
        sx_set_upper(g->bounds, v, sx_op(g->cx, SX_MAX, x, y));
}

/* Where array result j of a branch lies: the same array in both branches, updated in place or not,
 * or memory that the branch takes. */
static void branch_place(Group *g, const Stm *s, int j)
{
    const Body *then_ = s->exp->branch.then_, *else_ = s->exp->branch.else_;
    bool updated = false;
    const Var *a = place_root(then_, then_->res.at[j].var, &updated);
    const Var *b = place_root(else_, else_->res.at[j].var, &updated);
    if (a && a == b && (!updated || writable(g, a)))
        bind(g, s->pat.at[j], *loc_of(g, a));
    else
        make(g, s->pat.at[j]);
}

static void branch_side(Group *g, const Stm *s, bool truth)
{
    const Body *b = truth ? s->exp->branch.then_ : s->exp->branch.else_;
    int mark = ranges_mark(g->known);
    ranges_cond(g->known, s->exp->branch.test, truth);
    for (int j = 0; j < s->pat.n; j++) {
        const ArrMade *m = varmap_get(g->em->made, s->pat.at[j]);
        if (m && !place_binds_size(s, s->pat.at[j], 1))
            wish(g, b, b->res.at[j], m->loc);
    }
    level0_body(g, b);
    ranges_reset(g->known, mark);
}

/* Is the size of v bound by the same pattern, and without a bound? */
static bool joins(Group *g, const Stm *s, const Var *v)
{
    return place_binds_size(s, v, 0) && !sx_upper_count(g->bounds, g->host, v->type);
}

static void branch(Group *g, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        branch_bound(g, s, j);
    for (int j = 0; j < s->pat.n; j++)
        g->fits = g->fits && !joins(g, s, s->pat.at[j]);
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank > 0)
            branch_place(g, s, j);
    branch_side(g, s, true);
    branch_side(g, s, false);
}

/* --- Values that loops carry ------------------------------------------------------------------ */

static bool changes_size(const Vars *params, int n, const Var *p)
{
    for (int k = 0; k < p->type.rank; k++)
        for (int j = 0; j < n; j++)
            if (p->type.dims[k].var && p->type.dims[k].var == params->at[j])
                return true;
    return false;
}

/* One half of a block for two arrays of the param's type: it begins where a variable tells. */
static ArrLoc half(Group *g, const ArrLoc *both, const Var *p, const Var **at, const char *base)
{
    *at = kernel_number(g, base, p->loc);
    return (ArrLoc){both->mem, {sx_var(g->cx, *at), both->at.strides + 1}};
}

/* The next value is built beside the present one; then they change roles. */
static void carry_beside(Group *g, const Var *p)
{
    Type two = type_array(g->cx, p->type, atom_i64(2));
    ArrMade *m = made(g, p, local_block(g, p, two));
    bind(g, p, half(g, &m->loc, p, &m->cur, "cur"));
    m->next_loc = half(g, &m->loc, p, &m->next, "next");
}

/* The params get their memory; pats (NULL: there are none) are the values after the loop. */
static void carry(Group *g, const Vars *params, int n, const Atoms *inits, const Body *b,
                  Var *const *pats)
{
    for (int i = 0; i < n; i++) {
        const Var *p = params->at[i];
        bool updated = false;
        if (p->type.rank == 0)
            continue;
        bool in_place = place_root(b, b->res.at[i].var, &updated) == p;
        g->fits = g->fits && (in_place || !changes_size(params, n, p));
        if (!in_place) {
            carry_beside(g, p);
            continue;
        }
        const Var *init = inits->at[i].var;
        if (!updated || writable(g, init))
            bind(g, p, *loc_of(g, init));
        else if (pats)
            make_as(g, pats[i], p);
        else
            make_as(g, p, p);
    }
}

static void carry_wishes(Group *g, const Vars *params, int n, const Body *b)
{
    for (int i = 0; i < n; i++) {
        const ArrMade *m = varmap_get(g->em->made, params->at[i]);
        if (m && m->next)
            wish(g, b, b->res.at[i], m->next_loc);
    }
}

static void carry_end(Group *g, const Vars *params, int n, Var *const *pats)
{
    for (int i = 0; i < n; i++)
        if (params->at[i]->type.rank > 0)
            bind(g, pats[i], *loc_of(g, params->at[i]));
}

static void loop(Group *g, const Stm *s)
{
    const Exp *e = s->exp;
    const Vars *params = &e->loop.params;
    enter_vars(g, params);
    if (e->loop.i)
        varset_add(g->inside, e->loop.i);
    carry(g, params, params->n, &e->loop.inits, e->loop.body, s->pat.at);
    int mark = ranges_mark(g->known);
    ranges_loop(g->known, e);
    carry_wishes(g, params, params->n, e->loop.body);
    level0_body(g, e->loop.body);
    ranges_reset(g->known, mark);
    carry_end(g, params, params->n, s->pat.at);
}

/* --- SOACs around level-0 constructs, one turn after the other -------------------------------- */

/* The function's arrays; results from n_acc on go to the rows of what the SOAC gives. */
static void apply_fn(Group *g, const Stm *s, int n_acc, const Var *turn)
{
    const Lambda *fn = s->exp->soac.fn;
    const KExp *i = sx_var(g->cx, turn);
    enter_vars(g, &fn->params);
    rows(g, &fn->params, &s->exp->soac.arrs, i);
    for (int j = n_acc; j < s->pat.n; j++) {
        ArrMade *m = varmap_get(g->em->made, s->pat.at[j]);
        if (!m || s->pat.at[j]->type.rank < 2 || exp_is(s->exp, F_DESTS))
            continue;
        m->turn = turn;
        ArrLoc l = m->loc;
        l.at = lmad_rows(g->cx, l.at, s->pat.at[j]->type.rank, &i, 1);
        wish(g, fn->body, fn->body->res.at[j], l);
    }
    level0_body(g, fn->body);
}

static void alias(Group *g, const Var *v, Atom of)
{
    if (v->type.rank > 0)
        bind(g, v, *loc_of(g, of.var));
}

/* (acc, x) -> acc; x is the function's result, or the array's element if there is no function. */
static void apply_op(Group *g, const Stm *s, int n, const Var *turn)
{
    const Exp *e = s->exp;
    const Lambda *op = e->soac.op;
    const KExp *i = sx_var(g->cx, turn);
    for (int j = 0; j < n; j++)
        if (exp_is(e, F_FN))
            alias(g, op->params.at[n + j], e->soac.fn->body->res.at[j]);
        else
            row(g, op->params.at[n + j], e->soac.arrs.at[j], i);
    carry_wishes(g, &op->params, n, op->body);
    level0_body(g, op->body);
}

static void soac(Group *g, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *op = e->soac.op;
    bool scan = exp_is(e, F_SCAN);
    int n = e->kind == E_MAP ? 0 : e->soac.nes.n;
    const Var *turn = kernel_number(g, "turn", e->loc);
    make_arrays(g, &s->pat, scan ? 0 : n);
    if (n > 0) {
        enter_vars(g, &op->params);
        carry(g, &op->params, n, &e->soac.nes, op->body, scan ? NULL : s->pat.at);
    }
    if (exp_is(e, F_FN))
        apply_fn(g, s, n, turn);
    if (n > 0)
        apply_op(g, s, n, turn);
    if (n > 0 && !scan)
        carry_end(g, &op->params, n, s->pat.at);
}

/* The operator of a histogram, applied to a bin and a value, which it must leave as they are; what
 * it gives is written to the bins one after the other, and so must not lie in them. */
static void bins(Group *g, const Exp *e)
{
    const Lambda *op = e->soac.op;
    const Body *fn = e->soac.fn->body;
    int n = e->soac.dests.n, rank = e->soac.dests.at[0].rank;
    enter_vars(g, &op->params);
    for (int j = 0; j < n; j++) {
        const Var *acc = op->params.at[j], *x = op->params.at[n + j], *dest;
        if (acc->type.rank == 0)
            continue;
        dest = e->soac.dests.at[j].arr.var;
        bind(g, acc, (ArrLoc){loc_of(g, dest)->mem, checked(g, acc->type.rank, e->loc)});
        alias(g, x, fn->res.at[rank + j]);
        varset_add(g->frozen, acc);
        varset_add(g->frozen, x);
    }
    level0_body(g, op->body);
    for (int j = 0; j < n; j++) {
        const Var *r = op->body->res.at[j].var;
        if (r && r->type.rank > 0 && !writable(g, r))
            made(g, r, local_block(g, r, r->type));
    }
}

static void soac_in_place(Group *g, const Stm *s)
{
    const Exp *e = s->exp;
    update_dests(g, s, &e->soac.dests);
    apply_fn(g, s, 0, kernel_number(g, "turn", e->loc));
    if (exp_is(e, F_BINS))
        bins(g, e);
}

/* --- Statements ------------------------------------------------------------------------------- */

/* Sizes that single work-items compute by branches. */
static void scalar_branches(Group *g, const Stm *s)
{
    if (s->exp->kind == E_IF)
        for (int j = 0; j < s->pat.n; j++)
            branch_bound(g, s, j);
}

/* Code without parallelism: one work-item runs it if arrays come out. */
static void by_one(Group *g, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++) {
        const Var *v = s->pat.at[j];
        bool updated = false;
        const Var *root = v->type.rank > 0 ? place_of_exp(s->exp, j, &updated) : NULL;
        if (root && writable(g, root))
            bind(g, v, *loc_of(g, root));
        else if (v->type.rank > 0)
            make(g, v);
    }
    scalar_branches(g, s);
}

static void level0_construct(Group *g, const Stm *s)
{
    const Dests *dests = exp_dests(s->exp);
    if (dests && dests->n > 0)
        update_dests(g, s, dests);
    else
        make_arrays(g, &s->pat, 0);
}

static void level0_stm(Group *g, const Stm *s)
{
    const Exp *e = s->exp;
    enter_vars(g, &s->pat);
    if (exp_is(e, F_CODE) && !exp_has_seg(e)) {
        by_one(g, s);
        return;
    }
    switch (exp_member(e)) {
    case M_prim:
    case M_conv:
    case M_call:
    case M_assertion:
    case M_trace: return;
    case M_atom:
    case M_index: view(g, s); return;
    case M_rearrange:
        if (e->kind == E_MANIFEST)
            make(g, s->pat.at[0]);
        else
            view(g, s);
        return;
    case M_reshape: reshape(g, s); return;
    case M_update: update(g, s->pat.at[0], e->update.arr.var); return;
    case M_iota:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_copy: make(g, s->pat.at[0]); return;
    case M_branch: branch(g, s); return;
    case M_loop: loop(g, s); return;
    case M_soac:
        if (exp_is(e, F_DESTS))
            soac_in_place(g, s);
        else
            soac(g, s);
        return;
    case M_seg: level0_construct(g, s); return;
    case M_deriv:
    case M_suff:
    case M_ranks:
    case N_MEMBERS: break;
    }
    ice(e->loc, "%s inside a kernel", form_info[e->kind].tag);
}

static void level0_body(Group *g, const Body *b)
{
    int mark = ranges_mark(g->known);
    for (int i = 0; i < b->stms.n; i++) {
        level0_stm(g, &b->stms.at[i]);
        ranges_bind(g->known, &b->stms.at[i].pat, b->stms.at[i].exp);
    }
    ranges_reset(g->known, mark);
}

/* --- Constructs ------------------------------------------------------------------------------- */

static void know_sizes(const Entry *en, Ranges *ra)
{
    for (int i = 0; i < en->sizes.n; i++) {
        Atom n = atom_var(en->sizes.at[i]);
        ranges_given(ra, (Type){T_I64, 1, &n});
    }
}

static Group group_new(Ctx *cx, const Entry *en, EntryMemory *em, Ranges *host)
{
    Group g = {.cx = cx, .em = em, .host = host, .fits = true};
    g.known = ranges_new(cx, varmap_new(cx->perm));
    g.inside = varmap_new(cx->perm);
    g.wishes = varmap_new(cx->perm);
    g.frozen = varmap_new(cx->perm);
    know_sizes(en, g.known);
    return g;
}

/* Is v used by a statement of b? A result that is not is built where it belongs at once. */
static bool used_inside(Ctx *cx, const Body *b, const Var *v)
{
    VarSet *s = varmap_new(cx->perm);
    varset_add(s, v);
    for (int i = 0; i < b->stms.n; i++)
        if (exp_uses_any(b->stms.at[i].exp, s))
            return true;
    return false;
}

/* The rows of results, where the group's element is built. */
static void wish_results(Group *g, const Stm *s, const KExp *const *ix)
{
    const Body *b = s->exp->seg.body;
    int depth = s->exp->seg.nest.n;
    g->results = NEWN(g->cx->perm, Mem *, s->pat.n);
    for (int j = 0; j < s->pat.n; j++) {
        ArrLoc l = *loc_of(g, s->pat.at[j]);
        l.at = lmad_rows(g->cx, l.at, s->pat.at[j]->type.rank, ix, depth);
        g->results[g->n_results++] = l.mem;
        if (b->res.at[j].var && !used_inside(g->cx, b, b->res.at[j].var))
            wish(g, b, b->res.at[j], l);
    }
}

static void group(Ctx *cx, const Entry *en, EntryMemory *em, Ranges *host, const Stm *s)
{
    Group g = group_new(cx, en, em, host);
    g.bounds = sx_bounds_new(cx, sx_facts_new(cx, g.known, SX_MAY_WRAP), is_host, &g);
    const Nest *nest = &s->exp->seg.nest;
    const KExp **ix = NEWN(cx->perm, const KExp *, nest->n);
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        ix[d] = sx_var(cx, nd->idx);
        varset_add(g.inside, nd->idx);
        if (nd->row)
            varset_add(g.inside, nd->row);
        enter_vars(&g, &nd->xs);
        ranges_dim(g.known, nd);
        rows(&g, &nd->xs, &nd->arrs, ix[d]);
    }
    wish_results(&g, s, ix);
    level0_body(&g, s->exp->seg.body);
    if (g.fits)
        varset_add(em->groups, nest->at[0].idx);
}

/* --- The host level --------------------------------------------------------------------------- */

static void host_body(Ctx *cx, const Entry *en, EntryMemory *em, Ranges *ra, const Body *b)
{
    int mark = ranges_mark(ra);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *e = s->exp;
        int inner = ranges_mark(ra);
        if (e->kind == E_SEGMAP && body_has_seg(e->seg.body)) {
            group(cx, en, em, ra, s);
        } else if (e->kind == E_IF) {
            ranges_cond(ra, e->branch.test, true);
            host_body(cx, en, em, ra, e->branch.then_);
            ranges_reset(ra, inner);
            ranges_cond(ra, e->branch.test, false);
            host_body(cx, en, em, ra, e->branch.else_);
        } else if (e->kind == E_LOOP) {
            ranges_loop(ra, e);
            host_body(cx, en, em, ra, e->loop.body);
        }
        ranges_reset(ra, inner);
        ranges_bind(ra, &s->pat, e);
    }
    ranges_reset(ra, mark);
}

void mem_level0(Ctx *cx, const Entry *en, EntryMemory *em)
{
    em->made = varmap_new(cx->perm);
    em->groups = varmap_new(cx->perm);
    Ranges *ra = ranges_new(cx, varmap_new(cx->perm));
    know_sizes(en, ra);
    host_body(cx, en, em, ra, en->body);
}
