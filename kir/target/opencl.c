/* Kernel IR as OpenCL C: the only place that knows its words. The text of an expression also
 * compiles as C, with the functions of common/scalar.h. */
#include "kir/kir.h"

#include "base/intern.h"
#include "kir/target/once.h"
#include "kir/walk.h"

#include <string.h>

/* How tightly operators bind; what binds less stands in parentheses, bits and shifts always. */
enum { P_SELECT, P_LOR, P_LAND, P_BITS, P_COMPARE, P_SUM, P_PRODUCT, P_UNARY, P_PRIMARY };

static void exp_text(Out *o, const KExp *x, int level);

/* --- Types ------------------------------------------------------------------------------------ */

#define OPENCL_WORD(TAG, T, text, bits, C, CL, ...) [T_##TAG] = #CL,

static void ktype_text(Out *o, KType t)
{
    if (t.lanes == 1) {
        out_puts(o, t.index ? "mf_index" : ctype_c(t.elem));
        return;
    }
    static const char *const words[N_PRIM_TYPES] = {RT_SCALARS(OPENCL_WORD, )};
    out_printf(o, "%s%d", words[t.elem], t.lanes);
}

/* --- Operations ------------------------------------------------------------------------------- */

typedef struct {
    const char *sign;
    int level;
} Infix;

/* The operator that op is in C on operands of type t; no sign where a function is needed. */
static Infix infix_of(PrimOp op, PrimType t, bool exact)
{
    bool plain = prim_is_float(t) || exact;
    switch ((int)op) { /* not over all operations: what is not listed is a function */
    case OP_ADD: return plain ? (Infix){" + ", P_SUM} : (Infix){0};
    case OP_SUB: return plain ? (Infix){" - ", P_SUM} : (Infix){0};
    case OP_MUL: return plain ? (Infix){" * ", P_PRODUCT} : (Infix){0};
    case OP_DIV: return prim_is_float(t) ? (Infix){" / ", P_PRODUCT} : (Infix){0};
    case OP_AND: return (Infix){" & ", P_BITS};
    case OP_OR: return (Infix){" | ", P_BITS};
    case OP_XOR: return (Infix){" ^ ", P_BITS};
    case OP_LAND: return (Infix){" && ", P_LAND};
    case OP_LOR: return (Infix){" || ", P_LOR};
    case OP_MIN: return t == T_BOOL ? (Infix){" && ", P_LAND} : (Infix){0};
    case OP_MAX: return t == T_BOOL ? (Infix){" || ", P_LOR} : (Infix){0};
    case OP_EQ: return (Infix){" == ", P_COMPARE};
    case OP_NE: return (Infix){" != ", P_COMPARE};
    case OP_LT: return (Infix){" < ", P_COMPARE};
    case OP_LE: return (Infix){" <= ", P_COMPARE};
    }
    return (Infix){0};
}

static bool is_index_division(const KExp *x)
{
    return x->exact && (x->op == OP_QUOT || x->op == OP_REM);
}

/* Of an operation; dividing what is not negative by a constant is cheap as it stands. */
static Infix infix(const KExp *x)
{
    if (is_index_division(x) && x->x[1]->kind == KE_CONST)
        return (Infix){x->op == OP_QUOT ? " / " : " % ", P_PRODUCT};
    return infix_of(x->op, x->x[0]->type.elem, x->exact);
}

static void args_text(Out *o, const KExp *x)
{
    for (int i = 0; i < x->n; i++) {
        out_puts(o, i ? ", " : "");
        exp_text(o, x->x[i], P_SELECT);
    }
}

static int level_of(const KExp *x);

/* Of one kind they need no parentheses; nothing else is left bare: C compilers warn. */
static void infix_text(Out *o, const KExp *x, Infix f)
{
    bool chain = f.level == P_LAND || f.level == P_LOR;
    bool apart = f.level == P_BITS || f.level == P_COMPARE;
    for (int i = 0; i < 2; i++) {
        const KExp *arg = x->x[i];
        int level = apart || (i && !chain) ? f.level + 1 : f.level;
        if (f.level == P_LOR && level_of(arg) == P_LAND)
            level = P_LAND + 1;
        out_puts(o, i ? f.sign : "");
        exp_text(o, arg, level);
    }
}

