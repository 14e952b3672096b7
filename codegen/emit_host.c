/* Host operations of an entry as a C function. Scalars are declared where they get their value;
 * block variables at the top, and given back at the label `done` whatever happened. A refused
 * launch in a guarded version jumps into the other side of its branch. */
#include "codegen/emit.h"

#include "codegen/host.h"

#include "base/intern.h"

#include <string.h>

typedef struct {
    Emit *em;
    Out *o;
    VarSet *seen;        /* scalars declared so far */
    VarSet *used;        /* scalars that something reads */
    const char *refused; /* where to go when a launch is refused; NULL: nowhere */
    bool *refused_used;
    int n_labels;
    bool uses_done, uses_ctx, uses_in;
    Loc loc; /* of the last comment */
} Fn;

/* --- Pieces ----------------------------------------------------------------------------------- */

const char *kernel_enum(const Kernel *k)
{
    char buf[160];
    snprintf(buf, sizeof buf, "K_%s", k->name);
    return intern(buf);
}

const char *param_enum(Ctx *cx, const char *name)
{
    size_t n = strcspn(name, "."); /* ENTRY.suff_outer_par_0 */
    return arena_printf(cx->perm, "P_%s_%s", c_ident(arena_strndup(cx->perm, name, n)),
                        name + n + (name[n] == '.'));
}

const char *entry_fn(const Entry *en)
{
    char buf[160];
    snprintf(buf, sizeof buf, "entry_%s", c_ident(en->name));
    return intern(buf);
}

/* `if ((rc = CALL)) goto done;` : begins and ends such a statement. */
static void call_begin(Fn *f)
{
    f->uses_done = f->uses_ctx = true;
    out_puts(f->o, "if ((rc = ");
}

static void call_end(Fn *f)
{
    out_puts(f->o, "))\n");
    f->o->indent++;
    out_puts(f->o, "goto done;\n");
    f->o->indent--;
}

/* `i64 n_3 = ` or, if it is declared, `n_3 = `. */
static void assign(Fn *f, const Var *v)
{
    if (!varset_has(f->seen, v)) {
        varset_add(f->seen, v);
        out_printf(f->o, "%s ", ctype_c(v->type.elem));
    }
    out_printf(f->o, "%s = ", var_c_name(v));
}

static void place_comment(Fn *f, Loc loc)
{
    if (!loc.beg || loc.beg == f->loc.beg)
        return;
    f->loc = loc;
    out_c_comment(f->o, "%s", diag_place_str(loc));
    out_puts(f->o, "\n");
}

/* An array of 64-bit numbers as a compound literal; a null pointer if there are none. */
static void i64s(Fn *f, const Texts *xs)
{
    if (xs->n == 0) {
        out_puts(f->o, "NULL");
        return;
    }
    out_puts(f->o, "(const int64_t[]){");
    for (int i = 0; i < xs->n; i++)
        out_printf(f->o, "%s%s", i ? ", " : "", xs->at[i]);
    out_puts(f->o, "}");
}

static Texts dim_texts(Fn *f, const Atoms *dims)
{
    Texts t = {0};
    for (int k = 0; k < dims->n; k++)
        vec_push(f->em->cx->scratch, &t, sx_exact_c(sx_atom(f->em->cx, dims->at[k])));
    return t;
}

static Texts stride_texts(Fn *f, const ArrLoc *l, int rank)
{
    Texts t = {0};
    for (int k = 0; k < rank; k++)
        vec_push(f->em->cx->scratch, &t, sx_exact_c(l->at.strides[k]));
    return t;
}

static const char *count_c(Fn *f, const Atoms *dims)
{
    return sx_exact_c(sx_product(f->em->cx, dims->at, dims->n));
}

static const char *byte_offset(Fn *f, const Sx *elems, PrimType t)
{
    return sx_exact_c(sx_mul(f->em->cx, elems, sx_const(f->em->cx, prim_type_bytes[t])));
}

