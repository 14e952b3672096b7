/* Aliases and consumption.
 *
 * Every array has roots: the variables that stand for the memory it may live in. A fresh array is
 * its own root; a view (slice, rearrange, reshape, another name) has its operand's roots; results
 * of IF and LOOP have the roots of whatever they may be. Two arrays may overlap iff they share a
 * root. Consuming an array kills its roots, and nothing with a dead root may be used.
 *
 * Parameters (loop, lambda, nest) are roots of their own inside the body. Consuming a loop
 * parameter consumes its initial value; consuming the parameter that holds a row of an array
 * consumes that array. Otherwise a body that runs several times may consume only what it bound
 * itself.
 *
 * Sets of roots are shared: one is a root, or two others, so that a long chain of names for one
 * array costs as much as it is long. Whether a root in it is dead, or was consumed at some time, is
 * kept with it until another one is. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

typedef enum { DEAD, EVER, N_MARKS } Mark;

/* NULL: the empty one. */
typedef struct RootSet {
    Var *one; /* a root, else */
    struct RootSet *a, *b;
    int born;                  /* counts them */
    unsigned seen;             /* by the search that was here last */
    unsigned checked[N_MARKS]; /* Alias.version when it was looked for marks */
    bool marked[N_MARKS];      /* some had it then */
} RootSet;
typedef VEC(RootSet *) RootSets;

struct Alias {
    Ctx *cx;
    VarMap *roots; /* Var -> RootSet *; a variable without an entry is its own root */
    VarMap *level; /* root -> 1 + nesting depth of repeated bodies; absent: 0, bound outside */
    VarSet *fixed; /* roots that may not be consumed: entry parameters that are not unique */
    VarSet *marks[N_MARKS]; /* dead here and now; consumed at some time, be it in another branch or
                               iteration */
    unsigned version[N_MARKS]; /* counts their changes */
    Vars dead_list;            /* in order of death */
    RootSets used;             /* the roots of all operands so far, in order */
    RootSets todo;             /* of a search */
    int sets;                  /* made so far */
    unsigned search;           /* the last one */
    int depth;
    const Body *body;  /* at work */
    const Stm *stm;    /* of it */
    VarMap *killers;   /* root -> AliasSite *: what consumed it */
    const char *error; /* the first violation */
    const Stm *error_stm;
    AliasSite error_site;
};

static void walk_body(Alias *al, const Body *b);

Alias *alias_new(Ctx *cx)
{
    Alias *al = NEW(cx->perm, Alias);
    al->cx = cx;
    al->roots = varmap_new(cx->perm);
    al->level = varmap_new(cx->perm);
    al->fixed = varmap_new(cx->perm);
    for (int m = 0; m < N_MARKS; m++)
        al->marks[m] = varmap_new(cx->perm);
    al->killers = varmap_new(cx->perm);
    return al;
}

/* `site`: an operand that could be copied so that the violation were none. */
static void report(Alias *al, AliasSite site, const char *fmt, const char *x, const char *y)
{
    if (al->error)
        return;
    al->error_site = site;
    /* All formats here take at most two names. */
    Out o = {0};
    for (; *fmt; fmt++) {
        if (*fmt == '@') {
            out_puts(&o, x);
            x = y;
        } else {
            out_putn(&o, fmt, 1);
        }
    }
    al->error = arena_strdup(al->cx->perm, o.text);
    al->error_stm = al->stm;
    out_free(&o);
}

const char *alias_error(const Alias *al, const Stm **at)
{
    if (at)
        *at = al->error_stm;
    return al->error;
}

AliasSite alias_error_site(const Alias *al)
{
    return al->error_site;
}

/* An operand of the statement at work. */
static AliasSite operand(const Alias *al, const Atom *a)
{
    return (AliasSite){(Body *)al->body, al->body ? (int)(al->stm - al->body->stms.at) : 0,
                       (Atom *)a};
}

