/* A scan and the scatter that follows its results: what filters become. Where the scatter can be
 * done at the place of the scan, one maker gets both.
 *
 *     offsets, flags = segscan^1 ...            offsets, flags = segscan^1 ...
 *     count = offsets[n - 1]            ===>    dest = scratch
 *     dest = scratch                            written = segscatter^1 <f in flags,
 *     written = segscatter^1 ...                            o in offsets, ..> into dest
 *                                               count = offsets[n - 1]
 *
 * What stands between them must not be needed by the scatter, but for the memory that it writes:
 * that is nobody else's, so that nobody reads it before. A scatter that can fail stays, as failures
 * come in order. */
#include "host/host_walk.h"

/* The definition of what a body binds; NULL: it is not there. */
static const Exp *definition(const Body *b, const Var *v)
{
    for (int i = 0; v && i < b->stms.n; i++)
        for (int j = 0; j < b->stms.at[i].pat.n; j++)
            if (b->stms.at[i].pat.at[j] == v)
                return b->stms.at[i].exp;
    return NULL;
}

static bool is_scalar_scan(const Exp *e)
{
    const Atoms *res = &e->seg.body->res;
    if (e->seg.level != 1 || e->seg.nest.n != 1 || nest_is_ragged(&e->seg.nest))
        return false;
    for (int j = 0; j < res->n; j++)
        if (atom_type(res->at[j]).rank > 0)
            return false;
    return types_scalar(&e->seg.op->params, 0, e->seg.nes.n);
}

/* --- The scatter --------------------------------------------------------------------------- */

static bool binds(const Stm *s, const Var *v)
{
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j] == v)
            return true;
    return false;
}

/* Does the scatter read results of the scan, and only the element of its own number? */
static bool reads_own(Ctx *cx, const Stm *scan, const Stm *scatter)
{
    const NestDim *d = &scatter->exp->seg.nest.at[0];
    bool reads = false;
    for (int j = 0; j < d->arrs.n; j++)
        reads |= binds(scan, d->arrs.at[j].var);
    VarSet *used = varmap_new(cx->scratch);
    free_in_body(used, scatter->exp->seg.body);
    for (int j = 0; j < scan->pat.n; j++)
        reads &= !varset_has(used, scan->pat.at[j]);
    return reads;
}

/* Is v known at statement `from`, or new memory of which that can be said? */
static bool is_there(Ctx *cx, const Body *b, int from, int to, const Var *v, bool memory)
{
    for (int i = from + 1; i < to; i++) {
        const Stm *s = &b->stms.at[i];
        if (!binds(s, v))
            continue;
        VarSet *used = varmap_new(cx->scratch);
        free_in_exp(used, s->exp);
        bool there = memory && s->exp->kind == E_SCRATCH;
        for (int k = from + 1; k < to && there; k++)
            for (int j = 0; j < b->stms.at[k].pat.n; j++)
                there &= !varset_has(used, b->stms.at[k].pat.at[j]);
        return there;
    }
    return true;
}

static bool is_dest(const Exp *e, const Var *v)
{
    for (int j = 0; j < e->seg.dests.n; j++)
        if (e->seg.dests.at[j].arr.var == v)
            return true;
    return false;
}

/* Is a at least 1 by its definition, in the construct's body or around? */
static bool is_some(const Exp *seg, const Body *around, Atom a)
{
    const Exp *e = definition(seg->seg.body, a.var);
    e = e ? e : definition(around, a.var);
    if (!e || e->kind != E_PRIM || e->prim.op != OP_MAX || e->prim.type != T_I64)
        return false;
    Atom least = e->prim.args.at[1];
    return !least.var && least.c.i >= 1;
}

/* Can the construct fail? Divisions by what is at least 1 do not. */
static bool can_fail(const Exp *seg, const Body *around)
{
    const Stms *ss = &seg->seg.body->stms;
    for (int i = 0; i < ss->n; i++) {
        const Exp *e = ss->at[i].exp;
        if (exp_traps(e) &&
            !(e->kind == E_PRIM && (e->prim.op == OP_QUOT || e->prim.op == OP_REM) &&
              e->prim.type == T_I64 && is_some(seg, around, e->prim.args.at[1])))
            return true;
    }
    return seg->seg.op && body_any(seg->seg.op->body, exp_traps);
}

/* Is it memory that nobody reads before the scatter, wherever that is done: new, or copies of one
 * value that are made before the scan and are nobody else's? */
