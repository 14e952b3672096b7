/* Visiting kernels and asking about them. Rewriting and copying: rewrite.c. */
#include "kir/walk.h"

const KStmInfo kstm_info[N_KSTMS] = {
#define KSTM(TAG, word, operands, flags) [KST_##TAG] = {word, operands, flags},
#include "kir/kinds.def"
};

const char *const kspace_text[N_KSPACES] = {
    [KS_GLOBAL] = "global", [KS_LOCAL] = "local", [KS_PRIVATE] = "private"};

/* --- Visiting --------------------------------------------------------------------------------- */

void kstm_visit_exps(const KStm *s, KExpFn *fn, void *env)
{
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        kexp_visit(s->x[i], fn, env);
    for (int i = 0; i < s->args.n; i++)
        kexp_visit(s->args.at[i], fn, env);
}

void kblock_visit(const KBlock *b, const KVisitor *v)
{
    for (int i = 0; i < b->n; i++) {
        KStm *s = b->at[i];
        if (!v->enter || v->enter(v->env, s))
            for (int k = 0; k < 2; k++)
                kblock_visit(&s->body[k], v);
        if (v->leave)
            v->leave(v->env, s);
    }
}

/* --- Statements ------------------------------------------------------------------------------- */

bool kstm_uses(const KStm *s, const KVar *v)
{
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        if (kexp_uses(s->x[i], v))
            return true;
    for (int i = 0; i < s->args.n; i++)
        if (kexp_uses(s->args.at[i], v))
            return true;
    return s->top == v;
}

KVar *kstm_def(const KStm *s)
{
    return kstm_info[s->kind].flags & KF_DEF ? s->var : NULL;
}

KBuf *kstm_declares(const KStm *s)
{
    return s->kind == KST_ARRAY || s->kind == KST_VIEW ? s->buf : NULL;
}

bool kstm_sets(const KStm *s, const KVar *v)
{
    return kstm_info[s->kind].flags & KF_SET && (s->var == v || s->top == v);
}

bool kstm_reads(const KStm *s)
{
    return s->kind == KST_LOAD || s->kind == KST_FRAGMENTS || s->kind == KST_MULTIPLY ||
           s->kind == KST_PEEK || s->kind == KST_ATOMIC || s->kind == KST_CAS ||
           s->kind == KST_ARRIVE;
}

bool kstm_writes(const KStm *s)
{
    return s->kind == KST_STORE || s->kind == KST_COPY || s->kind == KST_POST ||
           s->kind == KST_RACE || s->kind == KST_ATOMIC || s->kind == KST_CAS ||
           s->kind == KST_ARRIVE;
}

bool kexp_divides(const KExp *x)
{
    bool divides = x->kind == KE_CEILDIV ||
                   (x->kind == KE_PRIM && !prim_is_float(x->type.elem) &&
                    (x->op == OP_QUOT || x->op == OP_REM || x->op == OP_DIV || x->op == OP_MOD));
    return divides && x->x[1]->kind != KE_CONST;
}

static void find_division(void *env, const KExp *x)
{
    *(bool *)env |= kexp_divides(x);
}

bool kstm_divides(const KStm *s)
{
    bool found = false;
    kstm_visit_exps(s, find_division, &found);
    return found;
}

bool kstm_tells(const KStm *s)
{
    bool tells = s->kind == KST_ATOMIC || s->kind == KST_CAS || s->kind == KST_PEEK ||
                 s->kind == KST_POST || s->kind == KST_ARRIVE;
    return tells && s->buf->space == KS_GLOBAL;
}

bool kstm_checks(const KStm *s)
{
    const KBlock *b = &s->body[0];
    return s->kind == KST_IF && s->body[1].n == 0 && b->n == 2 && b->at[0]->kind == KST_FAIL &&
           b->at[1]->kind == KST_LEAVE;
}

unsigned kstm_fence(const KStm *s)
{
    return s->kind == KST_BARRIER ? s->fence : 0;
}

bool kstm_turns(const KStm *loop)
{
    if (loop->kind == KST_WHILE)
        return loop->post;
    return loop->x[0]->kind == KE_CONST && loop->x[1]->kind == KE_CONST &&
           loop->x[0]->c.i < loop->x[1]->c.i;
}

/* Differences of two i64 have 64 bits without a sign. */
const KExp *kstm_has_turns(Arena *a, const KStm *loop, const KExp *n)
{
    const KExp *lo = kx_conv(a, T_I64, loop->x[0]), *hi = kx_conv(a, T_I64, loop->x[1]);
    const KExp *turns = kx_conv(a, T_U64, kx_prim2(a, OP_SUB, hi, lo));
    return kx_and(a, kx_lt(a, lo, hi), kx_lt(a, kx_conv(a, T_U64, n), turns));
}

int kstm_lanes(const KStm *s)
{
    if (s->kind == KST_COPY)
        return ktile_beside(s->tile.elem);
    return s->kind == KST_LOAD ? s->var->type.lanes : s->x[1] ? s->x[1]->type.lanes : 1;
}

const KBuf *kbuf_root(const KBuf *b)
{
    while (b->of)
        b = b->of;
    return b;
}

