/* Recursion in general: a loop, each turn of which runs the code of one state, with a stack.
 *
 *     loop (at, top, stack.., args.., results..) while at != DONE do
 *       if at == 0 then       -- a call: what begins with args
 *       else if at == 1 then  -- goes on with results, or with what it was given
 *       ...
 *
 * `top` counts frames. What a state keeps lies in the frame above the last: who calls writes what
 * comes after the call there and makes it the last; who returns goes on with the state of the last
 * one, which thereby is above the last again. Who jumps writes, too, and leaves `top` as it is.
 *
 * Scalars of a frame have places of their own in a stack for each type; the first of i32 is the
 * state (DONE at the bottom). Arrays, of any sizes, lie one after the other in one for each type of
 * elements, `data`; a state takes what it keeps from its end. All stacks grow to twice their size,
 * but frames of a function whose depth has a bound.
 * They are written in one place behind the branches, every turn, with whatever there is: so they
 * are never a branch's results, and threads that are in different states do it together.
 *
 * Recursion of scalars alone is a map of one element, so that it is the code of a thread wherever
 * it stands; with arrays it stands as it is, and what is parallel inside of a state is so. */
#include "frontend/recursion/recursion_int.h"
#include "ir/stops.h"

#include <string.h>

enum { DONE = -1, FIRST_FRAMES = 32, MOST_FRAMES = 1 << 23 };

/* An argument or result between states. An array has sizes of its own here: none when it is not
 * needed. */
typedef struct {
    Vars sizes;
    Var *v;
} Reg;
typedef VEC(Reg) Regs;

/* The stack of frames, of scalars of one type: n places in each frame. */
typedef struct {
    int n;
    Atom size;
    Var *v;
} Places;

/* The arrays of one type of elements. */
typedef struct {
    bool is;
    Var *top, *size, *v;
} Data;

typedef struct {
    Ctx *cx;
    const SelfCalls *f;
    const Cut *c;
    Loc loc;
    Vars params; /* of the loop, in their order */
    Var *cond, *at, *top;
    Var *frames; /* NULL: as many as the bound asks for */
    Places places[N_PRIM_TYPES];
    Data data[N_PRIM_TYPES];
    Regs args, results;
} Machine;

/* --- Layout --------------------------------------------------------------------------------- */

/* What of a state lies in its frame. */
static Vars saved(Ctx *cx, const State *s)
{
    Vars all = {0};
    if (!s->resumes)
        vec_append(cx->perm, &all, &s->given);
    vec_append(cx->perm, &all, &s->kept);
    return all;
}

static Var *param(Machine *m, const char *name, Type t)
{
    Var *v = var_new(m->cx, name, t, m->loc);
    vec_push(m->cx->perm, &m->params, v);
    return v;
}

static Type vector(const Machine *m, PrimType t, Atom size)
{
    return type_array_n(m->cx, type_prim(t), &size, 1);
}

/* Frames at first: beside those that wait, one at the bottom and one above the last. */
static int64_t first_frames(const Machine *m)
{
    return m->f->depth ? m->f->depth + 2 : FIRST_FRAMES;
}

static Reg reg(Machine *m, const char *name, Type t)
{
    Reg r = {0};
    Atom *dims = NEWN(m->cx->perm, Atom, t.rank);
    for (int d = 0; d < t.rank; d++) {
        vec_push(m->cx->perm, &r.sizes, param(m, "n", type_prim(T_I64)));
        dims[d] = atom_var(vec_last(&r.sizes));
    }
    r.v = param(m, name, (Type){t.elem, t.rank, dims});
    return r;
}

