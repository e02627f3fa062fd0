/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-simulation.h"

#include "collectives/cost.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "results/human-text.h"
#include "results/output-errors.h"
#include "results/run-summary.h"
#include "results/stats-file.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/training/training-plan.h"

#include <algorithm>
#include <cstdio>

namespace dltrain
{

namespace
{

/// Lines of calls.log before ranks are left out, and then, of the one rank that is left, steps.
constexpr uint64_t MAX_CALLS = 1000000;
/// stats.json has the times of so many steps, the first.
constexpr std::size_t MAX_STEP_TIMES = 100000;
/// And of the first steps all collectives: so many, or those of one step.
constexpr uint64_t MAX_COLLECTIVES = 10000;

const char*
KindName(training::TaskKind kind)
{
    switch (kind)
    {
    case training::TaskKind::kCompute:
        return "compute";
    case training::TaskKind::kMemory:
        return "memory";
    case training::TaskKind::kCollective:
        return "collective";
    case training::TaskKind::kSend:
        return "send";
    default:
        return "recv";
    }
}

/// From the first rank's entry to the last one's leaving.
double
SpanUs(const CollectiveRecord& record)
{
    return static_cast<double>(record.end - record.firstStart) * 1e-6;
}

} // namespace

TrainingSimulation::TrainingSimulation(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "dltrain",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {scenario.warmupSteps > 0, false, scenario.plan.ranks})
{
}

TrainingSimulation::~TrainingSimulation() = default;

int
TrainingSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
TrainingSimulation::Populate()
{
    const uint32_t steps = m_scenario.warmupSteps + m_scenario.steps;
    m_steps = std::make_unique<StepRunner>(
        m_scenario.plan,
        steps,
        m_scenario.warmupSteps,
        [this](uint32_t step) { m_run.Control().SetPhase(PhaseName(step)); },
        [this](uint32_t step, const StepRecord& record) { OnStep(step, record); },
        [this](const std::string& name) {
            const uint32_t tag = m_run.Collector().Tag(name);
            m_names.resize(std::max<std::size_t>(m_names.size(), tag + 1));
            m_names[tag] = name;
            return tag;
        });
    m_interconnect = std::make_unique<Interconnect>(m_scenario.cluster,
                                                    m_scenario.fabric.network,
                                                    m_run.Fabric(),
                                                    m_run.Collector());
    m_runner = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                  m_scenario.collectives,
                                                  *m_interconnect,
                                                  m_steps.get());
    m_steps->SetRunner(m_runner.get());
    if (m_scenario.run.attribution)
    {
        m_critical = std::make_unique<CriticalPath>(m_scenario.plan, m_run.Collector());
        m_runner->SetPaths(&m_critical->GetPaths());
    }

    if (!OpenCalls())
    {
        return results::OutputErrors::First();
    }
    m_steps->SetCallListener([this](const CallRecord& call) { OnCall(call); });
    for (const auto& [op, perGpu] : training::BytesMovedPerGpu(m_scenario.plan))
    {
        m_bytes += perGpu * m_scenario.plan.ranks * steps;
    }
    return m_steps->Start();
}

bool
TrainingSimulation::OpenCalls()
{
    if (!m_calls.Open(m_scenario.run.out + "/calls.log"))
    {
        return false;
    }
    const uint32_t steps = m_scenario.warmupSteps + m_scenario.steps;
    const uint32_t ranks = m_scenario.plan.ranks;
    const uint64_t callsOfStep = m_steps->GetProgress().second / steps;
    const uint64_t calls = callsOfStep * m_scenario.steps;
    m_logEvery =
        static_cast<uint32_t>(std::min<uint64_t>((calls + MAX_CALLS - 1) / MAX_CALLS, ranks));
    if (calls / ranks > MAX_CALLS)
    {
        m_logSteps = static_cast<uint32_t>(
            std::max<uint64_t>(1, MAX_CALLS / std::max<uint64_t>(1, callsOfStep / ranks)));
    }
    const bool all = m_logSteps >= m_scenario.steps;
    m_calls.Write("# calls of the measured steps" +
                  (all ? std::string() : ", the first " + std::to_string(m_logSteps)) +
                  ", in the order they end; times in us since the simulation began" +
                  (m_logEvery > 1 ? "; only every " + std::to_string(m_logEvery) + "th rank"
                                  : std::string()));
    m_calls.Write("# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup");
    return true;
}

