# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--recovery and --checkpoint-every: when a failure is known, what recovering from it costs."""

import os
import random

from _same_bytes import ALWAYS, SameBytesTest
from _system_test import PROGRESS, SLOWER, Run, captured, main

# Seeded runs of the property test: RECOVERY_RUNS=200 for all of them.
RUNS = int(os.environ.get("RECOVERY_RUNS", "16"))

QUIET = "--report=0 --timeline=0 --progress=0"
# Nobody shares a link with anybody else in a ring on one switch.
BASE = (
    "dltrain --model=gpt2 --micro-batch=1 --seq=128 --warmup=1 --steps=4"
    f" --topology=single-switch {QUIET}"
)
# What the launcher, the abort and the restart take here, us.
MONITOR, ABORT, RESTART = 700, 300, 2000
TIMES = f" --monitor-interval={MONITOR}us --abort-time={ABORT}us --restart-time={RESTART}us"
SOON = TIMES.replace(f"{MONITOR}us", "1us", 1)
# 1 us of the shortest cable: when what one rank did is known to all.
WORD = 1

# And how exactly a run repeats: where several share a link, who comes first depends on times.
SHAPES = (
    ("--servers=2 --gpus-per-server=1 --zero=0", 0),
    ("--servers=3 --gpus-per-server=1 --zero=1", 0),
    ("--servers=3 --gpus-per-server=2 --zero=2", 0.01),
    ("--servers=5 --gpus-per-server=1 --zero=3 --nic=EDR", 0),
    ("--servers=2 --gpus-per-server=4 --zero=0 --tp=2 --nics-per-server=2", 0),
    ("--servers=4 --gpus-per-server=1 --zero=0 --pp=2 --accumulation=2 --cc=none", 0.01),
)


class RecoveryTest(SameBytesTest):
    def recovery(self, line, status=0):
        """The key of stats.json, whose parts are all the time there was."""
        run = self.run_program(line, status=status)
        self.check(run)
        return run.stats["recovery"]

    def check(self, run):
        of = run.stats["recovery"]
        parts = sum(of[f"{part}_us"] for part in ("useful", "checkpoint", "lost", "recovering"))
        self.assertAlmostEqual(parts, of["elapsed_us"], places=3)
        self.assertAlmostEqual(of["goodput"], of["useful_us"] / of["elapsed_us"], places=9)
        self.assertAlmostEqual(
            of["lost_us"],
            sum(failure["lost_us"] for failure in of["failures"]),
            places=3,
        )
        self.assertEqual(of["gave_up"] is not None, run.status == 3)

    def healthy(self, shape, more=""):
        return self.recovery(f"{BASE} {shape} --recovery=restart {more}")


class Checkpoints(RecoveryTest):
    def test_what_writing_costs(self):
        """After steps 2 and 4 of 5, as long as the bytes of a server take, and a word to all."""
        for shape, rough in SHAPES[:4]:
            with self.subTest(shape):
                plain = self.healthy(shape)
                run = self.run_program(
                    f"{BASE} {shape} --checkpoint-every=2 --checkpoint-rate=40Gbps"
                )
                self.check(run)
                of = run.stats["recovery"]
                words = dict(word[2:].split("=") for word in shape.split())
                zero, gpus = int(words["zero"]), int(words["gpus-per-server"])
                ranks = gpus * int(words["servers"])
                # bf16 weights, whole up to stage 2; a copy in 32 bits and Adam's two moments,
                # whole in stage 0 (ZeRO, arXiv 1910.02054, section 3): padded to whole shards.
                psi = run.stats["parameters"]
                held = 2 * psi / (ranks if zero == 3 else 1) + 12 * psi / (ranks if zero else 1)
                self.assertWithin(of["checkpoint_bytes_of_server"], gpus * held, 0.001)
                time = of["checkpoint_bytes_of_server"] * 8 / 40e3
                self.assertAlmostEqual(of["checkpoint_time_us"], time, places=5)
                self.assertEqual(of["checkpoints"], 2)
                self.assertAlmostEqual(of["checkpoint_us"], 2 * (time + WORD), places=5)
                self.assertAlmostEqual(
                    of["elapsed_us"],
                    plain["elapsed_us"] + of["checkpoint_us"],
                    delta=1e-5 + rough * plain["elapsed_us"],
                )


