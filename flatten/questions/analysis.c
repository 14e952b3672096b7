/* Questions about source expressions: what varies inside a nest, what is cheap, and what
 * parallelism inside could be exploited. */
#include "flatten/rules.h"

/* --- Variance and cost ---------------------------------------------------------------------- */

static void only_scalars(void *env, Body *b)
{
    bool *ok = env;
    for (int i = 0; i < b->stms.n && *ok; i++) {
        const Exp *e = b->stms.at[i].exp;
        ExpVisitor v = {.env = env, .body = only_scalars};
        *ok = e->kind == E_ATOM || e->kind == E_PRIM || e->kind == E_CONV || e->kind == E_IF;
        exp_visit(e, &v);
    }
}

static bool is_scalar_code(const Exp *branch)
{
    bool ok = true;
    ExpVisitor v = {.env = &ok, .body = only_scalars};
    exp_visit(branch, &v);
    return ok;
}

bool is_floatable(const Flat *fl, const Stm *s)
{
    const Exp *e = s->exp;
    if (s->pat.n != 1 || exp_traps(e))
        return false;
    if (e->kind == E_IF)
        return s->pat.at[0]->type.rank == 0 && is_scalar_code(e);
    if (e->kind == E_IOTA || e->kind == E_REPLICATE)
        return !is_consumed(fl, atom_var(s->pat.at[0]));
    return e->kind == E_ATOM || e->kind == E_PRIM || e->kind == E_CONV || e->kind == E_REARRANGE ||
           e->kind == E_RESHAPE;
}

static bool cheap_op(PrimOp op)
{
    return prim_info[op].cost <= PRIM_COST_DIVISION;
}

/* A choice between values that cheap arithmetic gives. */
static bool is_cheap_choice(const Exp *e)
{
    for (int k = 0; k < 2; k++) {
        const Body *b = k ? e->branch.then_ : e->branch.else_;
        for (int i = 0; i < b->stms.n; i++) {
            const Exp *x = b->stms.at[i].exp;
            if (x->kind != E_CONV && !(x->kind == E_PRIM && cheap_op(x->prim.op)))
                return false;
        }
    }
    return true;
}

bool is_cheap(const Flat *fl, const Stm *s)
{
    const Exp *e = s->exp;
    if (s->pat.n != 1)
        return false;
    if (e->kind == E_IF)
        return s->pat.at[0]->type.rank == 0 && is_cheap_choice(e);
    if (e->kind == E_PRIM)
        return cheap_op(e->prim.op);
    /* A value read again later must still be there; a view may not outlive its array anyway. */
    if (e->kind == E_INDEX)
        return s->pat.at[0]->type.rank > 0 || !varset_has(fl->overwritten, e->index.arr.var);
    return e->kind == E_CONV || e->kind == E_ATOM || e->kind == E_REARRANGE || e->kind == E_RESHAPE;
}

/* --- What varies ------------------------------------------------------------------------------ */

static bool is_kind(const Exp *e)
{
    return e->kind == E_MAP || e->kind == E_REDUCE || e->kind == E_SCAN || e->kind == E_REDOMAP ||
           e->kind == E_SCANOMAP;
}

bool elements_are_regular(const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    int n_red = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    for (int k = 0; k < s->pat.n; k++) {
        Type t = s->pat.at[k]->type;
        for (int d = k < n_red ? 0 : 1; d < t.rank; d++)
            if (atom_variant(variant, t.dims[d]))
                return false;
    }
    return true;
}

bool soac_is_ragged(const Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (fl->level != 1 || !is_kind(e) || (e->attrs & ATTR_SEQUENTIAL) ||
        !atom_variant(variant, e->soac.width) || !elements_are_regular(variant, s))
        return false;
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (is_consumed(fl, e->soac.arrs.at[k]))
            return false;
    for (int k = 0; k < s->pat.n; k++)
        if (is_consumed(fl, atom_var(s->pat.at[k])))
            return false;
    return !e->soac.op || is_flat_op(variant, e);
}

bool joins_rows(const Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    return fl->level == 1 && e->kind == E_CONCAT && s->pat.at[0]->type.rank == 1 &&
           atom_variant(variant, e->concat.n) && !is_consumed(fl, atom_var(s->pat.at[0]));
}