/* --- Memory operations ------------------------------------------------------------------------ */

static void emit_alloc(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_alloc_at(ctx, &%s, %s, \"%s\", %d)", op->mem->name, sx_exact_c(op->sx),
               op->mem->name, op->site);
    call_end(f);
}

static void emit_read(Fn *f, const HostOp *op)
{
    const Var *v = op->var;
    if (!varset_has(f->seen, v)) {
        varset_add(f->seen, v);
        out_printf(f->o, "%s %s;\n", ctype_c(v->type.elem), var_c_name(v));
    }
    call_begin(f);
    out_printf(f->o, "rt_read_scalar(ctx, %s, %s, %d, &%s)", op->mem->name,
               byte_offset(f, op->sx, v->type.elem), prim_type_bytes[v->type.elem], var_c_name(v));
    call_end(f);
}

static void emit_write(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_write_scalar(ctx, %s, %s, %d, &(%s){%s})", op->mem->name,
               byte_offset(f, op->sx, op->type), prim_type_bytes[op->type], ctype_c(op->type),
               atom_c(op->atom));
    call_end(f);
}

static void emit_copy(Fn *f, const HostOp *op)
{
    int rank = op->dims.n;
    Texts dims = dim_texts(f, &op->dims), dst = stride_texts(f, &op->dst, rank),
          src = stride_texts(f, &op->src, rank);
    call_begin(f);
    out_printf(f->o, "rt_copy_strided(ctx, %d, %d, ", prim_type_bytes[op->type], rank);
    i64s(f, &dims);
    out_printf(f->o, ",\n                          %s, %s, ", op->dst.mem->name,
               sx_exact_c(op->dst.at.offset));
    i64s(f, &dst);
    out_printf(f->o, ",\n                          %s, %s, ", op->src.mem->name,
               sx_exact_c(op->src.at.offset));
    i64s(f, &src);
    out_puts(f->o, ")");
    call_end(f);
}

static void emit_fill(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_fill(ctx, %s, %s, %s, %d, &(%s){%s})", op->dst.mem->name,
               sx_exact_c(op->dst.at.offset), count_c(f, &op->dims), prim_type_bytes[op->type],
               ctype_c(op->type), atom_c(op->atom));
    call_end(f);
}

static void emit_iota(Fn *f, const HostOp *op)
{
    call_begin(f);
    out_printf(f->o, "rt_iota(ctx, %s, %s, %s, %d, (int64_t)%s, (int64_t)%s)", op->dst.mem->name,
               sx_exact_c(op->dst.at.offset), count_c(f, &op->dims), prim_type_bytes[op->type],
               atom_c(op->atom), atom_c(op->atom2));
    call_end(f);
}

static void emit_literal(Fn *f, const HostOp *op)
{
    call_begin(f);
    int bytes = op->elems.n * prim_type_bytes[op->type];
    out_printf(f->o, "rt_write(ctx, %s, 0, %d, (const %s[]){", op->mem->name, bytes,
               ctype_c(op->type));
    for (int i = 0; i < op->elems.n; i++) {
        if (i)
            out_puts(f->o, i % 16 ? ", " : ",\n    ");
        out_puts(f->o, atom_c(op->elems.at[i]));
    }
    out_puts(f->o, "})");
    call_end(f);
}

/* --- Launches --------------------------------------------------------------------------------- */

static const char *arg_macro(PrimType t)
{
    static const char *const text[N_PRIM_TYPES] = {
        [T_BOOL] = "RT_A_BOOL", [T_I8] = "RT_A_I8",   [T_I16] = "RT_A_I16", [T_I32] = "RT_A_I32",
        [T_I64] = "RT_A_I64",   [T_U8] = "RT_A_U8",   [T_U16] = "RT_A_U16", [T_U32] = "RT_A_U32",
        [T_U64] = "RT_A_U64",   [T_F32] = "RT_A_F32", [T_F64] = "RT_A_F64"};
    return text[t];
}

