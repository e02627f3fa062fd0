/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CHECKPOINT_TRAFFIC_H
#define DLTRAIN_CHECKPOINT_TRAFFIC_H

#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/runners/message-runner.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/recovery-options.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Checkpoints as packets: each rank writes its states to a storage server, one RDMA message over
 * the NIC that its messages take, and reads them from there.
 *
 *     server s, GPU g  --- its weights and states of the optimizer -->  storage server s mod n
 *
 * The storage servers are hosts of the network with the same NICs as others; they store at the rate
 * of these (assumed). A checkpoint is written when all ranks have its acknowledgements, and read
 * when it has arrived at all of them.
 *
 * One process. Events have no context, except OnMessageDone.
 */
class CheckpointTraffic : public MessageUser
{
  public:
    /// The hosts of ranks, and the ranks that have left.
    struct Where
    {
        std::vector<uint32_t> hosts; ///< hosts of servers
        Places::NicsInUse nics;      ///< NICs of servers in use; empty: all
        std::vector<bool> absent;    ///< by rank: has left; empty: none has left

        bool operator==(const Where& other) const
        {
            return hosts == other.hosts && nics == other.nics && absent == other.absent;
        }
    };

    /// \param scenario with storage servers; kept, as the run \param onFailure is told when
    /// messages begin to fail, by an event of a server
    CheckpointTraffic(const scenario::TrainingScenario& scenario,
                      FabricRun& run,
                      std::function<void(const std::string& what)> onFailure);

    /// \pre nothing is under way \param done by an event without context
    void Write(const Where& where, std::function<void()> done);
    void Read(const Where& where, std::function<void()> done);
    /// Ends the messages in flight where they are; they are not done.
    void Abort();

    bool IsUnderWay() const
    {
        return m_left > 0;
    }

    /// \return lines on what stands still
    std::vector<std::string> DescribeUnfinished() const;

    // MessageUser
    void OnMessageDone(Rank rank,
                       uint64_t cookie,
                       int64_t now,
                       int64_t sent,
                       reports::PathRecord* path) override;

  private:
    /// Those that were aborted stay, as frames still lead to them.
    struct Wiring
    {
        Where where;
        std::unique_ptr<scenario::ClusterSpec> cluster;
        std::unique_ptr<Interconnect> interconnect;
        std::unique_ptr<MessageRunner> messages;
    };

    MessageRunner& Connect(const Where& where);
    void Begin(bool writes, const Where& where, std::function<void()> done);
    /// Called through NodeWindows::Note. \param transfer the transfer that a message belongs to
    void TellDone(const uint64_t& transfer);

    const scenario::TrainingScenario& m_scenario;
    const scenario::RecoverySpec& m_spec;
    FabricRun& m_run;
    std::function<void(const std::string& what)> m_onFailure;
    scenario::CollectiveOptions m_options; ///< options without a library
    uint32_t m_tag;
    std::deque<Wiring> m_wirings; ///< the last one is in use
    bool m_connected = false;     ///< it is
    uint64_t m_transfer = 0;      ///< counts them
    uint32_t m_left = 0;          ///< messages of the one under way
    std::function<void()> m_done;
};

} // namespace dltrain

#endif // DLTRAIN_CHECKPOINT_TRAFFIC_H
