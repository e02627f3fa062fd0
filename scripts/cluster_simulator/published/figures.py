# SPDX-License-Identifier: GPL-2.0-only
"""What a comparison with published steps says: errors of groups of rows, what a constant MFU would
do, and ratios between rows, which no constant gives.
"""

import collections
import math
import re
import statistics

Summary = collections.namedtuple("Summary", "rows median p90 bias worst")

# A ratio or the like, published and simulated; `unit` is "%" or "".
Derived = collections.namedtuple("Derived", "name published simulated unit")


def quantile(values, share):
    """The smallest value that at least this share of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(ratios):
    """Of simulated over published times. `bias` is the geometric mean less 1."""
    errors = [abs(ratio - 1) for ratio in ratios]
    return Summary(
        len(ratios),
        statistics.median(errors),
        quantile(errors, 0.9),
        math.exp(statistics.fmean(map(math.log, ratios))) - 1,
        max(ratios, key=lambda ratio: abs(ratio - 1)) - 1,
    )


def timed(results):
    """Rows with a time, that ran."""
    return [(row, step) for row, step in results if row.seconds and not isinstance(step, str)]


def groups(results):
    """Rows by table and GPU, and what tells them apart; then by GPU; then all."""
    of = collections.OrderedDict()
    rows = timed(results)
    for row, step in rows:
        of.setdefault((row.table, row.gpu, row.kind), []).append((row, step))
    tables = collections.Counter(table for table, _, _ in of)
    for row, step in rows:
        if sum(key[:2] == (row.table, row.gpu) for key in list(of) if key[2] != "all") > 1:
            of.setdefault((row.table, row.gpu, "all"), []).append((row, step))
    if len(tables) > 1:
        for row, step in rows:
            of.setdefault(("all tables", row.gpu, ""), []).append((row, step))
    return of


def model_flops(step):
    """Of a step, a GPU: what its MFU counts, in TFLOP."""
    return step.tflops * step.seconds


def constant_mfu(rows):
    """Ratios of a prediction that knows FLOPs and peaks only: one MFU for these rows, the median of
    theirs (which is the hardest to beat, as it knows them).
    """
    mfus = [model_flops(step) / step.peak / row.seconds for row, step in rows]
    one = statistics.median(mfus)
    return [mfu / one for mfu in mfus]


def ranks(values):
    """From 1 on; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) + 1) / 2 for v in values]


def correlation(a, b):
    """Pearson's; of ranks Spearman's. None where one of them does not vary."""
    da, db = ([x - statistics.fmean(v) for x in v] for v in (a, b))
    norm = math.sqrt(sum(x * x for x in da) * sum(y * y for y in db))
    return sum(x * y for x, y in zip(da, db)) / norm if norm else None


def line(points):
    """(slope, intercept) of y over x, least squares; None where all x are one."""
    xs, ys = zip(*points)
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - mx) ** 2 for x in xs)
    if not spread:
        return None
    slope = sum((x - mx) * (y - my) for x, y in points) / spread
    return slope, my - slope * mx


# ---- ratios between rows


def _pairs(results, begins, ends, base):
    """(row, step) of `begins`X`ends` beside that of `begins`X`base`, by X."""
    rows = {row.id: (row, step) for row, step in results if not isinstance(step, str)}
    for name in rows:
        if name.startswith(begins) and name.endswith(ends):
            other = name[: len(name) - len(ends)] + base
            if other in rows:
                yield name[len(begins) : len(name) - len(ends)], rows[name], rows[other]


def recomputation(results):
    for size, (full, full_step), (part, part_step) in _pairs(
        results, "seqsel-", "-full", "-sequ"
    ):
        yield Derived(
            f"full over selective recomputation, {size}",
            full.seconds / part.seconds,
            full_step.seconds / part_step.seconds,
            "",
        )


def sharded(results):
    """ZeRO-3 over tensor and pipeline parallelism, of the same model on as many GPUs."""
    for rest, (zero, zero_step), (ptd, ptd_step) in _pairs(results, "sc21-t2-", "", ""):
        if not rest.startswith("ZeRO-3-"):
            continue
        partner = next(
            (
                (row, step)
                for row, step in timed(results)
                if row.id == zero.id.replace("ZeRO-3", "PTD")
            ),
            None,
        )
        if partner:
            yield Derived(
                f"ZeRO-3 over tensor and pipeline, {rest[len('ZeRO-3-'):]}",
                zero.seconds / partner[0].seconds,
                zero_step.seconds / partner[1].seconds,
                "",
            )


def weak_scaling(results):
    """TFLOP/s a GPU over that of one GPU, both by the paper's count of FLOPs."""
    rows = [(row, step) for row, step in timed(results) if row.id.startswith("meg-sep20-")]
    for tail in ("-dgxa100", "-dgx2h"):
        these = [(r, s) for r, s in rows if r.id.endswith(tail) and r.facts["tflops"]]
        one = next(((r, s) for r, s in these if r.facts["gpus"] == 1), None)
        for row, step in these:
            if one is None or row is one[0]:
                continue
            work = row.facts["tflops"] * row.seconds / (one[0].facts["tflops"] * one[0].seconds)
            yield Derived(
                f"weak scaling, {row.facts['gpus']} GPUs ({row.id})",
                100 * work * one[0].seconds / row.seconds,
                100 * work * one[1].seconds / step.seconds,
                "%",
            )


