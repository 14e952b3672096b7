/* What versions cost, and what they spare: how an untuned program chooses (mf_pays,
 * common/cost.h).
 *
 * A version is weighed against those behind it, which flatten more: it spares launches, or passes
 * over elements, and takes steps of a work-item for that. Which kernels makers have for what the
 * others become is known here, in so far as it decides: what they do in one launch, reading each
 * element once, no version needs to spare. Thresholds that are set go before. */
#include "flatten/rules.h"

static Atom times(Bld *bl, Loc loc, Atom a, Atom b)
{
    return bld_binop(bl, loc, OP_MUL, a, b);
}

static Atom quotient(Bld *bl, Atom a, Atom b)
{
    return bld_binop(bl, (Loc){0}, OP_QUOT, a, bld_binop(bl, (Loc){0}, OP_MAX, b, atom_i64(1)));
}

/* Elements that are gone over in the time in which so many steps of products are done in blocks,
 * whose results are then in memory. */
static Atom time_of_blocks(Bld *bl, Atom steps, Atom results)
{
    enum {
        FASTER = 8, /* is such a step */
        MOVED = 8   /* elements that can be gone over while one is made, and read again */
    };
    Atom moved = times(bl, (Loc){0}, results, atom_i64(MOVED));
    return bld_binop(bl, (Loc){0}, OP_ADD, quotient(bl, steps, atom_i64(FASTER)), moved);
}

/* --- What a version for work-groups costs, and what it spares ------------------------------- */

typedef struct {
    Flat *fl;
    const MapNest *S;
    const Body *body;
    VarSet *inside; /* bound in the body or by S */
    Bld *bl;
    Atom steps, elems; /* of a group */
    Atom products;     /* those of elems that e_flat has in tiles */
} Costs;

static void cost_of_body(void *env, Body *b);

static void cost_bound(void *env, Var *v)
{
    varset_add(((Costs *)env)->inside, v);
}

/* A construct: its elements are dealt out to a group's work-items, which do what is inside of them
 * step by step. */
static void cost_of_seg(Costs *c, const Exp *e)
{
    Bld *bl = c->bl;
    Loc loc = {0};
    Atom width = atom_i64(1), inner = par_inside(c->fl, c->inside, e, bl);
    for (int d = 0; d < e->seg.nest.n; d++)
        width = times(bl, loc, width, e->seg.nest.at[d].width);
    Atom rounds = bld_binop(bl, loc, OP_ADD, width, atom_i64(GROUP_PAR - 1));
    rounds = bld_binop(bl, loc, OP_QUOT, rounds, atom_i64(GROUP_PAR));
    c->steps = bld_binop(bl, loc, OP_ADD, c->steps, times(bl, loc, rounds, inner));
    Atom elems = times(bl, loc, width, inner);
    if (product_of_groups(c->fl->cx, c->S, c->body, e)) {
        c->products = bld_binop(bl, loc, OP_ADD, c->products, elems);
        elems = time_of_blocks(bl, elems, width);
    }
    c->elems = bld_binop(bl, loc, OP_ADD, c->elems, elems);
}

static void cost_of_body(void *env, Body *b)
{
    Costs *c = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        ExpVisitor v = {.env = c, .binder = cost_bound, .body = cost_of_body};
        if (exp_is_seg(s->exp))
            cost_of_seg(c, s->exp);
        else if (s->exp->kind == E_LOOP || s->exp->kind == E_IF)
            exp_visit(s->exp, &v);
        for (int k = 0; k < s->pat.n; k++)
            varset_add(c->inside, s->pat.at[k]);
    }
}

static void count_constructs(void *env, Body *b)
{
    int *n = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        ExpVisitor v = {.env = n, .body = count_constructs};
        *n += exp_is_seg(e);
        if (e->kind == E_LOOP || e->kind == E_IF)
            exp_visit(e, &v);
    }
}

Cost no_cost(void)
{
    return (Cost){.spared = atom_i64(0), .steps = atom_i64(0), .elems = atom_i64(0)};
}

/* Does each element reduce rows, and nothing more? */
static bool only_reduces(const Body *b)
{
    bool reduces = false;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        bool reduction = exp_is_fold(e);
        if (e->kind == E_LOOP || e->kind == E_IF || (exp_is_soac(e) && !reduction))
            return false;
        reduces |= reduction;
    }
    return reduces;
}

