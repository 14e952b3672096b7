/* Updates of bins (see hist.h), and the sequential histogram of a thread. */
#include "kernels/thread/hist.h"

static int segments(const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    const Dest *d = &e->seg.dests.at[0];
    const Type t = d->arr.var->type;
    int k = 0;
    while (k < nest->n - 1 && k < d->rank && e->seg.body->res.at[k].var == nest->at[k].idx &&
           atom_eq(t.dims[k], nest->at[k].width))
        k++;
    return k;
}

Hist hist_of(Ctx *cx, const Exp *e)
{
    bool seg = exp_is_seg(e);
    const Body *b = seg ? e->seg.body : e->soac.fn->body;
    Hist h = {.e = e,
              .op = seg ? e->seg.op : e->soac.op,
              .dests = seg ? &e->seg.dests : &e->soac.dests,
              .nes = seg ? e->seg.nes.at : e->soac.nes.at};
    h.n = h.dests->n;
    h.rank = h.dests->at[0].rank;
    h.index = b->res.at;
    h.vals = b->res.at + h.rank;
    h.segs = seg ? segments(e) : 0;
    h.parts = hist_parts(cx, h.op);
    return h;
}

Type hist_bin_type(const Hist *h, int j)
{
    return type_drop(h->dests->at[j].arr.var->type, h->rank);
}

const KExp *hist_shared(KGen *kg, const Hist *h)
{
    bool wide = false;
    for (int j = 0; h->parts && j < h->n; j++)
        wide |= prim_type_bytes[h->op->params.at[j]->type.elem] == 8;
    return wide ? kg_id(kg, KID_ATOMIC64) : kx_bool(kg->cx->perm, true);
}

/* --- Elements and bins --------------------------------------------------------------------- */

HistVal *hist_vals(KGen *kg, const Hist *h)
{
    HistVal *xs = NEWN(kg->cx->perm, HistVal, h->n);
    for (int j = 0; j < h->n; j++)
        if (atom_type(h->vals[j]).rank == 0)
            xs[j].x = kg_atom(kg, h->vals[j]);
        else
            xs[j].loc = *kg_arr(kg, h->vals[j].var);
    return xs;
}

void hist_open_bounds(KGen *kg, const Hist *h)
{
    const Type t = h->dests->at[0].arr.var->type;
    const KExp *in = kx_bool(kg->cx->perm, true);
    for (int k = h->segs; k < h->rank; k++)
        in = kg_and(kg, in, kg_in_bounds(kg, h->index[k], t.dims[k]));
    kb_if(kg->kb, in);
}

WorkMark hist_open_element(KGen *kg, const Hist *h, int from, const KExp *at)
{
    const Exp *e = h->e;
    nest_bind_range(kg, &e->seg.nest, from, e->seg.nest.n, at);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, e->seg.body);
    hist_open_bounds(kg, h);
    return m;
}

void hist_close_element(KGen *kg, WorkMark m)
{
    kb_end(kg->kb);
    kg_work_end(kg, m);
}

const KExp *hist_open_shared(KGen *kg, const Hist *h, const KExp *total)
{
    Arena *a = kg->cx->perm;
    const KExp *many = hist_shared(kg, h), *zero = kg_int(kg, 0);
    const KExp *alone = kx_select(a, kg_eq(kg, kg->lid, zero), zero, total);
    const KExp *step = kx_select(a, many, kg_id(kg, KID_GROUP_SIZE), kg_int(kg, 1));
    return kb_for(kg->kb, "i", kx_select(a, many, kg->lid, alone), total, step);
}

void hist_put(KGen *kg, const KLoc *bin, const KExp *x)
{
    bool word = bin->mem->elem != x->type.elem;
    loc_store(kg, bin, NULL, 0, word ? kx_to_word(kg->cx->perm, bin->mem->elem, x) : x);
}

const KExp *hist_get(KGen *kg, const KLoc *bin, PrimType t)
{
    const KExp *x = loc_load(kg, "bin", bin, NULL, 0);
    return bin->mem->elem != t ? kx_from_word(kg->cx->perm, t, x) : x;
}

const KExp **hist_index(KGen *kg, const Hist *h)
{
    const Type t = h->dests->at[0].arr.var->type;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, h->rank);
    for (int k = 0; k < h->rank; k++)
        ix[k] = atom_is_int(t.dims[k], 1) ? kg_int(kg, 0) : kg_sx(kg, h->index[k]);
    return ix;
}

