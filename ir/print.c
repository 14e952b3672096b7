/* The text form of the IR, printed here and read back by read.c: reading what was printed gives the
 * same program, printing it again the same text.
 *
 *   program  = "dialect" ("soac" | "seg") function* entry*
 *   function = "function" NAME ["noinline"] "(" param,* ")" "=" body
 *                                                                    each behind those it calls
 *   entry    = "entry" NAME [ "[" VAR,* "]" ] "(" param,* ")"       sizes, parameters
 *              [ "takes" exts ] [ "gives" exts ] "=" body            as the user wrote them
 *   exts     = "(" ([STRING ":"] ["*"] ext),* ")"                    name, unique, type
 *   ext      = STRING ["as" STRING] ["#" INT] ["{" (STRING ":" ext),* "}"]
 *              type text, its abbreviation, number of IR values if not 1 or that of the
 *              fields, fields
 *              Without "takes", a "*" before a parameter's type makes it unique.
 *   param    = VAR ":" type
 *   type     = ("[" atom "]")* PRIM
 *   body     = "{" stm* "in" results "}"
 *   stm      = "let" pattern "=" exp
 *   pattern  = param | "(" param,* ")"
 *   results  = atom | "(" atom,* ")"
 *   lambda   = "\" "(" param,* ")" "->" body
 *   atom     = VAR | CONST
 *
 *   exp      = attr* form              attr = "#[" NAME "]": sequential, sequential_outer,
 *                                      sequential_inner, no_outer, no_intra, only_intra,
 *                                      only_inner, unroll
 *   form     = atom
 *            | OP "." PRIM atom*                                     add.f32 x_1 y_2
 *            | "conv" "." PRIM "." PRIM atom                         conv.i32.f32 x_1
 *            | "call" NAME atoms                                     of a function
 *            | VAR at                                                xs_1[i_2, 0:n_3:2]!
 *            | "update" VAR at "=" atom
 *            | "iota" atom atom atom                                 size, start, stride
 *            | "replicate" dims atom                                 replicate [n_1, 4] x_2
 *            | "scratch" type
 *            | "array" type dims                                     array f32 [x_1, y_2]
 *            | "concat" INT atom atoms                               dimension, size in the result
 *            | ("rearrange" | "manifest") "(" INT,* ")" atom
 *            | "reshape" dims atom
 *            | "copy" atom
 *            | "if" atom "then" body "else" body
 *            | "loop" "(" (param "=" atom),* ")"
 *                     ("for" VAR ":" PRIM "<" atom | "while" VAR) "do" body
 *            | "assert" atom STRING atoms
 *            | "map" atom atoms lambda                               width, arrays
 *            | ("reduce" | "scan") ["comm"] atom atoms "op" lambda "nes" atoms
 *            | ("redomap" | "scanomap") ["comm"] atom atoms "op" lambda "nes" atoms "fn" lambda
 *            | "scatter" atom atoms "into" dests lambda
 *            | "hist" atom atoms "op" lambda "nes" atoms "into" dests "fn" lambda
 *            | ("jvp" | "vjp") atoms atoms lambda                    arguments, seeds
 *            | "with_vjp" atoms atoms lambda lambda | "stop_gradient" atoms atoms lambda
 *            | "suff" ("outer" | "intra") STRING "path" "(" (["!"] STRING),* ")" atom ["of" atom]
 *              ["spares" atom atom atom]                         launches, steps, elements
 *            | "segmap" level nest body
 *            | ("segred" | "segscan") level ["comm"] ["inspects"] nest "op" lambda "nes" atoms body
 *            | "segscatter" level nest "into" dests body
 *            | "seghist" level nest "op" lambda "nes" atoms "into" dests body
 *   at       = "[" (atom | ":" | atom ":" atom ":" atom),* "]" ["!"] position, whole dimension,
 *                                      start:size:stride; "!": known to be within bounds
 *   atoms    = "(" atom,* ")"          dims = "[" atom,* "]"
 *   dests    = "(" (VAR "@" INT),* ")" array and number of index components
 *   level    = "^" INT
 *   nest     = ("<" [ x,* "in" atom,* ";" ] VAR "<" atom [ragged] ">")+   <xs_3 in xss_1; i_2 < n>
 *   ragged   = ";" VAR "<" atom "by" atom         number of a row, of rows that begin at offsets
 *   x        = VAR [":" type]          the type is left out where it is that of the array's rows
 *
 *   VAR      NAME_ID. The reader also takes names without _ID, which may shadow each other.
 *   CONST    5i64 -1i8 true 1.5f32 -f64.inf f32.nan; without suffix an i64
 * Comments run from "--" to the end of the line. White space does not matter. */
