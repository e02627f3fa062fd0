/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/slice-simulation.h"

#include "scenarios/multiplex/latency-histogram.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

namespace multiplex
{

namespace
{

__extension__ using WideTime = unsigned __int128;

constexpr Time NOT_YET = INT64_MAX;

Time
PsOf(double seconds)
{
    return std::max<Time>(0, std::llround(seconds * kPsPerSecond));
}

/// Where a process is.
enum class Stage : uint8_t
{
    kIdle,
    kOwn,
    kLink,
    kGpu,
};

struct Process
{
    Stage stage = Stage::kIdle;
    uint32_t round = 0;
    double left = 0; ///< ps of work of the piece, alone
    double own = 0;  ///< ps of a piece, mean
    double link = 0;
    double gpu = 0;
    double gpuSeconds = 0;     ///< of the batch
    Time begin = 0;            ///< of the batch
    std::vector<Time> arrived; ///< of its requests
};

class SliceSimulation
{
  public:
    SliceSimulation(const ModelLoad& load,
                    const Place& place,
                    const RunSettings& settings,
                    uint64_t stream,
                    const GoesOn& goesOn)
        : m_load(load),
          m_place(place),
          m_settings(settings),
          m_goesOn(goesOn),
          m_random(settings.seed, stream),
          m_processes(load.processes),
          m_arrivalsEnd(PsOf(settings.duration)),
          m_limit(m_arrivalsEnd + PsOf(std::max({1.0, settings.duration / 10, 4 * load.slo})))
    {
        ModelResult& of = m_run.result;
        of.name = load.name;
        of.place = place;
        of.rate = load.closed ? 0 : load.rate * settings.rateScale;
        of.slo = load.slo;
        if (!load.closed)
        {
            m_meanGap = static_cast<uint64_t>(std::max(1.0, std::round(kPsPerSecond / of.rate)));
            m_nextArrival = Gap();
        }
    }

    SliceRun Go()
    {
        if (m_load.closed)
        {
            for (Process& process : m_processes)
            {
                Begin(process);
            }
        }
        for (uint64_t events = 1;; ++events)
        {
            if (events % 65536 == 0 && m_goesOn && !m_goesOn())
            {
                m_run.stopped = true;
                break;
            }
            Process* first = nullptr;
            const Time end = FirstEnd(&first);
            const Time next = std::min(end, m_nextArrival);
            if (next == NOT_YET || next > m_limit)
            {
                Advance(next == NOT_YET ? m_now : m_limit);
                break;
            }
            Advance(next);
            if (end <= m_nextArrival)
            {
                EndPiece(*first);
            }
            else
            {
                Arrive();
                if (m_queue.size() > kMostWaiting)
                {
                    m_run.ended = true;
                    break;
                }
            }
        }
        Finish();
        return m_run;
    }

  private:
    Time Gap()
    {
        const uint64_t gap = m_load.poisson ? m_random.Exponential(m_meanGap) : m_meanGap;
        const Time at = m_now + static_cast<Time>(std::min<uint64_t>(gap, NOT_YET / 4));
        return at < m_arrivalsEnd ? at : NOT_YET;
    }

    std::size_t At(Stage stage) const
    {
        return static_cast<std::size_t>(
            std::count_if(m_processes.begin(), m_processes.end(), [stage](const Process& process) {
                return process.stage == stage;
            }));
    }

    /// How many share what a process is at.
    std::size_t Sharers(const Process& process) const
    {
        return process.stage == Stage::kOwn ? 1 : At(process.stage);
    }

    /// When the first piece ends.
    Time FirstEnd(Process** first)
    {
        double least = -1;
        for (Process& process : m_processes)
        {
            if (process.stage == Stage::kIdle)
            {
                continue;
            }
            const double needed = process.left * static_cast<double>(Sharers(process));
            if (least < 0 || needed < least)
            {
                least = needed;
                *first = &process;
            }
        }
        return least < 0 ? NOT_YET : m_now + std::max<Time>(1, std::llround(least));
    }

