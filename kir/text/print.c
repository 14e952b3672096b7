/* Kernels as text; the grammar is atop text.h. */
#include "kir/text/text.h"

#include "kir/walk.h"

#include "base/intern.h"

#include <string.h>

/* --- Types ------------------------------------------------------------------------------------ */

const char *ktype_text(KType t)
{
    Out o = {0};
    out_puts(&o, t.index ? "index" : prim_type_text[t.elem]);
    if (t.lanes != 1)
        out_printf(&o, "x%d", t.lanes);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

static void var_text_(Out *o, const KVar *v)
{
    out_printf(o, "%s: %s", v->name, ktype_text(v->type));
}

static void buf_text(Out *o, const KBuf *b)
{
    out_printf(o, "%s: %s %s", b->name, kspace_text[b->space], prim_type_text[b->elem]);
    if (b->count)
        out_printf(o, "[%lld]", (long long)b->count);
    out_puts(o, b->read_only ? " read_only" : "");
    out_puts(o, b->no_alias ? " no_alias" : "");
    out_puts(o, b->write_any ? " write_any" : "");
    out_puts(o, b->own_writes ? " own_writes" : "");
    out_puts(o, b->padded ? " padded" : "");
    out_puts(o, b->unshared ? " unshared" : "");
    if (b->align)
        out_printf(o, " align %d", b->align);
}

/* --- Expressions ------------------------------------------------------------------------------ */

static void exp_text(Out *o, const KExp *x, int level);

static const KInfix *infix_of(const KExp *x)
{
    for (int i = 0; x->kind == KE_PRIM && i < n_kinfixes; i++)
        if (kinfixes[i].op == x->op && kinfixes[i].exact == x->exact && !x->saturate)
            return &kinfixes[i];
    return NULL;
}

static bool is_not(const KExp *x)
{
    return x->kind == KE_PRIM && x->op == OP_NOT && !x->exact;
}

static void args_text(Out *o, const KExp *const *x, int n)
{
    out_puts(o, "(");
    for (int i = 0; i < n; i++) {
        out_puts(o, i ? ", " : "");
        exp_text(o, x[i], KL_LOWEST);
    }
    out_puts(o, ")");
}

static void prim_text(Out *o, const KExp *x)
{
    const KInfix *f = infix_of(x);
    if (f) {
        exp_text(o, x->x[0], f->level + (f->level == KL_COMPARE));
        out_printf(o, " %s ", f->sign);
        exp_text(o, x->x[1], f->level + 1);
    } else if (is_not(x)) {
        out_puts(o, "!");
        exp_text(o, x->x[0], KL_UNARY);
    } else {
        out_printf(o, "%s%s", x->saturate ? "saturate." : "", prim_info[x->op].text);
        if (!x->exact && !x->saturate)
            out_printf(o, ".%s", prim_type_text[x->x[0]->type.elem]);
        args_text(o, x->x, x->n);
    }
}

static void const_text(Out *o, Const c)
{
    if (c.type == T_I64)
        out_printf(o, "%lld", (long long)c.i);
    else
        out_puts(o, atom_text((Atom){NULL, c}));
}

static int level_of(const KExp *x)
{
    const KInfix *f = infix_of(x);
    return f ? f->level : is_not(x) ? KL_UNARY : KL_PRIMARY;
}

static void exp_text(Out *o, const KExp *x, int level)
{
    bool paren = level_of(x) < level;
    out_puts(o, paren ? "(" : "");
    switch (x->kind) {
    case KE_CONST: const_text(o, x->c); break;
    case KE_VAR: out_puts(o, x->var->name); break;
    case KE_HOST: out_puts(o, var_c_name(x->host)); break;
    case KE_PRIM: prim_text(o, x); break;
    case KE_CONV: out_printf(o, "%s.%s", kexp_word[x->kind], ktype_text(x->type)); break;
    case KE_SIZE: out_puts(o, size_c_name(x->fact)); break;
    case KE_SELECT:
    case KE_CEILDIV:
    case KE_VECTOR: out_puts(o, kexp_word[x->kind]); break;
    case KE_ID:
        out_puts(o, kid_info[x->id].word);
        if (x->dim)
            out_printf(o, ".%d", x->dim);
        break;
    case KE_PART:
        exp_text(o, x->x[0], KL_PRIMARY);
        out_printf(o, ".%d", x->dim);
        break;
    case N_KEXPS: break;
    }
    if (x->kind == KE_CONV || x->kind == KE_SELECT || x->kind == KE_VECTOR || x->kind == KE_CEILDIV)
        args_text(o, x->x, x->n);
    out_puts(o, paren ? ")" : "");
}

/* --- Parts of statements: each begins with a blank -------------------------------------------- */

static void operand_text(Out *o, const char *before, const KExp *x)
{
    out_puts(o, before);
    exp_text(o, x, KL_LOWEST);
}

static void put_binder(Out *o, const KStm *s)
{
    out_puts(o, " ");
    var_text_(o, s->var);
}

static void put_binder_if(Out *o, const KStm *s)
{
    if (s->var) {
        put_binder(o, s);
        out_puts(o, " =");
    }
}

static void put_var(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->var->name);
}

