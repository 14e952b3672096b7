/* The kernel builder: parameters are found while the text is made. */
#include "codegen/kernel.h"

#include "base/intern.h"

#include <string.h>

/* Arrays up to this size, known at compile time, are private arrays (registers where the driver
 * can). */
enum { PRIVATE_MAX_ELEMS = 64, PRIVATE_MAX_BYTES = 256 };

static const char bound_here[] = "bound", is_param[] = "param";

KGen *kg_new(Host *h, const char *kind, const Exp *seg)
{
    KGen *kg = NEW(h->cx->perm, KGen);
    Arena *a = h->cx->perm;
    *kg = (KGen){.h = h, .cx = h->cx, .seg = seg, .kind = kind};
    kg->arrs = varmap_new(a);
    kg->scalars = varmap_new(a);
    kg->bounds = varmap_new(a);
    kg->hints = varmap_new(a);
    kg->defs = varmap_new(a);
    kg->indices = varmap_new(a);
    kg->group_size = sx_size(h->cx, SIZE_GROUP_SIZE);
    vec_push(a, &kg->params, (KParam){.kind = KP_FAILURE, .name = "failure"});
    kg->out.indent = 1;
    kg->top.indent = 1;
    return kg;
}

const char *kg_name(KGen *kg, const char *base)
{
    return arena_printf(kg->cx->perm, "%s_k%d", c_ident(base), ++kg->n_names);
}

char *kg_text(KGen *kg, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = arena_vprintf(kg->cx->perm, fmt, ap);
    va_end(ap);
    return s;
}

void kg_line(KGen *kg, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&kg->out, fmt, ap);
    va_end(ap);
    out_puts(&kg->out, "\n");
}

void kg_open(KGen *kg, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&kg->out, fmt, ap);
    va_end(ap);
    out_puts(&kg->out, " {\n");
    kg->out.indent++;
}

void kg_block(KGen *kg)
{
    out_puts(&kg->out, "{\n");
    kg->out.indent++;
}

void kg_close(KGen *kg)
{
    kg->out.indent--;
    out_puts(&kg->out, "}\n");
}

/* --- Scalars ---------------------------------------------------------------------------------- */

const char *kg_bind(KGen *kg, const Var *v)
{
    varmap_put(kg->scalars, v, bound_here);
    return var_c_name(v);
}

void kg_decl(KGen *kg, const Var *v, const char *init)
{
    kg_bind(kg, v);
    if (init)
        kg_line(kg, "%s %s = %s;", ctype_c(v->type.elem), var_c_name(v), init);
    else
        kg_line(kg, "%s %s;", ctype_c(v->type.elem), var_c_name(v));
}

static void need_scalar(KGen *kg, const Var *v)
{
    if (varmap_get(kg->scalars, v))
        return;
    if (v->type.rank != 0)
        ice(v->loc, "array %s used as a scalar", var_text(v));
    KParam p = {.kind = KP_SCALAR, .name = var_c_name(v), .type = v->type.elem};
    p.atom = atom_var((Var *)v);
    if (p.type == T_I64)
        p.value = sx_var(kg->cx, v);
    vec_push(kg->cx->perm, &kg->params, p);
    varmap_put(kg->scalars, v, is_param);
}

const char *kg_atom_c(KGen *kg, Atom a)
{
    if (a.var)
        need_scalar(kg, a.var);
    return atom_c(a);
}

const Sx *kg_sx(KGen *kg, Atom a)
{
    if (a.var)
        need_scalar(kg, a.var);
    return sx_atom(kg->cx, a);
}

static void need_atom(void *env, Atom a)
{
    if (a.var && a.var->type.rank == 0)
        need_scalar(env, a.var);
}

const char *kg_scalar_c(KGen *kg, const Exp *e)
{
    ExpVisitor v = {.env = kg, .atom = need_atom};
    exp_visit(e, &v);
    return scalar_c(e);
}

bool kg_is_host(KGen *kg, Atom a)
{
    return !a.var || varmap_get(kg->scalars, a.var) != bound_here;
}

