/* minifut explain --json: one object {"entries": [..]}; the tree of versions has nodes
 *   {"kind": "choice", "threshold": .., "par": .., "then": [..], "else": [..]}
 *   {"kind": "kernel", "text": .., "words": .., "level": .., "loc": .., "thread": ..,
 *    "inside": [..]}
 *   {"kind": "loop" | "if", ..}
 *   {"kind": "kept", "size": .., "elem": .., "strips": .., "loc": ..}: memory for what a loop keeps
 *    for its derivative, so many numbers; strips: `#[stripmine]` has it keep fewer
 * and each leaf body begins with {"kind": "version", "id": N}. */
#include "flatten/explain/explain.h"

#include <string.h>

static void member(Out *o, const char *key, const char *text)
{
    out_printf(o, "\"%s\": ", key);
    out_quoted(o, text);
}

static void json_body(Explain *x, const Body *b, bool leaf);

static void json_list(Explain *x, const char *key, const Body *b, bool leaf)
{
    out_printf(x->o, ", \"%s\": ", key);
    json_body(x, b, leaf);
}

static void json_seg(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    out_puts(x->o, "{\"kind\": \"kernel\", ");
    member(x->o, "form", form_info[e->kind].text);
    out_printf(x->o, ", \"level\": %d, ", e->seg.level);
    member(x->o, "results", ex_pat_text(x, &s->pat));
    out_puts(x->o, ", ");
    member(x->o, "text", ex_seg_text(x, e));
    out_puts(x->o, ", ");
    member(x->o, "words", ex_sentence(x, e));
    out_puts(x->o, ", ");
    member(x->o, "loc", diag_place_str(e->loc));
    bool kernels = body_has_seg(e->seg.body);
    if (kernels || body_any(e->seg.body, ex_is_kept))
        json_list(x, "inside", e->seg.body, false);
    if (!kernels) {
        out_puts(x->o, ", ");
        member(x->o, "thread", ex_thread_text(x, e->seg.body));
    }
    if (x->hook && x->hook->kernel_json)
        x->hook->kernel_json(x->hook->env, x->o, e);
    out_puts(x->o, "}");
}

static void json_choice(Explain *x, const Exp *e, const Exp *suff)
{
    out_puts(x->o, "{\"kind\": \"choice\", ");
    member(x->o, "threshold", suff->suff.name);
    out_puts(x->o, ", ");
    member(x->o, "par", ex_par_text(x, suff->suff.par));
    json_list(x, "then", e->branch.then_, true);
    json_list(x, "else", e->branch.else_, true);
    out_puts(x->o, "}");
}

static void json_kept(Explain *x, const Exp *e)
{
    Type t = e->scratch.type;
    out_puts(x->o, "{\"kind\": \"kept\", ");
    member(x->o, "size", ex_sizes_text(x, t.dims, t.rank));
    out_puts(x->o, ", ");
    member(x->o, "elem", prim_type_text[t.elem]);
    out_printf(x->o, ", \"strips\": %s, ", attr_strips(e->attrs) ? "true" : "false");
    member(x->o, "loc", diag_place_str(e->loc));
    out_puts(x->o, "}");
}

/* False: nothing of interest in s. */
static bool json_stm(Explain *x, const Stm *s, const char *sep)
{
    const Exp *e = s->exp;
    const Exp *suff = ex_guard(x, e);
    bool loop = e->kind == E_LOOP && body_has_seg(e->loop.body);
    bool branch =
        e->kind == E_IF && (body_has_seg(e->branch.then_) || body_has_seg(e->branch.else_));
    bool kept = ex_is_kept(e);
    if (!exp_is_seg(e) && !suff && !loop && !branch && !kept)
        return false;
    out_puts(x->o, sep);
    if (kept) {
        json_kept(x, e);
    } else if (exp_is_seg(e)) {
        json_seg(x, s);
    } else if (suff) {
        json_choice(x, e, suff);
    } else if (loop) {
        out_puts(x->o, "{\"kind\": \"loop\"");
        json_list(x, "body", e->loop.body, false);
        out_puts(x->o, "}");
    } else {
        out_puts(x->o, "{\"kind\": \"if\"");
        json_list(x, "then", e->branch.then_, false);
        json_list(x, "else", e->branch.else_, false);
        out_puts(x->o, "}");
    }
    return true;
}

