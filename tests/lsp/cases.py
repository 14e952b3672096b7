"""What the cases of the suite share."""
from client import Client, Failed

cases = []  # name, function of the compiler's path


def case(f):
    """A case that is given the compiler's path."""
    cases.append((f.__name__, f))
    return f


def session(f):
    """A case that is given a client; the server must end in order."""
    def run(minifut):
        c = Client(minifut)
        try:
            f(c)
            same(c.stop(), 0, 'exit code')
        finally:
            c.kill()
    cases.append((f.__name__, run))
    return f


def same(got, want, what='result'):
    if got != want:
        raise Failed(f'{what} is {got!r}, not {want!r}')


def holds(got, part, what='result'):
    if part not in got:
        raise Failed(f'{what} is {got!r}, without {part!r}')


def units(text):
    """UTF-16 code units."""
    return len(text.encode('utf-16-le', 'surrogatepass')) // 2


def position(text, offset):
    """Of an offset in characters, for texts with the line ends of Unix."""
    line = text.rfind('\n', 0, offset) + 1
    return text.count('\n', 0, offset), units(text[line:offset])


def place(text, marked):
    """The position of the ^ in `marked`, which without it stands in the text once."""
    plain = marked.replace('^', '')
    assert text.count(plain) == 1, (marked, text.count(plain))
    return position(text, text.index(plain) + marked.index('^'))


def span(text, r):
    """The piece of the text in a range of one line, which is the same in characters and units here."""
    line = text.split('\n')[r['start']['line']]
    same(r['start']['line'], r['end']['line'], 'last line of the range')
    raw = line.encode('utf-16-le')
    return raw[2 * r['start']['character']:2 * r['end']['character']].decode('utf-16-le')
