# SPDX-License-Identifier: GPL-2.0-only
"""Optimizers that look at values. L-BFGS ends its inner loop where gradients or changes are small,
which what is not known always is: here it makes as many iterations as it may, as on GPUs it does
far from the minimum.
"""

import functools

NEVER = -1.0


def apply(torch, device):
    kind = torch.optim.LBFGS
    step = kind.step

    @functools.wraps(step)
    def whole(self, *arguments, **options):
        group = self.param_groups[0]
        kept = {name: group[name] for name in ("tolerance_grad", "tolerance_change")}
        group.update(dict.fromkeys(kept, NEVER))
        try:
            return step(self, *arguments, **options)
        finally:
            group.update(kept)

    kind.step = whole
