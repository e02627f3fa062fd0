/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where interfaces of PyTorch 1.13 (Debian 12) and of PyTorch 2.6 (Debian 13) differ. Sources of
 * both: c10/core/Allocator.h, c10/core/Stream.h, torch/csrc/distributed/c10d/Backend.hpp.
 */
#ifndef CAPTURE_PYTORCH_H
#define CAPTURE_PYTORCH_H

#include <c10/core/Stream.h>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#define CAPTURE_PYTORCH_2 1
/// c10::Allocator::allocate is const in 1.13 only.
#define CAPTURE_ALLOCATE_CONST
#else
#define CAPTURE_PYTORCH_2 0
#define CAPTURE_ALLOCATE_CONST const
#endif

namespace capture
{

#if CAPTURE_PYTORCH_2
/// A ProcessGroup has a Backend for each kind of device.
using GroupBase = c10d::Backend;
#else
using GroupBase = c10d::ProcessGroup;
#endif

/// A stream in one number, as Stream::pack() of 1.13: 8 bits of kind, 8 of device, 48 of id. (2.6
/// has three numbers for it.)
inline uint64_t
Packed(c10::Stream stream)
{
    return static_cast<uint64_t>(stream.device_type()) << 56 |
           static_cast<uint64_t>(static_cast<uint8_t>(stream.device_index())) << 48 |
           (static_cast<uint64_t>(stream.id()) & ((uint64_t{1} << 48) - 1));
}

inline c10::Stream
Unpacked(uint64_t packed)
{
    return c10::Stream(c10::Stream::UNSAFE,
                       c10::Device(static_cast<c10::DeviceType>(packed >> 56),
                                   static_cast<c10::DeviceIndex>(packed >> 48 & 0xff)),
                       static_cast<c10::StreamId>(packed & ((uint64_t{1} << 48) - 1)));
}

} // namespace capture

#endif // CAPTURE_PYTORCH_H
