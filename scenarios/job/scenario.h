/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run is, after validation: only these structures can be simulated. They are made by
 * Validate() (validate.h) from a JSON document and the command line; every field is resolved (no "0
 * means default" is left, except where it says so).
 */
#ifndef SCENARIOS_JOB_SCENARIO_H
#define SCENARIOS_JOB_SCENARIO_H

#include "collectives/core/block-weights.h"
#include "collectives/core/schedule.h"
#include "collectives/schedules/dimension-times.h"
#include "collectives/tuner/tuner.h"
#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/formats/trace/trace.h"
#include "scenarios/job/connections.h"
#include "scenarios/job/ets.h"
#include "scenarios/job/fault-plan.h"
#include "scenarios/job/flow-tag.h"
#include "scenarios/job/launch-spec.h"
#include "scenarios/job/load-balancing.h"
#include "scenarios/job/mpi-host.h"
#include "scenarios/job/placed-setting.h"
#include "scenarios/job/protocol.h"
#include "scenarios/job/reference.h"
#include "scenarios/job/study.h"
#include "scenarios/job/traffic-class.h"
#include "scenarios/job/transport-spec.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/server.h"
#include "topologies/topology.h"

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coll
{
class Aggregators;
}

namespace training
{
class ServedPlan;
}

namespace sharding
{
struct Sharding;
}

namespace topo
{
struct ScaleUpFrames;
}

namespace scenario
{

/// How captures are written, and of which flows.
struct CaptureOptions
{
    bool pcapng = false;
    uint32_t snapLength = 0;        ///< bytes of a frame; 0: all
    uint64_t fileBytes = 0;         ///< most of one file; 0: no limit
    uint32_t files = 0;             ///< ring of files; 0: stop at fileBytes
    std::vector<std::string> flows; ///< "server-1->server-0", "pfc", "credits"; empty: everything
};

/// The ports of watch.csv.
struct WatchSpec
{
    std::vector<uint32_t> ends; ///< 2 x link + (0: the link's `a` sends, 1: `b`), ascending
    rdma::Duration interval;
};

/// The processes that simulate one network together: processes.h.
struct Processes
{
    uint32_t count = 1;
    std::string by;                  ///< "--mpi-ranks=2", "mpirun -np 2"; empty: a single process
    std::vector<MpiHost> hosts = {}; ///< that have them; none: this machine, or not known
    bool hostsApart = false;         ///< each has hosts; else the first one has all
    uint32_t busyHosts = 0;          ///< number of hosts that simulate something
    /// Attribution is off because of the processes; a single process would have it.
    bool noAttribution = false;

    bool Several() const
    {
        return count > 1;
    }
};

struct Background;
struct JobSet;
struct PlacesAsRun;
struct RecoverySpec;

/// Common to all programs.
struct RunOptions
{
    std::string out; ///< output folder, already created and known to be writable (not with dryRun)
    std::vector<std::string> made;   ///< folders that were created for `out`, the outermost first
    std::vector<std::string> inputs; ///< files and folders that options name
    uint64_t seed = 1;
    bool dryRun = false;
    std::string childrenOn = "local"; ///< where runs go that a run starts, or "slurm"
    std::string slurmOptions;         ///< words for srun
    bool progress = true;
    std::string engine = "windows"; ///< name of the event loop: EngineItems
    uint32_t threads = 0; ///< threads of the event loop; 0: as many as there are idle cores
    Processes processes;
    bool attribution = true;       ///< attribute the time of messages to causes
    bool report = true;            ///< report.html at the end
    bool timeline = true;          ///< timeline.json at the end
    std::vector<std::string> pcap; ///< names: "all", a host, "switch:port", or "a-b" links
    CaptureOptions capture;        ///< options of the captures in `pcap`
    FaultPlan faults;
    std::shared_ptr<const PlacesAsRun> places;    ///< null: no place has anything of its own
    std::shared_ptr<const RecoverySpec> recovery; ///< null: no recovery and no checkpoints
    /// Attributes that options set (Option::Sets), and their values. Later entries win.
    std::vector<std::pair<std::string, std::string>> optionAttributes;
    std::vector<std::pair<std::string, std::string>>
        environment;                          ///< as `attributes`, before them: ns3-environment.h
    std::vector<std::string> traceQueuePairs; ///< patterns of --trace-qps
    std::vector<std::string> tracePaths;      ///< patterns of --trace-paths
    WatchSpec watch;                          ///< ports of --watch
    rdma::Duration linkInterval;              ///< of links.csv; 0: its own, which may double
    std::shared_ptr<const Background> background; ///< flows beside a job; null: none
    ProtocolSpec protocol; ///< protocol of traffic's flows, and of the flows beside a job
    std::vector<std::string>
        ns3Arguments;     ///< "--ns3::RdmaNic::..=..", "--PrintAttributes=..": handed to ns-3
    nlohmann::json asRun; ///< the whole configuration as run, for stats.json
    std::vector<std::pair<std::string, std::string>>
        attributes; ///< ("ns3::RdmaSwitch::PipelineLatency", "300ns") from the JSON's "ns3" object
};

/// The settings of an InfiniBand fabric (--fabric=ib).
struct IbSpec
{
    std::string switchName; ///< a name of rdma::IbSwitches
    std::string routing;    ///< engines of the subnet manager, with commas
    std::string lfts;       ///< file of forwarding tables instead; empty: none
    bool dump = false;      ///< write the tables as OpenSM does
    uint8_t lmc = 0;
    uint8_t lanes = 1;         ///< data VLs
    rdma::Bytes laneBuffer;    ///< buffer of each lane at a port
    uint32_t creditBlock = 64; ///< unit of credits, bytes
    rdma::IbLink link;         ///< links of the NICs
    /// A name of rdma::kIbFecNames; empty: the default for the links' rate and width.
    std::string fec;
    std::string high; ///< VL arbitration tables; both empty: all VLs alike
    std::string low;
    uint8_t highLimit = 255;
    uint8_t fecnThreshold = 0; ///< 0: no marks
    bool adaptiveRouting = false;
    bool staticRate = false;
    uint32_t flitBytes = 0; ///< frames of scale-up links; 0: InfiniBand's packets
};

/// NICs, links, switches. Sizes per 100 Gb/s are scaled by each port's rate.
struct FabricSpec
{
    std::string network = "packet"; ///< a name of Networks(): how the network is simulated
    bool recalls = false;           ///< --fidelity=fast: what comes again is not sent
    bool infiniBand = false;        ///< or Ethernet
    IbSpec ib;
    std::string nic; ///< preset name: "100GbE"
    rdma::BitRate nicRate;
    std::string compat = "none"; ///< or "hpcc": what the defaults were
    /// Payload bytes of a packet: 256, 512, 1024, 2048, 4096, or any without extension headers.
    uint32_t mtu = 4096;
    uint32_t ackEvery = 16; ///< packets per ACK; every message's last packet is acknowledged too
    bool pfc = true;
    bool ecn = true;
    std::vector<rdma::SourceHop> paths; ///< of the topology, and of flows that name theirs

    std::string cc = "dcqcn";     ///< congestion control by name
    std::string ccPreset;         ///< preset of `cc`; empty: it has none
    rdma::Duration linkDelay;     ///< used while building the topology
    rdma::Duration switchLatency; ///< pipeline
    rdma::Bytes bufferPer100G;    ///< shared buffer per 100 Gb/s of port rate
    rdma::Bytes ecnKmin;          ///< per 100 Gb/s
    rdma::Bytes ecnKmax;          ///< per 100 Gb/s
    double ecnPmax = 0.2;
    std::string marker;                   ///< by name; empty: by ecnKmin, ecnKmax, ecnPmax
    std::string bufferPolicy = "dynamic"; ///< by name
    bool cutThrough = false;              ///< of Ethernet's switches; InfiniBand's always do
    bool linkCredits = false;             ///< Ethernet: credits (CBFC) in place of PFC
    bool linkRetry = false;               ///< Ethernet: links send bad frames again (LLR)
    uint64_t windowBytes =
        0; ///< 0: unlimited; else largest number of unacknowledged payload bytes of a QP
    uint32_t timeoutExponent =
        14; ///< local ACK timeout 4.096 us * 2^x (InfiniBand Architecture 1, 9.7.6.1.3)
    double bitErrorRate = 0; ///< put on every link while building the topology
    rdma::FrameSizes frames;
    rdma::Duration timeUnit; ///< serialization times are cut to multiples; 0: exact
    uint8_t ackPriority = 8; ///< priority of ACKs and NAKs; 8: that of their queue pair
    LoadBalancingSpec balancing;
    EtsSpec ets;
    std::string queueDisc;                  ///< of ports; empty: their own
    std::string shapers;                    ///< of switches' ports; empty: none
    std::vector<TrafficClass> classes = {}; ///< from class 1 on; class 0 is what stands here
    bool variableWindow = false;            ///< windowBytes is that at line rate
    bool ecnBehind = false;                 ///< marked by the queue without the frame itself
    TransportSpec transport;
    /// Settings of places, the wider ones first: later ones win.
    std::vector<PlacedSetting> places = {};
    bool tierLinks = false; ///< --tier-rate or --tier-delay

    /// Whether a class (0: what stands here) is for queues without PFC.
    bool IsLossy(uint8_t trafficClass) const
    {
        return trafficClass && classes[trafficClass - 1].lossy;
    }
};

enum class PlacementPolicy : uint8_t
{
    kLinear,     ///< logical server i stands at host i
    kPacked,     ///< edge switches are filled one after the other
    kSpread,     ///< edge switches, and pods, in turn
    kRandom,     ///< a seeded shuffle
    kRail,       ///< the smallest group of hosts behind the same switches that has room
    kFragmented, ///< packed into what a seeded occupation leaves
};

/// Servers in a row that are alike, of several kinds.
struct ServerKind
{
    topo::ServerSpec server;
    uint32_t servers = 0;
    rdma::BitRate nicRate; ///< in use: --nic, or the server's
};

/// Servers on a network. Logical server i (ranks i*gpus ..) stands at host hostOfServer[i] of the
/// topology.
struct ClusterSpec
{
    uint32_t servers = 0;
    topo::ServerSpec server;
    topo::Topology topology;
    std::string topologyName; ///< "fat-tree k=4"
    PlacementPolicy placement = PlacementPolicy::kLinear;
    std::vector<uint32_t> hostOfServer;
    /// Aggregation units of switches, part of the topology; null: none.
    std::shared_ptr<const coll::Aggregators> aggregators = nullptr;
    ConnectionSpec connections;
    ChannelClass channelClass = {}; ///< of a job's messages
    uint64_t aggregationBytes = 0;  ///< bytes of one group that a unit has room for
    uint32_t aggregationGroups = 0; ///< groups that a unit serves at once
    /// The kinds of unequal servers (--server-kinds), in the order of logical servers; `server` is
    /// the first one's. Empty: all are as `server`.
    std::vector<ServerKind> kinds = {};
    std::string kindWords = {};             ///< --server-kinds
    std::vector<uint32_t> memoryHosts = {}; ///< hosts of --memory-servers
    /// Messages between the GPUs of a server go in these frames; null: by topo::ScaleUpModel's law.
    std::shared_ptr<const topo::ScaleUpFrames> scaleUpFrames = nullptr;

    /// The kind of a logical server; null: all are alike.
    const ServerKind* KindOf(uint32_t number) const
    {
        for (const ServerKind& kind : kinds)
        {
            if (number < kind.servers)
            {
                return &kind;
            }
            number -= kind.servers;
        }
        return nullptr;
    }

    const topo::ServerSpec& ServerOf(uint32_t number) const
    {
        const ServerKind* kind = KindOf(number);
        return kind ? kind->server : server;
    }
};

/// An explicit choice of an algorithm for sizes from `from` to below `below`.
struct AlgorithmRule
{
    coll::Op op = coll::Op::kAllReduce;
    std::string name;
    uint64_t from = 0;
    uint64_t below = UINT64_MAX;
    bool ofAll = false; ///< it was chosen for all operations

    bool Covers(const coll::Collective& what) const
    {
        return op == what.op && what.bytes >= from && what.bytes < below;
    }
};

/// The choices that a user's NCCL variables leave (nccl-environment.h).
struct NcclLimits
{
    /// The limits on an operation's algorithms and protocols.
    struct Selection
    {
        bool limited = false;                  ///< to `only`
        std::vector<std::string> only;         ///< algorithms of this operation
        std::vector<std::string> except;       ///< algorithms
        std::vector<topo::Protocol> protocols; ///< empty: all
    };

    std::map<coll::Op, Selection> ofOp; ///< operations with limits of their own
    std::vector<std::string> except;    ///< algorithms, for all operations
    uint32_t minChannels = 0;           ///< 0: no bound
    uint32_t maxChannels = 0;           ///< 0: no bound
    std::string text;               ///< "NCCL_ALGO=Ring,NCCL_PROTO=LL"; empty: no variable is set
    std::vector<std::string> notes; ///< one for each variable that has no effect, or is not obeyed
};

class MeasuredChoices;

/// How far recalled times are trusted.
struct RecallOptions
{
    double error = 0.01; ///< --fast-error
    uint32_t checks = 4; ///< --fast-checks
};

struct CollectiveOptions
{
    std::vector<AlgorithmRule> algorithms;  ///< later ones win; for the rest the tuner chooses
    std::optional<topo::Protocol> protocol; ///< nothing: the tuner chooses
    coll::AlgorithmOptions options;
    coll::Machine machine; ///< without a library: nothing takes time but links
    /// The machine of each kind of unequal servers, and the kind of each server. `machine` then
    /// has the least of each. Empty: all are `machine`.
    std::vector<coll::Machine> machines = {};
    std::vector<uint32_t> machineOfServer = {};

    /// The machine of ranks on these servers: their kind's, or the least.
    const coll::Machine& MachineFor(const coll::Placement& placement) const;

    rdma::Duration
        stepLatency; ///< software time added before every send of a schedule; 0 by default
    NcclLimits nccl;
    /// A collective among GPUs of one server takes the tuner's formula from the last entry on,
    /// instead of its messages.
    bool insideByFormula = false;
    bool allByFormula = false;   ///< the same of groups of several servers: --collective-times
    bool insideOneByOne = false; ///< --in-server=one-by-one
    /// Collectives by dimension take the time of these formulas: --network=dims.
    std::optional<coll::DimensionTimes> byDimension = {};
    /// What has run in packets before is recalled: --fidelity=fast.
    std::optional<RecallOptions> recall = {};
    bool ownNics = false;    ///< --peer-nic=own or pxn (rail-options.h)
    bool peersRail = false;  ///< pxn: both ends at the NIC beside the receiving GPU
    uint32_t besideGpu = 1;  ///< NICs beside a GPU, so channels of an exchange with own NICs
    uint32_t rails = 0;      ///< topo::Description::rails
    bool railsApart = false; ///< topo::Description::railsApart

    /// Options for making schedules of an operation. A library sends the data of one GPU for one
    /// other through the NIC beside it, unless channels are asked for.
    coll::AlgorithmOptions OptionsFor(coll::Op op) const;
    /// The same options with the values that ChoiceOf has chosen.
    coll::AlgorithmOptions OptionsFor(coll::Op op, const coll::Choice& choice) const;

    /// --tuner=measured: choices measured before anything runs; null: formulas choose. Copies share
    /// it.
    std::shared_ptr<MeasuredChoices> measured = nullptr;
    std::string measuredFolder; ///< where measurements are kept
};

struct TrainingScenario
{
    RunOptions run;
    FabricSpec fabric;
    ClusterSpec cluster;
    CollectiveOptions collectives;
    training::TrainingPlan plan;
    training::TrainingOptions
        options; ///< What the plan was made from, every field resolved. For estimates and reports.
    std::string workload = "steps"; ///< a name of workload::Kinds
    /// Parameter servers, to which the plan belongs; `workload` is unused then. Null: no parameter
    /// servers (--strategy=sync).
    std::shared_ptr<const training::ServedPlan> served;
    /// The strategies of the operators that the plan was made from (--auto-parallel); null: none.
    std::shared_ptr<const sharding::Sharding> sharded = nullptr;
    bool explainSharding = false; ///< print how they were found
    /// Trace in place of a model. `options` has only the GPU and the datatype then.
    std::optional<formats::TraceName> trace = {};
    /// A script that is to be captured first, in place of a plan (--launch).
    std::optional<LaunchSpec> launch = {};
    /// Result of the capture whose recorded step this is.
    std::optional<CaptureOutcome> capture = {};
    std::vector<std::string> exports = {}; ///< formats the step is written in
    std::string model;                     ///< "bloom-560m"
    uint64_t parameters = 0;
    uint64_t activeParameters = 0; ///< that a token meets
    uint32_t predictors = 0;       ///< modules for multi-token prediction among the layers
    std::string dtype;
    std::string gpu;
    std::string recipe; ///< whose kernels are counted; empty: NVIDIA's
    uint32_t microBatch = 0;
    uint32_t accumulation = 1;
    uint32_t globalBatch = 0;
    uint32_t sequence = 0;
    uint32_t steps = 1;       ///< measured
    uint32_t warmupSteps = 1; ///< before them, excluded from all statistics
    /// Several jobs on this network, of which this scenario is the first one; null: it is alone.
    std::shared_ptr<const JobSet> jobs;
    Study study = {}; ///< to be run in place of this (--study)

    /// Whether the scenario has steps. A script that is not captured yet, or that has mistakes, has
    /// none.
    bool HasSteps() const
    {
        return !launch && (!capture || capture->why.empty());
    }
};

/// Another choice that collperf runs at each size, beside the one of its table.
struct Compared
{
    std::string name; ///< as it was asked for: "ring", "auto", a file
    CollectiveOptions collectives;
};

struct Datatype
{
    std::string name; ///< "float"
    uint32_t bytes = 4;
};

struct CollperfScenario
{
    RunOptions run;
    FabricSpec fabric;
    ClusterSpec cluster;
    CollectiveOptions collectives;
    coll::Op op = coll::Op::kAllReduce;
    uint32_t root = 0;
    coll::BlockWeights blockWeights; ///< alltoallv; empty: equal blocks
    std::vector<uint64_t> sizes;     ///< bytes, as nccl-tests' -b -e -f/-i give them
    uint64_t maxBytes = 0;           ///< its -e, which no size need be
    uint32_t iterations = 1;
    uint32_t warmupIterations = 0;
    uint32_t ranks = 0;   ///< = servers x GPUs used
    uint32_t threads = 1; ///< threads of a server, as nccl-tests counts them; for its header
    uint32_t gpusPerThread = 1;
    bool checked = false;      ///< prove every size's schedule before it is simulated
    uint32_t elementBytes = 4; ///< bytes of the largest datatype's element: sizes are multiples
    std::string datatype = "float"; ///< or "all"
    /// Datatypes of the rows; time depends on none.
    std::vector<Datatype> datatypes = {{"float", 4}};
    std::vector<std::string> reductions = {"sum"}; ///< reductions of the rows; time depends on none
    /// How the ranks' times make one: 0 rank 0's, 1 the mean, 2 the least, 3 the largest.
    uint32_t average = 3;
    std::vector<Compared> compare;
    Reference reference; ///< measured times
    /// The iterations as steps of a job that may fail; null: they are not.
    std::shared_ptr<const TrainingScenario> job;

    /// The table's own, then those compared.
    std::vector<const CollectiveOptions*> Choices() const
    {
        std::vector<const CollectiveOptions*> choices = {&collectives};
        for (const Compared& other : compare)
        {
            choices.push_back(&other.collectives);
        }
        return choices;
    }

    /// The collective of one of the sizes.
    coll::Collective CollectiveOf(uint64_t bytes) const
    {
        return op == coll::Op::kAllToAllV
                   ? coll::AllToAllV(ranks, bytes, blockWeights, elementBytes)
                   : coll::Collective{op, bytes, ranks, root, nullptr};
    }
};

/// One message of a traffic run.
struct Flow
{
    uint32_t src = 0; ///< endpoint
    uint32_t dst = 0; ///< endpoint
    uint64_t bytes = 0;
    rdma::TimePoint start;
    uint8_t priority = 3;
    uint8_t trafficClass = 0; ///< FabricSpec::classes
    uint16_t dport =
        100; ///< Destination port in a flow file, for fct.txt. HPCC's traffic generator writes 100.
    FlowTag tag; ///< "permutation", "incast", ...: the tag column of flows.csv
    /// Messages of a number have one queue pair, and so one source, destination and priority; 0:
    /// the flow has its own, or as QueuePairUse says.
    uint32_t connection = 0;
};

/// The verb that moves the bytes of a flow.
enum class FlowOperation : uint8_t
{
    kWrite,
    kSend,
    kRead, ///< posted by the flow's receiver
};

/// Which queue pair carries a flow.
enum class QueuePairUse : uint8_t
{
    kPerFlow, ///< a new one, made as it begins
    /// One whose flow ended a while ago, reset to the state of a new one. A new one if none is
    /// free.
    kReused,
    /// the pair of this source and destination: flows wait for each other, and inherit its rate
    kPerPair,
};

/// What is measured, and how finely.
struct Measuring
{
    rdma::Duration from; ///< flows that start earlier are simulated and not measured
    /// Flows that start then or later are simulated and not measured; 0: all are measured.
    rdma::Duration until;
    /// Counters, and averages over time, begin here: with the first flow that is measured. A file's
    /// may start at 2 s, as HPCC's do. Of a load, whose gaps belong to it: as `from`.
    rdma::Duration begin;
    rdma::Duration queueInterval; ///< between looks at the switches' queues; 0: none
    rdma::Duration rateInterval;  ///< over which a flow's throughput is measured; 0: it is not
    uint32_t sizeGroups = 20;     ///< groups of flows of the same number, by size
    std::vector<uint64_t>
        sizeBins; ///< upper ends of classes of sizes, bytes, ascending; one more class is above

    bool Covers(rdma::TimePoint start) const
    {
        return start.ps >= from.ps && (until.ps == 0 || start.ps < until.ps);
    }
};

/// Load that was asked for; for the report.
struct OfferedLoad
{
    double load = 0;   ///< 0: the traffic is not made from a load
    bool wire = false; ///< the load counts wire bytes, else payload bytes
    double incastLoad = 0;
    double meanFlowBytes = 0; ///< mean of the flow size distribution
};

struct TrafficScenario
{
    RunOptions run;
    FabricSpec fabric;
    topo::Topology topology;
    std::string topologyName;
    std::vector<Flow> flows; ///< ascending start
    std::string pattern;
    rdma::Duration stopAfter; ///< 0: until all flows are done
    FlowOperation operation = FlowOperation::kWrite;
    bool completionAtSender =
        false; ///< a flow's completion time ends with its last ACK, not with its last byte
    QueuePairUse queuePairs = QueuePairUse::kPerFlow;
    uint32_t outstanding = 0;     ///< flows of a host under way, at most; 0: no limit
    rdma::Duration queuePairRest; ///< of one that is reused, between two flows
    Measuring measuring;
    OfferedLoad offered;

    /// Bit p: priority p is lossless unless an attribute says otherwise: 3, and those of RDMA's
    /// flows. Not of classes whose transport is for queues without PFC, unless others share theirs.
    uint32_t LosslessPriorities() const
    {
        uint32_t lossless = 0;
        uint32_t lossy = 0;
        for (const Flow& flow : flows)
        {
            if (!run.protocol.IsOrdinary())
            {
                (fabric.IsLossy(flow.trafficClass) ? lossy : lossless) |= 1U << flow.priority;
            }
        }
        return lossless | (1U << 3 & ~lossy);
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_SCENARIO_H
