/* Reads the text form of the IR; the grammar is atop print.c.
 *
 * The text is cut into tokens first, so that lists may be gone over twice: a pattern or parameter
 * list may mention in a type a size that the same list binds further on. Recursive descent, a
 * function per nonterminal; the first error ends the reading. */
#include "ir/read.h"

#include "base/intern.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Going through the tokens ----------------------------------------------------------------- */

static const Token *peek(const Reader *r)
{
    return &r->toks.at[r->pos];
}

static const Token *peek_at(const Reader *r, int k)
{
    int i = r->pos + k;
    return &r->toks.at[i < r->toks.n ? i : r->toks.n - 1];
}

static const Token *next_token(Reader *r)
{
    const Token *t = peek(r);
    r->pos += t->kind != K_END;
    return t;
}

static bool accept(Reader *r, int kind)
{
    bool yes = peek(r)->kind == kind;
    r->pos += yes;
    return yes;
}

static bool is_word(const Token *t, const char *word)
{
    return t->kind == K_NAME && strcmp(t->text, word) == 0;
}

static bool accept_word(Reader *r, const char *word)
{
    bool yes = is_word(peek(r), word);
    r->pos += yes;
    return yes;
}

static const Token *expect(Reader *r, int kind, const char *what)
{
    const Token *t = peek(r);
    if (t->kind != kind)
        read_fail(r, t->loc, "expected %s, not %s", what, t->text);
    return next_token(r);
}

static void expect_word(Reader *r, const char *word)
{
    if (!accept_word(r, word))
        read_fail(r, peek(r)->loc, "expected '%s', not %s", word, peek(r)->text);
}

/* After an element of a list: another one follows (true), or the list is closed. */
static bool more(Reader *r, int close, const char *what)
{
    if (accept(r, ','))
        return true;
    expect(r, close, what);
    return false;
}

/* --- Names ------------------------------------------------------------------------------------ */

static Name *name_of(Reader *r, const char *text)
{
    Name **slot = &r->names[((uintptr_t)text >> 4) % N_BUCKETS];
    for (Name *n = *slot; n; n = n->next)
        if (n->text == text)
            return n;
    Name *n = NEW(r->cx->perm, Name);
    n->text = text;
    n->next = *slot;
    return *slot = n;
}

/* The ID of NAME_ID, 0 if there is none. */
static int id_of(const char *text)
{
    const char *p = text + strlen(text);
    while (p > text && isdigit((unsigned char)p[-1]))
        p--;
    if (!*p || p < text + 2 || p[-1] != '_' || *p == '0' || strlen(p) > 7)
        return 0;
    int id = atoi(p);
    return id <= MAX_KEPT_ID ? id : 0;
}

/* Ids are kept if none of them is in use; fresh ones then start above them. */
static void reserve_ids(Reader *r)
{
    int lo = MAX_KEPT_ID + 1, hi = 0;
    for (int i = 0; i < r->toks.n; i++) {
        int id = r->toks.at[i].kind == K_NAME ? id_of(r->toks.at[i].text) : 0;
        lo = id && id < lo ? id : lo;
        hi = id > hi ? id : hi;
    }
    r->keep_ids = lo >= var_next_id();
    r->taken = NEWN(r->cx->perm, bool, hi + 1);
    if (r->keep_ids)
        var_reserve_ids(hi + 1);
}

static Var *bind(Reader *r, const Token *t)
{
    Name *n = name_of(r, t->text);
    int id = id_of(t->text);
    if (id && n->ever_bound)
        read_fail(r, t->loc, "%s is bound twice", t->text);
    n->ever_bound = true;
    Var *v;
    if (id && r->keep_ids && !r->taken[id]) {
        r->taken[id] = true;
        v = var_new_id(r->cx, t->text, id, type_prim(T_I64), t->loc);
    } else {
        v = var_new(r->cx, t->text, type_prim(T_I64), t->loc);
    }
    vec_push(r->cx->perm, &r->undo, ((Undo){n, n->var}));
    n->var = v;
    return v;
}

