/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_MARKER_H
#define RDMA_MARKER_H

#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/marker-draws.h"

#include "ns3/object.h"
#include "ns3/rdma-port.h"

#include <cstdint>
#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * Which frames of an egress port are marked with ECN's CE: one of these a port, chosen by name
 * (attribute RdmaSwitch::Marker). Without one a switch marks by the queue's bytes, inline.
 *
 * A class is found by its TypeId: derive it, give it a name, register it, and a line
 * rdma::RegisteredMarker makes it an option (core/registered-part.h).
 *
 * It is told of all frames, and only those that are ECN-capable get the mark. A port has a queue
 * for each priority (RdmaFrame::priority); whose state is one queue's keeps it eight times. Nothing
 * is allocated per frame, and there are no timers: what passes with time is computed when a frame
 * is there. Times are ps.
 */
class RdmaMarker : public Object
{
  public:
    static TypeId GetTypeId();
    ~RdmaMarker() override;

    /// \return what it is called in the attribute Marker
    virtual std::string GetName() const = 0;

    /**
     * Its port, once, before the first frame: scales thresholds to its rate, allocates everything.
     * \param curve the switch's EcnKmin, EcnKmax and EcnPmax, scaled to the port's rate
     * \return what is wrong with its attributes, or nothing
     */
    virtual std::string Attach(const RdmaPort& port, const rdma::EcnParameters& curve) = 0;

    /// \return bytes: OnDequeue is not called for frames that leave shorter queues
    virtual uint64_t GetLeast() const
    {
        return 0;
    }

    /// A frame joins a queue, or is sent at once. \param queueBytes of its priority without it
    /// \return whether it is marked
    virtual bool OnEnqueue(const RdmaFrame& frame, uint64_t queueBytes, int64_t now);

    /// A frame starts to be sent. \param queueBytes of its priority before, itself included \param
    /// sojourn how long it was queued \return whether it is marked
    virtual bool OnDequeue(const RdmaFrame& frame,
                           uint64_t queueBytes,
                           int64_t sojourn,
                           int64_t now) = 0;

    /// Attach, and where its draws begin. \param seed differs from port to port
    std::string Start(const RdmaPort& port, const rdma::EcnParameters& curve, uint64_t seed)
    {
        m_seed = seed;
        m_lineOverhead = port.GetLineOverhead();
        RestartDraws();
        return Attach(port, curve);
    }

    /// Draws begin anew, as at the beginning.
    void RestartDraws()
    {
        m_draws = rdma::MarkerDraws(m_seed);
    }

  protected:
    /// \return uniform in [0, 1)
    double Draw()
    {
        return m_draws.Next();
    }

    /// \return bytes that a queue counts of a frame
    uint32_t GetFrameBytes(const RdmaFrame& frame) const
    {
        return frame.wireBytes - m_lineOverhead;
    }

  private:
    rdma::MarkerDraws m_draws;
    uint64_t m_seed{0};
    uint32_t m_lineOverhead{0};
};

} // namespace ns3

#endif /* RDMA_MARKER_H */
