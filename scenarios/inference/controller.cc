/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/controller.h"

#include "scenarios/inference/kv-transfer.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace serving
{

namespace
{

/// A run cannot keep up if, while the second half of its requests came, it began a smaller share of
/// them than this, and more than the rest of all waited at the end. Assumed, as the next one.
/// (Answers would not do: of a short run none comes before the last arrival.)
constexpr double kPaceOfArrivals = 0.95;
/// Of fewer requests nothing is said.
constexpr uint32_t kLeastRequestsOfPace = 20;

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

struct Controller::EngineOf
{
    EngineOf(const ServingSpec& spec, uint64_t blocks)
        : engine(spec, blocks)
    {
    }

    Engine engine;
    std::deque<uint32_t> blocked; ///< requests that wait for blocks for their KV
    uint64_t coming = 0;          ///< requests whose KV is under way
    uint64_t requests = 0;        ///< given to it that it has not ended
};

struct Controller::Instance
{
    struct Iteration
    {
        uint32_t number;
        int64_t begin;
        std::vector<Batch> batches; ///< by engine
        std::vector<IterationRecord> records;
    };

    uint32_t pool = 0;
    std::vector<std::unique_ptr<EngineOf>> engines;
    std::deque<Iteration> underWay;
    uint32_t begun = 0;
    InstanceRecord record;
    // Time:
    int64_t accounted = 0;
    int64_t busy = 0;     ///< ps with an iteration under way
    int64_t kvOnly = 0;   ///< ps without one, while KV was under way to it
    double kvArea = 0;    ///< blocks x ps
    double batchArea = 0; ///< requests x ps of iterations
    double batchTime = 0; ///< ps of iterations
};

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

ServingOutcome
Controller::TakeOutcome(int64_t now, const std::vector<std::array<double, kTimeParts>>& seconds)
{
    ServingOutcome outcome;
    outcome.end = now;
    outcome.endedEarly = !IsDone();
    JudgePace(&outcome);
    for (std::size_t i = 0; i < m_instances.size(); ++i)
    {
        Instance& instance = *m_instances[i];
        Account(instance, now);
        InstanceRecord& record = instance.record;
        for (const auto& of : instance.engines)
        {
            record.kvPeak = std::max(record.kvPeak, of->engine.Blocks().Peak());
        }
        record.kvMean = now > 0 ? instance.kvArea / static_cast<double>(now) : 0;
        record.batchMean = instance.batchTime > 0 ? instance.batchArea / instance.batchTime : 0;
        record.seconds = seconds[i];
        double known = std::accumulate(seconds[i].begin(), seconds[i].end(), 0.0);
        const double busy = static_cast<double>(instance.busy) * 1e-12;
        if (known > busy)
        {
            // Iterations that the end of the run cuts short.
            for (double& part : record.seconds)
            {
                part *= busy / known;
            }
            known = busy;
        }
        const auto at = [&record](TimePart part) -> double& {
            return record.seconds[static_cast<std::size_t>(part)];
        };
        // What GPUs stand still for, while an iteration is under way, is another stage, another
        // engine, or the word that the last one has ended.
        const PoolSpec& pool = m_spec.pools[instance.pool];
        at(pool.pp > 1   ? TimePart::kPipeline
           : pool.dp > 1 ? TimePart::kExperts
           : pool.tp > 1 ? TimePart::kTensor
                         : TimePart::kHost) += busy - known;
        at(TimePart::kKv) += static_cast<double>(instance.kvOnly) * 1e-12;
        at(TimePart::kIdle) = static_cast<double>(now - instance.busy - instance.kvOnly) * 1e-12;
        outcome.instances.push_back(record);
    }
    outcome.requests = std::move(m_requests);
    outcome.iterations = std::move(m_iterations);
    std::stable_sort(
        outcome.iterations.begin(),
        outcome.iterations.end(),
        [](const IterationRecord& a, const IterationRecord& b) { return a.end < b.end; });
    outcome.load = std::move(m_samples);
    return outcome;
}

void
Controller::JudgePace(ServingOutcome* outcome) const
{
    using Kind = RequestsSpec::Kind;
    if (m_spec.requests.kind == Kind::kBurst || m_spec.requests.kind == Kind::kClosed)
    {
        return;
    }
    // In the second half of the arrivals: the queue of a system that keeps up does not grow.
    const uint32_t come = m_next;
    if (come < kLeastRequestsOfPace)
    {
        return;
    }
    const int64_t from = m_requests[come / 2].arrival;
    const int64_t until = m_requests[come - 1].arrival;
    if (until <= from)
    {
        return;
    }
    uint64_t begun = 0;
    uint64_t queued = 0;
    for (const RequestRecord& record : m_requests)
    {
        begun += record.scheduled > from && record.scheduled <= until;
        queued += record.arrival >= 0 && record.arrival <= until &&
                  (record.scheduled < 0 || record.scheduled > until);
    }
    const double span = static_cast<double>(until - from) * 1e-12;
    const uint32_t arrived = come - come / 2;
    // Where requests cannot join a batch, the next one always waits.
    const bool joins = RegisteredScheduler::Get(m_spec.scheduler).joins;
    uint64_t batches = 0;
    for (const auto& instance : m_instances)
    {
        batches += joins ? 0 : uint64_t{m_spec.maxBatch} * instance->engines.size();
    }
    if (static_cast<double>(begun) < kPaceOfArrivals * arrived &&
        static_cast<double>(queued) > (1 - kPaceOfArrivals) * come + static_cast<double>(batches))
    {
        outcome->arrivesPerS = arrived / span;
        outcome->beginsPerS = static_cast<double>(begun) / span;
    }
}

std::vector<std::string>
Controller::DescribeUnfinished() const
{
    uint64_t waiting = 0;
    uint64_t running = 0;
    uint64_t moving = 0;
    for (const auto& instance : m_instances)
    {
        for (const auto& of : instance->engines)
        {
            waiting += of->engine.CountWaiting();
            running += of->engine.CountRunning();
            moving += of->coming + of->blocked.size();
        }
    }
    return {std::to_string(m_requests.size() - m_answered) +
            " requests are not answered: " + std::to_string(running) + " run, " +
            std::to_string(waiting) + " wait, KV of " + std::to_string(moving) + " is to come"};
}

} // namespace serving
