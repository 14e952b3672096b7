/* Well-formed kernels: types, scopes, buffers. What the work-items do to each other: uniform.c,
 * hazard.c. */
#include "kir/facts/verify.h"

#include "base/intern.h"
#include "base/ptrmap.h"
#include "base/stage.h"
#include "ir/scalar.h"
#include "kir/facts/uniform.h"
#include "kir/text/text.h"
#include "kir/walk.h"

#include <ctype.h>
#include <setjmp.h>
#include <string.h>

enum { MOST_ARGS = 8, MOST_DIMS = 3 };

typedef struct {
    Arena *arena;
    const KFun *fun;
    const KStm *at; /* at work; NULL: a parameter */
    PtrSet *scope;  /* variables and buffers */
    PtrSet *bound;  /* the same, in scope or not any more */
    PtrSet *names;
    VEC(const void *) entered; /* in scope, in order */
    VEC(const KStm *) works;   /* around */
    const char *error;
    jmp_buf fail;
} Check;

__attribute__((format(printf, 2, 3))) static _Noreturn void wrong(Check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    c->error = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    longjmp(c->fail, 1);
}

/* --- Types ------------------------------------------------------------------------------------ */

static bool same_type(KType a, KType b)
{
    return a.elem == b.elem && a.lanes == b.lanes;
}

/* what, and of what that is: "operand of ", "+". */
static void want_type_of(Check *c, const char *what, const char *of, KType got, KType want)
{
    if (!same_type(got, want))
        wrong(c, "%s%s of type %s instead of %s", what, of, ktype_text(got), ktype_text(want));
}

static void want_type(Check *c, const char *what, KType got, KType want)
{
    want_type_of(c, what, "", got, want);
}

static void want_elem(Check *c, const char *what, KType got, PrimType want)
{
    want_type(c, what, got, ktype(want));
}

static void want_int(Check *c, const char *what, KType got)
{
    if (!prim_is_int(got.elem) || got.lanes != 1)
        wrong(c, "%s of type %s, which is no integer", what, ktype_text(got));
}

static void check_type(Check *c, KType t)
{
    if (t.lanes != 1 && t.lanes != 2 && t.lanes != 4 && t.lanes != 8)
        wrong(c, "a vector of %d", t.lanes);
    if (t.index && t.elem != T_I64)
        wrong(c, "an index of type %s", prim_type_text[t.elem]);
}

/* --- Scopes ----------------------------------------------------------------------------------- */

static void enter_scope(Check *c, const void *p)
{
    ptrset_add(c->scope, p);
    vec_push(c->arena, &c->entered, p);
}

static void leave_scope(Check *c, int mark)
{
    while (c->entered.n > mark)
        ptrmap_put(c->scope, c->entered.at[--c->entered.n], NULL);
}

static void check_name(Check *c, const char *name)
{
    bool ok = name && (isalpha((unsigned char)*name) || *name == '_');
    for (const char *p = name; ok && *p; p++)
        ok = isalnum((unsigned char)*p) || *p == '_';
    if (!ok)
        wrong(c, "'%s' is no name", name ? name : "");
    const char *key = intern(name);
    if (ptrset_has(c->names, key))
        wrong(c, "the name %s has two meanings", name);
    ptrset_add(c->names, key);
}

static void bind(Check *c, const void *object, const char *name)
{
    if (ptrset_has(c->bound, object))
        wrong(c, "%s is bound twice", name);
    ptrset_add(c->bound, object);
    check_name(c, name);
    enter_scope(c, object);
}

static void bind_var(Check *c, const KVar *v, bool mutable_)
{
    if (v->mutable_ != mutable_)
        wrong(c, mutable_ ? "%s is not mutable" : "%s is mutable, and no VAR binds it", v->name);
    check_type(c, v->type);
    bind(c, v, v->name);
}

static void want_var(Check *c, const KVar *v)
{
    if (!v)
        wrong(c, "a variable is missing");
    if (!ptrset_has(c->scope, v))
        wrong(c, "%s is not in scope", v->name);
}

static void want_mutable(Check *c, const KVar *v)
{
    want_var(c, v);
    if (!v->mutable_)
        wrong(c, "%s is changed, and no VAR binds it", v->name);
}

static void want_buf(Check *c, const KBuf *b)
{
    if (!b)
        wrong(c, "a buffer is missing");
    if (!ptrset_has(c->scope, b))
        wrong(c, "%s is not in scope", b->name);
}

