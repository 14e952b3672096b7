/* The search for layouts that cost little (cost/layouts.h says what an access costs).
 *
 * For each element, with RIGHT for a coalesced access as the measure, the cost is the sum of
 *
 *   - for each construct that reads the array, what its accesses cost: RIGHT where they lie right,
 *     or a reduction's neighbouring segments beside each other, else ONCE, or AGAIN if the same
 *     work-item wants the neighbours as well or many work-items the same element; next to nothing
 *     where only a part of the array is read, less where nothing is known, so that the program's
 *     order is as good as any. Or what a transposed copy costs (COPY, in front of the loops that do
 *     not change the array) and the accesses through it, if less;
 *
 *   - for each construct that makes it: WRITE if neighbours write apart, AGAIN if each goes on
 *     along a row;
 *   - for each place where it is passed on (loops, branches, results of the entry): PASS_ON if the
 *     layouts differ. Such a copy is made for small arrays, too, whose launch is what it costs.
 *
 * Work-groups have so much else to do that accesses apart cost less (GROUP_..: on an H200 16-27 us
 * for 2^24 elements where a copy takes 62). Each counts LOOP_TURNS times for each host loop around
 * it; of two versions the first counts a third, since it is for data of a kind, like that with very
 * many rows, and less if few untuned programs take it. From the layouts that constructs write by
 * themselves, the search changes the layout of one array, or of all that are connected with it, as
 * long as that makes the sum smaller. */
#include "memory/layout.h"

#include <string.h>

/* --- Views -------------------------------------------------------------------------------- */

bool view_perm(const View *w, const int *perm, int *of_view)
{
    int n = 0, last = -1;
    for (int k = 0; k < w->node->rank; k++)
        for (int d = 0; d < w->rank; d++)
            if (w->free[d] == perm[k]) {
                of_view[n++] = d;
                last = k;
            }
    return last == w->node->rank - 1;
}

/* The other way: a layout of the node in which the view's dimensions have that order; those that
 * the view has not are outside. */
static void node_perm(const View *w, const int *of_view, int *perm)
{
    bool has[MAX_DIMS] = {false};
    int n = 0;
    for (int d = 0; d < w->rank; d++)
        has[w->free[d]] = true;
    for (int d = 0; d < w->node->rank; d++)
        if (!has[d])
            perm[n++] = d;
    for (int k = 0; k < w->rank; k++)
        perm[n++] = w->free[of_view[k]];
}

/* --- Costs ------------------------------------------------------------------------------------ */

/* Neighbours in dimension `fast` lie in one transaction when the dimensions have that order in
 * memory. */
static bool lies_right(Type t, const int *perm, int fast)
{
    int64_t bytes = prim_type_bytes[t.elem];
    int k = t.rank - 1;
    for (; perm[k] != fast; k--) {
        const Atom *n = &t.dims[perm[k]];
        if (n->var || !cost_together(n->c.i))
            return false;
        bytes *= n->c.i;
    }
    return k == t.rank - 1 || cost_together(bytes);
}

/* Is what access i wants wanted by one before it, too, from `first` on? Of an array that it reads
 * in several places, as stencils do, most is in the cache then. */
static bool wants_again(const Lay *ly, int first, int i)
{
    const Access *ac = &ly->accesses.at[i];
    bool same = false;
    for (int k = first; k < i && !same; k++)
        same = ly->accesses.at[k].fast == ac->fast && ly->accesses.at[k].kind == ac->kind;
    return same;
}

/* All accesses of r, its array's dimensions being in that order. */
static int64_t accesses_cost(const Lay *ly, const Reader *r, int order, const int *perm,
                             bool contiguous)
{
    int64_t sum = 0;
    const Span *of = &r->of[order];
    for (int i = of->first; i < of->first + of->n; i++) {
        const Access *ac = &ly->accesses.at[i];
        if (order > 0 && ac->kind == WANT_GUESS) { /* nobody wrote it for this order */
            sum += r->once;
            continue;
        }
        bool right = contiguous && lies_right(r->arr->type, perm, ac->fast);
        if (r->across >= 0 && ac->kind != WANT_GUESS)
            right = right || (contiguous && lies_right(r->arr->type, perm, r->across));
        if (right || r->once != GROUP_ONCE || !wants_again(ly, of->first, i))
            sum += cost_access(ac->kind, right, r->once);
        else
            sum += RIGHT;
    }
    return sum * r->weight;
}

