/* Integer arithmetic is done once: what does not change in a loop is computed before it, the
 * outermost loop first, what is computed twice gets a name, copies and constants take the place of
 * the variables that hold them.
 *
 * Expressions are pure, so one may be computed where its value is not wanted. Three things hold it
 * back. A division keeps its divisor from zero. What an IF around an expression says about its
 * variables may be what proves that it fits in 32 bits (narrow.c), so it stays in the IF. And a
 * value that is kept over a loop takes a register: sums are cheaper to do again; floats stay where
 * they are. */
#include "exp/expmap.h"
#include "ir/scalar.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MAX_HOISTED = 16 }; /* before one loop */

typedef VEC(const KExp *) Added;
typedef VEC(const KVar *) KVars;

typedef struct {
    Arena *arena;
    KBuild *b;         /* appends to the block being made */
    PtrMap *copies;    /* KVar -> the KExp that it is */
    PtrMap *defs;      /* KVar -> the KExp that a LET binds it to */
    PtrSet *params;    /* about which conditions tell nothing new */
    PtrSet *bound;     /* variables bound so far */
    ExpMap *available; /* KExp -> the KExp of the variable that has its value */
    ExpMap *often;     /* second walk: expressions that are there more than once */
    Added added;       /* keys of available, in order */
    KVars asked; /* first walk, inside a loop: variables that conditions on the way are about */
    int hoisted;
} Once;

/* --- Expressions ------------------------------------------------------------------------------ */

static bool is_division(const KExp *x)
{
    return x->kind == KE_PRIM && x->exact && (x->op == OP_QUOT || x->op == OP_REM);
}

/* Does it have what is worth a register: more than sums? */
static bool is_heavy(const KExp *x)
{
    if (x->kind == KE_SELECT ||
        (x->kind == KE_PRIM && x->op != OP_ADD && x->op != OP_SUB && !prim_is_float(x->type.elem)))
        return true;
    for (int i = 0; i < x->n; i++)
        if (is_heavy(x->x[i]))
            return true;
    return false;
}

static bool is_integer(const KExp *x)
{
    return x->n > 0 && x->type.lanes == 1 && prim_is_int(x->type.elem) && x->kind != KE_PART &&
           !(x->kind == KE_CONV && !prim_is_int(x->x[0]->type.elem));
}

/* Over variables that never change and are bound by now, and integers alone? */
static bool is_fixed(const Once *o, const KExp *x)
{
    if (x->kind == KE_VAR)
        return !x->var->mutable_ && ptrset_has(o->bound, x->var);
    if (x->type.lanes > 1 || prim_is_float(x->type.elem))
        return false;
    for (int i = 0; i < x->n; i++)
        if (!is_fixed(o, x->x[i]))
            return false;
    return true;
}

static const KExp *fold(Arena *a, const KExp *x)
{
    if (x->kind != KE_PRIM || x->type.lanes > 1 || x->type.index || is_division(x))
        return x;
    Val v[3] = {{0}}, r;
    for (int i = 0; i < x->n; i++) {
        if (x->x[i]->kind != KE_CONST || prim_is_float(x->x[i]->c.type))
            return x;
        v[i] = scalar_const(x->x[i]->c);
    }
    ScalarFn *fn = scalar_fn(x->op, x->x[0]->type.elem);
    if (!fn || prim_is_float(x->type.elem))
        return x;
    fn(&r, &v[0], &v[1], &v[2]);
    return kx_const(a, const_atom(x->type.elem, r).c);
}

/* What is known of it already: of a variable, of the whole expression. */
static const KExp *known(void *env, const KExp *x)
{
    const Once *o = env;
    x = fold(o->arena, x);
    const KExp *to = NULL;
    if (x->kind == KE_VAR)
        to = ptrmap_get(o->copies, x->var);
    else if (is_integer(x))
        to = expmap_get(o->available, x);
    return to ? to : x;
}

/* --- Names ------------------------------------------------------------------------------------ */

static void make_available(Once *o, const KExp *x, const KExp *name)
{
    expmap_put(o->available, x, name);
    vec_push(o->arena, &o->added, x);
}

static void forget_since(Once *o, int n)
{
    while (o->added.n > n)
        expmap_put(o->available, o->added.at[--o->added.n], NULL);
}

