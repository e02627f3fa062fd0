# SPDX-License-Identifier: GPL-2.0-only
"""CUDA graphs: what is issued while one is captured is recorded between two marks, and does
nothing; each replay stands for all of it (../record/order.py).
"""


replayed = set()  # numbers, of this process
capturing = []  # the graph that is captured now
before_replay = []  # who is told of a replay: functions of the graph


def apply(torch, device):
    numbers = iter(range(1, 1 << 60))

    class _CUDAGraph:
        def capture_begin(self, pool=None, **_):
            if capturing:
                raise RuntimeError("CUDA graph capture is under way already")
            self.number = next(numbers)
            self.shared = pool
            capturing.append(self)
            device.mark("graph", {"graph": str(self.number)})

        def capture_end(self):
            capturing.remove(self)
            device.mark("graph-end", {"graph": str(self.number)})

        def replay(self):
            if not hasattr(self, "number"):
                raise RuntimeError(
                    "Called CUDAGraph::replay without a preceding successful capture."
                )
            for hear in before_replay:
                hear(self)
            device.mark_place("replay", {"graph": str(self.number)})
            replayed.add(self.number)

        def reset(self):
            pass

        def pool(self):
            return self.shared or (0, self.number)

    graphs = torch.cuda.graphs
    torch._C._CUDAGraph = _CUDAGraph
    # Its class was made of a dummy.
    graphs.CUDAGraph.__bases__ = (_CUDAGraph,)
    graphs._graph_pool_handle = lambda: (next(numbers), 0)

    def is_capturing():
        return bool(capturing)

    graphs._cuda_isCurrentStreamCapturing = is_capturing
    torch._C._cuda_isCurrentStreamCapturing = is_capturing