/* A result of a body. */
static AliasSite result(const Body *b, int k)
{
    return (AliasSite){(Body *)b, b->stms.n, &b->res.at[k]};
}

/* --- Roots ---------------------------------------------------------------------------------- */

static RootSet *set_new(Alias *al, Var *one, RootSet *a, RootSet *b)
{
    RootSet *r = NEW(al->cx->perm, RootSet);
    *r = (RootSet){.one = one, .a = a, .b = b, .born = al->sets++};
    return r;
}

static RootSet *set_union(Alias *al, RootSet *a, RootSet *b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    return a->b == b ? a : set_new(al, NULL, a, b);
}

/* Each root has one set for itself. */
static RootSet *roots_of(Alias *al, Atom a)
{
    if (!a.var || a.var->type.rank == 0)
        return NULL;
    RootSet *r = varmap_get(al->roots, a.var);
    if (!r) {
        r = set_new(al, a.var, NULL, NULL);
        varmap_put(al->roots, a.var, r);
    }
    return r;
}

/* Begins a search through r. */
static void search(Alias *al, RootSet *r)
{
    al->search++;
    al->todo.n = 0;
    vec_push(al->cx->perm, &al->todo, r);
}

/* The next root that the search has not seen, in order, or set of roots made before there were
 * `first` sets; NULL at the end. */
static RootSet *search_next(Alias *al, int first)
{
    while (al->todo.n) {
        RootSet *r = al->todo.at[--al->todo.n];
        if (!r || r->seen == al->search)
            continue;
        r->seen = al->search;
        if (r->one || r->born < first)
            return r;
        vec_push(al->cx->perm, &al->todo, r->b);
        vec_push(al->cx->perm, &al->todo, r->a);
    }
    return NULL;
}

static Vars roots_list(Alias *al, RootSet *set)
{
    Vars list = {0};
    search(al, set);
    for (RootSet *r; (r = search_next(al, 0));)
        vec_push(al->cx->perm, &list, r->one);
    return list;
}

Vars alias_roots(Alias *al, Atom a)
{
    return roots_list(al, roots_of(al, a));
}

bool alias_is_root(Alias *al, const Var *v)
{
    RootSet *r = roots_of(al, atom_var((Var *)v));
    return r && r->one == v;
}

/* The first root of y that x has too, or NULL. */
static Var *shared(Alias *al, RootSet *x, RootSet *y)
{
    if (!x || !y)
        return NULL;
    search(al, x);
    while (search_next(al, 0))
        ;
    unsigned in_x = al->search;
    search(al, y);
    while (al->todo.n) {
        RootSet *r = al->todo.at[--al->todo.n];
        if (!r || r->seen == al->search)
            continue;
        if (r->seen == in_x && r->one)
            return r->one;
        if (r->seen != in_x)
            r->seen = al->search;
        vec_push(al->cx->perm, &al->todo, r->b);
        vec_push(al->cx->perm, &al->todo, r->a);
    }
    return NULL;
}

bool alias_overlap(Alias *al, Atom a, Atom b)
{
    return shared(al, roots_of(al, a), roots_of(al, b)) != NULL;
}

static void set_roots(Alias *al, Var *v, RootSet *roots)
{
    varmap_put(al->roots, v, roots);
}

static void set_fresh(Alias *al, Var *v)
{
    if (v->type.rank == 0)
        return;
    set_roots(al, v, set_new(al, v, NULL, NULL));
    varmap_put(al->level, v, (const void *)(uintptr_t)(al->depth + 1));
}

void alias_bind(Alias *al, Var *v, bool consumable)
{
    set_fresh(al, v);
    if (!consumable && v->type.rank > 0)
        varset_add(al->fixed, v);
}

static int level_of(const Alias *al, const Var *root)
{
    uintptr_t l = (uintptr_t)varmap_get(al->level, root);
    return l ? (int)l - 1 : 0;
}

/* --- Marks ---------------------------------------------------------------------------------- */