static void lay_out(Machine *m, const Vars *pat)
{
    m->places[T_I32].n = 1;
    for (int i = 0; i < m->c->states.n; i++) {
        int n[N_PRIM_TYPES] = {[T_I32] = 1};
        Vars vs = saved(m->cx, m->c->states.at[i]);
        for (int k = 0; k < vs.n; k++) {
            PrimType t = vs.at[k]->type.elem;
            if (vs.at[k]->type.rank)
                m->data[t].is = true;
            else if (++n[t] > m->places[t].n)
                m->places[t].n = n[t];
        }
    }
    m->cond = param(m, "runs", type_prim(T_BOOL));
    m->at = param(m, "at", type_prim(T_I32));
    m->top = param(m, "top", type_prim(T_I64));
    if (!m->f->depth)
        m->frames = param(m, "frames", type_prim(T_I64));
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        Places *p = &m->places[t];
        Data *d = &m->data[t];
        if (p->n) {
            p->size = m->frames ? atom_var(param(m, "places", type_prim(T_I64)))
                                : atom_i64(first_frames(m) * p->n);
            p->v = param(m, "stack", vector(m, (PrimType)t, p->size));
        }
        if (d->is) {
            d->top = param(m, "top", type_prim(T_I64));
            d->size = param(m, "size", type_prim(T_I64));
            d->v = param(m, "data", vector(m, (PrimType)t, atom_var(d->size)));
        }
    }
    for (int i = 0; i < m->f->params.n; i++)
        vec_push(m->cx->perm, &m->args, reg(m, m->f->params.at[i]->base, m->f->params.at[i]->type));
    for (int i = 0; i < pat->n; i++)
        vec_push(m->cx->perm, &m->results, reg(m, pat->at[i]->base, pat->at[i]->type));
}

static bool scalars_only(const Machine *m)
{
    for (int t = 0; t < N_PRIM_TYPES; t++)
        if (m->data[t].is)
            return false;
    for (int i = 0; i < m->args.n; i++)
        if (m->args.at[i].sizes.n)
            return false;
    for (int i = 0; i < m->results.n; i++)
        if (m->results.at[i].sizes.n)
            return false;
    return true;
}

/* --- Parts ---------------------------------------------------------------------------------- */

static Atom op(const Machine *m, Bld *bl, PrimOp o, Atom a, Atom b)
{
    return bld_binop(bl, m->loc, o, a, b);
}

static Atom replicated(const Machine *m, Bld *bl, Atom n, Atom x)
{
    return bld_exp(bl, "fill", exp_replicate(m->cx, m->loc, n, x));
}

static Atom joined(const Machine *m, Bld *bl, Atom n, Atom a, Atom b)
{
    Exp *e = exp_new(m->cx, E_CONCAT, m->loc);
    e->concat.n = n;
    vec_push(m->cx->perm, &e->concat.arrs, a);
    vec_push(m->cx->perm, &e->concat.arrs, b);
    return bld_exp(bl, "stack", e);
}

static DimIndexes one_dim(const Machine *m, bool slice, Atom from, Atom n)
{
    DimIndexes at = {0};
    vec_push(m->cx->perm, &at, ((DimIndex){slice, from, slice ? n : atom_i64(1), atom_i64(1)}));
    return at;
}

static Exp *part(const Machine *m, Var *arr, DimIndexes at)
{
    Exp *e = exp_new(m->cx, E_INDEX, m->loc);
    e->index.arr = atom_var(arr);
    e->index.at = at;
    e->index.safe = true;
    return e;
}

static Atom with(const Machine *m, Bld *bl, Atom arr, DimIndexes at, Atom val)
{
    Exp *e = exp_new(m->cx, E_UPDATE, m->loc);
    e->update.arr = arr;
    e->update.at = at;
    e->update.val = val;
    e->update.safe = true;
    return bld_exp(bl, "stack", e);
}

/* Place number k of the frame, as a position. */
static Atom position(const Machine *m, Bld *bl, PrimType t, Atom frame, int k)
{
    Atom first = op(m, bl, OP_MUL, frame, atom_i64(m->places[t].n));
    return op(m, bl, OP_ADD, first, atom_i64(k));
}

static Atom length(const Machine *m, Bld *bl, Type t)
{
    Atom n = t.dims[0];
    for (int d = 1; d < t.rank; d++)
        n = op(m, bl, OP_MUL, n, t.dims[d]);
    return n;
}

/* A value of a register that nobody looks at. */
static void push_idle(const Machine *m, Bld *bl, const Reg *r, Atoms *res)
{
    Type t = r->v->type;
    Atom *dims = NEWN(m->cx->perm, Atom, t.rank);
    for (int d = 0; d < t.rank; d++) {
        dims[d] = atom_i64(0);
        vec_push(m->cx->perm, res, dims[d]);
    }
    Atom a = atom_zero(t.elem);
    if (t.rank) {
        Exp *e = exp_new(m->cx, E_SCRATCH, m->loc);
        e->scratch.type = (Type){t.elem, t.rank, dims};
        a = bld_exp(bl, "none", e);
    }
    vec_push(m->cx->perm, res, a);
}

