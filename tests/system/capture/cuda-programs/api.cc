/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the interfaces promise, one part of it by its name; ends with 1 where something is not so.
 * Kernels are registered and launched as nvcc's code for the host does it.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <mutex>
#include <nccl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C"
{
    void** __cudaRegisterFatBinary(void*);
    void __cudaRegisterFatBinaryEnd(void**);
    void __cudaRegisterFunction(void**,
                                const char*,
                                char*,
                                const char*,
                                int,
                                uint3*,
                                uint3*,
                                dim3*,
                                dim3*,
                                int*);
    unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*);
    cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*);
}

#define CHECK(condition)                                                                           \
    do                                                                                             \
    {                                                                                              \
        if (!(condition))                                                                          \
        {                                                                                          \
            std::printf("line %d: %s\n", __LINE__, #condition);                                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)
#define CUDA(call) CHECK((call) == cudaSuccess)
#define NCCL(call) CHECK((call) == ncclSuccess)

namespace
{

using Clock = std::chrono::steady_clock;

double
Us(Clock::time_point from, Clock::time_point to)
{
    return std::chrono::duration<double, std::micro>(to - from).count();
}

void
Kernel()
{
}

/// As in a program that nvcc made.
const int kRegistered = [] {
    void** handle = __cudaRegisterFatBinary(nullptr);
    char name[] = "_Z6KernelPfi"; // Kernel(float*, int)
    __cudaRegisterFunction(handle,
                           reinterpret_cast<const char*>(Kernel),
                           name,
                           name,
                           -1,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr);
    __cudaRegisterFatBinaryEnd(handle);
    return 0;
}();

/// Kernel<<<grid, block, 0, stream>>>
cudaError_t
Launch(dim3 grid, dim3 block, cudaStream_t stream)
{
    __cudaPushCallConfiguration(grid, block, 0, stream);
    std::size_t shared = 0;
    CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    return cudaLaunchKernel(reinterpret_cast<const void*>(Kernel), grid, block, nullptr, 0, stream);
}

/// Kernels take 100 us here (--kernel-times).
void
Streams()
{
    cudaStream_t a = nullptr;
    cudaStream_t b = nullptr;
    cudaEvent_t events[4];
    CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events)
    {
        CUDA(cudaEventCreate(&event));
    }
    // Side by side: 3 and 2 kernels.
    const auto begin = Clock::now();
    CUDA(cudaEventRecord(events[0], a));
    for (int i = 0; i < 3; ++i)
    {
        CUDA(Launch(dim3(7), dim3(32), a));
    }
    CUDA(cudaEventRecord(events[1], a));
    for (int i = 0; i < 2; ++i)
    {
        CUDA(Launch(dim3(7), dim3(32), b));
    }
    CUDA(cudaEventRecord(events[2], b));
    CHECK(Us(begin, Clock::now()) == 0); // nobody waited yet
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, events[0], events[1]) == cudaErrorNotReady);
    CHECK(cudaGetLastError() == cudaErrorNotReady);
    CUDA(cudaStreamSynchronize(b));
    CHECK(Us(begin, Clock::now()) == 200);
    CUDA(cudaStreamSynchronize(a));
    CHECK(Us(begin, Clock::now()) == 300);
    CUDA(cudaEventElapsedTime(&ms, events[0], events[1]));
    CHECK(ms == 0.3F);
    // b waits for what a did until the event, not for what comes behind it.
    const auto again = Clock::now();
    CUDA(Launch(dim3(1), dim3(1), a));
    CUDA(cudaEventRecord(events[3], a));
    CUDA(Launch(dim3(1), dim3(1), a));
    CUDA(cudaStreamWaitEvent(b, events[3], 0));
    CUDA(Launch(dim3(1), dim3(1), b));
    CUDA(cudaStreamSynchronize(b));
    CHECK(Us(again, Clock::now()) == 200);
    while (cudaStreamQuery(a) == cudaErrorNotReady)
    {
    }
    CHECK(Us(again, Clock::now()) == 200);
    // The default stream waits for blocking streams, and they for it.
    cudaStream_t c = nullptr;
    CUDA(cudaStreamCreate(&c));
    const auto third = Clock::now();
    CUDA(Launch(dim3(1), dim3(1), c));
    CUDA(Launch(dim3(1), dim3(1), nullptr));
    CUDA(Launch(dim3(1), dim3(1), c));
    CUDA(Launch(dim3(1), dim3(1), a)); // not this one
    CUDA(cudaStreamSynchronize(a));
    CHECK(Us(third, Clock::now()) == 100);
    CUDA(cudaDeviceSynchronize());
    CHECK(Us(third, Clock::now()) == 300);
    // A callback is called when the stream comes to it.
    std::atomic<int> called{0};
    CUDA(cudaLaunchHostFunc(
        a,
        [](void* to) { ++*static_cast<std::atomic<int>*>(to); },
        &called));
    CUDA(cudaStreamSynchronize(a));
    CHECK(called == 1);
    CHECK(Launch(dim3(1), dim3(2048), a) == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(Streams), 1, 1, nullptr) ==
          cudaErrorInvalidDeviceFunction);
    CHECK(std::string(cudaGetErrorName(cudaErrorNotReady)) == "cudaErrorNotReady");
    for (cudaEvent_t event : events)
    {
        CUDA(cudaEventDestroy(event));
    }
}

