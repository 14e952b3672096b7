/* Host operations as the text of a C function. Scalars are declared where they get their value.
 * Each call that may fail is followed by the way out (emit_fail); a launch that the device refuses
 * is a failure like others, RT_REFUSED, until it comes to a function that has another version to
 * call. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

/* --- Pieces --------------------------------------------------------------------------------- */

const char *mem_c(Fn *f, const Mem *m)
{
    if (!split_mem(f->split, m)->shared)
        return m->name;
    f->uses_state = true;
    return arena_printf(f->em->cx->perm, "s->%s", m->name);
}

void emit_fail(Fn *f)
{
    f->o->indent++;
    out_puts(f->o, f->owns ? "goto done;\n" : "return rc;\n");
    f->o->indent--;
    f->uses_done |= f->owns;
}

/* `if ((rc = CALL)) goto done;` : begins and ends such a statement. */
static void call_begin(Fn *f)
{
    f->uses_ctx = true;
    out_puts(f->o, "if ((rc = ");
}

static void call_end(Fn *f)
{
    out_puts(f->o, "))\n");
    emit_fail(f);
}

/* Has the variable a place in this function, or only in the state? */
static bool is_local(const Fn *f, const Var *v)
{
    return !split_shares(f->split, v) || varset_has(f->fn->reads, v);
}

void emit_assign(Fn *f, const Var *v)
{
    size_names_set(f->sizes, v);
    if (is_local(f, v)) {
        if (!varset_has(f->seen, v))
            out_printf(f->o, "%s ", ctype_c(v->type.elem));
        varset_add(f->seen, v);
        out_printf(f->o, "%s = ", var_c_name(v));
    }
    if (split_shares(f->split, v)) {
        f->uses_state = true;
        out_printf(f->o, "s->%s = ", var_c_name(v));
    }
}

/* Declares a variable that a call sets; its place. */
static const char *emit_set_by_call(Fn *f, const Var *v)
{
    size_names_set(f->sizes, v);
    f->uses_state |= split_shares(f->split, v);
    if (!is_local(f, v))
        return arena_printf(f->em->cx->perm, "s->%s", var_c_name(v));
    if (!varset_has(f->seen, v))
        out_printf(f->o, "%s %s;\n", ctype_c(v->type.elem), var_c_name(v));
    varset_add(f->seen, v);
    return var_c_name(v);
}

/* Behind that call: a variable that has two places is in both. */
static void emit_is_set(Fn *f, const Var *v)
{
    if (is_local(f, v) && split_shares(f->split, v))
        out_printf(f->o, "s->%s = %s;\n", var_c_name(v), var_c_name(v));
}

static void place_comment(Fn *f, Loc loc)
{
    if (!loc.beg || loc.beg == f->loc.beg)
        return;
    f->loc = loc;
    out_c_comment(f->o, "%s", diag_place_str(loc));
    out_puts(f->o, "\n");
}

void emit_wrapped(Out *o, const Texts *ts, size_t first, int indent)
{
    enum { COLUMNS = 100 };
    size_t base = 4 * (size_t)o->indent, at = base + first;
    for (int i = 0; i < ts->n; i++) {
        size_t n = strlen(ts->at[i]) + 2;
        bool wrap = i > 0 && at + n > COLUMNS;
        if (i > 0)
            out_puts(o, wrap ? "," : ", ");
        if (wrap) {
            out_printf(o, "\n%*s", indent, "");
            at = base + (size_t)indent;
        }
        out_puts(o, ts->at[i]);
        at += n;
    }
}

void emit_enum(Out *o, const Texts *names)
{
    out_puts(o, "enum {\n    ");
    emit_wrapped(o, names, 4, 4);
    out_puts(o, "\n};\n");
}

static const char *size_c(Fn *f, const KExp *a)
{
    return size_named_c(f->sizes, a);
}