const char *kg_param_sx(KGen *kg, const char *base, const Sx *value)
{
    for (int i = 0; i < kg->params.n; i++) {
        const KParam *p = &kg->params.at[i];
        if (p->kind == KP_SCALAR && p->type == T_I64 && p->value && sx_eq(p->value, value))
            return p->name;
    }
    KParam p = {.kind = KP_SCALAR, .name = kg_name(kg, base), .type = T_I64, .value = value};
    vec_push(kg->cx->perm, &kg->params, p);
    return p.name;
}

static void need_leaf(void *env, const Sx *x)
{
    if (x->kind == SX_VAR)
        need_scalar(env, x->var);
}

/* Sums and products of variables are written out in the kernel, so that sizes can be compared. */
const Sx *kg_host_sx(KGen *kg, const Sx *sx)
{
    if (!sx_is_polynomial(sx))
        return sx_text(kg->cx, kg_param_sx(kg, "size", sx));
    sx_leaves(sx, need_leaf, kg);
    return sx;
}

/* --- Blocks and arrays ------------------------------------------------------------------------ */

static const char *push_mem(KGen *kg, const char *name, Mem *mem, PrimType elem)
{
    KParam p = {.kind = KP_MEM, .name = name, .type = elem, .mem = mem};
    vec_push(kg->cx->perm, &kg->params, p);
    return name;
}

const char *kg_param_mem(KGen *kg, Mem *mem, PrimType elem)
{
    bool taken = false;
    for (int i = 0; i < kg->params.n; i++) {
        const KParam *p = &kg->params.at[i];
        if (p->kind != KP_MEM || p->mem != mem)
            continue;
        if (p->type == elem)
            return p->name;
        taken = true;
    }
    return push_mem(kg, taken ? kg_name(kg, mem->name) : mem->name, mem, elem);
}

const char *kg_param_out(KGen *kg, const char *base, Mem *mem, PrimType elem)
{
    return push_mem(kg, kg_name(kg, base), mem, elem);
}

void kg_updates(KGen *kg, const Mem *mem)
{
    for (int i = 0; i < kg->params.n; i++)
        if (kg->params.at[i].kind == KP_MEM && kg->params.at[i].mem == mem)
            kg->params.at[i].updated = true;
}

const char *kg_param_local(KGen *kg, const char *base, PrimType elem, const Sx *count)
{
    KParam p = {.kind = KP_LOCAL, .name = kg_name(kg, base), .type = elem};
    p.bytes = sx_mul(kg->cx, count, sx_const(kg->cx, prim_type_bytes[elem]));
    vec_push(kg->cx->perm, &kg->params, p);
    return p.name;
}

void kg_bind_arr(KGen *kg, const Var *v, KLoc loc)
{
    KLoc *l = NEW(kg->cx->perm, KLoc);
    *l = loc;
    varmap_put(kg->arrs, v, l);
    if (loc.space != SP_LOCAL)
        return;
    for (int i = 0; i < kg->locals.n; i++)
        if (kg->locals.at[i].name == loc.mem)
            vec_push(kg->cx->perm, &kg->locals.at[i].users, (Var *)v);
}

static KLoc host_array(KGen *kg, const ArrLoc *a, Type t)
{
    KLoc l = {.space = SP_GLOBAL, .elem = t.elem};
    l.mem = kg_param_mem(kg, a->mem, t.elem);
    l.offset = kg_host_sx(kg, a->at.offset);
    l.strides = NEWN(kg->cx->perm, const Sx *, t.rank);
    for (int k = 0; k < t.rank; k++)
        l.strides[k] = kg_host_sx(kg, a->at.strides[k]);
    return l;
}

KLoc *kg_arr(KGen *kg, const Var *v)
{
    KLoc *l = varmap_get(kg->arrs, v);
    if (l)
        return l;
    kg_bind_arr(kg, v, host_array(kg, host_loc(kg->h, v), v->type));
    return varmap_get(kg->arrs, v);
}

KLoc kg_result(KGen *kg, const ArrLoc *a, Type t)
{
    KLoc l = host_array(kg, a, t);
    l.fresh = true;
    return l;
}

