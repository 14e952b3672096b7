"""Programs: how they are compiled and kept, what is told of them, what the tools say; gradients, stubs, imports, notebooks."""
import ast
import doctest
import inspect
import os
import pydoc
import re
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import minifut
import numpy as np
import pytest
from minifut import compiler

HERE = Path(__file__).resolve().parent
SUMS = """
-- | Sums of rows.
entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
"""
TWICE = "entry main [n] (xs: [n]i32): [n]i32 = map (* 2) xs"


def test_compile_errors(tmp_path):
    (tmp_path / "wrong.sf").write_text("-- wrong\nentry main (x: i32): i32 = x + 1.5f32\n")
    with pytest.raises(minifut.CompileError) as e:
        minifut.load(tmp_path / "wrong.sf")
    d = e.value.diagnostics[0]
    assert (d.file, d.line, d.column, d.kind) == ("wrong.sf", 2, 32, "error") and "^" in str(e.value) and d.message in str(e.value)
    with pytest.raises(minifut.CompileError, match=r"\nthing\.sf:1:"):
        minifut.compile("entry main = ", "thing")
    with pytest.raises(minifut.CompileError, match="no entry point"):
        minifut.compile("def f (x: i32) = x")
    with pytest.raises(FileNotFoundError, match="there is no program"):
        minifut.load(tmp_path / "none.sf")


def test_warnings():
    text = f"entry main (x: i32): i32 = let y = {time.time_ns()}i64 in x"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        minifut.compile(text, "unused")
    assert not said or "unused.sf" in str(said[0].message)


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "lib.sf").write_text("def k = 2i32\n")
    program = tmp_path / "prog.sf"
    program.write_text('import "lib"\nentry main (x: i32): i32 = k * x\n')
    run, ran = compiler.run, []
    monkeypatch.setattr(compiler, "run", lambda args, *a, **k: (ran.append(args[0]), run(args, *a, **k))[1])
    assert minifut.load(program).main(5) == 10 and ran == ["sources", "compile"]
    assert minifut.load(program).main(5) == 10 and ran == ["sources", "compile"]
    (tmp_path / "lib.sf").write_text("def k = 3i32\n")
    assert minifut.load(program).main(5) == 15 and ran[2:] == ["sources", "compile"]
    (tmp_path / "lib.sf").write_text("def k = 2i32\n")
    assert minifut.load(program).main(5) == 10 and ran[4:] == ["sources"]  # what was built before is still there
    assert minifut.load(program, strict_math=True).main(5) == 10 and ran[5:] == ["sources", "compile"]
    assert minifut.load(program, fast_math=True).main(5) == 10 and ran[7:] == ["sources", "compile"]
    monkeypatch.setenv("CFLAGS", "-O0")
    assert minifut.load(program).main(5) == 10 and ran[9:] == ["sources", "compile"]
    monkeypatch.delenv("CFLAGS")
    m = minifut.compile('import "lib"\nentry main (x: i32) (xs: []i32): i32 = k * xs[x]', "text", folder=tmp_path)
    assert m.main(0, [5]) == 10 and sorted(p.name for p in tmp_path.iterdir()) == ["cache", "lib.sf", "prog.sf"]
    with pytest.raises(minifut.RunError, match=r"(?m)^text\.sf:2:"):
        m.main(7, [5])
    beside = []
    monkeypatch.setattr(compiler, "run", lambda args, *a, **k: (beside.append(sorted(p.name for p in tmp_path.glob("*.sf"))), run(args, *a, **k))[1])
    with pytest.raises(minifut.CompileError, match=r"^\n?text\.sf:2:28: error"):
        minifut.compile('import "lib"\nentry main (x: i32): i32 = y', "text", folder=tmp_path)
    told = m.explain()
    for said in told.text, told.html, str(told.data):
        assert "-minifut-" not in said
    names = {name for names in beside for name in names}
    assert {name[:6] for name in names} == {"lib.sf", "prog.s", ".text-"}  # what is there meanwhile is hidden
    for index in (tmp_path / "cache/minifut/python").glob("*.index"):
        index.write_text("{")  # a file that was not written to its end
    assert minifut.load(program).main(5) == 10


