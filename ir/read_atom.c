/* Reading the text form of the IR: tokens one by one, names and their scopes, atoms, types, lists
 * of parameters. Expressions and programs: read.c. */
#include "ir/read.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Going through the tokens --------------------------------------------------------------- */

const Token *read_peek(const Reader *r)
{
    return &r->toks.at[r->pos];
}

const Token *read_peek_at(const Reader *r, int k)
{
    int i = r->pos + k;
    return &r->toks.at[i < r->toks.n ? i : r->toks.n - 1];
}

const Token *read_next(Reader *r)
{
    const Token *t = read_peek(r);
    r->pos += t->kind != K_END;
    return t;
}

bool read_accept(Reader *r, int kind)
{
    bool yes = read_peek(r)->kind == kind;
    r->pos += yes;
    return yes;
}

static bool read_is_word(const Token *t, const char *word)
{
    return t->kind == K_NAME && strcmp(t->text, word) == 0;
}

bool read_accept_word(Reader *r, const char *word)
{
    bool yes = read_is_word(read_peek(r), word);
    r->pos += yes;
    return yes;
}

const Token *read_expect(Reader *r, int kind, const char *what)
{
    const Token *t = read_peek(r);
    if (t->kind != kind)
        read_fail(r, t->loc, "expected %s, not %s", what, t->text);
    return read_next(r);
}

void read_expect_word(Reader *r, const char *word)
{
    if (!read_accept_word(r, word))
        read_fail(r, read_peek(r)->loc, "expected '%s', not %s", word, read_peek(r)->text);
}

/* After an element of a list: another one follows (true), or the list is closed. */
bool read_more(Reader *r, int close, const char *what)
{
    if (read_accept(r, ','))
        return true;
    read_expect(r, close, what);
    return false;
}

/* --- Names ---------------------------------------------------------------------------------- */

static Name *read_name(Reader *r, const char *text)
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
void read_reserve_ids(Reader *r)
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

Var *read_bind(Reader *r, const Token *t)
{
    Name *n = read_name(r, t->text);
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

void read_leave_scope(Reader *r, int mark)
{
    while (r->undo.n > mark) {
        Undo u = r->undo.at[--r->undo.n];
        u.name->var = u.before;
    }
}

/* --- Atoms and types ------------------------------------------------------------------------ */

PrimType read_prim(Reader *r)
{
    const Token *t = read_expect(r, K_NAME, "a scalar type");
    PrimType p;
    if (!prim_named(t->text, &p))
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
    const Token *t = read_next(r);
    size_t n = strspn(t->text, "-+.0123456789e");
    /* The exponent's e is no digit of a suffix, and no suffix begins with e. */
    const char *suffix = t->text + n;
    char *digits = arena_strndup(r->cx->perm, t->text, n);
    PrimType p = T_I64;
    if (*suffix && (!prim_named(suffix, &p) || p == T_BOOL))
        read_fail(r, t->loc, "%s is no suffix of a number", suffix);
    if (prim_is_float(p))
        return atom_float(p, prim_read(p, digits));
    if (strpbrk(digits, ".e"))
        read_fail(r, t->loc, "%s is not an integer", t->text);
    return read_int(r, t, p, digits);
}

/* f32.inf, -f64.nan, f64.nan:BITS */
static Atom read_special_float(Reader *r, PrimType p, bool neg)
{
    read_next(r);
    read_expect(r, '.', "'.'");
    const Token *t = read_expect(r, K_NAME, "inf or nan");
    double f = (double)NAN;
    if (strcmp(t->text, "inf") == 0)
        f = (double)INFINITY;
    else if (strcmp(t->text, "nan") != 0)
        read_fail(r, t->loc, "expected inf or nan");
    Atom a = {NULL, {p, {0}}};
    a.c.f = fabs(f);
    if (t->text[0] == 'n' && read_accept(r, ':'))
        a.c.i = (int64_t)strtoull(read_expect(r, K_NUM, "the bits of the nan")->text, NULL, 10);
    a.c.i = neg ? (int64_t)((uint64_t)a.c.i | (UINT64_C(1) << 63)) : a.c.i;
    return a;
}

Atom read_atom(Reader *r)
{
    const Token *t = read_peek(r);
    PrimType p;
    if (t->kind == K_NUM)
        return read_number(r);
    bool neg = t->kind == '-' && read_peek_at(r, 1)->kind == K_NAME;
    if (neg) {
        read_next(r);
        t = read_peek(r);
    }
    if (t->kind == K_NAME && prim_named(t->text, &p) && prim_is_float(p))
        return read_special_float(r, p, neg);
    if (t->kind != K_NAME || neg)
        read_fail(r, t->loc, "expected a variable or a constant, not %s", t->text);
    read_next(r);
    if (strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0)
        return atom_bool(t->text[0] == 't');
    Var *v = read_name(r, t->text)->var;
    if (!v)
        read_fail(r, t->loc, "%s is not in scope", t->text);
    return atom_var(v);
}

Atoms read_atoms(Reader *r, int open, int close)
{
    Atoms as = {0};
    read_expect(r, open, open == '(' ? "'('" : "'['");
    if (read_accept(r, close))
        return as;
    do {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &as, a);
    } while (read_more(r, close, close == ')' ? "')'" : "']'"));
    return as;
}