KLoc *hist_bins(KGen *kg, const Hist *h, const KLoc *locs, const KExp *const *ix)
{
    KLoc *bins = NEWN(kg->cx->perm, KLoc, h->n);
    for (int j = 0; j < h->n; j++)
        bins[j] = loc_row_n(kg, &locs[j], h->dests->at[j].arr.var->type.rank, ix, h->rank);
    return bins;
}

/* --- One work-item ------------------------------------------------------------------------- */

static void bind_operands(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs)
{
    for (int j = 0; j < h->n; j++) {
        const Var *acc = h->op->params.at[j], *x = h->op->params.at[h->n + j];
        if (acc->type.rank == 0) {
            kg_let(kg, acc, hist_get(kg, &bins[j], acc->type.elem));
            kg_let(kg, x, xs[j].x);
            continue;
        }
        KLoc old = bins[j], val = xs[j].loc;
        old.fresh = val.fresh = false;
        kg_bind_arr(kg, acc, old);
        kg_bind_arr(kg, x, val);
    }
}

/* The operator's result j as an array that is not part of a bin: the bins are written one after the
 * other. */
static Atom apart_from_bins(KGen *kg, Atom r)
{
    Type t = atom_type(r);
    if (t.rank == 0 || kg_arr(kg, r.var)->fresh)
        return r;
    Var *v = var_like(kg->cx, r.var);
    KLoc own = kg_alloc_own(kg, r.var, t);
    kg_copy(kg, &own, kg_arr(kg, r.var), t);
    kg_bind_arr(kg, v, own);
    return atom_var(v);
}

void hist_combine(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs)
{
    kb_open_block(kg->kb);
    bind_operands(kg, h, bins, xs);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, h->op->body);
    Atom *res = NEWN(kg->cx->perm, Atom, h->n);
    for (int j = 0; j < h->n; j++)
        res[j] = apart_from_bins(kg, h->op->body->res.at[j]);
    for (int j = 0; j < h->n; j++)
        if (hist_bin_type(h, j).rank == 0)
            hist_put(kg, &bins[j], kg_atom(kg, res[j]));
        else
            kg_store(kg, &bins[j], hist_bin_type(h, j), res[j]);
    kg_work_end(kg, m);
    kb_end(kg->kb);
}

/* --- Many work-items ----------------------------------------------------------------------- */

static void atomic(KGen *kg, PrimOp op, const KLoc *bin, const HistVal *x)
{
    kb_stm(kg->kb,
           (KStm){.kind = KST_ATOMIC,
                  .buf = bin->mem,
                  .op = op,
                  .x = {kg_at(kg, bin->at.offset), kx_conv(kg->cx->perm, bin->mem->elem, x->x)}});
}

/* The word in memory that a bin lies in: 4 or 8 bytes; a smaller bin has `mask` at `shift` of it,
 * or all of it in local memory with a word a bin. */
typedef struct {
    KBuf *buf;
    const KExp *at, *shift, *mask; /* shift NULL: the whole word */
    PrimType type;                 /* of the bin */
} Word;

static Word word_of(KGen *kg, const KLoc *bin, PrimType t)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    int bytes = prim_type_bytes[t], room = prim_type_bytes[bin->mem->elem];
    Word w = {.type = t, .at = kg_at(kg, bin->at.offset)};
    w.buf = kb_buf_new(b, "words", bin->mem->space, bytes == 8 ? T_U64 : T_U32);
    w.buf->of = bin->mem;
    kb_stm(b, (KStm){.kind = KST_VIEW, .buf = w.buf});
    if (room >= 4)
        return w;
    const KExp *byte = kb_let(b, "byte", kg_mul(kg, w.at, kg_int(kg, bytes)));
    const KExp *four = kg_int(kg, 4);
    w.at = kg_quot(kg, byte, four);
    w.shift = kx_conv(a, T_U32, kg_mul(kg, kg_rem(kg, byte, four), kg_int(kg, 8)));
    w.shift = kb_let(b, "shift", w.shift);
    w.mask = kx_const(a, (Const){.type = T_U32, .i = bytes == 1 ? 0xff : 0xffff});
    return w;
}

/* The bin's value in the word. */
static const KExp *unpacked(KGen *kg, const Word *w, const KExp *word)
{
    Arena *a = kg->cx->perm;
    if (w->shift)
        word = kx_prim2(a, OP_AND, kx_prim2(a, OP_SHR, word, w->shift), w->mask);
    return kx_from_word(a, w->type, word);
}

