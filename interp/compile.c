/* From bodies of the IR to the interpreter's compact form (code.h): variables and constants
 * become slots, operations function pointers, last uses of arrays are marked. */
#include "interp/code.h"

#include <string.h>

typedef VEC(Ins) InsVec;
typedef VEC(Val) ValVec;

typedef struct {
    Interp *in;
    Arena *mem;
    ValVec init;       /* per slot */
    int n_vars;        /* size of the tables by variable id */
    int32_t *slot;     /* by variable id; 0: none yet (slot 0 is never used) */
    int32_t *body_of;  /* by variable id: number of the body that binds it */
    int32_t *last_use; /* by variable id: last statement of that body that mentions it */
    int n_bodies;
    PtrMap *functions; /* Function -> Fn: code that all its calls share */
} Comp;

/* One body at work. */
typedef struct {
    Comp *c;
    int id;
    int at; /* statement being looked at */
    InsVec ins;
} Block;

static void compile_body(Comp *c, const Body *b, const Vars *params, Code *out);
static void search_lambda(void *env, Lambda *l);

/* --- Slots ---------------------------------------------------------------------------------- */

static int32_t new_slot(Comp *c, Val v)
{
    vec_push(c->mem, &c->init, v);
    return c->init.n - 1;
}

static int32_t var_slot(Comp *c, const Var *v)
{
    if (v->id >= c->n_vars)
        ice(v->loc, "variable %s is newer than the program", var_text(v));
    if (!c->slot[v->id])
        c->slot[v->id] = new_slot(c, (Val){0});
    return c->slot[v->id];
}

static int32_t atom_slot(Comp *c, Atom a)
{
    return a.var ? var_slot(c, a.var) : new_slot(c, scalar_const(a.c));
}

static int32_t *atom_slots(Comp *c, const Atoms *as)
{
    int32_t *r = NEWN(c->mem, int32_t, as->n);
    for (int i = 0; i < as->n; i++)
        r[i] = atom_slot(c, as->at[i]);
    return r;
}

static bool is_array(Atom a)
{
    return a.var && a.var->type.rank > 0;
}

static Shape shape_of(Comp *c, Type t)
{
    if (t.rank > RT_MAX_RANK)
        interp_fail(c->in, INTERP_BUG, (Loc){0, 0}, "arrays of more than %d dimensions",
                    RT_MAX_RANK);
    int32_t *dims = NEWN(c->mem, int32_t, t.rank);
    for (int d = 0; d < t.rank; d++)
        dims[d] = atom_slot(c, t.dims[d]);
    return (Shape){t.elem, t.rank, dims};
}

static Shape *shapes_of(Comp *c, const Vars *vs)
{
    Shape *r = NEWN(c->mem, Shape, vs->n);
    for (int i = 0; i < vs->n; i++)
        r[i] = shape_of(c, vs->at[i]->type);
    return r;
}

static int32_t *var_slots(Comp *c, const Vars *vs)
{
    int32_t *r = NEWN(c->mem, int32_t, vs->n);
    for (int i = 0; i < vs->n; i++)
        r[i] = var_slot(c, vs->at[i]);
    return r;
}

/* --- Last uses ------------------------------------------------------------------------------ */

static void mention(Block *k, const Var *v)
{
    if (v && v->id < k->c->n_vars && k->c->body_of[v->id] == k->id)
        k->c->last_use[v->id] = k->at;
}

static void mention_atom(void *env, Atom a)
{
    mention(env, a.var);
}

static void mention_exp(Block *k, const Exp *e);

static void mention_body(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        mention_exp(env, b->stms.at[i].exp);
    for (int i = 0; i < b->res.n; i++)
        mention_atom(env, b->res.at[i]);
}

static void mention_lambda(void *env, Lambda *l)
{
    mention_body(env, l->body);
}

static void mention_exp(Block *k, const Exp *e)
{
    ExpVisitor v = {k, mention_atom, NULL, mention_body, mention_lambda};
    exp_visit(e, &v);
}

static void bind(Block *k, const Var *v)
{
    if (v->id >= k->c->n_vars)
        ice(v->loc, "variable %s is newer than the program", var_text(v));
    k->c->body_of[v->id] = k->id;
    k->c->last_use[v->id] = k->at;
}

