/* Kernels as text: in the program, or for reading (--emit=opencl, --emit=kernel-ir). */
#include "emit/emit_parts.h"

#include "kir/text/text.h"
#include "kir/walk.h"

#include <string.h>

/* --- In the program ------------------------------------------------------------------------- */

#define HASH_FACTOR UINT64_C(1099511628211) /* of FNV-1a */

typedef struct {
    const char *text; /* in OpenCL C */
    uint64_t hash;    /* of what the kernel does */
} Source;

static Source source_of(Arena *a, const Kernel *k)
{
    Source s = {.hash = 0};
    Arena *keys = arena_new();
    for (int t = 0; t < N_KTARGETS; t++)
        s.hash = s.hash * HASH_FACTOR + kir_key(keys, k->on[t]).hash;
    arena_free(keys);
    Out o = {0};
    kir_opencl(&o, k->on[KTARGET_GPU]);
    s.text = out_keep(&o, a);
    return s;
}

static size_t line_length(const char *text)
{
    size_t n = strcspn(text, "\n");
    return n + (text[n] == '\n');
}

/* Is there no more on the first line than the end of a block? */
static bool only_ends(const char *text)
{
    text += strspn(text, " ");
    return text[0] == '}' && text[1] == '\n';
}

/* A text as a C string literal, a line of it on each line; ends of blocks stand behind what they
 * end. */
static void emit_literal_lines(Out *o, const char *text)
{
    while (*text) {
        size_t n = line_length(text);
        while (only_ends(text + n))
            n += line_length(text + n);
        out_puts(o, "    ");
        out_c_string(o, text, n);
        out_puts(o, "\n");
        text += n;
    }
}

enum { ARG_BITS = 64 };

/* The arguments of a launch that no target writes to, as a set of their numbers. */
static uint64_t args_read(const Kernel *k)
{
    uint64_t reads = ~(uint64_t)0;
    for (int t = 0; t < N_KTARGETS; t++) {
        const KFormals *fs = &k->on[t]->params;
        int first = fs->n > 0 && fs->at[0].kind == KP_FAILURE;
        for (int i = first; i < fs->n && i - first < ARG_BITS; i++)
            if (fs->at[i].kind == KP_MEM && !fs->at[i].buf->read_only)
                reads &= ~((uint64_t)1 << (i - first));
    }
    return reads;
}

static bool is_sized(const Kernel *k)
{
    bool sized = false;
    for (int t = 0; t < N_KTARGETS; t++)
        sized = sized || k->on[t]->sized;
    return sized;
}

/* The arguments that are steady on some target, in the same way. */
static uint64_t args_steady(const Kernel *k)
{
    uint64_t steady = 0;
    for (int t = 0; t < N_KTARGETS; t++) {
        const KFormals *fs = &k->on[t]->params;
        int first = fs->n > 0 && fs->at[0].kind == KP_FAILURE;
        for (int i = first; i < fs->n && i - first < ARG_BITS; i++)
            steady |= (uint64_t)fs->at[i].steady << (i - first);
    }
    return steady;
}

/* 1u << RT_I32 | 1u << RT_I64: those that occur on some target. */
static void emit_types(Out *o, const Kernel *k)
{
    unsigned types = 0;
    const char *between = "";
    for (int t = 0; t < N_KTARGETS; t++)
        types |= kfun_types(k->on[t]);
    for (PrimType t = 0; t < N_PRIM_TYPES; t++)
        if (types >> t & 1) {
            out_printf(o, "%s1u << %s", between, rt_prim_c(t));
            between = " | ";
        }
}

/* {"segmap_main_0", source_segmap_main_0, kernel_segmap_main_0, "p.sf:1:2", NULL, true, true,
 *  false, narrow_segmap_main_0, ~UINT64_C(0x4), true, UINT64_C(0x3), 0, 1u << RT_I64}, */
