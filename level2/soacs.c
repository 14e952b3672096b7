/* SOACs that are shared out: what a rank's rows give, and how that of all ranks becomes one
 * (share.c).
 *
 * segred^2 and segscan^2: what ranks have found is combined in their order. seghist^2: the first
 * rank's bins are the given ones, those of the others begin with neutral elements, and all of them
 * are combined like sums of arrays. */
#include "level2/shares.h"

/* --- Values of all ranks -------------------------------------------------------------------- */

/* v of each rank, a row. */
static Atom rows_of_all(Parts *P, Bld *bl, Atom v, Loc loc)
{
    Ctx *cx = bl->cx;
    Type t = type_array(cx, atom_type(v), P->ranks);
    Exp *e = exp_new(cx, E_SCRATCH, loc);
    e->scratch.type = t;
    Atom blank = bld_exp(bl, "blank", e);
    e = exp_new(cx, E_UPDATE, loc);
    e->update.arr = blank;
    e->update.at = parts_slice(cx, t, P->rank, atom_i64(1));
    e->update.at.at[0].is_slice = false;
    e->update.val = v;
    e->update.safe = true;
    Atom rows = bld_exp(bl, "rows", e);
    e = exp_new(cx, E_GATHER, loc);
    vec_push(cx->perm, &e->ranks.args, rows);
    return bld_exp(bl, "all", e);
}

/* Does op read arrays that it is not given? A loop of it is a kernel's, not the host's. */
static bool reads_arrays(Ctx *cx, const Lambda *op)
{
    VarSet *used = varmap_new(cx->scratch);
    bool reads = false;
    free_in_lambda(used, op);
    Vars vs = varset_list(cx->scratch, used);
    for (int i = 0; i < vs.n; i++)
        reads = reads || vs.at[i]->type.rank > 0;
    return reads;
}

Told soac_tell(Parts *P, Bld *bl, const Lambda *op, const Atoms *mine, Loc loc)
{
    Ctx *cx = bl->cx;
    Told told = {.mine = *mine};
    Exp *e = exp_new(cx, E_EXCHANGE, loc);
    bool rows = op && reads_arrays(cx, op);
    for (int k = 0; k < mine->n; k++) {
        bool array = rows || atom_type(mine->at[k]).rank > 0;
        vec_push(cx->perm, &told.arrays,
                 array ? rows_of_all(P, bl, mine->at[k], loc) : atom_i64(0));
        if (!array)
            vec_push(cx->perm, &e->ranks.args, mine->at[k]);
    }
    if (e->ranks.args.n > 0)
        told.exchange = bld_exp(bl, "exchange", e);
    return told;
}

Atoms soac_told_by(Bld *bl, const Told *told, Atom r, Loc loc)
{
    Ctx *cx = bl->cx;
    Atoms out = {0};
    for (int k = 0, scalars = 0; k < told->mine.n; k++) {
        Exp *e = exp_new(cx, E_PEER, loc);
        if (told->arrays.at[k].var) {
            e = exp_index(cx, loc, told->arrays.at[k], &r, 1, true);
        } else {
            e->ranks.type = atom_type(told->mine.at[k]).elem;
            vec_push(cx->perm, &e->ranks.args, atom_i64(scalars++));
            vec_push(cx->perm, &e->ranks.args, told->exchange);
            vec_push(cx->perm, &e->ranks.args, r);
        }
        vec_push(cx->perm, &out, bld_exp(bl, "peer", e));
    }
    return out;
}

Atoms soac_combined(Bld *bl, const Lambda *op, const Atoms *from, const Told *told, Atom n, Loc loc)
{
    Ctx *cx = bl->cx;
    Exp *e = exp_new(cx, E_LOOP, loc);
    e->loop.kind = LOOP_FOR;
    e->loop.i = var_new(cx, "r", type_prim(T_I64), loc);
    e->loop.bound = n;
    e->loop.inits = *from;
    for (int k = 0; k < from->n; k++)
        vec_push(cx->perm, &e->loop.params, var_new(cx, "acc", atom_type(told->mine.at[k]), loc));
    Bld turn = bld_new(cx);
    Atoms both = atoms_of_vars(cx, &e->loop.params);
    Atoms theirs = soac_told_by(&turn, told, atom_var(e->loop.i), loc);
    vec_append(cx->perm, &both, &theirs);
    Atoms res = bld_inline_lambda(&turn, op, &both);
    e->loop.body = bld_body(&turn, res);
    return bld_exps(bl, "acc", e);
}

