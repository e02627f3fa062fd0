/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * KV of requests on its way from engines that do prompts to those that decode.
 */
#include "scenarios/inference/controller-instances.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace serving
{

void
Controller::ChooseDecoder(uint32_t request)
{
    State& state = m_states[request];
    std::tie(state.to, state.toEngine) = Route(1);
    m_requests[request].decodedBy = state.to;
    ++m_instances[state.to]->engines[state.toEngine]->requests;
}

bool
Controller::ReserveFor(uint32_t request, int64_t now)
{
    State& state = m_states[request];
    const RequestRecord& record = m_requests[request];
    Instance& instance = *m_instances[state.to];
    EngineOf& of = *instance.engines[state.toEngine];
    Account(instance, now);
    if (!state.decoding)
    {
        state.decoding = std::make_unique<Live>();
        state.decoding->id = request;
        state.decoding->prompt = record.prompt;
        state.decoding->output = record.output;
        state.decoding->produced = 1;
        state.decoding->cached = record.cached;
        state.decoding->computed = record.prompt;
    }
    const bool first = state.blockedSince >= 0 || of.blocked.empty();
    if (first && of.engine.Reserve(state.decoding.get()))
    {
        ++of.coming;
        if (state.blockedSince >= 0)
        {
            m_requests[request].kvBlocked = now - state.blockedSince;
        }
        return true;
    }
    if (state.blockedSince < 0)
    {
        state.blockedSince = now;
        of.blocked.push_back(request);
    }
    return false;
}

void
Controller::LeaveDecoders(Engine& engine, int64_t now)
{
    const auto leave = [&](const std::unique_ptr<Live>& live) {
        State& state = m_states[live->id];
        if (live->preemptions == 0 || state.whole || state.to == UINT32_MAX)
        {
            return;
        }
        state.whole = true;
        state.toSend = 0;
        Instance& instance = *m_instances[state.to];
        EngineOf& of = *instance.engines[state.toEngine];
        Account(instance, now);
        if (!state.decoding->blocks.empty())
        {
            of.engine.Blocks().Free(&state.decoding->blocks);
            --of.coming;
        }
        else
        {
            of.blocked.erase(std::find(of.blocked.begin(), of.blocked.end(), live->id));
        }
        state.blockedSince = -1;
        ServeBlocked(state.to, state.toEngine, now);
    };
    std::for_each(engine.Waiting().begin(), engine.Waiting().end(), leave);
    // One may have begun anew in the iteration that it was preempted in.
    std::for_each(engine.Running().begin(), engine.Running().end(), leave);
}

void
Controller::SendWhole(uint32_t request, int64_t now)
{
    State& state = m_states[request];
    RequestRecord& record = m_requests[request];
    record.kvBegin = record.kvBegin < 0 ? now : record.kvBegin;
    ++state.piecesLeft;
    m_backend.Transfer({request,
                        record.instance,
                        state.fromEngine,
                        state.to,
                        state.toEngine,
                        std::exchange(state.toSend, 0)});
}

void
Controller::SendByLayer(uint32_t index,
                        uint32_t engine,
                        const Batch& batch,
                        IterationOrder* order,
                        int64_t now)
{
    for (const Batch::Entry& entry : batch.entries)
    {
        const uint32_t id = entry.request->id;
        RequestRecord& record = m_requests[id];
        State& state = m_states[id];
        if (record.output == 1)
        {
            continue;
        }
        if (state.to == UINT32_MAX)
        {
            ChooseDecoder(id);
            ReserveFor(id, now);
        }
        if (state.whole)
        {
            continue; // it goes after the prompt
        }
        if (state.decoding->blocks.empty())
        {
            state.toSend += entry.tokens; // it goes when there are blocks
            continue;
        }
        record.kvBegin = record.kvBegin < 0 ? now : record.kvBegin;
        ++state.piecesLeft;
        order->byLayer.push_back({id, index, engine, state.to, state.toEngine, entry.tokens});
    }
}

void
Controller::ServeBlocked(uint32_t index, uint32_t engine, int64_t now)
{
    auto& blocked = m_instances[index]->engines[engine]->blocked;
    while (!blocked.empty())
    {
        const uint32_t request = blocked.front();
        if (!ReserveFor(request, now))
        {
            return;
        }
        blocked.pop_front();
        if (m_states[request].toSend > 0 && m_states[request].prompted)
        {
            SendWhole(request, now);
        }
    }
}

void
Controller::TransferEnded(uint32_t request, int64_t at, int64_t now)
{
    State& state = m_states[request];
    --state.piecesLeft;
    if (state.piecesLeft == 0 && state.toSend == 0 && state.prompted)
    {
        TransferDone(request, at, now);
    }
    else if (state.piecesLeft == 0 && state.prompted && !state.decoding->blocks.empty())
    {
        SendWhole(request, now); // parts that were computed before there were blocks
    }
}

void
Controller::TransferDone(uint32_t request, int64_t at, int64_t now)
{
    State& state = m_states[request];
    RequestRecord& record = m_requests[request];
    record.kvEnd = at;
    Instance& to = *m_instances[state.to];
    Account(to, now);
    EngineOf& of = *to.engines[state.toEngine];
    --of.coming;
    to.record.tokensIn += record.prompt;
    of.engine.Take(std::move(state.decoding));
    if (state.held)
    {
        Instance& from = *m_instances[record.instance];
        Account(from, now);
        from.engines[state.fromEngine]->engine.Release(std::exchange(state.held, nullptr));
        TryStart(record.instance, now);
    }
    TryStart(state.to, now);
}

} // namespace serving