/* --- Expressions ------------------------------------------------------------------------------ */

static void check_prim(Check *c, const KExp *x)
{
    const PrimInfo *op = &prim_info[x->op];
    KType t = x->n > 0 ? x->x[0]->type : x->type;
    if (x->n != op->arity)
        wrong(c, "%s of %d operands", op->text, x->n);
    if (!scalar_fn(x->op, t.elem))
        wrong(c, "%s does not work on %s", op->text, prim_type_text[t.elem]);
    for (int i = 1; i < x->n; i++)
        want_type_of(c, "operand of ", op->text, x->x[i]->type, t);
    if (t.lanes > 1 && prim_result(x->op, t.elem) != t.elem)
        wrong(c, "%s of a vector", op->text);
    if (x->exact && !prim_is_int(t.elem))
        wrong(c, "exact %s of %s", op->text, prim_type_text[t.elem]);
    bool saturates = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL;
    if (x->saturate && (x->exact || t.elem != T_I64 || !saturates))
        wrong(c, "%s of %s does not saturate", op->text, prim_type_text[t.elem]);
    t.elem = prim_result(x->op, t.elem);
    want_type_of(c, "result of ", op->text, x->type, t);
}

static void check_vector(Check *c, const KExp *x)
{
    KType t = x->type;
    if (t.lanes != x->n)
        wrong(c, "a vector of %d parts", x->n);
    t.lanes = 1;
    for (int i = 0; i < x->n; i++)
        want_type(c, "part of a vector", x->x[i]->type, t);
}

static void check_part(Check *c, const KExp *x)
{
    KType t = x->x[0]->type;
    if (t.lanes == 1 || x->dim >= t.lanes)
        wrong(c, "part %d of a %s", x->dim, ktype_text(t));
    t.lanes = 1;
    want_type(c, "part of a vector", x->type, t);
}

static void check_select(Check *c, const KExp *x)
{
    want_elem(c, "condition of select", x->x[0]->type, T_BOOL);
    for (int i = 1; i <= 2; i++)
        want_type(c, "operand of select", x->x[i]->type, x->type);
}

static void check_conv(Check *c, const KExp *x)
{
    KType t = x->type;
    t.elem = x->x[0]->type.elem;
    want_type(c, "operand of conv", x->x[0]->type, t);
}

static bool has_formal(const Check *c, KParamKind kind)
{
    for (int i = 0; i < c->fun->params.n; i++)
        if (c->fun->params.at[i].kind == kind)
            return true;
    return false;
}

static void want_failure(Check *c)
{
    if (!has_formal(c, KP_FAILURE))
        wrong(c, "there is no parameter for failures");
}

static void check_exp(Check *c, const KExp *x)
{
    static const int operands[N_KEXPS] = {[KE_CONV] = 1, [KE_SELECT] = 3, [KE_PART] = 1};
    if (!x)
        wrong(c, "an operand is missing");
    if (operands[x->kind] && x->n != operands[x->kind])
        wrong(c, "%s of %d operands", kexp_word[x->kind], x->n);
    check_type(c, x->type);
    for (int i = 0; i < x->n; i++)
        check_exp(c, x->x[i]);
    switch (x->kind) {
    case KE_CONST: want_elem(c, "constant", x->type, x->c.type); break;
    case KE_VAR:
        want_var(c, x->var);
        want_type_of(c, "use of ", x->var->name, x->type, x->var->type);
        break;
    case KE_PRIM: check_prim(c, x); break;
    case KE_CONV: check_conv(c, x); break;
    case KE_SELECT: check_select(c, x); break;
    case KE_ID:
        if (c->fun->is_function)
            wrong(c, "%s in a function", kid_info[x->id].word);
        want_elem(c, kid_info[x->id].word, x->type, kid_info[x->id].type);
        if (x->dim >= MOST_DIMS)
            wrong(c, "%s of dimension %d", kid_info[x->id].word, x->dim);
        if (x->id == KID_FAILED_BEFORE)
            want_failure(c);
        if (x->id == KID_HAS_SLICES && c->fun->slices.n == 0)
            wrong(c, "has_slices in a kernel without slices");
        break;
    case KE_PART: check_part(c, x); break;
    case KE_VECTOR: check_vector(c, x); break;
    case KE_HOST: wrong(c, "a scalar of the host: %s", var_c_name(x->host)); break;
    case KE_SIZE: wrong(c, "a size of the host: %s", size_c_name(x->fact)); break;
    case KE_CEILDIV: wrong(c, "arithmetic of the host"); break;
    case N_KEXPS: wrong(c, "no kind of expression");
    }
}

