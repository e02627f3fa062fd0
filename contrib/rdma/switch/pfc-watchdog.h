/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PFC_WATCHDOG_H
#define PFC_WATCHDOG_H

#include "ns3/rdma-event.h"
#include "ns3/rdma-port.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * PFC watchdog of a switch: ends a pause storm, and with it a PFC deadlock.
 *
 *     frames wait while paused        for `detection`: storm           pause over for `restoration`
 *     WATCHED ------------------------------------------> STORM --------------------------> WATCHED
 *
 * For each (egress port, priority) by itself. Drop: what waits in the queue is dropped, and so is
 * what comes to it until the storm is over. Forward: pauses of the priority have no effect until
 * the storm is over, so that the network downstream drops what it has no headroom for. Either frees
 * the buffer that the storm holds, and the ports upstream with it.
 *
 * Modelled on SONiC's watchdog (detection in the order of 200 ms, restoration by default twice the
 * detection time, action drop), without its polling: a storm is found when it is `detection` old,
 * to the picosecond.
 *
 * Sleeps while nothing is held: at most a few events are pending, none of them repeats by itself.
 */
class RdmaPfcWatchdog
{
  public:
    enum Action : uint8_t
    {
        DROP,
        FORWARD
    };

    struct Config
    {
        int64_t detection;   //!< ps, > 0
        int64_t restoration; //!< ps
        Action action;
    };

    /// (egress port, priority, storm begins or ends, ps); called before anything is dropped
    using StormCallback = std::function<void(RdmaPort*, uint8_t, bool, int64_t)>;
    /// (egress port, a frame that waited in its queue: the callee's, ps)
    using DropCallback = std::function<void(RdmaPort*, RdmaFrame*, int64_t)>;

    RdmaPfcWatchdog(std::vector<Ptr<RdmaPort>> ports,
                    const Config& config,
                    StormCallback storm,
                    DropCallback drop);

    /// \return whether a frame for this queue must be dropped
    bool IsDropping(uint16_t port, uint8_t priority) const
    {
        return m_config.action == DROP && m_states[port * RdmaPort::PRIORITIES + priority].storm;
    }

    /// A frame has joined a queue. \\param now ps
    void OnQueued(const RdmaPort* port, uint8_t priority, int64_t now)
    {
        State& state = At(port, priority);
        if (state.heldSince < 0 && (port->GetPausedMask() >> priority & 1))
        {
            state.heldSince = now;
            Arm(now + m_config.detection);
        }
    }

    bool IsStorm(uint16_t port, uint8_t priority) const
    {
        return m_states[port * RdmaPort::PRIORITIES + priority].storm;
    }

    /// \return number of storms so far
    uint64_t GetStorms() const
    {
        return m_storms;
    }

  private:
    struct State
    {
        int64_t heldSince{-1}; //!< paused, with frames that wait, since then; < 0: not
        bool storm{false};
    };

    State& At(const RdmaPort* port, uint8_t priority)
    {
        return m_states[port->GetPortIndex() * RdmaPort::PRIORITIES + priority];
    }

    void OnPaused(const RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now);
    void Begin(RdmaPort* port, uint8_t priority, int64_t now);
    void End(RdmaPort* port, uint8_t priority, int64_t now);
    uint8_t StormMask(const RdmaPort* port);
    /// Look no later than at `ps`.
    void Arm(int64_t ps);
    void OnLook();

    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<State> m_states; //!< [port * 8 + priority]
    Config m_config;
    StormCallback m_storm;
    DropCallback m_drop;
    uint64_t m_storms{0};
    int64_t m_armed{-1}; //!< the next look; < 0: asleep
    RdmaTimer<RdmaPfcWatchdog, &RdmaPfcWatchdog::OnLook> m_timer;
};

} // namespace ns3

#endif /* PFC_WATCHDOG_H */
