# SPDX-License-Identifier: GPL-2.0-only
"""What torch.cuda calls in a PyTorch that was built with CUDA, and Debian's was not."""

import importlib
import os
import time

CUDA = 1  # c10::DeviceType
# What the packages of PyTorch 1.13 and of 2.6 bring: (CUDA, NCCL, cuDNN).
PACKAGES = {1: (11080, (2, 14, 3), 8700), 2: (12040, (2, 21, 5), 90100)}


def apply(torch, device, gpu):
    global CUDA_VERSION, NCCL_VERSION, CUDNN_VERSION
    CUDA_VERSION, NCCL_VERSION, CUDNN_VERSION = PACKAGES[int(torch.__version__.split(".")[0])]
    properties = _properties(gpu)
    _bind(torch._C, torch, device, properties)
    streams = _stream_base(torch, device)
    events = _event_base(torch, device)
    torch._C._CudaStreamBase, torch._C._CudaEventBase = streams, events
    torch._C._CudaDeviceProperties = type(properties)
    torch._C._cudart = _cudart(device)
    _prepare_torch_cuda(torch, device, properties)
    _prepare_storages(torch, device)


def _properties(gpu):
    class _CudaDeviceProperties:
        name = gpu["driver_name"]
        major = gpu["major"]
        minor = gpu["minor"]
        total_memory = gpu["memory_bytes"]
        multi_processor_count = gpu["multiprocessors"]
        is_integrated = False
        is_multi_gpu_board = False

        def __repr__(self):
            return (
                f"_CudaDeviceProperties(name='{self.name}', major={self.major},"
                f" minor={self.minor}, total_memory={self.total_memory >> 20}MB,"
                f" multi_processor_count={self.multi_processor_count})"
            )

    return _CudaDeviceProperties()


def _bind(c, torch, device, properties):
    """Functions of torch._C, by their names without "_cuda_"."""

    def exchange_device(number):
        before = device.current_device()
        device.set_device(number)
        return before

    def capability(number):
        device.check_device(number)
        return properties

    def memory_snapshot():
        device.note(
            f"memory_snapshot() at {device.source_line()} is empty: blocks are counted, not told"
        )
        return []

    told = unpacked if has_three_numbers(torch) else lambda stream: stream

    def set_stream(stream=None, **numbers):
        device.set_stream(packed(**numbers) if numbers else stream)

    # What needs no answer, or always has the same one.
    for name, answer in {
        "init": None,
        "getCompiledVersion": CUDA_VERSION,
        "getArchFlags": f"sm_{properties.major}{properties.minor}",
        "canDeviceAccessPeer": True,
        "ipc_collect": None,
        "resetAccumulatedMemoryStats": None,
        "getCurrentBlasHandle": 1,
        "set_sync_debug_mode": None,
        "get_sync_debug_mode": 0,
        "sleep": None,
        "cudaHostAllocator": 0,
        "lock_mutex": None,
        "unlock_mutex": None,
        "hasPrimaryContext": True,
        "clearCublasWorkspaces": None,
        "getAllocatorBackend": "native",
        "isHistoryEnabled": False,
        "record_memory_history": None,
        "getCurrentRawStream": 0,
    }.items():
        setattr(c, f"_cuda_{name}", lambda *_, answer=answer: answer)
    for name, function in {
        "isInBadFork": device.is_in_bad_fork,
        "getDeviceCount": device.device_count,
        "setDevice": device.set_device,
        "getDevice": device.current_device,
        "exchangeDevice": exchange_device,
        "maybeExchangeDevice": exchange_device,
        "synchronize": lambda: device.synchronize(-1),
        "getCurrentStream": lambda number: told(device.current_stream(number)),
        "getDefaultStream": lambda number: told(device.default_stream(number)),
        "setStream": set_stream,
        "emptyCache": device.empty_cache,
        "memoryStats": lambda number: _memory_stats(device, number),
        "resetPeakMemoryStats": device.reset_peaks,
        "setMemoryFraction": device.set_memory_fraction,
        "memorySnapshot": memory_snapshot,
        "getDeviceProperties": capability,
    }.items():
        setattr(c, f"_cuda_{name}", function)
    c._nccl_version = lambda: NCCL_VERSION
    c._nccl_all_reduce = None
    c.has_cuda = c.has_cudnn = c._has_cuda = c._has_cudnn = True


# ---- streams: one number in PyTorch 1.13 (Stream::pack()), three in 2


