/* Kernels' statements in what OpenCL C and C have in common. Expressions: exp/exp_c.c. */
#include "kir/target/kernel_c.h"

#include "base/intern.h"
#include "kir/target/once.h"
#include "kir/walk.h"

/* "tile + (at)": from that element on. */
static void from_text(Out *o, const KBuf *b, const KExp *at)
{
    out_printf(o, "%s + (", b->name);
    exp_c(o, at, P_SELECT);
    out_puts(o, ")");
}

static void copy_text(Out *o, const KStm *s)
{
    bool some = s->x[2]->type.elem == T_I64;
    out_printf(o, "%s(%s, ", some ? "MF_COPY_SOME" : "MF_COPY", prim_type_text[s->tile.elem]);
    from_text(o, s->buf, s->x[0]);
    for (int i = 0; i < 2; i++) {
        out_puts(o, ", ");
        exp_c(o, s->args.at[i], P_SELECT);
    }
    out_printf(o, ", %d, ", s->tile.pitch[0]);
    from_text(o, s->with, s->x[1]);
    out_puts(o, ", ");
    exp_c(o, s->x[2], P_SELECT);
    out_puts(o, ");\n");
}

static void wide_fragments_text(Out *o, const KStm *s)
{
    const KTile *t = &s->tile;
    out_printf(o, "MF_WIDE_FRAGMENTS(%s, %d, %d", s->with->name, t->cols, t->k);
    for (int i = 0; i < 2; i++) {
        out_puts(o, ", ");
        from_text(o, s->buf, s->x[i]);
        out_puts(o, ", ");
        exp_c(o, s->args.at[i], P_SELECT);
        out_printf(o, ", %d, %d, %d", t->pitch[i], t->turned[i], t->tall[i]);
    }
    out_puts(o, ");\n");
}

/* Rows that are not in a tile are words. */
static void multiply_text(Out *o, const KStm *s)
{
    const KTile *t = &s->tile;
    if (t->wide)
        out_printf(o, "MF_WIDE_MULTIPLY(%s, %s, %d, %s, %d, %d, %d, %d, %d);\n", s->with->name,
                   s->buf->name, t->cols, t->pitch[0] ? "TILES" : "WORDS", t->turned[0],
                   t->turned[1], t->k == 0, t->fresh, t->last);
    else
        out_printf(o, "MF_MULTIPLY(%s, %s, %s, %d, %d, %d);\n",
                   t->rounded ? "tf32" : prim_type_text[t->elem], s->with->name, s->buf->name,
                   t->half, t->rows, t->cols);
}

static void fragments_text(Out *o, const KStm *s)
{
    const KTile *t = &s->tile;
    if (t->wide) {
        wide_fragments_text(o, s);
        return;
    }
    out_printf(o, "MF_FRAGMENTS(%s, %s, %d, %d, %d, %d", prim_type_text[t->elem], s->with->name,
               t->half, t->rows, t->cols, t->k);
    for (int i = 0; i < 2; i++) {
        out_puts(o, ", ");
        from_text(o, s->buf, s->x[i]);
        out_puts(o, ", ");
        exp_c(o, s->args.at[i], P_SELECT);
        out_printf(o, ", %d, %d", t->pitch[i], t->turned[i]);
    }
    out_puts(o, ");\n");
}

static void line_text(Out *o, const KWords *w, const KStm *s);
static void element_text(Out *o, const KWords *w, const KStm *s);

