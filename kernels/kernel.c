/* The kernel builder: parameters are found while the text is made. */
#include "kernels/kernel.h"

#include "common/policy.h"
#include "kir/facts/verify.h"
#include "kir/passes/columns.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

#include <string.h>

static const char is_param[] = "param";

/* A variable of the prologue, under its plain name. */
static const KExp *prologue_var(const KGen *kg, const char *name, PrimType t)
{
    KVar *v = NEW(kg->cx->perm, KVar);
    *v = (KVar){.name = name, .type = ktype(t)};
    return kx_var(kg->cx->perm, v);
}

static bool kg_is_host(KGen *kg, Atom a)
{
    return !a.var || !varmap_get(kg->vars, a.var) || varmap_get(kg->params_of, a.var);
}

static bool leaf_is_host(void *env, const KExp *leaf)
{
    return leaf->kind == KE_HOST && kg_is_host(env, atom_var((Var *)(uintptr_t)leaf->host));
}

KGen *kg_begin(PlanBuild *pb, const char *kind, const Exp *seg, KStms *stms)
{
    KGen *kg = NEW(pb->cx->perm, KGen);
    Arena *a = pb->cx->perm;
    *kg = (KGen){.pb = pb, .cx = pb->cx, .seg = seg, .kind = kind, .stms = stms, .kb = kb_new(a)};
    kg->arrs = varmap_new(a);
    kg->vars = varmap_new(a);
    kg->params_of = varmap_new(a);
    kg->results = varmap_new(a);
    kg->blocks = ptrmap_new(a);
    kg->hints = varmap_new(a);
    kg->early = varmap_new(a);
    kg->unread = varmap_new(a);
    kg->known = ranges_new(pb->cx, varmap_new(a));
    kg->bounds =
        sx_bounds_new(pb->cx, sx_facts_new(pb->cx, kg->known, SX_MAY_WRAP), leaf_is_host, kg);
    pb_know_sizes(pb, kg->known);
    kg->group_size = sx_size(pb->cx, SIZE_GROUP_SIZE);
    kg->stopped = prologue_var(kg, "stopped", T_BOOL);
    kg->lid = prologue_var(kg, "lid", T_I64);
    vec_push(a, &kg->params, (KParam){.kind = KP_FAILURE, .name = "failure"});
    return kg;
}

void kg_stms(KGen *kg, const Body *b)
{
    kg->stms(kg, b);
}

/* --- Scalars ------------------------------------------------------------------------------- */

/* The same code may be made twice: only the first variable gets the plain name. */
KVar *kg_bind(KGen *kg, const Var *v)
{
    KVar *kv = NEW(kg->cx->perm, KVar);
    bool again = varmap_get(kg->vars, v) != NULL;
    *kv = (KVar){.name = again ? kb_name(kg->kb, v->base) : var_c_name(v),
                 .type = ktype(v->type.elem)};
    varmap_put(kg->vars, v, kv);
    varmap_del(kg->params_of, v);
    return kv;
}

/* Is there a variable further out that takes v's value? It is v from here on. */
static bool takes(KGen *kg, const Var *v, const KExp *x)
{
    KVar *r = varmap_get(kg->results, v);
    if (!r)
        return false;
    varmap_put(kg->vars, v, r);
    if (x)
        kb_set(kg->kb, r, x);
    return true;
}

void kg_let(KGen *kg, const Var *v, const KExp *x)
{
    if (!takes(kg, v, x))
        kb_let_var(kg->kb, kg_bind(kg, v), x);
}

void kg_var(KGen *kg, const Var *v, const KExp *init)
{
    if (!takes(kg, v, init))
        kb_var_var(kg->kb, kg_bind(kg, v), init);
}

void kg_set(KGen *kg, const Var *v, const KExp *x)
{
    kb_set(kg->kb, varmap_get(kg->vars, v), x);
}

