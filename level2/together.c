/* Exchanges that do not wait for each other become one message.
 *
 *     let x = if shared then { .. gather x' .. } else ..      let (x, y) = if shared then {
 *     let y' = map f ys                                 =>        .. gather x'  gather y' ..
 *     let y = if shared then { .. gather y' .. } else ..      } else ..            -- behind y'
 *
 * The first one waits until the second one can be made: what lies between may not write to what it
 * reads, and of what it gives only numbers may be made there, which then wait, too. In a branch,
 * first comes what exchanges read, then arrays, which devices exchange while hosts go on, then
 * numbers, of all one exchange (hosts wait for these), then what is made of them. That gathers
 * beside each other are one message is the business of whoever emits them. */
#include "level2/shares.h"

enum { MOST_BETWEEN = 64 /* statements that are looked at */ };

typedef struct {
    Ctx *cx;
    Alias *al;
} Join;

static bool waits(const Exp *e)
{
    return e->kind == E_GATHER || e->kind == E_EXCHANGE;
}

static bool is_exchange(const Stm *s)
{
    const Body *b = s->exp->kind == E_IF ? s->exp->branch.then_ : NULL;
    for (int i = 0; b && i < b->stms.n; i++)
        if (waits(b->stms.at[i].exp))
            return true;
    return false;
}

static VarSet *free_of(const Join *j, const Stm *s)
{
    VarSet *used = varmap_new(j->cx->scratch);
    free_in_stm(used, s);
    return used;
}

static bool has_any(const VarSet *set, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        if (varset_has(set, vs->at[i]))
            return true;
    return false;
}

/* --- A branch in order ----------------------------------------------------------------------- */

/* The numbers of one exchange among those of another. */
typedef struct {
    Ctx *cx;
    VarMap *at; /* exchange -> Moved */
} Renumber;

typedef struct {
    Atom to;
    int first;
} Moved;