bool kbuf_overlap(const KBuf *x, const KBuf *y)
{
    x = kbuf_root(x);
    y = kbuf_root(y);
    /* Only memory of the host can have two names. */
    return x == y ||
           (x->space == KS_GLOBAL && y->space == KS_GLOBAL && !x->no_alias && !y->no_alias);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

typedef bool StmTest(const KStm *s, const void *what);

static bool any(const KBlock *b, StmTest *test, const void *what)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (test(s, what) || any(&s->body[0], test, what) || any(&s->body[1], test, what))
            return true;
    }
    return false;
}

static bool test_uses(const KStm *s, const void *var)
{
    return kstm_uses(s, var);
}

bool kblock_uses(const KBlock *b, const KVar *v)
{
    return any(b, test_uses, v);
}

static bool test_sets(const KStm *s, const void *var)
{
    return kstm_sets(s, var);
}

bool kblock_sets(const KBlock *b, const KVar *v)
{
    return any(b, test_sets, v);
}

static bool test_kind(const KStm *s, const void *kind)
{
    return s->kind == *(const KStmKind *)kind;
}

bool kblock_has(const KBlock *b, KStmKind kind)
{
    return any(b, test_kind, &kind);
}

bool kblock_meets(const KBlock *b)
{
    return kblock_has(b, KST_BARRIER);
}

bool kblock_ends_by_leaving(const KBlock *b)
{
    return b->n > 0 && vec_last(b)->kind == KST_LEAVE;
}

static void find_failed_before(void *found, const KExp *x)
{
    if (x->kind == KE_ID && x->id == KID_FAILED_BEFORE)
        *(bool *)found = true;
}

static bool test_failures(const KStm *s, const void *nothing)
{
    (void)nothing;
    bool found = s->kind == KST_FAIL || s->kind == KST_FAILING || s->kind == KST_HEAP;
    kstm_visit_exps(s, find_failed_before, &found);
    return found;
}

bool kblock_knows_failures(const KBlock *b)
{
    return any(b, test_failures, NULL);
}

static bool test_writes(const KStm *s, const void *buf)
{
    return kstm_writes(s) && kbuf_overlap(s->buf, buf);
}

bool kblock_writes(const KBlock *b, const KBuf *buf)
{
    return any(b, test_writes, buf);
}

static void type_of_exp(void *types, const KExp *x)
{
    *(unsigned *)types |= 1u << x->type.elem;
}

static bool types_of_stm(void *types, KStm *s)
{
    kstm_visit_exps(s, type_of_exp, types);
    if (s->var)
        *(unsigned *)types |= 1u << s->var->type.elem;
    if (s->buf)
        *(unsigned *)types |= 1u << s->buf->elem;
    if (s->with)
        *(unsigned *)types |= 1u << s->with->elem;
    if (s->fun)
        *(unsigned *)types |= kfun_types(s->fun);
    return true;
}

unsigned kfun_types(const KFun *f)
{
    unsigned types = f->heap_types;
    for (int i = 0; i < f->params.n; i++) {
        const KFormal *p = &f->params.at[i];
        types |= p->var ? 1u << p->var->type.elem : 0;
        types |= p->buf && p->kind != KP_HEAP ? 1u << p->buf->elem : 0; /* a heap's has none */
    }
    kblock_visit(&f->body, &(KVisitor){.env = &types, .enter = types_of_stm});
    return types;
}

/* --- Functions -------------------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    KFuns all;
} Called;

static void called_in(Called *c, const KBlock *b);

static void call_of(Called *c, KFun *f)
{
    for (int i = 0; i < c->all.n; i++)
        if (c->all.at[i] == f)
            return;
    called_in(c, &f->body);
    vec_push(c->arena, &c->all, f);
}

static bool called_by(void *env, KStm *s)
{
    if (s->kind == KST_CALL)
        call_of(env, s->fun);
    return true;
}

static void called_in(Called *c, const KBlock *b)
{
    kblock_visit(b, &(KVisitor){.env = c, .enter = called_by});
}

KFuns kfun_called(Arena *a, const KFun *f)
{
    Called c = {.arena = a};
    called_in(&c, &f->body);
    return c.all;
}

/* --- Counts ----------------------------------------------------------------------------------- */

struct KInfo {
    Arena *mem;
    PtrMap *vars; /* KVar -> KVarInfo */
};

static KVarInfo *info_at(KInfo *k, const KVar *v)
{
    KVarInfo *i = ptrmap_get(k->vars, v);
    if (!i)
        ptrmap_put(k->vars, v, i = NEW(k->mem, KVarInfo));
    return i;
}

static void count_exp(void *env, const KExp *x)
{
    KInfo *k = env;
    if (x->kind == KE_VAR)
        info_at(k, x->var)->uses++;
}

static bool count_stm(void *env, KStm *s)
{
    KInfo *k = env;
    kstm_visit_exps(s, count_exp, k);
    if (kstm_def(s))
        info_at(k, s->var)->def = s;
    if (kstm_info[s->kind].flags & KF_SET)
        info_at(k, s->var)->sets++;
    if (s->top) {
        info_at(k, s->top)->sets++;
        info_at(k, s->top)->uses++;
    }
    return true;
}

KInfo *kinfo_of(Arena *a, const KBlock *b)
{
    KInfo *k = NEW(a, KInfo);
    *k = (KInfo){.mem = a, .vars = ptrmap_new(a)};
    kblock_visit(b, &(KVisitor){.env = k, .enter = count_stm});
    return k;
}

KVarInfo kinfo_get(const KInfo *k, const KVar *v)
{
    const KVarInfo *at = ptrmap_get(k->vars, v);
    return at ? *at : (KVarInfo){0};
}
