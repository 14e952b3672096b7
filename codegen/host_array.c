/* Arrays at the host level: views are locations, everything else is allocated and filled by the
 * runtime's copies and fills. */
#include "codegen/host.h"
#include "codegen/kernel.h"

#include "base/intern.h"

ArrLoc host_atom_loc(const Host *h, Atom arr)
{
    ASSERT(arr.var);
    return *host_loc(h, arr.var);
}

static const Sx *bytes_of(Ctx *cx, Type t)
{
    return sx_mul(cx, sx_product(cx, t.dims, t.rank), sx_const(cx, prim_type_bytes[t.elem]));
}

static bool may_be_too_large(const Atom *dims, int n, int bytes)
{
    int64_t most = bytes;
    for (int k = 0; k < n; k++)
        if (__builtin_mul_overflow(most, dims[k].var ? MAX_SIZE : dims[k].c.i, &most))
            return true;
    return most > MAX_BYTES;
}

void host_check_count(Host *h, const Atom *dims, int n, int bytes)
{
    Ctx *cx = h->cx;
    if (!may_be_too_large(dims, n, bytes))
        return;
    const Sx *all = sx_mul(cx, sx_product(cx, dims, n), sx_const(cx, bytes));
    HostOp op = {.kind = H_ASSERT, .loc = h->at, .sx = all};
    op.text = intern(arena_printf(cx->perm, "%s <= RT_MAX_BYTES", sx_exact_c(all)));
    for (int i = h->ops->n - 1; i >= 0 && i >= h->ops->n - 32; i--) /* of several arrays, once */
        if (h->ops->at[i]->text == op.text)
            return;
    Out msg = {0};
    out_puts(&msg, "array of ");
    for (int k = 0; k < n; k++) {
        out_puts(&msg, k == 0 ? "" : " x ");
        out_puts(&msg, k < 8 ? "%ld" : "?");
        vec_push(cx->perm, &op.dims, dims[k]);
        if (k < 8)
            vec_push(cx->perm, &op.args_i64, atom_c(dims[k]));
    }
    out_puts(&msg, " elements is too large");
    op.site = plan_site(h->plan, h->at, msg.text);
    out_free(&msg);
    host_op(h, op);
}

ArrLoc host_fresh(Host *h, const char *base, Type t, const int *perm)
{
    host_check_count(h, t.dims, t.rank, prim_type_bytes[t.elem]);
    Mem *mem = host_alloc(h, base, bytes_of(h->cx, t));
    return (ArrLoc){mem, lmad_permuted(h->cx, t, perm)};
}

static Atoms dims_of(Ctx *cx, Type t)
{
    Atoms d = {0};
    for (int k = 0; k < t.rank; k++)
        vec_push(cx->perm, &d, t.dims[k]);
    return d;
}

static void host_copy(Host *h, Loc loc, ArrLoc dst, ArrLoc src, Type t)
{
    host_op(h, (HostOp){.kind = H_COPY,
                        .loc = loc,
                        .dst = dst,
                        .src = src,
                        .type = t.elem,
                        .dims = dims_of(h->cx, t)});
}

ArrLoc host_copied(Host *h, Loc loc, Atom arr, const int *perm)
{
    Type t = atom_type(arr);
    ArrLoc dst = host_fresh(h, arr.var->base, t, perm);
    host_copy(h, loc, dst, host_atom_loc(h, arr), t);
    return dst;
}

/* The layout of l if it is a permuted row-major one, else row-major (NULL). */
static const int *kept_perm(Ctx *cx, const ArrLoc *l, Type t)
{
    int *perm = NEWN(cx->perm, int, t.rank);
    return lmad_perm(cx, l->at, t, perm) ? perm : NULL;
}

/* --- In-place updates ------------------------------------------------------------------------- */

bool host_writable(const Host *h, const ArrLoc *l)
{
    return !l->mem->borrowed && (h->guard_mark < 0 || l->mem->root >= h->guard_mark);
}

/* arr's location, or that of a copy when its memory must stay as it is. */
static ArrLoc writable(Host *h, Loc loc, Atom arr)
{
    ArrLoc l = host_atom_loc(h, arr);
    return host_writable(h, &l) ? l
                                : host_copied(h, loc, arr, kept_perm(h->cx, &l, atom_type(arr)));
}

