/* Blocks and index functions of the arrays of the host level, and the copies that they need
 * (memory.h).
 *
 * One walk over the statements in order. A view lies in the block of its array; what a construct
 * makes, and a copy, has a fresh block in the layout that layout.c chose. A loop parameter and the
 * result of a branch are block names of their own that are set to whichever block holds the value,
 * which is copied first if it lies otherwise. Loops therefore swap blocks where a program for one
 * machine would copy. */
#include "memory/layout.h"

#include "base/ident.h"

typedef struct {
    Ctx *cx;
    VarMap *perms;    /* array variable -> const int * */
    VarSet *computed; /* arrays that are never made */
    EntryMemory *em;
    Stms *out;
    bool changed;      /* the body at work is not what it was */
    int guard_mark;    /* inside a guarded version: blocks with a smaller root are older than it and
                          must stay as they are, in case that the version is refused; else -1 */
    VarSet *guards;    /* bool variables bound to a SUFF */
    Alias *al;         /* of the entry */
    const Body *body;  /* at work */
    int at;            /* the statement of it */
    PtrMap *consumed;  /* for within_update */
    VarMap *places;    /* results of branches -> const ArrLoc *: where they are to be built */
    VarMap *equations; /* bool variable -> the comparison of two sizes that it is */
    Atoms equal;       /* pairs of sizes that were asserted to be equal */
} Assign;

Mem *mem_new(Ctx *cx, const char *base, int id)
{
    Mem *m = NEW(cx->perm, Mem);
    m->id = m->root = id;
    m->name = arena_printf(cx->perm, "%s_mem_%d", c_ident(base), id);
    return m;
}

static ArrLoc loc_of(const Assign *as, Atom a)
{
    const ArrLoc *l = varmap_get(as->em->locs, a.var);
    if (!l)
        ice(a.var->loc, "array %s has no memory", var_text(a.var));
    return *l;
}

static void bind(Assign *as, const Var *v, ArrLoc loc)
{
    ArrLoc *l = NEW(as->cx->perm, ArrLoc);
    *l = loc;
    varmap_put(as->em->locs, v, l);
}

static Mem *new_block(Assign *as, const Var *v)
{
    return mem_new(as->cx, v->base, as->em->n_mems++);
}

/* A block of v's own, in its layout. */
static void bind_fresh(Assign *as, const Var *v)
{
    Mem *m = new_block(as, v);
    bind(as, v, (ArrLoc){m, lmad_permuted(as->cx, v->type, varmap_get(as->perms, v))});
}

/* An array that is made by a formula: in memory, or nowhere, as if it lay row-major. */
static void bind_formula(Assign *as, const Var *v, const Exp *e)
{
    if (!varset_has(as->computed, v)) {
        bind_fresh(as, v);
        return;
    }
    Mem *m = new_block(as, v);
    m->computed = e;
    m->borrowed = true; /* never written */
    bind(as, v, (ArrLoc){m, lmad_permuted(as->cx, v->type, NULL)});
}

static bool lies_as(const Assign *as, const ArrLoc *l, Type t, const int *perm)
{
    return lmad_eq(l->at, lmad_permuted(as->cx, t, perm), t.rank);
}

/* --- Copies ----------------------------------------------------------------------------------- */

static void push_stm(Assign *as, Stm s)
{
    vec_push(as->cx->perm, as->out, s);
}

/* let copy = copy a, laid out by perm. */
static Atom copied(Assign *as, Atom a, const int *perm, Loc loc)
{
    Exp *e = exp_new(as->cx, E_COPY, loc);
    e->copy.arr = a;
    Stm s = {.exp = e};
    Var *v = var_like(as->cx, a.var);
    vec_push(as->cx->perm, &s.pat, v);
    push_stm(as, s);
    as->changed = true;
    bind(as, v, (ArrLoc){new_block(as, v), lmad_permuted(as->cx, v->type, perm)});
    return atom_var(v);
}

/* a, in a block of its own from the start and laid out by perm; copied if it is not. */
static Atom laid_out(Assign *as, Atom a, const int *perm, Loc loc)
{
    ArrLoc l = loc_of(as, a);
    return lies_as(as, &l, atom_type(a), perm) ? a : copied(as, a, perm, loc);
}