Type read_type(Reader *r)
{
    Atoms dims = {0};
    while (read_accept(r, '[')) {
        Atom a = read_atom(r);
        vec_push(r->cx->perm, &dims, a);
        read_expect(r, ']', "']'");
    }
    return type_array_n(r->cx, type_prim(read_prim(r)), dims.at, dims.n);
}

int read_small(Reader *r, const char *what)
{
    const Token *t = read_expect(r, K_NUM, what);
    if (strlen(t->text) > 6 || strspn(t->text, "0123456789") != strlen(t->text))
        read_fail(r, t->loc, "expected %s", what);
    return atoi(t->text);
}

/* --- Parameter lists ------------------------------------------------------------------------ */

void read_skip_type(Reader *r)
{
    while (read_accept(r, '[')) {
        read_next(r); /* a variable or a number */
        read_expect(r, ']', "']'");
    }
    read_expect(r, K_NAME, "a scalar type");
}

/* param,* close: names are bound before the types are read. Values after "=" (of loops) belong to
 * the scope outside and are read first. unique: stars before types, or NULL. */
Vars read_params(Reader *r, int close, Atoms *inits, bool *unique)
{
    int start = r->pos;
    Vars vs = {0};
    if (read_accept(r, close))
        return vs;
    VEC(Token) names = {0};
    do {
        vec_push(r->cx->perm, &names, *read_expect(r, K_NAME, "a name"));
        read_expect(r, ':', "':'");
        if (unique)
            read_accept(r, '*');
        read_skip_type(r);
        if (!inits)
            continue;
        read_expect(r, '=', "'='");
        Atom a = read_atom(r);
        vec_push(r->cx->perm, inits, a);
    } while (read_more(r, close, "',' or the end of the list"));
    int end = r->pos;
    for (int i = 0; i < names.n; i++) {
        Var *v = read_bind(r, &names.at[i]);
        vec_push(r->cx->perm, &vs, v);
    }
    r->pos = start;
    for (int i = 0; i < vs.n; i++) {
        r->pos += 2;
        if (unique)
            unique[i] = read_accept(r, '*');
        vs.at[i]->type = read_type(r);
        while (i + 1 < vs.n && !read_accept(r, ','))
            read_next(r);
    }
    r->pos = end;
    return vs;
}

Vars read_pattern(Reader *r)
{
    if (read_accept(r, '('))
        return read_params(r, ')', NULL, NULL);
    Vars vs = {0};
    Var *v = read_bind(r, read_expect(r, K_NAME, "a name"));
    read_expect(r, ':', "':'");
    v->type = read_type(r);
    vec_push(r->cx->perm, &vs, v);
    return vs;
}

void read_skip_pattern(Reader *r)
{
    if (!read_accept(r, '(')) {
        read_expect(r, K_NAME, "a name");
        read_expect(r, ':', "':'");
        read_skip_type(r);
        return;
    }
    while (!read_accept(r, ')')) {
        if (read_peek(r)->kind == K_END)
            read_fail(r, read_peek(r)->loc, "expected ')'");
        read_next(r);
    }
}
