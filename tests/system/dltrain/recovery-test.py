# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--recovery and --checkpoint-every: when a failure is known, what recovering from it costs."""

import itertools
import json
import os
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _report import page_data
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import (
    FULL,
    MTU,
    PROGRESS,
    SLOWER,
    Run,
    captured,
    main,
    share_of,
    write_packets,
)

# Seeded runs of the property test: RECOVERY_RUNS=200 for all of them.
RUNS = int(os.environ.get("RECOVERY_RUNS", "16" if FULL else "5"))

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
WORD = 2

# And how exactly a run repeats: where several share a link, who comes first depends on times.
SHAPES = (
    ("--servers=2 --gpus-per-server=1 --zero=0", 0),
    ("--servers=3 --gpus-per-server=1 --zero=1", 0),
    ("--servers=3 --gpus-per-server=2 --zero=2", 0.01),
    ("--servers=5 --gpus-per-server=1 --zero=3 --nic=EDR", 0),
    ("--servers=2 --gpus-per-server=4 --zero=0 --tp=2 --nics-per-server=2", 0),
    ("--servers=4 --gpus-per-server=1 --zero=0 --pp=2 --accumulation=2 --cc=none", 0.01),
)


def bits(rate):
    """Of "800Gbps" per us."""
    return float(rate[:-4]) * {"G": 1e3, "T": 1e6}[rate[-4]]


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
        # The clock of the run, which a word of its end reaches: over the shortest cable, and with
        # InfiniBand the time of the first bytes besides.
        if run.status == 0:
            self.assertWithin(run.stats["simulated_time_us"] - of["elapsed_us"], WORD, 0.06)

    def failed_once(self, line):
        """The run, its key of stats.json, and its only failure."""
        run = self.run_program(line)
        self.check(run)
        of = run.stats["recovery"]
        (failure,) = of["failures"]
        return run, of, failure

    def healthy(self, shape, more=""):
        return self.recovery(f"{BASE} {shape} --recovery=restart {more}")


class Checkpoints(RecoveryTest):
    def test_what_writing_costs(self):
        """After steps 2 and 4 of 5, as long as the bytes of a server take, and a word to all."""
        for shape, rough in share_of(SHAPES[:4], one_in=4, first=1):
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
                # bf16 weights, a copy in 32 bits and Adam's two moments (ZeRO, arXiv 1910.02054,
                # section 3). What is whole is written by the first rank alone, and read by every
                # server once; a server has a rank's share for each of its GPUs. Stage 3 writes the
                # 32-bit copy of the weights alone. Padded to whole shares.
                psi = run.stats["parameters"]
                whole = {0: 14 * psi, 3: 0}.get(zero, 2 * psi)
                shares = 12 * psi * gpus / ranks if zero else 0
                self.assertWithin(of["checkpoint_bytes"], (12 if zero == 3 else 14) * psi, 0.001)
                self.assertWithin(of["checkpoint_bytes_of_server"], whole + shares, 0.001)
                self.assertWithin(of["checkpoint_read_bytes_of_server"], whole + shares, 0.001)
                time = of["checkpoint_bytes_of_server"] * 8 / 40e3
                self.assertAlmostEqual(of["checkpoint_time_us"], time, places=5)
                self.assertAlmostEqual(
                    of["checkpoint_read_time_us"],
                    of["checkpoint_read_bytes_of_server"] * 8 / 40e3,
                    places=5,
                )
                self.assertEqual(of["checkpoints"], 2)
                self.assertAlmostEqual(of["checkpoint_us"], 2 * (time + WORD), places=5)
                self.assertAlmostEqual(
                    of["elapsed_us"],
                    plain["elapsed_us"] + of["checkpoint_us"],
                    delta=1e-5 + rough * plain["elapsed_us"],
                )


