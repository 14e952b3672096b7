/* Reads kernels; the grammar is atop text.h. Recursive descent; the first error ends the reading.
 * Nodes are made as they stand, without folding. A name means what bound it last before, wherever
 * that was: what is in scope is for verify.c to say. */
#include "kir/text/text.h"

#include "base/ptrmap.h"
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Reader *r;
    Arena *arena;
    PtrMap *vars, *bufs, *works; /* by name, which is interned */
    PtrMap *functions;           /* the same, of the whole text */
} KReader;

static const KExp *read_exp(KReader *k, int level);

/* --- Names and types -------------------------------------------------------------------------- */

static void *find(KReader *k, const PtrMap *names, const char *what)
{
    const Token *t = read_expect(k->r, K_NAME, what);
    void *p = ptrmap_get(names, t->text);
    if (!p)
        read_fail(k->r, t->loc, "%s is not %s that is known here", t->text, what);
    return p;
}

/* The type that begins with the token's text; lanes behind an x. */
static bool parse_type(const char *text, KType *t)
{
    size_t n = strcspn(text, "x");
    *t = ktype(T_I64);
    if (strncmp(text, "index", 5) == 0) {
        t->index = true;
        n = 5;
    } else {
        int p = 0;
        while (p < N_PRIM_TYPES &&
               (strncmp(text, prim_type_text[p], n) != 0 || prim_type_text[p][n]))
            p++;
        if (p == N_PRIM_TYPES)
            return false;
        t->elem = (PrimType)p;
    }
    if (!text[n])
        return true;
    char *end;
    t->lanes = (int)strtol(text + n + 1, &end, 10);
    return text[n] == 'x' && !*end && (t->lanes == 2 || t->lanes == 4 || t->lanes == 8);
}

static KType read_ktype(KReader *k)
{
    const Token *t = read_expect(k->r, K_NAME, "a type");
    KType type;
    if (!parse_type(t->text, &type))
        read_fail(k->r, t->loc, "%s is not a type", t->text);
    return type;
}

static KVar *read_binder(KReader *k)
{
    KVar *v = NEW(k->arena, KVar);
    v->name = read_expect(k->r, K_NAME, "a variable's name")->text;
    read_expect(k->r, ':', "':'");
    v->type = read_ktype(k);
    ptrmap_put(k->vars, v->name, v);
    return v;
}

static int64_t read_int(KReader *k, const char *what)
{
    const Token *t = read_expect(k->r, K_NUM, what);
    char *end;
    int64_t i = strtoll(t->text, &end, 10);
    if (*end)
        read_fail(k->r, t->loc, "expected %s", what);
    return i;
}

static bool accept_space(KReader *k, KSpace *s)
{
    for (int i = 0; i < N_KSPACES; i++)
        if (read_accept_word(k->r, kspace_text[i])) {
            *s = (KSpace)i;
            return true;
        }
    return false;
}

static KBuf *read_buf(KReader *k)
{
    KBuf *b = NEW(k->arena, KBuf);
    b->name = read_expect(k->r, K_NAME, "a buffer's name")->text;
    read_expect(k->r, ':', "':'");
    if (!accept_space(k, &b->space))
        read_fail(k->r, read_peek(k->r)->loc, "expected global, local or private");
    b->elem = read_prim(k->r);
    if (read_accept(k->r, '[')) {
        b->count = read_int(k, "a number of elements");
        read_expect(k->r, ']', "']'");
    }
    b->read_only = read_accept_word(k->r, "read_only");
    b->no_alias = read_accept_word(k->r, "no_alias");
    b->write_any = read_accept_word(k->r, "write_any");
    b->own_writes = read_accept_word(k->r, "own_writes");
    b->padded = read_accept_word(k->r, "padded");
    b->unshared = read_accept_word(k->r, "unshared");
    if (read_accept_word(k->r, "align"))
        b->align = read_small(k->r, "a number of bytes");
    ptrmap_put(k->bufs, b->name, b);
    return b;
}

