/* The layout of each host-level array: in which order its dimensions lie in memory.
 *
 * Neighbouring work-items read and write memory at full speed when they touch neighbouring
 * elements. So an array should lie such that the dimension which varies over neighbouring
 * work-items is innermost. Readers and writers may want different things, and what a loop carries
 * or branches join has one layout for all.
 *
 * Arrays with memory of their own are nodes of a graph; views of them (transpositions, slices,
 * aliases, in-place updates) are seen through; edges are the places where an array is passed on.
 * layout_search.c finds the layouts.
 *
 * Then each construct for which a copy is the cheaper way reads through a `manifest`. It stands
 * before the construct, in front of the host loops around it that do not change the array, in the
 * code version (branch) that needs it. */
#include "memory/layout.h"

#include "ir/chains/attention.h"

#include <string.h>

static int weight(const Lay *ly)
{
    return ly->turns * ly->share;
}

/* --- Views ------------------------------------------------------------------------------------ */

static View *view_of(const Lay *ly, Atom a)
{
    return a.var ? varmap_get(ly->views, a.var) : NULL;
}

static void set_view(Lay *ly, const Var *v, View w)
{
    View *p = NEW(ly->cx->perm, View);
    *p = w;
    p->turns = ly->turns;
    varmap_put(ly->views, v, p);
}

/* v has memory of its own, row-major at first. */
static Node *node_new(Lay *ly, Var *v)
{
    Node *n = NEW(ly->cx->perm, Node);
    int rank = v->type.rank;
    *n = (Node){.v = v, .rank = rank, .wants_fast = -1, .component = -1};
    n->fixed = rank > MAX_DIMS;
    View w = {.node = n->fixed ? NULL : n, .rank = rank, .whole = true};
    for (int d = 0; d < rank && !n->fixed; d++)
        w.free[d] = n->perm[d] = d;
    set_view(ly, v, w);
    if (!n->fixed)
        vec_push(ly->cx->perm, &ly->nodes, n);
    return n;
}

/* a: all of an array, b: perhaps a part of one. */
static void add_edge(Lay *ly, const View *a, const View *b, int cost)
{
    if (!a || !b || !a->node || !b->node || !a->whole || a->rank != b->rank || a->rank < 2)
        return;
    Edge e = {.a = *a, .b = *b, .cost = (int64_t)cost * weight(ly)};
    vec_push(ly->cx->perm, &a->node->edges, ly->edges.n);
    if (b->node != a->node)
        vec_push(ly->cx->perm, &b->node->edges, ly->edges.n);
    vec_push(ly->cx->perm, &ly->edges, e);
}

/* What of w is there. */
static View view_part(const View *w, const DimIndexes *at)
{
    View r = {.node = w->node};
    for (int k = 0; k < at->n && w->node; k++)
        if (at->at[k].is_slice)
            r.free[r.rank++] = w->free[k];
    return r;
}

static void view_index(Lay *ly, const Stm *s)
{
    const View *w = view_of(ly, s->exp->index.arr);
    if (s->pat.at[0]->type.rank > 0 && w)
        set_view(ly, s->pat.at[0], view_part(w, &s->exp->index.at));
}

static void view_rearrange(Lay *ly, const Stm *s)
{
    const View *w = view_of(ly, s->exp->rearrange.arr);
    View r = *w;
    for (int k = 0; k < w->rank && w->node; k++)
        r.free[k] = w->free[s->exp->rearrange.perm[k]];
    set_view(ly, s->pat.at[0], r);
}

/* --- Statements ------------------------------------------------------------------------------- */

static void lay_body(Lay *ly, const Body *b);

/* The same array, or one that lies where it lies. */
static void same_place(Lay *ly, const Var *v, Atom a)
{
    const View *w = view_of(ly, a);
    if (w)
        set_view(ly, v, *w);
}

/* The same array, of which each rank has some rows, one behind the other. */
static void gathered(Lay *ly, const Var *v, Atom a)
{
    const View *w = view_of(ly, a);
    if (w && w->node)
        w->node->fixed = true;
    same_place(ly, v, a);
}

