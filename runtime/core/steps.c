/* Loops of short steps in one launch. A launch costs the host 4 to 6 us, a barrier over the grid
 * inside one 1.3 to 2.5 (H200), so a host loop whose steps are short is bound by launches. Here
 * such a loop goes on as ever, but its launches are noted down instead of enqueued. From time to
 * time, and before anything waits for the device, what is noted runs as one launch of a kernel that
 * has the texts of all kernels that occur (steps.cl):
 *
 *     for each step:  wait for all groups, if it touches a block that another one since the last
 *                     such wait wrote, or writes one that was touched; then call its kernel's
 *                     function for each of its groups
 *
 * Which steps there are, with which arguments, that kernel reads from a block of words. So whatever
 * the host decides (branches, sizes that vary, versions, checks) it decides as always, blocks are
 * given back and taken again as always, and only kernels that run are in it. Where it cannot be
 * (does not fit, heaps) or is not worth it, the steps are launched one by one, later than usual but
 * otherwise the same.
 *
 * Groups wait for each other, so there are no more than the device runs at once: rt_groups_at_once.
 * One group is always right. Where parts of a group may have barriers of their own, a group fills a
 * compute unit and does several of a step's groups beside each other, of whatever size: the fewer
 * groups there are, the less a barrier costs. What the first group does alone it finds again
 * without one.
 *
 * Is it worth it? Asked of the launches of a loop so far, by their work-items: where these fill the
 * device several times over, launches overlap with the work. The answer is compared with a
 * threshold of the loop's; untuned with one that follows from what the launches have to do. */
#include "runtime/core/internal.h"
#include "runtime/texts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    RT_FEW_STEPS = 64,      /* for fewer no kernel is built */
    RT_MOST_WINDOW = 64,    /* launches between two questions */
    RT_FIRST_STEPS = 64,    /* noted before the first ones run; twice as many each time */
    RT_MOST_STEPS = 1024,   /* ... up to this */
    RT_MOST_PHASES = 32,    /* kernels in one */
    RT_STEP_HEAD = 3,       /* words of a step before its arguments */
    RT_MOST_STEP_ARGS = 61, /* those whose `reads` are known, and then some */
    RT_MOST_PRIVATE =
        24, /* words of a work-item's arrays in a full group, which leaves it 64 registers (H200) */
};

/* Kernels in one. */
struct rt_stepper {
    rt_kernel kernel;
    rt_kernel_def def;
    char *source;
    int n_phases, phases[RT_MOST_PHASES]; /* kernels, by number */
    int stride;                           /* words of a step */
    int n_blocks;                         /* it has parameters for so many */
    int64_t group;                        /* it is for groups of so many work-items; 0: for any */
    bool unusable;
    struct rt_stepper *next;
};

/* --- The text of a stepper --- */

static void rt_phase_text(const rt_ctx *ctx, FILE *f, int kernel)
{
    const rt_kernel_def *def = ctx->kernels[kernel].def;
    bool builtin = kernel >= ctx->prog->n_kernels;
    for (const rt_define *d = def->defines; d && d->name; d++)
        fprintf(f, "#define %s %s\n", d->name, d->value);
    if (builtin) /* one text for many: of each element and rank */
        fprintf(f, "#define %s %s_%d\n", def->name, def->name, kernel);
    fprintf(f, "%s\n", rt_text_of(ctx, &ctx->kernels[kernel]));
    if (builtin)
        fprintf(f, "#undef %s\n", def->name);
    for (const rt_define *d = def->defines; d && d->name; d++)
        fprintf(f, "#undef %s\n", d->name);
}

