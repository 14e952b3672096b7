#include "pipeline/passes.h"

#include "base/stage.h"
#include "pipeline/keep.h"

#include "ad/ad.h"
#include "common/spell.h"
#include "flatten/flatten.h"
#include "frontend/lower/lower.h"
#include "level2/level2.h"
#include "memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes that work on either dialect. */
enum { BOTH = D_SOAC | D_SEG };

const Pass pipeline[] = {
    {"ad", ad_differentiate, D_SOAC, D_SOAC, "first: derivatives become ordinary code"},
    {"functions", pass_functions, D_SOAC, D_SOAC,
     "early: what is inlined is simplified with what is around it"},
    {"simplify", pass_simplify, BOTH, BOTH, "what lowering left: copies, constants, dead code"},
    {"turn-sums", pass_turn_sums, D_SOAC, D_SOAC,
     "before fusion, which makes one of a sum and its addition"},
    {"factored", pass_factored, D_SOAC, D_SOAC,
     "before fusion, which makes one of a product and its sum"},
    {"cse-views", pass_cse_views, D_SOAC, D_SOAC, "siblings are fused by the arrays they share"},
    {"fuse", pass_fuse, D_SOAC, D_SOAC, "producers into consumers, so that a nest is written once"},
    {"masked", pass_masked, D_SOAC, D_SOAC, "after fusion; before siblings fuse"},
    {"renest", pass_renest, D_SOAC, D_SOAC,
     "nests that fusion made perfect, read through reshapes"},
    {"fuse-renested", pass_fuse, D_SOAC, D_SOAC, "those maps and their readers"},
    {"joined", pass_joined, D_SOAC, D_SOAC, "after fusion: who reads by an index does not fuse"},
    {"simplify-fused", pass_simplify, D_SOAC, D_SOAC, "fused lambdas have copies to propagate"},
    {"cse", pass_cse, BOTH, BOTH, "after fusion: an array shared too early does not fuse"},
    {"hoist", pass_hoist, BOTH, BOTH, "invariant code out of nests, so that G6 need not expand it"},
    {"choices", pass_choices, D_SOAC, D_SOAC, "after hoisting, which tells what varies"},
    {"simplify-hoisted", pass_simplify, D_SOAC, D_SOAC, "bounds known after hoisting"},
    {"ahead", pass_ahead, D_SOAC, D_SOAC, "reductions where what they read is made, a turn before"},
    {"operands", pass_operands, D_SOAC, D_SOAC,
     "after all fusion, which would undo it: what matrix units take is an array"},
    {"share", l2_share, D_SOAC, D_SOAC,
     "what ranks share out; flattening is what each of them does"},
    {"flatten", fl_flatten, D_SOAC, D_SEG, "rules G0-G14: the versions and their guards"},
    {"simplify-seg", pass_simplify, D_SEG, D_SEG, "each version by itself"},
    {"cse-seg", pass_cse, D_SEG, D_SEG, "sizes computed once"},
    {"rematerialise", pass_rematerialise, D_SEG, D_SEG,
     "cheap arrays that their readers compute, once versions stand"},
    {"interchange", pass_interchange, D_SEG, D_SEG,
     "after rematerialise, which computes at places of nests"},
    {"simplify-interchanged", pass_simplify, D_SEG, D_SEG,
     "indices of what was read through nests"},
    {"cse-interchanged", pass_cse, D_SEG, D_SEG, "elements that a reader computes several of"},
    {"hoist-seg", pass_hoist, D_SEG, D_SEG, "scalars and views out of kernels and host loops"},
    {"calls", pass_calls, D_SEG, D_SEG, "last behind what moves code to the host, which has none"},
    {"layout", mem_layout, D_SEG, D_SEG, "transposed copies for coalesced access"},
    {"clean", pass_simplify, D_SEG, D_SEG, "what layout made superfluous"},
    {"memory", mem_explicit, D_SEG, D_SEG,
     "last: the copies that layouts and updates in place need"},
};
const int n_passes = sizeof pipeline / sizeof *pipeline;

static Prog *lowered(Ctx *cx, const char *file)
{
    stage_enter("parse");
    Ast *ast = fe_load(cx->perm, file);
    stage_enter("check");
    if (!ast || !fe_check(ast) || diag_errors())
        return NULL;
    stage_enter("lower");
    Prog *p = fe_lower(cx, ast);
    return diag_errors() ? NULL : p;
}

