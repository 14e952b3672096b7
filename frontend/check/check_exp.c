/* Types of expressions: each form by its rule, here or in a file below. */
#include "frontend/check/check.h"

#include "base/intern.h"

#include <inttypes.h>
#include <string.h>

static AType *infer_form(Ck *ck, AExp *e, AType *want);

AType *infer_exp(Ck *ck, AExp *e, AType *want)
{
    Scopes scopes = scopes_now(ck);
    Loc outer = ck->here;
    bool lost = ck->lost;
    int hidden = ck->hidden;
    ck->here = e->loc;
    if (e->open) {
        Module *m = find_module(ck, e->open, e->open_loc);
        note_module(ck, e->open, e->open_loc);
        if (m && is_parametric(m))
            ck_error(ck, e->open_loc,
                     "`%s` is a parametric module: it has members only when it is applied",
                     e->open);
        if (m && !is_parametric(m))
            open_scope(ck, m);
        if (!m || is_parametric(m) || m->wrong) {
            ck->lost = true;
            ck->hidden = ck->n_bindings;
        }
    }
    e->type = infer_form(ck, e, want);
    scopes_back(ck, scopes);
    ck->lost = lost;
    ck->hidden = hidden;
    ck->here = outer;
    e->type = ty_limited(ck, e->type, e->loc);
    return e->type;
}

/* --- Names ---------------------------------------------------------------------------------- */

static AType *check_var(Ck *ck, AExp *e)
{
    Binding *b = find_below(ck, e->var.name, e->loc);
    b = b ? b : find_value(ck, e->var.name, e->loc);
    e->var.bind = b;
    if (!b)
        return ty_error(ck);
    const char *dot = last_dot(e->var.name), *name = dot ? dot + 1 : e->var.name;
    if (e->var.atom && name[0] == '_')
        ck_error(ck, e->loc, "`%s` is used, but names that begin with `_` are those of what is not",
                 name);
    if (b->kind == BIND_BUILTIN && b->builtin == BI_REARRANGE) {
        ck_error(ck, e->loc,
                 "`rearrange` must be applied to a tuple of dimensions, "
                 "as in `rearrange (1,0) xs`");
        return ty_error(ck);
    }
    if (!b->type || type_deref(b->type)->kind == TY_ERROR) {
        ck->skipped = true;
        return ty_error(ck);
    }
    for (int i = 0; b->kind == BIND_DEF && i < ck->current.n; i++)
        if (b->def == ck->current.at[i])
            ck->ast->recursive = b->def->recursive = true;
    return ty_plain(ck, ty_instance(ck, b, e->loc));
}

/* A.B.x was read as projections; it is a name if A.B is a module. */
static bool is_member(Ck *ck, AExp *e)
{
    if (!module_of_exp(ck, e->proj.e))
        return false;
    const char *name = e->proj.names.at[0];
    for (const AExp *m = e->proj.e;; m = m->proj.e) {
        bool more = m->kind == AE_PROJ;
        name = intern_member(more ? m->proj.names.at[0] : m->var.name, name);
        if (!more)
            break;
    }
    e->kind = AE_VAR;
    memset(&e->var, 0, sizeof e->var);
    e->var.name = name;
    e->var.atom = true;
    return true;
}

/* --- Composite values ----------------------------------------------------------------------- */

static AType *check_tuple(Ck *ck, AExp *e, AType *want)
{
    ATypes ts = {0};
    AType *w = want ? type_deref(want) : NULL;
    bool fits = w && w->kind == TY_TUPLE && w->elems.n == e->seq.elems.n;
    for (int i = 0; i < e->seq.elems.n; i++)
        vec_push(ck->a, &ts, check_against(ck, e->seq.elems.at[i], fits ? w->elems.at[i] : NULL));
    return ty_tuple(ck, ts);
}

