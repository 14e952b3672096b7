/* Building the SOAC that two others are fused into:
 *
 *     let ys = map n (xs) f                 let (r, ys, zs) = redomap n (xs, ws) op nes
 *     let (r, zs) = redomap n (ys, ws) ==>      \(x, w) -> let y = f x
 *                     op nes g                             let (a, z) = g y w
 *                                                          in (a, y, z)
 * (ys only if something else needs it). Reduce and scan are taken as redomap and scanomap with the
 * identity function, and become reduce and scan again if that is what they still are. */
#include "ir/passes/fuse_merge.h"

Job fuse_job(const Exp *e)
{
    if (exp_is(e, F_FOLD))
        return JOB_REDUCE;
    if (exp_is(e, F_SCAN))
        return JOB_SCAN;
    if (exp_is(e, F_BINS))
        return JOB_HIST;
    return exp_is(e, F_DESTS) ? JOB_SCATTER : JOB_MAP;
}

Lambda *fuse_fn_of(Ctx *cx, const Exp *e)
{
    if (e->soac.fn)
        return e->soac.fn;
    Vars params = {0};
    Atoms res = {0};
    int n = e->soac.nes.n;
    for (int i = 0; i < n; i++) {
        Var *v = var_like(cx, e->soac.op->params.at[n + i]);
        vec_push(cx->perm, &params, v);
        vec_push(cx->perm, &res, atom_var(v));
    }
    Bld bl = bld_new(cx);
    return lambda_new(cx, params, bld_body(&bl, res));
}

/* Inputs of the merged SOAC: each array once. */
typedef struct {
    Ctx *cx;
    Atoms arrs;
    Vars params;
} Inputs;

static Atom input(Inputs *in, Atom arr, const Var *param)
{
    for (int i = 0; i < in->arrs.n; i++)
        if (atom_eq(in->arrs.at[i], arr))
            return atom_var(in->params.at[i]);
    Var *v = var_like(in->cx, param);
    vec_push(in->cx->perm, &in->arrs, arr);
    vec_push(in->cx->perm, &in->params, v);
    return atom_var(v);
}

static int mapped_out_index(const Stm *s, Atom arr)
{
    for (int i = fuse_n_red(s->exp); arr.var && i < s->pat.n; i++)
        if (s->pat.at[i] == arr.var)
            return i;
    return -1;
}

/* acc.., x.. of one operator within the combined one: picks from `from` as many as it takes. */
static Atoms op_args(Ctx *cx, const Vars *params, int from, int n, int total)
{
    Atoms args = {0};
    for (int i = 0; i < n; i++)
        vec_push(cx->perm, &args, atom_var(params->at[from + i]));
    for (int i = 0; i < n; i++)
        vec_push(cx->perm, &args, atom_var(params->at[total + from + i]));
    return args;
}

/* \(a1.., a2.., x1.., x2..) -> (op1 a1.. x1.., op2 a2.. x2..) */
static Lambda *both_ops(Ctx *cx, const Exp *e1, const Exp *e2)
{
    int n1 = fuse_n_red(e1), n2 = fuse_n_red(e2);
    if (!n1 || !n2)
        return n1 ? e1->soac.op : e2->soac.op;
    Vars params = {0};
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < n1; i++)
            vec_push(cx->perm, &params, var_like(cx, e1->soac.op->params.at[half * n1 + i]));
        for (int i = 0; i < n2; i++)
            vec_push(cx->perm, &params, var_like(cx, e2->soac.op->params.at[half * n2 + i]));
    }
    Bld bl = bld_new(cx);
    Atoms args1 = op_args(cx, &params, 0, n1, n1 + n2),
          args2 = op_args(cx, &params, n1, n2, n1 + n2);
    Atoms res = bld_inline_lambda(&bl, e1->soac.op, &args1);
    Atoms res2 = bld_inline_lambda(&bl, e2->soac.op, &args2);
    vec_append(cx->perm, &res, &res2);
    return lambda_new(cx, params, bld_body(&bl, res));
}

static bool is_identity(const Lambda *l)
{
    if (l->body->stms.n || l->body->res.n != l->params.n)
        return false;
    for (int i = 0; i < l->params.n; i++)
        if (l->body->res.at[i].var != l->params.at[i])
            return false;
    return true;
}

static ExpKind kind_of(Job job, const Lambda *fn, int n_red)
{
    bool plain = is_identity(fn) && fn->params.n == n_red;
    switch (job) {
    case JOB_MAP: return E_MAP;
    case JOB_REDUCE: return plain ? E_REDUCE : E_REDOMAP;
    case JOB_SCAN: return plain ? E_SCAN : E_SCANOMAP;
    case JOB_SCATTER: return E_SCATTER;
    case JOB_HIST: return E_HIST;
    }
    return E_MAP;
}

static void push_range(Ctx *cx, Atoms *to, const Atoms *from, int beg, int end)
{
    for (int i = beg; i < end; i++)
        vec_push(cx->perm, to, from->at[i]);
}

/* The function begins with that of e, which is extended if it is the caller's. Returns e's results.
 */