const Exp *only_map(const Body *b)
{
    const Exp *map = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_LOOP || e->kind == E_IF || (exp_is_soac(e) && (map || e->kind != E_MAP)))
            return NULL;
        map = exp_is_soac(e) ? e : map;
    }
    return map;
}

/* A version takes steps, and gains nothing by them. */
static Cost never_pays(const char *why)
{
    return (Cost){.spared = atom_i64(0), .steps = atom_i64(0), .elems = atom_i64(0), .never = why};
}

/* Why: what e_flat does as well, or better. */
static const char BY_TILES[] = "without it rows are read once for many elements, in one launch";
static const char BY_TILES_ALL[] = "without it rows are read once for many elements";
static const char BY_GROUPS[] = "without it groups share out the elements of a histogram";
static const char IN_PLACE[] = "without it each element is read once, where it lies";
static const char BY_LANES[] = "without it work-items share out the elements of a turn";
static const char BY_ITSELF[] = "a work-item would scan a row by itself while its group waits";

/* Does the construct, in body b, read an array again for each element of S's innermost dimension?
 */
static bool reads_again(const MapNest *S, const Body *b, const Nest *nest)
{
    const Atoms *arrs = &vec_last(nest).arrs;
    for (int i = 0; i < arrs->n; i++) {
        bool varies = vars_find(&vec_last(&S->dims).xs, arrs->at[i].var) >= 0;
        for (int k = 0; k < b->stms.n; k++)
            varies |= vars_find(&b->stms.at[k].pat, arrs->at[i].var) >= 0;
        if (!varies)
            return true;
    }
    return false;
}

bool sums_in_loop(Flat *fl, const Body *b)
{
    Summing s;
    return body_sums(fl->cx, b, &s) && s.loop;
}

/* The body of the innermost of maps with nothing but a map inside; b itself if it is no map. */
static const Body *inside_maps(const Body *b)
{
    for (const Exp *map = only_map(b); map; map = only_map(b))
        b = map->soac.fn->body;
    return b;
}

/* An only construct that is one launch in e_flat as well, with more work-items or as many, and that
 * reads rows once for many elements there (segtile.c, segshare.c): maps of reductions, or a
 * reduction of what others read, too; or a histogram, whose elements groups share out there, many a
 * segment or few. Such a version never pays. */
static Cost cost_of_one(const MapNest *S, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_SEGMAP && only_reduces(e->seg.body))
            return never_pays(BY_TILES);
        if (e->kind == E_SEGRED && e->seg.nest.n == 1 && reads_again(S, b, &e->seg.nest))
            return never_pays(BY_TILES);
        if (e->kind == E_SEGHIST)
            return never_pays(BY_GROUPS);
    }
    return no_cost();
}

/* Does b under maps consist of such reductions, several, beside scalar code? */
static bool are_products(const MapNest *S, const Body *b)
{
    bool all = S->dims.n > 1;
    for (int i = 0; i < b->stms.n && all; i++) {
        const Exp *e = b->stms.at[i].exp;
        all = exp_is_seg(e)
                  ? e->kind == E_SEGRED && e->seg.nest.n == 1 && reads_again(S, b, &e->seg.nest)
                  : e->kind != E_LOOP && e->kind != E_IF;
    }
    return all;
}

static bool is_scan(const Exp *e)
{
    return exp_is_soac(e) && exp_is(e, F_SCAN);
}

/* Does a work-item scan by itself, inside of a construct? Its rows then lie in global memory, and
 * it goes over them step by step, several times, while most of the group waits: this never pays. */
static bool scans_alone(const Exp *e)
{
    return exp_is_seg(e) && body_any(e->seg.body, is_scan);
}