/* An array of 64-bit numbers as a compound literal, `at` columns after the indentation; a null
 * pointer if there are none. */
static void i64s(Fn *f, const Texts *xs, int at)
{
    if (xs->n == 0) {
        out_puts(f->o, "NULL");
        return;
    }
    out_puts(f->o, "(const int64_t[]){");
    emit_wrapped(f->o, xs, (size_t)at + 19, at);
    out_puts(f->o, "}");
}

static Texts dim_texts(Fn *f, const Atoms *dims)
{
    Texts t = {0};
    for (int k = 0; k < dims->n; k++)
        vec_push(f->em->cx->scratch, &t, size_c(f, sx_atom(f->em->cx, dims->at[k])));
    return t;
}

static Texts stride_texts(Fn *f, const ArrLoc *l, int rank)
{
    Texts t = {0};
    for (int k = 0; k < rank; k++)
        vec_push(f->em->cx->scratch, &t, size_c(f, l->at.strides[k]));
    return t;
}

static const char *count_c(Fn *f, const Atoms *dims)
{
    return size_c(f, sx_product(f->em->cx, dims->at, dims->n));
}

static const char *byte_offset(Fn *f, const KExp *elems, PrimType t)
{
    return size_c(f, sx_mul(f->em->cx, elems, sx_const(f->em->cx, prim_type_bytes[t])));
}

/* --- Memory operations ---------------------------------------------------------------------- */

static void emit_alloc(Fn *f, const HostOp *op)
{
    call_begin(f);
    const char *mem = mem_c(f, op->mem), *bytes = size_c(f, op->exp);
    if (op->from != ALLOC_FRESH)
        out_printf(f->o, "rt_%s(ctx, &%s, %s, %d)", alloc_from_text[op->from], mem, bytes,
                   op->site);
    else
        out_printf(f->o, "rt_alloc_at(ctx, &%s, %s, \"%s\", %d)", mem, bytes, op->mem->name,
                   op->site);
    call_end(f);
}

/* A release of what another function holds and gives back itself is none. */
static void emit_release(Fn *f, const HostOp *op)
{
    const Use *u = split_mem(f->split, op->mem);
    const HostFn *fn = f->fn;
    while (u->shared && fn && fn != u->fn)
        fn = fn->caller;
    if (fn != u->fn) /* it is another function's own, which gives it back at its end */
        return;
    f->uses_ctx = true;
    out_printf(f->o, "rt_unref(ctx, &%s);\n", mem_c(f, op->mem));
}

static void emit_alias(Fn *f, const HostOp *op)
{
    f->uses_ctx = true;
    out_printf(f->o, "rt_set(ctx, &%s, %s);\n", mem_c(f, op->mem), mem_c(f, op->mem2));
}

static void emit_read(Fn *f, const HostOp *op)
{
    const Var *v = op->var;
    const char *place = emit_set_by_call(f, v);
    call_begin(f);
    out_printf(f->o, "rt_read_scalar(ctx, %s, %s, %d, &%s)", mem_c(f, op->mem),
               byte_offset(f, op->exp, v->type.elem), prim_type_bytes[v->type.elem], place);
    call_end(f);
    emit_is_set(f, v);
}

static void emit_write(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_write_scalar(ctx, %s, %s, %d, &(%s){%s})", mem_c(f, op->mem),
               byte_offset(f, op->exp, op->type), prim_type_bytes[op->type], ctype_c(op->type),
               kir_exp_c(op->exp2));
    call_end(f);
}

