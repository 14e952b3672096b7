/* The interpreter's outside: arguments in, results out, errors. */
#include "interp/interp.h"

#include "interp/code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RT_MAX_SIZE == MAX_SIZE && RT_MAX_BYTES == MAX_BYTES,
               "values from outside have sizes of the language");
_Static_assert((int)RT_N_PRIMS == (int)N_PRIM_TYPES,
               "rt_prim and PrimType number the rows of one table");

Interp *interp_new(const Prog *p)
{
    Interp *in = calloc(1, sizeof *in);
    if (!in)
        ASSERT(!"out of memory");
    in->prog = p;
    in->exec = interp_exec;
    in->mem = arena_new();
    return in;
}

void interp_free(Interp *in)
{
    if (!in)
        return;
    heap_free(in);
    free(in->slots);
    free(in->message);
    arena_free(in->mem);
    free(in);
}

const Entry *interp_entry(const Prog *p, const char *name)
{
    for (int i = 0; i < p->entries.n; i++)
        if (!strcmp(p->entries.at[i].name, name ? name : "main"))
            return &p->entries.at[i];
    return !name && p->entries.n == 1 ? &p->entries.at[0] : NULL;
}

static const EntryCode *entry_code(Interp *in, const Entry *en)
{
    for (int i = 0; i < in->entries.n; i++)
        if (in->entries.at[i]->entry == en)
            return in->entries.at[i];
    EntryCode *ec = interp_compile(in, en);
    vec_push(in->mem, &in->entries, ec);
    return ec;
}

/* --- Arguments ------------------------------------------------------------------------------ */

/* The value v as the entry's param number k, "main: argument 2 (ys)". A parameter of the program
 * may cover several: its name is that of the one that covers k. */
_Noreturn static void arg_error(Interp *in, const Entry *en, int k, const char *head,
                                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void arg_error(Interp *in, const Entry *en, int k, const char *head, const char *fmt, ...)
{
    Out o = {0};
    const char *name = en->params.at[k]->base;
    for (int i = 0, at = 0; i < en->ext_params.n; i++) {
        if (k >= at && k < at + en->ext_params.at[i].type.n_vals)
            name = en->ext_params.at[i].name;
        at += en->ext_params.at[i].type.n_vals;
    }
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&o, fmt, ap);
    va_end(ap);
    char *text = arena_strdup(in->mem, o.text ? o.text : "");
    out_free(&o);
    interp_fail(in, INTERP_USER, (Loc){0, 0}, "%s%s: argument %d (%s): %s", head, en->name, k + 1,
                name ? name : "", text);
}

static Val scalar_arg(const rt_hvalue *v, PrimType t)
{
    Val x = scalar_load(t, v->data);
    if (t == T_BOOL)
        x.i = x.i != 0;
    return x;
}

static void set_arg(Interp *in, const EntryCode *ec, int k, const rt_hvalue *v)
{
    const Var *var = ec->entry->params.at[k];
    if (v->prim != (rt_prim)var->type.elem || v->rank != var->type.rank) {
        char want[128], got[400];
        rt_type_name((rt_prim)var->type.elem, var->type.rank, want, sizeof want);
        rt_hvalue_type(v, got, sizeof got);
        arg_error(in, ec->entry, k, "", "expected %s, got %s", want, got);
    }
    if (!var->type.rank) {
        in->slots[ec->params[k]] = scalar_arg(v, var->type.elem);
        return;
    }
    Arr *a = arr_new(in, (Loc){0, 0}, var->type.elem, var->type.rank, v->shape);
    memcpy(a->base, v->data, (size_t)a->buf->bytes);
    slot_set_array(in, ec->params[k], a);
}

