/* Rule G6: a body under S is distributed. Statements are taken in order:
 *   - what does not depend on the nest is computed once, outside;
 *   - views of arrays over S become views of the outer arrays (G5);
 *   - a statement with exploitable parallelism (a recurrence) is flattened under S;
 *   - the others are grouped: a group becomes one segmap when a recurrence needs something of it.
 * What is used later is expanded to an array over S, except cheap scalar code and views, which each
 * later construct recomputes (MapDim.pre). */
#include "flatten/rules.h"

#include "ir/ranges.h"

typedef struct {
    Flat *fl;
    MapNest S;
    const Body *body;
    int at;             /* the statement being looked at */
    Stms group;         /* not yet manifest */
    VarSet *group_vars; /* what they bind */
    VarSet *variant;    /* all that varies inside the nest */
    const Var *width;   /* of the ragged SOAC looked at: it is wanted as an array */
    VarSet *done;       /* what statements bind that a filter was made of */
    Stms memory;        /* that a scatter is to make, for all rows */
    VarSet *rows;       /* results of the body that are wanted as rows */
    Bld *out;
} Fission;

static void add_pat(VarSet *s, const Vars *pat)
{
    for (int k = 0; k < pat->n; k++)
        varset_add(s, pat->at[k]);
}

/* Variables that the statement being looked at, those after it and the results use. */
static VarSet *used_later(const Fission *f)
{
    VarSet *used = varmap_new(f->fl->cx->perm);
    for (int i = f->at; i < f->body->stms.n; i++)
        free_in_stm(used, &f->body->stms.at[i]);
    for (int i = 0; i < f->memory.n; i++)
        free_in_stm(used, &f->memory.at[i]);
    for (int k = 0; k < f->body->res.n; k++)
        if (f->body->res.at[k].var)
            varset_add(used, f->body->res.at[k].var);
    if (f->width)
        varset_add(used, f->width);
    return used;
}

/* --- Groups --------------------------------------------------------------------------------- */

/* What of a group is recomputed later, and what is expanded. */
typedef struct {
    Stms cheap; /* needed later, transitively; in order */
    Vars expand;
    bool asserts;
} Split;

/* Numbers, or copies of one, as many as each element wants: whoever needs some computes them. */
static bool is_range(const Fission *f, const Stm *s)
{
    return (f->fl->ragged || f->fl->mode == FLATTEN_INCREMENTAL) &&
           (s->exp->kind == E_IOTA || s->exp->kind == E_REPLICATE) &&
           types_variant(f->variant, &s->pat) && !is_consumed(f->fl, atom_var(s->pat.at[0]));
}

/* The cheap statements all of whose operands in the group are cheap; those of a range may be dear,
 * if they can be expanded themselves: it cannot. */
static VarSet *cheap_vars(const Fission *f)
{
    VarSet *cheap = varmap_new(f->fl->cx->perm), *dear = varmap_new(f->fl->cx->perm);
    VarSet *dear_rows = varmap_new(f->fl->cx->perm);
    for (int i = 0; i < f->group.n; i++) {
        const Stm *s = &f->group.at[i];
        bool range = is_range(f, s);
        bool ok = (range || is_cheap(f->fl, s)) && !exp_uses_any(s->exp, range ? dear_rows : dear);
        if (f->width && s->pat.n == 1 && s->pat.at[0] == f->width)
            continue; /* it is expanded, and known in S behind that */
        add_pat(ok ? cheap : dear, &s->pat);
        if (!ok && types_variant(f->variant, &s->pat))
            add_pat(dear_rows, &s->pat);
    }
    return cheap;
}

