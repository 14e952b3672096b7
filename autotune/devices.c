/* minifut devices: what programs can run on here. */
#include "autotune/autotune.h"
#include "base/diag.h"
#include "command/args.h"
#include "runtime/drivers/dev.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_device(const rt_dev_info *d, bool taken)
{
    printf("%s %s\n", taken ? "*" : " ", d->name);
    printf("    platform        %s\n", d->platform_name);
    printf("    type            %s\n", rt_rank_kind(d->rank));
    printf("    version         %s, driver %s\n", d->version, d->driver);
    printf("    compute units   %" PRId64 "\n", d->units);
    printf("    work-group      up to %" PRId64 " work-items\n", d->max_group);
    printf("    local memory    %" PRId64 " KiB\n", d->local_memory / 1024);
    printf("    global memory   %.1f GiB\n", (double)d->memory / (1 << 30));
    printf("    f64             %s\n", d->has_f64 ? "yes" : "no");
}

/* False: there are none. */
static bool print_devices(void)
{
    int n, best = 0;
    rt_dev_info *all = rt_dev_find(true, true, &n);
    for (int i = 1; i < n; i++)
        if (rt_rank_better(all[i].rank, all[best].rank))
            best = i;
    for (int i = 0; i < n; i++)
        print_device(&all[i], i == best);
    free(all);
    return n > 0;
}

static int take_word(void *env, const char *word)
{
    return args_wrong(env, "takes no arguments, got '%s'", word);
}

int devices_main(int argc, char **argv)
{
    static const ArgRow rows[] = {{0}};
    Args args = {"minifut devices",
                 "usage: minifut devices\n\n"
                 "Lists OpenCL's platforms and devices, and the processor without OpenCL (native); "
                 "the one that\n"
                 "programs take without -d has a star.\n",
                 rows,
                 0,
                 &args,
                 NULL,
                 take_word,
                 NULL,
                 NULL};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    if (!print_devices()) {
        fprintf(stderr, "minifut devices: there are none of those that MINIFUT_DRIVER asks for\n");
        return EXIT_USER;
    }
    printf("\n* is the device that a program takes without -d.\n");
    return 0;
}