void
Graphs()
{
    cudaStream_t a = nullptr;
    cudaStream_t b = nullptr;
    cudaEvent_t fork = nullptr;
    cudaEvent_t join = nullptr;
    CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&fork));
    CUDA(cudaEventCreate(&join));
    int* memory = nullptr;
    CUDA(cudaMalloc(&memory, 64));
    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CUDA(Launch(dim3(1), dim3(1), a));
    CUDA(cudaMemsetAsync(memory, 1, 64, a));
    CUDA(cudaEventRecord(fork, a));
    CUDA(cudaStreamWaitEvent(b, fork, 0));
    CUDA(Launch(dim3(1), dim3(1), b));
    CUDA(cudaEventRecord(join, b));
    CUDA(cudaStreamWaitEvent(a, join, 0));
    CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUDA(cudaStreamIsCapturing(b, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamEndCapture(a, &graph));
    CUDA(cudaStreamIsCapturing(b, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    cudaGraphExec_t ready = nullptr;
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    int value = -1;
    CUDA(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 0); // nothing was done yet
    const auto begin = Clock::now();
    for (int i = 0; i < 3; ++i)
    {
        CUDA(cudaGraphLaunch(ready, a));
    }
    CUDA(cudaStreamSynchronize(a));
    const double us = Us(begin, Clock::now());
    CHECK(us >= 600 && us < 601); // two kernels, and a fill of 64 bytes
    CUDA(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
    CHECK(value == 0x01010101);
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
}

void
MemoryOfGpus()
{
    std::size_t available = 0;
    std::size_t total = 0;
    CUDA(cudaMemGetInfo(&available, &total));
    CHECK(total == std::size_t{80} << 30 && available == total);
    // All of it in pieces; then not one more; then again.
    std::vector<void*> pieces(4);
    for (void*& piece : pieces)
    {
        CUDA(cudaMalloc(&piece, total / 4));
    }
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 4096) == cudaErrorMemoryAllocation && more == nullptr);
    // Sizes that overflow where they are rounded up, or multiplied.
    std::size_t row = 0;
    for (const std::size_t huge : {SIZE_MAX, SIZE_MAX - 4094, SIZE_MAX / 2})
    {
        CHECK(cudaMalloc(&more, huge) == cudaErrorMemoryAllocation);
        CHECK(cudaMallocManaged(&more, huge) == cudaErrorMemoryAllocation);
        CHECK(cudaMallocPitch(&more, &row, huge, 2) == cudaErrorMemoryAllocation);
    }
    CHECK(cudaHostAlloc(&more, 16, 0xfff) == cudaErrorInvalidValue);
    CHECK(cudaRuntimeGetVersion(nullptr) == cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaMemset(pieces[0], 1, total / 4)); // has no contents, takes none of this machine's
    CUDA(cudaFree(pieces[1]));
    CUDA(cudaFree(pieces[2]));
    CUDA(cudaMalloc(&more, total / 2));
    CHECK(cudaFree(static_cast<char*>(more) + 1) == cudaErrorInvalidValue);
    CUDA(cudaFree(more));
    CUDA(cudaFree(pieces[0]));
    CUDA(cudaFree(pieces[3]));
    CHECK(cudaFree(pieces[3]) == cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaMemGetInfo(&available, nullptr));
    CHECK(available == total);
    // Contents, in odd pieces.
    char* gpu = nullptr;
    CUDA(cudaMalloc(&gpu, 1001));
    std::vector<char> sent(1001);
    for (std::size_t i = 0; i < sent.size(); ++i)
    {
        sent[i] = static_cast<char>(i * 7);
    }
    CUDA(cudaMemcpy(gpu, sent.data(), 1001, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(gpu + 1, gpu, 500, cudaMemcpyDeviceToDevice));
    CUDA(cudaMemset(gpu + 600, 9, 3));
    std::vector<char> back(1001);
    CUDA(cudaMemcpy(back.data(), gpu, 1001, cudaMemcpyDefault));
    CHECK(back[0] == sent[0] && back[1] == sent[0] && back[500] == sent[499]);
    CHECK(back[501] == sent[501] && back[599] == sent[599] && back[600] == 9 && back[602] == 9);
    CHECK(back[603] == sent[603] && back[1000] == sent[1000]);
    CHECK(cudaMemcpy(gpu, sent.data(), 1002, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(sent.data(), back.data(), 9, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    // Rows of 3 of 5 bytes.
    char* rows = nullptr;
    std::size_t pitch = 0;
    CUDA(cudaMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 3, 4));
    CHECK(pitch >= 3);
    CUDA(cudaMemcpy2D(rows, pitch, sent.data(), 5, 3, 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2D(back.data(), 3, rows, pitch, 3, 4, cudaMemcpyDeviceToHost));
    CHECK(back[3] == sent[5] && back[11] == sent[17]);
    // What is not pinned is read at once; what is pinned when its turn comes.
    char* pinned = nullptr;
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMallocHost(&pinned, 16));
    cudaPointerAttributes about{};
    CUDA(cudaPointerGetAttributes(&about, pinned + 1));
    CHECK(about.type == cudaMemoryTypeHost);
    CUDA(cudaSetDevice(1));
    char* second = nullptr;
    CUDA(cudaMalloc(&second, 16));
    CUDA(cudaPointerGetAttributes(&about, second + 15));
    CHECK(about.type == cudaMemoryTypeDevice && about.device == 1);
    CUDA(cudaPointerGetAttributes(&about, &stream));
    CHECK(about.type == cudaMemoryTypeUnregistered);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    cudaGetLastError();
    CUDA(cudaMemcpyPeer(second, 1, gpu, 0, 16));
    CUDA(cudaMemcpy(back.data(), second, 16, cudaMemcpyDeviceToHost));
    CHECK(back[1] == sent[0] && back[15] == sent[14]);
    CUDA(cudaSetDevice(0));
    // A copy blocks: 1 GB over a host link of PCIe 4.0.
    void* large = nullptr;
    CUDA(cudaMalloc(&large, 1000000000));
    std::vector<char> host(1000000000 / 1000);
    const auto begin = Clock::now();
    CUDA(cudaMemcpy(large, host.data(), host.size(), cudaMemcpyHostToDevice));
    const double us = Us(begin, Clock::now());
    CHECK(us > 36 && us < 36.2); // 1 MB at 31.5 x 55.4/63 GB/s: 36.1 us
    CUDA(cudaFreeHost(pinned));
}

template <class T>
std::vector<T>
OnAll(int ranks,
      const std::vector<std::vector<T>>& before,
      std::size_t after,
      ncclResult_t (*call)(T*, T*, int, cudaStream_t, ncclComm_t),
      const std::vector<ncclComm_t>& comms)
{
    std::vector<T*> send(comms.size());
    std::vector<T*> receive(comms.size());
    for (int i = 0; i < ranks; ++i)
    {
        const auto at = static_cast<std::size_t>(i);
        CUDA(cudaSetDevice(i));
        CUDA(cudaMalloc(&send[at], before[at].size() * sizeof(T)));
        CUDA(cudaMalloc(&receive[at], after * sizeof(T)));
        CUDA(cudaMemcpy(send[at],
                        before[at].data(),
                        before[at].size() * sizeof(T),
                        cudaMemcpyHostToDevice));
    }
    NCCL(ncclGroupStart());
    for (int i = 0; i < ranks; ++i)
    {
        const auto at = static_cast<std::size_t>(i);
        NCCL(call(send[at], receive[at], i, nullptr, comms[at]));
    }
    NCCL(ncclGroupEnd());
    std::vector<T> all(after * comms.size());
    for (int i = 0; i < ranks; ++i)
    {
        const auto at = static_cast<std::size_t>(i);
        CUDA(cudaSetDevice(i));
        CUDA(cudaMemcpy(all.data() + at * after,
                        receive[at],
                        after * sizeof(T),
                        cudaMemcpyDeviceToHost));
        CUDA(cudaFree(send[at]));
        CUDA(cudaFree(receive[at]));
    }
    return all;
}

/// 2 ranks.
void
Reductions()
{
    std::vector<ncclComm_t> comms(2);
    NCCL(ncclCommInitAll(comms.data(), 2, nullptr));
    const auto reduce = [&comms](auto a, auto b, auto call) {
        using T = decltype(a);
        return OnAll<T>(2, {{a}, {b}}, 1, call, comms);
    };
#define REDUCE(T, type, op)                                                                        \
    [](T* send, T* receive, int, cudaStream_t stream, ncclComm_t comm) {                           \
        return ncclAllReduce(send, receive, 1, type, op, comm, stream);                            \
    }
    CHECK(reduce(3, 5, REDUCE(int, ncclInt, ncclSum)) == std::vector<int>({8, 8}));
    CHECK(reduce(3, 5, REDUCE(int, ncclInt, ncclProd)) == std::vector<int>({15, 15}));
    CHECK(reduce(3, -5, REDUCE(int, ncclInt, ncclMin)) == std::vector<int>({-5, -5}));
    CHECK(reduce(3U, 5U, REDUCE(unsigned, ncclUint32, ncclMax)) == std::vector<unsigned>({5, 5}));
    CHECK(reduce(3.0, 5.5, REDUCE(double, ncclDouble, ncclAvg)) ==
          std::vector<double>({4.25, 4.25}));
    using Byte = unsigned char;
    CHECK(reduce(Byte{200}, Byte{100}, REDUCE(Byte, ncclUint8, ncclSum)) ==
          std::vector<Byte>({44, 44}));
    // IEEE 754 binary16: 1 = 0x3c00, 2048 = 0x6800, 65504 = 0x7bff, infinity = 0x7c00; 2048 + 1 is
    // half way between 2048 and 2050, and goes to the even one; the smallest number is 0x0001.
    using Two = unsigned short;
    const auto half = REDUCE(Two, ncclHalf, ncclSum);
    CHECK(reduce(Two{0x3c00}, Two{0x3c00}, half)[0] == 0x4000);
    CHECK(reduce(Two{0x6800}, Two{0x3c00}, half)[1] == 0x6800);
    CHECK(reduce(Two{0x7bff}, Two{0x7bff}, half)[0] == 0x7c00);
    CHECK(reduce(Two{0x0001}, Two{0x0002}, half)[0] == 0x0003);
    CHECK(reduce(Two{0x3c00}, Two{0xbc00}, half)[0] == 0x0000);
    CHECK((reduce(Two{0x7c00}, Two{0xfc00}, half)[0] & 0x7fff) > 0x7c00); // no number
    // bfloat16, the upper half of a float: 1 = 0x3f80, 3 = 0x4040, 256 = 0x4380; 256 + 1 is cut to
    // 8 bits.
    const auto brain = REDUCE(Two, ncclBfloat16, ncclSum);
    CHECK(reduce(Two{0x3f80}, Two{0x4040}, brain)[0] == 0x4080);
    CHECK(reduce(Two{0x4380}, Two{0x3f80}, brain)[0] == 0x4380);
    // 8 bits (OCP 8-bit floating point): E4M3's 1 = 0x38, 2 = 0x40, largest 448 = 0x7e, no
    // infinity; E5M2's 1 = 0x3c, 2 = 0x40.
    CHECK(reduce(Byte{0x38}, Byte{0x38}, REDUCE(Byte, ncclFloat8e4m3, ncclSum))[0] == 0x40);
    CHECK(reduce(Byte{0x3c}, Byte{0x3c}, REDUCE(Byte, ncclFloat8e5m2, ncclSum))[0] == 0x40);
    CHECK(reduce(Byte{0x7e}, Byte{0x38}, REDUCE(Byte, ncclFloat8e4m3, ncclMax))[0] == 0x7e);
    // Multiplied before: each rank by its own number.
    std::vector<float*> buffers(2);
    std::vector<ncclRedOp_t> ops(2);
    for (int i = 0; i < 2; ++i)
    {
        const auto at = static_cast<std::size_t>(i);
        float scale = i == 0 ? 2.0F : 10.0F;
        const float value = 3;
        CUDA(cudaSetDevice(i));
        CUDA(cudaMalloc(&buffers[at], 4));
        CUDA(cudaMemcpy(buffers[at], &value, 4, cudaMemcpyHostToDevice));
        NCCL(ncclRedOpCreatePreMulSum(&ops[at],
                                      &scale,
                                      ncclFloat,
                                      ncclScalarHostImmediate,
                                      comms[at]));
    }
    NCCL(ncclGroupStart());
    for (std::size_t i = 0; i < 2; ++i)
    {
        NCCL(ncclAllReduce(buffers[i], buffers[i], 1, ncclFloat, ops[i], comms[i], nullptr));
    }
    NCCL(ncclGroupEnd());
    float value = 0;
    CUDA(cudaMemcpy(&value, buffers[1], 4, cudaMemcpyDeviceToHost));
    CHECK(value == 2 * 3 + 10 * 3);
    NCCL(ncclRedOpDestroy(ops[0], comms[0]));
    CHECK(ncclRedOpDestroy(ops[0], comms[0]) == ncclInvalidArgument);
    CHECK(ncclAllReduce(buffers[0], buffers[0], 1, ncclFloat, ops[0], comms[0], nullptr) ==
          ncclInvalidArgument);
}

void
Communicators()
{
    int version = 0;
    NCCL(ncclGetVersion(&version));
    CHECK(version == NCCL_VERSION_CODE);
    std::vector<ncclComm_t> comms(2);
    const int twice[] = {1, 1};
    CHECK(ncclCommInitAll(comms.data(), 2, twice) == ncclInvalidUsage);
    CHECK(std::strstr(ncclGetLastError(nullptr), "GPU 1 is named twice"));
    const int turned[] = {1, 0};
    NCCL(ncclCommInitAll(comms.data(), 2, turned));
    int number = -1;
    NCCL(ncclCommCuDevice(comms[0], &number));
    CHECK(number == 1);
    NCCL(ncclCommUserRank(comms[1], &number));
    CHECK(number == 1);
    NCCL(ncclCommCount(comms[0], &number));
    CHECK(number == 2);
    for (const auto ask : {ncclCommCount, ncclCommCuDevice, ncclCommUserRank})
    {
        CHECK(ask(comms[0], nullptr) == ncclInvalidArgument);
        CHECK(ask(nullptr, &number) == ncclInvalidArgument);
    }
    // A group fails with the first call in it that does, and does nothing of it.
    float* some = nullptr;
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&some, 64));
    const auto none = static_cast<ncclDataType_t>(99);
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(some, some, 16, ncclFloat, ncclSum, comms[0], nullptr));
    CHECK(ncclAllReduce(some, some, 1, none, ncclSum, comms[1], nullptr) == ncclInvalidArgument);
    CHECK(ncclGroupEnd() == ncclInvalidArgument);
    CHECK(std::strstr(ncclGetLastError(nullptr), "99 is no data type"));
    NCCL(ncclGroupStart());
    NCCL(ncclGroupEnd());
    CUDA(cudaFree(some));
    CUDA(cudaSetDevice(0));
    ncclResult_t state = ncclInternalError;
    NCCL(ncclCommGetAsyncError(comms[0], &state));
    CHECK(state == ncclSuccess);
    // In the other order by their keys; then each alone; then without rank 1.
    std::vector<ncclComm_t> other(2);
    const auto split = [&comms, &other](int color0, int color1, int key0, int key1) {
        NCCL(ncclGroupStart());
        NCCL(ncclCommSplit(comms[0], color0, key0, &other[0], nullptr));
        NCCL(ncclCommSplit(comms[1], color1, key1, &other[1], nullptr));
        NCCL(ncclGroupEnd());
    };
    split(7, 7, 5, 2);
    NCCL(ncclCommUserRank(other[0], &number));
    CHECK(number == 1);
    split(0, 1, 0, 0);
    NCCL(ncclCommCount(other[1], &number));
    CHECK(number == 1);
    split(0, NCCL_SPLIT_NOCOLOR, 0, 0);
    CHECK(other[0] && !other[1]);
    int out = 1;
    NCCL(ncclCommShrink(comms[0], &out, 1, &other[0], nullptr, NCCL_SHRINK_DEFAULT));
    NCCL(ncclCommCount(other[0], &number));
    CHECK(number == 1);
    float* buffer = nullptr;
    CUDA(cudaSetDevice(1));
    NCCL(ncclMemAlloc(reinterpret_cast<void**>(&buffer), 4096));
    void* handle = nullptr;
    NCCL(ncclCommRegister(comms[0], buffer, 4096, &handle));
    NCCL(ncclCommDeregister(comms[0], handle));
    // Mistakes that NCCL answers.
    CHECK(ncclBroadcast(buffer, buffer, 1, ncclFloat, 2, comms[0], nullptr) == ncclInvalidArgument);
    CHECK(std::strstr(ncclGetLastError(comms[0]), "root 2; allowed: 0 to 1"));
    CHECK(ncclSend(buffer, 1, ncclFloat, -1, comms[0], nullptr) == ncclInvalidArgument);
    CHECK(ncclAllReduce(buffer, buffer, 1, ncclNumTypes, ncclSum, comms[0], nullptr) ==
          ncclInvalidArgument);
    CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat, ncclSum, nullptr, nullptr) ==
          ncclInvalidArgument);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(std::string(ncclGetErrorString(ncclInvalidUsage)) == "invalid usage");
    NCCL(ncclMemFree(buffer));
    NCCL(ncclCommFinalize(comms[0]));
    NCCL(ncclCommDestroy(comms[0]));
    CHECK(ncclCommDestroy(comms[0]) == ncclInvalidArgument);
    NCCL(ncclCommAbort(comms[1]));
}

