" Writes the syntax group of each place: one program a block of $PLACES, `= FILE`, then `LINE COLUMN`.
set nocompatible
let &runtimepath = $MODE . ',' . &runtimepath
filetype plugin on
syntax on
let s:out = []
for s:line in readfile($PLACES)
  if s:line =~# '^= '
    silent execute 'edit!' fnameescape(s:line[2:])
    call add(s:out, '= ' . &filetype)
  else
    let [s:l, s:c] = split(s:line)
    call add(s:out, synIDattr(synID(s:l, s:c, 1), 'name'))
  endif
endfor
call writefile(s:out, $RESULT)
qall!
