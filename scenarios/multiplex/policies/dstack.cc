/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Each model at its right size, packed over time without ever having more than the GPU (A. Dhakal,
 * S. Kulkarni, K. K. Ramakrishnan, D-STACK, arXiv 2304.13541): batch and share that serve most for
 * a share (RightSizes), then at every event
 *
 *   1  the model whose batch has to start first, to meet its SLO, starts; if its share is not free,
 *      it is kept free for the time when it will be
 *   2  what else is free, and does not delay that, is filled: of all sets of waiting models the one
 *      with most share in use, by dynamic programming; a model that had less than its part of this
 *      session counts more
 *
 * A session is the least common multiple of the SLOs, in ms, at most 10 s (assumed).
 */
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace multiplex
{

namespace
{

constexpr double HAIR_OF_SHARE = 1e-9;
constexpr double LONGEST_SESSION = 10; // s
/// Share of its time that a model runs, at most, if there is room: its requests come at random
/// (assumed).
constexpr double BUSY = 0.7;
/// What packing over time has to serve more than all at once, to be better (assumed).
constexpr double NEARLY = 0.9;

class Dstack : public Policy
{
  public:
    explicit Dstack(const PolicySettings& settings)
        : m_switch(settings.switchTime)
    {
    }

    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        const std::vector<RightSize> sizes = SizesOf(mix, gpus);
        std::vector<double> loads;
        uint64_t session = 1; // ms
        for (std::size_t i = 0; i < sizes.size(); ++i)
        {
            const ModelLoad& load = mix.models[i];
            Place place;
            place.batch = sizes[i].batch;
            place.percent = sizes[i].percent;
            plan.places.push_back(place);
            m_seconds.push_back(static_cast<Time>(std::llround(sizes[i].seconds * kPsPerSecond)));
            m_slos.push_back(static_cast<Time>(std::llround(load.slo * kPsPerSecond)));
            loads.push_back(LoadAt(load, sizes[i]));
            const auto ms = static_cast<uint64_t>(std::max(1LL, std::llround(load.slo * 1e3)));
            session = std::min<uint64_t>(std::lcm(session, ms),
                                         static_cast<uint64_t>(LONGEST_SESSION * 1e3));
        }
        m_session = static_cast<Time>(session) * 1000000000;
        m_had.assign(mix.models.size(), 0);
        m_sessionOf.assign(mix.models.size(), -1);
        const auto where = SpreadOver(gpus, mix, loads);
        m_together.assign(gpus, 0);
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            plan.places[i].gpu = where[i];
            ++m_together[where[i]];
        }
        m_places = plan.places;
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        m_waiting.clear();
        for (const Seat& seat : view.seats)
        {
            if (seat.waiting > 0 && !seat.running)
            {
                m_waiting.push_back(&seat);
            }
        }
        if (m_waiting.empty())
        {
            return;
        }
        const auto latest = [this](const Seat* seat) {
            return seat->oldest + m_slos[seat->model] - m_seconds[seat->model];
        };
        const auto first =
            std::min_element(m_waiting.begin(), m_waiting.end(), [&](const Seat* a, const Seat* b) {
                return latest(a) < latest(b);
            });
        const Seat* const urgent = *first;
        m_waiting.erase(first);
        double free = view.free;
        const double share = m_places[urgent->model].percent;
        Time reserved = INT64_MAX; // when the urgent one will start
        double spare = free;       // what may be in use then
        if (share <= free + HAIR_OF_SHARE)
        {
            Begin(view, *urgent, starts);
            free -= share;
            spare = free;
        }
        else
        {
            auto ends = view.ends;
            std::sort(ends.begin(), ends.end());
            spare = free;
            for (const auto& [end, freed] : ends)
            {
                spare += freed;
                if (spare + HAIR_OF_SHARE >= share)
                {
                    reserved = end;
                    break;
                }
            }
            spare -= share;
        }
        Fill(view, free, reserved, spare, starts);
    }

  private:
    /// Share-time that a model needs, in whole GPUs.
    static double LoadAt(const ModelLoad& load, const RightSize& size)
    {
        return load.rate * size.seconds / size.batch * size.percent / kWholeGpu;
    }

    /// Right sizes, and how many times the rates they serve.
    struct Sizes
    {
        double times = 0;
        std::vector<RightSize> all;
    };

    /// Right sizes for as many times the rates as fit, at most what leaves each model idle for some
    /// of its time. \param resident all shares fit at once; else one behind another
    static Sizes Search(const Mix& mix,
                        const std::vector<RightSizes>& candidates,
                        uint32_t gpus,
                        bool resident)
    {
        const auto sizesFor = [&](double times, std::vector<RightSize>* sizes) {
            double load = 0;
            double shares = 0;
            bool keepUp = true;
            sizes->clear();
            for (std::size_t i = 0; i < candidates.size(); ++i)
            {
                sizes->push_back(candidates[i].For(mix.models[i].rate * times));
                keepUp = keepUp && sizes->back().keepsUp;
                load += times * LoadAt(mix.models[i], sizes->back());
                shares += sizes->back().percent;
            }
            return keepUp && (resident ? shares <= kWholeGpu * gpus : load <= gpus);
        };
        Sizes best;
        std::vector<RightSize> sizes;
        double low = 0;
        double high = 1 / BUSY;
        if (sizesFor(high, &sizes))
        {
            return {high, sizes};
        }
        best.all = sizes;
        for (int i = 0; i < 20; ++i)
        {
            const double times = (low + high) / 2;
            if (sizesFor(times, &sizes))
            {
                low = times;
                best = {times, sizes};
            }
            else
            {
                high = times;
            }
        }
        return best;
    }

    /// All at once if that serves nearly as much: packing over time leaves gaps.
    static std::vector<RightSize> SizesOf(const Mix& mix, uint32_t gpus)
    {
        std::vector<RightSizes> candidates;
        for (const ModelLoad& load : mix.models)
        {
            candidates.emplace_back(*load.served.curve, NeedOf(load));
        }
        Sizes resident = Search(mix, candidates, gpus, true);
        Sizes packed = Search(mix, candidates, gpus, false);
        return resident.times >= NEARLY * packed.times && resident.times > 0 ? resident.all
                                                                             : packed.all;
    }

    void Begin(const GpuView& view, const Seat& seat, std::vector<Start>* starts)
    {
        const Place& place = m_places[seat.model];
        const auto batch = static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
        // A shadow process has the next share ready (D-STACK, section 5: 100 us); a model that is
        // alone changes nothing.
        starts->push_back(
            {seat.model, batch, place.percent, m_together[view.gpu] > 1 ? m_switch : 0});
        Had(seat.model, view.now) += place.percent * static_cast<double>(m_seconds[seat.model]);
    }

    /// Share-time of a model in this session.
    double& Had(uint32_t model, Time now)
    {
        const int64_t session = now / m_session;
        if (m_sessionOf[model] != session)
        {
            m_sessionOf[model] = session;
            m_had[model] = 0;
        }
        return m_had[model];
    }

    void Fill(const GpuView& view,
              double free,
              Time reserved,
              double spare,
              std::vector<Start>* starts)
    {
        struct Item
        {
            const Seat* seat;
            std::size_t units;
            double value;
            bool beyond; ///< it would still run when the urgent one starts
        };

        const double part = kWholeGpu * static_cast<double>(m_session) / m_together[view.gpu];
        std::vector<Item> items;
        for (const Seat* const seat : m_waiting)
        {
            const double share = m_places[seat->model].percent;
            const bool beyond =
                reserved != INT64_MAX && view.now + m_seconds[seat->model] > reserved;
            if (share > free + HAIR_OF_SHARE || (beyond && share > spare + HAIR_OF_SHARE))
            {
                continue;
            }
            const double lack = std::max(0.0, 1 - Had(seat->model, view.now) / part);
            items.push_back({seat,
                             static_cast<std::size_t>(std::ceil(share / UNIT - HAIR_OF_SHARE)),
                             share * (1 + lack),
                             beyond});
        }
        if (items.empty())
        {
            return;
        }
        // best[i][u]: most value of the first i items in u units.
        const auto units = static_cast<std::size_t>(std::floor(free / UNIT + HAIR_OF_SHARE));
        std::vector<std::vector<double>> best(items.size() + 1,
                                              std::vector<double>(units + 1, 0.0));
        for (std::size_t i = 0; i < items.size(); ++i)
        {
            for (std::size_t u = 0; u <= units; ++u)
            {
                best[i + 1][u] = best[i][u];
                if (items[i].units <= u)
                {
                    best[i + 1][u] =
                        std::max(best[i + 1][u], best[i][u - items[i].units] + items[i].value);
                }
            }
        }
        std::size_t u = units;
        for (std::size_t i = items.size(); i-- > 0;)
        {
            if (best[i + 1][u] == best[i][u])
            {
                continue;
            }
            u -= items[i].units;
            const double share = m_places[items[i].seat->model].percent;
            if (items[i].beyond && share > spare + HAIR_OF_SHARE)
            {
                continue; // another one that is still there then has it
            }
            spare -= items[i].beyond ? share : 0;
            Begin(view, *items[i].seat, starts);
        }
    }

    /// Of the dynamic programme, per cent.
    static constexpr double UNIT = kShareUnit / 5;

    double m_switch;
    std::vector<Place> m_places;
    std::vector<Time> m_seconds; ///< a whole batch
    std::vector<Time> m_slos;
    Time m_session = 1;
    std::vector<double> m_had;
    std::vector<int64_t> m_sessionOf;
    std::vector<uint32_t> m_together; ///< models by GPU
    std::vector<const Seat*> m_waiting;
};

const RegisteredPolicy g_dstack("dstack",
                                "right sizes, packed over time, urgent ones first, the rest filled",
                                [](const PolicySettings& settings) {
                                    return std::make_unique<Dstack>(settings);
                                });

} // namespace

} // namespace multiplex
