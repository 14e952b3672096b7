/* Hoisting: what a loop, a lambda or a mapnest computes anew each time is computed once before it.
 *
 *     loop (x = a) for i < n do { let k = n * m; f x k }     let k = n * m
 *                                                        =>  loop (x = a) for i < n do { f x k }
 *
 * Inside out: what leaves an inner construct is considered again for the outer one. A statement may
 * leave a construct if its operands are bound outside, it consumes nothing, its results are never
 * consumed (else each run needs its own), and it does not trap: the construct may run zero times.
 * Arrays of sizes that nothing shows to be natural numbers count as trapping, and so do reshapes
 * whose sizes are not plainly equal, and accesses whose proof of being within bounds is not found
 * outside (ranges_safe). A trapping statement leaves only a loop that certainly runs,
 * and only from before everything else that may fail. Nothing leaves a branch.
 *
 * Where it goes matters too:
 *   - Out of parallel code to the host (from the outermost SOAC or a mapnest of level >= 1): no
 *     element of an array is read there, which would wait for the device.
 *   - Out of a mapnest (SEG dialect): only scalars and views. An array made inside a kernel is
 *     private or local memory; outside it would be another kernel's work.
 *   - In the SOAC dialect inner parallel operations leave, too: they stay parallel, with less to
 *     do.
 *
 * Before and after: well-formed. */
#include "ir/ranges.h"

typedef struct {
    Ctx *cx;
    unsigned dialect;
    VarSet *unstable; /* arrays that are consumed somewhere */
    VarMap *defs;     /* Var -> Def * */
    Ranges *ra;       /* what is known at the place at hand */
    VarSet *sizes;    /* sizes of arrays in scope: not negative */
    Vars size_list;
    int depth; /* of parallel constructs around the place at hand */
} Hoist;

/* What statements leave, and how. */
typedef struct {
    bool parallel; /* SOAC of the SOAC dialect, mapnest */
    bool mapnest;
    bool runs; /* at least once */
} Around;

static Body *hoist_body(Hoist *H, const Body *b);

/* --- Sizes ---------------------------------------------------------------------------------- */

static void note_size(Hoist *H, Atom a)
{
    if (!a.var || varset_has(H->sizes, a.var))
        return;
    varset_add(H->sizes, a.var);
    vec_push(H->cx->perm, &H->size_list, a.var);
}

static void note_type(Hoist *H, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (ranges_dim_exists(H->ra, t, d))
            note_size(H, t.dims[d]);
}

/* What a statement that was put in front of the place at hand says. */
static void note_stm(Hoist *H, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        note_type(H, s->pat.at[k]->type);
    ranges_bind(H->ra, &s->pat, s->exp);
}

typedef struct {
    int sizes, facts;
} Mark;

static Mark mark(const Hoist *H)
{
    return (Mark){H->size_list.n, ranges_mark(H->ra)};
}

/* Forgets what was noted since. */
static void leave(Hoist *H, Mark m)
{
    while (H->size_list.n > m.sizes)
        varmap_del(H->sizes, H->size_list.at[--H->size_list.n]);
    ranges_reset(H->ra, m.facts);
}

static bool is_natural(const Hoist *H, Atom a)
{
    return a.var ? varset_has(H->sizes, a.var) : a.c.i >= 0;
}

static bool all_natural(const Hoist *H, const Atom *dims, int n)
{
    for (int i = 0; i < n; i++)
        if (!is_natural(H, dims[i]))
            return false;
    return true;
}

/* The factors of a product of sizes. */
static void factors(const Hoist *H, Atom a, Atoms *out, int64_t *c)
{
    const Def *d = a.var ? varmap_get(H->defs, a.var) : NULL;
    const Exp *e = d ? d->exp : NULL;
    if (!a.var) {
        *c = (int64_t)((uint64_t)*c * (uint64_t)a.c.i);
    } else if (e && e->kind == E_PRIM && e->prim.op == OP_MUL) {
        factors(H, e->prim.args.at[0], out, c);
        factors(H, e->prim.args.at[1], out, c);
    } else {
        vec_push(H->cx->perm, out, a);
    }
}

static bool same_product(const Hoist *H, const Atom *x, int nx, const Atom *y, int ny)
{
    Atoms fx = {0}, fy = {0};
    int64_t cx = 1, cy = 1;
    for (int i = 0; i < nx; i++)
        factors(H, x[i], &fx, &cx);
    for (int i = 0; i < ny; i++)
        factors(H, y[i], &fy, &cy);
    if (cx != cy || fx.n != fy.n)
        return false;
    for (int i = 0; i < fx.n; i++) {
        int j = i;
        while (j < fy.n && !atom_eq(fx.at[i], fy.at[j]))
            j++;
        if (j == fy.n)
            return false;
        Atom t = fy.at[i];
        fy.at[i] = fy.at[j];
        fy.at[j] = t;
    }
    return true;
}

