/* Loops, and the values that they carry from one iteration to the next.
 *
 * A scalar is a variable. An array whose next value is made by updating it in place keeps its
 * memory. An array whose size changes lies in the thread's heap (heap.c). Any other array has two
 * buffers: an iteration reads one and builds the next value in the other, then they change roles.
 */
#include "kernels/kernel.h"

/* A loop with an array carried in place whose initial value is not ours to write starts with a
 * copy. */
static void begin_in_place(KGen *kg, Carry *c, Atom init, const Var *pat, bool updated)
{
    const KLoc *l = kg_arr(kg, init.var);
    if (!updated || kg_in_place(kg, pat ? pat : c->param, l)) {
        c->cur = *l;
    } else {
        Type t = init.var->type;
        c->cur = pat ? kg_alloc(kg, pat, t) : kg_alloc_own(kg, c->param, t);
        kg_copy(kg, &c->cur, l, init.var->type);
    }
    c->next = c->cur;
}

/* A variable for where l begins; v is the IR's name for it, if it has one. */
static KVar *begins_at(KGen *kg, KLoc *l, const char *base, const Var *v)
{
    KVar *at = kb_var(kg->kb, base, T_I64, kg_at(kg, l->at.offset));
    if (v)
        varmap_put(kg->vars, v, at);
    l->at.offset = v ? sx_var(kg->cx, v) : kg_sx_of(kg, kg_of(kg, at));
    return at;
}

/* Two buffers. Small private arrays are copied back after each iteration, so that they can stay in
 * registers; otherwise the buffers lie side by side and two variables tell which is which. */
static void begin_buffers(KGen *kg, Carry *c, Atom init)
{
    Ctx *cx = kg->cx;
    Type t = c->param->type;
    const KLoc *from = kg_arr(kg, init.var);
    c->buffers = true;
    if (kg_is_private(kg, t)) {
        c->cur = kg_alloc_own(kg, c->param, t);
        c->next = kg_alloc_own(kg, c->param, t);
        kg_copy(kg, &c->cur, from, init.var->type);
        return;
    }
    const ArrMade *m = kg->coop ? group_made(kg, c->param) : NULL;
    KLoc both = kg_alloc_own(kg, c->param, type_array(cx, t, atom_i64(2)));
    c->swaps = true;
    c->cur = loc_row(kg, &both, t.rank + 1, sx_const(cx, 0));
    c->next = loc_row(kg, &both, t.rank + 1, sx_const(cx, 1));
    kg_copy(kg, &c->cur, from, init.var->type);
    c->cur_at = begins_at(kg, &c->cur, "cur", m ? m->cur : NULL);
    c->next_at = begins_at(kg, &c->next, "next", m ? m->next : NULL);
}

/* Is the size of param i one of the values that the loop carries? */
static bool changes_size(const Vars *params, int n, int i)
{
    Type t = params->at[i]->type;
    for (int k = 0; k < t.rank; k++)
        for (int j = 0; j < n; j++)
            if (t.dims[k].var && t.dims[k].var == params->at[j])
                return true;
    return false;
}

static void begin_moving(KGen *kg, Carries *cs, Carry *c, Atom init)
{
    if (cs->heap.n++ == 0)
        heap_carry_open(kg, &cs->heap);
    c->moves = true;
    c->off = heap_carry_begin(kg, c->param, init.var);
    c->cur = c->next = heap_at(kg, c->param->type, c->off);
}

static void begin_array(KGen *kg, Carry *c, Atom init, const Body *b, Atom res, const Var *pat)
{
    bool updated = false;
    c->array = true;
    if (place_root(b, res.var, &updated) == c->param)
        begin_in_place(kg, c, init, pat, updated);
    else
        begin_buffers(kg, c, init);
}

/* When a param gets its memory: scalars first, which are sizes of arrays; arrays of changing size
 * last, on top of the heap. */
enum { SCALARS, FIXED, MOVING, N_PASSES };

static int begin_pass(const Vars *params, int n, int i, const Body *b, Atom res)
{
    bool updated = false;
    if (params->at[i]->type.rank == 0)
        return SCALARS;
    if (!changes_size(params, n, i) || place_root(b, res.var, &updated) == params->at[i])
        return FIXED;
    return MOVING;
}

Carries *carry_begin(KGen *kg, const Vars *params, int n, const Atoms *inits, const Body *b,
                     const Atom *res, Var *const *pats)
{
    Carries *cs = NEW(kg->cx->perm, Carries);
    *cs = (Carries){.at = NEWN(kg->cx->perm, Carry, n), .n = n};
    for (int pass = 0; pass < N_PASSES; pass++) {
        for (int i = 0; i < n; i++) {
            Carry *c = &cs->at[i];
            if (begin_pass(params, n, i, b, res[i]) != pass)
                continue;
            c->param = params->at[i];
            if (pass == SCALARS) {
                kg_var(kg, c->param, kg_atom(kg, inits->at[i]));
                continue;
            }
            if (pass == MOVING)
                begin_moving(kg, cs, c, inits->at[i]);
            else
                begin_array(kg, c, inits->at[i], b, res[i], pats ? pats[i] : NULL);
            kg_bind_arr(kg, c->param, c->cur);
        }
    }
    return cs;
}

void carry_turn(KGen *kg, Carries *cs)
{
    cs->turn = heap_mark(kg);
}

void carry_hint(KGen *kg, Carries *cs, const Body *b, const Atom *res)
{
    for (int i = 0; i < cs->n; i++)
        if (cs->at[i].buffers)
            place_hint(kg, b, res[i], cs->at[i].next);
}

/* The scalar results, so that they are right when some params have got their next values: a param
 * that is the next value of another is read before. */
