/* How a grid-level construct reads arrays: for each access of an array from outside, which of its
 * dimensions varies over neighbouring work-items.
 *
 * A construct numbers its work-items with the innermost index of its nest varying fastest, so an
 * access a[.., i, .., k] with fast index i wants the dimension of i innermost in memory. Around
 * work-group code (level 0) the indices of the grid-level nest are all outer, and the innermost
 * index of each level-0 nest is the fast one. Where a thread folds a whole segment (operators on
 * arrays), it walks along the innermost dimension, and the one before is fast. */
#include "memory/layout.h"

#include "ir/chains/attention.h"

#include <string.h>

/* How an index depends on the thread. */
typedef enum {
    IX_SAME,  /* the same for all threads */
    IX_OUTER, /* changes with the outer indices of the nest only */
    IX_SEQ,   /* runs as the thread runs */
    IX_FAST,  /* the innermost index of the nest, plus something of the above */
    IX_MIXED  /* anything else: a multiple of the fast index, data */
} IxKind;

/* Which part of an outer array a variable inside the body is. */
typedef struct {
    Var *root; /* NULL: an array of the body's own */
    int n_free;
    int free[MAX_DIMS]; /* dimension of the variable -> dimension of root */
    IxKind
        at[MAX_DIMS]; /* per dimension of root: the index, or for a free one what is added to it */
} Part;

typedef struct {
    Ctx *cx;
    VarMap *views; /* array variables bound in the construct -> Part */
    VarMap *kinds; /* scalars bound in the construct -> IxKind + 1 (as a pointer) */
    Accesses found;
    int depth; /* indices of the nests around, level 0 included */
    bool rows; /* the nest's points have rows: neighbours mostly the same */
} Scan;

/* --- Indices ------------------------------------------------------------------------- */

static const char kind_tags[5];

static void set_kind(Scan *sc, const Var *v, IxKind k)
{
    varmap_put(sc->kinds, v, &kind_tags[k]);
}

static IxKind kind_of(const Scan *sc, Atom a)
{
    const char *tag = a.var ? varmap_get(sc->kinds, a.var) : NULL;
    return tag ? (IxKind)(tag - kind_tags) : IX_SAME;
}

static IxKind max_kind(IxKind a, IxKind b)
{
    return a > b ? a : b;
}

/* The kind of a + b. */
static IxKind kind_sum(IxKind a, IxKind b)
{
    return a == IX_FAST && b == IX_FAST ? IX_MIXED : max_kind(a, b);
}

static IxKind kind_prim(const Scan *sc, const Exp *e)
{
    const Atoms *args = &e->prim.args;
    IxKind a = kind_of(sc, args->at[0]);
    if (args->n == 1)
        return a == IX_FAST ? IX_MIXED : a;
    IxKind b = kind_of(sc, args->at[1]);
    PrimOp op = e->prim.op;
    if (op == OP_ADD || op == OP_MIN || op == OP_MAX || (op == OP_SUB && b != IX_FAST))
        return kind_sum(a, b);
    /* A flat index taken apart: the remainder runs, the quotient stays for as long. */
    if (a == IX_FAST && b == IX_SAME && (op == OP_MOD || op == OP_REM))
        return IX_FAST;
    if (a == IX_FAST && b == IX_SAME && (op == OP_DIV || op == OP_QUOT))
        return IX_OUTER;
    IxKind m = max_kind(a, b);
    return m == IX_FAST ? IX_MIXED : m;
}

/* --- Views --------------------------------------------------------------------------- */

static void set_view(Scan *sc, const Var *v, Part w)
{
    Part *p = NEW(sc->cx->scratch, Part);
    *p = w;
    varmap_put(sc->views, v, p);
}

/* An array that is not bound in the construct is an outer one, whole. */
static Part view_of(const Scan *sc, Atom a)
{
    const Part *known = varmap_get(sc->views, a.var);
    if (known)
        return *known;
    Part w = {.root = a.var, .n_free = a.var->type.rank};
    if (w.n_free > MAX_DIMS)
        w.root = NULL;
    for (int k = 0; w.root && k < w.n_free; k++)
        w.free[k] = k;
    return w;
}