static void copy_of(Lay *ly, const Stm *s, Atom a, bool fixed)
{
    Node *n = node_new(ly, s->pat.at[0]);
    const View *w = view_of(ly, a);
    if (n->fixed || !w)
        return;
    if (fixed) {
        memcpy(n->perm, s->exp->rearrange.perm, sizeof *n->perm * (size_t)n->rank);
        n->fixed = true;
    } else if (w->node && w->rank == n->rank) {
        view_perm(w, w->node->perm, n->perm);
    }
    add_edge(ly, w, view_of(ly, atom_var(s->pat.at[0])), fixed ? COPY : 1);
}

/* The dimension of v in which neighbours of those accesses differ; -1: they differ in several, or
 * none. */
static int fast_of(const Accesses *found, const Var *v)
{
    int fast = -1;
    for (int i = 0; i < found->n; i++) {
        const Access *ac = &found->at[i];
        if (ac->arr != v)
            continue;
        if (ac->kind == WANT_GUESS || (fast >= 0 && fast != ac->fast))
            return -1;
        fast = ac->fast;
    }
    return fast;
}

/* The reader of v in the walk, made when it is new; NULL: nothing is known of v. */
static Reader *reader_of(Lay *ly, Walk *w, Var *v, const Accesses *across)
{
    for (int i = 0; i < w->readers.n; i++)
        if (ly->readers.at[w->readers.at[i]].arr == v)
            return &ly->readers.at[w->readers.at[i]];
    const View *of = view_of(ly, atom_var(v));
    if (!of || !of->node)
        return NULL;
    Reader r = {.walk = w, .arr = v, .view = *of, .weight = weight(ly), .copy = -1};
    r.once = body_has_seg(w->seg->seg.body) ? GROUP_ONCE : ONCE;
    r.across = fast_of(across, v);
    vec_push(ly->cx->perm, &of->node->readers, ly->readers.n);
    vec_push(ly->cx->perm, &w->readers, ly->readers.n);
    vec_push(ly->cx->perm, &ly->readers, r);
    return &vec_last(&ly->readers);
}

/* What is read in that order, array by array. */
static void read_in_order(Lay *ly, Walk *w, int order, const Accesses *found,
                          const Accesses *across)
{
    VarSet *done = varmap_new(ly->cx->scratch);
    for (int i = 0; i < found->n; i++) {
        Var *v = found->at[i].arr;
        Reader *r = varset_has(done, v) ? NULL : reader_of(ly, w, v, across);
        if (!r)
            continue;
        varset_add(done, v);
        r->of[order].first = ly->accesses.n;
        for (int k = i; k < found->n; k++)
            if (found->at[k].arr == v) {
                vec_push(ly->cx->perm, &ly->accesses, found->at[k]);
                w->rows |= found->at[k].walks;
                if (found->at[k].kind != WANT_GUESS)
                    r->copy = (int64_t)COPY * r->view.turns * ly->share;
            }
        r->of[order].n = ly->accesses.n - r->of[order].first;
    }
}

static void readers_of(Lay *ly, Walk *w)
{
    const Exp *e = w->seg;
    ArenaMark mark = arena_mark(ly->cx->scratch);
    Accesses found = access_of_seg(ly->cx, e), across = {0};
    if (ly->turns >
        1) /* a copy in a version would be made in each turn; else few segments may want it */
        across = access_across(ly->cx, e);
    read_in_order(ly, w, 0, &found, &across);
    for (int k = 1; k < w->orders; k++) {
        found = access_if_fast(ly->cx, e, w->fast[k]);
        read_in_order(ly, w, k, &found, &across);
    }
    Vars consumed = exp_consumes(ly->cx, e);
    for (int i = 0; i < w->readers.n; i++)
        for (int k = 0; k < consumed.n; k++)
            if (consumed.at[k] == ly->readers.at[w->readers.at[i]].arr)
                ly->readers.at[w->readers.at[i]].copy = -1;
    arena_reset(ly->cx->scratch, mark);
}

/* Is v used by a statement of b? */
static bool used_inside(Lay *ly, const Body *b, const Var *v)
{
    VarSet *s = varmap_new(ly->cx->scratch);
    varset_add(s, v);
    for (int i = 0; i < b->stms.n; i++)
        if (exp_uses_any(b->stms.at[i].exp, s))
            return true;
    return false;
}

static const Stm *binder(const Body *b, const Var *v)
{
    for (int i = 0; i < b->stms.n; i++)
        for (int j = 0; j < b->stms.at[i].pat.n; j++)
            if (b->stms.at[i].pat.at[j] == v)
                return &b->stms.at[i];
    return NULL;
}

