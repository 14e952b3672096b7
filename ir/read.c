/* Reads the text form of the IR; the grammar is atop print.c.
 *
 * The text is cut into tokens first, so that lists may be gone over twice: a pattern or parameter
 * list may mention in a type a size that the same list binds further on. Recursive descent, a
 * function per nonterminal; the first error ends the reading. */
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

/* --- Bodies --------------------------------------------------------------------------------- */

static Exp *read_exp(Reader *r);

/* The scope of the body ends with it. */
static Body *read_body(Reader *r)
{
    int mark = r->undo.n;
    Bld bl = bld_new(r->cx);
    read_expect(r, '{', "'{'");
    while (read_accept_word(r, "let")) {
        int pat = r->pos;
        read_skip_pattern(r);
        read_expect(r, '=', "'='");
        Exp *e = read_exp(r);
        int end = r->pos;
        r->pos = pat;
        Stm s = {read_pattern(r), e};
        bld_stm(&bl, s);
        r->pos = end;
    }
    read_expect_word(r, "in");
    Atoms res = {0};
    if (read_peek(r)->kind == '(') {
        res = read_atoms(r, '(', ')');
    } else {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &res, a);
    }
    read_expect(r, '}', "'}'");
    read_leave_scope(r, mark);
    return bld_body(&bl, res);
}

static Lambda *read_lambda(Reader *r)
{
    int mark = r->undo.n;
    read_expect(r, '\\', "a lambda");
    read_expect(r, '(', "'('");
    Vars params = read_params(r, ')', NULL, NULL);
    read_expect(r, K_ARROW, "'->'");
    Body *b = read_body(r);
    read_leave_scope(r, mark);
    return lambda_new(r->cx, params, b);
}

/* --- Expressions ---------------------------------------------------------------------------- */

static DimIndexes read_at(Reader *r, Atom arr, bool *safe)
{
    DimIndexes at = {0};
    Type t = atom_type(arr);
    const Token *open = read_expect(r, '[', "'['");
    do {
        DimIndex d = {false, atom_i64(0), atom_i64(1), atom_i64(1)};
        if (read_accept(r, ':')) {
            if (at.n >= t.rank)
                read_fail(r, open->loc, "more positions than dimensions");
            d = (DimIndex){true, atom_i64(0), t.dims[at.n], atom_i64(1)};
        } else {
            d.start = read_atom(r);
            d.is_slice = read_accept(r, ':');
            if (d.is_slice) {
                d.n = read_atom(r);
                read_expect(r, ':', "':'");
                d.stride = read_atom(r);
            }
        }
        vec_push(r->cx->perm, &at, d);
    } while (read_more(r, ']', "']'"));
    *safe = read_accept(r, '!');
    return at;
}

static void read_perm(Reader *r, Exp *e)
{
    VEC(int) perm = {0};
    const Token *open = read_expect(r, '(', "'('");
    do {
        int d = read_small(r, "a dimension");
        vec_push(r->cx->perm, &perm, d);
    } while (read_more(r, ')', "')'"));
    e->rearrange.perm = perm.at;
    e->rearrange.arr = read_atom(r);
    if (atom_type(e->rearrange.arr).rank != perm.n)
        read_fail(r, open->loc, "%d dimensions of an array of rank %d", perm.n,
                  atom_type(e->rearrange.arr).rank);
}

static void read_loop(Reader *r, Exp *e)
{
    int mark = r->undo.n;
    read_expect(r, '(', "'('");
    e->loop.params = read_params(r, ')', &e->loop.inits, NULL);
    if (read_accept_word(r, "for")) {
        e->loop.kind = LOOP_FOR;
        const Token *i = read_expect(r, K_NAME, "a name");
        read_expect(r, ':', "':'");
        PrimType p = read_prim(r);
        read_expect(r, '<', "'<'");
        e->loop.bound = read_atom(r);
        e->loop.i = read_bind(r, i);
        e->loop.i->type = type_prim(p);
    } else {
        read_expect_word(r, "while");
        e->loop.kind = LOOP_WHILE;
        const Token *t = read_peek(r);
        e->loop.cond = read_atom(r).var;
        if (!e->loop.cond)
            read_fail(r, t->loc, "expected a parameter of the loop");
    }
    read_expect_word(r, "do");
    e->loop.body = read_body(r);
    read_leave_scope(r, mark);
}