/* w with its first dimension fixed by an index of that kind. */
static Part view_row(Part w, IxKind k)
{
    if (!w.root)
        return w;
    w.at[w.free[0]] = kind_sum(w.at[w.free[0]], k);
    w.n_free--;
    memmove(w.free, w.free + 1, sizeof *w.free * (size_t)w.n_free);
    return w;
}

/* The layout for accesses of that kind: what the thread walks along outermost, then the outer
 * indices, the fast one innermost. (Kernels lay out the rows that their threads make in the same
 * way.) */
static void wanted_perm(const Part *w, int fast, int *perm)
{
    int n = 0, rank = w->root->type.rank;
    for (int d = 0; d < rank; d++)
        if (w->at[d] != IX_OUTER && d != fast)
            perm[n++] = d;
    for (int d = 0; d < rank; d++)
        if (w->at[d] == IX_OUTER)
            perm[n++] = d;
    perm[n] = fast;
}

/* An element of w is read, its free dimensions running as the thread runs. */
static void access_view(Scan *sc, Part w)
{
    if (!w.root)
        return;
    for (int k = 0; k < w.n_free; k++)
        w.at[w.free[k]] = kind_sum(w.at[w.free[k]], IX_SEQ);
    int fast = -1, of_nest = 0, n_fast = 0;
    bool walks = false, part = false, mixed = false;
    Type t = w.root->type;
    Access ac = {.arr = w.root, .fast = t.rank - 1};
    for (int d = 0; d < t.rank; d++) {
        ac.perm[d] = d;
        walks |= w.at[d] == IX_SEQ;
        part |= w.at[d] == IX_SAME;
        mixed |= w.at[d] == IX_MIXED;
        of_nest += w.at[d] == IX_OUTER || w.at[d] == IX_FAST;
        if (w.at[d] == IX_FAST) {
            fast = d;
            n_fast++;
        }
    }
    ac.walks = walks && of_nest >= sc->depth;
    if (mixed || n_fast > 1) {
        ac.kind = WANT_GUESS;
    } else if (n_fast == 1) {
        bool again = walks || of_nest < sc->depth;
        ac.kind = part && !walks ? WANT_PART : again ? WANT_AGAIN : WANT_ONCE;
        ac.fast = fast;
        if (fast < t.rank - 1) /* else right if it is row-major */
            wanted_perm(&w, fast, ac.perm);
    } else {
        return;
    }
    vec_push(sc->cx->scratch, &sc->found, ac);
}

static void access_atom(void *env, Atom a)
{
    Scan *sc = env;
    if (a.var && a.var->type.rank > 0)
        access_view(sc, view_of(sc, a));
}

/* --- Bodies -------------------------------------------------------------------------- */

static void scan_body(Scan *sc, const Body *b);

/* A variable that stands for something of the body's own. */
static void bind_own(Scan *sc, const Var *v, IxKind k)
{
    if (v->type.rank > 0)
        set_view(sc, v, (Part){0});
    else
        set_kind(sc, v, k);
}

static void scan_index(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    Part w = view_of(sc, e->index.arr), r = w;
    const Var *v = s->pat.at[0];
    IxKind most = w.root ? IX_SAME : IX_MIXED;
    if (w.root) {
        r.n_free = 0;
        for (int k = 0; k < e->index.at.n; k++) {
            DimIndex d = e->index.at.at[k];
            int dim = w.free[k];
            IxKind start = kind_of(sc, d.start);
            most = max_kind(most, start);
            if (d.is_slice) {
                r.free[r.n_free++] = dim;
                if (!atom_is_int(d.stride, 1) && !atom_is_int(d.stride, -1))
                    start = IX_MIXED;
            }
            r.at[dim] = kind_sum(w.at[dim], start);
        }
    }
    if (v->type.rank > 0) {
        set_view(sc, v, r);
        return;
    }
    access_view(sc, r);
    /* What is read of a row, such as where it begins, is known to all of its points. */
    set_kind(sc, v, sc->rows && most <= IX_OUTER ? IX_OUTER : IX_MIXED);
}

