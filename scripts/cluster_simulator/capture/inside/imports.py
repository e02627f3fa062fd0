# SPDX-License-Identifier: GPL-2.0-only
"""What is changed in a module when a script imports it: not before, as some take a second."""

import importlib.abc
import importlib.util
import sys


def when_imported(name, change):
    """change(module), once it is there."""
    if name in sys.modules:
        change(sys.modules[name])
    else:
        sys.meta_path.insert(0, _After(name, change))


class _After(importlib.abc.MetaPathFinder):
    def __init__(self, name, change):
        self._name, self._change = name, change

    def find_spec(self, asked, path, target=None):
        if asked != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(asked)  # by others of these as well
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._change(module)

        spec.loader.exec_module = exec_module
        return spec
