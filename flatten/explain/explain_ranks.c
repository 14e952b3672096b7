/* minifut explain --mpi: what is shared out over ranks, what they exchange, and when. It is read
 * off the program as the pass `share` leaves it, by the forms alone (ir/forms.def): who makes them
 * may change.
 *
 *     shared out over ranks:
 *         n (prog.sf:6:12), n/ranks on each, if n steps of work >= suff_dist_0
 *             over it go: map (line 3), reduction (+) (line 7)
 *             in parts through the loop at line 6: us (n elements of 4 bytes)
 *             in each turn of the loop at line 6 (steps turns):
 *                 us (line 6): 1 row before and 1 behind, of the ranks beside: each 1 element of 4
 * bytes once: e (line 7): what the ranks have found, combined: 1 number, 4 bytes of each rank */
#include "flatten/explain/explain.h"

#include <ctype.h>
#include <string.h>

typedef enum {
    MOVED_ALL,
    MOVED_BESIDE,
    MOVED_OF_EACH,
    MOVED_SUM,
    MOVED_BEFORE,
    MOVED_ELEMENT
} Move;

static const char *const move_words[] = {
    [MOVED_ALL] = "whole",    [MOVED_BESIDE] = "beside", [MOVED_OF_EACH] = "each",
    [MOVED_SUM] = "combined", [MOVED_BEFORE] = "before", [MOVED_ELEMENT] = "element"};

/* The statement that a body is of, and so on outwards. */
typedef struct Around {
    const struct Around *outer;
    const Stm *stm;
    const Body *body;
} Around;

/* The host's loops around, the innermost one first. */
typedef struct Turns {
    const struct Turns *outer;
    const Exp *loop;
} Turns;

typedef struct {
    Move how;
    const char *name; /* what it makes known, in the program's words; NULL: it has no name there */
    Loc loc;
    const Turns *when;           /* NULL: once */
    bool branch;                 /* ... where a branch of the program is taken */
    const char *elems;           /* how many elements, or those of a row */
    int numbers;                 /* of an EXCHANGE: how many, instead */
    int bytes;                   /* of an element; of all numbers */
    const char *before, *behind; /* rows */
} Moved;

/* An array that a loop carries in parts. */
typedef struct {
    const char *name;
    Loc loc;
    const Exp *loop;
    const char *elems;
    int bytes;
} Carried;

/* What hangs on a threshold. */
typedef struct {
    const Exp *test; /* the SHARED */
    const Var *shared;
    const char *size; /* NULL: not met yet */
    VEC(const Exp *) over;
    VEC(Carried) carried;
    VEC(Moved) moved;
} Shared;
typedef VEC(Shared *) Shareds;

typedef struct {
    Explain *x;
    Shareds all;
    const Body *entry;
    Shared always; /* what is exchanged whatever thresholds say */
    int branches;  /* of the program's, around what is read */
} Reader;

/* --- Names ------------------------------------------------------------------------------------ */

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* Its name, if that stands in the line that it is of: others are the compiler's. */
static const char *source_name(const Var *v)
{
    const char *line = diag_line_text(v->loc), *at = line;
    size_t n = strlen(v->base);
    while (at && (at = strstr(at, v->base))) {
        if ((at == line || !is_in_word(at[-1])) && !is_in_word(at[n]))
            return v->base;
        at++;
    }
    return NULL;
}

/* The only result of the body that is made of these; -1: there are none, or several. Adds to them
 * what is. */
static int result_of(const Body *b, VarSet *made, Arena *arena)
{
    for (int i = 0; i < b->stms.n; i++) {
        VarSet *used = varmap_new(arena);
        free_in_stm(used, &b->stms.at[i]);
        Vars vs = varset_list(arena, used);
        bool of_it = false;
        for (int k = 0; k < vs.n; k++)
            of_it = of_it || varset_has(made, vs.at[k]);
        for (int k = 0; of_it && k < b->stms.at[i].pat.n; k++)
            varset_add(made, b->stms.at[i].pat.at[k]);
    }
    int one = -1, n = 0;
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var && varset_has(made, b->res.at[k].var)) {
            one = k;
            n++;
        }
    return n == 1 ? one : -1;
}

