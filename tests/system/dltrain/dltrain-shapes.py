# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Shapes that nobody has written down: random models, servers and combinations of --tp, --pp,
--cp, --ep, virtual stages, micro-batches, schedules and partitions. What can be run runs to its
end, its parts add up and its memory holds at least the rank's share; what cannot is refused with
one error that names an option.
"""

import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SLOWER, Run, SystemTest, captured, main, parts_of_step

QUIET = "--warmup=0 --report=0 --timeline=0 --progress=0"
# Bytes a parameter that an optimizer keeps beside 16-bit parameters and gradients: an fp32 copy,
# and fp32 momentum and variance where it has them.
STATES = {"adam": 12, "momentum": 8, "sgd": 4}


def shape(dice, number):
    """A transformer's shape, with experts or without; blocks from one on, odd ones too."""
    heads = dice.choice([2, 4, 6, 8, 12])
    made = {
        "name": f"shape-{number}",
        "layers": dice.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13]),
        "hidden": heads * dice.choice([16, 32, 64]),
        "heads": heads,
        "vocab": dice.choice([1000, 5003, 50257]),
        "sequence": dice.choice([64, 96, 256]),
        "positions": 1024,
    }
    if dice.random() < 0.25:
        made["experts"] = {
            "count": dice.choice([2, 4, 6, 8]),
            "top_k": dice.choice([1, 2]),
            "ffn": dice.choice([64, 256]),
        }
    return made


def job(dice, experts, layers):
    """Options, as a dictionary; most of them make a job that can be."""
    a_server = dice.choice([1, 2, 3, 4, 4, 6, 8, 16, 16])
    servers = dice.randint(1, 5)
    gpus = a_server * servers
    fitting = [
        (tp, pp, cp)
        for tp in (1, 2, 3, 4, 8)
        for pp in range(1, min(layers + 1, 6) + 1)
        for cp in (1, 1, 2, 4)
        if gpus % (tp * pp * cp) == 0
    ]
    tp, pp, cp = dice.choice(fitting)
    options = {
        "servers": servers,
        "gpus-per-server": a_server,
        "nics-per-server": dice.randint(1, a_server),
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "micro-batch": dice.choice([1, 1, 2, 3]),
        "accumulation": dice.choice([1, 2, 3, 4, 5, 6, 8, 12]),
        "fabric": dice.choice(["roce", "ib"]),
    }

    def sometimes(share, name, *values):
        if dice.random() < share:
            options[name] = dice.choice(values)

    if experts:
        sometimes(0.6, "ep", 2, 4)
    if pp > 1:
        sometimes(0.2, "virtual-stages", 2, 3)
        if "virtual-stages" not in options:
            sometimes(0.5, "pipeline-schedule", "gpipe", "1f1b", "zero-bubble", "pipedream")
            sometimes(0.3, "pipeline-sends", "awaited", "deepspeed")
        sometimes(0.4, "partition", "balanced", "uniform", "parameters", "type:block|embedding")
        if options.get("partition", "")[:4] in ("para", "type"):
            sometimes(0.5, "partition-fill", "front", "even")
    sometimes(0.4, "zero", 0, 1, 2, 3)
    sometimes(0.2, "zero-impl", "deepspeed")
    if tp > 1:
        sometimes(0.4, "sequence-parallel", 1)
        sometimes(0.2, "tp-overlap", 0)
        if "sequence-parallel" in options:
            sometimes(0.4, "tp-comm-overlap", 1)
    if cp > 1:
        sometimes(0.5, "context-exchange", "ring", "all-gather", "ulysses")
    sometimes(0.3, "recompute", "selective", "full")
    sometimes(0.2, "overlap", 0)
    sometimes(0.2, "rank-order", "pp-tp-cp-ep-dp", "dp-tp-cp-ep-pp")
    sometimes(0.2, "reduce-dtype", "fp32")
    sometimes(0.2, "optimizer", "sgd", "momentum")
    sometimes(0.2, "in-server", "formula")
    if gpus > 16 or dice.random() < 0.8:
        options["network"] = "analytic"
    if "ep" in options and options["accumulation"] % 2 == 0 and options.get("zero") != 3:
        if pp == 1 or "virtual-stages" in options:
            options["moe-overlap"] = 1
    return options