static void mark(Alias *al, Mark m, const Var *root)
{
    varset_add(al->marks[m], root);
    al->version[m]++;
}

static void unmark(Alias *al, Mark m, const Var *root)
{
    varmap_del(al->marks[m], root);
    al->version[m]++;
}

static bool is_marked(const Alias *al, Mark m, const Var *root)
{
    return varset_has(al->marks[m], root);
}

/* Whether a root in the set is marked. */
static bool any_marked(Alias *al, Mark m, RootSet *set)
{
    unsigned now = al->version[m];
    if (!set || !now)
        return false;
    al->todo.n = 0;
    vec_push(al->cx->perm, &al->todo, set);
    while (al->todo.n) {
        RootSet *r = vec_last(&al->todo);
        if (r->checked[m] != now && !r->one &&
            (r->a->checked[m] != now || r->b->checked[m] != now)) {
            vec_push(al->cx->perm, &al->todo, r->a->checked[m] != now ? r->a : r->b);
            continue;
        }
        r->marked[m] = r->one ? is_marked(al, m, r->one) : r->a->marked[m] || r->b->marked[m];
        r->checked[m] = now;
        al->todo.n--;
    }
    return set->marked[m];
}

/* --- Consumption ---------------------------------------------------------------------------- */

static void kill(Alias *al, Var *root, AliasSite site)
{
    if (!is_marked(al, EVER, root))
        mark(al, EVER, root);
    if (is_marked(al, DEAD, root))
        return;
    varmap_put(al->killers, root, arena_memdup(al->cx->perm, &site, sizeof site));
    mark(al, DEAD, root);
    vec_push(al->cx->perm, &al->dead_list, root);
}

/* What an operand of the statement at work holds. */
static void consume(Alias *al, const Atom *operand_at)
{
    Atom a = *operand_at;
    AliasSite site = operand(al, operand_at);
    Vars rs = alias_roots(al, a);
    for (int i = 0; i < rs.n; i++) {
        Var *r = rs.at[i];
        if (varset_has(al->fixed, r))
            report(al, site, "@ is consumed, but the parameter @ is not unique", var_text(a.var),
                   var_text(r));
        if (level_of(al, r) < al->depth)
            report(al, site,
                   "@ is consumed inside a body that runs several times, but was bound outside",
                   var_text(a.var), "");
        kill(al, r, site);
    }
}

static void use(void *env, Atom a)
{
    Alias *al = env;
    RootSet *set = roots_of(al, a);
    if (!set)
        return;
    vec_push(al->cx->perm, &al->used, set);
    if (!any_marked(al, DEAD, set))
        return;
    const Vars rs = roots_list(al, set);
    for (int i = 0; i < rs.n; i++)
        if (is_marked(al, DEAD, rs.at[i]))
            report(al, *(const AliasSite *)varmap_get(al->killers, rs.at[i]),
                   rs.at[i] == a.var
                       ? "@ is used after it was consumed"
                       : "@ is used, but @, which it may share memory with, was consumed",
                   var_text(a.var), var_text(rs.at[i]));
}

/* --- Expressions ---------------------------------------------------------------------------- */

static RootSet *without_dead(Alias *al, RootSet *set)
{
    if (!any_marked(al, DEAD, set))
        return set;
    RootSet *alive = NULL;
    search(al, set);
    for (RootSet *r; (r = search_next(al, 0));)
        if (!is_marked(al, DEAD, r->one))
            alive = set_union(al, alive, r);
    return alive;
}