/* The layout of l if it is a permuted row-major one, else row-major (NULL). */
static const int *kept_perm(const Assign *as, const ArrLoc *l, Type t)
{
    int *perm = NEWN(as->cx->perm, int, t.rank);
    return lmad_perm(as->cx, l->at, t, perm) ? perm : NULL;
}

static bool writable(const Assign *as, Atom a)
{
    const Mem *m = loc_of(as, a).mem;
    return !m->borrowed && (as->guard_mark < 0 || m->root >= as->guard_mark);
}

/* a, or a copy when its memory must stay as it is. */
static Atom own(Assign *as, Atom a, Loc loc)
{
    ArrLoc l = loc_of(as, a);
    return writable(as, a) ? a : copied(as, a, kept_perm(as, &l, atom_type(a)), loc);
}

/* e with copies of the arrays that it consumes, where their memory must stay as it is. */
static const Exp *consuming(Assign *as, const Exp *e)
{
    Vars consumed = exp_consumes(as->cx, e);
    Subst *su = NULL;
    for (int i = 0; i < consumed.n; i++) {
        Atom a = atom_var(consumed.at[i]), o;
        if (!varmap_get(as->em->locs, a.var) || (o = own(as, a, e->loc)).var == a.var)
            continue;
        if (!su)
            su = subst_new(as->cx);
        subst_add(su, a.var, o);
    }
    return su ? subst_exp(as->cx, su, e) : e;
}

/* dst also stands for what src stands for. */
static void may_be(Mem *dst, const Mem *src)
{
    dst->borrowed |= src->borrowed;
    if (src->root < dst->root)
        dst->root = src->root;
}

/* --- Bodies ----------------------------------------------------------------------------------- */

/* A body at work: entered, left for a while, closed. */
typedef struct {
    const Body *body;
    Stms stms;
    Atoms res;
    bool changed;
    Stms *outer;
    bool outer_changed;
} Open;

static void assign_stm(Assign *as, const Stm *s);

static void enter(Assign *as, Open *o)
{
    o->outer = as->out;
    o->outer_changed = as->changed;
    as->out = &o->stms;
    as->changed = o->changed;
}

static void leave(Assign *as, Open *o)
{
    o->changed = as->changed;
    as->out = o->outer;
    as->changed = o->outer_changed || o->changed;
}

static Open assign_body(Assign *as, const Body *b)
{
    Open o = {.body = b};
    const Body *outer = as->body;
    int at = as->at, known = as->equal.n;
    vec_append(as->cx->perm, &o.res, &b->res);
    enter(as, &o);
    as->body = b;
    for (as->at = 0; as->at < b->stms.n; as->at++)
        assign_stm(as, &b->stms.at[as->at]);
    as->body = outer;
    as->at = at;
    as->equal.n = known;
    leave(as, &o);
    return o;
}

static Body *closed(Assign *as, const Open *o)
{
    if (!o->changed)
        return (Body *)o->body;
    Body *b = NEW(as->cx->perm, Body);
    *b = (Body){o->stms, o->res};
    return b;
}

/* --- Places ----------------------------------------------------------------------------------- */

/* If elements lie side by side at l, do those that v's readers and writers want so? */
static bool suits(const Assign *as, const ArrLoc *l, const Var *v)
{
    const int *perm = varmap_get(as->perms, v);
    int last = v->type.rank - 1, fast = perm ? perm[last] : last;
    bool any = false;
    for (int k = 0; k <= last; k++)
        any = any || kx_is_int(l->at.strides[k], 1);
    return !any || kx_is_int(l->at.strides[fast], 1);
}

/* Where an update puts result j of the statement s at work, if it can be built there; else NULL.
 * That of a guarded version may, too: if it is refused, another one builds all of it. */
static const ArrLoc *place_of(Assign *as, const Stm *s, int j)
{
    const ArrLoc *told = varmap_get(as->places, s->pat.at[j]);
    if (told)
        return told;
    const Stm *turned;
    const Exp *up = within_update(as->cx, as->al, as->consumed, as->body, as->at, j, &turned);
    if (!up || !varmap_get(as->em->locs, up->update.arr.var) || !writable(as, up->update.arr))
        return NULL;
    ArrLoc all = loc_of(as, up->update.arr), *l = NEW(as->cx->perm, ArrLoc);
    *l = (ArrLoc){all.mem, lmad_index(as->cx, all.at, &up->update.at)};
    if (turned)
        l->at =
            lmad_unrearrange(as->cx, l->at, s->pat.at[j]->type.rank, turned->exp->rearrange.perm);
    return s->exp->kind != E_IF || suits(as, l, s->pat.at[j]) ? l : NULL;
}

