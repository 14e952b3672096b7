/* minifut explain: the texts that all its ways of telling share, of sizes and expressions of a
 * flattened program; and its thresholds. */
#include "flatten/explain/explain.h"

#include <string.h>

/* --- Texts of expressions ------------------------------------------------------------------- */

/* How an operation is written between its operands, and how tightly it binds them; NULL: as a
 * function. */
static const struct {
    const char *text;
    int binds;
} symbols[N_PRIM_OPS] = {
    [OP_LOR] = {"||", 1}, [OP_LAND] = {"&&", 2}, [OP_EQ] = {"==", 3},  [OP_NE] = {"!=", 3},
    [OP_LT] = {"<", 3},   [OP_LE] = {"<=", 3},   [OP_AND] = {"&", 4},  [OP_OR] = {"|", 4},
    [OP_XOR] = {"^", 4},  [OP_SHL] = {"<<", 5},  [OP_SHR] = {">>", 5}, [OP_ADD] = {"+", 6},
    [OP_SUB] = {"-", 6},  [OP_MUL] = {"*", 7},   [OP_DIV] = {"/", 7},  [OP_QUOT] = {"/", 7},
    [OP_MOD] = {"%", 7},  [OP_REM] = {"%", 7}};
enum { BINDS_NOT = 0, BINDS_FACTOR = 7 };

const char *ex_atom_text(Ctx *cx, Atom a)
{
    if (a.var)
        return a.var->base;
    if (prim_is_float(a.c.type))
        return arena_printf(cx->perm, "%g", a.c.f);
    if (a.c.type == T_BOOL)
        return a.c.i ? "true" : "false";
    return arena_printf(cx->perm, "%lld", (long long)a.c.i);
}

/* May a chain of this operation be put together in any way? */
static bool regroups(const Exp *e)
{
    return (e->prim.op == OP_ADD || e->prim.op == OP_MUL) && !prim_is_float(e->prim.type);
}

static const char *operand_text(Ctx *cx, const VarMap *defs, Atom a, int deep, int binds,
                                bool right);

/* An operation in the context of operand_text. */
static const char *operation_text(Ctx *cx, const VarMap *defs, const Exp *e, int deep, int binds,
                                  bool right)
{
    const char *sym = symbols[e->prim.op].text, *args = "";
    int own = symbols[e->prim.op].binds;
    if (sym && e->prim.args.n == 2) {
        const char *x = operand_text(cx, defs, e->prim.args.at[0], deep - 1, own, false);
        const char *y = operand_text(cx, defs, e->prim.args.at[1], deep - 1, own, !regroups(e));
        bool bare = own > binds || (own == binds && !right);
        return arena_printf(cx->perm, "%s%s %s %s%s", bare ? "" : "(", x, sym, y, bare ? "" : ")");
    }
    for (int k = 0; k < e->prim.args.n; k++)
        args = arena_printf(cx->perm, "%s%s%s", args, k ? ", " : "",
                            operand_text(cx, defs, e->prim.args.at[k], deep - 1, BINDS_NOT, false));
    return arena_printf(cx->perm, "%s(%s)", prim_info[e->prim.op].text, args);
}

static const Exp *defined_as(const VarMap *defs, Atom a)
{
    return a.var ? varmap_get(defs, a.var) : NULL;
}

/* The argument of e, an operation on two, that is defined so; NULL: neither is. */
static const Exp *operand_that_is(const VarMap *defs, const Exp *e, PrimOp op, ExpKind kind)
{
    for (int k = 0; e && e->kind == E_PRIM && e->prim.op == op && k < 2; k++) {
        const Exp *d = defined_as(defs, e->prim.args.at[k]);
        if (d && d->kind == kind)
            return d;
    }
    return NULL;
}

/* The SHARE that a is what this rank has of, max 0 (min each ..), by whichever pass it was turned
 * round; NULL: it is something else. */
