/* Sums of vectors over rows of varying widths become sums of each component, before rules G3 and G9
 * decide about versions.
 *
 *     reduce (map op1) (replicate d z) (map f xs)
 *         =>  map (\c -> reduce op1 z (map (\x -> (f x)[c]) xs)) (iota d)
 *
 * This is what rule G4 does, which takes the components from a transposed array. Where the width of
 * xs varies there is no such array outside of the nest, but components of views and of maps can be
 * had one by one. The map is regular then, and what is ragged in it a reduction of scalars, for
 * which there are balanced kernels (rule G10). */
#include "flatten/rules.h"

/* --- Parts of reductions -------------------------------------------------------------------- */

Lambda *reduce_fn(Flat *fl, const Exp *e)
{
    if (e->soac.fn)
        return e->soac.fn;
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        /* Named after the operator's second parameters. */
        const Var *like = e->soac.op->params.at[e->soac.nes.n + k];
        Type t = type_row(atom_type(e->soac.arrs.at[k]));
        vec_push(fl->cx->perm, &params, var_new(fl->cx, like->base, t, like->loc));
    }
    Bld none = bld_new(fl->cx);
    return lambda_new(fl->cx, params, bld_body(&none, atoms_of_vars(fl->cx, &params)));
}

Atom element_of_neutral(Flat *fl, Atom ne, Vars *params, Atoms *arrs, Bld *bl)
{
    const Exp *e = def_of(fl, ne);
    if (!e || e->kind != E_REPLICATE) {
        Var *d = var_new(fl->cx, "ne", type_row(atom_type(ne)), (Loc){0});
        vec_push(fl->cx->perm, params, d);
        vec_push(fl->cx->perm, arrs, ne);
        return atom_var(d);
    }
    if (e->replicate.dims.n == 1)
        return e->replicate.val;
    Exp *r = exp_new(fl->cx, E_REPLICATE, e->loc);
    r->replicate.val = e->replicate.val;
    for (int d = 1; d < e->replicate.dims.n; d++)
        vec_push(fl->cx->perm, &r->replicate.dims, e->replicate.dims.at[d]);
    return bld_exp(bl, "ne", r);
}

/* --- Components ----------------------------------------------------------------------------- */

static bool is_among(const Vars *vs, Atom a)
{
    for (int k = 0; k < vs->n; k++)
        if (vs->at[k] == a.var)
            return true;
    return false;
}

static bool gives_result(const Body *b, const Stm *s)
{
    for (int k = 0; k < b->res.n; k++)
        if (is_among(&s->pat, b->res.at[k]))
            return true;
    return false;
}

static bool is_element_map(const Body *b, const Stm *s)
{
    return s->exp->kind == E_MAP && !(s->exp->attrs & ATTR_SEQUENTIAL) && gives_result(b, s);
}

/* Is all that f does little enough to do it again for each component, but for maps that give its
 * results, of which one element is done, and which nothing else uses? */
static bool has_components(Flat *fl, const Lambda *f)
{
    const Body *b = f->body;
    VarSet *mapped = varmap_new(fl->cx->perm);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool view = s->exp->kind == E_REARRANGE || s->exp->kind == E_RESHAPE;
        if (exp_uses_any(s->exp, mapped) || exp_consumes(fl->cx, s->exp).n > 0)
            return false;
        if (is_element_map(b, s)) {
            for (int k = 0; k < s->pat.n; k++)
                varset_add(mapped, s->pat.at[k]);
        } else if (has_strides(s->exp) || (!view && !is_cheap(fl, s) && s->exp->kind != E_INDEX &&
                                           s->exp->kind != E_ASSERT)) {
            return false;
        }
    }
    return true;
}

/* \x -> (f x)[c], of all results. */
static Lambda *component_of(Flat *fl, const Lambda *f, Atom c, Loc loc)
{
    Ctx *cx = fl->cx;
    const Lambda *own = rename_lambda(cx, f);
    Bld bl = bld_new(cx);
    Vars made = {0};
    Atoms elems = {0}, res = {0};
    for (int i = 0; i < own->body->stms.n; i++) {
        const Stm *s = &own->body->stms.at[i];
        if (s->exp->kind == E_INDEX && !s->exp->index.safe && s->pat.at[0]->type.rank > 0) {
            assert_index(fl, s,
                         &bl); /* nobody would know the view again of an element that failed */
            continue;
        } else if (!is_element_map(own->body, s)) {
            bld_stm(&bl, *s);
            continue;
        }
        Atoms args = {0};
        for (int k = 0; k < s->exp->soac.arrs.n; k++)
            vec_push(
                cx->perm, &args,
                element_at(fl, s->exp->soac.arrs.at[k], s->exp->soac.fn->params.at[k], c, &bl));
        Atoms vals = bld_inline_lambda(&bl, s->exp->soac.fn, &args);
        vec_append(cx->perm, &made, &s->pat);
        vec_append(cx->perm, &elems, &vals);
    }
    for (int k = 0; k < own->body->res.n; k++) {
        Atom a = own->body->res.at[k], elem = {0};
        for (int j = 0; j < made.n; j++)
            if (made.at[j] == a.var)
                elem = elems.at[j];
        if (!is_among(&made, a))
            elem = bld_exp(&bl, a.var->base, exp_index(cx, loc, a, &c, 1, true));
        vec_push(cx->perm, &res, elem);
    }
    return lambda_new(cx, own->params, bld_body(&bl, res));
}

