type r = {a: i64, b: i64}
type s = #l | #m i64
def g (x: i64) (y: i64) = x * y
def h (p: r) = p.a
def k (p: s) = match p case #l -> 1 case #m x -> x
def sum (xs: []i64) = i64.sum xs
def ap (f: i64 -> i64) (x: i64) = f x
module M = { def c = 3i64 def f (x: i64) = x }
def t (x: i64) (y: i64) (b: bool) (p: r) (q: (i64,i64)) (xs: [3]i64) (u: s) (z: i32) = map2 (+) (iota (i64.sgn x)) (iota (i64.sgn x))
