# SPDX-License-Identifier: GPL-2.0-only
"""dltrain --strategy: what parameter servers move, what one slow replica costs, and that it is the
same every time.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, parts_of_step, repeatable

PARAMETERS = 1_000_003  # a prime: no number of shards divides it
PSI = 2 * PARAMETERS  # bytes in bf16
REQUEST = 64
COMPUTE_US = 3000.0

# Servers of one GPU, so that all messages are on the network, which is fast: 4 MB both ways over
# 400 Gb/s take 0.08 ms of a step of 3 ms, and a little more for what is in the way of each other.
CLUSTER = (
    "--topology=single-switch --gpus-per-server=1 --nic=400GbE --library=none --report=0"
    " --timeline=0"
)


def shard_bytes(shards, shard):
    return 2 * (PARAMETERS // shards + (1 if shard < PARAMETERS % shards else 0))


def server_of(shards, shard, replicas):
    return shard * replicas // shards


def covered(spans):
    """Time that at least one of a rank's spans (rank, begin, end) covers, over all ranks."""
    time, until = 0, {}
    for rank, begin, end in sorted(spans, key=lambda span: span[1]):
        time += max(0, end - max(begin, until.get(rank, begin)))
        until[rank] = max(end, until.get(rank, end))
    return time


class Strategies(SystemTest):
    def job(self, replicas, more, shards=None, micro=1, status=0):
        model = self.write(
            "small.json",
            {
                "name": "small",
                "sequence": 1,
                "layers": [{"name": "a", "parameters": PARAMETERS, "flops": 2.0e6}],
            },
        )
        profile = self.write(
            "profile.json",
            {
                "optimizer_us": 50,
                "layers": {"a": {"forward_us": COMPUTE_US / 3, "backward_us": COMPUTE_US * 2 / 3}},
            },
        )
        servers = f" --parameter-servers={shards}" if shards else ""
        return (
            f"dltrain --model={model} --profile={profile} --micro-batch={micro} --seq=1 --zero=0"
            f" --servers={replicas} {CLUSTER}{servers} {more}"
        )

    def flows(self, run):
        """Bytes of messages by (what, from, to)."""
        sums = {}
        for row in run.rows("flows.csv"):
            key = (row["tag"], row["src"], row["dst"])
            sums[key] = sums.get(key, 0) + int(row["bytes"])
        return sums

    def test_downpour_moves_the_model_but_for_its_own_shard(self):
        for replicas, shards in ((4, 4), (5, 3), (3, 1)):
            run = self.run_program(
                self.job(replicas, "--strategy=downpour --steps=4 --warmup=0", shards)
            )
            stats = run.stats
            self.assertTrue(stats["completed"])
            self.assertEqual(stats["strategy"], "downpour")
            rounds = stats["replica_rounds"]
            # All are equally fast but for what the network does to them.
            self.assertGreaterEqual(rounds["min"], 2)
            self.assertLessEqual(rounds["max"], 6)
            # Every message of gradients is a shard, whole, to the GPU where its server is; nothing
            # goes to the own one.
            seen = set()
            for row in run.rows("flows.csv"):
                source = int(row["src"].rsplit("-", 1)[1])
                target = int(row["dst"].rsplit("-", 1)[1])
                self.assertNotEqual(source, target)
                for shard in range(shards):
                    place = server_of(shards, shard, replicas)
                    size = shard_bytes(shards, shard)
                    if row["tag"] == "gradients to a server" and target == place:
                        self.assertEqual(int(row["bytes"]), size)
                        seen.add((source, shard))
                    if row["tag"] == "parameters of a server" and source == place:
                        self.assertEqual(int(row["bytes"]), size)
                if row["tag"] == "request of parameters":
                    self.assertEqual(int(row["bytes"]), REQUEST)
            local = sum(1 for s in range(shards))
            self.assertEqual(len(seen), replicas * shards - local)
            # What a GPU sends a step: pushes of a replica, (N - 1) / N of the model with a shard a
            # GPU, and as many bytes of parameters as a server; the run ends in the middle of some.
            away = (replicas * PSI - sum(shard_bytes(shards, s) for s in range(shards))) / replicas
            sent = stats["bytes_sent_per_gpu"]["send"]
            self.assertWithin(sent, 2 * away, 0.3)

    def test_a_slow_replica(self):
        replicas = 5
        steps = "--steps=24 --warmup=4"
        slow = f"--slow-gpu=2:4 {steps}"
        even = self.run_program(self.job(replicas, f"--strategy=downpour {steps}", 5)).stats
        downpour = self.run_program(self.job(replicas, f"--strategy=downpour {slow}", 5)).stats
        backup = self.run_program(
            self.job(replicas, f"--strategy=backup-workers {slow}", 5)
        ).stats
        sync_even = self.run_program(self.job(replicas, steps)).stats
        sync = self.run_program(self.job(replicas, slow)).stats
        sandblaster = self.run_program(
            self.job(
                replicas, "--strategy=sandblaster --accumulation=16 --slow-gpu=2:4 --steps=2", 5
            )
        ).stats
        # (N - 3/4) / N: four replicas, and one a quarter as fast.
        self.assertWithin(
            downpour["samples_per_s"] / even["samples_per_s"], (replicas - 0.75) / replicas, 0.04
        )
        self.assertWithin(sync["samples_per_s"] / sync_even["samples_per_s"], 1 / 4, 0.05)
        # (N - 1) / N of the samples in steps that are a little longer than all computing.
        share = backup["samples_per_s"] / (replicas / (COMPUTE_US * 1e-6))
        self.assertLess(share, (replicas - 1) / replicas)
        self.assertGreater(share, 0.85 * (replicas - 1) / replicas)
        self.assertGreater(backup["samples_per_s"], 2 * sync["samples_per_s"])
        self.assertLess(backup["samples_per_s"], downpour["samples_per_s"])
        self.assertGreater(backup["parameter_servers"]["gradients_dropped"], 0)
        # What is slow is stale: by the steps that the others do meanwhile.
        self.assertGreater(downpour["staleness"]["max"], 2 * (replicas - 1))
        self.assertLessEqual(even["staleness"]["max"], 4 * (replicas - 1))
        histogram = downpour["staleness"]["histogram"]
        total = sum(count for _, count in histogram)
        self.assertEqual(total, downpour["parameter_servers"]["gradients_applied"])
        self.assertAlmostEqual(
            sum(value * count for value, count in histogram) / total,
            downpour["staleness"]["mean"],
            places=6,
        )
        # 80 pieces a batch: 4.25 are done a 3 ms, and the last ones cost at most two more; the
        # rest is messages and the update, 0.8 ms over 5 servers.
        pieces = sandblaster["pieces"]
        self.assertEqual(pieces["per_batch"], 80)
        self.assertEqual(pieces["begun"] - pieces["in_vain"], 160)
        least = 80 / 4.25 * COMPUTE_US
        self.assertGreater(sandblaster["step_time_us"], least - COMPUTE_US)
        self.assertLess(sandblaster["step_time_us"], least + 3 * COMPUTE_US)
        self.assertGreater(sandblaster["replica_rounds"]["max"], 3 * 10)

    def test_where_the_time_goes(self):
        """calls.log holds what stats.json says of a step: the measured steps alone, of each replica
        all that it did in them, the rest of a round of the warm-up too.
        """
        for strategy, replicas, steps, slow in (
            ("sandblaster --accumulation=3", 4, 4, ""),
            ("sandblaster --accumulation=4 --push-every=2", 3, 3, "--slow-gpu=1:2"),
            ("downpour", 5, 9, "--slow-gpu=3:7"),
            ("downpour --overlap=0 --fetch-every=3", 4, 6, "--slow-gpu=0:1.7 --warmup=2"),
            ("backup-workers --backup-workers=2", 6, 5, "--slow-gpu=2:5"),
        ):
            with self.subTest(strategy):
                run = self.run_program(
                    self.job(replicas, f"--strategy={strategy} --steps={steps} {slow}", 3)
                )
                stats = run.stats
                step, computing = stats["step_time_us"], stats["compute_time_us"]
                self.assertAlmostEqual(
                    sum(parts_of_step(stats).values()), step, delta=1e-9 * step
                )
                # (It is known two cables' delays, 2 us, after the warm-up's last step has ended.)
                begin = stats["measured_from_us"] - 2
                times = {"compute": [], "send": []}
                for line in run.text("calls.log").splitlines():
                    if line.startswith("#"):
                        continue
                    start, end, number, rank, stream, kind = line.split("\t")[:6]
                    self.assertIn(int(number), range(1, steps + 1))
                    self.assertGreaterEqual(float(end), begin)
                    if stream != "server" and kind in times:
                        times[kind].append((int(rank), max(begin, float(start)), float(end)))
                means = [covered(spans) / replicas / steps for spans in times.values()]
                self.assertAlmostEqual(means[0], computing, delta=1e-6 * step)
                # (A GPU that sends several messages at once tells when the last one has ended.)
                self.assertGreater(means[1], 0)
                self.assertWithin(stats["communication_time_us"], means[1], 0.03)
                if slow == "--slow-gpu=3:7":  # its first round outlasts the others' warm-up
                    mine = covered([span for span in times["compute"] if span[0] == 3])
                    self.assertWithin(mine, steps * step, 0.001)

    def test_a_replica_that_stops_computes_no_more(self):
        """One of five stops after 30 of some 100 ms: what it has done till then counts."""
        run = self.run_program(
            self.job(
                5, "--strategy=downpour --steps=30 --fault=gpu-stop,at=30ms,on=gpu-2 --warmup=1", 5
            )
        )
        stats = run.stats
        spans = []
        for line in run.text("calls.log").splitlines():
            if not line.startswith("#") and line.split("\t")[3:6] == ["2", "compute", "compute"]:
                spans.append([float(time) for time in line.split("\t")[:2]])
        self.assertGreater(len(spans), 10)
        self.assertAlmostEqual(max(end for _, end in spans), 30000, delta=0.001)
        begin = stats["measured_from_us"] - 1
        least = (4 * 30 * stats["step_time_us"] + 30000 - begin) / 5 / 30
        self.assertLess(stats["compute_time_us"], least + 1)
        self.assertGreater(stats["compute_time_us"], 0.9 * least)

    def test_the_same_bytes(self):
        for strategy in (
            "downpour --fetch-every=2",
            "sandblaster --accumulation=5 --push-every=2",
            "backup-workers --backup-workers=2",
        ):
            line = f"--strategy={strategy} --slow-gpu=1:3 --steps=3 --seed=7"
            runs = [
                self.run_program(self.job(6, f"{line} {threads}", 4))
                for threads in ("--threads=1", "--threads=1", "--threads=2", "--engine=ns3")
            ]
            first = runs[0]
            for run in runs[1:]:
                for name in ("flows.csv", "calls.log", "links.csv"):
                    self.assertEqual(first.text(name), run.text(name), f"{strategy}: {name}")
                mine, others = repeatable(first.stats), repeatable(run.stats)
                for stats in (mine, others):
                    stats.pop("configuration", None)
                self.assertEqual(mine, others, strategy)

    def test_shapes_run_to_their_end(self):
        # Servers of several GPUs, more shards than servers, all of the strategies.
        for strategy in ("downpour", "sandblaster", "backup-workers"):
            for cluster in ("--servers=1 --gpus-per-server=1", "--servers=3 --gpus-per-server=4"):
                if strategy == "backup-workers" and cluster.endswith("=1"):
                    continue
                for shards in (1, 7):
                    if shards == 7 and cluster.endswith("=1"):
                        continue
                    line = self.job(1, f"--strategy={strategy} --steps=2", shards)
                    line = line.replace("--servers=1 ", cluster + " ", 1).replace(
                        "--gpus-per-server=1 --nic", "--nic"
                    )
                    stats = self.run_program(line).stats
                    self.assertTrue(stats["completed"], line)
                    self.assertGreater(stats["samples_per_s"], 0)

    def test_what_does_not_go_together(self):
        self.refuse(self.job(4, "--strategy=downpour").replace("--zero=0", "--zero=2"), "zero", "0")
        self.refuse(self.job(4, "--strategy=async"), "strategy", "downpour")
        self.refuse(self.job(4, "--fetch-every=2"), "fetch-every", "--strategy=downpour")
        self.refuse(self.job(4, "--backup-workers=1"), "backup-workers", "--strategy")
        self.refuse(
            self.job(4, "--strategy=backup-workers --backup-workers=4"), "backup-workers", "1 to 3"
        )
        self.refuse(self.job(4, "--strategy=downpour", 5), "parameter-servers", "1 to 4")
        self.refuse(
            self.job(4, "--strategy=downpour --buckets=1MiB"), "buckets", "neither collectives"
        )
        self.refuse(self.job(4, "--strategy=sandblaster --overlap=1"), "overlap", "sandblaster")
        self.refuse(self.job(4, "--strategy=downpour --algorithm=ring"), "algorithm")
        self.refuse(self.job(4, "--strategy=downpour --mpi-ranks=2"), "strategy", "one process")


if __name__ == "__main__":
    main()
