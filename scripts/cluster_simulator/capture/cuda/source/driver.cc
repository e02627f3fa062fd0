/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The driver's interface: what the runtime does, by other names. A context is its GPU.
 */
#include "../include/cuda.h"
#include "api.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

using namespace gpus;

namespace
{

/// The runtime's numbers are the driver's.
CUresult
As(cudaError_t error)
{
    cudaGetLastError();
    return static_cast<CUresult>(error);
}

/// GPU 0's context is 1: 0 is none.
CUcontext
ContextOf(int ordinal)
{
    return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(ordinal) + 1);
}

struct Named
{
    CUresult error;
    const char* name;
};

/// Of what this driver tells; null: no error has this number.
const Named*
NameOf(CUresult error)
{
#define NAMED(name)                                                                                \
    {                                                                                              \
        name, #name                                                                                \
    }
    static constexpr Named kNames[] = {NAMED(CUDA_SUCCESS),
                                       NAMED(CUDA_ERROR_INVALID_VALUE),
                                       NAMED(CUDA_ERROR_OUT_OF_MEMORY),
                                       NAMED(CUDA_ERROR_NOT_INITIALIZED),
                                       NAMED(CUDA_ERROR_NO_DEVICE),
                                       NAMED(CUDA_ERROR_INVALID_DEVICE),
                                       NAMED(CUDA_ERROR_INVALID_CONTEXT),
                                       NAMED(CUDA_ERROR_INVALID_HANDLE),
                                       NAMED(CUDA_ERROR_NOT_FOUND),
                                       NAMED(CUDA_ERROR_NOT_READY),
                                       NAMED(CUDA_ERROR_NOT_SUPPORTED),
                                       NAMED(CUDA_ERROR_UNKNOWN)};
#undef NAMED
    for (const Named& one : kNames)
    {
        if (one.error == error)
        {
            return &one;
        }
    }
    return nullptr;
}

bool
IsContext(CUcontext context)
{
    const auto number = reinterpret_cast<uintptr_t>(context);
    return number > 0 && number <= TheSettings().visible.size();
}

thread_local std::vector<CUcontext> t_contexts;

CUresult
Use(CUcontext context)
{
    if (!context)
    {
        return CUDA_SUCCESS;
    }
    return As(cudaSetDevice(static_cast<int>(reinterpret_cast<uintptr_t>(context) - 1)));
}

void*
Pointer(CUdeviceptr address)
{
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

} // namespace

