/* Fusion of SOACs that stand in the same body.
 *
 * Vertical: a producer whose mapped-out results a consumer takes as inputs becomes part of the
 * consumer's function (map-map, map-reduce = redomap, map-scan = scanomap, map into scatter or
 * hist; redomap and scanomap may produce as well, by what they map out). If something else needs
 * the array too, it is mapped out by the fused SOAC, so nothing is ever computed twice and nothing
 * is lost.
 *
 * Horizontal: maps and reductions of the same width that do not depend on each other become one
 * when they read an array in common, so that it is read once; flat maps also when they do not, and
 * maps that do nothing but fold rows of the same length, since a fold of rows is a launch for few
 * numbers. The operators of two reductions work side by side, each on its own accumulators, which
 * may take up no more than MAX_ACCS bytes together: a group keeps them for each of its items in
 * local memory.
 *
 * Not fused, since flattening could do less afterwards:
 *  - SOACs with different attributes;
 *  - a reduction or scan whose operator works on arrays, which is to be interchanged with the map
 *    inside the operator (rule G4) and must stand alone for that;
 *  - a function with SOACs into a scatter or hist, or one whose results something else needs too;
 *  - across the boundary of a loop, branch or lambda.
 *
 * Order. Fusing the statements i < j moves i down and j up to one place. The statements between
 * that depend on i come after it, the others before. Statement b depends on an earlier a if it
 * mentions what a binds, if it consumes what a reads, or if a is an assertion, which may guard b.
 * So j must not depend on a statement between that depends on i. Also neither may consume what the
 * other reads, and the consumer may not consume the rows that it takes from the producer.
 *
 * Failures. Of two statements that fail, the first is reported; where a reduction has a sibling,
 * therefore, what may fail does not change places with what may fail, and at most one of the two
 * may (their elements would take turns). A producer and its consumer are fused all the same, and so
 * are maps: which of their failures is reported is left open.
 *
 * Outer bodies come first, since fusing two nests puts their inner SOACs side by side; rounds are
 * made until nothing changes, each with fresh alias information. */
#include "ir/passes/fuse_merge.h"

enum { MAX_ACCS = 64 };

typedef struct {
    Ctx *cx;
    Alias *al; /* of the whole entry, at the beginning of the round */
    bool changed;
    bool inside;   /* of a function */
    int place;     /* of the statement fused last, in its body */
    VarMap *where; /* of what statements of that body bind: their number + 1 */
} Fuse;

/* A statement at work. */
typedef struct {
    Stm s;
    VarSet *uses;  /* free variables */
    Vars consumed; /* roots */
    bool fused;    /* in this round: its insides are left to the next */
    bool traps;    /* exp_traps */
    bool after;    /* scratch of mark_dependents; */
    int prev;      /* of those that are `after`: the one before */
} Node;
typedef VEC(Node) Nodes;

/* --- Dependence ----------------------------------------------------------------------------- */

static Node node_of(Fuse *fu, Stm s)
{
    Node n = {.s = s, .uses = varmap_new(fu->cx->perm), .traps = exp_traps(s.exp)};
    free_in_stm(n.uses, &s);
    Vars eaten = exp_consumes(fu->cx, s.exp);
    for (int i = 0; i < eaten.n; i++) {
        Vars roots = alias_roots(fu->al, atom_var(eaten.at[i]));
        vec_append(fu->cx->perm, &n.consumed, &roots);
    }
    return n;
}

typedef struct {
    Fuse *fu;
    const Vars *roots;
    bool yes;
} Touch;

static void touch_atom(void *env, Atom a)
{
    Touch *t = env;
    if (!a.var || !a.var->type.rank || t->yes)
        return;
    Vars rs = alias_roots(t->fu->al, a);
    for (int i = 0; i < rs.n; i++)
        for (int j = 0; j < t->roots->n; j++)
            t->yes |= rs.at[i] == t->roots->at[j];
}

