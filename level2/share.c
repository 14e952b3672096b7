/* What the host's SOACs go over is shared out over the ranks: level 2 of the rules of flattening.
 *
 *     let ys = map f xs           let (first, count) = this rank's share of n, if it is worth it
 *     let s = reduce op ne ys =>  let ys' = map f xs[first : first + count]
 *                                 let s' = reduce op ne ys'
 *                                 let s = all ranks' s' combined, in the order of ranks
 *
 * (segmap^2 and segred^2: what is inside stays for level 1.) Arrays stay in parts where all that
 * reads them goes over their rows; loops pass parts on. Where one is read otherwise its parts are
 * gathered, once, where it is made (but for few rows: halo.c, single.c; and results: outside.c).
 * Whether n is shared out is a threshold (SHARED); where it is
 * not, a part is the whole and nothing is exchanged.
 *
 * What is done by all ranks alike (scalars, scatters, whatever has few elements) is the
 * same on each of them; so are the exchanges that they come to, and their order.
 *
 * SOAC dialect, last before flattening. Before and after: well-formed. */
#include "level2/level2.h"
#include "level2/shares.h"

static void share_stm(Parts *P, const Stm *s);

/* --- Levels --------------------------------------------------------------------------------- */

static Level *enter(Parts *P, bool turns)
{
    Level *l = NEW(P->cx->perm, Level);
    *l = (Level){.outer = P->at, .turns = turns, .facts = ranges_mark(P->ra), .bl = bld_new(P->cx)};
    P->at = l;
    return l;
}

static Body *leave(Parts *P, Level *l, Atoms res)
{
    parts_leave(P, l);
    ranges_reset(P->ra, l->facts);
    P->at = l->outer;
    return bld_body(&l->bl, res);
}

static void gather_atom(Parts *P, Atom a)
{
    if (a.var)
        parts_gather(P, a.var);
}

/* A statement that all ranks do, with all of what it reads. */
static void do_alike(Parts *P, const Stm *s)
{
    VarSet *used = varmap_new(P->cx->perm);
    free_in_stm(used, s);
    parts_gather_all(P, used);
    bld_stm(&P->at->bl, *s);
    parts_know_all(P, &s->pat);
}

/* --- Branches and loops --------------------------------------------------------------------- */

static void walk(Parts *P, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        filter_find(P, b, i);
        share_stm(P, &b->stms.at[i]);
        ranges_bind(P->ra, &b->stms.at[i].pat, b->stms.at[i].exp);
    }
}

/* let vs = e, which gives those with a share in parts. */
static void bind_parts(Parts *P, const Vars *vs, Exp *e, Share *const *share)
{
    Vars pat = {0};
    for (int i = 0; i < vs->n; i++) {
        Var *v = vs->at[i];
        if (share[i])
            v = var_new(P->cx, v->base, parts_type(P->cx, v->type, share[i]), v->loc);
        vec_push(P->cx->perm, &pat, v);
    }
    bld_stm(&P->at->bl, (Stm){pat, e});
    parts_know_all(P, vs);
    for (int i = 0; i < vs->n; i++)
        if (share[i])
            parts_put(P, vs->at[i], pat.at[i], share[i]);
}

/* A branch that is not left yet. */
typedef struct {
    const Body *body;
    Level *level;
} Side;

static Side walk_side(Parts *P, const Exp *e, bool truth)
{
    Side side = {truth ? e->branch.then_ : e->branch.else_, enter(P, false)};
    ranges_cond(P->ra, e->branch.test, truth);
    walk(P, side.body);
    ranges_reset(P->ra, side.level->facts);
    P->at = side.level->outer;
    return side;
}

static bool is_around(const Parts *P, const Level *level)
{
    const Level *l = P->at;
    while (l && l != level)
        l = l->outer;
    return l != NULL;
}

/* The share of result k, v, of which one side at least gives the part; NULL: whole, if an array. */
static Share *given_in_parts(Parts *P, const Side *sides, int k, const Var *v)
{
    for (int i = 0; i < 2 && v->type.rank > 0; i++) {
        Atom a = sides[i].body->res.at[k];
        const Part *p = a.var ? parts_part(P, a.var) : NULL;
        if (p && !p->whole && atom_eq(p->share->n, v->type.dims[0]) &&
            is_around(P, p->share->level))
            return p->share;
    }
    return NULL;
}