/* --- Memory of a thread ----------------------------------------------------------------------- */

/* Is the atom never negative? Indices of nests and loops, and what is made of them. */
static bool never_negative(KGen *kg, Atom a)
{
    if (!a.var)
        return a.c.i >= 0;
    if (varmap_get(kg->indices, a.var))
        return true;
    const Exp *e = varmap_get(kg->defs, a.var);
    if (!e)
        return false;
    if (e->kind == E_ATOM)
        return never_negative(kg, e->atom);
    if (e->kind != E_PRIM || !prim_is_int(e->prim.type))
        return false;
    PrimOp op = e->prim.op;
    bool x = never_negative(kg, e->prim.args.at[0]);
    bool y = e->prim.args.n > 1 && never_negative(kg, e->prim.args.at[1]);
    if (op == OP_MAX)
        return x || y;
    return x && y &&
           (op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_DIV || op == OP_QUOT ||
            op == OP_MOD || op == OP_REM);
}

/* An upper bound of e's value; NULL where none is known. A host operand's bound is its value. */
static const Sx *bound_of_def(KGen *kg, const Exp *e)
{
    Ctx *cx = kg->cx;
    if (e->kind == E_ATOM)
        return kg_bound(kg, e->atom);
    if (e->kind == E_CONV && e->conv.to == T_I64 && prim_is_signed(e->conv.from))
        return kg_bound(kg, e->conv.arg);
    if (e->kind != E_PRIM)
        return NULL;
    const Atoms *args = &e->prim.args;
    const Sx *a = kg_bound(kg, args->at[0]), *b = args->n > 1 ? kg_bound(kg, args->at[1]) : NULL;
    switch ((int)e->prim.op) { /* the operations that sizes are made of */
    case OP_ADD: return a && b ? sx_add(cx, a, b) : NULL;
    case OP_SUB:
        if (a && kg_is_host(kg, args->at[1]))
            return sx_sub(cx, a, b);
        return never_negative(kg, args->at[1]) ? a : NULL;
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (!kg_is_host(kg, args->at[i]) && !never_negative(kg, args->at[i]))
                return NULL;
        return a && b ? sx_mul(cx, a, b) : NULL;
    case OP_DIV:
    case OP_QUOT:
        if (!a || args->at[1].var || args->at[1].c.i <= 0)
            return NULL;
        return sx_op(cx, SX_DIV, sx_op(cx, SX_MAX, a, sx_const(cx, 0)), b);
    case OP_MOD: return b;
    case OP_REM: return !args->at[1].var && args->at[1].c.i > 0 ? b : NULL;
    case OP_MIN: return a && b ? sx_op(cx, SX_MIN, a, b) : a ? a : b;
    case OP_MAX: return a && b ? sx_op(cx, SX_MAX, a, b) : NULL;
    }
    return NULL;
}

const Sx *kg_bound(KGen *kg, Atom a)
{
    if (kg_is_host(kg, a))
        return sx_atom(kg->cx, a);
    const Sx *b = varmap_get(kg->bounds, a.var);
    if (b)
        return b;
    const Exp *e = varmap_get(kg->defs, a.var);
    b = e ? bound_of_def(kg, e) : NULL;
    if (b)
        varmap_put(kg->bounds, a.var, b);
    return b;
}

static bool const_count(Type t, int64_t *count)
{
    *count = 1;
    for (int k = 0; k < t.rank; k++) {
        if (t.dims[k].var || t.dims[k].c.i < 0)
            return false;
        *count *= t.dims[k].c.i;
        if (*count > PRIVATE_MAX_ELEMS)
            return false;
    }
    return *count * prim_type_bytes[t.elem] <= PRIVATE_MAX_BYTES;
}

const Sx *kg_bound_count(KGen *kg, Type t)
{
    const Sx *count = sx_const(kg->cx, 1);
    for (int k = 0; k < t.rank; k++) {
        const Sx *d = kg_bound(kg, t.dims[k]);
        if (!d)
            return NULL;
        /* A bound may be negative, and so may a size that a branch not taken would check. */
        if (!kg_is_host(kg, t.dims[k]) || !host_is_natural(kg->h, t.dims[k]))
            d = sx_op(kg->cx, SX_MAX, d, sx_const(kg->cx, 0));
        count = sx_mul(kg->cx, count, d);
    }
    return count;
}