Protected host_protect(Host *h, const Exp *e)
{
    Protected p = {0};
    Vars consumed = exp_consumes(h->cx, e);
    for (int i = 0; i < consumed.n; i++) {
        Var *v = consumed.at[i];
        ArrLoc *old = varmap_get(h->locs, v);
        if (!old || host_writable(h, old))
            continue;
        vec_push(h->cx->perm, &p.vars, v);
        vec_push(h->cx->perm, &p.old, old);
        host_bind(h, v, writable(h, e->loc, atom_var(v)));
    }
    return p;
}

void host_unprotect(Host *h, const Protected *p)
{
    for (int i = 0; i < p->vars.n; i++)
        host_bind(h, p->vars.at[i], *p->old.at[i]);
}

/* --- Views ------------------------------------------------------------------------------------ */

static ArrLoc slice_loc(Ctx *cx, ArrLoc l, const DimIndexes *at)
{
    return (ArrLoc){l.mem, lmad_index(cx, l.at, at)};
}

static void check_bounds(Host *h, const Exp *e)
{
    Scalars sc = scalars_host(h);
    const KExp *cond = index_check(&sc, e);
    if (!cond)
        return;
    KExps args;
    int site = index_site(&sc, h->plan, e, &args);
    host_op(h, (HostOp){.kind = H_ASSERT,
                        .loc = e->loc,
                        .text = kir_exp_c(cond),
                        .exp = e,
                        .site = site,
                        .args_i64 = exp_texts(h->cx, &args)});
}

static void index_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    check_bounds(h, e);
    ArrLoc l = slice_loc(h->cx, host_atom_loc(h, e->index.arr), &e->index.at);
    if (v->type.rank > 0)
        host_bind(h, v, l);
    else
        host_op(h, (HostOp){.kind = H_READ,
                            .loc = e->loc,
                            .var = v,
                            .mem = l.mem,
                            .sx = l.at.offset,
                            .type = v->type.elem});
}

static void update_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    check_bounds(h, e);
    ArrLoc whole = writable(h, e->loc, e->update.arr);
    ArrLoc part = slice_loc(h->cx, whole, &e->update.at);
    Type t = atom_type(e->update.val);
    host_bind(h, s->pat.at[0], whole);
    if (t.rank == 0) {
        host_op(h, (HostOp){.kind = H_WRITE,
                            .loc = e->loc,
                            .mem = part.mem,
                            .sx = part.at.offset,
                            .atom = e->update.val,
                            .type = t.elem});
        return;
    }
    ArrLoc val = host_atom_loc(h, e->update.val);
    if (val.mem == part.mem) /* might overlap */
        val = host_copied(h, e->loc, e->update.val, NULL);
    host_copy(h, e->loc, part, val, t);
}

static void rearrange_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    ArrLoc a = host_atom_loc(h, e->rearrange.arr);
    int rank = atom_type(e->rearrange.arr).rank;
    host_bind(h, s->pat.at[0],
              (ArrLoc){a.mem, lmad_rearrange(h->cx, a.at, rank, e->rearrange.perm)});
}

static void reshape_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Type from = atom_type(e->reshape.arr), to = s->pat.at[0]->type;
    ArrLoc a = host_atom_loc(h, e->reshape.arr), r = a;
    if (!lmad_reshape(cx, a.at, from, to, &r.at)) {
        r = host_copied(h, e->loc, e->reshape.arr, NULL);
        r.at = lmad_permuted(cx, to, NULL);
    }
    host_bind(h, s->pat.at[0], r);
}

/* --- Fresh arrays ----------------------------------------------------------------------------- */

bool host_is_natural(const Host *h, Atom n)
{
    return ranges_le(h->known, atom_i64(0), n, 0);
}

void host_know_sizes(const Host *h, Ranges *ra)
{
    const Vars *sizes = &h->entry->entry->sizes;
    for (int i = 0; i < sizes->n; i++) {
        Atom n = atom_var(sizes->at[i]);
        ranges_type(ra, (Type){T_I64, 1, &n});
    }
}

static void check_that(Host *h, const Exp *e, Atom n, const char *cond, const char *msg)
{
    Texts args = {0};
    vec_push(h->cx->perm, &args, atom_c(n));
    host_op(h, (HostOp){.kind = H_ASSERT,
                        .loc = e->loc,
                        .text = cond,
                        .exp = e,
                        .site = plan_site(h->plan, e->loc, msg),
                        .args_i64 = args});
}

/* What the program computed is asserted to be a size where the program makes the array, but the
 * array may have been moved out of a map over nothing since then. */