static AType *check_record(Ck *ck, AExp *e)
{
    AType *t = ty_tuple(ck, (ATypes){0});
    t->kind = TY_RECORD;
    for (int i = 0; i < e->seq.elems.n; i++) {
        const char *name = e->seq.names.at[i];
        AType *f = check_exp(ck, e->seq.elems.at[i]);
        if (!ty_part_add(ck, t, name, f))
            ck_error(ck, e->seq.elems.at[i]->loc, "field `%s` stands twice in this record", name);
    }
    return t;
}

static AType *check_array(Ck *ck, AExp *e, AType *want)
{
    AType *w = want ? type_deref(want) : NULL;
    AType *elem = ty_meta(ck, TC_VALUE, e->loc);
    AType *expected = w && w->kind == TY_ARRAY ? w->array.elem : NULL;
    for (int i = 0; i < e->seq.elems.n; i++) {
        AExp *x = e->seq.elems.at[i];
        AType *t = check_against(ck, x, i ? elem : expected);
        require(ck, x, elem, t, i ? "this element" : "an array element");
    }
    return ty_array(ck, sz_const(ck, e->seq.elems.n), elem);
}

static AType *check_string(Ck *ck, AExp *e)
{
    for (int i = 0; i < e->seq.elems.n; i++)
        check_exp(ck, e->seq.elems.at[i]);
    return ty_array(ck, sz_const(ck, e->seq.elems.n), ty_scalar(ck, T_U8));
}

static bool is_negative(const AExp *e)
{
    return e->kind == AE_APP && e->app.fn->kind == AE_VAR && e->app.fn->var.bind &&
           e->app.fn->var.bind->builtin == BI_NEG;
}

/* Whether e is a literal of any integer type, which does not wrap around in it, maybe with a minus
 * sign before it. */
static bool literal_number(const AExp *e, int64_t *v)
{
    e = size_exp_essence(e);
    bool minus = is_negative(e);
    e = minus ? size_exp_essence(e->app.args.at[0]) : e;
    if (e->kind != AE_LIT || e->lit.is_float || !e->type)
        return false;
    const AType *t = type_deref(e->type);
    PrimType p = t->kind == TY_SCALAR ? t->scalar : T_I64;
    int bits = prim_bits(p) - prim_is_signed(p);
    uint64_t most = bits < 63 ? ((uint64_t)1 << bits) - !minus : INT64_MAX;
    if ((minus && !prim_is_signed(p)) || e->lit.bits > most)
        return false;
    *v = minus ? -(int64_t)e->lit.bits : (int64_t)e->lit.bits;
    return true;
}

/* Whether e is a number that is known now. */
static bool known_number(Ck *ck, const AExp *e, int64_t *v)
{
    return literal_number(e, v) || sz_value(sz_of_exp(ck, e), v);
}

/* The size of a range with elements of type t, if it goes up by 1: 0..<n and 1...n, also as
 * 0..1..<n and 1..2...n, are what iota is, and what the lowering makes n elements of. Others that
 * say their step may be empty, and ends may be narrower than sizes. */
static Size *range_size(Ck *ck, const AExp *e, const AType *t)
{
    bool to = e->range.kind == RANGE_TO, down = e->range.kind == RANGE_ABOVE;
    int64_t from, second, end, count;
    bool starts = known_number(ck, e->range.start, &from);
    bool unit = starts && e->range.second && known_number(ck, e->range.second, &second) &&
                second > from && second - 1 == from;
    if (down || (e->range.second && !unit))
        return sz_unknown(ck, e->loc);
    bool ends = starts && known_number(ck, e->range.end, &end);
    if (ends && end >= from && !__builtin_sub_overflow(end, from, &count) &&
        !__builtin_add_overflow(count, to, &count))
        return sz_const(ck, count);
    t = type_deref(t);
    if (t->kind == TY_ERROR)
        return sz_error(ck, e->loc);
    if (ends || t->kind != TY_SCALAR || t->scalar != T_I64)
        return sz_unknown(ck, e->loc);
    Size *n = sz_of_exp(ck, e->range.end);
    if (starts && from == to)
        return n;
    if (unit)
        return sz_unknown(ck, e->loc);
    n = sz_op(ck, '-', n, sz_of_exp(ck, e->range.start));
    return to ? sz_op(ck, '+', n, sz_const(ck, 1)) : n;
}

