/* Short loops of constant length become straight code, so that private arrays get constant
 * positions (scalarize.c); longer ones that work on private arrays are marked to be unrolled by the
 * target's compiler, whose registers have no positions either, unless they are many turns of the
 * same positions. So are those whose maker says how many turns: that is for loops in loops, of
 * which straight code would be long. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum {
    MOST_TURNS = 8,
    MOST_STMS = 32,         /* that a loop becomes */
    MOST_STMS_PRIVATE = 96, /* the same where private arrays are worked on */
    MOST_TURNS_MARKED = 32
};

static bool constant(const KExp *x, int64_t *k)
{
    *k = x->kind == KE_CONST ? x->c.i : 0;
    return x->kind == KE_CONST;
}

/* The values of the variable, at most `most`; their number, -1 if they are more or not known. */
static int turns(const KStm *s, int64_t *at, int most)
{
    int64_t i, to, step;
    if (!constant(s->x[0], &i) || !constant(s->x[1], &to) || i < INT32_MIN || to > INT32_MAX)
        return -1;
    if (i >= to)
        return 0;
    if (i + 1 == to && !s->doubling) { /* whatever the step */
        at[0] = i;
        return 1;
    }
    if (!constant(s->x[2], &step) || step < 1 || step > INT32_MAX)
        return -1;
    if (s->doubling && (i < 1 || step < 2))
        return -1;
    int n = 0;
    for (; i < to; i = s->doubling ? i * step : i + step) {
        if (n == most)
            return -1;
        at[n++] = i;
    }
    return n;
}

typedef struct {
    int stms;
    bool private_;
} Size;

static bool count(void *env, KStm *s)
{
    Size *size = env;
    size->stms++;
    size->private_ |= s->buf && s->buf->space == KS_PRIVATE;
    return true;
}

/* What differs from turn to turn of a loop: its variable, what is changed in it, and what is made
 * of these. */
typedef struct {
    PtrMap *vars;
    bool differs;  /* looked at last */
    bool position; /* ... somewhere, a position in a private array */
} Turns;

static void look(void *env, const KExp *x)
{
    Turns *t = env;
    t->differs |= x->kind == KE_VAR && ptrmap_get(t->vars, x->var);
}

static bool differs(Turns *t, const KExp *x)
{
    t->differs = false;
    kexp_visit(x, look, t);
    return t->differs;
}

static bool find_changed(void *env, KStm *s)
{
    Turns *t = env;
    if (s->kind == KST_SET)
        ptrmap_put(t->vars, s->var, s);
    return true;
}

static bool find_made(void *env, KStm *s)
{
    Turns *t = env;
    KVar *v = kstm_def(s);
    bool any = s->kind == KST_LOAD || s->kind == KST_SHUFFLE;
    for (int i = 0; i < (int)(sizeof s->x / sizeof *s->x); i++)
        any |= s->x[i] && differs(t, s->x[i]);
    for (int i = 0; i < s->args.n; i++)
        any |= differs(t, s->args.at[i]);
    if (v && any)
        ptrmap_put(t->vars, v, s);
    t->position |= s->buf && s->buf->space == KS_PRIVATE && s->x[0] && differs(t, s->x[0]);
    return true;
}

/* Do the loop's turns have different positions in private arrays? */
static bool moves(KBuild *b, const KStm *loop)
{
    Turns t = {.vars = ptrmap_new(b->arena)};
    ptrmap_put(t.vars, loop->var, loop);
    kblock_visit(&loop->body[0], &(KVisitor){.env = &t, .enter = find_changed});
    kblock_visit(&loop->body[0], &(KVisitor){.env = &t, .enter = find_made});
    return t.position;
}

static void unroll(KBuild *b, const KStm *s, const int64_t *at, int n)
{
    for (int i = 0; i < n; i++) {
        PtrMap *to = ptrmap_new(b->arena);
        ptrmap_put(to, s->var, kx_int(b->arena, at[i]));
        KBlock copy = kblock_copy(b, &s->body[0], to);
        for (int k = 0; k < copy.n; k++)
            kb_push(b, copy.at[k]);
    }
}

static void leave(void *env, KBuild *b, KStm *s)
{
    (void)env;
    int64_t at[MOST_TURNS_MARKED];
    int n = s->kind == KST_FOR && s->var->type.elem == T_I64 && !s->var->type.index
                ? turns(s, at, MOST_TURNS_MARKED)
                : -1;
    Size size = {0};
    if (n >= 0)
        kblock_visit(&s->body[0], &(KVisitor){.env = &size, .enter = count});
    int most = size.private_ ? MOST_STMS_PRIVATE : MOST_STMS;
    if (n == 0)
        return;
    bool left = s->unroll > 0 && s->unroll >= n;
    if (n == 1 || (n > 1 && n <= MOST_TURNS && n * size.stms <= most && !left)) {
        unroll(b, s, at, n);
        return;
    }
    if (n > 1 && size.private_ && !s->unroll && (n <= MOST_TURNS || moves(b, s)))
        s->unroll = -1;
    kb_push(b, s);
}

void kir_unroll(Arena *a, KFun *f)
{
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave});
}