static void leave_scope(Reader *r, int mark)
{
    while (r->undo.n > mark) {
        Undo u = r->undo.at[--r->undo.n];
        u.name->var = u.before;
    }
}

/* --- Atoms and types -------------------------------------------------------------------------- */

static bool find_prim(const char *text, PrimType *t)
{
    for (int i = 0; i < N_PRIM_TYPES; i++)
        if (strcmp(text, prim_type_text[i]) == 0) {
            *t = (PrimType)i;
            return true;
        }
    return false;
}

static PrimType read_prim(Reader *r)
{
    const Token *t = expect(r, K_NAME, "a scalar type");
    PrimType p;
    if (!find_prim(t->text, &p))
        read_fail(r, t->loc, "%s is not a scalar type", t->text);
    return p;
}

static Atom read_int(Reader *r, const Token *t, PrimType p, const char *digits)
{
    errno = 0;
    int64_t i = *digits == '-' ? strtoll(digits, NULL, 10) : (int64_t)strtoull(digits, NULL, 10);
    Atom a = atom_int(p, i);
    bool too_big = errno || (p != T_U64 && *digits != '-' && i < 0);
    if (too_big || a.c.i != i || (*digits == '-' && !prim_is_signed(p)))
        read_fail(r, t->loc, "%s does not fit in %s", t->text, prim_type_text[p]);
    return a;
}

static Atom read_number(Reader *r)
{
    const Token *t = next_token(r);
    size_t n = strspn(t->text, "-+.0123456789e");
    /* The exponent's e is no digit of a suffix, and no suffix begins with e. */
    const char *suffix = t->text + n;
    char *digits = arena_strndup(r->cx->perm, t->text, n);
    PrimType p = T_I64;
    if (*suffix && (!find_prim(suffix, &p) || p == T_BOOL))
        read_fail(r, t->loc, "%s is no suffix of a number", suffix);
    if (prim_is_float(p))
        return atom_float(p, p == T_F32 ? (double)strtof(digits, NULL) : strtod(digits, NULL));
    if (strpbrk(digits, ".e"))
        read_fail(r, t->loc, "%s is not an integer", t->text);
    return read_int(r, t, p, digits);
}

/* f32.inf, -f64.nan, f64.nan:BITS */
static Atom read_special_float(Reader *r, PrimType p, bool neg)
{
    next_token(r);
    expect(r, '.', "'.'");
    const Token *t = expect(r, K_NAME, "inf or nan");
    double f = (double)NAN;
    if (strcmp(t->text, "inf") == 0)
        f = (double)INFINITY;
    else if (strcmp(t->text, "nan") != 0)
        read_fail(r, t->loc, "expected inf or nan");
    Atom a = {NULL, {p, {0}}};
    a.c.f = fabs(f);
    if (t->text[0] == 'n' && accept(r, ':'))
        a.c.i = (int64_t)strtoull(expect(r, K_NUM, "the bits of the nan")->text, NULL, 10);
    a.c.i = neg ? (int64_t)((uint64_t)a.c.i | (UINT64_C(1) << 63)) : a.c.i;
    return a;
}

static Atom read_atom(Reader *r)
{
    const Token *t = peek(r);
    PrimType p;
    if (t->kind == K_NUM)
        return read_number(r);
    bool neg = t->kind == '-' && peek_at(r, 1)->kind == K_NAME;
    if (neg) {
        next_token(r);
        t = peek(r);
    }
    if (t->kind == K_NAME && find_prim(t->text, &p) && prim_is_float(p))
        return read_special_float(r, p, neg);
    if (t->kind != K_NAME || neg)
        read_fail(r, t->loc, "expected a variable or a constant, not %s", t->text);
    next_token(r);
    if (strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0)
        return atom_bool(t->text[0] == 't');
    Var *v = name_of(r, t->text)->var;
    if (!v)
        read_fail(r, t->loc, "%s is not in scope", t->text);
    return atom_var(v);
}

