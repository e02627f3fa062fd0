/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TrainingResults as keys of stats.json.
 */
#include "collectives/cost.h"
#include "collectives/registry.h"
#include "results/capture-results.h"
#include "results/message-id.h"
#include "results/protocol-name.h"
#include "results/served-results.h"
#include "results/stats-file.h"
#include "results/training-results.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"

namespace results
{

namespace
{

nlohmann::ordered_json
Listed(const CollectiveRecord& record,
       double timeUs,
       uint32_t step,
       const std::vector<std::string>& tags)
{
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
            {"rank_wait_us", record.waitPs * 1e-6},
            {"start_us", static_cast<double>(record.firstStart) * 1e-6},
            {"last_entry_us", static_cast<double>(record.lastStart) * 1e-6}};
}

/// Staleness in a pipeline without a flush. Key: the number of updates of the stage between the
/// weights that a gradient was computed with and its own update. Value: the number of such
/// gradients.
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

} // namespace

nlohmann::ordered_json
TrainingResults::NumberOrNull(double value) const
{
    return HasWhole() ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

void
TrainingResults::AddSpeeds(nlohmann::ordered_json* body) const
{
    const double stepUs = GetStepUs();
    (*body)["samples_per_s"] = NumberOrNull(SamplesPerStep() / stepUs * 1e6);
    (*body)["tflops_per_gpu"] =
        HasFlops() ? NumberOrNull(m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6) : nullptr;
}

nlohmann::ordered_json
TrainingResults::StepsToJson(const workload::ServedStatistics* served) const
{
    nlohmann::ordered_json body;
    body["steps_measured"] = m_measured;
    body["step_time_us"] = NumberOrNull(GetStepUs());
    body["compute_time_us"] = NumberOrNull(Mean(&Size::computeUs));
    body["communication_time_us"] = NumberOrNull(Mean(&Size::communicationUs));
    body["exposed_communication_time_us"] = NumberOrNull(GetExposedUs());
    if (m_scenario.plan.samplesPerStep > 0)
    {
        AddSpeeds(&body);
    }
    body["bytes_sent_per_gpu"] = nlohmann::ordered_json::object();
    for (const auto& [op, bytes] : BytesSent())
    {
        body["bytes_sent_per_gpu"][op] = bytes;
    }
    if (served)
    {
        body.update(ServersToJson(*m_scenario.served, *served, MeasuredUs()));
    }
    body["collectives"] = nlohmann::ordered_json::array();
    if (m_sizes.empty())
    {
        return body;
    }
    for (const auto& [key, sum] : m_sizes[0].sums)
    {
        body["collectives"].push_back({{"op", key.first},
                                       {"algorithm", key.second},
                                       {"count", sum.count},
                                       {"bytes", sum.bytes / static_cast<double>(sum.count)},
                                       {"time_us", sum.us / static_cast<double>(sum.count)},
                                       {"busbw_GBps", sum.us > 0 ? sum.busBytes / sum.us : 0}});
    }
    return body;
}

/// Adds the model that was trained.
void
TrainingResults::AddModel(nlohmann::ordered_json* body) const
{
    (*body)["model"] = m_scenario.model;
    if (m_scenario.trace) // no model is known then
    {
        (*body)["trace"] = {{"format", m_scenario.trace->format},
                            {"ranks", m_scenario.trace->ranks}};
        if (!m_scenario.trace->notes.empty())
        {
            (*body)["trace"]["notes"] = m_scenario.trace->notes;
        }
        if (m_scenario.capture)
        {
            const formats::Findings& found = m_scenario.capture->findings;
            (*body)["trace"]["captured_ranks"] = found.captured;
            (*body)["trace"]["captured_steps"] = found.steps;
            (*body)["trace"]["step_ended_by"] = found.endedBy;
            body->update(CaptureToJson(found));
        }
    }
    else
    {
        (*body)["parameters"] = m_scenario.parameters;
        (*body)["zero"] = m_scenario.zero;
        (*body)["global_batch"] = m_scenario.globalBatch;
    }
}

/// Adds the times of a step. For an interrupted run, of the completed steps; null if there are
/// none.
void
TrainingResults::AddTimes(nlohmann::ordered_json* body) const
{
    (*body)["step_time_us"] = NumberOrNull(GetStepUs());
    (*body)["compute_time_us"] = NumberOrNull(Mean(&Size::computeUs));
    (*body)["communication_time_us"] = NumberOrNull(Mean(&Size::communicationUs));
    const double hostUs = Mean(&Size::hostUs);
    const double exposedUs = GetExposedUs();
    (*body)["exposed_communication_time_us"] = NumberOrNull(exposedUs);
    if (m_scenario.options.offload != training::Offload::kNone)
    {
        (*body)["offload_time_us"] = NumberOrNull(hostUs);
    }
    if (m_scenario.trace)
    {
        (*body)["host_time_us"] = NumberOrNull(hostUs);
    }
    if (m_scenario.options.loaderRate > 0)
    {
        (*body)["data_loading_time_us"] = NumberOrNull(Mean(&Size::loadingUs));
    }
    if (training::AsksForExpertLoad(m_scenario.options))
    {
        (*body)["moe_dropped_share"] = training::DroppedShare(m_scenario.options);
    }
    (*body)["bubble_time_us"] = NumberOrNull(BubbleUs(exposedUs));
}

/// Adds the speed of training the model on its GPUs, and its part of their memory.
void
TrainingResults::AddModelOnGpus(nlohmann::ordered_json* body) const
{
    AddSpeeds(body);
    (*body)["mfu"] = HasFlops() ? NumberOrNull(Utilization(GetStepUs())) : nullptr;
    (*body)["peak_tflops_per_gpu"] = Peak() * 1e-12;
    (*body)["gpu_memory_bytes_estimate"] = m_scenario.plan.gpuMemoryBytes;
    const training::MemoryEstimate memory = training::EstimateMemory(m_scenario.options);
    (*body)["gpu_memory_parts_bytes"] = {{"parameters", memory.parameters},
                                         {"gradients", memory.gradients},
                                         {"optimizer", memory.optimizer},
                                         {"activations", memory.activations},
                                         {"buffers", memory.buffers}};
    if (m_scenario.options.offload != training::Offload::kNone)
    {
        (*body)["offloaded_bytes_per_server"] = memory.host * m_scenario.options.host.gpus;
    }
}

/// Steps of fewer blocks, and how well they fit a line.
nlohmann::ordered_json
TrainingResults::ExtrapolationToJson() const
{
    const std::vector<double> times = OfSizes(&Size::stepUs);
    const auto error = training::ExtrapolationError(Blocks(), times);
    const auto whole = training::WholeError(Blocks(), times, m_scenario.plan.blocks);
    nlohmann::ordered_json body = {
        {"blocks", m_scenario.plan.blocks},
        {"blocks_simulated", Blocks()},
        {"step_times_us", times},
        {"communication_times_us", OfSizes(&Size::communicationUs)},
        {"error", error ? nlohmann::ordered_json(*error) : nlohmann::ordered_json()},
        {"error_of_whole", whole ? nlohmann::ordered_json(*whole) : nlohmann::ordered_json()},
        {"held_at_largest", Falls(times)}};
    if (m_scenario.options.pipeline > 1)
    {
        // The shares by which a bubble is extrapolated.
        std::vector<double> shares;
        for (const Size& size : m_sizes)
        {
            shares.push_back(BubbleShare(size));
        }
        body["bubble_shares"] = shares;
    }
    return body;
}

nlohmann::ordered_json
TrainingResults::ToJson(const CriticalPath* critical,
                        const std::vector<std::string>& tags,
                        const workload::ServedStatistics* served) const
{
    nlohmann::ordered_json body = results::ToJson(m_scenario.cluster, m_scenario.plan.ranks);
    AddModel(&body);
    body["steps_measured"] = m_measured;
    body["warmup_steps"] = m_scenario.warmupSteps;
    AddTimes(&body);
    if (!m_scenario.trace)
    {
        AddModelOnGpus(&body);
    }
    body["gpu_memory_capacity_bytes"] = m_scenario.options.gpu.memoryBytes;
    if (m_scenario.plan.sizes.size() > 1)
    {
        body["extrapolation"] = ExtrapolationToJson();
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
        body.update(ServersToJson(*m_scenario.served, *served, MeasuredUs()));
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
            body["collectives"].push_back(Listed(record, SpanUs(record), step.number, tags));
        }
    }
    return body;
}

} // namespace results
