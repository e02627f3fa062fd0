/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Each model at its right size, packed over time without ever having more than the GPU (A. Dhakal,
 * S. Kulkarni, K. K. Ramakrishnan, D-STACK, arXiv 2304.13541): batches and shares of StackSizes(),
 * then at every event
 *
 *   1  one model comes first: the one whose batch has to start first, to meet its SLO; but while
 *      one that waits is late by another SLO, the one that had least share-time so far. It starts;
 *      if its share is not free, it is kept free for the time when it will be
 *   2  what else is free, and does not delay that, is filled: of all sets of waiting models the one
 *      with most share in use, by dynamic programming; a model that had less counts more
 *   3  while one is late so, who still waits takes what is free, with a smaller batch, if that ends
 *      no later than its own would
 *
 * What a model had counts half after each session, the least common multiple of the SLOs, in ms,
 * from 1 to 10 s (assumed). So models of an overloaded GPU have equal parts of it, and what one
 * does not ask for others have.
 */
#include "scenarios/multiplex/policies/stack-sizes.h"
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
constexpr double SHORTEST_SESSION = 1; // s
constexpr double LONGEST_SESSION = 10; // s
/// The least share, per cent, that a model takes instead of its own: below, those that run lose
/// more by one more beside them (assumed).
constexpr double LEAST_FILLED = 10;