static bool is_free_memory(Ctx *cx, const Body *b, int scan, int at, const Var *v)
{
    const Exp *made = definition(b, v);
    if (!made || made->kind == E_SCRATCH)
        return made;
    bool before = false;
    for (int i = 0; i < b->stms.n; i++) {
        VarSet *used = varmap_new(cx->scratch);
        free_in_exp(used, b->stms.at[i].exp);
        before |= i < scan && b->stms.at[i].exp == made;
        if (i != at && varset_has(used, v))
            return false;
    }
    return before && made->kind == E_REPLICATE;
}

static bool can_come_early(Ctx *cx, const Body *b, int scan, int at)
{
    const Stm *s = &b->stms.at[scan], *t = &b->stms.at[at];
    const Exp *e = t->exp;
    if (e->kind != E_SEGSCATTER || e->seg.level != 1 || e->seg.nest.n != 1 || can_fail(e, b) ||
        nest_is_ragged(&e->seg.nest) ||
        !atom_eq(e->seg.nest.at[0].width, s->exp->seg.nest.at[0].width) || !reads_own(cx, s, t))
        return false;
    for (int j = 0; j < e->seg.dests.n; j++)
        if (!is_free_memory(cx, b, scan, at, e->seg.dests.at[j].arr.var))
            return false;
    VarSet *used = varmap_new(cx->scratch);
    free_in_exp(used, e);
    for (int i = scan + 1; i < at; i++)
        for (int j = 0; j < b->stms.at[i].pat.n; j++) {
            const Var *v = b->stms.at[i].pat.at[j];
            if (varset_has(used, v) && !is_there(cx, b, scan, at, v, is_dest(e, v)))
                return false;
        }
    return true;
}

/* --- Who else reads the results ------------------------------------------------------------ */

typedef struct {
    Ctx *cx;
    const Body *outer;
    const Stm *scan, *scatter;
    ScanWant *wants;
} Wants;

/* The number of the last element, as a variable that a body or the outer one binds. */
static bool is_last_index(const Wants *w, const Body *b, Atom i)
{
    const Exp *e = definition(b, i.var);
    e = e ? e : definition(w->outer, i.var);
    return e && e->kind == E_PRIM && e->prim.op == OP_SUB &&
           atom_eq(e->prim.args.at[0], w->scan->exp->seg.nest.at[0].width) &&
           !e->prim.args.at[1].var && e->prim.args.at[1].c.i == 1;
}

static void want(const Wants *w, const Var *v, ScanWant how)
{
    for (int j = 0; j < w->scan->pat.n; j++)
        if (w->scan->pat.at[j] == v && w->wants[j] < how)
            w->wants[j] = how;
}

static void note_body(const Wants *w, const Body *b, int from);

static void note_stm(const Wants *w, const Body *b, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind == E_INDEX && e->index.at.n == 1 && !e->index.at.at[0].is_slice &&
        is_last_index(w, b, e->index.at.at[0].start)) {
        want(w, e->index.arr.var, WANT_LAST);
        return;
    }
    if (e->kind == E_IF) {
        note_body(w, e->branch.then_, 0);
        note_body(w, e->branch.else_, 0);
        return;
    }
    VarSet *used = varmap_new(w->cx->scratch);
    free_in_stm(used, s);
    for (int j = 0; j < w->scan->pat.n; j++)
        if (varset_has(used, w->scan->pat.at[j]))
            want(w, w->scan->pat.at[j], WANT_ALL);
}

static void note_body(const Wants *w, const Body *b, int from)
{
    for (int i = from; i < b->stms.n; i++)
        if (&b->stms.at[i] != w->scatter)
            note_stm(w, b, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        want(w, b->res.at[i].var, WANT_ALL);
}

/* ------------------------------------------------------------------------------------------- */

const Stm *host_scan_reader(Ctx *cx, const Body *b, int scan)
{
    const Stm *s = &b->stms.at[scan];
    if (s->exp->kind != E_SEGSCAN || !is_scalar_scan(s->exp))
        return NULL;
    for (int i = scan + 1; i < b->stms.n; i++)
        if (can_come_early(cx, b, scan, i))
            return &b->stms.at[i];
    return NULL;
}

const ScanWant *host_scan_wants(Ctx *cx, const Body *b, int scan, const Stm *scatter)
{
    const Stm *s = &b->stms.at[scan];
    Wants w = {cx, b, s, scatter, NEWN(cx->perm, ScanWant, s->pat.n)};
    note_body(&w, b, scan + 1);
    return w.wants;
}
