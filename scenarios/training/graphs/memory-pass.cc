/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/memory-pass.h"

#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>
#include <cmath>

namespace training
{

namespace
{

constexpr uint8_t kSharedDense = 0;
constexpr uint8_t kSharedExperts = 1;

class MemoryPass
{
  public:
    MemoryPass(const TrainingOptions& options, const RankWork& work, std::vector<Transfer> given)
        : m_options(options),
          m_place(options.memory),
          m_work(work),
          m_out(std::move(given))
    {
    }

    std::vector<Transfer> Run()
    {
        DropGathered();
        if (m_place.Has(Placed::kGradients))
        {
            StoreGradients();
        }
        FindUses();
        for (std::size_t i = 0; i < m_uses.size(); ++i)
        {
            LoadFor(i);
        }
        AroundOptimizer();
        return std::move(m_out);
    }

  private:
    /// A layer's forward or backward.
    struct Use
    {
        Position first;
        Position last;
        uint32_t layer;
        uint32_t microBatch;
        bool backward;
        uint32_t stored; ///< of backward: the transfer that stored its activations
    };

    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t Add(Transfer t)
    {
        m_out.push_back(std::move(t));
        return static_cast<uint32_t>(m_out.size() - 1);
    }

    Transfer Access(Placed what,
                    bool stores,
                    uint64_t bytes,
                    uint8_t shared,
                    const std::string& of) const
    {
        Transfer t;
        t.task.kind = TaskKind::kHost;
        t.task.phase = what == Placed::kGradients ? Phase::kGradient : Phase::kParameter;
        t.task.stream = stores ? kStoreStream : kLoadStream;
        t.task.tier = m_place.Of(what);
        t.task.stores = stores;
        t.task.shared = m_place.Gathers(what) ? shared : kNotShared;
        t.task.bytes = bytes;
        t.task.duration = m_place.tiers[t.task.tier].TimeOf(bytes);
        t.task.name = std::string(stores ? "store " : "load ") +
                      kPlacedNames[static_cast<std::size_t>(what)] + (of.empty() ? "" : " " + of);
        t.inLine = true;
        return t;
    }

    static bool IsStream(const Transfer& t, Stream dense, Stream experts)
    {
        return t.task.stream == dense || t.task.stream == experts;
    }

    /// What the tier's switch does in their place.
    void DropGathered()
    {
        const bool gradients = m_place.Gathers(Placed::kGradients);
        const bool dense = m_place.Gathers(Placed::kParameters);
        const bool experts = m_place.Gathers(Placed::kExperts);
        std::vector<uint32_t> at(m_out.size(), kNone);
        std::vector<Transfer> kept;
        for (uint32_t i = 0; i < m_out.size(); ++i)
        {
            const Transfer& t = m_out[i];
            const bool dropped =
                (gradients && IsStream(t, kGradientStream, kExpertGradientStream)) ||
                (dense && t.task.stream == kParameterStream) ||
                (experts && t.task.stream == kExpertParameterStream);
            if (!dropped)
            {
                at[i] = static_cast<uint32_t>(kept.size());
                kept.push_back(t);
            }
        }
        for (Transfer& t : kept)
        {
            std::vector<uint32_t> behind;
            for (const uint32_t other : t.behind)
            {
                if (at[other] != kNone)
                {
                    behind.push_back(at[other]);
                }
            }
            t.behind = std::move(behind);
        }
        m_out = std::move(kept);
    }

    std::string NameOf(uint32_t layer, uint32_t microBatch) const
    {
        return m_work.layers[layer].name + OfMicroBatch(m_options, microBatch);
    }

    uint32_t MicroBatches() const
    {
        return m_work.layers.empty()
                   ? 0
                   : static_cast<uint32_t>(m_work.forwards.size() / m_work.layers.size());
    }

