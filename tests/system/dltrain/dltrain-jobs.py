# SPDX-License-Identifier: GPL-2.0-only
"""Several jobs on one network, and traffic beside a job: who slows whom, by how much, and that
results of each are its own.

Two leaves with two hosts each and one spine, all links 100 Gb/s:

          spine
         /     \\
      leaf-0  leaf-1        one link each: what crosses meets there
       0  1    2  3
"""

import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main, share_of, write_time_us

NETWORK = (
    "--topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=2 --gpus-per-server=1"
    " --nics-per-server=1 --nic=100GbE --fabric-rate=100Gbps --report=0 --timeline=0 "
)
# PFC shares a link between its inputs and keeps it busy: no control loop in the closed forms.
PLAIN = "--cc=none "
MB = 1000000


def flow(name, hosts, size, **more):
    """One flow from the first of these hosts to the second."""
    flows = {"pattern": "incast", "fan_in": 1, "target": 1, "bytes": size}
    return {"name": name, "hosts": hosts, "flows": flows, **more}


def ring(name, hosts, size, iterations=4, **more):
    return {
        "name": name,
        "hosts": hosts,
        "collective": {"op": "all_reduce", "bytes": size, "iterations": iterations, "warmup": 1},
        "collectives": {"algorithm": ["ring"]},
        **more,
    }