/* --- Expressions ------------------------------------------------------------------------------ */

static const KExp *new_exp(KReader *k, KExpKind kind, KType t, const KExps *xs)
{
    return kx_node(k->arena, (KExp){.kind = kind, .type = t, .n = xs->n, .x = xs->at});
}

static KExps read_args(KReader *k)
{
    KExps xs = {0};
    read_expect(k->r, '(', "'('");
    if (read_accept(k->r, ')'))
        return xs;
    do {
        const KExp *x = read_exp(k, KL_LOWEST);
        vec_push(k->arena, &xs, x);
    } while (read_more(k->r, ')', "')'"));
    return xs;
}

/* The arguments of `of`, n of them or, if n is 0, at least one. */
static KExps read_n_args(KReader *k, const Token *of, int n)
{
    KExps xs = read_args(k);
    if (n ? xs.n != n : xs.n == 0)
        read_fail(k->r, of->loc, "%s of %d operands", of->text, xs.n);
    return xs;
}

static const KExp *new_prim(KReader *k, PrimOp op, bool exact, bool saturate, const KExps *xs)
{
    KExp e = *kx_prim(k->arena, op, xs->at[0]->type.elem, xs->at);
    e.exact = exact;
    e.saturate = saturate;
    return kx_node(k->arena, e);
}

/* OP.TYPE(...), OP(...) */
static const KExp *read_operation(KReader *k, PrimOp op)
{
    const Token *name = read_next(k->r);
    bool exact = !read_accept(k->r, '.');
    PrimType t = exact ? T_I64 : read_prim(k->r);
    KExps xs = read_n_args(k, name, prim_info[op].arity);
    if (!exact && xs.at[0]->type.elem != t)
        read_fail(k->r, name->loc, "%s.%s of an operand of type %s", name->text, prim_type_text[t],
                  ktype_text(xs.at[0]->type));
    return new_prim(k, op, exact, false, &xs);
}

/* "saturate" was read. */
static const KExp *read_saturate(KReader *k, const Token *name)
{
    read_expect(k->r, '.', "'.'");
    const Token *op = read_peek(k->r);
    for (int i = 0; i < N_PRIM_OPS; i++)
        if (read_accept_word(k->r, prim_info[i].text)) {
            KExps xs = read_n_args(k, name, prim_info[i].arity);
            return new_prim(k, (PrimOp)i, false, true, &xs);
        }
    read_fail(k->r, op->loc, "%s is not an operation", op->text);
}

static const KExp *read_conv(KReader *k, const Token *name)
{
    read_expect(k->r, '.', "'.'");
    KType t = read_ktype(k);
    KExps xs = read_n_args(k, name, 1);
    return new_exp(k, KE_CONV, t, &xs);
}

static const KExp *read_select(KReader *k, const Token *name)
{
    KExps xs = read_n_args(k, name, 3);
    return new_exp(k, KE_SELECT, xs.at[1]->type, &xs);
}

static const KExp *read_vector(KReader *k, const Token *name)
{
    KExps xs = read_n_args(k, name, 0);
    KType t = xs.at[0]->type;
    t.lanes = xs.n;
    return new_exp(k, KE_VECTOR, t, &xs);
}

static const KExp *read_id(KReader *k, KId id)
{
    bool dim = read_accept(k->r, '.');
    return kx_id_dim(k->arena, id, dim ? read_small(k->r, "a dimension") : 0);
}

/* Kinds of expressions that a word of their own begins. */
static const KExp *accept_form(KReader *k)
{
    const struct {
        const char *word;
        const KExp *(*read)(KReader *k, const Token *name);
    } forms[] = {{kexp_word[KE_CONV], read_conv},
                 {kexp_word[KE_SELECT], read_select},
                 {kexp_word[KE_VECTOR], read_vector},
                 {"saturate", read_saturate}};
    const Token *t = read_peek(k->r);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (read_accept_word(k->r, forms[i].word))
            return forms[i].read(k, t);
    return NULL;
}

