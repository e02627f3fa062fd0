/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/policies/stack-sizes.h"

#include "scenarios/multiplex/interference.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace multiplex
{

namespace
{

/// Share of its time that a model runs, at most, if there is room: its requests come at random
/// (assumed).
constexpr double BUSY = 0.7;
/// What packing over time has to serve more than all at once, to be better: it leaves gaps
/// (assumed).
constexpr double NEARLY = 0.9;

/// s of a batch at any share: below the known ones work for a share is constant.
double
SecondsAt(const ShareCurve& curve, uint32_t batch, double percent)
{
    const double known = KnownShare(curve, batch, percent);
    return curve.Seconds(batch, known) * known / percent;
}

/// Right sizes, and how much of what was wanted they serve.
struct Sizes
{
    double scale = 0; ///< 0: nothing fits
    std::vector<RightSize> all;
};

class Search
{
  public:
    Search(const Mix& mix, uint32_t gpus, const PolicySettings& settings)
        : m_mix(mix),
          m_gpus(gpus),
          m_settings(settings)
    {
        for (const ModelLoad& load : mix.models)
        {
            m_candidates.emplace_back(*load.served.curve, NeedOf(load));
            const RightSize best = m_candidates.back().For(0);
            m_best.push_back(best.batch / best.seconds / best.percent * kWholeGpu);
        }
    }

    std::vector<RightSize> Best() const
    {
        const auto times = [this](std::size_t i, double scale) {
            return m_mix.models[i].rate * scale;
        };
        const Sizes resident = Largest(times, 1 / BUSY, true);
        const Sizes packed = Largest(times, 1 / BUSY, false);
        if (std::max(resident.scale, NEARLY * packed.scale) >= 1)
        {
            return resident.scale >= NEARLY * packed.scale ? resident.all : packed.all;
        }
        return Overloaded();
    }

  private:
    using RateOf = std::function<double(std::size_t, double)>;

    /// Right sizes for the largest scale that fits. \param resident all shares fit at once; else
    /// one behind another
    Sizes Largest(const RateOf& rateOf, double most, bool resident) const
    {
        const auto sizesFor = [&](double scale, std::vector<RightSize>* sizes) {
            double load = 0;
            double shares = 0;
            bool keepUp = true;
            sizes->clear();
            for (std::size_t i = 0; i < m_candidates.size(); ++i)
            {
                const double rate = rateOf(i, scale);
                const RightSize size = m_candidates[i].For(rate);
                keepUp = keepUp && size.keepsUp;
                load += rate * size.seconds / size.batch * size.percent / kWholeGpu;
                shares += size.percent;
                sizes->push_back(size);
            }
            return keepUp && (resident ? shares <= kWholeGpu * m_gpus : load <= m_gpus);
        };
        Sizes best;
        std::vector<RightSize> sizes;
        if (sizesFor(most, &sizes))
        {
            return {most, sizes};
        }
        best.all = sizes;
        double low = 0;
        double high = most;
        for (int i = 0; i < 20; ++i)
        {
            const double scale = (low + high) / 2;
            if (sizesFor(scale, &sizes))
            {
                low = scale;
                best = {scale, sizes};
            }
            else
            {
                high = scale;
            }
        }
        return best;
    }

    std::vector<RightSize> Overloaded() const
    {
        const auto parts = [this](std::size_t i, double part) {
            return std::min(m_mix.models[i].rate, part * m_best[i]);
        };
        Sizes resident = Largest(parts, 1, true);
        const Sizes packed = Largest(parts, 1, false);
        std::vector<RightSize> sizes = WholeGpus();
        double useful = Useful(sizes, false);
        const auto consider = [&](const Sizes& of, double usual, bool atOnce) {
            const double its = of.scale > 0 ? usual * Useful(of.all, atOnce) : 0;
            if (its > useful)
            {
                useful = its;
                sizes = of.all;
            }
        };
        consider(packed, NEARLY, false);
        if (resident.scale > 0)
        {
            Move(&resident.all);
            consider(resident, 1, true);
        }
        return sizes;
    }

    /// One after another, each with a whole GPU.
    std::vector<RightSize> WholeGpus() const
    {
        std::vector<RightSize> sizes;
        for (const ModelLoad& load : m_mix.models)
        {
            const ShareCurve& curve = *load.served.curve;
            RightSize size;
            size.percent = load.percent > 0 ? load.percent : kWholeGpu;
            size.batch =
                load.batch > 0 ? load.batch : LargestInTime(curve, size.percent, NeedOf(load));
            size.seconds = SecondsAt(curve, size.batch, size.percent);
            sizes.push_back(size);
        }
        return sizes;
    }

    /// Moves shares of one GPU, and what is free of it, to where they serve most, as long as each
    /// model has half of its part.
    void Move(std::vector<RightSize>* sizes) const
    {
        const std::size_t models = sizes->size();
        const double least = kWholeGpu / static_cast<double>(models) / 2;
        const std::vector<RightSize> given = *sizes;
        double useful = Useful(*sizes, true);
        for (bool again = m_gpus == 1; again;)
        {
            again = false;
            std::vector<RightSize> best;
            // From the free part too: index `models`.
            for (std::size_t from = 0; from <= models; ++from)
            {
                for (std::size_t to = 0; to < models; ++to)
                {
                    std::vector<RightSize> tried = *sizes;
                    const bool moves =
                        from != to && Widen(to, kShareUnit, &tried) &&
                        (from == models ? SharesOf(tried) <= kWholeGpu
                                        : tried[from].percent - kShareUnit >=
                                                  std::min(least, given[from].percent) &&
                                              Widen(from, -kShareUnit, &tried));
                    const double its = moves ? Useful(tried, true) : 0;
                    if (its > useful * (1 + 1e-6))
                    {
                        useful = its;
                        best = tried;
                    }
                }
            }
            if (!best.empty())
            {
                *sizes = best;
                again = true;
            }
        }
    }

    static double SharesOf(const std::vector<RightSize>& sizes)
    {
        double sum = 0;
        for (const RightSize& size : sizes)
        {
            sum += size.percent;
        }
        return sum;
    }

    /// Another share, with its largest batch in time. \return it may have that
    bool Widen(std::size_t model, double by, std::vector<RightSize>* sizes) const
    {
        const ModelLoad& load = m_mix.models[model];
        const ShareCurve& curve = *load.served.curve;
        RightSize& size = (*sizes)[model];
        if (load.percent > 0 || size.percent + by > kWholeGpu ||
            (by > 0 && size.batch / size.seconds >= load.rate / BUSY))
        {
            return false;
        }
        size.percent += by;
        const double known = KnownShare(curve, size.batch, size.percent);
        size.batch = load.batch > 0 ? load.batch : LargestInTime(curve, known, NeedOf(load));
        size.seconds = SecondsAt(curve, size.batch, size.percent);
        return true;
    }

    /// Useful work: what models serve, as parts of what each would serve
    /// at most on a whole GPU, summed. \param resident each has its share all the time; else equal
    /// parts of share-time
    double Useful(const std::vector<RightSize>& sizes, bool resident) const
    {
        std::vector<double> loads;
        for (std::size_t i = 0; i < sizes.size(); ++i)
        {
            loads.push_back(LoadAt(m_mix.models[i], sizes[i]));
        }
        const auto where = SpreadOver(m_gpus, m_mix, loads);
        double sum = 0;
        for (uint32_t gpu = 0; gpu < m_gpus; ++gpu)
        {
            std::vector<std::size_t> here;
            for (std::size_t i = 0; i < where.size(); ++i)
            {
                if (where[i] == gpu)
                {
                    here.push_back(i);
                }
            }
            sum += here.empty() ? 0 : UsefulOf(sizes, here, resident);
        }
        return sum;
    }

    double UsefulOf(const std::vector<RightSize>& sizes,
                    const std::vector<std::size_t>& here,
                    bool resident) const
    {
        // Each model, with those behind it that fit beside it.
        double useful = 0;
        double room = 0;                               // share-time, parts of a GPU
        std::vector<std::pair<double, double>> wanted; // and how useful it is
        const auto models = static_cast<double>(here.size());
        for (std::size_t first = 0; first < here.size(); ++first)
        {
            std::vector<Running> together;
            double shares = 0;
            for (std::size_t k = 0; k < here.size(); ++k)
            {
                const std::size_t i = here[(first + k) % here.size()];
                if (shares + sizes[i].percent <= kWholeGpu + 1e-9)
                {
                    shares += sizes[i].percent;
                    together.push_back(RunningAt(i, sizes[i]));
                }
            }
            std::vector<const Running*> pointers;
            for (const Running& one : together)
            {
                pointers.push_back(&one);
            }
            std::vector<double> seconds = {together.front().alone};
            if (m_settings.interference)
            {
                Together(pointers, &seconds);
            }
            const RightSize& size = sizes[here[first]];
            const double takes = seconds[0] + (here.size() > 1 ? m_settings.switchTime : 0);
            const double serves = size.batch / takes / size.percent * kWholeGpu;
            const double asks = m_mix.models[here[first]].rate;
            if (resident)
            {
                const double has = serves * size.percent / kWholeGpu;
                useful += std::min(has, asks) / m_best[here[first]];
                continue;
            }
            room += std::min(shares, kWholeGpu) / kWholeGpu / models;
            wanted.push_back({asks / serves, serves / m_best[here[first]]});
        }
        // Equal parts of share-time; what one does not ask for others have.
        std::sort(wanted.begin(), wanted.end());
        for (std::size_t i = 0; i < wanted.size(); ++i)
        {
            const double part =
                std::min(wanted[i].first, room / static_cast<double>(wanted.size() - i));
            useful += part * wanted[i].second;
            room -= part;
        }
        return useful;
    }

    Running RunningAt(std::size_t model, const RightSize& size) const
    {
        const ServedModel& served = m_mix.models[model].served;
        const double known = KnownShare(*served.curve, size.batch, size.percent);
        Running running = RunningOf(*served.curve, served.profile, size.batch, known);
        running.alone *= known / size.percent;
        running.active *= known / size.percent;
        return running;
    }

    const Mix& m_mix;
    uint32_t m_gpus;
    const PolicySettings& m_settings;
    std::vector<RightSizes> m_candidates;
    std::vector<double> m_best; ///< requests/s for a whole GPU, at most
};

} // namespace

double
LoadAt(const ModelLoad& load, const RightSize& size)
{
    return load.rate * size.seconds / size.batch * size.percent / kWholeGpu;
}

std::vector<RightSize>
StackSizes(const Mix& mix, uint32_t gpus, const PolicySettings& settings)
{
    return Search(mix, gpus, settings).Best();
}

} // namespace multiplex
