/* Incremental flattening: the walk over bodies, and the rules G0-G3.
 *
 * The judgement S |-l e => e' (paper, section 3.2) is the family of functions of rules.h: in the
 * mapnest context S, at hardware level l, the source expression e becomes the target expression e'.
 * S holds the maps around e whose parallelism is not yet manifest: each is <x in xs>, and what is
 * computed under S and used later is an array over S (array expansion), known in S again as one
 * more <a in as>. With S empty we are at the host level (l = 1), or between the level-0 constructs
 * of a work-group (l = 0).
 *
 *     map (\xs ->                 G3 at the outer map makes three versions:
 *       let s = scan (+) 0 xs       e_top     segmap^1 <xs in xss> (... scan, map: sequential)
 *       in map (+1) s) xss          e_middle  segmap^1 <xs in xss>
 *                                     (let s = segscan^0 <x in xs> .. in segmap^0 <y in s> ..)
 *                                   e_flat    G6 distributes the map:
 *                                             let ss = segscan^1 <xs in xss> <x in xs> (+) 0 (x)
 *                                             in segmap^1 <s in ss> <y in s> (y+1)
 *
 *  rule  function   file           test (tests/flatten)   when
 *  G0    rule_g0    flatten.c      g0-*.ir                S empty, nothing to exploit
 *  G1    rule_g1    flatten.c      g1-*.ir                a map inside a work-group
 *  G2    rule_g2    flatten.c      g2-*.ir                a map without SOACs to exploit inside
 *  G3    rule_g3    flatten.c      g3-*.ir                a map with such SOACs: three versions
 *  G4    rule_g4    interchange.c  g4-*.ir                reduce, scan with a mapped operator
 *  G5    rule_g5    arrays.c       g5-*.ir                rearrange (reshape) under S
 *  G6    rule_g6    distribute.c   g6-*.ir                a body under S: fission
 *  G7    rule_g7    interchange.c  g7-*.ir                a loop under S
 *  G8    rule_g8    interchange.c  g8-*.ir                an if under S, condition invariant to S
 *  G9    rule_g9    reduce.c       g9-*.ir                redomap, scanomap with SOACs inside
 *  G10   rule_g10   ragged.c       g10-*.ir               SOACs whose width varies with the nest
 *  G11   rule_g11   parted.c       g11-*.ir               an if under S, condition variant to S
 *  G12   rule_g12   varying.c      g12-*.ir               a loop whose turns vary with S
 *  G13   rule_g13   filters.c      g13-*.ir               filters under S
 *  G14   rule_g14   arrayops.c     g14-*.ir               reduce, scan with an operator on arrays
 *
 * Beyond the paper: what the turns of a loop under S do alike for all of S is done ahead (turns.c);
 * histograms (histogram.c); scatter and array operations under S act on the outer arrays
 * (arrays.c); a map whose body has parallelism that is irregular only because it varies with that
 * map becomes a loop (map_to_loop, interchange.c: "Balancing by Loop Interchange"); sequential code
 * over arrays that is left at the host level becomes a kernel of one thread (G0); reductions inside
 * threads over ranges of irregular size become loops (sequential.c).
 *
 * Modes: what differs is gathered in policy.c and versions_allowed; which inner
 * SOACs count as exploitable depends on the mode in analysis.c. */
#include "flatten/rules.h"

#include <string.h>

const char *const fl_mode_text[N_FLATTEN_MODES] = {"incremental", "moderate", "full", "outer"};

int fl_mode_of_text(const char *s)
{
    for (int m = 0; m < N_FLATTEN_MODES; m++)
        if (strcmp(s, fl_mode_text[m]) == 0)
            return m;
    return -1;
}

static const MapNest host_nest;

/* --- G0: sequential code at the host level -------------------------------------------------- */

typedef struct {
    bool loops_over_elems; /* a loop that reads or writes single elements */
    bool array_work;       /* a parallel array operation: better left to the host */
    bool in_loop;
} Touch;

static void touch_body(void *env, Body *b);