static const char *value_text(const KWords *w, const KStm *s)
{
    Out o = {0};
    if (s->kind != KST_LOAD)
        return kir_exp_c(s->x[0]);
    element_text(&o, w, s);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

/* The statements; a value that goes on has its text as its name meanwhile. */
static void lines_text(Out *o, const KWords *w, const KBlock *b)
{
    Arena *a = arena_new();
    const char **names = NEWN(a, const char *, b->n);
    for (int i = 0; i < b->n; i++) {
        KVar *v = b->at[i]->var;
        if (!kstm_goes_on(b, i)) {
            line_text(o, w, b->at[i]);
            continue;
        }
        names[i] = v->name;
        v->name = value_text(w, b->at[i]);
    }
    for (int i = 0; i < b->n; i++)
        if (names[i])
            b->at[i]->var->name = names[i];
    arena_free(a);
}

static void block_text(Out *o, const KWords *w, const KBlock *b)
{
    out_puts(o, "{\n");
    o->indent++;
    lines_text(o, w, b);
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

static void element_text(Out *o, const KWords *w, const KStm *s)
{
    const KExp *at = s->x[0];
    bool alone = w->at && s->buf->space == KS_GLOBAL && at->type.index && at->kind == KE_VAR;
    out_printf(o, "%s[%s%s", s->buf->name, alone ? w->at : "", alone ? "(" : "");
    exp_c(o, at, P_SELECT);
    out_puts(o, alone ? ")]" : "]");
}

/* One element, or as many as t has lanes. */
static void elements_text(Out *o, const KWords *w, const KStm *s, KType t)
{
    if (t.lanes == 1) {
        element_text(o, w, s);
        return;
    }
    w->vector(o, s, t);
    exp_c(o, s->x[0], P_PRODUCT);
    out_puts(o, ")");
}

static void load_text(Out *o, const KWords *w, const KStm *s)
{
    declare_text(o, s->var);
    out_puts(o, " = ");
    elements_text(o, w, s, s->var->type);
    out_puts(o, ";\n");
}

static void store_text(Out *o, const KWords *w, const KStm *s)
{
    elements_text(o, w, s, s->x[1]->type);
    init_text(o, s->x[1]);
}

static void race_text(Out *o, const KWords *w, const KStm *s)
{
    out_puts(o, "MF_WRITE_ANY(");
    element_text(o, w, s);
    out_puts(o, ", ");
    exp_c(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void peek_text(Out *o, const KWords *w, const KStm *s)
{
    declare_text(o, s->var);
    out_printf(o, " = mf_peek_%s(&", prim_type_text[s->buf->elem]);
    element_text(o, w, s);
    out_puts(o, ");\n");
}

static void prefetch_text(Out *o, const KStm *s)
{
    out_printf(o, "mf_prefetch(%s, ", s->buf->name);
    exp_c(o, s->x[0], P_SELECT);
    out_puts(o, ");\n");
}

static void post_text(Out *o, const KWords *w, const KStm *s)
{
    out_printf(o, "mf_post_%s(&", prim_type_text[s->buf->elem]);
    element_text(o, w, s);
    out_puts(o, ", ");
    exp_c(o, s->x[1], P_SELECT);
    out_puts(o, ");\n");
}

static void arrive_text(Out *o, const KWords *w, const KStm *s)
{
    declare_text(o, s->var);
    out_puts(o, " = mf_arrive(&");
    element_text(o, w, s);
    out_puts(o, ");\n");
}

static void view_text(Out *o, const KWords *w, const KStm *s)
{
    const char *space = w->space[s->buf->space], *type = ctype_c(s->buf->elem);
    out_printf(o, "%s%s%s *const %s = (%s%s%s *)", space, w->view, type, s->buf->name, space,
               w->view, type);
    if (s->x[0]) {
        out_printf(o, "((%schar *)%s + ", space, s->buf->of->name);
        exp_c(o, s->x[0], P_PRODUCT);
        out_puts(o, ")");
    } else {
        out_puts(o, s->buf->of->name);
    }
    out_puts(o, ";\n");
}

static void atomic_text(Out *o, const KWords *w, const KStm *s)
{
    if (s->var) {
        declare_text(o, s->var);
        out_puts(o, " = ");
    }
    w->atomic(o, s,
              s->kind == KST_CAS    ? "cmpxchg"
              : s->op == N_PRIM_OPS ? "xchg"
                                    : prim_info[s->op].text);
    element_text(o, w, s);
    for (int i = 1; i < kstm_info[s->kind].operands; i++) {
        out_puts(o, ", ");
        exp_c(o, s->x[i], P_SELECT);
    }
    out_puts(o, ");\n");
}

static void for_text(Out *o, const KWords *w, const KStm *s)
{
    const char *i = s->var->name;
    if (s->unroll)
        w->unroll(o, s->unroll);
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
    block_text(o, w, &s->body[0]);
    out_puts(o, "\n");
}

static void while_text(Out *o, const KWords *w, const KStm *s)
{
    out_puts(o, s->post ? "do " : "while (");
    if (s->post) {
        block_text(o, w, &s->body[0]);
        out_puts(o, " while (");
    }
    exp_c(o, s->x[0], P_SELECT);
    out_puts(o, s->post ? ");" : ") ");
    if (!s->post)
        block_text(o, w, &s->body[0]);
    out_puts(o, "\n");
}

static void if_text(Out *o, const KWords *w, const KStm *s)
{
    if (w->branch && w->branch(w->env, o, s))
        return;
    out_puts(o, "if (");
    exp_c(o, s->x[0], P_SELECT);
    out_puts(o, ") ");
    block_text(o, w, &s->body[0]);
    if (s->body[1].n > 0) {
        out_puts(o, " else ");
        block_text(o, w, &s->body[1]);
    }
    out_puts(o, "\n");
}

static void work_text(Out *o, const KWords *w, const KStm *s)
{
    bool label = kir_leaves(&s->body[0], s);
    if (label) {
        block_text(o, w, &s->body[0]);
        out_printf(o, "\n%s:;\n", s->label);
        return;
    }
    block_text(o, w, &s->body[0]);
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

static void line_text(Out *o, const KWords *w, const KStm *s)
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
    case KST_LOAD: load_text(o, w, s); return;
    case KST_STORE: store_text(o, w, s); return;
    case KST_RACE: race_text(o, w, s); return;
    case KST_PEEK: peek_text(o, w, s); return;
    case KST_PREFETCH: prefetch_text(o, s); return;
    case KST_POST: post_text(o, w, s); return;
    case KST_ARRIVE: arrive_text(o, w, s); return;
    case KST_COPY: copy_text(o, s); return;
    case KST_ROUND:
        out_puts(o, "MF_ROUND(");
        exp_c(o, s->x[0], P_SELECT);
        out_puts(o, ");\n");
        return;
    case KST_FRAGMENTS: fragments_text(o, s); return;
    case KST_MULTIPLY: multiply_text(o, s); return;
    case KST_EXPOSE: out_puts(o, "MF_EXPOSE();\n"); return;
    case KST_SETTLE:
        out_printf(o, "MF_SETTLE(%s, %lld);\n", s->buf->name, (long long)s->buf->count);
        return;
    case KST_ARRAY:
        out_printf(o, "%s %s[%lld];\n", ctype_c(s->buf->elem), s->buf->name,
                   (long long)s->buf->count);
        return;
    case KST_VIEW: view_text(o, w, s); return;
    case KST_FAILING:
        declare_text(o, s->var);
        out_puts(o, " = mf_failing(failure, launch);\n");
        return;
    case KST_ATOMIC:
    case KST_CAS: atomic_text(o, w, s); return;
    case KST_FOR: for_text(o, w, s); return;
    case KST_WHILE: while_text(o, w, s); return;
    case KST_IF: if_text(o, w, s); return;
    case KST_BLOCK:
        block_text(o, w, &s->body[0]);
        out_puts(o, "\n");
        return;
    case KST_WORK: work_text(o, w, s); return;
    case KST_LEAVE: out_printf(o, "goto %s;\n", s->target->label); return;
    case KST_BARRIER: w->meet(o, s); return;
    case KST_FAIL: fail_text(o, s); return;
    case KST_HEAP: heap_text(o, s); return;
    case KST_POWER:
        declare_text(o, s->var);
        out_puts(o, " = mf_power(");
        exp_c(o, s->x[0], P_SELECT);
        out_puts(o, ");\n");
        return;
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

void kernel_c(Out *o, const KWords *w, const KBlock *b)
{
    lines_text(o, w, b);
}

void kernel_c_comment(Out *o, const KFun *f)
{
    if (f->what)
        out_c_comment(o, "%s%s%s", f->what, f->place ? ", " : "", f->place ? f->place : "");
}

/* Not inline: that is for the target's compiler to decide. Kernels whose texts are one program may
 * have it in common. */
static void function_text(Out *o, const KWords *w, const KFun *f)
{
    out_printf(o, "\n#ifndef HAS_%s\n#define HAS_%s\nstatic ", f->name, f->name);
    exp_c_type(o, kfun_gives(f));
    out_printf(o, " %s(", f->name);
    for (int i = 0; i < f->params.n; i++) {
        out_puts(o, i ? (i % 8 == 0 ? ",\n        " : ", ") : "");
        exp_c_type(o, f->params.at[i].var->type);
        out_printf(o, " %s", f->params.at[i].var->name);
    }
    out_puts(o, ")\n{\n");
    o->indent++;
    kernel_c(o, w, &f->body);
    o->indent--;
    out_puts(o, "}\n#endif\n");
}

void kernel_c_functions(Out *o, const KWords *w, const KFun *f)
{
    Arena *a = arena_new();
    KFuns called = kfun_called(a, f);
    for (int i = 0; i < called.n; i++)
        function_text(o, w, called.at[i]);
    arena_free(a);
}
