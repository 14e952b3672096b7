/* What matrix units are given is computed once, before the products that take it.
 *
 *     map (\xs ->                                        let h = map (map f) bs
 *       map (\ys ->                                      map (\xs ->
 *              redomap + (\x y ->                 ==>      let g = map e xs
 *                f32.f16 (e x) * f32.f16 (f y))            map (\ys -> redomap + (\x y ->
 *              xs ys) bs) as                                     f32.f16 x * f32.f16 y) g ys) h) as
 *
 * The units multiply elements of arrays: what is computed of them for each product they cannot, and
 * it would be computed as often as there are rows, or columns. A factor is taken out of all maps
 * with which it does not vary; if there is none it stays. Maps that make what it is computed of
 * become part of its map.
 *
 * In the same way a matrix that is read by an index (the keys that several heads share), of which a
 * copy costs little beside the products, and rows that are computed of those at hand: the nest of
 * products is then alone, as which it is known (segmatrix.c, chains/attention.c).
 *
 * SOAC dialect, after the last fusion, which would undo it, and hoisting. Before and after:
 * well-formed. */
#include "ir/passes/fuse_merge.h"

/* The body of a SOAC's function, or any other one, as it is built anew. */
typedef struct Level Level;
struct Level {
    Level *outer; /* NULL: what is outside runs at another time */
    VarSet *own;  /* what its statements bind, and its parameters */
    Bld out;
};

typedef struct {
    Ctx *cx;
    bool matrices; /* are looked at, behind the factors of products */
    bool changed;
} Operands;

static Exp *copy_of(Operands *op, const Exp *e)
{
    return arena_memdup(op->cx->perm, e, sizeof *e);
}