static void touch_exp(Touch *t, const Exp *e)
{
    bool outer = t->in_loop;
    t->in_loop = outer || e->kind == E_LOOP;
    if (t->in_loop && e->kind == E_INDEX) {
        bool slice = false;
        for (int d = 0; d < e->index.at.n; d++)
            slice = slice || e->index.at.at[d].is_slice;
        t->loops_over_elems = t->loops_over_elems || !slice;
    } else if (t->in_loop && e->kind == E_UPDATE) {
        t->loops_over_elems = true;
    } else if (e->kind == E_REPLICATE || e->kind == E_IOTA || e->kind == E_COPY ||
               e->kind == E_CONCAT) {
        t->array_work = true;
    }
    ExpVisitor v = {.env = t, .body = touch_body};
    exp_visit(e, &v);
    t->in_loop = outer;
}

static void touch_body(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        touch_exp(env, b->stms.at[i].exp);
}

/* What ranks do together is the host's. */
static bool is_of_ranks(const Exp *e)
{
    return exp_member(e) == M_ranks;
}

/* Must e be run by a thread of the device? SOACs that could not be made parallel, and loops that
 * touch single elements of arrays (each access would be a transfer). */
static bool wants_thread(const Exp *e)
{
    if (exp_is_soac(e))
        return true;
    if ((e->kind != E_LOOP && e->kind != E_IF) || exp_any(e, is_of_ranks))
        return false;
    Touch t = {0};
    touch_exp(&t, e);
    return t.loops_over_elems && !t.array_work;
}

/* s as the body of a kernel with one thread; what it consumes is copied inside. */
static void one_thread(Flat *fl, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    MapNest S = nest_push(fl, &host_nest, atom_i64(1), NULL, NULL);
    Bld bl = bld_new(cx);
    Subst *su = subst_new(cx);
    Vars eaten = exp_consumes(cx, s->exp);
    for (int i = 0; i < eaten.n; i++) {
        Exp *copy = exp_new(cx, E_COPY, s->exp->loc);
        copy->copy.arr = atom_var(eaten.at[i]);
        subst_add(su, eaten.at[i], bld_exp(&bl, eaten.at[i]->base, copy));
    }
    Stm inner = subst_stm(cx, su, s);
    bld_stm(&bl, inner);
    Seg sg = {.kind = E_SEGMAP, .S = &S, .stms = bl.stms, .loc = s->exp->loc};
    sg.res = atoms_of_vars(cx, &inner.pat);
    Atoms rows = bind_fresh(fl, &S, &s->pat, seg_make(fl, &sg), out);
    Atom zero = atom_i64(0);
    for (int k = 0; k < rows.n; k++) {
        Stm first = {.exp = exp_index(cx, s->exp->loc, rows.at[k], &zero, 1, true)};
        vec_push(cx->perm, &first.pat, s->pat.at[k]);
        bld_stm(out, first);
    }
}

/* Rule G0: S empty and no other rule applies: e stays, its SOACs now sequential. */
static Atoms rule_g0(Flat *fl, const Stm *s, Bld *out)
{
    VarSet *none = varmap_new(fl->cx->perm);
    if (fl->level >= 1 && wants_thread(s->exp) && s->pat.n > 0 && !types_variant(none, &s->pat)) {
        log_rule(fl, "G0", &host_nest, s->exp, "sequential, in a kernel of one thread");
        one_thread(fl, s, out);
    } else {
        if (exp_is_soac(s->exp))
            log_rule(fl, "G0", &host_nest, s->exp, "sequential");
        bld_stm(out, *s);
    }
    return atoms_of_vars(fl->cx, &s->pat);
}

/* --- G1: maps inside a work-group ----------------------------------------------------------- */

/* Code that each thread of an inner construct may do again. */
static bool is_repeatable(const Flat *fl, const Stm *s)
{
    const Exp *e = s->exp;
    return is_cheap(fl, s) || e->kind == E_PRIM || is_floatable(fl, s);
}

const Stm *inner_map(const Flat *fl, const Body *b)
{
    const Stm *s = b->stms.n ? &vec_last(&b->stms) : NULL;
    if (!s || s->exp->kind != E_MAP || (s->exp->attrs & ATTR_SEQUENTIAL) || b->res.n != s->pat.n)
        return NULL;
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var != s->pat.at[k])
            return NULL;
    for (int i = 0; i < b->stms.n - 1; i++)
        if (!is_repeatable(fl, &b->stms.at[i]))
            return NULL;
    return s;
}