/* Of so many constructs. */
static Cost cost_of_constructs(Flat *fl, const MapNest *S, const Body *b, int constructs, Bld *bl)
{
    Costs c = {.fl = fl,
               .S = S,
               .body = b,
               .inside = varmap_new(fl->cx->perm),
               .bl = bl,
               .steps = atom_i64(0),
               .elems = atom_i64(0),
               .products = atom_i64(0)};
    if (body_any(b, scans_alone))
        return (Cost){.spared = atom_i64(constructs - 1),
                      .steps = atom_i64(0),
                      .elems = atom_i64(0),
                      .never = BY_ITSELF};
    nest_vars(S, c.inside);
    cost_of_body(&c, (Body *)(uintptr_t)b);
    Atom groups = par_of_nest(fl, S, bl);
    if (c.products.var) /* as many steps of each, which e_flat does not take */
        c.steps =
            bld_binop(bl, (Loc){0}, OP_ADD, c.steps,
                      bld_binop(bl, (Loc){0}, OP_QUOT, times(bl, (Loc){0}, groups, c.products),
                                atom_i64(RT_FULL_DEVICE)));
    return (Cost){.spared = atom_i64(constructs - 1),
                  .steps = c.steps,
                  .elems = times(bl, (Loc){0}, groups, c.elems),
                  .blocks = c.products.var != NULL};
}

static Cost cost_of_intra(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    int constructs = 0;
    count_constructs(&constructs, (Body *)(uintptr_t)b);
    if (constructs < 2)
        return cost_of_one(S, b);
    return are_products(S, b) ? never_pays(BY_TILES_ALL)
                              : cost_of_constructs(fl, S, b, constructs, bl);
}

Cost cost_of_turns(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    enum { MORE = 5 /* launches: those that end are counted, and the host reads how many */ };
    int constructs = MORE;
    count_constructs(&constructs, (Body *)(uintptr_t)b);
    return cost_of_constructs(fl, S, b, constructs, bl);
}

/* --- Versions of reductions and scans of rows, and of nothing else -------------------------- */

/* Is the array outside no view that may have its rows apart? */
static bool lies_in_order(const Flat *fl, Atom root)
{
    const Exp *e = def_of(fl, root);
    while (e && e->kind == E_RESHAPE)
        e = def_of(fl, e->reshape.arr);
    return !e || !exp_is(e, F_VIEW);
}

const Exp *bound_in_pre(const MapDim *nd, const Var *v)
{
    const Exp *e = NULL;
    for (int i = nd->pre.n - 1; v && i >= 0; i--) {
        const Stm *s = &nd->pre.at[i];
        if (s->pat.n != 1 || s->pat.at[0] != v)
            continue;
        e = s->exp;
        if (e->kind != E_ATOM)
            return e;
        v = e->atom.var;
    }
    return e;
}

/* Is `a` a row of what an element of S's outermost dimension has of an array outside, where S is
 * over a part of another nest (subset.c)? */
static bool is_row_of_part(const Flat *fl, const MapNest *S, Atom a)
{
    int d, k, last = S->dims.n - 1;
    if (S->dims.at[0].row) /* points of many rows read the same of them */
        return false;
    while (a.var && nest_find(S, a.var, &d, &k) && d == last && d > 0) {
        a = S->dims.at[d].arrs.at[k];
        last--;
    }
    const Exp *e = last == 0 ? bound_in_pre(&S->dims.at[0], a.var) : NULL;
    VarSet *own = varmap_new(fl->cx->perm);
    nest_vars(S, own);
    return e && e->kind == E_INDEX && atom_variant(own, e->index.at.at[0].start) &&
           !e->index.at.at[0].is_slice && !varset_has(own, e->index.arr.var) &&
           lies_in_order(fl, e->index.arr);
}

/* Is `a`, under S, a row of an array whose rows lie one behind the other: does it vary with all of
 * S, and is the array outside no view that may have them apart? */
static bool is_own_row(const Flat *fl, const MapNest *S, Atom a)
{
    Chain c;
    if (atom_type(a).rank != 1)
        return false;
    if (!nest_chain(S, a, &c))
        return is_row_of_part(fl, S, a);
    return chain_is_full(S, &c) && lies_in_order(fl, c.root);
}

/* ... a column, that is, a row of a transposed array, whose neighbours lie beside it? */
static bool is_own_column(const Flat *fl, const MapNest *S, Atom a)
{
    Chain c;
    if (atom_type(a).rank != 1 || !nest_chain(S, a, &c) || !chain_is_full(S, &c))
        return false;
    const Exp *e = def_of(fl, c.root);
    int rank = atom_type(c.root).rank;
    return e && e->kind == E_REARRANGE && rank > 1 && e->rearrange.perm[rank - 2] == rank - 1;
}

