/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where the time of TrainingResults' steps went, and the same of the whole model with --layers.
 */
#include "reports/attribution/parallelism-keys.h"
#include "reports/base/human-text.h"
#include "reports/programs/training-results.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/ideal-step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reports
{

namespace
{

double
IdealStepUs(const training::IdealStep& ideal)
{
    return ideal.stepSeconds * 1e6;
}

double
SumOf(const std::array<double, training::kParallelisms>& parts)
{
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// What is left of equal numbers is no error.
double
Rounded(double error)
{
    return std::abs(error) < 1e-12 ? 0 : error;
}

} // namespace

double
TrainingResults::Breakdown::Exposed() const
{
    return SumOf(exposed);
}

const std::vector<training::IdealStep>&
TrainingResults::Ideals() const
{
    if (!m_ideals)
    {
        m_ideals.emplace();
        if (IsExtrapolated())
        {
            std::vector<uint32_t> all = Blocks();
            all.push_back(m_scenario.plan.blocks);
            for (const uint32_t blocks : all)
            {
                const auto ideal =
                    training::IdealStepOf(m_scenario.options, m_scenario.plan, blocks);
                if (!ideal)
                {
                    m_ideals->clear();
                    break;
                }
                m_ideals->push_back(*ideal);
            }
        }
    }
    return *m_ideals;
}

double
TrainingResults::BeyondIdeal(const std::vector<double>& values,
                             const std::function<double(const training::IdealStep&)>& ideal) const
{
    std::vector<double> beyond;
    for (std::size_t i = 0; i < values.size(); ++i)
    {
        beyond.push_back(values[i] - ideal(Ideals()[i]));
    }
    return training::Extrapolated(Blocks(), beyond, m_scenario.plan.blocks);
}

double
TrainingResults::GetStepUs() const
{
    // A pipeline's step bends: with few blocks, stages wait for those that also have the embedding
    // or the head. What the network adds is a line.
    const double step = Ideals().empty()
                            ? Mean(&Size::stepUs)
                            : IdealStepUs(Ideals().back()) +
                                  std::max(0.0, BeyondIdeal(OfSizes(&Size::stepUs), IdealStepUs));
    return step;
}

bool
TrainingResults::IsBelowComputing() const
{
    constexpr double ROUNDING = 1e-9;
    return IsExtrapolated() &&
           GetStepUs() < (1 - ROUNDING) * (Mean(&Size::computeUs) + Mean(&Size::hostUs));
}

double
TrainingResults::WaitingUs(const Size& size)
{
    const double parts =
        size.computeUs + size.hostUs + size.loadingUs + size.bubbleUs + SumOf(size.exposedUs);
    return std::max(0.0, size.stepUs - parts) / size.measured;
}

double
TrainingResults::BubbleUs(double leftUs) const
{
    double bubble = 0;
    if (!IsExtrapolated())
    {
        bubble = Mean(&Size::bubbleUs);
    }
    else if (!Ideals().empty())
    {
        // A stage that ends the first step early waits for the last one. In later steps it begins
        // the next step meanwhile, and waits there.
        // Both together are what the network adds a line to.
        const double firsts = m_scenario.warmupSteps == 0 ? 1.0 / m_measured : 0;
        const auto together = [](const training::IdealStep& ideal) {
            return (ideal.stepSeconds - ideal.computeSeconds) * 1e6;
        };
        std::vector<double> values = OfSizes(&Size::bubbleUs);
        for (std::size_t i = 0; firsts > 0 && i < m_sizes.size(); ++i)
        {
            values[i] += WaitingUs(m_sizes[i]);
        }
        const training::IdealStep& whole = Ideals().back();
        bubble =
            together(whole) + BeyondIdeal(values, together) - firsts * whole.waitingSeconds * 1e6;
    }
    else
    {
        // A bubble is no straight line. With few blocks it is mostly the wait for the stages that
        // also have the embedding and the head. Step and computing are straight lines, and so is
        // their difference; the bubble keeps its share of it.
        bubble = BubbleShare(m_sizes[0]) * leftUs;
    }
    return std::clamp(bubble, 0.0, std::max(leftUs, 0.0));
}

TrainingResults::Breakdown
TrainingResults::GetBreakdown() const
{
    Breakdown parts;
    parts.step = GetStepUs();
    double left = parts.step;
    const auto take = [&left](double us) {
        const double taken = std::clamp(us, 0.0, left);
        left -= taken;
        return taken;
    };
    parts.compute = take(Mean(&Size::computeUs));
    parts.host = take(Mean(&Size::hostUs));
    parts.loading = take(Mean(&Size::loadingUs));
    parts.underWay = Mean(&Size::communicationUs);
    parts.bubble = take(BubbleUs(left));
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        std::vector<double> ofSizes;
        for (const Size& size : m_sizes)
        {
            ofSizes.push_back(size.exposedUs[i] / size.measured);
        }
        parts.exposed[i] =
            std::max(0.0, training::Extrapolated(Blocks(), ofSizes, m_scenario.plan.blocks));
    }
    if (m_scenario.served)
    {
        // Replicas and servers have no groups: messages that nothing covers.
        parts.exposed[static_cast<std::size_t>(training::Parallelism::kData)] =
            std::min(left, parts.underWay);
    }
    // A GPU's step begins when its own step before ended, which may be earlier than the last
    // GPU's. Where GPUs start earlier than in the step before, their parts are longer than the
    // step.
    const double exposed = SumOf(parts.exposed);
    if (exposed > left)
    {
        for (double& us : parts.exposed)
        {
            us *= left / exposed;
        }
    }
    left -= std::min(left, exposed);
    // A rest from rounding between equal sums is no time.
    parts.waiting = left > 1e-12 * parts.step ? left : 0;
    // Lines over the blocks may cross.
    parts.underWay = std::max(parts.underWay, SumOf(parts.exposed));
    return parts;
}

bool
TrainingResults::IsHeld() const
{
    const std::vector<double> times = OfSizes(&Size::stepUs);
    return times.size() > 1 && times[0] < times[1] && Ideals().empty();
}

std::optional<double>
TrainingResults::LineError() const
{
    const std::vector<double> times = OfSizes(&Size::stepUs);
    if (Ideals().empty() || times.size() < 3)
    {
        return training::ExtrapolationError(Blocks(), times);
    }
    const auto beyond = [&](std::size_t i) { return times[i] - IdealStepUs(Ideals()[i]); };
    const std::vector<uint32_t> blocks = Blocks();
    const double line =
        training::Extrapolated({blocks[1], blocks[2]}, {beyond(1), beyond(2)}, blocks[0]);
    return Rounded((line - beyond(0)) / times[0]);
}

std::optional<double>
TrainingResults::WholeLineError() const
{
    std::vector<double> values = OfSizes(&Size::stepUs);
    if (Ideals().empty())
    {
        return training::WholeError(Blocks(), values, m_scenario.plan.blocks);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
    {
        values[i] -= IdealStepUs(Ideals()[i]);
    }
    const double ideal = IdealStepUs(Ideals().back());
    const double line = training::Extrapolated(Blocks(), values, m_scenario.plan.blocks);
    const auto error = training::WholeError(Blocks(), values, m_scenario.plan.blocks);
    return error ? std::optional(Rounded((ideal + line) / (ideal + line / (1 + *error)) - 1))
                 : std::nullopt;
}

std::string
TrainingResults::BubbleShares() const
{
    if (!IsExtrapolated() || !Ideals().empty())
    {
        return "";
    }
    std::string shares;
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
    {
        shares += Format(i > 0 ? ", %.0f" : "%.0f", 100 * BubbleShare(m_sizes[i]));
    }
    return "; rough: of the exposed " + shares + "%";
}

std::string
TrainingResults::CommunicationOfSizes() const
{
    if (!IsExtrapolated())
    {
        return "";
    }
    std::string times;
    for (const double us : OfSizes(&Size::communicationUs))
    {
        times += (times.empty() ? "" : ", ") + HumanTime(us);
    }
    return "; rough: extrapolated from " + times;
}

double
TrainingResults::BubbleShare(const Size& size)
{
    const double exposed = size.stepUs - size.computeUs - size.hostUs;
    return exposed > 0 ? std::clamp(size.bubbleUs / exposed, 0.0, 1.0) : 0;
}

const Object<TrainingResults::Breakdown>&
TrainingResults::ExposedKeys()
{
    static const auto keys =
        KeysByParallelism<Breakdown>([](const Breakdown& parts, training::Parallelism parallelism) {
            return parts.exposed[static_cast<std::size_t>(parallelism)];
        });
    return keys;
}

std::vector<StageRecord>
TrainingResults::GetStages() const
{
    std::vector<StageRecord> stages =
        m_sizes.empty() ? std::vector<StageRecord>() : m_sizes[0].stages;
    for (StageRecord& stage : stages)
    {
        for (double StageRecord::*part : {&StageRecord::forwardPs,
                                          &StageRecord::backwardPs,
                                          &StageRecord::bubblePs,
                                          &StageRecord::bytesSent})
        {
            stage.*part /= m_sizes[0].measured;
        }
    }
    return stages;
}

const Object<StageRecord>&
TrainingResults::StageKeys()
{
    static const Object<StageRecord> keys{
        {"forward_us (us): Forward passes",
         [](const StageRecord& s) { return s.forwardPs * 1e-6; }},
        {"backward_us (us): Backward passes, with what is computed again",
         [](const StageRecord& s) { return s.backwardPs * 1e-6; }},
        {"bubble_us (us): As bubble_time_us",
         [](const StageRecord& s) { return s.bubblePs * 1e-6; }},
        {"bytes_sent (B): Collectives and messages, NVLink included", &StageRecord::bytesSent}};
    return keys;
}

} // namespace reports