Prog *front_end(Ctx *cx, const char *file)
{
    Ctx own = *cx;
    own.perm = arena_new();
    Prog *p = lowered(&own, file);
    diag_flush();
    Prog *kept = p ? prog_keep(cx->perm, p) : NULL;
    arena_free(own.perm);
    return kept;
}

Prog *front_resolved(Ctx *cx, const char *file)
{
    PassOptions each = {.verify = VERIFY_EACH};
    Prog *p = front_end(cx, file);
    if (!p)
        return NULL;
    ir_verify(cx, p, "lower");
    int ad = pass_find("ad");
    p = passes_run(cx, p, ad, ad, &each);
    diag_flush();
    return diag_errors() ? NULL : p;
}

VerifyWhen verify_wanted(void)
{
    const char *user = getenv("MINIFUT_VERIFY");
    return user && strcmp(user, "each") == 0    ? VERIFY_EACH
           : user && strcmp(user, "never") == 0 ? VERIFY_NEVER
                                                : VERIFY_ENDS;
}

static bool is_trace(const Exp *e)
{
    return e->kind == E_TRACE;
}

int passes_last(const Prog *p, int last)
{
    int resolved = pass_find("ad");
    for (int i = 0; i < p->entries.n && last > resolved; i++)
        if (body_any(p->entries.at[i].body, is_trace))
            last = resolved;
    return last;
}

const char *unknown_mode(Arena *a, const char *mode)
{
    rt_spelling s = rt_spell(mode);
    for (int m = 0; m < N_FLATTEN_MODES; m++)
        rt_spell_try(&s, fl_mode_text[m]);
    return arena_printf(a, "unknown mode '%s'%s", mode,
                        s.nearest ? rt_spell_hint(&s) : ": incremental, moderate, full or outer");
}

const char *mode_words(Arena *a)
{
    const char *words = fl_mode_text[0];
    for (int m = 1; m < N_FLATTEN_MODES; m++)
        words = arena_printf(a, "%s %s", words, fl_mode_text[m]);
    return words;
}

const char *pass_words(Arena *a)
{
    const char *words = "lower";
    for (int i = 0; i < n_passes; i++)
        words = arena_printf(a, "%s %s", words, pipeline[i].name);
    return words;
}

int pass_find(const char *name)
{
    for (int i = 0; i < n_passes; i++)
        if (strcmp(pipeline[i].name, name) == 0)
            return i;
    return -1;
}

static char *dump(const Prog *p)
{
    Out o = {0};
    ir_print(&o, p);
    return out_take(&o);
}

static void trace(const Pass *pass, const Prog *before, const Prog *after)
{
    char *old = dump(before), *new = dump(after);
    fprintf(stderr, "-- after %s%s\n", pass->name, strcmp(old, new) == 0 ? ": unchanged" : "");
    if (strcmp(old, new) != 0)
        fputs(new, stderr);
    free(old);
    free(new);
}

/* What the pass makes, in memory that goes with it, and what it leaves in *mem. */
static Prog *run_lean(Ctx *cx, const Pass *pass, Prog *p, Arena **mem)
{
    Ctx own = *cx;
    own.perm = arena_new();
    Prog *made = pass->run(&own, p);
    if (made == p) {
        arena_free(own.perm);
        return p;
    }
    Arena *kept = arena_new();
    Prog *out = prog_keep(kept, made);
    arena_free(own.perm);
    if (*mem)
        arena_free(*mem);
    *mem = kept;
    return out;
}

Prog *passes_run(Ctx *cx, Prog *p, int first, int last, const PassOptions *opts)
{
    Arena *mem = NULL; /* of p, if that is lean */
    bool lean = opts->lean && !opts->trace;
    for (int i = first; i <= last; i++) {
        const Pass *pass = &pipeline[i];
        stage_enter(pass->name);
        if (!(p->dialect & pass->needs))
            ice(NO_LOC, "stage %s got a program in the wrong dialect", pass->name);
        unsigned dialect = p->dialect;
        Prog *out = lean ? run_lean(cx, pass, p, &mem) : pass->run(cx, p);
        if (diag_errors()) /* of what is refused there may be half a program */
            return out;
        if (opts->trace)
            trace(pass, p, out);
        bool ends = i == last || out->dialect != dialect;
        if (opts->verify == VERIFY_EACH || (opts->verify == VERIFY_ENDS && ends)) {
            stage_enter("verify");
            ir_verify(cx, out, pass->name);
        }
        p = out;
    }
    return p;
}