bool is_ragged_within(Flat *fl, VarSet *variant, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (soac_is_ragged(fl, variant, s))
            return true;
        if (is_floatable(fl, s) && !exp_uses_any(s->exp, variant))
            continue;
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return false;
}

bool turns_vary(const VarSet *variant, const Exp *loop)
{
    return loop->loop.kind == LOOP_FOR ? atom_variant(variant, loop->loop.bound)
                                       : varset_has(variant, loop->loop.cond);
}

/* Only the members that occur in b matter. */
static void copy_into(VarSet *to, const Body *b, const VarSet *from)
{
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Vars frees = free_vars_body(&cx, b);
    for (int i = 0; i < frees.n; i++)
        if (varset_has(from, frees.at[i]))
            varset_add(to, frees.at[i]);
    arena_free(tmp);
}

bool has_strides(const Exp *e)
{
    for (int k = 0; e->kind == E_INDEX && k < e->index.at.n; k++)
        if (e->index.at.at[k].is_slice && !atom_is_int(e->index.at.at[k].stride, 1))
            return true;
    return false;
}

bool size_turns(const Exp *loop, Atom size)
{
    return size.var && vars_find(&loop->loop.params, size.var) >= 0;
}

/* Which result of b's statement number *at is it? -1: no statement's. */
static int result_of(const Body *b, Atom a, int *at)
{
    for (int i = b->stms.n - 1; i >= 0; i--) {
        int k = a.var ? vars_find(&b->stms.at[i].pat, a.var) : -1;
        *at = i;
        if (k >= 0)
            return k;
    }
    return -1;
}

/* Are the points of all rows a known when b is done: its own, or a part of such? Of
 * loops and branches all results at once: which were `asked`. */
static bool gives_rows(Flat *fl, VarSet *variant, const Body *b, Atom a, VarSet *asked)
{
    int at, k = result_of(b, a, &at);
    const Stm *s = k < 0 ? NULL : &b->stms.at[at];
    if (!s || is_consumed(fl, a))
        return !s;
    const Exp *e = s->exp;
    bool compound = e->kind == E_LOOP || e->kind == E_IF;
    if (compound && varset_has(asked, s->pat.at[0]))
        return true;
    if (compound)
        varset_add(asked, s->pat.at[0]);
    switch (e->kind) {
    case E_ATOM: return gives_rows(fl, variant, b, e->atom, asked);
    case E_RESHAPE: /* of a size that is said in other words */
        return atom_type(e->reshape.arr).rank == 1 && atom_type(a).rank == 1 &&
               gives_rows(fl, variant, b, e->reshape.arr, asked);
    case E_INDEX: return !has_strides(e) && gives_rows(fl, variant, b, e->index.arr, asked);
    case E_IOTA:
    case E_REPLICATE:
    case E_SCATTER:
    case E_ARRAYLIT: return true;
    case E_CONCAT: return joins_rows(fl, variant, s);
    case E_LOOP: return carries_rows(fl, variant, s);
    case E_IF: return parts_rows(fl, variant, s);
    default: return soac_is_ragged(fl, variant, s) || soac_is_parallel(fl, variant, s);
    }
}

/* May the branches be taken apart: do they leave what they use as it is? */
static bool branch_parts(Flat *fl, const Exp *e)
{
    return exp_consumes(fl->cx, e).n == 0;
}

static bool is_own(const Vars *pat, Atom size)
{
    return size.var && vars_find(pat, size.var) >= 0;
}

bool is_row_of(const VarSet *variant, const Vars *pat, const Var *v)
{
    return v->type.rank > 0 &&
           (atom_variant(variant, v->type.dims[0]) || is_own(pat, v->type.dims[0]));
}

static bool is_regular_inside(const VarSet *variant, const Vars *pat, const Var *v)
{
    for (int d = 1; d < v->type.rank; d++)
        if (atom_variant(variant, v->type.dims[d]) || is_own(pat, v->type.dims[d]))
            return false;
    return true;
}

