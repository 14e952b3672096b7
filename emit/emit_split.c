/* An entry's operations as C functions that one can read.
 *
 * Each version is a function of its own: the first side of a guard, and the last one's second side;
 * the sides between them choose on and stay where they are. What is then still longer than
 * MANY_LINES is taken apart: sides of branches and bodies of loops become functions, the longest
 * first, and if that is not enough, runs of operations.
 *
 * Then a walk in the order of execution finds for each variable and block which functions mention
 * it. Names have two underscores and a word, which no name of a variable has (base/ident.h). */
#include "emit/emit_parts.h"

#include <string.h>

enum {
    MANY_LINES = 220, /* of a function, as estimated */
    FEW_LINES = 24,   /* a side or body that is shorter stays where it is */
    CALL_LINES = 2
};

typedef struct {
    Ctx *cx;
    const EntryPlan *ep;
    Split *sp;
    VarMap *suffs; /* test of a guard -> its SUFF */
    int n_versions;
    int n_fns[N_FN_KINDS];
} Splitter;

/* --- Blocks --------------------------------------------------------------------------------- */

enum { THRESHOLD_LINES = 3 }; /* of a loop that may be one launch */

/* Of the call that tells what a launch must do. */
static int work_lines(const HostOp *op)
{
    return op->bytes ? 1 + (op->bytes->parts + op->operations->parts) / 12 : 0;
}

/* Of names for parts of a long number. */
static int part_lines(const HostOp *op)
{
    return op->kind == H_EXP ? op->exp->parts / 12 : 0;
}

static int own_lines(const HostOp *op)
{
    return hostop_info[op->kind].lines + op->elems.n / 16 + op->args.n / 3 + work_lines(op) +
           part_lines(op) + op->fits.n + (op->threshold ? THRESHOLD_LINES : 0);
}

static int lines_of(const CodeBlock *b)
{
    return !b ? 0 : b->fn ? CALL_LINES : b->lines;
}

static void count_lines(CodeBlock *b)
{
    b->lines = 0;
    for (int i = 0; i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        b->lines += (it->op ? own_lines(it->op) : 0) + lines_of(it->then_) + lines_of(it->else_);
    }
}

static CodeBlock *block_of(Splitter *s, const HostOps *ops);

static CodeBlock *side_of(Splitter *s, const HostOps *ops, bool guard)
{
    if (ops->n == 0 && !guard)
        return NULL;
    bool chooses = ops_have(ops, H_SUFF);
    int version = guard && !chooses ? s->n_versions++ : -1;
    CodeBlock *b = block_of(s, ops);
    b->chooses = chooses;
    b->version = version;
    return b;
}

static CodeBlock *block_of(Splitter *s, const HostOps *ops)
{
    CodeBlock *b = NEW(s->cx->perm, CodeBlock);
    *b = (CodeBlock){.version = -1};
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        if (op->kind == H_SUFF)
            varmap_put(s->suffs, op->var, op->suff);
        CodeItem it = {.op = op};
        it.then_ = side_of(s, &op->then_, op->guard);
        it.else_ = side_of(s, &op->else_, op->guard);
        vec_push(s->cx->perm, &b->items, it);
    }
    return b;
}

/* --- Functions ------------------------------------------------------------------------------ */

static HostFn *fn_new(Splitter *s, CodeBlock *b, FnKind kind, const char *about)
{
    HostFn *fn = NEW(s->cx->perm, HostFn);
    *fn = (HostFn){.kind = kind, .about = about, .body = b};
    fn->reads = varmap_new(s->cx->perm);
    fn->begun = varmap_new(s->cx->perm);
    fn->sets = varmap_new(s->cx->perm);
    b->fn = fn;
    return fn;
}

/* Versions have the numbers that explain gives them, others count in the order of the text. */
static const char *fn_name(Splitter *s, const HostFn *fn)
{
    static const char *const words[N_FN_KINDS] = {
        [FN_VERSION] = "version", [FN_CHOICE] = "choice", [FN_LOOP] = "loop",
        [FN_BRANCH] = "branch",   [FN_STEP] = "step",
    };
    if (fn->kind == FN_ENTRY)
        return entry_fn(s->ep->entry);
    int number = fn->kind == FN_VERSION ? fn->body->version : s->n_fns[fn->kind]++;
    return arena_printf(s->cx->perm, "%s__%s_%d", c_ident(s->ep->entry->name), words[fn->kind],
                        number);
}