/* --- Memory ----------------------------------------------------------------------------------- */

static void check_buf(Check *c, const KBuf *b)
{
    bool is_array = b->space == KS_PRIVATE && !b->of;
    if (is_array != (b->count > 0))
        wrong(c, "%s of %lld elements in %s memory", b->name, (long long)b->count,
              kspace_text[b->space]);
    if (b->of && b->of->space != b->space)
        wrong(c, "%s in %s memory, of %s in %s memory", b->name, kspace_text[b->space], b->of->name,
              kspace_text[b->of->space]);
    if (b->read_only && b->write_any)
        wrong(c, "%s is only read, and written", b->name);
    if (b->align & (b->align - 1) || b->align < 0)
        wrong(c, "%s is aligned to %d", b->name, b->align);
    bind(c, b, b->name);
}

/* A vector may be there: what is known of the buffer and the position does not say otherwise. */
static void check_aligned(Check *c, const KStm *s, int lanes)
{
    const KBuf *root = kbuf_root(s->buf);
    int bytes = prim_type_bytes[s->buf->elem] * lanes;
    int align = root->align ? root->align : prim_type_bytes[root->elem];
    if (align < bytes)
        wrong(c, "a vector of %d bytes in %s, which is aligned to %d", bytes, root->name, align);
    if (s->x[0]->kind == KE_CONST && s->x[0]->c.i % lanes != 0)
        wrong(c, "a vector of %d at position %lld", lanes, (long long)s->x[0]->c.i);
}

/* Any position will do: a program may say `#[unsafe] xs[-1]`, above all where it never comes to. */
static void check_index(Check *c, const KStm *s, int lanes)
{
    want_buf(c, s->buf);
    check_exp(c, s->x[0]);
    want_elem(c, "position", s->x[0]->type, T_I64);
    if (lanes > 1)
        check_aligned(c, s, lanes);
}

static bool is_read_only(const KBuf *b)
{
    return b->read_only || (b->of && is_read_only(b->of));
}

static void check_write(Check *c, const KStm *s, int lanes)
{
    check_index(c, s, lanes);
    if (is_read_only(s->buf))
        wrong(c, "%s is only read", s->buf->name);
    if (s->buf->write_any && s->kind != KST_RACE)
        wrong(c, "%s is written, and not as all work-items may", s->buf->name);
    for (int i = 1; i < kstm_info[s->kind].operands; i++) {
        check_exp(c, s->x[i]);
        KType want = ktype(s->buf->elem);
        want.lanes = lanes;
        want_type(c, "value", s->x[i]->type, want);
    }
}

static void check_load(Check *c, const KStm *s)
{
    check_index(c, s, s->var->type.lanes);
    KType want = ktype(s->buf->elem);
    want.lanes = s->var->type.lanes;
    want_type(c, "what is loaded", s->var->type, want);
}

static void check_store(Check *c, const KStm *s)
{
    check_write(c, s, s->x[1] ? s->x[1]->type.lanes : 1);
}

/* The operations of OpenCL that work in one step, and sums; N_PRIM_OPS exchanges. */
static bool is_atomic_op(PrimOp op, PrimType t)
{
    if (op == N_PRIM_OPS || (prim_is_float(t) && op == OP_ADD))
        return true;
    return prim_is_int(t) && (op == OP_ADD || op == OP_SUB || op == OP_MIN || op == OP_MAX ||
                              op == OP_AND || op == OP_OR || op == OP_XOR);
}

static void check_atomic(Check *c, const KStm *s)
{
    check_write(c, s, 1);
    PrimType t = s->buf->elem;
    if (prim_type_bytes[t] < 4 || s->buf->space == KS_PRIVATE)
        wrong(c, "one step on %s %s", kspace_text[s->buf->space], prim_type_text[t]);
    if (s->kind == KST_ATOMIC ? !is_atomic_op(s->op, t) : !prim_is_int(t))
        wrong(c, "this is not done in one step on %s", prim_type_text[t]);
    if (s->var && s->kind == KST_ATOMIC && s->op == OP_ADD && prim_is_float(t))
        wrong(c, "sums of %s in one step do not tell the old value", prim_type_text[t]);
    if (s->var)
        want_elem(c, "old value", s->var->type, t);
}

