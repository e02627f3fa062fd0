/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The amount of work in a run, before it is simulated. Packets and frame-hops are counted over the
 * messages of schedules and flows, with the hops of their routes. Retransmissions are left out, and
 * of congestion all but the CNPs of queue pairs that meet on a link by plan (congested.h).
 * Schedules of more than some million steps are sampled evenly.
 *
 *   frame-hops = sum over messages of  hops x (packets + ACKs),   packets = ceil(bytes / mtu)
 *
 * A message that is split over queue pairs counts as its parts. The answer to a READ is its bytes.
 * The first message has ceil(packets / ackEvery) ACKs. Later messages on its queue pair have 1 +
 * (packets - gcd) / ackEvery, with the gcd of both numbers: Counter::AcksOfEach. TCP has an ACK per
 * segment and a handshake of three packets. UDP has neither.
 *
 * The lower bound of the simulated time is the larger of two times, and no run can be shorter. One
 * is the busiest network interface's time for its wire bytes on all of its planes. The other is the
 * GPUs' time for computing and for waiting for each other's computing.
 *
 * The memory is that of the simulator itself; the memory of GPUs is in the plan.
 */
#ifndef SCENARIOS_DRY_RUN_ESTIMATE_H
#define SCENARIOS_DRY_RUN_ESTIMATE_H