def has_three_numbers(torch):
    return hasattr(torch._C.Stream, "stream_id")


def packed(stream_id, device_index, device_type=CUDA):
    """As device/pytorch.h."""
    return device_type << 56 | device_index << 48 | stream_id


def unpacked(stream):
    return stream & (1 << 48) - 1, stream >> 48 & 0xFF, CUDA


def _memory_stats(device, number):
    """As the documentation of torch.cuda.memory_stats has it. Pools are not told apart."""
    memory = device.memory(number)
    none = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    allocated, reserved = memory["allocated_bytes"], memory["reserved_bytes"]
    split = {key: reserved[key] - memory["active_bytes"][key] for key in none}
    levels = {
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "active_bytes": memory["active_bytes"],
        "inactive_split_bytes": split,
        "allocation": memory["allocation"],
        "segment": memory["segment"],
        "active": memory["active"],
        "inactive_split": none,
    }
    stats = {
        name: {"all": level, "small_pool": none, "large_pool": level}
        for name, level in levels.items()
    }
    stats.update(
        num_alloc_retries=memory["num_alloc_retries"],
        num_ooms=memory["num_ooms"],
        max_split_size=-1,
        oversize_allocations=none,
        oversize_segments=none,
    )
    return stats


def _stream_base(torch, device):
    class OfOneNumber(torch._C.Stream):
        def __new__(cls, priority=0, _cdata=None, stream_ptr=0, **_):
            return super().__new__(cls, _cdata=device.new_stream() if _cdata is None else _cdata)

        device_type = CUDA

    class OfThree(torch._C.Stream):
        def __new__(cls, priority=0, stream_id=0, device_index=0, device_type=0, **_):
            if not device_type:
                stream_id, device_index, device_type = unpacked(device.new_stream())
            return super().__new__(
                cls, stream_id=stream_id, device_index=device_index, device_type=device_type
            )

        @property
        def _cdata(self):
            return packed(self.stream_id, super().device_index)

    class _CudaStreamBase(OfThree if has_three_numbers(torch) else OfOneNumber):
        priority = 0

        @property
        def device(self):
            return torch.device("cuda", device.stream_device(self._cdata))

        @property
        def device_index(self):
            return device.stream_device(self._cdata)

        @property
        def cuda_stream(self):
            return device.stream_number(self._cdata)

        def query(self):
            return True

        def synchronize(self):
            device.synchronize_stream(self._cdata)

        @staticmethod
        def priority_range():
            return (0, -1)

        def __eq__(self, other):
            return self._cdata == other._cdata

        def __hash__(self):
            return hash(self._cdata)

    return _CudaStreamBase


def _event_base(torch, device):
    class _CudaEventBase:
        def __new__(cls, enable_timing=False, blocking=False, interprocess=False, **_):
            event = object.__new__(cls)
            event.cuda_event = 0
            event.time = 0.0
            return event

        @property
        def device(self):
            return torch.device("cuda", device.current_device())

        def record(self, stream):
            # A number for each time: what waited for an earlier one does not wait for this.
            self.cuda_event = device.new_event()
            self.time = time.perf_counter()
            device.record_event(self.cuda_event, stream._cdata)

        def wait(self, stream):
            if self.cuda_event:
                device.wait_event(self.cuda_event, stream._cdata)

        def query(self):
            return True

        def synchronize(self):
            if self.cuda_event:
                device.synchronize_event(self.cuda_event)

        def elapsed_time(self, other):
            device.note(
                f"times between events are those of the capture at {device.source_line()}, not of"
                " the GPU"
            )
            return max(1e3 * (other.time - self.time), 1e-3)

        def ipc_handle(self):
            raise RuntimeError("capture: events of other processes are not known")

    return _CudaEventBase


def _cudart(device):
    class Cudart:
        class cudaError:
            success = 0

            def __new__(cls, number):
                return number

        @staticmethod
        def cudaMemGetInfo(number):
            memory = device.memory(number)
            return memory["capacity"] - memory["reserved_bytes"]["current"], memory["capacity"]

        @staticmethod
        def cudaGetErrorString(_):
            return "no error"

        cudaProfilerStart = cudaProfilerStop = staticmethod(lambda: 0)
        cudaHostRegister = cudaHostUnregister = staticmethod(lambda *_: 0)

    return Cudart


