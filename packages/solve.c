#include "packages/solve.h"

#include <stdlib.h>
#include <string.h>

static Package *find(const Packages *ps, const char *path)
{
    for (int i = 0; i < ps->n; i++)
        if (!strcmp(ps->at[i].path, path))
            return &ps->at[i];
    return NULL;
}

/* What is required, as it is there; false after a message. */
static bool look_up(Origin *o, const Require *q, Package *p)
{
    *p = (Package){.path = q->path, .version = q->version, .loc = q->loc};
    p->repo = repo_open(o, q->path, q->loc);
    p->commit = p->repo ? repo_commit(o, p->repo, q->path, q->version, q->loc) : NULL;
    if (!p->commit)
        return false;
    const char *version = semver_text(o->a, q->version);
    /* The copy of the repository may be older than the requirement. */
    bool differs = q->hash && strcmp(q->hash, p->commit) != 0;
    if (differs && !p->repo->fresh) {
        if (!repo_refresh(o, p->repo, q->loc))
            return false;
        p->commit = repo_commit(o, p->repo, q->path, q->version, q->loc);
        differs = !p->commit || strcmp(q->hash, p->commit) != 0;
    }
    if (differs && p->commit) {
        diag_error(q->loc, "%s %s is not what it was: its commit should be %s, and is %s", q->path,
                   version, q->hash, p->commit);
        diag_note(q->loc,
                  "somebody has moved its tag; if that is to be, `minifut pkg add %s %s` "
                  "takes what is there now",
                  q->path, version);
        return false;
    }
    return p->commit &&
           repo_manifest(o, p->repo, q->path, version, p->commit, &p->manifest, q->loc);
}

/* The requirements that count, by their paths: what is chosen does not depend on their order. */
static int by_path(const void *x, const void *y)
{
    return strcmp((*(Require *const *)x)->path, (*(Require *const *)y)->path);
}

static Require **in_order(Arena *a, const Manifest *m, int *n)
{
    Require **qs = NEWN(a, Require *, m->lines.n + 1);
    *n = 0;
    for (int i = 0; i < m->lines.n; i++) {
        Require *q = &m->lines.at[i];
        if (q->path && manifest_find(m, q->path) == q)
            qs[(*n)++] = q;
    }
    qsort(qs, (size_t)*n, sizeof *qs, by_path);
    return qs;
}

/* Adds what the manifest requires, and what that requires, where it is newer than what was chosen
 * before; but not the project itself (NULL: it is no package), which is there. All that is wrong is
 * said. */
static bool add(Origin *o, const Manifest *m, const char *own, Packages *to)
{
    int n;
    bool ok = true;
    Require **qs = in_order(o->a, m, &n);
    for (int i = 0; i < n; i++) {
        Package *known = find(to, qs[i]->path), p;
        if ((own && !strcmp(qs[i]->path, own)) ||
            (known && semver_compare(qs[i]->version, known->version) <= 0))
            continue;
        if (!look_up(o, qs[i], &p)) {
            ok = false;
            continue;
        }
        if (known)
            *known = p;
        else
            vec_push(o->a, to, p);
        ok &= add(o, &p.manifest, own, to);
    }
    return ok;
}

/* An older version may have required what the chosen one does not. */
static void reach(Arena *a, const Manifest *m, Packages *all)
{
    for (int i = 0; i < m->lines.n; i++) {
        Package *p = m->lines.at[i].path ? find(all, m->lines.at[i].path) : NULL;
        if (!p || p->reached)
            continue;
        p->reached = true;
        reach(a, &p->manifest, all);
    }
}

static int by_package(const void *x, const void *y)
{
    return strcmp(((const Package *)x)->path, ((const Package *)y)->path);
}

bool solve(Origin *o, const Manifest *m, Packages *to)
{
    Packages all = {0};
    for (int i = 0; m->package && i < m->lines.n; i++)
        if (m->lines.at[i].path && !strcmp(m->lines.at[i].path, m->package)) {
            diag_error(m->lines.at[i].loc, "the package requires itself");
            return false;
        }
    if (!add(o, m, m->package, &all))
        return false;
    reach(o->a, m, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i].reached)
            vec_push(o->a, to, all.at[i]);
    if (to->n)
        qsort(to->at, (size_t)to->n, sizeof *to->at, by_package);
    return true;
}