/* The word with x as the bin's value. */
static const KExp *repacked(KGen *kg, const Word *w, const KExp *word, const KExp *x)
{
    Arena *a = kg->cx->perm;
    x = kx_to_word(a, w->buf->elem, x);
    if (!w->shift)
        return x;
    const KExp *hole = kx_prim1(a, OP_COMPL, kx_prim2(a, OP_SHL, w->mask, w->shift));
    x = kx_prim2(a, OP_SHL, kx_prim2(a, OP_AND, x, w->mask), w->shift);
    return kx_prim2(a, OP_OR, kx_prim2(a, OP_AND, word, hole), x);
}

/* seen := what the word held, which becomes `new` if that was `old`. */
static void swap(KGen *kg, const Word *w, const KExp *old, const KExp *new, KVar *seen)
{
    KVar *found = kb_var_new(kg->kb, "found", ktype(w->buf->elem));
    kb_stm(kg->kb, (KStm){.kind = KST_CAS, .var = found, .buf = w->buf, .x = {w->at, old, new}});
    kb_set(kg->kb, seen, kg_of(kg, found));
}

static void compare_and_swap(KGen *kg, const Lambda *op, const KLoc *bin, const HistVal *x)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    kb_open_block(b);
    Word w = word_of(kg, bin, op->params.at[0]->type.elem);
    KVar *seen = kb_var(b, "seen", w.buf->elem, NULL), *old = kb_var(b, "old", w.buf->elem, NULL);
    const KExp *zero = kg_zero(kg, w.buf->elem), *was = kg_of(kg, old);
    /* Read by an atomic, too: a plain read beside others' atomics would be a data race. */
    swap(kg, &w, zero, zero, seen);
    WorkMark m = kg_work_begin(kg);
    KStm *again = kb_do(b);
    kb_set(b, old, kg_of(kg, seen));
    kg_let(kg, op->params.at[0], unpacked(kg, &w, was));
    kg_let(kg, op->params.at[1], x->x);
    kg_stms(kg, op->body);
    const KExp *res = kg_atom(kg, op->body->res.at[0]);
    const KExp *new = kb_let(b, "new", repacked(kg, &w, was, res));
    kb_if(b, kx_ne(a, new, was));
    swap(kg, &w, was, new, seen);
    kb_end(b);
    kb_do_end(b, again, kx_ne(a, kg_of(kg, seen), was));
    kg_work_end(kg, m);
    kb_end(b);
}

void hist_update(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs)
{
    const KExp *shared = hist_shared(kg, h);
    bool may_lack = shared->kind != KE_CONST;
    if (may_lack)
        kb_if(kg->kb, shared);
    for (int j = 0; j < h->n; j++) {
        const HistPart *p = &h->parts[j];
        bool wide = bins[j].mem->elem != p->op->params.at[0]->type.elem;
        PrimOp op = wide ? p->in_word : p->atomic;
        if (op != N_PRIM_OPS)
            atomic(kg, op, &bins[j], &xs[j]);
        else
            compare_and_swap(kg, p->op, &bins[j], &xs[j]);
    }
    if (!may_lack)
        return;
    kb_else(kg->kb);
    hist_combine(kg, h, bins, xs);
    kb_end(kg->kb);
}

/* --- In turns ------------------------------------------------------------------------------ */

static const KExp *i32_const(KGen *kg, int64_t k)
{
    return kx_const(kg->cx->perm, (Const){.type = T_I32, .i = k});
}

Turns turns_begin(KGen *kg, const Hist *h, KBuf *owner, KBuf *left)
{
    KBuild *b = kg->kb;
    Turns t = {.owner = owner, .left = left};
    t.vals = NEWN(kg->cx->perm, KVar *, h->n);
    t.ix = NEWN(kg->cx->perm, Var *, h->rank);
    for (int k = 0; k < h->rank; k++)
        t.ix[k] = var_new(kg->cx, "bin", type_prim(T_I64), kg->seg->loc);
    t.round = kb_var(b, "round", T_I32, i32_const(kg, 0));
    kg_if_first(kg);
    kb_store(b, left, kg_int(kg, 0), i32_const(kg, -1));
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
    return t;
}

static void turns_declare(KGen *kg, const Hist *h, Turns *t)
{
    KBuild *b = kg->kb;
    t->todo = kb_var(b, "todo", T_BOOL, kx_bool(kg->cx->perm, false));
    t->slot = kb_var(b, "slot", T_U32, kg_zero(kg, T_U32));
    for (int k = 0; k < h->rank; k++)
        kg_var(kg, t->ix[k], kg_int(kg, 0));
    for (int j = 0; j < h->n; j++) {
        PrimType type = atom_type(h->vals[j]).elem;
        t->vals[j] = kb_var(b, "val", type, kg_zero(kg, type));
    }
}

