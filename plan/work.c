/* What the launches of a construct must do, whatever their kernels look like: counted from the
 * construct itself, for profiles (rt_work, `minifut bench --roofline`).
 *
 *   bytes       each array of the host level that the construct reads, once: all of it, or as many
 *               elements as it asks for where those are fewer (a row, a slice, a gather); each
 *               result, once (bins of histograms twice: they are read, too). A launch counts those
 *               whose blocks it is given. What kernels exchange among themselves is not counted.
 *   operations  additions, multiplications, functions on floats, one each (a fused multiply-add:
 *               two), as often as nests, loops and SOACs around them say; of a branch the side with
 *               more. Counted for the launches that read something.
 *
 * Numbers that only the device knows (turns of while loops, sizes that a thread computes) count as
 * one for operations, so those are at least as many as are told; arrays that are read so often
 * count as a whole. */
#include "plan/plan_build.h"

/* How often something is done: the product of numbers that the host knows, at least once more
 * often if `more`. */
typedef struct {
    Atoms factors;
    bool more;
} Times;

/* A product with a factor that is known now. */
typedef struct {
    Atoms factors;
    int64_t count;
} Term;
typedef VEC(Term) Terms;

/* Elements of an array, of `shape`, that are touched at most `times` (NULL: each of them). */
typedef struct {
    const Mem *mem;
    Type shape;
    Times times;
    int bytes; /* of an element; twice as many if it is read and written */
} Touch;

struct Work {
    Ctx *cx;
    const VarMap *locs;
    VarSet *inside; /* variables that the construct binds */
    VarMap *roots;  /* array variable that it binds -> the host's array of which it is a part */
    VEC(Touch) reads, writes;
    Terms operations;
};

/* --- Products ------------------------------------------------------------------------------- */

static bool is_known(const Work *w, Atom a)
{
    return !a.var || !varset_has(w->inside, a.var);
}

static Times more_times(Work *w, Times t, Atom n)
{
    if (!is_known(w, n)) {
        t.more = true;
        return t;
    }
    Times r = {.more = t.more};
    vec_append(w->cx->perm, &r.factors, &t.factors);
    if (!atom_is_int(n, 1))
        vec_push(w->cx->perm, &r.factors, n);
    return r;
}

static Times times_shape(Work *w, Times t, Type shape)
{
    for (int k = 0; k < shape.rank; k++)
        t = more_times(w, t, shape.dims[k]);
    return t;
}

/* Are all of a's factors among those of b, as often? */
static bool divides(Arena *scratch, const Atoms *a, const Atoms *b)
{
    ArenaMark m = arena_mark(scratch);
    bool *taken = NEWN(scratch, bool, b->n + 1), all = true;
    for (int i = 0; i < a->n && all; i++) {
        int k = 0;
        while (k < b->n && (taken[k] || !atom_eq(a->at[i], b->at[k])))
            k++;
        all = k < b->n;
        taken[k] = true;
    }
    arena_reset(scratch, m);
    return all;
}

static bool same_product(Arena *scratch, const Atoms *a, const Atoms *b)
{
    return a->n == b->n && divides(scratch, a, b);
}

static void add_term(Work *w, Terms *ts, const Atoms *factors, int64_t count)
{
    for (int i = 0; i < ts->n; i++)
        if (same_product(w->cx->scratch, &ts->at[i].factors, factors)) {
            ts->at[i].count += count;
            return;
        }
    vec_push(w->cx->perm, ts, (Term){*factors, count});
}

/* Of two sides of a branch: the larger number of each product. */
static void add_larger(Work *w, Terms *ts, const Terms *a, Terms *b)
{
    for (int i = 0; i < a->n; i++) {
        int64_t count = a->at[i].count;
        for (int k = 0; k < b->n; k++)
            if (same_product(w->cx->scratch, &a->at[i].factors, &b->at[k].factors)) {
                count = b->at[k].count > count ? b->at[k].count : count;
                b->at[k].count = 0;
            }
        add_term(w, ts, &a->at[i].factors, count);
    }
    for (int k = 0; k < b->n; k++)
        if (b->at[k].count)
            add_term(w, ts, &b->at[k].factors, b->at[k].count);
}

static const KExp *term_sx(Ctx *cx, const Term *t)
{
    return sx_mul(cx, sx_const(cx, t->count), sx_product(cx, t->factors.at, t->factors.n));
}

/* --- Reads ---------------------------------------------------------------------------------- */

/* The host's array that v is or is a part of; NULL if it is none. */
static const Var *root_of(const Work *w, Atom a)
{
    if (!a.var || a.var->type.rank == 0)
        return NULL;
    if (varset_has(w->inside, a.var))
        return varmap_get(w->roots, a.var);
    const ArrLoc *l = varmap_get(w->locs, a.var);
    return l && !l->mem->local && !l->mem->computed ? a.var : NULL;
}

static void bind(Work *w, const Var *v, const Var *root)
{
    varset_add(w->inside, v);
    if (root && v->type.rank > 0)
        varmap_put(w->roots, v, root);
}

/* Arrays of one shape in a block are taken for one: views, and what a stencil reads around each
 * element. The more often each is read, the less that matters. */
