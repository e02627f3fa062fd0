/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measures a collective over a range of sizes, as nccl-tests does: iterations one behind another on
 * a stream, the time from the first to the last on the host's clock, over their number.
 *
 *     perf OP [-b SIZE] [-e SIZE] [-f FACTOR] [-g GPUS] [-n ITERATIONS] [-c 1] [--id FILE]
 *
 * OP: all_reduce, reduce_scatter, all_gather, broadcast, reduce, alltoall, sendrecv. Started by a
 * launcher it is one of several processes, each with -g GPUs, which find each other by a file.
 * -c 1: float buffers begin with known numbers, and results are compared.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <fstream>
#include <nccl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CUDA(call)                                                                                 \
    do                                                                                             \
    {                                                                                              \
        const cudaError_t error = call;                                                            \
        if (error != cudaSuccess)                                                                  \
        {                                                                                          \
            std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error));              \
            std::exit(3);                                                                          \
        }                                                                                          \
    } while (0)
#define NCCL(call)                                                                                 \
    do                                                                                             \
    {                                                                                              \
        const ncclResult_t result = call;                                                          \
        if (result != ncclSuccess)                                                                 \
        {                                                                                          \
            std::printf("%s:%d %s: %s\n",                                                          \
                        __FILE__,                                                                  \
                        __LINE__,                                                                  \
                        ncclGetErrorString(result),                                                \
                        ncclGetLastError(nullptr));                                                \
            std::exit(3);                                                                          \
        }                                                                                          \
    } while (0)

