"""Arguments that do not fit (and beside each, some that do): a line each of what an operator says.

    arguments.py DEVICE SIZE...
"""

import sys

import torch
import torch.nn.functional as F

device, n = sys.argv[1], 0  # below: one size after the other


def some(*sizes):
    return torch.randn(*sizes, device=device)


def whole(*sizes):
    return torch.randint(0, 4, sizes, device=device)


WRONG = {
    "dot": lambda: torch.dot(some(n), some(3)),
    "dot of vectors": lambda: torch.dot(some(n, 2), some(n)),
    "v @ w": lambda: some(n) @ some(3),
    "loss, int32": lambda: F.cross_entropy(some(n, 5), whole(n).int()),
    "loss, floats": lambda: F.nll_loss(some(n, 5), some(n)),
    "loss of images, floats": lambda: F.nll_loss(some(2, 5, n, 3), some(2, n, 3)),
    "large kernel": lambda: F.conv2d(some(n, 3, 2, 2), some(4, 3, 3, 3)),
    "large kernel, dilated": lambda: F.conv1d(some(n, 3, 6), some(4, 3, 4), dilation=2),
    "stride 0": lambda: F.conv2d(some(2, 3, 8, 8), some(4, 3, 3, 3), stride=0),
    "bias of conv": lambda: F.conv2d(some(2, 3, 8, 8), some(4, 3, 3, 3), some(5)),
    "bias of transposed": lambda: F.conv_transpose2d(some(2, 3, 8, 8), some(3, 4, 3, 3), some(3)),
    "groups": lambda: F.conv2d(some(2, 4, 8, 8), some(5, 2, 3, 3), groups=2),
    "bias of linear": lambda: F.linear(some(n, 8), some(4, 8), some(5)),
    "addmm": lambda: torch.addmm(some(3), some(n, 8), some(8, 4)),
    "addmv": lambda: torch.addmv(some(3), some(n, 8), some(8)),
    "layer norm": lambda: F.layer_norm(some(n, 8), [7]),
    "weight of layer norm": lambda: F.layer_norm(some(n, 8), [8], some(7)),
    "index": lambda: some(n, 5).index_select(0, whole(2, 2)),
    "index, floats": lambda: some(n, 5).index_select(0, some(2)),
    "softmax of whole numbers": lambda: whole(n, 3).log_softmax(1),
    "triangle of a vector": lambda: some(n).triu(),
}
# What a CPU does or says in other words: a product of two types, or of whole numbers.
WRONG_ON_A_GPU = {
    "half @ float": lambda: some(n, 8).half() @ some(8, 4),
    "linear of half": lambda: F.linear(some(n, 8).half(), some(4, 8)),
    "batches of two types": lambda: torch.bmm(some(2, n, 5).bfloat16(), some(2, 5, 7)),
    "half v": lambda: torch.mv(some(n, 5).half(), some(5)),
    "int64 @ int64": lambda: whole(n, 8) @ whole(8, 4),
}
RIGHT = {
    "dot": lambda: torch.dot(some(n), some(n)),
    "loss": lambda: F.cross_entropy(some(n, 5), whole(n)),
    "loss of probabilities": lambda: F.cross_entropy(some(n, 5), some(n, 5).softmax(1)),
    "loss of images": lambda: F.nll_loss(some(2, 5, n, 3), whole(2, n, 3)),
    "kernel as large": lambda: F.conv2d(some(n, 3, 3, 3), some(4, 3, 3, 3), some(4)),
    "kernel, padded": lambda: F.conv2d(some(n, 3, 2, 2), some(4, 3, 4, 4), padding=1),
    "kernel, same": lambda: F.conv1d(some(n, 3, 6), some(4, 3, 3), padding="same", dilation=2),
    "transposed": lambda: F.conv_transpose2d(some(2, 4, 2, 2), some(4, 3, 3, 3), some(6), groups=2),
    "groups": lambda: F.conv2d(some(2, 4, 8, 8), some(6, 2, 3, 3), some(6), groups=2),
    "linear": lambda: F.linear(some(2, n, 8), some(4, 8), some(4)),
    "addmm of one": lambda: torch.addmm(some(1), some(n, 8), some(8, 4)),
    "baddbmm": lambda: torch.baddbmm(some(1, 1, 7), some(2, n, 5), some(2, 5, 7)),
    "addmv of a number": lambda: torch.addmv(some(1)[0], some(n, 8), some(8)),
    "layer norm": lambda: F.layer_norm(some(n, 3, 8), [3, 8], some(3, 8), some(3, 8)),
    "index": lambda: some(n, 5).index_select(0, whole(2).int()),
    "index, a number": lambda: some(n, 5).index_select(0, whole(1)[0]),
    "softmax": lambda: whole(n, 3).softmax(1, dtype=torch.float32),
    "triangle": lambda: some(2, n, 5).tril(),
}
for n in map(int, sys.argv[2:]):
    for kind, calls in (("wrong", WRONG), ("gpu", WRONG_ON_A_GPU), ("right", RIGHT)):
        for name, call in calls.items():
            try:
                call()
                said = "nothing"
            except Exception as error:
                said = f"{type(error).__name__}: {error}".split("\n", 1)[0]
            print(f"{n} | {kind} | {name} | {said}")