/* Parameter p takes the elements of arr, one after the other. */
static void scan_element(Scan *sc, const Var *p, Atom arr)
{
    Part row = view_row(view_of(sc, arr), IX_SEQ);
    if (p->type.rank > 0) {
        set_view(sc, p, row);
        return;
    }
    access_view(sc, row);
    set_kind(sc, p, IX_MIXED);
}

static void scan_lambda(Scan *sc, const Lambda *l, const Atoms *arrs)
{
    if (!l)
        return;
    int first = l->params.n - (arrs ? arrs->n : 0);
    for (int i = 0; i < l->params.n; i++) {
        if (arrs && i >= first)
            scan_element(sc, l->params.at[i], arrs->at[i - first]);
        else
            bind_own(sc, l->params.at[i], IX_MIXED);
    }
    scan_body(sc, l->body);
}

static void scan_loop(Scan *sc, const Exp *e)
{
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *p = e->loop.params.at[i];
        Atom next = e->loop.body->res.at[i];
        if (p->type.rank > 0 && next.var == p)
            set_view(sc, p, view_of(sc, e->loop.inits.at[i]));
        else
            bind_own(sc, p, kind_of(sc, e->loop.inits.at[i]) >= IX_FAST ? IX_MIXED : IX_SEQ);
    }
    if (e->loop.kind == LOOP_FOR)
        set_kind(sc, e->loop.i, IX_SEQ);
    scan_body(sc, e->loop.body);
}

/* Any other form reads its array operands whole. */
static void scan_other(Scan *sc, const Stm *s)
{
    ExpVisitor v = {.env = sc, .atom = access_atom};
    exp_visit(s->exp, &v);
    for (int i = 0; i < s->pat.n; i++)
        bind_own(sc, s->pat.at[i], IX_MIXED);
}

static void scan_rearrange(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    Part w = view_of(sc, e->rearrange.arr), r = w;
    for (int k = 0; w.root && k < w.n_free; k++)
        r.free[k] = w.free[e->rearrange.perm[k]];
    set_view(sc, s->pat.at[0], r);
}

int access_fast_dim(const Exp *seg)
{
    int last = seg->seg.nest.n - 1;
    bool fold = seg->kind == E_SEGRED || seg->kind == E_SEGSCAN;
    for (int i = 0; fold && i < seg->seg.nes.n; i++)
        if (seg->seg.op->params.at[i]->type.rank > 0)
            return last - 1;
    return last;
}

/* The nest of a construct, `fast` its dimension that neighbours differ in (n: none, all are outer).
 * Those behind it a thread walks along, or they are outer as well. */
static void scan_nest(Scan *sc, const Nest *nest, int fast, IxKind behind)
{
    sc->depth += nest->n;
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        IxKind k = d < fast ? IX_OUTER : d == fast ? IX_FAST : behind;
        set_kind(sc, nd->idx, k);
        if (nd->row) {
            set_kind(sc, nd->row, IX_OUTER);
            sc->rows = true;
        }
        for (int j = 0; j < nd->xs.n; j++) {
            const Var *x = nd->xs.at[j];
            Part row = view_row(view_of(sc, nd->arrs.at[j]), k);
            if (x->type.rank > 0) {
                set_view(sc, x, row);
            } else {
                access_view(sc, row);
                set_kind(sc, x, IX_MIXED);
            }
        }
    }
}

/* A level-0 construct inside a level-1 one. */
static void scan_level0(Scan *sc, const Stm *s)
{
    int depth = sc->depth;
    scan_nest(sc, &s->exp->seg.nest, access_fast_dim(s->exp), IX_SEQ);
    scan_body(sc, s->exp->seg.body);
    sc->depth = depth;
    for (int i = 0; i < s->pat.n; i++)
        bind_own(sc, s->pat.at[i], IX_MIXED);
}