static void json_body(Explain *x, const Body *b, bool leaf)
{
    const char *sep = "";
    out_puts(x->o, "[");
    if (leaf && !body_any(b, exp_is_guard)) {
        out_printf(x->o, "{\"kind\": \"version\", \"id\": %d}", x->n_leaves++);
        sep = ", ";
    }
    for (int i = 0; i < b->stms.n; i++)
        if (json_stm(x, &b->stms.at[i], sep))
            sep = ", ";
    out_puts(x->o, "]");
}

static void json_thresholds(Explain *x, const Entry *en)
{
    FlThresholds ts = fl_thresholds(x->cx, en);
    out_puts(x->o, "\"thresholds\": [");
    for (int i = 0; i < ts.n; i++) {
        const FlThreshold *t = &ts.at[i];
        out_puts(x->o, i ? ",\n{" : "\n{");
        member(x->o, "name", t->name);
        out_printf(x->o, ", \"kind\": \"%s\", ", t->intra ? "intra" : "outer");
        member(x->o, "par", t->par);
        out_puts(x->o, ", ");
        member(x->o, "work", t->work);
        out_puts(x->o, ", ");
        member(x->o, "untuned", t->untuned);
        out_puts(x->o, ", ");
        member(x->o, "loc", diag_place_str(t->loc));
        out_puts(x->o, ", \"path\": [");
        for (int k = 0; k < t->path.n; k++) {
            out_puts(x->o, k ? ", {" : "{");
            member(x->o, "name", t->path.at[k].name);
            out_printf(x->o, ", \"taken\": %s}", t->path.at[k].taken ? "true" : "false");
        }
        out_puts(x->o, "]}");
    }
    out_puts(x->o, "]");
    ex_ranks_json(x, en->name);
    if (x->hook && x->hook->run_time_json)
        x->hook->run_time_json(x->hook->env, x->o, en->name);
}

static void json_derivation(Explain *x, const Entry *en)
{
    const Derivations *log = log_of(x->cx);
    const char *sep = "\n{";
    out_puts(x->o, "\"derivation\": [");
    for (int i = 0; i < log->n; i++) {
        const Derivation *d = &log->at[i];
        if (strcmp(d->entry, en->name) != 0)
            continue;
        out_puts(x->o, sep);
        member(x->o, "rule", d->rule);
        out_puts(x->o, ", ");
        member(x->o, "loc", diag_place_str(d->loc));
        out_printf(x->o, ", \"depth\": %d, ", d->depth);
        member(x->o, "form", d->form);
        out_puts(x->o, ", ");
        member(x->o, "nest", d->nest);
        out_puts(x->o, ", ");
        member(x->o, "outcome", d->outcome);
        out_puts(x->o, "}");
        sep = ",\n{";
    }
    out_puts(x->o, "]");
}

void fl_explain_json(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook)
{
    out_puts(o, "{\"entries\": [");
    for (int i = 0; i < flat->entries.n; i++) {
        const Entry *en = &flat->entries.at[i];
        Explain x = ex_new(cx, o, en, hook);
        out_puts(o, i ? ",\n{" : "\n{");
        member(o, "name", en->name);
        out_puts(o, ",\n");
        json_derivation(&x, en);
        out_puts(o, ",\n");
        json_thresholds(&x, en);
        json_list(&x, "versions", en->body, true);
        out_puts(o, "}");
    }
    out_puts(o, "]}\n");
}
