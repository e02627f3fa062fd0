# SPDX-License-Identifier: GPL-2.0-only
"""DistributedDataParallel's error tells parameters without a gradient by number: the record has
their names.
"""

import functools
import json
import re

NUMBERS = re.compile(r"indices which did not receive grad for rank \d+: ([\d ]+)")


def apply(torch, device):
    from torch.nn.parallel import DistributedDataParallel

    forward = DistributedDataParallel.forward

    @functools.wraps(forward)
    def watched(self, *arguments, **options):
        try:
            return forward(self, *arguments, **options)
        except RuntimeError as error:
            found = NUMBERS.search(str(error))
            if found:
                names = _names(self, [int(number) for number in found[1].split()])
                device.mark_at("unused", {"names": json.dumps(names)}, "")
            raise

    DistributedDataParallel.forward = watched


def _names(model, numbers):
    parameters, _ = model._build_params_for_reducer()
    name_of = {id(parameter): name for name, parameter in model.module.named_parameters()}
    return [name_of.get(id(parameters[number]), str(number)) for number in numbers]
