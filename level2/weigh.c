/* How long SOACs take, untuned: what is spared if their elements are shared out (mf_shares).
 *
 * Read off the program's text, for an element of each SOAC of the host, in additions: a polynomial
 * in the sizes that nests go over. An element of an array costs by its bytes where it lies in the
 * device's memory and comes from there, which is where each element of all nests around reads
 * another one; what changes with some of the nests alone stays in caches, as operands of products
 * do. It is too little rather than too much: turns of while loops count once, and so do sizes that
 * are not known before the SOAC. */
#include "level2/shares.h"

/* Additions in the time in which a byte comes from memory; bytes that come at once wherever they
 * lie; additions for an element of an array that a thread, or a group, keeps for itself; operations
 * on halves, by matrix units, for one on floats. */
enum { BYTE = 6, SECTOR = 32, NEAR = 4, HALVES = 16 };
enum { MOST_TERMS = 24, MOST_LEVELS = 64 };

/* What is known of a variable. */
typedef struct {
    uint64_t levels; /* of nests and loops around: it is another one in each of their turns */
    bool outside;    /* an array in the device's memory, or rows of one */
    bool number;     /* of iotas and the like: it is computed where it is read */
    bool loaded;     /* a scalar made of elements of arrays */
} Known;

typedef struct {
    Ctx *cx;
    VarMap *known;    /* Var -> Known; not there: an array of the host, or a number of all */
    CostTerms *terms; /* of the SOAC at work */
    int depth;        /* nests and loops around */
} Weigh;

static void weigh_body(Weigh *w, const Body *b, CostTerm at);

static uint64_t level_bit(int depth)
{
    return UINT64_C(1) << (depth < MOST_LEVELS ? depth : MOST_LEVELS - 1);
}

/* All levels around. */
static uint64_t around(const Weigh *w)
{
    return w->depth < MOST_LEVELS ? level_bit(w->depth) - 1 : UINT64_MAX;
}

static Known known_of(const Weigh *w, Atom a)
{
    const Known *k = a.var ? varmap_get(w->known, a.var) : NULL;
    return k ? *k : (Known){.outside = a.var && a.var->type.rank > 0};
}

static void know(Weigh *w, const Var *v, Known k)
{
    Known *own = NEW(w->cx->scratch, Known);
    *own = k;
    varmap_put(w->known, v, own);
}

/* --- Terms ---------------------------------------------------------------------------------- */

static CostTerm term_times(Weigh *w, CostTerm t, Atom size)
{
    Atoms sizes = {0};
    vec_append(w->cx->perm, &sizes, &t.sizes);
    vec_push(w->cx->perm, &sizes, size);
    t.sizes = sizes;
    return t;
}

static bool same_sizes(const Atoms *a, const Atoms *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = atom_eq(a->at[i], b->at[i]);
    return same;
}

/* Adds t to the terms, or to the one of the same sizes. */
static void add_term(Ctx *cx, CostTerms *terms, CostTerm t)
{
    for (int i = 0; i < terms->n; i++)
        if (same_sizes(&terms->at[i].sizes, &t.sizes)) {
            terms->at[i].times += t.times;
            terms->at[i].nest |= t.nest;
            return;
        }
    vec_push(cx->perm, terms, t);
}

/* `each` additions wherever t is. */
static void charge(Weigh *w, CostTerm t, double each)
{
    t.times *= each;
    add_term(w->cx, w->terms, t);
}

/* An element of an array is read, or written, each time somewhere else in `levels`. */
static void charge_element(Weigh *w, CostTerm at, PrimType t, Known arr, uint64_t levels,
                           bool anywhere)
{
    if (arr.number || levels != around(w))
        return;
    charge(w, at, !arr.outside ? NEAR : anywhere ? SECTOR * BYTE : prim_type_bytes[t] * BYTE);
}

/* All elements of a type, `each` additions. */
static void charge_all(Weigh *w, CostTerm at, Type t, double each)
{
    for (int d = 0; d < t.rank; d++)
        at = term_times(w, at, t.dims[d]);
    at.nest = at.nest && t.rank == 0;
    charge(w, at, each);
}