class Jobs(SameBytesTest):
    def jobs(self, jobs, options=""):
        self.file = self.write("jobs.json", {"jobs": jobs})
        run = self.run_program(f"dltrain {NETWORK}{options} --jobs={self.file}")
        self.check_sums(run)
        return run, {job["name"]: job for job in run.stats["jobs"]}

    def check_sums(self, run):
        """What jobs have adds up to what the fabric has."""
        stats = run.stats
        for total, part in (("messages", "messages"), ("message_bytes", "bytes")):
            self.assertEqual(stats[total], sum(job[part] for job in stats["jobs"]), total)
        self.assertTrue(stats["completed"])
        for row in run.rows("flows.csv"):
            self.assertIn(row["tag"].split("/")[0], [job["name"] for job in stats["jobs"]])

    def test_two_flows_that_share_a_link_take_twice_as_long(self):
        # 20 MB from leaf 0 to leaf 1 each. Alone: the link's rate. Together the two links between
        # the leaves carry 40 MB, so the later one ends after twice the time but for what the first
        # packets need, and as the leaf's queue serves both alike, the other one with it.
        run, of = self.jobs([flow("a", [0, 2], 20 * MB), flow("b", [1, 3], 20 * MB)], PLAIN)
        alone = write_time_us(20 * MB, links=4)
        for job in of.values():
            self.assertWithin(job["time_alone_us"], alone, 0.01)
            self.assertWithin(job["slower_by_others"], 2, 0.03, job["name"])
            self.assertIn(job["name"], run.out)
            self.assertEqual(job["bytes"], 20 * MB)
        # Where: the one link that both take out of leaf 0, half of whose bytes are the other's.
        for name, other in (("a", "b"), ("b", "a")):
            links = of[name]["interference"]["links"]
            self.assertEqual(links[0]["link"], "leaf-0->spine-0")
            self.assertEqual(links[0]["slowed_by"], other)
            # (In the slots in which their last packets wait one has a bit less than the other.)
            self.assertAlmostEqual(links[0]["share_of_bytes_of_others"], 0.5, delta=0.05)

    def test_without_packets_links_are_shared_too(self):
        # As above. On the analytic network only NICs are shared, and no job has another's.
        two = self.write(
            "two.json", {"jobs": [flow("a", [0, 2], 20 * MB), flow("b", [1, 3], 20 * MB)]}
        )
        infiniband = NETWORK.replace("--nic=100GbE", "--nic=EDR --fabric=ib")
        for network, slower in (("fluid", 2), ("analytic", 1)):
            for fabric in (NETWORK, infiniband):
                with self.subTest(network=network, fabric=fabric):
                    run = self.run_program(f"dltrain {fabric}--network={network} --jobs={two}")
                    for job in run.stats["jobs"]:
                        self.assertWithin(job["slower_by_others"], slower, 0.03)
        # A ring beside a flow that crosses the same link, and three flows: a third each.
        _, of = self.jobs(
            [ring("ring", [0, 2], 20 * MB), flow("copy", [1, 3], 100 * MB)], "--network=fluid"
        )
        self.assertGreater(of["ring"]["slower_by_others"], 1.5)
        wide = NETWORK.replace("--hosts-per-leaf=2", "--hosts-per-leaf=3")
        self.assertNotEqual(wide, NETWORK)
        file = self.write(
            "three.json", {"jobs": [flow(f"j{i}", [i, i + 3], 20 * MB) for i in range(3)]}
        )
        run = self.run_program(f"dltrain {wide}--network=fluid --jobs={file}")
        for job in run.stats["jobs"]:
            self.assertWithin(job["slower_by_others"], 3, 0.03)

    def test_flows_that_share_no_link_do_not_touch_each_other(self):
        run, of = self.jobs([flow("a", [0, 1], 20 * MB), flow("b", [2, 3], 20 * MB)], PLAIN)
        for job in of.values():
            self.assertEqual(job["time_us"], job["time_alone_us"])
            self.assertEqual(job["slower_by_others"], 1)
            self.assertEqual(job["interference"]["waited_for_others_us"], 0)
            self.assertEqual(job["interference"]["links"], [])
            self.assertWithin(job["time_us"], write_time_us(20 * MB, links=2), 0.01)

    def test_jobs_of_one_switch_that_share_no_link_are_as_alone(self):
        # Marks are drawn by each port for itself: what passes at others, before or meanwhile, does
        # not change the draws of this one.
        jobs = [
            {"name": "a", "hosts": [0, 1, 2, 3], "start": "900us"},
            {"name": "b", "hosts": [4, 5, 6]},
            {"name": "c", "hosts": [7, 8, 9], "start": "910us"},
        ]
        for job in jobs:
            job["flows"] = {"pattern": "incast", "bytes": MB, "fan_in": len(job["hosts"]) - 1}
        file = self.write("incasts.json", {"jobs": jobs})
        marks = 0
        for seed in (1, 2, 5, 50):
            run = self.run_program(
                "dltrain --topology=single-switch --servers=11 --nic=200GbE --gpus-per-server=1"
                f" --report=0 --timeline=0 --seed={seed} --jobs={file}"
            )
            marks += run.stats["ecn_marks"]
            for job in run.stats["jobs"]:
                self.assertEqual(job["time_us"], job["time_alone_us"], (seed, job["name"]))
                self.assertIsNone(job["interference"]["shares"])
        self.assertGreater(marks, 0)  # or nothing was drawn

    def test_a_port_one_after_the_other_is_not_shared(self):
        # The first has ended long before the second begins, over the same links.
        late = flow("late", [1, 3], 2 * MB, start="20ms")
        run, of = self.jobs([flow("early", [0, 2], 20 * MB), late], PLAIN)
        self.assertLess(write_time_us(20 * MB, links=4), 10e3)
        for job in of.values():
            self.assertEqual(job["interference"]["waited_for_others_us"], 0)
            self.assertEqual(job["interference"]["links"], [])
            self.assertIsNone(job["interference"]["shares"])
        self.assertIn("for nobody, shares no link", run.out)

    def test_warm_up_of_another_is_somebody(self):
        # The flow meets the ring's first iteration alone, which is not measured: that sends 20 MB
        # each way, so the flow's 10 MB take twice as long from when the ring has been launched.
        run, of = self.jobs(
            [ring("ring", [0, 2], 20 * MB, iterations=1), flow("short", [1, 3], 10 * MB)], PLAIN
        )
        self.assertWithin(of["short"]["slower_by_others"], 1.9, 0.1)
        of = of["short"]["interference"]
        self.assertEqual(of["links"][0]["slowed_by"], "ring")
        self.assertEqual(of["shares"]["job"], "ring")
        self.assertGreater(of["links"][0]["share_of_bytes_of_others"], 0.3)

    def test_a_job_that_fails_alone_says_no_more_than_that(self):
        file = self.write("fails.json", {"jobs": [ring("r", [0, 2], MB), flow("f", [1, 3], MB)]})
        run = self.run_program(
            f"dltrain {NETWORK} --timeout-exponent=4 --fault=nic-down,at=5us,on=server-2"
            f" --jobs={file}",
            status=3,
        )
        self.assertEqual(run.err.count("NOT COMPLETED"), 1, run.err)
        self.assertIn("note: job r does not end when it is alone either", run.err)

    def test_crossing_rings(self):
        # A ring of two ranks sends size / 2 x 2 to the other one, both ways at once. Two of them
        # across the leaves: each link between these carries twice as much, and is busy until the
        # last iteration ends, so the slower job takes twice its time alone; the faster one no more.
        run, of = self.jobs([ring("a", [0, 2], 16 * MB), ring("b", [1, 3], 16 * MB)], PLAIN)
        slower = sorted(job["slower_by_others"] for job in of.values())
        self.assertWithin(slower[1], 2, 0.06)
        self.assertGreater(slower[0], 1.5)
        for job in of.values():
            self.assertEqual(job["steps_measured"], 4)
            self.assertEqual(job["bytes_sent_per_gpu"], {"all_reduce": 16 * MB})
            # 2 ranks x 16 MB x 4 measured iterations; its warm-up is not in it
            self.assertEqual(job["bytes"], 2 * 16 * MB * 4)
        # The same rings inside the leaves: each as if it was alone.
        _, apart = self.jobs([ring("a", [0, 1], 16 * MB), ring("b", [2, 3], 16 * MB)], PLAIN)
        for job in apart.values():
            self.assertEqual(job["time_us"], job["time_alone_us"])
            self.assertEqual(job["bytes"], 2 * 16 * MB * 4)

    def test_policies_say_who_meets(self):
        job = {"servers": 2, "collective": {"op": "all_reduce", "bytes": 8 * MB}}
        for policy, meets in (("packed", False), ("spread", True)):
            with self.subTest(policy):
                _, of = self.jobs(
                    [{**job, "name": "a"}, {**job, "name": "b"}], f"{PLAIN} --placement={policy}"
                )
                for one in of.values():
                    self.assertEqual(one["slower_by_others"] > 1.3, meets)

    def test_a_job_that_comes_later(self):
        # Begun when the first has ended, it meets nobody; and begins when it was told to.
        first = write_time_us(5 * MB, links=4)
        later = f"{int(first) + 200}us"
        _, of = self.jobs(
            [flow("a", [0, 2], 5 * MB), flow("b", [1, 3], 5 * MB, start=later)], PLAIN
        )
        self.assertEqual(of["b"]["start_us"], int(first) + 200)
        for job in of.values():
            self.assertEqual(job["slower_by_others"], 1)
        _, of = self.jobs(
            [ring("a", [0, 2], MB), ring("b", [1, 3], MB, start="7ms")], PLAIN
        )
        self.assertEqual(of["a"]["time_us"], of["a"]["time_alone_us"])
        self.assertEqual(of["b"]["time_us"], of["b"]["time_alone_us"])
        self.assertAlmostEqual(of["a"]["time_us"], of["b"]["time_us"], places=3)
        self.assertGreater(of["b"]["end_us"], 7000 + 4 * of["b"]["time_us"])

    def test_training_beside_a_copy(self):
        train = {
            "name": "train",
            "hosts": [0, 2],
            "training": {"model": "gpt2", "seq": 256, "steps": 2, "micro_batch": 1},
        }
        copy = flow("copy", [1, 3], 400 * MB)
        _, of = self.jobs([train, copy])
        self.assertGreater(of["train"]["slower_by_others"], 1.02)
        self.assertEqual(of["train"]["model"], "gpt2")
        self.assertGreater(of["train"]["samples_per_s"], 0)
        # What one job does is what dltrain does of it: the same code, the same times.
        whole = self.run_program(
            f"dltrain {NETWORK} --servers=4 --gpus=2 --model=gpt2 --seq=256 --steps=2"
            " --micro-batch=1 --placement=spread"
        ).stats
        for key in ("compute_time_us", "bytes_sent_per_gpu"):
            self.assertEqual(of["train"][key], whole[key], key)
        self.assertWithin(of["train"]["time_alone_us"], whole["step_time_us"], 1e-4)

    def test_engines_write_the_same_bytes(self):
        file = self.write(
            "jobs.json",
            {
                "jobs": [
                    ring("a", [0, 2, 5], MB),
                    {
                        "name": "b",
                        "servers": 3,
                        "placement": "spread",
                        "start": "50us",
                        "flows": {
                            "pattern": "random",
                            "load": 0.5,
                            "sizes": "fb-hadoop",
                            "duration": "300us",
                        },
                    },
                ]
            },
        )
        line = (
            f"dltrain --topology=fat-tree --k=4 --gpus-per-server=2 --jobs={file}"
            ' --background=pattern=random,load=0.2,sizes=fb-hadoop'
        )
        expected = self.written(f"{line} --engine=ns3", without=["events"])
        for more in ("", f" --threads=2{ALWAYS}"):
            self.check_same(self.written(line + more, without=["events"]), expected)

    def test_what_holds_a_job_back_in_the_sender_is_named(self):
        """The largest part of its messages' time comes first, and then whom they meet."""
        # Half of the link is the other's: of 20 MB at half the rate half of the time is the
        # sender's own line time, but for the first round trips, and what is left is the window's.
        run, of = self.jobs([flow("a", [0, 2], 20 * MB), flow("b", [1, 3], 20 * MB)], "--cc=dctcp ")
        for name, other in (("a", "b"), ("b", "a")):
            words = of[name]["waited_longest"]
            self.assertRegex(
                words,
                r"^[45]\d% waiting for acknowledgements, as the window was full; meets "
                rf"{other} at (leaf-0->spine-0|spine-0->leaf-1) \(50% of the bytes",
            )
            self.assertIn(words, run.out)
            of_it = of[name]["interference"]
            self.assertWithin(of_it["window_us"] / of_it["messages_us"], 0.5, 0.1)

    def test_jobs_that_share_a_buffer(self):
        incast = {"pattern": "incast", "bytes": MB, "fan_in": 2}
        line = [
            {"name": "a", "hosts": [0, 1, 2], "flows": incast},
            {"name": "b", "hosts": [3, 4, 5], "flows": incast},
            {"name": "later", "hosts": [6, 7, 8], "flows": incast, "start": "20ms"},
        ]
        file = self.write("buffer.json", {"jobs": line})
        for fabric, words in ((" --nic=200GbE", "the buffer of"), (" --nic=HDR", "the switch")):
            run = self.run_program(
                "dltrain --topology=single-switch --servers=9 --gpus-per-server=1 --report=0"
                f" --timeline=0 --jobs={file}{fabric}"
            )
            of = {job["name"]: job for job in run.stats["jobs"]}
            for name, other in (("a", "b"), ("b", "a")):
                shares = of[name]["interference"]["shares_switch"]
                self.assertEqual(shares, {"switch": "switch-0", "job": other})
                self.assertIn(f"shares {words} switch-0 with {other}", of[name]["waited_longest"])
            self.assertIsNone(of["later"]["interference"]["shares_switch"])
            apart = "shares no link with others' data at its measured time"
            self.assertIn(apart, of["later"]["waited_longest"])

    def test_who_waits_for_nobody_is_told_why(self):
        # HPCC slows both down before a queue is there: whom it meets is told all the same.
        run, of = self.jobs([flow("a", [0, 2], 4 * MB), flow("b", [1, 3], 4 * MB)], "--cc=hpcc ")
        for name, other in (("a", "b"), ("b", "a")):
            shares = of[name]["interference"]["shares"]
            self.assertEqual((shares["link"], shares["job"]), ("leaf-0->spine-0", other))
            self.assertAlmostEqual(shares["share_of_bytes_of_others"], 0.5, delta=0.01)
            self.assertGreaterEqual(of[name]["interference"]["throttled_us"], 0)
            lines = run.out.splitlines()
            (line,) = [row for row in lines if f"{name} " == row[:2] and "50%" in row]
            self.assertRegex(line, f"{other} at (leaf-0->spine-0|spine-0->leaf-1) ")
        run, of = self.jobs([flow("a", [0, 1], MB), flow("b", [2, 3], MB)], PLAIN)
        self.assertEqual(run.out.count("for nobody, shares no link"), 2)
        for job in of.values():
            self.assertIsNone(job["interference"]["shares"])
        run, _ = self.jobs(
            [flow("a", [0, 1], MB), flow("b", [2, 3], MB)], PLAIN + "--attribution=0 "
        )
        self.assertNotIn("nobody", run.out)

    def test_what_is_wrong(self):
        self.write("bad.json", '{"jobs": [{"servers": 2, "collective": {"byte": 1}}]}')
        self.refuse(
            f"dltrain --jobs={self.folder}/bad.json", "/jobs/0/collective/byte", "did you mean"
        )
        reduce = {"servers": 2, "collective": {"op": "all_reduce", "bytes": 1}}
        file = self.write("good.json", {"jobs": [reduce]})
        needs = "It needs a job that trains a model"
        self.refuse(f"dltrain --jobs={file} --model=gpt2", "--model=gpt2", needs)
        self.refuse(f"dltrain --jobs={self.folder}", f"--jobs={self.folder}", "is a folder")
        self.refuse("dltrain --alone", "--alone", "needs --jobs")
        self.refuse(f"dltrain --jobs={file} --mpi-ranks=2", "--jobs", "one process")
        self.refuse(f"dltrain --jobs={file} --layers=4", "--layers=4", "combined with --jobs")
        for dry in ("", " --dry-run"):
            self.refuse(f"dltrain --jobs={file} --launch=x.py{dry}", "--launch=x.py", "--jobs")
        self.refuse(f"dltrain --jobs={file} --capture-steps=3", "--capture-steps=3", "--jobs")
        own = self.write("own.json", {"jobs": [{"servers": 2, "training": {"modle": "gpt2"}}]})
        self.refuse(
            f"dltrain --jobs={own}",
            "/jobs/0/training/modle: unknown key; allowed in /jobs/0/training: model, ",
            "did you mean '/jobs/0/training/model'?",
        )
        dry = self.run_program(f"dltrain --jobs={file} --dry-run")
        self.assertIn("job-0", dry.out)
        few = self.write(
            "few.json", {"jobs": [{"servers": 2, "training": {"model": "gpt2", "layers": 4}}]}
        )
        self.refuse(f"dltrain --jobs={few}", "/jobs/0/training/layers", "other jobs")

    def test_a_name_that_the_file_does_not_have_is_not_blamed(self):
        """The second job without a name is job-1."""
        flows = {"servers": 2, "flows": {"bytes": "1kB"}}
        for jobs, path in (
            ([{**flows, "name": "job-1"}, flows], '/jobs/0/name="job-1": is what /jobs/1 is'),
            ([flows, {**flows, "name": "job-0"}], '/jobs/1/name="job-0": is another job\'s'),
        ):
            self.refuse(f"dltrain --jobs={self.write('names.json', {'jobs': jobs})}", path)

    def test_the_plan_counts_what_the_run_has(self):
        jobs = [ring("ring", [0, 1], MB, 3), flow("copy", [2, 3], 3 * MB, start="1ms")]
        options = PLAIN + "--protocol=simple --ack-every=1"
        run, _ = self.jobs(jobs, options + " --alone=0")
        plan = self.run_program(f"dltrain {NETWORK}{options} --jobs={self.file} --dry-run").out
        # 1 MB in two halves, there and back: each rank sends 1 MB a round, in 3 + 1 rounds.
        self.assertRegex(plan, r"\nring +\S+ \S+ +8 MB ")
        self.assertRegex(plan, r"\ncopy +\S+ \S+ +3 MB +733 ")
        frames = re.search(r"\n  frame-hops +(\d+)\n", plan)
        self.assertEqual(int(frames[1]), run.stats["frame_hops"])
        self.assertIn("each job by itself first", plan)

    def test_what_was_run_can_be_given_back(self):
        # A server that is not named has one NIC here, the named DGX of the configuration eight.
        file = self.write(
            "jobs.json",
            {
                "jobs": [
                    {"servers": 2, "collective": {"op": "all_reduce", "bytes": "1MB"}},
                    {"servers": 3, "collective": {"op": "alltoall", "bytes": "300kB"}},
                ]
            },
        )
        for options in (
            "--gpus-per-server=1",
            "--gpus-per-server=2 --nics-per-server=2 --fabric=ib --nic=EDR --placement=random",
            "--server=dgx-h100 --gpus-per-server=3 --topology=leaf-spine --cc=hpcc --alone=0",
            "--gpus-per-server=1 --network=fluid",
            "--gpus-per-server=2 --network=analytic --alone=0",
        ):
            with self.subTest(options):
                first = self.run_program(f"dltrain {options} --report=0 --jobs={file}")
                again = self.write("again.json", first.stats["configuration"])
                second = self.run_program(f"dltrain --scenario={again} --report=0")
                self.assertEqual(first.stats["configuration"], second.stats["configuration"])
                links = [] if "--network" in options else ["links.csv"]
                for name in ("flows.csv", "topology.json", *links):
                    self.assertEqual(first.text(name), second.text(name), name)

    def test_what_the_first_job_chose_is_not_everybodys(self):
        """Its GPU (and the servers and the datatype of that), and how many hosts are occupied."""
        mlp = {"model": "mlp-mnist"}
        alone = {"servers": 2, "flows": {"bytes": "1MB"}}
        fragmented = {**alone, "placement": "fragmented"}
        for jobs in (
            [{"servers": 2, "training": {**mlp, "gpu": "H100"}}, {"servers": 2, "training": mlp}],
            [{"servers": 2, "training": {**mlp, "gpu": "V100"}}],
            [{"servers": 2, "training": mlp}, {"servers": 2, "training": {**mlp, "gpu": "V100"}}],
            [{**fragmented, "occupied": 0.3}, fragmented],
            [fragmented, alone],
        ):
            with self.subTest(jobs=jobs):
                file = self.write("jobs.json", {"jobs": jobs})
                line = "dltrain --topology=fat-tree --k=4 --report=0"
                first = self.run_program(f"{line} --jobs={file}")
                again = self.write("again.json", first.stats["configuration"])
                second = self.run_program(f"dltrain --scenario={again} --report=0")
                self.assertEqual(first.text("flows.csv"), second.text("flows.csv"))
                self.assertEqual(first.stats["jobs"], second.stats["jobs"])
                self.assertEqual(first.stats["configuration"], second.stats["configuration"])