static void push_regs(const Machine *m, Bld *bl, const Regs *rs, const Atoms *vals, Atoms *res)
{
    for (int i = 0; i < rs->n; i++) {
        if (!vals) {
            push_idle(m, bl, &rs->at[i], res);
            continue;
        }
        Type t = atom_type(vals->at[i]);
        for (int d = 0; d < t.rank; d++)
            vec_push(m->cx->perm, res, t.dims[d]);
        vec_push(m->cx->perm, res, vals->at[i]);
    }
}

/* --- Leaves --------------------------------------------------------------------------------- */

/* Where a turn's code stands: what it has taken from the data so far. */
typedef struct {
    Machine *m;
    Subst *su;
    Atom tops[N_PRIM_TYPES];
} Turn;

/* How a turn ends. */
typedef struct {
    Atom at, move;              /* the next state; what to add to `top` */
    const Atoms *args, *result; /* or NULL */
    int state;                  /* whose frame is written */
    const Vars *saved;          /* its variables, and */
    Atoms vals;                 /* what they are */
} Leaf;

/* The arrays of one type after each other: their number of elements, and all of them. */
static void push_data(const Turn *t, Bld *bl, PrimType elem, const Leaf *lf, Atoms *res)
{
    Machine *m = t->m;
    Atom n = atom_i64(0), all = {0};
    bool any = false;
    for (int i = 0; lf->saved && i < lf->saved->n; i++) {
        Atom a = lf->vals.at[i];
        Type ty = atom_type(a);
        if (!ty.rank || ty.elem != elem)
            continue;
        Atom k = length(m, bl, ty);
        a = as_type(bl, m->loc, a, type_array_n(m->cx, type_prim(elem), &k, 1));
        Atom more = op(m, bl, OP_ADD, n, k);
        all = any ? joined(m, bl, more, all, a) : a;
        n = any ? more : k;
        any = true;
    }
    if (!any) {
        Exp *e = exp_new(m->cx, E_SCRATCH, m->loc);
        e->scratch.type = type_array_n(m->cx, type_prim(elem), &n, 1);
        all = bld_exp(bl, "none", e);
    }
    vec_push(m->cx->perm, res, t->tops[elem]);
    vec_push(m->cx->perm, res, n);
    vec_push(m->cx->perm, res, all);
}

/* at, move, args, results, the places of the frame, data: in the order in which finish_turn takes
 * them. */
static Body *end_turn(const Turn *t, Bld *bl, const Leaf *lf)
{
    Machine *m = t->m;
    Atoms res = {0};
    vec_push(m->cx->perm, &res, lf->at);
    vec_push(m->cx->perm, &res, lf->move);
    push_regs(m, bl, &m->args, lf->args, &res);
    push_regs(m, bl, &m->results, lf->result, &res);
    for (int p = 0; p < N_PRIM_TYPES; p++) {
        int k = 0;
        if (p == T_I32) {
            vec_push(m->cx->perm, &res, atom_int(T_I32, lf->state));
            k++;
        }
        for (int i = 0; lf->saved && i < lf->saved->n; i++) {
            Type ty = atom_type(lf->vals.at[i]);
            if (ty.rank || ty.elem != (PrimType)p)
                continue;
            vec_push(m->cx->perm, &res, lf->vals.at[i]);
            k++;
        }
        for (; k < m->places[p].n; k++)
            vec_push(m->cx->perm, &res, atom_zero((PrimType)p));
    }
    for (int p = 0; p < N_PRIM_TYPES; p++)
        if (m->data[p].is)
            push_data(t, bl, (PrimType)p, lf, &res);
    return bld_body(bl, res);
}

