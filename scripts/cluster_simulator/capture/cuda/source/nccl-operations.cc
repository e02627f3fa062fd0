/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's operations: checked, and issued now or at the end of the thread's group.
 */
#include "nccl-calls.h"
#include "places.h"
#include "values.h"

#include <algorithm>
#include <cstddef>

using namespace gpus;

namespace
{

/// A buffer has to hold what the operation says. `role`: "reads", "writes".
void
CheckBuffer(Call& call,
            const ncclComm* comm,
            const Operation& operation,
            const void* at,
            std::size_t bytes,
            const char* role)
{
    Memory& memory = call.machine.memory();
    const Allocation* found = memory.Find(at);
    if (bytes == 0)
    {
        return;
    }
    const std::string what = "rank " + std::to_string(comm->rank) + ": " + operation.kind + " " +
                             role + " " + std::to_string(bytes) + " bytes of a buffer ";
    if (!found)
    {
        Mistake(call.lock, "buffer", operation.place, what + "that is no memory of a GPU");
    }
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(at) - memory.BeginOf(at));
    if (bytes > found->size - offset)
    {
        Mistake(call.lock,
                "buffer",
                operation.place,
                what + "that has " + std::to_string(found->size - offset));
    }
}

/// Bytes of `times` times `count` elements; the most there are, if that is more.
std::size_t
Bytes(std::size_t times, std::size_t count, std::size_t size)
{
    std::size_t bytes = 0;
    return __builtin_mul_overflow(times * size, count, &bytes) ? SIZE_MAX : bytes;
}

ncclResult_t
CheckAndIssue(ncclComm* comm,
              cudaStream_t handle,
              Operation operation,
              std::size_t sends,
              std::size_t receives)
{
    const std::string name = operation.kind;
    if (const ncclResult_t result = Check(comm, name.c_str()))
    {
        return result;
    }
    const std::size_t size = TypeBytes(operation.type);
    if (size == 0)
    {
        return Wrong(ncclInvalidArgument,
                     name + ": " + std::to_string(operation.type) + " is no data type");
    }
    if (operation.HasRoot() && (operation.root < 0 || operation.root >= comm->ranks))
    {
        return Wrong(ncclInvalidArgument,
                     name + ": " + (operation.IsMessage() ? "peer " : "root ") +
                         std::to_string(operation.root) + "; allowed: 0 to " +
                         std::to_string(comm->ranks - 1));
    }
    Call call;
    if (operation.reduction >= ncclNumOps)
    {
        const auto found = comm->scales.find(operation.reduction);
        if (found == comm->scales.end())
        {
            return Wrong(ncclInvalidArgument,
                         name + ": " + std::to_string(operation.reduction) +
                             " is no reduction of this communicator");
        }
        operation.scale = found->second;
    }
    else if (operation.reduction < (operation.Reduces() ? 0 : -1))
    {
        return Wrong(ncclInvalidArgument,
                     name + ": " + std::to_string(operation.reduction) + " is no reduction");
    }
    operation.place = Place();
    const bool isDefault = reinterpret_cast<uintptr_t>(handle) <= 2;
    operation.stream = isDefault ? comm->gpu->streams[0].get() : call.machine.Find(handle);
    if (!operation.stream || operation.stream->gpu != comm->gpu)
    {
        return Wrong(ncclUnhandledCudaError,
                     name + ": the stream is none of GPU " + std::to_string(comm->ordinal) +
                         ", which rank " + std::to_string(comm->rank) + " is on");
    }
    if (operation.send)
    {
        CheckBuffer(call,
                    comm,
                    operation,
                    operation.send,
                    Bytes(sends, operation.count, size),
                    "reads");
    }
    if (operation.receive)
    {
        CheckBuffer(call,
                    comm,
                    operation,
                    operation.receive,
                    Bytes(receives, operation.count, size),
                    "writes");
    }
    const bool noSend = sends > 0 && !operation.send;
    if (operation.count > 0 && (noSend || (receives > 0 && !operation.receive)))
    {
        return Wrong(ncclInvalidArgument,
                     name + ": the buffer that it " + (noSend ? "reads" : "writes") + " is NULL");
    }
    Group& group = TheGroup();
    if (group.depth > 0)
    {
        if (std::find(group.comms.begin(), group.comms.end(), comm) == group.comms.end())
        {
            group.comms.push_back(comm);
        }
        group.operations.emplace_back(comm, std::move(operation));
        return ncclSuccess;
    }
    Communicate(comm, {operation});
    call.machine.Progress(call.lock);
    return ncclSuccess;
}

/// One of NCCL's operations: checked, and issued now or at the group's end, which fails if one of
/// them did. `sends`, `receives`: how many times `count` elements the buffers hold.
ncclResult_t
Operate(ncclComm* comm,
        cudaStream_t handle,
        Operation operation,
        std::size_t sends,
        std::size_t receives)
{
    const ncclResult_t result = CheckAndIssue(comm, handle, std::move(operation), sends, receives);
    Group& group = TheGroup();
    if (group.depth > 0 && group.error == ncclSuccess)
    {
        group.error = result;
    }
    return result;
}

std::size_t
Ranks(const ncclComm* comm)
{
    return comm ? static_cast<std::size_t>(comm->ranks) : 0;
}

} // namespace

