# SPDX-License-Identifier: GPL-2.0-only
"""What scripts log with: TensorBoard's writer, where the machine does not have it (Debian has not),
takes what is logged, and nothing is written; PyTorch's profiler, which has no GPU of its own here,
sees what the program does.
"""

import functools
import importlib.util
import os
import socket
import sys
import time
import types

# Of torch.utils.tensorboard.SummaryWriter.
METHODS = (
    "hparams scalar scalars tensor histogram histogram_raw image images image_with_boxes figure"
    " video audio text onnx_graph graph embedding pr_curve pr_curve_raw mesh custom_scalars"
    " custom_scalars_multilinechart custom_scalars_marginchart"
).split()


def apply(torch, device):
    _profiler(torch, device)
    if importlib.util.find_spec("tensorboard") is None:
        writer = _writer(torch, device)
        for name in ("torch.utils.tensorboard", "torch.utils.tensorboard.writer"):
            _module(name, writer)
        torch.utils.tensorboard = sys.modules["torch.utils.tensorboard"]
        if importlib.util.find_spec("tensorboardX") is None:
            _module("tensorboardX", writer)


def _module(name, writer):
    module = types.ModuleType(name)
    module.SummaryWriter, module.__path__ = writer, []
    # (find_spec() of what is there asks for it.)
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None)
    sys.modules[name] = module


def _writer(torch, device):
    class SummaryWriter:
        def __init__(self, log_dir=None, comment="", *_, logdir=None, **__):
            name = f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}"
            self.log_dir = os.fspath(log_dir or logdir or os.path.join("runs", name))
            device.note(
                f"SummaryWriter at {device.source_line()} writes nothing: there is no TensorBoard"
                " where scripts are captured"
            )

        logdir = property(lambda self: self.log_dir)

        def get_logdir(self):
            return self.log_dir

        def flush(self):
            pass

        close = flush

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def add(self, *given, **options):
        """What is logged is fetched from the GPU, which waits for it."""
        for one in (*given, *options.values()):
            for value in one.values() if isinstance(one, dict) else (one,):
                if isinstance(value, torch.Tensor):
                    value.detach().cpu()

    for name in METHODS:
        setattr(SummaryWriter, f"add_{name}", add)
    return SummaryWriter


def _profiler(torch, device):
    usual = torch.autograd.profiler.profile.__init__

    @functools.wraps(usual)
    def on_host(self, enabled=True, **options):
        if options.get("use_cuda") or not options.get("use_cpu", True):
            device.note(
                f"times of the profiler at {device.source_line()} are those of the capture, not of"
                " the GPU"
            )
            options.update(use_cuda=False, use_cpu=True)
        usual(self, enabled, **options)

    torch.autograd.profiler.profile.__init__ = on_host