/* Returns how many arguments there are. */
static int emit_args(Fn *f, const KParams *args)
{
    int n = 0;
    bool heap = false;
    for (int i = 0; i < args->n; i++)
        heap = heap || args->at[i].kind == KP_HEAP;
    for (int i = 0; i < args->n; i++) {
        const KParam *p = &args->at[i];
        if (p->kind == KP_FAILURE)
            continue;
        out_puts(f->o, n++ ? ",\n" : "const rt_arg args[] = {\n");
        if (n == 1)
            f->o->indent++;
        switch (p->kind) {
        case KP_FAILURE: break;
        case KP_MEM:
            out_printf(f->o, "%s(%s)", p->updated && heap ? "RT_A_UPDATED" : "RT_A_MEM",
                       p->mem ? p->mem->name : "NULL");
            break;
        case KP_HEAP: out_puts(f->o, "RT_A_HEAP"); break;
        case KP_LOCAL: out_printf(f->o, "RT_A_LOCAL(%s)", sx_exact_c(p->bytes)); break;
        case KP_SCALAR:
            if (p->value && p->type != T_I64)
                out_printf(f->o, "%s((%s)(%s))", arg_macro(p->type), ctype_c(p->type),
                           sx_exact_c(p->value));
            else
                out_printf(f->o, "%s(%s)", arg_macro(p->type),
                           p->value ? sx_exact_c(p->value) : atom_c(p->atom));
            break;
        }
    }
    if (n) {
        f->o->indent--;
        out_puts(f->o, "\n};\n");
    }
    return n;
}

/* The global size of dimension d: work-groups times local[d]. The number of work-groups is mostly
 * computed from the size of one, a long expression: it is written as local[d] there, too. */
static void emit_global(Ctx *cx, Out *o, const HostOp *op, int d)
{
    const Sx *all = sx_mul(cx, op->groups[d], sx_text(cx, arena_printf(cx->perm, "local[%d]", d)));
    const char *text = sx_exact_c(all), *size = sx_exact_c(op->local[d]);
    size_t n = strlen(size);
    SxKind kind = op->local[d]->kind;
    bool is_closed = kind == SX_MIN || kind == SX_MAX || kind == SX_SELECT;
    out_puts(o, d ? ", " : "");
    const char *next;
    for (; is_closed && (next = strstr(text, size)); text = next + n) {
        out_putn(o, text, (size_t)(next - text));
        out_printf(o, "local[%d]", d);
    }
    out_puts(o, text);
}

static void emit_launch(Fn *f, const HostOp *op)
{
    Out *o = f->o;
    f->uses_done = f->uses_ctx = true;
    out_puts(o, "{");
    if (op->kernel->what) {
        out_puts(o, " ");
        out_c_comment(o, "%s", op->kernel->what);
    }
    out_puts(o, "\n");
    o->indent++;
    int n = emit_args(f, &op->args);
    out_puts(o, "const int64_t local[] = {");
    for (int d = 0; d < op->n_launch_dims; d++)
        out_printf(o, "%s%s", d ? ", " : "", sx_exact_c(op->local[d]));
    out_puts(o, "};\nconst int64_t global[] = {");
    for (int d = 0; d < op->n_launch_dims; d++)
        emit_global(f->em->cx, o, op, d);
    out_printf(o, "};\nrc = rt_launch(ctx, %s, %d, global, local, %d, %s);\n",
               kernel_enum(op->kernel), op->n_launch_dims, n, n ? "args" : "NULL");
    if (f->refused) {
        *f->refused_used = true;
        out_printf(o, "if (rc == RT_REFUSED)\n    goto %s;\n", f->refused);
    } else {
        out_printf(o, "if (rc == RT_REFUSED)\n    rc = refused(ctx, %s);\n",
                   kernel_enum(op->kernel));
    }
    out_puts(o, "if (rc)\n    goto done;\n");
    o->indent--;
    out_puts(o, "}\n");
}

