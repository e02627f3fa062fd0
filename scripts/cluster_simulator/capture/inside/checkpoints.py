# SPDX-License-Identifier: GPL-2.0-only
"""torch.distributed.checkpoint where not all ranks run: a coordinator would gather a plan from each
rank. Here each rank plans its own shards, and rank 0 alone writes the metadata. Copies from GPUs
and files are as on any cluster; the objects that ranks tell each other are left out.
"""

from .imports import when_imported

PACKAGE = "torch.distributed.checkpoint"


def apply(device):
    when_imported(f"{PACKAGE}.utils", lambda module: _without_others(module, device))
    when_imported(f"{PACKAGE}.default_planner", _with_missing_shards)


def _without_others(utils, device):
    wrapper = utils._DistWrapper
    init, reduce = wrapper.__init__, wrapper.all_reduce

    def alone(self, group, use_dist, coordinator_rank):
        init(self, group, use_dist, coordinator_rank)
        self.writes_metadata = self.is_coordinator
        self.use_dist, self.is_coordinator = False, True
        device.note(
            f"torch.distributed.checkpoint at {device.source_line()}: ranks that do not run have no"
            " part in it; each that runs plans its own shards"
        )

    def all_reduce(self, step, map_fun, reduce_fun):
        if self.writes_metadata:
            return reduce(self, step, map_fun, reduce_fun)
        return map_fun()

    wrapper.__init__, wrapper.all_reduce = alone, all_reduce


def _with_missing_shards(planner):
    """A tensor need not be whole: shards of others are missing."""
    planner._validate_global_plan = lambda *_: True