static const Exp *share_of(const VarMap *defs, Atom a)
{
    const Exp *e = defined_as(defs, a);
    if (!e || e->kind != E_PRIM || e->prim.op != OP_MAX ||
        (!atom_is_int(e->prim.args.at[0], 0) && !atom_is_int(e->prim.args.at[1], 0)))
        return NULL;
    return operand_that_is(defs, operand_that_is(defs, e, OP_MAX, E_PRIM), OP_MIN, E_SHARE);
}

const Exp *ex_share(const Explain *x, Atom a)
{
    return share_of(x->defs, a);
}

/* An operand as an expression over what is bound outside of `defs`; at most `deep` operations deep.
 * In parentheses where it stands inside an operation that binds as tightly as `binds`, on its right
 * if `right`, and would be read otherwise without. */
static const char *operand_text(Ctx *cx, const VarMap *defs, Atom a, int deep, int binds,
                                bool right)
{
    const Exp *e = a.var ? varmap_get(defs, a.var) : NULL;
    const Exp *share = share_of(defs, a);
    if (!e || deep == 0)
        return ex_atom_text(cx, a);
    if (share)
        return arena_printf(
            cx->perm, "%s/ranks",
            operand_text(cx, defs, share->ranks.args.at[0], deep, BINDS_FACTOR, true));
    if (e->kind == E_ATOM)
        return operand_text(cx, defs, e->atom, deep, binds, right);
    if (e->kind == E_CONV)
        return operand_text(cx, defs, e->conv.arg, deep, binds, right);
    return e->kind == E_PRIM ? operation_text(cx, defs, e, deep, binds, right)
                             : ex_atom_text(cx, a);
}

enum { DEEP = 12 }; /* expressions of sizes */

const char *ex_par_text(Explain *x, Atom par)
{
    return operand_text(x->cx, x->defs, par, DEEP, BINDS_NOT, false);
}

const char *ex_sizes_text(Explain *x, const Atom *dims, int n)
{
    const char *t = "";
    for (int d = 0; d < n; d++)
        if (n == 1 || !atom_is_int(dims[d], 1))
            t = arena_printf(x->cx->perm, "%s%s%s", t, *t ? " * " : "",
                             operand_text(x->cx, x->defs, dims[d], DEEP,
                                          n > 1 ? BINDS_FACTOR : BINDS_NOT, d > 0));
    return *t ? t : "1";
}

const char *ex_product_text(Explain *x, const Nest *nest, int n, int most)
{
    const char *t = "";
    for (int d = 0; d < n; d++) {
        const char *one = operand_text(x->cx, x->defs, nest->at[d].width, DEEP,
                                       n > 1 ? BINDS_FACTOR : BINDS_NOT, d > 0);
        t = arena_printf(x->cx->perm, "%s%s%s", t, d ? " * " : "",
                         strlen(one) <= (size_t)most ? one : "..");
    }
    return t;
}

const char *ex_operator_text(Ctx *cx, const Lambda *op)
{
    const Body *b = op->body;
    if (b->stms.n != 1 || b->stms.at[0].exp->kind != E_PRIM || op->params.n != 2)
        return "op";
    PrimOp p = b->stms.at[0].exp->prim.op;
    const char *sym = symbols[p].text;
    return arena_printf(cx->perm, "(%s)", sym ? sym : prim_info[p].text);
}

static const char *atoms_text(Ctx *cx, const Atoms *as)
{
    const char *t = "";
    for (int k = 0; k < as->n; k++)
        t = arena_printf(cx->perm, "%s%s%s", t, k ? " " : "", ex_atom_text(cx, as->at[k]));
    return as->n == 1 ? t : arena_printf(cx->perm, "(%s)", t);
}

static const char *const form_words[N_FORMS] = {
#define FORM(tag, text, member, dialects, traits) [E_##tag] = text,
#include "ir/forms.def"
#undef FORM
};

