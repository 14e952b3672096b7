/* minifut explain: the versions of a program in plain words, for people who have not read of the
 * rules. Each choice stands under the line of the program that it is made for:
 *
 *     a nest at line 8: map (\xs -> map (\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
 *         of n * p * m: 5 versions; the first one whose condition holds is taken
 *         V0  if n >= suff_outer_par_0
 *             one thread for each of n, which does alone: map (reduction (+))
 *             kernel segmap_main_0 */
#include "flatten/explain/explain.h"

#include "ir/chains/attention.h"

#include <string.h>

enum { LONGEST_WORK = 70 };

/* A text, or what stands for it where it is too long to be read. */
static const char *short_text(const char *text, size_t most, const char *instead)
{
    return strlen(text) <= most ? text : instead;
}

/* The sizes of the outermost n dimensions; dots for those that are too long to be read. */
static const char *sizes_text(Explain *x, const Nest *nest, int n)
{
    return ex_product_text(x, nest, n, LONGEST_SIZE / n);
}

/* --- Constructs ------------------------------------------------------------------------------- */

/* Who does what of a segmap. */
static const char *map_sentence(Explain *x, const Exp *e, const char *all)
{
    const char *alone = ex_sequential_text(x, e->seg.body);
    if (body_has_seg(e->seg.body))
        return arena_printf(
            x->cx->perm, "one work-group for each of %s, whose threads share what is inside", all);
    if (e->seg.level == 0)
        return arena_printf(x->cx->perm, "%s in parallel%s%s", all, *alone ? ", each: " : "",
                            short_text(alone, LONGEST_WORK, "several things one after another"));
    if (!*alone)
        return arena_printf(x->cx->perm, "one thread for each of %s", all);
    Attention a;
    if (attention_of(x->cx, e, &a))
        return arena_printf(
            x->cx->perm,
            "attention for each of %s: by matrix units in one pass over keys, which "
            "keeps no scores; else one thread does all that is inside",
            all);
    return arena_printf(x->cx->perm, "one thread for each of %s, which does alone: %s", all,
                        short_text(alone, LONGEST_WORK, "all that is inside, one after another"));
}

/* What a construct makes of its elements, in the order of the forms. */
static const char *made_text(Explain *x, const Exp *e)
{
    const char *op = e->seg.op ? ex_operator_text(x->cx, e->seg.op) : "";
    const char *by = strcmp(op, "op") == 0 ? "an operator of several values" : op;
    switch (e->kind) {
    case E_SEGRED: return arena_printf(x->cx->perm, "reduced by %s", by);
    case E_SEGSCAN: return arena_printf(x->cx->perm, "scanned by %s", by);
    case E_SEGSCATTER: return "each written to its place";
    default: return arena_printf(x->cx->perm, "counted into bins by %s", by);
    }
}

const char *ex_sentence(Explain *x, const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    const char *all = sizes_text(x, nest, nest->n), *alone = ex_sequential_text(x, e->seg.body),
               *each = "";
    if (e->kind == E_SEGMAP)
        return map_sentence(x, e, all);
    if (nest->n > 1 && (e->kind == E_SEGRED || e->kind == E_SEGSCAN))
        each = arena_printf(x->cx->perm, " within each of %s", sizes_text(x, nest, nest->n - 1));
    return arena_printf(x->cx->perm, "%s%s in parallel, %s%s%s%s", e->seg.level ? "all " : "", all,
                        made_text(x, e), each, *alone ? "; a thread does alone: " : "",
                        short_text(alone, LONGEST_WORK, "several things one after another"));
}

/* --- Choices ---------------------------------------------------------------------------------- */

static int versions_of(const Explain *x, const Body *b);

int ex_versions(const Explain *x, const Exp *choice)
{
    return versions_of(x, choice->branch.then_) + versions_of(x, choice->branch.else_);
}

static int versions_of(const Explain *x, const Body *b)
{
    int n = 0;
    if (!body_any(b, exp_is_guard))
        return 1;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (ex_guard(x, e) || (e->kind == E_IF && (body_any(e->branch.then_, exp_is_guard) ||
                                                   body_any(e->branch.else_, exp_is_guard))))
            n += ex_versions(x, e);
        else if (e->kind == E_LOOP && body_any(e->loop.body, exp_is_guard))
            n += versions_of(x, e->loop.body);
    }
    return n;
}

const char *ex_condition(Explain *x, const Exp *suff)
{
    const char *par = short_text(ex_par_text(x, suff->suff.par), LONGEST_SIZE, "its parallelism");
    return arena_printf(x->cx->perm, "if %s >= %s", par, ex_short_name(suff->suff.name));
}

/* --- The whole -------------------------------------------------------------------------------- */

static void plain_body(Explain *x, const Body *b);

static bool is_here(const Explain *x, Place p)
{
    return x->here.file && p.line == x->here.line && strcmp(p.file, x->here.file) == 0;
}

/* What happens at a line of the program, which is quoted where it is not that of what is around.
 * The line around. */
static Place line_head(Explain *x, Loc loc, const char *what)
{
    Place p = diag_place(loc), around = x->here;
    const char *text = p.file ? diag_line_text(loc) : NULL;
    if (text && !is_here(x, p))
        out_printf(x->o, "%s at %s: %s\n", what, ex_line_text(x, p), text + strspn(text, " \t"));
    else
        out_printf(x->o, "%s\n", what);
    x->here = text ? p : (Place){0};
    return around;
}