static Split split_group(const Fission *f)
{
    Split sp = {0};
    VarSet *later = used_later(f), *cheap = cheap_vars(f), *need = varmap_new(f->fl->cx->perm);
    Stms all_cheap = {0};
    for (int i = 0; i < f->group.n; i++) {
        const Stm *s = &f->group.at[i];
        for (int k = 0; k < s->pat.n; k++)
            if (varset_has(later, s->pat.at[k]) && varset_has(cheap, s->pat.at[k]))
                varset_add(need, s->pat.at[k]);
        if (binds_any(s, cheap))
            vec_push(f->fl->cx->perm, &all_cheap, *s);
    }
    sp.cheap = stms_live(f->fl->cx, &all_cheap, need, false);
    for (int i = 0; i < sp.cheap.n; i++)
        free_in_stm(later, &sp.cheap.at[i]);
    for (int i = 0; i < f->group.n; i++) {
        const Stm *s = &f->group.at[i];
        sp.asserts = sp.asserts || s->exp->kind == E_ASSERT;
        for (int k = 0; k < s->pat.n; k++)
            if (varset_has(later, s->pat.at[k]) && !varset_has(cheap, s->pat.at[k]))
                vec_push(f->fl->cx->perm, &sp.expand, s->pat.at[k]);
    }
    return sp;
}

/* Can what the rest of the body needs of the group be expanded? Not arrays of irregular size. */
static bool can_flush(const Fission *f)
{
    Split sp = split_group(f);
    return !types_variant(f->variant, &sp.expand);
}

static const Exp *first_assert(const Stms *ss)
{
    for (int i = 0; i < ss->n; i++)
        if (ss->at[i].exp->kind == E_ASSERT)
            return ss->at[i].exp;
    return NULL;
}

/* One segmap^l S over the group, giving `res`. A group of asserts only gives their condition. */
static Atoms manifest_group(Fission *f, Atoms res)
{
    Vars names = {0};
    VarSet *need = varmap_new(f->fl->cx->perm);
    if (res.n == 0)
        vec_push(f->fl->cx->perm, &res, first_assert(&f->group)->assertion.cond);
    for (int k = 0; k < res.n; k++) {
        Var *v = res.at[k].var;
        if (v)
            varset_add(need, v);
        else
            v = var_new(f->fl->cx, "const", atom_type(res.at[k]), (Loc){0});
        vec_push(f->fl->cx->perm, &names, v);
    }
    Seg sg = {.kind = E_SEGMAP, .S = &f->S, .res = res};
    sg.stms = stms_live(f->fl->cx, &f->group, need, true);
    for (int i = 0; i < sg.stms.n; i++)
        sg.loc = loc_join(sg.loc, sg.stms.at[i].exp->loc);
    Exp *e = seg_make(f->fl, &sg);
    log_rule(f->fl, "G6", &f->S, e, "split: %d grouped statement%s", sg.stms.n,
             sg.stms.n == 1 ? "" : "s");
    return bind_fresh(f->fl, &f->S, &names, e, f->out);
}

/* Manifests the group; what is used later is known in S afterwards. */
static void flush(Fission *f)
{
    if (f->group.n == 0)
        return;
    Split sp = split_group(f);
    Atoms outer = {0};
    if (sp.expand.n > 0 || sp.asserts)
        outer = manifest_group(f, atoms_of_vars(f->fl->cx, &sp.expand));
    MapDim *inner = &vec_last(&f->S.dims);
    vec_append(f->fl->cx->perm, &inner->pre, &sp.cheap);
    for (int k = 0; k < sp.expand.n; k++)
        nest_extend(f->fl, &f->S, sp.expand.at[k], outer.at[k]);
    f->group = (Stms){0};
    f->group_vars = varmap_new(f->fl->cx->perm);
}

static void push_to_group(Fission *f, const Stm *s)
{
    vec_push(f->fl->cx->perm, &f->group, *s);
    add_pat(f->group_vars, &s->pat);
    add_pat(f->variant, &s->pat);
}

static bool uses_pat(const Fission *f, const Stm *s, const Vars *pat)
{
    VarSet *vars = varmap_new(f->fl->cx->perm);
    add_pat(vars, pat);
    return exp_uses_any(s->exp, vars);
}