static bool is_of_scalars(const Exp *e)
{
    if (!exp_is_soac(e) || !exp_is(e, F_FOLD | F_SCAN))
        return false;
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_type(e->soac.nes.at[k]).rank > 0)
            return false;
    return !e->soac.fn || !body_has_soac(e->soac.fn->body);
}

typedef bool IsOwn(const Flat *fl, const MapNest *S, Atom a);

/* The reduction or scan of rows (is_own: which) that is all that b, under S, does beside scalar
 * code. bytes: of an element of the rows. NULL: b does something else. */
static const Exp *only_rows(const Flat *fl, const MapNest *S, const Body *b, IsOwn *is_own,
                            int *bytes)
{
    const Exp *found = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind != E_LOOP && !exp_has_soac(e))
            continue;
        if (found || !is_of_scalars(e))
            return NULL;
        found = e;
    }
    *bytes = 0;
    for (int k = 0; found && k < found->soac.arrs.n; k++) {
        Atom a = found->soac.arrs.at[k];
        int size = prim_type_bytes[atom_type(a).elem];
        if (is_own(fl, S, a) && size > *bytes)
            *bytes = size;
    }
    return *bytes > 0 ? found : NULL;
}

/* In e_flat rows are one construct, too, that reads each element once, where it lies; threads with
 * a row each read through a copy in another layout. Sums of rows that a thread loads at once are
 * the exception. */
static Cost cost_of_threads(const Exp *e, int bytes)
{
    if (exp_is(e, F_SCAN))
        return never_pays(IN_PLACE);
    return (Cost){.spared = atom_i64(0),
                  .steps = e->soac.width,
                  .elems = atom_i64(mf_elems_in(RT_ROW_BYTES / bytes))};
}

static void bound_in(VarSet *inside, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            varset_add(inside, b->stms.at[i].pat.at[k]);
}

bool is_outer(Flat *fl, const MapNest *S, const Body *b, const Exp *loop, Atom a)
{
    VarSet *inside = varmap_new(fl->cx->perm);
    nest_vars(S, inside);
    bound_in(inside, b);
    if (loop) {
        bound_in(inside, loop->loop.body);
        varset_add(inside, loop->loop.i);
        for (int k = 0; k < loop->loop.params.n; k++)
            varset_add(inside, loop->loop.params.at[k]);
    }
    return !a.var || !varset_has(inside, a.var);
}

/* --- Chains: what makes rows for the next, or goes over the same ones --- */

static bool is_row(const Var *v)
{
    return v && v->type.rank == 1 && v->type.dims[0].var;
}

/* Rows of S that b reads, and those that it gives. */
static int rows_moved(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *used = varmap_new(fl->cx->perm);
    free_in_body(used, b);
    const Vars *xs = &vec_last(&S->dims).xs;
    int n = 0;
    for (int k = 0; k < xs->n; k++)
        n += is_row(xs->at[k]) && varset_has(used, xs->at[k]);
    for (int k = 0; k < b->res.n; k++)
        n += is_row(b->res.at[k].var);
    return n;
}

/* The width of rows that b makes for its own use, the last ones' whose width is known outside;
 * NULL: they are no more than those that it moves, or b does more than a few constructs one after
 * the other. */
static const Atom *chain_width(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *used = varmap_new(fl->cx->perm);
    const Atom *width = NULL;
    int kept = 0;
    for (int i = b->stms.n - 1; i >= 0; i--) {
        const Stm *s = &b->stms.at[i];
        if (exp_has_soac(s->exp) && !exp_is_soac(s->exp))
            return NULL;
        bool known = exp_is_soac(s->exp) && is_outer(fl, S, b, NULL, s->exp->soac.width);
        for (int k = 0; known && k < s->pat.n; k++)
            if (is_row(s->pat.at[k]) && varset_has(used, s->pat.at[k])) {
                width = width ? width : &s->exp->soac.width;
                kept += atom_eq(*width, s->exp->soac.width);
            }
        free_in_exp(used, s->exp);
    }
    return kept > rows_moved(fl, S, b) ? width : NULL;
}

/* The width of rows, one behind the other, that several constructs of b go over, and nothing else
 * does: threads, with a row each, read and write them through copies in another layout, once for
 * each construct. NULL: b does something else. */