static void emit_copy(Fn *f, const HostOp *op)
{
    int rank = op->dims.n;
    Texts dims = dim_texts(f, &op->dims), dst = stride_texts(f, &op->dst, rank),
          src = stride_texts(f, &op->src, rank);
    call_begin(f);
    out_printf(f->o, "rt_copy_strided(ctx, %d, %d, ", prim_type_bytes[op->type], rank);
    i64s(f, &dims, 40);
    out_printf(f->o, ",\n                          %s, %s, ", mem_c(f, op->dst.mem),
               size_c(f, op->dst.at.offset));
    i64s(f, &dst, 40);
    out_printf(f->o, ",\n                          %s, %s, ", mem_c(f, op->src.mem),
               size_c(f, op->src.at.offset));
    i64s(f, &src, 40);
    out_puts(f->o, ")");
    call_end(f);
}

static void emit_fill(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_fill(ctx, %s, %s, %s, %d, &(%s){%s})", mem_c(f, op->dst.mem),
               size_c(f, op->dst.at.offset), count_c(f, &op->dims), prim_type_bytes[op->type],
               ctype_c(op->type), kir_exp_c(op->exp));
    call_end(f);
}

static void emit_iota(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_iota(ctx, %s, %s, %s, %d, (int64_t)%s, (int64_t)%s)",
               mem_c(f, op->dst.mem), size_c(f, op->dst.at.offset), count_c(f, &op->dims),
               prim_type_bytes[op->type], kir_exp_c(op->exp), kir_exp_c(op->exp2));
    call_end(f);
}

static void emit_literal(Fn *f, const HostOp *op)
{
    Texts elems = {0};
    for (int i = 0; i < op->elems.n; i++)
        vec_push(f->em->cx->scratch, &elems, kir_exp_c(op->elems.at[i]));
    call_begin(f);
    out_printf(f->o, "rt_write(ctx, %s, 0, %d, (const %s[]){\n    ", mem_c(f, op->mem),
               op->elems.n * prim_type_bytes[op->type], ctype_c(op->type));
    emit_wrapped(f->o, &elems, 4, 4);
    out_puts(f->o, "})");
    call_end(f);
}

/* --- Launches ------------------------------------------------------------------------------- */

static const char *arg_macro(PrimType t)
{
    static const char *const names[N_PRIM_TYPES] = {
#define X(TAG, ...) [T_##TAG] = "RT_A_" #TAG,
        RT_SCALARS(X, )
#undef X
    };
    return names[t];
}

static const char *arg_c(Fn *f, const KParam *p, bool heap)
{
    Arena *a = f->em->cx->perm;
    switch (p->kind) {
    case KP_FAILURE: return NULL; /* the runtime's */
    case KP_MEM:
        return arena_printf(a, "%s(%s)", p->updated && heap ? "RT_A_UPDATED" : "RT_A_MEM",
                            p->mem ? mem_c(f, p->mem) : "NULL");
    case KP_HEAP: return "RT_A_HEAP";
    case KP_LOCAL: return arena_printf(a, "RT_A_LOCAL(%s)", size_c(f, p->bytes));
    case KP_SCALAR: break;
    }
    return arena_printf(a, "%s(%s)", arg_macro(p->type), size_c(f, p->value));
}

/* Returns how many arguments there are. */
static int emit_args(Fn *f, const KParams *args)
{
    Texts texts = {0};
    bool heap = false;
    for (int i = 0; i < args->n; i++)
        heap = heap || args->at[i].kind == KP_HEAP;
    for (int i = 0; i < args->n; i++) {
        const char *text = arg_c(f, &args->at[i], heap);
        if (text)
            vec_push(f->em->cx->scratch, &texts, text);
    }
    if (texts.n) {
        out_puts(f->o, "const rt_arg args[] = {\n    ");
        emit_wrapped(f->o, &texts, 4, 4);
        out_puts(f->o, "};\n");
    }
    return texts.n;
}

