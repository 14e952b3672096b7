/* Derivatives become ordinary code, from the inside out: those of a function that has derivatives
 * in it are derivatives of what these have become. Before each round the program is simplified:
 * what is not there has no derivative, a loop that is a map keeps nothing, and what does not vary
 * in a map is made outside.
 *
 * SOAC dialect. Before: well-formed. After: well-formed, without JVP and VJP. */
#include "ad/ad.h"
#include "ad/reverse.h"

#include "ir/chains/alike.h"

typedef struct {
    Ctx *cx;
    const Entry *en;
    VarMap *defs; /* Var -> const Exp *: what defines it */
} Diff;

static Body *diff_body(Diff *D, const Body *b);

static Body *part_body(void *env, Body *b)
{
    return diff_body(env, b);
}

static Lambda *part_lambda(void *env, Lambda *lam)
{
    Diff *D = env;
    return lambda_new(D->cx, lam->params, diff_body(D, lam->body));
}

/* Values, then derivatives, of which zero ones are made of what has none. */
static void bind(Bld *bl, const Stm *s, const Atoms *values, const Atoms *derivatives)
{
    int d = 0;
    for (int i = 0; i < s->pat.n; i++) {
        Var *v = s->pat.at[i];
        Atom a = i < values->n          ? values->at[i]
                 : ad_is_float(v->type) ? derivatives->at[d++]
                                        : ad_zero(bl, s->exp->loc, v->type);
        bld_define(bl, v, exp_atom(bl->cx, s->exp->loc, ad_as(bl, s->exp->loc, a, v->type)));
    }
}

static void split(Ctx *cx, const Atoms *all, int n, Atoms *first, Atoms *rest)
{
    for (int i = 0; i < all->n; i++)
        ad_atom(cx, i < n ? first : rest, all->at[i]);
}

static void forward(Diff *D, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    Atoms args = {0}, values = {0}, tangents = {0};
    vec_append(D->cx->perm, &args, &e->deriv.args);
    for (int i = 0; i < e->deriv.seeds.n; i++)
        if (ad_is_float(atom_type(e->deriv.seeds.at[i])))
            ad_atom(D->cx, &args, e->deriv.seeds.at[i]);
    Atoms all = bld_inline_lambda(bl, ad_forward(D->cx, e->deriv.fn), &args);
    split(D->cx, &all, e->deriv.fn->body->res.n, &values, &tangents);
    bind(bl, s, &values, &tangents);
}

static void add_sizes(VarSet *sizes, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (t.dims[d].var)
            varset_add(sizes, t.dims[d].var);
}

/* Sizes of what there is before and in fn's body, but for bodies inside. */
static VarSet *sizes_of(Ctx *cx, const Lambda *fn)
{
    VarSet *sizes = varmap_new(cx->perm);
    Vars free = free_vars_lambda(cx, fn);
    for (int i = 0; i < free.n; i++)
        add_sizes(sizes, free.at[i]->type);
    for (int i = 0; i < fn->params.n; i++)
        add_sizes(sizes, fn->params.at[i]->type);
    for (int i = 0; i < fn->body->stms.n; i++)
        for (int k = 0; k < fn->body->stms.at[i].pat.n; k++)
            add_sizes(sizes, fn->body->stms.at[i].pat.at[k]->type);
    return sizes;
}