static void read_elems(Work *w, Atom arr, Times t)
{
    const Var *root = root_of(w, arr);
    if (!root)
        return;
    const Mem *mem = ((const ArrLoc *)varmap_get(w->locs, root))->mem;
    Type shape = root->type;
    Atoms dims = {.at = shape.dims, .n = shape.rank};
    for (int i = 0; i < w->reads.n; i++) {
        Touch *r = &w->reads.at[i];
        Atoms theirs = {.at = r->shape.dims, .n = r->shape.rank};
        if (r->mem != mem || !same_product(w->cx->scratch, &theirs, &dims))
            continue;
        /* The larger of the two; neither divides the other: all of it. */
        if (t.more || r->times.more || divides(w->cx->scratch, &r->times.factors, &t.factors))
            r->times = t;
        else if (!divides(w->cx->scratch, &t.factors, &r->times.factors))
            r->times.more = true;
        return;
    }
    vec_push(w->cx->perm, &w->reads, (Touch){mem, shape, t, prim_type_bytes[shape.elem]});
}

static void read_whole(Work *w, Atom arr, Times t)
{
    if (root_of(w, arr))
        read_elems(w, arr, times_shape(w, t, atom_type(arr)));
}

/* v is bound to an element, or row, of arr, for each of `t`. */
static void bind_row(Work *w, const Var *v, Atom arr, Times t)
{
    if (v->type.rank == 0)
        read_elems(w, arr, t);
    bind(w, v, root_of(w, arr));
}

/* --- Code ----------------------------------------------------------------------------------- */

static void count_exp(Work *w, const Exp *e, Times t);

static void count_body(Work *w, const Body *b, Times t)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        count_exp(w, s->exp, t);
        bool view = form_info[s->exp->kind].traits & F_VIEW;
        for (int k = 0; k < s->pat.n; k++)
            bind(w, s->pat.at[k], view ? root_of(w, exp_view_of(s->exp)) : NULL);
    }
    for (int i = 0; i < b->res.n; i++)
        read_whole(w, b->res.at[i], t);
}

static void count_lambda(Work *w, const Lambda *l, Times t)
{
    if (!l)
        return;
    for (int i = 0; i < l->params.n; i++)
        varset_add(w->inside, l->params.at[i]);
    count_body(w, l->body, t);
}

static void count_prim(Work *w, const Exp *e, Times t)
{
    bool counts = prim_is_float(e->prim.type) && prim_info[e->prim.op].result == 'S';
    if (counts)
        add_term(w, &w->operations, &t.factors,
                 e->prim.op == OP_FMA || e->prim.op == OP_MAD ? 2 : 1);
}

static void count_branch(Work *w, const Exp *e, Times t)
{
    Terms before = w->operations, sides[2] = {0};
    for (int k = 0; k < 2; k++) {
        w->operations = (Terms){0};
        count_body(w, k ? e->branch.else_ : e->branch.then_, t);
        sides[k] = w->operations;
    }
    w->operations = before;
    add_larger(w, &w->operations, &sides[0], &sides[1]);
}

static void count_loop(Work *w, const Exp *e, Times t)
{
    for (int i = 0; i < e->loop.params.n; i++)
        bind(w, e->loop.params.at[i], root_of(w, e->loop.inits.at[i]));
    if (e->loop.i)
        varset_add(w->inside, e->loop.i);
    if (e->loop.kind == LOOP_FOR)
        t = more_times(w, t, e->loop.bound);
    else
        t.more = true;
    count_body(w, e->loop.body, t);
}

/* The elements of a SOAC's arrays are the last parameters of its function, or of its operator. */
static void count_soac(Work *w, const Exp *e, Times t)
{
    t = more_times(w, t, e->soac.width);
    const Lambda *takes = e->soac.fn ? e->soac.fn : e->soac.op;
    const Vars *ps = &takes->params;
    for (int i = 0; i < e->soac.arrs.n; i++)
        bind_row(w, ps->at[ps->n - e->soac.arrs.n + i], e->soac.arrs.at[i], t);
    count_lambda(w, e->soac.fn, t);
    count_lambda(w, e->soac.op, t);
}

static void count_seg(Work *w, const Exp *e, Times t)
{
    for (int d = 0; d < e->seg.nest.n; d++) {
        const NestDim *dim = &e->seg.nest.at[d];
        t = more_times(w, t, dim->width);
        varset_add(w->inside, dim->idx);
        if (dim->row)
            varset_add(w->inside, dim->row);
        for (int k = 0; k < dim->xs.n; k++)
            bind_row(w, dim->xs.at[k], dim->arrs.at[k], t);
    }
    count_body(w, e->seg.body, t);
    count_lambda(w, e->seg.op, t);
}

typedef struct {
    Work *w;
    Times t;
} Operands;

static void read_operand(void *env, Atom a)
{
    const Operands *o = env;
    read_whole(o->w, a, o->t);
}

