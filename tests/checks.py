"""What the runners in Python share: checks and the line that sums them up."""

passed = failed = 0


def check(ok, what):
    global passed, failed
    passed += bool(ok)
    failed += not ok
    if not ok:
        print("failed:", what)


def summary():
    """The last line of a suite, and the exit status."""
    print(f"{passed} passed, {failed} failed")
    return failed > 0