/* The element at hand into the variables. */
static void turns_set(KGen *kg, const Hist *h, const Turns *t)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const Type type = h->dests->at[0].arr.var->type;
    const KExp *slot = kg_zero(kg, T_U32);
    kb_set(b, t->todo, kx_bool(a, true));
    for (int k = 0; k < h->rank; k++) {
        const KExp *i = kg_atom(kg, h->index[k]), *n = kg_atom(kg, type.dims[k]);
        kg_set(kg, t->ix[k], i);
        slot = kx_prim2(a, OP_MUL, slot, kx_conv(a, T_U32, n));
        slot = kx_prim2(a, OP_ADD, slot, kx_conv(a, T_U32, i));
    }
    const KExp *size = kx_conv(a, T_U32, kg_id(kg, KID_GROUP_SIZE));
    kb_set(b, t->slot, kx_prim2(a, OP_REM, slot, size));
    for (int j = 0; j < h->n; j++)
        kb_set(b, t->vals[j], kg_atom(kg, h->vals[j]));
}

/* The work-item's number as the table holds it. */
static const KExp *own_number(KGen *kg)
{
    return kx_conv(kg->cx->perm, T_I32, kg->lid);
}

/* The rounds. A flag left from an earlier round is not this one's: it is the round's number. */
static void turns_take(KGen *kg, const Hist *h, const Turns *t, const KLoc *locs)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp **ix = NEWN(a, const KExp *, h->rank);
    HistVal *xs = NEWN(a, HistVal, h->n);
    for (int k = 0; k < h->rank; k++)
        ix[k] = sx_var(kg->cx, t->ix[k]);
    for (int j = 0; j < h->n; j++)
        xs[j].x = kg_of(kg, t->vals[j]);
    const KExp *todo = kg_of(kg, t->todo), *slot = kx_conv(a, T_I64, kg_of(kg, t->slot));
    const KExp *round = kg_of(kg, t->round), *zero = kg_int(kg, 0);
    KVar *more = kb_var(b, "more", T_BOOL, NULL);
    KStm *turn = kb_do(b);
    kb_if(b, todo);
    kb_stm(b, (KStm){.kind = KST_RACE, .buf = t->owner, .x = {slot, own_number(kg)}});
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
    kb_if(b, todo);
    kb_if(b, kg_eq(kg, kb_load(b, "owner", t->owner, slot), own_number(kg)));
    hist_combine(kg, h, hist_bins(kg, h, locs, ix), xs);
    kb_set(b, t->todo, kx_bool(a, false));
    kb_end(b);
    kb_end(b);
    kb_if(b, todo);
    kb_stm(b, (KStm){.kind = KST_RACE, .buf = t->left, .x = {zero, round}});
    kb_end(b);
    kg_meet(kg);
    kb_set(b, more, kg_eq(kg, kb_load(b, "left", t->left, zero), round));
    kb_set(b, t->round, kx_prim2(a, OP_ADD, round, i32_const(kg, 1)));
    kb_do_end(b, turn, kg_of(kg, more));
}

void turns_update(KGen *kg, const Hist *h, Turns *t, int from, const KExp *beg, const KExp *len,
                  const KLoc *locs)
{
    KBuild *b = kg->kb;
    const KExp *base = kb_for(b, "base", kg_int(kg, 0), len, kg_id(kg, KID_GROUP_SIZE));
    turns_declare(kg, h, t);
    const KExp *off = kb_let(b, "off", kg_add(kg, base, kg->lid));
    kb_if(b, kg_lt(kg, off, len));
    WorkMark m = hist_open_element(kg, h, from, kb_let(b, "at", kg_add(kg, beg, off)));
    turns_set(kg, h, t);
    hist_close_element(kg, m);
    kb_end(b);
    turns_take(kg, h, t, locs);
    kb_end(b);
}

/* --- By a thread --------------------------------------------------------------------------- */

void kg_hist(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *fn = e->soac.fn;
    Hist h = hist_of(kg->cx, e);
    KLoc *locs = kg_dests(kg, s, h.dests);
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_atom(kg, e->soac.width), kg_int(kg, 1));
    HeapMark turn = heap_mark(kg);
    kg_bind_rows(kg, fn->params.at, &e->soac.arrs, kg_sx_of(kg, i));
    kg_stms(kg, fn->body);
    hist_open_bounds(kg, &h);
    hist_combine(kg, &h, hist_bins(kg, &h, locs, hist_index(kg, &h)), hist_vals(kg, &h));
    kb_end(kg->kb);
    heap_release(kg, turn);
    kb_end(kg->kb);
    for (int j = 0; j < h.n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}