static bool bad_size(const Hoist *H, const Stm *s);

typedef struct {
    const Hoist *H;
    bool bad;
} BadSizes;

static void bad_in_body(void *env, Body *b)
{
    BadSizes *bs = env;
    for (int i = 0; i < b->stms.n && !bs->bad; i++)
        bs->bad = bad_size(bs->H, &b->stms.at[i]);
}

static void bad_in_lambda(void *env, Lambda *l)
{
    bad_in_body(env, l->body);
}

/* Can the statement fail where exp_traps sees no check: by a size that is negative or disagrees? */
static bool bad_size(const Hoist *H, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind == E_RESHAPE) {
        Type t = atom_type(e->reshape.arr);
        return !same_product(H, t.dims, t.rank, e->reshape.dims.at, e->reshape.dims.n);
    }
    if (e->kind == E_INDEX || e->kind == E_REARRANGE || e->kind == E_ATOM || e->kind == E_COPY)
        return false;
    for (int k = 0; k < s->pat.n; k++)
        if (!all_natural(H, s->pat.at[k]->type.dims, s->pat.at[k]->type.rank))
            return true;
    BadSizes bs = {H, false};
    ExpVisitor v = {.env = &bs, .body = bad_in_body, .lambda = bad_in_lambda};
    exp_visit(e, &v);
    return bs.bad;
}

/* --- May it leave? -------------------------------------------------------------------------- */

static bool is_view(const Stm *s)
{
    ExpKind k = s->exp->kind;
    return k == E_REARRANGE || k == E_RESHAPE || k == E_ATOM ||
           (k == E_INDEX && s->pat.at[0]->type.rank > 0);
}

static bool scalar_results(const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        if (s->pat.at[k]->type.rank > 0)
            return false;
    return true;
}

static bool place_allows(const Hoist *H, const Around *ar, const Stm *s)
{
    ExpKind k = s->exp->kind;
    bool reads = k == E_INDEX && s->pat.at[0]->type.rank == 0;
    if (ar->parallel && H->depth == 0 && reads)
        return false;
    if (!ar->mapnest)
        return true;
    return is_view(s) || (!exp_is(s->exp, F_CODE) && scalar_results(s));
}

static bool may_leave(Hoist *H, const Around *ar, const Stm *s, const VarSet *inside, bool first)
{
    if (exp_is(s->exp, F_STAYS) || !place_allows(H, ar, s))
        return false;
    bool stays = exp_uses_any(s->exp, inside);
    for (int k = 0; k < s->pat.n && !stays; k++) {
        Type t = s->pat.at[k]->type;
        stays = varset_has(H->unstable, s->pat.at[k]);
        for (int d = 0; d < t.rank && !stays; d++)
            stays = t.dims[d].var && varset_has(inside, t.dims[d].var);
    }
    if (stays || exp_has_effect(s->exp) || exp_consumes(H->cx, s->exp).n > 0)
        return false;
    if (!exp_traps(s->exp) && !bad_size(H, s) && ranges_safe(H->ra, s->exp))
        return true;
    return ar->runs && first && s->exp->kind != E_LOOP;
}

/* The statements of b that may leave go to bl; the others are returned as its body. `inside`: what
 * the construct binds, extended by what stays. */
static Body *split(Hoist *H, const Around *ar, const Body *b, VarSet *inside, Bld *bl)
{
    Bld stay = bld_new(H->cx);
    bool first = true; /* nothing that may fail stays so far */
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (may_leave(H, ar, s, inside, first)) {
            bld_stm(bl, *s);
            note_stm(H, s);
            continue;
        }
        first = first && !exp_traps(s->exp) && !bad_size(H, s);
        bld_stm(&stay, *s);
        for (int k = 0; k < s->pat.n; k++)
            varset_add(inside, s->pat.at[k]);
    }
    return bld_body(&stay, b->res);
}

/* --- Constructs ----------------------------------------------------------------------------- */

static void bind_inside(VarSet *inside, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        varset_add(inside, vs->at[i]);
}

static bool at_least_one(Atom n)
{
    return !n.var && n.c.i > 0;
}

/* What stays of a construct's body; `m` was marked before what its binders say was noted. */
static Body *hoist_from(Hoist *H, const Around *ar, const Body *b, VarSet *inside, Mark m, Bld *bl)
{
    H->depth += ar->parallel;
    Body *r = hoist_body(H, b);
    H->depth -= ar->parallel;
    leave(H, m);
    return split(H, ar, r, inside, bl);
}

