/* Code versions: a list of (guard, body), folded late into nested ifs. The only place where names
 * of thresholds are made: ENTRY.suff_outer_par_K and ENTRY.suff_intra_par_K, K counted per entry in
 * program order, so that an edit of one entry does not rename the thresholds of another. */
#include "flatten/rules.h"

#include "base/intern.h"

/* The budget. An entry has at most MAX_THRESHOLDS thresholds; versions of outer maps matter most,
 * so they are allowed depth by depth: all versions at depths where the budget suffices for all, and
 * at the next depth, in program order, as many as it still allows. */

bool versions_allowed(const Flat *fl, const MapNest *S)
{
    Budget *b = fl->budget;
    if (fl->mode != FLATTEN_INCREMENTAL)
        return false;
    bool deep = S->dims.n > b->depth;
    if (b->n + 2 <= MAX_THRESHOLDS && (!deep || (b->extra > 1 && S->dims.n == b->depth + 1))) {
        b->extra -= deep ? 2 : 0;
        return true;
    }
    b->denied |= !deep;
    b->deeper |= deep;
    return false;
}

bool versions_retry(Budget *b)
{
    int n = b->n, depth = b->depth;
    if (b->final || (!b->denied && !b->deeper))
        return false;
    if (depth == NO_DEPTH) /* the first trial had no limit: start with the outermost maps */
        *b = (Budget){.depth = 0};
    else if (b->denied) /* too many here: what is left goes to the first ones of this depth */
        *b = (Budget){.depth = depth - 1, .extra = MAX_THRESHOLDS - b->n_before, .final = true};
    else
        *b = (Budget){.depth = depth + 1, .n_before = n};
    return true;
}

Path versions_path(const Flat *fl, const Versions *vs)
{
    Path p = {0};
    vec_append(fl->cx->perm, &p, &fl->path);
    for (int i = 0; i < vs->n; i++)
        vec_push(fl->cx->perm, &p, (PathStep){vs->at[i].name, false});
    return p;
}

void version_add(Flat *fl, Versions *vs, bool intra, Body *body, Bld *par_code, Par par, Loc loc)
{
    const char *name = arena_printf(fl->cx->perm, "%s.suff_%s_par_%d", fl->entry,
                                    intra ? "intra" : "outer", fl->budget->n++);
    Version v = {.name = intern(name),
                 .intra = intra,
                 .par_stms = par_code->stms,
                 .par = par,
                 .body = body,
                 .loc = loc};
    v.path = versions_path(fl, vs);
    vec_push(fl->cx->perm, vs, v);
}

/* The statements of v's guard, then the choice. */
static Exp *guarded(Flat *fl, const Version *v, Body *otherwise, Bld *out)
{
    vec_append(fl->cx->perm, &out->stms, &v->par_stms);
    Exp *suff = exp_new(fl->cx, E_SUFF, v->loc);
    suff->suff.name = v->name;
    suff->suff.intra = v->intra;
    suff->suff.path = v->path;
    suff->suff.par = v->par.version;
    suff->suff.work = v->par.all;
    suff->suff.spared = v->par.cost.spared;
    suff->suff.steps = v->par.cost.steps;
    suff->suff.elems = v->par.cost.elems;
    suff->suff.never = v->par.cost.never;
    suff->suff.units = v->par.cost.units ? *v->par.cost.units : atom_i64(0);
    suff->suff.balanced = v->par.balanced;
    suff->suff.blocks = v->par.cost.blocks;
    Atom test = bld_exp(out, v->intra ? "suff_intra" : "suff_outer", suff);
    return exp_if(fl->cx, v->loc, test, v->body, otherwise);
}

Atoms versions_fold(Flat *fl, const MapNest *S, const Versions *vs, Body *dflt, const Stm *st,
                    Bld *out)
{
    Body *body = dflt;
    for (int i = vs->n - 1; i > 0; i--) {
        Bld bl = bld_new(fl->cx);
        Exp *e = guarded(fl, &vs->at[i], body, &bl);
        Atoms res = bind_fresh(fl, S, &st->pat, e, &bl);
        body = bld_body(&bl, res);
    }
    return bind_results(fl, S, &st->pat, guarded(fl, &vs->at[0], body, out), out);
}