extern "C"
{
    // ---- reductions

    ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op,
                                          void* scalar,
                                          ncclDataType_t type,
                                          ncclScalarResidence_t,
                                          ncclComm_t comm)
    {
        if (const ncclResult_t result = Check(comm, "ncclRedOpCreatePreMulSum"))
        {
            return result;
        }
        if (!op || !scalar || TypeBytes(type) == 0)
        {
            return Wrong(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: a pointer or the type");
        }
        Call call;
        // (The GPU's memory is the host's here; a scalar in it is read now, not later.)
        comm->scales[comm->nextReduction] = Number(type, scalar);
        *op = static_cast<ncclRedOp_t>(comm->nextReduction++);
        return ncclSuccess;
    }

    ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
    {
        if (const ncclResult_t result = Check(comm, "ncclRedOpDestroy"))
        {
            return result;
        }
        Call call;
        return comm->scales.erase(op) ? ncclSuccess
                                      : Wrong(ncclInvalidArgument,
                                              "ncclRedOpDestroy: " + std::to_string(op) +
                                                  " is no reduction that was made");
    }

    // ---- operations

    ncclResult_t ncclAllReduce(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t op,
                               ncclComm_t comm,
                               cudaStream_t stream)
    {
        return Operate(comm, stream, {"all_reduce", send, receive, count, type, op}, 1, 1);
    }

    ncclResult_t ncclReduce(const void* send,
                            void* receive,
                            std::size_t count,
                            ncclDataType_t type,
                            ncclRedOp_t op,
                            int root,
                            ncclComm_t comm,
                            cudaStream_t stream)
    {
        const bool isRoot = comm && comm->rank == root;
        void* target = isRoot ? receive : nullptr;
        return Operate(comm, stream, {"reduce", send, target, count, type, op, root}, 1, isRoot);
    }

    ncclResult_t ncclBroadcast(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               int root,
                               ncclComm_t comm,
                               cudaStream_t stream)
    {
        const bool isRoot = comm && comm->rank == root;
        const void* source = isRoot ? send : nullptr;
        return Operate(comm,
                       stream,
                       {"broadcast", source, receive, count, type, -1, root},
                       isRoot,
                       1);
    }

    ncclResult_t ncclBcast(void* buffer,
                           std::size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t comm,
                           cudaStream_t stream)
    {
        return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
    }

    ncclResult_t ncclReduceScatter(const void* send,
                                   void* receive,
                                   std::size_t count,
                                   ncclDataType_t type,
                                   ncclRedOp_t op,
                                   ncclComm_t comm,
                                   cudaStream_t stream)
    {
        return Operate(comm,
                       stream,
                       {"reduce_scatter", send, receive, count, type, op},
                       Ranks(comm),
                       1);
    }

    ncclResult_t ncclAllGather(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclComm_t comm,
                               cudaStream_t stream)
    {
        return Operate(comm, stream, {"all_gather", send, receive, count, type}, 1, Ranks(comm));
    }

    ncclResult_t ncclAlltoAll(const void* send,
                              void* receive,
                              std::size_t count,
                              ncclDataType_t type,
                              ncclComm_t comm,
                              cudaStream_t stream)
    {
        return Operate(comm,
                       stream,
                       {"alltoall", send, receive, count, type},
                       Ranks(comm),
                       Ranks(comm));
    }

    ncclResult_t ncclGather(const void* send,
                            void* receive,
                            std::size_t count,
                            ncclDataType_t type,
                            int root,
                            ncclComm_t comm,
                            cudaStream_t stream)
    {
        const bool isRoot = comm && comm->rank == root;
        void* target = isRoot ? receive : nullptr;
        return Operate(comm,
                       stream,
                       {"gather", send, target, count, type, -1, root},
                       1,
                       isRoot ? Ranks(comm) : 0);
    }

    ncclResult_t ncclScatter(const void* send,
                             void* receive,
                             std::size_t count,
                             ncclDataType_t type,
                             int root,
                             ncclComm_t comm,
                             cudaStream_t stream)
    {
        const bool isRoot = comm && comm->rank == root;
        const void* source = isRoot ? send : nullptr;
        return Operate(comm,
                       stream,
                       {"scatter", source, receive, count, type, -1, root},
                       isRoot ? Ranks(comm) : 0,
                       1);
    }

    ncclResult_t ncclSend(const void* buffer,
                          std::size_t count,
                          ncclDataType_t type,
                          int peer,
                          ncclComm_t comm,
                          cudaStream_t stream)
    {
        return Operate(comm, stream, {"send", buffer, nullptr, count, type, -1, peer}, 1, 0);
    }

    ncclResult_t ncclRecv(void* buffer,
                          std::size_t count,
                          ncclDataType_t type,
                          int peer,
                          ncclComm_t comm,
                          cudaStream_t stream)
    {
        return Operate(comm, stream, {"recv", nullptr, buffer, count, type, -1, peer}, 0, 1);
    }
}

ALIAS(ncclRedOpCreatePreMulSum)
ALIAS(ncclRedOpDestroy)
ALIAS(ncclReduce)
ALIAS(ncclBcast)
ALIAS(ncclBroadcast)
ALIAS(ncclAllReduce)
ALIAS(ncclReduceScatter)
ALIAS(ncclAllGather)
ALIAS(ncclAlltoAll)
ALIAS(ncclGather)
ALIAS(ncclScatter)
ALIAS(ncclSend)
ALIAS(ncclRecv)
