/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TrainingResults as keys of stats.json.
 */
#include "reports/programs/capture-results.h"
#include "reports/programs/served-results.h"
#include "reports/programs/training-results.h"
#include "reports/schema/object.h"
#include "reports/stats/stats-file.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/rank-work.h"

namespace reports
{

namespace
{

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

namespace
{

/// A tier in a step.
struct TierTraffic
{
    std::string name;
    uint64_t loaded = 0;
    uint64_t stored = 0;
};

std::vector<TierTraffic>
UseOfTiers(const training::TrainingPlan& plan)
{
    std::vector<TierTraffic> tiers;
    for (const training::MemoryTier& tier : plan.tiers)
    {
        tiers.push_back({tier.name});
    }
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        for (const training::Task& task : plan.roles[plan.roleOf[rank]].tasks)
        {
            if (training::AccessesMemory(task))
            {
                TierTraffic& tier = tiers[task.tier];
                (task.stores ? tier.stored : tier.loaded) += task.bytes;
            }
        }
    }
    return tiers;
}

const Object<TierTraffic> MEMORY_TIER{
    {"name: Tier", &TierTraffic::name},
    {"loaded_bytes (B): What ranks load; of what they gather together, each", &TierTraffic::loaded},
    {"stored_bytes (B): What ranks store; of what is added up, each", &TierTraffic::stored}};

} // namespace

/// What the keys are made of.
struct TrainingResults::Told
{
    const TrainingResults& of;
    const scenario::TrainingScenario& scenario;
    const CriticalPath* critical;

    bool HasModel() const
    {
        return !scenario.trace; // a recorded step is of no model that is known
    }

    /// The memory of a GPU follows from the options: not of operators that are cut by themselves.
    bool HasLayout() const
    {
        return HasModel() && !scenario.sharded;
    }

    bool Offloads() const
    {
        return scenario.options.offload != training::Offload::kNone;
    }

    /// Null: no step was measured.
    static Key<Told> Number(const char* words, double (*value)(const TrainingResults& of))
    {
        return Key<Told>(words, [value](const Told& t) { return value(t.of); })
            .NullUnless([](const Told& t) { return t.of.HasWhole(); });
    }

    /// The same, null without FLOPs too.
    static Key<Told> OfFlops(const char* words, double (*value)(const TrainingResults& of))
    {
        return Number(words, value).NullUnless([](const Told& t) {
            return t.of.HasFlops() && t.of.HasWhole();
        });
    }

    static double OfStep(const TrainingResults& r)
    {
        return r.GetStepUs();
    }

    bool HasSamples() const
    {
        return of.HasSamples();
    }

    bool HasTokens() const
    {
        return of.HasTokens();
    }

    /// Of a model, or of a recording that has them.
    bool KnowsFlops() const
    {
        return HasModel() || of.HasFlops();
    }

    /// Absent for a recorded step.
    static Key<Told> OfModel(Key<Told> key)
    {
        return std::move(key).Only(&Told::HasModel);
    }

    static Json BytesSent(const Told& t)
    {
        Json bytes = Json::object();
        for (const auto& [op, of] : t.of.BytesSent())
        {
            bytes[op] = of;
        }
        return bytes;
    }

    static const Told& Itself(const Told& t)
    {
        return t;
    }

    static Key<Told> Samples()
    {
        return Number(
            "samples_per_s (1/s): Samples trained per second, all GPUs",
            [](const TrainingResults& r) { return r.SamplesPerStep() / OfStep(r) * 1e6; });
    }

    static Key<Told> Tflops()
    {
        return OfFlops("tflops_per_gpu (TFLOP/s): FLOPs of the model per second and GPU: 3 x "
                       "forward, without recomputation",
                       [](const TrainingResults& r) {
                           return r.m_scenario.plan.flopsPerGpuPerStep / OfStep(r) * 1e-6;
                       });
    }

    static Key<Told> StepTime()
    {
        return Number(
            "step_time_us (us): Mean time of a step, from the last GPU's end to the last GPU's end",
            OfStep);
    }

    static Key<Told> Compute()
    {
        return Number("compute_time_us (us): Of a step: a GPU computes; mean over GPUs and steps",
                      [](const TrainingResults& r) { return r.GetBreakdown().compute; });
    }

    static Key<Told> Communication()
    {
        return Number(
            "communication_time_us (us): Of a step: a GPU has a collective, its own or an "
            "awaited message in flight, hidden or not; mean over GPUs",
            [](const TrainingResults& r) { return r.GetBreakdown().underWay; });
    }