#include "ir/ir.h"

#include "base/ident.h"
#include "base/intern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Names, constants, types ---------------------------------------------------------------- */

const char *var_text(const Var *v)
{
    char buf[256];
    snprintf(buf, sizeof buf, "%.200s_%d", v->base, v->id);
    return intern(buf);
}

const char *var_c_name(const Var *v)
{
    return c_ident_numbered(v->base ? v->base : "v", v->id);
}

/* The fewest digits that give the same number back. */
static void float_text(char *buf, size_t size, PrimType t, double f)
{
    uint64_t bits, plain;
    double nan = NAN;
    memcpy(&bits, &f, sizeof bits);
    memcpy(&plain, &nan, sizeof plain);
    const char *sign = signbit(f) ? "-" : "", *text = prim_type_text[t];
    if (isinf(f)) {
        snprintf(buf, size, "%s%s.inf", sign, text);
        return;
    }
    if (isnan(f)) {
        bits &= UINT64_MAX >> 1;
        plain &= UINT64_MAX >> 1;
        if (bits == plain)
            snprintf(buf, size, "%s%s.nan", sign, text);
        else
            snprintf(buf, size, "%s%s.nan:%llu", sign, text, (unsigned long long)bits);
        return;
    }
    char digits[64];
    for (int n = 1; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, f);
        bool exact = prim_read(t, digits) == f;
        bool plain_notation = !strchr(digits, 'e') || fabs(f) >= 1e9 || fabs(f) < 1e-4;
        if (exact && plain_notation)
            break;
    }
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    snprintf(buf, size, "%s%s%s", digits, point, text);
}

const char *atom_text(Atom a)
{
    if (a.var)
        return var_text(a.var);
    char buf[96];
    if (a.c.type == T_BOOL)
        return a.c.i ? "true" : "false";
    if (prim_is_float(a.c.type))
        float_text(buf, sizeof buf, a.c.type, a.c.f);
    else if (a.c.type == T_U64)
        snprintf(buf, sizeof buf, "%llu%s", (unsigned long long)a.c.i, prim_type_text[a.c.type]);
    else
        snprintf(buf, sizeof buf, "%lld%s", (long long)a.c.i, prim_type_text[a.c.type]);
    return intern(buf);
}

/* Sizes and positions: i64 constants without their suffix. */
static const char *size_text(Atom a)
{
    if (a.var || a.c.type != T_I64)
        return atom_text(a);
    char buf[32];
    snprintf(buf, sizeof buf, "%lld", (long long)a.c.i);
    return intern(buf);
}

const char *type_text(Type t)
{
    Out o = {0};
    for (int i = 0; i < t.rank; i++)
        out_printf(&o, "[%s]", size_text(t.dims[i]));
    out_puts(&o, prim_type_text[t.elem]);
    const char *s = intern(o.text);
    out_free(&o);
    return s;
}

const char *path_text(Ctx *cx, const Path *path)
{
    const char *t = "";
    for (int i = 0; i < path->n; i++)
        t = arena_printf(cx->perm, "%s%s%s%s", t, i ? " " : "", path->at[i].taken ? "" : "!",
                         path->at[i].name);
    return t;
}

const char *nest_text(const Nest *nest)
{
    Out o = {0};
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        out_puts(&o, d ? " <" : "<");
        for (int j = 0; j < nd->xs.n; j++)
            out_printf(&o, "%s%s", j ? ", " : "", nd->xs.at[j]->base);
        if (nd->xs.n)
            out_puts(&o, " in ");
        else
            out_printf(&o, "%s < %s", nd->idx->base,
                       nd->width.var ? nd->width.var->base : size_text(nd->width));
        for (int j = 0; j < nd->arrs.n; j++) {
            Atom a = nd->arrs.at[j];
            out_printf(&o, "%s%s", j ? ", " : "", a.var ? a.var->base : atom_text(a));
        }
        out_puts(&o, nd->row ? " by rows>" : ">");
    }
    const char *s = intern(o.text ? o.text : "");
    out_free(&o);
    return s;
}

