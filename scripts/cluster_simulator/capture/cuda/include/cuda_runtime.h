/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The runtime's interface, with what it adds in C++: pointers of any type.
 */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
template <class T>
cudaError_t
cudaMalloc(T** devPtr, size_t size)
{
    return cudaMalloc(reinterpret_cast<void**>(devPtr), size);
}

template <class T>
cudaError_t
cudaMallocAsync(T** devPtr, size_t size, cudaStream_t stream)
{
    return cudaMallocAsync(reinterpret_cast<void**>(devPtr), size, stream);
}

template <class T>
cudaError_t
cudaMallocHost(T** ptr, size_t size, unsigned int flags = 0)
{
    return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}

template <class T>
cudaError_t
cudaHostAlloc(T** ptr, size_t size, unsigned int flags)
{
    return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}

template <class T>
cudaError_t
cudaMallocManaged(T** devPtr, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged(reinterpret_cast<void**>(devPtr), size, flags);
}

template <class T>
cudaError_t
cudaLaunchKernel(T* func,
                 dim3 gridDim,
                 dim3 blockDim,
                 void** args,
                 size_t sharedMem = 0,
                 cudaStream_t stream = nullptr)
{
    return cudaLaunchKernel(reinterpret_cast<const void*>(func),
                            gridDim,
                            blockDim,
                            args,
                            sharedMem,
                            stream);
}

template <class T>
cudaError_t
cudaFuncSetAttribute(T* func, cudaFuncAttribute attr, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(func), attr, value);
}

template <class T>
cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes* attr, T* func)
{
    return cudaFuncGetAttributes(attr, reinterpret_cast<const void*>(func));
}

template <class T>
cudaError_t
cudaMemcpyToSymbol(const T& symbol,
                   const void* src,
                   size_t count,
                   size_t offset = 0,
                   cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol(static_cast<const void*>(&symbol), src, count, offset, kind);
}

template <class T>
cudaError_t
cudaMemcpyFromSymbol(void* dst,
                     const T& symbol,
                     size_t count,
                     size_t offset = 0,
                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(dst, static_cast<const void*>(&symbol), count, offset, kind);
}
#endif
#endif /* CUDA_RUNTIME_H */
