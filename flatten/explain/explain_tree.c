/* minifut explain -v: the derivation, the tree of versions as the paper prints it, its thresholds
 * and the parallel constructs (kernels, where they stand at level 1) of each leaf. */
#include "flatten/explain/explain.h"

#include <string.h>

/* --- The tree as text ----------------------------------------------------------------------- */

static void tree_body(Explain *x, const Body *b);

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
                   ex_short_name(suff->suff.name));
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
                   e->loop.i ? ex_atom_text(x->cx, e->loop.bound) : "..");
        x->o->indent++;
        tree_body(x, e->loop.body);
        x->o->indent--;
    } else if (e->kind == E_IF &&
               (body_has_seg(e->branch.then_) || body_has_seg(e->branch.else_))) {
        out_printf(x->o, "if %s then\n", ex_atom_text(x->cx, e->branch.test));
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
        ex_ranks(&x, en->name);
        out_puts(o, "versions:\n");
        o->indent++;
        tree_leaf(&x, en->body);
        o->indent--;
        if (hook && hook->run_time)
            hook->run_time(hook->env, o, en->name);
        o->indent--;
    }
}
