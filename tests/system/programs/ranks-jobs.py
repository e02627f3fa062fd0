# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 PROCESSORS 2
"""Several processes (--mpi-ranks) of collperf and dltrain write the same bytes as one: operations
and algorithms, numbers of servers, of GPUs and NICs a server, fabrics, losses, ZeRO's stages,
warm-up, captures, and processes of two threads. What may differ is what docs/ranks.md says.
"""

import json
import os
import random
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import SLOWER, main, share_of

SIZES = "-b 40001 -e 400010 -f 10 -n 2 --datatype=int8"
ODD = f"{SIZES} -w 1"

# A line is a run, with the numbers of processes. Random ones follow.
COLLPERF = [
    ("--op=allreduce --ranks=16 --gpus-per-server=8 -b 1kB -e 1MB -f 32", (2,)),
    (f"--op=allreduce --ranks=3 --gpus-per-server=1 {ODD}", (2, 3)),
    (f"--op=allreduce --ranks=10 --gpus-per-server=2 --nics-per-server=2 {SIZES} -w 0", (2, 3)),
    (f"--op=reducescatter --ranks=15 --gpus-per-server=3 {ODD} --bit-error-rate=1e-7", (3,)),
    (
        "--op=alltoall --ranks=12 --gpus-per-server=3 --nics-per-server=3 -b 64kB -e 64kB"
        " --fabric=ib --topology=leaf-spine",
        (2, 4),
    ),
    (f"--op=alltoallv --ranks=8 --gpus-per-server=2 --nics-per-server=2 {ODD}", (4,)),
    (f"--op=allgather --ranks=24 --gpus-per-server=8 --nics-per-server=8 {ODD}", (3,)),
    (f"--op=broadcast --ranks=6 --gpus-per-server=2 --root=3 {ODD} --fabric=ib", (2, 3)),
    ("--op=barrier --ranks=10 --gpus-per-server=2 -n 3", (2,)),
    (
        f"--op=allreduce --ranks=12 --gpus-per-server=4 --algorithm=hierarchical {ODD}"
        " --channels=2 --placement=random --seed=7",
        (2, 3),
    ),
    (f"--op=allreduce --ranks=4 --gpus-per-server=1 --step-latency=0ns {ODD} --cc=hpcc", (2, 4)),
    # Posts at one time, by an event of no host: they are numbered by rank, wherever that is.
    (
        f"--op=alltoall --ranks=6 --gpus-per-server=2 --placement=random --step-latency=0ns {ODD}",
        (3,),
    ),
    (f"--op=alltoall --ranks=4 --gpus-per-server=2 {ODD} --link-delay=3ns --cc=swift", (2,)),
    # Each operation, and algorithms that send in other ways; servers with a library's times.
    (f"--op=gather --ranks=6 --gpus-per-server=2 {ODD}", (2,)),
    (f"--op=scatter --ranks=6 --gpus-per-server=2 {ODD}", (3,)),
    (f"--op=reduce --ranks=6 --gpus-per-server=2 {ODD}", (2,)),
    (f"--op=sendrecv --ranks=6 --gpus-per-server=2 {ODD}", (3,)),
    (f"--op=allreduce --ranks=10 --gpus-per-server=1 --algorithm=tree {ODD}", (2,)),
    (
        f"--op=alltoall --ranks=12 --gpus-per-server=4 --nics-per-server=4 --algorithm=pxn {ODD}",
        (3,),
    ),
    (f"--op=allgather --ranks=7 --gpus-per-server=1 --algorithm=pat {ODD}", (4,)),
    (f"--op=allreduce --server=dgx-h100 --servers=3 {ODD}", (3,)),
    (f"--op=allreduce --ranks=8 --gpus-per-server=2 {ODD} --trace-qps=server-1->*", (2,)),
    (f"--op=alltoall --ranks=6 --gpus-per-server=2 {ODD} --pcap=all", (3,)),
    # Switches that have neither end of what they see.
    ("--op=alltoall --ranks=16 --gpus-per-server=1 --topology=fat-tree --pcap=all -b 4kB", (4,)),
    (
        f"--op=allreduce --ranks=6 --gpus-per-server=1 {ODD} --fabric=ib --pcap=all"
        " --pcap-format=pcapng --pcap-size=300kB --pcap-files=4",
        (2,),
    ),
]
DLTRAIN = [
    ("--model=bloom560m --zero=2 --gpus=16 --steps=1", (2,)),
    (
        "--model=bloom560m --zero=3 --gpus=24 --gpus-per-server=8 --nics-per-server=8"
        " --steps=1 --warmup=1 --placement=random --oversubscription=2 --mtu=4096",
        (2,),
    ),
    ("--model=gpt2 --zero=0 --servers=3 --seq=128 --steps=2 --warmup=1", (2, 3)),
    ("--model=gpt2 --zero=1 --servers=5 --gpus-per-server=2 --seq=64 --steps=1 --fabric=ib", (3,)),
    (
        "--model=gpt2 --zero=2 --servers=4 --gpus-per-server=3 --nics-per-server=2 --seq=64"
        " --steps=1 --warmup=0 --slow-gpu=2:1.5 --accumulation=2",
        (2, 4),
    ),
    (
        "--model=gpt2 --zero=3 --servers=3 --gpus-per-server=1 --seq=32 --steps=1"
        " --bit-error-rate=1e-8 --warmup=2",
        (2,),
    ),
    ("--model=gpt2 --zero=1 --servers=2 --seq=64 --steps=1 --trace-qps=server-0->*", (2,)),
    (
        "--model=gpt2 --zero=2 --servers=2 --seq=16 --steps=1 --warmup=0 --pcap=server-1"
        " --pcap-snaplen=64 --fabric=ib",
        (2,),
    ),
]