/* --- Expressions ---------------------------------------------------------------------------- */

typedef struct {
    const Weigh *w;
    Known k;
} Joined;

static void join_atom(void *env, Atom a)
{
    Joined *j = env;
    Known k = known_of(j->w, a);
    j->k.levels |= k.levels;
    j->k.loaded |= k.loaded;
}

/* Of what is made of e's operands. */
static Known known_of_parts(const Weigh *w, const Exp *e)
{
    Joined j = {.w = w};
    exp_visit(e, &(ExpVisitor){.env = &j, .atom = join_atom});
    return j.k;
}

static void weigh_view(Weigh *w, const Stm *s, CostTerm at)
{
    const Exp *e = s->exp;
    Known arr = known_of(w, exp_view_of(e)), k = known_of_parts(w, e);
    bool anywhere = false;
    k.levels |= arr.levels;
    k.outside = arr.outside;
    k.number = arr.number;
    for (int i = 0; e->kind == E_INDEX && i < e->index.at.n; i++)
        anywhere |= known_of(w, e->index.at.at[i].start).loaded;
    if (s->pat.at[0]->type.rank == 0) {
        charge_element(w, at, s->pat.at[0]->type.elem, arr, k.levels, anywhere);
        k.outside = false;
        k.loaded = !arr.number;
    }
    know(w, s->pat.at[0], k);
}

/* The elements that e reads; what its function has of them. */
static void weigh_inputs(Weigh *w, const Exp *e, CostTerm at)
{
    uint64_t own = level_bit(w->depth - 1);
    for (int i = 0; i < e->soac.arrs.n; i++) {
        Type row = type_row(atom_type(e->soac.arrs.at[i]));
        Known k = known_of(w, e->soac.arrs.at[i]);
        k.levels |= own;
        if (row.rank == 0) {
            charge_element(w, at, row.elem, k, k.levels, false);
            k.outside = false;
            k.loaded = !k.number;
        }
        if (e->soac.fn && i < e->soac.fn->params.n)
            know(w, e->soac.fn->params.at[i], k);
    }
}

/* What e keeps for each element. */
static void weigh_results(Weigh *w, const Stm *s, CostTerm at)
{
    const Exp *e = s->exp;
    bool host = w->depth == 1;
    int from = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    if (exp_is(e, F_DESTS)) {
        for (int i = 0; i < s->pat.n; i++)
            charge(w, at, host ? SECTOR * BYTE : NEAR);
        return;
    }
    for (int i = from; i < s->pat.n; i++) {
        Type row = type_row(s->pat.at[i]->type);
        charge_all(w, at, row, host ? prim_type_bytes[row.elem] * BYTE : NEAR);
    }
}

static void weigh_soac(Weigh *w, const Stm *s, CostTerm at)
{
    const Exp *e = s->exp;
    if (w->depth > 0) /* of the host's the width is known to who asks */
        at = term_times(w, at, e->soac.width);
    w->depth++;
    weigh_inputs(w, e, at);
    if (e->soac.fn)
        weigh_body(w, e->soac.fn->body, at);
    for (int i = 0; e->soac.op && i < e->soac.op->params.n; i++)
        know(w, e->soac.op->params.at[i], (Known){.levels = around(w), .loaded = true});
    if (e->soac.op)
        weigh_body(w, e->soac.op->body, at);
    weigh_results(w, s, at);
    w->depth--;
}

static void weigh_loop(Weigh *w, const Exp *e, CostTerm at)
{
    if (e->loop.kind == LOOP_FOR)
        at = term_times(w, at, e->loop.bound);
    w->depth++;
    for (int i = 0; i < e->loop.params.n; i++)
        know(w, e->loop.params.at[i],
             (Known){.levels = around(w), .loaded = known_of(w, e->loop.inits.at[i]).loaded});
    if (e->loop.i)
        know(w, e->loop.i, (Known){.levels = level_bit(w->depth - 1)});
    weigh_body(w, e->loop.body, at);
    w->depth--;
}