/* Statement numbers: 0 for the params, then 1.., the results last. */
static void find_last_uses(Block *k, const Body *b, const Vars *params)
{
    k->at = 0;
    for (int i = 0; params && i < params->n; i++)
        bind(k, params->at[i]);
    for (int i = 0; i < b->stms.n; i++) {
        k->at++;
        mention_exp(k, b->stms.at[i].exp);
        for (int j = 0; j < b->stms.at[i].pat.n; j++)
            bind(k, b->stms.at[i].pat.at[j]);
    }
    k->at++;
    for (int i = 0; i < b->res.n; i++)
        mention(k, b->res.at[i].var);
}

/* Operands that hand over their reference: those that occur here for the last time. */
static Opd *operands(Block *k, const Atoms *as)
{
    Opd *r = NEWN(k->c->mem, Opd, as->n);
    for (int i = 0; i < as->n; i++) {
        Atom a = as->at[i];
        bool last =
            is_array(a) && k->c->body_of[a.var->id] == k->id && k->c->last_use[a.var->id] == k->at;
        for (int j = i + 1; last && j < as->n; j++)
            last = as->at[j].var != a.var;
        r[i] = (Opd){atom_slot(k->c, a), is_array(a), last};
    }
    return r;
}

static Opd *param_operands(Comp *c, const Vars *vs)
{
    Opd *r = NEWN(c->mem, Opd, vs->n);
    for (int i = 0; i < vs->n; i++)
        r[i] = (Opd){var_slot(c, vs->at[i]), vs->at[i]->type.rank > 0, false};
    return r;
}

/* --- Instructions --------------------------------------------------------------------------- */

static void emit(Block *k, Ins p)
{
    vec_push(k->c->mem, &k->ins, p);
}

static void emit_kills(Block *k, const Vars *vs, int at)
{
    for (int i = 0; i < vs->n; i++) {
        const Var *v = vs->at[i];
        if (v->type.rank && k->c->last_use[v->id] == at)
            emit(k, (Ins){.op = I_KILL, .dst = var_slot(k->c, v)});
    }
}

static Ins ins_of(Block *k, InsOp op, const Stm *s)
{
    const Var *v = s->pat.n ? s->pat.at[0] : NULL;
    if (v && v->type.rank > RT_MAX_RANK)
        interp_fail(k->c->in, INTERP_BUG, s->exp->loc, "arrays of more than %d dimensions",
                    RT_MAX_RANK);
    return (Ins){.op = op,
                 .t = v ? v->type.elem : T_I64,
                 .dst = v ? var_slot(k->c, v) : 0,
                 .e = s->exp,
                 .v = v};
}