/* What groups tell each other lies in words that are read and written whole; they arrive at words
 * of 32 bits. */
static void check_told(Check *c, const KStm *s)
{
    PrimType t = s->buf->elem;
    bool whole = t == T_U32 || (t == T_U64 && s->kind != KST_ARRIVE);
    if (s->buf->space != KS_GLOBAL || !whole)
        wrong(c, "groups tell each other %s in %s memory", prim_type_text[t],
              kspace_text[s->buf->space]);
    if (s->kind == KST_PEEK)
        check_index(c, s, 1);
    else
        check_write(c, s, 1);
    if (s->var)
        want_elem(c, "what is seen", s->var->type, t);
}

/* Two numbers, and tiles whose rows are of so many elements. */
static void check_place(Check *c, const KStm *s, int pitch, int other)
{
    if (s->tile.elem != T_F16 && s->tile.elem != T_F32)
        wrong(c, "tiles of %s", prim_type_text[s->tile.elem]);
    if (s->args.n != 2)
        wrong(c, "a place in %d dimensions", s->args.n);
    for (int i = 0; i < 2; i++) {
        int of = i == 0 ? pitch : other;
        check_exp(c, s->args.at[i]);
        want_elem(c, "place", s->args.at[i]->type, T_I64);
        bool none = of == 0 && pitch != other;
        if (of < 0 || (of == 0 && !none) || of % (8 * ktile_beside(s->tile.elem)))
            wrong(c, "rows of %d elements", of);
    }
}

/* Words of 16 bytes, from memory where that has room for them, or as many elements of one. */
static void check_copy(Check *c, const KStm *s)
{
    check_index(c, s, 1);
    want_buf(c, s->with);
    for (int i = 1; i < 3; i++)
        check_exp(c, s->x[i]);
    want_elem(c, "position", s->x[1]->type, T_I64);
    check_place(c, s, s->tile.pitch[0], s->tile.pitch[0]);
    if (s->x[2]->type.elem != T_I64)
        want_elem(c, "condition", s->x[2]->type, T_BOOL);
    bool word = s->buf->align >= KTILE_COPY_BYTES && s->with->elem == s->buf->elem &&
                s->tile.elem == s->buf->elem;
    if (s->buf->space != KS_LOCAL || s->with->space != KS_GLOBAL || !word)
        wrong(c, "a copy from %s %s to %s %s", kspace_text[s->with->space],
              prim_type_text[s->with->elem], kspace_text[s->buf->space],
              prim_type_text[s->buf->elem]);
}

static void check_round(Check *c, const KStm *s)
{
    if (s->x[0]->kind != KE_CONST || s->x[0]->c.type != T_I64 || s->x[0]->c.i < 0)
        wrong(c, "the rounds that may be missing are no number");
}

/* Fragments may be those of larger products, too. */
static void check_private(Check *c, const char *what, const KBuf *b, PrimType elem, int64_t count)
{
    bool enough = elem == T_U32 ? b->count >= count : b->count == count;
    if (b->space != KS_PRIVATE || b->elem != elem || b->of || !enough)
        wrong(c, "%s in %lld %s", what, (long long)b->count, prim_type_text[b->elem]);
}

static void check_tile(Check *c, const KTile *t)
{
    bool whole = t->rows > 0 && t->rows % KTILE_ROWS == 0 && t->cols > 0 &&
                 t->cols % (2 * KTILE_COLS) == 0 && t->k % ktile_depth(t->elem) == 0;
    bool wide = t->cols == 64 || t->cols == 128 || t->cols == 256;
    wide = !t->wide || (wide && t->rows == KTILE_ROWS && t->elem == T_F16 && t->half == 0);
    if (!whole || !wide || (t->half != 0 && t->half != 1) || (t->rounded && t->elem != T_F32))
        wrong(c, "a product of %d x %d", t->rows, t->cols);
    for (int i = 0; t->wide && i < 2; i++)
        if (t->pitch[i] && (t->pitch[i] != KTILE_PANEL || t->tall[i] % KTILE_COLS || !t->tall[i]))
            wrong(c, "panels of %d x %d", t->tall[i], t->pitch[i]);
}

static void check_settle(Check *c, const KStm *s)
{
    want_buf(c, s->buf);
    check_private(c, "sums", s->buf, T_F32, s->buf->count);
}