/* Has the pattern rows, and nothing that is less regular? */
static bool has_rows(const Flat *fl, const VarSet *variant, const Vars *pat)
{
    bool any = false;
    for (int k = 0; k < pat->n; k++) {
        bool row = is_row_of(variant, pat, pat->at[k]);
        if (!is_regular_inside(variant, pat, pat->at[k]) ||
            (row && is_consumed(fl, atom_var(pat->at[k]))))
            return false;
        any |= row;
    }
    return any;
}

/* Does b give all that are rows by pat? */
static bool body_gives_rows(Flat *fl, const VarSet *variant, const Vars *pat, const Body *b)
{
    VarSet *inside = varmap_new(fl->cx->perm), *asked = varmap_new(fl->cx->perm);
    copy_into(inside, b, variant);
    for (int i = 0; i < b->stms.n; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            varset_add(inside, b->stms.at[i].pat.at[k]);
    for (int k = 0; k < pat->n; k++)
        if (is_row_of(variant, pat, pat->at[k]) && !gives_rows(fl, inside, b, b->res.at[k], asked))
            return false;
    return true;
}

static void add_sizes(VarSet *variant, const Exp *loop)
{
    for (int k = 0; k < loop->loop.params.n; k++) {
        const Var *p = loop->loop.params.at[k];
        if (p->type.rank > 0 && size_turns(loop, p->type.dims[0]))
            varset_add(variant, p->type.dims[0].var);
    }
}

bool carries_rows(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_LOOP || !fl->ragged || fl->level != 1 || (e->attrs & ATTR_SEQUENTIAL) ||
        !has_rows(fl, variant, &e->loop.params) || !has_rows(fl, variant, &s->pat))
        return false;
    add_sizes(variant, e);
    add_variant_params(fl, variant, e);
    return body_gives_rows(fl, variant, &e->loop.params, e->loop.body);
}

bool parts_rows(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    return e->kind == E_IF && fl->ragged && fl->level == 1 && !(e->attrs & ATTR_SEQUENTIAL) &&
           has_rows(fl, variant, &s->pat) && branch_parts(fl, e) &&
           body_gives_rows(fl, variant, &s->pat, e->branch.then_) &&
           body_gives_rows(fl, variant, &s->pat, e->branch.else_);
}

/* Does b nothing but choose between what is there, and compute numbers? */
static bool only_chooses(const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        switch (e->kind) {
        case E_ATOM:
        case E_PRIM:
        case E_CONV:
        case E_INDEX:
        case E_IOTA:
        case E_REPLICATE:
        case E_ARRAYLIT:
            if (exp_traps(e))
                return false;
            break;
        case E_IF:
            if (!only_chooses(e->branch.then_) || !only_chooses(e->branch.else_))
                return false;
            break;
        default: return false;
        }
    }
    return true;
}

bool chooses_rows(Flat *fl, VarSet *variant, const Stm *s)
{
    if (!parts_rows(fl, variant, s) || !only_chooses(s->exp->branch.then_) ||
        !only_chooses(s->exp->branch.else_))
        return false;
    const Var *first = NULL;
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        if (!is_row_of(variant, &s->pat, v))
            continue;
        if (v->type.rank > 1 || (first && !atom_eq(first->type.dims[0], v->type.dims[0])))
            return false;
        first = v;
    }
    return true;
}

/* --- Inner parallelism ---------------------------------------------------------------------- */

static int64_t times(int64_t a, int64_t b)
{
    return a >= PAR_UNKNOWN || b >= PAR_UNKNOWN || a * b >= PAR_UNKNOWN ? PAR_UNKNOWN : a * b;
}

/* The variant set is extended in place while a body is walked: variables are bound once, so what is
 * added for an inner scope does no harm outside. */
static int64_t walk_par(Flat *fl, VarSet *variant, const Body *b)
{
    int64_t par = 0;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_floatable(fl, s) && !exp_uses_any(s->exp, variant))
            continue;
        int64_t p = stm_par(fl, variant, s);
        par = p > par ? p : par;
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return par;
}

static int64_t lambda_par(Flat *fl, VarSet *variant, const Lambda *lam)
{
    if (!lam)
        return 0;
    for (int k = 0; k < lam->params.n; k++)
        varset_add(variant, lam->params.at[k]);
    return walk_par(fl, variant, lam->body);
}