/* An argument of a call, by the words of steps.cl. */
static void rt_call_arg_text(FILE *f, const rt_arg *a, int word)
{
    static const char *const ints[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long"};
    switch (a->kind) {
    case RT_ARG_MEM:
    case RT_ARG_UPDATED:
    case RT_ARG_HEAP: fprintf(f, ", MF_A_BLOCK(%d)", word); return;
    case RT_ARG_LOCAL: fprintf(f, ", MF_A_LOCAL(%d)", word); return;
    case RT_ARG_SCALAR: fprintf(f, ", MF_A_INT(%s, %d)", ints[a->size], word); return;
    case RT_ARG_FLOAT:
        fprintf(f, ", %s(%d)", a->size == 4 ? "MF_A_FLOAT" : "MF_A_DOUBLE", word);
        return;
    }
}

/* Does its launch need groups of their size, or do its work-items go their own way? */
static bool rt_step_is_fixed(const rt_kernel_def *def, int n_args, const rt_arg *args)
{
    bool fixed = def->fixed_group;
    for (int i = 0; i < n_args; i++)
        fixed = fixed || args[i].kind == RT_ARG_LOCAL;
    return fixed;
}

static void rt_call_text(const rt_ctx *ctx, FILE *f, int phase, const rt_step *s,
                         const rt_arg *args)
{
    const rt_kernel_def *def = ctx->kernels[s->kernel].def;
    fprintf(f, " \\\n    case %d: %s(%s", phase, s->fixed ? "MF_GROUPWISE" : "MF_ITEMWISE",
            def->name);
    if (s->kernel >= ctx->prog->n_kernels)
        fprintf(f, "_%d", s->kernel);
    fprintf(f, "(grid%s", def->failure ? ", MF_FAILURES" : "");
    for (int i = 0; i < s->n_args; i++)
        rt_call_arg_text(f, &args[i], RT_STEP_HEAD + i);
    fprintf(f, "))");
}

/* What the text of the kernel asks for. */
static void rt_definitions_text(const rt_ctx *ctx, FILE *f, const rt_stepper *p,
                                const rt_step *const *example)
{
    if (p->group)
        fprintf(f, "#define MF_FULL_GROUP %" PRId64 "\n", p->group);
    fprintf(f, "#define MF_STRIDE %d\n#define MF_N_BLOCKS %d\n#define MF_BLOCKS(X)", p->stride,
            p->n_blocks);
    for (int i = 0; i < p->n_blocks; i++)
        fprintf(f, " X(%d)", i);
    fprintf(f, "\n#define MF_PHASES");
    for (int i = 0; i < p->n_phases; i++)
        rt_call_text(ctx, f, i, example[i], ctx->steps.args + example[i]->first_arg);
    fprintf(f, "\n");
}

static char *rt_stepper_text(const rt_ctx *ctx, const rt_stepper *p, const rt_step *const *example)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    fprintf(f, "%s\n", rt_text_steps_cl);
    for (int i = 0; i < p->n_phases; i++)
        rt_phase_text(ctx, f, p->phases[i]);
    rt_definitions_text(ctx, f, p, example);
    fprintf(f, "%s\n", rt_text_steps_cl);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* --- Steppers --- */

static int rt_phase_of(const rt_stepper *p, int kernel)
{
    for (int i = 0; i < p->n_phases; i++)
        if (p->phases[i] == kernel)
            return i;
    return -1;
}

/* Work-items of the groups that fill a compute unit, for whose registers the kernel is then made:
 * left to itself a compiler takes so many for so much code that hardly any run at once. 0 where
 * steps do not go into such groups. */
static int64_t rt_full_group(const rt_ctx *ctx)
{
    return ctx->device.parts_meet ? ctx->device.max_group : 0;
}

static bool rt_has_all(const rt_ctx *ctx, const rt_stepper *p)
{
    const rt_steps *s = &ctx->steps;
    if (p->kernel.wide != s->wide || p->n_blocks < s->n_blocks || p->group != rt_full_group(ctx))
        return false;
    for (int i = 0; i < s->n; i++)
        if (rt_phase_of(p, s->list[i].kernel) < 0)
            return false;
    return true;
}

static rt_stepper *rt_stepper_find(const rt_ctx *ctx)
{
    rt_stepper *best = NULL;
    for (rt_stepper *p = ctx->steps.steppers; p; p = p->next)
        if (rt_has_all(ctx, p) && (!best || p->n_phases < best->n_phases))
            best = p;
    return best;
}

static int rt_round_blocks(int n)
{
    int round = 8;
    while (round < n)
        round *= 2;
    return round;
}

/* For what is noted now. NULL if memory is short. */
static rt_stepper *rt_stepper_new(rt_ctx *ctx)
{
    rt_steps *s = &ctx->steps;
    const rt_step *example[RT_MOST_PHASES];
    const char *user = getenv("MINIFUT_STEPS");
    rt_stepper *p = rt_grow(NULL, sizeof *p);
    *p = (rt_stepper){
        .kernel = {.id = -1, .wide = s->wide, .options = user ? user : ctx->target->step_options},
        .n_blocks = rt_round_blocks(s->n_blocks),
        .group = rt_full_group(ctx)};
    p->def = (rt_kernel_def){.name = "mf_steps",
                             .prov = "short steps in one launch",
                             .failure = true,
                             .may_fail = true,
                             .fixed_group = true};
    for (int i = 0; i < s->n; i++) {
        const rt_step *step = &s->list[i];
        if (rt_phase_of(p, step->kernel) >= 0)
            continue;
        example[p->n_phases] = step;
        p->phases[p->n_phases++] = step->kernel;
        p->def.types |= ctx->kernels[step->kernel].def->types;
        if (p->stride < RT_STEP_HEAD + step->n_args)
            p->stride = RT_STEP_HEAD + step->n_args;
    }
    p->source = rt_stepper_text(ctx, p, example);
    p->def.source = p->source;
    p->unusable = !p->source;
    p->kernel.def = &p->def;
    p->next = s->steppers;
    s->steppers = p;
    return p;
}

RT_API void rt_steps_free(rt_ctx *ctx)
{
    rt_steps *s = &ctx->steps;
    while (s->steppers) {
        rt_stepper *p = s->steppers;
        s->steppers = p->next;
        rt_kernel_free(ctx, &p->kernel);
        free(p->source);
        free(p);
    }
    for (int i = 0; i < RT_STEP_BUFFERS; i++)
        free(s->words[i]);
    free(s->list);
    free(s->args);
}

/* --- One launch --- */

/* Bytes of local memory of a group of the step. */
static int64_t rt_step_local(const rt_ctx *ctx, const rt_step *step)
{
    return rt_local_bytes(&ctx->kernels[step->kernel], step->n_args,
                          ctx->steps.args + step->first_arg);
}

/* Groups of a step that a group of `group` work-items does beside each other. */
static int64_t rt_step_parts(const rt_ctx *ctx, const rt_step *step, int64_t group)
{
    enum { MOST = 15 /* barriers besides that of all */, LOCAL_OF_ALL = 32768 };
    int64_t local = rt_step_local(ctx, step), parts = group / step->size;
    parts = step->size > RT_USUAL_WARP && parts > MOST ? MOST : parts;
    if (parts > 1 && parts * local > LOCAL_OF_ALL)
        parts = local > LOCAL_OF_ALL ? 1 : LOCAL_OF_ALL / local;
    return parts;
}

/* The groups of `group` work-items that a step keeps busy. */
static int64_t rt_step_busy(const rt_ctx *ctx, const rt_step *step, int64_t group)
{
    int64_t at_once = step->fixed ? rt_step_parts(ctx, step, group) : group;
    int64_t all = step->fixed ? step->groups : (int64_t)step->groups * step->size;
    return (all + at_once - 1) / at_once;
}

/* How steps are launched. */
typedef struct {
    int64_t group, groups, local;
} rt_steps_shape;

/* Work-items of a group where nothing says how many. */
static int64_t rt_usual_group(const rt_ctx *ctx)
{
    const rt_steps *s = &ctx->steps;
    int64_t most = 1;
    for (int i = 0; i < s->n; i++)
        most = s->list[i].size > most ? s->list[i].size : most;
    return most;
}

/* `groups`: as many as the largest step keeps busy. */
static rt_steps_shape rt_steps_wanted(const rt_ctx *ctx)
{
    const rt_steps *s = &ctx->steps;
    rt_steps_shape w = {.group = s->group ? s->group : rt_full_group(ctx), .groups = 1};
    if (!w.group)
        w.group = rt_usual_group(ctx);
    for (int i = 0; i < s->n; i++) {
        const rt_step *step = &s->list[i];
        int64_t busy = rt_step_busy(ctx, step, w.group), local = rt_step_local(ctx, step);
        local *= step->fixed ? rt_step_parts(ctx, step, w.group) : 0;
        w.groups = busy > w.groups ? busy : w.groups;
        w.local = local > w.local ? local : w.local;
    }
    return w;
}

/* meets: before the next step. */
static void rt_step_words(const rt_ctx *ctx, const rt_stepper *p, const rt_step *step,
                          int64_t group, int meets, uint64_t *w)
{
    const rt_arg *args = ctx->steps.args + step->first_arg;
    uint64_t local = 0;
    w[0] = (uint64_t)rt_phase_of(p, step->kernel) | (uint64_t)meets << 32;
    w[1] = (uint64_t)step->groups | (uint64_t)step->size << 32;
    w[2] = (uint64_t)step->launch | (uint64_t)(rt_step_local(ctx, step) / RT_LOCAL_ALIGN) << 32 |
           (uint64_t)rt_step_parts(ctx, step, group) << 48;
    for (int i = 0; i < step->n_args; i++) {
        uint64_t *at = &w[RT_STEP_HEAD + i];
        *at = 0;
        if (args[i].kind == RT_ARG_SCALAR || args[i].kind == RT_ARG_FLOAT) {
            memcpy(at, &args[i].scalar, args[i].size);
        } else if (args[i].kind == RT_ARG_LOCAL) {
            *at = local / RT_LOCAL_ALIGN;
            local += rt_local_size(&args[i]);
        } else if (args[i].mem) {
            *at = (uint64_t)args[i].mem->slot;
        }
    }
}

enum { RT_MOST_WORDS = RT_MOST_STEPS * (RT_STEP_HEAD + RT_MOST_STEP_ARGS) };

/* A place for the words of the batch that begins. It is taken before anything is noted: a block
 * that is dead by then is done with before the words come to the device, one that dies later is
 * not. */
static int rt_steps_room(rt_ctx *ctx)
{
    const int64_t bytes = RT_MOST_WORDS * (int64_t)sizeof(uint64_t);
    rt_steps *s = &ctx->steps;
    if (s->next_buffer == RT_STEP_BUFFERS) { /* the device may not have read the first one yet */
        rt_dev_error e = rt_dev_finish(ctx->dev);
        if (rt_dev_check(ctx, e, "waiting for the device"))
            return RT_ERR;
        s->next_buffer = 0;
    }
    int i = s->next_buffer;
    if (!s->words[i])
        s->words[i] = rt_grow(NULL, (size_t)bytes);
    return s->buffers[i] ? RT_OK : rt_alloc(ctx, &s->buffers[i], bytes, "steps");
}

/* The words of all steps, on their way to the device. */
static int rt_steps_send(rt_ctx *ctx, const rt_stepper *p, int64_t group, rt_mem **block)
{
    rt_steps *s = &ctx->steps;
    uint64_t *words = s->words[s->next_buffer];
    *block = s->buffers[s->next_buffer++];
    for (int k = 0; k < s->n; k++)
        rt_step_words(ctx, p, &s->list[k], group,
                      k + 1 < s->n ? (int)s->list[k + 1].meets : RT_GOES_ON,
                      words + (size_t)k * (size_t)p->stride);
    rt_dev_error e = rt_dev_write_later(ctx->dev, (*block)->buf, 0,
                                        (int64_t)s->n * p->stride * (int64_t)sizeof *words, words);
    return rt_dev_check(ctx, e, "steps");
}

/* --- What waits for what --- */

static bool rt_arg_writes(const rt_kernel_def *def, int i)
{
    return i >= 64 || !(def->reads >> i & 1);
}

/* Must a step wait for all groups because of this block? One that is done by the first group alone
 * (solo) need not wait for what that did alone. */
static bool rt_step_waits(const rt_steps *s, const rt_mem *m, bool writes, bool solo)
{
    const rt_uses *u = solo ? &m->spread : &m->any;
    return u->written == s->epoch || (writes && u->touched == s->epoch);
}

static void rt_step_uses(const rt_steps *s, rt_mem *m, bool writes, bool solo)
{
    rt_uses *uses[] = {&m->any, &m->spread};
    for (int i = 0; i < 2 - solo; i++) {
        uses[i]->touched = s->epoch;
        if (writes)
            uses[i]->written = s->epoch;
    }
}

/* Says whether a step waits, and notes that it uses its blocks. */
static void rt_step_order(rt_ctx *ctx, rt_step *step, const rt_steps_shape *w)
{
    rt_steps *s = &ctx->steps;
    const rt_kernel_def *def = ctx->kernels[step->kernel].def;
    const rt_arg *args = s->args + step->first_arg;
    bool solo = w->groups == 1 || rt_step_busy(ctx, step, w->group) == 1;
    bool waits = def->failure && s->failed == s->epoch;
    for (int i = 0; i < step->n_args; i++)
        if (args[i].mem)
            waits = waits || rt_step_waits(s, args[i].mem, rt_arg_writes(def, i), solo);
    step->meets = !waits ? RT_GOES_ON : s->failed == s->epoch ? RT_MEETS_AND_LOOKS : RT_MEETS;
    s->epoch += waits;
    for (int i = 0; i < step->n_args; i++)
        if (args[i].mem)
            rt_step_uses(s, args[i].mem, rt_arg_writes(def, i), solo);
    if (def->may_fail)
        s->failed = s->epoch;
}

/* RT_REFUSED: the device cannot, and nothing has happened. */
static int rt_steps_launch(rt_ctx *ctx, rt_stepper *p, rt_steps_shape w)
{
    enum { OWN = 3 };
    rt_steps *s = &ctx->steps;
    rt_arg args[OWN + RT_MOST_STEP_BLOCKS];
    int64_t most = rt_groups_at_once(ctx, &p->kernel, w.group, w.local);
    w.groups = w.groups < most ? w.groups : most;
    for (int i = 0; i < s->n; i++)
        rt_step_order(ctx, &s->list[i], &w);
    rt_mem *words;
    if (rt_steps_send(ctx, p, w.group, &words))
        return RT_ERR;
    args[0] = (rt_arg)RT_A_MEM(words);
    args[1] = (rt_arg)RT_A_I32(s->n);
    args[2] = (rt_arg)RT_A_LOCAL(w.local);
    for (int i = 0; i < p->n_blocks; i++)
        args[OWN + i] = (rt_arg)RT_A_MEM(i < s->n_blocks ? s->blocks[i] : NULL);
    const size_t global = (size_t)(w.groups * w.group), local = (size_t)w.group;
    int rc = rt_enqueue(ctx, &p->kernel, 1, &global, &local, OWN + p->n_blocks, args, NULL, 0);
    if (rc == RT_OK)
        ctx->unchecked = true;
    return rc;
}

/* All that is noted as one launch. RT_REFUSED: it is not done, for whatever reason. */
static int rt_steps_at_once(rt_ctx *ctx)
{
    rt_steps *s = &ctx->steps;
    rt_stepper *p = s->n > 1 ? rt_stepper_find(ctx) : NULL;
    if (!p && (s->n == 1 || (!s->asked && s->n < RT_FEW_STEPS)))
        return RT_REFUSED;
    if (!p)
        p = rt_stepper_new(ctx);
    if (p->unusable)
        return RT_REFUSED;
    int rc = rt_build(ctx, &p->kernel);
    if (rc) {
        p->unusable = true;
        rt_log(ctx, "Steps in one launch: %s", ctx->error);
        return RT_REFUSED;
    }
    if (p->group > p->kernel.max_group)
        p->kernel.max_group = p->group; /* drivers say what they do unasked */
    rt_steps_shape w = rt_steps_wanted(ctx);
    if (!rt_kernel_fits(ctx, &p->kernel, w.group, w.local))
        return RT_REFUSED;
    rc = rt_steps_launch(ctx, p, w);
    if (rc == RT_OK)
        rt_log(ctx, "%d steps in one launch.", s->n);
    return rc;
}

/* ... one by one. */
static int rt_steps_each(rt_ctx *ctx)
{
    const rt_steps *s = &ctx->steps;
    for (int i = 0; i < s->n; i++) {
        const rt_step *step = &s->list[i];
        int64_t local = step->size, global = local * step->groups;
        int rc = rt_launch_once(ctx, step->kernel, 1, &global, &local, step->n_args,
                                s->args + step->first_arg, NULL, 0);
        if (rc)
            return rc == RT_ERR ? rc
                                : rt_error_set(ctx, "%s: the device cannot run kernel %s",
                                               ctx->kernels[step->kernel].def->prov,
                                               ctx->kernels[step->kernel].def->name);
    }
    return RT_OK;
}

RT_API void rt_steps_drop(rt_ctx *ctx)
{
    rt_steps *s = &ctx->steps;
    s->n = s->n_args = s->n_blocks = 0;
    s->group = 0;
    s->parts = false;
    s->wide = false;
    s->epoch++;
    s->batch++;
}

RT_API int rt_steps_run(rt_ctx *ctx)
{
    rt_steps *s = &ctx->steps;
    if (s->n == 0 || s->running)
        return RT_OK;
    s->running = true;
    int rc = rt_steps_at_once(ctx);
    if (rc == RT_REFUSED)
        rc = rt_steps_each(ctx);
    s->running = false;
    s->limit = s->limit < RT_MOST_STEPS / 2 ? 2 * s->limit : RT_MOST_STEPS;
    rt_steps_drop(ctx);
    return rc;
}

/* --- Noting launches --- */

/* Gives the blocks of a step numbers among those of this batch. */
static void rt_step_blocks(rt_steps *s, int n_args, const rt_arg *args)
{
    for (int i = 0; i < n_args; i++) {
        rt_mem *m = args[i].mem;
        if (!m || m->batch == s->batch)
            continue;
        m->batch = s->batch;
        m->slot = s->n_blocks;
        s->blocks[s->n_blocks++] = m;
    }
}

/* May groups of this size be parts of larger ones? */
static bool rt_step_is_part(const rt_ctx *ctx, int64_t size)
{
    return ctx->device.parts_meet && size % RT_USUAL_WARP == 0;
}

/* Can a step in groups of `size` work-items be in this batch, whose groups have another size? */
static bool rt_step_goes_with(const rt_ctx *ctx, int64_t size)
{
    const rt_steps *s = &ctx->steps;
    if (rt_step_is_part(ctx, size))
        return !s->group;
    return !s->parts && (!s->group || s->group == size);
}

/* Is there room in this batch for one more, in groups of that size if it is not 0? */
static bool rt_step_goes_on(const rt_ctx *ctx, int n_args, int64_t size)
{
    const rt_steps *s = &ctx->steps;
    return s->n < s->limit && s->n_blocks + n_args <= RT_MOST_STEP_BLOCKS &&
           (!size || rt_step_goes_with(ctx, size));
}

static void rt_step_append(rt_ctx *ctx, const rt_step *step, const rt_arg *args)
{
    rt_steps *s = &ctx->steps;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : RT_FIRST_STEPS;
        s->list = rt_grow(s->list, (size_t)s->cap * sizeof *s->list);
    }
    if (s->n_args + step->n_args > s->cap_args) {
        s->cap_args = 2 * (s->n_args + step->n_args);
        s->args = rt_grow(s->args, (size_t)s->cap_args * sizeof *s->args);
    }
    s->list[s->n] = *step;
    s->list[s->n++].first_arg = s->n_args;
    memcpy(s->args + s->n_args, args, (size_t)step->n_args * sizeof *args);
    s->n_args += step->n_args;
}