/* Takes the memory that s uses out of what is to be made: into the group, if s stays there. */
static void take_memory(Fission *f, const Stm *s, bool to_group)
{
    Stms left = {0};
    for (int i = 0; i < f->memory.n; i++) {
        const Stm *m = &f->memory.at[i];
        if (!uses_pat(f, s, &m->pat))
            vec_push(f->fl->cx->perm, &left, *m);
        else if (to_group)
            push_to_group(f, m);
    }
    f->memory = left;
}

static void add_to_group(Fission *f, const Stm *s)
{
    take_memory(f, s, true);
    push_to_group(f, s);
    if (exp_has_soac(s->exp))
        log_rule(f->fl, "G6", &f->S, s->exp, "kept sequential (%s)",
                 s->exp->attrs & ATTR_SEQUENTIAL ? "attribute sequential"
                                                 : "irregular, or varying in the nest");
}

/* --- Kinds of statements -------------------------------------------------------------------- */

static bool uses_group(const Fission *f, const Stm *s)
{
    return exp_uses_any(s->exp, f->group_vars);
}

static bool pat_consumed(const Fission *f, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        if (is_consumed(f->fl, atom_var(s->pat.at[k])))
            return true;
    return false;
}

/* Code that does not depend on the nest is done once. */
static bool float_out(Fission *f, const Stm *s)
{
    if (exp_uses_any(s->exp, f->variant) || s->pat.n == 0)
        return false;
    if (is_floatable(f->fl, s)) {
        bld_stm(f->out, *s);
        return true;
    }
    if (exp_traps(s->exp) || pat_consumed(f, s) || !exp_has_soac(s->exp) ||
        !exp_safe_anywhere(f->fl->defs, s->exp)) /* the nest may be empty */
        return false;
    log_rule(f->fl, "G6", &f->S, s->exp, "does not depend on the nest: done once");
    flatten_host_stm(f->fl, s, f->out);
    return true;
}

/* Makes the operands of s known in S; false if that is impossible. */
static bool prepare(Fission *f, const Stm *s)
{
    if (!uses_group(f, s) && exp_consumes(f->fl->cx, s->exp).n == 0)
        return true;
    if (!can_flush(f))
        return false;
    flush(f);
    return true;
}

/* Is v used by code that stays in a group? */
static bool sequential_use(Fission *f, const Var *v)
{
    VarSet *just = varmap_new(f->fl->cx->perm);
    varset_add(just, v);
    for (int i = f->at + 1; i < f->body->stms.n; i++) {
        const Stm *s = &f->body->stms.at[i];
        if (!exp_uses_any(s->exp, just) || is_array_op(s))
            continue;
        bool view = s->exp->kind == E_REARRANGE || s->exp->kind == E_RESHAPE;
        if (!view && stm_par(f->fl, f->variant, s) == 0)
            return true;
    }
    return false;
}

static void extend_results(Fission *f, const Stm *s, const Atoms *res)
{
    for (int k = 0; k < res->n; k++) {
        if (res->at[k].var == s->pat.at[k])
            continue; /* invariant to the nest, bound outside */
        nest_extend(f->fl, &f->S, s->pat.at[k], res->at[k]);
        varset_add(f->variant, s->pat.at[k]);
    }
}

/* The width of rows becomes an array, where their offsets are not there. */
static void want_width(Fission *f, Atom width)
{
    Atom offs, from;
    if (!known_ragged(&f->S, width.var) && !offsets_are_there(f->fl, &f->S, width, &offs, &from))
        f->width = width.var;
}