/* A parallel construct with results of its own. */
static bool makes_arrays(const Exp *e)
{
    return exp_is_seg(e) && e->seg.dests.n == 0;
}

/* The dimension of array `a`, a result of a work-group, along which the work-items of the group
 * write it. A construct that makes the result only writes it where it belongs; anything else is
 * copied there. */
static int group_fast_dim(Lay *ly, const Body *b, Atom a)
{
    int last = atom_type(a).rank - 1;
    const Stm *s = a.var && !used_inside(ly, b, a.var) ? binder(b, a.var) : NULL;
    if (!s)
        return last;
    if (makes_arrays(s->exp)) {
        int fast = access_fast_dim(s->exp);
        return fast <= last ? fast : last;
    }
    if (s->exp->kind != E_REARRANGE)
        return last;
    const Var *of = s->exp->rearrange.arr.var;
    const Stm *t = binder(b, of);
    if (!t || !makes_arrays(t->exp))
        return last;
    int fast = access_fast_dim(t->exp);
    for (int d = 0; d <= last; d++)
        if (s->exp->rearrange.perm[d] == fast)
            return d;
    return last;
}

/* Result j of a construct: what it wants to write. Threads lay their rows out with the nest's
 * dimensions innermost, work-groups write rows as they are. */
static void made_by_seg(Lay *ly, Walk *w, const Stm *s, int j)
{
    const Exp *e = s->exp;
    Node *n = node_new(ly, s->pat.at[j]);
    if (n->fixed)
        return;
    n->walk = w;
    vec_push(ly->cx->perm, &w->made, n);
    bool reduced = e->kind == E_SEGRED && j < e->seg.nes.n;
    int depth = e->seg.nest.n - reduced, fast = access_fast_dim(e);
    bool folds = fast < e->seg.nest.n - 1;
    if (reduced && !folds) { /* by the number of the segment */
        n->fixed = true;
        return;
    }
    n->write = (int64_t)WRITE * weight(ly);
    if (body_has_seg(e->seg.body)) {
        n->write = (int64_t)GROUP_WRITE * weight(ly);
        Atom res = e->seg.body->res.at[j];
        if (atom_type(res).rank > 0)
            n->wants_fast = depth + group_fast_dim(ly, e->seg.body, res);
        return;
    }
    Attention a;
    int row = n->rank - depth;
    if (attention_of(ly->cx, e, &a)) {
        n->wants_fast = n->rank - 1;
        return;
    }
    if (row > 0)
        n->write = (int64_t)AGAIN * weight(ly);
    for (int k = 0; k < n->rank; k++)
        n->perm[k] = k < row ? depth + k : k - row;
    n->wants_fast = fast < depth ? fast : depth - 1;
}

/* What is built in an array that it becomes part of stays as it is. */
static bool is_placed(const Lay *ly, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        if (varset_has(ly->placed, s->pat.at[j]))
            return true;
    return false;
}

static Walk *walk_new(Lay *ly, const Stm *s)
{
    Walk *w = NEW(ly->cx->perm, Walk);
    int last = s->exp->seg.nest.n - 1;
    *w = (Walk){.seg = s->exp, .orders = 1, .weight = weight(ly)};
    if (ly->free && access_is_free(ly->cx, s->exp) && !is_placed(ly, s)) {
        w->fast[0] = last;
        for (int d = last - 1; d >= 0; d--)
            w->fast[w->orders++] = d;
    }
    vec_push(ly->cx->perm, &ly->walks, w);
    return w;
}

static void lay_seg(Lay *ly, const Stm *s)
{
    const Dests *dests = exp_dests(s->exp);
    Walk *w = walk_new(ly, s);
    readers_of(ly, w);
    for (int j = 0; j < s->pat.n; j++) {
        if (dests->n > 0)
            same_place(ly, s->pat.at[j], dests->at[j].arr);
        else if (s->pat.at[j]->type.rank > 0)
            made_by_seg(ly, w, s, j);
    }
}

/* The layout in which a is now, if that is one of its own; else row-major. */
static void present_perm(const Lay *ly, Atom a, int rank, int *perm)
{
    const View *w = view_of(ly, a);
    for (int k = 0; k < rank; k++)
        perm[k] = k;
    if (w && w->node && w->whole && w->rank == rank)
        view_perm(w, w->node->perm, perm);
}

/* v is set to arrays from two places (perhaps the same): it begins with their layout if they agree,
 * row-major else. */