void layout_turned(const int *from, int rank, int fast, int *to)
{
    int at = 0;
    while (from[at] != fast)
        at++;
    for (int k = 0; k < rank; k++)
        to[k] = from[(at + 1 + k) % rank];
}

/* The dimension that is innermost in the cheapest copy of what lies by `from`; of equal ones the
 * first. Many accesses want the same. */
static int64_t best_copy(const Lay *ly, const Reader *r, int order, const int *from, int *fast)
{
    int64_t best = -1;
    int perm[MAX_DIMS];
    bool tried[MAX_DIMS] = {false};
    const Span *of = &r->of[order];
    for (int i = of->first; i < of->first + of->n; i++) {
        int want = ly->accesses.at[i].fast;
        if (tried[want])
            continue;
        tried[want] = true;
        layout_turned(from, r->view.rank, want, perm);
        int64_t c = accesses_cost(ly, r, order, perm, true);
        if (best < 0 || c < best) {
            best = c;
            *fast = want;
        }
    }
    return best;
}

int64_t layout_reader_cost(const Lay *ly, const Reader *r, int order, int *copy)
{
    int perm[MAX_DIMS], fast = -1;
    *copy = -1;
    if (r->of[order].n == 0) /* neighbours read the same */
        return RIGHT * r->weight;
    bool contiguous = view_perm(&r->view, r->view.node->perm, perm);
    int64_t direct = accesses_cost(ly, r, order, perm, contiguous);
    int64_t copied = best_copy(ly, r, order, perm, &fast) + r->copy;
    if (r->copy < 0 || direct <= copied)
        return direct;
    *copy = fast;
    return copied;
}

/* What passing on costs: nothing if the layouts agree. One that is the other turned, behind
 * dimensions that stay outside, is made by transpositions of matrices. */
static int64_t edge_cost(const Edge *e)
{
    int rank = e->a.rank, at = 0, turn = 0;
    int from[MAX_DIMS], to[MAX_DIMS];
    view_perm(&e->a, e->a.node->perm, from);
    view_perm(&e->b, e->b.node->perm, to);
    while (at < rank && from[at] == to[at])
        at++;
    if (at == rank)
        return 0;
    while (from[at + turn] != to[at])
        turn++;
    for (int k = at; k < rank; k++)
        if (to[k] != from[at + (k - at + turn) % (rank - at)])
            return SCATTERED * e->cost;
    return e->cost;
}

/* What a construct reads and writes, in that order. */
static int64_t order_cost(const Lay *ly, const Walk *w, int order)
{
    int copy;
    int64_t sum = order > 0 ? OTHER_ORDER * w->weight : 0;
    for (int i = 0; i < w->readers.n; i++)
        sum += layout_reader_cost(ly, &ly->readers.at[w->readers.at[i]], order, &copy);
    for (int i = 0; i < w->made.n; i++) {
        const Node *n = w->made.at[i];
        bool little = w->rows && n->rank == w->seg->seg.nest.n;
        int fast = order > 0 && !little ? w->fast[order] : n->wants_fast;
        if (fast >= 0 && !lies_right(n->v->type, n->perm, fast))
            sum += n->write;
    }
    return sum;
}

/* The least that an order costs, and the order. */
static int64_t least_cost(const Lay *ly, const Walk *w, int *best)
{
    int64_t least = order_cost(ly, w, 0);
    *best = 0;
    for (int k = 1; k < w->orders; k++) {
        int64_t c = order_cost(ly, w, k);
        if (c < least) {
            least = c;
            *best = k;
        }
    }
    return least;
}

int layout_order(const Lay *ly, const Walk *w)
{
    int best = 0;
    if (w->orders > 1)
        least_cost(ly, w, &best);
    return best;
}

/* ... unless it is counted already. */
static int64_t walk_cost(const Lay *ly, Walk *w)
{
    if (!w || w->seen)
        return 0;
    int order;
    w->seen = true;
    return least_cost(ly, w, &order);
}

