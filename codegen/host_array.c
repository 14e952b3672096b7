/* Arrays at the host level. Where they lie was decided before (memory/): views are nothing here,
 * everything else is allocated and filled by the runtime's copies and fills. */
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
    for (int i = h->ops->n - 1; i >= 0 && i >= h->ops->n - 32; i--) { /* of several arrays, once */
        const HostOp *other = h->ops->at[i];
        if (other->kind == H_ASSERT && other->sx && sx_eq(other->sx, all))
            return;
    }
    Scalars sc = scalars_host(h);
    Out msg = {0};
    out_puts(&msg, "array of ");
    for (int k = 0; k < n; k++) {
        out_puts(&msg, k == 0 ? "" : " x ");
        out_puts(&msg, k < 8 ? "%ld" : "?");
        vec_push(cx->perm, &op.dims, dims[k]);
        if (k < 8)
            vec_push(cx->perm, &op.numbers, sc.atom(sc.env, dims[k]));
    }
    out_puts(&msg, " elements is too large");
    op.site = plan_site(h->plan, h->at, msg.text);
    out_free(&msg);
    host_op(h, op);
}

ArrLoc host_result(Host *h, const Var *v)
{
    Type t = v->type;
    ArrLoc l = {0};
    if (t.rank > 0)
        l = *host_loc(h, v);
    else
        l = (ArrLoc){host_mem(h, v->base), lmad_permuted(h->cx, t, NULL)};
    host_check_count(h, t.dims, t.rank, prim_type_bytes[t.elem]);
    host_alloc_mem(h, l.mem, bytes_of(h->cx, t));
    return l;
}

static Atoms dims_of(Ctx *cx, Type t)
{
    Atoms d = {0};
    for (int k = 0; k < t.rank; k++)
        vec_push(cx->perm, &d, t.dims[k]);
    return d;
}

static void copy_array(Host *h, Loc loc, ArrLoc dst, ArrLoc src, Type t)
{
    host_op(h, (HostOp){.kind = H_COPY,
                        .loc = loc,
                        .dst = dst,
                        .src = src,
                        .type = t.elem,
                        .dims = dims_of(h->cx, t)});
}

/* --- Elements -------------------------------------------------------------------------------- */

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
                        .cond = cond,
                        .exp = e,
                        .site = site,
                        .numbers = args});
}

static Lmad part_of(Host *h, Atom arr, const DimIndexes *at)
{
    return lmad_index(h->cx, host_atom_loc(h, arr).at, at);
}

static void index_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    check_bounds(h, e);
    if (v->type.rank == 0)
        host_op(h, (HostOp){.kind = H_READ,
                            .loc = e->loc,
                            .var = v,
                            .mem = host_atom_loc(h, e->index.arr).mem,
                            .sx = part_of(h, e->index.arr, &e->index.at).offset,
                            .type = v->type.elem});
}

static void update_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    check_bounds(h, e);
    Type t = atom_type(e->update.val);
    ArrLoc part = {host_atom_loc(h, e->update.arr).mem, part_of(h, e->update.arr, &e->update.at)};
    if (t.rank > 0)
        copy_array(h, e->loc, part, host_atom_loc(h, e->update.val), t);
    else
        host_op(h, (HostOp){.kind = H_WRITE,
                            .loc = e->loc,
                            .mem = part.mem,
                            .sx = part.at.offset,
                            .atom = e->update.val,
                            .type = t.elem});
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

static void check_that(Host *h, const Exp *e, const KExp *n, const KExp *cond, const char *msg)
{
    KExps numbers = {0};
    vec_push(h->cx->perm, &numbers, n);
    host_op(h, (HostOp){.kind = H_ASSERT,
                        .loc = e->loc,
                        .cond = cond,
                        .exp = e,
                        .site = plan_site(h->plan, e->loc, msg),
                        .numbers = numbers});
}

/* What the program computed is asserted to be a size where the program makes the array, but the
 * array may have been moved out of a map over nothing since then. */
static void check_size(Host *h, const Exp *e, Atom n)
{
    Arena *a = h->cx->perm;
    Scalars sc = scalars_host(h);
    const KExp *x = sc.atom(sc.env, n);
    if (!host_is_natural(h, n))
        check_that(h, e, x, kx_le(a, kx_int(a, 0), x), "negative size %ld");
    if (!ranges_le(h->known, n, atom_i64(MAX_SIZE), 0))
        check_that(h, e, x, kx_le(a, x, kx_int(a, MAX_SIZE)), "array of %ld elements is too large");
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
    ArrLoc dst = host_result(h, v);
    host_op(h, (HostOp){.kind = H_IOTA,
                        .loc = e->loc,
                        .dst = dst,
                        .type = v->type.elem,
                        .atom = e->iota.start,
                        .atom2 = e->iota.stride,
                        .dims = dims_of(h->cx, v->type)});
}