static void touch_lambda(void *env, Lambda *l);

static void touch_body(void *env, Body *b)
{
    ExpVisitor v = {env, touch_atom, NULL, touch_body, touch_lambda};
    for (int i = 0; i < b->stms.n; i++)
        exp_visit(b->stms.at[i].exp, &v);
    for (int i = 0; i < b->res.n; i++)
        touch_atom(env, b->res.at[i]);
}

static void touch_lambda(void *env, Lambda *l)
{
    touch_body(env, l->body);
}

/* Does a mention an array that may share memory with what b consumes? */
static bool reads_consumed(Fuse *fu, const Node *a, const Node *b)
{
    if (!b->consumed.n)
        return false;
    Touch t = {fu, &b->consumed, false};
    ExpVisitor v = {&t, touch_atom, NULL, touch_body, touch_lambda};
    exp_visit(a->s.exp, &v);
    return t.yes;
}

static bool mentions(const Node *b, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        if (varset_has(b->uses, vs->at[i]))
            return true;
    return false;
}

static bool depends(Fuse *fu, const Node *b, const Node *a)
{
    return a->s.exp->kind == E_ASSERT || mentions(b, &a->s.pat) || reads_consumed(fu, a, b);
}

/* Sets `after` of the statements in i+1 .. j-1 that must follow i; is j free of them (that it may
 * depend on i itself is not looked at)? */
static bool mark_dependents(Fuse *fu, Nodes *ns, int i, int j)
{
    int last = i; /* marked last; the one before it: prev */
    for (int k = i + 1; k < j; k++) {
        Node *n = &ns->at[k];
        n->after = depends(fu, n, &ns->at[i]);
        for (int a = last; a > i && !n->after; a = ns->at[a].prev)
            n->after = depends(fu, n, &ns->at[a]);
        if (n->after) {
            n->prev = last;
            last = k;
        }
    }
    for (int a = last; a > i; a = ns->at[a].prev)
        if (depends(fu, &ns->at[j], &ns->at[a]))
            return false;
    return true;
}

/* --- What may be fused ---------------------------------------------------------------------- */

static bool op_on_arrays(const Exp *e)
{
    const Lambda *op = e->soac.op;
    for (int i = 0; op && i < op->params.n; i++)
        if (op->params.at[i]->type.rank > 0)
            return true;
    return false;
}

static bool maps_nothing_out(Job j)
{
    return j == JOB_SCATTER || j == JOB_HIST;
}

/* May the two be one SOAC, as far as their forms go? */
static bool forms_fit(const Exp *first, const Exp *second)
{
    if (!exp_is_soac(first) || !exp_is_soac(second) || first->attrs != second->attrs ||
        !atom_eq(first->soac.width, second->soac.width))
        return false;
    Job j1 = fuse_job(first), j2 = fuse_job(second);
    if (maps_nothing_out(j1) || (j1 != JOB_MAP && j2 != JOB_MAP && j1 != j2))
        return false;
    if (maps_nothing_out(j2) && first->soac.fn && body_has_soac(first->soac.fn->body))
        return false;
    return !op_on_arrays(first) && !op_on_arrays(second);
}

/* Does e use a variable of vs other than as an input? */
static bool uses_beside_inputs(Fuse *fu, const Exp *e, const Vars *vs)
{
    VarSet *f = varmap_new(fu->cx->perm);
    Exp rest = *e;
    rest.soac.arrs = (Atoms){0};
    rest.soac.fn = rest.soac.op = NULL;
    free_in_exp(f, &rest);
    if (e->soac.fn)
        free_in_lambda(f, e->soac.fn);
    if (e->soac.op)
        free_in_lambda(f, e->soac.op);
    for (int i = 0; i < vs->n; i++)
        if (varset_has(f, vs->at[i]))
            return true;
    return false;
}

