/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TrainingResults as dltrain prints them.
 */
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/capture-results.h"
#include "reports/programs/served-results.h"
#include "reports/programs/training-results.h"
#include "reports/stats/run-stats.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/placement/placement.h"
#include "scenarios/training/fewer-layers.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace reports
{

namespace
{

/// "TP 12 ms, DP 3 ms; ", those of at least 0.1% of the step; "DP; " if there is only one.
std::string
ExposedText(const TrainingResults::Breakdown& parts)
{
    constexpr double LEAST = 5e-4; // of the step
    std::vector<std::pair<double, const char*>> kinds;
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        if (parts.exposed[i] > LEAST * parts.step)
        {
            kinds.emplace_back(parts.exposed[i],
                               training::ParallelismWord(static_cast<training::Parallelism>(i)));
        }
    }
    std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
        return a.first > b.first;
    });
    std::string text;
    for (const auto& [us, word] : kinds)
    {
        text += text.empty() ? "" : ", ";
        text += kinds.size() > 1 ? word + (" " + HumanTime(us)) : word;
    }
    return text.empty() ? "" : text + "; ";
}

void
PrintCriticalPath(std::ostream& os, const CriticalPath& critical, const std::string& ofWhat)
{
    int64_t total = 0;
    for (const CriticalPath::Line& line : critical.InLines())
    {
        if (line.ps < 0)
        {
            os << Format("  %-20s ", line.what.c_str())
               << rdma::Printable(Wrapped(line.words, 23), "\n") << "\n";
            continue;
        }
        const std::string words = rdma::Printable(line.words, "\n");
        const std::string time = HumanTime(static_cast<double>(line.ps) * 1e-6);
        if (total == 0)
        {
            total = line.ps;
            os << Format("Critical path          %10s   ", time.c_str()) << ofWhat << words << "\n";
            continue;
        }
        const double share = 100 * static_cast<double>(line.ps) / static_cast<double>(total);
        os << Format("  %-20s %10s   %5.1f%%", line.what.c_str(), time.c_str(), share)
           << (words.empty() ? "" : "   ") << words << "\n";
    }
}

} // namespace

void
TrainingResults::PrintHead(std::ostream& os) const
{
    os << rdma::Shown(m_scenario.model) << ", ";
    if (m_scenario.trace)
    {
        os << m_scenario.trace->format << " of " << m_scenario.trace->ranks << " ranks";
        os << (m_scenario.trace->torch.empty() ? "" : ", PyTorch " + m_scenario.trace->torch);
    }
    else if (m_scenario.served)
    {
        os << training::StrategyName(m_scenario.served->Options().strategy);
    }
    else if (m_scenario.sharded)
    {
        os << "sharded by operator";
    }
    else
    {
        os << "ZeRO-" << m_scenario.options.sharding.Stage() << " ("
           << training::ZeroImplName(m_scenario.options.zeroImpl) << ")";
    }
    os << (m_scenario.trace ? "" : ", " + m_scenario.dtype) << ": "
       << topo::Counted(m_scenario.plan.ranks, "GPU") << " (" << rdma::Shown(m_scenario.gpu)
       << ") in " << topo::Counted(m_scenario.cluster.servers, "server") << ", ";
    if (scenario::UsesNetwork(m_scenario.cluster, m_scenario.run))
    {
        os << rdma::Shown(m_scenario.cluster.topologyName) << ", "
           << rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)) << ", "
           << scenario::PlacementName(m_scenario.cluster.placement) << " placement\n";
    }
    else
    {
        os << "without a network\n";
    }
    if (m_scenario.trace)
    {
        os << "\n";
        if (m_scenario.capture)
        {
            PrintCapture(os, m_scenario.capture->findings);
        }
        return;
    }
    if (m_scenario.sharded)
    {
        os << m_scenario.microBatch << " samples a pass of all GPUs x accumulation "
           << m_scenario.accumulation << ", global batch " << m_scenario.globalBatch << "\n\n"
           << scenario::ShardingText(m_scenario) << "\n";
        return;
    }
    const training::TrainingOptions& o = m_scenario.options;
    if (!m_scenario.served && (o.Data() < m_scenario.plan.ranks || o.expert > 1 || o.Folded()))
    {
        os << scenario::DegreesText(o) << "; ";
    }
    os << "micro-batch " << m_scenario.microBatch << " x accumulation " << m_scenario.accumulation
       << ", global batch " << m_scenario.globalBatch;
    if (HasTokens())
    {
        os << ", sequence " << m_scenario.sequence;
    }
    os << "\n\n";
}