static bool meets(Operands *op, const Exp *e, const VarSet *set)
{
    VarSet *used = varmap_new(op->cx->perm);
    free_in_exp(used, e);
    Vars vs = varset_list(op->cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        if (varset_has(set, vs.at[i]))
            return true;
    return false;
}

static void add_all(VarSet *set, const Vars *vs)
{
    for (int i = 0; vs && i < vs->n; i++)
        varset_add(set, vs->at[i]);
}

/* --- Parts of functions ---------------------------------------------------------------------- */

/* The statements that v is made by, which may fail if `traps`; false: they cannot be taken out. */
static bool slice_of(Operands *op, const Body *b, const Var *v, bool traps, Stms *out)
{
    VarSet *need = varmap_new(op->cx->perm);
    Stms back = {0};
    varset_add(need, v);
    for (int i = b->stms.n - 1; i >= 0; i--) {
        const Stm *s = &b->stms.at[i];
        bool wanted = false;
        for (int k = 0; k < s->pat.n; k++)
            wanted |= varset_has(need, s->pat.at[k]);
        if (!wanted)
            continue;
        if ((exp_traps(s->exp) && !traps) || exp_is(s->exp, F_DESTS) || s->exp->kind == E_UPDATE)
            return false;
        free_in_stm(need, s);
        vec_push(op->cx->perm, &back, *s);
    }
    for (int i = back.n - 1; i >= 0; i--)
        vec_push(op->cx->perm, out, back.at[i]);
    return out->n > 0;
}

/* map (\.. -> { stms in v }) over those of e's arrays that stms need. */
static Exp *map_of(Operands *op, const Exp *e, const Stms *stms, Var *v)
{
    Ctx *cx = op->cx;
    Body *b = NEW(cx->perm, Body);
    b->stms = *stms;
    vec_push(cx->perm, &b->res, atom_var(v));
    VarSet *used = varmap_new(cx->perm);
    free_in_body(used, b);
    Vars params = {0};
    Atoms arrs = {0};
    for (int i = 0; i < e->soac.arrs.n; i++) {
        if (!varset_has(used, e->soac.fn->params.at[i]))
            continue;
        vec_push(cx->perm, &params, e->soac.fn->params.at[i]);
        vec_push(cx->perm, &arrs, e->soac.arrs.at[i]);
    }
    if (params.n == 0)
        return NULL;
    return exp_map(cx, e->loc, e->soac.width, arrs, rename_lambda(cx, lambda_new(cx, params, b)));
}

/* e's function has one more parameter, an element of arr. */
static Atom add_input(Operands *op, Exp *e, Atom arr)
{
    Ctx *cx = op->cx;
    Vars params = {0};
    Atoms arrs = {0};
    vec_append(cx->perm, &params, &e->soac.fn->params);
    vec_append(cx->perm, &arrs, &e->soac.arrs);
    Var *x = var_new(cx, "x", type_row(atom_type(arr)), e->loc);
    vec_push(cx->perm, &params, x);
    vec_push(cx->perm, &arrs, arr);
    e->soac.arrs = arrs;
    e->soac.fn = lambda_new(cx, params, e->soac.fn->body);
    return atom_var(x);
}

/* e's function with v given, not computed. */
static void give(Operands *op, Exp *e, const Var *v, Atom given)
{
    Ctx *cx = op->cx;
    const Body *of = e->soac.fn->body;
    Body *b = NEW(cx->perm, Body);
    b->res = of->res;
    for (int i = 0; i < of->stms.n; i++) {
        Stm s = of->stms.at[i];
        if (vars_find(&s.pat, v) == 0)
            s.exp = exp_atom(cx, s.exp->loc, given);
        vec_push(cx->perm, &b->stms, s);
    }
    e->soac.fn = lambda_new(cx, e->soac.fn->params, b);
    op->changed = true;
}

/* --- Where it is computed -------------------------------------------------------------------- */

/* The outermost level at which all is there that e needs; NULL: it is not at `from`. */
static Level *level_of(Operands *op, Level *from, const Exp *e)
{
    Level *l = from;
    while (l->outer && !meets(op, e, l->own))
        l = l->outer;
    return l;
}

static bool is_scalar_map(const Exp *e)
{
    return e->kind == E_MAP && !body_has_soac(e->soac.fn->body) && !exp_traps(e);
}

static bool is_loop(const Exp *e)
{
    return e->kind == E_LOOP;
}

/* The map s, with those before it in which its arrays are made: short ones, since others may read
 * these arrays, too, and none whose own arrays may have been consumed since. */
static Stm with_makers(Operands *op, const Level *l, Stm s)
{
    VarSet *none = varmap_new(op->cx->perm);
    for (int i = l->out.stms.n - 1; i >= 0; i--) {
        const Stm *maker = &l->out.stms.at[i];
        bool reads = false;
        if (exp_consumes(op->cx, maker->exp).n > 0)
            break;
        for (int k = 0; k < s.exp->soac.arrs.n; k++)
            reads |= vars_find(&maker->pat, s.exp->soac.arrs.at[k].var) >= 0;
        if (reads && is_scalar_map(maker->exp) && is_scalar_map(s.exp) &&
            !body_any(maker->exp->soac.fn->body, is_loop) &&
            atom_eq(maker->exp->soac.width, s.exp->soac.width))
            s = fuse_merge(op->cx, maker, false, &s, none);
    }
    return s;
}

static Atom place(Operands *op, Level *l, const Exp *e)
{
    Stm s = {.exp = copy_of(op, e), .pat = exp_pat(op->cx, "operand", e)};
    s = with_makers(op, l, s);
    add_all(l->own, &s.pat);
    bld_stm(&l->out, s);
    return atom_var(s.pat.at[0]);
}

/* Is it known not to fail where it is, as the map around it has an element? */
static bool is_safe_there(const Exp *e)
{
    return e->kind == E_INDEX && e->index.safe;
}

/* The map e, of the function of m, is done before m: if it does not vary with m its array is given
 * back, else the parameter of m that has its row of an array for all of m. Not a variable: it
 * stays, as it does if no map around m would use that array again, where it is to be `reused`. */
static Atom take_out(Operands *op, Level *l, Exp *m, Exp *e, bool reused)
{
    VarSet *inside = varmap_new(op->cx->perm), *given = varmap_new(op->cx->perm);
    bound_in_body(inside, m->soac.fn->body);
    add_all(given, &m->soac.fn->params);
    if (meets(op, e, inside) || body_any(e->soac.fn->body, is_safe_there))
        return (Atom){0};
    if (!meets(op, e, given))
        return place(op, level_of(op, l, e), e);
    Stms one = {0};
    Vars pat = exp_pat(op->cx, "operand", e);
    vec_push(op->cx->perm, &one, ((Stm){.exp = e, .pat = pat}));
    Exp *all = map_of(op, m, &one, pat.at[0]);
    Level *to = all ? level_of(op, l, all) : NULL;
    if (!all || (reused && to == l))
        return (Atom){0};
    return add_input(op, m, place(op, to, all));
}

/* --- Factors --------------------------------------------------------------------------------- */

static const Stm *binder(const Body *b, Atom a)
{
    for (int i = 0; i < b->stms.n; i++)
        if (a.var && vars_find(&b->stms.at[i].pat, a.var) >= 0)
            return &b->stms.at[i];
    return NULL;
}

/* The f16 whose value in f32 x is; NULL: of none. */
static const Var *factor_of(const Body *f, Atom x)
{
    const Stm *s = binder(f, x);
    bool conv =
        s && s->exp->kind == E_CONV && s->exp->conv.from == T_F16 && s->exp->conv.to == T_F32;
    return conv ? s->exp->conv.arg.var : NULL;
}

/* Is e a sum, in f32, of products of two f16? */
static bool is_product(const Exp *e, const Var *factor[2])
{
    if (e->kind != E_REDOMAP || e->soac.nes.n != 1 || e->soac.fn->body->res.n != 1)
        return false;
    const Exp *sum = lambda_op(e->soac.op);
    const Body *f = e->soac.fn->body;
    const Stm *mul = binder(f, f->res.at[0]);
    if (!sum || sum->prim.op != OP_ADD || sum->prim.type != T_F32 || !mul ||
        mul->exp->kind != E_PRIM || mul->exp->prim.op != OP_MUL)
        return false;
    for (int i = 0; i < 2; i++)
        factor[i] = factor_of(f, mul->exp->prim.args.at[i]);
    return factor[0] && factor[1];
}

/* Is it given to e's function as it is? */
static bool is_given(const Exp *e, const Var *v)
{
    return vars_find(&e->soac.fn->params, v) >= 0;
}

/* The factor as an array; not a variable: it stays. */
static Atom factor_out(Operands *op, Level *l, Exp *m, const Exp *e, const Var *factor)
{
    Stms stms = {0};
    const Stm *made = binder(e->soac.fn->body, atom_var((Var *)factor));
    if (!made || made->pat.n > 1 || !slice_of(op, e->soac.fn->body, factor, false, &stms))
        return (Atom){0};
    Exp *map = map_of(op, e, &stms, (Var *)factor);
    return map && is_scalar_map(map) ? take_out(op, l, m, map, true) : (Atom){0};
}

/* The products of the function of m, a SOAC at that level. */
static void factors_out(Operands *op, Level *l, Exp *m)
{
    Ctx *cx = op->cx;
    const Body *of = m->soac.fn->body;
    Stms stms = {0};
    for (int i = 0; i < of->stms.n; i++) {
        Stm s = of->stms.at[i];
        const Var *factor[2];
        if (is_product(s.exp, factor)) {
            Exp *e = s.exp = copy_of(op, s.exp);
            for (int k = 0; k < 2; k++) {
                Atom arr = is_given(e, factor[k]) ? (Atom){0} : factor_out(op, l, m, e, factor[k]);
                if (arr.var)
                    give(op, e, factor[k], add_input(op, e, arr));
            }
        }
        vec_push(cx->perm, &stms, s);
    }
    Body *b = NEW(cx->perm, Body);
    *b = (Body){.stms = stms, .res = of->res};
    m->soac.fn = lambda_new(cx, m->soac.fn->params, b);
}

/* --- Matrices and rows ----------------------------------------------------------------------- */

static bool is_any_product(const Exp *e)
{
    const Var *factor[2];
    return is_product(e, factor);
}

static bool multiplies_itself(const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        if (is_any_product(b->stms.at[i].exp))
            return true;
    return false;
}

/* Does s compute several products, for each of which it reads one of these? Not if each of them has
 * a row of its own: a matrix is gone through once then, by one row. */
static bool multiplies(Operands *op, const Stm *s, const VarSet *any)
{
    if ((s->exp->kind != E_MAP && s->exp->kind != E_REDOMAP) ||
        !body_any(s->exp->soac.fn->body, is_any_product))
        return false;
    bool reads = meets(op, s->exp, any);
    for (int i = 0; i < s->exp->soac.arrs.n && multiplies_itself(s->exp->soac.fn->body); i++)
        reads = reads && !varset_has(any, s->exp->soac.arrs.at[i].var);
    return reads;
}

/* Is v, or a view of it, multiplied by a map of b? */
static bool is_multiplied(Operands *op, const Body *b, const Var *v)
{
    VarSet *same = varmap_new(op->cx->perm);
    varset_add(same, v);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (s->exp->kind == E_REARRANGE && varset_has(same, s->exp->rearrange.arr.var))
            varset_add(same, s->pat.at[0]);
        if (multiplies(op, s, same))
            return true;
    }
    return false;
}

