/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/simulation.h"

#include "scenarios/multiplex/batch-times.h"
#include "scenarios/multiplex/latency-histogram.h"
#include "scenarios/multiplex/slice-simulation.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>

namespace multiplex
{

namespace
{

__extension__ using Wide = unsigned __int128;

constexpr Time NEVER = INT64_MAX;

Time
ToPs(double seconds)
{
    return std::max<Time>(0, std::llround(seconds * kPsPerSecond));
}

double
ToSeconds(Time ps)
{
    return static_cast<double>(ps) / kPsPerSecond;
}

/// A batch that runs.
struct Batch
{
    uint32_t model = 0;
    uint32_t size = 0;
    double percent = 0;
    Time begin = 0;
    Time last = 0;      ///< its rest is of then
    double left = 1;    ///< of its work
    double seconds = 0; ///< all of its work, at the present rate
    Time end = NEVER;
    double floor = 0;
    Time due = 0; ///< of its first request
};

struct ModelState
{
    ModelState(uint64_t seed, uint64_t stream)
        : random(seed, stream)
    {
    }

    scenario::Random random;
    uint64_t meanGap = 0; ///< ps
    uint64_t arrivals = 0;
    std::deque<Time> queue;      ///< arrivals of those that wait
    std::vector<Time> inService; ///< of those in the batch
    LatencyHistogram latencies;
    Wide sojourns = 0; ///< of those served
    uint32_t gpu = 0;
    std::size_t seat = 0; ///< among those of its GPU
    Time slo = 0;
    Time busy = 0;
};

struct GpuState
{
    std::vector<Seat> seats;
    std::vector<Batch> batches;
    Time end = NEVER; ///< of the batch that ends first
    Time since = 0;   ///< use and waiting are counted up to then
    double used = 0;  ///< per cent
    double useTime = 0;
    double idleWaiting = 0; ///< ps
    bool waits = false;     ///< nothing runs, and something waits
};

class MixRun
{
  public:
    MixRun(const Mix& mix,
           Policy& policy,
           const Plan& plan,
           const RunSettings& settings,
           const GoesOn& goesOn,
           PolicyResult* result)
        : m_mix(mix),
          m_policy(policy),
          m_settings(settings),
          m_goesOn(goesOn),
          m_result(*result),
          m_times(mix, policy.GetSharing(), policy.Interferes() && settings.interference),
          m_arrivalsEnd(ToPs(settings.duration)),
          m_gpus(plan.gpus)
    {
        double slowest = 0;
        for (std::size_t i = 0; i < mix.models.size(); ++i)
        {
            const ModelLoad& load = mix.models[i];
            const Place& place = plan.places[i];
            m_models.emplace_back(settings.seed, scenario::kMultiplexStream + i);
            ModelState& state = m_models.back();
            const double rate = load.closed ? 1 : load.rate * settings.rateScale;
            state.meanGap = static_cast<uint64_t>(std::max(1.0, std::round(kPsPerSecond / rate)));
            state.gpu = place.gpu;
            state.seat = m_gpus[place.gpu].seats.size();
            state.slo = ToPs(load.slo);
            Seat seat;
            seat.model = static_cast<uint32_t>(i);
            m_gpus[place.gpu].seats.push_back(seat);
            slowest = std::max(slowest, load.slo);
            ModelResult of;
            of.name = load.name;
            of.place = place;
            of.rate = load.rate * settings.rateScale;
            of.slo = load.slo;
            m_result.models.push_back(of);
            // On an instance of its own: SimulateSlice().
            if (!load.OnInstance())
            {
                Schedule(static_cast<uint32_t>(i), 0);
            }
        }
        m_limit = m_arrivalsEnd + ToPs(std::max({1.0, settings.duration / 10, 4 * slowest}));
    }

    void Go()
    {
        for (uint64_t events = 1;; ++events)
        {
            if (events % 65536 == 0 && m_goesOn && !m_goesOn())
            {
                m_result.stopped = true;
                break;
            }
            const Time arrival = m_next.empty() ? NEVER : m_next.top().first;
            uint32_t gpu = 0;
            Time end = NEVER;
            for (uint32_t i = 0; i < m_gpus.size(); ++i)
            {
                if (m_gpus[i].end < end)
                {
                    end = m_gpus[i].end;
                    gpu = i;
                }
            }
            const Time next = std::min(arrival, end);
            if (next == NEVER || next > m_limit)
            {
                m_now = next == NEVER ? m_now : m_limit;
                break;
            }
            m_now = next;
            if (end <= arrival)
            {
                EndBatches(gpu);
            }
            else
            {
                const uint32_t model = m_next.top().second;
                m_next.pop();
                Arrive(model);
                if (m_waiting > kMostWaiting)
                {
                    m_result.ended = true;
                    break;
                }
            }
        }
        Finish();
    }

