# SPDX-License-Identifier: GPL-2.0-only
"""dltrain: the order of collectives (--collective-order, --collective-chunk, --in-flight) and the
next forward beside them (--overlap-next-forward).

The cases of a file as schedule_orders.json can be run by themselves:

    python3 tests/system/dltrain/collective-order.py --cases=FILE
"""

import json
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main

RATE = 50  # bytes per ns of 400GbE
# The formula of a ring of two: two steps, each with the time of a packet of 4096 B before the next
# node has it (store and forward); no delays, no library. So bytes / RATE = r - 2 * 4096 / RATE.
ALPHA_BYTES = 2 * 4096
LEAST_CHUNK = 64 << 10
ORDERS = ("fifo", "lifo", "priority")


def closed_form(case, order):
    """The time from one backward to the next, us.

    Backward of layers L to 1 takes b each, and makes the layer's gradients. Their reduction takes
    r, in equal chunks, one chunk at a time: of those that are ready, by the order. The forward of
    the next step, of layers 1 to L, takes f each and waits for the layer's own reduction.
    """
    layers, chunks = case["layers"], case["chunks"]
    ready = {layer: (layers - layer + 1) * case["backward_us"] for layer in range(1, layers + 1)}
    left = dict.fromkeys(ready, chunks)
    done = {}
    now = 0.0
    while left:
        here = [layer for layer in left if ready[layer] <= now + 1e-9]
        if not here:
            now = min(ready[layer] for layer in left)
            continue
        # In a chain of layers the lowest that is ready is also the last that became ready.
        layer = max(here) if order == "fifo" else min(here)
        now += case["reduce_us"] / chunks
        left[layer] -= 1
        if left[layer] == 0:
            del left[layer]
            done[layer] = now
    time = layers * case["backward_us"]
    for layer in range(1, layers + 1):
        time = max(time, done[layer]) + case["forward_us"]
    return time


