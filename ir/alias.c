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
 * itself. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

struct Alias {
    Ctx *cx;
    VarMap *roots;  /* Var -> Vars *; a variable without an entry is its own root */
    VarMap *level;  /* root -> 1 + nesting depth of repeated bodies; absent: 0, bound outside */
    VarSet *fixed;  /* roots that may not be consumed: entry parameters that are not unique */
    VarSet *dead;   /* here and now */
    Vars dead_list; /* the same, in order of death */
    VarSet *ever;   /* consumed at some time, be it in another branch or iteration */
    Vars used;      /* the roots of all operands so far, in order */
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
    al->dead = varmap_new(cx->perm);
    al->ever = varmap_new(cx->perm);
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

static void add_root(Alias *al, Vars *set, Var *v)
{
    for (int i = 0; i < set->n; i++)
        if (set->at[i] == v)
            return;
    vec_push(al->cx->perm, set, v);
}

/* The same for many, where going through the set for each would take too long. */
static void add_many_roots(Alias *al, Vars *set, const Vars *rs)
{
    ArenaMark mark = arena_mark(al->cx->scratch);
    VarSet *there = varmap_new(al->cx->scratch);
    for (int i = 0; i < set->n; i++)
        varset_add(there, set->at[i]);
    for (int i = 0; i < rs->n; i++)
        if (!varset_has(there, rs->at[i])) {
            varset_add(there, rs->at[i]);
            vec_push(al->cx->perm, set, rs->at[i]);
        }
    arena_reset(al->cx->scratch, mark);
}

static void add_roots_of(Alias *al, Vars *set, Atom a)
{
    enum { FEW = 32 };
    if (!a.var || a.var->type.rank == 0)
        return;
    const Vars *rs = varmap_get(al->roots, a.var);
    if (!rs)
        add_root(al, set, a.var);
    else if (rs->n > FEW)
        add_many_roots(al, set, rs);
    else
        for (int i = 0; i < rs->n; i++)
            add_root(al, set, rs->at[i]);
}

Vars alias_roots(Alias *al, Atom a)
{
    Vars set = {0};
    add_roots_of(al, &set, a);
    return set;
}

static bool share(const Vars *x, const Vars *y)
{
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < y->n; j++)
            if (x->at[i] == y->at[j])
                return true;
    return false;
}

bool alias_overlap(Alias *al, Atom a, Atom b)
{
    Vars x = alias_roots(al, a), y = alias_roots(al, b);
    return share(&x, &y);
}

static void set_roots(Alias *al, Var *v, Vars roots)
{
    varmap_put(al->roots, v, arena_memdup(al->cx->perm, &roots, sizeof roots));
}