/* The map that op is, of all elements of both operands in their order; NULL: it is something else.
 */
static const Exp *map_of_rows(const Lambda *op)
{
    const Body *b = op->body;
    const Exp *e = b->stms.n == 1 ? b->stms.at[0].exp : NULL;
    bool is_map = e && e->kind == E_MAP && e->soac.arrs.n == op->params.n;
    for (int k = 0; is_map && k < op->params.n; k++)
        is_map = e->soac.arrs.at[k].var == op->params.at[k];
    for (int k = 0; is_map && k < b->res.n; k++)
        is_map = b->res.at[k].var == b->stms.at[0].pat.at[k];
    return is_map ? e : NULL;
}

/* Does op do with arrays what an operator of scalars does with each of their elements? */
static bool is_of_elements(const Lambda *op)
{
    const Exp *map = map_of_rows(op);
    bool scalars = true;
    for (int k = 0; k < op->params.n; k++)
        scalars = scalars && op->params.at[k]->type.rank == 0;
    return map ? is_of_elements(map->soac.fn) : scalars;
}

static Atom columns_of(Bld *bl, Atom rows, Loc loc)
{
    int rank = atom_type(rows).rank, *perm = NEWN(bl->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d > 1 ? d : 1 - d;
    return bld_exp(bl, "columns", exp_rearrange(bl->cx, loc, perm, rows));
}

/* All ranks' rows combined by op, each element by itself, a turn for each rank behind the first. */
static Atoms elements_combined(Bld *bl, const Lambda *op, const Atoms *rows, Atom ranks, Loc loc)
{
    Ctx *cx = bl->cx;
    const Exp *map = map_of_rows(op);
    Bld inner = bld_new(cx);
    Atoms columns = {0}, theirs = {0};
    Vars params = {0};
    for (int k = 0; map && k < rows->n; k++) {
        vec_push(cx->perm, &columns, columns_of(bl, rows->at[k], loc));
        vec_push(cx->perm, &params, var_new(cx, "column", type_row(atom_type(columns.at[k])), loc));
    }
    if (map) {
        Atoms all = atoms_of_vars(cx, &params);
        Atoms res = elements_combined(&inner, map->soac.fn, &all, ranks, loc);
        Lambda *fn = lambda_new(cx, params, bld_body(&inner, res));
        return bld_exps(bl, "acc", exp_map(cx, loc, map->soac.width, columns, fn));
    }
    Exp *e = exp_new(cx, E_LOOP, loc);
    e->loop.kind = LOOP_FOR;
    e->loop.i = var_new(cx, "r", type_prim(T_I64), loc);
    e->loop.bound = bld_binop(bl, loc, OP_SUB, ranks, atom_i64(1));
    const Atom zero = atom_i64(0);
    Atom next = bld_binop(&inner, loc, OP_ADD, atom_var(e->loop.i), atom_i64(1));
    for (int k = 0; k < rows->n; k++) {
        Atom row = rows->at[k];
        vec_push(cx->perm, &e->loop.inits,
                 bld_exp(bl, "first", exp_index(cx, loc, row, &zero, 1, true)));
        vec_push(cx->perm, &theirs,
                 bld_exp(&inner, "next", exp_index(cx, loc, row, &next, 1, true)));
        vec_push(cx->perm, &e->loop.params, var_new(cx, "acc", type_row(atom_type(row)), loc));
    }
    Atoms both = atoms_of_vars(cx, &e->loop.params);
    vec_append(cx->perm, &both, &theirs);
    Atoms res = bld_inline_lambda(&inner, op, &both);
    e->loop.body = bld_body(&inner, res);
    return bld_exps(bl, "acc", e);
}

/* Arrays as vs are, of nes behind `dims` dimensions. */
static Atoms many_of(Bld *bl, const Atoms *nes, int dims, const Vars *vs, Loc loc)
{
    Atoms many = {0};
    for (int k = 0; k < nes->n; k++) {
        Exp *e = exp_new(bl->cx, E_REPLICATE, loc);
        for (int d = 0; d < dims; d++)
            vec_push(bl->cx->perm, &e->replicate.dims, vs->at[k]->type.dims[d]);
        e->replicate.val = nes->at[k];
        vec_push(bl->cx->perm, &many, bld_exp(bl, "empty", e));
    }
    return many;
}

/* vs := what the ranks have found, combined with nes, which are the elements behind `same`
 * dimensions: segred^2. */
static void all_reduce(Parts *P, const Lambda *op, const Atoms *nes, int same, Share *share,
                       const Vars *vs, const Atoms *mine, Loc loc)
{
    Ctx *cx = P->cx;
    Bld here = bld_new(cx), all = bld_new(cx);
    Told told = soac_tell(P, &all, op, mine, loc);
    bool arrays = is_of_elements(op) && !told.exchange.var;
    Atoms from = same > 0 && !arrays ? many_of(&all, nes, same, vs, loc) : *nes;
    Atoms res = arrays ? elements_combined(&all, op, &told.arrays, P->ranks, loc)
                       : soac_combined(&all, op, &from, &told, P->ranks, loc);
    Stm s = {.pat = *vs};
    s.exp = exp_if(cx, loc, share->shared, bld_body(&all, res), bld_body(&here, *mine));
    bld_stm(&P->at->bl, s);
    parts_know_all(P, vs);
    Share *tested = share->kept_of ? share->kept_of : share;
    for (int k = 0; k < vs->n; k++)
        if (vs->at[k]->type.rank > 0)
            parts_tell(P, &tested->combined, vs->at[k]);
}

/* --- What a rank's rows give ---------------------------------------------------------------- */

bool soac_is_shareable(const Exp *e)
{
    unsigned alone = ATTR_SEQUENTIAL | ATTR_SEQUENTIAL_OUTER;
    if (!exp_is_soac(e) || e->kind == E_SCATTER || (e->attrs & alone))
        return false;
    if (!e->soac.width.var && e->soac.width.c.i < FEW)
        return false;
    for (int k = 0; k < e->soac.nes.n; k++)
        if (exp_is(e, F_SCAN) && atom_type(e->soac.nes.at[k]).rank > 0)
            return false;
    return e->soac.nes.n <= MOST_EXCHANGED;
}

static void gather_inside(Parts *P, const Exp *e, const Lambda *fn)
{
    VarSet *used = varmap_new(P->cx->perm);
    if (fn)
        free_in_lambda(used, fn);
    if (e->soac.op)
        free_in_lambda(used, e->soac.op);
    for (int k = 0; k < e->soac.nes.n; k++)
        if (e->soac.nes.at[k].var)
            varset_add(used, e->soac.nes.at[k].var);
    parts_gather_all(P, used);
}

/* What a parameter of fn stands for, its part: as it is in memory, for a function that does the
 * rest. NULL: the part is what it is to be. */
static Part *unsettled(const Parts *P, const Exp *e, int k, const Share *share)
{
    Atom a = e->soac.arrs.at[k];
    Part *p = a.var && e->soac.fn ? varmap_get(P->parts, a.var) : NULL;
    return p && p->op && p->share == share ? p : NULL;
}

/* fn on parts that are not settled yet. */
static const Lambda *settle_inside(Parts *P, const Exp *e, const Lambda *fn, const Share *share)
{
    Ctx *cx = P->cx;
    Bld bl = bld_new(cx);
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Part *p = unsettled(P, e, k, share);
        Var *x = fn->params.at[k];
        if (p) {
            Var *raw = var_like(cx, x);
            Atoms both = {0};
            vec_push(cx->perm, &both, p->before);
            vec_push(cx->perm, &both, atom_var(raw));
            bld_define(&bl, x, exp_atom(cx, e->loc, bld_inline_lambda(&bl, p->op, &both).at[0]));
            x = raw;
        }
        vec_push(cx->perm, &params, x);
    }
    if (bl.stms.n == 0)
        return fn;
    vec_append(cx->perm, &bl.stms, &fn->body->stms);
    return lambda_new(cx, params, bld_body(&bl, fn->body->res));
}