/* --- Scalars -------------------------------------------------------------------------------- */

static void emit_exp(Fn *f, const HostOp *op)
{
    assign(f, op->var);
    if (op->exp->kind == E_SUFF) {
        f->uses_ctx = true;
        out_printf(f->o, "rt_suff(ctx, %s, %s, %s);\n", param_enum(f->em->cx, op->exp->suff.name),
                   atom_c(op->exp->suff.par), atom_c(op->exp->suff.work));
    } else {
        out_printf(f->o, "%s;\n", scalar_c(op->exp));
    }
}

static void emit_assert(Fn *f, const HostOp *op)
{
    f->uses_done = f->uses_ctx = true;
    out_printf(f->o, "if (!(%s)) {\n", op->text ? op->text : atom_c(op->atom));
    f->o->indent++;
    out_printf(f->o, "rc = rt_fail(ctx, %d, ", op->site);
    if (op->args_i64.n) {
        out_puts(f->o, "(const int64_t[8]){");
        for (int i = 0; i < op->args_i64.n; i++)
            out_printf(f->o, "%s%s", i ? ", " : "", op->args_i64.at[i]);
        out_puts(f->o, "}");
    } else {
        out_puts(f->o, "NULL");
    }
    out_puts(f->o, ");\ngoto done;\n");
    f->o->indent--;
    out_puts(f->o, "}\n");
}

static void emit_declare(Fn *f, const HostOp *op)
{
    if (!op->var)
        return; /* block variables are at the top */
    varset_add(f->seen, op->var);
    out_printf(f->o, "%s %s = 0;\n", ctype_c(op->var->type.elem), var_c_name(op->var));
}

/* --- Branches and loops ----------------------------------------------------------------------- */

static void emit_ops(Fn *f, const HostOps *ops);

static void emit_side(Fn *f, const HostOps *ops)
{
    f->o->indent++;
    emit_ops(f, ops);
    f->o->indent--;
}

static void emit_test(Fn *f, const HostOp *op)
{
    out_printf(f->o, "if (%s", atom_c(op->atom));
    for (int i = 0; i < op->fits.n; i++) {
        const Fit *fit = &op->fits.at[i];
        f->uses_ctx = true;
        out_printf(f->o, " &&\n    rt_fits(ctx, %s, %s, %s)", kernel_enum(fit->kernel),
                   sx_exact_c(fit->group_size), sx_exact_c(fit->local_bytes));
    }
    out_puts(f->o, ") {\n");
}

static void emit_if(Fn *f, const HostOp *op)
{
    const char *outer = f->refused;
    bool *outer_used = f->refused_used, label_used = false;
    const char *label = NULL;
    emit_test(f, op);
    if (op->guard) {
        label = arena_printf(f->em->cx->perm, "refused_%d", f->n_labels++);
        f->refused = label;
        f->refused_used = &label_used;
    }
    emit_side(f, &op->then_);
    f->refused = outer;
    f->refused_used = outer_used;
    if (op->else_.n == 0 && !label_used) {
        out_puts(f->o, "}\n");
        return;
    }
    out_puts(f->o, "} else {\n");
    if (label_used)
        out_printf(f->o, "%s:;\n", label);
    emit_side(f, &op->else_);
    out_puts(f->o, "}\n");
}

static void emit_loop(Fn *f, const HostOp *op)
{
    const char *v = var_c_name(op->var);
    if (op->loop_kind == LOOP_WHILE) {
        out_printf(f->o, "while (%s) {\n", v);
    } else {
        varset_add(f->seen, op->var);
        out_printf(f->o, "for (%s %s = 0; %s < %s; %s++) {\n", ctype_c(op->var->type.elem), v, v,
                   atom_c(op->atom), v);
    }
    emit_side(f, &op->then_);
    out_puts(f->o, "}\n");
}