/* --- Pieces --------------------------------------------------------------------------------- */

static void print_list(Out *o, const Atoms *as, const char *open, const char *close, bool sizes)
{
    out_puts(o, open);
    for (int i = 0; i < as->n; i++)
        out_printf(o, "%s%s", i ? ", " : "", sizes ? size_text(as->at[i]) : atom_text(as->at[i]));
    out_puts(o, close);
}

static void print_atoms(Out *o, const Atoms *as)
{
    print_list(o, as, "(", ")", false);
}

static void print_param(Out *o, const Var *v)
{
    out_printf(o, "%s: %s", var_text(v), type_text(v->type));
}

static void print_params(Out *o, const Vars *vs)
{
    out_puts(o, "(");
    for (int i = 0; i < vs->n; i++) {
        out_puts(o, i ? ", " : "");
        print_param(o, vs->at[i]);
    }
    out_puts(o, ")");
}

static void print_body(Out *o, const Body *b);

static void print_lambda(Out *o, const Lambda *l)
{
    out_puts(o, "\\");
    print_params(o, &l->params);
    out_puts(o, " -> ");
    print_body(o, l->body);
}

static void print_at(Out *o, Atom arr, const DimIndexes *at, bool safe)
{
    Type t = atom_type(arr);
    out_printf(o, "%s[", atom_text(arr));
    for (int i = 0; i < at->n; i++) {
        const DimIndex *d = &at->at[i];
        out_puts(o, i ? ", " : "");
        if (!d->is_slice)
            out_puts(o, size_text(d->start));
        else if (i < t.rank && atom_is_int(d->start, 0) && atom_is_int(d->stride, 1) &&
                 atom_eq(d->n, t.dims[i]))
            out_puts(o, ":");
        else
            out_printf(o, "%s:%s:%s", size_text(d->start), size_text(d->n), size_text(d->stride));
    }
    out_puts(o, safe ? "]!" : "]");
}

static void print_perm(Out *o, const char *word, const int *perm, Atom arr)
{
    out_printf(o, "%s (", word);
    for (int i = 0; i < atom_type(arr).rank; i++)
        out_printf(o, "%s%d", i ? ", " : "", perm[i]);
    out_printf(o, ") %s", atom_text(arr));
}

static void print_dests(Out *o, const Dests *ds)
{
    out_puts(o, "into (");
    for (int i = 0; i < ds->n; i++)
        out_printf(o, "%s%s@%d", i ? ", " : "", atom_text(ds->at[i].arr), ds->at[i].rank);
    out_puts(o, ")");
}

static void print_op(Out *o, const Lambda *op, const Atoms *nes)
{
    out_puts(o, "op ");
    print_lambda(o, op);
    out_puts(o, " nes ");
    print_atoms(o, nes);
}

static void print_nest(Out *o, const Nest *nest)
{
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        out_puts(o, " <");
        for (int j = 0; j < nd->xs.n; j++) {
            Type row = atom_type(nd->arrs.at[j]);
            out_printf(o, "%s%s", j ? ", " : "", var_text(nd->xs.at[j]));
            if (row.rank == 0 || !type_eq(type_row(row), nd->xs.at[j]->type))
                out_printf(o, ": %s", type_text(nd->xs.at[j]->type));
        }
        if (nd->xs.n) {
            out_puts(o, " in ");
            for (int j = 0; j < nd->arrs.n; j++)
                out_printf(o, "%s%s", j ? ", " : "", atom_text(nd->arrs.at[j]));
            out_puts(o, "; ");
        }
        out_printf(o, "%s < %s", var_text(nd->idx), size_text(nd->width));
        if (nd->row)
            out_printf(o, "; %s < %s by %s", var_text(nd->row), size_text(nd->rows),
                       atom_text(nd->offs));
        out_puts(o, ">");
    }
    out_puts(o, " ");
}

/* --- Expressions ---------------------------------------------------------------------------- */