/* What v is known as further out, where bodies give it on, or what is made of it alone; as a
 * loop's if it has no name of its own. */
static const Var *known_as(const Around *a, const Var *v, Arena *arena)
{
    ArenaMark mark = arena_mark(arena);
    for (; a && a->stm->exp->kind == E_IF; a = a->outer) {
        VarSet *made = varmap_new(arena);
        varset_add(made, v);
        int k = result_of(a->body, made, arena);
        if (k < 0)
            break;
        v = a->stm->pat.at[k];
    }
    if (a && a->stm->exp->kind == E_LOOP && !source_name(v))
        for (int k = 0; k < a->body->res.n; k++)
            if (a->body->res.at[k].var == v)
                v = a->stm->exp->loop.params.at[k];
    arena_reset(arena, mark);
    return v;
}

/* --- Ranks ------------------------------------------------------------------------------------ */

static const Exp *defined_as(const Reader *r, Atom a)
{
    return a.var ? varmap_get(r->x->defs, a.var) : NULL;
}

/* RANKS or MY_RANK, if it is that where something is shared out; else N_FORMS. */
static ExpKind rank_kind(const Reader *r, Atom a)
{
    const Exp *e = defined_as(r, a);
    if (e && e->kind == E_IF && e->branch.then_->res.n == 1)
        e = defined_as(r, e->branch.then_->res.at[0]);
    return e && (e->kind == E_RANKS || e->kind == E_MY_RANK) ? e->kind : N_FORMS;
}

static Shared *of_test(Reader *r, Atom test)
{
    for (int i = 0; test.var && i < r->all.n; i++)
        if (r->all.at[i]->shared == test.var)
            return r->all.at[i];
    return NULL;
}

/* Whose share it is: by the number of ranks, which is 1 where the threshold says so. */
static Shared *of_share(Reader *r, const Exp *share)
{
    const Exp *ranks = share ? defined_as(r, share->ranks.args.at[1]) : NULL;
    return ranks && ranks->kind == E_IF ? of_test(r, ranks->branch.test) : NULL;
}

/* The SHARE that so many rows are of, with room for some of the ranks beside or without; NULL: of
 * none. */
static const Exp *share_with_room(const Reader *r, Atom rows)
{
    const Exp *e = defined_as(r, rows);
    if (e && e->kind == E_IF && e->branch.then_->res.n == 1) {
        rows = e->branch.then_->res.at[0];
        e = defined_as(r, rows);
    }
    for (int k = 0; e && e->kind == E_PRIM && e->prim.op == OP_ADD && k < 2; k++)
        if (!e->prim.args.at[!k].var && ex_share(r->x, e->prim.args.at[k]))
            rows = e->prim.args.at[k];
    return ex_share(r->x, rows);
}

typedef struct {
    const Reader *r;
    const Var *exchange;
    ExpKind whose; /* of the loop around that asks one rank after the other; N_FORMS: none */
    Move how[MOST_EXCHANGED];
    bool asked[MOST_EXCHANGED];
} Asked;

static void asked_body(void *env, Body *b)
{
    Asked *q = env;
    ExpKind whose = q->whose;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_PEER && e->ranks.args.at[1].var == q->exchange) {
            int64_t k = e->ranks.args.at[0].c.i;
            q->asked[k] = true;
            q->how[k] = whose == E_RANKS     ? MOVED_SUM
                        : whose == E_MY_RANK ? MOVED_BEFORE
                                             : MOVED_ELEMENT;
        }
        if (e->kind == E_LOOP && e->loop.kind == LOOP_FOR)
            q->whose = rank_kind(q->r, e->loop.bound);
        if (e->kind == E_LOOP || e->kind == E_IF)
            exp_visit(e, &(ExpVisitor){.env = q, .body = asked_body});
        q->whose = whose;
    }
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void read_body(Reader *r, const Body *b, const Around *around, const Turns *turns,
                      Shared *in);

