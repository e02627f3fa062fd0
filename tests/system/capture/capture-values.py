# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""What collectives give where the ranks' values are known: what they give on GPUs."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import long_test, main

RANKS = 3
BEGIN = """import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""
# Rank r has [r + 1, 10 r]; with a view into a large storage on one rank, as buckets are.
COLLECTIVES = """
for dtype in (torch.int64, torch.float32, torch.float64):
    def mine():
        x = torch.zeros(1 << 20 if rank == 1 and dtype == torch.float32 and LARGE else 2,
                        dtype=dtype, device="cuda")[:2]
        x.copy_(torch.tensor([rank + 1, 10 * rank], dtype=dtype))
        return x

    def tell(what, x):
        print(f"{str(dtype)[6:]} {what} {rank} {[float(y) for y in x.flatten()]}", flush=True)

    x = mine(); dist.all_reduce(x); tell("all_reduce", x)
    x = mine(); dist.reduce(x, 1); tell("reduce", x)
    x = mine(); dist.reduce(x, 2, op=dist.ReduceOp.MAX); tell("max", x)
    x = mine(); dist.broadcast(x, 2); tell("broadcast", x)
    x = [torch.zeros(2, dtype=dtype, device="cuda") for _ in range(ranks)]
    dist.all_gather(x, mine()); tell("all_gather", torch.cat(x))
    x = torch.zeros(2 * ranks, dtype=dtype, device="cuda")
    dist.all_gather_into_tensor(x, mine()); tell("all_gather_into_tensor", x)
    x = [torch.zeros(2, dtype=dtype, device="cuda") for _ in range(ranks)]
    dist.gather(mine(), x if rank == 0 else None, 0)
    if rank == 0:
        tell("gather", torch.cat(x))
    x = torch.zeros(2, dtype=dtype, device="cuda")
    dist.scatter(x, [mine() + i for i in range(ranks)] if rank == 1 else None, 1)
    tell("scatter", x)
    x = torch.zeros(1, dtype=dtype, device="cuda")
    dist.reduce_scatter(x, [mine()[:1] + i for i in range(ranks)]); tell("reduce_scatter", x)
    x = torch.zeros(rank + 1, dtype=dtype, device="cuda")
    parts = [(mine()[:1] + i).expand(i + 1).contiguous() for i in range(ranks)]
    dist.reduce_scatter(x, parts); tell("uneven_reduce_scatter", x)
"""


# Of one process, one behind the other: what each prints stands behind its name.
ONE_PROCESS = {
    "random states": """
cuda = torch.cuda
def draws():
    x = torch.rand(3, device="cuda")
    y = torch.randint(1000, (3,), device="cuda")
    return [*x.tolist(), *y.tolist(), *torch.randn(2, device="cuda").tolist(),
            *torch.randperm(9, device="cuda").tolist()]
state = cuda.get_rng_state()
a = draws()
cuda.set_rng_state(state); print(a == draws())
states = cuda.get_rng_state_all()
a = draws()
print(a != draws()); cuda.set_rng_state_all(states); print(a == draws())
torch.manual_seed(3); a, c = draws(), torch.rand(2).tolist()
torch.manual_seed(3); cuda.manual_seed(4); print(a != draws())
print(c == torch.rand(2).tolist())
torch.manual_seed(3); print(a == draws())
other = cuda.get_rng_state(1); draws(); print(other.equal(cuda.get_rng_state(1)))
with torch.random.fork_rng(range(2)):
    b = draws()
print(b == draws())
""",
    "unknown values": """
def unknown(*sizes):
    return torch.randn(1 << 22, device="cuda")[: torch.Size(sizes).numel()].view(sizes)