#include "scenarios/dry-run/assumed-speed.h"
#include "scenarios/dry-run/work.h"
#include "scenarios/job/scenario.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scenario
{

struct Job;

/// The quantities that a run's memory grows with.
struct MemoryNeeds
{
    double links = 0;              ///< links of the network, both directions together
    double usedLinks = 0;          ///< by some message, at most
    double routes = 0;             ///< entries of forwarding tables: switches x network interfaces
    double connections = 0;        ///< pairs of queue pairs
    double messages = 0;           ///< between servers, whole run: flows.csv remembers them
    double bytesPerConnection = 0; ///< see ConnectionBytes
    double ranks = 0;
    double lanes = 0;        ///< lanes of collectives under way, all ranks together
    double posted = 0;       ///< messages that these post at once, between servers
    double postedInside = 0; ///< and inside
    double paths = 0;        ///< records of the critical path
    double buffered = 0;     ///< bytes of TCP and UDP flows that are under way together
    bool ordinary = false;   ///< there are such flows: ns-3's stack
    bool infiniBand = false;
};

/// Bytes by use. Total() is the peak of the resident set of a process.
struct MemoryEstimate
{
    double program = 0;
    double network = 0;
    double connections = 0;
    double messages = 0;
    double ranks = 0;

    double Total() const
    {
        return program + network + connections + messages + ranks;
    }
};

/// A pure function, right within a factor of about 1.5 on the runs of
/// tests/unit/scenarios/estimate-test.cc.
MemoryEstimate EstimateMemory(const MemoryNeeds& needs);
/// \return the memory of one process, from that of a single-process run. If only the first process
/// has hosts, the result is for the first one; if all have hosts, for each.
MemoryEstimate EstimateProcess(const MemoryEstimate& alone, const Processes& processes);

/// The bytes of both ends of a connection, with the messages that wait in them.
double ConnectionBytes(const FabricSpec& fabric, bool attribution);

/// The flows beside a job, while it lasts (background-count.h).
struct BackgroundEstimate
{
    double seconds = 0; ///< simulated, assumed
    double flows = 0;
    double bytes = 0;
    double dataPackets = 0;
    double ackPackets = 0;
    double cnps = 0;
    double frameHops = 0;
    Work work;
};

struct Estimate
{
    double messages = 0;       ///< between servers
    double messagesInside = 0; ///< servers
    double networkBytes = 0;   ///< payload that crosses the network between servers
    double dataPackets = 0;
    double arriving = 0; ///< data packets that pass all their links without a bit error
    double ackPackets = 0;
    double cnps = 0;             ///< see congested.h
    double frameHops = 0;        ///< frame-hops of data, ACKs and CNPs
    double meanHops = 0;         ///< links a data packet crosses
    double lastStartSeconds = 0; ///< when the last flow starts
    double stopSeconds = 0;      ///< the run is stopped then, before all can have been done; else 0
    double busiestPortSeconds =
        0; ///< wire time of the network interface that carries most, in its busier direction
    /// False: steps may be those of whoever sends least, as with parameter servers some replicas
    /// may be nearer to the servers than others.
    bool portsAwaited = true;
    double computeSeconds = 0; ///< computation of the GPU that computes longest
    /// The same with waiting for other GPUs' computation, as in the bubble of a pipeline: for
    /// steps, if communication takes no time (training::LeastStep). 0: not known.
    double graphSeconds = 0;
    double loadingSeconds = 0; ///< loading of the next batch, by the slowest server
    double memorySeconds = 0;  ///< loads and stores of the busiest device of memory beyond GPUs
    /// Bytes that all ranks together send, inside servers too, as the algorithms have it: by
    /// operation, and `send`, messages from one rank to another.
    std::map<std::string, double> sent;
    double connections = 0; ///< of all collectives of the run or flows: pairs of queue pairs, TCP
    double queuePairs = 0;  ///< those that are pairs of queue pairs
    Work work;              ///< what grows with messages; RunWork() has all
    double calls = 0;       ///< tasks of all measured steps
    double measured = 1;    ///< share of messages that are no warm-up
    /// Of the bytes of the network: the share that ranks send after a message has come in, so that
    /// a ring goes as fast as its slowest link.
    double chainedShare = 0;
    double sideBySide = 1;   ///< messages that a NIC begins at the same time, in any collective
    double chainSeconds = 0; ///< latencies of the longest chain of messages, one after the other
    double usedLinks = 0;    ///< directions of links that some message crosses, at most
    double queueLooks = 0;   ///< looks at a port (--queue-interval)
    BackgroundEstimate background;
    MemoryNeeds memoryNeeds;
    MemoryEstimate memory; ///< memory of the simulator for the whole run, as one process
    SpeedNeeds speedNeeds;
    AssumedSpeed speed; ///< speed of set-up and events
    bool sampled = false;

    double LowerBoundSeconds() const
    {
        return std::max({portsAwaited ? busiestPortSeconds : 0,
                         computeSeconds,
                         graphSeconds,
                         loadingSeconds,
                         memorySeconds,
                         lastStartSeconds});
    }
};

/// All the work of the run by kind, with its background, outputs and connections.
Work RunWork(const Estimate& e);

/// The purpose of an estimate. A check whether a run can start (memory, time) needs no bounds of
/// the time that GPUs wait for each other. Those bounds take a second for large plans.
enum class EstimateFor : uint8_t
{
    kPlan,
    kStart, ///< graphSeconds is 0, and computeSeconds what a GPU computes without jitter
};

/// The estimate for one step.
/// \param size index into the plan's sizes, the largest number of blocks first
Estimate EstimateStep(const TrainingScenario& scenario,
                      std::size_t size = 0,
                      EstimateFor what = EstimateFor::kPlan);
/// The estimate for the whole run, all sizes and repetitions.
Estimate EstimateRun(const CollperfScenario& scenario);
Estimate EstimateRun(const TrafficScenario& scenario);
/// The estimate for the whole run: EstimateStep x (steps + warm-up steps), of all sizes together.
/// With --jobs: the sum of all jobs; `lastStartSeconds` is the earliest end of the last job.
Estimate EstimateRun(const TrainingScenario& scenario, EstimateFor what = EstimateFor::kPlan);
/// The estimate for one job of --jobs, from its start on, on the network of `together`.
Estimate EstimateJob(const Job& job,
                     const TrainingScenario& together,
                     EstimateFor what = EstimateFor::kPlan);
/// EstimateRun of --jobs. \param ofJobs EstimateJob of each, in their order
Estimate EstimateTogether(const TrainingScenario& scenario, const std::vector<Estimate>& ofJobs);

/// The share of data packets that pass their links without a bit error; 1 without such errors.
double ArrivingShare(const Estimate& e);

/// What to do where next to no data packet passes its links; empty elsewhere.
std::string NoteOfBitErrors(const Estimate& e);

/// Why a run takes more simulated time than can be counted, of its picoseconds in 64 bits with room
/// to spare; empty if it does not.
std::string WhyTooLong(const Estimate& e);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_ESTIMATE_H