static Dests read_dests(Reader *r)
{
    Dests ds = {0};
    read_expect_word(r, "into");
    read_expect(r, '(', "'('");
    if (read_accept(r, ')'))
        return ds;
    do {
        Dest d = {.arr = read_atom(r)};
        read_expect(r, '@', "'@'");
        d.rank = read_small(r, "a number of index components");
        vec_push(r->cx->perm, &ds, d);
    } while (read_more(r, ')', "')'"));
    return ds;
}

static Lambda *read_op(Reader *r, Atoms *nes)
{
    read_expect_word(r, "op");
    Lambda *op = read_lambda(r);
    read_expect_word(r, "nes");
    *nes = read_atoms(r, '(', ')');
    return op;
}

static void read_soac(Reader *r, Exp *e)
{
    e->soac.comm = read_accept_word(r, "comm");
    e->soac.width = read_atom(r);
    e->soac.arrs = read_atoms(r, '(', ')');
    if (exp_is(e, F_OP))
        e->soac.op = read_op(r, &e->soac.nes);
    if (exp_is(e, F_DESTS))
        e->soac.dests = read_dests(r);
    if (!exp_is(e, F_FN))
        return;
    if (exp_is(e, F_OP))
        read_expect_word(r, "fn");
    e->soac.fn = read_lambda(r);
}

static void read_suff(Reader *r, Exp *e)
{
    e->suff.intra = read_accept_word(r, "intra");
    if (!e->suff.intra)
        read_expect_word(r, "outer");
    e->suff.name = read_expect(r, K_STR, "the threshold's name")->text;
    read_expect_word(r, "path");
    read_expect(r, '(', "'('");
    if (!read_accept(r, ')'))
        do {
            PathStep step = {.taken = !read_accept(r, '!')};
            step.name = read_expect(r, K_STR, "a threshold's name")->text;
            vec_push(r->cx->perm, &e->suff.path, step);
        } while (read_more(r, ')', "')'"));
    e->suff.par = read_atom(r);
    e->suff.work = read_accept_word(r, "of") ? read_atom(r) : e->suff.par;
    bool spares = read_accept_word(r, "spares");
    e->suff.spared = spares ? read_atom(r) : atom_i64(0);
    if (read_accept_word(r, "never"))
        e->suff.never = read_expect(r, K_STR, "why")->text;
    e->suff.steps = spares && !e->suff.never ? read_atom(r) : atom_i64(0);
    e->suff.elems = spares && !e->suff.never ? read_atom(r) : atom_i64(0);
    e->suff.units = read_accept_word(r, "units") ? read_atom(r) : atom_i64(0);
    e->suff.balanced = read_accept_word(r, "balanced");
    e->suff.blocks = read_accept_word(r, "blocks");
}

