# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""--capture-step: what ends a step where no optimizer does, or where a user wants another end."""

import os
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import ROOT, main

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.errors import InvalidInput  # noqa: E402

# A product before the loop, one in each round, and a sum behind it.
SCRIPT = """import torch
import torch.cuda


class Trainer:
    def __init__(self):
        self.weight = torch.zeros(256, 256, device="cuda")
        self.result = self.weight @ self.weight

    def one_step(self, left=2):
        if left > 1:
            return self.one_step(left - 1)
        self.result = self.weight @ self.result
        return self.result


trainer = Trainer()
for _ in range(8):
    trainer.one_step()
    total = trainer.result.sum()  # here
    torch.cuda.synchronize()
print("ended")
"""
LINE = 1 + SCRIPT.split("\n").index("    total = trainer.result.sum()  # here")

DDP = """import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
layers = [torch.nn.Linear(1024, 1024) for _ in range(12)]
model = DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), static_graph=%s)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    optimizer.zero_grad()
    model(torch.ones(4, 1024, device="cuda")).sum().backward()
    optimizer.step()
"""

# Of one GPU; what a test adds stands at the end of each step.
ALONE = """import torch
model = torch.nn.Linear(64, 64, bias=False).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, kept = torch.ones(8, 64, device="cuda"), []
for step in range(9):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class Step(CaptureTest):
    def steps(self, mark, **options):
        """(meta's steps, kinds of the products and sums of each step)."""
        script = self.write("loop.py", SCRIPT)
        captured = self.capture(script, step=mark, **options)
        tasks = captured.tasks()
        told = [
            [task["kind"] for task in tasks if task["step"] == step and task["kind"] != "memory"]
            for step in range(captured.meta["steps"]["count"])
        ]
        kinds = [[kind for kind in step if kind in ("gemm", "reduction")] for step in told]
        return captured.meta["steps"], kinds

    def test_marks(self):
        """A function ends a step when it returns (the outermost call of it), a line when it is
        reached, a library's function when it has returned. The first step has the set-up.
        """
        a_round = ["gemm", "reduction"]
        for mark, ended_by, first, others in (
            (None, "the end of the program: no optimizer made a step", ["gemm", *a_round * 8], []),
            ("one_step", "one_step at loop.py:10", ["gemm", "gemm"], ["reduction", "gemm"]),
            ("Trainer.one_step", "Trainer.one_step at loop.py:10", ["gemm"] * 2, a_round[::-1]),
            (f"loop.py:{LINE}", f"loop.py:{LINE}", ["gemm", "gemm"], ["reduction", "gemm"]),
            (
                "call:torch.cuda.synchronize",
                f"call:torch.cuda.synchronize at loop.py:{LINE + 1}",
                ["gemm", *a_round],
                a_round,
            ),
        ):
            with self.subTest(mark):
                steps, kinds = self.steps(mark)
                self.assertEqual(steps["ended_by"], ended_by)
                self.assertEqual(kinds, [first] + [others] * (2 if others else 0))
                self.assertEqual(steps["take"], [len(kinds) - 1])

    def test_to_the_end(self):
        """--capture-steps=0: all rounds, of which the eighth is the last that a line ends."""
        steps, kinds = self.steps("one_step", steps=0)
        self.assertEqual((steps["count"], steps["take"]), (8, [7]))
        self.assertEqual(kinds[1:], [["reduction", "gemm"]] * 7)

    def test_marks_that_are_none(self):
        for mark, words in (
            ("other_step", "other_step never ended a step: the script did not come there"),
            ("loop.py:4", "loop.py:4 never ended a step"),
            ("optimizer", "an optimizer's step never ended a step: no optimizer made one"),
            ("Trainer.__init__", "ended a step only once; .*--capture-steps=1"),
            ("call:torch.cuda.synchronise", "there is no such function; allowed: optimizer, a"),
            ("call:print", "allowed: optimizer, a line of the script"),
            ("", "allowed: optimizer, a line of the script"),
            ("one step", "allowed: optimizer, a line of the script"),
            (7, "allowed: optimizer, a line of the script"),
        ):
            with self.subTest(mark):
                with self.assertRaisesRegex(InvalidInput, f"^step='?.*{words}"):
                    self.steps(mark)

    def test_once_is_a_step_if_one_is_asked_for(self):
        steps, kinds = self.steps("Trainer.__init__", steps=1)
        self.assertEqual((steps["count"], kinds), (1, [["gemm"]]))

    def test_ranks_that_differ(self):
        script = self.write(
            "ranks.py",
            "import os\nimport torch\nimport torch.distributed as dist\n"
            'dist.init_process_group("nccl")\ntorch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'
            "def log():\n    pass\nfor step in range(4):\n"
            '    dist.all_reduce(torch.ones(9, device="cuda"))\n'
            "    if dist.get_rank() == 0 or step > 1:\n        log()\n",
        )
        with self.assertRaisesRegex(InvalidInput, "log ended a step 4 times on rank 0 and 2 times"):
            self.capture("torchrun", "--nproc_per_node=2", script, step="log", steps=0)

    def test_command_line(self):
        script = self.write("loop.py", SCRIPT)
        done = subprocess.run(
            [sys.executable, "-m", "cluster_simulator.capture", "--check", "--capture-step=nowhere"]
            + [script],
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("capture: error: --capture-step='nowhere': nowhere never ended", done.stderr)

    def test_a_step_that_is_not_steady(self):
        """DDP with a static graph makes its buckets anew in its third step; the next is steady. The
        usual one makes them in its second.
        """
        for static, steps, said in ((True, 3, True), (True, 4, False), (False, 3, False)):
            with self.subTest(static=static, steps=steps):
                script = self.write("ddp.py", DDP % static)
                captured = self.capture("torchrun", "--nproc_per_node=2", script, steps=steps)
                told = "not like the one before"
                notes = [note for note in captured.meta["notes"] if told in note]
                self.assertEqual(len(notes), said, captured.meta["notes"])
                if said:
                    self.assertIn(f"(--capture-steps={steps + 1})", notes[0])

    def test_steps_until_two_are_alike(self):
        """Where nobody says how many: the static graph's fourth, the other one's third."""
        for static, steps in ((True, 4), (False, 3)):
            with self.subTest(static=static):
                script = self.write("ddp.py", DDP % static)
                said = []
                words = ("torchrun", "--nproc_per_node=2", script)
                captured = self.capture(*words, say=said.append)
                self.assertEqual(captured.meta["steps"]["count"], steps)
                self.assertEqual(captured.meta["steps"]["take"], [steps - 1])
                self.assertEqual(len(said), static, said)
                notes = [note for note in captured.meta["notes"] if "simulated" in note]
                self.assertEqual(len(notes), static, notes)
                if static:
                    self.assertIn("step 4 is simulated, which sends nothing that", notes[0])

    def noted(self, text, steps, *said):
        """The first note with one of these words; "": there is none."""
        script = self.write("steps.py", ALONE + text)
        made = self.capture(script, steps=steps)
        notes = [note for note in made.meta["notes"] if any(words in note for words in said)]
        return notes[0] if notes else ""

    def test_a_step_that_computes_more(self):
        """An evaluation every second step: two products more than forward's one and backward's two
        of which one (the gradient of the input) is not computed, 100% more. Of the step without it
        nothing is said of that kind but that it is less.
        """
        often = "    if step % 2 == 1:\n        model(x), model(x)  # evaluation\n"
        line = (ALONE + often).splitlines().index("        model(x), model(x)  # evaluation") + 1
        note = self.noted(often, 3, "computes")
        self.assertIn("step 3 computes 100% more than the one before it on rank 0 (FLOPs)", note)
        self.assertIn(f"at steps.py:{line}; ", note)
        self.assertIn("--capture-steps=4", note)
        self.assertIn("step 4 computes 50% less", self.noted(often, 4, "computes"))
        # Of a script that ends itself, behind 9 steps, there is no later one.
        note = self.noted(often.replace("% 2 == 1", "== 7"), 0, "computes")
        self.assertIn("the script ends with it; the step before it is by --capture-steps=8", note)

    def test_memory_that_grows(self):
        """4 MiB of each step are kept."""
        kept = "    kept.append(torch.empty(1 << 20, device='cuda'))\n"
        self.assertIn("grows by 4 MiB with each step", self.noted(kept, 3, "memory in use"))

    def test_steps_that_are_alike(self):
        self.assertEqual(self.noted("", 3, "computes", "memory in use"), "")

    def test_several_optimizers_are_one_step(self):
        """Each step has two products of forward (in one kernel each) and three of backward, however
        many optimizers there are and wherever they stand; the same with one is what is expected.
        """
        head = """import torch
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64, bias=False) for _ in range(2))).cuda()
each = [torch.optim.SGD([p], lr=0.1) for p in model.parameters()]
class All:
    def step(self):
        for one in each: one.step()
x = torch.ones(8, 64, device="cuda")
"""
        loop = "for step in range(5):\n    model(x).sum().backward()\n"
        hooks = """
for p, one in zip(model.parameters(), each):
    def step(gradient, p=p, one=one):
        p.grad = gradient
        one.step()
        p.grad = None
    p.register_hook(step)
"""
        for text in (
            loop + "    for one in each: one.step()\n",
            loop + "    each[0].step(); each[1].step()\n",
            loop + "    All().step()\n",
            loop + "    each[0].step()\n    each[1].step()\n",
            "each[0].step()\n" + loop + "    All().step()\n",  # before there are gradients
            hooks + loop,
        ):
            with self.subTest(text=text):
                made = self.capture(self.write("several.py", head + text), steps=3)
                products = [task["step"] for task in made.tasks() if task["kind"] == "gemm"]
                self.assertEqual(made.meta["steps"]["count"], 3)
                self.assertEqual(products[:15], [step for step in range(3) for _ in range(5)])

    def test_several_optimizers_through_one_line(self):
        """A GAN's two updates by one function: a step is both."""
        script = self.write(
            "gan.py",
            """import torch
kinds = [torch.nn.Linear(64, 64, bias=False).cuda() for _ in range(2)]
each = [torch.optim.Adam(kind.parameters()) for kind in kinds]
def update(loss, one):
    one.zero_grad()
    loss.backward()
    one.step()
for step in range(9):
    z = torch.randn(8, 64, device="cuda")
    update(kinds[0](kinds[1](z).detach()).sum(), each[0])
    update(kinds[0](kinds[1](z)).sum(), each[1])
""",
        )
        made = self.capture(script, steps=3)
        products = [task["step"] for task in made.tasks() if task["kind"] == "gemm"]
        self.assertEqual(made.meta["steps"]["count"], 3)
        # Forward four; backward of the first loss one, of the second both weights and an input.
        self.assertEqual([products.count(step) for step in range(3)], [4 + 1 + 3] * 3)

    def test_lbfgs(self):
        """As many iterations as it may make, behind a step that is none."""
        script = self.write(
            "lbfgs.py",
            """import torch
model = torch.nn.Linear(64, 64, bias=False).cuda()
torch.optim.SGD(model.parameters(), lr=1).step()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, max_eval=9)
x, calls = torch.randn(8, 64, device="cuda"), []
def closure():
    calls.append(1)
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    return loss
for step in range(9):
    optimizer.step(closure)
    print(len(calls), flush=True)
""",
        )
        made = self.capture(script, steps=3)
        self.assertEqual(made.meta["steps"]["count"], 3)
        self.assertEqual(made.output.split(), ["4", "8", "12"])

    def test_a_loop_behind_one_step(self):
        """A step on a line of its own, and a loop with two optimizers in turn behind it."""
        other = ALONE.replace("for step in range(9):", "other = torch.optim.SGD([x], lr=1)\n"
                              "x.requires_grad_()\nmodel(x).sum().backward()\nother.step()\n"
                              "for step in range(4):")
        other += "    model(x).sum().backward()\n    other.step()\n"
        made = self.capture(self.write("behind.py", other), steps=0)
        self.assertEqual(made.meta["steps"]["count"], 1 + 4)

    def test_without_an_optimizer(self):
        script = self.write("none.py", "import torch\ntorch.ones(8).cuda()\n")
        notes = self.capture(script).meta["notes"]
        self.assertTrue(any("no optimizer made a step" in note for note in notes), notes)

    def test_a_graph_that_it_does_not_come_to(self):
        """Warmed up by steps of its own, as PyTorch's example does it: said where it stands."""
        text = (
            "import torch\n"
            "weight = torch.nn.Parameter(torch.ones(4, device='cuda'))\n"
            "optimizer = torch.optim.SGD([weight], lr=1.0)\n"
            "def step():\n    (weight * 2).sum().backward()\n    optimizer.step()\n"
            "for _ in range(3):\n    step()\n"
            "graph = torch.cuda.CUDAGraph()\n"
            "with torch.cuda.graph(graph):\n    step()\n"
            "for _ in range(6):\n    graph.replay()\n"
        )
        script = self.write("graph.py", text)
        notes = self.capture(script).meta["notes"]
        told = [note for note in notes if "before it replayed a CUDA graph (graph.py:9)" in note]
        self.assertEqual(len(told), 1, notes)
        notes = self.capture(script, steps=6).meta["notes"]
        self.assertEqual([note for note in notes if "CUDA graph" in note], [])
        # A step in the graph is one each time it is replayed, for ever here.
        endless = text.replace("range(6)", "iter(int, 1)")
        made = self.capture(self.write("endless.py", endless), steps=4)
        self.assertIn("the script was ended after 4 steps", " ".join(made.meta["notes"]))
        # Without one, or behind a comment, nothing is said.
        without = text[: text.index("graph =")] + "# torch.cuda.graph()\nstep()"
        script = self.write("none.py", without)
        notes = self.capture(script).meta["notes"]
        self.assertEqual([note for note in notes if "CUDA graph" in note], [])

    def test_steps_that_never_are(self):
        """What is sent grows: after five steps it is said. A script of three steps has no more."""
        for rounds, count in ((9, 5), (3, 3)):
            script = self.write(
                "grows.py",
                "import os\nimport torch\nimport torch.distributed as dist\n"
                'dist.init_process_group("nccl")\n'
                'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'
                'weight = torch.nn.Parameter(torch.ones(4, device="cuda"))\n'
                "optimizer = torch.optim.SGD([weight], lr=1.0)\n"
                f"for step in range({rounds}):\n"
                '    dist.all_reduce(torch.ones(9 + step, device="cuda"))\n'
                "    (weight * 2).sum().backward()\n    optimizer.step()\n",
            )
            captured = self.capture("torchrun", "--nproc_per_node=2", script)
            self.assertEqual(captured.meta["steps"]["count"], count)
            notes = [note for note in captured.meta["notes"] if "not like" in note]
            self.assertEqual(len(notes), 1, captured.meta["notes"])
            self.assertIn(f"step {count} is not like the one before it: on rank 0", notes[0])


if __name__ == "__main__":
    main()
