# How sure simulated numbers are, from tests/golden/measured/compared-*.csv: the programs have the
# groups of those tables, and sources that are left out lie in the bands of the others as these say.
import math
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "scripts"))

from cluster_simulator.published import bands  # noqa: E402

ROWS = [row for path in bands.FACETS for row in bands.read(os.path.join(TOP, path))]


def test_code_is_that_of_the_rows():
    with open(os.path.join(TOP, bands.CODE), encoding="utf-8") as code:
        assert code.read() == bands.code_text(ROWS), "scripts/published --update"


# Six sources of a row each, weights 1/7: 80% are all of them. The median is the third value, 4, the
# quartiles are the second and the fifth: a factor of 2 below, one of 4 above. 1 is two quartiles
# below, 32 one and a half above: so two of either, 4 / 2^2 and 4 x 4^2.
def test_few_sources():
    least, most, share = bands.spread([[1], [2], [4], [8], [16], [32]])
    assert math.isclose(least, 1) and math.isclose(most, 64) and math.isclose(share, 6 / 7), (
        least, most, share)
    assert bands.spread([[1], [2], [4], [8], [16]]) is None


# Nine sources, each with a row at 1 and one at its own factor: each source weighs the same, however
# many rows it has.
def test_sources_weigh_the_same():
    units = [[1.0, 1 + n / 10] for n in range(9)]
    many = [unit * 50 if n == 8 else unit for n, unit in enumerate(units)]
    assert bands.spread(units) == bands.spread(many)


def random_units(seed, sources, rows):
    import random

    draw = random.Random(seed)
    for _ in range(sources):
        centre = draw.gauss(0, 0.1)
        yield [math.exp(centre + draw.gauss(0, 0.1)) for _ in range(rows)]


# A row of a source that nobody has seen lies in the band with 80% or more, for bands of 6 to 20
# sources: 2,000 bands, so 0.9 points are a deviation; three are allowed.
def test_an_unseen_source_is_held():
    for sources in (6, 8, 20):
        inside = 0
        for seed in range(2000):
            *known, new = random_units(seed, sources + 1, 5)
            least, most, _ = bands.spread(known)
            inside += least <= new[0] <= most
        assert inside / 2000 >= 0.8 - 3 * 0.009, (sources, inside)


# Each source of ten rows and more is left out in turn. With bands half as wide this fails, which is
# tried, too.
def coverage(width=1.0):
    of = {}
    for one in bands.left_out(ROWS, width):
        if one.banded >= 10:
            of.setdefault(one.metric, []).append(one.inside / one.banded)
    return {metric: sum(shares) / len(shares) for metric, shares in of.items()}


def test_sources_left_out():
    shares = coverage()
    print(", ".join(f"{metric}: {share:.0%}" for metric, share in shares.items()))
    assert all(0.7 <= share <= 0.95 for share in shares.values()), shares
    narrow = coverage(0.5)
    assert all(share < 0.7 for share in narrow.values()), narrow


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