/* A SOAC whose width varies. The width is computed with what is manifest before. */
static bool ragged_stm(Fission *f, const Stm *s)
{
    bool writes = f->fl->ragged && writes_rows(f->fl, f->variant, s);
    if (!f->fl->ragged || (!writes && !soac_is_ragged(f->fl, f->variant, s)))
        return false;
    want_width(f, s->exp->soac.width);
    bool ready = prepare(f, s);
    f->width = NULL;
    if (!ready)
        return false;
    if (writes) {
        Atoms res = flatten_writes(f->fl, &f->S, f->variant, s, f->out);
        take_memory(f, s, false);
        extend_results(f, s, &res);
    } else {
        rule_g10(f->fl, &f->S, s, f->out);
    }
    add_pat(f->variant, &s->pat);
    return true;
}

/* Memory whose size varies, for a scatter that makes it for all rows: only what is in it matters.
 */
static bool memory_stm(Fission *f, const Stm *s)
{
    if (!f->fl->ragged || !makes_rows(f->fl, f->variant, f->body, f->at))
        return false;
    vec_push(f->fl->cx->perm, &f->memory, *s);
    add_pat(f->variant, &s->pat);
    return true;
}

static bool join_stm(Fission *f, const Stm *s)
{
    if (!f->fl->ragged || !joins_rows(f->fl, f->variant, s))
        return false;
    want_width(f, s->exp->concat.n);
    bool ready = prepare(f, s);
    f->width = NULL;
    if (!ready)
        return false;
    join_rows(f->fl, &f->S, s, f->out);
    add_pat(f->variant, &s->pat);
    return true;
}

/* A filter: all of its statements at once. */
static bool filter_stm(Fission *f, const Stm *s)
{
    Kept k;
    if (!f->fl->ragged || !filter_begins(f->fl, f->variant, f->body, f->at, &k))
        return false;
    bool varies = atom_variant(f->variant, s->exp->soac.width);
    if (varies)
        want_width(f, s->exp->soac.width);
    bool ready = prepare(f, s) && prepare(f, k.scatter);
    f->width = NULL;
    if (!ready)
        return false;
    rule_g13(f->fl, &f->S, &k, varies, f->out);
    Vars done = varset_list(f->fl->cx->perm, k.counts);
    vec_append(f->fl->cx->perm, &done, &s->pat);
    vec_append(f->fl->cx->perm, &done, &k.scatter->pat);
    for (int i = 0; i < k.scatter->exp->soac.dests.n; i++)
        vec_push(f->fl->cx->perm, &done, k.scatter->exp->soac.dests.at[i].arr.var);
    add_pat(f->variant, &done);
    add_pat(f->done, &done);
    return true;
}

/* A loop that carries arrays of sizes that vary. */
static bool carrying_stm(Fission *f, const Stm *s)
{
    if (!carries_rows(f->fl, f->variant, s) || stm_par(f->fl, f->variant, s) == 0 ||
        !prepare(f, s) || !turn_rows(f->fl, &f->S, s, f->out))
        return false;
    add_pat(f->variant, &s->pat);
    return true;
}

/* Are rows that s gives wanted by what is parallel, or as results? */
static bool wants_rows(Fission *f, const Stm *s)
{
    VarSet *given = varmap_new(f->fl->cx->perm), *variant = varmap_new(f->fl->cx->perm);
    Vars before = varset_list(f->fl->cx->perm, f->variant);
    add_pat(variant, &before);
    add_pat(variant, &s->pat);
    for (int k = 0; k < s->pat.n; k++) {
        if (!is_row_of(f->variant, &s->pat, s->pat.at[k]))
            continue;
        if (varset_has(f->rows, s->pat.at[k]))
            return true;
        varset_add(given, s->pat.at[k]);
    }
    for (int i = f->at + 1; i < f->body->stms.n; i++) {
        const Stm *u = &f->body->stms.at[i];
        add_pat(variant, &u->pat);
        if (!exp_uses_any(u->exp, given))
            continue;
        if (soac_is_ragged(f->fl, variant, u) || writes_rows(f->fl, variant, u) ||
            joins_rows(f->fl, variant, u) || carries_rows(f->fl, variant, u) ||
            parts_rows(f->fl, variant, u))
            return true;
        if (exp_is(u->exp, F_VIEW))
            add_pat(given, &u->pat);
        for (int k = 0; k < u->pat.n; k++)
            if (varset_has(given, u->pat.at[k]) && varset_has(f->rows, u->pat.at[k]))
                return true;
    }
    return false;
}

