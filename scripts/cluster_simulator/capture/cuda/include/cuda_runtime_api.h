/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CUDA's runtime, for programs that run on simulated GPUs: names, values and signatures are those
 * of NVIDIA's CUDA Runtime API documentation (version 12), so that a program that is compiled
 * against this runs with the real library, too. What is not here is not simulated.
 */
#ifndef CUDA_RUNTIME_API_H
#define CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 12000
#define CUDARTAPI
#ifdef __cplusplus
#define DLTRAIN_CUDA_DEFAULT(value) = value
extern "C"
{
#else
#define DLTRAIN_CUDA_DEFAULT(value)
#endif

    typedef struct CUstream_st* cudaStream_t;
    typedef struct CUevent_st* cudaEvent_t;
    typedef struct CUgraph_st* cudaGraph_t;
    typedef struct CUgraphExec_st* cudaGraphExec_t;
    typedef struct CUgraphNode_st* cudaGraphNode_t;
    typedef struct CUfunc_st* cudaFunction_t;
    typedef struct CUkern_st* cudaKernel_t;
    typedef struct CUmemPoolHandle_st* cudaMemPool_t;

#ifndef __CUDACC__
#define __host__
#define __device__
#define __global__

    struct uint3
    {
        unsigned int x, y, z;
    };

    struct dim3
    {
        unsigned int x, y, z;
#ifdef __cplusplus
        constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
            : x(x_),
              y(y_),
              z(z_)
        {
        }
#endif
    };
#ifndef __cplusplus
    typedef struct uint3 uint3;
    typedef struct dim3 dim3;
#endif
#endif

    typedef enum cudaError
    {
        cudaSuccess = 0,
        cudaErrorInvalidValue = 1,
        cudaErrorMemoryAllocation = 2,
        cudaErrorInitializationError = 3,
        cudaErrorInvalidConfiguration = 9,
        cudaErrorInvalidPitchValue = 12,
        cudaErrorInvalidSymbol = 13,
        cudaErrorInvalidDevicePointer = 17,
        cudaErrorInvalidMemcpyDirection = 21,
        cudaErrorInsufficientDriver = 35,
        cudaErrorMissingConfiguration = 52,
        cudaErrorInvalidDeviceFunction = 98,
        cudaErrorNoDevice = 100,
        cudaErrorInvalidDevice = 101,
        cudaErrorInvalidResourceHandle = 400,
        cudaErrorSymbolNotFound = 500,
        cudaErrorNotReady = 600,
        cudaErrorIllegalAddress = 700,
        cudaErrorUnsupportedLimit = 215,
        cudaErrorPeerAccessAlreadyEnabled = 704,
        cudaErrorPeerAccessNotEnabled = 705,
        cudaErrorHostMemoryAlreadyRegistered = 712,
        cudaErrorHostMemoryNotRegistered = 713,
        cudaErrorLaunchFailure = 719,
        cudaErrorNotSupported = 801,
        cudaErrorStreamCaptureUnsupported = 900,
        cudaErrorStreamCaptureInvalidated = 901,
        cudaErrorStreamCaptureUnmatched = 903,
        cudaErrorStreamCaptureImplicit = 906,
        cudaErrorUnknown = 999
    } cudaError_t;

    enum cudaMemcpyKind
    {
        cudaMemcpyHostToHost = 0,
        cudaMemcpyHostToDevice = 1,
        cudaMemcpyDeviceToHost = 2,
        cudaMemcpyDeviceToDevice = 3,
        cudaMemcpyDefault = 4
    };

    enum cudaMemoryType
    {
        cudaMemoryTypeUnregistered = 0,
        cudaMemoryTypeHost = 1,
        cudaMemoryTypeDevice = 2,
        cudaMemoryTypeManaged = 3
    };

    enum cudaStreamCaptureMode
    {
        cudaStreamCaptureModeGlobal = 0,
        cudaStreamCaptureModeThreadLocal = 1,
        cudaStreamCaptureModeRelaxed = 2
    };

    enum cudaStreamCaptureStatus
    {
        cudaStreamCaptureStatusNone = 0,
        cudaStreamCaptureStatusActive = 1,
        cudaStreamCaptureStatusInvalidated = 2
    };

    enum cudaLimit
    {
        cudaLimitStackSize = 0,
        cudaLimitPrintfFifoSize = 1,
        cudaLimitMallocHeapSize = 2
    };

    enum cudaFuncCache
    {
        cudaFuncCachePreferNone = 0,
        cudaFuncCachePreferShared = 1,
        cudaFuncCachePreferL1 = 2,
        cudaFuncCachePreferEqual = 3
    };

    enum cudaFuncAttribute
    {
        cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
        cudaFuncAttributePreferredSharedMemoryCarveout = 9
    };

    enum cudaDeviceAttr
    {
        cudaDevAttrMaxThreadsPerBlock = 1,
        cudaDevAttrMaxBlockDimX = 2,
        cudaDevAttrMaxBlockDimY = 3,
        cudaDevAttrMaxBlockDimZ = 4,
        cudaDevAttrMaxGridDimX = 5,
        cudaDevAttrMaxGridDimY = 6,
        cudaDevAttrMaxGridDimZ = 7,
        cudaDevAttrMaxSharedMemoryPerBlock = 8,
        cudaDevAttrWarpSize = 10,
        cudaDevAttrMultiProcessorCount = 16,
        cudaDevAttrIntegrated = 18,
        cudaDevAttrCanMapHostMemory = 19,
        cudaDevAttrConcurrentKernels = 31,
        cudaDevAttrPciBusId = 33,
        cudaDevAttrPciDeviceId = 34,
        cudaDevAttrMaxThreadsPerMultiProcessor = 39,
        cudaDevAttrAsyncEngineCount = 40,
        cudaDevAttrUnifiedAddressing = 41,
        cudaDevAttrPciDomainId = 50,
        cudaDevAttrComputeCapabilityMajor = 75,
        cudaDevAttrComputeCapabilityMinor = 76,
        cudaDevAttrStreamPrioritiesSupported = 78,
        cudaDevAttrManagedMemory = 83,
        cudaDevAttrConcurrentManagedAccess = 89,
        cudaDevAttrCooperativeLaunch = 95,
        cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
        cudaDevAttrMemoryPoolsSupported = 115
    };

#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventWaitDefault 0x00
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost 0x08

#ifndef DLTRAIN_CUDA_UUID
#define DLTRAIN_CUDA_UUID

    typedef struct CUuuid_st
    {
        char bytes[16];
    } CUuuid_st;
#endif
    typedef struct CUuuid_st cudaUUID_t;

    struct cudaDeviceProp
    {
        char name[256];
        cudaUUID_t uuid;
        char luid[8];
        unsigned int luidDeviceNodeMask;
        size_t totalGlobalMem;
        size_t sharedMemPerBlock;
        int regsPerBlock;
        int warpSize;
        size_t memPitch;
        int maxThreadsPerBlock;
        int maxThreadsDim[3];
        int maxGridSize[3];
        int clockRate;
        size_t totalConstMem;
        int major;
        int minor;
        size_t textureAlignment;
        size_t texturePitchAlignment;
        int deviceOverlap;
        int multiProcessorCount;
        int kernelExecTimeoutEnabled;
        int integrated;
        int canMapHostMemory;
        int computeMode;
        int maxTexture1D;
        int maxTexture1DMipmap;
        int maxTexture1DLinear;
        int maxTexture2D[2];
        int maxTexture2DMipmap[2];
        int maxTexture2DLinear[3];
        int maxTexture2DGather[2];
        int maxTexture3D[3];
        int maxTexture3DAlt[3];
        int maxTextureCubemap;
        int maxTexture1DLayered[2];
        int maxTexture2DLayered[3];
        int maxTextureCubemapLayered[2];
        int maxSurface1D;
        int maxSurface2D[2];
        int maxSurface3D[3];
        int maxSurface1DLayered[2];
        int maxSurface2DLayered[3];
        int maxSurfaceCubemap;
        int maxSurfaceCubemapLayered[2];
        size_t surfaceAlignment;
        int concurrentKernels;
        int ECCEnabled;
        int pciBusID;
        int pciDeviceID;
        int pciDomainID;
        int tccDriver;
        int asyncEngineCount;
        int unifiedAddressing;
        int memoryClockRate;
        int memoryBusWidth;
        int l2CacheSize;
        int persistingL2CacheMaxSize;
        int maxThreadsPerMultiProcessor;
        int streamPrioritiesSupported;
        int globalL1CacheSupported;
        int localL1CacheSupported;
        size_t sharedMemPerMultiprocessor;
        int regsPerMultiprocessor;
        int managedMemory;
        int isMultiGpuBoard;
        int multiGpuBoardGroupID;
        int hostNativeAtomicSupported;
        int singleToDoublePrecisionPerfRatio;
        int pageableMemoryAccess;
        int concurrentManagedAccess;
        int computePreemptionSupported;
        int canUseHostPointerForRegisteredMem;
        int cooperativeLaunch;
        int cooperativeMultiDeviceLaunch;
        size_t sharedMemPerBlockOptin;
        int pageableMemoryAccessUsesHostPageTables;
        int directManagedMemAccessFromHost;
        int maxBlocksPerMultiProcessor;
        int accessPolicyMaxWindowSize;
        size_t reservedSharedMemPerBlock;
        int hostRegisterSupported;
        int sparseCudaArraySupported;
        int hostRegisterReadOnlySupported;
        int timelineSemaphoreInteropSupported;
        int memoryPoolsSupported;
        int gpuDirectRDMASupported;
        unsigned int gpuDirectRDMAFlushWritesOptions;
        int gpuDirectRDMAWritesOrdering;
        unsigned int memoryPoolSupportedHandleTypes;
        int deferredMappingCudaArraySupported;
        int ipcEventSupported;
        int clusterLaunch;
        int unifiedFunctionPointers;
        int reserved2[2];
        int reserved[61];
    };

    struct cudaPointerAttributes
    {
        enum cudaMemoryType type;
        int device;
        void* devicePointer;
        void* hostPointer;
    };

    struct cudaFuncAttributes
    {
        size_t sharedSizeBytes;
        size_t constSizeBytes;
        size_t localSizeBytes;
        int maxThreadsPerBlock;
        int numRegs;
        int ptxVersion;
        int binaryVersion;
        int cacheModeCA;
        int maxDynamicSharedSizeBytes;
        int preferredShmemCarveout;
    };

    typedef struct cudaLaunchConfig_st
    {
        dim3 gridDim;
        dim3 blockDim;
        size_t dynamicSmemBytes;
        cudaStream_t stream;
        struct cudaLaunchAttribute_st* attrs;
        unsigned int numAttrs;
    } cudaLaunchConfig_t;

    typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* userData);
    typedef void (*cudaHostFn_t)(void* userData);