/// The numbers of blocks that the whole was extrapolated from, and how well these fit a line.
std::string
TrainingResults::ExtrapolationText() const
{
    const training::TrainingPlan& plan = m_scenario.plan;
    const std::vector<double> times = OfSizes(&Size::stepUs);
    std::string what = "of " + std::to_string(plan.blocks) + " blocks, extrapolated from";
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
    {
        what += (i > 0 ? ", " : " ") + std::to_string(m_sizes[i].blocks) + " (" +
                HumanTime(times[i]) + ")";
    }
    const auto error = LineError();
    const auto percent = [](double share) {
        return share < 1 ? Format("%.2g%%", 100 * share) : Format("%.0f%%", 100 * share);
    };
    what += error ? "; error " + percent(*error) + " at " + std::to_string(m_sizes[0].blocks) +
                        " blocks"
                  : "";
    if (plan.sizes.size() == 2)
    {
        // Three numbers need three times the least (SizesToSimulate).
        const uint32_t least = 3 * m_sizes.back().blocks;
        what += "; error unknown from two numbers of blocks" +
                (least < plan.blocks ? " (--layers=" + std::to_string(least) + " tells it)"
                                     : std::string());
    }
    if (IsHeld())
    {
        what +=
            "; more blocks took less time, so the whole counts as at least as long as the largest";
    }
    const auto whole = WholeLineError();
    what += whole ? ", about " + percent(*whole) + " at " + std::to_string(plan.blocks) : "";
    constexpr double MOST_ERROR = 0.1;
    if (std::abs(error.value_or(0)) > MOST_ERROR || std::abs(whole.value_or(0)) > MOST_ERROR)
    {
        what += " (above 10%: more --layers, or none)";
    }
    return what;
}

/// How many steps, or of which numbers of blocks.
std::string
TrainingResults::StepsText() const
{
    std::string what = IsExtrapolated() ? ExtrapolationText()
                       : m_measured == 1
                           ? "1 step measured"
                           : "mean of " + std::to_string(m_measured) + " steps measured";
    if (m_scenario.warmupSteps)
    {
        what += ", after " + std::to_string(m_scenario.warmupSteps) +
                (m_scenario.warmupSteps == 1 ? " warm-up step" : " warm-up steps");
    }
    return what;
}