static bool is_constant(const Token *t, const Token *next)
{
    if (t->kind != K_NAME)
        return t->kind == K_NUM || t->kind == '-';
    PrimType p;
    return strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0 ||
           (prim_named(t->text, &p) && prim_is_float(p) && next->kind == '.');
}

static const KExp *read_name(KReader *k)
{
    const Token *t = read_peek(k->r);
    int next = read_peek_at(k->r, 1)->kind;
    const KVar *v = ptrmap_get(k->vars, t->text);
    if (v) {
        read_next(k->r);
        return kx_var(k->arena, v);
    }
    for (int i = 0; i < N_PRIM_OPS && (next == '.' || next == '('); i++)
        if (strcmp(prim_info[i].text, t->text) == 0)
            return read_operation(k, (PrimOp)i);
    for (int i = 0; i < N_KIDS; i++)
        if (read_accept_word(k->r, kid_info[i].word))
            return read_id(k, (KId)i);
    const KExp *e = t->kind == K_NAME ? accept_form(k) : NULL;
    if (!e)
        read_fail(k->r, t->loc, "expected an expression, not %s", t->text);
    return e;
}

static const KExp *read_primary(KReader *k)
{
    const KExp *e;
    if (read_accept(k->r, '(')) {
        e = read_exp(k, KL_LOWEST);
        read_expect(k->r, ')', "')'");
    } else if (is_constant(read_peek(k->r), read_peek_at(k->r, 1))) {
        e = kx_const(k->arena, read_atom(k->r).c);
    } else {
        e = read_name(k);
    }
    while (read_accept(k->r, '.')) {
        KExp part = {.kind = KE_PART, .type = e->type, .n = 1, .x = &e};
        part.type.lanes = 1;
        part.dim = read_small(k->r, "a component");
        e = kx_node(k->arena, part);
    }
    return e;
}

static const KExp *read_unary(KReader *k)
{
    if (!read_accept(k->r, '!'))
        return read_primary(k);
    KExps one = {0};
    const KExp *x = read_unary(k);
    vec_push(k->arena, &one, x);
    return new_prim(k, OP_NOT, false, false, &one);
}

/* The operator at hand, if it binds at least so tightly. */
static const KInfix *accept_infix(KReader *k, int level)
{
    for (int i = 0; i < n_kinfixes; i++) {
        const KInfix *f = &kinfixes[i];
        size_t n = strlen(f->sign);
        if (read_peek(k->r)->kind != f->sign[0] ||
            (n == 2 && read_peek_at(k->r, 1)->kind != f->sign[1]))
            continue;
        if (f->level < level)
            return NULL;
        k->r->pos += (int)n;
        return f;
    }
    return NULL;
}

static const KExp *read_exp(KReader *k, int level)
{
    const KExp *e = read_unary(k);
    const KInfix *f;
    while ((f = accept_infix(k, level))) {
        KExps two = {0};
        vec_push(k->arena, &two, e);
        const KExp *y = read_exp(k, f->level + 1);
        vec_push(k->arena, &two, y);
        e = new_prim(k, f->op, f->exact, false, &two);
    }
    return e;
}

/* --- Parts of statements ---------------------------------------------------------------------- */

static KBlock read_block(KReader *k);

static void get_binder(KReader *k, KStm *s)
{
    s->var = read_binder(k);
    s->var->mutable_ = s->kind == KST_VAR;
}

static void get_binder_if(KReader *k, KStm *s)
{
    if (read_peek_at(k->r, 1)->kind == ':') {
        get_binder(k, s);
        read_expect(k->r, '=', "'='");
    }
}

static void get_var(KReader *k, KStm *s)
{
    s->var = find(k, k->vars, "a variable");
}