/* Devices. The structure grew with version 12: its function has a name of its own. */
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
    cudaError_t cudaGetDeviceCount(int* count);
    cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device);
    cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device);
    cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device);
    cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId);
    cudaError_t cudaSetDevice(int device);
    cudaError_t cudaGetDevice(int* device);
    cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
    cudaError_t cudaSetDeviceFlags(unsigned int flags);
    cudaError_t cudaGetDeviceFlags(unsigned int* flags);
    cudaError_t cudaDeviceSynchronize(void);
    cudaError_t cudaDeviceReset(void);
    cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
    cudaError_t cudaDeviceGetLimit(size_t* pValue, enum cudaLimit limit);
    cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig);
    cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority);
    cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice);
    cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
    cudaError_t cudaDeviceDisablePeerAccess(int peerDevice);
    cudaError_t cudaDriverGetVersion(int* driverVersion);
    cudaError_t cudaRuntimeGetVersion(int* runtimeVersion);

    /* Errors */
    cudaError_t cudaGetLastError(void);
    cudaError_t cudaPeekAtLastError(void);
    const char* cudaGetErrorName(cudaError_t error);
    const char* cudaGetErrorString(cudaError_t error);

    /* Memory */
    cudaError_t cudaMalloc(void** devPtr, size_t size);
    cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height);
    cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream);
    cudaError_t cudaMallocManaged(void** devPtr,
                                  size_t size,
                                  unsigned int flags DLTRAIN_CUDA_DEFAULT(cudaMemAttachGlobal));
    cudaError_t cudaMallocHost(void** ptr, size_t size);
    cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags);
    cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags);
    cudaError_t cudaHostUnregister(void* ptr);
    cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags);
    cudaError_t cudaFree(void* devPtr);
    cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream);
    cudaError_t cudaFreeHost(void* ptr);
    cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
    cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr);
    cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind);
    cudaError_t cudaMemcpyAsync(void* dst,
                                const void* src,
                                size_t count,
                                enum cudaMemcpyKind kind,
                                cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaMemcpy2D(void* dst,
                             size_t dpitch,
                             const void* src,
                             size_t spitch,
                             size_t width,
                             size_t height,
                             enum cudaMemcpyKind kind);
    cudaError_t cudaMemcpy2DAsync(void* dst,
                                  size_t dpitch,
                                  const void* src,
                                  size_t spitch,
                                  size_t width,
                                  size_t height,
                                  enum cudaMemcpyKind kind,
                                  cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaMemcpyPeer(void* dst,
                               int dstDevice,
                               const void* src,
                               int srcDevice,
                               size_t count);
    cudaError_t cudaMemcpyPeerAsync(void* dst,
                                    int dstDevice,
                                    const void* src,
                                    int srcDevice,
                                    size_t count,
                                    cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaMemcpyToSymbol(const void* symbol,
                                   const void* src,
                                   size_t count,
                                   size_t offset DLTRAIN_CUDA_DEFAULT(0),
                                   enum cudaMemcpyKind kind
                                       DLTRAIN_CUDA_DEFAULT(cudaMemcpyHostToDevice));
    cudaError_t cudaMemcpyFromSymbol(void* dst,
                                     const void* symbol,
                                     size_t count,
                                     size_t offset DLTRAIN_CUDA_DEFAULT(0),
                                     enum cudaMemcpyKind kind
                                         DLTRAIN_CUDA_DEFAULT(cudaMemcpyDeviceToHost));
    cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol);
    cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol);
    cudaError_t cudaMemset(void* devPtr, int value, size_t count);
    cudaError_t cudaMemsetAsync(void* devPtr,
                                int value,
                                size_t count,
                                cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height);
    cudaError_t cudaMemset2DAsync(void* devPtr,
                                  size_t pitch,
                                  int value,
                                  size_t width,
                                  size_t height,
                                  cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));

    /* Streams */
    cudaError_t cudaStreamCreate(cudaStream_t* pStream);
    cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags);
    cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream,
                                             unsigned int flags,
                                             int priority);
    cudaError_t cudaStreamDestroy(cudaStream_t stream);
    cudaError_t cudaStreamSynchronize(cudaStream_t stream);
    cudaError_t cudaStreamQuery(cudaStream_t stream);
    cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                    cudaEvent_t event,
                                    unsigned int flags DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags);
    cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority);
    cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                      cudaStreamCallback_t callback,
                                      void* userData,
                                      unsigned int flags);
    cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData);

    /* Events */
    cudaError_t cudaEventCreate(cudaEvent_t* event);
    cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
    cudaError_t cudaEventDestroy(cudaEvent_t event);
    cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                         cudaStream_t stream DLTRAIN_CUDA_DEFAULT(0),
                                         unsigned int flags DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaEventSynchronize(cudaEvent_t event);
    cudaError_t cudaEventQuery(cudaEvent_t event);
    cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end);

    /* Graphs: what a stream was given while it was captured. */
    cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
    cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph);
    cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                      enum cudaStreamCaptureStatus* pCaptureStatus);
    cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);
    cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec,
                                     cudaGraph_t graph,
                                     unsigned long long flags DLTRAIN_CUDA_DEFAULT(0));
    cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
    cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream);
    cudaError_t cudaGraphDestroy(cudaGraph_t graph);
    cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec);

    /* Kernels */
    cudaError_t cudaLaunchKernel(const void* func,
                                 dim3 gridDim,
                                 dim3 blockDim,
                                 void** args,
                                 size_t sharedMem,
                                 cudaStream_t stream);
    cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                    const void* func,
                                    void** args);
    cudaError_t cudaLaunchCooperativeKernel(const void* func,
                                            dim3 gridDim,
                                            dim3 blockDim,
                                            void** args,
                                            size_t sharedMem,
                                            cudaStream_t stream);
    cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attr, const void* func);
    cudaError_t cudaFuncSetAttribute(const void* func, enum cudaFuncAttribute attr, int value);
    cudaError_t cudaFuncSetCacheConfig(const void* func, enum cudaFuncCache cacheConfig);
    cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks,
                                                              const void* func,
                                                              int blockSize,
                                                              size_t dynamicSMemSize);

    cudaError_t cudaProfilerStart(void);
    cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif
#endif /* CUDA_RUNTIME_API_H */