static void check_fragments(Check *c, const KStm *s)
{
    const KTile *t = &s->tile;
    check_tile(c, t);
    check_index(c, s, 1);
    check_exp(c, s->x[1]);
    want_elem(c, "position", s->x[1]->type, T_I64);
    want_buf(c, s->with);
    check_private(c, "fragments", s->with, T_U32, ktile_words(t));
    check_place(c, s, t->pitch[0], t->pitch[1]);
    if (s->buf->space != KS_LOCAL || s->buf->elem != t->elem)
        wrong(c, "tiles of %s in %s memory", prim_type_text[s->buf->elem],
              kspace_text[s->buf->space]);
}

static void check_multiply(Check *c, const KStm *s)
{
    check_tile(c, &s->tile);
    want_buf(c, s->buf);
    want_buf(c, s->with);
    check_private(c, "fragments", s->buf, T_U32, ktile_words(&s->tile));
    check_private(c, "sums", s->with, T_F32, ktile_sums(&s->tile));
}

static void check_view(Check *c, const KStm *s)
{
    want_buf(c, s->buf->of);
    if (s->x[0]) {
        check_exp(c, s->x[0]);
        want_elem(c, "offset", s->x[0]->type, T_I64);
    }
}

/* --- Statements ------------------------------------------------------------------------------- */

static void check_value(Check *c, const KStm *s)
{
    if (s->kind == KST_SET)
        want_mutable(c, s->var);
    if (s->kind == KST_VAR && !s->x[0])
        return;
    check_exp(c, s->x[0]);
    want_type(c, "value", s->x[0]->type, s->var->type);
}

static void check_for(Check *c, const KStm *s)
{
    want_int(c, "variable of a loop", s->var->type);
    for (int i = 0; i < 3; i++) {
        check_exp(c, s->x[i]);
        want_type(c, "bound of a loop", s->x[i]->type, s->var->type);
    }
    const KExp *step = s->x[2];
    if (step->kind == KE_CONST && step->c.i < (s->doubling ? 2 : 1))
        wrong(c, "a loop that does not end");
    if (s->unroll < -1)
        wrong(c, "unrolled %d times", s->unroll);
}

static void check_condition(Check *c, const KStm *s)
{
    check_exp(c, s->x[0]);
    want_elem(c, "condition", s->x[0]->type, T_BOOL);
}

static void check_leave(Check *c, const KStm *s)
{
    for (int i = 0; i < c->works.n; i++)
        if (c->works.at[i] == s->target)
            return;
    wrong(c, "it is not inside the block that it leaves");
}

static void check_meet(Check *c, const KStm *s)
{
    unsigned can = 1u << KS_LOCAL | 1u << KS_GLOBAL;
    if (!s->fence || s->fence & ~can)
        wrong(c, "a barrier orders local memory, global memory or both");
}

static void want_may_fail(Check *c)
{
    want_failure(c);
    if (!c->fun->may_fail)
        wrong(c, "the kernel must not fail");
}

static void check_fail(Check *c, const KStm *s)
{
    want_may_fail(c);
    if (s->args.n > MOST_ARGS)
        wrong(c, "%d numbers", s->args.n);
    for (int i = 0; i < s->args.n; i++) {
        check_exp(c, s->args.at[i]);
        want_int(c, "number", s->args.at[i]->type);
    }
}

/* That the heap is full is no failure yet: the host gives a larger one. */
static void check_heap(Check *c, const KStm *s)
{
    want_failure(c);
    if (!has_formal(c, KP_HEAP))
        wrong(c, "the kernel has no heap");
    const KVar *vars[] = {s->var, s->top};
    for (int i = 0; i < 2; i++) {
        want_mutable(c, vars[i]);
        want_elem(c, "place in the heap", vars[i]->type, T_I64);
        check_exp(c, s->x[i]);
        want_elem(c, "size", s->x[i]->type, T_I64);
    }
}

static void check_shuffle(Check *c, const KStm *s)
{
    for (int i = 0; i < 2; i++)
        check_exp(c, s->x[i]);
    want_type(c, "value", s->x[0]->type, s->var->type);
    want_int(c, "lane", s->x[1]->type);
}

static void check_power(Check *c, const KStm *s)
{
    check_exp(c, s->x[0]);
    want_elem(c, "power", s->x[0]->type, T_F32);
    want_elem(c, "value", s->var->type, T_F32);
}

