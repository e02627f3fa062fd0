# SPDX-License-Identifier: GPL-2.0-only
"""PyTorch 1.13 was made for Python 3.10 and older. (Python's own dataclasses of PyTorch 2 have no
such defaults.)
"""

import dataclasses


def apply():
    """Python 3.11 refuses unhashable objects as defaults of dataclasses, such as the policies of
    torch.distributed.fsdp: a factory that gives the same object.
    """
    get_field = dataclasses._get_field

    def unhashable(value):
        return value is not dataclasses.MISSING and value.__class__.__hash__ is None

    def get_field_of_torch(cls, name, *rest):
        if cls.__module__.startswith("torch."):
            value = getattr(cls, name, dataclasses.MISSING)
            if isinstance(value, dataclasses.Field):
                if unhashable(value.default):
                    value.default_factory = lambda default=value.default: default
                    value.default = dataclasses.MISSING
            elif unhashable(value) and not isinstance(value, (list, dict, set)):
                setattr(cls, name, dataclasses.field(default_factory=lambda default=value: default))
        return get_field(cls, name, *rest)

    dataclasses._get_field = get_field_of_torch