RT_API int rt_step_note(rt_ctx *ctx, rt_kernel *k, int kernel, int64_t groups, int64_t size,
                        int n_args, const rt_arg *args)
{
    rt_steps *s = &ctx->steps;
    bool fixed = rt_step_is_fixed(k->def, n_args, args);
    int rc;
    if (!rt_step_goes_on(ctx, n_args, fixed ? size : 0) && (rc = rt_steps_run(ctx)))
        return rc;
    if (s->n == 0 && rt_steps_room(ctx))
        return RT_ERR;
    rt_step step = {.kernel = kernel,
                    .groups = (uint32_t)groups,
                    .size = (uint32_t)size,
                    .n_args = n_args,
                    .fixed = fixed,
                    .launch = rt_launch_number(ctx, k, NULL)};
    rt_step_blocks(s, n_args, args);
    if (fixed && rt_step_is_part(ctx, size))
        s->parts = true;
    else if (fixed)
        s->group = size;
    s->wide = s->wide || k->wide;
    rt_step_append(ctx, &step, args);
    return RT_OK;
}

/* --- Loops --- */

static void rt_window_new(rt_steps *s)
{
    s->launches = s->waits = s->groupwise = s->told = 0;
    s->items = 0;
    s->bytes = s->operations = 0;
}