static void check_failing(Check *c, const KStm *s)
{
    want_failure(c);
    want_elem(c, "answer", s->var->type, T_BOOL);
}

/* What the function does is checked apart from who calls it. */
static void check_call(Check *c, const KStm *s)
{
    const KFun *f = s->fun;
    if (!f || !f->is_function || f->body.n == 0 || vec_last(&f->body)->kind != KST_GIVE)
        wrong(c, "a call of no function");
    if (!ptrset_has(c->bound, f)) {
        ptrset_add(c->bound, f);
        check_name(c, f->name);
    }
    if (s->args.n != f->params.n)
        wrong(c, "%d arguments", s->args.n);
    for (int i = 0; i < s->args.n; i++) {
        check_exp(c, s->args.at[i]);
        want_type(c, "argument", s->args.at[i]->type, f->params.at[i].var->type);
    }
    want_type(c, "what is given", s->var->type, kfun_gives(f));
}

static void check_give(Check *c, const KStm *s)
{
    if (!c->fun->is_function || vec_last(&c->fun->body) != s)
        wrong(c, "it does not end a function");
    check_exp(c, s->x[0]);
}

/* A function works on variables. */
static void check_inside(Check *c, const KStm *s)
{
    bool call = s->kind == KST_CALL || s->kind == KST_GIVE, set = s->kind == KST_SET;
    bool block = s->kind == KST_WHILE || s->kind == KST_IF || s->kind == KST_BLOCK;
    bool def = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_FOR;
    if (!call && !set && !block && !def && s->kind != KST_COMMENT)
        wrong(c, "it does not belong into a function");
}

static void check_text(Check *c, const KStm *s)
{
    if (!s->text)
        wrong(c, "a text is missing");
}

static void check_block(Check *c, const KBlock *b);

/* The statement without what is in its blocks, and what it binds. */
static void check_own(Check *c, const KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
    case KST_SET: check_value(c, s); return;
    case KST_LOAD: check_load(c, s); return;
    case KST_STORE: check_store(c, s); return;
    case KST_VIEW: check_view(c, s); return;
    case KST_FAILING: check_failing(c, s); return;
    case KST_ATOMIC:
    case KST_CAS: check_atomic(c, s); return;
    case KST_RACE: check_write(c, s, 1); return;
    case KST_COPY: check_copy(c, s); return;
    case KST_ROUND: check_round(c, s); return;
    case KST_FRAGMENTS: check_fragments(c, s); return;
    case KST_MULTIPLY: check_multiply(c, s); return;
    case KST_SETTLE: check_settle(c, s); return;
    case KST_PREFETCH: check_index(c, s, 1); return;
    case KST_PEEK:
    case KST_POST:
    case KST_ARRIVE: check_told(c, s); return;
    case KST_FOR: check_for(c, s); return;
    case KST_WHILE:
    case KST_IF: check_condition(c, s); return;
    case KST_WORK: check_name(c, s->label); return;
    case KST_LEAVE: check_leave(c, s); return;
    case KST_BARRIER: check_meet(c, s); return;
    case KST_FAIL: check_fail(c, s); return;
    case KST_HEAP: check_heap(c, s); return;
    case KST_SHUFFLE: check_shuffle(c, s); return;
    case KST_POWER: check_power(c, s); return;
    case KST_CALL: check_call(c, s); return;
    case KST_GIVE: check_give(c, s); return;
    case KST_COMMENT: check_text(c, s); return;
    case KST_ARRAY:
        if (s->buf->of || s->buf->space != KS_PRIVATE)
            wrong(c, "an array in %s memory", kspace_text[s->buf->space]);
        return;
    case KST_FRESH:
        if (s->buf->space != KS_LOCAL)
            wrong(c, "%s memory that is fresh", kspace_text[s->buf->space]);
        return;
    case KST_EXPOSE:
    case KST_BLOCK: return;
    case N_KSTMS: break;
    }
    wrong(c, "no kind of statement");
}