static AType *check_range(Ck *ck, AExp *e)
{
    AType *t = ty_meta(ck, TC_INT, e->loc);
    check_is(ck, e->range.start, t, "start of a range");
    if (e->range.second)
        check_is(ck, e->range.second, t, "second element of a range");
    check_is(ck, e->range.end, t, "end of a range");
    return ty_array(ck, range_size(ck, e, t), t);
}

/* --- Fields --------------------------------------------------------------------------------- */

static AType *check_proj(Ck *ck, AExp *e)
{
    if (is_member(ck, e))
        return check_var(ck, e);
    return ty_plain(ck, field_of(ck, check_exp(ck, e->proj.e), e->proj.names.at[0], e->loc));
}

/* --- Indexing ------------------------------------------------------------------------------- */

static void check_index_exp(Ck *ck, AExp *i, const char *what)
{
    bool literal = i->kind == AE_LIT && !i->lit.suffixed && !i->lit.is_float;
    check_is(ck, i, literal ? ty_scalar(ck, T_I64) : ty_meta(ck, TC_INT, i->loc), what);
}

static bool is_one(const AExp *e)
{
    return e->kind == AE_LIT && !e->lit.is_float && e->lit.bits == 1;
}

/* The size of a slice, NULL where its text does not say it. */
static Size *slice_size(Ck *ck, const ADimIndex *d, Size *dim)
{
    bool up = !d->s || is_one(d->s),
         down = !up && is_negative(d->s) && is_one(d->s->app.args.at[0]);
    if (!d->i && !d->j)
        return up || down ? dim : NULL;
    if ((d->i && is_negative(d->i)) || (d->j && is_negative(d->j)) ||
        !(up || (down && d->i && d->j)))
        return NULL;
    Size *end = d->j ? sz_of_exp(ck, d->j) : dim, *start = d->i ? sz_of_exp(ck, d->i) : NULL;
    if (end->wrong || (start && start->wrong))
        return end->wrong ? end : start;
    if ((d->j && end->kind == SZ_UNKNOWN) || (start && start->kind == SZ_UNKNOWN))
        return NULL;
    return down ? sz_op(ck, '-', start, end) : start ? sz_op(ck, '-', end, start) : end;
}

/* The type of the array with this dimension; of what is not one, an error's. k: dims[k] is the
 * index. */
static AType *indexed(Ck *ck, AType *t, const AType *whole, const ADimIndices *dims, int k, Loc loc)
{
    t = type_deref(t);
    if (t->kind == TY_META) {
        AType *arr = ty_array(ck, sz_meta(ck, loc), ty_meta(ck, TC_VALUE, loc));
        if (ty_unify(ck, t, arr))
            t = arr;
    }
    if (t->kind == TY_ARRAY || t->kind == TY_ERROR)
        return t;
    if (k)
        ck_error(ck, dims->at[k].loc, "%d indices for an array of %d dimension%s (`%s`)", dims->n,
                 k, k == 1 ? "" : "s", show(ck, whole));
    else
        ck_error(ck, loc, "only arrays can be indexed, not %s", said(ck, whole));
    return ty_error(ck);
}

static void check_slice(Ck *ck, const ADimIndex *d)
{
    AType *i64 = ty_scalar(ck, T_I64);
    if (d->i)
        check_is(ck, d->i, i64, "start of a slice");
    if (d->j)
        check_is(ck, d->j, i64, "end of a slice");
    if (d->s)
        check_is(ck, d->s, i64, "stride of a slice");
}

/* The type of t[dims]; all of dims is checked after an error, too. Sizes of slices that are not
 * known are unknown; of an update, all but those of whole dimensions are those of the new value:
 * the run compares. */