/* The side, of whose results those with a share are given in parts. */
static Body *leave_side(Parts *P, const Side *side, Share *const *share, Loc loc)
{
    Atoms res = {0};
    P->at = side->level;
    for (int k = 0; k < side->body->res.n; k++) {
        Atom a = side->body->res.at[k];
        if (share[k])
            a = parts_of(P, a, share[k], loc);
        else
            gather_atom(P, a);
        vec_push(P->cx->perm, &res, a);
    }
    return leave(P, side->level, res);
}

static void share_if(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Side sides[2] = {walk_side(P, e, true), walk_side(P, e, false)};
    Share **share = NEWN(P->cx->perm, Share *, s->pat.n);
    for (int k = 0; k < s->pat.n; k++)
        share[k] = given_in_parts(P, sides, k, s->pat.at[k]);
    Body *then_ = leave_side(P, &sides[0], share, e->loc);
    Body *else_ = leave_side(P, &sides[1], share, e->loc);
    Exp *r = exp_if(P->cx, e->loc, e->branch.test, then_, else_);
    r->attrs = e->attrs;
    bind_parts(P, &s->pat, r, share);
}

/* Is it known before the loop? */
static bool known_outside(const Parts *P, const Exp *loop, Atom n)
{
    return parts_in_scope(P, n) && (!n.var || vars_find(&loop->loop.params, n.var) < 0);
}

/* The parameters of a loop: those that it passes on in parts have a share. */
typedef struct {
    Share **share;
    Room *room;  /* ... and room, if their turns read rows beside, */
    Atoms blank; /* ... where a turn leaves it, made before what it makes */
    Vars params;
} Carried;

static bool any_consumed(const Vars *consumed, Atom a)
{
    return a.var && vars_find(consumed, a.var) >= 0;
}

/* Is there a SOAC over n elements in the host's code? */
static bool goes_over(const Body *b, Atom n)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (exp_is_soac(e) && atom_eq(e->soac.width, n))
            return true;
        if (e->kind == E_LOOP && goes_over(e->loop.body, n))
            return true;
        if (e->kind == E_IF && (goes_over(e->branch.then_, n) || goes_over(e->branch.else_, n)))
            return true;
    }
    return false;
}

static Carried carried_at_most(Parts *P, const Exp *e)
{
    Carried c = {.share = NEWN(P->cx->perm, Share *, e->loop.params.n),
                 .room = NEWN(P->cx->perm, Room, e->loop.params.n)};
    Vars consumed = exp_consumes(P->cx, e);
    for (int i = 0; i < e->loop.params.n; i++) {
        const Var *p = e->loop.params.at[i];
        bool may = p->type.rank > 0 && known_outside(P, e, p->type.dims[0]) &&
                   goes_over(e->loop.body, p->type.dims[0]) &&
                   !any_consumed(&consumed, e->loop.inits.at[i]);
        c.share[i] = may ? parts_share(P, p->type.dims[0], e->loc) : NULL;
    }
    return c;
}

static bool has_room(const Carried *c, int i)
{
    return c->share[i] && c->room[i].size.var;
}

/* v as it is carried. */
static Var *carried(Parts *P, const Carried *c, int i, Var *v)
{
    Share *share = c->share[i];
    if (!share)
        return v;
    Type t =
        has_room(c, i) ? room_type(P->cx, v->type, &c->room[i]) : parts_type(P->cx, v->type, share);
    return var_new(P->cx, v->base, t, v->loc);
}

/* Was all of the parameter asked for? Then it is carried so: gathered where a turn makes it, beside
 * what else ranks tell each other then, and not where the next one begins. */
static bool is_whole(const Parts *P, const Var *v)
{
    const Part *p = varmap_get(P->parts, v);
    return p && p->whole;
}

/* Makes the body, of which what is not given on in parts is no longer carried so; false: something
 * was not, or is to have room. */