bool kg_is_regular(KGen *kg, Type t)
{
    for (int k = 0; k < t.rank; k++)
        if (!kg_is_host(kg, t.dims[k]))
            return false;
    return true;
}

static KLoc alloc_private(KGen *kg, const Var *v, Type t, int64_t count)
{
    KLoc l = {.space = SP_PRIVATE, .elem = t.elem, .fresh = true};
    l.mem = kg_name(kg, v ? v->base : "tmp");
    l.offset = sx_const(kg->cx, 0);
    l.strides = loc_strides_row_major(kg, t, sx_const(kg->cx, 1));
    kg_line(kg, "%s %s[%d];", ctype_c(t.elem), l.mem, count > 0 ? (int)count : 1);
    return l;
}

/* A slice of a global block for each thread. On a GPU element k of thread t is number k*T + t, so
 * that neighbouring threads touch neighbouring elements; on a CPU a thread's elements are
 * consecutive. */
static KLoc alloc_scratch(KGen *kg, const Var *v, Type t, const Sx *count)
{
    Ctx *cx = kg->cx;
    if (!kg_is_regular(kg, t))
        kg_irregular(kg, false, "memory bounded before the launch");
    if (!kg->uses_scratch) {
        out_printf(&kg->top, "const i64 thread = get_global_id(0), "
                             "thread_stride = MF_IS_CPU ? 1 : get_global_size(0);\n");
        kg->uses_scratch = true;
    }
    if (!kg->max_threads)
        ice(kg->seg->loc, "thread memory in a kernel without a bound on its threads");
    const Sx *bytes =
        sx_mul(cx, sx_mul(cx, count, kg->max_threads), sx_const(cx, prim_type_bytes[t.elem]));
    Mem *mem = host_alloc(kg->h, v ? v->base : "thread", bytes);
    KLoc l = {.space = SP_GLOBAL, .elem = t.elem, .fresh = true};
    l.mem = kg_param_mem(kg, mem, t.elem);
    const char *off = kg_name(kg, v ? v->base : "thread");
    out_printf(&kg->top, "const i64 %s = MF_IS_CPU ? thread * %s : thread;\n", off,
               sx_c_factor(kg_host_sx(kg, count)));
    l.offset = sx_text(cx, off);
    l.strides = loc_strides_row_major(kg, t, sx_text(cx, "thread_stride"));
    return l;
}

bool kg_is_private(KGen *kg, Type t)
{
    int64_t count;
    return !kg->coop && const_count(t, &count);
}

KLoc kg_alloc(KGen *kg, const Var *v, Type t)
{
    KLoc *hint = v ? varmap_get(kg->hints, v) : NULL;
    if (hint)
        return *hint;
    if (kg->coop)
        return group_alloc(kg, v, t);
    int64_t count;
    if (const_count(t, &count))
        return alloc_private(kg, v, t, count);
    const Sx *bound = kg_bound_count(kg, t);
    return bound ? alloc_scratch(kg, v, t, bound) : heap_alloc(kg, v, t);
}

/* --- Failures --------------------------------------------------------------------------------- */

WorkMark kg_work_begin(KGen *kg)
{
    WorkMark m = {kg->fail_to, kg->fail_used, heap_mark(kg)};
    kg->fail_to = kg_name(kg, "stop");
    kg->fail_used = false;
    return m;
}

void kg_work_end(KGen *kg, WorkMark m)
{
    if (kg->fail_used)
        kg_line(kg, "%s:;", kg->fail_to);
    heap_release(kg, m.heap);
    kg->fail_to = m.fail_to;
    kg->fail_used = m.fail_used;
}

