/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/batch-times.h"

#include "scenarios/multiplex/knee.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace multiplex
{

namespace
{

/// Seconds of a batch that waits for others.
constexpr double STALLED = 1e6;

/// Shares in thousandths of a per cent tell batches apart.
uint64_t
KeyOf(uint32_t model, uint32_t batch, double percent)
{
    const auto share = static_cast<uint64_t>(std::llround(percent * 1000));
    return (static_cast<uint64_t>(model) << 40) | (static_cast<uint64_t>(batch) << 20) | share;
}

} // namespace

double
EqualShares(const std::vector<Claim>& claims, std::vector<double>* shares)
{
    shares->assign(claims.size(), 0);
    double rest = kWholeGpu;
    std::size_t open = claims.size();
    double level = kWholeGpu;
    for (bool again = true; again && open > 0;)
    {
        again = false;
        level = rest / static_cast<double>(open);
        for (std::size_t i = 0; i < claims.size(); ++i)
        {
            if ((*shares)[i] == 0 && claims[i].percent <= level)
            {
                (*shares)[i] = claims[i].percent;
                rest -= claims[i].percent;
                --open;
                again = true;
            }
        }
    }
    for (double& share : *shares)
    {
        share = share == 0 ? level : share;
    }
    return open > 0 ? level : kWholeGpu;
}

BatchTimes::BatchTimes(const Mix& mix, Sharing sharing, bool interferes)
    : m_mix(mix),
      m_sharing(sharing),
      m_interferes(interferes)
{
}

uint32_t
BatchTimes::KnownBatch(uint32_t model, uint32_t batch) const
{
    const ModelLoad& load = m_mix.models[model];
    const uint32_t most = std::max({batch, load.batch, load.mostBatch});
    while (batch < most && !load.served.curve->WhyNot(batch, kWholeGpu).empty())
    {
        ++batch;
    }
    return batch;
}

const Running&
BatchTimes::AtShare(uint32_t model, uint32_t batch, double percent)
{
    const auto [it, isNew] = m_running.try_emplace(KeyOf(model, batch, percent));
    if (isNew)
    {
        const ServedModel& served = m_mix.models[model].served;
        const uint32_t known = KnownBatch(model, batch);
        const double share = KnownShare(*served.curve, known, percent);
        it->second = RunningOf(*served.curve, served.profile, known, share);
        if (share != percent)
        {
            it->second.alone *= share / percent;
            it->second.active *= share / percent;
        }
    }
    return it->second;
}

double
BatchTimes::WorkOf(uint32_t model, uint32_t batch)
{
    const auto [it, isNew] = m_work.try_emplace(KeyOf(model, batch, 0), 0);
    if (isNew)
    {
        it->second = LeastWork(*m_mix.models[model].served.curve, KnownBatch(model, batch));
    }
    return it->second;
}

double
BatchTimes::Fluid(const std::vector<Claim>& claims, std::vector<double>* seconds)
{
    m_order.resize(claims.size());
    std::iota(m_order.begin(), m_order.end(), 0);
    std::sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
        return claims[a].due != claims[b].due ? claims[a].due < claims[b].due
                                              : claims[a].model < claims[b].model;
    });
    seconds->resize(claims.size());
    double rest = kWholeGpu;
    for (const std::size_t i : m_order)
    {
        const Claim& claim = claims[i];
        const double fastest = AtShare(claim.model, claim.batch, claim.percent).alone;
        const double work = kWholeGpu * WorkOf(claim.model, claim.batch);
        // Per cent in use are work over time, so what is left of them gives the time.
        (*seconds)[i] = rest > 0 ? std::clamp(work / rest, fastest, STALLED) : STALLED;
        rest = std::max(0.0, rest - work / (*seconds)[i]);
    }
    return kWholeGpu - rest;
}

double
BatchTimes::Of(const std::vector<Claim>& claims, std::vector<double>* seconds)
{
    if (m_sharing == Sharing::kFluid)
    {
        return Fluid(claims, seconds);
    }
    std::vector<double> shares;
    if (m_sharing == Sharing::kEqual)
    {
        EqualShares(claims, &shares);
    }
    double used = 0;
    m_now.clear();
    for (std::size_t i = 0; i < claims.size(); ++i)
    {
        const double share = m_sharing == Sharing::kEqual ? shares[i] : claims[i].percent;
        m_now.push_back(&AtShare(claims[i].model, claims[i].batch, share));
        used += share;
    }
    if (m_interferes)
    {
        Together(m_now, seconds);
    }
    else
    {
        seconds->resize(claims.size());
        for (std::size_t i = 0; i < claims.size(); ++i)
        {
            (*seconds)[i] = m_now[i]->alone;
        }
    }
    return used;
}

} // namespace multiplex
