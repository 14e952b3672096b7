"""What make demo prints (tools/demo.sh): versions in words, the time of each on each data set, what tuning chose, a result.
That the rows are the versions which they say. usage: run.py MINIFUT BUILD_FOLDER. Needs an OpenCL device; asks for no time."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
sys.dont_write_bytecode = True
from checks import check, summary  # noqa: E402

MINIFUT = str(Path(sys.argv[1]).resolve())
PLACE = Path(sys.argv[2]) / "demo"
SHAPES = ["tall", "square", "deep", "narrow"]


def run(*command, **more):
    r = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, timeout=900, **more)
    check(r.returncode == 0, f"{command}: {r.returncode}: {r.stderr[-1000:]}")
    return r.stdout


def parts(text):
    """{title of a part: its lines}"""
    found = re.split(r"^== (.*)$", text, flags=re.M)
    return {title.split(" (")[0].split(":")[0]: body.strip("\n").splitlines() for title, body in zip(found[1::2], found[2::2])}


def versions_of(tree):
    """The numbers of the versions that explain knows."""
    if isinstance(tree, dict):
        found = {tree["id"]} if tree.get("kind") == "version" else set()
        return found.union(*map(versions_of, tree.values()))
    return set().union(*map(versions_of, tree)) if isinstance(tree, list) else set()


def test_words(lines, ids):
    text = "\n".join(lines)
    check(text.strip() == run(MINIFUT, "explain", PLACE / "matmul.sf").strip(), f"the versions are those of explain: {text}")
    check(all(re.search(rf"^ *V{i}\b", text, re.M) for i in ids), f"each version is there: {text}")


def test_table(lines, ids):
    heads = [n for n, line in enumerate(lines) if line.split() == SHAPES]
    check(len(heads) == 1, f"a column for each data set: {lines}")
    rows = [line.split() for line in lines[heads[0] + 1:] if line.startswith(" ")]
    check([r[0] for r in rows] == [f"V{i}" for i in sorted(ids)], f"a row for each version: {rows}")
    check(all(len(r) == 1 + len(SHAPES) and all(re.fullmatch(r"(\d+|-)\*?", cell) for cell in r[1:]) for r in rows), f"times: {rows}")
    stars = set()
    for column in range(1, len(SHAPES) + 1):
        cells = [(float(r[column].strip("*")), r[column].endswith("*"), r[0]) for r in rows if r[column] != "-"]
        check(cells and {c[1] for c in cells if c[0] == min(cells)[0]} == {True}, f"the fastest has a star: {cells}")
        check(all(c[0] == min(cells)[0] for c in cells if c[1]), f"and no other one: {cells}")
        stars |= {c[2] for c in cells if c[1]}
    check(set(re.findall(r"V\d+", lines[-1])) == stars, f"who has one is told: {lines[-1]}")


def test_rows():
    """The options of a row make the program take the version of that number, by what tune found of it."""
    found = json.loads((PLACE / "tune.json").read_text())
    check(sorted(d["name"] for d in found["datasets"]) == sorted(SHAPES), "the data sets")
    paths = {v["taken"]: v["path"] for d in found["datasets"] for v in d["versions"]}
    settings = run("tools/demo.sh", "--versions", PLACE / "matmul").splitlines()
    check(len(paths) == len(settings), f"all versions were tried: {sorted(paths)}")
    for k, options in enumerate(settings):
        out = subprocess.run([PLACE / "matmul", "-L", "-n", *options.split()], cwd=ROOT, capture_output=True, text=True,
                             stdin=open(ROOT / PLACE / "small.in", encoding="utf-8"), check=False).stderr
        took = {name: value == "true" for name, value in re.findall(r"^Compared (\S+\.suff_\S+) <= -?\d+: (true|false)", out, re.M)}
        check(took == paths.get(f"V{k}"), f"V{k} by {options}: {took}, not {paths.get(f'V{k}')}")


def test_tuning(lines):
    """Each threshold and each data set has its line; what is set stands in the file."""
    text, tuning = "\n".join(lines), (ROOT / PLACE / "matmul.sf.tuning").read_text()
    for name in re.findall(r"^(\S+) \(threshold", run(PLACE / "matmul", "--print-params"), re.M):
        check(re.search(rf"\b{re.escape(name)}\b", text), f"{name}: {text}")
    for name in SHAPES:
        check(re.search(rf"^ *{name} .* (us|ms|s)\b", text, re.M), f"{name}: {text}")
    for name, value in re.findall(r"^(main\.\w+)=(\d+)$", tuning, re.M):
        check(re.search(rf"{re.escape(name)}\s+({value}|never)\b", text), f"{name}={value} is told: {text}")


def main():
    os.chdir(ROOT)
    shutil.rmtree(PLACE, ignore_errors=True)
    env = {**os.environ, "MINIFUT": MINIFUT, "RUNS": "3"}
    text = run("tools/demo.sh", PLACE, env=env)
    found = parts(text)
    explained = json.loads(run(MINIFUT, "explain", "--json", PLACE / "matmul.sf"))
    ids = versions_of(explained)
    check(len(ids) == 5, f"the program has five versions: {ids}")
    titles = ["the program", "the device", "its versions", "the time of each version on matrices of four shapes, in microseconds",
              "which version is for which shape?", "running it"]
    check(list(found) == titles, f"the parts: {list(found)}")
    if list(found) == titles:
        test_words(found["its versions"], ids)
        test_table(found[titles[3]], ids)
        test_tuning(found[titles[4]])
        check(found["running it"] == ["[[19.0f32, 22.0f32], [43.0f32, 50.0f32]]"], f"the result: {found['running it']}")
        run(MINIFUT, "tune", "-q", "--json", PLACE / "tune.json", PLACE / "matmul.sf", PLACE / "datasets")
        test_rows()
    again = run("tools/demo.sh", PLACE, env={**env, "RUNS": "1"})
    check(list(parts(again)) == titles, "a second time it prints the same parts")
    return summary()


sys.exit(main())