void kg_work_end_reset(KGen *kg, WorkMark m, const Texts *zero)
{
    if (kg->fail_used) {
        kg_open(kg, "if (0)");
        kg_line(kg, "%s:;", kg->fail_to);
        for (int i = 0; i < zero->n; i++)
            kg_line(kg, "%s = 0;", zero->at[i]);
        kg_close(kg);
    }
    kg->fail_used = false;
    kg_work_end(kg, m);
}

/* --- The finished kernel ---------------------------------------------------------------------- */

static void param_text(Out *o, const KParam *p)
{
    switch (p->kind) {
    case KP_FAILURE: out_puts(o, "__global mf_failure *failure, int launch"); return;
    case KP_MEM: out_printf(o, "__global %s *%s", ctype_c(p->type), p->name); return;
    case KP_SCALAR: out_printf(o, "%s %s", ctype_c(p->type), p->name); return;
    case KP_LOCAL: out_printf(o, "__local %s *%s", ctype_c(p->type), p->name); return;
    case KP_HEAP: out_puts(o, "__global char *heap, i64 heap_chunk"); return;
    }
}

/* "segmap^1 <xs in xss> <x in xs>" as the paper prints it. */
static const char *what_text(KGen *kg)
{
    const Exp *e = kg->seg;
    if (!exp_is_seg(e))
        return form_info[e->kind].text[0] ? form_info[e->kind].text : form_info[e->kind].tag;
    return kg_text(kg, "%s^%d %s", form_info[e->kind].text, e->seg.level, nest_text(&e->seg.nest));
}

Kernel *kg_finish(KGen *kg)
{
    Ctx *cx = kg->cx;
    Kernel k = {.loc = kg->seg->loc, .seg = kg->seg};
    k.may_fail = kg->may_fail;
    k.fixed_group = kg->fixed_group;
    k.what = what_text(kg);
    k.irregulars = kg->irregulars;
    k.name = kg_text(kg, "%s_%s_%d", kg->kind, c_ident(kg->h->entry->entry->name),
                     kg->h->plan->kernels.n);
    k.params = kg->params;
    Out o = {0};
    out_c_comment(&o, "%s: %s, %s", kg->kind, k.what, diag_place_str(k.loc));
    out_printf(&o, "\n__kernel void %s(", k.name);
    for (int i = 0; i < kg->params.n; i++) {
        out_puts(&o, i ? (i % 4 == 0 ? ",\n        " : ", ") : "");
        param_text(&o, &kg->params.at[i]);
    }
    out_puts(&o, ")\n{\n");
    out_printf(&o, "    const bool stopped = %s;\n",
               kg->guard ? "mf_failed_before(failure, launch)" : "false");
    out_puts(&o, "    const i64 lid = get_local_id(0);\n");
    out_puts(&o, kg->top.text ? kg->top.text : "");
    out_puts(&o, kg->out.text ? kg->out.text : "");
    out_puts(&o, "}\n");
    k.text = arena_strdup(cx->perm, o.text);
    out_free(&o);
    out_free(&kg->top);
    out_free(&kg->out);
    return kernel_intern(kg->h->plan, cx, k);
}

void kg_launch_args(KGen *kg, Kernel *k, KParams args, const Sx *groups)
{
    HostOp op = {.kind = H_LAUNCH, .loc = kg->seg->loc, .kernel = k, .args = args};
    op.n_launch_dims = 1;
    op.groups[0] = groups;
    op.local[0] = kg->group_size;
    host_op(kg->h, op);
}

void kg_launch(KGen *kg, Kernel *k, const Sx *groups)
{
    kg_launch_args(kg, k, kg->params, groups);
}

/* --- Host values ------------------------------------------------------------------------------ */

const Sx *host_let(Host *h, const char *base, const Sx *value)
{
    if (value->kind == SX_CONST || value->kind == SX_VAR)
        return value;
    Var *v = var_new(h->cx, base, type_prim(T_I64), (Loc){0});
    host_op(h, (HostOp){.kind = H_SX, .var = v, .sx = value});
    return sx_var(h->cx, v);
}

const Sx *sx_is_cpu(Ctx *cx)
{
    return sx_size(cx, SIZE_IS_CPU);
}