static KVar *need_scalar(KGen *kg, const Var *v)
{
    KVar *kv = varmap_get(kg->vars, v);
    if (kv)
        return kv;
    if (v->type.rank != 0)
        ice(v->loc, "array %s used as a scalar", var_text(v));
    kv = kg_bind(kg, v);
    KParam p = {.kind = KP_SCALAR, .name = kv->name, .var = kv, .type = v->type.elem};
    p.value = kx_host(kg->cx->perm, v);
    vec_push(kg->cx->perm, &kg->params, p);
    varmap_put(kg->params_of, v, is_param);
    return kv;
}

const KExp *kg_atom(KGen *kg, Atom a)
{
    if (a.var)
        return kg_of(kg, need_scalar(kg, a.var));
    return kx_const(kg->cx->perm, a.c);
}

const KExp *kg_sx(KGen *kg, Atom a)
{
    if (a.var)
        need_scalar(kg, a.var);
    return sx_atom(kg->cx, a);
}

const KExp *kg_sx_of(KGen *kg, const KExp *x)
{
    return x->kind == KE_CONST || x->kind == KE_VAR ? x : kb_let(kg->kb, "at", x);
}

static const KExp *scalars_atom(void *env, Atom a)
{
    return kg_atom(env, a);
}

Scalars kg_scalars(KGen *kg)
{
    return (Scalars){kg->cx->perm, scalars_atom, kg, kg->known};
}

bool kg_divides_safely(KGen *kg, const Exp *e)
{
    if (e->kind != E_PRIM || e->prim.type != T_I64 ||
        (e->prim.op != OP_QUOT && e->prim.op != OP_REM))
        return false;
    Atom y = e->prim.args.at[1];
    return y.var && kg_is_host(kg, y) && ranges_le(kg->pb->known, atom_i64(1), y, 0);
}

const KExp *kg_scalar(KGen *kg, const Exp *e)
{
    Scalars sc = kg_scalars(kg);
    if (kg_divides_safely(kg, e)) { /* which is said once more: 32 bits are then seen to do */
        Arena *a = kg->cx->perm;
        const KExp *y = kx_prim2(a, OP_MAX, kg_atom(kg, e->prim.args.at[1]), kg_int(kg, 1));
        return kx_prim2(a, e->prim.op, kg_atom(kg, e->prim.args.at[0]), y);
    }
    return scalar_exp(&sc, e);
}

/* --- Sizes --------------------------------------------------------------------------------- */

const KExp *kg_at(KGen *kg, const KExp *sx)
{
    Arena *a = kg->cx->perm;
    if (sx->kind == KE_HOST)
        return kg_of(kg, need_scalar(kg, sx->host));
    if (sx->kind == KE_VAR)
        return kg_of(kg, sx->var);
    if (sx->kind == KE_SIZE)
        ice(kg->at, "a size that only the host knows, inside a kernel");
    if (sx->n == 0)
        return sx;
    const KExp *x = kg_at(kg, sx_left(sx)), *y = kg_at(kg, sx_right(sx));
    if (sx->kind == KE_SELECT)
        return kx_select(a, kx_ne(a, kg_at(kg, sx_cond(sx)), kg_int(kg, 0)), x, y);
    if (sx->kind == KE_CEILDIV)
        return kg_quot(kg, kg_sub(kg, kg_add(kg, x, y), kg_int(kg, 1)), y);
    return kx_exact(a, sx->op, x, y);
}

static KVar *kg_param_sx(KGen *kg, const char *base, const KExp *value)
{
    for (int i = 0; i < kg->params.n; i++) {
        const KParam *p = &kg->params.at[i];
        if (p->kind == KP_SCALAR && p->type == T_I64 && kx_same(p->value, value))
            return p->var;
    }
    KParam p = {.kind = KP_SCALAR, .type = T_I64, .value = value};
    p.var = kb_var_new(kg->kb, base, ktype(T_I64));
    p.name = p.var->name;
    vec_push(kg->cx->perm, &kg->params, p);
    return p.var;
}

