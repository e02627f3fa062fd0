/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's calls but for its operations (nccl-operations.cc). Groups are of a thread: what is called
 * between ncclGroupStart and ncclGroupEnd is kept, and issued at its end.
 */
#include "nccl-calls.h"
#include "places.h"

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

thread_local std::string t_lastError;

} // namespace

namespace gpus
{

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

ncclResult_t
Wrong(ncclResult_t result, const std::string& why)
{
    t_lastError = why;
    return result;
}

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

} // namespace gpus

namespace
{

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

/// The same, of one that is asked something; `answer` is where it has to go.
ncclResult_t
CheckAsked(const ncclComm* comm, const int* answer, const char* call)
{
    const ncclResult_t result = Check(comm, call);
    return result == ncclSuccess && !answer
               ? Wrong(ncclInvalidArgument, std::string(call) + ": the pointer is NULL")
               : result;
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
ALIAS(ncclGroupStart)
ALIAS(ncclGroupEnd)
ALIAS(ncclGroupSimulateEnd)