static void check_stm(Check *c, const KStm *s)
{
    unsigned flags = kstm_info[s->kind].flags;
    c->at = s;
    bool optional = s->kind == KST_ATOMIC || s->kind == KST_CAS;
    if (flags & KF_DEF && !s->var && !optional)
        wrong(c, "a variable is missing");
    if (flags & KF_BUF && !s->buf)
        wrong(c, "a buffer is missing");
    if (c->fun->is_function)
        check_inside(c, s);
    check_own(c, s);
    int mark = c->entered.n;
    if (flags & KF_DEF && s->var)
        bind_var(c, s->var, s->kind == KST_VAR);
    if (s->kind == KST_ARRAY || s->kind == KST_VIEW)
        check_buf(c, s->buf);
    if (s->kind == KST_WORK)
        vec_push(c->arena, &c->works, s);
    for (int k = 0; k < 2; k++)
        check_block(c, &s->body[k]);
    c->works.n -= s->kind == KST_WORK;
    if (flags & KF_BODY)
        leave_scope(c, mark); /* the variable of a loop */
}

static void check_block(Check *c, const KBlock *b)
{
    int mark = c->entered.n;
    for (int i = 0; i < b->n; i++)
        check_stm(c, b->at[i]);
    leave_scope(c, mark);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static void check_formal(Check *c, int i)
{
    const KFormal *p = &c->fun->params.at[i];
    bool buf = p->kind == KP_MEM || p->kind == KP_LOCAL || p->kind == KP_HEAP;
    bool var = p->kind == KP_SCALAR || p->kind == KP_HEAP;
    if (c->fun->is_function && p->kind != KP_SCALAR)
        wrong(c, "parameter %d of a function is no scalar", i);
    if (buf != !!p->buf || var != !!p->var)
        wrong(c, "parameter %d is incomplete", i);
    if (p->kind == KP_FAILURE && i > 0)
        wrong(c, "the parameter for failures is not the first one");
    if (buf) {
        KSpace want = p->kind == KP_LOCAL ? KS_LOCAL : KS_GLOBAL;
        if (p->buf->space != want || p->buf->of)
            wrong(c, "parameter %s in %s memory", p->buf->name, kspace_text[p->buf->space]);
        check_buf(c, p->buf);
    }
    if (var)
        bind_var(c, p->var, false);
    if (p->kind == KP_HEAP)
        want_elem(c, "size of the heap", p->var->type, T_I64);
    bool number = p->kind == KP_LOCAL || (p->kind == KP_SCALAR && p->var->type.elem == T_I64);
    if (p->steady && (!c->fun->sized || !number))
        wrong(c, "parameter %d is steady", i);
}

static void check_slice(Check *c, const KSlice *s)
{
    bool param = false;
    for (int i = 0; i < c->fun->params.n; i++)
        param |= c->fun->params.at[i].kind == KP_MEM && c->fun->params.at[i].buf == s->buf;
    if (!param)
        wrong(c, "slices of %s, which is no parameter in global memory", s->buf->name);
    check_exp(c, s->count);
    want_elem(c, "count of a slice", s->count->type, T_I64);
}

static const char *in_statement(Arena *a, const KStm *s, const char *error)
{
    return s ? arena_printf(a, "%s: %s", kstm_text(s), error) : error;
}

/* Not inlined: what is inlined beside setjmp, compilers take for lost where it returns again. */
static __attribute__((noinline)) void check_all(Check *c, const KFun *f)
{
    for (int i = 0; i < f->params.n; i++)
        check_formal(c, i);
    for (int i = 0; i < f->slices.n; i++)
        check_slice(c, &f->slices.at[i]);
    if (f->is_function && (f->body.n == 0 || vec_last(&f->body)->kind != KST_GIVE))
        wrong(c, "a function that gives nothing");
    check_block(c, &f->body);
}

static const char *check_form(Arena *a, const KFun *f, const KStm **at)
{
    Check *c = NEW(a, Check);
    c->arena = a;
    c->fun = f;
    c->scope = ptrmap_new(a);
    c->bound = ptrmap_new(a);
    c->names = ptrmap_new(a);
    if (setjmp(c->fail)) {
        *at = c->at;
        return c->error;
    }
    check_all(c, f);
    return NULL;
}

const char *kir_check(Arena *a, const KFun *f, Loc *at)
{
    const KStm *s = NULL;
    const char *error = check_form(a, f, &s);
    if (!error && !f->alone)
        error = kir_hazard(a, f, &s);
    if (s)
        *at = s->loc;
    return error ? in_statement(a, s, error) : NULL;
}

void kir_verify(const KFun *f, const char *pass)
{
    Arena *a = arena_new();
    Loc at = f->loc;
    const char *error = kir_check(a, f, &at);
    if (error) {
        stage_enter(pass);
        ice(at, "kernel %s after %s: %s", f->name, pass, error);
    }
    arena_free(a);
}
