/* Updates of bins (see hist.h), and the sequential histogram of a thread. */
#include "codegen/hist.h"

/* --- What the operator is --------------------------------------------------------------------- */

/* The single operation on both parameters that op consists of. */
static const Exp *single_op(const Lambda *op)
{
    const Body *b = op->body;
    if (op->params.n != 2 || b->stms.n != 1 || b->stms.at[0].exp->kind != E_PRIM ||
        b->stms.at[0].pat.at[0] != b->res.at[0].var)
        return NULL;
    const Exp *e = b->stms.at[0].exp;
    if (e->prim.args.n != 2)
        return NULL;
    const Var *a = e->prim.args.at[0].var, *x = e->prim.args.at[1].var;
    const Var *p = op->params.at[0], *q = op->params.at[1];
    return (a == p && x == q) || (a == q && x == p) ? e : NULL;
}

/* OpenCL's name of an atomic operation; NULL if there is none. */
static const char *atomic_name(PrimOp op)
{
    switch ((int)op) {
    case OP_ADD: return "add";
    case OP_MIN: return "min";
    case OP_MAX: return "max";
    case OP_AND: return "and";
    case OP_OR: return "or";
    case OP_XOR: return "xor";
    default: return NULL;
    }
}

static HistWay way_of(const Lambda *op, PrimOp *prim)
{
    if (op->params.n != 2 || op->params.at[0]->type.rank > 0)
        return HIST_TURNS;
    PrimType t = op->params.at[0]->type.elem;
    const Exp *e = single_op(op);
    if (!e || !prim_is_int(t) || !atomic_name(e->prim.op))
        return HIST_CAS;
    /* Of the atomics on 64 bits, sums belong to the basic extension. */
    if (prim_type_bytes[t] != 4 && !(prim_type_bytes[t] == 8 && e->prim.op == OP_ADD))
        return HIST_CAS;
    *prim = e->prim.op;
    return HIST_ATOMIC;
}

Hist hist_of(const Exp *e)
{
    bool seg = exp_is_seg(e);
    const Body *b = seg ? e->seg.body : e->soac.fn->body;
    Hist h = {.op = seg ? e->seg.op : e->soac.op,
              .dests = seg ? &e->seg.dests : &e->soac.dests,
              .nes = seg ? e->seg.nes.at : e->soac.nes.at};
    h.n = h.dests->n;
    h.rank = h.dests->at[0].rank;
    h.index = b->res.at;
    h.vals = b->res.at + h.rank;
    h.way = way_of(h.op, &h.prim);
    return h;
}

Type hist_bin_type(const Hist *h, int j)
{
    return type_drop(h->dests->at[j].arr.var->type, h->rank);
}

int hist_segments(const Exp *e)
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

const char *hist_shared_c(const Hist *h)
{
    bool wide = h->way != HIST_TURNS && prim_type_bytes[h->op->params.at[0]->type.elem] == 8;
    return wide ? "MF_ATOMIC64" : "1";
}

/* --- Elements and bins ------------------------------------------------------------------------ */

HistVal *hist_vals(KGen *kg, const Hist *h)
{
    HistVal *xs = NEWN(kg->cx->perm, HistVal, h->n);
    for (int j = 0; j < h->n; j++)
        if (atom_type(h->vals[j]).rank == 0)
            xs[j].text = kg_atom_c(kg, h->vals[j]);
        else
            xs[j].loc = *kg_arr(kg, h->vals[j].var);
    return xs;
}

void hist_open_bounds(KGen *kg, const Hist *h, int n_safe)
{
    Out cond = {0};
    const Type t = h->dests->at[0].arr.var->type;
    for (int k = n_safe; k < h->rank; k++) {
        const char *i = kg_atom_c(kg, h->index[k]);
        out_printf(&cond, "%s0 <= %s && %s < %s", k > n_safe ? " && " : "", i, i,
                   kg_atom_c(kg, t.dims[k]));
    }
    kg_open(kg, "if (%s)", cond.text ? cond.text : "1");
    out_free(&cond);
}