RT_API void rt_loop_begin(rt_ctx *ctx, int param)
{
    rt_steps *s = &ctx->steps;
    s->in_loop = !ctx->profiling;
    s->param = param;
    s->window = 1;
    rt_window_new(s);
    s->limit = RT_FIRST_STEPS;
    s->asked = ctx->user_params[param] != 0;
}

RT_API void rt_loop_leave(rt_ctx *ctx)
{
    ctx->steps.in_loop = ctx->steps.on = false;
}

RT_API int rt_loop_end(rt_ctx *ctx)
{
    rt_loop_leave(ctx);
    return rt_steps_run(ctx);
}

/* The number of work-items that a launch had on average, up to the next power of two: what a
 * program compares should not be a number of its own in each turn. */
static int64_t rt_step_items(const rt_steps *s)
{
    int64_t mean = s->items / s->launches, round = 1;
    while (round < mean)
        round *= 2;
    return round;
}

/* Are these launches bound by what they cost the host, and would be so no more as steps? On an H200
 * a launch costs 4 to 6 us, a step of single work-items that all run at once or nearly so 1.8
 * to 2.9. Kernels of whole groups take longer in one launch than alone, by as much as is spared
 * (SRAD, NN, LocVolCalib) or more (LUD). Memory and operations: what takes no longer than a
 * microsecond or two beside that. */