static RootSet **if_roots(Alias *al, const Exp *e)
{
    int from = al->dead_list.n;
    walk_body(al, e->branch.then_);
    int mid = al->dead_list.n;
    /* What one branch consumes is alive in the other. */
    for (int i = from; i < mid; i++)
        unmark(al, DEAD, al->dead_list.at[i]);
    walk_body(al, e->branch.else_);
    for (int i = from; i < mid; i++)
        mark(al, DEAD, al->dead_list.at[i]);
    /* What a branch consumed cannot be seen by its old name any more, so a result that is that
     * array when the other branch was taken shares memory with nothing alive. */
    int n = e->branch.then_->res.n;
    RootSet **rs = NEWN(al->cx->perm, RootSet *, n + 1);
    for (int k = 0; k < n; k++)
        rs[k] = without_dead(al, set_union(al, roots_of(al, e->branch.then_->res.at[k]),
                                           roots_of(al, e->branch.else_->res.at[k])));
    return rs;
}

/* The next value of a consumed parameter is consumed in turn: it must be the body's own. */
static void consume_results(Alias *al, const Vars *ps, const Body *body)
{
    int n = body->res.n;
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < n; k++) {
            const Vars rs =
                is_marked(al, EVER, ps->at[k]) ? alias_roots(al, body->res.at[k]) : (Vars){0};
            for (int i = 0; i < rs.n; i++) {
                Var *r = rs.at[i];
                if (is_marked(al, EVER, r))
                    continue;
                if (level_of(al, r) <= al->depth)
                    report(
                        al, result(body, k),
                        "the parameter @ is consumed, but its next value may be @, bound outside",
                        var_text(ps->at[k]), var_text(r));
                mark(al, EVER, r);
                changed = true;
            }
        }
    }
}

/* A parameter that the body consumes shares memory with no other. */
static void check_consumed_param(Alias *al, const Exp *e, int k)
{
    const Vars *ps = &e->loop.params;
    const Atoms *res = &e->loop.body->res, *inits = &e->loop.inits;
    for (int j = 0; j < ps->n; j++) {
        if (j == k)
            continue;
        bool twice = alias_overlap(al, res->at[k], res->at[j]);
        if (twice || alias_overlap(al, inits->at[k], inits->at[j]))
            report(al, twice ? result(e->loop.body, k) : operand(al, &inits->at[k]),
                   "the loop consumes its parameter @, which may share memory with @",
                   var_text(ps->at[k]), var_text(ps->at[j]));
    }
}

/* A parameter that the body consumes was consumed when the next iteration begins: what the body
 * uses, the operands from `from` on, is not its initial value. */
static void check_consumed_init(Alias *al, const Exp *e, int k, int from)
{
    const Atom *init = &e->loop.inits.at[k];
    RootSet *used = NULL;
    for (int i = from; i < al->used.n; i++)
        used = set_union(al, used, al->used.at[i]);
    const Var *r = shared(al, roots_of(al, *init), used);
    if (r)
        report(al, operand(al, init), "the loop consumes @, while @ is used in its body",
               atom_text(*init), var_text(r));
}

/* What a result of a loop may be: the results of the last iteration, where of parameters that is
 * what these are. */
typedef struct {
    RootSet *base; /* its initial value, if that is not consumed, and what the body returns besides
                      parameters */
    VEC(int) params; /* parameters that the body returns */
} Carried;

static Carried *carried(Alias *al, const Exp *e, int first)
{
    const Body *b = e->loop.body;
    Carried *cs = NEWN(al->cx->perm, Carried, b->res.n + 1);
    for (int k = 0; k < b->res.n; k++) {
        if (!is_marked(al, EVER, e->loop.params.at[k]))
            cs[k].base = roots_of(al, e->loop.inits.at[k]);
        search(al, roots_of(al, b->res.at[k]));
        for (RootSet *r; (r = search_next(al, first));) {
            int j = r->one ? vars_find(&e->loop.params, r->one) : -1;
            if (j >= 0)
                vec_push(al->cx->perm, &cs[k].params, j);
            else
                cs[k].base = set_union(al, cs[k].base, r);
            /* The body's own results of the last iteration are alive: nothing consumed those. */
            if (r->one && level_of(al, r->one) > al->depth && is_marked(al, DEAD, r->one))
                unmark(al, DEAD, r->one);
        }
    }
    return cs;
}

