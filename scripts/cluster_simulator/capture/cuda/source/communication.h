/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives and messages on streams. The coordinator is told of each twice: when the program
 * issues it (what it is, which it compares among ranks) and when its stream has come to it (when,
 * and where its buffers are). It answers with the time at which it ends.
 */
#ifndef CUDA_COMMUNICATION_H
#define CUDA_COMMUNICATION_H

#include "../include/nccl.h"
#include "machine.h"

#include <map>
#include <string>
#include <vector>

struct ncclComm
{
    int64_t id = -1; ///< of the communicator in the job; -1: not there yet
    int rank = 0;
    int ranks = 0;
    int ordinal = 0; ///< of the GPU, as the program counts
    gpus::Gpu* gpu = nullptr;
    bool gone = false;            ///< destroyed, or none for this rank
    bool blocking = true;         ///< calls wait for what they ask for
    std::map<int, double> scales; ///< of reductions that the program made
    int nextReduction = ncclNumOps;
};

namespace gpus
{

/// One call of the program.
struct Operation
{
    std::string kind; ///< "all_reduce", ..., "send", "recv"
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0; ///< as the call has it
    int type = 0;
    int reduction = -1; ///< -1: none
    int root = -1;      ///< or the peer
    double scale = 1;
    std::string place{};
    Stream* stream = nullptr;

    bool IsMessage() const
    {
        return kind == "send" || kind == "recv";
    }

    bool Reduces() const
    {
        return kind == "all_reduce" || kind == "reduce" || kind == "reduce_scatter";
    }

    bool HasRoot() const
    {
        return kind == "broadcast" || kind == "reduce" || kind == "gather" || kind == "scatter" ||
               IsMessage();
    }
};

/// Issues what a communicator has in one group (or one call), on the streams of the operations.
void Communicate(ncclComm* comm, const std::vector<Operation>& operations);

/// Asks the coordinator for a communicator: `question` is its line without the number of the
/// request. Returns that number.
uint64_t Ask(const std::string& kind, const std::string& question, ncclComm* comm);
/// Waits until all of these are there.
void Await(Machine::Lock& lock, const std::vector<uint64_t>& requests);

/// Tells of a mistake, and does not return.
[[noreturn]] void Mistake(Machine::Lock& lock,
                          const std::string& kind,
                          const std::string& place,
                          const std::string& text);

} // namespace gpus

#endif // CUDA_COMMUNICATION_H
