/* Cheap arrays are computed again where they are read, and not made.
 *
 *     let cs = segmap^1 <x in xs; i < n> { .. f i x .. }    let ys = segmap^1 <j < n> {
 *     let ys = segmap^1 <c in cs; j < n> {                      let x = xs[j]   let c = f j x
 *         let d = cs[min (j+1) (n-1)]  .. g c d .. }   ==>      let k = min (j+1) (n-1)
 *                                                               let y = xs[k]   let d = f k y
 *                                                               .. g c d .. }
 *
 * A launch less, and a pass over memory to write the array and one to read it. Fusion does that
 * only where each element has one reader and no work is done twice; stencils on stencils have
 * several. So it counts: what a reader does more must not take much longer than the memory that it
 * no longer waits for, and no element may be wanted again and again by dimensions or loops of the
 * reader that the array does not have. Formulas of the position alone are computed rather than
 * loaded there, too, but not in reductions, whose kernels are made for arrays.
 *
 * Of constructs at level 1 only, so that work-groups keep their own arrays, and after versions are
 * made: none is chosen otherwise. All reads of the array must be of single elements inside of
 * constructs, through inputs of nests, slices and rearrangements; what the array is computed from
 * must keep its value.
 *
 * Everything is done twice: first to ask what becomes of each such array, were it not made, with
 * what comes out thrown away; then for those for which that is good.
 *
 * SEG dialect. Before and after: well-formed. */
#include "common/cost.h"
#include "ir/passes/fuse_merge.h"
#include "ir/passes/uses.h"

enum { MAX_RANK = 8 };

/* An array that need not be made: a result of a segmap. */
typedef struct {
    const Exp *seg;
    int result;
    int work, loads; /* for an element */
    int arrays;      /* of no fewer dimensions, whose elements it needs: a pass over each */
    int loops;       /* of the host around it */
    bool needed;     /* in memory after all */
    int reads;       /* of elements, in all */
    int readers;     /* constructs */
    int reader;      /* the construct at work that reads it ... */
    int there_work, there_loads; /* ... and what it does for it */
    bool there;                  /* its own element among them */
    int most_work, most_loads;   /* of all readers */
    bool chosen;                 /* it is not made */
} Made;

/* An array that is one of those, or a part of it: where its elements are. */
typedef struct {
    Made *made;
    Atom start[MAX_RANK], stride[MAX_RANK];
    int dim[MAX_RANK]; /* which dimension of the part goes along; -1: none, it is at `start` */
} View;

typedef struct {
    Ctx *cx;
    Uses *us;
    bool asking;                      /* what would become of them; else it is known */
    VarMap *made;                     /* Var -> Made *: all that are asked about */
    Vars order;                       /* ... as they come */
    VarMap *views;                    /* Var -> View * */
    VarSet *own;                      /* indices of the construct at work */
    const Exp *reader;                /* that construct ... */
    Bld *host;                        /* ... what stands in front of it ... */
    VarSet *inside;                   /* ... and the scalars that it binds */
    int n_readers, dims, loops, code; /* around the place: dimensions; loops of the host; loops and
                                         functions inside the reader */
} Again;

static Body *again_body(Again *A, const Body *b);
static void again_stms(Again *A, Bld *bl, const Body *b);

/* --- What need not be made -------------------------------------------------------------------- */

typedef struct {
    bool ok;
    int work, loads;
    VarSet *read; /* arrays, rows of arrays */
} Cost;

static void cost_of_body(void *env, Body *b);

