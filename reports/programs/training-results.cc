/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/training-results.h"

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "reports/base/human-text.h"
#include "scenarios/training/fewer-layers.h"

#include <algorithm>

namespace reports
{

TrainingResults::TrainingResults(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario)
{
}

double
TrainingResults::WorkingShare() const
{
    const training::TrainingPlan& plan = m_scenario.plan;
    if (!m_scenario.trace || plan.roleOf.empty())
    {
        return 1;
    }
    const auto working =
        std::count_if(plan.roleOf.begin(), plan.roleOf.end(), [&plan](uint32_t role) {
            return !plan.roles[role].tasks.empty();
        });
    return working == 0 ? 1 : static_cast<double>(working) / static_cast<double>(plan.ranks);
}

double
TrainingResults::WorkingGpus() const
{
    return m_scenario.plan.ranks * WorkingShare();
}

double
TrainingResults::SpanUs(const CollectiveRecord& record)
{
    return static_cast<double>(record.end - record.firstStart) * 1e-6;
}

void
TrainingResults::Add(const StepRecord& record, int64_t begin)
{
    const training::TrainingPlan& plan = m_scenario.plan;
    if (m_sizes.empty() || (m_measured == m_scenario.steps && m_sizes.size() < plan.sizes.size()))
    {
        BeginSize(plan.sizes[plan.SizeInTurn(m_sizes.size())].blocks);
    }
    Size& of = m_sizes.front();
    ++of.measured;
    ++m_measured;
    m_shares += record.share;
    of.stepUs += static_cast<double>(record.end - begin) * 1e-6;
    // GPUs that a recording has nothing for have no times, which are the others'.
    const double us = 1e-6 / WorkingShare();
    of.computeUs += record.computePs * us;
    of.communicationUs += record.communicationPs * us;
    of.bubbleUs += record.bubblePs * us;
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        of.exposedUs[i] += record.exposedPs[i] * us;
    }
    of.stages.resize(record.stages.size());
    for (std::size_t i = 0; i < record.stages.size(); ++i)
    {
        of.stages[i].forwardPs += record.stages[i].forwardPs;
        of.stages[i].backwardPs += record.stages[i].backwardPs;
        of.stages[i].bubblePs += record.stages[i].bubblePs;
        of.stages[i].bytesSent += record.stages[i].bytesSent;
    }
    of.hostUs += record.hostPs * us;
    of.loadingUs += record.loadingPs * us;
    of.queuedUs += record.queuedPs * 1e-6; // means of collectives, not of GPUs
    of.longestQueuedUs += record.longestQueuedPs * 1e-6;
    of.messageBytes += static_cast<double>(record.messageBytes);
    if (m_stepUs.size() < MOST_STEP_TIMES)
    {
        m_stepUs.push_back(static_cast<double>(record.end - begin) * 1e-6);
        if (m_scenario.run.recovery)
        {
            m_stepBegins.push_back(static_cast<double>(begin) / 1e6);
        }
    }
    for (const CollectiveRecord& one : record.collectives)
    {
        Sum& sum = of.sums[{coll::OpName(one.op), one.algorithm->Name()}];
        const double us = SpanUs(one);
        ++sum.count;
        sum.bytes += static_cast<double>(one.bytes);
        sum.us += us;
        // Other groups' ranks are not in it.
        const double ofRanks = 1e-6 * one.ranks / (WorkingGpus() * record.share);
        sum.rankUs += one.meanPs * ofRanks;
        sum.waitUs += one.waitPs * ofRanks;
        sum.busBytes += coll::BandwidthOf(one.op, one.bytes, one.ranks, us).busbw * us;
        sum.sent += record.share == 1
                        ? one.bytesSent
                        : static_cast<uint64_t>(static_cast<double>(one.bytesSent) / record.share);
    }
    m_collectives += record.collectives.size();
    // Whole steps, and none after one that is left out.
    if (!record.collectives.empty() && (m_collectives <= MOST_COLLECTIVES || m_listed.empty()))
    {
        m_listed.push_back({m_measured, record.collectives});
        m_collectivesListed = m_collectives;
    }
}

