/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The runtime: streams, events, graphs.
 */
#include "api.h"

#include <algorithm>
#include <unordered_set>

using namespace gpus;

namespace
{

/// What the program may name: a handle that is none, or was destroyed, is found here.
template <class T>
std::unordered_set<T*>&
Living()
{
    static auto& living = *new std::unordered_set<T*>;
    return living;
}

/// Null: there is none of this handle.
template <class T>
T*
Of(void* handle)
{
    auto* made = static_cast<T*>(handle);
    return Living<T>().count(made) ? made : nullptr;
}

Event*
EventOf(cudaEvent_t handle)
{
    return Of<Event>(handle);
}

template <class T>
T*
Made(T* made)
{
    Living<T>().insert(made);
    return made;
}

/// \return whether there was one
template <class T>
bool
Destroyed(void* handle)
{
    T* made = Of<T>(handle);
    Living<T>().erase(made);
    delete made;
    return made != nullptr;
}

/// Made of a graph, with a handle of its own kind.
struct Executable : Graph
{
};

/// The stream of a handle that is not being captured, in `stream`.
cudaError_t
Idle(Machine& machine, cudaStream_t handle, Stream** stream)
{
    *stream = machine.Find(handle);
    if (!*stream)
    {
        return cudaErrorInvalidResourceHandle;
    }
    return IsCaptured(*stream) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

/// Whether all before a time is done; a program that asks waits for it.
cudaError_t
Query(Call& call, bool done, Time at)
{
    if (!done)
    {
        call.machine.WaitShortly(call.lock);
        return cudaErrorNotReady;
    }
    AdvanceTo(at);
    return cudaSuccess;
}

/// The stream calls a function of the program.
template <class Function>
cudaError_t
CallBack(cudaStream_t handle, bool isGiven, const Function& function)
{
    Call call;
    Machine& machine = call.machine;
    Stream* stream = machine.Find(handle);
    if (!stream || !isGiven)
    {
        return Result(cudaErrorInvalidValue);
    }
    machine.Issue(stream, [&machine, function](Stream* on) { machine.AddCallback(on, function); });
    machine.Progress(call.lock);
    return cudaSuccess;
}

} // namespace

extern "C"
{
    // ---- streams

    cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority)
    {
        Call call;
        if (!stream || flags > cudaStreamNonBlocking)
        {
            return Result(cudaErrorInvalidValue);
        }
        if (TheSettings().visible.empty())
        {
            return Result(cudaErrorNoDevice);
        }
        *stream = reinterpret_cast<cudaStream_t>(call.machine.NewStream(flags, priority));
        return cudaSuccess;
    }

    cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags)
    {
        return cudaStreamCreateWithPriority(stream, flags, 0);
    }

    cudaError_t cudaStreamCreate(cudaStream_t* stream)
    {
        return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
    }

    cudaError_t cudaStreamDestroy(cudaStream_t handle)
    {
        Call call;
        Stream* stream = call.machine.Find(handle);
        if (!stream || stream->number == 0)
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        // What is on it is still done: here, before the handle is gone; the clock does not move.
        call.machine.WaitUntil(call.lock, [stream](Time*) { return stream->works.empty(); });
        call.machine.Destroy(stream);
        return cudaSuccess;
    }

    cudaError_t cudaStreamSynchronize(cudaStream_t handle)
    {
        Call call;
        Stream* stream = nullptr;
        if (const cudaError_t error = Idle(call.machine, handle, &stream))
        {
            return Result(error);
        }
        RecordSync(stream->gpu->number, stream->number, 0);
        call.machine.Synchronize(call.lock, stream);
        return cudaSuccess;
    }

    cudaError_t cudaStreamQuery(cudaStream_t handle)
    {
        Call call;
        Stream* stream = nullptr;
        if (const cudaError_t error = Idle(call.machine, handle, &stream))
        {
            return Result(error);
        }
        call.machine.Progress(call.lock);
        // (Not ready is no error that cudaGetLastError would tell.)
        return Query(call, stream->works.empty(), stream->ready);
    }

    cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
    {
        Call call;
        Machine& machine = call.machine;
        Stream* stream = machine.Find(handle);
        if (!stream || !EventOf(event))
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        if (const auto graph = EventOf(event)->captured)
        {
            // The stream joins the capture; a graph is one row of works here.
            stream->captured = stream->captured ? stream->captured : graph;
            Note("branches of a graph are done one behind another");
            return Result(stream->captured == graph ? cudaSuccess
                                                    : cudaErrorStreamCaptureInvalidated);
        }
        const auto moment = EventOf(event)->moment;
        if (moment)
        {
            machine.Issue(stream, [&machine, moment](Stream* on) { machine.WaitFor(on, moment); });
            machine.Progress(call.lock);
        }
        return cudaSuccess;
    }

    cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags)
    {
        Call call;
        const Stream* stream = call.machine.Find(handle);
        if (!stream || !flags)
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        *flags = stream->flags;
        return cudaSuccess;
    }

    cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority)
    {
        Call call;
        const Stream* stream = call.machine.Find(handle);
        if (!stream || !priority)
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        *priority = stream->priority;
        return cudaSuccess;
    }

    cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data)
    {
        return CallBack(handle, function, [function, data] { function(data); });
    }

    cudaError_t cudaStreamAddCallback(cudaStream_t handle,
                                      cudaStreamCallback_t function,
                                      void* data,
                                      unsigned)
    {
        return CallBack(handle, function, [function, handle, data] {
            function(handle, cudaSuccess, data);
        });
    }

    // ---- events

    cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags)
    {
        Call call;
        // BlockingSync, DisableTiming, Interprocess, which is without times
        if (!event || flags > 7 || (flags & 6) == 4)
        {
            return Result(cudaErrorInvalidValue);
        }
        auto* made = Made(new Event);
        made->flags = flags;
        *event = reinterpret_cast<cudaEvent_t>(made);
        return cudaSuccess;
    }

    cudaError_t cudaEventCreate(cudaEvent_t* event)
    {
        return cudaEventCreateWithFlags(event, cudaEventDefault);
    }

    cudaError_t cudaEventDestroy(cudaEvent_t event)
    {
        Call call;
        return Result(Destroyed<Event>(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
    }

    cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned)
    {
        Call call;
        Machine& machine = call.machine;
        Stream* stream = machine.Find(handle);
        if (!stream || !EventOf(event))
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        EventOf(event)->captured = stream->captured;
        Event* told = EventOf(event);
        if (!IsCaptured(stream))
        {
            machine.Issue(stream, [&machine, told](Stream* on) {
                told->moment = machine.RecordMoment(on);
            });
        }
        machine.Progress(call.lock);
        return cudaSuccess;
    }

    cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
    {
        return cudaEventRecordWithFlags(event, stream, 0);
    }

    cudaError_t cudaEventSynchronize(cudaEvent_t event)
    {
        Call call;
        if (!EventOf(event))
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        if (const auto moment = EventOf(event)->moment)
        {
            RecordSync(-1, -1, moment->number);
            call.machine.WaitUntil(call.lock, [&moment](Time* until) {
                *until = moment->at;
                return moment->reached;
            });
        }
        return cudaSuccess;
    }

    cudaError_t cudaEventQuery(cudaEvent_t event)
    {
        Call call;
        if (!EventOf(event))
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        const auto moment = EventOf(event)->moment;
        call.machine.Progress(call.lock);
        return moment ? Query(call, moment->reached, moment->at) : cudaSuccess;
    }

    cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end)
    {
        Call call;
        if (!milliseconds || !EventOf(start) || !EventOf(end))
        {
            return Result(milliseconds ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
        }
        const auto from = EventOf(start)->moment;
        const auto to = EventOf(end)->moment;
        const unsigned untimed = cudaEventDisableTiming;
        if (!from || !to || ((EventOf(start)->flags | EventOf(end)->flags) & untimed))
        {
            return Result(cudaErrorInvalidResourceHandle);
        }
        // (What has not been waited for is not ready, though its time may be known here.)
        if (!from->reached || !to->reached || std::max(from->at, to->at) > Now())
        {
            return Result(cudaErrorNotReady);
        }
        *milliseconds = static_cast<float>(static_cast<double>(to->at - from->at) * 1e-9);
        return cudaSuccess;
    }

    cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end)
    {
        return cudaEventElapsedTime(milliseconds, start, end);
    }

    // ---- graphs

    cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode)
    {
        Call call;
        Stream* stream = call.machine.Find(handle);
        if (!stream || stream->number == 0)
        {
            return Result(stream ? cudaErrorStreamCaptureUnsupported
                                 : cudaErrorInvalidResourceHandle);
        }
        if (IsCaptured(stream))
        {
            return Result(cudaErrorInvalidValue);
        }
        stream->captured = std::make_shared<Graph>();
        stream->captureBegan = true;
        return cudaSuccess;
    }

    cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph)
    {
        Call call;
        Stream* stream = call.machine.Find(handle);
        if (!stream || !graph || !stream->captured || !stream->captureBegan)
        {
            return Result(cudaErrorStreamCaptureUnmatched);
        }
        const auto made = stream->captured;
        *graph = reinterpret_cast<cudaGraph_t>(Made(new Graph(*made)));
        for (int i = 0; IsGpu(i); ++i)
        {
            for (const auto& one : call.machine.GpuAt(i).streams)
            {
                if (one->captured == made)
                {
                    one->captured = nullptr;
                    one->captureBegan = false;
                }
            }
        }
        return cudaSuccess;
    }

    cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status)
    {
        Call call;
        const Stream* stream = call.machine.Find(handle);
        if (!stream || !status)
        {
            return Result(cudaErrorInvalidValue);
        }
        *status = IsCaptured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        return cudaSuccess;
    }

    cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode)
    {
        thread_local cudaStreamCaptureMode mine = cudaStreamCaptureModeGlobal;
        if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
        {
            return Result(cudaErrorInvalidValue);
        }
        std::swap(mine, *mode);
        return cudaSuccess;
    }

    cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long)
    {
        Call call;
        const Graph* found = Of<Graph>(graph);
        if (!made || !found)
        {
            return Result(cudaErrorInvalidValue);
        }
        *made = reinterpret_cast<cudaGraphExec_t>(Made(new Executable{*found}));
        return cudaSuccess;
    }

    cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made,
                                              cudaGraph_t graph,
                                              unsigned long long flags)
    {
        return cudaGraphInstantiate(made, graph, flags);
    }

    cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t)
    {
        Call call;
        return Result(Of<Executable>(graph) ? cudaSuccess : cudaErrorInvalidValue);
    }

    cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t handle)
    {
        Call call;
        Stream* stream = call.machine.Find(handle);
        const Executable* found = Of<Executable>(graph);
        if (!stream || !found)
        {
            return Result(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
        }
        for (const auto& issue : found->issues)
        {
            call.machine.Issue(stream, issue);
        }
        call.machine.Progress(call.lock);
        return cudaSuccess;
    }

    cudaError_t cudaGraphDestroy(cudaGraph_t graph)
    {
        Call call;
        return Result(Destroyed<Graph>(graph) ? cudaSuccess : cudaErrorInvalidValue);
    }

    cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
    {
        Call call;
        return Result(Destroyed<Executable>(graph) ? cudaSuccess : cudaErrorInvalidValue);
    }
}
