/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What NCCL's calls share: a thread's group, the last error, whether a communicator can be used.
 */
#ifndef CUDA_NCCL_CALLS_H
#define CUDA_NCCL_CALLS_H

#include "api.h"
#include "communication.h"

#include <string>
#include <utility>
#include <vector>

// Profilers' names: pncclX is ncclX.
#define ALIAS(name) asm(".globl p" #name "\n.set p" #name ", " #name);

namespace gpus
{

/// What a thread's group has so far.
struct Group
{
    int depth = 0;
    std::string place;                ///< of the first ncclGroupStart
    ncclResult_t error = ncclSuccess; ///< of the first call in it that failed
    std::vector<uint64_t> requests;
    bool pending = false;         ///< a communicator is made that nobody waits for
    std::vector<ncclComm*> comms; ///< in the order of their first operations
    std::vector<std::pair<ncclComm*, Operation>> operations;

    ~Group();
};

/// This thread's.
Group& TheGroup();

/// The result, after ncclGetLastError has been given the words.
ncclResult_t Wrong(ncclResult_t result, const std::string& why);

/// Whether a communicator can be used; else why not.
ncclResult_t Check(const ncclComm* comm, const char* call);

} // namespace gpus

#endif // CUDA_NCCL_CALLS_H