void
TrainingResults::BeginSize(uint32_t blocks)
{
    m_sizes.insert(m_sizes.begin(), Size());
    m_sizes.front().blocks = blocks;
    m_measured = 0;
    m_shares = 0;
    m_stepUs.clear();
    m_stepBegins.clear();
    m_listed.clear();
    m_collectives = 0;
    m_collectivesListed = 0;
}

std::vector<double>
TrainingResults::OfSizes(double Size::*sum) const
{
    std::vector<double> means;
    for (const Size& size : m_sizes)
    {
        means.push_back(size.*sum / size.measured);
    }
    return means;
}

double
TrainingResults::Mean(double Size::*sum) const
{
    return Whole(OfSizes(sum));
}

std::map<std::string, double>
TrainingResults::BytesSent() const
{
    if (!HasWhole())
    {
        return {};
    }
    const double gpus = WorkingGpus();
    std::map<std::string, std::vector<double>> values;
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
    {
        for (const auto& [key, sum] : m_sizes[i].sums)
        {
            auto& ofOp = values[key.first];
            ofOp.resize(m_sizes.size());
            ofOp[i] += static_cast<double>(sum.sent) / gpus / m_sizes[i].measured;
        }
    }
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
    {
        if (m_sizes[i].messageBytes > 0)
        {
            auto& ofMessages = values["send"];
            ofMessages.resize(m_sizes.size());
            ofMessages[i] = m_sizes[i].messageBytes / gpus / m_sizes[i].measured;
        }
    }
    std::map<std::string, double> sent;
    for (const auto& [op, ofOp] : values)
    {
        sent[op] = Whole(ofOp);
    }
    return sent;
}

std::vector<uint32_t>
TrainingResults::Blocks() const
{
    std::vector<uint32_t> blocks;
    for (const Size& size : m_sizes)
    {
        blocks.push_back(size.blocks);
    }
    return blocks;
}

double
TrainingResults::Whole(const std::vector<double>& values) const
{
    if (values.empty() || !IsExtrapolated())
    {
        return values.empty() ? 0 : values[0];
    }
    // More blocks do not do less: where chance makes a line fall, it says nothing.
    return std::max(training::Extrapolated(Blocks(), values, m_scenario.plan.blocks), values[0]);
}

bool
TrainingResults::HasWhole() const
{
    return m_measured > 0 &&
           (m_scenario.plan.sizes.size() < 2 || (IsExtrapolated() && !IsBelowComputing()));
}

bool
TrainingResults::IsExtrapolated() const
{
    return m_sizes.size() > 1;
}

bool
TrainingResults::HasTokens() const
{
    return TokensPerStep() > 0;
}

double
TrainingResults::TokensPerStep() const
{
    if (m_scenario.trace)
    {
        return static_cast<double>(m_scenario.plan.tokensPerStep);
    }
    // Models of images have a sequence of 1.
    return m_scenario.sequence > 1 ? SamplesPerStep() * m_scenario.sequence : 0;
}

bool
TrainingResults::HasSamples() const
{
    return !m_scenario.trace || m_scenario.plan.samplesPerStep > 0;
}

double
TrainingResults::SamplesPerStep() const
{
    return static_cast<double>(m_scenario.plan.samplesPerStep) *
           (m_measured ? m_shares / m_measured : 1);
}

double
TrainingResults::Peak() const
{
    return m_scenario.plan.peakFlops > 0 ? m_scenario.plan.peakFlops
                                         : m_scenario.options.gpu.Peak(m_scenario.options.dtype);
}

double
TrainingResults::Utilization(double stepUs) const
{
    return m_scenario.plan.flopsPerGpuPerStep / (stepUs * 1e-6) / Peak();
}

double
TrainingResults::MeasuredUs() const
{
    double us = 0;
    for (const Size& size : m_sizes)
    {
        us += size.stepUs;
    }
    return us;
}

} // namespace reports
