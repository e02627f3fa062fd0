# SPDX-License-Identifier: GPL-2.0-only
"""torch.cuda.FloatTensor and its like, and a default device: by the types of old scripts
(set_default_tensor_type) and by the names of PyTorch 2 (set_default_device, with torch.device).
"""

import functools
import gc

TYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
# Functions that make tensors, and take a device.
FACTORIES = (
    "arange bartlett_window blackman_window empty empty_strided eye full hamming_window"
    " hann_window kaiser_window linspace logspace ones rand randint randn randperm range"
    " scalar_tensor tensor as_tensor asarray zeros sparse_coo_tensor tril_indices triu_indices"
).split()


def apply(torch, device):
    _types(torch)
    _default_device(torch)


def _types(torch):
    for name, dtype in TYPES.items():
        setattr(torch.cuda, f"{name}Tensor", _type(torch, name, getattr(torch, dtype)))
    usual = torch.set_default_tensor_type

    def set_default_tensor_type(kind):
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        word = name.rsplit(".", 1)[-1].removesuffix("Tensor")
        if "cuda" in name and word in TYPES:
            torch.set_default_dtype(getattr(torch, TYPES[word]))
            torch.set_default_device("cuda")
        else:
            usual(kind)
            torch.set_default_device("cpu")

    torch.set_default_tensor_type = set_default_tensor_type


def _type(torch, name, dtype):
    class Meta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == dtype

    def new(cls, *given, device="cuda"):
        if not given:
            return torch.empty(0, dtype=dtype, device=device)
        if isinstance(given[0], int) or isinstance(given[0], torch.Size):
            sizes = given[0] if isinstance(given[0], torch.Size) else given
            return torch.empty(*sizes, dtype=dtype, device=device)
        if isinstance(given[0], torch.Tensor):
            return given[0].to(device, dtype)
        return torch.tensor(given[0], dtype=dtype, device=device)

    # (Tensor.type() reads the name of a class.)
    return Meta(f"torch.cuda.{name}Tensor", (), {"__new__": new, "dtype": dtype, "is_cuda": True})


def _default_device(torch):
    defaults = [None]  # the last one counts

    def with_default(make):
        @functools.wraps(make)
        def made(*arguments, **options):
            if defaults[-1] is not None and options.get("device") is None:
                data = arguments[0] if arguments else None
                if not (isinstance(data, torch.Tensor) and make.__name__.startswith("as")):
                    options["device"] = defaults[-1]
            return make(*arguments, **options)

        return made

    def begin():
        """From the first use on: scripts without a default are not slowed down."""
        if not getattr(torch, "_capture_defaults", False):
            torch._capture_defaults = True
            for name in FACTORIES:
                if hasattr(torch, name):
                    setattr(torch, name, with_default(getattr(torch, name)))

    def set_default_device(where):
        begin()
        defaults[0] = None if where is None or str(where) == "cpu" else torch.device(where)

    def enter(self):
        begin()
        defaults.append(self)
        return self

    def leave(self, *_):
        defaults.pop()

    if not hasattr(torch, "set_default_device"):
        torch.set_default_device = set_default_device
        torch.get_default_device = lambda: defaults[-1] or torch.device("cpu")
        # A class of C has no place for new methods but its dictionary.
        methods = gc.get_referents(torch.device.__dict__)[0]
        methods["__enter__"], methods["__exit__"] = enter, leave
        _forget_cached_methods(torch.device)


def _forget_cached_methods(kind):
    import ctypes

    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
