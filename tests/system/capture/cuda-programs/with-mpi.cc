/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One process a GPU, by MPI: the id of the communicator goes by MPI_Bcast, times by MPI_Wtime.
 */
#include <cstdio>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>
#include <vector>

int
main(int words, char** word)
{
    MPI_Init(&words, &word);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int gpus = 0;
    cudaGetDeviceCount(&gpus);
    cudaSetDevice(rank % gpus);
    ncclUniqueId id{};
    if (rank == 0)
    {
        ncclGetUniqueId(&id);
    }
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclComm_t comm = nullptr;
    ncclCommInitRank(&comm, ranks, id, rank);
    constexpr std::size_t kCount = 1 << 18;
    double* buffer = nullptr;
    cudaMalloc(&buffer, kCount * sizeof(double));
    std::vector<double> values(kCount, rank + 1);
    cudaMemcpy(buffer, values.data(), kCount * sizeof(double), cudaMemcpyHostToDevice);
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(2000 * static_cast<unsigned>(rank)); // ranks do not come together
    ncclAllReduce(buffer, buffer, kCount, ncclDouble, ncclAvg, comm, stream);
    cudaStreamSynchronize(stream);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    ncclAllReduce(buffer, buffer, kCount, ncclDouble, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    double us = (MPI_Wtime() - begin) * 1e6;
    double most = 0;
    MPI_Reduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    cudaMemcpy(values.data(), buffer, kCount * sizeof(double), cudaMemcpyDeviceToHost);
    // The mean of 1, 2, ..., n, n times.
    const bool right = values[0] == ranks * (ranks + 1) / 2.0 && values[kCount - 1] == values[0];
    int all = 0;
    const int mine = right ? 1 : 0;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
    {
        std::printf("%.3f us, %d of %d right\n", most, all, ranks);
    }
    ncclCommDestroy(comm);
    MPI_Finalize();
    return 0;
}