static void print_loop(Out *o, const Exp *e)
{
    out_puts(o, "loop (");
    for (int i = 0; i < e->loop.params.n; i++) {
        out_puts(o, i ? ", " : "");
        print_param(o, e->loop.params.at[i]);
        out_printf(o, " = %s", atom_text(e->loop.inits.at[i]));
    }
    out_puts(o, ") ");
    if (e->loop.kind == LOOP_FOR)
        out_printf(o, "for %s: %s < %s do ", var_text(e->loop.i),
                   prim_type_text[e->loop.i->type.elem], atom_text(e->loop.bound));
    else
        out_printf(o, "while %s do ", var_text(e->loop.cond));
    print_body(o, e->loop.body);
}

static void print_soac(Out *o, const Exp *e)
{
    out_printf(o, "%s%s %s ", form_info[e->kind].text, e->soac.comm ? " comm" : "",
               size_text(e->soac.width));
    print_atoms(o, &e->soac.arrs);
    out_puts(o, " ");
    if (e->soac.op)
        print_op(o, e->soac.op, &e->soac.nes);
    if (exp_is(e, F_DESTS)) {
        out_puts(o, e->soac.op ? " " : "");
        print_dests(o, &e->soac.dests);
        out_puts(o, e->soac.op ? "" : " ");
    }
    if (e->soac.fn) {
        out_puts(o, e->soac.op ? " fn " : "");
        print_lambda(o, e->soac.fn);
    }
}

static void print_suff(Out *o, const Exp *e)
{
    out_printf(o, "suff %s ", e->suff.intra ? "intra" : "outer");
    out_quoted(o, e->suff.name);
    out_puts(o, " path (");
    for (int i = 0; i < e->suff.path.n; i++) {
        out_printf(o, "%s%s", i ? ", " : "", e->suff.path.at[i].taken ? "" : "!");
        out_quoted(o, e->suff.path.at[i].name);
    }
    out_printf(o, ") %s", size_text(e->suff.par));
    if (!atom_eq(e->suff.work, e->suff.par))
        out_printf(o, " of %s", size_text(e->suff.work));
    if (e->suff.never) {
        out_printf(o, " spares %s never ", size_text(e->suff.spared));
        out_quoted(o, e->suff.never);
    } else if (!atom_is_int(e->suff.steps, 0))
        out_printf(o, " spares %s %s %s", size_text(e->suff.spared), size_text(e->suff.steps),
                   size_text(e->suff.elems));
    if (!atom_is_int(e->suff.units, 0))
        out_printf(o, " units %s", size_text(e->suff.units));
    if (e->suff.balanced)
        out_puts(o, " balanced");
    if (e->suff.blocks)
        out_puts(o, " blocks");
}

static void print_ranks(Out *o, const Exp *e)
{
    out_puts(o, form_info[e->kind].text);
    if (e->kind == E_PEER)
        out_printf(o, ".%s", prim_type_text[e->ranks.type]);
    out_puts(o, " ");
    if (e->kind == E_SHARED) {
        out_quoted(o, e->ranks.name);
        out_puts(o, " ");
    }
    print_atoms(o, &e->ranks.args);
}

static void print_seg(Out *o, const Exp *e)
{
    out_printf(o, "%s^%d%s%s", form_info[e->kind].text, e->seg.level, e->seg.comm ? " comm" : "",
               e->seg.inspects ? " inspects" : "");
    print_nest(o, &e->seg.nest);
    if (e->seg.op) {
        print_op(o, e->seg.op, &e->seg.nes);
        out_puts(o, " ");
    }
    if (exp_is(e, F_DESTS)) {
        print_dests(o, &e->seg.dests);
        out_puts(o, " ");
    }
    print_body(o, e->seg.body);
}

static void print_deriv(Out *o, const Exp *e)
{
    out_printf(o, "%s ", form_info[e->kind].text);
    print_atoms(o, &e->deriv.args);
    out_puts(o, " ");
    print_atoms(o, &e->deriv.seeds);
    out_puts(o, " ");
    print_lambda(o, e->deriv.fn);
    if (e->deriv.back) {
        out_puts(o, " ");
        print_lambda(o, e->deriv.back);
    }
}

