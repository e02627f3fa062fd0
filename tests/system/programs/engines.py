# SPDX-License-Identifier: GPL-2.0-only
"""What the programs write is the same bytes with --engine=ns3, with --engine=windows and with
several threads: programs, fabrics, congestion controls, losses, pauses, recoveries, balancers,
captures, rates, NICs and GPUs a server, seeds, runs that stop. What may differ is what stats.json
itself calls nondeterministic.
"""

import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import FULL, SLOWER, full, main, share_of

# A line is a run. Random ones follow.
RUNS = [
    "traffic --k=4 --pattern=incast --fan-in=8 --bytes=1MB --watch=edge-0-0,edge-1-1->agg-1-0"
    " --link-interval=20us",
    # Lost by lottery, in several switches.
    "traffic --k=4 --pattern=incast --fan-in=8 --bytes=300kB --no-pfc --no-ecn --buffer=400kB",
    "traffic --k=6 --pattern=permutation --bytes=200kB --cc=none --seed=3",
    "traffic --k=4 --pattern=poisson --load=0.6 --duration=200us --warm-up=50us"
    " --queue-interval=5us --rate-interval=20us --sizes=websearch",
    "traffic --k=4 --pattern=random-permutation --bytes=300kB --cc=hpcc --trace-qps=server-1->*"
    " --rate-interval=10us",
    "traffic --k=4 --pattern=all-to-all --bytes=20kB --cc=swift --queue-pairs=reused"
    " --operation=read",
    "traffic --k=4 --pattern=all-to-all --bytes=20kB --outstanding=3 --queue-pair-rest=20us",
    "traffic --k=4 --pattern=permutation --bytes=500kB --bit-error-rate=1e-7"
    " --loss-recovery=selective-repeat --pfc=0",
    "traffic --k=4 --pattern=permutation --bytes=500kB --bit-error-rate=1e-7 --pcap=all"
    " --pcap-format=pcapng",
    "traffic --topology=leaf-spine --leaves=3 --spines=2 --hosts-per-leaf=5 --bytes=300kB"
    " --ns3::RdmaSwitch::LoadBalancer=spray --loss-recovery=selective-repeat",
    "traffic --k=4 --pattern=permutation --bytes=500kB --load-balancer=conga --flowlet-gap=2us",
    "traffic --k=4 --pattern=permutation --bytes=500kB --load-balancer=reps --bit-error-rate=1e-7",
    "traffic --k=4 --pattern=permutation --bytes=1MB --load-balancer=plb --oversubscription=2",
    "traffic --k=4 --pattern=permutation --bytes=500kB --load-balancer=drill --pcap=all",
    "traffic --k=4 --pattern=permutation --bytes=500kB --load-balancer=flowlet --fabric=ib",
    "traffic --k=4 --pattern=incast --fan-in=8 --bytes=300kB --queue-disc=srpt --no-pfc"
    " --buffer=30kB --loss-recovery=selective-repeat --ets=3:10",
    "traffic --k=4 --pattern=random-permutation --bytes=300kB --queue-disc=fq --cc=hpcc",
    "traffic --k=4 --pattern=incast --fan-in=8 --bytes=300kB --queue-disc=pifo",
    "traffic --k=4 --pattern=permutation --bytes=500kB --oversubscription=4 --marker=pie"
    " --buffer-policy=fair",
    "traffic --k=4 --pattern=incast --fan-in=8 --bytes=1MB --marker=red-average"
    " --buffer-policy=headroom-pools --cut-through",
    "traffic --k=4 --pattern=permutation --bytes=500kB --cut-through --fabric-rate=400Gbps"
    " --bit-error-rate=1e-7 --marker=codel",
    "traffic --k=4 --pattern=permutation --bytes=300kB --load-balancer=wcmp --convergence=20us"
    " --fault=link-down,at=10us,on=agg-0-0-core-0",
    "traffic --topology=leaf-spine --hosts=16 --hosts-per-leaf=8 --spines=4 --bytes=1MB"
    " --pattern=permutation --offset=8 --load-balancer=conweave --pcap=leaf-0",
    "traffic --k=4 --pattern=poisson --sizes=google-rpc --load=0.8 --duration=100us"
    " --transport=homa",
    "traffic --k=4 --pattern=incast --fan-in=6 --bytes=300kB --transport=expresspass",
    "traffic --k=4 --pattern=incast --fan-in=12 --bytes=300kB --flow-control=cbfc --link-retry"
    " --bit-error-rate=3e-7 --cc=hpcc",
    "traffic --k=4 --pattern=permutation --bytes=300kB --set=core:link_retry=1"
    " --set=core:flow_control=cbfc --fault=link-down,at=10us,for=50us,on=edge-0-0-agg-0-0",
    "collperf --op=alltoall --ranks=12 --gpus-per-server=3 -b 64kB -e 64kB"
    " --qps-per-connection=3 --split-data-on-qps --load-balancer=reps",
    "dltrain --model=gpt2 --seq=64 --gpus=12 --gpus-per-server=3 --steps=1 --warmup=0"
    " --qps-per-connection=2",
    "traffic --topology=single-switch --hosts=9 --pattern=incast --bytes=1MB --link-delay=5ns",
    "traffic --k=4 --bytes=1MB --link-delay=0ns",
    "traffic --k=4 --bytes=3MB --stop-after=77us",
    # Windows that hold hundreds of frames of a unit, or less than one.
    "traffic --topology=single-switch --hosts=24 --pattern=all-to-all --bytes=300kB"
    " --link-delay=20us",
    "traffic --k=4 --pattern=permutation --bytes=3MB --link-delay=2ms --no-pfc --stop-after=9ms",
    "traffic --k=4 --nic=10GbE --pattern=incast --bytes=300kB --link-delay=100ns",
    # Windows that samplers cut into twenty pieces, ten and hundreds (whoever was in a window's list
    # twice ran twice in each piece, and was in the next list four times: no end of it).
    "traffic --hosts=16 --pattern=poisson --load=0.3 --duration=500us --link-delay=20us",
    "traffic --hosts=16 --pattern=permutation --bytes=300kB --rate-interval=100ns",
    "collperf --ranks=8 -b 32M --op=alltoall --topology=leaf-spine --no-pfc --link-delay=2ms",
    "traffic --k=4 --nic=400GbE --bytes=50kB --link-delay=1ps",
    "traffic --k=4 --bytes=300kB --fabric=ib --pattern=incast --cc=ib-cc --queue-interval=3us",
    "traffic --k=4 --bytes=300kB --fabric=ib --bit-error-rate=1e-6 --adaptive-routing",
    "traffic --k=4 --bytes=1MB --network=analytic",
    "traffic --k=4 --bytes=1MB --network=fluid --pattern=random-permutation",
    "traffic --topology=torus --torus=3x3 --hosts=9 --pattern=all-to-all --bytes=30kB"
    " --network=fluid --link-delay=3ns",
    "traffic --k=4 --pattern=incast --bytes=200kB --network=fluid --link-delay=0ns",
    "dltrain --model=gpt2 --seq=64 --zero=2 --servers=5 --gpus-per-server=3 --network=fluid"
    " --oversubscription=4 --placement=random --steps=1 --warmup=0",
    # One unit with many ports: more than slots have numbers for, and without a table.
    "traffic --k=36 --pattern=incast --fan-in=4 --bytes=1kB --network=analytic --report=0",
    "traffic --k=10 --pattern=permutation --bytes=20kB --link-delay=0ns",
    # A switch with more ports than have 10 bits.
    "traffic --topology=single-switch --hosts=1100 --pattern=random-permutation --bytes=9kB"
    " --queue-interval=1us --report=0 --timeline=0",
    "collperf --op=allreduce --ranks=16 --gpus-per-server=8 -b 1kB -e 1MB -f 32",
    "collperf --op=alltoall --ranks=12 --gpus-per-server=3 --nics-per-server=3 -b 64kB -e 64kB"
    " --fabric=ib",
    "dltrain --model=bloom560m --zero=2 --gpus=16 --steps=1",
    "dltrain --model=bloom560m --zero=3 --gpus=24 --gpus-per-server=8 --nics-per-server=8 --steps=2"
    " --warmup=0 --placement=random --oversubscription=2",
    # What events without a node schedule at their own time, in windows of a tick; and events that
    # schedule others of their own time, of several hosts at once.
    "collperf --op=alltoall -b 100kB --gpus-per-server=3 --servers=2 --link-delay=0ns",
    "collperf --op=alltoallv -b 50kB --gpus-per-server=4 --servers=2 --link-delay=1ps",
    "dltrain --model=gpt2 --seq=64 --topology=single-switch --gpus-per-server=2 --servers=3"
    " --step-latency=50us --warmup=0",
    "dltrain --model=gpt2 --seq=64 --oversubscription=1 --fabric=ib --cc=ib-cc --link-delay=0ns"
    " --gpus-per-server=7 --nics-per-server=2 --servers=5 --channels=5 --zero=0 --warmup=0",
    # Critical paths over several lanes and levels, and what is fetched ahead in a network that is
    # large enough for it.
    "dltrain --model=gpt2 --seq=64 --zero=1 --gpus=21 --gpus-per-server=3 --steps=2 --warmup=1"
    " --algorithm=hierarchical --channels=2 --topology=single-switch --fabric=ib",
    "dltrain --model=gpt2 --seq=64 --zero=0 --servers=65 --gpus-per-server=2 --steps=1 --warmup=0"
    " --topology=leaf-spine --nic=400GbE --slow-gpu=7:1.5",
]


