/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rail-aligned all-to-all with forwarding inside servers: NCCL's PXN (NVIDIA developer blog,
 * "Doubling all2all Performance with NVIDIA Collective Communication Library 2.12", 2022). What
 * goes to GPU g of other servers goes first to the GPU of the own server that is beside the NIC of
 * g's rail, which sends what all GPUs of the server have for one receiver in one message.
 *
 *     server 0     0 --.      .-- 1        blocks of 0 and 1 for 3 meet at 1 (NVLink),
 *                  |    `----'    |        those for 2 at 0
 *     rail         0              1
 *                  |              |
 *     server 1     2              3        one message of g blocks to each, never across rails
 *
 * With g GPUs on each of k servers and as many NICs: of its n - g blocks for other servers a rank
 * passes on all but those of its own rail, (g-1)/g of them, so inside servers (g-1) S / n k =
 * (g-1)/g S, and out of each rank (k-1)/k S in k-1 messages of g blocks, where direct has
 * (k-1) g messages of one: 2 alpha + (k-1)/k S beta with overhead of g - 1 + (g-1)(k-1) + k - 1
 * posts. As many bytes out of a server as direct, the least there are.
 *
 * A lane is a rail, or one of some channels of it, and a rail is as many lanes on all ranks.
 * Servers may be uneven: in one without that GPU another at the same NIC forwards, and if there is
 * none (assumed) the GPU at place g mod its number. Copies within a rank: its own blocks into the
 * messages it forwards; and what it receives, where the ranks of a server are not numbered in a
 * row, or channels cut blocks, so that their places in the result lie apart.
 */
#include "collectives/core/cost.h"
#include "collectives/core/packed-pieces.h"
#include "collectives/core/placement.h"
#include "collectives/schedules/placed-algorithm.h"
#include "collectives/schedules/pxn-layout.h"

#include <algorithm>

namespace coll
{

namespace
{

/// Channels of each rail.
uint32_t
ChannelsPerRail(const PxnLayout& layout, const AlgorithmOptions& options)
{
    return options.channels == 0 ? 1 : options.channels / layout.Rails();
}

/// Whether the blocks of a server stand together in a receiver's result.
bool
IsInARow(const std::vector<Rank>& members)
{
    for (size_t i = 1; i < members.size(); i++)
    {
        if (members[i] != members[0] + i)
        {
            return false;
        }
    }
    return true;
}

class Pxn final : public Schedule
{
  public:
    Pxn(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
        : Schedule(what),
          m_layout(placement),
          m_pieces(what.bytes, what.ranks)
    {
        const uint32_t channels = ChannelsPerRail(m_layout, options);
        const uint32_t servers = m_layout.Servers();
        for (uint32_t channel = 0; channel < channels; channel++)
        {
            Part part{{what.bytes, what.ranks, channels, channel}, 0, 0, {}, {}, {0}};
            part.longest = part.pieces.Longest();
            part.ofBlock = MessagesFor(part.longest, options.pipelineBytes);
            for (uint32_t server = 0; server < servers; server++)
            {
                const auto& members = m_layout.Members(server);
                const uint64_t all = members.size() * part.longest;
                const bool together = members.size() == 1 || (channels == 1 && IsInARow(members));
                part.ofServer.push_back(MessagesFor(all, options.pipelineBytes));
                part.together.push_back(together);
                part.steps.push_back(part.steps.back() + part.ofServer.back() +
                                     (together ? 0 : members.size()));
            }
            m_parts.push_back(std::move(part));
        }
        m_ranksBefore.push_back(0);
        for (uint32_t server = 0; server < servers; server++)
        {
            m_ranksBefore.push_back(m_ranksBefore.back() + m_layout.Members(server).size());
        }
        MakeAreas();
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_layout.Rails() * m_parts.size();
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_layout.Nic(lane % m_layout.Rails());
    }

    uint64_t ScratchBytes(Rank rank) const override
    {
        return m_areas[static_cast<size_t>(Lanes(0)) * m_what.ranks + rank];
    }

    uint64_t PartsOfMessage() const override
    {
        // Sends of a lane go out together: the blocks inside, then a message a server.
        return uint64_t{Lanes(0)} * std::max(m_what.ranks - 1, 1U) * m_parts[0].ofBlock;
    }

    StepIndex Steps(Rank rank, Lane lane) const override
    {
        const uint32_t rail = lane % m_layout.Rails();
        const Part& part = m_parts[lane / m_layout.Rails()];
        const uint32_t server = m_layout.ServerOf(rank);
        StepIndex steps = 0;
        for (const uint32_t gpu : m_layout.GpusOf(rail))
        {
            steps += StepsOut(part, rank, gpu) + StepsForwarding(part, rank, gpu);
        }
        if (m_layout.RailOf(m_layout.GpuOf(rank)) == rail)
        {
            steps += part.steps.back() - (part.steps[server + 1] - part.steps[server]);
        }
        return steps;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const uint32_t rail = lane % m_layout.Rails();
        const Part& part = m_parts[lane / m_layout.Rails()];
        for (const uint32_t gpu : m_layout.GpusOf(rail))
        {
            const StepIndex steps = StepsOut(part, rank, gpu);
            if (k < steps)
            {
                return Out(part, lane, rank, gpu, k);
            }
            k -= steps;
        }
        for (const uint32_t gpu : m_layout.GpusOf(rail))
        {
            const StepIndex steps = StepsForwarding(part, rank, gpu);
            if (k < steps)
            {
                return Forward(part, lane, rank, gpu, k);
            }
            k -= steps;
        }
        return In(part, lane, rank, k);
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options);

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        InSeries series;
        series.answered = true;
        return SecondsOf(CostOf(what, placement, options), link, series);
    }

  private:
    /// A channel's part of each piece.
    struct Part
    {
        LaneOfPieces pieces;
        uint64_t longest;
        uint32_t ofBlock;               ///< messages of a block
        std::vector<uint32_t> ofServer; ///< messages of all its members' blocks for a receiver
        std::vector<bool> together;     ///< which come to their places at once
        std::vector<uint64_t> steps;    ///< receiving from the servers before
    };

    /// Steps for own blocks to ranks at this GPU: one to the rank in the server, and one to the
    /// forwarder.
    StepIndex StepsOut(const Part& part, Rank rank, uint32_t gpu) const
    {
        const auto ranks = static_cast<uint32_t>(m_layout.RanksAt(gpu).size());
        return (ranks - (m_layout.GpuOf(rank) == gpu ? 1 : 0)) * part.ofBlock;
    }

    /// Steps for other ranks' blocks in the server to ranks at this GPU.
    StepIndex StepsForwarding(const Part& part, Rank rank, uint32_t gpu) const
    {
        const uint32_t server = m_layout.ServerOf(rank);
        const auto others = static_cast<uint32_t>(m_layout.Members(server).size() - 1);
        StepIndex steps = 0;
        if (m_layout.Forwarder(gpu, server) == rank)
        {
            steps += m_layout.RemoteRanksAt(gpu, server) *
                     (others * part.ofBlock + part.ofServer[server]);
        }
        if (m_layout.GpuOf(rank) == gpu)
        {
            steps += others * part.ofBlock;
        }
        return steps;
    }

    Step Out(const Part& part, Lane lane, Rank rank, uint32_t gpu, StepIndex k) const
    {
        const uint32_t server = m_layout.ServerOf(rank);
        const uint32_t which = k / part.ofBlock;
        const uint32_t i = k - which * part.ofBlock;
        const Rank to = m_layout.RankAt(gpu, server, which);
        const Range block = part.pieces.Of(to);
        const Range range = MessagePart(block.offset, block.bytes, part.ofBlock, i);
        const Rank by = m_layout.ServerOf(to) == server ? to : m_layout.Forwarder(gpu, server);
        if (by == rank)
        {
            const Range place = MessagePart(Staged(part, lane, rank, gpu, which, rank),
                                            block.bytes,
                                            part.ofBlock,
                                            i);
            return MoveBytes(range.offset, place.offset, range.bytes);
        }
        Step step;
        step.sendPeer = by;
        step.sendOffset = range.offset;
        step.sendBytes = range.bytes;
        return step;
    }

    Step Forward(const Part& part, Lane lane, Rank rank, uint32_t gpu, StepIndex k) const
    {
        const uint32_t server = m_layout.ServerOf(rank);
        const auto& members = m_layout.Members(server);
        const auto others = static_cast<uint32_t>(members.size() - 1);
        const uint32_t remote =
            m_layout.Forwarder(gpu, server) == rank ? m_layout.RemoteRanksAt(gpu, server) : 0;
        const uint32_t each = others * part.ofBlock + part.ofServer[server];
        const uint32_t which = std::min(remote, k / each);
        k -= which * each;
        Step step;
        if (which < remote && k >= others * part.ofBlock)
        {
            const Rank to = m_layout.RankAt(gpu, server, which);
            const Range range = MessagePart(Staged(part, lane, rank, gpu, which, members[0]),
                                            members.size() * part.pieces.Within(to).bytes,
                                            part.ofServer[server],
                                            k - others * part.ofBlock);
            step.sendPeer = to;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
            step.fromResult = true;
            return step;
        }
        const uint32_t other = k / part.ofBlock;
        const Rank from = members[other + (other >= m_layout.PlaceOf(rank) ? 1 : 0)];
        const Rank to = which < remote ? m_layout.RankAt(gpu, server, which) : rank;
        const uint64_t place =
            which < remote ? Staged(part, lane, rank, gpu, which, from) : Result(part, rank, from);
        const Range range = MessagePart(place,
                                        part.pieces.Within(to).bytes,
                                        part.ofBlock,
                                        k - other * part.ofBlock);
        step.recvPeer = from;
        step.recvOffset = range.offset;
        step.recvBytes = range.bytes;
        return step;
    }

    /// From other servers, the one before this first: its message sets out first.
    Step In(const Part& part, Lane lane, Rank rank, StepIndex k) const
    {
        const uint32_t here = m_layout.ServerOf(rank);
        const auto& steps = part.steps;
        const uint64_t back =
            k < steps[here] ? steps[here] - 1 - k : steps.back() - 1 - (k - steps[here]);
        const auto server = static_cast<uint32_t>(
            std::upper_bound(steps.begin(), steps.end(), back) - steps.begin() - 1);
        const auto& members = m_layout.Members(server);
        const auto i = static_cast<uint32_t>(steps[server + 1] - 1 - back);
        const uint64_t bytes = part.pieces.Within(rank).bytes;
        const uint64_t apart =
            Area(lane, rank, true) + m_ranksBefore[server] * part.longest; // if it has to be
        if (i < part.ofServer[server])
        {
            const uint64_t place = part.together[server] ? Result(part, rank, members[0]) : apart;
            const Range range =
                MessagePart(place, members.size() * bytes, part.ofServer[server], i);
            Step step;
            step.recvPeer = m_layout.Forwarder(m_layout.GpuOf(rank), server);
            step.recvOffset = range.offset;
            step.recvBytes = range.bytes;
            return step;
        }
        const uint32_t place = i - part.ofServer[server];
        Step step = MoveBytes(apart + place * bytes, Result(part, rank, members[place]), bytes);
        step.fromResult = true;
        return step;
    }

    /// Where the block of a rank stands in the result.
    uint64_t Result(const Part& part, Rank rank, Rank from) const
    {
        return from * m_pieces.Part(rank).bytes + part.pieces.Within(rank).offset;
    }

    /// Where the block of a rank stands in a message that `rank` forwards: to the which-th remote
    /// rank at this GPU.
    uint64_t Staged(const Part& part, Lane lane, Rank rank, uint32_t gpu, uint64_t which, Rank from)
        const
    {
        const uint32_t server = m_layout.ServerOf(rank);
        const Rank to = m_layout.RankAt(gpu, server, which);
        for (const uint32_t before : m_layout.GpusOf(lane % m_layout.Rails()))
        {
            if (before == gpu)
            {
                break;
            }
            which += m_layout.Forwarder(before, server) == rank
                         ? m_layout.RemoteRanksAt(before, server)
                         : 0;
        }
        return Area(lane, rank, false) + which * m_layout.Members(server).size() * part.longest +
               m_layout.PlaceOf(from) * part.pieces.Within(to).bytes;
    }

    /// The scratch of a lane, after the result: first the data that it forwards, then the data that
    /// must be put in their places.
    uint64_t Area(Lane lane, Rank rank, bool received) const
    {
        const uint64_t result = m_what.ranks * m_pieces.Part(rank).bytes;
        const size_t i = static_cast<size_t>(lane) * m_what.ranks + rank;
        return result + m_areas[i] + (received ? m_forwarded[i] : 0);
    }

    void MakeAreas()
    {
        const uint32_t n = m_what.ranks;
        std::vector<uint64_t> begin(n, 0);
        for (Lane lane = 0; lane < Lanes(0); lane++)
        {
            const uint32_t rail = lane % m_layout.Rails();
            const Part& part = m_parts[lane / m_layout.Rails()];
            const bool apart =
                std::find(part.together.begin(), part.together.end(), false) != part.together.end();
            for (Rank rank = 0; rank < n; rank++)
            {
                const uint32_t server = m_layout.ServerOf(rank);
                uint64_t remote = 0;
                for (const uint32_t gpu : m_layout.GpusOf(rail))
                {
                    remote += m_layout.Forwarder(gpu, server) == rank
                                  ? m_layout.RemoteRanksAt(gpu, server)
                                  : 0;
                }
                m_areas.push_back(begin[rank]);
                m_forwarded.push_back(remote * m_layout.Members(server).size() * part.longest);
                begin[rank] += m_forwarded.back();
                if (apart && m_layout.RailOf(m_layout.GpuOf(rank)) == rail)
                {
                    begin[rank] += n * part.longest;
                }
            }
        }
        m_areas.insert(m_areas.end(), begin.begin(), begin.end());
    }

    PxnLayout m_layout;
    Partition m_pieces;
    std::vector<Part> m_parts;           ///< by channel of a rail
    std::vector<uint64_t> m_ranksBefore; ///< by server
    std::vector<uint64_t> m_areas;       ///< by lane and rank: where its scratch begins; the sizes
    std::vector<uint64_t> m_forwarded;   ///< by lane and rank: bytes of scratch for forwarding
};

Cost
Pxn::CostOf(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    Cost cost;
    const uint64_t n = what.ranks;
    if (n <= 1)
    {
        return cost;
    }
    const PxnLayout layout(placement);
    const uint32_t channels = ChannelsPerRail(layout, options);
    const Partition pieces(what.bytes, what.ranks);
    // Bytes of a block for each of the ranks at a GPU; and for each rank of a server.
    std::vector<uint64_t> at(GpusPerServer(placement), 0);
    for (Rank rank = 0; rank < n; rank++)
    {
        at[layout.GpuOf(rank)] += pieces.Part(rank).bytes;
    }
    cost.chain = 1;
    cost.chainOutside = 1;
    for (uint32_t server = 0; server < layout.Servers(); server++)
    {
        const auto& members = layout.Members(server);
        std::vector<uint64_t> blocks(members.size(), 0); // forwarded, of one sender
        std::vector<uint64_t> bytes(members.size(), 0);
        std::vector<uint64_t> own(at.size(), 0);
        uint64_t inside = 0;
        for (const Rank rank : members)
        {
            own[layout.GpuOf(rank)] = pieces.Part(rank).bytes;
            inside += pieces.Part(rank).bytes;
        }
        for (uint32_t gpu = 0; gpu < at.size(); gpu++)
        {
            if (!layout.RanksAt(gpu).empty())
            {
                const uint32_t place = layout.PlaceOf(layout.Forwarder(gpu, server));
                blocks[place] += layout.RemoteRanksAt(gpu, server);
                bytes[place] += at[gpu] - own[gpu];
            }
        }
        if (layout.Servers() > 1 && members.size() > 1)
        {
            cost.chain = 2;
        }
        cost.outOfServer =
            std::max(cost.outOfServer, static_cast<double>(members.size() * (what.bytes - inside)));
        cost.intoServer =
            std::max(cost.intoServer, static_cast<double>((n - members.size()) * inside));
        for (uint32_t place = 0; place < members.size(); place++)
        {
            const uint64_t piece = pieces.Part(members[place]).bytes;
            const uint64_t sent = what.bytes - piece - bytes[place] + members.size() * bytes[place];
            uint64_t posts = 0;
            uint64_t receives = 0;
            for (uint32_t channel = 0; channel < channels; channel++)
            {
                const uint64_t longest =
                    LaneOfPieces(what.bytes, what.ranks, channels, channel).Longest();
                posts +=
                    (n - 1 - blocks[place]) * MessagesFor(longest, options.pipelineBytes) +
                    blocks[place] * MessagesFor(members.size() * longest, options.pipelineBytes);
                // From its own server: blocks for itself and blocks to forward. From each other
                // server: all its ranks' blocks in one message.
                receives += (members.size() - 1) * (1 + blocks[place]) *
                            MessagesFor(longest, options.pipelineBytes);
                for (uint32_t other = 0; other < layout.Servers(); other++)
                {
                    receives += other == server
                                    ? 0
                                    : MessagesFor(layout.Members(other).size() * longest,
                                                  options.pipelineBytes);
                }
            }
            uint64_t unpacked = 0;
            for (uint32_t other = 0; other < layout.Servers(); other++)
            {
                const auto& senders = layout.Members(other);
                const bool together = senders.size() == 1 || (channels == 1 && IsInARow(senders));
                unpacked += other == server || together ? 0 : senders.size() * piece;
            }
            cost.posts = std::max(cost.posts, posts);
            cost.receives = std::max(cost.receives, receives);
            cost.totalBytes += sent;
            cost.sentPerRank = std::max(cost.sentPerRank, static_cast<double>(sent));
            cost.copiedPerRank =
                std::max(cost.copiedPerRank, static_cast<double>(bytes[place] + unpacked));
        }
    }
    cost.serialBytes = cost.sentPerRank;
    return cost;
}

class PxnAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
        if (!why.empty() || options.channels == 0)
        {
            return why;
        }
        const uint32_t rails = PxnLayout(placement).Rails();
        if (options.channels % rails == 0)
        {
            return {};
        }
        return std::to_string(options.channels) + " channels over " + std::to_string(rails) +
               " rails; every rail needs as many";
    }
};

const Registered<PlacedAlgorithm<Pxn, PxnAlgorithm>> g_pxnAllToAll{
    "pxn",
    Op::kAllToAll,
    "first to the GPU at the receiver's rail, then one message from all GPUs of the server",
    AlgorithmFacts{"2 alpha + (k-1)/k S beta out of a GPU, (g-1)/g S inside",
                   "NCCL 2.12's PXN",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
