autocmd BufNewFile,BufRead *.sf set filetype=sf