def test_links(tmp_path):
    """A link to a file is a program by its own name, whatever lies beside the file."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there/k.sf").write_text("entry main (x: i32): i32 = x + 1\n")
    (tmp_path / "there/prog.sf").write_text("entry main (x: i32): i32 = x + 2\n")
    (tmp_path / "prog.sf").symlink_to(tmp_path / "there/k.sf")
    assert minifut.load(tmp_path / "prog.sf").main(1) == 2


def test_cache_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(minifut.Error, match="file/minifut/python: .*XDG_CACHE_HOME names another place"):
        minifut.compile("entry main (x: i32): i32 = x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert minifut.compile("entry main (x: i32): i32 = x + 1").main(1) == 2
    assert sorted(p.suffix for p in (tmp_path / "cache/minifut/python").iterdir()) == ["", ".index"]  # and nothing of no use
    index, wrong = tmp_path / "many.index", []

    def write(k):
        try:
            for _ in range(50):
                compiler.write_index(index, {"k": k})
        except OSError as e:
            wrong.append(e)
    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and compiler.load_index(index)["k"] in range(4)


def test_no_c_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/none")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(minifut.Error, match="no C compiler.*apt-get install gcc"):
        minifut.compile(f"entry main = {time.time_ns()}i64")
    monkeypatch.setenv("CC", "nonesuch")
    with pytest.raises(minifut.Error, match="no C compiler .nonesuch."):
        minifut.compile(f"entry main = {time.time_ns()}i64")


def test_first_result(tmp_path):
    """From `import minifut` on, with a compilation: 2 s on a machine with nothing else to do; here processor time is counted."""
    code = ("import minifut; m = minifut.compile('entry main [n] (xs: [n]f64) (k: f64): f64 = f64.sum (map (* k) xs)'); "
            "assert m.main([1, 2], 2.0) == 6; assert 'cuda' not in m.driver")
    start, before = time.time(), os.times()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(HERE.parent.parent / "python")})
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"the first result after {time.time() - start:.2f} s, {used:.2f} s of processor time")
    assert used < 2


def test_told(kinds):
    assert str(inspect.signature(kinds.turned)) == "(xss: [n][m]f32) -> [m][n]f32" and kinds.turned.__name__ == "turned"
    said = pydoc.plain(pydoc.render_doc(kinds.turned))
    assert "turned(xss: [n][m]f32) -> [m][n]f32" in said and "Rows become columns." in said and "entry turned [n] [m]" in said
    assert str(inspect.signature(kinds.several)) == "(xs: [n]i32, k: i32) -> (i64, [n]i32, bool)"
    assert str(inspect.signature(kinds.swap.keep)) == "(xs: *[n]i32, i: i64, j: i64) -> *[n]i32"
    assert "x_" in str(inspect.signature(kinds["import_"])) and kinds["import_"](lambda_=5, x_=3) == 2
    assert "turned" in dir(kinds) and "kinds.sf" in repr(kinds) and "Rows become columns." in kinds._repr_html_() and "turned" in kinds.__doc__
    assert kinds.driver == "native" and "native" in kinds.device and "point" in repr(kinds.types)


def test_stub(kinds, tmp_path):
    path = kinds.stub(tmp_path / "kinds.pyi")
    tree = ast.parse(path.read_text())
    classes = {c.name: c for c in tree.body if isinstance(c, ast.ClassDef)}
    assert {"point", "shape", "odd_", "_turned", "_grown"} <= set(classes)
    calls = {f.name: ast.unparse(f.args) + " -> " + ast.unparse(f.returns) for f in classes["_several"].body}
    assert calls["__call__"] == "self, xs: Union[ArrayLike, DeviceArray], k: int -> tuple[int, NDArray[np.int32], bool]"
    assert calls["keep"].endswith("tuple[int, DeviceArray, bool]")


def test_stub_by_mypy(kinds, tmp_path, monkeypatch):
    kinds.stub(tmp_path / "kinds.pyi")
    mypy = pytest.importorskip("mypy.api")
    (tmp_path / "use.py").write_text("import kinds\nreveal_type(kinds.moved(kinds.point(x=1, y=2), 1.5))\nkinds.moved(1, 'a')\n")
    monkeypatch.setenv("MYPYPATH", f"{tmp_path}:{HERE.parent.parent / 'python'}")
    said = mypy.run(["--no-incremental", "--cache-dir", str(tmp_path / "m"), "--follow-imports", "silent", str(tmp_path / "use.py")])[0]
    assert "kinds.point" in said and said.count("error:") == 2, said


def test_import(tmp_path, monkeypatch):
    (tmp_path / "imported_program.sf").write_text("-- | Adds one.\nentry up (x: i32): i32 = x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import minifut.importer  # noqa: F401
    import imported_program
    assert imported_program.up(1) == 2 and imported_program.program.up(2) == 3 and "entry up" in imported_program.__doc__
    with pytest.raises(ImportError):
        import no_such_program  # noqa: F401


def test_gradients(tmp_path):
    m = minifut.compile("""