    static Key<Told> Exposed()
    {
        return Number("exposed_communication_time_us (us): Of communication_time_us: nothing is "
                      "computed meanwhile; mean over GPUs and steps",
                      [](const TrainingResults& r) { return r.GetBreakdown().Exposed(); });
    }

    static Key<Told> ExposedBy()
    {
        return Key<Told>(
                   "exposed_by_parallelism_us: The same by the parallelism of the collective "
                   "or message; of several at once, the first in this order",
                   [](const Told& t) { return t.of.GetBreakdown(); },
                   ExposedKeys())
            .NullUnless([](const Told& t) { return t.of.HasWhole(); });
    }

    static Key<Told> Bubble()
    {
        return Number("bubble_time_us (us): Of a pipeline: computing waits for a message that "
                      "another stage has not sent; mean over GPUs",
                      [](const TrainingResults& r) { return r.GetBreakdown().bubble; });
    }

    static Key<Told> Waiting()
    {
        return Number("waiting_time_us (us): Nothing of the GPU's own is under way, as at the end "
                      "of a step; with computing, exposed, bubble, offload and loading the step",
                      [](const TrainingResults& r) { return r.GetBreakdown().waiting; });
    }

    static Key<Told> Measured()
    {
        return {"steps_measured (count): Steps that the numbers are of",
                [](const Told& t) { return t.of.m_measured; }};
    }