static void emit_shape(Fn *f, const HostOp *op)
{
    Ctx *cx = f->em->cx;
    Texts local = {0}, global = {0};
    for (int d = 0; d < op->n_launch_dims; d++) {
        const KExp *groups = size_named(f->sizes, op->groups[d]);
        const KExp *size = size_named(f->sizes, op->local[d]);
        vec_push(cx->scratch, &global, sx_exact_c(sx_mul(cx, groups, size)));
        vec_push(cx->scratch, &local, sx_exact_c(size));
    }
    out_puts(f->o, "const int64_t global[] = {");
    emit_wrapped(f->o, &global, 26, 4);
    out_puts(f->o, "};\nconst int64_t local[] = {");
    emit_wrapped(f->o, &local, 25, 4);
    out_puts(f->o, "};\n");
}

static void emit_launch(Fn *f, const HostOp *op)
{
    Out *o = f->o;
    out_puts(o, "{");
    if (op->kernel->what) {
        out_puts(o, " ");
        out_c_comment(o, "%s", op->kernel->what);
    }
    out_puts(o, "\n");
    o->indent++;
    int n = emit_args(f, &op->args);
    emit_shape(f, op);
    call_begin(f);
    out_printf(o, "%s(ctx, %s, %d, global, local, %d, %s)",
               f->fn->guarded ? "rt_launch" : "launch_only", kernel_enum(op->kernel),
               op->n_launch_dims, n, n ? "args" : "NULL");
    call_end(f);
    emit_work(f, op);
    o->indent--;
    out_puts(o, "}\n");
}

/* --- Scalars -------------------------------------------------------------------------------- */

static void emit_suff(Fn *f, const HostOp *op)
{
    const Exp *e = op->suff;
    emit_assign(f, op->var);
    f->uses_ctx = true;
    bool weighed = e->suff.never || !atom_is_int(e->suff.steps, 0);
    if (!atom_is_int(e->suff.units, 0)) {
        const char *units = atom_c(e->suff.units);
        out_printf(f->o, "rt_does_attention(ctx) && %s != 0 ? ", units);
        out_printf(f->o, "rt_suff_or_pays(ctx, %s, %s, %s, 0, %s > 0) : ",
                   param_enum(f->em->cx, e->suff.name), atom_c(e->suff.par), atom_c(e->suff.work),
                   units);
    }
    const char *call = e->suff.balanced ? "rt_suff_balanced" : "rt_suff_or_pays";
    const char *alone = e->suff.blocks ? "rt_suff_beside_blocks" : "rt_suff";
    out_printf(f->o, "%s(ctx, %s, %s, %s", weighed ? call : alone,
               param_enum(f->em->cx, e->suff.name), atom_c(e->suff.par), atom_c(e->suff.work));
    ASSERT(!e->suff.balanced || (!e->suff.never && !e->suff.blocks));
    if (e->suff.never)
        out_printf(f->o, ", %s, false", atom_c(e->suff.spared));
    else if (e->suff.balanced && weighed)
        out_printf(f->o, ", %s, %s, %s", atom_c(e->suff.spared), atom_c(e->suff.steps),
                   atom_c(e->suff.elems));
    else if (weighed)
        /* Where no launches are weighed, blocks are worth more than what a group keeps near. */
        out_printf(f->o, ", %s, mf_pays(%s, %s, %s)", e->suff.blocks ? "0" : atom_c(e->suff.spared),
                   atom_c(e->suff.spared), atom_c(e->suff.steps), atom_c(e->suff.elems));
    out_puts(f->o, ");\n");
}

static const char *scalar_member(PrimType t)
{
    static const char *const names[N_PRIM_TYPES] = {
#define X(TAG, T, ...) [T_##TAG] = #T,
        RT_SCALARS(X, )
#undef X
    };
    return names[t];
}

static void emit_exchange(Fn *f, const HostOp *op)
{
    const Atoms *args = &op->ranks->ranks.args;
    Texts mine = {0};
    for (int i = 0; i < args->n; i++)
        vec_push(f->em->cx->scratch, &mine,
                 arena_printf(f->em->cx->perm, "{.%s = %s}",
                              scalar_member(atom_type(args->at[i]).elem), atom_c(args->at[i])));
    const char *place = emit_set_by_call(f, op->var);
    call_begin(f);
    out_printf(f->o, "rt_exchange(ctx, %d, (const rt_scalar[]){\n    ", args->n);
    emit_wrapped(f->o, &mine, 4, 4);
    out_printf(f->o, "}, &%s)", place);
    call_end(f);
    emit_is_set(f, op->var);
}

