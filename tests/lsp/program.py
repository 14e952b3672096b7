"""A program of many lines, as people write them: for times."""


def definition(k):
    """Ten lines that use the definitions before them."""
    before = f'(step{k - 1} (map (.x) ps))' if k else '(map (.x) ps)'
    return f'''\
-- | Step {k}.
def step{k} [n] (xs: [n]f32): [n]f32 =
  let ps = map2 (\\x i -> {{x = x + {k}, y = f32.i64 i}}) xs (indices xs)
  let total = reduce (+) 0 (map (\\p -> p.x * p.y) ps)
  let best = loop m = total for p in ps do f32.max m (if p.x < p.y then p.x else p.y)
  let (low, high) = (f32.minimum xs, f32.maximum xs)
  let scaled = scan (+) 0 (map (\\x -> (x - low) / (high - low + 1)) {before})
  in map2 (\\x s -> x + s * best) xs scaled

'''


def program(lines=2000):
    text = ''.join(definition(k) for k in range(lines // 9))
    return text + f'entry main [n] (xs: [n]f32): [n]f32 = step{lines // 9 - 1} xs\n'