type pair = {a: f64, b: f64}
def square (x: f64) = x * x
entry loss [n] (w: [n]f64) (xs: [n]f64) (k: f64): f64 = k * f64.sum (map2 (\\w x -> square (w * x)) w xs)
entry count [n] (xs: [n]f64): i64 = n
""")
    w, xs, k = np.array([1., 2, 3]), np.array([4., 5, 6]), 0.5
    dw, dx, dk = m.grad("loss")(w, xs, k)
    assert np.allclose(dw, 2 * k * w * xs**2) and np.allclose(dx, 2 * k * w**2 * xs) and np.isclose(dk, (w * xs) @ (w * xs))
    only = m.grad("loss", wrt="xs")
    assert np.allclose(only(w, xs, k), dx) and str(inspect.signature(only)).startswith("(w: [n]f64, xs: [n]f64, k: f64)")
    value, d = m.grad("loss", wrt="w", value=True)(w, xs, k)
    assert np.isclose(value, m.loss(w, xs, k)) and np.allclose(d, dw)
    with pytest.raises(minifut.ArgumentTypeError, match="gives i64"):
        m.grad("count")
    with pytest.raises(minifut.ArgumentTypeError, match="no parameter 'y'"):
        m.grad("loss", wrt="y")


def test_tools(tmp_path):
    m = minifut.compile(SUMS, "sums", device="native", threads=2)
    said = m.explain()
    assert "entry main" in str(said) and "<iframe" in said._repr_html_() and said.data["entries"][0]["name"] == "main"
    assert len(str(m.explain(verbose=True))) > len(str(said))
    x = np.ones((300, 20), "f4")
    before = m.main.keep(x)
    found = m.tune([(x,), {"xss": x.T.copy()}], save=tmp_path / "sums.tuning")
    assert "program: " in found.tuning and all(name.startswith("main.") for name in found.params) and "<iframe" in found._repr_html_()
    assert "2 data sets" in str(found) and "/tmp" not in str(found) and found.data["entry"] == "main"
    assert m.main(x).tolist() == [20] * 300 == before.tolist() and (tmp_path / "sums.tuning").read_text() == found.tuning
    (tmp_path / "own.tuning").write_text("main.suff_outer_par_0=1\n")
    again = minifut.compile(SUMS, "sums", device="native", tuning=tmp_path / "own.tuning", params={"main.group_size": 8})
    assert again.main(x).tolist() == [20] * 300
    (tmp_path / "own.tuning").write_text("main.suff_outer_par_0=many\n")
    with pytest.raises(minifut.RunError, match="own.tuning"):
        again.load_tuning(tmp_path / "own.tuning")
    with pytest.raises(FileNotFoundError, match="no tuning file"):
        minifut.compile(SUMS, "sums", tuning=tmp_path / "none.tuning")
    p = m.profile(x, runs=1)
    assert "main" in str(p) and p.data and "<iframe" in p._repr_html_()
    with pytest.raises(minifut.ArgumentTypeError, match="none of type pt"):
        minifut.compile("type pt = {x: i32}\nentry main (p: pt): i32 = p.x").tune([({"x": 1},)])
    with pytest.raises(minifut.ArgumentTypeError, match="parameter xss"):
        m.tune([(1,)])
    with pytest.raises(minifut.ArgumentTypeError, match="needs arguments"):
        m.tune([])


def test_magics():
    """In IPython's shell: a cell, what is wrong in one, tuning."""
    pytest.importorskip("IPython")
    from IPython.testing.globalipapp import start_ipython
    shell = start_ipython()
    shell.run_line_magic("load_ext", "minifut")
    shell.run_cell_magic("minifut", "", TWICE)
    assert shell.user_ns["main"]([1, 2]).tolist() == [2, 4]
    shell.run_cell_magic("minifut", "sums", SUMS)
    assert shell.user_ns["sums"].main([[1, 2]]).tolist() == [3]
    with pytest.raises(minifut.CompileError) as e:
        shell.run_cell_magic("minifut", "", "\nentry main (x: i32): i32 = y")
    lines = e.value._render_traceback_()
    assert lines[0].startswith("cell.sf:3:") and any("^" in line for line in lines)  # line 1 is that of the magic
    assert shell.run_line_magic("minifut_tune", "main [([1, 2, 3],)]").tuning


def test_notebook(tmp_path, monkeypatch):
    """The example's cells run one after another."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(HERE.parent.parent / "examples/python/notebook.ipynb", 4)
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent.parent / "python"))
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {c.id: c.outputs for c in notebook.cells if c.cell_type == "code"}
    assert all("text/html" in shown[cell][0]["data"] for cell in ("shown", "explain", "tune"))
    assert "parameter xs" in shown["wrong"][0]["text"]


def test_page(tmp_path, monkeypatch):
    """The sessions of docs/python.md, with its programs beside them."""
    page = (HERE.parent.parent / "docs/python.md").read_text()
    for name, text in re.findall(r"^```sf\n-- (\w+\.sf)\n(.*?)^```", page, re.M | re.S):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(re.sub(r"(?m)^```.*$", "", page), {}, "docs/python.md", None, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(test, out=said.append)
    assert runner.tries > 20 and not runner.failures, "".join(said)
