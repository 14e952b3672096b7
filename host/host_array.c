/* Arrays at the host level. Where they lie was decided before (memory/): views are nothing here,
 * everything else is allocated and filled by the runtime's copies and fills. */
#include "host/host_walk.h"
#include "ir/ranges.h"
#include "ir/stops.h"

#include "base/intern.h"

static const KExp *bytes_of(Ctx *cx, Type t)
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

void host_check_count(PlanBuild *pb, const Atom *dims, int n, int bytes)
{
    Ctx *cx = pb->cx;
    if (!may_be_too_large(dims, n, bytes))
        return;
    const KExp *all = sx_mul(cx, sx_product(cx, dims, n), sx_const(cx, bytes));
    HostOp op = {.kind = H_LIMIT, .loc = pb->at, .exp = all};
    for (int i = pb->ops->n - 1; i >= 0 && i >= pb->ops->n - 32;
         i--) { /* of several arrays, once */
        const HostOp *other = pb->ops->at[i];
        if (other->kind == H_LIMIT && kx_same(other->exp, all))
            return;
    }
    Scalars sc = scalars_host(pb->cx->perm, pb->known);
    for (int k = 0; k < n; k++) {
        vec_push(cx->perm, &op.dims, dims[k]);
        if (k < MOST_STOP_NUMBERS)
            vec_push(cx->perm, &op.numbers, sc.atom(sc.env, dims[k]));
    }
    op.site = plan_site(pb->plan, pb->at, stop_too_large(cx->perm, n));
    pb_op(pb, op);
}

ArrLoc host_result(PlanBuild *pb, const Var *v)
{
    Type t = v->type;
    ArrLoc l = {0};
    if (t.rank > 0)
        l = *pb_loc(pb, v);
    else
        l = (ArrLoc){pb_mem(pb, v->base), lmad_permuted(pb->cx, t, NULL)};
    host_check_count(pb, t.dims, t.rank, prim_type_bytes[t.elem]);
    pb_alloc_mem(pb, l.mem, bytes_of(pb->cx, t));
    return l;
}

static Atoms dims_of(Ctx *cx, Type t)
{
    Atoms d = {0};
    for (int k = 0; k < t.rank; k++)
        vec_push(cx->perm, &d, t.dims[k]);
    return d;
}

static void copy_array(PlanBuild *pb, Loc loc, ArrLoc dst, ArrLoc src, Type t)
{
    pb_op(pb, (HostOp){.kind = H_COPY,
                       .loc = loc,
                       .dst = dst,
                       .src = src,
                       .type = t.elem,
                       .dims = dims_of(pb->cx, t)});
}

/* --- Elements -------------------------------------------------------------------------------- */

static void check_bounds(PlanBuild *pb, const Exp *e)
{
    Scalars sc = scalars_host(pb->cx->perm, pb->known);
    const KExp *cond = index_check(&sc, e);
    if (!cond)
        return;
    KExps args;
    int site = index_site(&sc, pb->plan, e, &args);
    pb_op(pb,
          (HostOp){.kind = H_ASSERT, .loc = e->loc, .exp = cond, .site = site, .numbers = args});
}

static Lmad part_of(PlanBuild *pb, Atom arr, const DimIndexes *at)
{
    return lmad_index(pb->cx, pb_loc(pb, arr.var)->at, at);
}

static void index_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    check_bounds(pb, e);
    if (v->type.rank == 0)
        pb_op(pb, (HostOp){.kind = H_READ,
                           .loc = e->loc,
                           .var = v,
                           .mem = pb_loc(pb, e->index.arr.var)->mem,
                           .exp = part_of(pb, e->index.arr, &e->index.at).offset,
                           .type = v->type.elem});
}

static bool lies_there(const ArrLoc *l, const ArrLoc *there, int rank)
{
    return l->mem == there->mem && lmad_eq(l->at, there->at, rank);
}

static void update_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    check_bounds(pb, e);
    Type t = atom_type(e->update.val);
    ArrLoc part = {pb_loc(pb, e->update.arr.var)->mem, part_of(pb, e->update.arr, &e->update.at)};
    if (t.rank > 0 && lies_there(pb_loc(pb, e->update.val.var), &part, t.rank))
        return;
    if (t.rank > 0)
        copy_array(pb, e->loc, part, *pb_loc(pb, e->update.val.var), t);
    else
        pb_op(pb, (HostOp){.kind = H_WRITE,
                           .loc = e->loc,
                           .mem = part.mem,
                           .exp = part.at.offset,
                           .exp2 = host_atom(pb->cx->perm, e->update.val),
                           .type = t.elem});
}

/* --- Fresh arrays ----------------------------------------------------------------------------- */