for n in (8, 2048, 300000):
    x = (unknown(n, 3) if n > 8 else unknown(n, 3).clone()).requires_grad_()
    for name in ("median", "nanmedian", "mode"):
        for keep in (False, True):
            values, indices = getattr(x, name)(0, keep)
            assert values.shape == indices.shape == ((1, 3) if keep else (3,)), name
            assert indices.dtype == torch.int64
    assert x.kthvalue(2, -1)[0].shape == (n,) and x.median().shape == ()
    for loss in (F.huber_loss, F.smooth_l1_loss, F.mse_loss):
        x.grad = None
        loss(x, torch.zeros_like(x)).backward()
        assert x.grad.shape == x.shape
    scale = F.softplus(x) + 1e-3
    of.Normal(x, scale).rsample().sum().backward(retain_graph=True)
    of.Normal(torch.zeros_like(x), scale).log_prob(x).sum().backward(retain_graph=True)
    of.Beta(scale, scale + 1).log_prob(torch.sigmoid(x))
    of.Uniform(x, x + 1).sample()
    of.Categorical(probs=x.softmax(-1)).entropy()
    of.OneHotCategorical(logits=x).sample()
    of.RelaxedOneHotCategorical(torch.ones((), device="cuda"), probs=x.softmax(-1)).rsample()
    of.kl_divergence(of.Laplace(x, scale), of.Laplace(0 * x, scale.detach()))
    assert (scale > 0).all() and (torch.sigmoid(x) <= 1).all() and x.isfinite().all()
    assert x[x > 0].dim() == 1
for batch in (), (3,), (40,):
    a = unknown(*batch, 50, 50)
    assert torch.linalg.cholesky(a).shape == torch.cholesky(a).shape == a.shape
    assert torch.linalg.inv(a).shape == a.shape
    assert torch.linalg.solve(a, unknown(*batch, 50, 7)).shape == (*batch, 50, 7)
    assert torch.linalg.lu_factor(a)[1].shape == (*batch, 50)
assert torch.masked_select(unknown(10), torch.ones(4, 10, device="cuda").bool()).shape == (40,)
for wrong in (-1.0, 0.0):
    try:
        of.Normal(unknown(8, 8), torch.tensor(wrong, device="cuda"))
    except ValueError:
        continue
    raise AssertionError("a scale that is known is checked")
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    bag = torch.nn.EmbeddingBag(50, 8, mode="sum").cuda().to(dtype)
    bag(torch.randint(0, 50, (4, 3), device="cuda")).sum().backward()
    assert bag.weight.grad.shape == (50, 8) and bag.weight.grad.dtype == dtype
print("all as it should be")
""",
    "losses": """
x = torch.ones(24, 64, device="cuda", requires_grad=True)
for loss in (F.mse_loss, F.smooth_l1_loss, F.l1_loss, F.huber_loss):
    loss(x, torch.zeros_like(x)).backward()
""",
    "finite": """
for size in (1, 1000, 3 << 20, 1 << 24, 1 << 26):
    x = torch.empty(size, device="cuda").normal_()
    y = x.half() * x[0]
    print(*(bool(each) for g in (x, y) for each in (
        torch.isfinite(g).all(), (g == g).all(), ~torch.isnan(g).any(),
        not torch.isinf(g).any(), not (~torch.isfinite(g)).any(),
        not (torch.isnan(g) | torch.isinf(g)).any())))