static Body *turn_leaf(const Turn *t, Bld *bl, const Code *code)
{
    Machine *m = t->m;
    Ctx *cx = m->cx;
    Atoms vals = {0};
    Leaf lf = {.move = atom_i64(0), .state = 0};
    for (int i = 0; i < code->vals.n; i++)
        vec_push(cx->perm, &vals, subst_in(cx, t->su, code->vals.at[i]));
    Vars frame = {0};
    if (code->to) {
        frame = saved(cx, code->to);
        lf.saved = &frame;
        lf.state = code->to->id;
        if (code->end == CODE_JUMP)
            vec_append(cx->perm, &lf.vals, &vals);
        for (int i = 0; i < code->to->kept.n; i++)
            vec_push(cx->perm, &lf.vals, subst_in(cx, t->su, atom_var(code->to->kept.at[i])));
    }
    switch (code->end) {
    case CODE_RETURN: {
        Atom last = op(m, bl, OP_SUB, atom_var(m->top), atom_i64(1));
        Exp *state = part(m, m->places[T_I32].v,
                          one_dim(m, false, position(m, bl, T_I32, last, 0), atom_i64(1)));
        lf.at = bld_exp(bl, "at", state);
        lf.move = atom_i64(-1);
        lf.result = &vals;
        break;
    }
    case CODE_TAIL:
        lf.at = atom_int(T_I32, 0);
        lf.args = &vals;
        break;
    case CODE_CALL:
        lf.at = atom_int(T_I32, 0);
        lf.move = atom_i64(1);
        lf.args = &vals;
        break;
    case CODE_JUMP: lf.at = atom_int(T_I32, code->to->id); break;
    case CODE_BRANCH: break;
    }
    return end_turn(t, bl, &lf);
}

/* --- A turn --------------------------------------------------------------------------------- */

static void define(const Turn *t, Bld *bl, Var *v, Exp *e)
{
    Stm s = {.exp = e};
    vec_push(t->m->cx->perm, &s.pat, v);
    bld_stm(bl, subst_stm(t->m->cx, t->su, &s));
}

/* Binds what the state keeps, and is given by a jump: from its frame. */
static void load_frame(Turn *t, Bld *bl, const State *s)
{
    Machine *m = t->m;
    int places[N_PRIM_TYPES] = {[T_I32] = 1};
    Vars vs = saved(m->cx, s);
    Atom lengths[N_PRIM_TYPES];
    for (int p = 0; p < N_PRIM_TYPES; p++)
        lengths[p] = atom_i64(0);
    for (int i = 0; i < vs.n; i++) {
        PrimType p = vs.at[i]->type.elem;
        if (vs.at[i]->type.rank)
            continue;
        Atom k = position(m, bl, p, atom_var(m->top), places[p]++);
        define(t, bl, vs.at[i], part(m, m->places[p].v, one_dim(m, false, k, atom_i64(1))));
    }
    Atom *lens = NEWN(m->cx->perm, Atom, vs.n);
    for (int i = 0; i < vs.n; i++) {
        Type ty = vs.at[i]->type;
        if (!ty.rank)
            continue;
        Type here = {ty.elem, ty.rank, NEWN(m->cx->perm, Atom, ty.rank)};
        for (int d = 0; d < ty.rank; d++)
            here.dims[d] = subst_in(m->cx, t->su, ty.dims[d]);
        lens[i] = length(m, bl, here);
        lengths[ty.elem] = op(m, bl, OP_ADD, lengths[ty.elem], lens[i]);
    }
    for (int p = 0; p < N_PRIM_TYPES; p++)
        if (m->data[p].is)
            t->tops[p] = op(m, bl, OP_SUB, t->tops[p], lengths[p]);
    Atom from[N_PRIM_TYPES];
    memcpy(from, t->tops, sizeof from);
    for (int i = 0; i < vs.n; i++) {
        Type ty = vs.at[i]->type;
        if (!ty.rank)
            continue;
        Exp *copy = exp_new(m->cx, E_COPY, m->loc), *e = exp_new(m->cx, E_RESHAPE, m->loc);
        copy->copy.arr = bld_exp(
            bl, "kept", part(m, m->data[ty.elem].v, one_dim(m, true, from[ty.elem], lens[i])));
        e->reshape.arr = bld_exp(bl, "kept", copy);
        for (int d = 0; d < ty.rank; d++)
            vec_push(m->cx->perm, &e->reshape.dims, ty.dims[d]);
        define(t, bl, vs.at[i], e);
        from[ty.elem] = op(m, bl, OP_ADD, from[ty.elem], lens[i]);
    }
}