static void walks_forget(const Lay *ly, const Node *n)
{
    if (n->walk)
        n->walk->seen = false;
    for (int i = 0; i < n->readers.n; i++)
        ly->readers.at[n->readers.at[i]].walk->seen = false;
}

static int64_t node_cost(const Lay *ly, const Node *n)
{
    int64_t sum = walk_cost(ly, n->walk);
    for (int i = 0; i < n->readers.n; i++)
        sum += walk_cost(ly, ly->readers.at[n->readers.at[i]].walk);
    for (int i = 0; i < n->edges.n; i++) { /* at one of its ends */
        const Edge *e = &ly->edges.at[n->edges.at[i]];
        if (e->a.node == n)
            sum += edge_cost(e);
    }
    return sum;
}

static int64_t nodes_cost(const Lay *ly, const Nodes *ns)
{
    int64_t sum = 0;
    for (int i = 0; i < ns->n; i++)
        walks_forget(ly, ns->at[i]);
    for (int i = 0; i < ns->n; i++)
        sum += node_cost(ly, ns->at[i]);
    return sum;
}

/* --- The search ------------------------------------------------------------------------------- */

static void component_of(Lay *ly, Node *n, int id, Nodes *out)
{
    if (n->component >= 0)
        return;
    n->component = id;
    vec_push(ly->cx->perm, out, n);
    for (int i = 0; i < n->edges.n; i++) {
        const Edge *e = &ly->edges.at[n->edges.at[i]];
        Node *other = e->a.node == n ? e->b.node : e->a.node;
        component_of(ly, other, id, out);
    }
}

static void set_perm(Node *n, const int *perm)
{
    memcpy(n->perm, perm, sizeof *perm * (size_t)n->rank);
}

/* How the other end of an edge of n lies if it lies as n does by perm. That other end. */
static Node *edge_perm(const Edge *e, const Node *n, const int *perm, int *out)
{
    const View *here = e->a.node == n ? &e->a : &e->b, *there = e->a.node == n ? &e->b : &e->a;
    int order[MAX_DIMS];
    view_perm(here, perm, order);
    node_perm(there, order, out);
    return there->node;
}

/* n lies by perm, and what is connected with it likewise, as far as it can. */
static void spread(Lay *ly, Node *n, const int *perm, VarSet *seen)
{
    if (n->fixed || varset_has(seen, n->v))
        return;
    varset_add(seen, n->v);
    set_perm(n, perm);
    for (int i = 0; i < n->edges.n; i++) {
        const Edge *e = &ly->edges.at[n->edges.at[i]];
        int other[MAX_DIMS];
        Node *to = edge_perm(e, n, perm, other);
        spread(ly, to, other, seen);
    }
}

typedef struct {
    int at[MAX_DIMS];
} Perm;
typedef VEC(Perm) Perms;

static void candidate(Lay *ly, Perms *ps, const int *perm, int rank)
{
    Perm p = {{0}};
    memcpy(p.at, perm, sizeof *perm * (size_t)rank);
    for (int i = 0; i < ps->n; i++)
        if (perm_eq(ps->at[i].at, p.at, rank))
            return;
    vec_push(ly->cx->scratch, ps, p);
}

/* Layouts that are worth a try for n: those that its readers, its writer or its neighbours would
 * like. */
static Perms candidates(Lay *ly, const Node *n)
{
    Perms ps = {0};
    int perm[MAX_DIMS];
    for (int d = 0; d < n->rank; d++)
        perm[d] = d;
    candidate(ly, &ps, perm, n->rank);
    for (int i = 0; i < n->readers.n; i++) {
        const Reader *r = &ly->readers.at[n->readers.at[i]];
        for (int o = 0; o < r->walk->orders; o++)
            for (int k = r->of[o].first; k < r->of[o].first + r->of[o].n; k++) {
                node_perm(&r->view, ly->accesses.at[k].perm, perm);
                candidate(ly, &ps, perm, n->rank);
                layout_turned(n->perm, n->rank, r->view.free[ly->accesses.at[k].fast], perm);
                candidate(ly, &ps, perm, n->rank);
            }
    }
    for (int o = 0; n->wants_fast >= 0 && o < n->walk->orders; o++) {
        int fast = o > 0 ? n->walk->fast[o] : n->wants_fast, m = 0;
        for (int k = 0; k < n->rank; k++)
            if (n->perm[k] != fast)
                perm[m++] = n->perm[k];
        perm[m] = fast;
        candidate(ly, &ps, perm, n->rank);
    }
    for (int i = 0; i < n->edges.n; i++) {
        const Edge *e = &ly->edges.at[n->edges.at[i]];
        Node *other = e->a.node == n ? e->b.node : e->a.node;
        edge_perm(e, other, other->perm, perm);
        candidate(ly, &ps, perm, n->rank);
    }
    return ps;
}