static void put_top(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->top->name);
}

static void put_buf(Out *o, const KStm *s)
{
    out_puts(o, " ");
    buf_text(o, s->buf);
}

static void put_of(Out *o, const KStm *s)
{
    out_printf(o, " of %s", s->buf->of->name);
}

static void put_name(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->buf->name);
}

static void put_element(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->buf->name);
    operand_text(o, "[", s->x[0]);
    out_puts(o, "]");
}

static void put_with(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->with->name);
}

static void put_with_element(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->with->name);
    operand_text(o, "[", s->x[1]);
    out_puts(o, "]");
}

static void put_pitch(Out *o, const KStm *s)
{
    out_printf(o, " pitch %d", s->tile.pitch[0]);
}

static void put_tile(Out *o, const KStm *s)
{
    const KTile *t = &s->tile;
    out_printf(o, " %s %d %d half %d k %d", prim_type_text[t->elem], t->rows, t->cols, t->half,
               t->k);
    for (int i = 0; i < 2; i++)
        out_printf(o, " pitch %d%s", t->pitch[i], t->turned[i] ? " turned" : "");
    if (t->rounded)
        out_puts(o, " rounded");
    if (t->wide)
        out_printf(o, " wide %d %d%s%s", t->tall[0], t->tall[1], t->fresh ? " fresh" : "",
                   t->last ? " last" : "");
}

static void put_0(Out *o, const KStm *s)
{
    operand_text(o, " ", s->x[0]);
}

static void put_1(Out *o, const KStm *s)
{
    operand_text(o, " ", s->x[1]);
}

static void put_2(Out *o, const KStm *s)
{
    operand_text(o, " ", s->x[2]);
}

static void put_init(Out *o, const KStm *s)
{
    if (s->x[0])
        operand_text(o, " = ", s->x[0]);
}

static void put_at(Out *o, const KStm *s)
{
    if (s->x[0])
        operand_text(o, " at ", s->x[0]);
}

static void put_step(Out *o, const KStm *s)
{
    operand_text(o, s->doubling ? " times " : " by ", s->x[2]);
}

static void put_op(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->op == N_PRIM_OPS ? kxchg_word : prim_info[s->op].text);
}

static void put_unroll(Out *o, const KStm *s)
{
    if (s->unroll < 0)
        out_puts(o, " unroll all");
    else if (s->unroll > 0)
        out_printf(o, " unroll %d", s->unroll);
}

static void put_likely(Out *o, const KStm *s)
{
    out_puts(o, s->likely ? " likely" : "");
}

static void put_label(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->label);
}

static void put_target(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->target->label);
}

static void put_fence(Out *o, const KStm *s)
{
    out_puts(o, s->lead ? " lead" : "");
    for (int k = 0; k < N_KSPACES; k++)
        if (s->fence & 1u << k)
            out_printf(o, " %s", kspace_text[k]);
}

static void put_site(Out *o, const KStm *s)
{
    out_printf(o, " %d", s->site);
}

static void put_args(Out *o, const KStm *s)
{
    out_puts(o, " ");
    args_text(o, s->args.at, s->args.n);
}

static void put_fun(Out *o, const KStm *s)
{
    out_printf(o, " %s", s->fun->name);
}

static void put_text(Out *o, const KStm *s)
{
    out_puts(o, " ");
    out_quoted(o, s->text);
}

static void print_stm(Out *o, const KStm *s);

static void block_text(Out *o, const KBlock *b)
{
    out_puts(o, " {\n");
    o->indent++;
    for (int i = 0; i < b->n; i++)
        print_stm(o, b->at[i]);
    o->indent--;
    out_puts(o, "}");
}

static void put_block(Out *o, const KStm *s)
{
    block_text(o, &s->body[0]);
}