""",
}
BEGIN_ONE = """import torch
from torch import distributions as of
from torch.nn import functional as F
"""


class Values(CaptureTest):
    def test_small_tensors(self):
        """Also as scripts of those who looked for a mistake have it: the values are the same."""
        script = self.write("values.py", BEGIN + COLLECTIVES.replace("LARGE", "False"))
        own = [[rank + 1.0, 10.0 * rank] for rank in range(RANKS)]
        total = [1.0 + 2 + 3, 10.0 * (0 + 1 + 2)]
        everything = [number for one in own for number in one]
        expected = {
            "all_reduce": [total] * RANKS,
            "reduce": [own[0], total, own[2]],  # others keep theirs
            "max": [own[0], own[1], own[2]],  # the last one has the largest
            "broadcast": [own[2]] * RANKS,
            "all_gather": [everything] * RANKS,
            "all_gather_into_tensor": [everything] * RANKS,
            "gather": [everything],
            "scatter": [[2.0 + i, 10.0 + i] for i in range(RANKS)],
            # Of place i the sum of r + 1 + i.
            "reduce_scatter": [[6.0 + 3 * i] for i in range(RANKS)],
            "uneven_reduce_scatter": [[6.0 + 3 * i] * (i + 1) for i in range(RANKS)],
        }
        wanted = {
            f"{dtype} {what} {rank} {value}"
            for dtype in ("int64", "float32", "float64")
            for what, values in expected.items()
            for rank, value in enumerate(values)
        }
        for level in ("OFF", "DETAIL"):
            with self.subTest(level):
                launch = f"TORCH_DISTRIBUTED_DEBUG={level} torchrun --nproc_per_node={RANKS}"
                made = self.capture(self.write("launch.sh", f"{launch} {script}\n"))
                self.assertEqual(made.mistakes, [], made.errors)
                self.assertEqual(sorted(made.output.splitlines()), sorted(wanted))

    def one_process(self):
        """{name: the lines that the script of this name prints}"""
        parts = (f"print('- {name}')\n{text}" for name, text in ONE_PROCESS.items())
        made = self.capture(self.write("one.py", BEGIN_ONE + "".join(parts)), gpus_per_server=2)
        # What losses of small tensors were taken for once made PyTorch warn.
        self.assertEqual((made.mistakes, made.errors), ([], ""))
        found = {}
        for line in made.output.splitlines():
            if line.startswith("- "):
                found[line[2:]] = last = []
            else:
                last.append(line)
        self.assertEqual(list(found), list(ONE_PROCESS))
        return found

    def test_one_process(self):
        """Random states: a GPU's generator is its own: its state brings its numbers back, its seed
        leaves the CPU's alone, and that of another GPU is another one. Unknown values: shapes and
        gradients of what the host computes for small tensors only, and what asks whether its values
        are valid. Losses warn of nothing. Finite: gradients are, whatever their size, so that
        scaling a loss by hand steps: masks of few, of many and of too many values.
        """
        said = self.one_process()
        self.assertEqual(said["random states"], ["True"] * 8)
        self.assertEqual(said["unknown values"], ["all as it should be"])
        self.assertEqual(said["losses"], [])
        self.assertEqual(said["finite"], [" ".join(["True"] * 12)] * 5)

    def test_a_fork_of_all_generators(self):
        """By itself: of several GPUs PyTorch warns that it may be slow."""
        script = self.write(
            "fork.py",
            "import torch\n"
            "def draws():\n"
            "    return torch.rand(3, device='cuda').tolist()\n"
            "with torch.random.fork_rng():\n"
            "    a = draws()\n"
            "print(a == draws())\n",
        )
        made = self.capture("python3", script, gpus_per_server=2)
        self.assertEqual(made.output.splitlines(), ["True"])

    @long_test
    def test_a_large_storage_on_one_rank(self):
        """What one rank does not know, as only a GPU does, nobody waits for in vain."""
        text = COLLECTIVES.replace("LARGE", "True") + "print('end')"
        script = self.write("large.py", BEGIN + text)
        made = self.capture("torchrun", f"--nproc_per_node={RANKS}", script, patience=10)
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertEqual(made.output.split().count("end"), RANKS)

    @long_test
    def test_early_stopping(self):
        """A flag that rank 0 sets and broadcasts as a number, or that all sum up, ends the loop on
        all ranks.
        """
        script = self.write(
            "stop.py",
            BEGIN
            + "x = torch.ones(1000, device='cuda')\n"
            + "for sends in (lambda: dist.broadcast(flag, 0), lambda: dist.all_reduce(flag)):\n"
            + "    flag = torch.zeros(1, device='cuda')\n"
            + "    for step in range(6):\n"
            + "        dist.all_reduce(x)\n"
            + "        if rank == 0 and step == 3:\n            flag += 1\n"
            + "        sends()\n"
            + "        if flag.item() >= 1:\n            break\n"
            + "    print('stopped at', step)\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script, steps=0)
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertEqual(made.output.splitlines(), ["stopped at 3"] * 2 * 2)

    def test_a_loss_is_not_known(self):
        """Nor what other ranks make of it."""
        script = self.write(
            "loss.py",
            BEGIN
            + "x = torch.randn(1 << 20, device='cuda').sum()\n"
            + "dist.broadcast(x, 0)\ndist.reduce(x, 0)\nprint(float(x))\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script)
        self.assertEqual(made.output.splitlines(), ["0.0"] * 2)
        self.assertTrue(any("read as 0" in note for note in made.meta["notes"]))


if __name__ == "__main__":
    main()