class Restart(RecoveryTest):
    def test_from_the_beginning(self):
        """Without checkpoints the job begins again as it did: to the picosecond."""
        for number, (shape, rough) in enumerate(SHAPES):
            with self.subTest(shape):
                plain = self.healthy(shape)
                at = (0.37 + 0.1 * number) * plain["elapsed_us"]
                of = self.recovery(
                    f"{BASE} {shape} --recovery=restart --spares=1 {TIMES}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-1"
                )
                (failure,) = of["failures"]
                self.assertEqual(failure["known_by"], "launcher")
                self.assertAlmostEqual(failure["failed_us"], at, places=5)
                self.assertAlmostEqual(failure["known_us"], at + MONITOR, places=5)
                self.assertAlmostEqual(
                    failure["resumed_us"], at + MONITOR + ABORT + RESTART, places=5
                )
                self.assertAlmostEqual(of["lost_us"], at + MONITOR, places=5)
                self.assertAlmostEqual(of["recovering_us"], ABORT + RESTART, places=5)
                self.assertAlmostEqual(
                    of["elapsed_us"],
                    at + MONITOR + ABORT + RESTART + plain["elapsed_us"],
                    delta=1e-5 + rough * plain["elapsed_us"],
                )
                self.assertEqual(len(failure["servers_failed"]), 1)
                self.assertEqual(len(failure["spares_taken"]), 1)

    def test_from_a_checkpoint(self):
        """known + abort + restart + bytes / rate + the steps behind the checkpoint = the end."""
        for shape, rough in SHAPES[1:4]:
            with self.subTest(shape):
                more = "--checkpoint-every=2 --checkpoint-rate=400Gbps"
                plain = self.healthy(shape, more)
                time = plain["checkpoint_time_us"]
                step = plain["useful_us"] / 5  # they are alike
                # In the fourth step: of the second checkpoint none is there, the third is lost.
                at = 3.5 * step + time
                of = self.recovery(
                    f"{BASE} {shape} {more} --recovery=restart --spares=2 {SOON}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-0"
                )
                (failure,) = of["failures"]
                self.assertEqual(failure["from_step"], 2)
                self.assertEqual(failure["steps_lost"], 1)
                self.assertAlmostEqual(failure["read_us"], time, places=5)
                resumed = at + 1 + ABORT + RESTART + time
                self.assertAlmostEqual(failure["resumed_us"], resumed, places=5)
                # Steps 3, 4, a checkpoint, step 5.
                # A step that begins on new queue pairs is as quick to a thousandth.
                near = (1e-3 + rough) * step
                self.assertAlmostEqual(
                    of["elapsed_us"], resumed + 3 * step + time + WORD, delta=3 * near
                )
                self.assertAlmostEqual(failure["recomputed_us"], resumed + step, delta=near)

    def test_who_notices_first(self):
        """A NIC that is dead: queue pairs give up, or the watchdog does if it is sooner."""
        shape = "--servers=3 --gpus-per-server=1 --zero=1"
        give_up = 4.096 * 2**10 * 8  # longer than the longest collective, and so is the watchdog
        for watchdog, by in (("1s", "queue pair"), ("25ms", "watchdog")):
            run = self.run_program(
                f"{BASE} {shape} --recovery=restart --spares=1 {TIMES} --timeout-exponent=10"
                f" --watchdog={watchdog} --fault=nic-down,at=3ms,on=server-1"
            )
            self.check(run)
            of = run.stats["recovery"]
            self.assertAlmostEqual(of["queue_pair_gives_up_us"], give_up, places=3)
            (failure,) = of["failures"]
            self.assertEqual(failure["known_by"], by)
            self.assertEqual(failure["servers_failed"], ["server-1"])
            self.assertEqual(failure["spares_taken"], ["server-3"])
            waited = failure["known_us"] - 3000
            # From the last thing it heard, at most a step before; or from when it came to wait.
            self.assertGreater(waited, 24000 - of["useful_us"] / 5)
            self.assertLess(waited, (25000 if by == "watchdog" else give_up) + 1000)
            shown = f"known at {failure['known_us'] / 1000:.1f} ms by the {by}"
            self.assertIn(shown, " ".join(run.out.split()))

    def test_nobody_to_replace(self):
        shape = "--servers=2 --gpus-per-server=2 --zero=1"
        of = self.recovery(
            f"{BASE} {shape} --recovery=restart {TIMES} --fault=gpu-stop,at=1ms,on=gpu-3", status=3
        )
        self.assertIn("no spare server works", of["gave_up"])
        of = self.recovery(
            f"{BASE} {shape} --recovery=restart --spares=3 --max-restarts=1 {TIMES}"
            " --fault=gpu-stop,at=1ms,on=gpu-3 --fault=gpu-stop,at=5ms,on=gpu-0",
            status=3,
        )
        self.assertIn("--max-restarts", of["gave_up"])
        self.assertEqual([f["spares_taken"] for f in of["failures"]], [["server-2"], []])

    def test_a_failure_while_recovering(self):
        """The second one is known while the job begins again: that begins anew."""
        shape = "--servers=3 --gpus-per-server=1 --zero=2"
        plain = self.healthy(shape)
        of = self.recovery(
            f"{BASE} {shape} --recovery=restart --spares=2 {TIMES}"
            " --fault=gpu-stop,at=1ms,on=gpu-1 --fault=gpu-stop,at=2ms,on=gpu-2"
        )
        first, second = of["failures"]
        self.assertIsNone(first["resumed_us"])
        self.assertEqual(second["known_us"], 2000 + MONITOR)
        self.assertEqual(second["resumed_us"], 2000 + MONITOR + ABORT + RESTART)
        self.assertEqual(second["lost_us"], 0)
        self.assertAlmostEqual(
            of["elapsed_us"], second["resumed_us"] + plain["elapsed_us"], places=5
        )