static void need_leaf(void *env, const KExp *x)
{
    if (x->kind == KE_HOST)
        need_scalar(env, x->host);
}

const KExp *kg_host_sx(KGen *kg, const KExp *sx)
{
    if (!sx_is_polynomial(sx))
        return kg_sx_of(kg, kg_of(kg, kg_param_sx(kg, "size", sx)));
    kexp_visit(sx, need_leaf, kg);
    return sx;
}

const KExp *kg_host(KGen *kg, const KExp *sx)
{
    return kg_at(kg, kg_host_sx(kg, sx));
}

/* --- Blocks and arrays --------------------------------------------------------------------- */

static KBuf *push_mem(KGen *kg, const char *name, Mem *mem, PrimType elem)
{
    KBuf *buf = NEW(kg->cx->perm, KBuf);
    /* Blocks are passed whole. */
    *buf = (KBuf){.name = name, .space = KS_GLOBAL, .elem = elem, .align = RT_BLOCK_ALIGN};
    KParam p = {.kind = KP_MEM, .name = name, .buf = buf, .type = elem, .mem = mem};
    vec_push(kg->cx->perm, &kg->params, p);
    return buf;
}

KBuf *kg_param_mem(KGen *kg, Mem *mem, PrimType elem)
{
    bool taken = false;
    for (int i = 0; i < kg->params.n; i++) {
        const KParam *p = &kg->params.at[i];
        if (p->kind != KP_MEM || p->mem != mem)
            continue;
        if (p->type == elem)
            return p->buf;
        taken = true;
    }
    return push_mem(kg, taken ? kb_name(kg->kb, mem->name) : mem->name, mem, elem);
}

KBuf *kg_param_out(KGen *kg, const char *base, PrimType elem)
{
    return push_mem(kg, kb_name(kg->kb, base), NULL, elem);
}

void kg_updates(KGen *kg, const Mem *mem)
{
    for (int i = 0; i < kg->params.n; i++)
        if (kg->params.at[i].kind == KP_MEM && kg->params.at[i].mem == mem)
            kg->params.at[i].updated = true;
}

KBuf *kg_param_local(KGen *kg, const char *base, PrimType elem, const KExp *count)
{
    KBuf *buf = kb_buf_new(kg->kb, base, KS_LOCAL, elem);
    KParam p = {.kind = KP_LOCAL, .name = buf->name, .buf = buf, .type = elem};
    p.bytes = sx_mul(kg->cx, count, sx_const(kg->cx, prim_type_bytes[elem]));
    vec_push(kg->cx->perm, &kg->params, p);
    return buf;
}

const KExp *kg_local_bytes(const KGen *kg)
{
    const KExp *bytes = sx_const(kg->cx, 0);
    for (int i = 0; i < kg->params.n; i++)
        if (kg->params.at[i].kind == KP_LOCAL)
            bytes = sx_add(kg->cx, bytes, kg->params.at[i].bytes);
    return bytes;
}

void kg_bind_arr(KGen *kg, const Var *v, KLoc loc)
{
    KLoc *l = NEW(kg->cx->perm, KLoc);
    *l = loc;
    varmap_put(kg->arrs, v, l);
}

Lmad kg_host_lmad(KGen *kg, Lmad l, int rank)
{
    const KExp **strides = NEWN(kg->cx->perm, const KExp *, rank);
    Lmad r = {kg_host_sx(kg, l.offset), strides};
    for (int k = 0; k < rank; k++)
        strides[k] = kg_host_sx(kg, l.strides[k]);
    return r;
}

static KLoc host_array(KGen *kg, const ArrLoc *a, Type t)
{
    ASSERT(!a->mem->local);
    KLoc l = {.computed = a->mem->computed};
    if (!l.computed)
        l.mem = kg_param_mem(kg, a->mem, t.elem);
    l.at = kg_host_lmad(kg, a->at, t.rank);
    return l;
}