/* A scalar that a choice gives is of the worse kind of its two: an index that wraps around or is
 * clamped at a border still runs over neighbouring elements. */
static void scan_choice(Scan *sc, const Stm *s)
{
    const Body *x = s->exp->branch.then_, *y = s->exp->branch.else_;
    scan_body(sc, x);
    scan_body(sc, y);
    for (int k = 0; k < s->pat.n; k++)
        bind_own(sc, s->pat.at[k], max_kind(kind_of(sc, x->res.at[k]), kind_of(sc, y->res.at[k])));
}

static void scan_soac(Scan *sc, const Exp *e)
{
    bool fn = exp_is(e, F_FN);
    if (fn)
        scan_lambda(sc, e->soac.fn, &e->soac.arrs);
    scan_lambda(sc, e->soac.op, fn ? NULL : &e->soac.arrs);
}

static void scan_stm(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    switch (exp_member(e)) {
    case M_atom:
        if (s->pat.at[0]->type.rank > 0)
            set_view(sc, s->pat.at[0], view_of(sc, e->atom));
        else
            set_kind(sc, s->pat.at[0], kind_of(sc, e->atom));
        return;
    case M_prim: set_kind(sc, s->pat.at[0], kind_prim(sc, e)); return;
    case M_conv: set_kind(sc, s->pat.at[0], kind_of(sc, e->conv.arg)); return;
    case M_index: scan_index(sc, s); return;
    case M_rearrange:
        if (exp_is(e, F_VIEW))
            scan_rearrange(sc, s);
        else
            scan_other(sc, s);
        return;
    case M_soac: scan_soac(sc, e); break;
    case M_loop: scan_loop(sc, e); break;
    case M_branch: scan_choice(sc, s); return;
    case M_update:
    case M_call:
    case M_iota:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_reshape:
    case M_copy:
    case M_assertion:
    case M_trace:
    case M_suff:
    case M_ranks: scan_other(sc, s); return;
    case M_seg: scan_level0(sc, s); return;
    case M_deriv:
    case N_MEMBERS: ice(e->loc, "form %d", (int)e->kind);
    }
    for (int i = 0; i < s->pat.n; i++)
        bind_own(sc, s->pat.at[i], IX_MIXED);
}