static bool bind_within(Assign *as, const Stm *s, int j)
{
    const ArrLoc *l = place_of(as, s, j);
    if (!l)
        return false;
    bind(as, s->pat.at[j], *l);
    varset_add(as->em->within, s->pat.at[j]);
    return true;
}

/* Results of branches are built where those of the statement are to be. */
static void tell_branches(Assign *as, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++) {
        const ArrLoc *l = s->pat.at[j]->type.rank > 0 ? place_of(as, s, j) : NULL;
        if (!l)
            continue;
        varmap_put(as->places, s->exp->branch.then_->res.at[j].var, (void *)l);
        varmap_put(as->places, s->exp->branch.else_->res.at[j].var, (void *)l);
    }
}

/* --- Branches --------------------------------------------------------------------------------- */

static bool same_loc(const ArrLoc *a, const ArrLoc *b, int rank)
{
    return a->mem == b->mem && lmad_eq(a->at, b->at, rank);
}

/* Array result i: where both sides have it, or a block name that is set to either's block. */
static void join(Assign *as, const Stm *s, Open *sides, int i)
{
    Var *v = s->pat.at[i];
    int rank = v->type.rank;
    ArrLoc a = loc_of(as, sides[0].res.at[i]), b = loc_of(as, sides[1].res.at[i]);
    if (same_loc(&a, &b, rank)) {
        bind(as, v, a);
        return;
    }
    bind_fresh(as, v);
    Mem *m = loc_of(as, atom_var(v)).mem;
    for (int k = 0; k < 2; k++) {
        enter(as, &sides[k]);
        Atom r = sides[k].res.at[i];
        sides[k].res.at[i] = laid_out(as, r, varmap_get(as->perms, v), s->exp->loc);
        may_be(m, loc_of(as, sides[k].res.at[i]).mem);
        leave(as, &sides[k]);
    }
}

static void assign_if(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    int mark = as->guard_mark;
    tell_branches(as, s);
    if (e->branch.test.var && varset_has(as->guards, e->branch.test.var) && mark < 0)
        as->guard_mark = as->em->n_mems;
    Open sides[2];
    sides[0] = assign_body(as, e->branch.then_);
    as->guard_mark = mark;
    sides[1] = assign_body(as, e->branch.else_);
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            join(as, s, sides, i);
    if (!sides[0].changed && !sides[1].changed) {
        push_stm(as, *s);
        return;
    }
    Exp *r = exp_if(as->cx, e->loc, e->branch.test, closed(as, &sides[0]), closed(as, &sides[1]));
    r->attrs = e->attrs;
    push_stm(as, (Stm){s->pat, r});
}

/* --- Loops ------------------------------------------------------------------------------------ */

static bool is_consumed(const Vars *consumed, Atom a)
{
    for (int i = 0; i < consumed->n; i++)
        if (a.var == consumed->at[i])
            return true;
    return false;
}

/* The initial values, copied where they lie otherwise than the loop has them, or are not its own to
 * update. */
static Atoms assign_inits(Assign *as, const Exp *e)
{
    Vars consumed = exp_consumes(as->cx, e);
    Atoms inits = {0};
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *p = e->loop.params.at[i];
        Atom a = e->loop.inits.at[i];
        if (p->type.rank > 0) {
            const int *perm = varmap_get(as->perms, p);
            if (is_consumed(&consumed, a) && !writable(as, a))
                a = copied(as, a, perm, e->loc);
            else
                a = laid_out(as, a, perm, e->loc);
            bind_fresh(as, p);
            may_be(loc_of(as, atom_var(p)).mem, loc_of(as, a).mem);
        }
        vec_push(as->cx->perm, &inits, a);
    }
    return inits;
}