  private:
    void Schedule(uint32_t model, Time from)
    {
        ModelState& state = m_models[model];
        // Evenly spaced: the first of model i of n after (i + 1) / n of a gap, so that models do
        // not arrive together.
        const uint64_t gap = m_mix.models[model].poisson ? state.random.Exponential(state.meanGap)
                             : from == 0 ? state.meanGap / m_mix.models.size() * (model + 1)
                                         : state.meanGap;
        const Time at = from + static_cast<Time>(std::min<uint64_t>(gap, NEVER / 2));
        if (at < m_arrivalsEnd)
        {
            m_next.emplace(at, model);
        }
    }

    /// Requests in the system over time, up to now.
    void CountRequests()
    {
        m_requestTime += static_cast<Wide>(m_inSystem) * static_cast<Wide>(m_now - m_counted);
        m_counted = m_now;
    }

    /// Use of a GPU up to now, while requests arrive.
    void CountUse(GpuState& gpu)
    {
        const Time until = std::min(m_now, m_arrivalsEnd);
        if (until > gpu.since)
        {
            const auto passed = static_cast<double>(until - gpu.since);
            gpu.useTime += passed * gpu.used;
            gpu.idleWaiting += gpu.waits ? passed : 0;
            gpu.since = until;
        }
    }

    void Arrive(uint32_t model)
    {
        CountRequests();
        ++m_inSystem;
        ++m_waiting;
        ModelState& state = m_models[model];
        ++m_result.models[model].arrived;
        GpuState& gpu = m_gpus[state.gpu];
        Seat& seat = gpu.seats[state.seat];
        if (state.queue.empty())
        {
            seat.oldest = m_now;
        }
        state.queue.push_back(m_now);
        ++seat.waiting;
        Schedule(model, m_now);
        if (!seat.running)
        {
            StartWhatMay(state.gpu);
        }
    }

    void EndBatches(uint32_t index)
    {
        GpuState& gpu = m_gpus[index];
        CountUse(gpu);
        CountRequests();
        auto& batches = gpu.batches;
        for (std::size_t i = 0; i < batches.size();)
        {
            if (batches[i].end != m_now)
            {
                ++i;
                continue;
            }
            EndBatch(gpu, batches[i]);
            batches.erase(batches.begin() + static_cast<std::ptrdiff_t>(i));
        }
        SetRates(gpu);
        StartWhatMay(index);
    }

    void EndBatch(GpuState& gpu, const Batch& batch)
    {
        ModelState& state = m_models[batch.model];
        ModelResult& result = m_result.models[batch.model];
        const double done = ToSeconds(m_now - batch.last) / batch.seconds;
        m_result.sums.workError = std::max(m_result.sums.workError, std::abs(batch.left - done));
        for (const Time arrived : state.inService)
        {
            const Time sojourn = m_now - arrived;
            state.latencies.Add(sojourn);
            state.sojourns += static_cast<Wide>(sojourn);
            result.inTime += sojourn <= state.slo ? 1 : 0;
        }
        result.served += state.inService.size();
        if (m_now <= m_arrivalsEnd)
        {
            result.servedByEnd += state.inService.size();
            m_effective += m_times.WorkOf(batch.model, batch.size);
        }
        m_inSystem -= state.inService.size();
        state.inService.clear();
        state.busy += m_now - batch.begin;
        gpu.seats[state.seat].running = false;
        if (m_settings.keepExecutions)
        {
            if (m_result.executions.size() < kMostExecutions)
            {
                m_result.executions.push_back({ToSeconds(batch.begin),
                                               ToSeconds(m_now),
                                               state.gpu,
                                               batch.model,
                                               batch.size,
                                               batch.percent,
                                               batch.floor});
            }
            else
            {
                ++m_result.executionsLeftOut;
            }
        }
    }

