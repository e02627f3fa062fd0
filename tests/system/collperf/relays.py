# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""What a ring passes on inside a server, and a collective inside one, are worked out at once where
nothing else is sent there (the default), or message by message (--in-server=one-by-one): the same
bytes in all files.
"""

import json
import os
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import FULL, SLOWER, main, share_of

RUNS = [
    # One ring: the whole way through the server, from the first messages to the last.
    "collperf --op=allreduce --servers=6 --gpus-per-server=8 -b 1MB -e 4MB -f 4 --algorithm=ring",
    "collperf --op=allgather --servers=9 --gpus-per-server=3 -b 300kB -e 3MB -f 10"
    " --algorithm=ring --library=none",
    # Sizes that do not divide; rings of which some messages are empty, or small and others large.
    "collperf --op=reducescatter --servers=5 --gpus-per-server=7 -b 999996 -e 999996"
    " --algorithm=ring --link-delay=7ns",
    "collperf --op=allreduce --servers=5 --gpus-per-server=5 -b 12 -e 1200 -f 100"
    " --algorithm=ring --library=none",
    # Buckets that overlap with one another and with computing; GPUs that differ.
    "dltrain --model=gpt2 --seq=64 --zero=2 --servers=6 --gpus-per-server=8 --steps=2 --warmup=1"
    " --jitter=0.05",
    "dltrain --model=gpt2 --seq=64 --zero=3 --servers=7 --gpus-per-server=4 --nics-per-server=1"
    " --steps=1 --warmup=0 --library=none --fabric=ib",
    # Groups that share a server, rings in one direction and pipelines across them.
    "dltrain --model=gpt2 --seq=64 --servers=8 --gpus-per-server=4 --tp=2 --zero=1 --steps=1"
    " --warmup=0 --nics-per-server=1",
    "dltrain --model=gpt2 --seq=64 --servers=8 --gpus-per-server=6 --pp=2 --accumulation=4"
    " --nics-per-server=1 --steps=1 --warmup=0",
    "dltrain --model=gpt2 --seq=64 --servers=6 --gpus-per-server=8 --nics-per-server=1 --steps=1"
    " --warmup=0 --network=fluid",
    # A message that had shared its port, with a part of a picosecond left to send.
    "dltrain --servers=4 --gpus-per-server=3 --server={folder}/slow.json --model=gpt2 --seq=16"
    " --micro-batch=1 --warmup=0 --tp=2 --zero=0 --buckets=1MB --library=none --network=analytic"
    " --algorithm=ring",
    # Several things at one picosecond: frames, messages inside and what other rings send.
    "dltrain --servers=8 --server=big-basin --gpus-per-server=5 --nic=800GbE --seq=64 --warmup=0"
    " --topology=single-switch --model=gpt2 --tp=2 --zero=1 --buckets=1MB --library=none",
    "collperf --servers=3 --gpus-per-server=16 --op=all_gather -b 21120 -e 21120 -n 20"
    " --algorithm=ring --library=none --fault=drop,at=0s,on=server-0:0,to=0.05"
    " --timeout-exponent=4 --seed=2",
    "dltrain --servers=8 --gpus-per-server=3 --topology=single-switch --model=gpt2 --seq=64"
    " --warmup=0 --tp=2 --zero=0 --buckets=200kB --network=analytic --algorithm=ring",
    "collperf --servers=3 --gpus-per-server=5 --op=reduce_scatter -b 6000 -e 6000 --algorithm=ring"
    " -n 1 -w 0 --link-delay=0ns --protocol=ll --time-unit=1us",
    # Collectives inside servers: over a switch that adds up, several groups of a server that share
    # its NIC, a bridge that all share, GPUs that differ, and others' messages meanwhile.
    "dltrain --model=gpt2-medium --seq=128 --servers=2 --server=dgx-h100 --tp=8 --zero=1 --steps=2",
    "dltrain --model=gpt2 --seq=64 --servers=2 --gpus-per-server=8 --tp=2 --pp=2 --accumulation=3"
    " --nics-per-server=1 --warmup=0 --jitter=0.1",
    "dltrain --model=gpt2 --seq=64 --server=pcie4-l40s --servers=2 --gpus-per-server=4 --tp=2"
    " --zero=1 --warmup=0 --library=none",
    "collperf --op=alltoall --servers=2 --gpus-per-server=6 --ranks=6 -b 77776 -e 7777600 -f 100",
    "dltrain --model=gpt2 --seq=64 --servers=1 --gpus-per-server=8 --server=mi250-8 --tp=4 --zero=2"
    " --warmup=0 --engine=ns3",
    # What reads how far ranks are: a run that ends early.
    "dltrain --model=gpt2 --seq=64 --servers=6 --gpus-per-server=8 --nics-per-server=1 --steps=2"
    " --warmup=0 --fault=gpu-stop,at=8ms,on=gpu-9",
]


def random_run(rng):
    servers = rng.randint(2, 14)
    gpus = rng.randint(2, 9)
    program = rng.choice(["dltrain", "collperf", "collperf"])
    inside = rng.random() < 0.4
    servers = rng.randint(1, 3) if inside else servers
    line = f"{program} --servers={servers} --gpus-per-server={gpus}"
    line += f" --nics-per-server={rng.choice([1, 1, 1, 2])} --seed={rng.randint(1, 99)}"
    if program == "dltrain":
        line += f" --model=gpt2 --seq=64 --steps={rng.randint(1, 2)} --warmup={rng.randint(0, 1)}"
        line += f" --zero={rng.randint(0, 3)} --jitter={rng.choice(['0', '0.1'])}"
        tensor = [n for n in (2, 3, 4, 6) if gpus % n == 0]
        line += f" --tp={rng.choice(tensor)}" if inside and tensor else ""
    else:
        size = rng.choice([1000, 77_776, 1_000_000, 3_000_004])
        line += f" --op={rng.choice(['allreduce', 'allgather', 'reducescatter'])}"
        line += f" -b {size} -e {size}" + (f" --ranks={gpus}" if inside else " --algorithm=ring")
    line += rng.choice(["", " --library=none", " --server=dgx-h100"])
    line += rng.choice(["", " --fabric=ib", " --network=analytic", " --network=fluid"])
    line += rng.choice(["", " --link-delay=3ns", " --link-delay=20us"])
    line += rng.choice(["", " --topology=single-switch", " --placement=random"])
    return line


# 29.9 Gb/s: a byte takes no whole number of picoseconds.
SLOW = {
    "servers": [
        {
            "name": "slow",
            "gpu": "A100",
            "gpus": 3,
            "nics": 1,
            "nic_rate": "100Gbps",
            "scale_up": {"kind": "nvswitch", "per_gpu": "29.9Gbps", "latency": "1us"},
        }
    ]
}


class Relays(SameBytesTest):
    def both(self, line, more=""):
        status = 3 if "gpu-stop" in line else 0
        with open(os.path.join(self.folder, "slow.json"), "w", encoding="utf-8") as file:
            json.dump(SLOW, file)
        line = line.replace("{folder}", self.folder)
        ahead = self.written(f"{line}{more}", status, ["events"])
        singly = self.written(f"{line} --in-server=one-by-one", status, ["events"])
        for files in (ahead, singly):
            name = "stats.json"
            files[name] = files[name].replace('"one-by-one"', '"messages"')
        self.check_same(ahead, singly)

    def test_the_same_bytes(self):
        for line in share_of(RUNS if FULL else RUNS[::2], one_in=2):
            with self.subTest(line):
                self.both(line)

    def test_the_same_bytes_of_random_runs(self):
        rng = random.Random(20)
        for line in share_of((random_run(rng) for _ in range(int(20 / SLOWER))), one_in=3):
            with self.subTest(line):
                self.both(line)

    def test_engines_threads_and_processes(self):
        line = RUNS[0]
        for more in (" --engine=ns3", f" --threads=3{ALWAYS}"):
            with self.subTest(more):
                self.both(line, more)

    def test_most_messages_need_no_event(self):
        # 24 servers of 8: a message is passed on by 7 links, for which there are 8 events one by
        # one (7 arrivals and the sending), and 1 else, but for the first and the last 7 of the 191
        # steps a rank has.
        line = "collperf --op=allgather --servers=24 --gpus-per-server=8 -b 2MB -e 2MB"
        line += " --nics-per-server=1 --algorithm=ring --iters=1 --warmup_iters=0"
        line += " --network=analytic"
        events = [
            self.run_program(f"{line} --in-server={how}").stats["events"]
            for how in ("one-by-one", "messages")
        ]
        inside = 192 * 191 * 7 / 8
        self.assertGreater(events[0] - events[1], 0.6 * inside)


if __name__ == "__main__":
    main()
