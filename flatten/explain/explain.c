/* minifut explain: the derivation, the tree of versions as the paper prints it, its thresholds and
 * the parallel constructs (kernels, where they stand at level 1) of each leaf. */
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

static const char *plain_atom(Ctx *cx, Atom a)
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

/* An operand as an expression over what is bound outside of `defs`; at most `deep` operations deep.
 * In parentheses where it stands inside an operation that binds as tightly as `binds`, on its right
 * if `right`, and would be read otherwise without. */
static const char *operand_text(Ctx *cx, const VarMap *defs, Atom a, int deep, int binds,
                                bool right)
{
    const Exp *e = a.var ? varmap_get(defs, a.var) : NULL;
    if (!e || deep == 0)
        return plain_atom(cx, a);
    if (e->kind == E_ATOM)
        return operand_text(cx, defs, e->atom, deep, binds, right);
    if (e->kind == E_CONV)
        return operand_text(cx, defs, e->conv.arg, deep, binds, right);
    return e->kind == E_PRIM ? operation_text(cx, defs, e, deep, binds, right) : plain_atom(cx, a);
}

enum { DEEP = 12 }; /* expressions of sizes */

const char *ex_par_text(Explain *x, Atom par)
{
    return operand_text(x->cx, x->defs, par, DEEP, BINDS_NOT, false);
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
        t = arena_printf(cx->perm, "%s%s%s", t, k ? " " : "", plain_atom(cx, as->at[k]));
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

/* --- Thresholds ----------------------------------------------------------------------------- */

typedef struct {
    Explain *x;
    FlThresholds *list;
} Find;

/* What mf_pays weighs, or why there is nothing to weigh. */
static const char *untuned_text(Explain *x, const Exp *e)
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

/* --- The tree as text ----------------------------------------------------------------------- */

static void tree_body(Explain *x, const Body *b);

/* The threshold's name without the entry's. */
static const char *short_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static void tree_seg(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    out_printf(x->o, "let %s = %s\n", ex_pat_text(x, &s->pat), ex_seg_text(x, e));
    x->o->indent++;
    if (body_has_seg(e->seg.body))
        tree_body(x, e->seg.body);
    else
        out_printf(x->o, "(%s)\n", ex_thread_text(x, e->seg.body));
    if (x->hook && x->hook->kernel)
        x->hook->kernel(x->hook->env, x->o, e);
    x->o->indent--;
}

static void tree_leaf(Explain *x, const Body *b)
{
    if (!body_any(b, exp_is_guard))
        out_printf(x->o, "-- V%d\n", x->n_leaves++);
    tree_body(x, b);
}

/* if par >= threshold then .. else if .. else .. */
static void tree_guard(Explain *x, const Exp *e, const Exp *suff)
{
    for (;;) {
        out_printf(x->o, "if %s >= %s then\n", ex_par_text(x, suff->suff.par),
                   short_name(suff->suff.name));
        x->o->indent++;
        tree_leaf(x, e->branch.then_);
        x->o->indent--;
        const Exp *next = ex_next_choice(x, e);
        out_puts(x->o, next ? "else " : "else\n");
        if (!next)
            break;
        e = next;
        suff = ex_guard(x, next);
    }
    x->o->indent++;
    tree_leaf(x, e->branch.else_);
    x->o->indent--;
}

static void tree_stm(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    const Exp *suff = ex_guard(x, e);
    if (exp_is_seg(e)) {
        tree_seg(x, s);
    } else if (suff) {
        out_printf(x->o, "let %s =\n", ex_pat_text(x, &s->pat));
        x->o->indent++;
        tree_guard(x, e, suff);
        x->o->indent--;
    } else if (e->kind == E_LOOP && body_has_seg(e->loop.body)) {
        out_printf(x->o, "loop %s for %s < %s do\n", ex_pat_text(x, &e->loop.params),
                   e->loop.i ? e->loop.i->base : "while",
                   e->loop.i ? plain_atom(x->cx, e->loop.bound) : "..");
        x->o->indent++;
        tree_body(x, e->loop.body);
        x->o->indent--;
    } else if (e->kind == E_IF &&
               (body_has_seg(e->branch.then_) || body_has_seg(e->branch.else_))) {
        out_printf(x->o, "if %s then\n", plain_atom(x->cx, e->branch.test));
        x->o->indent++;
        tree_body(x, e->branch.then_);
        x->o->indent--;
        out_puts(x->o, "else\n");
        x->o->indent++;
        tree_body(x, e->branch.else_);
        x->o->indent--;
    }
}

static void tree_body(Explain *x, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        tree_stm(x, &b->stms.at[i]);
}

/* --- Text ----------------------------------------------------------------------------------- */

static void text_derivation(Explain *x, const Entry *en)
{
    const Derivations *log = log_of(x->cx);
    out_puts(x->o, "derivation:\n");
    x->o->indent++;
    for (int i = 0; i < log->n; i++) {
        const Derivation *d = &log->at[i];
        if (strcmp(d->entry, en->name) != 0)
            continue;
        Place p = diag_place(d->loc);
        const char *at = !p.file              ? "-"
                         : ex_elsewhere(x, p) ? diag_place_str(d->loc)
                                              : arena_printf(x->cx->perm, "%d:%d", p.line, p.col);
        out_printf(x->o, "%-7s %*s%s  %s%s%s  %s\n", at, 2 * d->depth, "", d->rule, d->form,
                   d->nest[0] ? " under " : "", d->nest, d->outcome);
    }
    x->o->indent--;
}

static void text_thresholds(Explain *x, const Entry *en)
{
    FlThresholds ts = fl_thresholds(x->cx, en);
    out_puts(x->o, ts.n ? "thresholds:\n" : "thresholds: none\n");
    x->o->indent++;
    for (int i = 0; i < ts.n; i++)
        out_printf(x->o, "%-28s %s of %s (%s)%s%s\n", ts.at[i].name, ts.at[i].par, ts.at[i].work,
                   path_text(x->cx, &ts.at[i].path), *ts.at[i].untuned ? ", untuned " : "",
                   ts.at[i].untuned);
    x->o->indent--;
}

void fl_explain(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook)
{
    for (int i = 0; i < flat->entries.n; i++) {
        const Entry *en = &flat->entries.at[i];
        Explain x = ex_new(cx, o, en, hook);
        out_printf(o, "%sentry %s\n", i ? "\n" : "", en->name);
        o->indent++;
        text_derivation(&x, en);
        text_thresholds(&x, en);
        out_puts(o, "versions:\n");
        o->indent++;
        tree_leaf(&x, en->body);
        o->indent--;
        if (hook && hook->run_time)
            hook->run_time(hook->env, o, en->name);
        o->indent--;
    }
}