Vars soac_here(Parts *P, const Stm *s, const Share *share, const Atoms *dests)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    const Lambda *fn = halo_read(P, e, share);
    gather_inside(P, e, fn);
    if (fn)
        fn = settle_inside(P, e, fn, share);
    Exp *r = exp_new(cx, e->kind, e->loc);
    *r = *e;
    r->soac.fn = (Lambda *)(uintptr_t)fn;
    r->soac.width = share->count;
    r->soac.arrs = (Atoms){0};
    for (int i = 0; i < e->soac.arrs.n; i++) {
        const Part *p = unsettled(P, e, i, share);
        vec_push(cx->perm, &r->soac.arrs,
                 p ? atom_var(p->var) : parts_beside(P, e->soac.arrs.at[i], share, fn, e->loc));
    }
    r->soac.dests = (Dests){0};
    for (int i = 0; i < e->soac.dests.n; i++)
        vec_push(cx->perm, &r->soac.dests, ((Dest){dests->at[i], e->soac.dests.at[i].rank}));
    Vars vs = {0};
    int folds = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        Type t = dests       ? atom_type(dests->at[k])
                 : k < folds ? v->type
                             : parts_type(cx, v->type, share);
        vec_push(cx->perm, &vs, var_new(cx, v->base, t, v->loc));
    }
    bld_stm(&P->at->bl, (Stm){vs, r});
    parts_know_all(P, &vs);
    return vs;
}

