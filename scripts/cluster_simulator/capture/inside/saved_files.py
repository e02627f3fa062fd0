# SPDX-License-Identifier: GPL-2.0-only
"""Files that PyTorch writes from C++, past Python: ../kept_files.py is told of them before."""

import functools
import os
import sys


def apply(torch, device):
    kept_files = sys.modules["dltrain_capture_kept_files"]

    def telling(function):
        @functools.wraps(function)
        def told(*arguments, **options):
            for one in (*arguments[:2], *options.values()):
                if isinstance(one, (str, os.PathLike)):
                    kept_files.written(os.fspath(one))
            return function(*arguments, **options)

        return told

    torch._C.PyTorchFileWriter = telling(torch._C.PyTorchFileWriter)
    torch.jit.save = telling(torch.jit.save)
