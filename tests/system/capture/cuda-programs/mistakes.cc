/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One mistake, by its name. Every process is a rank with one GPU (as srun starts them), or this is
 * one process with two.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <fstream>
#include <nccl.h>
#include <string>
#include <unistd.h>

namespace
{

int rank = 0;
int ranks = 1;
float* buffer = nullptr;
cudaStream_t stream = nullptr;
ncclComm_t comm = nullptr;

ncclUniqueId
Id(const std::string& path)
{
    ncclUniqueId id{};
    if (rank == 0)
    {
        ncclGetUniqueId(&id);
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

void
Run(const std::string& name)
{
    const bool odd = rank % 2 == 1;
    if (name == "count")
    {
        ncclAllReduce(buffer, buffer, odd ? 99 : 100, ncclFloat, ncclSum, comm, stream);
    }
    else if (name == "type")
    {
        ncclAllReduce(buffer, buffer, 64, odd ? ncclInt : ncclFloat, ncclSum, comm, stream);
    }
    else if (name == "reduction")
    {
        ncclAllReduce(buffer, buffer, 64, ncclFloat, odd ? ncclMax : ncclSum, comm, stream);
    }
    else if (name == "root")
    {
        ncclBroadcast(buffer, buffer, 64, ncclFloat, rank, comm, stream);
    }
    else if (name == "order")
    {
        if (odd)
        {
            ncclAllGather(buffer, buffer, 8, ncclFloat, comm, stream);
        }
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, comm, stream);
        if (!odd)
        {
            ncclAllGather(buffer, buffer, 8, ncclFloat, comm, stream);
        }
    }
    else if (name == "absent")
    {
        if (odd)
        {
            return;
        }
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, comm, stream);
    }
    else if (name == "communicators")
    {
        ncclComm_t other = nullptr;
        ncclCommSplit(comm, 0, rank, &other, nullptr);
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, odd ? comm : other, stream);
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, odd ? other : comm, stream);
    }
    else if (name == "sends")
    {
        ncclSend(buffer, 64, ncclFloat, 1 - rank, comm, stream);
        ncclRecv(buffer, 64, ncclFloat, 1 - rank, comm, stream);
    }
    else if (name == "message")
    {
        if (odd)
        {
            ncclRecv(buffer, 64, ncclFloat, 0, comm, stream);
        }
        else
        {
            ncclSend(buffer, 32, ncclFloat, 1, comm, stream);
        }
    }
    else if (name == "group")
    {
        ncclGroupStart();
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, comm, stream);
        std::exit(0);
    }
    else if (name == "empty-group")
    {
        if (odd)
        {
            ncclGroupStart();
            std::exit(0);
        }
    }
    else if (name == "aborts")
    {
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, comm, stream);
        cudaStreamSynchronize(stream);
        if (odd)
        {
            std::abort();
        }
    }
    else if (name == "fails")
    {
        if (odd)
        {
            std::exit(7);
        }
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, comm, stream);
    }
    else if (name == "buffer")
    {
        ncclAllReduce(buffer, buffer, 1 << 20, ncclFloat, ncclSum, comm, stream);
    }
    else if (name == "split")
    {
        ncclComm_t other = nullptr;
        if (!odd)
        {
            ncclCommSplit(comm, 0, rank, &other, nullptr);
        }
    }
    cudaStreamSynchronize(stream);
}

/// Both ranks in one thread, without a group: it waits for the first before the second is called.
void
Alone()
{
    ncclComm_t both[2];
    ncclCommInitAll(both, 2, nullptr);
    for (int i = 0; i < 2; ++i)
    {
        cudaSetDevice(i);
        cudaMalloc(&buffer, 4096);
        ncclAllReduce(buffer, buffer, 64, ncclFloat, ncclSum, both[i], nullptr);
        cudaStreamSynchronize(nullptr);
    }
}

/// A process in a session of its own stays behind.
void
Daemon(const std::string& file)
{
    cudaMalloc(&buffer, 4096);
    if (fork() == 0)
    {
        setsid();
        std::ofstream(file) << getpid() << std::endl;
        for (;;)
        {
            pause();
        }
    }
    while (std::ifstream(file).peek() == EOF)
    {
        usleep(1000);
    }
}

} // namespace

int
main(int, char** words)
{
    const std::string name = words[1];
    if (name == "dies")
    {
        ncclComm_t both[2];
        ncclCommInitAll(both, 2, nullptr);
        std::abort();
    }
    if (name == "daemon")
    {
        Daemon(words[2]);
        return 0;
    }
    if (name == "alone")
    {
        Alone();
        return 0;
    }
    rank = std::atoi(std::getenv("SLURM_PROCID"));
    ranks = std::atoi(std::getenv("SLURM_NTASKS"));
    const std::string file = words[2];
    cudaSetDevice(name == "same-gpu" ? 0 : rank);
    if (name == "world" && rank == 1)
    {
        return 0; // never joins
    }
    const ncclUniqueId id = Id(file);
    ncclCommInitRank(&comm, name == "ranks" ? ranks + rank : ranks, id, rank);
    cudaMalloc(&buffer, 4096);
    cudaStreamCreate(&stream);
    Run(name);
    return 0;
}