static AType *check_dims(Ck *ck, AType *t, const ADimIndices *dims, bool update, Loc loc)
{
    AType *whole = t;
    VEC(Size *) kept = {0};
    for (int i = 0; i < dims->n; i++) {
        ADimIndex *d = &dims->at[i];
        t = indexed(ck, t, whole, dims, i, loc);
        if (d->slice)
            check_slice(ck, d);
        else
            check_index_exp(ck, d->i, "an index");
        if (t->kind == TY_ERROR)
            continue;
        if (d->slice) {
            bool all = !d->i && !d->j && !d->s;
            Size *n = !update || all ? slice_size(ck, d, t->array.dim) : NULL;
            n = n ? n : update ? sz_meta(ck, d->loc) : sz_unknown(ck, d->loc);
            vec_push(ck->a, &kept, n);
        }
        t = t->array.elem;
    }
    if (type_deref(t)->kind == TY_ERROR)
        return t;
    for (int i = kept.n - 1; i >= 0; i--)
        t = ty_array(ck, kept.at[i], t);
    return t;
}

/* --- Paths: sections and updates ------------------------------------------------------------ */

/* The type of the part of t that the path leads to. */
static AType *check_path(Ck *ck, AType *t, Steps *path, bool update, Loc loc)
{
    for (int i = 0; i < path->n; i++) {
        Step *s = &path->at[i];
        s->of = t;
        if (s->field)
            t = field_of(ck, t, s->field, s->loc);
        else
            t = check_dims(ck, t, &s->dims, update && i == path->n - 1, loc);
        loc = s->loc;
    }
    return t;
}

static AType *check_pathsect(Ck *ck, AExp *e, AType *want)
{
    Steps *path = &e->update.path;
    AType *w = want ? type_deref(want) : NULL;
    AType *from = w && w->kind == TY_FUN
                      ? w->fun.param
                      : ty_meta(ck, path->at[0].field ? TC_ANY : TC_VALUE, e->loc);
    AType *t = check_path(ck, from, path, false, e->loc);
    return type_deref(t)->kind == TY_ERROR ? t : ty_fun(ck, from, t);
}

/* A new value of which is seen already that the run will refuse it. */
static void check_part_sizes(Ck *ck, const AExp *value, const Step *last, AType *part)
{
    AType *t = last->of;
    for (int i = 0; i < last->dims.n; i++) {
        const ADimIndex *d = &last->dims.at[i];
        t = type_deref(t);
        part = type_deref(part);
        if (t->kind != TY_ARRAY || (d->slice && part->kind != TY_ARRAY))
            return; /* after an error */
        if (d->slice) {
            Size *n = slice_size(ck, d, t->array.dim);
            int64_t want, have;
            if (n && sz_value(n, &want) && sz_value(part->array.dim, &have) && want != have)
                ck_error(ck, value->loc,
                         "the new value has size %" PRId64 ", but the part of the array %" PRId64,
                         have, want);
            part = part->array.elem;
        }
        t = t->array.elem;
    }
}

/* Arrays in a new field may be of other sizes than those that were there. */
static AType *check_update(Ck *ck, AExp *e)
{
    Steps *path = &e->update.path;
    AType *t = ty_plain(ck, check_exp(ck, e->update.e));
    AType *part = check_path(ck, t, path, true, e->update.e->loc);
    if (type_deref(part)->kind == TY_ERROR) {
        check_exp(ck, e->update.value);
        return t;
    }
    int fields = 0;
    while (fields < path->n && path->at[fields].field)
        fields++;
    part = ty_plain(ck, part);
    if (fields == path->n)
        part = ty_any_sizes(ck, part, e->loc);
    bool ok = check_is(ck, e->update.value, part, "the new value");
    if (fields == path->n)
        return with_field(ck, t, path->at, path->n, part);
    if (ok)
        check_part_sizes(ck, e->update.value, &vec_last(path), part);
    return t;
}

/* --- Binders -------------------------------------------------------------------------------- */