    void StartWhatMay(uint32_t index)
    {
        GpuState& gpu = m_gpus[index];
        bool started = false;
        for (;;)
        {
            double free = kWholeGpu;
            m_ends.clear();
            for (const Batch& batch : gpu.batches)
            {
                free -= batch.percent;
                m_ends.emplace_back(batch.end, batch.percent);
            }
            m_starts.clear();
            m_policy.Choose({m_now, index, gpu.seats, free, gpu.used, m_ends}, &m_starts);
            if (m_starts.empty())
            {
                break;
            }
            if (!started)
            {
                CountUse(gpu);
            }
            started = true;
            for (const Start& start : m_starts)
            {
                Begin(gpu, start);
            }
            // Policies look at the ends of what runs.
            SetRates(gpu);
        }
        CountUse(gpu);
        gpu.waits = gpu.batches.empty() &&
                    std::any_of(gpu.seats.begin(), gpu.seats.end(), [](const Seat& seat) {
                        return seat.waiting > 0;
                    });
    }

    void Begin(GpuState& gpu, const Start& start)
    {
        ModelState& state = m_models[start.model];
        Seat& seat = gpu.seats[state.seat];
        Batch batch;
        batch.model = start.model;
        batch.size = start.batch;
        batch.percent = start.percent;
        batch.begin = m_now;
        batch.last = m_now + ToPs(start.lead);
        batch.due = seat.oldest + state.slo;
        batch.floor = m_settings.keepExecutions ? FloorOf(gpu, state.seat, start.percent) : 0;
        m_result.switches += start.lead > 0 ? 1 : 0;
        ++m_result.models[start.model].batches;
        const auto until = state.queue.begin() + start.batch;
        state.inService.assign(state.queue.begin(), until);
        state.queue.erase(state.queue.begin(), until);
        seat.waiting -= start.batch;
        seat.oldest = state.queue.empty() ? 0 : state.queue.front();
        seat.running = true;
        m_waiting -= start.batch;
        gpu.batches.push_back(batch);
    }

    /// The lowest place of a GPU, in per cent, that is free for a picture.
    double FloorOf(const GpuState& gpu, std::size_t seat, double percent) const
    {
        if (m_policy.GetSharing() != Sharing::kOwn)
        {
            return kWholeGpu * static_cast<double>(seat) / static_cast<double>(gpu.seats.size());
        }
        std::vector<std::pair<double, double>> taken;
        for (const Batch& batch : gpu.batches)
        {
            taken.emplace_back(batch.floor, batch.floor + batch.percent);
        }
        std::sort(taken.begin(), taken.end());
        double floor = 0;
        for (const auto& [low, high] : taken)
        {
            if (low - floor >= percent - 1e-9)
            {
                break;
            }
            floor = std::max(floor, high);
        }
        return floor + percent <= kWholeGpu + 1e-9 ? floor : kWholeGpu - percent;
    }

    /// New rates for all that run on a GPU, and when each ends.
    void SetRates(GpuState& gpu)
    {
        m_claims.clear();
        double shares = 0;
        for (const Batch& batch : gpu.batches)
        {
            m_claims.push_back({batch.model, batch.size, batch.percent, batch.due});
            shares += batch.percent;
        }
        gpu.used = gpu.batches.empty() ? 0 : m_times.Of(m_claims, &m_seconds);
        if (m_policy.GetSharing() != Sharing::kOwn)
        {
            shares = gpu.used;
        }
        m_result.sums.mostShares = std::max(m_result.sums.mostShares, shares);
        gpu.end = NEVER;
        for (std::size_t i = 0; i < gpu.batches.size(); ++i)
        {
            Batch& batch = gpu.batches[i];
            if (batch.seconds != m_seconds[i])
            {
                if (m_now > batch.last)
                {
                    batch.left -= ToSeconds(m_now - batch.last) / batch.seconds;
                    batch.left = std::max(batch.left, 0.0);
                    batch.last = m_now;
                }
                batch.seconds = m_seconds[i];
                batch.end = batch.last + std::max<Time>(1, ToPs(batch.left * batch.seconds));
            }
            gpu.end = std::min(gpu.end, batch.end);
        }
    }

