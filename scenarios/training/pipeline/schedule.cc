/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/schedule.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"

#include <algorithm>
#include <stdexcept>

namespace training
{

namespace
{

struct Registry
{
    std::vector<std::unique_ptr<PipelineSchedule>> owned;
    std::vector<const PipelineSchedule*> sorted;
};

Registry&
TheRegistry()
{
    static Registry registry;
    return registry;
}

using Refusal = PipelineRefusal;
using Of = Refusal::Of;

bool
IsReplicated(const PipelineShape& shape)
{
    return std::any_of(shape.replicas.begin(), shape.replicas.end(), [](uint32_t r) {
        return r != 1;
    });
}

} // namespace

bool
PipelineSchedule::Flushes() const
{
    return true;
}

bool
PipelineSchedule::Folds() const
{
    return false;
}

uint32_t
PipelineSchedule::UsualVirtualStages() const
{
    return 1;
}

bool
PipelineSchedule::FillsInLine() const
{
    return false;
}

bool
PipelineSchedule::PairsPasses(uint32_t /* stages */) const
{
    return false;
}

std::optional<PipelineRefusal>
PipelineSchedule::WhyNot(const PipelineShape& shape) const
{
    // 2^31 / 4: actions of a run are counted in 32 bits.
    constexpr uint64_t kMost = 1ULL << 29;
    if (shape.stages == 0 || shape.microBatches == 0 || shape.virtualStages == 0 ||
        shape.steps == 0)
    {
        return Refusal{Of::kShape,
                       "stages, micro-batches, virtual stages and steps must be at least 1"};
    }
    if (uint64_t{shape.microBatches} * shape.steps > kMost / shape.virtualStages ||
        uint64_t{shape.stages} * shape.virtualStages > kMost)
    {
        return Refusal{Of::kShape,
                       "a run has at most " + std::to_string(kMost) +
                           " micro-batches times virtual stages, and a model as many pieces"};
    }
    if (!shape.replicas.empty() && shape.replicas.size() != shape.stages)
    {
        return Refusal{Of::kShape,
                       std::to_string(shape.replicas.size()) +
                           " numbers of replicas are not one for each of " +
                           std::to_string(shape.stages) + " stages"};
    }
    if (std::find(shape.replicas.begin(), shape.replicas.end(), 0) != shape.replicas.end())
    {
        return Refusal{Of::kShape, "a stage needs at least one replica"};
    }
    uint64_t devices = 0;
    for (const uint32_t replicas : shape.replicas)
    {
        devices += replicas;
    }
    if (devices > kMost)
    {
        return Refusal{Of::kShape,
                       "a pipeline has at most " + std::to_string(kMost) +
                           " replicas of all its stages"};
    }
    return WhyNotThis(shape);
}

std::optional<PipelineRefusal>
PipelineSchedule::WhyNotThis(const PipelineShape& shape) const
{
    return WhyNotPlain(shape);
}

std::optional<PipelineRefusal>
PipelineSchedule::WhyNotPlain(const PipelineShape& shape) const
{
    const auto why = WhyNotVirtual(shape);
    return why ? why : WhyNotReplicated(shape);
}

std::optional<PipelineRefusal>
PipelineSchedule::WhyNotVirtual(const PipelineShape& shape) const
{
    if (shape.virtualStages == 1)
    {
        return std::nullopt;
    }
    return Refusal{Of::kVirtualStages,
                   "but " + Name() + " has one virtual stage a device; allowed: 1" +
                       (IsReplicated(shape)
                            ? ""
                            : ", or " +
                                  scenario::Spell(&scenario::asked::Training::pipelineSchedule) +
                                  "=interleaved, dualpipev")};
}

std::optional<PipelineRefusal>
PipelineSchedule::WhyNotReplicated(const PipelineShape& shape) const
{
    if (!IsReplicated(shape))
    {
        return std::nullopt;
    }
    return Refusal{Of::kReplicas,
                   "but " + Name() + " has one replica of each stage (data parallelism, " +
                       scenario::Spell(&scenario::asked::Degrees::dp) +
                       ", replicates the "
                       "whole pipeline); allowed: none" +
                       (shape.virtualStages > 1
                            ? ""
                            : ", or " +
                                  scenario::Spell(&scenario::asked::Training::pipelineSchedule) +
                                  "=pipedream")};
}

uint32_t
PipelineSchedule::AwaitingBackwardInput(const PipelineShape& shape, uint32_t stage) const
{
    return InFlight(shape, stage);
}

uint32_t
PipelineSchedule::WeightVersions(const PipelineShape& /* shape */,
                                 uint32_t /* stage */,
                                 bool /* verticalSync */) const
{
    return 1;
}

uint32_t
PipelineSchedule::Staleness(const PipelineShape& /* shape */,
                            uint32_t /* stage */,
                            bool /* verticalSync */) const
{
    return 0;
}

bool
PipelineSchedule::BubbleIsExact(const PipelineShape& /* shape */,
                                const PieceTimes& /* times */) const
{
    return true;
}

double
PipelineSchedule::BubbleOverIdeal(const PipelineShape& shape, const PieceTimes& times) const
{
    return Bubble(shape, times) / (double(shape.microBatches) * shape.virtualStages * times.Sum());
}

const PipelineSchedule*
FindPipelineSchedule(const std::string& name)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        if (schedule->Name() == name)
        {
            return schedule;
        }
    }
    return nullptr;
}

const std::vector<const PipelineSchedule*>&
PipelineSchedules()
{
    return TheRegistry().sorted;
}

std::string
PipelineScheduleNames()
{
    std::string names;
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        names += (names.empty() ? "" : ", ") + schedule->Name();
    }
    return names;
}

void
RegisterPipeline(std::unique_ptr<PipelineSchedule> schedule)
{
    if (FindPipelineSchedule(schedule->Name()) != nullptr)
    {
        throw std::logic_error("two pipeline schedules are called " + schedule->Name());
    }
    Registry& registry = TheRegistry();
    const auto place = std::lower_bound(
        registry.sorted.begin(),
        registry.sorted.end(),
        schedule->Name(),
        [](const PipelineSchedule* one, const std::string& name) { return one->Name() < name; });
    registry.sorted.insert(place, schedule.get());
    registry.owned.push_back(std::move(schedule));
}

std::vector<PipelineAction>
OneForwardOneBackward(const std::vector<uint32_t>& mine, uint32_t warmup)
{
    std::vector<PipelineAction> order;
    order.reserve(2 * mine.size());
    size_t forward = 0;
    for (; forward < std::min<size_t>(warmup, mine.size()); ++forward)
    {
        order.push_back({PipelineAction::Kind::kForward, mine[forward], 0});
    }
    for (const uint32_t microBatch : mine)
    {
        order.push_back({PipelineAction::Kind::kBackward, microBatch, 0});
        if (forward < mine.size())
        {
            order.push_back({PipelineAction::Kind::kForward, mine[forward++], 0});
        }
    }
    return order;
}

} // namespace training