static void cost_of(Cost *c, const Stm *s)
{
    const Exp *e = s->exp;
    bool scalar = s->pat.n > 0;
    for (int k = 0; k < s->pat.n; k++)
        scalar = scalar && s->pat.at[k]->type.rank == 0;
    if (e->kind == E_PRIM) {
        c->work += prim_info[e->prim.op].cost;
    } else if (e->kind == E_CONV || e->kind == E_CALL) {
        c->work += exp_steps(e);
    } else if (e->kind == E_INDEX) {
        c->loads++;
        if (e->index.arr.var)
            varset_add(c->read, e->index.arr.var);
    }
    c->ok = c->ok && scalar && !exp_traps(e) &&
            (exp_is(e, F_SCALAR) || e->kind == E_INDEX || e->kind == E_IF);
    if (e->kind == E_IF)
        exp_visit(e, &(ExpVisitor){.env = c, .body = cost_of_body});
}

static void cost_of_body(void *env, Body *b)
{
    Cost *c = env;
    for (int i = 0; i < b->stms.n && c->ok; i++)
        cost_of(c, &b->stms.at[i]);
}

/* Of what result j of body b needs; inputs that it reads are loads. */
static Cost cost_of_result(const Again *A, const Exp *e, int j)
{
    const Body *b = e->seg.body;
    Cost c = {.ok = true, .read = varmap_new(A->cx->scratch)};
    VarSet *need = varmap_new(A->cx->scratch);
    if (b->res.at[j].var)
        varset_add(need, b->res.at[j].var);
    for (int i = b->stms.n - 1; i >= 0 && c.ok; i--) {
        const Stm *s = &b->stms.at[i];
        bool needed = false;
        for (int k = 0; k < s->pat.n; k++)
            needed = needed || varset_has(need, s->pat.at[k]);
        if (!needed)
            continue;
        cost_of(&c, s);
        free_in_exp(need, s->exp);
    }
    for (int d = 0; d < e->seg.nest.n; d++)
        for (int k = 0; k < e->seg.nest.at[d].xs.n; k++) {
            const Var *x = e->seg.nest.at[d].xs.at[k];
            if (x->type.rank == 0 && varset_has(need, x)) {
                c.loads++;
                varset_add(c.read, x);
            }
        }
    return c;
}

/* The array that x is, or is a row or an element of. */
static Atom array_of(const Nest *nest, Atom x)
{
    for (int d = nest->n - 1; d >= 0; d--)
        for (int k = 0; k < nest->at[d].xs.n; k++)
            if (nest->at[d].xs.at[k] == x.var)
                x = nest->at[d].arrs.at[k];
    return x;
}

static int arrays_read(const Again *A, const Exp *e, const VarSet *read)
{
    VarSet *arrays = varmap_new(A->cx->scratch);
    Vars vs = varset_list(A->cx->scratch, read);
    for (int i = 0; i < vs.n; i++) {
        Atom a = array_of(&e->seg.nest, atom_var(vs.at[i]));
        if (a.var && a.var->type.rank >= e->seg.nest.n)
            varset_add(arrays, a.var);
    }
    return varset_list(A->cx->scratch, arrays).n;
}

static bool all_stable(const Again *A, const Exp *e)
{
    VarSet *used = varmap_new(A->cx->scratch);
    free_in_exp(used, e);
    return uses_all_stable(A->us, A->cx->scratch, used);
}

static void made_new(Again *A, const Exp *e, Var *v, int j)
{
    Cost c = cost_of_result(A, e, j);
    if (!c.ok || c.work > RT_PASS_WORK || c.loads > RT_PASS_LOADS ||
        !uses_stable(A->us, atom_var(v)))
        return;
    Made *m = NEW(A->cx->perm, Made);
    *m = (Made){.seg = e, .result = j, .work = c.work, .loads = c.loads, .loops = A->loops};
    m->arrays = arrays_read(A, e, c.read);
    varmap_put(A->made, v, m);
    vec_push(A->cx->perm, &A->order, v);
}

