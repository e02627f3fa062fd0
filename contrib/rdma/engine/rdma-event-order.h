/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_EVENT_ORDER_H
#define RDMA_EVENT_ORDER_H

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * What happens first when several things happen at one picosecond: a rule that does not depend on
 * when the events were scheduled, so that a fabric gives the same results whether it is simulated
 * in one process or in several (there, a frame from another process is scheduled when the message
 * it came in is read).
 *
 * A node only ever changes by its own events, so what counts is the order within a node: first what
 * the node does by itself (timers, a transmitter that is idle again) in the order it was scheduled,
 * then the frames that arrive, by port; of one port MAC control frames last. Events of an arrival
 * carry their rank in the event's context, which RdmaQuadHeapScheduler sorts by (time, context,
 * uid), and turns into the node's number again before anybody sees it:
 *
 *     31  30    29..11  10..1  0
 *      1   0     node   port   MAC control frame
 *     31  30    29..16  15..1  0
 *      1   1     node   port   MAC control frame     of ports from 1,024 on, less 1,024
 *
 * Port numbers that a node has no port for can be turns of something else that comes behind its
 * frames: dltrain's Places has the last three for what a server's GPUs do among themselves.
 *
 * Events of the whole simulation run without a node. At one time those marked BEFORE come ahead of
 * the nodes' events; behind these come timers on a GRID (RdmaGridTimer), then all others.
 *
 * With another scheduler, or beyond these limits, contexts are plain node numbers, and ties are
 * resolved by when events were scheduled, as everywhere in ns-3.
 */
class RdmaEventOrder
{
  public:
    static constexpr uint32_t MAX_NODES = (1U << 19) - 1;
    static constexpr uint32_t MAX_PORTS = 1U << 10;
    // Limits for nodes with more ports than MAX_PORTS.
    static constexpr uint32_t MAX_WIDE_NODES = (1U << 14) - 1;
    static constexpr uint32_t MAX_WIDE_PORTS = MAX_PORTS + (1U << 15);
    static constexpr uint32_t CONTROL = 1; //!< or-ed to the context of an arrival

    static constexpr uint32_t GLOBAL = 0xffffffff; //!< Simulator::NO_CONTEXT
    static constexpr uint32_t GRID = 0xfffffffe;   //!< ahead of GLOBAL
    /// Ahead of all nodes. With RdmaQuadHeapScheduler: if it is scheduled before anything else is.
    static constexpr uint32_t BEFORE = 0xfffffffd;

    /// \return the context of frames that arrive at a port of a node
    static constexpr uint32_t ArrivalContext(uint32_t node, uint32_t port)
    {
        if (port < MAX_PORTS)
        {
            return node < MAX_NODES ? ARRIVAL | node << 11 | port << 1 : node;
        }
        return node < MAX_WIDE_NODES && port < MAX_WIDE_PORTS
                   ? ARRIVAL | WIDE | node << 16 | (port - MAX_PORTS) << 1
                   : node;
    }

    /// \return the node of an event, whichever kind its context is of
    static constexpr uint32_t NodeOf(uint32_t context)
    {
        if (!(context & ARRIVAL))
        {
            return context;
        }
        if (context & WIDE)
        {
            return IsGlobal(context) ? GLOBAL : context >> 16 & MAX_WIDE_NODES;
        }
        return context >> 11 & MAX_NODES;
    }

    static constexpr bool IsGlobal(uint32_t context)
    {
        return context >= BEFORE;
    }

    /// \return what ns-3's own engines are told
    static constexpr uint32_t ContextOf(uint32_t context)
    {
        return context == BEFORE ? 0 : context;
    }

  private:
    static constexpr uint32_t ARRIVAL = 1U << 31;
    static constexpr uint32_t WIDE = 1U << 30;
};

} // namespace ns3

#endif /* RDMA_EVENT_ORDER_H */