static void get_top(KReader *k, KStm *s)
{
    s->top = find(k, k->vars, "a variable");
}

static void get_buf(KReader *k, KStm *s)
{
    s->buf = read_buf(k);
}

static void get_of(KReader *k, KStm *s)
{
    read_expect_word(k->r, "of");
    s->buf->of = find(k, k->bufs, "a buffer");
}

static void get_name(KReader *k, KStm *s)
{
    s->buf = find(k, k->bufs, "a buffer");
}

static void get_element(KReader *k, KStm *s)
{
    s->buf = find(k, k->bufs, "a buffer");
    read_expect(k->r, '[', "'['");
    s->x[0] = read_exp(k, KL_LOWEST);
    read_expect(k->r, ']', "']'");
}

static void get_with(KReader *k, KStm *s)
{
    s->with = find(k, k->bufs, "a buffer");
}

static void get_with_element(KReader *k, KStm *s)
{
    get_with(k, s);
    read_expect(k->r, '[', "'['");
    s->x[1] = read_exp(k, KL_LOWEST);
    read_expect(k->r, ']', "']'");
}

static void get_pitch(KReader *k, KStm *s)
{
    read_expect_word(k->r, "pitch");
    s->tile.elem = s->buf->elem;
    s->tile.pitch[0] = read_small(k->r, "a number of elements");
}

static void get_tile(KReader *k, KStm *s)
{
    KTile *t = &s->tile;
    t->elem = read_prim(k->r);
    t->rows = read_small(k->r, "a number of rows");
    t->cols = read_small(k->r, "a number of columns");
    read_expect_word(k->r, "half");
    t->half = read_small(k->r, "a half");
    read_expect_word(k->r, "k");
    t->k = read_small(k->r, "a place");
    for (int i = 0; i < 2; i++) {
        read_expect_word(k->r, "pitch");
        t->pitch[i] = read_small(k->r, "a number of elements");
        t->turned[i] = read_accept_word(k->r, "turned");
    }
    t->rounded = read_accept_word(k->r, "rounded");
    t->wide = read_accept_word(k->r, "wide");
    if (!t->wide)
        return;
    for (int i = 0; i < 2; i++)
        t->tall[i] = read_small(k->r, "a number of rows");
    t->fresh = read_accept_word(k->r, "fresh");
    t->last = read_accept_word(k->r, "last");
}

static void get_0(KReader *k, KStm *s)
{
    s->x[0] = read_exp(k, KL_LOWEST);
}

static void get_1(KReader *k, KStm *s)
{
    s->x[1] = read_exp(k, KL_LOWEST);
}

static void get_2(KReader *k, KStm *s)
{
    s->x[2] = read_exp(k, KL_LOWEST);
}

static void get_init(KReader *k, KStm *s)
{
    if (read_accept(k->r, '='))
        get_0(k, s);
}

static void get_at(KReader *k, KStm *s)
{
    if (read_accept_word(k->r, "at"))
        get_0(k, s);
}

static void get_step(KReader *k, KStm *s)
{
    s->doubling = read_accept_word(k->r, "times");
    if (!s->doubling)
        read_expect_word(k->r, "by");
    get_2(k, s);
}

static void get_op(KReader *k, KStm *s)
{
    const Token *t = read_expect(k->r, K_NAME, "an operation");
    int op = 0;
    while (op < N_PRIM_OPS && strcmp(prim_info[op].text, t->text) != 0)
        op++;
    if (op == N_PRIM_OPS && strcmp(t->text, kxchg_word) != 0)
        read_fail(k->r, t->loc, "%s is not an operation", t->text);
    s->op = (PrimOp)op;
}

static void get_likely(KReader *k, KStm *s)
{
    s->likely = read_accept_word(k->r, "likely");
}

static void get_unroll(KReader *k, KStm *s)
{
    if (!read_accept_word(k->r, "unroll"))
        return;
    s->unroll = read_accept_word(k->r, "all") ? -1 : read_small(k->r, "how often");
}