static Atoms read_atoms(Reader *r, int open, int close)
{
    Atoms as = {0};
    expect(r, open, open == '(' ? "'('" : "'['");
    if (accept(r, close))
        return as;
    do {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &as, a);
    } while (more(r, close, close == ')' ? "')'" : "']'"));
    return as;
}

static Type read_type(Reader *r)
{
    Atoms dims = {0};
    while (accept(r, '[')) {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &dims, a);
        expect(r, ']', "']'");
    }
    return type_array_n(r->cx, type_prim(read_prim(r)), dims.at, dims.n);
}

static int read_small(Reader *r, const char *what)
{
    const Token *t = expect(r, K_NUM, what);
    if (strlen(t->text) > 6 || strspn(t->text, "0123456789") != strlen(t->text))
        read_fail(r, t->loc, "expected %s", what);
    return atoi(t->text);
}

/* --- Parameter lists -------------------------------------------------------------------------- */

static void skip_type(Reader *r)
{
    while (accept(r, '[')) {
        next_token(r); /* a variable or a number */
        expect(r, ']', "']'");
    }
    expect(r, K_NAME, "a scalar type");
}

/* param,* close: names are bound before the types are read. Values after "=" (of loops) belong to
 * the scope outside and are read first. unique: stars before types, or NULL. */
static Vars read_params(Reader *r, int close, Atoms *inits, bool *unique)
{
    int start = r->pos;
    Vars vs = {0};
    if (accept(r, close))
        return vs;
    VEC(Token) names = {0};
    do {
        vec_push(r->cx->perm, &names, *expect(r, K_NAME, "a name"));
        expect(r, ':', "':'");
        if (unique)
            accept(r, '*');
        skip_type(r);
        if (!inits)
            continue;
        expect(r, '=', "'='");
        Atom a = read_atom(r);
        vec_push(r->cx->perm, inits, a);
    } while (more(r, close, "',' or the end of the list"));
    int end = r->pos;
    for (int i = 0; i < names.n; i++) {
        Var *v = bind(r, &names.at[i]);
        vec_push(r->cx->perm, &vs, v);
    }
    r->pos = start;
    for (int i = 0; i < vs.n; i++) {
        r->pos += 2;
        if (unique)
            unique[i] = accept(r, '*');
        vs.at[i]->type = read_type(r);
        while (i + 1 < vs.n && !accept(r, ','))
            next_token(r);
    }
    r->pos = end;
    return vs;
}

static Vars read_pattern(Reader *r)
{
    if (accept(r, '('))
        return read_params(r, ')', NULL, NULL);
    Vars vs = {0};
    Var *v = bind(r, expect(r, K_NAME, "a name"));
    expect(r, ':', "':'");
    v->type = read_type(r);
    vec_push(r->cx->perm, &vs, v);
    return vs;
}

static void skip_pattern(Reader *r)
{
    if (!accept(r, '(')) {
        expect(r, K_NAME, "a name");
        expect(r, ':', "':'");
        skip_type(r);
        return;
    }
    while (!accept(r, ')')) {
        if (peek(r)->kind == K_END)
            read_fail(r, peek(r)->loc, "expected ')'");
        next_token(r);
    }
}

/* --- Bodies
 * ---------------------------------------------------------------------------------------------------
 */

static Exp *read_exp(Reader *r);

/* The scope of the body ends with it. */
static Body *read_body(Reader *r)
{
    int mark = r->undo.n;
    Bld bl = bld_new(r->cx);
    expect(r, '{', "'{'");
    while (accept_word(r, "let")) {
        int pat = r->pos;
        skip_pattern(r);
        expect(r, '=', "'='");
        Exp *e = read_exp(r);
        int end = r->pos;
        r->pos = pat;
        Stm s = {read_pattern(r), e};
        bld_stm(&bl, s);
        r->pos = end;
    }
    expect_word(r, "in");
    Atoms res = {0};
    if (peek(r)->kind == '(') {
        res = read_atoms(r, '(', ')');
    } else {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &res, a);
    }
    expect(r, '}', "'}'");
    leave_scope(r, mark);
    return bld_body(&bl, res);
}

