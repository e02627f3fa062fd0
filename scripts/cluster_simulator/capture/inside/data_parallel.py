# SPDX-License-Identifier: GPL-2.0-only
"""What nn.DataParallel calls to copy between the GPUs of a process: here each copy by itself.
(../record/one_process.py makes ranks of such a process's GPUs.)
"""


def apply(torch, device):
    c = torch._C

    def on(number):
        return torch.device("cuda", number)

    def broadcast(tensor, numbers):
        return [
            tensor if tensor.is_cuda and tensor.get_device() == number else tensor.to(on(number))
            for number in numbers
        ]

    def broadcast_coalesced(tensors, numbers, _):
        """As one piece, since 1.13 packs them into buffers."""
        if not tensors:
            return [[] for _ in numbers]
        packed = {}
        for tensor in tensors:
            packed.setdefault(tensor.dtype, []).append(tensor)
        flat = {
            dtype: torch.cat([tensor.reshape(-1) for tensor in some])
            for dtype, some in packed.items()
        }
        copies = []
        for number in numbers:
            if tensors[0].get_device() == number:
                copies.append(list(tensors))
                continue
            parts = {
                dtype: iter(
                    flat[dtype].to(on(number)).split([tensor.numel() for tensor in some])
                )
                for dtype, some in packed.items()
            }
            copies.append([next(parts[tensor.dtype]).view(tensor.shape) for tensor in tensors])
        return copies

    def scatter(tensor, numbers, sizes=None, dim=0, streams=None):
        parts = tensor.split(sizes, dim) if sizes else tensor.chunk(len(numbers), dim)
        return [
            part.contiguous().to(on(number), non_blocking=True)
            for part, number in zip(parts, numbers)
        ]

    def gather(tensors, dim, destination=None):
        where = torch.device("cpu") if destination == -1 else on(
            torch.cuda.current_device() if destination is None else destination
        )
        return torch.cat([tensor.to(where) for tensor in tensors], dim)

    def into(outputs, values):
        for output, value in zip(outputs, values):
            output.copy_(value)
        return outputs

    c._broadcast = broadcast
    c._broadcast_out = lambda tensor, outputs: into(outputs, [tensor] * len(outputs))
    c._broadcast_coalesced = broadcast_coalesced
    c._scatter = scatter
    c._scatter_out = lambda tensor, outputs, dim=0, streams=None: into(
        outputs, tensor.chunk(len(outputs), dim)
    )
    c._gather = gather
    c._gather_out = lambda tensors, output, dim: output.copy_(gather(tensors, dim, None))
    torch.cuda.nccl.is_available = lambda tensors: False