class RanksJobsTest(SameBytesTest):
    def test_collectives(self):
        # The share has losses, InfiniBand, random places, a reduction to one rank and captures.
        for options, ranks in share_of(COLLPERF[:: 1 if SLOWER == 1 else 4], one_in=4, first=3):
            self.compare_ranks(f"collperf {options}", ranks)

    def test_steps(self):
        for options, ranks in share_of(DLTRAIN[:: 1 if SLOWER == 1 else 4], one_in=8, first=5):
            self.compare_ranks(f"dltrain {options}", ranks)

    def test_looks_at_links(self):
        """Flow control goes on in switches of a process in which nothing else moves: it is in the
        interval in which another one has something to look at.
        """
        model = os.path.join(self.folder, "tiny.json")
        with open(model, "w", encoding="utf-8") as file:
            json.dump(
                dict(name="tiny", layers=4, hidden=64, heads=4, vocab=500, sequence=64), file
            )
        self.compare_ranks(
            f"dltrain --model={model} --micro-batch=1 --seq=64 --gpus-per-server=1"
            " --nics-per-server=1 --steps=1 --warmup=1 --zero=0 --buckets=1MB --jitter=0.1"
            " --zero-impl=horovod --loader=3000 --seed=527901 --topology=rail-optimized"
            " --hosts-per-rail=2 --rails=1 --link-delay=2.5us --fabric=ib --timeout-exponent=5",
            share_of((2, 4, 5), one_in=3),
        )

    def test_cut_off(self):
        """Whom failed messages cut off from whom: ranks of all processes."""
        self.compare_ranks(
            "collperf --op=reduce --ranks=9 --gpus-per-server=1 -b 100kB -e 1600kB -f 16 -n 2 -w 1"
            " --algorithm=ring --channels=2 --placement=random --seed=97560 --link-delay=2.5us"
            " --topology=dragonfly-plus --transport=eqds --bit-error-rate=1e-6"
            " --timeout-exponent=4",
            share_of((2, 3), one_in=2),
            status=3,
        )
        self.compare_ranks(
            "dltrain --model=gpt2 --layers=2 --seq=16 --servers=5 --gpus-per-server=2 --tp=2"
            " --zero=0 --steps=1 --warmup=0 --bit-error-rate=1e-5 --retry-count=0"
            " --timeout-exponent=2",
            share_of((2, 3), one_in=2, first=1),
            status=3,
        )

    def test_threads(self):
        lines = (
            "collperf --op=allgather --ranks=8 -b 256kB -e 256kB --fabric=ib",
            "dltrain --model=gpt2 --seq=64 --servers=4 --gpus-per-server=2 --zero=3 --steps=1",
        )
        for line in share_of(lines, one_in=2):
            self.compare_ranks(line, (2,), f" --threads=2{ALWAYS}")

    def test_the_table(self):
        """What collperf prints."""
        line = f"collperf --ranks=6 --gpus-per-server=2 {ODD} --progress=0"
        one = self.run_program(f"{line} --attribution=0").out
        several = self.run_program(f"{line} --mpi-ranks=3").out
        self.assertEqual(several, one)
        self.assertIn("400010", one)

    def test_not_completed(self):
        """What each process waits for is told under its number."""
        line = (
            "collperf --ranks=4 --gpus-per-server=1 -b 1MB -e 1MB --bit-error-rate=1e-3"
            " --retry-count=1"
        )
        one = self.run_program(line, status=3)
        several = self.run_program(f"{line} --mpi-ranks=2", status=3)
        self.assertIn("of 4 ranks entered", one.stats["message"])
        self.assertRegex(
            several.stats["message"],
            re.compile("process 0:\n.*of 2 ranks of this process entered.*process 1:\n", re.DOTALL),
        )

    def test_memory(self):
        """Each process has its own part only: of four, much less than of one."""
        # Queue pairs of all with all: most of what there is.
        line = "collperf --op=alltoall --ranks=256 --gpus-per-server=1 -b 256kB -e 256kB -w 0 -n 1"
        one = self.run_program(f"{line} --attribution=0 --report=0").stats["peak_rss_bytes"]
        four = self.run_program(f"{line} --mpi-ranks=4 --report=0").stats["peak_rss_bytes"]
        self.assertLess(four, 0.7 * one)

    def test_random(self):
        """Shapes that nobody chose; the seeds are fixed."""
        for seed in share_of(range(10 if SLOWER == 1 else 2), one_in=5, first=1):
            draw = random.Random(seed)
            servers = draw.choice([2, 3, 5, 6])
            gpus = draw.choice([1, 2, 3, 4, 8])
            operation = draw.choice(
                ["allreduce", "allgather", "reducescatter", "alltoall", "alltoallv", "broadcast"]
            )
            line = (
                f"collperf --op={operation} --ranks={servers * gpus} --gpus-per-server={gpus}"
                f" --nics-per-server={draw.choice([n for n in (1, 2, 4, 8) if n <= gpus])}"
                f" --fabric={draw.choice(['roce', 'ib'])} -b {draw.randint(1, 200000)}"
                f" -n {draw.randint(1, 3)} --datatype=int8 -w {draw.randint(0, 2)}"
                f" --seed={draw.randint(0, 10**6)}"
                f" --link-delay={draw.choice(['3ns', '50ns', '1us', '2.5us'])}"
                f" --ack-every={draw.choice([1, 3, 16])} --channels={draw.choice([1, 2])}"
                f" --step-latency={draw.choice(['0ns', '1us', '3.3us'])}"
                f" --placement={draw.choice(['linear', 'random'])}"
            )
            if draw.random() < 0.3:
                line += " --bit-error-rate=3e-8"
            self.compare_ranks(line, (draw.choice([n for n in (2, 3, 4) if n <= servers]),))


if __name__ == "__main__":
    if not MPIRUN:
        print("skipped: no mpirun")
        raise SystemExit(77)
    main()
