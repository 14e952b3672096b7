/* Reductions of what a filter keeps, and of nothing else: the elements that it does not keep give
 * the neutral element instead, and nothing is moved.
 *
 *     let kept = filter p xs                     let s = redomap op ne xs \x ->
 *     let s    = redomap op ne kept f      ==>             if p x then f x else ne
 *     let n    = length kept                     let n = redomap (+) 0 xs \x -> i64 (p x)
 *
 * In rows, a nest that is regular again. Only if all that is done with the filter are such
 * reductions, in the same body, and p and f are scalar code: where f loops, a filter shares out
 * equally what is to be done, and here work-items would wait for each other.
 *
 * After fusion, which makes f; before siblings fuse, as these reductions are. Before: well-formed.
 * After: well-formed; the filter's statements are left to simplify. */
#include "ir/filters/kept.h"
#include "ir/passes/uses.h"

/* A filter that need not be made. */
typedef struct {
    Kept k;
    VarMap *parts; /* slices of what the scatter gives: what is kept -> that result */
    VarSet *sums;  /* what their reductions give */
    VarSet *asked; /* counts that others want */
} Masked;

typedef struct {
    Ctx *cx;
    Uses *us;
    VarMap *instead; /* Var -> Masked *: results of reductions, and counts, that are made anew */
} Masking;

/* --- What is done with a filter ------------------------------------------------------------- */

static bool uses_any(const VarSet *used, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        if (varset_has(used, vs->at[k]))
            return true;
    return false;
}

static bool all_stable(const Masking *M, const Atoms *as)
{
    for (int k = 0; k < as->n; k++)
        if (!uses_stable(M->us, as->at[k]))
            return false;
    return true;
}

/* The predicate is computed later than it was. */
static bool reads_stable(const Masking *M, const Lambda *l)
{
    VarSet *used = varmap_new(M->cx->perm);
    free_in_lambda(used, l);
    return uses_all_stable(M->us, M->cx->perm, used);
}

static bool is_dear(const Exp *e)
{
    return exp_is_soac(e) || e->kind == E_LOOP || exp_is(e, F_ALLOC | F_STAYS);
}

static bool is_scalar_code(const Lambda *l)
{
    return !body_any(l->body, is_dear);
}

/* Is it what is kept, as an array? */
static bool is_part(const Masked *m, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_INDEX || e->index.at.n != 1 || !e->index.at.at[0].is_slice)
        return false;
    DimIndex d = e->index.at.at[0];
    return vars_find(&m->k.scatter->pat, e->index.arr.var) >= 0 && d.n.var &&
           varset_has(m->k.counts, d.n.var) && atom_is_int(d.start, 0) && atom_is_int(d.stride, 1);
}

/* A reduction of parts alone, to scalars. */
static bool is_sum(Masking *M, const Masked *m, const Stm *s)
{
    const Exp *e = s->exp;
    VarSet *used = varmap_new(M->cx->perm);
    if (!exp_is_fold(e) || s->pat.n != e->soac.nes.n || e->soac.arrs.n == 0 ||
        (e->attrs & ATTR_SEQUENTIAL) ||
        !types_scalar(&e->soac.op->params, 0, e->soac.op->params.n) ||
        (e->soac.fn && !is_scalar_code(e->soac.fn)))
        return false;
    free_in_lambda(used, e->soac.op);
    if (e->soac.fn)
        free_in_lambda(used, e->soac.fn);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Var *part = e->soac.arrs.at[k].var;
        if (!part || !varmap_get(m->parts, part) || varset_has(used, part))
            return false;
    }
    return !uses_any(used, &m->k.scatter->pat);
}

/* Are the scatter's values elements of arrays, as they are there without the counts? */
static bool values_are_there(const Masked *m)
{
    const Exp *e = m->k.scatter->exp;
    for (int j = 0; j < e->soac.dests.n; j++) {
        Atom val = e->soac.fn->body->res.at[e->soac.dests.n + j];
        int q = vars_find(&e->soac.fn->params, val.var);
        if (q < 0 || val.var->type.rank > 0 || e->soac.arrs.at[q].var == m->k.scan->pat.at[0])
            return false;
    }
    return true;
}