/* Binds variables to registers. */
static void load_regs(Turn *t, Bld *bl, const Vars *vs, const Regs *rs)
{
    Machine *m = t->m;
    for (int i = 0; i < vs->n; i++) {
        Type ty = vs->at[i]->type;
        Exp *e = exp_atom(m->cx, m->loc, atom_var(rs->at[i].v));
        if (ty.rank) {
            e = exp_new(m->cx, E_RESHAPE, m->loc);
            e->reshape.arr = atom_var(rs->at[i].v);
            for (int d = 0; d < ty.rank; d++)
                vec_push(m->cx->perm, &e->reshape.dims, ty.dims[d]);
        }
        define(t, bl, vs->at[i], e);
    }
}

/* A branch has several arrays of the same size, perhaps: sizes in front of an array become those of
 * its type. */
static void name_sizes(Atoms *res)
{
    for (int i = 0; i < res->n; i++) {
        Type t = atom_type(res->at[i]);
        for (int d = 0; d < t.rank; d++)
            res->at[i - t.rank + d] = t.dims[d];
    }
}

static Atoms branch(const Machine *m, Bld *bl, Atom test, Body *yes, Body *no)
{
    Atoms res = bld_exps(bl, "s", exp_if(m->cx, m->loc, test, yes, no));
    name_sizes(&res);
    return res;
}

static Body *turn_code(const Turn *t, Bld bl, const Code *code)
{
    Ctx *cx = t->m->cx;
    for (int i = 0; i < code->stms.n; i++)
        bld_stm(&bl, subst_stm(cx, t->su, &code->stms.at[i]));
    if (code->end != CODE_BRANCH)
        return turn_leaf(t, &bl, code);
    Atom test = subst_in(cx, t->su, code->test);
    Body *yes = turn_code(t, bld_new(cx), code->yes), *no = turn_code(t, bld_new(cx), code->no);
    return bld_body(&bl, branch(t->m, &bl, test, yes, no));
}

/* State number id; 0 is the function's beginning. */
static Body *state_body(Machine *m, int id, const Code *start)
{
    Bld bl = bld_new(m->cx);
    Turn t = {.m = m, .su = subst_new(m->cx)};
    for (int p = 0; p < N_PRIM_TYPES; p++)
        if (m->data[p].is)
            t.tops[p] = atom_var(m->data[p].top);
    if (!id) {
        load_regs(&t, &bl, &m->f->params, &m->args);
        return turn_code(&t, bl, start);
    }
    const State *s = m->c->states.at[id - 1];
    load_frame(&t, &bl, s);
    if (s->resumes)
        load_regs(&t, &bl, &s->given, &m->results);
    return turn_code(&t, bl, s->code);
}

/* The states from number id on. */
static Body *states_body(Machine *m, int id, const Code *start)
{
    Body *one = state_body(m, id, start);
    if (id == m->c->states.n)
        return one;
    Body *others = states_body(m, id + 1, start);
    Bld bl = bld_new(m->cx);
    Atom is =
        bld_exp(&bl, "is", exp_binop(m->cx, m->loc, OP_EQ, atom_var(m->at), atom_int(T_I32, id)));
    return bld_body(&bl, branch(m, &bl, is, one, others));
}

/* --- Stacks --------------------------------------------------------------------------------- */

/* if test then what grows makes of stacks else the stacks as they are; sizes stand before stacks.
 */
static Atoms grown(const Machine *m, Bld *bl, Atom test, Bld *in, Atoms large, Atoms as_is)
{
    Bld no = bld_new(m->cx);
    return bld_exps(bl, "stack",
                    exp_if(m->cx, m->loc, test, bld_body(in, large), bld_body(&no, as_is)));
}

static void next_array(const Machine *m, Atoms *res, Atom a)
{
    Type t = atom_type(a);
    for (int d = 0; d < t.rank; d++)
        vec_push(m->cx->perm, res, t.dims[d]);
    vec_push(m->cx->perm, res, a);
}