/* What the ranks before this one end with: of the first one, and where nothing is shared out, the
 * neutral elements. */
static Atoms scanned_before(Parts *P, const Exp *e, const Share *share, const Vars *here)
{
    Ctx *cx = P->cx;
    Loc loc = e->loc;
    Bld on = bld_new(cx), alone = bld_new(cx), last = bld_new(cx), none = bld_new(cx);
    Atoms ends = {0};
    Atom at = bld_binop(&last, loc, OP_SUB, share->count, atom_i64(1));
    for (int k = 0; k < e->soac.nes.n; k++)
        vec_push(cx->perm, &ends,
                 bld_exp(&last, "end", exp_index(cx, loc, atom_var(here->at[k]), &at, 1, true)));
    Exp *some = exp_binop(cx, loc, OP_LT, atom_i64(0), share->count);
    Atom any = bld_exp(&on, "some", some);
    Atoms mine = bld_exps(
        &on, "end", exp_if(cx, loc, any, bld_body(&last, ends), bld_body(&none, e->soac.nes)));
    Told told = soac_tell(P, &on, e->soac.op, &mine, loc);
    Atoms before = soac_combined(&on, e->soac.op, &e->soac.nes, &told, share->rank, loc);
    return bld_exps(
        &P->at->bl, "before",
        exp_if(cx, loc, share->shared, bld_body(&on, before), bld_body(&alone, e->soac.nes)));
}

/* What is scanned begins, on all ranks but the first, with what those before it have: segscan^2.
 * Where that is a single operation readers do it themselves. */
static void scan_on(Parts *P, const Stm *s, Share *share, const Vars *here)
{
    const Exp *e = s->exp;
    int n = e->soac.nes.n;
    Atoms before = scanned_before(P, e, share, here), parts = {0};
    for (int k = 0; k < n; k++)
        vec_push(P->cx->perm, &parts, atom_var(here->at[k]));
    bool later = n == 1 && lambda_op(e->soac.op);
    if (!later)
        parts = parts_go_on(P, &P->at->bl, e->soac.op, &before, &parts, share, e->loc);
    for (int k = 0; k < n; k++)
        parts_put(P, s->pat.at[k], parts.at[k].var, share);
    if (later) {
        Part *p = varmap_get(P->parts, s->pat.at[0]);
        p->op = e->soac.op;
        p->before = before.at[0];
    }
}

