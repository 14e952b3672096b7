" Vim settings for minifut's programs (*.sf): comments, `:make` checks the program, `gq` formats definitions.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
let s:cpo = &cpo
set cpo&vim

setlocal comments=:-- commentstring=--\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal iskeyword=@,48-57,_,39
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.sf,.fut include=^\\s*\\(open\\s\\+\\)\\?import
setlocal define=^\\s*\\(def\\\|entry\\\|let\\\|type\\\|module\\\|val\\)
setlocal makeprg=minifut\ check\ %:S
setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#
setlocal formatprg=minifut\ fmt

let b:undo_ftplugin = 'setlocal comments< commentstring< formatoptions< iskeyword< expandtab< shiftwidth<'
      \ . ' softtabstop< suffixesadd< include< define< makeprg< errorformat< formatprg<'
let &cpo = s:cpo
unlet s:cpo
