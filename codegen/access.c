/* Elements, views, copies and checks of arrays inside a kernel. Index arithmetic is i64; it is made
 * in loc_at only. */
#include "codegen/kernel.h"

#include <string.h>

const Sx *loc_at(KGen *kg, const KLoc *l, const Sx *const *ix, int n)
{
    const Sx *at = l->offset;
    for (int k = 0; k < n; k++)
        at = sx_add(kg->cx, at, sx_mul(kg->cx, ix[k], l->strides[k]));
    return at;
}

const char *loc_elem(KGen *kg, const KLoc *l, const Sx *const *ix, int n)
{
    return kg_text(kg, "%s[%s]", l->mem, sx_c(loc_at(kg, l, ix, n)));
}

KLoc loc_row_n(KGen *kg, const KLoc *l, int rank, const Sx *const *ix, int n)
{
    KLoc r = *l;
    r.offset = loc_at(kg, l, ix, n);
    r.strides = NEWN(kg->cx->perm, const Sx *, rank - n);
    for (int k = n; k < rank; k++)
        r.strides[k - n] = l->strides[k];
    return r;
}

KLoc loc_row(KGen *kg, const KLoc *l, int rank, const Sx *i)
{
    return loc_row_n(kg, l, rank, &i, 1);
}

bool loc_same(const KLoc *a, const KLoc *b, int rank)
{
    if (a->space != b->space || strcmp(a->mem, b->mem) != 0 || !sx_eq(a->offset, b->offset))
        return false;
    for (int k = 0; k < rank; k++)
        if (!sx_eq(a->strides[k], b->strides[k]))
            return false;
    return true;
}

const Sx **loc_strides_row_major(KGen *kg, Type t, const Sx *unit)
{
    const Sx **s = NEWN(kg->cx->perm, const Sx *, t.rank);
    for (int k = t.rank - 1; k >= 0; k--) {
        s[k] = unit;
        unit = sx_mul(kg->cx, unit, kg_sx(kg, t.dims[k]));
    }
    return s;
}

/* --- Group mode: who writes shared memory, and when ------------------------------------------- */

void kg_touch(KGen *kg)
{
    kg->clean = false;
}

void kg_meet(KGen *kg, bool global)
{
    kg_line(kg, "barrier(CLK_LOCAL_MEM_FENCE%s);", global ? " | CLK_GLOBAL_MEM_FENCE" : "");
    kg->fixed_group = true;
}

void kg_barrier(KGen *kg)
{
    kg_meet(kg, true);
    kg->clean = true;
}

void kg_sync(KGen *kg)
{
    if (kg->coop && !kg->clean)
        kg_barrier(kg);
}

/* --- Loops over positions --------------------------------------------------------------------- */

/* All work-items take every turn of the loop: PoCL 3.1 goes wrong where an inner loop stands in one
 * that work-items leave at different times. */
void kg_open_shared(KGen *kg, const char *j, const char *total)
{
    const char *base = kg_name(kg, "base");
    kg_open(kg, "for (i64 %s = 0; %s < %s; %s += get_local_size(0))", base, base, total, base);
    kg_line(kg, "const i64 %s = %s + lid;", j, base);
    kg_open(kg, "if (%s < %s)", j, total);
}

void kg_close_shared(KGen *kg)
{
    kg_close(kg);
    kg_close(kg);
}

static void flat_loops(KGen *kg, Type t, const Sx **ix)
{
    const char *flat = kg_name(kg, "j");
    const Sx *total = sx_const(kg->cx, 1);
    for (int k = 0; k < t.rank; k++)
        total = sx_mul(kg->cx, total, kg_sx(kg, t.dims[k]));
    kg_open_shared(kg, flat, sx_c(total));
    const char *rest = flat;
    for (int k = t.rank - 1; k > 0; k--) {
        const char *c = kg_name(kg, "c"), *q = kg_name(kg, "q");
        const char *d = sx_c_factor(kg_sx(kg, t.dims[k]));
        kg_line(kg, "const i64 %s = mf_index_div(%s, %s), %s = %s - %s * %s;", q, rest, d, c, rest,
                q, d);
        ix[k] = sx_text(kg->cx, c);
        rest = q;
    }
    if (t.rank > 0)
        ix[0] = sx_text(kg->cx, rest);
}