/* op of bins: of what lies behind `rank` dimensions. */
static Lambda *of_bins(Ctx *cx, const Lambda *op, const Atoms *dests, int rank, int d, Loc loc)
{
    Vars params = {0};
    for (int k = 0; k < 2 * dests->n; k++)
        vec_push(cx->perm, &params,
                 var_new(cx, k < dests->n ? "acc" : "x",
                         type_drop(atom_type(dests->at[k % dests->n]), d), loc));
    Bld bl = bld_new(cx);
    Atoms args = atoms_of_vars(cx, &params), res;
    if (d == rank) {
        res = bld_inline_lambda(&bl, op, &args);
    } else {
        Lambda *fn = of_bins(cx, op, dests, rank, d + 1, loc);
        res = bld_exps(&bl, "bins", exp_map(cx, loc, params.at[0]->type.dims[0], args, fn));
    }
    return lambda_new(cx, params, bld_body(&bl, res));
}

/* Is the array made of nothing but this element, behind `dims` dimensions? */
static bool is_many_of(const Parts *P, Atom arr, int dims, Atom elem)
{
    const Exp *made = uses_def(P->us, arr), *of = uses_def(P->us, elem);
    if (!made || made->kind != E_REPLICATE || made->replicate.dims.n < dims)
        return false;
    if (made->replicate.dims.n > dims) {
        bool alike =
            of && of->kind == E_REPLICATE && made->replicate.dims.n == dims + of->replicate.dims.n;
        elem = alike ? of->replicate.val : elem;
        if (!alike)
            return false;
    }
    return atom_eq(made->replicate.val, elem);
}

/* Are the bins made empty? */
static bool are_empty(const Parts *P, const Exp *hist)
{
    bool empty = true;
    for (int k = 0; k < hist->soac.dests.n && empty; k++) {
        Dest d = hist->soac.dests.at[k];
        empty = is_many_of(P, d.arr, d.rank, hist->soac.nes.at[k]);
    }
    return empty;
}

/* Each rank has bins of its own: seghist^2. */
static void share_hist(Parts *P, const Stm *s, Share *share)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    Bld given = bld_new(cx), empty = bld_new(cx);
    int rank = e->soac.dests.at[0].rank;
    Atoms dests = {0};
    gather_inside(P, e, NULL); /* empty bins are made of neutral elements */
    for (int k = 0; k < e->soac.dests.n; k++) {
        vec_push(cx->perm, &dests, e->soac.dests.at[k].arr);
        parts_gather(P, dests.at[k].var);
    }
    Atoms bins = dests;
    if (!are_empty(P, e)) {
        Exp *leads = exp_binop(cx, e->loc, OP_EQ, share->rank, atom_i64(0));
        Atoms nes = many_of(&empty, &e->soac.nes, rank, &s->pat, e->loc);
        Exp *either = exp_if(cx, e->loc, bld_exp(&P->at->bl, "lead", leads),
                             bld_body(&given, dests), bld_body(&empty, nes));
        bins = bld_exps(&P->at->bl, "bins", either);
    }
    Vars here = soac_here(P, s, share, &bins);
    Atoms mine = atoms_of_vars(cx, &here);
    Lambda *op = of_bins(cx, e->soac.op, &dests, rank, 0, e->loc);
    all_reduce(P, op, &e->soac.nes, rank, share, &s->pat, &mine, e->loc);
}

void soac_share(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    int folds = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    Share *share = parts_share(P, e->soac.width, e->loc);
    if (e->kind == E_HIST) {
        share_hist(P, s, share);
        return;
    }
    Vars here = soac_here(P, s, share, NULL);
    int scans = exp_is(e, F_SCAN) ? e->soac.nes.n : 0;
    if (scans > 0)
        scan_on(P, s, share, &here);
    for (int k = folds + scans; k < s->pat.n; k++)
        parts_put(P, s->pat.at[k], here.at[k], share);
    if (folds > 0) {
        Vars sums = {0};
        Atoms mine = {0};
        for (int k = 0; k < folds; k++) {
            vec_push(cx->perm, &sums, s->pat.at[k]);
            vec_push(cx->perm, &mine, atom_var(here.at[k]));
        }
        all_reduce(P, e->soac.op, &e->soac.nes, 0, share, &sums, &mine, e->loc);
    }
}
