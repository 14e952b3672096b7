/* Kernel IR as OpenCL C: the only place that knows its words. Expressions: exp/exp_c.c. */
#include "base/intern.h"
#include "exp/exp_c.h"
#include "kir/target/once.h"
#include "kir/walk.h"

#include <string.h>

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
    exp_c_type(o, v->type);
    out_printf(o, " %s", v->name);
}

static void init_text(Out *o, const KExp *x)
{
    if (x) {
        out_puts(o, " = ");
        exp_c(o, exp_without_cast(x), P_SELECT);
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
    exp_c(o, at, P_SELECT);
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
    exp_c_type(o, t);
    out_printf(o, " *)(%s + ", s->buf->name);
    exp_c(o, s->x[0], P_PRODUCT);
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
    exp_c(o, s->x[1], P_SELECT);
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
    exp_c(o, s->x[1], P_SELECT);
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
        exp_c(o, s->x[0], P_PRODUCT);
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
        exp_c(o, s->x[i], P_SELECT);
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
    exp_c_type(o, s->var->type);
    out_printf(o, " %s = ", i);
    exp_c(o, s->x[0], P_SELECT);
    out_printf(o, "; %s < ", i);
    exp_c(o, s->x[1], P_SUM);
    if (kx_is_int(s->x[2], 1) && !s->doubling) {
        out_printf(o, "; %s++) ", i);
    } else {
        out_printf(o, "; %s %s= ", i, s->doubling ? "*" : "+");
        exp_c(o, s->x[2], P_SELECT);
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
    exp_c(o, s->x[0], P_SELECT);
    out_puts(o, s->post ? ");" : ") ");
    if (!s->post)
        block_text(o, &s->body[0]);
    out_puts(o, "\n");
}

static void if_text(Out *o, const KStm *s)
{
    out_puts(o, "if (");
    exp_c(o, s->x[0], P_SELECT);
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
            exp_c(o, s->args.at[i], P_SELECT);
        else
            out_puts(o, "0");
    }
    out_puts(o, ");\n");
}

static void heap_text(Out *o, const KStm *s)
{
    out_printf(o, "%s = mf_heap_alloc(failure, launch, heap_chunk, &%s, ", s->var->name,
               s->top->name);
    exp_c(o, s->x[0], P_SELECT);
    out_puts(o, ", ");
    exp_c(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void barrier_text(Out *o, const KStm *s)
{
    bool local = s->fence & 1u << KS_LOCAL, global = s->fence & 1u << KS_GLOBAL;
    out_printf(o, "%s(%s%s%s);\n", s->lead ? "mf_meet_lead" : "barrier",
               local ? "CLK_LOCAL_MEM_FENCE" : "", local && global ? " | " : "",
               global ? "CLK_GLOBAL_MEM_FENCE" : "");
}

static void call_text(Out *o, const KStm *s)
{
    declare_text(o, s->var);
    out_printf(o, " = %s(", s->fun->name);
    for (int i = 0; i < s->args.n; i++) {
        out_puts(o, i ? ", " : "");
        exp_c(o, s->args.at[i], P_SELECT);
    }
    out_puts(o, ");\n");
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
        exp_c(o, s->x[0], P_SELECT);
        out_puts(o, ", ");
        exp_c(o, s->x[1], P_SELECT);
        out_puts(o, ");\n");
        return;
    case KST_CALL: call_text(o, s); return;
    case KST_GIVE:
        out_puts(o, "return ");
        exp_c(o, s->x[0], P_SELECT);
        out_puts(o, ";\n");
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
            exp_c_type(o, (KType){.elem = p->buf->elem, .lanes = lanes});
            out_printf(o, " *%s_aligned%s", p->buf->name, given(f, p));
            return;
        }
        out_printf(o, "%s%s%s *%s%s%s", p->buf->read_only ? "const " : "",
                   space_word(p->buf->space), ctype_c(p->buf->elem),
                   p->buf->no_alias ? "restrict " : "", p->buf->name, given(f, p));
        return;
    case KP_SCALAR:
        exp_c_type(o, p->var->type);
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
    exp_c_type(o, (KType){.elem = p->buf->elem, .lanes = lanes});
    out_printf(o, ", %s%s);\n", p->buf->name, vectors ? "_aligned" : "");
}

/* A count of elements for the preprocessor: a parameter is its number among arguments. */
static void count_text(Out *o, const KFun *f, const KExp *x)
{
    if (x->kind == KE_PRIM) {
        out_puts(o, "(");
        count_text(o, f, x->x[0]);
        out_puts(o, exp_c_sign(x));
        count_text(o, f, x->x[1]);
        out_puts(o, ")");
        return;
    }
    if (x->kind == KE_CONST) {
        exp_c(o, x, P_SELECT);
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

/* Not inline: that is for the device's compiler to decide. Kernels whose texts are one program may
 * have it in common. */
static void function_text(Out *o, const KFun *f)
{
    out_printf(o, "\n#ifndef HAS_%s\n#define HAS_%s\nstatic ", f->name, f->name);
    exp_c_type(o, kfun_gives(f));
    out_printf(o, " %s(", f->name);
    for (int i = 0; i < f->params.n; i++) {
        out_puts(o, i ? (i % 8 == 0 ? ",\n        " : ", ") : "");
        formal_text(o, f, &f->params.at[i]);
    }
    out_puts(o, ")\n{\n");
    o->indent++;
    lines_text(o, &f->body);
    o->indent--;
    out_puts(o, "}\n#endif\n");
}

void kir_opencl(Out *o, const KFun *f)
{
    Arena *a = arena_new();
    KFuns called = kfun_called(a, f);
    for (int i = 0; i < called.n; i++)
        function_text(o, called.at[i]);
    arena_free(a);
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