static void reverse(Diff *D, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = D->cx;
    Rev r = {.cx = cx, .sweep = rev_sweep, .bl = bld_new(cx), .defs = D->defs};
    r.active = varmap_new(cx->perm);
    r.adjoint = varmap_new(cx->perm);
    r.maps = varmap_new(cx->perm);
    r.widths = varmap_new(cx->perm);
    Lambda *fn = ad_inlined(cx, once_turns(cx, D->en, e->deriv.fn));
    r.sizes = sizes_of(cx, fn);
    Vars ps = {0};
    Atoms args = {0}, res = {0}, values = {0}, adjoints = {0};
    vec_append(cx->perm, &ps, &fn->params);
    vec_append(cx->perm, &args, &e->deriv.args);
    vec_append(cx->perm, &res, &fn->body->res);
    for (int i = 0; i < ps.n; i++)
        if (ad_is_float(ps.at[i]->type))
            varset_add(r.active, ps.at[i]);
    ad_activity(r.active, fn->body);
    for (int j = 0; j < fn->body->res.n; j++) {
        Atom seed = e->deriv.seeds.at[j], y = fn->body->res.at[j];
        if (!rev_active(&r, y))
            continue;
        Var *p = var_new(cx, "seed", atom_type(y), e->loc);
        vec_push(cx->perm, &ps, p);
        ad_atom(cx, &args, seed);
        rev_add(&r, e->loc, y, atom_var(p));
    }
    rev_body(&r, fn->body);
    for (int i = 0; i < fn->params.n; i++)
        if (ad_is_float(fn->params.at[i]->type))
            ad_atom(cx, &res, rev_take(&r, fn->params.at[i]));
    vec_append(cx->perm, &r.fwd, &r.bl.stms);
    r.bl.stms = r.fwd;
    Atoms all = bld_inline_lambda(bl, lambda_new(cx, ps, bld_body(&r.bl, res)), &args);
    split(cx, &all, fn->body->res.n, &values, &adjoints);
    bind(bl, s, &values, &adjoints);
}

static bool is_derivative(const Exp *e)
{
    return e->kind == E_JVP || e->kind == E_VJP;
}

static Body *diff_body(Diff *D, const Body *b)
{
    ExpMapper m = {.env = D, .body = part_body, .lambda = part_lambda};
    Bld bl = bld_new(D->cx);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool now = is_derivative(s->exp) && !body_any(s->exp->deriv.fn->body, is_derivative);
        Stm inner = {s->pat, s->exp};
        if (!now && exp_is(s->exp, F_CODE))
            inner.exp = exp_map_parts(D->cx, s->exp, &m);
        for (int j = 0; j < s->pat.n; j++)
            varmap_put(D->defs, s->pat.at[j], inner.exp);
        if (!now)
            bld_stm(&bl, inner);
        else if (s->exp->kind == E_JVP)
            forward(D, &bl, &inner);
        else
            reverse(D, &bl, &inner);
    }
    return bld_body(&bl, b->res);
}

static bool prog_any(const Prog *p, bool (*ask)(const Exp *e))
{
    for (int i = 0; i < p->entries.n; i++)
        if (body_any(p->entries.at[i].body, ask))
            return true;
    return false;
}

/* When nobody asks for derivatives any more. */
static Prog *without_special(Ctx *cx, const Prog *in)
{
    Prog *p = arena_memdup(cx->perm, in, sizeof *in);
    p->entries = (Entries){0};
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        if (body_any(en.body, ad_is_special)) {
            en.body = ad_final(cx, en.body);
            ir_copy_needed(cx, &en);
        }
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}

/* Those that have none inside. */
static Prog *innermost(Ctx *cx, const Prog *in)
{
    Prog *p = arena_memdup(cx->perm, in, sizeof *in);
    p->entries = (Entries){0};
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Diff D = {cx, &en, varmap_new(cx->perm)};
        if (body_any(en.body, is_derivative)) {
            en.body = diff_body(&D, en.body);
            ir_copy_needed(cx, &en);
        }
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}

Prog *ad_differentiate(Ctx *cx, const Prog *in)
{
    Prog *p = (Prog *)(uintptr_t)in;
    if (prog_any(in, is_derivative))
        p = pass_functions(cx, in);
    while (prog_any(p, is_derivative)) {
        p = pass_hoist(cx, pass_simplify(cx, p));
        p = innermost(cx, p);
    }
    return prog_any(p, ad_is_special) ? without_special(cx, p) : p;
}
