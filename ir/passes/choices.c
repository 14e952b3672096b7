/* Rows of which some are made otherwise are chosen element by element.
 *
 *     map n (xss) \xs ->                              map n (xss) \xs ->
 *       let ys = if c then as                           map m (xs; j < m) \x ->
 *                else let k = xs[i]             ==>       if c then as[j]
 *                     in map m (xs) \x -> f x k           else let k = xs[i] in f x k
 *       in ys
 *
 * A branch under a map whose condition varies with it is left to a thread, and with it the maps
 * inside: an elimination step, in which one row is scaled and the others are reduced, ran by as
 * many threads as there are rows. Element by element the choice is scalar code, and the nest as
 * parallel as it looks.
 *
 * Only of rows that the function gives away, which are written anyway: else the side that gives an
 * array as it is would copy it. Each side gives arrays from outside, or is one map with scalar code
 * before it; what of that may fail stays in its branch.
 *
 * SOAC dialect; after hoisting, so that a condition that stands inside of the function varies with
 * it. */
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    Uses *us;
    VarSet *inside; /* bound inside of SOACs' functions */
} Choices;

/* A side of the branch: results that its map gives; the others are arrays that there are. */
typedef struct {
    const Body *b;
    const Exp *map; /* NULL: none */
} Side;

static bool binds(const Body *b, const Var *v)
{
    for (int i = 0; v && i < b->stms.n; i++)
        if (vars_find(&b->stms.at[i].pat, v) >= 0)
            return true;
    return false;
}

static int result_of_map(const Side *s, const Var *v)
{
    return s->map ? vars_find(&vec_last(&s->b->stms).pat, v) : -1;
}

/* Can the side be taken apart by elements of arrays of size w? */
static bool side_of(const Choices *C, const Body *b, Atom w, Side *s)
{
    int n = b->stms.n;
    *s = (Side){b, n && vec_last(&b->stms).exp->kind == E_MAP ? vec_last(&b->stms).exp : NULL};
    for (int i = 0; i < n - (s->map != NULL); i++) {
        const Stm *st = &b->stms.at[i];
        bool scalars = types_scalar(&st->pat, 0, st->pat.n), view = exp_is(st->exp, F_VIEW);
        if (exp_has_soac(st->exp) || st->exp->kind == E_LOOP || st->exp->kind == E_RESHAPE ||
            !(scalars || view))
            return false;
    }
    for (int k = 0; s->map && k < s->map->soac.arrs.n; k++)
        if (!uses_stable(C->us, s->map->soac.arrs.at[k]))
            return false;
    for (int k = 0; s->map && k < s->map->soac.fn->params.n; k++)
        if (!uses_stable(C->us, atom_var(s->map->soac.fn->params.at[k])))
            return false;
    for (int k = 0; k < b->res.n; k++) {
        Atom a = b->res.at[k];
        if (!a.var || a.var->type.rank == 0 || !atom_eq(a.var->type.dims[0], w) ||
            !uses_stable(C->us, a))
            return false;
    }
    return !s->map || atom_eq(s->map->soac.width, w);
}

/* Is the choice of rows in b, a map's function: of arrays that b gives away and nobody
 * else reads? */
static bool gives_away(const Choices *C, const Body *b, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        uintptr_t given = 0;
        for (int j = 0; j < b->res.n; j++)
            given += b->res.at[j].var == v;
        uintptr_t n = uses_count(C->us, v);
        if (v->type.rank == 0 || given == 0 || (n != given && n != 0)) /* 0: made by this pass */
            return false;
    }
    return s->pat.n > 0;
}

static void bind_row(const Choices *C, Bld *bl, Var *x, Atom arr, Atom j, Loc loc)
{
    Stm s = {.exp = exp_index(C->cx, loc, arr, &j, 1, true)};
    vec_push(C->cx->perm, &s.pat, x);
    bld_stm(bl, s);
}

/* Is input k of the side's map one of the choice's? */
static bool is_input(const Side *s, int k)
{
    return !binds(s->b, s->map->soac.arrs.at[k].var);
}

/* What the side gives for element j; rows of the map's inputs are bound here, or are there. */
static Body *element_of(const Choices *C, const Side *s, bool rows, Atom j)
{
    Ctx *cx = C->cx;
    Bld bl = bld_new(cx);
    Atoms res = {0};
    for (int i = 0; i < s->b->stms.n - (s->map != NULL); i++)
        bld_stm(&bl, s->b->stms.at[i]);
    for (int k = 0; s->map && k < s->map->soac.arrs.n; k++)
        if (rows || !is_input(s, k))
            bind_row(C, &bl, s->map->soac.fn->params.at[k], s->map->soac.arrs.at[k], j,
                     s->map->loc);
    for (int i = 0; s->map && i < s->map->soac.fn->body->stms.n; i++)
        bld_stm(&bl, s->map->soac.fn->body->stms.at[i]);
    for (int k = 0; k < s->b->res.n; k++) {
        Atom a = s->b->res.at[k];
        int r = result_of_map(s, a.var);
        if (r >= 0)
            a = s->map->soac.fn->body->res.at[r];
        else
            a = bld_exp(&bl, a.var->base, exp_index(cx, a.var->loc, a, &j, 1, true));
        vec_push(cx->perm, &res, a);
    }
    return bld_body(&bl, res);
}