/* Numbers of an exchange that ranks do the same with, those which statement s of the branch asks
 * for; q: of which nobody has spoken yet. */
static void read_numbers(Reader *r, const Exp *exchange, const Stm *s, Asked *q, const Around *a,
                         const Turns *turns, Shared *in)
{
    Arena *scratch = r->x->cx->scratch;
    Asked here = {r, q->exchange, N_FORMS, {0}, {0}};
    Body one = {0};
    vec_push(scratch, &one.stms, *s);
    asked_body(&here, &one);
    VarSet *made = varmap_new(scratch);
    Moved m = {.loc = s->exp->loc, .when = turns, .branch = r->branches > 0};
    for (int k = 0; k < exchange->ranks.args.n; k++) {
        if (!here.asked[k] || q->asked[k])
            continue;
        q->asked[k] = true;
        m.how = here.how[k];
        m.numbers++;
        m.bytes += prim_type_bytes[atom_type(exchange->ranks.args.at[k]).elem];
    }
    if (m.numbers == 0)
        return;
    for (int k = 0; k < s->pat.n; k++)
        varset_add(made, s->pat.at[k]);
    int k = a->stm->exp->kind == E_IF ? result_of(a->body, made, scratch) : -1;
    m.name = k < 0 ? NULL : source_name(a->stm->pat.at[k]);
    vec_push(r->x->cx->perm, &in->moved, m);
}

static void read_exchange(Reader *r, const Stm *s, const Around *a, const Turns *turns, Shared *in)
{
    ArenaMark mark = arena_mark(r->x->cx->scratch);
    Asked told = {r, s->pat.at[0], N_FORMS, {0}, {0}};
    for (int i = 0; i < a->body->stms.n; i++)
        read_numbers(r, s->exp, &a->body->stms.at[i], &told, a, turns, in);
    arena_reset(r->x->cx->scratch, mark);
}

static void read_gather(Reader *r, const Stm *s, const Around *a, const Turns *turns, Shared *in)
{
    const Exp *e = s->exp;
    const Var *v = known_as(a, s->pat.at[0], r->x->cx->scratch);
    Type t = s->pat.at[0]->type;
    bool beside = e->ranks.args.n == 4;
    Moved m = {.loc = v->loc, .when = turns, .name = source_name(v), .branch = r->branches > 0};
    m.how = beside ? MOVED_BESIDE : rank_kind(r, t.dims[0]) == E_RANKS ? MOVED_OF_EACH : MOVED_ALL;
    m.elems = ex_sizes_text(r->x, t.dims + beside, t.rank - beside);
    m.bytes = prim_type_bytes[t.elem];
    if (beside) {
        m.before = ex_par_text(r->x, e->ranks.args.at[2]);
        m.behind = ex_par_text(r->x, e->ranks.args.at[3]);
    }
    vec_push(r->x->cx->perm, &in->moved, m);
}

static void read_loop(Reader *r, const Stm *s, const Around *a, const Turns *turns, Shared *in)
{
    const Exp *e = s->exp;
    Arena *perm = r->x->cx->perm;
    Turns *own = NEW(perm, Turns);
    *own = (Turns){turns, e};
    for (int i = 0; i < e->loop.params.n; i++) {
        const Var *p = e->loop.params.at[i];
        const Exp *share = p->type.rank > 0 ? share_with_room(r, p->type.dims[0]) : NULL;
        Shared *of = of_share(r, share);
        if (!of)
            continue;
        Type t = p->type;
        t.dims = arena_memdup(perm, t.dims, sizeof *t.dims * (size_t)t.rank);
        t.dims[0] = share->ranks.args.at[0];
        Carried c = {source_name(p), p->loc, e, ex_sizes_text(r->x, t.dims, t.rank),
                     prim_type_bytes[t.elem]};
        vec_push(perm, &of->carried, c);
    }
    /* What ranks do with what they have exchanged is no turn of the program's. */
    read_body(r, e->loop.body, &(Around){a, s, e->loop.body}, in == &r->always ? own : turns, in);
}