/* "<" was read. The x's are bound behind their arrays, which belong to the scope outside. */
static NestDim read_nest_dim(Reader *r)
{
    NestDim nd = {0};
    VEC(Token) names = {0};
    int start = r->pos;
    bool has_xs = read_peek_at(r, 1)->kind != '<';
    while (has_xs) {
        vec_push(r->cx->perm, &names, *read_expect(r, K_NAME, "a name"));
        if (read_accept(r, ':'))
            read_skip_type(r);
        if (!read_accept(r, ','))
            break;
    }
    if (has_xs) {
        read_expect_word(r, "in");
        for (int i = 0; i < names.n; i++) {
            const Token *t = read_peek(r);
            Atom a = read_atom(r);
            if (atom_type(a).rank == 0)
                read_fail(r, t->loc, "%s is not an array", t->text);
            vec_push(r->cx->perm, &nd.arrs, a);
            if (i + 1 < names.n)
                read_expect(r, ',', "','");
        }
        read_expect(r, ';', "';'");
    }
    const Token *idx = read_expect(r, K_NAME, "a name");
    read_expect(r, '<', "'<'");
    nd.width = read_atom(r);
    const Token *row = read_accept(r, ';') ? read_expect(r, K_NAME, "a name") : NULL;
    if (row) {
        read_expect(r, '<', "'<'");
        nd.rows = read_atom(r);
        read_expect_word(r, "by");
        nd.offs = read_atom(r);
    }
    read_expect(r, '>', "'>'");
    nd.idx = read_bind(r, idx);
    if (row)
        nd.row = read_bind(r, row);
    int end = r->pos;
    r->pos = start;
    for (int i = 0; i < names.n; i++) {
        r->pos++;
        Type t = read_accept(r, ':') ? read_type(r) : type_row(atom_type(nd.arrs.at[i]));
        r->pos++;
        Var *v = read_bind(r, &names.at[i]);
        v->type = t;
        vec_push(r->cx->perm, &nd.xs, v);
    }
    r->pos = end;
    return nd;
}

static void read_seg(Reader *r, Exp *e)
{
    int mark = r->undo.n;
    read_expect(r, '^', "'^'");
    e->seg.level = read_small(r, "a level");
    e->seg.comm = read_accept_word(r, "comm");
    e->seg.inspects = read_accept_word(r, "inspects");
    read_expect(r, '<', "'<'");
    do {
        NestDim nd = read_nest_dim(r);
        vec_push(r->cx->perm, &e->seg.nest, nd);
    } while (read_accept(r, '<'));
    if (exp_is(e, F_OP))
        e->seg.op = read_op(r, &e->seg.nes);
    if (exp_is(e, F_DESTS))
        e->seg.dests = read_dests(r);
    e->seg.body = read_body(r);
    read_leave_scope(r, mark);
}

static void read_prim_exp(Reader *r, Exp *e, const char *op)
{
    e->kind = E_PRIM;
    for (int i = 0; i < N_PRIM_OPS; i++)
        if (strcmp(op, prim_info[i].text) == 0)
            e->prim.op = (PrimOp)i;
    read_expect(r, '.', "'.'");
    e->prim.type = read_prim(r);
    for (int i = 0; i < prim_info[e->prim.op].arity; i++) {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &e->prim.args, a);
    }
}

static unsigned read_attr(Reader *r)
{
    read_expect(r, '[', "'['");
    const Token *t = read_expect(r, K_NAME, "an attribute");
    if (strcmp(t->text, "stripmine") == 0) {
        read_expect(r, '(', "'('");
        int n = atoi(read_expect(r, K_NUM, "how deep the nest is")->text);
        read_expect(r, ')', "')'");
        read_expect(r, ']', "']'");
        return attr_with_strips(0, n < 0 || n > MOST_STRIPS ? MOST_STRIPS : (unsigned)n);
    }
    read_expect(r, ']', "']'");
    for (int i = 0; i < N_ATTRS; i++)
        if (strcmp(attr_text[i], t->text) == 0)
            return 1u << i;
    read_fail(r, t->loc, "%s is not an attribute", t->text);
}

static const Function *function_named(const Reader *r, const char *name)
{
    for (int i = 0; i < r->functions.n; i++)
        if (strcmp(r->functions.at[i]->name, name) == 0)
            return r->functions.at[i];
    return NULL;
}

static void read_call(Reader *r, Exp *e)
{
    const Token *t = read_expect(r, K_NAME, "a function's name");
    e->call.fn = function_named(r, t->text);
    if (!e->call.fn)
        read_fail(r, t->loc, "there is no function %s", t->text);
    e->call.args = read_atoms(r, '(', ')');
}

