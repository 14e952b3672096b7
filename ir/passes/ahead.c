/* Reductions of what a loop carries are done a turn ahead, where it is made.
 *
 *     loop (xs = as) for i < n do                 let r = reduce op as
 *         let r = reduce op xs                    loop (xs = as, r = r) for i < n do
 *         let ys = map (f r) xs           ==>         let ys = map (f r) xs
 *         in ys                                       let s = reduce op ys
 *                                                     in (ys, s)
 *
 * Then the reduction fuses with the map: a pass over memory less, and a launch, in each turn. One
 * reduction more is done in all, that of what the last turn makes.
 *
 * Of reductions to scalars that cannot fail, of arrays that maps of scalar code make, which depend
 * on nothing else that the turn computes.
 *
 * SOAC dialect, after fusion and hoisting: reductions of one array are one, and what they read is
 * carried by the loop or known before it. Before and after: well-formed. */
#include "ir/ir.h"

typedef struct {
    Ctx *cx;
    bool changed;
} Ahead;

static bool reduces_to_scalars(const Stm *s)
{
    const Exp *e = s->exp;
    return exp_is_fold(e) && s->pat.n == e->soac.nes.n && types_scalar(&s->pat, 0, s->pat.n) &&
           !exp_traps(e);
}

/* What the loop gives to its parameter v after a turn; not a variable if v is none. */
static Atom next_of(const Exp *loop, const Var *v)
{
    int k = vars_find(&loop->loop.params, v);
    return k >= 0 ? loop->loop.body->res.at[k] : (Atom){0};
}

/* Is a made in b, by a map of so many elements that does nothing parallel inside? */
static bool is_mapped(const Body *b, Atom a, Atom width)
{
    for (int i = 0; i < b->stms.n && a.var; i++) {
        const Stm *s = &b->stms.at[i];
        for (int k = 0; k < s->pat.n; k++)
            if (s->pat.at[k] == a.var)
                return s->exp->kind == E_MAP && atom_eq(s->exp->soac.width, width) &&
                       !body_has_soac(s->exp->soac.fn->body);
    }
    return false;
}

static bool may_go_ahead(const Ahead *A, const Exp *loop, const Stm *s)
{
    const Body *b = loop->loop.body;
    bool fuses = false, depends = false;
    if (!reduces_to_scalars(s))
        return false;
    ArenaMark mark = arena_mark(A->cx->scratch);
    VarSet *used = varmap_new(A->cx->scratch);
    free_in_exp(used, s->exp);
    depends = loop->loop.kind == LOOP_FOR && varset_has(used, loop->loop.i);
    for (int i = 0; i < b->stms.n; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            depends = depends || varset_has(used, b->stms.at[i].pat.at[k]);
    for (int k = 0; k < s->exp->soac.arrs.n; k++) {
        Atom next = next_of(loop, s->exp->soac.arrs.at[k].var);
        fuses = fuses || is_mapped(b, next, s->exp->soac.width);
    }
    arena_reset(A->cx->scratch, mark);
    return fuses && !depends;
}

/* The reduction s of what stands in the place of the loop's parameters. Its results. */
static Atoms reduced(Ahead *A, Bld *bl, const Exp *loop, const Stm *s, const Atoms *values)
{
    Subst *su = subst_new(A->cx);
    for (int k = 0; k < loop->loop.params.n; k++)
        subst_add(su, loop->loop.params.at[k], values->at[k]);
    Stm copy = subst_stm(A->cx, su, s);
    bld_stm(bl, copy);
    return atoms_of_vars(A->cx, &copy.pat);
}

/* The loop with its reductions ahead, and those of the first turn in front of it. */
static Stm loop_ahead(Ahead *A, Bld *out, const Stm *s)
{
    Ctx *cx = A->cx;
    const Exp *loop = s->exp;
    const Body *b = loop->loop.body;
    Exp *r = NEW(cx->perm, Exp);
    Stm after = {.exp = r};
    Bld body = bld_new(cx), end = bld_new(cx);
    Atoms res = {0};
    *r = *loop;
    r->loop.params = (Vars){0};
    r->loop.inits = (Atoms){0};
    vec_append(cx->perm, &r->loop.params, &loop->loop.params);
    vec_append(cx->perm, &r->loop.inits, &loop->loop.inits);
    vec_append(cx->perm, &after.pat, &s->pat);
    vec_append(cx->perm, &res, &b->res);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *red = &b->stms.at[i];
        if (!may_go_ahead(A, loop, red)) {
            bld_stm(&body, *red);
            continue;
        }
        Atoms first = reduced(A, out, loop, red, &loop->loop.inits);
        Atoms next = reduced(A, &end, loop, red, &b->res);
        vec_append(cx->perm, &r->loop.params, &red->pat);
        vec_append(cx->perm, &r->loop.inits, &first);
        vec_append(cx->perm, &res, &next);
        for (int k = 0; k < red->pat.n; k++)
            vec_push(cx->perm, &after.pat, var_like(cx, red->pat.at[k]));
        A->changed = true;
    }
    vec_append(cx->perm, &body.stms, &end.stms);
    r->loop.body = bld_body(&body, res);
    return after;
}

static Body *ahead_body(void *env, Body *b);

static Lambda *ahead_lambda(void *env, Lambda *l)
{
    return lambda_new(((Ahead *)env)->cx, l->params, ahead_body(env, l->body));
}

static Body *ahead_body(void *env, Body *b)
{
    Ahead *A = env;
    ExpMapper m = {.env = env, .body = ahead_body, .lambda = ahead_lambda};
    Bld bl = bld_new(A->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (exp_is(s.exp, F_CODE))
            s.exp = exp_map_parts(A->cx, s.exp, &m);
        if (s.exp->kind == E_LOOP)
            s = loop_ahead(A, &bl, &s);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Prog *pass_ahead(Ctx *cx, const Prog *in)
{
    Ahead A = {.cx = cx};
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        en.body = ahead_body(&A, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    /* Other programs stay as they are. */
    return A.changed ? pass_simplify(cx, pass_fuse(cx, p)) : p;
}