class Background(SameBytesTest):
    JOB = f"collperf {NETWORK} --ranks=2 --placement=spread -b 8M -n 8 "

    def test_it_slows_the_job_and_has_results_of_its_own(self):
        calm = self.run_program(self.JOB)
        # A second pair of hosts sends across the same links, one flow after the other.
        run = self.run_program(self.JOB + "--background=pattern=permutation,bytes=1MB,hosts=1,3")
        self.assertGreater(
            run.rows("collectives.csv")[0]["time_us"],
            1.5 * calm.rows("collectives.csv")[0]["time_us"],
        )
        for key in ("messages", "message_bytes"):
            self.assertEqual(run.stats[key], calm.stats[key], key)
        beside = run.stats["background"]
        self.assertGreater(beside["flows"], 10)
        self.assertEqual(beside["bytes"], beside["flows"] * MB)
        tags = [row["tag"] for row in run.rows("flows.csv")]
        self.assertEqual(tags.count("background permutation"), beside["flows"])
        self.assertEqual(len(tags), beside["flows"] + run.stats["messages"])
        self.assertNotIn("background", calm.stats)
        # They meet between the leaves, and each tells of the other.
        for who, whom in (("job", "background"), ("background", "job")):
            of = beside["interference"][who]
            self.assertGreater(of["waited_for_others_us"], 0)
            self.assertEqual(of["named_from_share"], 0.01)
            self.assertIn(whom, [other["job"] for other in of["behind"]])

    def test_beside_it_means_nothing(self):
        # Hosts 2 and 3 are behind another leaf than the job's.
        job = self.JOB.replace("spread", "packed")
        calm = self.run_program(job)
        run = self.run_program(job + "--background=pattern=permutation,bytes=1MB,hosts=2-3")
        for key in ("fct_us", "fct_slowdown", "message_bytes"):
            self.assertEqual(run.stats[key], calm.stats[key], key)

    def test_load_is_what_was_asked_for(self):
        for load in (0.1, 0.5):
            run = self.run_program(
                f"collperf --topology=fat-tree --k=4 --servers=16 --ranks=2 --gpus-per-server=1"
                f" --placement=packed -b 256M --report=0 --timeline=0"
                f" --background=pattern=random,load={load},sizes=fb-hadoop",
                timeout=300,
            )
            beside = run.stats["background"]
            self.assertEqual(beside["load"], load)
            # A sum of a Poisson number N of sizes S has the relative deviation
            # sqrt(E(S^2) / E(S)^2 / N): of this distribution E(S^2) / E(S)^2 is below 40 (its
            # largest flow, 10 MB, over the mean, 122 kB, is 82, and bounds it). Four of them.
            share = 4 * (82 / beside["flows_begun"]) ** 0.5
            self.assertWithin(beside["measured_load"], load, share)
            self.assertLess(share, 0.8)

    def test_a_training_step_and_its_warm_up(self):
        line = f"dltrain {NETWORK} --servers=4 --gpus=4 --model=gpt2 --seq=256 --micro-batch=1"
        calm = self.run_program(line)
        run = self.run_program(line + " --background=pattern=all-to-all,bytes=500kB,priority=5")
        for key in ("messages", "message_bytes", "compute_time_us", "bytes_sent_per_gpu"):
            self.assertEqual(run.stats[key], calm.stats[key], key)
        self.assertGreater(run.stats["step_time_us"], calm.stats["step_time_us"])
        self.assertRegex(
            " ".join(run.out.split()), r"flows that began make [0-9.]+% of their links' rate;"
        )
        self.assertEqual(sum(run.stats["drops"].values()), 0) # priority 5 is lossless too
        measured = run.stats["measured_from_us"]
        for row in run.rows("flows.csv"):
            if row["tag"].startswith("background"):
                self.assertGreaterEqual(row["start_us"], measured)

    def test_engines_write_the_same_bytes(self):
        tiny = {"name": "tiny", "layers": 4, "hidden": 256, "heads": 4, "vocab": 500}
        models = (self.write("tiny.json", {**tiny, "sequence": 256}), "gpt2")
        for model in share_of(models, one_in=2):
            line = (
                f"dltrain --topology=fat-tree --k=4 --gpus=16 --gpus-per-server=2 --model={model}"
                " --seq=256 --micro-batch=1 --background=pattern=random,load=0.3,sizes=fb-hadoop"
            )
            expected = self.written(f"{line} --engine=ns3", without=["events"])
            for more in ("", f" --threads=2{ALWAYS}"):
                self.check_same(self.written(line + more, without=["events"]), expected)

    def test_what_is_wrong(self):
        self.refuse(
            f"collperf {NETWORK} --ranks=2 --background=pattern=random,load=high",
            "--background: load=high",
        )
        self.refuse(
            f"collperf {NETWORK} --ranks=2 --background=pattern=random --mpi-ranks=2",
            "--background",
            "one process",
        )


if __name__ == "__main__":
    main()
