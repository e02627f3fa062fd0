/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CUDA's driver, for programs that run on simulated GPUs: names, values and signatures are those of
 * NVIDIA's CUDA Driver API documentation (version 12). Modules are names: what is in them is not
 * looked at.
 */
#ifndef CUDA_H
#define CUDA_H

#include <stddef.h>

#define CUDA_VERSION 12000

#ifdef __cplusplus
extern "C"
{
#endif

    typedef int CUdevice;
    typedef unsigned long long CUdeviceptr;
    typedef struct CUctx_st* CUcontext;
    typedef struct CUmod_st* CUmodule;
    typedef struct CUfunc_st* CUfunction;
    typedef struct CUstream_st* CUstream;
    typedef struct CUevent_st* CUevent;
    typedef void (*CUhostFn)(void* userData);

#ifndef DLTRAIN_CUDA_UUID
#define DLTRAIN_CUDA_UUID

    typedef struct CUuuid_st
    {
        char bytes[16];
    } CUuuid_st;
#endif
    typedef struct CUuuid_st CUuuid;

    typedef enum cudaError_enum
    {
        CUDA_SUCCESS = 0,
        CUDA_ERROR_INVALID_VALUE = 1,
        CUDA_ERROR_OUT_OF_MEMORY = 2,
        CUDA_ERROR_NOT_INITIALIZED = 3,
        CUDA_ERROR_NO_DEVICE = 100,
        CUDA_ERROR_INVALID_DEVICE = 101,
        CUDA_ERROR_INVALID_CONTEXT = 201,
        CUDA_ERROR_INVALID_HANDLE = 400,
        CUDA_ERROR_NOT_FOUND = 500,
        CUDA_ERROR_NOT_READY = 600,
        CUDA_ERROR_NOT_SUPPORTED = 801,
        CUDA_ERROR_UNKNOWN = 999
    } CUresult;

    /* The same numbers as the runtime's cudaDeviceAttr. */
    typedef enum CUdevice_attribute_enum
    {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
        CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    } CUdevice_attribute;

#define CU_STREAM_DEFAULT 0x0
#define CU_STREAM_NON_BLOCKING 0x1
#define CU_EVENT_DEFAULT 0x0
#define CU_EVENT_DISABLE_TIMING 0x2

/* As they grew, functions got names of their own. */
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuCtxCreate cuCtxCreate_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuEventDestroy cuEventDestroy_v2

    CUresult cuInit(unsigned int Flags);
    CUresult cuDriverGetVersion(int* driverVersion);
    CUresult cuGetErrorName(CUresult error, const char** pStr);
    CUresult cuGetErrorString(CUresult error, const char** pStr);

    CUresult cuDeviceGet(CUdevice* device, int ordinal);
    CUresult cuDeviceGetCount(int* count);
    CUresult cuDeviceGetName(char* name, int len, CUdevice dev);
    CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev);
    CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev);
    CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev);
    CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev);

    CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev);
    CUresult cuDevicePrimaryCtxRelease(CUdevice dev);
    CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev);
    CUresult cuCtxDestroy(CUcontext ctx);
    CUresult cuCtxGetCurrent(CUcontext* pctx);
    CUresult cuCtxSetCurrent(CUcontext ctx);
    CUresult cuCtxPushCurrent(CUcontext ctx);
    CUresult cuCtxPopCurrent(CUcontext* pctx);
    CUresult cuCtxGetDevice(CUdevice* device);
    CUresult cuCtxSynchronize(void);

    CUresult cuMemGetInfo(size_t* free, size_t* total);
    CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize);
    CUresult cuMemFree(CUdeviceptr dptr);
    CUresult cuMemAllocHost(void** pp, size_t bytesize);
    CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags);
    CUresult cuMemFreeHost(void* p);
    CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount);
    CUresult cuMemcpyDtoH(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount);
    CUresult cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount);
    CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice,
                               const void* srcHost,
                               size_t ByteCount,
                               CUstream hStream);
    CUresult cuMemcpyDtoHAsync(void* dstHost,
                               CUdeviceptr srcDevice,
                               size_t ByteCount,
                               CUstream hStream);
    CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice,
                               CUdeviceptr srcDevice,
                               size_t ByteCount,
                               CUstream hStream);
    CUresult cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N);
    CUresult cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N);
    CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream);
    CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream);

    CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags);
    CUresult cuStreamDestroy(CUstream hStream);
    CUresult cuStreamSynchronize(CUstream hStream);
    CUresult cuStreamQuery(CUstream hStream);
    CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags);
    CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags);
    CUresult cuEventDestroy(CUevent hEvent);
    CUresult cuEventRecord(CUevent hEvent, CUstream hStream);
    CUresult cuEventSynchronize(CUevent hEvent);
    CUresult cuEventQuery(CUevent hEvent);
    CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd);

    CUresult cuModuleLoad(CUmodule* module, const char* fname);
    CUresult cuModuleLoadData(CUmodule* module, const void* image);
    CUresult cuModuleUnload(CUmodule hmod);
    CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name);
    CUresult cuLaunchKernel(CUfunction f,
                            unsigned int gridDimX,
                            unsigned int gridDimY,
                            unsigned int gridDimZ,
                            unsigned int blockDimX,
                            unsigned int blockDimY,
                            unsigned int blockDimZ,
                            unsigned int sharedMemBytes,
                            CUstream hStream,
                            void** kernelParams,
                            void** extra);
    CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData);

#ifdef __cplusplus
}
#endif
#endif /* CUDA_H */
