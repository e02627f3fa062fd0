# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Messages between the GPUs of a server in frames (--scale-up=packets), beside those by a law."""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import SystemTest, main

PACKETS = "--scale-up=packets"
QUIET = "--check=0 --no-report --no-timeline"


class ScaleUpPackets(SystemTest):
    def times_of(self, line):
        run = self.run_program(f"collperf {QUIET} {line}")
        return [row["time_us"] for row in run.rows("collectives.csv")], run

    def test_beside_messages(self):
        for line in (
            "--server=dgx-a100 --servers=1 --op=allreduce -b 8K -e 8M -f 32",
            "--server=dgx-h100 --servers=1 --op=alltoall -b 8K -e 8M -f 32",
            "--server=dgx-h100 --servers=1 --op=allreduce --algorithm=nvls -b 1M -e 32M -f 32",
            "--server=dgx-a100 --servers=3 --op=allreduce --algorithm=hierarchical -b 1M -e 1M",
            "--server=dgx-a100 --gpus-per-server=5 --servers=1 --op=gather -b 999996 -e 999996",
        ):
            messages, _ = self.times_of(line)
            packets, run = self.times_of(f"{line} {PACKETS}")
            for law, frames in zip(messages, packets):
                self.assertWithin(frames, law, 0.03, line)
            self.assertIn("Scale-up", run.err)

    def test_counts(self):
        # A ring of 4: 3 steps of all-gather, each GPU a quarter of 1 MiB a step, simple protocol:
        # 64 frames of 4 KiB with 256 + 16 flits each. 20 timed calls and 5 before, all counted.
        _, run = self.times_of(
            "--server=dgx-h100 --gpus-per-server=4 --servers=1 --op=allgather --algorithm=ring"
            f" --protocol=simple -b 1M -e 1M {PACKETS}"
        )
        frames = run.stats["scale_up_frames"]
        calls = frames["messages"] // (4 * 3)
        self.assertEqual(frames["messages"], calls * 4 * 3)
        self.assertEqual(frames["frames"], frames["messages"] * 64)
        self.assertEqual(frames["flits"], frames["frames"] * (256 + 16))
        self.assertEqual(frames["frame_hops"], 2 * frames["frames"])

    def test_small_buffers_and_frames(self):
        line = "--server=dgx-h100 --servers=1 --op=gather -b 8M -e 8M --algorithm=direct"
        large, run = self.times_of(f"{line} {PACKETS}")
        self.assertGreater(run.stats["scale_up_frames"]["credit_wait_us"], 0)
        # The root's port is the bottleneck, if the buffers of seven senders hold a round trip of
        # credits for it: 0.3 us at 371 GB/s are 16 KiB each.
        small, _ = self.times_of(f"{line} {PACKETS} --scale-up-frame=256B --scale-up-buffer=32KiB")
        self.assertWithin(small[0], large[0], 0.01)
        # One frame of 4 KiB a round trip of credits, 0.3 us and the frame twice: a ninth of the
        # rate and below.
        ring = "--server=dgx-h100 --servers=1 --op=allgather -b 8M -e 8M --algorithm=ring"
        whole, _ = self.times_of(f"{ring} {PACKETS} --library=none")
        slow, _ = self.times_of(f"{ring} {PACKETS} --library=none --scale-up-buffer=4352B")
        self.assertGreater(slow[0], 3 * whole[0])

    def test_racks(self):
        def server(share):
            return self.write(
                f"racks-{share}.json",
                json.dumps(
                    {
                        "name": "two-racks",
                        "base": "gb200-nvl72",
                        "gpus": 16,
                        "scale_up": {"rack": 8, "spine_share": share},
                    }
                ),
            )

        # All to all of 16: of a GPU's 15 messages 8 go to the other rack. With a tenth of the
        # rate the links of the racks are what takes the time: 8 x 8 messages of 2 MiB over
        # 8 x 900 GB/s x 0.802 x 0.1.
        line = f"--servers=1 --op=alltoall -b 32M -e 32M --library=none {PACKETS}"
        whole, _ = self.times_of(f"--server={server(1)} {line}")
        tenth, _ = self.times_of(f"--server={server(0.1)} {line}")
        self.assertWithin(tenth[0], 64 * (2 << 20) / (8 * 900e3 * 0.802 * 0.1) + 3.4, 0.05)
        self.assertLess(whole[0], 0.3 * tenth[0])
        _, run = self.times_of(f"--server={server(0.1)} --servers=1 -b 1M -e 1M")
        self.assertIn("racks are for --scale-up=packets", run.err)

    def test_bad_input(self):
        line = f"collperf --servers=1 -b 1M -e 1M {PACKETS}"
        self.refuse(f"{line} --server=pcie4-a100", "--scale-up=packets", "pcie", "messages")
        self.refuse(f"{line} --gpus-per-server=1", "--scale-up=packets", "several GPUs")
        line += " --server=dgx-h100"
        self.refuse(f"{line} --scale-up-frame=1000B", "--scale-up-frame", "256B", "1024B")
        self.refuse(f"{line} --scale-up-buffer=300B", "--scale-up-buffer", "4352")
        self.refuse(f"{line} --in-server=formula", "--scale-up=packets", "--in-server=messages")
        self.refuse("collperf --scale-up-frame=1KiB", "--scale-up-frame", "--scale-up=packets")
        self.refuse(f"dltrain --model=gpt2 --fidelity=fast {PACKETS}", "--scale-up=packets")


class ScaleUpSameBytes(SameBytesTest):
    def test_engines_and_threads(self):
        for line in (
            f"dltrain --model=gpt2 --seq=64 --servers=3 --gpus-per-server=8 --tp=2 --zero=1"
            f" --steps=1 --warmup=0 {PACKETS}",
            f"collperf --server=dgx-h100 --servers=2 --op=alltoall -b 300K -e 3M -f 10 {PACKETS}",
        ):
            expected = self.written(line)
            for how in ("--engine=ns3", f"--threads=2{ALWAYS}"):
                with self.subTest(f"{line} {how}"):
                    without = ["events"] if "engine" in how else []
                    self.check_same(
                        self.written(f"{line} {how}", 0, without),
                        self.written(line, 0, without) if without else expected,
                    )
            self.compare_ranks(line, [2])


if __name__ == "__main__":
    main()
