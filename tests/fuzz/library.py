"""Polymorphic functions that the fuzzer's programs may use; what they mean, oracle.py says (f_NAME)."""


class Helper:
    """def shown head params : result = body. params: [(name, type)]; key: what it means is f_KEY of oracle.py, or key()."""

    def __init__(self, name, head, params, result, body, shown=None, key=None):
        self.name, self.shown, self.key = name, shown or name, key or name
        self.head, self.params, self.result, self.body = head, params, result, body

    def text(self):
        params = "".join(f" ({x}: {t})" for x, t in self.params)
        return f"def {self.shown}{self.head}{params} : {self.result} = {self.body}\n"

    def spec(self):
        return f"val {self.shown}{self.head} : " + " -> ".join([f"({t})" for _, t in self.params] + [self.result])


LIBRARY = [
    Helper("twice", " 't", [("f", "t -> t"), ("x", "t")], "t", "f (f x)"),
    Helper("apply", " 'a 'b", [("f", "a -> b"), ("x", "a")], "b", "f x"),
    Helper("both", " 'a 'b 'c", [("f", "a -> b"), ("g", "a -> c"), ("x", "a")], "(b, c)", "(f x, g x)"),
    Helper("mapi", " [n] 'a 'b", [("f", "i64 -> a -> b"), ("xs", "[n]a")], "[n]b", "map2 f (iota n) xs"),
    Helper("swap", " 'a 'b", [("p", "(a, b)")], "(b, a)", "(p.1, p.0)"),
    Helper("times", " 't", [("k", "i64"), ("f", "t -> t"), ("x", "t")], "t", "loop x for _i < k do f x"),
    Helper("pick", " 't", [("c", "bool"), ("x", "t"), ("y", "t")], "t", "if c then x else y"),
    Helper("outer", " [n] [m] 'a 'b 'c", [("f", "a -> b -> c"), ("xs", "[n]a"), ("ys", "[m]b")], "[n][m]c",
           "map (\\x -> map (f x) ys) xs"),
    Helper("along", " [n] [m] 'a 'b", [("f", "[n]a -> [n]b"), ("xss", "[n][m]a")], "[n][m]b",
           "transpose (map f (transpose xss))"),
]

# What a container of elements a may be: its type, constructors or None, how it is made of x, what it holds.
SIZED = [("[n]a", None, "x", "v"), ("{xs: [n]a, k: i64}", None, "{xs = x, k = 1i64}", "v.xs"),
         (None, [("full", ("[n]a",))], "#full x", "(match v case #full x -> x)"),
         ("[n](a, bool)", None, "(map (\\y -> (y, true)) x)", "(map (.0) v)"),
         ("([n]a, [n]a)", None, "(x, x)", "v.1")]
BOXED = [("a", None, "x", "v"), ("{it: a, k: i32}", None, "{it = x, k = 1i32}", "v.it"), ("[2]a", None, "[x, x]", "v[1]"),
         (None, [("full", ("a", "u8"))], "#full x 7u8", "(match v case #full x _ -> x)"),
         (None, [("box", ("a",))], "#box x", "(match v case #box x -> x)")]


def container(name, sized, kind):
    """Functions of a module of containers: of arrays [n]a if sized, else of one a."""
    head, t, held = (" [n]", "t [n]", "[n]a") if sized else ("", "t", "a")
    _, _, made, holds = (SIZED if sized else BOXED)[kind]

    def get(v):
        return f"(let v = {v} in {holds})" if holds != "v" else v

    def helper(shown, params, args, result, body):
        return Helper(f"{name}.{shown}", head + params, args, result, body, shown, f"{'sized' if sized else 'boxed'}_{shown}")
    over = "map f ({})" if sized else "f ({})"
    both = "zip ({}) ({})" if sized else "(({}), ({}))"
    join = [Helper(f"{name}.join", " [n] [m] 'a", [("v", "t [n] a"), ("w", "t [m] a")], "t [n + m] a",
                   f"let x = {get('v')} ++ {get('w')} in {made}", "join", "sized_join")] if sized else []
    return join + [helper("from", " 'a", [("x", held)], f"{t} a", f"let x = x in {made}"),
            helper("to", " 'a", [("v", f"{t} a")], held, holds),
            helper("over", " 'a 'b", [("f", "a -> b"), ("v", f"{t} a")], f"{t} b", f"let x = {over.format(holds)} in {made}"),
            helper("both", " 'a 'b", [("v", f"{t} a"), ("w", f"{t} b")], f"{t} (a, b)",
                   f"let x = {both.format(get('v'), get('w'))} in {made}")]