static void set_fresh(Alias *al, Var *v)
{
    if (v->type.rank == 0)
        return;
    Vars self = {0};
    vec_push(al->cx->perm, &self, v);
    set_roots(al, v, self);
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

/* --- Consumption ---------------------------------------------------------------------------- */

static void kill(Alias *al, Var *root, AliasSite site)
{
    varset_add(al->ever, root);
    if (varset_has(al->dead, root))
        return;
    varmap_put(al->killers, root, arena_memdup(al->cx->perm, &site, sizeof site));
    varset_add(al->dead, root);
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
            report(al, site, "@ is consumed, but the entry's parameter @ is not unique",
                   var_text(a.var), var_text(r));
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
    Vars rs = alias_roots(al, a);
    vec_append(al->cx->perm, &al->used, &rs);
    for (int i = 0; i < rs.n; i++)
        if (varset_has(al->dead, rs.at[i]))
            report(al, *(const AliasSite *)varmap_get(al->killers, rs.at[i]),
                   rs.at[i] == a.var
                       ? "@ is used after it was consumed"
                       : "@ is used, but @, which it may share memory with, was consumed",
                   var_text(a.var), var_text(rs.at[i]));
}

/* --- Expressions ---------------------------------------------------------------------------- */

static void drop_dead(const Alias *al, Vars *roots)
{
    int kept = 0;
    for (int i = 0; i < roots->n; i++)
        if (!varset_has(al->dead, roots->at[i]))
            roots->at[kept++] = roots->at[i];
    roots->n = kept;
}

static Vars *if_roots(Alias *al, const Exp *e)
{
    int from = al->dead_list.n;
    walk_body(al, e->branch.then_);
    int mid = al->dead_list.n;
    /* What one branch consumes is alive in the other. */
    for (int i = from; i < mid; i++)
        varmap_del(al->dead, al->dead_list.at[i]);
    int n = e->branch.then_->res.n;
    Vars *rs = NEWN(al->cx->perm, Vars, n + 1);
    for (int k = 0; k < n; k++)
        add_roots_of(al, &rs[k], e->branch.then_->res.at[k]);
    walk_body(al, e->branch.else_);
    for (int k = 0; k < n; k++)
        add_roots_of(al, &rs[k], e->branch.else_->res.at[k]);
    for (int i = from; i < mid; i++)
        varset_add(al->dead, al->dead_list.at[i]);
    /* What a branch consumed cannot be seen by its old name any more, so a result that is that
     * array when the other branch was taken shares memory with nothing alive. */
    for (int k = 0; k < n; k++)
        drop_dead(al, &rs[k]);
    return rs;
}

static int param_index(const Vars *params, const Var *v)
{
    for (int k = 0; k < params->n; k++)
        if (params->at[k] == v)
            return k;
    return -1;
}

/* The next value of a consumed parameter is consumed in turn: it must be the body's own. */
static void consume_results(Alias *al, const Vars *ps, const Vars *res, const Body *body)
{
    int n = body->res.n;
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < n; k++)
            for (int i = 0; varset_has(al->ever, ps->at[k]) && i < res[k].n; i++) {
                Var *r = res[k].at[i];
                if (varset_has(al->ever, r))
                    continue;
                if (level_of(al, r) <= al->depth)
                    report(
                        al, result(body, k),
                        "the parameter @ is consumed, but its next value may be @, bound outside",
                        var_text(ps->at[k]), var_text(r));
                varset_add(al->ever, r);
                changed = true;
            }
    }
}

/* A parameter that the body consumes shares memory with no other. */
static void check_consumed_param(Alias *al, const Exp *e, int k, const Vars *res)
{
    const Vars *ps = &e->loop.params;
    Vars init = alias_roots(al, e->loop.inits.at[k]);
    for (int j = 0; j < ps->n; j++) {
        Vars other = alias_roots(al, e->loop.inits.at[j]);
        if (j == k)
            continue;
        bool twice = share(&res[k], &res[j]);
        if (twice || share(&init, &other))
            report(al, twice ? result(e->loop.body, k) : operand(al, &e->loop.inits.at[k]),
                   "the loop consumes its parameter @, which may share memory with @",
                   var_text(ps->at[k]), var_text(ps->at[j]));
    }
}

/* A parameter that the body consumes was consumed when the next iteration begins: what the body uses,
 * the operands from `from` on, is not its initial value. */
static void check_consumed_init(Alias *al, const Exp *e, int k, int from)
{
    const Atom *init = &e->loop.inits.at[k];
    Vars rs = alias_roots(al, *init);
    for (int i = from; i < al->used.n; i++)
        for (int j = 0; j < rs.n; j++)
            if (al->used.at[i] == rs.at[j])
                report(al, operand(al, init), "the loop consumes @, while @ is used in its body",
                       atom_text(*init), var_text(rs.at[j]));
}

static Vars *results_roots(Alias *al, const Body *b)
{
    Vars *res = NEWN(al->cx->perm, Vars, b->res.n + 1);
    for (int k = 0; k < b->res.n; k++)
        add_roots_of(al, &res[k], b->res.at[k]);
    return res;
}

static Vars *loop_roots(Alias *al, const Exp *e)
{
    const Vars *ps = &e->loop.params;
    int n = ps->n;
    al->depth++;
    for (int k = 0; k < n; k++)
        set_fresh(al, ps->at[k]);
    int before_body = al->used.n;
    walk_body(al, e->loop.body);
    al->depth--;
    Vars *res = results_roots(al, e->loop.body), *rs = NEWN(al->cx->perm, Vars, n + 1);
    consume_results(al, ps, res, e->loop.body);
    for (int k = 0; k < n; k++) {
        if (!varset_has(al->ever, ps->at[k])) {
            add_roots_of(al, &rs[k], e->loop.inits.at[k]);
            continue;
        }
        check_consumed_param(al, e, k, res);
        check_consumed_init(al, e, k, before_body);
        consume(al, &e->loop.inits.at[k]);
    }
    /* A result that is a parameter is whatever that parameter may be, in turn. */
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < n; k++)
            for (int i = 0; i < res[k].n; i++) {
                int j = param_index(ps, res[k].at[i]), before = rs[k].n;
                if (j < 0)
                    add_root(al, &rs[k], res[k].at[i]);
                for (int m = 0; j >= 0 && m < rs[j].n; m++)
                    add_root(al, &rs[k], rs[j].at[m]);
                changed = changed || rs[k].n != before;
            }
    }
    /* The body's own results of the last iteration are alive: nothing consumed those. */
    for (int k = 0; k < n; k++)
        for (int i = 0; i < res[k].n; i++)
            if (level_of(al, res[k].at[i]) > al->depth)
                varmap_del(al->dead, res[k].at[i]);
    return rs;
}

