# SPDX-License-Identifier: GPL-2.0-only
"""tqdm, where the machine does not have it (python3-tqdm): loops run, no bar is drawn."""

import importlib.util
import sys
import types


def apply(torch, device):
    if importlib.util.find_spec("tqdm") is not None:
        return

    class tqdm:
        def __init__(self, iterable=None, desc=None, total=None, initial=0, **_):
            self.iterable, self.desc = iterable, desc
            self.total = len(iterable) if total is None and hasattr(iterable, "__len__") else total
            self.n, self.disable = initial, True
            self.format_dict = {}

        def __iter__(self):
            for item in self.iterable:
                yield item
                self.n += 1

        def __len__(self):
            return len(self.iterable) if self.iterable is not None else self.total or 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def update(self, n=1):
            self.n += n

        def nothing(self, *_, **__):
            pass

        set_description = set_description_str = set_postfix = set_postfix_str = nothing
        close = clear = refresh = reset = unpause = display = nothing

        @classmethod
        def write(cls, text, file=None, end="\n", nolock=False):
            print(text, file=file or sys.stdout, end=end)

    def trange(*numbers, **options):
        return tqdm(range(*numbers), **options)

    for name in ("tqdm", "tqdm.auto", "tqdm.std", "tqdm.autonotebook", "tqdm.notebook"):
        module = types.ModuleType(name)
        module.tqdm, module.trange = tqdm, trange
        module.__path__ = []
        # (find_spec() of what is there asks for it.)
        module.__spec__ = importlib.util.spec_from_loader(name, loader=None)
        sys.modules[name] = module
        if "." in name:
            setattr(sys.modules["tqdm"], name.partition(".")[2], module)