static void count_exp(Work *w, const Exp *e, Times t)
{
    const FormInfo *form = &form_info[e->kind];
    if (e->kind == E_INDEX && e->index.at.n > 0) {
        bool element = true;
        for (int k = 0; k < e->index.at.n; k++)
            element = element && !e->index.at.at[k].is_slice;
        if (element)
            read_elems(w, e->index.arr, t);
        return;
    }
    if (form->traits & F_VIEW)
        return;
    switch (form->member) {
    case M_prim: count_prim(w, e, t); return;
    case M_call: count_lambda(w, e->call.fn->lam, t); return;
    case M_branch: count_branch(w, e, t); return;
    case M_loop: count_loop(w, e, t); return;
    case M_soac: count_soac(w, e, t); return;
    case M_seg: count_seg(w, e, t); return;
    case M_update: read_whole(w, e->update.val, t); return;
    case M_atom:
    case M_conv:
    case M_index:
    case M_iota:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_rearrange:
    case M_reshape:
    case M_copy:
    case M_assertion:
    case M_trace:
    case M_deriv:
    case M_suff:
    case M_ranks:
    case N_MEMBERS: break;
    }
    Operands o = {w, t};
    exp_visit(e, &(ExpVisitor){.env = &o, .atom = read_operand});
}

/* --- Results -------------------------------------------------------------------------------- */

/* How often the construct writes one of its destinations: once for each element of its nest. */
static Times writes_of(Work *w, const Exp *e, Type dest, int rank)
{
    Times t = {0};
    if (form_info[e->kind].member == M_seg)
        for (int d = 0; d < e->seg.nest.n; d++)
            t = more_times(w, t, e->seg.nest.at[d].width);
    else
        t = more_times(w, t, e->soac.width);
    return times_shape(w, t, type_drop(dest, rank));
}

static void count_results(Work *w, const Stm *s, const ArrLoc *outs)
{
    const Dests *dests = exp_dests(s->exp);
    bool dest = dests && dests->n > 0;
    bool bins = form_info[s->exp->kind].traits & F_BINS;
    for (int j = 0; j < s->pat.n; j++) {
        Type shape = s->pat.at[j]->type;
        Times t = dest ? writes_of(w, s->exp, shape, dests->at[j].rank)
                       : times_shape(w, (Times){0}, shape);
        int bytes = prim_type_bytes[shape.elem] * (bins ? 2 : 1);
        vec_push(w->cx->perm, &w->writes, (Touch){outs[j].mem, shape, t, bytes});
    }
}

Work *work_of(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Work *w = NEW(pb->cx->perm, Work);
    Arena *a = pb->cx->perm;
    *w = (Work){.cx = pb->cx, .locs = pb->locs, .inside = varmap_new(a), .roots = varmap_new(a)};
    for (int j = 0; j < s->pat.n; j++) /* sizes of results may be known only afterwards */
        varset_add(w->inside, s->pat.at[j]);
    count_results(w, s, outs);
    count_exp(w, s->exp, (Times){0});
    return w;
}

/* --- Launches ------------------------------------------------------------------------------- */

/* All elements, or as many as are asked for: to `whole`, or as a size to add. */
static const KExp *touched(Work *w, const Touch *x, Terms *whole)
{
    Atoms dims = {0};
    for (int k = 0; k < x->shape.rank; k++) {
        if (!is_known(w, x->shape.dims[k]))
            return NULL;
        if (!atom_is_int(x->shape.dims[k], 1))
            vec_push(w->cx->perm, &dims, x->shape.dims[k]);
    }
    if (x->times.more || divides(w->cx->scratch, &dims, &x->times.factors))
        add_term(w, whole, &dims, x->bytes);
    else if (divides(w->cx->scratch, &x->times.factors, &dims))
        add_term(w, whole, &x->times.factors, x->bytes);
    else
        return sx_op(w->cx, SX_MIN, term_sx(w->cx, &(Term){dims, x->bytes}),
                     term_sx(w->cx, &(Term){x->times.factors, x->bytes}));
    return NULL;
}

static bool has_mem(const KParams *args, const Mem *m)
{
    for (int i = 0; i < args->n; i++)
        if (args->at[i].kind == KP_MEM && args->at[i].mem == m)
            return true;
    return false;
}

void work_launch(Work *w, HostOp *launch)
{
    Terms whole = {0};
    const KExp *bytes = sx_const(w->cx, 0), *operations = bytes;
    bool reads = w->reads.n == 0;
    for (int k = 0; k < w->reads.n + w->writes.n; k++) {
        const Touch *x = k < w->reads.n ? &w->reads.at[k] : &w->writes.at[k - w->reads.n];
        if (!has_mem(&launch->args, x->mem))
            continue;
        reads = reads || k < w->reads.n;
        const KExp *some = touched(w, x, &whole);
        bytes = some ? sx_add(w->cx, bytes, some) : bytes;
    }
    for (int i = 0; i < whole.n; i++)
        bytes = sx_add(w->cx, bytes, term_sx(w->cx, &whole.at[i]));
    for (int i = 0; i < w->operations.n && reads; i++)
        operations = sx_add(w->cx, operations, term_sx(w->cx, &w->operations.at[i]));
    launch->bytes = bytes;
    launch->operations = operations;
}