static const Atom *passes_width(Flat *fl, const MapNest *S, const Body *b)
{
    const Atom *width = NULL;
    int passes = 0;
    bool own = false;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (!exp_has_soac(e))
            continue;
        if (!exp_is_soac(e) || (e->soac.fn && body_has_soac(e->soac.fn->body)))
            return NULL;
        width = width ? width : &e->soac.width;
        if (!atom_eq(*width, e->soac.width))
            return NULL;
        for (int k = 0; k < e->soac.arrs.n; k++)
            own |= is_own_row(fl, S, e->soac.arrs.at[k]);
        passes++;
    }
    return passes > 1 && own && width->var && is_outer(fl, S, b, NULL, *width) ? width : NULL;
}

/* Does a statement with SOACs in the loop's body give the next value of parameter k? */
static bool made_anew(const Exp *loop, int k)
{
    const Stms *ss = &loop->loop.body->stms;
    for (int i = 0; i < ss->n; i++)
        if (exp_has_soac(ss->at[i].exp) &&
            vars_find(&ss->at[i].pat, loop->loop.body->res.at[k].var) >= 0)
            return true;
    return false;
}

/* The width of rows that a loop of b makes anew in each turn, for the next one. NULL: there are
 * none, or none whose width is known outside. */
static const Atom *carried_width(Flat *fl, const MapNest *S, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        for (int k = 0; e->kind == E_LOOP && k < e->loop.params.n; k++) {
            const Var *v = e->loop.params.at[k];
            if (is_row(v) && made_anew(e, k) && is_outer(fl, S, b, e, v->type.dims[0]))
                return &v->type.dims[0];
        }
    }
    return NULL;
}

/* Threads have these rows in global memory, groups near. Where there are threads enough, short rows
 * are theirs all the same: they would leave most of a group idle. */
static Cost cost_of_chain(Flat *fl, const MapNest *S, Atom width, Bld *bl)
{
    Loc loc = {0};
    Atom full = bld_binop(bl, loc, OP_QUOT, par_of_nest(fl, S, bl), atom_i64(RT_FULL_DEVICE));
    Atom enough = bld_binop(bl, loc, OP_MIN, full, atom_i64(1));
    return (Cost){.spared = atom_i64(0),
                  .steps = width,
                  .elems = times(bl, loc, enough, atom_i64(mf_elems_in(RT_SHORT_ROW)))};
}

/* Lanes share out a turn's reduction, so many to an element, and go through all turns in a launch;
 * what else there is takes a launch, or a barrier, for each. */
Cost cost_of_lanes(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    enum { LANES = 32 };
    Loc loc = {0};
    Summing s;
    if (!body_sums(fl->cx, b, &s) || !s.loop)
        return no_cost();
    Atom width = s.red->exp->soac.width;
    if (!is_outer(fl, S, b, s.loop, width))
        width = atom_i64(1);
    return (Cost){.spared = atom_i64(1),
                  .steps = bld_binop(bl, loc, OP_QUOT, width, atom_i64(LANES)),
                  .elems = times(bl, loc, par_of_nest(fl, S, bl), width)};
}

/* Are rows of S that b reads columns in memory, of which a group's work-items would read an element
 * each, and none a row? e_flat reduces and scans columns as they lie (segacross.c, scanacross.c).
 */
static bool reads_columns(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *used = varmap_new(fl->cx->perm);
    free_in_body(used, b);
    const Vars *xs = &vec_last(&S->dims).xs;
    bool columns = false;
    for (int k = 0; k < xs->n; k++) {
        if (xs->at[k]->type.rank != 1 || !varset_has(used, xs->at[k]))
            continue;
        if (!is_own_column(fl, S, atom_var(xs->at[k])))
            return false;
        columns = true;
    }
    return columns;
}

/* Threads that fill a device read columns beside each other, as e_flat does. Who works alone goes
 * down a column, each of whose elements is far from the next, where e_flat goes along strips of
 * them: there this never pays, as it spares nothing (rt_suff_or_pays). */
static Cost cost_of_columns(Flat *fl, const MapNest *S, Bld *bl)
{
    return (Cost){.spared = atom_i64(0), .steps = atom_i64(1), .elems = par_of_nest(fl, S, bl)};
}