/* Are those inputs of e that p binds all mapped out by p, and is there one? */
static bool takes_mapped_out(const Exp *e, const Stm *p)
{
    bool any = false;
    for (int i = 0; i < e->soac.arrs.n; i++)
        for (int k = 0; k < p->pat.n; k++)
            if (e->soac.arrs.at[i].var == p->pat.at[k]) {
                if (k < fuse_n_red(p->exp))
                    return false;
                any = true;
            }
    return any;
}

/* The consumer may not consume the rows that it takes from the producer. */
static bool consumes_rows(Fuse *fu, const Exp *e, const Stm *p)
{
    Vars eaten = exp_consumes(fu->cx, e);
    for (int i = 0; i < eaten.n; i++)
        for (int k = 0; k < p->pat.n; k++)
            if (eaten.at[i] == p->pat.at[k])
                return true;
    return false;
}

/* --- Replacing the two statements ----------------------------------------------------------- */

/* Results of node i that something else than node j needs; their number is added to *n. */
static VarSet *still_needed(Fuse *fu, const Nodes *ns, const Body *b, int i, int j, int *n)
{
    VarSet *keep = varmap_new(fu->cx->perm);
    const Vars *pat = &ns->at[i].s.pat;
    for (int p = 0; p < pat->n; p++) {
        bool needed = false;
        for (int k = i + 1; k < ns->n && !needed; k++)
            needed = k != j && varset_has(ns->at[k].uses, pat->at[p]);
        for (int k = 0; k < b->res.n && !needed; k++)
            needed = b->res.at[k].var == pat->at[p];
        if (needed)
            varset_add(keep, pat->at[p]);
        *n += needed;
    }
    return keep;
}

static void note_places(Fuse *fu, const Nodes *ns, int from)
{
    for (int k = from; k < ns->n; k++)
        for (int p = 0; p < ns->at[k].s.pat.n; p++)
            varmap_put(fu->where, ns->at[k].s.pat.at[p], (void *)(uintptr_t)(k + 1));
}

/* The statement that binds v; -1: none of this body. */
static int binder(const Fuse *fu, const Var *v)
{
    return (int)(uintptr_t)varmap_get(fu->where, v) - 1;
}

/* The node of what x and y were fused into: as node_of gives it, but that sizes may be among `uses`
 * which it no longer mentions. Both nodes are given up. */
static Node fused_node(Fuse *fu, Stm s, const Node *x, const Node *y)
{
    bool turned = y->fused && !x->fused;
    const Node *less = turned ? x : y;
    Node n = turned ? *y : *x;
    ArenaMark mark = arena_mark(fu->cx->scratch);
    Vars uses = varset_list(fu->cx->scratch, less->uses);
    for (int i = 0; i < uses.n; i++)
        varset_add(n.uses, uses.at[i]);
    arena_reset(fu->cx->scratch, mark);
    for (int i = 0; i < s.pat.n; i++)
        varmap_del(n.uses, s.pat.at[i]);
    for (int i = 0; i < x->s.pat.n; i++)
        varmap_del(n.uses, x->s.pat.at[i]);
    vec_append(fu->cx->perm, &n.consumed, &less->consumed);
    n.s = s;
    n.traps = x->traps || y->traps;
    n.fused = true;
    return n;
}

/* i and j become one statement, after marks have been set for them. Returns its place. */
static int replace(Fuse *fu, Nodes *ns, int i, int j, Stm fused)
{
    Nodes after = {0};
    Node node = fused_node(fu, fused, &ns->at[i], &ns->at[j]);
    int n = i;
    for (int k = i + 1; k < j; k++) {
        if (ns->at[k].after)
            vec_push(fu->cx->perm, &after, ns->at[k]);
        else
            ns->at[n++] = ns->at[k];
    }
    int place = n;
    ns->at[n++] = node;
    for (int k = 0; k < after.n; k++)
        ns->at[n++] = after.at[k];
    for (int k = j + 1; k < ns->n; k++)
        ns->at[n++] = ns->at[k];
    ns->n = n;
    note_places(fu, ns, i);
    fu->changed = true;
    return place;
}

