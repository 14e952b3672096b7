" `:make` on $PROGRAM, and what `gq` makes of it.
set nocompatible
let &runtimepath = $MODE . ',' . &runtimepath
filetype plugin on
execute 'edit' fnameescape($PROGRAM)
silent! make!
let s:out = map(filter(getqflist(), 'v:val.valid'), 'v:val.lnum . ":" . v:val.col . ":" . v:val.type . ":" . v:val.text')
silent normal! gggqG
call writefile(s:out + getline(1, '$'), $RESULT)
qall!