/* The result of a function type for a function that has the pattern as its parameter. */
static AType *result_for(Ck *ck, AType *f, const Pat *p)
{
    Binding *name = f->fun.name, *own = name ? size_param(p, NULL) : NULL;
    Subst s = {0};
    if (!name)
        return type_deref(f->fun.result);
    subst_size(ck, &s, name, own ? sz_var(ck, own) : sz_unknown(ck, p->loc));
    return type_deref(ty_subst(ck, f->fun.result, &s));
}

static AType *check_lambda(Ck *ck, AExp *e, AType *want)
{
    Scopes scopes = scopes_now(ck);
    int first_uid = ck->n_bindings, first_id = ck->ids;
    AType *w = want ? type_deref(want) : NULL;
    bool ok = true;
    for (int i = 0; i < e->lambda.params.n; i++) {
        Pat *p = e->lambda.params.at[i];
        AType *t = check_pat(ck, p, AT_FREE);
        if (w && w->kind == TY_FUN) {
            ck_try(ck);
            ok &= ty_unify(ck, w->fun.param, t);
            if (!ok)
                ck_error(ck, p->loc, "this parameter gets %s, but has type %s%s",
                         said(ck, w->fun.param), said(ck, t), because(ck, w->fun.param, t));
            w = result_for(ck, w, p);
        } else {
            w = NULL;
        }
    }
    check_distinct(ck, NULL, &e->lambda.params);
    solve_wanted(ck, false);
    Bindings keep = {0}, exists = {0};
    for (int i = 0; i < e->lambda.params.n; i++) {
        Binding *b = size_param(e->lambda.params.at[i], NULL);
        if (b)
            vec_push(ck->a, &keep, b);
    }
    AType *ret = e->lambda.ret ? check_type(ck, e->lambda.ret, AT_FREE) : NULL;
    if (ret)
        check_result_visible(ck, e->lambda.ret, ret, &keep, first_uid);
    AType *body = check_against(ck, e->lambda.body, ret ? ret : w);
    if (ret)
        require(ck, e->lambda.body, ret, body, "the result of this function");
    scopes_back(ck, scopes);
    if (!ok)
        return ty_error(ck);
    AType *t = ty_leave(ck, ret ? ret : ty_plain(ck, body), first_uid, &keep, e->loc);
    t = seal_result(ck, t, &exists, first_id);
    for (int i = e->lambda.params.n - 1; i >= 0; i--) {
        Binding *name = size_param(e->lambda.params.at[i], t);
        t = ty_fun(ck, e->lambda.params.at[i]->type, t);
        t->fun.name = name;
        if (i == e->lambda.params.n - 1)
            t->fun.exists = exists;
    }
    return t;
}

static void bind_sizes(Ck *ck, const NameLocs *names, Bindings *out)
{
    *out = (Bindings){0};
    for (int i = 0; i < names->n; i++) {
        Binding *b = new_binding(ck, BIND_SIZE, names->at[i].name, names->at[i].loc);
        b->type = ty_scalar(ck, T_I64);
        vec_push(ck->a, out, b);
        bind_name(ck, b);
    }
}