    void Finish()
    {
        CountRequests();
        Wide sojourns = 0;
        double useTime = 0;
        for (GpuState& gpu : m_gpus)
        {
            CountUse(gpu);
            useTime += gpu.useTime;
            m_result.sums.idleWaiting += gpu.idleWaiting / kPsPerSecond;
        }
        const Time arrived = std::min(m_arrivalsEnd, std::max<Time>(m_now, 1));
        for (std::size_t i = 0; i < m_models.size(); ++i)
        {
            ModelState& state = m_models[i];
            ModelResult& result = m_result.models[i];
            sojourns += state.sojourns;
            for (const Time at : state.queue)
            {
                sojourns += static_cast<Wide>(m_now - at);
            }
            for (const Time at : state.inService)
            {
                sojourns += static_cast<Wide>(m_now - at);
            }
            result.left = state.queue.size() + state.inService.size();
            if (result.served > 0)
            {
                result.mean = static_cast<double>(state.sojourns) / kPsPerSecond /
                              static_cast<double>(result.served);
                result.p50 = state.latencies.Quantile(0.5) / kPsPerSecond;
                result.p99 = state.latencies.Quantile(0.99) / kPsPerSecond;
            }
            result.busy = ToSeconds(state.busy);
            const uint64_t behind = result.arrived - result.servedByEnd;
            const auto allowed = static_cast<uint64_t>(0.02 * static_cast<double>(result.arrived));
            // What was left when arrivals ended is no usual queue: it takes longer than some SLOs.
            const double behindSeconds = static_cast<double>(behind) * m_settings.duration /
                                         std::max(1.0, static_cast<double>(result.servedByEnd));
            result.overloaded = behind > allowed + 4ULL * result.place.batch &&
                                (result.left > 0 || behindSeconds > 4 * result.slo);
        }
        const double capacity = static_cast<double>(arrived) * static_cast<double>(m_gpus.size());
        m_result.duration = ToSeconds(arrived);
        m_result.span = ToSeconds(m_now);
        m_result.utilization = useTime / kWholeGpu / capacity;
        m_result.effective = m_effective * kPsPerSecond / capacity;
        m_result.sums.requestTime = static_cast<double>(m_requestTime);
        m_result.sums.sojourns = static_cast<double>(sojourns);
        m_result.sums.littleHolds = m_requestTime == sojourns;
    }

    using Arrival = std::pair<Time, uint32_t>;

    const Mix& m_mix;
    Policy& m_policy;
    const RunSettings& m_settings;
    const GoesOn& m_goesOn;
    PolicyResult& m_result;
    BatchTimes m_times;
    Time m_arrivalsEnd;
    Time m_limit = 0;
    Time m_now = 0;
    Time m_counted = 0;
    uint64_t m_inSystem = 0;
    uint64_t m_waiting = 0;
    Wide m_requestTime = 0;
    double m_effective = 0; ///< s of a whole GPU
    std::vector<ModelState> m_models;
    std::vector<GpuState> m_gpus;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> m_next;
    // Kept for their memory.
    std::vector<Claim> m_claims;
    std::vector<double> m_seconds;
    std::vector<Start> m_starts;
    std::vector<std::pair<Time, double>> m_ends;
};

std::unique_ptr<Policy>
MakePolicy(const std::string& name, const RunSettings& settings)
{
    PolicySettings of;
    of.switchTime = settings.switchTime;
    of.interference = settings.interference;
    return RegisteredPolicy::Get(name).make(of);
}

/// Rates as they are run with.
Mix
Scaled(Mix mix, double scale)
{
    for (ModelLoad& load : mix.models)
    {
        load.rate *= scale;
    }
    return mix;
}

} // namespace

double
PolicyResult::Throughput() const
{
    double sum = 0;
    for (const ModelResult& model : models)
    {
        sum += model.Throughput(duration);
    }
    return sum;
}

double
PolicyResult::Attainment() const
{
    uint64_t arrived = 0;
    uint64_t inTime = 0;
    for (const ModelResult& model : models)
    {
        arrived += model.arrived;
        inTime += model.inTime;
    }
    return arrived > 0 ? static_cast<double>(inTime) / static_cast<double>(arrived) : 1;
}

bool
PolicyResult::IsOverloaded() const
{
    return ended || std::any_of(models.begin(), models.end(), [](const ModelResult& model) {
               return model.overloaded;
           });
}

Plan
PlanOf(const Mix& mix, const std::string& policy, const RunSettings& settings)
{
    return MakePolicy(policy, settings)->Prepare(Scaled(mix, settings.rateScale), settings.gpus);
}

PolicyResult
Simulate(const Mix& mix,
         const std::string& policy,
         const RunSettings& settings,
         PlacementError* error,
         const GoesOn& goesOn)
{
    PolicyResult result;
    result.policy = policy;
    result.rateScale = settings.rateScale;
    const auto made = MakePolicy(policy, settings);
    const Plan plan = made->Prepare(Scaled(mix, settings.rateScale), settings.gpus);
    if (!plan.why.empty())
    {
        *error = {plan.why, plan.model, plan.key, plan.nearest};
        return result;
    }
    result.gpus = plan.gpus;
    result.notes = plan.notes;
    MixRun(mix, *made, plan, settings, goesOn, &result).Go();
    if (mix.HasInstances())
    {
        AddInstances(mix, plan, settings, goesOn, &result);
    }
    return result;
}

} // namespace multiplex