class EnginesTest(SameBytesTest):
    def compare(self, line, threads):
        # Several threads are compared with the same bytes: of one thread a third is enough.
        alone = SLOWER == 1 and (FULL or len(line) % 3 == 0)
        engines = ["--engine=windows --threads=1"] if alone else []
        if "--pcap" in line:  # its own thread, whatever an attribute says
            engines.append(f"--ns3::NodeWindowSimulatorImpl::Threads=2{ALWAYS}")
        elif "--network" not in line:
            engines.append(f"--threads={threads}{ALWAYS}")
        expected = self.written(f"{line} --engine=ns3")
        for engine in engines:
            with self.subTest(f"{line} {engine}"):
                self.check_same(self.written(f"{line} {engine}"), expected)

    def test_matrix(self):
        # The share has all programs, both fabrics, captures, losses and a network without packets.
        for i, line in share_of(enumerate(RUNS), one_in=5, first=1):
            # More threads than cores, where there is not much to do.
            self.compare(line, threads=2 if line.startswith("dltrain") else [2, 3, 8][i % 3])

    def test_hosts_apart(self):
        """Without attribution hosts go to threads, too."""
        runs = [
            (i, line)
            for i, line in enumerate(RUNS)
            if "--pcap" not in line and "--network" not in line and (FULL or i % 4 == 1)
        ]
        for i, line in share_of(runs, one_in=4, first=1):
            self.compare(f"{line} --attribution=0", threads=[3, 2, 5][i % 3])

    @full
    def test_random(self):
        """Shapes that nobody chose; the seeds are fixed."""
        for seed in range(12):
            draw = random.Random(seed)
            topology = draw.choice(
                [
                    f"--k={draw.choice([4, 6])}",
                    f"--topology=leaf-spine --leaves={draw.randint(2, 4)}"
                    f" --spines={draw.randint(1, 3)} --hosts-per-leaf={draw.randint(2, 5)}",
                    f"--topology=single-switch --hosts={draw.randint(2, 11)}",
                ]
            )
            fabric = draw.choice(["roce", "roce", "ib"])
            control = draw.choice(["ib-cc", "none"] if fabric == "ib" else
                                  ["none", "dcqcn", "dctcp", "hpcc", "hpcc-pint", "timely",
                                   "swift", "powertcp"])
            line = (
                f"traffic {topology} --fabric={fabric} --cc={control}"
                f" --pattern={draw.choice(['permutation', 'all-to-all', 'random-permutation'])}"
                f" --bytes={draw.randint(1, 150000)} --seed={draw.randint(0, 10**6)}"
                f" --link-delay={draw.choice(['0ns', '3ns', '50ns', '1us', '2.5us'])}"
                f" --start-jitter={draw.choice(['0ns', '20us'])}"
                f" --ack-every={draw.choice([1, 3, 16])}"
            )
            if draw.random() < 0.3:
                line += " --bit-error-rate=3e-8"
            if draw.random() < 0.5:
                line += f" --attribution=0 --queue-pairs={draw.choice(['per-pair', 'reused'])}"
            self.compare(line, threads=draw.randint(2, 5))

    def test_refusals(self):
        self.refuse("traffic --engine=window", "--engine=window", "did you mean 'windows'?")
        self.refuse("traffic --threads=2 --engine=ns3", "--threads=2", "allowed: 1")
        self.refuse("traffic --threads=2 --pcap=all", "--threads=2", "allowed: 1")
        for network in ("analytic", "fluid"):
            self.refuse(f"traffic --threads=2 --network={network}", "--threads=2", "allowed: 1")
        for number in ["0", "65", "-1", "1.5", "two", "99999999999999999999"]:
            self.refuse(f"traffic --threads={number}", f"--threads={number}", "64")


if __name__ == "__main__":
    main()