static bool rt_steps_pay(const rt_ctx *ctx)
{
    const rt_steps *s = &ctx->steps;
    int64_t at_once = ctx->device.units * ctx->device.max_group;
    return s->groupwise == 0 && s->told == s->launches &&
           mf_launches_bind(s->launches, s->items, s->bytes, s->operations, at_once);
}

/* Untuned, one launch is not taken where groups do not run at once, nor where the host looks at
 * results again and again, since a batch is then too small to be worth it. */
static bool rt_steps_are_short(rt_ctx *ctx)
{
    enum { LAUNCHES_A_WAIT = 4 };
    const rt_steps *s = &ctx->steps;
    int64_t items = rt_step_items(s);
    if (!s->asked && (!ctx->device.groups_wait || s->waits * LAUNCHES_A_WAIT > s->launches))
        return false;
    return !rt_compare(ctx, s->param, items,
                       s->asked            ? rt_param(ctx, s->param)
                       : rt_steps_pay(ctx) ? items + 1
                                           : 0);
}

RT_API void rt_loop_work(rt_ctx *ctx, double bytes, double operations)
{
    rt_steps *s = &ctx->steps;
    if (!s->in_loop || s->asked)
        return;
    s->told++;
    s->bytes += bytes;
    s->operations += operations;
}