static bool try_pair(Fuse *fu, Nodes *ns, const Body *b, int i, int j, const Node *consumer)
{
    Node *p = &ns->at[i], old = ns->at[j];
    if (reads_consumed(fu, p, consumer) || reads_consumed(fu, consumer, p))
        return false;
    ns->at[j] = *consumer;
    int n_kept = 0;
    VarSet *keep = still_needed(fu, ns, b, i, j, &n_kept);
    bool ok = (n_kept == 0 || !maps_nothing_out(fuse_job(consumer->s.exp))) &&
              mark_dependents(fu, ns, i, j);
    if (ok)
        fu->place = replace(fu, ns, i, j, fuse_merge(fu->cx, &p->s, p->fused, &consumer->s, keep));
    else
        ns->at[j] = old;
    return ok;
}

static bool try_vertical(Fuse *fu, Nodes *ns, const Body *b, int i, int j, const Node *consumer)
{
    const Stm *p = &ns->at[i].s;
    const Exp *e = consumer->s.exp;
    return takes_mapped_out(e, p) && forms_fit(p->exp, e) && !uses_beside_inputs(fu, e, &p->pat) &&
           !consumes_rows(fu, e, p) && try_pair(fu, ns, b, i, j, consumer);
}

static bool used_besides(const Nodes *ns, const Body *b, const Var *v, int j)
{
    for (int k = 0; k < ns->n; k++)
        if (k != j && varset_has(ns->at[k].uses, v))
            return true;
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var == v)
            return true;
    return false;
}

static Nodes without(Fuse *fu, const Nodes *ns, int dropped)
{
    Nodes r = {0};
    for (int k = 0; k < ns->n; k++)
        if (k != dropped)
            vec_push(fu->cx->perm, &r, ns->at[k]);
    return r;
}

/* Input a of node j is made by the view at r, which keeps the outermost dimension, from what
 * may be a producer's result. */
static bool fuse_through(Fuse *fu, Nodes *ns, const Body *b, int r, int j, int a)
{
    const Node *re = &ns->at[r];
    int i = binder(fu, exp_view_of(re->s.exp).var);
    if (i < 0 || !exp_is_soac(ns->at[i].s.exp))
        return false;
    Exp *e = fuse_through_view(fu->cx, ns->at[j].s.exp, a, re->s.exp);
    Node consumer = node_of(fu, (Stm){ns->at[j].s.pat, e});
    if (used_besides(ns, b, re->s.pat.at[0], j) || varset_has(consumer.uses, re->s.pat.at[0]))
        return try_vertical(fu, ns, b, i, j, &consumer);
    Nodes rest = without(fu, ns, r);
    if (!try_vertical(fu, &rest, b, i, j - 1, &consumer))
        return false;
    *ns = rest;
    return true;
}

/* Node j with a producer. */
static bool fuse_consumer(Fuse *fu, Nodes *ns, const Body *b, int j)
{
    const Exp *e = ns->at[j].s.exp;
    for (int a = 0; a < e->soac.arrs.n; a++) {
        int i = binder(fu, e->soac.arrs.at[a].var);
        if (i < 0)
            continue;
        const Exp *p = ns->at[i].s.exp;
        if (fuse_keeps_rows(p)) {
            if (fuse_through(fu, ns, b, i, j, a))
                return true;
        } else if (exp_is_soac(p)) {
            Node consumer = ns->at[j];
            if (try_vertical(fu, ns, b, i, j, &consumer))
                return true;
        }
    }
    return false;
}

/* --- Horizontal ----------------------------------------------------------------------------- */

static bool share_input(const Exp *x, const Exp *y)
{
    for (int i = 0; i < x->soac.arrs.n; i++)
        for (int j = 0; j < y->soac.arrs.n; j++)
            if (atom_eq(x->soac.arrs.at[i], y->soac.arrs.at[j]))
                return true;
    return false;
}

