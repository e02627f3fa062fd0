# SPDX-License-Identifier: GPL-2.0-only
"""Names that scripts of today use and PyTorch 1.13 does not have, where what they do can be done
with it.
"""


def apply(torch, device):
    if not hasattr(torch, "compile"):
        torch.compile = _compile(torch, device)
    import torch.amp
    import torch.cuda.amp

    if not hasattr(torch.amp, "GradScaler"):

        class GradScaler(torch.cuda.amp.GradScaler):
            def __init__(self, device="cuda", *arguments, **options):
                super().__init__(*arguments, **options)

        torch.amp.GradScaler = GradScaler
    if not hasattr(torch.amp, "autocast"):
        torch.amp.autocast = torch.autocast


def _compile(torch, device):
    def compile(model=None, **_):
        if model is None:
            return compile
        device.note(
            f"torch.compile at {device.source_line()}: the model is captured operator by operator,"
            " nothing is fused"
        )
        return model

    return compile