RT_API int rt_loop_launches(rt_ctx *ctx, const rt_kernel_def *def, int n_args, const rt_arg *args,
                            int64_t items)
{
    rt_steps *s = &ctx->steps;
    if (!s->in_loop || s->running)
        return RT_OK;
    if (s->launches == s->window) {
        bool was = s->on;
        s->on = rt_steps_are_short(ctx);
        ctx->parts.there &= !s->on;
        s->window = s->window < RT_MOST_WINDOW ? 2 * s->window : s->window;
        rt_window_new(s);
        if (was && !s->on && rt_steps_run(ctx))
            return RT_ERR;
    }
    s->launches++;
    s->groupwise += rt_step_is_fixed(def, n_args, args);
    s->items += items;
    return RT_OK;
}

RT_API bool rt_noting(const rt_ctx *ctx)
{
    return ctx->steps.on && !ctx->steps.running;
}

/* A function that is no kernel has no local memory but what it is given; of the built-in kernels
 * those have some that count on the size of a group. Large tiles in registers would be in memory in
 * a full group, and are what drivers need longest for then: LUD's steps took 5.3 s to build, and
 * longer to run than its launches. Groups that are not whole warps are launched for themselves on
 * devices whose warps meet: of 16 or 48 work-items, they waited for each other for ever. */
RT_API bool rt_may_note(const rt_ctx *ctx, const rt_kernel *k, int n_dims, int64_t size, int n_args,
                        const rt_arg *args)
{
    bool has_local = k->id >= ctx->prog->n_kernels && k->def->fixed_group;
    bool spills = rt_full_group(ctx) && k->def->private_words > RT_MOST_PRIVATE;
    bool odd = ctx->device.parts_meet && !rt_step_is_part(ctx, size) &&
               rt_step_is_fixed(k->def, n_args, args);
    return rt_noting(ctx) && n_dims == 1 && n_args <= RT_MOST_STEP_ARGS && !has_local && !spills &&
           !odd && rt_text_of(ctx, k) && ctx->launch < INT_MAX / 2;
}
