#!/usr/bin/env python3
"""The pages of minifut, and what it writes for programs: tests/pages/run.py [-k FOLDER] MINIFUT. Needs an OpenCL device.

Each page must be well-formed, hold what the JSON beside it says, escape all names, and need nothing from elsewhere.
Debian's chromium, where it is installed, must show it without scrolling sideways at 360 pixels, nor tables and sources in it
at 1300, with enough contrast in light and dark. -k: leaves the pages and pictures of them there, to look at."""
import html.parser
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
import checks  # noqa: E402

CHROMIUM = shutil.which("chromium")
NAME = "a <b>&amp; 'c' \"d\""  # of a data set
# Large enough for a clock.
MATRICES = " ".join(str([[f"{(i * k) % 7}f32" for i in range(60)] for k in range(60)]).replace("'", "") for _ in range(2))
VOID = {"meta", "br", "hr", "img", "link"}
OPTIONAL = {"tr"}  # may end without saying so
NEVER = 1 << 62


class Failed(Exception):
    pass


def must(true, what):
    if not true:
        raise Failed(what)


class Page(html.parser.HTMLParser):
    """The text of a page by tag; that tags are closed in order, and nothing is fetched."""

    def __init__(self, path):
        super().__init__()
        self.open, self.texts, self.ids, self.links = [], [], set(), []
        self.feed(path.read_text())
        self.close()
        must(not self.open, f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        must(tag not in ("script", "link", "iframe", "img"), f"the page has <{tag}>")
        must(not any(k in ("src", "onclick", "onload") for k in attrs), f"<{tag}> has {attrs}")
        if "id" in attrs:
            must(attrs["id"] not in self.ids, f"two of id {attrs['id']}")
            self.ids.add(attrs["id"])
        if "href" in attrs:
            must(attrs["href"].startswith("#"), f"a link to {attrs['href']}")
            self.links.append(attrs["href"][1:])
        if tag in OPTIONAL and self.open and self.open[-1] == tag:
            self.open.pop()
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        must(self.open and self.open[-1] == tag, f"</{tag}> within {self.open}")
        self.open.pop()

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def tagged(self, tag):
        return [text for t, text in self.texts if t == tag]

    def text(self):
        return "".join(text for t, text in self.texts if t != "style")


# What is looked at in the browser: a copy of the page in a frame (windows have a least width), with a script that
# tells the frame's widths, and the contrast of its text with its paper.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>?</title>
<iframe style="width:%dpx;height:1500px;border:0" srcdoc="%s"></iframe>"""
PROBE = """<script>
function light(c) { let s = 0, v = c.match(/[0-9.]+/g).map(Number);
    for (const [i, w] of [0.2126, 0.7152, 0.0722].entries()) {
        const x = v[i] / 255; s += w * (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); }
    return s; }
function colour(e) { return light(getComputedStyle(e).color); }
const paper = light(getComputedStyle(document.body).backgroundColor), contrast = [];
for (const e of document.querySelectorAll("p, th, td, a, li, h1, h2, summary, .source span"))
    contrast.push((Math.max(paper, colour(e)) + 0.05) / (Math.min(paper, colour(e)) + 0.05));
parent.document.title = JSON.stringify({wide: document.documentElement.scrollWidth, window: innerWidth, paper: paper,
    contrast: Math.min(...contrast), inner: [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).length,
    tables: [...document.querySelectorAll("table")].every(t => t.closest(".scroll"))});
</script></body>"""


def in_browser(page, keep, once=False):
    """Looks at the page in a browser, at two widths, in light and dark; `once`: wide and light."""
    frame = page.with_name("frame.html")
    for width in (1300,) if once else (360, 1300):
        copy = html.escape(page.read_text().replace("</body>", PROBE))
        frame.write_text(FRAME % (width, copy))
        for scheme in ("light",) if once else ("light", "dark"):
            base = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},1500",
                    f"--blink-settings=preferredColorScheme={int(scheme == 'light')}"]
            dom = subprocess.run(base + ["--dump-dom", frame.as_uri()], stdout=subprocess.PIPE, timeout=120, check=True,
                                 stderr=subprocess.DEVNULL, text=True).stdout
            seen = json.loads(html.unescape(re.search("<title>(.*?)</title>", dom, re.S)[1]))
            where = f"{page.name} at {width}, {scheme}: {seen}"
            must(seen["window"] == width and seen["wide"] <= width, f"{where}: scrolls sideways")
            must(width < 1300 or seen["inner"] == 0, f"{where}: a part of it scrolls sideways")
            must(seen["tables"], f"{where}: a table scrolls with the page")
            must(seen["contrast"] >= 4.5, f"{where}: hard to read")
            must((seen["paper"] > 0.5) == (scheme == "light"), f"{where}: not {scheme}")
            picture = (keep or page.parent) / f"{page.stem}-{width}-{scheme}.png"
            subprocess.run(base + [f"--screenshot={picture}", page.as_uri()], timeout=120, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            must(picture.read_bytes()[16:20] == width.to_bytes(4, "big"), f"{where}: no picture of that width")
    frame.unlink()


def run(minifut, folder, *args):
    r = subprocess.run([minifut, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=300)
    must(r.returncode == 0, f"minifut {' '.join(args)}: {r.returncode}: {r.stderr[-800:]}")
    return r.stdout


def said(form, values, within, off=6e-5):
    """Is the text that `form` makes of `values` in `within`? JSON holds them rounded, by at most `off`: of 1.0450 the page
    may have made 1.04 or 1.05."""
    near = itertools.product(*[(v - off, v, v + off) for v in values])
    return any(form % some in within for some in near)


def percent(part, within):
    return said("%.1f %%", (100 * part,), within, off=6e-3)


def prepare(minifut, folder):
    shutil.copy(ROOT / "examples/matmul.sf", folder)
    (folder / "d").mkdir()
    for name in (NAME, "plain"):
        (folder / "d" / f"{name}.in").write_text(MATRICES)
    run(minifut, folder, "compile", "matmul.sf")


def tuned(folder):
    return json.loads((folder / "tune.json").read_text())


# --- The cases -------------------------------------------------------------------------------------------------

def tune_json(minifut, folder):
    """The members of docs/tuner.md, and what must hold between them."""
    out = run(minifut, folder, "tune", "--skip-compilation", "--json", "tune.json", "--report", "tune.html", "matmul.sf",
              "d")
    j = tuned(folder)
    must((j["format"], j["version"], j["program"], j["entry"], j["data"]) == ("minifut tune", 1, "matmul.sf", "main", "d"),
         "the program")
    must(f", {j['runs']} runs, " in out and j["seconds"] > 0 and j["device"], "runs, seconds, device")
    must(min(j["tuned"], j["untuned"]) > 0 and not j["distrusted"], "the means of losses")
    # What is tuned without a data set is compared where anything is tuned: versions may be too fast for a clock.
    must(j["left_out"] > 0 if j["left_out"] is not None else all(t["chosen"] is None for t in j["thresholds"]), "the mean without each")
    must(said("of each data set's own best time: untuned %.2f, tuned %.2f", (j["untuned"], j["tuned"]), out),
         f"the means {j['untuned']}, {j['tuned']}: {out}")
    names = [t["name"] for t in j["thresholds"]]
    must(names == [f"main.suff_{k}_par_{i}" for i, k in enumerate(("outer", "intra") * 2)], f"thresholds {names}")
    must([t["parent"] for t in j["thresholds"]] == [None] + names[:-1], "parents")
    must(not any(t["when"] for t in j["thresholds"][1:]), "the outcomes of parents")
    written = dict(re.findall(r"^(\S+)=(\d+)$", (folder / "matmul.sf.tuning").read_text(), re.M))
    kinds = ["group_size", "num_groups", "item_elems", "tile_groups"]
    must([s["name"][5:] for s in j["sizes"]][:4] == kinds and len(j["sizes"]) > 8, f"sizes {j['sizes']}")
    must(all(s["name"].startswith("main.choice_") and s["default"] == 100 for s in j["sizes"][4:]), f"choices {j['sizes']}")
    must(all(s["default"] > 0 and (s["tried"] > 0 or s["chosen"] is None) for s in j["sizes"]), f"sizes {j['sizes']}")
    must(written == {t["name"]: str(t["chosen"]) for t in j["thresholds"] + j["sizes"] if t["chosen"] is not None}, "the tuning file")
    for t in j["thresholds"]:
        must(0 <= t["low"] and t["high"] <= NEVER and t["common"] == (t["low"] < t["high"]), f"the range of {t}")
    must([d["name"] for d in j["datasets"]] == sorted([NAME, "plain"]), "data sets")
    for d in j["datasets"]:
        must(d["usable"] and d["regret"] >= 0 and d["best_us"] <= d["tuned"]["median_us"], f"the times of {d['name']}")
        ended = [v for v in d["versions"] if "cut" not in v["time"]]
        must({v["taken"] for v in ended} <= {f"V{i}" for i in range(5)} and len(d["versions"]) >= 5, "the versions tried")
        for v in ended:
            took = [name for name, held in v["path"].items() if held]
            must([names.index(n) for n in took] == [int(v["taken"][1:])] * len(took), f"the path of {v}")
            must(len(v["path"]) == min(int(v["taken"][1:]) + 1, 4), f"the comparisons of {v}")
            must(v["time"]["median_us"] > 0 and v["measured"] > 0 and set(v["settings"]) == set(names), f"{v}")
        for name, asks in d["thresholds"].items():
            must(asks["parallelism"] == sorted(set(asks["parallelism"])) and asks["low"] < asks["high"], f"{name}: {asks}")


def tune_page(minifut, folder):
    """What the JSON says stands on the page."""
    j, page = tuned(folder), Page(folder / "tune.html")
    must(page.tagged("h1") == ["Tuning of matmul.sf"], "the title")
    heads = page.tagged("h2")
    must([h for h in heads if h.startswith("Data set ")] == [f"Data set {d['name']}" for d in j["datasets"]],
         f"headings {heads}")
    text = page.text()
    for t in j["thresholds"]:
        value = "unset" if t["chosen"] is None else "never" if t["chosen"] == NEVER else t["chosen"]
        must(f"{t['name'][5:]} ({value}) reached: " in text, f"the tree lacks {t['name']}")
    must(page.tagged("th").count("V3") == sum(v["taken"] == "V3" for d in j["datasets"] for v in d["versions"]) > 0,
         "a version's row for each data set")
    for d in j["datasets"]:
        must(percent(d["regret"], page.tagged("td")), f"the regret on {d['name']}: {d['regret']}")
    must(said("Of each data set's own best time: untuned %.2f, tuned %.2f", (j["untuned"], j["tuned"]), text),
         f"the means {j['untuned']}, {j['tuned']}")
    must(("None: for each threshold" in text) == (not j["conflicts"]), "conflicts")


def explain_page(minifut, folder):
    """All that explain tells, with links to lines that are there."""
    run(minifut, folder, "explain", "--html", "explain.html", "matmul.sf")
    entry = json.loads(run(minifut, folder, "explain", "--json", "matmul.sf"))["entries"][0]
    page = Page(folder / "explain.html")
    text, lines = page.text(), (folder / "matmul.sf").read_text().split("\n")[:-1]
    must(page.tagged("h1") == ["Versions of matmul.sf"], "the title")
    must(re.findall(r"\bV\d+\b", " ".join(page.tagged("span"))) == [f"V{i}" for i in range(5)], "the versions")
    must(re.findall(r"kernel (\w+)", text) == re.findall(r'"name": "(seg\w+)"', json.dumps(entry["versions"])), "kernels")
    for t in entry["thresholds"]:
        must({t["name"], t["par"], t["work"]} <= set(page.tagged("th") + page.tagged("td")), f"the row of {t['name']}")
    must(page.ids == {f"L{i + 1}" for i in range(len(lines))}, "the lines' names")
    must(page.tagged("span")[-len([s for s in lines if s]):] == [s for s in lines if s], "the lines")
    must(page.links and set(page.links) <= page.ids, "links that lead nowhere")
    must("L8" in page.links, "no link to the map")


def bench_page(minifut, folder):
    """Each version's time on each data set, and each kernel's share with its line."""
    (folder / "sub").mkdir()
    shutil.copy(folder / "matmul.sf", folder / "sub")
    shutil.copy(folder / "matmul", folder / "sub")
    (folder / "sub/matmul.sf.tuning").write_text("main.suff_outer_par_0=1\n")
    run(minifut, folder, "bench", "--report", "bench.html", "sub/matmul.sf", "d")
    page = Page(folder / "bench.html")
    text, cells = page.text(), page.tagged("td")
    must(page.tagged("h1") == ["Times of sub/matmul.sf"], "the title")
    must("suff_outer_par_0 (1) reached: V0" in text and "suff_outer_par_2 (unset) reached: V2" in text, "the settings")
    tags = page.tagged("span")
    must(len([t for t in tags if NAME + ": " in t and "plain: " in t]) == 5, f"times of versions: {tags}")
    must([page.tagged("th").count(f"V{i}") for i in range(5)] == [2] * 5, "a version's row for each data set")
    shares = [float(c[:-2]) for c in cells if re.fullmatch(r"[0-9.]+ %", c)]
    must(len(shares) >= 2 and abs(sum(shares) - 200) < 1, f"the shares of kernels: {shares}")
    must("segmap_main_0" in page.tagged("th"), "the kernel of the tuned version")
    must(page.links and set(page.links) <= page.ids and "L8" in page.links, f"links {page.links}")
    must(page.tagged("a").count("sub/matmul.sf:8:3") == 2, f"places {page.tagged('a')}")


def profile_page(minifut, folder):
    """The shares of the JSON, and the lines of the program with their heat; a data set that fails."""
    (folder / "d2").mkdir()
    for name, text in ((NAME, MATRICES), ("second", MATRICES), ("torn <i>", "[[1f32")):
        (folder / f"d2/{name}.in").write_text(text)
    r = subprocess.run([minifut, "profile", "--skip-compilation", "--gbs=10", "--gflops=10", "--html", "profile.html", "--json",
                        "profile.json", "matmul.sf", "d2"], cwd=folder, capture_output=True, text=True, timeout=300)
    must(r.returncode == 1 and "torn <i>: " in r.stderr, f"{r.returncode}: {r.stderr}")
    page, j = Page(folder / "profile.html"), json.loads((folder / "profile.json").read_text())
    text, cells = page.text(), page.tagged("td")
    must(page.tagged("h1") == ["Profile of matmul.sf"], "the title")
    must([h for h in page.tagged("h2") if h.startswith("Data set ")] == [f"Data set {d['name']}" for d in j["datasets"]], "headings")
    done = [d for d in j["datasets"] if not d["error"]]
    must(len(done) == 2 and f"No profile: {[d['error'] for d in j['datasets'] if d['error']][0]}." in text, "the torn one")
    for d in done:
        for share in d["shares"]:
            must(percent(share["share"], cells), f"the share {share}")
        for k in d["kernels"]:
            must(k["name"] in page.tagged("th"), f"the kernel {k['name']}")
    heat = {}
    for d in done:
        for share in d["shares"]:
            if share["kind"] == "line":
                heat[share["line"]] = heat.get(share["line"], 0) + share["share"] / len(done)
    must(heat, "no line")
    for line, part in heat.items():
        must(f"L{line}" in page.links and percent(part, page.tagged("span")), f"the heat of line {line}: {part}")
    must(page.links and set(page.links) <= page.ids, f"links {page.links}")


def doc_page(minifut, folder):
    """Each name of the language with its type; nothing of Markdown is left but in code."""
    run(minifut, folder, "doc", "--html", "doc.html", "--prelude")
    markdown = run(minifut, folder, "doc", "--prelude")
    page = Page(folder / "doc.html")
    names = [", ".join(re.findall(r"`([^`]+)`", line)) for line in re.findall(r"^### (`.*)", markdown, re.M)]
    must(set(page.tagged("h3")) >= {n for n in names if n.islower()} - {"numeric", "integral", "real", "float"}, "names")
    must({"def foldl [n] 'a 'b (f: a -> b -> a) (ne: a) (xs: [n]b): a", ">>> scan (+) 0 [1, 2, 3]\n[1, 3, 6]\n"} <= set(page.tagged("pre")),
         "types and examples")
    must("f32.sqrt 16" in page.tagged("td") and "minifut doc --prelude" in page.tagged("code"), "a row, and code in words")
    must(not re.search(r"`|\]\(", "".join(t for tag, t in page.texts if tag in ("p", "li"))), "Markdown is left")


# Two nests one after the other, with names as people give them.
NESTS = """-- Rows that are normalised and summed up, then weighted by what came of that.
entry main [n][m][k] (some_rows_of_numbers: [n][m]f32) (other_rows_of_numbers: [k][n]f32): ([n][m]f32, [k]f32) =
  let normalised_rows = map (\\row -> let total = f32.sum row in scan (+) 0 (map (/ total) row)) some_rows_of_numbers
  let weights = map (\\row -> f32.maximum row) normalised_rows
  let weighted_sums = map (\\row -> let most = f32.maximum row in f32.sum (map2 (\\x w -> f32.exp (x - most) * w) row weights)) other_rows_of_numbers
  in (normalised_rows, weighted_sums)
"""
WORDS = ["one thread for each of n, which does alone: reduction (+); scan (+); reduction (max)",
         "one work-group for each of n, whose threads share what is inside",
         "all n * m in parallel, reduced by (+) within each of n; all n * m in parallel, scanned by (+) within each of n; "
         "all n * m in parallel, reduced by (max) within each of n",
         "one thread for each of k, which does alone: reduction (max); reduction (+)",
         "one work-group for each of k, whose threads share what is inside",
         "all k * n in parallel, reduced by (max) within each of k; all k * n in parallel, reduced by (+) within each of k"]


def words_stand_by(path):
    """Each version that the page names in a table or tree is there in words; of several, each behind its number."""
    page = Page(path)
    small = page.tagged("small")
    for text in small:
        number, _, words = text.partition(": ") if re.match(r"V\d: ", text) else (None, "", text)
        must(words in WORDS and number in (None, f"V{WORDS.index(words)}"), f"{path.name}: {text}")
    return page, small


def nests_tuned(minifut, folder):
    (folder / "nests.sf").write_text(NESTS)
    (folder / "dn").mkdir()
    for name, n in (("a few of them", 3), ("many more of them than before", 40)):
        (folder / f"dn/{name}.in").write_text(f"[{', '.join(['[1f32, 2, 3]'] * n)}] [{', '.join(['[' + ', '.join(['1f32'] * n) + ']'] * 5)}]")
    run(minifut, folder, "compile", "nests.sf")
    run(minifut, folder, "tune", "--skip-compilation", "--only=thresholds", "--report", "nests-tune.html", "nests.sf", "dn")
    page, small = words_stand_by(folder / "nests-tune.html")
    must(set(WORDS) <= set(small), f"in the tree: {small}")
    pairs = [t for t in page.tagged("th") if re.fullmatch(r"V[0-2] \+ V[3-5]", t)]
    must(pairs and len([t for t in small if t.startswith("V")]) >= 2 * len(pairs), f"{pairs}: {small}")


def nests_timed(minifut, folder):
    (folder / "nests.tuning").write_text("main.suff_outer_par_0=1\n")
    run(minifut, folder, "bench", "--skip-compilation", "--report", "nests-bench.html", "--tuning", "nests.tuning", "nests.sf", "dn")
    _, small = words_stand_by(folder / "nests-bench.html")
    must(set(WORDS) <= set(small) and f"V0: {WORDS[0]}" in small, f"{small}")


def nests_profiled(minifut, folder):
    run(minifut, folder, "profile", "--skip-compilation", "--gbs=10", "--gflops=10", "--html", "nests-profile.html", "nests.sf", "dn")
    _, small = words_stand_by(folder / "nests-profile.html")
    must(len(small) == 4 and all(re.match(r"V\d: ", t) for t in small), f"{small}")


def large_explained(minifut, folder):
    run(minifut, folder, "explain", "--html", str(folder / "large.html"), str(ROOT / "bench/OptionPricing/OptionPricing.sf"))
    Page(folder / "large.html")


CASES = [("doc", [doc_page]), ("tune", [tune_json, tune_page]), ("explain", [explain_page]), ("bench", [bench_page]),
         ("profile", [profile_page]), ("nests-tune", [nests_tuned]), ("nests-bench", [nests_timed]),
         ("nests-profile", [nests_profiled]), ("large", [large_explained])]


def main():
    args = sys.argv[1:]
    keep = None
    if args[0] == "-k":
        keep = Path(args[1]).resolve()
        keep.mkdir(parents=True, exist_ok=True)
        args = args[2:]
    minifut = str(Path(args[0]).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        folder = Path(tmp)
        prepare(minifut, folder)
        for name, asked in CASES:
            todo = [(f.__name__, lambda f=f: f(minifut, folder)) for f in asked]
            if CHROMIUM:
                todo.append((f"{name} in a browser", lambda: in_browser(folder / f"{name}.html", keep, name.startswith(("nests", "large")))))
            else:
                checks.skip("chromium")
            for what, check in todo:
                try:
                    check()
                    passed += 1
                except (Failed, subprocess.SubprocessError, OSError, KeyError, ValueError) as e:
                    print(f"FAIL {what}: {type(e).__name__}: {e}", flush=True)
                    failed += 1
            if keep and (folder / f"{name}.html").exists():
                shutil.copy(folder / f"{name}.html", keep)
    checks.ending(passed, failed)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