static AType *check_let(Ck *ck, AExp *e, AType *want)
{
    Scopes scopes = scopes_now(ck);
    bool typed = pat_says_type(e->let.pat) && !e->let.size_names.n;
    AType *rhs = typed ? NULL : ty_plain(ck, check_exp(ck, e->let.rhs));
    int first_uid = ck->n_bindings;
    bind_sizes(ck, &e->let.size_names, &e->let.sizes);
    AType *p = check_pat(ck, e->let.pat, AT_FREE);
    if (typed) { /* the type that is written is known to the value, the names are not */
        Scopes inside = scopes_now(ck);
        scopes_back(ck, scopes);
        rhs = ty_plain(ck, check_against(ck, e->let.rhs, p));
        scopes_back(ck, inside);
    }
    if (check_distinct(ck, &e->let.sizes, &(Pats){&e->let.pat, 1, 1}))
        check_names_used(ck, &e->let.sizes, p);
    Subst s = {0}; /* sizes bound here take whatever is there */
    for (int i = 0; i < e->let.sizes.n; i++)
        subst_size(ck, &s, e->let.sizes.at[i], sz_meta(ck, e->loc));
    ck_try(ck);
    if (!ty_unify(ck, ty_subst(ck, p, &s), rhs))
        ck_error(ck, e->let.pat->loc, "this pattern has type %s, but is given %s%s", said(ck, p),
                 said(ck, rhs), because(ck, p, rhs));
    solve_wanted(ck, false);
    AType *t = check_against(ck, e->let.body, want);
    scopes_back(ck, scopes);
    Binding *n = size_param(e->let.pat, t);
    if (n) { /* outside, the variable is what it was defined as */
        Subst def = {0};
        subst_size(ck, &def, n, sz_of_exp(ck, e->let.rhs));
        AType *told = ty_subst(ck, t, &def);
        if (ty_fits(told, MAX_TYPE_PARTS / 10)) /* else, as after many `let n = n + n`, unknown */
            t = told;
    }
    return ty_leave(ck, t, first_uid, NULL, e->let.pat->loc);
}

static AType *check_letfun(Ck *ck, AExp *e, AType *want)
{
    Scopes scopes = scopes_now(ck);
    int first_uid = ck->n_bindings;
    check_def(ck, e->letfun.def);
    AType *t = check_against(ck, e->letfun.body, want);
    scopes_back(ck, scopes);
    return ty_leave(ck, t, first_uid, NULL, e->letfun.def->loc);
}

static AType *check_if(Ck *ck, AExp *e, AType *want)
{
    check_is(ck, e->cond.test, ty_scalar(ck, T_BOOL), "condition of `if`");
    AType *a = ty_plain(ck, check_against(ck, e->cond.then, want));
    AType *b = ty_plain(ck, check_against(ck, e->cond.els, want ? want : a));
    ck_try(ck);
    AType *t = ty_join(ck, a, b, e->loc);
    if (!t) {
        ck_error(ck, e->cond.els->loc, "branches of `if` differ: this one is %s, the other %s%s",
                 said(ck, b), said(ck, a), because(ck, a, b));
        ck_note(ck, e->cond.then->loc, "the other branch is here");
        return ty_error(ck);
    }
    return value_only(ck, t, e->loc, "an `if`") ? t : ty_error(ck);
}

static bool is_anonymous(const Size *s, int first_id)
{
    s = size_deref(s);
    return s->kind == SZ_META && s->id >= first_id;
}

/* An anonymous size of a coercion, made since first_id, is that of the value, also if nobody needs
 * that. Whether something decides the value's. */
static bool take_size(Ck *ck, Size *to, Size *have, int first_id)
{
    to = size_deref(to);
    have = size_deref(have);
    bool idle = have->kind == SZ_META && have->idle;
    if (!is_anonymous(to, first_id))
        return !idle || to == have;
    if (idle && to != have) {
        save_size(ck, to);
        to->idle = true;
    }
    sz_unify(ck, to, have);
    return true;
}

static bool take_sizes(Ck *ck, AType *to, AType *have, int first_id)
{
    bool decided = true;
    to = type_deref(to);
    have = type_deref(have);
    if (to->kind != have->kind)
        return true;
    if (to->kind == TY_ARRAY) {
        decided = take_size(ck, to->array.dim, have->array.dim, first_id);
        decided &= take_sizes(ck, to->array.elem, have->array.elem, first_id);
    }
    for (int i = 0; type_is_composite(to) && i < to->elems.n && i < have->elems.n; i++)
        decided &= take_sizes(ck, to->elems.at[i], have->elems.at[i], first_id);
    for (int i = 0; to->kind == TY_VAR && to->var == have->var && i < to->sargs.n; i++)
        decided &= take_size(ck, to->sargs.at[i], have->sargs.at[i], first_id);
    return decided;
}