extern "C"
{
    CUresult cuInit(unsigned)
    {
        int count = 0;
        return As(cudaGetDeviceCount(&count));
    }

    CUresult cuDriverGetVersion(int* version)
    {
        return As(cudaDriverGetVersion(version));
    }

    CUresult cuGetErrorName(CUresult error, const char** text)
    {
        const Named* found = NameOf(error);
        if (text)
        {
            *text = found ? found->name : nullptr;
        }
        return text && found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    CUresult cuGetErrorString(CUresult error, const char** text)
    {
        const Named* found = NameOf(error);
        if (text)
        {
            *text = !found ? nullptr
                    : error == CUDA_ERROR_INVALID_CONTEXT
                        ? "invalid device context"
                        : cudaGetErrorString(static_cast<cudaError_t>(error));
        }
        return text && found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    // ---- devices and contexts

    CUresult cuDeviceGet(CUdevice* device, int ordinal)
    {
        if (!device || !IsGpu(ordinal))
        {
            return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        *device = ordinal;
        return CUDA_SUCCESS;
    }

    CUresult cuDeviceGetCount(int* count)
    {
        cudaGetDeviceCount(count);
        cudaGetLastError();
        return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    CUresult cuDeviceGetName(char* name, int length, CUdevice device)
    {
        if (!name || !IsGpu(device) || length < 1)
        {
            return name && length > 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        std::snprintf(name, static_cast<std::size_t>(length), "%s", TheSettings().name.c_str());
        return CUDA_SUCCESS;
    }

    CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device)
    {
        if (!uuid || !IsGpu(device))
        {
            return uuid ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        char text[16] = {};
        std::snprintf(text,
                      sizeof(text),
                      "dltrain-%d-%d",
                      TheSettings().server,
                      TheSettings().visible[static_cast<std::size_t>(device)]);
        std::memcpy(uuid->bytes, text, sizeof(text));
        return CUDA_SUCCESS;
    }

    CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device)
    {
        if (!bytes || !IsGpu(device))
        {
            return bytes ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        *bytes = TheSettings().bytes;
        return CUDA_SUCCESS;
    }

    CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device)
    {
        return As(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
    }

    CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device)
    {
        return As(cudaDeviceGetPCIBusId(id, length, device));
    }

    CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device)
    {
        if (!context || !IsGpu(device))
        {
            return context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        *context = ContextOf(device);
        return CUDA_SUCCESS;
    }

    CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
    {
        return IsGpu(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    }

    CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device)
    {
        if (!context || !IsGpu(device))
        {
            return context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
        }
        *context = ContextOf(device);
        t_contexts.push_back(*context);
        return Use(*context);
    }

    CUresult cuCtxDestroy_v2(CUcontext context)
    {
        if (!t_contexts.empty() && t_contexts.back() == context)
        {
            t_contexts.pop_back();
        }
        return IsContext(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    }

    CUresult cuCtxGetCurrent(CUcontext* context)
    {
        if (!context)
        {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *context = t_contexts.empty() ? nullptr : t_contexts.back();
        return CUDA_SUCCESS;
    }

    CUresult cuCtxSetCurrent(CUcontext context)
    {
        if (context && !IsContext(context))
        {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (!t_contexts.empty())
        {
            t_contexts.pop_back();
        }
        if (context)
        {
            t_contexts.push_back(context);
        }
        return Use(context);
    }

    CUresult cuCtxPushCurrent_v2(CUcontext context)
    {
        if (!IsContext(context))
        {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        t_contexts.push_back(context);
        return Use(context);
    }

    CUresult cuCtxPopCurrent_v2(CUcontext* context)
    {
        if (t_contexts.empty())
        {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (context)
        {
            *context = t_contexts.back();
        }
        t_contexts.pop_back();
        return Use(t_contexts.empty() ? nullptr : t_contexts.back());
    }

    CUresult cuCtxGetDevice(CUdevice* device)
    {
        return As(cudaGetDevice(device));
    }

    CUresult cuCtxSynchronize()
    {
        return As(cudaDeviceSynchronize());
    }

    // ---- memory

    CUresult cuMemGetInfo_v2(std::size_t* available, std::size_t* total)
    {
        return As(cudaMemGetInfo(available, total));
    }

    CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t size)
    {
        if (!pointer)
        {
            return CUDA_ERROR_INVALID_VALUE;
        }
        void* made = nullptr;
        const CUresult result = size == 0 ? CUDA_ERROR_INVALID_VALUE : As(cudaMalloc(&made, size));
        *pointer = reinterpret_cast<uintptr_t>(made);
        return result;
    }

    CUresult cuMemFree_v2(CUdeviceptr pointer)
    {
        return As(cudaFree(Pointer(pointer)));
    }

    CUresult cuMemAllocHost_v2(void** pointer, std::size_t size)
    {
        return As(cudaMallocHost(pointer, size));
    }

    CUresult cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags)
    {
        return As(cudaHostAlloc(pointer, size, flags));
    }

    CUresult cuMemFreeHost(void* pointer)
    {
        return As(cudaFreeHost(pointer));
    }

    CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t count)
    {
        return As(cudaMemcpy(Pointer(to), from, count, cudaMemcpyHostToDevice));
    }

    CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t count)
    {
        return As(cudaMemcpy(to, Pointer(from), count, cudaMemcpyDeviceToHost));
    }

    CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t count)
    {
        return As(cudaMemcpy(Pointer(to), Pointer(from), count, cudaMemcpyDeviceToDevice));
    }

    CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t count, CUstream on)
    {
        return As(cudaMemcpyAsync(Pointer(to), from, count, cudaMemcpyHostToDevice, on));
    }

    CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t count, CUstream on)
    {
        return As(cudaMemcpyAsync(to, Pointer(from), count, cudaMemcpyDeviceToHost, on));
    }

    CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t count, CUstream on)
    {
        return As(cudaMemcpyAsync(Pointer(to), Pointer(from), count, cudaMemcpyDeviceToDevice, on));
    }

    CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, std::size_t count, CUstream on)
    {
        return As(FillOn(on, Pointer(at), count, value, 1, count, 1));
    }

    CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, std::size_t count, CUstream on)
    {
        return As(FillOn(on, Pointer(at), 4 * count, value, 4, 4 * count, 1));
    }

    CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char value, std::size_t count)
    {
        return cuMemsetD8Async(at, value, count, nullptr);
    }

    CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, std::size_t count)
    {
        return cuMemsetD32Async(at, value, count, nullptr);
    }

    // ---- streams and events

    CUresult cuStreamCreate(CUstream* stream, unsigned flags)
    {
        return As(cudaStreamCreateWithFlags(stream, flags));
    }

    CUresult cuStreamDestroy_v2(CUstream stream)
    {
        return As(cudaStreamDestroy(stream));
    }

    CUresult cuStreamSynchronize(CUstream stream)
    {
        return As(cudaStreamSynchronize(stream));
    }

    CUresult cuStreamQuery(CUstream stream)
    {
        return As(cudaStreamQuery(stream));
    }

    CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
    {
        return As(cudaStreamWaitEvent(stream, event, flags));
    }

    CUresult cuEventCreate(CUevent* event, unsigned flags)
    {
        return As(cudaEventCreateWithFlags(event, flags));
    }

    CUresult cuEventDestroy_v2(CUevent event)
    {
        return As(cudaEventDestroy(event));
    }

    CUresult cuEventRecord(CUevent event, CUstream stream)
    {
        return As(cudaEventRecord(event, stream));
    }

    CUresult cuEventSynchronize(CUevent event)
    {
        return As(cudaEventSynchronize(event));
    }

    CUresult cuEventQuery(CUevent event)
    {
        return As(cudaEventQuery(event));
    }

    CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end)
    {
        return As(cudaEventElapsedTime(milliseconds, start, end));
    }

    // ---- modules: a function is its name

    CUresult cuModuleLoad(CUmodule* module, const char* file)
    {
        static int any = 0;
        if (!module || !file)
        {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *module = reinterpret_cast<CUmodule>(&any);
        return CUDA_SUCCESS;
    }

    CUresult cuModuleLoadData(CUmodule* module, const void* image)
    {
        return cuModuleLoad(module, static_cast<const char*>(image));
    }

    CUresult cuModuleUnload(CUmodule)
    {
        return CUDA_SUCCESS;
    }

    CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name)
    {
        if (!function || !name)
        {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *function = static_cast<CUfunction>(const_cast<void*>(RegisterKernel(name)));
        return CUDA_SUCCESS;
    }

    CUresult cuLaunchKernel(CUfunction function,
                            unsigned gridX,
                            unsigned gridY,
                            unsigned gridZ,
                            unsigned blockX,
                            unsigned blockY,
                            unsigned blockZ,
                            unsigned,
                            CUstream stream,
                            void**,
                            void**)
    {
        return As(Launch(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, stream));
    }

    CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data)
    {
        return As(cudaLaunchHostFunc(stream, function, data));
    }
}
