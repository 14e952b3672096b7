/* Values that leave the program: to rank 0, which writes them; of an array in parts (parted.c) a
 * piece after the other, so that nobody needs memory for all of it. Where they go to a file that
 * all ranks see, each writes its own rows. */
#include "runtime/values/boundary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void rt_sink_take(rt_sink *s, const rt_hvalue *v, int64_t from, int64_t n, const void *elems)
{
    if (!s->wrong && !s->how(s->f, v, from, n, elems))
        s->wrong = errno ? errno : EIO;
}

/* The rows of rank r, to rank 0: each piece, and a byte that says whether it is one. */
static int rt_rows_leave(rt_ctx *ctx, int r, const int64_t *at, rt_mem *mem, const rt_hvalue *v,
                         rt_sink *sink, char *piece, int rc)
{
    const rt_config *c = &ctx->config;
    int64_t size = rt_prim_size(v->prim), most = RT_MOVED / size * size;
    bool broken = rc != RT_OK; /* who could not read a piece says why, when all agree */
    for (int64_t from = at[r]; from < at[r + 1]; from += most) {
        int64_t left = at[r + 1] - from, bytes = left < most ? left : most;
        if (c->at.rank == r) {
            if (rc == RT_OK)
                rc = rt_read(ctx, mem, from - at[r], bytes, piece);
            piece[bytes] = rc == RT_OK;
        }
        if (r > 0 && (c->at.rank == 0 || c->at.rank == r))
            c->comm->give(c->group, r, 0, piece, bytes + 1);
        if (c->at.rank > 0)
            continue;
        broken = broken || !piece[bytes];
        if (!broken)
            rt_sink_take(sink, v, from / size, bytes / size, piece);
    }
    return rc;
}

/* The file behind what was written so far, if all ranks see it; else -1. *begin: where that ends.
 */
static int rt_open_behind(const rt_config *c, const rt_sink *sink, int64_t *begin)
{
    struct stat st;
    int64_t file[2] = {-1, 0}; /* its size, its number */
    if (!sink->path || sink->how != rt_binary_elements)
        return -1;
    if (c->at.rank == 0 && !sink->wrong && fflush(sink->f) == 0 &&
        fstat(fileno(sink->f), &st) == 0 && S_ISREG(st.st_mode)) {
        file[0] = st.st_size;
        file[1] = (int64_t)st.st_ino;
    }
    c->comm->tell(c->group, file, sizeof file);
    if (file[0] < 0)
        return -1;
    int fd = open(sink->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    bool same = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == file[0] &&
                (int64_t)st.st_ino == file[1];
    *begin = file[0];
    if (rt_all_have(c, same))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* errno of what failed, or 0. */
static int rt_piece_written(int fd, int64_t at, const char *piece, int64_t bytes)
{
    for (int64_t n = 0; n < bytes;) {
        ssize_t put = pwrite(fd, piece + n, (size_t)(bytes - n), (off_t)(at + n));
        if (put <= 0 && errno != EINTR)
            return errno ? errno : EIO;
        n += put > 0 ? put : 0;
    }
    return 0;
}

/* The rows of this rank, to the file, of which the array begins at byte `begin`. */
static int rt_rows_written(rt_ctx *ctx, int fd, int64_t begin, const int64_t *at, rt_mem *mem,
                           char *piece)
{
    int64_t from = at[ctx->config.at.rank], end = at[ctx->config.at.rank + 1], off = 0;
    for (; off < end - from; off += RT_MOVED) {
        int64_t left = end - from - off, bytes = left < RT_MOVED ? left : RT_MOVED;
        if (rt_read(ctx, mem, off, bytes, piece))
            return RT_ERR;
        int wrong = rt_piece_written(fd, begin + from + off, piece, bytes);
        if (wrong)
            return rt_error_set(ctx, "cannot write its rows: %s", strerror(wrong));
    }
    return RT_OK;
}

static int rt_parts_leave(rt_ctx *ctx, const rt_value *v, const rt_hvalue *shape, rt_sink *sink,
                          int rc)
{
    const rt_config *c = &ctx->config;
    char *piece = rt_host_memory(ctx, RT_MOVED + 1);
    if (rt_agree(ctx, rc || !piece || rt_ask_waited(ctx), RT_AT_ROWS))
        return RT_ERR;
    int64_t *at = rt_rows_of_ranks(c, v->shape[0], rt_row_bytes(v));
    rc = RT_OK;
    int64_t begin = 0;
    int fd = at[c->at.ranks] > 0 ? rt_open_behind(c, sink, &begin) : -1;
    if (c->at.rank == 0 && (fd >= 0 || at[c->at.ranks] == 0))
        rt_sink_take(sink, shape, 0, 0, NULL); /* what it begins with, or all that it is */
    if (fd >= 0) {
        begin += RT_HEAD + (int64_t)sizeof *shape->shape * shape->rank;
        rc = rt_rows_written(ctx, fd, begin, at, v->mem, piece);
        close(fd);
        if (c->at.rank == 0 && fseeko(sink->f, begin + at[c->at.ranks], SEEK_SET) != 0)
            sink->wrong = errno;
    }
    for (int r = 0; r < c->at.ranks && fd < 0; r++)
        rc = rt_rows_leave(ctx, r, at, v->mem, shape, sink, piece, rc);
    free(at);
    return rt_agree(ctx, rc, RT_AT_ROWS);
}

RT_API int rt_leave(rt_ctx *ctx, int rc, const rt_value *v, rt_sink *sink)
{
    rt_hvalue h = {.prim = v->prim, .rank = v->rank};
    memcpy(h.shape, v->shape, sizeof h.shape);
    if (v->rank > 0 && v->mem->rows > 0)
        return rt_parts_leave(ctx, v, &h, sink, rc);
    if (rc != RT_OK || ctx->config.at.rank > 0)
        return rc;
    if (rt_download(ctx, v, &h))
        return RT_ERR;
    rt_sink_take(sink, &h, 0, rt_hvalue_count(&h), h.data);
    rt_hvalue_free(&h);
    return RT_OK;
}
