/* Kernel IR as C: the only place that knows the words of kernels in C, which
 * runtime/kernels/native.h explains. Statements: kernel_c.c. A kernel is two functions,
 *
 *     static void groups_NAME(const f32 *restrict xs, i64 n, const size_t *groups, ...)
 *     {
 *         for (mf_place mf = mf_begin(groups, size, first); first < end; first++, mf_next(&mf)) {
 *             ...
 *         }
 *     }
 *
 *     RT_KERNEL(kernel_NAME)(void *const *args, const size_t *groups, ...)
 *     {
 *         groups_NAME(args[0], *(const i64 *)args[1], groups, size, first, end);
 *     }
 *
 * the second one a rt_dev_function (runtime/drivers/dev.h). They are two, since compilers believe
 * `restrict` of parameters only. Work-items of a group are a loop, where something asks which one
 * it is: else all of them do the same, once. */
#include "kir/target/kernel_c.h"

#include "kir/walk.h"

/* --- Words ------------------------------------------------------------------------------------ */

/* Compilers make vectors themselves: KTarget.vector_bytes is 0. */
static void vector_text(Out *o, const KStm *s, KType t)
{
    (void)o, (void)t;
    ice(s->loc, "%s: vectors in C", s->buf->name);
}

/* They know better how many turns pay. */
static void unroll_text(Out *o, int turns)
{
    (void)o, (void)turns;
}

/* Kernels that meet have groups of one, and no barrier (kir_specialize). */
static void meet_text(Out *o, const KStm *s)
{
    (void)o;
    ice(s->loc, "a barrier in C");
}

static void atomic_text(Out *o, const KStm *s, const char *name)
{
    out_printf(o, "mf_atomic_%s_%s(&", name, prim_type_text[s->buf->elem]);
}

static const KWords words = {
    .space = {[KS_GLOBAL] = "", [KS_LOCAL] = "", [KS_PRIVATE] = ""},
    .view = "mf_view_",
    .vector = vector_text,
    .unroll = unroll_text,
    .meet = meet_text,
    .atomic = atomic_text,
};

/* --- What a kernel uses ----------------------------------------------------------------------- */

enum { DIMS = 3 };

typedef struct {
    PtrSet *names;   /* variables and buffers */
    PtrSet *numbers; /* variables that are computed, not counted: nobody can foretell them */
    bool failure, scatters;
    bool items[DIMS]; /* asks for the work-item's number in that dimension */
} Used;

typedef struct {
    const Used *u;
    bool found;
} Numbers;

static void find_number(void *env, const KExp *x)
{
    Numbers *w = env;
    w->found |= x->kind == KE_VAR && ptrset_has(w->u->numbers, x->var);
}

static bool is_number(const Used *u, const KExp *x)
{
    Numbers w = {u, false};
    kexp_visit(x, find_number, &w);
    return w.found;
}

static void note_number(Used *u, const KStm *s)
{
    const KVar *v = kstm_def(s);
    bool made = s->buf || s->kind == KST_VAR;
    if (v && s->kind != KST_FOR && (made || (s->kind == KST_LET && is_number(u, s->x[0]))))
        ptrset_add(u->numbers, v);
}

/* A store at a place that is computed, or none: what scatters do. */
static bool is_scattered(const Used *u, const KStm *s)
{
    if (s->kind != KST_IF || s->likely || s->body[0].n != 1 || s->body[1].n > 0)
        return false;
    const KStm *st = s->body[0].at[0];
    return st->kind == KST_STORE && st->buf->space == KS_GLOBAL && st->x[1]->type.lanes == 1 &&
           is_number(u, st->x[0]);
}

static void use_exp(void *env, const KExp *x)
{
    Used *u = env;
    if (x->kind == KE_VAR)
        ptrset_add(u->names, x->var);
    if (x->kind == KE_ID && x->id == KID_LOCAL)
        u->items[x->dim] = true;
    u->failure |= x->kind == KE_ID && x->id == KID_FAILED_BEFORE;
}

static bool use_stm(void *env, KStm *s)
{
    Used *u = env;
    ASSERT(s->kind != KST_SHUFFLE); /* with nobody */
    kstm_visit_exps(s, use_exp, u);
    if (s->buf)
        ptrset_add(u->names, s->buf);
    if (s->kind == KST_VIEW)
        ptrset_add(u->names, s->buf->of);
    note_number(u, s);
    u->scatters |= is_scattered(u, s);
    return true;
}

static Used used_by(Arena *a, const KFun *f)
{
    Used u = {.names = ptrmap_new(a), .numbers = ptrmap_new(a)};
    kblock_visit(&f->body, &(KVisitor){&u, use_stm, NULL});
    u.failure |= kblock_knows_failures(&f->body);
    return u;
}

/* A scatter writes into a word that nobody reads instead of a branch, which would often be guessed
 * wrong. */