KLoc *kg_arr(KGen *kg, const Var *v)
{
    KLoc *l = varmap_get(kg->arrs, v);
    if (l)
        return l;
    kg_bind_arr(kg, v, host_array(kg, pb_loc(kg->pb, v), v->type));
    return varmap_get(kg->arrs, v);
}

KLoc kg_result(KGen *kg, const ArrLoc *a, Type t)
{
    KLoc l = host_array(kg, a, t);
    l.fresh = true;
    return l;
}

/* --- What the host knows ------------------------------------------------------------------- */

const KExp *kg_bound(KGen *kg, Atom a)
{
    return sx_upper(kg->bounds, sx_atom(kg->cx, a));
}

const KExp *kg_bound_count(KGen *kg, Type t)
{
    return sx_upper_count(kg->bounds, kg->pb->known, t);
}

bool kg_is_regular(KGen *kg, Type t)
{
    for (int k = 0; k < t.rank; k++)
        if (!kg_is_host(kg, t.dims[k]))
            return false;
    return true;
}

/* The work-item's number in the grid. */
const KExp *kg_global_id(KGen *kg)
{
    return kg_add(kg, kg_mul(kg, kg_id(kg, KID_GROUP), kg_id(kg, KID_GROUP_SIZE)), kg->lid);
}

/* The number of work-items in the grid. */
const KExp *kg_global_size(KGen *kg)
{
    return kg_id(kg, KID_GRID_SIZE);
}

const KExp *kg_zero(KGen *kg, PrimType t)
{
    return kx_const(kg->cx->perm, (Const){.type = t});
}

/* --- Notes for explain --------------------------------------------------------------------- */

/* One note a place: the heap says more than a bound. */
void kg_irregular(KGen *kg, bool heap, const char *text)
{
    for (int i = 0; i < kg->irregulars.n; i++) {
        Irregular *r = &kg->irregulars.at[i];
        if (r->loc.beg != kg->at.beg)
            continue;
        if (heap && !r->heap)
            *r = (Irregular){kg->at, text, heap};
        return;
    }
    vec_push(kg->cx->perm, &kg->irregulars, (Irregular){kg->at, text, heap});
}

/* --- The finished kernel ------------------------------------------------------------------- */

/* "segmap^1 <xs in xss> <x in xs>" as the paper prints it. */
static const char *what_text(KGen *kg)
{
    const Exp *e = kg->seg;
    if (!exp_is_seg(e))
        return form_info[e->kind].text[0] ? form_info[e->kind].text : form_info[e->kind].tag;
    return arena_printf(kg->cx->perm, "%s^%d %s", form_info[e->kind].text, e->seg.level,
                        nest_text(&e->seg.nest));
}

/* What every kernel begins with. */
static void prologue(KGen *kg)
{
    KBuild *b = kg->kb;
    const KExp *before = kg->guard ? kg_id(kg, KID_FAILED_BEFORE) : kx_bool(kg->cx->perm, false);
    kb_insert(b, (KPlace){&kg->top, 0},
              (KStm){.kind = KST_LET, .var = (KVar *)kg->lid->var, .x = {kg_id(kg, KID_LOCAL)}});
    kb_insert(b, (KPlace){&kg->top, 0},
              (KStm){.kind = KST_LET, .var = (KVar *)kg->stopped->var, .x = {before}});
}

void kg_loop_unroll(KGen *kg, int times)
{
    KBuild *b = kg->kb;
    const KBlock *outer = b->open.at[b->open.n - 2];
    vec_last(outer)->unroll = times;
}

void kg_if_teams(KGen *kg)
{
    kb_if(kg->kb, kg_id(kg, KID_TEAMS));
}

void kg_if_single(KGen *kg)
{
    kb_if(kg->kb, kx_not(kg->cx->perm, kg_id(kg, KID_TEAMS)));
}