/* What the last iteration made is there when the loop is over: bound where the loop is. */
static void leave_loop(Alias *al, RootSet *set)
{
    search(al, set);
    for (RootSet *r; (r = search_next(al, 0));)
        if (level_of(al, r->one) > al->depth)
            varmap_put(al->level, r->one, (const void *)(uintptr_t)(al->depth + 1));
}

static RootSet **loop_roots(Alias *al, const Exp *e)
{
    const Vars *ps = &e->loop.params;
    int n = ps->n, first = al->sets;
    al->depth++;
    for (int k = 0; k < n; k++)
        set_fresh(al, ps->at[k]);
    int before_body = al->used.n;
    walk_body(al, e->loop.body);
    al->depth--;
    consume_results(al, ps, e->loop.body);
    for (int k = 0; k < n; k++) {
        if (!is_marked(al, EVER, ps->at[k]))
            continue;
        check_consumed_param(al, e, k);
        check_consumed_init(al, e, k, before_body);
        consume(al, &e->loop.inits.at[k]);
    }
    const Carried *cs = carried(al, e, first);
    RootSet **rs = NEWN(al->cx->perm, RootSet *, n + 1);
    int *in = NEWN(al->cx->perm, int, n + 1);
    for (int k = 0; k < n; k++) {
        VEC(int) todo = {0};
        vec_push(al->cx->perm, &todo, k);
        for (int i = 0; i < todo.n; i++) {
            int j = todo.at[i];
            if (in[j] == k + 1)
                continue;
            in[j] = k + 1;
            rs[k] = set_union(al, rs[k], cs[j].base);
            vec_append(al->cx->perm, &todo, &cs[j].params);
        }
        leave_loop(al, rs[k]);
    }
    return rs;
}

/* x holds a row of arr in a body whose free variables are `frees`; if the body consumed x, then arr
 * is consumed, and must not be seen in the body under another name. */
static void consume_rows(Alias *al, const Var *x, const Atom *arr, const Vars *frees)
{
    if (!is_marked(al, DEAD, x))
        return;
    for (int i = 0; i < frees->n; i++)
        if (alias_overlap(al, atom_var(frees->at[i]), *arr))
            report(al, operand(al, arr), "rows of @ are consumed, while @ is used in the same body",
                   atom_text(*arr), var_text(frees->at[i]));
    consume(al, arr);
}

static void check_distinct(Alias *al, const Vars *xs, const Atoms *arrs)
{
    for (int j = 0; j < xs->n && j < arrs->n; j++)
        for (int k = 0; is_marked(al, DEAD, xs->at[j]) && k < arrs->n; k++)
            if (k != j && alias_overlap(al, arrs->at[j], arrs->at[k]))
                report(al, operand(al, &arrs->at[j]),
                       "rows of @ are consumed, while @ is used in the same body",
                       atom_text(arrs->at[j]), atom_text(arrs->at[k]));
}

/* The last arrs->n params of lam are rows of arrs; the first of an operator are its results so far.
 */
static void walk_lambda(Alias *al, const Lambda *lam, const Atoms *arrs, bool is_op)
{
    al->depth++;
    for (int i = 0; i < lam->params.n; i++)
        set_fresh(al, lam->params.at[i]);
    walk_body(al, lam->body);
    al->depth--;
    if (is_op)
        consume_results(al, &lam->params, lam->body);
    if (!arrs || lam->params.n < arrs->n)
        return;
    int first = lam->params.n - arrs->n;
    Vars rows = {.at = lam->params.at + first, .n = arrs->n}, frees = {0};
    for (int j = 0; j < rows.n; j++) {
        if (is_marked(al, DEAD, rows.at[j]) && !frees.at)
            frees = free_vars_lambda(al->cx, lam);
        consume_rows(al, rows.at[j], &arrs->at[j], &frees);
    }
    check_distinct(al, &rows, arrs);
}

