/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A collective's schedule as data: the sends, receives, reductions and copies of each rank, in
 * order.
 *
 * Shape. A schedule has, for every rank, a number of *lanes*. A lane is what NCCL runs in one
 * thread block: a list of steps done strictly in order. A step is a primitive in NCCL's sense:
 * first (optionally) one receive, plain or reducing, then (optionally) one send of what the buffer
 * holds now. Sends are asynchronous (the lane goes on as soon as the send is posted), receives
 * block the lane. Lanes of one rank are independent of each other. The DAG of the collective is
 * therefore: lane order, plus the message edges. Message matching: the k-th send of (rank a, lane
 * l) to rank b is the k-th receive of (rank b, lane l) from rank a. Sender and receiver use the
 * same lane number, and lanes are also how an algorithm spreads over NCCL's channels:
 * `Channel(lane)` says which.
 *
 * Units: offsets and lengths are bytes into the rank's buffer of `Collective::bytes` octets (see
 * below). Steps are computed, not stored: At(rank, lane, k) is pure arithmetic, O(1) time and
 * memory, or O(log n).
 *
 * Scratch. Some algorithms pack separate blocks into one message, or keep data that they pass on
 * (Bruck, PXN). For them a rank's buffer is followed by ScratchBytes(rank) more octets. These hold
 * nothing at first, and nothing is promised of their final content. A step may also be *local*: it
 * moves or adds up bytes within the rank and is no message. Local steps take no time in the
 * simulation (Cost::copiedPerRank and CheckReport::bytesCopied count their bytes).
 *
 *     all-reduce ...   buffer  [ bytes ......... | scratch ]   received into, sent from
 *     all-to-all       input   [ bytes ......... ]             sent from, unless Step::fromResult
 *                      result  [ n blocks ...... | scratch ]   received into
 *
 * In the network. Switches may add up the data of ranks, and copy data to many ranks (NVSwitch,
 * SHARP). Such a *network node* takes part as a rank does, numbered from `Collective::ranks` on. It
 * has lanes, steps, and a buffer of `Collective::bytes` octets that holds nothing at first and
 * promises nothing. The first contribution is received plainly, others are added. A switch must
 * have room for the bytes in use at once: StateBytes.
 */