    void StoreGradients()
    {
        const double element = m_options.GradientBytes();
        const std::size_t given = m_out.size();
        bool reduced = false;
        for (std::size_t i = 0; i < given; ++i)
        {
            if (!IsStream(m_out[i], kGradientStream, kExpertGradientStream))
            {
                continue;
            }
            reduced = true;
            const bool expert = m_out[i].task.stream == kExpertGradientStream;
            const uint32_t ranks =
                m_options.sharding.gradients
                    ? (expert ? m_options.ExpertReplicas() : m_options.Replicas())
                    : 1;
            const std::string& name = m_out[i].task.name;
            Transfer store = Access(Placed::kGradients,
                                    true,
                                    m_out[i].task.bytes / ranks,
                                    kNotShared,
                                    name.substr(name.find(' ') + 1));
            store.made = m_out[i].made;
            store.begin = m_out[i].begin;
            store.behind = {static_cast<uint32_t>(i)};
            store.users = m_out[i].users;
            m_gradients[expert] += store.task.bytes;
            m_stored.push_back(Add(std::move(store)));
        }
        if (reduced)
        {
            return;
        }
        // No collective has them: one replica, or they are added up at the tier.
        const uint32_t from = m_options.sharding.gradients ? 0 : MicroBatches() - 1;
        for (uint32_t m = from; m < MicroBatches(); ++m)
        {
            for (auto l = static_cast<uint32_t>(m_work.layers.size()); l-- > 0;)
            {
                const RankLayer& layer = m_work.layers[l];
                for (const bool expert : {false, true})
                {
                    const uint64_t elements = expert ? layer.expertParameters : layer.parameters;
                    if (elements == 0)
                    {
                        continue;
                    }
                    Transfer store =
                        Access(Placed::kGradients,
                               true,
                               static_cast<uint64_t>(element * static_cast<double>(elements)),
                               expert ? kSharedExperts : kSharedDense,
                               (expert ? "experts " : "") + NameOf(l, m));
                    store.made = store.begin = m_work.Gradient(m, l);
                    store.users = {m_work.FirstOptimizer()};
                    m_gradients[expert] += m == from ? store.task.bytes : 0;
                    m_stored.push_back(Add(std::move(store)));
                }
            }
        }
    }

    void FindUses()
    {
        const bool keeps = m_place.Has(Placed::kActivations);
        for (uint32_t m = 0; m < MicroBatches(); ++m)
        {
            for (uint32_t l = 0; l < m_work.layers.size(); ++l)
            {
                const Span& forward = m_work.Forward(m, l);
                const Span& backward = m_work.Backward(m, l);
                uint32_t stored = kNone;
                if (forward.first != kStart && keeps && ActivationBytes(l) > 0)
                {
                    Transfer store = Access(Placed::kActivations,
                                            true,
                                            ActivationBytes(l),
                                            kNotShared,
                                            NameOf(l, m));
                    store.made = store.begin = forward.last;
                    stored = Add(std::move(store));
                }
                if (forward.first != kStart)
                {
                    m_uses.push_back({forward.first, forward.last, l, m, false, kNone});
                }
                if (backward.first != kStart)
                {
                    const Position pass = std::min(backward.first, m_work.Pass(m, l));
                    m_uses.push_back({pass, backward.last, l, m, true, stored});
                }
            }
        }
        std::stable_sort(m_uses.begin(), m_uses.end(), [](const Use& a, const Use& b) {
            return a.first < b.first;
        });
    }

    uint64_t ActivationBytes(uint32_t l) const
    {
        const RankLayer& layer = m_work.layers[l];
        const double bytes = layer.recomputed && layer.checkpointBytes < layer.keptBytes
                                 ? layer.checkpointBytes
                                 : layer.keptBytes;
        return static_cast<uint64_t>(bytes * DtypeBytes(m_options.dtype) / 2);
    }

    /// A rank's part of parameters that are not whole on each.
    uint64_t PartOf(uint64_t elements, bool expert) const
    {
        const uint32_t ranks = m_options.sharding.parameters
                                   ? (expert ? m_options.ExpertSharers() : m_options.Sharers())
                                   : 1;
        return (elements + ranks - 1) / ranks;
    }