static void check_depth(const Machine *m, Bld *bl, Atom ok, int64_t most)
{
    Exp *e = exp_new(m->cx, E_ASSERT, m->loc);
    e->assertion.cond = ok;
    e->assertion.msg = stop_text[STOP_DEPTH];
    vec_push(m->cx->perm, &e->assertion.args, atom_i64(most));
    bld_stm(bl, (Stm){.exp = e});
}

/* Frames for `top`: their number, if it may be another one each time, then of each type size and
 * stack. */
static Atoms more_frames(const Machine *m, Bld *bl, Atom top, const Atom *stacks)
{
    Bld in = bld_new(m->cx);
    Atoms large = {0}, same = {0};
    if (!m->frames) {
        check_depth(m, bl, op(m, bl, OP_LT, top, atom_i64(first_frames(m))), m->f->depth);
        for (int t = 0; t < N_PRIM_TYPES; t++)
            if (m->places[t].n)
                vec_push(m->cx->perm, &same, stacks[t]);
        return same;
    }
    Atom frames = atom_var(m->frames), full = op(m, bl, OP_LE, frames, top);
    check_depth(m, &in, op(m, &in, OP_LT, frames, atom_i64(MOST_FRAMES)), MOST_FRAMES);
    vec_push(m->cx->perm, &large, op(m, &in, OP_MUL, frames, atom_i64(2)));
    vec_push(m->cx->perm, &same, frames);
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        const Places *p = &m->places[t];
        if (!p->n)
            continue;
        Atom n = op(m, &in, OP_MUL, p->size, atom_i64(2));
        Atom more = replicated(m, &in, p->size, atom_zero((PrimType)t));
        next_array(m, &large, joined(m, &in, n, stacks[t], more));
        next_array(m, &same, stacks[t]);
    }
    return grown(m, bl, full, &in, large, same);
}

/* The data with `all`, n elements, from `top` on. */
static Atom push_on_data(const Machine *m, Bld *bl, PrimType t, Atom top, Atom n, Atom all)
{
    const Data *d = &m->data[t];
    Atom size = atom_var(d->size), stack = atom_var(d->v), need = op(m, bl, OP_ADD, top, n);
    Bld in = bld_new(m->cx);
    Atom more = op(m, &in, OP_MAX, size, n), larger = op(m, &in, OP_ADD, size, more);
    Atoms large = {0}, same = {0};
    next_array(m, &large, joined(m, &in, larger, stack, replicated(m, &in, more, atom_zero(t))));
    next_array(m, &same, stack);
    Atoms as = grown(m, bl, op(m, bl, OP_LT, size, need), &in, large, same);
    return with(m, bl, as.at[1], one_dim(m, true, top, n), all);
}

/* What is behind the branches of a turn: the loop's next parameters. */
static Body *finish_turn(const Machine *m, Bld *bl, const Atoms *s)
{
    int k = 0;
    Atoms res = {0};
    Atom at = s->at[k++], top = op(m, bl, OP_ADD, atom_var(m->top), s->at[k++]);
    Atoms regs = {0};
    for (int i = 0; i < m->args.n + m->results.n; i++) {
        const Reg *r = i < m->args.n ? &m->args.at[i] : &m->results.at[i - m->args.n];
        k += r->sizes.n;
        next_array(m, &regs, s->at[k++]);
    }
    Atom stacks[N_PRIM_TYPES];
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        const Places *p = &m->places[t];
        for (int i = 0; i < p->n; i++) {
            Atom before = i ? stacks[t] : atom_var(p->v);
            Atom to = position(m, bl, (PrimType)t, atom_var(m->top), i);
            stacks[t] = with(m, bl, before, one_dim(m, false, to, atom_i64(1)), s->at[k++]);
        }
    }
    Atoms frames = more_frames(m, bl, top, stacks);
    vec_push(m->cx->perm, &res,
             bld_exp(bl, "runs", exp_binop(m->cx, m->loc, OP_NE, at, atom_int(T_I32, DONE))));
    vec_push(m->cx->perm, &res, at);
    vec_push(m->cx->perm, &res, top);
    int f = 0;
    if (m->frames)
        vec_push(m->cx->perm, &res, frames.at[f++]);
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        if (m->places[t].n && m->frames)
            next_array(m, &res, frames.at[++f]);
        else if (m->places[t].n)
            vec_push(m->cx->perm, &res, frames.at[f]);
        f += m->places[t].n > 0;
        if (m->data[t].is) {
            Atom from = s->at[k], all = s->at[k + 2], n = atom_type(all).dims[0];
            k += 3;
            vec_push(m->cx->perm, &res, op(m, bl, OP_ADD, from, n));
            next_array(m, &res, push_on_data(m, bl, (PrimType)t, from, n, all));
        }
    }
    ASSERT(k == s->n);
    vec_append(m->cx->perm, &res, &regs);
    return bld_body(bl, res);
}