static AType *check_ascribe(Ck *ck, AExp *e)
{
    bool coerce = e->kind == AE_COERCE;
    int first_id = ck->ids;
    AType *to = check_type(ck, e->ascribe.te, AT_FREE);
    AType *have = ty_plain(ck, check_against(ck, e->ascribe.e, to));
    if (coerce && !take_sizes(ck, to, have, first_id) && e->ascribe.e->kind == AE_CONSTR)
        ck_error(
            ck, e->ascribe.e->loc,
            "a size of this (`%s`) is ambiguous: the coercion compares it, but does not decide it",
            show(ck, have));
    ck_try(ck);
    /* Of a coercion all sizes are checked when the program runs. */
    if (coerce ? !ty_join(ck, to, have, e->loc) : !ty_unify(ck, to, have)) {
        ck_error(ck, e->loc, "this is %s, not %s%s", said(ck, have), said(ck, to),
                 because(ck, to, have));
        note_default(ck, e->ascribe.e);
    }
    e->ascribe.to = to;
    return ty_plain(ck, to);
}

static AType *check_attributed(Ck *ck, AExp *e, AType *want)
{
    const Attrs *as = &e->attr.attrs;
    const Attr *param = attr_find(as, "param");
    for (int i = 0; i < as->n; i++)
        check_attr(ck, as->at[i]);
    if (!param)
        return check_against(ck, e->attr.e, want);
    if (!attr_param(as))
        ck_error(ck, param->loc,
                 "`param` takes the name of a tuning parameter: `#[param(block)] 64`");
    check_is(ck, e->attr.e, ty_scalar(ck, T_I64), "value of a tuning parameter");
    return ty_scalar(ck, T_I64);
}

static AType *infer_form(Ck *ck, AExp *e, AType *want)
{
    switch (e->kind) {
    case AE_LIT:
        return e->lit.suffixed ? ty_scalar(ck, e->lit.scalar)
                               : ty_meta(ck, e->lit.is_float ? TC_FLOAT : TC_NUM, e->loc);
    case AE_HOLE:
        e->hole.scope = ck->scopes[SPACE_TERM];
        return want ? ty_idle_sizes(ck, want, e->loc) : ty_meta(ck, TC_ANY, e->loc);
    case AE_VAR: return check_var(ck, e);
    case AE_TUPLE: return check_tuple(ck, e, want);
    case AE_RECORD: return check_record(ck, e);
    case AE_ARRAY: return check_array(ck, e, want);
    case AE_STRING: return check_string(ck, e);
    case AE_RANGE: return check_range(ck, e);
    case AE_APP: return check_app(ck, e, want);
    case AE_OPSECT: return check_opsect(ck, e);
    case AE_PATHSECT: return check_pathsect(ck, e, want);
    case AE_LAMBDA: return check_lambda(ck, e, want);
    case AE_PROJ: return check_proj(ck, e);
    case AE_INDEX:
        return check_dims(ck, ty_plain(ck, check_exp(ck, e->index.e)), &e->index.dims, false,
                          e->index.e->loc);
    case AE_UPDATE: return check_update(ck, e);
    case AE_IF: return check_if(ck, e, want);
    case AE_LET: return check_let(ck, e, want);
    case AE_LETFUN: return check_letfun(ck, e, want);
    case AE_LOOP: return check_loop(ck, e, want);
    case AE_ASCRIBE:
    case AE_COERCE: return check_ascribe(ck, e);
    case AE_ASSERT:
        check_is(ck, e->assertion.test, ty_scalar(ck, T_BOOL), "condition of `assert`");
        return check_against(ck, e->assertion.e, want);
    case AE_ATTR: return check_attributed(ck, e, want);
    case AE_CONSTR: return check_constr(ck, e, want);
    case AE_MATCH: return check_match(ck, e, want);
    }
    ice(e->loc, "expression of unknown kind");
}