/* x holds a row of arr in a body whose free variables are `frees`; if the body consumed x, then arr
 * is consumed, and must not be seen in the body under another name. */
static void consume_rows(Alias *al, const Var *x, const Atom *arr, const Vars *frees)
{
    if (!varset_has(al->dead, x))
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
        for (int k = 0; varset_has(al->dead, xs->at[j]) && k < arrs->n; k++)
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
        consume_results(al, &lam->params, results_roots(al, lam->body), lam->body);
    if (!arrs || lam->params.n < arrs->n)
        return;
    int first = lam->params.n - arrs->n;
    Vars rows = {.at = lam->params.at + first, .n = arrs->n}, frees = {0};
    for (int j = 0; j < rows.n; j++) {
        if (varset_has(al->dead, rows.at[j]) && !frees.at)
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

static void walk_seg(Alias *al, const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    al->depth++;
    for (int d = 0; d < nest->n; d++)
        for (int j = 0; j < nest->at[d].xs.n; j++)
            set_fresh(al, nest->at[d].xs.at[j]);
    walk_body(al, e->seg.body);
    Vars frees = free_vars_body(al->cx, e->seg.body);
    Vars outer = {0};
    for (int i = 0; i < frees.n; i++)
        if (level_of(al, frees.at[i]) < al->depth)
            vec_push(al->cx->perm, &outer, frees.at[i]);
    for (int d = nest->n - 1; d >= 0; d--) {
        const NestDim *nd = &nest->at[d];
        /* An array of an inner dimension may be an x of an outer one: same depth. */
        al->depth -= d == 0;
        for (int j = 0; j < nd->xs.n; j++)
            consume_rows(al, nd->xs.at[j], &nd->arrs.at[j], &outer);
        check_distinct(al, &nd->xs, &nd->arrs);
    }
    if (e->seg.op)
        walk_lambda(al, e->seg.op, NULL, true);
    consume_dests(al, &e->seg.dests);
}

/* Roots of e's results, or NULL: all fresh. */
static Vars *walk_exp(Alias *al, const Exp *e)
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
    case M_branch: return if_roots(al, e);
    case M_loop: return loop_roots(al, e);
    case M_soac: walk_soac(al, e); return NULL;
    case M_seg: walk_seg(al, e); return NULL;
    default: break;
    }
    /* A manifest array may have been laid out as it shall be. */
    Atom of = e->kind == E_MANIFEST ? e->rearrange.arr : exp_view_of(e);
    if (!of.var)
        return NULL;
    Vars *rs = NEW(al->cx->perm, Vars);
    add_roots_of(al, rs, of);
    return rs;
}

/* The next statement, with all inside it. */
static void alias_stm(Alias *al, const Stm *s)
{
    const Stm *outer = al->stm;
    al->stm = s;
    Vars *rs = walk_exp(al, s->exp);
    for (int k = 0; k < s->pat.n; k++) {
        if (!rs || rs[k].n == 0)
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
    Vars rs = alias_roots(al, a);
    for (int i = 0; i < rs.n; i++)
        if (varset_has(al->ever, rs.at[i]))
            return true;
    return false;
}

Vars exp_consumes(Ctx *cx, const Exp *e)
{
    /* Most expressions consume nothing: do not walk those without a body. */
    Vars out = {0};
    if (e->kind == E_UPDATE && e->update.arr.var) {
        vec_push(cx->perm, &out, e->update.arr.var);
        return out;
    }
    if (e->kind < E_IF || e->kind == E_ASSERT || e->kind == E_SUFF)
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