static void emit_op(Fn *f, const HostOp *op)
{
    switch (op->kind) {
    case H_COMMENT:
        out_c_comment(f->o, "%s", op->text);
        out_puts(f->o, "\n");
        return;
    case H_ALLOC: emit_alloc(f, op); return;
    case H_RELEASE:
        f->uses_ctx = true;
        out_printf(f->o, "rt_unref(ctx, &%s);\n", op->mem->name);
        return;
    case H_ALIAS:
        f->uses_ctx = true;
        out_printf(f->o, "rt_set(ctx, &%s, %s);\n", op->mem->name, op->mem2->name);
        return;
    case H_EXP: emit_exp(f, op); return;
    case H_SX:
        assign(f, op->var);
        out_printf(f->o, "%s;\n", sx_exact_c(op->sx));
        f->uses_ctx = true;
        return;
    case H_SET:
        assign(f, op->var);
        out_printf(f->o, "%s;\n", atom_c(op->atom));
        return;
    case H_READ: emit_read(f, op); return;
    case H_WRITE: emit_write(f, op); return;
    case H_COPY: emit_copy(f, op); return;
    case H_FILL: emit_fill(f, op); return;
    case H_IOTA: emit_iota(f, op); return;
    case H_LITERAL: emit_literal(f, op); return;
    case H_LAUNCH: emit_launch(f, op); return;
    case H_IF: emit_if(f, op); return;
    case H_LOOP: emit_loop(f, op); return;
    case H_ASSERT: emit_assert(f, op); return;
    case H_DECLARE: emit_declare(f, op); return;
    }
}

static bool wants_place(const HostOp *op)
{
    return op->kind == H_LAUNCH || op->kind == H_IF || op->kind == H_LOOP || op->kind == H_COPY ||
           op->kind == H_FILL || op->kind == H_IOTA || op->kind == H_LITERAL ||
           op->kind == H_ASSERT || op->kind == H_READ || op->kind == H_WRITE;
}

static void emit_ops(Fn *f, const HostOps *ops)
{
    for (int i = 0; i < ops->n; i++) {
        if (wants_place(ops->at[i]))
            place_comment(f, ops->at[i]->loc);
        emit_op(f, ops->at[i]);
    }
}

/* --- The function --------------------------------------------------------------------------- */

/* The block names that the operations mention. */
static void collect_mems(Arena *a, Mems *all, const HostOps *ops)
{
    for (int i = 0; i < ops->n; i++) {
        Mems ms = {0};
        host_op_mems(a, &ms, ops->at[i]);
        for (int k = 0; k < ms.n; k++) {
            bool known = false;
            for (int j = 0; j < all->n && !known; j++)
                known = all->at[j] == ms.at[k];
            if (!known)
                vec_push(a, all, ms.at[k]);
        }
        collect_mems(a, all, &ops->at[i]->then_);
        collect_mems(a, all, &ops->at[i]->else_);
    }
}

/* The place of value k of the entry's parameters in the source's parameter list, for messages. */
static const char *param_text(Fn *f, const Entry *en, int k)
{
    int first = 0;
    for (int x = 0; x < en->ext_params.n; x++) {
        const ExtParam *ep = &en->ext_params.at[x];
        if (k < first + ep->type.n_vals)
            return ep->name ? arena_printf(f->em->cx->perm, "argument %d (%s)", x + 1, ep->name)
                            : arena_printf(f->em->cx->perm, "argument %d", x + 1);
        first += ep->type.n_vals;
    }
    return "argument";
}