static void read_if(Reader *r, const Stm *s, const Around *a, const Turns *turns, Shared *in)
{
    const Exp *e = s->exp;
    Shared *of = of_test(r, e->branch.test);
    bool own = !of && in == &r->always;
    r->branches += own;
    read_body(r, e->branch.then_, &(Around){a, s, e->branch.then_}, turns, of ? of : in);
    read_body(r, e->branch.else_, &(Around){a, s, e->branch.else_}, turns, in);
    r->branches -= own;
}

static void read_stm(Reader *r, const Stm *s, const Around *a, const Turns *turns, Shared *in)
{
    const Exp *e = s->exp;
    Arena *perm = r->x->cx->perm;
    Shared *of;
    switch (e->kind) {
    case E_SHARED:
        of = NEW(perm, Shared);
        *of = (Shared){.test = e, .shared = s->pat.at[0]};
        vec_push(perm, &r->all, of);
        break;
    case E_SHARE:
        if ((of = of_share(r, e)) && !of->size)
            of->size = ex_par_text(r->x, e->ranks.args.at[0]);
        break;
    case E_EXCHANGE: read_exchange(r, s, a, turns, in); break;
    case E_GATHER: read_gather(r, s, a, turns, in); break;
    case E_LOOP: read_loop(r, s, a, turns, in); break;
    case E_IF: read_if(r, s, a, turns, in); break;
    default:
        if (exp_is_soac(e) && in == &r->always && (of = of_share(r, ex_share(r->x, e->soac.width))))
            vec_push(perm, &of->over, e);
    }
}

static void read_body(Reader *r, const Body *b, const Around *around, const Turns *turns,
                      Shared *in)
{
    for (int i = 0; i < b->stms.n; i++)
        read_stm(r, &b->stms.at[i], around, turns, in);
}

/* All of the entry; what hangs on no threshold last. False: nothing is shared out. */
static bool read_entry(Reader *r, Explain *x, const Explain *from, const char *entry)
{
    const Prog *p = from->hook ? from->hook->ranks : NULL;
    for (int i = 0; p && i < p->entries.n; i++) {
        const Entry *en = &p->entries.at[i];
        if (strcmp(en->name, entry) != 0)
            continue;
        *x = ex_new(from->cx, from->o, en, from->hook);
        x->name = from->name;
        *r = (Reader){.x = x, .entry = en->body};
        read_body(r, en->body, NULL, NULL, &r->always);
        if (r->always.moved.n)
            vec_push(x->cx->perm, &r->all, &r->always);
        return r->all.n > 0;
    }
    return false;
}

/* --- Text ------------------------------------------------------------------------------------- */

static const char *at_line(Explain *x, Loc loc)
{
    Place p = diag_place(loc);
    return p.file ? ex_line_text(x, p) : "an unknown line";
}

static const char *named(Explain *x, const char *name, Loc loc)
{
    return name ? arena_printf(x->cx->perm, "%s (%s)", name, at_line(x, loc)) : at_line(x, loc);
}

static const char *counted(Explain *x, const char *n, const char *what)
{
    return arena_printf(x->cx->perm, "%s %s%s", n, what, strcmp(n, "1") == 0 ? "" : "s");
}

static const char *elements_text(Explain *x, const char *elems, int bytes)
{
    return arena_printf(x->cx->perm, "%s of %d byte%s", counted(x, ex_short(elems), "element"),
                        bytes, bytes == 1 ? "" : "s");
}

/* "the loop at line 6 (steps turns)"; of one within others, with those. */
static const char *turns_text(Explain *x, const Turns *t)
{
    const char *text = "";
    for (; t; t = t->outer) {
        bool counts = t->loop->loop.kind == LOOP_FOR;
        text = arena_printf(x->cx->perm, "%s%sthe %sloop at %s", text, *text ? ", in each of " : "",
                            counts ? "" : "while ", at_line(x, t->loop->loc));
        if (counts)
            text = arena_printf(x->cx->perm, "%s (%s)", text,
                                counted(x, ex_short(ex_par_text(x, t->loop->loop.bound)), "turn"));
    }
    return text;
}