    void LoadFor(std::size_t number)
    {
        const Use& use = m_uses[number];
        const RankLayer& layer = m_work.layers[use.layer];
        const std::string of =
            (use.backward ? "backward " : "forward ") + NameOf(use.layer, use.microBatch);
        // What the use before has loaded is there still.
        const bool there = number > 0 && m_uses[number - 1].layer == use.layer;
        for (const bool expert : {false, true})
        {
            const Placed what = expert ? Placed::kExperts : Placed::kParameters;
            const uint64_t elements = expert ? layer.expertParameters : layer.parameters;
            if (m_place.Has(what) && elements > 0 && !there)
            {
                Load(number,
                     Access(what,
                            false,
                            PartOf(elements, expert) * DtypeBytes(m_options.dtype),
                            expert ? kSharedExperts : kSharedDense,
                            of));
            }
        }
        if (use.stored != kNone)
        {
            Transfer t =
                Access(Placed::kActivations, false, ActivationBytes(use.layer), kNotShared, of);
            t.behind = {use.stored};
            Load(number, std::move(t));
        }
    }

    void Load(std::size_t number, Transfer t)
    {
        const Use& use = m_uses[number];
        t.users = {use.first};
        Position after = kStart;
        if (number > m_place.prefetch)
        {
            after = m_uses[number - m_place.prefetch - 1].last;
        }
        for (const uint32_t other : t.behind) // stored first
        {
            const Position made = m_out[other].begin;
            after = after == kStart ? made : std::max(after, made);
        }
        if (after == kStart)
        {
            t.ahead = 0;
        }
        else
        {
            // Never behind what waits for it, where computations are shuffled.
            t.made = t.begin = std::min(after, use.first == 0 ? 0 : use.first - 1);
        }
        Add(std::move(t));
    }

    uint64_t Elements(bool expert) const
    {
        uint64_t sum = 0;
        for (const RankLayer& layer : m_work.layers)
        {
            sum += expert ? layer.expertParameters : layer.parameters;
        }
        return sum;
    }

    /// What the optimizer of a rank updates.
    uint64_t Updated(bool expert) const
    {
        const uint32_t ranks = m_options.sharding.optimizer
                                   ? (expert ? m_options.ExpertSharers() : m_options.Sharers())
                                   : 1;
        return (Elements(expert) + ranks - 1) / ranks;
    }

    uint64_t GradientsToUpdate(bool expert) const
    {
        const uint64_t whole = Elements(expert);
        const bool parts = m_options.sharding.gradients && !m_place.Gathers(Placed::kGradients);
        const double share =
            parts || whole == 0 ? 1
                                : static_cast<double>(Updated(expert)) / static_cast<double>(whole);
        return static_cast<uint64_t>(static_cast<double>(m_gradients[expert]) * share);
    }

    uint64_t StatesToUpdate(bool expert) const
    {
        const double state =
            OptimizerStateBytes(m_options.optimizer, m_options.dtype, m_options.masterWeights);
        return static_cast<uint64_t>(state * static_cast<double>(Updated(expert)));
    }

    /// What an optimizer loads in one piece.
    struct OfOptimizer
    {
        uint64_t bytes;
        uint8_t shared;
        bool experts;
    };

    /// One piece; two, where ranks load the same ones together: those of experts are of other
    /// ranks.
    std::vector<OfOptimizer> Parts(Placed what, uint64_t (MemoryPass::*bytes)(bool) const) const
    {
        std::vector<OfOptimizer> parts;
        if (!m_place.Has(what))
        {
            return parts;
        }
        const uint64_t dense = (this->*bytes)(false);
        const uint64_t experts = (this->*bytes)(true);
        if (m_place.Gathers(what) && !m_options.sharding.optimizer)
        {
            parts = {{dense, kSharedDense, false}, {experts, kSharedExperts, true}};
        }
        else
        {
            parts = {{dense + experts, kNotShared, false}};
        }
        parts.erase(std::remove_if(parts.begin(),
                                   parts.end(),
                                   [](const OfOptimizer& part) { return part.bytes == 0; }),
                    parts.end());
        return parts;
    }