/* Binds the entry's size variables by the shapes of the arguments, each of which must agree. */
static void bind_sizes(Interp *in, const EntryCode *ec)
{
    const Entry *en = ec->entry;
    bool *bound = NEWN(in->mem, bool, en->sizes.n);
    for (int k = 0; k < en->params.n; k++) {
        Type t = en->params.at[k]->type;
        const Arr *a = t.rank ? in->slots[ec->params[k]].a : NULL;
        for (int d = 0; d < t.rank; d++) {
            const Var *v = t.dims[d].var;
            long long n = a->n[d];
            int s = v ? vars_find(&en->sizes, v) : -1, p = v ? vars_find(&en->params, v) : -1;
            if (s >= 0 && !bound[s]) {
                bound[s] = true;
                in->slots[ec->sizes[s]].i = n;
                continue;
            }
            long long want = !v       ? t.dims[d].c.i
                             : s >= 0 ? in->slots[ec->sizes[s]].i
                             : p >= 0 ? in->slots[ec->params[p]].i
                                      : n;
            if (n == want)
                continue;
            const char *head = arena_printf(in->mem, "%s\n", stop_text[STOP_ARGUMENTS]);
            if (v)
                arg_error(in, en, k, head, "size %s is %lld here, but %lld before", v->base, n,
                          want);
            arg_error(in, en, k, head, "dimension %d has size %lld, but must have %lld", d + 1, n,
                      want);
        }
    }
    for (int s = 0; s < en->sizes.n; s++)
        if (!bound[s])
            interp_fail(in, INTERP_BUG, en->loc, "no argument determines the size %s",
                        en->sizes.at[s]->base);
}

/* --- Results -------------------------------------------------------------------------------- */

static void get_results(Interp *in, const EntryCode *ec, InterpResult *r)
{
    const Code *c = &ec->code;
    const Atoms *res = &ec->entry->body->res;
    r->values = calloc((size_t)c->n_res + 1, sizeof *r->values);
    for (int k = 0; k < c->n_res; k++) {
        if (!r->values)
            interp_fail(in, INTERP_USER, NO_LOC, "out of memory");
        interp_value(in, c->res[k].slot, c->res[k].is_array, atom_type(res->at[k]).elem,
                     &r->values[k]);
        r->n = k + 1;
    }
}

static void free_values(InterpResult *r)
{
    for (int k = 0; k < r->n; k++)
        rt_hvalue_free(&r->values[k]);
    free(r->values);
    r->values = NULL;
    r->n = 0;
}

void interp_result_free(InterpResult *r)
{
    free_values(r);
    free(r->message);
    r->message = NULL;
}

/* --- Running -------------------------------------------------------------------------------- */

/* Fills in *r; leaves by interp_fail on errors. */
static void run(Interp *in, const Entry *en, const rt_hvalue *args, int n_args, InterpResult *r)
{
    const EntryCode *ec = entry_code(in, en);
    free(in->slots);
    in->slots = malloc(sizeof *in->slots * (size_t)ec->n_slots);
    if (!in->slots)
        interp_fail(in, INTERP_USER, (Loc){0, 0}, "out of memory");
    memcpy(in->slots, ec->init, sizeof *in->slots * (size_t)ec->n_slots);
    if (n_args != en->params.n)
        interp_fail(in, INTERP_USER, (Loc){0, 0}, "%s: expected %d arguments, got %d", en->name,
                    en->params.n, n_args);
    for (int k = 0; k < n_args; k++)
        set_arg(in, ec, k, &args[k]);
    bind_sizes(in, ec);
    interp_exec(in, &ec->code);
    get_results(in, ec, r);
}

InterpResult interp_run(Interp *in, const Entry *en, const rt_hvalue *args, int n_args,
                        const InterpGuards *guards)
{
    /* Behind a pointer, so that its value after longjmp is defined. */
    InterpResult res = {0}, *volatile r = &res;
    in->guards = guards;
    in->status = INTERP_OK;
    if (!setjmp(in->on_fail)) {
        run(in, en, args, n_args, r);
    } else {
        free_values(r);
        r->status = in->status;
        r->message = in->message;
        r->loc = in->fail_loc;
        in->message = NULL;
    }
    heap_free(in);
    return *r;
}

/* --- The command ---------------------------------------------------------------------------- */

static int complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int complain(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return EXIT_USER;
}

int interp_complain(const InterpResult *r)
{
    complain(r->status == INTERP_BUG ? "internal error: %s" : "%s", r->message);
    if (r->loc.beg)
        diag_print_line(r->loc);
    return r->status == INTERP_BUG ? EXIT_BUG : EXIT_USER;
}

/* Says what is wrong with parameter k of the IR, a component of an argument as the program
 * has it. */