static void print_attrs(Out *o, unsigned attrs)
{
    for (int i = 0; i < N_ATTRS; i++)
        if (attrs & 1u << i)
            out_printf(o, "#[%s] ", attr_text[i]);
    if (attr_strips(attrs))
        out_printf(o, "#[stripmine(%u)] ", attr_strips(attrs));
}

void ir_print_exp(Out *o, const Exp *e)
{
    print_attrs(o, e->attrs);
    switch (exp_member(e)) {
    case M_atom: out_puts(o, atom_text(e->atom)); break;
    case M_prim:
        out_printf(o, "%s.%s", prim_info[e->prim.op].text, prim_type_text[e->prim.type]);
        for (int i = 0; i < e->prim.args.n; i++)
            out_printf(o, " %s", atom_text(e->prim.args.at[i]));
        break;
    case M_conv:
        out_printf(o, "conv.%s.%s %s", prim_type_text[e->conv.from], prim_type_text[e->conv.to],
                   atom_text(e->conv.arg));
        break;
    case M_call:
        out_printf(o, "call %s ", e->call.fn->name);
        print_atoms(o, &e->call.args);
        break;
    case M_index: print_at(o, e->index.arr, &e->index.at, e->index.safe); break;
    case M_update:
        out_puts(o, "update ");
        print_at(o, e->update.arr, &e->update.at, e->update.safe);
        out_printf(o, " = %s", atom_text(e->update.val));
        break;
    case M_iota:
        out_printf(o, "iota %s %s %s", size_text(e->iota.n), atom_text(e->iota.start),
                   atom_text(e->iota.stride));
        break;
    case M_replicate:
        print_list(o, &e->replicate.dims, "replicate [", "] ", true);
        out_puts(o, atom_text(e->replicate.val));
        break;
    case M_scratch: out_printf(o, "scratch %s", type_text(e->scratch.type)); break;
    case M_arraylit:
        out_printf(o, "array %s ", type_text(e->arraylit.elem));
        print_list(o, &e->arraylit.elems, "[", "]", false);
        break;
    case M_concat:
        out_printf(o, "concat %d %s ", e->concat.dim, size_text(e->concat.n));
        print_atoms(o, &e->concat.arrs);
        break;
    case M_rearrange:
        print_perm(o, form_info[e->kind].text, e->rearrange.perm, e->rearrange.arr);
        break;
    case M_reshape:
        print_list(o, &e->reshape.dims, "reshape [", "] ", true);
        out_puts(o, atom_text(e->reshape.arr));
        break;
    case M_copy: out_printf(o, "copy %s", atom_text(e->copy.arr)); break;
    case M_branch:
        out_printf(o, "if %s then ", atom_text(e->branch.test));
        print_body(o, e->branch.then_);
        out_puts(o, " else ");
        print_body(o, e->branch.else_);
        break;
    case M_loop: print_loop(o, e); break;
    case M_assertion:
        out_printf(o, "assert %s ", atom_text(e->assertion.cond));
        out_quoted(o, e->assertion.msg);
        out_puts(o, " ");
        print_atoms(o, &e->assertion.args);
        break;
    case M_trace:
        out_puts(o, "trace ");
        out_quoted(o, e->trace.label);
        out_puts(o, " ");
        print_atoms(o, &e->trace.args);
        break;
    case M_soac: print_soac(o, e); break;
    case M_deriv: print_deriv(o, e); break;
    case M_suff: print_suff(o, e); break;
    case M_ranks: print_ranks(o, e); break;
    case M_seg: print_seg(o, e); break;
    case N_MEMBERS: ice(e->loc, "no form");
    }
}

/* --- Bodies, programs ----------------------------------------------------------------------- */

void ir_print_stm(Out *o, const Stm *s)
{
    out_puts(o, "let ");
    if (s->pat.n == 1)
        print_param(o, s->pat.at[0]);
    else
        print_params(o, &s->pat);
    out_puts(o, " = ");
    ir_print_exp(o, s->exp);
    out_puts(o, "\n");
}

static void print_result(Out *o, const Atoms *res)
{
    out_puts(o, "in ");
    if (res->n == 1)
        out_puts(o, atom_text(res->at[0]));
    else
        print_atoms(o, res);
}

