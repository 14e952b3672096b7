/* Kernels as text: in the program, or for reading (--emit=opencl, --emit=kernel-ir). */
#include "emit/emit_parts.h"

#include "kir/text/text.h"
#include "kir/walk.h"

#include <string.h>

/* --- In the program ------------------------------------------------------------------------- */

#define HASH_FACTOR UINT64_C(1099511628211) /* of FNV-1a */

static const char *text_of(Arena *a, const Kernel *k)
{
    Out o = {0};
    kir_opencl(&o, k->on[KTARGET_GPU]);
    return out_keep(&o, a);
}

/* Of what the kernel does. */
static uint64_t hash_of(const Kernel *k)
{
    Arena *keys = arena_new();
    uint64_t hash = 0;
    for (int t = 0; t < N_KTARGETS; t++)
        hash = hash * HASH_FACTOR + kir_key(keys, k->on[t]).hash;
    arena_free(keys);
    return hash;
}

/* A text of one line as a C string literal, in lines of so many columns. */
static void emit_literal(Out *o, const char *text)
{
    enum { COLUMNS = 95 };
    while (*text) {
        size_t n = 0;
        for (size_t columns = 0; text[n] && columns < COLUMNS; n++)
            columns += text[n] == '\n' || text[n] == '\\' || text[n] == '"' ? 2 : 1;
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

/* {"segmap_main_0", NULL, RT_FUNCTION(kernel_segmap_main_0), "p.sf:1:2", NULL, true, true,
 *  false, narrow_segmap_main_0, ~UINT64_C(0x4), true, UINT64_C(0x3), 0, 1u << RT_I64}, */
static void emit_row(Emit *em, const Kernel *k)
{
    Out *o = em->o;
    out_printf(o,
               "    {\"%s\", NULL, RT_FUNCTION(%s), %s, NULL, %s, %s, %s,\n     %s, "
               "~UINT64_C(0x%llx), %s, ",
               k->name, kernel_function_name(em, k), c_string(em->cx, diag_place_str(k->loc)),
               k->failure ? "true" : "false", k->may_fail ? "true" : "false",
               k->fixed_group ? "true" : "false", narrow_name(em->cx, k),
               (unsigned long long)~args_read(k), is_sized(k) ? "true" : "false");
    out_printf(o, "UINT64_C(0x%llx), %d, ", (unsigned long long)args_steady(k), k->private_words);
    emit_types(o, k);
    out_puts(o, "},\n");
}

static void emit_texts(Emit *em, const Texts *texts)
{
    Arena *a = arena_new();
    out_puts(em->o, "/* The kernels in OpenCL C, packed: --dump-opencl writes them. */\n"
                    "static const char texts[] =\n");
    emit_literal(em->o, emit_pack(a, texts));
    out_puts(em->o, "    \"\";\n\n");
    arena_free(a);
}

static void emit_table(Emit *em)
{
    Out *o = em->o;
    const Kernels *ks = &em->p->kernels;
    Texts numbers = {0};
    for (int i = 0; i < ks->n; i++)
        vec_push(em->cx->scratch, &numbers, kernel_enum(ks->at[i]));
    emit_enum(o, &numbers);
    out_puts(o, "static const rt_kernel_def kernels[] = {\n");
    for (int i = 0; i < ks->n; i++)
        emit_row(em, ks->at[i]);
    out_puts(o, "};\n\n");
}

void emit_kernels(Emit *em)
{
    const Kernels *ks = &em->p->kernels;
    if (ks->n == 0)
        return;
    Arena *a = arena_new();
    Texts texts = {0};
    em->kernel_hashes = NEWN(em->cx->perm, uint64_t, ks->n);
    for (int i = 0; i < ks->n; i++) {
        em->kernel_hashes[i] = hash_of(ks->at[i]);
        em->kernels_hash = em->kernels_hash * HASH_FACTOR + em->kernel_hashes[i];
        vec_push(a, &texts, text_of(a, ks->at[i]));
    }
    emit_texts(em, &texts);
    for (int i = 0; i < ks->n; i++)
        emit_narrow(em, ks->at[i]);
    emit_table(em);
    arena_free(a);
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