class CheckpointServers(RecoveryTest):
    """Checkpoints that are packets: S bytes over n NICs, and back."""

    # 11.7 million parameters.
    LINE = BASE.replace(
        "--model=gpt2 --micro-batch=1 --seq=128", "--model=resnet-18 --micro-batch=4"
    )
    SHAPES = (
        # servers, GPUs and NICs of each, Gb/s, storage servers, servers for each
        (2, 1, 1, "100GbE", 100, 2, 1),
        (3, 4, 2, "400GbE", 400, 3, 1),
        (3, 2, 2, "EDR", 100, 3, 1),
        (3, 1, 1, "100GbE --cc=none", 100, 1, 3),
        (4, 3, 3, "HDR", 200, 2, 2),
    )

    def of_nic(self, stats, ranks, gpus, nics, servers):
        """Of the NIC that has most, or the storage server's that it leads to, B: the first GPU's
        has the weights and, of so many servers, a share of the states for each GPU."""
        psi = stats["parameters"]
        return round(2 * psi + 12 * psi / ranks * gpus / nics * servers)

    def wire_us(self, size, gbps):
        return sum(bytes_ * count for bytes_, count in write_packets(size, MTU)) * 8 / gbps / 1000

    def test_free_network(self):
        for servers, gpus, nics, nic, gbps, storage, writers in share_of(self.SHAPES, one_in=2):
            ib = nic in ("EDR", "HDR")
            line = (
                f"{self.LINE} --servers={servers} --gpus-per-server={gpus} --nics-per-server={nics}"
                f" --nic={nic} --zero=1 --checkpoint-every=2 --checkpoint-servers={storage}"
            )
            with self.subTest(line):
                run = self.run_program(line)
                self.check(run)
                of = run.stats["recovery"]
                self.assertEqual(of["checkpoint_servers"], storage)
                self.assertIsNone(of["checkpoint_time_us"])
                of_nic = self.of_nic(run.stats, servers * gpus, gpus, nics, writers)
                least = self.wire_us(of_nic, gbps)
                if ib:
                    # LRH, BTH, ICRC, VCRC and two delimiters (InfiniBand Architecture 1) instead of
                    # Ethernet's 82 B a frame.
                    least *= (MTU + 8 + 12 + 4 + 2 + 2) / (MTU + 82)
                self.assertEqual(len(of["checkpoints_took_us"]), 2)
                for took in of["checkpoints_took_us"]:
                    self.assertGreater(took, least)
                    self.assertWithin(took, least, 0.01 if writers == 1 else 0.05)
                tags = {row["tag"] for row in run.rows("flows.csv")}
                self.assertIn("checkpoint", tags)
                # Those who rest have written: the parts are all the time there is.
                self.assertAlmostEqual(
                    of["checkpoint_us"], sum(of["checkpoints_took_us"]) + 2 * WORD, delta=2.1
                )

    def test_a_restart_reads(self):
        shapes = share_of(self.SHAPES[:3], one_in=3, first=1)
        for servers, gpus, nics, nic, gbps, storage, writers in shapes:
            line = (
                f"{self.LINE} --servers={servers} --gpus-per-server={gpus} --nics-per-server={nics}"
                f" --nic={nic} --zero=1 --checkpoint-every=2 --checkpoint-servers={storage}"
                f" --recovery=restart --spares=1"
            )
            with self.subTest(line):
                plain = self.recovery(line)
                took = plain["checkpoints_took_us"][0]
                at = 2.5 * plain["useful_us"] / 5 + took
                run = self.run_program(f"{line} {SOON} --fault=gpu-stop,at={at:.3f}us,on=gpu-0")
                self.check(run)
                (failure,) = run.stats["recovery"]["failures"]
                self.assertEqual(failure["from_step"], 2)
                of_nic = self.of_nic(run.stats, servers * gpus, gpus, nics, writers)
                least = self.wire_us(of_nic, gbps)
                self.assertWithin(failure["read_us"], least, 0.02)
                self.assertAlmostEqual(
                    failure["resumed_us"],
                    at + 1 + ABORT + RESTART + failure["read_us"],
                    delta=0.01,
                )

    def test_a_storage_server_is_cut_off(self):
        """Without a policy the job stands still and says in what; with one it gives up by name."""
        line = (
            f"{self.LINE} --servers=2 --gpus-per-server=1 --zero=1 --checkpoint-every=1"
            " --checkpoint-servers=1 --timeout-exponent=4 --fault=nic-down,at=1ms,on=server-2"
        )
        run = self.run_program(line, status=3)
        self.assertIn("checkpoint: ", run.stats["message"])
        of = self.recovery(f"{line} --recovery=restart {TIMES} --max-restarts=1", status=3)
        self.assertIn("--max-restarts", of["gave_up"])

    def test_a_storage_server_fails_the_job_again_and_again(self):
        """Each time by the fault that is still there, under its own name and not as a rank."""
        # No checkpoint is ever written: a restart has nothing that stands. A rebuild throws away no
        # step that has ended, which is the first of 5: its checkpoint is what fails.
        for servers, gpus, policy, done in ((3, 2, "restart", 0), (2, 3, "rebuild", 1 / 5)):
            line = (
                f"{self.LINE} --servers={servers} --gpus-per-server={gpus} --zero=1 --spares=1"
                f" --checkpoint-every=1 --checkpoint-servers=1 --timeout-exponent=6"
                f" --recovery={policy} --max-restarts=2 {TIMES}"
                f" --fault=nic-down,at=1ms,on=server-{servers + 1}"
            )
            with self.subTest(servers=servers, policy=policy):
                run = self.run_program(line, status=3)
                failures = run.stats["recovery"]["failures"]
                self.assertEqual([f["failed_us"] for f in failures], [1000] * 3)
                self.assertNotIn("no fault explains it", run.out)
                ranks = servers * gpus
                for failure in failures:
                    words = rf"^rank [0-{ranks - 1}]'s for storage server server-{servers + 1} \("
                    self.assertRegex(failure["what"], words)
                self.assertAlmostEqual(run.stats["share_done"], done)

    def test_a_network_in_two_parts(self):
        """Each failure of ranks that cannot reach each other is by the cuts that are in force."""
        of = self.recovery(
            BASE.replace("single-switch", "leaf-spine")
            + " --hosts-per-leaf=3 --servers=5 --gpus-per-server=1 --zero=2 --recovery=restart"
            + f" --spares=2 --timeout-exponent=8 --max-restarts=2 {TIMES}"
            + "".join(f" --fault=link-down,at=40ms,on=leaf-0-spine-{s}" for s in range(3)),
            status=3,
        )
        self.assertEqual([f["failed_us"] for f in of["failures"]], [40000] * 3)

    def test_what_it_recovers_from_is_no_end(self):
        """Queue pairs that gave up are told as failures, and not as what the run came to."""
        line = (
            f"{BASE} --servers=3 --gpus-per-server=1 --zero=0 --timeout-exponent=5"
            " --fault=nic-down,at=2ms,on=server-1"
        )
        run = self.run_program(f"{line} --recovery=restart --spares=1 {TIMES}")
        self.assertRegex(run.out, r"\nFailures +\d+ queue pairs? gave up after (its|their) last")
        self.assertNotIn("FAILED", run.out)
        run = self.run_program(line, status=3)
        self.assertRegex(run.out, r"\nFAILED +\d+ queue pairs? gave up after (its|their) last")

    def test_how_much_is_done(self):
        """Of steps that a checkpoint has, when what came behind it is lost and nobody goes on."""
        line = (
            f"{self.LINE} --servers=2 --gpus-per-server=1 --zero=1 --checkpoint-every=2"
            f" --checkpoint-rate=100Gbps --recovery=restart {TIMES}"
        )
        of = self.run_program(line).stats["recovery"]
        first = of["checkpoints_written_us"][0]
        # self.LINE has --warmup=1 --steps=4: the first checkpoint has 2 of 5.
        run = self.run_program(f"{line} --fault=gpu-stop,at={first + 1}us,on=gpu-0", status=3)
        self.assertAlmostEqual(run.stats["share_done"], 2 / 5)

    def test_random_shapes(self):
        """Each run ends with all its steps, or says why; what was written is there."""
        for seed in share_of(range(max(3, RUNS // 2)), one_in=2):
            chance = random.Random(seed)
            servers, gpus = chance.choice([2, 3, 5]), chance.choice([1, 2, 3])
            nics = chance.randint(1, gpus)
            storage = chance.randint(1, 3)
            policy = chance.choice(["restart", "rebuild", "shrink"])
            zero = 0 if policy == "shrink" else chance.randint(0, 3)
            host = chance.randrange(servers + storage)
            what = chance.choice(
                [
                    f"gpu-stop,on=gpu-{chance.randrange(servers * gpus)}",
                    f"nic-down,on=server-{host}:{chance.randrange(nics)}",
                    f"nic-down,on=server-{host}:{chance.randrange(nics)},for=3ms",
                ]
            )
            kind, rest = what.split(",", 1)
            line = (
                f"{self.LINE} --servers={servers} --gpus-per-server={gpus} --nics-per-server={nics}"
                f" --zero={zero} --checkpoint-every={chance.randint(1, 2)}"
                f" --checkpoint-servers={storage} --recovery={policy} --timeout-exponent=5"
                f"{' --checkpoint-async' if chance.random() < 0.5 else ''}"
                f" {'--nic=HDR' if seed % 3 == 0 else '--nic=400GbE'} {TIMES}"
                f" --fault={kind},at={chance.randint(1, 40)}ms,{rest}"
            )
            with self.subTest(line):
                words, out = self.command(line)
                done = captured(words, cwd=self.folder, timeout=SLOWER * 120)
                run = Run(words, done.returncode, done.stdout, PROGRESS.sub("", done.stderr), out)
                self.assertIn(run.status, (0, 3), str(run))
                self.check(run)
                self.assertEqual(run.stats["completed"], run.status == 0)

    def test_refused(self):
        self.refuse("dltrain --checkpoint-servers=1", "--checkpoint-every")
        self.refuse(
            "dltrain --checkpoint-every=1 --checkpoint-servers=1 --checkpoint-rate=1Gbps",
            "checkpoint-rate",
            "--checkpoint-servers",
        )
        self.refuse(
            "dltrain --servers=4 --gpus=32 --gpus-per-server=8 --checkpoint-every=1"
            " --checkpoint-servers=1",
            "at most 0",
        )


class Behind(RecoveryTest):
    """--checkpoint-async: ranks wait for copies, what is written is written behind steps."""

    # Behind which of 8 steps, rates to write and to copy; in some a checkpoint waits for the one
    # before, in some the last is not written in time.
    CASES = (
        (2, "400Gbps", "400Gbps"),
        (1, "400Gbps", "1600Gbps"),
        (1, "40Gbps", ""),
        (3, "100Gbps", "50Gbps"),
        (4, "60Gbps", "3Tbps"),
    )

    def expected(self, every, step, copy, write, first=0, begin=0.0, steps=8):
        """Waits [(from, until)], when it was written [(steps, time)], the end."""
        waits, written, now, there = [], [], begin, begin
        for number in range(first + 1, steps + 1):
            now += step
            if number % every == 0 and number < steps:
                waits.append((now + WORD, max(now + WORD, there) + copy))
                now = waits[-1][1]
                there = now + write
                written.append((number, there))
        return waits, written, now

    def most_of_rank(self, of, shape):
        """Bytes of the first rank, which writes what is whole and its share."""
        gpus = int(shape.split("--gpus-per-server=")[1].split()[0])
        ranks = of["ranks"]
        shares = 12 / 14 * of["checkpoint_bytes"] / ranks if "--zero=0" not in shape else 0
        whole = of["checkpoint_bytes"] - shares * ranks
        self.assertWithin(of["checkpoint_bytes_of_server"], whole + gpus * shares, 1e-4)
        return whole + shares

    def test_waits_and_writes(self):
        shapes = (*SHAPES[:3], SHAPES[1], SHAPES[2])
        for (every, write_rate, copy_rate), (shape, rough) in share_of(
            zip(self.CASES, shapes), one_in=3, first=1
        ):
            line = f"{BASE} {shape}".replace("--steps=4", "--steps=7")
            more = f"--checkpoint-every={every} --checkpoint-async --checkpoint-rate={write_rate}"
            more += f" --checkpoint-copy-rate={copy_rate}" if copy_rate else ""
            with self.subTest(f"{line} {more}"):
                step = self.recovery(f"{line} --recovery=restart")["useful_us"] / 8
                run = self.run_program(f"{line} {more}")
                self.check(run)
                of = run.stats["recovery"]
                self.assertTrue(of["checkpoint_async"])
                copy, write = of["checkpoint_copy_time_us"], of["checkpoint_time_us"]
                # host_link_GBps of the A100 (gpus.json), of which copies reach kHostLinkShare
                # (host-work.h).
                rate = bits(copy_rate) if copy_rate else 31.5 * 8e3 * 55.4 / 63
                self.assertWithin(copy, self.most_of_rank(of, shape) * 8 / rate, 0.02)
                waits, written, end = self.expected(every, step, copy, write)
                near = (1e-3 + rough) * step * 8
                self.assertEqual(of["checkpoints_begun"], len(waits))
                self.assertEqual(len(of["checkpoints_held_from_us"]), len(waits))
                for (a, b), c, d in zip(
                    waits, of["checkpoints_held_from_us"], of["checkpoints_held_until_us"]
                ):
                    self.assertAlmostEqual(a, c, delta=near)
                    self.assertAlmostEqual(b, d, delta=near)
                self.assertAlmostEqual(of["elapsed_us"], end, delta=near)
                there = [time for _, time in written if time <= of["elapsed_us"]]
                self.assertEqual(of["checkpoints"], len(there))
                for time, of_run in zip(there, of["checkpoints_written_us"]):
                    self.assertAlmostEqual(time, of_run, delta=near)
                self.assertAlmostEqual(
                    of["checkpoint_us"], sum(b - a + WORD for a, b in waits), delta=near
                )
                self.assertAlmostEqual(of["useful_us"], 8 * step, delta=near)

    def test_a_restart_has_what_was_written(self):
        """What is not yet written when the job fails is none; lost is all work since the copy."""
        shape, _ = SHAPES[1]
        line = f"{BASE} {shape}".replace("--steps=4", "--steps=7")
        more = "--checkpoint-every=2 --checkpoint-async --checkpoint-rate=200Gbps"
        more += " --checkpoint-copy-rate=800Gbps"
        plain = self.recovery(f"{line} {more} --recovery=restart")
        step = plain["useful_us"] / 8
        copy, write = plain["checkpoint_copy_time_us"], plain["checkpoint_time_us"]
        waits, written, _ = self.expected(2, step, copy, write)
        moments = [time + shift for _, time in written for shift in (-0.1 * step, 0.1 * step)]
        moments += [(a + b) / 2 for a, b in waits]  # while it is copied
        for at in share_of(moments, one_in=4):
            with self.subTest(at / step):
                run, of, failure = self.failed_once(
                    f"{line} {more} --recovery=restart --spares=2 {SOON}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-0"
                )
                there = [which for which, time in written if time < at]
                self.assertEqual(failure["from_step"], there[-1] if there else 0)
                since = waits[len(there) - 1][1] if there else 0
                # Waits for copies that ended are what checkpoints cost, not work.
                waited = sum(b - a + WORD for a, b in waits if since < b < at)
                near = 2e-3 * step
                self.assertAlmostEqual(failure["lost_us"], at + 1 - since - waited, delta=near)
                self.assertEqual(
                    failure["read_us"], plain["checkpoint_read_time_us"] if there else 0
                )
                begin = failure["resumed_us"]
                rest = self.expected(2, step, copy, write, there[-1] if there else 0, begin)
                self.assertAlmostEqual(of["elapsed_us"], rest[2], delta=8 * near)
                # Each measured step is there once.
                self.assertEqual(len(run.stats["step_times_us"]), 7)

    def test_storage_servers(self):
        """Packets behind the steps: each wait is a copy's if they are in time, else longer."""
        shapes = ("--servers=3 --gpus-per-server=2 --nics-per-server=2 --zero=1", SHAPES[4][0])
        for shape, nic in share_of(itertools.product(shapes, ("400GbE", "HDR")), one_in=3):
            more = f"{shape} --nic={nic} --checkpoint-every=2 --checkpoint-servers=3"
            with self.subTest(more):
                plain = self.recovery(f"{BASE} {more}")
                run = self.run_program(f"{BASE} {more} --checkpoint-async")
                self.check(run)
                of = run.stats["recovery"]
                copy = of["checkpoint_copy_time_us"]
                waits = [
                    b - a
                    for a, b in zip(of["checkpoints_held_from_us"], of["checkpoints_held_until_us"])
                ]
                self.assertEqual(len(waits), 2)
                self.assertAlmostEqual(waits[0], copy, places=5)
                self.assertGreater(waits[1], copy - 1e-5)
                # They share links with the steps: never quicker than alone.
                self.assertGreaterEqual(of["checkpoints"], 1)
                self.assertGreater(
                    of["checkpoints_took_us"][0], 0.999 * plain["checkpoints_took_us"][0]
                )

    def test_many(self):
        """More waits than are listed: all are counted."""
        line = (
            "dltrain --model=mlp-mnist --micro-batch=1 --servers=2 --gpus-per-server=1 --warmup=0"
            f" --topology=single-switch --steps=1100 --checkpoint-every=1 {QUIET}"
        )
        of = self.recovery(line + " --checkpoint-rate=100Gbps --checkpoint-async")
        self.assertEqual(of["checkpoints_begun"], 1099)
        self.assertEqual(len(of["checkpoints_held_until_us"]), 1000)
        self.assertGreaterEqual(of["checkpoints"], 1098)

    def test_what_is_seen(self):
        """Terminal, timeline and page: waits hold GPUs up, what is written behind does not."""
        line = (
            f"{BASE.replace(QUIET, '--progress=0')} {SHAPES[1][0]} --checkpoint-every=2"
            " --checkpoint-rate=200Gbps --checkpoint-async"
        )
        run = self.run_program(line)
        of = run.stats["recovery"]
        self.assertIn("behind the steps; copied before in", " ".join(run.out.split()))
        events = json.loads(run.text("timeline.json"))["traceEvents"]
        spans = [e for e in events if e.get("cat") == "recovery" and e["ph"] == "X"]
        lengths = {
            name: sum(e["dur"] for e in spans if e["name"] == name)
            for name in ("wait for a copy", "checkpoint")
        }
        held = zip(of["checkpoints_held_from_us"], of["checkpoints_held_until_us"])
        self.assertAlmostEqual(lengths["wait for a copy"], sum(b - a for a, b in held), places=2)
        self.assertAlmostEqual(lengths["checkpoint"], sum(of["checkpoints_took_us"]), places=2)

    def test_refused(self):
        self.refuse("dltrain --checkpoint-async", "--checkpoint-every")
        self.refuse("dltrain --checkpoint-copy-rate=1Gbps", "--checkpoint-every")
        self.refuse(
            "dltrain --checkpoint-every=1 --checkpoint-copy-rate=1Gbps", "--checkpoint-async"
        )
        self.refuse("collperf --checkpoint-async", "unknown option")


class Restart(RecoveryTest):
    def test_from_the_beginning(self):
        """Without checkpoints the job begins again as it did: to the picosecond."""
        for number, (shape, rough) in share_of(enumerate(SHAPES), one_in=3, first=2):
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
        for shape, rough in share_of(SHAPES[1:4], one_in=3, first=2):
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


    def test_what_is_seen(self):
        """The timeline's track adds up; steps do not lie on it; the log says when."""
        run = self.run_program(
            f"{BASE.replace('--timeline=0', '')} --servers=3 --gpus-per-server=1 --zero=2"
            f" --recovery=restart --spares=1 {TIMES} --checkpoint-every=2"
            " --checkpoint-rate=400Gbps --fault=gpu-stop,at=120ms,on=gpu-1"
        )
        of = run.stats["recovery"]
        slices = [e for e in json.loads(run.text("timeline.json"))["traceEvents"] if "dur" in e]
        lengths = {}
        for slice_ in slices:
            if slice_["cat"] == "recovery":
                lengths[slice_["name"]] = lengths.get(slice_["name"], 0) + slice_["dur"]
        (failure,) = of["failures"]
        expected = {
            "checkpoint": of["checkpoints"] * of["checkpoint_time_us"],
            "lost": of["lost_us"],
            "abort": ABORT,
            "restart": RESTART,
            "read checkpoint": of["checkpoint_read_time_us"],
        }
        self.assertEqual(sorted(lengths), sorted(expected))
        for name, length in expected.items():
            self.assertAlmostEqual(lengths[name], length, places=4)
        tracks = [e for e in slices if e["cat"] in ("recovery", "step")]
        tracks.sort(key=lambda e: e["ts"])
        for before, after in zip(tracks, tracks[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-4)
        self.assertEqual(len([e for e in tracks if e["cat"] == "step"]), 4)
        log = run.text("network_events.log")
        self.assertIn(" fault job failure known by the launcher", log)
        self.assertEqual(log.count(" fault job checkpoint of "), of["checkpoints"])


class CutOff(RecoveryTest):
    """Whom a dead NIC cuts off from whom, when nobody recovers."""

    LINE = "--topology=single-switch --gpus-per-server=1 --timeout-exponent=4 " + QUIET

    def test_a_tree_loses_its_leaves(self):
        for ranks, dead in share_of(itertools.product((4, 7, 12), (1, 2, 3)), one_in=4):
            run = self.run_program(
                f"collperf --op=all-reduce --algorithm=tree --ranks={ranks} -b 8M {self.LINE}"
                f" --fault=nic-down,at=300us,on=server-{dead}",
                status=3,
            )
            (cut,) = run.stats["cut_off"]
            self.assertEqual(cut["algorithm"], "tree")
            # All messages that failed have the dead rank at one end.
            for pair in cut["lost"]:
                self.assertIn(dead, pair)
            (lanes,) = cut["lanes"]
            self.assertEqual(sorted(sum(lanes["parts"], [])), list(range(ranks)))
            # A tree without edges at one rank: as many parts more as there were edges.
            edges = {tuple(sorted(pair)) for pair in cut["lost"]}
            self.assertEqual(len(lanes["parts"]), 1 + len(edges))
            # Of a rank with several edges it is said that it is the one.
            if len(edges) > 1:
                words = " ".join((run.err + run.out).split())
                self.assertIn(f", all from or for rank {dead}: cut off rank", words)
            self.assertIn(" by tree, without the messages of rank ", run.err + run.out)

    def test_a_ring_is_open(self):
        run = self.run_program(
            f"dltrain --model=gpt2 --micro-batch=1 --seq=128 --servers=5 --zero=1 {self.LINE}"
            " --fault=nic-down,at=20ms,on=server-2",
            status=3,
        )
        for cut in run.stats["cut_off"]:
            self.assertEqual(cut["algorithm"], "ring")
            pairs = {tuple(pair) for pair in cut["lost"]}
            self.assertLessEqual(pairs, {(1, 2), (2, 3)})
            (lanes,) = cut["lanes"]
            self.assertEqual(len(lanes["parts"]), len(pairs))


class Shrink(RecoveryTest):
    def test_a_replica_leaves(self):
        """Then steps take what those of a job without it take; what had ended stays."""
        cases = (
            ("--servers=3 --gpus-per-server=1", "--servers=2 --gpus-per-server=1", [2]),
            ("--servers=5 --gpus-per-server=1", "--servers=4 --gpus-per-server=1", [4]),
            (
                "--servers=3 --gpus-per-server=2 --tp=2",
                "--servers=2 --gpus-per-server=2 --tp=2",
                [4, 5],
            ),
        )
        for shape, fewer, left in share_of(cases, one_in=2):
            with self.subTest(shape):
                zero = " --zero=0"
                plain = self.healthy(shape + zero)
                after = self.healthy(fewer + zero)
                step = plain["useful_us"] / 5
                at = 2.5 * step
                run, of, failure = self.failed_once(
                    f"{BASE} {shape} {zero} --recovery=shrink {SOON}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-{left[-1]}"
                )
                self.assertEqual(failure["ranks_left"], left)
                self.assertEqual(of["ranks"], plain["ranks"] - len(left))
                self.assertEqual(failure["steps_lost"], 0)
                self.assertEqual(failure["from_step"], 2)
                # Of the four measured steps one has all samples, three have fewer.
                of_samples = (1 + 3 * of["ranks"] / plain["ranks"]) / 4
                stats = run.stats
                samples = stats["global_batch"] * of_samples / stats["step_time_us"] * 1e6
                self.assertWithin(stats["samples_per_s"], samples, 1e-9)
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


class Rebuild(RecoveryTest):
    """Collectives that were under way begin anew with whoever is left; nothing is done twice but
    these.
    """

    # One all-reduce behind all computing: a step is C, the all-reduce, the optimizer.
    APART = f"{BASE} --zero=0 --overlap=0 --buckets=1GB"

    def collective(self, line):
        """Of a step of a job that nothing happens to: when its all-reduce begins and ends, and the
        length of the step, us.
        """
        run = self.run_program(line + " --recovery=rebuild")
        step = run.stats["recovery"]["useful_us"] / 5
        first, last = [], []
        for line_ in run.text("calls.log").splitlines():
            if line_.startswith("#"):
                continue
            begin, end, number, _, _, kind, *_ = line_.split("\t")
            if int(number) == 2 and kind not in ("compute", "memory", "host"):
                first.append(float(begin))
                last.append(float(end))
        return min(first) - 2 * step, max(last) - 2 * step, step

    def test_a_rank_leaves_in_a_collective(self):
        """The all-reduce begins anew when the ring is there; the rest is as of a smaller job."""
        cases = ((3, 1, ""), (3, 0, " --nic=EDR"), (5, 4, " --cc=none"), (2, 1, ""))
        for servers, lost, more in share_of(cases, one_in=2, first=1):
            shape = f" --servers={servers} --gpus-per-server=1{more}"
            with self.subTest(shape):
                begin, end, step = self.collective(self.APART + shape)
                fewer = self.APART + shape.replace(f"={servers} ", f"={servers - 1} ")
                begin2, _, step2 = self.collective(fewer) if servers > 2 else (begin, 0, None)
                at = 2 * step + (begin + end) / 2
                run, of, failure = self.failed_once(
                    f"{self.APART}{shape} --recovery=rebuild {SOON}"
                    f" --fault=gpu-stop,at={at:.6f}us,on=gpu-{lost}"
                )
                self.assertEqual(failure["action"], "rebuild")
                self.assertEqual(failure["ranks_left"], [lost])
                self.assertEqual(failure["from_step"], 2)
                self.assertEqual(failure["steps_lost"], 0)
                self.assertEqual(failure["collectives_repeated"], 1)
                resumed = at + 1 + ABORT + RESTART
                self.assertAlmostEqual(failure["resumed_us"], resumed, places=5)
                # From when the ranks were in the all-reduce until the launcher knew.
                near = 1e-3 * step
                self.assertAlmostEqual(failure["lost_us"], at + 1 - 2 * step - begin, delta=near)
                self.assertAlmostEqual(of["recovering_us"], ABORT + RESTART, places=5)
                if step2:
                    # The rest of step 3, from its all-reduce on, and two more, all of fewer ranks.
                    expected = resumed + (step2 - begin2) + 2 * step2
                    self.assertAlmostEqual(of["elapsed_us"], expected, delta=3 * near)
                self.assertEqual(of["ranks"], servers - 1)

    def test_behind_computing_it_costs_nothing(self):
        """Ranks compute on: what is rebuilt by the time they communicate has cost no time."""
        shape = " --servers=3 --gpus-per-server=1"
        begin, _, step = self.collective(self.APART + shape)
        _, _, step2 = self.collective(self.APART + shape.replace("=3", "=2"))
        self.assertGreater(begin, 1.1 * (ABORT + RESTART))
        at = 2 * step + begin - 1.05 * (1 + ABORT + RESTART)
        of = self.recovery(
            f"{self.APART}{shape} --recovery=rebuild {SOON}"
            f" --fault=gpu-stop,at={at:.6f}us,on=gpu-2"
        )
        (failure,) = of["failures"]
        self.assertEqual(failure["lost_us"], 0)
        self.assertEqual(failure["collectives_repeated"], 0)
        self.assertAlmostEqual(of["elapsed_us"], 2 * step + 3 * step2, delta=3e-3 * step)

    def test_a_nic_is_lost(self):
        """Nobody leaves: steps are then those of servers without that NIC."""
        cases = ((4, 4, 0, ""), (4, 2, 2, ""), (3, 3, 3, " --nic=EDR"))
        for gpus, nics, zero, more in share_of(cases, one_in=3, first=1):
            line = f"{BASE} --servers=3 --gpus-per-server={gpus} --zero={zero}{more}"
            with self.subTest(line):
                plain = self.recovery(f"{line} --nics-per-server={nics} --recovery=rebuild")
                after = self.recovery(f"{line} --nics-per-server={nics - 1} --recovery=rebuild")
                at = 0.45 * plain["useful_us"]
                run, of, failure = self.failed_once(
                    f"{line} --nics-per-server={nics} --recovery=rebuild {TIMES}"
                    f" --timeout-exponent=8 --fault=nic-down,at={at:.3f}us,on=server-1:1"
                )
                self.assertEqual(failure["action"], "rebuild")
                self.assertEqual(failure["known_by"], "queue pair")
                self.assertEqual(failure["nics_lost"], ["server-1:1"])
                self.assertEqual(failure["ranks_left"], [])
                self.assertEqual(failure["servers_failed"], [])
                self.assertGreater(failure["collectives_repeated"], 0)
                self.assertEqual(of["ranks"], 3 * gpus)
                # Two steps as before; of the rest the third began before and was held up.
                steps = run.stats["step_times_us"]
                self.assertWithin(steps[0], plain["useful_us"] / 5, 0.01)
                for time in steps[2:]:
                    self.assertWithin(time, after["useful_us"] / 5, 0.02)
                self.assertIn("without server-1:1", " ".join(run.out.split()))

    def test_which_nics_are_used(self):
        """Those that all have, or of each as many as the one with fewest has; in networks whose
        rails do not meet, too.
        """
        cases = (
            ("rail-only --servers=4 --gpus-per-server=4 --nics-per-server=4", [(2, 3)], [(2, 3)]),
            (  # a NIC has a port in each plane, and is left out with both
                "dual-plane --servers=4 --gpus-per-server=2 --nics-per-server=2",
                [(2, 1)],
                [(2, 0), (2, 1)],
            ),
            (
                "single-switch --servers=2 --gpus-per-server=2 --nics-per-server=2",
                [(0, 1), (1, 0)],
                [(0, 1), (1, 0)],
            ),
        )
        for shape, faults, lost in share_of(cases, one_in=3, first=1):
            with self.subTest(shape):
                line = BASE.replace("single-switch", shape) + f" --zero=3 {TIMES}"
                for number, (server, port) in enumerate(faults):
                    at = 10 + 40 * number
                    line += f" --fault=nic-down,at={at}ms,on=server-{server}:{port}"
                run = self.run_program(line + " --recovery=rebuild --timeout-exponent=8")
                self.check(run)
                of = run.stats["recovery"]
                self.assertEqual(len(of["failures"]), len(faults))
                self.assertEqual(
                    of["failures"][-1]["nics_lost"], [f"server-{s}:{p}" for s, p in lost]
                )

    def test_a_rank_fails_behind_a_lost_nic(self):
        """Each failure has its own cause; what is lost stays left out."""
        run = self.run_program(
            f"{BASE} --servers=4 --gpus-per-server=2 --nics-per-server=2 --zero=0"
            f" --recovery=rebuild {TIMES} --timeout-exponent=8"
            " --fault=nic-down,at=40ms,on=server-1:1 --fault=gpu-stop,at=110ms,on=gpu-7"
        )
        self.check(run)
        nic, gpu = run.stats["recovery"]["failures"]
        self.assertEqual((nic["failed_us"], gpu["failed_us"]), (40000, 110000))
        self.assertEqual((nic["ranks_left"], gpu["ranks_left"]), ([], [7]))
        self.assertEqual(gpu["nics_lost"], ["server-1:1"])

    def test_what_began_a_failure(self):
        """The fault of the very GPU or NIC: none that hit nobody, had ended, or was lived with."""
        shape = "--servers=3 --gpus-per-server=3 --nics-per-server=3 --spares=1"
        stop, nic = "--fault=gpu-stop,at=%dms,on=%s", "--fault=nic-down,at=%dms,on=server-1:%d"
        cases = (
            # The second one hits nobody: rank 4 has left.
            (0, [stop % (10, "gpu-4"), stop % (40, "gpu-4"), stop % (60, "gpu-0")], [10, 60], []),
            # A spare's, that nobody has taken.
            (0, [stop % (1, "server-3:gpu-2"), stop % (30, "gpu-4")], [30], []),
            (0, [stop % (1, "gpu-4,for=2ms"), stop % (30, "gpu-4")], [30], []),
            # Its server goes on without the NIC that was lost before ...
            (0, [nic % (20, 1), stop % (50, "gpu-4")], [20, 50], ["server-1:1"]),
            # ... and does not where a spare takes its place.
            (2, [nic % (20, 1), stop % (50, "gpu-4")], [20, 50], []),
            # Lost between both: the ranks go on without that as well.
            (0, [nic % (20, 1), nic % (30, 0)], [20], ["server-1:0", "server-1:1"]),
        )
        for zero, faults, failed, nics in share_of(cases, one_in=3):
            with self.subTest(zero=zero, faults=faults):
                of = self.recovery(
                    f"{BASE} {shape} --zero={zero} --recovery=rebuild --timeout-exponent=8"
                    " --monitor-interval=1ms --abort-time=1ms --restart-time=5ms "
                    + " ".join(faults)
                )
                self.assertEqual([f["failed_us"] / 1000 for f in of["failures"]], failed)
                self.assertEqual(of["failures"][-1]["nics_lost"], nics)

    def test_a_restart_where_state_is_lost(self):
        """As --recovery=restart, to the picosecond, and it says why."""
        cases = (
            ("--servers=3 --gpus-per-server=1 --zero=2", "ZeRO stage 2"),
            ("--servers=2 --gpus-per-server=4 --zero=0 --tp=2", "several ranks"),
            ("--servers=4 --gpus-per-server=1 --zero=0 --pp=2 --accumulation=2", "several ranks"),
            (
                "--servers=2 --gpus-per-server=2 --zero=0 --algorithm=all_reduce=torus"
                " --dimensions=2x2",
                "a torus of 2x2 does not have 3 ranks",
            ),
        )
        for shape, word in share_of(cases, one_in=3):
            with self.subTest(shape):
                line = f"{BASE} {shape} --spares=1 {TIMES} --fault=gpu-stop,at=9ms,on=gpu-1"
                of = self.recovery(line + " --recovery=rebuild")
                same = self.recovery(line + " --recovery=restart")
                (failure,) = of["failures"]
                self.assertEqual(failure["action"], "restart")
                self.assertIn(word, failure["not_rebuilt_because"])
                self.assertEqual(failure["spares_taken"], same["failures"][0]["spares_taken"])
                for key in ("elapsed_us", "lost_us", "recovering_us", "useful_us"):
                    self.assertEqual(of[key], same[key])

    def test_one_after_another(self):
        """A second failure while the ring is rebuilt begins that anew; the last rank is alone."""
        line = f"{self.APART} --servers=4 --gpus-per-server=1 --recovery=rebuild {TIMES}"
        of = self.recovery(
            f"{line} --fault=gpu-stop,at=1ms,on=gpu-1 --fault=gpu-stop,at=2ms,on=gpu-3"
            " --fault=gpu-stop,at=40ms,on=gpu-0"
        )
        first, second, third = of["failures"]
        self.assertIsNone(first["resumed_us"])
        self.assertEqual(second["resumed_us"], 2000 + MONITOR + ABORT + RESTART)
        self.assertEqual(third["ranks_left"], [0])
        self.assertEqual(of["ranks"], 1)
        of = self.recovery(
            f"{line} --max-restarts=1 --fault=gpu-stop,at=1ms,on=gpu-1"
            " --fault=gpu-stop,at=9ms,on=gpu-3",
            status=3,
        )
        self.assertIn("--max-restarts", of["gave_up"])
        self.assertIsNone(of["failures"][1]["action"])

    def test_with_checkpoints(self):
        """They are written by whoever is there, and a failure meanwhile is no double cost."""
        shape = " --servers=3 --gpus-per-server=1 --checkpoint-every=2 --checkpoint-rate=400Gbps"
        plain = self.recovery(f"{self.APART}{shape} --recovery=rebuild")
        step, writing = plain["useful_us"] / 5, plain["checkpoint_time_us"]
        moments = (2 * step + writing / 2, 2 * step - 1, 3.9 * step + writing)
        for at in share_of(moments, one_in=2):
            of = self.recovery(
                f"{self.APART}{shape} --recovery=rebuild {SOON}"
                f" --fault=gpu-stop,at={at:.6f}us,on=gpu-1"
            )
            self.assertEqual(of["failures"][0]["action"], "rebuild")
            self.assertEqual(of["checkpoints"], 2)
            self.assertEqual(of["ranks"], 2)


class Pipeline(RecoveryTest):
    """Messages between stages go over the NICs that are left."""

    def test_a_nic_is_lost(self):
        """Nobody leaves, and no step is done again; then steps are those of servers without it."""
        cases = (
            ("--servers=2 --gpus-per-server=2 --pp=2 --accumulation=3", ""),
            ("--servers=4 --gpus-per-server=2 --pp=4 --accumulation=5 --zero=0", ""),
            ("--servers=3 --gpus-per-server=2 --pp=3 --accumulation=3 --virtual-stages=2", ""),
            ("--servers=3 --gpus-per-server=2 --pp=3 --accumulation=4", " --nic=EDR"),
        )
        for shape, more in share_of(cases, one_in=3):
            line = f"{BASE} {shape}{more} --recovery=rebuild"
            with self.subTest(line):
                plain = self.recovery(f"{line} --nics-per-server=2")
                after = self.recovery(f"{line} --nics-per-server=1")
                for moment in share_of((0.31, 0.47, 0.6), one_in=3, first=1):
                    at = moment * plain["useful_us"]
                    run, of, failure = self.failed_once(
                        f"{line} --nics-per-server=2 {TIMES} --timeout-exponent=6"
                        f" --fault=nic-down,at={at:.3f}us,on=server-1:1"
                    )
                    self.assertEqual(failure["action"], "rebuild")
                    self.assertEqual(failure["steps_lost"], 0)
                    self.assertEqual(failure["nics_lost"], ["server-1:1"])
                    self.assertGreater(
                        failure["messages_repeated"] + failure["collectives_repeated"], 0
                    )
                    for time in run.stats["step_times_us"][failure["from_step"] :]:
                        self.assertWithin(time, after["useful_us"] / 5, 0.02)

    def test_no_message_is_lost_or_doubled(self):
        """Faults at many times: those that had arrived are not sent again, and all others are, or
        a stage would wait for ever, or take one message for another.
        """
        line = (
            f"{BASE} --servers=3 --gpus-per-server=2 --nics-per-server=2 --pp=3 --accumulation=4"
            f" --recovery=rebuild {TIMES} --timeout-exponent=4"
        )
        plain = self.recovery(line)
        for seed in share_of(range(12 if FULL else 4), one_in=2):
            chance = random.Random(seed)
            faults = "".join(
                f" --fault=nic-down,at={chance.uniform(0.1, 0.9) * plain['useful_us']:.3f}us,"
                f"on=server-{chance.randrange(3)}:{chance.randrange(2)},for=4ms"
                for _ in range(chance.randint(1, 3))
            )
            with self.subTest(faults):
                run = self.run_program(line + " --max-restarts=20 --spares=3" + faults)
                self.check(run)
                self.assertTrue(run.stats["completed"])
                for failure in run.stats["recovery"]["failures"]:
                    self.assertIn(failure["action"], ("rebuild", "restart"))
                    # All NICs of a server: it is cut off, and its stage is lost with it.
                    self.assertEqual(
                        failure["action"] == "restart", failure["servers_failed"] != []
                    )


class Words(RecoveryTest):
    def test_one_numbering(self):
        """A step is called the same in calls.log, on the terminal and in the log."""
        line = f"{BASE} --servers=3 --gpus-per-server=1 --zero=2 --recovery=restart --spares=1"
        plain = self.recovery(line)
        step = plain["useful_us"] / 5
        more = " --checkpoint-every=1 --checkpoint-rate=10Tbps"
        moments = ((0.5, "warm-up step 1"), (1.5, "step 1"), (3.5, "step 3"))
        for at, name in share_of(moments, one_in=2):
            run = self.run_program(
                f"{line}{more} {TIMES} --watchdog={0.95 * step:.0f}us --timeout-exponent=20"
                f" --fault=nic-down,at={at * step:.3f}us,on=server-1"
            )
            failure = run.stats["recovery"]["failures"][0]
            self.assertEqual(failure["goes_on_with"], name)
            self.assertRegex(failure["what"], f"^rank [0-2], {name}, stream ")
            words = " ".join(run.out.split())
            self.assertIn(f"with {name}, ", words)
            self.assertIn(f"begin again with {name}", run.text("network_events.log"))

    def test_who_failed(self):
        """A GPU, where its server works; the server, where it is cut off."""
        line = f"{BASE} --servers=3 --gpus-per-server=2 --zero=0 --timeout-exponent=6 {TIMES}"
        run = self.run_program(
            f"{line} --recovery=rebuild --fault=gpu-stop,at=9ms,on=gpu-3"
            " --fault=nic-down,at=90ms,on=server-2"
        )
        gpu, server = run.stats["recovery"]["failures"]
        self.assertEqual(gpu["gpus_failed"], ["server-1:gpu-1"])
        self.assertEqual(server["gpus_failed"], [])
        self.assertEqual(server["servers_failed"], ["server-2"])
        words = " ".join(run.out.split())
        self.assertIn("; server-1:gpu-1 failed; rank 3 leaves", words)
        self.assertIn("; server-2 failed; rank 4 and another one leave", words)

    def test_a_slow_gpu_explains_a_time_out(self):
        line = f"{BASE} --servers=3 --gpus-per-server=1 --zero=0 {TIMES} --recovery=rebuild"
        step = self.recovery(line)["useful_us"] / 5
        run = self.run_program(
            f"{line} --watchdog={5 * step:.0f}us --fault=gpu-slow,at=12ms,on=gpu-2,to=200",
            status=3,  # it stays slow, and --max-restarts ends it
        )
        failures = run.stats["recovery"]["failures"]
        self.assertTrue(failures)
        for failure in failures:
            self.assertEqual(failure["known_by"], "watchdog")
            self.assertEqual(failure["failed_us"], 12000)


class DoneAgain(RecoveryTest):
    """Calls of a warm-up that is done again, and of those that an abort ended."""

    LINE = f"{BASE.replace('--report=0', '')} --servers=3 --gpus-per-server=1 --recovery=restart"

    def rows(self, run):
        lines = run.text("calls.log").splitlines()
        return [line.split("\t") for line in lines if not line.startswith("#")]

    def test_the_page_adds_up(self):
        """Computing and communicating, waiting and being held up are all the time from the first
        call to the last; recovering is as long as stats.json has it.
        """
        plain = self.healthy("--servers=3 --gpus-per-server=1 --zero=0")
        at = 2.6 * plain["useful_us"] / 5
        policies = (("restart", " --spares=1"), ("rebuild", ""), ("shrink", ""))
        for policy, more in share_of(policies, one_in=3):
            run = self.run_program(
                f"{self.LINE.replace('restart', policy)} --zero=0 {more} {TIMES}"
                f" --fault=gpu-stop,at={at:.3f}us,on=gpu-1"
            )
            of = run.stats["recovery"]
            timeline = page_data(run.path("report.html"))["timeline"]
            mean = timeline["mean_us"]
            rows = self.rows(run)
            spans = [
                (
                    min(float(row[0]) for row in rows if int(row[3]) == rank),
                    max(float(row[1]) for row in rows if int(row[3]) == rank),
                )
                for rank in range(3)
            ]
            # A mean over the GPUs that are there at each moment, so it is as long as the job is.
            whole = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 4
            self.assertWithin(sum(mean.values()), whole, 1e-3)
            if policy == "restart":
                # All that is not measured is lost or recovering: who is not busy waits for others.
                self.assertWithin(mean["R"] * 4, of["recovering_us"], 1e-3)
                warm = [row for row in rows if row[2] == "0"]
                self.assertEqual({row[3] for row in warm}, {"0", "1", "2"})
                first = min(float(row[0]) for row in warm)
                self.assertAlmostEqual(first, of["failures"][0]["resumed_us"], places=3)
                aborted = [row for row in rows if row[6].endswith(" (aborted)")]
                self.assertTrue(aborted)
                for row in aborted:
                    self.assertEqual(float(row[1]), of["failures"][0]["known_us"])
                # Ranks of a ring on their own links wait for little but one another.
                self.assertLess(mean["I"] * 4, 0.05 * plain["useful_us"])

    def test_in_the_first_warm_up(self):
        """Nothing is measured yet: the warm-up done again is not there, as the first is not."""
        run = self.run_program(
            f"{self.LINE} --zero=1 --spares=1 {TIMES} --fault=gpu-stop,at=2ms,on=gpu-1"
        )
        steps = {row[2] for row in self.rows(run)}
        self.assertEqual(steps, {"1", "2", "3", "4"})

    def test_who_is_not_hit_is_marked(self):
        run = self.run_program(
            f"{self.LINE} --zero=1 --spares=1 {TIMES} --fault=gpu-stop,at=2ms,on=gpu-1"
            " --fault=gpu-slow,at=15ms,on=gpu-1,to=3"
        )
        page = run.text("report.html")
        self.assertIn("it hit nobody: ", page)
        self.assertEqual(
            run.stats["faults"][1]["hits_nobody_because"], "rank 1 has moved to server-3"
        )


class Collective(RecoveryTest):
    """collperf --recovery: iterations are the steps of a job."""

    LINE = f"collperf --op=all_reduce --topology=single-switch {QUIET} -b 4M -n 5"

    def test_nothing_happens(self):
        """The row is that of a run without a policy."""
        shapes = (
            "--ranks=5 --algorithm=ring",
            "--ranks=7 --algorithm=tree",
            "--servers=3 --gpus-per-server=4 --nics-per-server=2",
            "--ranks=6 --nic=EDR",
            "--ranks=4 --cc=none",
        )
        for shape in share_of(shapes, one_in=3):
            plain = self.run_program(f"{self.LINE} {shape}").stats["collectives"]
            for policy in ("restart", "shrink", "rebuild"):
                with self.subTest(shape, policy=policy):
                    run = self.run_program(f"{self.LINE} {shape} --recovery={policy}")
                    self.check(run)
                    (row,) = run.stats["collectives"]
                    for key in ("bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm"):
                        self.assertEqual(row[key], plain[0][key], key)
                    self.assertAlmostEqual(
                        run.stats["recovery"]["elapsed_us"], 5 * plain[0]["time_us"], places=4
                    )

    def test_a_rank_is_lost(self):
        """From a time when all are in iteration k: none stands still; restart does all of it again
        on a spare; shrink and rebuild do the rest with those that are left.
        """
        cases = (
            ("--ranks=5 --algorithm=ring", "--ranks=4 --algorithm=ring"),
            ("--ranks=7 --algorithm=tree --cc=none", "--ranks=6 --algorithm=tree --cc=none"),
            ("--ranks=4 --algorithm=ring --nic=EDR", "--ranks=3 --algorithm=ring --nic=EDR"),
        )
        for shape, fewer in share_of(cases, one_in=3, first=1):
            last = int(shape.split("=")[1].split()[0]) - 1
            one = self.run_program(f"{self.LINE} {shape}").stats["collectives"][0]["time_us"]
            left = self.run_program(f"{self.LINE} {fewer}").stats["collectives"][0]["time_us"]
            at = 2.5 * one
            fault = f"{SOON} --fault=gpu-stop,at={at:.6f}us,on=gpu-{last}"
            known = at + 1
            resumed = known + ABORT + RESTART
            for policy, elapsed, ranks in (
                ("restart --spares=1", resumed + 5 * one, last + 1),
                ("shrink", resumed + 3 * left, last),
                ("rebuild", resumed + 3 * left, last),
            ):
                with self.subTest(shape, policy=policy):
                    run, of, failure = self.failed_once(
                        f"{self.LINE} {shape} --recovery={policy}{fault}"
                    )
                    self.assertAlmostEqual(failure["known_us"], known, places=4)
                    self.assertAlmostEqual(failure["resumed_us"], resumed, places=4)
                    self.assertEqual(of["ranks"], ranks)
                    # Queue pairs are new: iterations are as long to a hundredth; in a tree several
                    # share a link, and who comes first depends on times (without congestion
                    # control, whose marks would be other ones by chance).
                    rough = 0.03 if "tree" in shape else 0.01
                    self.assertWithin(of["elapsed_us"], elapsed, rough)
                    self.assertIn("iteration", failure["goes_on_with"])
            run = self.run_program(
                f"{self.LINE} {shape} --fault=gpu-stop,at={at:.6f}us,on=gpu-{last}", status=3
            )
            self.assertFalse(run.stats["completed"])

    def test_a_rail_is_lost(self):
        """A ring of each rail: without one the others carry all of it."""
        for topology in share_of(("rail-only", "single-switch"), one_in=2):
            line = (
                f"{self.LINE.replace('single-switch', topology)} --servers=3 --gpus-per-server=4"
                " --algorithm=ring"
            )
            plain = self.run_program(f"{line} --nics-per-server=4").stats["collectives"][0]
            run = self.run_program(
                f"{line} --nics-per-server=4 --recovery=rebuild {TIMES} --timeout-exponent=4"
                f" --fault=nic-down,at={1.5 * plain['time_us']:.3f}us,on=server-1:3"
            )
            self.check(run)
            (failure,) = run.stats["recovery"]["failures"]
            self.assertEqual(failure["action"], "rebuild")
            self.assertEqual(failure["nics_lost"], ["server-1:3"])
            self.assertEqual(failure["collectives_repeated"], 1)
            self.assertEqual(run.stats["recovery"]["ranks"], 12)

    def test_no_rail_is_left(self):
        """Each server has lost another NIC: rings would have to cross rails, which a network of
        rails alone cannot do, however often the job is rebuilt.
        """
        for servers, nics in ((2, 2), (5, 3)):
            for topology in ("rail-only", "rail-optimized"):
                with self.subTest(f"{topology} {servers} {nics}"):
                    line = (
                        f"{self.LINE.replace('single-switch', topology)} --servers={servers}"
                        f" --gpus-per-server={nics} --nics-per-server={nics} --algorithm=ring"
                        f" --recovery=rebuild {TIMES} --timeout-exponent=4"
                    )
                    for number in range(nics):
                        line += f" --fault=nic-down,at=20us,on=server-{number}:{number}"
                    apart = topology == "rail-only"
                    run = self.run_program(line, status=3 if apart else 0)
                    of = run.stats["recovery"]
                    self.assertEqual(run.stats["completed"], not apart)
                    if apart:
                        self.assertEqual(len(of["failures"]), 1)
                        self.assertEqual(
                            of["gave_up"],
                            "no NIC is left that all servers have, and nothing joins the rails of"
                            " this network",
                        )

    def test_random_faults(self):
        """Each run ends with all its iterations, or says why."""
        for seed in share_of(range(RUNS), one_in=2):
            chance = random.Random(seed)
            servers, gpus = chance.choice([2, 3, 5]), chance.choice([1, 2, 4])
            nics = chance.randint(1, gpus)
            policy = chance.choice(["restart", "shrink", "rebuild"])
            what = chance.choice(
                [
                    f"gpu-stop,on=gpu-{chance.randrange(servers * gpus)}",
                    f"gpu-stop,on=gpu-{chance.randrange(servers * gpus)},for=300us",
                    f"nic-down,on=server-{chance.randrange(servers)}:{chance.randrange(nics)}",
                    f"nic-down,on=server-{chance.randrange(servers)},for=400us",
                ]
            )
            kind, rest = what.split(",", 1)
            line = (
                f"{self.LINE} --servers={servers} --gpus-per-server={gpus}"
                f" --nics-per-server={nics} --recovery={policy} --timeout-exponent=3"
                f" --op={chance.choice(['all_reduce', 'all_gather', 'reduce_scatter', 'alltoall'])}"
                f" {'--nic=EDR' if seed % 3 == 0 else ''} -w {chance.randint(0, 2)}"
                f" {'--spares=1' if policy != 'shrink' and seed % 2 else ''} --seed={seed}"
                f" --fault={kind},at={chance.randint(0, 3000)}us,{rest} {TIMES}"
            ).replace("--op=all_reduce --topology", "--topology", 1)
            with self.subTest(line):
                words, out = self.command(line)
                done = captured(words, cwd=self.folder, timeout=SLOWER * 120)
                run = Run(words, done.returncode, done.stdout, PROGRESS.sub("", done.stderr), out)
                self.assertIn(run.status, (0, 3), str(run))
                self.check(run)
                self.assertEqual(run.stats["completed"], run.status == 0)

    def test_refused(self):
        self.refuse("collperf --watchdog=1s", "--recovery=none")
        self.refuse("collperf --recovery=restart -b 1M -e 4M", "one size")
        self.refuse("collperf --recovery=restart --compare=tree", "--compare")
        self.refuse("collperf --recovery=shrink --op=broadcast", "root")
        self.refuse("collperf --recovery=shrink -a 1", "--average=3")
        self.refuse("collperf --recovery=shrink --network=analytic", "packets")
        self.refuse("collperf --checkpoint-every=2", "unknown option")
        self.refuse("collperf --fault=gpu-slow,at=1us,on=gpu-0,to=2", "gpu-stop here")
        self.refuse("collperf -b 1M -e 4M --fault=gpu-stop,at=1us,on=gpu-0", "one size")


class Critical(RecoveryTest):
    """The critical path of a run that recovers: of the last measured step that nothing interrupted.
    """

    def path(self, line):
        run = self.run_program(line)
        self.check(run)
        path = run.stats["critical_path"]
        parts = sum(path["parts_us"].values())
        self.assertAlmostEqual(parts, path["total_us"], places=3)
        return path, run

    def test_which_step(self):
        cases = (
            ("--servers=3 --gpus-per-server=1 --zero=0", "rebuild"),
            ("--servers=3 --gpus-per-server=1 --zero=0", "shrink"),
            ("--servers=3 --gpus-per-server=2 --zero=1", "restart --spares=1"),
            ("--servers=2 --gpus-per-server=2 --pp=2 --accumulation=3", "restart --spares=1"),
        )
        for shape, policy in share_of(cases, one_in=3):
            line = f"{BASE} {shape} --recovery={policy}"
            plain, healthy = self.path(line)
            self.assertEqual(plain["step"], 4)  # the warm-up is 0
            step = healthy.stats["recovery"]["useful_us"] / 5
            for moment in share_of((1.5, 2.5, 4.5), one_in=2):
                with self.subTest(line, moment=moment):
                    path, run = self.path(
                        f"{line} {SOON} --fault=gpu-stop,at={moment * step:.3f}us,on=gpu-1"
                    )
                    whole = moment < 4 or "rebuild" not in policy
                    self.assertEqual(path["step"], 4 if whole else 3)
                    if "restart" in policy:
                        # On a spare the step is what it was, on queue pairs that are new.
                        self.assertWithin(path["total_us"], plain["total_us"], 0.01)

    def test_messages_over_other_nics(self):
        line = (
            f"{BASE} --servers=3 --gpus-per-server=2 --nics-per-server=2 --pp=3 --accumulation=4"
            f" --recovery=rebuild {TIMES} --timeout-exponent=6"
        )
        _, healthy = self.path(line)
        at = 0.5 * healthy.stats["recovery"]["useful_us"]
        path, run = self.path(f"{line} --fault=nic-down,at={at:.3f}us,on=server-1:0")
        self.assertEqual(path["step"], 4)
        self.assertAlmostEqual(
            path["total_us"] - path["before_step_us"], run.stats["step_times_us"][-1], places=3
        )


class MovedRanks(RecoveryTest):
    """A fault is of a GPU, not of the rank that was there once."""

    LINE = f"{BASE} --servers=3 --gpus-per-server=2 --zero=1 --recovery=restart {TIMES}"

    def test_who_has_moved_is_not_hit(self):
        line = f"{self.LINE} --spares=1 --fault=gpu-stop,at=1ms,on=gpu-1"
        plain = self.recovery(line)
        run = self.run_program(line + " --fault=gpu-slow,at=15ms,on=gpu-1,to=3")
        self.assertEqual(run.stats["recovery"]["elapsed_us"], plain["elapsed_us"])
        hit, missed = run.stats["faults"]
        self.assertIsNone(hit["hits_nobody_because"])
        self.assertEqual(missed["hits_nobody_because"], "rank 1 has moved to server-3")
        self.assertIn("it hit nobody: rank 1 has moved to server-3", " ".join(run.out.split()))
        self.assertIn("hits nobody", run.text("network_events.log"))

    def test_a_spares_gpu(self):
        """It makes the rank that is there slow, or stop; one that is dead is not taken."""
        line = f"{self.LINE} --spares=2 --fault=gpu-stop,at=1ms,on=gpu-1"
        plain = self.run_program(line).stats["compute_time_us"]
        slow = self.run_program(line + " --fault=gpu-slow,at=10ms,on=server-3:gpu-1,to=3")
        # One rank of six computes three times as long, from the warm-up on.
        self.assertWithin(slow.stats["compute_time_us"], plain * (5 + 3) / 6, 0.01)
        again = self.recovery(line + " --fault=gpu-stop,at=15ms,on=server-3:gpu-0")
        self.assertEqual(
            [f["spares_taken"] for f in again["failures"]], [["server-3"], ["server-4"]]
        )
        self.assertEqual(again["failures"][1]["known_us"], 15000 + MONITOR)
        run = self.run_program(line + " --fault=gpu-stop,at=500us,on=server-3:gpu-0")
        (failure,) = run.stats["recovery"]["failures"]
        self.assertEqual(failure["spares_taken"], ["server-4"])
        self.assertIn("spare that nobody has taken", run.stats["faults"][1]["hits_nobody_because"])


class SameBytes(RecoveryTest):
    def line(self):
        """A job of few frames: threads that run every window spin through each."""
        layers = [
            {"name": f"layer-{i}", "parameters": 1 << 20, "flops": 2.0e10} for i in range(4)
        ]
        model = self.write("small.json", {"name": "small", "sequence": 128, "layers": layers})
        return BASE.replace(" --progress=0", "").replace("gpt2", model)

    def test_engines_and_threads(self):
        line = (
            f"{self.line()} --servers=3 --gpus-per-server=1 --zero=1"
            " --recovery=restart --spares=1"
            f" --checkpoint-every=2 --timeout-exponent=6 {TIMES}"
            " --fault=nic-down,at=6ms,on=server-1"
        )
        for where in share_of(("rate=400Gbps", "servers=2 --checkpoint-async"), one_in=2):
            of = f"{line} --checkpoint-{where}"
            expected = self.written(of + " --threads=1", without=["events"])
            for more in (" --engine=ns3", " --threads=2" + ALWAYS):
                with self.subTest(where + more):
                    self.check_same(self.written(of + more, without=["events"]), expected)

    def test_rebuild_with_engines_and_threads(self):
        line = (
            f"{self.line()} --servers=3 --gpus-per-server=2"
            f" --nics-per-server=2 --zero=0 --recovery=rebuild --timeout-exponent=6 {TIMES}"
            " --fault=nic-down,at=6ms,on=server-1:1 --fault=gpu-stop,at=11ms,on=gpu-5"
        )
        expected = self.written(line + " --threads=1", without=["events"])
        for more in (" --engine=ns3", " --threads=2" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(line + more, without=["events"]), expected)


class Property(RecoveryTest):
    """Faults at random times under each policy: each run ends with all its steps, or says why."""

    def test_random_faults(self):
        for seed in share_of(range(RUNS), one_in=2):
            chance = random.Random(seed)
            servers = chance.choice([2, 3, 5])
            gpus, nics = chance.choice([1, 2]), chance.choice([1, 2])
            policy = chance.choice(["restart", "rebuild", "rebuild", "shrink"])
            zero = 0 if policy == "shrink" else chance.randint(0, 3)
            words = []
            for _ in range(chance.randint(1, 3)):
                at = chance.randint(0, 30000)
                what = chance.choice(
                    [
                        f"gpu-stop,on=gpu-{chance.randrange(servers * gpus)}",
                        f"gpu-stop,on=gpu-{chance.randrange(servers * gpus)},for=2ms",
                        f"nic-down,on=server-{chance.randrange(servers)}",
                        f"nic-down,on=server-{chance.randrange(servers)},for=3ms",
                        f"nic-down,on=server-{chance.randrange(servers)}:{chance.randrange(nics)}",
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
                f" --topology=leaf-spine --leaves=4 --spines=2 --hosts-per-leaf={2 * nics}"
                f" --servers=8 --gpus={servers * gpus} --gpus-per-server={gpus}"
                f" --nics-per-server={nics} --zero={zero} --seed={seed}"
                f" {'--nic=EDR' if chance.random() < 0.3 else ''} --recovery={policy}"
                f" {'' if policy == 'shrink' else '--spares=' + str(chance.randint(0, 3))}"
                f" {'--checkpoint-every=1 --checkpoint-rate=1Tbps' if seed % 2 else ''}"
                f"{' --checkpoint-async' if seed % 4 == 1 else ''}"
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
        self.refuse(
            "dltrain --servers=4 --gpus=32 --gpus-per-server=8 --recovery=restart --spares=1",
            "at most 0",
        )
        jobs = self.write("jobs.json", {"jobs": [{"name": "a", "servers": 2}]})
        self.refuse(f"dltrain --jobs={jobs} --recovery=restart", "cannot be combined with --jobs")


if __name__ == "__main__":
    main()