static bool try_turn(Parts *P, const Exp *e, Carried *c)
{
    bool fits = true;
    c->params = (Vars){0};
    c->blank = (Atoms){0};
    (void)enter(P, true);
    ranges_loop(P->ra, e);
    parts_know_all(P, &e->loop.params);
    if (e->loop.i)
        parts_know(P, e->loop.i);
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *p = e->loop.params.at[i], *as = carried(P, c, i, p);
        parts_know(P, as);
        if (has_room(c, i))
            room_enter(P, p, as, c->share[i], &c->room[i]);
        else if (c->share[i])
            parts_put(P, p, as, c->share[i]);
        vec_push(P->cx->perm, &c->params, as);
        vec_push(P->cx->perm, &c->blank,
                 has_room(c, i) ? room_blank(P, p->type, &c->room[i], e->loc) : atom_i64(0));
    }
    walk(P, e->loop.body);
    for (int i = 0; i < c->params.n; i++) {
        if (c->share[i] && (is_whole(P, e->loop.params.at[i]) ||
                            !parts_get(P, e->loop.body->res.at[i], c->share[i]))) {
            c->share[i] = NULL;
            fits = false;
        }
        if (c->share[i] && room_wanted(P, e->loop.params.at[i], &c->room[i])) {
            c->room[i].size = (Atom){0};
            fits = false;
        }
    }
    return fits;
}

static void share_loop(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    Carried c = carried_at_most(P, e);
    while (!try_turn(P, e, &c)) {
        parts_untell(P);
        (void)leave(P, P->at, (Atoms){0});
        for (int i = 0; i < c.params.n; i++)
            if (c.share[i] && c.room[i].lo + c.room[i].hi > 0 && !has_room(&c, i))
                room_make(P, &c.room[i], c.share[i], e->loc);
    }
    Exp *r = exp_new(cx, E_LOOP, e->loc);
    *r = *e;
    Atoms res = {0};
    for (int i = 0; i < c.params.n; i++) {
        Atom a = e->loop.body->res.at[i];
        if (c.share[i])
            a = atom_var(parts_get(P, a, c.share[i]));
        else
            gather_atom(P, a);
        if (has_room(&c, i))
            a = room_with(P, c.blank.at[i], a, c.share[i], &c.room[i], e->loc);
        vec_push(cx->perm, &res, a);
    }
    r->loop.body = leave(P, P->at, res);
    r->loop.params = c.params;
    r->loop.inits = (Atoms){0};
    for (int i = 0; i < c.params.n; i++) {
        Atom a = e->loop.inits.at[i];
        if (c.share[i])
            a = parts_of(P, a, c.share[i], e->loc);
        else
            gather_atom(P, a);
        if (has_room(&c, i))
            a = room_with(P, room_blank(P, s->pat.at[i]->type, &c.room[i], e->loc), a, c.share[i],
                          &c.room[i], e->loc);
        vec_push(cx->perm, &r->loop.inits, a);
    }
    Vars pat = {0};
    for (int i = 0; i < s->pat.n; i++)
        vec_push(cx->perm, &pat, carried(P, &c, i, s->pat.at[i]));
    bld_stm(&P->at->bl, (Stm){pat, r});
    parts_know_all(P, &pat);
    for (int i = 0; i < s->pat.n; i++) {
        const Var *v = s->pat.at[i];
        Var *part = has_room(&c, i) ? room_left(P, v, atom_var(pat.at[i]), c.share[i], &c.room[i])
                                    : pat.at[i];
        if (c.share[i])
            parts_put(P, v, part, c.share[i]);
        else
            parts_know(P, v);
    }
}

/* --- Views ---------------------------------------------------------------------------------- */