static void put_else(Out *o, const KStm *s)
{
    if (s->body[1].n > 0) {
        out_puts(o, " else");
        block_text(o, &s->body[1]);
    }
}

typedef struct {
    const char *item;
    void (*put)(Out *o, const KStm *s);
} Putter;
static const Putter putters[] = {
    {"V", put_binder},      {"V=", put_binder_if},
    {"v", put_var},         {"top", put_top},
    {"B", put_buf},         {"of", put_of},
    {"@", put_element},     {"0", put_0},
    {"1", put_1},           {"2", put_2},
    {"=0", put_init},       {"at0", put_at},
    {"by", put_step},       {"op", put_op},
    {"unroll", put_unroll}, {"likely", put_likely},
    {"label", put_label},   {"target", put_target},
    {"fence", put_fence},   {"site", put_site},
    {"args", put_args},     {"b", put_name},
    {"text", put_text},     {"{", put_block},
    {"else", put_else},     {"fun", put_fun},
    {"with", put_with},     {"with@", put_with_element},
    {"tile", put_tile},     {"pitch", put_pitch},
};

static void put_item(Out *o, const KStm *s, const char *item)
{
    for (size_t i = 0; i < sizeof putters / sizeof *putters; i++)
        if (strcmp(putters[i].item, item) == 0) {
            putters[i].put(o, s);
            return;
        }
    out_printf(o, strcmp(item, ",") == 0 ? "%s" : " %s", item);
}

static void print_stm(Out *o, const KStm *s)
{
    const KSyntax *syn = ksyntax_of(s);
    char item[KITEM_MOST];
    out_puts(o, syn->word);
    for (const char *at = syn->items; ksyntax_item(&at, item);)
        put_item(o, s, item);
    out_puts(o, "\n");
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static void formal_text(Out *o, const KFormal *p)
{
    out_puts(o, kformal_word[p->kind]);
    if (p->buf) {
        out_puts(o, " ");
        buf_text(o, p->buf);
    }
    if (p->var) {
        out_puts(o, p->buf ? ", " : " ");
        var_text_(o, p->var);
    }
    out_puts(o, p->steady ? " steady" : "");
    out_puts(o, "\n");
}

static void quoted_text(Out *o, const char *before, const char *text)
{
    if (text) {
        out_puts(o, before);
        out_quoted(o, text);
    }
}

static void fun_text(Out *o, const KFun *f)
{
    out_printf(o, "%s %s", f->is_function ? "function" : "kernel", f->name);
    quoted_text(o, " ", f->what);
    quoted_text(o, " at ", f->place);
    out_puts(o, f->may_fail ? " may_fail" : "");
    out_puts(o, f->alone ? " alone" : "");
    out_puts(o, f->sized ? " sized" : "");
    out_puts(o, kcolumns_word[f->columns]);
    if (f->vector_bytes)
        out_printf(o, " vectors %d", f->vector_bytes);
    out_puts(o, f->heap_types ? " heap_of" : "");
    for (int t = 0; t < N_PRIM_TYPES; t++)
        if (f->heap_types & 1u << t)
            out_printf(o, " %s", prim_type_text[t]);
    out_puts(o, f->narrow ? " narrow\n" : "\n");
    o->indent++;
    for (int i = 0; i < f->params.n; i++)
        formal_text(o, &f->params.at[i]);
    for (int i = 0; i < f->slices.n; i++) {
        out_printf(o, "slice %s", f->slices.at[i].buf->name);
        operand_text(o, " of ", f->slices.at[i].count);
        out_puts(o, "\n");
    }
    for (int i = 0; i < f->narrow_when.n; i++) {
        operand_text(o, "when ", f->narrow_when.at[i]);
        out_puts(o, "\n");
    }
    o->indent--;
    out_puts(o, "{\n");
    o->indent++;
    for (int i = 0; i < f->body.n; i++)
        print_stm(o, f->body.at[i]);
    o->indent--;
    out_puts(o, "}\n");
}

void kir_print(Out *o, const KFun *f)
{
    Arena *a = arena_new();
    KFuns called = kfun_called(a, f);
    for (int i = 0; i < called.n; i++) {
        fun_text(o, called.at[i]);
        out_puts(o, "\n");
    }
    fun_text(o, f);
    arena_free(a);
}

/* --- For messages ----------------------------------------------------------------------------- */

const char *kstm_text(const KStm *s)
{
    Out o = {0};
    print_stm(&o, s);
    const char *text = intern_n(o.text, strcspn(o.text, "\n"));
    out_free(&o);
    return text;
}