static void emit_row(Emit *em, const Kernel *k)
{
    Out *o = em->o;
    out_printf(
        o, "    {\"%s\", source_%s, %s, %s, NULL, %s, %s, %s,\n     %s, ~UINT64_C(0x%llx), %s, ",
        k->name, k->name, kernel_function_name(em, k), c_string(em->cx, diag_place_str(k->loc)),
        k->failure ? "true" : "false", k->may_fail ? "true" : "false",
        k->fixed_group ? "true" : "false", narrow_name(em->cx, k),
        (unsigned long long)~args_read(k), is_sized(k) ? "true" : "false");
    out_printf(o, "UINT64_C(0x%llx), %d, ", (unsigned long long)args_steady(k), k->private_words);
    emit_types(o, k);
    out_puts(o, "},\n");
}

static void emit_source(Emit *em, const Kernel *k, const Source *s)
{
    Out *o = em->o;
    out_c_comment(o, "%s%s%s", diag_place_str(k->loc), k->what ? ": " : "", k->what ? k->what : "");
    out_printf(o, "\nstatic const char source_%s[] =\n", k->name);
    emit_literal_lines(o, s->text);
    out_puts(o, "    \"\";\n");
    emit_narrow(em, k);
    out_puts(o, "\n");
}

/* What several texts have in common, in its place references. */
static Texts share_texts(Arena *a, Source *sources, int n)
{
    Texts texts = {0};
    for (int i = 0; i < n; i++)
        vec_push(a, &texts, sources[i].text);
    Texts shared = emit_share(a, &texts);
    for (int i = 0; i < n; i++)
        sources[i].text = texts.at[i];
    return shared;
}

static void emit_shared(Emit *em, const Texts *shared)
{
    Out *o = em->o;
    em->shares_texts = shared->n > 0;
    if (shared->n == 0)
        return;
    out_puts(o,
             "/* What several kernels have in common: @N in their texts is number N of these. */\n"
             "static const char *const shared[] = {\n");
    for (int i = 0; i < shared->n; i++) {
        out_printf(o, "    /* @%d */\n", i);
        emit_literal_lines(o, shared->at[i]);
        out_puts(o, "    ,\n");
    }
    out_puts(o, "};\n\n");
}

static void emit_table(Emit *em)
{
    Out *o = em->o;
    const Kernels *ks = &em->p->kernels;
    out_puts(o, "enum {\n");
    for (int i = 0; i < ks->n; i++)
        out_printf(o, "    %s,\n", kernel_enum(ks->at[i]));
    out_puts(o, "};\nstatic const rt_kernel_def kernels[] = {\n");
    for (int i = 0; i < ks->n; i++)
        emit_row(em, ks->at[i]);
    out_puts(o, "};\n\n");
}

void emit_kernels(Emit *em)
{
    const Kernels *ks = &em->p->kernels;
    if (ks->n == 0)
        return;
    Arena *texts = arena_new();
    Source *sources = NEWN(texts, Source, ks->n);
    em->kernel_hashes = NEWN(em->cx->perm, uint64_t, ks->n);
    for (int i = 0; i < ks->n; i++) {
        sources[i] = source_of(texts, ks->at[i]);
        em->kernel_hashes[i] = sources[i].hash;
        em->kernels_hash = em->kernels_hash * HASH_FACTOR + sources[i].hash;
    }
    Texts shared = share_texts(texts, sources, ks->n);
    emit_shared(em, &shared);
    for (int i = 0; i < ks->n; i++)
        emit_source(em, ks->at[i], &sources[i]);
    emit_table(em);
    arena_free(texts);
}

/* --- For reading ---------------------------------------------------------------------------- */

void emit_opencl(Out *o, const Plan *p, const KTarget *only)
{
    for (int t = 0; t < N_KTARGETS; t++) {
        if (only && only != &ktargets[t])
            continue;
        out_printf(o, "%s/* ==== %s ==== */\n", only || t == 0 ? "" : "\n", ktargets[t].what);
        for (int i = 0; i < p->kernels.n; i++) {
            out_puts(o, "\n");
            ktargets[t].print(o, p->kernels.at[i]->on[t]);
        }
    }
}

void emit_kernel_ir(Out *o, const Plan *p, const KTarget *on)
{
    for (int i = 0; i < p->kernels.n; i++) {
        const Kernel *k = p->kernels.at[i];
        out_puts(o, i ? "\n" : "");
        kir_print(o, on ? k->on[on - ktargets] : k->fun);
    }
}