/* While it is asked: what might do without memory. */
static void find_made(Again *A, const Stm *s)
{
    const Exp *e = s->exp;
    bool ok = e->kind == E_SEGMAP && e->seg.level == 1 && e->seg.nest.n <= MAX_RANK && !A->reader &&
              !nest_is_ragged(&e->seg.nest); /* who knows the row of an element? */
    for (int j = 0; j < s->pat.n && ok; j++)
        ok = s->pat.at[j]->type.rank == e->seg.nest.n;
    ArenaMark mark = arena_mark(A->cx->scratch);
    if (ok && all_stable(A, e))
        for (int j = 0; j < s->pat.n; j++)
            made_new(A, e, s->pat.at[j], j);
    arena_reset(A->cx->scratch, mark);
}

/* --- Views ------------------------------------------------------------------------------------ */

static const View *view_of(const Again *A, Atom a)
{
    return a.var && a.var->type.rank > 0 ? varmap_get(A->views, a.var) : NULL;
}

static void bind_view(Again *A, const Var *v, View view)
{
    varmap_put(A->views, v, arena_memdup(A->cx->perm, &view, sizeof view));
}

static void view_whole(Again *A, const Var *v, Made *m)
{
    View w = {.made = m};
    for (int k = 0; k < v->type.rank; k++) {
        w.start[k] = atom_i64(0);
        w.stride[k] = atom_i64(1);
        w.dim[k] = k;
    }
    bind_view(A, v, w);
}

/* Along dimension k of the whole: the position of element i. */
static Atom position(Bld *bl, const View *v, int k, Atom i, Loc loc)
{
    return bld_binop(bl, loc, OP_ADD, bld_binop(bl, loc, OP_MUL, i, v->stride[k]), v->start[k]);
}

/* The part of v at `at`. */
static View part_of(Bld *bl, const View *v, const DimIndexes *at, Loc loc)
{
    View r = *v;
    int kept[MAX_RANK], n = 0;
    for (int d = 0; d < at->n; d++)
        kept[d] = at->at[d].is_slice ? n++ : -1;
    for (int k = 0; k < v->made->seg->seg.nest.n; k++) {
        if (v->dim[k] < 0)
            continue;
        const DimIndex *d = &at->at[v->dim[k]];
        r.start[k] = position(bl, v, k, d->start, loc);
        if (d->is_slice)
            r.stride[k] = bld_binop(bl, loc, OP_MUL, d->stride, v->stride[k]);
        r.dim[k] = kept[v->dim[k]];
    }
    return r;
}

/* Row i of v. */
static View row_of(Bld *bl, const View *v, Atom i, Loc loc)
{
    View r = *v;
    for (int k = 0; k < v->made->seg->seg.nest.n; k++)
        if (v->dim[k] == 0) {
            r.start[k] = position(bl, v, k, i, loc);
            r.dim[k] = -1;
        } else if (v->dim[k] > 0) {
            r.dim[k]--;
        }
    return r;
}

static View rearranged(const View *v, const Exp *e)
{
    View r = *v;
    for (int k = 0; k < v->made->seg->seg.nest.n; k++)
        for (int d = 0; d < atom_type(e->rearrange.arr).rank; d++)
            if (e->rearrange.perm[d] == v->dim[k])
                r.dim[k] = d;
    return r;
}

/* --- Reads ------------------------------------------------------------------------------------ */

static void no_reads_by_now(Again *A, Made *m)
{
    m->reader = A->n_readers;
    m->readers++;
    m->there_work = m->there_loads = 0;
    m->there = false;
}

/* May each element be wanted as often as this construct runs? */
static bool may_be_wanted(const Again *A, const Made *m)
{
    bool formula = m->loads == 0 && m->work <= RT_LOAD_WORK;
    int loops = A->loops - m->loops;
    if (A->dims + A->code + loops <= m->seg->seg.nest.n)
        return true;
    return formula && A->code == 0 && A->reader->kind != E_SEGRED;
}