static void print_body(Out *o, const Body *b)
{
    if (b->stms.n == 0) {
        out_puts(o, "{ ");
        print_result(o, &b->res);
        out_puts(o, " }");
        return;
    }
    out_puts(o, "{\n");
    o->indent++;
    for (int i = 0; i < b->stms.n; i++)
        ir_print_stm(o, &b->stms.at[i]);
    print_result(o, &b->res);
    out_puts(o, "\n");
    o->indent--;
    out_puts(o, "}");
}

static void print_ext(Out *o, const ExtType *x);

static void print_variant(Out *o, const ExtVariant *v)
{
    out_quoted(o, v->name);
    out_puts(o, " [");
    for (int i = 0; i < v->n_places; i++)
        out_printf(o, i ? ", %d" : "%d", v->places[i]);
    out_puts(o, "] (");
    for (int i = 0; i < v->n; i++) {
        out_puts(o, i ? ", " : "");
        print_ext(o, &v->holds[i]);
    }
    out_puts(o, ")");
}

static void print_ext(Out *o, const ExtType *x)
{
    int n = x->elem ? x->elem->n_vals : x->n_fields ? 0 : 1;
    out_quoted(o, x->text);
    if (x->alias) {
        out_puts(o, " as ");
        out_quoted(o, x->alias);
    }
    for (int i = 0; i < x->n_fields; i++)
        n += x->fields[i].n_vals;
    if (n != x->n_vals)
        out_printf(o, " #%d", x->n_vals);
    for (int i = 0; i < x->n_fields; i++) {
        out_puts(o, i ? ", " : " {");
        out_quoted(o, x->field_names[i]);
        out_puts(o, ": ");
        print_ext(o, &x->fields[i]);
    }
    out_puts(o, x->n_fields ? "}" : "");
    for (int i = 0; i < x->n_variants; i++) {
        out_puts(o, " or ");
        print_variant(o, &x->variants[i]);
    }
    if (x->elem) {
        out_printf(o, " of %d ", x->rank);
        print_ext(o, x->elem);
    }
}

static void print_exts(Out *o, const ExtParams *ps)
{
    out_puts(o, "(");
    for (int i = 0; i < ps->n; i++) {
        const ExtParam *p = &ps->at[i];
        out_puts(o, i ? ", " : "");
        if (p->name) {
            out_quoted(o, p->name);
            out_puts(o, ": ");
        }
        out_puts(o, p->unique ? "*" : "");
        print_ext(o, &p->type);
    }
    out_puts(o, ")");
}

static void print_entry(Out *o, const Entry *en)
{
    out_printf(o, "entry %s [", en->name);
    for (int i = 0; i < en->sizes.n; i++)
        out_printf(o, "%s%s", i ? ", " : "", var_text(en->sizes.at[i]));
    out_puts(o, "] ");
    print_params(o, &en->params);
    for (int i = 0; i < en->user_params.n; i++) {
        out_puts(o, i ? ", " : "\n  tuned by ");
        out_quoted(o, en->user_params.at[i].name);
        out_printf(o, " %s", var_text(en->user_params.at[i].var));
    }
    out_puts(o, "\n  takes ");
    print_exts(o, &en->ext_params);
    out_puts(o, "\n  gives ");
    print_exts(o, &en->ext_results);
    out_puts(o, "\n= ");
    print_body(o, en->body);
    out_puts(o, "\n");
}

static void print_function(Out *o, const Function *f)
{
    out_printf(o, "\nfunction %s %s", f->name, f->noinline ? "noinline " : "");
    print_params(o, &f->lam->params);
    out_puts(o, " = ");
    print_body(o, f->lam->body);
    out_puts(o, "\n");
}

void ir_print(Out *o, const Prog *p)
{
    Arena *a = arena_new();
    Functions fs = prog_functions(a, p);
    out_printf(o, "dialect %s\n", p->dialect == D_SEG ? "seg" : "soac");
    for (int i = 0; i < fs.n; i++)
        print_function(o, fs.at[i]);
    arena_free(a);
    for (int i = 0; i < p->entries.n; i++) {
        out_puts(o, "\n");
        print_entry(o, &p->entries.at[i]);
    }
}
