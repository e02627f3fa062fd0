/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tensors of simulated GPUs: real at::Tensor objects with sizes, strides and storages. Most
 * storages have an address and no memory. Small ones, and bytes, have memory on the host, and are
 * `valid` while all that went into them was: scripts' control flow (shapes that ranks tell each
 * other, loss scales, pickled objects) goes on as on a GPU.
 */
#ifndef CAPTURE_STORAGE_H
#define CAPTURE_STORAGE_H

#include "caching-allocator.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <cstdint>

namespace capture
{

/// Storages up to this many bytes are real: DDP's and GradScaler's own tensors, losses, counters.
constexpr size_t kSmallBytes = 64 << 10;
/// Tensors of bytes are pickled objects and random states: real up to this size.
constexpr size_t kMostRealBytes = 512 << 20;
/// Other whole numbers are indices, counts and masks, of which shapes may be made: up to this size.
constexpr size_t kMostRealIntegers = 16 << 20;

struct StorageInfo
{
    uint64_t id = 0;
    size_t bytes = 0;
    int device = 0;
    bool real = false;    ///< there is memory
    bool valid = false;   ///< and what is in it is what a GPU would have,
    bool assumed = false; ///< or, where only a GPU could know, is taken to be (operators.h)
    void* memory = nullptr;
    CachingAllocator::Block* block = nullptr;
};

/// The allocator of the device type.
c10::Allocator* DeviceAllocator();
/// Of pinned memory on the host, and whether an address is of it.
c10::Allocator* PinnedAllocator();
bool IsPinnedMemory(const void* memory);
/// A stream uses it, besides that on which it was made: its memory is not free before (Tensor's
/// record_stream).
void RecordStream(const c10::DataPtr& data, const c10::Stream& stream);
/// Reserves addresses and installs the allocators. Once a process.
void StartStorage();

/// Of a tensor on a simulated GPU. Never fails for one that has a storage.
StorageInfo& InfoOf(const at::Tensor& tensor);

inline bool
OnGpu(const at::Tensor& tensor)
{
    return tensor.defined() && tensor.is_cuda();
}

/// What is in it is known: on the CPU, or real and valid.
bool HasValue(const at::Tensor& tensor);
/// What is in it, or what it was made of, was taken to be so.
bool IsAssumed(const at::Tensor& tensor);
void SetAssumed(const at::Tensor& tensor);
/// What is in it was made of what is not known: it stays, for what reads it (unknown values count
/// as 0), but is no GPU's.
void SetUnknown(const at::Tensor& tensor);
/// What is in it is not known any more, and reads as 0.
void Invalidate(const at::Tensor& tensor);

at::Tensor Empty(at::IntArrayRef sizes,
                 at::ScalarType type,
                 c10::optional<at::Device> device = c10::nullopt,
                 c10::optional<at::MemoryFormat> format = c10::nullopt);
at::Tensor EmptyStrided(at::IntArrayRef sizes,
                        at::IntArrayRef strides,
                        at::ScalarType type,
                        c10::optional<at::Device> device = c10::nullopt);
/// Results of a kernel: their values are not known.
at::Tensor Result(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& beside);
at::Tensor ResultLike(const at::Tensor& tensor);

/// The same sizes and strides over another storage.
at::Tensor ViewOf(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like);
/// A CPU tensor over the memory of a real one.
at::Tensor OnHost(const at::Tensor& tensor);

/// Makes the storage of a tensor so large, if `shrink` also smaller; what was in it stays.
void ResizeStorage(const at::Tensor& tensor, size_t bytes, bool shrink);

/// dst <- src, whichever of them is on a GPU.
void CopyValues(const at::Tensor& destination, const at::Tensor& source);

} // namespace capture

#endif // CAPTURE_STORAGE_H
