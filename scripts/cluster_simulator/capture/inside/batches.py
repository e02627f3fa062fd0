# SPDX-License-Identifier: GPL-2.0-only
"""The batch that a script's outermost module is called with: what samples and tokens are."""

import weakref

_sizes = weakref.WeakKeyDictionary()  # module: number of its parameters


def note(torch, device, root, arguments, options):
    """Writes the shape of a training pass's input. Only a module that is trained has one: a loss
    has no parameters, an evaluation no gradients.
    """
    if not (root.training and torch.is_grad_enabled()):
        return
    parameters = _sizes.get(root)
    if parameters is None:
        trained = (one.numel() for one in root.parameters() if one.requires_grad)
        parameters = _sizes[root] = sum(trained)
    shape = _shape(torch, [*arguments, *options.values()]) if parameters else None
    if shape:
        words = {"n": _kind(root), "parameters": str(parameters), "sizes": shape}
        device.mark_at("input", words, "")


def _kind(root):
    """The name of its class. fully_shard makes a class of its own of each."""
    names = [one.__name__ for one in type(root).__mro__]
    return "FSDPModule" if "FSDPModule" in names else names[0]


def _shape(torch, values):
    """Sizes of the first tensor as text, with "i" in front where it has whole numbers, which are
    tokens; None: there is none.
    """
    for value in values:
        if isinstance(value, torch.Tensor):
            whole = not (value.is_floating_point() or value.is_complex())
            return ("i" if whole else "") + "x".join(map(str, value.shape)) if value.dim() else None
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            found = _shape(torch, value)
            if found:
                return found
    return None