double
TrainingSimulation::GetShareDone() const
{
    // Of all that takes wall time, bytes on the network are nearly all; computing costs nothing.
    const auto [done, all] = m_steps->GetProgress();
    const double calls = static_cast<double>(done) / static_cast<double>(all);
    return done == all || m_bytes == 0
               ? calls
               : std::min(0.999, static_cast<double>(m_runner->GetBytes()) / m_bytes);
}

bool
TrainingSimulation::IsDone() const
{
    return m_steps->IsDone();
}

std::string
TrainingSimulation::DescribeUnfinished() const
{
    std::string text;
    for (const std::string& line : m_steps->DescribeUnfinished())
    {
        text += line + "\n";
    }
    return text;
}

void
TrainingSimulation::OnEnd(results::RunOutcome&)
{
    m_calls.Close();
}

std::string
TrainingSimulation::GetFiles() const
{
    return ", calls.log";
}

void
TrainingSimulation::OnStep(uint32_t step, const StepRecord& record)
{
    const int64_t now = record.end;
    if (step >= m_scenario.warmupSteps)
    {
        Add(record);
        if (m_critical)
        {
            m_critical->OnStep(step, m_lastEnd);
        }
    }
    // Packets and links are counted from where the step time is: the last rank's end. Messages and
    // calls by the step they belong to, as ranks do not begin one together.
    if (step + 1 == m_scenario.warmupSteps)
    {
        m_run.Collector().StartMeasuring(now);
    }
    m_lastEnd = now;
    if (step + 1 == m_scenario.warmupSteps + m_scenario.steps)
    {
        m_run.Control().End();
    }
}

void
TrainingSimulation::Add(const StepRecord& record)
{
    m_begin = m_measured++ ? m_begin : m_lastEnd;
    m_end = record.end;
    m_computeUs += record.computePs * 1e-6;
    m_communicationUs += record.communicationPs * 1e-6;
    if (m_stepUs.size() < MAX_STEP_TIMES)
    {
        m_stepUs.push_back(static_cast<double>(record.end - m_lastEnd) * 1e-6);
    }
    for (const CollectiveRecord& one : record.collectives)
    {
        Sum& sum = m_sums[{coll::OpName(one.op), one.algorithm->Name()}];
        const double us = SpanUs(one);
        ++sum.count;
        sum.bytes += static_cast<double>(one.bytes);
        sum.us += us;
        sum.rankUs += one.meanPs * 1e-6;
        sum.busBytes += coll::BandwidthOf(one.op, one.bytes, one.ranks, us).busbw * us;
        sum.sent += one.bytesSent;
    }
    m_collectives += record.collectives.size();
    // Whole steps, and none after one that is left out.
    if (!record.collectives.empty() && (m_collectives <= MAX_COLLECTIVES || m_listed.empty()))
    {
        m_listed.push_back({m_measured, record.collectives});
        m_collectivesListed = m_collectives;
    }
}

std::string
TrainingSimulation::PhaseName(uint32_t step) const
{
    const bool warmup = step < m_scenario.warmupSteps;
    return (warmup ? "warm-up step " + std::to_string(step + 1)
                   : "step " + std::to_string(step - m_scenario.warmupSteps + 1)) +
           " of " + std::to_string(warmup ? m_scenario.warmupSteps : m_scenario.steps);
}

void
TrainingSimulation::OnCall(const CallRecord& call)
{
    if (call.step < m_scenario.warmupSteps)
    {
        return;
    }
    if (m_critical)
    {
        m_critical->OnCall(call);
    }
    if (call.rank % m_logEvery || call.step - m_scenario.warmupSteps >= m_logSteps)
    {
        return;
    }
    m_line.clear();
    results::AppendMicroseconds(m_line, call.start);
    m_line += '\t';
    results::AppendMicroseconds(m_line, call.end);
    m_line += '\t';
    results::AppendInteger(m_line, call.step - m_scenario.warmupSteps + 1);
    m_line += '\t';
    results::AppendInteger(m_line, call.rank);
    m_line += '\t';
    m_line += call.graph->streams[call.task->stream];
    m_line += '\t';
    m_line += KindName(call.task->kind);
    m_line += '\t';
    m_line += call.task->name;
    m_line += '\t';
    results::AppendInteger(m_line, call.task->bytes);
    m_line += '\t';
    m_line += call.task->kind == training::TaskKind::kCollective
                  ? m_scenario.plan.groupKinds[call.task->group].name
                  : "-";
    m_calls.Write(m_line);
}

double
TrainingSimulation::StepUs() const
{
    return MeanUs(static_cast<double>(m_end - m_begin) * 1e-6);
}