static void replicate_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    Type t = atom_type(e->replicate.val);
    for (int k = 0; k < e->replicate.dims.n; k++)
        check_size(h, e, e->replicate.dims.at[k]);
    ArrLoc dst = host_result(h, v);
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
    copy_array(h, e->loc, dst, src, v->type);
}

static void arraylit_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Var *v = s->pat.at[0];
    ArrLoc dst = host_result(h, v);
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
        copy_array(h, e->loc, part, host_atom_loc(h, elems->at[i]), e->arraylit.elem);
    }
}

static void concat_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = h->cx;
    Var *v = s->pat.at[0];
    int d = e->concat.dim;
    ArrLoc dst = host_result(h, v);
    const Sx *at = sx_const(cx, 0);
    for (int i = 0; i < e->concat.arrs.n; i++) {
        Atom part = e->concat.arrs.at[i];
        Type t = atom_type(part);
        ArrLoc to = {dst.mem, {sx_mul(cx, at, dst.at.strides[d]), dst.at.strides}};
        copy_array(h, e->loc, to, host_atom_loc(h, part), t);
        at = sx_add(cx, at, sx_atom(cx, t.dims[d]));
        if (at->parts > SX_MANY_PARTS)
            at = host_let(h, "at", at);
    }
}

static void copy_stm(Host *h, const Stm *s)
{
    Var *v = s->pat.at[0];
    ArrLoc dst = host_result(h, v);
    copy_array(h, s->exp->loc, dst, host_atom_loc(h, s->exp->copy.arr), v->type);
}

/* Is the copy worth its launch? A bool variable, set now. */
static Atom manifest_test(Host *h, const ArrLoc *l, Type t, int fast, Loc loc)
{
    Ctx *cx = h->cx;
    Var *score = var_new(cx, "worth", type_prim(T_I64), loc);
    Var *test = var_new(cx, "copied", type_prim(T_BOOL), loc);
    host_op(
        h,
        (HostOp){.kind = H_SX, .loc = loc, .var = score, .sx = mem_copy_pays(cx, l->at, t, fast)});
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

static void declare(Host *h, const Sx *x, Loc loc)
{
    host_op(h, (HostOp){.kind = H_DECLARE, .loc = loc, .var = x->var});
}

/* Either a copy or the array itself, as a test at run time says. */
static void manifest_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const int *perm = e->rearrange.perm;
    int rank = v->type.rank;
    ArrLoc l = host_atom_loc(h, e->rearrange.arr), r = *host_loc(h, v);
    if (r.mem == l.mem)
        return;
    HostOp op = {.kind = H_IF, .loc = e->loc};
    op.atom = manifest_test(h, &l, v->type, perm[rank - 1], e->loc);
    declare(h, r.at.offset, e->loc);
    for (int k = 0; k < rank; k++)
        declare(h, r.at.strides[k], e->loc);
    HostOps *outer = h->ops;
    h->ops = &op.then_;
    host_check_count(h, v->type.dims, rank, prim_type_bytes[v->type.elem]);
    ArrLoc copy = {host_alloc(h, v->base, bytes_of(h->cx, v->type)),
                   lmad_permuted(h->cx, v->type, perm)};
    copy_array(h, e->loc, copy, l, v->type);
    h->ops = outer;
    set_loc(h, &op.then_, &r, &copy, rank, e->loc);
    set_loc(h, &op.else_, &r, &l, rank, e->loc);
    host_op(h, op);
}

void host_array_stm(Host *h, const Stm *s)
{
    switch ((int)s->exp->kind) { /* the array forms; host_stm handles the others */
    case E_INDEX: index_stm(h, s); return;
    case E_UPDATE: update_stm(h, s); return;
    case E_IOTA: iota_stm(h, s); return;
    case E_REPLICATE: replicate_stm(h, s); return;
    case E_SCRATCH: host_result(h, s->pat.at[0]); return;
    case E_ARRAYLIT: arraylit_stm(h, s); return;
    case E_CONCAT: concat_stm(h, s); return;
    case E_ATOM:
    case E_REARRANGE:
    case E_RESHAPE: return; /* views */
    case E_COPY: copy_stm(h, s); return;
    case E_MANIFEST: manifest_stm(h, s); return;
    }
    ice(s->exp->loc, "%s is not an array form of the host", form_info[s->exp->kind].tag);
}