/* Notes what statement s does with the filter; false: something else than sums. */
static bool note_user(Masking *M, Masked *m, const Stm *s)
{
    VarSet *used = varmap_new(M->cx->perm);
    free_in_exp(used, s->exp);
    if (is_part(m, s)) {
        varmap_put(m->parts, s->pat.at[0], s->exp->index.arr.var);
        return uses_stable(M->us, atom_var(s->pat.at[0]));
    }
    bool sum = is_sum(M, m, s);
    Vars parts = varset_list(M->cx->perm, m->parts), counts = varset_list(M->cx->perm, m->k.counts);
    if (sum) {
        for (int k = 0; k < s->pat.n; k++)
            varset_add(m->sums, s->pat.at[k]);
        used = varmap_new(M->cx->perm);
        free_in_lambda(used, s->exp->soac.op);
        if (s->exp->soac.fn)
            free_in_lambda(used, s->exp->soac.fn);
    } else if (uses_any(used, &parts) || uses_any(used, &m->k.scatter->pat)) {
        return false;
    }
    free_in_stm(used, &(Stm){sum ? (Vars){0} : s->pat, exp_atom(M->cx, s->exp->loc, atom_i64(0))});
    for (int k = 0; k < counts.n; k++)
        if (varset_has(used, counts.at[k]))
            varset_add(m->asked, counts.at[k]);
    return true;
}

/* Is the filter that begins at statement `at` asked for sums alone? */
static bool is_masked(Masking *M, const Body *b, int at, Masked *m)
{
    Ctx *cx = M->cx;
    if (!kept_find(cx, M->us->defs, b, at, &m->k) || !is_scalar_code(m->k.scan->exp->soac.fn) ||
        !reads_stable(M, m->k.scan->exp->soac.fn) || !values_are_there(m) ||
        varset_list(cx->perm, m->k.elsewhere).n > 0 || !all_stable(M, &m->k.scan->exp->soac.arrs) ||
        !all_stable(M, &m->k.scatter->exp->soac.arrs))
        return false;
    m->parts = varmap_new(cx->perm);
    m->sums = varmap_new(cx->perm);
    m->asked = varmap_new(cx->perm);
    for (int i = at + 1; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool own = s == m->k.scatter || (s->pat.n == 1 && varset_has(m->k.counts, s->pat.at[0]));
        if (!own && !note_user(M, m, s))
            return false;
    }
    for (int j = 0; j < b->res.n; j++) {
        const Var *v = b->res.at[j].var;
        if (v && (varmap_get(m->parts, v) || vars_find(&m->k.scatter->pat, v) >= 0))
            return false;
        if (v && varset_has(m->k.counts, v))
            varset_add(m->asked, v);
    }
    return varset_list(cx->perm, m->sums).n > 0;
}

/* --- What is done instead ------------------------------------------------------------------- */

/* A function of the filter's elements under construction. */
typedef struct {
    Bld bl;
    Vars params;
    Atoms arrs;
    Atoms scanned; /* what the scan's function gives for the element */
} Element;

static Atom param_of(Element *x, Ctx *cx, Atom arr, const Var *like)
{
    for (int k = 0; k < x->arrs.n; k++)
        if (atom_eq(x->arrs.at[k], arr))
            return atom_var(x->params.at[k]);
    vec_push(cx->perm, &x->params, var_new(cx, like->base, like->type, like->loc));
    vec_push(cx->perm, &x->arrs, arr);
    return atom_var(vec_last(&x->params));
}

static Element element_of(Masking *M, const Masked *m)
{
    const Exp *e = m->k.scan->exp;
    Element x = {.bl = bld_new(M->cx)};
    Atoms args = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom a = param_of(&x, M->cx, e->soac.arrs.at[k], e->soac.fn->params.at[k]);
        vec_push(M->cx->perm, &args, a);
    }
    x.scanned = bld_inline_lambda(&x.bl, e->soac.fn, &args);
    return x;
}