/* Is all that may fail in b before statement `at` among stms, whose last one that is? */
static bool is_first(const Body *b, int at, const Stms *stms)
{
    int n = 0;
    for (int i = 0; i < at; i++) {
        if (b->stms.at[i].exp == stms->at[n].exp)
            n++;
        else if (exp_traps(b->stms.at[i].exp))
            return false;
    }
    return true;
}

/* Does it take a part of a dimension: one of many that overlap? */
static bool takes_part(const Exp *index)
{
    const DimIndexes *at = &index->index.at;
    for (int d = 0; d < at->n; d++)
        if (at->at[d].is_slice && !(atom_is_int(at->at[d].start, 0) &&
                                    atom_eq(at->at[d].n, atom_type(index->index.arr).dims[d])))
            return true;
    return false;
}

/* The matrix v of m's function, at statement `at`, which is read by an index of m's element, as a
 * row of an array of these. The index may fail, if nothing of m does before. */
static Atom matrix_out(Operands *op, Level *l, Exp *m, int at, Var *v)
{
    const Body *b = m->soac.fn->body;
    Stms stms = {0};
    Exp *all = NULL;
    if (v->type.rank > 1 && !takes_part(b->stms.at[at].exp) && slice_of(op, b, v, true, &stms) &&
        is_first(b, at, &stms))
        all = map_of(op, m, &stms, v);
    return all ? add_input(op, m, place(op, l, all)) : (Atom){0};
}