static void check_size(Host *h, const Exp *e, Atom n)
{
    const char *c = atom_c(n);
    if (!host_is_natural(h, n))
        check_that(h, e, n, arena_printf(h->cx->perm, "%s >= 0", c), "negative size %ld");
    if (!ranges_le(h->known, n, atom_i64(MAX_SIZE), 0))
        check_that(h, e, n, arena_printf(h->cx->perm, "%s <= RT_MAX_SIZE", c),
                   "array of %ld elements is too large");
}

static void iota_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    if (prim_is_float(v->type.elem)) { /* the runtime counts in integers */
        cg_sequential(h, s);
        return;
    }
    check_size(h, e, e->iota.n);
    ArrLoc dst = host_fresh(h, v->base, v->type, NULL);
    host_op(h, (HostOp){.kind = H_IOTA,
                        .loc = e->loc,
                        .dst = dst,
                        .type = v->type.elem,
                        .atom = e->iota.start,
                        .atom2 = e->iota.stride,
                        .dims = dims_of(h->cx, v->type)});
    host_bind(h, v, dst);
}

static void replicate_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    Type t = atom_type(e->replicate.val);
    for (int k = 0; k < e->replicate.dims.n; k++)
        check_size(h, e, e->replicate.dims.at[k]);
    ArrLoc dst = host_fresh(h, v->base, v->type, NULL);
    host_bind(h, v, dst);
    if (t.rank == 0) {
        host_op(h, (HostOp){.kind = H_FILL,
                            .loc = e->loc,
                            .dst = dst,
                            .type = t.elem,
                            .atom = e->replicate.val,
                            .dims = dims_of(h->cx, v->type)});
        return;
    }
    ArrLoc val = host_atom_loc(h, e->replicate.val);
    ArrLoc src = {val.mem, lmad_repeat(h->cx, val.at, t.rank, v->type.rank - t.rank)};
    host_copy(h, e->loc, dst, src, v->type);
}

static void arraylit_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Var *v = s->pat.at[0];
    ArrLoc dst = host_fresh(h, v->base, v->type, NULL);
    host_bind(h, v, dst);
    const Atoms *elems = &e->arraylit.elems;
    if (elems->n == 0)
        return;
    if (e->arraylit.elem.rank == 0) {
        host_op(h, (HostOp){.kind = H_LITERAL,
                            .loc = e->loc,
                            .mem = dst.mem,
                            .type = v->type.elem,
                            .elems = *elems});
        return;
    }
    for (int i = 0; i < elems->n; i++) {
        const Sx *at = sx_const(cx, i);
        ArrLoc part = {dst.mem, lmad_rows(cx, dst.at, v->type.rank, &at, 1)};
        host_copy(h, e->loc, part, host_atom_loc(h, elems->at[i]), e->arraylit.elem);
    }
}

static void concat_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Var *v = s->pat.at[0];
    int d = e->concat.dim;
    ArrLoc dst = host_fresh(h, v->base, v->type, NULL);
    const Sx *at = sx_const(cx, 0);
    for (int i = 0; i < e->concat.arrs.n; i++) {
        Atom part = e->concat.arrs.at[i];
        Type t = atom_type(part);
        ArrLoc to = {dst.mem, {sx_mul(cx, at, dst.at.strides[d]), dst.at.strides}};
        host_copy(h, e->loc, to, host_atom_loc(h, part), t);
        at = sx_add(cx, at, sx_atom(cx, t.dims[d]));
        if (at->parts > SX_MANY_PARTS)
            at = host_let(h, "at", at);
    }
    host_bind(h, v, dst);
}

static void copy_stm(Host *h, const Stm *s)
{
    Atom a = s->exp->copy.arr;
    ArrLoc l = host_atom_loc(h, a);
    ArrLoc dst =
        host_fresh(h, s->pat.at[0]->base, s->pat.at[0]->type, kept_perm(h->cx, &l, atom_type(a)));
    host_copy(h, s->exp->loc, dst, l, atom_type(a));
    host_bind(h, s->pat.at[0], dst);
}

/* Is the copy worth its launch? Only on a GPU, when neighbouring threads would read from different
 * memory transactions (of 32 bytes), and not for arrays that caches hold anyway. The answer is
 * known at run time: a fresh bool variable. `fast`: the dimension that neighbouring threads walk
 * along. */