/* Does b's result k vary, given what is in `variant`? Only floatable code keeps invariance. */
static bool result_variant(Flat *fl, VarSet *variant, const Body *b, int k)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_floatable(fl, s) && !exp_uses_any(s->exp, variant))
            continue;
        for (int j = 0; j < s->pat.n; j++)
            varset_add(variant, s->pat.at[j]);
    }
    return atom_variant(variant, b->res.at[k]);
}

void add_variant_params(Flat *fl, VarSet *variant, const Exp *loop)
{
    const Vars *ps = &loop->loop.params;
    for (int k = 0; k < ps->n; k++)
        if (ps->at[k]->type.rank > 0 || atom_variant(variant, loop->loop.inits.at[k]))
            varset_add(variant, ps->at[k]);
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < ps->n; k++)
            if (!varset_has(variant, ps->at[k]) &&
                result_variant(fl, variant, loop->loop.body, k)) {
                varset_add(variant, ps->at[k]);
                changed = true;
            }
    }
}

/* Where what varies becomes parallel, SOACs of varying width inside of loops and branches count. */
static int64_t inside_par(Flat *fl, VarSet *variant, const Body *b)
{
    int64_t par = walk_par(fl, variant, b);
    return fl->ragged && is_ragged_within(fl, variant, b) ? PAR_UNKNOWN : par;
}

/* Of loops and branches that vary: what is constant below a warp stays with its thread. */
static int64_t varying_if_worth(const Flat *fl, int64_t par)
{
    return fl->mode == FLATTEN_FULL || par >= RT_USUAL_WARP ? par : 0;
}

static int64_t loop_par(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    bool may_vary = fl->ragged && fl->level == 1, carries = carries_rows(fl, variant, s);
    if ((types_variant(variant, &e->loop.params) && !carries) ||
        (!may_vary && (e->loop.kind != LOOP_FOR || atom_variant(variant, e->loop.bound))))
        return 0;
    add_variant_params(fl, variant, e);
    bool varies = carries || turns_vary(variant, e);
    int64_t par = inside_par(fl, variant, e->loop.body);
    return varies ? varying_if_worth(fl, par) : par;
}

static int64_t branch_par(Flat *fl, VarSet *variant, const Stm *s)
{
    /* G8 is not among the rules of moderate flattening. */
    const Exp *e = s->exp;
    bool varies = atom_variant(variant, e->branch.test) || parts_rows(fl, variant, s);
    if (fl->mode == FLATTEN_MODERATE ||
        (varies && (!fl->ragged || fl->level != 1 || !branch_parts(fl, e))))
        return 0;
    int64_t a = inside_par(fl, variant, e->branch.then_);
    int64_t b = inside_par(fl, variant, e->branch.else_);
    int64_t par = a > b ? a : b;
    return varies ? varying_if_worth(fl, par) : par;
}

bool soac_is_parallel(Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if ((e->attrs & ATTR_SEQUENTIAL) || types_variant(variant, &s->pat) ||
        atom_variant(variant, e->soac.width))
        return false;
    if (e->kind == E_HIST)
        return hist_is_parallel(fl, variant, e);
    return !e->soac.op || is_flat_op(variant, e) || g4_applies(e) || g14_applies(fl, variant, e);
}

static int64_t soac_par(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (!soac_is_parallel(fl, variant, s))
        return 0;
    /* The static heuristic of moderate flattening: an inner redomap is sequential. */
    if (fl->mode == FLATTEN_MODERATE && e->kind == E_REDOMAP)
        return 0;
    int64_t width = e->soac.width.var ? PAR_UNKNOWN : e->soac.width.c.i;
    if (width < 1)
        width = 1;
    int64_t inner = lambda_par(fl, variant, e->soac.fn);
    return inner > 0 ? times(width, inner) : width;
}

int64_t stm_par(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if ((e->attrs & ATTR_SEQUENTIAL) ||
        (types_variant(variant, &s->pat) && !carries_rows(fl, variant, s) &&
         !parts_rows(fl, variant, s)))
        return 0;
    if (e->kind == E_LOOP)
        return loop_par(fl, variant, s);
    if (e->kind == E_IF)
        return branch_par(fl, variant, s);
    return exp_is_soac(e) ? soac_par(fl, variant, s) : 0;
}

int64_t nest_body_par(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    return walk_par(fl, variant, b);
}

