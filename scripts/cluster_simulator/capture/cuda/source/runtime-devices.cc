/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The runtime: devices, errors, memory. In a library for each version of CUDA: VERSION is 11000,
 * 12000 or 13000.
 */
#include "api.h"
#include "device-properties.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#undef cudaGetDeviceProperties

using namespace gpus;

namespace
{

/// Those of driver_types.h, of the current GPU; null: there is no such limit.
std::size_t*
LimitOf(cudaLimit limit)
{
    constexpr int kLimits = 7;
    static auto& limits = *new std::map<int, std::array<std::size_t, kLimits>>;
    const auto index = static_cast<unsigned>(limit);
    return index < kLimits ? &limits.try_emplace(CurrentOrdinal()).first->second[index] : nullptr;
}

/// Pairs of GPUs of which one may use the other's memory.
std::set<std::pair<int, int>>&
Peers()
{
    static auto& peers = *new std::set<std::pair<int, int>>;
    return peers;
}

cudaError_t
Properties(void* properties, int ordinal)
{
    if (!properties)
    {
        return Result(cudaErrorInvalidValue);
    }
    if (!IsGpu(ordinal))
    {
        return Result(cudaErrorInvalidDevice);
    }
    Fill(properties, ordinal);
    return cudaSuccess;
}

cudaError_t
AllocateOn(void** pointer, std::size_t size, bool managed)
{
    if (!pointer)
    {
        return Result(cudaErrorInvalidValue);
    }
    *pointer = nullptr;
    Call call;
    if (TheSettings().visible.empty())
    {
        return Result(cudaErrorNoDevice);
    }
    if (size == 0)
    {
        return cudaSuccess;
    }
    *pointer = call.machine.memory().Allocate(call.machine.CurrentGpu().number, size, managed);
    return Result(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}

} // namespace

extern "C"
{
    // ---- devices

    cudaError_t cudaGetDeviceCount(int* count)
    {
        if (!count)
        {
            return Result(cudaErrorInvalidValue);
        }
        *count = static_cast<int>(TheSettings().visible.size());
        return Result(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
    }

    cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
    {
        return Properties(properties, device);
    }

    cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int device)
    {
        return Properties(properties, device);
    }

    cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
    {
        if (!value)
        {
            return Result(cudaErrorInvalidValue);
        }
        if (!IsGpu(device))
        {
            return Result(cudaErrorInvalidDevice);
        }
        const Settings& s = TheSettings();
        switch (static_cast<int>(attribute))
        {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY:
            *value = 1024;
            break;
        case cudaDevAttrMaxBlockDimZ:
            *value = 64;
            break;
        case cudaDevAttrMaxGridDimX:
            *value = INT32_MAX;
            break;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ:
            *value = 65535;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = 49152;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = 166912;
            break;
        case cudaDevAttrWarpSize:
            *value = 32;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = s.multiprocessors;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = 2048;
            break;
        case cudaDevAttrAsyncEngineCount:
            *value = 3;
            break;
        case cudaDevAttrPciBusId:
            *value = s.visible[static_cast<std::size_t>(device)] + 1;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = s.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = s.minor;
            break;
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrCooperativeLaunch:
            *value = 1;
            break;
        default:
            // Those that there are, and others have no value (driver_types.h of CUDA 13.0).
            if (attribute < 1 || attribute > 147 || attribute == 136 || attribute == 137 ||
                attribute == 146)
            {
                return Result(cudaErrorInvalidValue);
            }
            *value = 0;
        }
        return cudaSuccess;
    }

    cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device)
    {
        if (!id || length < 13)
        {
            return Result(cudaErrorInvalidValue);
        }
        if (!IsGpu(device))
        {
            return Result(cudaErrorInvalidDevice);
        }
        std::snprintf(id,
                      static_cast<std::size_t>(length),
                      "0000:%02x:00.0",
                      TheSettings().visible[static_cast<std::size_t>(device)] + 1);
        return cudaSuccess;
    }

    cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id)
    {
        char mine[16];
        for (int i = 0; device && id && IsGpu(i); ++i)
        {
            cudaDeviceGetPCIBusId(mine, sizeof(mine), i);
            if (std::strcmp(mine, id) == 0)
            {
                *device = i;
                return cudaSuccess;
            }
        }
        return Result(cudaErrorInvalidValue);
    }

    cudaError_t cudaSetDevice(int device)
    {
        if (!IsGpu(device))
        {
            return Result(cudaErrorInvalidDevice);
        }
        Call call;
        CurrentOrdinal() = device;
        return cudaSuccess;
    }

    cudaError_t cudaInitDevice(int device, unsigned, unsigned)
    {
        return Result(IsGpu(device) ? cudaSuccess : cudaErrorInvalidDevice);
    }

    cudaError_t cudaGetDevice(int* device)
    {
        if (!device)
        {
            return Result(cudaErrorInvalidValue);
        }
        *device = CurrentOrdinal();
        return Result(IsGpu(*device) ? cudaSuccess : cudaErrorNoDevice);
    }

    cudaError_t cudaSetDeviceFlags(unsigned flags)
    {
        // cudaDeviceScheduleMask, MapHost, LmemResizeToMax, SyncMemops of driver_types.h
        return Result((flags & ~0x9fU) ? cudaErrorInvalidValue : cudaSuccess);
    }

    cudaError_t cudaGetDeviceFlags(unsigned* flags)
    {
        if (!flags)
        {
            return Result(cudaErrorInvalidValue);
        }
        *flags = cudaDeviceMapHost;
        return cudaSuccess;
    }

    cudaError_t cudaDeviceSynchronize()
    {
        if (!IsGpu(CurrentOrdinal()))
        {
            return Result(cudaErrorNoDevice);
        }
        Call call;
        Gpu& gpu = call.machine.CurrentGpu();
        for (const auto& stream : gpu.streams)
        {
            if (IsCaptured(stream.get()))
            {
                return Result(cudaErrorStreamCaptureUnsupported);
            }
        }
        RecordSync(gpu.number, -1, 0);
        call.machine.SynchronizeGpu(call.lock, gpu);
        return cudaSuccess;
    }

    cudaError_t cudaDeviceReset()
    {
        return cudaDeviceSynchronize();
    }

    cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value)
    {
        Call call;
        std::size_t* found = LimitOf(limit);
        if (!found)
        {
            return Result(cudaErrorUnsupportedLimit);
        }
        *found = value;
        return cudaSuccess;
    }

    cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit)
    {
        Call call;
        const std::size_t* found = LimitOf(limit);
        if (!value || !found)
        {
            return Result(value ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue);
        }
        *value = *found;
        return cudaSuccess;
    }

    cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache)
    {
        return cudaSuccess;
    }

    cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest)
    {
        if (least)
        {
            *least = 0;
        }
        if (greatest)
        {
            *greatest = -5; // as recent GPUs have it
        }
        return cudaSuccess;
    }

    cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer)
    {
        if (!can || !IsGpu(device) || !IsGpu(peer))
        {
            return Result(can ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
        }
        *can = device != peer;
        return cudaSuccess;
    }

    cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
    {
        Call call;
        if (flags != 0 || !IsGpu(peer) || peer == CurrentOrdinal())
        {
            return Result(flags != 0 ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
        }
        return Result(Peers().emplace(CurrentOrdinal(), peer).second
                          ? cudaSuccess
                          : cudaErrorPeerAccessAlreadyEnabled);
    }

    cudaError_t cudaDeviceDisablePeerAccess(int peer)
    {
        Call call;
        if (!IsGpu(peer))
        {
            return Result(cudaErrorInvalidDevice);
        }
        return Result(Peers().erase({CurrentOrdinal(), peer}) ? cudaSuccess
                                                              : cudaErrorPeerAccessNotEnabled);
    }

    cudaError_t cudaDriverGetVersion(int* version)
    {
        if (!version)
        {
            return Result(cudaErrorInvalidValue);
        }
        *version = VERSION;
        return cudaSuccess;
    }

    cudaError_t cudaRuntimeGetVersion(int* version)
    {
        if (!version)
        {
            return Result(cudaErrorInvalidValue);
        }
        *version = VERSION;
        return cudaSuccess;
    }

    // ---- memory

    cudaError_t cudaMalloc(void** pointer, std::size_t size)
    {
        return AllocateOn(pointer, size, false);
    }

    cudaError_t cudaMallocPitch(void** pointer,
                                std::size_t* pitch,
                                std::size_t width,
                                std::size_t rows)
    {
        if (!pitch)
        {
            return Result(cudaErrorInvalidValue);
        }
        std::size_t size = 0;
        if (width > SIZE_MAX - 511 ||
            __builtin_mul_overflow((width + 511) / 512 * 512, rows, &size))
        {
            return Result(cudaErrorMemoryAllocation);
        }
        *pitch = (width + 511) / 512 * 512; // textureAlignment
        return AllocateOn(pointer, size, false);
    }

    cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t stream)
    {
        {
            Call call;
            if (!call.machine.Find(stream))
            {
                return Result(cudaErrorInvalidResourceHandle);
            }
        }
        return AllocateOn(pointer, size, false);
    }

    cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned flags)
    {
        if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        {
            return Result(cudaErrorInvalidValue);
        }
        return AllocateOn(pointer, size, true);
    }

    cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned flags)
    {
        constexpr unsigned kFlags =
            cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        if (!pointer || (flags & ~kFlags))
        {
            return Result(cudaErrorInvalidValue);
        }
        Call call;
        *pointer = size > 0 ? call.machine.memory().AllocateHost(size) : nullptr;
        return Result(*pointer || size == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
    }

    cudaError_t cudaMallocHost(void** pointer, std::size_t size)
    {
        return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
    }

    cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned flags)
    {
        Call call;
        constexpr unsigned kFlags = 0xf; // Portable, Mapped, IoMemory, ReadOnly
        if (!pointer || size == 0 || (flags & ~kFlags))
        {
            return Result(cudaErrorInvalidValue);
        }
        if (call.machine.memory().Find(pointer))
        {
            return Result(cudaErrorHostMemoryAlreadyRegistered);
        }
        call.machine.memory().RegisterHost(pointer, size);
        return cudaSuccess;
    }

    cudaError_t cudaHostUnregister(void* pointer)
    {
        Call call;
        const Allocation* found = call.machine.memory().Find(pointer);
        if (found && !found->registered)
        {
            return Result(cudaErrorInvalidValue); // it is freed by cudaFreeHost
        }
        return Result(call.machine.memory().Free(pointer, true) ? cudaSuccess
                                                                : cudaErrorHostMemoryNotRegistered);
    }

    cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned flags)
    {
        Call call;
        const Allocation* found = call.machine.memory().Find(host);
        if (!pointer || flags != 0 || !found || found->gpu >= 0)
        {
            return Result(cudaErrorInvalidValue);
        }
        *pointer = host;
        return cudaSuccess;
    }

    cudaError_t cudaFree(void* pointer)
    {
        if (!pointer)
        {
            Call call; // the usual way to begin
            return cudaSuccess;
        }
        Call call;
        Memory& memory = call.machine.memory();
        const Allocation* found = memory.Find(pointer);
        if (!found || found->gpu < 0 || memory.BeginOf(pointer) != pointer)
        {
            return Result(cudaErrorInvalidValue);
        }
        // As CUDA does, it waits for what may still use it.
        for (int i = 0; IsGpu(i); ++i)
        {
            Gpu& gpu = call.machine.GpuAt(i);
            if (gpu.number == found->gpu)
            {
                call.machine.SynchronizeGpu(call.lock, gpu);
            }
        }
        memory.Free(pointer, false);
        return cudaSuccess;
    }

    cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle)
    {
        Call call;
        Machine& machine = call.machine;
        Stream* stream = machine.Find(handle);
        const Allocation* found = machine.memory().Find(pointer);
        if (!stream ||
            (pointer && (!found || found->gpu < 0 || machine.memory().BeginOf(pointer) != pointer)))
        {
            return Result(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
        }
        machine.Issue(stream, [&machine, pointer](Stream* on) {
            machine.AddTimed(on, 0, [&machine, pointer] { machine.memory().Free(pointer, false); });
        });
        machine.Progress(call.lock);
        return cudaSuccess;
    }

    cudaError_t cudaFreeHost(void* pointer)
    {
        Call call;
        const Allocation* found = call.machine.memory().Find(pointer);
        if (pointer && (!found || found->registered || !call.machine.memory().Free(pointer, true)))
        {
            return Result(cudaErrorInvalidValue);
        }
        std::free(pointer);
        return cudaSuccess;
    }

    cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total)
    {
        Call call;
        if (TheSettings().visible.empty())
        {
            return Result(cudaErrorNoDevice);
        }
        const uint64_t used = call.machine.memory().Used(call.machine.CurrentGpu().number);
        if (available)
        {
            *available = TheSettings().bytes - used;
        }
        if (total)
        {
            *total = TheSettings().bytes;
        }
        return cudaSuccess;
    }

    cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer)
    {
        Call call;
        if (!attributes)
        {
            return Result(cudaErrorInvalidValue);
        }
        std::memset(attributes, 0, sizeof(*attributes));
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2; // cudaInvalidDeviceId
        auto* address = const_cast<void*>(pointer);
        if (const Allocation* found = call.machine.memory().Find(pointer))
        {
            const bool host = found->gpu < 0;
            const auto& visible = TheSettings().visible;
            const auto seen = std::find(visible.begin(), visible.end(), found->gpu);
            attributes->type = host             ? cudaMemoryTypeHost
                               : found->managed ? cudaMemoryTypeManaged
                                                : cudaMemoryTypeDevice;
            attributes->device = host ? CurrentOrdinal() : static_cast<int>(seen - visible.begin());
            attributes->devicePointer = address;
            attributes->hostPointer = host || found->managed ? address : nullptr;
        }
        else
        {
            attributes->hostPointer = address;
        }
        return cudaSuccess;
    }

    // Hints: where managed memory should be, which is one place here. (What they take differs from
    // version to version; nothing of it is looked at.)
    cudaError_t cudaMemAdvise()
    {
        return cudaSuccess;
    }

    cudaError_t cudaMemPrefetchAsync()
    {
        return cudaSuccess;
    }

    // ---- copies

    cudaError_t cudaMemcpy(void* to, const void* from, std::size_t count, cudaMemcpyKind kind)
    {
        return Result(CopyOn(nullptr, {to, count, from, count, count}, kind, true));
    }

    cudaError_t cudaMemcpyAsync(void* to,
                                const void* from,
                                std::size_t count,
                                cudaMemcpyKind kind,
                                cudaStream_t stream)
    {
        return Result(CopyOn(stream, {to, count, from, count, count}, kind, false));
    }

    cudaError_t cudaMemcpy2D(void* to,
                             std::size_t toPitch,
                             const void* from,
                             std::size_t fromPitch,
                             std::size_t width,
                             std::size_t rows,
                             cudaMemcpyKind kind)
    {
        return Result(CopyOn(nullptr, {to, toPitch, from, fromPitch, width, rows}, kind, true));
    }

    cudaError_t cudaMemcpy2DAsync(void* to,
                                  std::size_t toPitch,
                                  const void* from,
                                  std::size_t fromPitch,
                                  std::size_t width,
                                  std::size_t rows,
                                  cudaMemcpyKind kind,
                                  cudaStream_t stream)
    {
        return Result(CopyOn(stream, {to, toPitch, from, fromPitch, width, rows}, kind, false));
    }

    cudaError_t cudaMemcpyPeer(void* to, int on, const void* from, int of, std::size_t count)
    {
        if (!IsGpu(on) || !IsGpu(of))
        {
            return Result(cudaErrorInvalidDevice);
        }
        return Result(CopyOn(nullptr, {to, count, from, count, count}, cudaMemcpyDefault, true));
    }

    cudaError_t cudaMemcpyPeerAsync(void* to,
                                    int on,
                                    const void* from,
                                    int of,
                                    std::size_t count,
                                    cudaStream_t stream)
    {
        if (!IsGpu(on) || !IsGpu(of))
        {
            return Result(cudaErrorInvalidDevice);
        }
        return Result(CopyOn(stream, {to, count, from, count, count}, cudaMemcpyDefault, false));
    }

    cudaError_t cudaMemset(void* at, int value, std::size_t count)
    {
        return Result(FillOn(nullptr, at, count, static_cast<uint32_t>(value), 1, count, 1));
    }

    cudaError_t cudaMemsetAsync(void* at, int value, std::size_t count, cudaStream_t stream)
    {
        return Result(FillOn(stream, at, count, static_cast<uint32_t>(value), 1, count, 1));
    }

    cudaError_t cudaMemset2D(void* at,
                             std::size_t pitch,
                             int value,
                             std::size_t width,
                             std::size_t rows)
    {
        return Result(FillOn(nullptr, at, pitch, static_cast<uint32_t>(value), 1, width, rows));
    }

    cudaError_t cudaMemset2DAsync(void* at,
                                  std::size_t pitch,
                                  int value,
                                  std::size_t width,
                                  std::size_t rows,
                                  cudaStream_t stream)
    {
        return Result(FillOn(stream, at, pitch, static_cast<uint32_t>(value), 1, width, rows));
    }

    // ---- errors

    cudaError_t cudaGetLastError()
    {
        return std::exchange(LastError(), cudaSuccess);
    }

    cudaError_t cudaPeekAtLastError()
    {
        return LastError();
    }

    cudaError_t cudaProfilerStart()
    {
        Call call;
        RecordMark("begin");
        return cudaSuccess;
    }

    cudaError_t cudaProfilerStop()
    {
        Call call;
        RecordMark("end");
        return cudaSuccess;
    }
}