const Sx **hist_index(KGen *kg, const Hist *h)
{
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, h->rank);
    for (int k = 0; k < h->rank; k++)
        ix[k] = kg_sx(kg, h->index[k]);
    return ix;
}

KLoc *hist_bins(KGen *kg, const Hist *h, const KLoc *locs, const Sx *const *ix)
{
    KLoc *bins = NEWN(kg->cx->perm, KLoc, h->n);
    for (int j = 0; j < h->n; j++)
        bins[j] = loc_row_n(kg, &locs[j], h->dests->at[j].arr.var->type.rank, ix, h->rank);
    return bins;
}

/* --- One work-item ---------------------------------------------------------------------------- */

static void bind_operands(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs)
{
    for (int j = 0; j < h->n; j++) {
        const Var *acc = h->op->params.at[j], *x = h->op->params.at[h->n + j];
        if (acc->type.rank == 0) {
            kg_decl(kg, acc, loc_elem(kg, &bins[j], NULL, 0));
            kg_decl(kg, x, xs[j].text);
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
    KLoc own = kg_alloc(kg, NULL, t);
    kg_copy(kg, &own, kg_arr(kg, r.var), t);
    kg_bind_arr(kg, v, own);
    return atom_var(v);
}

void hist_combine(KGen *kg, const Hist *h, const KLoc *bins, const HistVal *xs)
{
    kg_block(kg);
    bind_operands(kg, h, bins, xs);
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, h->op->body);
    Atom *res = NEWN(kg->cx->perm, Atom, h->n);
    for (int j = 0; j < h->n; j++)
        res[j] = apart_from_bins(kg, h->op->body->res.at[j]);
    for (int j = 0; j < h->n; j++)
        kg_store(kg, &bins[j], hist_bin_type(h, j), res[j]);
    kg_work_end(kg, m);
    kg_close(kg);
}

/* --- Many work-items -------------------------------------------------------------------------- */

static const char *space_c(const KLoc *l)
{
    return l->space == SP_LOCAL ? "__local" : "__global";
}

static void atomic(KGen *kg, const Hist *h, const KLoc *bin, const HistVal *x)
{
    PrimType t = h->op->params.at[0]->type.elem;
    const char *type = ctype_c(t), *f = prim_type_bytes[t] == 8 ? "atom" : "atomic";
    kg_line(kg, "%s_%s((volatile %s %s *)&%s, %s);", f, atomic_name(h->prim), space_c(bin), type,
            loc_elem(kg, bin, NULL, 0), x->text);
}

static const char *as_type(PrimType t)
{
    static const char *const names[N_PRIM_TYPES] = {
        [T_I32] = "as_int",  [T_U32] = "as_uint",  [T_F32] = "as_float",
        [T_I64] = "as_long", [T_U64] = "as_ulong", [T_F64] = "as_double"};
    return names[t];
}

/* Declares the pointer to the word (a smaller element lies in the word around it); returns the text
 * of the value in `old`, and of the word that holds `res` instead. */
static const char *word_of(KGen *kg, const KLoc *bin, PrimType t, const char *w, const char *old,
                           const char *shift)
{
    int bytes = prim_type_bytes[t];
    const char *space = space_c(bin), *word = bytes == 8 ? "ulong" : "uint";
    if (bytes >= 4 || prim_type_bytes[bin->elem] == 4) {
        kg_line(kg, "volatile %s %s *const %s = (volatile %s %s *)&%s;", space, word, w, space,
                word, loc_elem(kg, bin, NULL, 0));
        return bytes >= 4 ? kg_text(kg, "%s(%s)", as_type(t), old)
                          : kg_text(kg, "(%s)(%s)", ctype_c(t), old);
    }
    const char *byte = kg_name(kg, "byte");
    kg_line(kg, "const i64 %s = (%s) * %d;", byte, sx_c(loc_at(kg, bin, NULL, 0)), bytes);
    kg_line(kg, "volatile %s uint *const %s = (volatile %s uint *)%s + (%s >> 2);", space, w, space,
            bin->mem, byte);
    kg_line(kg, "const uint %s = (uint)(%s & 3) * 8;", shift, byte);
    return kg_text(kg, "(%s)(%s >> %s & %s)", ctype_c(t), old, shift,
                   bytes == 1 ? "0xff" : "0xffff");
}

static const char *repacked(KGen *kg, const KLoc *bin, PrimType t, const char *old,
                            const char *shift, const char *res)
{
    int bytes = prim_type_bytes[t];
    if (bytes >= 4)
        return kg_text(kg, "%s((%s)(%s))", bytes == 8 ? "as_ulong" : "as_uint", ctype_c(t), res);
    if (prim_type_bytes[bin->elem] == 4)
        return kg_text(kg, "(uint)(%s)(%s)", ctype_c(t), res);
    const char *mask = bytes == 1 ? "0xffu" : "0xffffu";
    return kg_text(kg, "(%s & ~(%s << %s)) | (((uint)(%s) & %s) << %s)", old, mask, shift, res,
                   mask, shift);
}

static void compare_and_swap(KGen *kg, const Hist *h, const KLoc *bin, const HistVal *x)
{
    const Lambda *op = h->op;
    PrimType t = op->params.at[0]->type.elem;
    const char *word = prim_type_bytes[t] == 8 ? "ulong" : "uint";
    const char *w = kg_name(kg, "word"), *old = kg_name(kg, "old"), *seen = kg_name(kg, "seen");
    const char *new = kg_name(kg, "new"), *shift = kg_name(kg, "shift");
    kg_block(kg);
    const char *value = word_of(kg, bin, t, w, old, shift);
    /* Read by an atomic, too: a plain read beside others' atomics would be a data race. */
    kg_line(kg, "%s %s = %s_cmpxchg(%s, 0, 0), %s;", word, seen,
            prim_type_bytes[t] == 8 ? "atom" : "atomic", w, old);
    WorkMark m = kg_work_begin(kg);
    kg_open(kg, "do");
    kg_line(kg, "%s = %s;", old, seen);
    kg_decl(kg, op->params.at[0], value);
    kg_decl(kg, op->params.at[1], x->text);
    kg_stms(kg, op->body);
    const char *res = kg_atom_c(kg, op->body->res.at[0]);
    kg_line(kg, "const %s %s = %s;", word, new, repacked(kg, bin, t, old, shift, res));
    kg_line(kg, "if (%s != %s)", new, old);
    kg_line(kg, "    %s = %s_cmpxchg(%s, %s, %s);", seen,
            prim_type_bytes[t] == 8 ? "atom" : "atomic", w, old, new);
    kg_close(kg);
    kg_line(kg, "while (%s != %s);", seen, old);
    kg_work_end(kg, m);
    kg_close(kg);
}

void hist_update(KGen *kg, const Hist *h, const KLoc *bin, const HistVal *x)
{
    bool wide = prim_type_bytes[h->op->params.at[0]->type.elem] == 8;
    if (wide)
        kg_line(kg, "#if MF_ATOMIC64");
    if (h->way == HIST_ATOMIC)
        atomic(kg, h, bin, x);
    else
        compare_and_swap(kg, h, bin, x);
    if (!wide)
        return;
    kg_line(kg, "#else");
    hist_combine(kg, h, bin, x);
    kg_line(kg, "#endif");
}

/* --- In turns --------------------------------------------------------------------------------- */

Turns turns_begin(KGen *kg, const Hist *h, const char *owner, const char *left)
{
    Turns t = {.owner = owner, .left = left, .round = kg_name(kg, "round")};
    t.vals = NEWN(kg->cx->perm, const char *, h->n);
    t.ix = NEWN(kg->cx->perm, Var *, h->rank);
    for (int k = 0; k < h->rank; k++)
        t.ix[k] = var_new(kg->cx, "bin", type_prim(T_I64), kg->seg->loc);
    kg_line(kg, "i32 %s = 0;", t.round);
    kg_open(kg, "if (lid == 0)");
    kg_line(kg, "*%s = -1;", left);
    kg_close(kg);
    kg_meet(kg, false);
    return t;
}

void turns_declare(KGen *kg, const Hist *h, Turns *t)
{
    t->todo = kg_name(kg, "todo");
    t->slot = kg_name(kg, "slot");
    kg_line(kg, "bool %s = false;", t->todo);
    kg_line(kg, "uint %s = 0;", t->slot);
    for (int k = 0; k < h->rank; k++)
        kg_line(kg, "i64 %s = 0;", kg_bind(kg, t->ix[k]));
    for (int j = 0; j < h->n; j++) {
        t->vals[j] = kg_name(kg, "val");
        kg_line(kg, "%s %s = 0;", ctype_c(atom_type(h->vals[j]).elem), t->vals[j]);
    }
}

void turns_set(KGen *kg, const Hist *h, const Turns *t)
{
    const Type type = h->dests->at[0].arr.var->type;
    kg_line(kg, "%s = true;", t->todo);
    for (int k = 0; k < h->rank; k++) {
        const char *ix = var_c_name(t->ix[k]);
        kg_line(kg, "%s = %s;", ix, kg_atom_c(kg, h->index[k]));
        kg_line(kg, "%s = %s * (uint)%s + (uint)%s;", t->slot, t->slot,
                sx_c_factor(kg_sx(kg, type.dims[k])), ix);
    }
    kg_line(kg, "%s %%= (uint)get_local_size(0);", t->slot);
    for (int j = 0; j < h->n; j++)
        kg_line(kg, "%s = %s;", t->vals[j], kg_atom_c(kg, h->vals[j]));
}

/* A flag left from an earlier round is not this one's: it is the round's number. */
void turns_take(KGen *kg, const Hist *h, const Turns *t, const KLoc *locs)
{
    const char *more = kg_name(kg, "more");
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, h->rank);
    HistVal *xs = NEWN(kg->cx->perm, HistVal, h->n);
    for (int k = 0; k < h->rank; k++)
        ix[k] = sx_var(kg->cx, t->ix[k]);
    for (int j = 0; j < h->n; j++)
        xs[j].text = t->vals[j];
    kg_line(kg, "bool %s;", more);
    kg_open(kg, "do");
    kg_open(kg, "if (%s)", t->todo);
    kg_line(kg, "MF_WRITE_ANY(%s[%s], lid);", t->owner, t->slot);
    kg_close(kg);
    kg_meet(kg, false);
    kg_open(kg, "if (%s && %s[%s] == lid)", t->todo, t->owner, t->slot);
    hist_combine(kg, h, hist_bins(kg, h, locs, ix), xs);
    kg_line(kg, "%s = false;", t->todo);
    kg_close(kg);
    kg_open(kg, "if (%s)", t->todo);
    kg_line(kg, "*%s = %s;", t->left, t->round);
    kg_close(kg);
    kg_meet(kg, true);
    kg_line(kg, "%s = *%s == %s++;", more, t->left, t->round);
    kg_close(kg);
    kg_line(kg, "while (%s);", more);
}

/* --- By a thread ------------------------------------------------------------------------------ */

void kg_hist(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *fn = e->soac.fn;
    Hist h = hist_of(e);
    KLoc *locs = kg_dests(kg, s, h.dests);
    const char *i = kg_name(kg, "i");
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", i, i, kg_atom_c(kg, e->soac.width), i);
    HeapMark turn = heap_mark(kg);
    kg_bind_rows(kg, fn->params.at, &e->soac.arrs, sx_text(kg->cx, i));
    kg_stms(kg, fn->body);
    hist_open_bounds(kg, &h, 0);
    hist_combine(kg, &h, hist_bins(kg, &h, locs, hist_index(kg, &h)), hist_vals(kg, &h));
    kg_close(kg);
    heap_release(kg, turn);
    kg_close(kg);
    for (int j = 0; j < h.n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}