static void get_label(KReader *k, KStm *s)
{
    s->label = read_expect(k->r, K_NAME, "a label")->text;
    ptrmap_put(k->works, s->label, s);
}

static void get_target(KReader *k, KStm *s)
{
    s->target = find(k, k->works, "a label");
}

static void get_fence(KReader *k, KStm *s)
{
    KSpace space;
    s->lead = read_accept_word(k->r, "lead");
    while (accept_space(k, &space))
        s->fence |= 1u << space;
}

static void get_site(KReader *k, KStm *s)
{
    s->site = read_small(k->r, "the number of a place");
}

static void get_args(KReader *k, KStm *s)
{
    s->args = read_args(k);
}

static void get_fun(KReader *k, KStm *s)
{
    s->fun = find(k, k->functions, "a function");
}

static void get_text(KReader *k, KStm *s)
{
    s->text = read_expect(k->r, K_STR, "a text")->text;
}

static void get_block(KReader *k, KStm *s)
{
    s->body[0] = read_block(k);
}

static void get_else(KReader *k, KStm *s)
{
    if (read_accept_word(k->r, "else"))
        s->body[1] = read_block(k);
}

typedef struct {
    const char *item;
    void (*get)(KReader *k, KStm *s);
} Getter;
static const Getter getters[] = {
    {"V", get_binder},      {"V=", get_binder_if},
    {"v", get_var},         {"top", get_top},
    {"B", get_buf},         {"of", get_of},
    {"@", get_element},     {"0", get_0},
    {"1", get_1},           {"2", get_2},
    {"=0", get_init},       {"at0", get_at},
    {"by", get_step},       {"op", get_op},
    {"unroll", get_unroll}, {"likely", get_likely},
    {"label", get_label},   {"target", get_target},
    {"fence", get_fence},   {"site", get_site},
    {"args", get_args},     {"b", get_name},
    {"text", get_text},     {"{", get_block},
    {"else", get_else},     {"fun", get_fun},
    {"with", get_with},     {"with@", get_with_element},
    {"tile", get_tile},     {"pitch", get_pitch},
};

static void get_item(KReader *k, KStm *s, const char *item)
{
    for (size_t i = 0; i < sizeof getters / sizeof *getters; i++)
        if (strcmp(getters[i].item, item) == 0) {
            getters[i].get(k, s);
            return;
        }
    const char quoted[] = {'\'', item[0], '\'', '\0'};
    if (item[1])
        read_expect_word(k->r, item);
    else
        read_expect(k->r, item[0], quoted);
}

/* --- Statements and kernels ------------------------------------------------------------------- */

static KStm *read_stm(KReader *k)
{
    const Token *t = read_expect(k->r, K_NAME, "a statement or '}'");
    const KSyntax *syn = ksyntax;
    while (syn < ksyntax + N_KSYNTAX && strcmp(syn->word, t->text) != 0)
        syn++;
    if (syn == ksyntax + N_KSYNTAX)
        read_fail(k->r, t->loc, "%s is no kind of statement", t->text);
    KStm *s = NEW(k->arena, KStm);
    *s = (KStm){.kind = syn->kind, .post = syn->post, .loc = t->loc};
    char item[KITEM_MOST];
    for (const char *at = syn->items; ksyntax_item(&at, item);)
        get_item(k, s, item);
    return s;
}

static KBlock read_block(KReader *k)
{
    KBlock b = {0};
    read_expect(k->r, '{', "'{'");
    while (!read_accept(k->r, '}')) {
        KStm *s = read_stm(k);
        vec_push(k->arena, &b, s);
    }
    return b;
}