static Lambda *hoist_lambda(Hoist *H, const Around *ar, const Lambda *l, const Atoms *arrs, Bld *bl)
{
    if (!l)
        return NULL;
    Mark m = mark(H);
    VarSet *inside = varmap_new(H->cx->scratch);
    bind_inside(inside, &l->params);
    ranges_rows(H->ra, &l->params, arrs);
    return lambda_new(H->cx, l->params, hoist_from(H, ar, l->body, inside, m, bl));
}

static Exp *hoist_loop(Hoist *H, const Exp *e, Exp *r, Bld *bl)
{
    Mark m = mark(H);
    VarSet *inside = varmap_new(H->cx->scratch);
    bind_inside(inside, &e->loop.params);
    if (e->loop.i)
        varset_add(inside, e->loop.i);
    ranges_loop(H->ra, e);
    Around ar = {.runs = e->loop.kind == LOOP_FOR && at_least_one(e->loop.bound)};
    r->loop.body = hoist_from(H, &ar, e->loop.body, inside, m, bl);
    return r;
}

static const Atoms no_arrays;

static Exp *hoist_soac(Hoist *H, const Exp *e, Exp *r, Bld *bl)
{
    Around ar = {.parallel = H->dialect == D_SOAC, .runs = at_least_one(e->soac.width)};
    /* Assertions and checks of another function come in between. */
    Around op = {.parallel = ar.parallel};
    r->soac.fn = hoist_lambda(H, &ar, e->soac.fn, &e->soac.arrs, bl);
    r->soac.op = hoist_lambda(H, &op, e->soac.op, &no_arrays, bl);
    return r;
}

static Exp *hoist_seg(Hoist *H, const Exp *e, Exp *r, Bld *bl)
{
    Mark m = mark(H);
    VarSet *inside = varmap_new(H->cx->scratch);
    for (int d = 0; d < e->seg.nest.n; d++) {
        varset_add(inside, e->seg.nest.at[d].idx);
        if (e->seg.nest.at[d].row)
            varset_add(inside, e->seg.nest.at[d].row);
        bind_inside(inside, &e->seg.nest.at[d].xs);
        ranges_dim(H->ra, &e->seg.nest.at[d]);
    }
    Around ar = {.parallel = true, .mapnest = true};
    r->seg.body = hoist_from(H, &ar, e->seg.body, inside, m, bl);
    r->seg.op = hoist_lambda(H, &ar, e->seg.op, &no_arrays, bl);
    return r;
}

static Body *hoist_branch(Hoist *H, const Exp *e, bool truth)
{
    Mark m = mark(H);
    ranges_cond(H->ra, e->branch.test, truth);
    Body *b = hoist_body(H, truth ? e->branch.then_ : e->branch.else_);
    leave(H, m);
    return b;
}

static Exp *hoist_exp(Hoist *H, const Exp *e, Bld *bl)
{
    ExpMapper keep = {0};
    if (!exp_is(e, F_CODE))
        return exp_map_parts(H->cx, e, &keep);
    Exp *r = exp_map_parts(H->cx, e, &keep);
    if (e->kind == E_LOOP)
        return hoist_loop(H, e, r, bl);
    if (exp_is_soac(e))
        return hoist_soac(H, e, r, bl);
    if (exp_is_seg(e))
        return hoist_seg(H, e, r, bl);
    if (exp_member(e) == M_deriv) {
        Around once = {.runs = true}, maybe = {.runs = false};
        r->deriv.fn = hoist_lambda(H, &once, e->deriv.fn, &no_arrays, bl);
        if (e->kind == E_WITH_VJP)
            r->deriv.back = hoist_lambda(H, &maybe, e->deriv.back, &no_arrays, bl);
        return r;
    }
    r->branch.then_ = hoist_branch(H, e, true);
    r->branch.else_ = hoist_branch(H, e, false);
    return r;
}

static Body *hoist_body(Hoist *H, const Body *b)
{
    Bld bl = bld_new(H->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        s.exp = hoist_exp(H, s.exp, &bl);
        note_stm(H, &s);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Prog *pass_hoist(Ctx *cx, const Prog *in)
{
    Arena *mem = arena_new();
    Ctx own = {.perm = cx->perm, .scratch = mem, .flatten_mode = cx->flatten_mode};
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Hoist H = {.cx = &own, .dialect = in->dialect};
        H.unstable = alias_consumed(&own, &en);
        H.defs = varmap_new(mem);
        H.sizes = varmap_new(mem);
        H.ra = ranges_new(&own, H.defs);
        for (int k = 0; k < en.params.n; k++) {
            Type t = en.params.at[k]->type;
            ranges_given(H.ra, t);
            for (int d = 0; d < t.rank; d++)
                note_size(&H, t.dims[d]);
        }
        en.body = hoist_body(&H, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    arena_free(mem);
    return p;
}