static bool choose_rows(const Choices *C, Bld *host, Bld *out, const Body *b, const Stm *s);

/* A side that ends with another choice, which becomes a map. */
static const Body *chosen_inside(const Choices *C, Bld *host, const Body *b)
{
    Bld bl = bld_new(C->cx);
    const Stm *last = b->stms.n ? &vec_last(&b->stms) : NULL;
    for (int i = 0; i < b->stms.n - 1; i++)
        bld_stm(&bl, b->stms.at[i]);
    return last && choose_rows(C, host, &bl, b, last) ? bld_body(&bl, b->res) : b;
}

/* The choice as a map of choices; false: it cannot be one. Numbers of elements are made
 * by `host`. */
static bool choose_rows(const Choices *C, Bld *host, Bld *out, const Body *b, const Stm *s)
{
    Ctx *cx = C->cx;
    const Exp *e = s->exp;
    Side then_, else_;
    if (e->kind != E_IF || !gives_away(C, b, s))
        return false;
    Atom w = s->pat.at[0]->type.dims[0];
    if (!side_of(C, chosen_inside(C, host, e->branch.then_), w, &then_) ||
        !side_of(C, chosen_inside(C, host, e->branch.else_), w, &else_) ||
        (!then_.map && !else_.map) || (w.var && vars_find(&s->pat, w.var) >= 0))
        return false;
    const Side *side = else_.map ? &else_ : &then_;
    Exp *map = exp_map(cx, e->loc, w, (Atoms){0}, NULL);
    Vars params = {0};
    map->attrs = side->map->attrs;
    for (int k = 0; k < side->map->soac.arrs.n; k++)
        if (is_input(side, k)) {
            vec_push(cx->perm, &map->soac.arrs, side->map->soac.arrs.at[k]);
            vec_push(cx->perm, &params, side->map->soac.fn->params.at[k]);
        }
    Atom j = uses_index_input(C->us, host, map, &map->soac.arrs, &params);
    Exp *choice = exp_new(cx, E_IF, e->loc);
    choice->branch.test = e->branch.test;
    choice->branch.then_ = element_of(C, &then_, else_.map != NULL, j);
    choice->branch.else_ = element_of(C, &else_, false, j);
    Bld bl = bld_new(cx);
    Atoms res = bld_exps(&bl, "row", choice);
    map->soac.fn = lambda_new(cx, params, bld_body(&bl, res));
    bld_stm(out, (Stm){s->pat, map});
    return true;
}

static void note_inside(Choices *C, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        varset_add(C->inside, vs->at[k]);
}

static Body *choices_body(void *env, Body *b);

static Lambda *choices_lambda(void *env, Lambda *l)
{
    Choices *C = env;
    note_inside(C, &l->params);
    for (int i = 0; i < l->body->stms.n; i++)
        note_inside(C, &l->body->stms.at[i].pat);
    return lambda_new(C->cx, l->params, choices_body(C, l->body));
}

/* A map's function. */
static Lambda *choices_fn(Choices *C, Lambda *l)
{
    Bld bl = bld_new(C->cx);
    note_inside(C, &l->params);
    for (int i = 0; i < l->body->stms.n; i++) {
        const Stm *s = &l->body->stms.at[i];
        note_inside(C, &s->pat);
        bool varies = s->exp->kind == E_IF && s->exp->branch.test.var &&
                      varset_has(C->inside, s->exp->branch.test.var);
        if (!varies || !choose_rows(C, &bl, &bl, l->body, s))
            bld_stm(&bl, *s);
    }
    return lambda_new(C->cx, l->params, choices_body(C, bld_body(&bl, l->body->res)));
}

static Body *choices_body(void *env, Body *b)
{
    Choices *C = env;
    ExpMapper m = {.env = C, .body = choices_body, .lambda = choices_lambda};
    Bld bl = bld_new(C->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (s.exp->kind == E_MAP) {
            Exp *e = NEW(C->cx->perm, Exp);
            *e = *s.exp;
            e->soac.fn = choices_fn(C, e->soac.fn);
            s.exp = e;
        } else if (exp_is(s.exp, F_CODE)) {
            s.exp = exp_map_parts(C->cx, s.exp, &m);
        }
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Prog *pass_choices(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Choices C = {cx, uses_entry(cx, &en), varmap_new(cx->perm)};
        en.body = choices_body(&C, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