/* Is it known that the widths of S keep a whole work-group busy? */
static bool fills_group(const MapNest *S)
{
    int64_t n = 1;
    for (int d = 0; d < S->dims.n; d++) {
        if (S->dims.at[d].width.var)
            return false;
        n *= S->dims.at[d].width.c.i < GROUP_PAR ? S->dims.at[d].width.c.i : GROUP_PAR;
    }
    return n >= GROUP_PAR;
}

/* Is b, under S, better distributed than left to the threads of S? If it consists of maps and
 * reductions and so holds more parallelism than S: what fusion has put into one map is several
 * nests of maps again. Scans, loops and branches stay with the thread that keeps their values near.
 */
static bool worth_distributing(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    bool maps = false;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        ExpKind kind = s->exp->kind;
        if (kind == E_MAP && stm_par(fl, variant, s) > 0)
            maps = true;
        else if (kind != E_REDOMAP && !is_repeatable(fl, s))
            return false;
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return maps && !fills_group(S);
}

/* Rule G1: at level 0 a nest of maps is manifested over what is left of the body, which is
 * sequential, unless that is better distributed. */
static Atoms rule_g1(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    MapNest S1 = nest_copy(fl, S);
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    const Stm *at = s;
    const Body *body;
    for (;;) {
        const Exp *e = at->exp;
        S1 = nest_push(fl, &S1, e->soac.width, &e->soac.fn->params, &e->soac.arrs);
        body = e->soac.fn->body;
        nest_vars(&S1, variant);
        at = inner_map(fl, body);
        for (int i = 0; i < body->stms.n; i++)
            for (int k = 0; k < body->stms.at[i].pat.n; k++)
                varset_add(variant, body->stms.at[i].pat.at[k]);
        if (!at || atom_variant(variant, at->exp->soac.width) || types_variant(variant, &at->pat))
            break;
        for (int i = 0; i < body->stms.n - 1; i++)
            vec_push(fl->cx->perm, &vec_last(&S1.dims).pre, body->stms.at[i]);
    }
    if (worth_distributing(fl, &S1, body)) {
        log_rule(fl, "G1", &S1, s->exp, "go on under the nest");
        return name_results(fl, S, s, rule_g6(fl, &S1, body, &s->pat, out), out);
    }
    log_rule(fl, "G1", &S1, s->exp, "segmap^0");
    Seg sg = {.kind = E_SEGMAP, .S = &S1, .stms = body->stms, .res = body->res, .loc = s->exp->loc};
    return bind_results(fl, S, &s->pat, seg_make(fl, &sg), out);
}

/* --- G2: maps without inner parallelism ----------------------------------------------------- */

static Exp *segmap_of(Flat *fl, const MapNest *S1, const Body *b, Loc loc)
{
    Seg sg = {.kind = E_SEGMAP, .S = S1, .stms = b->stms, .res = b->res, .loc = loc};
    return seg_make(fl, &sg);
}

/* Rule G2: map (\x -> e) xs becomes segmap^l S1 e, where S1 = S,<x in xs>. */
static Atoms rule_g2(Flat *fl, const MapNest *S, const MapNest *S1, const Body *b, const Stm *s,
                     const char *why, Bld *out)
{
    log_rule(fl, "G2", S1, s->exp, "segmap^%d%s%s%s", fl->level, why ? " (" : "", why ? why : "",
             why ? ")" : "");
    return bind_results(fl, S, &s->pat, segmap_of(fl, S1, b, s->exp->loc), out);
}

/* --- G3: maps with inner parallelism: three versions ---------------------------------------- */

