# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 PROCESSORS 2
"""Several processes (--mpi-ranks) of traffic write the same bytes as one: fabrics, congestion
controls, losses, loads with a warm-up, recoveries, rates, runs that stop, captures, and processes
of two threads; of jobs, ranks-jobs.py has it. What may differ is what stats.json itself calls
nondeterministic, the number of simulator events, and the number of processes.
"""

import os
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import SLOWER, captured, main, share_of

# A line is a run, with the numbers of processes. Random ones follow.
RUNS = [
    (
        "traffic --k=4 --pattern=incast --fan-in=8 --bytes=1MB"
        " --watch=edge-0-0,edge-1-1->agg-1-0 --link-interval=20us",
        (2, 4),
    ),
    (
        "traffic --k=4 --pattern=incast --fan-in=8 --bytes=300kB --no-pfc --no-ecn --buffer=400kB",
        (3,),
    ),
    ("traffic --k=4 --pattern=all-to-all --bytes=20kB --outstanding=3", (2,)),
    ("traffic --k=6 --pattern=permutation --bytes=200kB --cc=none --seed=3", (3,)),
    (
        "traffic --k=4 --pattern=poisson --load=0.6 --duration=200us --warm-up=50us"
        " --queue-interval=5us --rate-interval=20us --sizes=websearch",
        (2, 3),
    ),
    (
        "traffic --k=4 --pattern=on-off --load=0.3 --duration=150us --queue-pairs=per-pair"
        " --rate-interval=0us --incast-load=0.1 --incast-fan-in=5",
        (2, 8),
    ),
    (
        "traffic --k=4 --pattern=random-permutation --bytes=300kB --cc=hpcc"
        " --trace-qps=server-1->* --rate-interval=10us",
        (2,),
    ),
    (
        "traffic --k=4 --pattern=all-to-all --bytes=20kB --cc=swift --queue-pairs=reused"
        " --operation=read",
        (2,),
    ),
    (
        "traffic --k=4 --pattern=permutation --bytes=500kB --bit-error-rate=1e-7"
        " --loss-recovery=selective-repeat --pfc=0",
        (3,),
    ),
    (
        "traffic --topology=leaf-spine --leaves=3 --spines=2 --hosts-per-leaf=5 --bytes=300kB"
        " --ns3::RdmaSwitch::LoadBalancer=spray --loss-recovery=selective-repeat",
        (5,),
    ),
    (
        "traffic --topology=single-switch --hosts=9 --pattern=incast --bytes=1MB --link-delay=5ns",
        (2, 3),
    ),
    (
        "traffic --k=4 --pattern=permutation --bytes=300kB --cut-through --marker=pie"
        " --buffer-policy=fair --bit-error-rate=1e-7",
        (3,),
    ),
    ("traffic --k=4 --bytes=3MB --stop-after=77us", (2,)),
    # Some receivers have heard nothing yet: their ends of connections are not made.
    ("traffic --k=4 --bytes=200kB --stop-after=3us", (2,)),
    (
        "traffic --k=8 --hosts=32 --pattern=random-permutation --bytes=200kB --stop-after=7us"
        " --fabric=ib",
        (2, 4),
    ),
    # A packet's line time is nothing in units of 400 ns, and a cap in packets is divided by it.
    ("traffic --hosts=4 --bytes=300kB --time-unit=400ns --transport=irn", (2,)),
    ("traffic --hosts=8 --pattern=permutation --bytes=100kB --rate-interval=200ns", (2,)),
    ("traffic --k=4 --bytes=300kB --fabric=ib --pattern=incast --cc=ib-cc", (2, 3)),
    ("traffic --k=4 --bytes=300kB --fabric=ib --bit-error-rate=1e-6 --adaptive-routing", (2,)),
    ("traffic --topology=torus --torus=3x2 --hosts-per-switch=2 --bytes=100kB", (2, 4)),
    (
        "traffic --topology=leaf-spine --hosts=16 --hosts-per-leaf=8 --spines=4 --bytes=300kB"
        " --pattern=permutation --offset=8 --load-balancer=conweave",
        (2, 3),
    ),
    (
        "traffic --k=4 --pattern=incast --bytes=200kB --flow-control=cbfc --link-retry"
        " --bit-error-rate=3e-7 --cc=hpcc",
        (3,),
    ),
    ("traffic --k=4 --pattern=incast --bytes=100kB --transport=homa", (3,)),
    ("traffic --k=4 --pattern=incast --bytes=100kB --transport=expresspass", (3,)),
    (
        "traffic --k=4 --pattern=incast --fan-in=5 --bytes=50kB --queue-pairs=reused"
        " --pcap=all --pcap-snaplen=70",
        (2,),
    ),
    (
        "traffic --k=4 --pattern=permutation --bytes=30kB --bit-error-rate=1e-6 --pcap=all"
        " --pcap-format=pcapng --pcap-flow=server-0->server-1,pfc,server-3->server-4",
        (2, 3),
    ),
    (
        "traffic --k=4 --pattern=incast --bytes=200kB --fabric=ib --pcap-size=20kB --pcap-files=3"
        " --pcap=edge-0-0,server-1->edge-0-0",
        (2,),
    ),
]