static void emit_ranks(Fn *f, const HostOp *op)
{
    const Exp *e = op->ranks;
    const Atom *args = e->ranks.args.at;
    if (e->kind == E_EXCHANGE) {
        emit_exchange(f, op);
        return;
    }
    emit_assign(f, op->var);
    f->uses_ctx |= e->kind != E_SHARE;
    switch (e->kind) {
    case E_SHARED:
        out_printf(f->o, "rt_shares_out(ctx, %s, %s, %s, %s, %s)",
                   param_enum(f->em->cx, e->ranks.name), atom_c(args[0]), atom_c(args[1]),
                   atom_c(args[2]), atom_c(args[3]));
        break;
    case E_MY_RANK: out_puts(f->o, "rt_my_rank(ctx)"); break;
    case E_RANKS: out_puts(f->o, "rt_ranks(ctx)"); break;
    case E_SHARE: out_printf(f->o, "mf_share(%s, %s)", atom_c(args[0]), atom_c(args[1])); break;
    case E_PEER:
        out_printf(f->o, "rt_peer(ctx, %s, %s, %s)->%s", atom_c(args[1]), atom_c(args[0]),
                   atom_c(args[2]), scalar_member(e->ranks.type));
        break;
    default: ice(e->loc, "%s on the host", form_info[e->kind].text);
    }
    out_puts(f->o, ";\n");
}

/* What a gather first copies to its place. */
static const char *part_c(Fn *f, const HostOp *op)
{
    Ctx *cx = f->em->cx;
    const KExp *each = sx_const(cx, prim_type_bytes[op->type]);
    if (!op->src.mem)
        return "NULL";
    const char *at = size_c(f, sx_mul(cx, op->exp, each)),
               *bytes = size_c(f, sx_mul(cx, op->exp2, each));
    return arena_printf(cx->perm, "&(rt_placed){%s, %s, %s}", mem_c(f, op->src.mem), at, bytes);
}

/* `next`: the operation behind it, or NULL. */
static void emit_rows(Fn *f, const HostOp *op, const HostOp *next)
{
    Ctx *cx = f->em->cx;
    const KExp *row = sx_mul(cx, sx_product(cx, op->dims.at + 1, op->dims.n - 1),
                             sx_const(cx, prim_type_bytes[op->type]));
    const Exp *e = op->ranks;
    const Atom *args = e->ranks.args.at;
    const char *mem = mem_c(f, op->dst.mem);
    if (e->kind == E_PARTED) {
        out_printf(f->o, "rt_parted(%s, %s, %s);\n", mem, atom_c(args[1]), atom_c(args[2]));
        return;
    }
    call_begin(f);
    if (e->kind == E_ROWS)
        out_printf(f->o, "rt_own_rows(ctx, %s, %s, %s, %s)", mem,
                   size_c(f, sx_atom(cx, atom_type(args[0]).dims[0])), size_c(f, row),
                   atom_c(args[2]));
    else if (op_is_gather(op))
        out_printf(f->o, "rt_gather(ctx, %s, %s, %s, %s, %s, %s)", mem, part_c(f, op),
                   e->ranks.args.n == 2 ? atom_c(args[1]) : "RT_SHARE",
                   size_c(f, sx_atom(cx, op->dims.at[0])), size_c(f, row),
                   next && op_is_gather(next) ? "true" : "false");
    else
        out_printf(f->o, "rt_halo(ctx, %s, %s, %s, %s, %s)", mem, atom_c(args[1]), atom_c(args[2]),
                   atom_c(args[3]), size_c(f, row));
    call_end(f);
}

