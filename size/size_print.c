/* Sizes as C text, for host and device. */
#include "size/size.h"

#include "base/intern.h"

/* Of each fact: the name that it has in host code, where each function gets those that it uses from
 * rt_size, and that of its number there. */
static const struct {
    const char *c, *rt;
} size_names[] = {
#define FACT(id, name, gpu, cpu, unit)                      {name, "RT_" #id},
#define SIZE(id, name, option, gpu, cpu, unit, most, tried) {name, "RT_" #id},
#define SYNONYM(id, name, option)
    RT_FACTS(FACT, SIZE, SYNONYM)
#undef FACT
#undef SIZE
#undef SYNONYM
};

const char *size_c_name(SizeId id)
{
    return size_names[id].c;
}

const char *size_rt_name(SizeId id)
{
    return size_names[id].rt;
}

/* --- Where an operation might wrap around ----------------------------------------------------- */

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* |a| < 2^bits; 64 if it may be anything. Facts of the device are less than 2^40. */
static int sx_bits(const Sx *a)
{
    enum { FACT_BITS = 40 };
    int bits = 0;
    switch (a->kind) {
    case SX_CONST:
        while (bits < 64 && a->k >> bits != 0 && a->k >> bits != -1)
            bits++;
        return bits + (a->k < 0);
    case SX_SIZE: return FACT_BITS;
    case SX_VAR:
    case SX_KVAR: return 64;
    case SX_ADD:
    case SX_SUB: bits = most(sx_bits(a->a), sx_bits(a->b)) + 1; break;
    case SX_MUL: bits = sx_bits(a->a) + sx_bits(a->b); break;
    case SX_MIN:
    case SX_MAX:
    case SX_SELECT: bits = most(sx_bits(a->a), sx_bits(a->b)); break;
    case SX_DIV:
    case SX_CEILDIV: bits = sx_bits(a->a); break;
    case SX_MOD: bits = sx_bits(a->b); break;
    }
    return bits > 64 ? 64 : bits;
}

/* --- Text ------------------------------------------------------------------------------------- */

/* How tightly the place of a text binds. */
typedef enum { IN_SUM, IN_TERM, IN_FACTOR } Level;

static const struct {
    const char *sign, *fn; /* fn: what computes it exactly, or at all */
} ops[] = {[SX_ADD] = {" + ", "mf_size_add"}, [SX_SUB] = {" - ", "mf_size_sub"},
           [SX_MUL] = {" * ", "mf_size_mul"}, [SX_DIV] = {" / ", NULL},
           [SX_MOD] = {" % ", NULL},          [SX_CEILDIV] = {NULL, "mf_size_ceildiv"},
           [SX_MIN] = {NULL, "mf_min_i64"},   [SX_MAX] = {NULL, "mf_max_i64"}};

static void sx_print(Out *o, const Sx *a, Level level, bool exact);

static void print_const(Out *o, int64_t k)
{
    if (k == INT64_MIN)
        out_puts(o, "(-9223372036854775807L - 1)");
    else
        out_printf(o, k < 0 ? "(%lld%s)" : "%lld%s", (long long)k,
                   k > INT32_MAX || k < -INT32_MAX ? "L" : "");
}

static void print_call(Out *o, const Sx *a, bool exact)
{
    out_printf(o, "%s(", ops[a->kind].fn);
    sx_print(o, a->a, IN_SUM, exact);
    out_puts(o, ", ");
    sx_print(o, a->b, IN_SUM, exact);
    out_puts(o, ")");
}

static void print_ceildiv(Out *o, const Sx *a, Level level, bool exact)
{
    out_puts(o, level > IN_TERM ? "((" : "(");
    sx_print(o, a->a, IN_SUM, exact);
    out_puts(o, " + ");
    sx_print(o, a->b, IN_SUM, exact);
    out_puts(o, " - 1) / ");
    sx_print(o, a->b, IN_FACTOR, exact);
    out_puts(o, level > IN_TERM ? ")" : "");
}

static void print_operator(Out *o, const Sx *a, Level level, bool exact)
{
    bool sum = a->kind == SX_ADD || a->kind == SX_SUB;
    bool paren = level > (sum ? IN_SUM : IN_TERM);
    out_puts(o, paren ? "(" : "");
    sx_print(o, a->a, sum ? IN_SUM : IN_TERM, exact);
    out_puts(o, ops[a->kind].sign);
    sx_print(o, a->b, sum ? IN_TERM : IN_FACTOR, exact);
    out_puts(o, paren ? ")" : "");
}

/* Always in parentheses: the text may stand beside any operator. */
static void print_select(Out *o, const Sx *a, bool exact)
{
    out_puts(o, "(");
    sx_print(o, a->cond, IN_SUM, exact);
    out_puts(o, " ? ");
    sx_print(o, a->a, IN_SUM, exact);
    out_puts(o, " : ");
    sx_print(o, a->b, IN_SUM, exact);
    out_puts(o, ")");
}

/* exact: with the functions for sizes (common/scalar.h) where an operator might wrap around. */
static void sx_print(Out *o, const Sx *a, Level level, bool exact)
{
    switch (a->kind) {
    case SX_CONST: print_const(o, a->k); return;
    case SX_VAR: out_puts(o, var_c_name(a->var)); return;
    case SX_KVAR: out_puts(o, a->text); return;
    case SX_SIZE: out_puts(o, size_names[a->k].c); return;
    case SX_MIN:
    case SX_MAX: print_call(o, a, exact); return;
    case SX_SELECT: print_select(o, a, exact); return;
    case SX_CEILDIV:
        if (exact && sx_bits(a->a) > 62)
            print_call(o, a, exact);
        else
            print_ceildiv(o, a, level, exact);
        return;
    case SX_ADD:
    case SX_SUB:
    case SX_MUL:
        if (exact && sx_bits(a) > 63)
            print_call(o, a, exact);
        else
            print_operator(o, a, level, exact);
        return;
    case SX_DIV:
    case SX_MOD: print_operator(o, a, level, exact); return;
    }
}

static const char *sx_text_of(const Sx *a, Level level, bool exact)
{
    Out o = {0};
    sx_print(&o, a, level, exact);
    const char *text = intern(o.text);
    out_free(&o);
    return text;
}

const char *sx_c(const Sx *a)
{
    return sx_text_of(a, IN_SUM, false);
}

const char *sx_c_factor(const Sx *a)
{
    return sx_text_of(a, IN_FACTOR, false);
}

const char *sx_exact_c(const Sx *a)
{
    return sx_text_of(a, IN_SUM, true);
}