double
TrainingSimulation::MeanUs(double us) const
{
    return m_measured ? us / m_measured : 0;
}

bool
TrainingSimulation::HasTokens() const
{
    return m_scenario.sequence > 1; // models of images have 1
}

double
TrainingSimulation::Peak() const
{
    return m_scenario.options.gpu.Peak(m_scenario.options.dtype);
}

double
TrainingSimulation::Utilization(double stepUs) const
{
    return m_scenario.plan.flopsPerGpuPerStep / (stepUs * 1e-6) / Peak();
}

nlohmann::ordered_json
TrainingSimulation::GetStatistics() const
{
    nlohmann::ordered_json body = results::ToJson(m_scenario.cluster, m_scenario.plan.ranks);
    body["model"] = m_scenario.model;
    body["parameters"] = m_scenario.parameters;
    body["zero"] = m_scenario.zero;
    body["global_batch"] = m_scenario.globalBatch;
    body["steps_measured"] = m_measured;
    body["warmup_steps"] = m_scenario.warmupSteps;
    // Of an interrupted run: of the steps that were completed; null if there is none.
    const bool any = m_measured > 0;
    const double stepUs = StepUs();
    const double computeUs = MeanUs(m_computeUs);
    const auto number = [any](double value) {
        return any ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    body["step_time_us"] = number(stepUs);
    body["compute_time_us"] = number(computeUs);
    body["communication_time_us"] = number(MeanUs(m_communicationUs));
    body["exposed_communication_time_us"] = number(stepUs - computeUs);
    body["samples_per_s"] =
        number(any ? static_cast<double>(m_scenario.plan.samplesPerStep) / stepUs * 1e6 : 0);
    body["tflops_per_gpu"] = number(any ? m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6 : 0);
    body["mfu"] = number(any ? Utilization(stepUs) : 0);
    body["peak_tflops_per_gpu"] = Peak() * 1e-12;
    body["gpu_memory_bytes_estimate"] = m_scenario.plan.gpuMemoryBytes;
    const training::MemoryEstimate memory = training::EstimateMemory(m_scenario.options);
    body["gpu_memory_parts_bytes"] = {{"parameters", memory.parameters},
                                      {"gradients", memory.gradients},
                                      {"optimizer", memory.optimizer},
                                      {"activations", memory.activations},
                                      {"buffers", memory.buffers}};
    body["gpu_memory_capacity_bytes"] = m_scenario.options.gpu.memoryBytes;
    if (m_critical)
    {
        body["critical_path"] = m_critical->ToJson(m_names);
    }
    body["step_times_us"] = m_stepUs;
    body["step_times_left_out"] = m_measured - m_stepUs.size();
    body["bytes_sent_per_gpu"] = nlohmann::ordered_json::object();
    std::map<std::string, double> sent;
    for (const auto& [key, sum] : m_sums)
    {
        sent[key.first] += static_cast<double>(sum.sent) / m_scenario.plan.ranks / m_measured;
    }
    for (const auto& [op, bytes] : sent)
    {
        body["bytes_sent_per_gpu"][op] = bytes;
    }
    body["collectives_left_out"] = m_collectives - m_collectivesListed;
    body["collectives"] = nlohmann::ordered_json::array();
    for (const ListedStep& step : m_listed)
    {
        for (const CollectiveRecord& record : step.collectives)
        {
            const double timeUs = SpanUs(record);
            const coll::Bandwidth bw =
                coll::BandwidthOf(record.op, record.bytes, record.ranks, timeUs);
            body["collectives"].push_back(
                {{"op", coll::OpName(record.op)},
                 {"algorithm", record.algorithm->Name()},
                 {"bytes", record.bytes},
                 {"ranks", record.ranks},
                 {"time_us", timeUs},
                 {"algbw_GBps", bw.algbw},
                 {"busbw_GBps", bw.busbw},
                 {"name", m_names[record.tag & ~TraceCollector::WARMUP]},
                 {"step", step.number},
                 {"rank_time_us", record.meanPs * 1e-6},
                 {"start_us", static_cast<double>(record.firstStart) * 1e-6}});
        }
    }
    return body;
}

void
TrainingSimulation::PrintCriticalPath() const
{
    int64_t total = 0;
    for (const CriticalPath::Line& line : m_critical->InLines(m_names))
    {
        if (line.ps < 0)
        {
            std::printf("  %-20s %s\n",
                        line.what.c_str(),
                        rdma::Printable(results::Wrapped(line.words, 23), "\n").c_str());
        }
        else if (total == 0)
        {
            total = line.ps;
            std::printf("Critical path          %10s   %s\n",
                        results::HumanTime(static_cast<double>(total) * 1e-6).c_str(),
                        rdma::Printable(line.words, "\n").c_str());
        }
        else
        {
            std::printf("  %-20s %10s   %5.1f%%%s%s\n",
                        line.what.c_str(),
                        results::HumanTime(static_cast<double>(line.ps) * 1e-6).c_str(),
                        100 * static_cast<double>(line.ps) / static_cast<double>(total),
                        line.words.empty() ? "" : "   ",
                        rdma::Printable(line.words, "\n").c_str());
        }
    }
}

void
TrainingSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    std::printf("%s, ZeRO-%u (%s), %s: %u GPUs (%s) in %u servers, %s, %s, %s placement\n",
                rdma::Shown(m_scenario.model).c_str(),
                m_scenario.zero,
                training::ZeroImplName(m_scenario.options.zeroImpl).c_str(),
                m_scenario.dtype.c_str(),
                m_scenario.plan.ranks,
                rdma::Shown(m_scenario.gpu).c_str(),
                m_scenario.cluster.servers,
                rdma::Shown(m_scenario.cluster.topologyName).c_str(),
                rdma::Shown(scenario::NicsText(m_scenario.cluster, m_scenario.fabric)).c_str(),
                m_scenario.cluster.placement == scenario::PlacementPolicy::kLinear ? "linear"
                                                                                   : "random");
    std::printf("micro-batch %u x accumulation %u, global batch %u",
                m_scenario.microBatch,
                m_scenario.accumulation,
                m_scenario.globalBatch);
    if (HasTokens())
    {
        std::printf(", sequence %u", m_scenario.sequence);
    }
    std::printf("\n\n");
    if (m_measured == 0)
    {
        std::printf("no measured step was completed\n\n");
    }
    else
    {
        const double stepUs = StepUs();
        const double computeUs = MeanUs(m_computeUs);
        const double samples = static_cast<double>(m_scenario.plan.samplesPerStep) / stepUs * 1e6;
        std::string what = m_measured == 1
                               ? "1 step measured"
                               : "mean of " + std::to_string(m_measured) + " steps measured";
        if (m_scenario.warmupSteps)
        {
            what += ", after " + std::to_string(m_scenario.warmupSteps) +
                    (m_scenario.warmupSteps == 1 ? " warm-up step" : " warm-up steps");
        }
        std::printf("Step time              %10s   %s\n",
                    results::HumanTime(stepUs).c_str(),
                    what.c_str());
        std::printf("  computing            %10s   %5.1f%%\n",
                    results::HumanTime(computeUs).c_str(),
                    100 * computeUs / stepUs);
        std::printf(
            "  exposed communication%10s   %5.1f%%   (communication was under way for %s)\n",
            results::HumanTime(stepUs - computeUs).c_str(),
            100 * (stepUs - computeUs) / stepUs,
            results::HumanTime(MeanUs(m_communicationUs)).c_str());
        if (m_critical)
        {
            PrintCriticalPath();
        }
        std::printf("Throughput             %.5g samples/s", samples);
        if (HasTokens())
        {
            std::printf(
                ", %s tokens/s",
                results::HumanCount(static_cast<uint64_t>(samples * m_scenario.sequence + 0.5))
                    .c_str());
        }
        std::printf(", %.4g TFLOP/s per GPU, MFU %.1f%% of %.4g\n\n",
                    m_scenario.plan.flopsPerGpuPerStep / stepUs * 1e-6,
                    100 * Utilization(stepUs),
                    Peak() * 1e-12);

        std::printf("Collectives a step               count       bytes  sent per GPU  time in "
                    "them      busbw\n");
        const double n = m_measured;
        for (const auto& [key, sum] : m_sums)
        {
            std::printf(
                "  %-28s %7.4g  %10s    %10s    %10s  %5.2f GB/s\n",
                (key.first + " (" + key.second + ")").c_str(),
                static_cast<double>(sum.count) / n,
                results::HumanBytes(sum.bytes / n).c_str(),
                results::HumanBytes(static_cast<double>(sum.sent) / m_scenario.plan.ranks / n)
                    .c_str(),
                results::HumanTime(sum.rankUs / n).c_str(),
                sum.us > 0 ? sum.busBytes / sum.us : 0);
        }
        std::printf("\n");
    }
    std::fflush(stdout);
    results::PrintRunStats(os, network);
}

} // namespace dltrain