class Dstack : public Policy
{
  public:
    explicit Dstack(const PolicySettings& settings)
        : m_settings(settings)
    {
    }

    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        const std::vector<RightSize> sizes = StackSizes(mix, gpus, m_settings);
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
            m_fixed.push_back(load.percent > 0);
            m_curves.push_back(load.served.curve);
            loads.push_back(LoadAt(load, sizes[i]));
            const auto ms = static_cast<uint64_t>(std::max(1LL, std::llround(load.slo * 1e3)));
            session = std::min<uint64_t>(std::lcm(session, ms),
                                         static_cast<uint64_t>(LONGEST_SESSION * 1e3));
        }
        session = std::max(session, static_cast<uint64_t>(SHORTEST_SESSION * 1e3));
        m_session = static_cast<Time>(session) * 1000000000;
        m_had.assign(mix.models.size(), 0);
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
        bool isLate = false;
        for (const Seat& seat : view.seats)
        {
            if (seat.waiting > 0 && !seat.running)
            {
                m_waiting.push_back(&seat);
                isLate = isLate || Latest(seat) + m_slos[seat.model] < view.now;
            }
        }
        if (m_waiting.empty())
        {
            return;
        }
        Forget(view.now);
        std::stable_sort(m_waiting.begin(), m_waiting.end(), [&](const Seat* a, const Seat* b) {
            return isLate ? m_had[a->model] < m_had[b->model] : Latest(*a) < Latest(*b);
        });
        const Seat* const first = m_waiting.front();
        m_waiting.erase(m_waiting.begin());
        Room room;
        room.free = view.free;
        room.spare = view.free;
        const double share = m_places[first->model].percent;
        if (share <= room.free + HAIR_OF_SHARE)
        {
            BeginWhole(view, *first, starts);
            room.free -= share;
            room.spare = room.free;
            Fill(view, &room, starts);
        }
        else
        {
            auto ends = view.ends;
            std::sort(ends.begin(), ends.end());
            for (const auto& [end, freed] : ends)
            {
                room.spare += freed;
                if (room.spare + HAIR_OF_SHARE >= share)
                {
                    room.reserved = end;
                    break;
                }
            }
            room.spare -= share;
            Fill(view, &room, starts);
        }
        if (!isLate)
        {
            return; // its own share comes soon enough, and serves more
        }
        for (const Seat* const seat : m_waiting)
        {
            TakeWhatIsFree(view, *seat, &room, false, starts);
        }
        if (room.reserved != INT64_MAX)
        {
            TakeWhatIsFree(view, *first, &room, true, starts);
        }
    }

  private:
    /// What may be taken.
    struct Room
    {
        double free = 0;           ///< per cent
        Time reserved = INT64_MAX; ///< when the first one will start
        double spare = 0;          ///< what may be in use then
    };

    /// A batch that a model runs on a smaller share.
    struct Filled
    {
        uint32_t batch = 0; ///< 0: none
        Time time = 0;
    };

    /// When a batch has to start, to meet the SLO of its first request.
    Time Latest(const Seat& seat) const
    {
        return seat.oldest + m_slos[seat.model] - m_seconds[seat.model];
    }

    void Forget(Time now)
    {
        for (; m_forgotten + m_session <= now; m_forgotten += m_session)
        {
            for (double& had : m_had)
            {
                had /= 2;
            }
        }
    }

    void Begin(const GpuView& view,
               const Seat& seat,
               uint32_t batch,
               double percent,
               Time takes,
               std::vector<Start>* starts)
    {
        // A shadow process has the next share ready (D-STACK, section 5: 100 us); a model that is
        // alone changes nothing.
        starts->push_back(
            {seat.model, batch, percent, m_together[view.gpu] > 1 ? m_settings.switchTime : 0});
        m_had[seat.model] += percent * static_cast<double>(takes);
    }

    void BeginWhole(const GpuView& view, const Seat& seat, std::vector<Start>* starts)
    {
        const Place& place = m_places[seat.model];
        const auto batch = static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
        Begin(view,
              seat,
              batch,
              place.percent,
              SecondsAt(seat.model, batch, place.percent),
              starts);
    }

    /// Alone.
    Time SecondsAt(uint32_t model, uint32_t batch, double percent) const
    {
        const ShareCurve& curve = *m_curves[model];
        while (batch < m_places[model].batch && !curve.WhyNot(batch, kWholeGpu).empty())
        {
            ++batch;
        }
        const double known = KnownShare(curve, batch, percent);
        const double seconds = curve.Seconds(batch, known) * known / percent;
        return static_cast<Time>(std::llround(seconds * kPsPerSecond));
    }

    /// The largest batch on a smaller share within a time.
    Filled FilledAt(const Seat& seat, double percent, Time within) const
    {
        auto batch =
            static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, m_places[seat.model].batch));
        for (; batch >= 1; --batch)
        {
            const Time time = SecondsAt(seat.model, batch, percent);
            if (time <= within)
            {
                return {batch, time};
            }
        }
        return {};
    }

    /// Step 3. \param isFirst the share is reserved for this one
    void TakeWhatIsFree(const GpuView& view,
                        const Seat& seat,
                        Room* room,
                        bool isFirst,
                        std::vector<Start>* starts)
    {
        const Place& place = m_places[seat.model];
        const auto began = [&seat](const Start& start) { return start.model == seat.model; };
        if (m_fixed[seat.model] || std::any_of(starts->begin(), starts->end(), began))
        {
            return;
        }
        // As long as its own batch would take, from when that could start.
        const Time longest =
            isFirst ? room->reserved - view.now + m_seconds[seat.model] : m_seconds[seat.model];
        const auto down = [](double share) {
            return std::floor(share / kShareUnit + HAIR_OF_SHARE) * kShareUnit;
        };
        const double all = std::min(place.percent, down(room->free));
        const double beside = std::min(all, down(room->spare));
        double share = all;
        Filled filled;
        if (isFirst || room->reserved == INT64_MAX)
        {
            filled = all >= LEAST_FILLED ? FilledAt(seat, all, longest) : filled;
        }
        else
        {
            // Until the first one starts, or in what is spare then.
            filled = all >= LEAST_FILLED
                         ? FilledAt(seat, all, std::min(longest, room->reserved - view.now))
                         : filled;
            const Filled other =
                beside >= LEAST_FILLED ? FilledAt(seat, beside, longest) : Filled{};
            if (other.batch > filled.batch)
            {
                filled = other;
                share = beside;
                room->spare -= beside;
            }
        }
        if (filled.batch == 0)
        {
            return;
        }
        Begin(view, seat, filled.batch, share, filled.time, starts);
        room->free -= share;
        if (room->reserved == INT64_MAX)
        {
            room->spare = room->free;
        }
    }

    /// Step 2.
    void Fill(const GpuView& view, Room* room, std::vector<Start>* starts)
    {
        struct Item
        {
            const Seat* seat;
            std::size_t units;
            double value;
            bool beyond; ///< it would still run when the first one starts
        };

        double most = 0;
        for (const Seat& seat : view.seats)
        {
            most = std::max(most, m_had[seat.model]);
        }
        std::vector<Item> items;
        for (const Seat* const seat : m_waiting)
        {
            const double share = m_places[seat->model].percent;
            const bool beyond =
                room->reserved != INT64_MAX && view.now + m_seconds[seat->model] > room->reserved;
            if (share > room->free + HAIR_OF_SHARE ||
                (beyond && share > room->spare + HAIR_OF_SHARE))
            {
                continue;
            }
            const double lack = most > 0 ? 1 - m_had[seat->model] / most : 0;
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
        const auto units = static_cast<std::size_t>(std::floor(room->free / UNIT + HAIR_OF_SHARE));
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
            if (items[i].beyond && share > room->spare + HAIR_OF_SHARE)
            {
                continue; // another one that is still there then has it
            }
            room->spare -= items[i].beyond || room->reserved == INT64_MAX ? share : 0;
            room->free -= share;
            BeginWhole(view, *items[i].seat, starts);
        }
    }

    /// Of the dynamic programme, per cent.
    static constexpr double UNIT = kShareUnit / 5;

    PolicySettings m_settings;
    std::vector<Place> m_places;
    std::vector<Time> m_seconds; ///< a whole batch
    std::vector<Time> m_slos;
    std::vector<bool> m_fixed; ///< shares that the mix gives
    std::vector<CurvePointer> m_curves;
    Time m_session = 1;
    Time m_forgotten = 0;
    std::vector<double> m_had;        ///< share-time so far
    std::vector<uint32_t> m_together; ///< models by GPU
    std::vector<const Seat*> m_waiting;
};

const RegisteredPolicy g_dstack(
    {"dstack",
     7,
     "right sizes, packed over time, urgent ones first, the rest filled",
     [](const PolicySettings& settings) { return std::make_unique<Dstack>(settings); }});

} // namespace

} // namespace multiplex