/* x: of what is ragged, or NULL. */
static void add_top(Flat *fl, Versions *vs, const MapNest *S, const MapNest *S1, const Body *b,
                    const Stm *s, bool goes_on, const Extent *x)
{
    const Exp *e = s->exp;
    Bld top = bld_new(fl->cx), par = bld_new(fl->cx);
    Atoms res = bind_fresh(fl, S, &s->pat, segmap_of(fl, S1, b, e->loc), &top);
    Par p;
    if (x)
        p = par_of_rows(x, &par);
    else if (rows_in_turns(fl, S1, b))
        p = par_of_turns(fl, S1, b, &par);
    else
        p = (Par){par_of_nest(fl, S1, &par), par_in_all(fl, S1, b, &par),
                  goes_on ? cost_of_top(fl, S1, b, &par) : cost_of_lanes(fl, S1, b, &par), false};
    if (!x)
        p.cost.units = units_of_top(fl, S1, b, &par);
    version_add(fl, vs, false, bld_body(&top, res), &par, p, e->loc);
    log_rule(fl, "G3", S1, e, "e_top: segmap^%d, the rest sequential; %s", fl->level,
             vec_last(vs).name);
}

static void add_middle(Flat *fl, Versions *vs, const MapNest *S, const MapNest *S1, const Body *b,
                       const Body *intra, const MapPlan *plan, const Stm *s, const Extent *x)
{
    const Exp *e = s->exp;
    Bld mid = bld_new(fl->cx), par = bld_new(fl->cx);
    Atoms res = bind_fresh(fl, S, &s->pat, segmap_of(fl, S1, intra, e->loc), &mid);
    Par p;
    if (x)
        p = par_of_row_groups(x, &par);
    else
        p = (Par){par_of_intra(fl, S1, intra, &par), par_in_all(fl, S1, intra, &par),
                  plan->shared    ? no_cost()
                  : plan->varying ? cost_of_turns(fl, S1, intra, &par)
                                  : cost_of_middle(fl, S1, b, intra, &par),
                  false};
    if (!x)
        p.cost.units = units_of_middle(fl, S1, b, &par);
    version_add(fl, vs, true, bld_body(&mid, res), &par, p, e->loc);
    log_rule(fl, "G3", S1, e, "e_middle: segmap^%d around level %d; %s", fl->level, fl->level - 1,
             vec_last(vs).name);
}

/* Atoms as the statement's results: pat is bound at the host level. */
Atoms name_results(Flat *fl, const MapNest *S, const Stm *s, Atoms res, Bld *out)
{
    if (!is_host(S))
        return res;
    for (int k = 0; k < res.n; k++) {
        Stm alias = {.exp = exp_atom(fl->cx, s->exp->loc, res.at[k])};
        vec_push(fl->cx->perm, &alias.pat, s->pat.at[k]);
        bld_stm(out, alias);
    }
    return atoms_of_vars(fl->cx, &s->pat);
}

/* The last version: S1 |- b, or S |- the map as a loop, or e_top. */
static Atoms flat_results(Flat *fl, const MapNest *S, const MapNest *S1, const Stm *s,
                          const Body *b, const MapPlan *p, const Versions *vs, Bld *out)
{
    Flat inner = *fl;
    inner.path = versions_path(fl, vs);
    inner.depth++;
    if (p->ragged || p->mixed || p->varying)
        go_ragged(&inner, S1);
    if (p->shared)
        return bind_fresh(fl, S, &s->pat, segmap_of(fl, S1, rename_body(fl->cx, b), s->exp->loc),
                          out);
    return p->loop ? flatten_body(&inner, S, p->loop, out) : rule_g6(&inner, S1, b, &s->pat, out);
}

static void log_pruned(Flat *fl, const MapNest *S1, const Exp *e, const MapPlan *p)
{
    if (!p->top && p->no_top)
        log_rule(fl, "G3", S1, e, "e_top pruned (%s)", p->no_top);
    if (!p->middle && p->no_middle)
        log_rule(fl, "G3", S1, e, "e_middle pruned (%s)", p->no_middle);
}

/* Does the guard see how long rows are, which is known before they run? Where they vary only in
 * part, or in branches, e_top's alone: a work-group shares what does not vary. */
static bool sees_rows(Flat *fl, const MapNest *S1, const Body *b, const MapPlan *p)
{
    if (S1->dims.at[0].row)
        return false;
    if (p->ragged)
        return p->top || p->middle;
    return (p->mixed || p->varying) && p->top && extent_is_known(fl, S1, b);
}

