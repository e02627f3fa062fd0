# How sure steps are, from tests/golden/training/compared-steps.csv: the programs have the groups of
# that table, and of rows that are held back as many lie in the bands of the others as these say.
import csv
import hashlib
import math
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "scripts"))

from cluster_simulator.published import bands  # noqa: E402

with open(os.path.join(TOP, bands.ROWS), encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def test_code_is_that_of_the_rows():
    with open(os.path.join(TOP, bands.CODE), encoding="utf-8") as code:
        assert code.read() == bands.code_text(ROWS), "scripts/published --bands"


# Of 1 to 9 the smallest and the largest are the band, which holds one more with 8 of 10; of 19 the
# second and the 18th: 16 of 20; of 5 the range: 4 of 6.
def test_order_statistics():
    nine = bands.band([9, 1, 2, 3, 4, 5, 6, 7, 8])
    assert nine == (9, 1, 9, 0.8), nine
    assert bands.band(range(1, 20)) == (19, 2, 18, 0.8)
    five = bands.band([1, 2, 3, 4, 5])
    assert five[:3] == (5, 1, 5) and abs(five.share - 4 / 6) < 1e-12, five


# Half of the rows, by a hash of their names, are held back. Three deviations of a binomial number
# are allowed below the stated share. With a share of nearly 1 stated for half as wide bands this
# fails, which is tried, too.
def held(width=1.0):
    def is_held(row):
        return hashlib.sha256(row["row"].encode()).digest()[0] % 2 == 0

    known = bands.groups([row for row in ROWS if not is_held(row)])
    inside = expected = variance = judged = 0
    for kind, factors in bands.groups([row for row in ROWS if is_held(row)]).items():
        if not kind[1] or kind not in known:
            continue
        one = bands.band(known[kind])
        middle = math.sqrt(one.least * one.most)
        least, most = (middle * (end / middle) ** width for end in (one.least, one.most))
        judged += len(factors)
        inside += sum(least <= factor <= most for factor in factors)
        expected += one.share * len(factors)
        variance += one.share * (1 - one.share) * len(factors)
    return inside, expected, math.sqrt(variance), judged


def test_held_rows_lie_inside():
    inside, expected, deviation, judged = held()
    print(f"{inside} of {judged} held rows inside, {expected:.0f} expected")
    assert judged >= 80, judged
    assert inside >= expected - 3 * deviation, (inside, expected, deviation)
    narrow, *_ = held(0.3)
    assert narrow < expected - 3 * deviation, narrow


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