/* Maps of scalar code, one in the other? */
static bool is_elementwise(const Exp *e)
{
    const Body *b = e->kind == E_MAP ? e->soac.fn->body : NULL;
    bool one = b && b->stms.n == 1 && b->res.n == 1 && b->res.at[0].var == b->stms.at[0].pat.at[0];
    return b && (!body_has_soac(b) || (one && is_elementwise(b->stms.at[0].exp)));
}

/* Matrices and rows of m's function that are multiplied there. */
static void matrices_out(Operands *op, Level *l, Exp *m)
{
    for (int i = 0; i < m->soac.fn->body->stms.n && m->kind == E_MAP; i++) {
        const Body *b = m->soac.fn->body;
        const Stm *s = &b->stms.at[i];
        Var *v = s->pat.n == 1 ? s->pat.at[0] : NULL;
        bool map = v && s->exp->kind == E_MAP && !exp_traps(s->exp) &&
                   (v->type.rank == 1 || is_elementwise(s->exp));
        if (!v || v->type.elem != T_F16 || (s->exp->kind != E_INDEX && !map) ||
            !is_multiplied(op, b, v))
            continue;
        Atom x = map ? take_out(op, l, m, rename_exp(op->cx, s->exp), false)
                     : matrix_out(op, l, m, i, v);
        if (x.var)
            give(op, m, v, x);
    }
}

/* --- The walk -------------------------------------------------------------------------------- */

static Body *walk(Operands *op, Body *b, const Vars *params, Level *outer);

static Body *walk_alone(void *env, Body *b)
{
    return walk(env, b, NULL, NULL);
}

static Lambda *walk_lambda(void *env, Lambda *l)
{
    return lambda_new(((Operands *)env)->cx, l->params, walk_alone(env, l->body));
}

static Exp *walk_exp(Operands *op, Exp *e, Level *l)
{
    if (e->kind != E_MAP && e->kind != E_REDOMAP) {
        ExpMapper m = {.env = op, .body = walk_alone, .lambda = walk_lambda};
        return exp_is(e, F_CODE) ? exp_map_parts(op->cx, e, &m) : e;
    }
    e = copy_of(op, e);
    const Lambda *fn = e->soac.fn;
    e->soac.fn = lambda_new(op->cx, fn->params, walk(op, fn->body, &fn->params, l));
    if (op->matrices)
        matrices_out(op, l, e);
    else
        factors_out(op, l, e);
    return e;
}

static Body *walk(Operands *op, Body *b, const Vars *params, Level *outer)
{
    Level l = {.outer = outer, .own = varmap_new(op->cx->perm), .out = bld_new(op->cx)};
    add_all(l.own, params);
    for (int i = 0; i < b->stms.n; i++)
        add_all(l.own, &b->stms.at[i].pat);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        s.exp = walk_exp(op, s.exp, &l);
        bld_stm(&l.out, s);
    }
    return bld_body(&l.out, b->res);
}

static Prog *walk_prog(Operands *op, const Prog *in)
{
    Ctx *cx = op->cx;
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    op->changed = false;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        en.body = walk_alone(op, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return op->changed ? pass_simplify(cx, p) : p;
}

Prog *pass_operands(Ctx *cx, const Prog *in)
{
    Operands op = {.cx = cx};
    Prog *p = walk_prog(&op, in);
    op.matrices = true;
    return walk_prog(&op, p);
}
