/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CHECKPOINT_TRAFFIC_H
#define DLTRAIN_CHECKPOINT_TRAFFIC_H

#include "contrib/dltrain/run/fabric-run.h"
#include "contrib/dltrain/run/message-runner.h"
#include "scenarios/options/cluster/recovery-options.h"
#include "scenarios/run/scenario.h"

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
 * The storage servers are hosts of the network with the NICs of the others; what they keep, they
 * keep at the rate of these (assumed). Written is what all ranks have acknowledgements of; read is
 * what has arrived at all of them.
 *
 * One process. Events without context, but for OnMessageDone.
 */
class CheckpointTraffic : public MessageUser
{
  public:
    /// Where ranks are, and who there is.
    struct Where
    {
        std::vector<uint32_t> hosts; ///< of servers
        Places::NicsInUse nics;      ///< of them; empty: all
        std::vector<bool> absent;    ///< by rank; empty: nobody

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
    /// What is under way ends where it is, and is not done.
    void Abort();

    bool IsUnderWay() const
    {
        return m_left > 0;
    }

    /// \return lines on what stands still
    std::vector<std::string> DescribeUnfinished() const;

    // MessageUser
    void OnMessageDone(Rank rank, uint64_t cookie, int64_t now) override;

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
    /// As NodeWindows::Note tells. \param transfer that a message was of
    void TellDone(const uint64_t& transfer);

    const scenario::TrainingScenario& m_scenario;
    const scenario::RecoverySpec& m_spec;
    FabricRun& m_run;
    std::function<void(const std::string& what)> m_onFailure;
    scenario::CollectiveOptions m_options; ///< of no library
    uint32_t m_tag;
    std::deque<Wiring> m_wirings; ///< the last one is in use
    bool m_connected = false;     ///< it is
    uint64_t m_transfer = 0;      ///< counts them
    uint32_t m_left = 0;          ///< messages of the one under way
    std::function<void()> m_done;
};

} // namespace dltrain

#endif // DLTRAIN_CHECKPOINT_TRAFFIC_H
