/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's calls. Groups are of a thread: what is called between ncclGroupStart and ncclGroupEnd is
 * kept, and issued at its end.
 */
#include "api.h"
#include "communication.h"
#include "places.h"
#include "values.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace gpus;

namespace
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

Group&
TheGroup()
{
    thread_local Group group;
    return group;
}

Group::~Group()
{
    if (depth == 0)
    {
        return;
    }
    Machine::Lock lock(Machine::Get().mutex);
    std::string calls = "nothing was called in it";
    if (!operations.empty())
    {
        std::string what = operations.front().second.kind;
        std::replace(what.begin(), what.end(), ' ', '_');
        calls = std::to_string(operations.size()) + " calls in it were never issued, first " + what;
    }
    Mistake(lock,
            "group",
            place,
            "the program ends with a group that is still open: no ncclGroupEnd; " + calls);
}

thread_local std::string t_lastError;

ncclResult_t
Wrong(ncclResult_t result, const std::string& why)
{
    t_lastError = why;
    return result;
}

/// A key for a communicator, which programs hand on: text, then zeros.
void
MakeKey(ncclUniqueId* id)
{
    static std::atomic<unsigned> counter{0};
    std::random_device random;
    std::memset(id->internal, 0, sizeof(id->internal));
    std::snprintf(id->internal,
                  sizeof(id->internal),
                  "dltrain-%d-%u-%08x%08x",
                  getpid(),
                  ++counter,
                  random(),
                  random());
}

std::string
KeyOf(const ncclUniqueId& id)
{
    std::string text(id.internal, strnlen(id.internal, sizeof(id.internal)));
    return text.empty() ? "-" : Word(text);
}

/// Waits for a communicator, or leaves that to the group's end.
void
Finish(Machine::Lock& lock, std::vector<uint64_t> requests)
{
    Group& group = TheGroup();
    if (group.depth > 0)
    {
        group.requests.insert(group.requests.end(), requests.begin(), requests.end());
        return;
    }
    Await(lock, requests);
}

ncclComm*
NewComm(Machine& machine, int ordinal)
{
    auto* made = new ncclComm;
    made->ordinal = ordinal;
    made->gpu = &machine.GpuAt(ordinal);
    return made;
}

uint64_t
AskToJoin(ncclComm* comm, const std::string& key, int ranks, int rank)
{
    std::ostringstream question;
    question << key << " " << ranks << " " << rank << " " << comm->gpu->number << " " << Place();
    comm->rank = rank;
    comm->ranks = ranks;
    return Ask("init", question.str(), comm);
}

/// Whether a call with this configuration waits for its communicator; none: nobody says it.
/// Null if it is none that NCCL_CONFIG_INITIALIZER began.
std::optional<bool>
IsBlocking(const ncclConfig_t* config, bool otherwise)
{
    if (!config)
    {
        return otherwise;
    }
    const std::size_t known = offsetof(ncclConfig_t, blocking) + sizeof(int);
    if (config->magic != 0xcafebeef || config->size < known ||
        (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 &&
         config->blocking != 1))
    {
        return std::nullopt;
    }
    return config->blocking == NCCL_CONFIG_UNDEF_INT ? otherwise : config->blocking == 1;
}

constexpr const char* kNoConfig =
    ": the configuration does not begin with NCCL_CONFIG_INITIALIZER, or blocking is neither 0 nor "
    "1";

/// What a call returns that asks for a communicator: it waits, or the program asks for its state.
ncclResult_t
Asked(Machine::Lock& lock, const ncclComm* comm, uint64_t request)
{
    if (comm->blocking)
    {
        Finish(lock, {request});
        return ncclSuccess;
    }
    TheGroup().pending = true;
    return TheGroup().depth > 0 ? ncclSuccess : ncclInProgress;
}

ncclResult_t
Init(ncclComm_t* comm,
     int ranks,
     const ncclUniqueId& id,
     int rank,
     const ncclConfig_t* config = nullptr)
{
    const auto blocking = IsBlocking(config, true);
    if (!blocking)
    {
        return Wrong(ncclInvalidArgument, std::string("ncclCommInitRankConfig") + kNoConfig);
    }
    if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
    {
        return Wrong(ncclInvalidArgument,
                     "ncclCommInitRank: rank " + std::to_string(rank) + " of " +
                         std::to_string(ranks) + "; allowed: 0 to the number of ranks less one");
    }
    if (KeyOf(id).rfind("dltrain-", 0) != 0)
    {
        return Wrong(ncclInvalidArgument,
                     "ncclCommInitRank: the id is none that ncclGetUniqueId made");
    }
    Call call;
    if (!IsGpu(CurrentOrdinal()))
    {
        return Wrong(ncclUnhandledCudaError, "there is no such GPU");
    }
    *comm = NewComm(call.machine, CurrentOrdinal());
    (*comm)->blocking = *blocking;
    return Asked(call.lock, *comm, AskToJoin(*comm, KeyOf(id), ranks, rank));
}