static KFun *finished_fun(KGen *kg, const Kernel *k)
{
    KFun *f = kg->kb->fun;
    prologue(kg);
    vec_append(kg->cx->perm, &kg->top, &f->body);
    f->body = kg->top;
    f->name = k->name;
    f->what = arena_printf(kg->cx->perm, "%s: %s", kg->kind, k->what);
    f->loc = k->loc;
    f->place = diag_place_str(k->loc);
    f->may_fail = k->may_fail || kg->waits;
    for (int i = 0; i < kg->params.n; i++) {
        const KParam *p = &kg->params.at[i];
        vec_push(kg->cx->perm, &f->params,
                 (KFormal){.kind = p->kind, .buf = p->buf, .var = p->var});
    }
    return f;
}

/* Numbers for the sizes of local buffers; less than 0 for those that are hardly worth sharing. */
static const int *local_sizes(KGen *kg)
{
    enum { SMALL = 256 };
    const KParams *ps = &kg->params;
    int *sizes = NEWN(kg->cx->perm, int, ps->n + 1);
    for (int i = 0; i < ps->n; i++) {
        const KExp *bytes = ps->at[i].bytes;
        int k = 0;
        while (bytes && k < i && !(ps->at[k].bytes && kx_same(ps->at[k].bytes, bytes)))
            k++;
        bool small = bytes && bytes->kind == KE_CONST && bytes->c.i <= SMALL;
        sizes[i] = small ? -1 - k : k;
    }
    return sizes;
}

/* Local buffers that are never needed at once become one, as large as the largest. */
static void merge_locals(KGen *kg, KFun *f)
{
    const int *with = kir_merge_locals(kg->cx->perm, f, local_sizes(kg));
    KParams *ps = &kg->params;
    int n = 0;
    for (int i = 0; i < ps->n; i++) {
        KParam *to = &ps->at[with[i] < 0 ? i : with[i]];
        if (with[i] >= 0 && with[i] != i && !kx_same(to->bytes, ps->at[i].bytes))
            to->bytes = sx_op(kg->cx, SX_MAX, to->bytes, ps->at[i].bytes);
    }
    for (int i = 0; i < ps->n; i++)
        if (with[i] == i)
            ps->at[n++] = ps->at[i];
    ps->n = n;
}

/* Room for the gaps of local buffers that want some. */
static void pad_locals(KGen *kg, KFun *f)
{
    enum { ROW = 128 };
    Ctx *cx = kg->cx;
    kir_mark_padded(cx->perm, f);
    for (int i = 0; i < kg->params.n; i++) {
        KParam *p = &kg->params.at[i];
        if (p->kind != KP_LOCAL || !p->buf->padded)
            continue;
        const KExp *gaps = sx_op(cx, SX_DIV, p->bytes, sx_const(cx, ROW));
        p->bytes =
            sx_add(cx, p->bytes, sx_mul(cx, gaps, sx_const(cx, prim_type_bytes[p->buf->elem])));
    }
}

/* A group's size by a name that is the same in each compilation. */
static const char *local_text(const KGen *kg)
{
    Ctx *cx = kg->cx;
    const Var *size =
        kg->group_size && kg->group_size->kind == KE_HOST ? kg->group_size->host : NULL;
    const KExp *items = prologue_var(kg, "items", T_I64);
    Out o = {0};
    for (int i = 0; i < kg->params.n; i++) {
        const KExp *bytes = kg->params.at[i].bytes;
        if (kg->params.at[i].kind != KP_LOCAL)
            continue;
        if (size)
            bytes = sx_with(cx, bytes, size, items);
        out_printf(&o, "%s%s", o.n ? " + " : "", sx_c(bytes));
    }
    const char *text = o.n ? arena_strdup(cx->perm, o.text) : NULL;
    out_free(&o);
    return text;
}

/* The passes over kernels as they are made. Of local buffers the sizes are known here. */
static void passes_as_made(KGen *kg, KFun *f)
{
    Ctx *cx = kg->cx;
    KRun r = krun_begin(NULL, cx->verify, cx->trace, NULL);
    krun_enter(&r, "kernel");
    krun_leave(&r, f);
    for (const KPass *p = kir_making_table; p->name; p++) {
        if (p->run != kir_locals) {
            krun(&r, cx->perm, f, p);
            continue;
        }
        krun_enter(&r, p->name);
        merge_locals(kg, f);
        krun_leave(&r, f);
    }
    krun_end(&r, f);
}