int64_t group_body_par(Flat *fl, const Body *b)
{
    return walk_par(fl, varmap_new(fl->cx->perm), b);
}

static int64_t varying_in(Flat *fl, VarSet *variant, const Body *b);

/* Of a loop or branch; fl is one that exploits what varies. */
static int64_t varying_stm(Flat *fl, VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    int64_t par = stm_par(fl, variant, s);
    if (par == 0)
        return 0;
    if (e->kind == E_LOOP)
        return turns_vary(variant, e) || carries_rows(fl, variant, s)
                   ? par
                   : varying_in(fl, variant, e->loop.body);
    if (atom_variant(variant, e->branch.test) || parts_rows(fl, variant, s))
        return par;
    int64_t a = varying_in(fl, variant, e->branch.then_);
    int64_t b = varying_in(fl, variant, e->branch.else_);
    return a > b ? a : b;
}

static int64_t varying_in(Flat *fl, VarSet *variant, const Body *b)
{
    int64_t most = 0;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_floatable(fl, s) && !exp_uses_any(s->exp, variant))
            continue;
        bool inside = s->exp->kind == E_LOOP || s->exp->kind == E_IF;
        int64_t par = inside ? varying_stm(fl, variant, s) : 0;
        most = par > most ? par : most;
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return most;
}

int64_t varying_par(const Flat *fl, const MapNest *S, const Body *b)
{
    Flat all = *fl;
    VarSet *variant = varmap_new(fl->cx->perm);
    all.ragged = true;
    nest_vars(S, variant);
    return varying_in(&all, variant, b);
}