static void emit_exp(Fn *f, const HostOp *op)
{
    bool size = sx_is_size(op->exp);
    const char *text = size ? size_c(f, op->exp) : kir_exp_c(op->exp);
    emit_assign(f, op->var);
    out_printf(f->o, "%s;\n", text);
    if (size && is_local(f, op->var))
        size_names_is(f->sizes, op->exp, op->var);
}

static void emit_set(Fn *f, const HostOp *op)
{
    emit_assign(f, op->var);
    out_printf(f->o, "%s;\n", kir_exp_c(op->exp));
}

static const char *positive_c(Fn *f, const KExp *x)
{
    if (x->kind == KE_CONST)
        return x->c.i > 0 ? "true" : "false";
    return arena_printf(f->em->cx->perm, "%s > 0", size_c(f, x));
}

static void emit_choose(Fn *f, const HostOp *op)
{
    const char *can = positive_c(f, op->exp), *pays = size_c(f, op->exp2);
    emit_assign(f, op->var);
    f->uses_ctx = true;
    out_printf(f->o, "rt_takes(ctx, %s,\n    %s,\n    %s);\n",
               param_enum(f->em->cx, op->choice->name), can, pays);
}

static const char *condition_c(Fn *f, const HostOp *op)
{
    if (op->kind == H_LIMIT)
        return arena_printf(f->em->cx->perm, "%s <= RT_MAX_BYTES", size_c(f, op->exp));
    return kir_exp_c(op->exp);
}

static void emit_assert(Fn *f, const HostOp *op)
{
    f->uses_ctx = true;
    out_printf(f->o, "if (!(%s)) {\n", condition_c(f, op));
    f->o->indent++;
    out_printf(f->o, "rc = rt_fail(ctx, %d, ", op->site);
    if (op->numbers.n) {
        Texts numbers = {0};
        for (int i = 0; i < op->numbers.n; i++)
            vec_push(f->em->cx->perm, &numbers, kir_exp_c(op->numbers.at[i]));
        out_puts(f->o, "(const int64_t[8]){");
        emit_wrapped(f->o, &numbers, 36, 4);
        out_puts(f->o, "}");
    } else {
        out_puts(f->o, "NULL");
    }
    out_puts(f->o, ");\n");
    f->o->indent--;
    emit_fail(f);
    out_puts(f->o, "}\n");
}

static void emit_declare(Fn *f, const HostOp *op)
{
    if (!is_local(f, op->var))
        return; /* blocks are declared at the top */
    varset_add(f->seen, op->var);
    out_printf(f->o, "%s %s = 0;\n", ctype_c(op->var->type.elem), var_c_name(op->var));
}

/* The blocks of the operation that are updated or not, after `before`. */
static Texts recalled(Fn *f, const HostOp *op, bool updated, const char *before)
{
    Texts t = {0};
    for (int i = 0; i < op->args.n; i++)
        if (op->args.at[i].updated == updated)
            vec_push(f->em->cx->scratch, &t,
                     arena_printf(f->em->cx->perm, "%s%s", before, mem_c(f, op->args.at[i].mem)));
    return t;
}

static void emit_recall(Fn *f, const HostOp *op)
{
    Texts of = recalled(f, op, false, ""), found = recalled(f, op, true, "&"), numbers = {0};
    for (int i = 0; i < op->numbers.n; i++)
        vec_push(f->em->cx->scratch, &numbers, size_c(f, op->numbers.at[i]));
    emit_assign(f, op->var);
    f->uses_ctx = true;
    out_printf(f->o, "!rt_recall(ctx, %d, %d, (rt_mem *const[]){", op->site, of.n);
    emit_wrapped(f->o, &of, 40, 4);
    out_printf(f->o, "}, %d,\n    ", numbers.n);
    i64s(f, &numbers, 4);
    out_printf(f->o, ", %d,\n    (rt_mem **const[]){", found.n);
    emit_wrapped(f->o, &found, 24, 4);
    out_puts(f->o, "});\n");
}

