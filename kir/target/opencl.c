/* Kernel IR as OpenCL C: the only place that knows its words. Statements: kernel_c.c. */
#include "kir/target/kernel_c.h"

#include "kir/walk.h"

/* --- Words ------------------------------------------------------------------------------------ */

static const KWords words;

/* A vector's memory is aligned: vload and vstore, which need not believe it, would access it by
 * elements. */
static void vector_text(Out *o, const KStm *s, KType t)
{
    out_printf(o, "*(%s%s", s->kind == KST_LOAD ? "const " : "", words.space[s->buf->space]);
    exp_c_type(o, t);
    out_printf(o, " *)(%s + ", s->buf->name);
}

static void unroll_text(Out *o, int turns)
{
    enum { SOME_TURNS = 8 }; /* more are for devices with registers for what the loop works on */
    if (turns > SOME_TURNS)
        out_printf(o, "MF_UNROLL(%d)\n", turns);
    else
        out_printf(o, turns < 0 ? "#pragma unroll\n" : "#pragma unroll %d\n", turns);
}

static void meet_text(Out *o, const KStm *s)
{
    bool local = s->fence & 1u << KS_LOCAL, global = s->fence & 1u << KS_GLOBAL;
    out_printf(o, "%s(%s%s%s);\n", s->lead ? "mf_meet_lead" : "barrier",
               local ? "CLK_LOCAL_MEM_FENCE" : "", local && global ? " | " : "",
               global ? "CLK_GLOBAL_MEM_FENCE" : "");
}

/* old = atomic_op((volatile space type *)&buf[at], ...); of floats mf_add_space_type */
static void atomic_text(Out *o, const KStm *s, const char *name)
{
    PrimType t = s->buf->elem;
    bool adds = s->kind == KST_ATOMIC && s->op == OP_ADD && prim_is_float(t);
    if (adds)
        out_printf(o, "mf_add_%s_%s(&", s->buf->space == KS_LOCAL ? "shared" : "global",
                   prim_type_text[t]);
    else
        out_printf(o, "%s_%s((volatile %s%s *)&", prim_type_bytes[t] == 8 ? "mf_atom" : "atomic",
                   name, words.space[s->buf->space], ctype_c(t));
}

/* A variable of 32 bits that is the position itself is taken without its sign (mf_at of
 * prelude.cl): NVIDIA's compiler then adds it to the address in one operation (the loop of n bodies
 * takes 0.85 of the time). With sums it could no longer take constants and counters out of the
 * address: products take twice the time. */
static const KWords words = {
    .space = {[KS_GLOBAL] = "__global ", [KS_LOCAL] = "__local ", [KS_PRIVATE] = ""},
    .view = "",
    .at = "mf_at",
    .vector = vector_text,
    .unroll = unroll_text,
    .meet = meet_text,
    .atomic = atomic_text,
};

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
            out_puts(o, words.space[p->buf->space]);
            exp_c_type(o, (KType){.elem = p->buf->elem, .lanes = lanes});
            out_printf(o, " *%s_aligned%s", p->buf->name, given(f, p));
            return;
        }
        out_printf(o, "%s%s%s *%s%s%s", p->buf->read_only ? "const " : "",
                   words.space[p->buf->space], ctype_c(p->buf->elem),
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
    const char *space = words.space[p->buf->space], *type = ctype_c(p->buf->elem);
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

void kir_opencl(Out *o, const KFun *f)
{
    kernel_c_functions(o, &words, f);
    kernel_c_comment(o, f);
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
    kernel_c(o, &words, &f->body);
    o->indent--;
    out_puts(o, "}\n");
}