void kg_loops_open(KGen *kg, Type t, const Sx **ix)
{
    if (kg->coop) {
        flat_loops(kg, t, ix);
        return;
    }
    for (int k = 0; k < t.rank; k++) {
        const char *c = kg_name(kg, "c");
        ix[k] = sx_text(kg->cx, c);
        kg_open(kg, "for (i64 %s = 0; %s < %s; %s++)", c, c, sx_c(kg_sx(kg, t.dims[k])), c);
    }
}

void kg_loops_close(KGen *kg, Type t)
{
    if (kg->coop) {
        kg_close_shared(kg);
        return;
    }
    for (int k = 0; k < t.rank; k++)
        kg_close(kg);
}

void kg_copy(KGen *kg, const KLoc *dst, const KLoc *src, Type t)
{
    if (loc_same(dst, src, t.rank))
        return;
    const Sx *ix[32];
    ASSERT(t.rank <= 32);
    kg_sync(kg);
    kg_loops_open(kg, t, ix);
    kg_line(kg, "%s = %s;", loc_elem(kg, dst, ix, t.rank), loc_elem(kg, src, ix, t.rank));
    kg_loops_close(kg, t);
    kg_touch(kg);
    kg_sync(kg);
}

void kg_store(KGen *kg, const KLoc *dst, Type t, Atom v)
{
    if (t.rank > 0) {
        kg_copy(kg, dst, kg_arr(kg, v.var), t);
        return;
    }
    const char *elem = loc_elem(kg, dst, NULL, 0), *val = kg_atom_c(kg, v);
    if (!kg->coop) {
        kg_line(kg, "%s = %s;", elem, val);
        return;
    }
    kg_sync(kg);
    kg_open(kg, "if (get_local_id(0) == 0)");
    kg_line(kg, "%s = %s;", elem, val);
    kg_close(kg);
    kg_touch(kg);
    kg_sync(kg);
}

void kg_bind_row(KGen *kg, const Var *x, Atom arr, const Sx *i)
{
    const KLoc *l = kg_arr(kg, arr.var);
    int rank = arr.var->type.rank;
    if (rank == 1) {
        kg_decl(kg, x, loc_elem(kg, l, &i, 1));
        kg_touch(kg);
    } else {
        kg_bind_arr(kg, x, loc_row(kg, l, rank, i));
    }
}

void kg_unflatten(KGen *kg, const char *flat, Var *const *idx, const Atom *widths, int n)
{
    const char *rest = flat;
    for (int k = n - 1; k > 0; k--) {
        const char *w = kg_atom_c(kg, widths[k]), *q = kg_name(kg, "q");
        kg_line(kg, "const i64 %s = mf_index_div(%s, %s);", q, rest, w);
        kg_decl(kg, idx[k], kg_text(kg, "%s - %s * %s", rest, q, w));
        rest = q;
    }
    if (n > 0)
        kg_decl(kg, idx[0], rest);
}

/* --- Failures --------------------------------------------------------------------------------- */

static void fail_call(KGen *kg, int site, const Texts *args)
{
    Out o = {0};
    out_printf(&o, "mf_fail(failure, launch, %d", site);
    for (int i = 0; i < 8; i++)
        out_printf(&o, ", %s", i < args->n ? args->at[i] : "0");
    out_puts(&o, ");");
    kg_line(kg, "%s", o.text);
    out_free(&o);
    kg->may_fail = true;
}

/* Records a failure unless cond holds. A thread then jumps to the end of its work; a group, whose
 * threads all see the same, goes on, and the C name of the condition's value is returned. */
static const char *check(KGen *kg, const char *cond, int site, const Texts *args)
{
    const char *ok = NULL;
    if (kg->coop) {
        ok = kg_name(kg, "ok");
        kg_line(kg, "const bool %s = %s;", ok, cond);
        kg_open(kg, "if (!%s)", ok);
    } else {
        kg_open(kg, "if (!(%s))", cond);
    }
    fail_call(kg, site, args);
    if (!kg->coop) {
        kg_line(kg, "goto %s;", kg->fail_to);
        kg->fail_used = true;
    }
    kg_close(kg);
    return ok;
}

void kg_assert(KGen *kg, const Stm *s)
{
    Texts args;
    for (int i = 0; i < s->exp->assertion.args.n; i++)
        kg_atom_c(kg, s->exp->assertion.args.at[i]);
    int site = assert_site(kg->cx, kg->h->plan, s->exp, &args);
    check(kg, kg_atom_c(kg, s->exp->assertion.cond), site, &args);
}

