# SPDX-License-Identifier: GPL-2.0-only
"""What an executable needs, read from the file (the ELF format of 64 bits, gABI)."""

import os
import struct

from ...errors import InvalidInput

MAGIC = b"\x7fELF"
EXECUTABLE = 2  # ET_EXEC: addresses are those of the file; PIE has type 3
LOAD, DYNAMIC = 1, 2  # program headers
NEEDED, STRTAB = 1, 5  # dynamic entries
SYMBOLS = 11  # SHT_DYNSYM
# Marks of NVIDIA's static runtime: its local symbols, and, where those were stripped, a name in its
# table of errors beside the section that nvcc puts kernels in.
MARKS = (b"libcudart_static_",)
KERNELS, ERRORS = b".nvFatBinSegment", b"cudaErrorCudartUnloading"


class StaticRuntime(InvalidInput):
    """A program that carries CUDA's runtime in itself."""


class Elf:
    """needed: names of shared libraries; base: lowest address, if it cannot be moved (else 0)."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.content = file.read()
        data = self.content
        if data[:4] != MAGIC or len(data) < 64 or data[4] != 2:
            raise ValueError("no ELF file of 64 bits")
        kind, offset, size, count = (
            struct.unpack_from("<H", data, 16)[0],
            struct.unpack_from("<Q", data, 32)[0],
            *struct.unpack_from("<HH", data, 54),
        )
        headers = [
            struct.unpack_from("<IIQQQQQQ", data, offset + i * size)
            for i in range(count)
            if offset + (i + 1) * size <= len(data)
        ]
        loads = [(start, at, length) for p, _, at, start, _, length, *_ in headers if p == LOAD]
        self.base = min((start for start, _, _ in loads), default=0) if kind == EXECUTABLE else 0
        self.needed = self._needed(headers, loads)

    def _needed(self, headers, loads):
        data = self.content
        entries = []
        for kind, _, at, _, _, length, *_ in headers:
            if kind == DYNAMIC and at + length <= len(data):
                entries = [
                    struct.unpack_from("<qQ", data, at + i) for i in range(0, length - 15, 16)
                ]
        strings = next((value for tag, value in entries if tag == STRTAB), None)
        if strings is None:
            return []
        begin = next(
            (at + strings - start for start, at, n in loads if start <= strings < start + n), None
        )
        if begin is None:
            return []
        names = []
        for tag, value in entries:
            if tag == 0:
                break
            if tag == NEEDED:
                end = data.find(b"\0", begin + value)
                names.append(data[begin + value : end].decode(errors="replace"))
        return names

    def symbols(self, defined):
        """Names of its dynamic symbols: those that it has, or those that it takes from others."""
        data = self.content
        offset = struct.unpack_from("<Q", data, 40)[0]
        size, count = struct.unpack_from("<HH", data, 58)
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)
            for i in range(count)
            if offset + (i + 1) * size <= len(data)
        ]
        names = []
        for _, kind, _, _, at, length, link, *_ in sections:
            if kind != SYMBOLS or link >= len(sections):
                continue
            strings = sections[link][4]
            for i in range(0, length - 23, 24):
                name, _, _, index = struct.unpack_from("<IBBH", data, at + i)
                if name and (index != 0) == defined:
                    end = data.find(b"\0", strings + name)
                    names.append(data[strings + name : end].decode(errors="replace"))
        return names

    @property
    def has_static_runtime(self):
        if any(name.startswith("libcudart.so") for name in self.needed):
            return False
        return any(mark in self.content for mark in MARKS) or (
            KERNELS in self.content and ERRORS in self.content
        )


def read(path):
    """Elf; None: this is none."""
    try:
        with open(path, "rb") as file:
            if file.read(4) != MAGIC:
                return None
        return Elf(path)
    except (OSError, ValueError, struct.error):
        return None


def check(path):
    """Raises StaticRuntime."""
    elf = read(path)
    if elf is not None and elf.has_static_runtime:
        raise StaticRuntime(
            f"{path}: is linked to CUDA's static runtime (libcudart_static.a), which simulated GPUs"
            " cannot take the place of; link it anew to the shared one: nvcc -cudart shared (CMake:"
            f" CUDA_RUNTIME_LIBRARY Shared), then run {os.path.basename(path)} again"
        )