static void plain_seg(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    Place p = diag_place(e->loc);
    out_puts(x->o, ex_sentence(x, e));
    if (e->seg.level > 0 && p.file && !is_here(x, p))
        out_printf(x->o, " (%s)", ex_line_text(x, p));
    out_puts(x->o, "\n");
    x->o->indent++;
    plain_body(x, e->seg.body);
    x->o->indent--;
    if (x->hook && x->hook->names)
        x->hook->names(x->hook->env, x->o, e);
}

/* What is taken where a condition holds, or where none does. */
static void plain_version(Explain *x, const Body *b, const char *when)
{
    if (body_any(b, exp_is_guard))
        out_printf(x->o, "%s\n", when);
    else
        out_printf(x->o, "V%-2d %s\n", x->n_leaves++, when);
    x->o->indent++;
    plain_body(x, b);
    x->o->indent--;
}

static void plain_choice(Explain *x, const Exp *e)
{
    const Exp *suff = ex_guard(x, e);
    Place around = line_head(x, suff->loc, "a nest");
    x->o->indent++;
    out_printf(x->o, "of %s: %d versions; the first one whose condition holds is taken\n",
               ex_short(ex_par_text(x, suff->suff.work)), ex_versions(x, e));
    for (const Exp *next = e; next; next = ex_next_choice(x, next)) {
        e = next;
        plain_version(x, e->branch.then_, ex_condition(x, ex_guard(x, e)));
    }
    plain_version(x, e->branch.else_, "otherwise");
    x->o->indent--;
    x->here = around;
}

static void plain_loop(Explain *x, const Exp *e)
{
    const char *times =
        e->loop.i ? short_text(ex_par_text(x, e->loop.bound), LONGEST_SIZE, "computed") : NULL;
    Place around = line_head(
        x, e->loc, times ? arena_printf(x->cx->perm, "a loop (%s turns)", times) : "a while loop");
    x->o->indent++;
    plain_body(x, e->loop.body);
    x->o->indent--;
    x->here = around;
}

static void plain_if(Explain *x, const Exp *e)
{
    const Exp *test = e->branch.test.var ? varmap_get(x->defs, e->branch.test.var) : NULL;
    bool shared = test && test->kind == E_SHARED;
    out_puts(x->o, shared ? "where it is shared out:\n" : "if the condition holds:\n");
    x->o->indent++;
    plain_body(x, e->branch.then_);
    x->o->indent--;
    if (shared && !body_has_seg(e->branch.else_))
        return;
    out_puts(x->o, "else:\n");
    x->o->indent++;
    plain_body(x, e->branch.else_);
    x->o->indent--;
}

/* Memory for what a loop keeps for its derivative; of strips, whose sizes say nothing to people,
 * that it does. */
static void plain_kept(Explain *x, const Exp *e)
{
    Type t = e->scratch.type;
    Place p = diag_place(e->loc);
    bool strips = attr_strips(e->attrs);
    const char *size = short_text(ex_sizes_text(x, t.dims, t.rank), LONGEST_SIZE, "many");
    if (strips)
        out_puts(x->o, "a loop keeps a few turns for its derivative");
    else
        out_printf(x->o, "a loop keeps %s %s for its derivative", size, prim_type_text[t.elem]);
    if (p.file && !is_here(x, p))
        out_printf(x->o, " (%s)", ex_line_text(x, p));
    out_puts(x->o, strips ? "\n" : "; `#[stripmine(2)]` in front of it: fewer\n");
}

static void plain_stm(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    if (ex_is_kept(e))
        plain_kept(x, e);
    else if (exp_is_seg(e))
        plain_seg(x, s);
    else if (ex_guard(x, e))
        plain_choice(x, e);
    else if (e->kind == E_LOOP && body_has_seg(e->loop.body))
        plain_loop(x, e);
    else if (e->kind == E_IF && (body_has_seg(e->branch.then_) || body_has_seg(e->branch.else_)))
        plain_if(x, e);
    else if (e->kind == E_COPY)
        x->here = line_head(x, e->loc, "a copy");
    else if (e->kind == E_MANIFEST)
        out_puts(x->o,
                 "a transposed copy, for threads side by side to read elements side by side\n");
}

static void plain_body(Explain *x, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        plain_stm(x, &b->stms.at[i]);
}

void fl_explain_plain(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook)
{
    bool chosen = false;
    for (int i = 0; i < flat->entries.n; i++) {
        const Entry *en = &flat->entries.at[i];
        Explain x = ex_new(cx, o, en, hook);
        out_printf(o, "%sentry %s\n", i ? "\n" : "", en->name);
        o->indent++;
        ex_ranks(&x, en->name);
        if (!body_has_seg(en->body))
            out_puts(o, "nothing runs in parallel\n");
        else if (!body_any(en->body, exp_is_guard))
            out_puts(o, "one version, there is nothing to choose:\n");
        plain_body(&x, en->body);
        o->indent--;
        chosen |= body_any(en->body, exp_is_guard);
    }
    if (chosen)
        out_puts(o, "\n`minifut tune` sets the thresholds (suff_...); `minifut explain -v` shows "
                    "the rules.\n");
}
