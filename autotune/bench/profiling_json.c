/* minifut profile --json: docs/commands.md names the members. Times are microseconds. */
#include "autotune/bench/profiling.h"

static void json_busy(Out *o, const ProfileRow *r)
{
    Busy b;
    if (busy_of(r, &b))
        out_printf(o, "\"busy\": {\"mean\": %.4f, \"least\": %.4f, \"most\": %.4f}", b.mean,
                   b.least, b.most);
    else
        out_puts(o, "\"busy\": null");
}

/* The numbers of a share, kernel or transfer; a percentage that nothing is known of is null. */
static void numbers(Out *o, const Profiling *all, const Profiled *p, const ProfileRow *r,
                    double least)
{
    double percent = bound_percent(least, r->seconds);
    out_printf(o,
               "\"us\": %.3f, \"share\": %.6f, \"launches\": %.10g, \"bytes\": %.0f, "
               "\"operations\": %.0f, ",
               r->seconds * 1e6, p->whole > 0 ? r->seconds / p->whole : 0, r->launches, r->bytes,
               r->operations);
    if (percent < 0)
        out_puts(o, "\"bound\": null, \"of_bound\": null");
    else
        out_printf(o, "\"bound\": \"%s\", \"of_bound\": %.4f",
                   bound_by_bytes(&all->ceilings, r->bytes, r->operations) ? "bytes" : "operations",
                   percent / 100);
    out_puts(o, ", ");
    json_busy(o, r);
}

static void json_share(Out *o, const Profiling *all, const Profiled *p, const Share *share)
{
    static const char *const kinds[] = {[SHARE_LINE] = "line",
                                        [SHARE_BUILTIN] = "builtin",
                                        [SHARE_TRANSFER] = "transfer",
                                        [SHARE_HOST] = "host"};
    out_printf(o, "{\"kind\": \"%s\", ", kinds[share->kind]);
    if (share->kind == SHARE_LINE) {
        out_member(o, "file", share->file);
        out_printf(o, ", \"line\": %d, ", share->line);
    }
    out_member(o, "text", share->text);
    out_puts(o, ", ");
    numbers(o, all, p, &share->sum, share->least);
    out_puts(o, ", \"constructs\": [");
    for (int i = 0; i < share->kernels.n; i++) {
        out_puts(o, i ? ", {" : "{");
        out_member(o, "construct", share->kernels.at[i].construct);
        out_puts(o, ", ");
        numbers(o, all, p, &share->kernels.at[i].row, share->kernels.at[i].least);
        out_puts(o, "}");
    }
    out_puts(o, "]}");
}

static void json_kernels(Out *o, const Profiled *p)
{
    out_puts(o, ",\n   \"kernels\": [");
    for (int i = 0; i < p->rows.n; i++) {
        const ProfileRow *r = &p->rows.at[i];
        out_puts(o, i ? ",\n    {" : "\n    {");
        out_member(o, "name", r->name);
        out_puts(o, ", ");
        out_member(o, "place", r->place);
        out_printf(o,
                   ", \"us\": %.3f, \"launches\": %.10g, \"bytes\": %.0f, \"operations\": %.0f, ",
                   r->seconds * 1e6, r->launches, r->bytes, r->operations);
        json_busy(o, r);
        out_puts(o, "}");
    }
    out_puts(o, "]");
}

static void json_dataset(Out *o, const Profiling *all, int d)
{
    const Profiled *p = &all->of[d];
    out_puts(o, "{");
    out_member(o, "name", all->datasets->at[d].name);
    out_puts(o, ", ");
    out_member(o, "error", p->failed);
    if (p->failed) {
        out_puts(o, "}");
        return;
    }
    out_puts(o, ", ");
    out_member(o, "versions", p->versions);
    out_printf(
        o,
        ",\n   \"run_us\": %.3f, \"profiled_us\": %.3f, \"whole_us\": %.3f, \"kernels_us\": %.3f, "
        "\"transfers_us\": %.3f, \"host_us\": %.3f, \"peak_bytes\": %.0f,\n"
        "   \"inputs\": {\"bytes\": %.0f, \"us\": %.3f}, \"results\": {\"bytes\": %.0f, \"us\": "
        "%.3f},\n"
        "   \"shares\": [",
        p->run * 1e6, p->profiled * 1e6, p->whole * 1e6, p->kernels * 1e6, p->transfers * 1e6,
        p->host * 1e6, p->peak, p->inputs.bytes, p->inputs.seconds * 1e6, p->results.bytes,
        p->results.seconds * 1e6);
    for (int i = 0; i < p->shares.n; i++) {
        out_puts(o, i ? ",\n    " : "\n    ");
        json_share(o, all, p, &p->shares.at[i]);
    }
    out_puts(o, "]");
    json_kernels(o, p);
    out_puts(o, "}");
}

void profiling_json(Out *o, const Profiling *all)
{
    out_puts(o, "{\"format\": \"minifut profile\", \"version\": 1,\n ");
    out_member(o, "program", all->source);
    out_puts(o, ", ");
    out_member(o, "entry", all->entry);
    out_puts(o, ", ");
    out_member(o, "device", all->device);
    out_puts(o, ", ");
    out_member(o, "tuning", all->tuning);
    out_printf(o,
               ", \"runs\": %d, \"ceilings\": {\"gbs\": %g, \"gflops\": %g}, \"steady_ceilings\": "
               "%s,\n \"datasets\": [",
               all->runs, all->ceilings.bytes * 1e-9, all->ceilings.operations * 1e-9,
               all->ceilings.unsteady ? "false" : "true");
    for (int d = 0; d < all->datasets->n; d++) {
        out_puts(o, d ? ",\n  " : "\n  ");
        json_dataset(o, all, d);
    }
    out_puts(o, "]}\n");
}