static Cost cost_of_threads_alone(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    int bytes;
    const Exp *e = only_rows(fl, S, b, is_own_row, &bytes);
    if (e)
        return cost_of_threads(e, bytes);
    if (only_rows(fl, S, b, is_own_column, &bytes) && reads_columns(fl, S, b))
        return cost_of_columns(fl, S, bl);
    const Atom *width = chain_width(fl, S, b);
    width = width ? width : carried_width(fl, S, b);
    width = width ? width : passes_width(fl, S, b);
    if (width)
        return cost_of_chain(fl, S, *width, bl);
    const Body *in = inside_maps(b);
    if (in == b)
        return cost_of_lanes(fl, S, b, bl);
    if (only_reduces(in))
        return never_pays(BY_TILES);
    return sums_in_loop(fl, in) ? never_pays(BY_LANES) : no_cost();
}

/* Of a thread for each element of S, where what follows has product r in blocks, of arrays that it
 * makes. */
static Cost beside_blocks(Flat *fl, const MapNest *S, const Body *b, const Exp *r, Bld *bl)
{
    enum { LAUNCHES = 4 /* more */ };
    const int64_t most = (int64_t)1 << 31; /* elements of an array that is made for that */
    Loc loc = {0};
    Cost c = no_cost();
    c.blocks = true;
    if (!is_outer(fl, S, b, NULL, r->soac.width))
        return c;
    Atom par = par_of_nest(fl, S, bl), all = par_in_all(fl, S, b, bl);
    Atom made = quotient(bl, all, r->soac.width), excess = quotient(bl, made, atom_i64(most));
    c.spared = atom_i64(LAUNCHES);
    c.steps = quotient(bl, all, bld_binop(bl, loc, OP_MIN, par, atom_i64(RT_FULL_DEVICE)));
    c.elems =
        bld_binop(bl, loc, OP_ADD, time_of_blocks(bl, all, made), times(bl, loc, excess, all));
    return c;
}

/* A reduction, and no other? */
static bool reduces_once(const Body *b)
{
    int n = 0;
    for (int i = 0; i < b->stms.n; i++)
        n += exp_is_fold(b->stms.at[i].exp);
    return n == 1 && only_reduces(b);
}

Cost cost_of_top(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    Cost c = cost_of_threads_alone(fl, S, b, bl);
    if (c.never)
        return c;
    /* Elements that are a product alone have blocks as they are. */
    const Exp *r = reduces_once(b) ? product_inside(fl->cx, &vec_last(&S->dims).xs, b)
                                   : product_under(fl->cx, S, b);
    if (r && atom_is_int(c.steps, 0))
        return beside_blocks(fl, S, b, r, bl);
    c.blocks = r != NULL;
    return c;
}

Cost cost_of_fold(Flat *fl, const MapNest *S, const Exp *e, const Body *b, Bld *bl)
{
    enum { EACH = 32 };
    int bytes;
    const Exp *rows = only_rows(fl, S, b, is_own_row, &bytes);
    if (rows)
        return exp_is(e, F_SCAN) ? never_pays(IN_PLACE) : cost_of_threads(rows, bytes);
    if (!exp_is(e, F_SCAN)) {
        const Exp *r = product_under(fl->cx, S, b);
        const Atom *width = chain_width(fl, S, b);
        if (r)
            return beside_blocks(fl, S, b, r, bl);
        return width ? cost_of_chain(fl, S, *width, bl) : no_cost();
    }
    return (Cost){.spared = atom_i64(0), .steps = atom_i64(EACH), .elems = par_of_nest(fl, S, bl)};
}

/* A scan of rows by a work-group each reads them once, e_flat where they are longer than a tile may
 * do so twice; shorter ones than a group it packs. A group has its row in local memory: of long
 * ones there is room for few at once, which wait for memory together. */