static InsOp direct_op(PrimOp op, PrimType t)
{
#define D(o, ty, ctype, e)                                                                         \
    if (op == OP_##o && t == T_##ty)                                                               \
        return I_##o##_##ty;
    DIRECT_OPS(D)
#undef D
    return I_SCALAR;
}

static void compile_prim(Block *k, const Stm *s)
{
    const Exp *e = s->exp;
    PrimOp op = e->prim.op;
    PrimType t = e->prim.type;
    Ins p = ins_of(k, I_SCALAR, s);
    int32_t *args = atom_slots(k->c, &e->prim.args);
    p.a = args[0];
    if (e->prim.args.n > 1)
        p.b = args[1];
    if (e->prim.args.n > 2)
        p.c = args[2];
    bool divides = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
    if (divides && prim_is_int(t))
        emit(k, (Ins){.op = I_NONZERO, .a = p.b, .e = e});
    if (op == OP_POW && prim_is_signed(t))
        emit(k, (Ins){.op = I_NONNEG, .a = p.b, .e = e});
    p.op = direct_op(op, t);
    p.fn = scalar_fn(op, t);
    if (!p.fn)
        interp_fail(k->c->in, INTERP_BUG, e->loc, "%s does not take operands of type %s",
                    prim_info[op].text, prim_type_text[t]);
    emit(k, p);
}

static const DimPlan *index_plan(Comp *c, const DimIndexes *at)
{
    DimPlan *r = NEWN(c->mem, DimPlan, at->n);
    for (int i = 0; i < at->n; i++) {
        const DimIndex *d = &at->at[i];
        r[i].is_slice = d->is_slice;
        r[i].start = atom_slot(c, d->start);
        if (d->is_slice) {
            r[i].n = atom_slot(c, d->n);
            r[i].stride = atom_slot(c, d->stride);
        }
    }
    return r;
}

static bool has_slice(const DimIndexes *at)
{
    for (int i = 0; i < at->n; i++)
        if (at->at[i].is_slice)
            return true;
    return false;
}

static void compile_index(Block *k, const Stm *s)
{
    const DimIndexes *at = &s->exp->index.at;
    Ins p = ins_of(k, has_slice(at) ? I_SLICE : I_LOAD, s);
    p.a = atom_slot(k->c, s->exp->index.arr);
    p.n = at->n;
    p.index = index_plan(k->c, at);
    if (p.op == I_LOAD && p.n <= 2) {
        p.op = p.n == 1 ? I_LOAD1 : I_LOAD2;
        p.b = p.index[0].start;
        p.c = p.index[p.n - 1].start;
    }
    emit(k, p);
}

static void compile_update(Block *k, const Stm *s)
{
    const DimIndexes *at = &s->exp->update.at;
    Ins p = ins_of(k, has_slice(at) ? I_PUT : I_STORE, s);
    p.a = atom_slot(k->c, s->exp->update.arr);
    p.c = atom_slot(k->c, s->exp->update.val);
    p.n = at->n;
    p.index = index_plan(k->c, at);
    if (p.op == I_STORE && p.n == 1) {
        p.op = I_STORE1;
        p.b = p.index[0].start;
    }
    emit(k, p);
}

static void compile_if(Block *k, const Stm *s)
{
    IfCode *x = NEW(k->c->mem, IfCode);
    Ins p = ins_of(k, I_IF, s);
    p.a = atom_slot(k->c, s->exp->branch.test);
    x->n = s->pat.n;
    x->dst = var_slots(k->c, &s->pat);
    compile_body(k->c, s->exp->branch.then_, NULL, &x->then_);
    compile_body(k->c, s->exp->branch.else_, NULL, &x->else_);
    p.branch = x;
    emit(k, p);
}

typedef struct {
    const Var *v;
    bool found;
} Search;

static void search_atom(void *env, Atom a)
{
    Search *se = env;
    se->found |= a.var == se->v;
}

static void search_body(void *env, Body *b)
{
    ExpVisitor v = {env, search_atom, NULL, search_body, search_lambda};
    for (int i = 0; i < b->stms.n; i++)
        exp_visit(b->stms.at[i].exp, &v);
    for (int i = 0; i < b->res.n; i++)
        search_atom(env, b->res.at[i]);
}

static void search_lambda(void *env, Lambda *l)
{
    search_body(env, l->body);
}

static bool body_reads(Body *b, const Var *v)
{
    Search se = {v, false};
    search_body(&se, b);
    return se.found;
}

static void compile_loop(Block *k, const Stm *s)
{
    Comp *c = k->c;
    const Exp *e = s->exp;
    LoopCode *x = NEW(c->mem, LoopCode);
    Ins p = ins_of(k, I_LOOP, s);
    x->n = e->loop.params.n;
    x->inits = operands(k, &e->loop.inits);
    for (int i = 0; i < x->n; i++) /* an initial value that the body reads too stays */
        if (x->inits[i].move)
            x->inits[i].move = !body_reads(e->loop.body, e->loop.inits.at[i].var);
    x->params = param_operands(c, &e->loop.params);
    x->dst = var_slots(c, &s->pat);
    x->next = NEWN(c->mem, Val, x->n);
    x->cond = -1;
    if (e->loop.kind == LOOP_FOR) {
        x->i = var_slot(c, e->loop.i);
        x->i_type = e->loop.i->type.elem;
        x->bound = atom_slot(c, e->loop.bound);
    } else {
        x->cond = var_slot(c, e->loop.cond);
    }
    compile_body(c, e->loop.body, &e->loop.params, &x->body);
    p.loop = x;
    emit(k, p);
}

/* --- SOACs ---------------------------------------------------------------------------------- */

static void compile_fn(Comp *c, const Lambda *l, Fn *fn)
{
    fn->n_params = l->params.n;
    fn->params = param_operands(c, &l->params);
    compile_body(c, l->body, &l->params, &fn->body);
}

/* Destinations are consumed, but one that is an input too must still be there to be read. */
static void compile_dests(Comp *c, const Dests *ds, SoacCode *x)
{
    x->n_dests = ds->n;
    x->dests = NEWN(c->mem, DestCode, ds->n);
    for (int i = 0; i < ds->n; i++) {
        int32_t slot = atom_slot(c, ds->at[i].arr);
        bool read = false;
        for (int d = 0; d < x->n_dims; d++)
            for (int j = 0; j < x->dims[d].n; j++)
                read |= x->dims[d].arrs[j] == slot;
        x->dests[i] = (DestCode){{slot, true, !read}, ds->at[i].rank};
    }
}

static SoacCode *soac_new(Block *k, const Stm *s, const Atoms *nes, int n_dims)
{
    Comp *c = k->c;
    SoacCode *x = NEW(c->mem, SoacCode);
    x->kind = s->exp->kind;
    x->n_dims = n_dims;
    x->dims = NEWN(c->mem, DimCode, n_dims);
    x->at = NEWN(c->mem, int64_t, n_dims);
    x->n_red = nes->n;
    x->nes = operands(k, nes);
    for (int i = 0; i < nes->n; i++)
        x->nes[i].move = false; /* read once for each segment */
    x->acc = NEWN(c->mem, Val, nes->n);
    x->bins = NEWN(c->mem, char *, nes->n);
    x->is_hist = exp_is(s->exp, F_BINS);
    x->is_scan = exp_is(s->exp, F_SCAN);
    x->n_dst = s->pat.n;
    x->dst = var_slots(c, &s->pat);
    x->shapes = shapes_of(c, &s->pat);
    x->out = NEWN(c->mem, Arr *, s->pat.n);
    return x;
}

/* To be called when everything else is filled in. */
static void find_scalar_lines(Comp *c, SoacCode *x)
{
    const DimCode *d = &x->dims[x->n_dims - 1];
    x->all_scalar = x->n_dests == 0 && d->row < 0;
    for (int i = 0; i < d->n; i++)
        x->all_scalar &= !d->xs[i].is_array;
    for (int i = 0; i < x->n_red; i++)
        x->all_scalar &= !x->nes[i].is_array;
    for (int i = x->n_red; i < x->n_dst; i++)
        x->all_scalar &= !x->body.res[i].is_array;
    x->from = NEWN(c->mem, Cursor, d->n);
    x->to = NEWN(c->mem, Cursor, x->n_dst);
}

static void compile_soac(Block *k, const Stm *s)
{
    Comp *c = k->c;
    const Exp *e = s->exp;
    SoacCode *x = soac_new(k, s, &e->soac.nes, 1);
    DimCode *d = &x->dims[0];
    d->width = atom_slot(c, e->soac.width);
    d->idx = d->row = -1;
    d->n = e->soac.arrs.n;
    d->arrs = atom_slots(c, &e->soac.arrs);
    d->in = NEWN(c->mem, Arr *, d->n);
    if (e->soac.op)
        compile_fn(c, e->soac.op, &x->op);
    if (e->soac.fn) {
        x->has_body = true;
        d->xs = param_operands(c, &e->soac.fn->params);
        compile_body(c, e->soac.fn->body, &e->soac.fn->params, &x->body);
    } else {
        d->xs = x->op.params + x->n_red; /* rows go to the operator's second half */
    }
    compile_dests(c, &e->soac.dests, x);
    find_scalar_lines(c, x);
    Ins p = ins_of(k, I_SOAC, s);
    p.soac = x;
    emit(k, p);
}

static void compile_seg(Block *k, const Stm *s)
{
    Comp *c = k->c;
    const Exp *e = s->exp;
    const Nest *nest = &e->seg.nest;
    SoacCode *x = soac_new(k, s, &e->seg.nes, nest->n);
    x->has_body = true;
    for (int i = 0; i < nest->n; i++) {
        const NestDim *nd = &nest->at[i];
        DimCode *d = &x->dims[i];
        d->width = atom_slot(c, nd->width);
        d->idx = var_slot(c, nd->idx);
        d->row = -1;
        if (nd->row) {
            d->row = var_slot(c, nd->row);
            d->rows = atom_slot(c, nd->rows);
            d->offs = atom_slot(c, nd->offs);
        }
        d->n = nd->xs.n;
        d->xs = param_operands(c, &nd->xs);
        d->arrs = atom_slots(c, &nd->arrs);
        d->in = NEWN(c->mem, Arr *, d->n);
    }
    if (e->seg.op)
        compile_fn(c, e->seg.op, &x->op);
    /* The xs belong to no body: they are released by whoever binds them. */
    compile_body(c, e->seg.body, NULL, &x->body);
    compile_dests(c, &e->seg.dests, x);
    find_scalar_lines(c, x);
    Ins p = ins_of(k, I_SEG, s);
    p.soac = x;
    emit(k, p);
}

/* Slots of a function are those of all its calls: there is no recursion. */
static const Fn *function_code(Comp *c, const Function *f)
{
    Fn *fn = ptrmap_get(c->functions, f);
    if (!fn) {
        fn = NEW(c->mem, Fn);
        compile_fn(c, f->lam, fn);
        ptrmap_put(c->functions, f, fn);
    }
    return fn;
}

static void compile_call(Block *k, const Stm *s)
{
    Comp *c = k->c;
    CallCode *x = NEW(c->mem, CallCode);
    x->fn = function_code(c, s->exp->call.fn);
    x->n = s->pat.n;
    x->args = atom_slots(c, &s->exp->call.args);
    x->dst = var_slots(c, &s->pat);
    Ins p = ins_of(k, I_CALL, s);
    p.call = x;
    emit(k, p);
}

/* --- The other forms ------------------------------------------------------------------------ */

static void emit_list(Block *k, const Stm *s, InsOp op, const Atoms *as)
{
    Ins p = ins_of(k, op, s);
    p.n = as->n;
    p.list = atom_slots(k->c, as);
    emit(k, p);
}

static void emit_reshape(Block *k, const Stm *s, InsOp op, Atom a)
{
    Ins p = ins_of(k, op, s);
    p.a = atom_slot(k->c, a);
    Shape *sh = NEW(k->c->mem, Shape);
    *sh = shape_of(k->c, s->pat.at[0]->type);
    p.shape = sh;
    emit(k, p);
}

static void emit_unary(Block *k, const Stm *s, InsOp op, Atom a)
{
    Ins p = ins_of(k, op, s);
    p.a = atom_slot(k->c, a);
    emit(k, p);
}

static void compile_replicate(Block *k, const Stm *s)
{
    Ins p = ins_of(k, I_REPLICATE, s);
    p.a = atom_slot(k->c, s->exp->replicate.val);
    p.b = is_array(s->exp->replicate.val);
    p.n = s->exp->replicate.dims.n;
    p.list = atom_slots(k->c, &s->exp->replicate.dims);
    emit(k, p);
}

static void compile_exp(Block *k, const Stm *s)
{
    Comp *c = k->c;
    const Exp *e = s->exp;
    Ins p;
    switch (exp_member(e)) {
    case M_atom: emit_unary(k, s, is_array(e->atom) ? I_ALIAS : I_MOV, e->atom); break;
    case M_prim: compile_prim(k, s); break;
    case M_conv:
        p = ins_of(k, e->conv.from == e->conv.to ? I_MOV : I_SCALAR, s);
        p.a = atom_slot(c, e->conv.arg);
        if (p.op == I_SCALAR)
            p.fn = scalar_conv(e->conv.from, e->conv.to);
        emit(k, p);
        break;
    case M_call: compile_call(k, s); break;
    case M_index: compile_index(k, s); break;
    case M_update: compile_update(k, s); break;
    case M_iota:
        p = ins_of(k, I_IOTA, s);
        p.a = atom_slot(c, e->iota.n);
        p.b = atom_slot(c, e->iota.start);
        p.c = atom_slot(c, e->iota.stride);
        emit(k, p);
        break;
    case M_replicate: compile_replicate(k, s); break;
    case M_scratch: emit_reshape(k, s, I_SCRATCH, (Atom){0}); break;
    case M_arraylit:
        if (e->arraylit.elems.n)
            emit_list(k, s, I_ARRAYLIT, &e->arraylit.elems);
        else /* empty: all there is to it is the type */
            emit_reshape(k, s, I_SCRATCH, (Atom){0});
        break;
    case M_concat: emit_list(k, s, I_CONCAT, &e->concat.arrs); break;
    case M_rearrange:
        if (e->kind == E_MANIFEST) { /* layout has no value */
            emit_unary(k, s, I_ALIAS, e->rearrange.arr);
            break;
        }
        p = ins_of(k, I_REARRANGE, s);
        p.a = atom_slot(c, e->rearrange.arr);
        p.perm = e->rearrange.perm;
        emit(k, p);
        break;
    case M_reshape: emit_reshape(k, s, I_RESHAPE, e->reshape.arr); break;
    case M_copy: emit_unary(k, s, I_COPY, e->copy.arr); break;
    case M_branch: compile_if(k, s); break;
    case M_loop: compile_loop(k, s); break;
    case M_assertion:
        p = ins_of(k, I_ASSERT, s);
        p.a = atom_slot(c, e->assertion.cond);
        p.n = e->assertion.args.n;
        p.list = atom_slots(c, &e->assertion.args);
        emit(k, p);
        break;
    case M_trace:
        p = ins_of(k, I_TRACE, s);
        p.n = e->trace.args.n;
        p.list = atom_slots(c, &e->trace.args);
        emit(k, p);
        break;
    case M_suff:
        p = ins_of(k, I_SUFF, s);
        p.a = atom_slot(c, e->suff.par);
        p.b = atom_slot(c, e->suff.work);
        emit(k, p);
        break;
    case M_ranks:
        if (exp_is_rows(e)) {
            emit_unary(k, s, I_ALIAS, e->ranks.args.at[0]);
            break;
        }
        p = ins_of(k, I_RANKS, s);
        p.n = e->ranks.args.n;
        p.list = atom_slots(c, &e->ranks.args);
        emit(k, p);
        break;
    case M_soac: compile_soac(k, s); break;
    case M_deriv: ice(e->loc, "%s behind the pass that resolves it", form_info[e->kind].text);
    case M_seg: compile_seg(k, s); break;
    case N_MEMBERS: ice(e->loc, "no such form");
    }
}

/* --- Bodies --------------------------------------------------------------------------------- */

/* Lists, per statement number, the arrays of this body that die there. */
static Vars *dying(Block *k, const Body *b, const Vars *params, int n)
{
    Vars *r = NEWN(k->c->mem, Vars, n);
    for (int i = 0; params && i < params->n; i++)
        if (params->at[i]->type.rank)
            vec_push(k->c->mem, &r[k->c->last_use[params->at[i]->id]], params->at[i]);
    for (int i = 0; i < b->stms.n; i++)
        for (int j = 0; j < b->stms.at[i].pat.n; j++) {
            Var *v = b->stms.at[i].pat.at[j];
            if (v->type.rank)
                vec_push(k->c->mem, &r[k->c->last_use[v->id]], v);
        }
    return r;
}

/* Shapes are compared with the types where the form does not build the array from its type. */
static bool shape_is_open(const Exp *e)
{
    if (exp_is_soac(e) || exp_is_seg(e))
        return exp_is(e, F_FOLD);
    return e->kind != E_SCRATCH && e->kind != E_RESHAPE;
}

static void compile_stm(Block *k, const Stm *s)
{
    compile_exp(k, s);
    for (int i = 0; shape_is_open(s->exp) && i < s->pat.n; i++) {
        const Var *v = s->pat.at[i];
        if (!v->type.rank)
            continue;
        Shape *sh = NEW(k->c->mem, Shape);
        *sh = shape_of(k->c, v->type);
        emit(k, (Ins){.op = I_CHECK, .dst = var_slot(k->c, v), .shape = sh, .e = s->exp, .v = v});
    }
}

static void compile_body(Comp *c, const Body *b, const Vars *params, Code *out)
{
    Block block = {.c = c, .id = ++c->n_bodies}, *k = &block;
    find_last_uses(k, b, params);
    Vars *deaths = dying(k, b, params, b->stms.n + 2);
    emit_kills(k, &deaths[0], 0);
    for (int i = 0; i < b->stms.n; i++) {
        k->at = i + 1;
        compile_stm(k, &b->stms.at[i]);
        emit_kills(k, &deaths[i + 1], i + 1);
    }
    k->at = b->stms.n + 1;
    out->n_res = b->res.n;
    out->res = operands(k, &b->res);
    emit(k, (Ins){.op = I_END});
    out->ins = k->ins.at;
}

EntryCode *interp_compile(Interp *in, const Entry *en)
{
    int n = var_next_id();
    Comp c = {.in = in, .mem = in->mem, .n_vars = n};
    c.slot = NEWN(c.mem, int32_t, n);
    c.body_of = NEWN(c.mem, int32_t, n);
    c.last_use = NEWN(c.mem, int32_t, n);
    c.functions = ptrmap_new(c.mem);
    new_slot(&c, (Val){0});
    EntryCode *ec = NEW(in->mem, EntryCode);
    ec->entry = en;
    ec->sizes = var_slots(&c, &en->sizes);
    ec->params = var_slots(&c, &en->params);
    compile_body(&c, en->body, &en->params, &ec->code);
    ec->init = c.init.at;
    ec->n_slots = c.init.n;
    return ec;
}