/* The results of a branch that are no rows, in the group. */
static void numbers_to_group(Fission *f, const Stm *s)
{
    Ctx *cx = f->fl->cx;
    Body then_ = {.stms = s->exp->branch.then_->stms}, else_ = {.stms = s->exp->branch.else_->stms};
    Stm numbers = {0};
    for (int k = 0; k < s->pat.n; k++) {
        if (is_row_of(f->variant, &s->pat, s->pat.at[k]))
            continue;
        vec_push(cx->perm, &numbers.pat, s->pat.at[k]);
        vec_push(cx->perm, &then_.res, s->exp->branch.then_->res.at[k]);
        vec_push(cx->perm, &else_.res, s->exp->branch.else_->res.at[k]);
    }
    if (numbers.pat.n == 0)
        return;
    numbers.exp =
        exp_if(cx, s->exp->loc, s->exp->branch.test, bld_body(&(Bld){cx, then_.stms}, then_.res),
               bld_body(&(Bld){cx, else_.stms}, else_.res));
    push_to_group(f, &numbers);
}

/* A branch that gives arrays of sizes that vary, where they are wanted as such. */
static bool rows_stm(Fission *f, const Stm *s)
{
    if (!parts_rows(f->fl, f->variant, s) || !can_flush(f))
        return false;
    bool chooses = chooses_rows(f->fl, f->variant, s);
    if (!wants_rows(f, s) && (chooses || stm_par(f->fl, f->variant, s) == 0))
        return false;
    flush(f);
    if (chooses) {
        VarSet *before = varmap_new(f->fl->cx->perm);
        Vars all = varset_list(f->fl->cx->perm, f->variant);
        add_pat(before, &all);
        numbers_to_group(f, s);
        for (int k = 0; k < s->pat.n; k++)
            if (is_row_of(before, &s->pat, s->pat.at[k]))
                want_width(f, s->pat.at[k]->type.dims[0]);
        flush(f);
        f->width = NULL;
        choose_rows(f->fl, &f->S, s, f->out);
    } else if (!part_rows(f->fl, &f->S, s, f->out)) {
        return false;
    }
    add_pat(f->variant, &s->pat);
    return true;
}

static bool parallel_stm(Fission *f, const Stm *s)
{
    if (f->fl->level == 0 && s->exp->kind != E_MAP)
        return false; /* a work-item reduces by itself: there are enough of them (rule G1) */
    if (carries_rows(f->fl, f->variant, s) || parts_rows(f->fl, f->variant, s) ||
        stm_par(f->fl, f->variant, s) == 0 || !prepare(f, s))
        return false;
    Atoms res = flatten_stm(f->fl, &f->S, s, f->out);
    extend_results(f, s, &res);
    return true;
}

/* A concat of parts whose sizes vary, or are known to the threads only, although their sum is not.
 */
static bool parts_vary(const Fission *f, const Stm *s)
{
    Vars parts = {0};
    if (s->exp->kind != E_CONCAT)
        return false;
    for (int k = 0; k < s->exp->concat.arrs.n; k++)
        vec_push(f->fl->cx->perm, &parts, s->exp->concat.arrs.at[k].var);
    return types_variant(f->variant, &parts);
}

/* Array operations are worth a construct of their own only if no thread needs their result. */
static bool array_stm(Fission *f, const Stm *s)
{
    if (!is_array_op(s) || types_variant(f->variant, &s->pat) || parts_vary(f, s) ||
        sequential_use(f, s->pat.at[0]) || !prepare(f, s))
        return false;
    Atoms res = {0};
    if (!flatten_array_op(f->fl, &f->S, s, f->out, &res))
        return false;
    extend_results(f, s, &res);
    return true;
}