static Body *renumber_body(void *env, Body *b)
{
    Renumber *r = env;
    Bld bl = bld_new(r->cx);
    const ExpMapper inside = {.env = r, .body = renumber_body};
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        const Moved *m =
            s.exp->kind == E_PEER ? varmap_get(r->at, s.exp->ranks.args.at[1].var) : NULL;
        if (m) {
            const Atoms *old = &s.exp->ranks.args;
            Exp *e = exp_new(r->cx, E_PEER, s.exp->loc);
            e->ranks.type = s.exp->ranks.type;
            vec_push(r->cx->perm, &e->ranks.args, atom_i64(old->at[0].c.i + m->first));
            vec_push(r->cx->perm, &e->ranks.args, m->to);
            vec_push(r->cx->perm, &e->ranks.args, old->at[2]);
            s.exp = e;
        } else {
            s.exp = exp_map_parts(r->cx, s.exp, &inside);
        }
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

/* All exchanges of numbers as the first of them. Adds nothing if there are none. */
static void one_exchange(Ctx *cx, const Stms *numbers, Renumber *r, Bld *bl)
{
    if (numbers->n == 0)
        return;
    Stm first = numbers->at[0];
    Exp *e = exp_new(cx, E_EXCHANGE, first.exp->loc);
    for (int i = 0; i < numbers->n; i++) {
        Moved *m = NEW(cx->perm, Moved);
        *m = (Moved){atom_var(first.pat.at[0]), e->ranks.args.n};
        varmap_put(r->at, numbers->at[i].pat.at[0], m);
        vec_append(cx->perm, &e->ranks.args, &numbers->at[i].exp->ranks.args);
    }
    first.exp = e;
    bld_stm(bl, first);
}

/* The statements in the order of what they are; NULL: one exchange waits for another one, or there
 * are too many numbers. */
static Body *in_order(const Join *j, const Stms *stms, Atoms res)
{
    Ctx *cx = j->cx;
    Stms arrays = {0}, numbers = {0}, rest = {0};
    Bld bl = bld_new(cx);
    VarSet *told = varmap_new(cx->scratch);
    int n = 0;
    for (int i = 0; i < stms->n; i++) {
        const Stm *s = &stms->at[i];
        Vars used = varset_list(cx->scratch, free_of(j, s));
        bool of_told = has_any(told, &used);
        if (of_told && waits(s->exp))
            return NULL;
        if (s->exp->kind == E_EXCHANGE)
            n += s->exp->ranks.args.n;
        if (s->exp->kind == E_EXCHANGE)
            vec_push(cx->scratch, &numbers, *s);
        else if (waits(s->exp))
            vec_push(cx->scratch, &arrays, *s);
        else if (of_told)
            vec_push(cx->scratch, &rest, *s);
        else
            bld_stm(&bl, *s);
        for (int k = 0; (of_told || waits(s->exp)) && k < s->pat.n; k++)
            varset_add(told, s->pat.at[k]);
    }
    if (n > MOST_EXCHANGED)
        return NULL;
    Renumber r = {cx, varmap_new(cx->perm)};
    for (int i = 0; i < arrays.n; i++)
        bld_stm(&bl, arrays.at[i]);
    one_exchange(cx, &numbers, &r, &bl);
    Body after = {.stms = rest, .res = res};
    const Body *then = numbers.n > 1 ? renumber_body(&r, &after) : &after;
    for (int i = 0; i < then->stms.n; i++)
        bld_stm(&bl, then->stms.at[i]);
    return bld_body(&bl, res);
}

/* --- Two exchanges --------------------------------------------------------------------------- */

static Body *both_sides(const Join *j, const Body *a, const Body *b, bool exchanges)
{
    Stms stms = {0};
    Atoms res = {0};
    Ctx *cx = j->cx;
    vec_append(cx->perm, &stms, &a->stms);
    vec_append(cx->perm, &stms, &b->stms);
    vec_append(cx->perm, &res, &a->res);
    vec_append(cx->perm, &res, &b->res);
    if (exchanges)
        return in_order(j, &stms, res);
    Bld bl = bld_new(cx);
    bl.stms = stms;
    return bld_body(&bl, res);
}

/* Both as one, where b is; false: they cannot be. */
static bool merge(const Join *j, const Stm *a, const Stm *b, Stm *both)
{
    Ctx *cx = j->cx;
    const Exp *x = a->exp, *y = b->exp;
    if (!atom_eq(x->branch.test, y->branch.test))
        return false;
    Body *then_ = both_sides(j, x->branch.then_, y->branch.then_, true);
    if (!then_)
        return false;
    Body *else_ = both_sides(j, x->branch.else_, y->branch.else_, false);
    both->pat = (Vars){0};
    vec_append(cx->perm, &both->pat, &a->pat);
    vec_append(cx->perm, &both->pat, &b->pat);
    both->exp = exp_if(cx, y->loc, y->branch.test, then_, else_);
    return true;
}

/* Are they numbers, made of nothing but numbers? */
static bool is_of_numbers(const Join *j, const Stm *s)
{
    Vars used = varset_list(j->cx->scratch, free_of(j, s));
    bool numbers = exp_is(s->exp, F_SCALAR) || s->exp->kind == E_IF;
    for (int i = 0; i < used.n; i++)
        numbers = numbers && used.at[i]->type.rank == 0;
    for (int i = 0; i < s->pat.n; i++)
        numbers = numbers && s->pat.at[i]->type.rank == 0;
    return numbers && !exp_has_soac(s->exp) && !is_exchange(s);
}

/* May what `used` are free in be behind s instead of before? Host loops take their time. */
static bool may_wait(const Join *j, const VarSet *used, const Stm *s)
{
    if (s->exp->kind == E_LOOP)
        return false;
    Vars consumed = exp_consumes(j->cx, s->exp), vs = varset_list(j->cx->scratch, used);
    for (int i = 0; i < consumed.n; i++)
        for (int k = 0; k < vs.n; k++)
            if (vs.at[k]->type.rank > 0 &&
                alias_overlap(j->al, atom_var(consumed.at[i]), atom_var(vs.at[k])))
                return false;
    return true;
}

/* The exchange at i, and numbers that are made of what it gives, wait until b: `stms` without
 * them, then both as one, then the numbers. False: they cannot. */
static bool wait_for(const Join *j, Stms *stms, int i, const Stm *b)
{
    Ctx *cx = j->cx;
    Stm a = stms->at[i], both;
    Stms later = {0};
    VarSet *used = free_of(j, &a), *told = varmap_new(cx->scratch);
    for (int k = 0; k < a.pat.n; k++)
        varset_add(told, a.pat.at[k]);
    for (int k = i + 1; k < stms->n; k++) {
        const Stm *s = &stms->at[k];
        Vars needs = varset_list(cx->scratch, free_of(j, s));
        if (!has_any(told, &needs)) {
            if (!may_wait(j, used, s))
                return false;
            continue;
        }
        if (!is_of_numbers(j, s))
            return false;
        vec_push(cx->scratch, &later, *s);
        for (int l = 0; l < s->pat.n; l++)
            varset_add(told, s->pat.at[l]);
    }
    Vars needs = varset_list(cx->scratch, free_of(j, b));
    if (has_any(told, &needs) || !merge(j, &a, b, &both))
        return false;
    int kept = i;
    for (int k = i + 1, l = 0; k < stms->n; k++) {
        bool waits_too = l < later.n && later.at[l].exp == stms->at[k].exp;
        l += waits_too;
        if (!waits_too)
            stms->at[kept++] = stms->at[k];
    }
    stms->n = kept;
    vec_push(cx->perm, stms, both);
    vec_append(cx->perm, stms, &later);
    return true;
}

/* b becomes one with the last exchange of `stms` that can wait for it; false: there is none. */
static bool join_with(const Join *j, Stms *stms, const Stm *b)
{
    int least = stms->n > MOST_BETWEEN ? stms->n - MOST_BETWEEN : 0;
    for (int i = stms->n - 1; i >= least; i--)
        if (is_exchange(&stms->at[i]) && wait_for(j, stms, i, b))
            return true;
    return false;
}

/* --- Where parts are made -------------------------------------------------------------------- */

/* A part that is nothing but gathered. */
typedef struct {
    Stm blank, rows; /* where to, and there */
    const Var *part;
} Placed;

/* Is it `shared` ? part, in a new array, gathered : part? */
static bool is_gathered_part(const Stm *s, Placed *p)
{
    const Exp *e = s->exp;
    const Stms *all = e->kind == E_IF ? &e->branch.then_->stms : NULL;
    const Stms *here = e->kind == E_IF ? &e->branch.else_->stms : NULL;
    if (!all || all->n != 3 || here->n != 1 || all->at[0].exp->kind != E_SCRATCH ||
        all->at[1].exp->kind != E_UPDATE || all->at[2].exp->kind != E_GATHER ||
        here->at[0].exp->kind != E_RESHAPE)
        return false;
    *p = (Placed){all->at[0], all->at[1], all->at[1].exp->update.val.var};
    return p->part && here->at[0].exp->reshape.arr.var == p->part &&
           all->at[1].exp->update.arr.var == all->at[0].pat.at[0] &&
           all->at[2].exp->ranks.args.at[0].var == all->at[1].pat.at[0];
}

/* The map that makes it, if nobody else reads it and it is one that is a kernel as it is; -1. */
static int only_made_by(const Join *j, const Stms *stms, const Atoms *res, int gather,
                        const Var *part)
{
    int made = -1;
    for (int i = 0; i < stms->n; i++) {
        const Stm *s = &stms->at[i];
        if (i != gather && varset_has(free_of(j, s), part))
            return -1;
        if (vars_find(&s->pat, part) >= 0 && s->exp->kind == E_MAP &&
            !body_has_soac(s->exp->soac.fn->body))
            made = i;
    }
    for (int k = 0; k < res->n; k++)
        if (res->at[k].var == part)
            return -1;
    return made;
}

/* Does a statement from..to-1 bind what these need, but for `part`? */
static bool needs_later(const Join *j, const Stms *stms, int from, int to, const Placed *p)
{
    VarSet *needed = free_of(j, &p->blank);
    free_in_stm(needed, &p->rows);
    varmap_del(needed, p->part);
    bool later = false;
    for (int i = from; i < to && !later; i++)
        later = has_any(needed, &stms->at[i].pat);
    return later;
}

/* A part that is gathered, and no more, is made in the array that it is gathered in:
 *
 *     let x' = map f ys                             let blank = scratch
 *     let x = if shared then { blank with x' ..  => let x' = map f ys    -- there (memory/within.c)
 *                              gather } else x'     let rows = blank with x'
 *                                                   let x = if shared then gather rows else rows */
static Stms parts_in_place(const Join *j, const Stms *given, const Atoms *res)
{
    Ctx *cx = j->cx;
    Stms stms = *given;
    for (int i = 0; i < stms.n; i++) {
        Placed p;
        Stms next = {0};
        ArenaMark mark = arena_mark(cx->scratch);
        int at = is_gathered_part(&stms.at[i], &p) ? only_made_by(j, &stms, res, i, p.part) : -1;
        bool fits = at >= 0 && !needs_later(j, &stms, at, i, &p);
        arena_reset(cx->scratch, mark);
        if (!fits)
            continue;
        for (int k = 0; k < stms.n; k++) {
            Stm s = stms.at[k];
            if (k == at)
                vec_push(cx->perm, &next, p.blank);
            if (k == i) {
                Bld all = bld_new(cx), here = bld_new(cx);
                Atoms rows = {0};
                vec_push(cx->perm, &rows, atom_var(p.rows.pat.at[0]));
                bld_stm(&all, s.exp->branch.then_->stms.at[2]);
                s.exp = exp_if(cx, s.exp->loc, s.exp->branch.test,
                               bld_body(&all, s.exp->branch.then_->res), bld_body(&here, rows));
            }
            vec_push(cx->perm, &next, s);
            if (k == at)
                vec_push(cx->perm, &next, p.rows);
        }
        stms = next;
        i += 2;
    }
    return stms;
}

/* --- Bodies ---------------------------------------------------------------------------------- */

static Exp *ordered(const Join *j, Exp *e)
{
    const Body *then = e->branch.then_;
    Body *b = in_order(j, &then->stms, then->res);
    return b ? exp_if(j->cx, e->loc, e->branch.test, b, e->branch.else_) : e;
}

static Body *join_body(void *env, Body *b)
{
    const Join *j = env;
    Ctx *cx = j->cx;
    const ExpMapper inside = {.env = env, .body = join_body};
    Stms done = {0}, stms = parts_in_place(j, &b->stms, &b->res);
    for (int i = 0; i < stms.n; i++) {
        Stm s = stms.at[i];
        if (is_exchange(&s)) {
            ArenaMark mark = arena_mark(cx->scratch);
            bool joined = join_with(j, &done, &s);
            s.exp = joined ? s.exp : ordered(j, s.exp);
            arena_reset(cx->scratch, mark);
            if (joined)
                continue;
        } else if (s.exp->kind == E_LOOP || s.exp->kind == E_IF) {
            s.exp = exp_map_parts(cx, s.exp, &inside);
        }
        vec_push(cx->perm, &done, s);
    }
    Bld bl = bld_new(cx);
    bl.stms = done;
    return bld_body(&bl, b->res);
}

void exchanges_together(Ctx *cx, Entry *en)
{
    Join j = {cx, alias_entry(cx, en)};
    en->body = join_body(&j, en->body);
}