static bool rows_turn_in(Flat *fl, VarSet *variant, const Body *b)
{
    bool found = false;
    for (int i = 0; i < b->stms.n && !found; i++) {
        const Stm *s = &b->stms.at[i];
        found = s->exp->kind == E_LOOP && stm_par(fl, variant, s) > 0 &&
                (carries_rows(fl, variant, s) || rows_turn_in(fl, variant, s->exp->loop.body));
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return found;
}

bool rows_in_turns(const Flat *fl, const MapNest *S, const Body *b)
{
    Flat all = *fl;
    VarSet *variant = varmap_new(fl->cx->perm);
    all.ragged = fl->mode == FLATTEN_INCREMENTAL || fl->mode == FLATTEN_FULL;
    nest_vars(S, variant);
    return rows_turn_in(&all, variant, b);
}

static bool reads_regular(const VarSet *variant, const Exp *e)
{
    static const Vars none;
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (type_variant(variant, atom_type(e->soac.arrs.at[k]), &none))
            return false;
    return true;
}

/* Does a SOAC of b, of a width that does not vary, hold what varies with the nest? */
static bool holds_varying(Flat *fl, VarSet *variant, const Body *b)
{
    bool holds = false;
    for (int i = 0; i < b->stms.n && !holds; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *e = s->exp;
        if (exp_is_soac(e) && e->soac.fn && reads_regular(variant, e) &&
            soac_is_parallel(fl, variant, s)) {
            for (int k = 0; k < e->soac.fn->params.n; k++)
                varset_add(variant, e->soac.fn->params.at[k]);
            const Body *in = e->soac.fn->body;
            holds = varying_in(fl, variant, in) > 0 || is_ragged_within(fl, variant, in) ||
                    holds_varying(fl, variant, in);
        }
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return holds;
}

int64_t worthwhile_par(Flat *fl, const MapNest *S, const Body *b)
{
    int64_t par = nest_body_par(fl, S, b);
    if (par == 0 || par >= RT_USUAL_WARP || fl->level != 1 || fl->mode != FLATTEN_INCREMENTAL)
        return par;
    Flat all = *fl;
    VarSet *variant = varmap_new(fl->cx->perm);
    all.ragged = true;
    nest_vars(S, variant);
    return holds_varying(&all, variant, b) ? PAR_UNKNOWN : par;
}

/* The map that is all that is parallel in b; NULL: nothing is, or (*more) something else is. */
static const Exp *sole_map(const Body *b, bool *more)
{
    const Exp *map = NULL;
    *more = false;
    for (int i = 0; i < b->stms.n && !*more; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (!exp_has_soac(e))
            continue;
        *more = e->kind != E_MAP || map;
        map = e;
    }
    return *more ? NULL : map;
}

/* Is a version that keeps intermediate values near worth trying? Not if b is scalar code around a
 * single map, and that map's body likewise: nothing is used twice. */
bool has_recurrence(const Body *b)
{
    bool more;
    const Exp *map = sole_map(b, &more);
    return more || (map && has_recurrence(map->soac.fn->body));
}

/* Is all that is parallel in b of constant widths below a warp? */
static bool is_little(const Body *b)
{
    bool little = true;
    for (int i = 0; i < b->stms.n && little; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (!exp_has_soac(e))
            continue;
        little = exp_is_soac(e) && !e->soac.width.var && e->soac.width.c.i < RT_USUAL_WARP &&
                 (!e->soac.fn || is_little(e->soac.fn->body)) &&
                 (!e->soac.op || is_little(e->soac.op->body));
    }
    return little;
}

bool keeps_little(const Body *b)
{
    bool more;
    const Exp *map = sole_map(b, &more);
    return map && (is_little(map->soac.fn->body) || keeps_little(map->soac.fn->body));
}

static bool is_turning(const Exp *e)
{
    Atom n = e->loop.bound;
    if (exp_is_soac(e))
        n = e->soac.width;
    else if (e->kind != E_LOOP)
        return false;
    bool counts = e->kind != E_LOOP || e->loop.kind == LOOP_FOR;
    return !counts || n.var || n.c.i >= RT_USUAL_WARP;
}

bool turns_often(const Body *b)
{
    return body_any(b, is_turning);
}

bool loop_frees(Flat *fl, const MapNest *S, const Exp *map)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    bool any = false;
    for (int k = 0; k < map->soac.arrs.n; k++) {
        const Exp *def = def_of(fl, map->soac.arrs.at[k]);
        if (def && def->kind == E_IOTA && !atom_variant(variant, map->soac.arrs.at[k]))
            any = true;
        else
            varset_add(variant, map->soac.fn->params.at[k]);
    }
    return any && walk_par(fl, variant, map->soac.fn->body) > 0;
}

/* --- Hoisting ------------------------------------------------------------------------------- */

typedef struct {
    Flat *fl;
    VarSet *variant;
    Bld *out;
    int branches; /* around the statement at hand */
} Hoist;

static Body *hoist_body(void *env, Body *b);

static Var *hoist_binder(void *env, Var *v)
{
    varset_add(((Hoist *)env)->variant, v);
    return v;
}

static Lambda *hoist_lambda(void *env, Lambda *lam)
{
    for (int k = 0; k < lam->params.n; k++)
        hoist_binder(env, lam->params.at[k]);
    return lambda_new(((Hoist *)env)->fl->cx, lam->params, hoist_body(env, lam->body));
}

/* An array is not made outside a branch: there, nothing has checked that its size is not negative.
 */
static bool leaves(const Hoist *h, const Stm *s)
{
    return is_floatable(h->fl, s) && !exp_uses_any(s->exp, h->variant) &&
           !(h->branches && (s->exp->kind == E_IOTA || s->exp->kind == E_REPLICATE));
}

static Body *hoist_body(void *env, Body *b)
{
    Hoist *h = env;
    Bld bl = bld_new(h->fl->cx);
    ExpMapper m = {.env = h, .binder = hoist_binder, .body = hoist_body, .lambda = hoist_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (leaves(h, &s)) {
            bld_stm(h->out, s);
            continue;
        }
        h->branches += s.exp->kind == E_IF;
        for (int k = 0; k < s.pat.n; k++)
            varset_add(h->variant, s.pat.at[k]);
        if (exp_is_soac(s.exp) || s.exp->kind == E_LOOP || s.exp->kind == E_IF)
            s.exp = exp_map_parts(h->fl->cx, s.exp, &m);
        h->branches -= s.exp->kind == E_IF;
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Body *hoist_invariants(Flat *fl, const VarSet *variant, const Body *b, Bld *out)
{
    VarSet *mine = varmap_new(fl->cx->perm);
    copy_into(mine, b, variant);
    Hoist h = {fl, mine, out, 0};
    return hoist_body(&h, (Body *)(uintptr_t)b);
}