    /// Pieces go on, and sums, up to a moment.
    void Advance(Time to)
    {
        const auto passed = static_cast<double>(to - m_now);
        const std::size_t atLink = At(Stage::kLink);
        const std::size_t atGpu = At(Stage::kGpu);
        for (Process& process : m_processes)
        {
            const std::size_t sharers = process.stage == Stage::kLink  ? atLink
                                        : process.stage == Stage::kGpu ? atGpu
                                                                       : 1;
            process.left = std::max(0.0, process.left - passed / static_cast<double>(sharers));
        }
        if (m_running > 0)
        {
            m_holds += std::max<Time>(0, std::min(to, m_arrivalsEnd) - m_now);
        }
        m_requestTime += static_cast<WideTime>(m_inSystem) * static_cast<WideTime>(to - m_now);
        m_now = to;
    }

    void Arrive()
    {
        ++m_run.result.arrived;
        ++m_inSystem;
        m_queue.push_back(m_now);
        m_nextArrival = Gap();
        const auto free =
            std::find_if(m_processes.begin(), m_processes.end(), [](const Process& process) {
                return process.stage == Stage::kIdle;
            });
        if (free != m_processes.end())
        {
            Begin(*free);
        }
    }

    /// Starts a batch, if there is one.
    void Begin(Process& process)
    {
        if (m_load.closed && m_now < m_arrivalsEnd)
        {
            for (uint32_t i = 0; i < m_place.batch; ++i)
            {
                m_queue.push_back(m_now);
            }
            m_run.result.arrived += m_place.batch;
            m_inSystem += m_place.batch;
        }
        if (m_queue.empty())
        {
            return;
        }
        const auto size =
            static_cast<uint32_t>(std::min<std::size_t>(m_queue.size(), m_place.batch));
        const auto until = m_queue.begin() + size;
        process.arrived.assign(m_queue.begin(), until);
        m_queue.erase(m_queue.begin(), until);
        process.begin = m_now;
        process.round = 0;
        ++m_running;
        ++m_run.result.batches;
        const auto [it, isNew] = m_times.try_emplace({m_running, size});
        if (isNew)
        {
            it->second = m_load.slices->curve->Times(*m_load.instance, size);
            it->second.own = DelaySeconds(it->second, m_running);
        }
        const double piece = kPsPerSecond / kRounds;
        process.own = it->second.own * piece;
        process.link = it->second.link * piece;
        process.gpu = it->second.gpu * piece;
        process.gpuSeconds = it->second.gpu;
        process.stage = Stage::kOwn;
        Draw(process, process.own);
    }

    void Draw(Process& process, double mean)
    {
        process.left = static_cast<double>(
            m_random.Exponential(static_cast<uint64_t>(std::max(1.0, std::round(mean)))));
    }

    void EndPiece(Process& process)
    {
        switch (process.stage)
        {
        case Stage::kOwn:
            process.stage = Stage::kLink;
            Draw(process, process.link);
            return;
        case Stage::kLink:
            process.stage = Stage::kGpu;
            Draw(process, process.gpu);
            return;
        case Stage::kGpu:
            if (++process.round < kRounds)
            {
                process.stage = Stage::kOwn;
                Draw(process, process.own);
                return;
            }
            EndBatch(process);
            Begin(process);
            return;
        case Stage::kIdle:
            return;
        }
    }

    void EndBatch(Process& process)
    {
        ModelResult& of = m_run.result;
        for (const Time at : process.arrived)
        {
            const Time sojourn = m_now - at;
            m_latencies.Add(sojourn);
            m_sojourns += static_cast<WideTime>(sojourn);
            of.inTime += sojourn <= PsOf(of.slo) ? 1 : 0;
        }
        of.served += process.arrived.size();
        if (m_now <= m_arrivalsEnd)
        {
            of.servedByEnd += process.arrived.size();
            m_run.computes += process.gpuSeconds;
        }
        m_inSystem -= process.arrived.size();
        process.arrived.clear();
        of.busy += static_cast<double>(m_now - process.begin) / kPsPerSecond;
        --m_running;
        process.stage = Stage::kIdle;
    }

