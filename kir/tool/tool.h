/* minifut kir FILE.kir [--pass=NAME]... [--opencl]: kernels from their text through passes, for
 * tests and for those who work on passes. Prints the kernels. */
#ifndef KIR_TOOL_TOOL_H
#define KIR_TOOL_TOOL_H

int kir_main(int argc, char **argv);

#endif