/// Whether a communicator can be used; else why not.
ncclResult_t
Check(const ncclComm* comm, const char* call)
{
    if (!comm)
    {
        return Wrong(ncclInvalidArgument, std::string(call) + ": the communicator is NULL");
    }
    if (comm->gone)
    {
        return Wrong(ncclInvalidArgument,
                     std::string(call) + ": the communicator was destroyed before");
    }
    if (!comm->blocking && comm->id < 0)
    {
        return Wrong(ncclInvalidArgument,
                     std::string(call) + ": the communicator is not there yet: ask "
                                         "ncclCommGetAsyncError until it is no more in progress");
    }
    return ncclSuccess;
}

/// The same, of one that is asked something; `answer` is where it has to go.
ncclResult_t
CheckAsked(const ncclComm* comm, const int* answer, const char* call)
{
    const ncclResult_t result = Check(comm, call);
    return result == ncclSuccess && !answer
               ? Wrong(ncclInvalidArgument, std::string(call) + ": the pointer is NULL")
               : result;
}

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
    // ---- of the library

    ncclResult_t ncclGetVersion(int* version)
    {
        if (!version)
        {
            return Wrong(ncclInvalidArgument, "ncclGetVersion: the pointer is NULL");
        }
        *version = NCCL_VERSION_CODE;
        return ncclSuccess;
    }

    const char* ncclGetErrorString(ncclResult_t result)
    {
        constexpr const char* kTexts[] = {"no error",
                                          "unhandled cuda error",
                                          "unhandled system error",
                                          "internal error",
                                          "invalid argument",
                                          "invalid usage",
                                          "remote process exited or there was a network error",
                                          "NCCL operation in progress"};
        return result >= 0 && result < ncclNumResults ? kTexts[result] : "unknown result code";
    }

    const char* ncclGetLastError(ncclComm_t)
    {
        return t_lastError.c_str();
    }

    void ncclResetDebugInit()
    {
    }

    ncclResult_t ncclMemAlloc(void** pointer, std::size_t size)
    {
        return cudaMalloc(pointer, size) == cudaSuccess
                   ? ncclSuccess
                   : Wrong(ncclUnhandledCudaError, "ncclMemAlloc: the GPU's memory is full");
    }

    ncclResult_t ncclMemFree(void* pointer)
    {
        return cudaFree(pointer) == cudaSuccess
                   ? ncclSuccess
                   : Wrong(ncclInvalidArgument, "ncclMemFree: this is no memory of a GPU");
    }

    // ---- communicators

    ncclResult_t ncclGetUniqueId(ncclUniqueId* id)
    {
        if (!id)
        {
            return Wrong(ncclInvalidArgument, "ncclGetUniqueId: the pointer is NULL");
        }
        Call call;
        MakeKey(id);
        return ncclSuccess;
    }

    ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank)
    {
        return Init(comm, ranks, id, rank);
    }

    ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm,
                                        int ranks,
                                        ncclUniqueId id,
                                        int rank,
                                        ncclConfig_t* config)
    {
        return Init(comm, ranks, id, rank, config);
    }

    ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm,
                                          int ranks,
                                          int rank,
                                          int count,
                                          ncclUniqueId* ids,
                                          ncclConfig_t* config)
    {
        if (!ids || count < 1)
        {
            return Wrong(ncclInvalidArgument, "ncclCommInitRankScalable: there is no id");
        }
        return Init(comm, ranks, ids[0], rank, config);
    }

    ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices)
    {
        if (!comms || count < 1)
        {
            return Wrong(ncclInvalidArgument, "ncclCommInitAll: no communicators are asked for");
        }
        Call call;
        std::vector<bool> taken(TheSettings().visible.size());
        for (int i = 0; i < count; ++i)
        {
            const int device = devices ? devices[i] : i;
            if (!IsGpu(device))
            {
                return Wrong(devices ? ncclInvalidArgument : ncclUnhandledCudaError,
                             "ncclCommInitAll: there is no GPU " + std::to_string(device));
            }
            if (taken[static_cast<std::size_t>(device)])
            {
                return Wrong(ncclInvalidUsage,
                             "ncclCommInitAll: GPU " + std::to_string(device) + " is named twice");
            }
            taken[static_cast<std::size_t>(device)] = true;
        }
        ncclUniqueId id;
        MakeKey(&id);
        std::vector<uint64_t> requests;
        for (int i = 0; i < count; ++i)
        {
            comms[i] = NewComm(call.machine, devices ? devices[i] : i);
            requests.push_back(AskToJoin(comms[i], KeyOf(id), count, i));
        }
        Finish(call.lock, requests);
        return ncclSuccess;
    }

    ncclResult_t ncclCommSplit(ncclComm_t comm,
                               int color,
                               int key,
                               ncclComm_t* made,
                               ncclConfig_t* config)
    {
        if (const ncclResult_t result = Check(comm, "ncclCommSplit"))
        {
            return result;
        }
        if (!made || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        {
            return Wrong(ncclInvalidArgument,
                         "ncclCommSplit: color " + std::to_string(color) +
                             "; allowed: 0 and more, or NCCL_SPLIT_NOCOLOR");
        }
        const auto blocking = IsBlocking(config, comm->blocking);
        if (!blocking)
        {
            return Wrong(ncclInvalidArgument, std::string("ncclCommSplit") + kNoConfig);
        }
        Call call;
        ncclComm* child = NewComm(call.machine, comm->ordinal);
        child->blocking = *blocking || color == NCCL_SPLIT_NOCOLOR;
        std::ostringstream question;
        question << comm->id << " " << comm->rank << " " << color << " " << key << " " << Place();
        *made = color == NCCL_SPLIT_NOCOLOR ? nullptr : child;
        return Asked(call.lock, child, Ask("split", question.str(), child));
    }

    ncclResult_t ncclCommShrink(ncclComm_t comm,
                                int* excluded,
                                int count,
                                ncclComm_t* made,
                                ncclConfig_t* config,
                                int)
    {
        if (const ncclResult_t result = Check(comm, "ncclCommShrink"))
        {
            return result;
        }
        if (!made || !excluded || count < 1 || std::count(excluded, excluded + count, comm->rank))
        {
            return Wrong(ncclInvalidArgument,
                         "ncclCommShrink: ranks to leave out are needed, and they do not call it");
        }
        if (std::any_of(excluded, excluded + count, [comm](int rank) {
                return rank < 0 || rank >= comm->ranks;
            }))
        {
            return Wrong(ncclInvalidArgument,
                         "ncclCommShrink: a rank to leave out is none; allowed: 0 to " +
                             std::to_string(comm->ranks - 1));
        }
        const auto blocking = IsBlocking(config, comm->blocking);
        if (!blocking)
        {
            return Wrong(ncclInvalidArgument, std::string("ncclCommShrink") + kNoConfig);
        }
        Call call;
        *made = NewComm(call.machine, comm->ordinal);
        (*made)->blocking = *blocking;
        std::vector<int> sorted(excluded, excluded + count);
        std::sort(sorted.begin(), sorted.end());
        std::ostringstream question;
        question << comm->id << " " << comm->rank << " ";
        for (std::size_t i = 0; i < sorted.size(); ++i)
        {
            question << (i ? "," : "") << sorted[i];
        }
        question << " " << Place();
        return Asked(call.lock, *made, Ask("shrink", question.str(), *made));
    }

    ncclResult_t ncclCommFinalize(ncclComm_t comm)
    {
        return Check(comm, "ncclCommFinalize");
    }

    ncclResult_t ncclCommDestroy(ncclComm_t comm)
    {
        if (!comm)
        {
            return ncclSuccess;
        }
        if (comm->gone) // (one that is not there yet may go)
        {
            return Check(comm, "ncclCommDestroy");
        }
        Call call;
        // Its handle stays: a second call has to be told.
        comm->gone = true;
        return ncclSuccess;
    }

    ncclResult_t ncclCommAbort(ncclComm_t comm)
    {
        return ncclCommDestroy(comm);
    }

    ncclResult_t ncclCommRevoke(ncclComm_t comm, int)
    {
        return ncclCommDestroy(comm);
    }

    ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result)
    {
        if (!comm || !result)
        {
            return Wrong(ncclInvalidArgument, "ncclCommGetAsyncError: a pointer is NULL");
        }
        Call call;
        if (comm->id < 0 && !comm->gone)
        {
            call.machine.WaitShortly(call.lock); // who asks waits for it
        }
        *result = comm->id >= 0 || comm->gone ? ncclSuccess : ncclInProgress;
        return ncclSuccess;
    }

    ncclResult_t ncclCommCount(const ncclComm_t comm, int* count)
    {
        const ncclResult_t result = CheckAsked(comm, count, "ncclCommCount");
        if (result == ncclSuccess)
        {
            *count = comm->ranks;
        }
        return result;
    }

    ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device)
    {
        const ncclResult_t result = CheckAsked(comm, device, "ncclCommCuDevice");
        if (result == ncclSuccess)
        {
            *device = comm->ordinal;
        }
        return result;
    }

    ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank)
    {
        const ncclResult_t result = CheckAsked(comm, rank, "ncclCommUserRank");
        if (result == ncclSuccess)
        {
            *rank = comm->rank;
        }
        return result;
    }

    ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, std::size_t, void** handle)
    {
        const ncclResult_t result = Check(comm, "ncclCommRegister");
        if (result == ncclSuccess && handle)
        {
            *handle = buffer;
        }
        return result;
    }

    ncclResult_t ncclCommDeregister(const ncclComm_t comm, void*)
    {
        return Check(comm, "ncclCommDeregister");
    }

    ncclResult_t ncclCommWindowRegister(ncclComm_t comm,
                                        void* buffer,
                                        std::size_t,
                                        ncclWindow_t* window,
                                        int)
    {
        const ncclResult_t result = Check(comm, "ncclCommWindowRegister");
        if (result == ncclSuccess && window)
        {
            *window = static_cast<ncclWindow_t>(buffer);
        }
        return result;
    }

    ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t)
    {
        return Check(comm, "ncclCommWindowDeregister");
    }

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

    // ---- groups

    ncclResult_t ncclGroupStart()
    {
        Call call;
        Group& group = TheGroup();
        if (group.depth++ == 0)
        {
            group.place = Place();
        }
        return ncclSuccess;
    }

    ncclResult_t ncclGroupEnd()
    {
        Call call;
        Group& group = TheGroup();
        if (group.depth == 0)
        {
            return Wrong(ncclInvalidUsage, "ncclGroupEnd: there was no ncclGroupStart");
        }
        if (--group.depth > 0)
        {
            return ncclSuccess;
        }
        Await(call.lock, std::exchange(group.requests, {}));
        const bool pending = std::exchange(group.pending, false);
        const auto operations = std::exchange(group.operations, {});
        if (const ncclResult_t error = std::exchange(group.error, ncclSuccess))
        {
            group.comms.clear();
            return error; // (ncclGetLastError has its words) and nothing of it is issued
        }
        for (ncclComm* comm : std::exchange(group.comms, {}))
        {
            std::vector<Operation> mine;
            for (const auto& [of, operation] : operations)
            {
                if (of == comm)
                {
                    mine.push_back(operation);
                }
            }
            Communicate(comm, mine);
        }
        call.machine.Progress(call.lock);
        return pending ? ncclInProgress : ncclSuccess;
    }

    ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*)
    {
        return Wrong(ncclInvalidUsage, "ncclGroupSimulateEnd is not simulated");
    }
}

