/* Arguments of which each rank has its rows. Rank 0 reads the text or binary form; of a file that
 * all ranks see each reads its rows, else they come from rank 0: a piece after the other, so that
 * of binary data nobody needs memory for all of it. */
#include "runtime/values/boundary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where elements come from. */
typedef struct {
    rt_ctx *ctx;
    rt_reader *r;
    const rt_hvalue *h; /* with data at rank 0 if it was a text */
    rt_mem *mem;        /* of this rank's rows */
    const int64_t *at;  /* where ranks' rows begin, in bytes */
    char *piece;
    int fd;         /* of a file that all ranks see; -1: there is none */
    int64_t offset; /* of its elements there */
} rt_source;

/* Rank 0's next piece; what could not be read is sent all the same, since others wait for it. */
static const void *rt_next_piece(rt_source *s, int64_t from, int64_t bytes, int *rc)
{
    if (s->h->data)
        return (const char *)s->h->data + from;
    if (*rc == RT_OK && !rt_read_elements(s->r, s->h, bytes / rt_prim_size(s->h->prim), s->piece))
        *rc = rt_error_set(s->ctx, "%s", s->r->error);
    return s->piece;
}

/* A piece of rank to's rows, from rank 0. */
static int rt_piece_comes(rt_source *s, int to, int64_t from, int64_t bytes, int rc)
{
    const rt_config *c = &s->ctx->config;
    const void *data = s->piece;
    if (c->at.rank == 0)
        data = rt_next_piece(s, from, bytes, &rc);
    if (to > 0 && (c->at.rank == 0 || c->at.rank == to))
        c->comm->give(c->group, 0, to, (void *)(uintptr_t)data, bytes);
    if (c->at.rank == to && rc == RT_OK)
        rc = rt_write(s->ctx, s->mem, from - s->at[to], bytes, data);
    return rc;
}

/* A piece of this rank's rows, from the file. */
static int rt_piece_read(rt_source *s, int64_t from, int64_t bytes)
{
    for (int64_t n = 0; n < bytes;) {
        ssize_t got =
            pread(s->fd, s->piece + n, (size_t)(bytes - n), (off_t)(s->offset + from + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rt_error_set(s->ctx, "cannot read an argument: %s",
                                got < 0 ? strerror(errno) : "the file has become shorter");
        n += got;
    }
    rt_mend_elements(s->h->prim, (unsigned char *)s->piece, (size_t)bytes);
    return rt_write(s->ctx, s->mem, from - s->at[s->ctx->config.at.rank], bytes, s->piece);
}

static int rt_pieces(rt_source *s)
{
    const rt_place *p = &s->ctx->config.at;
    int64_t size = rt_prim_size(s->h->prim), most = RT_MOVED / size * size;
    int rc = RT_OK;
    for (int r = 0; r < p->ranks; r++)
        for (int64_t from = s->at[r]; from < s->at[r + 1]; from += most) {
            int64_t left = s->at[r + 1] - from, bytes = left < most ? left : most;
            if (s->fd < 0)
                rc = rt_piece_comes(s, r, from, bytes, rc);
            else if (p->rank == r && rc == RT_OK)
                rc = rt_piece_read(s, from, bytes);
        }
    if (s->fd >= 0 && p->rank == 0 && !rt_reader_leap(s->r, s->at[p->ranks]))
        rc = rt_error_set(s->ctx, "%s: %s", s->r->name, strerror(errno));
    return rc;
}

/* The file, if all ranks see it as rank 0 does, and all elements are in it; else -1. */
static int rt_open_beside(rt_source *s, const char *path)
{
    const rt_config *c = &s->ctx->config;
    struct {
        int64_t offset, size, changed;
    } file = {0, -1, 0};
    struct stat st;
    const char *wrong;
    if (!path)
        return -1;
    if (c->at.rank == 0 && !s->h->data)
        file.size = rt_reader_file_size(s->r);
    if (c->at.rank == 0 && file.size >= 0) {
        file.offset = s->r->offset;
        file.changed = stat(path, &st) == 0 ? (int64_t)st.st_mtime : -1;
    }
    if (file.offset > file.size - s->at[c->at.ranks])
        file.size = -1;
    c->comm->tell(c->group, &file, sizeof file);
    if (file.size < 0)
        return -1;
    FILE *f = rt_file_open(path, false, &wrong);
    int fd = f ? dup(fileno(f)) : -1;
    if (f)
        fclose(f);
    bool same = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == file.size &&
                (int64_t)st.st_mtime == file.changed;
    s->offset = file.offset;
    if (rt_all_have(c, same))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

RT_API int rt_arrive(rt_ctx *ctx, rt_reader *r, const char *path, rt_prim prim, int rank,
                     rt_hvalue *h, rt_value *v)
{
    const rt_config *c = &ctx->config;
    memset(v, 0, sizeof *v);
    bool ok = c->at.rank == 0 && rt_read_begin(r, prim, rank, h);
    if (c->at.rank == 0 && !ok)
        rt_error_set(ctx, "%s", r->error);
    if (!rt_tell_shape(c, ok, h))
        return RT_ERR;
    v->prim = h->prim;
    v->rank = h->rank;
    memcpy(v->shape, h->shape, sizeof v->shape);
    rt_source s = {.ctx = ctx, .r = r, .h = h, .piece = rt_host_memory(ctx, RT_MOVED)};
    int64_t *at = rt_rows_of_ranks(c, v->shape[0], rt_row_bytes(v));
    s.at = at;
    int rc = !s.piece || rt_alloc(ctx, &v->mem, at[c->at.rank + 1] - at[c->at.rank], "argument");
    if (rt_agree(ctx, rc, RT_AT_ROWS) == RT_OK) {
        rt_parted(v->mem, v->shape[0], true);
        s.mem = v->mem;
        s.fd = rt_open_beside(&s, path);
        rc = rt_agree(ctx, rt_pieces(&s), RT_AT_ROWS);
        if (s.fd >= 0)
            close(s.fd);
    } else {
        rc = RT_ERR;
    }
    if (rc)
        rt_unref(ctx, &v->mem);
    rt_hvalue_free(h);
    free(at);
    return rc;
}