static const char *numbers_text(Explain *x, const Moved *m)
{
    const char *n = arena_printf(x->cx->perm, "%d", m->numbers);
    return arena_printf(x->cx->perm, "%s, %d byte%s of each rank", counted(x, n, "number"),
                        m->bytes, m->bytes == 1 ? "" : "s");
}

static const char *beside_text(Explain *x, const Moved *m)
{
    bool before = strcmp(m->before, "0") != 0, behind = strcmp(m->behind, "0") != 0;
    const char *rows =
        !behind   ? arena_printf(x->cx->perm, "%s before", counted(x, m->before, "row"))
        : !before ? arena_printf(x->cx->perm, "%s behind", counted(x, m->behind, "row"))
                  : arena_printf(x->cx->perm, "%s before and %s behind",
                                 counted(x, m->before, "row"), m->behind);
    return arena_printf(x->cx->perm, "%s, of the ranks beside: each %s", rows,
                        elements_text(x, m->elems, m->bytes));
}

static const char *moved_text(Explain *x, const Moved *m)
{
    switch (m->how) {
    case MOVED_ALL:
        return arena_printf(x->cx->perm, "gathered whole: %s",
                            elements_text(x, m->elems, m->bytes));
    case MOVED_BESIDE: return beside_text(x, m);
    case MOVED_OF_EACH:
        return arena_printf(x->cx->perm, "a row of each rank, gathered: %s",
                            elements_text(x, m->elems, m->bytes));
    case MOVED_SUM:
        return arena_printf(x->cx->perm, "what the ranks have found, combined: %s",
                            numbers_text(x, m));
    case MOVED_BEFORE:
        return arena_printf(x->cx->perm, "what the ranks before end with: %s", numbers_text(x, m));
    default: return arena_printf(x->cx->perm, "from the rank that has it: %s", numbers_text(x, m));
    }
}

static void text_over(Explain *x, const Shared *s)
{
    for (int i = 0; i < s->over.n; i++) {
        Stm one = {.exp = (Exp *)(uintptr_t)s->over.at[i]};
        Body alone = {0};
        vec_push(x->cx->perm, &alone.stms, one);
        out_printf(x->o, "%s%s (%s)",
                   i ? ", " : "over it go: ", ex_short(ex_sequential_text(x, &alone)),
                   at_line(x, one.exp->loc));
    }
    if (s->over.n)
        out_puts(x->o, "\n");
}

static void text_carried(Explain *x, const Shared *s)
{
    for (int i = 0; i < s->carried.n; i++) {
        const Carried *c = &s->carried.at[i];
        bool first = i == 0 || c[-1].loop != c->loop;
        if (first)
            out_printf(x->o, "in parts through the loop at %s: ", at_line(x, c->loop->loc));
        out_printf(x->o, "%s%s (%s)", first ? "" : ", ", c->name ? c->name : "an array",
                   elements_text(x, c->elems, c->bytes));
        if (i == s->carried.n - 1 || c[1].loop != c->loop)
            out_puts(x->o, "\n");
    }
}

static const Exp *loop_of(const Moved *m)
{
    return m->when ? m->when->loop : NULL;
}

static void text_moved(Explain *x, const Shared *s)
{
    for (int i = 0; i < s->moved.n; i++) {
        const Moved *m = &s->moved.at[i];
        if (i == 0 || loop_of(m) != loop_of(m - 1))
            out_printf(x->o, "%s%s:\n", m->when ? "in each turn of " : "once",
                       turns_text(x, m->when));
        x->o->indent++;
        out_printf(x->o, "%s: %s%s\n", named(x, m->name, m->loc), moved_text(x, m),
                   m->branch ? ", if its branch is taken" : "");
        x->o->indent--;
    }
}

static void text_head(Explain *x, const Shared *s)
{
    if (!s->test) {
        out_puts(x->o, "exchanged in any case\n");
        return;
    }
    const char *size = s->size ? ex_short(s->size) : "a size";
    out_printf(x->o, "%s (%s), %s/ranks on each, if %s of work >= %s\n", size,
               diag_place_str(s->test->loc),
               strchr(size, ' ') ? arena_printf(x->cx->perm, "(%s)", size) : size,
               counted(x, ex_short(ex_par_text(x, s->test->ranks.args.at[0])), "step"),
               ex_short_name(s->test->ranks.name));
}