    static Key<Told> Sent()
    {
        return {"bytes_sent_per_gpu (B): Per step and operation, NVLink included; mean over GPUs; "
                "collperf: in all",
                BytesSent};
    }
};

const Object<TrainingResults::Told>&
TrainingResults::ExtrapolationKeys()
{
    using T = Told;
    static const auto times = [](const T& t) { return t.of.OfSizes(&Size::stepUs); };
    static const Object<T> keys{
        {"blocks (count): Blocks of the model", [](const T& t) { return t.scenario.plan.blocks; }},
        {"blocks_simulated (count): Numbers of blocks that were simulated",
         [](const T& t) { return t.of.Blocks(); }},
        {"step_times_us (us): Step time of each number", times},
        {"communication_times_us (us): Communication time of each number",
         [](const T& t) { return t.of.OfSizes(&Size::communicationUs); }},
        {"error (ratio): Error at the largest number, of the line through the two smaller ones; "
         "null: two numbers",
         [](const T& t) { return t.of.LineError(); }},
        {"error_of_whole (ratio): Error at the whole model, if a parabola through the three "
         "numbers "
         "holds",
         [](const T& t) { return t.of.WholeLineError(); }},
        {"held_at_largest: More blocks took less time: the whole takes as long as the largest "
         "number",
         [](const T& t) { return t.of.IsHeld(); }},
        Key<T>("bubble_shares (0 to 1): Of a pipeline: bubble over exposed time, for each number",
               [](const T& t) {
                   std::vector<double> shares;
                   for (const Size& size : t.of.m_sizes)
                   {
                       shares.push_back(BubbleShare(size));
                   }
                   return shares;
               })
            .Only([](const T& t) { return t.scenario.options.pipeline > 1; })};
    return keys;
}

const Object<TrainingResults::Told>&
TrainingResults::ModelKeys()
{
    using T = Told;
    static const auto captured = [](const T& t) { return static_cast<bool>(t.scenario.capture); };
    static const Object<T> trace{
        {"format: Format of the files", [](const T& t) { return t.scenario.trace->format; }},
        {"ranks (count): Ranks that do anything",
         [](const T& t) { return t.scenario.trace->ranks; }},
        Key<T>("torch: Capture: version of PyTorch that ran the script",
               [](const T& t) { return t.scenario.trace->torch; })
            .Only([](const T& t) { return !t.scenario.trace->torch.empty(); }),
        Key<T>("notes: Assumptions about the recording or the script",
               [](const T& t) { return t.scenario.trace->notes; })
            .Only([](const T& t) { return !t.scenario.trace->notes.empty(); }),
        Key<T>(
            "captured_ranks (count): Capture: ranks that ran; others play the role of one of them",
            [](const T& t) { return t.scenario.capture->findings.captured; })
            .Only(captured),
        Key<T>("captured_steps (count): Capture: training steps; the last one is simulated",
               [](const T& t) { return t.scenario.capture->findings.steps; })
            .Only(captured),
        Key<T>("step_ended_by: Capture: what ends a step", [](const T& t) {
            return t.scenario.capture->findings.endedBy;
        }).Only(captured)};
    static const Object<T> keys{
        {"model: The model that is trained", [](const T& t) { return t.scenario.model; }},
        Key<T>("trace: With --trace or a capture: the recorded step", T::Itself, trace)
            .Only([](const T& t) { return !t.HasModel(); }),
        T::OfModel(
            {"rates_of: Whose software's kernels are counted: a recipe, or nvidia, the tuned "
             "kernels of NVIDIA's libraries",
             [](const T& t) { return t.scenario.recipe.empty() ? "nvidia" : t.scenario.recipe; }}),
        T::OfModel({"parameters (count): Parameters of the model",
                    [](const T& t) { return t.scenario.parameters; }}),
        T::OfModel({"active_parameters (count): Parameters that a token meets: all but those of "
                    "experts that it is not sent to",
                    [](const T& t) { return t.scenario.activeParameters; }}),
        T::OfModel({"mtp (count): Modules for multi-token prediction, counted in the parameters",
                    [](const T& t) { return t.scenario.predictors; }}),
        T::OfModel({"zero: ZeRO stage; 0: plain data parallelism",
                    [](const T& t) { return t.scenario.options.sharding.Stage(); }}),
        T::OfModel({"global_batch (samples): Samples of a step, all GPUs",
                    [](const T& t) { return t.scenario.globalBatch; }})};
    return keys;
}

const Object<TrainingResults::Told>&
TrainingResults::TimeKeys()
{
    using T = Told;
    static const Object<T> keys{
        T::Measured(),
        {"warmup_steps (count): Steps before, in no statistics",
         [](const T& t) { return t.scenario.warmupSteps; }},
        T::StepTime(),
        T::Compute(),
        T::Communication(),
        T::Exposed(),
        T::ExposedBy(),
        T::Number("offload_time_us (us): With --offload: only PCIe copies or the CPU's optimizer "
                  "run; mean over GPUs",
                  [](const TrainingResults& r) { return r.Mean(&Size::hostUs); })
            .Only([](const T& t) { return t.Offloads(); }),
        T::Number(
            "memory_time_us (us): With --memory: only loads and stores in tiers beyond the GPU "
            "run; mean over GPUs",
            [](const TrainingResults& r) { return r.Mean(&Size::hostUs); })
            .Only([](const T& t) { return t.scenario.options.memory.Any(); }),
        T::Number("host_time_us (us): With --trace: only host work, or kernels outside the default "
                  "stream run; mean over GPUs",
                  [](const TrainingResults& r) { return r.Mean(&Size::hostUs); })
            .Only([](const T& t) { return !t.HasModel(); }),
        T::Number("data_loading_time_us (us): With --loader: only loading runs; mean over GPUs",
                  [](const TrainingResults& r) { return r.Mean(&Size::loadingUs); })
            .Only([](const T& t) { return t.scenario.options.loaderRate > 0; }),
        T::Number("queue_wait_us (us): With --collective-order or --in-flight: time that a "
                  "collective was ready and waited in the queue; mean over them",
                  [](const TrainingResults& r) { return r.Mean(&Size::queuedUs); })
            .Only([](const T& t) { return t.scenario.plan.queue.has_value(); }),
        T::Number("longest_queue_wait_us (us): The same of the one that waited longest in a step",
                  [](const TrainingResults& r) { return r.Mean(&Size::longestQueuedUs); })
            .Only([](const T& t) { return t.scenario.plan.queue.has_value(); }),
        Key<T>("moe_dropped_share (0 to 1): With --capacity-factor or --moe-skew: share of the "
               "tokens' expert choices that is dropped",
               [](const T& t) { return training::DroppedShare(t.scenario.options); })
            .Only([](const T& t) { return training::AsksForExpertLoad(t.scenario.options); }),
        T::Bubble(),
        T::Waiting(),
        Key<T>(
            "stages: Of a pipeline: its stages, means over their GPUs and steps; with --layers "
            "of the largest number of blocks",
            [](const T& t) { return t.of.GetStages(); },
            StageKeys())
            .Only([](const T& t) { return !t.of.GetStages().empty(); })};
    return keys;
}

const Object<TrainingResults::Told>&
TrainingResults::GpuKeys()
{
    using T = Told;
    using Memory = training::MemoryEstimate;
    static const Object<Memory> memory{
        {"parameters (B): Parameters", &Memory::parameters},
        {"gradients (B): Gradients", &Memory::gradients},
        {"optimizer (B): States of the optimizer", &Memory::optimizer},
        {"activations (B): Kept from forward for backward", &Memory::activations},
        {"buffers (B): Gradient buckets and gathered parameters in flight", &Memory::buffers}};
    static const Object<T> keys{
        T::Samples().Only(&T::HasSamples),
        T::Number("tokens_per_s (1/s): Tokens trained per second, all GPUs; models of images: none",
                  [](const TrainingResults& r) { return r.TokensPerStep() / T::OfStep(r) * 1e6; })
            .Only(&T::HasTokens),
        T::Tflops().Only(&T::KnowsFlops),
        T::OfFlops("mfu (0 to 1): Model FLOPs utilization: tflops_per_gpu over "
                   "peak_tflops_per_gpu (PaLM, appendix B)",
                   [](const TrainingResults& r) { return r.Utilization(r.GetStepUs()); })
            .Only(&T::KnowsFlops),
        Key<T>("peak_tflops_per_gpu (TFLOP/s): Peak of the GPU with this data type, without "
               "sparsity; capture: of its FLOPs' data types",
               [](const T& t) { return t.of.Peak() * 1e-12; })
            .Only(&T::KnowsFlops),
        T::OfModel({"gpu_memory_bytes_estimate (B): Memory that a GPU would need, estimated",
                    [](const T& t) { return t.scenario.plan.gpuMemoryBytes; }}),
        Key<T>(
            "gpu_memory_parts_bytes (B): Parts of this estimate",
            [](const T& t) { return training::FullestOf(t.scenario.options).memory; },
            memory)
            .Only(&T::HasLayout),
        Key<T>("gpu_memory_reserve_bytes (B): Beside this estimate: CUDA context, NCCL, "
               "fragmentation; assumed",
               [](const T& t) {
                   const auto& options = t.scenario.options;
                   return training::ReserveOf(options, training::FullestOf(options).memory).Total();
               })
            .Only(&T::HasLayout),
        Key<T>("gpu_memory_verdict: fits; may not fit: margin or measured peaks have no room; does "
               "not fit",
               [](const T& t) {
                   const auto& options = t.scenario.options;
                   const training::FullestGpu fullest = training::FullestOf(options);
                   return std::string(
                       training::MemoryVerdictName(training::VerdictOf(options,
                                                                       fullest.memory,
                                                                       fullest.gpu.memoryBytes,
                                                                       t.scenario.recipe)));
               })
            .Only(&T::HasLayout),
        Key<T>("offloaded_bytes_per_server (B): With --offload: in a server's memory, estimated",
               [](const T& t) {
                   return training::EstimateMemory(t.scenario.options).host *
                          t.scenario.options.host.gpus;
               })
            .Only([](const T& t) { return t.HasModel() && t.Offloads(); }),
        Key<T>(
            "memory_tiers: With --memory and --remote-memory: what a step loads and stores, all "
            "ranks together",
            [](const T& t) { return UseOfTiers(t.scenario.plan); },
            MEMORY_TIER)
            .Only([](const T& t) { return !t.scenario.plan.tiers.empty(); }),
        Key<T>(
            "compared_with: Published steps of its kind, and the band that they give",
            [](const T& t) { return t.of.GetCompared(); },
            ComparedKeys())
            .Only([](const T& t) {
                return t.HasModel() && t.of.HasWhole() && !t.scenario.options.memory.Any();
            }),
        {"gpu_memory_capacity_bytes (B): Memory of the GPU",
         [](const T& t) {
             const training::TrainingOptions& o = t.scenario.options;
             return o.kinds.empty() ? o.gpu.memoryBytes : training::FullestOf(o).gpu.memoryBytes;
         }},
        Key<T>("extrapolation: With --layers: blocks simulated and how well they fit a line",
               T::Itself,
               ExtrapolationKeys())
            .Only([](const T& t) { return t.scenario.plan.sizes.size() > 1; })};
    return keys;
}

const Object<TrainingResults::Told>&
TrainingResults::PathKeys()
{
    static const Object<Told> keys{
        Key<Told>(
            "critical_path: What made the last measured step as long as it was: back from its last "
            "call, through collectives message by message",
            [](const Told& t) { return t.critical->ToJson(); },
            static_cast<const Shape&>(CriticalPath::Keys()))
            .Only([](const Told& t) { return t.critical != nullptr; })};
    return keys;
}

const Object<TrainingResults::Told>&
TrainingResults::CountKeys()
{
    using T = Told;
    static const Object<T> keys{
        {"step_times_left_out (count): Measured steps that steps.csv has not; means are of all",
         [](const T& t) { return t.of.m_measured - t.of.m_stepUs.size(); }},
        T::Sent(),
        {"collectives_left_out (count): Collectives that step_collectives.csv has not; sums and "
         "means are of all",
         [](const T& t) { return t.of.m_collectives - t.of.m_collectivesListed; }}};
    return keys;
}

namespace
{

/// Collectives of one operation and algorithm.
struct SummedRow
{
    std::string op;
    std::string algorithm;
    uint64_t count;
    double bytes;
    double us;
    double busbw;
};

using Summed = std::vector<SummedRow>;

const Object<Summed>&
SummedKeys()
{
    static const Object<SummedRow> row{
        {"op: Operation", &SummedRow::op},
        {"algorithm: Algorithm", &SummedRow::algorithm},
        {"count (count): Number of them", &SummedRow::count},
        {"bytes (B): Mean size", &SummedRow::bytes},
        {"time_us (us): Mean time, from the first entry to the last exit", &SummedRow::us},
        {"busbw_GBps (GB/s): Bus bandwidth, as nccl-tests has it", &SummedRow::busbw}};
    static const Object<Summed> keys{{"collectives: Collectives by operation and algorithm",
                                      [](const Summed& all) -> const Summed& { return all; },
                                      row}};
    return keys;
}

} // namespace

const Object<TrainingResults::Told>&
TrainingResults::StepKeys()
{
    using T = Told;
    static const auto samples = [](const T& t) { return t.scenario.plan.samplesPerStep > 0; };
    static const Object<T> keys{T::Measured(),
                                T::StepTime(),
                                T::Compute(),
                                T::Communication(),
                                T::Exposed(),
                                T::ExposedBy(),
                                T::Bubble(),
                                T::Waiting(),
                                T::Samples().Only(samples),
                                T::Tflops().Only(samples),
                                T::Sent()};
    return keys;
}

const Shape&
TrainingResults::StepWords()
{
    static const JoinedKeys words({&StepKeys(), &ServerWords(), &SummedKeys()});
    return words;
}

nlohmann::ordered_json
TrainingResults::StepsToJson(const workload::ServedStatistics* served) const
{
    Json body = StepKeys().ToJson({*this, m_scenario, nullptr});
    if (served)
    {
        AddServers(body, *m_scenario.served, *served, MeasuredUs());
    }
    Summed summed;
    if (!m_sizes.empty())
    {
        for (const auto& [key, sum] : m_sizes[0].sums)
        {
            summed.push_back({key.first,
                              key.second,
                              sum.count,
                              sum.bytes / static_cast<double>(sum.count),
                              sum.us / static_cast<double>(sum.count),
                              sum.us > 0 ? sum.busBytes / sum.us : 0});
        }
    }
    SummedKeys().AddTo(body, summed);
    return body;
}

const JoinedKeys TrainingResults::g_words({&ModelKeys(), &TimeKeys(), &GpuKeys(), &CountKeys()});
const RegisteredKeys TrainingResults::g_keys(Section::kJob, g_words);
const RegisteredKeys TrainingResults::g_pathKeys(Section::kPath, PathKeys());

nlohmann::ordered_json
TrainingResults::ToJson(const CriticalPath* critical,
                        const workload::ServedStatistics* served) const
{
    Json body = reports::ToJson(m_scenario.cluster, m_scenario.plan.ranks);
    const Told told{*this, m_scenario, critical};
    ModelKeys().AddTo(body, told);
    if (m_scenario.trace && m_scenario.capture)
    {
        CaptureKeys().AddTo(body, m_scenario.capture->findings);
    }
    for (const Object<Told>* keys : {&TimeKeys(), &GpuKeys(), &PathKeys(), &CountKeys()})
    {
        keys->AddTo(body, told);
    }
    if (served)
    {
        AddServers(body, *m_scenario.served, *served, MeasuredUs());
    }
    else if (m_scenario.plan.fillRoles > 0 && !m_scenario.plan.nextForward)
    {
        AddStaleness(body, StalenessOfStages(m_scenario.options, m_measured));
    }
    return body;
}

} // namespace reports