static void assign_loop(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    bool before = as->changed;
    as->changed = false;
    Atoms inits = assign_inits(as, e);
    bool new_inits = as->changed;
    as->changed |= before;
    Open o = assign_body(as, e->loop.body);
    enter(as, &o);
    for (int i = 0; i < s->pat.n; i++) {
        Var *p = e->loop.params.at[i];
        if (p->type.rank == 0)
            continue;
        o.res.at[i] = laid_out(as, o.res.at[i], varmap_get(as->perms, p), e->loc);
        may_be(loc_of(as, atom_var(p)).mem, loc_of(as, o.res.at[i]).mem);
    }
    leave(as, &o);
    for (int i = 0; i < s->pat.n; i++) {
        Var *v = s->pat.at[i], *p = e->loop.params.at[i];
        if (v->type.rank > 0)
            bind(as, v,
                 (ArrLoc){loc_of(as, atom_var(p)).mem,
                          lmad_permuted(as->cx, v->type, varmap_get(as->perms, p))});
    }
    if (!new_inits && !o.changed) {
        push_stm(as, *s);
        return;
    }
    Exp *r = exp_new(as->cx, E_LOOP, e->loc);
    *r = *e;
    r->loop.inits = inits;
    r->loop.body = closed(as, &o);
    push_stm(as, (Stm){s->pat, r});
}

/* Touches single elements of arrays: on the host each one would be a transfer. */
static bool touches_elements(const Exp *e)
{
    if (e->kind == E_INDEX) {
        for (int k = 0; k < e->index.at.n; k++)
            if (e->index.at.at[k].is_slice)
                return false;
        return true;
    }
    return exp_is_fold(e);
}

static void find_touch(void *env, Body *b)
{
    bool *found = env;
    ExpVisitor v = {.env = found, .body = find_touch};
    for (int i = 0; i < b->stms.n && !*found; i++) {
        *found = touches_elements(b->stms.at[i].exp);
        exp_visit(b->stms.at[i].exp, &v); /* lambdas left out: they are kernels anyway */
    }
}

static bool is_parallel(const Exp *e)
{
    return exp_is_seg(e) || exp_is_guard(e);
}

bool mem_is_device_loop(const Stm *s)
{
    if (s->exp->kind != E_LOOP || exp_any(s->exp, is_parallel))
        return false;
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            return false;
    bool found = false;
    find_touch(&found, s->exp->loop.body);
    return found;
}

/* --- Other statements ------------------------------------------------------------------------- */

/* A kernel: results are fresh or lie in what they update. */
static void assign_kernel(Assign *as, const Stm *s)
{
    const Exp *e = consuming(as, s->exp);
    const Dests *dests = exp_dests(e);
    push_stm(as, (Stm){s->pat, (Exp *)e});
    for (int j = 0; j < s->pat.n; j++) {
        Var *v = s->pat.at[j];
        if (dests && dests->n > 0)
            bind(as, v, loc_of(as, dests->at[j].arr));
        else if (v->type.rank > 0 && !bind_within(as, s, j))
            bind_fresh(as, v);
    }
}

/* Does the value of an update of `whole` lie where it is to be? */
static bool is_there(const Assign *as, const Exp *update, const ArrLoc *whole)
{
    ArrLoc val = loc_of(as, update->update.val);
    return lmad_eq(val.at, lmad_index(as->cx, whole->at, &update->update.at),
                   atom_type(update->update.val).rank);
}

static void assign_update(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    Atom arr = own(as, e->update.arr, e->loc), val = e->update.val;
    ArrLoc whole = loc_of(as, arr);
    if (atom_type(val).rank > 0 && loc_of(as, val).mem == whole.mem &&
        !is_there(as, e, &whole)) /* might overlap */
        val = copied(as, val, NULL, e->loc);
    bind(as, s->pat.at[0], whole);
    if (atom_eq(arr, e->update.arr) && atom_eq(val, e->update.val)) {
        push_stm(as, *s);
        return;
    }
    Exp *r = exp_new(as->cx, E_UPDATE, e->loc);
    *r = *e;
    r->update.arr = arr;
    r->update.val = val;
    push_stm(as, (Stm){s->pat, r});
}

/* What an assertion says of sizes holds after it. */
static void note_equation(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind == E_PRIM && e->prim.op == OP_EQ && e->prim.type == T_I64) {
        varmap_put(as->equations, s->pat.at[0], e);
    } else if (e->kind == E_ASSERT && e->assertion.cond.var) {
        const Exp *eq = varmap_get(as->equations, e->assertion.cond.var);
        for (int k = 0; eq && k < 2; k++)
            vec_push(as->cx->perm, &as->equal, eq->prim.args.at[k]);
    }
}