/* An element of v is read. Elements at the place of the construct's own are computed once. */
static void count_read(Again *A, const View *v)
{
    Made *m = v->made;
    bool own = true;
    if (m->reader != A->n_readers)
        no_reads_by_now(A, m);
    for (int k = 0; k < m->seg->seg.nest.n; k++)
        own = own && v->start[k].var && varset_has(A->own, v->start[k].var);
    if (!own || !m->there) {
        m->there_work += m->work;
        m->there_loads += m->loads;
    }
    m->there = m->there || own;
    m->most_work = m->there_work > m->most_work ? m->there_work : m->most_work;
    m->most_loads = m->there_loads > m->most_loads ? m->there_loads : m->most_loads;
    m->reads++;
    m->needed = m->needed || !may_be_wanted(A, m);
}

/* The element that v has become, computed. */
static Atom element(Again *A, Bld *bl, const View *v)
{
    const Exp *e = v->made->seg;
    VarMap *rows = varmap_new(A->cx->perm);
    Vars params = {0};
    Atoms args = {0};
    count_read(A, v);
    for (int d = 0; d < e->seg.nest.n; d++) {
        const NestDim *nd = &e->seg.nest.at[d];
        vec_push(A->cx->perm, &params, nd->idx);
        vec_push(A->cx->perm, &args, v->start[d]);
        for (int k = 0; k < nd->xs.n; k++) {
            const Atom *row = varmap_get(rows, nd->arrs.at[k].var);
            Exp *at = exp_index(A->cx, e->loc, row ? *row : nd->arrs.at[k], &v->start[d], 1, true);
            Atom x = bld_exp(bl, nd->xs.at[k]->base, at);
            varmap_put(rows, nd->xs.at[k], arena_memdup(A->cx->perm, &x, sizeof x));
            vec_push(A->cx->perm, &params, nd->xs.at[k]);
            vec_push(A->cx->perm, &args, x);
        }
    }
    Atoms res = bld_inline_lambda(bl, lambda_new(A->cx, params, e->seg.body), &args);
    return res.at[v->made->result];
}

static void bind_scalar(Again *A, Bld *bl, Var *v, Atom value, Loc loc)
{
    Stm s = {.exp = exp_atom(A->cx, loc, value)};
    vec_push(A->cx->perm, &s.pat, v);
    bld_stm(bl, s);
}

/* --- Statements ------------------------------------------------------------------------------- */

static void note_inside(Again *A, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        if (A->reader && vs->at[k]->type.rank == 0)
            varset_add(A->inside, vs->at[k]);
}

/* Any other use than those below needs the array. */
static Atom other_use(void *env, Atom a)
{
    const View *v = view_of(env, a);
    if (v)
        v->made->needed = true;
    return a;
}

static Body *inner_body(void *env, Body *b)
{
    return again_body(env, b);
}

static Lambda *inner_lambda(void *env, Lambda *l)
{
    note_inside(env, &l->params);
    return lambda_new(((Again *)env)->cx, l->params, again_body(env, l->body));
}

/* x, row i of v, without the array: a view, or an element computed here. */
static void again_row(Again *A, Bld *bl, Var *x, const View *v, Atom i, Loc loc)
{
    View row = row_of(bl, v, i, loc);
    if (x->type.rank > 0)
        bind_view(A, x, row);
    else
        bind_scalar(A, bl, x, element(A, bl, &row), loc);
}