/* Rule G3: if Par(S1) >= t_top then e_top else if Par(e_middle) >= t_intra then e_middle else
 * e_flat, where S1 = S,<x in xs>; fewer versions where the plan or the work-group level says so. */
static Atoms rule_g3(Flat *fl, const MapNest *S, const MapNest *S1, const Body *b, const Stm *s,
                     const MapPlan *plan, Bld *out)
{
    const Exp *e = s->exp;
    MapPlan p = *plan;
    Versions vs = {0};
    Extent extent = {0}, *x = sees_rows(fl, S1, b, &p) ? &extent : NULL;
    MapNest known = nest_copy(fl, S1);
    Body *rest = NULL;
    if (x)
        extent = extent_of(fl, &known, b, &rest, out);
    b = rest ? rest : b;
    if (x && !p.ragged)
        extent = extent_with(&extent, par_in_all(fl, &known, b, out), out);
    S1 = &known;
    if (p.top)
        add_top(fl, &vs, S, S1, b, s, p.flat && !p.loop && !p.shared, x);
    int log_at = fl->log->n;
    Body *intra = plan_intra(fl, S1, b, &p);
    log_pruned(fl, S1, e, &p);
    if (intra && !p.flat && vs.n == 0) {
        log_rule(fl, "G3", S1, e, "e_middle alone (attribute only_intra)");
        log_move_last(fl, log_at);
        return bind_results(fl, S, &s->pat, segmap_of(fl, S1, intra, e->loc), out);
    }
    if (intra) {
        add_middle(fl, &vs, S, S1, b, intra, &p, s, p.ragged ? x : NULL);
        log_move_last(fl, log_at);
    }
    log_rule(fl, "G3", S1, e, "e_flat: %s",
             p.loop                ? "a loop, its body under the outer nest"
             : p.shared            ? "e_top again, where work-groups do not fit"
             : p.ragged || p.mixed ? "go on under the nest, of varying widths, too"
             : p.varying           ? "go on under the nest, with what varies in it, too"
                                   : "go on under the nest");
    if (vs.n == 0)
        return name_results(fl, S, s, flat_results(fl, S, S1, s, b, &p, &vs, out), out);
    Bld flat = bld_new(fl->cx);
    Atoms res = flat_results(fl, S, S1, s, b, &p, &vs, &flat);
    return versions_fold(fl, S, &vs, bld_body(&flat, res), s, out);
}

/* --- The walk ------------------------------------------------------------------------------- */

static Atoms flatten_map(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    if (fl->level == 0)
        return rule_g1(fl, S, s, out);
    const Exp *e = s->exp;
    if ((e->attrs & ATTR_SEQUENTIAL_OUTER) && fl->mode != FLATTEN_OUTER) {
        log_rule(fl, "map_to_loop", S, e, "a loop (attribute sequential_outer)");
        return name_results(fl, S, s, flatten_body(fl, S, map_to_loop(fl, s), out), out);
    }
    MapNest S1 = nest_push(fl, S, e->soac.width, &e->soac.fn->params, &e->soac.arrs);
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(&S1, variant);
    Body *b = hoist_invariants(fl, variant, e->soac.fn->body, out);
    b = sums_by_component(fl, &S1, b);
    int64_t inner = worthwhile_par(fl, &S1, b);
    MapPlan p = plan_map(fl, S, e, inner, b);
    if (inner == 0)
        plan_moves(fl, &S1, e, b, &p);
    if (p.flat && inner == 0)
        return rule_g3(fl, S, &S1, b, s, &p, out);
    if (inner == 0 && !is_host(S) && loop_frees(fl, S, e))
        plan_loop(fl, S, s, &p);
    else if (inner == 0 && p.top)
        plan_ragged(fl, S, &S1, e, b, &p);
    else if (inner > 0)
        plan_mixed(fl, &S1, e, b, &p);
    plan_varying(fl, S, &S1, e, b, &p);
    if (inner == 0 && p.top && !p.flat)
        plan_shared(fl, S, &S1, e, b, &p);
    if (p.top && !p.flat)
        return rule_g2(fl, S, &S1, b, s, p.no_middle, out);
    return rule_g3(fl, S, &S1, b, s, &p, out);
}