    void Finish()
    {
        ModelResult& of = m_run.result;
        if (of.served > 0)
        {
            of.mean =
                static_cast<double>(m_sojourns) / kPsPerSecond / static_cast<double>(of.served);
            of.p50 = m_latencies.Quantile(0.5) / kPsPerSecond;
            of.p99 = m_latencies.Quantile(0.99) / kPsPerSecond;
        }
        WideTime sojourns = m_sojourns;
        of.left = m_queue.size();
        for (const Time at : m_queue)
        {
            sojourns += static_cast<WideTime>(m_now - at);
        }
        for (const Process& process : m_processes)
        {
            of.left += process.arrived.size();
            for (const Time at : process.arrived)
            {
                sojourns += static_cast<WideTime>(m_now - at);
            }
        }
        // As of other models (simulation.cc). A closed loop keeps up with itself.
        const uint64_t behind = of.arrived - of.servedByEnd;
        const auto allowed = static_cast<uint64_t>(0.02 * static_cast<double>(of.arrived));
        const double behindSeconds = static_cast<double>(behind) * m_settings.duration /
                                     std::max(1.0, static_cast<double>(of.servedByEnd));
        of.overloaded = !m_load.closed &&
                        behind > allowed + 4ULL * m_place.batch * m_load.processes &&
                        (of.left > 0 || behindSeconds > 4 * of.slo);
        m_run.holds = static_cast<double>(m_holds) / kPsPerSecond;
        m_run.requestTime = static_cast<double>(m_requestTime);
        m_run.sojourns = static_cast<double>(sojourns);
        m_run.littleHolds = m_requestTime == sojourns;
        m_run.span = static_cast<double>(m_now) / kPsPerSecond;
    }

    const ModelLoad& m_load;
    const Place& m_place;
    const RunSettings& m_settings;
    const GoesOn& m_goesOn;
    scenario::Random m_random;
    std::vector<Process> m_processes;
    std::deque<Time> m_queue;
    std::map<std::pair<uint32_t, uint32_t>, LoopTimes> m_times; ///< by running processes and batch
    LatencyHistogram m_latencies;
    SliceRun m_run;
    uint64_t m_meanGap = 1;
    Time m_arrivalsEnd;
    Time m_limit;
    Time m_now = 0;
    Time m_nextArrival = NOT_YET;
    Time m_holds = 0;
    uint32_t m_running = 0;
    uint64_t m_inSystem = 0;
    WideTime m_requestTime = 0;
    WideTime m_sojourns = 0;
};

} // namespace

SliceRun
SimulateSlice(const ModelLoad& load,
              const Place& place,
              const RunSettings& settings,
              uint64_t stream,
              const GoesOn& goesOn)
{
    return SliceSimulation(load, place, settings, stream, goesOn).Go();
}

void
AddInstances(const Mix& mix,
             const Plan& plan,
             const RunSettings& settings,
             const GoesOn& goesOn,
             PolicyResult* result)
{
    const bool others = std::any_of(mix.models.begin(), mix.models.end(), [](const auto& load) {
        return !load.OnInstance();
    });
    const double before = others ? result->duration : 0;
    double holds = result->utilization * before * plan.gpus;
    double computes = result->effective * before * plan.gpus;
    result->duration = result->stopped || result->ended ? result->duration : settings.duration;
    for (std::size_t i = 0; i < mix.models.size(); ++i)
    {
        const ModelLoad& load = mix.models[i];
        if (!load.OnInstance())
        {
            continue;
        }
        const Place& place = plan.places[i];
        SliceRun run = SimulateSlice(load, place, settings, scenario::kMultiplexStream + i, goesOn);
        OnInstance of;
        of.instance = load.instance->name;
        of.processes = load.processes;
        of.closed = load.closed;
        of.seconds =
            CycleSeconds(load.slices->curve->Times(*load.instance, place.batch), load.processes);
        of.capacity = load.processes * place.batch / of.seconds;
        of.band = BandText(load.slices->BandAt(place.batch));
        if (const auto ends = BandOf(load.slices->BandAt(place.batch), of.capacity))
        {
            of.low = ends->first;
            of.high = ends->second;
        }
        run.result.instance = of;
        result->models[i] = run.result;
        result->span = std::max(result->span, run.span);
        result->stopped = result->stopped || run.stopped;
        result->ended = result->ended || run.ended;
        result->sums.requestTime += run.requestTime;
        result->sums.sojourns += run.sojourns;
        result->sums.littleHolds = result->sums.littleHolds && run.littleHolds;
        holds += run.holds * place.percent / kWholeGpu;
        computes += run.computes * place.percent / kWholeGpu;
    }
    const double all = result->duration * plan.gpus;
    result->utilization = holds / all;
    result->effective = computes / all;
    for (uint32_t gpu = 0; gpu < plan.gpus; ++gpu)
    {
        double shares = 0;
        for (const Place& place : plan.places)
        {
            shares += place.gpu == gpu ? place.percent : 0;
        }
        result->sums.mostShares = std::max(result->sums.mostShares, shares);
    }
}

} // namespace multiplex