static void joined(Lay *ly, Var *v, Atom a, Atom b)
{
    Node *n = node_new(ly, v);
    int perm[MAX_DIMS], other[MAX_DIMS];
    if (n->fixed)
        return;
    present_perm(ly, a, n->rank, perm);
    present_perm(ly, b, n->rank, other);
    if (perm_eq(perm, other, n->rank))
        memcpy(n->perm, perm, sizeof *perm * (size_t)n->rank);
}

static void lay_loop(Lay *ly, const Stm *s)
{
    const Exp *e = s->exp;
    int outer = ly->turns, inner = outer * LOOP_TURNS < MAX_TURNS ? outer * LOOP_TURNS : MAX_TURNS;
    for (int i = 0; i < s->pat.n; i++) {
        Var *p = e->loop.params.at[i];
        if (p->type.rank == 0)
            continue;
        ly->turns = inner; /* another array in each turn */
        joined(ly, p, e->loop.inits.at[i], e->loop.inits.at[i]);
        ly->turns = outer;
        add_edge(ly, view_of(ly, e->loop.inits.at[i]), view_of(ly, atom_var(p)), PASS_ON);
    }
    ly->turns = inner;
    lay_body(ly, e->loop.body);
    for (int i = 0; i < s->pat.n; i++)
        add_edge(ly, view_of(ly, e->loop.body->res.at[i]),
                 view_of(ly, atom_var(e->loop.params.at[i])), PASS_ON);
    ly->turns = outer;
    for (int i = 0; i < s->pat.n; i++)
        same_place(ly, s->pat.at[i], atom_var(e->loop.params.at[i]));
}

/* One side of a branch, which is chosen so likely. */
static void lay_side(Lay *ly, const Body *b, int share)
{
    int outer = ly->share;
    ly->share = share;
    lay_body(ly, b);
    ly->share = outer;
}

/* Its array results are passed on. */
static void pass_on(Lay *ly, const Stm *s, const Body *side, int share)
{
    int outer = ly->share;
    ly->share = share;
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            add_edge(ly, view_of(ly, side->res.at[i]), view_of(ly, atom_var(s->pat.at[i])),
                     PASS_ON);
    ly->share = outer;
}

static void lay_if(Lay *ly, const Stm *s)
{
    const Exp *e = s->exp;
    const Exp *guard = e->branch.test.var ? varmap_get(ly->guards, e->branch.test.var) : NULL;
    int part = !guard               ? 1
               : guard->suff.never  ? NEVER_TAKEN
               : guard->suff.blocks ? LITTLE_TAKEN
                                    : FIRST_TAKEN;
    int then_ = (ly->share + part - 1) / part, else_ = guard ? ly->share - ly->share / part : then_;
    lay_side(ly, e->branch.then_, then_);
    lay_side(ly, e->branch.else_, else_);
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            joined(ly, s->pat.at[i], e->branch.then_->res.at[i], e->branch.else_->res.at[i]);
    pass_on(ly, s, e->branch.then_, then_);
    pass_on(ly, s, e->branch.else_, else_);
}

static void lay_reshape(Lay *ly, const Stm *s)
{
    Node *n = node_new(ly, s->pat.at[0]);
    n->fixed = true;
    const View *w = view_of(ly, s->exp->reshape.arr);
    if (!w || !w->node || !w->whole) /* row-major, or it is copied */
        return;
    View flat = {.node = NEW(ly->cx->perm, Node), .rank = w->rank, .whole = true};
    *flat.node = (Node){.v = n->v, .rank = w->rank, .fixed = true, .wants_fast = -1};
    for (int d = 0; d < w->rank; d++)
        flat.free[d] = flat.node->perm[d] = d;
    add_edge(ly, w, &flat, PASS_ON);
}

/* One work-item makes it: row-major, or in its destinations. */
static void lay_soac(Lay *ly, const Stm *s)
{
    const Dests *dests = &s->exp->soac.dests;
    for (int j = 0; j < s->pat.n; j++)
        if (exp_is(s->exp, F_DESTS))
            same_place(ly, s->pat.at[j], dests->at[j].arr);
        else if (s->pat.at[j]->type.rank > 0)
            node_new(ly, s->pat.at[j])->fixed = true;
}