/* A SOAC of a thread, with the inputs that are computed again read by its function. */
static Exp *again_soac(Again *A, const Exp *e)
{
    Ctx *cx = A->cx;
    const Lambda *f = fuse_fn_of(cx, e);
    Exp *r = NEW(cx->perm, Exp);
    *r = *e;
    r->soac.arrs = (Atoms){0};
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (!view_of(A, e->soac.arrs.at[k])) {
            vec_push(cx->perm, &r->soac.arrs, other_use(A, e->soac.arrs.at[k]));
            vec_push(cx->perm, &params, f->params.at[k]);
        }
    Atom i = uses_index_input(A->us, A->host, e, &r->soac.arrs, &params);
    Bld bl = bld_new(cx);
    A->code++;
    varset_add(A->own, i.var);
    note_inside(A, &params);
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (view_of(A, e->soac.arrs.at[k]))
            again_row(A, &bl, f->params.at[k], view_of(A, e->soac.arrs.at[k]), i, e->loc);
    again_stms(A, &bl, f->body);
    A->code--;
    r->soac.fn = lambda_new(cx, params, bld_body(&bl, f->body->res));
    r->kind = kind_with_fn(r->kind);
    for (int k = 0; k < e->soac.nes.n; k++)
        other_use(A, e->soac.nes.at[k]);
    for (int k = 0; k < e->soac.dests.n; k++)
        other_use(A, e->soac.dests.at[k].arr);
    if (e->soac.op)
        r->soac.op = inner_lambda(A, e->soac.op);
    return r;
}

/* May the SOAC's function read what is no input any more? The numbers of its elements are an array
 * of the host's, which is never made. */
static bool reads_views(const Again *A, const Exp *e)
{
    bool any = false, arrays = false;
    for (int k = 0; exp_is_soac(e) && k < e->soac.arrs.n; k++) {
        any = any || view_of(A, e->soac.arrs.at[k]);
        arrays = arrays || (!e->soac.fn && atom_type(e->soac.arrs.at[k]).rank > 1);
    }
    bool known = !e->soac.width.var || !varset_has(A->inside, e->soac.width.var);
    return any && A->reader && !arrays && known;
}

static Exp *other_exp(Again *A, const Exp *e)
{
    if (reads_views(A, e))
        return again_soac(A, e);
    bool turns = e->kind == E_LOOP || exp_is_soac(e);
    if (e->kind == E_LOOP) {
        note_inside(A, &e->loop.params);
        if (A->reader && e->loop.i)
            varset_add(A->inside, e->loop.i);
    }
    A->loops += turns && !A->reader;
    A->code += turns && A->reader;
    ExpMapper m = {.env = A, .atom = other_use, .body = inner_body, .lambda = inner_lambda};
    Exp *r = exp_map_parts(A->cx, e, &m);
    A->loops -= turns && !A->reader;
    A->code -= turns && A->reader;
    return r;
}

/* The nest without the inputs that are computed again: rows of them are views, elements are
 * computed at the beginning of the body, bl. */
static Nest again_nest(Again *A, Bld *bl, const Nest *nest, Loc loc)
{
    Nest r = {0};
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        NestDim dim = {.idx = nd->idx, .width = nd->width, .row = nd->row, .rows = nd->rows};
        dim.offs = nd->offs;
        if (nd->row)
            other_use(A, nd->offs);
        varset_add(A->own, nd->idx);
        note_inside(A, &nd->xs);
        for (int k = 0; k < nd->xs.n; k++) {
            const View *v = view_of(A, nd->arrs.at[k]);
            if (!v) {
                vec_push(A->cx->perm, &dim.xs, nd->xs.at[k]);
                vec_push(A->cx->perm, &dim.arrs, nd->arrs.at[k]);
                continue;
            }
            again_row(A, bl, nd->xs.at[k], v, atom_var(nd->idx), loc);
        }
        vec_push(A->cx->perm, &r, dim);
    }
    return r;
}

static Exp *again_seg(Again *A, Bld *out, const Exp *e)
{
    const Exp *outer = A->reader;
    if (!outer) {
        A->reader = e;
        A->host = out;
        A->n_readers++;
    }
    A->dims += e->seg.nest.n;
    Bld bl = bld_new(A->cx);
    Exp *r = NEW(A->cx->perm, Exp);
    *r = *e;
    r->seg.nest = again_nest(A, &bl, &e->seg.nest, e->loc);
    again_stms(A, &bl, e->seg.body);
    r->seg.body = bld_body(&bl, e->seg.body->res);
    if (e->seg.op)
        r->seg.op = inner_lambda(A, e->seg.op);
    for (int k = 0; k < e->seg.nes.n; k++)
        other_use(A, e->seg.nes.at[k]);
    for (int k = 0; k < e->seg.dests.n; k++)
        other_use(A, e->seg.dests.at[k].arr);
    A->dims -= e->seg.nest.n;
    A->reader = outer;
    return r;
}