// Profilers' names: pncclX is ncclX.
#define ALIAS(name) asm(".globl p" #name "\n.set p" #name ", " #name);
ALIAS(ncclGetVersion)
ALIAS(ncclGetErrorString)
ALIAS(ncclGetLastError)
ALIAS(ncclResetDebugInit)
ALIAS(ncclMemAlloc)
ALIAS(ncclMemFree)
ALIAS(ncclGetUniqueId)
ALIAS(ncclCommInitRank)
ALIAS(ncclCommInitRankConfig)
ALIAS(ncclCommInitRankScalable)
ALIAS(ncclCommInitAll)
ALIAS(ncclCommSplit)
ALIAS(ncclCommShrink)
ALIAS(ncclCommFinalize)
ALIAS(ncclCommDestroy)
ALIAS(ncclCommAbort)
ALIAS(ncclCommGetAsyncError)
ALIAS(ncclCommCount)
ALIAS(ncclCommCuDevice)
ALIAS(ncclCommUserRank)
ALIAS(ncclCommRegister)
ALIAS(ncclCommDeregister)
ALIAS(ncclCommWindowRegister)
ALIAS(ncclCommWindowDeregister)
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
ALIAS(ncclGroupStart)
ALIAS(ncclGroupEnd)
ALIAS(ncclGroupSimulateEnd)
