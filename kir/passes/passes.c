/* The passes over kernels, in order. */
#include "kir/passes/passes.h"

#include "base/stage.h"
#include "kir/facts/verify.h"
#include "kir/hash.h"
#include "kir/text/text.h"
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

#include <stdio.h>
#include <string.h>

const KPass kir_making_table[] = {
    {"loop-fusion", kir_fuse_loops, KP_ALL,
     "loops that hand their elements on, before arrays are put into registers"},
    {"scalar-replacement", kir_replace_scalars, KP_ALL,
     "what work-items pass on to themselves, before buffers share memory"},
    {"locals", kir_locals, KP_ALL, "local buffers that share memory"},
    {NULL, NULL, KP_ALL, NULL},
};

const KPass kir_pass_table[] = {
    {"dead", kir_dead, KP_ALL, "what has no effect"},
    {"selections", kir_select, KP_ALONE, "branches that loops need not have"},
    {"unroll", kir_unroll, KP_ALL, "short loops: constant positions"},
    {"scalarize", kir_scalarize, KP_ALL, "private arrays that have only those are variables"},
    {"shifts", kir_shifts, KP_ALL,
     "shifts by a loop's counter: as long as loops are as their makers leave them"},
    {"invariant", kir_invariant, KP_ALL, "integer arithmetic out of loops, and once"},
    {"conditions", kir_fold_conditions, KP_ALL,
     "checks that were made; they would stand between neighbours"},
    {"scatters", kir_split_scatters, KP_ALL,
     "what is written where, for blocks: checks are folded"},
    {"edges", kir_split_edges, KP_ALL, "elements that have all neighbours"},
    {"vector", kir_vector, KP_ALL,
     "neighbours together: positions are known, and not yet of 32 bits"},
    {"lanes", kir_lanes, KP_ALONE, "loops that turn as often as each element wants: side by side"},
    {"unswitch", kir_unswitch, KP_ALONE, "inner loops that have turns: outer loops are vectors"},
    {"bounded", kir_bound_loops, KP_ALONE,
     "loops end where a check fails: invariant sums, before indices have 32 bits"},
    {"ahead", kir_load_ahead, KP_ALONE,
     "what arrays of positions say, ahead of their turns: checks of counters are gone"},
    {"dead-left", kir_dead, KP_ALL, "what the passes before left"},
    {"serialise", kir_serialise, KP_ALL,
     "narrow loops for the first sub-group alone, with barriers that the next pass may take"},
    {"barriers", kir_barriers, KP_ALL, "barriers that order nothing"},
    {"padded", kir_padded, KP_ALL,
     "banks of local memory: nothing looks into positions from here on"},
    {"columns", kir_columns, KP_ALL, "several elements a group: the others know of one"},
    {"narrow", kir_narrow, KP_KERNELS, "indices of 32 bits"},
    {"straight", kir_straighten, KP_ALL,
     "turns side by side: loads that wait for no check; numbers as they are by then"},
    {"failures", kir_failures, KP_ALL, "what other turns record, behind their loops"},
    {"compose", kir_compose, KP_ALL,
     "values that one statement wants: nothing asks for names any more"},
    {NULL, NULL, KP_ALL, NULL},
};

static const KPass *find(const KPass *p, const char *name)
{
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name ? p : NULL;
}

const KPass *kir_pass(const char *name)
{
    const KPass *p = find(kir_making_table, name);
    return p ? p : find(kir_pass_table, name);
}

/* --- Running them --- */

/* Somebody wants to know what each pass changes. */
static bool watched(const KRun *r)
{
    return r->verify == VERIFY_EACH || r->trace;
}

KRun krun_begin(const KFun *f, VerifyWhen verify, bool trace, const char *on)
{
    KRun r = {.verify = verify, .trace = trace, .on = on};
    r.stamp = f && watched(&r) ? kir_stamp(f) : 0;
    return r;
}

void krun_enter(KRun *r, const char *name)
{
    r->around = stage_enter(name);
}

static void trace(const KRun *r, const KFun *f)
{
    Out o = {0};
    kir_print(&o, f);
    fprintf(stderr, "-- kernel %s%s%s after %s\n%s", f->name, r->on ? " on " : "",
            r->on ? r->on : "", stage_name(), o.text);
    out_free(&o);
}

void krun_leave(KRun *r, const KFun *f)
{
    uint64_t stamp = watched(r) ? kir_stamp(f) : 0;
    bool changed = stamp != r->stamp;
    r->stamp = stamp;
    if (r->trace && changed)
        trace(r, f);
    if (r->verify == VERIFY_EACH && changed) {
        const char *name = stage_enter("verify");
        kir_verify(f, name);
    }
    stage_leave(r->around);
}

void krun_end(const KRun *r, const KFun *f)
{
    if (r->verify != VERIFY_ENDS)
        return;
    const char *around = stage_enter("verify");
    kir_verify(f, "its passes");
    stage_leave(around);
}

void krun(KRun *r, Arena *a, KFun *f, const KPass *p)
{
    krun_enter(r, p->name);
    p->run(a, f);
    krun_leave(r, f);
}

static bool is_for(const KPass *p, const KFun *f)
{
    switch (p->where) {
    case KP_ALL: return true;
    case KP_KERNELS: return !f->is_function;
    case KP_ALONE: return f->alone || f->is_function;
    }
    return false;
}

void kir_passes(KRun *r, Arena *a, KFun *f)
{
    for (const KPass *p = kir_pass_table; p->name; p++)
        if (is_for(p, f))
            krun(r, a, f, p);
    krun_end(r, f);
}