static KFormal read_formal(KReader *k)
{
    static const bool has_buf[] = {[KP_MEM] = true, [KP_LOCAL] = true, [KP_HEAP] = true};
    const Token *t = read_expect(k->r, K_NAME, "a parameter or '{'");
    KFormal p = {0};
    int kind = 0;
    while (kind < n_kformals && strcmp(kformal_word[kind], t->text) != 0)
        kind++;
    if (kind == n_kformals)
        read_fail(k->r, t->loc, "%s is no kind of parameter", t->text);
    p.kind = (KParamKind)kind;
    if (has_buf[p.kind])
        p.buf = read_buf(k);
    if (p.kind == KP_HEAP)
        read_expect(k->r, ',', "','");
    if (p.kind == KP_HEAP || p.kind == KP_SCALAR)
        p.var = read_binder(k);
    p.steady = (p.kind == KP_SCALAR || p.kind == KP_LOCAL) && read_accept_word(k->r, "steady");
    return p;
}

static unsigned read_heap_types(KReader *k)
{
    unsigned types = 0;
    if (read_accept_word(k->r, "heap_of"))
        for (KType t; read_peek(k->r)->kind == K_NAME && parse_type(read_peek(k->r)->text, &t);)
            types |= 1u << read_prim(k->r);
    return types;
}

static KColumns read_columns(KReader *k)
{
    int c = N_KCOLUMNS - 1;
    while (c > KC_NONE && !read_accept_word(k->r, kcolumns_word[c] + 1))
        c--;
    return (KColumns)c;
}

static KFun *read_kernel(KReader *k)
{
    KFun *f = NEW(k->arena, KFun);
    k->vars = ptrmap_new(k->arena);
    k->bufs = ptrmap_new(k->arena);
    k->works = ptrmap_new(k->arena);
    f->loc = read_peek(k->r)->loc;
    f->is_function = read_accept_word(k->r, "function");
    if (!f->is_function)
        read_expect_word(k->r, "kernel");
    f->name = read_expect(k->r, K_NAME, "a name")->text;
    f->what = read_peek(k->r)->kind == K_STR ? read_next(k->r)->text : NULL;
    f->place = read_accept_word(k->r, "at") ? read_expect(k->r, K_STR, "a place")->text : NULL;
    f->may_fail = read_accept_word(k->r, "may_fail");
    f->alone = read_accept_word(k->r, "alone");
    f->sized = read_accept_word(k->r, "sized");
    f->columns = read_columns(k);
    if (read_accept_word(k->r, "vectors"))
        f->vector_bytes = read_small(k->r, "a number of bytes");
    f->heap_types = read_heap_types(k);
    f->narrow = read_accept_word(k->r, "narrow");
    while (read_peek(k->r)->kind != '{') {
        if (read_accept_word(k->r, "when")) {
            const KExp *cond = read_exp(k, KL_LOWEST);
            vec_push(k->arena, &f->narrow_when, cond);
            continue;
        }
        if (read_accept_word(k->r, "slice")) {
            KSlice s = {.buf = find(k, k->bufs, "a buffer")};
            read_expect_word(k->r, "of");
            s.count = read_exp(k, KL_LOWEST);
            vec_push(k->arena, &f->slices, s);
            continue;
        }
        KFormal p = read_formal(k);
        vec_push(k->arena, &f->params, p);
    }
    f->body = read_block(k);
    return f;
}

bool kir_read(Ctx *cx, const char *name, const char *text, size_t n, KFuns *out)
{
    Reader *r = NEW(cx->perm, Reader);
    *r = (Reader){.cx = cx, .src = text, .n = n, .marks = "()[]{},:=<>!.*-+/%&|"};
    r->base = diag_source_add(name, text, n);
    if (setjmp(r->fail))
        return false;
    read_lex(r);
    KReader k = {.r = r, .arena = cx->perm, .functions = ptrmap_new(cx->perm)};
    while (read_peek(r)->kind != K_END) {
        KFun *f = read_kernel(&k);
        if (f->is_function)
            ptrmap_put(k.functions, f->name, f);
        else
            vec_push(cx->perm, out, f);
    }
    return true;
}