static void check_that(PlanBuild *pb, Loc loc, const KExp *n, const KExp *cond, const char *msg)
{
    KExps numbers = {0};
    vec_push(pb->cx->perm, &numbers, n);
    pb_op(pb, (HostOp){.kind = H_ASSERT,
                       .loc = loc,
                       .exp = cond,
                       .site = plan_site(pb->plan, loc, msg),
                       .numbers = numbers});
}

/* That n is no negative number the program asserts itself, where it makes the array; the array may
 * have been moved out of a map over nothing since then, and is empty if n is negative (ir.h). */
static void check_size(PlanBuild *pb, Loc loc, Atom n)
{
    Scalars sc = scalars_host(pb->cx->perm, pb->known);
    const KExp *x = sc.atom(sc.env, n);
    if (!ranges_le(pb->known, n, atom_i64(MAX_SIZE), 0))
        check_that(pb, loc, x, kx_le(pb->cx->perm, x, kx_int(pb->cx->perm, MAX_SIZE)),
                   stop_text[STOP_TOO_LARGE]);
}

/* Is v never made? That it is not too large is checked all the same, since kernels number its
 * elements. */
static bool is_computed(PlanBuild *pb, const Var *v)
{
    bool computed = pb_loc(pb, v)->mem->computed;
    if (computed)
        host_check_count(pb, v->type.dims, v->type.rank, prim_type_bytes[v->type.elem]);
    return computed;
}

static void iota_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    check_size(pb, e->loc, e->iota.n);
    if (is_computed(pb, v))
        return;
    ArrLoc dst = host_result(pb, v);
    pb_op(pb, (HostOp){.kind = H_IOTA,
                       .loc = e->loc,
                       .dst = dst,
                       .type = v->type.elem,
                       .exp = host_atom(pb->cx->perm, e->iota.start),
                       .exp2 = host_atom(pb->cx->perm, e->iota.stride),
                       .dims = dims_of(pb->cx, v->type)});
}

static void replicate_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    Type t = atom_type(e->replicate.val);
    const Atoms *dims = &e->replicate.dims;
    for (int k = 0; k < dims->n; k++)
        check_size(pb, e->loc, dims->at[k]);
    if (is_computed(pb, v))
        return;
    ArrLoc dst = host_result(pb, v);
    if (t.rank == 0) {
        pb_op(pb, (HostOp){.kind = H_FILL,
                           .loc = e->loc,
                           .dst = dst,
                           .type = t.elem,
                           .exp = host_atom(pb->cx->perm, e->replicate.val),
                           .dims = dims_of(pb->cx, v->type)});
        return;
    }
    ArrLoc val = *pb_loc(pb, e->replicate.val.var);
    ArrLoc src = {val.mem, lmad_repeat(pb->cx, val.at, t.rank, v->type.rank - t.rank)};
    copy_array(pb, e->loc, dst, src, v->type);
}

static void rows_stm(PlanBuild *pb, const Stm *s)
{
    Var *v = s->pat.at[0];
    pb_op(pb, (HostOp){.kind = H_ROWS,
                       .loc = s->exp->loc,
                       .dst = *pb_loc(pb, v),
                       .type = v->type.elem,
                       .ranks = s->exp,
                       .dims = dims_of(pb->cx, v->type)});
}

static void arraylit_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = pb->cx;
    Var *v = s->pat.at[0];
    ArrLoc dst = host_result(pb, v);
    const Atoms *elems = &e->arraylit.elems;
    if (elems->n == 0)
        return;
    if (e->arraylit.elem.rank == 0) {
        HostOp op = {.kind = H_LITERAL, .loc = e->loc, .mem = dst.mem, .type = v->type.elem};
        const KExp *bytes[256] = {0}; /* long texts have few different elements */
        for (int i = 0; i < elems->n; i++) {
            Atom x = elems->at[i];
            bool known = !x.var && prim_type_bytes[x.c.type] == 1;
            const KExp **at = known ? &bytes[x.c.i & 255] : NULL;
            const KExp *elem = at && *at ? *at : host_atom(cx->perm, x);
            if (at)
                *at = elem;
            vec_push(cx->perm, &op.elems, elem);
        }
        pb_op(pb, op);
        return;
    }
    for (int i = 0; i < elems->n; i++) {
        const KExp *at = sx_const(cx, i);
        ArrLoc part = {dst.mem, lmad_rows(cx, dst.at, v->type.rank, &at, 1)};
        copy_array(pb, e->loc, part, *pb_loc(pb, elems->at[i].var), e->arraylit.elem);
    }
}