static bool is_positive(const Once *o, const KExp *x)
{
    if (x->kind == KE_VAR && !x->var->mutable_ && ptrmap_get(o->defs, x->var))
        return is_positive(o, ptrmap_get(o->defs, x->var));
    if (x->kind == KE_CONST)
        return x->c.i > 0;
    if (x->kind == KE_ID)
        return x->id == KID_GROUP_SIZE || x->id == KID_GROUPS || x->id == KID_GRID_SIZE ||
               x->id == KID_LANES;
    if (x->kind != KE_PRIM || x->type.elem != T_I64)
        return false;
    if (x->op == OP_MAX)
        return is_positive(o, x->x[0]) || is_positive(o, x->x[1]);
    return x->op == OP_MIN && is_positive(o, x->x[0]) && is_positive(o, x->x[1]);
}

/* Divisors stay above zero where the division was not reached. */
static const KExp *guard_divisor(void *env, const KExp *x)
{
    const Once *o = env;
    if (!is_division(x) || is_positive(o, x->x[1]))
        return x;
    const KExp *to[] = {x->x[0], kx_max(o->arena, kx_int(o->arena, 1), x->x[1])};
    return kexp_with(o->arena, x, to);
}

/* A variable with its value, bound here. safe: it may not be reached, later. */
static const KExp *name_it(Once *o, const KExp *x, bool guarded)
{
    const KExp *value = guarded ? kexp_map(o->arena, x, guard_divisor, o) : x;
    const KExp *name = kb_let(o->b, is_division(x) ? "q" : "at", value);
    if (name->kind == KE_VAR) {
        ptrset_add(o->bound, name->var);
        ptrmap_put(o->defs, name->var, value);
    }
    make_available(o, x, name);
    return name;
}

/* --- Before a loop ---------------------------------------------------------------------------- */

static bool is_asked(const Once *o, const KExp *x)
{
    for (int i = 0; i < o->asked.n; i++)
        if (kexp_uses(x, o->asked.at[i]))
            return true;
    return false;
}

static void ask_var(void *env, const KExp *x)
{
    Once *o = env;
    if (x->kind == KE_VAR && !ptrset_has(o->params, x->var))
        vec_push(o->arena, &o->asked, x->var);
}

static bool may_hoist(const Once *o, const KExp *x)
{
    return is_integer(x) && o->hoisted < MAX_HOISTED && is_fixed(o, x) && !is_asked(o, x);
}

static void hoist(Once *o, const KExp *x)
{
    if (expmap_get(o->available, x))
        return;
    name_it(o, x, true);
    o->hoisted++;
}

/* The largest parts of x that may go before the loop. */
static void hoist_parts(Once *o, const KExp *x)
{
    if (may_hoist(o, x) && is_heavy(x)) {
        hoist(o, x);
        return;
    }
    for (int i = 0; i < x->n; i++)
        hoist_parts(o, x->x[i]);
}

static void hoist_operand(Once *o, const KExp *x)
{
    if (x)
        hoist_parts(o, kexp_map(o->arena, x, known, o));
}

/* Is nothing after it in its block reached if its condition holds? */
static bool ends_by_leaving(const KStm *s)
{
    return s->kind == KST_IF && kblock_ends_by_leaving(&s->body[0]);
}

static void hoist_let(Once *o, const KStm *s)
{
    const KExp *x = kexp_map(o->arena, s->x[0], known, o);
    if (may_hoist(o, x))
        hoist(o, x);
    x = kexp_map(o->arena, x, known, o);
    if (x->kind == KE_CONST || (x->kind == KE_VAR && is_fixed(o, x)))
        ptrmap_put(o->copies, s->var, x);
    else
        hoist_parts(o, x);
}

static void hoist_block(Once *o, const KBlock *b);

static void hoist_stm(Once *o, const KStm *s)
{
    if (s->kind == KST_LET) {
        hoist_let(o, s);
        return;
    }
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        hoist_operand(o, s->x[i]);
    for (int i = 0; i < s->args.n; i++)
        hoist_operand(o, s->args.at[i]);
    int asked = o->asked.n;
    if (s->kind == KST_IF || s->kind == KST_WHILE)
        kexp_visit(kexp_map(o->arena, s->x[0], known, o), ask_var, o);
    for (int k = 0; k < 2; k++)
        hoist_block(o, &s->body[k]);
    if (!ends_by_leaving(s))
        o->asked.n = asked;
}

static void hoist_block(Once *o, const KBlock *b)
{
    int asked = o->asked.n;
    for (int i = 0; i < b->n; i++)
        hoist_stm(o, b->at[i]);
    o->asked.n = asked;
}