    void AroundOptimizer()
    {
        const Position first = m_work.FirstOptimizer();
        const Position last = m_work.Optimizer();
        const auto before = [&](Transfer t) {
            t.users = {first};
            t.made = t.begin = first == 0 ? 0 : first - 1;
            Add(std::move(t));
        };
        const auto behind = [&](Transfer t) {
            t.made = t.begin = last;
            Add(std::move(t));
        };
        for (const OfOptimizer& part : Parts(Placed::kGradients, &MemoryPass::GradientsToUpdate))
        {
            Transfer t = Access(Placed::kGradients,
                                false,
                                part.bytes,
                                part.shared,
                                part.experts ? "experts for the optimizer" : "for the optimizer");
            t.behind = m_stored;
            before(std::move(t));
        }
        for (const OfOptimizer& part : Parts(Placed::kOptimizer, &MemoryPass::StatesToUpdate))
        {
            const std::string of = part.experts ? "states of experts" : "states";
            before(Access(Placed::kOptimizer, false, part.bytes, part.shared, of));
            behind(Access(Placed::kOptimizer, true, part.bytes, part.shared, of));
        }
        for (const bool expert : {false, true})
        {
            const Placed what = expert ? Placed::kExperts : Placed::kParameters;
            if (m_place.Has(what) && Updated(expert) > 0)
            {
                behind(Access(what,
                              true,
                              Updated(expert) * DtypeBytes(m_options.dtype),
                              m_options.sharding.optimizer ? kNotShared
                              : expert                     ? kSharedExperts
                                                           : kSharedDense,
                              "updated"));
            }
        }
    }

    const TrainingOptions& m_options;
    const MemoryPlace& m_place;
    const RankWork& m_work;
    std::vector<Transfer> m_out;
    std::vector<Use> m_uses;        ///< in the order of computing
    std::vector<uint32_t> m_stored; ///< transfers that store gradients
    uint64_t m_gradients[2] = {};   ///< bytes of a step in the tier: dense, of experts
};

SharedData
SharedIn(const TrainingOptions& o, GroupOf kind)
{
    SharedData shared;
    shared.groupOf.assign(o.ranks, 0);
    for (const auto& group : GroupsOf(o.GetLayout(), kind))
    {
        for (const coll::Rank rank : group)
        {
            shared.groupOf[rank] = static_cast<uint32_t>(shared.sizes.size());
        }
        shared.sizes.push_back(static_cast<uint32_t>(group.size()));
    }
    return shared;
}

} // namespace

std::vector<Transfer>
WithMemory(const TrainingOptions& o, const RankWork& work, std::vector<Transfer> transfers)
{
    return o.memory.Any() ? MemoryPass(o, work, std::move(transfers)).Run() : std::move(transfers);
}

std::vector<SharedData>
SharedOf(const TrainingOptions& o)
{
    return {SharedIn(o, GroupOf::kGradient),
            SharedIn(o, o.expert > 1 ? GroupOf::kExpertGradient : GroupOf::kGradient)};
}

TierUse
UseOfTier(const TrainingOptions& o, uint8_t tier)
{
    const MemoryEstimate memory = EstimateMemory(o);
    TierUse use;
    double most = 0;
    for (std::size_t i = 0; i < kPlaced; ++i)
    {
        const auto what = static_cast<Placed>(i);
        if (o.memory.Of(what) != tier)
        {
            continue;
        }
        // What is sharded is in parts already, which make one copy together.
        const bool parts = (what == Placed::kOptimizer && o.sharding.optimizer) ||
                           (what == Placed::kGradients && o.sharding.gradients) ||
                           what == Placed::kActivations;
        const uint32_t sharers = parts || !o.memory.Gathers(what) ? 1
                                 : what == Placed::kExperts       ? o.ExpertReplicas()
                                                                  : o.Replicas();
        const double bytes = static_cast<double>(memory.placed[i]) / sharers;
        use.bytes += bytes;
        if (bytes > most)
        {
            most = bytes;
            use.most = kPlacedNames[i];
        }
    }
    return use;
}

} // namespace training