namespace
{

std::size_t
Size(const char* text)
{
    char* end = nullptr;
    const std::size_t number = std::strtoull(text, &end, 10);
    return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : number;
}

/// The first of these variables that is set.
int
Variable(std::initializer_list<const char*> names, int otherwise)
{
    for (const char* name : names)
    {
        if (const char* text = std::getenv(name))
        {
            return std::atoi(text);
        }
    }
    return otherwise;
}

/// The id that rank 0 wrote to a file.
ncclUniqueId
ByFile(const std::string& path, int rank)
{
    ncclUniqueId id{};
    if (rank == 0)
    {
        NCCL(ncclGetUniqueId(&id));
        std::ofstream(path + ".part").write(id.internal, sizeof(id.internal));
        std::rename((path + ".part").c_str(), path.c_str());
        return id;
    }
    for (;;)
    {
        std::ifstream file(path);
        if (file && file.read(id.internal, sizeof(id.internal)))
        {
            return id;
        }
        usleep(10000);
    }
}

struct Gpu
{
    int device = 0;
    int rank = 0;
    float* send = nullptr;
    float* receive = nullptr;
    cudaStream_t stream = nullptr;
    ncclComm_t comm = nullptr;
};

/// `count`: elements of the whole vector, as nccl-tests counts them; a multiple of the ranks where
/// they share it.
void
Start(const std::string& op, const Gpu& gpu, std::size_t count, int ranks)
{
    const std::size_t part = count / static_cast<std::size_t>(ranks);
    if (op == "all_reduce")
    {
        NCCL(ncclAllReduce(gpu.send, gpu.receive, count, ncclFloat, ncclSum, gpu.comm, gpu.stream));
    }
    else if (op == "reduce_scatter")
    {
        NCCL(ncclReduceScatter(gpu.send,
                               gpu.receive,
                               part,
                               ncclFloat,
                               ncclSum,
                               gpu.comm,
                               gpu.stream));
    }
    else if (op == "all_gather")
    {
        NCCL(ncclAllGather(gpu.send, gpu.receive, part, ncclFloat, gpu.comm, gpu.stream));
    }
    else if (op == "broadcast")
    {
        NCCL(ncclBroadcast(gpu.send, gpu.receive, count, ncclFloat, 0, gpu.comm, gpu.stream));
    }
    else if (op == "reduce")
    {
        NCCL(ncclReduce(gpu.send, gpu.receive, count, ncclFloat, ncclSum, 0, gpu.comm, gpu.stream));
    }
    else if (op == "alltoall")
    {
        NCCL(ncclGroupStart());
        for (int peer = 0; peer < ranks; ++peer)
        {
            const std::size_t at = part * static_cast<std::size_t>(peer);
            NCCL(ncclSend(gpu.send + at, part, ncclFloat, peer, gpu.comm, gpu.stream));
            NCCL(ncclRecv(gpu.receive + at, part, ncclFloat, peer, gpu.comm, gpu.stream));
        }
        NCCL(ncclGroupEnd());
    }
    else
    {
        const int next = (gpu.rank + 1) % ranks;
        const int before = (gpu.rank + ranks - 1) % ranks;
        NCCL(ncclGroupStart());
        NCCL(ncclSend(gpu.send, count, ncclFloat, next, gpu.comm, gpu.stream));
        NCCL(ncclRecv(gpu.receive, count, ncclFloat, before, gpu.comm, gpu.stream));
        NCCL(ncclGroupEnd());
    }
}

/// Element `i` of rank `rank` before.
float
Before(int rank, std::size_t i)
{
    return static_cast<float>((rank + 1) * 10 + static_cast<int>(i % 7));
}

/// Element `i` of a rank afterwards.
float
After(const std::string& op, int rank, std::size_t i, std::size_t count, int ranks)
{
    const std::size_t part = count / static_cast<std::size_t>(ranks);
    float sum = 0;
    const std::size_t at = op == "reduce_scatter" ? i + part * static_cast<std::size_t>(rank) : i;
    for (int other = 0; other < ranks; ++other)
    {
        sum += Before(other, at);
    }
    if (op == "all_gather")
    {
        return Before(static_cast<int>(i / part), i % part);
    }
    if (op == "alltoall")
    {
        return Before(static_cast<int>(i / part), i % part + part * static_cast<std::size_t>(rank));
    }
    return op == "broadcast"  ? Before(0, i)
           : op == "sendrecv" ? Before((rank + ranks - 1) % ranks, i)
                              : sum;
}

std::size_t
Wrong(const std::string& op, const Gpu& gpu, std::size_t count, int ranks)
{
    const std::size_t results = op == "reduce_scatter" ? count / static_cast<std::size_t>(ranks)
                                : op == "reduce" && gpu.rank != 0 ? 0
                                                                  : count;
    std::vector<float> values(results);
    CUDA(cudaMemcpy(values.data(), gpu.receive, results * sizeof(float), cudaMemcpyDeviceToHost));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results; ++i)
    {
        wrong += values[i] != After(op, gpu.rank, i, count, ranks);
    }
    return wrong;
}

} // namespace