static bool are_equal(const Assign *as, Atom x, Atom y)
{
    bool eq = atom_eq(x, y);
    for (int k = 0; k + 1 < as->equal.n && !eq; k += 2) {
        Atom a = as->equal.at[k], b = as->equal.at[k + 1];
        eq = (atom_eq(x, a) && atom_eq(y, b)) || (atom_eq(x, b) && atom_eq(y, a));
    }
    return eq;
}

/* Only other names for the sizes. */
static bool same_shape(const Assign *as, Type from, Type to)
{
    bool same = from.rank == to.rank;
    for (int k = 0; k < from.rank && same; k++)
        same = are_equal(as, from.dims[k], to.dims[k]);
    return same;
}

static void assign_reshape(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    Atom a = e->reshape.arr;
    ArrLoc l = loc_of(as, a);
    Type to = s->pat.at[0]->type;
    Lmad at;
    if (same_shape(as, atom_type(a), to)) {
        bind(as, s->pat.at[0], l);
        push_stm(as, *s);
        return;
    }
    if (lmad_reshape(as->cx, l.at, atom_type(a), to, &at)) {
        bind(as, s->pat.at[0], (ArrLoc){l.mem, at});
        push_stm(as, *s);
        return;
    }
    a = copied(as, a, NULL, e->loc);
    Exp *r = exp_new(as->cx, E_RESHAPE, e->loc);
    *r = *e;
    r->reshape.arr = a;
    bind(as, s->pat.at[0], (ArrLoc){loc_of(as, a).mem, lmad_permuted(as->cx, to, NULL)});
    push_stm(as, (Stm){s->pat, r});
}

static const KExp *known_at_run_time(Assign *as, const char *base, Loc loc)
{
    return sx_var(as->cx, var_new(as->cx, base, type_prim(T_I64), loc));
}

/* For reading only: an array that lies that way already, or nowhere, is not copied, nor is one for
 * which the copy would not pay, which is known at run time. Offset and strides are then variables.
 */
static void assign_manifest(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    ArrLoc l = loc_of(as, e->rearrange.arr);
    Lmad want = lmad_permuted(as->cx, v->type, e->rearrange.perm);
    want.offset = l.at.offset;
    push_stm(as, *s);
    if (l.mem->computed || lmad_eq(l.at, want, v->type.rank)) {
        bind(as, v, l);
        return;
    }
    const KExp **strides = NEWN(as->cx->perm, const KExp *, v->type.rank);
    for (int k = 0; k < v->type.rank; k++)
        strides[k] = known_at_run_time(as, "stride", e->loc);
    Mem *m = new_block(as, v);
    m->borrowed = true; /* perhaps another array's block: never written */
    bind(as, v, (ArrLoc){m, {known_at_run_time(as, "offset", e->loc), strides}});
}

/* In place, row-major. */
static void assign_rows(Assign *as, const Stm *s)
{
    if (s->exp->kind == E_ROWS) { /* of an argument: nobody else needs more of it */
        bind(as, s->pat.at[0], loc_of(as, s->exp->ranks.args.at[0]));
        push_stm(as, *s);
        return;
    }
    Atom own_rows = own(as, s->exp->ranks.args.at[0], s->exp->loc);
    Atom arr = laid_out(as, own_rows, NULL, s->exp->loc);
    bind(as, s->pat.at[0], loc_of(as, arr));
    Exp *r = exp_new(as->cx, s->exp->kind, s->exp->loc);
    vec_append(as->cx->perm, &r->ranks.args, &s->exp->ranks.args);
    r->ranks.args.at[0] = arr;
    push_stm(as, (Stm){s->pat, r});
}

/* A view: nothing happens. */
static void assign_view(Assign *as, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    push_stm(as, *s);
    if (v->type.rank == 0)
        return;
    ArrLoc l = loc_of(as, exp_view_of(e));
    if (e->kind == E_INDEX)
        l.at = lmad_index(as->cx, l.at, &e->index.at);
    else if (e->kind == E_REARRANGE)
        l.at = lmad_rearrange(as->cx, l.at, v->type.rank, e->rearrange.perm);
    bind(as, v, l);
}