void
TrainingResults::PrintStep(std::ostream& os,
                           const CriticalPath* critical,
                           std::optional<double> error) const
{
    const Breakdown parts = GetBreakdown();
    const auto line = [&](const char* what, double us, const std::string& words) {
        // A trace may have nothing but operations of no time.
        const double share = parts.step > 0 ? 100 * us / parts.step : 0;
        os << Format("  %-21s%10s   %5.1f%%", what, HumanTime(us).c_str(), share)
           << (words.empty() ? "" : "   (" + words + ")") << "\n";
    };
    // A line through fewer blocks is off by more than its points.
    const bool isStated = error && *error > 0 && !IsExtrapolated();
    const std::string stated = !isStated               ? ""
                               : !IsErrorKnown(*error) ? "(fast, error not known), "
                                                       : "+-" + HumanPercent(*error) + " (fast), ";
    os << Format("Step time              %10s   ", HumanTime(parts.step).c_str()) << stated
       << StepsText() << "\n";
    line("computing", parts.compute, "");
    line("exposed communication",
         parts.Exposed(),
         ExposedText(parts) + "communication was under way for " + HumanTime(parts.underWay) +
             CommunicationOfSizes());
    if (m_scenario.options.pipeline > 1)
    {
        line("bubble",
             parts.bubble,
             "computing waited for a message that another stage had not sent" + BubbleShares());
    }
    if (m_scenario.options.offload != training::Offload::kNone)
    {
        line("offload", parts.host, "for PCIe and the CPU's optimizer alone");
    }
    if (m_scenario.options.memory.Any())
    {
        line("memory", parts.host, "loads and stores beyond the GPU alone");
    }
    constexpr double LEAST_TOLD_US = 1e-3; // less is nothing to be told
    if (m_scenario.trace && parts.host >= LEAST_TOLD_US)
    {
        // Kernels beside the default stream run at full speed, so they are work of the host's kind.
        line("host, other streams", parts.host, "nothing else was under way");
    }
    if (m_scenario.options.loaderRate > 0)
    {
        line("data loading", parts.loading, "all waited for the next batch");
    }
    constexpr double LEAST_WAITING = 5e-4; // of the step: 0.1% as it is printed
    if (parts.waiting > LEAST_WAITING * parts.step)
    {
        line("waiting", parts.waiting, "nothing of the GPU's own was under way");
    }
    if (m_scenario.plan.queue)
    {
        os << "Collective queue " << HumanTime(Mean(&Size::queuedUs))
           << " from ready to begin, mean of the collectives; the longest "
           << HumanTime(Mean(&Size::longestQueuedUs)) << "\n";
    }
    PrintStages(os);
    if (critical)
    {
        PrintCriticalPath(
            os,
            *critical,
            IsExtrapolated() ? "of " + std::to_string(m_sizes[0].blocks) + " blocks alone: " : "");
    }
}

void
TrainingResults::PrintStages(std::ostream& os) const
{
    const std::vector<StageRecord> stages = GetStages();
    if (stages.empty())
    {
        return;
    }
    constexpr std::size_t MOST_STAGES = 16; // more are in stats.json
    const std::string head =
        IsExtrapolated() ? "Stages, " + std::to_string(m_sizes[0].blocks) + " blocks" : "Stages";
    os << Format("%-22s%10s  %10s  %10s  %12s\n",
                 head.c_str(),
                 "forward",
                 "backward",
                 "bubble",
                 "sent per GPU");
    for (std::size_t i = 0; i < std::min(stages.size(), MOST_STAGES); ++i)
    {
        os << Format("  %-20zu%10s  %10s  %10s  %12s\n",
                     i,
                     HumanTime(stages[i].forwardPs * 1e-6).c_str(),
                     HumanTime(stages[i].backwardPs * 1e-6).c_str(),
                     HumanTime(stages[i].bubblePs * 1e-6).c_str(),
                     HumanBytes(stages[i].bytesSent).c_str());
    }
    if (stages.size() > MOST_STAGES)
    {
        os << "  ... " << stages.size() - MOST_STAGES << " more in stats.json\n";
    }
}

void
TrainingResults::PrintThroughput(std::ostream& os) const
{
    const double stepUs = GetStepUs();
    if (stepUs <= 0)
    {
        os << "Throughput             none: the step takes no time\n";
        return;
    }
    os << "Throughput             ";
    const char* separator = "";
    if (HasSamples())
    {
        const double samples = SamplesPerStep() / stepUs * 1e6;
        constexpr double FIVE_DIGITS = 99999.5; // more are shown whole
        os << (samples < FIVE_DIGITS ? Format("%.5g", samples)
                                     : HumanCount(static_cast<uint64_t>(samples + 0.5)))
           << " samples/s";
        separator = ", ";
    }
    if (HasTokens())
    {
        os << separator << HumanCount(static_cast<uint64_t>(TokensPerStep() / stepUs * 1e6 + 0.5))
           << " tokens/s";
    }
    if (!HasFlops())
    {
        os << (m_scenario.trace ? "" : "; TFLOP/s unknown: no layer says its FLOPs") << "\n";
        return;
    }
    os << separator
       << Format("%.4g TFLOP/s per GPU, MFU %.1f%% of %.5g\n",
                 m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6,
                 100 * Utilization(stepUs),
                 Peak() * 1e-12);
}