static Atom manifest_test(Host *h, const ArrLoc *l, Type t, int fast, Loc loc)
{
    enum { TRANSACTION = 32, SMALL = 64 * 1024 };
    Ctx *cx = h->cx;
    int bytes = prim_type_bytes[t.elem];
    const Sx *wide = sx_op(cx, SX_DIV, l->at.strides[fast], sx_const(cx, TRANSACTION / bytes));
    const Sx *big = sx_op(cx, SX_DIV, sx_product(cx, t.dims, t.rank), sx_const(cx, SMALL / bytes));
    const Sx *gpu = sx_sub(cx, sx_const(cx, 1), sx_size(cx, SIZE_IS_CPU));
    Var *score = var_new(cx, "worth", type_prim(T_I64), loc);
    Var *test = var_new(cx, "copied", type_prim(T_BOOL), loc);
    host_op(h, (HostOp){.kind = H_SX,
                        .loc = loc,
                        .var = score,
                        .sx = sx_mul(cx, gpu, sx_op(cx, SX_MIN, wide, big))});
    host_op(h, (HostOp){.kind = H_EXP,
                        .loc = loc,
                        .var = test,
                        .exp = exp_binop(cx, loc, OP_LT, atom_i64(0), atom_var(score))});
    return atom_var(test);
}

/* In one branch of a run-time choice: the variables of `to` take what is at `from`. */
static void set_loc(Host *h, HostOps *ops, const ArrLoc *to, const ArrLoc *from, int rank, Loc loc)
{
    HostOps *outer = h->ops;
    h->ops = ops;
    host_op(h, (HostOp){.kind = H_ALIAS, .mem = to->mem, .mem2 = from->mem});
    host_op(h,
            (HostOp){.kind = H_SX, .loc = loc, .var = to->at.offset->var, .sx = from->at.offset});
    for (int k = 0; k < rank; k++)
        host_op(h, (HostOp){.kind = H_SX,
                            .loc = loc,
                            .var = to->at.strides[k]->var,
                            .sx = from->at.strides[k]});
    h->ops = outer;
}

static const Sx *declared_i64(Host *h, const char *base, Loc loc)
{
    Var *v = var_new(h->cx, base, type_prim(T_I64), loc);
    host_op(h, (HostOp){.kind = H_DECLARE, .loc = loc, .var = v});
    return sx_var(h->cx, v);
}

/* MANIFEST is inserted for reading only (layout.c), so an array that already lies that way is not
 * copied, nor is one for which the copy would not pay: offset and strides are then variables. */
static void manifest_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Var *v = s->pat.at[0];
    int rank = v->type.rank;
    ArrLoc l = host_atom_loc(h, e->rearrange.arr);
    Lmad want = lmad_permuted(cx, v->type, e->rearrange.perm);
    want.offset = l.at.offset;
    if (lmad_eq(l.at, want, rank)) {
        host_bind(h, v, l);
        return;
    }
    HostOp op = {.kind = H_IF, .loc = e->loc};
    op.atom = manifest_test(h, &l, v->type, e->rearrange.perm[rank - 1], e->loc);
    const Sx *offset = declared_i64(h, "offset", e->loc);
    const Sx **strides = NEWN(cx->perm, const Sx *, rank);
    for (int k = 0; k < rank; k++)
        strides[k] = declared_i64(h, "stride", e->loc);
    ArrLoc r = {host_mem(h, v->base), {offset, strides}};
    HostOps *outer = h->ops;
    h->ops = &op.then_;
    ArrLoc copy = host_copied(h, e->loc, e->rearrange.arr, e->rearrange.perm);
    h->ops = outer;
    set_loc(h, &op.then_, &r, &copy, rank, e->loc);
    set_loc(h, &op.else_, &r, &l, rank, e->loc);
    r.mem->borrowed = true; /* perhaps another array's block: never written */
    host_op(h, op);
    host_bind(h, v, r);
}

void host_array_stm(Host *h, const Stm *s)
{
    Var *v = s->pat.at[0];
    switch ((int)s->exp->kind) { /* the array forms; host_stm handles the others */
    case E_ATOM: host_bind(h, v, host_atom_loc(h, s->exp->atom)); return;
    case E_INDEX: index_stm(h, s); return;
    case E_UPDATE: update_stm(h, s); return;
    case E_IOTA: iota_stm(h, s); return;
    case E_REPLICATE: replicate_stm(h, s); return;
    case E_SCRATCH: host_bind(h, v, host_fresh(h, v->base, v->type, NULL)); return;
    case E_ARRAYLIT: arraylit_stm(h, s); return;
    case E_CONCAT: concat_stm(h, s); return;
    case E_REARRANGE: rearrange_stm(h, s); return;
    case E_RESHAPE: reshape_stm(h, s); return;
    case E_COPY: copy_stm(h, s); return;
    case E_MANIFEST: manifest_stm(h, s); return;
    }
    ice(s->exp->loc, "%s is not an array form of the host", form_info[s->exp->kind].tag);
}