/* What is kept of the element as that part's. */
static Atom value_of(Masking *M, const Masked *m, Element *x, Atom part)
{
    const Exp *e = m->k.scatter->exp;
    int j = vars_find(&m->k.scatter->pat, varmap_get(m->parts, part.var));
    Atom val = e->soac.fn->body->res.at[e->soac.dests.n + j];
    int q = vars_find(&e->soac.fn->params, val.var);
    int r = vars_find(&m->k.scan->pat, e->soac.arrs.at[q].var);
    return r >= 0 ? x->scanned.at[r] : param_of(x, M->cx, e->soac.arrs.at[q], val.var);
}

static Exp *reduction(Masking *M, const Masked *m, const Exp *like, Element *x, Atoms res)
{
    Exp *e = exp_new(M->cx, E_REDOMAP, like->loc);
    e->attrs = like->attrs;
    e->soac = like->soac;
    e->soac.width = m->k.scan->exp->soac.width;
    e->soac.arrs = x->arrs;
    e->soac.fn = lambda_new(M->cx, x->params, bld_body(&x->bl, res));
    return e;
}

static Exp *masked_sum(Masking *M, const Masked *m, const Exp *e)
{
    Ctx *cx = M->cx;
    Element x = element_of(M, m);
    Bld kept = bld_new(cx), not = bld_new(cx);
    Atoms vals = {0};
    for (int k = 0; k < e->soac.arrs.n; k++)
        vec_push(cx->perm, &vals, value_of(M, m, &x, e->soac.arrs.at[k]));
    if (e->soac.fn)
        vals = bld_inline_lambda(&kept, e->soac.fn, &vals);
    Body *then_ = bld_body(&kept, vals), *else_ = bld_body(&not, e->soac.nes);
    Exp *either = exp_if(cx, e->loc, x.scanned.at[m->k.flags], then_, else_);
    return reduction(M, m, e, &x, bld_exps(&x.bl, "x", either));
}

static Exp *masked_count(Masking *M, const Masked *m)
{
    const Exp *e = m->k.scan->exp;
    Element x = element_of(M, m);
    Atoms res = {0};
    vec_push(M->cx->perm, &res, x.scanned.at[0]);
    Exp *r = reduction(M, m, e, &x, res);
    r->soac.op = rename_lambda(M->cx, e->soac.op);
    return r;
}

/* --- The pass ------------------------------------------------------------------------------- */

static void find_masked(Masking *M, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        if (b->stms.at[i].exp->kind != E_SCANOMAP)
            continue;
        Masked *m = NEW(M->cx->perm, Masked);
        if (!is_masked(M, b, i, m))
            continue;
        Vars sums = varset_list(M->cx->perm, m->sums), asked = varset_list(M->cx->perm, m->asked);
        vec_append(M->cx->perm, &sums, &asked);
        for (int k = 0; k < sums.n; k++)
            varmap_put(M->instead, sums.at[k], m);
    }
}

static Lambda *mask_lambda(void *env, Lambda *l);

static Body *mask_body(void *env, Body *b)
{
    Masking *M = env;
    ExpMapper inside = {.env = M, .body = mask_body, .lambda = mask_lambda};
    Bld bl = bld_new(M->cx);
    find_masked(M, b);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        const Masked *m = s.pat.n ? varmap_get(M->instead, s.pat.at[0]) : NULL;
        if (m && exp_is_fold(s.exp))
            s.exp = masked_sum(M, m, s.exp);
        else if (m)
            s.exp = masked_count(M, m);
        else
            s.exp = exp_map_parts(M->cx, s.exp, &inside);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

static Lambda *mask_lambda(void *env, Lambda *l)
{
    return lambda_new(((Masking *)env)->cx, l->params, mask_body(env, l->body));
}

Prog *pass_masked(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Masking M = {cx, uses_entry(cx, &en), varmap_new(cx->perm)};
        en.body = mask_body(&M, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