class Shapes(SystemTest):
    def run_either(self, line):
        """A run that may be refused."""
        words, out = self.command(line, None)
        done = captured(words, cwd=self.folder, timeout=SLOWER * 120)
        return Run(words, done.returncode, done.stdout, done.stderr, out)

    def one_gpu(self, model):
        """FLOPs of a sample, from a job without any parallelism."""
        run = self.run_program(
            f"dltrain --model={model} --servers=1 --gpus-per-server=1 --micro-batch=1"
            f" --network=analytic {QUIET}"
        )
        return run.stats["tflops_per_gpu"] * run.stats["step_time_us"]

    def check(self, run, options, flops):
        stats = run.stats
        self.assertTrue(stats["completed"])
        step, exposed = stats["step_time_us"], stats["exposed_communication_time_us"]
        self.assertAlmostEqual(sum(parts_of_step(stats).values()), step, delta=1e-6 * step)
        self.assertGreaterEqual(min(parts_of_step(stats).values()), 0)
        self.assertLessEqual(exposed, stats["communication_time_us"] * (1 + 1e-9))
        by = stats["exposed_by_parallelism_us"]
        self.assertAlmostEqual(sum(by.values()), exposed, delta=1e-6 * step)
        used = {name for name, us in by.items() if us > 0}
        degrees = {name: options.get(name, 1) for name in ("tp", "pp", "cp", "ep")}
        self.assertLessEqual(used, {"dp", *(name for name, n in degrees.items() if n > 1)})
        self.assertLessEqual(stats["mfu"], 1)
        # The same work, whoever does it.
        gpus = options["servers"] * options["gpus-per-server"]
        done = stats["tflops_per_gpu"] * step * gpus / stats["global_batch"]
        self.assertAlmostEqual(done / flops, 1, 6)
        # A model in 16 bits, and what its optimizer keeps, over the ranks that share it out: the
        # fullest GPU has no less than their mean. Experts alone are divided by ep, and all is here.
        parts = stats["gpu_memory_parts_bytes"]
        self.assertEqual(sum(parts.values()), stats["gpu_memory_bytes_estimate"])
        zero = stats["zero"]
        copies = options["tp"] * options["pp"] * options.get("ep", 1)
        sharers = gpus // (options["tp"] * options["pp"])
        states = STATES[options.get("optimizer", "adam")]
        least = 2 / (sharers if zero == 3 else 1) + states / (sharers if zero > 0 else 1)
        self.assertGreaterEqual(
            sum(parts.values()) * 1.001, least * stats["parameters"] / copies, parts
        )

    def test_random_shapes_run_or_are_refused(self):
        ran = 0
        for number in range(60):
            dice = random.Random(number)
            made = shape(dice, number)
            options = job(dice, "experts" in made, made["layers"])
            model = self.write(f"shape-{number}.json", made)
            words = " ".join(f"--{name}={value}" for name, value in options.items())
            line = f"dltrain --model={model} {words} {QUIET}"
            with self.subTest(f"{made} {line}"):
                run = self.run_either(line)
                if run.status == 2:
                    errors = [text for text in run.err.splitlines() if ": error: " in text]
                    self.assertTrue(errors, run)
                    for text in errors:
                        self.assertRegex(text, r"^dltrain: error: --[a-z-]+(=|: )")
                    continue
                self.assertEqual(run.status, 0, run)
                ran += 1
                self.check(run, options, self.one_gpu(model))
        self.assertGreater(ran, 25)  # they are jobs, and no list of errors


if __name__ == "__main__":
    main()