/* The parts of the form `e->kind` behind its keyword. */
static void read_form(Reader *r, Exp *e)
{
    switch (exp_member(e)) {
    case M_conv:
        read_expect(r, '.', "'.'");
        e->conv.from = read_prim(r);
        read_expect(r, '.', "'.'");
        e->conv.to = read_prim(r);
        e->conv.arg = read_atom(r);
        break;
    case M_call: read_call(r, e); break;
    case M_update:
        e->update.arr = read_atom(r);
        e->update.at = read_at(r, e->update.arr, &e->update.safe);
        read_expect(r, '=', "'='");
        e->update.val = read_atom(r);
        break;
    case M_iota:
        e->iota.n = read_atom(r);
        e->iota.start = read_atom(r);
        e->iota.stride = read_atom(r);
        break;
    case M_replicate:
        e->replicate.dims = read_atoms(r, '[', ']');
        e->replicate.val = read_atom(r);
        break;
    case M_scratch: e->scratch.type = read_type(r); break;
    case M_arraylit:
        e->arraylit.elem = read_type(r);
        e->arraylit.elems = read_atoms(r, '[', ']');
        break;
    case M_concat:
        e->concat.dim = read_small(r, "a dimension");
        e->concat.n = read_atom(r);
        e->concat.arrs = read_atoms(r, '(', ')');
        break;
    case M_rearrange: read_perm(r, e); break;
    case M_reshape:
        e->reshape.dims = read_atoms(r, '[', ']');
        e->reshape.arr = read_atom(r);
        break;
    case M_copy: e->copy.arr = read_atom(r); break;
    case M_branch:
        e->branch.test = read_atom(r);
        read_expect_word(r, "then");
        e->branch.then_ = read_body(r);
        read_expect_word(r, "else");
        e->branch.else_ = read_body(r);
        break;
    case M_loop: read_loop(r, e); break;
    case M_assertion:
        e->assertion.cond = read_atom(r);
        e->assertion.msg = read_expect(r, K_STR, "a message")->text;
        e->assertion.args = read_atoms(r, '(', ')');
        break;
    case M_trace: read_fail(r, e->loc, "a trace cannot be read");
    case M_soac: read_soac(r, e); break;
    case M_deriv:
        e->deriv.args = read_atoms(r, '(', ')');
        e->deriv.seeds = read_atoms(r, '(', ')');
        e->deriv.fn = read_lambda(r);
        if (e->kind == E_WITH_VJP)
            e->deriv.back = read_lambda(r);
        break;
    case M_suff: read_suff(r, e); break;
    case M_ranks:
        if (e->kind == E_PEER) {
            read_expect(r, '.', "'.'");
            e->ranks.type = read_prim(r);
        }
        if (e->kind == E_SHARED)
            e->ranks.name = read_expect(r, K_STR, "the threshold's name")->text;
        e->ranks.args = read_atoms(r, '(', ')');
        break;
    case M_seg: read_seg(r, e); break;
    case M_atom:
    case M_prim:
    case M_index:
    case N_MEMBERS: ice(e->loc, "form without a keyword");
    }
}

static bool is_prim_op(const char *text)
{
    for (int i = 0; i < N_PRIM_OPS; i++)
        if (strcmp(text, prim_info[i].text) == 0)
            return true;
    return false;
}

static Exp *read_exp(Reader *r)
{
    unsigned attrs = 0;
    while (read_accept(r, '#'))
        attrs |= read_attr(r);
    const Token *t = read_peek(r);
    Exp *e = exp_new(r->cx, E_ATOM, t->loc);
    e->attrs = attrs;
    if (t->kind == K_NAME)
        for (int k = 0; k < N_FORMS; k++)
            if (*form_info[k].text && strcmp(t->text, form_info[k].text) == 0)
                e->kind = (ExpKind)k;
    if (e->kind != E_ATOM) {
        read_next(r);
        read_form(r, e);
    } else if (t->kind == K_NAME && read_peek_at(r, 1)->kind == '.' && is_prim_op(t->text)) {
        read_next(r);
        read_prim_exp(r, e, t->text);
    } else {
        e->atom = read_atom(r);
        if (read_peek(r)->kind == '[') {
            Atom arr = e->atom;
            e->kind = E_INDEX;
            e->index.arr = arr;
            e->index.at = read_at(r, arr, &e->index.safe);
        }
    }
    e->loc.end = r->toks.at[r->pos - 1].loc.end;
    return e;
}