/* What is put into an array lies as that does, or is copied. */
static void lay_update(Lay *ly, const Stm *s)
{
    const Exp *e = s->exp;
    const View *w = view_of(ly, e->update.arr);
    same_place(ly, s->pat.at[0], e->update.arr);
    if (!w || !e->update.val.var || e->update.val.var->type.rank == 0)
        return;
    View part = view_part(w, &e->update.at);
    add_edge(ly, view_of(ly, e->update.val), &part, PASS_ON);
}

static void lay_stm(Lay *ly, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.n ? s->pat.at[0] : NULL;
    switch (exp_member(e)) {
    case M_atom: same_place(ly, v, e->atom); return;
    case M_index: view_index(ly, s); return;
    case M_rearrange:
        if (exp_is(e, F_VIEW))
            view_rearrange(ly, s);
        else
            copy_of(ly, s, e->rearrange.arr, true);
        return;
    case M_reshape: lay_reshape(ly, s); return;
    case M_update: lay_update(ly, s); return;
    case M_copy: copy_of(ly, s, e->copy.arr, false); return;
    case M_loop: lay_loop(ly, s); return;
    case M_branch: lay_if(ly, s); return;
    case M_iota:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat: node_new(ly, v); return;
    case M_seg: lay_seg(ly, s); return;
    case M_soac: lay_soac(ly, s); return;
    case M_suff: varmap_put(ly->guards, v, e); return;
    case M_ranks:
        if (exp_is_rows(e))
            gathered(ly, v, e->ranks.args.at[0]);
        return;
    case M_prim:
    case M_conv:
    case M_call:
    case M_assertion:
    case M_trace: return;
    case M_deriv:
    case N_MEMBERS: ice(e->loc, "form %d", (int)e->kind);
    }
}

static void lay_body(Lay *ly, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        lay_stm(ly, &b->stms.at[i]);
}

/* --- Results ---------------------------------------------------------------------------------- */

/* Arrays that come from outside or go there are row-major. */
static void lay_entry(Lay *ly, const Entry *en)
{
    for (int i = 0; i < en->params.n; i++)
        if (en->params.at[i]->type.rank > 0)
            node_new(ly, en->params.at[i])->fixed = true;
    lay_body(ly, en->body);
    for (int i = 0; i < en->body->res.n; i++) {
        const View *w = view_of(ly, en->body->res.at[i]);
        if (!w || !w->node)
            continue;
        View out = {.node = NEW(ly->cx->perm, Node), .rank = w->rank, .whole = true};
        *out.node = (Node){.v = w->node->v, .rank = w->rank, .fixed = true, .wants_fast = -1};
        for (int d = 0; d < w->rank; d++)
            out.free[d] = out.node->perm[d] = d;
        add_edge(ly, w, &out, PASS_ON);
    }
}

/* Values that updates put into arrays. */
static void placed_in(VarSet *placed, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_UPDATE && e->update.val.var)
            varset_add(placed, e->update.val.var);
        if (e->kind == E_LOOP)
            placed_in(placed, e->loop.body);
        if (e->kind == E_IF) {
            placed_in(placed, e->branch.then_);
            placed_in(placed, e->branch.else_);
        }
    }
}

Layouts layout_decide(Ctx *cx, const Entry *en, bool free)
{
    Lay ly = {.cx = cx,
              .free = free,
              .placed = varmap_new(cx->perm),
              .views = varmap_new(cx->perm),
              .turns = 1,
              .share = WHOLE,
              .guards = varmap_new(cx->perm)};
    Layouts r = {.perms = varmap_new(cx->perm)};
    placed_in(ly.placed, en->body);
    lay_entry(&ly, en);
    layout_search(&ly);
    r.reorders = order_choose(&ly);
    for (int i = 0; i < ly.nodes.n; i++)
        varmap_put(r.perms, ly.nodes.at[i]->v, ly.nodes.at[i]->perm);
    for (int i = 0; i < ly.readers.n; i++) {
        const Reader *rd = &ly.readers.at[i];
        int fast, now[MAX_DIMS], *perm;
        layout_reader_cost(&ly, rd, layout_order(&ly, rd->walk), &fast);
        if (fast < 0)
            continue;
        perm = NEWN(cx->perm, int, MAX_DIMS);
        view_perm(&rd->view, rd->view.node->perm, now);
        layout_turned(now, rd->view.rank, fast, perm);
        vec_push(cx->perm, &r.rereads, ((Reread){rd->walk->seg, rd->arr, perm}));
    }
    return r;
}
