# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""dlplan: its estimates are steps of dltrain, its plan.json runs, and it ends well in any case."""

import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, SystemTest, main, share_of

# Machines of different kinds: NICs for each GPU, or one for all; GPUs that collectives slow down.
MACHINES = [
    "--server=dgx-a100 --fused-attention",
    "--server=dgx-h100 --fused-attention",
    "--gpu=V100 --gpus-per-server=4 --nics-per-server=1 --no-fused-attention",
]
MODELS = [("bloom-560m", 1024), ("gpt2-medium", 512), ("gpt2", 300), ("llama3.2-1b", 1024)]
QUIET = "--no-report --no-timeline --no-attribution --no-progress"


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def layouts(count):
    """Random jobs with one layout each, as options."""
    draw = random.Random(64)
    for i in range(count):
        model, seq = MODELS[i % len(MODELS)]
        machine = MACHINES[i % len(MACHINES)]
        servers = draw.choice([1, 2, 3])
        gpus = servers * (4 if "V100" in machine else 8)
        tp = draw.choice([d for d in (1, 2, 4) if gpus % d == 0])
        pp = draw.choice([d for d in divisors(gpus // tp) if d <= 12])
        dp = gpus // tp // pp
        micro = draw.choice([1, 2, 3])
        virtual = 2 if pp in (2, 3, 4) and draw.random() < 0.5 else 1
        batch = dp * micro * draw.choice([1, 2, 5]) * (pp if pp > 1 else 1)
        fixed = {
            "tp": tp,
            "pp": pp,
            "cp": 1,
            "virtual-stages": virtual,
            "micro-batch": micro,
            "zero": draw.choice([0, 1] if pp > 1 else [0, 1, 2, 3]),
            "recompute": draw.choice(["none", "full"]),
            "sequence-parallel": 1 if seq % tp == 0 and draw.random() < 0.5 else 0,
            "rank-order": draw.choice(["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"]),
        }
        fix = ",".join(f"{name}={value}" for name, value in fixed.items())
        yield (
            f"--model={model} --seq={seq} {machine} --servers={servers} --global-batch={batch}"
            f" --fix={fix}"
        )


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Estimates(SystemTest):
    def test_are_dltrains_steps(self):
        """Without packets, of layouts that nobody chose: within 10%, most within 2%. The largest
        errors are those of small messages on a NIC that several GPUs share.
        """
        errors = []
        for job in share_of(layouts(12), one_in=5):
            plan = self.run_program(f"dlplan {job} --ignore-memory --no-report --no-progress")
            (row,) = plan.rows("plans.csv")
            run = self.run_program(
                f"dltrain --scenario={plan.path('plan.json')} --network=analytic {QUIET}"
            )
            error = row["estimate_us"] / run.stats["step_time_us"] - 1
            self.assertLess(abs(error), 0.1, job)
            self.assertLessEqual(row["bound_us"], row["estimate_us"], job)
            self.assertEqual(row["memory_bytes"], run.stats["gpu_memory_bytes_estimate"], job)
            errors.append(abs(error))
        self.assertLess(sorted(errors)[(len(errors) - 1) // 2], 0.02)


    def test_unequal_experts(self):
        """With --moe-skew the rank whose experts get most tokens decides: steps grow with it, and
        estimates with them.
        """
        for groups in ("ep=8,pp=1,tp=1", "ep=4,pp=2,tp=1", "ep=4,pp=1,tp=2"):
            steps = []
            for skew in (0, 2):
                plan = self.run_program(
                    "dlplan --model=mixtral-8x7b --server=dgx-h100 --servers=2 --seq=512"
                    f" --global-batch=64 --moe-skew={skew} --ignore-memory --no-report"
                    f" --no-progress --fix={groups},micro-batch=1,zero=1,recompute=none"
                )
                best = plan.rows("plans.csv")[0]
                step = self.run_program(
                    f"dltrain --scenario={plan.path('plan.json')} --network=analytic {QUIET}"
                ).stats["step_time_us"]
                self.assertLess(abs(best["estimate_us"] / step - 1), 0.1, (groups, skew))
                steps.append(best["estimate_us"])
            self.assertGreater(steps[1], 1.5 * steps[0], groups)


class Search(SystemTest):
    JOB = (
        "dlplan --model=gpt2 --gpu=V100 --gpus-per-server=4 --servers=2 --seq=512 --global-batch=16"
        " --search=tp,pp,micro-batch --no-report"
    )

    def test_verifies_and_prices(self):
        run = self.run_program(f"{self.JOB} --verify=2 --price=2 --tokens=1B --top=4")
        rows = run.rows("plans.csv")
        verified = [row["verified_us"] for row in rows if row["verified_us"]]
        self.assertEqual(len(verified), 2)
        self.assertEqual(verified, sorted(verified))
        for row in rows[:2]:
            self.assertLess(abs(row["verified_us"] / row["estimate_us"] - 1), 0.15, row)
        # 1e9 tokens are 1e9 / (16 x 512) steps of 8 GPUs.
        steps = -(-(10**9) // (16 * 512))
        hours = steps * verified[0] * 1e-6 * 8 / 3600
        self.assertIn(f"1B tokens: {steps} steps", run.out)
        self.assertIn(f"{hours:.4g} GPU-hours, ${2 * hours:.2f}", run.out)
        self.assertIn("Verified               2 layouts", run.out)
        # The same words, the same bytes: but for the folder, and the time that a search took.
        again = self.run_program(f"{self.JOB} --verify=2 --price=2 --tokens=1B --top=4")
        for name in ("plans.csv", "plan.json", "megatron.txt", "deepspeed.json"):
            self.assertEqual(run.text(name), again.text(name))

    def test_plan_is_a_scenario(self):
        run = self.run_program(self.JOB.replace(" --no-report", ""))
        page = run.text("report.html")
        self.assertIn("Layouts of gpt2", page)
        plan = json.loads(run.text("plan.json"))
        self.assertEqual(plan["program"], "dltrain")
        self.assertNotIn("run", plan)  # its results go elsewhere
        best = run.rows("plans.csv")[0]
        step = self.run_program(
            f"dltrain --scenario={run.path('plan.json')} --network=analytic {QUIET}"
        ).stats
        self.assertLess(abs(best["estimate_us"] / step["step_time_us"] - 1), 0.1)
        for degree in ("tp", "pp"):
            self.assertEqual(step["configuration"]["training"][degree], best[degree])

    def test_compares_numbers_of_gpus(self):
        run = self.run_program(
            "dlplan --model=gpt2 --gpu=V100 --gpus-per-server=4 --gpus=4,8 --seq=512"
            " --global-batch=16 --search=micro-batch --objective=gpu-hours --no-report"
        )
        rows = run.rows("plans.csv")
        self.assertEqual({row["gpus"] for row in rows}, {4, 8})
        scores = [row["gpus"] * row["estimate_us"] for row in rows]
        self.assertEqual(scores, sorted(scores))

    def test_mistakes(self):
        job = "dlplan --model=gpt2 --servers=2 --global-batch=64"
        for words, text in (
            ("--fix=tp=3", "--tp=3: a copy of the model is tp 3 x pp 1 x cp 1 = 3 GPUs"),
            ("--fix=tp=8,pp=4", "32 GPUs, which does not divide 16 GPUs"),
            ("--dp=3", "make 16"),
            ("--gpus=15", "does not fill servers of 8 GPUs"),
            ("--fix=zerro=1", "did you mean 'zero'?"),
        ):
            run = self.refuse(f"{job} {words} --no-progress", text)
            self.assertFalse(os.path.exists(run.folder))

    def test_prime_number_of_gpus(self):
        """7 GPUs have two layouts of groups: 1 and 7."""
        run = self.run_program(
            "dlplan --model=gpt2 --gpus-per-server=1 --servers=7 --seq=512 --global-batch=14"
            " --search=tp,pp,micro-batch --no-report"
        )
        self.assertEqual({row["dp"] for row in run.rows("plans.csv")}, {1, 7})

    def test_interrupted_search_keeps_the_best(self):
        folder = os.path.join(self.folder, "interrupted")
        words = (
            "--model=llama3-70b --server=dgx-h100 --servers=32 --seq=8192 --global-batch=512"
            f" --out={folder} --no-progress --no-report"
        )
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "dlplan"), *words.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("ended early", out)
        self.assertTrue(os.path.exists(os.path.join(folder, "plan.json")))

    def test_resumes(self):
        """A search that was killed in its runs ends as one that was not, and keeps its runs."""
        job = f"{self.JOB} --verify=4"
        whole = self.run_program(job)
        folder = os.path.join(self.folder, "resumed")
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "dlplan"), *job.split()[1:], f"--out={folder}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def completed(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)["completed"]

        def ended_runs():
            found = glob.glob(os.path.join(folder, "verify", "*", "stats.json"))
            return {path: os.stat(path).st_mtime_ns for path in found if completed(path)}

        end = time.monotonic() + 60
        while not ended_runs() and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.wait()
        time.sleep(0.2)  # its runs end with it
        before = ended_runs()
        self.assertTrue(before)
        resume = f"dlplan --resume={folder} --out={folder} --no-progress"
        self.refuse(f"{resume} --model=gpt2-medium", "/training/model")
        self.refuse(f"dlplan --resume={folder} --no-progress", "without --out")
        again = self.run_program(resume)
        after = ended_runs()
        self.assertEqual(before, {path: after[path] for path in before})
        for name in ("plans.csv", "estimates.csv", "plan.json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), whole.text(name), name)
        self.assertIn("Verified               4 layouts", again.out)
        self.refuse("dlplan --resume=/nowhere --out=/nowhere", "search.json")

    def test_killed_before_its_table(self):
        """An older search of the folder is gone by then, and the newer one goes on."""
        folder = os.path.join(self.folder, "early")
        self.run_program(f"{self.JOB} --out={folder}")
        job = (
            "--model=llama3-70b --server=dgx-h100 --servers=32 --seq=8192 --global-batch=512"
            f" --no-report --out={folder}"
        )
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "dlplan"), *job.split()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        search = os.path.join(folder, "search.json")

        def model():
            with open(search, encoding="utf-8") as file:
                return json.loads(file.read() or "{}").get("training", {}).get("model")

        end = time.monotonic() + 60
        while time.monotonic() < end and (not os.path.exists(search) or model() != "llama3-70b"):
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertEqual(os.listdir(folder), ["search.json"])
        run = self.run_program(f"dlplan --resume={folder} --out={folder} --time=1s")
        self.assertIn("goes on with the search of llama3-70b on 256 x H100: 0 estimates", run.err)
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["training"]["model"], "llama3-70b")
        self.assertIn("ended early", run.out)

    def test_resumes_with_the_same_files(self):
        """Estimates are of the files that were read: a model, a GPU, a server that was edited since
        then is refused, also one that another file names.
        """
        gpu = self.write("gpu.json", {"name": "mine", "base": "V100"})
        job = self.JOB.replace("--gpu=V100", f"--gpu={gpu}")
        run = self.run_program(job)
        resume = f"dlplan --resume={run.folder} --out={run.folder} --no-progress"
        self.run_program(resume)
        with open(gpu, "a", encoding="utf-8") as file:
            file.write(" ")
        self.refuse(resume, "--resume=", "gpu.json", "changed")
        self.write("gpu.json", {"name": "mine", "base": "V100"})
        # What stands in the place of a file of the folder is no file.
        self.run_program(f"{resume} --verify=1")
        for name in glob.glob(os.path.join(run.folder, "verify", "*.*")):
            os.remove(name)
            os.mkfifo(name)
        again = self.run_program(f"{resume} --verify=1")
        self.assertIn("Verified               1 layout", again.out)
        search = run.path("search.json")
        os.remove(search)
        os.mkfifo(search)
        self.refuse(resume, "search.json", "is a pipe")

    def test_hangup(self):
        """SIGHUP, of a terminal that is closed, is as SIGTERM."""
        folder = os.path.join(self.folder, "hangup")
        words = (
            "--model=llama3-70b --server=dgx-h100 --servers=32 --seq=8192 --global-batch=512"
            f" --out={folder} --no-progress --no-report"
        )
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "dlplan"), *words.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 60
        while not os.path.exists(os.path.join(folder, "search.json")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("ended early", out)
        self.assertTrue(os.path.exists(os.path.join(folder, "plan.json")))

    def test_plans_are_those_of_dltrain(self):
        """Whatever collectives a layout has: what dltrain refuses is refused before it is written,
        and another layout may do.
        """
        copies = self.JOB.replace("=tp,pp,", "=tp,zero,")
        for words, groups in (
            ("--algorithm=all_reduce=tree", None),
            ("--algorithm=tree", "zero=0"),  # no reduce_scatter
            ("--nccl-env=NCCL_ALGO=Tree", "zero=0"),
            ("--algorithm=hierarchical", None),
        ):
            run = self.run_program(f"{copies} {words} --top=3")
            self.run_program(f"dltrain --scenario={run.path('plan.json')} --dry-run")
            if groups:
                self.assertIn(f"--{groups}", run.rows("plans.csv")[0]["options"])
        copies = copies.replace(",zero", "")
        for words in (
            "--radix=2",
            "--parameter-servers=2",
            "--algorithm=tree --zero=1",
            "--link-delay=100us",  # a buffer of 2 MB does not hold its headroom
        ):
            run = self.refuse(f"{copies} {words} --no-progress", words.split()[0])
            self.assertFalse(os.path.exists(run.folder))

    def test_verifies_with_what_runs_can_have(self):
        """Options of one run alone are left out, and packets are simulated where an option needs
        them: known before the search.
        """
        job = f"{self.JOB} --top=1 --verify=1"
        for words, network in (
            ("--threads=2 --mpi-ranks=2", "analytic"),
            ("--background=pattern=permutation,bytes=64KiB", "packet"),
            ("--no-pfc", "packet"),
            ("--link-delay=10us", "analytic"),
            ("--checkpoint-every=2 --checkpoint-rate=1Gbps", "packet"),
        ):
            run = self.run_program(f"{job} {words}")
            self.assertIn("Verified               1 layout", run.out, words)
            (command,) = glob.glob(os.path.join(run.folder, "verify", "*.command"))
            with open(command, encoding="utf-8") as file:
                self.assertIn(f"--network={network} ", file.read(), words)
        run = self.refuse(f"{job} --no-pfc --verify-network=analytic --no-progress", "--no-pfc")
        self.assertFalse(os.path.exists(run.folder))

    def test_nothing_verified(self):
        """A search that was to verify and could not ends with 1."""
        folder = os.path.join(self.folder, "blocked")
        os.makedirs(folder)
        with open(os.path.join(folder, "verify"), "w", encoding="utf-8"):
            pass  # where folders of runs would be
        run = self.run_program(f"{self.JOB} --verify=1", status=1, out=folder)
        self.assertIn("not verified: ", run.err)
        self.assertIn("cannot be written", run.err)

    def test_moves(self):
        """The plan has the changes that were kept, and dltrain has its step."""
        run = self.run_program(f"{self.JOB} --verify=1 --moves=4 --top=1")
        planning = run.stats["planning"]
        self.assertEqual(len(planning["moves"]), 4)
        steps = [move["step_us"] for move in planning["moves"]]
        best = run.rows("plans.csv")[0]
        step = self.run_program(
            f"dltrain --scenario={run.path('plan.json')} --network=analytic --steps=1 {QUIET}"
        ).stats["step_time_us"]
        self.assertAlmostEqual(best["verified_us"] / step, 1, places=6)
        self.assertLessEqual(best["verified_us"], min(steps) * 1.001)
        for move in planning["moves"]:
            self.assertEqual(f"--{move['option']}={move['value']}" in best["options"], move["kept"])
        self.refuse(f"{self.JOB} --moves=4", "--verify")

    def test_band(self):
        """Ends of the band are the step times one factor each, for all rows."""
        run = self.run_program(
            "dlplan --model=gpt2-medium --server=dgx-a100 --servers=1 --seq=512 --global-batch=16"
            " --search=tp,micro-batch --no-report"
        )
        band = run.stats["planning"]["compared_with"]
        rows = run.rows("plans.csv")
        for row in rows:
            for end in ("low", "high"):
                factor = row[f"step_{end}_us"] / row["estimate_us"]
                wanted = band[f"step_time_{end}_us"] / rows[0]["estimate_us"]
                self.assertAlmostEqual(factor, wanted, places=5)

    def test_runs_end_with_a_killed_search(self):
        folder = os.path.join(self.folder, "killed")
        words = (
            "--model=gpt2 --servers=2 --gpus-per-server=8 --seq=1024 --global-batch=512"
            " --fix=tp=1,pp=1,micro-batch=1 --verify=1 --verify-network=packet --no-progress"
            f" --out={folder}"
        )
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "dlplan"), *words.split()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def children():
            tasks = f"/proc/{process.pid}/task/{process.pid}/children"
            with open(tasks, encoding="ascii") as file:
                return [int(pid) for pid in file.read().split()]

        def wait(what):
            end = time.monotonic() + 60
            while not what():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)

        wait(children)
        runs = children()
        process.kill()
        process.wait()
        wait(lambda: all(map(ended, runs)))


if __name__ == "__main__":
    main()
