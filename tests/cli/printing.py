"""What programs print: values of sum types, text, traces."""
from box import USAGE, Failed, case, table

SUMS = """
type option 'a = #some a | #none
type shape = #dot | #disc f32 | #box {w: f32, h: f32} | #part (option i32) | #path [2]i64
type one 'a = #one a
type tree 'a = #leaf | #pair [2](a, bool) | #also (one a)
entry some: option i32 = #some 3
entry none: option i32 = #none
entry shapes: []shape = [#disc 1, #dot, #box {w = 1, h = 2}, #part #none, #part (#some (-1)), #path [4, 5]]
entry grid: [2][2]option i8 = [[#some 1, #none], [#none, #some 4]]
entry held: {left: option bool, right: [2]i32} = {left = #some true, right = [1, 2]}
entry several: (option f64, i32, [0]option i32) = (#some 0.5, 7, [])
entry deep: tree (option i32) = #pair [(#some 1 : option i32, true), (#none, false)]
entry inner: tree i32 = #also (#one 2 : one i32)
"""

SHOWN = [("some", "#some 3i32\n"), ("none", "#none\n"),
         ("shapes", "[#disc 1.0f32, #dot, #box {h = 2.0f32, w = 1.0f32}, #part #none, #part (#some -1i32), #path [4i64, 5i64]]\n"),
         ("grid", "[[#some 1i8, #none], [#none, #some 4i8]]\n"), ("held", "{left = #some true, right = [1i32, 2i32]}\n"),
         ("several", "#some 0.5f64\n7i32\n[]\n"), ("deep", "#pair [(#some 1i32, true), (#none, false)]\n"), ("inner", "#also (#one 2i32)\n")]


def printed(box, program, args, out, err=""):
    box.put("p.sf", program)
    got = box.minifut(f"run p.sf {args}", 0, err)[0]
    if got != out:
        raise Failed(f"run {args} printed {got!r}, not {out!r}")


table("a sum", False, [(name, name, shown) for name, shown in SHOWN], lambda box, name, shown: printed(box, SUMS, f"-e {name}", shown))


@case(False)
def a_sum_of_many_constructors(box):
    names = " | ".join(f"#c{i:03} i32" for i in range(200))
    printed(box, f"entry main: ({names}) = #c150 7\n", "", "#c150 7i32\n")


@case(False)
def a_sum_has_no_binary_form(box):
    printed(box, SUMS, "-b -e some", "#<opaque option i32>\n")


# --- Text -----------------------------------------------------------------------------------------------

TEXT = 'entry main: ([]u8, i32, []u8, []u8, [1][2]u8) = ("h\u00e6llo", 3, "line\\n", "", ["ab"])\n'
AS_TEXT = "h\u00e6llo\n3i32\nline\n\n[[97u8, 98u8]]\n"
AS_NUMBERS = ("[104u8, 195u8, 166u8, 108u8, 108u8, 111u8]\n3i32\n[108u8, 105u8, 110u8, 101u8, 10u8]\nempty([0]u8)\n"
              "[[97u8, 98u8]]\n")


@case(False)
def text(box):
    printed(box, TEXT, "--text", AS_TEXT)
    printed(box, TEXT, "", AS_NUMBERS)
    box.minifut("run --text -b p.sf", USAGE, "-b and --text do not go together")


@case(True)
def text_of_programs(box):
    box.put("p.sf", TEXT)
    box.minifut("compile p.sf", 0, leaves=["p", "p.c"])
    for args, want in ((["--text"], AS_TEXT), ([], AS_NUMBERS)):
        got = box.run(["./p", *args], 0)[0]
        if got != want:
            raise Failed(f"p {args} printed {got!r}, not {want!r}")
    box.run(["./p", "--text", "-b"], USAGE, "-b and --text do not go together")


# --- Traces ---------------------------------------------------------------------------------------------

TRACES = """type option 'a = #some a | #none
def through 'a (x: a): a = trace x
module m = { def traced 'a 'b (f: a -> b) (x: a): b = #[trace(result)] (f x) }
entry main (n: i64): i64 =
  let xs = map (\\i -> trace (i * i)) (iota n)
  let a = through (#some {x = 1f32, y = [true]} : option {x: f32, y: [1]bool})
  let b = m.traced (\\x -> (x, #none : option i8)) 2i32
  let f = trace (\\(i: i64) -> i)
  let unused = #[trace(unused)] 1u8
  let u = trace ()
  let v = trace (n, (), through {})
  let c = if n > 5 then trace 0 else trace n
  in f (trace xs[1])
"""
TOLD = """p.sf:5:23: trace: 0i64
p.sf:5:23: trace: 1i64
p.sf:5:23: trace: 4i64
p.sf:2:28: trace: #some {x = 1.0f32, y = [true]}
p.sf:3:73: result: (2i32, #none)
p.sf:8:11: trace: #<fun>
p.sf:9:33: unused: 1u8
p.sf:10:11: trace: ()
p.sf:2:28: trace: ()
p.sf:11:11: trace: (3i64, (), ())
p.sf:12:38: trace: 3i64
p.sf:13:9: trace: 1i64
"""


@case(False)
def traces(box):
    """Each value with its place, in the order of evaluation; of the program as it is written, which other commands leave alone."""
    box.put("p.sf", TRACES)
    got, said = box.minifut("run p.sf", 0, "trace", stdin="3")
    if got != "1i64\n" or said != TOLD:
        raise Failed(f"run printed {got!r}, and said\n{said}")
    box.minifut("run --after=lower p.sf", 0, out="^1i64$", stdin="3")
    box.minifut("ir --after=lower p.sf", 0)
    box.minifut("compile --emit=c p.sf", 0)