def _prepare_torch_cuda(torch, device, properties):
    import torch.backends.cudnn
    import torch.cuda
    import torch.cuda.graphs
    import torch.cuda.streams

    cuda = torch.cuda
    cuda.streams = importlib.reload(torch.cuda.streams)  # its classes have new bases
    for name in ("Stream", "ExternalStream", "Event"):
        setattr(cuda, name, getattr(cuda.streams, name))
    cuda._cudart = torch._C._cudart
    cuda._CudaDeviceProperties = type(properties)

    def get_device_properties(number=None):
        index = cuda._utils._get_device_index(number, optional=True)
        device.check_device(index)
        return properties

    def is_available():
        # CUDA's own count of devices makes it begin, after which no fork may use a GPU
        # (torch/csrc/cuda/Module.cpp: poison_fork); NVML's does not, nor does device_count().
        if os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK") != "1" and not device.is_in_bad_fork():
            device.use_gpus()
        return device.device_count() > 0

    cuda.get_device_properties = cuda._get_device_properties = get_device_properties
    cuda.is_available = is_available
    cuda._is_in_bad_fork = device.is_in_bad_fork
    lazy_init = cuda._lazy_init

    def begin_cuda():
        device.use_gpus()
        lazy_init()

    cuda._lazy_init = begin_cuda
    cuda.device_count = device.device_count
    cuda.is_bf16_supported = lambda *_, **__: properties.major >= 8
    cuda.has_half = cuda.has_magma = True
    cuda.default_generators = tuple(torch.Generator() for _ in range(device.device_count()))
    cuda.random.default_generators = cuda.default_generators
    device.set_generators(list(cuda.default_generators))
    cuda.nccl.version = lambda: NCCL_VERSION
    _prepare_device_context(cuda, device)
    _prepare_ranges(torch)
    torch.version.cuda = f"{CUDA_VERSION // 1000}.{CUDA_VERSION % 1000 // 10}"
    torch.has_cuda = True
    cudnn = torch.backends.cudnn
    cudnn.is_available = lambda: True
    cudnn.version = lambda: CUDNN_VERSION
    cudnn.is_acceptable = lambda _: False
    generator = torch.Generator

    class Generator(generator):
        def __new__(cls, device="cpu"):
            return generator.__new__(cls)

    torch.Generator = Generator


def _prepare_ranges(torch):
    """Marks for NVIDIA's profiler, which are of no use here."""
    import contextlib

    import torch.cuda.nvtx

    class Nvtx:
        rangePushA = rangePop = rangeStartA = rangeEnd = markA = staticmethod(lambda *_: 0)

    @contextlib.contextmanager
    def emit(*_, **__):
        yield

    torch.cuda.nvtx._nvtx = Nvtx
    torch.autograd.profiler.emit_nvtx = emit


def _prepare_device_context(cuda, device):
    """with torch.cuda.device(1): ..."""

    def init(self, which):
        self.idx = cuda._utils._get_device_index(which, optional=True)
        self.prev_idx = -1

    def enter(self):
        self.prev_idx = device.current_device()
        device.set_device(self.idx)

    def leave(self, *_):
        device.set_device(self.prev_idx)
        return False

    cuda.device.__init__, cuda.device.__enter__, cuda.device.__exit__ = init, enter, leave


def _prepare_storages(torch, device):
    """Storages of GPUs are made and resized by kernels of CUDA."""
    storage = torch.UntypedStorage
    resize, make = storage.resize_, storage.__new__

    def resize_storage(self, size):
        if self.device.type != "cuda":
            return resize(self, size)
        tensor = torch.empty(0, dtype=torch.uint8, device=self.device)
        tensor.set_(self)
        device.resize_storage(tensor, size)
        return self

    def new_storage(cls, *arguments, **options):
        where = options.get("device")
        if where is not None and torch.device(where).type == "cuda":
            size = arguments[0] if arguments and isinstance(arguments[0], int) else 0
            return torch.empty(size, dtype=torch.uint8, device=where).untyped_storage()
        return make(cls, *arguments, **options)

    write, read = storage._write_file, storage._set_from_file

    def write_file(self, *arguments):
        return write(self.cpu() if self.device.type == "cuda" else self, *arguments)

    def set_from_file(self, file, offset, directly, item):
        if self.device.type != "cuda":
            return read(self, file, offset, directly, item)
        self.copy_(read(storage(self.nbytes()), file, offset, directly, item))
        return self

    storage._write_file, storage._set_from_file = write_file, set_from_file
    storage.resize_ = resize_storage
    storage.__new__ = staticmethod(new_storage)
