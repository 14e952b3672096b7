/* The page of what the language provides: the rows of builtins.def, the definitions of prelude.sf,
 * and the members of scalars' modules by the types of modules in prelude_modules.sf. Sections are
 * those of the first two, joined by their titles. */
#include "docgen/docgen.h"

#include "base/intern.h"

#include <string.h>

static const char title[] = "The library";
static const char about[] = "What every program has without an import, each with its type, what it "
                            "does, and an expression with what it gives.\n"
                            "This page is made from the compiler's own tables (`minifut doc "
                            "--prelude`); its examples are run by the tests.\n"
                            "\n"
                            "In types, `num` stands for any one type of numbers, `int` for one of "
                            "integers, `bits` for these or `bool`, `prim` for\n"
                            "any scalar type, `eq` for what can be compared: no functions. `*` is "
                            "said of [what is consumed, and of fresh\n"
                            "results](language.md#in-place-updates-and-consumption), `?[k].` of a "
                            "size that the function makes up.\n"
                            "[language.md](language.md#what-is-provided) has an overview.";
static const char about_numbers[] =
    "The scalar types are modules, too: `f32.sqrt`, `i64.max`. Their members stand here by the "
    "types of modules that have them; `t`\n"
    "is the scalar type. All have `t`, the conversions `T.i8` ... `T.f64` and `T.bool`, and the "
    "operators above (`f32.+`).";

#define TYPE(TAG, T, text, ...) "`" text "`, "

/* The types of modules, for which modules they are (behind the last one a comma, too), what else
 * they have, and with which of them the examples are. */
static const struct {
    const char *type, *modules, *more, *like;
} kinds[] = {
    {"numeric", RT_NUMBERS(TYPE, ), "", "i32"},
    {"integral", RT_INTS(TYPE, ), "; all of `numeric`, and", "i32"},
    {"real", RT_FLOATS(TYPE, ), "; all of `numeric`, and", "f32"},
    {"float", RT_FLOATS(TYPE, ),
     "; all of `real`, `num_bits`, `get_bit` and `set_bit` as above, and", "f32"},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

typedef struct {
    Arena *a;
    Ast *ast;
    Page *page;
    Section *section; /* that gets more rows */
    const char *module;
    Names said; /* members that are in a table */
    BuiltinId last;
} Library;

/* --- Names that stand alone ------------------------------------------------------------------ */

static void add_builtin(void *env, const char *name)
{
    Library *l = env;
    const Binding *b = fe_builtin(l->ast, name);
    Section *s = page_section(l->a, l->page, fe_builtin_section(name));
    Item *item = NEW(l->a, Item);
    Out head = {0};
    s->table = !s->items.n ? !strcmp(s->title, "Operators") : s->table;
    if (!s->table) {
        out_printf(&head, "val %s", item_operand(l->a, name));
        fe_print_tparams(&head, &b->tparams);
        out_puts(&head, " : ");
    }
    out_puts(&head, type_str(l->a, b->type));
    *item = (Item){.name = s->table ? name : item_name(name),
                   .head = out_keep(&head, l->a),
                   .doc = fe_builtin_doc(name),
                   .with_last = s->items.n && b->builtin == l->last};
    l->last = b->builtin;
    vec_push(l->a, &s->items, item);
}

/* --- Members of modules ----------------------------------------------------------------------- */

static bool is_said(const Library *l, const char *name)
{
    PrimType s;
    bool told = prim_named(name, &s) || !strncmp(name, "to_i64", 6) || !strncmp(name, "to_f64", 6);
    for (int i = 0; i < l->said.n && !told; i++)
        told = l->said.at[i] == name;
    return told || item_operand(l->a, name)[0] == '(';
}

static void add_row(Library *l, const char *name, const char *type)
{
    Item *item = NEW(l->a, Item);
    *item = (Item){.name = name,
                   .head = type,
                   .doc = fe_builtin_doc(arena_printf(l->a, "%s.%s", l->module, name))};
    if (is_said(l, name))
        return;
    vec_push(l->a, &l->said, name);
    vec_push(l->a, &l->section->items, item);
}

/* A member that no type of modules has. */
static void add_other(void *env, const char *name)
{
    Library *l = env;
    if (is_said(l, intern(name)))
        return;
    const Binding *b = fe_builtin(l->ast, arena_printf(l->a, "%s.%s", l->module, name));
    add_row(l, intern(name), type_str(l->a, b->type));
}

static const ModType *modtype_named(const Ast *ast, const char *name)
{
    for (int i = 0; i < ast->prelude->decls.n; i++)
        if (ast->prelude->decls.at[i].modtype && !strcmp(ast->prelude->decls.at[i].name, name))
            return ast->prelude->decls.at[i].modtype;
    ice(NO_LOC, "no module type `%s` in the prelude", name);
}

static void add_numbers(Library *l)
{
    page_section(l->a, l->page, "Numeric modules")->doc = about_numbers;
    Section conversions = {.title = "Conversions", .table = true, .below = true};
    vec_push(l->a, &l->page->sections, conversions);
    l->section = &vec_last(&l->page->sections);
    Item *item = NEW(l->a, Item);
    *item = (Item){.name = "T.U", .head = "U -> T", .doc = fe_builtin_doc("f32.i32")};
    vec_push(l->a, &l->section->items, item);
    for (int k = 0; k < N_KINDS; k++) {
        int n = (int)strlen(kinds[k].modules) - 2;
        Section s = {.title = arena_printf(l->a, "`%s`", kinds[k].type),
                     .doc = arena_printf(l->a, "Of %.*s%s:", n, kinds[k].modules, kinds[k].more),
                     .table = true,
                     .below = true};
        vec_push(l->a, &l->page->sections, s);
        l->section = &vec_last(&l->page->sections);
        l->module = kinds[k].like;
        const Specs *specs = &modtype_named(l->ast, kinds[k].type)->specs;
        for (int i = 0; i < specs->n; i++) {
            Out type = {0};
            if (specs->at[i]->kind != SPEC_VAL)
                continue;
            fe_print_type_exp(&type, specs->at[i]->te);
            add_row(l, specs->at[i]->name, out_keep(&type, l->a));
        }
    }
    Section s = {.title = "Others",
                 .doc = "Of types of floats, but of no type of modules:",
                 .table = true,
                 .below = true};
    vec_push(l->a, &l->page->sections, s);
    l->section = &vec_last(&l->page->sections);
    fe_builtins(l->module, add_other, l);
}

Page page_of_library(Arena *a)
{
    Page p = {.title = title, .doc = about};
    Ast *ast = fe_parse(a, "library", "", 0);
    NameUses uses = {0};
    ast->uses = &uses; /* so that the types of modules are there */
    if (!fe_check(ast))
        ice(NO_LOC, "an empty program does not check");
    Library l = {.a = a, .ast = ast, .page = &p, .last = N_BUILTINS};
    fe_builtins(NULL, add_builtin, &l);
    page_add_decls(a, &p, ast->prelude);
    add_numbers(&l);
    return p;
}