static bool scatter_text(const void *env, Out *o, const KStm *s)
{
    if (!is_scattered(env, s))
        return false;
    const KStm *st = s->body[0].at[0];
    out_printf(o, "*(%s *)mf_where(", ctype_c(st->buf->elem));
    exp_c(o, s->x[0], P_SELECT);
    out_printf(o, ", &%s[", st->buf->name);
    exp_c(o, st->x[0], P_SELECT);
    out_puts(o, "], &nowhere) = ");
    exp_c(o, st->x[1], P_SELECT);
    out_puts(o, ";\n");
    return true;
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static const char LAUNCH[] = "const size_t *groups, const size_t *size, size_t first, size_t end)\n"
                             "{\n";

/* A parameter and what it is among the arguments of a launch, as far as the kernel uses it. */
typedef struct {
    Out formals, args;
    int at; /* of the next argument */
    int n;  /* parameters so far */
} Params;

/* Four in a line. */
static void begin_param(Params *p)
{
    const char *text = p->n == 0 ? "" : p->n % 4 == 0 ? ",\n        " : ", ";
    p->n++;
    out_printf(&p->formals, "%s", text);
    out_printf(&p->args, "%s", text);
}

static void put_scalar(Params *p, KType t, const char *name)
{
    Out type = {0};
    begin_param(p);
    exp_c_type(&type, t);
    out_printf(&p->formals, "%s %s", type.text, name);
    out_printf(&p->args, "*(const %s *)args[%d]", type.text, p->at);
    out_free(&type);
}

static void put_buffer(Params *p, const KBuf *b)
{
    begin_param(p);
    out_printf(&p->formals, "%s%s *%s%s", b->read_only ? "const " : "", ctype_c(b->elem),
               b->no_alias ? "restrict " : "", b->name);
    out_printf(&p->args, "args[%d]", p->at);
}

static void put_formal(Params *p, const KFormal *f, const Used *u, bool heap)
{
    switch (f->kind) {
    case KP_FAILURE:
        if (u->failure) {
            begin_param(p);
            out_puts(&p->formals, "mf_failure *failure, int launch");
            out_printf(&p->args, "args[%d], *(const int *)args[%d]", p->at, p->at + 1);
        }
        p->at += 2;
        return;
    case KP_MEM:
    case KP_LOCAL:
        if (ptrset_has(u->names, f->buf))
            put_buffer(p, f->buf);
        p->at++;
        return;
    case KP_SCALAR:
        if (ptrset_has(u->names, f->var))
            put_scalar(p, f->var->type, f->var->name);
        p->at++;
        return;
    case KP_HEAP:
        if (ptrset_has(u->names, f->buf))
            put_buffer(p, f->buf);
        p->at++;
        if (heap || ptrset_has(u->names, f->var))
            put_scalar(p, f->var->type, f->var->name);
        p->at++;
        return;
    }
}

static int begin_items(Out *o, const Used *u)
{
    int n = 0;
    for (int d = DIMS - 1; d >= 0; d--) {
        if (!u->items[d])
            continue;
        out_printf(o, "for (mf.item[%d] = 0; mf.item[%d] < mf.size[%d]; mf.item[%d]++) {\n", d, d,
                   d, d);
        o->indent++;
        n++;
    }
    return n;
}

static void end_blocks(Out *o, int n)
{
    for (; n > 0; n--) {
        o->indent--;
        out_puts(o, "}\n");
    }
}

static void body_text(Out *o, const KFun *f, const Used *u)
{
    o->indent++;
    if (f->slices.n > 0)
        out_puts(o, "enum { has_slices = 0 };\n");
    if (u->scatters)
        out_puts(o, "mf_u64 nowhere;\n");
    out_puts(o, "for (mf_place mf = mf_begin(groups, size, first); first < end; first++, "
                "mf_next(&mf)) {\n");
    o->indent++;
    int n = begin_items(o, u);
    KWords own = words;
    own.branch = scatter_text;
    own.env = u;
    kernel_c(o, &own, &f->body);
    end_blocks(o, n + 2);
}

/* A kernel that nobody launches on this target. */
static void empty_text(Out *o)
{
    o->indent++;
    out_puts(o, "(void)args, (void)groups, (void)size, (void)first, (void)end;\n");
    end_blocks(o, 1);
}

static void call_text(Out *o, const KFun *f, const Params *p)
{
    o->indent++;
    out_puts(o, p->n > 1 ? "" : "(void)args;\n");
    out_printf(o, "groups_%s(%sgroups, size, first, end);\n", f->name, p->args.text);
    end_blocks(o, 1);
}

void kir_native(Out *o, const KFun *f)
{
    Arena *a = arena_new();
    Used u = used_by(a, f);
    Params p = {{0}, {0}, 0, 0};
    bool empty = f->body.n == 0;
    for (int i = 0; i < f->params.n; i++)
        put_formal(&p, &f->params.at[i], &u, kblock_has(&f->body, KST_HEAP));
    begin_param(&p);
    kernel_c_functions(o, &words, f);
    kernel_c_comment(o, f);
    if (!empty) {
        out_printf(o, "\nstatic void groups_%s(%s%s", f->name, p.formals.text, LAUNCH);
        body_text(o, f, &u);
    }
    out_printf(o, "\nRT_KERNEL(kernel_%s)(void *const *args,\n        %s", f->name, LAUNCH);
    if (empty)
        empty_text(o);
    else
        call_text(o, f, &p);
    out_free(&p.formals);
    out_free(&p.args);
    arena_free(a);
}