static void scan_body(Scan *sc, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        scan_stm(sc, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        access_atom(sc, b->res.at[i]);
}

/* ... if neighbours differ in dimension `fast` of the construct. */
static Accesses access_of(Ctx *cx, const Exp *e, int fast)
{
    Scan sc = {.cx = cx, .views = varmap_new(cx->scratch), .kinds = varmap_new(cx->scratch)};
    scan_nest(&sc, &e->seg.nest, fast, e->kind == E_SEGMAP ? IX_OUTER : IX_SEQ);
    scan_body(&sc, e->seg.body);
    return sc.found;
}

/* ... if neighbours are those of its kernels without blocks. */
static Accesses access_of_threads(Ctx *cx, const Exp *e)
{
    return access_of(cx, e, body_has_seg(e->seg.body) ? e->seg.nest.n : access_fast_dim(e));
}

/* Does the dimension give arrays of which others read rows? */
static bool gives_rows(const NestDim *d, const Atoms *arrs)
{
    for (int i = 0; i < arrs->n; i++)
        for (int k = 0; k < d->xs.n; k++)
            if (arrs->at[i].var == d->xs.at[k])
                return true;
    return false;
}

/* A reduction of rows that either of two dimensions gives is worked on in blocks, whose rows groups
 * stage in the order in which they lie (kernels/level1/segtile.c). */
static bool reads_blocks(const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    int n = nest->n;
    return e->kind == E_SEGRED && n > 2 && access_fast_dim(e) == n - 1 &&
           gives_rows(&nest->at[n - 2], &nest->at[n - 1].arrs) &&
           gives_rows(&nest->at[n - 3], &nest->at[n - 1].arrs);
}

/* Rows of attention are copied into tiles as they lie (kernels/matrix/segattention.c). */
static Accesses access_of_rows(Ctx *cx, const Exp *e)
{
    Accesses found = access_of_threads(cx, e);
    for (int i = 0; i < found.n; i++) {
        Access *ac = &found.at[i];
        ac->fast = ac->arr->type.rank - 1;
        for (int d = 0; d < ac->arr->type.rank; d++)
            ac->perm[d] = d;
    }
    return found;
}

Accesses access_of_seg(Ctx *cx, const Exp *e)
{
    Attention a;
    if (reads_blocks(e))
        return (Accesses){0};
    return attention_of(cx, e, &a) ? access_of_rows(cx, e) : access_of_threads(cx, e);
}

/* One reduction of rows that several dimensions give, and scalars: products, made in blocks of a
 * shape of their own (kernels/level1/sums.h). */
static bool makes_products(Ctx *cx, const Exp *e)
{
    int rows = 0, sums = 0;
    const Stms *stms = &e->seg.body->stms;
    for (int i = 0; i < stms->n; i++)
        if (stms->at[i].exp->kind == E_REDOMAP)
            sums++;
        else if (!exp_is(stms->at[i].exp, F_SCALAR | F_VIEW) && stms->at[i].exp->kind != E_INDEX)
            return false;
    VarSet *used = varmap_new(cx->scratch);
    free_in_body(used, e->seg.body);
    for (int d = 0; d < e->seg.nest.n; d++) {
        const Vars *xs = &e->seg.nest.at[d].xs;
        bool gives = false;
        for (int j = 0; j < xs->n; j++)
            gives |= xs->at[j]->type.rank > 0 && varset_has(used, xs->at[j]);
        rows += gives;
    }
    return sums == 1 && rows > 1;
}

bool access_is_free(Ctx *cx, const Exp *e)
{
    Attention a;
    return !makes_products(cx, e) && e->kind == E_SEGMAP && e->seg.nest.n > 1 &&
           e->seg.nest.n <= MAX_ORDERS && e->seg.dests.n == 0 && !body_has_seg(e->seg.body) &&
           exp_consumes(cx, e).n == 0 && !nest_has_rows(&e->seg.nest) &&
           !nest_is_ragged(&e->seg.nest) && !attention_of(cx, e, &a);
}

Accesses access_if_fast(Ctx *cx, const Exp *seg, int fast)
{
    return access_of(cx, seg, fast);
}

Accesses access_across(Ctx *cx, const Exp *e)
{
    int n = e->seg.nest.n;
    bool scalars = access_fast_dim(e) == n - 1;
    if (e->kind != E_SEGRED || n < 2 || !scalars || reads_blocks(e) || body_has_seg(e->seg.body))
        return (Accesses){0};
    return access_of(cx, e, n - 2);
}

/* Do neighbours read neighbours, wherever anything can be said of what they read? */
static bool reads_neighbours(const Accesses *found, const VarMap *locs)
{
    for (int i = 0; i < found->n; i++) {
        const Access *ac = &found->at[i];
        const ArrLoc *l = varmap_get(locs, ac->arr);
        if (ac->kind != WANT_GUESS && l && !l->mem->computed &&
            !kx_is_int(l->at.strides[ac->fast], 1))
            return false;
    }
    return true;
}

bool mem_reads_along(Ctx *cx, const Exp *seg, const VarMap *locs)
{
    ArenaMark m = arena_mark(cx->scratch);
    Accesses found = access_of_threads(cx, seg);
    bool along = reads_neighbours(&found, locs);
    arena_reset(cx->scratch, m);
    return along;
}

bool mem_reads_across(Ctx *cx, const Exp *seg, const VarMap *locs)
{
    ArenaMark m = arena_mark(cx->scratch);
    Accesses along = access_of_threads(cx, seg), across = access_of(cx, seg, seg->seg.nest.n - 2);
    bool yes = across.n > 0 && !reads_neighbours(&along, locs) && reads_neighbours(&across, locs);
    arena_reset(cx->scratch, m);
    return yes;
}