void kg_prim_checks(KGen *kg, const Exp *e)
{
    const char *msg, *cond = scalar_check_c(e, &msg);
    if (!cond)
        return;
    for (int i = 0; i < e->prim.args.n; i++)
        kg_atom_c(kg, e->prim.args.at[i]);
    Texts none = {0};
    check(kg, cond, plan_site(kg->h->plan, e->loc, msg), &none);
}

static void need_dims(KGen *kg, Type t, const DimIndexes *at)
{
    for (int k = 0; k < t.rank; k++)
        kg_atom_c(kg, t.dims[k]);
    for (int k = 0; k < at->n; k++) {
        kg_atom_c(kg, at->at[k].start);
        if (at->at[k].is_slice) {
            kg_atom_c(kg, at->at[k].n);
            kg_atom_c(kg, at->at[k].stride);
        }
    }
}

/* The check of an INDEX or UPDATE; NULL, or in group mode the condition's name. */
static const char *index_check(KGen *kg, const Exp *e, Type t, const DimIndexes *at)
{
    kg->guard = true;
    const char *cond = index_check_c(e);
    if (!cond)
        return NULL;
    need_dims(kg, t, at);
    Texts args;
    int site = index_site(kg->cx, kg->h->plan, e, &args);
    return check(kg, cond, site, &args);
}

/* --- Index and update ------------------------------------------------------------------------- */

/* The part of l that `at` selects: single positions disappear, slices stay. */
static KLoc view(KGen *kg, const KLoc *l, const DimIndexes *at)
{
    KLoc r = *l;
    r.strides = NEWN(kg->cx->perm, const Sx *, at->n);
    int n = 0;
    for (int k = 0; k < at->n; k++) {
        const DimIndex *d = &at->at[k];
        r.offset = sx_add(kg->cx, r.offset, sx_mul(kg->cx, kg_sx(kg, d->start), l->strides[k]));
        if (d->is_slice)
            r.strides[n++] = sx_mul(kg->cx, kg_sx(kg, d->stride), l->strides[k]);
    }
    return r;
}

/* A view whose check failed becomes one that always shows the block's first element. */
static void harmless(KGen *kg, KLoc *l, int rank, const char *ok)
{
    const char *off = kg_name(kg, "off");
    kg_line(kg, "const i64 %s = %s ? %s : 0;", off, ok, sx_c(l->offset));
    l->offset = sx_text(kg->cx, off);
    for (int k = 0; k < rank; k++) {
        const char *st = kg_name(kg, "stride");
        kg_line(kg, "const i64 %s = %s ? %s : 0;", st, ok, sx_c(l->strides[k]));
        l->strides[k] = sx_text(kg->cx, st);
    }
}

void kg_index(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    Type t = atom_type(e->index.arr);
    const char *ok = index_check(kg, e, t, &e->index.at);
    KLoc r = view(kg, kg_arr(kg, e->index.arr.var), &e->index.at);
    if (v->type.rank == 0) {
        const char *elem = loc_elem(kg, &r, NULL, 0);
        kg_decl(kg, v, ok ? kg_text(kg, "%s ? %s : 0", ok, elem) : elem);
        kg_touch(kg);
        return;
    }
    if (ok)
        harmless(kg, &r, v->type.rank, ok);
    kg_bind_arr(kg, v, r);
}

/* The memory that an update of arr may write: arr's own if it is this thread's, else a copy. */
static KLoc writable(KGen *kg, const Var *v, Atom arr)
{
    KLoc *l = kg_arr(kg, arr.var);
    if (l->fresh)
        return *l;
    KLoc copy = kg_alloc(kg, v, v->type);
    kg_copy(kg, &copy, l, v->type);
    return copy;
}

void kg_update(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const char *ok = index_check(kg, e, v->type, &e->update.at);
    KLoc dst = writable(kg, v, e->update.arr);
    kg_bind_arr(kg, v, dst);
    KLoc part = view(kg, &dst, &e->update.at);
    if (ok) {
        kg_sync(kg); /* all barriers outside the branch, or all threads inside it: ok is uniform */
        kg_open(kg, "if (%s)", ok);
    }
    kg_store(kg, &part, atom_type(e->update.val), e->update.val);
    if (ok)
        kg_close(kg);
}
