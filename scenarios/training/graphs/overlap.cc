/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/overlap.h"

#include "scenarios/training/framework.h"
#include "scenarios/training/parameter-gathers.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace training
{

namespace
{

/// The computation before; kStart before the first.
Position
Before(Position position)
{
    return position == kStart || position == 0 ? kStart : position - 1;
}

/// A gather that nothing but the memory holds up.
void
Prefetch(const TrainingOptions& o,
         const RankWork& work,
         const std::vector<Gather>& gathers,
         Transfer& t)
{
    const uint32_t use = gathers[t.gather].use;
    const uint32_t beside = EarliestBeside(o, gathers, t.gather);
    t.begin = Before(PositionOfUse(work, work.order[t.users.front()].microBatch, beside));
    // The first of a micro-batch runs beside the last backward of the one before.
    if (use == 0 && GathersOf(o).ahead)
    {
        t.begin = Before(t.begin);
    }
}

/// The last computation of a micro-batch, or the optimizer.
Position
EndOf(const RankWork& work, uint32_t microBatch)
{
    if (work.order[work.Optimizer()].microBatch == microBatch)
    {
        return work.Optimizer();
    }
    Position last = 0;
    for (uint32_t i = 0; i < work.layers.size(); ++i)
    {
        last = std::max(last, work.Gradient(microBatch, i));
    }
    return last;
}

} // namespace

/// With --overlap-share: every so many-th of a kind begins as without overlap.
class Shares
{
  public:
    explicit Shares(double share)
        : m_exposed(1 - share)
    {
    }

    bool NextIsExposed()
    {
        const double before = m_exposed * m_count;
        ++m_count;
        return std::floor(m_exposed * m_count + kSlack) > std::floor(before + kSlack);
    }

  private:
    static constexpr double kSlack = 1e-9;
    double m_exposed;
    double m_count = 0;
};

/// Behind the backward of its micro-batch, which the next one waits for.
void
Expose(const RankWork& work, Transfer& t)
{
    t.begin = EndOf(work, work.order[t.made].microBatch);
    if (t.begin < work.Optimizer())
    {
        t.users.insert(t.users.begin(), t.begin + 1);
    }
}

void
ApplyOverlap(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    if (*o.overlap)
    {
        const auto experts = ExpertsOf(work.layers);
        std::vector<Gather> gathers;
        std::vector<Gather> ofExperts;
        if (GathersOf(o).beforeLayers)
        {
            gathers = ParameterGathers(o, work.layers);
            ofExperts = ParameterGathers(o, experts);
        }
        Shares reductions(o.overlapShare);
        Shares parameters(o.overlapShare);
        for (Transfer& t : transfers)
        {
            if (t.inLine)
            {
                continue;
            }
            t.begin = t.made;
            if (t.made == kStart)
            {
                const bool dense = t.task.stream == kParameterStream;
                if (parameters.NextIsExposed())
                {
                    t.begin = Before(t.users.front());
                    continue;
                }
                Prefetch(o, work, dense ? gathers : ofExperts, t);
            }
            else if (t.made < work.FirstOptimizer() && reductions.NextIsExposed())
            {
                Expose(work, t);
            }
        }
        return;
    }
    std::map<Position, std::vector<uint32_t>> sent; // by the computation behind which they begin
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        Transfer& t = transfers[i];
        if (t.inLine)
        {
            continue;
        }
        if (t.made == kStart)
        {
            t.begin = Before(t.users.front());
            continue;
        }
        Expose(work, t);
        sent[t.begin].push_back(i);
    }
    for (Transfer& t : transfers)
    {
        if (!t.inLine && t.made == kStart && t.begin != kStart && sent.count(t.begin) > 0)
        {
            t.behind = sent[t.begin];
        }
    }
}

} // namespace training