static Atoms begin_with(Inputs *in, Bld *bl, const Exp *e, bool own)
{
    const Lambda *f = fuse_fn_of(in->cx, e);
    if (own && e->soac.fn) {
        in->arrs = e->soac.arrs;
        in->params = f->params;
        bl->stms = f->body->stms;
        return f->body->res;
    }
    Atoms args = {0};
    for (int i = 0; i < e->soac.arrs.n; i++)
        vec_push(in->cx->perm, &args, input(in, e->soac.arrs.at[i], f->params.at[i]));
    return bld_inline_lambda(bl, f, &args);
}

Stm fuse_merge(Ctx *cx, const Stm *s1, bool own, const Stm *s2, const VarSet *keep)
{
    const Exp *e1 = s1->exp, *e2 = s2->exp;
    const Lambda *f2 = fuse_fn_of(cx, e2);
    int n1 = fuse_n_red(e1), n2 = fuse_n_red(e2);
    Inputs in = {.cx = cx};
    Bld bl = bld_new(cx);
    Atoms args2 = {0}, r1 = begin_with(&in, &bl, e1, own);
    for (int i = 0; i < e2->soac.arrs.n; i++) {
        int k = mapped_out_index(s1, e2->soac.arrs.at[i]);
        Atom a = k >= 0 ? r1.at[k] : input(&in, e2->soac.arrs.at[i], f2->params.at[i]);
        vec_push(cx->perm, &args2, a);
    }
    Atoms r2 = bld_inline_lambda(&bl, f2, &args2), res = {0};
    Vars pat = {0};
    push_range(cx, &res, &r1, 0, n1);
    push_range(cx, &res, &r2, 0, n2);
    for (int i = 0; i < n1; i++)
        vec_push(cx->perm, &pat, s1->pat.at[i]);
    for (int i = 0; i < n2; i++)
        vec_push(cx->perm, &pat, s2->pat.at[i]);
    for (int i = n1; i < s1->pat.n; i++)
        if (varset_has(keep, s1->pat.at[i])) {
            vec_push(cx->perm, &pat, s1->pat.at[i]);
            vec_push(cx->perm, &res, r1.at[i]);
        }
    push_range(cx, &res, &r2, n2, r2.n);
    for (int i = n2; i < s2->pat.n; i++)
        vec_push(cx->perm, &pat, s2->pat.at[i]);

    Job job = fuse_job(e1) == JOB_MAP ? fuse_job(e2) : fuse_job(e1);
    Exp *e = exp_new(cx, E_MAP, e2->loc);
    e->attrs = e2->attrs;
    e->soac.width = e2->soac.width;
    e->soac.arrs = in.arrs;
    e->soac.op = both_ops(cx, e1, e2);
    vec_append(cx->perm, &e->soac.nes, &e1->soac.nes);
    vec_append(cx->perm, &e->soac.nes, &e2->soac.nes);
    e->soac.comm = (!n1 || e1->soac.comm) && (!n2 || e2->soac.comm) && n1 + n2 > 0;
    e->soac.dests = e2->soac.dests;
    e->soac.fn = lambda_new(cx, in.params, bld_body(&bl, res));
    e->kind = kind_of(job, e->soac.fn, n1 + n2);
    if (!exp_is(e, F_FN))
        e->soac.fn = NULL;
    return (Stm){pat, e};
}

bool fuse_keeps_rows(const Exp *view)
{
    if (view->kind == E_REARRANGE)
        return view->rearrange.perm[0] == 0;
    if (view->kind != E_RESHAPE || view->reshape.dims.n < 2)
        return false;
    Type t = atom_type(view->reshape.arr);
    return t.rank > 1 && atom_eq(t.dims[0], view->reshape.dims.at[0]);
}

/* The view of a row that is a row of the view. */
static Exp *row_view(Ctx *cx, const Exp *view, Atom row)
{
    if (view->kind == E_REARRANGE) {
        int rank = atom_type(row).rank, *perm = NEWN(cx->perm, int, rank);
        for (int d = 0; d < rank; d++)
            perm[d] = view->rearrange.perm[d + 1] - 1;
        return exp_rearrange(cx, view->loc, perm, row);
    }
    Exp *r = exp_new(cx, E_RESHAPE, view->loc);
    r->reshape.arr = row;
    push_range(cx, &r->reshape.dims, &view->reshape.dims, 1, view->reshape.dims.n);
    return r;
}

Exp *fuse_through_view(Ctx *cx, const Exp *e, int k, const Exp *view)
{
    Atom arr = exp_view_of(view);
    const Lambda *f = fuse_fn_of(cx, e);
    Bld bl = bld_new(cx);
    Vars params = {0};
    Atoms args = {0};
    for (int i = 0; i < f->params.n; i++) {
        Var *v = var_like(cx, f->params.at[i]);
        if (i == k)
            v = var_new(cx, v->base, type_row(atom_type(arr)), v->loc);
        vec_push(cx->perm, &params, v);
        vec_push(cx->perm, &args, atom_var(v));
    }
    args.at[k] = bld_exp(&bl, f->params.at[k]->base, row_view(cx, view, args.at[k]));
    Atoms res = bld_inline_lambda(&bl, f, &args);
    Exp *r = exp_new(cx, e->kind, e->loc);
    *r = *e;
    r->soac.arrs = (Atoms){0};
    vec_append(cx->perm, &r->soac.arrs, &e->soac.arrs);
    r->soac.arrs.at[k] = arr;
    r->soac.fn = lambda_new(cx, params, bld_body(&bl, res));
    r->kind = kind_with_fn(r->kind);
    return r;
}