static void consume_dests(Alias *al, const Dests *ds)
{
    for (int i = 0; i < ds->n; i++) {
        for (int j = 0; j < i; j++)
            if (alias_overlap(al, ds->at[i].arr, ds->at[j].arr))
                report(al, operand(al, &ds->at[i].arr), "the destinations @ and @ may share memory",
                       atom_text(ds->at[i].arr), atom_text(ds->at[j].arr));
        consume(al, &ds->at[i].arr);
    }
}

static void walk_soac(Alias *al, const Exp *e)
{
    bool has_fn = e->soac.fn != NULL;
    if (has_fn)
        walk_lambda(al, e->soac.fn, &e->soac.arrs, false);
    if (e->soac.op)
        walk_lambda(al, e->soac.op, has_fn ? NULL : &e->soac.arrs, true);
    consume_dests(al, &e->soac.dests);
}

/* It may run several times, and consumes nothing of its arguments. */
static void walk_deriv(Alias *al, const Lambda *fn)
{
    al->depth++;
    for (int i = 0; i < fn->params.n; i++)
        alias_bind(al, fn->params.at[i], false);
    walk_body(al, fn->body);
    al->depth--;
}

/* The free variables of a body that are bound less deep. */
static Vars vars_from_outside(const Alias *al, const Body *b, int depth)
{
    Vars frees = free_vars_body(al->cx, b), outer = {0};
    for (int i = 0; i < frees.n; i++)
        if (level_of(al, frees.at[i]) < depth)
            vec_push(al->cx->perm, &outer, frees.at[i]);
    return outer;
}

static void walk_seg(Alias *al, const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    Vars outer = {0};
    int depth = ++al->depth;
    for (int d = 0; d < nest->n; d++)
        for (int j = 0; j < nest->at[d].xs.n; j++)
            set_fresh(al, nest->at[d].xs.at[j]);
    walk_body(al, e->seg.body);
    for (int d = nest->n - 1; d >= 0; d--) {
        const NestDim *nd = &nest->at[d];
        /* An array of an inner dimension may be an x of an outer one: same depth. */
        al->depth -= d == 0;
        for (int j = 0; j < nd->xs.n; j++) {
            if (is_marked(al, DEAD, nd->xs.at[j]) && !outer.at)
                outer = vars_from_outside(al, e->seg.body, depth);
            consume_rows(al, nd->xs.at[j], &nd->arrs.at[j], &outer);
        }
        check_distinct(al, &nd->xs, &nd->arrs);
    }
    if (e->seg.op)
        walk_lambda(al, e->seg.op, NULL, true);
    consume_dests(al, &e->seg.dests);
}

/* Roots of e's results, or NULL: all fresh. */
static RootSet **walk_exp(Alias *al, const Exp *e)
{
    ExpVisitor v = {.env = al, .atom = use};
    exp_visit(e, &v);
    switch (exp_member(e)) {
    case M_update:
        consume(al, &e->update.arr);
        if (alias_overlap(al, e->update.arr, e->update.val))
            report(al, operand(al, &e->update.val), "@ is written into itself (@)",
                   atom_text(e->update.arr), atom_text(e->update.val));
        return NULL;
    case M_ranks:
        if (e->kind == E_GATHER)
            consume(al, &e->ranks.args.at[0]);
        if (e->kind == E_GATHER || !exp_is_rows(e))
            return NULL;
        break;
    case M_branch: return if_roots(al, e);
    case M_loop: return loop_roots(al, e);
    case M_soac: walk_soac(al, e); return NULL;
    case M_deriv:
        walk_deriv(al, e->deriv.fn);
        if (e->deriv.back)
            walk_deriv(al, e->deriv.back);
        return NULL;
    case M_seg: walk_seg(al, e); return NULL;
    default: break;
    }
    /* A manifest array may have been laid out as it shall be. */
    Atom of = e->kind == E_MANIFEST ? e->rearrange.arr
              : exp_is_rows(e)      ? e->ranks.args.at[0]
                                    : exp_view_of(e);
    if (!of.var)
        return NULL;
    RootSet **rs = NEW(al->cx->perm, RootSet *);
    *rs = roots_of(al, of);
    return rs;
}