static bool view_stm(Fission *f, const Stm *s)
{
    if (uses_group(f, s) || types_variant(f->variant, &s->pat) || !rule_g5(f->fl, &f->S, s, f->out))
        return false;
    add_pat(f->variant, &s->pat);
    return true;
}

/* An assertion that does not depend on the nest holds for its elements, if there are any: once,
 * outside. */
static bool float_assert(Fission *f, const Stm *s)
{
    Ctx *cx = f->fl->cx;
    if (s->exp->kind != E_ASSERT || exp_uses_any(s->exp, f->variant))
        return false;
    Exp *e = exp_new(cx, E_ASSERT, s->exp->loc);
    *e = *s->exp;
    for (int d = 0; d < f->S.dims.n; d++) {
        Exp *le = exp_binop(cx, e->loc, OP_LE, f->S.dims.at[d].width, atom_i64(0));
        Atom none = bld_exp(f->out, "none", le);
        Exp *either = exp_binop(cx, e->loc, OP_LOR, none, e->assertion.cond);
        e->assertion.cond = bld_exp(f->out, "ok", either);
    }
    bld_stm(f->out, (Stm){.exp = e});
    return true;
}

/* Where widths vary, slices that may fail do so as assertions. */
static bool slice_stm(Fission *f, const Stm *s)
{
    Bld bl = bld_new(f->fl->cx);
    if (!f->fl->ragged || !assert_slice(f->fl, f->variant, s, &bl))
        return false;
    for (int i = 0; i < bl.stms.n; i++)
        add_to_group(f, &bl.stms.at[i]);
    return true;
}

static void distribute_stm(Fission *f, const Stm *s)
{
    if (binds_any(s, f->done) || float_assert(f, s) || float_out(f, s) || slice_stm(f, s) ||
        view_stm(f, s) || memory_stm(f, s) || filter_stm(f, s) || carrying_stm(f, s) ||
        rows_stm(f, s) || parallel_stm(f, s) || ragged_stm(f, s) || join_stm(f, s) ||
        array_stm(f, s))
        return;
    add_to_group(f, s);
}

/* --- Results -------------------------------------------------------------------------------- */

/* Is the result the outer array `root` itself? If it is consumed later it must be nobody else's. */
static bool whole_array(Fission *f, Atom a, const Atoms *before, Var *dest, Atom *root)
{
    Chain c;
    if (!a.var || varset_has(f->group_vars, a.var) || !nest_chain(&f->S, a, &c) ||
        !chain_is_full(&f->S, &c))
        return false;
    *root = c.root;
    bool shared = !varset_has(f->fl->fresh, c.root.var);
    for (int k = 0; k < before->n; k++)
        shared = shared || before->at[k].var == c.root.var;
    if (shared && dest && is_consumed(f->fl, atom_var(dest))) {
        Exp *copy = exp_new(f->fl->cx, E_COPY, a.var->loc);
        copy->copy.arr = c.root;
        *root = bind_one(f->fl, &f->S, a.var->base, copy, f->out);
    }
    return true;
}

/* Results that the last construct gives: those of the group, and scalars (they cost it nothing). */
static bool from_group(const Fission *f, Atom a)
{
    if (a.var && varset_has(f->group_vars, a.var))
        return true;
    return f->group.n > 0 && atom_type(a).rank == 0;
}

/* Rows that the group can compute element by element where they are wanted, as they are views: S
 * with what they need, and the result over it, an element a work-item. */
