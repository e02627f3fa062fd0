/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/training-results.h"

#include "collectives/cost.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "results/capture-results.h"
#include "results/human-text.h"
#include "results/message-id.h"
#include "results/protocol-name.h"
#include "results/stats-file.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/placement.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"

#include <algorithm>
#include <numeric>

namespace results
{

namespace
{

/// From the first rank's entry to the last one's leaving.
double
SpanUs(const CollectiveRecord& record)
{
    return static_cast<double>(record.end - record.firstStart) * 1e-6;
}

nlohmann::ordered_json
Listed(const CollectiveRecord& record, uint32_t step, const std::vector<std::string>& tags)
{
    const double timeUs = SpanUs(record);
    const coll::Bandwidth bw = coll::BandwidthOf(record.op, record.bytes, record.ranks, timeUs);
    return {{"op", coll::OpName(record.op)},
            {"algorithm", record.algorithm->Name()},
            {"protocol", ProtocolOf(record)},
            {"bytes", record.bytes},
            {"ranks", record.ranks},
            {"time_us", timeUs},
            {"algbw_GBps", bw.algbw},
            {"busbw_GBps", bw.busbw},
            {"name", tags[MessageId::Tag(record.tag)]},
            {"step", step},
            {"rank_time_us", record.meanPs * 1e-6},
            {"start_us", static_cast<double>(record.firstStart) * 1e-6}};
}

/// Of whole numbers and how many there are of each.
struct Distribution
{
    explicit Distribution(const std::map<uint64_t, uint64_t>& of)
        : counts(of)
    {
        for (const auto& [value, count] : counts)
        {
            total += count;
            sum += static_cast<double>(value) * static_cast<double>(count);
        }
    }

    double Mean() const
    {
        return sum / static_cast<double>(total);
    }

    /// The least value that so large a share of all does not exceed.
    uint64_t Quantile(double share) const
    {
        uint64_t below = 0;
        for (const auto& [value, count] : counts)
        {
            below += count;
            if (static_cast<double>(below) >= share * static_cast<double>(total))
            {
                return value;
            }
        }
        return 0;
    }

    const std::map<uint64_t, uint64_t>& counts;
    uint64_t total = 0;
    double sum = 0;
};

nlohmann::ordered_json
StalenessToJson(const std::map<uint64_t, uint64_t>& counts)
{
    nlohmann::ordered_json staleness;
    const Distribution of(counts);
    const bool any = of.total > 0;
    const auto number = [any](auto value) {
        return any ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    staleness["mean"] = number(any ? of.Mean() : 0);
    staleness["p50"] = number(of.Quantile(0.5));
    staleness["p99"] = number(of.Quantile(0.99));
    staleness["max"] = number(of.Quantile(1));
    staleness["histogram"] = nlohmann::ordered_json::array();
    for (const auto& [value, count] : of.counts)
    {
        staleness["histogram"].push_back({value, count});
    }
    return staleness;
}

/// Of a pipeline without a flush: of each gradient of a stage, how many updates of the stage came
/// between the weights it was computed with and its own.
std::map<uint64_t, uint64_t>
StalenessOfStages(const training::TrainingOptions& o, uint32_t steps)
{
    std::map<uint64_t, uint64_t> counts;
    const uint64_t microBatches = uint64_t{o.accumulation} * o.Data() * steps;
    for (uint32_t stage = 0; microBatches > 0 && stage < o.pipeline; ++stage)
    {
        counts[training::StalenessOf(o, stage)] += microBatches;
    }
    return counts;
}

double
MeanOf(const std::vector<uint64_t>& values)
{
    return static_cast<double>(std::accumulate(values.begin(), values.end(), uint64_t{0})) /
           static_cast<double>(values.size());
}

void
PrintCriticalPath(std::ostream& os, const CriticalPath& critical)
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
            os << Format("Critical path          %10s   ", time.c_str()) << words << "\n";
            continue;
        }
        const double share = 100 * static_cast<double>(line.ps) / static_cast<double>(total);
        os << Format("  %-20s %10s   %5.1f%%", line.what.c_str(), time.c_str(), share)
           << (words.empty() ? "" : "   ") << words << "\n";
    }
}

} // namespace