/// Each GPU by a thread of its own, with the streams' order: kernel, all-reduce, kernel; and
/// messages that are no group, one after the other.
void
Threads()
{
    std::vector<ncclComm_t> comms(2);
    NCCL(ncclCommInitAll(comms.data(), 2, nullptr));
    std::mutex mutex;
    std::condition_variable changed;
    int at = 0;
    std::vector<double> took(2);
    const auto run = [&](int rank) {
        CUDA(cudaSetDevice(rank));
        cudaStream_t stream = nullptr;
        CUDA(cudaStreamCreate(&stream));
        int* buffer = nullptr;
        CUDA(cudaMalloc(&buffer, 8));
        const int value = rank + 1;
        CUDA(cudaMemcpy(buffer, &value, 4, cudaMemcpyHostToDevice));
        {
            // All begin together.
            std::unique_lock<std::mutex> lock(mutex);
            ++at;
            changed.notify_all();
            changed.wait(lock, [&at] { return at == 2; });
        }
        const auto begin = Clock::now();
        // The ring of messages, one way and back.
        for (int i = 0; i < 2; ++i)
        {
            const ncclComm_t comm = comms[static_cast<std::size_t>(rank)];
            if (rank == i)
            {
                NCCL(ncclSend(buffer, 1, ncclInt, 1 - rank, comm, stream));
            }
            else
            {
                NCCL(ncclRecv(buffer + 1, 1, ncclInt, 1 - rank, comm, stream));
            }
        }
        int values[2] = {};
        CUDA(cudaMemcpyAsync(values, buffer, 8, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        CHECK(values[0] == rank + 1 && values[1] == 2 - rank);
        took[static_cast<std::size_t>(rank)] = Us(begin, Clock::now());
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    CHECK(took[0] > 0);
}

/// Waits and clocks beside CUDA.
void
Clocks()
{
    CUDA(cudaFree(nullptr));
    const auto begin = Clock::now();
    const auto wall = std::chrono::system_clock::now();
    volatile double sum = 0;
    for (int i = 0; i < 1000000; ++i)
    {
        sum = sum + i;
    }
    CHECK(Us(begin, Clock::now()) == 0);
    for (int i = 0; i < 50; ++i)
    {
        CUDA(Launch(dim3(1), dim3(1), nullptr));
    }
    CUDA(cudaDeviceSynchronize());
    CHECK(Us(begin, Clock::now()) == 5000);
    CHECK(std::chrono::system_clock::now() - wall == std::chrono::microseconds(5000));
    usleep(1000);
    CHECK(Us(begin, Clock::now()) == 6000);
    // A wait until a time of this clock ends, and then it is that time.
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock<std::mutex> lock(mutex);
    const auto until = Clock::now() + std::chrono::milliseconds(20);
    CHECK(never.wait_until(lock, until) == std::cv_status::timeout);
    CHECK(Clock::now() >= until && Us(until, Clock::now()) < 1000);
    // Who looks and looks sees it move.
    const auto last = Clock::now();
    while (Us(last, Clock::now()) < 100)
    {
    }
}

void
Driver()
{
    CHECK(cuInit(0) == CUDA_SUCCESS);
    int count = 0;
    CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 2);
    CUdevice device = -1;
    CHECK(cuDeviceGet(&device, 1) == CUDA_SUCCESS && device == 1);
    CHECK(cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
    CUcontext context = nullptr;
    CHECK(cuCtxCreate(&context, 0, 1) == CUDA_SUCCESS);
    int current = -1;
    CUDA(cudaGetDevice(&current));
    CHECK(current == 1);
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, 16) == CUDA_SUCCESS);
    CHECK(cuMemsetD32(memory, 0x12345678, 4) == CUDA_SUCCESS);
    unsigned values[4] = {};
    CHECK(cuMemcpyDtoH(values, memory, 16) == CUDA_SUCCESS);
    CHECK(values[0] == 0x12345678 && values[3] == 0x12345678);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CHECK(cuModuleLoadData(&module, "") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&function, module, "Kernel") == CUDA_SUCCESS);
    const auto begin = Clock::now();
    CHECK(cuLaunchKernel(function, 2, 3, 4, 32, 1, 1, 0, nullptr, nullptr, nullptr) ==
          CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(Us(begin, Clock::now()) == 100);
    CHECK(cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
}

/// Three steps, of one kernel each; and a kernel before them.
void
Steps()
{
    CUDA(Launch(dim3(5), dim3(64), nullptr));
    for (int i = 0; i < 3; ++i)
    {
        CUDA(cudaProfilerStart());
        CUDA(Launch(dim3(2 + static_cast<unsigned>(i)), dim3(64), nullptr));
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaProfilerStop());
    }
}

} // namespace

int
main(int, char** words)
{
    const std::string part = words[1];
    const std::pair<const char*, void (*)()> parts[] = {{"streams", Streams},
                                                        {"graphs", Graphs},
                                                        {"memory", MemoryOfGpus},
                                                        {"reductions", Reductions},
                                                        {"communicators", Communicators},
                                                        {"threads", Threads},
                                                        {"clocks", Clocks},
                                                        {"driver", Driver},
                                                        {"steps", Steps}};
    for (const auto& [name, run] : parts)
    {
        if (part == name)
        {
            run();
            return 0;
        }
    }
    return 2;
}