static double scalar_cost(const Exp *e)
{
    double cost = e->kind == E_PRIM ? prim_info[e->prim.op].cost : exp_steps(e);
    return e->kind == E_PRIM && e->prim.type == T_F16 ? cost / HALVES : cost;
}

static void weigh_stm(Weigh *w, const Stm *s, CostTerm at)
{
    const Exp *e = s->exp;
    Known k = {.levels = around(w), .number = e->kind == E_IOTA || e->kind == E_REPLICATE};
    if (exp_is(e, F_VIEW) && exp_view_of(e).var && atom_type(exp_view_of(e)).rank > 0) {
        weigh_view(w, s, at);
        return;
    }
    if (exp_is_soac(e)) {
        weigh_soac(w, s, at);
    } else if (e->kind == E_LOOP) {
        weigh_loop(w, e, at);
    } else if (e->kind == E_IF) {
        at.times /= 2; /* either of them */
        weigh_body(w, e->branch.then_, at);
        weigh_body(w, e->branch.else_, at);
    } else if (exp_is(e, F_SCALAR)) {
        charge(w, at, e->kind == E_ATOM ? 0 : scalar_cost(e));
        k = known_of_parts(w, e);
    } else if (exp_is(e, F_ALLOC) && !k.number && e->kind != E_SCRATCH) {
        charge_all(w, at, s->pat.at[0]->type, NEAR);
    }
    for (int i = 0; i < s->pat.n; i++)
        know(w, s->pat.at[i], k);
}

static void weigh_body(Weigh *w, const Body *b, CostTerm at)
{
    for (int i = 0; i < b->stms.n; i++)
        weigh_stm(w, &b->stms.at[i], at);
}

/* --- The host ------------------------------------------------------------------------------- */

static Weight *weight_of(Parts *P, Atom n)
{
    for (int i = 0; i < P->weights.n; i++)
        if (atom_eq(P->weights.at[i]->n, n))
            return P->weights.at[i];
    return NULL;
}

static void weigh_host(Parts *P, Weigh *w, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *e = s->exp;
        if (e->kind == E_LOOP) {
            weigh_host(P, w, e->loop.body);
        } else if (e->kind == E_IF) {
            weigh_host(P, w, e->branch.then_);
            weigh_host(P, w, e->branch.else_);
        } else if (e->kind == E_IOTA || (e->kind == E_REPLICATE && e->replicate.dims.n > 0)) {
            know(w, s->pat.at[0], (Known){.number = true});
        } else if (exp_is_soac(e)) {
            Weight *of = weight_of(P, e->soac.width);
            if (!of) {
                of = NEW(P->cx->perm, Weight);
                *of = (Weight){.n = e->soac.width};
                vec_push(P->cx->perm, &P->weights, of);
            }
            w->terms = &of->terms;
            weigh_soac(w, s, (CostTerm){.times = 1, .nest = true});
        }
    }
}

void weigh_entry(Parts *P, const Body *b)
{
    Weigh w = {.cx = P->cx, .known = varmap_new(P->cx->scratch)};
    weigh_host(P, &w, b);
}

/* Of the nests with the most sizes the first one. */
static const CostTerm *deepest(const Weight *of)
{
    const CostTerm *most = NULL;
    for (int i = 0; of && i < of->terms.n; i++) {
        const CostTerm *t = &of->terms.at[i];
        if (t->nest && (!most || t->sizes.n > most->sizes.n))
            most = t;
    }
    return most;
}

Atom weigh_work(Parts *P, Bld *bl, const Level *level, Atom n, Loc loc)
{
    enum { MOST = 2 }; /* factors: a product must not wrap around */
    const CostTerm *most = deepest(weight_of(P, n));
    int before = level->bl.stms.n;
    Atom work = n;
    for (int i = 0, used = 0; most && i < most->sizes.n && used < MOST; i++) {
        Atom size = most->sizes.at[i];
        if (atom_type(size).elem != T_I64 || !parts_before(P, size, level, before))
            continue;
        work = bld_binop(bl, loc, OP_MUL, work, size);
        used++;
    }
    return work;
}

