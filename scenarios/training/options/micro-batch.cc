/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/micro-batch.h"

#include "scenarios/asked/training.h"
#include "scenarios/options/format.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/stage-layers.h"
#include "topologies/names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace scenario
{

namespace
{

constexpr uint64_t kDefaultMicroBatch = 4;
constexpr uint64_t kMostGlobalBatch = 4000000000ULL;

/// The parts that a step's samples are divided among, in words.
std::string
Copies(const training::TrainingOptions& options)
{
    return options.Data() == options.ranks
               ? topo::Counted(options.ranks, "GPU")
               : std::to_string(options.Data()) + (options.Data() == 1 ? " copy" : " copies") +
                     " of the model";
}

bool
Fits(training::TrainingOptions& options, uint64_t micro)
{
    options.microBatch = static_cast<uint32_t>(micro);
    return training::FitsWithReserve(training::Partitioned(options));
}

/// Micro-batches of a step. Where they go round the replicas of a stage, all stages end a step
/// with a round: as many as make whole rounds, and at least one a GPU.
uint64_t
DefaultAccumulation(const training::TrainingOptions& options)
{
    uint64_t rounds = 1;
    uint64_t gpus = 0;
    for (const uint32_t replicas : options.replicas)
    {
        rounds = std::min(std::lcm(rounds, uint64_t{replicas}), kMostMicroBatch + uint64_t{1});
        gpus += replicas;
    }
    return (std::max<uint64_t>(gpus, 1) + rounds - 1) / rounds * rounds;
}

uint64_t
Accumulation(const Validation& v, const training::TrainingOptions& options)
{
    return v.values.Given(&asked::Training::accumulation)
               ? v.values.Get(&asked::Training::accumulation)
               : DefaultAccumulation(options);
}

/// How many micro-batches a pipeline may have under way: those of a step or, where a global batch
/// leaves them open, as many as it can hold.
void
TakeAccumulation(const Validation& v, training::TrainingOptions* options)
{
    const bool open = v.values.Given(&asked::Training::globalBatch) &&
                      !v.values.Given(&asked::Training::accumulation) && options->replicas.empty();
    const uint64_t steps = open ? 2 * options->Pieces() : Accumulation(v, *options);
    options->accumulation = static_cast<uint32_t>(std::min(steps, kMostMicroBatch));
}

/// The nearest valid value, for a global batch that is not one.
std::string
NearestMultiple(uint64_t global, uint64_t part)
{
    const uint64_t down = global / part * part;
    const bool isDown = down && (global - down <= part / 2 || down + part > kMostGlobalBatch);
    return std::to_string(isDown ? down : down + part);
}

/// Samples that each copy of the model takes of the global batch that is given. 0: it does not go
/// into equal shares, which is an error.
uint64_t
ShareOfGlobalBatch(Validation* v, const training::TrainingOptions& options)
{
    const uint64_t global = v->values.Get(&asked::Training::globalBatch);
    const uint64_t copies = options.Data();
    if (global % copies == 0)
    {
        return global / copies;
    }
    v->Fail(&asked::Training::globalBatch,
            Copies(options) + " make multiples of " + std::to_string(copies) + " samples",
            NearestMultiple(global, copies));
    return 0;
}

/// \return the largest up to `most` of which `share` is made
uint64_t
LargestPart(uint64_t share, uint64_t most)
{
    uint64_t part = std::min(share, most);
    while (share % part != 0)
    {
        --part;
    }
    return part;
}

/// \param why there are not more than `most`: "the default"
void
NotePart(Validation* v,
         const training::TrainingOptions& options,
         uint64_t micro,
         uint64_t most,
         const std::string& why)
{
    v->notes.push_back("micro-batch " + std::to_string(micro) + ": the largest up to " +
                       std::to_string(most) + ", " + why + ", of which a global batch of " +
                       std::to_string(v->values.Get(&asked::Training::globalBatch)) +
                       " is made on " + Copies(options));
}

/// --micro-batch=auto. 0: there is an error.
uint64_t
AutoMicroBatch(Validation* v, const training::TrainingOptions& given)
{
    training::TrainingOptions options = given;
    TakeAccumulation(*v, &options);
    const auto& values = v->values;
    const training::FullestGpu fullest = training::FullestOf(options);
    const std::string gpu = "a GPU (" + fullest.gpu.name + ", " +
                            BinarySize(static_cast<double>(fullest.gpu.memoryBytes)) + ")";
    const uint64_t largest = LargestMicroBatch(options);
    if (largest == 0)
    {
        options.microBatch = 1;
        v->Fail(&asked::Training::microBatch,
                "not even one sample fits " + gpu + ": by the estimate it needs " +
                    BinarySize(static_cast<double>(training::EstimateMemory(options).Total())) +
                    "; a higher ZeRO stage, --recompute, --fused-attention or a shorter --seq "
                    "need less");
        return 0;
    }
    if (largest == kMostMicroBatch)
    {
        v->Fail(&asked::Training::microBatch,
                "the memory that is estimated for " + options.model.name +
                    " hardly grows with the micro-batch (layers of a file without shapes keep "
                    "nothing); allowed: a number");
        return 0;
    }
    if (!values.Given(&asked::Training::globalBatch))
    {
        v->notes.push_back("micro-batch " + std::to_string(largest) + ": the largest that fits " +
                           gpu + ", by the estimate");
        return largest;
    }
    // A GPU's samples in a step are micro-batch x accumulation.
    const uint64_t share = ShareOfGlobalBatch(v, options);
    if (share == 0)
    {
        return 0;
    }
    if (values.Given(&asked::Training::accumulation))
    {
        const uint64_t accumulation = values.Get(&asked::Training::accumulation);
        const uint64_t micro = share / accumulation;
        if (share % accumulation != 0 || micro > largest)
        {
            v->Fail(&asked::Training::accumulation,
                    share % accumulation != 0
                        ? "does not divide the " + topo::Counted(share, "sample") +
                              " that a GPU takes of the global batch"
                        : "makes a micro-batch of " + std::to_string(micro) + ", but at most " +
                              std::to_string(largest) + " fit " + gpu +
                              ", by the estimate; allowed: a larger one");
            return 0;
        }
        return micro;
    }
    const uint64_t micro = LargestPart(share, largest);
    NotePart(v, options, micro, largest, "which fit " + gpu + " by the estimate");
    return micro;
}

/// The default where it fits, else the largest half of a half of it that does; at least 1.
uint64_t
FittingMicroBatch(training::TrainingOptions options)
{
    uint64_t micro = kDefaultMicroBatch;
    while (micro > 1 && !Fits(options, micro))
    {
        micro /= 2;
    }
    return micro;
}

/// An option that frees memory makes room for a larger micro-batch, so the run is not compared with
/// the one without it.
void
NoteRoomMade(Validation* v, const training::TrainingOptions& with, uint64_t most)
{
    const uint64_t global = v->values.Given(&asked::Training::globalBatch)
                                ? v->values.Get(&asked::Training::globalBatch)
                                : 0;
    const uint64_t share = global % with.Data() == 0 ? global / with.Data() : 0;
    const auto taken = [share](uint64_t fits) { return share ? LargestPart(share, fits) : fits; };
    const uint64_t micro = taken(most);
    for (const Member option :
         {Member(&asked::Training::recompute), Member(&asked::Training::fusedAttention)})
    {
        training::TrainingOptions without = with;
        if (option == Member(&asked::Training::recompute))
        {
            without.recompute = training::Recompute::kNone;
        }
        else
        {
            without.fusedAttention = false;
        }
        const uint64_t fits = v->values.Given(option) ? taken(FittingMicroBatch(without)) : micro;
        if (fits != micro)
        {
            const std::string where = v->values.Where(option);
            const std::string name = Spell(option);
            v->notes.push_back(
                "micro-batch " + std::to_string(micro) + " (" + std::to_string(fits) + " without " +
                name +
                (where == name ? "" : ", which " + where.substr(0, where.find(':')) + " sets") +
                ", by the estimate); --micro-batch=" + std::to_string(fits) + " compares the two");
        }
    }
}

} // namespace

uint64_t
LargestMicroBatch(training::TrainingOptions options)
{
    if (!Fits(options, 1))
    {
        return 0;
    }
    if (Fits(options, kMostMicroBatch))
    {
        return kMostMicroBatch;
    }
    // Memory never falls as the micro-batch grows.
    uint64_t fits = 1;
    uint64_t tooLarge = kMostMicroBatch;
    while (tooLarge - fits > 1)
    {
        const uint64_t middle = fits + (tooLarge - fits) / 2;
        (Fits(options, middle) ? fits : tooLarge) = middle;
    }
    return fits;
}

void
MakeBatch(Validation* v, training::TrainingOptions* options)
{
    auto& values = v->values;
    const bool isAuto = values.Get(&asked::Training::microBatch).word == "auto";
    const bool haveMicro = values.Given(&asked::Training::microBatch);
    const bool haveAccumulation = values.Given(&asked::Training::accumulation);
    const uint64_t n = options->Data();
    uint64_t micro =
        haveMicro ? values.Get(&asked::Training::microBatch).number : kDefaultMicroBatch;
    uint64_t accumulation = Accumulation(*v, *options);
    const bool haveShare = values.Given(&asked::Training::globalBatch) && haveAccumulation;
    if (!haveMicro && !haveShare && !values.Get(&asked::Training::ignoreMemory))
    {
        training::TrainingOptions o = *options;
        TakeAccumulation(*v, &o);
        micro = FittingMicroBatch(o);
        NoteRoomMade(v, o, micro);
        if (micro < kDefaultMicroBatch)
        {
            v->notes.push_back("micro-batch " + std::to_string(micro) + ": the default, " +
                               std::to_string(kDefaultMicroBatch) + ", does not fit a GPU (" +
                               options->gpu.name + "), by the estimate");
        }
    }
    if (isAuto)
    {
        micro = AutoMicroBatch(v, *options);
        if (micro == 0)
        {
            return;
        }
    }
    if (values.Given(&asked::Training::globalBatch))
    {
        const uint64_t global = values.Get(&asked::Training::globalBatch);
        const std::string gpus = Copies(*options);
        if (haveMicro && haveAccumulation)
        {
            if (n * micro * accumulation != global)
            {
                const std::string product = std::to_string(n * micro * accumulation);
                v->Fail(&asked::Training::globalBatch,
                        gpus + " x micro-batch " + std::to_string(micro) + " x accumulation " +
                            std::to_string(accumulation) + " make " + product,
                        product);
                return;
            }
        }
        else if (!haveMicro && !haveAccumulation)
        {
            const uint64_t share = ShareOfGlobalBatch(v, *options);
            if (share == 0)
            {
                return;
            }
            const uint64_t most = std::exchange(micro, LargestPart(share, micro));
            accumulation = share / micro;
            if (micro < most)
            {
                NotePart(v,
                         *options,
                         micro,
                         most,
                         most < kDefaultMicroBatch ? "what fits of the default" : "the default");
            }
        }
        else
        {
            // The known part must divide the global batch.
            const uint64_t part = haveAccumulation ? n * accumulation : n * micro;
            if (global % part != 0)
            {
                const std::string factors = haveAccumulation
                                                ? "accumulation " + std::to_string(accumulation)
                                                : "micro-batch " + std::to_string(micro);
                v->Fail(&asked::Training::globalBatch,
                        gpus + " x " + factors + " make " + std::to_string(part) +
                            "; allowed: multiples of " + std::to_string(part),
                        NearestMultiple(global, part));
                return;
            }
            (haveAccumulation ? micro : accumulation) = global / part;
        }
    }
    const uint64_t global = n * micro * accumulation;
    if (micro > kMostMicroBatch || accumulation > kMostMicroBatch || global > kMostGlobalBatch)
    {
        v->Fail(values.Given(&asked::Training::globalBatch) ? "global-batch" : "micro-batch",
                "makes a micro-batch of " + std::to_string(micro) + ", accumulation " +
                    std::to_string(accumulation) + " and a global batch of " +
                    std::to_string(global) + ", more than can be simulated");
        return;
    }
    v->Decide(&asked::Training::microBatch, {micro, ""});
    v->Decide(&asked::Training::accumulation, accumulation);
    v->Decide(&asked::Training::globalBatch, global);
    options->microBatch = static_cast<uint32_t>(micro);
    options->accumulation = static_cast<uint32_t>(accumulation);
}

} // namespace scenario