namespace
{

/// Of the GPUs those that do anything: of a recording some may not.
double
WorkingShare(const scenario::TrainingScenario& scenario)
{
    const training::TrainingPlan& plan = scenario.plan;
    if (!scenario.trace || plan.roleOf.empty())
    {
        return 1;
    }
    const auto working =
        std::count_if(plan.roleOf.begin(), plan.roleOf.end(), [&plan](uint32_t role) {
            return !plan.roles[role].tasks.empty();
        });
    return working == 0 ? 1 : static_cast<double>(working) / static_cast<double>(plan.ranks);
}

/// How many they are: what means of a GPU are of, of times as of bytes.
double
WorkingGpus(const scenario::TrainingScenario& scenario)
{
    return scenario.plan.ranks * WorkingShare(scenario);
}

} // namespace

TrainingResults::TrainingResults(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario)
{
}

void
TrainingResults::Add(const StepRecord& record, int64_t begin)
{
    const std::size_t size =
        std::min<std::size_t>(m_measured++ / m_scenario.steps, m_scenario.plan.sizes.size() - 1);
    m_sizes.resize(size + 1);
    Size& of = m_sizes[size];
    ++of.measured;
    m_shares += record.share;
    of.stepUs += static_cast<double>(record.end - begin) * 1e-6;
    // GPUs that a recording has nothing for have no times, which are the others'.
    const double us = 1e-6 / WorkingShare(m_scenario);
    of.computeUs += record.computePs * us;
    of.communicationUs += record.communicationPs * us;
    of.bubbleUs += record.bubblePs * us;
    of.hostUs += record.hostPs * us;
    of.loadingUs += record.loadingPs * us;
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
        sum.rankUs += one.meanPs * 1e-6 * one.ranks / (WorkingGpus(m_scenario) * record.share);
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

double
TrainingResults::Mean(double Size::*sum) const
{
    std::vector<double> values;
    for (const Size& size : m_sizes)
    {
        values.push_back(size.*sum / size.measured);
    }
    return Whole(values);
}

double
TrainingResults::BubbleUs(double exposedUs) const
{
    if (!IsExtrapolated())
    {
        // What is waited for beside it, the host or data, is not exposed communication.
        return std::clamp(Mean(&Size::bubbleUs), 0.0, std::max(exposedUs, 0.0));
    }
    // No straight line: with few blocks a bubble is mostly the wait for the stages that have the
    // embedding and the head besides, which more blocks cover, so that a line may fall below zero.
    // Step and computing are straight, and what is between them is; of it a bubble keeps its share.
    return BubbleShare(m_sizes[0]) * std::max(exposedUs, 0.0);
}

std::string
TrainingResults::BubbleShares() const
{
    if (!IsExtrapolated())
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

double
TrainingResults::BubbleShare(const Size& size)
{
    const double exposed = size.stepUs - size.computeUs - size.hostUs;
    return exposed > 0 ? std::clamp(size.bubbleUs / exposed, 0.0, 1.0) : 0;
}

std::map<std::string, double>
TrainingResults::BytesSent() const
{
    const double gpus = WorkingGpus(m_scenario);
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
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
    {
        blocks.push_back(m_scenario.plan.sizes[i].blocks);
    }
    return blocks;
}

double
TrainingResults::Whole(const std::vector<double>& values) const
{
    return values.empty()     ? 0
           : IsExtrapolated() ? training::Extrapolated(Blocks(), values, m_scenario.plan.blocks)
                              : values[0];
}

bool
TrainingResults::IsExtrapolated() const
{
    return m_sizes.size() > 1;
}

bool
TrainingResults::HasTokens() const
{
    return m_scenario.sequence > 1; // models of images have 1
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
    return m_scenario.options.gpu.Peak(m_scenario.options.dtype);
}

double
TrainingResults::Utilization(double stepUs) const
{
    return m_scenario.plan.flopsPerGpuPerStep / (stepUs * 1e-6) / Peak();
}

double
TrainingResults::GetExposedUs() const
{
    // Where steps of GPUs overlap (no flush, replicas at their own pace) a few steps may have more
    // computing in them than time between their ends.
    const double stepUs = Mean(&Size::stepUs);
    const double exposedUs =
        stepUs - Mean(&Size::computeUs) - Mean(&Size::hostUs) - Mean(&Size::loadingUs);
    // What rounding leaves of sums that are equal is no time.
    return exposedUs > 1e-12 * stepUs ? exposedUs : 0;
}

nlohmann::ordered_json
TrainingResults::StepsToJson() const
{
    nlohmann::ordered_json body;
    const auto number = [this](double value) {
        return m_measured > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    body["steps_measured"] = m_measured;
    body["step_time_us"] = number(GetStepUs());
    body["compute_time_us"] = number(Mean(&Size::computeUs));
    body["communication_time_us"] = number(Mean(&Size::communicationUs));
    body["exposed_communication_time_us"] = number(GetExposedUs());
    if (m_scenario.plan.samplesPerStep > 0)
    {
        const double stepUs = GetStepUs();
        body["samples_per_s"] = number(SamplesPerStep() / stepUs * 1e6);
        body["tflops_per_gpu"] = number(m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6);
    }
    body["bytes_sent_per_gpu"] = nlohmann::ordered_json::object();
    for (const auto& [op, bytes] : BytesSent())
    {
        body["bytes_sent_per_gpu"][op] = bytes;
    }
    body["collectives"] = nlohmann::ordered_json::array();
    for (const Size& size : m_sizes)
    {
        for (const auto& [key, sum] : size.sums)
        {
            body["collectives"].push_back({{"op", key.first},
                                           {"algorithm", key.second},
                                           {"count", sum.count},
                                           {"bytes", sum.bytes / static_cast<double>(sum.count)},
                                           {"time_us", sum.us / static_cast<double>(sum.count)},
                                           {"busbw_GBps", sum.us > 0 ? sum.busBytes / sum.us : 0}});
        }
    }
    return body;
}

nlohmann::ordered_json
TrainingResults::ToJson(const CriticalPath* critical,
                        const std::vector<std::string>& tags,
                        const workload::ServedStatistics* served) const
{
    nlohmann::ordered_json body = results::ToJson(m_scenario.cluster, m_scenario.plan.ranks);
    body["model"] = m_scenario.model;
    const bool traced = m_scenario.trace.has_value(); // of no model anything is known then
    if (traced)
    {
        body["trace"] = {{"format", m_scenario.trace->format}, {"ranks", m_scenario.trace->ranks}};
        if (!m_scenario.trace->notes.empty())
        {
            body["trace"]["notes"] = m_scenario.trace->notes;
        }
        if (m_scenario.capture)
        {
            const formats::Findings& found = m_scenario.capture->findings;
            body["trace"]["captured_ranks"] = found.captured;
            body["trace"]["captured_steps"] = found.steps;
            body["trace"]["step_ended_by"] = found.endedBy;
            body.update(CaptureToJson(found));
        }
    }
    else
    {
        body["parameters"] = m_scenario.parameters;
        body["zero"] = m_scenario.zero;
        body["global_batch"] = m_scenario.globalBatch;
    }
    body["steps_measured"] = m_measured;
    body["warmup_steps"] = m_scenario.warmupSteps;
    // Of an interrupted run: of the steps that were completed; null if there is none.
    const bool any = m_measured > 0;
    const double stepUs = Mean(&Size::stepUs);
    const double computeUs = Mean(&Size::computeUs);
    const auto number = [any](double value) {
        return any ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    body["step_time_us"] = number(stepUs);
    body["compute_time_us"] = number(computeUs);
    body["communication_time_us"] = number(Mean(&Size::communicationUs));
    const double hostUs = Mean(&Size::hostUs);
    const double loadingUs = Mean(&Size::loadingUs);
    const double exposedUs = GetExposedUs();
    body["exposed_communication_time_us"] = number(exposedUs);
    if (m_scenario.options.offload != training::Offload::kNone)
    {
        body["offload_time_us"] = number(hostUs);
    }
    if (traced)
    {
        body["host_time_us"] = number(hostUs);
    }
    if (m_scenario.options.loaderRate > 0)
    {
        body["data_loading_time_us"] = number(loadingUs);
    }
    if (training::AsksForExpertLoad(m_scenario.options))
    {
        body["moe_dropped_share"] = training::DroppedShare(m_scenario.options);
    }
    body["bubble_time_us"] = number(BubbleUs(exposedUs));
    if (!traced)
    {
        body["samples_per_s"] = number(any ? SamplesPerStep() / stepUs * 1e6 : 0);
        body["tflops_per_gpu"] =
            number(any ? m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6 : 0);
        body["mfu"] = number(any ? Utilization(stepUs) : 0);
        body["peak_tflops_per_gpu"] = Peak() * 1e-12;
        body["gpu_memory_bytes_estimate"] = m_scenario.plan.gpuMemoryBytes;
        const training::MemoryEstimate memory = training::EstimateMemory(m_scenario.options);
        body["gpu_memory_parts_bytes"] = {{"parameters", memory.parameters},
                                          {"gradients", memory.gradients},
                                          {"optimizer", memory.optimizer},
                                          {"activations", memory.activations},
                                          {"buffers", memory.buffers}};
        if (m_scenario.options.offload != training::Offload::kNone)
        {
            body["offloaded_bytes_per_server"] = memory.host * m_scenario.options.host.gpus;
        }
    }
    body["gpu_memory_capacity_bytes"] = m_scenario.options.gpu.memoryBytes;
    if (m_scenario.plan.sizes.size() > 1)
    {
        std::vector<double> times;
        for (const Size& size : m_sizes)
        {
            times.push_back(size.stepUs / size.measured);
        }
        const auto error = training::ExtrapolationError(Blocks(), times);
        const auto whole = training::WholeError(Blocks(), times, m_scenario.plan.blocks);
        body["extrapolation"] = {
            {"blocks", m_scenario.plan.blocks},
            {"blocks_simulated", Blocks()},
            {"step_times_us", times},
            {"error", error ? nlohmann::ordered_json(*error) : nlohmann::ordered_json()},
            {"error_of_whole", whole ? nlohmann::ordered_json(*whole) : nlohmann::ordered_json()}};
        if (m_scenario.options.pipeline > 1)
        {
            // What a bubble is extrapolated by.
            std::vector<double> shares;
            for (const Size& size : m_sizes)
            {
                shares.push_back(BubbleShare(size));
            }
            body["extrapolation"]["bubble_shares"] = shares;
        }
    }
    if (critical)
    {
        body["critical_path"] = critical->ToJson();
    }
    body["step_times_us"] = m_stepUs;
    if (m_scenario.run.recovery)
    {
        body["step_begins_us"] = m_stepBegins;
    }
    body["step_times_left_out"] = m_measured - m_stepUs.size();
    body["bytes_sent_per_gpu"] = nlohmann::ordered_json::object();
    for (const auto& [op, bytes] : BytesSent())
    {
        body["bytes_sent_per_gpu"][op] = bytes;
    }
    if (served)
    {
        body.update(ServersToJson(*served));
    }
    else if (m_scenario.plan.fillRoles > 0)
    {
        body["staleness"] = StalenessToJson(StalenessOfStages(m_scenario.options, m_measured));
    }
    body["collectives_left_out"] = m_collectives - m_collectivesListed;
    body["collectives"] = nlohmann::ordered_json::array();
    for (const ListedStep& step : m_listed)
    {
        for (const CollectiveRecord& record : step.collectives)
        {
            body["collectives"].push_back(Listed(record, step.number, tags));
        }
    }
    return body;
}

double
TrainingResults::Gbps(double bytes) const
{
    double us = 0;
    for (const Size& size : m_sizes)
    {
        us += size.stepUs;
    }
    return us > 0 ? 8e-3 * bytes / us : 0;
}

nlohmann::ordered_json
TrainingResults::ServersToJson(const workload::ServedStatistics& served) const
{
    nlohmann::ordered_json body;
    const training::ServedPlan& plan = *m_scenario.served;
    body["strategy"] = training::StrategyName(plan.Options().strategy);
    const auto load = [this](const std::vector<uint64_t>& bytes) {
        return nlohmann::ordered_json{
            {"mean", Gbps(MeanOf(bytes))},
            {"max", Gbps(static_cast<double>(*std::max_element(bytes.begin(), bytes.end())))}};
    };
    body["parameter_servers"] = {{"shards", plan.Shards()},
                                 {"gradients_applied", served.applied},
                                 {"gradients_dropped", served.dropped},
                                 {"received_gbps", load(served.received)},
                                 {"sent_gbps", load(served.sent)}};
    const auto& rounds = served.roundsOf;
    body["replica_rounds"] = {{"min", *std::min_element(rounds.begin(), rounds.end())},
                              {"mean", MeanOf(rounds)},
                              {"max", *std::max_element(rounds.begin(), rounds.end())}};
    switch (plan.Options().strategy)
    {
    case training::Strategy::kSandblaster:
        body["pieces"] = {{"per_batch", plan.Pieces()},
                          {"begun", served.pieces},
                          {"given_twice", served.backups},
                          {"in_vain", served.wasted}};
        break;
    case training::Strategy::kDownpour:
        body["staleness"] = StalenessToJson(served.staleness);
        break;
    default:
        break;
    }
    return body;
}

void
TrainingResults::PrintServers(std::ostream& os, const workload::ServedStatistics& served) const
{
    const training::ServedPlan& plan = *m_scenario.served;
    const auto largest = [this](const std::vector<uint64_t>& bytes) {
        return Gbps(static_cast<double>(*std::max_element(bytes.begin(), bytes.end())));
    };
    const auto& rounds = served.roundsOf;
    const bool sandblaster = plan.Options().strategy == training::Strategy::kSandblaster;
    os << Format("Parameter servers      %u, a shard receives %.4g Gb/s and sends %.4g (mean), at "
                 "most %.4g and %.4g\n",
                 plan.Shards(),
                 Gbps(MeanOf(served.received)),
                 Gbps(MeanOf(served.sent)),
                 largest(served.received),
                 largest(served.sent))
       << "  gradients            " << HumanCount(served.applied) << " applied to shards, "
       << HumanCount(served.dropped) << " dropped\n"
       << Format("  replicas             %s to %s %s each\n",
                 HumanCount(*std::min_element(rounds.begin(), rounds.end())).c_str(),
                 HumanCount(*std::max_element(rounds.begin(), rounds.end())).c_str(),
                 sandblaster ? "pieces" : "steps");
    if (sandblaster)
    {
        os << "  pieces               " << HumanCount(served.pieces) << " begun, "
           << HumanCount(served.backups) << " given twice, " << HumanCount(served.wasted)
           << " in vain\n";
    }
    if (const Distribution of(served.staleness); of.total > 0)
    {
        os << Format(
            "  staleness            %.4g updates by others (mean), p50 %s, p99 %s, max %s\n",
            of.Mean(),
            HumanCount(of.Quantile(0.5)).c_str(),
            HumanCount(of.Quantile(0.99)).c_str(),
            HumanCount(of.Quantile(1)).c_str());
    }
    os << "\n";
}

void
TrainingResults::PrintHead(std::ostream& os) const
{
    os << rdma::Shown(m_scenario.model) << ", ";
    if (m_scenario.trace)
    {
        os << m_scenario.trace->format << " of " << m_scenario.trace->ranks << " ranks";
    }
    else if (m_scenario.served)
    {
        os << training::StrategyName(m_scenario.served->Options().strategy);
    }
    else
    {
        os << "ZeRO-" << m_scenario.zero << " ("
           << training::ZeroImplName(m_scenario.options.zeroImpl) << ")";
    }
    os << (m_scenario.trace ? "" : ", " + m_scenario.dtype) << ": " << m_scenario.plan.ranks
       << " GPUs (" << rdma::Shown(m_scenario.gpu) << ") in " << m_scenario.cluster.servers
       << " servers, " << rdma::Shown(m_scenario.cluster.topologyName) << ", "
       << rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)) << ", "
       << scenario::PlacementName(m_scenario.cluster.placement) << " placement\n";
    if (m_scenario.trace)
    {
        os << "\n";
        if (m_scenario.capture)
        {
            PrintCapture(os, m_scenario.capture->findings);
        }
        return;
    }
    os << "micro-batch " << m_scenario.microBatch << " x accumulation " << m_scenario.accumulation
       << ", global batch " << m_scenario.globalBatch;
    if (HasTokens())
    {
        os << ", sequence " << m_scenario.sequence;
    }
    os << "\n\n";
}

void
TrainingResults::PrintStep(std::ostream& os, const CriticalPath* critical) const
{
    const double stepUs = Mean(&Size::stepUs);
    const double computeUs = Mean(&Size::computeUs);
    std::string what = m_measured == 1
                           ? "1 step measured"
                           : "mean of " + std::to_string(m_measured) + " steps measured";
    if (m_scenario.plan.sizes.size() > 1)
    {
        what = IsExtrapolated()
                   ? "of " + std::to_string(m_scenario.plan.blocks) + " blocks, extrapolated from"
                   : "of";
        std::vector<double> times;
        for (std::size_t i = 0; i < m_sizes.size(); ++i)
        {
            times.push_back(m_sizes[i].stepUs / m_sizes[i].measured);
            what += (i > 0 ? ", " : " ") + std::to_string(m_scenario.plan.sizes[i].blocks) + " (" +
                    HumanTime(times.back()) + ")";
        }
        const auto error = training::ExtrapolationError(Blocks(), times);
        what += error ? Format("; the line misses the largest by %.2g%%", 100 * *error) : "";
        const auto whole = training::WholeError(Blocks(), times, m_scenario.plan.blocks);
        what += whole ? Format(", the whole by %.2g%% if it bends on", 100 * *whole) : "";
    }
    if (m_scenario.warmupSteps)
    {
        what += ", after " + std::to_string(m_scenario.warmupSteps) +
                (m_scenario.warmupSteps == 1 ? " warm-up step" : " warm-up steps");
    }
    const double hostUs = Mean(&Size::hostUs);
    const double loadingUs = Mean(&Size::loadingUs);
    const double exposedUs = GetExposedUs();
    os << Format("Step time              %10s   ", HumanTime(stepUs).c_str()) << what << "\n"
       << Format("  computing            %10s   %5.1f%%\n",
                 HumanTime(computeUs).c_str(),
                 100 * computeUs / stepUs)
       << Format("  exposed communication%10s   %5.1f%%   (communication was under way for %s)\n",
                 HumanTime(exposedUs).c_str(),
                 100 * exposedUs / stepUs,
                 HumanTime(Mean(&Size::communicationUs)).c_str());
    if (m_scenario.options.offload != training::Offload::kNone)
    {
        os << Format(
            "  offload              %10s   %5.1f%%   (for PCIe and the CPU's optimizer alone)\n",
            HumanTime(hostUs).c_str(),
            100 * hostUs / stepUs);
    }
    constexpr double LEAST_HOST_US = 1e-3; // less is nothing to be told
    if (m_scenario.trace && hostUs >= LEAST_HOST_US)
    {
        // Kernels beside the default stream run at full speed, so they are work of the host's kind.
        os << Format("  host, other streams  %10s   %5.1f%%   (nothing else was under way)\n",
                     HumanTime(hostUs).c_str(),
                     100 * hostUs / stepUs);
    }
    if (m_scenario.options.loaderRate > 0)
    {
        os << Format("  data loading         %10s   %5.1f%%   (all waited for the next batch)\n",
                     HumanTime(loadingUs).c_str(),
                     100 * loadingUs / stepUs);
    }
    if (m_scenario.options.pipeline > 1)
    {
        os << Format(
            "  of that bubble       %10s   %5.1f%%   (computing waited for another stage%s)\n",
            HumanTime(BubbleUs(exposedUs)).c_str(),
            100 * BubbleUs(exposedUs) / stepUs,
            BubbleShares().c_str());
    }
    if (critical)
    {
        PrintCriticalPath(os, *critical);
    }
    if (m_scenario.trace)
    {
        os << "\n";
        return;
    }
    const double samples = SamplesPerStep() / stepUs * 1e6;
    os << Format("Throughput             %.5g samples/s", samples);
    if (HasTokens())
    {
        os << ", " << HumanCount(static_cast<uint64_t>(samples * m_scenario.sequence + 0.5))
           << " tokens/s";
    }
    os << Format(", %.4g TFLOP/s per GPU, MFU %.1f%% of %.4g\n\n",
                 m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6,
                 100 * Utilization(stepUs),
                 Peak() * 1e-12);
}

void
TrainingResults::PrintCollectives(std::ostream& os) const
{
    if (IsExtrapolated())
    {
        os << "Of the step with " << m_scenario.plan.sizes[0].blocks << " blocks:\n";
    }
    const double n = m_sizes[0].measured;
    if (m_scenario.trace && m_sizes[0].messageBytes > 0)
    {
        os << "Messages a step        " << HumanBytes(m_sizes[0].messageBytes / n)
           << " by all GPUs together, within servers too\n";
    }
    if (m_scenario.trace && m_sizes[0].sums.empty())
    {
        os << "\n";
        return;
    }
    const double gpus = WorkingGpus(m_scenario);
    os << "Collectives a step               count       bytes  sent per GPU  time in them      "
          "busbw\n";
    for (const auto& [key, sum] : m_sizes[0].sums)
    {
        const double sent = static_cast<double>(sum.sent) / gpus / n;
        os << Format("  %-28s %7.4g  %10s    %10s    %10s  %5.2f GB/s\n",
                     (key.first + " (" + key.second + ")").c_str(),
                     static_cast<double>(sum.count) / n,
                     HumanBytes(sum.bytes / n).c_str(),
                     HumanBytes(sent).c_str(),
                     HumanTime(sum.rankUs / n).c_str(),
                     sum.us > 0 ? sum.busBytes / sum.us : 0);
    }
    os << "\n";
}

void
TrainingResults::Print(std::ostream& os,
                       const CriticalPath* critical,
                       const workload::ServedStatistics* served) const
{
    PrintHead(os);
    if (m_measured == 0)
    {
        os << "no measured step was completed\n\n";
        return;
    }
    PrintStep(os, critical);
    if (served)
    {
        PrintServers(os, *served);
        return;
    }
    PrintCollectives(os);
}

} // namespace results
