/* minifut lsp: a language server for .sf programs. */
#ifndef LSP_LSP_H
#define LSP_LSP_H

int lsp_main(int argc, char **argv);

#endif