/* Dimension d of parameter k, which is known already, must be what the type says. */
static void emit_dim_check(Fn *f, const Entry *en, int k, int d)
{
    Type t = en->params.at[k]->type;
    Out *o = f->o;
    f->uses_done = f->uses_ctx = f->uses_in = true;
    out_printf(o, "if (in[%d].shape[%d] != %s) {\n", k, d, atom_c(t.dims[d]));
    o->indent++;
    const char *where = arena_printf(f->em->cx->perm, "%s: %s: ", en->name, param_text(f, en, k));
    out_printf(o, "rc = rt_error_set(ctx, \"%%s%s\",\n                  ",
               t.dims[d].var ? "size %s is %lld here, but %lld before"
                             : "dimension %d has size %lld, but must have %lld");
    const Var *size = t.dims[d].var;
    out_printf(o, "%s, %s, (long long)in[%d].shape[%d], (long long)%s);\n",
               c_string(f->em->cx, where),
               size ? c_string(f->em->cx, size->base) : arena_printf(f->em->cx->perm, "%d", d + 1),
               k, d, atom_c(t.dims[d]));
    out_puts(o, "goto done;\n");
    o->indent--;
    out_puts(o, "}\n");
}

static bool is_entry_size(const Entry *en, const Var *v)
{
    for (int i = 0; i < en->sizes.n; i++)
        if (en->sizes.at[i] == v)
            return true;
    return false;
}

/* In how many places of the parameters' types does the size stand? */
static int size_count(const Entry *en, const Var *n)
{
    int count = 0;
    for (int k = 0; k < en->params.n; k++)
        for (int d = 0; d < en->params.at[k]->type.rank; d++)
            count += en->params.at[k]->type.dims[d].var == n;
    return count;
}

/* Scalar parameters first; then the sizes, each from the first array that has it. */
static void emit_params(Fn *f, const EntryPlan *ep)
{
    const Entry *en = ep->entry;
    for (int k = 0; k < en->params.n; k++) {
        const Var *v = en->params.at[k];
        if (v->type.rank == 0 && (varset_has(f->used, v) || size_count(en, v))) {
            const char *member = v->type.elem == T_BOOL ? "b" : prim_type_text[v->type.elem];
            assign(f, v);
            out_printf(f->o, "in[%d].scalar.%s;\n", k, member);
            f->uses_in = true;
        }
    }
    for (int k = 0; k < en->params.n; k++) {
        Type t = en->params.at[k]->type;
        for (int d = 0; d < t.rank; d++) {
            Var *n = t.dims[d].var;
            if (n && is_entry_size(en, n) && !varset_has(f->seen, n)) {
                if (size_count(en, n) == 1 && !varset_has(f->used, n))
                    continue;
                assign(f, n);
                out_printf(f->o, "in[%d].shape[%d];\n", k, d);
                f->uses_in = true;
            } else {
                emit_dim_check(f, en, k, d);
            }
        }
    }
}

static void emit_results(Fn *f, const EntryPlan *ep)
{
    for (int i = 0; i < ep->results.n; i++) {
        Atom a = ep->results.at[i];
        Type t = atom_type(a);
        if (t.rank == 0) {
            const char *member = t.elem == T_BOOL ? "b" : prim_type_text[t.elem];
            out_printf(f->o, "out[%d] = (rt_value){.prim = %s, .scalar.%s = %s};\n", i,
                       rt_prim_c(t.elem), member, atom_c(a));
            continue;
        }
        out_printf(f->o, "out[%d] = (rt_value){.prim = %s, .rank = %d, .shape = {", i,
                   rt_prim_c(t.elem), t.rank);
        for (int d = 0; d < t.rank; d++)
            out_printf(f->o, "%s%s", d ? ", " : "", atom_c(t.dims[d]));
        out_printf(f->o, "},\n                    .mem = rt_ref(%s)};\n",
                   ep->result_locs.at[i].mem->name);
    }
}

/* --- Assembly --------------------------------------------------------------------------------- */

static VarSet *entry_uses(Ctx *cx, const EntryPlan *ep)
{
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < ep->ops.n; i++)
        host_op_uses(used, ep->ops.at[i]);
    for (int i = 0; i < ep->results.n; i++) {
        Atom a = ep->results.at[i];
        Type t = atom_type(a);
        if (a.var)
            varset_add(used, a.var);
        for (int d = 0; d < t.rank; d++)
            if (t.dims[d].var)
                varset_add(used, t.dims[d].var);
    }
    return used;
}

