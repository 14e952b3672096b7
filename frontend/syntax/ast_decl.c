/* Constructors of declarations and modules, called by the grammar. */
#include "frontend/syntax/parse.h"

/* --- Declarations --------------------------------------------------------------------------- */

Def *mk_def(ParseCtx *c, NameLoc n, TParams tps, Pats ps, TypeExp *ret, AExp *body, Loc span)
{
    Def *d = NEW(c->a, Def);
    *d = (Def){.name = n.name,
               .loc = n.loc,
               .span = span,
               .tparams = tps,
               .params = ps,
               .ret = ret,
               .body = body};
    return d;
}

const char *doc_above(const ParseCtx *c, Loc loc)
{
    for (int i = c->docs.n - 1; i >= 0 && c->docs.at[i].beg >= c->docs_from; i--)
        if (c->docs.at[i].end <= loc.beg)
            return scan_doc_text(c, c->docs.at[i]);
    return NULL;
}

static Decl *mk_decl(ParseCtx *c, DeclKind k, Loc loc)
{
    Decl *d = NEW(c->a, Decl);
    *d = (Decl){.kind = k, .loc = loc};
    c->docs_from = loc.end;
    return d;
}

Decl *mk_decl_end(ParseCtx *c, Decl *d, Loc loc)
{
    (void)c;
    d->loc = loc;
    return d;
}

Decl *mk_def_decl(ParseCtx *c, Def *def)
{
    def->doc = doc_above(c, def->span);
    Decl *d = mk_decl(c, D_DEF, def->span);
    d->def = def;
    return d;
}

Decl *mk_type_decl(ParseCtx *c, NameLoc n, TParamKind lifted, TParams tps, TypeExp *te, Loc loc)
{
    TypeDecl *t = NEW(c->a, TypeDecl);
    *t = (TypeDecl){.name = n.name, .loc = n.loc, .lifted = lifted, .tparams = tps, .te = te};
    t->doc = doc_above(c, loc);
    Decl *d = mk_decl(c, D_TYPE, loc);
    d->type = t;
    return d;
}

Decl *mk_module_decl(ParseCtx *c, ModHead head, ModParams ps, ModType *ret, ModExp *m, Loc loc)
{
    Decl *d = mk_decl(c, D_MODULE, loc);
    d->name = head.name.name;
    d->name_loc = head.name.loc;
    d->doc = head.doc;
    d->mod = ret ? mk_mascribe(c, m, ret, m->loc) : m;
    for (int i = ps.n - 1; i >= 0; i--)
        d->mod = mk_mlambda(c, ps.at[i], NULL, d->mod, loc);
    return d;
}

Decl *mk_modtype_decl(ParseCtx *c, ModHead head, ModType *t, Loc loc)
{
    Decl *d = mk_decl(c, D_MODTYPE, loc);
    d->name = head.name.name;
    d->name_loc = head.name.loc;
    d->doc = head.doc;
    d->modtype = t;
    return d;
}

Decl *mk_import_decl(ParseCtx *c, Import *import, bool open, Loc loc)
{
    Decl *d = mk_decl(c, D_IMPORT, loc);
    d->import = import;
    d->open = open;
    return d;
}

Decl *mk_open_decl(ParseCtx *c, ModExp *m, Loc loc)
{
    if (m->kind == ME_IMPORT)
        return mk_import_decl(c, m->import, true, loc);
    Decl *d = mk_decl(c, D_OPEN, loc);
    d->mod = m;
    return d;
}

/* --- Modules -------------------------------------------------------------------------------- */

ModExp *mk_mod(ParseCtx *c, ModExpKind k, Loc loc)
{
    ModExp *m = NEW(c->a, ModExp);
    m->kind = k;
    m->loc = loc;
    m->depth = 1;
    return m;
}

ModExp *mk_mascribe(ParseCtx *c, ModExp *e, ModType *t, Loc loc)
{
    ModExp *m = mk_mod(c, ME_ASCRIBE, loc);
    m->e = e;
    m->type = t;
    DEEPEN(c, m, e);
    DEEPEN(c, m, t);
    return m;
}

ModExp *mk_mlambda(ParseCtx *c, ModParam p, ModType *ret, ModExp *body, Loc loc)
{
    ModExp *m = mk_mod(c, ME_LAMBDA, loc);
    m->param = p;
    m->e = ret ? mk_mascribe(c, body, ret, body->loc) : body;
    DEEPEN(c, m, p.type);
    DEEPEN(c, m, m->e);
    return m;
}

ModExp *mk_mapply(ParseCtx *c, ModExp *fn, ModExp *arg, Loc loc)
{
    ModExp *m = mk_mod(c, ME_APPLY, loc);
    m->e = fn;
    m->arg = arg;
    DEEPEN(c, m, fn);
    DEEPEN(c, m, arg);
    return m;
}

void mk_members(ParseCtx *c, ModExp *m, Decls members)
{
    m->decls = members;
    for (int i = 0; i < members.n; i++) {
        const Decl *d = &members.at[i];
        if (d->def)
            DEEPEN(c, m, d->def->body);
        DEEPEN(c, m, d->mod);
        DEEPEN(c, m, d->modtype);
    }
}

ModType *mk_modtype(ParseCtx *c, ModTypeKind k, Loc loc)
{
    ModType *t = NEW(c->a, ModType);
    t->kind = k;
    t->loc = loc;
    t->depth = 1;
    return t;
}

ModType *mk_mfun(ParseCtx *c, ModParam p, ModType *result, Loc loc)
{
    ModType *t = mk_modtype(c, MT_FUN, loc);
    t->param = p;
    t->e = result;
    DEEPEN(c, t, p.type);
    DEEPEN(c, t, result);
    return t;
}

ModType *mk_mwith(ParseCtx *c, ModType *of, NameLoc n, TParams tps, TypeExp *te, Loc loc)
{
    ModType *t = mk_modtype(c, MT_WITH, loc);
    t->e = of;
    t->name = n.name;
    t->name_loc = n.loc;
    t->tparams = tps;
    t->te = te;
    DEEPEN(c, t, of);
    DEEPEN(c, t, te);
    return t;
}

void mk_specs(ParseCtx *c, ModType *t, Specs specs)
{
    t->specs = specs;
    for (int i = 0; i < specs.n; i++) {
        DEEPEN(c, t, specs.at[i]->te);
        DEEPEN(c, t, specs.at[i]->mtype);
    }
}

Spec *mk_spec(ParseCtx *c, SpecKind k, NameLoc n, Loc loc)
{
    Spec *s = NEW(c->a, Spec);
    *s = (Spec){.kind = k, .name = n.name, .loc = n.loc};
    s->doc = doc_above(c, loc);
    c->docs_from = loc.end;
    return s;
}