/* --- Entries -------------------------------------------------------------------------------- */

static ExtType read_ext(Reader *r);

/* In these brackets. */
static ExtType *read_ext_list(Reader *r, int *n)
{
    VEC(ExtType) xs = {0};
    read_expect(r, '(', "'('");
    if (!read_accept(r, ')'))
        do {
            ExtType x = read_ext(r);
            vec_push(r->cx->perm, &xs, x);
        } while (read_more(r, ')', "')'"));
    *n = xs.n;
    return xs.at;
}

/* "name" [1, 2] (types) */
static ExtVariant read_variant(Reader *r)
{
    ExtVariant v = {.name = read_expect(r, K_STR, "a variant's name")->text};
    VEC(int) places = {0};
    read_expect(r, '[', "'['");
    if (!read_accept(r, ']'))
        do {
            int place = read_small(r, "the number of a value");
            vec_push(r->cx->perm, &places, place);
        } while (read_more(r, ']', "']'"));
    v.n_places = places.n;
    v.places = places.at;
    v.holds = read_ext_list(r, &v.n);
    return v;
}

static ExtType read_ext(Reader *r)
{
    ExtType x = {.text = read_expect(r, K_STR, "a type in quotes")->text, .n_vals = -1};
    if (read_accept_word(r, "as"))
        x.alias = read_expect(r, K_STR, "the abbreviation in quotes")->text;
    if (read_accept(r, '#'))
        x.n_vals = read_small(r, "a number of values");
    int sum = 0;
    if (read_accept(r, '{')) {
        VEC(const char *) names = {0};
        VEC(ExtType) fields = {0};
        do {
            vec_push(r->cx->perm, &names, read_expect(r, K_STR, "a field's name")->text);
            read_expect(r, ':', "':'");
            ExtType f = read_ext(r);
            sum += f.n_vals;
            vec_push(r->cx->perm, &fields, f);
        } while (read_more(r, '}', "'}'"));
        x.n_fields = fields.n;
        x.fields = fields.at;
        x.field_names = names.at;
    }
    VEC(ExtVariant) variants = {0};
    while (read_accept_word(r, "or")) {
        ExtVariant v = read_variant(r);
        vec_push(r->cx->perm, &variants, v);
    }
    x.n_variants = variants.n;
    x.variants = variants.at;
    if (read_accept_word(r, "of")) {
        x.rank = read_small(r, "a number of dimensions");
        x.elem = NEW(r->cx->perm, ExtType);
        *x.elem = read_ext(r);
        sum = x.elem->n_vals;
    }
    if (x.n_vals < 0)
        x.n_vals = x.n_fields || x.elem ? sum : 1;
    return x;
}

static ExtParams read_exts(Reader *r)
{
    ExtParams ps = {0};
    read_expect(r, '(', "'('");
    if (read_accept(r, ')'))
        return ps;
    do {
        ExtParam p = {0};
        if (read_peek(r)->kind == K_STR && read_peek_at(r, 1)->kind == ':') {
            p.name = read_next(r)->text;
            read_next(r);
        }
        p.unique = read_accept(r, '*');
        p.type = read_ext(r);
        vec_push(r->cx->perm, &ps, p);
    } while (read_more(r, ')', "')'"));
    return ps;
}

/* The type as the user would write it, without sizes. */
static ExtType plain_ext(Ctx *cx, Type t)
{
    Out o = {0};
    for (int i = 0; i < t.rank; i++)
        out_puts(&o, "[]");
    out_puts(&o, prim_type_text[t.elem]);
    ExtType x = {.text = arena_strdup(cx->perm, o.text), .n_vals = 1};
    out_free(&o);
    return x;
}