static Mems entry_mems(Ctx *cx, const EntryPlan *ep)
{
    Mems all = {0};
    collect_mems(cx->perm, &all, &ep->ops);
    for (int i = 0; i < ep->result_locs.n; i++) {
        Mem *m = ep->result_locs.at[i].mem;
        bool known = !m;
        for (int k = 0; k < all.n; k++)
            known |= all.at[k] == m;
        if (!known)
            vec_push(cx->perm, &all, m);
    }
    return all;
}

static void declare_mems(Out *o, Fn *f, const EntryPlan *ep, const Mems *all)
{
    int n_own = 0;
    for (int k = 0; k < ep->param_locs.n; k++)
        for (int i = 0; i < all->n; i++)
            if (all->at[i] == ep->param_locs.at[k].mem) {
                out_printf(o, "rt_mem *const %s = in[%d].mem;\n", all->at[i]->name, k);
                f->uses_in = true;
            }
    for (int i = 0; i < all->n; i++) {
        if (all->at[i]->is_param)
            continue;
        const char *sep = n_own == 0 ? "rt_mem *" : n_own % 4 ? ", *" : ",\n       *";
        out_printf(o, "%s%s = NULL", sep, all->at[i]->name);
        n_own++;
    }
    if (n_own)
        out_puts(o, ";\n");
}

/* The sizes of the device that the operations mention. */
static void declare_sizes(Out *o, Fn *f, const HostOps *ops)
{
    bool used[N_SIZES] = {false};
    for (int i = 0; i < ops->n; i++)
        host_op_sizes(used, ops->at[i]);
    for (int id = 0; id < N_SIZES; id++)
        if (used[id]) {
            out_printf(o, "const i64 %s = rt_size(ctx, %s);\n", size_c_name((SizeId)id),
                       size_rt_name((SizeId)id));
            f->uses_ctx = true;
        }
}

/* The end of the function: everything that is still held is given back. */
static void emit_end(Out *o, const Fn *f, const Mems *all)
{
    if (f->uses_done) {
        o->indent--;
        out_puts(o, "done:\n");
        o->indent++;
    }
    for (int i = 0; i < all->n; i++)
        if (!all->at[i]->is_param)
            out_printf(o, "rt_unref(ctx, &%s);\n", all->at[i]->name);
    out_puts(o, "return rc;\n");
}

void emit_entry(Emit *em, const EntryPlan *ep)
{
    const Entry *en = ep->entry;
    Out body = {.indent = 1}, *o = em->o;
    Fn f = {.em = em, .o = &body, .seen = varmap_new(em->cx->perm), .used = entry_uses(em->cx, ep)};
    emit_params(&f, ep);
    emit_ops(&f, &ep->ops);
    emit_results(&f, ep);
    Mems all = entry_mems(em->cx, ep);

    out_c_comment(o, "entry %s, %s", en->name, diag_place_str(en->loc));
    out_printf(o, "\nstatic int %s(rt_ctx *ctx, const rt_value *in, rt_value *out)\n{\n",
               entry_fn(en));
    o->indent++;
    out_puts(o, "int rc = RT_OK;\n");
    declare_mems(o, &f, ep, &all);
    declare_sizes(o, &f, &ep->ops);
    if (!f.uses_ctx && all.n == 0)
        out_puts(o, "(void)ctx;\n");
    if (!f.uses_in)
        out_puts(o, "(void)in;\n");
    if (ep->results.n == 0)
        out_puts(o, "(void)out;\n");
    o->indent--;
    if (body.n)
        out_putn(o, body.text, body.n);
    o->indent++;
    emit_end(o, &f, &all);
    o->indent--;
    out_puts(o, "}\n\n");
    out_free(&body);
}
