/* The tools around a compiled program: minifut tune, bench, profile, dataset, devices. Each takes
 * the arguments after its name and returns the exit code. They are clients of the running program
 * (its server protocol), so nothing here knows about the compiler's passes, and OpenCL only
 * devices. */
#ifndef AUTOTUNE_AUTOTUNE_H
#define AUTOTUNE_AUTOTUNE_H

int tune_main(int argc, char **argv);    /* tune.c */
int bench_main(int argc, char **argv);   /* bench.c */
int profile_main(int argc, char **argv); /* profiling.c */
int dataset_main(int argc, char **argv); /* dataset.c */
int devices_main(int argc, char **argv); /* devices.c */

#endif