/* --- Branches and loops --------------------------------------------------------------------- */

static const char *call_c(Fn *f, const HostFn *fn)
{
    f->uses_ctx = f->uses_state = true;
    return arena_printf(f->em->cx->perm, "%s(ctx, s)", fn->name);
}

/* Names that are made of what a function sets are old where it has been called. */
static void forget(Fn *f, const HostFn *callee)
{
    for (int i = 0; i < callee->set_list.n; i++)
        size_names_set(f->sizes, callee->set_list.at[i]);
}

/* What this function reads and the other one has set. */
static void reload(Fn *f, const HostFn *callee)
{
    forget(f, callee);
    for (int i = 0; i < callee->set_list.n; i++) {
        const Var *v = callee->set_list.at[i];
        if (!split_shares(f->split, v) || !varset_has(f->fn->reads, v))
            continue;
        if (!varset_has(f->seen, v))
            out_printf(f->o, "%s ", ctype_c(v->type.elem));
        varset_add(f->seen, v);
        out_printf(f->o, "%s = s->%s;\n", var_c_name(v), var_c_name(v));
    }
}

/* The operations of a side, a body or a run where they stand, or a call of their function. */
static void emit_side(Fn *f, const CodeBlock *b)
{
    if (!b)
        return;
    if (!b->fn) {
        emit_block(f, b);
        return;
    }
    call_begin(f);
    out_puts(f->o, call_c(f, b->fn));
    call_end(f);
    reload(f, b->fn);
}

static void emit_indented(Fn *f, const CodeBlock *b)
{
    f->o->indent++;
    emit_side(f, b);
    f->o->indent--;
}

static void emit_test(Fn *f, const HostOp *op)
{
    out_printf(f->o, "if (%s", kir_exp_c(op->exp));
    for (int i = 0; i < op->fits.n; i++) {
        const Fit *fit = &op->fits.at[i];
        f->uses_ctx = true;
        out_printf(f->o, " &&\n    rt_fits(ctx, %s, %s, %s)", kernel_enum(fit->kernel),
                   size_c(f, fit->group_size), size_c(f, fit->local_bytes));
    }
    out_puts(f->o, ")");
}

/* Is rc set where the block ends, whatever it was before? */
static bool sets_rc(const CodeBlock *b)
{
    for (int i = 0; i < b->items.n; i++) {
        const HostOp *op = b->items.at[i].op;
        if (!op || op->guard || op->threshold || op_is(op, HO_CALLS))
            return true;
    }
    return false;
}

/* A version and what runs in its place if it is not taken, or refused. */
static void emit_guard(Fn *f, const CodeItem *it)
{
    Out *o = f->o;
    if (it->op->fits.n == 0) {
        out_printf(o, "rc = %s ? %s : RT_REFUSED;\n", kir_exp_c(it->op->exp),
                   call_c(f, it->then_->fn));
    } else {
        out_puts(o, "rc = RT_REFUSED;\n");
        emit_test(f, it->op);
        out_printf(o, "\n    rc = %s;\n", call_c(f, it->then_->fn));
    }
    forget(f, it->then_->fn);
    out_puts(o, "if (rc == RT_REFUSED)");
    if (it->else_->fn) {
        out_printf(o, "\n    rc = %s;\n", call_c(f, it->else_->fn));
    } else {
        out_puts(o, sets_rc(it->else_) ? " {\n" : " {\n    rc = RT_OK;\n");
        emit_indented(f, it->else_);
        out_puts(o, "}\n");
    }
    out_puts(o, "if (rc)\n");
    emit_fail(f);
    reload(f, it->then_->fn);
    if (it->else_->fn)
        reload(f, it->else_->fn);
}