static Lambda *read_lambda(Reader *r)
{
    int mark = r->undo.n;
    expect(r, '\\', "a lambda");
    expect(r, '(', "'('");
    Vars params = read_params(r, ')', NULL, NULL);
    expect(r, K_ARROW, "'->'");
    Body *b = read_body(r);
    leave_scope(r, mark);
    return lambda_new(r->cx, params, b);
}

/* --- Expressions
 * ------------------------------------------------------------------------------------------------
 */

static DimIndexes read_at(Reader *r, Atom arr, bool *safe)
{
    DimIndexes at = {0};
    Type t = atom_type(arr);
    const Token *open = expect(r, '[', "'['");
    do {
        DimIndex d = {false, atom_i64(0), atom_i64(1), atom_i64(1)};
        if (accept(r, ':')) {
            if (at.n >= t.rank)
                read_fail(r, open->loc, "more positions than dimensions");
            d = (DimIndex){true, atom_i64(0), t.dims[at.n], atom_i64(1)};
        } else {
            d.start = read_atom(r);
            d.is_slice = accept(r, ':');
            if (d.is_slice) {
                d.n = read_atom(r);
                expect(r, ':', "':'");
                d.stride = read_atom(r);
            }
        }
        vec_push(r->cx->perm, &at, d);
    } while (more(r, ']', "']'"));
    *safe = accept(r, '!');
    return at;
}

static void read_perm(Reader *r, Exp *e)
{
    VEC(int) perm = {0};
    const Token *open = expect(r, '(', "'('");
    do {
        int d = read_small(r, "a dimension");
        vec_push(r->cx->perm, &perm, d);
    } while (more(r, ')', "')'"));
    e->rearrange.perm = perm.at;
    e->rearrange.arr = read_atom(r);
    if (atom_type(e->rearrange.arr).rank != perm.n)
        read_fail(r, open->loc, "%d dimensions of an array of rank %d", perm.n,
                  atom_type(e->rearrange.arr).rank);
}

static void read_loop(Reader *r, Exp *e)
{
    int mark = r->undo.n;
    expect(r, '(', "'('");
    e->loop.params = read_params(r, ')', &e->loop.inits, NULL);
    if (accept_word(r, "for")) {
        e->loop.kind = LOOP_FOR;
        const Token *i = expect(r, K_NAME, "a name");
        expect(r, ':', "':'");
        PrimType p = read_prim(r);
        expect(r, '<', "'<'");
        e->loop.bound = read_atom(r);
        e->loop.i = bind(r, i);
        e->loop.i->type = type_prim(p);
    } else {
        expect_word(r, "while");
        e->loop.kind = LOOP_WHILE;
        const Token *t = peek(r);
        e->loop.cond = read_atom(r).var;
        if (!e->loop.cond)
            read_fail(r, t->loc, "expected a parameter of the loop");
    }
    expect_word(r, "do");
    e->loop.body = read_body(r);
    leave_scope(r, mark);
}

static Dests read_dests(Reader *r)
{
    Dests ds = {0};
    expect_word(r, "into");
    expect(r, '(', "'('");
    if (accept(r, ')'))
        return ds;
    do {
        Dest d = {.arr = read_atom(r)};
        expect(r, '@', "'@'");
        d.rank = read_small(r, "a number of index components");
        vec_push(r->cx->perm, &ds, d);
    } while (more(r, ')', "')'"));
    return ds;
}

static Lambda *read_op(Reader *r, Atoms *nes)
{
    expect_word(r, "op");
    Lambda *op = read_lambda(r);
    expect_word(r, "nes");
    *nes = read_atoms(r, '(', ')');
    return op;
}

static void read_soac(Reader *r, Exp *e)
{
    e->soac.comm = accept_word(r, "comm");
    e->soac.width = read_atom(r);
    e->soac.arrs = read_atoms(r, '(', ')');
    bool has_op = e->kind != E_MAP && e->kind != E_SCATTER;
    if (has_op)
        e->soac.op = read_op(r, &e->soac.nes);
    if (e->kind == E_SCATTER)
        e->soac.dests = read_dests(r);
    if (e->kind == E_REDUCE || e->kind == E_SCAN)
        return;
    if (has_op)
        expect_word(r, "fn");
    e->soac.fn = read_lambda(r);
}