static void function_text(Out *o, const KExp *x)
{
    PrimType t = x->x[0]->type.elem;
    if (x->type.index)
        out_printf(o, "mf_%s%s_index(", is_index_division(x) ? "exact_" : "",
                   prim_info[x->op].text);
    else if (is_index_division(x) && x->op == OP_QUOT)
        out_puts(o, "mf_index_div(");
    else if (is_index_division(x))
        out_puts(o, "mf_index_mod(");
    else if (x->saturate)
        out_printf(o, "mf_size_%s(", prim_info[x->op].text);
    else
        out_printf(o, "mf_%s_%s(", x->op == OP_MULHI ? "mulhi" : prim_info[x->op].text,
                   prim_type_text[t]);
    args_text(o, x);
    out_puts(o, ")");
}

/* Level of the text that exp_text makes for x, so that it knows about parentheses. */
static int level_of(const KExp *x)
{
    switch (x->kind) {
    case KE_SELECT: return P_SELECT;
    case KE_CONV: return x->type.elem == T_BOOL ? P_COMPARE : P_UNARY;
    case KE_PRIM:
        if (x->op == OP_NOT || x->op == OP_COMPL ||
            (x->op == OP_NEG && prim_is_float(x->type.elem)))
            return P_UNARY;
        Infix f = infix(x);
        return f.sign ? f.level : P_PRIMARY;
    case KE_CONST:
    case KE_VAR:
    case KE_HOST:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return P_PRIMARY;
}

static void prim_text(Out *o, const KExp *x)
{
    PrimType t = x->x[0]->type.elem;
    Infix f = infix(x);
    if (x->op == OP_NOT)
        out_puts(o, "!");
    else if (x->op == OP_COMPL)
        out_printf(o, "(%s)~", ctype_c(t));
    else if (x->op == OP_NEG && prim_is_float(t))
        out_puts(o, "-");
    else if (f.sign) {
        infix_text(o, x, f);
        return;
    } else {
        function_text(o, x);
        return;
    }
    exp_text(o, x->x[0], P_UNARY);
}

/* Is a function needed where C would not do, or not say, the same? */
static bool conv_function(KType from, KType to)
{
    return prim_is_int(to.elem) &&
           (prim_is_float(from.elem) || prim_is_signed(from.elem) > prim_is_signed(to.elem));
}

/* A work-item's place in the launch: get_NAME(dimension), as an index mf_NAME(dimension). */
static const char *const launch_id[N_KIDS] = {
    [KID_GROUP] = "group_id",    [KID_LOCAL] = "local_id",        [KID_GROUP_SIZE] = "local_size",
    [KID_GROUPS] = "num_groups", [KID_GRID_SIZE] = "global_size",
};

static void conv_text(Out *o, const KExp *x)
{
    KType from = x->x[0]->type, to = x->type;
    if (to.elem == T_BOOL) {
        exp_text(o, x->x[0], P_PRIMARY);
        out_puts(o, " != 0");
    } else if (conv_function(from, to)) {
        out_printf(o, "mf_%s_to_%s(", prim_type_text[from.elem], prim_type_text[to.elem]);
        exp_text(o, x->x[0], P_SELECT);
        out_puts(o, ")");
    } else if (to.index && x->x[0]->kind == KE_ID && launch_id[x->x[0]->id]) {
        out_printf(o, "mf_%s(%d)", launch_id[x->x[0]->id], x->x[0]->dim);
    } else {
        out_puts(o, "(");
        ktype_text(o, to);
        out_puts(o, ")");
        exp_text(o, x->x[0], P_UNARY);
    }
}

static const char *const other_id[N_KIDS] = {
    [KID_LANE] = "mf_lane()",
    [KID_LANES] = "MF_LANES",
    [KID_IN_LEAD] = "MF_IN_LEAD",
    [KID_LEAD_SIZE] = "MF_LEAD_SIZE",
    [KID_FAILED_BEFORE] = "mf_failed_before(failure, launch)",
    [KID_ATOMIC64] = "MF_ATOMIC64",
    [KID_UNROLLS] = "MF_UNROLLS",
    [KID_HAS_SLICES] = "has_slices",
};

static void id_text(Out *o, const KExp *x)
{
    if (launch_id[x->id])
        out_printf(o, "get_%s(%d)", launch_id[x->id], x->dim);
    else if (other_id[x->id])
        out_puts(o, other_id[x->id]);
    else
        ice(NO_LOC, "%s: the kernel is not specialised to its target", kid_info[x->id].word);
}

static void const_text(Out *o, const KExp *x)
{
    if (x->type.index)
        out_printf(o, x->c.i < 0 ? "(%lld)" : "%lld", (long long)x->c.i);
    else
        out_puts(o, kir_const_c(x->c));
}

static void exp_text(Out *o, const KExp *x, int level)
{
    bool paren = level_of(x) < level;
    out_puts(o, paren ? "(" : "");
    switch (x->kind) {
    case KE_CONST: const_text(o, x); break;
    case KE_VAR: out_puts(o, x->var->name); break;
    case KE_HOST: out_puts(o, var_c_name(x->host)); break;
    case KE_PRIM: prim_text(o, x); break;
    case KE_CONV: conv_text(o, x); break;
    case KE_SELECT:
        exp_text(o, x->x[0], P_LOR);
        out_puts(o, " ? ");
        exp_text(o, x->x[1], P_LOR);
        out_puts(o, " : ");
        exp_text(o, x->x[2], P_SELECT);
        break;
    case KE_ID: id_text(o, x); break;
    case KE_PART:
        exp_text(o, x->x[0], P_PRIMARY);
        out_printf(o, ".s%d", x->dim);
        break;
    case KE_VECTOR:
        out_puts(o, "(");
        ktype_text(o, x->type);
        out_puts(o, ")(");
        args_text(o, x);
        out_puts(o, ")");
        break;
    case N_KEXPS: break;
    }
    out_puts(o, paren ? ")" : "");
}

const char *kir_exp_c(const KExp *x)
{
    Out o = {0};
    exp_text(&o, x, P_SELECT);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

/* --- Statements ------------------------------------------------------------------------------- */

static const char *space_word(KSpace s)
{
    static const char *const words[N_KSPACES] = {
        [KS_GLOBAL] = "__global ", [KS_LOCAL] = "__local ", [KS_PRIVATE] = ""};
    return words[s];
}

static void line_text(Out *o, const KStm *s), element_text(Out *o, const KStm *s);

static const char *value_text(const KStm *s)
{
    Out o = {0};
    if (s->kind != KST_LOAD)
        return kir_exp_c(s->x[0]);
    element_text(&o, s);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

/* The statements; a value that goes on has its text as its name meanwhile. */
static void lines_text(Out *o, const KBlock *b)
{
    Arena *a = arena_new();
    const char **names = NEWN(a, const char *, b->n);
    for (int i = 0; i < b->n; i++) {
        KVar *v = b->at[i]->var;
        if (!kstm_goes_on(b, i)) {
            line_text(o, b->at[i]);
            continue;
        }
        names[i] = v->name;
        v->name = value_text(b->at[i]);
    }
    for (int i = 0; i < b->n; i++)
        if (names[i])
            b->at[i]->var->name = names[i];
    arena_free(a);
}

static void block_text(Out *o, const KBlock *b)
{
    out_puts(o, "{\n");
    o->indent++;
    lines_text(o, b);
    o->indent--;
    out_puts(o, "}");
}

static void declare_text(Out *o, const KVar *v)
{
    out_puts(o, v->mutable_ ? "" : "const ");
    ktype_text(o, v->type);
    out_printf(o, " %s", v->name);
}

/* An assignment converts as a cast does. */
static const KExp *without_cast(const KExp *x)
{
    bool casts = x->kind == KE_CONV && x->type.lanes == 1 && !conv_function(x->x[0]->type, x->type);
    return casts && x->type.elem != T_BOOL ? x->x[0] : x;
}

static void init_text(Out *o, const KExp *x)
{
    if (x) {
        out_puts(o, " = ");
        exp_text(o, without_cast(x), P_SELECT);
    }
    out_puts(o, ";\n");
}

/* A variable of 32 bits that is the position itself is taken without its sign: NVIDIA's compiler
 * then adds it to the address in one operation (the loop of n bodies takes 0.85 of the time). With
 * sums it could no longer take constants and counters out of the address: products take twice the
 * time. */
static void element_text(Out *o, const KStm *s)
{
    const KExp *at = s->x[0];
    bool alone = s->buf->space == KS_GLOBAL && at->type.index && at->kind == KE_VAR;
    out_printf(o, alone ? "%s[mf_at(" : "%s[", s->buf->name);
    exp_text(o, at, P_SELECT);
    out_puts(o, alone ? ")]" : "]");
}

/* One element, or as many as t has lanes. A vector's memory is aligned: vload and vstore, which
 * need not believe it, would access it by elements. */
static void elements_text(Out *o, const KStm *s, KType t)
{
    if (t.lanes == 1) {
        element_text(o, s);
        return;
    }
    out_printf(o, "*(%s%s", s->kind == KST_LOAD ? "const " : "", space_word(s->buf->space));
    ktype_text(o, t);
    out_printf(o, " *)(%s + ", s->buf->name);
    exp_text(o, s->x[0], P_PRODUCT);
    out_puts(o, ")");
}

static void load_text(Out *o, const KStm *s)
{
    declare_text(o, s->var);
    out_puts(o, " = ");
    elements_text(o, s, s->var->type);
    out_puts(o, ";\n");
}

static void store_text(Out *o, const KStm *s)
{
    elements_text(o, s, s->x[1]->type);
    init_text(o, s->x[1]);
}

static void race_text(Out *o, const KStm *s)
{
    out_puts(o, "MF_WRITE_ANY(");
    element_text(o, s);
    out_puts(o, ", ");
    exp_text(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void peek_text(Out *o, const KStm *s)
{
    declare_text(o, s->var);
    out_printf(o, " = mf_peek_%s(&", prim_type_text[s->buf->elem]);
    element_text(o, s);
    out_puts(o, ");\n");
}

static void post_text(Out *o, const KStm *s)
{
    out_printf(o, "mf_post_%s(&", prim_type_text[s->buf->elem]);
    element_text(o, s);
    out_puts(o, ", ");
    exp_text(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void arrive_text(Out *o, const KStm *s)
{
    declare_text(o, s->var);
    out_puts(o, " = mf_arrive(&");
    element_text(o, s);
    out_puts(o, ");\n");
}

static void view_text(Out *o, const KStm *s)
{
    const char *space = space_word(s->buf->space), *type = ctype_c(s->buf->elem);
    out_printf(o, "%s%s *const %s = (%s%s *)", space, type, s->buf->name, space, type);
    if (s->x[0]) {
        out_printf(o, "((%schar *)%s + ", space, s->buf->of->name);
        exp_text(o, s->x[0], P_PRODUCT);
        out_puts(o, ")");
    } else {
        out_puts(o, s->buf->of->name);
    }
    out_puts(o, ";\n");
}

/* old = atomic_op((volatile space type *)&buf[at], ...); of floats mf_add_space_type */
static void atomic_text(Out *o, const KStm *s)
{
    PrimType t = s->buf->elem;
    bool adds = s->kind == KST_ATOMIC && s->op == OP_ADD && prim_is_float(t);
    const char *op = s->kind == KST_CAS    ? "cmpxchg"
                     : s->op == N_PRIM_OPS ? "xchg"
                                           : prim_info[s->op].text;
    if (s->var) {
        declare_text(o, s->var);
        out_puts(o, " = ");
    }
    if (adds)
        out_printf(o, "mf_add_%s_%s(&", s->buf->space == KS_LOCAL ? "shared" : "global",
                   prim_type_text[t]);
    else
        out_printf(o, "%s_%s((volatile %s%s *)&", prim_type_bytes[t] == 8 ? "mf_atom" : "atomic",
                   op, space_word(s->buf->space), ctype_c(t));
    element_text(o, s);
    for (int i = 1; i < kstm_info[s->kind].operands; i++) {
        out_puts(o, ", ");
        exp_text(o, s->x[i], P_SELECT);
    }
    out_puts(o, ");\n");
}

static void for_text(Out *o, const KStm *s)
{
    enum { SOME_TURNS = 8 }; /* more are for devices with registers for what the loop works on */
    const char *i = s->var->name;
    if (s->unroll > SOME_TURNS)
        out_printf(o, "MF_UNROLL(%d)\n", s->unroll);
    else if (s->unroll)
        out_printf(o, s->unroll < 0 ? "#pragma unroll\n" : "#pragma unroll %d\n", s->unroll);
    out_puts(o, "for (");
    ktype_text(o, s->var->type);
    out_printf(o, " %s = ", i);
    exp_text(o, s->x[0], P_SELECT);
    out_printf(o, "; %s < ", i);
    exp_text(o, s->x[1], P_SUM);
    if (kx_is_int(s->x[2], 1) && !s->doubling) {
        out_printf(o, "; %s++) ", i);
    } else {
        out_printf(o, "; %s %s= ", i, s->doubling ? "*" : "+");
        exp_text(o, s->x[2], P_SELECT);
        out_puts(o, ") ");
    }
    block_text(o, &s->body[0]);
    out_puts(o, "\n");
}

static void while_text(Out *o, const KStm *s)
{
    out_puts(o, s->post ? "do " : "while (");
    if (s->post) {
        block_text(o, &s->body[0]);
        out_puts(o, " while (");
    }
    exp_text(o, s->x[0], P_SELECT);
    out_puts(o, s->post ? ");" : ") ");
    if (!s->post)
        block_text(o, &s->body[0]);
    out_puts(o, "\n");
}

static void if_text(Out *o, const KStm *s)
{
    out_puts(o, "if (");
    exp_text(o, s->x[0], P_SELECT);
    out_puts(o, ") ");
    block_text(o, &s->body[0]);
    if (s->body[1].n > 0) {
        out_puts(o, " else ");
        block_text(o, &s->body[1]);
    }
    out_puts(o, "\n");
}

static void work_text(Out *o, const KStm *s)
{
    bool label = kir_leaves(&s->body[0], s);
    if (label) {
        block_text(o, &s->body[0]);
        out_printf(o, "\n%s:;\n", s->label);
        return;
    }
    block_text(o, &s->body[0]);
    out_puts(o, "\n");
}

static void fail_text(Out *o, const KStm *s)
{
    enum { ARGS = 8 }; /* of mf_fail */
    out_printf(o, "mf_fail(failure, launch, %d", s->site);
    for (int i = 0; i < ARGS; i++) {
        out_puts(o, ", ");
        if (i < s->args.n)
            exp_text(o, s->args.at[i], P_SELECT);
        else
            out_puts(o, "0");
    }
    out_puts(o, ");\n");
}

static void heap_text(Out *o, const KStm *s)
{
    out_printf(o, "%s = mf_heap_alloc(failure, launch, heap_chunk, &%s, ", s->var->name,
               s->top->name);
    exp_text(o, s->x[0], P_SELECT);
    out_puts(o, ", ");
    exp_text(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void barrier_text(Out *o, const KStm *s)
{
    bool local = s->fence & 1u << KS_LOCAL, global = s->fence & 1u << KS_GLOBAL;
    out_printf(o, "%s(%s%s%s);\n", s->lead ? "mf_meet_lead" : "barrier",
               local ? "CLK_LOCAL_MEM_FENCE" : "", local && global ? " | " : "",
               global ? "CLK_GLOBAL_MEM_FENCE" : "");
}

static void line_text(Out *o, const KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
        declare_text(o, s->var);
        init_text(o, s->x[0]);
        return;
    case KST_SET:
        out_puts(o, s->var->name);
        init_text(o, s->x[0]);
        return;
    case KST_LOAD: load_text(o, s); return;
    case KST_STORE: store_text(o, s); return;
    case KST_RACE: race_text(o, s); return;
    case KST_PEEK: peek_text(o, s); return;
    case KST_POST: post_text(o, s); return;
    case KST_ARRIVE: arrive_text(o, s); return;
    case KST_ARRAY:
        out_printf(o, "%s %s[%lld];\n", ctype_c(s->buf->elem), s->buf->name,
                   (long long)s->buf->count);
        return;
    case KST_VIEW: view_text(o, s); return;
    case KST_FAILING:
        declare_text(o, s->var);
        out_puts(o, " = mf_failing(failure, launch);\n");
        return;
    case KST_ATOMIC:
    case KST_CAS: atomic_text(o, s); return;
    case KST_FOR: for_text(o, s); return;
    case KST_WHILE: while_text(o, s); return;
    case KST_IF: if_text(o, s); return;
    case KST_BLOCK:
        block_text(o, &s->body[0]);
        out_puts(o, "\n");
        return;
    case KST_WORK: work_text(o, s); return;
    case KST_LEAVE: out_printf(o, "goto %s;\n", s->target->label); return;
    case KST_BARRIER: barrier_text(o, s); return;
    case KST_FAIL: fail_text(o, s); return;
    case KST_HEAP: heap_text(o, s); return;
    case KST_SHUFFLE:
        declare_text(o, s->var);
        out_printf(o, " = mf_shuffle_%s(",
                   s->var->type.index ? "index" : prim_type_text[s->var->type.elem]);
        exp_text(o, s->x[0], P_SELECT);
        out_puts(o, ", ");
        exp_text(o, s->x[1], P_SELECT);
        out_puts(o, ");\n");
        return;
    case KST_FRESH: return;
    case KST_COMMENT:
        out_c_comment(o, "%s", s->text);
        out_puts(o, "\n");
        return;
    case N_KSTMS: break;
    }
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* The type that its parameter points to aligns local memory: for vectors, that of a vector. */
static bool points_to_vectors(const KFormal *p)
{
    return p->kind == KP_LOCAL && p->buf->align > prim_type_bytes[p->buf->elem];
}

static bool has_slices(const KFun *f, const KBuf *b)
{
    for (int i = 0; i < f->slices.n && b; i++)
        if (f->slices.at[i].buf == b)
            return true;
    return false;
}

/* What a kernel is given may be named otherwise in it: sizes_text, slices_text. */
static const char *given(const KFun *f, const KFormal *p)
{
    return p->steady || has_slices(f, p->buf) ? "_given" : "";
}

static void formal_text(Out *o, const KFun *f, const KFormal *p)
{
    switch (p->kind) {
    case KP_FAILURE: out_puts(o, "__global mf_failure *failure, int launch"); return;
    case KP_MEM:
    case KP_LOCAL:
        if (points_to_vectors(p)) {
            int lanes = p->buf->align / prim_type_bytes[p->buf->elem];
            out_puts(o, space_word(p->buf->space));
            ktype_text(o, (KType){.elem = p->buf->elem, .lanes = lanes});
            out_printf(o, " *%s_aligned%s", p->buf->name, given(f, p));
            return;
        }
        out_printf(o, "%s%s%s *%s%s%s", p->buf->read_only ? "const " : "",
                   space_word(p->buf->space), ctype_c(p->buf->elem),
                   p->buf->no_alias ? "restrict " : "", p->buf->name, given(f, p));
        return;
    case KP_SCALAR:
        ktype_text(o, p->var->type);
        out_printf(o, " %s%s", p->var->name, given(f, p));
        return;
    case KP_HEAP: out_printf(o, "__global char *%s, i64 %s", p->buf->name, p->var->name); return;
    }
}

/* The elements of vectors that a parameter points to. */
static void elements_of_text(Out *o, const KFormal *p)
{
    if (!points_to_vectors(p))
        return;
    const char *space = space_word(p->buf->space), *type = ctype_c(p->buf->elem);
    out_printf(o, "%s%s *const %s = (%s%s *)%s_aligned;\n", space, type, p->buf->name, space, type,
               p->buf->name);
}

/* Local memory of a known size, of the kernel itself or given. */
static void local_text(Out *o, const KFormal *p, int number)
{
    bool vectors = points_to_vectors(p);
    int lanes = vectors ? p->buf->align / prim_type_bytes[p->buf->elem] : 1;
    out_printf(o, "MF_LOCAL(%d, ", number);
    ktype_text(o, (KType){.elem = p->buf->elem, .lanes = lanes});
    out_printf(o, ", %s%s);\n", p->buf->name, vectors ? "_aligned" : "");
}

/* A count of elements for the preprocessor: a parameter is its number among arguments. */
static void count_text(Out *o, const KFun *f, const KExp *x)
{
    if (x->kind == KE_PRIM) {
        out_puts(o, "(");
        count_text(o, f, x->x[0]);
        out_puts(o, infix(x).sign);
        count_text(o, f, x->x[1]);
        out_puts(o, ")");
        return;
    }
    if (x->kind == KE_CONST) {
        const_text(o, x);
        return;
    }
    int number = 0;
    for (int i = 0; i < f->params.n && f->params.at[i].var != x->var; i++)
        number += f->params.at[i].kind != KP_FAILURE;
    out_printf(o, "MF_SIZE(%d, 0)", number);
}

static bool kslice_alike(const KSlice *x, const KSlice *y)
{
    return x->buf->elem == y->buf->elem && kx_same(x->count, y->count);
}

/* The slices as long as slice i, and of its type, are declared together, by the first. */
static bool is_first_alike(const KSlices *s, int i)
{
    for (int k = 0; k < i; k++)
        if (kslice_alike(&s->at[k], &s->at[i]))
            return false;
    return true;
}

static int n_alike(const KSlices *s, int i)
{
    int n = 0;
    for (int k = i; k < s->n; k++)
        n += kslice_alike(&s->at[k], &s->at[i]);
    return n;
}

/* "f32 x[5 + 1], y[5 + 1];" in private memory, or pointers to the blocks. */
static void alike_text(Out *o, const KFun *f, int first, bool private_)
{
    const KSlices *s = &f->slices;
    out_printf(o, "%s%s ", private_ ? "" : "__global ", ctype_c(s->at[first].buf->elem));
    for (int k = first; k < s->n; k++) {
        const char *name = s->at[k].buf->name, *comma = k > first ? ", " : "";
        if (!kslice_alike(&s->at[k], &s->at[first]))
            continue;
        if (!private_) {
            out_printf(o, "%s*const %s = %s_given", comma, name, name);
            continue;
        }
        out_printf(o, "%s%s[", comma, name);
        count_text(o, f, s->at[k].count);
        out_puts(o, " + 1]");
    }
    out_puts(o, ";\n");
}

/* Private arrays in the place of blocks whose sizes are known and small (slices.c). */
static void slices_text(Out *o, const KFun *f)
{
    const KSlices *s = &f->slices;
    if (s->n == 0)
        return;
    out_puts(o, "#if MF_SIZED && ");
    for (int i = 0; i < s->n; i++) {
        if (!is_first_alike(s, i))
            continue;
        out_printf(o, i ? " + %d * " : "%d * ",
                   n_alike(s, i) * prim_type_bytes[s->at[i].buf->elem]);
        count_text(o, f, s->at[i].count);
    }
    out_puts(o, " <= MF_PRIVATE_BYTES\nconst mf_bool has_slices = 1;\n");
    for (int private_ = 1; private_ >= 0; private_--) {
        for (int i = 0; i < s->n; i++)
            if (is_first_alike(s, i))
                alike_text(o, f, i, private_);
        out_puts(o, private_ ? "#else\nconst mf_bool has_slices = 0;\n" : "#endif\n");
    }
}

/* Parameters that the text may be built for, see MF_SIZE in runtime/kernels/prelude.cl. */
static void sizes_text(Out *o, const KFun *f)
{
    int number = 0; /* among the arguments of a launch */
    for (int i = 0; i < f->params.n; i++) {
        const KFormal *p = &f->params.at[i];
        if (p->steady && p->kind == KP_LOCAL)
            local_text(o, p, number);
        else if (p->steady)
            out_printf(o, "const i64 %s = MF_SIZE(%d, %s_given);\n", p->var->name, number,
                       p->var->name);
        number += p->kind != KP_FAILURE;
    }
}

void kir_opencl(Out *o, const KFun *f)
{
    if (f->what)
        out_c_comment(o, "%s%s%s", f->what, f->place ? ", " : "", f->place ? f->place : "");
    out_printf(o, "\n__kernel %svoid %s(MF_GRID ", f->sized ? "MF_SHAPE " : "", f->name);
    for (int i = 0; i < f->params.n; i++) {
        out_puts(o, i ? (i % 4 == 0 ? ",\n        " : ", ") : "");
        formal_text(o, f, &f->params.at[i]);
    }
    out_puts(o, ")\n{\n");
    o->indent++;
    sizes_text(o, f);
    for (int i = 0; i < f->params.n; i++)
        elements_of_text(o, &f->params.at[i]);
    slices_text(o, f);
    lines_text(o, &f->body);
    o->indent--;
    out_puts(o, "}\n");
}
