/* Layout for coalescing: pass on the SEG dialect.
 *
 * On a GPU the work-items of a group read memory at full speed when neighbours read neighbouring
 * elements. A grid-level construct numbers its threads with the innermost index of its nest varying
 * fastest, so an access a[.., i, .., k] with fast index i wants the dimension of i innermost in
 * memory. This pass finds the arrays that a construct reads otherwise and reads them through
 *     let am = manifest (perm) a
 * which is a, laid out with that dimension innermost (host.c makes the copy, or none if the array
 * lies that way already, as the transposition of a row-major array does). The manifest stands
 * before the construct, in front of the host loops around it that do not change the array; it stays
 * inside the code version (branch) that needs it.
 *
 * Cost rule. The copy reads and writes each element once, in order. It is made only for arrays that
 * are read again and again: those along which a thread walks sequentially (an index that is neither
 * fast, nor outer, nor the same for all), where each element of a thread comes in a memory
 * transaction of its own, and those that do not vary with all indices of the nest (a matrix of
 * which many threads read the same row). An array that is read once is read where it lies. Rows of
 * at most 32 bytes stay too: one transaction brings all of it. Of several accesses that want
 * different layouts, most of them win.
 *
 * Around work-group code (level 0) the indices of the grid-level nest are all outer, and the
 * innermost index of each level-0 nest is the fast one. */
#include "codegen/plan.h"

#include <string.h>

enum { MAX_DIMS = 16, SMALL_ROW_BYTES = 32 };

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
} View;

typedef struct {
    Var *root;
    int perm[MAX_DIMS]; /* the wanted layout: outermost dimension in memory first */
    int weight;
} Want;
typedef VEC(Want) Wants;

typedef struct {
    Ctx *cx;
    VarMap *views; /* array variables bound in the construct -> View */
    VarMap *kinds; /* scalars bound in the construct -> IxKind + 1 (as a pointer) */
    Wants wants;
    int depth; /* indices of the nests around, level 0 included */
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
    IxKind m = max_kind(a, b);
    return m == IX_FAST ? IX_MIXED : m;
}

/* --- Views --------------------------------------------------------------------------- */

static void set_view(Scan *sc, const Var *v, View w)
{
    View *p = NEW(sc->cx->scratch, View);
    *p = w;
    varmap_put(sc->views, v, p);
}

/* An array that is not bound in the construct is an outer one, whole. */
static View view_of(const Scan *sc, Atom a)
{
    const View *known = varmap_get(sc->views, a.var);
    if (known)
        return *known;
    View w = {.root = a.var, .n_free = a.var->type.rank};
    if (w.n_free > MAX_DIMS)
        w.root = NULL;
    for (int k = 0; w.root && k < w.n_free; k++)
        w.free[k] = k;
    return w;
}

/* w with its first dimension fixed by an index of that kind. */
static View view_row(View w, IxKind k)
{
    if (!w.root)
        return w;
    w.at[w.free[0]] = kind_sum(w.at[w.free[0]], k);
    w.n_free--;
    memmove(w.free, w.free + 1, sizeof *w.free * (size_t)w.n_free);
    return w;
}

static bool small_row(Type t, int fast)
{
    int64_t bytes = prim_type_bytes[t.elem];
    for (int k = fast + 1; k < t.rank; k++) {
        if (t.dims[k].var || t.dims[k].c.i > SMALL_ROW_BYTES)
            return false;
        bytes *= t.dims[k].c.i;
    }
    return bytes <= SMALL_ROW_BYTES;
}

static bool same_perm(const int *a, const int *b, int rank)
{
    return memcmp(a, b, sizeof *a * (size_t)rank) == 0;
}

/* The layout for accesses of that kind: what the thread walks along outermost, then the outer
 * indices, the fast one innermost. (Kernels lay out the rows that their threads make in the same
 * way.) */
static void wanted_perm(const View *w, int fast, int *perm)
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
static void access_view(Scan *sc, View w)
{
    if (!w.root)
        return;
    for (int k = 0; k < w.n_free; k++)
        w.at[w.free[k]] = kind_sum(w.at[w.free[k]], IX_SEQ);
    int fast = -1, of_nest = 0;
    bool walks = false;
    Type t = w.root->type;
    for (int d = 0; d < t.rank; d++) {
        walks |= w.at[d] == IX_SEQ;
        of_nest += w.at[d] == IX_OUTER || w.at[d] == IX_FAST;
        if (w.at[d] == IX_MIXED)
            return;
        if (w.at[d] == IX_FAST) {
            if (fast >= 0)
                return; /* a diagonal */
            fast = d;
        }
    }
    bool again = walks || of_nest < sc->depth;
    if (fast < 0 || !again || (fast < t.rank - 1 && small_row(t, fast)))
        return;
    Want want = {.root = w.root, .weight = 1};
    if (fast == t.rank - 1) /* right if it is row-major */
        for (int d = 0; d < t.rank; d++)
            want.perm[d] = d;
    else
        wanted_perm(&w, fast, want.perm);
    for (int i = 0; i < sc->wants.n; i++)
        if (sc->wants.at[i].root == w.root && same_perm(sc->wants.at[i].perm, want.perm, t.rank)) {
            sc->wants.at[i].weight++;
            return;
        }
    vec_push(sc->cx->scratch, &sc->wants, want);
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
        set_view(sc, v, (View){0});
    else
        set_kind(sc, v, k);
}

