/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What all calls of the runtime and the driver begin with.
 */
#ifndef CUDA_API_H
#define CUDA_API_H

#include "../include/cuda_runtime_api.h"
#include "clock.h"
#include "machine.h"
#include "record.h"

namespace gpus
{

/// The last error of a thread, as cudaGetLastError has it.
cudaError_t& LastError();

/// Keeps an error for cudaGetLastError, and returns it.
inline cudaError_t
Result(cudaError_t error)
{
    if (error != cudaSuccess)
    {
        LastError() = error;
    }
    return error;
}

/// The machine, with its mutex held.
struct Call
{
    Call()
        : machine(Machine::Get()),
          lock(machine.mutex)
    {
        Called();
    }

    Machine& machine;
    Machine::Lock lock;
};

inline bool
IsGpu(int ordinal)
{
    return ordinal >= 0 && ordinal < static_cast<int>(TheSettings().visible.size());
}

/// Whether the stream is being captured: waiting for it is an error then.
inline bool
IsCaptured(const Stream* stream)
{
    return stream->captured != nullptr;
}

struct KernelTime
{
    Time time = 0;
    bool isGiven = false; ///< by --kernel-times; else it is that of a launch
};

/// What a kernel takes, by its name.
KernelTime TimeOf(const std::string& name);

/// A kernel of a module, which has no function on the host: its handle.
const void* RegisterKernel(const char* name);

/// Adds a kernel to a stream.
cudaError_t Launch(const void* function, dim3 grid, dim3 block, void* stream);

/// A copy: of `rows` rows of `width` bytes.
struct Copy
{
    void* to = nullptr;
    std::size_t toPitch = 0;
    const void* from = nullptr;
    std::size_t fromPitch = 0;
    std::size_t width = 0;
    std::size_t rows = 1;
};

cudaError_t CopyOn(void* stream, const Copy& copy, int kind, bool waits);
cudaError_t FillOn(void* stream,
                   void* at,
                   std::size_t pitch,
                   uint32_t value,
                   unsigned valueBytes,
                   std::size_t width,
                   std::size_t rows);

} // namespace gpus

#endif // CUDA_API_H
