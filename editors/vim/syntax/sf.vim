" Vim syntax of minifut's programs (*.sf). Lists of words are checked by tests/editors/run.py.
if exists('b:current_syntax')
  finish
endif
let s:cpo = &cpo
set cpo&vim

syn case match
syn iskeyword @,48-57,_,39
syn sync fromstart

" Of matches that begin at one place the last one counts; keywords come before all.
syn match sfName "\h[[:alnum:]_']*"
syn match sfOperator "[-+*/%=!><|&^][-+*/%=!><|&^.]*"
syn match sfOperator "\.\.\.\|\.\.[<>]\?\|\\\|:>"
syn match sfField "\.\@1<!\.\(\d\+\|\h[[:alnum:]_']*\)"
syn match sfTypeParam "'[~^]\?\h[[:alnum:]_']*"
syn match sfHole "???"
syn match sfConstructor "#\h[[:alnum:]_']*"

syn keyword sfKeyword def entry type import let if then else in loop for while do with assert local
syn keyword sfKeyword open module include val match case
syn keyword sfType bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64
syn keyword sfBoolean true false
syn keyword sfBuiltin map map1 map2 map3 map4 map5 reduce reduce_comm scan exscan redomap scanomap
syn keyword sfBuiltin filter partition scatter scatter_2d scatter_3d reduce_by_index reduce_by_index_2d
syn keyword sfBuiltin reduce_by_index_3d scatter_stream reduce_by_index_stream write
syn keyword sfBuiltin zip zip2 zip3 zip4 zip5 unzip unzip2 unzip3 unzip4 unzip5
syn keyword sfBuiltin iota replicate tabulate tabulate_2d tabulate_3d rotate reverse transpose
syn keyword sfBuiltin rearrange flatten flatten_3d flatten_4d unflatten unflatten_3d unflatten_4d
syn keyword sfBuiltin concat length indices head last tail init take drop split copy sum product
syn keyword sfBuiltin minimum maximum id const flip curry uncurry null foldl foldr and or all any
syn keyword sfBuiltin partition2 flatmap concat_to flatten_to manifest hist spread iterate iterate_until
syn keyword sfBuiltin iterate_while sized rep r32 t32 r64 t64 not opaque trace break
syn keyword sfBuiltin jvp jvp2 vjp vjp2 jvp_vec jvp2_vec vjp_vec vjp2_vec jmp jmp2 mjp mjp2 with_vjp with_vjp_tape stop_gradient

syn match sfFunction "\(\<\(def\|entry\)\s\+\)\@<=\h[[:alnum:]_']*"
syn match sfAttribute "#\[[a-z_]*"
syn match sfNumber "\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][-+]\?\d[0-9_]*\)\?\([iu]\(8\|16\|32\|64\)\|f\(16\|32\|64\)\)\?"
syn match sfNumber "0[xX]\x[0-9a-fA-F_]*\(\.\x[0-9a-fA-F_]*\)\?\([pP][-+]\?\d\+\(f\(16\|32\|64\)\)\?\)\?\([iu]\(8\|16\|32\|64\)\)\?"
syn match sfNumber "0[bB][01][01_]*\([iu]\(8\|16\|32\|64\)\)\?"
syn match sfNumber "0[rR][IVXLCDM][IVXLCDM_]*\([iu]\(8\|16\|32\|64\)\)\?"
syn match sfEscape "\\\(x\x\+\|o\o\+\|\d\+\|[^0-9]\)" contained
syn match sfChar "'\([^\\']\|\\\(x\x\+\|o\o\+\|\d\+\|\^[@-_]\|[A-Z][A-Z0-9]\+\|[^0-9]\)\)'" contains=sfEscape
syn region sfString start=+"+ skip=+\\\_.+ end=+"+ contains=sfEscape

syn keyword sfTodo TODO FIXME XXX contained
syn match sfComment "--.*$" contains=sfTodo,@Spell
syn match sfDocComment "-- |.*$" contains=sfTodo,@Spell
" Directives: comments from `-- ==` to the first line that is none.
syn region sfDirectives start="^--\s*==\s*$" end="^\(--\)\@!"me=s-1 contains=sfDirective,sfString keepend
syn match sfDirective "\<\(input\|output\|error\|warning\|entry\|random\|auto\|compiled\|notest\|notune\|nobench\|tags\|structure\)\>" contained

hi def link sfKeyword Keyword
hi def link sfConstructor Constant
hi def link sfType Type
hi def link sfBoolean Boolean
hi def link sfBuiltin Function
hi def link sfFunction Identifier
hi def link sfAttribute PreProc
hi def link sfTypeParam Type
hi def link sfHole Todo
hi def link sfOperator Operator
hi def link sfNumber Number
hi def link sfChar Character
hi def link sfString String
hi def link sfEscape SpecialChar
hi def link sfComment Comment
hi def link sfDocComment SpecialComment
hi def link sfDirectives Comment
hi def link sfDirective PreProc
hi def link sfTodo Todo

let b:current_syntax = 'sf'
let &cpo = s:cpo
unlet s:cpo