/* tuned by "block" block_7, "depth" depth_8 */
static UserParams read_user_params(Reader *r)
{
    UserParams ps = {0};
    if (!read_accept_word(r, "tuned"))
        return ps;
    read_expect_word(r, "by");
    do {
        const char *name = read_expect(r, K_STR, "a tuning parameter's name")->text;
        UserParam p = {name, read_bind(r, read_expect(r, K_NAME, "a name"))};
        vec_push(r->cx->perm, &ps, p);
    } while (read_accept(r, ','));
    return ps;
}

static Entry read_entry(Reader *r)
{
    int mark = r->undo.n;
    Entry en = {0};
    const Token *name = read_expect(r, K_NAME, "the entry's name");
    en.name = name->text;
    en.loc = name->loc;
    if (read_accept(r, '[') && !read_accept(r, ']'))
        do {
            Var *v = read_bind(r, read_expect(r, K_NAME, "a name"));
            vec_push(r->cx->perm, &en.sizes, v);
        } while (read_more(r, ']', "']'"));
    read_expect(r, '(', "'('");
    bool *unique = NEWN(r->cx->perm, bool, r->toks.n);
    en.params = read_params(r, ')', NULL, unique);
    en.user_params = read_user_params(r);
    bool takes = read_accept_word(r, "takes");
    if (takes)
        en.ext_params = read_exts(r);
    for (int i = 0; !takes && i < en.params.n; i++) {
        Var *v = en.params.at[i];
        ExtParam p = {v->base, unique[i], plain_ext(r->cx, v->type)};
        vec_push(r->cx->perm, &en.ext_params, p);
    }
    bool gives = read_accept_word(r, "gives");
    if (gives)
        en.ext_results = read_exts(r);
    read_expect(r, '=', "'='");
    en.body = read_body(r);
    read_leave_scope(r, mark);
    for (int i = 0; !gives && i < en.body->res.n; i++) {
        ExtParam p = {NULL, false, plain_ext(r->cx, atom_type(en.body->res.at[i]))};
        vec_push(r->cx->perm, &en.ext_results, p);
    }
    return en;
}

static void read_function(Reader *r)
{
    int mark = r->undo.n;
    const Token *name = read_expect(r, K_NAME, "the function's name");
    if (function_named(r, name->text))
        read_fail(r, name->loc, "there are two functions %s", name->text);
    bool noinline = read_accept_word(r, "noinline");
    read_expect(r, '(', "'('");
    Vars params = read_params(r, ')', NULL, NULL);
    read_expect(r, '=', "'='");
    const Lambda *lam = lambda_new(r->cx, params, read_body(r));
    read_leave_scope(r, mark);
    vec_push(r->cx->perm, &r->functions, function_new(r->cx, name->text, name->loc, noinline, lam));
}

static Prog *read_prog(Reader *r)
{
    Prog *p = NEW(r->cx->perm, Prog);
    read_expect_word(r, "dialect");
    p->dialect = read_accept_word(r, "seg") ? D_SEG : D_SOAC;
    if (p->dialect == D_SOAC)
        read_expect_word(r, "soac");
    while (read_accept_word(r, "function"))
        read_function(r);
    while (read_accept_word(r, "entry")) {
        Entry en = read_entry(r);
        vec_push(r->cx->perm, &p->entries, en);
    }
    read_expect(r, K_END, "'entry'");
    return p;
}

Prog *ir_read(Ctx *cx, const char *name, const char *text, size_t n)
{
    Reader *r = NEW(cx->perm, Reader);
    r->cx = cx;
    r->src = text;
    r->n = n;
    r->marks = "()[]{},:;=<>^@!\\.*#-";
    r->base = diag_source_add(name, text, n);
    if (setjmp(r->fail))
        return NULL;
    read_lex(r);
    read_reserve_ids(r);
    Prog *p = read_prog(r);
    Loc at = {0};
    const char *wrong = ir_check_at(cx, p, &at);
    if (wrong)
        read_fail(r, at, "%s", wrong);
    return p;
}