static void concat_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = pb->cx;
    Var *v = s->pat.at[0];
    int d = e->concat.dim;
    ArrLoc dst = host_result(pb, v);
    const KExp *at = sx_const(cx, 0);
    for (int i = 0; i < e->concat.arrs.n; i++) {
        Atom part = e->concat.arrs.at[i];
        Type t = atom_type(part);
        ArrLoc to = {dst.mem, {sx_mul(cx, at, dst.at.strides[d]), dst.at.strides}};
        copy_array(pb, e->loc, to, *pb_loc(pb, part.var), t);
        at = sx_add(cx, at, sx_atom(cx, t.dims[d]));
        if (at->parts > SX_MANY_PARTS)
            at = pb_let(pb, "at", at);
    }
}

static void copy_stm(PlanBuild *pb, const Stm *s)
{
    Var *v = s->pat.at[0];
    ArrLoc dst = host_result(pb, v);
    copy_array(pb, s->exp->loc, dst, *pb_loc(pb, s->exp->copy.arr.var), v->type);
}

/* Is the copy worth its launch? A bool variable, set now. */
static const KExp *manifest_test(PlanBuild *pb, const ArrLoc *l, Type t, int fast, Loc loc)
{
    Ctx *cx = pb->cx;
    Arena *a = cx->perm;
    Var *score = var_new(cx, "worth", type_prim(T_I64), loc);
    Var *test = var_new(cx, "copied", type_prim(T_BOOL), loc);
    pb_op(pb,
          (HostOp){
              .kind = H_EXP, .loc = loc, .var = score, .exp = mem_copy_pays(cx, l->at, t, fast)});
    pb_op(pb, (HostOp){.kind = H_EXP,
                       .loc = loc,
                       .var = test,
                       .exp = kx_prim2(a, OP_LT, kx_int(a, 0), kx_host(a, score))});
    return kx_host(a, test);
}

/* In one branch of a run-time choice: the variables of `to` take what is at `from`. */
static void set_loc(PlanBuild *pb, HostOps *ops, const ArrLoc *to, const ArrLoc *from, int rank,
                    Loc loc)
{
    HostOps *outer = pb->ops;
    pb->ops = ops;
    pb_op(pb, (HostOp){.kind = H_ALIAS, .mem = to->mem, .mem2 = from->mem});
    pb_op(pb,
          (HostOp){.kind = H_EXP, .loc = loc, .var = to->at.offset->host, .exp = from->at.offset});
    for (int k = 0; k < rank; k++)
        pb_op(pb, (HostOp){.kind = H_EXP,
                           .loc = loc,
                           .var = to->at.strides[k]->host,
                           .exp = from->at.strides[k]});
    pb->ops = outer;
}

static void declare(PlanBuild *pb, const KExp *x, Loc loc)
{
    pb_op(pb, (HostOp){.kind = H_DECLARE, .loc = loc, .var = x->host});
}

/* Either a copy or the array itself, as a test at run time says. */
static void manifest_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const int *perm = e->rearrange.perm;
    int rank = v->type.rank;
    ArrLoc l = *pb_loc(pb, e->rearrange.arr.var), r = *pb_loc(pb, v);
    if (r.mem == l.mem)
        return;
    HostOp op = {.kind = H_IF, .loc = e->loc};
    op.exp = manifest_test(pb, &l, v->type, perm[rank - 1], e->loc);
    declare(pb, r.at.offset, e->loc);
    for (int k = 0; k < rank; k++)
        declare(pb, r.at.strides[k], e->loc);
    HostOps *outer = pb->ops;
    pb->ops = &op.then_;
    host_check_count(pb, v->type.dims, rank, prim_type_bytes[v->type.elem]);
    ArrLoc copy = {pb_alloc(pb, v->base, bytes_of(pb->cx, v->type)),
                   lmad_permuted(pb->cx, v->type, perm)};
    copy_array(pb, e->loc, copy, l, v->type);
    pb->ops = outer;
    set_loc(pb, &op.then_, &r, &copy, rank, e->loc);
    set_loc(pb, &op.else_, &r, &l, rank, e->loc);
    pb_op(pb, op);
}

void host_array_stm(PlanBuild *pb, const Stm *s)
{
    switch ((int)s->exp->kind) { /* the array forms; host_stm handles the others */
    case E_INDEX: index_stm(pb, s); return;
    case E_UPDATE: update_stm(pb, s); return;
    case E_IOTA: iota_stm(pb, s); return;
    case E_GATHER:
    case E_ROWS:
    case E_PARTED: rows_stm(pb, s); return;
    case E_REPLICATE: replicate_stm(pb, s); return;
    case E_SCRATCH: host_result(pb, s->pat.at[0]); return;
    case E_ARRAYLIT: arraylit_stm(pb, s); return;
    case E_CONCAT: concat_stm(pb, s); return;
    case E_ATOM:
    case E_REARRANGE:
    case E_RESHAPE: return; /* views */
    case E_COPY: copy_stm(pb, s); return;
    case E_MANIFEST: manifest_stm(pb, s); return;
    }
    ice(s->exp->loc, "%s is not an array form of the host", form_info[s->exp->kind].tag);
}