/* e of the part that is here, if its rows are made of the rows of what it reads; else NULL. */
static Exp *of_rows(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Atom of = e->kind == E_COPY ? e->copy.arr : exp_view_of(e);
    Part *p = of.var ? parts_part(P, of.var) : NULL;
    if (!p || p->whole || s->pat.at[0]->type.rank == 0 ||
        !atom_eq(s->pat.at[0]->type.dims[0], p->share->n))
        return NULL;
    Exp *r = exp_new(P->cx, e->kind, e->loc);
    *r = *e;
    Atom part = atom_var(parts_settled(P, p));
    switch (e->kind) {
    case E_ATOM: r->atom = part; return r;
    case E_COPY: r->copy.arr = part; return r;
    case E_REARRANGE: r->rearrange.arr = part; return e->rearrange.perm[0] == 0 ? r : NULL;
    case E_INDEX:
        r->index.arr = part;
        r->index.at = (DimIndexes){0};
        vec_append(P->cx->perm, &r->index.at, &e->index.at);
        if (!parts_all(&e->index.at.at[0], p->share->n))
            return NULL;
        r->index.at.at[0].n = p->share->count;
        return r;
    default: return NULL;
    }
}

static void share_view(Parts *P, const Stm *s, Exp *rows)
{
    Atom of = s->exp->kind == E_COPY ? s->exp->copy.arr : exp_view_of(s->exp);
    const Part *p = varmap_get(P->parts, of.var);
    Var *v = s->pat.at[0];
    Var *part = var_new(P->cx, v->base, parts_type(P->cx, v->type, p->share), v->loc);
    bld_define(&P->at->bl, part, rows);
    parts_put(P, v, part, p->share);
}

/* --- Statements ----------------------------------------------------------------------------- */

static void share_stm(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    bool inside = exp_has_soac(e) && !(e->attrs & ATTR_SEQUENTIAL);
    Exp *rows = s->pat.n == 1 ? of_rows(P, s) : NULL;
    if (filter_share(P, s) || single_read(P, s))
        return;
    if (soac_is_shareable(e))
        soac_share(P, s);
    else if (e->kind == E_LOOP && inside)
        share_loop(P, s);
    else if (e->kind == E_IF && inside)
        share_if(P, s);
    else if (rows)
        share_view(P, s, rows);
    else
        do_alike(P, s);
}

/* --- What is given -------------------------------------------------------------------------- */

/* The arrays over whose rows something goes may be given in parts, if nobody writes to them. */
static void note_given(Parts *P, const Entry *en)
{
    const Var *const *p = (const Var *const *)en->params.at;
    for (int x = 0; x < en->ext_params.n; x++)
        for (int i = 0; i < en->ext_params.at[x].type.n_vals; i++, p++) {
            Atom n = (*p)->type.rank > 0 ? (*p)->type.dims[0] : atom_i64(0);
            if (!en->ext_params.at[x].unique && (n.var || n.c.i >= FEW) && goes_over(en->body, n))
                varset_add(P->given, *p);
        }
}

/* --- The pass ------------------------------------------------------------------------------- */

static Entry share_entry(Ctx *cx, const Entry *en)
{
    Parts P = {.cx = cx, .entry = en->name};
    P.bound = varmap_new(cx->perm);
    P.parts = varmap_new(cx->perm);
    P.kept = varmap_new(cx->perm);
    P.us = uses_entry(cx, en);
    P.given = varmap_new(cx->perm);
    P.ra = ranges_new(cx, varmap_new(cx->perm));
    for (int i = 0; i < en->params.n; i++)
        ranges_given(P.ra, en->params.at[i]->type);
    Level *l = enter(&P, false);
    parts_know_all(&P, &en->params);
    parts_know_all(&P, &en->sizes);
    for (int i = 0; i < en->user_params.n; i++)
        parts_know(&P, en->user_params.at[i].var);
    note_given(&P, en);
    weigh_entry(&P, en->body);
    walk(&P, en->body);
    Atoms res = {0};
    for (int i = 0; i < en->body->res.n; i++)
        vec_push(cx->perm, &res, parts_result(&P, en->body->res.at[i]));
    Entry r = *en;
    r.body = leave(&P, l, res);
    ir_copy_needed(cx, &r);
    exchanges_together(cx, &r);
    weigh_exchanges(cx, &r);
    return r;
}

Prog *l2_share(Ctx *cx, const Prog *in)
{
    if (!cx->ranks)
        return (Prog *)(uintptr_t)in;
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++)
        vec_push(cx->perm, &p->entries, share_entry(cx, &in->entries.at[i]));
    return p;
}