class Shrink(RecoveryTest):
    def test_a_replica_leaves(self):
        """Then steps take what those of a job without it take; what had ended stays."""
        for shape, fewer, left in (
            ("--servers=3 --gpus-per-server=1", "--servers=2 --gpus-per-server=1", [2]),
            ("--servers=5 --gpus-per-server=1", "--servers=4 --gpus-per-server=1", [4]),
            (
                "--servers=3 --gpus-per-server=2 --tp=2",
                "--servers=2 --gpus-per-server=2 --tp=2",
                [4, 5],
            ),
        ):
            with self.subTest(shape):
                zero = " --zero=0"
                plain = self.healthy(shape + zero)
                after = self.healthy(fewer + zero)
                step = plain["useful_us"] / 5
                at = 2.5 * step
                of = self.recovery(
                    f"{BASE} {shape} {zero} --recovery=shrink {SOON}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-{left[-1]}"
                )
                (failure,) = of["failures"]
                self.assertEqual(failure["ranks_left"], left)
                self.assertEqual(of["ranks"], plain["ranks"] - len(left))
                self.assertEqual(failure["steps_lost"], 0)
                self.assertEqual(failure["from_step"], 2)
                self.assertAlmostEqual(failure["resumed_us"], at + 1 + ABORT + RESTART, places=5)
                self.assertAlmostEqual(
                    of["elapsed_us"],
                    failure["resumed_us"] + 3 * after["useful_us"] / 5,
                    delta=1e-3 * step,
                )

    def test_nobody_is_left(self):
        of = self.recovery(
            f"{BASE} --servers=2 --gpus-per-server=1 --zero=0 --recovery=shrink {TIMES}"
            " --fault=gpu-stop,at=1ms,on=gpu-0 --fault=gpu-stop,at=1ms,on=gpu-1",
            status=3,
        )
        self.assertIn("no replica of the model is left", of["gave_up"])