Atoms map_points(Flat *fl, const MapNest *S, const MapNest *P, const Stm *s, Bld *out)
{
    const Body *b = s->exp->soac.fn->body;
    MapPlan p = plan_points(fl, S, P, s->exp, b);
    if (p.top && !p.flat)
        return rule_g2(fl, S, P, b, s, p.no_middle, out);
    return rule_g3(fl, S, P, b, s, &p, out);
}

Atoms flatten_stm(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    if (e->kind == E_MAP)
        return flatten_map(fl, S, s, out);
    if (e->kind == E_SCATTER)
        return flatten_scatter(fl, S, s, out);
    if (e->kind == E_HIST)
        return flatten_hist(fl, S, s, out);
    if (e->kind == E_LOOP)
        return rule_g7(fl, S, s, out);
    if (e->kind == E_IF)
        return rule_g8(fl, S, s, out);
    ASSERT(exp_is_soac(e) && e->soac.op);
    return flatten_reduce(fl, S, s, out);
}

static Body *host_body(Flat *fl, const Body *b)
{
    Bld bl = bld_new(fl->cx);
    Atoms res = flatten_body(fl, &host_nest, b, &bl);
    return bld_body(&bl, res);
}

/* A loop or branch at the host level: its bodies are walked. */
static void host_compound(Flat *fl, const Stm *s, Bld *out)
{
    Exp *e = NEW(fl->cx->perm, Exp);
    *e = *s->exp;
    if (e->kind == E_LOOP) {
        e->loop.body = host_body(fl, e->loop.body);
    } else {
        e->branch.then_ = host_body(fl, e->branch.then_);
        e->branch.else_ = host_body(fl, e->branch.else_);
    }
    bld_stm(out, (Stm){s->pat, e});
}

void flatten_host_stm(Flat *fl, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    VarSet *none = varmap_new(fl->cx->perm);
    bool compound = e->kind == E_LOOP || e->kind == E_IF;
    bool inside = exp_has_soac(e) || exp_any(e, is_of_ranks);
    if (compound && inside && !(e->attrs & ATTR_SEQUENTIAL))
        host_compound(fl, s, out);
    else if (exp_is_soac(e) && soac_is_parallel(fl, none, s))
        flatten_stm(fl, &host_nest, s, out);
    else
        rule_g0(fl, s, out);
}

Atoms flatten_body(Flat *fl, const MapNest *S, const Body *b, Bld *out)
{
    if (!is_host(S))
        return rule_g6(fl, S, b, NULL, out);
    for (int i = 0; i < b->stms.n; i++)
        flatten_host_stm(fl, &b->stms.at[i], out);
    return b->res;
}

/* --- The pass ------------------------------------------------------------------------------- */

static Entry flatten_entry(Flat *fl, const Entry *en)
{
    Entry r = *en;
    Budget budget = {.depth = NO_DEPTH};
    int log_at = fl->log->n;
    fl->entry = en->name;
    fl->budget = &budget;
    do {
        fl->log->n = log_at;
        r.body = host_body(fl, en->body);
    } while (versions_retry(&budget));
    r.body = sequential_code(fl, r.body);
    return r;
}

Prog *fl_flatten(Ctx *cx, const Prog *in)
{
    ASSERT(in->dialect == D_SOAC);
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = D_SEG;
    Flat fl = {.cx = cx, .mode = (FlattenMode)cx->flatten_mode, .level = 1};
    fl.ragged = fl.mode == FLATTEN_FULL;
    fl.defs = varmap_new(cx->perm);
    fl.consumed = varmap_new(cx->perm);
    fl.overwritten = varmap_new(cx->perm);
    fl.rows = varmap_new(cx->perm);
    fl.asserted = varmap_new(cx->perm);
    fl.fresh = varmap_new(cx->perm);
    fl.log = log_start(cx);
    analyse_program(&fl, in);
    for (int i = 0; i < in->entries.n; i++)
        vec_push(cx->perm, &p->entries, flatten_entry(&fl, &in->entries.at[i]));
    return p;
}