static Cost cost_of_rows(const Exp *e, const MapNest *S, Bld *bl)
{
    enum { FEWEST = RT_FULL_DEVICE / GROUP_PAR, MOST_BYTES = 1 << 15 };
    Loc loc = {0};
    if (!exp_is(e, F_SCAN))
        return never_pays(IN_PLACE);
    int bytes = 0;
    for (int k = 0; k < e->soac.arrs.n; k++)
        bytes += prim_type_bytes[atom_type(e->soac.arrs.at[k]).elem];
    Atom rows = par_of_nest(NULL, S, bl), width = e->soac.width;
    rows = times(bl, loc, rows, atom_i64(GROUP_PAR / FEWEST));
    Atom least = bld_binop(bl, loc, OP_MIN, rows, width);
    Atom longest = bld_binop(bl, loc, OP_MAX, width, atom_i64(1));
    Atom fits = bld_binop(bl, loc, OP_QUOT, atom_i64(MOST_BYTES / bytes), longest);
    least = times(bl, loc, least, bld_binop(bl, loc, OP_MIN, fits, atom_i64(1)));
    return (Cost){.spared = atom_i64(0),
                  .steps = atom_i64(GROUP_PAR),
                  .elems = times(bl, loc, least, atom_i64(mf_elems_in(1)))};
}

/* Does b consist of reductions and maps, beside scalar code? */
static bool only_folds(const Body *b)
{
    bool folds = false;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        bool fold = exp_is(e, F_FOLD);
        if (exp_has_soac(e) && !fold && e->kind != E_MAP)
            return false;
        folds |= fold;
    }
    return folds;
}

Cost cost_of_middle(Flat *fl, const MapNest *S, const Body *b, const Body *intra, Bld *bl)
{
    int bytes;
    const Exp *e = only_rows(fl, S, b, is_own_row, &bytes);
    if (e)
        return cost_of_rows(e, S, bl);
    e = only_rows(fl, S, b, is_own_column, &bytes);
    if ((only_folds(b) || (e && exp_is(e, F_SCAN))) && reads_columns(fl, S, b))
        return never_pays(IN_PLACE);
    const Body *in = inside_maps(b);
    if (in != b && sums_in_loop(fl, in))
        return never_pays(BY_LANES);
    return cost_of_intra(fl, S, intra, bl);
}

/* --- Rows of different lengths ---------------------------------------------------------------- */

Extent extent_with(const Extent *x, Atom all, Bld *bl)
{
    Extent r = *x;
    r.points = bld_binop(bl, (Loc){0}, OP_ADD, x->points, all);
    r.longest = bld_binop(bl, (Loc){0}, OP_ADD, x->longest, quotient(bl, all, x->rows));
    return r;
}

/* So many of the longest are there. */
static Atom rows_in_effect(const Extent *x, Bld *bl)
{
    return bld_binop(bl, (Loc){0}, OP_MIN, x->rows, quotient(bl, x->points, x->longest));
}

Par par_of_rows(const Extent *x, Bld *bl)
{
    enum {
        LAUNCHES = 6, /* of the ragged form: assertions, widths, offsets, what rows give */
        APART = 8,    /* threads read apart from each other: a step is as long as so many, */
        WAVES = 2     /* ... and of all points together as so many; threads in step, which read
                         beside each other, half of what e_flat takes, which asks whose they are */
    };
    Par p = {.version = rows_in_effect(x, bl), .all = x->points, .balanced = true};
    Atom steps = x->together ? x->longest : times(bl, (Loc){0}, x->longest, atom_i64(APART));
    int64_t wave = x->together ? RT_FULL_DEVICE * WAVES : RT_FULL_DEVICE / WAVES;
    Atom all = quotient(bl, x->points, atom_i64(wave));
    p.cost = (Cost){.spared = atom_i64(LAUNCHES - 1),
                    .steps = bld_binop(bl, (Loc){0}, OP_ADD, steps, all),
                    .elems = x->points};
    return p;
}

Par par_of_row_groups(const Extent *x, Bld *bl)
{
    Par p = {.version = rows_in_effect(x, bl), .all = x->points, .cost = no_cost()};
    Atom each = quotient(bl, x->points, x->rows);
    each = bld_binop(bl, (Loc){0}, OP_MIN, each, atom_i64(GROUP_PAR));
    p.version = times(bl, (Loc){0}, p.version, each);
    p.cost.never = "rows of any length are shared out equally by what follows";
    return p;
}

Par par_of_turns(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    Par p = {.version = par_of_nest(fl, S, bl), .all = par_in_all(fl, S, b, bl), .balanced = true};
    p.cost = (Cost){.spared = atom_i64(0), .steps = atom_i64(1), .elems = p.version};
    return p;
}