/* Where the first operation is that has a place; no place: there is none. */
static Loc block_loc(const CodeBlock *b)
{
    Loc loc = {0};
    for (int i = 0; b && i < b->items.n && !loc.beg; i++) {
        const CodeItem *it = &b->items.at[i];
        if (it->op)
            loc = it->op->loc;
        if (!loc.beg)
            loc = block_loc(it->then_);
        if (!loc.beg)
            loc = block_loc(it->else_);
    }
    return loc;
}

/* `main, prog.sf:3:5`: an operation's place, or its body's. */
static const char *where(Splitter *s, const HostOp *op, const CodeBlock *b)
{
    Loc loc = op && op->loc.beg ? op->loc : block_loc(b);
    const char *entry = s->ep->entry->name;
    return loc.beg ? arena_printf(s->cx->perm, "%s, %s", entry, diag_place_str(loc)) : entry;
}

/* The threshold's name without the entry's. */
static const char *short_name(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

/* How one gets to a side of a guard: `!suff_outer_par_0 suff_intra_par_1`. */
static const char *way_to(Splitter *s, const HostOp *op, bool taken)
{
    const Exp *e = varmap_get(s->suffs, op->exp->host);
    ASSERT(e);
    const char *way = "";
    for (int i = 0; i < e->suff.path.n; i++) {
        const PathStep *p = &e->suff.path.at[i];
        way = arena_printf(s->cx->perm, "%s%s%s ", way, p->taken ? "" : "!", short_name(p->name));
    }
    return arena_printf(s->cx->perm, "%s%s%s", way, taken ? "" : "!", short_name(e->suff.name));
}

/* A side of a guard as a function. */
static void split_version(Splitter *s, CodeBlock *b, const HostOp *op, bool taken)
{
    const char *at = where(s, op, b), *way = way_to(s, op, taken);
    if (b->version < 0)
        fn_new(s, b, FN_CHOICE, arena_printf(s->cx->perm, "versions of %s: %s", at, way));
    else
        fn_new(s, b, FN_VERSION, arena_printf(s->cx->perm, "V%d of %s: %s", b->version, at, way));
}

static void split_side(Splitter *s, const CodeItem *it, CodeBlock *b)
{
    const char *at = where(s, it->op, b);
    if (it->op->guard)
        split_version(s, b, it->op, b == it->then_);
    else if (it->op->kind == H_LOOP)
        fn_new(s, b, FN_LOOP, arena_printf(s->cx->perm, "body of a loop of %s", at));
    else
        fn_new(
            s, b, FN_BRANCH,
            arena_printf(s->cx->perm, "branch of %s: %s", at, b == it->then_ ? "if so" : "if not"));
}

/* The longest side or body in the block that is not a function yet; NULL: there is none worth it.
 */
static CodeBlock *longest(const CodeBlock *b, const CodeItem **at)
{
    CodeBlock *found = NULL;
    for (int i = 0; i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        CodeBlock *const sides[] = {it->then_, it->else_};
        for (int k = 0; k < 2; k++)
            if (sides[k] && !sides[k]->fn && sides[k]->lines > (found ? found->lines : FEW_LINES)) {
                found = sides[k];
                *at = it;
            }
    }
    return found;
}

/* May a run of operations end before this one? A declaration stays with what sets it, and a block
 * is given back where it was used. */
static bool may_cut(const CodeItem *before, const CodeItem *it)
{
    if (!it->op) /* a run itself */
        return true;
    return !op_is(before->op, HO_STAYS) && !op_is(it->op, HO_TAKES);
}

/* Replaces the block's operations by runs of them, functions of about the same length. */
static void cut(Splitter *s, CodeBlock *b)
{
    int n = (b->lines + MANY_LINES - 1) / MANY_LINES, share = (b->lines + n - 1) / n;
    CodeBlock all = *b, *run = NULL;
    b->items.at = NULL;
    b->items.n = b->items.cap = 0;
    for (int i = 0; i < all.items.n; i++) {
        const CodeItem *it = &all.items.at[i];
        if (!run || (run->lines >= share && may_cut(it - 1, it))) {
            run = NEW(s->cx->perm, CodeBlock);
            *run = (CodeBlock){.version = -1};
            vec_push(s->cx->perm, &b->items, (CodeItem){.then_ = run});
        }
        vec_push(s->cx->perm, &run->items, *it);
        run->lines += (it->op ? own_lines(it->op) : 0) + lines_of(it->then_) + lines_of(it->else_);
    }
    for (int i = 0; i < b->items.n; i++) {
        run = b->items.at[i].then_;
        fn_new(s, run, FN_STEP,
               arena_printf(s->cx->perm, "part %d of %d of %s", i + 1, b->items.n,
                            where(s, NULL, run)));
    }
}

/* Takes the block apart, from the inside to the outside. */
static void take_apart(Splitter *s, CodeBlock *b)
{
    for (int i = 0; i < b->items.n; i++) {
        CodeItem *it = &b->items.at[i];
        if (it->then_)
            take_apart(s, it->then_);
        if (it->else_)
            take_apart(s, it->else_);
        if (it->op->guard) {
            split_version(s, it->then_, it->op, true);
            if (it->else_->version >= 0 && it->else_->items.n > 0)
                split_version(s, it->else_, it->op, false);
        }
    }
    count_lines(b);
    const CodeItem *at = NULL;
    for (CodeBlock *side; b->lines > MANY_LINES && (side = longest(b, &at)) != NULL;) {
        split_side(s, at, side);
        count_lines(b);
    }
    while (b->lines > MANY_LINES) { /* again: if there are many runs */
        cut(s, b);
        count_lines(b);
    }
}

/* --- Who mentions what ---------------------------------------------------------------------- */

/* Fn mentions v, which has a value then (begins: or gets its first one). */
static void mention(Splitter *s, HostFn *fn, const Var *v, bool begins)
{
    Use *u = varmap_get(s->sp->uses, v);
    if (!u) {
        u = NEW(s->cx->perm, Use);
        *u = (Use){.fn = fn};
        varmap_put(s->sp->uses, v, u);
    } else if (u->fn != fn && !u->shared) {
        u->shared = true;
        vec_push(s->cx->perm, &s->sp->shared, (Var *)v);
    }
    if (varset_has(fn->begun, v))
        return;
    varset_add(fn->begun, v);
    if (!begins || u->fn != fn)
        vec_push(s->cx->perm, &fn->loads, (Var *)v);
}

static void reads(Splitter *s, HostFn *fn, const Var *v)
{
    varset_add(fn->reads, v);
    mention(s, fn, v, false);
}

static void add_set(Splitter *s, HostFn *fn, const Var *v)
{
    if (varset_has(fn->sets, v))
        return;
    varset_add(fn->sets, v);
    vec_push(s->cx->perm, &fn->set_list, (Var *)v);
}

static void sets(Splitter *s, HostFn *fn, const Var *v)
{
    mention(s, fn, v, true);
    add_set(s, fn, v);
}

static void mention_mem(Splitter *s, HostFn *fn, Mem *m)
{
    Split *sp = s->sp;
    while (sp->mem_uses.n <= m->id)
        vec_push(s->cx->perm, &sp->mem_uses, (Use){0});
    Use *u = &sp->mem_uses.at[m->id];
    if (!u->fn) {
        u->fn = fn;
        vec_push(s->cx->perm, &sp->mems, m);
    }
    u->shared |= u->fn != fn;
    while (u->fn != fn) /* up to the function that both are in */
        if (u->fn->depth >= fn->depth)
            u->fn = u->fn->caller;
        else
            fn = fn->caller;
}

static void walk_fn(Splitter *s, HostFn *fn);

/* A call of a side or run that is a function. What a run begins is known behind it: it stands in
 * the same list of operations. */
static void walk_call(Splitter *s, HostFn *fn, HostFn *callee, bool guarded, bool is_run)
{
    callee->caller = fn;
    callee->depth = fn->depth + 1;
    callee->guarded = guarded;
    walk_fn(s, callee);
    for (int i = 0; i < callee->set_list.n; i++) {
        const Var *v = callee->set_list.at[i];
        const Use *u = varmap_get(s->sp->uses, v);
        if (!is_run && u->fn->depth > fn->depth)
            continue; /* local to the callee and what it calls */
        add_set(s, fn, v);
        if (is_run && u->fn == callee)
            varset_add(fn->begun, v);
    }
}

static void walk_op(Splitter *s, HostFn *fn, const HostOp *op)
{
    ArenaMark mark = arena_mark(s->cx->scratch);
    HostOp own = op_alone(op);
    VarSet *read = varmap_new(s->cx->scratch);
    op_uses(read, &own);
    op_sizes(fn->sizes, &own);
    Vars list = varset_list(s->cx->scratch, read);
    for (int i = 0; i < list.n; i++)
        reads(s, fn, list.at[i]);
    Mems ms = {0};
    if (!op_is(op, HO_TAKES))
        op_mems(s->cx->scratch, &ms, op);
    for (int i = 0; i < ms.n; i++)
        mention_mem(s, fn, ms.at[i]);
    arena_reset(s->cx->scratch, mark);
    if (op->kind == H_DECLARE)
        mention(s, fn, op->var, true);
    else if (op->var && !(op->kind == H_LOOP && op->loop_kind == LOOP_WHILE))
        sets(s, fn, op->var);
    if (op->kind == H_LOOP && op->loop_kind == LOOP_FOR)
        varset_add(fn->reads, op->var);
}

static void walk_block(Splitter *s, HostFn *fn, const CodeBlock *b)
{
    for (int i = 0; i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        if (it->op)
            walk_op(s, fn, it->op);
        CodeBlock *const sides[] = {it->then_, it->else_};
        for (int k = 0; k < 2; k++) {
            if (!sides[k])
                continue;
            bool version = it->op && it->op->guard && k == 0;
            if (sides[k]->fn)
                walk_call(s, fn, sides[k]->fn, version || fn->guarded, !it->op);
            else
                walk_block(s, fn, sides[k]);
        }
    }
}

bool entry_has_size(const Entry *en, const Var *v)
{
    for (int i = 0; i < en->sizes.n; i++)
        if (en->sizes.at[i] == v)
            return true;
    return false;
}

int entry_size_count(const Entry *en, const Var *n)
{
    int count = 0;
    for (int k = 0; k < en->params.n; k++)
        for (int d = 0; d < en->params.at[k]->type.rank; d++)
            count += en->params.at[k]->type.dims[d].var == n;
    return count;
}

/* The entry sets its parameters and sizes; it compares the sizes that stand in several places. */
static void walk_params(Splitter *s, HostFn *top, const VarSet *used)
{
    const Entry *en = s->ep->entry;
    for (int k = 0; k < en->params.n; k++) {
        const Var *v = en->params.at[k];
        if (v->type.rank == 0 && (varset_has(used, v) || entry_size_count(en, v)))
            sets(s, top, v);
    }
    for (int k = 0; k < en->user_params.n; k++)
        if (varset_has(used, en->user_params.at[k].var))
            sets(s, top, en->user_params.at[k].var);
    for (int k = 0; k < en->params.n; k++) {
        Type t = en->params.at[k]->type;
        for (int d = 0; d < t.rank; d++) {
            const Var *n = t.dims[d].var;
            if (!n)
                continue;
            if (entry_size_count(en, n) > 1 || !entry_has_size(en, n))
                varset_add(top->reads, n);
            sets(s, top, n);
        }
    }
}

static void walk_results(Splitter *s, HostFn *top)
{
    for (int i = 0; i < s->ep->results.n; i++) {
        Atom a = s->ep->results.at[i];
        Type t = atom_type(a);
        if (t.rank == 0 && a.var)
            reads(s, top, a.var);
        for (int d = 0; d < t.rank; d++)
            if (t.dims[d].var)
                reads(s, top, t.dims[d].var);
        if (s->ep->result_locs.at[i].mem)
            mention_mem(s, top, s->ep->result_locs.at[i].mem);
    }
}

static void walk_fn(Splitter *s, HostFn *fn)
{
    walk_block(s, fn, fn->body);
    if (!fn->caller)
        walk_results(s, fn);
    fn->name = fn_name(s, fn);
    vec_push(s->cx->perm, &s->sp->fns, fn);
}

/* --- Public --------------------------------------------------------------------------------- */

Split *emit_split(Ctx *cx, const EntryPlan *ep, const VarSet *used)
{
    Split *sp = NEW(cx->perm, Split);
    *sp = (Split){.uses = varmap_new(cx->perm)};
    Splitter s = {.cx = cx, .ep = ep, .sp = sp, .suffs = varmap_new(cx->perm)};
    CodeBlock *all = block_of(&s, &ep->ops);
    take_apart(&s, all);
    HostFn *top = fn_new(&s, all, FN_ENTRY, NULL);
    walk_params(&s, top, used);
    walk_fn(&s, top);
    for (int i = 0; i < sp->mems.n; i++) { /* the entry has its parameters in any case */
        Use *u = &sp->mem_uses.at[sp->mems.at[i]->id];
        if (sp->mems.at[i]->is_param && u->fn != top)
            *u = (Use){.fn = top, .shared = true};
    }
    return sp;
}

bool split_shares(const Split *sp, const Var *v)
{
    const Use *u = varmap_get(sp->uses, v);
    return u && u->shared;
}

const Use *split_mem(const Split *sp, const Mem *m)
{
    ASSERT(m->id < sp->mem_uses.n && sp->mem_uses.at[m->id].fn);
    return &sp->mem_uses.at[m->id];
}