/* The next statement, with all inside it. */
static void alias_stm(Alias *al, const Stm *s)
{
    const Stm *outer = al->stm;
    al->stm = s;
    RootSet **rs = walk_exp(al, s->exp);
    for (int k = 0; k < s->pat.n; k++) {
        if (!rs || !rs[k])
            set_fresh(al, s->pat.at[k]);
        else if (s->pat.at[k]->type.rank > 0)
            set_roots(al, s->pat.at[k], rs[k]);
    }
    al->stm = outer;
}

static void walk_body(Alias *al, const Body *b)
{
    const Body *outer = al->body;
    al->body = b;
    for (int i = 0; i < b->stms.n; i++)
        alias_stm(al, &b->stms.at[i]);
    al->body = outer;
    for (int i = 0; i < b->res.n; i++)
        use(al, b->res.at[i]);
}

void alias_body(Alias *al, const Body *b)
{
    walk_body(al, b);
}

Alias *alias_entry(Ctx *cx, const Entry *en)
{
    Alias *al = alias_new(cx);
    int k = 0;
    for (int i = 0; i < en->ext_params.n; i++)
        for (int j = 0; j < en->ext_params.at[i].type.n_vals; j++)
            alias_bind(al, en->params.at[k++], en->ext_params.at[i].unique);
    walk_body(al, en->body);
    return al;
}

bool alias_ever_consumed(Alias *al, Atom a)
{
    return any_marked(al, EVER, roots_of(al, a));
}

/* Loops and nests consume what their bodies do. */
static bool begins_to_consume(const Exp *e)
{
    return e->kind == E_UPDATE || e->kind == E_GATHER || exp_is(e, F_DESTS);
}

Vars exp_consumes(Ctx *cx, const Exp *e)
{
    /* Most expressions consume nothing: aliases are not followed in those. */
    Vars out = {0};
    if (e->kind == E_UPDATE && e->update.arr.var) {
        vec_push(cx->perm, &out, e->update.arr.var);
        return out;
    }
    if (!exp_any(e, begins_to_consume))
        return out;
    Alias *al = alias_new(cx);
    VarSet *free = varmap_new(cx->perm);
    free_in_exp(free, e);
    walk_exp(al, e);
    for (int i = 0; i < al->dead_list.n; i++)
        if (varset_has(free, al->dead_list.at[i]))
            vec_push(cx->perm, &out, al->dead_list.at[i]);
    return out;
}

/* --- All consumed arrays of an entry -------------------------------------------------------- */

typedef struct {
    Alias *al;
    VarSet *out;
} Consumed;

static void consumed_body(void *env, Body *b);
static void consumed_lambda(void *env, Lambda *l)
{
    consumed_body(env, l->body);
}

static void consumed_var(void *env, Var *v)
{
    Consumed *u = env;
    if (alias_ever_consumed(u->al, atom_var(v)))
        varset_add(u->out, v);
}

static void consumed_body(void *env, Body *b)
{
    ExpVisitor v = {env, NULL, consumed_var, consumed_body, consumed_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            consumed_var(env, b->stms.at[i].pat.at[k]);
        exp_visit(b->stms.at[i].exp, &v);
    }
}

VarSet *alias_consumed(Ctx *cx, const Entry *en)
{
    Alias *al = alias_new(cx);
    for (int i = 0; i < en->params.n; i++)
        alias_bind(al, en->params.at[i], true);
    alias_body(al, en->body);
    Consumed u = {al, varmap_new(cx->perm)};
    for (int i = 0; i < en->params.n; i++)
        consumed_var(&u, en->params.at[i]);
    consumed_body(&u, en->body);
    return u.out;
}