/* --- The loop ------------------------------------------------------------------------------- */

static Atoms initial(const Machine *m, Bld *bl)
{
    Atoms in = {0};
    vec_push(m->cx->perm, &in, atom_bool(true));
    vec_push(m->cx->perm, &in, atom_int(T_I32, 0));
    vec_push(m->cx->perm, &in, atom_i64(1)); /* the one at the bottom */
    if (m->frames)
        vec_push(m->cx->perm, &in, atom_i64(FIRST_FRAMES));
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        Atom fill = t == T_I32 ? atom_int(T_I32, DONE) : atom_zero((PrimType)t);
        if (m->places[t].n) {
            Atom n = atom_i64(first_frames(m) * m->places[t].n);
            if (m->frames)
                vec_push(m->cx->perm, &in, n);
            vec_push(m->cx->perm, &in, replicated(m, bl, n, fill));
        }
        if (m->data[t].is) {
            vec_push(m->cx->perm, &in, atom_i64(0));
            next_array(m, &in, replicated(m, bl, atom_i64(FIRST_FRAMES), atom_zero((PrimType)t)));
        }
    }
    push_regs(m, bl, &m->args, &m->f->inits, &in);
    push_regs(m, bl, &m->results, NULL, &in);
    return in;
}

/* The results' registers at the end. */
static Atoms emit_loop(Machine *m, Bld *bl, const Code *start)
{
    Exp *loop = exp_new(m->cx, E_LOOP, m->loc);
    loop->loop.kind = LOOP_WHILE;
    loop->loop.cond = m->cond;
    loop->loop.params = m->params;
    loop->loop.inits = initial(m, bl);
    Body *turn = states_body(m, 0, start);
    Bld in = bld_new(m->cx);
    in.stms = turn->stms;
    loop->loop.body = finish_turn(m, &in, &turn->res);
    Atoms last = bld_exps(bl, m->f->name, loop), res = {0};
    for (int i = 0; i < m->results.n; i++)
        vec_push(m->cx->perm, &res, last.at[vars_find(&m->params, m->results.at[i].v)]);
    return res;
}

/* The same inside of a map of one element. */
static Atoms emit_alone(Machine *m, Bld *bl, const Code *start)
{
    Bld in = bld_new(m->cx);
    Vars params = {0};
    vec_push(m->cx->perm, &params, var_new(m->cx, "i", type_prim(T_I64), m->loc));
    Atoms res = emit_loop(m, &in, start), one = {0}, out = {0};
    Exp *iota = exp_new(m->cx, E_IOTA, m->loc);
    iota->iota.n = atom_i64(1);
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    vec_push(m->cx->perm, &one, bld_exp(bl, "one", iota));
    Lambda *lam = lambda_new(m->cx, params, bld_body(&in, res));
    Atoms as = bld_exps(bl, m->f->name, exp_map(m->cx, m->loc, atom_i64(1), one, lam));
    Atom first = atom_i64(0);
    for (int i = 0; i < as.n; i++)
        vec_push(m->cx->perm, &out,
                 bld_exp(bl, m->f->name, exp_index(m->cx, m->loc, as.at[i], &first, 1, true)));
    return out;
}

void emit_machine(Bld *bl, const Cut *c, const Code *start, const Vars *pat)
{
    Machine *m = NEW(c->cx->perm, Machine);
    *m = (Machine){.cx = c->cx, .f = c->f, .c = c, .loc = c->f->loc};
    lay_out(m, pat);
    Atoms res = scalars_only(m) ? emit_alone(m, bl, start) : emit_loop(m, bl, start);
    define_results(bl, m->loc, pat, &res);
}