static bool flat_map(const Exp *e)
{
    return e->kind == E_MAP && !body_has_soac(e->soac.fn->body);
}

static bool flat_fold(const Exp *e)
{
    return e->kind == E_REDUCE || (e->kind == E_REDOMAP && !body_has_soac(e->soac.fn->body));
}

/* The width of the rows that e, a map, folds to scalars and does nothing else with; NULL: it does
 * something else. */
static const Atom *width_of_folded(const Exp *e)
{
    const Atom *width = NULL;
    for (int i = 0; e->kind == E_MAP && i < e->soac.fn->body->stms.n; i++) {
        const Stm *s = &e->soac.fn->body->stms.at[i];
        if (!exp_is_soac(s->exp) && !exp_is(s->exp, F_CODE))
            continue;
        if (!flat_fold(s->exp) || !types_scalar(&s->pat, 0, s->pat.n) ||
            (width && !atom_eq(*width, s->exp->soac.width)))
            return NULL;
        width = &s->exp->soac.width;
    }
    return width;
}

/* Do both do nothing but fold the rows that each of their elements has, as sums over rows do? */
static bool fold_rows(const Exp *x, const Exp *y)
{
    const Atom *a = width_of_folded(x), *b = width_of_folded(y);
    return a && b && atom_eq(*a, *b);
}

static bool map_or_reduce(const Exp *e)
{
    return e->kind == E_MAP || e->kind == E_REDUCE || e->kind == E_REDOMAP;
}

static int acc_bytes(const Exp *e)
{
    int n = 0;
    for (int i = 0; i < e->soac.nes.n; i++)
        n += prim_type_bytes[atom_type(e->soac.nes.at[i]).elem];
    return n;
}

/* May the accumulators of both be kept at once? */
static bool accs_fit(const Exp *x, const Exp *y)
{
    int first = acc_bytes(x), second = acc_bytes(y);
    return !first || !second || first + second <= MAX_ACCS;
}

/* Would the first failure still be the first, after i and j have become one? Asks what
 * mark_dependents found. */
static bool failures_in_order(const Nodes *ns, int i, int j)
{
    const Node *x = &ns->at[i], *y = &ns->at[j];
    bool ok = !x->traps || !y->traps;
    for (int k = i + 1; k < j && ok; k++) {
        const Node *n = &ns->at[k];
        ok = !n->traps || !(n->after ? y->traps : x->traps);
    }
    return ok;
}

static bool are_siblings(const Fuse *fu, const Exp *x, const Exp *y)
{
    return share_input(x, y) || (flat_map(x) && flat_map(y)) || fold_rows(x, y) ||
           (fu->inside && flat_fold(x) && flat_fold(y));
}

static bool try_horizontal(Fuse *fu, Nodes *ns, const Body *b, int i, int j)
{
    const Exp *x = ns->at[i].s.exp, *y = ns->at[j].s.exp;
    if (!map_or_reduce(x) || !map_or_reduce(y) || !forms_fit(x, y) || !accs_fit(x, y) ||
        !are_siblings(fu, x, y) || depends(fu, &ns->at[j], &ns->at[i]))
        return false;
    bool maps = x->kind == E_MAP && y->kind == E_MAP;
    if (!maps && !(mark_dependents(fu, ns, i, j) && failures_in_order(ns, i, j)))
        return false;
    Node second = ns->at[j];
    return try_pair(fu, ns, b, i, j, &second);
}

/* --- Bodies --------------------------------------------------------------------------------- */

/* All consumers from `from` on with their producers. Nothing new can be fused before the statement
 * made last, so the search goes on there. Returns from where on statements are new. */
static int fuse_vertical(Fuse *fu, Nodes *ns, const Body *b, int from)
{
    int least = from;
    for (int j = from; j < ns->n; j++)
        while (j < ns->n && exp_is_soac(ns->at[j].s.exp) && fuse_consumer(fu, ns, b, j)) {
            j = fu->place > 1 ? fu->place : 1;
            least = j < least ? j : least;
        }
    return least;
}