static Atom as_f64(Bld *bl, Loc loc, Atom a)
{
    return a.var ? bld_exp(bl, "size", exp_conv(bl->cx, loc, T_F64, a))
                 : atom_float(T_F64, (double)a.c.i);
}

static Atom f64_op(Bld *bl, Loc loc, PrimOp op, Atom x, Atom y)
{
    return bld_exp(bl, "cost", exp_binop(bl->cx, loc, op, x, y));
}

/* The terms with those of their sizes that are known before statement `at` of the level. */
static CostTerms terms_here(const Parts *P, const CostTerms *all, const Level *level, int at)
{
    CostTerms terms = {0};
    for (int i = 0; i < all->n; i++) {
        CostTerm t = {.times = all->at[i].times};
        const Atoms *sizes = &all->at[i].sizes;
        for (int k = 0; k < sizes->n; k++)
            if (!sizes->at[k].var)
                t.times *= (double)sizes->at[k].c.i;
            else if (parts_before(P, sizes->at[k], level, at))
                vec_push(P->cx->perm, &t.sizes, sizes->at[k]);
        if (t.times > 0)
            add_term(P->cx, &terms, t);
    }
    return terms;
}

static Atom term_value(Bld *bl, const CostTerm *t, Loc loc)
{
    Atom all = atom_float(T_F64, t->times);
    for (int i = 0; i < t->sizes.n; i++)
        all = f64_op(bl, loc, OP_MUL, all, as_f64(bl, loc, t->sizes.at[i]));
    return all;
}

Atom weigh_cost(Parts *P, Bld *bl, const Level *level, Atom n, Loc loc)
{
    const Weight *of = weight_of(P, n);
    CostTerms terms = of ? terms_here(P, &of->terms, level, level->bl.stms.n) : (CostTerms){0};
    Atom each = atom_float(T_F64, 1);
    int most = 0, used = 0;
    for (int i = 0; i < terms.n; i++)
        most = terms.at[i].sizes.n > most ? terms.at[i].sizes.n : most;
    for (int sizes = most; sizes >= 0; sizes--)
        for (int i = 0; i < terms.n && used < MOST_TERMS; i++) {
            if (terms.at[i].sizes.n != sizes)
                continue;
            Atom value = term_value(bl, &terms.at[i], loc);
            each = used++ == 0 ? value : f64_op(bl, loc, OP_ADD, each, value);
        }
    return f64_op(bl, loc, OP_MUL, each, as_f64(bl, loc, n));
}

/* --- Exchanges ------------------------------------------------------------------------------ */

static bool is_exchange(const Exp *e)
{
    return e->kind == E_EXCHANGE || e->kind == E_GATHER;
}

/* The tests of branches in which ranks exchange something. */
static void note_exchanges(VarSet *tests, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_LOOP)
            note_exchanges(tests, e->loop.body);
        if (e->kind != E_IF)
            continue;
        note_exchanges(tests, e->branch.then_);
        note_exchanges(tests, e->branch.else_);
        if (e->branch.test.var && body_any(e->branch.then_, is_exchange))
            varset_add(tests, e->branch.test.var);
    }
}

static void tell_exchanges(Ctx *cx, const VarSet *tests, Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        Exp *e = s->exp;
        if (e->kind == E_LOOP)
            tell_exchanges(cx, tests, e->loop.body);
        if (e->kind == E_IF) {
            tell_exchanges(cx, tests, e->branch.then_);
            tell_exchanges(cx, tests, e->branch.else_);
        }
        if (e->kind == E_SHARED)
            vec_push(cx->perm, &e->ranks.args, atom_i64(varset_has(tests, s->pat.at[0])));
    }
}

void weigh_exchanges(Ctx *cx, Entry *en)
{
    VarSet *tests = varmap_new(cx->scratch);
    note_exchanges(tests, en->body);
    tell_exchanges(cx, tests, en->body);
}