/* Those of people who do not know the forms. */
static const char *const plain_words[N_FORMS] = {
    [E_LOOP] = "loop", [E_MAP] = "map",       [E_REDUCE] = "reduction", [E_REDOMAP] = "reduction",
    [E_SCAN] = "scan", [E_SCANOMAP] = "scan", [E_SCATTER] = "scatter",  [E_HIST] = "histogram"};

/* Sequential code in one line: its SOACs and loops by their words, nested as they are. */
static const char *sequential_text(Ctx *cx, const Body *b, const char *const words[N_FORMS])
{
    const char *t = "";
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        const char *one = NULL;
        if (exp_is_soac(e)) {
            const char *in = e->soac.fn ? sequential_text(cx, e->soac.fn->body, words) : "";
            const char *op = e->soac.op ? ex_operator_text(cx, e->soac.op) : "";
            if (words == plain_words && *op != '(')
                op = ""; /* of several operations: nothing that has a sign */
            one = arena_printf(cx->perm, "%s%s%s%s%s%s", words[e->kind], *op ? " " : "", op,
                               *in ? " (" : "", in, *in ? ")" : "");
        } else if (e->kind == E_LOOP) {
            const char *in = sequential_text(cx, e->loop.body, words);
            one = arena_printf(cx->perm, "%s%s%s%s", words[E_LOOP], *in ? " (" : "", in,
                               *in ? ")" : "");
        } else if (e->kind == E_IF) {
            const char *th = sequential_text(cx, e->branch.then_, words);
            const char *el = sequential_text(cx, e->branch.else_, words);
            if (*th || *el)
                one = arena_printf(cx->perm, "if (%s) else (%s)", th, el);
        }
        if (one)
            t = *t ? arena_printf(cx->perm, "%s; %s", t, one) : one;
    }
    return t;
}

const char *ex_sequential_text(Explain *x, const Body *b)
{
    return sequential_text(x->cx, b, plain_words);
}

/* What a thread does: its SOACs and loops, or the values of scalar code. */
const char *ex_thread_text(Explain *x, const Body *b)
{
    const char *seq = sequential_text(x->cx, b, form_words), *t = "";
    if (*seq)
        return seq;
    VarMap *defs = varmap_new(x->cx->perm);
    for (int i = 0; i < b->stms.n; i++)
        if (b->stms.at[i].pat.n == 1)
            varmap_put(defs, b->stms.at[i].pat.at[0], b->stms.at[i].exp);
    for (int k = 0; k < b->res.n; k++)
        t = arena_printf(x->cx->perm, "%s%s%s", t, k ? ", " : "",
                         operand_text(x->cx, defs, b->res.at[k], 4, BINDS_NOT, false));
    return t;
}

/* segred^1 <xs in xss> <x in xs> (+) 0 */
const char *ex_seg_text(Explain *x, const Exp *e)
{
    const char *t = arena_printf(x->cx->perm, "%s^%d %s", form_info[e->kind].text, e->seg.level,
                                 nest_text(&e->seg.nest));
    if (e->seg.op)
        t = arena_printf(x->cx->perm, "%s %s %s", t, ex_operator_text(x->cx, e->seg.op),
                         atoms_text(x->cx, &e->seg.nes));
    return t;
}

const char *ex_pat_text(Explain *x, const Vars *pat)
{
    const char *t = "";
    for (int k = 0; k < pat->n; k++)
        t = arena_printf(x->cx->perm, "%s%s%s", t, k ? ", " : "", pat->at[k]->base);
    return t;
}

static void collect_defs(void *env, Body *b)
{
    VarMap *defs = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (s->pat.n == 1)
            varmap_put(defs, s->pat.at[0], s->exp);
        ExpVisitor v = {.env = defs, .body = collect_defs};
        if (!exp_is_seg(s->exp))
            exp_visit(s->exp, &v);
    }
}

Explain ex_new(Ctx *cx, Out *o, const Entry *en, const FlExplainHook *hook)
{
    Explain x = {.cx = cx, .o = o, .hook = hook, .defs = varmap_new(cx->perm)};
    x.name = diag_place(en->loc).file;
    collect_defs(x.defs, en->body);
    return x;
}

