/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/layout-space.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/layout-search/step-estimate.h"
#include "scenarios/layout-search/unequal-stages.h"
#include "scenarios/startup/parse.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/stage-speeds.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace planner
{

namespace
{

// The space: assumed, see the header.
constexpr uint32_t kLeastTokens = 2048;
constexpr uint32_t kMostVirtualStages = 8;
constexpr uint32_t kMostMicroBatch = 32;

using training::TrainingOptions;

using scenario::asked::Cluster;
using scenario::asked::Degrees;
using scenario::asked::Training;

/// Whether nobody has said how blocks become pieces.
bool
IsCutOpen(const scenario::Values& values)
{
    return !values.Given(&Training::partition) && !values.Given(&Training::pipelineLayout) &&
           !values.Given(kCountsEmbedding) && !values.Given(kCountsLoss);
}

std::vector<uint32_t>
DivisorsOf(uint64_t number, uint64_t most)
{
    std::vector<uint32_t> divisors;
    for (uint64_t d = 1; d <= std::min(number, most); ++d)
    {
        if (number % d == 0)
        {
            divisors.push_back(static_cast<uint32_t>(d));
        }
    }
    return divisors;
}

/// Goes through the space, one dimension inside another.
class Walker
{
  public:
    Walker(const Space& space,
           SpaceCount* count = nullptr,
           const planner::Visit& visit = {},
           const std::function<bool()>& look = {})
        : m_space(space),
          m_count(count),
          m_visit(visit),
          m_look(look),
          m_gpus(space.cluster.cluster.servers * space.cluster.cluster.server.gpus),
          m_shape(space.cluster.options)
    {
    }

    void Go(const SpacePart& part)
    {
        Inside(part.settings, part.stages, part.tensor, part.replicas);
    }

    std::vector<SpacePart> Parts() const
    {
        std::vector<SpacePart> parts;
        const auto& values = m_space.read.values;
        const auto fixed = [&](scenario::Member degree) -> uint64_t {
            return values.Given(degree) ? std::max<uint64_t>(1, values.At(degree).integer) : 1;
        };
        const uint64_t domain = m_space.cluster.cluster.server.gpus;
        for (const auto& tp : Tried(&Degrees::tp, DivisorsOf(m_gpus, domain)))
        {
            const uint64_t t = tp ? *tp : fixed(&Degrees::tp);
            for (const auto& pp :
                 Tried(&Degrees::pp, DivisorsOf(m_gpus / std::gcd<uint64_t>(m_gpus, t), Blocks())))
            {
                const uint64_t p = t * (pp ? *pp : fixed(&Degrees::pp));
                for (const auto& cp :
                     Tried(&Degrees::cp,
                           DivisorsOf(m_gpus / std::gcd<uint64_t>(m_gpus, p), MostContext())))
                {
                    const uint64_t c = p * (cp ? *cp : fixed(&Degrees::cp));
                    Settings settings;
                    AddTo(&settings, &Degrees::tp, tp);
                    AddTo(&settings, &Degrees::pp, pp);
                    AddTo(&settings, &Degrees::cp, cp);
                    const uint64_t data = std::max<uint64_t>(1, m_gpus / c);
                    const uint64_t context = c / p;
                    const uint64_t stages = p / t;
                    parts.push_back({std::move(settings), stages, t, context * data});
                }
            }
        }
        return parts;
    }

  private:
    template <class S, class T, class V>
    static void AddTo(Settings* settings, T S::*option, const std::optional<V>& value)
    {
        if (value)
        {
            settings->push_back(To(option, *value));
        }
    }

    template <class S, class T, class V>
    static Setting To(T S::*option, const V& value)
    {
        if constexpr (std::is_same_v<typename scenario::Held<T>::Type, scenario::NumberOrWord>)
        {
            return {option, scenario::NumberOrWord{value, ""}};
        }
        else
        {
            return {option, value};
        }
    }

    bool IsOpen(scenario::Member option) const
    {
        const auto& search = m_space.search;
        return std::find(search.begin(), search.end(), scenario::OptionOf(option)) != search.end();
    }

    /// The values of a dimension; nothing alone: as it is given, or dltrain's default.
    template <class V>
    std::vector<std::optional<V>> Tried(scenario::Member option, const std::vector<V>& all) const
    {
        if (!IsOpen(option) || all.empty())
        {
            return {std::nullopt};
        }
        return {all.begin(), all.end()};
    }

    /// What stages share out evenly.
    uint64_t Blocks() const
    {
        const auto& values = m_space.read.values;
        const uint64_t around =
            (values.Get(kCountsEmbedding) ? 1 : 0) + (values.Get(kCountsLoss) ? 1 : 0);
        return std::max<uint64_t>(1, training::StageBlocksOf(m_shape.model) + around);
    }

    uint64_t MostContext() const
    {
        return std::max(1U, m_shape.Sequence() / kLeastTokens);
    }

    uint64_t Experts() const
    {
        const auto routing = training::RoutingOf(m_shape.model);
        return routing ? routing->experts : 1;
    }

    scenario::ReadResult With(const Settings& settings) const
    {
        Layout layout;
        layout.settings = settings;
        return WithLayout(m_space.read, layout);
    }

    /// Experts' groups are counted over all ranks of a stage, if etp is not tp.
    void Inside(const Settings& outer, uint64_t stages, uint64_t tensor, uint64_t replicas)
    {
        Experts(outer, stages, replicas, replicas);
        if (IsOpen(&Degrees::etp) && tensor > 1 && Experts() > 1)
        {
            Settings settings = outer;
            settings.push_back(To(&Degrees::etp, 1U));
            Experts(settings, stages, replicas, replicas * tensor);
        }
    }

    /// Virtual stages of so many stages. Where all stages can have as many blocks, so have all
    /// pieces.
    std::vector<uint32_t> VirtualStages(uint64_t stages) const
    {
        const uint64_t most = Blocks() + (m_isCutOpen ? 2 : 0); // with embedding and loss
        if (stages == 1 || Blocks() % stages == 0)
        {
            return stages == 1 ? std::vector<uint32_t>{1}
                               : DivisorsOf(Blocks() / stages, kMostVirtualStages);
        }
        std::vector<uint32_t> numbers = {1};
        for (uint32_t v = 2; v <= kMostVirtualStages && v * stages <= most; ++v)
        {
            numbers.push_back(v);
        }
        return numbers;
    }

    /// Virtual stages, and how blocks that no cut shares out evenly become pieces: as they are, and
    /// with the embedding and the loss as a block each.
    std::vector<Settings> Cuts(uint64_t stages) const
    {
        const auto& values = m_space.read.values;
        const uint64_t blocks = training::StageBlocksOf(m_shape.model);
        std::vector<Settings> cuts;
        for (const auto& vs : Tried(&Training::virtualStages, VirtualStages(stages)))
        {
            Settings settings;
            AddTo(&settings, &Training::virtualStages, vs);
            const uint64_t pieces =
                stages * (vs ? *vs : std::max<uint64_t>(1, values.Get(&Training::virtualStages)));
            const bool isOpen = m_isCutOpen && stages > 1 && blocks % pieces != 0;
            if (!isOpen || pieces <= blocks)
            {
                cuts.push_back(settings);
            }
            for (const Settings& more :
                 isOpen ? CountedCuts(blocks, pieces) : std::vector<Settings>())
            {
                cuts.push_back(settings);
                cuts.back().insert(cuts.back().end(), more.begin(), more.end());
            }
        }
        return cuts;
    }

    /// The cuts of blocks with what stands around them that differ from the one without.
    static std::vector<Settings> CountedCuts(uint64_t blocks, uint64_t pieces)
    {
        const Setting loss(kCountsLoss, true);
        std::vector<Settings> cuts;
        if ((blocks + 1) % pieces == 0)
        {
            cuts.push_back({loss});
        }
        const uint64_t left = (blocks + 2) % pieces;
        if (left == 0)
        {
            cuts.push_back({Setting(kCountsEmbedding, true), loss});
        }
        else if (left > 1 && blocks + 2 > pieces) // of one the first piece has it, as without
        {
            std::vector<uint32_t> of(pieces, static_cast<uint32_t>((blocks + 2) / pieces));
            std::for_each(of.begin() + 1, of.begin() + left, [](uint32_t& piece) { ++piece; });
            --of.back();
            cuts.push_back({Setting(&Training::pipelineLayout, training::BlocksText(of))});
        }
        return cuts;
    }

    /// \param shared ranks that may share the experts
    void Experts(const Settings& outer, uint64_t stages, uint64_t replicas, uint64_t shared)
    {
        const std::vector<uint32_t> zero = replicas == 1 ? std::vector<uint32_t>{0}
                                           : stages > 1  ? std::vector<uint32_t>{1, 0}
                                                         : std::vector<uint32_t>{1, 0, 2, 3};
        for (const auto& ep : Tried(&Degrees::ep, DivisorsOf(std::gcd(shared, Experts()), 1 << 20)))
        {
            for (const Settings& cut : Cuts(stages))
            {
                uint64_t fit = 1;
                uint64_t seen = 0;
                for (const auto& z : Tried(&Training::zero, zero))
                {
                    if (z == 0U && fit == 0)
                    {
                        m_count->seen += seen; // it takes more memory than ZeRO 1
                        m_count->tooLarge += seen;
                        continue;
                    }
                    const uint64_t before = m_count->seen;
                    const uint64_t large = m_count->tooLarge;
                    Settings settings = outer;
                    AddTo(&settings, &Degrees::ep, ep);
                    settings.insert(settings.end(), cut.begin(), cut.end());
                    AddTo(&settings, &Training::zero, z);
                    Shape(settings);
                    seen = m_count->seen - before;
                    fit = seen - (m_count->tooLarge - large);
                    if (m_ended)
                    {
                        return;
                    }
                }
            }
        }
    }

    /// All layouts with these groups of GPUs.
    void Shape(const Settings& settings)
    {
        if (!m_look())
        {
            m_ended = true;
            return;
        }
        const bool openBatch = IsOpen(&Training::microBatch);
        Settings with = settings;
        if (openBatch)
        {
            with.push_back(To(&Training::microBatch, 1U));
        }
        if (m_bySpeed)
        {
            with.emplace_back(&Training::partition, "balanced"); // until the stages are sized
        }
        // Options that need sequence parallelism are refused without it.
        Settings shared = with;
        if (IsOpen(&Training::sequenceParallel))
        {
            shared.emplace_back(&Training::sequenceParallel, true);
        }
        auto read = scenario::ValidateLayout(With(shared), m_space.cluster);
        if (!read.options && shared.size() > with.size())
        {
            read = scenario::ValidateLayout(With(with), m_space.cluster);
        }
        if (!read.options)
        {
            ++m_count->seen;
            Refuse(read.errors.front(), m_count);
            return;
        }
        TrainingOptions o = *read.options;
        const uint64_t share = uint64_t{o.accumulation} * o.microBatch;
        const std::vector<uint32_t> micro =
            openBatch ? DivisorsOf(share, kMostMicroBatch) : std::vector<uint32_t>{o.microBatch};
        const bool sequences = o.tensor > 1 && o.model.hasSequence;
        using Flags = std::vector<bool>;
        using training::Recompute;
        const auto fused =
            Tried(&Training::fusedAttention, o.model.transformer ? Flags{true, false} : Flags{});
        const auto parted =
            Tried(&Training::sequenceParallel, sequences ? Flags{true, false} : Flags{false});
        const std::vector<Recompute> ways = {Recompute::kNone,
                                             Recompute::kSelective,
                                             Recompute::kFull};
        for (const auto& again : Tried(&Training::recompute, ways))
        {
            // Each takes at least the memory of those before it that differ in fewer of the two.
            std::vector<std::vector<bool>> fits(fused.size(),
                                                std::vector<bool>(parted.size(), true));
            for (std::size_t f = 0; f < fused.size(); ++f)
            {
                for (std::size_t s = 0; s < parted.size(); ++s)
                {
                    Settings inner = settings;
                    AddTo(&inner, &Training::fusedAttention, fused[f]);
                    if (again)
                    {
                        inner.emplace_back(&Training::recompute, training::RecomputeName(*again));
                    }
                    AddTo(&inner, &Training::sequenceParallel, parted[s]);
                    o.fusedAttention = fused[f].value_or(o.fusedAttention);
                    o.recompute = again.value_or(o.recompute);
                    o.sequenceParallel = parted[s].value_or(o.sequenceParallel);
                    const bool idle =
                        o.fusedAttention && !o.sharding.parameters &&
                        again == Recompute::kSelective; // training-options.cc, kKeptScores
                    if (idle)
                    {
                        continue;
                    }
                    if ((f > 0 && !fits[f - 1][s]) || (s > 0 && !fits[f][s - 1]))
                    {
                        fits[f][s] = false;
                        m_count->seen += micro.size();
                        m_count->tooLarge += micro.size();
                        continue;
                    }
                    fits[f][s] = Batches(inner, o, micro, share, openBatch);
                }
            }
        }
    }

    /// \return whether the first one fits, or is refused
    bool Batches(const Settings& settings,
                 TrainingOptions& o,
                 const std::vector<uint32_t>& micro,
                 uint64_t share,
                 bool open)
    {
        for (std::size_t i = 0; i < micro.size(); ++i)
        {
            Settings all = settings;
            if (open)
            {
                all.push_back(To(&Training::microBatch, micro[i]));
                o.microBatch = micro[i];
                o.accumulation = static_cast<uint32_t>(share / micro[i]);
                o = training::Partitioned(std::move(o));
            }
            if (m_bySpeed)
            {
                unequal::SizeStages(&all, &o);
            }
            ++m_count->seen;
            // All other rules are asked when the layout has an estimate.
            bool refused = false;
            training::CheckParallel(o, [&](scenario::Member field, const std::string& why) {
                if (!std::exchange(refused, true))
                {
                    Refuse({scenario::Spell(field), "", why, ""}, m_count);
                }
            });
            if (refused)
            {
                continue;
            }
            Layout layout = LayoutOf(o, all, m_space.job);
            if (m_space.margin)
            {
                layout.reserve =
                    static_cast<uint64_t>(*m_space.margin * static_cast<double>(layout.fullest));
            }
            if (!o.kinds.empty())
            {
                layout.settings.emplace_back(scenario::Member(&Cluster::serverKinds),
                                             unequal::WordsOfKinds(m_space.cluster.cluster));
                layout.stages = unequal::StagesText(o);
            }
            else if (std::any_of(all.begin(), all.end(), IsCut))
            {
                layout.stages = unequal::PiecesText(o);
            }
            const uint64_t need = layout.memory + layout.reserve;
            if (need > RoomOn(layout.fullest))
            {
                // Memory never falls as the micro-batch grows.
                m_count->seen += micro.size() - i - 1;
                m_count->tooLarge += micro.size() - i;
                if (need < m_count->leastMemory)
                {
                    m_count->leastMemory = need;
                    m_count->least = layout;
                }
                return i > 0;
            }
            Visit(std::move(layout), o);
        }
        return true;
    }

    /// Memory and bound are the same for all orders of the ranks.
    void Visit(Layout layout, const TrainingOptions& o)
    {
        if (IsOpen(&Training::rankOrder) && o.pipeline > 1 && o.Replicas() > 1)
        {
            Layout other = layout;
            other.settings.emplace_back(&Training::rankOrder, kPipelineFirst);
            TrainingOptions ordered = o;
            ordered.rankOrder = *training::ParseDimensionOrder(kPipelineFirst);
            ++m_count->seen;
            m_visit(std::move(other), ordered);
        }
        m_visit(std::move(layout), o);
    }

    /// The bytes that a layout may take on a GPU with so many.
    uint64_t RoomOn(uint64_t bytes) const
    {
        return m_space.room.value_or(bytes);
    }

    const Space& m_space;
    SpaceCount* const m_count;
    const planner::Visit m_visit;
    const std::function<bool()> m_look;
    uint32_t m_gpus;
    const TrainingOptions& m_shape; ///< for the model
    const bool m_bySpeed = unequal::AreStagesOpen(m_space.read.values);
    const bool m_isCutOpen = !m_bySpeed && IsCutOpen(m_space.read.values);
    bool m_ended = false;
};

} // namespace

void
Refuse(const scenario::Error& error, SpaceCount* count)
{
    const std::string option = error.where.substr(0, error.where.find('='));
    ++count->refused[option];
    count->words.emplace(option, error.Text());
}

std::string
SpaceCount::CommonRefusal() const
{
    const auto most =
        std::max_element(refused.begin(), refused.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    return most == refused.end() ? "" : words.at(most->first);
}

void
Add(const SpaceCount& its, SpaceCount* to)
{
    to->seen += its.seen;
    to->tooLarge += its.tooLarge;
    for (const auto& [option, count] : its.refused)
    {
        to->refused[option] += count;
    }
    to->words.insert(its.words.begin(), its.words.end());
    if (its.leastMemory < to->leastMemory)
    {
        to->leastMemory = its.leastMemory;
        to->least = its.least;
    }
}

std::vector<SpacePart>
PartsOf(const Space& space)
{
    return Walker(space).Parts();
}

void
VisitLayouts(const Space& space,
             const SpacePart& part,
             SpaceCount* count,
             const Visit& visit,
             const std::function<bool()>& look)
{
    Walker(space, count, visit, look).Go(part);
}

scenario::ReadResult
WithLayout(const scenario::ReadResult& read, const Layout& layout)
{
    scenario::ReadResult with = read;
    for (const Setting& one : layout.settings)
    {
        one.ApplyTo(&with);
    }
    return with;
}

std::optional<scenario::Error>
WhyNotRun(const scenario::ReadResult& read, const Layout& layout)
{
    scenario::ReadResult with = WithLayout(read, layout);
    const uint32_t few = std::min(layout.accumulation, FewerMicroBatches(layout.pipeline).less);
    const uint64_t samples = uint64_t{layout.data} * layout.microBatch * few;
    scenario::SetOption(&Training::microBatch, std::to_string(layout.microBatch), &with);
    scenario::SetOption(&Training::globalBatch, std::to_string(samples), &with);
    const auto result = scenario::CheckValues<scenario::TrainingScenario>(with);
    return result.errors.empty() ? std::nullopt : std::optional(result.errors.front());
}

} // namespace planner