static void complain_arg(const Entry *en, int k, const char *error)
{
    for (int i = 0; i < en->ext_params.n; i++) {
        const ExtParam *p = &en->ext_params.at[i];
        if (k < p->type.n_vals) {
            complain("argument %d (%s: %s): %s", i + 1, p->name, ext_name(&p->type), error);
            return;
        }
        k -= p->type.n_vals;
    }
    complain("%s", error);
}

/* Reads args[0..]; false after a message. */
static bool read_args(const Entry *en, FILE *f, rt_hvalue *args)
{
    rt_reader rd;
    if (!rt_reader_file(&rd, f, "standard input")) {
        complain("%s", rd.error);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < en->ext_params.n; i++) {
        const ExtParam *p = &en->ext_params.at[i];
        if (!ext_holds_sum(&p->type))
            continue;
        complain("argument %d (%s: %s) cannot be read: it is or holds a sum", i + 1, p->name,
                 ext_name(&p->type));
        rt_reader_close(&rd);
        return false;
    }
    for (int k = 0; k < en->params.n && ok; k++) {
        Type t = en->params.at[k]->type;
        ok = rt_read_value(&rd, (rt_prim)t.elem, t.rank, &args[k]);
        if (!ok)
            complain_arg(en, k, rd.error);
    }
    if (ok && !(ok = rt_reader_at_end(&rd)))
        complain("standard input:%" PRId64 ":%" PRId64 ": more input after the %d argument%s of %s",
                 rd.line, rd.col, en->params.n, en->params.n == 1 ? "" : "s", en->name);
    rt_reader_close(&rd);
    return ok;
}

static bool write_result(const rt_hvalue *v, FILE *out, InterpFormat format)
{
    if (format == INTERP_BINARY)
        return rt_write_binary(out, v);
    if (format == INTERP_CHARS && rt_is_chars(v))
        return rt_write_chars(out, v);
    return rt_write_text(out, v) && fputc('\n', out) != EOF;
}

/* There is no binary form of sums: as Futhark's programs do, of them no more than the type. */
static bool write_sum(const ExtType *x, const rt_hvalue *values, FILE *out, InterpFormat format)
{
    if (format == INTERP_BINARY)
        return fprintf(out, "#<opaque %s>\n", ext_name(x)) > 0;
    return interp_show(out, x, values) && fputc('\n', out) != EOF;
}

static bool write_results(const Entry *en, const InterpResult *r, FILE *out, InterpFormat format)
{
    bool ok = true;
    for (int i = 0, at = 0; i < en->ext_results.n; at += en->ext_results.at[i++].type.n_vals) {
        const ExtType *x = &en->ext_results.at[i].type;
        bool sum = ext_holds_sum(x);
        if (sum)
            ok = ok && write_sum(x, r->values + at, out, format);
        for (int k = at; k < at + x->n_vals && !sum && ok; k++)
            ok = write_result(&r->values[k], out, format);
    }
    return fflush(out) == 0 && ok;
}

int interp_no_entry(const Prog *p, const char *name)
{
    if (!p->entries.n)
        return complain("the program has no entry point");
    if (name)
        fprintf(stderr, "there is no entry point `%s`; there ", name);
    else
        fprintf(stderr, "none of the entry points is `main`; choose one with -e: there ");
    fprintf(stderr, p->entries.n == 1 ? "is" : "are");
    for (int i = 0; i < p->entries.n; i++)
        fprintf(stderr, "%s `%s`", i ? "," : "", p->entries.at[i].name);
    fputc('\n', stderr);
    return EXIT_USER;
}

int interp_main(const Prog *p, const char *entry, FILE *in, FILE *out, InterpFormat format,
                const InterpGuards *guards)
{
    const Entry *en = interp_entry(p, entry);
    if (!en)
        return interp_no_entry(p, entry);
    int rc = EXIT_USER;
    rt_hvalue *args = calloc((size_t)en->params.n + 1, sizeof *args);
    if (!args)
        return complain("out of memory");
    if (read_args(en, in, args)) {
        Interp *interp = interp_new(p);
        InterpResult r = interp_run(interp, en, args, en->params.n, guards);
        rc = r.status != INTERP_OK                ? interp_complain(&r)
             : write_results(en, &r, out, format) ? 0
                                                  : complain("cannot write the results");
        interp_result_free(&r);
        interp_free(interp);
    }
    for (int k = 0; k < en->params.n; k++)
        rt_hvalue_free(&args[k]);
    free(args);
    return rc;
}