static void emit_if(Fn *f, const CodeItem *it)
{
    if (it->op->guard) {
        emit_guard(f, it);
        return;
    }
    emit_test(f, it->op);
    out_puts(f->o, " {\n");
    emit_indented(f, it->then_);
    if (it->else_) {
        out_puts(f->o, "} else {\n");
        emit_indented(f, it->else_);
    }
    out_puts(f->o, "}\n");
}

/* Names that are made of what the loop sets are old in its second turn. */
static void forget_set(Fn *f, const CodeBlock *b)
{
    for (int i = 0; b && i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        if (it->op && it->op->var)
            size_names_set(f->sizes, it->op->var);
        forget_set(f, it->then_);
        forget_set(f, it->else_);
    }
}

static void emit_loop(Fn *f, const CodeItem *it)
{
    const HostOp *op = it->op;
    const char *v = var_c_name(op->var);
    forget_set(f, it->then_);
    if (op->threshold) {
        f->uses_ctx = true;
        out_printf(f->o, "rt_loop_begin(ctx, %s);\n", param_enum(f->em->cx, op->threshold));
    }
    if (op->loop_kind == LOOP_WHILE) {
        out_printf(f->o, "while (%s) {\n", v);
    } else {
        varset_add(f->seen, op->var);
        out_printf(f->o, "for (%s %s = 0; %s < %s; %s++) {\n", ctype_c(op->var->type.elem), v, v,
                   kir_exp_c(op->exp), v);
        if (split_shares(f->split, op->var))
            out_printf(f->o, "    s->%s = %s;\n", v, v);
    }
    emit_indented(f, it->then_);
    out_puts(f->o, "}\n");
    if (op->threshold) {
        call_begin(f);
        out_puts(f->o, "rt_loop_end(ctx)");
        call_end(f);
    }
}

/* `next`: the operation behind it, or NULL. */
static void emit_op(Fn *f, const CodeItem *it, const HostOp *next)
{
    const HostOp *op = it->op;
    switch (op->kind) {
    case H_COMMENT:
        out_c_comment(f->o, "%s", op->text);
        out_puts(f->o, "\n");
        return;
    case H_ALLOC: emit_alloc(f, op); return;
    case H_RELEASE: emit_release(f, op); return;
    case H_ALIAS: emit_alias(f, op); return;
    case H_EXP: emit_exp(f, op); return;
    case H_SET: emit_set(f, op); return;
    case H_SUFF: emit_suff(f, op); return;
    case H_RANKS: emit_ranks(f, op); return;
    case H_ROWS: emit_rows(f, op, next); return;
    case H_CHOOSE: emit_choose(f, op); return;
    case H_READ: emit_read(f, op); return;
    case H_RECALL: emit_recall(f, op); return;
    case H_WRITE: emit_write(f, op); return;
    case H_COPY: emit_copy(f, op); return;
    case H_FILL: emit_fill(f, op); return;
    case H_IOTA: emit_iota(f, op); return;
    case H_LITERAL: emit_literal(f, op); return;
    case H_LAUNCH: emit_launch(f, op); return;
    case H_IF: emit_if(f, it); return;
    case H_LOOP: emit_loop(f, it); return;
    case H_ASSERT:
    case H_LIMIT: emit_assert(f, op); return;
    case H_DECLARE: emit_declare(f, op); return;
    case N_HOSTOPS: break;
    }
}

void emit_block(Fn *f, const CodeBlock *b)
{
    size_names_enter(f->sizes, b);
    for (int i = 0; i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        if (!it->op) {
            emit_side(f, it->then_);
            continue;
        }
        if (op_is(it->op, HO_PLACE))
            place_comment(f, it->op->loc);
        size_names_for(f->sizes, f->o, it->op);
        emit_op(f, it, i + 1 < b->items.n ? b->items.at[i + 1].op : NULL);
    }
    size_names_leave(f->sizes);
}