int
main(int words, char** word)
{
    const std::string op = words > 1 ? word[1] : "all_reduce";
    std::size_t least = 32 << 20;
    std::size_t most = 0;
    std::size_t factor = 2;
    int count = 1;
    int iterations = 5;
    bool check = false;
    std::string file = "nccl-id";
    for (int i = 2; i + 1 < words; i += 2)
    {
        const std::string name = word[i];
        const char* value = word[i + 1];
        least = name == "-b" ? Size(value) : least;
        most = name == "-e" ? Size(value) : most;
        factor = name == "-f" ? Size(value) : factor;
        count = name == "-g" ? std::atoi(value) : count;
        iterations = name == "-n" ? std::atoi(value) : iterations;
        check = name == "-c" ? std::atoi(value) != 0 : check;
        file = name == "--id" ? value : file;
    }
    most = most ? most : least;
    const int process = Variable({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0);
    const int processes = Variable({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1);
    const int local = Variable({"LOCAL_RANK", "SLURM_LOCALID"}, process);
    const int ranks = processes * count;
    std::vector<Gpu> gpus(static_cast<std::size_t>(count));
    std::vector<ncclComm_t> comms(gpus.size());
    if (processes == 1)
    {
        NCCL(ncclCommInitAll(comms.data(), count, nullptr));
    }
    else
    {
        const ncclUniqueId id = ByFile(file, process);
        NCCL(ncclGroupStart());
        for (int i = 0; i < count; ++i)
        {
            CUDA(cudaSetDevice(local * count + i));
            NCCL(ncclCommInitRank(&comms[static_cast<std::size_t>(i)],
                                  ranks,
                                  id,
                                  process * count + i));
        }
        NCCL(ncclGroupEnd());
    }
    for (std::size_t i = 0; i < gpus.size(); ++i)
    {
        Gpu& gpu = gpus[i];
        gpu.comm = comms[i];
        NCCL(ncclCommCuDevice(gpu.comm, &gpu.device));
        NCCL(ncclCommUserRank(gpu.comm, &gpu.rank));
        CUDA(cudaSetDevice(gpu.device));
        CUDA(cudaMalloc(&gpu.send, most));
        CUDA(cudaMalloc(&gpu.receive, most));
        CUDA(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    }
    if (process == 0)
    {
        std::printf("#       size    time(us)  algbw(GB/s)  busbw(GB/s)  #wrong\n");
    }
    for (std::size_t bytes = least; bytes <= most; bytes *= factor)
    {
        // Whole elements for every rank.
        const std::size_t shares =
            op == "all_reduce" || op == "broadcast" || op == "reduce" || op == "sendrecv"
                ? 1
                : static_cast<std::size_t>(ranks);
        const std::size_t elements = bytes / sizeof(float) / shares * shares;
        for (const Gpu& gpu : gpus)
        {
            std::vector<float> values(check ? elements : 0);
            for (std::size_t i = 0; i < values.size(); ++i)
            {
                values[i] = Before(gpu.rank, i);
            }
            CUDA(cudaSetDevice(gpu.device));
            CUDA(cudaMemcpy(gpu.send,
                            values.data(),
                            values.size() * sizeof(float),
                            cudaMemcpyHostToDevice));
        }
        // Warm-up: ranks begin together.
        for (int pass = 0; pass < 2; ++pass)
        {
            const auto begin = std::chrono::high_resolution_clock::now();
            const int times = pass == 0 ? 1 : iterations;
            for (int i = 0; i < times; ++i)
            {
                NCCL(ncclGroupStart());
                for (const Gpu& gpu : gpus)
                {
                    Start(op, gpu, elements, ranks);
                }
                NCCL(ncclGroupEnd());
            }
            for (const Gpu& gpu : gpus)
            {
                CUDA(cudaStreamSynchronize(gpu.stream));
            }
            const auto end = std::chrono::high_resolution_clock::now();
            if (pass == 0)
            {
                continue;
            }
            const double us = std::chrono::duration<double>(end - begin).count() / times * 1e6;
            std::size_t wrong = 0;
            for (const Gpu& gpu : gpus)
            {
                CUDA(cudaSetDevice(gpu.device));
                wrong += check ? Wrong(op, gpu, elements, ranks) : 0;
            }
            const double n = ranks;
            const double factors = op == "all_reduce" ? 2 * (n - 1) / n
                                   : op == "broadcast" || op == "reduce" || op == "sendrecv"
                                       ? 1
                                       : (n - 1) / n;
            const double algbw = static_cast<double>(elements * sizeof(float)) / us * 1e-3;
            if (process == 0)
            {
                std::printf("%12zu  %10.3f  %11.2f  %11.2f  %6s\n",
                            elements * sizeof(float),
                            us,
                            algbw,
                            algbw * factors,
                            check ? std::to_string(wrong).c_str() : "N/A");
            }
            else if (wrong)
            {
                std::printf("process %d: %zu wrong\n", process, wrong);
            }
        }
    }
    for (const Gpu& gpu : gpus)
    {
        CUDA(cudaSetDevice(gpu.device));
        CUDA(cudaStreamDestroy(gpu.stream));
        CUDA(cudaFree(gpu.send));
        CUDA(cudaFree(gpu.receive));
        NCCL(ncclCommDestroy(gpu.comm));
    }
    return 0;
}
