/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/controller.h"

#include "scenarios/inference/controller-instances.h"
#include "scenarios/inference/kv-transfer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace serving
{

namespace
{

std::string
NameOf(const ServingSpec& spec, uint32_t pool, uint32_t index)
{
    switch (spec.pools[pool].role)
    {
    case PoolRole::kPrefill:
        return "prefill " + std::to_string(index);
    case PoolRole::kDecode:
        return "decode " + std::to_string(index);
    default:
        return "instance " + std::to_string(index);
    }
}

} // namespace

std::vector<InstancePlace>
PlacesOf(const ServingSpec& spec)
{
    std::vector<InstancePlace> places;
    for (uint32_t pool = 0; pool < spec.pools.size(); ++pool)
    {
        const PoolSpec& of = spec.pools[pool];
        for (uint32_t i = 0; i < of.instances; ++i)
        {
            places.push_back({pool, of.firstGpu + i * of.GpusOfInstance()});
        }
    }
    return places;
}

Controller::Controller(const ServingSpec& spec, std::vector<Request> requests, Backend& backend)
    : m_spec(spec),
      m_arrivals(std::move(requests)),
      m_backend(backend),
      m_requests(m_arrivals.size()),
      m_states(m_arrivals.size()),
      m_byLayer(RegisteredKvTransfer::Get(spec.kvTransfer).byLayer),
      m_random(spec.requests.seed, scenario::kDraftStream)
{
    for (size_t pool = 0; pool < spec.pools.size(); ++pool)
    {
        m_routers.push_back(RegisteredRouter::Get(spec.router).make());
    }
    for (uint32_t i = 0; i < m_requests.size(); ++i)
    {
        RequestRecord& record = m_requests[i];
        record.id = i;
        record.prompt = m_arrivals[i].prompt;
        record.output = m_arrivals[i].output;
        record.beside = std::llround((spec.answerTime + spec.answerToken * record.prompt) * 1e12);
        // Whole blocks, and never all of the prompt: the last token gives the first answer.
        const auto cached = static_cast<uint32_t>(spec.prefixCache * record.prompt);
        record.cached = std::min(cached, record.prompt - 1) / spec.kvBlock * spec.kvBlock;
    }
    std::vector<uint32_t> indices(spec.pools.size());
    for (const InstancePlace& place : PlacesOf(spec))
    {
        const PoolSpec& pool = spec.pools[place.pool];
        auto instance = std::make_unique<Instance>();
        instance->pool = place.pool;
        for (uint32_t e = 0; e < pool.dp; ++e)
        {
            instance->engines.push_back(
                std::make_unique<EngineOf>(m_spec, spec.kvBlocks[place.pool]));
        }
        InstanceRecord& record = instance->record;
        record.name = NameOf(spec, place.pool, indices[place.pool]++);
        record.gpus = pool.GpusOfInstance();
        record.firstGpu = place.firstGpu;
        record.engines = pool.dp;
        record.kvBlocksOfEngine = spec.kvBlocks[place.pool];
        m_instances.push_back(std::move(instance));
    }
    uint32_t first = 0;
    for (const PoolSpec& pool : spec.pools)
    {
        m_instancesOf.emplace_back(first, pool.instances);
        first += pool.instances;
    }
}

Controller::~Controller() = default;

int64_t
Controller::NextArrival() const
{
    const bool known = m_next < m_arrivals.size() && m_arrivals[m_next].arrival >= 0;
    return known ? m_arrivals[m_next].arrival : INT64_MAX;
}

void
Controller::Arrive(int64_t now)
{
    while (NextArrival() <= now)
    {
        Enter(m_next++, now);
    }
    for (uint32_t i = 0; i < m_instances.size(); ++i)
    {
        TryStart(i, now);
    }
}

void
Controller::Enter(uint32_t request, int64_t now)
{
    RequestRecord& record = m_requests[request];
    const int64_t arrival = m_arrivals[request].arrival;
    record.arrival = arrival < 0 ? now : arrival;
    const auto [instance, engine] = Route(0);
    record.instance = record.decodedBy = instance;
    State& state = m_states[request];
    state.fromEngine = engine;
    auto live = std::make_unique<Live>();
    live->id = request;
    live->prompt = record.prompt;
    live->output = m_spec.pools[0].role == PoolRole::kPrefill ? 1 : record.output;
    live->cached = live->computed = record.cached;
    Instance& of = *m_instances[instance];
    Account(of, now);
    ++of.engines[engine]->requests;
    of.record.tokensIn += record.prompt;
    of.engines[engine]->engine.Take(std::move(live));
}

std::pair<uint32_t, uint32_t>
Controller::Route(uint32_t pool)
{
    const auto [first, count] = m_instancesOf[pool];
    const uint32_t engines = m_spec.pools[pool].dp;
    const auto at = [&, first = first](uint32_t i) -> const EngineOf& {
        return *m_instances[first + i / engines]->engines[i % engines];
    };
    const auto askedBlocks = [&](uint32_t i) {
        const EngineOf& of = at(i);
        uint64_t blocks = of.engine.AskedBlocks();
        for (const uint32_t request : of.blocked)
        {
            blocks += of.engine.Blocks().BlocksFor(m_requests[request].prompt);
        }
        return blocks;
    };
    const uint32_t chosen = m_routers[pool]->Choose(
        {count * engines, [&](uint32_t i) { return at(i).requests; }, askedBlocks});
    return {first + chosen / engines, chosen % engines};
}

void
Controller::Account(Instance& instance, int64_t now)
{
    const int64_t span = now - instance.accounted;
    if (span <= 0)
    {
        return;
    }
    uint64_t used = 0;
    uint64_t coming = 0;
    for (const auto& of : instance.engines)
    {
        used += of->engine.Blocks().Used();
        coming += of->coming + of->blocked.size();
    }
    instance.kvArea += static_cast<double>(used) * static_cast<double>(span);
    instance.busy += instance.underWay.empty() ? 0 : span;
    instance.kvOnly += instance.underWay.empty() && coming > 0 ? span : 0;
    instance.accounted = now;
}

void
Controller::TryStart(uint32_t index, int64_t now)
{
    Instance& instance = *m_instances[index];
    Account(instance, now);
    while (instance.underWay.size() < m_spec.pools[instance.pool].pp)
    {
        Instance::Iteration next{instance.begun, now, {}, {}};
        IterationOrder order;
        order.instance = index;
        order.number = instance.begun;
        bool any = false;
        for (uint32_t e = 0; e < instance.engines.size(); ++e)
        {
            Engine& engine = instance.engines[e]->engine;
            Batch batch = engine.Schedule();
            IterationRecord record;
            record.number = instance.begun;
            record.instance = index;
            record.engine = e;
            record.begin = now;
            record.prefillTokens = batch.load.prefillTokens;
            record.decodeTokens = batch.load.decodeTokens;
            record.requests = static_cast<uint32_t>(batch.entries.size());
            record.running = engine.CountRunning();
            record.waiting = engine.CountWaiting();
            record.preempted = batch.preempted;
            record.recomputed = batch.load.repeatedTokens;
            record.kvBlocks = engine.Blocks().Used();
            instance.record.preemptions += batch.preempted;
            for (const Batch::Entry& entry : batch.entries)
            {
                RequestRecord& of = m_requests[entry.request->id];
                of.scheduled = of.scheduled < 0 ? now : of.scheduled;
            }
            any = any || !batch.IsEmpty();
            if (m_byLayer && m_spec.pools[instance.pool].role == PoolRole::kPrefill)
            {
                if (batch.preempted > 0)
                {
                    LeaveDecoders(engine, now);
                }
                SendByLayer(index, e, batch, &order, now);
            }
            order.loads.push_back(batch.load);
            next.records.push_back(record);
            next.batches.push_back(std::move(batch));
        }
        if (!any)
        {
            return;
        }
        ++instance.begun;
        Sample(index, now);
        instance.underWay.push_back(std::move(next));
        m_backend.Run(order);
    }
}

void
Controller::Sample(uint32_t index, int64_t now)
{
    LoadSample sample;
    sample.time = now;
    sample.instance = index;
    for (const auto& of : m_instances[index]->engines)
    {
        sample.waiting += of->engine.CountWaiting();
        sample.running += of->engine.CountRunning();
        sample.kvBlocks += of->engine.Blocks().Used();
    }
    m_samples.push_back(sample);
}

void
Controller::IterationEnded(uint32_t index, int64_t at, int64_t now)
{
    Instance& instance = *m_instances[index];
    Account(instance, now);
    Instance::Iteration ended = std::move(instance.underWay.front());
    instance.underWay.pop_front();
    ++instance.record.iterations;
    const auto accepted = [this] {
        uint32_t drafts = 0;
        const auto limit = static_cast<uint64_t>(m_spec.speculation->accept * 4294967296.0);
        while (drafts < m_spec.speculation->tokens && m_random.Below(1ULL << 32) < limit)
        {
            ++drafts;
        }
        return drafts;
    };
    for (uint32_t e = 0; e < ended.batches.size(); ++e)
    {
        const Batch& batch = ended.batches[e];
        if (batch.IsEmpty())
        {
            continue;
        }
        IterationRecord& record = ended.records[e];
        record.end = at;
        const std::size_t number = m_iterations.size();
        m_iterations.push_back(record);
        const auto span = static_cast<double>(at - record.begin);
        instance.batchArea += static_cast<double>(record.requests) * span;
        instance.batchTime += span;
        instance.engines[e]->engine.End(
            batch,
            [&](Live& request, uint32_t tokens, bool done) {
                m_iterations[number].tokensOut += tokens;
                return OnTokens(index, e, request, tokens, done, at, now);
            },
            accepted);
        if (m_spec.pools.size() > 1)
        {
            ServeBlocked(index, e, now);
        }
    }
    // A request of a closed loop may have come to another one.
    for (uint32_t i = 0; i < m_instances.size() && m_followed; ++i)
    {
        TryStart(i, now);
    }
    m_followed = false;
    TryStart(index, now);
    if (instance.underWay.empty())
    {
        Sample(index, now); // it rests
    }
}

bool
Controller::OnTokens(uint32_t index,
                     uint32_t engine,
                     Live& request,
                     uint32_t tokens,
                     bool done,
                     int64_t at,
                     int64_t now)
{
    Instance& instance = *m_instances[index];
    RequestRecord& record = m_requests[request.id];
    record.produced += tokens;
    instance.record.tokensOut += tokens;
    record.firstToken = record.firstToken < 0 ? at : record.firstToken;
    if (!done)
    {
        return false;
    }
    record.preemptions += request.preemptions;
    ++instance.record.requests;
    --instance.engines[engine]->requests;
    if (record.produced == record.output)
    {
        Answer(request.id, at, now);
        return false;
    }
    State& state = m_states[request.id];
    state.prompted = true;
    if (state.to == UINT32_MAX)
    {
        ChooseDecoder(request.id);
        state.toSend = record.prompt - record.cached;
        ReserveFor(request.id, now);
    }
    else if (state.whole)
    {
        state.toSend = record.prompt - record.cached;
        ReserveFor(request.id, now);
    }
    if (state.piecesLeft == 0 && state.toSend == 0)
    {
        TransferDone(request.id, at, now);
        return false;
    }
    state.held = &request;
    if (state.piecesLeft == 0 && !state.decoding->blocks.empty())
    {
        SendWhole(request.id, now);
    }
    return true;
}

void
Controller::Answer(uint32_t request, int64_t at, int64_t now)
{
    m_requests[request].lastToken = at;
    ++m_answered;
    if (m_next < m_arrivals.size() && m_arrivals[m_next].arrival < 0)
    {
        Enter(m_next++, now);
        m_followed = true;
    }
}

} // namespace serving