class RanksTest(SameBytesTest):
    def test_matrix(self):
        # The share has a load, losses, a run that stops, InfiniBand and captures.
        for line, ranks in share_of(RUNS[:: 1 if SLOWER == 1 else 4], one_in=4, first=2):
            self.compare_ranks(line, ranks)

    def test_threads(self):
        line = "traffic --k=4 --pattern=random-permutation --bytes=200kB"
        self.compare_ranks(line, (2,), f" --threads=2{ALWAYS}")

    def test_not_completed(self):
        """A deadlock is found when the last rank has seen nothing move for a second."""
        # So few links that links.csv has less rows than it may have in all.
        rings = (
            "--torus=5 --hosts=5 --hosts-per-switch=1 --offset=2",
            "--torus=4 --hosts=8 --hosts-per-switch=2 --offset=4",  # stuck later than at once
        )
        for ring in share_of(rings, one_in=2, first=1):
            line = f"traffic --topology=torus {ring} --bytes=5MB --cc=none --buffer=200kB --ecn=0"
            self.compare_ranks(line, (2, 3), status=3)
            # Some queue pairs of the second one give up before.
            status = 3 if "--torus=4" in ring else 0
            self.compare_ranks(f"{line} --stop-after=1000050us", (2,), status=status)
        self.compare_ranks(
            "traffic --k=4 --bytes=1MB --bit-error-rate=1e-4 --retry-count=1 --timeout-exponent=3",
            (3,),
            status=3,
        )

    def test_messages_of_one_moment(self):
        """A packet that was missing completes several messages at once: rows in their order."""
        self.compare_ranks(
            "traffic --k=6 --hosts=35 --oversubscription=2 --transport=uet --mtu=256"
            " --ns3::UetParameters::ReceiverCredits=1 --bit-error-rate=1e-6 --timeout-exponent=6"
            " --pattern=on-off --load=0.9 --duration=60us --sizes=fb-hadoop --queue-interval=700ns"
            " --rate-interval=0us --queue-pairs=per-pair --operation=send --seed=230006",
            (2,),
        )

    def test_launcher_without_its_mpi(self):
        """What another MPI's launcher started would be as many runs of one process."""
        words, _ = self.command("traffic --k=4 --bytes=1kB", None)
        for rank in "01":
            done = captured(
                words, cwd=self.folder, env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": rank}
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("MPI of process 0 of 1", done.stderr)

    def test_random(self):
        """Shapes that nobody chose; the seeds are fixed."""
        for seed in share_of(range(8 if SLOWER == 1 else 2), one_in=4, first=1):
            draw = random.Random(seed)
            topology = draw.choice(
                [
                    f"--k={draw.choice([4, 6])}",
                    f"--topology=leaf-spine --leaves={draw.randint(2, 4)}"
                    f" --spines={draw.randint(1, 3)} --hosts-per-leaf={draw.randint(2, 5)}",
                    f"--topology=torus --torus={draw.choice(['4', '3x3', '2x2x2'])}"
                    f" --hosts-per-switch={draw.randint(1, 3)}",
                ]
            )
            fabric = draw.choice(["roce", "roce", "ib"])
            control = draw.choice(
                ["ib-cc", "none"]
                if fabric == "ib"
                else ["none", "dcqcn", "dctcp", "hpcc", "hpcc-pint", "timely", "swift", "powertcp"]
            )
            line = (
                f"traffic {topology} --fabric={fabric} --cc={control}"
                f" --pattern={draw.choice(['permutation', 'all-to-all', 'random-permutation'])}"
                f" --bytes={draw.randint(1, 150000)} --seed={draw.randint(0, 10**6)}"
                f" --link-delay={draw.choice(['3ns', '50ns', '1us', '2.5us'])}"
                f" --start-jitter={draw.choice(['0ns', '20us'])}"
                f" --ack-every={draw.choice([1, 3, 16])}"
                f" --queue-pairs={draw.choice(['per-flow', 'per-pair', 'reused'])}"
            )
            if draw.random() < 0.3:
                line += " --bit-error-rate=3e-8"
            self.compare_ranks(line, (draw.choice([2, 3]),))

    def test_refusals(self):
        several = " --mpi-ranks=2 --ranks-of-nothing"
        self.refuse("traffic" + several, "--ranks-of-nothing", "unknown")
        self.refuse("dltrain --engine=ns3 --mpi-ranks=2", "--engine=ns3", "allowed: windows")
        self.refuse(
            "traffic --topology=single-switch --hosts=4 --queue-pairs=reused --mpi-ranks=3",
            "1 switch",
            "at most",
        )
        self.refuse("traffic --k=4 --link-delay=0ns --mpi-ranks=2", "0 ps", "allowed")
        self.refuse("traffic --k=4 --network=analytic --mpi-ranks=2", "network", "packet")
        self.refuse("traffic --k=4 --pcap=all --engine=ns3 --mpi-ranks=2", "--pcap", "allowed")


if __name__ == "__main__":
    if not MPIRUN:
        print("skipped: no mpirun")
        raise SystemExit(77)
    main()