bool ex_elsewhere(const Explain *x, Place p)
{
    return p.file && x->name && strcmp(p.file, x->name) != 0;
}

const Exp *ex_guard(const Explain *x, const Exp *e)
{
    if (e->kind != E_IF || !e->branch.test.var)
        return NULL;
    const Exp *test = varmap_get(x->defs, e->branch.test.var);
    return test && test->kind == E_SUFF ? test : NULL;
}

bool ex_is_kept(const Exp *e)
{
    return e->kind == E_SCRATCH && (e->attrs & ATTR_KEPT);
}

const Exp *ex_next_choice(const Explain *x, const Exp *choice)
{
    const Body *els = choice->branch.else_;
    const Exp *last = els->stms.n ? vec_last(&els->stms).exp : NULL;
    if (!last || !ex_guard(x, last))
        return NULL;
    for (int i = 0; i < els->stms.n - 1; i++)
        if (els->stms.at[i].exp->kind != E_PRIM && els->stms.at[i].exp->kind != E_SUFF)
            return NULL;
    return last;
}

/* --- Texts for people ----------------------------------------------------------------------- */

const char *ex_short_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

const char *ex_short(const char *size)
{
    return strlen(size) <= LONGEST_SIZE ? size : "computed sizes";
}

const char *ex_line_text(const Explain *x, Place p)
{
    return ex_elsewhere(x, p) ? arena_printf(x->cx->perm, "%s:%d", p.file, p.line)
                              : arena_printf(x->cx->perm, "line %d", p.line);
}

/* --- Thresholds ----------------------------------------------------------------------------- */

typedef struct {
    Explain *x;
    FlThresholds *list;
} Find;

/* What mf_pays weighs, or why there is nothing to weigh. */
static const char *weighed_text(Explain *x, const Exp *e)
{
    if (e->suff.never)
        return arena_printf(x->cx->perm, "never: %s", e->suff.never);
    if (atom_is_int(e->suff.steps, 0))
        return "";
    const char *all = operand_text(x->cx, x->defs, e->suff.elems, DEEP, BINDS_FACTOR, false);
    const char *elems = arena_printf(x->cx->perm, "if %s <= %s / %d", ex_par_text(x, e->suff.steps),
                                     all, RT_FULL_DEVICE);
    if (atom_is_int(e->suff.spared, 0))
        return elems;
    return arena_printf(x->cx->perm, "%s + %d * %s", elems, RT_LAUNCH_STEPS,
                        ex_par_text(x, e->suff.spared));
}

/* What decides where there are matrix units (E_SUFF), too. */
static const char *untuned_text(Explain *x, const Exp *e)
{
    const char *weighed = weighed_text(x, e);
    const Exp *units = e->suff.units.var ? varmap_get(x->defs, e->suff.units.var) : NULL;
    if (!units)
        return weighed;
    bool behind = units->kind == E_PRIM && units->prim.op == OP_SUB;
    return arena_printf(x->cx->perm, "%s where matrix units do attention of such rows%s%s",
                        behind ? "never" : "always", *weighed ? ", else " : "", weighed);
}

static void find_thresholds(void *env, Body *b)
{
    Find *f = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_SUFF) {
            FlThreshold t = {e->suff.name,
                             e->suff.intra,
                             e->suff.path,
                             ex_par_text(f->x, e->suff.par),
                             ex_par_text(f->x, e->suff.work),
                             untuned_text(f->x, e),
                             e->loc};
            vec_push(f->x->cx->perm, f->list, t);
        }
        ExpVisitor v = {.env = f, .body = find_thresholds};
        if (!exp_is_seg(e))
            exp_visit(e, &v);
    }
}

FlThresholds fl_thresholds(Ctx *cx, const Entry *en)
{
    FlThresholds list = {0};
    Explain x = ex_new(cx, NULL, en, NULL);
    Find f = {&x, &list};
    find_thresholds(&f, en->body);
    return list;
}