static bool row_elements(Fission *f, Atom a, Atom *root)
{
    if (f->fl->level == 0 || !a.var || a.var->type.rank == 0 || f->fl->ragged ||
        first_assert(&f->group) || !varset_has(cheap_vars(f), a.var))
        return false;
    Vars just = {0};
    VarSet *need = varmap_new(f->fl->cx->perm);
    vec_push(f->fl->cx->perm, &just, (Var *)a.var);
    if (types_variant(f->variant, &just))
        return false;
    varset_add(need, a.var);
    Stms some = stms_live(f->fl->cx, &f->group, need, false);
    MapNest S = nest_copy(f->fl, &f->S);
    vec_append(f->fl->cx->perm, &vec_last(&S.dims).pre, &some);
    *root = expand_atom(f->fl, &S, a, "res", vec_last(&some).exp->loc, f->out);
    return true;
}

static Atoms finish(Fission *f, const Vars *dest_pat)
{
    const Atoms *res = &f->body->res;
    Atoms out = {0}, grouped = {0};
    bool asserts = first_assert(&f->group) != NULL;
    for (int k = 0; k < res->n; k++) {
        Atom root = {0};
        Var *dest = dest_pat ? dest_pat->at[k] : NULL;
        if (whole_array(f, res->at[k], &out, dest, &root) || row_elements(f, res->at[k], &root))
            ;
        else if (from_group(f, res->at[k]))
            vec_push(f->fl->cx->perm, &grouped, res->at[k]);
        else
            root = expand_atom(f->fl, &f->S, res->at[k], "res", (Loc){0}, f->out);
        vec_push(f->fl->cx->perm, &out, root);
    }
    if (grouped.n == 0 && !asserts)
        return out;
    Atoms made = manifest_group(f, grouped);
    for (int k = 0, g = 0; k < out.n && g < grouped.n; k++)
        if (!out.at[k].var)
            out.at[k] = made.at[g++];
    return out;
}

/* rows: results that are wanted as rows. */
static Fission distribute(Flat *fl, const MapNest *S, const Body *b, VarSet *rows, Bld *out)
{
    Fission f = {.fl = fl, .S = nest_copy(fl, S), .body = b, .rows = rows, .out = out};
    f.group_vars = varmap_new(fl->cx->perm);
    f.variant = varmap_new(fl->cx->perm);
    f.done = varmap_new(fl->cx->perm);
    nest_vars(S, f.variant);
    for (int i = 0; i < b->stms.n; i++) {
        f.at = i;
        distribute_stm(&f, &b->stms.at[i]);
    }
    f.at = b->stms.n;
    return f;
}

Atoms rule_g6(Flat *fl, const MapNest *S, const Body *b, const Vars *dest_pat, Bld *out)
{
    Fission f = distribute(fl, S, b, varmap_new(fl->cx->perm), out);
    return finish(&f, dest_pat);
}

bool rule_g6_rows(Flat *fl, const MapNest *S, const Body *b, RowsList *rows, Atoms *res, Bld *out)
{
    Body all = {.stms = b->stms};
    VarSet *wanted = varmap_new(fl->cx->perm);
    vec_append(fl->cx->perm, &all.res, &b->res);
    for (int c = 0; c < rows->n; c++) {
        vec_append(fl->cx->perm, &all.res, &rows->at[c].arrs);
        vec_push(fl->cx->perm, &all.res, rows->at[c].width);
        for (int k = 0; k < rows->at[c].arrs.n; k++)
            if (rows->at[c].arrs.at[k].var)
                varset_add(wanted, rows->at[c].arrs.at[k].var);
    }
    Fission f = distribute(fl, S, &all, wanted, out);
    if (!can_flush(&f))
        return false;
    flush(&f);
    f.body = b;
    for (int c = 0; c < rows->n; c++) {
        Rows *r = &rows->at[c];
        r->sizes = carried_sizes(fl, &f.S, r->width, (Loc){0}, out);
        for (int k = 0; k < r->arrs.n; k++) {
            Atom data = carried_data(fl, &f.S, r->arrs.at[k], &r->sizes, (Loc){0}, out);
            vec_push(fl->cx->perm, &r->data, data);
        }
    }
    *res = finish(&f, NULL);
    return true;
}
