// SPDX-License-Identifier: GPL-2.0-only
//
// Arguments that no program means: each call returns the error that its documentation names (CUDA
// Runtime API, NCCL's API), and the program goes on. Two GPUs.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <string>
#include <thread>

#define CHECK(condition)                                                                           \
    do                                                                                             \
    {                                                                                              \
        if (!(condition))                                                                          \
        {                                                                                          \
            std::printf("line %d: %s\n", __LINE__, #condition);                                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)
// The error is what cudaGetLastError tells, once.
#define FAILS(call, error)                                                                         \
    do                                                                                             \
    {                                                                                              \
        CHECK((call) == (error));                                                                  \
        CHECK(cudaGetLastError() == (error));                                                      \
    } while (0)
#define CUDA(call) CHECK((call) == cudaSuccess)
#define NCCL(call) CHECK((call) == ncclSuccess)

namespace
{

constexpr std::size_t kHuge = static_cast<std::size_t>(-1);

void
Devices()
{
    int value = 7;
    for (const int attribute : {-1, 0, 136, 148, 9999})
    {
        const auto asked = static_cast<cudaDeviceAttr>(attribute);
        FAILS(cudaDeviceGetAttribute(&value, asked, 0), cudaErrorInvalidValue);
        CHECK(value == 7);
    }
    CUDA(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(134), 0)); // hostNumaId
    FAILS(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    for (const int device : {-1, 2, 1 << 30})
    {
        FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device), cudaErrorInvalidDevice);
        FAILS(cudaSetDevice(device), cudaErrorInvalidDevice);
        cudaDeviceProp properties;
        FAILS(cudaGetDeviceProperties(&properties, device), cudaErrorInvalidDevice);
        FAILS(cudaDeviceEnablePeerAccess(device, 0), cudaErrorInvalidDevice);
        FAILS(cudaMemcpyPeer(nullptr, device, nullptr, 0, 1), cudaErrorInvalidDevice);
    }
    FAILS(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    FAILS(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    FAILS(cudaGetDeviceFlags(nullptr), cudaErrorInvalidValue);
    FAILS(cudaSetDeviceFlags(0x1000), cudaErrorInvalidValue);
    FAILS(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
    FAILS(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
    std::size_t limit = 0;
    FAILS(cudaDeviceGetLimit(nullptr, cudaLimitStackSize), cudaErrorInvalidValue);
    FAILS(cudaDeviceGetLimit(&limit, static_cast<cudaLimit>(99)), cudaErrorUnsupportedLimit);
    FAILS(cudaDeviceSetLimit(static_cast<cudaLimit>(-1), 1), cudaErrorUnsupportedLimit);
    CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    CHECK(limit == 4096);
    FAILS(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    CUDA(cudaDeviceDisablePeerAccess(1));
}

void
Memory()
{
    char* a = nullptr;
    char* pinned = nullptr;
    char own[256] = {};
    FAILS(cudaMalloc(static_cast<void**>(nullptr), 1), cudaErrorInvalidValue);
    FAILS(cudaMalloc(reinterpret_cast<void**>(&a), kHuge), cudaErrorMemoryAllocation);
    FAILS(cudaMallocManaged(reinterpret_cast<void**>(&a), 0, 1), cudaErrorInvalidValue);
    FAILS(cudaMallocManaged(reinterpret_cast<void**>(&a), 8, 9), cudaErrorInvalidValue);
    const auto none = reinterpret_cast<cudaStream_t>(own);
    FAILS(cudaMallocAsync(reinterpret_cast<void**>(&a), 8, none), cudaErrorInvalidResourceHandle);
    CUDA(cudaMalloc(reinterpret_cast<void**>(&a), 256));
    CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 256));
    // More than there is, also where a sum or a product of sizes has no room in 64 bits.
    for (const std::size_t count : {std::size_t{257}, kHuge, kHuge - 255})
    {
        FAILS(cudaMemcpy(a, pinned, count, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
        FAILS(cudaMemcpy(pinned, a + 1, count, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
        FAILS(cudaMemset(a + 1, 0, count), cudaErrorInvalidValue);
    }
    FAILS(cudaMemcpy(nullptr, a, 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(a, nullptr, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(a, own, 1, static_cast<cudaMemcpyKind>(-1)), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(a, own, 1, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy2D(a, 8, own, 8, 9, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    FAILS(cudaMemcpy2D(a, kHuge / 2, own, kHuge / 2, 8, 4, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpy2D(a, kHuge, own, kHuge, kHuge, kHuge, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemset2D(a, kHuge / 2, 0, 8, 4), cudaErrorInvalidValue);
    FAILS(cudaMemset2D(a, 8, 0, 16, 2), cudaErrorInvalidValue);
    FAILS(cudaMemcpyAsync(a, own, 1, cudaMemcpyHostToDevice, none), cudaErrorInvalidResourceHandle);
    // What is no more, or was allocated otherwise.
    FAILS(cudaFree(a + 8), cudaErrorInvalidValue);
    FAILS(cudaFree(pinned), cudaErrorInvalidValue);
    FAILS(cudaFreeHost(a), cudaErrorInvalidValue);
    FAILS(cudaFreeAsync(pinned, nullptr), cudaErrorInvalidValue);
    FAILS(cudaFreeAsync(a + 8, nullptr), cudaErrorInvalidValue);
    FAILS(cudaFreeAsync(a, none), cudaErrorInvalidResourceHandle);
    CUDA(cudaFree(a));
    FAILS(cudaFree(a), cudaErrorInvalidValue);
    FAILS(cudaMemset(a, 0, 1), cudaErrorInvalidValue);
    FAILS(cudaHostRegister(own, 256, 0x1000), cudaErrorInvalidValue);
    CUDA(cudaHostRegister(own, 256, 0));
    FAILS(cudaHostRegister(own, 256, 0), cudaErrorHostMemoryAlreadyRegistered);
    FAILS(cudaFreeHost(own), cudaErrorInvalidValue); // the program's own
    CUDA(cudaHostUnregister(own));
    FAILS(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    FAILS(cudaHostUnregister(pinned), cudaErrorInvalidValue);
    CUDA(cudaFreeHost(pinned));
    FAILS(cudaFreeHost(pinned), cudaErrorInvalidValue);
    FAILS(cudaPointerGetAttributes(nullptr, own), cudaErrorInvalidValue);
}

void
Streams()
{
    cudaEvent_t event = nullptr;
    cudaStream_t stream = nullptr;
    float ms = 0;
    FAILS(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    FAILS(cudaStreamCreateWithFlags(&stream, 77), cudaErrorInvalidValue);
    FAILS(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    FAILS(cudaEventCreateWithFlags(&event, 8), cudaErrorInvalidValue);
    FAILS(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaEventCreate(&event));
    FAILS(cudaEventElapsedTime(nullptr, event, event), cudaErrorInvalidValue);
    FAILS(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle); // not recorded
    CUDA(cudaEventDestroy(event));
    CUDA(cudaStreamDestroy(stream));
    for (const cudaEvent_t gone : {event, static_cast<cudaEvent_t>(nullptr)})
    {
        FAILS(cudaEventDestroy(gone), cudaErrorInvalidResourceHandle);
        FAILS(cudaEventRecord(gone, nullptr), cudaErrorInvalidResourceHandle);
        FAILS(cudaEventSynchronize(gone), cudaErrorInvalidResourceHandle);
        FAILS(cudaEventQuery(gone), cudaErrorInvalidResourceHandle);
        FAILS(cudaStreamWaitEvent(nullptr, gone, 0), cudaErrorInvalidResourceHandle);
        FAILS(cudaEventElapsedTime(&ms, gone, gone), cudaErrorInvalidResourceHandle);
    }
    FAILS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    FAILS(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
    const dim3 one(1);
    FAILS(cudaLaunchKernel(nullptr, one, one, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
    // Graphs: of a stream that is not captured, and twice.
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t run = nullptr;
    CUDA(cudaStreamCreate(&stream));
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnmatched);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaStreamEndCapture(stream, &graph));
    FAILS(cudaGraphInstantiate(nullptr, graph, 0), cudaErrorInvalidValue);
    CUDA(cudaGraphInstantiate(&run, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    FAILS(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    FAILS(cudaGraphInstantiate(&run, graph, 0), cudaErrorInvalidValue);
    CUDA(cudaGraphLaunch(run, stream));
    CUDA(cudaGraphExecDestroy(run));
    FAILS(cudaGraphLaunch(run, stream), cudaErrorInvalidValue);
    CHECK(std::strcmp(cudaGetErrorName(static_cast<cudaError_t>(12345)),
                      "unrecognized error code") == 0);
}

void
Driver()
{
    const char* text = "";
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr memory = 0;
    char name[8];
    std::size_t bytes = 0;
    const auto wrong = [](CUresult result) { CHECK(result == CUDA_ERROR_INVALID_VALUE); };
    wrong(cuDriverGetVersion(nullptr));
    wrong(cuGetErrorName(CUDA_SUCCESS, nullptr));
    wrong(cuGetErrorName(static_cast<CUresult>(12345), &text));
    CHECK(text == nullptr);
    CHECK(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text) == CUDA_SUCCESS);
    CHECK(std::strcmp(text, "CUDA_ERROR_INVALID_CONTEXT") == 0);
    CHECK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
    CHECK(std::strcmp(text, "invalid argument") == 0);
    wrong(cuDeviceGet(nullptr, 0));
    wrong(cuDeviceGetCount(nullptr));
    wrong(cuDeviceGetName(nullptr, 8, 0));
    wrong(cuDeviceGetName(name, -1, 0));
    wrong(cuDeviceTotalMem(nullptr, 0));
    wrong(cuDevicePrimaryCtxRetain(nullptr, 0));
    wrong(cuCtxCreate(nullptr, 0, 0));
    wrong(cuCtxGetCurrent(nullptr));
    wrong(cuMemAlloc(nullptr, 8));
    wrong(cuMemAlloc(&memory, 0));
    wrong(cuMemFree(12345));
    wrong(cuModuleLoad(&module, nullptr));
    wrong(cuModuleLoadData(nullptr, name));
    CHECK(cuModuleLoadData(&module, name) == CUDA_SUCCESS);
    wrong(cuModuleGetFunction(&function, module, nullptr));
    for (const int other : {-1, 2})
    {
        CHECK(cuDeviceGet(&device, other) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(cuDeviceGetName(name, 8, other) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(cuDeviceTotalMem(&bytes, other) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(cuDevicePrimaryCtxRetain(&context, other) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(cuCtxCreate(&context, 0, other) == CUDA_ERROR_INVALID_DEVICE);
    }
    const auto none = reinterpret_cast<CUcontext>(name);
    CHECK(cuCtxSetCurrent(none) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxPushCurrent(none) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxDestroy(none) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxPopCurrent(&context) == CUDA_ERROR_INVALID_CONTEXT);
}

void
Communicators()
{
    ncclComm_t comms[2] = {};
    const int wrong[] = {0, -1};
    CHECK(ncclCommInitAll(nullptr, 2, nullptr) == ncclInvalidArgument);
    CHECK(ncclCommInitAll(comms, 2, wrong) == ncclInvalidArgument);
    NCCL(ncclCommInitAll(comms, 2, nullptr));
    float* a = nullptr;
    CUDA(cudaMalloc(reinterpret_cast<void**>(&a), 1024));
    // (Nothing of a group in which a call fails is issued.)
    const auto refused = [](ncclResult_t result) {
        CHECK(result == ncclInvalidArgument);
        CHECK(ncclGetLastError(nullptr)[0] != 0);
    };
    const auto type = static_cast<ncclDataType_t>(99);
    for (const int op : {-1, 99})
    {
        const auto reduction = static_cast<ncclRedOp_t>(op);
        refused(ncclAllReduce(a, a, 1, ncclFloat, reduction, comms[0], nullptr));
        refused(ncclReduce(a, a, 1, ncclFloat, reduction, 0, comms[0], nullptr));
        refused(ncclReduceScatter(a, a, 1, ncclFloat, reduction, comms[0], nullptr));
    }
    refused(ncclAllReduce(a, a, 1, type, ncclSum, comms[0], nullptr));
    refused(ncclAllReduce(a, a, 1, ncclFloat, ncclSum, nullptr, nullptr));
    refused(ncclAllReduce(nullptr, a, 1, ncclFloat, ncclSum, comms[0], nullptr));
    refused(ncclAllReduce(a, nullptr, 1, ncclFloat, ncclSum, comms[0], nullptr));
    refused(ncclAllGather(a, nullptr, 1, ncclFloat, comms[0], nullptr));
    refused(ncclReduceScatter(nullptr, a, 1, ncclFloat, ncclSum, comms[0], nullptr));
    refused(ncclReduce(a, nullptr, 1, ncclFloat, ncclSum, 0, comms[0], nullptr));
    refused(ncclBroadcast(nullptr, a, 1, ncclFloat, 0, comms[0], nullptr));
    refused(ncclBroadcast(a, nullptr, 1, ncclFloat, 1, comms[0], nullptr));
    refused(ncclBroadcast(a, a, 1, ncclFloat, -1, comms[0], nullptr));
    refused(ncclSend(nullptr, 1, ncclFloat, 1, comms[0], nullptr));
    refused(ncclRecv(nullptr, 1, ncclFloat, 1, comms[0], nullptr));
    refused(ncclRecv(a, 1, ncclFloat, 2, comms[0], nullptr));
    refused(ncclCommSplit(comms[0], -7, 0, &comms[1], nullptr));
    refused(ncclCommSplit(comms[0], 0, 0, nullptr, nullptr));
    // Not root: these buffers are not looked at.
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; ++i)
    {
        CUDA(cudaSetDevice(i));
        float* mine = nullptr;
        CUDA(cudaMalloc(reinterpret_cast<void**>(&mine), 1024));
        NCCL(
            ncclReduce(mine, i == 0 ? mine : nullptr, 8, ncclFloat, ncclSum, 0, comms[i], nullptr));
        NCCL(ncclBroadcast(i == 1 ? mine : nullptr, mine, 8, ncclFloat, 1, comms[i], nullptr));
    }
    NCCL(ncclGroupEnd());
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.magic = 0;
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    refused(ncclCommInitRankConfig(&comms[0], 1, id, 0, &config));
    refused(ncclCommInitRank(&comms[0], 2, id, 2));
    refused(ncclCommInitRank(nullptr, 1, id, 0));
    std::memset(&id, 0, sizeof(id));
    refused(ncclCommInitRank(&comms[0], 1, id, 0));
}

/// Without waiting: one thread makes all communicators, one behind another, and asks until they are
/// there; until then nothing can be done with them.
void
Nonblocking()
{
    ncclComm_t comms[2] = {};
    ncclComm_t halves[2] = {};
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    float* buffers[2] = {};
    NCCL(ncclGetUniqueId(&id));
    for (int i = 0; i < 2; ++i)
    {
        CUDA(cudaSetDevice(i));
        CUDA(cudaMalloc(reinterpret_cast<void**>(&buffers[i]), 4096));
        CHECK(ncclCommInitRankConfig(&comms[i], 2, id, i, &config) == ncclInProgress);
        int count = 0;
        if (i == 0)
        {
            CHECK(ncclCommCount(comms[0], &count) == ncclInvalidArgument);
        }
    }
    const auto wait = [](ncclComm_t* of) {
        for (int i = 0; i < 2; ++i)
        {
            ncclResult_t state = ncclInProgress;
            while (state == ncclInProgress)
            {
                NCCL(ncclCommGetAsyncError(of[i], &state));
            }
            CHECK(state == ncclSuccess);
        }
    };
    wait(comms);
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; ++i)
    {
        NCCL(ncclCommSplit(comms[i], 0, -i, &halves[i], nullptr));
    }
    CHECK(ncclGroupEnd() == ncclInProgress); // as its parent
    wait(halves);
    int rank = -1;
    NCCL(ncclCommUserRank(halves[0], &rank));
    CHECK(rank == 1); // by its key
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; ++i)
    {
        NCCL(ncclAllReduce(buffers[i], buffers[i], 1024, ncclFloat, ncclSum, halves[i], nullptr));
    }
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2; ++i)
    {
        CUDA(cudaSetDevice(i));
        CUDA(cudaDeviceSynchronize());
        NCCL(ncclCommFinalize(comms[i]));
        NCCL(ncclCommDestroy(comms[i]));
        CHECK(ncclCommDestroy(comms[i]) == ncclInvalidArgument);
    }
}

} // namespace

int
main(int, char** words)
{
    const std::string part = words[1];
    part == "devices"         ? Devices()
    : part == "memory"        ? Memory()
    : part == "streams"       ? Streams()
    : part == "driver"        ? Driver()
    : part == "communicators" ? Communicators()
                              : Nonblocking();
    return 0;
}