/* Of a view: another one, or an element. */
static void again_index(Again *A, Bld *bl, const Stm *s, const View *v)
{
    const Exp *e = s->exp;
    View part = part_of(bl, v, &e->index.at, e->loc);
    bool one = s->pat.at[0]->type.rank == 0;
    if (!e->index.safe || (one && !A->reader)) {
        v->made->needed = true;
        bld_stm(bl, *s);
    } else if (one) {
        bind_scalar(A, bl, s->pat.at[0], element(A, bl, &part), e->loc);
    } else {
        bind_view(A, s->pat.at[0], part);
    }
}

static void again_stm(Again *A, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    const View *v = e->kind == E_INDEX       ? view_of(A, e->index.arr)
                    : e->kind == E_REARRANGE ? view_of(A, e->rearrange.arr)
                                             : NULL;
    if (v && e->kind == E_INDEX)
        again_index(A, bl, s, v);
    else if (v)
        bind_view(A, s->pat.at[0], rearranged(v, e));
    else
        bld_stm(bl, (Stm){s->pat, exp_is_seg(e) ? again_seg(A, bl, e) : other_exp(A, e)});
    if (A->asking)
        find_made(A, s);
    note_inside(A, &s->pat);
    for (int k = 0; k < s->pat.n; k++) {
        Made *m = varmap_get(A->made, s->pat.at[k]);
        if (m && (A->asking || m->chosen))
            view_whole(A, s->pat.at[k], m);
    }
}

static void again_stms(Again *A, Bld *bl, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        again_stm(A, bl, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        other_use(A, b->res.at[i]);
}

static Body *again_body(Again *A, const Body *b)
{
    Bld bl = bld_new(A->cx);
    again_stms(A, &bl, b);
    return bld_body(&bl, b->res);
}

/* --- The choice ------------------------------------------------------------------------------- */

static bool is_good(const Made *m)
{
    return !m->needed && mf_spares_passes(m->readers, m->arrays) && m->reads > 0 &&
           m->reads <= RT_PASS_READS && m->most_work <= RT_PASS_WORK &&
           m->most_loads <= RT_PASS_LOADS;
}

/* Is it computed from what is itself computed again, or from a view of that, which is not made
 * either? Then it was not asked what it would cost. */
static bool uses_chosen(const Again *A, const Exp *e)
{
    VarSet *used = varmap_new(A->cx->perm);
    free_in_exp(used, e);
    Vars vs = varset_list(A->cx->perm, used);
    for (int i = 0; i < vs.n; i++) {
        const View *v = view_of(A, atom_var(vs.at[i]));
        if (v && v->made->chosen)
            return true;
    }
    return false;
}

static bool choose(Again *A)
{
    bool any = false;
    for (int i = 0; i < A->order.n; i++) {
        Made *m = varmap_get(A->made, A->order.at[i]);
        m->chosen = is_good(m) && !uses_chosen(A, m->seg);
        any = any || m->chosen;
    }
    A->asking = false;
    A->views = varmap_new(A->cx->perm);
    return any;
}

Prog *pass_rematerialise(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Again A = {.cx = cx, .us = uses_entry(cx, &en), .asking = true};
        A.made = varmap_new(cx->perm);
        A.views = varmap_new(cx->perm);
        A.own = varmap_new(cx->perm);
        A.inside = varmap_new(cx->perm);
        again_body(&A, en.body);
        if (choose(&A))
            en.body = again_body(&A, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