void ex_ranks(Explain *x, const char *entry)
{
    Reader r;
    Explain own;
    if (!read_entry(&r, &own, x, entry))
        return;
    out_puts(x->o, "shared out over ranks:\n");
    for (int i = 0; i < r.all.n; i++) {
        x->o->indent++;
        text_head(&own, r.all.at[i]);
        x->o->indent++;
        text_over(&own, r.all.at[i]);
        text_carried(&own, r.all.at[i]);
        text_moved(&own, r.all.at[i]);
        x->o->indent -= 2;
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_moved(Explain *x, const Moved *m)
{
    out_puts(x->o, "{");
    out_member(x->o, "what", move_words[m->how]);
    out_puts(x->o, ", ");
    out_member(x->o, "name", m->name);
    out_puts(x->o, ", ");
    out_member(x->o, "loc", diag_place_str(m->loc));
    out_puts(x->o, ", \"loops\": [");
    for (const Turns *t = m->when; t; t = t->outer) {
        out_puts(x->o, t == m->when ? "" : ", ");
        out_quoted(x->o, diag_place_str(t->loop->loc));
    }
    out_puts(x->o, "], ");
    if (m->elems)
        out_member(x->o, "elements", m->elems);
    else
        out_printf(x->o, "\"numbers\": %d", m->numbers);
    out_printf(x->o, ", \"bytes\": %d, \"branch\": %s", m->bytes, m->branch ? "true" : "false");
    if (m->before) {
        out_puts(x->o, ", ");
        out_member(x->o, "before", m->before);
        out_puts(x->o, ", ");
        out_member(x->o, "behind", m->behind);
    }
    out_puts(x->o, "}");
}

static void json_shared(Explain *x, const Shared *s)
{
    out_puts(x->o, "{");
    out_member(x->o, "name", s->test ? s->test->ranks.name : NULL);
    out_puts(x->o, ", ");
    out_member(x->o, "loc", s->test ? diag_place_str(s->test->loc) : NULL);
    out_puts(x->o, ", ");
    out_member(x->o, "size", s->size);
    out_puts(x->o, ", ");
    out_member(x->o, "steps", s->test ? ex_par_text(x, s->test->ranks.args.at[0]) : NULL);
    out_puts(x->o, ",\n \"over\": [");
    for (int i = 0; i < s->over.n; i++) {
        out_puts(x->o, i ? ", {" : "{");
        out_member(x->o, "form", form_info[s->over.at[i]->kind].text);
        out_puts(x->o, ", ");
        out_member(x->o, "loc", diag_place_str(s->over.at[i]->loc));
        out_puts(x->o, "}");
    }
    out_puts(x->o, "],\n \"carried\": [");
    for (int i = 0; i < s->carried.n; i++) {
        const Carried *c = &s->carried.at[i];
        out_puts(x->o, i ? ", {" : "{");
        out_member(x->o, "name", c->name);
        out_puts(x->o, ", ");
        out_member(x->o, "loop", diag_place_str(c->loop->loc));
        out_puts(x->o, ", ");
        out_member(x->o, "elements", c->elems);
        out_printf(x->o, ", \"bytes\": %d}", c->bytes);
    }
    out_puts(x->o, "],\n \"exchanged\": [");
    for (int i = 0; i < s->moved.n; i++) {
        out_puts(x->o, i ? ",\n  " : "\n  ");
        json_moved(x, &s->moved.at[i]);
    }
    out_puts(x->o, "]}");
}

void ex_ranks_json(Explain *x, const char *entry)
{
    Reader r;
    Explain own;
    bool any = read_entry(&r, &own, x, entry);
    out_puts(x->o, ", \"ranks\": [");
    for (int i = 0; any && i < r.all.n; i++) {
        out_puts(x->o, i ? ",\n" : "\n");
        json_shared(&own, r.all.at[i]);
    }
    out_puts(x->o, "]");
}