class SameBytes(RecoveryTest):
    def test_engines_and_threads(self):
        line = (
            f"{BASE.replace(' --progress=0', '')} --servers=3 --gpus-per-server=1 --zero=1"
            " --recovery=restart --spares=1"
            f" --checkpoint-every=2 --checkpoint-rate=400Gbps --timeout-exponent=6 {TIMES}"
            " --fault=nic-down,at=6ms,on=server-1"
        )
        expected = self.written(line + " --threads=1", without=["events"])
        for more in (" --engine=ns3", " --threads=2" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(line + more, without=["events"]), expected)


class Property(RecoveryTest):
    """Faults at random times under each policy: each run ends with all its steps, or says why."""

    def test_random_faults(self):
        for seed in range(RUNS):
            chance = random.Random(seed)
            servers = chance.choice([2, 3, 5])
            policy = chance.choice(["restart", "restart", "shrink"])
            zero = 0 if policy == "shrink" else chance.randint(0, 3)
            words = []
            for _ in range(chance.randint(1, 3)):
                at = chance.randint(0, 30000)
                what = chance.choice(
                    [
                        f"gpu-stop,on=gpu-{chance.randrange(servers)}",
                        f"gpu-stop,on=gpu-{chance.randrange(servers)},for=2ms",
                        f"nic-down,on=server-{chance.randrange(servers)}",
                        f"nic-down,on=server-{chance.randrange(servers)},for=3ms",
                        "switch-down,on=leaf-0",
                        "switch-down,on=spine-0",
                        "switch-down,on=leaf-1,for=4ms",
                    ]
                )
                kind, rest = what.split(",", 1)
                words.append(f"--fault={kind},at={at}us,{rest}")
            line = (
                "dltrain --model=gpt2 --micro-batch=1 --seq=128"
                f" --warmup={chance.randint(0, 1)} --steps={chance.randint(1, 3)}"
                " --topology=leaf-spine --leaves=4 --spines=2 --hosts-per-leaf=2"
                f" --servers=8 --gpus={servers} --gpus-per-server=1 --zero={zero} --seed={seed}"
                f" {'--nic=EDR' if chance.random() < 0.3 else ''} --recovery={policy}"
                f" {'--spares=' + str(chance.randint(0, 3)) if policy == 'restart' else ''}"
                f" {'--checkpoint-every=1 --checkpoint-rate=1Tbps' if seed % 2 else ''}"
                f" --timeout-exponent=5 --watchdog={chance.choice([2, 20, 200])}ms {TIMES}"
                f" {' '.join(words)} {QUIET}"
            )
            if any("down" in word for word in words):
                line += " --convergence=200us"
            with self.subTest(line):
                words, out = self.command(line)
                done = captured(words, cwd=self.folder, timeout=SLOWER * 120)
                run = Run(words, done.returncode, done.stdout, PROGRESS.sub("", done.stderr), out)
                self.assertIn(run.status, (0, 3), str(run))
                self.check(run)
                self.assertEqual(run.stats["completed"], run.status == 0)


class Refused(RecoveryTest):
    def test_bad_input(self):
        self.refuse("dltrain --recovery=restrt", "did you mean 'restart'")
        self.refuse("dltrain --watchdog=1s", "--recovery=none")
        self.refuse("dltrain --spares=1", "--recovery=restart")
        self.refuse("dltrain --checkpoint-rate=1Gbps", "--checkpoint-every")
        self.refuse("dltrain --recovery=shrink --zero=1", "shards", "--zero=0")
        self.refuse("dltrain --recovery=restart --network=analytic", "packets")
        self.refuse("dltrain --recovery=restart --mpi-ranks=2", "one process")
        self.refuse("dltrain --recovery=restart --layers=4", "--layers")
        self.refuse("dltrain --servers=4 --gpus=32 --gpus-per-server=8 --recovery=restart --spares=1",
                    "at most 0")
        jobs = self.write("jobs.json", {"jobs": [{"name": "a", "servers": 2}]})
        self.refuse(f"dltrain --jobs={jobs} --recovery=restart", "without --jobs")


if __name__ == "__main__":
    main()
