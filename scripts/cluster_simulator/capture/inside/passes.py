# SPDX-License-Identifier: GPL-2.0-only
"""Which module runs, and where backward was called: names for what the device records."""

import functools
import threading
import weakref

from . import batches

# What wrappers of modules put into the path of what they wrap.
WRAPPERS = {"module", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module"}

_thread = threading.local()
seen = []  # backward passes: one, once there was any
_paths = weakref.WeakKeyDictionary()  # root: {id of a module: path}


def apply(torch, device):
    _watch_modules(torch, device)
    _watch_backward(torch, device)


def _paths_of(root):
    paths = _paths.get(root)
    if paths is None:
        paths = _paths[root] = {
            id(module): ".".join(word for word in name.split(".") if word not in WRAPPERS)
            for name, module in root.named_modules()
        }
    return paths


def _watch_modules(torch, device):
    call = torch.nn.Module.__call__

    @functools.wraps(call)
    def watched(self, *arguments, **options):
        root = getattr(_thread, "root", None)
        if root is None:
            _thread.root = self
            batches.note(torch, device, self, arguments, options)
        paths = _paths_of(root or self)
        device.enter_module(paths.get(id(self), type(self).__name__))
        try:
            return call(self, *arguments, **options)
        finally:
            device.leave_module()
            if root is None:
                _thread.root = None

    torch.nn.Module.__call__ = watched


def _watch_backward(torch, device):
    def with_line(function):
        @functools.wraps(function)
        def watched(*arguments, **options):
            device.set_backward_line(device.source_line())
            if not seen:
                seen.append(True)
            return function(*arguments, **options)

        return watched

    torch.autograd.backward = with_line(torch.autograd.backward)
    torch.autograd.grad = with_line(torch.autograd.grad)