/* By statement: does j need what it binds, itself or by way of others? Found once for j: in a long
 * chain mark_dependents would go through it for each pair. */
static const bool *needed_for(const Fuse *fu, const Nodes *ns, int j, Arena *mem)
{
    bool *needed = NEWN(mem, bool, j + 1);
    needed[j] = true;
    for (int k = j; k >= 0; k--) {
        Vars uses = {0};
        if (needed[k])
            uses = varset_list(mem, ns->at[k].uses);
        for (int u = 0; u < uses.n; u++) {
            int i = binder(fu, uses.at[u]);
            if (i >= 0 && i < k)
                needed[i] = true;
        }
    }
    return needed;
}

/* The first two siblings of which the second is at `from` or later. */
static bool fuse_horizontal(Fuse *fu, Nodes *ns, const Body *b, int from)
{
    bool fused = false;
    for (int j = from; j < ns->n && !fused; j++) {
        if (!map_or_reduce(ns->at[j].s.exp))
            continue;
        ArenaMark mark = arena_mark(fu->cx->scratch);
        const bool *needed = needed_for(fu, ns, j, fu->cx->scratch);
        for (int i = 0; i < j && !fused; i++)
            fused = !needed[i] && map_or_reduce(ns->at[i].s.exp) && try_horizontal(fu, ns, b, i, j);
        arena_reset(fu->cx->scratch, mark);
    }
    return fused;
}

/* What was fused last may be fused anew, and so may what comes after it; pairs before it were
 * tried. */
static void fuse_nodes(Fuse *fu, Nodes *ns, const Body *b)
{
    fu->where = varmap_new(fu->cx->perm);
    note_places(fu, ns, 0);
    int from = 1;
    do {
        from = fuse_vertical(fu, ns, b, from);
    } while (fuse_horizontal(fu, ns, b, from) && (from = fu->place > 1 ? fu->place : 1));
}

static Lambda *fuse_lambda(void *env, Lambda *l);

static Body *fuse_body(void *env, Body *b)
{
    Fuse *fu = env;
    Nodes ns = {0};
    int soacs = 0;
    for (int i = 0; i < b->stms.n; i++)
        soacs += exp_is_soac(b->stms.at[i].exp);
    for (int i = 0; soacs > 1 && i < b->stms.n; i++)
        vec_push(fu->cx->perm, &ns, node_of(fu, b->stms.at[i]));
    fuse_nodes(fu, &ns, b);
    for (int i = 0; soacs <= 1 && i < b->stms.n; i++)
        vec_push(fu->cx->perm, &ns, (Node){.s = b->stms.at[i]});
    Bld bl = bld_new(fu->cx);
    ExpMapper m = {fu, NULL, NULL, fuse_body, fuse_lambda};
    for (int i = 0; i < ns.n; i++) {
        Stm s = ns.at[i].s;
        if (!ns.at[i].fused && s.exp->kind >= E_IF && s.exp->kind != E_ASSERT)
            s.exp = exp_map_parts(fu->cx, s.exp, &m);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

static Lambda *fuse_lambda(void *env, Lambda *l)
{
    Fuse *fu = env;
    bool inside = fu->inside;
    fu->inside = true;
    Body *b = fuse_body(fu, l->body);
    fu->inside = inside;
    return lambda_new(fu->cx, l->params, b);
}

static void fuse_entry(Ctx *cx, Entry *en)
{
    Fuse fu = {.cx = cx};
    do {
        fu.changed = false;
        fu.al = alias_new(cx);
        for (int i = 0; i < en->params.n; i++)
            alias_bind(fu.al, en->params.at[i], true); /* what may be consumed was checked before */
        alias_body(fu.al, en->body);
        en->body = fuse_body(&fu, en->body);
    } while (fu.changed);
}

Prog *pass_fuse(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        fuse_entry(cx, &en);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