static void hoist_out_of(Once *o, const KStm *loop)
{
    o->hoisted = 0;
    o->asked.n = 0;
    if (loop->kind == KST_WHILE)
        kexp_visit(loop->x[0], ask_var, o);
    for (int i = loop->kind == KST_FOR; i < kstm_info[loop->kind].operands; i++)
        hoist_operand(o, loop->x[i]);
    hoist_block(o, &loop->body[0]);
}

/* --- Over the kernel -------------------------------------------------------------------------- */

/* Names for the largest parts of x that are there again. */
static void name_often(Once *o, const KExp *x)
{
    if (is_integer(x) && is_heavy(x) && is_fixed(o, x) && expmap_get(o->often, x)) {
        if (!expmap_get(o->available, x))
            name_it(o, x, false);
        return;
    }
    for (int i = 0; i < x->n; i++)
        name_often(o, x->x[i]);
}

static void name_operands(Once *o, const KStm *s)
{
    bool let = s->kind == KST_LET && is_integer(s->x[0]);
    for (int i = 0; i < kstm_info[s->kind].operands; i++) {
        const KExp *x = s->x[i];
        for (int k = 0; x && let && k < x->n; k++) /* the LET itself names the whole */
            name_often(o, x->x[k]);
        /* What a loop asks again is not computed once. */
        if (x && !let && s->kind != KST_WHILE)
            name_often(o, x);
    }
}

static void walk(Once *o, KBlock *block);

static void walk_let(Once *o, KStm *s)
{
    const KExp *x = s->x[0];
    if (x->kind == KE_CONST || (x->kind == KE_VAR && !x->var->mutable_)) {
        ptrmap_put(o->copies, s->var, x);
        return;
    }
    kb_push(o->b, s);
    ptrset_add(o->bound, s->var);
    ptrmap_put(o->defs, s->var, x);
    if (is_integer(x) && is_fixed(o, x))
        make_available(o, x, kx_var(o->arena, s->var));
}

static void walk_stm(Once *o, KStm *s)
{
    o->b->at = s->loc;
    kstm_map_exps(o->arena, s, known, o);
    if (o->often) {
        name_operands(o, s);
        kstm_map_exps(o->arena, s, known, o);
    } else if (s->kind == KST_FOR || s->kind == KST_WHILE) {
        int n = o->added.n;
        hoist_out_of(o, s);
        if (o->added.n > n)
            kstm_map_exps(o->arena, s, known, o);
    }
    if (s->kind == KST_LET) {
        walk_let(o, s);
        return;
    }
    kb_push(o->b, s);
    if (kstm_def(s))
        ptrset_add(o->bound, s->var);
    for (int k = 0; k < 2; k++)
        walk(o, &s->body[k]);
}

static void walk(Once *o, KBlock *block)
{
    int n = o->added.n;
    KBlock old = *block;
    *block = (KBlock){0};
    kb_into(o->b, block);
    for (int i = 0; i < old.n; i++)
        walk_stm(o, old.at[i]);
    o->b->open.n--;
    forget_since(o, n);
}

typedef struct {
    ExpMap *once, *often;
} Count;

static void count_exp(void *env, const KExp *x)
{
    const Count *c = env;
    if (is_integer(x) && is_heavy(x))
        expmap_put(expmap_get(c->once, x) ? c->often : c->once, x, x);
}

static bool count_stm(void *env, KStm *s)
{
    kstm_visit_exps(s, count_exp, env);
    return true;
}

static void walk_all(Arena *a, KFun *f, ExpMap *often)
{
    Once o = {.arena = a,
              .b = kb_more(a, f),
              .copies = ptrmap_new(a),
              .defs = ptrmap_new(a),
              .params = ptrmap_new(a),
              .bound = ptrmap_new(a),
              .available = expmap_new(a),
              .often = often};
    for (int i = 0; i < f->params.n; i++)
        if (f->params.at[i].var) {
            ptrset_add(o.params, f->params.at[i].var);
            ptrset_add(o.bound, f->params.at[i].var);
        }
    walk(&o, &f->body);
}

void kir_invariant(Arena *a, KFun *f)
{
    walk_all(a, f, NULL);
    Count c = {expmap_new(a), expmap_new(a)};
    kblock_visit(&f->body, &(KVisitor){.env = &c, .enter = count_stm});
    walk_all(a, f, c.often);
}