static void read_suff(Reader *r, Exp *e)
{
    e->suff.intra = accept_word(r, "intra");
    if (!e->suff.intra)
        expect_word(r, "outer");
    e->suff.name = expect(r, K_STR, "the threshold's name")->text;
    expect_word(r, "path");
    expect(r, '(', "'('");
    if (!accept(r, ')'))
        do {
            PathStep step = {.taken = !accept(r, '!')};
            step.name = expect(r, K_STR, "a threshold's name")->text;
            vec_push(r->cx->perm, &e->suff.path, step);
        } while (more(r, ')', "')'"));
    e->suff.par = read_atom(r);
}

/* "<" was read. The x's are bound behind their arrays, which belong to the scope outside. */
static NestDim read_nest_dim(Reader *r)
{
    NestDim nd = {0};
    VEC(Token) names = {0};
    int start = r->pos;
    bool has_xs = peek_at(r, 1)->kind != '<';
    while (has_xs) {
        vec_push(r->cx->perm, &names, *expect(r, K_NAME, "a name"));
        if (accept(r, ':'))
            skip_type(r);
        if (!accept(r, ','))
            break;
    }
    if (has_xs) {
        expect_word(r, "in");
        for (int i = 0; i < names.n; i++) {
            const Token *t = peek(r);
            Atom a = read_atom(r);
            if (atom_type(a).rank == 0)
                read_fail(r, t->loc, "%s is not an array", t->text);
            vec_push(r->cx->perm, &nd.arrs, a);
            if (i + 1 < names.n)
                expect(r, ',', "','");
        }
        expect(r, ';', "';'");
    }
    const Token *idx = expect(r, K_NAME, "a name");
    expect(r, '<', "'<'");
    nd.width = read_atom(r);
    expect(r, '>', "'>'");
    nd.idx = bind(r, idx);
    int end = r->pos;
    r->pos = start;
    for (int i = 0; i < names.n; i++) {
        r->pos++;
        Type t = accept(r, ':') ? read_type(r) : type_row(atom_type(nd.arrs.at[i]));
        r->pos++;
        Var *v = bind(r, &names.at[i]);
        v->type = t;
        vec_push(r->cx->perm, &nd.xs, v);
    }
    r->pos = end;
    return nd;
}

static void read_seg(Reader *r, Exp *e)
{
    int mark = r->undo.n;
    expect(r, '^', "'^'");
    e->seg.level = read_small(r, "a level");
    e->seg.comm = accept_word(r, "comm");
    expect(r, '<', "'<'");
    do {
        NestDim nd = read_nest_dim(r);
        vec_push(r->cx->perm, &e->seg.nest, nd);
    } while (accept(r, '<'));
    if (e->kind == E_SEGRED || e->kind == E_SEGSCAN)
        e->seg.op = read_op(r, &e->seg.nes);
    if (e->kind == E_SEGSCATTER)
        e->seg.dests = read_dests(r);
    e->seg.body = read_body(r);
    leave_scope(r, mark);
}

static void read_prim_exp(Reader *r, Exp *e, const char *op)
{
    e->kind = E_PRIM;
    for (int i = 0; i < N_PRIM_OPS; i++)
        if (strcmp(op, prim_info[i].text) == 0)
            e->prim.op = (PrimOp)i;
    expect(r, '.', "'.'");
    e->prim.type = read_prim(r);
    for (int i = 0; i < prim_info[e->prim.op].arity; i++) {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &e->prim.args, a);
    }
}

static unsigned read_attr(Reader *r)
{
    expect(r, '[', "'['");
    const Token *t = expect(r, K_NAME, "an attribute");
    expect(r, ']', "']'");
    for (int i = 0; i < N_ATTRS; i++)
        if (strcmp(attr_text[i], t->text) == 0)
            return 1u << i;
    read_fail(r, t->loc, "%s is not an attribute", t->text);
}

