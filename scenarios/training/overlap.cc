/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/overlap.h"

#include "scenarios/training/parameter-gathers.h"

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
    const Position user = t.users.front();
    const uint32_t use = gathers[t.gather].use;
    const uint32_t beside = EarliestBeside(o, work.layers, gathers, t.gather);
    t.begin = Before(user - use + beside);
    // The first of a micro-batch runs beside the last backward of the one before; DeepSpeed's
    // look-ahead ends with the micro-batch.
    if (use == 0 && o.zeroImpl == ZeroImpl::kPaper)
    {
        t.begin = Before(t.begin);
    }
}

} // namespace

void
ApplyOverlap(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    if (*o.overlap)
    {
        const auto gathers = o.zero == 3 ? ParameterGathers(o, work.layers) : std::vector<Gather>{};
        for (Transfer& t : transfers)
        {
            t.begin = t.made;
            if (t.made == kStart)
            {
                Prefetch(o, work, gathers, t);
            }
        }
        return;
    }
    // By micro-batch; the optimizer counts as one more.
    std::vector<Position> first;
    std::vector<Position> last;
    for (Position p = 0; p < work.order.size(); ++p)
    {
        const uint32_t m = work.order[p].microBatch;
        first.resize(m + 1, p);
        last.resize(m + 1);
        last[m] = p;
    }
    std::vector<std::vector<uint32_t>> sent(first.size());
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        Transfer& t = transfers[i];
        if (t.made == kStart)
        {
            t.begin = Before(t.users.front());
            continue;
        }
        const uint32_t m = work.order[t.made].microBatch;
        t.begin = last[m];
        if (m + 1 < first.size())
        {
            t.users.insert(t.users.begin(), first[m + 1]);
        }
        sent[m].push_back(i);
    }
    for (Transfer& t : transfers)
    {
        const uint32_t m = work.order[t.made == kStart ? t.users.front() : t.made].microBatch;
        if (t.made == kStart && m > 0 && t.users.front() == first[m])
        {
            t.behind = sent[m - 1];
        }
    }
}

} // namespace training