static void assign_stm(Assign *as, const Stm *s)
{
    switch (exp_member(s->exp)) {
    case M_atom:
    case M_index: assign_view(as, s); return;
    case M_rearrange:
        if (exp_is(s->exp, F_VIEW))
            assign_view(as, s);
        else
            assign_manifest(as, s);
        return;
    case M_update: assign_update(as, s); return;
    case M_reshape: assign_reshape(as, s); return;
    case M_branch: assign_if(as, s); return;
    case M_loop:
        if (mem_is_device_loop(s))
            assign_kernel(as, s);
        else
            assign_loop(as, s);
        return;
    case M_suff: varset_add(as->guards, s->pat.at[0]); break;
    case M_ranks:
        if (exp_is_rows(s->exp)) {
            assign_rows(as, s);
            return;
        }
        break;
    case M_iota:
    case M_replicate: bind_formula(as, s->pat.at[0], s->exp); break;
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_copy: bind_fresh(as, s->pat.at[0]); break;
    case M_soac:
    case M_seg: assign_kernel(as, s); return;
    case M_prim:
    case M_assertion: note_equation(as, s); break;
    case M_deriv:
    case M_trace: ice(s->exp->loc, "%s behind the passes", form_info[s->exp->kind].text);
    case M_conv:
    case M_call: break;
    case N_MEMBERS: ice(s->exp->loc, "form %d", (int)s->exp->kind);
    }
    push_stm(as, *s);
}

/* --- Entries ---------------------------------------------------------------------------------- */

/* Blocks of the parameters: the caller's. */
static void assign_params(Assign *as, const Entry *en)
{
    int k = 0;
    for (int x = 0; x < en->ext_params.n; x++) {
        const ExtParam *ep = &en->ext_params.at[x];
        for (int i = 0; i < ep->type.n_vals; i++, k++) {
            ASSERT(k < en->params.n);
            const Var *v = en->params.at[k];
            if (v->type.rank == 0)
                continue;
            bind_fresh(as, v);
            Mem *m = loc_of(as, atom_var((Var *)v)).mem;
            m->is_param = true;
            m->borrowed = !ep->unique;
        }
    }
    if (k != en->params.n)
        ice(en->loc, "entry %s: %d values of parameters described, %d there", en->name, k,
            en->params.n);
}

static Entry assign_entry(Ctx *cx, const Entry *en, EntryMemory *em)
{
    Layouts ly = layout_decide(cx, en, false);
    *em = (EntryMemory){.locs = varmap_new(cx->perm), .within = varmap_new(cx->perm)};
    Assign as = {.cx = cx, .perms = ly.perms, .em = em, .guard_mark = -1};
    as.guards = varmap_new(cx->perm);
    as.equations = varmap_new(cx->perm);
    as.consumed = ptrmap_new(cx->perm);
    as.places = varmap_new(cx->perm);
    as.al = alias_entry(cx, en);
    as.computed = mem_computed(cx, en);
    assign_params(&as, en);
    Open o = assign_body(&as, en->body);
    enter(&as, &o);
    for (int i = 0; i < o.res.n; i++)
        if (atom_type(o.res.at[i]).rank > 0) {
            ArrLoc l = loc_of(&as, o.res.at[i]);
            if (!kx_is_int(l.at.offset, 0) || !lmad_is_row_major(cx, l.at, atom_type(o.res.at[i])))
                o.res.at[i] = copied(&as, o.res.at[i], NULL, en->loc);
        }
    leave(&as, &o);
    Entry r = *en;
    r.body = closed(&as, &o);
    return r;
}

/* The host level. */
static Memory assign_host(Ctx *cx, const Prog *p)
{
    Memory m = {0};
    Prog *out = NEW(cx->perm, Prog);
    out->dialect = p->dialect;
    for (int i = 0; i < p->entries.n; i++) {
        EntryMemory em;
        vec_push(cx->perm, &out->entries, assign_entry(cx, &p->entries.at[i], &em));
        vec_push(cx->perm, &m.entries, em);
    }
    m.prog = out;
    return m;
}

Memory mem_assign(Ctx *cx, const Prog *p)
{
    Memory m = assign_host(cx, p);
    for (int i = 0; i < m.entries.n; i++)
        mem_level0(cx, &m.prog->entries.at[i], &m.entries.at[i]);
    return m;
}

Prog *mem_explicit(Ctx *cx, const Prog *p)
{
    return (Prog *)assign_host(cx, p).prog;
}