/* The parts of the form `e->kind` behind its keyword. */
static void read_form(Reader *r, Exp *e)
{
    switch (e->kind) {
    case E_CONV:
        expect(r, '.', "'.'");
        e->conv.from = read_prim(r);
        expect(r, '.', "'.'");
        e->conv.to = read_prim(r);
        e->conv.arg = read_atom(r);
        break;
    case E_UPDATE:
        e->update.arr = read_atom(r);
        e->update.at = read_at(r, e->update.arr, &e->update.safe);
        expect(r, '=', "'='");
        e->update.val = read_atom(r);
        break;
    case E_IOTA:
        e->iota.n = read_atom(r);
        e->iota.start = read_atom(r);
        e->iota.stride = read_atom(r);
        break;
    case E_REPLICATE:
        e->replicate.dims = read_atoms(r, '[', ']');
        e->replicate.val = read_atom(r);
        break;
    case E_SCRATCH: e->scratch.type = read_type(r); break;
    case E_ARRAYLIT:
        e->arraylit.elem = read_type(r);
        e->arraylit.elems = read_atoms(r, '[', ']');
        break;
    case E_CONCAT:
        e->concat.dim = read_small(r, "a dimension");
        e->concat.n = read_atom(r);
        e->concat.arrs = read_atoms(r, '(', ')');
        break;
    case E_REARRANGE:
    case E_MANIFEST: read_perm(r, e); break;
    case E_RESHAPE:
        e->reshape.dims = read_atoms(r, '[', ']');
        e->reshape.arr = read_atom(r);
        break;
    case E_COPY: e->copy.arr = read_atom(r); break;
    case E_IF:
        e->branch.test = read_atom(r);
        expect_word(r, "then");
        e->branch.then_ = read_body(r);
        expect_word(r, "else");
        e->branch.else_ = read_body(r);
        break;
    case E_LOOP: read_loop(r, e); break;
    case E_ASSERT:
        e->assertion.cond = read_atom(r);
        e->assertion.msg = expect(r, K_STR, "a message")->text;
        e->assertion.args = read_atoms(r, '(', ')');
        break;
    case E_MAP:
    case E_REDUCE:
    case E_SCAN:
    case E_REDOMAP:
    case E_SCANOMAP:
    case E_SCATTER: read_soac(r, e); break;
    case E_SUFF: read_suff(r, e); break;
    case E_SEGMAP:
    case E_SEGRED:
    case E_SEGSCAN:
    case E_SEGSCATTER: read_seg(r, e); break;
    case E_ATOM:
    case E_PRIM:
    case E_INDEX:
    case N_FORMS: ice(e->loc, "form without a keyword");
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
    while (accept(r, '#'))
        attrs |= read_attr(r);
    const Token *t = peek(r);
    Exp *e = exp_new(r->cx, E_ATOM, t->loc);
    e->attrs = attrs;
    if (t->kind == K_NAME)
        for (int k = 0; k < N_FORMS; k++)
            if (*form_info[k].text && strcmp(t->text, form_info[k].text) == 0)
                e->kind = (ExpKind)k;
    if (e->kind != E_ATOM) {
        next_token(r);
        read_form(r, e);
    } else if (t->kind == K_NAME && peek_at(r, 1)->kind == '.' && is_prim_op(t->text)) {
        next_token(r);
        read_prim_exp(r, e, t->text);
    } else {
        e->atom = read_atom(r);
        if (peek(r)->kind == '[') {
            Atom arr = e->atom;
            e->kind = E_INDEX;
            e->index.arr = arr;
            e->index.at = read_at(r, arr, &e->index.safe);
        }
    }
    e->loc.end = r->toks.at[r->pos - 1].loc.end;
    return e;
}

/* --- Entries
 * ---------------------------------------------------------------------------------------------------------
 */

static ExtType read_ext(Reader *r)
{
    ExtType x = {.text = expect(r, K_STR, "a type in quotes")->text, .n_vals = -1};
    if (accept_word(r, "as"))
        x.alias = expect(r, K_STR, "the abbreviation in quotes")->text;
    if (accept(r, '#'))
        x.n_vals = read_small(r, "a number of values");
    int sum = 0;
    if (accept(r, '{')) {
        VEC(const char *) names = {0};
        VEC(ExtType) fields = {0};
        do {
            vec_push(r->cx->perm, &names, expect(r, K_STR, "a field's name")->text);
            expect(r, ':', "':'");
            ExtType f = read_ext(r);
            sum += f.n_vals;
            vec_push(r->cx->perm, &fields, f);
        } while (more(r, '}', "'}'"));
        x.n_fields = fields.n;
        x.fields = fields.at;
        x.field_names = names.at;
    }
    if (x.n_vals < 0)
        x.n_vals = x.n_fields ? sum : 1;
    return x;
}

static ExtParams read_exts(Reader *r)
{
    ExtParams ps = {0};
    expect(r, '(', "'('");
    if (accept(r, ')'))
        return ps;
    do {
        ExtParam p = {0};
        if (peek(r)->kind == K_STR && peek_at(r, 1)->kind == ':') {
            p.name = next_token(r)->text;
            next_token(r);
        }
        p.unique = accept(r, '*');
        p.type = read_ext(r);
        vec_push(r->cx->perm, &ps, p);
    } while (more(r, ')', "')'"));
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

static Entry read_entry(Reader *r)
{
    int mark = r->undo.n;
    Entry en = {0};
    const Token *name = expect(r, K_NAME, "the entry's name");
    en.name = name->text;
    en.loc = name->loc;
    if (accept(r, '[') && !accept(r, ']'))
        do {
            Var *v = bind(r, expect(r, K_NAME, "a name"));
            vec_push(r->cx->perm, &en.sizes, v);
        } while (more(r, ']', "']'"));
    expect(r, '(', "'('");
    bool *unique = NEWN(r->cx->perm, bool, r->toks.n);
    en.params = read_params(r, ')', NULL, unique);
    bool takes = accept_word(r, "takes");
    if (takes)
        en.ext_params = read_exts(r);
    for (int i = 0; !takes && i < en.params.n; i++) {
        Var *v = en.params.at[i];
        ExtParam p = {v->base, unique[i], plain_ext(r->cx, v->type)};
        vec_push(r->cx->perm, &en.ext_params, p);
    }
    bool gives = accept_word(r, "gives");
    if (gives)
        en.ext_results = read_exts(r);
    expect(r, '=', "'='");
    en.body = read_body(r);
    leave_scope(r, mark);
    for (int i = 0; !gives && i < en.body->res.n; i++) {
        ExtParam p = {NULL, false, plain_ext(r->cx, atom_type(en.body->res.at[i]))};
        vec_push(r->cx->perm, &en.ext_results, p);
    }
    return en;
}

static Prog *read_prog(Reader *r)
{
    Prog *p = NEW(r->cx->perm, Prog);
    expect_word(r, "dialect");
    p->dialect = accept_word(r, "seg") ? D_SEG : D_SOAC;
    if (p->dialect == D_SOAC)
        expect_word(r, "soac");
    while (accept_word(r, "entry")) {
        Entry en = read_entry(r);
        vec_push(r->cx->perm, &p->entries, en);
    }
    expect(r, K_END, "'entry'");
    return p;
}

Prog *ir_read(Ctx *cx, const char *name, const char *text, size_t n)
{
    Reader *r = NEW(cx->perm, Reader);
    r->cx = cx;
    r->src = text;
    r->n = n;
    r->base = diag_source_add(name, text, n);
    if (setjmp(r->fail))
        return NULL;
    read_lex(r);
    reserve_ids(r);
    Prog *p = read_prog(r);
    Loc at = {0};
    const char *wrong = ir_check_at(cx, p, &at);
    if (wrong)
        read_fail(r, at, "%s", wrong);
    return p;
}