static void save_perms(const Nodes *ns, Perm *to)
{
    for (int i = 0; i < ns->n; i++)
        memcpy(to[i].at, ns->at[i]->perm, sizeof to[i].at);
}

static void restore_perms(const Nodes *ns, const Perm *from)
{
    for (int i = 0; i < ns->n; i++)
        memcpy(ns->at[i]->perm, from[i].at, sizeof from[i].at);
}

/* What the layout of n alone decides. */
static int64_t own_cost(const Lay *ly, const Node *n)
{
    walks_forget(ly, n);
    int64_t sum = node_cost(ly, n);
    for (int i = 0; i < n->edges.n; i++) {
        const Edge *e = &ly->edges.at[n->edges.at[i]];
        if (e->a.node != n)
            sum += edge_cost(e);
    }
    return sum;
}

/* Tries the candidates of n alone. True if one is better. */
static bool improve_alone(Lay *ly, Node *n)
{
    int old[MAX_DIMS], best[MAX_DIMS];
    Perms ps = candidates(ly, n);
    memcpy(old, n->perm, sizeof old);
    memcpy(best, n->perm, sizeof best);
    int64_t least = own_cost(ly, n);
    for (int i = 0; i < ps.n; i++) {
        set_perm(n, ps.at[i].at);
        int64_t c = own_cost(ly, n);
        if (c < least) {
            least = c;
            memcpy(best, n->perm, sizeof best);
        }
    }
    set_perm(n, best);
    return !perm_eq(best, old, n->rank);
}

/* Tries them for n and what is connected with it. */
static bool improve_together(Lay *ly, const Nodes *all, Node *n)
{
    Arena *tmp = ly->cx->scratch;
    const Perms found = candidates(ly, n), *ps = &found;
    Perm *best = NEWN(tmp, Perm, all->n), *old = NEWN(tmp, Perm, all->n);
    int64_t least = nodes_cost(ly, all);
    bool better = false;
    save_perms(all, old);
    for (int i = 0; i < ps->n; i++) {
        spread(ly, n, ps->at[i].at, varmap_new(tmp));
        for (int k = 0; k < all->n; k++) /* those that would rather differ from the others */
            if (all->at[k] != n && !all->at[k]->fixed)
                improve_alone(ly, all->at[k]);
        int64_t c = nodes_cost(ly, all);
        if (c < least) {
            least = c;
            better = true;
            save_perms(all, best);
        }
        restore_perms(all, old);
    }
    if (better)
        restore_perms(all, best);
    return better;
}

static bool improve(Lay *ly, const Nodes *all, Node *n)
{
    ArenaMark mark = arena_mark(ly->cx->scratch);
    bool better = improve_alone(ly, n);
    if (n->edges.n > 0)
        better |= improve_together(ly, all, n);
    arena_reset(ly->cx->scratch, mark);
    return better;
}

static void search(Lay *ly, const Nodes *ns)
{
    enum { ROUNDS = 4 };
    bool changed = true;
    for (int round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (int i = 0; i < ns->n; i++)
            if (!ns->at[i]->fixed && ns->at[i]->rank > 1)
                changed |= improve(ly, ns, ns->at[i]);
    }
}

void layout_search(Lay *ly)
{
    for (int i = 0; i < ly->nodes.n; i++) {
        Nodes component = {0};
        component_of(ly, ly->nodes.at[i], i, &component);
        if (component.n > 0)
            search(ly, &component);
    }
}

/* --- At run time -------------------------------------------------------------------------- */

const KExp *mem_copy_pays(Ctx *cx, Lmad l, Type t, int fast)
{
    return cost_copy_pays(cx, l.strides[fast], sx_product(cx, t.dims, t.rank),
                          prim_type_bytes[t.elem]);
}