static const KExp **next_scalars(KGen *kg, const Carries *cs, const Atom *res)
{
    const Carry *c = cs->at;
    const KExp **next = NEWN(kg->cx->perm, const KExp *, cs->n);
    for (int i = 0; i < cs->n; i++) {
        if (c[i].array || c[i].moves || res[i].var == c[i].param)
            continue;
        next[i] = kg_atom(kg, res[i]);
        for (int j = 0; j < cs->n; j++)
            if (j != i && res[i].var == c[j].param) {
                next[i] = kb_let(kg->kb, "old", next[i]);
                break;
            }
    }
    return next;
}

static void step_moving(KGen *kg, Carries *cs, const Atom *res)
{
    HeapCarry *hc = &cs->heap;
    int n = hc->n;
    hc->at = NEWN(kg->cx->perm, HeapMove, n);
    hc->n = 0;
    for (int i = 0; i < cs->n; i++) {
        if (!cs->at[i].moves)
            continue;
        hc->at[hc->n].off = cs->at[i].off;
        hc->at[hc->n++].next = res[i].var;
    }
    ASSERT(hc->n == n);
    heap_carry_step(kg, hc);
}

void carry_step(KGen *kg, Carries *cs, const Atom *res)
{
    Carry *c = cs->at;
    int n = cs->n;
    for (int i = 0; i < n; i++) /* while all params still have their old values */
        if (c[i].array)
            kg_copy(kg, &c[i].next, kg_arr(kg, res[i].var), res[i].var->type);
    if (cs->heap.n > 0)
        step_moving(kg, cs, res);
    const KExp **next = next_scalars(kg, cs, res);
    for (int i = 0; i < n; i++) {
        if (next[i])
            kg_set(kg, c[i].param, next[i]);
        if (c[i].swaps) {
            const KExp *cur = kb_let(kg->kb, "t", kg_of(kg, c[i].cur_at));
            kb_set(kg->kb, c[i].cur_at, kg_of(kg, c[i].next_at));
            kb_set(kg->kb, c[i].next_at, cur);
        } else if (c[i].buffers) {
            kg_copy(kg, &c[i].cur, &c[i].next, c[i].param->type);
        }
    }
    if (cs->heap.n == 0)
        heap_release(kg, cs->turn);
    else
        kg->heap_dirty = true;
}

/* An array of changing size gets the final one's name for its size too. */
void carry_end(KGen *kg, Carries *cs, Var *const *pats)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < cs->n; i++) {
            const Carry *c = &cs->at[i];
            bool array = c->array || c->moves;
            if (array != (pass == 1))
                continue;
            if (c->moves)
                kg_bind_arr(kg, pats[i], heap_at(kg, pats[i]->type, c->off));
            else if (array)
                kg_bind_arr(kg, pats[i], c->cur);
            else
                kg_let(kg, pats[i], kg_atom(kg, atom_var((Var *)c->param)));
        }
    }
}

/* In group mode, ends a while loop when something has failed: what decides about its end may be
 * rubbish. One work-item looks, for all. */
static void stop_group(KGen *kg, const Var *cond)
{
    KBuild *b = kg->kb;
    KBuf *flag = group_buffer(kg, T_I32, sx_const(kg->cx, 1));
    const KExp *first = kg_int(kg, 0);
    kg_meet(kg);
    kg_if_first(kg);
    KVar *failing = kb_var_new(b, "failing", ktype(T_BOOL));
    kb_stm(b, (KStm){.kind = KST_FAILING, .var = failing});
    kb_store(b, flag, first, kx_conv(kg->cx->perm, T_I32, kg_of(kg, failing)));
    kb_end(b);
    kg_meet(kg);
    const KExp *stop = kb_load(b, "stop", flag, first);
    const KExp *none = kx_const(kg->cx->perm, (Const){.type = T_I32});
    const KExp *on = kg_atom(kg, atom_var((Var *)cond));
    kg_set(kg, cond, kg_and(kg, on, kg_eq(kg, stop, none)));
    kg_touch(kg);
}

void kg_unroll(KGen *kg, const Exp *e)
{
    if (e->attrs & ATTR_UNROLL)
        kg_loop_unroll(kg, -1);
}

void kg_loop(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->loop.params.n;
    const Body *b = e->loop.body;
    Carries *c = carry_begin(kg, &e->loop.params, n, &e->loop.inits, b, b->res.at, s->pat.at);
    int mark = ranges_mark(kg->known);
    kg_touch(kg);
    ranges_loop(kg->known, e);
    if (e->loop.kind == LOOP_FOR) {
        const KExp *to = kg_atom(kg, e->loop.bound);
        Const one = {.type = e->loop.i->type.elem, .i = 1}, zero = {.type = one.type};
        Arena *a = kg->cx->perm;
        kb_for_var(kg->kb, kg_bind(kg, e->loop.i), kx_const(a, zero), to, kx_const(a, one));
        kg_unroll(kg, e);
    } else {
        kg->guard = true;
        kb_while(kg->kb, kg_atom(kg, atom_var(e->loop.cond)));
    }
    carry_turn(kg, c);
    carry_hint(kg, c, b, b->res.at);
    const Var *outer = kg->turn;
    kg->turn = e->loop.kind == LOOP_FOR ? e->loop.i : NULL;
    kg_stms(kg, b);
    kg->turn = outer;
    carry_step(kg, c, b->res.at);
    if (kg->coop && e->loop.kind == LOOP_WHILE)
        stop_group(kg, e->loop.cond);
    ranges_reset(kg->known, mark);
    kb_end(kg->kb);
    kg_touch(kg);
    carry_end(kg, c, s->pat.at);
}