Kernel *kg_finish(KGen *kg)
{
    Ctx *cx = kg->cx;
    Kernel k = {.loc = kg->seg->loc, .seg = kg->seg};
    k.may_fail = kg->may_fail;
    k.declares = kg->declares;
    k.sized = kg->sized || kg->declares || kg->kb->fun->slices.n > 0;
    k.what = what_text(kg);
    k.irregulars = kg->irregulars;
    k.name = arena_printf(kg->cx->perm, "%s_%s_%d", kg->kind, c_ident(kg->pb->entry->name),
                          kg->pb->plan->kernels.n);
    k.fun = finished_fun(kg, &k);
    passes_as_made(kg, k.fun);
    if (kg->columns)
        kir_want_columns(k.fun, kg->few);
    if (k.fun->columns == KC_NONE)
        kg->columns = NULL;
    if (kg->pads && !kg->columns)
        pad_locals(kg, k.fun);
    k.params = kg->params;
    k.local = local_text(kg);
    return kernel_intern(kg->pb->plan, cx, k);
}

void kg_finish_function(KGen *kg, const KExp *gives)
{
    Ctx *cx = kg->cx;
    KFun *f = kg->kb->fun;
    kb_stm(kg->kb, (KStm){.kind = KST_GIVE, .x = {gives}});
    KRun r = krun_begin(NULL, cx->verify, cx->trace, NULL);
    krun_enter(&r, "function");
    krun_leave(&r, f);
    kir_passes(&r, cx->perm, f);
}

void kg_launch_on(KGen *kg, Kernel *k, Mem *const *outs, const KExp *groups)
{
    const KExp *columns = kg->columns;
    HostOp op = {
        .kind = H_LAUNCH, .loc = kg->seg->loc, .kernel = k, .n_launch_dims = columns ? 2 : 1};
    op.groups[0] = groups;
    bool beside = k->fun->columns == KC_LATER;
    op.local[beside] = kg->group_size;
    op.local[!beside] = columns;
    op.groups[1] = sx_const(kg->cx, 1);
    int j = 0;
    for (int i = 0; i < kg->params.n; i++) {
        KParam p = kg->params.at[i];
        if (columns && p.kind == KP_LOCAL)
            p.bytes = sx_mul(kg->cx, p.bytes, columns);
        if (p.kind == KP_MEM && !p.mem)
            p.mem = outs[j++];
        vec_push(kg->cx->perm, &op.args, p);
    }
    if (kg->pb->work)
        work_launch(kg->pb->work, &op);
    pb_op(kg->pb, op);
}

void kg_launch(KGen *kg, Kernel *k, const KExp *groups)
{
    kg_launch_on(kg, k, NULL, groups);
}

const KExp *sx_team_size(Ctx *cx)
{
    return sx_op(cx, SX_MIN, sx_size(cx, SIZE_GROUP_SIZE), sx_size(cx, SIZE_TEAM_LIMIT));
}

const KExp *sx_single(Ctx *cx)
{
    return sx_op(cx, SX_DIV, sx_const(cx, 1), sx_size(cx, SIZE_TEAM_LIMIT));
}

const KExp *sx_teams(Ctx *cx)
{
    return sx_sub(cx, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, 1));
}

bool body_reads_from(Ctx *cx, const Body *b, int from, const Var *v)
{
    VarSet *s = varmap_new(cx->perm);
    varset_add(s, v);
    for (int i = from; i < b->stms.n; i++)
        if (exp_uses_any(b->stms.at[i].exp, s))
            return true;
    for (int j = 0; j < b->res.n; j++)
        if (b->res.at[j].var == v)
            return true;
    return false;
}