static void by_components(Flat *fl, const Stm *s, const Lambda *f, const Atoms *xs, Bld *out)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Exp *inner = exp_new(cx, E_REDOMAP, e->loc), *places = exp_new(cx, E_IOTA, e->loc);
    inner->soac = e->soac;
    inner->soac.arrs = *xs;
    inner->soac.nes = (Atoms){0};
    inner->soac.op = op_on_elements(fl, e->soac.op, &places->iota.n);
    places->iota.start = atom_i64(0);
    places->iota.stride = atom_i64(1);
    Vars params = {0};
    Atoms arrs = {0};
    vec_push(cx->perm, &params, var_new(cx, "c", type_prim(T_I64), e->loc));
    vec_push(cx->perm, &arrs, bld_exp(out, "cs", places));
    for (int k = 0; k < e->soac.nes.n; k++)
        vec_push(cx->perm, &inner->soac.nes,
                 element_of_neutral(fl, e->soac.nes.at[k], &params, &arrs, out));
    inner->soac.fn = component_of(fl, f, atom_var(params.at[0]), e->loc);
    Bld bl = bld_new(cx);
    Atoms res = bld_exps(&bl, "r", inner);
    Exp *outer =
        exp_map(cx, e->loc, places->iota.n, arrs, lambda_new(cx, params, bld_body(&bl, res)));
    outer->attrs = inner->attrs = e->attrs;
    bld_stm(out, (Stm){s->pat, outer});
}

/* --- Which sums ----------------------------------------------------------------------------- */

typedef struct {
    Flat *fl;
    VarSet *variant;
    bool any;
} Columns;

/* The map among the statements before that gives all arrays which e reduces, and whose elements can
 * as well be made where they are added; NULL: there is none. */
static const Exp *map_before(Flat *fl, const Exp *e, const Stms *before)
{
    for (int i = before->n - 1; i >= 0 && !e->soac.fn; i--) {
        const Stm *s = &before->at[i];
        bool all = s->exp->kind == E_MAP;
        for (int k = 0; k < e->soac.arrs.n; k++)
            all = all && is_among(&s->pat, e->soac.arrs.at[k]);
        if (all)
            return atom_eq(s->exp->soac.width, e->soac.width) && has_components(fl, s->exp->soac.fn)
                       ? s->exp
                       : NULL;
        if (exp_consumes(fl->cx, s->exp).n > 0)
            return NULL;
    }
    return NULL;
}

/* \x -> those results of map's function that e reduces. */
static Lambda *reduced_fn(Flat *fl, const Exp *e, const Stms *before, const Exp *map)
{
    const Stm *s = before->at;
    while (s->exp != map)
        s++;
    Body *b = NEW(fl->cx->perm, Body);
    b->stms = map->soac.fn->body->stms;
    for (int k = 0; k < e->soac.arrs.n; k++)
        for (int j = 0; j < s->pat.n; j++)
            if (s->pat.at[j] == e->soac.arrs.at[k].var)
                vec_push(fl->cx->perm, &b->res, map->soac.fn->body->res.at[j]);
    return lambda_new(fl->cx, map->soac.fn->params, b);
}

static bool is_wanted(const Columns *c, const Stm *s)
{
    const Exp *e = s->exp;
    return exp_is(e, F_FOLD) && !(e->attrs & ATTR_SEQUENTIAL) && s->pat.n == e->soac.nes.n &&
           atom_variant(c->variant, e->soac.width) && g4_applies(e) &&
           !types_variant(c->variant, &s->pat);
}

static bool split_sum(Columns *c, const Stm *s, Bld *bl)
{
    Flat *fl = c->fl;
    if (!is_wanted(c, s))
        return false;
    const Exp *map = map_before(fl, s->exp, &bl->stms);
    Lambda *f = map ? reduced_fn(fl, s->exp, &bl->stms, map) : reduce_fn(fl, s->exp);
    if (!has_components(fl, f))
        return false;
    by_components(fl, s, f, map ? &map->soac.arrs : &s->exp->soac.arrs, bl);
    return c->any = true;
}

/* Bodies of loops and branches, too; maps have a turn of their own. */
static Body *columns_body(void *env, Body *b)
{
    Columns *c = env;
    Bld bl = bld_new(c->fl->cx);
    ExpMapper m = {.env = c, .body = columns_body};
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (s.exp->kind == E_LOOP)
            add_variant_params(c->fl, c->variant, s.exp);
        if (s.exp->kind == E_LOOP || s.exp->kind == E_IF) {
            s.exp = exp_map_parts(c->fl->cx, s.exp, &m);
        } else if (split_sum(c, &s, &bl)) {
            continue;
        }
        bool fixed = is_floatable(c->fl, &s) && !exp_uses_any(s.exp, c->variant);
        for (int k = 0; k < s.pat.n && !fixed; k++)
            varset_add(c->variant, s.pat.at[k]);
        bld_stm(&bl, s);
    }
    VarSet *need = varmap_new(c->fl->cx->perm);
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var)
            varset_add(need, b->res.at[k].var);
    if (c->any) /* a map whose elements are made elsewhere is left out */
        bl.stms = stms_live(c->fl->cx, &bl.stms, need, true);
    return bld_body(&bl, b->res);
}

Body *sums_by_component(Flat *fl, const MapNest *S, Body *b)
{
    if (fl->level != 1 || (fl->mode != FLATTEN_INCREMENTAL && fl->mode != FLATTEN_FULL))
        return b;
    Columns c = {fl, varmap_new(fl->cx->perm), false};
    nest_vars(S, c.variant);
    Body *r = columns_body(&c, b);
    if (!c.any)
        return b;
    analyse_body(fl, r);
    return r;
}