static void scan_index(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    View w = view_of(sc, e->index.arr), r = w;
    const Var *v = s->pat.at[0];
    if (w.root) {
        r.n_free = 0;
        for (int k = 0; k < e->index.at.n; k++) {
            DimIndex d = e->index.at.at[k];
            int dim = w.free[k];
            IxKind start = kind_of(sc, d.start);
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
    set_kind(sc, v, IX_MIXED);
}

/* Parameter p takes the elements of arr, one after the other. */
static void scan_element(Scan *sc, const Var *p, Atom arr)
{
    View row = view_row(view_of(sc, arr), IX_SEQ);
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
    View w = view_of(sc, e->rearrange.arr), r = w;
    for (int k = 0; w.root && k < w.n_free; k++)
        r.free[k] = w.free[e->rearrange.perm[k]];
    set_view(sc, s->pat.at[0], r);
}

/* The nest of a construct: its last index is fast, unless the construct is work-group code. */
static void scan_nest(Scan *sc, const Nest *nest, bool fast)
{
    sc->depth += nest->n;
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        IxKind k = d == nest->n - 1 && fast ? IX_FAST : IX_OUTER;
        set_kind(sc, nd->idx, k);
        for (int j = 0; j < nd->xs.n; j++) {
            const Var *x = nd->xs.at[j];
            View row = view_row(view_of(sc, nd->arrs.at[j]), k);
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
    scan_nest(sc, &s->exp->seg.nest, true);
    scan_body(sc, s->exp->seg.body);
    sc->depth = depth;
    for (int i = 0; i < s->pat.n; i++)
        bind_own(sc, s->pat.at[i], IX_MIXED);
}

static void scan_stm(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    switch (e->kind) {
    case E_ATOM:
        if (s->pat.at[0]->type.rank > 0)
            set_view(sc, s->pat.at[0], view_of(sc, e->atom));
        else
            set_kind(sc, s->pat.at[0], kind_of(sc, e->atom));
        return;
    case E_PRIM: set_kind(sc, s->pat.at[0], kind_prim(sc, e)); return;
    case E_CONV: set_kind(sc, s->pat.at[0], kind_of(sc, e->conv.arg)); return;
    case E_INDEX: scan_index(sc, s); return;
    case E_REARRANGE: scan_rearrange(sc, s); return;
    case E_MAP:
    case E_REDOMAP:
    case E_SCANOMAP:
    case E_SCATTER:
    case E_HIST:
        scan_lambda(sc, e->soac.fn, &e->soac.arrs);
        scan_lambda(sc, e->soac.op, NULL);
        break;
    case E_REDUCE:
    case E_SCAN: scan_lambda(sc, e->soac.op, &e->soac.arrs); break;
    case E_LOOP: scan_loop(sc, e); break;
    case E_IF:
        scan_body(sc, e->branch.then_);
        scan_body(sc, e->branch.else_);
        break;
    case E_UPDATE:
    case E_IOTA:
    case E_REPLICATE:
    case E_SCRATCH:
    case E_ARRAYLIT:
    case E_CONCAT:
    case E_MANIFEST:
    case E_RESHAPE:
    case E_COPY:
    case E_ASSERT:
    case E_SUFF: scan_other(sc, s); return;
    case E_SEGMAP:
    case E_SEGRED:
    case E_SEGSCAN:
    case E_SEGSCATTER:
    case E_SEGHIST: scan_level0(sc, s); return;
    case N_FORMS: ice(e->loc, "form %d", (int)e->kind);
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

/* What the construct wants of the arrays outside. */
static Wants scan_seg(Ctx *cx, const Exp *e)
{
    Scan sc = {cx, varmap_new(cx->scratch), varmap_new(cx->scratch), {0}, 0};
    scan_nest(&sc, &e->seg.nest, !body_has_seg(e->seg.body));
    scan_body(&sc, e->seg.body);
    return sc.wants;
}

/* --- The pass ------------------------------------------------------------------------ */

typedef struct {
    Var *root, *var;
    const int *perm;
} Made;

/* A list of host statements under construction. */
typedef struct Level Level;
struct Level {
    Level *parent;
    bool loop;     /* the body of a loop */
    VarSet *bound; /* variables bound here, loop parameters included */
    Stms stms;
    VEC(Made) made; /* manifests here */
};

typedef struct {
    Ctx *cx;
    VarSet *views; /* host arrays that are rearranged ones */
} Pass;

static Body *pass_body(Pass *ps, const Body *b, Level *lv);

static Var *find_made(const Level *lv, const Want *w)
{
    for (; lv; lv = lv->parent)
        for (int i = 0; i < lv->made.n; i++)
            if (lv->made.at[i].root == w->root &&
                same_perm(lv->made.at[i].perm, w->perm, w->root->type.rank))
                return lv->made.at[i].var;
    return NULL;
}

static Var *make_manifest(Pass *ps, Level *lv, const Want *w, Loc loc)
{
    Var *v = find_made(lv, w);
    if (v)
        return v;
    while (lv->loop && !varset_has(lv->bound, w->root))
        lv = lv->parent;
    int *perm = arena_memdup(ps->cx->perm, w->perm, sizeof w->perm);
    v = var_like(ps->cx, w->root);
    Exp *e = exp_rearrange(ps->cx, loc, perm, atom_var(w->root));
    e->kind = E_MANIFEST;
    Stm s = {.exp = e};
    vec_push(ps->cx->perm, &s.pat, v);
    vec_push(ps->cx->perm, &lv->stms, s);
    vec_push(ps->cx->perm, &lv->made, (Made){w->root, v, perm});
    return v;
}

static bool contains(const Vars *vs, const Var *v)
{
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i] == v)
            return true;
    return false;
}

static bool is_identity(const int *perm, int rank)
{
    for (int d = 0; d < rank; d++)
        if (perm[d] != d)
            return false;
    return true;
}

/* The want with the greatest weight for each array (of equal ones row-major, then the first); one
 * that lies right already wants nothing. */
static bool worth_it(const Pass *ps, const Wants *ws, const Want *w)
{
    int rank = w->root->type.rank;
    bool identity = is_identity(w->perm, rank);
    for (int i = 0; i < ws->n; i++) {
        const Want *o = &ws->at[i];
        if (o->root != w->root || o == w)
            continue;
        if (o->weight > w->weight ||
            (o->weight == w->weight && !identity && (o < w || is_identity(o->perm, rank))))
            return false;
    }
    return !identity || varset_has(ps->views, w->root);
}

static Exp *pass_seg(Pass *ps, const Exp *e, Level *lv)
{
    Ctx *cx = ps->cx;
    if (e->seg.level != 1)
        return (Exp *)e;
    ArenaMark mark = arena_mark(cx->scratch);
    Wants ws = scan_seg(cx, e);
    Vars consumed = exp_consumes(cx, e);
    Subst *su = NULL;
    for (int i = 0; i < ws.n; i++) {
        const Want *w = &ws.at[i];
        if (!worth_it(ps, &ws, w) || contains(&consumed, w->root))
            continue;
        if (!su)
            su = subst_new(cx);
        subst_add(su, w->root, atom_var(make_manifest(ps, lv, w, e->loc)));
    }
    Exp *r = su ? subst_exp(cx, su, e) : (Exp *)e;
    arena_reset(cx->scratch, mark);
    return r;
}

static Body *inner(Pass *ps, const Body *b, Level *lv, const Exp *loop)
{
    Level in = {.parent = lv, .loop = loop != NULL, .bound = varmap_new(ps->cx->perm)};
    if (loop)
        for (int i = 0; i < loop->loop.params.n; i++)
            varset_add(in.bound, loop->loop.params.at[i]);
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
        r->loop.body = inner(ps, e->loop.body, lv, e);
    } else {
        r->branch.then_ = inner(ps, e->branch.then_, lv, NULL);
        r->branch.else_ = inner(ps, e->branch.else_, lv, NULL);
    }
    return r;
}

static Body *pass_body(Pass *ps, const Body *b, Level *lv)
{
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = {b->stms.at[i].pat, pass_exp(ps, b->stms.at[i].exp, lv)};
        vec_push(ps->cx->perm, &lv->stms, s);
        for (int k = 0; k < s.pat.n; k++)
            varset_add(lv->bound, s.pat.at[k]);
        if (s.exp->kind == E_REARRANGE)
            varset_add(ps->views, s.pat.at[0]);
    }
    Body *r = NEW(ps->cx->perm, Body);
    *r = (Body){lv->stms, b->res};
    return r;
}

Prog *cg_layout(Ctx *cx, const Prog *in)
{
    Prog *out = NEW(cx->perm, Prog);
    Pass ps = {cx, varmap_new(cx->perm)};
    out->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Level lv = {.bound = varmap_new(cx->perm)};
        en.body = pass_body(&ps, en.body, &lv);
        vec_push(cx->perm, &out->entries, en);
    }
    return out;
}