#ifndef COLLECTIVES_CORE_SCHEDULE_H
#define COLLECTIVES_CORE_SCHEDULE_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coll
{

using Rank = uint32_t;
using Lane = uint16_t;
using StepIndex = uint32_t;

constexpr Rank kNoRank = UINT32_MAX;

enum class Op : uint8_t
{
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kBroadcast,
    kReduce,
    kGather,
    kScatter,
    kAllToAll,
    kAllToAllV,
    kSendRecv,
    kBarrier,
};

/// All-to-all, with equal blocks or not.
inline bool
IsAllToAll(Op op)
{
    return op == Op::kAllToAll || op == Op::kAllToAllV;
}

/// Whether ranks receive into a buffer of its own, and send the data they began with. All other
/// operations have one buffer for both.
inline bool
HasSecondBuffer(Op op)
{
    return IsAllToAll(op) || op == Op::kSendRecv;
}

/// One rank is the only one that has the data at first, or in the end: Collective::root.
inline bool
HasRoot(Op op)
{
    return op == Op::kBroadcast || op == Op::kReduce || op == Op::kGather || op == Op::kScatter;
}

/// The vector is made of a piece for each rank.
inline bool
HasPieces(Op op)
{
    return op == Op::kReduceScatter || op == Op::kAllGather || op == Op::kGather ||
           op == Op::kScatter || IsAllToAll(op);
}

/// Contributions are added up.
inline bool
Reduces(Op op)
{
    return op == Op::kAllReduce || op == Op::kReduceScatter || op == Op::kReduce;
}

class BlockSizes;

/**
 * A collective to be scheduled. `bytes` is the size of the whole vector S as nccl-tests counts it
 * for busbw: all-reduce, broadcast and reduce: the buffer of every rank; reduce-scatter: the input
 * of a rank (n pieces, rank r ends with piece r); all-gather: the output of a rank (n pieces);
 * gather and scatter: the root's n pieces, piece r from or for rank r; all-to-all: the input of a
 * rank (n pieces, piece j goes to rank j); sendrecv: the input of a rank, which goes to the next
 * rank; barrier: 0. Piece r of S bytes over n ranks is [floor(r S / n), floor((r+1) S / n)).
 *
 * All-to-all receives into a second buffer: n blocks as long as the own piece, block i from rank i;
 * its own block is a local copy and no step. All-to-all-v is all-to-all with a size of its own for
 * each pair of ranks; S is the largest input of a rank. Sendrecv receives into a second buffer of S
 * bytes; a single rank copies to itself.
 *
 * In reduce, gather and scatter every rank has a buffer of S bytes. Only the part that the
 * operation promises (checker.h) has a defined final content; the rest is room to work in.
 */
struct Collective
{
    Op op = Op::kAllReduce;
    uint64_t bytes = 0;
    Rank ranks = 1;
    Rank root = 0; ///< HasRoot()
    /// All-to-all-v (block-sizes.h); null: equal blocks, as all-to-all.
    std::shared_ptr<const BlockSizes> blocks = nullptr;
};

/// No rank has all that it waits for before each other one has sent.
inline bool
NeedsAll(const Collective& what)
{
    const bool all = what.op == Op::kAllReduce || what.op == Op::kAllGather ||
                     what.op == Op::kReduceScatter || what.op == Op::kAllToAll;
    return all && what.bytes >= what.ranks; // each piece has some
}

/// Whether two ask for the same.
bool operator==(const Collective& a, const Collective& b);

struct Step
{
    Rank recvPeer = kNoRank; ///< kNoRank: no receive
    Rank sendPeer = kNoRank; ///< kNoRank: no send
    bool reduce = false;     ///< the receive adds to the buffer instead of overwriting it
    uint64_t recvOffset = 0;
    uint64_t recvBytes = 0; ///< may be 0: the message is then a bare signal, still sent and matched
    uint64_t sendOffset = 0;
    uint64_t sendBytes = 0;
    /// No message, both peers kNoRank: the sent range goes into the received range, which is as
    /// long, of the same rank.
    bool local = false;
    /// HasSecondBuffer: the send reads the result (or the scratch after it), not the input.
    bool fromResult = false;
};

/// A switch that adds up and copies.
struct NetworkNode
{
    enum Kind : uint8_t
    {
        kServerSwitch, ///< `where`: server, as in Placement::serverOf
        kServerCopier, ///< the same switch, where it copies beside adding up
        kFabricSwitch, ///< `where`: as in AggregationTree::nodes
    };

    Kind kind = kServerSwitch;
    uint32_t where = 0;
};

/**
 * A tree of switches between servers that add up (SHARP), for one NIC of every server. A station is
 * one of its switches. Users of the tree leave out stations with a single child.
 */
struct AggregationTree
{
    static constexpr uint32_t kNone = UINT32_MAX;

    std::vector<uint32_t> nodes;  ///< by station: what NetworkNode::where will say
    std::vector<uint32_t> parent; ///< by station: a station; kNone: the root
    /// By server, as in Placement::serverOf: the station its NIC sends to; kNone: none.
    std::vector<uint32_t> stationOf;
};

/// A dimension of a grid of cables (topologies/dimensions.h).
struct GridDimension
{
    enum Kind : uint8_t
    {
        kRing,
        kLine,
        kFull,  ///< each is linked to all others of its row
        kSwitch ///< each is linked to the switch of its row
    };

    Kind kind = kRing;
    double rate = 0;    ///< bytes/s of a link
    double latency = 0; ///< s, of a link
};

/**
 * Where ranks live, as far as algorithms need to know: rank r is GPU `gpuOf[r]` of server
 * `serverOf[r]`. `nicsPerServer` bounds how many channels enter a server in parallel.
 */
struct Placement
{
    std::vector<uint32_t> serverOf;
    std::vector<uint32_t> gpuOf;
    uint32_t nicsPerServer = 1;
    /// GPUs of a server of the machine, even when the group has only some of them. 0: the largest
    /// gpuOf plus one.
    uint32_t gpusPerServer = 0;
    /// Groups of servers, nested, the innermost level first: groupOf[l][r] is the group (rack, pod,
    /// ...) of rank r. Empty: servers are all there is.
    std::vector<std::vector<uint32_t>> groupOf = {};
    /// Where switches stand on a grid of cables (torus, HyperX): at[r][d] is the coordinate, in
    /// dimension d, of the switch behind rank r's first NIC. In the last dimension switches are
    /// closest to each other in the order of servers. Empty: the network is no grid.
    std::vector<std::vector<uint32_t>> at = {};
    /// How the rows of each of these dimensions are linked, in the same order. Empty: the network
    /// does not tell.
    std::vector<GridDimension> along = {};
    /// The switches inside servers add up and copy.
    bool serverSwitchAdds = false;
    /// By NIC of a server; empty: no switch between servers adds up.
    std::vector<AggregationTree> aggregation = {};
    /// Bytes that a switch between servers has room for, of one tree; 0: as many as it takes.
    uint64_t aggregationBytes = 0;
};

/// In which order chunks go through the dimensions of a network (dimension-plan.h).
enum class DimensionOrder : uint8_t
{
    kAscending,
    kRoundRobin,
    kThemis,
};

/// Which of the chunks that wait for a dimension goes first (dimension-plan.h).
enum class WaitOrder : uint8_t
{
    kFifo,
    kShortest,
    kFewestLeft,
};

/// Knobs an algorithm may read; unknown to most.
struct AlgorithmOptions
{
    uint32_t channels = 0; ///< 0: the algorithm's own choice (one per NIC for rings)
    uint64_t pipelineBytes =
        0;              ///< largest message of a pipelined algorithm; 0: the algorithm's own choice
    uint32_t radix = 0; ///< radix of k-nomial trees; 0: the algorithm's own choice
    /// Hierarchical: each level's algorithm, the innermost first; empty: its own choice, rings.
    std::vector<std::string> levels = {};
    /// Torus: ranks along each dimension, the last the closest, as --torus counts switches
    /// ("4x4x8"); empty: its own choice.
    std::vector<uint32_t> dimensions = {};
    /// By dimension: chunks of S; 0: the algorithm's own choice.
    uint32_t splits = 0;
    /// By dimension: nothing: the algorithm's own choice.
    std::optional<DimensionOrder> order = {};
    /// By dimension, likewise.
    WaitOrder phases = WaitOrder::kFifo;
    /// By dimension: how each goes (RowAlgorithmNames), the nearest first; empty: as it is linked.
    std::vector<std::string> rows = {};
    /// Parameter server: how many of the ranks are servers; 0: one, the root.
    uint32_t parameterServers = 0;
    /// Bounds of the channels that an algorithm takes by itself; 0: none.
    uint32_t minChannels = 0;
    uint32_t maxChannels = 0;
};

/// Channels, where an algorithm takes `own` by itself.
inline uint32_t
ChannelsOr(uint32_t own, const AlgorithmOptions& options)
{
    if (options.channels != 0)
    {
        return options.channels;
    }
    const uint32_t least = std::max(own, options.minChannels);
    return options.maxChannels != 0 ? std::min(least, options.maxChannels) : least;
}

class Schedule
{
  public:
    virtual ~Schedule() = default;

    const Collective& What() const
    {
        return m_what;
    }

    virtual Lane Lanes(Rank rank) const = 0;
    virtual StepIndex Steps(Rank rank, Lane lane) const = 0;
    /// Step k of a lane; k < Steps(rank, lane).
    virtual Step At(Rank rank, Lane lane, StepIndex k) const = 0;
    /// NCCL channel of a lane: the NIC used on a server with several is channel mod NICs. Same on
    /// all ranks.
    virtual uint32_t Channel(Lane lane) const = 0;

    /// Octets behind the rank's buffer (all-to-all: behind its result) that steps may use.
    virtual uint64_t ScratchBytes(Rank /* rank */) const
    {
        return 0;
    }

    /// Some step receives into bytes whose earlier send may still be in flight. So the send's data
    /// must be copied out before the lane goes on, as NCCL does through its buffers. False: NICs
    /// may read late (CheckReport::zeroCopySafe).
    virtual bool CopiesOut() const
    {
        return false;
    }

    /// Those that take part besides ranks; the i-th is addressed as rank What().ranks + i.
    const std::vector<NetworkNode>& NetworkNodes() const
    {
        return m_networkNodes;
    }

    /// Ranks and network nodes.
    Rank Members() const
    {
        return m_what.ranks + static_cast<Rank>(m_networkNodes.size());
    }

    /// The most bytes that a network node holds at once, in all its lanes. Numbered as a rank.
    virtual uint64_t StateBytes(Rank /* node */) const
    {
        return 0;
    }

    /// Every lane only passes data on. All its steps but the first and the last get a message from
    /// one peer and send the same bytes to another, always the same two. The first step only sends,
    /// the last only receives. The data sent in step k are received in the next peer's step k + 1.
    virtual bool PassesOn() const
    {
        return false;
    }

    /// Messages that share a GPU's port as parts of one: of all channels and loops, and to all
    /// receivers that are sent to at once. What protocol suits them depends on all their bytes.
    virtual uint64_t PartsOfMessage() const
    {
        return 1;
    }

  protected:
    explicit Schedule(const Collective& what)
        : m_what(what)
    {
    }

    Collective m_what;
    std::vector<NetworkNode> m_networkNodes;
};

/**
 * What a schedule costs by formula (see cost.h for the alpha-beta time). Tests compare it with what
 * the checker counts.
 */
struct Cost
{
    uint64_t chain =
        0; ///< longest chain of messages that wait for one another: latencies in series
    /// Messages of that chain that go between servers, where there are several; the default stands
    /// for all.
    uint64_t chainOutside = UINT64_MAX;
    uint64_t posts = 0;        ///< messages the busiest rank sends
    uint64_t receives = 0;     ///< messages the busiest rank gets, where that is more than `posts`
    double serialBytes = 0;    ///< bytes serialized one after the other on the critical path
    double sentPerRank = 0;    ///< bytes the busiest rank sends
    double reducedPerRank = 0; ///< bytes the busiest rank adds up; not what switches do
    double outOfServer = 0;    ///< bytes the busiest server sends to others and switches between
    double intoServer = 0;    ///< bytes the busiest one gets, where that is more than `outOfServer`
    uint64_t totalBytes = 0;  ///< sent by all ranks and network nodes; exact
    double copiedPerRank = 0; ///< bytes the busiest rank moves within itself, by local steps
};

/// The work that an algorithm does in switches.
struct InNetwork
{
    bool serverSwitch = false;   ///< NVSwitch: Placement::serverSwitchAdds
    bool fabricSwitches = false; ///< Placement::aggregation
};

/// A member of AlgorithmOptions.
enum class Knob : uint8_t
{
    kChannels,
    kPipeline,
    kRadix,
    kLevels,
    kDimensions,
    kSplits,
    kOrder,
    kPhases,
    kRows,
    kParameterServers,
};

/// Facts for help and documentation about an algorithm of an operation, besides its description.
struct AlgorithmFacts
{
    /// By the formula of cost.h, for people: "(n-1) alpha + (n-1)/n S beta" with n ranks on k
    /// servers of g GPUs.
    std::string time;
    std::string source; ///< "Patarasuk & Yuan, JPDC 2009"
    /// The options that its schedules depend on. It ignores the other members of AlgorithmOptions;
    /// setting them has no effect.
    std::vector<Knob> reads = {};
};

/**
 * Makes schedules. One object per algorithm, self-registered by name (see registry.h).
 */
class Algorithm
{
  public:
    virtual ~Algorithm() = default;
    virtual std::string Name() const = 0;        ///< "ring"
    virtual std::string Description() const = 0; ///< one line for --help
    virtual bool Supports(Op op) const = 0;
    virtual const AlgorithmFacts& Facts() const = 0;

    bool Reads(Knob knob) const
    {
        const auto& reads = Facts().reads;
        return std::find(reads.begin(), reads.end(), knob) != reads.end();
    }

    virtual InNetwork Uses() const
    {
        return {};
    }

    /// Why this algorithm cannot do that, in a sentence for the user; empty: it can. Never falls
    /// back to another one.
    virtual std::string WhyNot(const Collective& /* what */,
                               const Placement& /* placement */,
                               const AlgorithmOptions& /* options */) const
    {
        return {};
    }

    /// The formula, where the algorithm has one. Precondition: as Make.
    virtual std::optional<Cost> CostOf(const Collective& /* what */,
                                       const Placement& /* placement */,
                                       const AlgorithmOptions& /* options */) const
    {
        return std::nullopt;
    }

    /// Precondition: Supports(what.op), placement has what.ranks entries and WhyNot(...) is empty;
    /// else throws std::invalid_argument. The schedule must not refer to the placement later: it
    /// copies what it needs.
    virtual std::unique_ptr<Schedule> Make(const Collective& what,
                                           const Placement& placement,
                                           const AlgorithmOptions& options) const = 0;
};

} // namespace coll

#endif // COLLECTIVES_CORE_SCHEDULE_H
