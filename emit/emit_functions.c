/* Kernels that are C functions: with them a program is one file that a C compiler makes whole, or
 * in parts side by side, told by macros (runtime/kernels/native.h), since kernels want another
 * level of optimisation than host code, and take longer:
 *
 *     #ifndef RT_PART_HOST
 *     ... native.h
 *     #if 0 % RT_PARTS == RT_PART
 *     ... void kernel_segmap_main_0(...)
 *     #endif
 *     ...
 *     #else
 *     rt_dev_function RT_DECLARED(kernel_segmap_main_0), ...;
 *     #endif
 *
 * Kernels that do the same are one function. */
#include "emit/emit_parts.h"

#include "kir/hash.h"

/* For each kernel the first that does the same on the target. */
static const Kernel **alike(Emit *em)
{
    const Kernels *ks = &em->p->kernels;
    Arena *a = arena_new();
    KKey *keys = NEWN(a, KKey, ks->n);
    const Kernel **first = NEWN(em->cx->perm, const Kernel *, ks->n);
    for (int i = 0; i < ks->n; i++) {
        int k = 0;
        keys[i] = kir_key(a, ks->at[i]->on[KTARGET_NATIVE]);
        while (!kkey_same(keys[k], keys[i]))
            k++;
        first[i] = ks->at[k];
    }
    arena_free(a);
    return first;
}

const char *kernel_function_name(const Emit *em, const Kernel *k)
{
    return arena_printf(em->cx->perm, "kernel_%s", em->alike[k->id]->name);
}

static void declarations(Emit *em)
{
    const Kernels *ks = &em->p->kernels;
    Texts names = {0};
    for (int i = 0; i < ks->n; i++)
        if (em->alike[i] == ks->at[i])
            vec_push(em->cx->scratch, &names,
                     arena_printf(em->cx->scratch, "RT_DECLARED(%s)",
                                  kernel_function_name(em, ks->at[i])));
    out_puts(em->o, "__attribute__((visibility(\"hidden\"))) rt_dev_function\n    ");
    emit_wrapped(em->o, &names, 4, 4);
    out_puts(em->o, ";\n");
}

static void definitions(Emit *em)
{
    const Kernels *ks = &em->p->kernels;
    size_t begin = em->o->n;
    for (int i = 0, n = 0; i < ks->n; i++) {
        if (em->alike[i] != ks->at[i])
            continue;
        out_printf(em->o, "#if %d %% RT_PARTS == RT_PART\n", n++);
        kir_native(em->o, ks->at[i]->on[KTARGET_NATIVE]);
        out_puts(em->o, "#endif\n\n");
    }
    em->functions += em->o->n - begin;
}

/* What native.h defines as other functions, for kernels alone. */
static const char *const renamed[] = {"mf_exp_f32", "mf_log_f32", "mf_sin_f32", "mf_sin_f64",
                                      "mf_cos_f32", "mf_cos_f64", "mf_mad_f32", "mf_mad_f64"};

void emit_functions(Emit *em)
{
    if (em->p->kernels.n == 0)
        return;
    em->alike = alike(em);
    out_printf(em->o, "/* --- Kernels: %s --- */\n\n#ifndef RT_PART_HOST\n\n",
               ktargets[KTARGET_NATIVE].what);
    if (em->p->strict_math)
        out_puts(em->o, "#define MF_STRICT_MATH\n\n");
    else if (em->p->same_math)
        out_puts(em->o, "#define MF_SAME_MATH\n\n");
    emit_runtime(em->o, RUNTIME_KERNELS);
    definitions(em);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        out_printf(em->o, "#undef %s\n", renamed[i]);
    out_puts(em->o, "#else\n");
    declarations(em);
    out_puts(em->o, "#endif\n\n");
}