class CollectiveOrder(SameBytesTest):
    def chain(self, case, order):
        """The line that runs a case exactly."""
        # Of whole elements on both GPUs: to 0.08 ns, where r is no multiple of c.
        chunk = RATE * case["reduce_us"] * 1000 / case["chunks"] - ALPHA_BYTES
        chunk = 8 * round(chunk / 8)
        self.assertGreaterEqual(chunk, LEAST_CHUNK, "shorter chunks are refused")
        layer = {
            "forward_us": case["forward_us"],
            "backward_us": case["backward_us"],
            "activation_bytes": 4,
            "parameter_bytes": case["chunks"] * chunk,
        }
        profile = self.write(
            "chain.json",
            {
                "name": "chain",
                "batch": 1,
                "element_bytes": 4,
                "optimizer_us": 0,
                "layers": [{"name": f"layer {i + 1}", **layer} for i in range(case["layers"])],
            },
        )
        return (
            f"dltrain --profile={profile} --overlap-next-forward --collective-order={order} "
            f"--collective-chunk={chunk} --buckets={layer['parameter_bytes']} --micro-batch=1 "
            "--dtype=fp32 --gpu=A100 --servers=2 --gpus-per-server=1 --nics-per-server=1 "
            "--topology=single-switch --network=analytic --collective-times=formula "
            "--library=none --nic=400GbE --link-delay=0ns --switch-latency=0ns --ignore-memory "
            "--steps=2"
        )

    def check_case(self, case, orders=ORDERS):
        for order in orders:
            with self.subTest(order=order, **case):
                expected = closed_form(case, order)
                if "step_us" in case:
                    self.assertAlmostEqual(case["step_us"][order], expected, places=6)
                stats = self.run_program(self.chain(case, order)).stats
                rounding = 1e-4 * case["layers"] * case["chunks"]
                self.assertAlmostEqual(stats["step_time_us"], expected, delta=1e-3 + rounding)

    def test_closed_form(self):
        cases = [
            # 8 x 100 of backward, the last reduction behind it, 8 x 50 of forward: no order helps.
            {"layers": 8, "backward_us": 100, "forward_us": 50, "reduce_us": 100, "chunks": 1}
            | {"step_us": {"fifo": 1300, "lifo": 1300, "priority": 1300}},
            # fifo: reductions end at 100 + 8 x 200 = 1700, layer 1's last; then 8 x 50. priority:
            # layer 8's are the last, at 1700, and its forward alone is behind them.
            {"layers": 8, "backward_us": 100, "forward_us": 50, "reduce_us": 200, "chunks": 8}
            | {"step_us": {"fifo": 2100, "lifo": 1750, "priority": 1750}},
            # 40 + 12 x 90 = 1120, and 12 x 20 or 20 behind it.
            {"layers": 12, "backward_us": 40, "forward_us": 20, "reduce_us": 90, "chunks": 3}
            | {"step_us": {"fifo": 1360, "lifo": 1140, "priority": 1140}},
        ]
        for case in cases:
            self.check_case(case)

    def test_random_cases(self):
        draw = random.Random(80)
        for _ in range(12):
            chunks = draw.randint(1, 6)
            self.check_case(
                {
                    "layers": draw.randint(1, 16),
                    "backward_us": draw.randint(5, 200),
                    "forward_us": draw.randint(5, 200),
                    "reduce_us": draw.randint(2 * chunks, 80 * chunks),
                    "chunks": chunks,
                },
                [draw.choice(ORDERS)],
            )

    def test_same_bytes(self):
        """Over engines, threads and processes, with packets: ranks leave a collective at different
        times, and another rank chooses the next one.
        """
        for more in ("--collective-order=priority --in-flight=2", "--collective-order=lifo"):
            line = (
                "dltrain --model=vgg-11 --servers=4 --gpus-per-server=1 --nics-per-server=1 "
                "--topology=single-switch --nic=400GbE --micro-batch=8 --overlap-next-forward "
                f"--collective-chunk=32MB --warmup=1 --steps=1 --jitter=0.05 {more}"
            )
            expected = self.written(line)
            self.check_same(self.written(f"{line} --threads=2{ALWAYS}"), expected)
        self.compare_ranks(line, (2,))

    def test_refused(self):
        line = "dltrain --servers=2 --dry-run "
        for given, *words in (
            ("--collective-order=priorty", "--collective-order", "did you mean", "priority"),
            ("--collective-chunk=4KiB", "--collective-chunk", "64KiB"),
            ("--in-flight=0", "--in-flight", "1 to 64"),
            ("--strategy=downpour --zero=0 --collective-order=priority", "--strategy=sync"),
            ("--strategy=downpour --zero=0 --overlap-next-forward", "--strategy=sync"),
            ("--overlap-next-forward --zero=3", "--overlap-next-forward", "--zero=0"),
            ("--overlap-next-forward --pp=2", "--overlap-next-forward", "--pp=1"),
            ("--overlap-next-forward --layers=4", "--overlap-next-forward", "--layers"),
            ("--overlap-next-forward --loader=100", "--overlap-next-forward", "--loader"),
            (
                "--overlap-next-forward --gradient-compression=topk:0.1",
                "--overlap-next-forward",
                "--gradient-compression",
            ),
            ("--service-levels=tp:1", "--service-levels", "dp"),
            ("--service-levels=dp:9", "--service-levels", "0 to 7"),
            ("--service-levels=dp:1 --network=fluid", "--service-levels", "--network=packet"),
            ("--service-levels=dp:1 --fabric=ib", "--service-levels", "--fabric=roce"),
            ("--study=in-fligth", "--study", "did you mean in-flight"),
        ):
            with self.subTest(given):
                self.refuse(line + given, *words)
        for given in ("--overlap-next-forward", "--study=in-flight"):
            self.refuse(f"dlplan --model=gpt2 --servers=2 --global-batch=64 {given}", given[:7])
            self.refuse(f"dlgoodput --model=gpt2 --servers=2 --step-time=1s {given}", given[:7])
        self.refuse("dlgoodput --servers=2 --collective-order=lifo", "--collective-order")
        said = self.run_program(line + "--collective-order=priority")
        self.assertIn("--overlap-next-forward", said.out + said.err)

    def test_service_levels(self):
        """With a strict priority of its own a group's packets pass those of the others."""
        line = (
            "dltrain --model=gpt2 --servers=4 --gpus-per-server=1 --nics-per-server=1 "
            "--topology=single-switch --nic=25GbE --tp=2 --zero=0 --micro-batch=1 --steps=1 "
        )
        exposed = {}
        for levels in ("dp:7,tp:0", "dp:0,tp:7"):
            stats = self.run_program(f"{line} --service-levels={levels}").stats
            exposed[levels] = stats["exposed_by_parallelism_us"]["tp"]
        self.assertLess(exposed["dp:0,tp:7"], exposed["dp:7,tp:0"])
        # One priority for all is as the usual one.
        usual = self.run_program(line).stats["step_time_us"]
        same = self.run_program(f"{line} --service-levels=dp:4,tp:4").stats["step_time_us"]
        self.assertAlmostEqual(same, usual, delta=usual * 1e-3)

    def test_study(self):
        line = self.chain(
            {"layers": 4, "backward_us": 20, "forward_us": 10, "reduce_us": 60, "chunks": 3},
            "fifo",
        ).replace("--collective-order=fifo ", "")
        run = self.run_program(f"{line} --study=collective-order,in-flight")
        rows = run.rows("study.csv")
        self.assertEqual(len(rows), 3 * 3)
        steps = [float(row["step_us"]) for row in rows]
        self.assertEqual(steps, sorted(steps))
        # fifo: 20 + 4 x 60 + 4 x 10; priority: layer 4's chunks are the last, its forward behind.
        best = {row["options"]: float(row["step_us"]) for row in rows}
        self.assertAlmostEqual(best["collective-order=fifo in-flight=1"], 300, places=3)
        self.assertAlmostEqual(best["collective-order=priority in-flight=1"], 270, places=3)


if __name__ == "__main__":
    asked = [word for word in sys.argv if word.startswith("--cases=")]
    if asked:
        sys.argv.remove(asked[0])
        with open(asked[0].split("=", 1)[1], encoding="utf-8") as file:
            CASES = json.load(file)["cases"]

        def test_closed_form(self):
            for case in CASES:
                self.check_case(case)

        CollectiveOrder.test_closed_form = test_closed_form
    main()