void
TrainingResults::PrintBand(std::ostream& os) const
{
    if (m_scenario.capture)
    {
        os << "How sure               "
           << Wrapped("no band: captured scripts were compared with 18 published steps, of two "
                      "pages (docs/validation.md)",
                      23)
           << "\n";
    }
    else if (!m_scenario.trace && m_scenario.options.memory.Any())
    {
        os << "How sure               "
           << Wrapped("no band: no measured step with memory beyond GPUs was compared", 23) << "\n";
    }
    else if (!m_scenario.trace && !m_scenario.served && GetStepUs() > 0)
    {
        os << "How sure               " << Wrapped(BandText(GetCompared()), 23) << "\n";
    }
}

void
TrainingResults::PrintCollectives(std::ostream& os) const
{
    if (IsExtrapolated())
    {
        os << "The rest is about the run with " << m_sizes[0].blocks << " blocks:\n";
    }
    const double n = m_sizes[0].measured;
    if (m_scenario.trace && m_sizes[0].messageBytes > 0)
    {
        os << "Messages a step        " << HumanBytes(m_sizes[0].messageBytes / n)
           << " by all GPUs together, within servers too\n";
    }
    if (m_sizes[0].sums.empty())
    {
        os << (m_scenario.trace ? "\n" : "Collectives a step     none\n\n");
        return;
    }
    const double gpus = WorkingGpus();
    os << "Collectives a step               count       bytes  sent per GPU  time in them  "
          "for the last       busbw\n";
    for (const auto& [key, sum] : m_sizes[0].sums)
    {
        const double sent = static_cast<double>(sum.sent) / gpus / n;
        const double count = static_cast<double>(sum.count) / n;
        os << Format("  %-28s %7s  %10s    %10s    %10s    %10s  %5.2f GB/s\n",
                     (key.first + " (" + key.second + ")").c_str(),
                     (count == std::floor(count) ? HumanCount(static_cast<uint64_t>(count))
                                                 : Format("%.4g", count))
                         .c_str(),
                     HumanBytes(sum.bytes / n).c_str(),
                     HumanBytes(sent).c_str(),
                     HumanTime(sum.rankUs / n).c_str(),
                     HumanTime(sum.waitUs / n).c_str(),
                     sum.us > 0 ? sum.busBytes / sum.us : 0);
    }
    os << "\n";
}

void
TrainingResults::Print(std::ostream& os,
                       const CriticalPath* critical,
                       const workload::ServedStatistics* served,
                       std::optional<double> error) const
{
    PrintHead(os);
    if (m_measured == 0)
    {
        os << "no measured step was completed\n\n";
        return;
    }
    if (!HasWhole() && IsExtrapolated())
    {
        os << "no step of the whole model: a line through ";
        for (std::size_t i = 0; i < m_sizes.size(); ++i)
        {
            os << (i == 0 ? "" : ", ") << m_sizes[i].blocks << " blocks ("
               << HumanTime(m_sizes[i].stepUs / m_sizes[i].measured) << ")";
        }
        os << " ends at " << HumanTime(GetStepUs()) << " for all " << m_scenario.plan.blocks
           << ", which compute for " << HumanTime(Mean(&Size::computeUs))
           << ". Simulate more blocks, as --layers=" << 3 * m_sizes[0].blocks << ", or all\n\n";
        return;
    }
    if (!HasWhole())
    {
        os << "no step of the whole model: of its " << m_scenario.plan.blocks << " blocks only "
           << m_sizes[0].blocks << " were simulated (" << HumanTime(Mean(&Size::stepUs))
           << "), and a line needs two numbers of them\n\n";
        return;
    }
    PrintStep(os, critical, error);
    if (!m_scenario.trace || m_scenario.plan.samplesPerStep > 0 || HasFlops())
    {
        PrintThroughput(os);
    }
    PrintBand(os);
    os << "\n";
    if (served)
    {
        PrintServers(os, *m_scenario.served, *served, MeasuredUs());
        return;
    }
    PrintCollectives(os);
}

} // namespace reports