def strong_scaling(results):
    """Speed-ups that are published without a time."""
    rows = [
        (row, step)
        for row, step in results
        if row.id.startswith("meg19-strong-") and not isinstance(step, str)
    ]
    one = next((step for row, step in rows if row.facts["gpus"] == 1), None)
    for row, step in rows:
        said = re.search(r"speed-up ([0-9.]+)x", row.facts["other"])
        if one and said and row.facts["gpus"] > 1:
            yield Derived(
                f"strong scaling, {row.facts['gpus']} GPUs ({row.id})",
                float(said.group(1)),
                one.seconds / step.seconds,
                "",
            )


def batches(results):
    """Step against global batch: slope and intercept."""
    rows = [(row, step) for row, step in timed(results) if row.id.startswith("bloom-gbs")]
    if len(rows) < 2:
        return
    published = line([(row.facts["global_batch"], row.seconds) for row, _ in rows])
    simulated = line([(row.facts["global_batch"], step.seconds) for row, step in rows])
    if published and simulated:
        for name, a, b in zip(("slope, ms a sample", "intercept, s"), published, simulated):
            scale = 1e3 if name.startswith("slope") else 1
            yield Derived(f"bloom-gbs: {name}", scale * a, scale * b, "")


def layouts(results):
    rows = [(row, step) for row, step in timed(results) if row.table == "BLOOM layouts"]
    if len(rows) < 3:
        return
    published = [row.seconds / row.facts["global_batch"] for row, _ in rows]
    simulated = [step.seconds / row.facts["global_batch"] for row, step in rows]
    rank = correlation(ranks(published), ranks(simulated))
    if rank is not None:
        yield Derived(f"BLOOM layouts: rank correlation of {len(rows)} rows", 1, rank, "")
    mean = statistics.fmean(abs(s / p - 1) for p, s in zip(published, simulated))
    yield Derived(f"BLOOM layouts: mean error of {len(rows)} rows", 0, 100 * mean, "%")


def data_scaling(results):
    """Samples/s a GPU over those of the smallest number of GPUs with the same work a GPU."""
    of = collections.OrderedDict()
    for row, step in timed(results):
        if "group" in row.facts:
            of.setdefault(row.facts["group"], []).append((row, step))
    for rows in of.values():
        rows.sort(key=lambda pair: pair[0].facts["gpus"])
        least, base = rows[0]
        if least.facts["gpus"] == 1 and len(rows) > 1 and rows[1][0].facts["gpus"] > 8:
            continue
        for row, step in rows[1:]:
            if row.facts["gpus"] == least.facts["gpus"]:
                continue
            work = row.facts["global_batch"] / row.facts["gpus"]
            work /= least.facts["global_batch"] / least.facts["gpus"]
            yield Derived(
                f"scaling from {least.facts['gpus']} GPUs, {row.id}",
                100 * work * least.seconds / row.seconds,
                100 * work * base.seconds / step.seconds,
                "%",
            )


def efficiency(results):
    """Samples/s a GPU over those of the fewer GPUs that a row names."""
    rows = {row.id: (row, step) for row, step in results if not isinstance(step, str)}
    for row, step in list(rows.values()):
        said = row.facts.get("efficiency")
        base = next((pair for id, pair in rows.items() if id.startswith(f"{row.id} (of ")), None)
        if said and base:
            per_gpu = [
                r.facts["global_batch"] / r.facts["gpus"] / s.seconds
                for r, s in ((row, step), base)
            ]
            yield Derived(
                f"scaling from {base[0].facts['gpus']} GPUs, {row.id}",
                said,
                100 * per_gpu[0] / per_gpu[1],
                "%",
            )


def bytes_a_sample(step):
    sent = sum(step.stats["bytes_sent_per_gpu"].values())
    return sent * step.stats["gpus"] / step.stats["global_batch"]


def pipedream(results):
    """Samples/s over those of data parallelism, bytes that are sent less, and the stages found."""
    of = collections.OrderedDict()
    for row, step in results:
        if "pipedream" in row.facts and not isinstance(step, str):
            of.setdefault(row.facts["pipedream"], {})[row.facts["what"]] = (row, step)
    for name, runs in of.items():
        if "auto" in runs:
            row, step = runs["auto"]
            found = step.stats["configuration"]["training"]["replicas"]
            yield Derived(f"{name}: stages", row.facts["config"], found, "")
        ours = runs.get("", runs.get("auto"))
        if "BSP" not in runs or not ours:
            continue
        row, step = ours
        bsp = runs["BSP"][1]
        yield Derived(
            f"{name}: times data parallelism",
            row.facts["over"],
            step.stats["samples_per_s"] / bsp.stats["samples_per_s"],
            "",
        )
        less = 100 * (1 - bytes_a_sample(step) / bytes_a_sample(bsp))
        yield Derived(f"{name}: sends less", row.facts["less"], less, "%")


def perceptron(results):
    for row, step in timed(results):
        if "minutes" in row.facts:
            minutes = step.seconds / row.facts["batches"] * 10 * 1875 / 60
            yield Derived(f"{row.id}: minutes", row.facts["minutes"], minutes, "")


def derived(results):
    found = []
    for each in (
        recomputation,
        sharded,
        weak_scaling,
        strong_scaling,
        batches,
        layouts,
        data_scaling,
        efficiency,
        pipedream,
        perceptron,
    ):
        found += each(results)
    return found
