"""Cases: the C that compile emits is for people, too."""
import re

from box import EXAMPLES, ROOT, Failed, case, table
from commands import long_program, nest_program

MOST_LINES = 300  # of a function
MOST_COLUMNS = 300  # of a line that is no comment


def functions(text):
    """(name, lines) of each function, and what the program has behind the runtime."""
    program = text[text.index("/* ==== The program ==== */"):]
    return [(m[1], m[2].split("\n")) for m in
            re.finditer(r"^static (?:inline )?int (\w+)\([^)]*\)\n\{\n(.*?)^\}$", program, re.M | re.S)], program


def readable(box, text):
    """Functions and lines are of a length that one can read, and control flow has no jumps but to the end."""
    found, program = functions(text)
    names = [name for name, _ in found]
    if not any(name.startswith("entry_") for name in names) or len(set(names)) != len(names):
        raise Failed(f"functions {names}")
    for name, lines in found:
        if len(lines) > MOST_LINES:
            raise Failed(f"{name} has {len(lines)} lines")
        for line in lines:
            if len(line) > MOST_COLUMNS and "/*" not in line:
                raise Failed(f"{name}: a line of {len(line)} columns: {line[:200]}")
        jumps = {j for line in lines for j in re.findall(r"\bgoto (\w+)|^ *(\w+):;?$", line)}
        if jumps - {("done", ""), ("", "done")}:
            raise Failed(f"{name} jumps: {jumps}")
    return found, program


def of_program(box, path):
    source = path.read_text()
    box.put("p.sf", source)
    for lib in path.parent.glob("*.sf"):  # that it may import
        box.put(lib.name, lib.read_text())
    found, program = readable(box, box.minifut("compile --emit=c p.sf", 0)[0])
    # A version is a function; an entry without thresholds is one version.
    told = [block.split("versions:")[1] for block in box.minifut("explain p.sf", 0)[0].split("\nentry ")]
    want = sum(n for n in (len(re.findall(r"-- V\d+$", t, re.M)) for t in told) if n > 1)
    got = [name for name, _ in found if "__version_" in name]
    if len(got) != want or len(re.findall(r"^/\* V\d+ of ", program, re.M)) != want:
        raise Failed(f"explain has {want} versions, the program {got}")


PROGRAMS = sorted(p for d in (EXAMPLES, ROOT / "bench") for p in d.rglob("*.sf")
                  if re.search(r"^entry|^def main\b", p.read_text(), re.M))

table("C of", False, [(p.stem, p) for p in PROGRAMS], of_program)


def of_text(box, text):
    box.put("p.sf", text)
    readable(box, box.minifut("compile --emit=c p.sf", 0)[0])


table("C of a generated program", False, [
    ("2000 lines", long_program()), ("a nest of seven", nest_program(7, 1)), ("siblings", nest_program(4, 3)),
], of_text)


@case(False)
def a_version_is_called_not_jumped_to(box):
    box.put("p.sf", (EXAMPLES / "matmul.sf").read_text())
    found, _ = functions(box.minifut("compile --emit=c p.sf", 0)[0])
    entry = "\n".join(dict(found)["entry_main"])
    calls = re.findall(r"\bmain__version_(\d)\(ctx, s\)", entry)
    if calls != list("01234"):
        raise Failed(f"versions {calls} are called")


@case(False)
def sizes_that_occur_again_have_names(box):
    box.put("p.sf", (EXAMPLES / "rowsum.sf").read_text())
    for name, lines in functions(box.minifut("compile --emit=c p.sf", 0)[0])[0]:
        text = "\n".join(lines)
        for size in re.findall(r"^ *const int64_t local\[\] = \{(.*)\};$", text, re.M):
            if not re.fullmatch(r"\w+", size):
                raise Failed(f"{name}: a group of {size}")
